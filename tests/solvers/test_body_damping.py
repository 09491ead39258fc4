"""Bodies that are slowed down by a rate of their own, as PhysX's schema states it."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest

import usd_sim
from tests.stage.authoring import stage_of
from usd_sim.model.types import ModelFlags
from usd_sim.solvers.base import Capabilities, Feature, unsupported
from usd_sim.stage.load import load

RATE = 4000
SECONDS = 0.5
LINEAR, ANGULAR = 1.5, 3.0

FIRST_ORDER = 5.0e-4
"""Error of the integrator at its step of 1/4000 s, relative: half a step times a rate, over the whole time."""


def flying(text: str = "", more: str = "") -> str:
    return f"""
def PhysicsScene "Scene" (prepend apiSchemas = ["NewtonSceneAPI"]) {{
    float physics:gravityMagnitude = 0; uniform int newton:timeStepsPerSecond = {RATE} }}
def Cube "A" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI", "PhysxRigidBodyAPI"]) {{
    double size = 1; float physics:mass = 3; float3 physics:diagonalInertia = (0.5, 0.5, 0.25); {text}
    vector3f physics:velocity = (1, 2, 3); vector3f physics:angularVelocity = (0, 0, 180)
    float physxRigidBody:linearDamping = {LINEAR}; float physxRigidBody:angularDamping = {ANGULAR} }}
{more}
"""


def damped(simulation: usd_sim.Simulation) -> np.ndarray:
    return simulation.state.body_qd.numpy()[0]


def expected(linear: float, angular: float) -> np.ndarray:
    slow, still = math.exp(-linear * SECONDS), math.exp(-angular * SECONDS)
    return np.array([slow, 2 * slow, 3 * slow, 0.0, 0.0, math.pi * still])


@pytest.mark.parametrize("units", [{}, {"meters": 0.01, "kilograms": 0.001}], ids=["SI", "cm and g"])
def test_velocities_decay(units):
    with warnings.catch_warnings():
        warnings.simplefilter("error", usd_sim.UsdSimWarning)
        simulation = usd_sim.Simulation(stage_of(flying(), **units))
    simulation.advance(SECONDS)
    wanted = expected(LINEAR, ANGULAR) * np.repeat([units.get("meters", 1.0), 1.0], 3)
    np.testing.assert_allclose(damped(simulation), wanted, rtol=FIRST_ORDER * 2, atol=1e-6)


def test_edits_count():
    simulation = usd_sim.Simulation(stage_of(flying()))
    simulation.model.body_linear_damping.fill_(0.0)
    simulation.model.body_angular_damping.fill_(1.0)
    simulation.solver.notify_model_changed(ModelFlags.BODY_PROPERTIES)
    simulation.advance(SECONDS)
    np.testing.assert_allclose(damped(simulation), expected(0.0, 1.0), rtol=FIRST_ORDER, atol=1e-6)


JOINT = 'def PhysicsRevoluteJoint "J" { rel physics:body1 = </A>; uniform token physics:axis = "Z" }'


@pytest.mark.parametrize(
    ("text", "more", "left"),
    [
        ("point3f physics:centerOfMass = (0.5, 0, 0)", "", (0.0, ANGULAR)),
        ("quatf physics:principalAxes = (0.9238795, 0.3826834, 0, 0)", "", (LINEAR, 0.0)),
        ("", JOINT, None),
    ],
    ids=["off centre", "turned axes", "held"],
)
def test_what_mujoco_cannot_damp_is_named(text: str, more: str, left: tuple[float, float] | None):
    with pytest.warns(usd_sim.UsdSimWarning, match="body damping: .*: /A"):
        simulation = usd_sim.Simulation(stage_of(flying(text, more)))
    damping = simulation.solver.mj_model.dof_damping
    if left is None:
        np.testing.assert_array_equal(damping, 0.0)
    else:
        assert (damping[:3] > 0).all() == (left[0] > 0)
        assert (damping[3:] > 0).all() == (left[1] > 0)


def test_solvers_without_it_say_so():
    model = load(stage_of(flying()), device="cpu")
    able = Capabilities(features=frozenset(Feature) - {Feature.BODY_DAMPING})
    found = [entry for entry in unsupported(model, able) if entry.feature == Feature.BODY_DAMPING]
    assert [entry.examples for entry in found] == [("/A",)]


def test_negative_damping_is_reported():
    model = load(stage_of(flying().replace(f"linearDamping = {LINEAR}", "linearDamping = -1")), device="cpu")
    assert not model.array("body_linear_damping").numpy().any()
    assert [entry.property for entry in model.report.ignored] == ["physxRigidBody:linearDamping"]
