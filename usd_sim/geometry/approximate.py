"""Slow approximations of meshes: convex decomposition and simplification, kept on disk by content."""

from __future__ import annotations

import importlib
from importlib.metadata import version
from types import ModuleType

import numpy as np

from usd_sim.errors import UsdSimError
from usd_sim.geometry.cache import cached_arrays, content_key
from usd_sim.geometry.hull import convex_hull
from usd_sim.geometry.mesh import Mesh

__all__ = ["CONCAVITY", "KEPT_FACES", "convex_parts", "simplified"]

CONCAVITY = 0.05
"""Concavity, relative to the size of the mesh, below which a part counts as convex; CoACD's own choice."""

KEPT_FACES = 0.5
"""Share of the triangles that simplification keeps where nothing else is asked for."""

_FEW_FACES = 12
"""Meshes of no more triangles than a box are not simplified."""


def convex_parts(
    mesh: Mesh, *, max_parts: int | None = None, max_hull_vertices: int | None = None, prim: str | None = None
) -> list[Mesh]:
    """Return convex meshes that together stand for a mesh, by collision-aware convex decomposition (CoACD).

    Args:
        mesh: What to decompose.
        max_parts: Most parts; None for as many as the concavity asks for.
        max_hull_vertices: Most vertices of each part, at least 4; None for no limit.
        prim: Path of the prim, for messages.

    Raises:
        UsdSimError: CoACD is not installed, or cannot decompose the mesh.
    """
    coacd = _optional("coacd", "convex decomposition", prim)
    limit = max(max_hull_vertices, 4) if max_hull_vertices else None
    key = content_key(
        mesh.content_hash, coacd=version("coacd"), concavity=CONCAVITY, parts=max_parts, vertices=limit, layout=1
    )

    def compute() -> list[np.ndarray]:
        convex_hull(mesh.vertices, prim=prim)  # says so where the mesh has no volume
        coacd.set_log_level("error")
        options = {} if limit is None else {"decimate": True, "max_ch_vertex": limit}
        try:
            parts = coacd.run_coacd(
                coacd.Mesh(mesh.vertices, mesh.indices), CONCAVITY, max_convex_hull=max_parts or -1, **options
            )
        except (RuntimeError, ValueError) as error:
            raise UsdSimError(f"no convex decomposition: {error}", prim=prim, remedy="check the mesh") from None
        return [np.asarray(array) for part in parts for array in part]

    arrays = cached_arrays("convex_parts", key, compute)
    parts = [
        Mesh(points, triangles, prim=prim, max_hull_vertices=limit)
        for points, triangles in zip(arrays[::2], arrays[1::2], strict=True)
    ]
    if not parts:
        raise UsdSimError("no convex decomposition: the mesh has no volume", prim=prim, remedy="check the mesh")
    return parts


def simplified(mesh: Mesh, *, keep: float = KEPT_FACES, prim: str | None = None) -> Mesh:
    """Return a mesh of fewer triangles, by quadric edge collapse (fast-simplification).

    Args:
        mesh: What to simplify; meshes of a dozen triangles stay as they are.
        keep: Share of the triangles to keep, above 0 and at most 1.
        prim: Path of the prim, for messages.

    Raises:
        UsdSimError: fast-simplification is not installed.
    """
    if mesh.triangle_count <= _FEW_FACES or keep >= 1.0:
        return mesh
    library = _optional("fast_simplification", "mesh simplification", prim)
    key = content_key(mesh.content_hash, library=version("fast-simplification"), keep=float(keep), layout=1)

    def compute() -> list[np.ndarray]:
        points, triangles = library.simplify(mesh.vertices.copy(), mesh.indices.copy(), target_reduction=1.0 - keep)[:2]
        return [np.asarray(points, np.float64), np.asarray(triangles, np.int32)]

    points, triangles = cached_arrays("simplified", key, compute)
    return Mesh(points, triangles, prim=prim, max_hull_vertices=mesh.max_hull_vertices)


def _optional(module: str, purpose: str, prim: str | None) -> ModuleType:
    try:
        return importlib.import_module(module)
    except ImportError:
        name = module.replace("_", "-")
        raise UsdSimError(
            f"{purpose} needs the package {name}", prim=prim, remedy="pip install usd-sim[meshes]"
        ) from None
