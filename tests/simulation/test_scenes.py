"""Several physics scenes on one stage: each with its own gravity, none in the way of another."""

from __future__ import annotations

import numpy as np
import pytest
from pxr import Gf, Sdf, Usd, UsdGeom, UsdPhysics

import usd_sim
from usd_sim.errors import UsdSimError

SETTLED = 2.0e-3
"""Depth that MuJoCo's soft contacts give way by under a box's weight [m]."""


@pytest.fixture
def stage() -> Usd.Stage:
    """Return a stage with an earthly scene, a weak sideways one and an empty one."""
    stage = Usd.Stage.CreateInMemory()
    UsdGeom.SetStageUpAxis(stage, "Z")
    UsdGeom.SetStageMetersPerUnit(stage, 0.01)
    for path, direction, magnitude in (
        ("/Earth", (0, 0, -1), 981),
        ("/Side", (1, 0, 0), 200),
        ("/Empty", (0, 0, -1), 1),
    ):
        scene = UsdPhysics.Scene.Define(stage, path)
        scene.CreateGravityDirectionAttr(direction)
        scene.CreateGravityMagnitudeAttr(magnitude)
    return stage


def box(stage: Usd.Stage, path: str, position, *, owner: str = "", dynamic: bool = True, half=(10, 10, 10)):
    cube = UsdGeom.Cube.Define(stage, path)
    cube.AddTranslateOp().Set(Gf.Vec3d(*position))
    cube.AddScaleOp().Set(Gf.Vec3f(*half))
    api = UsdPhysics.CollisionAPI.Apply(cube.GetPrim())
    if dynamic:
        api = UsdPhysics.RigidBodyAPI.Apply(cube.GetPrim())
    if owner:
        api.CreateSimulationOwnerRel().SetTargets([owner])
    return cube


def said(model, path: str) -> str:
    entries = [*model.report.approximated, *model.report.ignored]
    return "; ".join(entry.message for entry in entries if entry.prim == path)


def fall(gravity: float, time: float, step: float) -> float:
    """Return the way of a body that starts at rest, by semi-implicit Euler [m]."""
    return 0.5 * gravity * time * (time + step)


def test_every_scene_has_its_gravity(stage):
    for path, owner, position in (("/A", "", (0, 0, 0)), ("/B", "/Side", (500, 0, 0)), ("/C", "/Earth", (900, 0, 0))):
        box(stage, path, position, owner=owner)
    simulation = usd_sim.Simulation(stage)
    assert not [entry for entry in simulation.solver.unsupported if "gravity" in entry.feature]
    for _ in range(2):
        simulation.advance(1.0)
        step = simulation.step_length
        # single precision after 500 steps
        np.testing.assert_allclose(simulation.body_pose("/A")[0], (0, 0, -fall(9.81, 1, step)), atol=1e-4)
        np.testing.assert_allclose(simulation.body_pose("/B")[0], (5 + fall(2.0, 1, step), 0, 0), atol=1e-4)
        np.testing.assert_allclose(simulation.body_pose("/C")[0], (9, 0, -fall(9.81, 1, step)), atol=1e-4)
        simulation.reset()
    assert "no body belongs" in said(simulation.model, "/Empty")


def test_scenes_pass_through_each_other(stage):
    stage.GetPrimAtPath("/Side").GetAttribute("physics:gravityDirection").Set((0, 0, -1))
    box(stage, "/Ground", (0, 0, -10), dynamic=False, half=(500, 500, 10))
    box(stage, "/Shelf", (0, 0, 100), dynamic=False, half=(50, 50, 10), owner="/Side")
    box(stage, "/First", (0, 0, 200))
    box(stage, "/Second", (0, 0, 201), owner="/Side")
    box(stage, "/Third", (0, 5, 230), owner="/Side")
    simulation = usd_sim.Simulation(stage)
    simulation.advance(3.0)
    heights = {path: simulation.body_pose(path)[0][2] for path in ("/First", "/Second", "/Third")}
    assert heights["/First"] == pytest.approx(0.1, abs=SETTLED)  # through the shelf, onto the ground that all share
    assert heights["/Second"] == pytest.approx(1.2, abs=SETTLED)
    assert heights["/Third"] == pytest.approx(1.4, abs=2 * SETTLED)  # on the second


def test_one_scene_is_picked(stage, tmp_path):
    box(stage, "/A", (0, 0, 0))
    box(stage, "/B", (500, 0, 0), owner="/Side")
    box(stage, "/Wall", (900, 0, 0), owner="/Earth", dynamic=False)
    box(stage, "/Floor", (0, 0, -900), dynamic=False)
    joint = UsdPhysics.FixedJoint.Define(stage, "/AtA")
    joint.CreateBody1Rel().SetTargets(["/A"])
    side = usd_sim.load(stage, device="cpu", scene="/Side")
    assert side.body_path == ["/B"]
    assert side.shape_path == ["/B", "/Floor"]
    assert [path for path in side.joint_path if path] == []
    np.testing.assert_allclose(side.gravity.numpy(), [[2, 0, 0]])
    assert "belongs to scene /Earth" in said(side, "/A")
    assert "only scene /Side" in said(side, "/Earth")
    earth = usd_sim.Simulation(stage, scene="/Earth").model
    assert earth.body_path == ["/A"]
    assert earth.shape_path == ["/A", "/Wall", "/Floor"]
    stage.GetRootLayer().Export(str(tmp_path / "scenes.usda"))
    result = usd_sim.bake(tmp_path / "scenes.usda", tmp_path / "out.usda", frames=24, fps=24, scene="/Side")
    baked = Usd.Stage.Open(result.output)
    end = UsdGeom.XformCache(baked.GetEndTimeCode()).GetLocalToWorldTransform(baked.GetPrimAtPath("/B"))
    assert end.ExtractTranslation()[0] == pytest.approx(500 + 100 * fall(2.0, 1.0, result.dt), abs=1e-2)
    assert not baked.GetPrimAtPath("/A").GetAttribute("xformOp:translate").GetTimeSamples()
    with pytest.raises(UsdSimError, match="is not a physics scene"):
        usd_sim.load(stage, scene="/A")


def test_one_of_several_scenes_in_use_changes_nothing(stage):
    box(stage, "/A", (0, 0, 0))
    model = usd_sim.load(stage, device="cpu")
    assert not model.body_gravity.numpy().any()
    assert model.shape_collision_group.numpy().tolist() == [1]
    assert model.scene.path == "/Earth"


def test_unknown_owners_and_mixed_joints_are_reported(stage):
    box(stage, "/A", (0, 0, 0), owner="/Nowhere")
    box(stage, "/B", (500, 0, 0), owner="/Side")
    joint = UsdPhysics.FixedJoint.Define(stage, "/Joint")
    joint.CreateBody0Rel().SetTargets(["/A"])
    joint.CreateBody1Rel().SetTargets(["/B"])
    model = usd_sim.load(stage, device="cpu")
    assert "no scene" in said(model, "/A")
    assert "different scenes" in said(model, "/Joint")
    np.testing.assert_allclose(model.body_gravity.numpy(), [(0, 0, 0), (2, 0, 9.81)], rtol=1e-6)


def test_the_highest_rate_counts(stage):
    box(stage, "/A", (0, 0, 0))
    box(stage, "/B", (500, 0, 0), owner="/Side")
    for path, rate in (("/Earth", 120), ("/Side", 240)):
        prim = stage.GetPrimAtPath(path)
        prim.AddAppliedSchema("NewtonSceneAPI")
        prim.CreateAttribute("newton:timeStepsPerSecond", Sdf.ValueTypeNames.Int).Set(rate)
    model = usd_sim.load(stage, device="cpu")
    assert model.scene.steps_per_second == 240
    assert "120 steps" in said(model, "/Earth")


def test_gravity_per_body_of_models_made_by_code():
    builder = usd_sim.ModelBuilder()
    for x in (0.0, 5.0):
        body = builder.add_body(xform=(x, 0, 0, 0, 0, 0, 1))
        builder.add_shape_sphere(body, radius=0.1)
    builder.body_gravity[1] = (0.0, 1.0, 9.81)
    simulation = usd_sim.Simulation(builder.finalize(device="cpu"), dt=1e-3)
    simulation.advance(1.0)
    np.testing.assert_allclose(simulation.state.body_qd.numpy()[:, :3], [(0, 0, -9.81), (0, 1, 0)], atol=1e-4)
    body_gravity = simulation.model.body_gravity
    body_gravity.numpy()[1] = (0.0, 0.0, 9.81)
    simulation.solver.notify_model_changed(usd_sim.ModelFlags.MODEL_PROPERTIES)
    simulation.advance(1.0)
    np.testing.assert_allclose(simulation.state.body_qd.numpy()[1, :3], (0, 1, 0), atol=1e-4)


def test_worlds_have_their_gravity():
    ball = usd_sim.ModelBuilder()
    ball.add_shape_sphere(ball.add_body(xform=(0, 0, 0, 0, 0, 0, 1)), radius=0.1)
    builder = usd_sim.ModelBuilder()
    for gravity in ((0, 0, -9.81), (0, 3, 0)):
        builder.begin_world(gravity=gravity)
        builder.add_builder(ball)
        builder.end_world()
    simulation = usd_sim.Simulation(builder.finalize(device="cpu"), dt=1e-3)
    simulation.advance(0.5)
    np.testing.assert_allclose(simulation.state.body_qd.numpy()[:, :3], [(0, 0, -4.905), (0, 1.5, 0)], atol=1e-4)
