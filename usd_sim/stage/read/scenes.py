"""Which scene each body and collider belongs to, by ``physics:simulationOwner``.

The first scene owns what names none. Scenes share the space but nothing else: shapes of different scenes do not meet,
static colliders without an owner meet all, and each scene has its gravity.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from pxr import UsdPhysics

from usd_sim.stage.read.bodies import BodySpecs
from usd_sim.stage.read.joints import JointSpec
from usd_sim.stage.read.scan import Scan
from usd_sim.stage.read.scene import SceneSpec, scene_gravity, steps_per_second
from usd_sim.stage.read.shapes import SHAPE_OBJECTS, ShapeSpecs

__all__ = ["SceneRows", "assign_scenes", "leave_out_others"]

_OWNER = "physics:simulationOwner"

_FOR_ALL = -1
"""Collision group of static colliders that belong to no scene; those of scenes count from 1."""


@dataclass
class SceneRows:
    """Columns that differ where there are several scenes.

    Attributes:
        body: Fields of the bodies; empty where all are alike.
        shape: Fields of the shapes; empty where all are alike.
    """

    body: dict[str, Any] = field(default_factory=dict)
    shape: dict[str, Any] = field(default_factory=dict)


def _owner(scan: Scan, path: str, item: Any, scenes: list[str]) -> str:
    """Return the scene that an object names, "" for none."""
    named = [str(owner) for owner in item.simulationOwners]
    found = [owner for owner in named if owner in scenes]
    if named and not found:
        scan.report.approximate(path, f"{named[0]} is no scene; the first scene owns it", property=_OWNER)
    return found[0] if found else ""


def _scenes(scan: Scan) -> list[str]:
    return [path for path, _ in scan.found(UsdPhysics.ObjectType.Scene)]


def leave_out_others(scan: Scan, scene: SceneSpec) -> None:
    """Leave out what belongs to other scenes than the one that is picked.

    Args:
        scan: What was found on the stage; objects that are left out are noted there.
        scene: The picked scene.
    """
    scenes = _scenes(scan)
    for path, item in scan.found(UsdPhysics.ObjectType.RigidBody):
        owner = _owner(scan, path, item, scenes) or scenes[0]
        if owner != scene.path:
            scan.left_out.add(path)
            scan.report.ignore(path, f"belongs to scene {owner}, which is not picked")
    for path, item in scan.found(*SHAPE_OBJECTS):
        owner = _owner(scan, path, item, scenes)
        if str(item.rigidBody) in scan.left_out:
            scan.left_out.add(path)
        elif not str(item.rigidBody) and owner not in ("", scene.path):
            scan.left_out.add(path)
            scan.report.ignore(path, f"belongs to scene {owner}, which is not picked")
    for other in scenes:
        if other != scene.path:
            scan.report.ignore(other, f"only scene {scene.path} is picked")


def assign_scenes(
    scan: Scan, scene: SceneSpec, bodies: BodySpecs, shapes: ShapeSpecs, joints: list[JointSpec]
) -> tuple[SceneRows, list[JointSpec]]:
    """Give each body the gravity of its scene and keep the scenes apart.

    Args:
        scan: What was found on the stage.
        scene: The first scene; gets the highest rate of all.
        bodies: Bodies.
        shapes: Colliders.
        joints: Joints.

    Returns:
        What the bodies and shapes get, and the joints within one scene.
    """
    scenes = _scenes(scan)
    if len(scenes) < 2:
        return SceneRows(), joints
    number = {path: i for i, path in enumerate(scenes)}
    body = np.zeros(len(bodies.paths), dtype=int)
    for path, item in scan.found(UsdPhysics.ObjectType.RigidBody):
        if path in bodies.row:
            body[bodies.row[path]] = number.get(_owner(scan, path, item, scenes), 0)
    body[bodies.promoted] = _FOR_ALL
    owner = {path: _owner(scan, path, item, scenes) for path, item in scan.found(*SHAPE_OBJECTS)}
    own = np.array([number.get(owner.get(path, ""), -1) for path in shapes.paths], dtype=int)
    carrier = np.append(body, -1)[shapes.body]
    shape = np.where(carrier >= 0, carrier, own)
    empty = [path for i, path in enumerate(scenes) if i and not (body == i).any()]
    for path in empty:
        scan.report.ignore(path, "no body belongs to it")
    used = [path for path in scenes if path not in empty]
    if len(used) == 1:
        return SceneRows(), joints
    _share_rate(scan, scene, used)
    gravity = np.array([scene_gravity(scan, path) - scene.gravity for path in scenes])
    rows = SceneRows(
        {"body_gravity": np.append(gravity, np.zeros((1, 3)), axis=0)[body]},
        {"shape_collision_group": np.where(shape >= 0, shape + 1, _FOR_ALL)},
    )
    return rows, _within(scan, joints, body)


def _share_rate(scan: Scan, scene: SceneSpec, used: list[str]) -> None:
    """Simulate all scenes at the highest rate that any asks for."""
    rates = {path: steps_per_second(scan, path) for path in used}
    scene.steps_per_second = max(rates.values())
    for path, rate in rates.items():
        if rate < scene.steps_per_second:
            scan.report.approximate(
                path, f"asks for {rate:g} steps per second; all scenes take {scene.steps_per_second:g}"
            )


def _within(scan: Scan, joints: list[JointSpec], body: np.ndarray) -> list[JointSpec]:
    """Return the joints that connect bodies of one scene."""
    kept = []
    for joint in joints:
        ends = {int(body[row]) for row in (joint.parent, joint.child) if row >= 0} - {_FOR_ALL}
        if len(ends) > 1:
            scan.report.ignore(joint.path, "connects bodies of different scenes", remedy="give both the same owner")
        else:
            kept.append(joint)
    return kept
