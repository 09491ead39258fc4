"""Bodies that are instances of PointInstancers: their motion as the instancer's own arrays, one sample per frame.

An instance moves as a whole, by its position and orientation. So where a prototype holds one body, the instance is
the frame that moves: with F the matrix of the instance in the world and B that of its body, ``F`` stands still in the
body, and F is written in the space of the instancer with the instance's scale kept, just like any prim's transform.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pxr import Sdf, Usd, UsdGeom, Vt

from usd_sim.errors import UsdSimError
from usd_sim.geometry import transforms as tf
from usd_sim.record.frames import ParentLayout
from usd_sim.record.targets import Targets, chain_above, find_prim, open_instances, relative_matrix

__all__ = ["BodyOrigins", "InstanceTargets", "instance_rows", "read_arrays", "read_instances"]

Array = NDArray[np.float64]

_SIMULATED = {
    "positions": ("point3f[]", Vt.Vec3fArray, np.float32),
    "orientationsf": ("quatf[]", Vt.QuatfArray, np.float32),
    "orientations": ("quath[]", Vt.QuathArray, np.float16),
    "velocities": ("vector3f[]", Vt.Vec3fArray, np.float32),
    "angularVelocities": ("vector3f[]", Vt.Vec3fArray, np.float32),
}
"""What is written: value type, Vt array and numpy type. Readers that know ``orientationsf`` prefer it; others find the
same in half precision."""

_RATES = ("velocities", "angularVelocities")


@dataclass(frozen=True)
class BodyOrigins:
    """Which bodies are instances of PointInstancers.

    Attributes:
        instancer: Path of the instancer of each body, empty for prims of their own ``(n,)``.
        index: Place in its arrays ``(n,)``.
        com: Centres of mass in the body frames ``(n, 3)`` [m].
    """

    instancer: Sequence[str]
    index: Any
    com: Any


@dataclass
class _Instancer:
    """One instancer that is written.

    Attributes:
        prim: The instancer.
        columns: Places in the arrays of :class:`InstanceTargets` ``(k,)``.
        index: Place of each in the instancer's own arrays ``(k,)``.
        names: Attributes that are written.
        authored: Arrays of all instances at the start.
        varying: Whether any of them changes with time.
    """

    prim: Usd.Prim
    columns: NDArray[np.int64]
    index: NDArray[np.int64]
    names: list[str]
    authored: dict[str, Array]
    varying: bool

    def path(self, name: str) -> Sdf.Path:
        """Return the path of an attribute."""
        return self.prim.GetPath().AppendProperty(name)

    def arrays(self, time_code: float) -> dict[str, Array]:
        """Return the authored arrays at a time, those at the start where their size differs by then."""
        if not self.varying:
            return self.authored
        now = read_arrays(self.prim, Usd.TimeCode(time_code))
        if now is None or len(now["positions"]) != len(self.authored["positions"]):
            return self.authored
        return now


@dataclass
class InstanceTargets:
    """All instanced bodies of a recording that are written; k of them.

    Attributes:
        rows: Their bodies ``(k,)``.
        layout: The frames that are written, see :class:`ParentLayout`.
        offset: Pose of that frame in the body ``(k, 7)``, in stage units.
        com: Centres of mass in the body frames ``(k, 3)``, in stage units.
        parents: Instancer, and the body's prim that its matrix is relative to, of each.
        instancers: The instancers.
        instances: Scene-graph instances around them that must become editable.
        notes: What is not written.
    """

    rows: NDArray[np.int64]
    layout: ParentLayout
    offset: Array
    com: Array
    parents: list[tuple[Usd.Prim, Usd.Prim | None]]
    instancers: list[_Instancer] = field(default_factory=list)
    instances: list[Sdf.Path] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def has_velocities(self) -> bool:
        """Whether velocities are written because the source has some, which would no longer be true."""
        return any(name in item.names for item in self.instancers for name in _RATES)

    def declare(self, layer: Sdf.Layer) -> None:
        """Create the attributes in a layer, without values."""
        with Sdf.ChangeBlock():
            for item in self.instancers:
                for name in item.names:
                    kind = Sdf.ValueTypeNames.Find(_SIMULATED[name][0])
                    Sdf.JustCreatePrimAttributeInLayer(layer, item.path(name), kind, Sdf.VariabilityVarying, False)

    def set_samples(self, layer: Sdf.Layer, time_codes: Sequence[float], values: dict[str, Array]) -> None:
        """Set the samples of all instancers.

        Args:
            layer: Layer with the attributes declared.
            time_codes: Times ``(frames,)``.
            values: Arrays ``(frames, k, ...)`` by the name of the attribute.
        """
        with Sdf.ChangeBlock():
            for item in self.instancers:
                for frame, time_code in enumerate(time_codes):
                    authored = item.arrays(time_code)
                    for name in item.names:
                        full = authored[name].copy()
                        full[item.index] = values[name][frame, item.columns]
                        _, array_type, dtype = _SIMULATED[name]
                        layer.SetTimeSample(item.path(name), time_code, array_type.FromNumpy(full.astype(dtype)))

    def author_constants(self, layer: Sdf.Layer) -> None:
        """Block what would contradict the motion: authored accelerations and bounds."""
        with Sdf.ChangeBlock():
            for item in self.instancers:
                for name, kind in (("accelerations", "vector3f[]"), ("extent", "float3[]")):
                    if item.prim.GetAttribute(name).HasAuthoredValue():
                        prim = Sdf.CreatePrimInLayer(layer, item.prim.GetPath())
                        Sdf.AttributeSpec(prim, name, Sdf.ValueTypeNames.Find(kind)).default = Sdf.ValueBlock()

    def attributes(self) -> list[Sdf.Path]:
        """Return the paths of all attributes that are written."""
        return [item.path(name) for item in self.instancers for name in item.names]


def instance_rows(origins: BodyOrigins | None, count: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the bodies that are prims of their own, and those that are instances."""
    if origins is None:
        return np.arange(count), np.zeros(0, np.int64)
    instanced = np.fromiter(map(bool, origins.instancer), bool, count)
    return np.flatnonzero(~instanced), np.flatnonzero(instanced)


def read_instances(
    stage: Usd.Stage,
    body_paths: Sequence[str],
    origins: BodyOrigins | None,
    rows: NDArray[np.int64],
    own: Targets,
    time_code: float,
    *,
    velocities: bool,
) -> InstanceTargets:
    """Read the instancers of instanced bodies.

    Args:
        stage: The composed source.
        body_paths: Prim of each body; of instanced ones in the prototype.
        origins: Which are instances, and of what.
        rows: Those that are.
        own: The bodies that are prims of their own.
        time_code: Time code of the first sample.
        velocities: Write velocities also where the source has none.
    """
    reader = _Reader(stage, own, time_code, velocities)
    if origins is None or not len(rows):
        return reader.result(np.zeros((0, 3)))
    index = np.asarray(origins.index)
    com = np.asarray(origins.com, np.float64).reshape(-1, 3) / UsdGeom.GetStageMetersPerUnit(stage)
    by_instancer: dict[str, list[int]] = {}
    for row in rows.tolist():
        by_instancer.setdefault(origins.instancer[row], []).append(row)
    for path, members in by_instancer.items():
        here = np.array(members)
        reader.add(path, here, [body_paths[row] for row in members], index[here])
    return reader.result(com)


class _Reader:
    """Collects the instancers one by one."""

    def __init__(self, stage: Usd.Stage, own: Targets, time_code: float, velocities: bool):
        self.stage, self.time, self.velocities = stage, Usd.TimeCode(time_code), velocities
        self.own = own
        self.own_rows = {body.path: row for row, body in enumerate(own.bodies)}
        self.cache = UsdGeom.XformCache(self.time)
        self.parts: dict[str, list[Any]] = {
            name: [] for name in ("rows", "ancestor", "matrix", "animated", "rest", "scale", "offset")
        }
        self.parents: list[tuple[Usd.Prim, Usd.Prim | None]] = []
        self.instancers: list[_Instancer] = []
        self.notes: list[str] = []
        self.count = 0

    def add(self, path: str, rows: NDArray[np.int64], bodies: list[str], index: NDArray[np.int64]) -> None:
        """Add the bodies of one instancer."""
        prim = find_prim(self.stage, path)
        authored = read_arrays(prim, self.time)
        if authored is None:
            raise UsdSimError("the instancer's arrays do not fit each other", prim=path, remedy="author equal lengths")
        kept = self._expressible(prim, bodies, index, len(authored["positions"]))
        rows, index = rows[kept], index[kept]
        if not len(rows):
            return
        names = ["positions", "orientationsf", "orientations"]
        names += [name for name in _RATES if self.velocities or prim.GetAttribute(name).HasAuthoredValue()]
        varying = any(prim.GetAttribute(name).ValueMightBeTimeVarying() for name in (*_SIMULATED, "scales"))
        columns = np.arange(self.count, self.count + len(rows))
        self.instancers.append(_Instancer(prim, columns, index, names, authored, varying))
        self.count += len(rows)
        self._place(prim, rows, [bodies[i] for i in np.flatnonzero(kept).tolist()], index, authored)

    def _expressible(
        self, prim: Usd.Prim, bodies: list[str], index: NDArray[np.int64], count: int
    ) -> NDArray[np.bool_]:
        """Return which bodies can be written: those that have an instance of their own."""
        clear = (np.bincount(index, minlength=count)[index] == 1) & (index < count)
        if not clear.all():
            self.notes.append(
                f"{prim.GetPath()}: lies in a prototype that several instancers share; "
                f"{np.count_nonzero(~clear)} of its bodies stay as authored"
            )
        roots = [str(target) for target in UsdGeom.PointInstancer(prim).GetPrototypesRel().GetForwardedTargets()]
        for body in dict.fromkeys(bodies):
            root = next((root for root in roots if body == root or body.startswith(root + "/")), "")
            if root and root != body and _shows_more(self.stage.GetPrimAtPath(root), Sdf.Path(body)):
                self.notes.append(f"{root}: what it holds besides the body {body} moves along with it")
        return clear

    def _place(
        self, prim: Usd.Prim, rows: NDArray[np.int64], bodies: list[str], index: NDArray[np.int64], arrays: Any
    ) -> None:
        ancestor, animated = chain_above(prim, self.own_rows)
        base = self.stage.GetPrimAtPath(self.own.bodies[ancestor].path) if ancestor >= 0 else None
        world = np.array(self.cache.GetLocalToWorldTransform(prim))
        scale = arrays["scales"][index]
        rest = tf.compose_affine(arrays["positions"][index], arrays["orientationsf"][index], scale) @ world
        local = {body: self._in_prototype(prim, body) for body in dict.fromkeys(bodies)}
        frame, body = _poses(rest), _poses(np.array([local[name] for name in bodies]) @ rest)
        matrix = relative_matrix(self.cache, prim, base)
        count = len(rows)
        for name, value in (
            ("rows", rows),
            ("ancestor", np.full(count, ancestor, np.int64)),
            ("matrix", np.broadcast_to(matrix, (count, 4, 4))),
            ("animated", np.full(count, animated)),
            ("rest", rest),
            ("scale", scale),
            ("offset", tf.transform_multiply(tf.transform_inverse(body), frame)),
        ):
            self.parts[name].append(value)
        self.parents += [(prim, base)] * count

    def _in_prototype(self, prim: Usd.Prim, body: str) -> Array:
        """Return the matrix from a body's prim to the parent of the root of its prototype."""
        targets = UsdGeom.PointInstancer(prim).GetPrototypesRel().GetForwardedTargets()
        root = next(target for target in targets if Sdf.Path(body).HasPrefix(target))
        above = self.stage.GetPrimAtPath(root).GetParent()
        return relative_matrix(self.cache, self.stage.GetPrimAtPath(body), None if above.IsPseudoRoot() else above)

    def result(self, com: Array) -> InstanceTargets:
        """Return all that was added."""
        empty = {"rows": np.zeros(0, np.int64), "ancestor": np.zeros(0, np.int64), "animated": np.zeros(0, bool)}
        shapes = {"matrix": (0, 4, 4), "rest": (0, 4, 4), "scale": (0, 3), "offset": (0, 7)}
        parts = {
            name: np.concatenate(values) if values else empty.get(name, np.zeros(shapes.get(name, (0,))))
            for name, values in self.parts.items()
        }
        layout = ParentLayout(*(parts[name] for name in ("ancestor", "matrix", "animated", "rest", "scale")))
        instances = open_instances([item.prim for item in self.instancers])
        return InstanceTargets(
            parts["rows"], layout, parts["offset"], com[parts["rows"]], self.parents, self.instancers, instances,
            self.notes,
        )  # fmt: skip


def _poses(matrices: Array) -> Array:
    parts = tf.decompose_affine(matrices)
    return np.concatenate([parts.translation, parts.rotation], axis=1)


def read_arrays(prim: Usd.Prim, time: Usd.TimeCode) -> dict[str, Array] | None:
    """Return the arrays of an instancer, filled up with their fallbacks; None where they do not fit each other."""
    instancer = UsdGeom.PointInstancer(prim)
    count = len(instancer.GetProtoIndicesAttr().Get(time) or ())

    def values(name: str, fallback: Sequence[float]) -> Array:
        found = prim.GetAttribute(name).Get(time)
        return np.array(found, np.float64) if found else np.tile(np.array(fallback, np.float64), (count, 1))

    turns = values("orientationsf" if prim.GetAttribute("orientationsf").Get(time) else "orientations", (0, 0, 0, 1))
    turns = tf.quat_normalize(turns)
    arrays = {
        "positions": values("positions", (0, 0, 0)),
        "orientations": turns,
        "orientationsf": turns,
        "scales": values("scales", (1, 1, 1)),
        "velocities": values("velocities", (0, 0, 0)),
        "angularVelocities": values("angularVelocities", (0, 0, 0)),
    }
    for name in _RATES:
        if len(arrays[name]) != count:
            arrays[name] = np.zeros((count, 3))
    return arrays if all(len(array) == count for array in arrays.values()) else None


def _shows_more(root: Usd.Prim, body: Sdf.Path) -> bool:
    """Whether a prototype holds geometry outside of its body."""
    prims = Usd.PrimRange(root, Usd.TraverseInstanceProxies())
    return any(prim.IsA(UsdGeom.Gprim) and not prim.GetPath().HasPrefix(body) for prim in prims)
