"""Colliders: their kind, size, place on a body, and contact properties."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from pxr import UsdPhysics, UsdShade

from usd_sim.geometry import transforms as tf
from usd_sim.geometry.types import GeoType
from usd_sim.stage.read.bodies import SHEAR_TOLERANCE, BodySpecs
from usd_sim.stage.read.meshes import MeshReader
from usd_sim.stage.read.mujoco import shape_fields
from usd_sim.stage.read.scan import GPRIM_SIZES, Scan

__all__ = ["SHAPE_OBJECTS", "GuideSpecs", "ShapeSpecs", "read_guides", "read_shapes"]

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

_OBJECTS = UsdPhysics.ObjectType

SHAPE_OBJECTS = (
    _OBJECTS.SphereShape,
    _OBJECTS.CubeShape,
    _OBJECTS.CapsuleShape,
    _OBJECTS.Capsule1Shape,
    _OBJECTS.CylinderShape,
    _OBJECTS.Cylinder1Shape,
    _OBJECTS.ConeShape,
    _OBJECTS.PlaneShape,
    _OBJECTS.MeshShape,
    _OBJECTS.SpherePointsShape,
    _OBJECTS.CustomShape,
)
"""Kinds of objects of UsdPhysics' parser that are colliders."""

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
        extra: Values of fields of namespaces by name, each (n, ...); those that are stated.
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
    extra: dict[str, np.ndarray] = field(default_factory=dict)


def read_shapes(scan: Scan, bodies: BodySpecs) -> ShapeSpecs:
    """Read all colliders; what cannot be one is reported."""
    parsed = [pair for pair in scan.found(*SHAPE_OBJECTS) if pair[0] not in scan.left_out]
    found = [(path, item) for path, item in parsed if _is_supported(scan, path)]
    _report_unparsed(scan, {path for path, _ in found})
    meshes = MeshReader(scan)
    found = [(path, item) for path, item in found if scan.types.get(path) != "Mesh" or meshes.load(path)]
    paths = [path for path, _ in found]
    body = np.array([bodies.row.get(str(item.rigidBody), -1) for _, item in found], dtype=int)
    world, scale, shear = scan.placed(paths)
    for i in np.flatnonzero(~np.isfinite(world).all(axis=1)):
        scan.report.error(paths[i], "the transform is not a finite number", remedy="repair the xformOps")
    for i in np.flatnonzero(shear > SHEAR_TOLERANCE):
        scan.report.approximate(paths[i], f"the transform shears (cosine {shear[i]:.2g}); the nearest rotation is used")
    kind, pose, size, source = _geometry(scan, paths, world, scale, meshes)
    _check_sizes(scan, paths, kind, size)
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
        solid=np.array([_is_solid(scan, path) for path in paths], dtype=bool),
        thickness=_or_default(scan.column(paths, "newton:shellThickness", -np.inf, "m"), 1.0),
        margin=scan.numbers(paths, ("newton:contactMargin", "mjc:margin"), 0.0),
        gap=scan.numbers(paths, ("newton:contactGap", "mjc:gap"), -np.inf),
        material=_materials(scan, found),
        groups=[tuple(map(str, item.collisionGroups)) for _, item in found],
        filtered=[tuple(map(str, item.filteredCollisions)) for _, item in found],
        extra=shape_fields(scan, paths),
    )


@dataclass
class GuideSpecs:
    """Geometry that does not collide: sites, and what tendons bend around.

    Attributes:
        body: Path of the body that carries each; "" is the world (n,).
        kind: GeoType, -1 where the prim has none of the simple shapes (n,).
        pose: X_BS, in the world for "" (n, 7) [m, xyzw].
        scale: Sizes, see ``shape_scale`` (n, 3) [m].
    """

    body: list[str]
    kind: np.ndarray
    pose: np.ndarray
    scale: np.ndarray


def read_guides(scan: Scan, bodies: BodySpecs, paths: list[str]) -> GuideSpecs:
    """Read prims that are no colliders."""
    world, scale, _ = scan.placed(paths)
    simple = [i for i, path in enumerate(paths) if scan.types[path] in _TYPES and scan.types[path] != "Mesh"]
    kind, pose, size = np.full(len(paths), -1), world.copy(), np.zeros((len(paths), 3))
    if simple:
        here = [paths[i] for i in simple]
        kind[simple], pose[simple], size[simple], _ = _geometry(
            scan, here, world[simple], scale[simple], MeshReader(scan)
        )
    body = [_carrier(bodies, path) for path in paths]
    carried = np.array([i for i, path in enumerate(body) if path], dtype=int)
    if len(carried):
        rows = [bodies.row[body[i]] for i in carried]
        pose[carried] = tf.transform_multiply(tf.transform_inverse(bodies.pose[rows]), pose[carried])
    return GuideSpecs(body, kind, pose, size)


def _carrier(bodies: BodySpecs, path: str) -> str:
    """Return the nearest body at or above a prim, or ""."""
    while path and path not in bodies.row:
        path = path.rpartition("/")[0]
    return path


def _materials(scan: Scan, found: list[tuple[str, Any]]) -> list[str]:
    """Return the material of each collider; UsdPhysics' parser does not see those bound further up."""
    materials = [str(item.materials[0]) if item.materials else "" for _, item in found]
    bare = [i for i, path in enumerate(materials) if not scan.has(path, "PhysicsMaterialAPI")]
    if bare and any("PhysicsMaterialAPI" in schemas for schemas in scan.schemas.values()):
        prims = [scan.prim(found[i][0]) for i in bare]
        bound, _ = UsdShade.MaterialBindingAPI.ComputeBoundMaterials(prims, "physics")
        for i, material in zip(bare, bound, strict=True):
            materials[i] = str(material.GetPath()) if material else materials[i]
    return materials


def _check_sizes(scan: Scan, paths: list[str], kind: np.ndarray, size: np.ndarray) -> None:
    """Report colliders without extent: those whose scale or sizes are zero or negative."""
    mesh = np.isin(kind, (GeoType.MESH, GeoType.CONVEX_MESH))
    unused = np.isin(kind, (GeoType.SPHERE, GeoType.CAPSULE, GeoType.CYLINDER, GeoType.CONE))
    sizes = np.where(mesh[:, None], np.abs(size), size)
    sizes[unused, 2] = 1.0
    sizes[kind == GeoType.SPHERE, 1] = 1.0
    empty = (sizes <= 0).any(axis=1) & (kind != GeoType.PLANE)
    capsule = kind == GeoType.CAPSULE  # without height it is a sphere
    empty[capsule] = (size[capsule, 0] <= 0) | (size[capsule, 1] < 0)
    for i in np.flatnonzero(empty):
        scan.report.error(paths[i], "the collider has no extent", remedy="author sizes and scales other than zero")


def _is_solid(scan: Scan, path: str) -> bool:
    name = scan.first(path, ("newton:massModel", "mjc:shellinertia", "mjc:inertia"))
    value = scan.value(path, name, "solid")
    return not value if isinstance(value, bool) else value != "shell"


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
            _along_axis(pose, rows, _axes(scan, here), scale)
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
    radial = np.abs(np.take_along_axis(scale[rows], _RADIAL[axis], axis=1))
    radius = _radius(scan, paths, name)
    for i in np.flatnonzero(np.ptp(radial, axis=1) > SCALE_TOLERANCE * radial.max(axis=1)):
        scan.report.approximate(paths[i], "the scale is not uniform about the axis; the larger radius is used")
    size[rows, 0] = unit * radius * radial.max(axis=1)
    size[rows, 1] = unit * 0.5 * _sizes(scan, paths, name, "height") * np.abs(scale[rows, axis])
    size[rows, 2] = 0.0
    _along_axis(pose, rows, axis, scale)


def _along_axis(pose: np.ndarray, rows: np.ndarray, axis: np.ndarray, scale: np.ndarray) -> None:
    """Turn the frames of some rows so that Z lies along the prim's axis, and against it where that is mirrored."""
    pose[rows, 3:] = tf.quat_multiply(pose[rows, 3:], _Z_TO_AXIS[axis])
    mirrored = rows[scale[rows, axis] < 0]
    pose[mirrored, 3:] = tf.quat_multiply(pose[mirrored, 3:], np.array([1.0, 0.0, 0.0, 0.0]))


def _radius(scan: Scan, paths: list[str], name: str) -> np.ndarray:
    if not name.endswith("_1"):
        return _sizes(scan, paths, name, "radius")
    top, bottom = _sizes(scan, paths, name, "radiusTop"), _sizes(scan, paths, name, "radiusBottom")
    for i in np.flatnonzero(top != bottom):
        scan.report.approximate(paths[i], "the radii of top and bottom differ; the larger is used")
    return np.maximum(top, bottom)
