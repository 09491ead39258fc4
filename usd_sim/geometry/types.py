"""Kinds of shapes, and what their three sizes mean."""

from __future__ import annotations

from enum import IntEnum

__all__ = ["GeoType"]


class GeoType(IntEnum):
    """Kind of a shape. The comment beside each states its ``shape_scale``; axes of revolution are the shape's +Z.

    Primitives are centred on the origin of the shape frame. Sizes are in metres and never negative.
    """

    NONE = 0
    """Nothing; takes no part in collision or mass."""
    PLANE = 1
    """``(width, length, 0)``: full lengths along X and Y, 0 for infinite; normal +Z."""
    HFIELD = 2
    """Height field: scale factors on the source."""
    SPHERE = 3
    """``(radius, 0, 0)``."""
    CAPSULE = 4
    """``(radius, half_height, 0)``: half the height of the cylindrical part."""
    ELLIPSOID = 5
    """``(rx, ry, rz)``: radii."""
    CYLINDER = 6
    """``(radius, half_height, 0)``."""
    BOX = 7
    """``(hx, hy, hz)``: half extents."""
    MESH = 8
    """Scale factors on the source's points."""
    CONE = 9
    """``(radius, half_height, 0)``: base at -half_height, apex at +half_height."""
    CONVEX_MESH = 10
    """Scale factors on the source's points, which are those of a convex hull."""
