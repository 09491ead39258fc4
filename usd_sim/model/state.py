"""State and Control: what changes from step to step, and what drives it. Both are made from the field table."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from usd_sim.model.model import Model

__all__ = ["Control", "Namespace", "State", "set_namespaced"]


class Namespace:
    """Fields of one namespace as attributes.

    Args:
        lookup: Returns the value of a field by its short name where it is no attribute yet, or raises KeyError.
    """

    def __init__(self, lookup: Callable[[str], Any] | None = None):
        self._lookup = lookup

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("_") and self._lookup is not None:
            try:
                return self._lookup(name)
            except KeyError:
                pass
        raise AttributeError(f"there is no field {name!r} in this namespace")


def set_namespaced(target: Any, name: str, value: Any) -> None:
    """Set ``target.name``, or ``target.namespace.name`` for a name of the form ``namespace:name``."""
    namespace, _, short = name.rpartition(":")
    if namespace:
        if not hasattr(target, namespace):
            setattr(target, namespace, Namespace())
        target = getattr(target, namespace)
    setattr(target, short, value)


class _Arrays:
    """Warp arrays by field name, copied from a model's initial values."""

    def __init__(self, model: Model, arrays: dict[str, Any]):
        self.device = model.device
        self._arrays = arrays
        for name, array in arrays.items():
            set_namespaced(self, name, array)

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...

    def assign(self, other: Any) -> None:
        """Copy all arrays of ``other``, an object of the same model."""
        import warp as wp

        for name, array in self._arrays.items():
            wp.copy(array, other._arrays[name])


class State(_Arrays):
    """Positions, velocities and applied forces; made by :meth:`Model.state`.

    Attributes are the fields that the table gives to the state: ``body_q`` (body_count, 7) [m, xyzw], ``body_qd``
    (body_count, 6) [m/s, rad/s], ``body_f`` (body_count, 6) [N, N·m], ``joint_q`` (joint_coord_count,),
    ``joint_qd`` (joint_dof_count,).
    """

    def clear_forces(self) -> None:
        """Set all applied forces to zero."""
        self._arrays["body_f"].zero_()


class Control(_Arrays):
    """Inputs of the drives; made by :meth:`Model.control`.

    Attributes are the fields that the table gives to the control: ``joint_f``, ``joint_target_q``, ``joint_target_qd``,
    each (joint_dof_count,).
    """

    def clear(self) -> None:
        """Set all inputs to zero."""
        for array in self._arrays.values():
            array.zero_()
