"""Closed sets that the field table's integers stand for."""

from __future__ import annotations

from enum import IntEnum, IntFlag

from usd_sim.geometry.types import GeoType

__all__ = ["Axis", "BodyFlags", "CombineMode", "GeoType", "JointTargetMode", "JointType", "ModelFlags", "ShapeFlags"]


class Axis(IntEnum):
    """A coordinate axis."""

    X = 0
    Y = 1
    Z = 2

    def to_vector(self) -> tuple[float, float, float]:
        """Return the unit vector of the axis."""
        return tuple(1.0 if i == self else 0.0 for i in range(3))  # type: ignore[return-value]


class CombineMode(IntEnum):
    """How one coefficient comes from those of two materials; of two modes the higher counts, as in PhysX."""

    AVERAGE = 0
    MIN = 1
    MULTIPLY = 2
    MAX = 3


class JointType(IntEnum):
    """Kinds of joints; see :func:`joint_dimensions` for their sizes."""

    PRISMATIC = 0
    REVOLUTE = 1
    BALL = 2
    FIXED = 3
    FREE = 4
    DISTANCE = 5
    D6 = 6


class JointTargetMode(IntEnum):
    """How the drive of a degree of freedom uses its targets and gains."""

    NONE = 0
    POSITION = 1
    VELOCITY = 2
    POSITION_VELOCITY = 3
    EFFORT = 4


class BodyFlags(IntFlag):
    """Properties of a body that are on or off."""

    NONE = 0
    KINEMATIC = 1
    PROMOTED = 2  # no rigid body on its stage, but colliders that move; results leave it out


class ShapeFlags(IntFlag):
    """Properties of a shape that are on or off."""

    NONE = 0
    VISIBLE = 1
    COLLIDE_SHAPES = 2
    COLLIDE_PARTICLES = 4
    SITE = 8


class ModelFlags(IntFlag):
    """What changed in a model; handed to ``Solver.notify_model_changed``."""

    NONE = 0
    JOINT_PROPERTIES = 1
    JOINT_DOF_FORCE_PROPERTIES = 2
    JOINT_DOF_INERTIAL_PROPERTIES = 4
    JOINT_REFERENCE_POSE_PROPERTIES = 8
    JOINT_DOF_PROPERTIES = 14
    BODY_PROPERTIES = 16
    BODY_INERTIAL_PROPERTIES = 32
    SHAPE_PROPERTIES = 64
    MODEL_PROPERTIES = 128
    CONSTRAINT_PROPERTIES = 256
    ALL = 511


_SCALAR_SIZES = {
    JointType.PRISMATIC: (1, 1, 1, 0),
    JointType.REVOLUTE: (1, 1, 0, 1),
    JointType.BALL: (4, 3, 0, 3),
    JointType.FIXED: (0, 0, 0, 0),
    JointType.FREE: (7, 6, 3, 3),
    JointType.DISTANCE: (7, 6, 3, 3),
}


def joint_dimensions(joint_type: JointType, linear: int = 0, angular: int = 0) -> tuple[int, int, int, int]:
    """Return (coordinates, degrees of freedom, linear dofs, angular dofs) of a joint.

    Args:
        joint_type: Kind of the joint.
        linear: Number of linear axes; only used by ``JointType.D6``.
        angular: Number of angular axes; only used by ``JointType.D6``.
    """
    if joint_type == JointType.D6:
        return linear + angular, linear + angular, linear, angular
    return _SCALAR_SIZES[joint_type]
