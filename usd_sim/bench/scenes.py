"""The stages that are timed: many loose boxes, many robots by reference, and two robots."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pxr import Gf, Sdf, UsdGeom, UsdPhysics

import usd_sim
from usd_sim import stages
from usd_sim.errors import ExitCode, UsdSimError

__all__ = ["Robot", "Robots", "find_robots", "write_boxes", "write_references"]

_STANDS_IN = {"ant": "walker", "humanoid": "hanging_chain"}
"""Shipped stages that take the place of robots which are not at hand."""

_BOX_SIZE = 0.5
_BOX_SPACING = 1.0
_BOXES_A_ROW = 20
"""Edge and distance of the boxes [m], which touch nothing, and how many stand in a row of a layer."""

_ROBOT_SPACING = 3.0
_ROBOTS_A_ROW = 20


@dataclass(frozen=True)
class Robot:
    """A robot's stage.

    Attributes:
        role: "ant" or "humanoid".
        path: Its file.
        stands_in: Whether it is a shipped stage in the place of that robot.
    """

    role: str
    path: Path
    stands_in: bool

    @property
    def label(self) -> str:
        """Name of the file."""
        return self.path.name


@dataclass(frozen=True)
class Robots:
    """The two robots that are timed."""

    ant: Robot
    humanoid: Robot

    @property
    def notes(self) -> list[str]:
        """Which robots are not at hand, one line each."""
        return [
            f"{robot.role}.usda is not at hand; the shipped stage {robot.label} stands in for it, and its figures are "
            f"not those of that robot (name it with --{robot.role} or --assets)"
            for robot in (self.ant, self.humanoid)
            if robot.stands_in
        ]


def find_robots(*, ant: Path | None = None, humanoid: Path | None = None, assets: Path | None = None) -> Robots:
    """Return the robots to time: the files named, else those in a folder, else shipped stages.

    Args:
        ant: Stage of the ant.
        humanoid: Stage of the humanoid.
        assets: Folder with ``ant.usda`` and ``humanoid.usda``; if not given, ``shared/assets/usd`` beside the checkout.

    Raises:
        UsdSimError: A file or the folder that was named does not exist.
    """
    if assets is not None and not assets.is_dir():
        raise UsdSimError("no such folder", prim=str(assets), remedy="check --assets", exit_code=ExitCode.USAGE)
    named = {"ant": ant, "humanoid": humanoid}
    return Robots(**{role: _robot(role, named[role], assets) for role in named})


def _robot(role: str, named: Path | None, assets: Path | None) -> Robot:
    if named is not None:
        if not named.is_file():
            raise UsdSimError("no such file", prim=str(named), remedy=f"check --{role}", exit_code=ExitCode.USAGE)
        return Robot(role, named.resolve(), False)
    folder = assets or Path(usd_sim.__file__).resolve().parents[2] / "shared" / "assets" / "usd"
    file = folder / f"{role}.usda"
    if file.is_file():
        return Robot(role, file.resolve(), False)
    return Robot(role, stages.path(_STANDS_IN[role]), True)


def write_boxes(path: Path, count: int) -> Path:
    """Write a stage of loose boxes in layers above a plane, each a cube with its own rigid body and collider.

    Args:
        path: File to write.
        count: Number of boxes.
    """
    layer = _new_layer("World")
    ground = _prim(layer, "/World/ground", "Plane", ["PhysicsCollisionAPI"])
    _attribute(ground, "axis", Sdf.ValueTypeNames.Token, "Z")
    with Sdf.ChangeBlock():
        for index in range(count):
            across, along, up = index % _BOXES_A_ROW, index // _BOXES_A_ROW % _BOXES_A_ROW, index // _BOXES_A_ROW**2
            box = _prim(layer, f"/World/box_{index}", "Cube", ["PhysicsRigidBodyAPI", "PhysicsCollisionAPI"])
            _attribute(box, "size", Sdf.ValueTypeNames.Double, _BOX_SIZE)
            _place(box, Gf.Vec3d(across * _BOX_SPACING, along * _BOX_SPACING, _BOX_SIZE + up * _BOX_SPACING))
    layer.Export(str(path))
    return path


def write_references(path: Path, robot: Path, count: int) -> Path:
    """Write a stage that references a robot many times, in rows.

    Args:
        path: File to write.
        robot: Stage of the robot; its default prim is referenced.
        count: Number of references.
    """
    layer = _new_layer("World")
    for index in range(count):
        place = _prim(layer, f"/World/place_{index}", "Xform")
        _place(place, Gf.Vec3d(index % _ROBOTS_A_ROW * _ROBOT_SPACING, index // _ROBOTS_A_ROW * _ROBOT_SPACING, 0.0))
        inner = Sdf.PrimSpec(place, "robot", Sdf.SpecifierDef)
        inner.referenceList.prependedItems.append(Sdf.Reference(str(robot.resolve())))
    layer.Export(str(path))
    return path


def _new_layer(default_prim: str) -> Sdf.Layer:
    layer = Sdf.Layer.CreateAnonymous(".usda")
    layer.defaultPrim = default_prim
    root = layer.pseudoRoot
    root.SetInfo(UsdGeom.Tokens.upAxis, UsdGeom.Tokens.z)
    root.SetInfo(UsdGeom.Tokens.metersPerUnit, 1.0)
    root.SetInfo(UsdPhysics.Tokens.kilogramsPerUnit, 1.0)
    _prim(layer, f"/{default_prim}", "Xform")
    _prim(layer, f"/{default_prim}/scene", "PhysicsScene")
    return layer


def _prim(layer: Sdf.Layer, path: str, type_name: str, schemas: list[str] | None = None) -> Sdf.PrimSpec:
    prim = Sdf.CreatePrimInLayer(layer, path)
    prim.specifier = Sdf.SpecifierDef
    prim.typeName = type_name
    if schemas:
        prim.SetInfo("apiSchemas", Sdf.TokenListOp.Create(prependedItems=schemas))
    return prim


def _attribute(prim: Sdf.PrimSpec, name: str, type_name: Sdf.ValueTypeName, value: object) -> None:
    Sdf.AttributeSpec(prim, name, type_name).default = value


def _place(prim: Sdf.PrimSpec, position: Gf.Vec3d) -> None:
    _attribute(prim, "xformOp:translate", Sdf.ValueTypeNames.Double3, position)
    order = Sdf.AttributeSpec(prim, "xformOpOrder", Sdf.ValueTypeNames.TokenArray, Sdf.VariabilityUniform)
    order.default = ["xformOp:translate"]
