"""units_metres and units_centimetres are one scene: every authored value converts from one into the other."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from pxr import Gf, Sdf, Usd, UsdGeom, UsdPhysics

from usd_sim import stages

LENGTH = 100.0  # centimetres in a metre
MASS = 1000.0  # grams in a kilogram
FORCE = MASS * LENGTH
TORQUE = MASS * LENGTH**2
# Single precision keeps 6e-8; a value and its twin are each rounded once, and quaternions are written to 8 digits.
RELATIVE = 2e-7
ABSOLUTE = 2e-8

POINTS = {"xformOp:translate", "physics:localPos0", "physics:localPos1", "physics:centerOfMass", "physics:velocity"}
DIRECTIONS = {"physics:angularVelocity", "physics:gravityDirection"}
ROTATIONS = {"xformOp:orient", "physics:localRot0", "physics:localRot1", "physics:principalAxes"}
LENGTHS = {"radius", "height", "width", "length", "physics:gravityMagnitude", "clippingRange", "focusDistance"}
LINEAR = {
    "physics:lowerLimit": LENGTH,
    "physics:upperLimit": LENGTH,
    "drive:linear:physics:targetPosition": LENGTH,
    "drive:linear:physics:targetVelocity": LENGTH,
    "drive:linear:physics:stiffness": MASS,
    "drive:linear:physics:damping": MASS,
    "drive:linear:physics:maxForce": FORCE,
    "newton:armature": MASS,
    "newton:damping": MASS,
    "newton:friction": FORCE,
}
ANGULAR = {
    "drive:angular:physics:stiffness": TORQUE,
    "drive:angular:physics:damping": TORQUE,
    "drive:angular:physics:maxForce": TORQUE,
    "newton:armature": TORQUE,
    "newton:damping": TORQUE,
    "newton:friction": TORQUE,
}


def turned(vector) -> np.ndarray:
    """A Z-up vector in the Y-up frame: (x, y, z) becomes (x, z, -y)."""
    x, y, z = vector
    return np.array([x, z, -y])


def converted(attribute: Usd.Attribute):
    """What the value of an attribute of units_metres must be in units_centimetres."""
    name, value, prim = attribute.GetName(), attribute.Get(), attribute.GetPrim()
    x_y_z_swapped = [0, 2, 1]
    if name in POINTS:
        return turned(value) * LENGTH
    if name in DIRECTIONS:
        return turned(value)
    if name in ROTATIONS:
        return np.array([value.GetReal(), *turned(value.GetImaginary())])
    if name in LENGTHS:
        return np.array(value) * LENGTH
    if name == "extent" and not prim.IsA(UsdGeom.Cube):  # a cube's size is in its scale
        low, high = (turned(corner) * LENGTH for corner in value)
        return np.array([np.minimum(low, high), np.maximum(low, high)])
    if name == "xformOp:scale":
        return np.array(value)[x_y_z_swapped] * LENGTH
    if name == "physics:diagonalInertia":
        return np.array(value)[x_y_z_swapped] * MASS * LENGTH**2
    if name == "physics:mass":
        return value * MASS
    if name == "physics:density":
        return value * MASS / LENGTH**3
    if name == "axis":
        return {"X": "X", "Y": "Z", "Z": "Y"}[value]
    if prim.IsA(UsdPhysics.PrismaticJoint):
        return value * LINEAR[name] if name in LINEAR else value
    if prim.IsA(UsdPhysics.RevoluteJoint):
        return value * ANGULAR[name] if name in ANGULAR else value
    return value


def plain(value):
    """A USD value as numbers that compare: quaternions as (w, x, y, z)."""
    return np.array([value.GetReal(), *value.GetImaginary()]) if isinstance(value, Gf.Quatf | Gf.Quatd) else value


def physics_attributes(stage: Usd.Stage) -> Iterator[Usd.Attribute]:
    """All authored attributes but the rotations of camera and lights, which are for the eye and rounded."""
    for prim in stage.Traverse():
        for attribute in prim.GetAuthoredAttributes():
            if attribute.GetName() != "xformOp:rotateXYZ":
                yield attribute


@pytest.fixture(scope="module")
def pair() -> tuple[Usd.Stage, Usd.Stage]:
    layers = (Sdf.Layer.OpenAsAnonymous(str(stages.path(f"units_{unit}"))) for unit in ("metres", "centimetres"))
    metres, centimetres = (Usd.Stage.Open(layer) for layer in layers)
    return metres, centimetres


def test_units_and_up_axes_differ_as_the_names_say(pair):
    said = [
        (UsdGeom.GetStageMetersPerUnit(s), UsdPhysics.GetStageKilogramsPerUnit(s), UsdGeom.GetStageUpAxis(s))
        for s in pair
    ]
    assert said == [(1, 1, "Z"), (1 / LENGTH, 1 / MASS, "Y")]
    assert pair[0].GetEndTimeCode() == pair[1].GetEndTimeCode()


def test_the_same_prims_carry_the_same_schemas_and_targets(pair):
    def shape(stage: Usd.Stage) -> list:
        return [
            (
                prim.GetPath(),
                prim.GetTypeName(),
                prim.GetMetadata("apiSchemas"),
                prim.GetAuthoredPropertyNames(),
                [r.GetTargets() for r in prim.GetAuthoredRelationships()],
            )
            for prim in stage.Traverse()
        ]

    assert shape(pair[0]) == shape(pair[1])


def test_every_authored_value_converts_exactly(pair):
    metres, centimetres = pair
    different = 0
    for attribute in physics_attributes(metres):
        expected = converted(attribute)
        found = centimetres.GetAttributeAtPath(attribute.GetPath()).Get()
        if isinstance(expected, np.ndarray | float):
            np.testing.assert_allclose(
                plain(found), expected, rtol=RELATIVE, atol=ABSOLUTE, err_msg=str(attribute.GetPath())
            )
        else:
            assert plain(found) == pytest.approx(plain(expected)), attribute.GetPath()
        different += found != attribute.Get()
    assert different >= 40  # a table that converts nothing would pass on a copy of the file


def test_joint_axes_are_those_that_the_change_of_frame_leaves_alone(pair):
    for stage in pair:
        axes = {prim.GetAttribute("physics:axis").Get() for prim in stage.Traverse() if prim.IsA(UsdPhysics.Joint)}
        assert axes == {"X"}


def test_a_body_states_all_its_mass_properties(pair):
    for stage in pair:
        arm = UsdPhysics.MassAPI.Get(stage, "/World/Pendulum/Arm")
        for attribute in (
            arm.GetMassAttr(),
            arm.GetCenterOfMassAttr(),
            arm.GetDiagonalInertiaAttr(),
            arm.GetPrincipalAxesAttr(),
        ):
            assert attribute.HasAuthoredValue()
