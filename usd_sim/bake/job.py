"""One bake: a stage goes in, the same stage with time samples comes out."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from pxr import Usd

from usd_sim.errors import DivergenceError, UsdSimError, UsdSimWarning
from usd_sim.model.state import State
from usd_sim.model.types import BodyFlags
from usd_sim.record import BodyOrigins, Recorder
from usd_sim.simulation import Simulation, choose_solver, substeps_for
from usd_sim.stage.load import load
from usd_sim.stage.open import open_stage

__all__ = ["BakeResult", "BakeSettings", "Progress", "bake"]

MOST_FRAMES = 1.0e8
"""Largest number of frames of one bake."""

DEFAULT_DURATION = 2.0
"""Simulated time where neither the caller nor the stage states one [s]."""


@dataclass(frozen=True)
class BakeSettings:
    """What to bake; None takes what the stage states.

    Attributes:
        duration: Simulated time [s].
        frames: Number of frames; takes the place of ``duration``.
        fps: Samples per second of simulated time.
        dt: Time step [s].
        start: Time code that the simulation starts at, where sample 0 lies.
        scene: Prim path of the only physics scene to simulate.
        keyframe: Path or name of the MjcKeyframe prim to start from.
        dialects: Families of properties to read besides UsdPhysics, in order of precedence; all if not given.
        variants: Variant selections to make, each as ``/Prim:set=variant``.
        mask: Paths of the only prims to load.
        solver: Name of the solver.
        device: Warp device.
        format: "usdc" or "usda", for the results layer.
        flatten: Write one file that needs no other.
        clips: Frames per value clip.
        velocities: Also write velocities.
        joints: Also write joint state.
        overwrite: Replace earlier output.
        on_divergence: "stop" keeps what was written up to the last good frame, as "keep" does, but counts as a failure.
        options: Settings of the solver by name.
    """

    duration: float | None = None
    frames: int | None = None
    fps: float | None = None
    dt: float | None = None
    start: float | None = None
    scene: str | None = None
    keyframe: str | None = None
    dialects: Sequence[str] | None = None
    variants: Sequence[str] = ()
    mask: Sequence[str] = ()
    solver: str | None = None
    device: str = "cpu"
    format: str = "usdc"
    flatten: bool = False
    clips: int | None = None
    velocities: bool = False
    joints: bool = False
    overwrite: bool = False
    on_divergence: str = "stop"
    options: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Progress:
    """Where a bake stands.

    Attributes:
        stage: Source file.
        phase: "read", "compile", "simulate" or "write".
        frame: Frames done.
        frames: Frames in all.
        simulated: Simulated time [s].
        message: What is going on.
    """

    stage: str
    phase: str
    frame: int = 0
    frames: int = 0
    simulated: float = 0.0
    message: str = ""


@dataclass
class BakeResult:
    """What a bake did; the attributes are those of the command line's report.

    Attributes:
        stage: Source file.
        output: Root layer that was written.
        results: Results layer beside it, the first of the files if there are several; None for a flattened bake.
        solver: Name of the solver.
        device: Warp device.
        frames: Frames written after the first sample.
        fps: Samples per second of simulated time.
        dt: Time step used [s].
        substeps: Steps per frame.
        simulated_s: Simulated time [s].
        bodies: Number of bodies.
        wall_s: Wall time by phase [s].
        diverged: None, or time [s] and prims of the divergence.
        warnings: Everything that was not done exactly as authored, one line each.
    """

    stage: str
    output: str
    results: str | None
    solver: str
    device: str
    frames: int
    fps: float
    dt: float
    substeps: int
    simulated_s: float
    bodies: int
    wall_s: dict[str, float]
    diverged: dict[str, Any] | None
    warnings: list[str]

    def to_json(self) -> dict[str, Any]:
        """Return the report as plain data."""
        return dict(self.__dict__)


def bake(
    source: str | Path | Usd.Stage,
    output: str | Path,
    *,
    settings: BakeSettings | None = None,
    progress: Callable[[Progress], None] | None = None,
    **changes: Any,
) -> BakeResult:
    """Simulate a stage and write the motion onto its own prims, in a new layer over it.

    Args:
        source: Path of a stage, or an open stage that has a file.
        output: Root layer to write.
        settings: What to bake.
        progress: Called as the bake goes on.
        **changes: Fields of :class:`BakeSettings` that replace those of ``settings``; other names are settings of
            the solver.

    Raises:
        UsdSimError: The input or the output is wrong.
        DivergenceError: The simulation diverged; what came before is kept, and ``error.result`` is the report.
    """
    settings = _settings(settings, changes)
    return _Bake(source, Path(output), settings, progress or (lambda _: None)).run()


def _settings(settings: BakeSettings | None, changes: dict[str, Any]) -> BakeSettings:
    base = settings or BakeSettings()
    known = {name: changes.pop(name) for name in list(changes) if name in BakeSettings.__dataclass_fields__}
    options = {**base.options, **known.pop("options", {}), **changes}
    return BakeSettings(**{**base.__dict__, **known, "options": options})


class _Bake:
    def __init__(
        self, source: str | Path | Usd.Stage, output: Path, settings: BakeSettings, progress: Callable[[Progress], None]
    ):
        self.source, self.output, self.settings, self.progress = source, output, settings, progress
        self.name = str(source) if isinstance(source, (str, Path)) else source.GetRootLayer().realPath
        self.wall = {"read": 0.0, "compile": 0.0, "simulate": 0.0, "write": 0.0}
        self.warnings: list[str] = []
        self.diverged: DivergenceError | None = None
        self._recorded = np.zeros(0, dtype=int)

    def run(self) -> BakeResult:
        """Read, compile, simulate and write."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", UsdSimWarning)
            simulation = self._prepare()
            frames, fps = self._timing(simulation.model.stage)
            simulation_dt = simulation.dt
            with self._recorder(simulation, frames, fps) as recorder:
                done = self._simulate(simulation, recorder, frames, fps)
                written = self._timed("write", recorder.finish_partial if self.diverged else recorder.finish)
        report = simulation.model.report
        self.warnings += [str(entry) for entry in report.approximated]
        self.warnings += [str(item.message) for item in caught if issubclass(item.category, UsdSimWarning)]
        self.warnings += written.notes
        substeps = substeps_for(1.0 / fps, simulation_dt)
        result = BakeResult(
            stage=self.name,
            output=str(written.root),
            results=str(written.results[0]) if written.results else None,
            solver=simulation.solver_name,
            device=str(simulation.model.device),
            frames=done,
            fps=fps,
            dt=1.0 / fps / substeps,
            substeps=substeps,
            simulated_s=done / fps,
            bodies=simulation.model.body_count,
            wall_s={name: round(value, 6) for name, value in self.wall.items()},
            diverged={"time": self.diverged.time, "prims": self.diverged.prims} if self.diverged else None,
            warnings=self.warnings,
        )
        if self.diverged is not None and self.settings.on_divergence == "stop":
            self.diverged.result = result  # type: ignore[attr-defined]
            raise self.diverged
        return result

    def _timed(self, phase: str, call: Callable[[], Any]) -> Any:
        start = time.perf_counter()
        try:
            return call()
        finally:
            self.wall[phase] += time.perf_counter() - start

    def _open(self) -> Usd.Stage:
        if isinstance(self.source, Usd.Stage):
            return self.source
        return open_stage(self.source, variants=self.settings.variants, mask=self.settings.mask)

    def _prepare(self) -> Simulation:
        settings = self.settings
        self.progress(Progress(self.name, "read", message="reading the stage"))
        stage = self._timed("read", self._open)
        reading: dict[str, Any] = {
            "scene": settings.scene,
            "keyframe": settings.keyframe,
            "dialects": settings.dialects,
        }
        model = self._timed("read", lambda: load(stage, device=settings.device, time=settings.start, **reading))
        if model.body_count == 0:
            raise UsdSimError(
                "has no rigid bodies to simulate",
                prim=self.name,
                remedy="apply PhysicsRigidBodyAPI to what should move",
            )

        def tell(message: str) -> None:
            self.progress(Progress(self.name, "compile", message=message))

        tell(f"compiling for {choose_solver(model, settings.solver)}")
        return self._timed(
            "compile",
            lambda: Simulation(model, solver=settings.solver, dt=settings.dt, progress=tell, **settings.options),
        )

    def _timing(self, stage: Usd.Stage) -> tuple[int, float]:
        """Return the number of frames and the frames per second."""
        settings, layer = self.settings, stage.GetRootLayer()
        fps = settings.fps if settings.fps is not None else stage.GetTimeCodesPerSecond()
        if not (math.isfinite(fps) and fps > 0):
            raise UsdSimError(f"the frame rate is {fps}", prim=self.name, remedy="give --fps a positive number")
        if settings.frames is not None:
            return int(settings.frames), float(fps)
        duration = settings.duration
        if duration is None:
            start = stage.GetStartTimeCode() if settings.start is None else settings.start
            codes = stage.GetEndTimeCode() - start
            stated = layer.HasEndTimeCode() and codes > 0
            duration = codes / stage.GetTimeCodesPerSecond() if stated else DEFAULT_DURATION
        if not (math.isfinite(duration) and duration >= 0):
            raise UsdSimError(
                f"the duration is {duration}", prim=self.name, remedy="give --duration a number of seconds"
            )
        if not duration * fps <= MOST_FRAMES:
            raise UsdSimError(
                f"{duration:g} s at {fps:g} frames per second are more than {MOST_FRAMES:g} frames",
                prim=self.name,
                remedy="give a --duration",
            )
        return round(duration * fps), float(fps)

    def _recorder(self, simulation: Simulation, frames: int, fps: float) -> Recorder:
        settings, model = self.settings, simulation.model
        # colliders that move are bodies here, but not on the stage
        self._recorded = np.flatnonzero((model.body_flags.numpy() & int(BodyFlags.PROMOTED)) == 0)
        return Recorder(
            model.stage,
            [model.body_path[row] for row in self._recorded],
            origins=BodyOrigins(
                [model.body_instancer[row] for row in self._recorded],
                model.body_instance.numpy()[self._recorded],
                model.body_com.numpy()[self._recorded],
            ),
            output=self.output,
            frames=frames,
            fps=fps,
            velocities=settings.velocities,
            joint_dofs=_JointState(model).dofs if settings.joints else (),
            format=settings.format,
            flatten=settings.flatten,
            clips=settings.clips,
            overwrite=settings.overwrite,
            start_time_code=settings.start,
        )

    def _simulate(self, simulation: Simulation, recorder: Recorder, frames: int, fps: float) -> int:
        """Simulate and record all frames, or those before the simulation diverged; return how many."""
        joints = _JointState(simulation.model) if self.settings.joints else None
        self._timed("write", lambda: self._record(simulation, recorder, 0, joints))
        for frame in range(1, frames + 1):
            try:
                self._timed("simulate", lambda: self._advance(simulation, 1.0 / fps))
            except DivergenceError as error:
                self.diverged = error
                return frame - 1
            self._timed("write", partial(self._record, simulation, recorder, frame, joints))
            self.progress(Progress(self.name, "simulate", frame, frames, frame / fps))
        self.progress(Progress(self.name, "write", frames, frames, frames / fps, "writing the files"))
        return frames

    @staticmethod
    def _advance(simulation: Simulation, seconds: float) -> State:
        simulation.advance(seconds)
        simulation.check_state()
        return simulation.state  # bringing it up to date is part of simulating

    def _record(self, simulation: Simulation, recorder: Recorder, frame: int, joints: _JointState | None) -> None:
        state = simulation.state
        extra = joints.read(state) if joints else ()
        body_qd = state.body_qd.numpy()[self._recorded] if recorder.needs_velocities else None
        recorder.frame(frame, state.body_q.numpy()[self._recorded], body_qd, *extra)


class _JointState:
    """Positions and velocities of the freedoms that are single numbers, by joint prim."""

    def __init__(self, model: Any):
        q_start, qd_start = model.joint_q_start.numpy(), model.joint_qd_start.numpy()
        scalar = np.diff(q_start) == np.diff(qd_start)
        owner = np.repeat(np.arange(model.joint_count), np.diff(qd_start))
        local = np.arange(model.joint_dof_count) - qd_start[:-1][owner]
        linear = model.joint_dof_dim.numpy()[owner, 0]
        named = np.array([bool(name) for name in model.joint_dof_name], dtype=bool)
        own = model.body_instance.numpy()[model.joint_child.numpy()[owner]] < 0  # a prototype's joints are many
        self._qd = np.flatnonzero(scalar[owner] & named & own)
        self._q = q_start[:-1][owner[self._qd]] + local[self._qd]
        self.dofs = [
            (model.joint_dof_path[row], model.joint_dof_name[row], bool(local[row] >= linear[row])) for row in self._qd
        ]

    def read(self, state: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return positions and velocities of :attr:`dofs`."""
        return state.joint_q.numpy()[self._q], state.joint_qd.numpy()[self._qd]
