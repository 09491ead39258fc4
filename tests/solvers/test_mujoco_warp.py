"""MuJoCo Warp as the backend of SolverMuJoCo, on the CPU with a tiny scene: its kernels compile for half a minute."""

from __future__ import annotations

import numpy as np
import pytest

from tests.solvers.helpers import DT, link
from usd_sim.model.builder import ModelBuilder
from usd_sim.model.types import ModelFlags
from usd_sim.solvers.mujoco import SolverMuJoCo

BACKENDS = 2.0e-4
"""Agreement of single with double precision over some tens of steps with a contact."""


def scene() -> ModelBuilder:
    builder = ModelBuilder()
    builder.add_ground_plane()
    ball = builder.add_body(xform=(0.0, 0.0, 0.26, 0.0, 0.0, 0.0, 1.0))
    builder.add_shape_sphere(ball, radius=0.25)
    builder.body_qd[ball] = (0.5, 0.0, 0.0, 0.0, 0.0, 0.0)
    arm = link(builder, xform=(3.0, 0.0, 2.0, 0.0, 0.0, 0.0, 1.0))
    joint = builder.add_joint_revolute(
        -1, arm, axis="Y", parent_xform=(3, 0, 2, 0, 0, 0, 1), target_ke=20.0, target_kd=2.0, target_pos=0.5
    )
    builder.add_articulation([joint])
    return builder


@pytest.mark.slow
def test_backends_agree() -> None:
    model = scene().finalize("cpu")
    ends = []
    for native in (True, False):
        solver, state, control = SolverMuJoCo(model, use_mujoco_cpu=native), model.state(), model.control()
        solver.advance(state, control, DT, 24)
        # edits in the middle reach the device next to what it computed itself
        control.joint_target_q.numpy()[6] = -0.25
        solver.advance(state, control, DT, 8)
        solver.pull(state)
        assert solver.contact_count == 1
        model.gravity.numpy()[0] = (0.0, 0.0, -5.0)
        solver.notify_model_changed(ModelFlags.MODEL_PROPERTIES)
        solver.advance(state, control, DT, 8)
        solver.pull(state)
        model.gravity.numpy()[0] = (0.0, 0.0, -9.81)
        ends.append(
            {name: getattr(state, name).numpy().copy() for name in ("body_q", "body_qd", "joint_q", "joint_qd")}
        )
        assert solver.is_finite()
        solver.reset(model.state())
        solver.pull(state)
        np.testing.assert_allclose(state.body_q.numpy(), model.body_q.numpy(), atol=1e-6)
    for name, value in ends[0].items():
        np.testing.assert_allclose(ends[1][name], value, atol=20 * BACKENDS if name.endswith("qd") else BACKENDS)
