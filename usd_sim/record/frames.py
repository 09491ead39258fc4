"""World poses to the local translations and rotations of prims, on arrays of all bodies and many frames.

Notation: matrices follow USD, points are row vectors, ``p_W = p_B A + x``. The linear part of a body prim's
local-to-world matrix is ``A = K R``, with R the body's rotation and K its stretch (scale, mirroring and shear of
the prim and of all above it), which is constant because the body is rigid. The prim's local matrix has the linear
part ``S Q``: S is the authored scale, Q the rotation that is written. With P the parent's linear part, ``S Q P = K
R``, so ``Q = S⁻¹ K R P⁻¹``.

Where P is constant and has no shear or unequal scale, ``S⁻¹ K`` and ``P⁻¹`` are rotations up to a factor (or both
mirror), and Q is two quaternion products. Elsewhere, under moving or unevenly scaled parents, Q is computed as a
matrix and the nearest rotation is taken.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from usd_sim.geometry.transforms import (
    compose_affine,
    decompose_affine,
    quat_conjugate,
    quat_multiply,
    quat_rotate,
    quat_to_matrix,
)

__all__ = ["LocalFrames", "LocalMotion", "ParentLayout", "keep_signs"]

Array = NDArray[np.float64]

_NO_SHEAR = 1.0e-6
"""Deviation up to which a matrix is taken as a rotation: above the roundings of float32 quaternions in the source."""

_VISIBLE_SHEAR = 1.0e-4
"""Cosine between two axes from which the user is told that a shear was dropped; below, it is not seen."""


@dataclass(frozen=True)
class ParentLayout:
    """What the bodies hang from; n bodies, lengths in stage units.

    Attributes:
        ancestor: Row of the nearest body above each, -1 without one, ``(n,)``.
        matrix: Parent prim to that body, or to the world, at the first sample, ``(n, 4, 4)``.
        animated: Whether that matrix changes with time, ``(n,)``.
        rest: Local to world of the body prims at the first sample, as authored, ``(n, 4, 4)``.
        scale: Scale of the local matrix that is kept, ``(n, 3)``.
    """

    ancestor: NDArray[np.int64]
    matrix: Array
    animated: NDArray[np.bool_]
    rest: Array
    scale: Array

    @classmethod
    def joined(cls, first: ParentLayout, second: ParentLayout) -> ParentLayout:
        """Return the bodies of two layouts in one; the ancestors of both are rows of the first."""
        names = ("ancestor", "matrix", "animated", "rest", "scale")
        return cls(*(np.concatenate([getattr(first, name), getattr(second, name)]) for name in names))


class LocalMotion(NamedTuple):
    """Motion in the space of the parent prims, ``(frames, n, ...)``; velocities None where not asked for.

    Attributes:
        translate: Translation [stage length].
        orient: Unit quaternions x, y, z, w.
        linear: Linear velocity [stage length/s].
        angular: Angular velocity [rad/s].
    """

    translate: Array
    orient: Array
    linear: Array | None = None
    angular: Array | None = None


@dataclass(frozen=True)
class _Rigid:
    """Bodies under constant parents without shear: ``Q = before R after``, a mirror's sign taken off both factors."""

    rows: NDArray[np.int64]
    origin: Array
    inverse: Array
    before: Array
    after: Array


class LocalFrames:
    """Converter from world poses of bodies to the local motion of their prims.

    Args:
        layout: What the bodies hang from.
        animated_matrices: Called with time codes ``(frames,)`` and rows ``(k,)`` of animated parents; returns their
            matrices ``(frames, k, 4, 4)``.

    Attributes:
        sheared: Rows whose pose could so far only be written as the nearest rotation.
    """

    def __init__(self, layout: ParentLayout, animated_matrices: Callable[[Array, NDArray[np.int64]], Array]):
        self._layout = layout
        self._animated_matrices = animated_matrices
        self.sheared: set[int] = set()
        rest = decompose_affine(layout.rest)
        stretch = layout.rest[:, :3, :3] @ quat_to_matrix(rest.rotation)
        scale = np.where(layout.scale == 0.0, 1.0, layout.scale)
        self._before = stretch / scale[:, :, None]
        self._has_children = np.zeros(len(layout.ancestor), bool)
        self._has_children[layout.ancestor[layout.ancestor >= 0]] = True
        self._groups = self._make_groups()

    def local(
        self,
        time_codes: Array,
        position: Array,
        rotation: Array,
        linear: Array | None = None,
        angular: Array | None = None,
    ) -> LocalMotion:
        """Return the local motion of all bodies.

        Args:
            time_codes: Time codes of the frames, ``(frames,)``.
            position: World positions [stage length], ``(frames, n, 3)``.
            rotation: World rotations x, y, z, w of unit length, ``(frames, n, 4)``.
            linear: World linear velocities [stage length/s], ``(frames, n, 3)``.
            angular: World angular velocities [rad/s], ``(frames, n, 3)``.
        """
        out = LocalMotion(
            np.empty_like(position),
            np.empty_like(rotation),
            None if linear is None else np.empty_like(linear),
            None if angular is None else np.empty_like(angular),
        )
        world = np.empty((*position.shape[:2], 4, 4)) if self._has_children.any() else None
        for group in self._groups:
            rows = group.rows if isinstance(group, _Rigid) else group
            if isinstance(group, _Rigid):
                self._rigid(group, position, rotation, linear, angular, out)
            else:
                parent = self._parent(rows, time_codes, world)
                self._general(rows, parent, position, rotation, linear, angular, out)
            if world is not None:
                self._place(rows, time_codes, position, out.orient, world)
        return out

    def _make_groups(self) -> list[_Rigid | NDArray[np.int64]]:
        layout = self._layout
        depth = np.zeros(len(layout.ancestor), np.int64)
        moving = np.flatnonzero(layout.ancestor >= 0)
        while True:
            deeper = depth.copy()
            deeper[moving] = depth[layout.ancestor[moving]] + 1
            if np.array_equal(deeper, depth):
                break
            depth = deeper
        inverse = np.zeros_like(layout.matrix[:, :3, :3])
        static = (depth == 0) & ~layout.animated
        inverse[static] = _inverse(layout.matrix[static, :3, :3])
        determinant = np.linalg.det(inverse)
        size = np.cbrt(np.abs(np.where(static, determinant, 1.0)))[:, None, None]
        before, after = self._before * size, inverse / size
        rigid = static & _is_orthogonal(before) & _is_orthogonal(after)
        groups: list[_Rigid | NDArray[np.int64]] = []
        if rigid.any():
            sign = np.where(determinant[rigid] < 0.0, -1.0, 1.0)
            groups.append(
                _Rigid(
                    np.flatnonzero(rigid),
                    layout.matrix[rigid, 3, :3],
                    inverse[rigid],
                    _quat_from_rows(before[rigid] * sign[:, None, None]),
                    _quat_from_rows(after[rigid] * sign[:, None, None]),
                )
            )
        for level in range(int(depth.max(initial=0)) + 1):
            rows = np.flatnonzero((depth == level) & ~rigid)
            if len(rows):
                groups.append(rows)
        return groups

    def _rigid(
        self,
        group: _Rigid,
        position: Array,
        rotation: Array,
        linear: Array | None,
        angular: Array | None,
        out: LocalMotion,
    ) -> None:
        rows = group.rows
        out.translate[:, rows] = _apply(position[:, rows] - group.origin, group.inverse)
        orient = rotation[:, rows]
        if not _is_identity(group.before):
            orient = quat_multiply(orient, group.before)
        if not _is_identity(group.after):
            orient = quat_multiply(group.after, orient)
        out.orient[:, rows] = orient
        if linear is not None and out.linear is not None:
            out.linear[:, rows] = _apply(linear[:, rows], group.inverse)
        if angular is not None and out.angular is not None:
            # a mirror turns an axial vector around once more, which is the sign taken off ``after``
            out.angular[:, rows] = quat_rotate(group.after, angular[:, rows])

    def _general(
        self,
        rows: NDArray[np.int64],
        parent: Array,
        position: Array,
        rotation: Array,
        linear: Array | None,
        angular: Array | None,
        out: LocalMotion,
    ) -> None:
        inverse = _inverse(parent[..., :3, :3])
        out.translate[:, rows] = _apply(position[:, rows] - parent[..., 3, :3], inverse)
        turned = self._before[rows] @ np.swapaxes(quat_to_matrix(rotation[:, rows]), -1, -2) @ inverse
        out.orient[:, rows], shear = _nearest(turned)
        self.sheared.update(rows[np.any(shear > _VISIBLE_SHEAR, axis=0)].tolist())
        if linear is not None and out.linear is not None:
            out.linear[:, rows] = _apply(linear[:, rows], inverse)
        if angular is not None and out.angular is not None:
            # an axial vector is turned around once more by a mirror, and is not scaled
            mirror = np.where(np.linalg.det(inverse) < 0.0, -1.0, 1.0)[..., None, None]
            turn, _ = _nearest(parent[..., :3, :3] * mirror)
            out.angular[:, rows] = quat_rotate(quat_conjugate(turn), angular[:, rows])

    def _parent(self, rows: NDArray[np.int64], time_codes: Array, world: Array | None) -> Array:
        """Return parent-to-world matrices of bodies, ``(frames or 1, len(rows), 4, 4)``."""
        layout = self._layout
        matrix = layout.matrix[rows][None]
        animated = np.flatnonzero(layout.animated[rows])
        if len(animated):
            matrix = np.repeat(matrix, len(time_codes), axis=0)
            matrix[:, animated] = self._animated_matrices(time_codes, rows[animated])
        ancestor = layout.ancestor[rows]
        if world is None or not np.any(ancestor >= 0):
            return matrix
        above = np.where((ancestor >= 0)[:, None, None], world[:, ancestor], np.eye(4))
        return matrix @ above

    def _place(self, rows: NDArray[np.int64], time_codes: Array, position: Array, orient: Array, world: Array) -> None:
        """Fill in local-to-world of bodies that have bodies below them, as the written values give it."""
        rows = rows[self._has_children[rows]]
        if not len(rows):
            return
        parent = self._parent(rows, time_codes, world)
        scale = np.broadcast_to(self._layout.scale[rows], (len(time_codes), len(rows), 3))
        local = compose_affine(np.zeros_like(scale), orient[:, rows], scale)
        placed = np.zeros_like(local)
        placed[..., :3, :3] = local[..., :3, :3] @ parent[..., :3, :3]
        placed[..., 3, :3] = position[:, rows]
        placed[..., 3, 3] = 1.0
        world[:, rows] = placed


def keep_signs(orient: Array, last: Array | None) -> Array:
    """Return quaternions ``(frames, n, 4)`` with signs such that neighbours in time interpolate the short way.

    Args:
        orient: Quaternions x, y, z, w.
        last: Quaternions of the frame before, ``(n, 4)``; None for the first frames, which then start with w not
            negative.
    """
    before = np.where(orient[:1, :, 3:] < 0.0, -orient[:1], orient[:1]) if last is None else last[None]
    aligned = np.concatenate([before, orient])
    flips = np.where(np.sum(aligned[1:] * aligned[:-1], axis=-1) < 0.0, -1.0, 1.0)
    return orient * np.cumprod(flips, axis=0)[..., None]


def _apply(vectors: Array, matrices: Array) -> Array:
    """Multiply row vectors ``(frames, n, 3)`` by matrices ``(n, 3, 3)`` or ``(frames or 1, n, 3, 3)``."""
    if matrices.ndim == 3:
        return np.einsum("fni,nij->fnj", vectors, matrices)
    return np.einsum("fni,fnij->fnj", vectors, np.broadcast_to(matrices, (len(vectors), *matrices.shape[1:])))


def _inverse(matrices: Array) -> Array:
    """Invert 3×3 matrices; those without volume, under a parent scaled to nothing, give the identity."""
    flat = np.abs(np.linalg.det(matrices)) < np.finfo(np.float64).tiny
    return np.linalg.inv(np.where(flat[..., None, None], np.eye(3), matrices))


def _is_identity(rotations: Array) -> bool:
    return bool(np.all(rotations == np.array([0.0, 0.0, 0.0, 1.0])))


def _is_orthogonal(matrices: Array) -> NDArray[np.bool_]:
    gram = matrices @ np.swapaxes(matrices, -1, -2)
    return np.max(np.abs(gram - np.eye(3)), axis=(-1, -2), initial=0.0) < _NO_SHEAR


def _quat_from_rows(matrices: Array) -> Array:
    """Return the quaternions of rotations for row vectors, ``(n, 3, 3)``, taking off their last roundings."""
    return _nearest(matrices[None])[0][0]


def _nearest(matrices: Array) -> tuple[Array, Array]:
    """Return the nearest rotations x, y, z, w and the shears of row-vector matrices ``(frames, n, 3, 3)``."""
    affine = np.zeros((*matrices.shape[:2], 4, 4))
    affine[..., :3, :3] = matrices
    affine[..., 3, 3] = 1.0
    parts = decompose_affine(affine)
    return parts.rotation.reshape(*matrices.shape[:2], 4), parts.shear_error.reshape(matrices.shape[:2])
