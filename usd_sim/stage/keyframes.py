"""Keyframes of the MuJoCo schemas as initial states.

MuJoCo lists coordinates body by body, in the order of the traversal, and joint by joint within a body. Free joints have
a position and a quaternion w, x, y, z in the world, and the velocity of the body's origin with rates in the body
frame; balls turn in the body frame; hinges and slides count from their reference.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from usd_sim.errors import ExitCode, UsdSimError
from usd_sim.geometry import transforms as tf
from usd_sim.model.builder import ModelBuilder
from usd_sim.model.finalize import coordinate_counts
from usd_sim.model.types import JointType
from usd_sim.stage.read.scan import Scan

__all__ = ["apply_keyframe"]

_XYZW = [1, 2, 3, 0]


def apply_keyframe(builder: ModelBuilder, scan: Scan, name: str) -> None:
    """Make a keyframe the initial state of a builder that holds one stage.

    Args:
        builder: Its coordinates, velocities, controls and poses are overwritten.
        scan: What was found on the stage.
        name: Path or name of the MjcKeyframe prim.

    Raises:
        UsdSimError: There is no such keyframe, or it does not fit the stage.
    """
    paths = list(builder.columns.view("mujoco:keyframe_path"))
    found = [row for row, path in enumerate(paths) if name in (path, path.rsplit("/", 1)[-1])]
    if not found:
        known = ", ".join(path.rsplit("/", 1)[-1] for path in paths) or "this stage has none"
        raise UsdSimError(f"there is no keyframe {name!r}", remedy=f"choose one of: {known}", exit_code=ExitCode.USAGE)
    row = found[0]
    keyframe = {key: builder.columns.view(f"mujoco:keyframe_{key}")[row] for key in ("qpos", "qvel", "act", "ctrl")}
    joints = _joints(builder, scan)
    _apply_positions(builder, scan, joints, keyframe["qpos"], paths[row])
    _apply_velocities(builder, scan, joints, keyframe["qvel"], paths[row])
    _apply_actuators(builder, keyframe, paths[row])
    _place_bodies(builder, joints)


@dataclass
class _Joint:
    """One tree joint, and where its rows start."""

    row: int
    kind: JointType
    parent: int
    child: int
    q: int
    qd: int
    dofs: list[int]


def _joints(builder: ModelBuilder, scan: Scan) -> list[_Joint]:
    """Return the tree joints in the order of the model; freedoms of one joint in the order of their prims."""
    kinds, dims = np.asarray(builder.joint_type), np.asarray(builder.joint_dof_dim).reshape(-1, 2)
    sizes = dims.sum(axis=1)
    q, qd = (np.cumsum(count) - count for count in (coordinate_counts(kinds, dims), sizes))
    paths = list(builder.joint_dof_path)
    joints = []
    for row in np.flatnonzero(np.asarray(builder.joint_articulation) >= 0).tolist():
        dofs = list(range(qd[row], qd[row] + sizes[row]))
        dofs.sort(key=lambda dof: scan.order.get(paths[dof], 0))
        parent, child = int(builder.joint_parent[row]), int(builder.joint_child[row])
        joints.append(_Joint(row, JointType(int(kinds[row])), parent, child, int(q[row]), int(qd[row]), dofs))
    return joints


def _in_order(builder: ModelBuilder, scan: Scan, joints: list[_Joint]) -> list[_Joint]:
    paths = list(builder.body_path)
    return sorted(joints, key=lambda joint: scan.order.get(paths[joint.child], 0))


def _check(values: Any, count: int, what: str, path: str) -> np.ndarray:
    if len(values) != count:
        raise UsdSimError(f"the keyframe has {len(values)} {what}, the stage {count}", prim=path)
    return np.asarray(values, dtype=float)


def _sizes(joint: _Joint) -> tuple[int, int]:
    """Return the number of coordinates and of velocities."""
    return len(joint.dofs) + (joint.kind in (JointType.BALL, JointType.FREE, JointType.DISTANCE)), len(joint.dofs)


def _apply_positions(builder: ModelBuilder, scan: Scan, joints: list[_Joint], qpos: Any, path: str) -> None:
    if qpos is None:
        return
    values = _check(qpos, sum(_sizes(joint)[0] for joint in joints), "positions", path)
    ref, joint_q = np.asarray(builder.columns.view("mujoco:ref"), dtype=float), builder.joint_q
    start = 0
    for joint in _in_order(builder, scan, joints):
        count = _sizes(joint)[0]
        mine, start = values[start : start + count], start + count
        if joint.kind == JointType.FREE:
            pose = np.concatenate([scan.units.to_si(mine[:3], "m"), tf.quat_normalize(mine[3:][_XYZW])])
            joint_q[joint.q : joint.q + 7] = pose
        elif joint.kind == JointType.BALL:
            frame = np.asarray(builder.joint_X_c[joint.row], dtype=float)[3:]
            turn = tf.quat_multiply(tf.quat_conjugate(frame), tf.quat_normalize(mine[_XYZW]))
            joint_q[joint.q : joint.q + 4] = tf.quat_multiply(turn, frame)
        else:
            linear = int(builder.joint_dof_dim[joint.row][0])
            for dof, value in zip(joint.dofs, mine, strict=True):
                place = dof - joint.qd
                value = scan.units.to_si(value, "m") if place < linear else value
                joint_q[joint.q + place] = value - ref[dof]


def _apply_velocities(builder: ModelBuilder, scan: Scan, joints: list[_Joint], qvel: Any, path: str) -> None:
    if qvel is None:
        return
    values = _check(qvel, sum(_sizes(joint)[1] for joint in joints), "velocities", path)
    start = 0
    for joint in _in_order(builder, scan, joints):
        count = _sizes(joint)[1]
        mine, start = values[start : start + count], start + count
        if joint.kind == JointType.FREE:
            rotation = np.asarray(builder.joint_q[joint.q + 3 : joint.q + 7], dtype=float)
            spin = tf.quat_rotate(rotation, mine[3:])
            arm = tf.quat_rotate(rotation, np.asarray(builder.body_com[joint.child], dtype=float))
            twist = np.concatenate([scan.units.to_si(mine[:3], "m/s") + np.cross(spin, arm), spin])
            builder.joint_qd[joint.qd : joint.qd + 6] = twist
            builder.body_qd[joint.child] = twist
        elif joint.kind == JointType.BALL:
            frame = np.asarray(builder.joint_X_c[joint.row], dtype=float)[3:]
            turn = np.asarray(builder.joint_q[joint.q : joint.q + 4], dtype=float)
            builder.joint_qd[joint.qd : joint.qd + 3] = tf.quat_rotate(turn, tf.quat_rotate_inv(frame, mine))
        else:
            linear = int(builder.joint_dof_dim[joint.row][0])
            for dof, value in zip(joint.dofs, mine, strict=True):
                is_linear = dof - joint.qd < linear
                builder.joint_qd[dof] = scan.units.to_si(value, "m/s") if is_linear else value


def _apply_actuators(builder: ModelBuilder, keyframe: dict[str, Any], path: str) -> None:
    count = builder.columns.count("mujoco:actuator")
    if keyframe["ctrl"] is not None:
        builder.columns.view("mujoco:ctrl")[:] = _check(keyframe["ctrl"], count, "controls", path)
    if keyframe["act"] is not None:
        stateful = np.flatnonzero(np.asarray(builder.columns.view("mujoco:actuator_dyntype")) > 0)
        values = _check(keyframe["act"], len(stateful), "activations", path)
        builder.columns.view("mujoco:actuator_act")[stateful] = values


def _place_bodies(builder: ModelBuilder, joints: list[_Joint]) -> None:
    """Put bodies where the joints now have them, parents first."""
    body_q = builder.body_q
    for joint in joints:
        base = np.asarray(builder.joint_X_p[joint.row], dtype=float)
        if joint.parent >= 0:
            base = tf.transform_multiply(np.asarray(body_q[joint.parent], dtype=float), base)
        inner = tf.transform_inverse(np.asarray(builder.joint_X_c[joint.row], dtype=float))
        body_q[joint.child] = tf.transform_multiply(tf.transform_multiply(base, _moved(builder, joint)), inner)


def _moved(builder: ModelBuilder, joint: _Joint) -> np.ndarray:
    """Return the joint frame in the child as the joint frame in the parent sees it (7,)."""
    pose = tf.identity_transform(1)[0]
    if joint.kind in (JointType.FREE, JointType.DISTANCE):
        return np.asarray(builder.joint_q[joint.q : joint.q + 7], dtype=float)
    if joint.kind == JointType.BALL:
        pose[3:] = builder.joint_q[joint.q : joint.q + 4]
        return pose
    linear = int(builder.joint_dof_dim[joint.row][0])
    for dof in range(joint.qd, joint.qd + len(joint.dofs)):
        value, axis = float(builder.joint_q[joint.q + dof - joint.qd]), np.asarray(builder.joint_axis[dof], dtype=float)
        step = tf.identity_transform(1)[0]
        if dof - joint.qd < linear:
            step[:3] = axis * value
        else:
            anchor = np.asarray(builder.joint_dof_anchor[dof], dtype=float)
            step[3:] = tf.quat_from_axis_angle(axis, value)
            step[:3] = anchor - tf.quat_rotate(step[3:], anchor)
        pose = tf.transform_multiply(pose, step)
    return pose
