"""Quaternions and rigid transforms on arrays.

Quaternions are ``(..., 4)`` in the order x, y, z, w. Rigid transforms are ``(..., 7)``: position [m], then quaternion;
``X_AB`` takes points given in frame B to frame A, and ``transform_multiply(X_AB, X_BC)`` is ``X_AC``. Every function
broadcasts over leading dimensions and computes in float64. Unless a function says otherwise, quaternions are taken to
be of unit length.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = [
    "AffineParts",
    "compose_affine",
    "decompose_affine",
    "identity_transform",
    "quat_between",
    "quat_conjugate",
    "quat_from_axis_angle",
    "quat_from_matrix",
    "quat_multiply",
    "quat_normalize",
    "quat_rotate",
    "quat_rotate_inv",
    "quat_to_matrix",
    "quat_to_rotation_vector",
    "transform_inverse",
    "transform_multiply",
    "transform_point",
]

Array = NDArray[np.float64]

_ANTIPARALLEL = 1.0e-6
"""Length of the sum of two unit vectors below which their common normal is too short to be an axis."""

_ORTHOGONAL = 1.0e-12
"""Cosine between two rows up to which they are taken as orthogonal, some thousand roundings of float64."""


class AffineParts(NamedTuple):
    """What :func:`decompose_affine` takes matrices apart into.

    Attributes:
        translation: Images of the origin, ``(n, 3)``.
        rotation: Proper rotations x, y, z, w with w not negative, ``(n, 4)``.
        scale: Factors along the local axes, ``(n, 3)``; x is negative where the matrix mirrors.
        shear_error: Largest absolute cosine between two images of local axes, ``(n,)``; 0 where translation, rotation
            and scale say everything, otherwise the rotation is the nearest one.
    """

    translation: Array
    rotation: Array
    scale: Array
    shear_error: Array


def quat_multiply(a: ArrayLike, b: ArrayLike) -> Array:
    """Return the Hamilton product ``a b``: rotate by b first, then by a. Shapes ``(..., 4)``; no unit length needed."""
    a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
    ax, ay, az, aw = a[..., 0], a[..., 1], a[..., 2], a[..., 3]
    bx, by, bz, bw = b[..., 0], b[..., 1], b[..., 2], b[..., 3]
    return np.stack(
        [
            aw * bx + ax * bw + ay * bz - az * by,
            aw * by - ax * bz + ay * bw + az * bx,
            aw * bz + ax * by - ay * bx + az * bw,
            aw * bw - ax * bx - ay * by - az * bz,
        ],
        axis=-1,
    )


def quat_conjugate(q: ArrayLike) -> Array:
    """Return the conjugates, which for unit quaternions are the inverses. Shape ``(..., 4)``."""
    return np.asarray(q, np.float64) * np.array([-1.0, -1.0, -1.0, 1.0])


def quat_normalize(q: ArrayLike) -> Array:
    """Return quaternions of unit length, ``(..., 4)``; the identity where the length is 0."""
    q = np.asarray(q, np.float64)
    # divide by the largest component first, so that squares neither overflow nor vanish
    largest = np.max(np.abs(q), axis=-1, keepdims=True)
    q = q / np.where(largest > 0.0, largest, 1.0)
    length = np.linalg.norm(q, axis=-1, keepdims=True)
    return np.where(length == 0.0, np.array([0.0, 0.0, 0.0, 1.0]), q / np.where(length == 0.0, 1.0, length))


def quat_rotate(q: ArrayLike, v: ArrayLike) -> Array:
    """Rotate vectors ``v (..., 3)`` by ``q (..., 4)``."""
    q, v = np.asarray(q, np.float64), np.asarray(v, np.float64)
    u, w = q[..., :3], q[..., 3:]
    t = 2.0 * np.cross(u, v)
    return v + w * t + np.cross(u, t)


def quat_rotate_inv(q: ArrayLike, v: ArrayLike) -> Array:
    """Rotate vectors ``v (..., 3)`` by the inverse of ``q (..., 4)``."""
    return quat_rotate(quat_conjugate(q), v)


def quat_from_axis_angle(axis: ArrayLike, angle: ArrayLike) -> Array:
    """Return rotations about axes.

    Args:
        axis: Axes of any length, ``(..., 3)``; a zero axis gives the identity.
        angle: Angles [rad], ``(...)``.
    """
    axis = np.asarray(axis, np.float64)
    half = 0.5 * np.asarray(angle, np.float64)[..., None]
    length = np.linalg.norm(axis, axis=-1, keepdims=True)
    half = np.where(length > 0.0, half, 0.0)
    xyz = axis / np.where(length > 0.0, length, 1.0) * np.sin(half)
    return np.concatenate([xyz, np.broadcast_to(np.cos(half), (*xyz.shape[:-1], 1))], axis=-1)


def quat_to_rotation_vector(q: ArrayLike) -> Array:
    """Return the axis times the angle [rad] of rotations, ``(..., 3)``, the short way round.

    The inverse of ``quat_from_axis_angle(v, |v|)``.
    """
    q = np.asarray(q, np.float64)
    xyz = np.where(q[..., 3:] < 0.0, -q[..., :3], q[..., :3])
    sine = np.linalg.norm(xyz, axis=-1, keepdims=True)
    angle = 2.0 * np.arctan2(sine, np.abs(q[..., 3:]))
    # below this the angle is twice the sine to double precision
    return xyz * np.where(sine > 1.0e-9, angle / np.where(sine > 1.0e-9, sine, 1.0), 2.0)


def quat_to_matrix(q: ArrayLike) -> Array:
    """Return rotation matrices ``(..., 3, 3)`` for column vectors: ``R @ v`` equals :func:`quat_rotate`."""
    x, y, z, w = np.moveaxis(np.asarray(q, np.float64), -1, 0)
    entries = [
        1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - z * w), 2.0 * (x * z + y * w),
        2.0 * (x * y + z * w), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - x * w),
        2.0 * (x * z - y * w), 2.0 * (y * z + x * w), 1.0 - 2.0 * (x * x + y * y),
    ]  # fmt: skip
    return np.stack(entries, axis=-1).reshape(*x.shape, 3, 3)


def quat_from_matrix(matrix: ArrayLike) -> Array:
    """Return the quaternions of proper rotation matrices for column vectors, ``(..., 3, 3)``, with w not negative.

    The largest component is found first and divides the others (Shepperd, "Quaternion from Rotation Matrix", J.
    Guidance and Control 1(3), 1978), so no rotation loses accuracy.
    """
    m = np.asarray(matrix, np.float64)
    xx, yy, zz = m[..., 0, 0], m[..., 1, 1], m[..., 2, 2]
    xy, xz, yz = m[..., 1, 0] + m[..., 0, 1], m[..., 2, 0] + m[..., 0, 2], m[..., 2, 1] + m[..., 1, 2]
    xw, yw, zw = m[..., 2, 1] - m[..., 1, 2], m[..., 0, 2] - m[..., 2, 0], m[..., 1, 0] - m[..., 0, 1]
    # row i is 4 q_i q
    products = np.stack(
        [
            np.stack([1.0 + xx - yy - zz, xy, xz, xw], axis=-1),
            np.stack([xy, 1.0 - xx + yy - zz, yz, yw], axis=-1),
            np.stack([xz, yz, 1.0 - xx - yy + zz, zw], axis=-1),
            np.stack([xw, yw, zw, 1.0 + xx + yy + zz], axis=-1),
        ],
        axis=-2,
    )
    largest = np.argmax(np.diagonal(products, axis1=-2, axis2=-1), axis=-1)
    q = quat_normalize(np.take_along_axis(products, largest[..., None, None], axis=-2)[..., 0, :])
    return np.where(q[..., 3:] < 0.0, -q, q)


def quat_between(a: ArrayLike, b: ArrayLike) -> Array:
    """Return the shortest rotations that take the directions ``a (..., 3)`` to those of ``b (..., 3)``.

    Opposite directions turn by half a turn about an axis normal to ``a``; a zero vector gives the identity.
    """
    a, b = np.broadcast_arrays(np.asarray(a, np.float64), np.asarray(b, np.float64))
    length_a, length_b = np.linalg.norm(a, axis=-1, keepdims=True), np.linalg.norm(b, axis=-1, keepdims=True)
    defined = (length_a > 0.0) & (length_b > 0.0)
    x_axis = np.array([1.0, 0.0, 0.0])
    a = np.where(defined, a / np.where(defined, length_a, 1.0), x_axis)
    b = np.where(defined, b / np.where(defined, length_b, 1.0), x_axis)
    # nearly opposite: half a turn takes a to -a, and what is left is a small rotation from there
    flip = np.linalg.norm(a + b, axis=-1, keepdims=True) < _ANTIPARALLEL
    unit = np.eye(3)[np.argmin(np.abs(a), axis=-1)]
    half_turn = np.concatenate([np.cross(a, unit), np.zeros_like(flip, np.float64)], axis=-1)
    start = np.where(flip, -a, a)
    # |a + b|² / 2 = 1 + a·b without the cancellation
    w = 0.5 * np.sum((start + b) ** 2, axis=-1, keepdims=True)
    direct = quat_normalize(np.concatenate([np.cross(start, b), w], axis=-1))
    return np.where(flip, quat_multiply(direct, quat_normalize(half_turn)), direct)


def identity_transform(n: int) -> Array:
    """Return n identity transforms, ``(n, 7)``."""
    out = np.zeros((n, 7))
    out[:, 6] = 1.0
    return out


def transform_multiply(a: ArrayLike, b: ArrayLike) -> Array:
    """Return the products of transforms ``(..., 7)``: ``X_AC`` from ``X_AB`` and ``X_BC``."""
    a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
    return np.concatenate([transform_point(a, b[..., :3]), quat_multiply(a[..., 3:], b[..., 3:])], axis=-1)


def transform_inverse(x: ArrayLike) -> Array:
    """Return the inverses of transforms ``(..., 7)``: ``X_BA`` from ``X_AB``."""
    x = np.asarray(x, np.float64)
    q = quat_conjugate(x[..., 3:])
    return np.concatenate([-quat_rotate(q, x[..., :3]), q], axis=-1)


def transform_point(x: ArrayLike, p: ArrayLike) -> Array:
    """Take points ``p (..., 3)`` through transforms ``x (..., 7)``."""
    x = np.asarray(x, np.float64)
    return x[..., :3] + quat_rotate(x[..., 3:], p)


def decompose_affine(matrices: ArrayLike) -> AffineParts:
    """Take affine matrices apart into translation, rotation and scale along the local axes.

    Matrices are in USD's convention: points are row vectors, ``p' = p M``, and the first three rows are the images of
    the local axes. A matrix that mirrors gets a negative x scale, whichever axis was mirrored; the rotation differs
    accordingly. Where the images are not orthogonal, the rotation is the nearest one in the least-squares sense (the
    orthogonal factor of the polar decomposition of the normalised rows, by singular values). An axis of length 0 has
    scale 0 and its direction is completed from the others. Matrices with non-finite entries give non-finite results.

    Args:
        matrices: Affine matrices, ``(n, 4, 4)``.
    """
    matrices = np.asarray(matrices, np.float64).reshape(-1, 4, 4)
    with np.errstate(invalid="ignore"):
        scale = np.linalg.norm(matrices[:, :3, :3], axis=-1)
        rows = matrices[:, :3, :3] / np.where(scale == 0.0, 1.0, scale)[..., None]
        gram = np.abs(rows @ rows.transpose(0, 2, 1))
        shear_error = np.max(gram[:, [0, 0, 1], [1, 2, 2]], axis=-1, initial=0.0)
        rows = _complete_rows(rows, scale > 0.0)
        mirrored = np.linalg.det(rows) < -_ORTHOGONAL  # rounding of a collapsed frame is no mirror
        rows[mirrored, 0] *= -1.0
        scale[mirrored, 0] *= -1.0
        sheared = shear_error > _ORTHOGONAL
        rows[sheared] = _nearest_rotation(rows[sheared])
        rotation = quat_from_matrix(rows.transpose(0, 2, 1))
    return AffineParts(matrices[:, 3, :3].copy(), rotation, scale, shear_error)


def compose_affine(translation: ArrayLike, rotation: ArrayLike, scale: ArrayLike) -> Array:
    """Return affine matrices ``(n, 4, 4)`` in USD's row-vector convention: scale first, then rotate, then translate.

    Args:
        translation: ``(n, 3)``.
        rotation: Quaternions x, y, z, w, ``(n, 4)``.
        scale: Signed factors along the local axes, ``(n, 3)``.
    """
    axes = quat_to_matrix(rotation)
    scale = np.asarray(scale, np.float64)
    out = np.zeros((*axes.shape[:-2], 4, 4))
    out[..., :3, :3] = scale[..., None] * np.swapaxes(axes, -1, -2)
    out[..., 3, :3] = translation
    out[..., 3, 3] = 1.0
    return out


def _complete_rows(rows: Array, present: NDArray[np.bool_]) -> Array:
    """Fill rows of length 0 so that the three form a right-handed frame with those that are there."""
    count = np.count_nonzero(present, axis=-1)
    rows = rows.copy()
    rows[count == 0] = np.eye(3)
    # one direction: the smallest rotation that takes its axis there carries the other two along
    one = np.flatnonzero(count == 1)
    axis = np.argmax(present[one], axis=-1)
    rows[one] = np.swapaxes(quat_to_matrix(quat_between(np.eye(3)[axis], rows[one, axis])), -1, -2)
    # two directions: the third is their cross product; parallel ones are left to the nearest rotation
    two = np.flatnonzero(count == 2)
    missing = np.argmin(present[two], axis=-1)
    normal = np.cross(rows[two, (missing + 1) % 3], rows[two, (missing + 2) % 3])
    length = np.linalg.norm(normal, axis=-1, keepdims=True)
    rows[two, missing] = normal / np.where(length == 0.0, 1.0, length)
    return rows


def _nearest_rotation(rows: Array) -> Array:
    """Return the proper rotations nearest to matrices ``(k, 3, 3)`` in the Frobenius norm."""
    u, _, vt = np.linalg.svd(rows)
    vt[:, 2] *= np.linalg.det(u @ vt)[:, None]
    return u @ vt
