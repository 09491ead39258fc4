"""What MuJoCo makes of modes in which the friction of two materials combines: always the larger counts."""

from __future__ import annotations

from typing import Any

import numpy as np

from usd_sim.model.types import CombineMode, ShapeFlags
from usd_sim.solvers.base import Unsupported, host, name_of

__all__ = ["combine_modes_lost"]

_EXAMPLES = 3


def combine_modes_lost(model: Any) -> list[Unsupported]:
    """Return an entry where shapes ask for another mode than the larger value and it makes a difference.

    Where all colliders have the same coefficient, average and minimum give the same as the maximum; products do where
    it is 0 or 1.
    """
    collides = (host(model, "shape_flags") & ShapeFlags.COLLIDE_SHAPES) != 0
    mode = host(model, "shape_material_friction_combine")
    friction = host(model, "shape_material_mu")[collides]
    other = collides & (mode >= 0) & (mode != CombineMode.MAX)
    if len(friction) and np.all(friction == friction[0]):
        other &= (mode == CombineMode.MULTIPLY) & (friction[0] not in (0.0, 1.0))
    rows = np.flatnonzero(other)
    if len(rows) == 0:
        return []
    names = tuple(name_of(model, "shape", int(row)) for row in rows[:_EXAMPLES])
    return [Unsupported("friction combine mode", len(rows), "friction combines by the larger value", names)]
