"""Native MuJoCo behind the interface that SolverMuJoCo drives."""

from __future__ import annotations

import mujoco
import numpy as np

from usd_sim.errors import UsdSimError
from usd_sim.solvers.mujoco.config import MuJoCoConfig
from usd_sim.solvers.mujoco.state_sync import MuJoCoState

__all__ = ["NativeBackend"]


class NativeBackend:
    """One mjData; its arrays are written and read in place.

    Args:
        model: MuJoCo's model.
        config: Settings.

    Attributes:
        state: Views of the state's arrays.
        ctrl: Inputs of the actuators.
        qfrc_applied: Applied generalised forces.
        xfrc_applied: Applied wrenches (force, torque) at the COM of bodies, world frame.
        dirty: Whether inputs were written since the last step; of use to other backends.

    Raises:
        UsdSimError: There is not enough memory.
    """

    def __init__(self, model: mujoco.MjModel, config: MuJoCoConfig):
        self.model, self.config = model, config
        _listen()
        try:
            self.data = data = mujoco.MjData(model)
        except (MemoryError, mujoco.FatalError) as error:
            raise UsdSimError("MuJoCo could not allocate its memory", remedy="lower memory_mb") from error
        self.state = MuJoCoState(data.qpos, data.qvel, data.xpos, data.xquat, data.xipos, data.cvel, data.subtree_com)
        self.ctrl, self.qfrc_applied, self.xfrc_applied = data.ctrl, data.qfrc_applied, data.xfrc_applied
        self.dirty = True
        self._fresh = False
        self._option = model.opt
        self._dt = float(model.opt.timestep)
        self._contacts_full = data.warning[mujoco.mjtWarning.mjWARN_CONTACTFULL]
        self._rows_full = data.warning[mujoco.mjtWarning.mjWARN_CNSTRFULL]

    @property
    def time(self) -> float:
        """Simulated time [s]."""
        return self.data.time

    @time.setter
    def time(self, value: float) -> None:
        self.data.time = value

    def advance(self, dt: float, substeps: int) -> None:
        """Take steps of ``dt`` [s].

        Raises:
            UsdSimError: There was no room for all contacts or constraints.
        """
        if dt != self._dt:
            self._option.timestep = self._dt = dt
        try:
            mujoco.mj_step(self.model, self.data, substeps)
        except mujoco.FatalError as error:
            raise self._full(f"MuJoCo stopped: {error}") from error
        self._fresh = False
        if self._contacts_full.number or self._rows_full.number:
            raise self._full("MuJoCo has no room for all contacts and constraints")

    def _full(self, message: str) -> UsdSimError:
        return UsdSimError(message, remedy=f"raise memory_mb, now {self.model.narena / 2**20:.0f}")

    def sync_host(self) -> None:
        """Make the state's arrays current before they are written in part; here they always are."""

    def place(self) -> None:
        """Derive poses from ``qpos``."""
        mujoco.mj_kinematics(self.model, self.data)
        self._fresh = False

    def refresh(self) -> None:
        """Derive poses and velocities from ``qpos`` and ``qvel``; a step leaves those of its start behind."""
        if not self._fresh:
            mujoco.mj_kinematics(self.model, self.data)
            mujoco.mj_comPos(self.model, self.data)
            mujoco.mj_comVel(self.model, self.data)
            self._fresh = True

    def activations(self) -> np.ndarray:
        """Return a copy of the activations of actuators (na,)."""
        return self.data.act.copy()

    def put_activations(self, address: np.ndarray, values: np.ndarray) -> None:
        """Set some activations of actuators.

        Args:
            address: Places in ``act`` (n,).
            values: Activations (n,).
        """
        self.data.act[address] = values

    def reset(self) -> None:
        """Forget all history."""
        mujoco.mj_resetData(self.model, self.data)
        self._fresh = False

    def model_changed(self) -> None:
        """Take over edits of MuJoCo's model; native MuJoCo reads it directly."""
        self._fresh = False

    def is_finite(self) -> bool:
        """Whether the state is finite."""
        # a sum is not finite where a term is not, and is the cheapest test; overflow counts as divergence
        return bool(np.isfinite(self.state.qpos.sum() + self.state.qvel.sum()))

    @property
    def contact_count(self) -> int:
        """Contacts of the last step."""
        return int(self.data.ncon)


def _listen() -> None:
    """Keep MuJoCo from writing its warnings into a file in the working directory; they are told as errors here."""
    if mujoco.get_mju_user_warning() is None:
        mujoco.set_mju_user_warning(_ignore)


def _ignore(message: str) -> None:
    """Drop a warning of MuJoCo: full arenas raise, and non-finite states are seen by ``is_finite``."""
