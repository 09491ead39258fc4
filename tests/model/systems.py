"""Systems that the tests of the model share, and a way to compare everything that two builders or models hold."""

from __future__ import annotations

from typing import Any

import numpy as np

from usd_sim.geometry import transforms as tf
from usd_sim.model.builder import ModelBuilder
from usd_sim.model.fields import DTYPES
from usd_sim.model.model import Model
from usd_sim.model.types import JointType

PLACEMENT = np.array([1.0, -2.0, 0.5, *tf.quat_from_axis_angle([1.0, 2.0, 3.0], 0.7)])
"""A transform with nothing special about it."""

SINGLE = 1.0e-6
"""Rounding of single precision on values of order one, relative and absolute."""


def mixed_system() -> ModelBuilder:
    """Return a builder with every reference that there is: a chain, a loop joint, a mimic, pairs and static shapes."""
    builder = ModelBuilder()
    base = builder.add_link(xform=(0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0), label="base")
    arm = builder.add_link(xform=(1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0), label="arm")
    tip = builder.add_link(xform=(2.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0), label="tip")
    builder.add_shape_box(base, hx=0.2, hy=0.1, hz=0.1)
    builder.add_shape_sphere(arm, radius=0.1)
    builder.add_shape_capsule(tip, radius=0.1, half_height=0.2)
    builder.add_ground_plane()
    joints = [
        builder.add_joint_revolute(
            -1, base, axis="Y", parent_xform=(0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0), target_ke=2.0, target_pos=0.25
        ),
        builder.add_joint_prismatic(base, arm, axis="X", limit_lower=-0.5, limit_upper=0.5),
        builder.add_joint_ball(arm, tip, parent_xform=(0.5, 0, 0, 0, 0, 0, 1), child_xform=(-0.5, 0, 0, 0, 0, 0, 1)),
    ]
    builder.add_articulation(joints, label="arm")
    builder.add_joint_distance(base, tip, min_distance=0.5, max_distance=2.5)  # closes a loop
    builder.joint_mimic_joint[1] = 0
    builder.joint_mimic_coeffs[1] = (0.0, 2.0)
    free = builder.add_body(xform=PLACEMENT, label="free")
    builder.body_qd[free] = (1.0, 2.0, 3.0, 4.0, 5.0, 6.0)
    builder.joint_qd[-6:] = (1.0, 2.0, 3.0, 4.0, 5.0, 6.0)
    builder.add_shape_box(free)
    builder.add_shape_collision_filter_pair(0, 4)
    return builder


def rows_of(source: Any, name: str) -> Any:
    """Return the rows of a field of a builder or a model, on the host."""
    value = source.array(name) if isinstance(source, Model) else source.columns.view(name)
    return value.numpy() if hasattr(value, "numpy") else value


def assert_equal(first: Any, second: Any, *, tolerance: float = 0.0) -> None:
    """Compare every field of two builders or of two models."""
    for field in second.table if isinstance(second, Model) else second.columns.table:
        if field.derived and not isinstance(second, Model):
            continue
        a, b = rows_of(first, field.name), rows_of(second, field.name)
        if DTYPES[field.dtype].numpy is None:
            assert list(a) == list(b), field.name
        else:
            np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance, err_msg=field.name)


def forward_kinematics(model: Model, joint_q: np.ndarray | None = None) -> np.ndarray:
    """Return X_WB (body_count, 7) that the joints of the articulations give, straight from their definition.

    Args:
        model: The model.
        joint_q: Coordinates; the model's own if not given.
    """
    q = (model.joint_q.numpy() if joint_q is None else joint_q).astype(float)
    start, dof_start = model.joint_q_start.numpy(), model.joint_qd_start.numpy()
    pose = model.body_q.numpy().astype(float)
    for j in np.flatnonzero(model.joint_articulation.numpy() >= 0):
        parent, child = model.joint_parent.numpy()[j], model.joint_child.numpy()[j]
        base = pose[parent] if parent >= 0 else tf.identity_transform(1)[0]
        motion = joint_motion(model, j, q[start[j] : start[j + 1]], dof_start[j])
        frame = tf.transform_multiply(tf.transform_multiply(base, model.joint_X_p.numpy()[j]), motion)
        pose[child] = tf.transform_multiply(frame, tf.transform_inverse(model.joint_X_c.numpy()[j]))
    return pose


def joint_motion(model: Model, joint: int, q: np.ndarray, first_dof: int) -> np.ndarray:
    """Return the pose of the child's joint frame in the parent's joint frame."""
    kind = model.joint_type.numpy()[joint]
    if kind in (JointType.FREE, JointType.DISTANCE):
        return q
    if kind == JointType.BALL:
        return np.concatenate([np.zeros(3), q])
    motion = tf.identity_transform(1)[0]
    linear, angular = model.joint_dof_dim.numpy()[joint]
    for i in range(linear + angular):
        axis, anchor = model.joint_axis.numpy()[first_dof + i], model.joint_dof_anchor.numpy()[first_dof + i]
        step = tf.identity_transform(1)[0]
        if i < linear:
            step[:3] = q[i] * axis
        else:
            step[3:] = tf.quat_from_axis_angle(axis, q[i])
            step[:3] = anchor - tf.quat_rotate(step[3:], anchor)
        motion = tf.transform_multiply(motion, step)
    return motion


def assert_same_pose(a: np.ndarray, b: np.ndarray, *, tolerance: float) -> None:
    """Compare transforms (..., 7), where q and -q are the same rotation."""
    a, b = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    np.testing.assert_allclose(a[..., :3], b[..., :3], rtol=tolerance, atol=tolerance)
    cosine = np.abs(np.sum(a[..., 3:] * b[..., 3:], axis=-1))
    difference = np.minimum(np.abs(a[..., 3:] - b[..., 3:]).max(axis=-1), np.abs(a[..., 3:] + b[..., 3:]).max(axis=-1))
    assert np.all(difference <= tolerance), f"rotations differ by {difference.max()} (cosine {cosine.min()})"
