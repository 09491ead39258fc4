"""Small scenes with a closed-form answer, authored in any units and up axis."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from pxr import Gf, Usd, UsdGeom, UsdPhysics


@dataclass(frozen=True)
class Units:
    """How a scene is authored.

    Attributes:
        meters: Metres per stage unit.
        kilograms: Kilograms per stage unit.
        up: "Y" or "Z".
    """

    meters: float
    kilograms: float
    up: str

    def point(self, value) -> np.ndarray:
        """Return a Z-up vector in metres as a stage vector."""
        x, y, z = np.asarray(value, dtype=float) / self.meters
        return np.array([x, z, -y]) if self.up == "Y" else np.array([x, y, z])

    def spin(self, value) -> np.ndarray:
        """Return a Z-up angular velocity in rad/s as a stage vector in degrees per second."""
        return np.degrees(self.point(value)) * self.meters

    def size(self, value) -> np.ndarray:
        """Return Z-up extents in metres as stage extents."""
        return np.abs(self.point(value))

    def back(self, value) -> np.ndarray:
        """Return SI vectors of the stage's axes as Z-up vectors (…, 3)."""
        value = np.asarray(value)
        if self.up == "Y":
            return np.stack([value[..., 0], -value[..., 2], value[..., 1]], axis=-1)
        return value


METRES = Units(1.0, 1.0, "Z")
CENTIMETRES = Units(0.01, 0.001, "Y")


class Scene:
    """A stage under construction; all arguments are SI and Z-up."""

    def __init__(self, path: Path, units: Units, rate: int = 1000):
        self.units, self.path = units, path
        self.stage = Usd.Stage.CreateNew(str(path))
        UsdGeom.SetStageUpAxis(self.stage, units.up)
        UsdGeom.SetStageMetersPerUnit(self.stage, units.meters)
        UsdPhysics.SetStageKilogramsPerUnit(self.stage, units.kilograms)
        scene = UsdPhysics.Scene.Define(self.stage, "/Scene").GetPrim()
        scene.ApplyAPI("NewtonSceneAPI")
        scene.GetAttribute("newton:timeStepsPerSecond").Set(rate)

    def ground(self) -> None:
        """Add a static ground plane."""
        plane = UsdGeom.Plane.Define(self.stage, "/Ground")
        plane.GetAxisAttr().Set(self.units.up)
        UsdPhysics.CollisionAPI.Apply(plane.GetPrim())

    def box(self, name: str, half, position, *, mass: float, velocity=(0.0, 0.0, 0.0), spin=(0.0, 0.0, 0.0)) -> str:
        """Add a box that is a rigid body and return its path."""
        cube = UsdGeom.Cube.Define(self.stage, f"/{name}")
        cube.GetSizeAttr().Set(2.0)
        cube.AddTranslateOp().Set(Gf.Vec3d(*self.units.point(position)))
        cube.AddScaleOp().Set(Gf.Vec3f(*map(float, self.units.size(half))))
        prim = cube.GetPrim()
        body = UsdPhysics.RigidBodyAPI.Apply(prim)
        body.GetVelocityAttr().Set(Gf.Vec3f(*map(float, self.units.point(velocity))))
        body.GetAngularVelocityAttr().Set(Gf.Vec3f(*map(float, self.units.spin(spin))))
        UsdPhysics.CollisionAPI.Apply(prim)
        UsdPhysics.MassAPI.Apply(prim).GetMassAttr().Set(mass / self.units.kilograms)
        return str(prim.GetPath())

    def hinge(self, body: str, anchor_on_body) -> None:
        """Hang a body on the world by a hinge about the horizontal Y axis, anchored in its unscaled frame."""
        joint = UsdPhysics.RevoluteJoint.Define(self.stage, f"{body}_hinge")
        joint.GetBody1Rel().SetTargets([body])
        joint.GetAxisAttr().Set("Z" if self.units.up == "Y" else "Y")
        prim = self.stage.GetPrimAtPath(body)
        to_world = UsdGeom.XformCache().GetLocalToWorldTransform(prim)
        origin = np.array(to_world.ExtractTranslation())
        anchor = origin + self.units.point(anchor_on_body)
        joint.GetLocalPos0Attr().Set(Gf.Vec3f(*map(float, anchor)))
        local = to_world.GetInverse().Transform(Gf.Vec3d(*anchor))
        joint.GetLocalPos1Attr().Set(Gf.Vec3f(local))

    def save(self) -> Path:
        """Write the stage and return its path."""
        self.stage.Save()
        return self.path
