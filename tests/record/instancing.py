"""Stages with PointInstancers, the same as prims of their own, and where both are in results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from pxr import Gf, Usd, UsdGeom, UsdPhysics, Vt

from usd_sim.geometry import transforms as tf

MOTION_TOLERANCE = 1.0e-4
"""The same scene authored in two ways may differ by this much after two seconds [m]: the last digits of its
transforms, which contacts carry on."""

SINGLE = 1.0e-6
"""Rounding of single-precision values of about 1."""

Prototype = Callable[[Usd.Stage, str], None]


@dataclass
class Places:
    """Where instances are, in the space of the instancer; lengths in stage units."""

    positions: np.ndarray
    orientations: np.ndarray = field(default_factory=lambda: np.zeros((0, 4)))
    scales: np.ndarray = field(default_factory=lambda: np.zeros((0, 3)))
    velocities: np.ndarray = field(default_factory=lambda: np.zeros((0, 3)))
    angular: np.ndarray = field(default_factory=lambda: np.zeros((0, 3)))

    def __len__(self) -> int:
        return len(self.positions)

    def matrix(self, row: int) -> Gf.Matrix4d:
        """Return scale, orientation and position of one instance."""
        turn = self.orientations[row] if len(self.orientations) else np.array([0.0, 0.0, 0.0, 1.0])
        scale = self.scales[row] if len(self.scales) else np.ones(3)
        return Gf.Matrix4d(tf.compose_affine(self.positions[row][None], turn[None], scale[None])[0])


def spread(count: int, *, unit: float = 1.0, up: int = 2, seed: int = 3) -> Places:
    """Return places in a row, some way above the ground, turned at random to what single precision can hold."""
    rng = np.random.default_rng(seed)
    positions = np.zeros((count, 3))
    positions[:, (up + 1) % 3] = 1.5 * np.arange(count)
    positions[:, up] = 1.2 + 0.3 * rng.random(count)
    turns = tf.quat_normalize(rng.normal(size=(count, 4))).astype(np.float32).astype(float)
    return Places((positions * unit).astype(np.float32).astype(float), tf.quat_normalize(turns))


def new_stage(path: Path, *, meters: float = 1.0, up: str = "Z", ground: bool = True) -> Usd.Stage:
    """Return a stage with a scene, and a plane as ground."""
    path.parent.mkdir(parents=True, exist_ok=True)
    stage = Usd.Stage.CreateNew(str(path))
    UsdGeom.SetStageMetersPerUnit(stage, meters)
    UsdGeom.SetStageUpAxis(stage, up)
    UsdGeom.Xform.Define(stage, "/World")
    UsdPhysics.Scene.Define(stage, "/World/scene")
    if ground:
        plane = UsdGeom.Plane.Define(stage, "/World/ground")
        plane.CreateAxisAttr(up)
        UsdPhysics.CollisionAPI.Apply(plane.GetPrim())
    return stage


def box(stage: Usd.Stage, path: str, *, size: float = 0.5, offset: Sequence[float] = (0.0, 0.0, 0.0)) -> None:
    """Define a box that is a rigid body, with a transform of its own where it has an offset."""
    cube = UsdGeom.Cube.Define(stage, path)
    cube.CreateSizeAttr(size)
    if any(offset):
        cube.AddTranslateOp().Set(Gf.Vec3d(*offset))
        cube.AddRotateXOp().Set(25.0)
    UsdPhysics.RigidBodyAPI.Apply(cube.GetPrim())
    UsdPhysics.CollisionAPI.Apply(cube.GetPrim())


def collider(stage: Usd.Stage, path: str, *, size: float = 0.5) -> None:
    """Define a box that is only a collider."""
    cube = UsdGeom.Cube.Define(stage, path)
    cube.CreateSizeAttr(size)
    UsdPhysics.CollisionAPI.Apply(cube.GetPrim())


def pendulum(stage: Usd.Stage, path: str) -> None:
    """Define two boxes on a hinge."""
    root = UsdGeom.Xform.Define(stage, path)
    UsdPhysics.ArticulationRootAPI.Apply(root.GetPrim())
    for name, place in (("upper", (0.0, 0.0, 0.0)), ("lower", (0.6, 0.0, 0.0))):
        cube = UsdGeom.Cube.Define(stage, f"{path}/{name}")
        cube.CreateSizeAttr(0.4)
        cube.AddTranslateOp().Set(Gf.Vec3d(*place))
        UsdPhysics.RigidBodyAPI.Apply(cube.GetPrim())
        UsdPhysics.CollisionAPI.Apply(cube.GetPrim())
    joint = UsdPhysics.RevoluteJoint.Define(stage, f"{path}/hinge")
    joint.CreateBody0Rel().SetTargets([f"{path}/upper"])
    joint.CreateBody1Rel().SetTargets([f"{path}/lower"])
    joint.CreateAxisAttr("Y")
    joint.CreateLocalPos0Attr(Gf.Vec3f(0.3, 0.0, 0.0))
    joint.CreateLocalPos1Attr(Gf.Vec3f(-0.3, 0.0, 0.0))


def add_instancer(
    stage: Usd.Stage,
    path: str,
    prototypes: Sequence[Prototype],
    places: Places,
    *,
    which: Sequence[int] | None = None,
) -> UsdGeom.PointInstancer:
    """Define a PointInstancer with prototypes ``PATH/Protos/p0`` and so on."""
    instancer = UsdGeom.PointInstancer.Define(stage, path)
    for number, define in enumerate(prototypes):
        define(stage, f"{path}/Protos/p{number}")
        instancer.CreatePrototypesRel().AddTarget(f"{path}/Protos/p{number}")
    instancer.CreateProtoIndicesAttr(list(which) if which is not None else [0] * len(places))
    instancer.CreatePositionsAttr(Vt.Vec3fArray.FromNumpy(places.positions.astype(np.float32)))
    for values, create in (
        (places.scales, instancer.CreateScalesAttr),
        (places.velocities, instancer.CreateVelocitiesAttr),
        (places.angular, instancer.CreateAngularVelocitiesAttr),
    ):
        if len(values):
            create(Vt.Vec3fArray.FromNumpy(values.astype(np.float32)))
    if len(places.orientations):
        instancer.CreateOrientationsfAttr(Vt.QuatfArray.FromNumpy(places.orientations.astype(np.float32)))
    return instancer


def add_prims(
    stage: Usd.Stage,
    path: str,
    prototypes: Sequence[Prototype],
    places: Places,
    *,
    which: Sequence[int] | None = None,
) -> list[str]:
    """Define the same as prims ``PATH/i0/p0`` and so on, and return their paths."""
    UsdGeom.Xform.Define(stage, path)
    paths = []
    for row in range(len(places)):
        number = which[row] if which is not None else 0
        UsdGeom.Xform.Define(stage, f"{path}/i{row}").AddTransformOp().Set(places.matrix(row))
        paths.append(f"{path}/i{row}/p{number}")
        prototypes[number](stage, paths[-1])
    return paths


def instance_matrices(stage: Usd.Stage, path: str, time: float) -> np.ndarray:
    """Return where USD draws the prototype roots of all instances (n, 4, 4), in the world."""
    instancer = UsdGeom.PointInstancer(stage.GetPrimAtPath(path))
    local = instancer.ComputeInstanceTransformsAtTime(
        time, time, UsdGeom.PointInstancer.IncludeProtoXform, UsdGeom.PointInstancer.IgnoreMask
    )
    return np.array(local) @ np.array(UsdGeom.XformCache(time).GetLocalToWorldTransform(instancer.GetPrim()))


def prim_matrices(stage: Usd.Stage, paths: Sequence[str], time: float) -> np.ndarray:
    """Return the local-to-world matrices of prims (n, 4, 4)."""
    cache = UsdGeom.XformCache(time)
    return np.array([cache.GetLocalToWorldTransform(stage.GetPrimAtPath(path)) for path in paths])
