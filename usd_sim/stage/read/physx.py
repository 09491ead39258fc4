"""What PhysxRigidBodyAPI says about bodies: no gravity, and damping."""

from __future__ import annotations

from typing import Any

import numpy as np

from usd_sim.stage.read.scan import Scan

__all__ = ["body_fields"]


def body_fields(scan: Scan, paths: list[str], gravity: Any, added: Any = None) -> dict[str, np.ndarray]:
    """Return the fields of bodies that some of them state.

    Args:
        scan: What was found on the stage.
        paths: Prim of each body (n,).
        gravity: Gravity of the model (3,) [m/s²].
        added: What bodies add to it already (n, 3) [m/s²]; nothing where None.
    """
    values = {}
    without = scan.column(paths, "physxRigidBody:disableGravity", False) > 0
    if without.any():
        total = np.zeros((len(paths), 3)) if added is None else np.array(added, dtype=float)
        total[without] = -np.asarray(gravity, dtype=float)
        values["body_gravity"] = total
    for kind in ("linear", "angular"):
        name = f"physxRigidBody:{kind}Damping"
        rate = scan.column(paths, name, 0.0)
        for i in np.flatnonzero(rate < 0):
            scan.report.ignore(paths[i], "a negative damping would push", property=name, remedy="author 0 or more")
        if (rate > 0).any():
            values[f"body_{kind}_damping"] = np.maximum(rate, 0.0)
    return values
