"""MuJoCo as a solver: native on a CPU, MuJoCo Warp on a GPU. Its ``fields`` can be imported without MuJoCo."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from usd_sim.solvers.mujoco.config import MuJoCoConfig
    from usd_sim.solvers.mujoco.solver import SolverMuJoCo

__all__ = ["MuJoCoConfig", "SolverMuJoCo"]


def __getattr__(name: str) -> Any:
    """Load the classes when they are asked for."""
    if name == "MuJoCoConfig":
        from usd_sim.solvers.mujoco.config import MuJoCoConfig

        return MuJoCoConfig
    if name == "SolverMuJoCo":
        from usd_sim.solvers.mujoco.solver import SolverMuJoCo

        return SolverMuJoCo
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
