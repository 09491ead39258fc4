"""What the MuJoCo schemas say about scenes, joints and colliders, as solver settings and fields of the model."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from pxr import UsdPhysics

from usd_sim.geometry import transforms as tf
from usd_sim.geometry.inertia import principal_axes
from usd_sim.stage.dialects.mjc import DISABLE_FLAGS, ENABLE_FLAGS, SCENE_OPTIONS
from usd_sim.stage.read.scan import Scan

__all__ = [
    "Compiler",
    "MassOptions",
    "dof_fields",
    "equality_fields",
    "limits",
    "padded",
    "scene_options",
    "shape_fields",
    "spring_rest",
]

_BY_OVERRIDE = {"override_friction", "override_margin", "override_solimp", "override_solref"}
_MESH_INERTIA = {"convex": 0, "exact": 1, "legacy": 2, "shell": 3}
_INVERTED = {"disable_contacts"}


class Compiler:
    """Options of MuJoCo's compiler that change the result, from the first scene that has them.

    Args:
        scan: What was found on the stage.

    Attributes:
        path: Prim of the scene; empty where none has MjcSceneAPI.
        auto_limits: Ranges limit without a word of their own.
        angle: Factor from the unit of ``mjc:ref`` to radians.
    """

    def __init__(self, scan: Scan):
        scenes = [path for path, _ in scan.found(UsdPhysics.ObjectType.Scene) if scan.has(path, "MjcSceneAPI")]
        self.scan, self.path = scan, scenes[0] if scenes else ""
        self.auto_limits = bool(self.option("autoLimits", True))
        self.angle = 1.0 if self.option("angle", "degree") == "radian" else math.radians(1.0)

    def option(self, name: str, fallback: Any) -> Any:
        """Return an option by its name without ``mjc:compiler:``."""
        return self.scan.value(self.path, f"mjc:compiler:{name}", fallback)


class MassOptions(Compiler):
    """Options of MuJoCo's compiler that change masses."""

    def left_out(self, paths: list[str]) -> np.ndarray:
        """Return which colliders are outside of the groups that give bodies their mass (n,)."""
        low, high = (int(self.option(f"inertiaGroupRange:{end}", value)) for end, value in (("min", 0), ("max", 5)))
        if not self.path or (low, high) == (0, 5):
            return np.zeros(len(paths), dtype=bool)
        groups = np.array([int(self.scan.value(path, "mjc:group", 0)) for path in paths], dtype=int)
        return (groups < low) | (groups > high)

    def report(self, bodies: list[str]) -> None:
        """Say where ``inertiaFromGeom`` is not followed: converters write what it led to on the bodies."""
        source = str(self.option("inertiaFromGeom", "auto"))
        stated = [path for path in bodies if self.scan.value(path, "physics:mass", 0.0) > 0]
        if source == "true" and stated:
            message = f"masses that bodies state count all the same: {stated[0]}"
        elif source == "false" and len(stated) < len(bodies):
            message = "bodies that state no mass have that of their colliders all the same"
        else:
            return
        self.scan.report.approximate(self.path, message, property="mjc:compiler:inertiaFromGeom")

    def apply(self, mass: np.ndarray, inertia: np.ndarray) -> None:
        """Bound masses (n,) and inertias (n, 3, 3) from below, and balance those that no body can have."""
        least = float(self.scan.units.to_si(float(self.option("boundMass", 0.0)), "kg"))
        bound = float(self.scan.units.to_si(float(self.option("boundInertia", 0.0)), "kg·m²"))
        balance = bool(self.option("balanceInertia", False))
        if least > 0:
            np.maximum(mass, least, out=mass)
        if not len(mass) or not (bound > 0 or balance):
            return
        moments, axes = principal_axes(inertia)
        moments = np.maximum(moments, bound)
        if balance:
            impossible = 2.0 * moments.max(axis=1) > moments.sum(axis=1)
            moments[impossible] = moments[impossible].mean(axis=1, keepdims=True)
        rotation = tf.quat_to_matrix(axes)
        inertia[:] = rotation @ (moments[:, :, None] * rotation.transpose(0, 2, 1))

    def total_factor(self, total: float) -> float:
        """Return what all masses, which add up to a total [kg], are multiplied by for ``setTotalMass``, else 1."""
        wanted = float(self.option("setTotalMass", -1.0))
        return float(self.scan.units.to_si(wanted, "kg") / total) if wanted > 0 and total > 0 else 1.0


def scene_options(scan: Scan, path: str) -> dict[str, Any]:
    """Return the settings of SolverMuJoCo that a scene with MjcSceneAPI asks for, what it leaves open included."""
    if not scan.has(path, "MjcSceneAPI"):
        return {}
    options: dict[str, Any] = {"integrator": "euler", "filter_parent": True}
    override = bool(scan.value(path, "mjc:flag:override", False))
    for name, (setting, dimension, _) in SCENE_OPTIONS.items():
        value = scan.value(path, name)
        if value is None or (setting in _BY_OVERRIDE and not override):
            continue
        if setting == "disabled_actuator_groups":
            value = [int(group) for group in value]
        options[setting] = (not value) if setting in _INVERTED else _plain(scan, value, dimension)
    off = tuple(name for name in DISABLE_FLAGS if not scan.value(path, f"mjc:flag:{name}", True))
    on = tuple(name for name in ENABLE_FLAGS if scan.value(path, f"mjc:flag:{name}", False))
    return options | ({"disable": off} if off else {}) | ({"enable": on} if on else {})


def _plain(scan: Scan, value: Any, dimension: str) -> Any:
    """Return a value of USD as one of Python, in SI."""
    if isinstance(value, (bool, str, int)):
        return value
    if isinstance(value, float):
        return float(scan.units.to_si(value, dimension))
    return tuple(scan.units.to_si(np.array(value), dimension).tolist())


# --- joints ---------------------------------------------------------------------------------------------------------


def reference(scan: Scan, path: str, name: str, angular: bool) -> float:
    """Return ``mjc:ref`` or ``mjc:springref`` [m or rad]."""
    value = float(scan.value(path, name, 0.0))
    return value * Compiler(scan).angle if angular and value else float(scan.units.to_si(value, "m"))


def spring_rest(scan: Scan, path: str, angular: bool) -> float:
    """Return the joint coordinate at which a joint's spring rests [m or rad]; MuJoCo's own counts from ``mjc:ref``."""
    if not scan.has(path, "MjcJointAPI"):
        return 0.0
    return reference(scan, path, "mjc:springref", angular) - reference(scan, path, "mjc:ref", angular)


def dof_fields(scan: Scan, path: str, angular: bool) -> dict[str, Any]:
    """Return fields of the ``mujoco`` namespace for the freedoms of a joint: those that its prim states."""
    if not scan.has(path, "MjcJointAPI"):
        return {}
    values: dict[str, Any] = {}
    for name in ("solreflimit", "solimplimit", "solreffriction", "solimpfriction", "springdamper"):
        row = padded(scan, path, f"mjc:{name}", 2 if "solref" in name or name == "springdamper" else 5)
        if row is not None:
            values[f"mujoco:{name}"] = row
    ref = reference(scan, path, "mjc:ref", angular)
    if ref:
        values["mujoco:ref"] = ref
    margin = scan.number(path, ("mjc:margin",), angular=angular)
    if margin:
        values["mujoco:limit_margin"] = margin
    bounds = limits(scan, path, "mjc:actuatorfrclimited", "mjc:actuatorfrcrange", "N·m" if angular else "N")
    if bounds is not None:
        values["mujoco:actuatorfrcrange"] = bounds
    if scan.value(path, "mjc:actuatorgravcomp", False):
        values["mujoco:actuatorgravcomp"] = True
    return values


def equality_fields(scan: Scan, path: str) -> dict[str, Any]:
    """Return fields of the ``mujoco`` namespace for a joint that is an equality: a loop or a mimic."""
    if not (scan.has(path, "MjcEqualityAPI") or scan.has(path, "MjcEqualityJointAPI")):
        return {}
    values: dict[str, Any] = {}
    for name, count in (("solref", 2), ("solimp", 5)):
        row = padded(scan, path, f"mjc:{name}", count)
        if row is not None:
            values[f"mujoco:equality_{name}"] = row
    scale = scan.value(path, "mjc:torqueScale")
    if scale is not None:
        values["mujoco:equality_torquescale"] = float(scale)
    higher = [float(scan.value(path, f"mjc:coef{i}", 0.0)) for i in (2, 3, 4)]
    if any(higher):
        values["mujoco:mimic_polycoef"] = higher
    return values


def limits(scan: Scan, path: str, flag: str, name: str, dimension: str = "") -> tuple[float, float] | None:
    """Return a range that limits, or None; without a word of its own a range limits where it has a width.

    Args:
        scan: What was found on the stage.
        path: Prim.
        flag: Property that is "true", "false" or "auto".
        name: Range, without ``:min`` and ``:max``.
        dimension: Its dimension.
    """
    lower, upper = (float(scan.value(path, f"{name}:{end}", 0.0)) for end in ("min", "max"))
    said = str(scan.value(path, flag, "auto"))
    limited = said == "true" or (said == "auto" and lower < upper and Compiler(scan).auto_limits)
    return tuple(scan.units.to_si(np.array([lower, upper]), dimension).tolist()) if limited else None


def padded(scan: Scan, path: str, name: str, count: int) -> list[float] | None:
    """Return an authored list of numbers at the length that MuJoCo has, or None.

    What it lacks are MuJoCo's defaults.
    """
    value = scan.value(path, name)
    if value is None:
        return None
    row = [float(number) for number in value][:count]
    if len(row) != len(value):
        scan.report.approximate(path, f"has more than {count} numbers; the rest is left out", property=name)
    default = {2: (0.02, 1.0), 5: (0.9, 0.95, 0.001, 0.5, 2.0)}.get(count, (0.0,) * count)
    return row + list(default[len(row) :])


# --- colliders ------------------------------------------------------------------------------------------------------


def shape_fields(scan: Scan, paths: list[str]) -> dict[str, np.ndarray]:
    """Return fields of the ``mujoco`` namespace for colliders; none where no collider has MjcCollisionAPI."""
    rows = [i for i, path in enumerate(paths) if scan.has(path, "MjcCollisionAPI")]
    if not rows:
        return {}
    count = len(paths)
    condim, priority = np.zeros(count, dtype=int), np.zeros(count, dtype=int)
    solmix, solref = np.ones(count), np.full((count, 2), -np.inf)
    solimp = np.tile([0.9, 0.95, 0.001, 0.5, 2.0], (count, 1))
    for i in rows:
        path = paths[i]
        condim[i] = _condim(scan, path)
        priority[i] = int(scan.value(path, "mjc:priority", 0))
        solmix[i] = float(scan.value(path, "mjc:solmix", 1.0))
        for column, name in ((solref, "mjc:solref"), (solimp, "mjc:solimp")):
            row = padded(scan, path, name, column.shape[1])
            if row is not None:
                column[i] = row
    meshes = np.array([_MESH_INERTIA.get(str(scan.value(path, "mjc:inertia", "")), -1) for path in paths])
    return {
        **({"mujoco:mesh_inertia": meshes} if (meshes >= 0).any() else {}),
        "mujoco:condim": condim,
        "mujoco:priority": priority,
        "mujoco:solmix": solmix,
        "mujoco:solref": solref,
        "mujoco:solimp": solimp,
    }


def _condim(scan: Scan, path: str) -> int:
    value = int(scan.value(path, "mjc:condim", 3))
    if value in (1, 3, 4, 6):
        return value
    scan.report.error(path, f"is {value}", property="mjc:condim", remedy="author 1, 3, 4 or 6")
    return 3
