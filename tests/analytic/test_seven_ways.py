"""One scene authored seven ways has one motion: boxes that fly, land flat on the ground and slide to rest."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from analytic.scenes import CENTIMETRES, METRES, Units
from pxr import Gf, Sdf, Usd, UsdGeom, UsdPhysics

import usd_sim

HALF = (0.2, 0.15, 0.1)
STARTS = [(0.0, 0.0, 0.3), (1.5, 0.2, 0.6), (-1.0, 1.0, 0.102)]
VELOCITIES = [(1.0, 0.0, 0.0), (0.5, -0.5, 0.5), (0.0, 2.0, 0.0)]
SECONDS, SAME = 2.0, 1e-4
"""Simulated time [s], and the distance that the motions may differ by [m], which the aim states."""

MILLIMETRES = Units(0.001, 0.001, "Z")


def new_stage(path: Path, units: Units) -> Usd.Stage:
    """Return a stage with a scene and a ground."""
    stage = Usd.Stage.CreateNew(str(path))
    UsdGeom.SetStageUpAxis(stage, units.up)
    UsdGeom.SetStageMetersPerUnit(stage, units.meters)
    UsdPhysics.SetStageKilogramsPerUnit(stage, units.kilograms)
    UsdPhysics.Scene.Define(stage, "/Scene")
    ground = UsdGeom.Plane.Define(stage, "/Ground")
    ground.GetAxisAttr().Set(units.up)
    UsdPhysics.CollisionAPI.Apply(ground.GetPrim())
    return stage


def add_box(stage: Usd.Stage, path: str, units: Units, *, placed: bool = True, row: int = 0) -> Usd.Prim:
    """Add a box, placed and moving as a row says, or at the origin and at rest."""
    cube = UsdGeom.Cube.Define(stage, path)
    cube.GetSizeAttr().Set(2.0)
    if placed:
        cube.AddTranslateOp().Set(Gf.Vec3d(*units.point(STARTS[row])))
    cube.AddScaleOp().Set(Gf.Vec3f(*map(float, units.size(HALF))))
    body = UsdPhysics.RigidBodyAPI.Apply(cube.GetPrim())
    if placed:
        body.GetVelocityAttr().Set(Gf.Vec3f(*map(float, units.point(VELOCITIES[row]))))
    UsdPhysics.CollisionAPI.Apply(cube.GetPrim())
    return cube.GetPrim()


def as_prims(folder: Path, units: Units) -> Path:
    """Author the boxes as prims of their own."""
    stage = new_stage(folder / "prims.usda", units)
    for row in range(len(STARTS)):
        add_box(stage, f"/Box_{row}", units, row=row)
    stage.Save()
    return folder / "prims.usda"


def as_reference_in_other_units(folder: Path) -> Path:
    """Reference boxes authored in centimetres into a stage in metres, under a scale that corrects them."""
    asset = Usd.Stage.CreateNew(str(folder / "asset.usda"))
    UsdGeom.SetStageMetersPerUnit(asset, 0.01)
    UsdGeom.SetStageUpAxis(asset, "Z")
    asset.SetDefaultPrim(UsdGeom.Xform.Define(asset, "/Asset").GetPrim())
    for row in range(len(STARTS)):
        add_box(asset, f"/Asset/Box_{row}", Units(0.01, 1.0, "Z"), row=row)
    asset.Save()
    stage = new_stage(folder / "reference.usda", METRES)
    holder = UsdGeom.Xform.Define(stage, "/Holder")
    holder.AddScaleOp().Set(Gf.Vec3f(0.01))
    holder.GetPrim().GetReferences().AddReference("./asset.usda")
    stage.Save()
    return folder / "reference.usda"


def as_nested(folder: Path) -> Path:
    """Author the boxes under nested transforms that rotate, move and scale."""
    stage = new_stage(folder / "nested.usda", METRES)
    outer = UsdGeom.Xform.Define(stage, "/Outer")
    outer.AddTranslateOp().Set(Gf.Vec3d(3.0, -2.0, 1.0))
    outer.AddRotateXYZOp().Set(Gf.Vec3f(20.0, -35.0, 70.0))
    inner = UsdGeom.Xform.Define(stage, "/Outer/Inner")
    inner.AddRotateZOp().Set(-40.0)
    inner.AddScaleOp().Set(Gf.Vec3f(2.5))
    to_local = UsdGeom.XformCache().GetLocalToWorldTransform(inner.GetPrim()).GetInverse()
    for row in range(len(STARTS)):
        path = f"/Outer/Inner/Box_{row}"
        prim = add_box(stage, path, METRES, placed=False)
        cube = UsdGeom.Cube(prim)
        cube.ClearXformOpOrder()
        here = Gf.Matrix4d().SetScale(Gf.Vec3d(*HALF)) * Gf.Matrix4d().SetTranslate(Gf.Vec3d(*STARTS[row]))
        cube.AddTransformOp().Set(here * to_local)
        local = to_local.TransformDir(Gf.Vec3d(*VELOCITIES[row]))
        UsdPhysics.RigidBodyAPI(prim).GetVelocityAttr().Set(Gf.Vec3f(local))
    stage.Save()
    return folder / "nested.usda"


def as_point_instancer(folder: Path) -> Path:
    """Author the boxes as instances of one prototype."""
    stage = new_stage(folder / "points.usda", METRES)
    instancer = UsdGeom.PointInstancer.Define(stage, "/Boxes")
    add_box(stage, "/Boxes/Prototype", METRES, placed=False)
    instancer.GetPrototypesRel().SetTargets([Sdf.Path("/Boxes/Prototype")])
    instancer.GetProtoIndicesAttr().Set([0] * len(STARTS))
    instancer.GetPositionsAttr().Set([Gf.Vec3f(*start) for start in STARTS])
    instancer.GetVelocitiesAttr().Set([Gf.Vec3f(*velocity) for velocity in VELOCITIES])
    stage.Save()
    return folder / "points.usda"


def as_scene_graph_instances(folder: Path) -> Path:
    """Author the boxes inside instances of one class; the velocities, which differ, stand on variants of it."""
    stage = new_stage(folder / "instances.usda", METRES)
    for row in range(len(STARTS)):
        stage.CreateClassPrim(f"/_Kind_{row}")
        prim = add_box(stage, f"/_Kind_{row}/Body", METRES, placed=False)
        UsdPhysics.RigidBodyAPI(prim).GetVelocityAttr().Set(Gf.Vec3f(*VELOCITIES[row]))
        holder = UsdGeom.Xform.Define(stage, f"/Instance_{row}")
        holder.AddTranslateOp().Set(Gf.Vec3d(*STARTS[row]))
        holder.GetPrim().GetInherits().AddInherit(f"/_Kind_{row}")
        holder.GetPrim().SetInstanceable(True)
    stage.Save()
    return folder / "instances.usda"


WAYS = {
    "centimetres, Y up": lambda folder: (as_prims(folder, CENTIMETRES), CENTIMETRES),
    "millimetres and grams": lambda folder: (as_prims(folder, MILLIMETRES), MILLIMETRES),
    "a reference in other units": lambda folder: (as_reference_in_other_units(folder), METRES),
    "nested transforms": lambda folder: (as_nested(folder), METRES),
    "a point instancer": lambda folder: (as_point_instancer(folder), METRES),
    "scene-graph instances": lambda folder: (as_scene_graph_instances(folder), METRES),
}


def motion(path: Path, units: Units, folder: Path) -> np.ndarray:
    """Bake, open the result with USD alone, and return the world positions in Z-up metres (frames, boxes, 3)."""
    result = usd_sim.bake(path, folder / "out" / path.name, duration=SECONDS, fps=24.0, dt=1e-3)
    stage = Usd.Stage.Open(result.output)
    model = usd_sim.load(path, device="cpu")
    frames = []
    for code in np.arange(result.frames + 1) * stage.GetTimeCodesPerSecond() / 24.0:
        instancers = [prim for prim in stage.Traverse() if prim.IsA(UsdGeom.PointInstancer)]
        if instancers:
            found = UsdGeom.PointInstancer(instancers[0]).ComputeInstanceTransformsAtTime(code, code)
        else:
            cache = UsdGeom.XformCache(code)
            found = [cache.GetLocalToWorldTransform(stage.GetPrimAtPath(body)) for body in model.body_path]
        frames.append([matrix.ExtractTranslation() for matrix in found])
    return units.back(np.array(frames) * units.meters)


@pytest.fixture(scope="module")
def reference(tmp_path_factory) -> np.ndarray:
    folder = tmp_path_factory.mktemp("metres")
    track = motion(as_prims(folder, METRES), METRES, folder)
    assert np.ptp(track[:, :, 2], axis=0).min() > 1e-3  # all fall
    assert np.abs(track[-1] - track[-5]).max() < 1e-3  # and come to rest
    return track


@pytest.mark.parametrize("way", WAYS)
def test_the_motion_is_the_same(tmp_path, reference, way):
    path, units = WAYS[way](tmp_path)
    np.testing.assert_allclose(motion(path, units, tmp_path), reference, atol=SAME)
