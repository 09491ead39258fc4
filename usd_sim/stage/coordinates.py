"""Initial joint coordinates: those at which the joints put the bodies where the stage has them."""

from __future__ import annotations

import numpy as np

from usd_sim.geometry import transforms as tf
from usd_sim.model.types import JointType
from usd_sim.stage.read.bodies import BodySpecs
from usd_sim.stage.read.joints import DofSpec, JointSpec
from usd_sim.stage.read.scan import Scan

__all__ = [
    "POSE_TOLERANCE",
    "apply_joint_states",
    "ignore_joint_states",
    "initial_coordinates",
    "initial_velocities",
    "pose_distance",
]

POSE_TOLERANCE = 1.0e-3
"""Distance [m] and angle [rad] by which authored poses may miss a joint before the report says so."""

_AT_ZERO = 1.0e-6
"""Distance [m] and angle [rad] from the zero pose that single-precision poses leave."""

_STEPS = 20
_DIFFERENCE = 1.0e-6


def initial_coordinates(scan: Scan, bodies: BodySpecs, joints: list[JointSpec]) -> list[np.ndarray]:
    """Return the coordinates of each joint; poses that no coordinates reach are reported."""
    if not joints:
        return []
    relative = relative_poses(bodies, joints)
    result = [np.zeros(len(joint.dofs)) for joint in joints]
    residual = np.zeros((len(joints), 2))
    for i in _off_zero(joints, relative).tolist():
        result[i] = _coordinates(joints[i], relative[i])
        residual[i] = pose_distance(_pose_at(joints[i], result[i]), relative[i])
    for i in np.flatnonzero((residual > POSE_TOLERANCE).any(axis=1)).tolist():
        scan.report.approximate(
            joints[i].path,
            f"the bodies are not where the joint allows (off by {residual[i, 0]:.3g} m and {residual[i, 1]:.3g} rad); "
            "they start where it does",
        )
    return result


def _off_zero(joints: list[JointSpec], relative: np.ndarray) -> np.ndarray:
    """Return the joints whose coordinates are not all zero: those off their zero pose, and those with quaternions."""
    moved = (np.abs(relative[:, :3]) > _AT_ZERO).any(axis=1) | (np.abs(relative[:, 3:6]) > 0.5 * _AT_ZERO).any(axis=1)
    kinds = np.array([int(joint.kind) for joint in joints])
    return np.flatnonzero(moved | np.isin(kinds, (JointType.BALL, JointType.FREE, JointType.DISTANCE)))


def relative_poses(bodies: BodySpecs, joints: list[JointSpec]) -> np.ndarray:
    """Return the pose of each joint's child frame in its parent frame (j, 7), from the poses of the bodies."""
    world = np.concatenate([bodies.pose, tf.identity_transform(1)])  # row -1 is the world
    parent = np.array([joint.parent for joint in joints])
    child = np.array([joint.child for joint in joints])
    in_parent = tf.transform_multiply(world[parent], np.array([joint.X_p for joint in joints]))
    in_child = tf.transform_multiply(world[child], np.array([joint.X_c for joint in joints]))
    return tf.transform_multiply(tf.transform_inverse(in_parent), in_child)


def pose_distance(a: np.ndarray, b: np.ndarray) -> tuple[float, float]:
    """Return distance and angle between two poses [m, rad]."""
    turn = tf.quat_multiply(tf.quat_conjugate(a[3:]), b[3:])
    return float(np.linalg.norm(a[:3] - b[:3])), 2.0 * float(np.arcsin(min(1.0, float(np.linalg.norm(turn[:3])))))


def _coordinates(joint: JointSpec, relative: np.ndarray) -> np.ndarray:
    if joint.kind == JointType.FIXED:
        return np.zeros(0)
    if joint.kind == JointType.BALL:
        return relative[3:]
    if joint.kind in (JointType.FREE, JointType.DISTANCE):
        return relative
    q = np.array([_turn_about(dof.axis, relative) if dof.angular else dof.axis @ relative[:3] for dof in joint.dofs])
    if len(joint.dofs) > 1:
        q = _solve(joint, relative, q)
    return np.array([_unwind(value, dof) for value, dof in zip(q, joint.dofs, strict=True)])


def _turn_about(axis: np.ndarray, pose: np.ndarray) -> float:
    angle = 2.0 * np.arctan2(axis @ pose[3:6], pose[6])
    return float((angle + np.pi) % (2.0 * np.pi) - np.pi)


def _unwind(value: float, dof: DofSpec) -> float:
    """Return the angle a full turn away where only that is within the limits."""
    lower, upper = dof.values[0], dof.values[1]
    if dof.angular and not lower <= value <= upper:
        for turned in (value - 2.0 * np.pi, value + 2.0 * np.pi):
            if lower <= turned <= upper:
                return turned
    return value


def _pose_at(joint: JointSpec, q: np.ndarray) -> np.ndarray:
    """Return the pose of the child frame in the parent frame at coordinates q."""
    if joint.kind in (JointType.FREE, JointType.DISTANCE):
        return q
    pose = tf.identity_transform(1)[0]
    if joint.kind == JointType.BALL:
        pose[3:] = q
        return pose
    for value, dof in zip(q, joint.dofs, strict=True):
        step = tf.identity_transform(1)[0]
        if dof.angular:
            step[3:] = tf.quat_from_axis_angle(dof.axis, value)
            step[:3] = dof.anchor - tf.quat_rotate(step[3:], dof.anchor)
        else:
            step[:3] = dof.axis * value
        pose = tf.transform_multiply(pose, step)
    return pose


def _solve(joint: JointSpec, target: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Gauss-Newton on position and rotation vector, from a first guess."""

    def miss(values: np.ndarray) -> np.ndarray:
        pose = _pose_at(joint, values)
        turn = tf.quat_multiply(tf.quat_conjugate(pose[3:]), target[3:])
        return np.concatenate([target[:3] - pose[:3], 2.0 * np.copysign(1.0, turn[3]) * turn[:3]])

    for _ in range(_STEPS):
        here = miss(q)
        slopes = [(miss(q + _DIFFERENCE * step) - here) / _DIFFERENCE for step in np.eye(len(q))]
        change = np.linalg.lstsq(np.array(slopes).T, -here, rcond=None)[0]
        q = q + change
        if np.abs(change).max() < 1e-10:
            break
    return q


def initial_velocities(bodies: BodySpecs, com: np.ndarray, joints: list[JointSpec]) -> list[np.ndarray]:
    """Return the velocities of each tree joint that its bodies' velocities imply, projected on its freedoms.

    Args:
        bodies: Bodies.
        com: Centres of mass in the body frames (n, 3) [m].
        joints: Tree joints.
    """
    velocity = np.concatenate([bodies.velocity, np.zeros((1, 6))])
    result = []
    for joint in joints:
        sizes = {JointType.BALL: 3, JointType.FREE: 6, JointType.DISTANCE: 6}
        count = sizes.get(joint.kind, len(joint.dofs))
        pair = velocity[[joint.parent, joint.child]]
        if joint.kind in (JointType.FREE, JointType.DISTANCE):
            result.append(pair[1])
        elif not pair.any():
            result.append(np.zeros(count))
        else:
            result.append(_project(bodies, com, joint, pair))
    return result


def _project(bodies: BodySpecs, com: np.ndarray, joint: JointSpec, pair: np.ndarray) -> np.ndarray:
    world = np.concatenate([bodies.pose, tf.identity_transform(1)])
    centre = np.concatenate([com, np.zeros((1, 3))])
    frame = tf.transform_multiply(world[joint.parent], joint.X_p)
    at_anchor = []
    for row, twist in ((joint.parent, pair[0]), (joint.child, pair[1])):
        arm = frame[:3] - tf.transform_point(world[row], centre[row])
        at_anchor.append(twist[:3] + np.cross(twist[3:], arm))
    linear = tf.quat_rotate_inv(frame[3:], at_anchor[1] - at_anchor[0])
    angular = tf.quat_rotate_inv(frame[3:], pair[1, 3:] - pair[0, 3:])
    if joint.kind == JointType.BALL:
        return angular
    return np.array([dof.axis @ (angular if dof.angular else linear) for dof in joint.dofs])


# --- stated coordinates ---------------------------------------------------------------------------------------------


def apply_joint_states(
    scan: Scan, joints: list[JointSpec], positions: list[np.ndarray], velocities: list[np.ndarray]
) -> None:
    """Let coordinates that joints state count where the bodies agree with them; where they differ, the bodies win.

    Positions agree where they are those of the poses, whole turns apart; velocities where the bodies state none, or
    the same.

    Args:
        scan: What was found on the stage.
        joints: Tree joints.
        positions: Coordinates of each joint that the poses give; written.
        velocities: Velocities of each joint that those of the bodies give; written.
    """
    for joint, q, qd in zip(joints, positions, velocities, strict=True):
        for i, dof in enumerate(joint.dofs):
            position, velocity = dof.state
            if position is not None:
                off = position - q[i]
                if dof.angular:
                    off = (off + np.pi) % (2.0 * np.pi) - np.pi
                if abs(off) <= POSE_TOLERANCE:
                    q[i] = position
                else:
                    _report_state(scan, dof, "position", off, "the poses of the bodies")
            if velocity is not None:
                if qd[i] == 0.0 or abs(velocity - qd[i]) <= POSE_TOLERANCE:
                    qd[i] = velocity
                else:
                    _report_state(scan, dof, "velocity", velocity - qd[i], "the velocities of the bodies")


def _report_state(scan: Scan, dof: DofSpec, what: str, off: float, winner: str) -> None:
    unit = ("rad" if dof.angular else "m") + ("/s" if what == "velocity" else "")
    scan.report.approximate(
        dof.path, f"{winner} differ by {abs(off):.3g} {unit}, and count", property=f"state:{dof.name}:physics:{what}"
    )


def ignore_joint_states(scan: Scan, loops: list[JointSpec]) -> None:
    """Report coordinates that joints state which close loops: they have none of their own."""
    for dof in (dof for joint in loops for dof in joint.dofs):
        for what, value in zip(("position", "velocity"), dof.state, strict=True):
            if value is not None:
                name = f"state:{dof.name}:physics:{what}"
                scan.report.ignore(dof.path, "the joint closes a loop; the bodies state how it moves", property=name)
