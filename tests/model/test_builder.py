"""ModelBuilder: single calls are bulk appends, and what they refuse."""

from __future__ import annotations

import numpy as np
import pytest

from tests.model.systems import assert_equal, mixed_system
from usd_sim.geometry import transforms as tf
from usd_sim.geometry.mesh import Mesh
from usd_sim.geometry.types import GeoType
from usd_sim.model.builder import ModelBuilder
from usd_sim.model.fields import Field, Frequency
from usd_sim.model.types import Axis, BodyFlags, JointTargetMode, JointType, ShapeFlags

Dof, Shape = ModelBuilder.JointDofConfig, ModelBuilder.ShapeConfig

SINGLE = 1.0e-6
"""Rounding of single precision."""


def test_single_calls_equal_one_bulk_append():
    single, bulk = ModelBuilder(), ModelBuilder()
    places = np.concatenate([np.arange(12.0).reshape(4, 3), np.tile([0.0, 0.0, 0.0, 1.0], (4, 1))], axis=1)
    masses, names = np.array([1.0, 2.0, 3.0, 4.0]), ["a", "b", "c", "d"]
    for place, mass, name in zip(places, masses, names, strict=True):
        single.add_link(place, mass=mass, label=name)
    bulk.append(Frequency.BODY, 4, body_q=places, body_mass=masses, body_label=names)
    for body in range(4):
        single.add_shape_box(body, hx=0.1, hy=0.2, hz=0.3, label=f"s{body}")
    bulk.append(
        Frequency.SHAPE,
        4,
        shape_body=np.arange(4),
        shape_type=int(GeoType.BOX),
        shape_scale=(0.1, 0.2, 0.3),
        shape_label=[f"s{body}" for body in range(4)],
    )
    for body in range(4):
        single.add_articulation([single.add_joint_free(body, label=f"j{body}")], label=f"art{body}")
    bulk.append(Frequency.ARTICULATION, 4, articulation_label=[f"art{body}" for body in range(4)])
    bulk.append(
        Frequency.JOINT,
        4,
        joint_type=int(JointType.FREE),
        joint_child=np.arange(4),
        joint_dof_dim=(3, 3),
        joint_articulation=np.arange(4),
        joint_label=[f"j{body}" for body in range(4)],
    )
    bulk.append(Frequency.JOINT_COORD, 28, joint_q=places.ravel())
    bulk.append(Frequency.JOINT_DOF, 24, joint_axis=np.tile(np.eye(3), (8, 1)))
    assert_equal(single, bulk)
    assert_equal(single.finalize("cpu"), bulk.finalize("cpu"))


def test_unset_shape_settings_are_the_fallbacks_of_the_table():
    single, bulk = ModelBuilder(), ModelBuilder()
    single.add_shape(-1, GeoType.SPHERE, (1.0, 0.0, 0.0))
    bulk.append(Frequency.SHAPE, 1, shape_type=int(GeoType.SPHERE), shape_scale=(1.0, 0, 0), shape_label="shape_0")
    assert_equal(single, bulk)


def test_unset_axis_settings_are_the_fallbacks_of_the_table():
    builder = ModelBuilder()
    builder.append(Frequency.JOINT_DOF, 1)
    builder.append(Frequency.JOINT_DOF, 1, **Dof().columns())
    for field in builder.columns.table.of(Frequency.JOINT_DOF):
        rows = builder.columns.view(field.name)
        assert np.array_equal(rows[0], rows[1]), field.name


SIZES = [
    (JointType.FIXED, lambda b: b.add_joint_fixed(-1, 0), 0, 0),
    (JointType.REVOLUTE, lambda b: b.add_joint_revolute(-1, 0, axis="Z"), 1, 1),
    (JointType.PRISMATIC, lambda b: b.add_joint_prismatic(-1, 0, axis="Z"), 1, 1),
    (JointType.BALL, lambda b: b.add_joint_ball(-1, 0), 4, 3),
    (JointType.FREE, lambda b: b.add_joint_free(0), 7, 6),
    (JointType.DISTANCE, lambda b: b.add_joint_distance(-1, 0), 7, 6),
    (JointType.D6, lambda b: b.add_joint_d6(-1, 0, linear_axes=[Dof(axis="X")], angular_axes=[Dof(), Dof()]), 3, 3),
]


@pytest.mark.parametrize(("kind", "add", "coords", "dofs"), SIZES, ids=[str(row[0].name) for row in SIZES])
def test_every_joint_type_has_its_rows(kind, add, coords: int, dofs: int):
    builder = ModelBuilder()
    builder.add_link(mass=1.0)
    builder.add_articulation([add(builder)])
    assert (builder.joint_coord_count, builder.joint_dof_count) == (coords, dofs)
    model = builder.finalize("cpu")
    assert model.joint_type.numpy().tolist() == [int(kind)]
    assert model.joint_q_start.numpy().tolist() == [0, coords]
    assert model.joint_qd_start.numpy().tolist() == [0, dofs]
    assert int(model.joint_dof_dim.numpy().sum()) == dofs
    if kind == JointType.BALL:
        assert model.joint_q.numpy().tolist() == [0.0, 0.0, 0.0, 1.0]


def test_axis_settings_reach_their_fields():
    builder = ModelBuilder()
    builder.add_link()
    settings = {
        "limit_lower": -1.0, "limit_upper": 2.0, "limit_ke": 3.0, "limit_kd": 4.0, "target_ke": 5.0, "target_kd": 6.0,
        "armature": 7.0, "effort_limit": 8.0, "velocity_limit": 9.0, "friction": 10.0, "damping": 11.0,
        "stiffness": 12.0,
    }  # fmt: skip
    builder.add_joint_revolute(-1, 0, axis=(0.0, 3.0, 4.0), target_pos=0.5, target_vel=0.25, **settings)
    for name, value in settings.items():
        assert getattr(builder, f"joint_{name}").tolist() == [value]
    np.testing.assert_allclose(builder.joint_axis, [[0.0, 0.6, 0.8]], rtol=SINGLE)
    assert (builder.joint_target_q[0], builder.joint_target_qd[0]) == (0.5, 0.25)
    assert builder.joint_target_mode[0] == JointTargetMode.POSITION_VELOCITY


@pytest.mark.parametrize(
    ("ke", "kd", "velocity", "mode"),
    [
        (0.0, 0.0, 1.0, JointTargetMode.NONE),
        (1.0, 0.0, 0.0, JointTargetMode.POSITION),
        (1.0, 1.0, 0.0, JointTargetMode.POSITION),
        (0.0, 1.0, 0.0, JointTargetMode.VELOCITY),
        (1.0, 1.0, 1.0, JointTargetMode.POSITION_VELOCITY),
    ],
)
def test_gains_imply_the_mode(ke: float, kd: float, velocity: float, mode: JointTargetMode):
    builder = ModelBuilder()
    builder.add_link()
    builder.add_joint_revolute(-1, 0, target_ke=ke, target_kd=kd, target_vel=velocity)
    builder.add_joint_revolute(-1, 0, target_ke=ke, target_kd=kd, target_mode=JointTargetMode.EFFORT)
    assert builder.joint_target_mode.tolist() == [mode, JointTargetMode.EFFORT]


def test_shape_settings_reach_their_fields():
    builder, cfg = (
        ModelBuilder(),
        Shape(mu=0.25, density=5.0, margin=0.125, gap=0.5, is_solid=False, collision_group=-2),
    )
    shape = builder.add_shape_sphere(-1, radius=0.5, cfg=cfg, color=(1.0, 0.0, 0.5))
    assert builder.shape_material_mu[shape] == 0.25
    assert builder.shape_density[shape] == 5.0
    assert (builder.shape_margin[shape], builder.shape_gap[shape]) == (0.125, 0.5)
    assert not builder.shape_is_solid[shape]
    assert builder.shape_collision_group[shape] == -2
    assert builder.shape_color[shape].tolist() == [1.0, 0.0, 0.5]
    site = builder.add_shape_box(-1, cfg=Shape(is_site=True))
    assert builder.shape_flags[site] & ShapeFlags.SITE
    assert not builder.shape_flags[site] & (ShapeFlags.COLLIDE_SHAPES | ShapeFlags.COLLIDE_PARTICLES)
    assert builder.shape_density[site] == 0.0


@pytest.mark.parametrize("axis", list(Axis))
def test_axial_shapes_lie_along_their_axis(axis: Axis):
    builder = ModelBuilder()
    shape = builder.add_shape_cone(-1, radius=0.5, half_height=1.0, axis=axis)
    tip = tf.transform_point(builder.shape_transform[shape], [0.0, 0.0, 1.0])
    np.testing.assert_allclose(tip, axis.to_vector(), atol=SINGLE)


@pytest.mark.parametrize("axis", list(Axis))
def test_ground_plane_faces_up(axis: Axis):
    builder = ModelBuilder(up_axis=axis)
    shape = builder.add_ground_plane(height=2.0)
    up = np.array(axis.to_vector())
    np.testing.assert_allclose(tf.quat_rotate(builder.shape_transform[shape][3:], [0.0, 0.0, 1.0]), up, atol=SINGLE)
    np.testing.assert_allclose(builder.shape_transform[shape][:3], 2.0 * up)
    np.testing.assert_allclose(builder.gravity_vector, -9.81 * up)


def test_joined_bodies_are_filtered_whatever_comes_first():
    first, last = ModelBuilder(), ModelBuilder()
    for builder, shapes_first in ((first, True), (last, False)):
        a, b = builder.add_link(), builder.add_link()
        joint = lambda: builder.add_joint_revolute(a, b)  # noqa: E731, B023
        shapes = lambda: [builder.add_shape_sphere(a), builder.add_shape_sphere(b), builder.add_shape_box(b)]  # noqa: E731, B023
        for step in (shapes, joint) if shapes_first else (joint, shapes):
            step()
    pairs = [{tuple(sorted(pair)) for pair in b.shape_collision_filter_pairs.tolist()} for b in (first, last)]
    assert pairs[0] == pairs[1] == {(0, 1), (0, 2)}


def test_joined_bodies_may_collide():
    builder = ModelBuilder()
    a, b = builder.add_link(), builder.add_link()
    builder.add_shape_sphere(a)
    builder.add_shape_sphere(b, cfg=Shape(collision_filter_parent=False))
    builder.add_joint_revolute(a, b, collision_filter_parent=False)
    assert builder.shape_pair_count == 0


def test_add_body_is_a_link_with_a_free_joint():
    builder = ModelBuilder()
    body = builder.add_body(xform=(1, 2, 3, 0, 0, 0, 1), mass=2.0, label="box", is_kinematic=True)
    assert builder.joint_child.tolist() == [body]
    assert builder.joint_type.tolist() == [JointType.FREE]
    assert builder.joint_articulation.tolist() == [0]
    assert builder.joint_q.tolist() == [1, 2, 3, 0, 0, 0, 1]
    assert builder.body_flags[body] == BodyFlags.KINEMATIC
    assert builder.body_label == ["box"]


def test_a_free_joint_starts_where_the_child_is():
    # FK must give the child its pose back, whatever the parent and the frames are
    builder = ModelBuilder()
    turn = tf.quat_from_axis_angle([1.0, 1.0, 0.0], 0.6)
    parent = builder.add_body(xform=(1.0, 2.0, 3.0, *turn), mass=1.0)
    place = np.array([-1.0, 0.5, 2.0, *tf.quat_from_axis_angle([0.0, 1.0, 2.0], -1.1)])
    child = builder.add_link(xform=place, mass=1.0)
    frames = [np.array([0.1, 0.2, 0.3, *turn]), np.array([0.3, -0.2, 0.1, *tf.quat_conjugate(turn)])]
    builder.add_joint_free(child, parent=parent, parent_xform=frames[0], child_xform=frames[1])
    motion = builder.joint_q[-7:]
    world = tf.transform_multiply(tf.transform_multiply(builder.body_q[parent], frames[0]), motion)
    np.testing.assert_allclose(tf.transform_multiply(world, tf.transform_inverse(frames[1])), place, atol=SINGLE)


@pytest.mark.parametrize(
    "call",
    [
        lambda b: b.add_joint_revolute(0, 0),
        lambda b: b.add_joint_revolute(0, 5),
        lambda b: b.add_joint_revolute(-2, 1),
        lambda b: b.add_joint_revolute(0, -1),
        lambda b: b.add_shape_box(7),
        lambda b: b.add_shape_box(-2),
        lambda b: b.add_joint_revolute(0, 1, axis=(0.0, 0.0, 0.0)),
        lambda b: b.add_joint_revolute(0, 1, axis=(np.nan, 0.0, 0.0)),
        lambda b: b.add_joint_d6(0, 1, linear_axes=[Dof()] * 4),
        lambda b: b.add_articulation([]),
        lambda b: b.end_world(),
    ],
)
def test_wrong_calls_raise_and_add_nothing(call):
    builder = ModelBuilder()
    builder.add_link()
    builder.add_link()
    before = dict(builder.columns.counts)
    with pytest.raises(ValueError, match=r"\w+ \w+"):
        call(builder)
    assert {k: v for k, v in builder.columns.counts.items() if v} == {k: v for k, v in before.items() if v}


def test_articulations_are_consecutive_and_own_their_joints():
    builder = ModelBuilder()
    bodies = [builder.add_link() for _ in range(4)]
    joints = [builder.add_joint_revolute(parent, child) for parent, child in zip([-1, *bodies], bodies, strict=False)]
    with pytest.raises(ValueError, match="consecutive"):
        builder.add_articulation([joints[0], joints[2]])
    with pytest.raises(ValueError, match="consecutive"):
        builder.add_articulation([joints[1], joints[0]])
    assert builder.add_articulation(joints[:2]) == 0
    with pytest.raises(ValueError, match="already"):
        builder.add_articulation(joints[1:3])
    assert builder.joint_articulation.tolist() == [0, 0, -1, -1]


def test_only_roots_are_kinematic():
    builder = ModelBuilder()
    a, b = builder.add_link(is_kinematic=True), builder.add_link(is_kinematic=True, label="inner")
    joints = [builder.add_joint_free(a), builder.add_joint_revolute(a, b)]
    with pytest.raises(ValueError, match=r"inner.*not a root"):
        builder.add_articulation(joints)


def test_unknown_attributes_are_named():
    with pytest.raises(AttributeError, match="body_speed"):
        _ = ModelBuilder().body_speed
    with pytest.raises(KeyError, match="body_speed"):
        ModelBuilder().append(Frequency.BODY, 1, body_speed=1.0)


def test_distance_joint_keeps_its_bounds():
    builder = ModelBuilder()
    a, b = builder.add_link(), builder.add_link()
    builder.add_joint_distance(a, b, min_distance=0.5, max_distance=2.0)
    assert builder.joint_limit_lower.tolist()[0] == 0.5
    assert builder.joint_limit_upper.tolist()[0] == 2.0
    assert np.all(np.isinf(builder.joint_limit_upper[1:]))


def test_meshes_are_kept_by_reference():
    builder = ModelBuilder()
    corners = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
    mesh = Mesh(corners, np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]))
    builder.add_shape_mesh(-1, mesh=mesh, scale=(1.0, 2.0, 3.0))
    builder.add_shape_convex_hull(-1, mesh=mesh)
    assert builder.shape_type.tolist() == [GeoType.MESH, GeoType.CONVEX_MESH]
    assert builder.shape_source == [mesh, mesh]


def test_custom_attributes_of_every_frequency():
    builder = ModelBuilder()
    builder.add_custom_attribute(Field("own:grip", Frequency.BODY, "float", "Grip.", 0.5))
    builder.add_custom_attribute(Field("own:gear", Frequency.JOINT_DOF, "float", "Gear.", 1.0))
    builder.add_custom_attribute(Field("own:paint", Frequency.SHAPE, "int", "Paint.", -3))
    builder.add_custom_attribute(
        Field("own:tooth", "tooth", "int", "Body of each tooth.", -1, refers_to=Frequency.BODY)
    )
    body = builder.add_link(custom_attributes={"own:grip": 2.0})
    builder.add_link()
    builder.add_joint_revolute(-1, body, custom_attributes={"own:gear": 3.0})
    builder.add_shape_box(body, custom_attributes={"own:paint": 4})
    builder.append("tooth", 2, **{"own:tooth": [1, -1]})
    twice = ModelBuilder()
    twice.replicate(builder, 2)
    model = twice.finalize("cpu", skip_validation_joints=True)
    assert model.own.grip.numpy().tolist() == [2.0, 0.5, 2.0, 0.5]
    assert model.own.gear.numpy().tolist() == [3.0, 3.0]
    assert model.own.paint.numpy().tolist() == [4, 4]
    assert model.own.tooth.numpy().tolist() == [1, -1, 3, -1]
    assert model.tooth_count == 4


def test_mixed_system_has_the_counts_that_were_added():
    builder = mixed_system()
    assert builder.body_count == 4
    assert builder.shape_count == 5
    assert builder.joint_count == 5
    assert builder.articulation_count == 2
    assert builder.joint_coord_count == 1 + 1 + 4 + 7 + 7
    assert builder.joint_dof_count == 1 + 1 + 3 + 6 + 6
