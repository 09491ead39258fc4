"""Inputs: what a simulation is told as time goes on. Here those that a stage authors over time.

An input is called with the simulation and the simulated time [s] before each segment of an advance. It writes what it
has to say (to ``control``, to the solver) and returns the time up to which that holds, or None for as long as nobody
asks; the segment ends there, after one step at least, of length ``simulation.step_length``. An input with a method
``reset(simulation)`` has it called before the simulation goes back to its initial state.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from usd_sim.model.types import BodyFlags, ModelFlags

__all__ = ["DriveTargets", "Input", "KinematicMotion", "KinematicSwitches", "authored_inputs"]

Input = Callable[[Any, float], float | None]

_NOW = 1.0e-9
"""Times closer than this are the same [s]."""


def authored_inputs(model: Any) -> list[Input]:
    """Return the inputs that the stage of a model authors; none for models made by code."""
    motion = getattr(getattr(model, "scene", None), "motion", None)
    if motion is None:
        return []
    inputs: list[Input] = []
    if motion.switches:
        inputs.append(KinematicSwitches(motion, model))
    if len(motion.rows):
        inputs.append(KinematicMotion(motion, model))
    if motion.targets is not None:
        inputs.append(DriveTargets(motion.targets))
    return inputs


def _write(array: Any, rows: np.ndarray, values: Any) -> None:
    view = array.numpy()
    view[rows] = values
    if array.device.is_cuda:
        array.assign(view)


def _is_kinematic(model: Any) -> np.ndarray:
    return (model.body_flags.numpy() & int(BodyFlags.KINEMATIC)) != 0


class KinematicMotion:
    """Makes kinematic bodies follow their authored transforms.

    Args:
        motion: What the stage authors over time.
        model: The model.
    """

    def __init__(self, motion: Any, model: Any):
        self._motion = motion
        self._may_change = bool(motion.switches)
        self._active = _is_kinematic(model)[motion.rows]

    def __call__(self, simulation: Any, time: float) -> float | None:
        """Tell the solver where the bodies go."""
        motion = self._motion
        if self._may_change:
            self._active = _is_kinematic(simulation.model)[motion.rows]
        if not self._active.any():
            return None
        here, step = motion.poses(time)[self._active], simulation.step_length
        if math.isinf(motion.next_knot(time)):
            simulation.solver.follow(simulation.unread_state, motion.rows[self._active], here, here, 1.0)
            return None
        # whole steps to about the next knot; poses are met at their end
        knot = motion.next_knot(time + 0.5 * step)
        until = time + step * (max(1, round((knot - time) / step)) if math.isfinite(knot) else 1)
        there = motion.poses(until)[self._active]
        simulation.solver.follow(simulation.unread_state, motion.rows[self._active], here, there, until - time)
        return until


class KinematicSwitches:
    """Makes bodies kinematic or dynamic when their stage says so; both times they keep their pose.

    A body that becomes dynamic keeps its velocity; one that becomes kinematic stops, unless it follows a transform.

    Args:
        motion: What the stage authors over time.
        model: The model, as read.
    """

    def __init__(self, motion: Any, model: Any):
        self._switches = motion.switches
        self._initial = {switch.row: not switch.kinematic for switch in reversed(self._switches)}
        self._next = 0

    def reset(self, simulation: Any) -> None:
        """Make the bodies again what they are at the start."""
        self._next = 0
        self._set(simulation, self._initial)

    def __call__(self, simulation: Any, time: float) -> float | None:
        """Switch what is due."""
        due: dict[int, bool] = {}
        while self._next < len(self._switches) and self._switches[self._next].time <= time + _NOW:
            due[self._switches[self._next].row] = self._switches[self._next].kinematic
            self._next += 1
        if due:
            self._set(simulation, due)
        return self._switches[self._next].time if self._next < len(self._switches) else None

    @staticmethod
    def _set(simulation: Any, wanted: dict[int, bool]) -> None:
        model = simulation.model
        now = _is_kinematic(model)
        rows = np.array([row for row, kinematic in wanted.items() if now[row] != kinematic], dtype=np.int64)
        if len(rows) == 0:
            return
        state = simulation.state  # a solver that builds its model anew starts from what was last read
        _write(model.body_flags, rows, model.body_flags.numpy()[rows] ^ int(BodyFlags.KINEMATIC))
        simulation.solver.notify_model_changed(ModelFlags.BODY_PROPERTIES)
        stopped = rows[[wanted[row] for row in rows.tolist()]]
        if len(stopped):
            pose = state.body_q.numpy()[stopped].astype(float)
            simulation.solver.follow(state, stopped, pose, pose, 1.0)


class DriveTargets:
    """Writes drive targets that change over time to the control; other targets are left alone.

    Args:
        targets: The targets.
    """

    def __init__(self, targets: Any):
        self._targets = targets

    def __call__(self, simulation: Any, time: float) -> float | None:
        """Write the targets of this time."""
        targets, control = self._targets, simulation.control
        positions, velocities, knot = targets.at(time)
        if len(positions):
            _write(control.joint_target_q, targets.position_dofs, positions)
        if len(velocities):
            _write(control.joint_target_qd, targets.velocity_dofs, velocities)
        if math.isinf(knot):
            return None
        return time if simulation.solver.takes_inputs_cheaply else knot
