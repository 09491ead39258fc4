"""Repeats rows of a builder: each group of rows once per instance, moved to where the instance is.

The rows of a group are those of one copy of a prototype (see :mod:`usd_sim.stage.read.copies`). Group 0 are the
stage's own rows; they come first and once. Everything is index arithmetic on whole columns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

import numpy as np

from usd_sim.geometry import transforms as tf
from usd_sim.model.builder import ModelBuilder
from usd_sim.model.columns import Columns
from usd_sim.model.fields import DTYPES, Field, Frequency
from usd_sim.model.finalize import coordinate_counts, move_rows
from usd_sim.model.types import JointType
from usd_sim.stage.read.copies import InstancedScan, split_copy_path
from usd_sim.stage.read.stretches import Instances
from usd_sim.stage.sizes import Powers, find_powers

__all__ = ["NotScaling", "tile"]

_DOWN = {Frequency.JOINT_COORD, Frequency.JOINT_DOF}
"""Frequencies whose rows belong to joints by their order alone."""


class NotScaling(Exception):
    """Some prototypes follow no law of size; each size must be read on its own.

    Attributes:
        roots: The prototypes.
    """

    def __init__(self, roots: set[str]):
        super().__init__(", ".join(sorted(roots)))
        self.roots = roots


@dataclass
class _Rows:
    """How the rows of one frequency are repeated.

    Attributes:
        group: Group of each row of the template (r,).
        local: Place of each row in its group (r,).
        source: Template row of each new row (n,).
        instance: Instance of each new row, 0 for the stage's own (n,).
        first: First new row of each instance (i + 1,).
    """

    group: np.ndarray
    local: np.ndarray
    source: np.ndarray
    instance: np.ndarray
    first: np.ndarray


def tile(builder: ModelBuilder, template: ModelBuilder, found: InstancedScan) -> dict[str, np.ndarray]:
    """Append the rows of a template to a builder, those of each group once per instance.

    Args:
        builder: Where the rows go.
        template: Rows of the stage's own prims and of one copy of each group.
        found: The scan that the template came from; says where each copy goes.

    Returns:
        Per frequency, the new row of each of the template's rows that are the stage's own; -1 for the others.

    Raises:
        NotScaling: Before anything is appended.
    """
    columns = template.columns
    instances = found.instances
    groups = _Groups(columns, found.group_of).all()
    powers, failed = find_powers(columns, groups, instances.probes)
    if failed:
        raise NotScaling({instances.roots[group] for group in failed})
    for field in columns.table:
        builder.columns.table.add(field)
    size = np.concatenate([[1.0], instances.size])
    order = np.concatenate([[0], instances.group])
    count = len(instances.roots)
    _leave_out_torn_pairs(columns, groups, found)
    plan = {frequency: _repeat(group, order, count) for frequency, group in groups.items()}
    names = _Names(found)
    start: dict[str, int] = {f: builder.columns.count(f) for f in plan}
    for frequency, rows in plan.items():
        values = {
            field.name: _grown(field, _values(columns, field, rows, plan, start, names), rows, powers, size)
            for field in columns.table.of(frequency)
            if columns.is_set(field.name) and field.name != f"{frequency}_world"
        }
        if frequency in (Frequency.BODY, Frequency.SHAPE):
            values.update(names.origin(str(frequency), rows, list(columns.view(f"{frequency}_path"))))
        builder.append(frequency, len(rows.source), **values)
    _place(builder, plan, start, instances)
    return {f: np.where(rows.group == 0, start[f] + rows.local, -1) for f, rows in plan.items()}


# --- groups ---------------------------------------------------------------------------------------------------------


class _Groups:
    """Finds out which group each row of a template belongs to: by its path, else by the rows that it refers to."""

    def __init__(self, columns: Columns, group_of: Callable[[str], int]):
        self.columns, self.group_of = columns, group_of
        self.known: dict[str, np.ndarray] = {}

    def all(self) -> dict[str, np.ndarray]:
        """Return the group of each row of every frequency that has rows."""
        for frequency in self.columns.table.frequencies:
            if self.columns.count(frequency) and frequency != Frequency.WORLD:
                self.of(frequency)
        return self.known

    def of(self, frequency: str) -> np.ndarray:
        """Return the group of each row (r,)."""
        key, columns = str(frequency), self.columns
        if key in self.known:
            return self.known[key]
        self.known[key] = np.zeros(columns.count(key), dtype=int)  # what a row refers to in a circle adds nothing
        group = self._by_path(key)
        if key in _DOWN:
            group = np.maximum(group, np.repeat(self.of(Frequency.JOINT), _joint_sizes(columns)[key]))
        for field in columns.table.of(key):
            target = field.refers_to
            if target in (None, Frequency.WORLD) or not columns.is_set(field.name) or not columns.count(str(target)):
                continue
            there = np.append(self.of(str(target)), 0)
            found = there[np.asarray(columns.view(field.name))].reshape(len(group), -1)
            group = np.maximum(group, found.max(axis=1, initial=0))
        self.known[key] = group
        return group

    def _by_path(self, frequency: str) -> np.ndarray:
        group = np.zeros(self.columns.count(frequency), dtype=int)
        name = f"{frequency}_path"
        if name in self.columns.table and self.columns.is_set(name):
            group[:] = [self.group_of(path) for path in self.columns.view(name)]
        return group


def _leave_out_torn_pairs(columns: Columns, groups: dict[str, np.ndarray], found: InstancedScan) -> None:
    """Put pairs of shapes of two groups into a group without instances: no instance is the partner of another."""
    if Frequency.SHAPE_PAIR not in groups:
        return
    pairs = np.asarray(columns.view("shape_collision_filter_pairs"))
    ends = groups[Frequency.SHAPE][pairs]
    torn = (ends[:, 0] != ends[:, 1]) & (ends > 0).all(axis=1)
    groups[Frequency.SHAPE_PAIR][torn] = len(found.instances.roots)
    for shape in np.unique(pairs[torn, 0]).tolist():
        found.report.ignore(
            columns.view("shape_path")[shape],
            "is filtered against other instances, which collide all the same",
            property="physics:filteredPairs",
            remedy="use a collision group",
        )


def _joint_sizes(columns: Columns) -> dict[str, np.ndarray]:
    """Return how many coordinates and freedoms each joint has."""
    dof_dim = np.asarray(columns.view("joint_dof_dim"))
    kinds = np.asarray(columns.view("joint_type"))
    return {
        str(Frequency.JOINT_COORD): coordinate_counts(kinds, dof_dim),
        str(Frequency.JOINT_DOF): dof_dim.sum(axis=1),
    }


def _repeat(group: np.ndarray, order: np.ndarray, count: int) -> _Rows:
    """Plan the rows of one frequency.

    Args:
        group: Group of each template row (r,).
        order: Group of each instance; the first is the stage's own (i,).
        count: Number of groups.
    """
    by_group = np.argsort(group, kind="stable")
    size = np.bincount(group, minlength=count + 1)
    begin = np.cumsum(size) - size
    local = np.empty(len(group), dtype=int)
    local[by_group] = np.arange(len(group)) - np.repeat(begin, size)
    taken = size[order]
    first = np.concatenate([[0], np.cumsum(taken)])
    instance = np.repeat(np.arange(len(order)), taken)
    within = np.arange(first[-1]) - first[instance]
    return _Rows(group, local, by_group[begin[order[instance]] + within], instance, first)


# --- values ---------------------------------------------------------------------------------------------------------


def _values(
    columns: Columns, field: Field, rows: _Rows, plan: dict[str, _Rows], start: dict[str, int], names: _Names
) -> Any:
    """Return the new rows of a field."""
    values = columns.view(field.name)
    if DTYPES[field.dtype].numpy is None:
        assert isinstance(values, list)
        if field.dtype == "str" and field.name.endswith("_label"):
            return names.labels(values, rows)
        if field.dtype == "str":
            values = [split_copy_path(value)[1] if value else value for value in values]
        return _pick(values, rows.source)
    taken = np.asarray(values)[rows.source]
    if field.refers_to is None or field.refers_to == Frequency.WORLD:
        return taken
    return _moved_references(taken, rows, plan.get(str(field.refers_to)), start.get(str(field.refers_to), 0))


def _grown(field: Field, values: Any, rows: _Rows, powers: Powers, size: np.ndarray) -> Any:
    """Return values at the sizes of their instances."""
    if field.name not in powers:
        return values
    factor = size[rows.instance].reshape((-1,) + (1,) * (values.ndim - 1))
    return values * factor ** powers[field.name][rows.source]


def _moved_references(values: np.ndarray, rows: _Rows, target: _Rows | None, start: int) -> np.ndarray:
    """Return references to template rows as references to the rows of the same instance, or to the stage's own.

    Rows of other instances are out of reach: such references become -1.
    """
    if target is None:
        return values
    shape = (-1,) + (1,) * (values.ndim - 1)
    instance = rows.instance.reshape(shape)
    group = np.append(target.group, 0)[values]
    reached = (values >= 0) & ((group == 0) | (group == rows.group[rows.source].reshape(shape)))
    where = target.first[np.where(group == 0, 0, instance)]
    return np.where(reached, start + where + np.append(target.local, 0)[values], -1).astype(values.dtype)


def _pick(values: Sequence[Any], source: np.ndarray) -> list[Any]:
    if len(source) == 0:
        return []
    picked = itemgetter(*source.tolist())(values)
    return list(picked) if len(source) > 1 else [picked]


class _Names:
    """Labels of the rows of instances, and where they come from."""

    def __init__(self, found: InstancedScan):
        self.found = found
        self.instances = instances = found.instances
        self.instance_label = ["", *instances.label]
        self.instancer = ["", *instances.instancer]
        self.index = np.concatenate([[-1], instances.index])

    def labels(self, values: list[str], rows: _Rows) -> list[str]:
        """Return the name of each new row: that of its instance, then what follows the prototype's root."""
        endings = []
        for value, group in zip(values, rows.group.tolist(), strict=True):
            real, alone = split_copy_path(value)[1], self.found.origin_of(value)
            endings.append(real.removeprefix(self.instances.roots[group]) if group else alone[2] if alone else real)
        picked, above = _pick(endings, rows.source), _pick(self.instance_label, rows.instance)
        return [a + b for a, b in zip(above, picked, strict=True)]

    def origin(self, frequency: str, rows: _Rows, paths: Sequence[str]) -> dict[str, Any]:
        """Return the instancer and the place in it of each new row.

        Args:
            frequency: Body or shape.
            rows: The rows.
            paths: Path of each template row.
        """
        instancer, index = _pick(self.instancer, rows.instance), self.index[rows.instance]
        for row, source in enumerate(rows.source[: rows.first[1]].tolist()):
            alone = self.found.origin_of(paths[source])
            if alone:
                instancer[row], index[row] = alone[:2]
        return {f"{frequency}_instancer": instancer, f"{frequency}_instance": index}


# --- places ---------------------------------------------------------------------------------------------------------


def _place(builder: ModelBuilder, plan: dict[str, _Rows], start: dict[str, int], instances: Instances) -> None:
    """Move the rows of instances to their places and add their velocities."""
    poses = np.concatenate([tf.identity_transform(1), instances.pose])
    for frequency, rows in plan.items():
        own = int(rows.first[1])
        span = slice(start[frequency] + own, start[frequency] + len(rows.source))
        if span.stop > span.start:
            move_rows(builder.columns, frequency, span, poses[rows.instance[own:]])
    if instances.velocity.any() and Frequency.BODY in plan:
        _add_velocities(builder, plan[Frequency.BODY], start[Frequency.BODY], instances)


def _add_velocities(builder: ModelBuilder, rows: _Rows, start: int, instances: Instances) -> None:
    """Add what an instance's velocity makes of those of its bodies, which are at their centres of mass."""
    own = int(rows.first[1])
    which = rows.instance[own:] - 1
    span = slice(start + own, start + len(rows.source))
    pose = np.asarray(builder.body_q)[span].astype(float)
    com = tf.transform_point(pose, np.asarray(builder.body_com)[span])
    linear, angular = instances.velocity[which, :3], instances.velocity[which, 3:]
    body_qd = np.asarray(builder.body_qd)
    body_qd[span, :3] += linear + np.cross(angular, com - instances.pose[which, :3])
    body_qd[span, 3:] += angular
    kind, parent = np.asarray(builder.joint_type), np.asarray(builder.joint_parent)
    dofs = np.concatenate([[0], np.cumsum(np.asarray(builder.joint_dof_dim).sum(axis=1))])
    child = np.asarray(builder.joint_child)
    free = np.flatnonzero((kind == JointType.FREE) & (parent < 0) & (child >= span.start) & (child < span.stop))
    np.asarray(builder.joint_qd)[dofs[free, None] + np.arange(6)] = body_qd[child[free]]
