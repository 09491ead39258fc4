"""Every joint type against native MuJoCo run from hand-written MJCF."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from tests.solvers.helpers import (
    COM,
    DT,
    INERTIAL,
    STEPS,
    TRAJECTORY,
    assert_same_bodies,
    link,
    reference,
    run,
    run_reference,
)
from usd_sim.geometry import transforms as tf
from usd_sim.model.builder import ModelBuilder
from usd_sim.solvers.mujoco import SolverMuJoCo

FRAME_P = (1.0, 0.5, 2.0, 0.5, 0.5, 0.5, 0.5)
FRAME_C = (0.25, -0.5, 0.125, 0.5, -0.5, 0.5, 0.5)
"""Joint frames whose numbers are exact in single precision."""

Config = ModelBuilder.JointDofConfig


def frames() -> tuple[str, str, np.ndarray]:
    """Return pos and quat of the child at coordinates 0, and the rotation of the joint frame in it."""
    pose = tf.transform_multiply(FRAME_P, tf.transform_inverse(FRAME_C))
    pos, quat = " ".join(map(str, pose[:3])), " ".join(map(str, pose[[6, 3, 4, 5]]))
    return pos, quat, np.array(FRAME_C[3:])


def text(vector: np.ndarray) -> str:
    return " ".join(repr(float(x)) for x in vector)


def finish(builder: ModelBuilder, joints: list[int]) -> tuple[SolverMuJoCo, object]:
    builder.add_articulation(joints)
    model = builder.finalize("cpu")
    return SolverMuJoCo(model), model.state()


@pytest.mark.parametrize("kind", ["hinge", "slide"])
def test_single_axis(kind: str) -> None:
    pos, quat, rotation = frames()
    axis = np.array([0.6, 0.0, 0.8])
    builder = ModelBuilder()
    body = link(builder)
    add = builder.add_joint_revolute if kind == "hinge" else builder.add_joint_prismatic
    joint = add(
        -1, body, axis=axis, parent_xform=FRAME_P, child_xform=FRAME_C, armature=0.25, damping=0.5, friction=0.125,
        stiffness=4.0, limit_lower=-0.5, limit_upper=0.25,
    )  # fmt: skip
    builder.joint_q[0], builder.joint_qd[0], builder.joint_rest_q[0] = 0.125, 1.0, -0.25
    solver, state = finish(builder, [joint])
    run(solver, state)
    model, data = reference(
        f'<body pos="{pos}" quat="{quat}">{INERTIAL}<joint type="{kind}" axis="{text(tf.quat_rotate(rotation, axis))}" '
        f'pos="{text(FRAME_C[:3])}" armature="0.25" damping="0.5" frictionloss="0.125" stiffness="4" springref="-0.25" '
        'range="-0.5 0.25"/></body>'
    )
    data.qpos[0], data.qvel[0] = 0.125, 1.0
    run_reference(model, data)
    np.testing.assert_allclose(state.joint_q.numpy(), data.qpos, atol=TRAJECTORY)
    np.testing.assert_allclose(state.joint_qd.numpy(), data.qvel, atol=10 * TRAJECTORY)
    assert_same_bodies(state, model, data)


def test_one_sided_limit_holds() -> None:
    builder = ModelBuilder()
    joint = builder.add_joint_prismatic(-1, link(builder), axis="Z", limit_lower=-0.25)
    solver, state = finish(builder, [joint])
    run(solver, state, steps=600)
    # soft limits give by some 10 mm under a weight of 20 N
    assert state.joint_q.numpy()[0] == pytest.approx(-0.25, abs=0.02)


def test_crossed_limits_lock() -> None:
    builder = ModelBuilder()
    joint = builder.add_joint_revolute(-1, link(builder), axis="Y", limit_lower=1.0, limit_upper=-1.0)
    solver, state = finish(builder, [joint])
    run(solver, state)
    assert abs(state.joint_q.numpy()[0]) < 0.05


def test_limit_gains_are_force_space() -> None:
    # a soft limit under the weight m g gives by about m g / ke
    builder = ModelBuilder()
    joint = builder.add_joint_prismatic(-1, link(builder), axis="Z", limit_lower=0.0, limit_ke=2000.0, limit_kd=500.0)
    solver, state = finish(builder, [joint])
    run(solver, state, steps=2000)
    # MuJoCo's impedance varies with depth between dmin and dmax, which moves equilibrium by up to a few tens of percent
    assert state.joint_q.numpy()[0] == pytest.approx(-2.0 * 9.81 / 2000.0, rel=0.3)


def test_d6_applies_axes_in_order() -> None:
    pos, quat, rotation = frames()
    builder = ModelBuilder()
    body = link(builder)
    linear = [Config(axis="X"), Config(axis=(0.0, 0.6, 0.8))]
    angular = [Config(axis="Z"), Config(axis="Y"), Config(axis=(0.8, 0.6, 0.0))]
    joint = builder.add_joint_d6(
        -1, body, linear_axes=linear, angular_axes=angular, parent_xform=FRAME_P, child_xform=FRAME_C
    )
    start_q, start_qd = [0.25, -0.5, 0.5, 0.25, -0.75], [0.5, 0.25, 1.0, -0.5, 0.25]
    builder.joint_q[:], builder.joint_qd[:] = start_q, start_qd
    solver, state = finish(builder, [joint])
    run(solver, state, steps=100)
    rows = [
        ("slide", [1, 0, 0]),
        ("slide", [0, 0.6, 0.8]),
        ("hinge", [0, 0, 1]),
        ("hinge", [0, 1, 0]),
        ("hinge", [0.8, 0.6, 0]),
    ]
    joints = "".join(
        f'<joint type="{kind}" axis="{text(tf.quat_rotate(rotation, axis))}" pos="{text(FRAME_C[:3])}"/>'
        for kind, axis in rows
    )
    model, data = reference(f'<body pos="{pos}" quat="{quat}">{INERTIAL}{joints}</body>')
    data.qpos[:], data.qvel[:] = start_q, start_qd
    run_reference(model, data, steps=100)
    np.testing.assert_allclose(state.joint_q.numpy(), data.qpos, atol=2 * TRAJECTORY)
    assert_same_bodies(state, model, data, tolerance=2 * TRAJECTORY)


def test_stacked_hinges_turn_about_their_own_anchors() -> None:
    builder = ModelBuilder()
    body = link(builder)
    joint = builder.add_joint_d6(-1, body, angular_axes=[Config(axis="Z"), Config(axis="X")], child_xform=FRAME_C)
    builder.joint_dof_anchor[:] = [(0.0, 0.0, 0.0), (0.5, 0.25, -0.125)]
    builder.joint_q[:] = [0.5, -0.25]
    solver, state = finish(builder, [joint])
    run(solver, state, steps=100)
    pose = tf.transform_inverse(FRAME_C)
    anchors = tf.transform_point(FRAME_C, [(0.0, 0.0, 0.0), (0.5, 0.25, -0.125)])
    axes = tf.quat_rotate(np.array(FRAME_C[3:]), [(0.0, 0.0, 1.0), (1.0, 0.0, 0.0)])
    joints = "".join(f'<joint axis="{text(a)}" pos="{text(p)}"/>' for a, p in zip(axes, anchors, strict=True))
    model, data = reference(f'<body pos="{text(pose[:3])}" quat="{text(pose[[6, 3, 4, 5]])}">{INERTIAL}{joints}</body>')
    data.qpos[:] = [0.5, -0.25]
    run_reference(model, data, steps=100)
    np.testing.assert_allclose(state.joint_q.numpy(), data.qpos, atol=2 * TRAJECTORY)
    assert_same_bodies(state, model, data, tolerance=2 * TRAJECTORY)


def test_ball_coordinates_are_the_child_frame_in_the_parent_frame() -> None:
    pos, quat, rotation = frames()
    turned = tf.quat_from_axis_angle([1.0, 2.0, -1.0], 0.75)
    spin = np.array([0.5, -0.25, 1.0])
    builder = ModelBuilder()
    joint = builder.add_joint_ball(-1, link(builder), parent_xform=FRAME_P, child_xform=FRAME_C)
    builder.joint_q[:], builder.joint_qd[:] = turned, spin
    solver, state = finish(builder, [joint])
    solver.pull(state)
    # X_WB = X_PJ R X_JC, and the angular velocity is given in the parent's joint frame
    moved = np.concatenate([np.zeros(3), turned])
    expected = tf.transform_multiply(tf.transform_multiply(FRAME_P, moved), tf.transform_inverse(FRAME_C))
    found = state.body_q.numpy()[0]
    np.testing.assert_allclose(found[:3], expected[:3], atol=1e-6)
    np.testing.assert_allclose(found[3:] * np.sign(found[3:] @ expected[3:]), expected[3:], atol=1e-6)
    np.testing.assert_allclose(state.body_qd.numpy()[0, 3:], tf.quat_rotate(FRAME_P[3:], spin), atol=1e-6)
    np.testing.assert_allclose(state.joint_q.numpy(), turned, atol=1e-6)
    np.testing.assert_allclose(state.joint_qd.numpy(), spin, atol=1e-6)
    run(solver, state)
    model, data = reference(
        f'<body pos="{pos}" quat="{quat}">{INERTIAL}<joint type="ball" pos="{text(FRAME_C[:3])}"/></body>'
    )
    local = tf.quat_multiply(tf.quat_multiply(rotation, turned), tf.quat_conjugate(rotation))
    data.qpos[:] = local[[3, 0, 1, 2]]
    data.qvel[:] = tf.quat_rotate(rotation, tf.quat_rotate_inv(turned, spin))
    run_reference(model, data)
    assert_same_bodies(state, model, data, tolerance=5 * TRAJECTORY)


@pytest.mark.parametrize("framed", [False, True])
def test_free_velocity_is_that_of_the_centre_of_mass(framed: bool) -> None:
    pose = np.array([0.5, -1.0, 3.0, 0.5, 0.5, -0.5, 0.5])
    frame_p = np.array(FRAME_P) if framed else tf.identity_transform(1)[0]
    frame_c = np.array(FRAME_C) if framed else tf.identity_transform(1)[0]
    builder = ModelBuilder()
    body = link(builder, xform=pose)
    joint = builder.add_joint_free(body, parent_xform=frame_p, child_xform=frame_c)
    builder.joint_q[:] = tf.transform_multiply(tf.transform_multiply(tf.transform_inverse(frame_p), pose), frame_c)
    twist = np.array([0.25, 0.5, -1.0, 0.5, -0.25, 0.75])
    builder.joint_qd[:] = twist
    solver, state = finish(builder, [joint])
    start = np.array(builder.joint_q)
    solver.pull(state)
    np.testing.assert_allclose(state.joint_qd.numpy(), twist, atol=1e-6)
    np.testing.assert_allclose(state.joint_q.numpy(), start, atol=1e-6)
    world = tf.quat_rotate(frame_p[3:], twist.reshape(2, 3))
    np.testing.assert_allclose(state.body_qd.numpy()[0], world.ravel(), atol=1e-6)
    run(solver, state)
    model, data = reference(
        f'<body pos="{text(pose[:3])}" quat="{text(pose[[6, 3, 4, 5]])}">{INERTIAL}<freejoint/></body>'
    )
    data.qvel[:3] = world[0] - np.cross(world[1], tf.quat_rotate(pose[3:], COM))
    data.qvel[3:] = tf.quat_rotate_inv(pose[3:], world[1])
    run_reference(model, data)
    assert_same_bodies(state, model, data)


def test_free_joint_on_a_moving_body() -> None:
    builder = ModelBuilder()
    carrier, rider = link(builder), link(builder)
    joints = [
        builder.add_joint_prismatic(-1, carrier, axis="X"),
        builder.add_joint_free(rider, parent=carrier, parent_xform=FRAME_P, child_xform=FRAME_C),
    ]
    builder.joint_q[:] = [1.0, 0.5, 0.25, 0.0, 0.5, 0.5, 0.5, 0.5]
    solver, state = finish(builder, joints)
    start = state.joint_q.numpy().copy()
    solver.pull(state)
    np.testing.assert_allclose(state.joint_q.numpy(), start, atol=1e-6)
    in_world = tf.transform_multiply(tf.transform_multiply([1, 0, 0, 0, 0, 0, 1], FRAME_P), start[1:])
    in_world = tf.transform_multiply(in_world, tf.transform_inverse(FRAME_C))
    np.testing.assert_allclose(state.body_q.numpy()[1, :3], in_world[:3], atol=1e-6)


def test_fixed_joints_make_rigid_and_static_bodies() -> None:
    builder = ModelBuilder()
    base, arm, tip = link(builder), link(builder), link(builder)
    joints = [
        builder.add_joint_fixed(-1, base, parent_xform=FRAME_P),
        builder.add_joint_revolute(base, arm, axis="Y"),
        builder.add_joint_fixed(arm, tip, parent_xform=FRAME_C),
    ]
    solver, state = finish(builder, joints)
    run(solver, state)
    assert solver.mj_model.nv == 1
    np.testing.assert_allclose(state.body_q.numpy()[0], FRAME_P, atol=1e-6)
    np.testing.assert_array_equal(state.body_qd.numpy()[0], 0.0)
    expected = tf.transform_multiply(state.body_q.numpy()[1].astype(float), FRAME_C)
    np.testing.assert_allclose(state.body_q.numpy()[2, :3], expected[:3], atol=1e-6)


def test_bodies_without_joints_fall_freely() -> None:
    builder = ModelBuilder()
    link(builder, xform=(0.0, 0.0, 5.0, 0.0, 0.0, 0.0, 1.0))
    model = builder.finalize("cpu", skip_validation_joints=True)
    state = model.state()
    solver = SolverMuJoCo(model)
    run(solver, state)
    # semi-implicit integration of a constant acceleration is exact but for one half step
    time = STEPS * DT
    height = 5.0 - 0.5 * 9.81 * time * (time + DT)
    assert state.body_q.numpy()[0, 2] == pytest.approx(height, abs=1e-4)


def test_disabled_joint_lets_its_child_go() -> None:
    builder = ModelBuilder()
    body = link(builder)
    joint = builder.add_joint_revolute(-1, body, axis="Y", enabled=False)
    solver, state = finish(builder, [joint])
    run(solver, state)
    assert state.body_q.numpy()[0, 2] < -2.0
    assert state.joint_q.numpy()[0] == 0.0


@pytest.mark.parametrize("mode", ["position", "velocity", "both"])
def test_drives(mode: str) -> None:
    ke, kd, target, speed = {
        "position": (40.0, 4.0, 0.5, 0.0),
        "velocity": (0.0, 4.0, 0.0, 0.75),
        "both": (40.0, 4.0, 0.5, 0.75),
    }[mode]
    builder = ModelBuilder()
    joint = builder.add_joint_revolute(
        -1, link(builder), axis="Y", target_ke=ke, target_kd=kd, target_pos=target, target_vel=speed, effort_limit=8.0
    )
    solver, state = finish(builder, [joint])
    run(solver, state)
    general = 'joint="j" biastype="affine"'
    actuators = {
        "position": f'<general {general} gainprm="40" biasprm="0 -40 -4"/>',
        "velocity": f'<general {general} gainprm="4" biasprm="0 0 -4"/>',
        "both": f'<general {general} gainprm="40" biasprm="0 -40 0"/><general {general} gainprm="4" biasprm="0 0 -4"/>',
    }[mode]
    model, data = reference(
        f'<body>{INERTIAL}<joint name="j" axis="0 1 0" actuatorfrcrange="-8 8"/></body>',
        f"<actuator>{actuators}</actuator>",
    )
    data.ctrl[:] = {"position": [target], "velocity": [speed], "both": [target, speed]}[mode]
    run_reference(model, data)
    np.testing.assert_allclose(state.joint_q.numpy(), data.qpos, atol=TRAJECTORY)
    assert model.nu == solver.mj_model.nu


def test_ball_drive_reaches_a_small_rotation() -> None:
    builder = ModelBuilder(gravity=0.0)
    joint = builder.add_joint_ball(-1, link(builder), parent_xform=FRAME_P, child_xform=FRAME_C)
    builder.joint_target_ke[:], builder.joint_target_kd[:], builder.joint_target_mode[:] = 50.0, 20.0, 1
    builder.joint_target_q[:] = [0.25, 0.0, 0.0]
    solver, state = finish(builder, [joint])
    run(solver, state, steps=2000)
    np.testing.assert_allclose(state.joint_q.numpy(), tf.quat_from_axis_angle([1.0, 0.0, 0.0], 0.25), atol=1e-3)


def test_applied_forces() -> None:
    force, torque = np.array([1.0, 2.0, 3.0]), np.array([0.5, -0.25, 0.125])
    builder = ModelBuilder(gravity=0.0)
    free, hinged, ball = link(builder), link(builder), link(builder)
    joints = [builder.add_joint_free(free), builder.add_joint_revolute(-1, hinged, axis="Y")]
    joints.append(builder.add_joint_ball(-1, ball, parent_xform=FRAME_P, child_xform=FRAME_C))
    builder.joint_q[-4:] = tf.quat_from_axis_angle([0.0, 1.0, 0.0], 0.5)
    builder.add_articulation(joints[:1])
    builder.add_articulation(joints[1:2])
    builder.add_articulation(joints[2:])
    model = builder.finalize("cpu")
    solver, state, control = SolverMuJoCo(model), model.state(), model.control()
    control.joint_f.numpy()[:] = [*force, *torque, 2.0, *torque]
    state.body_f.numpy()[0] = [*force, 0.0, 0.0, 0.0]
    run(solver, state, control, steps=1)
    qd = state.joint_qd.numpy()
    # from rest, one step gives impulse over inertia: at the COM for free bodies
    np.testing.assert_allclose(qd[:3], 2.0 * force / 2.0 * DT, rtol=1e-4)
    inertia = np.diag([0.25, 0.5, 0.375])
    np.testing.assert_allclose(qd[3:6], np.linalg.solve(inertia, torque) * DT, rtol=1e-4)
    about_y = 0.5 + 2.0 * (COM[0] ** 2 + COM[2] ** 2)
    assert qd[6] == pytest.approx(2.0 / about_y * DT, rel=1e-4)
    rotation = tf.quat_to_matrix(state.body_q.numpy()[2, 3:])
    arm = np.array(COM) - np.array(FRAME_C[:3])
    about_anchor = rotation @ (inertia + 2.0 * (arm @ arm * np.eye(3) - np.outer(arm, arm))) @ rotation.T
    world = tf.quat_rotate(FRAME_P[3:], torque)
    # a single step turns the body by less than 1e-3, which bounds the change of its inertia
    np.testing.assert_allclose(
        state.body_qd.numpy()[2, 3:], np.linalg.solve(about_anchor, world) * DT, rtol=2e-3, atol=1e-6
    )


def test_mimic_follows_with_offset_and_ratio() -> None:
    builder = ModelBuilder()
    first, second = link(builder), link(builder)
    joints = [builder.add_joint_revolute(-1, first, axis="Y"), builder.add_joint_revolute(-1, second, axis="Y")]
    builder.joint_mimic_joint[1], builder.joint_mimic_coeffs[1] = joints[0], (0.125, -0.5)
    builder.joint_q[:] = [0.5, -0.125]
    solver, state = finish(builder, joints)
    run(solver, state)
    q = state.joint_q.numpy()
    assert abs(q[0] - 0.5) > 0.1
    # equalities are soft constraints
    assert q[1] == pytest.approx(0.125 - 0.5 * q[0], abs=0.01)


def test_mujoco_names_are_unique() -> None:
    builder = ModelBuilder()
    for _ in range(2):
        builder.add_body(mass=1.0, inertia=np.eye(3), label="same")
    solver = SolverMuJoCo(builder.finalize("cpu"))
    names = {mujoco.mj_id2name(solver.mj_model, mujoco.mjtObj.mjOBJ_BODY, i) for i in range(3)}
    assert len(names) == 3
    assert solver.prim_names["body:same"] == "same"
