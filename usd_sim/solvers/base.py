"""What every solver shares: the step interface, and the declaration of what a solver honours.

A solver states its :class:`Capabilities`; :func:`unsupported` compares them with a model and lists, by name, what the
solver will not honour. Binding a model warns once for each entry.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, ClassVar

import numpy as np

from usd_sim.errors import UsdSimWarning
from usd_sim.geometry import transforms as tf
from usd_sim.geometry.types import GeoType
from usd_sim.model.types import JointTargetMode, JointType, ModelFlags, ShapeFlags

__all__ = ["Capabilities", "Feature", "SolverBase", "Unsupported", "host", "name_of", "unsupported"]


class Feature(StrEnum):
    """What a model may ask of a solver, besides joint and shape types."""

    DRIVE = "drive"
    ACCELERATION_DRIVE = "acceleration drive"
    BALL_LIMIT = "ball limit"
    LIMIT = "limit"
    VELOCITY_LIMIT = "velocity limit"
    EFFORT_LIMIT = "effort limit"
    JOINT_FRICTION = "joint friction"
    JOINT_DAMPING = "joint damping"
    JOINT_STIFFNESS = "joint stiffness"
    ARMATURE = "armature"
    MIMIC = "mimic"
    LOOP_FORCES = "drives and limits of loop joints"
    STACKED_ANCHORS = "stacked anchors"
    RESTITUTION = "restitution"
    ADHESION = "adhesion"
    KINEMATIC = "kinematic bodies"
    WORLD_GRAVITY = "gravity per world"
    BODY_GRAVITY = "gravity per body"
    BODY_DAMPING = "body damping"


@dataclass(frozen=True)
class Capabilities:
    """What a solver honours.

    Attributes:
        joint_types: Types of tree joints.
        loop_types: Types of joints that close loops.
        shape_types: Types of shapes that collide.
        features: Everything else.
    """

    joint_types: frozenset[JointType] = frozenset()
    loop_types: frozenset[JointType] = frozenset()
    shape_types: frozenset[GeoType] = frozenset()
    features: frozenset[Feature] = frozenset()


@dataclass(frozen=True)
class Unsupported:
    """One thing in a model that a solver will not honour.

    Attributes:
        feature: Its name.
        count: How many rows ask for it.
        examples: Paths of the first few rows.
        message: What happens instead.
    """

    feature: str
    count: int
    message: str
    examples: tuple[str, ...] = field(default=())

    def __str__(self) -> str:
        shown = ", ".join(self.examples)
        more = f" and {self.count - len(self.examples)} more" if self.count > len(self.examples) else ""
        where = f": {shown}{more}" if shown else ""
        return f"{self.feature}: {self.message}{where}"


_EXAMPLES = 3


def host(model: Any, name: str) -> np.ndarray:
    """Return the rows of a field of a model on the host; a view where the model lives there."""
    return model.array(name).numpy()


def name_of(model: Any, frequency: str, row: int) -> str:
    """Return the prim path of a row; the label of instances, and of what came from no prim."""
    paths, labels = model.array(f"{frequency}_path"), model.array(f"{frequency}_label")
    if f"{frequency}_instancer" in model.table and model.array(f"{frequency}_instancer")[row]:
        return labels[row]
    return paths[row] or labels[row] or f"{frequency} {row}"


def _entry(model: Any, feature: str, rows: np.ndarray, frequency: str, message: str) -> list[Unsupported]:
    if len(rows) == 0:
        return []
    unique = np.unique(rows)
    examples = tuple(name_of(model, frequency, int(row)) for row in unique[:_EXAMPLES])
    return [Unsupported(feature, len(unique), message, examples)]


class _Rows:
    """Index arrays that the checks share: which joints act, and the joint of each degree of freedom."""

    def __init__(self, model: Any):
        self.type = host(model, "joint_type")
        self.enabled = host(model, "joint_enabled").astype(bool)
        child, articulation = host(model, "joint_child"), host(model, "joint_articulation")
        held = np.zeros(model.body_count + 1, dtype=bool)
        held[child[(articulation >= 0) & self.enabled]] = True
        self.loop = self.enabled & (articulation < 0) & held[child]
        self.tree = self.enabled & ~self.loop
        starts = host(model, "joint_qd_start")
        self.dof_joint = np.repeat(np.arange(len(self.type)), np.diff(starts))

    def joints(self, dof_mask: np.ndarray) -> np.ndarray:
        """Return the joints of the degrees of freedom in a mask."""
        return self.dof_joint[np.flatnonzero(dof_mask)]


_DofCheck = Callable[[Any, _Rows], np.ndarray]


def _above(name: str) -> _DofCheck:
    return lambda model, rows: host(model, name) > 0


def _finite(name: str) -> _DofCheck:
    return lambda model, rows: np.isfinite(host(model, name))


def _limited(model: Any, rows: _Rows) -> np.ndarray:
    return np.isfinite(host(model, "joint_limit_lower")) | np.isfinite(host(model, "joint_limit_upper"))


def _driven(model: Any, rows: _Rows) -> np.ndarray:
    mode = host(model, "joint_target_mode")
    return (mode != JointTargetMode.NONE) & (mode != JointTargetMode.EFFORT)


def _accelerated(model: Any, rows: _Rows) -> np.ndarray:
    return host(model, "joint_drive_acceleration").astype(bool) & _driven(model, rows)


def _ball(rows: _Rows) -> np.ndarray:
    return rows.type[rows.dof_joint] == JointType.BALL


def _distance(rows: _Rows) -> np.ndarray:
    return rows.type[rows.dof_joint] == JointType.DISTANCE


_DOF_CHECKS: tuple[tuple[Feature, _DofCheck, str], ...] = (
    (Feature.DRIVE, _driven, "joint drives do nothing"),
    (Feature.ACCELERATION_DRIVE, _accelerated, "the gains count as those of force drives"),
    (Feature.LIMIT, lambda m, r: _limited(m, r) & ~_ball(r) & ~_distance(r), "joint limits do nothing"),
    (Feature.BALL_LIMIT, lambda m, r: _limited(m, r) & _ball(r), "limits of ball joints do nothing"),
    (Feature.VELOCITY_LIMIT, _finite("joint_velocity_limit"), "joint speeds are not limited"),
    (Feature.EFFORT_LIMIT, _finite("joint_effort_limit"), "joint efforts are not limited"),
    (Feature.JOINT_FRICTION, _above("joint_friction"), "joints have no dry friction"),
    (Feature.JOINT_DAMPING, _above("joint_damping"), "joints have no passive damping"),
    (Feature.JOINT_STIFFNESS, _above("joint_stiffness"), "joints have no passive springs"),
    (Feature.ARMATURE, _above("joint_armature"), "joints have no added inertia"),
    (
        Feature.STACKED_ANCHORS,
        lambda m, r: np.any(host(m, "joint_dof_anchor") != 0, axis=1),
        "all hinges of a joint turn about its origin",
    ),
)


def _joint_entries(model: Any, able: Capabilities, rows: _Rows) -> list[Unsupported]:
    found: list[Unsupported] = []
    for joint_type in JointType:
        of_type = rows.type == joint_type
        if joint_type not in able.joint_types:
            message = "simulated without its constraint" if joint_type == JointType.DISTANCE else "not simulated"
            found += _entry(model, f"{joint_type.name} joints", np.flatnonzero(rows.tree & of_type), "joint", message)
        if joint_type not in able.loop_types:
            found += _entry(
                model,
                f"{joint_type.name} joints that close loops",
                np.flatnonzero(rows.loop & of_type),
                "joint",
                "the loop stays open",
            )
    for feature, check, message in _DOF_CHECKS:
        if feature not in able.features:
            asked = check(model, rows) & rows.enabled[rows.dof_joint]
            found += _entry(model, feature, rows.joints(asked), "joint", message)
    if Feature.MIMIC not in able.features:
        asked = np.flatnonzero((host(model, "joint_mimic_joint") >= 0) & rows.enabled)
        found += _entry(model, Feature.MIMIC, asked, "joint", "the joint does not follow its leader")
    if Feature.LOOP_FORCES not in able.features:
        active = _driven(model, rows) | _limited(model, rows)
        asked = rows.joints(active & rows.loop[rows.dof_joint])
        found += _entry(model, Feature.LOOP_FORCES, asked, "joint", "only the coupling of the loop is kept")
    return found


def _shape_entries(model: Any, able: Capabilities) -> list[Unsupported]:
    found: list[Unsupported] = []
    collides = (host(model, "shape_flags") & ShapeFlags.COLLIDE_SHAPES) != 0
    types = host(model, "shape_type")
    for geo_type in GeoType:
        if geo_type not in able.shape_types and geo_type != GeoType.NONE:
            shapes = np.flatnonzero(collides & (types == geo_type))
            found += _entry(model, f"{geo_type.name} shapes", shapes, "shape", "take no part in collision")
    for feature, name, message in (
        (Feature.RESTITUTION, "shape_material_restitution", "contacts do not bounce"),
        (Feature.ADHESION, "shape_material_ka", "contacts do not stick"),
    ):
        if feature not in able.features:
            found += _entry(model, feature, np.flatnonzero(collides & (host(model, name) > 0)), "shape", message)
    return found


def unsupported(model: Any, able: Capabilities) -> list[Unsupported]:
    """List what a solver with these capabilities will not honour in a model.

    Args:
        model: The model.
        able: What the solver honours.
    """
    found: list[Unsupported] = []
    if model.joint_count:
        found += _joint_entries(model, able, _Rows(model))
    if model.shape_count:
        found += _shape_entries(model, able)
    if Feature.KINEMATIC not in able.features and model.body_count:
        kinematic = np.flatnonzero(host(model, "body_flags") & 1)
        found += _entry(model, Feature.KINEMATIC, kinematic, "body", "move as dynamic bodies")
    gravity = host(model, "gravity")
    if Feature.WORLD_GRAVITY not in able.features and np.any(gravity != gravity[:1]):
        found.append(Unsupported(Feature.WORLD_GRAVITY, len(gravity), "all worlds have the gravity of the first"))
    if Feature.BODY_GRAVITY not in able.features and model.body_count:
        rows = np.flatnonzero(host(model, "body_gravity").any(axis=1))
        found += _entry(model, Feature.BODY_GRAVITY, rows, "body", "fall by the gravity of their world")
    if Feature.BODY_DAMPING not in able.features and model.body_count:
        rows = np.flatnonzero((host(model, "body_linear_damping") > 0) | (host(model, "body_angular_damping") > 0))
        found += _entry(model, Feature.BODY_DAMPING, rows, "body", "bodies are not slowed down")
    return found


class SolverBase:
    """Advances the state of a model.

    Args:
        model: The model. Binding it warns once of each thing that the solver will not honour.

    Attributes:
        supports: What the solver honours.
        unsupported: What it will not honour in this model.
    """

    supports: ClassVar[Capabilities] = Capabilities()

    @property
    def takes_inputs_cheaply(self) -> bool:
        """Whether new inputs before every step cost little next to the step."""
        return False

    def __init__(self, model: Any):
        self.model = model
        self.unsupported = [*unsupported(model, self.supports), *self.more_unsupported(model)]
        for entry in self.unsupported:
            warnings.warn(f"{type(self).__name__}: {entry}", UsdSimWarning, stacklevel=3)

    def more_unsupported(self, model: Any) -> list[Unsupported]:
        """Return what a solver finds beyond its capabilities; for solvers with rules of their own."""
        return []

    @property
    def device(self) -> Any:
        """The device of the model."""
        return self.model.device

    def step(self, state_in: Any, state_out: Any, control: Any, contacts: Any, dt: float) -> None:
        """Advance by one step.

        Args:
            state_in: State at the start; not changed.
            state_out: Receives the state at the end; may be ``state_in``.
            control: Inputs of the drives, or None for the model's own.
            contacts: Contacts found by a collision pipeline, for solvers that do not find their own; or None.
            dt: Length of the step [s].
        """
        raise TypeError(f"{type(self).__name__} does not implement step()")

    def follow(self, state: Any, rows: np.ndarray, here: np.ndarray, there: np.ndarray, seconds: float) -> None:
        """Make kinematic bodies move from one pose to another, over the steps to come.

        Args:
            state: State that the next step starts at; may be written to.
            rows: Bodies ``(n,)``.
            here: Their poses X_WB now ``(n, 7)`` [m, xyzw].
            there: Their poses in ``seconds``. In between the centre of mass moves on a straight line and the body turns
                about a fixed axis; solvers that integrate another point move that one on a straight line.
            seconds: Time that this takes [s]; bodies go on at these rates if they are told nothing else.
        """
        com = host(self.model, "body_com")[rows]
        body_q, body_qd = state.body_q.numpy(), state.body_qd.numpy()
        body_q[rows] = here
        body_qd[rows, :3] = (tf.transform_point(there, com) - tf.transform_point(here, com)) / seconds
        turn = tf.quat_multiply(there[:, 3:], tf.quat_conjugate(here[:, 3:]))
        body_qd[rows, 3:] = tf.quat_to_rotation_vector(turn) / seconds
        if state.body_q.device.is_cuda:
            state.body_q.assign(body_q)
            state.body_qd.assign(body_qd)

    def advance(self, state: Any, control: Any, dt: float, substeps: int = 1) -> None:
        """Advance a state in place by several steps; it may be left stale until :meth:`pull`.

        Args:
            state: State to advance.
            control: Inputs of the drives.
            dt: Length of one step [s].
            substeps: Number of steps.
        """
        for _ in range(substeps):
            self.step(state, state, control, None, dt)

    def pull(self, state: Any) -> None:
        """Bring a state that :meth:`advance` left stale up to date; solvers that leave none stale do nothing."""

    def is_finite(self) -> bool:
        """Whether the latest state holds finite numbers alone; to be answered cheaply."""
        return True

    def notify_model_changed(self, flags: ModelFlags) -> None:
        """Take over edits of the model's arrays.

        Args:
            flags: What changed.
        """

    def reset(self, state: Any) -> None:
        """Forget all history (warm starts, caches) and start again from a state."""
