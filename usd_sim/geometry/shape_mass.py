"""Mass properties of shapes of every type: closed forms for primitives, volume integrals for meshes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from usd_sim.errors import UsdSimError
from usd_sim.geometry.hull import convex_hull
from usd_sim.geometry.inertia import MassProperties, shape_mass_properties
from usd_sim.geometry.mesh import Mesh
from usd_sim.geometry.types import GeoType

__all__ = ["DEFAULT_SHELL_THICKNESS", "all_mass_properties", "solid_mesh"]

DEFAULT_SHELL_THICKNESS = 1.0
"""Wall of shells that state none [m]: their density is then a mass per area, as in MuJoCo's ``shellinertia``."""


def all_mass_properties(
    geo_type: np.ndarray,
    scale: np.ndarray,
    is_solid: np.ndarray,
    thickness: np.ndarray,
    sources: Sequence[Any],
) -> MassProperties:
    """Return the mass properties at density 1 of shapes of any type, in their own frames.

    Args:
        geo_type: GeoType of each shape (n,).
        scale: Sizes, see ``shape_scale`` (n, 3) [m].
        is_solid: Filled, or a thin shell (n,).
        thickness: Wall of the shells (n,) [m].
        sources: Mesh of each mesh shape, anything for others (n,).
    """
    properties = shape_mass_properties(geo_type, scale, is_solid, thickness)
    meshes = np.flatnonzero(np.isin(geo_type, (GeoType.MESH, GeoType.CONVEX_MESH)))
    groups: dict[tuple[int, bool, bool], list[int]] = {}
    for i in meshes.tolist():
        groups.setdefault((id(sources[i]), geo_type[i] == GeoType.CONVEX_MESH, bool(is_solid[i])), []).append(i)
    for (_, convex, solid), members in groups.items():
        mesh = sources[members[0]]
        if solid:
            mesh = solid_mesh(mesh, convex=convex)
        part = mesh.mass_properties(scale=scale[members], is_solid=is_solid[members], thickness=thickness[members])
        for target, value in zip(properties, part, strict=True):
            target[members] = value
    return properties


def solid_mesh(mesh: Mesh, *, convex: bool) -> Mesh:
    """Return the mesh whose volume stands for a mesh shape: its hull where it is convex or leaks, else itself.

    A flat or degenerate mesh that has no hull stands for itself.
    """
    if not convex and mesh.is_watertight:
        return mesh
    try:
        return convex_hull(mesh.vertices)
    except UsdSimError:
        return mesh
