"""Convex hulls of point sets."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from usd_sim.errors import UsdSimError
from usd_sim.geometry.mesh import Mesh

__all__ = ["convex_hull"]

Array = NDArray[np.float64]

_FLAT = 1.0e-6
"""Thickness over size below which points are taken as flat: ten times what rounding a flat set to float32 leaves."""


_CANDIDATES = 8
"""Hull vertices per vertex asked for among which a smaller hull chooses; the work grows with their number."""

_DIRECTIONS_AT_A_TIME = 64
"""Directions in which extreme points are looked for together, so that memory stays small."""


def convex_hull(points: ArrayLike, *, max_vertices: int | None = None, prim: str | None = None) -> Mesh:
    """Return the convex hull of points, as triangles that face outward and only the points they use.

    With ``max_vertices`` a hull of more vertices is approximated from inside: four points that span it are taken first,
    then always the one that lies farthest outside of what the others enclose; of very many vertices, those that are
    extreme in evenly spread directions take part. The choice depends on the points alone.

    Args:
        points: ``(n, 3)`` [m].
        max_vertices: Most vertices of the hull, at least 4; None for all.
        prim: Path of the prim, for messages.

    Raises:
        UsdSimError: There are fewer than four points, one is not finite, they lie in a plane or on a line, or
            ``max_vertices`` is below 4.
    """
    cloud = np.asarray(points, np.float64).reshape(-1, 3)
    if max_vertices is not None and max_vertices < 4:
        raise UsdSimError(f"a hull of {max_vertices} vertices has no volume", prim=prim, remedy="allow at least 4")
    if not np.isfinite(cloud).all():
        raise UsdSimError("a point is not finite", prim=prim, remedy="replace NaN and infinite coordinates")
    if len(cloud) < 4:
        raise UsdSimError(f"a convex hull needs four points, there are {len(cloud)}", prim=prim, remedy="add points")
    _spanning_simplex(cloud, prim)
    hull = _qhull(cloud, prim)
    if max_vertices is not None and len(hull.vertices) > max_vertices:
        corners = _thin_out(cloud[hull.vertices], _CANDIDATES * max_vertices)
        cloud = corners[_spread(corners, _spanning_simplex(corners, prim), max_vertices)]
        hull = _qhull(cloud, prim)
    return _outward_mesh(cloud, hull)


def _spanning_simplex(points: Array, prim: str | None) -> list[int]:
    """Return four points that span the set: each the farthest from the point, line or plane of those before it."""
    centred = points - points.mean(axis=0)
    first = int(np.argmax(np.einsum("ni,ni->n", centred, centred)))
    offset = points - points[first]
    distance = np.linalg.norm(offset, axis=-1)
    second = int(np.argmax(distance))
    size = distance[second]
    along = offset[second] / (size if size > 0.0 else 1.0)
    off_line = offset - (offset @ along)[:, None] * along
    distance = np.linalg.norm(off_line, axis=-1)
    third = int(np.argmax(distance))
    if distance[third] <= _FLAT * size:
        raise _flat("on a line" if size > 0.0 else "at one place", prim)
    height = np.abs(offset @ np.cross(along, off_line[third] / distance[third]))
    fourth = int(np.argmax(height))
    if height[fourth] <= _FLAT * size:
        raise _flat("in a plane", prim)
    return [first, second, third, fourth]


def _flat(where: str, prim: str | None) -> UsdSimError:
    remedy = "give the points thickness, or approximate the shape by a thin box"
    return UsdSimError(f"all points of the convex hull lie {where}", prim=prim, remedy=remedy)


def _thin_out(points: Array, count: int) -> Array:
    """Return at most ``count`` of the points, where there are more: the extreme ones in evenly spread directions."""
    if len(points) <= count:
        return points
    # directions on a Fibonacci spiral, for points stretched to a cube, so that slender sets are seen from all sides
    turn = np.pi * (3.0 - np.sqrt(5.0)) * np.arange(count)
    height = 1.0 - (2.0 * np.arange(count) + 1.0) / count
    ring = np.sqrt(1.0 - height**2)
    directions = np.stack([ring * np.cos(turn), ring * np.sin(turn), height], axis=-1) / np.ptp(points, axis=0)
    extreme = [
        np.argmax(points @ directions[start : start + _DIRECTIONS_AT_A_TIME].T, axis=0)
        for start in range(0, count, _DIRECTIONS_AT_A_TIME)
    ]
    return points[np.unique(np.concatenate(extreme))]


def _spread(points: Array, start: list[int], count: int) -> list[int]:
    """Return at most ``count`` of the points: after ``start``, always the one farthest outside those before it."""
    chosen = list(start)
    hull = _scipy_spatial().ConvexHull(points[chosen], incremental=True)
    while len(chosen) < min(count, len(points)):
        normals, offsets = hull.equations[:, :3], hull.equations[:, 3]
        outside = np.max(points @ normals.T + offsets, axis=-1)
        outside[chosen] = -np.inf
        chosen.append(int(np.argmax(outside)))
        hull.add_points(points[chosen[-1:]])
    hull.close()
    return chosen


def _outward_mesh(points: Array, hull: Any) -> Mesh:
    """Return the facets of a hull, turned after the outward normals that Qhull states beside them."""
    used, triangles = np.unique(hull.simplices, return_inverse=True)
    corners, triangles = points[used], triangles.reshape(-1, 3)
    a, b, c = corners[triangles].transpose(1, 0, 2)
    inward = np.einsum("ti,ti->t", np.cross(b - a, c - a), hull.equations[:, :3]) < 0.0
    triangles[inward] = triangles[inward, ::-1]
    return Mesh(corners, triangles)


def _qhull(points: Array, prim: str | None) -> Any:
    spatial = _scipy_spatial()
    try:
        return spatial.ConvexHull(points)
    except spatial.QhullError as error:
        reason = str(error).strip().splitlines()[0]
        raise UsdSimError(f"no convex hull: {reason}", prim=prim, remedy="check the points of the mesh") from None


def _scipy_spatial() -> ModuleType:
    """Import scipy's hulls when the first one is made."""
    try:
        import scipy.spatial
    except ImportError:
        raise UsdSimError("convex hulls need SciPy", remedy="pip install scipy") from None
    return scipy.spatial
