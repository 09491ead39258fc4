"""The one table of fields: every array of Model, State and Control is a row here.

Building, merging, replicating, allocating, resetting and documenting are loops over this table. Adding a quantity to the
simulator is adding a row.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import Any

import numpy as np

from usd_sim.model.types import JointTargetMode, ModelFlags, ShapeFlags

__all__ = ["DTYPES", "FIELDS", "FIELD_MODULES", "DType", "Field", "FieldTable", "Frequency", "Owner", "field_table"]

FIELD_MODULES = ["usd_sim.solvers.mujoco.fields"]
"""Modules with rows of their own in a list ``FIELDS``; loaded by name when a table is first asked for."""


class Frequency(StrEnum):
    """What a field has one row of; custom frequencies are plain strings."""

    ONCE = "once"
    WORLD = "world"
    BODY = "body"
    SHAPE = "shape"
    SHAPE_PAIR = "shape_pair"
    JOINT = "joint"
    JOINT_DOF = "joint_dof"
    JOINT_COORD = "joint_coord"
    ARTICULATION = "articulation"


class Owner(StrEnum):
    """Which object hands the array out. State and Control copy the initial value that Model keeps."""

    MODEL = "model"
    STATE = "state"
    CONTROL = "control"


@dataclass(frozen=True)
class DType:
    """How one row of a field is stored.

    Attributes:
        numpy: Scalar type, or None where rows are Python objects in a list.
        shape: Shape of one row.
        warp: Name of the Warp type, "vector" for one of the row's length; empty where the field stays on the host.
    """

    numpy: Any
    shape: tuple[int, ...]
    warp: str


DTYPES: dict[str, DType] = {
    "bool": DType(np.bool_, (), "bool"),
    "int": DType(np.int32, (), "int32"),
    "int2": DType(np.int32, (2,), "vec2i"),
    "uint32": DType(np.uint32, (), "uint32"),
    "float": DType(np.float32, (), "float32"),
    "vec2": DType(np.float32, (2,), "vec2"),
    "vec3": DType(np.float32, (3,), "vec3"),
    "vec5": DType(np.float32, (5,), "vector"),
    "vec6": DType(np.float32, (6,), "vector"),
    "vec10": DType(np.float32, (10,), "vector"),
    "quat": DType(np.float32, (4,), "quat"),
    "transform": DType(np.float32, (7,), "transform"),
    "spatial_vector": DType(np.float32, (6,), "spatial_vector"),
    "mat33": DType(np.float32, (3, 3), "mat33"),
    "str": DType(None, (), ""),
    "object": DType(None, (), ""),
}

_IDENTITY = {"transform": (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0), "quat": (0.0, 0.0, 0.0, 1.0), "str": ""}


@dataclass(frozen=True)
class Field:
    """One row of the table.

    Attributes:
        name: Public name of the array; ``namespace:name`` for a solver's or a user's own.
        frequency: What it has one row of.
        dtype: A key of :data:`DTYPES`.
        doc: One line of documentation.
        fallback: Value of rows that nobody set.
        unit: Physical unit (SI); "" for none. ``lin|ang`` where linear and angular degrees of freedom differ.
        refers_to: Frequency that its integers are rows of; -1 means none.
        owner: Which object hands the array out.
        flag: What a change of it is announced as to solvers.
        derived: Computed by ``finalize``; the builder holds no column for it.
        world_frame: "always" where values are in the world frame, or the name of the field that says so by -1.
    """

    name: str
    frequency: str
    dtype: str
    doc: str
    fallback: Any = None
    unit: str = ""
    refers_to: str | None = None
    owner: Owner = Owner.MODEL
    flag: ModelFlags = ModelFlags.NONE
    derived: bool = False
    world_frame: str | None = None

    @property
    def namespace(self) -> str:
        """What stands before the last colon of the name; empty for fields of the core."""
        return self.name.rpartition(":")[0]

    @property
    def default(self) -> Any:
        """The fallback, or the zero (identity) of the type where none is given."""
        if self.fallback is not None:
            return self.fallback
        return _IDENTITY.get(self.dtype, 0 if DTYPES[self.dtype].numpy else None)

    def allocate(self, count: int) -> np.ndarray | list[Any]:
        """Return ``count`` rows filled with the fallback."""
        dtype = DTYPES[self.dtype]
        if dtype.numpy is None:
            return [self.default] * count
        rows = np.empty((count, *dtype.shape), dtype=dtype.numpy)
        rows[...] = self.default
        return rows


class FieldTable:
    """An ordered set of fields, looked up by name or by frequency.

    Args:
        fields: The rows to start with.
    """

    def __init__(self, fields: tuple[Field, ...] | list[Field] = ()):
        self._by_name: dict[str, Field] = {}
        self._by_frequency: dict[str, list[Field]] = {}
        for field in fields:
            self.add(field)

    def add(self, field: Field) -> None:
        """Add a row.

        Raises:
            ValueError: The name is taken by a different field, or the type is unknown.
        """
        known = self._by_name.get(field.name)
        if known == field:
            return
        if known is not None:
            raise ValueError(f"field {field.name!r} is already declared differently")
        if field.dtype not in DTYPES:
            raise ValueError(f"field {field.name!r}: unknown type {field.dtype!r}; known: {', '.join(DTYPES)}")
        self._by_name[field.name] = field
        self._by_frequency.setdefault(str(field.frequency), []).append(field)

    def copy(self) -> FieldTable:
        """Return a table that can grow on its own."""
        return FieldTable(list(self))

    def of(self, frequency: str) -> list[Field]:
        """Return the fields of one frequency, in declaration order."""
        return self._by_frequency.get(str(frequency), [])

    def owned_by(self, owner: Owner) -> list[Field]:
        """Return the fields that one kind of object hands out."""
        return [field for field in self if field.owner == owner]

    @property
    def frequencies(self) -> list[str]:
        """All frequencies that have a field, in order of first declaration."""
        return list(self._by_frequency)

    def __getitem__(self, name: str) -> Field:
        return self._by_name[name]

    def __contains__(self, name: object) -> bool:
        return name in self._by_name

    def __iter__(self) -> Iterator[Field]:
        return iter(self._by_name.values())

    def __len__(self) -> int:
        return len(self._by_name)


_F, _O, _M = Frequency, Owner, ModelFlags
_FORCE = _M.JOINT_DOF_FORCE_PROPERTIES
_COLLIDE = int(ShapeFlags.VISIBLE | ShapeFlags.COLLIDE_SHAPES | ShapeFlags.COLLIDE_PARTICLES)

# fmt: off
FIELDS = FieldTable(
    [
        # --- world
        Field("gravity", _F.WORLD, "vec3", "Gravity of each world.", (0.0, 0.0, -9.81), "m/s²", flag=_M.MODEL_PROPERTIES),
        # --- body
        Field("body_label", _F.BODY, "str", "Name of each body."),
        Field("body_path", _F.BODY, "str", "Prim that each body came from."),
        Field("body_instancer", _F.BODY, "str", "PointInstancer that made the body; empty for prims of their own."),
        Field("body_instance", _F.BODY, "int", "Place in the arrays of that instancer; -1 for prims of their own.", -1),
        Field("body_world", _F.BODY, "int", "World of each body; -1 belongs to all.", -1, refers_to=_F.WORLD),
        Field("body_gravity", _F.BODY, "vec3", "Added to the gravity of the body's world.", None, "m/s²", flag=_M.MODEL_PROPERTIES),
        Field("body_linear_damping", _F.BODY, "float", "Rate at which the COM velocity decays.", 0.0, "1/s", flag=_M.BODY_PROPERTIES),
        Field("body_angular_damping", _F.BODY, "float", "Rate at which the angular momentum about the COM decays.", 0.0, "1/s", flag=_M.BODY_PROPERTIES),
        Field("body_flags", _F.BODY, "int", "BodyFlags of each body.", 0, flag=_M.BODY_PROPERTIES),
        Field("body_mass", _F.BODY, "float", "Mass.", 0.0, "kg", flag=_M.BODY_INERTIAL_PROPERTIES),
        Field("body_com", _F.BODY, "vec3", "Centre of mass in the body frame, p_BC.", None, "m", flag=_M.BODY_INERTIAL_PROPERTIES),
        Field(
            "body_inertia", _F.BODY, "mat33", "Inertia about the centre of mass, in the body frame.", None, "kg·m²",
            flag=_M.BODY_INERTIAL_PROPERTIES,
        ),
        Field("body_inv_mass", _F.BODY, "float", "1 / mass; 0 where the mass is 0.", None, "1/kg", derived=True),
        Field("body_inv_inertia", _F.BODY, "mat33", "Inverse of body_inertia; 0 where the mass is 0.", None, "1/(kg·m²)", derived=True),
        Field("body_lock_inertia", _F.BODY, "bool", "Shapes do not add to the mass of this body.", False),
        Field("body_q", _F.BODY, "transform", "Body frame in world, X_WB.", None, "m", owner=_O.STATE, world_frame="always"),
        Field(
            "body_qd", _F.BODY, "spatial_vector", "COM velocity and angular velocity, world frame.", None, "m/s|rad/s",
            owner=_O.STATE, world_frame="always",
        ),
        Field("body_f", _F.BODY, "spatial_vector", "Applied force and torque at the COM, world frame.", None, "N|N·m", owner=_O.STATE),
        # --- joint
        Field("joint_label", _F.JOINT, "str", "Name of each joint."),
        Field("joint_path", _F.JOINT, "str", "Prim that each joint came from."),
        Field("joint_world", _F.JOINT, "int", "World of each joint.", -1, refers_to=_F.WORLD),
        Field("joint_type", _F.JOINT, "int", "JointType of each joint.", 3),
        Field("joint_enabled", _F.JOINT, "bool", "Whether the joint acts.", True),
        Field("joint_parent", _F.JOINT, "int", "Parent body; -1 is the world.", -1, refers_to=_F.BODY),
        Field("joint_child", _F.JOINT, "int", "Child body.", -1, refers_to=_F.BODY),
        Field("joint_ancestor", _F.JOINT, "int", "Tree joint that has this joint's parent as child; -1 for none.", derived=True),
        Field(
            "joint_X_p", _F.JOINT, "transform", "Joint frame in the parent body (the world for -1), X_PJ.", None, "m",
            flag=_M.JOINT_PROPERTIES, world_frame="joint_parent",
        ),
        Field("joint_X_c", _F.JOINT, "transform", "Joint frame in the child body, X_CJ.", None, "m", flag=_M.JOINT_PROPERTIES),
        Field("joint_articulation", _F.JOINT, "int", "Articulation of a tree joint; -1 closes a loop.", -1, refers_to=_F.ARTICULATION),
        Field("joint_dof_dim", _F.JOINT, "int2", "Number of linear and angular degrees of freedom.", (0, 0)),
        Field("joint_q_start", _F.JOINT, "int", "First row in joint_q; one more entry ends the last.", derived=True),
        Field("joint_qd_start", _F.JOINT, "int", "First row in joint_qd; one more entry ends the last.", derived=True),
        Field("joint_mimic_joint", _F.JOINT, "int", "Leader that this joint follows; -1 for none.", -1, refers_to=_F.JOINT),
        Field("joint_mimic_coeffs", _F.JOINT, "vec2", "Offset and ratio: q = offset + ratio * q_leader.", (0.0, 1.0), "m|rad"),
        # --- joint coordinates
        Field("joint_q", _F.JOINT_COORD, "float", "Joint coordinates.", 0.0, "m|rad", owner=_O.STATE),
        Field(
            "joint_rest_q", _F.JOINT_COORD, "float", "Coordinates at which passive springs rest.", 0.0, "m|rad",
            flag=_M.JOINT_REFERENCE_POSE_PROPERTIES,
        ),
        # --- joint degrees of freedom
        Field("joint_qd", _F.JOINT_DOF, "float", "Joint velocities.", 0.0, "m/s|rad/s", owner=_O.STATE),
        Field("joint_f", _F.JOINT_DOF, "float", "Applied joint efforts.", 0.0, "N|N·m", owner=_O.CONTROL),
        Field("joint_target_q", _F.JOINT_DOF, "float", "Position targets of the drives.", 0.0, "m|rad", owner=_O.CONTROL),
        Field("joint_target_qd", _F.JOINT_DOF, "float", "Velocity targets of the drives.", 0.0, "m/s|rad/s", owner=_O.CONTROL),
        Field("joint_target_mode", _F.JOINT_DOF, "int", "JointTargetMode of the drives.", int(JointTargetMode.NONE), flag=_FORCE),
        Field("joint_target_ke", _F.JOINT_DOF, "float", "Stiffness of the drives.", 0.0, "N/m|N·m/rad", flag=_FORCE),
        Field("joint_target_kd", _F.JOINT_DOF, "float", "Damping of the drives.", 0.0, "N·s/m|N·m·s/rad", flag=_FORCE),
        Field("joint_drive_acceleration", _F.JOINT_DOF, "bool", "Gains of the drive are per effective inertia of the joint: 1/s² and 1/s.", False, flag=_FORCE),
        Field("joint_dof_path", _F.JOINT_DOF, "str", "Prim that each degree of freedom came from."),
        Field("joint_dof_name", _F.JOINT_DOF, "str", "Name of the freedom within its prim: angular, linear, transX … rotZ."),
        Field("joint_axis", _F.JOINT_DOF, "vec3", "Axis in the joint frame.", (1.0, 0.0, 0.0), flag=_M.JOINT_PROPERTIES),
        Field(
            "joint_dof_anchor", _F.JOINT_DOF, "vec3",
            "Point in the joint frame that an angular freedom turns about; other than 0 only where joints are stacked.", None, "m",
            flag=_M.JOINT_PROPERTIES,
        ),
        Field("joint_limit_lower", _F.JOINT_DOF, "float", "Lower limit.", -np.inf, "m|rad", flag=_FORCE),
        Field("joint_limit_upper", _F.JOINT_DOF, "float", "Upper limit.", np.inf, "m|rad", flag=_FORCE),
        Field("joint_limit_ke", _F.JOINT_DOF, "float", "Limit stiffness; 0 lets the solver choose.", 0.0, "N/m|N·m/rad", flag=_FORCE),
        Field("joint_limit_kd", _F.JOINT_DOF, "float", "Limit damping; 0 lets the solver choose.", 0.0, "N·s/m|N·m·s/rad", flag=_FORCE),
        Field("joint_effort_limit", _F.JOINT_DOF, "float", "Largest effort of the drive.", np.inf, "N|N·m", flag=_FORCE),
        Field("joint_velocity_limit", _F.JOINT_DOF, "float", "Largest speed.", np.inf, "m/s|rad/s", flag=_FORCE),
        Field("joint_armature", _F.JOINT_DOF, "float", "Added inertia.", 0.0, "kg|kg·m²", flag=_M.JOINT_DOF_INERTIAL_PROPERTIES),
        Field("joint_friction", _F.JOINT_DOF, "float", "Dry friction.", 0.0, "N|N·m", flag=_FORCE),
        Field("joint_damping", _F.JOINT_DOF, "float", "Passive viscous damping.", 0.0, "N·s/m|N·m·s/rad", flag=_FORCE),
        Field("joint_stiffness", _F.JOINT_DOF, "float", "Passive spring stiffness.", 0.0, "N/m|N·m/rad", flag=_FORCE),
        # --- articulation
        Field("articulation_label", _F.ARTICULATION, "str", "Name of each articulation."),
        Field("articulation_path", _F.ARTICULATION, "str", "Prim that each articulation came from."),
        Field("articulation_world", _F.ARTICULATION, "int", "World of each articulation.", -1, refers_to=_F.WORLD),
        Field("articulation_start", _F.ARTICULATION, "int", "First joint of each articulation.", derived=True),
        Field("articulation_end", _F.ARTICULATION, "int", "One past the last joint of each articulation.", derived=True),
        # --- shape
        Field("shape_label", _F.SHAPE, "str", "Name of each shape."),
        Field("shape_path", _F.SHAPE, "str", "Prim that each shape came from."),
        Field("shape_instancer", _F.SHAPE, "str", "PointInstancer that made the shape; empty for prims of their own."),
        Field("shape_instance", _F.SHAPE, "int", "Place in the arrays of that instancer; -1 for prims of their own.", -1),
        Field("shape_material_path", _F.SHAPE, "str", "Physics material that each shape uses."),
        Field("shape_world", _F.SHAPE, "int", "World of each shape; -1 meets all.", -1, refers_to=_F.WORLD),
        Field("shape_body", _F.SHAPE, "int", "Body that carries the shape; -1 is the world.", -1, refers_to=_F.BODY),
        Field("shape_type", _F.SHAPE, "int", "GeoType of each shape.", 0),
        Field("shape_transform", _F.SHAPE, "transform", "Shape frame in its body, X_BS.", None, "m", flag=_M.SHAPE_PROPERTIES, world_frame="shape_body"),
        Field("shape_scale", _F.SHAPE, "vec3", "Sizes by type: radii, half extents, (radius, half height), or mesh scale.", (1.0, 1.0, 1.0), "m"),
        Field("shape_source", _F.SHAPE, "object", "Mesh of mesh shapes."),
        Field("shape_flags", _F.SHAPE, "int", "ShapeFlags of each shape.", _COLLIDE, flag=_M.SHAPE_PROPERTIES),
        Field("shape_is_solid", _F.SHAPE, "bool", "Filled rather than a thin shell, for mass.", True),
        Field("shape_thickness", _F.SHAPE, "float", "Wall of a shell; with 1 the density is a mass per area.", 1.0, "m"),
        Field("shape_density", _F.SHAPE, "float", "Density that adds to the body's mass.", 1000.0, "kg/m³"),
        Field("shape_color", _F.SHAPE, "vec3", "Display colour, linear RGB.", (0.5, 0.5, 0.5)),
        Field("shape_margin", _F.SHAPE, "float", "Distance by which the contact surface lies outside the geometry.", 0.0, "m", flag=_M.SHAPE_PROPERTIES),
        Field("shape_gap", _F.SHAPE, "float", "Extra distance at which contacts are found; -inf lets the solver choose.", -np.inf, "m", flag=_M.SHAPE_PROPERTIES),
        Field("shape_collision_group", _F.SHAPE, "int", "0 never collides, positive meets its equal and negatives, negative all but its equal.", 1),
        Field("shape_filter_class", _F.SHAPE, "uint32", "One bit: the class of the shape for shape_filter_mask.", 0),
        Field("shape_filter_mask", _F.SHAPE, "uint32", "Bits of the classes that the shape does not collide with.", 0),
        Field("shape_material_mu", _F.SHAPE, "float", "Friction coefficient.", 1.0, flag=_M.SHAPE_PROPERTIES),
        Field("shape_material_restitution", _F.SHAPE, "float", "Bounciness.", 0.0, flag=_M.SHAPE_PROPERTIES),
        Field("shape_material_mu_torsional", _F.SHAPE, "float", "Spin friction length.", 0.005, "m", flag=_M.SHAPE_PROPERTIES),
        Field("shape_material_mu_rolling", _F.SHAPE, "float", "Rolling friction length.", 0.0001, "m", flag=_M.SHAPE_PROPERTIES),
        Field("shape_material_ke", _F.SHAPE, "float", "Contact stiffness.", 2500.0, "N/m", flag=_M.SHAPE_PROPERTIES),
        Field("shape_material_kd", _F.SHAPE, "float", "Contact damping.", 100.0, "N·s/m", flag=_M.SHAPE_PROPERTIES),
        Field("shape_material_kf", _F.SHAPE, "float", "Gain of friction against slip speed.", 1000.0, "N·s/m", flag=_M.SHAPE_PROPERTIES),
        Field("shape_material_ka", _F.SHAPE, "float", "Adhesion distance.", 0.0, "m", flag=_M.SHAPE_PROPERTIES),
        Field("shape_material_mu_static", _F.SHAPE, "float", "Friction coefficient at rest; that of shape_material_mu where negative.", -1.0, flag=_M.SHAPE_PROPERTIES),
        Field("shape_material_friction_combine", _F.SHAPE, "int", "CombineMode of friction; -1 lets the solver choose.", -1, flag=_M.SHAPE_PROPERTIES),
        Field("shape_material_restitution_combine", _F.SHAPE, "int", "CombineMode of restitution; -1 lets the solver choose.", -1, flag=_M.SHAPE_PROPERTIES),
        Field("shape_use_sdf", _F.SHAPE, "bool", "Collide with a signed distance field of the shape, where the solver can."),
        Field("shape_sdf_max_resolution", _F.SHAPE, "int", "Cells of the field along its longest side.", 64),
        Field("shape_sdf_target_voxel_size", _F.SHAPE, "float", "Size of a cell, before the resolution; -inf for none.", -np.inf, "m"),
        Field("shape_sdf_narrow_band", _F.SHAPE, "vec2", "Distances between which the field is fine, inside and outside.", (-0.1, 0.1), "m"),
        Field("shape_sdf_padding", _F.SHAPE, "float", "Room around the shape; -inf lets the solver choose.", -np.inf, "m"),
        Field("shape_sdf_texture_format", _F.SHAPE, "str", "How distances are stored: uint8, uint16 or float32.", "uint16"),
        Field("shape_hydroelastic", _F.SHAPE, "bool", "Contacts follow a pressure field, where both shapes say so."),
        Field("shape_hydroelastic_stiffness", _F.SHAPE, "float", "Stiffness of the pressure field.", 1.0e10, "N/m³"),
        # --- pairs of shapes
        Field("shape_collision_filter_pairs", _F.SHAPE_PAIR, "int2", "Pairs of shapes that do not collide.", (-1, -1), refers_to=_F.SHAPE),
    ]
)
# fmt: on


@cache
def _complete() -> FieldTable:
    table = FIELDS.copy()
    for module in FIELD_MODULES:
        for field in importlib.import_module(module).FIELDS:
            table.add(field)
    return table


def field_table() -> FieldTable:
    """Return a new table of all rows: the core's and those that solvers declare in :data:`FIELD_MODULES`."""
    return _complete().copy()
