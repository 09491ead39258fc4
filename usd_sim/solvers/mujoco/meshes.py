"""Points of mesh shapes as MuJoCo's hull compiler takes them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from usd_sim.errors import UsdSimError

__all__ = ["SLAB", "cone_points", "hull_points"]

Array = NDArray[np.float64]

_FLAT = 1.0e-5
"""Thickness below which points count as flat, as a fraction of their extent; qhull fails on such sets."""

SLAB = 0.01
"""Thickness that flat meshes are given, as a fraction of their extent."""

_CONE_SEGMENTS = 32


def cone_points(radius: float, half_height: float) -> Array:
    """Return the points of a cone with its tip at +half_height: a base of 32 corners and the tip, ``(33, 3)``."""
    angle = np.arange(_CONE_SEGMENTS) * (2.0 * np.pi / _CONE_SEGMENTS)
    base = np.stack([radius * np.cos(angle), radius * np.sin(angle), np.full_like(angle, -half_height)], axis=1)
    return np.concatenate([base, [[0.0, 0.0, half_height]]])


def hull_points(mesh: Any, scale: Array, shape: str) -> Array:
    """Return scaled points whose convex hull has a volume.

    A flat mesh (a floor of one polygon, say) becomes a slab below the side that its triangles face.

    Args:
        mesh: Source with ``vertices`` (v, 3) and ``indices`` (t, 3).
        scale: Factors (3,).
        shape: Name of the shape for messages.

    Returns:
        Points ``(n, 3)`` [m].

    Raises:
        UsdSimError: The points span no area.
    """
    points = np.zeros((0, 3)) if mesh is None else np.asarray(mesh.vertices, np.float64).reshape(-1, 3)
    points = points[np.isfinite(points).all(axis=1)] * scale
    if len(points) < 3:
        raise UsdSimError(
            "the mesh collider has no points", prim=shape, remedy="give it points and faces, or turn its collision off"
        )
    centred = points - points.mean(axis=0)
    # principal directions from the 3x3 covariance; cheaper than a decomposition of all points
    normal = np.linalg.eigh(centred.T @ centred)[1][:, 0]
    extent = float(np.ptp(points, axis=0).max())
    if np.ptp(centred @ normal) > _FLAT * extent:
        return points
    across = np.linalg.eigh(centred.T @ centred)[1][:, 1]
    if extent == 0.0 or np.ptp(centred @ across) <= _FLAT * extent:
        raise UsdSimError("the points of the mesh collider span no area", prim=shape, remedy="turn its collision off")
    return np.concatenate([points, points - _facing(points, mesh, normal) * (SLAB * extent)])


def _facing(points: Array, mesh: Any, normal: Array) -> Array:
    """Return the normal on the side that the triangles face on the whole."""
    indices = np.asarray(mesh.indices, np.int64).reshape(-1, 3)
    if len(indices) and len(points) == len(mesh.vertices):
        a, b, c = points[indices].transpose(1, 0, 2)
        if np.cross(b - a, c - a).sum(axis=0) @ normal < 0:
            return -normal
    return normal
