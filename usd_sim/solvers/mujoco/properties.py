"""Numbers that MuJoCo only copies, written from a model's arrays for all rows at once, at first and on every edit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from usd_sim.geometry import transforms as tf
from usd_sim.model.fields import FIELDS
from usd_sim.model.types import JointTargetMode
from usd_sim.solvers.base import host
from usd_sim.solvers.mujoco.acceleration import effective_inertia
from usd_sim.solvers.mujoco.body_damping import free_damping
from usd_sim.solvers.mujoco.gains import contact_solref, limit_solref
from usd_sim.solvers.mujoco.layout import Layout
from usd_sim.solvers.mujoco.natives import optional, write_actuators, write_tendons
from usd_sim.solvers.mujoco.spec_builder import drive_actuators, scalar_frames

__all__ = ["PropertyMap"]

Int = NDArray[np.int64]

_FAR = 1.0e10
"""Stands for a missing limit on one side; MuJoCo knows only pairs."""


@dataclass(frozen=True)
class PropertyMap:
    """Where a model's rows are among MuJoCo's elements.

    Attributes:
        layout: Tree of the model.
        body: MuJoCo body of each body.
        scalar_joint: MuJoCo joint of each scalar freedom.
        scalar_dof: MuJoCo degree of freedom of each scalar freedom.
        ball_joint: MuJoCo joint of each ball.
        ball_dof: First MuJoCo degree of freedom of each ball.
        free_body: Body of each free joint.
        free_dof: First MuJoCo degree of freedom of each free joint.
        geom: MuJoCo geom of each shape in ``geom_shape``.
        geom_shape: Shapes that are geoms.
        actuator: MuJoCo actuator of each drive, in the order of ``drive_actuators``.
        kinematic_armature: Inertia added to the freedoms of kinematic bodies.
        mimic: MuJoCo equality and joint of each mimic ``(n, 2)``.
        loop: MuJoCo equality and joint of each loop ``(n, 2)``.
        native: MuJoCo actuator of each actuator of the ``mujoco`` namespace.
        tendon: MuJoCo tendon of each tendon.
        drive_inertia: What the gains of each of ``actuator`` are multiplied by; see :meth:`weigh_drives`.
    """

    layout: Layout
    body: Int
    scalar_joint: Int
    scalar_dof: Int
    ball_joint: Int
    ball_dof: Int
    free_body: Int
    free_dof: Int
    geom: Int
    geom_shape: Int
    actuator: Int
    kinematic_armature: float
    mimic: Int
    loop: Int
    native: Int
    tendon: Int
    drive_inertia: NDArray[np.float64]

    # --- everything -------------------------------------------------------------------------------------------------

    def write_all(self, model: Any, target: mujoco.MjModel) -> None:
        """Write every number; the order matters where one is derived from another."""
        self.write_reference(model, target)
        self.write_armature(model, target)
        self.write_statistics(target)
        self.write_forces(model, target)
        self.write_constraints(model, target)
        self.write_shapes(model, target)

    # --- joints -----------------------------------------------------------------------------------------------------

    def dofs(self, model: Any) -> tuple[Int, Int]:
        """Return the degrees of freedom of the model that MuJoCo has, and where ``(n,)`` each."""
        starts = host(model, "joint_qd_start").astype(np.int64)
        jointed = self.layout.holder[self.free_body] >= 0
        free = starts[self.layout.holder[self.free_body[jointed]]]
        three, six = np.arange(3), np.arange(6)
        own = [
            self.layout.scalar_dofs,
            (starts[self.layout.ball_joints][:, None] + three).ravel(),
            (free[:, None] + six).ravel(),
        ]
        theirs = [
            self.scalar_dof,
            (self.ball_dof[:, None] + three).ravel(),
            (self.free_dof[jointed][:, None] + six).ravel(),
        ]
        return np.concatenate(own), np.concatenate(theirs)

    def write_armature(self, model: Any, target: mujoco.MjModel) -> None:
        """Write added inertia; kinematic freedoms keep theirs."""
        own, theirs = self.dofs(model)
        target.dof_armature[theirs] = host(model, "joint_armature")[own]
        target.dof_armature[self.kinematic_dofs(target)] = self.kinematic_armature

    def kinematic_dofs(self, target: mujoco.MjModel) -> Int:
        """Return the MuJoCo degrees of freedom of kinematic bodies."""
        kinematic = np.zeros(target.nbody, bool)
        kinematic[self.body] = self.layout.is_kinematic
        return np.flatnonzero(kinematic[target.dof_bodyid])

    def write_statistics(self, target: mujoco.MjModel) -> None:
        """Leave kinematic freedoms out of the mean inertia: it scales the tolerance at which the solver stops."""
        dynamic = np.ones(target.nv, bool)
        dynamic[self.kinematic_dofs(target)] = False
        if dynamic.any() and not dynamic.all():
            target.stat.meaninertia = float(target.dof_M0[dynamic].mean())

    def write_forces(self, model: Any, target: mujoco.MjModel) -> None:
        """Write passive forces, limits and drives."""
        own, theirs = self.dofs(model)
        target.dof_frictionloss[theirs] = host(model, "joint_friction")[own]
        for name in ("solref", "solimp"):
            column = optional(model, f"mujoco:{name}friction")
            if column is not None:
                getattr(target, f"dof_{name}")[theirs] = column[own]
        stiffness, damping = host(model, "joint_stiffness"), host(model, "joint_damping")
        # springs that MuJoCo fitted to the inertia keep what it found
        fitted = optional(model, "mujoco:springdamper")
        free = np.ones(model.joint_dof_count, bool)
        if fitted is not None:
            free[(fitted > 0).all(axis=1)] = False
        target.dof_damping[theirs[free[own]]] = damping[own[free[own]]]
        self._write_body_damping(model, target)
        scalar = free[self.layout.scalar_dofs]
        target.jnt_stiffness[self.scalar_joint[scalar]] = stiffness[self.layout.scalar_dofs[scalar]]
        starts = host(model, "joint_qd_start")
        target.jnt_stiffness[self.ball_joint] = stiffness[starts[self.layout.ball_joints]]
        self._write_limits(model, target)
        self._write_ball_limits(model, target)
        self._write_drives(model, target)
        write_actuators(model, target, self.native)

    def _write_body_damping(self, model: Any, target: mujoco.MjModel) -> None:
        """Add the damping of free bodies to that of their joints."""
        own = free_damping(model, self.layout)
        if own is None and not model.is_set("body_linear_damping") and not model.is_set("body_angular_damping"):
            return
        rows = self.free_dof[:, None] + np.arange(6)
        unjointed = self.layout.holder[self.free_body] < 0
        target.dof_damping[rows[unjointed]] = 0.0
        if own is not None:
            target.dof_damping[rows] += own[self.free_body]

    def _write_limits(self, model: Any, target: mujoco.MjModel) -> None:
        """Bounds that are not in order lock the freedom: at their common value, or at 0 where they cross."""
        dofs = self.layout.scalar_dofs
        lower, upper = (host(model, f"joint_limit_{side}")[dofs].astype(np.float64) for side in ("lower", "upper"))
        crossed = lower > upper
        lower[crossed], upper[crossed] = 0.0, 0.0
        ref = self.reference(model)
        lower, upper = lower + ref, upper + ref
        target.jnt_limited[self.scalar_joint] = np.isfinite(lower) | np.isfinite(upper)
        target.jnt_range[self.scalar_joint, 0] = np.maximum(lower, -_FAR)
        target.jnt_range[self.scalar_joint, 1] = np.minimum(upper, _FAR)
        impedance = optional(model, "mujoco:solimplimit")
        if impedance is not None:
            target.jnt_solimp[self.scalar_joint] = impedance[dofs]
        margin = optional(model, "mujoco:limit_margin")
        if margin is not None:
            target.jnt_margin[self.scalar_joint] = margin[dofs]
        target.jnt_solref[self.scalar_joint] = limit_solref(
            host(model, "joint_limit_ke")[dofs].astype(np.float64),
            host(model, "joint_limit_kd")[dofs].astype(np.float64),
            target.dof_invweight0[self.scalar_dof],
            target.jnt_solimp[self.scalar_joint, 1],
        )
        stated = optional(model, "mujoco:solreflimit")
        if stated is not None:
            rows = np.flatnonzero(np.isfinite(stated[dofs]).all(axis=1))
            target.jnt_solref[self.scalar_joint[rows]] = stated[dofs[rows]]

    def _write_ball_limits(self, model: Any, target: mujoco.MjModel) -> None:
        largest = optional(model, "mujoco:ball_limit")
        if largest is None or len(self.ball_joint) == 0:
            return
        angle = largest[self.layout.ball_joints].astype(np.float64)
        dofs = host(model, "joint_qd_start")[self.layout.ball_joints]
        target.jnt_limited[self.ball_joint] = np.isfinite(angle)
        target.jnt_range[self.ball_joint, 1] = np.where(np.isfinite(angle), angle, 0.0)
        for name, attribute in (("solreflimit", "solref"), ("solimplimit", "solimp"), ("limit_margin", "margin")):
            column = optional(model, f"mujoco:{name}")
            if column is not None:
                rows = np.flatnonzero(np.isfinite(column[dofs].reshape(len(dofs), -1)).all(axis=1))
                getattr(target, f"jnt_{attribute}")[self.ball_joint[rows]] = column[dofs[rows]]

    def reference(self, model: Any) -> Any:
        """Return MuJoCo's coordinate of each scalar freedom where ours is 0; 0.0 where no joint has one."""
        ref = optional(model, "mujoco:ref")
        return 0.0 if ref is None else ref[self.layout.scalar_dofs].astype(np.float64)

    def weigh_drives(self, model: Any, target: mujoco.MjModel, qpos: NDArray[np.float64]) -> bool:
        """Find what the gains of acceleration drives are multiplied by; return whether there are any such drives.

        Args:
            model: The model.
            target: MuJoCo's model.
            qpos: Where the inertia is that of.
        """
        accelerated = optional(model, "joint_drive_acceleration")
        self.drive_inertia[:] = 1.0
        if accelerated is None or not accelerated.any():
            return False
        dofs, _ = drive_actuators(model, self.layout)
        own, theirs = self.dofs(model)
        place = np.zeros(model.joint_dof_count, np.int64)
        place[own] = theirs
        rows = np.flatnonzero(accelerated[dofs])
        self.drive_inertia[rows] = effective_inertia(target, qpos, place[dofs[rows]])
        return True

    def _write_drives(self, model: Any, target: mujoco.MjModel) -> None:
        effort = host(model, "joint_effort_limit").astype(np.float64)
        bounded = effort[self.layout.scalar_dofs]
        target.jnt_actfrclimited[self.scalar_joint] = np.isfinite(bounded)
        bounded = np.where(np.isfinite(bounded), bounded, 0.0)
        target.jnt_actfrcrange[self.scalar_joint] = np.stack([-bounded, bounded], axis=1)
        stated = optional(model, "mujoco:actuatorfrcrange")
        if stated is not None:
            own = stated[self.layout.scalar_dofs].astype(np.float64)
            rows = np.flatnonzero(np.isfinite(own).any(axis=1))
            target.jnt_actfrclimited[self.scalar_joint[rows]] = True
            target.jnt_actfrcrange[self.scalar_joint[rows]] = np.clip(own[rows], -_FAR, _FAR)
        dofs, is_velocity = drive_actuators(model, self.layout)
        if len(dofs) == 0:
            return
        ke, kd = (host(model, f"joint_target_{gain}")[dofs] * self.drive_inertia for gain in ("ke", "kd"))
        both = host(model, "joint_target_mode")[dofs] == JointTargetMode.POSITION_VELOCITY
        gain, bias = target.actuator_gainprm, target.actuator_biasprm
        gain[self.actuator, 0] = np.where(is_velocity, kd, ke)
        bias[self.actuator, 1] = np.where(is_velocity, 0.0, -ke)
        bias[self.actuator, 2] = np.where(is_velocity | ~both, -kd, 0.0)
        # a ball's freedoms are limited one by one, at their actuators
        starts = host(model, "joint_qd_start").astype(np.int64)
        ball = np.isin(dofs, (starts[self.layout.ball_joints][:, None] + np.arange(3)).ravel()) & np.isfinite(
            effort[dofs]
        )
        target.actuator_forcelimited[self.actuator] = ball
        reach = np.where(ball, np.where(np.isfinite(effort[dofs]), effort[dofs], 0.0), 0.0)
        target.actuator_forcerange[self.actuator] = np.stack([-reach, reach], axis=1)

    def write_reference(self, model: Any, target: mujoco.MjModel) -> None:
        """Write where passive springs rest."""
        rest = host(model, "joint_rest_q").astype(np.float64)
        place = target.jnt_qposadr[self.scalar_joint]
        target.qpos_spring[place] = rest[self.layout.scalar_coords] + self.reference(model)
        if len(self.ball_joint):
            starts = host(model, "joint_q_start").astype(np.int64)
            turned = rest[starts[self.layout.ball_joints][:, None] + np.arange(4)]
            frame = host(model, "joint_X_c")[self.layout.ball_joints, 3:]
            local = tf.quat_multiply(tf.quat_multiply(frame, tf.quat_normalize(turned)), tf.quat_conjugate(frame))
            target.qpos_spring[target.jnt_qposadr[self.ball_joint][:, None] + np.arange(4)] = local[:, [3, 0, 1, 2]]

    def write_frames(self, model: Any, target: mujoco.MjModel, layout: Layout) -> None:
        """Write the frames of bodies and joints.

        Args:
            model: The edited model.
            target: MuJoCo's model.
            layout: The model's tree, planned anew.
        """
        pose = layout.body_pose
        rows = np.flatnonzero(~layout.is_free)
        target.body_pos[self.body[rows]] = pose[rows, :3]
        target.body_quat[self.body[rows]] = pose[rows][:, [6, 3, 4, 5]]
        if len(self.scalar_joint):
            axis, anchor = scalar_frames(model, layout)
            target.jnt_axis[self.scalar_joint] = axis / np.linalg.norm(axis, axis=1, keepdims=True)
            target.jnt_pos[self.scalar_joint] = anchor
        if len(self.ball_joint):
            target.jnt_pos[self.ball_joint] = host(model, "joint_X_c")[layout.ball_joints, :3]

    def write_constraints(self, model: Any, target: mujoco.MjModel) -> None:
        """Write equalities and tendons: what they are made of, and how hard they are."""
        if len(self.mimic):
            target.eq_data[self.mimic[:, 0], :2] = host(model, "joint_mimic_coeffs")[self.mimic[:, 1]]
            higher = optional(model, "mujoco:mimic_polycoef")
            if higher is not None:
                target.eq_data[self.mimic[:, 0], 2:5] = higher[self.mimic[:, 1]]
        scale = optional(model, "mujoco:equality_torquescale")
        if scale is not None and len(self.loop):
            target.eq_data[self.loop[:, 0], 10] = scale[self.loop[:, 1]]
        both = np.concatenate([self.mimic, self.loop])
        for name in ("solref", "solimp"):
            column = optional(model, f"mujoco:equality_{name}")
            if column is not None:
                getattr(target, f"eq_{name}")[both[:, 0]] = column[both[:, 1]]
        write_tendons(model, target, self.tendon)

    # --- shapes -----------------------------------------------------------------------------------------------------

    def write_shapes(self, model: Any, target: mujoco.MjModel) -> None:
        """Write friction, contact gains, margins and colours.

        Contacts have three dimensions; spin and roll friction are on where they differ from the fallback and are not 0.
        """
        if len(self.geom) == 0:
            return
        rows = self.geom_shape
        slide, spin, roll = (
            host(model, f"shape_material_{name}")[rows].astype(np.float64)
            for name in ("mu", "mu_torsional", "mu_rolling")
        )
        target.geom_friction[self.geom] = np.stack([slide, spin, roll], axis=1)
        spins = (spin > 0) & (np.float32(FIELDS["shape_material_mu_torsional"].default) != spin.astype(np.float32))
        rolls = (roll > 0) & (np.float32(FIELDS["shape_material_mu_rolling"].default) != roll.astype(np.float32))
        target.geom_condim[self.geom] = np.where(rolls, 6, np.where(spins, 4, 3))
        target.geom_solref[self.geom] = contact_solref(
            host(model, "shape_material_ke")[rows], host(model, "shape_material_kd")[rows]
        )
        self._write_contact_natives(model, target, rows)
        target.geom_rgba[self.geom, :3] = host(model, "shape_color")[rows]
        margin = host(model, "shape_margin")[rows].astype(np.float64)
        target.geom_margin[self.geom] = margin
        gap = np.maximum(host(model, "shape_gap")[rows].astype(np.float64), 0.0)
        target.geom_gap[self.geom] = gap
        # derived by the compiler: how far the geoms of each body reach for contacts
        target.body_margin[:] = 0.0
        np.maximum.at(target.body_margin, target.geom_bodyid[self.geom], margin + gap)

    def _write_contact_natives(self, model: Any, target: mujoco.MjModel, rows: Int) -> None:
        """Write what shapes state in MuJoCo's own terms."""
        condim, solref = optional(model, "mujoco:condim"), optional(model, "mujoco:solref")
        if condim is not None:
            stated = condim[rows] > 0
            target.geom_condim[self.geom[stated]] = condim[rows[stated]]
        if solref is not None:
            stated = np.isfinite(solref[rows]).all(axis=1)
            target.geom_solref[self.geom[stated]] = solref[rows[stated]]
        for name in ("priority", "solmix", "solimp"):
            column = optional(model, f"mujoco:{name}")
            if column is not None:
                getattr(target, f"geom_{name}")[self.geom] = column[rows]
