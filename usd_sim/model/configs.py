"""Settings of shapes and joint axes, with the names that ``add_*`` calls take."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from usd_sim.model.types import Axis, JointTargetMode, ShapeFlags

__all__ = ["JointDofConfig", "ShapeConfig"]


@dataclass
class ShapeConfig:
    """Settings of a shape.

    Attributes:
        density: Density that adds to the body's mass [kg/m³].
        ke: Contact stiffness [N/m].
        kd: Contact damping [N·s/m].
        kf: Gain of friction against slip speed [N·s/m].
        ka: Adhesion distance [m].
        mu: Friction coefficient.
        restitution: Bounciness.
        mu_torsional: Spin friction length [m].
        mu_rolling: Rolling friction length [m].
        margin: Distance of the contact surface outside the geometry [m].
        gap: Extra distance at which contacts are found [m]; None lets the solver choose.
        is_solid: Filled rather than a thin shell.
        collision_group: See ``shape_collision_group``.
        collision_filter_parent: Do not collide with bodies joined to this one.
        has_shape_collision: Collides with other shapes.
        has_particle_collision: Collides with particles.
        is_visible: Drawn.
        is_site: A frame of reference only: no mass and no collision.
    """

    density: float = 1000.0
    ke: float = 2.5e3
    kd: float = 100.0
    kf: float = 1000.0
    ka: float = 0.0
    mu: float = 1.0
    restitution: float = 0.0
    mu_torsional: float = 0.005
    mu_rolling: float = 0.0001
    margin: float = 0.0
    gap: float | None = None
    is_solid: bool = True
    collision_group: int = 1
    collision_filter_parent: bool = True
    has_shape_collision: bool = True
    has_particle_collision: bool = True
    is_visible: bool = True
    is_site: bool = False

    @property
    def flags(self) -> int:
        """The settings that are ShapeFlags."""
        flags = ShapeFlags.VISIBLE if self.is_visible else ShapeFlags.NONE
        if self.is_site:
            return int(flags | ShapeFlags.SITE)
        flags |= ShapeFlags.COLLIDE_SHAPES if self.has_shape_collision else ShapeFlags.NONE
        flags |= ShapeFlags.COLLIDE_PARTICLES if self.has_particle_collision else ShapeFlags.NONE
        return int(flags)

    def columns(self) -> dict[str, Any]:
        """Return the settings as values of shape fields."""
        values: dict[str, Any] = {f"shape_material_{name}": getattr(self, name) for name in _MATERIAL}
        values.update(
            shape_density=0.0 if self.is_site else self.density,
            shape_margin=self.margin,
            shape_gap=-np.inf if self.gap is None else self.gap,
            shape_is_solid=self.is_solid,
            shape_collision_group=self.collision_group,
            shape_flags=self.flags,
        )
        return values


_MATERIAL = ("ke", "kd", "kf", "ka", "mu", "restitution", "mu_torsional", "mu_rolling")


@dataclass
class JointDofConfig:
    """Settings of one degree of freedom.

    Attributes:
        axis: Axis in the joint frame: an ``Axis``, its name, or a vector (3,).
        limit_lower: Lower limit [m or rad].
        limit_upper: Upper limit [m or rad].
        limit_ke: Limit stiffness; 0 lets the solver choose [N/m or N·m/rad].
        limit_kd: Limit damping; 0 lets the solver choose [N·s/m or N·m·s/rad].
        target_pos: Position target [m or rad].
        target_vel: Velocity target [m/s or rad/s].
        target_ke: Drive stiffness [N/m or N·m/rad].
        target_kd: Drive damping [N·s/m or N·m·s/rad].
        target_mode: How the drive uses them; None infers it from the gains.
        armature: Added inertia [kg or kg·m²].
        effort_limit: Largest effort of the drive [N or N·m].
        velocity_limit: Largest speed [m/s or rad/s].
        friction: Dry friction [N or N·m].
        damping: Passive viscous damping [N·s/m or N·m·s/rad].
        stiffness: Passive spring stiffness [N/m or N·m/rad].
    """

    axis: Any = Axis.X
    limit_lower: float = -np.inf
    limit_upper: float = np.inf
    limit_ke: float = 0.0
    limit_kd: float = 0.0
    target_pos: float = 0.0
    target_vel: float = 0.0
    target_ke: float = 0.0
    target_kd: float = 0.0
    target_mode: JointTargetMode | None = None
    armature: float = 0.0
    effort_limit: float = np.inf
    velocity_limit: float = np.inf
    friction: float = 0.0
    damping: float = 0.0
    stiffness: float = 0.0

    @property
    def axis_vector(self) -> np.ndarray:
        """The unit axis (3,).

        Raises:
            ValueError: The axis has no length.
        """
        axis = Axis[self.axis.upper()] if isinstance(self.axis, str) else self.axis
        vector = np.asarray(axis.to_vector() if isinstance(axis, Axis) else axis, dtype=float).reshape(3)
        length = np.linalg.norm(vector)
        if not length > 0:
            raise ValueError(f"a joint axis needs a length, got {vector.tolist()}")
        return vector / length

    def columns(self) -> dict[str, Any]:
        """Return the settings as values of degree-of-freedom fields."""
        mode = (
            target_mode(self.target_ke, self.target_kd, self.target_vel)
            if self.target_mode is None
            else self.target_mode
        )
        return {
            "joint_axis": self.axis_vector,
            "joint_target_q": self.target_pos,
            "joint_target_qd": self.target_vel,
            "joint_target_mode": int(mode),
            **{f"joint_{name}": getattr(self, name) for name in _DOF},
        }


_DOF = (
    "limit_lower",
    "limit_upper",
    "limit_ke",
    "limit_kd",
    "target_ke",
    "target_kd",
    "armature",
    "effort_limit",
    "velocity_limit",
    "friction",
    "damping",
    "stiffness",
)


def target_mode(stiffness: Any, damping: Any, velocity: Any) -> Any:
    """Return the JointTargetMode that drive gains imply; arrays broadcast.

    A stiffness makes a position drive, a damping alone a velocity drive, and a stiffness together with a velocity
    target one that follows both.
    """
    ke, kd = np.asarray(stiffness), np.asarray(damping)
    moving = (np.asarray(velocity) != 0) & (kd != 0)
    position = np.where(moving, JointTargetMode.POSITION_VELOCITY, JointTargetMode.POSITION)
    return np.where(ke != 0, position, np.where(kd != 0, JointTargetMode.VELOCITY, JointTargetMode.NONE))
