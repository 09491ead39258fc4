"""Motion that a stage authors: animated kinematic bodies carry and push others, flags switch, drives follow targets."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from pxr import Gf, Sdf, Ts, Usd, UsdGeom, UsdPhysics

import usd_sim
from usd_sim.errors import UsdSimError
from usd_sim.model.types import BodyFlags

RATE = 24.0
"""Time codes per second of the stages here."""

PENETRATION = 2.0e-3
"""Depth that MuJoCo's soft contacts give way by under light loads [m]."""


def new_stage(tmp_path, name: str = "scene.usda", *, gravity: float = 9.81, metres: float = 1.0) -> Usd.Stage:
    stage = Usd.Stage.CreateNew(str(tmp_path / name))
    stage.SetTimeCodesPerSecond(RATE)
    stage.SetStartTimeCode(0)
    stage.SetEndTimeCode(48)
    UsdGeom.SetStageUpAxis(stage, "Z")
    UsdGeom.SetStageMetersPerUnit(stage, metres)
    scene = UsdPhysics.Scene.Define(stage, "/Scene")
    scene.CreateGravityDirectionAttr((0, 0, -1))
    scene.CreateGravityMagnitudeAttr(gravity / metres)
    return stage


def box(stage: Usd.Stage, path: str, half, position=None, *, kinematic: bool | None = None) -> UsdGeom.Cube:
    """Define a box of half extents; a body where ``kinematic`` is given."""
    cube = UsdGeom.Cube.Define(stage, path)
    if position is not None:
        cube.AddTranslateOp().Set(Gf.Vec3d(*position))
    cube.AddScaleOp().Set(Gf.Vec3f(*half))
    UsdPhysics.CollisionAPI.Apply(cube.GetPrim())
    if kinematic is not None:
        body = UsdPhysics.RigidBodyAPI.Apply(cube.GetPrim())
        if kinematic:
            body.CreateKinematicEnabledAttr(True)
    return cube


def keep(attribute: Usd.Attribute, value: Callable[[float], float], codes=range(49)) -> None:
    for code in codes:
        attribute.Set(value(code / RATE), code)


def spline(attribute: Usd.Attribute, knots: list[tuple[float, float, float]]) -> None:
    """Author a spline of (time code, value, slope per code)."""
    kind = str(attribute.GetTypeName())
    result = Ts.Spline(kind)
    for code, value, slope in knots:
        knot = Ts.Knot(kind)
        knot.SetTime(code)
        knot.SetValue(value)
        knot.SetNextInterpolation(Ts.InterpCurve)
        for side in ("Pre", "Post"):
            getattr(knot, f"Set{side}TanWidth")(4.0)
            getattr(knot, f"Set{side}TanSlope")(slope)
        result.SetKnot(knot)
    attribute.SetSpline(result)


def track(stage_or_path, path: str, codes) -> np.ndarray:
    stage = stage_or_path if isinstance(stage_or_path, Usd.Stage) else Usd.Stage.Open(str(stage_or_path))
    prim = stage.GetPrimAtPath(path)
    return np.array(
        [UsdGeom.XformCache(float(code)).GetLocalToWorldTransform(prim).ExtractTranslation() for code in codes]
    )


# --- following ------------------------------------------------------------------------------------------------------

AMPLITUDE, OMEGA = 0.3, 2.0
"""Sway of the slab [m], [rad/s]: 1.2 m/s² at most, which friction of 1 carries."""


def sway(time: float) -> float:
    return AMPLITUDE * (1.0 - math.cos(OMEGA * time))


def carrying(tmp_path, how: str) -> Usd.Stage:
    stage = new_stage(tmp_path, f"{how}.usda")
    if how == "ancestor":
        rig = UsdGeom.Xform.Define(stage, "/Rig")
        keep(rig.AddTranslateXOp().GetAttr(), sway)
        box(stage, "/Rig/Slab", (1, 1, 0.1), kinematic=True)
    else:
        slab = UsdGeom.Xform.Define(stage, "/Rig")
        slab = box(stage, "/Rig/Slab", (1, 1, 0.1), kinematic=None if how == "collider" else True)
        slab.ClearXformOpOrder()
        keep(slab.AddTranslateXOp().GetAttr(), sway)
        slab.AddScaleOp().Set(Gf.Vec3f(1, 1, 0.1))
    box(stage, "/Box", (0.1, 0.1, 0.1), (0.2, 0, 0.2), kinematic=False)
    return stage


@pytest.mark.parametrize("how", ["own", "ancestor", "collider"])
def test_a_swaying_slab_carries_a_box(tmp_path, how):
    stage = carrying(tmp_path, how)
    stage.Save()
    usd_sim.bake(stage, tmp_path / "out.usda", duration=2.0, velocities=True)
    result = Usd.Stage.Open(str(tmp_path / "out.usda"))
    codes = np.arange(49)
    slab = track(result, "/Rig/Slab", codes)
    # the recorder's single precision
    np.testing.assert_allclose(slab[:, 0], [sway(code / RATE) for code in codes], atol=1e-5)
    carried = track(result, "/Box", codes)[:, 0] - 0.2
    # soft friction gives way by some millimetres where the slab's speed is 0.6 m/s
    np.testing.assert_allclose(carried, slab[:, 0], atol=1e-2)
    assert np.ptp(carried) > 0.5
    assert track(result, "/Box", [48])[0, 2] == pytest.approx(0.2, abs=PENETRATION)


def test_a_promoted_collider_keeps_its_own_motion_in_the_results(tmp_path):
    stage = carrying(tmp_path, "collider")
    stage.Save()
    result = usd_sim.bake(stage, tmp_path / "out.usda", duration=1.0)
    layer = Sdf.Layer.FindOrOpen(result.results)
    assert not layer.GetPrimAtPath("/Rig/Slab")
    assert layer.GetPrimAtPath("/Box")
    assert any("/Rig/Slab" in line and "promoted" in line for line in result.warnings)


def test_a_paddle_pushes_a_ball_at_its_speed(tmp_path):
    stage = new_stage(tmp_path, gravity=0.0, metres=0.01)
    paddle = box(stage, "/Paddle", (2, 20, 20), kinematic=True)
    paddle.ClearXformOpOrder()
    # from rest to 1 m/s within a second, then at that speed
    keep(paddle.AddTranslateXOp().GetAttr(), lambda time: 50.0 * time**2 if time < 1 else 100.0 * time - 50.0)
    paddle.AddScaleOp().Set(Gf.Vec3f(2, 20, 20))
    ball = UsdGeom.Sphere.Define(stage, "/Ball")
    ball.CreateRadiusAttr(10)
    ball.AddTranslateOp().Set(Gf.Vec3d(12, 0, 0))
    UsdPhysics.CollisionAPI.Apply(ball.GetPrim())
    UsdPhysics.RigidBodyAPI.Apply(ball.GetPrim())
    simulation = usd_sim.Simulation(stage)
    simulation.advance(1.5)
    paddle_speed, ball_speed = simulation.state.body_qd.numpy()[:, 0]
    assert simulation.body_pose("/Paddle")[0][0] == pytest.approx(1.0, abs=1e-6)
    assert paddle_speed == pytest.approx(1.0, abs=1e-4)  # 1e-6 of the paddle's inertia times the push
    # the paddle's speed changes 24 times a second by 0.04 m/s, of which soft contacts throw the ball off by a part
    assert ball_speed == pytest.approx(1.0, abs=0.02)
    assert simulation.body_pose("/Ball")[0][0] == pytest.approx(1.0 + 0.02 + 0.1, abs=0.01)


def turntable(tmp_path, codes=(0, 48), turns=1.0) -> Usd.Stage:
    """Return a disc that turns about the origin of an Xform above it, with a block off its axis."""
    stage = new_stage(tmp_path)
    table = UsdGeom.Xform.Define(stage, "/Table")
    attribute = table.AddRotateZOp().GetAttr()
    for code, angle in zip(codes, (0.0, 360.0 * turns), strict=True):
        attribute.Set(angle, code)
    box(stage, "/Table/Disc", (1, 1, 0.1), kinematic=True)
    arm = box(stage, "/Table/Arm", (0.1, 0.1, 0.1), (3, 0, 0), kinematic=True)
    UsdPhysics.MassAPI.Apply(arm.GetPrim()).CreateCenterOfMassAttr((0.5, 0, 0))
    return stage


def test_turning_keeps_its_arc_and_its_rate(tmp_path):
    """One whole turn between two samples, of which the poses alone would say nothing."""
    simulation = usd_sim.Simulation(turntable(tmp_path))
    rate = math.pi  # a turn in two seconds
    row = simulation.model.body_path.index("/Table/Arm")
    np.testing.assert_allclose(simulation.state.body_qd.numpy()[row, 3:], (0, 0, rate), atol=1e-4)
    # centre of mass 0.05 m out, in the arm's own scale
    assert simulation.state.body_qd.numpy()[row, 1] == pytest.approx(3.05 * rate, rel=1e-3)
    for step in range(1, 21):
        simulation.advance(0.05)
        position, _ = simulation.body_pose("/Table/Arm")
        angle = rate * 0.05 * step
        # chords of 1/240 s leave the circle by (0.013 rad)² / 8 of the radius
        np.testing.assert_allclose(position, (3 * math.cos(angle), 3 * math.sin(angle), 0), atol=1e-4)
        assert simulation.state.body_qd.numpy()[row, 5] == pytest.approx(rate, rel=1e-4)


def test_motion_ends_with_its_samples(tmp_path):
    simulation = usd_sim.Simulation(turntable(tmp_path, codes=(0, 6), turns=0.25))
    simulation.advance(0.5)
    position, _ = simulation.body_pose("/Table/Arm")
    np.testing.assert_allclose(position, (0, 3, 0), atol=1e-5)
    # gravity pulls at some million times the body's mass
    np.testing.assert_allclose(simulation.state.body_qd.numpy(), 0.0, atol=1e-5)
    simulation.advance(1.0)
    np.testing.assert_allclose(simulation.body_pose("/Table/Arm")[0], (0, 3, 0), atol=1e-5)


def test_samples_denser_than_a_frame_count(tmp_path):
    """A pulse that is over within a frame of time codes kicks a ball, which frames alone would miss."""
    stage = new_stage(tmp_path, gravity=0.0)
    pusher = box(stage, "/Pusher", (0.1, 0.5, 0.5), kinematic=True)
    pusher.ClearXformOpOrder()
    attribute = pusher.AddTranslateXOp().GetAttr()
    pusher.AddScaleOp().Set(Gf.Vec3f(0.1, 0.5, 0.5))
    for code, value in ((0.0, 0.0), (1.1, 0.0), (1.5, 0.1), (1.9, 0.0), (48.0, 0.0)):
        attribute.Set(value, code)
    ball = box(stage, "/Ball", (0.1, 0.1, 0.1), (0.25, 0, 0), kinematic=False)
    assert ball
    simulation = usd_sim.Simulation(stage)
    simulation.advance(1.5 / RATE)
    assert simulation.body_pose("/Pusher")[0][0] == pytest.approx(0.1, abs=1e-4)
    simulation.advance(1.0)
    assert simulation.state.body_qd.numpy()[1, 0] > 1.0  # pushed at 6 m/s


def test_a_spline_does_what_dense_samples_do(tmp_path):
    positions = []
    for kind in ("spline", "samples"):
        stage = new_stage(tmp_path, f"{kind}.usda")
        slab = box(stage, "/Slab", (1, 1, 0.1), kinematic=True)
        slab.ClearXformOpOrder()
        attribute = slab.AddTranslateXOp().GetAttr()
        slab.AddScaleOp().Set(Gf.Vec3f(1, 1, 0.1))
        spline(attribute, [(0, 0.0, 0.0), (12, 0.4, 0.02), (36, 0.1, 0.0)])
        if kind == "samples":
            values = {code: attribute.Get(code) for code in np.arange(0, 48.01, 0.1)}
            attribute.Clear()
            for code, value in values.items():
                attribute.Set(value, code)
        box(stage, "/Box", (0.1, 0.1, 0.1), (0.2, 0, 0.2), kinematic=False)
        simulation = usd_sim.Simulation(stage)
        run = []
        for _ in range(36):
            simulation.advance(1 / 24)
            run.append(simulation.state.body_q.numpy()[:, :3].copy())
        positions.append(np.array(run))
    spread = np.ptp(positions[0][:, 0, 0])
    assert spread > 0.3
    # both are straight between knots, at other knots
    np.testing.assert_allclose(positions[0][:, 0], positions[1][:, 0], atol=1e-6)
    np.testing.assert_allclose(positions[0][:, 1], positions[1][:, 1], atol=1e-3)


def test_reset_goes_back_and_runs_the_same(tmp_path):
    simulation = usd_sim.Simulation(carrying(tmp_path, "own"))
    runs = []
    for _ in range(2):
        simulation.advance(0.7)
        runs.append(simulation.state.body_q.numpy().copy())
        simulation.reset()
        assert simulation.body_pose("/Rig/Slab")[0][0] == pytest.approx(0.0, abs=1e-7)
    np.testing.assert_array_equal(*runs)


def test_edits_of_others_leave_the_motion_alone(tmp_path):
    """An edit makes the solver take over the caller's whole state, in which followed bodies are where they were."""
    simulation = usd_sim.Simulation(carrying(tmp_path, "own"))
    slab = simulation.model.body_path.index("/Rig/Slab")
    for frame in range(1, 13):
        state = simulation.state
        state.body_q.numpy()[1 - slab, :3] = (0, 0, 5)
        state.body_q.numpy()[slab, :3] = 7.0
        simulation.advance(1 / RATE)
        assert simulation.body_pose("/Rig/Slab")[0][0] == pytest.approx(sway(frame / RATE), abs=1e-6)
        assert simulation.body_pose("/Box")[0][2] == pytest.approx(5.0, abs=0.2)


# --- start ----------------------------------------------------------------------------------------------------------


def test_start_moves_poses_and_samples(tmp_path):
    stage = carrying(tmp_path, "own")
    stage.Save()
    simulation = usd_sim.Simulation(stage, start=12.0)
    assert simulation.body_pose("/Rig/Slab")[0][0] == pytest.approx(sway(0.5), abs=1e-6)
    simulation.advance(0.5)
    assert simulation.body_pose("/Rig/Slab")[0][0] == pytest.approx(sway(1.0), abs=1e-6)
    result = usd_sim.bake(stage, tmp_path / "out.usda", start=12.0)
    assert result.frames == 36  # to the end of the stage
    written = Usd.Stage.Open(result.output)
    samples = written.GetPrimAtPath("/Box").GetAttribute("xformOp:translate").GetTimeSamples()
    np.testing.assert_allclose(samples, np.arange(12, 49))
    assert track(written, "/Rig/Slab", [24])[0, 0] == pytest.approx(sway(1.0), abs=1e-5)


def test_a_wrong_start_is_refused(tmp_path):
    stage = carrying(tmp_path, "own")
    with pytest.raises(UsdSimError, match="start"):
        usd_sim.Simulation(stage, start=math.nan)
    with pytest.raises(UsdSimError, match="start"):
        usd_sim.Simulation(usd_sim.load(stage, device="cpu"), start=3.0)


# --- switches -------------------------------------------------------------------------------------------------------


def test_a_body_let_go_keeps_its_velocity(tmp_path):
    stage = new_stage(tmp_path)
    stone = box(stage, "/Stone", (0.1, 0.1, 0.1), kinematic=True)
    stone.ClearXformOpOrder()
    keep(stone.AddTranslateXOp().GetAttr(), lambda time: 2.0 * time)
    stone.AddScaleOp().Set(Gf.Vec3f(0.1, 0.1, 0.1))
    flag = stone.GetPrim().GetAttribute("physics:kinematicEnabled")
    flag.Set(True, 0)
    flag.Set(False, 12)
    simulation = usd_sim.Simulation(stage)
    for _ in range(2):
        simulation.advance(0.5)
        np.testing.assert_allclose(simulation.body_pose("/Stone")[0], (1, 0, 0), atol=1e-5)
        assert simulation.model.body_flags.numpy()[0] & BodyFlags.KINEMATIC
        simulation.advance(0.5)
        # semi-implicit Euler falls by half a step more
        fall = 0.5 * 9.81 * 0.5 * (0.5 + simulation.step_length)
        np.testing.assert_allclose(simulation.body_pose("/Stone")[0], (2, 0, -fall), atol=1e-4)
        np.testing.assert_allclose(simulation.state.body_qd.numpy()[0, :3], (2, 0, -9.81 * 0.5), atol=1e-4)
        simulation.reset()


def test_a_body_caught_stops(tmp_path):
    stage = new_stage(tmp_path)
    stone = box(stage, "/Stone", (0.1, 0.1, 0.1), (0, 0, 5), kinematic=True)
    other = box(stage, "/Other", (0.1, 0.1, 0.1), (3, 0, 5), kinematic=False)
    flag = stone.GetPrim().GetAttribute("physics:kinematicEnabled")
    flag.Clear()
    for code, value in ((0, False), (6, True), (12, False)):
        flag.Set(value, code)
    simulation = usd_sim.Simulation(stage)
    simulation.advance(0.25)
    caught = simulation.body_pose("/Stone")[0][2]
    assert caught < 4.8
    simulation.advance(0.25)
    assert simulation.body_pose("/Stone")[0][2] == pytest.approx(caught, abs=1e-5)
    assert other
    # the other fell all the time
    assert simulation.body_pose("/Other")[0][2] == pytest.approx(
        5 - 0.5 * 9.81 * 0.5 * (0.5 + simulation.step_length), abs=1e-4
    )
    simulation.advance(0.25)
    assert simulation.body_pose("/Stone")[0][2] == pytest.approx(
        caught - 0.5 * 9.81 * 0.25 * (0.25 + simulation.step_length), abs=1e-4
    )


# --- drives ---------------------------------------------------------------------------------------------------------


def hinged(tmp_path, *, reverse: bool = False, gains=(2.0e5, 1.0e4), kind: str = "Revolute") -> Usd.Stage:
    """Return a bar on a driven joint to the world, without gravity."""
    stage = new_stage(tmp_path, gravity=0.0, metres=0.01)
    box(stage, "/Bar", (100, 10, 10), kinematic=False)
    UsdPhysics.MassAPI.Apply(stage.GetPrimAtPath("/Bar")).CreateMassAttr(1.0)
    joint = getattr(UsdPhysics, f"{kind}Joint").Define(stage, "/Joint")
    joint.CreateAxisAttr("Z")
    (joint.CreateBody0Rel() if reverse else joint.CreateBody1Rel()).SetTargets(["/Bar"])
    drive = UsdPhysics.DriveAPI.Apply(joint.GetPrim(), "angular" if kind == "Revolute" else "linear")
    drive.CreateStiffnessAttr(gains[0])
    drive.CreateDampingAttr(gains[1])
    drive.CreateTargetPositionAttr(0.0)
    drive.CreateTargetVelocityAttr(0.0)
    return stage


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("author", ["samples", "spline"])
def test_a_hinge_follows_its_target(tmp_path, author, reverse):
    stage = hinged(tmp_path, reverse=reverse)
    attribute = stage.GetPrimAtPath("/Joint").GetAttribute("drive:angular:physics:targetPosition")
    if author == "samples":
        keep(attribute, lambda time: 60.0 * math.sin(time) ** 2)
    else:
        spline(attribute, [(0, 0.0, 0.0), (24, 45.0, 0.0)])
    simulation = usd_sim.Simulation(stage)
    simulation.advance(0.5)
    assert simulation.control.joint_target_q.numpy()[0] == pytest.approx(
        math.radians(attribute.Get(0.5 * RATE)), abs=2e-3
    )  # that of the last step's start
    simulation.advance(1.5)
    wanted = math.radians(attribute.Get(48))
    # lags by damping over stiffness, 0.05 s, of 0.8 rad/s
    assert simulation.state.joint_q.numpy()[0] == pytest.approx(wanted, abs=0.05)
    turned = 2 * math.atan2(simulation.body_pose("/Bar")[1][2], simulation.body_pose("/Bar")[1][3])
    assert turned == pytest.approx((-1 if reverse else 1) * float(simulation.state.joint_q.numpy()[0]), abs=1e-5)
    simulation.reset()
    assert simulation.control.joint_target_q.numpy()[0] == pytest.approx(0.0)


def test_a_velocity_target_that_starts_at_zero_is_followed(tmp_path):
    stage = hinged(tmp_path, gains=(0.0, 5000.0), kind="Prismatic")
    attribute = stage.GetPrimAtPath("/Joint").GetAttribute("drive:linear:physics:targetVelocity")
    attribute.Set(0.0, 0)
    attribute.Set(0.0, 12)
    attribute.Set(50.0, 18)
    simulation = usd_sim.Simulation(stage)
    simulation.advance(0.5)
    assert simulation.state.joint_q.numpy()[0] == pytest.approx(0.0, abs=1e-6)
    simulation.advance(0.5)
    # 1 kg at 5000 N·s/m follows within a millisecond
    assert simulation.state.joint_qd.numpy()[0] == pytest.approx(0.5, abs=1e-3)
    # a ramp of 0.25 s, then 0.25 s at 0.5 m/s
    assert simulation.state.joint_q.numpy()[0] == pytest.approx(0.1875, abs=2e-3)


def test_targets_without_motion_stay_the_callers(tmp_path):
    stage = hinged(tmp_path)
    keep(stage.GetPrimAtPath("/Joint").GetAttribute("drive:angular:physics:targetPosition"), lambda time: 10.0 * time)
    box(stage, "/Other", (10, 10, 10), (0, 500, 0), kinematic=False)
    joint = UsdPhysics.PrismaticJoint.Define(stage, "/Slider")
    joint.CreateBody1Rel().SetTargets(["/Other"])
    joint.CreateLocalPos0Attr((0, 500, 0))
    drive = UsdPhysics.DriveAPI.Apply(joint.GetPrim(), "linear")
    drive.CreateStiffnessAttr(1000.0)
    drive.CreateDampingAttr(100.0)
    simulation = usd_sim.Simulation(stage)
    slider = simulation.model.joint_dof_path.index("/Slider")
    simulation.control.joint_target_q.numpy()[slider] = 0.3
    simulation.advance(1.0)
    assert simulation.control.joint_target_q.numpy()[slider] == pytest.approx(0.3)
    assert simulation.control.joint_target_q.numpy()[1 - slider] == pytest.approx(math.radians(10.0), rel=1e-2)


def test_targets_with_samples_that_are_alike_stay_the_callers_too(tmp_path):
    stage = hinged(tmp_path)
    attribute = stage.GetPrimAtPath("/Joint").GetAttribute("drive:angular:physics:targetPosition")
    for code in range(3):
        attribute.Set(5.0, code)
    simulation = usd_sim.Simulation(stage)
    assert simulation.control.joint_target_q.numpy()[0] == pytest.approx(math.radians(5.0))
    simulation.control.joint_target_q.numpy()[0] = 0.2
    simulation.advance(1.0)
    assert simulation.control.joint_target_q.numpy()[0] == pytest.approx(0.2)


# --- inputs ---------------------------------------------------------------------------------------------------------


def test_inputs_are_called_for_segments(tmp_path):
    stage = new_stage(tmp_path)
    box(stage, "/Box", (0.1, 0.1, 0.1), kinematic=False)
    simulation = usd_sim.Simulation(stage, dt=0.01)
    seen = []

    def tell(current, time):
        seen.append(time)
        return time + 0.025

    simulation.inputs.append(tell)
    simulation.advance(0.1)
    np.testing.assert_allclose(seen, np.arange(5) * 0.02, atol=1e-12)
    seen.clear()
    simulation.inputs[-1] = lambda current, time: seen.append(time)
    simulation.advance(0.1)
    np.testing.assert_allclose(seen, [0.1])
