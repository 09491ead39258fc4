"""Colliders: their kind, size, place on a body, and contact properties."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
from pxr import UsdPhysics

from usd_sim.geometry import transforms as tf
from usd_sim.geometry.mesh import Mesh
from usd_sim.geometry.primitives import tapered_mesh
from usd_sim.geometry.types import GeoType
from usd_sim.stage.read.bindings import bound_materials
from usd_sim.stage.read.bodies import SHEAR_TOLERANCE, BodySpecs
from usd_sim.stage.read.meshes import MeshReader
from usd_sim.stage.read.mujoco import shape_fields
from usd_sim.stage.read.parts import Parts
from usd_sim.stage.read.points import PointsReader
from usd_sim.stage.read.scan import GPRIM_SIZES, Scan
from usd_sim.stage.read.sdf import sdf_fields

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
    "Points": GeoType.NONE,
}
_OF_ARRAYS = ("Mesh", "Points")
_REST, _REACH = "physxCollision:restOffset", "physxCollision:contactOffset"

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
    """Colliders, SI; as read, one row per prim.

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
        extra: Values of further fields by name, each (n, ...); those that are stated.
        parts: Shapes of colliders that take several, by row.
        labels: Name of each, where they are not those of the prims.
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
    extra: dict[str, Any] = field(default_factory=dict)
    parts: dict[int, Parts] = field(default_factory=dict)
    labels: list[str] = field(default_factory=list)


def read_shapes(scan: Scan, bodies: BodySpecs) -> ShapeSpecs:
    """Read all colliders; what cannot be one is reported."""
    parsed = [pair for pair in scan.found(*SHAPE_OBJECTS) if pair[0] not in scan.left_out]
    found = [(path, item) for path, item in parsed if _is_supported(scan, path)]
    _report_unparsed(scan, {path for path, _ in found})
    meshes, points = MeshReader(scan), PointsReader(scan)
    load = {"Mesh": meshes.load, "Points": points.load}
    found = [(path, item) for path, item in found if scan.types[path] not in load or load[scan.types[path]](path)]
    paths = [path for path, _ in found]
    body = np.array([bodies.row.get(str(item.rigidBody), -1) for _, item in found], dtype=int)
    world, scale, shear = scan.placed(paths)
    for i in np.flatnonzero(~np.isfinite(world).all(axis=1)):
        scan.report.error(paths[i], "the transform is not a finite number", remedy="repair the xformOps")
    for i in np.flatnonzero(shear > SHEAR_TOLERANCE):
        scan.report.approximate(paths[i], f"the transform shears (cosine {shear[i]:.2g}); the nearest rotation is used")
    materials = bound_materials(scan, found)
    kind, pose, size, source = _geometry(scan, paths, world, scale)
    rows = _rows_by_type(scan, paths)
    _tapered(scan, rows, paths, world, scale, kind, pose, size, source)
    parts: dict[int, Parts] = {}
    if "Mesh" in rows:
        here = rows["Mesh"]
        meshes.place(here, [paths[i] for i in here], kind, pose, size, source, scale, materials, parts)
    for row in rows.get("Points", np.zeros(0, dtype=int)).tolist():
        factors = scan.units.factor("m") * scale[row]
        parts[row] = points.parts(paths[row], factors, SCALE_TOLERANCE)
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
        margin=scan.numbers(paths, ("newton:contactMargin", "mjc:margin", _REST), 0.0),
        gap=_gaps(scan, paths),
        material=materials,
        groups=[tuple(map(str, item.collisionGroups)) for _, item in found],
        extra=shape_fields(scan, paths) | sdf_fields(scan, paths),
        parts=parts,
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
    simple = [i for i, path in enumerate(paths) if scan.types[path] in _TYPES and scan.types[path] not in _OF_ARRAYS]
    kind, pose, size = np.full(len(paths), -1), world.copy(), np.zeros((len(paths), 3))
    if simple:
        here = [paths[i] for i in simple]
        kind[simple], pose[simple], size[simple], _ = _geometry(scan, here, world[simple], scale[simple])
        for i in _uneven(scan, here, scale[simple]):
            scan.report.approximate(here[i], "the radii about the axis differ; the largest is used")
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


def _check_sizes(scan: Scan, paths: list[str], kind: np.ndarray, size: np.ndarray) -> None:
    """Report colliders without extent: those whose scale or sizes are zero or negative."""
    mesh = np.isin(kind, (GeoType.MESH, GeoType.CONVEX_MESH))
    unused = np.isin(kind, (GeoType.SPHERE, GeoType.CAPSULE, GeoType.CYLINDER, GeoType.CONE))
    sizes = np.where(mesh[:, None], np.abs(size), size)
    sizes[unused, 2] = 1.0
    sizes[kind == GeoType.SPHERE, 1] = 1.0
    empty = (sizes <= 0).any(axis=1) & (kind != GeoType.PLANE) & (kind != GeoType.NONE)
    capsule = kind == GeoType.CAPSULE  # without height it is a sphere
    empty[capsule] = (size[capsule, 0] <= 0) | (size[capsule, 1] < 0)
    for i in np.flatnonzero(empty):
        scan.report.error(paths[i], "the collider has no extent", remedy="author sizes and scales other than zero")


def _is_solid(scan: Scan, path: str) -> bool:
    name = scan.first(path, ("newton:massModel", "mjc:shellinertia", "mjc:inertia"))
    value = scan.value(path, name, "solid")
    return not value if isinstance(value, bool) else value != "shell"


def _gaps(scan: Scan, paths: list[str]) -> np.ndarray:
    """Return how far beyond the margin contacts are found (n,) [m]; PhysX states it from the surface."""
    names = ("newton:contactGap", "mjc:gap", _REACH)
    gap = scan.numbers(paths, names, -np.inf)
    for i in [i for i, path in enumerate(paths) if scan.first(path, names) == _REACH]:
        gap[i] -= scan.number(paths[i], (_REST,))
        if gap[i] < 0:
            scan.report.approximate(paths[i], "lies within the rest offset, which is taken for it", property=_REACH)
            gap[i] = 0.0
    return gap


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
    scan: Scan, paths: list[str], world: np.ndarray, scale: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[Any]]:
    """Return kind (n,), pose in world (n, 7), sizes (n, 3) and no mesh of each collider, one type at a time.

    Shapes about an axis have their largest radius; those of meshes and points are left for later.
    """
    kind = np.array([_TYPES[scan.types[path]] for path in paths], dtype=int)
    pose, size, source = world.copy(), np.ones((len(paths), 3)), [None] * len(paths)
    unit = scan.units.factor("m")
    for name, rows in _rows_by_type(scan, paths).items():
        here = [paths[i] for i in rows]
        if name in _OF_ARRAYS:
            continue
        if name == "Sphere":
            _sphere(scan, rows, here, kind, size, scale, unit)
        elif name == "Cube":
            size[rows] = 0.5 * unit * _sizes(scan, here, name, "size")[:, None] * np.abs(scale[rows])
        elif name == "Plane":
            _along_axis(pose, rows, _axes(scan, here), scale)
            size[rows] = 0.0
        else:
            _axial(scan, rows, here, name, pose, size, scale, unit)
    return kind, pose, size, source


def _rows_by_type(scan: Scan, paths: list[str]) -> dict[str, np.ndarray]:
    names = np.array([scan.types[path] for path in paths], dtype=object)
    return {name: np.flatnonzero(names == name) for name in dict.fromkeys(names)}


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
    size[rows, 0] = unit * _radii(scan, paths, name).max(axis=1) * radial.max(axis=1)
    size[rows, 1] = unit * 0.5 * _sizes(scan, paths, name, "height") * np.abs(scale[rows, axis])
    size[rows, 2] = 0.0
    _along_axis(pose, rows, axis, scale)


def _along_axis(pose: np.ndarray, rows: np.ndarray, axis: np.ndarray, scale: np.ndarray) -> None:
    """Turn the frames of some rows so that Z lies along the prim's axis, and against it where that is mirrored."""
    pose[rows, 3:] = tf.quat_multiply(pose[rows, 3:], _Z_TO_AXIS[axis])
    mirrored = rows[scale[rows, axis] < 0]
    pose[mirrored, 3:] = tf.quat_multiply(pose[mirrored, 3:], np.array([1.0, 0.0, 0.0, 0.0]))


def _radii(scan: Scan, paths: list[str], name: str) -> np.ndarray:
    """Return the radii of shapes about an axis at their bottom and top (n, 2) in stage units; a cone's top has 0."""
    if name.endswith("_1"):
        return np.stack([_sizes(scan, paths, name, f"radius{end}") for end in ("Bottom", "Top")], axis=1)
    radius = _sizes(scan, paths, name, "radius")
    return np.stack([radius, np.zeros_like(radius) if name == "Cone" else radius], axis=1)


_AXIAL = ("Capsule", "Capsule_1", "Cylinder", "Cylinder_1", "Cone")
_WHY_UNEVEN = {
    "Ca": "the scale is not uniform about the axis and along it",
    "Cy": "the scale is not uniform about the axis",
    "Co": "the scale is not uniform about the axis",
}


def _uneven(scan: Scan, paths: list[str], scale: np.ndarray) -> np.ndarray:
    """Return the rows of shapes about an axis that no primitive is like.

    Either the radii of their ends differ, or their scale is not uniform where it has to be: about the axis, and for
    capsules along it.
    """
    found = [np.zeros(0, dtype=int)]
    for name, rows in _rows_by_type(scan, paths).items():
        if name not in _AXIAL:
            continue
        here = [paths[i] for i in rows]
        stretch = np.abs(scale[rows])
        about = stretch
        if not name.startswith("Capsule"):
            about = np.take_along_axis(stretch, _RADIAL[_axes(scan, here)], axis=1)
        uneven = np.ptp(about, axis=1) > SCALE_TOLERANCE * about.max(axis=1)
        radii = _radii(scan, here, name)
        if name != "Cone":
            uneven |= np.ptp(radii, axis=1) > SCALE_TOLERANCE * np.abs(radii).max(axis=1)
        real = (radii >= 0).all(axis=1) & (radii > 0).any(axis=1) & (stretch > 0).all(axis=1)
        tall = _sizes(scan, here, name, "height")
        real &= tall >= 0 if name.startswith("Capsule") else tall > 0
        found.append(rows[uneven & real])
    return np.concatenate(found)


def _tapered(
    scan: Scan,
    by_type: dict[str, np.ndarray],
    paths: list[str],
    world: np.ndarray,
    scale: np.ndarray,
    kind: np.ndarray,
    pose: np.ndarray,
    size: np.ndarray,
    source: list[Any],
) -> None:
    """Let convex meshes of the true shape stand for what no primitive is like."""
    uneven = set(_uneven(scan, paths, scale).tolist())
    for name in set(by_type) & set(_AXIAL) if uneven else ():
        rows = np.array([i for i in by_type[name].tolist() if i in uneven], dtype=int)
        here = [paths[i] for i in rows]
        height = _sizes(scan, here, name, "height")
        for row, ends, tall, axis in zip(rows, _radii(scan, here, name), height, _axes(scan, here), strict=True):
            mesh = _round_mesh(*ends.tolist(), 0.5 * float(tall), name.startswith("Capsule"), int(axis))
            kind[row], pose[row], source[row] = GeoType.CONVEX_MESH, world[row], mesh
            size[row] = scan.units.factor("m") * scale[row]
            why = "the radii of top and bottom differ" if name != "Cone" and np.ptp(ends) > 0 else _WHY_UNEVEN[name[:2]]
            scan.report.approximate(
                paths[row], f"{why}; a convex mesh of {mesh.vertex_count} points on its surface is used"
            )


@lru_cache(maxsize=256)
def _round_mesh(bottom: float, top: float, half_height: float, round_ends: bool, axis: int) -> Mesh:
    mesh = tapered_mesh(bottom, top, half_height, round_ends=round_ends)
    return Mesh(tf.quat_rotate(np.tile(_Z_TO_AXIS[axis], (mesh.vertex_count, 1)), mesh.vertices), mesh.indices)
