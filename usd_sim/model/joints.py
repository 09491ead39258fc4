"""The ``add_joint_*`` calls of ModelBuilder: thin uses of bulk appends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from usd_sim.geometry import transforms as tf
from usd_sim.model.configs import JointDofConfig
from usd_sim.model.fields import Frequency
from usd_sim.model.rows import RowBuilder
from usd_sim.model.types import Axis, JointType, joint_dimensions

__all__ = ["JointBuilder"]


class JointBuilder(RowBuilder):
    """Mixed into ModelBuilder: one call per type of joint. All return the index of the new joint.

    ``parent`` and ``child`` are body indices (-1 is the world), ``parent_xform`` and ``child_xform`` the joint frame in
    each (7,) [m, xyzw], identity if not given.
    """

    def add_joint(
        self,
        joint_type: JointType,
        parent: int,
        child: int,
        *,
        linear_axes: Sequence[JointDofConfig] = (),
        angular_axes: Sequence[JointDofConfig] = (),
        parent_xform: Any = None,
        child_xform: Any = None,
        label: str | None = None,
        collision_filter_parent: bool = True,
        enabled: bool = True,
        custom_attributes: Mapping[str, Any] | None = None,
    ) -> int:
        """Add a joint of any type from the settings of its axes.

        Args:
            joint_type: Kind of the joint.
            parent: Parent body; -1 is the world.
            child: Child body.
            linear_axes: Settings of the linear degrees of freedom.
            angular_axes: Settings of the angular degrees of freedom.
            parent_xform: Joint frame in the parent (7,).
            child_xform: Joint frame in the child (7,).
            label: Name; ``joint_<index>`` if not given.
            collision_filter_parent: The shapes of both bodies do not collide.
            enabled: Whether the joint acts.
            custom_attributes: Values of custom joint, dof and coordinate fields by full name.

        Raises:
            ValueError: A body does not exist, or parent and child are the same.
        """
        count = self.columns.count(Frequency.BODY)
        if not (-1 <= parent < count and 0 <= child < count and parent != child):
            raise ValueError(f"a joint needs a parent in -1..{count - 1} and another child in 0..{count - 1}")
        coords, dofs, linear, angular = joint_dimensions(joint_type, len(linear_axes), len(angular_axes))
        frames = _pose(parent_xform), _pose(child_xform)
        freedoms = _dof_columns(dofs, [*linear_axes, *angular_axes])
        custom = self._split_custom(custom_attributes or {})
        index = self.columns.count(Frequency.JOINT)
        self.append(
            Frequency.JOINT,
            1,
            joint_type=int(joint_type),
            joint_parent=parent,
            joint_child=child,
            joint_X_p=frames[0],
            joint_X_c=frames[1],
            joint_dof_dim=(linear, angular),
            joint_enabled=enabled,
            joint_label=label or f"joint_{index}",
            **custom[Frequency.JOINT],
        )
        self.append(Frequency.JOINT_DOF, dofs, **{**freedoms, **custom[Frequency.JOINT_DOF]})
        coordinates = self._initial_coordinates(joint_type, parent, child, frames, coords)
        self.append(Frequency.JOINT_COORD, coords, joint_q=coordinates, **custom[Frequency.JOINT_COORD])
        if collision_filter_parent and parent >= 0:
            self._filter_bodies(parent, child)
        return index

    def _initial_coordinates(
        self, joint_type: JointType, parent: int, child: int, frames: tuple[np.ndarray, np.ndarray], coords: int
    ) -> np.ndarray:
        if joint_type in (JointType.FREE, JointType.DISTANCE):
            in_parent = frames[0] if parent < 0 else tf.transform_multiply(self.body_q[parent], frames[0])
            in_child = tf.transform_multiply(self.body_q[child], frames[1])
            return tf.transform_multiply(tf.transform_inverse(in_parent), in_child)
        return np.array([0.0, 0.0, 0.0, 1.0]) if joint_type == JointType.BALL else np.zeros(coords)

    def _split_custom(self, custom: Mapping[str, Any]) -> dict[Frequency, dict[str, Any]]:
        split: dict[Frequency, dict[str, Any]] = {
            key: {} for key in (Frequency.JOINT, Frequency.JOINT_DOF, Frequency.JOINT_COORD)
        }
        for name, value in custom.items():
            split[Frequency(self.columns.table[name].frequency)][name] = value
        return split

    def _filter_bodies(self, a: int, b: int) -> None:
        shape_body = np.asarray(self.shape_body)
        first, second = np.flatnonzero(shape_body == a), np.flatnonzero(shape_body == b)
        pairs = np.stack(np.meshgrid(first, second, indexing="ij"), axis=-1).reshape(-1, 2)
        if len(pairs):
            self.append(Frequency.SHAPE_PAIR, len(pairs), shape_collision_filter_pairs=pairs)

    # --- one call per type ------------------------------------------------------------------------------------------

    def add_joint_revolute(self, parent: int, child: int, *, axis: Any = Axis.X, **settings: Any) -> int:
        """Add a hinge. ``settings`` are those of :class:`JointDofConfig` and of :meth:`add_joint`."""
        config, joint = _split(axis, settings)
        return self.add_joint(JointType.REVOLUTE, parent, child, angular_axes=[config], **joint)

    def add_joint_prismatic(self, parent: int, child: int, *, axis: Any = Axis.X, **settings: Any) -> int:
        """Add a slider. ``settings`` are those of :class:`JointDofConfig` and of :meth:`add_joint`."""
        config, joint = _split(axis, settings)
        return self.add_joint(JointType.PRISMATIC, parent, child, linear_axes=[config], **joint)

    def add_joint_ball(self, parent: int, child: int, **joint: Any) -> int:
        """Add a ball joint; its coordinates are a quaternion, its velocities are angular.

        In the parent's joint frame.
        """
        return self.add_joint(JointType.BALL, parent, child, **joint)

    def add_joint_fixed(self, parent: int, child: int, **joint: Any) -> int:
        """Add a joint without freedom."""
        return self.add_joint(JointType.FIXED, parent, child, **joint)

    def add_joint_free(self, child: int, *, parent: int = -1, **joint: Any) -> int:
        """Add a joint with all six freedoms; its coordinates start at the pose of the child."""
        return self.add_joint(JointType.FREE, parent, child, **joint)

    def add_joint_distance(
        self, parent: int, child: int, *, min_distance: float = -1.0, max_distance: float = 1.0, **joint: Any
    ) -> int:
        """Add a joint that bounds the distance between the two joint frames [m]; a negative bound is none."""
        limits = JointDofConfig(limit_lower=min_distance, limit_upper=max_distance)
        index = self.add_joint(JointType.DISTANCE, parent, child, **joint)
        start = self.columns.count(Frequency.JOINT_DOF) - 6
        self.joint_limit_lower[start] = limits.limit_lower
        self.joint_limit_upper[start] = limits.limit_upper
        return index

    def add_joint_d6(
        self,
        parent: int,
        child: int,
        *,
        linear_axes: Sequence[JointDofConfig] = (),
        angular_axes: Sequence[JointDofConfig] = (),
        **joint: Any,
    ) -> int:
        """Add a joint with up to three linear and three angular freedoms, linear first, applied in the order given.

        Raises:
            ValueError: More than three axes of a kind.
        """
        if len(linear_axes) > 3 or len(angular_axes) > 3:
            raise ValueError("a D6 joint has at most three linear and three angular axes")
        return self.add_joint(JointType.D6, parent, child, linear_axes=linear_axes, angular_axes=angular_axes, **joint)


_JOINT_SETTINGS = (
    "parent_xform",
    "child_xform",
    "label",
    "collision_filter_parent",
    "enabled",
    "custom_attributes",
)


def _split(axis: Any, settings: dict[str, Any]) -> tuple[JointDofConfig, dict[str, Any]]:
    joint = {name: settings.pop(name) for name in _JOINT_SETTINGS if name in settings}
    return JointDofConfig(axis=axis, **settings), joint


def _dof_columns(dofs: int, axes: Sequence[JointDofConfig]) -> dict[str, Any]:
    """Return the columns of the freedoms of a joint; without settings only their axes."""
    if axes and len(axes) == dofs:
        rows = [axis.columns() for axis in axes]
        return {name: np.stack([row[name] for row in rows]) for name in rows[0]}
    return {"joint_axis": np.tile(np.eye(3), (2, 1))[-dofs:] if dofs else np.zeros((0, 3))}


def _pose(xform: Any) -> np.ndarray:
    return tf.identity_transform(1)[0] if xform is None else np.asarray(xform, dtype=float).reshape(7)
