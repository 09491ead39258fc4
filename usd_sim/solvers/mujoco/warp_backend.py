"""MuJoCo Warp behind the interface that SolverMuJoCo drives."""

from __future__ import annotations

from typing import Any

import mujoco
import mujoco_warp
import numpy as np
import warp as wp

from usd_sim.errors import UsdSimError
from usd_sim.solvers.mujoco.config import MuJoCoConfig
from usd_sim.solvers.mujoco.native import NativeBackend

__all__ = ["WarpBackend"]

_CONTACTS_BASE, _CONTACTS_PER_BODY = 64, 16
_ROWS_PER_CONTACT = 4
"""Rows of a pyramid of three dimensions; capacities are checked on the device after every call."""

_UPLOADED = ("qpos", "qvel", "ctrl", "qfrc_applied", "xfrc_applied")


class WarpBackend(NativeBackend):
    """Steps on a Warp device; native MuJoCo's data on the host is where state and inputs are staged.

    Inputs go to the device when they changed, positions and velocities come back when they are read; poses are then
    derived on the host.

    Args:
        model: MuJoCo's model.
        config: Settings.
        device: Warp device.

    Raises:
        UsdSimError: MuJoCo Warp lacks something that the model uses.
    """

    def __init__(self, model: mujoco.MjModel, config: MuJoCoConfig, device: Any):
        super().__init__(model, config)
        self.device = device
        self._behind = False
        self._upload_model()
        contacts = config.nconmax or _CONTACTS_BASE + _CONTACTS_PER_BODY * model.nbody
        # rows of contacts, of both sides of limits, of dry friction and of equalities
        rows = config.njmax or _ROWS_PER_CONTACT * contacts + 3 * model.nv + 6 * model.neq
        with wp.ScopedDevice(device):
            self.device_data = mujoco_warp.make_data(model, nworld=1, nconmax=contacts, njmax=rows)

    def _upload_model(self) -> None:
        flags = self.model.opt.disableflags
        try:
            # MuJoCo Warp never resets on its own and does not know the switch
            self.model.opt.disableflags = flags & ~int(mujoco.mjtDisableBit.mjDSBL_AUTORESET)
            with wp.ScopedDevice(self.device):
                self.device_model = mujoco_warp.put_model(self.model)
        except (NotImplementedError, ValueError) as error:
            raise UsdSimError(f"MuJoCo Warp cannot run the model: {error}", remedy="use native MuJoCo") from error
        finally:
            self.model.opt.disableflags = flags

    def advance(self, dt: float, substeps: int) -> None:
        """Take steps of ``dt`` [s].

        Raises:
            UsdSimError: There was no room for all contacts or constraints.
        """
        data = self.device_data
        if dt != self._dt:
            self.model.opt.timestep = self._dt = dt
            self.device_model.opt.timestep.fill_(dt)
        with wp.ScopedDevice(self.device):
            if self.dirty:
                for name in _UPLOADED:
                    self._put(name)
                self.dirty = False
            for _ in range(substeps):
                mujoco_warp.step(self.device_model, data)
        self._behind = True
        self._fresh = False
        self.data.time += dt * substeps
        self._check_room()

    def _put(self, name: str) -> None:
        target = getattr(self.device_data, name)
        source = np.asarray(getattr(self.data, name), np.float32)
        if source.size:
            target.assign(source[None].reshape(target.numpy().shape))

    def _check_room(self) -> None:
        flags = int(self.device_data.overflow.numpy().max(initial=0))
        kind = mujoco_warp.OverflowType
        if flags & int(kind.NEFC | kind.NJMAX_NNZ):
            raise UsdSimError(
                "MuJoCo Warp has no room for all constraints", remedy=f"raise njmax, now {self.device_data.njmax}"
            )
        if flags & int(kind.BROADPHASE | kind.NARROWPHASE | kind.CCD):
            raise UsdSimError(
                "MuJoCo Warp has no room for all contacts", remedy=f"raise nconmax, now {self.device_data.naconmax}"
            )

    def _fetch(self) -> None:
        if self._behind:
            self.data.qpos[:] = self.device_data.qpos.numpy()[0]
            self.data.qvel[:] = self.device_data.qvel.numpy()[0]
            self._behind = False

    def sync_host(self) -> None:
        """Bring positions and velocities to the host, before inputs are written there."""
        self._fetch()

    def place(self) -> None:
        """Derive poses from ``qpos``."""
        super().place()
        self.dirty = True

    def refresh(self) -> None:
        """Derive poses and velocities from the device's positions and velocities."""
        self._fetch()
        super().refresh()

    def reset(self) -> None:
        """Forget all history."""
        super().reset()
        self._behind = False
        self.dirty = True
        with wp.ScopedDevice(self.device):
            mujoco_warp.reset_data(self.device_model, self.device_data)

    def activations(self) -> np.ndarray:
        """Return a copy of the activations of actuators (na,)."""
        return self.device_data.act.numpy()[0].copy()

    def put_activations(self, address: np.ndarray, values: np.ndarray) -> None:
        """Set some activations of actuators; see :meth:`NativeBackend.put_activations`."""
        super().put_activations(address, values)
        act = self.device_data.act.numpy()
        act[0, address] = values
        self.device_data.act.assign(act)

    def model_changed(self) -> None:
        """Bring edits of MuJoCo's model to the device."""
        super().model_changed()
        self._upload_model()
        self.device_model.opt.timestep.fill_(self._dt)

    def is_finite(self) -> bool:
        """Whether the state is finite."""
        self._fetch()
        return super().is_finite()

    @property
    def contact_count(self) -> int:
        """Contacts of the last step."""
        return int(self.device_data.nacon.numpy()[0])
