"""What the results layer must say about each body prim so that translate and orient samples move it.

Read once from the composed source stage: which op attributes to write and of which type, the new order of transform
ops where the authored one cannot express a free pose, the scale that the prim keeps, the frames above it, and the
instances around it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from pxr import Sdf, Usd, UsdGeom, Vt

from usd_sim.errors import UsdSimError
from usd_sim.geometry.transforms import decompose_affine
from usd_sim.record.frames import ParentLayout

__all__ = [
    "BodyTarget",
    "Targets",
    "chain_above",
    "find_prim",
    "open_instances",
    "read_targets",
    "relative_matrix",
    "scale_value",
]

_RESET = UsdGeom.XformOpTypes.resetXformStack
_SUFFIX = "recorded"
"""Suffix of the ops written where the source has an attribute of the plain name that cannot take the values."""

_TRANSLATE_TYPES = ("double3", "float3")
_ORIENT_TYPES = ("quatf", "quatd")
_SCALE_TYPES = ("float3", "double3")

_UNIT_SCALE = 1.0e-9
"""Deviation of a decomposed scale from 1 that is a rounding of float64, some thousand times its epsilon."""

_VISIBLE_SHEAR = 1.0e-4
"""Cosine between two axes from which a shear of the authored transform is reported as dropped."""


@dataclass(frozen=True)
class BodyTarget:
    """The transform ops of one body prim in the results layer.

    Attributes:
        path: Prim path.
        translate: Name and value type of the translate op.
        orient: Name and value type of the orient op.
        order: New xformOpOrder; None where the authored one stays.
        scale: Name and value type of the op that the decomposed scale is written to; None where the authored scale
            op stays, or there is none to write.
    """

    path: Sdf.Path
    translate: tuple[str, str]
    orient: tuple[str, str]
    order: list[str] | None
    scale: tuple[str, str] | None


@dataclass
class Targets:
    """All bodies of a recording.

    Attributes:
        bodies: One per body path, in order.
        layout: What they hang from.
        parents: Parent prims, and the prim that their matrix is relative to (invalid: the world), one per body.
        instances: Instances that must become editable.
        notes: What could not be kept exactly.
    """

    bodies: list[BodyTarget]
    layout: ParentLayout
    parents: list[tuple[Usd.Prim, Usd.Prim | None]]
    instances: list[Sdf.Path]
    notes: list[str] = field(default_factory=list)

    def animated_matrices(self, time_codes: NDArray[np.float64], rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return parent matrices of bodies under animated prims, ``(frames, len(rows), 4, 4)``."""
        different: dict[tuple[Sdf.Path, Sdf.Path | None], int] = {}
        pairs = [self.parents[row] for row in rows]
        keys = [(prim.GetPath(), base.GetPath() if base else None) for prim, base in pairs]
        which = np.array([different.setdefault(key, len(different)) for key in keys])
        first = [pairs[keys.index(key)] for key in different]
        out = np.empty((len(time_codes), len(different), 4, 4))
        cache = UsdGeom.XformCache()
        for frame, time_code in enumerate(time_codes):
            cache.SetTime(Usd.TimeCode(time_code))
            for column, pair in enumerate(first):
                out[frame, column] = relative_matrix(cache, *pair)
        return out[:, which]


def read_targets(stage: Usd.Stage, body_paths: Sequence[str], time_code: float) -> Targets:
    """Read the prims of all bodies.

    Args:
        stage: The composed source.
        body_paths: Prim paths, each once.
        time_code: Time code of the first sample, at which scales and constant frames are read.

    Raises:
        UsdSimError: A path names no prim or a prim without a transform, or stands twice.
    """
    rows: dict[Sdf.Path, int] = {}
    prims: list[Usd.Prim] = []
    for text in body_paths:
        prim = find_prim(stage, text)
        if not prim.IsA(UsdGeom.Xformable):
            raise UsdSimError("a body's prim has no transform to record into", prim=text, remedy="make it an Xform")
        if prim.GetPath() in rows:
            raise UsdSimError("the body is listed twice", prim=text, remedy="list each body once")
        rows[prim.GetPath()] = len(prims)
        prims.append(prim)
    cache = UsdGeom.XformCache(Usd.TimeCode(time_code))
    plans = [_plan(prim) for prim in prims]
    scale, notes = _read_scales(plans, cache)
    layout, parents = _read_layout(plans, rows, cache, scale)
    unit = np.all(np.abs(scale - 1.0) < _UNIT_SCALE, axis=1)
    bodies = [plan.target(unit=is_unit) for plan, is_unit in zip(plans, unit.tolist(), strict=True)]
    flat = np.abs(np.linalg.det(layout.matrix[:, :3, :3])) < np.finfo(np.float64).tiny
    notes += [f"{prims[row].GetPath()}: lies below a prim scaled to nothing" for row in np.flatnonzero(flat)]
    return Targets(bodies, layout, parents, open_instances(prims), notes)


def find_prim(stage: Usd.Stage, path: str) -> Usd.Prim:
    """Return the prim at a path.

    Raises:
        UsdSimError: There is none.
    """
    prim = stage.GetPrimAtPath(path) if Sdf.Path.IsValidPathString(path) else None
    if not prim or prim.IsPseudoRoot() or prim.IsInPrototype():
        raise UsdSimError("no such prim to record into", prim=path, remedy="give paths of prims on the stage")
    return prim


def open_instances(prims: Sequence[Usd.Prim]) -> list[Sdf.Path]:
    """Return the paths of all instances around prims, outermost first: USD ignores overrides inside of instances."""
    found: dict[Sdf.Path, None] = {}
    for prim in prims:
        if not prim.IsInstanceProxy():
            continue
        above = prim.GetParent()
        while not above.IsPseudoRoot():
            if above.IsInstance():
                found[above.GetPath()] = None
            above = above.GetParent()
    return sorted(found)


def _read_layout(
    plans: list[_Plan], rows: dict[Sdf.Path, int], cache: UsdGeom.XformCache, scale: NDArray[np.float64]
) -> tuple[ParentLayout, list[tuple[Usd.Prim, Usd.Prim | None]]]:
    """Return what bodies hang from, and their parents as :attr:`Targets.parents` has them."""
    count = len(plans)
    rest, matrix = np.empty((2, count, 4, 4))
    ancestor, animated = np.full(count, -1, np.int64), np.zeros(count, bool)
    chains: dict[Sdf.Path, tuple[int, bool]] = {}
    matrices: dict[Sdf.Path, NDArray[np.float64]] = {}
    parents: list[tuple[Usd.Prim, Usd.Prim | None]] = []
    for row, plan in enumerate(plans):
        prim = plan.prim
        rest[row] = cache.GetLocalToWorldTransform(prim)
        parent = prim.GetStage().GetPseudoRoot() if _RESET in plan.authored else prim.GetParent()
        path = parent.GetPath()
        ancestor[row], animated[row] = chain_above(parent, rows, chains)
        base = plans[ancestor[row]].prim if ancestor[row] >= 0 else None
        parents.append((parent, base))
        if path not in matrices:
            matrices[path] = relative_matrix(cache, parent, base)
        matrix[row] = matrices[path]
    return ParentLayout(ancestor, matrix, animated, rest, scale), parents


def _read_scales(plans: list[_Plan], cache: UsdGeom.XformCache) -> tuple[NDArray[np.float64], list[str]]:
    """Return the scales ``(n, 3)`` that prims keep, with notes on shears that they do not."""
    scale = np.ones((len(plans), 3))
    unknown = []
    for row, plan in enumerate(plans):
        kept = plan.kept_scale.Get(cache.GetTime()) if plan.kept_scale else None
        if kept is not None:
            scale[row] = kept
        elif not plan.rigid:
            unknown.append(row)
    parts = decompose_affine([cache.GetLocalTransformation(plans[row].prim)[0] for row in unknown])
    scale[unknown] = parts.scale
    sheared = np.flatnonzero(parts.shear_error > _VISIBLE_SHEAR)
    paths = [plans[unknown[index]].prim.GetPath() for index in sheared]
    return scale, [f"{path}: the shear of the authored transform is dropped" for path in paths]


def chain_above(
    prim: Usd.Prim, rows: dict[Sdf.Path, int], known: dict[Sdf.Path, tuple[int, bool]] | None = None
) -> tuple[int, bool]:
    """Return the row of the nearest body at or above a prim, -1 without one, and whether it moves against that body."""
    known = {} if known is None else known
    path = prim.GetPath()
    if path in known:
        return known[path]
    if prim.IsPseudoRoot():
        result = (-1, False)
    elif path in rows:
        result = (rows[path], False)
    else:
        xformable = UsdGeom.Xformable(prim)
        animated = bool(xformable) and xformable.TransformMightBeTimeVarying()
        if xformable and xformable.GetResetXformStack():
            result = (-1, animated)
        else:
            above, above_animated = chain_above(prim.GetParent(), rows, known)
            result = (above, animated or above_animated)
    known[path] = result
    return result


def relative_matrix(cache: UsdGeom.XformCache, prim: Usd.Prim, base: Usd.Prim | None) -> NDArray[np.float64]:
    """Return the matrix from a prim to a prim above it, or to the world."""
    if prim.IsPseudoRoot() or prim == base:
        return np.eye(4)
    if base is None:
        return np.array(cache.GetLocalToWorldTransform(prim))
    return np.array(cache.ComputeRelativeTransform(prim, base)[0])


@dataclass(frozen=True)
class _Plan:
    """The ops of one prim before its decomposed scale is known."""

    prim: Usd.Prim
    authored: list[str]
    translate: tuple[str, str]
    orient: tuple[str, str]
    kept_scale: Usd.Attribute | None
    rigid: bool

    def target(self, *, unit: bool) -> BodyTarget:
        """Complete the plan; ``unit`` says that the scale is 1."""
        order = [_RESET] if _RESET in self.authored else []
        order += [self.translate[0], self.orient[0]]
        scale = None
        if self.kept_scale is not None:
            order.append(self.kept_scale.GetName())
        elif not unit:
            scale = _op_attribute(self.prim, "xformOp:scale", _SCALE_TYPES)
            order.append(scale[0])
        changed = order if order != self.authored else None
        return BodyTarget(self.prim.GetPath(), self.translate, self.orient, changed, scale)


def _plan(prim: Usd.Prim) -> _Plan:
    authored = list(prim.GetAttribute("xformOpOrder").Get() or ())
    scale_op = _scale_op(authored)
    return _Plan(
        prim,
        authored,
        _op_attribute(prim, "xformOp:translate", _TRANSLATE_TYPES),
        _op_attribute(prim, "xformOp:orient", _ORIENT_TYPES),
        prim.GetAttribute(scale_op) if scale_op else None,
        scale_op == "",
    )


def _scale_op(order: list[str]) -> str | None:
    """Say which op scales the prim.

    Returns:
        The op that scales along the prim's own axes where only translations and rotations follow it; an empty
        string where nothing scales; None where the scale must be taken from the local matrix.
    """
    if _RESET in order:
        order = order[len(order) - order[::-1].index(_RESET) :]
    kinds = [(name, name.removeprefix("!invert!").split(":")[1] if ":" in name else name) for name in order]
    turning = [(name, kind) for name, kind in kinds if not kind.startswith("translate")]
    first, kind = turning.pop() if turning and turning[-1][0].startswith("xformOp:scale") else ("", "scale")
    rigid = all(kind == "orient" or kind.startswith("rotate") for _, kind in turning)
    return first if rigid and kind == "scale" else None


def _op_attribute(prim: Usd.Prim, name: str, types: tuple[str, ...]) -> tuple[str, str]:
    """Return the name and value type of an op: the source's own where it can take the values, else the first type."""
    attribute = prim.GetAttribute(name)
    if not attribute:
        return name, types[0]
    authored = str(attribute.GetTypeName())
    return (name, authored) if authored in types else (f"{name}:{_SUFFIX}", types[0])


def scale_value(type_name: str, scale: NDArray[np.float64]) -> object:
    """Return a scale ``(3,)`` as the value of an op of that type."""
    array = Vt.Vec3dArray if type_name == "double3" else Vt.Vec3fArray
    return array.FromNumpy(scale[None].astype(np.float64 if type_name == "double3" else np.float32))[0]
