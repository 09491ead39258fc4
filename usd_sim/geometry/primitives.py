"""Primitives as meshes, and the extents of every kind of shape."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from usd_sim.errors import UsdSimError
from usd_sim.geometry.mesh import Mesh
from usd_sim.geometry.types import GeoType

__all__ = ["ShapeBounds", "primitive_mesh", "shape_bounds", "tapered_mesh"]

Array = NDArray[np.float64]

_BOX_CORNERS = np.array([[x, y, z] for z in (-1.0, 1.0) for y in (-1.0, 1.0) for x in (-1.0, 1.0)])
_BOX_QUADS = [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]]

_REVOLVED = (GeoType.SPHERE, GeoType.CAPSULE, GeoType.ELLIPSOID, GeoType.CYLINDER, GeoType.CONE)
_SOURCED = (GeoType.MESH, GeoType.CONVEX_MESH, GeoType.HFIELD)


class ShapeBounds(NamedTuple):
    """Extents of shapes in their own frames.

    Attributes:
        lower: Smallest coordinates [m], ``(n, 3)``.
        upper: Largest coordinates [m], ``(n, 3)``.
        radius: Radius of the smallest ball about the origin of the shape frame that holds the shape [m], ``(n,)``.
    """

    lower: Array
    upper: Array
    radius: Array


def primitive_mesh(geo_type: GeoType | int, scale: ArrayLike, *, segments: int = 32) -> Mesh:
    """Return a primitive as a closed mesh (a plane as two triangles) with its points on the surface.

    Args:
        geo_type: Kind of the primitive.
        scale: Sizes as :class:`GeoType` states them [m], ``(3,)``.
        segments: Edges around the axis; round profiles have half as many from pole to pole, rounded up to an even
            number.

    Raises:
        UsdSimError: The kind is not a primitive, the plane is infinite, or there are fewer than 3 segments.
    """
    geo_type = GeoType(geo_type)
    x, y, z = np.asarray(scale, np.float64)
    if geo_type == GeoType.BOX:
        return Mesh.from_polygons(_BOX_CORNERS * (x, y, z), [4] * 6, _BOX_QUADS)
    if geo_type == GeoType.PLANE:
        if not (x > 0.0 and y > 0.0):
            raise UsdSimError("an infinite plane has no mesh", remedy="give the plane a width and a length")
        return Mesh.from_polygons(_BOX_CORNERS[:4] * (0.5 * x, 0.5 * y, 0.0), [4], [0, 1, 3, 2])
    if geo_type not in _REVOLVED:
        raise UsdSimError(f"{geo_type.name} is not a primitive", remedy="use the mesh of the shape itself")
    if segments < 3:
        raise UsdSimError(f"{segments} segments enclose nothing", remedy="ask for at least 3")
    if geo_type == GeoType.CYLINDER:
        return _revolve(np.array([0.0, x, x, 0.0]), np.array([-y, -y, y, y]), segments)
    if geo_type == GeoType.CONE:
        return _revolve(np.array([0.0, x, 0.0]), np.array([-y, -y, y]), segments)
    quarter = (segments + 3) // 4
    angle = np.linspace(-0.5 * np.pi, 0.5 * np.pi, 2 * quarter + 1)
    ring, height = np.cos(angle), np.sin(angle)
    if geo_type == GeoType.CAPSULE:
        # the equator appears twice, half a cylinder apart
        lower, upper = slice(0, quarter + 1), slice(quarter, None)
        profile = np.concatenate([ring[lower], ring[upper]]) * x
        return _revolve(profile, np.concatenate([height[lower] * x - y, height[upper] * x + y]), segments)
    radii = (x, x, x) if geo_type == GeoType.SPHERE else (x, y, z)
    return _revolve(ring, height, segments).scaled(radii)


def tapered_mesh(
    bottom: float, top: float, half_height: float, *, round_ends: bool = False, segments: int = 48
) -> Mesh:
    """Return a cylinder or capsule along Z with a radius at each end, as a closed mesh with its points on the surface.

    The widest points lie on the X and Y axes, so extents are exact where ``segments`` is a multiple of 4. A tapered
    capsule has a half ball at each end and a cone between them; it is not convex where the cone meets the smaller one.

    Args:
        bottom: Radius at -half_height [m], not negative.
        top: Radius at +half_height [m], not negative; one of the two is above 0.
        half_height: Half the distance of the ends; of the centres of the half balls where they are round [m].
        round_ends: Capsule rather than cylinder.
        segments: Edges around the axis; round ends have a sixth as many from equator to pole.
    """
    if round_ends:
        angle = np.linspace(0.0, 0.5 * np.pi, max(segments // 6, 2) + 1)
        ring, height = np.cos(angle), np.sin(angle)
        ring[-1] = 0.0
        profile = np.concatenate([ring[::-1] * bottom, ring * top])
        heights = np.concatenate([-half_height - height[::-1] * bottom, half_height + height * top])
    else:
        profile = np.array([0.0, bottom, top, 0.0])
        heights = np.array([-half_height, -half_height, half_height, half_height])
    between = np.ones(len(profile), np.bool_)
    between[1:-1] = profile[1:-1] > 0.0
    profile, heights = profile[between], heights[between]
    return _revolve(profile, heights, segments)


def _revolve(radius: Array, height: Array, segments: int) -> Mesh:
    """Turn a profile about Z. It starts and ends on the axis, at the bottom and the top, with rings of points between.

    Args:
        radius: Distances from the axis, ``(k,)``; the first and the last are poles.
        height: Heights, ``(k,)``, in the same order.
        segments: Points on each ring.
    """
    angle = 2.0 * np.pi * np.arange(segments) / segments
    circle = np.stack([np.cos(angle), np.sin(angle)], axis=-1)
    rings = len(radius) - 2
    points = np.zeros((rings * segments + 2, 3))
    points[0, 2], points[-1, 2] = height[0], height[-1]
    points[1:-1, :2] = (radius[1:-1, None, None] * circle).reshape(-1, 2)
    points[1:-1, 2] = np.repeat(height[1:-1], segments)

    here = 1 + np.arange(rings * segments).reshape(rings, segments)
    after = np.roll(here, -1, axis=1)
    bottom = np.stack([np.zeros(segments, np.int64), after[0], here[0]], axis=-1)
    top = np.stack([np.full(segments, len(points) - 1), here[-1], after[-1]], axis=-1)
    a, b, c, d = here[:-1].ravel(), after[:-1].ravel(), after[1:].ravel(), here[1:].ravel()
    bands = np.concatenate([np.stack([a, b, c], axis=-1), np.stack([a, c, d], axis=-1)])
    return Mesh(points, np.concatenate([bottom, bands, top]))


def shape_bounds(geo_type: ArrayLike, scale: ArrayLike, *, sources: Sequence[Mesh | None] | None = None) -> ShapeBounds:
    """Return the extents of shapes in their own frames, grouped by type.

    A plane has no thickness, and infinite extents where its width or length is 0. NONE is empty: zeros.

    Args:
        geo_type: :class:`GeoType` of each shape, ``(n,)``.
        scale: Sizes as :class:`GeoType` states them [m], ``(n, 3)``.
        sources: Mesh of each shape, None where it has none; may be left out where no shape needs one.

    Raises:
        UsdSimError: A mesh shape or height field has no source.
    """
    geo_type = np.asarray(geo_type)
    scale = np.asarray(scale, np.float64).reshape(len(geo_type), 3)
    upper, radius = np.zeros_like(scale), np.zeros(len(scale))
    r, h = scale[:, 0], scale[:, 1]

    rows = geo_type == GeoType.SPHERE
    upper[rows], radius[rows] = r[rows, None], r[rows]
    rows = geo_type == GeoType.BOX
    upper[rows], radius[rows] = scale[rows], np.linalg.norm(scale[rows], axis=-1)
    rows = geo_type == GeoType.ELLIPSOID
    upper[rows], radius[rows] = scale[rows], scale[rows].max(axis=-1, initial=0.0)
    rows = geo_type == GeoType.CAPSULE
    upper[rows], radius[rows] = np.stack([r, r, h + r], axis=-1)[rows], (h + r)[rows]
    rows = (geo_type == GeoType.CYLINDER) | (geo_type == GeoType.CONE)
    upper[rows], radius[rows] = np.stack([r, r, h], axis=-1)[rows], np.hypot(r, h)[rows]
    rows = geo_type == GeoType.PLANE
    upper[rows, :2] = np.where(scale[rows, :2] == 0.0, np.inf, 0.5 * scale[rows, :2])
    radius[rows] = np.linalg.norm(upper[rows], axis=-1)
    lower = -upper

    sourced = np.flatnonzero(np.isin(geo_type, _SOURCED))
    if len(sourced):
        lower[sourced], upper[sourced], radius[sourced] = _source_bounds(sourced, scale, sources)
    return ShapeBounds(lower, upper, radius)


def _source_bounds(rows: NDArray[np.int64], scale: Array, sources: Sequence[Mesh | None] | None) -> ShapeBounds:
    """Return the extents of scaled meshes, measuring each mesh once per different scale."""
    meshes = [sources[row] if sources is not None else None for row in rows]
    missing = next((int(row) for row, mesh in zip(rows, meshes, strict=True) if mesh is None), None)
    if missing is not None:
        raise UsdSimError(f"shape {missing} has no mesh", remedy="give every mesh shape a source")
    ids = np.array([id(mesh) for mesh in meshes], np.int64)
    lower, upper, radius = np.zeros((len(rows), 3)), np.zeros((len(rows), 3)), np.zeros(len(rows))
    for one in np.unique(ids):
        of_mesh = np.flatnonzero(ids == one)
        mesh = meshes[of_mesh[0]]
        ends = np.stack(mesh.bounds) * scale[rows[of_mesh], None]
        lower[of_mesh], upper[of_mesh] = ends.min(axis=1), ends.max(axis=1)
        different, which = np.unique(np.abs(scale[rows[of_mesh]]), axis=0, return_inverse=True)
        squares = mesh.vertices**2
        reach = np.array([np.sqrt((squares @ factors**2).max(initial=0.0)) for factors in different])
        radius[of_mesh] = reach[which.ravel()]
    return ShapeBounds(lower, upper, radius)
