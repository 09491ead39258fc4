"""MuJoCo as a solver: native on a CPU, MuJoCo Warp on a GPU."""

from usd_sim.solvers.mujoco.config import MuJoCoConfig
from usd_sim.solvers.mujoco.solver import SolverMuJoCo

__all__ = ["MuJoCoConfig", "SolverMuJoCo"]
