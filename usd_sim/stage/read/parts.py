"""Colliders that take several shapes: points, decomposed meshes, and meshes of several physics materials."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from usd_sim.geometry import transforms as tf
from usd_sim.geometry.inertia import MassProperties, combine_mass_properties, transform_mass_properties
from usd_sim.geometry.shape_mass import all_mass_properties

if TYPE_CHECKING:
    from usd_sim.stage.read.shapes import ShapeSpecs

__all__ = ["Parts", "split_parts", "weigh_parts"]


@dataclass
class Parts:
    """Shapes that together are one collider, SI; k of them.

    Attributes:
        kind: GeoType (k,).
        pose: Frame in that of the collider (k, 7) [m, xyzw].
        scale: Sizes, see ``shape_scale`` (k, 3) [m].
        source: Mesh of mesh shapes (k,).
        material: Path of the physics material of each (k,); empty where all have that of the collider.
        weigh: The parts give the mass of the collider, rather than its own shape.
    """

    kind: np.ndarray
    pose: np.ndarray
    scale: np.ndarray
    source: list[Any]
    material: list[str] = field(default_factory=list)
    weigh: bool = False

    def __len__(self) -> int:
        return len(self.kind)

    @classmethod
    def of_meshes(cls, kind: int, meshes: list[Any], scale: np.ndarray, **settings: Any) -> Parts:
        """Return meshes in the frame of the collider, all of one kind and scale (3,)."""
        count = len(meshes)
        return cls(
            np.full(count, int(kind)), tf.identity_transform(count), np.tile(scale, (count, 1)), meshes, **settings
        )


def split_parts(shapes: ShapeSpecs) -> tuple[ShapeSpecs, np.ndarray]:
    """Return colliders with one row per shape, and the row that each comes from (s,).

    The shapes of one collider follow each other and share its prim; their labels are ``path[0]``, ``path[1]``, ….
    """
    count = len(shapes.paths)
    if not shapes.parts:
        return shapes, np.arange(count)
    size = np.ones(count, dtype=int)
    for row, parts in shapes.parts.items():
        size[row] = len(parts)
    rows, first = np.repeat(np.arange(count), size), np.cumsum(size) - size
    columns = {item.name: _repeat(getattr(shapes, item.name), rows) for item in fields(shapes) if item.name != "parts"}
    split = replace(shapes, **columns, parts={})
    split.labels = list(split.paths)
    for row, parts in shapes.parts.items():
        here = slice(first[row], first[row] + size[row])
        split.kind[here], split.scale[here], split.source[here] = parts.kind, parts.scale, parts.source
        split.pose[here] = tf.transform_multiply(np.tile(shapes.pose[row], (size[row], 1)), parts.pose)
        if parts.material:
            split.material[here] = parts.material
        if size[row] > 1:
            split.labels[here] = [f"{shapes.paths[row]}[{i}]" for i in range(size[row])]
    return split, rows


def _repeat(column: Any, rows: np.ndarray) -> Any:
    if isinstance(column, np.ndarray):
        return column[rows]
    if isinstance(column, dict):
        return {name: _repeat(values, rows) for name, values in column.items()}
    return [column[row] for row in rows.tolist()] if column else column


def weigh_parts(properties: MassProperties, shapes: ShapeSpecs, rows: np.ndarray) -> None:
    """Overwrite the mass properties at density 1 of colliders whose parts give them.

    Args:
        properties: Of the colliders in some rows, in their own frames; written.
        shapes: All colliders, not yet split.
        rows: Rows of ``shapes`` that the properties are of.
    """
    for i, row in enumerate(rows.tolist()) if shapes.parts else ():
        parts = shapes.parts.get(row)
        if parts is None or not parts.weigh:
            continue
        count = len(parts)
        solid, wall = np.full(count, shapes.solid[row]), np.full(count, shapes.thickness[row])
        each = all_mass_properties(parts.kind, parts.scale, solid, wall, parts.source)
        com, inertia = transform_mass_properties(each.com, each.inertia, parts.pose)
        total = combine_mass_properties(each.volume, com, inertia, np.zeros(count, dtype=int), 1)
        properties.volume[i], properties.com[i], properties.inertia[i] = (value[0] for value in total)
