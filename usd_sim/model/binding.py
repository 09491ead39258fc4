"""Binding: from rows of a model to the prims they came from, and back."""

from __future__ import annotations

from typing import Any

from usd_sim.model.fields import Frequency

__all__ = ["Binding"]

_PATH_FIELDS = {
    str(Frequency.BODY): ("body_path", "body_instancer"),
    str(Frequency.SHAPE): ("shape_path", "shape_material_path", "shape_instancer"),
    str(Frequency.JOINT): ("joint_path",),
    str(Frequency.JOINT_DOF): ("joint_dof_path",),
    str(Frequency.ARTICULATION): ("articulation_path",),
}


class Binding:
    """Leads both ways between rows and prim paths. Path columns are fields of the table, so replication keeps them.

    Args:
        model: The model.
    """

    def __init__(self, model: Any):
        self._model = model
        self._rows: dict[str, dict[str, list[int]]] = {}

    def path(self, frequency: str, row: int) -> str:
        """Return the prim that a row came from; empty for rows made by code."""
        return self._model.array(_PATH_FIELDS[str(frequency)][0])[row]

    def paths(self, frequency: str) -> list[str]:
        """Return the prim of every row."""
        return self._model.array(_PATH_FIELDS[str(frequency)][0])

    def rows(self, frequency: str, path: str) -> list[int]:
        """Return the rows that came from a prim: one per world that it is in, and per instance for prototypes.

        A PointInstancer leads to the bodies and shapes of its instances in their order, a material to its shapes.
        """
        key = str(frequency)
        if key not in self._rows:
            index: dict[str, list[int]] = {}
            for name in _PATH_FIELDS[key]:
                for row, prim in enumerate(self._model.array(name)):
                    if prim:
                        index.setdefault(prim, []).append(row)
            self._rows[key] = index
        return self._rows[key].get(str(path), [])
