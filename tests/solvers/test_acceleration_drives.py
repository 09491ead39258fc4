"""Acceleration drives: their gains are per inertia, so that what they drive moves alike whatever it weighs."""

from __future__ import annotations

import math

import numpy as np
import pytest
from pxr import Sdf, Usd

import usd_sim
from tests.stage.authoring import stage_of
from usd_sim.model.types import ModelFlags
from usd_sim.solvers.base import Capabilities, Feature, unsupported
from usd_sim.stage.load import load

RATE = 4000
SECONDS = 0.25

FIRST_ORDER = 2.0e-3
"""Error of the integrator at its step of 1/4000 s, relative: a few dt times the frequency of 10 rad/s or the decay."""

SAME = 1.0e-4
"""Difference between masses: single precision of masses and gains, relative."""

STIFFNESS, DAMPING, TARGET = 100.0, 4.0, 0.5
"""Gains [1/s², 1/s] and target [m or rad]."""


def response(time: float) -> float:
    """Return the answer of q'' = k (target - q) - d q' from rest at 0."""
    decay = 0.5 * DAMPING
    omega = math.sqrt(STIFFNESS - decay**2)
    swing = math.cos(omega * time) + decay / omega * math.sin(omega * time)
    return TARGET * (1.0 - math.exp(-decay * time) * swing)


def drive(name: str, kind: str = "acceleration", unit: float = 1.0) -> str:
    """Return a drive; unit is that of its coordinate, in SI."""
    prefix = f"drive:{name}:physics:"
    return (
        f'uniform token {prefix}type = "{kind}"; float {prefix}targetPosition = {TARGET / unit}; '
        f"float {prefix}stiffness = {STIFFNESS * unit}; float {prefix}damping = {DAMPING * unit}"
    )


def pendulum(mass: float, *, text: str = "", start: float = 0.0, **units: float) -> Usd.Stage:
    """Return a box on a hinge at its edge, without gravity, turned by a start angle [rad] about X."""
    size = 0.4 / units.get("meters", 1.0)
    half = 0.5 * size
    w, x = math.cos(0.5 * start), math.sin(0.5 * start)
    y, z = math.sin(start) * half, half - math.cos(start) * half
    return stage_of(
        f"""
def PhysicsScene "Scene" (prepend apiSchemas = ["NewtonSceneAPI"]) {{
    float physics:gravityMagnitude = 0; uniform int newton:timeStepsPerSecond = {RATE} }}
def Cube "A" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsCollisionAPI", "PhysicsMassAPI"]) {{
    double size = {size}; float physics:mass = {mass / units.get("kilograms", 1.0)}
    double3 xformOp:translate = (0, {y}, {z}); quatd xformOp:orient = ({w}, {x}, 0, 0)
    uniform token[] xformOpOrder = ["xformOp:translate", "xformOp:orient"] }}
def PhysicsRevoluteJoint "J" (prepend apiSchemas = ["PhysicsDriveAPI:angular"]) {{
    rel physics:body1 = </A>; uniform token physics:axis = "X"; point3f physics:localPos0 = (0, 0, {half})
    point3f physics:localPos1 = (0, 0, {half}); {text or drive("angular", unit=math.radians(1.0))} }}
""",
        **units,
    )


def slider(mass: float, **units: float) -> Usd.Stage:
    unit = units.get("meters", 1.0)
    text = drive("linear", unit=unit).replace(f"stiffness = {STIFFNESS * unit}", f"stiffness = {STIFFNESS}")
    text = text.replace(f"damping = {DAMPING * unit}", f"damping = {DAMPING}")
    return stage_of(
        f"""
def PhysicsScene "Scene" (prepend apiSchemas = ["NewtonSceneAPI"]) {{
    float physics:gravityMagnitude = 0; uniform int newton:timeStepsPerSecond = {RATE} }}
def Cube "A" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"]) {{
    double size = 1; float physics:mass = {mass / units.get("kilograms", 1.0)} }}
def PhysicsPrismaticJoint "J" (prepend apiSchemas = ["PhysicsDriveAPI:linear"]) {{
    rel physics:body1 = </A>; uniform token physics:axis = "X"; {text} }}
""",
        **units,
    )


def moved(stage: Usd.Stage, seconds: float = SECONDS) -> float:
    """Return the coordinate of the joint after some time."""
    simulation = usd_sim.Simulation(stage)
    simulation.advance(seconds)
    return float(simulation.state.joint_q.numpy()[0])


UNITS = pytest.mark.parametrize("units", [{}, {"meters": 0.01, "kilograms": 0.001}], ids=["SI", "cm and g"])


@UNITS
@pytest.mark.parametrize("make", [pendulum, slider])
def test_the_response_is_that_of_unit_inertia(make, units):
    found = [moved(make(mass, **units)) for mass in (0.1, 1.0, 30.0)]
    np.testing.assert_allclose(found, response(SECONDS), rtol=FIRST_ORDER)
    np.testing.assert_allclose(found, found[0], rtol=SAME)


def test_force_drives_know_the_mass():
    text = drive("angular", "force", math.radians(1.0))
    light, heavy = (moved(pendulum(mass, text=text)) for mass in (30.0, 300.0))
    assert light > 2.0 * heavy


def test_armature_counts_as_inertia():
    stage = pendulum(1.0)
    prim = stage.GetPrimAtPath("/J")
    prim.AddAppliedSchema("PhysxJointAPI")
    prim.CreateAttribute("physxJoint:armature", Sdf.ValueTypeNames.Float).Set(5.0)
    np.testing.assert_allclose(moved(stage), response(SECONDS), rtol=FIRST_ORDER)


def test_edits_of_mass_and_of_gains_keep_the_response():
    simulation = usd_sim.Simulation(pendulum(1.0))
    model = simulation.model
    for name in ("body_mass", "body_inertia"):
        array = model.array(name)
        array.assign(array.numpy() * 8.0)
    simulation.solver.notify_model_changed(ModelFlags.BODY_INERTIAL_PROPERTIES)
    simulation.advance(SECONDS)
    np.testing.assert_allclose(simulation.state.joint_q.numpy()[0], response(SECONDS), rtol=FIRST_ORDER)
    gains = simulation.solver.mj_model.actuator_gainprm[:, 0].copy()
    model.joint_target_ke.assign(2.0 * model.joint_target_ke.numpy())
    simulation.solver.notify_model_changed(ModelFlags.JOINT_DOF_FORCE_PROPERTIES)
    stiffened = simulation.solver.mj_model.actuator_gainprm[:, 0]
    np.testing.assert_allclose(stiffened[stiffened > gains], 2.0 * gains[stiffened > gains])
    assert (stiffened > gains).any()


TWO_LINKS = """
def Cube "{name}" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"]) {{
    double size = 1; float physics:mass = {mass}; point3f physics:centerOfMass = (0, {arm}, 0)
    float3 physics:diagonalInertia = (0.1, 0.1, 0.1); double3 xformOp:translate = (0, {y}, {z})
    quatd xformOp:orient = ({w}, {x}, 0, 0); uniform token[] xformOpOrder = ["xformOp:translate", "xformOp:orient"] }}
"""


def test_the_inertia_is_that_of_the_start():
    # a hinge that carries a link, which another hinge turns by 90°: inertia by hand
    bend = math.radians(90.0)
    w, x = math.cos(0.5 * bend), math.sin(0.5 * bend)
    bodies = TWO_LINKS.format(name="A", mass=2.0, arm=0.5, y=0, z=0, w=1, x=0)
    bodies += TWO_LINKS.format(name="B", mass=3.0, arm=0.25, y=1, z=0, w=w, x=x)
    joints = f"""
def PhysicsRevoluteJoint "J" (prepend apiSchemas = ["PhysicsDriveAPI:angular"]) {{
    rel physics:body1 = </A>; uniform token physics:axis = "X"; {drive("angular", unit=math.radians(1.0))} }}
def PhysicsRevoluteJoint "K" {{ rel physics:body0 = </A>; rel physics:body1 = </B>; uniform token physics:axis = "X"
    point3f physics:localPos0 = (0, 1, 0) }}
"""
    with pytest.warns(usd_sim.UsdSimWarning, match="acceleration drives: gains keep to the inertia.*: /J"):
        simulation = usd_sim.Simulation(stage_of(bodies + joints))
    far, bent = 1.0, 0.25
    m11 = 0.1 + 2.0 * 0.5**2 + 0.1 + 3.0 * (far**2 + bent**2 + 2.0 * far * bent * math.cos(bend))
    m12 = 0.1 + 3.0 * (bent**2 + far * bent * math.cos(bend))
    m22 = 0.1 + 3.0 * bent**2
    inertia = m11 - m12**2 / m22
    gains = simulation.solver.mj_model.actuator_gainprm[:, 0]
    np.testing.assert_allclose(sorted(gains), np.array([STIFFNESS * inertia]), rtol=SAME)


def test_solvers_without_them_say_so():
    model = load(pendulum(1.0), device="cpu")
    able = Capabilities(features=frozenset(Feature) - {Feature.ACCELERATION_DRIVE})
    found = [entry for entry in unsupported(model, able) if entry.feature == Feature.ACCELERATION_DRIVE]
    assert [entry.examples for entry in found] == [("/J",)]
    plain = load(pendulum(1.0, text=drive("angular", "force")), device="cpu")
    assert not [entry for entry in unsupported(plain, able) if entry.feature == Feature.ACCELERATION_DRIVE]
