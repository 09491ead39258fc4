"""Acceleration drives: how much inertia each of their freedoms has."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from usd_sim.solvers.base import Unsupported, host, name_of
from usd_sim.solvers.mujoco.layout import Layout

__all__ = ["effective_inertia", "varying_inertia"]

_AT_ONCE = 256
"""Freedoms solved for together; each takes a row as long as all freedoms."""

_EXAMPLES = 3


def effective_inertia(
    target: mujoco.MjModel, qpos: NDArray[np.float64], dofs: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the effort per acceleration of some freedoms while all others are free to move ``(n,)`` [kg or kg·m²].

    It is the inverse of the diagonal of the inverse mass matrix.

    Args:
        target: MuJoCo's model.
        qpos: Where it is.
        dofs: MuJoCo's degrees of freedom ``(n,)``.
    """
    data = mujoco.MjData(target)
    data.qpos[:] = qpos
    for derive in (
        mujoco.mj_kinematics, mujoco.mj_comPos, mujoco.mj_tendon, mujoco.mj_makeM, mujoco.mj_factorM
    ):  # fmt: skip
        derive(target, data)
    found = np.ones(len(dofs))
    for start in range(0, len(dofs), _AT_ONCE):
        part = dofs[start : start + _AT_ONCE]
        effort = np.zeros((len(part), target.nv))
        effort[np.arange(len(part)), part] = 1.0
        response = np.zeros_like(effort)
        mujoco.mj_solveM(target, data, response, effort)
        own = response[np.arange(len(part)), part]
        np.divide(1.0, own, out=found[start : start + len(part)], where=own > 0)
    return found


def varying_inertia(model: Any, layout: Layout, dofs: NDArray[np.int64]) -> list[Unsupported]:
    """Return an entry where acceleration drives are in trees of several freedoms: there the inertia changes.

    Args:
        model: The model.
        layout: Its tree.
        dofs: Driven degrees of freedom of the model.
    """
    flagged = np.unique(dofs[host(model, "joint_drive_acceleration")[dofs].astype(bool)])
    if len(flagged) == 0:
        return []
    starts = host(model, "joint_qd_start").astype(np.int64)
    child = host(model, "joint_child").astype(np.int64)
    held = layout.holder >= 0
    sizes = np.where(held, np.diff(starts)[layout.holder], 6)
    freedoms = np.bincount(layout.root, weights=sizes, minlength=model.body_count)
    joints = np.unique(np.searchsorted(starts, flagged, side="right") - 1)
    joints = joints[freedoms[layout.root[child[joints]]] > 1]
    if len(joints) == 0:
        return []
    names = tuple(name_of(model, "joint", int(row)) for row in joints[:_EXAMPLES])
    message = "gains keep to the inertia that the joints have at the start"
    return [Unsupported("acceleration drives", len(joints), message, names)]
