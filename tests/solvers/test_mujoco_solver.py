"""SolverMuJoCo beyond single joints: loops, kinematic bodies, stepping, edits, errors."""

from __future__ import annotations

import warnings

import mujoco
import numpy as np
import pytest

from tests.solvers.helpers import DT, link
from usd_sim import solvers
from usd_sim.errors import UsdSimError, UsdSimWarning
from usd_sim.geometry import transforms as tf
from usd_sim.geometry.mesh import Mesh
from usd_sim.model.builder import ModelBuilder
from usd_sim.model.types import ModelFlags
from usd_sim.solvers.base import Feature
from usd_sim.solvers.mujoco import MuJoCoConfig, SolverMuJoCo

SOFT = 2.0e-3
"""Distance [m] by which soft equalities of light bodies under gravity may open."""


def four_bar(kind: str) -> tuple[SolverMuJoCo, object]:
    """A crank and a rocker hinged to the world one metre apart, their upper ends tied together."""
    builder = ModelBuilder()
    inertia = np.eye(3) * 0.05
    crank = builder.add_link(mass=1.0, com=(0.0, 0.0, 0.5), inertia=inertia)
    rocker = builder.add_link(xform=(1, 0, 0, 0, 0, 0, 1), mass=1.0, com=(-0.5, 0.0, 0.5), inertia=inertia)
    joints = [
        builder.add_joint_revolute(-1, crank, axis="Y"),
        builder.add_joint_revolute(-1, rocker, axis="Y", parent_xform=(1, 0, 0, 0, 0, 0, 1)),
    ]
    ends = {"parent_xform": (0, 0, 1, 0, 0, 0, 1), "child_xform": (-1, 0, 1, 0, 0, 0, 1)}
    if kind == "revolute":
        builder.add_joint_revolute(crank, rocker, axis="Y", **ends)
    elif kind == "ball":
        builder.add_joint_ball(crank, rocker, **ends)
    elif kind == "d6":
        builder.add_joint_d6(crank, rocker, angular_axes=[ModelBuilder.JointDofConfig(axis="Y")], **ends)
    else:
        builder.add_joint_fixed(crank, rocker, **ends)
    builder.add_articulation(joints)
    model = builder.finalize("cpu")
    return SolverMuJoCo(model), model.state()


@pytest.mark.parametrize("kind", ["revolute", "ball", "d6", "fixed"])
def test_loops_stay_closed(kind: str) -> None:
    solver, state = four_bar(kind)
    for _ in range(20):
        solver.advance(state, None, DT, 10)
        solver.pull(state)
        q = state.body_q.numpy().astype(float)
        ends = tf.transform_point(q, [(0.0, 0.0, 1.0), (-1.0, 0.0, 1.0)])
        assert np.linalg.norm(ends[0] - ends[1]) < 10 * SOFT
        if kind == "fixed":
            np.testing.assert_allclose(q[0, 3:], q[1, 3:], atol=10 * SOFT)
    assert solver.mj_model.neq == (2 if kind in ("revolute", "d6") else 1)


def test_revolute_loop_keeps_the_axis() -> None:
    # a door on a free body: gravity would turn it about any axis other than the hinge
    builder = ModelBuilder()
    door = builder.add_body(mass=1.0, com=(0.5, 0.0, 0.0), inertia=np.eye(3) * 0.1)
    builder.add_joint_revolute(-1, door, axis="Z")
    model = builder.finalize("cpu")
    solver, state = SolverMuJoCo(model), model.state()
    state.body_qd.numpy()[0] = [0.0, 0.5, 0.0, 0.0, 0.0, 1.0]
    solver.advance(state, None, DT, 400)
    solver.pull(state)
    up = tf.quat_rotate(state.body_q.numpy()[0, 3:], [0.0, 0.0, 1.0])
    assert up[2] > 0.99
    assert np.linalg.norm(state.body_q.numpy()[0, :3]) < 0.02
    assert abs(state.body_qd.numpy()[0, 5]) > 0.5


def test_loop_anchors_come_from_the_joint_frames() -> None:
    # the bodies start apart: the joint pulls its frames together rather than keeping the initial distance
    builder = ModelBuilder(gravity=0.0)
    bob = builder.add_body(xform=(0.0, 0.0, 0.25, 0.0, 0.0, 0.0, 1.0), mass=1.0, inertia=np.eye(3) * 0.1)
    builder.add_joint_ball(-1, bob)
    model = builder.finalize("cpu")
    solver, state = SolverMuJoCo(model), model.state()
    solver.advance(state, None, DT, 800)
    solver.pull(state)
    assert np.linalg.norm(state.body_q.numpy()[0, :3]) < SOFT


# --- kinematic bodies -----------------------------------------------------------------------------------------------


def test_kinematic_slab_keeps_its_speed_and_carries_a_box() -> None:
    builder = ModelBuilder()
    slab = builder.add_body(is_kinematic=True, mass=1.0)
    builder.add_shape_box(slab, hx=4.0, hy=1.0, hz=0.1)
    builder.body_qd[slab] = (0.5, 0.0, 0.0, 0.0, 0.0, 0.0)
    box = builder.add_body(xform=(0.0, 0.0, 0.2, 0.0, 0.0, 0.0, 1.0))
    builder.add_shape_box(box, hx=0.1, hy=0.1, hz=0.1)
    model = builder.finalize("cpu")
    solver, state = SolverMuJoCo(model), model.state()
    for _ in range(64):
        solver.advance(state, None, DT, 8)
    solver.pull(state)
    np.testing.assert_allclose(state.body_q.numpy()[slab, :3], [1.0, 0.0, 0.0], atol=1e-5)
    np.testing.assert_allclose(state.body_qd.numpy()[slab], [0.5, 0, 0, 0, 0, 0], atol=1e-6)
    # friction brings the box to the slab's speed within 0.1 s
    assert state.body_qd.numpy()[box, 0] == pytest.approx(0.5, abs=1e-3)
    assert state.body_q.numpy()[box, 2] == pytest.approx(0.2, abs=1e-3)


def test_conveyor_of_spinning_cylinders() -> None:
    builder = ModelBuilder()
    for i in range(8):
        roller = builder.add_body(xform=(0.25 * i, 0.0, 0.0, 2**-0.5, 0.0, 0.0, 2**-0.5), is_kinematic=True)
        builder.add_shape_cylinder(roller, radius=0.1, half_height=0.5)
        builder.body_qd[roller] = (0.0, 0.0, 0.0, 0.0, 5.0, 0.0)
    plank = builder.add_body(xform=(0.4, 0.0, 0.11, 0.0, 0.0, 0.0, 1.0))
    builder.add_shape_box(plank, hx=0.4, hy=0.2, hz=0.01)
    model = builder.finalize("cpu")
    solver, state = SolverMuJoCo(model), model.state()
    solver.advance(state, None, DT, 256)
    solver.pull(state)
    # the surfaces move at 5 rad/s times 0.1 m
    assert state.body_qd.numpy()[plank, 0] == pytest.approx(0.5, abs=0.02)
    np.testing.assert_allclose(state.body_q.numpy()[0, :3], [0.0, 0.0, 0.0], atol=1e-5)
    assert solver.mj_model.stat.meaninertia < 10.0


def test_kinematic_bodies_take_new_velocities_and_meet_no_static_shape() -> None:
    builder = ModelBuilder()
    builder.add_ground_plane()
    body = builder.add_body(is_kinematic=True)
    builder.add_shape_box(body)
    model = builder.finalize("cpu")
    solver, state = SolverMuJoCo(model), model.state()
    solver.advance(state, None, DT, 64)
    assert solver.contact_count == 0
    solver.pull(state)
    np.testing.assert_allclose(state.body_q.numpy()[0, :3], 0.0, atol=1e-6)
    state.body_qd.numpy()[0, 2] = 1.0
    solver.advance(state, None, DT, 256)
    solver.pull(state)
    np.testing.assert_allclose(state.body_q.numpy()[0, :3], [0.0, 0.0, 1.0], atol=1e-5)


def test_kinematic_root_carries_its_articulation() -> None:
    builder = ModelBuilder(gravity=0.0)
    root, arm = builder.add_link(is_kinematic=True, mass=1.0), link(builder)
    joints = [builder.add_joint_revolute(-1, root, axis="Z"), builder.add_joint_revolute(root, arm, axis="Z")]
    builder.joint_qd[0] = 2.0
    builder.add_articulation(joints)
    model = builder.finalize("cpu")
    solver, state = SolverMuJoCo(model), model.state()
    solver.advance(state, None, DT, 256)
    solver.pull(state)
    assert state.joint_q.numpy()[0] == pytest.approx(2.0, abs=1e-5)


# --- stepping -------------------------------------------------------------------------------------------------------


def pendulum() -> tuple[SolverMuJoCo, object]:
    builder = ModelBuilder()
    first, second = link(builder), link(builder)
    joints = [builder.add_joint_revolute(-1, first, axis="Y"), builder.add_joint_revolute(first, second, axis="X")]
    builder.add_articulation(joints)
    model = builder.finalize("cpu")
    return SolverMuJoCo(model), model.state()


def test_advance_is_many_steps() -> None:
    (a, state_a), (b, state_b) = pendulum(), pendulum()
    for _ in range(24):
        a.step(state_a, state_a, None, None, DT)
    for _ in range(3):
        b.advance(state_b, None, DT, 8)
    b.pull(state_b)
    # states are read in single precision but never written back, so MuJoCo's own state is the same
    np.testing.assert_array_equal(a.mj_data.qpos, b.mj_data.qpos)
    np.testing.assert_array_equal(state_a.joint_q.numpy(), state_b.joint_q.numpy())


def test_two_states_take_turns() -> None:
    solver, state = pendulum()
    other = solver.model.state()
    reference_solver, reference_state = pendulum()
    for _ in range(10):
        solver.step(state, other, None, None, DT)
        state, other = other, state
        reference_solver.step(reference_state, reference_state, None, None, DT)
    np.testing.assert_array_equal(state.joint_q.numpy(), reference_state.joint_q.numpy())


def test_edits_of_a_stale_state_change_only_what_was_edited() -> None:
    solver, state = pendulum()
    solver.advance(state, None, DT, 40)
    moved = solver.mj_data.qpos.copy()
    state.joint_q.numpy()[1] = 0.75
    solver.advance(state, None, DT, 1)
    assert abs(moved[0]) > 0.01
    assert solver.mj_data.qpos[0] == pytest.approx(moved[0], abs=0.1 * abs(moved[0]) + 0.02)
    assert solver.mj_data.qpos[1] == pytest.approx(0.75, abs=0.05)


def test_reset_repeats_the_run() -> None:
    solver, state = pendulum()
    solver.advance(state, None, DT, 100)
    solver.pull(state)
    first = state.joint_q.numpy().copy()
    initial = solver.model.state()
    solver.reset(initial)
    solver.advance(initial, None, DT, 100)
    solver.pull(initial)
    np.testing.assert_array_equal(initial.joint_q.numpy(), first)


def test_initial_body_velocity_counts_without_joint_velocity() -> None:
    builder = ModelBuilder(gravity=0.0)
    body = builder.add_body(mass=1.0, inertia=np.eye(3))
    builder.body_qd[body] = (1.0, 0.0, 0.0, 0.0, 0.0, 2.0)
    model = builder.finalize("cpu")
    solver, state = SolverMuJoCo(model), model.state()
    solver.advance(state, None, DT, 1)
    solver.advance(state, None, DT, 255)
    solver.pull(state)
    np.testing.assert_allclose(state.body_q.numpy()[0, :3], [1.0, 0.0, 0.0], atol=1e-5)


def test_divergence_is_seen_and_not_reset() -> None:
    solver, state = pendulum()
    state.joint_qd.numpy()[:] = 1.0e30
    solver.advance(state, None, DT, 8)
    assert not solver.is_finite()


def test_box_rests_on_a_plane() -> None:
    builder = ModelBuilder()
    builder.add_ground_plane()
    body = builder.add_body(xform=(0.0, 0.0, 0.1, 0.0, 0.0, 0.0, 1.0))
    builder.add_shape_box(body, hx=0.1, hy=0.1, hz=0.1)
    model = builder.finalize("cpu")
    solver, state = SolverMuJoCo(model), model.state()
    solver.advance(state, None, DT, 1280)
    solver.pull(state)
    q = state.body_q.numpy()[0]
    assert 0.099 < q[2] < 0.1001
    assert np.linalg.norm(q[:2]) < 1e-4
    assert solver.contact_count == 4


def test_full_arena_is_an_error_that_names_the_number() -> None:
    builder = ModelBuilder()
    builder.add_ground_plane()
    for i in range(150):
        builder.add_shape_box(
            builder.add_body(xform=(i % 12 * 0.15, i // 12 * 0.15, 0.09, 0, 0, 0, 1)), hx=0.1, hy=0.1, hz=0.1
        )
    model = builder.finalize("cpu")
    solver = SolverMuJoCo(model, memory_mb=1)
    with pytest.raises(UsdSimError, match="memory_mb"):
        solver.advance(model.state(), None, DT, 4)


# --- edits ----------------------------------------------------------------------------------------------------------


def test_edits_reach_mujoco() -> None:
    builder = ModelBuilder()
    body = link(builder)
    builder.add_shape_box(body, hx=0.1, hy=0.1, hz=0.1, cfg=ModelBuilder.ShapeConfig(density=0.0))
    builder.add_articulation([builder.add_joint_revolute(-1, body, axis="Y")])
    model = builder.finalize("cpu")
    solver, state = SolverMuJoCo(model), model.state()
    solver.advance(state, None, DT, 20)
    moved = float(solver.mj_data.qpos[0])
    model.joint_damping.numpy()[0], model.joint_friction.numpy()[0] = 3.0, 0.5
    model.joint_armature.numpy()[0] = 0.75
    model.joint_limit_upper.numpy()[0] = 1.0
    model.gravity.numpy()[0] = (0.0, 0.0, -1.0)
    model.shape_material_mu.numpy()[0] = 0.25
    before = float(solver.mj_model.dof_invweight0[0])
    solver.notify_model_changed(ModelFlags.ALL)
    target = solver.mj_model
    assert (target.dof_damping[0], target.dof_frictionloss[0], target.dof_armature[0]) == (3.0, 0.5, 0.75)
    assert target.jnt_limited[0]
    assert target.jnt_range[0, 1] == 1.0
    assert target.opt.gravity[2] == -1.0
    assert target.geom_friction[0, 0] == 0.25
    assert target.dof_invweight0[0] < before
    assert float(solver.mj_data.qpos[0]) == moved


def test_new_drive_compiles_anew_and_keeps_the_motion() -> None:
    solver, state = pendulum()
    solver.advance(state, None, DT, 40)
    moved = solver.mj_data.qpos.copy()
    model = solver.model
    model.joint_target_mode.numpy()[0], model.joint_target_ke.numpy()[0], model.joint_target_kd.numpy()[0] = (
        1,
        500.0,
        50.0,
    )
    solver.notify_model_changed(ModelFlags.JOINT_DOF_FORCE_PROPERTIES)
    assert solver.mj_model.nu == 1
    np.testing.assert_allclose(solver.mj_data.qpos, moved, atol=1e-6)
    solver.advance(state, None, DT, 800)
    assert abs(solver.mj_data.qpos[0]) < 0.1


# --- shapes and files -----------------------------------------------------------------------------------------------


def tetrahedron() -> Mesh:
    points = np.array([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)], np.float32)
    return Mesh(points, np.array([(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)], np.int32))


def test_meshes_share_assets_and_rest_on_the_ground() -> None:
    builder = ModelBuilder()
    builder.add_ground_plane()
    mesh = tetrahedron()
    for i in range(3):
        body = builder.add_body(xform=(2.0 * i, 0.0, 0.001, 0.0, 0.0, 0.0, 1.0))
        builder.add_shape_mesh(body, mesh=mesh, scale=(1.0, 1.0, 1.0 if i < 2 else 0.5))
    body = builder.add_body(xform=(6.0, 0.0, 0.5, 0.0, 0.0, 0.0, 1.0))
    builder.add_shape_cone(body, radius=0.5, half_height=0.5)
    model = builder.finalize("cpu")
    solver, state = SolverMuJoCo(model), model.state()
    assert solver.mj_model.nmesh == 3
    solver.advance(state, None, DT, 512)
    solver.pull(state)
    q = state.body_q.numpy()
    np.testing.assert_allclose(q[:3, 2], 0.0, atol=2e-3)
    assert q[3, 2] == pytest.approx(0.5, abs=2e-3)


def test_flat_mesh_is_a_floor() -> None:
    points = np.array([(-5, -5, 0), (5, -5, 0), (5, 5, 0), (-5, 5, 0)], np.float32)
    builder = ModelBuilder()
    builder.add_shape_mesh(-1, mesh=Mesh(points, np.array([(0, 1, 2), (0, 2, 3)], np.int32)))
    body = builder.add_body(xform=(0.0, 0.0, 0.2, 0.0, 0.0, 0.0, 1.0))
    builder.add_shape_sphere(body, radius=0.1)
    model = builder.finalize("cpu")
    solver, state = SolverMuJoCo(model), model.state()
    solver.advance(state, None, DT, 512)
    solver.pull(state)
    assert state.body_q.numpy()[0, 2] == pytest.approx(0.1, abs=2e-3)


def test_saved_mjcf_runs_the_same(tmp_path: object) -> None:
    builder = ModelBuilder()
    builder.add_ground_plane()
    body = builder.add_body(xform=(0.0, 0.0, 0.5, 0.0, 0.0, 0.0, 1.0))
    builder.add_shape_box(body, hx=0.1, hy=0.2, hz=0.3, cfg=ModelBuilder.ShapeConfig(mu=0.25, mu_torsional=0.5))
    hinged = link(builder, xform=(3.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0))
    joint = builder.add_joint_revolute(
        -1, hinged, axis="Y", limit_lower=-0.25, limit_upper=0.25, damping=0.5, target_ke=5.0, effort_limit=2.0
    )
    builder.add_articulation([joint])
    model = builder.finalize("cpu")
    solver = SolverMuJoCo(model)
    path = solver.save_mjcf(tmp_path / "model.xml")  # type: ignore[operator]
    again = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(again)
    mujoco.mj_step(again, data, 300)
    solver.advance(model.state(), None, again.opt.timestep, 300)
    # MJCF carries six digits
    np.testing.assert_allclose(data.qpos, solver.mj_data.qpos, atol=1e-4)
    assert again.geom_condim.tolist() == solver.mj_model.geom_condim.tolist()


def test_systems_without_anything_that_moves() -> None:
    for fill in (lambda b: None, lambda b: b.add_ground_plane(), lambda b: b.add_body(is_kinematic=True)):
        builder = ModelBuilder()
        fill(builder)
        model = builder.finalize("cpu")
        solver, state = SolverMuJoCo(model), model.state()
        solver.step(state, state, None, None, DT)
        assert solver.is_finite()


def test_joints_in_a_ring_outside_of_articulations() -> None:
    builder = ModelBuilder()
    ring = [link(builder) for _ in range(3)]
    for i in range(3):
        builder.add_joint_revolute(ring[i], ring[(i + 1) % 3], axis="Y")
    model = builder.finalize("cpu", skip_validation_joints=True)
    solver, state = SolverMuJoCo(model), model.state()
    # two joints hold bodies, one body is free, and the last joint closes the ring with two points on its axis
    assert (solver.mj_model.nv, solver.mj_model.neq) == (8, 2)
    solver.advance(state, None, DT, 16)
    assert solver.is_finite()


# --- mistakes -------------------------------------------------------------------------------------------------------


def test_massless_body_names_itself() -> None:
    builder = ModelBuilder()
    builder.add_body(label="ghost")
    with pytest.raises(UsdSimError, match="ghost: the body moves but has no mass"):
        SolverMuJoCo(builder.finalize("cpu"))


def test_massless_body_is_fine_where_a_fixed_one_gives_it_mass() -> None:
    builder = ModelBuilder()
    frame, load = builder.add_link(), link(builder)
    builder.add_articulation([builder.add_joint_revolute(-1, frame, axis="Y"), builder.add_joint_fixed(frame, load)])
    SolverMuJoCo(builder.finalize("cpu"))


def test_odd_inertias_are_mended_and_named() -> None:
    builder = ModelBuilder()
    builder.add_body(mass=1.0, label="point")
    builder.add_body(mass=1.0, inertia=np.diag([1.0, 1.0, 3.0]), label="impossible")
    builder.add_body(mass=1.0, inertia=np.diag([0.0, 1.0, 1.0]), label="rod")
    with pytest.warns(UsdSimWarning) as caught:
        SolverMuJoCo(builder.finalize("cpu"))
    told = " | ".join(str(entry.message) for entry in caught)
    for words in ("no inertia", "point", "no body can have", "impossible"):
        assert words in told
    assert "rod" not in told


def test_plane_on_a_moving_body_names_the_shape() -> None:
    builder = ModelBuilder()
    body = builder.add_body(mass=1.0, inertia=np.eye(3))
    builder.add_shape_plane(body, label="floor")
    with pytest.raises(UsdSimError, match="floor: a plane collider cannot be on a body that moves"):
        SolverMuJoCo(builder.finalize("cpu"))


def test_unsupported_things_are_named_once() -> None:
    builder = ModelBuilder()
    for i in range(5):
        body = builder.add_body(mass=1.0, inertia=np.eye(3))
        builder.add_shape_sphere(body, cfg=ModelBuilder.ShapeConfig(restitution=0.5), label=f"ball{i}")
    a = builder.add_link(mass=1.0, inertia=np.eye(3))
    builder.add_articulation([builder.add_joint_prismatic(-1, a, axis="Z", velocity_limit=1.0)])
    builder.add_joint_prismatic(-1, a, axis="X", label="rail")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        solver = SolverMuJoCo(builder.finalize("cpu"))
    entries = {entry.feature: entry for entry in solver.unsupported}
    assert set(entries) == {Feature.RESTITUTION, Feature.VELOCITY_LIMIT, "PRISMATIC joints that close loops"}
    assert entries[Feature.RESTITUTION].count == 5
    assert "ball0, ball1, ball2 and 2 more" in str(entries[Feature.RESTITUTION])
    assert entries["PRISMATIC joints that close loops"].examples == ("rail",)
    assert len([entry for entry in caught if issubclass(entry.category, UsdSimWarning)]) == 3


def test_settings_are_checked_by_name() -> None:
    assert MuJoCoConfig.from_options({"iterations": 7}).iterations == 7
    for options, text in (
        ({"iteration": 7}, "no setting 'iteration'.*choose from: integrator"),
        ({"integrator": "verlet"}, "integrator cannot be 'verlet'.*euler, rk4, implicit, implicitfast"),
        ({"iterations": 0}, "give at least 1"),
        ({"iterations": 1.5}, "give an integer"),
        ({"tolerance": float("nan")}, "give at least 0"),
        ({"enable_multiccd": 1}, "give True or False"),
    ):
        with pytest.raises(UsdSimError, match=text):
            MuJoCoConfig.from_options(options)


def test_settings_reach_mujoco() -> None:
    builder = ModelBuilder()
    builder.add_body(mass=1.0, inertia=np.eye(3))
    solver = solvers.create("MuJoCo", builder.finalize("cpu"), iterations=7, cone="elliptic", disable_contacts=True)
    option = solver.mj_model.opt  # type: ignore[attr-defined]
    assert (option.iterations, option.cone) == (7, mujoco.mjtCone.mjCONE_ELLIPTIC)
    assert option.disableflags & mujoco.mjtDisableBit.mjDSBL_CONTACT


def test_unknown_solvers_name_the_known_ones() -> None:
    with pytest.raises(UsdSimError, match=r"no solver 'xpbd'.*mujoco"):
        solvers.create("xpbd", None)
