"""The physics scene: gravity, rate, and which solver is asked for."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from pxr import UsdPhysics

from usd_sim.errors import UsdSimError
from usd_sim.stage.read.mujoco import scene_options
from usd_sim.stage.read.scan import Scan

__all__ = ["DEFAULT_STEPS_PER_SECOND", "SceneSpec", "read_scene", "scene_gravity", "steps_per_second"]

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
        others: Further scenes of the stage, whether simulated or not.
        options: Solver settings by name.
        motion: What the stage authors over time, a :class:`usd_sim.stage.motion.Motion`; None before that is read.
    """

    path: str
    gravity: np.ndarray
    steps_per_second: float
    solver: str = ""
    others: list[str] = field(default_factory=list)
    options: dict[str, Any] = field(default_factory=dict)
    motion: Any = None


def read_scene(scan: Scan, picked: str | None = None) -> SceneSpec:
    """Read the first scene of the stage, or the one that is picked; the defaults where there is none.

    Raises:
        UsdSimError: The picked prim is no scene.
    """
    scenes = [path for path, _ in scan.found(UsdPhysics.ObjectType.Scene)]
    if picked is not None and picked not in scenes:
        known = f"name one of {', '.join(scenes)}" if scenes else "the stage has none"
        raise UsdSimError("is not a physics scene", prim=picked, remedy=known)
    if not scenes:
        return SceneSpec("", -9.81 * scan.units.up, DEFAULT_STEPS_PER_SECOND)
    path = picked or scenes[0]
    others = [other for other in scenes if other != path]
    spec = SceneSpec(path, scene_gravity(scan, path), steps_per_second(scan, path), others=others)
    spec.solver = next((name for schema, name in _SOLVERS.items() if scan.has(path, schema)), "")
    if spec.solver == "":
        spec.options.update(scene_options(scan, path))
    iterations = scan.number(path, ("newton:maxSolverIterations", "mjc:option:iterations"), -1.0)
    if iterations > 0:
        spec.options["iterations"] = int(iterations)
    return spec


def scene_gravity(scan: Scan, path: str) -> np.ndarray:
    """Return the gravity of a scene (3,) [m/s²]."""
    if not scan.value(path, scan.first(path, ("newton:gravityEnabled", "mjc:flag:gravity")), True):
        return np.zeros(3)
    direction = np.array(scan.value(path, "physics:gravityDirection", (0.0, 0.0, 0.0)), dtype=float)
    length = np.linalg.norm(direction)
    direction = direction / length if length > 0 else -scan.units.up
    magnitude = float(scan.value(path, "physics:gravityMagnitude", -np.inf))
    if not np.isfinite(magnitude) or magnitude < 0:
        magnitude = 9.81 / scan.units.meters_per_unit
    return scan.units.to_si(direction * magnitude, "m/s²")


def steps_per_second(scan: Scan, path: str) -> float:
    """Return the rate that a scene asks for [1/s]."""
    """Return the rate that a scene states, else that of the schemas it has, else the default."""
    name = scan.first(path, ("newton:timeStepsPerSecond", "mjc:option:timestep", "physxScene:timeStepsPerSecond"))
    if name:
        value = float(scan.value(path, name))
        if value > 0:
            return 1.0 / value if name == "mjc:option:timestep" else value
        scan.report.error(path, f"is {value:g}", property=name, remedy="author a positive number")
        return DEFAULT_STEPS_PER_SECOND
    if scan.has(path, "MjcSceneAPI"):
        return 500.0
    return 1000.0 if scan.has(path, "NewtonSceneAPI") else DEFAULT_STEPS_PER_SECOND
