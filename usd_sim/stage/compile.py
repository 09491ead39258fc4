"""From a stage to rows of a ModelBuilder: whole columns per family of prims."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from pxr import Usd, UsdPhysics

from usd_sim.geometry import transforms as tf
from usd_sim.model.builder import ModelBuilder
from usd_sim.model.configs import target_mode
from usd_sim.model.fields import FIELDS, Frequency, field_table
from usd_sim.model.finalize import coordinate_counts
from usd_sim.model.types import BodyFlags, JointType, ShapeFlags, joint_dimensions
from usd_sim.stage.coordinates import apply_joint_states, ignore_joint_states, initial_coordinates, initial_velocities
from usd_sim.stage.keyframes import apply_keyframe
from usd_sim.stage.motion import TransformTimes
from usd_sim.stage.read.bodies import BodySpecs, read_bodies
from usd_sim.stage.read.copies import InstancedScan, instanced_scan
from usd_sim.stage.read.filtering import read_filters
from usd_sim.stage.read.joints import DOF_FIELDS, JointSpec, read_joints
from usd_sim.stage.read.mass import MassSpecs, read_mass
from usd_sim.stage.read.materials import MaterialSpecs, material_density, read_materials
from usd_sim.stage.read.motion import find_followed, read_motion
from usd_sim.stage.read.mujoco_rows import append_mujoco
from usd_sim.stage.read.parts import split_parts
from usd_sim.stage.read.physx import body_fields
from usd_sim.stage.read.scan import Scan, scan
from usd_sim.stage.read.scene import SceneSpec, read_scene
from usd_sim.stage.read.scenes import SceneRows, assign_scenes, leave_out_others
from usd_sim.stage.read.shapes import ShapeSpecs, read_shapes
from usd_sim.stage.report import Report
from usd_sim.stage.tile import NotScaling, tile
from usd_sim.stage.topology import Forest, build_forest, merge_stacked

__all__ = ["compile_stage"]


@np.errstate(invalid="ignore", over="ignore", divide="ignore")  # numbers that are none are reported by their prim
def compile_stage(
    stage: Usd.Stage,
    builder: ModelBuilder,
    *,
    time: float | None = None,
    scene: str | None = None,
    keyframe: str | None = None,
    dialects: Sequence[str] | None = None,
) -> tuple[SceneSpec, Report]:
    """Append everything that a stage holds to a builder.

    Args:
        stage: The stage.
        builder: Where the rows go; its gravity and up axis are set from the stage.
        time: Time code that values and poses are read at; the stage's start if not given.
        scene: The only scene to simulate; all of them if not given.
        keyframe: The MjcKeyframe to start from; the poses of the stage if not given.
        dialects: Families of properties to read, see :func:`usd_sim.stage.load.load`.

    Returns:
        What the stage says about the simulation, and what became of every property.
    """
    found = instanced_scan(scan(stage, time=time, dialects=dialects))
    if not isinstance(found, InstancedScan):
        spec = _compile(found, stage, builder, scene, keyframe)
        found.settle()
        return spec, found.report
    template = ModelBuilder()
    spec = _compile(found, stage, template, scene, keyframe)
    try:
        own = tile(builder, template, found)
    except NotScaling as error:
        found = instanced_scan(scan(stage, time=time, dialects=dialects), size_by_size=error.roots)
        assert isinstance(found, InstancedScan)
        template = ModelBuilder()
        spec = _compile(found, stage, template, scene, keyframe)
        own = tile(builder, template, found)
    builder.gravity_vector = spec.gravity
    _renumber(spec, own)
    found.tidy_report()
    found.settle()
    return spec, found.report


def _compile(
    found: Scan, stage: Usd.Stage, builder: ModelBuilder, picked: str | None, keyframe: str | None
) -> SceneSpec:
    """Append everything that was found on a stage to a builder, and return what it says about the simulation."""
    scene = read_scene(found, picked)
    if picked is not None and scene.others:
        leave_out_others(found, scene)
    bodies = read_bodies(found)
    shapes = read_shapes(found, bodies)
    times = TransformTimes(stage)
    joints = find_followed(found, bodies, shapes, read_joints(found, bodies), times)
    scenes = SceneRows()
    if picked is None:
        scenes, joints = assign_scenes(found, scene, bodies, shapes, joints)
    mass = read_mass(found, bodies, shapes, material_density(found, shapes.material))
    shapes, whole = split_parts(shapes)
    mass.shape_density = mass.shape_density[whole]
    scenes.shape = {name: rows[whole] for name, rows in scenes.shape.items()}
    materials = read_materials(found, shapes.material)
    mass.mass[bodies.promoted], mass.inertia[bodies.promoted], mass.com[bodies.promoted] = 0.0, 0.0, 0.0
    articulations = _Articulations(found, bodies)
    joints = merge_stacked(found, joints, articulations.adding_mobility)
    forest = build_forest(found, bodies, joints, articulations.root_rows)
    filters = read_filters(found, bodies, shapes, joints, articulations.without_self_collision(forest))

    builder.gravity_vector = scene.gravity
    first = {frequency: builder.columns.count(frequency) for frequency in builder.columns.table.frequencies}
    first_body = _append_bodies(builder, found, bodies, mass, scenes)
    first_shape = _append_shapes(builder, first_body, shapes, materials, mass, filters, scenes)
    _append_joints(builder, first_body, found, bodies, mass, forest, articulations)
    append_mujoco(builder, found, bodies, first)
    if keyframe is not None:
        apply_keyframe(builder, found, keyframe)
    _report_massless(found, bodies, mass, forest)
    scene.motion = read_motion(found, bodies, mass.com, mass.mass, first_body, builder, times)
    rows, _, velocity = scene.motion.sample(0.0)
    builder.body_qd[rows] = velocity
    if len(filters.pairs):
        builder.append(
            Frequency.SHAPE_PAIR, len(filters.pairs), shape_collision_filter_pairs=filters.pairs + first_shape
        )
    return scene


def _renumber(scene: SceneSpec, own: dict[str, np.ndarray]) -> None:
    """Let what the scene says about rows speak of their new numbers."""
    motion = scene.motion
    if len(motion.rows):
        motion.rows = own[Frequency.BODY][motion.rows]
    motion.switches = [replace(switch, row=int(own[Frequency.BODY][switch.row])) for switch in motion.switches]
    if motion.targets is not None:
        motion.targets.position_dofs = own[Frequency.JOINT_DOF][motion.targets.position_dofs]
        motion.targets.velocity_dofs = own[Frequency.JOINT_DOF][motion.targets.velocity_dofs]


# --- articulations --------------------------------------------------------------------------------------------------


class _Articulations:
    """What the articulation roots of a stage say."""

    def __init__(self, found: Scan, bodies: BodySpecs):
        self.found, self.bodies = found, bodies
        self.root_of_body: dict[int, str] = {}
        self.root_rows: list[int] = []
        # MuJoCo's joints add freedom to a body, one after another, wherever they stand
        self.adding_mobility = {path for path in found.schemas if found.has(path, "MjcJointAPI")}
        for path, item in found.found(UsdPhysics.ObjectType.Articulation):
            if not found.value(path, "physxArticulation:articulationEnabled", True):
                continue  # its joints act as any others do
            for body in item.articulatedBodies:
                row = bodies.row.get(str(body))
                if row is not None:
                    self.root_of_body[row] = path
            if path in bodies.row:
                self.root_rows.append(bodies.row[path])
            if found.value(path, "newton:jointsAddMobility", False):
                self.adding_mobility.update(str(joint) for joint in item.articulatedJoints)

    def label(self, rows: list[int]) -> str:
        """Return the articulation root of the first of some bodies that has one, or ""."""
        return next((self.root_of_body[row] for row in rows if row in self.root_of_body), "")

    def without_self_collision(self, forest: Forest) -> list[list[int]]:
        """Return the bodies of each articulation whose links do not collide with each other."""
        members: dict[str, list[int]] = {}
        for row, path in self.root_of_body.items():
            members.setdefault(path, []).append(row)
        return [rows for path, rows in members.items() if not self._self_collision(path)]

    def _self_collision(self, path: str) -> bool:
        names = ("newton:selfCollisionEnabled", "physxArticulation:enabledSelfCollisions")
        return bool(self.found.value(path, self.found.first(path, names), True))


# --- rows -----------------------------------------------------------------------------------------------------------


def _append_bodies(builder: ModelBuilder, found: Scan, bodies: BodySpecs, mass: MassSpecs, scenes: SceneRows) -> int:
    flags = np.where(bodies.kinematic, int(BodyFlags.KINEMATIC), 0)
    flags[bodies.promoted] |= int(BodyFlags.PROMOTED)
    return builder.append(
        Frequency.BODY,
        len(bodies.paths),
        body_label=bodies.paths,
        body_path=bodies.paths,
        body_q=bodies.pose,
        body_qd=bodies.velocity,
        body_flags=flags,
        body_mass=mass.mass,
        body_com=mass.com,
        body_inertia=mass.inertia,
        body_lock_inertia=True,
        **_gravity_compensation(found, bodies),
        **(scenes.body | body_fields(found, bodies.paths, builder.gravity_vector, scenes.body.get("body_gravity"))),
    )


def _gravity_compensation(found: Scan, bodies: BodySpecs) -> dict[str, np.ndarray]:
    fraction = found.column(bodies.paths, "mjc:body:gravcomp", 0.0)
    return {"mujoco:gravcomp": fraction} if fraction.any() else {}


def _append_shapes(
    builder: ModelBuilder,
    first_body: int,
    shapes: ShapeSpecs,
    materials: MaterialSpecs,
    mass: MassSpecs,
    filters: Any,
    scenes: SceneRows,
) -> int:
    flags = np.where(
        shapes.enabled, int(ShapeFlags.VISIBLE | ShapeFlags.COLLIDE_SHAPES | ShapeFlags.COLLIDE_PARTICLES), 1
    )
    return builder.append(
        Frequency.SHAPE,
        len(shapes.paths),
        shape_label=shapes.labels or shapes.paths,
        shape_path=shapes.paths,
        shape_material_path=shapes.material,
        shape_body=np.where(shapes.body >= 0, shapes.body + first_body, -1),
        shape_type=shapes.kind,
        shape_transform=shapes.pose,
        shape_scale=shapes.scale,
        shape_source=shapes.source,
        shape_flags=flags,
        shape_is_solid=shapes.solid,
        shape_thickness=shapes.thickness,
        shape_density=mass.shape_density,
        shape_margin=shapes.margin,
        shape_gap=shapes.gap,
        shape_filter_class=filters.filter_class,
        shape_filter_mask=filters.filter_mask,
        **materials.fields,
        **shapes.extra,
        **scenes.shape,
    )


def _append_joints(
    builder: ModelBuilder,
    first_body: int,
    found: Scan,
    bodies: BodySpecs,
    mass: MassSpecs,
    forest: Forest,
    articulations: _Articulations,
) -> None:
    """Append trees first, then free bodies, then loop joints; articulations are consecutive."""
    first_joint, first_articulation = builder.joint_count, builder.articulation_count
    rows: list[JointSpec] = []
    owner: list[int] = []
    labels: list[str] = []
    for index, tree in enumerate(forest.trees):
        joints = [_free_joint(bodies, tree.root), *tree.joints] if tree.free else tree.joints
        rows += joints
        owner += [first_articulation + index] * len(joints)
        labels.append(articulations.label([joint.child for joint in joints]) or bodies.paths[tree.root])
    single = forest.singles
    labels += [bodies.paths[row] for row in single]
    builder.append(Frequency.ARTICULATION, len(labels), articulation_label=labels, articulation_path=labels)
    com = mass.com
    positions, velocities = initial_coordinates(found, bodies, rows), initial_velocities(bodies, com, rows)
    apply_joint_states(found, rows, positions, velocities)
    _append_specs(builder, first_body, rows, owner, positions, velocities)
    _append_free(builder, first_body, bodies, single, first_articulation + len(forest.trees))
    loops = forest.loops
    ignore_joint_states(found, loops)
    _append_specs(
        builder,
        first_body,
        loops,
        [-1] * len(loops),
        initial_coordinates(found, bodies, loops),
        initial_velocities(bodies, com, loops),
    )
    _link_mimics(builder, found, first_joint, [*rows, *loops], len(rows), len(single))


def _free_joint(bodies: BodySpecs, row: int) -> JointSpec:
    identity = tf.identity_transform(1)[0]
    return JointSpec("", JointType.FREE, -1, row, identity, identity, [], excluded=False, collision=True)


def _append_free(
    builder: ModelBuilder, first_body: int, bodies: BodySpecs, rows: np.ndarray, first_articulation: int
) -> None:
    count = len(rows)
    if count == 0:
        return
    builder.append(
        Frequency.JOINT,
        count,
        joint_type=int(JointType.FREE),
        joint_child=first_body + rows,
        joint_dof_dim=(3, 3),
        joint_articulation=first_articulation + np.arange(count),
        joint_label=[f"{bodies.paths[row]} (free)" for row in rows],
    )
    builder.append(Frequency.JOINT_COORD, 7 * count, joint_q=bodies.pose[rows].ravel())
    builder.append(
        Frequency.JOINT_DOF,
        6 * count,
        joint_qd=bodies.velocity[rows].ravel(),
        joint_axis=np.tile(np.eye(3), (2 * count, 1)),
    )


def _append_specs(
    builder: ModelBuilder,
    first_body: int,
    joints: list[JointSpec],
    owner: list[int],
    coordinates: list[np.ndarray],
    velocities: list[np.ndarray],
) -> None:
    if not joints:
        return
    kinds = np.array([int(joint.kind) for joint in joints])
    dims = np.array([joint_dimensions(joint.kind, *_split_count(joint))[2:] for joint in joints], dtype=int).reshape(
        -1, 2
    )
    ends = np.array([[joint.parent, joint.child] for joint in joints])
    ends = np.where(ends >= 0, ends + first_body, -1)
    builder.append(
        Frequency.JOINT,
        len(joints),
        joint_type=kinds,
        joint_parent=ends[:, 0],
        joint_child=ends[:, 1],
        joint_X_p=np.array([joint.X_p for joint in joints]),
        joint_X_c=np.array([joint.X_c for joint in joints]),
        joint_dof_dim=dims,
        joint_articulation=owner,
        joint_label=[
            joint.path or f"{builder.body_path[end]} (free)" for joint, end in zip(joints, ends[:, 1], strict=True)
        ],
        joint_path=[joint.path for joint in joints],
        **_stated_columns([(row, joint.extra) for row, joint in enumerate(joints)], len(joints)),
    )
    q, sizes = np.concatenate(coordinates), coordinate_counts(kinds, dims)
    assert len(q) == sizes.sum()
    builder.append(Frequency.JOINT_COORD, len(q), joint_q=q, **_rest_coordinates(joints, sizes))
    builder.append(
        Frequency.JOINT_DOF, int(dims.sum()), joint_qd=np.concatenate(velocities), **_dof_columns(joints, dims)
    )


def _split_count(joint: JointSpec) -> tuple[int, int]:
    angular = sum(dof.angular for dof in joint.dofs)
    return len(joint.dofs) - angular, angular


def _dof_columns(joints: list[JointSpec], dims: np.ndarray) -> dict[str, Any]:
    """Return the columns of the freedoms; those of balls and free joints keep the fallbacks."""
    count, starts = int(dims.sum()), np.concatenate([[0], np.cumsum(dims.sum(axis=1))])
    stated = [
        (start + i, dof) for start, joint in zip(starts, joints, strict=False) for i, dof in enumerate(joint.dofs)
    ]
    turning = [(start, joint.shared) for start, joint in zip(starts, joints, strict=False) if joint.shared]
    balls = [(start + i, shared) for start, shared in turning for i in range(3)]
    axis = np.tile(np.eye(3), (count // 3 + 1, 1))[:count]
    bare = [
        (start, size) for start, size, joint in zip(starts, dims.sum(axis=1), joints, strict=False) if not joint.dofs
    ]
    for start, size in bare:
        axis[start : start + size] = np.tile(np.eye(3), (2, 1))[:size]
    columns: dict[str, Any] = {"joint_axis": axis}
    bounded = [(start, j.distance) for start, j in zip(starts, joints, strict=False) if j.kind == JointType.DISTANCE]
    if not stated and not bounded and not balls:
        return columns
    rows = np.array([row for row, _ in stated], dtype=int)
    axis[rows] = np.array([dof.axis for _, dof in stated]).reshape(-1, 3)
    values = np.array([dof.values for _, dof in stated]).reshape(-1, len(DOF_FIELDS))
    anchors = np.array([dof.anchor for _, dof in stated]).reshape(-1, 3)
    stated += balls
    rows = np.array([row for row, _ in stated], dtype=int)
    values = np.concatenate([values, np.array([dof.values for _, dof in balls]).reshape(-1, len(DOF_FIELDS))])
    anchors = np.concatenate([anchors, np.zeros((len(balls), 3))])
    for name, column in zip(DOF_FIELDS, values.T, strict=True):
        full = np.full(count, FIELDS[name].default, dtype=float)
        full[rows] = column
        columns[name] = full
    columns.update(_stated_columns([(row, dof.extra) for row, dof in stated], count))
    for start, (least, largest) in bounded:
        columns["joint_limit_lower"][start], columns["joint_limit_upper"][start] = least, largest
    columns["joint_target_mode"] = target_mode(
        columns["joint_target_ke"], columns["joint_target_kd"], columns["joint_target_qd"]
    )
    columns["joint_dof_path"], columns["joint_dof_name"] = [""] * count, [""] * count
    for row, dof in stated:
        columns["joint_dof_path"][row], columns["joint_dof_name"][row] = dof.path, dof.name
    if anchors.any():
        columns["joint_dof_anchor"] = np.zeros((count, 3))
        columns["joint_dof_anchor"][rows] = anchors
    return columns


def _stated_columns(stated: list[tuple[int, dict[str, Any]]], count: int) -> dict[str, np.ndarray]:
    """Return columns of the fields that some rows state; the other rows keep the fallbacks."""
    table = field_table()
    columns: dict[str, np.ndarray] = {}
    for row, values in stated:
        for name, value in values.items():
            if name not in columns:
                columns[name] = np.asarray(table[name].allocate(count))
            columns[name][row] = value
    return columns


def _rest_coordinates(joints: list[JointSpec], sizes: np.ndarray) -> dict[str, np.ndarray]:
    """Return the column of the coordinates at which springs rest, where any is not 0."""
    rest = np.zeros(int(sizes.sum()))
    for start, joint in zip(np.cumsum(sizes) - sizes, joints, strict=True):
        rest[start : start + len(joint.dofs)] = [dof.rest for dof in joint.dofs]
    return {"joint_rest_q": rest} if rest.any() else {}


def _link_mimics(
    builder: ModelBuilder, found: Scan, first: int, specs: list[JointSpec], trees: int, singles: int
) -> None:
    followers = [(i, joint) for i, joint in enumerate(specs) if joint.leader]
    if not followers:
        return
    row = {joint.path: first + i + (singles if i >= trees else 0) for i, joint in enumerate(specs)}
    leaders = {joint.path: joint.leader for _, joint in followers}
    for i, joint in followers:
        mine = first + i + (singles if i >= trees else 0)
        if joint.leader not in row:
            found.report.error(joint.path, f"mimics {joint.leader}, which is no joint", property=joint.leader_property)
            continue
        if _mimics_itself(leaders, joint.path):
            message = "mimics itself, if only by way of others"
            found.report.error(joint.path, message, property=joint.leader_property)
            continue
        builder.joint_mimic_joint[mine], builder.joint_mimic_coeffs[mine] = row[joint.leader], joint.mimic


def _mimics_itself(leaders: dict[str, str], path: str) -> bool:
    seen: set[str] = set()
    while path in leaders and path not in seen:
        seen.add(path)
        path = leaders[path]
    return path in seen


def _report_massless(found: Scan, bodies: BodySpecs, mass: MassSpecs, forest: Forest) -> None:
    for row in forest.singles[(mass.mass[forest.singles] <= 0) & ~bodies.kinematic[forest.singles]]:
        found.report.error(
            bodies.paths[row],
            "the body has no mass and no collider to take it from",
            remedy="author physics:mass or add a collider",
        )
