"""Instances that one transform cannot express, written as prims: those of several bodies, or with instancers inside.

Each becomes a prim below ``NAME_instances`` beside its instancer, which refers to the prototype, and is inactive in the
instancer from then on. All that is authored here is a layer of its own, which the recording takes over.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from pxr import Gf, Sdf, Usd, UsdGeom, Vt

from usd_sim.record.instances import BodyOrigins, read_arrays
from usd_sim.record.layers import Timing, root_layer
from usd_sim.record.targets import open_instances

__all__ = ["Copies", "copy_out"]

_DEEPEST = 8
"""Instancers inside of each other that are taken apart."""

_ORDER = ["xformOp:translate", "xformOp:orient", "xformOp:scale"]


@dataclass
class Copies:
    """A stage on which bodies have prims of their own where they need them.

    Attributes:
        stage: The source with the copies over it.
        layer: What was added.
        paths: Prim of each body on that stage.
        origins: Which bodies are still instances.
        notes: What was done, one line each.
    """

    stage: Usd.Stage
    layer: Sdf.Layer | None
    paths: list[str]
    origins: BodyOrigins | None
    notes: list[str]


def copy_out(stage: Usd.Stage, paths: Sequence[str], origins: BodyOrigins | None, timing: Timing) -> Copies:
    """Give prims to the bodies that need them.

    Args:
        stage: The source.
        paths: Prim of each body; of instances in the prototype.
        origins: Which bodies are instances.
        timing: Of the recording.
    """
    result = Copies(stage, None, list(paths), origins, [])
    if origins is None or not any(origins.instancer):
        return result
    work = _Work(stage, timing, list(paths), list(origins.instancer), np.array(origins.index, dtype=int))
    for _ in range(_DEEPEST):
        if not work.round():
            break
    if work.layer is None:
        return result
    remaining = BodyOrigins(work.instancer, work.index, origins.com)
    return Copies(work.stage, work.layer, work.paths, remaining, work.notes())


class _Work:
    """The stage and the bodies as they are after some rounds; each takes apart the outermost instancers."""

    def __init__(self, stage: Usd.Stage, timing: Timing, paths: list[str], instancer: list[str], index: np.ndarray):
        self.source = self.stage = stage
        self.timing, self.time = timing, Usd.TimeCode(timing.start)
        self.paths, self.instancer, self.index = paths, instancer, index
        self.layer: Sdf.Layer | None = None
        self.holders: dict[str, str] = {}
        self.counts: dict[str, int] = {}

    def round(self) -> bool:
        """Take one level apart; return whether there was one."""
        rows = [row for row, path in enumerate(self.instancer) if path]
        outer = _Nesting(self.stage, self.time)
        chains = {path: outer.chain(path) for path in dict.fromkeys(self.instancer[row] for row in rows)}
        bodies: dict[tuple[str, int], list[int]] = {}
        for row in rows:
            path = self.instancer[row]
            if chains[path] is not None:
                bodies.setdefault((path, int(self.index[row])), []).append(row)
        needed: dict[tuple[str, int], list[int]] = {}
        for (path, index), members in bodies.items():
            top, inside = chains[path] or ("", 1)
            if top or len(members) > 1:
                needed.setdefault((top or path, index // inside), []).extend(members)
        if not needed:
            return False
        if self.layer is None:
            self._overlay()
        self._author(needed, chains)
        return True

    def notes(self) -> list[str]:
        """Return what was written as prims."""
        return [
            f"{path}: {count} instances hold several bodies and are recorded as prims below {self.holders[path]}"
            for path, count in self.counts.items()
        ]

    def _overlay(self) -> None:
        layer = self.layer = Sdf.Layer.CreateAnonymous(".usda")
        layer.timeCodesPerSecond = self.timing.time_codes_per_second
        sublayers = [layer.identifier, self.source.GetRootLayer().identifier]
        root = root_layer(self.source, self.timing, self.timing.start, sublayers)
        self.stage = Usd.Stage.Open(root, self.source.GetSessionLayer())
        self.stage.MuteAndUnmuteLayers(self.source.GetMutedLayers(), [])

    def _author(self, needed: dict[tuple[str, int], list[int]], chains: dict[str, tuple[str, int] | None]) -> None:
        layer = self.layer
        assert layer is not None
        indices: dict[str, list[int]] = {}
        for path, index in needed:
            indices.setdefault(path, []).append(index)
        roots: dict[tuple[str, int], str] = {}
        opened = [str(path) for path in open_instances([self.stage.GetPrimAtPath(path) for path in indices])]
        with Sdf.ChangeBlock():
            for path in opened:
                Sdf.CreatePrimInLayer(layer, path).instanceable = False
            for path, members in indices.items():
                roots.update(_author_instances(layer, self.stage, self._holder(path), path, members, self.time))
                self.counts[path] = self.counts.get(path, 0) + len(members)
        for (path, index), rows in needed.items():
            root, copy = roots[path, index], f"{self.holders[path]}/i{index}"
            above = root.rpartition("/")[0]
            for row in rows:
                top, inside = chains[self.instancer[row]] or ("", 1)
                self.paths[row] = _moved(self.paths[row], root, above, copy)
                if top:
                    self.instancer[row] = _moved(self.instancer[row], root, above, copy)
                    self.index[row] %= inside
                else:
                    self.instancer[row], self.index[row] = "", -1

    def _holder(self, path: str) -> str:
        """Return the prim below which the copies of an instancer go."""
        if path not in self.holders:
            name, number = f"{path}_instances", 1
            while self.stage.GetPrimAtPath(name):
                number += 1
                name = f"{path}_instances{number}"
            self.holders[path] = name
        return self.holders[path]


class _Nesting:
    """Which instancers lie in prototypes of others."""

    def __init__(self, stage: Usd.Stage, time: Usd.TimeCode):
        self.stage, self.time = stage, time
        self.users: dict[str, list[str]] = {}
        for prim in Usd.PrimRange(stage.GetPseudoRoot(), Usd.TraverseInstanceProxies()):
            if prim.IsA(UsdGeom.PointInstancer):
                for target in UsdGeom.PointInstancer(prim).GetPrototypesRel().GetForwardedTargets():
                    self.users.setdefault(str(target), []).append(str(prim.GetPath()))

    def chain(self, path: str) -> tuple[str, int] | None:
        """Return the outermost instancer above one, "" for itself, and how many instances it makes of each of its own.

        None where several instancers share a prototype, so that indices are ambiguous.
        """
        top, inside = "", 1
        while True:
            users = [user for prefix in _prefixes(path) for user in self.users.get(prefix, ())]
            if not users:
                return top, inside
            if len(users) > 1:
                return None
            inside *= len(UsdGeom.PointInstancer(self.stage.GetPrimAtPath(path)).GetProtoIndicesAttr().Get(self.time))
            top = path = users[0]


def _prefixes(path: str) -> list[str]:
    return [str(prefix) for prefix in Sdf.Path(path).GetPrefixes()]


def _moved(path: str, root: str, above: str, copy: str) -> str:
    """Return where a prim at or below a prototype's root is in a copy; others stay."""
    return copy + path.removeprefix(above) if path == root or path.startswith(root + "/") else path


# --- authoring ------------------------------------------------------------------------------------------------------


def _author_instances(
    layer: Sdf.Layer, stage: Usd.Stage, holder: str, path: str, indices: list[int], time: Usd.TimeCode
) -> dict[tuple[str, int], str]:
    """Author copies of some instances of an instancer, and return the prototype root of each."""
    prim = stage.GetPrimAtPath(path)
    instancer = UsdGeom.PointInstancer(prim)
    _author_holder(layer, prim, holder)
    arrays = read_arrays(prim, time)
    assert arrays is not None  # the stage was read with them
    which = instancer.GetProtoIndicesAttr().Get(time)
    ids = instancer.GetIdsAttr().Get(time) or ()
    if len(ids) != len(which):  # then places stand for them
        ids = range(len(which))
    hidden = set(instancer.GetInvisibleIdsAttr().Get(time) or ())
    targets = [str(target) for target in instancer.GetPrototypesRel().GetForwardedTargets()]
    roots = {}
    for index in indices:
        root = roots[path, index] = targets[which[index]]
        spec = _define(layer, f"{holder}/i{index}", "Xform")
        w, xyz = float(arrays["orientations"][index][3]), Gf.Vec3d(*arrays["orientations"][index][:3])
        _attribute(spec, "xformOp:translate", "double3", Gf.Vec3d(*arrays["positions"][index]))
        _attribute(spec, "xformOp:orient", "quatd", Gf.Quatd(w, xyz))
        _attribute(spec, "xformOp:scale", "double3", Gf.Vec3d(*arrays["scales"][index]))
        _order(spec, _ORDER)
        if ids[index] in hidden:
            _attribute(spec, "visibility", "token", "invisible")
        copy = _define(layer, f"{holder}/i{index}/{root.rpartition('/')[2]}", "")
        copy.referenceList.prependedItems.append(Sdf.Reference(primPath=root))
    over = Sdf.CreatePrimInLayer(layer, path)
    over.SetInfo("inactiveIds", _inactive(over, [int(ids[index]) for index in indices]))
    return roots


def _inactive(spec: Sdf.PrimSpec, ids: Iterable[int]) -> Sdf.Int64ListOp:
    before = spec.GetInfo("inactiveIds").appendedItems if spec.HasInfo("inactiveIds") else []
    result = Sdf.Int64ListOp()
    result.appendedItems = [*before, *ids]
    return result


def _author_holder(layer: Sdf.Layer, prim: Usd.Prim, holder: str) -> None:
    """Author a prim that moves like an instancer."""
    if layer.GetPrimAtPath(holder):
        return
    spec = _define(layer, holder, "Xform")
    for op in UsdGeom.Xformable(prim).GetOrderedXformOps():
        attribute = op.GetAttr()
        if attribute.GetName() in spec.properties:
            continue
        copied = _attribute(spec, attribute.GetName(), str(attribute.GetTypeName()), attribute.Get())
        for time_code in attribute.GetTimeSamples():
            layer.SetTimeSample(copied.path, time_code, attribute.Get(time_code))
    _order(spec, list(prim.GetAttribute("xformOpOrder").Get() or ()))


def _define(layer: Sdf.Layer, path: str, type_name: str) -> Sdf.PrimSpec:
    spec = Sdf.CreatePrimInLayer(layer, path)
    spec.specifier = Sdf.SpecifierDef
    if type_name:
        spec.typeName = type_name
    return spec


def _attribute(spec: Sdf.PrimSpec, name: str, type_name: str, value: object) -> Sdf.AttributeSpec:
    attribute = Sdf.AttributeSpec(spec, name, Sdf.ValueTypeNames.Find(type_name))
    if value is not None:
        attribute.default = value
    return attribute


def _order(spec: Sdf.PrimSpec, names: list[str]) -> None:
    kind = Sdf.ValueTypeNames.TokenArray
    Sdf.AttributeSpec(spec, "xformOpOrder", kind, Sdf.VariabilityUniform).default = Vt.TokenArray(names)
