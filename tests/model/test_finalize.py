"""What finalize refuses, and the mass that shapes give."""

from __future__ import annotations

import numpy as np
import pytest

from tests.model.systems import SINGLE, assert_equal, mixed_system
from usd_sim.errors import UsdSimError
from usd_sim.geometry.types import GeoType
from usd_sim.model.builder import ModelBuilder
from usd_sim.model.fields import Frequency
from usd_sim.model.types import BodyFlags, JointType


def chain() -> ModelBuilder:
    """Return two links on hinges."""
    builder = ModelBuilder()
    a, b = builder.add_link(mass=1.0, label="a"), builder.add_link(mass=1.0, label="b")
    builder.add_shape_box(a)
    joints = [builder.add_joint_revolute(-1, a, label="ja"), builder.add_joint_revolute(a, b, label="jb")]
    builder.add_articulation(joints)
    return builder


def broken(change) -> ModelBuilder:
    builder = chain()
    change(builder)
    return builder


def assign(name: str, row, value):
    return lambda builder: builder.columns.view(name).__setitem__(row, value)


@pytest.mark.parametrize(
    ("change", "where", "what"),
    [
        (assign("joint_parent", 1, 7), "jb", "joint_parent refers to a body that does not exist"),
        (assign("joint_child", 1, -2), "jb", "joint_child refers to"),
        (assign("joint_child", 1, -1), "jb", "child"),
        (assign("joint_parent", 1, 1), "jb", "both sides are the same body"),
        (assign("joint_parent", 0, 1), "j", ""),  # a cycle
        (assign("shape_body", 0, 9), "shape_0", "shape_body refers to"),
        (assign("joint_articulation", 0, 3), "ja", "articulation"),
        (assign("joint_mimic_joint", 0, 2), "ja", "joint_mimic_joint"),
        (assign("body_world", 0, 0), "a", "world"),
        (assign("body_mass", 1, np.nan), "b", "body_mass is not a finite number"),
        (assign("body_q", (0, 3), np.inf), "a", "body_q"),
        (assign("joint_limit_lower", 1, np.nan), "1", "joint_limit_lower"),
        (assign("joint_target_ke", 1, np.inf), "1", "joint_target_ke"),
        (assign("shape_scale", (0, 2), np.nan), "shape_0", "shape_scale"),
        (assign("joint_child", 1, 0), "j", ""),  # both sides are the same body, and two joints have it as child
        (lambda b: b.add_shape_collision_filter_pair(0, 5), "shape_pair", "refers to"),
        (lambda b: b.append(Frequency.JOINT_COORD, 1), None, "rows of joint_coord"),
        (lambda b: b.append(Frequency.JOINT_DOF, 2), None, "rows of joint_dof"),
        (assign("body_flags", 1, int(BodyFlags.KINEMATIC)), "b", "root"),
    ],
)
def test_invalid_rows_are_named(change, where: str | None, what: str):
    with pytest.raises(UsdSimError) as caught:
        broken(change).finalize("cpu")
    assert what in caught.value.message
    if where is not None:
        assert where in caught.value.prim
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["joint_limit_upper", "joint_effort_limit", "joint_velocity_limit"])
def test_infinity_is_fine_where_it_means_something(name: str):
    broken(assign(name, 0, np.inf)).finalize("cpu")


def test_parents_come_before_children():
    builder = ModelBuilder()
    a, b = builder.add_link(label="a"), builder.add_link(label="b")
    builder.add_articulation([builder.add_joint_revolute(a, b, label="late"), builder.add_joint_revolute(-1, a)])
    with pytest.raises(UsdSimError, match=r"late.*before the joint of its parent"):
        builder.finalize("cpu")


def test_articulations_do_not_interleave():
    builder = ModelBuilder()
    for _ in range(4):
        builder.add_joint_free(builder.add_link(mass=1.0))
    builder.append(Frequency.ARTICULATION, 2, articulation_label=["x", "y"])
    builder.joint_articulation[:] = [0, 1, 0, 1]
    with pytest.raises(UsdSimError, match="consecutive"):
        builder.finalize("cpu")


@pytest.mark.parametrize("parent", [-1, 0])
def test_joints_outside_of_articulations_are_refused(parent: int):
    builder = ModelBuilder()
    builder.add_body(mass=1.0)
    link = builder.add_link(mass=1.0)
    builder.add_joint_revolute(parent, link, label="orphan")
    with pytest.raises(UsdSimError, match=r"orphan.*add_articulation"):
        builder.finalize("cpu")
    builder.finalize("cpu", skip_validation_joints=True)


def test_loop_joints_are_fine():
    builder = chain()
    builder.add_joint_fixed(-1, 1, label="loop")
    model = builder.finalize("cpu")
    assert model.joint_articulation.numpy().tolist() == [0, 0, -1]
    assert model.joint_ancestor.numpy().tolist() == [-1, 0, -1]
    assert model.articulation_start.numpy().tolist() == [0]
    assert model.articulation_end.numpy().tolist() == [2]


def test_finalize_twice_gives_the_same_and_leaves_the_builder():
    builder = mixed_system()
    first = builder.finalize("cpu")
    second = builder.finalize("cpu")
    assert_equal(first, second)
    assert_equal(builder, mixed_system())


def test_shapes_add_to_the_mass_of_bodies():
    builder = ModelBuilder()
    body = builder.add_body(mass=2.0, com=(0.0, 0.0, -1.0), inertia=np.diag([0.5, 0.5, 0.5]))
    builder.add_shape_box(
        body, hx=0.5, hy=0.5, hz=0.5, xform=(0, 0, 1, 0, 0, 0, 1), cfg=builder.ShapeConfig(density=2.0)
    )
    model = builder.finalize("cpu")
    assert model.body_mass.numpy()[0] == pytest.approx(4.0, rel=SINGLE)
    np.testing.assert_allclose(model.body_com.numpy()[0], [0.0, 0.0, 0.0], atol=SINGLE)
    # 0.5 + 2 kg at 1 m, and a cube of 2 kg (m a² / 6) at 1 m
    across, along = 0.5 + 2.0 + 2.0 / 6.0 + 2.0, 0.5 + 2.0 / 6.0
    np.testing.assert_allclose(
        model.body_inertia.numpy()[0], np.diag([across, across, along]), rtol=SINGLE, atol=SINGLE
    )
    np.testing.assert_allclose(
        model.body_inv_inertia.numpy()[0] @ model.body_inertia.numpy()[0], np.eye(3), atol=SINGLE
    )
    assert model.body_inv_mass.numpy()[0] == pytest.approx(0.25, rel=SINGLE)


def test_locked_bodies_static_shapes_planes_and_sites_add_no_mass():
    builder = ModelBuilder()
    locked, plain = builder.add_body(mass=3.0, lock_inertia=True), builder.add_body(mass=3.0)
    builder.add_shape_box(locked)
    builder.add_shape_box(-1)
    builder.add_shape_plane(plain)
    builder.add_shape_box(plain, cfg=builder.ShapeConfig(is_site=True))
    model = builder.finalize("cpu")
    assert model.body_mass.numpy().tolist() == [3.0, 3.0]


def test_bodies_without_mass_have_no_inverse():
    builder = ModelBuilder()
    builder.add_body()
    model = builder.finalize("cpu")
    assert model.body_inv_mass.numpy().tolist() == [0.0]
    assert not model.body_inv_inertia.numpy().any()


@pytest.mark.parametrize("count", [0, 1])
def test_empty_and_single(count: int):
    builder = ModelBuilder()
    for _ in range(count):
        builder.add_body()
    model = builder.finalize("cpu")
    assert model.body_count == model.joint_count == model.articulation_count == count
    assert model.joint_q_start.numpy().tolist() == [0, 7][: count + 1]
    assert len(model.gravity) == 1


def test_bulk_rows_with_a_shape_of_no_type():
    builder = ModelBuilder()
    builder.append(Frequency.BODY, 1, body_mass=1.0)
    builder.append(Frequency.SHAPE, 1, shape_body=0, shape_type=int(GeoType.NONE))
    builder.append(Frequency.JOINT, 1, joint_type=int(JointType.FIXED), joint_child=0, joint_articulation=0)
    builder.append(Frequency.ARTICULATION, 1)
    assert builder.finalize("cpu").body_mass.numpy().tolist() == [1.0]
