"""The ``add_shape_*`` calls of ModelBuilder: thin uses of bulk appends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from usd_sim.geometry import transforms as tf
from usd_sim.geometry.types import GeoType
from usd_sim.model.configs import ShapeConfig
from usd_sim.model.fields import Frequency
from usd_sim.model.rows import RowBuilder
from usd_sim.model.types import Axis

__all__ = ["ShapeBuilder"]

_ALONG = {  # rotations that take the Z axis to each axis
    Axis.X: (0.0, 2**-0.5, 0.0, 2**-0.5),
    Axis.Y: (-(2**-0.5), 0.0, 0.0, 2**-0.5),
    Axis.Z: (0.0, 0.0, 0.0, 1.0),
}


class ShapeBuilder(RowBuilder):
    """Mixed into ModelBuilder: one call per type of shape. All return the index of the new shape.

    ``body`` is the body that carries the shape (-1 is the world), ``xform`` its frame in the body (7,) [m, xyzw],
    ``cfg`` a :class:`ShapeConfig` (the builder's ``default_shape_cfg`` if not given).
    """

    default_shape_cfg: ShapeConfig

    def add_shape(
        self,
        body: int,
        geo_type: GeoType,
        scale: Sequence[float],
        *,
        xform: Any = None,
        source: Any = None,
        cfg: ShapeConfig | None = None,
        color: Sequence[float] | None = None,
        label: str | None = None,
        axis: Axis | str = Axis.Z,
        custom_attributes: dict[str, Any] | None = None,
    ) -> int:
        """Add a shape of any type.

        Args:
            body: Body that carries it; -1 is the world.
            geo_type: Kind of the shape.
            scale: Its sizes (3,) [m], see ``shape_scale``.
            xform: Frame in the body (7,).
            source: Mesh of mesh shapes.
            cfg: Settings.
            color: Display colour (3,), linear RGB.
            label: Name; ``shape_<index>`` if not given.
            axis: Axis that capsules, cylinders and cones lie along.
            custom_attributes: Values of custom shape fields by full name.

        Raises:
            ValueError: The body does not exist.
        """
        if not -1 <= body < self.columns.count(Frequency.BODY):
            raise ValueError(f"body {body} does not exist")
        index = self.columns.count(Frequency.SHAPE)
        pose = tf.identity_transform(1)[0] if xform is None else np.array(xform, dtype=float).reshape(7)
        along = Axis[axis.upper()] if isinstance(axis, str) else Axis(axis)
        if along != Axis.Z:
            pose[3:] = tf.quat_multiply(pose[3:], np.array(_ALONG[along]))
        settings = cfg or self.default_shape_cfg
        extra = {} if color is None else {"shape_color": color}
        self.append(
            Frequency.SHAPE,
            1,
            shape_body=body,
            shape_type=int(geo_type),
            shape_scale=scale,
            shape_transform=pose,
            shape_source=source,
            shape_label=label or f"shape_{index}",
            **settings.columns(),
            **extra,
            **(custom_attributes or {}),
        )
        self._filter_neighbours(index, body, settings)
        return index

    def _filter_neighbours(self, shape: int, body: int, cfg: ShapeConfig) -> None:
        if body < 0 or not cfg.collision_filter_parent or not self.columns.count(Frequency.JOINT):
            return
        parent, child = np.asarray(self.joint_parent), np.asarray(self.joint_child)
        near = np.concatenate([parent[child == body], child[parent == body]])
        others = np.flatnonzero(np.isin(np.asarray(self.shape_body), near[near >= 0]))
        if len(others):
            pairs = np.stack([others, np.full_like(others, shape)], axis=-1)
            self.append(Frequency.SHAPE_PAIR, len(pairs), shape_collision_filter_pairs=pairs)

    def add_shape_collision_filter_pair(self, shape_a: int, shape_b: int) -> None:
        """Let two shapes pass through each other."""
        self.append(Frequency.SHAPE_PAIR, 1, shape_collision_filter_pairs=(shape_a, shape_b))

    # --- one call per type ------------------------------------------------------------------------------------------

    def add_shape_sphere(self, body: int, *, radius: float = 1.0, **shape: Any) -> int:
        """Add a sphere of a radius [m]."""
        return self.add_shape(body, GeoType.SPHERE, (radius, 0.0, 0.0), **shape)

    def add_shape_box(self, body: int, *, hx: float = 0.5, hy: float = 0.5, hz: float = 0.5, **shape: Any) -> int:
        """Add a box of half extents [m]."""
        return self.add_shape(body, GeoType.BOX, (hx, hy, hz), **shape)

    def add_shape_capsule(self, body: int, *, radius: float = 1.0, half_height: float = 0.5, **shape: Any) -> int:
        """Add a capsule: a cylinder of a half height with hemispheres on both ends [m]."""
        return self.add_shape(body, GeoType.CAPSULE, (radius, half_height, 0.0), **shape)

    def add_shape_cylinder(self, body: int, *, radius: float = 1.0, half_height: float = 0.5, **shape: Any) -> int:
        """Add a cylinder [m]."""
        return self.add_shape(body, GeoType.CYLINDER, (radius, half_height, 0.0), **shape)

    def add_shape_cone(self, body: int, *, radius: float = 1.0, half_height: float = 0.5, **shape: Any) -> int:
        """Add a cone with its tip at +half_height [m]."""
        return self.add_shape(body, GeoType.CONE, (radius, half_height, 0.0), **shape)

    def add_shape_ellipsoid(
        self, body: int, *, rx: float = 1.0, ry: float = 0.75, rz: float = 0.5, **shape: Any
    ) -> int:
        """Add an ellipsoid of three radii [m]."""
        return self.add_shape(body, GeoType.ELLIPSOID, (rx, ry, rz), **shape)

    def add_shape_plane(self, body: int = -1, *, width: float = 0.0, length: float = 0.0, **shape: Any) -> int:
        """Add a plane with normal +Z; a width or length of 0 is infinite [m]."""
        return self.add_shape(body, GeoType.PLANE, (width, length, 0.0), **shape)

    def add_shape_mesh(self, body: int, *, mesh: Any, scale: Sequence[float] = (1.0, 1.0, 1.0), **shape: Any) -> int:
        """Add a triangle mesh, a :class:`usd_sim.geometry.Mesh` scaled per axis."""
        return self.add_shape(body, GeoType.MESH, scale, source=mesh, **shape)

    def add_shape_convex_hull(
        self, body: int, *, mesh: Any, scale: Sequence[float] = (1.0, 1.0, 1.0), **shape: Any
    ) -> int:
        """Add the convex hull of a mesh."""
        return self.add_shape(body, GeoType.CONVEX_MESH, scale, source=mesh, **shape)

    def add_ground_plane(
        self, *, height: float = 0.0, cfg: ShapeConfig | None = None, label: str = "ground_plane"
    ) -> int:
        """Add an infinite static plane across the up axis at a height [m]."""
        up = np.asarray(self.up_axis.to_vector())
        pose = np.concatenate([up * height, _ALONG[self.up_axis]])
        return self.add_shape_plane(-1, xform=pose, cfg=cfg, label=label)
