"""PointInstancers become bodies and colliders: rows, places, scales, masses, velocities, and what is left out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from pxr import Gf, Sdf, Usd, UsdGeom, UsdPhysics, UsdShade
from record.instancing import (
    SINGLE,
    Places,
    add_instancer,
    add_prims,
    box,
    collider,
    instance_matrices,
    new_stage,
    pendulum,
    spread,
)

from usd_sim import Simulation, load
from usd_sim.cli.info import describe
from usd_sim.errors import UsdSimError
from usd_sim.geometry import transforms as tf
from usd_sim.stage.read.copies import instanced_scan
from usd_sim.stage.read.scan import scan

ROUNDED = 1.0e-5
"""A dozen multiplications of single-precision values of some units."""


def _stage(tmp_path: Path, **options: object) -> Usd.Stage:
    return new_stage(tmp_path / "source.usda", **options)


def _same_rows(a: object, b: object, frequency: str, fields: tuple[str, ...]) -> None:
    """Check that two models have equal values in all rows, whatever they are called."""
    assert getattr(a, f"{frequency}_count") == getattr(b, f"{frequency}_count")
    for name in fields:
        first, second = getattr(a, name).numpy(), getattr(b, name).numpy()
        if first.shape[1:] == (7,):  # a quaternion and its negative are the same rotation
            first[:, 3:] *= np.where(np.sum(first[:, 3:] * second[:, 3:], axis=1, keepdims=True) < 0, -1, 1)
        np.testing.assert_allclose(first, second, rtol=ROUNDED, atol=ROUNDED, err_msg=name)


def test_each_instance_is_a_body_where_usd_draws_it(tmp_path: Path) -> None:
    stage = _stage(tmp_path)
    UsdGeom.Xform(stage.GetPrimAtPath("/World")).AddRotateXYZOp().Set((10, 20, 30))
    instancer = add_instancer(stage, "/World/Inst", [lambda s, p: box(s, p, offset=(0.1, 0.2, 0.3))], spread(5))
    instancer.AddTranslateOp().Set((1, 2, 3))
    model = load(stage)
    drawn = tf.decompose_affine(instance_matrices(stage, "/World/Inst", 0.0))
    pose = model.body_q.numpy()
    np.testing.assert_allclose(pose[:, :3], drawn.translation, atol=ROUNDED)
    np.testing.assert_allclose(np.abs(np.sum(pose[:, 3:] * drawn.rotation, axis=1)), 1.0, atol=ROUNDED)
    assert model.body_label == [f"/World/Inst[{i}]" for i in range(5)]
    assert model.body_path == ["/World/Inst/Protos/p0"] * 5
    assert model.body_instancer == ["/World/Inst"] * 5
    assert model.body_instance.numpy().tolist() == list(range(5))
    assert model.binding.rows("body", "/World/Inst") == list(range(5))
    assert model.binding.rows("shape", "/World/Inst") == [1, 2, 3, 4, 5]  # the ground is the stage's own
    assert model.shape_instance.numpy().tolist() == [-1, 0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    "scales",
    [
        np.array([[1, 1, 1], [2, 2, 2], [0.5, 0.5, 0.5]]),
        np.array([[1, 2, 3], [1, 1, 2], [3, 1, 1]]),
        np.array([[-1, 1, 1], [1, -2, 1], [-1, -1, -1]]),
    ],
    ids=["uniform", "uneven", "mirrored"],
)
def test_scale_changes_size_and_mass_as_on_prims(tmp_path: Path, scales: np.ndarray) -> None:
    def bullet(stage: Usd.Stage, path: str) -> None:
        UsdPhysics.RigidBodyAPI.Apply(UsdGeom.Xform.Define(stage, path).GetPrim())
        collider(stage, f"{path}/shaft", size=0.4)
        cone = UsdGeom.Cone.Define(stage, f"{path}/tip")
        cone.CreateHeightAttr(0.3)
        cone.CreateRadiusAttr(0.2)
        cone.AddTranslateOp().Set((0.35, 0.0, 0.1))
        UsdPhysics.CollisionAPI.Apply(cone.GetPrim())

    places = spread(3)
    places.scales = scales.astype(float)
    instanced = _stage(tmp_path / "a")
    add_instancer(instanced, "/World/Inst", [bullet], places)
    prims = _stage(tmp_path / "b")
    add_prims(prims, "/World/Inst", [bullet], places)
    a, b = load(instanced), load(prims)
    assert a.body_mass.numpy()[0] != a.body_mass.numpy()[1]
    _same_rows(a, b, "body", ("body_q", "body_mass", "body_com", "body_inertia"))
    _same_rows(a, b, "shape", ("shape_type", "shape_scale", "shape_transform", "shape_density"))


def _jointed(stage: Usd.Stage, path: str) -> None:
    """Define bodies of many kinds of colliders and joints, with lengths, masses and inertias of every kind."""
    pendulum(stage, path)
    upper, lower = stage.GetPrimAtPath(f"{path}/upper"), stage.GetPrimAtPath(f"{path}/lower")
    mass = UsdPhysics.MassAPI.Apply(upper)
    mass.CreateMassAttr(3.0)
    mass.CreateCenterOfMassAttr(Gf.Vec3f(0.1, 0.0, 0.05))
    UsdPhysics.MassAPI.Apply(lower).CreateDensityAttr(500.0)
    UsdPhysics.RigidBodyAPI(lower).CreateVelocityAttr(Gf.Vec3f(0.0, 0.0, 1.0))
    capsule = UsdGeom.Capsule.Define(stage, f"{path}/lower/tail")
    capsule.AddTranslateOp().Set((0.3, 0.1, 0.0))
    capsule.AddRotateYOp().Set(40.0)
    UsdPhysics.CollisionAPI.Apply(capsule.GetPrim())
    mesh = UsdGeom.Mesh.Define(stage, f"{path}/lower/fin")
    mesh.CreatePointsAttr([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)])
    mesh.CreateFaceVertexCountsAttr([3, 3, 3, 3])
    mesh.CreateFaceVertexIndicesAttr([0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3])
    UsdPhysics.CollisionAPI.Apply(mesh.GetPrim())
    slide = UsdPhysics.PrismaticJoint.Define(stage, f"{path}/slide")
    UsdPhysics.RigidBodyAPI.Apply(UsdGeom.Xform.Define(stage, f"{path}/slider").GetPrim())
    collider(stage, f"{path}/slider/block", size=0.1)
    slide.CreateBody0Rel().SetTargets([f"{path}/lower"])
    slide.CreateBody1Rel().SetTargets([f"{path}/slider"])
    slide.CreateLocalPos0Attr(Gf.Vec3f(-0.6, 0.0, 0.0))
    slide.CreateLowerLimitAttr(-0.2)
    slide.CreateUpperLimitAttr(0.4)


def _half_stated(stage: Usd.Stage, path: str) -> None:
    """Define a body of two colliders, of which one states its mass: the sum grows by no power of the size."""
    UsdPhysics.RigidBodyAPI.Apply(UsdGeom.Xform.Define(stage, path).GetPrim())
    collider(stage, f"{path}/a")
    collider(stage, f"{path}/b", size=0.25)
    UsdPhysics.MassAPI.Apply(stage.GetPrimAtPath(f"{path}/b")).CreateMassAttr(20.0)
    UsdGeom.Xformable(stage.GetPrimAtPath(f"{path}/b")).AddTranslateOp().Set((0.4, 0.0, 0.1))


@pytest.mark.parametrize(
    ("prototype", "copies"), [(_jointed, 3), (_half_stated, 40)], ids=["by three copies", "each for itself"]
)
@pytest.mark.parametrize("mirrored", [False, True])
def test_many_sizes(tmp_path: Path, prototype: Callable[[Usd.Stage, str], None], copies: int, mirrored: bool) -> None:
    places = spread(40)
    sizes = np.exp(np.random.default_rng(1).uniform(-2.0, 2.0, 40)).astype(np.float32)
    places.scales = np.outer(sizes, [-1.0 if mirrored else 1.0, 1.0, 1.0])
    instanced, prims = _stage(tmp_path / "a"), _stage(tmp_path / "b")
    add_instancer(instanced, "/World/Inst", [prototype], places)
    add_prims(prims, "/World/Inst", [prototype], places)
    a, b = load(instanced), load(prims)
    _same_rows(a, b, "body", ("body_q", "body_qd", "body_mass", "body_com", "body_inertia"))
    _same_rows(a, b, "shape", ("shape_type", "shape_scale", "shape_transform", "shape_density"))
    _same_rows(a, b, "joint", ("joint_type", "joint_X_p", "joint_X_c"))
    _same_rows(a, b, "joint_dof", ("joint_axis", "joint_limit_lower", "joint_limit_upper"))
    _same_rows(a, b, "joint_coord", ("joint_q",))
    found = instanced_scan(scan(instanced))
    assert len(found.copies) == 3
    found = instanced_scan(scan(instanced), size_by_size={"/World/Inst/Protos/p0"} if copies > 3 else frozenset())
    assert len(found.copies) == copies


def test_under_uneven_and_mirroring_ancestors(tmp_path: Path) -> None:
    places = spread(4)
    places.orientations = np.tile([[0.0, 0.0, 0.0, 1.0], [2**-0.5, 0.0, 0.0, 2**-0.5]], (2, 1))  # along the axes
    models = []
    for name, add in (("a", add_instancer), ("b", add_prims)):
        stage = _stage(tmp_path / name)
        world = UsdGeom.Xform(stage.GetPrimAtPath("/World"))
        world.AddRotateZOp().Set(30.0)
        world.AddScaleOp().Set((1.0, -2.0, 3.0))
        add(stage, "/World/Inst", [box], places)
        models.append(load(stage))
    _same_rows(*models, "body", ("body_mass", "body_com", "body_inertia"))
    np.testing.assert_allclose(models[0].body_mass.numpy(), 6 * 125.0, rtol=SINGLE)
    np.testing.assert_allclose(models[0].body_q.numpy()[:, :3], models[1].body_q.numpy()[:, :3], atol=ROUNDED)


def test_animated_ancestors_are_read_at_the_start(tmp_path: Path) -> None:
    stage = _stage(tmp_path)
    stage.SetStartTimeCode(10.0)
    op = UsdGeom.Xform(stage.GetPrimAtPath("/World")).AddTranslateOp()
    op.Set((0, 0, 0), 0.0)
    op.Set((20, 0, 0), 20.0)
    add_instancer(stage, "/World/Inst", [box], Places(np.array([[1.0, 2.0, 3.0]])))
    np.testing.assert_allclose(load(stage).body_q.numpy()[0, :3], (11, 2, 3), atol=SINGLE)


def test_inactive_instances_do_not_exist_and_invisible_ones_do(tmp_path: Path) -> None:
    stage = _stage(tmp_path)
    instancer = add_instancer(stage, "/World/Inst", [box], spread(4))
    instancer.CreateIdsAttr([7, 8, 9, 10])
    instancer.DeactivateId(8)
    instancer.InvisId(10, Usd.TimeCode.Default())
    model = load(stage)
    assert model.body_instance.numpy().tolist() == [0, 2, 3]
    assert model.body_label == ["/World/Inst[0]", "/World/Inst[2]", "/World/Inst[3]"]


def test_several_prototypes_come_in_the_order_of_instances(tmp_path: Path) -> None:
    stage = _stage(tmp_path)
    prototypes = [box, lambda s, p: UsdGeom.Sphere.Define(s, p), lambda s, p: box(s, p, size=1.0)]
    add_instancer(stage, "/World/Inst", prototypes, spread(5), which=[2, 0, 1, 0, 2])
    model = load(stage)
    assert model.body_instance.numpy().tolist() == [0, 1, 3, 4]  # the sphere has no physics
    np.testing.assert_allclose(model.body_mass.numpy(), [1000.0, 125.0, 125.0, 1000.0], rtol=SINGLE)


def test_velocities_are_those_of_the_instances_origin(tmp_path: Path) -> None:
    stage = _stage(tmp_path, meters=0.01)
    UsdGeom.Xform(stage.GetPrimAtPath("/World")).AddRotateZOp().Set(90.0)
    places = Places(
        np.array([[0.0, 0.0, 100.0]]), velocities=np.array([[100.0, 0, 0]]), angular=np.array([[0, 0, 180.0]])
    )
    add_instancer(stage, "/World/Inst", [lambda s, p: box(s, p, size=20.0, offset=(50.0, 0.0, 0.0))], places)
    model = load(stage)
    # 1 m/s along world y at the origin, and half a turn per second around it, half a metre along world y
    expected = [-0.5 * np.pi, 1.0, 0.0, 0.0, 0.0, np.pi]
    np.testing.assert_allclose(model.body_qd.numpy()[0], expected, atol=ROUNDED)
    np.testing.assert_allclose(model.joint_qd.numpy(), model.body_qd.numpy()[0], atol=SINGLE)


def test_prototypes_with_joints_are_copied_whole(tmp_path: Path) -> None:
    places = spread(3)
    places.scales = np.array([[1.0] * 3, [2.0] * 3, [1.0] * 3])
    models = []
    for name, add in (("a", add_instancer), ("b", add_prims)):
        stage = _stage(tmp_path / name)
        box(stage, "/World/Own")
        add(stage, "/World/Inst", [pendulum], places)
        models.append(load(stage))
    model = models[0]
    _same_rows(*models, "body", ("body_q", "body_mass", "body_inertia"))
    assert model.joint_count == 7
    assert model.articulation_count == 4
    assert model.body_label[1:3] == ["/World/Inst[0]/upper", "/World/Inst[0]/lower"]
    hinges = model.binding.rows("joint", "/World/Inst/Protos/p0/hinge")
    child, parent = model.joint_child.numpy()[hinges], model.joint_parent.numpy()[hinges]
    assert [(model.body_label[a], model.body_label[b]) for a, b in zip(parent, child, strict=True)] == [
        (f"/World/Inst[{i}]/upper", f"/World/Inst[{i}]/lower") for i in range(3)
    ]
    np.testing.assert_allclose(model.joint_X_p.numpy()[hinges, 0], [0.3, 0.6, 0.3], atol=SINGLE)
    pairs = model.shape_collision_filter_pairs.numpy()
    body = model.shape_body.numpy()
    assert sorted(tuple(sorted(body[pair])) for pair in pairs) == [(1, 2), (3, 4), (5, 6)]


def test_actuators_and_tendons_are_copied_with_the_joints(tmp_path: Path) -> None:
    def motored(stage: Usd.Stage, path: str) -> None:
        pendulum(stage, path)
        motor = stage.DefinePrim(f"{path}/motor", "MjcActuator")
        motor.CreateRelationship("mjc:target").SetTargets([f"{path}/hinge"])
        tendon = stage.DefinePrim(f"{path}/tendon", "MjcTendon")
        tendon.CreateAttribute("mjc:type", Sdf.ValueTypeNames.Token).Set("fixed")
        tendon.CreateRelationship("mjc:path").SetTargets([f"{path}/hinge"])

    stage = _stage(tmp_path)
    pendulum(stage, "/World/Own")
    add_instancer(stage, "/World/Inst", [motored], spread(3))
    model = load(stage)
    hinges = model.binding.rows("joint", "/World/Inst/Protos/p0/hinge")
    dofs = model.joint_qd_start.numpy()[hinges].tolist()
    assert model.array("mujoco:actuator_dof").numpy().tolist() == dofs
    assert model.array("mujoco:wrap_dof").numpy().tolist() == dofs
    assert model.array("mujoco:wrap_tendon").numpy().tolist() == [0, 1, 2]


def test_instances_are_found_by_their_labels(tmp_path: Path) -> None:
    stage = _stage(tmp_path)
    places = spread(2)
    add_instancer(stage, "/World/Inst", [box], places)
    facts = describe(load(stage))
    assert (facts["bodies"], facts["shapes"]) == (2, 3)
    assert facts["body_paths"] == ["/World/Inst[0]", "/World/Inst[1]"]
    position, _ = Simulation(load(stage)).body_pose("/World/Inst[1]")
    np.testing.assert_allclose(position, places.positions[1], atol=SINGLE)


def test_a_joint_to_the_world_holds_each_instance_where_it_is(tmp_path: Path) -> None:
    def hanging(stage: Usd.Stage, path: str) -> None:
        pendulum(stage, path)
        joint = UsdPhysics.FixedJoint.Define(stage, f"{path}/anchor")
        joint.CreateBody1Rel().SetTargets([f"{path}/upper"])

    stage = _stage(tmp_path)
    add_instancer(stage, "/World/Inst", [hanging], spread(2))
    model = load(stage)
    anchors = model.binding.rows("joint", "/World/Inst/Protos/p0/anchor")
    upper = [model.body_label.index(f"/World/Inst[{i}]/upper") for i in range(2)]
    np.testing.assert_allclose(model.joint_X_p.numpy()[anchors], model.body_q.numpy()[upper], atol=ROUNDED)


def test_colliders_alone_are_static(tmp_path: Path) -> None:
    stage = _stage(tmp_path)
    add_instancer(stage, "/World/Rocks", [collider], spread(3))
    box(stage, "/World/Own")
    model = load(stage)
    assert model.body_count == 1
    rows = model.binding.rows("shape", "/World/Rocks")
    assert model.shape_body.numpy()[rows].tolist() == [-1] * 3
    drawn = instance_matrices(stage, "/World/Rocks", 0.0)
    np.testing.assert_allclose(model.shape_transform.numpy()[rows, :3], drawn[:, 3, :3], atol=ROUNDED)


def test_colliders_below_a_body_move_and_weigh_with_it(tmp_path: Path) -> None:
    stages = []
    for name, add in (("a", add_instancer), ("b", add_prims)):
        stage = _stage(tmp_path / name)
        body = UsdGeom.Xform.Define(stage, "/World/Body")
        body.AddTranslateOp().Set((1.0, 2.0, 3.0))
        UsdPhysics.RigidBodyAPI.Apply(body.GetPrim())
        add(stage, "/World/Body/Studs", [collider], spread(3))
        stages.append(stage)
    a, b = map(load, stages)
    assert a.body_count == 1
    _same_rows(a, b, "body", ("body_q", "body_mass", "body_com", "body_inertia"))
    _same_rows(a, b, "shape", ("shape_body", "shape_transform", "shape_scale"))
    assert a.binding.rows("shape", "/World/Body/Studs") == [1, 2, 3]
    assert a.shape_label[3] == "/World/Body/Studs[2]"


def test_animated_instancers_of_what_stands_still_are_told(tmp_path: Path) -> None:
    stage = _stage(tmp_path)
    for name, define in (("Rocks", collider), ("Rain", box)):
        instancer = add_instancer(stage, f"/World/{name}", [define], spread(2))
        op = instancer.AddTranslateOp()
        op.Set((0, 0, 0), 0.0)
        op.Set((1, 0, 0), 10.0)
    assert [entry.prim for entry in load(stage).report.approximated] == ["/World/Rocks"]


def test_total_mass_counts_all_instances(tmp_path: Path) -> None:
    stage = _stage(tmp_path)
    scene = stage.GetPrimAtPath("/World/scene")
    scene.AddAppliedSchema("MjcSceneAPI")
    scene.CreateAttribute("mjc:compiler:setTotalMass", Sdf.ValueTypeNames.Double).Set(12.0)
    box(stage, "/World/Own")
    add_instancer(stage, "/World/Inst", [box], spread(3))
    np.testing.assert_allclose(load(stage).body_mass.numpy(), 3.0, rtol=SINGLE)


def test_instancers_in_prototypes_multiply(tmp_path: Path) -> None:
    stage = _stage(tmp_path)
    outer = Places(np.array([[0.0, 0.0, 2.0], [10.0, 0.0, 2.0], [20.0, 0.0, 2.0]]))
    outer.orientations = np.tile([0.0, 0.0, 2**-0.5, 2**-0.5], (3, 1))
    outer.scales = np.array([[1.0] * 3, [2.0] * 3, [1.0] * 3])
    inner = Places(np.array([[1.0, 0.0, 0.0], [2.0, 0.0, 0.0]]))

    def group(stage: Usd.Stage, path: str) -> None:
        UsdGeom.Xform.Define(stage, path)
        add_instancer(stage, f"{path}/Inner", [box], inner)

    add_instancer(stage, "/World/Outer", [group], outer)
    model = load(stage)
    place = model.body_q.numpy()[:, :3]
    expected = [[10.0 * i, (1 + (i == 1)) * (j + 1), 2.0] for i in range(3) for j in range(2)]
    np.testing.assert_allclose(place, expected, atol=ROUNDED)
    np.testing.assert_allclose(model.body_mass.numpy(), [125, 125, 1000, 1000, 125, 125], rtol=SINGLE)
    assert model.body_label[3] == "/World/Outer[1]/p0/Inner[1]"
    assert model.body_instancer == ["/World/Outer/Protos/p0/Inner"] * 6
    assert model.body_instance.numpy().tolist() == list(range(6))


def test_instanced_colliders_of_an_instanced_body(tmp_path: Path) -> None:
    def studded(stage: Usd.Stage, path: str) -> None:
        box(stage, path)
        add_instancer(stage, f"{path}/Studs", [collider], Places(np.array([[0.5, 0, 0], [-0.5, 0, 0]])))

    stage = _stage(tmp_path)
    add_instancer(stage, "/World/Inst", [studded], spread(2))
    model = load(stage)
    assert model.body_count == 2
    np.testing.assert_allclose(model.body_mass.numpy(), 3 * 125.0, rtol=SINGLE)
    assert sorted(model.shape_body.numpy().tolist()) == [-1, 0, 0, 0, 1, 1, 1]


def test_prototypes_may_be_instanceable_references(tmp_path: Path) -> None:
    stage = _stage(tmp_path)
    pendulum(stage, "/Library/pendulum")
    stage.GetPrimAtPath("/Library").SetActive(True)
    instancer = add_instancer(stage, "/World/Inst", [], spread(3))
    prim = stage.DefinePrim("/World/Inst/Protos/p0")
    prim.GetReferences().AddInternalReference("/Library/pendulum")
    prim.SetInstanceable(True)
    instancer.CreatePrototypesRel().AddTarget(prim.GetPath())
    model = load(stage)
    assert model.binding.rows("body", "/World/Inst") == [2, 3, 4, 5, 6, 7]
    assert len(model.binding.rows("joint", "/World/Inst/Protos/p0/hinge")) == 3


def test_materials_reach_instances(tmp_path: Path) -> None:
    stage = _stage(tmp_path)
    material = UsdShade.Material.Define(stage, "/World/Slippery")
    UsdPhysics.MaterialAPI.Apply(material.GetPrim()).CreateDynamicFrictionAttr(0.05)
    instancer = add_instancer(stage, "/World/Inst", [box], spread(2))
    proto = stage.GetPrimAtPath("/World/Inst/Protos/p0")
    UsdShade.MaterialBindingAPI.Apply(proto).Bind(material, materialPurpose="physics")
    model = load(stage)
    np.testing.assert_allclose(model.shape_material_mu.numpy()[1:], 0.05, rtol=SINGLE)
    assert model.shape_material_path[1:] == ["/World/Slippery"] * 2
    assert instancer.GetPrim()


def test_collision_groups_hold_for_instances(tmp_path: Path) -> None:
    stage = _stage(tmp_path)
    places = spread(3)
    places.scales = np.array([[1.0] * 3, [2.0] * 3, [3.0] * 3])
    add_instancer(stage, "/World/Inst", [box], places)
    group = UsdPhysics.CollisionGroup.Define(stage, "/World/group")
    group.GetCollidersCollectionAPI().CreateIncludesRel().SetTargets(["/World/Inst"])
    group.CreateFilteredGroupsRel().SetTargets(["/World/group"])
    model = load(stage)
    rows = model.binding.rows("shape", "/World/Inst")
    classes, masks = model.shape_filter_class.numpy()[rows], model.shape_filter_mask.numpy()[rows]
    assert (classes & masks > 0).all()
    assert model.shape_filter_class.numpy()[0] == 0  # the ground


@pytest.mark.parametrize("target", ["/World/Inst", "/World/Inst/Protos/p0"])
def test_filtered_pairs_hold_for_all_instances(tmp_path: Path, target: str) -> None:
    stage = _stage(tmp_path)
    places = spread(3)
    places.scales = np.array([[1.0] * 3, [2.0] * 3, [3.0] * 3])
    add_instancer(stage, "/World/Inst", [box], places)
    box(stage, "/World/Own")
    own = stage.GetPrimAtPath("/World/Own")
    UsdPhysics.FilteredPairsAPI.Apply(own).CreateFilteredPairsRel().SetTargets([target])
    model = load(stage)
    body = model.shape_body.numpy()[model.shape_collision_filter_pairs.numpy()]
    assert sorted(map(tuple, np.sort(body, axis=1))) == [(0, 1), (0, 2), (0, 3)]


def test_pairs_of_different_instances_are_told(tmp_path: Path) -> None:
    stage = _stage(tmp_path)
    prototypes = [box, lambda s, p: box(s, p, size=1.0)]
    add_instancer(stage, "/World/Inst", prototypes, spread(4), which=[0, 1, 0, 1])
    first = stage.GetPrimAtPath("/World/Inst/Protos/p0")
    UsdPhysics.FilteredPairsAPI.Apply(first).CreateFilteredPairsRel().SetTargets(["/World/Inst/Protos/p1"])
    model = load(stage)
    assert len(model.shape_collision_filter_pairs) == 0
    assert [(entry.prim, entry.property) for entry in model.report.ignored] == [
        ("/World/Inst/Protos/p0", "physics:filteredPairs")
    ]


def test_the_report_speaks_of_real_prims_once(tmp_path: Path) -> None:
    def capsule(stage: Usd.Stage, path: str) -> None:
        prim = UsdGeom.Capsule.Define(stage, path).GetPrim()
        UsdPhysics.RigidBodyAPI.Apply(prim)
        UsdPhysics.CollisionAPI.Apply(prim)

    stage = _stage(tmp_path)
    places = spread(3)
    places.scales = np.array([[1.0, 2.0, 1.0], [1.0, 3.0, 1.0], [1.0, 4.0, 1.0]])
    add_instancer(stage, "/World/Inst", [capsule], places)
    report = load(stage).report
    assert [entry.prim for entry in report.approximated] == ["/World/Inst/Protos/p0"]
    assert not report.ignored


def test_what_cannot_be_read_is_told(tmp_path: Path) -> None:
    stage = _stage(tmp_path)
    instancer = add_instancer(stage, "/World/Inst", [box], spread(3), which=[0, 5, 0])
    report = load(stage).report
    assert [(entry.prim, entry.property) for entry in report.ignored] == [("/World/Inst", "protoIndices")]
    assert load(stage).body_instance.numpy().tolist() == [0, 2]
    instancer.CreateScalesAttr([(1, 1, 1)])
    with pytest.raises(UsdSimError, match=r"/World/Inst.*same length"):
        load(stage)
    instancer.GetScalesAttr().Set([(1, 1, 1)] * 3)
    instancer.GetPositionsAttr().Set([(0, 0, 0), (0, 0, 0), (float("nan"), 0, 0)])
    with pytest.raises(UsdSimError, match="instance 2 is not a finite number"):
        load(stage)


def test_incomplete_instancers_make_nothing(tmp_path: Path) -> None:
    stage = _stage(tmp_path)
    UsdGeom.PointInstancer.Define(stage, "/World/Bare")
    empty = add_instancer(stage, "/World/Empty", [box], Places(np.zeros((0, 3))))
    empty.CreatePrototypesRel().AddTarget("/World/Nowhere")
    model = load(stage)
    assert (model.body_count, model.shape_count) == (0, 1)
    assert [(entry.prim, entry.property) for entry in model.report.ignored] == [
        ("/World/Empty", "prototypes"),
        ("/World/Empty/Protos/p0", ""),
    ]


def test_prototypes_that_physics_cannot_read_are_told(tmp_path: Path) -> None:
    stage = _stage(tmp_path)
    box(stage, "/Library/box")
    stage.GetPrimAtPath("/Library").SetSpecifier(Sdf.SpecifierClass)
    instancer = add_instancer(stage, "/World/Inst", [], spread(2))
    instancer.CreatePrototypesRel().AddTarget("/Library/box")
    model = load(stage)
    assert model.body_count == 0
    assert [(entry.prim, entry.property) for entry in model.report.ignored] == [("/World/Inst", "prototypes")]


def test_a_flat_instance_is_an_error(tmp_path: Path) -> None:
    stage = _stage(tmp_path)
    places = spread(2)
    places.scales = np.array([[1.0, 1.0, 1.0], [1.0, 0.0, 1.0]])
    add_instancer(stage, "/World/Inst", [box], places)
    with pytest.raises(UsdSimError, match=r"/World/Inst/Protos/p0.*scale is zero"):
        load(stage)


def test_orientations_need_no_unit_length(tmp_path: Path) -> None:
    stage = _stage(tmp_path)
    instancer = add_instancer(stage, "/World/Inst", [box], Places(spread(2).positions))
    instancer.CreateOrientationsAttr([Gf.Quath(0, 0, 0, 0), Gf.Quath(2, 2, 0, 0)])
    model = load(stage)
    np.testing.assert_allclose(model.body_mass.numpy(), 125.0, rtol=SINGLE)
    np.testing.assert_allclose(
        np.abs(model.body_q.numpy()[:, 3:]), [[0, 0, 0, 1], [2**-0.5, 0, 0, 2**-0.5]], atol=SINGLE
    )


def test_an_instancer_that_instances_itself_is_an_error(tmp_path: Path) -> None:
    stage = _stage(tmp_path)

    def loop(stage: Usd.Stage, path: str) -> None:
        box(stage, path)
        inner = add_instancer(stage, f"{path}/Inner", [box], spread(2), which=[0, 1])
        inner.CreatePrototypesRel().AddTarget(path)

    add_instancer(stage, "/World/Inst", [loop], spread(2))
    with pytest.raises(UsdSimError, match="prototype of itself"):
        load(stage)


def test_joints_that_leave_the_prototype_are_ignored(tmp_path: Path) -> None:
    stage = _stage(tmp_path)
    box(stage, "/World/Own")

    def tied(stage: Usd.Stage, path: str) -> None:
        pendulum(stage, path)
        joint = UsdPhysics.FixedJoint.Define(stage, f"{path}/tie")
        joint.CreateBody0Rel().SetTargets([Sdf.Path("/World/Own")])
        joint.CreateBody1Rel().SetTargets([f"{path}/upper"])

    add_instancer(stage, "/World/Inst", [tied], spread(2))
    model = load(stage)
    assert [entry.prim for entry in model.report.ignored] == ["/World/Inst/Protos/p0/tie"]
    assert not model.binding.rows("joint", "/World/Inst/Protos/p0/tie")


def test_prims_of_their_own_keep_their_rows(tmp_path: Path) -> None:
    stage = _stage(tmp_path)
    box(stage, "/World/A")
    add_instancer(stage, "/World/Inst", [pendulum], spread(2))
    box(stage, "/World/Z")
    UsdGeom.Xformable(stage.GetPrimAtPath("/World/Z")).AddTranslateOp().Set(Gf.Vec3d(5, 0, 0))
    model = load(stage)
    assert model.body_label[:2] == ["/World/A", "/World/Z"]
    np.testing.assert_allclose(model.body_q.numpy()[1, :3], (5, 0, 0))
    assert [model.joint_label[row] for row in np.flatnonzero(model.joint_child.numpy() < 2)] == [
        "/World/A (free)",
        "/World/Z (free)",
    ]
