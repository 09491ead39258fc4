"""What moves or changes as authored: animated kinematic bodies and colliders, kinematic flags, drive targets."""

from __future__ import annotations

from typing import Any

import numpy as np
from pxr import Usd, UsdGeom

from usd_sim.geometry import transforms as tf
from usd_sim.geometry.types import GeoType
from usd_sim.model.configs import target_mode
from usd_sim.stage.motion import Clock, Motion, Switch, TargetMotion, Timing, TransformTimes
from usd_sim.stage.read.bodies import BodySpecs
from usd_sim.stage.read.joints import JointSpec
from usd_sim.stage.read.scan import Scan
from usd_sim.stage.read.shapes import ShapeSpecs

__all__ = ["find_followed", "read_motion"]

_KINEMATIC = "physics:kinematicEnabled"
_POSITION, _VELOCITY = "targetPosition", "targetVelocity"

SCALE_TOLERANCE = 1.0e-3
"""Relative change of an animated scale from which the report says that it is not followed."""


def find_followed(
    scan: Scan, bodies: BodySpecs, shapes: ShapeSpecs, joints: list[JointSpec], times: TransformTimes
) -> list[JointSpec]:
    """Note which bodies follow animated transforms; make static colliders and anchors that move kinematic bodies.

    Args:
        scan: What was found on the stage.
        bodies: Bodies; kinematic ones are added for what is promoted.
        shapes: Colliders; those that are promoted get a body.
        joints: Joints; those that are anchored at what is promoted get a body.
        times: When transforms change.

    Returns:
        The joints that have something to hold.
    """
    for path, row in bodies.row.items():
        if (bodies.kinematic[row] or _switches(scan, path)) and times.of(path).varies:
            bodies.followed.append(row)
    bodies.velocity[bodies.followed] = 0.0
    shape_rows, shape_prims = _moving_shapes(scan, shapes, times)
    anchored = [(joint, times.nearest(joint.static_prim)) for joint in joints if joint.static_prim]
    anchored = [(joint, prim) for joint, prim in anchored if prim]
    _add_bodies(scan, bodies, list(dict.fromkeys([*shape_prims, *(prim for _, prim in anchored)])))
    for shape, prim in zip(shape_rows, shape_prims, strict=True):
        shapes.body[shape] = bodies.row[prim]
        shapes.pose[shape] = _in_body(bodies, prim, shapes.pose[shape])
    for joint, prim in anchored:
        if joint.parent < 0:
            joint.parent, joint.X_p = bodies.row[prim], _in_body(bodies, prim, joint.X_p)
        else:
            joint.child, joint.X_c = bodies.row[prim], _in_body(bodies, prim, joint.X_c)
    _report_scales(scan, bodies, times)
    return _holding(scan, bodies, joints)


def _switches(scan: Scan, path: str) -> bool:
    return _KINEMATIC in scan.varying.get(path, ())


def _moving_shapes(scan: Scan, shapes: ShapeSpecs, times: TransformTimes) -> tuple[list[int], list[str]]:
    """Return the colliders without a body that move, and the prim that moves each."""
    rows, prims = [], []
    for shape in np.flatnonzero((shapes.body < 0) & shapes.enabled).tolist():
        prim = times.nearest(shapes.paths[shape])
        if not prim:
            continue
        if shapes.kind[shape] == GeoType.PLANE:
            scan.report.approximate(shapes.paths[shape], "planes do not move; it stays where it is at the start")
            continue
        rows.append(shape)
        prims.append(prim)
    return rows, prims


def _add_bodies(scan: Scan, bodies: BodySpecs, prims: list[str]) -> None:
    """Add a kinematic body for each prim that is none yet."""
    prims = [prim for prim in prims if prim not in bodies.row]
    if not prims:
        return
    for prim in prims:
        scan.report.approximate(prim, "promoted to a kinematic body because its transform is animated")
    first, count = len(bodies.paths), len(prims)
    pose, scale, _ = scan.placed(prims)
    bodies.paths.extend(prims)
    bodies.pose = np.concatenate([bodies.pose.reshape(-1, 7), pose])
    bodies.scale = np.concatenate([bodies.scale.reshape(-1, 3), scale])
    bodies.velocity = np.concatenate([bodies.velocity.reshape(-1, 6), np.zeros((count, 6))])
    bodies.kinematic = np.concatenate([bodies.kinematic, np.ones(count, dtype=bool)])
    rows = range(first, first + count)
    bodies.row.update(zip(prims, rows, strict=True))
    bodies.followed += rows
    bodies.promoted += rows


def _in_body(bodies: BodySpecs, prim: str, pose: np.ndarray) -> np.ndarray:
    return tf.transform_multiply(tf.transform_inverse(bodies.pose[bodies.row[prim]]), pose)


def _report_scales(scan: Scan, bodies: BodySpecs, times: TransformTimes) -> None:
    """Report scales that change over time, as far as the first, middle and last samples tell."""
    for row in bodies.followed:
        codes = sorted(times.of(bodies.paths[row]).codes)
        prim = scan.stage.GetPrimAtPath(bodies.paths[row])
        for code in {codes[i] for i in (0, len(codes) // 2, -1)} if codes else ():
            matrix = UsdGeom.XformCache(code).GetLocalToWorldTransform(prim)
            scale = tf.decompose_affine(np.array(matrix)[None]).scale[0]
            if not np.allclose(scale, bodies.scale[row], rtol=SCALE_TOLERANCE):
                scan.report.approximate(bodies.paths[row], "the scale changes over time; colliders keep their size")
                break


def _holding(scan: Scan, bodies: BodySpecs, joints: list[JointSpec]) -> list[JointSpec]:
    """Return the joints without those between things that move as authored, which hold nothing."""
    followed = set(bodies.followed)
    authored = {row for row in followed if not _switches(scan, bodies.paths[row])}
    fixed = {-1, *authored, *(int(row) for row in np.flatnonzero(bodies.kinematic) if row not in followed)}
    kept = []
    for joint in joints:
        ends = {joint.parent, joint.child}
        if ends & authored and ends <= fixed:
            scan.report.ignore(joint.path, "both sides move as authored; the joint holds nothing")
            continue
        if ends & followed and -1 in ends:
            joint.excluded = True  # the body is a root while it follows its transform
        kept.append(joint)
    return kept


def read_motion(
    scan: Scan, bodies: BodySpecs, com: np.ndarray, mass: np.ndarray, first_body: int, builder: Any, times: Any
) -> Motion:
    """Read everything that changes over time.

    Args:
        scan: What was found on the stage.
        bodies: Bodies, with those that follow transforms noted.
        com: Their centres of mass in the body frames (n, 3) [m].
        mass: Their masses (n,) [kg].
        first_body: Row of the first of them in the builder.
        builder: Holds the degrees of freedom; drives whose target velocity changes are made to follow it.
        times: When transforms change.
    """
    clock = Clock.of(scan.stage, scan.time.GetValue())
    motion = Motion(clock)
    if bodies.followed:
        rows = np.array(bodies.followed)
        motion.follow(scan.stage, rows + first_body, [bodies.paths[row] for row in rows], com[rows], times)
    motion.switches = _read_switches(scan, bodies, mass, clock, first_body)
    motion.targets = _read_targets(scan, clock, builder)
    return motion


def _read_switches(scan: Scan, bodies: BodySpecs, mass: np.ndarray, clock: Clock, first_body: int) -> list[Switch]:
    found: list[Switch] = []
    for path in scan.varying:
        row = bodies.row.get(path)
        if row is None or not _switches(scan, path):
            continue
        if mass[row] <= 0:
            scan.report.error(
                path,
                "becomes dynamic and has no mass",
                property=_KINEMATIC,
                remedy="author physics:mass or add a collider",
            )
        attribute = scan.stage.GetPrimAtPath(path).GetAttribute(_KINEMATIC)
        now = bool(bodies.kinematic[row])
        for code in attribute.GetTimeSamples():
            value = bool(attribute.Get(code))
            if code > clock.start and value != now:
                found.append(Switch(clock.time(code), row + first_body, value))
                now = value
    return sorted(found, key=lambda switch: switch.time)


def _read_targets(scan: Scan, clock: Clock, builder: Any) -> TargetMotion | None:
    varying = [
        (path, name)
        for path, names in scan.varying.items()
        for name in names
        if name.startswith("drive:") and name.endswith((_POSITION, _VELOCITY))
    ]
    if not varying:
        return None
    rows = {pair: row for row, pair in enumerate(zip(builder.joint_dof_path, builder.joint_dof_name, strict=True))}
    positions: list[tuple[int, Usd.Attribute, float]] = []
    velocities: list[tuple[int, Usd.Attribute, float]] = []
    for path, name in varying:
        instance = name.split(":")[1]
        row = rows.get((path, instance))
        if row is None:
            scan.report.ignore(path, "the joint has no such freedom", property=name)
            continue
        angular = instance.startswith(("ang", "rot"))
        attribute = scan.stage.GetPrimAtPath(path).GetAttribute(name)
        if not Timing.of([attribute]).varies:
            continue
        if name.endswith(_POSITION):
            positions.append((row, attribute, scan.units.factor("deg" if angular else "m")))
        else:
            velocities.append((row, attribute, scan.units.factor("deg/s" if angular else "m/s")))
            _follow_velocity(builder, row)
    return TargetMotion(clock, positions, velocities) if positions or velocities else None


def _follow_velocity(builder: Any, row: int) -> None:
    """Make a drive follow its velocity target also where that is 0 at the start."""
    builder.joint_target_mode[row] = target_mode(builder.joint_target_ke[row], builder.joint_target_kd[row], 1.0)
