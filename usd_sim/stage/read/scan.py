"""One pass over a stage: which prims matter to physics, what is authored on them, and where they are.

Everything later works on what is collected here; USD is not asked again prim by prim.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from pxr import Gf, Sdf, Usd, UsdGeom, UsdPhysics, Vt

from usd_sim.geometry import transforms as tf
from usd_sim.stage.dialects import (
    BUILT_IN_SCHEMAS,
    DIALECTS,
    RULES,
    Rule,
    check_dialects,
    dialect_of,
    fits,
    why_not_read,
)
from usd_sim.stage.read.unparsed import complete_points
from usd_sim.stage.report import Entry, Report
from usd_sim.stage.units import StageUnits

__all__ = ["GPRIM_SIZES", "Scan", "scan"]

GPRIM_SIZES: dict[str, dict[str, Any]] = {
    "Sphere": {"radius": 1.0},
    "Cube": {"size": 2.0},
    "Capsule": {"radius": 0.5, "height": 1.0, "axis": "Z"},
    "Capsule_1": {"radiusTop": 0.5, "radiusBottom": 0.5, "height": 1.0, "axis": "Z"},
    "Cylinder": {"radius": 1.0, "height": 2.0, "axis": "Z"},
    "Cylinder_1": {"radiusTop": 1.0, "radiusBottom": 1.0, "height": 2.0, "axis": "Z"},
    "Cone": {"radius": 1.0, "height": 2.0, "axis": "Z"},
    "Plane": {"width": 2.0, "length": 2.0, "axis": "Z"},
    "Mesh": {"orientation": "rightHanded"},
}
"""Size attributes of the prims that can be colliders, with their fallbacks."""

_PARSED = {"PhysicsCollisionAPI", "PhysicsArticulationRootAPI"}
"""Schemas that UsdPhysics' own parser looks for, and that others bring along."""

_SIZES = {name: [value] for sizes in GPRIM_SIZES.values() for name, value in sizes.items()}

_SIZED = {"PhysicsCollisionAPI", "NewtonSiteAPI", "MjcImageableAPI"}
"""Schemas of prims whose sizes matter: colliders, sites, and geometry that tendons may bend around."""

_NAMESPACES = {"physics", "newton", "mjc", "drive", "limit", "state", "warpSim"}


@dataclass
class Scan:
    """What one pass over a stage found.

    Attributes:
        stage: The stage.
        units: Its units.
        time: Time code that values and poses are read at.
        report: What becomes of every property.
        objects: Kind of physics object to (paths, descriptors) of UsdPhysics' own parser.
        values: Prim path to authored property to value; properties whose schema is not applied are left out.
        schemas: Prim path to the API schemas applied, with what they bring along.
        types: Prim path to type name.
        order: Prim path to its place in the traversal.
        varying: Prim path to the properties whose values change with time.
        left_out: Bodies and colliders of scenes that are not simulated.
        instancers: All PointInstancers.
        dialects: Families of properties that are read, first things first.
        binds_collections: Some prim binds materials to collections.
    """

    stage: Usd.Stage
    units: StageUnits
    time: Usd.TimeCode
    report: Report
    objects: dict[Any, tuple[list[Any], list[Any]]] = field(default_factory=dict)
    values: dict[str, dict[str, Any]] = field(default_factory=dict)
    schemas: dict[str, frozenset[str]] = field(default_factory=dict)
    types: dict[str, str] = field(default_factory=dict)
    order: dict[str, int] = field(default_factory=dict)
    varying: dict[str, set[str]] = field(default_factory=dict)
    instancers: list[str] = field(default_factory=list)
    dialects: tuple[str, ...] = DIALECTS
    binds_collections: bool = False
    left_out: set[str] = field(default_factory=set)
    _cache: UsdGeom.XformCache | None = None
    _plans: dict[Any, tuple[frozenset[str], list[tuple[str, str | None]]]] = field(default_factory=dict)

    def parse(self, roots: list[Sdf.Path]) -> dict[Any, tuple[list[Any], list[Any]]]:
        """Return what UsdPhysics' own parser finds at and below some prims; it leaves out all below PointInstancers."""
        parse = getattr(UsdPhysics, "UsdPhysicsLoadStageFromPrimRange", None) or UsdPhysics.LoadUsdPhysicsFromRange
        found = dict(parse(self.stage, roots))
        complete_points(self.stage, found)
        return found

    def found(self, *kinds: Any) -> list[tuple[str, Any]]:
        """Return (path, descriptor) of all valid objects of some kinds, in the order of the traversal."""
        pairs = []
        for kind in kinds:
            paths, descriptors = self.objects.get(kind, ((), ()))
            pairs += [(str(path), item) for path, item in zip(paths, descriptors, strict=True) if item.isValid]
        return sorted(pairs, key=lambda pair: self.order.get(pair[0], 0))

    def prim(self, path: Any) -> Usd.Prim:
        """Return the prim that a path stands for; an invalid one where there is none."""
        return self.stage.GetPrimAtPath(path)

    def targets(self, path: str, name: str) -> list[str]:
        """Return the targets of a relationship."""
        relationship = self.prim(path).GetRelationship(name)
        return [str(target) for target in relationship.GetTargets()] if relationship else []

    def stand_ins(self, path: str) -> list[str]:
        """Return further paths that a prim goes by; there are some where it is instanced."""
        return []

    def value(self, path: str, name: str, fallback: Any = None) -> Any:
        """Return an authored value, or the fallback."""
        return self.values.get(path, _NOTHING).get(name, fallback)

    def first(self, path: str, names: tuple[str, ...]) -> str:
        """Return the authored property that counts among those that mean the same, or "".

        Dialects come in their order, UsdPhysics last; values that mean "no opinion" are passed over.
        """
        values = self.values.get(path)
        if not values:
            return ""
        found = [name for name in names if name in values and values[name] not in RULES.find(name)[0].sentinels]
        return min(found, key=self._rank) if len(found) > 1 else found[0] if found else ""

    def _rank(self, name: str) -> int:
        dialect = dialect_of(name)
        return self.dialects.index(dialect) if dialect in self.dialects else len(self.dialects)

    def number(self, path: str, names: tuple[str, ...], fallback: float = 0.0, *, angular: bool = False) -> float:
        """Return a number in SI that several dialects can state, or the fallback.

        Args:
            path: Prim.
            names: Properties that mean the same, see :meth:`first`.
            fallback: Value in SI where none is authored.
            angular: Which of two dimensions holds.
        """
        name = self.first(path, names)
        if not name:
            return fallback
        owners = self.owners(path)
        rules = RULES.find(name)
        rule = next((rule for rule in rules if rule.on in owners), rules[0])
        parts = rule.dimension.split("|")
        return float(self.units.to_si(float(self.values[path][name]), parts[-1] if angular else parts[0]))

    def owners(self, path: str) -> set[str]:
        """Return the type and the applied schemas of a prim, without instance names."""
        return _owners(self.types.get(path, ""), self.schemas.get(path, _EMPTY))

    def numbers(self, paths: Iterable[str], names: tuple[str, ...], fallback: float) -> np.ndarray:
        """Return :meth:`number` of many prims (n,)."""
        return np.array([self.number(path, names, fallback) for path in paths], dtype=float)

    def repeats(self, paths: Iterable[str]) -> np.ndarray:
        """Return how many things prims stand for (n,)."""
        return np.ones(len(list(paths)), dtype=int)

    def column(self, paths: Iterable[str], name: str, fallback: Any, dimension: str = "") -> np.ndarray:
        """Return a property of many prims as an array in SI."""
        rows = [self.values.get(path, _NOTHING).get(name, fallback) for path in paths]
        return self.units.to_si(np.array(rows, dtype=float), dimension)

    def has(self, path: str, schema: str) -> bool:
        """Whether an API schema is applied to a prim, by itself or by one that brings it along."""
        return schema in self.schemas.get(path, _EMPTY)

    def matrices(self, paths: Iterable[str]) -> np.ndarray:
        """Return the local-to-world matrices of prims in stage units (n, 4, 4), row-vector convention."""
        if self._cache is None:
            self._cache = UsdGeom.XformCache(self.time)
        cache, get = self._cache, self.prim
        found = [cache.GetLocalToWorldTransform(get(path)) for path in paths]
        return np.array(Vt.Matrix4dArray(found)) if found else np.zeros((0, 4, 4))

    def placed(self, paths: Iterable[str]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return pose in world (n, 7) in SI, scale with its sign (n, 3), and shear (n,) of prims."""
        parts = tf.decompose_affine(self.matrices(paths))
        position = self.units.to_si(parts.translation, "m")
        return np.concatenate([position, parts.rotation], axis=1), parts.scale, parts.shear_error

    def settle(self) -> None:
        """Count as used only the properties that no entry of the report speaks of."""
        report = self.report
        entries = [*report.errors, *report.approximated, *report.ignored]
        named = {(entry.prim, entry.property) for entry in entries if entry.property}
        report.used_count -= sum(self._is_counted(path, name) for path, name in named)

    def _is_counted(self, path: str, name: str) -> bool:
        if name in self.values.get(path, _NOTHING):
            return True
        rules, prim = RULES.find(name), self.prim(path)
        relationship = prim.GetRelationship(name) if rules and prim else None
        if not relationship or not relationship.HasAuthoredTargets():
            return False
        return _why_ignored(name, rules, self.owners(path), self.schemas.get(path, _EMPTY)) is None


_NOTHING: dict[str, Any] = {}
_EMPTY: frozenset[str] = frozenset()


def scan(stage: Usd.Stage, *, time: float | None = None, dialects: Iterable[str] | None = None) -> Scan:
    """Collect all that physics needs from a stage.

    Args:
        stage: The stage, with its payloads loaded.
        time: Time code to read at; the stage's start time code if not given.
        dialects: Families of properties to read besides UsdPhysics, first things first; all if not given.

    Raises:
        UsdSimError: A dialect is unknown, or the stage's units are none.
    """
    when = Usd.TimeCode(stage.GetStartTimeCode() if time is None else time)
    result = Scan(stage, StageUnits.of(stage), when, Report(), dialects=check_dialects(dialects))
    result.objects = result.parse([Sdf.Path.absoluteRootPath])
    _report_composition(result)
    seen: dict[Any, _PrimFacts] = {}
    prims = Usd.PrimRange(stage.GetPseudoRoot(), Usd.TraverseInstanceProxies())
    for index, prim in enumerate(prims):
        path = str(prim.GetPath())
        result.order[path] = index
        # prims made of the same specs (copies of one referenced asset) say the same: read them once
        stack = tuple(prim.GetPrimStack())
        facts = seen.get(stack)
        if facts is None:
            facts = _read_prim(result, prim, path)
            if not facts.varies:
                seen[stack] = facts
        facts.apply(result, path)
    return result


@dataclass
class _PrimFacts:
    """What one prim, and every other made of the same specs, has to say."""

    type_name: str
    schemas: frozenset[str]
    values: dict[str, Any]
    used: int
    ignored: list[tuple[str, str, str]]
    errors: list[tuple[str, str, str]]
    varies: bool

    def apply(self, result: Scan, path: str) -> None:
        """Take the facts over for a prim."""
        if self.schemas or self.values or self.type_name.startswith(("Physics", "Mjc")):
            result.schemas[path], result.types[path] = self.schemas, self.type_name
        if self.type_name == "PointInstancer":
            result.instancers.append(path)
        if self.values:
            result.values[path] = self.values
        result.report.used_count += self.used
        result.report.ignored.extend(Entry(path, *entry) for entry in self.ignored)
        result.report.errors.extend(Entry(path, *entry) for entry in self.errors)


def _report_composition(result: Scan) -> None:
    for error in result.stage.GetCompositionErrors():
        site = getattr(error, "rootSite", None)
        path = str(site.path) if site else "/"
        text = str(error).strip().splitlines()[0]
        result.report.ignore(path, f"composition failed: {text}", remedy="check the asset path")


def _with_built_ins(applied: list[str]) -> frozenset[str]:
    names, pending = set(applied), list(applied)
    while pending:
        for name in BUILT_IN_SCHEMAS.get(pending.pop().split(":")[0], ()):
            if name not in names:
                names.add(name)
                pending.append(name)
    return frozenset(names)


def _owners(type_name: str, schemas: frozenset[str]) -> set[str]:
    owners = {type_name, *(name.split(":")[0] for name in schemas)}
    if type_name.startswith("Physics") and type_name.endswith("Joint"):
        owners.add("PhysicsJoint")
    return owners


def _plan(
    type_name: str, schemas: frozenset[str], names: list[str], off: frozenset[str]
) -> list[tuple[str, str | None]]:
    """Return (property, why it is ignored or None) for the properties that physics cares about."""
    plan: list[tuple[str, str | None]] = []
    owners = _owners(type_name, schemas)
    sizes = GPRIM_SIZES.get(type_name, _NOTHING) if _SIZED & schemas else _NOTHING
    for name in names:
        rules = RULES.find(name)
        if name in sizes:
            plan.append((name, None))
        elif dialect_of(name) in off:
            plan.append((name, f"the dialect {dialect_of(name)} is off"))
        elif rules:
            plan.append((name, _why_ignored(name, rules, owners, schemas)))
        elif name.split(":")[0] in _NAMESPACES or name.startswith("physx"):
            plan.append((name, _why_unknown(name)))
    return plan


def _why_ignored(name: str, rules: list[Rule], owners: set[str], schemas: frozenset[str]) -> str | None:
    mine = [rule for rule in rules if rule.on in owners]
    if mine and all(rule.ignored for rule in mine):
        return mine[0].ignored
    if not mine:
        return f"{' or '.join(sorted({rule.on for rule in rules}))} is not applied"
    if "<i>" in rules[0].property:
        _, instance = RULES.instance_of(name) or ("", "")
        if f"{rules[0].on}:{instance}" not in schemas:
            return f"{rules[0].on}:{instance} is not applied"
    return None


def _why_unknown(name: str) -> str:
    family = name.split(":")[0]
    if family.startswith("physx"):
        return why_not_read(name)
    if family == "newton":
        return "is not supported yet"
    return "is not a property of any schema that is understood"


def _read_prim(result: Scan, prim: Usd.Prim, path: str) -> _PrimFacts:
    info, names = prim.GetPrimTypeInfo(), prim.GetAuthoredPropertyNames()
    type_name, applied = info.GetTypeName(), info.GetAppliedAPISchemas()
    key = (type_name, tuple(applied), tuple(names))
    if key not in result._plans:
        off = frozenset(DIALECTS) - set(result.dialects)
        schemas = frozenset(name for name in _with_built_ins(applied) if dialect_of(name) not in off)
        result._plans[key] = schemas, _plan(type_name, schemas, names, off) + _unseen(prim, schemas)
        result.binds_collections |= any(name.startswith("material:binding:collection") for name in names)
    schemas, plan = result._plans[key]
    facts = _PrimFacts(type_name, schemas, {}, 0, [], [], False)
    for name, why in plan:
        if why is not None:
            facts.ignored.append((name, why, _remedy(why)))
            continue
        attribute = prim.GetAttribute(name)
        if attribute:
            value = attribute.Get(result.time)
            if attribute.ValueMightBeTimeVarying():
                facts.varies = True
                result.varying.setdefault(path, set()).add(name)
            if value is None:
                continue
            fault = _fault(name, value)
            if fault:
                remedy = "author a value of the schema's type" if "kind" in fault else "author a finite value"
                facts.errors.append((name, fault, remedy))
                continue
            facts.values[name] = value
        facts.used += 1
    return facts


def _fault(name: str, value: Any) -> str:
    """Return what is wrong with a value that is not finite or not of the kind that its rule wants, or ""."""
    kinds = [rule.fallback for rule in RULES.find(name)] or _SIZES.get(name, [])
    if kinds and not any(fits(kind, value, exact=not name.startswith("mjc:")) for kind in kinds):
        return f"is a {type(value).__name__}, which is the wrong kind of value"
    if isinstance(value, float):
        finite = math.isfinite(value)
    elif isinstance(value, (Gf.Vec3f, Gf.Vec3d)):
        finite = math.isfinite(value[0] + value[1] + value[2])
    elif isinstance(value, (Gf.Quatf, Gf.Quatd)):
        finite = math.isfinite(value.GetLength())
    elif isinstance(value, (Vt.FloatArray, Vt.DoubleArray)):
        finite = bool(np.isfinite(value).all())
    else:
        return ""
    if finite:
        return ""
    if value != value or (isinstance(value, (Vt.FloatArray, Vt.DoubleArray)) and np.isnan(value).any()):
        return "is not a number"
    return "" if any(rule.may_be_infinite for rule in RULES.find(name)) else "is infinite"


def _unseen(prim: Usd.Prim, schemas: frozenset[str]) -> list[tuple[str, str | None]]:
    """Return what UsdPhysics' parser does not see because the schema that brings it along is not registered."""
    lost = sorted(_PARSED & schemas)
    if not lost:
        return []
    seen = set(prim.GetAppliedSchemas())
    return [("", f"{name} comes with a schema that is not registered") for name in lost if name not in seen]


def _remedy(why: str) -> str:
    if why.endswith("is not registered"):
        return f"apply {why.split()[0]}, or call usd_sim.schemas.register() before the first stage is opened"
    return f"apply {why.removesuffix(' is not applied')}" if why.endswith(" is not applied") else ""


def quats_xyzw(values: Iterable[Gf.Quatf | Gf.Quatd | None]) -> np.ndarray:
    """Return USD quaternions as rows of x, y, z, w (n, 4); the identity for None or zero length."""
    rows = np.array(Vt.QuatdArray([Gf.Quatd(1.0) if value is None else Gf.Quatd(value) for value in values]))
    rows = rows.reshape(-1, 4)
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.where(length > 0, rows / np.where(length > 0, length, 1.0), (0.0, 0.0, 0.0, 1.0))
