"""Rigid bodies: where they are, how they move, and whether they are driven."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from pxr import Sdf, UsdPhysics

from usd_sim.geometry import transforms as tf
from usd_sim.stage.read.scan import Scan

__all__ = ["BodySpecs", "read_bodies"]

SHEAR_TOLERANCE = 1.0e-4
"""Deviation from a right angle (as a cosine) below which axes count as orthogonal; single-precision ops leave 1e-6."""


@dataclass
class BodySpecs:
    """Enabled rigid bodies, SI and world frame.

    Attributes:
        paths: Prim of each body.
        pose: X_WB (n, 7) [m, xyzw].
        scale: Scale of the prim in world, with its sign (n, 3).
        velocity: COM velocity and angular velocity (n, 6) [m/s, rad/s].
        kinematic: Driven rather than simulated (n,).
        row: Prim path to row.
        followed: Rows of bodies whose transform is animated, and who follow it while they are kinematic.
        promoted: Rows of the followed bodies that are no rigid bodies, but colliders that move.
    """

    paths: list[str]
    pose: np.ndarray
    scale: np.ndarray
    velocity: np.ndarray
    kinematic: np.ndarray
    row: dict[str, int]
    followed: list[int] = field(default_factory=list)
    promoted: list[int] = field(default_factory=list)


def read_bodies(scan: Scan) -> BodySpecs:
    """Read all enabled rigid bodies; the rest is reported."""
    paths = []
    for path, body in scan.found(UsdPhysics.ObjectType.RigidBody):
        if path in scan.left_out:
            continue
        if body.rigidBodyEnabled:
            paths.append(path)
        else:
            scan.report.ignore(path, "the rigid body is disabled; its colliders are static")
    _report_unreached(scan)
    pose, scale, shear = scan.placed(paths)
    _check_placed(scan, paths, pose, scale, shear)
    kinematic = np.array([bool(scan.value(path, "physics:kinematicEnabled", False)) for path in paths], dtype=bool)
    return BodySpecs(paths, pose, scale, _velocities(scan, paths), kinematic, {path: i for i, path in enumerate(paths)})


def _check_placed(scan: Scan, paths: list[str], pose: np.ndarray, scale: np.ndarray, shear: np.ndarray) -> None:
    for i in np.flatnonzero(~np.isfinite(pose).all(axis=1)):
        scan.report.error(paths[i], "the transform is not a finite number", remedy="repair the xformOps")
    for i in np.flatnonzero((scale == 0).any(axis=1)):
        scan.report.error(paths[i], "the scale is zero", remedy="author a scale other than zero")
    for i in np.flatnonzero(shear > SHEAR_TOLERANCE):
        scan.report.approximate(paths[i], f"the transform shears (cosine {shear[i]:.2g}); the nearest rotation is used")


def _velocities(scan: Scan, paths: list[str]) -> np.ndarray:
    """Return world velocities; authored ones are in the space of the prim's parent, as its xform is."""
    linear = scan.column(paths, "physics:velocity", (0.0, 0.0, 0.0), "m/s").reshape(-1, 3)
    angular = scan.column(paths, "physics:angularVelocity", (0.0, 0.0, 0.0), "deg/s").reshape(-1, 3)
    moving = np.flatnonzero((linear != 0).any(axis=1) | (angular != 0).any(axis=1))
    if len(moving):
        parents = scan.matrices(str(Sdf.Path(paths[i]).GetParentPath()) for i in moving)
        rotation = tf.decompose_affine(parents).rotation
        linear[moving] = np.einsum("ni,nij->nj", linear[moving], parents[:, :3, :3])
        angular[moving] = tf.quat_rotate(rotation, angular[moving])
    return np.concatenate([linear, angular], axis=1)


def _report_unreached(scan: Scan) -> None:
    """Report prims that carry physics but that the parser of UsdPhysics does not reach.

    Such as prims without a transform.
    """
    reached = {path for path, _ in scan.found(UsdPhysics.ObjectType.RigidBody)}
    for path in scan.types:
        if scan.has(path, "PhysicsRigidBodyAPI") and path not in reached:
            scan.report.ignore(path, "the rigid body is not reached by physics", remedy="apply it to an Xformable prim")
