"""A scan in which the prototypes of PointInstancers stand as prims of their own, so that every reader sees them.

All instances of a prototype that differ by no more than place and rotation share one *copy*: a set of invented prim
paths below ``/__copy_N`` with the same values as the prototype's own prims, at the origin and without rotation.
:mod:`usd_sim.stage.tile` then repeats the rows that became of each copy, once per instance. So scale, mirroring and
uneven scale of instances go through the same code as those of any prim, and what is done per prim is done per copy.
"""

from __future__ import annotations

from collections.abc import Iterable, Set
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from pxr import Sdf, Usd, UsdGeom, UsdPhysics

from usd_sim.stage.motion import TransformTimes
from usd_sim.stage.read.instancers import Nested, Placement, find_placements, relative_matrix
from usd_sim.stage.read.scan import Scan
from usd_sim.stage.read.stretches import Instances, Split, gather, split
from usd_sim.stage.report import Entry

__all__ = ["InstancedScan", "instanced_scan", "split_copy_path"]

_PREFIX = "/__copy_"

_OBJECTS = UsdPhysics.ObjectType


@dataclass
class _Copy:
    """One set of invented prims.

    Attributes:
        prefix: What their paths start with.
        root: Root of the prototype.
        matrix: Space of the prototype root's parent to the world, in stage units (4, 4).
        group: Group of rows that it belongs to.
        carrier: Path of the rigid body that carries all of its colliders; None leaves that to UsdPhysics.
        origin: Instancer, place in its arrays and name of the only instance; None where the copy stands for many.
    """

    prefix: str
    root: str
    matrix: np.ndarray
    group: int
    carrier: str | None = None
    origin: tuple[str, int, str] | None = None

    def moved(self, path: str) -> str:
        """Return the path of a prim in this copy; those outside of the prototype stay."""
        inside = path == self.root or path.startswith(self.root + "/")
        return self.prefix + path if inside else path


def split_copy_path(path: str) -> tuple[int, str]:
    """Return the number of the copy that an invented path belongs to, -1 for real ones, and the real path."""
    if not path.startswith(_PREFIX):
        return -1, path
    number, _, rest = path[len(_PREFIX) :].partition("/")
    return int(number), "/" + rest


class _Original:
    """A descriptor of UsdPhysics' parser, with paths as text; every property is asked for once."""

    def __init__(self, item: Any):
        self._item = item

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._item, name)
        if isinstance(value, Sdf.Path):
            value = _Text(value)
        elif isinstance(value, (list, tuple)) or type(value).__name__.endswith(("Vector", "Array")):
            value = [_Text(entry) if isinstance(entry, Sdf.Path) else entry for entry in value]
        self.__dict__[name] = value
        return value


class _Text(str):
    """A path."""


class _Item:
    """A descriptor whose paths, given as text, lead into a copy."""

    def __init__(self, item: _Original, copy: _Copy):
        self._item, self._copy = item, copy

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._item, name)
        copy = self._copy
        if name == "rigidBody" and copy.carrier is not None:
            return copy.carrier
        if type(value) is _Text:
            if value == "" and name in ("rel0", "rel1"):
                return copy.prefix  # the world of a prototype is the space that it is placed in
            return copy.moved(value)
        if type(value) is list:
            return [copy.moved(entry) if type(entry) is _Text else entry for entry in value]
        return value


@dataclass
class InstancedScan(Scan):
    """A scan with copies of prototypes beside the stage's own prims.

    Attributes:
        copies: All copies.
        instances: Where they go.
        prototype_objects: Root of each prototype to what UsdPhysics' parser found in it.
    """

    copies: list[_Copy] = field(default_factory=list)
    instances: Instances = field(default_factory=Instances)
    prototype_objects: dict[str, dict[Any, list[tuple[str, Any]]]] = field(default_factory=dict)
    _local: dict[tuple[str, str], np.ndarray] = field(default_factory=dict)
    _examples: dict[str, _Copy] = field(default_factory=dict)

    def found(self, *kinds: Any) -> list[tuple[str, Any]]:
        """Return (path, descriptor) of all valid objects of some kinds: the stage's own, then copy by copy."""
        pairs = super().found(*kinds)
        by_root: dict[str, list[tuple[str, Any]]] = {}
        for copy in self.copies:
            if copy.root not in by_root:
                objects = self.prototype_objects[copy.root]
                here = [pair for kind in kinds for pair in objects.get(kind, ())]
                by_root[copy.root] = sorted(here, key=lambda pair: self.order.get(pair[0], 0))
            pairs += [(copy.prefix + path, _Item(item, copy)) for path, item in by_root[copy.root]]
        return pairs

    def prim(self, path: Any) -> Usd.Prim:
        """Return the prim that a path stands for, in a copy that of the prototype."""
        return self.stage.GetPrimAtPath(split_copy_path(str(path))[1])

    def targets(self, path: str, name: str) -> list[str]:
        """Return the targets of a relationship; those of a copy's prims in the same copy."""
        number, _ = split_copy_path(path)
        targets = super().targets(path, name)
        return targets if number < 0 else [self.copies[number].moved(target) for target in targets]

    def stand_ins(self, path: str) -> list[str]:
        """Return the prims of copies that stand for a prototype's prim, and the copies of all prototypes below one."""
        if path.startswith(_PREFIX):
            return []
        inside = [copy.prefix + path for copy in self.copies if copy.moved(path) != path]
        return inside + [copy.prefix for copy in self.copies if copy.root.startswith(f"{path}/")]

    def matrices(self, paths: Iterable[str]) -> np.ndarray:
        """Return the local-to-world matrices of prims in stage units (n, 4, 4), row-vector convention."""
        parts = [split_copy_path(str(path)) for path in paths]
        own = super().matrices(path if number < 0 else "/" for number, path in parts)
        rows = [row for row, (number, _) in enumerate(parts) if number >= 0]
        if rows:
            copies = [self.copies[parts[row][0]] for row in rows]
            local = [self._in_prototype(copy.root, parts[row][1]) for row, copy in zip(rows, copies, strict=True)]
            own[rows] = np.array(local) @ np.array([copy.matrix for copy in copies])
        return own

    def _in_prototype(self, root: str, path: str) -> np.ndarray:
        """Return the matrix from a prim to the parent of its prototype's root; the identity from above the root."""
        key = root, path
        if key not in self._local:
            inside = path == root or path.startswith(root + "/")
            get, cache = self.stage.GetPrimAtPath, UsdGeom.XformCache(self.time)
            self._local[key] = relative_matrix(cache, get(path), get(root).GetParent()) if inside else np.eye(4)
        return self._local[key]

    def group_of(self, path: str) -> int:
        """Return the group of rows that a path belongs to; 0 for the stage's own."""
        if not path.startswith(_PREFIX):
            return 0
        return self.copies[split_copy_path(path)[0]].group

    def origin_of(self, path: str) -> tuple[str, int, str] | None:
        """Return the instancer, the place in its arrays and the name of a path that stands for one instance."""
        number, real = split_copy_path(path)
        origin = self.copies[number].origin if number >= 0 else None
        return origin and (origin[0], origin[1], origin[2] + real.removeprefix(self.copies[number].root))

    def repeats(self, paths: Iterable[str]) -> np.ndarray:
        """Return how many things prims stand for (n,): as many as a copy has instances."""
        counts = np.bincount(self.instances.group, minlength=len(self.instances.roots))
        counts[0] = 1
        return counts[[self.group_of(path) for path in paths]]

    def _is_counted(self, path: str, name: str) -> bool:
        # a prototype's prims stand for what all of its copies say
        if not self._examples:
            self._examples.update((copy.root, copy) for copy in reversed(self.copies))
        for root, copy in self._examples.items():
            if path == root or path.startswith(root + "/"):
                return super()._is_counted(copy.moved(path), name)
        return super()._is_counted(path, name)

    def tidy_report(self) -> None:
        """Let the report speak of the prototypes' real prims, once each."""
        for entries in (self.report.errors, self.report.approximated, self.report.ignored):
            real = [
                Entry(split_copy_path(entry.prim)[1], entry.property, _real_text(entry.message), entry.remedy)
                for entry in entries
            ]
            entries[:] = list(dict.fromkeys(real))


def _real_text(message: str) -> str:
    if _PREFIX not in message:
        return message
    return " ".join(split_copy_path(word)[1] if word.startswith(_PREFIX) else word for word in message.split(" "))


# --- making one -----------------------------------------------------------------------------------------------------


def instanced_scan(scan: Scan, *, size_by_size: Set[str] = frozenset()) -> Scan:
    """Return a scan that also holds copies of all prototypes with physics; the scan itself where there are none.

    Args:
        scan: The stage's own prims; its tables become those of the result.
        size_by_size: Prototypes of which each size needs a copy of its own.
    """
    if not scan.instancers:
        return scan
    objects = _prototype_objects(scan)
    physical = {root: bool(kinds.get(_OBJECTS.RigidBody)) for root, kinds in objects.items()}
    bodies = scan.found(_OBJECTS.RigidBody)
    bodies += [pair for kinds in objects.values() for pair in kinds.get(_OBJECTS.RigidBody, ())]
    enabled = {path for path, item in bodies if item.rigidBodyEnabled}
    placements, nested = find_placements(scan, enabled, physical)
    if not objects:
        return scan
    used = {item.prototype for item in placements} | {item.prototype for item in nested}
    for root in objects:
        if root not in used and _is_below_instancer(scan, root):
            scan.report.ignore(root, "no instance of this prototype is simulated")
    _report_motion(scan, placements, physical)
    result = InstancedScan(**{f.name: getattr(scan, f.name) for f in fields(Scan)}, prototype_objects=objects)
    result.copies, result.instances = _make_copies(scan, placements, nested, physical, size_by_size)
    _add_prims(result, _prims_of_prototypes(scan, objects))
    return result


def _prototype_objects(scan: Scan) -> dict[str, dict[Any, list[tuple[str, Any]]]]:
    """Return what UsdPhysics' parser finds in each prototype that holds colliders or bodies."""
    roots: dict[str, str] = {}
    for path in scan.instancers:
        relation = UsdGeom.PointInstancer(scan.stage.GetPrimAtPath(path)).GetPrototypesRel()
        for target in relation.GetForwardedTargets():
            roots.setdefault(str(target), path)
    usable = []
    for root, path in roots.items():
        prim = scan.stage.GetPrimAtPath(root)
        if not prim:
            scan.report.ignore(path, f"the prototype {root} does not exist", property="prototypes")
        elif prim.IsActive() and prim.IsDefined() and not prim.IsAbstract():
            usable.append(root)
        elif _has_physics(prim):
            scan.report.ignore(
                path, f"the prototype {root} is a class, an over or inactive, which physics does not read",
                property="prototypes", remedy="make it a def",
            )  # fmt: skip
    return {root: kinds for root in usable if (kinds := _parse(scan, root))}


def _report_motion(scan: Scan, placements: list[Placement], physical: dict[str, bool]) -> None:
    """Report animated instancers of what does not move by itself."""
    times = TransformTimes(scan.stage)
    for instancer in dict.fromkeys(placement.instancer for placement in placements):
        prim = scan.stage.GetPrimAtPath(instancer)
        arrays = (prim.GetAttribute(name) for name in ("positions", "orientations", "orientationsf", "scales"))
        if not times.of(instancer).varies and not any(attribute.ValueMightBeTimeVarying() for attribute in arrays):
            continue
        for placement in placements:
            still = not physical[placement.prototype] and not placement.carrier
            if placement.instancer == instancer and (still or _is_kinematic(scan, placement.prototype)):
                scan.report.approximate(
                    instancer, "is animated, but its static and kinematic instances stay where they are at the start"
                )
                break


def _is_kinematic(scan: Scan, root: str) -> bool:
    inside = (path for path in scan.values if path == root or path.startswith(root + "/"))
    return any(scan.value(path, "physics:kinematicEnabled", False) for path in inside)


def _has_physics(prim: Usd.Prim) -> bool:
    prims = Usd.PrimRange.AllPrims(prim)
    return any(name.startswith("Physics") for child in prims for name in child.GetAppliedSchemas())


def _parse(scan: Scan, root: str) -> dict[Any, list[tuple[str, Any]]]:
    groups = [Sdf.Path(path) for path, _ in scan.found(_OBJECTS.CollisionGroup)]  # for what belongs to them
    found = scan.parse([*groups, Sdf.Path(root)])
    found.pop(_OBJECTS.CollisionGroup, None)
    result: dict[Any, list[tuple[str, Any]]] = {}
    for kind, (paths, items) in found.items():
        pairs = [(str(path), _Original(item)) for path, item in zip(paths, items, strict=True) if item.isValid]
        if kind in _JOINTS:
            pairs = [(path, item) for path, item in pairs if _stays_inside(scan, root, path, item)]
        result[kind] = pairs
    return result if set(result) - set(_JOINTS) else {}


_JOINTS = [
    getattr(_OBJECTS, name)
    for name in (
        "FixedJoint", "RevoluteJoint", "PrismaticJoint", "SphericalJoint", "DistanceJoint", "D6Joint", "CustomJoint"
    )
]  # fmt: skip


def _stays_inside(scan: Scan, root: str, path: str, item: Any) -> bool:
    """Whether a joint connects nothing outside of its prototype; if not, the report says so."""
    for target in (str(item.rel0), str(item.rel1)):
        if target and not (target == root or target.startswith(root + "/")):
            scan.report.ignore(
                path, f"joins an instanced body to {target}, outside of the prototype",
                remedy="keep both bodies in the prototype",
            )  # fmt: skip
            return False
    return True


def _make_copies(
    scan: Scan,
    placements: list[Placement],
    nested: list[Nested],
    physical: dict[str, bool],
    size_by_size: Set[str],
) -> tuple[list[_Copy], Instances]:
    copies: list[_Copy] = []
    roots = [""]
    parts: list[tuple[Placement, Split, int]] = []
    probes: list[tuple[int, int, int]] = []
    alike = not any(scan.value(path, "mjc:compiler:setTotalMass", -1.0) > 0 for path in scan.values)

    def add(root: str, matrix: np.ndarray, group: int, carrier: str | None) -> _Copy:
        copies.append(_Copy(f"{_PREFIX}{len(copies)}", root, matrix, group, carrier))
        return copies[-1]

    for placement in placements:
        loose = None if physical[placement.prototype] else placement.carrier
        if loose:  # colliders of one of the stage's own bodies
            for matrix, index, label in zip(placement.matrix, placement.index, placement.label, strict=True):
                add(placement.prototype, matrix, 0, loose).origin = placement.instancer, int(index), label
            continue
        share = alike and placement.prototype not in size_by_size
        item, start = split(scan, placement.matrix, share_sizes=share), len(roots)
        parts.append((placement, item, start))
        probes += [(start + a, start + b, start + c) for a, b, c in item.probes]
        for matrix in item.stretch:
            host = add(placement.prototype, matrix, len(roots), loose)
            roots.append(placement.prototype)
            for studs in nested:
                if studs.host == placement.prototype:
                    for inner in studs.matrix:
                        add(studs.prototype, inner @ matrix, host.group, host.prefix + studs.carrier)
    return copies, gather(scan, parts, roots, probes)


# --- prims ----------------------------------------------------------------------------------------------------------


def _prims_of_prototypes(scan: Scan, roots: Iterable[str]) -> dict[str, list[str]]:
    """Return the prims of each prototype, without those of prototypes further in."""
    everything = list(scan.order)
    all_roots = set(roots)
    result: dict[str, list[str]] = {}
    for root in all_roots:
        inner = [other + "/" for other in all_roots if other.startswith(root + "/")]
        inner += [path + "/" for path in scan.instancers if path == root or path.startswith(root + "/")]
        prims = []
        for path in everything[scan.order.get(root, len(everything)) :]:
            if path != root and not path.startswith(root + "/"):
                break
            if not inner or not path.startswith(tuple(inner)):
                prims.append(path)
        result[root] = prims
    return result


def _is_below_instancer(scan: Scan, path: str) -> bool:
    return any(path.startswith(instancer + "/") for instancer in scan.instancers)


def _add_prims(scan: InstancedScan, prims: dict[str, list[str]]) -> None:
    """Add what the copies' prims say; prims of prototypes below an instancer are no longer prims of their own."""
    tables: list[dict[str, Any]] = [scan.values, scan.schemas, scan.types]
    for copy in scan.copies:
        for table in tables:
            table.update({copy.prefix + path: table[path] for path in prims[copy.root] if path in table})
    for root, paths in prims.items():
        if not _is_below_instancer(scan, root):
            continue
        for path in paths:
            for table in tables:
                table.pop(path, None)
