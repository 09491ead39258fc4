"""Scene options, compiler options and contact properties of the MuJoCo schemas, as the reader understands them."""

from __future__ import annotations

import numpy as np
import pytest
from pxr import Usd

import usd_sim
from usd_sim.errors import UsdSimError
from usd_sim.stage.load import load


def stage(scene: str = "", prims: str = "", *, metres: float = 1.0) -> Usd.Stage:
    """Return a stage with a scene that has MjcSceneAPI, and further prims."""
    result = Usd.Stage.CreateInMemory()
    result.GetRootLayer().ImportFromString(f"""#usda 1.0
(
    metersPerUnit = {metres}
    upAxis = "Z"
)
def PhysicsScene "Scene" (prepend apiSchemas = ["MjcSceneAPI"])
{{
    {scene}
}}
{prims}
""")
    return result


def box(name: str, *lines: str, apis: str = "", at: str = "(0, 0, 0)", inner: str = "") -> str:
    """Return a rigid body that is a cube of 1 m³ and 1000 kg."""
    applied = ", ".join(f'"{api}"' for api in ("PhysicsRigidBodyAPI", "PhysicsCollisionAPI", *apis.split()))
    return f"""
def Cube "{name}" (prepend apiSchemas = [{applied}])
{{
    double size = 1
    double3 xformOp:translate = {at}
    uniform token[] xformOpOrder = ["xformOp:translate"]
    {chr(10).join(lines)}
    {inner}
}}"""


def test_a_bare_scene_means_what_mujoco_means():
    options = load(stage(prims=box("A")), device="cpu").scene.options
    assert options == {"integrator": "euler", "filter_parent": True}


def test_options_and_flags_become_settings():
    text = """
    uniform token mjc:option:integrator = "rk4"
    uniform token mjc:option:cone = "elliptic"
    uniform int mjc:option:iterations = 7
    uniform double mjc:option:density = 2
    uniform double3 mjc:option:wind = (100, 0, 0)
    uniform bool mjc:flag:contact = 0
    uniform bool mjc:flag:multiccd = 0
    uniform bool mjc:flag:limit = 0
    uniform bool mjc:flag:energy = 1
    uniform bool mjc:flag:gravity = 0
    uniform double mjc:option:timestep = 0.004
    """
    model = load(stage(text, box("A"), metres=0.01), device="cpu")
    assert model.scene.options == {
        "integrator": "rk4",
        "cone": "elliptic",
        "iterations": 7,
        "density": pytest.approx(2.0e6),
        "wind": (1.0, 0.0, 0.0),
        "disable_contacts": True,
        "enable_multiccd": False,
        "filter_parent": True,
        "disable": ("limit",),
        "enable": ("energy",),
    }
    assert model.scene.steps_per_second == pytest.approx(250.0)
    assert model.gravity.numpy().tolist() == [[0.0, 0.0, 0.0]]


def test_overrides_count_only_where_their_flag_is_set():
    text = "uniform double mjc:option:o_margin = 0.1\nuniform double[] mjc:option:o_solref = [0.05, 1]"
    assert "override_margin" not in load(stage(text, box("A")), device="cpu").scene.options
    options = load(stage(text + "\nuniform bool mjc:flag:override = 1", box("A")), device="cpu").scene.options
    assert (options["override_margin"], options["override_solref"]) == (0.1, (0.05, 1.0))


def test_settings_of_the_caller_win():
    simulation = usd_sim.Simulation(stage('uniform token mjc:option:integrator = "rk4"', box("A")), integrator="euler")
    assert simulation.solver.config.integrator == "euler"
    assert usd_sim.Simulation(stage("", box("A")), disable=("damper",)).solver.mj_model.opt.disableflags & 64
    with pytest.raises(UsdSimError, match="disable"):
        usd_sim.Simulation(stage("", box("A")), disable=("nothing",))


def test_bounds_of_mass_and_inertia():
    text = "uniform double mjc:compiler:boundMass = 1500\nuniform double mjc:compiler:boundInertia = 200"
    model = load(stage(text, box("A")), device="cpu")
    assert model.body_mass.numpy()[0] == pytest.approx(1500.0)
    np.testing.assert_allclose(model.body_inertia.numpy()[0], 200.0 * np.eye(3), rtol=1e-6)


def test_inertias_that_no_body_can_have_are_balanced_on_request():
    prims = box("A", "float physics:mass = 1", "float3 physics:diagonalInertia = (1, 1, 4)", apis="PhysicsMassAPI")
    balanced = load(stage("uniform bool mjc:compiler:balanceInertia = 1", prims), device="cpu")
    np.testing.assert_allclose(balanced.body_inertia.numpy()[0], 2.0 * np.eye(3), rtol=1e-6)
    raised = load(stage("", prims), device="cpu")
    np.testing.assert_allclose(np.diag(raised.body_inertia.numpy()[0]), [2.0, 2.0, 4.0], rtol=1e-6)


def test_groups_outside_of_the_range_have_no_mass():
    inner = """
    def Cube "More" (prepend apiSchemas = ["PhysicsCollisionAPI", "MjcCollisionAPI"])
    {
        double size = 1
        uniform int mjc:group = 4
    }"""
    prims = box("A", inner=inner)
    assert load(stage("", prims), device="cpu").body_mass.numpy()[0] == pytest.approx(2000.0)
    few = load(stage("uniform int mjc:compiler:inertiaGroupRange:max = 3", prims), device="cpu")
    assert few.body_mass.numpy()[0] == pytest.approx(1000.0)


def test_masses_on_bodies_outweigh_inertia_from_geom_and_the_report_says_so():
    prims = box("A", "float physics:mass = 5", apis="PhysicsMassAPI")
    model = load(stage('uniform token mjc:compiler:inertiaFromGeom = "true"', prims), device="cpu")
    assert model.body_mass.numpy()[0] == pytest.approx(5.0)
    assert [entry.property for entry in model.report.approximated] == ["mjc:compiler:inertiaFromGeom"]


def test_contact_properties():
    lines = (
        "uniform int mjc:condim = 4",
        "uniform int mjc:priority = 2",
        "uniform double mjc:solmix = 3",
        "uniform double[] mjc:solref = [0.05, 0.7]",
        "uniform double[] mjc:solimp = [0.8, 0.85, 0.002]",
        "uniform double mjc:margin = 2",
        "uniform double mjc:gap = 1",
    )
    bare = box("B", apis="MjcCollisionAPI", at="(0, 0, 500)")
    model = load(stage("", box("A", *lines, apis="MjcCollisionAPI") + bare, metres=0.01), device="cpu")
    target = usd_sim.Simulation(model).solver.mj_model
    first, second = (target.geom(f"/{name}").id for name in "AB")
    assert (target.geom_condim[first], target.geom_priority[first], target.geom_solmix[first]) == (4, 2, 3.0)
    np.testing.assert_allclose(target.geom_solref[first], [0.05, 0.7], rtol=1e-6)
    np.testing.assert_allclose(target.geom_solimp[first], [0.8, 0.85, 0.002, 0.5, 2.0], rtol=1e-6)
    assert (target.geom_margin[first], target.geom_gap[first]) == pytest.approx((0.02, 0.01))
    assert target.geom_condim[second] == 3
    np.testing.assert_allclose(target.geom_solref[second], [0.02, 1.0], rtol=1e-6)


def test_a_wrong_number_of_dimensions_is_an_error():
    prims = box("A", "uniform int mjc:condim = 5", apis="MjcCollisionAPI")
    with pytest.raises(UsdSimError, match="is 5") as error:
        load(stage("", prims), device="cpu")
    assert error.value.prim == "/A.mjc:condim"


def test_bodies_that_a_fixed_joint_joins_share_the_filter_of_mujoco():
    """A weld makes one body of two for MuJoCo's filter, so what hinges on one does not meet the other."""
    joints = """
def PhysicsFixedJoint "Weld"
{
    rel physics:body0 = </A>
    rel physics:body1 = </B>
    point3f physics:localPos0 = (0.5, 0, 0)
    point3f physics:localPos1 = (0, 0, 0)
}
def PhysicsRevoluteJoint "Hinge" (prepend apiSchemas = ["MjcJointAPI"])
{
    rel physics:body0 = </B>
    rel physics:body1 = </C>
}"""
    prims = box("A") + box("B", at="(0.5, 0, 0)") + box("C", at="(0.5, 0, 0)") + joints
    simulation = usd_sim.Simulation(stage("", prims))
    simulation.step()
    assert simulation.solver.contact_count == 0
    other = usd_sim.Simulation(stage("uniform bool mjc:flag:filterparent = 0", prims))
    other.step()
    assert other.solver.contact_count > 0


def test_an_actuator_on_nothing_is_reported():
    prims = box("A") + '\ndef MjcActuator "Motor"\n{\n    rel mjc:target = </Nowhere>\n}\n'
    report = load(stage("", prims), device="cpu").report
    assert [(entry.prim, entry.property) for entry in report.ignored] == [("/Motor", "mjc:target")]
