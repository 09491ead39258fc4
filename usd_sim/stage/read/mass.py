"""Mass properties of bodies, property by property.

Newton:inertia, then PhysicsMassAPI, then what the colliders add up to.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from usd_sim.geometry import transforms as tf
from usd_sim.geometry.inertia import (
    combine_mass_properties,
    inertia_is_physical,
    principal_axes,
    transform_mass_properties,
)
from usd_sim.geometry.shape_mass import all_mass_properties
from usd_sim.geometry.types import GeoType
from usd_sim.stage.read.bodies import BodySpecs
from usd_sim.stage.read.mujoco import MassOptions
from usd_sim.stage.read.parts import weigh_parts
from usd_sim.stage.read.scan import Scan, quats_xyzw
from usd_sim.stage.read.shapes import ShapeSpecs

__all__ = ["DEFAULT_DENSITY", "MassSpecs", "read_mass"]

DEFAULT_DENSITY = 1000.0
"""Density of colliders that state none [kg/m³], as UsdPhysics has it."""

STAND_IN_RADIUS = 0.1
"""Radius of the solid sphere that stands for a body with a mass but neither inertia nor colliders [m]."""


@dataclass
class MassSpecs:
    """Mass properties of bodies, SI, body frame.

    Attributes:
        mass: (n,) [kg].
        com: (n, 3) [m].
        inertia: About the centre of mass (n, 3, 3) [kg·m²].
        shape_density: Density of each shape that gives its share of the mass (s,) [kg/m³].
    """

    mass: np.ndarray
    com: np.ndarray
    inertia: np.ndarray
    shape_density: np.ndarray


def read_mass(scan: Scan, bodies: BodySpecs, shapes: ShapeSpecs, material_density: np.ndarray) -> MassSpecs:
    """Work out the mass properties of all bodies."""
    mass, com, inertia, density = _from_colliders(scan, bodies, shapes, material_density)
    computed = mass.copy()
    authored = _Authored(scan, bodies.paths)
    authored.report_invalid()
    stated = authored.mass > 0
    mass = np.where(stated, authored.mass, mass)
    inertia = inertia * np.divide(mass, computed, out=np.ones_like(mass), where=computed > 0)[:, None, None]
    com, inertia = _apply_com(authored, bodies, mass, com, inertia)
    has_inertia = authored.apply_inertia(inertia)
    bare = np.flatnonzero((mass > 0) & (computed <= 0) & ~has_inertia)
    inertia[bare] = 0.4 * mass[bare, None, None] * STAND_IN_RADIUS**2 * np.eye(3)
    for i in bare:
        scan.report.approximate(
            bodies.paths[i],
            f"has a mass but no inertia and no colliders; that of a sphere of radius {STAND_IN_RADIUS} m is used",
            remedy="author physics:diagonalInertia",
        )
    options = MassOptions(scan)
    options.report(bodies.paths)
    options.apply(mass, inertia)
    _refuse_infinite(scan, bodies, mass, com, inertia)
    _repair(scan, bodies, mass, inertia)
    factor = options.total_factor(float(mass @ scan.repeats(bodies.paths)))
    mass, inertia, density = mass * factor, inertia * factor, density * factor
    return MassSpecs(mass, com, inertia, density)


class _Authored:
    """Columns of PhysicsMassAPI and NewtonMassAPI of some prims, SI."""

    def __init__(self, scan: Scan, paths: list[str]):
        self.scan, self.paths = scan, paths
        self.mass = scan.column(paths, "physics:mass", 0.0, "kg")
        self.density = scan.column(paths, "physics:density", 0.0, "kg/m³")
        self.com = scan.column(paths, "physics:centerOfMass", (-np.inf,) * 3, "m").reshape(-1, 3)
        self.has_com = np.isfinite(self.com).all(axis=1)
        self.diagonal = scan.column(paths, "physics:diagonalInertia", (0.0,) * 3, "kg·m²").reshape(-1, 3)

    def report_invalid(self) -> None:
        """Report masses and densities below zero."""
        for name, bad in (
            ("physics:mass", ~(self.mass >= 0)),
            ("physics:density", ~(self.density >= 0)),
        ):
            for i in np.flatnonzero(bad):
                self.scan.report.error(self.paths[i], "is negative", property=name, remedy="author a positive number")

    def apply_inertia(self, inertia: np.ndarray) -> np.ndarray:
        """Overwrite rows of ``inertia`` (n, 3, 3) that are authored and return which (n,)."""
        rows = (self.diagonal != 0).any(axis=1)
        for i in np.flatnonzero(rows):
            axes = tf.quat_to_matrix(quats_xyzw([self.scan.value(self.paths[i], "physics:principalAxes")])[0])
            inertia[i] = axes @ np.diag(self.diagonal[i]) @ axes.T
        for row, path in enumerate(self.paths):
            six = self.scan.value(path, "newton:inertia")
            if six is None or len(six) == 0:
                continue
            if len(six) != 6:
                self.scan.report.error(path, f"has {len(six)} numbers", property="newton:inertia", remedy="author 6")
                continue
            xx, yy, zz, xy, xz, yz = self.scan.units.to_si(np.array(six, dtype=float), "kg·m²")
            inertia[row], rows[row] = [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]], True
        return rows


def _from_colliders(
    scan: Scan, bodies: BodySpecs, shapes: ShapeSpecs, material_density: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return mass (n,), COM (n, 3) and inertia (n, 3, 3) of the colliders of each body, and their densities (s,)."""
    count = len(bodies.paths)
    density = np.where(material_density > 0, material_density, DEFAULT_DENSITY)
    carried = np.flatnonzero((shapes.body >= 0) & (shapes.kind != GeoType.PLANE))
    if len(carried) == 0:
        return np.zeros(count), np.zeros((count, 3)), np.zeros((count, 3, 3)), density
    body_density = scan.column(bodies.paths, "physics:density", 0.0, "kg/m³")[shapes.body[carried]]
    paths = [shapes.paths[i] for i in carried]
    own = _Authored(scan, paths)
    is_body = np.array([path in bodies.row for path in paths], dtype=bool)  # then MassAPI speaks of the body
    own.mass[is_body], own.has_com[is_body], own.diagonal[is_body] = 0.0, False, 0.0
    own.report_invalid()
    weak = np.where(body_density > 0, body_density, density[carried])
    density[carried] = np.where(own.density > 0, own.density, weak)

    part = all_mass_properties(
        shapes.kind[carried],
        shapes.scale[carried],
        shapes.solid[carried],
        shapes.thickness[carried],
        [shapes.source[i] for i in carried],
    )
    weigh_parts(part, shapes, carried)
    mass = np.where(own.mass > 0, own.mass, part.volume * density[carried])
    mass[_weightless(scan, own, bodies, shapes.body[carried], mass, shapes.enabled[carried])] = 0.0
    density[carried] = np.divide(mass, part.volume, out=density[carried].copy(), where=part.volume > 0)
    inertia = part.inertia * density[carried][:, None, None]
    com, inertia = transform_mass_properties(part.com, inertia, shapes.pose[carried])
    computed = com.copy()
    _apply_collider_com(scan, own, bodies, shapes, carried, com)
    inertia += mass[:, None, None] * _steiner(com - computed)
    _apply_collider_inertia(scan, own, bodies, shapes.body[carried], ~is_body & (mass > 0), inertia)
    total = combine_mass_properties(mass, com, inertia, shapes.body[carried], count)
    return (*total, density)


def _weightless(
    scan: Scan, own: _Authored, bodies: BodySpecs, body: np.ndarray, mass: np.ndarray, enabled: np.ndarray
) -> np.ndarray:
    """Return which colliders have no mass (c,): disabled ones, and those that MJCF gives ``mass="0"``.

    UsdPhysics reads a mass of 0 as no opinion, so it counts only beside MjcCollisionAPI. Neither counts where it would
    leave a body without mass.
    """
    zero = ~enabled | np.array(
        [scan.value(path, "physics:mass") == 0 and scan.has(path, "MjcCollisionAPI") for path in own.paths], dtype=bool
    )
    zero |= MassOptions(scan).left_out(own.paths)
    rest = np.bincount(body, weights=np.where(zero, 0.0, mass), minlength=len(bodies.paths))
    bare = zero & (rest[body] <= 0)
    for row in np.unique(
        body[bare & (np.array([scan.value(bodies.paths[b], "physics:mass", 0.0) for b in body]) <= 0)]
    ):
        scan.report.approximate(
            bodies.paths[row],
            "all colliders are disabled or state a mass of 0; their densities are used",
            remedy="author physics:mass",
        )
    return zero & ~bare


def _apply_collider_com(
    scan: Scan, own: _Authored, bodies: BodySpecs, shapes: ShapeSpecs, carried: np.ndarray, com: np.ndarray
) -> None:
    """Place the centre of mass of colliders that state it, given in the collider's own space."""
    rows = np.flatnonzero(own.has_com)
    if len(rows) == 0:
        return
    matrices = scan.matrices(own.paths[i] for i in rows)
    local = scan.units.from_si(own.com[rows], "m")
    world = np.einsum("ni,nij->nj", local, matrices[:, :3, :3]) + matrices[:, 3, :3]
    body = shapes.body[carried[rows]]
    com[rows] = tf.transform_point(tf.transform_inverse(bodies.pose[body]), scan.units.to_si(world, "m"))


def _apply_collider_inertia(
    scan: Scan, own: _Authored, bodies: BodySpecs, body: np.ndarray, mine: np.ndarray, inertia: np.ndarray
) -> None:
    """Overwrite the inertia of colliders that state it, given along the collider's own axes."""
    stated = inertia.copy()
    rows = np.flatnonzero(own.apply_inertia(stated) & mine)
    if len(rows) == 0:
        return
    pose, _, _ = scan.placed(own.paths[i] for i in rows)
    turn = tf.quat_to_matrix(tf.quat_multiply(tf.quat_conjugate(bodies.pose[body[rows], 3:]), pose[:, 3:]))
    inertia[rows] = turn @ stated[rows] @ turn.transpose(0, 2, 1)


def _steiner(offset: np.ndarray) -> np.ndarray:
    """Return what moving by offsets (n, 3) adds to the inertia of unit masses (n, 3, 3), by parallel axes."""
    return (offset**2).sum(axis=1)[:, None, None] * np.eye(3) - offset[:, :, None] * offset[:, None, :]


def _apply_com(
    authored: _Authored, bodies: BodySpecs, mass: np.ndarray, com: np.ndarray, inertia: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Move to the authored centres of mass, the inertia of the colliders along with them (parallel axes)."""
    rows = authored.has_com
    target, offset = com.copy(), np.zeros_like(com)
    target[rows] = authored.com[rows] * bodies.scale[rows]
    offset[rows] = target[rows] - com[rows]
    moved = (np.abs(inertia).sum(axis=(1, 2)) > 0) * mass
    return target, inertia + moved[:, None, None] * _steiner(offset)


def _refuse_infinite(scan: Scan, bodies: BodySpecs, mass: np.ndarray, com: np.ndarray, inertia: np.ndarray) -> None:
    """Report bodies whose mass properties came out infinite, and set them to 0 so that reading can go on."""
    finite = np.isfinite(mass) & np.isfinite(com).all(axis=1) & np.isfinite(inertia).all(axis=(1, 2))
    for i in np.flatnonzero(~finite):
        scan.report.error(
            bodies.paths[i], "the mass or inertia is not a finite number", remedy="check sizes, scales and densities"
        )
        mass[i], com[i], inertia[i] = 0.0, 0.0, 0.0


def _repair(scan: Scan, bodies: BodySpecs, mass: np.ndarray, inertia: np.ndarray) -> None:
    """Widen inertias that no rigid body can have (the largest moment exceeds the sum of the others)."""
    wrong = np.flatnonzero((mass > 0) & ~inertia_is_physical(inertia, tolerance=1e-4))
    for i in wrong:
        moments, axes = principal_axes(inertia[i : i + 1])
        moments, rotation = np.maximum(moments[0], 0.0), tf.quat_to_matrix(axes[0])
        largest = int(np.argmax(moments))
        lack = max(0.0, 2 * moments[largest] - moments.sum())
        moments[np.arange(3) != largest] += 0.5 * lack
        inertia[i] = rotation @ np.diag(moments) @ rotation.T
        scan.report.approximate(
            bodies.paths[i],
            "no rigid body has this inertia; the smaller moments are raised",
            remedy="check physics:diagonalInertia or newton:inertia",
        )
