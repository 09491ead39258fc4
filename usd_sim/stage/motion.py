"""Motion that a stage authors over time: transforms, kinematic flags and drive targets, from samples or splines.

Values are read at knots: every authored sample, and a grid of :data:`KNOTS_PER_SECOND` between the first and the last,
so that turning ops (whose samples USD interpolates as angles) and splines keep their shape. Between knots a body moves
on a straight line and turns about a fixed axis at constant rates; a target changes linearly. After the last sample
everything stays as it is. Stages are read in chunks of knots, when the simulation reaches them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pxr import Usd, UsdGeom, Vt

from usd_sim.geometry import transforms as tf
from usd_sim.stage.units import StageUnits

__all__ = ["KNOTS_PER_SECOND", "Clock", "Motion", "Switch", "TargetMotion", "Timing", "Track", "TransformTimes"]

KNOTS_PER_SECOND = 240.0
"""Least number of knots per second. A body that turns twice a second is cut into chords of 3 degrees, which leave the
circle by 0.04% of its radius."""

_CHUNK = 32
"""Knots of the grid that are read at once."""

_MOST_CHUNKS = 32
"""Chunks kept; going back further reads them again."""

_MOST_KNOWN = 4
"""Times whose poses are kept: the end of one step is the start of the next."""

_NOW = 1.0e-9
"""Times closer than this are the same [s]; simulated time adds up with rounding."""

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Clock:
    """Leads from simulated time to time codes.

    Attributes:
        start: Time code of simulated time 0.
        rate: Time codes per second.
    """

    start: float
    rate: float

    @classmethod
    def of(cls, stage: Usd.Stage, start: float) -> Clock:
        """Return the clock of a stage that is simulated from a time code on."""
        return cls(float(start), float(stage.GetTimeCodesPerSecond()))

    def code(self, time: float) -> float:
        """Return the time code of a simulated time [s]."""
        return self.start + time * self.rate

    def time(self, code: float) -> float:
        """Return the simulated time [s] of a time code."""
        return (code - self.start) / self.rate


@dataclass(frozen=True)
class Timing:
    """When a value changes.

    Attributes:
        codes: Time codes of its samples.
        endless: A spline drives it, which may go on after its last knot.
    """

    codes: frozenset[float] = frozenset()
    endless: bool = False

    @property
    def varies(self) -> bool:
        """Whether it changes at all."""
        return self.endless or bool(self.codes)

    def __or__(self, other: Timing) -> Timing:
        return Timing(self.codes | other.codes, self.endless or other.endless)

    @classmethod
    def of(cls, attributes: Iterable[Usd.Attribute]) -> Timing:
        """Return when any of some attributes changes; samples that are all alike, as many exporters write, are none."""
        codes: set[float] = set()
        endless = False
        for attribute in attributes:
            if attribute.ValueMightBeTimeVarying():
                samples = attribute.GetTimeSamples()
                first = attribute.Get(samples[0]) if samples else None
                endless |= attribute.HasSpline()
                if any(attribute.Get(code) != first for code in samples):
                    codes.update(samples)
        return cls(frozenset(codes), endless)


_NEVER = Timing()


class TransformTimes:
    """When the world transforms of prims change, from their own ops and those above them.

    Args:
        stage: The stage.
    """

    def __init__(self, stage: Usd.Stage):
        self._stage = stage
        self._chains: dict[str, tuple[Timing, str]] = {"": (_NEVER, "")}

    def of(self, path: str) -> Timing:
        """Return when the transform of a prim changes."""
        return self._chain(path)[0]

    def nearest(self, path: str) -> str:
        """Return the nearest prim, from the prim itself upwards, whose own ops change with time; "" for none."""
        return self._chain(path)[1]

    def _chain(self, path: str) -> tuple[Timing, str]:
        known = self._chains.get(path)
        if known is None:
            prim = self._stage.GetPrimAtPath(path) if path.startswith("/") else None
            if not prim or prim.IsPseudoRoot():
                known = _NEVER, ""
            else:
                known = self._chain(path.rpartition("/")[0])
                xformable = UsdGeom.Xformable(prim)
                if xformable:
                    known = self._with_own(xformable, path, known)
            self._chains[path] = known
        return known

    @staticmethod
    def _with_own(xformable: UsdGeom.Xformable, path: str, above: tuple[Timing, str]) -> tuple[Timing, str]:
        known = (_NEVER, "") if above[1] and xformable.GetResetXformStack() else above
        if xformable.TransformMightBeTimeVarying():
            own = Timing.of(op.GetAttr() for op in xformable.GetOrderedXformOps())
            known = (known[0] | own, path) if own.varies else known
        return known


class Track:
    """Values over time, read at knots.

    Args:
        clock: Leads to time codes.
        timing: When the values change.
        read: Called with time codes ``(k,)``; returns the values ``(k, ...)``.
    """

    def __init__(self, clock: Clock, timing: Timing, read: Callable[[list[float]], Array]):
        self._clock, self._read = clock, read
        times = np.array(sorted(clock.time(code) for code in timing.codes))
        self._samples = times[times > _NOW]
        self.end = math.inf if timing.endless else max(0.0, float(times.max(initial=0.0)))
        self._spacing = 1.0 / (clock.rate * math.ceil(KNOTS_PER_SECOND / clock.rate))
        self._chunks: dict[int, tuple[Array, Array]] = {}
        self._last: Array | None = None

    def around(self, time: float) -> tuple[Array, Array, float, float]:
        """Return the values at the knots on both sides of a time, the share of the way, and the second knot's time [s].

        Past the end these are the last values twice, 0 and infinity.

        Args:
            time: Simulated time [s].
        """
        if time >= self.end - 3.0 * _NOW:  # so that the last chunk is longer than the tolerance
            if self._last is None:
                self._last = self._read([self._clock.code(self.end)])[0]
            return self._last, self._last, 0.0, math.inf
        times, values = self._chunk(int((time + _NOW) / (self._spacing * _CHUNK)))
        row = min(max(int(np.searchsorted(times, time + _NOW, "right")) - 1, 0), len(times) - 2)
        share = (time - times[row]) / (times[row + 1] - times[row])
        return values[row], values[row + 1], min(max(share, 0.0), 1.0), float(times[row + 1])

    def _chunk(self, index: int) -> tuple[Array, Array]:
        found = self._chunks.get(index)
        if found is None:
            first = index * _CHUNK
            grid = np.minimum(self._spacing * np.arange(first, first + _CHUNK + 1), self.end)
            inside = self._samples[(self._samples > grid[0]) & (self._samples < grid[-1])]
            times = np.union1d(grid, inside)
            # a sample on the grid counts once
            times = times[np.concatenate([[True], np.diff(times) > _NOW])]
            values = self._read([self._clock.code(time) for time in times.tolist()])
            if len(self._chunks) >= _MOST_CHUNKS:
                del self._chunks[next(iter(self._chunks))]
            found = self._chunks[index] = times, values
        return found


@dataclass(frozen=True)
class Switch:
    """A change of ``physics:kinematicEnabled``.

    Attributes:
        time: Simulated time [s].
        row: Body.
        kinematic: What it becomes.
    """

    time: float
    row: int
    kinematic: bool


class TargetMotion:
    """Drive targets that change over time.

    Args:
        clock: Leads to time codes.
        positions: Degree of freedom, attribute and factor to SI of each position target.
        velocities: The same of each velocity target.
    """

    def __init__(
        self,
        clock: Clock,
        positions: Sequence[tuple[int, Usd.Attribute, float]],
        velocities: Sequence[tuple[int, Usd.Attribute, float]],
    ):
        entries = [*positions, *velocities]
        self.position_dofs = np.array([row for row, *_ in positions], dtype=np.int64)
        self.velocity_dofs = np.array([row for row, *_ in velocities], dtype=np.int64)
        attributes = [attribute for _, attribute, _ in entries]
        factors = np.array([factor for *_, factor in entries])

        def read(codes: list[float]) -> Array:
            values = [[attribute.Get(code) for attribute in attributes] for code in codes]
            return np.array(values, dtype=float) * factors

        self._track = Track(clock, Timing.of(attributes), read)

    def at(self, time: float) -> tuple[Array, Array, float]:
        """Return the position targets, the velocity targets, and the time [s] of the next knot."""
        before, after, share, until = self._track.around(time)
        values = before + share * (after - before)
        count = len(self.position_dofs)
        return values[:count], values[count:], until


@dataclass
class Motion:
    """Everything that a stage authors over time.

    Attributes:
        clock: Leads from simulated time to time codes.
        rows: Bodies that follow authored transforms while they are kinematic ``(n,)``.
        com: Their centres of mass in the body frames ``(n, 3)`` [m].
        switches: Changes of kinematic flags, in order of time.
        targets: Drive targets; None where none changes.
    """

    clock: Clock
    rows: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    com: Array = field(default_factory=lambda: np.zeros((0, 3)))
    switches: list[Switch] = field(default_factory=list)
    targets: TargetMotion | None = None
    _track: Track | None = None
    _known: dict[float, tuple[Array, float]] = field(default_factory=dict)

    def follow(self, stage: Usd.Stage, rows: Any, paths: Sequence[str], com: Array, times: TransformTimes) -> None:
        """Let bodies follow the transforms of prims.

        Args:
            stage: The stage.
            rows: Bodies ``(n,)``.
            paths: Prim of each.
            com: Centres of mass in the body frames ``(n, 3)`` [m].
            times: When transforms change.
        """
        prims = [stage.GetPrimAtPath(path) for path in paths]
        unit = StageUnits.of(stage).factor("m")
        cache = UsdGeom.XformCache()

        def read(codes: list[float]) -> Array:
            found = []
            for code in codes:
                cache.SetTime(Usd.TimeCode(code))
                found += [cache.GetLocalToWorldTransform(prim) for prim in prims]
            parts = tf.decompose_affine(np.array(Vt.Matrix4dArray(found)))
            poses = np.concatenate([parts.translation * unit, parts.rotation], axis=1)
            return poses.reshape(len(codes), len(prims), 7)

        timing = _NEVER
        for path in paths:
            timing |= times.of(path)
        self.rows, self.com = np.asarray(rows, np.int64), np.asarray(com, float).reshape(-1, 3)
        self._track = Track(self.clock, timing, read)
        self._known.clear()

    def poses(self, time: float) -> Array:
        """Return the authored poses X_WB of :attr:`rows` at a simulated time [s], ``(n, 7)`` [m, xyzw]."""
        return self._around(time)[0]

    def next_knot(self, time: float) -> float:
        """Return the time [s] up to which the bodies move at the rates of this time; infinity once they stand still."""
        return self._track.around(time)[3] if self._track is not None else math.inf

    def sample(self, time: float) -> tuple[NDArray[np.int64], Array, Array]:
        """Return :attr:`rows`, their poses X_WB ``(n, 7)`` [m, xyzw] and their velocities ``(n, 6)`` [m/s, rad/s].

        Velocities are those of the centre of mass and of rotation, in the world.

        Args:
            time: Simulated time [s].
        """
        here, until = self._around(time)
        velocity = np.zeros((len(self.rows), 6))
        if math.isfinite(until):
            there = self.poses(until)
            turn = tf.quat_to_rotation_vector(tf.quat_multiply(there[:, 3:], tf.quat_conjugate(here[:, 3:])))
            velocity[:, 3:] = turn / (until - time)
            arm = tf.quat_rotate(here[:, 3:], self.com)
            velocity[:, :3] = (there[:, :3] - here[:, :3]) / (until - time) + np.cross(velocity[:, 3:], arm)
        return self.rows, here, velocity

    def _around(self, time: float) -> tuple[Array, float]:
        if self._track is None:
            return np.zeros((0, 7)), math.inf
        key = round(time, 12)  # simulated time adds up with rounding
        found = self._known.get(key)
        if found is None:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            found = self._known[key] = self._blend(self._track, time)
        return found

    @staticmethod
    def _blend(track: Track, time: float) -> tuple[Array, float]:
        before, after, share, until = track.around(time)
        if share == 0.0:
            return before, until
        pose = before.copy()
        pose[:, :3] += share * (after[:, :3] - before[:, :3])
        if np.array_equal(before[:, 3:], after[:, 3:]):
            return pose, until
        turn = tf.quat_to_rotation_vector(tf.quat_multiply(after[:, 3:], tf.quat_conjugate(before[:, 3:])))
        angle = np.linalg.norm(turn, axis=1)
        pose[:, 3:] = tf.quat_multiply(tf.quat_from_axis_angle(turn, share * angle), before[:, 3:])
        return pose, until
