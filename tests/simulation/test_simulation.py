"""Simulation: time, lazily read state, edits between steps, reset, and the guard against divergence."""

from __future__ import annotations

import numpy as np
import pytest

import usd_sim
from usd_sim import stages
from usd_sim.errors import DivergenceError, UsdSimError
from usd_sim.simulation import substeps_for


@pytest.fixture
def pendulum():
    return usd_sim.Simulation(stages.path("double_pendulum"))


def test_time_and_step_come_from_the_stage(pendulum):
    assert pendulum.dt == pytest.approx(1 / 960)
    pendulum.step()
    assert pendulum.time == pytest.approx(1 / 960)
    pendulum.advance(0.1)
    assert pendulum.time == pytest.approx(1 / 960 + 0.1)


@pytest.mark.parametrize(
    ("seconds", "dt", "count"), [(1 / 60, 1 / 480, 8), (0.01, 0.003, 4), (0.001, 0.01, 1), (0.3, 0.1, 3)]
)
def test_substeps_divide_a_frame_and_are_not_longer_than_asked(seconds, dt, count):
    assert substeps_for(seconds, dt) == count


def test_substeps_make_shorter_steps_of_the_solver():
    fine, same = (usd_sim.Simulation(stages.path("double_pendulum"), dt=0.01, substeps=n) for n in (10, 1))
    short = usd_sim.Simulation(stages.path("double_pendulum"), dt=0.001)
    for simulation in (fine, same, short):
        simulation.advance(0.2)
    np.testing.assert_array_equal(fine.state.body_q.numpy(), short.state.body_q.numpy())
    assert np.abs(fine.state.body_q.numpy() - same.state.body_q.numpy()).max() > 1e-6
    fine.step()
    assert fine.time == pytest.approx(0.21)
    with pytest.raises(UsdSimError, match="substeps"):
        usd_sim.Simulation(stages.path("cartpole"), substeps=0)


def test_two_runs_are_equal_and_reset_goes_back(pendulum):
    pendulum.advance(0.5)
    first = pendulum.state.body_q.numpy().copy()
    pendulum.reset()
    assert pendulum.time == 0.0
    np.testing.assert_allclose(pendulum.state.body_q.numpy(), pendulum.model.body_q.numpy(), atol=1e-6)
    pendulum.advance(0.5)
    np.testing.assert_array_equal(pendulum.state.body_q.numpy(), first)


def test_reading_the_state_does_not_change_the_motion():
    """Bit for bit: reading only brings poses up to date."""
    read, blind = (usd_sim.Simulation(stages.path("falling_boxes")) for _ in range(2))
    for _ in range(30):
        read.advance(1 / 60)
        read.state.body_q.numpy()
        blind.advance(1 / 60)
    np.testing.assert_array_equal(read.state.body_q.numpy(), blind.state.body_q.numpy())


def test_written_state_is_taken_over(pendulum):
    pendulum.advance(0.2)
    pendulum.state.joint_q.numpy()[:] = 0.0
    pendulum.state.joint_qd.numpy()[:] = 0.0
    pendulum.step()
    assert np.abs(pendulum.state.joint_q.numpy()).max() < 1e-3


def test_targets_drive_the_joint():
    simulation = usd_sim.Simulation(stages.path("cartpole"))
    slider = next(i for i, name in enumerate(simulation.model.joint_dof_name) if name == "linear")
    simulation.control.joint_target_q.numpy()[slider] = 0.4
    simulation.advance(3.0)
    assert simulation.state.joint_q.numpy()[slider] == pytest.approx(0.4, abs=0.1)  # the pole pulls at the cart


def test_body_pose_by_path(pendulum):
    path = pendulum.model.body_path[0]
    position, quaternion = pendulum.body_pose(path)
    assert position.shape == (3,)
    assert np.linalg.norm(quaternion) == pytest.approx(1.0)
    with pytest.raises(UsdSimError, match="is not a rigid body"):
        pendulum.body_pose("/Nowhere")


def test_divergence_names_the_body(pendulum):
    pendulum.state.joint_qd.numpy()[:] = 1e30
    with pytest.raises(DivergenceError) as caught:
        pendulum.advance(10.0)
    assert caught.value.prims
    assert caught.value.prims[0] in pendulum.model.body_path
    assert caught.value.time > 0


@pytest.mark.parametrize("dt", [0.0, -1.0, float("nan"), float("inf")])
def test_a_wrong_time_step_is_refused(dt):
    with pytest.raises(UsdSimError, match="time step"):
        usd_sim.Simulation(stages.path("cartpole"), dt=dt)


def test_wrong_sources_and_solvers_are_refused(tmp_path):
    with pytest.raises(UsdSimError, match="cannot simulate a int"):
        usd_sim.Simulation(3)
    with pytest.raises(UsdSimError, match="no such file"):
        usd_sim.Simulation(tmp_path / "missing.usda")
    with pytest.raises(UsdSimError, match="mujoco"):
        usd_sim.Simulation(stages.path("cartpole"), solver="warp-drive")


def test_a_model_made_by_code():
    builder = usd_sim.ModelBuilder()
    body = builder.add_body(xform=(0, 0, 1, 0, 0, 0, 1), label="ball")
    builder.add_shape_sphere(body, radius=0.1)
    simulation = usd_sim.Simulation(builder.finalize(device="cpu"), dt=1e-3)
    simulation.advance(0.2)
    expected = 1.0 - 0.5 * 9.81 * 0.2 * (0.2 + 1e-3)  # semi-implicit Euler, exactly
    assert simulation.body_pose("ball")[0][2] == pytest.approx(expected, rel=1e-5)
