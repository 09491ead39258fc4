"""Reading motion: who follows what, what is promoted, what the poses and rates are, and what the report says."""

from __future__ import annotations

import math

import numpy as np
import pytest
from pxr import Gf, Usd, UsdGeom, UsdPhysics

import usd_sim
from usd_sim.geometry import transforms as tf
from usd_sim.model.types import BodyFlags, JointTargetMode
from usd_sim.stage.motion import KNOTS_PER_SECOND, Clock, Timing, Track, TransformTimes


@pytest.fixture
def stage() -> Usd.Stage:
    stage = Usd.Stage.CreateInMemory()
    stage.SetTimeCodesPerSecond(24)
    stage.SetStartTimeCode(10)
    UsdGeom.SetStageMetersPerUnit(stage, 0.01)
    UsdPhysics.Scene.Define(stage, "/Scene")
    return stage


def shape(stage: Usd.Stage, path: str, kind=UsdGeom.Cube):
    prim = kind.Define(stage, path)
    UsdPhysics.CollisionAPI.Apply(prim.GetPrim())
    return prim


def body(stage: Usd.Stage, path: str, *, kinematic: bool = False):
    prim = shape(stage, path)
    UsdPhysics.RigidBodyAPI.Apply(prim.GetPrim()).CreateKinematicEnabledAttr(kinematic)
    return prim


def slide(xformable, end: float = 100.0, codes=(10, 34)) -> None:
    """Move a prim along x over one second."""
    attribute = xformable.AddTranslateXOp().GetAttr()
    attribute.Set(0.0, codes[0])
    attribute.Set(end, codes[1])


def load(stage: Usd.Stage, **options):
    return usd_sim.load(stage, device="cpu", **options)


def said(model, path: str) -> str:
    entries = [*model.report.approximated, *model.report.ignored]
    return "; ".join(entry.message for entry in entries if entry.prim == path)


# --- tracks ---------------------------------------------------------------------------------------------------------


def test_tracks_read_at_samples_and_at_a_grid():
    read_at: list[float] = []

    def read(codes):
        read_at.extend(codes)
        return np.array(codes)[:, None]

    track = Track(Clock(10.0, 24.0), Timing(frozenset({0.0, 10.5, 14.0})), read)
    assert track.end == pytest.approx(4 / 24)
    before, after, share, until = track.around(0.5 / 24)
    assert before[0] + share * (after[0] - before[0]) == pytest.approx(10.5)
    assert before[0] == pytest.approx(10.5)  # a sample off the grid, which is ten times as fine as the time codes
    assert until == pytest.approx(0.6 / 24)
    assert min(read_at) == 10.0
    assert max(np.diff(sorted(read_at))) <= 24 / KNOTS_PER_SECOND + 1e-12
    last = track.around(0.2)
    assert (last[0][0], last[2], last[3]) == (14.0, 0.0, math.inf)
    assert max(read_at) == 14.0


def test_a_track_without_end_goes_on():
    track = Track(Clock(0.0, 30.0), Timing(endless=True), lambda codes: np.array(codes)[:, None])
    before, after, share, _ = track.around(1000.001)
    assert before[0] + share * (after[0] - before[0]) == pytest.approx(30000.03)


def test_transform_times_look_up_to_a_reset(stage):
    slide(UsdGeom.Xform.Define(stage, "/A"))
    UsdGeom.Xform.Define(stage, "/A/B")
    UsdGeom.Xform.Define(stage, "/A/B/C").SetResetXformStack(True)
    slide(UsdGeom.Xform.Define(stage, "/A/B/C/D"))
    times = TransformTimes(stage)
    assert times.nearest("/A/B") == "/A"
    assert not times.of("/A/B/C").varies
    assert times.nearest("/A/B/C/D") == "/A/B/C/D"
    assert times.of("/A/B").codes == {10.0, 34.0}
    assert not times.of("/__copy_0/X").varies
    assert times.nearest("") == ""


def test_samples_that_are_all_alike_are_no_motion(stage):
    attribute = shape(stage, "/Wall").AddTranslateXOp().GetAttr()
    for code in range(5):
        attribute.Set(7.0, code)
    body(stage, "/Body")
    model = load(stage)
    assert model.body_path == ["/Body"]
    np.testing.assert_allclose(model.shape_transform.numpy()[model.shape_path.index("/Wall"), 0], 0.07)


# --- poses ----------------------------------------------------------------------------------------------------------


def test_velocities_lead_from_pose_to_pose(stage):
    rig = UsdGeom.Xform.Define(stage, "/Rig")
    rig.AddScaleOp().Set(Gf.Vec3f(2, 2, 2))
    slide(rig)
    turn = rig.AddRotateXYZOp().GetAttr()
    turn.Set(Gf.Vec3f(0, 0, 0), 10)
    turn.Set(Gf.Vec3f(90, 40, -200), 34)
    crank = body(stage, "/Rig/Crank", kinematic=True)
    crank.AddTranslateOp().Set(Gf.Vec3d(30, 0, 0))
    UsdPhysics.MassAPI.Apply(crank.GetPrim()).CreateCenterOfMassAttr((5, 6, 7))
    motion = load(stage).scene.motion
    for time in (0.0, 0.1, 0.77):
        rows, here, velocity = motion.sample(time)
        span = motion.next_knot(time) - time
        there = motion.poses(time + span)
        assert rows.tolist() == [0]
        matrix = UsdGeom.XformCache(10 + 24 * time).GetLocalToWorldTransform(crank.GetPrim())
        # straight from knot to knot, on an arc of a metre at some 4 rad/s
        np.testing.assert_allclose(here[0, :3], 0.01 * np.array(matrix.ExtractTranslation()), atol=1e-4)
        moved = here[:, :3] + span * (
            velocity[:, :3] - np.cross(velocity[:, 3:], tf.quat_rotate(here[:, 3:], motion.com))
        )
        np.testing.assert_allclose(moved, there[:, :3], atol=1e-12)
        angle = np.linalg.norm(velocity[:, 3:], axis=1) * span
        turned = tf.quat_multiply(tf.quat_from_axis_angle(velocity[:, 3:], angle), here[:, 3:])
        np.testing.assert_allclose(np.abs((turned * there[:, 3:]).sum(axis=1)), 1.0, atol=1e-12)
    np.testing.assert_array_equal(motion.sample(1.0)[2], 0.0)


def test_the_initial_state_has_the_rates_of_the_start(stage):
    slide(body(stage, "/Sled", kinematic=True))
    UsdPhysics.RigidBodyAPI(stage.GetPrimAtPath("/Sled")).CreateVelocityAttr((7, 7, 7))
    model = load(stage)
    np.testing.assert_allclose(model.body_qd.numpy()[0, :3], (1, 0, 0), atol=1e-6)
    later = load(stage, time=22)
    np.testing.assert_allclose(later.body_q.numpy()[0, :3], (0.5, 0, 0), atol=1e-6)
    after = load(stage, time=40)
    np.testing.assert_allclose(after.body_q.numpy()[0, :3], (1, 0, 0), atol=1e-6)
    np.testing.assert_array_equal(after.body_qd.numpy(), 0.0)


def test_who_follows(stage):
    slide(body(stage, "/Kinematic", kinematic=True))
    slide(body(stage, "/Dynamic"))
    still = body(stage, "/Still", kinematic=True)
    UsdPhysics.RigidBodyAPI(still).CreateVelocityAttr((100, 0, 0))
    model = load(stage)
    assert [model.body_path[row] for row in model.scene.motion.rows] == ["/Kinematic"]
    np.testing.assert_allclose(model.body_qd.numpy()[model.body_path.index("/Still"), :3], (1, 0, 0))


# --- promotion ------------------------------------------------------------------------------------------------------


def test_moving_colliders_are_promoted_by_the_prim_that_moves_them(stage):
    slide(UsdGeom.Xform.Define(stage, "/Lift"))
    for name in ("Floor", "Wall"):
        shape(stage, f"/Lift/{name}").AddTranslateOp().Set(Gf.Vec3d(0, 50, 0))
    door = shape(stage, "/Lift/Door")
    slide(door, 10.0)
    shape(stage, "/Ground").AddTranslateOp().Set(Gf.Vec3d(0, 0, -100))
    shape(stage, "/Lift/Plane", UsdGeom.Plane)
    body(stage, "/Lift/Load")
    model = load(stage)
    promoted = np.flatnonzero(model.body_flags.numpy() & int(BodyFlags.PROMOTED))
    assert sorted(model.body_path[row] for row in promoted) == ["/Lift", "/Lift/Door"]
    carriers = {
        path: model.body_path[row] if row >= 0 else ""
        for path, row in zip(model.shape_path, model.shape_body.numpy(), strict=True)
    }
    assert carriers == {
        "/Lift/Floor": "/Lift",
        "/Lift/Wall": "/Lift",
        "/Lift/Door": "/Lift/Door",
        "/Ground": "",
        "/Lift/Plane": "",
        "/Lift/Load": "/Lift/Load",
    }
    wall = model.shape_path.index("/Lift/Wall")
    np.testing.assert_allclose(model.shape_transform.numpy()[wall, :3], (0, 0.5, 0), atol=1e-6)
    assert model.body_mass.numpy()[promoted].tolist() == [0.0, 0.0]
    assert "promoted" in said(model, "/Lift")
    assert "planes do not move" in said(model, "/Lift/Plane")
    moved = model.scene.motion.poses(0.5)
    lift = list(model.scene.motion.rows).index(model.body_path.index("/Lift"))
    assert moved[lift, 0] == pytest.approx(0.5)


def test_an_animated_scale_is_reported(stage):
    slab = shape(stage, "/Slab")
    slide(slab)
    scale = slab.AddScaleOp().GetAttr()
    scale.Set(Gf.Vec3f(1, 1, 1), 10)
    scale.Set(Gf.Vec3f(1, 1, 2), 34)
    model = load(stage)
    assert "scale changes" in said(model, "/Slab")
    np.testing.assert_allclose(model.shape_scale.numpy()[0], 0.01)


# --- joints ---------------------------------------------------------------------------------------------------------


def hinge(stage: Usd.Stage, path: str, first: str, second: str):
    joint = UsdPhysics.RevoluteJoint.Define(stage, path)
    joint.CreateAxisAttr("Z")
    if first:
        joint.CreateBody0Rel().SetTargets([first])
    if second:
        joint.CreateBody1Rel().SetTargets([second])
    return joint


@pytest.mark.parametrize("ends", [("/Rig/Hook", "/Bob"), ("/Bob", "/Rig/Hook")])
def test_an_anchor_that_moves_takes_its_joint_along(stage, ends):
    slide(UsdGeom.Xform.Define(stage, "/Rig"))
    UsdGeom.Xform.Define(stage, "/Rig/Hook").AddTranslateOp().Set(Gf.Vec3d(0, 20, 0))
    body(stage, "/Bob").AddTranslateOp().Set(Gf.Vec3d(0, 20, 0))
    hinge(stage, "/Joint", *ends)
    model = load(stage)
    joint = model.joint_path.index("/Joint")
    parent, child = (model.body_path[model.array(f"joint_{end}").numpy()[joint]] for end in ("parent", "child"))
    assert (parent, child) == ("/Rig", "/Bob")
    np.testing.assert_allclose(model.joint_X_p.numpy()[joint, :3], (0, 0.2, 0), atol=1e-6)


def test_joints_between_what_moves_as_authored_are_left_out(stage):
    slide(body(stage, "/A", kinematic=True))
    slide(body(stage, "/B", kinematic=True))
    hinge(stage, "/AB", "/A", "/B")
    hinge(stage, "/WorldA", "", "/A")
    body(stage, "/Free")
    hinge(stage, "/AFree", "/A", "/Free")
    model = load(stage)
    assert [path for path in model.joint_path if path] == ["/AFree"]
    assert "holds nothing" in said(model, "/AB")
    assert "holds nothing" in said(model, "/WorldA")


# --- values ---------------------------------------------------------------------------------------------------------


def test_switches_count_from_the_start(stage):
    prim = body(stage, "/Body").GetPrim()
    flag = prim.GetAttribute("physics:kinematicEnabled")
    flag.Clear()
    for code, value in ((0, False), (12, True), (22, True), (34, False)):
        flag.Set(value, code)
    switches = load(stage).scene.motion.switches
    assert [(round(switch.time * 24), switch.row, switch.kinematic) for switch in switches] == [
        (2, 0, True),
        (24, 0, False),
    ]
    late = load(stage, time=12)
    assert [switch.kinematic for switch in late.scene.motion.switches] == [False]
    assert late.body_flags.numpy()[0] == BodyFlags.KINEMATIC


def test_a_massless_body_cannot_become_dynamic(stage):
    prim = UsdGeom.Xform.Define(stage, "/Body").GetPrim()
    flag = UsdPhysics.RigidBodyAPI.Apply(prim).CreateKinematicEnabledAttr()
    flag.Set(True, 10)
    flag.Set(False, 20)
    errors = load(stage, strict=False).report.errors
    assert [(entry.prim, entry.property) for entry in errors] == [("/Body", "physics:kinematicEnabled")]


def test_targets_are_si_and_find_their_freedom(stage):
    slide_joint = UsdPhysics.Joint.Define(stage, "/D6")
    body(stage, "/A")
    slide_joint.CreateBody1Rel().SetTargets(["/A"])
    for name in ("rotX", "rotY", "transY", "transZ"):
        limit = UsdPhysics.LimitAPI.Apply(slide_joint.GetPrim(), name)
        limit.CreateLowAttr(1.0)
        limit.CreateHighAttr(-1.0)
    for name, stiffness in (("transX", 3.0), ("rotZ", 0.0)):
        drive = UsdPhysics.DriveAPI.Apply(slide_joint.GetPrim(), name)
        drive.CreateStiffnessAttr(stiffness)
        drive.CreateDampingAttr(1.0)
        position, velocity = drive.CreateTargetPositionAttr(), drive.CreateTargetVelocityAttr()
        for code, factor in ((10, 0.0), (34, 1.0)):
            position.Set(90.0 * factor, code)
            velocity.Set(180.0 * factor, code)
    lost = UsdPhysics.DriveAPI.Apply(slide_joint.GetPrim(), "rotX").CreateTargetPositionAttr()
    lost.Set(1.0, 10)
    lost.Set(2.0, 20)
    model = load(stage)
    targets = model.scene.motion.targets
    names = model.joint_dof_name
    positions, velocities, _ = targets.at(0.5)
    found = {names[row]: value for row, value in zip(targets.position_dofs, positions, strict=True)}
    assert found == pytest.approx({"transX": 0.45, "rotZ": math.radians(45)})
    found = {names[row]: value for row, value in zip(targets.velocity_dofs, velocities, strict=True)}
    assert found == pytest.approx({"transX": 0.9, "rotZ": math.radians(90)})
    modes = {name: mode for name, mode in zip(names, model.joint_target_mode.numpy(), strict=True) if name}
    assert modes == {"transX": JointTargetMode.POSITION_VELOCITY, "rotZ": JointTargetMode.VELOCITY}
    assert "no such freedom" in said(model, "/D6")
