"""Simulation: a Model, a Solver and a Control in one loop, with time, substeps and a guard against divergence."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from usd_sim import solvers
from usd_sim.errors import DivergenceError, UsdSimError, UsdSimWarning
from usd_sim.inputs import Input, authored_inputs
from usd_sim.model.model import Model
from usd_sim.model.state import Control, State
from usd_sim.solvers.base import name_of

__all__ = ["DEFAULT_SOLVER", "Simulation", "choose_solver"]

DEFAULT_SOLVER = "mujoco"

DEFAULT_DT = 0.002
"""Time step of models that no stage states one for [s]."""

MOST_STEPS = 1.0e9
"""Largest number of steps that one span of time is divided into."""

_STEPS_A_CALL = 10_000
"""Largest number of steps that the solver takes at once, between which the process can be interrupted."""

RUNAWAY_DISTANCE = 1.0e9
"""Distance from the origin beyond which a body counts as diverged [m]."""


def choose_solver(model: Model, solver: str | None) -> str:
    """Return the name of the solver to use: the caller's, else the one that the scene asks for, else the default.

    A solver that the scene asks for and that does not exist yet is replaced by the default, with a warning.
    """
    if solver is not None:
        return solver
    asked = getattr(getattr(model, "scene", None), "solver", "")
    if asked and asked not in solvers.names():
        warnings.warn(
            f"the scene asks for solver {asked}, which does not exist yet; {DEFAULT_SOLVER} is used",
            UsdSimWarning,
            stacklevel=3,
        )
    return asked if asked in solvers.names() else DEFAULT_SOLVER


class Simulation:
    """Simulates a stage or a model.

    Args:
        source: Path of a stage, an open ``Usd.Stage``, or a :class:`Model`.
        solver: Name of the solver; the scene's, else "mujoco".
        dt: Time step [s]; the scene's, else 0.002.
        substeps: Steps of the solver that each time step is divided into.
        start: Time code of the stage that the simulation starts at; the stage's own start if not given.
        scene: Prim path of the only physics scene to simulate; all of them if not given.
        keyframe: Path or name of the MjcKeyframe prim to start from; the poses of the stage if not given.
        dialects: Families of properties to read besides UsdPhysics, in order of precedence; all if not given.
        device: Warp device; "cpu" if not given.
        progress: Called with a line of text when something takes long.
        **options: Settings of the solver by name.

    Attributes:
        model: The model.
        solver: The solver.
        control: Inputs of the drives; write to its arrays between steps.
        inputs: What is told to the simulation as time goes on, in order; see :mod:`usd_sim.inputs`. Those that the
            stage authors are there from the start.
        time: Simulated time [s].
        dt: Time step that is asked for [s].
        substeps: Steps of the solver in each time step.
        step_length: Time step that is taken [s].

    Raises:
        UsdSimError: The stage cannot be read, or the solver cannot simulate it.
    """

    def __init__(
        self,
        source: Any,
        *,
        solver: str | None = None,
        dt: float | None = None,
        substeps: int = 1,
        start: float | None = None,
        scene: str | None = None,
        keyframe: str | None = None,
        dialects: Sequence[str] | None = None,
        device: Any = None,
        progress: Any = None,
        **options: Any,
    ):
        reading = {"time": start, "scene": scene, "keyframe": keyframe, "dialects": dialects}
        if isinstance(source, Model) and any(value is not None for value in reading.values()):
            raise UsdSimError("a model has its start and its scenes already", remedy="give them to load()")
        self.model = source if isinstance(source, Model) else _load(source, device, reading)
        spec = getattr(self.model, "scene", None)
        self.dt = float(dt) if dt is not None else (1.0 / spec.steps_per_second if spec else DEFAULT_DT)
        if not (math.isfinite(self.dt) and self.dt > 0):
            raise UsdSimError(f"the time step is {self.dt}", remedy="give a positive number of seconds")
        if substeps < 1:
            raise UsdSimError(f"a step cannot have {substeps} substeps", remedy="give at least 1")
        self.substeps = int(substeps)
        self.solver_name = choose_solver(self.model, solver)
        if spec is not None and self.solver_name in ("", spec.solver or DEFAULT_SOLVER):
            options = {**spec.options, **options}
        self.solver = solvers.create(self.solver_name, self.model, progress=progress, **options)
        self.control: Control = self.model.control()
        self._state: State = self.model.state()
        self._stale = False
        self.time = 0.0
        self.step_length = self.dt / self.substeps
        self.inputs: list[Input] = authored_inputs(self.model)
        self.reset()

    @property
    def state(self) -> State:
        """The current state. Reading it brings it up to date; arrays written to it are taken over by the next step."""
        if self._stale:
            with np.errstate(over="ignore", invalid="ignore"):  # what diverged is told by its own error
                self.solver.pull(self._state)
            self._stale = False
        return self._state

    @property
    def unread_state(self) -> State:
        """The state as it was last read, which may lie behind; for solvers that write into it."""
        return self._state

    def step(self) -> None:
        """Advance by one time step."""
        self._advance(self.dt, self.substeps)

    def advance(self, seconds: float) -> None:
        """Advance by a span of time, in equal steps that are not longer than ``dt``.

        Raises:
            DivergenceError: The state is no longer finite.
        """
        self._advance(seconds, substeps_for(seconds, self.dt) * self.substeps)

    def _advance(self, seconds: float, substeps: int) -> None:
        begin, self.step_length = self.time, seconds / substeps
        done = 0
        while done < substeps:
            count = (
                self._tell_inputs(begin + done * self.step_length, substeps - done) if self.inputs else substeps - done
            )
            count = min(count, _STEPS_A_CALL)
            self.solver.advance(self._state, self.control, self.step_length, count)
            self._stale = True
            done += count
        self.time = begin + seconds
        if not self.solver.is_finite():
            self._raise_divergence(self._diverged())

    def _tell_inputs(self, time: float, most: int) -> int:
        """Call the inputs and return for how many steps, of at most so many, what they say holds."""
        count = most
        for tell in self.inputs:
            until = tell(self, time)
            if until is not None and until < time + most * self.step_length:
                count = min(count, max(1, math.floor((until - time) / self.step_length + 1.0e-6)))
        return count

    def check_state(self) -> None:
        """Check the poses of the current state.

        Raises:
            DivergenceError: One is not finite, or further away than anything can be meant to go.
        """
        bad = self._diverged()
        if len(bad):
            self._raise_divergence(bad)

    def _diverged(self) -> np.ndarray:
        body_q = self.state.body_q.numpy()
        within = np.isfinite(body_q).all(axis=1) & (np.abs(body_q[:, :3]) < RUNAWAY_DISTANCE).all(axis=1)
        return np.flatnonzero(~within)

    def _raise_divergence(self, bad: np.ndarray) -> None:
        names = [name_of(self.model, "body", row) for row in bad.tolist()] or ["/"]
        more = f" and {len(names) - 1} more bodies" if len(names) > 1 else ""
        raise DivergenceError(
            f"the simulation diverged at {self.time:.4g} s{more}",
            time=self.time,
            prims=names,
            remedy=f"try a smaller time step (now {self.dt:g} s), softer drives, or check masses and overlaps",
        )

    def reset(self) -> None:
        """Go back to the initial state and time 0."""
        for tell in self.inputs:
            if hasattr(tell, "reset"):
                tell.reset(self)
        self._state.assign(self.model.state())
        self.control.assign(self.model.control())
        self.solver.reset(self._state)
        self._stale = True
        self.time = 0.0

    def body_pose(self, path: str) -> tuple[np.ndarray, np.ndarray]:
        """Return position (3,) [m] and quaternion xyzw (4,) of a body in the world.

        Args:
            path: Prim path or label of the body.

        Raises:
            UsdSimError: There is no such body.
        """
        rows = self.model.binding.rows("body", path)
        if not rows:
            rows = [row for row, label in enumerate(self.model.body_label) if label == path]
        if not rows:
            raise UsdSimError("is not a rigid body of this simulation", prim=str(path))
        pose = self.state.body_q.numpy()[rows[0]].astype(float)
        return pose[:3], pose[3:]


def substeps_for(seconds: float, dt: float) -> int:
    """Return the number of equal steps, not longer than ``dt``, that a span of time is divided into.

    Raises:
        UsdSimError: They are more than anyone can wait for.
    """
    steps = seconds / dt
    if not steps <= MOST_STEPS:
        raise UsdSimError(
            f"{seconds:g} s in steps of {dt:g} s are more than {MOST_STEPS:g} steps",
            remedy="use a longer time step or a higher frame rate",
        )
    return max(1, math.ceil(steps - 1.0e-6))


def _load(source: Any, device: Any, reading: dict[str, Any]) -> Model:
    from usd_sim.stage.load import load

    if not isinstance(source, (str, Path)) and not hasattr(source, "GetRootLayer"):
        raise UsdSimError(f"cannot simulate a {type(source).__name__}", remedy="give a path, a Usd.Stage or a Model")
    return load(source, device=device or "cpu", **reading)
