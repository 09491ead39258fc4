"""Model: the arrays that describe a system, on one device."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np
import warp as wp

from usd_sim.model.binding import Binding
from usd_sim.model.fields import DTYPES, Field, FieldTable, Owner
from usd_sim.model.state import Control, Namespace, State, set_namespaced
from usd_sim.model.warp_runtime import find_device

__all__ = ["Model", "warp_type"]


def warp_type(field: Field) -> Any:
    """Return the Warp type of one row of a field."""
    dtype = DTYPES[field.dtype]
    if dtype.warp == "vector":
        return wp.types.vector(length=dtype.shape[0], dtype=wp.float32)
    return getattr(wp, dtype.warp)


class Model:
    """Everything about a system that does not change from step to step, and its initial state.

    Made by :meth:`ModelBuilder.finalize`. Each field of the table is an attribute: a Warp array on ``device``, or a
    list for fields of names and objects. Counts are attributes named after the frequency: ``body_count``,
    ``joint_dof_count``.

    Args:
        table: Fields of the model.
        columns: Rows of every field, on the host.
        counts: Number of rows per frequency.
        device: Warp device that the arrays are put on.
        requires_grad: Allocate floating-point arrays with gradients.

    Attributes:
        binding: Leads from rows to prims and back.
        report: What became of every property of the stage; None for models made by code.
        scene: What the stage says about the simulation; None for models made by code.
        stage: The stage that the model came from; None for models made by code.
    """

    def __init__(
        self,
        table: FieldTable,
        columns: dict[str, np.ndarray | list[Any]],
        counts: dict[str, int],
        *,
        device: Any = None,
        requires_grad: bool = False,
    ):
        self.table = table
        self.device = find_device(device)
        self.requires_grad = requires_grad
        self.counts = counts
        self.binding = Binding(self)
        self.report: Any = None
        self.scene: Any = None
        self.stage: Any = None
        self._fields: dict[str, Any] = {}
        for namespace in {field.namespace for field in table} - {""}:
            setattr(self, namespace, Namespace(functools.partial(_in_namespace, self, namespace)))
        for frequency, count in counts.items():
            set_namespaced(self, f"{frequency}_count", count)
        self.world_count = counts.get("world", 0)
        for field in table:
            if field.name in columns:
                self._set(field, columns[field.name])

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...

    def _set(self, field: Field, rows: np.ndarray | list[Any]) -> None:
        value: Any = rows
        if DTYPES[field.dtype].numpy is not None:
            dtype = warp_type(field)
            grad = self.requires_grad and np.issubdtype(DTYPES[field.dtype].numpy, np.floating)
            value = wp.array(rows, dtype=dtype, device=self.device, requires_grad=grad)
        self._fields[field.name] = value
        set_namespaced(self, field.name, value)

    def array(self, name: str) -> Any:
        """Return the array or list of a field by its full name; rows that nobody set are made now.

        Raises:
            KeyError: There is no such field.
        """
        if name not in self._fields:
            field = self.table[name]
            self._set(field, field.allocate(self.counts[str(field.frequency)]))
        return self._fields[name]

    def is_set(self, name: str) -> bool:
        """Whether a field has rows; fields of namespaces have none until they are set or asked for."""
        return name in self._fields

    def state(self, *, requires_grad: bool | None = None) -> State:
        """Return a new state with the initial values of the model."""
        return State(self, self._clone(Owner.STATE, requires_grad))

    def control(self, *, requires_grad: bool | None = None) -> Control:
        """Return new control inputs with the initial values of the model."""
        return Control(self, self._clone(Owner.CONTROL, requires_grad))

    def _clone(self, owner: Owner, requires_grad: bool | None) -> dict[str, Any]:
        grad = self.requires_grad if requires_grad is None else requires_grad
        return {
            field.name: wp.clone(self.array(field.name), requires_grad=grad) for field in self.table.owned_by(owner)
        }


def _in_namespace(model: Model, namespace: str, name: str) -> Any:
    return model.array(f"{namespace}:{name}")
