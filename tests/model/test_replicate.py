"""Copies of a builder: worlds, references, and where they are placed."""

from __future__ import annotations

import numpy as np
import pytest

from tests.model.systems import PLACEMENT, SINGLE, assert_equal, assert_same_pose, forward_kinematics, mixed_system
from usd_sim.geometry import transforms as tf
from usd_sim.model.builder import ModelBuilder
from usd_sim.model.fields import Frequency
from usd_sim.model.types import JointType

SHIFTED = ("joint_parent", "joint_child", "shape_body", "joint_articulation", "joint_mimic_joint")


@pytest.mark.parametrize("copies", [1, 2, 5])
def test_replicate_equals_adding_worlds_one_by_one(copies: int):
    template, bulk, single = mixed_system(), ModelBuilder(), ModelBuilder()
    assert bulk.replicate(template, copies) == 0
    for i in range(copies):
        assert single.add_world(template) == i
    assert_equal(bulk, single)
    assert_equal(bulk.finalize("cpu"), single.finalize("cpu"))


def test_replicating_twice_equals_a_bigger_replicate():
    template, twice, once = mixed_system(), ModelBuilder(), ModelBuilder()
    twice.replicate(template, 2)
    assert twice.replicate(template, 3) == 2
    once.replicate(template, 5)
    assert_equal(twice, once)


def test_counts_and_references():
    template, builder = mixed_system(), ModelBuilder()
    builder.add_ground_plane()
    builder.replicate(template, 3)
    assert builder.world_count == 3
    assert builder.body_count == 3 * template.body_count
    assert builder.shape_count == 1 + 3 * template.shape_count
    for name in SHIFTED:
        frequency = template.columns.table[name].refers_to
        before = 1 if frequency == Frequency.SHAPE else 0
        rows = np.asarray(getattr(template, name))
        for copy in range(3):
            span = slice(copy * len(rows), (copy + 1) * len(rows))
            offset = before + copy * template.columns.count(frequency)
            mine = np.asarray(getattr(builder, name))[1 if name == "shape_body" else 0 :][span]
            np.testing.assert_array_equal(mine, np.where(rows >= 0, rows + offset, -1), err_msg=name)
    pairs = np.asarray(builder.shape_collision_filter_pairs).reshape(3, -1, 2)
    first = np.asarray(template.shape_collision_filter_pairs)
    for copy in range(3):
        np.testing.assert_array_equal(pairs[copy], first + 1 + copy * template.shape_count)
    assert builder.body_world.tolist() == np.repeat([0, 1, 2], template.body_count).tolist()
    assert builder.shape_world.tolist() == [-1, *np.repeat([0, 1, 2], template.shape_count)]


def test_template_stays_as_it_was():
    template = mixed_system()
    ModelBuilder().replicate(template, 3, xforms=np.tile(PLACEMENT, (3, 1)))
    assert_equal(template, mixed_system())


def test_copies_are_independent():
    template, builder = mixed_system(), ModelBuilder()
    builder.replicate(template, 2)
    builder.body_mass[0] = 99.0
    assert template.body_mass[0] != 99.0
    assert builder.body_mass[template.body_count] != 99.0


@pytest.mark.parametrize("how", ["replicate", "add_world", "add_builder"])
def test_placing_moves_the_world_and_nothing_else(how: str):
    template, moved = mixed_system(), ModelBuilder()
    if how == "replicate":
        moved.replicate(template, 1, xforms=PLACEMENT[None])
    elif how == "add_world":
        moved.add_world(template, xform=PLACEMENT)
    else:
        moved.add_builder(template, xform=PLACEMENT)
    still, placed = template.finalize("cpu"), moved.finalize("cpu")
    # bodies, and where the joints put them
    expected = tf.transform_multiply(PLACEMENT, still.body_q.numpy())
    assert_same_pose(placed.body_q.numpy(), expected, tolerance=SINGLE * 10)
    expected = tf.transform_multiply(PLACEMENT, forward_kinematics(still))
    assert_same_pose(forward_kinematics(placed), expected, tolerance=SINGLE * 10)
    # velocities of bodies and of free joints turn along
    turned = tf.quat_rotate(PLACEMENT[3:], still.body_qd.numpy().reshape(-1, 2, 3)).reshape(-1, 6)
    np.testing.assert_allclose(placed.body_qd.numpy(), turned, atol=SINGLE * 10)
    np.testing.assert_allclose(placed.joint_qd.numpy()[-6:], turned[-1], atol=SINGLE * 10)
    np.testing.assert_allclose(placed.joint_qd.numpy()[:-6], still.joint_qd.numpy()[:-6])
    # static shapes move, shapes on bodies keep their place on them
    static = still.shape_body.numpy() < 0
    poses, before = placed.shape_transform.numpy(), still.shape_transform.numpy()
    assert_same_pose(poses[static], tf.transform_multiply(PLACEMENT, before[static]), tolerance=SINGLE * 10)
    np.testing.assert_array_equal(poses[~static], before[~static])
    # joints between bodies and inner coordinates stay
    between = still.joint_parent.numpy() >= 0
    np.testing.assert_array_equal(placed.joint_X_p.numpy()[between], still.joint_X_p.numpy()[between])
    np.testing.assert_array_equal(placed.joint_q.numpy()[:13], still.joint_q.numpy()[:13])


def anchored(kind: JointType) -> ModelBuilder:
    """Return one body on a joint to the world whose frames are not the identity."""
    builder = ModelBuilder()
    frame_p = np.array([0.5, 0.25, -1.0, *tf.quat_from_axis_angle([0.0, 1.0, 1.0], 0.4)])
    frame_c = np.array([-0.5, 0.125, 0.25, *tf.quat_from_axis_angle([1.0, 0.0, 1.0], -0.9)])
    motion = np.array([0.3, 0.2, 0.1, *tf.quat_from_axis_angle([1.0, 0.0, 0.0], 1.2)])
    pose = tf.transform_multiply(tf.transform_multiply(frame_p, motion), tf.transform_inverse(frame_c))
    body = builder.add_link(xform=pose, mass=1.0)
    builder.add_articulation(
        [builder.add_joint(kind, -1, body, parent_xform=frame_p, child_xform=frame_c, label="held")]
    )
    builder.joint_q[:] = motion
    return builder


@pytest.mark.parametrize("kind", [JointType.FREE, JointType.DISTANCE])
def test_placing_joints_to_the_world_whose_frames_are_not_the_identity(kind: JointType):
    template, moved = anchored(kind), ModelBuilder()
    moved.add_builder(template, xform=PLACEMENT)
    model = moved.finalize("cpu")
    assert_same_pose(forward_kinematics(model), model.body_q.numpy(), tolerance=SINGLE * 10)
    if kind == JointType.DISTANCE:  # what it measures is the distance from the anchor in the world
        anchor = tf.transform_point(PLACEMENT, template.joint_X_p[0, :3])
        np.testing.assert_allclose(model.joint_X_p.numpy()[0, :3], anchor, atol=SINGLE * 10)


def test_free_joint_between_bodies_stays_relative():
    template = ModelBuilder()
    carrier = template.add_body(mass=1.0, xform=(0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0))
    rider = template.add_link(mass=1.0, xform=(0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 1.0))
    template.add_articulation([template.add_joint_free(rider, parent=carrier)])
    moved = ModelBuilder()
    moved.add_builder(template, xform=PLACEMENT)
    np.testing.assert_array_equal(moved.joint_q[7:], template.joint_q[7:])


def test_spacing_makes_a_centred_grid():
    builder = ModelBuilder()
    template = ModelBuilder()
    template.add_body()
    builder.replicate(template, 4, spacing=(2.0, 3.0, 0.0))
    places = np.asarray(builder.body_q)[:, :3]
    assert sorted(map(tuple, places.tolist())) == [(-1.0, -1.5, 0), (-1.0, 1.5, 0), (1.0, -1.5, 0), (1.0, 1.5, 0)]
    np.testing.assert_array_equal(np.asarray(builder.joint_q).reshape(4, 7)[:, :3], places)


def test_gravity_of_worlds():
    template, builder = ModelBuilder(gravity=-3.0), ModelBuilder()
    template.add_body()
    builder.replicate(template, 2)
    builder.begin_world(gravity=(0.0, 1.0, 0.0))
    builder.add_body()
    builder.end_world()
    model = builder.finalize("cpu")
    np.testing.assert_allclose(model.gravity.numpy(), [[0, 0, -3], [0, 0, -3], [0, 1, 0]])
    assert model.world_count == 3
    assert model.body_world.numpy().tolist() == [0, 1, 2]
    assert model.joint_world.numpy().tolist() == [0, 1, 2]
    assert model.articulation_world.numpy().tolist() == [0, 1, 2]


def test_gravity_without_worlds_is_the_builders():
    builder = ModelBuilder(up_axis="Y")
    builder.add_body()
    model = builder.finalize("cpu")
    np.testing.assert_allclose(model.gravity.numpy(), [[0.0, -9.81, 0.0]], rtol=SINGLE)
    assert model.world_count == 0
    assert model.body_world.numpy().tolist() == [-1]


def test_add_builder_keeps_worlds_of_what_it_adds():
    pair, builder, template = ModelBuilder(), ModelBuilder(), ModelBuilder()
    template.add_body()
    pair.replicate(template, 2)
    builder.add_body()
    builder.add_builder(pair)
    builder.add_builder(pair)
    assert builder.world_count == 4
    assert builder.body_world.tolist() == [-1, 0, 1, 2, 3]


def test_add_builder_inside_a_world():
    template, builder = mixed_system(), ModelBuilder()
    builder.begin_world()
    builder.add_builder(template)
    builder.end_world()
    assert set(builder.body_world.tolist()) == set(builder.shape_world.tolist()) == {0}


def test_misuse_is_refused():
    template, builder = mixed_system(), ModelBuilder()
    worlds = ModelBuilder()
    worlds.replicate(template, 2)
    with pytest.raises(ValueError, match="holds worlds"):
        builder.replicate(worlds, 2)
    builder.begin_world()
    for call in (builder.begin_world, lambda: builder.replicate(template, 2)):
        with pytest.raises(ValueError, match="open"):
            call()
    with pytest.raises(ValueError, match="holds worlds"):
        builder.add_builder(worlds)


def test_a_builder_is_not_added_to_itself():
    builder = mixed_system()
    with pytest.raises(ValueError, match="itself"):
        builder.add_builder(builder)
    assert_equal(builder, mixed_system())


def test_no_copies_is_nothing():
    builder = ModelBuilder()
    builder.replicate(mixed_system(), 0)
    assert builder.body_count == builder.world_count == 0
    assert builder.finalize("cpu").body_count == 0
