"""SolverMuJoCo: native MuJoCo on a CPU, MuJoCo Warp on a GPU, behind one class."""

from __future__ import annotations

import re
import warnings
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import mujoco
import numpy as np
from numpy.typing import NDArray

from usd_sim.errors import UsdSimError, UsdSimWarning
from usd_sim.geometry import transforms as tf
from usd_sim.model.types import JointType, ModelFlags
from usd_sim.solvers.base import Capabilities, Feature, SolverBase, Unsupported, host
from usd_sim.solvers.mujoco.acceleration import varying_inertia
from usd_sim.solvers.mujoco.body_damping import lost_damping
from usd_sim.solvers.mujoco.combine import combine_modes_lost
from usd_sim.solvers.mujoco.config import MuJoCoConfig
from usd_sim.solvers.mujoco.export import save_mjcf
from usd_sim.solvers.mujoco.filtering import CollisionRules, compile_filter
from usd_sim.solvers.mujoco.inertials import inertials
from usd_sim.solvers.mujoco.layout import plan
from usd_sim.solvers.mujoco.native import NativeBackend
from usd_sim.solvers.mujoco.natives import optional
from usd_sim.solvers.mujoco.properties import PropertyMap
from usd_sim.solvers.mujoco.spec_builder import SHAPE_TYPES, SpecBuilder, drive_actuators
from usd_sim.solvers.mujoco.state_sync import Ids, StateSync

__all__ = ["SolverMuJoCo"]

_MANY_BODIES = 8000
"""Movable bodies above which the compile is announced as slow: about 10, 17 and 67 s for 8, 10 and 20 thousand."""

_FEATURES = frozenset(Feature) - {
    Feature.BALL_LIMIT,
    Feature.VELOCITY_LIMIT,
    Feature.LOOP_FORCES,
    Feature.RESTITUTION,
    Feature.ADHESION,
}


class SolverMuJoCo(SolverBase):
    """Advances a model with MuJoCo.

    Native MuJoCo runs where the model is on a CPU, MuJoCo Warp where it is on a GPU or ``use_mujoco_cpu`` is False. A
    frame on the CPU is one native call with all substeps (:meth:`advance`); the state is converted when it is asked for
    (:meth:`pull`).

    Joint coordinates are the state that counts. For bodies that move freely, edits of ``body_q`` and ``body_qd`` count
    too, where the coordinates of the joint were not edited themselves. Kinematic bodies keep the velocity that the
    state last stated.

    Args:
        model: The model.
        config: Settings; the defaults if not given.
        use_mujoco_cpu: Whether to run native MuJoCo; by default where the model is on a CPU.
        progress: Called with one line before what may take long.
        **options: Single settings by name, see :class:`MuJoCoConfig`.

    Attributes:
        config: The settings.
        mj_model: MuJoCo's model.
        mj_data: MuJoCo's data; the host copy that only native MuJoCo advances.
        spec: The MjSpec that the model was compiled from.
        prim_names: Prim path by kind and MuJoCo name, ``"body:name"``.

    Raises:
        UsdSimError: An option is wrong, or MuJoCo cannot simulate the model; the prim is named where one is to blame.
    """

    supports: ClassVar[Capabilities] = Capabilities(
        joint_types=frozenset(JointType) - {JointType.DISTANCE},
        loop_types=frozenset({JointType.FIXED, JointType.BALL, JointType.REVOLUTE, JointType.D6}),
        shape_types=SHAPE_TYPES,
        features=_FEATURES,
    )

    def __init__(
        self,
        model: Any,
        *,
        config: MuJoCoConfig | None = None,
        use_mujoco_cpu: bool | None = None,
        progress: Callable[[str], None] | None = None,
        **options: Any,
    ):
        self.config = MuJoCoConfig.from_options(options, config)
        super().__init__(model)
        self.use_mujoco_cpu = not model.device.is_cuda if use_mujoco_cpu is None else use_mujoco_cpu
        self._progress = progress or (lambda message: None)
        self._control: Any = None
        self._build()

    def more_unsupported(self, model: Any) -> list[Unsupported]:
        """Return what MuJoCo does in its own way: how friction combines."""
        return combine_modes_lost(model)

    # --- construction -----------------------------------------------------------------------------------------------

    def _build(self) -> None:
        """Compile the model and start from its initial state."""
        model = self.model
        self.layout = layout = plan(model)
        rules = CollisionRules.from_model(model, layout.is_static)
        collision = compile_filter(rules)
        if collision.excess:
            self._warn(
                "the collision rules do not fit 32 bits; shapes of "
                f"{collision.excess} pairs of kinds collide although the model forbids it"
            )
        builder = SpecBuilder(model, layout, inertials(model, layout), collision, self.config)
        self.spec = builder.build()
        self._drives = drive_actuators(model, layout)
        found = [*builder.unsupported, *varying_inertia(model, layout, self._drives[0]), *lost_damping(model, layout)]
        for entry in found:
            self._warn(str(entry))
        self.unsupported += found
        self.prim_names = builder.prims
        self.mj_model = self._compile()
        self.ids, self.properties = _maps(builder, self.mj_model)
        self.properties.write_all(model, self.mj_model)
        self._structure = self._shape_structure()
        self._connect()

    def _connect(self) -> None:
        """Make the backend and the conversions, and start from the model's initial state."""
        model = self.model
        if self.use_mujoco_cpu:
            self.backend: Any = NativeBackend(self.mj_model, self.config)
        else:
            from usd_sim.solvers.mujoco.warp_backend import WarpBackend

            self.backend = WarpBackend(self.mj_model, self.config, model.device)
        self.mj_data = self.backend.data
        self.sync = StateSync(model, self.layout, self.ids)
        self._free_of_body = np.full(model.body_count, -1)
        self._free_of_body[self.ids.free_body] = np.arange(len(self.ids.free_body))
        self._kinematic = self.properties.kinematic_dofs(self.mj_model)
        self._followed: list[tuple[Any, ...]] = []
        dofs, is_velocity = self._drives
        actuator = self.properties.actuator
        self._position_drives = actuator[~is_velocity], dofs[~is_velocity]
        self._velocity_drives = actuator[is_velocity], dofs[is_velocity]
        ref = optional(model, "mujoco:ref")
        self._position_shift = 0.0 if ref is None else ref[self._position_drives[1]]
        self._put_activations()
        self._extra_weight = self._find_extra_weight()
        self._seen: dict[str, bytes] = {}
        self._turning_forces = False
        self._stale: Any = None
        self._start({name: host(model, name) for name in _STATE})
        self._start_qpos = self.backend.state.qpos.copy()
        if self.properties.weigh_drives(model, self.mj_model, self._start_qpos):
            self.properties.write_forces(model, self.mj_model)
            self.backend.model_changed()

    def _find_extra_weight(self) -> NDArray[Any]:
        """Return what bodies weigh beyond their weight in MuJoCo's one gravity ``(body_count, 3)`` [N]."""
        model, gravity = self.model, host(self.model, "gravity").astype(np.float64)
        extra = host(model, "body_gravity").astype(np.float64)
        extra += gravity[np.maximum(host(model, "body_world"), 0)] - gravity[0]
        extra[self.layout.is_kinematic] = 0.0
        return extra * self.mj_model.body_mass[self.ids.body][:, None]

    def _compile(self) -> mujoco.MjModel:
        movable = self.model.body_count - int(np.count_nonzero(self.layout.is_static))
        if movable > _MANY_BODIES:
            self._warn(
                f"{movable} bodies move; MuJoCo's compile time is quadratic in them, expect some "
                f"{17.0 * (movable / 1e4) ** 2:.0f} s"
            )
        self._progress(f"compiling {self.model.body_count} bodies for MuJoCo")
        try:
            return self.spec.compile()
        except (ValueError, mujoco.FatalError) as error:
            raise self._compile_error(str(error)) from error

    def _compile_error(self, text: str) -> UsdSimError:
        """Return MuJoCo's complaint with the prim that it names."""
        message = " ".join(text.replace("Error:", "").split())
        if "allocate memory" in message:
            return UsdSimError("MuJoCo could not allocate its memory", remedy="lower memory_mb")
        found = re.search(r"name '([^']*)'", message)
        prims = (
            (self.prim_names.get(f"{kind}:{found[1]}") for kind in ("geom", "body", "joint", "mesh", "equality"))
            if found
            else ()
        )
        return UsdSimError(
            f"MuJoCo cannot compile the model: {message}", prim=next((prim for prim in prims if prim), None)
        )

    def _warn(self, message: str) -> None:
        warnings.warn(f"SolverMuJoCo: {message}", UsdSimWarning, stacklevel=4)

    def _shape_structure(self) -> bytes:
        names = (
            "shape_flags",
            "shape_transform",
            "shape_scale",
            "shape_collision_group",
            "shape_filter_class",
            "shape_filter_mask",
        )
        return b"".join(host(self.model, name).tobytes() for name in names)

    # --- stepping ---------------------------------------------------------------------------------------------------

    def step(self, state_in: Any, state_out: Any, control: Any, contacts: Any, dt: float) -> None:
        """Advance by one step; see :meth:`SolverBase.step`. MuJoCo finds its own contacts."""
        self.advance(state_in, control, dt, 1)
        self.pull(state_out)

    def advance(self, state: Any, control: Any, dt: float, substeps: int = 1) -> None:
        """Advance by several steps without converting the result; :meth:`pull` does that.

        Args:
            state: State at the start, which is stale afterwards. What the caller did not change since it was last seen
                is taken from MuJoCo, so calls can follow one another without a pull.
            control: Inputs of the drives, held over all steps; None for the model's own.
            dt: Length of a step [s].
            substeps: Number of steps.

        Raises:
            UsdSimError: MuJoCo ran out of room for contacts or constraints.
        """
        self._push_state(state)
        self._push_control(control, state)
        backend = self.backend
        if len(self._kinematic):
            backend.sync_host()
            for motion in self._followed:
                self._write_followed(*motion)
            self._followed.clear()
            backend.state.qvel[self._kinematic] = self._prescribed
            backend.dirty = True
        backend.advance(dt, substeps)
        self._stale = weakref.ref(state)

    def pull(self, state: Any) -> None:
        """Read MuJoCo's state into ``body_q``, ``body_qd``, ``joint_q`` and ``joint_qd``."""
        self.backend.refresh()
        views = {name: host_of(getattr(state, name)) for name in _STATE}
        self.sync.read_bodies(self.backend.state, views["body_q"], views["body_qd"])
        self.sync.read_joints(
            self.backend.state, views["body_q"], views["body_qd"], views["joint_q"], views["joint_qd"]
        )
        for name, view in views.items():
            _give_back(getattr(state, name), view)
            self._seen[name] = view.tobytes()
        self._stale = None

    def reset(self, state: Any) -> None:
        """Start again from a state, without any history: as if newly made."""
        self.backend.reset()
        self._seen.clear()
        self._followed.clear()
        self._put_activations()
        self._start({name: host_of(getattr(state, name)) for name in _STATE})

    @property
    def takes_inputs_cheaply(self) -> bool:
        """Whether new inputs before every step cost little next to the step: where no device must be waited for."""
        return self.use_mujoco_cpu

    def follow(self, state: Any, rows: NDArray[Any], here: NDArray[Any], there: NDArray[Any], seconds: float) -> None:
        """Make kinematic bodies move from one pose to another; see :meth:`SolverBase.follow`.

        The state is not touched: :meth:`advance` writes these rows into MuJoCo's. MuJoCo integrates body origins, so
        those are what moves on a straight line, and the poses are met exactly. Bodies that a joint holds stop.
        """
        self._followed.append((rows, here, there, seconds))

    def _write_followed(self, rows: NDArray[Any], here: NDArray[Any], there: NDArray[Any], seconds: float) -> None:
        sync, state = self.sync, self.backend.state
        joint = self._free_of_body[rows]
        free = joint >= 0
        held = np.isin(self.mj_model.dof_bodyid, self.ids.body[rows[~free]])
        state.qvel[held] = 0.0
        joint, here, there = joint[free], here[free], there[free]
        state.qpos[sync.free_qpos[joint]] = here[:, [0, 1, 2, 6, 3, 4, 5]]
        state.qvel[sync.free_qvel[joint, :3]] = (there[:, :3] - here[:, :3]) / seconds
        # MuJoCo turns free bodies by rates in the body frame; about a fixed axis these are constant, too
        turn = tf.quat_multiply(tf.quat_conjugate(here[:, 3:]), there[:, 3:])
        state.qvel[sync.free_qvel[joint, 3:]] = tf.quat_to_rotation_vector(turn) / seconds
        self._prescribed = state.qvel[self._kinematic].copy()

    def is_finite(self) -> bool:
        """Whether all positions and velocities are numbers."""
        return self.backend.is_finite()

    @property
    def contact_count(self) -> int:
        """Number of contacts found in the last step."""
        return self.backend.contact_count

    def _put_activations(self) -> None:
        """Set the activations of actuators to the initial ones."""
        act = optional(self.model, "mujoco:actuator_act")
        if act is None or self.mj_model.na == 0:
            return
        address = self.mj_model.actuator_actadr[self.properties.native]
        has = address >= 0
        self.backend.put_activations(address[has], act[has])

    # --- state in ---------------------------------------------------------------------------------------------------

    def _start(self, values: dict[str, NDArray[Any]]) -> None:
        """Take over a state entirely. Free joints at rest have the velocity of their body, where one is given."""
        sync, values = self.sync, {name: np.array(value) for name, value in values.items()}
        self._seen.update({name: value.tobytes() for name, value in values.items()})
        if len(sync.jointed):
            self._write(values)
            _, twist = sync.free_from_bodies(values["body_q"], values["body_qd"], self.backend.state)
            rest = ~values["joint_qd"][sync.free_dofs].any(axis=1)
            values["joint_qd"][sync.free_dofs[rest]] = twist[rest]
        self._write(values)
        # what the caller holds may differ from this: unchanged rows of it do not count
        self._stale = _always

    def _push_state(self, state: Any) -> None:
        """Take over what the caller changed in the state."""
        views = {name: host_of(getattr(state, name)) for name in _STATE}
        current = {name: view.tobytes() for name, view in views.items()}
        if current == {name: self._seen.get(name) for name in _STATE}:
            return
        values = {name: np.array(view) for name, view in views.items()}
        changed = {
            name: values[name] != np.frombuffer(self._seen[name], np.float32).reshape(values[name].shape)
            for name in _STATE
        }
        if self._stale is not None and self._stale() in (state, _always):
            fresh = {name: np.array(view) for name, view in views.items()}
            self.backend.refresh()
            self.sync.read_bodies(self.backend.state, fresh["body_q"], fresh["body_qd"])
            self.sync.read_joints(
                self.backend.state, fresh["body_q"], fresh["body_qd"], fresh["joint_q"], fresh["joint_qd"]
            )
            values = {name: np.where(changed[name], values[name], fresh[name]) for name in _STATE}
        self._take_bodies(values, changed)
        self._write(values)
        self._seen.update(current)

    def _take_bodies(self, values: dict[str, NDArray[Any]], changed: dict[str, NDArray[np.bool_]]) -> None:
        """Let edits of the pose and velocity of free bodies count where the joint's coordinates were not edited."""
        sync = self.sync
        if len(sync.jointed) == 0:
            return
        pose, twist = sync.free_from_bodies(values["body_q"], values["body_qd"], self.backend.state)
        for body_name, joint_name, cells, taken in (
            ("body_q", "joint_q", sync.free_coords, pose),
            ("body_qd", "joint_qd", sync.free_dofs, twist),
        ):
            edited = changed[body_name][sync.jointed_bodies].any(axis=1) & ~changed[joint_name][cells].any(axis=1)
            values[joint_name][cells[edited]] = taken[edited]

    def _write(self, values: dict[str, NDArray[Any]]) -> None:
        backend, sync = self.backend, self.sync
        sync.write_qpos(values["joint_q"], values["body_q"], backend.state)
        if len(sync.nested):
            # free joints on other bodies are placed once these are
            backend.place()
            sync.write_qpos(values["joint_q"], values["body_q"], backend.state)
        sync.write_qvel(values["joint_qd"], values["body_qd"], backend.state)
        backend.dirty = True
        backend.place()
        self._prescribed = backend.state.qvel[self._kinematic].copy()

    # --- control in -------------------------------------------------------------------------------------------------

    def _changed(self, name: str, view: NDArray[Any]) -> bool:
        content = view.tobytes()
        if self._seen.get(name) == content:
            return False
        self._seen[name] = content
        return True

    def _push_control(self, control: Any, state: Any) -> None:
        """Take over targets and forces, where they changed."""
        if control is None:
            if self._control is None:
                self._control = self.model.control()
            control = self._control
        backend = self.backend
        for name, (actuators, dofs) in (
            ("joint_target_q", self._position_drives),
            ("joint_target_qd", self._velocity_drives),
        ):
            if len(dofs):
                target = host_of(getattr(control, name))
                if self._changed(name, target):
                    backend.sync_host()
                    shift = self._position_shift if name == "joint_target_q" else 0.0
                    backend.ctrl[actuators] = target[dofs] + shift
                    backend.dirty = True
        if len(self.properties.native):
            native = host_of(control.mujoco.ctrl)
            if self._changed("mujoco:ctrl", native):
                backend.sync_host()
                backend.ctrl[self.properties.native] = native
                backend.dirty = True
        joint_f, body_f = host_of(control.joint_f), host_of(state.body_f)
        moved = [self._changed("joint_f", joint_f), self._changed("body_f", body_f)]
        if any(moved) or self._turning_forces:
            backend.sync_host()
            self._write_forces(joint_f, body_f)
            backend.dirty = True

    def _write_forces(self, joint_f: NDArray[Any], body_f: NDArray[Any]) -> None:
        """Write applied forces: wrenches at the COM, world frame, for bodies and free joints, generalised ones else."""
        sync, ids, backend = self.sync, self.ids, self.backend
        backend.xfrc_applied[ids.body] = body_f
        backend.xfrc_applied[ids.body, :3] += self._extra_weight
        if len(sync.jointed):
            backend.xfrc_applied[ids.body[sync.jointed_bodies]] += sync.free_to_world(
                joint_f[sync.free_dofs], backend.state
            )
        backend.qfrc_applied[ids.scalar_v] = joint_f[sync.scalar_dofs]
        turning = joint_f[sync.ball_dofs]
        if len(turning):
            backend.qfrc_applied[sync.ball_qvel] = sync.ball_to_local(turning, backend.state.qpos)
        # these are constant in a frame that moves with the state
        nested = len(sync.nested) and bool(joint_f[sync.free_dofs[sync.nested]].any())
        self._turning_forces = bool(turning.any()) or bool(nested)

    # --- edits ------------------------------------------------------------------------------------------------------

    def notify_model_changed(self, flags: ModelFlags) -> None:
        """Take over edits of the model's arrays.

        What changes the structure (collision rules, shapes, which drives there are, kinematic flags, centres of mass)
        compiles the model anew and keeps the motion.

        Args:
            flags: What changed.
        """
        flags = ModelFlags(flags)
        if self._needs_rebuild(flags):
            self._rebuild()
            return
        model, target, properties = self.model, self.mj_model, self.properties
        if flags & ModelFlags.MODEL_PROPERTIES:
            target.opt.gravity[:] = host(model, "gravity")[0]
        if flags & ModelFlags.JOINT_PROPERTIES:
            self.layout = plan(model)
            properties.write_frames(model, target, self.layout)
            self.sync = StateSync(model, self.layout, self.ids)
        if flags & ModelFlags.JOINT_REFERENCE_POSE_PROPERTIES:
            properties.write_reference(model, target)
        if flags & ModelFlags.JOINT_DOF_INERTIAL_PROPERTIES:
            properties.write_armature(model, target)
        if flags & ModelFlags.BODY_INERTIAL_PROPERTIES:
            masses = inertials(model, self.layout)
            target.body_mass[self.ids.body], target.body_inertia[self.ids.body] = masses.mass, masses.moments
        derived = (
            ModelFlags.JOINT_PROPERTIES | ModelFlags.JOINT_DOF_INERTIAL_PROPERTIES | ModelFlags.BODY_INERTIAL_PROPERTIES
        )
        if flags & derived:
            mujoco.mj_setConst(target, mujoco.MjData(target))
            properties.write_reference(model, target)
            properties.write_statistics(target)
        if flags & (derived | ModelFlags.JOINT_DOF_FORCE_PROPERTIES | ModelFlags.BODY_PROPERTIES):
            properties.weigh_drives(model, target, self._start_qpos)
            properties.write_forces(model, target)
        if flags & ModelFlags.SHAPE_PROPERTIES:
            properties.write_shapes(model, target)
        if flags & (ModelFlags.MODEL_PROPERTIES | ModelFlags.BODY_INERTIAL_PROPERTIES):
            self._extra_weight = self._find_extra_weight()
            self._seen.pop("body_f", None)  # so that the forces are written again
        if flags & ModelFlags.CONSTRAINT_PROPERTIES:
            properties.write_constraints(model, target)
        self.backend.model_changed()

    def _needs_rebuild(self, flags: ModelFlags) -> bool:
        model, target = self.model, self.mj_model
        if flags & ModelFlags.BODY_PROPERTIES and not np.array_equal(
            plan(model).is_kinematic, self.layout.is_kinematic
        ):
            return True
        if flags & ModelFlags.SHAPE_PROPERTIES and self._shape_structure() != self._structure:
            return True
        if flags & ModelFlags.JOINT_PROPERTIES and len(self.layout.loops):
            return True
        if flags & ModelFlags.JOINT_DOF_FORCE_PROPERTIES:
            now = drive_actuators(model, self.layout)
            if not all(np.array_equal(a, b) for a, b in zip(now, self._drives, strict=True)):
                return True
        if flags & ModelFlags.BODY_INERTIAL_PROPERTIES:
            masses = inertials(model, self.layout)
            body = self.ids.body
            same = np.allclose(target.body_ipos[body], masses.com) and np.allclose(
                target.body_iquat[body], masses.rotation[:, [3, 0, 1, 2]]
            )
            return not same
        return False

    def _rebuild(self) -> None:
        state = self.model.state()
        self.pull(state)
        time, activations = self.backend.time, self.backend.activations()
        self._build()
        self._start({name: host_of(getattr(state, name)) for name in _STATE})
        self.backend.put_activations(np.arange(len(activations)), activations)
        self.backend.time = time

    # --- files ------------------------------------------------------------------------------------------------------

    def save_mjcf(self, path: str | Path) -> Path:
        """Write MuJoCo's model as MJCF and return the path.

        Raises:
            UsdSimError: The file cannot be written.
        """
        return save_mjcf(self.spec, self.mj_model, self.properties, Path(path))


_STATE = ("joint_q", "joint_qd", "body_q", "body_qd")


def _always() -> Any:
    return _always


_views: dict[int, tuple[Any, NDArray[Any]]] = {}
_MOST_VIEWS = 64


def host_of(array: Any) -> NDArray[Any]:
    """Return an array's content on the host: a view where it lives there, made once, and a copy otherwise."""
    known = _views.get(id(array))
    if known is not None and known[0]() is array:
        return known[1]
    view = array.numpy()
    if not array.device.is_cuda:
        if len(_views) >= _MOST_VIEWS:
            _views.clear()
        _views[id(array)] = (weakref.ref(array), view)
    return view


def _give_back(array: Any, content: NDArray[Any]) -> None:
    if array.device.is_cuda:
        array.assign(content)


def _ids(elements: list[Any]) -> NDArray[np.int64]:
    return np.fromiter((element.id for element in elements), np.int64, len(elements))


def _pairs(elements: list[tuple[Any, int]]) -> NDArray[np.int64]:
    """Return the id and the row of each element ``(n, 2)``."""
    rows = np.array([row for _, row in elements], np.int64)
    return np.stack([_ids([element for element, _ in elements]), rows], axis=1)


def _maps(builder: SpecBuilder, target: mujoco.MjModel) -> tuple[Ids, PropertyMap]:
    """Return where the model's rows are in a compiled model."""
    body, scalar, ball, free = (_ids(rows) for rows in (builder.bodies, builder.scalars, builder.balls, builder.frees))
    free_body = np.array(builder.free_bodies, np.int64)
    qpos, dof = target.jnt_qposadr.astype(np.int64), target.jnt_dofadr.astype(np.int64)
    ids = Ids(
        body=body,
        body_root=target.body_rootid[body].astype(np.int64),
        scalar_q=qpos[scalar],
        scalar_v=dof[scalar],
        ball_q=qpos[ball],
        ball_v=dof[ball],
        free_body=free_body,
        free_q=qpos[free],
        free_v=dof[free],
    )
    properties = PropertyMap(
        layout=builder.layout,
        body=body,
        scalar_joint=scalar,
        scalar_dof=dof[scalar],
        ball_joint=ball,
        ball_dof=dof[ball],
        free_body=free_body,
        free_dof=dof[free],
        geom=_ids(builder.geoms),
        geom_shape=np.array(builder.geom_shapes, np.int64),
        actuator=_ids(builder.actuators),
        drive_inertia=np.ones(len(builder.actuators)),
        kinematic_armature=builder.kinematic_armature,
        mimic=_pairs(builder.mimics),
        loop=_pairs(builder.loops),
        native=_ids(builder.natives),
        tendon=_ids(builder.tendons),
    )
    return ids, properties
