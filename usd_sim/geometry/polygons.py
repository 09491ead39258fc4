"""Polygons that are not convex, cut into triangles."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["clip_ears", "folded_fans"]

Array = NDArray[np.float64]
Int = NDArray[np.int64]


def folded_fans(corners: Array, face: Int, face_count: int) -> Int:
    """Return the faces whose fans of triangles fold over, because the face is not seen whole from its first corner.

    Args:
        corners: Corners of the triangles of all fans (t, 3, 3).
        face: Face of each triangle (t,), in order.
        face_count: Number of faces.
    """
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    whole = np.stack([np.bincount(face, normal[:, axis], face_count) for axis in range(3)], axis=1)
    against = np.einsum("ti,ti->t", normal, whole[face])
    return np.unique(face[against < -1.0e-9 * np.einsum("fi,fi->f", whole, whole)[face]])


def clip_ears(points: Array) -> Int:
    """Return the triangles ``(k - 2, 3)`` of a polygon of k corners, by cutting off one convex corner after another.

    The polygon may be bent a little; it is cut as seen along its mean normal. Corners at one place (bridges to holes)
    are allowed. Where a polygon crosses itself, the triangles are some that use all corners.

    Args:
        points: Corners in order, ``(k, 3)``.
    """
    following = np.roll(points, -1, axis=0)
    normal = np.cross(points - points[0], following - points[0]).sum(axis=0)  # twice the area, by Newell's method
    drop = int(np.argmax(np.abs(normal)))
    flat = points[:, [(drop + 1) % 3, (drop + 2) % 3]] * (1.0, 1.0 if normal[drop] >= 0.0 else -1.0)
    left = list(range(len(points)))
    triangles = []
    while len(left) > 3:
        at = _ear(flat[left])
        triangles.append((left[at - 1], left[at], left[(at + 1) % len(left)]))
        del left[at]
    return np.array([*triangles, left], dtype=np.int64)


def _ear(polygon: Array) -> int:
    """Return a corner whose triangle with its neighbours lies inside the polygon; the most convex one if none does."""
    before, after = np.roll(polygon, 1, axis=0), np.roll(polygon, -1, axis=0)
    turn = _cross(polygon - before, after - polygon)
    for at in np.flatnonzero(turn > 0.0).tolist():
        a, b, c = before[at], polygon[at], after[at]
        inside = (_cross(b - a, polygon - a) >= 0.0) & (_cross(c - b, polygon - b) >= 0.0)
        inside &= _cross(a - c, polygon - c) >= 0.0
        corner = (polygon == a).all(axis=1) | (polygon == b).all(axis=1) | (polygon == c).all(axis=1)
        if not (inside & ~corner).any():
            return at
    return int(np.argmax(turn))


def _cross(a: Array, b: Array) -> Array:
    return a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]
