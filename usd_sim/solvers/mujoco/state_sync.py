"""Conversions between a model's state and MuJoCo's, for all rows at once through index arrays built once.

Conventions. MuJoCo: hinges and slides count from their reference; quaternions w, x, y, z; a free joint moves the body's
origin (world frame) and turns in the body frame; a ball turns in the body frame, its quaternion relative to the pose at
coordinate 0. Here: hinges and slides count from the authored pose; quaternions x, y, z, w; joint coordinates are the
joint frame in the child seen from that in the parent; velocities of free joints are those of the centre of mass and of
rotation, those of balls the rotation of the child, all in the joint frame in the parent.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from usd_sim.geometry import transforms as tf
from usd_sim.solvers.base import host
from usd_sim.solvers.mujoco.layout import Layout
from usd_sim.solvers.mujoco.natives import optional

__all__ = ["Ids", "MuJoCoState", "StateSync"]

Int = NDArray[np.int64]
Array = NDArray[np.float64]

_XYZW = [1, 2, 3, 0]
_WXYZ = [3, 0, 1, 2]


@dataclass(frozen=True)
class Ids:
    """Where a model's rows are in MuJoCo's arrays.

    Attributes:
        body: MuJoCo body of each body ``(body_count,)``.
        body_root: Uppermost MuJoCo body of each body's tree ``(body_count,)``.
        scalar_q: ``qpos`` of each scalar freedom.
        scalar_v: ``qvel`` of each scalar freedom.
        ball_q: First ``qpos`` of each ball joint.
        ball_v: First ``qvel`` of each ball joint.
        free_body: Body of each free joint.
        free_q: First ``qpos`` of each free joint.
        free_v: First ``qvel`` of each free joint.
    """

    body: Int
    body_root: Int
    scalar_q: Int
    scalar_v: Int
    ball_q: Int
    ball_v: Int
    free_body: Int
    free_q: Int
    free_v: Int


@dataclass
class MuJoCoState:
    """Arrays of one MuJoCo world, as named in mjData."""

    qpos: Array
    qvel: Array
    xpos: Array
    xquat: Array
    xipos: Array
    cvel: Array
    subtree_com: Array


def _span(starts: Int, n: int) -> Int:
    return starts[:, None] + np.arange(n)


def _cross(a: Array, b: Array) -> Array:
    """Cross products of rows; several times faster than numpy.cross on small arrays."""
    return a[:, _NEXT] * b[:, _LAST] - a[:, _LAST] * b[:, _NEXT]


_NEXT, _LAST = [1, 2, 0], [2, 0, 1]


class StateSync:
    """Converts states both ways.

    Args:
        model: The model.
        layout: Its tree.
        ids: Where its rows are in MuJoCo.
    """

    def __init__(self, model: Any, layout: Layout, ids: Ids):
        self.ids = ids
        ref = optional(model, "mujoco:ref")
        self.scalar_ref = 0.0 if ref is None else ref[layout.scalar_dofs].astype(np.float64)
        self.scalar_coords, self.scalar_dofs = layout.scalar_coords, layout.scalar_dofs
        q_start, qd_start = (
            host(model, "joint_q_start").astype(np.int64),
            host(model, "joint_qd_start").astype(np.int64),
        )
        X_P, X_C = host(model, "joint_X_p").astype(np.float64), host(model, "joint_X_c").astype(np.float64)
        balls = layout.ball_joints
        self.ball_coords, self.ball_dofs = _span(q_start[balls], 4), _span(qd_start[balls], 3)
        self.ball_qpos, self.ball_qvel = _span(ids.ball_q, 4), _span(ids.ball_v, 3)
        self.ball_frame = X_C[balls, 3:]
        self.free_qpos, self.free_qvel = _span(ids.free_q, 7), _span(ids.free_v, 6)
        self.free_com = host(model, "body_com").astype(np.float64)[ids.free_body]
        joint = layout.holder[ids.free_body]
        # which of the free bodies have joint coordinates, and which are known by their pose alone
        self.jointed = np.flatnonzero(joint >= 0)
        self.loose = np.flatnonzero(joint < 0)
        joints = joint[self.jointed]
        self.free_coords, self.free_dofs = _span(q_start[joints], 7), _span(qd_start[joints], 6)
        parent = host(model, "joint_parent").astype(np.int64)[joints] if len(joints) else joints
        self.free_X_P, self.free_X_C = X_P[joints], X_C[joints]
        self.nested = np.flatnonzero(parent >= 0)
        self.nested_parent = ids.body[parent[self.nested]]
        identity = tf.identity_transform(1)[0]
        self.plain = len(self.nested) == 0 and bool(
            np.all(self.free_X_P == identity) and np.all(self.free_X_C == identity)
        )
        self.jointed_bodies = ids.free_body[self.jointed]

    # --- to MuJoCo --------------------------------------------------------------------------------------------------

    def write_qpos(self, joint_q: NDArray[Any], body_q: NDArray[Any], out: MuJoCoState) -> None:
        """Write positions into ``qpos``.

        Args:
            joint_q: Joint coordinates ``(joint_coord_count,)``.
            body_q: Body poses ``(body_count, 7)``; read for bodies without a joint alone.
            out: Receives ``qpos``; its ``xpos`` and ``xquat`` place parents of free joints that have one.
        """
        out.qpos[self.ids.scalar_q] = joint_q[self.scalar_coords] + self.scalar_ref
        if len(self.ball_coords):
            turned = tf.quat_normalize(joint_q[self.ball_coords])
            local = tf.quat_multiply(tf.quat_multiply(self.ball_frame, turned), tf.quat_conjugate(self.ball_frame))
            out.qpos[self.ball_qpos] = local[:, _WXYZ]
        if len(self.ids.free_body):
            pose = np.empty((len(self.ids.free_body), 7))
            pose[self.loose] = body_q[self.ids.free_body[self.loose]]
            relative = joint_q[self.free_coords].astype(np.float64)
            if not self.plain:
                frame = self._parent_frames(out)
                relative = tf.transform_multiply(
                    tf.transform_multiply(frame, relative), tf.transform_inverse(self.free_X_C)
                )
            pose[self.jointed] = relative
            out.qpos[self.free_qpos[:, :3]] = pose[:, :3]
            out.qpos[self.free_qpos[:, 3:]] = tf.quat_normalize(pose[:, 3:])[:, _WXYZ]

    def write_qvel(self, joint_qd: NDArray[Any], body_qd: NDArray[Any], out: MuJoCoState) -> None:
        """Write velocities into ``qvel``, given that ``qpos`` is written.

        Args:
            joint_qd: Joint velocities ``(joint_dof_count,)``.
            body_qd: Body velocities ``(body_count, 6)``; read for bodies without a joint alone.
            out: Receives ``qvel``.
        """
        out.qvel[self.ids.scalar_v] = joint_qd[self.scalar_dofs]
        if len(self.ball_dofs):
            out.qvel[self.ball_qvel] = self.ball_to_local(joint_qd[self.ball_dofs], out.qpos)
        if len(self.ids.free_body):
            twist = np.empty((len(self.ids.free_body), 6))
            twist[self.loose] = body_qd[self.ids.free_body[self.loose]]
            twist[self.jointed] = self.free_to_world(joint_qd[self.free_dofs], out)
            rotation = out.qpos[self.free_qpos[:, 3:]][:, _XYZW]
            arm = tf.quat_rotate(rotation, self.free_com)
            out.qvel[self.free_qvel[:, :3]] = twist[:, :3] - _cross(twist[:, 3:], arm)
            out.qvel[self.free_qvel[:, 3:]] = tf.quat_rotate_inv(rotation, twist[:, 3:])

    def ball_to_local(self, vectors: NDArray[Any], qpos: Array) -> Array:
        """Take vectors ``(n, 3)`` of ball joints from the joint frame in the parent to the child's body frame."""
        local = qpos[self.ball_qpos][:, _XYZW]
        # body from joint frame: C R⁻¹ = q⁻¹ C with q = C R C⁻¹
        return tf.quat_rotate_inv(local, tf.quat_rotate(self.ball_frame, vectors))

    def free_to_world(self, spatial: NDArray[Any], at: MuJoCoState) -> Array:
        """Take spatial vectors ``(n, 6)`` of free joints from the joint frame in the parent to the world."""
        spatial = np.asarray(spatial, np.float64)
        if self.plain:
            return spatial
        rotation = self._parent_frames(at)[:, None, 3:]
        return tf.quat_rotate(rotation, spatial.reshape(-1, 2, 3)).reshape(-1, 6)

    def _parent_frames(self, at: MuJoCoState) -> Array:
        """Return the world pose of the joint frame in the parent of each free joint ``(n, 7)``."""
        frames = self.free_X_P.copy()
        if len(self.nested):
            parent = np.concatenate([at.xpos[self.nested_parent], at.xquat[self.nested_parent][:, _XYZW]], axis=1)
            frames[self.nested] = tf.transform_multiply(parent, frames[self.nested])
        return frames

    def free_from_bodies(
        self, body_q: NDArray[Any], body_qd: NDArray[Any], at: MuJoCoState
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return coordinates ``(n, 7)`` and velocities ``(n, 6)`` of free joints from those of bodies."""
        pose, twist = body_q[self.jointed_bodies], body_qd[self.jointed_bodies]
        if self.plain:
            return pose, twist
        inverse = tf.transform_inverse(self._parent_frames(at))
        pose = tf.transform_multiply(tf.transform_multiply(inverse, pose), self.free_X_C)
        return pose, tf.quat_rotate(inverse[:, None, 3:], twist.reshape(-1, 2, 3)).reshape(-1, 6)

    # --- from MuJoCo ------------------------------------------------------------------------------------------------

    def read_bodies(self, at: MuJoCoState, body_q: NDArray[Any], body_qd: NDArray[Any]) -> None:
        """Read body poses and velocities.

        Args:
            at: Arrays after MuJoCo's kinematics, centres of mass and velocities.
            body_q: Receives X_WB ``(body_count, 7)``.
            body_qd: Receives COM velocity and angular velocity, world frame ``(body_count, 6)``.
        """
        body = self.ids.body
        body_q[:, :3] = at.xpos[body]
        body_q[:, 3:] = at.xquat[body][:, _XYZW]
        # cvel is (angular, linear) of the point of the body that is at the tree's centre of mass
        motion = at.cvel[body]
        arm = at.xipos[body] - at.subtree_com[self.ids.body_root]
        body_qd[:, :3] = motion[:, 3:] + _cross(motion[:, :3], arm)
        body_qd[:, 3:] = motion[:, :3]

    def read_joints(
        self,
        at: MuJoCoState,
        body_q: NDArray[Any],
        body_qd: NDArray[Any],
        joint_q: NDArray[Any],
        joint_qd: NDArray[Any],
    ) -> None:
        """Read joint coordinates and velocities.

        Args:
            at: Arrays after MuJoCo's kinematics.
            body_q: Body poses as read.
            body_qd: Body velocities as read.
            joint_q: Receives coordinates ``(joint_coord_count,)``; those of loop joints are left.
            joint_qd: Receives velocities ``(joint_dof_count,)``.
        """
        joint_q[self.scalar_coords] = at.qpos[self.ids.scalar_q] - self.scalar_ref
        joint_qd[self.scalar_dofs] = at.qvel[self.ids.scalar_v]
        if len(self.ball_coords):
            local = at.qpos[self.ball_qpos][:, _XYZW]
            frame = self.ball_frame
            joint_q[self.ball_coords] = tf.quat_multiply(tf.quat_multiply(tf.quat_conjugate(frame), local), frame)
            joint_qd[self.ball_dofs] = tf.quat_rotate_inv(frame, tf.quat_rotate(local, at.qvel[self.ball_qvel]))
        if len(self.jointed):
            pose, twist = self.free_from_bodies(body_q, body_qd, at)
            joint_q[self.free_coords] = pose
            joint_qd[self.free_dofs] = twist
