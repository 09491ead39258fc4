"""Model to MjSpec: the structure of MuJoCo's model and everything that its compiler derives quantities from.

Numbers that the compiler only copies (gains, limits, friction, colours) are written afterwards, for all rows at once,
by ``properties``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from usd_sim.errors import UsdSimError
from usd_sim.geometry import transforms as tf
from usd_sim.geometry.types import GeoType
from usd_sim.model.types import JointTargetMode, JointType, ShapeFlags
from usd_sim.solvers.base import Unsupported, host, name_of
from usd_sim.solvers.mujoco.config import MuJoCoConfig
from usd_sim.solvers.mujoco.fields import ACTUATOR, TENDON
from usd_sim.solvers.mujoco.filtering import CollisionFilter
from usd_sim.solvers.mujoco.inertials import Inertials, typical_mass
from usd_sim.solvers.mujoco.layout import Layout
from usd_sim.solvers.mujoco.meshes import SLAB, cone_points, hull_points
from usd_sim.solvers.mujoco.natives import add_actuators, add_tendons, count, optional, wrapped_shapes

__all__ = ["SHAPE_TYPES", "SpecBuilder", "drive_actuators", "shape_is_built"]

_KINEMATIC_RATIO = 1.0e6
"""Inertia added to the freedoms of kinematic bodies, in mean masses of the others. Forces of a few weights change their
speed by some 1e-6 m/s within a frame; MuJoCo's constraint solver loses precision from about 1e8 on."""

_MEMORY_BASE = 32 << 20
_MEMORY_PER_BODY = 48 << 10
"""Arena [bytes]; a body in a stack holds about eight contacts of four rows, some 16 kB with all copies."""

_GEOMS = {
    GeoType.SPHERE: mujoco.mjtGeom.mjGEOM_SPHERE,
    GeoType.CAPSULE: mujoco.mjtGeom.mjGEOM_CAPSULE,
    GeoType.ELLIPSOID: mujoco.mjtGeom.mjGEOM_ELLIPSOID,
    GeoType.CYLINDER: mujoco.mjtGeom.mjGEOM_CYLINDER,
    GeoType.BOX: mujoco.mjtGeom.mjGEOM_BOX,
    GeoType.PLANE: mujoco.mjtGeom.mjGEOM_PLANE,
}
_MESHES = (GeoType.MESH, GeoType.CONVEX_MESH, GeoType.CONE)
_SITES = (GeoType.SPHERE, GeoType.CAPSULE, GeoType.CYLINDER, GeoType.BOX, GeoType.ELLIPSOID)

SHAPE_TYPES = frozenset([*_GEOMS, *_MESHES])

_SITE_SIZE = 0.01
_PLANE_SIZE = 5.0


def _wxyz(pose: NDArray[Any]) -> list[list[float]]:
    return np.asarray(pose, np.float64)[..., [6, 3, 4, 5]].tolist()


def shape_is_built(model: Any, config: MuJoCoConfig) -> NDArray[np.bool_]:
    """Return the shapes that MuJoCo gets ``(shape_count,)``.

    Colliders, sites, what tendons bend around, and all others on request.
    """
    flags, types = host(model, "shape_flags"), host(model, "shape_type")
    known = np.isin(types, [int(geo) for geo in SHAPE_TYPES])
    site = (flags & ShapeFlags.SITE) != 0
    wanted = ((flags & ShapeFlags.COLLIDE_SHAPES) != 0) | config.include_visuals
    wanted[wrapped_shapes(model)] = True
    return site | (known & wanted)


def drive_actuators(model: Any, layout: Layout) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the degree of freedom of each actuator ``(n,)``, and whether it follows a velocity rather than a position.

    A drive that follows both has two actuators.
    """
    mode = host(model, "joint_target_mode")
    driven = np.zeros(len(mode), bool)
    driven[layout.scalar_dofs] = True
    starts = host(model, "joint_qd_start")
    driven[(starts[layout.ball_joints][:, None] + np.arange(3)).reshape(-1)] = True
    position = driven & np.isin(mode, (JointTargetMode.POSITION, JointTargetMode.POSITION_VELOCITY))
    velocity = driven & np.isin(mode, (JointTargetMode.VELOCITY, JointTargetMode.POSITION_VELOCITY))
    dofs = np.concatenate([np.flatnonzero(position), np.flatnonzero(velocity)])
    return dofs, np.arange(len(dofs)) >= np.count_nonzero(position)


@dataclass
class SpecBuilder:
    """Builds an MjSpec from a model.

    After :meth:`build`, the lists hold the spec's elements in the order of the model's rows, so that their ids can be
    read once compiled.

    Attributes:
        model: The model.
        layout: Its tree.
        inertials: Its masses.
        collision: Its masks and excludes.
        config: Settings.
        spec: The result.
        bodies: Element of each body.
        scalars: Element of each of ``layout.scalar_dofs``.
        balls: Element of each of ``layout.ball_joints``.
        frees: Element of each free body, with ``free_bodies``.
        geoms: Element of each shape in ``geom_shapes``.
        actuators: Element of each of :func:`drive_actuators`.
        natives: Element of each actuator of the ``mujoco`` namespace.
        tendons: Element of each tendon.
        loops: Element and joint of each equality that closes a loop.
        mimics: Element and joint of each mimic.
        prims: Prim path or label of each named element.
        unsupported: What could not be expressed as it is.
        slabs: Shapes whose flat meshes are given a thickness.
    """

    model: Any
    layout: Layout
    inertials: Inertials
    collision: CollisionFilter
    config: MuJoCoConfig
    spec: Any = field(default_factory=mujoco.MjSpec)
    bodies: list[Any] = field(default_factory=list)
    scalars: list[Any] = field(default_factory=list)
    balls: list[Any] = field(default_factory=list)
    frees: list[Any] = field(default_factory=list)
    free_bodies: list[int] = field(default_factory=list)
    geoms: list[Any] = field(default_factory=list)
    geom_shapes: list[int] = field(default_factory=list)
    actuators: list[Any] = field(default_factory=list)
    natives: list[Any] = field(default_factory=list)
    tendons: list[Any] = field(default_factory=list)
    loops: list[tuple[Any, int]] = field(default_factory=list)
    mimics: list[tuple[Any, int]] = field(default_factory=list)
    shape_names: dict[int, str] = field(default_factory=dict)
    prims: dict[str, str] = field(default_factory=dict)
    unsupported: list[Unsupported] = field(default_factory=list)
    slabs: list[str] = field(default_factory=list)

    def build(self) -> Any:
        """Fill and return the spec.

        Raises:
            UsdSimError: A shape or body cannot be expressed.
        """
        self._settings()
        self._add_bodies()
        self._add_joints()
        self._add_shapes()
        self._add_excludes()
        self._add_actuators()
        self._add_loops()
        self._add_mimics()
        self._add_natives()
        return self.spec

    @property
    def kinematic_armature(self) -> float:
        """Inertia added to the freedoms of kinematic bodies."""
        return _KINEMATIC_RATIO * typical_mass(self.inertials.mass, self.layout)

    # --- names ------------------------------------------------------------------------------------------------------

    def _name(self, kind: str, frequency: str, row: int, suffix: str = "") -> str:
        """Return a name that no other element of the kind has, and remember what it stands for."""
        prim = name_of(self.model, frequency, row)
        wanted = name = f"{prim}{suffix}"
        copies = 0
        while f"{kind}:{name}" in self.prims or name == "world":
            copies += 1
            name = f"{wanted}#{row}" if copies == 1 else f"{wanted}#{row}.{copies}"
        self.prims[f"{kind}:{name}"] = prim
        return name

    # --- settings ---------------------------------------------------------------------------------------------------

    def _settings(self) -> None:
        spec, model = self.spec, self.model
        spec.modelname = "usd-sim"
        compiler = spec.compiler
        compiler.degree = False
        compiler.autolimits = False
        compiler.alignfree = 0
        compiler.fusestatic = 0
        compiler.balanceinertia = 0
        compiler.inertiafromgeom = int(mujoco.mjtInertiaFromGeom.mjINERTIAFROMGEOM_FALSE)
        self.config.write_options(spec.option)
        spec.option.gravity = host(model, "gravity")[0].tolist()
        moving = model.body_count - int(np.count_nonzero(self.layout.is_static))
        size = _MEMORY_BASE + _MEMORY_PER_BODY * moving
        spec.memory = size if self.config.memory_mb is None else self.config.memory_mb << 20

    # --- bodies -----------------------------------------------------------------------------------------------------

    def _add_bodies(self) -> None:
        layout, masses = self.layout, self.inertials
        pos, quat = layout.body_pose[:, :3].tolist(), _wxyz(layout.body_pose)
        mass, com, moments = masses.mass.tolist(), masses.com.tolist(), masses.moments.tolist()
        principal = masses.rotation[:, [3, 0, 1, 2]].tolist()
        parents = layout.parent.tolist()
        held_up = optional(self.model, "mujoco:gravcomp")
        self.bodies = [None] * len(parents)
        world = self.spec.worldbody
        for row in layout.order.tolist():
            above = world if parents[row] < 0 else self.bodies[parents[row]]
            self.bodies[row] = above.add_body(
                name=self._name("body", "body", row),
                pos=pos[row],
                quat=quat[row],
                mass=mass[row],
                ipos=com[row],
                iquat=principal[row],
                inertia=moments[row],
                explicitinertial=True,
            )
            if held_up is not None:
                self.bodies[row].gravcomp = float(held_up[row])

    # --- joints -----------------------------------------------------------------------------------------------------

    def _add_joints(self) -> None:
        model, layout = self.model, self.layout
        armature = host(model, "joint_armature").tolist()
        starts = host(model, "joint_qd_start").tolist()
        prescribed = self.kinematic_armature
        kinematic = layout.is_kinematic.tolist()
        holder = layout.holder.tolist()
        for row in np.flatnonzero(layout.is_free).tolist():
            joint = self.bodies[row].add_freejoint()
            joint.name = (
                self._name("joint", "body", row) if holder[row] < 0 else self._name("joint", "joint", holder[row])
            )
            added = armature[starts[holder[row]]] if holder[row] >= 0 else 0.0
            joint.armature = prescribed if kinematic[row] else added
            self.frees.append(joint)
            self.free_bodies.append(row)
        self._add_scalars(armature, kinematic, holder)
        child = host(model, "joint_child").tolist()
        anchors = host(model, "joint_X_c")[:, :3].tolist()
        for row in layout.ball_joints.tolist():
            body = child[row]
            joint = self.bodies[body].add_joint(
                name=self._name("joint", "joint", row),
                type=mujoco.mjtJoint.mjJNT_BALL,
                pos=anchors[row],
                armature=prescribed if kinematic[body] else armature[starts[row]],
                damping=[0.0, 0.0, 0.0],
            )
            self.balls.append(joint)

    def _add_scalars(self, armature: list[float], kinematic: list[bool], holder: list[int]) -> None:
        layout, model = self.layout, self.model
        axis, anchor = scalar_frames(model, layout)
        axes, anchors = axis.tolist(), anchor.tolist()
        sizes = host(model, "joint_dof_dim").reshape(-1, 2).sum(axis=1).tolist()
        names = model.joint_dof_name
        linear = layout.scalar_is_linear.tolist()
        prescribed = self.kinematic_armature
        rest = host(model, "joint_rest_q").astype(np.float64)[layout.scalar_coords]
        ref, fitted, helped = (
            optional(model, f"mujoco:{name}") for name in ("ref", "springdamper", "actuatorgravcomp")
        )
        for i, (dof, body) in enumerate(zip(layout.scalar_dofs.tolist(), layout.scalar_bodies.tolist(), strict=True)):
            suffix = ""
            if sizes[holder[body]] > 1:
                suffix = f"_{names[dof] or ('lin' if linear[i] else 'ang')}"
            joint = self.bodies[body].add_joint(
                name=self._name("joint", "joint", holder[body], suffix),
                type=mujoco.mjtJoint.mjJNT_SLIDE if linear[i] else mujoco.mjtJoint.mjJNT_HINGE,
                pos=anchors[i],
                axis=axes[i],
                armature=prescribed if kinematic[body] else armature[dof],
            )
            joint.ref = 0.0 if ref is None else float(ref[dof])
            joint.springref = rest[i] + joint.ref
            if fitted is not None:
                joint.springdamper = fitted[dof].astype(np.float64)
            if helped is not None:
                joint.actgravcomp = int(helped[dof])
            self.scalars.append(joint)

    # --- shapes -----------------------------------------------------------------------------------------------------

    def _add_shapes(self) -> None:
        model = self.model
        shapes = np.flatnonzero(shape_is_built(model, self.config))
        if len(shapes) == 0:
            return
        flags = host(model, "shape_flags").tolist()
        body = host(model, "shape_body").tolist()
        types = host(model, "shape_type").tolist()
        scale = host(model, "shape_scale").astype(np.float64)
        transform = host(model, "shape_transform").astype(np.float64)
        pos, quat = transform[:, :3].tolist(), _wxyz(transform)
        contype, conaffinity = self.collision.contype.tolist(), self.collision.conaffinity.tolist()
        margin = host(model, "shape_margin").tolist()
        gap = np.maximum(host(model, "shape_gap"), 0.0).tolist()
        sizes = scale.tolist()
        static = [*self.layout.is_static.tolist(), True]
        assets: dict[tuple[Any, ...], str] = {}
        for row in shapes.tolist():
            owner = self.spec.worldbody if body[row] < 0 else self.bodies[body[row]]
            name = self.shape_names[row] = self._name("geom", "shape", row)
            if flags[row] & ShapeFlags.SITE:
                self._add_site(owner, name, types[row], sizes[row], pos[row], quat[row])
                continue
            values: dict[str, Any] = {
                "name": name,
                "pos": pos[row],
                "quat": quat[row],
                "contype": contype[row],
                "conaffinity": conaffinity[row],
                "mass": 0.0,
            }
            if margin[row] or gap[row]:
                values.update(margin=margin[row], gap=gap[row])
            if types[row] in _MESHES:
                values.update(type=mujoco.mjtGeom.mjGEOM_MESH, meshname=self._mesh(row, types[row], scale[row], assets))
            else:
                if types[row] == GeoType.PLANE:
                    self._check_plane(row, static[body[row]])
                values.update(type=_GEOMS[GeoType(types[row])], size=_size(types[row], sizes[row]))
            self.geoms.append(owner.add_geom(**values))
            self.geom_shapes.append(row)
        if self.slabs:
            message = f"collide as slabs below the side they face, {SLAB:.0%} of their size thick"
            self.unsupported.append(Unsupported("flat meshes", len(self.slabs), message, tuple(self.slabs[:3])))

    def _add_site(
        self, owner: Any, name: str, kind: int, size: list[float], pos: list[float], quat: list[float]
    ) -> None:
        values: dict[str, Any] = {"name": name, "pos": pos, "quat": quat}
        if kind in _SITES and size[0] > 0:
            values.update(type=_GEOMS[GeoType(kind)], size=size)
        else:
            values.update(size=[_SITE_SIZE] * 3)
        owner.add_site(**values)

    def _check_plane(self, row: int, static: bool) -> None:
        if not static:
            raise UsdSimError(
                "a plane collider cannot be on a body that moves",
                prim=name_of(self.model, "shape", row),
                remedy="move it out of the rigid body, or use a thin box",
            )

    def _mesh(self, row: int, kind: int, scale: NDArray[np.float64], assets: dict[tuple[Any, ...], str]) -> str:
        """Return the name of the mesh asset of a shape, shared by shapes of the same source and scale."""
        source = self.model.shape_source[row]
        stated = optional(self.model, "mujoco:mesh_inertia")
        way = -1 if stated is None or kind == GeoType.CONE else int(stated[row])
        key = (kind == GeoType.CONE, None if kind == GeoType.CONE else id(source), way, *scale.tolist())
        if key in assets:
            return assets[key]
        shape = name_of(self.model, "shape", row)
        points = cone_points(*scale[:2]) if kind == GeoType.CONE else hull_points(source, scale, shape)
        if kind != GeoType.CONE and len(points) > len(source.vertices):
            self.slabs.append(shape)
        name = self._name("mesh", "shape", row)
        limit = int(getattr(source, "max_hull_vertices", None) or -1)
        # points alone: MuJoCo collides with their hull, and the orientation of faces cannot be wrong
        mesh = self.spec.add_mesh(name=name, uservert=points.ravel())
        mesh.maxhullvert = limit if limit > 3 else -1
        mesh.inertia = mujoco.mjtMeshInertia.mjMESH_INERTIA_CONVEX
        if way >= 0 and len(points) == len(source.vertices):
            # MuJoCo's collision depends a little on the frame that it gives to a mesh
            mesh.userface = np.asarray(source.indices, np.int32).ravel()
            mesh.inertia = _MESH_INERTIA[way]
        assets[key] = name
        return name

    def _add_excludes(self) -> None:
        names = [body.name for body in self.bodies] + ["world"]
        for a, b in self.collision.excludes.tolist():
            self.spec.add_exclude(bodyname1=names[a], bodyname2=names[b])

    # --- drives -----------------------------------------------------------------------------------------------------

    def _add_actuators(self) -> None:
        dofs, is_velocity = drive_actuators(self.model, self.layout)
        if len(dofs) == 0:
            return
        joint_of = dict(zip(self.layout.scalar_dofs.tolist(), self.scalars, strict=True))
        gears = self._ball_gears(joint_of)
        for dof, velocity in zip(dofs.tolist(), is_velocity.tolist(), strict=True):
            joint = joint_of[dof]
            actuator = self.spec.add_actuator(
                name=f"{joint.name}{'_velocity' if velocity else '_position'}{dof if dof in gears else ''}",
                trntype=mujoco.mjtTrn.mjTRN_JOINT,
                target=joint.name,
                gear=gears.get(dof, _UNIT_GEAR),
                gaintype=mujoco.mjtGain.mjGAIN_FIXED,
                biastype=mujoco.mjtBias.mjBIAS_AFFINE,
                ctrllimited=0,
                forcelimited=0,
            )
            self.actuators.append(actuator)

    def _ball_gears(self, joint_of: dict[int, Any]) -> dict[int, list[float]]:
        """Return gears that turn about the axes of ball joints, and add the balls' freedoms to ``joint_of``."""
        gears: dict[int, list[float]] = {}
        starts, rotation = host(self.model, "joint_qd_start"), host(self.model, "joint_X_c")[:, 3:]
        axes = host(self.model, "joint_axis")
        for joint, row in zip(self.balls, self.layout.ball_joints.tolist(), strict=True):
            for dof in range(starts[row], starts[row] + 3):
                joint_of[dof] = joint
                gears[dof] = [*tf.quat_rotate(rotation[row], axes[dof]).tolist(), 0.0, 0.0, 0.0]
        return gears

    # --- loops ------------------------------------------------------------------------------------------------------

    def _add_loops(self) -> None:
        if len(self.layout.loops) == 0:
            return
        types = host(self.model, "joint_type")
        dims = host(self.model, "joint_dof_dim")
        left_open = []
        for row in self.layout.loops.tolist():
            free = tuple(dims[row].tolist())
            if types[row] == JointType.FIXED or (types[row] == JointType.D6 and free == (0, 0)):
                self._equality(row, "weld", np.zeros(3))
            elif types[row] == JointType.BALL or (types[row] == JointType.D6 and free == (0, 3)):
                self._equality(row, "connect", np.zeros(3))
            elif types[row] == JointType.REVOLUTE or (types[row] == JointType.D6 and free == (0, 1)):
                dof = int(host(self.model, "joint_qd_start")[row])
                arm = host(self.model, "joint_axis")[dof].astype(np.float64) * self._lever(row)
                self._equality(row, "connect", -arm, "_a")
                self._equality(row, "connect", arm, "_b")
            else:
                left_open.append(row)
        d6 = [row for row in left_open if types[row] == JointType.D6]
        if d6:
            names = tuple(name_of(self.model, "joint", row) for row in d6[:3])
            self.unsupported.append(Unsupported("D6 joints that close loops", len(d6), "the loop stays open", names))

    def _lever(self, row: int) -> float:
        """Return half the distance of the two points that hold a hinge: the radius of gyration of the child."""
        child = int(host(self.model, "joint_child")[row])
        mass, moments = self.inertials.mass[child], self.inertials.moments[child]
        return float(np.clip(np.sqrt(0.5 * moments.sum() / mass), 1e-3, 10.0)) if mass > 0 else 0.1

    def _equality(self, row: int, kind: str, offset: NDArray[np.float64], suffix: str = "") -> None:
        """Tie two frames together: those of the joint, moved by an offset in the joint frame."""
        sites = []
        for side in ("parent", "child"):
            body = int(host(self.model, f"joint_{side}")[row])
            frame = host(self.model, f"joint_X_{side[0]}")[row].astype(np.float64)
            owner = self.spec.worldbody if body < 0 else self.bodies[body]
            name = self._name("geom", "joint", row, f"{suffix}_{side}")
            pos, quat = tf.transform_point(frame, offset).tolist(), _wxyz(frame[None])[0]
            owner.add_site(name=name, pos=pos, quat=quat, size=[_SITE_SIZE] * 3)
            sites.append(name)
        equality = self.spec.add_equality(
            name=self._name("equality", "joint", row, suffix),
            type=mujoco.mjtEq.mjEQ_WELD if kind == "weld" else mujoco.mjtEq.mjEQ_CONNECT,
            objtype=mujoco.mjtObj.mjOBJ_SITE,
            name1=sites[0],
            name2=sites[1],
        )
        self.loops.append((equality, row))

    # --- mimic ------------------------------------------------------------------------------------------------------

    def _add_mimics(self) -> None:
        leader = host(self.model, "joint_mimic_joint")
        followers = np.flatnonzero((leader >= 0) & host(self.model, "joint_enabled").astype(bool))
        if len(followers) == 0:
            return
        joint_of = dict(zip(self.layout.scalar_dofs.tolist(), self.scalars, strict=True))
        starts = host(self.model, "joint_qd_start")
        coeffs = host(self.model, "joint_mimic_coeffs")
        lost = []
        for row in followers.tolist():
            own = range(starts[row], starts[row + 1])
            others = range(starts[leader[row]], starts[leader[row] + 1])
            if len(own) == 0 or len(own) != len(others) or any(dof not in joint_of for dof in (*own, *others)):
                lost.append(row)
                continue
            for dof, other in zip(own, others, strict=True):
                equality = self.spec.add_equality(
                    name=self._name("equality", "joint", row, f"_mimic{dof - own[0] if len(own) > 1 else ''}"),
                    type=mujoco.mjtEq.mjEQ_JOINT,
                    objtype=mujoco.mjtObj.mjOBJ_JOINT,
                    name1=joint_of[dof].name,
                    name2=joint_of[other].name,
                )
                equality.data[:] = 0.0
                equality.data[:2] = coeffs[row]
                self.mimics.append((equality, row))
        if lost:
            names = tuple(name_of(self.model, "joint", row) for row in lost[:3])
            message = "only hinges and sliders of equal freedoms can follow one another"
            self.unsupported.append(Unsupported("mimic", len(lost), message, names))

    # --- the mujoco namespace ---------------------------------------------------------------------------------------

    def _add_natives(self) -> None:
        """Add tendons and actuators, which refer to what is there by name."""
        model, layout = self.model, self.layout
        names: dict[str, dict[int, str]] = {
            "dof": dict(zip(layout.scalar_dofs.tolist(), (joint.name for joint in self.scalars), strict=True)),
            "shape": self.shape_names,
            "body": {row: body.name for row, body in enumerate(self.bodies)},
            "joint": dict(zip(layout.ball_joints.tolist(), (joint.name for joint in self.balls), strict=True)),
        }
        holder = layout.holder[self.free_bodies].tolist()
        names["joint"] |= {row: joint.name for row, joint in zip(holder, self.frees, strict=True) if row >= 0}
        for kind, frequency in (("tendon", TENDON), ("actuator", ACTUATOR)):
            names[kind] = {row: self._name(kind, frequency, row) for row in range(count(model, frequency))}
        self.tendons = add_tendons(self.spec, model, names)
        self.natives = add_actuators(self.spec, model, names)


_MESH_INERTIA = (
    mujoco.mjtMeshInertia.mjMESH_INERTIA_CONVEX,
    mujoco.mjtMeshInertia.mjMESH_INERTIA_EXACT,
    mujoco.mjtMeshInertia.mjMESH_INERTIA_LEGACY,
    mujoco.mjtMeshInertia.mjMESH_INERTIA_SHELL,
)

_UNIT_GEAR = [1.0, 0.0, 0.0, 0.0, 0.0, 0.0]


def scalar_frames(model: Any, layout: Layout) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return axis and anchor of each scalar freedom in its body's frame, ``(n, 3)`` each.

    At coordinates 0 the joint frames coincide, so both follow from the joint frame in the child. MuJoCo applies the
    freedoms of a body in order, each carried along by those before it.
    """
    frames = host(model, "joint_X_c")[layout.holder[layout.scalar_bodies]].astype(np.float64)
    dofs = layout.scalar_dofs
    axis = tf.quat_rotate(frames[:, 3:], host(model, "joint_axis")[dofs])
    return axis, tf.transform_point(frames, host(model, "joint_dof_anchor")[dofs])


def _size(kind: int, scale: list[float]) -> list[float]:
    if kind == GeoType.PLANE:
        return [0.5 * scale[0] or _PLANE_SIZE, 0.5 * scale[1] or _PLANE_SIZE, _PLANE_SIZE]
    return scale
