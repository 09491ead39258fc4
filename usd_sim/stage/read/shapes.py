"""Colliders: their kind, size, place on a body, and contact properties."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from pxr import UsdPhysics

from usd_sim.geometry import transforms as tf
from usd_sim.geometry.types import GeoType
from usd_sim.stage.read.bodies import SHEAR_TOLERANCE, BodySpecs
from usd_sim.stage.read.meshes import MeshReader
from usd_sim.stage.read.scan import GPRIM_SIZES, Scan

__all__ = ["ShapeSpecs", "read_shapes"]

_TYPES = {
    "Sphere": GeoType.SPHERE,
    "Cube": GeoType.BOX,
    "Capsule": GeoType.CAPSULE,
    "Capsule_1": GeoType.CAPSULE,
    "Cylinder": GeoType.CYLINDER,
    "Cylinder_1": GeoType.CYLINDER,
    "Cone": GeoType.CONE,
    "Plane": GeoType.PLANE,
    "Mesh": GeoType.MESH,
}

_AXES = "XYZ"
_Z_TO_AXIS = np.array([[0.0, 2**-0.5, 0.0, 2**-0.5], [-(2**-0.5), 0.0, 0.0, 2**-0.5], [0.0, 0.0, 0.0, 1.0]])
_RADIAL = np.array([[1, 2], [0, 2], [0, 1]])

SCALE_TOLERANCE = 1.0e-4
"""Relative difference of scales below which they count as uniform; single-precision ops leave 1e-6."""


@dataclass
class ShapeSpecs:
    """Colliders, SI.

    Attributes:
        paths: Prim of each collider.
        body: Row of the body that carries it; -1 is the world (n,).
        kind: GeoType (n,).
        pose: X_BS, in the world for -1 (n, 7) [m, xyzw].
        scale: Sizes, see ``shape_scale`` (n, 3) [m].
        source: Mesh of mesh shapes (n,).
        enabled: Collides (n,).
        solid: Filled rather than a shell (n,).
        thickness: Wall of shells (n,) [m].
        margin: See ``shape_margin`` (n,) [m].
        gap: See ``shape_gap`` (n,) [m].
        material: Path of the physics material, "" for none (n,).
        groups: Collision groups that each belongs to.
        filtered: Prims that each does not collide with.
    """

    paths: list[str]
    body: np.ndarray
    kind: np.ndarray
    pose: np.ndarray
    scale: np.ndarray
    source: list[Any]
    enabled: np.ndarray
    solid: np.ndarray
    thickness: np.ndarray
    margin: np.ndarray
    gap: np.ndarray
    material: list[str]
    groups: list[tuple[str, ...]]
    filtered: list[tuple[str, ...]]


def read_shapes(scan: Scan, bodies: BodySpecs) -> ShapeSpecs:
    """Read all colliders; what cannot be one is reported."""
    objects = UsdPhysics.ObjectType
    kinds = (
        objects.SphereShape,
        objects.CubeShape,
        objects.CapsuleShape,
        objects.Capsule1Shape,
        objects.CylinderShape,
        objects.Cylinder1Shape,
        objects.ConeShape,
        objects.PlaneShape,
        objects.MeshShape,
        objects.SpherePointsShape,
        objects.CustomShape,
    )
    found = [(path, item) for path, item in scan.found(*kinds) if _is_supported(scan, path)]
    _report_unparsed(scan, {path for path, _ in found})
    meshes = MeshReader(scan)
    found = [(path, item) for path, item in found if scan.types.get(path) != "Mesh" or meshes.load(path)]
    paths = [path for path, _ in found]
    body = np.array([bodies.row.get(str(item.rigidBody), -1) for _, item in found], dtype=int)
    world, scale, shear = scan.placed(paths)
    for i in np.flatnonzero(shear > SHEAR_TOLERANCE):
        scan.report.approximate(paths[i], f"the transform shears (cosine {shear[i]:.2g}); the nearest rotation is used")
    kind, pose, size, source = _geometry(scan, paths, world, scale, meshes)
    carried = np.flatnonzero(body >= 0)
    pose[carried] = tf.transform_multiply(tf.transform_inverse(bodies.pose[body[carried]]), pose[carried])
    return ShapeSpecs(
        paths=paths,
        body=body,
        kind=kind,
        pose=pose,
        scale=size,
        source=source,
        enabled=np.array([item.collisionEnabled for _, item in found], dtype=bool),
        solid=np.array([scan.value(path, "newton:massModel", "solid") != "shell" for path in paths], dtype=bool),
        thickness=_or_default(scan.column(paths, "newton:shellThickness", -np.inf, "m"), 1.0),
        margin=scan.column(paths, "newton:contactMargin", 0.0, "m"),
        gap=scan.column(paths, "newton:contactGap", -np.inf, "m"),
        material=[str(item.materials[0]) if item.materials else "" for _, item in found],
        groups=[tuple(map(str, item.collisionGroups)) for _, item in found],
        filtered=[tuple(map(str, item.filteredCollisions)) for _, item in found],
    )


def _or_default(values: np.ndarray, default: float) -> np.ndarray:
    return np.where(np.isneginf(values), default, values)


def _is_supported(scan: Scan, path: str) -> bool:
    type_name = scan.types.get(path, "")
    if type_name not in _TYPES:
        scan.report.ignore(path, f"colliders of type {type_name or 'none'} are not supported yet")
        return False
    return True


def _report_unparsed(scan: Scan, parsed: set[str]) -> None:
    known = parsed | {entry.prim for entry in scan.report.ignored if not entry.property}
    for path in scan.schemas:
        if path not in known and scan.has(path, "PhysicsCollisionAPI") and scan.types.get(path) not in _TYPES:
            scan.report.ignore(path, "only geometry can be a collider", remedy="apply PhysicsCollisionAPI to a Gprim")


def _geometry(
    scan: Scan, paths: list[str], world: np.ndarray, scale: np.ndarray, meshes: MeshReader
) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[Any]]:
    """Return kind (n,), pose in world (n, 7), sizes (n, 3) and mesh of each collider, one type at a time."""
    names = np.array([scan.types[path] for path in paths], dtype=object)
    kind = np.array([_TYPES[name] for name in names], dtype=int)
    pose, size, source = world.copy(), np.ones((len(paths), 3)), [None] * len(paths)
    unit = scan.units.factor("m")
    for name in set(names):
        rows = np.flatnonzero(names == name)
        here = [paths[i] for i in rows]
        if name == "Mesh":
            meshes.place(rows, here, kind, pose, size, source, scale)
        elif name == "Sphere":
            _sphere(scan, rows, here, kind, size, scale, unit)
        elif name == "Cube":
            size[rows] = 0.5 * unit * _sizes(scan, here, name, "size")[:, None] * np.abs(scale[rows])
        elif name == "Plane":
            pose[rows, 3:] = tf.quat_multiply(pose[rows, 3:], _Z_TO_AXIS[_axes(scan, here)])
            size[rows] = 0.0
        else:
            _axial(scan, rows, here, name, pose, size, scale, unit)
    return kind, pose, size, source


def _sizes(scan: Scan, paths: list[str], type_name: str, attribute: str) -> np.ndarray:
    return np.array([scan.value(path, attribute, GPRIM_SIZES[type_name][attribute]) for path in paths], dtype=float)


def _axes(scan: Scan, paths: list[str]) -> np.ndarray:
    return np.array([_AXES.index(scan.value(path, "axis", "Z")) for path in paths], dtype=int)


def _sphere(
    scan: Scan, rows: np.ndarray, paths: list[str], kind: np.ndarray, size: np.ndarray, scale: np.ndarray, unit: float
) -> None:
    radii = unit * _sizes(scan, paths, "Sphere", "radius")[:, None] * np.abs(scale[rows])
    stretched = np.ptp(radii, axis=1) > SCALE_TOLERANCE * radii.max(axis=1)
    kind[rows[stretched]] = GeoType.ELLIPSOID
    size[rows] = np.where(stretched[:, None], radii, radii[:, :1] * (1.0, 0.0, 0.0))


def _axial(
    scan: Scan,
    rows: np.ndarray,
    paths: list[str],
    name: str,
    pose: np.ndarray,
    size: np.ndarray,
    scale: np.ndarray,
    unit: float,
) -> None:
    """Capsules, cylinders and cones: one radius about an axis."""
    axis = _axes(scan, paths)
    along = scale[rows, axis]
    radial = np.abs(np.take_along_axis(scale[rows], _RADIAL[axis], axis=1))
    radius = _radius(scan, paths, name)
    for i in np.flatnonzero(np.ptp(radial, axis=1) > SCALE_TOLERANCE * radial.max(axis=1)):
        scan.report.approximate(paths[i], "the scale is not uniform about the axis; the larger radius is used")
    size[rows, 0] = unit * radius * radial.max(axis=1)
    size[rows, 1] = unit * 0.5 * _sizes(scan, paths, name, "height") * np.abs(along)
    size[rows, 2] = 0.0
    pose[rows, 3:] = tf.quat_multiply(pose[rows, 3:], _Z_TO_AXIS[axis])
    mirrored = along < 0  # only the cone has a top that differs from its bottom
    pose[rows[mirrored], 3:] = tf.quat_multiply(pose[rows[mirrored], 3:], np.array([1.0, 0.0, 0.0, 0.0]))


def _radius(scan: Scan, paths: list[str], name: str) -> np.ndarray:
    if not name.endswith("_1"):
        return _sizes(scan, paths, name, "radius")
    top, bottom = _sizes(scan, paths, name, "radiusTop"), _sizes(scan, paths, name, "radiusBottom")
    for i in np.flatnonzero(top != bottom):
        scan.report.approximate(paths[i], "the radii of top and bottom differ; the larger is used")
    return np.maximum(top, bottom)
