"""Stiffness and damping into MuJoCo's (time constant, damping ratio) pairs, ``solref``.

MuJoCo's reference acceleration is ``-b v - k r`` with ``b = 2 / (dmax timeconst)`` and ``k = d / (dmax timeconst
dampratio)²`` (MuJoCo documentation, Computation, "Reference"). With the impedance factors left out this is
``b = 2 / timeconst`` and ``k = 1 / (timeconst dampratio)²``, whose inverse is used here.
"""

from __future__ import annotations

import numpy as np

__all__ = ["DEFAULT_SOLREF", "HARD_SOLREF", "contact_solref", "limit_solref", "solref"]

DEFAULT_SOLREF = (0.02, 1.0)
"""MuJoCo's own pair, used where gains leave the choice to the solver."""

HARD_SOLREF = (1.0e-4, 1.0)
"""As hard as the step allows: MuJoCo raises the time constant to twice the step."""


def solref(stiffness: np.ndarray, damping: np.ndarray) -> np.ndarray:
    """Return (time constant, damping ratio) of reference accelerations, ``(n, 2)``.

    Args:
        stiffness: Acceleration per displacement [1/s²], ``(n,)``; where it is not above 0 the default pair results,
            where it is infinite the hard one.
        damping: Acceleration per velocity [1/s], ``(n,)``; where it is not above 0, damping is critical.
    """
    k, b = np.asarray(stiffness, np.float64), np.asarray(damping, np.float64)
    hard = np.isinf(k)
    soft = (k > 0) & ~hard
    root = np.sqrt(np.where(soft, k, 1.0))
    b = np.where((b > 0) & np.isfinite(b), b, 2.0 * root)
    pairs = np.stack([2.0 / b, b / (2.0 * root)], axis=-1)
    pairs[~soft] = DEFAULT_SOLREF
    pairs[hard] = HARD_SOLREF
    return pairs


def contact_solref(ke: np.ndarray, kd: np.ndarray) -> np.ndarray:
    """Return ``solref`` of shapes from contact gains taken at unit effective mass, ``(n, 2)``.

    MuJoCo averages the pairs of two geoms, so the masses of a contact are not known here. Where either gain is not
    above 0 the default pair results.

    Args:
        ke: Stiffness [N/m], ``(n,)``.
        kd: Damping [N·s/m], ``(n,)``.
    """
    return solref(np.where(np.asarray(kd) > 0, ke, 0.0), kd)


def limit_solref(ke: np.ndarray, kd: np.ndarray, invweight: np.ndarray, dmax: np.ndarray) -> np.ndarray:
    """Return ``solref`` of joint limits from force-space gains, ``(n, 2)``.

    A constraint with impedance dmax and inverse weight w gives the force ``a / (w (1 - dmax))`` for the reference
    acceleration a, so gains are multiplied by ``w (1 - dmax)`` first.

    Args:
        ke: Stiffness [N/m or N·m/rad], ``(n,)``; 0 leaves the choice to MuJoCo, infinite is as hard as the step allows.
        kd: Damping [N·s/m or N·m·s/rad], ``(n,)``; 0 is critical.
        invweight: ``dof_invweight0`` of the degrees of freedom [1/kg or 1/(kg·m²)], ``(n,)``.
        dmax: Largest impedance, ``solimp[1]``, ``(n,)``.
    """
    factor = invweight * (1.0 - dmax)
    with np.errstate(invalid="ignore"):
        return solref(np.where(factor > 0, ke * factor, 0.0), kd * factor)
