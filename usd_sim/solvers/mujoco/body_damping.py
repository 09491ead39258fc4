"""Damping of bodies by their own speed, as damping of MuJoCo's free joints."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from usd_sim.solvers.base import Unsupported, host, name_of
from usd_sim.solvers.mujoco.layout import Layout
from usd_sim.solvers.mujoco.natives import optional

__all__ = ["free_damping", "lost_damping"]

_CENTRED = 1.0e-5
"""Distance of the centre of mass from the origin [m] below which it counts as there; single precision leaves 1e-7."""

_ALIGNED = 1.0e-4
"""Products of inertia as a fraction of the trace below which the inertia counts as diagonal; the same."""

_EXAMPLES = 3


def _rates(model: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    """Return linear and angular damping of each body ``(body_count,)`` [1/s], or None where none has any."""
    rates = [optional(model, f"body_{kind}_damping") for kind in ("linear", "angular")]
    if all(rate is None or not rate.any() for rate in rates):
        return None
    none = np.zeros(model.body_count)
    linear, angular = (none if rate is None else rate.astype(np.float64) for rate in rates)
    return linear, angular


def _fits(model: Any, layout: Layout) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return whose linear and whose angular damping a free joint's own damping is ``(body_count,)`` each.

    The freedoms of a free joint are the velocity of the origin in the world and the angular velocity in the body.
    """
    centred = np.abs(host(model, "body_com")).max(axis=1) < _CENTRED
    inertia = np.abs(host(model, "body_inertia"))
    trace = np.trace(inertia, axis1=1, axis2=2)
    aligned = inertia.sum(axis=(1, 2)) - trace <= _ALIGNED * trace
    free = layout.is_free & ~layout.is_kinematic
    return free & centred, free & aligned


def free_damping(model: Any, layout: Layout) -> NDArray[np.float64] | None:
    """Return the damping of the freedoms of free bodies ``(body_count, 6)``, or None where no body is damped."""
    rates = _rates(model)
    if rates is None:
        return None
    fits = _fits(model, layout)
    linear, angular = (np.where(fit, rate, 0.0) for fit, rate in zip(fits, rates, strict=True))
    moments = np.diagonal(host(model, "body_inertia"), axis1=1, axis2=2)
    force = np.repeat((linear * host(model, "body_mass"))[:, None], 3, axis=1)
    return np.concatenate([force, angular[:, None] * moments], axis=1)


def lost_damping(model: Any, layout: Layout) -> list[Unsupported]:
    """Return an entry where bodies ask for a damping that no free joint can give."""
    rates = _rates(model)
    if rates is None:
        return []
    moves = ~(layout.is_static | layout.is_kinematic)
    lost = [moves & (rate > 0) & ~fit for fit, rate in zip(_fits(model, layout), rates, strict=True)]
    rows = np.flatnonzero(lost[0] | lost[1])
    if len(rows) == 0:
        return []
    names = tuple(name_of(model, "body", int(row)) for row in rows[:_EXAMPLES])
    message = "left out of bodies that joints hold, whose centre of mass is off their origin, or whose axes are turned"
    return [Unsupported("body damping", len(rows), message, names)]
