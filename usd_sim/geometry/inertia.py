"""Mass properties: closed forms for primitives, and sums, frames and checks for any inertia.

Everything is at density 1: mass equals volume [m³], inertia is in m⁵; multiply by the density [kg/m³]. Inertia tensors
are about the centre of mass and in the axes of the shape.

Each primitive is symmetric about two planes through its axis, so it is described by its volume, the height of its
centre of mass and the integrals of x², y² and z². For solids these are textbook integrals. A shell is the closed outer
surface at a uniform thickness t in the limit of t → 0: volume is area times t and the integrals run over the surface.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import permutations
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from usd_sim.errors import UsdSimError
from usd_sim.geometry.transforms import quat_from_matrix, quat_to_matrix, transform_point
from usd_sim.geometry.types import GeoType

__all__ = [
    "MassProperties",
    "check_thickness",
    "combine_mass_properties",
    "inertia_from_second_moment",
    "inertia_is_physical",
    "principal_axes",
    "shape_mass_properties",
    "transform_mass_properties",
]

Array = NDArray[np.float64]

_QUADRATURE_NODES = 48
"""Gauss points per direction on an octant of the ellipsoid: 1e-9 relative up to radii of 1:10, 1e-5 up to 1:1000."""

_ELLIPSOID_BLOCK = 1024
"""Ellipsoid shells integrated at a time, so that memory stays small."""


class MassProperties(NamedTuple):
    """Mass properties at density 1.

    Attributes:
        volume: Volume of the material [m³], ``(n,)``.
        com: Centre of mass in the shape frame [m], ``(n, 3)``.
        inertia: Inertia about the centre of mass, in the axes of the shape frame [m⁵], ``(n, 3, 3)``.
    """

    volume: Array
    com: Array
    inertia: Array


Moments = tuple[Array, Array, Array]
"""Volume ``(k,)``, height of the centre of mass ``(k,)``, integrals of x², y², z² about the origin ``(k, 3)``."""


def shape_mass_properties(
    geo_type: ArrayLike, scale: ArrayLike, is_solid: ArrayLike, thickness: ArrayLike
) -> MassProperties:
    """Return the mass properties of primitives by closed form, grouped by type.

    Rows of types without a closed form (meshes, height fields) and without mass (planes, NONE) are 0; meshes bring
    their own through :meth:`usd_sim.geometry.mesh.Mesh.mass_properties`. The cone has its centre of mass a quarter of
    its height above the base, at -half_height / 2 (as a shell, where lateral surface and base disc balance).

    Args:
        geo_type: :class:`GeoType` of each shape, ``(n,)``.
        scale: Sizes as :class:`GeoType` states them, not negative [m], ``(n, 3)``.
        is_solid: Filled, or a thin shell, ``(n,)``.
        thickness: Thickness of the wall of shells [m], ``(n,)``; not read for solids.

    Raises:
        UsdSimError: The thickness of a shell is negative or not finite.
    """
    geo_type = np.asarray(geo_type)
    n = len(geo_type)
    scale = np.asarray(scale, np.float64).reshape(n, 3)
    is_solid = np.broadcast_to(np.asarray(is_solid, np.bool_), n)
    thickness = np.broadcast_to(np.asarray(thickness, np.float64), n)
    volume, height, squares = np.zeros(n), np.zeros(n), np.zeros((n, 3))
    for kind, (solid, shell) in _PRIMITIVES.items():
        of_kind = geo_type == kind
        rows = np.flatnonzero(of_kind & is_solid)
        if len(rows):
            volume[rows], height[rows], squares[rows] = solid(scale[rows])
        rows = np.flatnonzero(of_kind & ~is_solid)
        if len(rows):
            wall = thickness[rows]
            check_thickness(wall)
            area, height[rows], area_squares = shell(scale[rows])
            volume[rows], squares[rows] = area * wall, area_squares * wall[:, None]
    com = np.zeros((n, 3))
    com[:, 2] = height
    squares[:, 2] -= volume * height**2
    inertia = np.zeros((n, 3, 3))
    inertia[:, [0, 1, 2], [0, 1, 2]] = squares.sum(axis=-1, keepdims=True) - squares
    return MassProperties(volume, com, inertia)


def check_thickness(thickness: ArrayLike) -> None:
    """Check wall thicknesses.

    Raises:
        UsdSimError: One is negative or not finite.
    """
    thickness = np.asarray(thickness, np.float64)
    if not np.all((thickness >= 0.0) & (thickness < np.inf)):
        raise UsdSimError("the thickness of a shell is negative or not finite", remedy="give a thickness in metres")


def inertia_from_second_moment(volume: ArrayLike, com: ArrayLike, second: ArrayLike) -> Array:
    """Return inertia about the centre of mass, ``(..., 3, 3)``.

    Args:
        volume: Mass, ``(...)``.
        com: Centre of mass, ``(..., 3)``.
        second: Integrals of x xᵀ about the origin, ``(..., 3, 3)``.
    """
    com = np.asarray(com, np.float64)
    central = second - np.asarray(volume)[..., None, None] * com[..., :, None] * com[..., None, :]
    return np.trace(central, axis1=-2, axis2=-1)[..., None, None] * np.eye(3) - central


def transform_mass_properties(com: ArrayLike, inertia: ArrayLike, transforms: ArrayLike) -> tuple[Array, Array]:
    """Express centres of mass and inertia, each about its centre of mass, in a parent frame.

    Args:
        com: ``(k, 3)`` [m].
        inertia: ``(k, 3, 3)``.
        transforms: Shape frames in the parent, ``(k, 7)``.

    Returns:
        Centres of mass and inertia in the parent's frame and axes; the inertia stays about the centre of mass.
    """
    transforms = np.asarray(transforms, np.float64)
    rotation = quat_to_matrix(transforms[..., 3:])
    return transform_point(transforms, com), rotation @ np.asarray(inertia, np.float64) @ np.swapaxes(rotation, -1, -2)


def combine_mass_properties(
    mass: ArrayLike, com: ArrayLike, inertia: ArrayLike, group: ArrayLike, group_count: int
) -> tuple[Array, Array, Array]:
    """Add up the mass properties of parts that share a frame and a group (the shapes of a body).

    Args:
        mass: ``(k,)`` [kg].
        com: ``(k, 3)`` [m].
        inertia: About each part's centre of mass, ``(k, 3, 3)`` [kg·m²].
        group: Row that each part adds to, ``(k,)``; parts with a negative group are left out.
        group_count: Number of groups.

    Returns:
        Mass ``(g,)``, centre of mass ``(g, 3)`` and inertia about it ``(g, 3, 3)``; groups without mass have their
        centre of mass at the origin.
    """
    group = np.asarray(group, np.int64)
    used = group >= 0
    group = group[used]
    mass = np.asarray(mass, np.float64)[used]
    com = np.asarray(com, np.float64).reshape(-1, 3)[used]
    inertia = np.asarray(inertia, np.float64).reshape(-1, 3, 3)[used]

    total: Array = np.bincount(group, mass, group_count).astype(np.float64)
    centre = np.zeros((group_count, 3))
    np.add.at(centre, group, mass[:, None] * com)
    centre /= np.where(total == 0.0, 1.0, total)[:, None]
    # parallel axes, from the combined centre so that nothing cancels
    offset = com - centre[group]
    second = mass[:, None, None] * offset[:, :, None] * offset[:, None, :]
    moved = inertia + np.trace(second, axis1=1, axis2=2)[:, None, None] * np.eye(3) - second
    combined = np.zeros((group_count, 3, 3))
    np.add.at(combined, group, moved)
    return total, centre, combined


def inertia_is_physical(inertia: ArrayLike, *, tolerance: float = 1.0e-6) -> NDArray[np.bool_]:
    """Tell which tensors a rigid body can have: symmetric, positive, no principal moment above the sum of the others.

    Args:
        inertia: ``(n, 3, 3)``.
        tolerance: Allowed asymmetry and excess of a moment, relative to the largest moment; the fallback allows for
            tensors that went through float32.
    """
    inertia = np.asarray(inertia, np.float64).reshape(-1, 3, 3)
    finite = np.asarray(np.isfinite(inertia).all(axis=(1, 2)))
    inertia = np.where(finite[:, None, None], inertia, 0.0)
    symmetric = 0.5 * (inertia + inertia.transpose(0, 2, 1))
    moments = np.linalg.eigvalsh(symmetric)
    slack = tolerance * np.abs(moments).max(axis=-1, initial=0.0)
    skew = np.abs(inertia - symmetric).max(axis=(1, 2), initial=0.0)
    triangle = moments[:, 2] <= moments[:, 0] + moments[:, 1] + slack
    return finite & (skew <= slack) & (moments[:, 0] > 0.0) & triangle


def principal_axes(inertia: ArrayLike) -> tuple[Array, Array]:
    """Return principal moments and the rotations of the principal frames.

    Moments are in the order, and axes in the directions, that turn the frame least, so a diagonal tensor keeps its
    order and has the identity as rotation.

    Args:
        inertia: Symmetric and finite, ``(n, 3, 3)``.

    Returns:
        Moments ``(n, 3)`` and quaternions ``(n, 4)`` with ``inertia = R diag(moments) Rᵀ``.
    """
    inertia = np.asarray(inertia, np.float64).reshape(-1, 3, 3)
    moments, axes = np.linalg.eigh(0.5 * (inertia + inertia.transpose(0, 2, 1)))
    orders = np.array(list(permutations(range(3))))
    alignment = np.abs(axes[:, np.arange(3), orders]).sum(axis=-1)
    best = orders[np.argmax(alignment, axis=-1)]
    moments = np.take_along_axis(moments, best, axis=-1)
    axes = np.take_along_axis(axes, best[:, None, :], axis=-1)
    diagonal = np.diagonal(axes, axis1=-2, axis2=-1)
    # this makes the frame right-handed, too: a reflection has a trace of at most 1, the best order has more
    return moments, quat_from_matrix(axes * np.where(diagonal < 0.0, -1.0, 1.0)[:, None, :])


# --- closed forms, solids


def _columns(x: Array, y: Array, z: Array) -> Array:
    return np.stack([x, y, z], axis=-1)


def _solid_ellipsoid(radii: Array) -> Moments:
    volume = 4.0 / 3.0 * np.pi * radii.prod(axis=-1)
    return volume, np.zeros(len(radii)), volume[:, None] * radii**2 / 5.0


def _solid_sphere(scale: Array) -> Moments:
    return _solid_ellipsoid(np.repeat(scale[:, :1], 3, axis=-1))


def _solid_box(scale: Array) -> Moments:
    volume = 8.0 * scale.prod(axis=-1)
    return volume, np.zeros(len(scale)), volume[:, None] * scale**2 / 3.0


def _solid_cylinder(scale: Array) -> Moments:
    r, h = scale[:, 0], scale[:, 1]
    volume = 2.0 * np.pi * r**2 * h
    across = volume * r**2 / 4.0
    return volume, np.zeros_like(r), _columns(across, across, volume * h**2 / 3.0)


def _solid_capsule(scale: Array) -> Moments:
    # a cylinder and two half balls, whose own centres lie 3 r / 8 beyond its ends
    r, h = scale[:, 0], scale[:, 1]
    barrel, _, squares = _solid_cylinder(scale)
    ball = 4.0 / 3.0 * np.pi * r**3
    across = squares[:, 0] + ball * r**2 / 5.0
    along = squares[:, 2] + ball * (h**2 + 0.75 * r * h + r**2 / 5.0)
    return barrel + ball, np.zeros_like(r), _columns(across, across, along)


def _solid_cone(scale: Array) -> Moments:
    # a section at the fraction t of the height below the apex weighs 3 t²: the means of t and t² are 3/4 and 3/5
    r, h = scale[:, 0], scale[:, 1]
    volume = 2.0 / 3.0 * np.pi * r**2 * h
    across = volume * 3.0 / 20.0 * r**2
    return volume, -0.5 * h, _columns(across, across, volume * 0.4 * h**2)


# --- closed forms, shells


def _shell_sphere(scale: Array) -> Moments:
    r = scale[:, 0]
    area = 4.0 * np.pi * r**2
    return area, np.zeros_like(r), np.repeat((area * r**2 / 3.0)[:, None], 3, axis=-1)


def _shell_box(scale: Array) -> Moments:
    a, b, c = scale.T
    pair = 8.0 * _columns(b * c, a * c, a * b)  # areas of the two faces normal to each axis
    area = pair.sum(axis=-1)
    # over the faces normal to an axis its square is constant, over the other four it averages a third
    squares = scale**2 * (pair + (area[:, None] - pair) / 3.0)
    return area, np.zeros_like(a), squares


def _shell_cylinder(scale: Array) -> Moments:
    r, h = scale[:, 0], scale[:, 1]
    side, caps = 4.0 * np.pi * r * h, 2.0 * np.pi * r**2
    across = side * r**2 / 2.0 + caps * r**2 / 4.0
    return side + caps, np.zeros_like(r), _columns(across, across, h**2 * (side / 3.0 + caps))


def _shell_capsule(scale: Array) -> Moments:
    # heights on a half sphere are spread evenly over 0 to r
    r, h = scale[:, 0], scale[:, 1]
    side, sphere = 4.0 * np.pi * r * h, 4.0 * np.pi * r**2
    across = side * r**2 / 2.0 + sphere * r**2 / 3.0
    along = side * h**2 / 3.0 + sphere * (h**2 + h * r + r**2 / 3.0)
    return side + sphere, np.zeros_like(r), _columns(across, across, along)


def _shell_cone(scale: Array) -> Moments:
    # a ring at the fraction t of the height below the apex weighs 2 t: the means of t and t² are 2/3 and 1/2
    r, h = scale[:, 0], scale[:, 1]
    side, base = np.pi * r * np.hypot(r, 2.0 * h), np.pi * r**2
    area = side + base
    height = -h * (side / 3.0 + base) / np.where(area == 0.0, 1.0, area)
    across = r**2 / 4.0 * area
    return area, height, _columns(across, across, h**2 * (side / 3.0 + base))


def _shell_ellipsoid(radii: Array) -> Moments:
    # no elementary form: Gauss quadrature of the area element over one octant of the unit sphere
    directions, weights = _octant_rule()
    cofactors = np.stack([radii[:, 1] * radii[:, 2], radii[:, 0] * radii[:, 2], radii[:, 0] * radii[:, 1]], axis=-1)
    area, means = np.zeros(len(radii)), np.zeros((len(radii), 3))
    for start in range(0, len(radii), _ELLIPSOID_BLOCK):
        block = slice(start, start + _ELLIPSOID_BLOCK)
        element = np.sqrt(cofactors[block] ** 2 @ (directions**2).T) * weights
        area[block], means[block] = element.sum(axis=-1), element @ directions**2
    return area, np.zeros(len(radii)), means * radii**2


@cache
def _octant_rule() -> tuple[Array, Array]:
    """Return directions ``(m, 3)`` over one octant and weights ``(m,)`` that add up to the whole sphere, 4 π."""
    nodes, weights = np.polynomial.legendre.leggauss(_QUADRATURE_NODES)
    height, height_weight = 0.5 * (nodes + 1.0), 0.5 * weights
    angle, angle_weight = 0.25 * np.pi * (nodes + 1.0), 0.25 * np.pi * weights
    z, phi = (grid.ravel() for grid in np.meshgrid(height, angle, indexing="ij"))
    ring = np.sqrt(1.0 - z * z)
    return _columns(ring * np.cos(phi), ring * np.sin(phi), z), 8.0 * np.outer(height_weight, angle_weight).ravel()


_PRIMITIVES: dict[GeoType, tuple[Callable[[Array], Moments], Callable[[Array], Moments]]] = {
    GeoType.SPHERE: (_solid_sphere, _shell_sphere),
    GeoType.CAPSULE: (_solid_capsule, _shell_capsule),
    GeoType.ELLIPSOID: (_solid_ellipsoid, _shell_ellipsoid),
    GeoType.CYLINDER: (_solid_cylinder, _shell_cylinder),
    GeoType.BOX: (_solid_box, _shell_box),
    GeoType.CONE: (_solid_cone, _shell_cone),
}
