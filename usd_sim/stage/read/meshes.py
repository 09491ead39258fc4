"""Mesh colliders: points and faces, and what stands for them in collisions."""

from __future__ import annotations

from typing import Any

import numpy as np
from pxr import Usd, UsdGeom

from usd_sim.errors import UsdSimError
from usd_sim.geometry import transforms as tf
from usd_sim.geometry.mesh import Mesh
from usd_sim.geometry.types import GeoType
from usd_sim.stage.read.scan import Scan

__all__ = ["MeshReader"]

_AS_HULL = {"convexHull", "convexDecomposition"}
_AS_MESH = {"none", "meshSimplification", "sdf"}
_NOTES = {
    "convexDecomposition": "convex decomposition is not supported yet; one convex hull is used",
    "meshSimplification": "mesh simplification is not supported yet; the whole mesh is used",
    "sdf": "signed distance fields are not supported yet; the mesh itself is used",
}


class MeshReader:
    """Reads the meshes of colliders; equal meshes are kept once.

    Args:
        scan: What was found on the stage.
    """

    def __init__(self, scan: Scan):
        self.scan = scan
        self._by_path: dict[str, Mesh] = {}
        self._by_prototype: dict[str, Mesh | None] = {}
        self._by_content: dict[str, Mesh] = {}

    def load(self, path: str) -> bool:
        """Read one mesh and return whether it can be a collider; if not, the report says why."""
        prim = self.scan.prim(path)
        prototype = str((prim.GetPrimInPrototype() if prim.IsInstanceProxy() else prim).GetPath())
        if prototype not in self._by_prototype:
            self._by_prototype[prototype] = self._read(prim, path)
        mesh = self._by_prototype[prototype]
        if mesh is not None:
            self._by_path[path] = mesh
        return mesh is not None

    def _read(self, prim: Usd.Prim, path: str) -> Mesh | None:
        geometry, time = UsdGeom.Mesh(prim), self.scan.time
        points = geometry.GetPointsAttr().Get(time)
        counts = geometry.GetFaceVertexCountsAttr().Get(time)
        indices = geometry.GetFaceVertexIndicesAttr().Get(time)
        if not points or not counts or not indices:
            self.scan.report.error(
                path, "the mesh collider has no points or no faces", remedy="author them or remove PhysicsCollisionAPI"
            )
            return None
        try:
            mesh = Mesh.from_polygons(
                np.asarray(points, dtype=float),
                np.asarray(counts),
                np.asarray(indices),
                hole_indices=geometry.GetHoleIndicesAttr().Get(time),
                left_handed=geometry.GetOrientationAttr().Get(time) == "leftHanded",
                prim=path,
            )
        except UsdSimError as error:
            self.scan.report.error(path, error.message, remedy=error.remedy or "")
            return None
        limit = int(self.scan.number(path, ("newton:maxHullVertices", "mjc:maxhullvert"), -1.0))
        if limit > 0:
            mesh = Mesh(mesh.vertices, mesh.indices, prim=path, max_hull_vertices=limit)
        return self._by_content.setdefault(f"{mesh.content_hash} {limit}", mesh)

    def place(
        self,
        rows: np.ndarray,
        paths: list[str],
        kind: np.ndarray,
        pose: np.ndarray,
        size: np.ndarray,
        source: list[Any],
        scale: np.ndarray,
    ) -> None:
        """Fill in kind, pose, sizes and source of the mesh colliders in some rows.

        Args:
            rows: Rows to fill.
            paths: Prims of these rows.
            kind: GeoType of every shape (n,), written.
            pose: Pose of every shape in world (n, 7) [m], written where a bounding shape has its own centre.
            size: Sizes of every shape (n, 3), written.
            source: Mesh of every shape, written.
            scale: Scale of every prim in world (n, 3), with its sign.
        """
        unit = self.scan.units.factor("m")
        for row, path in zip(rows, paths, strict=True):
            mesh = self._by_path[path]
            approximation = str(self.scan.value(path, "physics:approximation", "none"))
            if approximation in _NOTES:
                self.scan.report.approximate(path, _NOTES[approximation], property="physics:approximation")
            if approximation in ("boundingCube", "boundingSphere"):
                self._bound(row, mesh, approximation, kind, pose, size, scale[row] * unit)
                continue
            if approximation not in _AS_HULL | _AS_MESH:
                self.scan.report.approximate(
                    path,
                    f"{approximation!r} is not a known approximation; the mesh itself is used",
                    property="physics:approximation",
                )
            kind[row] = GeoType.CONVEX_MESH if approximation in _AS_HULL else GeoType.MESH
            size[row], source[row] = scale[row] * unit, mesh

    @staticmethod
    def _bound(
        row: int, mesh: Mesh, how: str, kind: np.ndarray, pose: np.ndarray, size: np.ndarray, scale: np.ndarray
    ) -> None:
        lower, upper = mesh.bounds
        centre, half = 0.5 * (lower + upper) * scale, 0.5 * (upper - lower) * np.abs(scale)
        pose[row, :3] += tf.quat_rotate(pose[row, 3:], centre)
        if how == "boundingCube":
            kind[row], size[row] = GeoType.BOX, half
        else:
            radius = np.linalg.norm(mesh.vertices * scale - centre, axis=1).max()
            kind[row], size[row] = GeoType.SPHERE, (radius, 0.0, 0.0)
