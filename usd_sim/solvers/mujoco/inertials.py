"""Masses and inertias that MuJoCo accepts."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from usd_sim.errors import UsdSimError, UsdSimWarning
from usd_sim.geometry import transforms as tf
from usd_sim.solvers.base import host, name_of
from usd_sim.solvers.mujoco.layout import Layout

__all__ = ["Inertials", "inertials", "typical_mass"]

Array = NDArray[np.float64]

_LEAST = 1.0e-15
"""MuJoCo refuses moving bodies whose mass or inertia is below this."""

_NOTICEABLE = 1.0e-3
"""Relative violation of the triangle inequality of moments above which a body is named; smaller ones are rounding."""

_THINNEST = 1.0e-6
"""Smallest moment as a fraction of the largest."""

_POINT_DENSITY = 1000.0
"""Density of the ball that stands for a point mass [kg/m³]."""


@dataclass(frozen=True)
class Inertials:
    """Mass properties per body.

    Attributes:
        mass: Masses ``(n,)`` [kg].
        com: Centres of mass in the body frames ``(n, 3)`` [m].
        rotation: Principal axes in the body frames, xyzw ``(n, 4)``.
        moments: Principal moments ``(n, 3)`` [kg·m²].
    """

    mass: Array
    com: Array
    rotation: Array
    moments: Array


def inertials(model: Any, layout: Layout) -> Inertials:
    """Return mass properties that MuJoCo accepts, and warn where they had to be changed.

    Kinematic bodies get the mean mass of the others, which changes nothing. A point mass becomes a ball of the density
    of water. Moments that no body can have (one above the sum of the others) are raised alike by the smallest amount
    that mends them.

    Raises:
        UsdSimError: A body that moves has no mass.
    """
    mass = host(model, "body_mass").astype(np.float64)
    tensor = host(model, "body_inertia").astype(np.float64).reshape(-1, 3, 3)
    com = host(model, "body_com").astype(np.float64)
    moments, axes = np.linalg.eigh(0.5 * (tensor + tensor.transpose(0, 2, 1)))
    axes[np.linalg.det(axes) < 0, :, 2] *= -1.0
    diagonal = np.abs(tensor - np.einsum("nii->ni", tensor)[:, :, None] * np.eye(3)).max(axis=(1, 2), initial=0.0) == 0
    axes[diagonal] = np.eye(3)
    moments[diagonal] = np.einsum("nii->ni", tensor)[diagonal]
    # prescribed motion takes no part in dynamics: a mass like that of the others, and no gyroscopic torque
    typical = typical_mass(mass, layout)
    mass[layout.is_kinematic], moments[layout.is_kinematic] = typical, typical
    _refuse_massless(model, layout, mass)
    point = (mass >= _LEAST) & (moments.max(axis=1, initial=-np.inf) < _LEAST) & ~layout.is_static
    if point.any():
        radius = np.cbrt(0.75 * mass[point] / (np.pi * _POINT_DENSITY))
        moments[point] = (0.4 * mass[point] * radius**2)[:, None]
        _tell(model, point, "have mass but no inertia and are taken as balls of the density of water")
    largest = moments.max(axis=1, initial=-np.inf)
    excess = np.maximum(2.0 * largest - moments.sum(axis=1), np.maximum(-moments.min(axis=1, initial=np.inf), 0.0))
    _tell(
        model, excess > _NOTICEABLE * np.abs(largest), "have moments of inertia that no body can have, which are raised"
    )
    # a thin rod has no moment about its axis; MuJoCo wants some
    moments = np.maximum(moments, (_THINNEST * largest)[:, None])
    # a little more than needed, so that rounding in the compiler cannot undo it
    broken = excess > 0
    moments[broken] += (excess * (1.0 + 1.0e-6) + 1.0e-9 * np.abs(largest))[broken, None]
    return Inertials(mass, com, tf.quat_from_matrix(axes), moments)


def typical_mass(mass: Array, layout: Layout) -> float:
    """Return the mean mass of the bodies that move by forces [kg]; 1 where none does."""
    dynamic = mass[~layout.is_static & ~layout.is_kinematic]
    return float(dynamic.mean()) if dynamic.sum() > 0 else 1.0


def _refuse_massless(model: Any, layout: Layout, mass: Array) -> None:
    """Raise for the first body that moves and carries no mass, its own or that of bodies fixed to it."""
    carried = mass.copy()
    moves = np.ones(len(mass), bool)
    joint_dofs = host(model, "joint_dof_dim").reshape(-1, 2).sum(axis=1)
    held = layout.holder >= 0
    moves[held] = joint_dofs[layout.holder[held]] > 0
    for body in layout.order[::-1][~moves[layout.order[::-1]]].tolist():
        if layout.parent[body] >= 0:
            carried[layout.parent[body]] += carried[body]
    massless = np.flatnonzero(moves & (carried < _LEAST))
    if len(massless):
        more = f"; {len(massless)} bodies in all" if len(massless) > 1 else ""
        raise UsdSimError(
            f"the body moves but has no mass{more}",
            prim=name_of(model, "body", int(massless[0])),
            remedy="give it a mass, or a collider with a density above 0",
        )


def _tell(model: Any, which: NDArray[np.bool_], message: str) -> None:
    rows = np.flatnonzero(which)
    if len(rows):
        examples = ", ".join(name_of(model, "body", int(row)) for row in rows[:3])
        more = f" and {len(rows) - 3} more" if len(rows) > 3 else ""
        warnings.warn(f"SolverMuJoCo: bodies {message}: {examples}{more}", UsdSimWarning, stacklevel=2)
