"""How a model's bodies hang in MuJoCo's tree: what holds each body, in what order, and which joints close loops."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from usd_sim.geometry import transforms as tf
from usd_sim.model.types import BodyFlags, JointType
from usd_sim.solvers.base import host

__all__ = ["Layout", "plan"]

Int = NDArray[np.int64]

_FREE_TYPES = (JointType.FREE, JointType.DISTANCE)
_SCALAR_TYPES = (JointType.REVOLUTE, JointType.PRISMATIC, JointType.D6)


@dataclass(frozen=True)
class Layout:
    """The tree that MuJoCo simulates.

    Attributes:
        holder: Joint that holds each body ``(body_count,)``; -1 for bodies that move freely without one.
        parent: Body that each body is nested in ``(body_count,)``; -1 is the world. Free bodies are in the world.
        order: Bodies, parents before children ``(body_count,)``.
        root: Uppermost body of each body's tree ``(body_count,)``.
        is_free: Bodies that move freely ``(body_count,)``.
        is_static: Bodies that cannot move ``(body_count,)``.
        is_kinematic: Bodies that move as prescribed ``(body_count,)``.
        loops: Joints that close loops.
        scalar_dofs: Degrees of freedom that are slides or hinges, in the order of the model.
        scalar_coords: Their coordinates.
        scalar_bodies: The bodies that they move.
        scalar_is_linear: Whether they are slides.
        ball_joints: Joints that are balls.
        body_pose: Pose of each body in its parent at joint coordinates 0 ``(body_count, 7)``.
    """

    holder: Int
    parent: Int
    order: Int
    root: Int
    is_free: NDArray[np.bool_]
    is_static: NDArray[np.bool_]
    is_kinematic: NDArray[np.bool_]
    loops: Int
    scalar_dofs: Int
    scalar_coords: Int
    scalar_bodies: Int
    scalar_is_linear: NDArray[np.bool_]
    ball_joints: Int
    body_pose: NDArray[np.float64]


def plan(model: Any) -> Layout:
    """Plan the tree of a model.

    Joints of articulations hold their children. A body that none holds is held by the first enabled joint outside of
    articulations that leads to it without a cycle; the other enabled joints outside of articulations close loops.

    Args:
        model: The model.
    """
    joint_parent = host(model, "joint_parent").astype(np.int64)
    holder, loops = _holders(model, joint_parent)
    held = holder >= 0
    joint_type = np.where(held, host(model, "joint_type")[holder] if model.joint_count else 0, JointType.FREE)
    is_free = np.isin(joint_type, _FREE_TYPES)
    parent = np.where(held & ~is_free, joint_parent[holder] if model.joint_count else -1, -1)
    order, depth, root = _order(parent)
    dims = host(model, "joint_dof_dim").astype(np.int64).reshape(-1, 2)
    rigid = held & (joint_type == JointType.FIXED)
    rigid |= held & (joint_type == JointType.D6) & ((dims.sum(axis=1)[holder] if model.joint_count else 1) == 0)
    is_static = rigid.copy()
    for level in range(1, int(depth.max(initial=0)) + 1):
        bodies = np.flatnonzero(depth == level)
        is_static[bodies] &= is_static[parent[bodies]]
    kinematic = ((host(model, "body_flags") & BodyFlags.KINEMATIC) != 0) & ~is_static
    scalars = _scalar_dofs(model, holder)
    ball = np.flatnonzero(held & (joint_type == JointType.BALL))
    return Layout(
        holder=holder,
        parent=parent,
        order=order,
        root=root,
        is_free=is_free,
        is_static=is_static,
        is_kinematic=kinematic,
        loops=loops,
        ball_joints=holder[ball],
        body_pose=body_poses(model, holder, is_free),
        **scalars,
    )


def body_poses(model: Any, holder: Int, is_free: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the pose of each body in its parent at coordinates 0, of free bodies initially ``(body_count, 7)``."""
    poses = host(model, "body_q").astype(np.float64)
    rows = np.flatnonzero(~is_free)
    joints = holder[rows]
    if len(rows):
        X_PJ, X_CJ = host(model, "joint_X_p")[joints], host(model, "joint_X_c")[joints]
        poses[rows] = tf.transform_multiply(X_PJ, tf.transform_inverse(X_CJ))
    poses[:, 3:] = tf.quat_normalize(poses[:, 3:])
    return poses


def _holders(model: Any, joint_parent: Int) -> tuple[Int, Int]:
    holder = np.full(model.body_count, -1, np.int64)
    child = host(model, "joint_child").astype(np.int64)
    articulated = host(model, "joint_articulation") >= 0
    enabled = host(model, "joint_enabled").astype(bool)
    tree = np.flatnonzero(articulated & enabled)
    holder[child[tree]] = tree
    loops = []
    for joint in np.flatnonzero(~articulated & enabled).tolist():
        if holder[child[joint]] < 0 and not _leads_to(
            int(joint_parent[joint]), int(child[joint]), holder, joint_parent
        ):
            holder[child[joint]] = joint
        else:
            loops.append(joint)
    return holder, np.array(loops, np.int64)


def _leads_to(body: int, target: int, holder: Int, joint_parent: Int) -> bool:
    """Whether going up the tree from a body passes another."""
    while body >= 0:
        if body == target:
            return True
        body = int(joint_parent[holder[body]]) if holder[body] >= 0 else -1
    return False


def _order(parent: Int) -> tuple[Int, Int, Int]:
    """Return bodies with parents first, the depth of each, and the root of each."""
    count = len(parent)
    depth, root = np.zeros(count, np.int64), np.arange(count)
    above = parent.copy()
    while np.any(above >= 0):
        rows = np.flatnonzero(above >= 0)
        depth[rows] += 1
        root[rows] = above[rows]
        above[rows] = parent[above[rows]]
    return np.argsort(depth, kind="stable"), depth, root


def _scalar_dofs(model: Any, holder: Int) -> dict[str, Any]:
    if model.joint_count == 0:
        empty = np.zeros(0, np.int64)
        return {
            "scalar_dofs": empty, "scalar_coords": empty, "scalar_bodies": empty, "scalar_is_linear": np.zeros(0, bool)
        }  # fmt: skip
    joint_type, child = host(model, "joint_type"), host(model, "joint_child").astype(np.int64)
    joints = np.sort(holder[holder >= 0])
    joints = joints[np.isin(joint_type[joints], _SCALAR_TYPES)]
    dims = host(model, "joint_dof_dim").astype(np.int64)[joints]
    sizes = dims.sum(axis=1)
    within = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return {
        "scalar_dofs": np.repeat(host(model, "joint_qd_start")[joints], sizes) + within,
        "scalar_coords": np.repeat(host(model, "joint_q_start")[joints], sizes) + within,
        "scalar_bodies": np.repeat(child[joints], sizes),
        "scalar_is_linear": within < np.repeat(dims[:, 0], sizes),
    }
