"""Triangle meshes: volume and surface integrals, topology checks, scaling, and triangulation of polygons."""

from __future__ import annotations

import hashlib
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from usd_sim.errors import UsdSimError
from usd_sim.geometry.inertia import MassProperties, check_thickness, inertia_from_second_moment
from usd_sim.geometry.polygons import clip_ears, folded_fans

__all__ = ["Mesh", "triangulate"]

Array = NDArray[np.float64]
Moments = tuple[float, Array, Array]
"""Measure, first moment ``(3,)`` and second moment ``(3, 3)`` about the origin."""


class Mesh:
    """A triangle mesh. It does not change once made; what is derived from it is computed when first asked for.

    Args:
        vertices: Points [m], ``(v, 3)``.
        indices: Triangles, counter-clockwise seen from outside, ``(t, 3)`` or flat.
        prim: Path of the prim it comes from, for messages.
        max_hull_vertices: Largest number of vertices of its convex hull in collisions; None for all.

    Attributes:
        vertices: Points, float64, read-only.
        indices: Triangles, int32, read-only.
        max_hull_vertices: As given.

    Raises:
        UsdSimError: A point is not finite, an index is out of range, or the shapes do not fit.
    """

    def __init__(
        self,
        vertices: ArrayLike,
        indices: ArrayLike,
        *,
        prim: str | None = None,
        max_hull_vertices: int | None = None,
    ):
        self.max_hull_vertices = max_hull_vertices
        self.vertices = _as_points(vertices, prim)
        self.indices = _as_triangles(indices, len(self.vertices), prim)
        self.vertices.flags.writeable = False
        self.indices.flags.writeable = False

    @classmethod
    def from_polygons(
        cls,
        points: ArrayLike,
        face_vertex_counts: ArrayLike,
        face_vertex_indices: ArrayLike,
        *,
        hole_indices: ArrayLike | None = None,
        left_handed: bool = False,
        prim: str | None = None,
    ) -> Mesh:
        """Make a mesh of polygons; the arguments are those of :func:`triangulate`."""
        points = np.asarray(points, np.float64).reshape(-1, 3)
        triangles = triangulate(
            face_vertex_counts,
            face_vertex_indices,
            hole_indices=hole_indices,
            left_handed=left_handed,
            vertex_count=len(points),
            points=points,
            prim=prim,
        )
        return cls(points, triangles, prim=prim)

    @property
    def vertex_count(self) -> int:
        """Number of points."""
        return len(self.vertices)

    @property
    def triangle_count(self) -> int:
        """Number of triangles."""
        return len(self.indices)

    def __repr__(self) -> str:
        return f"Mesh({self.vertex_count} vertices, {self.triangle_count} triangles)"

    @cached_property
    def bounds(self) -> tuple[Array, Array]:
        """Smallest and largest coordinates of the points, ``(3,)`` each [m]; zeros without points."""
        if not self.vertex_count:
            return np.zeros(3), np.zeros(3)
        return self.vertices.min(axis=0), self.vertices.max(axis=0)

    @cached_property
    def content_hash(self) -> str:
        """Digest of points and triangles, the same on every machine and in every run."""
        digest = hashlib.blake2b(digest_size=16)
        digest.update(np.array([self.vertex_count, self.triangle_count], "<i8").tobytes())
        digest.update((self.vertices + 0.0).astype("<f8").tobytes())  # + 0.0 makes -0.0 and 0.0 the same
        digest.update(self.indices.astype("<i4").tobytes())
        return digest.hexdigest()

    # --- topology

    @cached_property
    def _edge_uses(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """How often each edge is walked forward and backward, ``(e,)`` each.

        Points at the same place count as one (seams and triangle soups are split there), triangles without area as
        none.
        """
        ids = _weld(self.vertices)[self.indices]
        a, b, c = ids.T
        ids = ids[(a != b) & (b != c) & (c != a)]
        start, end = ids.ravel(), np.roll(ids, -1, axis=1).ravel()
        low, high = np.minimum(start, end), np.maximum(start, end)
        _, edge = np.unique(low * np.int64(max(self.vertex_count, 1)) + high, return_inverse=True)
        forward = start < end
        count = int(edge.max(initial=-1)) + 1
        return np.bincount(edge[forward], minlength=count), np.bincount(edge[~forward], minlength=count)

    @cached_property
    def is_closed(self) -> bool:
        """Whether every edge is shared by two triangles (four, six, … where surfaces touch); not if there are none."""
        forward, backward = self._edge_uses
        return len(forward) > 0 and bool(np.all((forward + backward) % 2 == 0))

    @cached_property
    def is_consistently_oriented(self) -> bool:
        """Whether neighbouring triangles walk their common edge in opposite directions."""
        forward, backward = self._edge_uses
        return bool(np.all(np.abs(forward - backward) <= 1))

    @cached_property
    def is_watertight(self) -> bool:
        """Whether the mesh is closed and consistently oriented, so that its volume integrals mean something.

        Then they do not depend on the origin. An inside-out mesh is watertight, too.
        """
        return self.is_closed and self.is_consistently_oriented

    # --- mass

    @cached_property
    def _solid_moments(self) -> Moments:
        """Signed moments of the enclosed volume, about the middle of the bounds.

        Each triangle spans a signed tetrahedron with the origin; by the divergence theorem their sum is the integral
        over the volume (Mirtich, "Fast and Accurate Computation of Polyhedral Mass Properties", J. Graphics Tools 1(2),
        1996). The second moment of a tetrahedron with corners 0, a, b, c is V / 20 (a aᵀ + b bᵀ + c cᵀ + s sᵀ), s = a +
        b + c.
        """
        corners = self._centred_corners
        volume = np.einsum("ti,ti->t", corners[:, 0], np.cross(corners[:, 1], corners[:, 2])) / 6.0
        total = corners.sum(axis=1)
        return float(volume.sum()), volume @ total / 4.0, _second_moment(corners, total, volume / 20.0)

    @cached_property
    def _shell_moments(self) -> Moments:
        """Moments of the surface, about the middle of the bounds; exact for flat triangles."""
        corners = self._centred_corners
        normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        area = 0.5 * np.linalg.norm(normal, axis=-1)
        total = corners.sum(axis=1)
        return float(area.sum()), area @ total / 3.0, _second_moment(corners, total, area / 12.0)

    @property
    def _centre(self) -> Array:
        return 0.5 * (self.bounds[0] + self.bounds[1])

    @property
    def _centred_corners(self) -> Array:
        """Corners of the triangles relative to the middle of the bounds, which keeps the sums well conditioned."""
        return (self.vertices - self._centre)[self.indices]

    @property
    def signed_volume(self) -> float:
        """Enclosed volume [m³]; negative where the mesh is inside out, meaningless where it is not watertight."""
        return self._solid_moments[0]

    @property
    def area(self) -> float:
        """Area of the surface [m²]."""
        return self._shell_moments[0]

    @property
    def solid_mass_properties(self) -> MassProperties:
        """Mass properties of the enclosed volume: a number, ``(3,)`` and ``(3, 3)``.

        An inside-out mesh gives the same as its mirror in orientation. A mesh without volume gives zeros, centred on
        its bounds.
        """
        return _single(self.mass_properties(is_solid=True))

    @property
    def shell_mass_properties(self) -> MassProperties:
        """Mass properties of the surface at thickness 1 (multiply volume and inertia by the thickness)."""
        return _single(self.mass_properties(is_solid=False, thickness=1.0))

    def mass_properties(
        self, *, scale: ArrayLike = (1.0, 1.0, 1.0), is_solid: ArrayLike = True, thickness: ArrayLike = 0.0
    ) -> MassProperties:
        """Return the mass properties at density 1 of n scaled copies.

        Args:
            scale: Signed factors along the axes, ``(n, 3)`` or ``(3,)``.
            is_solid: Filled, or a thin shell, ``(n,)`` or one for all.
            thickness: Thickness of the wall of shells [m], ``(n,)`` or one for all; not read for solids.

        Raises:
            UsdSimError: The thickness of a shell is negative or not finite.
        """
        scale = np.atleast_2d(np.asarray(scale, np.float64))
        n = len(scale)
        solid = np.broadcast_to(np.asarray(is_solid, np.bool_), n)
        thickness = np.broadcast_to(np.asarray(thickness, np.float64), n)
        volume, first, second = np.zeros(n), np.zeros((n, 3)), np.zeros((n, 3, 3))
        if solid.any():
            # a volume integral scales with the determinant and with the factors of its coordinates
            v, f, s = self._solid_moments
            sign = -1.0 if v < 0.0 else 1.0
            volume[solid] = sign * v
            first[solid], second[solid] = sign * f, sign * s
        factor = np.where(solid, np.abs(scale.prod(axis=-1)), thickness)
        if not solid.all():
            check_thickness(thickness[~solid])
            # areas do not scale evenly: integrate once per different scale
            shells = np.flatnonzero(~solid)
            different, which = np.unique(np.abs(scale[shells]), axis=0, return_inverse=True)
            for i, row in enumerate(different):
                rows = shells[which.ravel() == i]
                volume[rows], first[rows], second[rows] = self._unscaled_shell(row)
        empty = volume == 0.0
        offset = first / np.where(empty, 1.0, volume)[:, None]
        second *= scale[:, :, None] * scale[:, None, :]
        volume = volume * factor
        inertia = inertia_from_second_moment(volume, offset * scale, second * factor[:, None, None])
        inertia[empty] = 0.0
        return MassProperties(volume, (self._centre + offset) * scale, inertia)

    def _unscaled_shell(self, scale: Array) -> Moments:
        """Return the area of the scaled mesh, and its moments with the factors of the coordinates left out."""
        if np.all(scale == 1.0):
            return self._shell_moments
        corners = self._centred_corners
        scaled = corners * scale
        normal = np.cross(scaled[:, 1] - scaled[:, 0], scaled[:, 2] - scaled[:, 0])
        area = 0.5 * np.linalg.norm(normal, axis=-1)
        total = corners.sum(axis=1)
        return float(area.sum()), area @ total / 3.0, _second_moment(corners, total, area / 12.0)

    def scaled(self, scale: ArrayLike) -> Mesh:
        """Return the mesh with its points multiplied by ``scale (3,)``; a mirroring scale turns the triangles round."""
        scale = np.broadcast_to(np.asarray(scale, np.float64), 3)
        indices = self.indices[:, ::-1] if scale.prod() < 0.0 else self.indices
        return Mesh(self.vertices * scale, indices)

    def without_unused_points(self) -> Mesh:
        """Return the mesh with only the points that its triangles use, in their order."""
        used = np.zeros(self.vertex_count, np.bool_)
        used[self.indices] = True
        if used.all():
            return self
        number = np.cumsum(used) - 1
        return Mesh(self.vertices[used], number[self.indices], max_hull_vertices=self.max_hull_vertices)


def triangulate(
    face_vertex_counts: ArrayLike,
    face_vertex_indices: ArrayLike,
    *,
    hole_indices: ArrayLike | None = None,
    left_handed: bool = False,
    vertex_count: int | None = None,
    points: ArrayLike | None = None,
    prim: str | None = None,
) -> NDArray[np.int32]:
    """Cut polygons into triangles, as fans from their first corner. Faces of fewer than three corners are dropped.

    Where the points are given, polygons whose fans would fold over are cut in another way. Without them a fan follows a
    polygon that is not convex only in the signed sense: volumes stay right, areas come out too large.

    Args:
        face_vertex_counts: Corners of each face, ``(f,)``.
        face_vertex_indices: Point of each corner, face after face.
        hole_indices: Faces to leave out.
        left_handed: Faces are clockwise seen from outside; their triangles are turned round.
        vertex_count: Number of points, to check the indices against; they are always checked not to be negative.
        points: Points, ``(v, 3)``.
        prim: Path of the prim, for messages.

    Returns:
        Triangles ``(t, 3)``, in the order of the faces.

    Raises:
        UsdSimError: The counts do not add up to the number of indices, or an index is out of range.
    """
    counts = np.asarray(face_vertex_counts, np.int64).ravel()
    corners = np.asarray(face_vertex_indices, np.int64).ravel()
    if np.any(counts < 0) or counts.sum() != len(corners):
        raise UsdSimError(
            f"faceVertexCounts ask for {counts.sum()} indices, faceVertexIndices has {len(corners)}",
            prim=prim,
            remedy="make the counts add up to the number of indices",
        )
    _check_range(corners, vertex_count, "faceVertexIndices", "points", prim)
    starts = np.cumsum(counts) - counts
    triangle_counts = np.maximum(counts - 2, 0)
    if hole_indices is not None:
        holes = np.asarray(hole_indices, np.int64).ravel()
        _check_range(holes, len(counts), "holeIndices", "faces", prim)
        triangle_counts[holes] = 0
    # position of each triangle within its fan
    step = np.arange(triangle_counts.sum()) - np.repeat(np.cumsum(triangle_counts) - triangle_counts, triangle_counts)
    first = np.repeat(starts, triangle_counts)
    second = first + step + 1
    positions = np.stack([first, second, second + 1], axis=-1)
    if points is not None and np.any(triangle_counts > 1):
        _unfold(positions, corners, starts, counts, triangle_counts, np.asarray(points, np.float64))
    return corners[positions[:, [0, 2, 1]] if left_handed else positions].astype(np.int32)


def _unfold(
    positions: NDArray[np.int64],
    corners: NDArray[np.int64],
    starts: NDArray[np.int64],
    counts: NDArray[np.int64],
    triangle_counts: NDArray[np.int64],
    points: Array,
) -> None:
    """Cut the polygons anew whose fans fold over.

    Args:
        positions: Place in ``corners`` of the corners of each triangle, ``(t, 3)``, written.
        corners: Point of each corner.
        starts: First corner of each face.
        counts: Corners of each face.
        triangle_counts: Triangles of each face.
        points: Points, ``(v, 3)``.
    """
    if not np.isfinite(points).all():
        return
    face = np.repeat(np.arange(len(counts)), triangle_counts)
    first = np.cumsum(triangle_counts) - triangle_counts
    for i in folded_fans(points[corners[positions]], face, len(counts)).tolist():
        own = corners[starts[i] : starts[i] + counts[i]]
        positions[first[i] : first[i] + triangle_counts[i]] = starts[i] + clip_ears(points[own])


def _as_points(vertices: ArrayLike, prim: str | None) -> Array:
    points = np.array(vertices, np.float64, order="C")
    if points.size == 0:
        points = points.reshape(0, 3)
    if points.ndim != 2 or points.shape[1] != 3:
        raise UsdSimError(f"points have the shape {points.shape}", prim=prim, remedy="give three coordinates per point")
    bad = np.flatnonzero(~np.isfinite(points).all(axis=-1))
    if len(bad):
        raise UsdSimError(f"point {bad[0]} is not finite", prim=prim, remedy="replace NaN and infinite coordinates")
    return points


def _as_triangles(indices: ArrayLike, vertex_count: int, prim: str | None) -> NDArray[np.int32]:
    triangles = np.asarray(indices)
    if triangles.size % 3:
        raise UsdSimError(f"{triangles.size} triangle indices", prim=prim, remedy="give three indices per triangle")
    _check_range(triangles, vertex_count, "triangle indices", "points", prim)
    return np.array(triangles, np.int32, order="C").reshape(-1, 3)


def _check_range(indices: NDArray, count: int | None, name: str, of: str, prim: str | None) -> None:
    """Raise where an index is negative or not below the count."""
    if not indices.size:
        return
    low, high = int(indices.min()), int(indices.max())
    if low < 0 or (count is not None and high >= count):
        wrong = low if low < 0 else high
        among = f" of {count} {of}" if count is not None else ""
        remedy = f"point only to {of} that exist"
        raise UsdSimError(f"{name} holds {wrong}, out of range{among}", prim=prim, remedy=remedy)


def _second_moment(corners: Array, total: Array, weight: Array) -> Array:
    """Return the weighted sum of a aᵀ + b bᵀ + c cᵀ + s sᵀ over triangles a, b, c with s = a + b + c."""
    points = np.concatenate([corners, total[:, None]], axis=1).reshape(-1, 3)
    return (points * np.repeat(weight, 4)[:, None]).T @ points


def _weld(vertices: Array) -> NDArray[np.int64]:
    """Return a number for each point, ``(v,)``, the same for points at the same place."""
    order = np.lexsort(vertices.T)
    ordered = vertices[order]
    new = np.any(ordered[1:] != ordered[:-1], axis=-1)
    out = np.zeros(len(vertices), np.int64)
    out[order[1:]] = np.cumsum(new)
    return out


def _single(properties: MassProperties) -> MassProperties:
    return MassProperties(*(value[0] for value in properties))
