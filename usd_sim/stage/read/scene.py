"""The physics scene: gravity, rate, and which solver is asked for."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from pxr import UsdPhysics

from usd_sim.stage.read.scan import Scan

__all__ = ["DEFAULT_STEPS_PER_SECOND", "SceneSpec", "read_scene"]

DEFAULT_STEPS_PER_SECOND = 500.0
"""Rate where the stage states none [1/s]."""

_SOLVERS = {
    "NewtonXpbdSceneAPI": "xpbd",
    "NewtonKaminoSceneAPI": "kamino",
    "NewtonVbdSceneAPI": "vbd",
    "NewtonMPMSceneAPI": "mpm",
}


@dataclass
class SceneSpec:
    """What a stage says about the simulation as a whole.

    Attributes:
        path: Prim of the scene; empty where the stage has none.
        gravity: (3,) [m/s²].
        steps_per_second: Simulation rate [1/s].
        solver: Solver that the scene's API schema names; empty for none.
        others: Further scenes of the stage.
        options: Solver settings by name.
    """

    path: str
    gravity: np.ndarray
    steps_per_second: float
    solver: str = ""
    others: list[str] = field(default_factory=list)
    options: dict[str, Any] = field(default_factory=dict)


def read_scene(scan: Scan) -> SceneSpec:
    """Read the first scene of the stage, or the defaults."""
    scenes = scan.found(UsdPhysics.ObjectType.Scene)
    if not scenes:
        return SceneSpec("", -9.81 * scan.units.up, DEFAULT_STEPS_PER_SECOND)
    path, item = scenes[0]
    for other, _ in scenes[1:]:
        scan.report.ignore(other, f"only one scene is simulated yet: {path}")
    gravity = _gravity(scan, path, item)
    spec = SceneSpec(path, gravity, _rate(scan, path), others=[other for other, _ in scenes[1:]])
    spec.solver = next((name for schema, name in _SOLVERS.items() if scan.has(path, schema)), "")
    iterations = scan.value(path, "newton:maxSolverIterations", -1)
    if iterations > 0:
        spec.options["iterations"] = int(iterations)
    return spec


def _gravity(scan: Scan, path: str, item: Any) -> np.ndarray:
    if not scan.value(path, "newton:gravityEnabled", True):
        return np.zeros(3)
    direction = np.array(item.gravityDirection, dtype=float)
    length = np.linalg.norm(direction)
    direction = direction / length if length > 0 else -scan.units.up
    magnitude = float(item.gravityMagnitude)
    if not np.isfinite(magnitude) or magnitude < 0:
        magnitude = 9.81 / scan.units.meters_per_unit
    return scan.units.to_si(direction * magnitude, "m/s²")


def _rate(scan: Scan, path: str) -> float:
    rate = scan.value(path, "newton:timeStepsPerSecond")
    if rate is None:
        return _foreign_rate(scan, path)
    if rate <= 0:
        scan.report.error(path, f"is {rate}", property="newton:timeStepsPerSecond", remedy="author a positive rate")
        return DEFAULT_STEPS_PER_SECOND
    return float(rate)


def _foreign_rate(scan: Scan, path: str) -> float:
    """Return the rate that MuJoCo's or PhysX's scene attributes state, else that of NewtonSceneAPI.

    Else the default.
    """
    timestep = scan.value(path, "mjc:option:timestep")
    if timestep is not None and timestep > 0:
        return 1.0 / float(timestep)
    rate = scan.value(path, "physxScene:timeStepsPerSecond")
    if rate is not None and rate > 0:
        return float(rate)
    if scan.has(path, "MjcSceneAPI"):
        return 500.0
    return 1000.0 if scan.has(path, "NewtonSceneAPI") else DEFAULT_STEPS_PER_SECOND
