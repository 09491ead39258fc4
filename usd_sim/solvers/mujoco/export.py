"""MJCF files of compiled models."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import mujoco

from usd_sim.errors import UsdSimError
from usd_sim.solvers.mujoco.properties import PropertyMap

__all__ = ["save_mjcf"]


def save_mjcf(spec: Any, model: mujoco.MjModel, properties: PropertyMap, path: Path) -> Path:
    """Write a compiled model as MJCF.

    Args:
        spec: The MjSpec that it was compiled from; the numbers written since are folded into it.
        model: The compiled model.
        properties: Where the numbers are.
        path: File to write.

    Raises:
        UsdSimError: The file cannot be written.
    """
    spec.copy_back(model)
    # MuJoCo copies most real numbers back, but no switches
    for geom in spec.geoms:
        geom.condim = int(model.geom_condim[geom.id])
    for joint in spec.joints:
        joint.limited = int(model.jnt_limited[joint.id])
        joint.actfrclimited = int(model.jnt_actfrclimited[joint.id])
        joint.range = model.jnt_range[joint.id]
        joint.actfrcrange = model.jnt_actfrcrange[joint.id]
    for actuator in spec.actuators:
        actuator.forcelimited = int(model.actuator_forcelimited[actuator.id])
        actuator.forcerange = model.actuator_forcerange[actuator.id]
    try:
        path.write_text(spec.to_xml())
    except OSError as error:
        raise UsdSimError(f"cannot write the file: {error.strerror}", prim=str(path)) from error
    return path
