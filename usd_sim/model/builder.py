"""ModelBuilder: rows go in, singly or in bulk, and a Model comes out.

:meth:`ModelBuilder.append` is the primitive; every ``add_*`` call is a thin use of it, and so is the stage compiler,
which calls it once per family of prims with whole columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from usd_sim.geometry import transforms as tf
from usd_sim.model import finalize as passes
from usd_sim.model.configs import JointDofConfig, ShapeConfig
from usd_sim.model.fields import Frequency
from usd_sim.model.joints import JointBuilder
from usd_sim.model.model import Model
from usd_sim.model.shapes import ShapeBuilder
from usd_sim.model.types import Axis, BodyFlags

__all__ = ["ModelBuilder"]


class ModelBuilder(JointBuilder, ShapeBuilder):
    """Collects bodies, joints, shapes and articulations.

    Every builder field of the table is also an attribute: a view of its rows that can be read and written in place,
    as in ``builder.joint_q[-1] = 0.5``; and every frequency has a count, as in ``builder.body_count``.

    Args:
        up_axis: Axis that gravity points along, downwards.
        gravity: Acceleration along the up axis [m/s²], or a gravity vector (3,).
    """

    JointDofConfig = JointDofConfig
    ShapeConfig = ShapeConfig

    def __init__(self, up_axis: Axis | str = Axis.Z, gravity: float | Sequence[float] = -9.81):
        super().__init__()
        self.up_axis = Axis[up_axis.upper()] if isinstance(up_axis, str) else Axis(up_axis)
        self.gravity_vector = np.asarray(gravity, dtype=float)
        if self.gravity_vector.ndim == 0:
            self.gravity_vector = float(gravity) * np.asarray(self.up_axis.to_vector())  # type: ignore[arg-type]
        self.default_shape_cfg = ShapeConfig()
        self.default_joint_cfg = JointDofConfig()

    # --- bodies -----------------------------------------------------------------------------------------------------

    def add_link(
        self,
        xform: Any = None,
        com: Any = None,
        inertia: Any = None,
        mass: float = 0.0,
        label: str | None = None,
        *,
        is_kinematic: bool = False,
        lock_inertia: bool = False,
        custom_attributes: Mapping[str, Any] | None = None,
    ) -> int:
        """Add a body without a joint and return its index.

        Args:
            xform: Pose in world, X_WB (7,) [m, xyzw]; identity if not given.
            com: Centre of mass in the body frame (3,) [m].
            inertia: Inertia about the centre of mass (3, 3) [kg·m²].
            mass: Mass besides that of the shapes [kg].
            label: Name; ``body_<index>`` if not given.
            is_kinematic: Moves only as prescribed. Only roots may be kinematic.
            lock_inertia: Shapes do not add mass.
            custom_attributes: Values of custom body fields by full name.
        """
        index = self.columns.count(Frequency.BODY)
        return self.append(
            Frequency.BODY,
            1,
            body_q=_transform(xform),
            body_com=np.zeros(3) if com is None else com,
            body_inertia=np.zeros((3, 3)) if inertia is None else np.reshape(inertia, (3, 3)),
            body_mass=mass,
            body_label=label or f"body_{index}",
            body_flags=int(BodyFlags.KINEMATIC if is_kinematic else BodyFlags.NONE),
            body_lock_inertia=lock_inertia,
            **(custom_attributes or {}),
        )

    def add_body(self, xform: Any = None, **link: Any) -> int:
        """Add a free body: a link, its free joint and an articulation of the two.

        Takes the arguments of ``add_link``.
        """
        body = self.add_link(xform, **link)
        label = self.body_label[body]
        joint = self.add_joint_free(body, label=f"{label}_free_joint")
        self.add_articulation([joint], label=f"{label}_articulation")
        return body

    # --- articulations ----------------------------------------------------------------------------------------------

    def add_articulation(
        self,
        joints: Iterable[int],
        label: str | None = None,
        *,
        custom_attributes: Mapping[str, Any] | None = None,
    ) -> int:
        """Make a kinematic tree of joints and return its index.

        Args:
            joints: Consecutive joint indices, parents before children.
            label: Name; ``articulation_<index>`` if not given.
            custom_attributes: Values of custom articulation fields by full name.

        Raises:
            ValueError: The joints are not consecutive, already belong to an articulation, or make a non-root link
                kinematic.
        """
        rows = np.asarray(list(joints), dtype=int)
        if len(rows) == 0:
            raise ValueError("an articulation needs at least one joint")
        if np.any(np.diff(rows) != 1):
            raise ValueError(f"joints of an articulation must be consecutive and in order, got {rows.tolist()}")
        if np.any(self.joint_articulation[rows] >= 0):
            raise ValueError("a joint belongs to an articulation already")
        kinematic = (self.body_flags[self.joint_child[rows]] & BodyFlags.KINEMATIC) != 0
        if np.any(kinematic & (self.joint_parent[rows] >= 0)):
            body = self.joint_child[rows][kinematic & (self.joint_parent[rows] >= 0)][0]
            raise ValueError(f"body {self.body_label[body]!r} is kinematic but not a root")
        index = self.columns.count(Frequency.ARTICULATION)
        self.append(
            Frequency.ARTICULATION, 1, articulation_label=label or f"articulation_{index}", **(custom_attributes or {})
        )
        self.joint_articulation[rows] = index
        return index

    # --- worlds and copies ------------------------------------------------------------------------------------------

    def begin_world(self, *, gravity: Sequence[float] | None = None) -> int:
        """Start a world: rows added until :meth:`end_world` belong to it. Returns its index."""
        if self.current_world >= 0:
            raise ValueError("a world is open already; call end_world first")
        vector = self.gravity_vector if gravity is None else gravity
        self.current_world = self.columns.append(Frequency.WORLD, 1, {"gravity": vector})
        return self.current_world

    def end_world(self) -> None:
        """Close the open world."""
        if self.current_world < 0:
            raise ValueError("no world is open; call begin_world first")
        self.current_world = -1

    def add_builder(self, builder: ModelBuilder, *, xform: Any = None) -> None:
        """Append all rows of another builder, into the open world if there is one.

        Args:
            builder: What to copy.
            xform: Transform (7,) that its world is placed by.

        Raises:
            ValueError: The other builder is this one, or it holds worlds while one is open here.
        """
        if self.current_world >= 0 and builder.columns.count(Frequency.WORLD):
            raise ValueError("a world is open and the other builder holds worlds itself; call end_world first")
        self._merge(
            builder, copies=1, worlds=None if self.current_world < 0 else np.array([self.current_world]), xform=xform
        )

    def add_world(self, builder: ModelBuilder, *, xform: Any = None) -> int:
        """Append another builder as a world of its own and return its index."""
        return self.replicate(builder, 1, xforms=None if xform is None else np.asarray(xform)[None])

    def replicate(
        self, builder: ModelBuilder, world_count: int, *, spacing: Sequence[float] = (0, 0, 0), xforms: Any = None
    ) -> int:
        """Append ``world_count`` copies of a builder, each a world of its own; return the index of the first.

        Args:
            builder: Template; it must hold no worlds itself.
            world_count: Number of copies.
            spacing: Distance between neighbours along each axis [m]; copies fill a square grid, all in place for 0.
            xforms: Transform of each copy (world_count, 7); takes the place of ``spacing``.
        """
        if self.current_world >= 0:
            raise ValueError("a world is open; call end_world first")
        if builder.columns.count(Frequency.WORLD):
            raise ValueError("the template holds worlds itself; replicate a builder without begin_world or add_world")
        first = self.columns.append(Frequency.WORLD, world_count, {"gravity": builder.gravity_vector})
        if xforms is None and np.any(spacing):
            xforms = _grid(world_count, np.asarray(spacing, dtype=float))
        self._merge(builder, world_count, first + np.arange(world_count), xforms)
        return first

    def _merge(self, builder: ModelBuilder, copies: int, worlds: np.ndarray | None, xform: Any) -> None:
        if builder is self:
            raise ValueError("a builder cannot be added to itself; add it to a new one twice")
        sizes = dict(builder.columns.counts)
        starts = self.columns.merge(builder.columns, copies)
        for frequency, n in sizes.items():
            name = f"{frequency}_world"
            if worlds is not None and n and name in self.columns.table:
                self.columns.view(name)[starts[frequency] : starts[frequency] + n * copies] = np.repeat(worlds, n)
        if xform is not None:
            xforms = np.broadcast_to(np.asarray(xform, dtype=float), (copies, 7))
            for frequency, n in sizes.items():
                passes.move_rows(
                    self.columns, frequency, slice(starts[frequency], starts[frequency] + n * copies), xforms
                )

    # --- result -----------------------------------------------------------------------------------------------------

    def finalize(
        self, device: Any = None, *, skip_validation_joints: bool = False, requires_grad: bool = False
    ) -> Model:
        """Check, derive and allocate; the builder stays as it was.

        Args:
            device: Warp device, such as "cpu" or "cuda:0"; Warp's default if not given.
            skip_validation_joints: Allow bodies and joints outside of any articulation.
            requires_grad: Allocate floating-point arrays with gradients.

        Raises:
            UsdSimError: A row refers to nothing, a value is not finite, or the joints make no valid tree.
        """
        columns, counts = passes.run(self.columns, self.gravity_vector, check_joints=not skip_validation_joints)
        return Model(self.columns.table.copy(), columns, counts, device=device, requires_grad=requires_grad)


def _transform(xform: Any) -> np.ndarray:
    return tf.identity_transform(1)[0] if xform is None else np.asarray(xform, dtype=float).reshape(7)


def _grid(count: int, spacing: np.ndarray) -> np.ndarray:
    active = np.flatnonzero(spacing)
    side = int(np.ceil(count ** (1.0 / len(active)) - 1e-9))
    cells = np.stack(np.unravel_index(np.arange(count), (side,) * len(active)), axis=-1) - (side - 1) / 2
    xforms = tf.identity_transform(count)
    xforms[:, active] = cells * spacing[active]
    return xforms
