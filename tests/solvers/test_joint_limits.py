"""Limits of joints as stages state them: on one side, on both at one value, and upside down."""

from __future__ import annotations

import numpy as np
import pytest

import usd_sim
from tests.stage.authoring import stage_of

GIVES = 0.02
"""How far MuJoCo's soft limits give way under the weight of these bodies, in m or rad."""

SETTLED = 2.0
"""Time after which what swings or falls against a limit is at rest [s]."""


def simulate(kind: str, limits: str, axis: str, place: str = "0, 0, 0", seconds: float = SETTLED) -> usd_sim.Simulation:
    """Simulate a body of 1 kg on a joint to the world under gravity along -Z; its centre of mass is 0.5 m along X."""
    stage = stage_of(f"""
def PhysicsScene "Scene" {{ float physics:gravityMagnitude = 10 }}
def Cube "A" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"]) {{
    double size = 1; float physics:mass = 1; point3f physics:centerOfMass = (0.5, 0, 0)
    float3 physics:diagonalInertia = (0.1, 0.1, 0.1); double3 xformOp:translate = ({place})
    uniform token[] xformOpOrder = ["xformOp:translate"] }}
def Physics{kind}Joint "J" (prepend apiSchemas = ["NewtonJointAPI"]) {{
    rel physics:body1 = </A>; uniform token physics:axis = "{axis}"; {limits}; float newton:damping = 0.05 }}
""")
    simulation = usd_sim.Simulation(stage)
    simulation.advance(seconds)
    return simulation


def rest(simulation: usd_sim.Simulation) -> float:
    return float(simulation.state.joint_q.numpy()[0])


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        ("float physics:upperLimit = 30", np.radians(30.0)),  # falls to the side of growing angles
        ("float physics:lowerLimit = -5; float physics:upperLimit = 30", np.radians(30.0)),
        ("float physics:lowerLimit = 0; float physics:upperLimit = 0", 0.0),
        ("float physics:lowerLimit = 20; float physics:upperLimit = 20", np.radians(20.0)),
    ],
)
def test_hinges_rest_at_their_limits(limits: str, expected: float):
    assert rest(simulate("Revolute", limits, "Y")) == pytest.approx(expected, abs=GIVES)


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        ("float physics:lowerLimit = -0.25", -0.25),
        ("float physics:lowerLimit = -0.25; float physics:upperLimit = 1", -0.25),
        ("float physics:lowerLimit = 0; float physics:upperLimit = 0", 0.0),
        ("float physics:lowerLimit = 0.125; float physics:upperLimit = 0.125", 0.125),
    ],
)
def test_sliders_rest_at_their_limits(limits: str, expected: float):
    assert rest(simulate("Prismatic", limits, "Z")) == pytest.approx(expected, abs=GIVES)


def test_a_limit_on_one_side_leaves_the_other_free():
    fallen = rest(simulate("Prismatic", "float physics:upperLimit = 1", "Z", seconds=0.5))
    assert fallen == pytest.approx(-0.5 * 10.0 * 0.5**2, rel=0.1)  # the joint is damped a little


@pytest.mark.parametrize(("kind", "axis"), [("Revolute", "Y"), ("Prismatic", "Z")])
def test_limits_upside_down_are_none(kind: str, axis: str):
    limits = "float physics:lowerLimit = 0.5; float physics:upperLimit = -0.5"
    simulation, free = simulate(kind, limits, axis, seconds=0.25), simulate(kind, "", axis, seconds=0.25)
    assert rest(simulation) == rest(free) != 0.0
    found = [entry.message for entry in simulation.model.report.approximated if entry.prim == "/J"]
    assert found == ["the lower limit is above the upper; both are left out"]


def test_generic_joints_lock_and_limit_by_axis():
    locks = "; ".join(f"float limit:{name}:physics:low = 1; float limit:{name}:physics:high = -1" for name in LOCKED)
    schemas = ", ".join(f'"PhysicsLimitAPI:{name}"' for name in (*LOCKED, "transZ", "rotX"))
    stage = stage_of(f"""
def PhysicsScene "Scene" {{ float physics:gravityMagnitude = 10 }}
def Cube "A" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"]) {{
    double size = 1; float physics:mass = 1 }}
def PhysicsJoint "J" (prepend apiSchemas = [{schemas}]) {{
    rel physics:body1 = </A>; {locks}; float limit:transZ:physics:low = -0.25
    float limit:rotX:physics:low = 10; float limit:rotX:physics:high = 10 }}
""")
    simulation = usd_sim.Simulation(stage)
    assert simulation.model.array("joint_dof_name") == ["transZ", "rotX"]
    simulation.advance(SETTLED)
    slid, turned = simulation.state.joint_q.numpy().tolist()
    assert slid == pytest.approx(-0.25, abs=GIVES)
    assert turned == pytest.approx(np.radians(10.0), abs=GIVES)


LOCKED = ("transX", "transY", "rotY", "rotZ")
