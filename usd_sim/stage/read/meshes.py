"""Mesh colliders: points and faces, and what stands for them in collisions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from pxr import Usd, UsdGeom

from usd_sim.errors import UsdSimError
from usd_sim.geometry import transforms as tf
from usd_sim.geometry.approximate import convex_parts, simplified
from usd_sim.geometry.mesh import Mesh
from usd_sim.geometry.types import GeoType
from usd_sim.stage.read.bindings import subset_materials
from usd_sim.stage.read.parts import Parts
from usd_sim.stage.read.scan import Scan

__all__ = ["MeshReader"]

_AS_HULL = {"convexHull", "convexDecomposition"}
_AS_MESH = {"none", "meshSimplification", "sdf"}
_WHOLE = {"convexDecomposition", "boundingCube", "boundingSphere"}

_HULL_LIMITS = ("newton:maxHullVertices", "mjc:maxhullvert")
_PHYSX_LIMITS = {
    "convexHull": ("PhysxConvexHullCollisionAPI", "physxConvexHullCollision:hullVertexLimit"),
    "convexDecomposition": (
        "PhysxConvexDecompositionCollisionAPI",
        "physxConvexDecompositionCollision:hullVertexLimit",
    ),
}
_PHYSX_HULL_VERTICES = 64.0
_PHYSX_MAX_PARTS = 32.0
"""What PhysX takes where its schema is applied and states nothing."""


@dataclass
class _Polygons:
    """A mesh as authored."""

    points: np.ndarray
    counts: np.ndarray
    indices: np.ndarray
    holes: np.ndarray
    left_handed: bool

    def mesh(self, path: str, faces: np.ndarray | None = None) -> Mesh:
        """Return the triangles of all faces that are no holes, or of some of them, and the points they use."""
        holes = self.holes
        if faces is not None:
            holes = np.union1d(holes, np.setdiff1d(np.arange(len(self.counts)), faces))
        return Mesh.from_polygons(
            self.points, self.counts, self.indices, hole_indices=holes, left_handed=self.left_handed, prim=path
        ).without_unused_points()


class MeshReader:
    """Reads the meshes of colliders; equal meshes are kept once.

    Args:
        scan: What was found on the stage.
    """

    def __init__(self, scan: Scan):
        self.scan = scan
        self._by_path: dict[str, Mesh] = {}
        self._by_prototype: dict[str, Mesh | None] = {}
        self._by_content: dict[tuple[str, int], Mesh] = {}
        self._derived: dict[tuple[Any, ...], list[Mesh] | UsdSimError] = {}

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

    def _polygons(self, prim: Usd.Prim) -> _Polygons | None:
        geometry, time = UsdGeom.Mesh(prim), self.scan.time
        points = geometry.GetPointsAttr().Get(time)
        counts = geometry.GetFaceVertexCountsAttr().Get(time)
        indices = geometry.GetFaceVertexIndicesAttr().Get(time)
        if not points or not counts or not indices:
            return None
        return _Polygons(
            np.asarray(points, dtype=float),
            np.asarray(counts),
            np.asarray(indices),
            np.asarray(geometry.GetHoleIndicesAttr().Get(time) or (), dtype=int),
            geometry.GetOrientationAttr().Get(time) == "leftHanded",
        )

    def _read(self, prim: Usd.Prim, path: str) -> Mesh | None:
        polygons = self._polygons(prim)
        try:
            mesh = polygons.mesh(path) if polygons else None
        except UsdSimError as error:
            self.scan.report.error(path, error.message, remedy=error.remedy or "")
            return None
        if mesh is None or mesh.triangle_count == 0:
            self.scan.report.error(
                path, "the mesh collider has no points or no faces", remedy="author them or remove PhysicsCollisionAPI"
            )
            return None
        return self._limited(mesh, path, self._approximation(path))

    def _approximation(self, path: str) -> str:
        return str(self.scan.value(path, "physics:approximation", "none"))

    def _limit(self, path: str, approximation: str) -> int:
        """Return the most vertices of a hull of the mesh; 0 for no limit."""
        schema, name = _PHYSX_LIMITS.get(approximation, ("", ""))
        applied = bool(schema) and self.scan.has(path, schema)
        names = (*_HULL_LIMITS, name) if applied else _HULL_LIMITS
        return int(max(self.scan.number(path, names, _PHYSX_HULL_VERTICES if applied else 0.0), 0.0))

    def _limited(self, mesh: Mesh, path: str, approximation: str) -> Mesh:
        """Return the mesh with the vertices of its hull limited; equal ones are one."""
        limit = self._limit(path, approximation)
        if limit:
            mesh = Mesh(mesh.vertices, mesh.indices, prim=path, max_hull_vertices=limit)
        return self._by_content.setdefault((mesh.content_hash, limit), mesh)

    def place(
        self,
        rows: np.ndarray,
        paths: list[str],
        kind: np.ndarray,
        pose: np.ndarray,
        size: np.ndarray,
        source: list[Any],
        scale: np.ndarray,
        materials: list[str],
        parts: dict[int, Parts],
    ) -> None:
        """Fill in kind, pose, sizes and source of the mesh colliders in some rows, and what they are split into.

        Args:
            rows: Rows to fill.
            paths: Prims of these rows.
            kind: GeoType of every shape (n,), written.
            pose: Pose of every shape in world (n, 7) [m], written where a bounding shape has its own centre.
            size: Sizes of every shape (n, 3), written.
            source: Mesh of every shape, written.
            scale: Scale of every prim in world (n, 3), with its sign.
            materials: Material of every shape, written where all faces use another.
            parts: Shapes of colliders of several, by row; written.
        """
        unit = self.scan.units.factor("m")
        for row, path in zip(rows.tolist(), paths, strict=True):
            mesh, approximation, factors = self._by_path[path], self._approximation(path), scale[row] * unit
            groups = self._groups(path, materials[row], approximation)
            if approximation in ("boundingCube", "boundingSphere"):
                self._bound(row, mesh, approximation, kind, pose, size, factors)
                continue
            if approximation not in _AS_HULL | _AS_MESH:
                self.scan.report.approximate(
                    path,
                    f"{approximation!r} is not a known approximation; the mesh itself is used",
                    property="physics:approximation",
                )
            kind[row] = GeoType.CONVEX_MESH if approximation in _AS_HULL else GeoType.MESH
            size[row], source[row] = factors, mesh
            if len(groups) == 1:
                materials[row] = groups[0][0]
            if len(groups) > 1:
                meshes = [self._collided(path, part, approximation)[0] for _, part in groups]
                parts[row] = Parts.of_meshes(kind[row], meshes, factors, material=[name for name, _ in groups])
                continue
            meshes = self._collided(path, mesh, approximation)
            if meshes != [mesh]:
                parts[row] = Parts.of_meshes(kind[row], meshes, factors, weigh=not mesh.is_watertight)
                kind[row] = GeoType.MESH  # which has the mass of the mesh itself

    def _groups(self, path: str, own: str, approximation: str) -> list[tuple[str, Mesh]]:
        """Return the parts of a mesh by physics material; empty where there is one for all."""
        prim = self.scan.prim(path)
        if not prim.GetAllChildrenNames():
            return []
        polygons = self._polygons(prim)
        assert polygons is not None
        groups = subset_materials(self.scan, path, own, len(polygons.counts))
        if len(groups) > 1 and approximation in _WHOLE:
            self.scan.report.approximate(
                path, f"subsets have no materials of their own with {approximation}", property="physics:approximation"
            )
            return []
        meshes = [(name, self._limited(polygons.mesh(path, faces), path, approximation)) for name, faces in groups]
        return [(name, mesh) for name, mesh in meshes if mesh.triangle_count]

    def _collided(self, path: str, mesh: Mesh, approximation: str) -> list[Mesh]:
        """Return the meshes that stand for one in collisions."""
        if approximation not in ("convexDecomposition", "meshSimplification"):
            return [mesh]
        most = self._most_parts(path)
        key = (id(mesh), approximation, most)
        if key not in self._derived:
            self._derived[key] = _derive(mesh, approximation, most, path)
        made = self._derived[key]
        if not isinstance(made, UsdSimError):
            return made
        instead = "one convex hull" if approximation == "convexDecomposition" else "the whole mesh"
        self.scan.report.approximate(
            path,
            f"{made.message}; {instead} is used",
            property="physics:approximation",
            remedy=made.remedy or "",
        )
        return [mesh]

    def _most_parts(self, path: str) -> int:
        if not self.scan.has(path, "PhysxConvexDecompositionCollisionAPI"):
            return 0
        return int(self.scan.number(path, ("physxConvexDecompositionCollision:maxConvexHulls",), _PHYSX_MAX_PARTS))

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


def _derive(mesh: Mesh, approximation: str, most: int, path: str) -> list[Mesh] | UsdSimError:
    try:
        if approximation == "meshSimplification":
            return [simplified(mesh, prim=path)]
        return convex_parts(mesh, max_parts=most or None, max_hull_vertices=mesh.max_hull_vertices, prim=path)
    except UsdSimError as error:
        return error
