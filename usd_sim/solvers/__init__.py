"""Solvers, made by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from usd_sim.errors import ExitCode, UsdSimError

if TYPE_CHECKING:
    from usd_sim.solvers.base import SolverBase

__all__ = ["create", "names", "solver_class"]

_SOLVERS = {"mujoco": ("usd_sim.solvers.mujoco", "SolverMuJoCo")}


def names() -> list[str]:
    """Return the names that :func:`create` takes."""
    return sorted(_SOLVERS)


def solver_class(name: str) -> type[SolverBase]:
    """Return the class of a solver.

    Args:
        name: One of :func:`names`; case, ``-`` and ``_`` do not matter.

    Raises:
        UsdSimError: There is no such solver.
    """
    import importlib

    key = name.strip().lower().replace("_", "-")
    if key not in _SOLVERS:
        raise UsdSimError(
            f"there is no solver {name!r}", remedy=f"choose one of: {', '.join(names())}", exit_code=ExitCode.USAGE
        )
    module, attribute = _SOLVERS[key]
    return getattr(importlib.import_module(module), attribute)


def create(name: str, model: Any, **options: Any) -> SolverBase:
    """Make a solver for a model.

    Args:
        name: One of :func:`names`.
        model: The model that it advances.
        **options: Fields of the solver's configuration, by name.

    Raises:
        UsdSimError: The solver or an option does not exist, or the solver cannot simulate the model.
    """
    return solver_class(name)(model, **options)
