"""The passes that turn the builder's columns into a model's.

Each does one thing, and none knows where a value came from:
starts -> validate -> order -> inertia. Allocation on the device is Model's.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from usd_sim.errors import UsdSimError
from usd_sim.geometry import transforms as tf
from usd_sim.geometry.inertia import combine_mass_properties, transform_mass_properties
from usd_sim.geometry.shape_mass import all_mass_properties
from usd_sim.model.columns import Columns
from usd_sim.model.fields import DTYPES, Frequency
from usd_sim.model.types import BodyFlags, JointType

__all__ = ["move_rows", "run"]

Rows = dict[str, Any]


def run(columns: Columns, gravity: np.ndarray, *, check_joints: bool = True) -> tuple[Rows, dict[str, int]]:
    """Run all passes over a copy of the columns.

    Args:
        columns: Rows of the builder.
        gravity: Gravity of a model without worlds (3,) [m/s²].
        check_joints: Refuse bodies that joints connect outside of any articulation.

    Returns:
        Rows of every field but those of namespaces that nobody set, and the number of rows per frequency.

    Raises:
        UsdSimError: A row is invalid; the message names it.
    """
    counts = {frequency: columns.count(frequency) for frequency in columns.table.frequencies}
    rows: Rows = {}
    for field in columns.table:
        if columns.is_set(field.name):
            rows[field.name] = _copy(columns.view(field.name))
        elif not field.derived and not field.namespace:
            rows[field.name] = field.allocate(counts[str(field.frequency)] if field.frequency != Frequency.ONCE else 1)
    if counts[Frequency.WORLD] == 0:
        rows["gravity"] = np.asarray(gravity, dtype=np.float32)[None]
    resolve_starts(rows, counts)
    validate(columns, rows, counts)
    order(rows, counts, check_joints=check_joints)
    inertia(rows)
    return rows, counts


def _copy(rows: np.ndarray | list[Any]) -> np.ndarray | list[Any]:
    return list(rows) if isinstance(rows, list) else rows.copy()


def name_of(rows: Rows, frequency: str, row: int) -> str:
    """Return the prim path of a row, or its label where it came from no prim."""
    instanced = rows.get(f"{frequency}_instancer")
    if instanced and instanced[row]:
        return rows[f"{frequency}_label"][row]
    return rows[f"{frequency}_path"][row] or rows[f"{frequency}_label"][row] or f"{frequency} {row}"


# --- starts ---------------------------------------------------------------------------------------------------------


def coordinate_counts(joint_type: np.ndarray, dof_dim: np.ndarray) -> np.ndarray:
    """Return the number of coordinates of each joint: one more than its freedoms where it holds a quaternion."""
    quaternion = np.isin(joint_type, (JointType.BALL, JointType.FREE, JointType.DISTANCE))
    return dof_dim.sum(axis=1) + quaternion


def resolve_starts(rows: Rows, counts: dict[str, int]) -> None:
    """Derive where the coordinates and freedoms of each joint start.

    Raises:
        UsdSimError: The joints' sizes do not add up to the rows that there are.
    """
    dofs = rows["joint_dof_dim"].sum(axis=1)
    coords = coordinate_counts(rows["joint_type"], rows["joint_dof_dim"])
    for name, sizes, frequency in (
        ("joint_q_start", coords, Frequency.JOINT_COORD),
        ("joint_qd_start", dofs, Frequency.JOINT_DOF),
    ):
        starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
        if starts[-1] != counts[frequency]:
            raise UsdSimError(
                f"the joints have {starts[-1]} rows of {frequency}, but {counts[frequency]} were appended"
            )
        rows[name] = starts


# --- validate -------------------------------------------------------------------------------------------------------

_MAY_BE_INFINITE = {"joint_limit_ke", "joint_limit_kd"}
"""Besides the fields whose fallback is infinite."""


def validate(columns: Columns, rows: Rows, counts: dict[str, int]) -> None:
    """Check that every integer refers to a row that exists and every number is one.

    Raises:
        UsdSimError: Naming the first row that fails.
    """
    for field in columns.table:
        values = rows.get(field.name)
        if field.derived or not isinstance(values, np.ndarray) or values.size == 0:
            continue
        if field.refers_to is not None:
            bad = (values < -1) | (values >= counts[str(field.refers_to)])
            _refuse(rows, field, bad, f"{field.name} refers to a {field.refers_to} that does not exist")
        elif np.issubdtype(DTYPES[field.dtype].numpy, np.floating):
            infinite = field.name in _MAY_BE_INFINITE or not np.isfinite(field.default).all()
            bad = np.isnan(values) if infinite else ~np.isfinite(values)
            _refuse(rows, field, bad, f"{field.name} is not a finite number")


def _refuse(rows: Rows, field: Any, bad: np.ndarray, message: str) -> None:
    if not bad.any():
        return
    row = int(np.flatnonzero(bad.reshape(len(bad), -1).any(axis=1))[0])
    frequency = str(field.frequency)
    if frequency == Frequency.JOINT_DOF:
        where = rows["joint_dof_path"][row] or f"degree of freedom {row}"
    elif f"{frequency}_label" in rows:
        where = name_of(rows, frequency, row)
    else:
        where = f"{frequency} {row}"
    raise UsdSimError(message, prim=where)


# --- order ----------------------------------------------------------------------------------------------------------


def order(rows: Rows, counts: dict[str, int], *, check_joints: bool = True) -> None:
    """Derive articulation ranges and joint ancestors, and check that the tree joints make a forest.

    Raises:
        UsdSimError: A joint has no child or the same body twice, a body has two tree joints, a joint comes before its
            parent's, an articulation's joints are not consecutive, a kinematic body is not a root, or (with
            ``check_joints``) a joint outside of any articulation leads to a body that nothing else holds.
    """
    articulation = rows["joint_articulation"]
    tree = np.flatnonzero(articulation >= 0)
    child, parent = rows["joint_child"], rows["joint_parent"]
    for bad, message in ((child < 0, "the joint has no child body"), (child == parent, "both sides are the same body")):
        if bad.any():
            raise UsdSimError(message, prim=name_of(rows, "joint", int(np.flatnonzero(bad)[0])))
    joint_of = np.full(counts[Frequency.BODY] + 1, -1, dtype=np.int32)  # the last entry stands for the world
    joint_of[child[tree]] = tree
    twice = tree[joint_of[child[tree]] != tree]
    if len(twice):
        raise UsdSimError(
            "two joints of an articulation have the same child body", prim=name_of(rows, "joint", int(twice[0]))
        )
    rows["joint_ancestor"] = np.where(parent >= 0, joint_of[parent], -1).astype(np.int32)
    early = tree[rows["joint_ancestor"][tree] > tree]
    if len(early):
        raise UsdSimError(
            "the joint comes before the joint of its parent body", prim=name_of(rows, "joint", int(early[0]))
        )
    _articulation_ranges(rows, counts, tree)
    kinematic = (rows["body_flags"][child[tree]] & BodyFlags.KINEMATIC) != 0
    inner = tree[kinematic & (parent[tree] >= 0)]
    if len(inner):
        raise UsdSimError("a kinematic body must be a root", prim=name_of(rows, "body", int(child[inner[0]])))
    if check_joints:
        loose = np.flatnonzero((articulation < 0) & rows["joint_enabled"])
        orphan = loose[joint_of[child[loose]] < 0]
        if len(orphan):
            raise UsdSimError(
                "the joint is in no articulation and its child body hangs on nothing else",
                prim=name_of(rows, "joint", int(orphan[0])),
                remedy="call add_articulation with it, or finalize(skip_validation_joints=True)",
            )


def _articulation_ranges(rows: Rows, counts: dict[str, int], tree: np.ndarray) -> None:
    count = counts[Frequency.ARTICULATION]
    start = np.full(count, counts[Frequency.JOINT], dtype=np.int32)
    end = np.zeros(count, dtype=np.int32)
    np.minimum.at(start, rows["joint_articulation"][tree], tree)
    np.maximum.at(end, rows["joint_articulation"][tree], tree + 1)
    start = np.minimum(start, end)
    sizes = np.bincount(rows["joint_articulation"][tree], minlength=count)
    torn = np.flatnonzero(end - start != sizes)
    if len(torn):
        name = name_of(rows, "articulation", int(torn[0]))
        raise UsdSimError("the joints of the articulation are not consecutive", prim=name)
    rows["articulation_start"], rows["articulation_end"] = start, end


# --- inertia --------------------------------------------------------------------------------------------------------


def inertia(rows: Rows) -> None:
    """Add the mass of shapes to the bodies that are not locked, and invert masses and inertias."""
    body, shapes = rows["shape_body"], np.zeros(0, dtype=int)
    if len(body) and len(rows["body_mass"]):
        counted = (body >= 0) & (rows["shape_density"] > 0)
        shapes = np.flatnonzero(counted & ~rows["body_lock_inertia"][np.maximum(body, 0)])
    if len(shapes):
        _add_shape_mass(rows, shapes)
    mass, tensor = rows["body_mass"].astype(float), rows["body_inertia"].astype(float)
    rows["body_inv_mass"] = np.divide(1.0, mass, out=np.zeros_like(mass), where=mass > 0).astype(np.float32)
    inverse = np.zeros_like(tensor)
    regular = (mass > 0) & (np.linalg.det(tensor) > 0)
    inverse[regular] = np.linalg.inv(tensor[regular])
    rows["body_inv_inertia"] = inverse.astype(np.float32)


def _add_shape_mass(rows: Rows, shapes: np.ndarray) -> None:
    properties = all_mass_properties(
        rows["shape_type"][shapes],
        rows["shape_scale"][shapes].astype(float),
        rows["shape_is_solid"][shapes],
        rows["shape_thickness"][shapes],
        [rows["shape_source"][i] for i in shapes],
    )
    density = rows["shape_density"][shapes].astype(float)
    com, tensor = transform_mass_properties(
        properties.com, properties.inertia * density[:, None, None], rows["shape_transform"][shapes]
    )
    count = len(rows["body_mass"])
    touched = np.unique(rows["shape_body"][shapes])
    # explicit mass of the body counts as one more part
    part_mass = np.concatenate([properties.volume * density, rows["body_mass"][touched]])
    part_com = np.concatenate([com, rows["body_com"][touched]])
    part_inertia = np.concatenate([tensor, rows["body_inertia"][touched]])
    group = np.concatenate([rows["shape_body"][shapes], touched])
    mass, centre, total = combine_mass_properties(part_mass, part_com, part_inertia, group, count)
    heavy = touched[mass[touched] > 0]
    rows["body_mass"][heavy], rows["body_com"][heavy], rows["body_inertia"][heavy] = (
        mass[heavy],
        centre[heavy],
        total[heavy],
    )


# --- placing --------------------------------------------------------------------------------------------------------


def move_rows(columns: Columns, frequency: str, span: slice, xforms: np.ndarray) -> None:
    """Move the values of newly merged rows that are in the world frame.

    Args:
        columns: Rows of the builder.
        frequency: Which rows.
        span: The rows, made of ``len(xforms)`` copies of equal size.
        xforms: Where each copy is placed (copies, 7).
    """
    for field in columns.table.of(frequency):
        if field.world_frame is None or not columns.is_set(field.name):
            continue
        values = columns.view(field.name)[span]
        placed = np.repeat(xforms, len(values) // len(xforms), axis=0)
        where = np.ones(len(values), dtype=bool)
        if field.world_frame != "always":
            where = np.asarray(columns.view(field.world_frame))[span] < 0
            if frequency == Frequency.JOINT:
                where &= ~_is_free(columns, span)
        if field.dtype == "transform":
            values[where] = tf.transform_multiply(placed[where], values[where].astype(float))
        else:
            turned = tf.quat_rotate(placed[where, None, 3:], values[where].reshape(-1, 2, 3).astype(float))
            values[where] = turned.reshape(-1, 6)
    if frequency == Frequency.JOINT:
        _move_free_coordinates(columns, span, xforms)


def _is_free(columns: Columns, span: slice) -> np.ndarray:
    return np.asarray(columns.view("joint_type"))[span] == JointType.FREE


def _move_free_coordinates(columns: Columns, span: slice, xforms: np.ndarray) -> None:
    """Free roots carry their place in joint_q rather than in joint_X_p."""
    joint_type, dof_dim = np.asarray(columns.view("joint_type")), np.asarray(columns.view("joint_dof_dim"))
    starts = np.concatenate([[0], np.cumsum(coordinate_counts(joint_type, dof_dim))])
    first = np.arange(span.start, span.stop)
    placed = np.repeat(xforms, len(first) // len(xforms), axis=0)
    free = _is_free(columns, span) & (np.asarray(columns.view("joint_parent"))[span] < 0)
    frame = np.asarray(columns.view("joint_X_p"))[span][free].astype(float)  # coordinates are given in it
    placed = tf.transform_multiply(tf.transform_inverse(frame), tf.transform_multiply(placed[free], frame))
    cells = starts[first[free], None] + np.arange(7)
    joint_q = columns.view("joint_q")
    joint_q[cells] = tf.transform_multiply(placed, np.asarray(joint_q)[cells].astype(float))
    dof_starts = np.concatenate([[0], np.cumsum(dof_dim.sum(axis=1))])
    cells = dof_starts[first[free], None] + np.arange(6)
    if columns.is_set("joint_qd") and len(cells):
        joint_qd = columns.view("joint_qd")
        turned = tf.quat_rotate(placed[:, None, 3:], np.asarray(joint_qd)[cells].reshape(-1, 2, 3).astype(float))
        joint_qd[cells] = turned.reshape(-1, 6)
