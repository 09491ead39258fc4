"""Shared by the tests of solvers: hand-written MJCF next to models of the same system."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np

from usd_sim.model.builder import ModelBuilder
from usd_sim.solvers.mujoco import SolverMuJoCo

TRAJECTORY = 1.0e-5
"""Agreement with MuJoCo run from MJCF: models are float32, and systems are run for too short to amplify that."""

STEPS = 200
DT = 1.0 / 256.0

OPTION = (
    f'<option timestep="{DT}" integrator="implicitfast"><flag filterparent="disable" autoreset="disable"/></option>'
)
HEAD = (
    f'<mujoco><compiler angle="radian" autolimits="true" inertiafromgeom="false" alignfree="false"/>{OPTION}<worldbody>'
)
INERTIAL = '<inertial pos="0.125 0.0625 -0.25" mass="2" diaginertia="0.25 0.5 0.375"/>'
INERTIA = np.diag([0.25, 0.5, 0.375])
COM = (0.125, 0.0625, -0.25)


def link(builder: ModelBuilder, **settings: Any) -> int:
    """Add a body with the mass properties of ``INERTIAL``."""
    return builder.add_link(mass=2.0, com=COM, inertia=INERTIA, **settings)


def reference(body: str, rest: str = "") -> tuple[mujoco.MjModel, mujoco.MjData]:
    """Return native MuJoCo's model and data of hand-written bodies."""
    model = mujoco.MjModel.from_xml_string(f"{HEAD}{body}</worldbody>{rest}</mujoco>")
    return model, mujoco.MjData(model)


def run(solver: SolverMuJoCo, state: Any, control: Any = None, *, steps: int = STEPS) -> None:
    """Advance by single steps that read and write the state each time."""
    for _ in range(steps):
        solver.step(state, state, control, None, DT)


def run_reference(model: mujoco.MjModel, data: mujoco.MjData, *, steps: int = STEPS) -> None:
    """Advance native MuJoCo and derive positions and velocities."""
    mujoco.mj_step(model, data, steps)
    mujoco.mj_kinematics(model, data)
    mujoco.mj_comPos(model, data)
    mujoco.mj_comVel(model, data)


def assert_same_bodies(
    state: Any, model: mujoco.MjModel, data: mujoco.MjData, *, tolerance: float = TRAJECTORY
) -> None:
    """Compare body poses and COM velocities with MuJoCo's own functions."""
    q, qd = state.body_q.numpy(), state.body_qd.numpy()
    for body in range(model.nbody - 1):
        np.testing.assert_allclose(q[body, :3], data.xpos[body + 1], atol=tolerance)
        quat = data.xquat[body + 1][[1, 2, 3, 0]]
        np.testing.assert_allclose(q[body, 3:] * np.sign(q[body, 3:] @ quat), quat, atol=tolerance)
        twist = np.zeros(6)
        mujoco.mj_objectVelocity(model, data, mujoco.mjtObj.mjOBJ_BODY, body + 1, twist, 0)
        np.testing.assert_allclose(qd[body, 3:], twist[:3], atol=10 * tolerance)
        np.testing.assert_allclose(qd[body, :3], twist[3:], atol=10 * tolerance)
