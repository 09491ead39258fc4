"""What the MuJoCo schemas say on a stage does what the same words do in MJCF: native MuJoCo is the judge."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np
import pytest
from pxr import Sdf, Usd, UsdGeom

import usd_sim
from usd_sim.errors import UsdSimError
from usd_sim.model.builder import ModelBuilder
from usd_sim.model.types import JointTargetMode, ModelFlags
from usd_sim.stage.compile import compile_stage
from usd_sim.stage.dialects import RULES
from usd_sim.stage.load import load
from usd_sim.stage.units import StageUnits

SAME = 2.0e-6
"""Difference of coordinates after STEPS: stages hold frames, and models all numbers, in single precision."""

STEPS = 200

SINGLE_PRECISION, FEW_STEPS = 1.0e-3, 50
"""Difference where all arithmetic is in single precision, which the stiff weld magnifies, and after how many steps."""

MJCF = """
<mujoco>
  <compiler angle="radian"/>
  <option timestep="0.002" integrator="implicitfast" density="1.2" viscosity="0.02" wind="1 0.5 0" impratio="3"/>
  <worldbody>
    <site name="hook" pos="0.1 0.5 1.2"/>
    <geom name="drum" type="sphere" size="0.08" pos="0.1 0.2 1.1" contype="0" conaffinity="0"/>
    <site name="side" pos="0.1 0.2 1.3"/>
    <body name="a" pos="0 0 1" gravcomp="0.4">
      <inertial pos="0.2 0 0" mass="1" diaginertia="0.01 0.02 0.025"/>
      <joint name="ja" type="hinge" axis="0 1 0" ref="0.3" springref="0.1" stiffness="2" damping="0.05" armature="0.01"
        frictionloss="0.02" range="-1 0.9" margin="0.05" solreflimit="0.03 0.9" solimplimit="0.8 0.9 0.01 0.5 2"
        solreffriction="0.04 1" actuatorfrcrange="-0.7 0.9" actuatorgravcomp="true"/>
      <site name="sa" pos="0.2 0 0.02"/>
      <body name="b" pos="0.4 0 0">
        <inertial pos="0 0 0" mass="0.5" diaginertia="0.004 0.004 0.004"/>
        <joint name="jb" type="slide" axis="1 0 0" ref="0.05" springref="0.02" stiffness="30" damping="1"
          range="0 0.2"/>
      </body>
    </body>
    <body name="c" pos="0 1 1">
      <inertial pos="0.1 0 0" mass="0.8" diaginertia="0.006 0.006 0.006"/>
      <joint name="jc" type="hinge" axis="0 0 1" damping="0.02"/>
      <body name="d" pos="0.3 0 0">
        <inertial pos="0.1 0 0" mass="0.3" diaginertia="0.003 0.003 0.003"/>
        <joint name="jd" type="hinge" axis="1 0 0" damping="0.01"/>
        <body name="e" pos="0.1 0 0">
          <inertial pos="0 0 0.05" mass="0.2" diaginertia="0.001 0.001 0.001"/>
          <joint name="je" type="hinge" axis="0 1 0" springdamper="0.1 0.8"/>
        </body>
      </body>
    </body>
    <body name="ball" pos="0 2 1">
      <inertial pos="0.1 0 0" mass="0.4" diaginertia="0.004 0.004 0.004"/>
      <joint name="jball" type="ball" damping="0.01" stiffness="0.2" armature="0.002" range="0 0.5"/>
    </body>
    <body name="f" pos="0 3 1">
      <inertial pos="0 0 0" mass="0.4" diaginertia="0.004 0.004 0.004"/>
      <freejoint name="jf"/>
    </body>
    <body name="g" pos="0 4 1">
      <inertial pos="0.1 0 0" mass="0.4" diaginertia="0.004 0.004 0.004"/>
      <freejoint name="jg"/>
    </body>
  </worldbody>
  <equality>
    <joint joint1="jd" joint2="jc" polycoef="0.1 0.5 0.3 0.1 0" solref="0.03 1" solimp="0.9 0.97 0.002 0.5 2"/>
    <weld body1="ball" body2="f" anchor="0.1 0 0" relpose="0 1 0 1 0 0 0" torquescale="0.5" solref="0.05 1"/>
    <connect body1="g" body2="world" anchor="-0.1 0 0" solref="0.04 1" solimp="0.7 0.9 0.01 0.5 2"/>
  </equality>
  <tendon>
    <fixed name="tf" range="-0.2 0.12" limited="true" stiffness="3" damping="0.1" springlength="0 0.05"
      frictionloss="0.03" armature="0.01" margin="0.01" solreflimit="0.05 1">
      <joint joint="ja" coef="0.5"/>
      <joint joint="jc" coef="-0.3"/>
    </fixed>
    <spatial name="ts" stiffness="8" damping="0.2">
      <site site="sa"/>
      <geom geom="drum" sidesite="side"/>
      <site site="hook"/>
      <pulley divisor="2"/>
      <site site="hook"/>
      <site site="sa"/>
    </spatial>
  </tendon>
  <actuator>
    <general name="m1" joint="ja" gear="2" ctrlrange="-1 1"/>
    <general name="m2" joint="jc" gaintype="fixed" gainprm="4" biastype="affine" biasprm="0.1 -4 -0.3"
      forcerange="-1 1"/>
    <general name="m3" joint="jb" dyntype="filter" dynprm="0.05" gainprm="3" actrange="-0.4 0.4"/>
    <general name="m4" tendon="tf" gainprm="2"/>
    <general name="m5" site="sa" gear="0 0 0.5 0 0.1 0" refsite="hook"/>
    <general name="m6" joint="jc" biastype="affine" group="3" gainprm="50"/>
  </actuator>
  <keyframe>
    <key name="start" qpos="0.6 0.1 0.3 0.2 0.1 0.9921977 0.1246747 0 0 0.1 3 1.1 1 0 0 0 0 4 1 1 0 0 0"
      qvel="0.5 0 0.4 0 0 0.2 -0.1 0.3 0.1 0 0 0 0.2 0 0.1 0 0 0 0 0" ctrl="0.8 0.5 1 0.7 1.5 1" act="0.3"/>
  </keyframe>
</mujoco>
"""

JOINTS = {
    "ja": "/W/a/ja",
    "jb": "/W/a/b/jb",
    "jc": "/W/c/jc",
    "jd": "/W/c/d/jd",
    "je": "/W/c/d/e/je",
    "jball": "/W/ball/jball",
}


def body(name: str, position: str, mass: float, com: str, inertia: str, *inner: str, extra: str = "") -> str:
    """Return a rigid body as text."""
    return f"""
    def Xform "{name}" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"])
    {{
        float physics:mass = {mass}
        point3f physics:centerOfMass = {com}
        float3 physics:diagonalInertia = {inertia}
        double3 xformOp:translate = {position}
        uniform token[] xformOpOrder = ["xformOp:translate"]
        {extra}
        {"".join(inner)}
    }}"""


def joint(kind: str, name: str, body0: str, body1: str, local0: str, *lines: str, apis: str = "") -> str:
    """Return a joint with MjcJointAPI as text."""
    applied = f'"MjcJointAPI"{apis}'
    side0 = f"rel physics:body0 = <{body0}>" if body0 else ""
    return f"""
    def Physics{kind}Joint "{name}" (prepend apiSchemas = [{applied}])
    {{
        {side0}
        rel physics:body1 = <{body1}>
        point3f physics:localPos0 = {local0}
        {chr(10).join(lines)}
    }}"""


def site(name: str, position: str) -> str:
    """Return a site as text."""
    return f"""
    def Sphere "{name}" (prepend apiSchemas = ["MjcSiteAPI"])
    {{
        double radius = 0.01
        double3 xformOp:translate = {position}
        uniform token[] xformOpOrder = ["xformOp:translate"]
    }}"""


def actuator(name: str, target: str, *lines: str) -> str:
    """Return an actuator as text."""
    return f"""
    def MjcActuator "{name}"
    {{
        rel mjc:target = <{target}>
        {chr(10).join(f"uniform {line}" for line in lines if not line.startswith("rel"))}
        {chr(10).join(line for line in lines if line.startswith("rel"))}
    }}"""


def stage() -> Usd.Stage:
    """Return the stage that says what MJCF says."""
    e = joint("Revolute", "je", "/W/c/d", "/W/c/d/e", "(0.1, 0, 0)", 'token physics:axis = "Y"',
              "double[] mjc:springdamper = [0.1, 0.8]")  # fmt: skip
    d = joint("Revolute", "jd", "/W/c", "/W/c/d", "(0.3, 0, 0)", 'token physics:axis = "X"',
              "double mjc:damping = 0.01", "rel newton:mimicJoint = </W/c/jc>",
              f"float newton:mimicCoef0 = {np.degrees(0.1)}", "float newton:mimicCoef1 = 0.5",
              "double mjc:coef2 = 0.3", "double mjc:coef3 = 0.1", "double[] mjc:solref = [0.03, 1]",
              "double[] mjc:solimp = [0.9, 0.97, 0.002, 0.5, 2]",
              apis=', "NewtonMimicAPI", "MjcEqualityJointAPI"')  # fmt: skip
    a = joint("Revolute", "ja", "", "/W/a", "(0, 0, 1)", 'token physics:axis = "Y"', "double mjc:ref = 0.3",
              "double mjc:springref = 0.1", "double mjc:stiffness = 2", "double mjc:damping = 0.05",
              "double mjc:armature = 0.01", "double mjc:frictionloss = 0.02",
              f"float physics:lowerLimit = {np.degrees(-1.0)}", f"float physics:upperLimit = {np.degrees(0.9)}",
              "double mjc:margin = 0.05", "double[] mjc:solreflimit = [0.03, 0.9]",
              "double[] mjc:solimplimit = [0.8, 0.9, 0.01, 0.5, 2]", "double[] mjc:solreffriction = [0.04, 1]",
              "double mjc:actuatorfrcrange:min = -0.7", "double mjc:actuatorfrcrange:max = 0.9",
              "bool mjc:actuatorgravcomp = 1")  # fmt: skip
    b = joint("Prismatic", "jb", "/W/a", "/W/a/b", "(0.4, 0, 0)", 'token physics:axis = "X"', "double mjc:ref = 0.05",
              "double mjc:springref = 0.02", "double mjc:stiffness = 30", "double mjc:damping = 1",
              "float physics:lowerLimit = 0", "float physics:upperLimit = 0.2")  # fmt: skip
    limit = float(np.degrees(0.5))
    ball = joint("Spherical", "jball", "", "/W/ball", "(0, 2, 1)", "double mjc:damping = 0.01",
                 "double mjc:stiffness = 0.2", "double mjc:armature = 0.002",
                 f"float physics:coneAngle0Limit = {limit}", f"float physics:coneAngle1Limit = {limit}")  # fmt: skip
    c = joint("Revolute", "jc", "", "/W/c", "(0, 1, 1)", 'token physics:axis = "Z"', "double mjc:damping = 0.02")
    small = "(0.004, 0.004, 0.004)"
    bodies = [
        body("a", "(0, 0, 1)", 1, "(0.2, 0, 0)", "(0.01, 0.02, 0.025)", a, site("sa", "(0.2, 0, 0.02)"),
             body("b", "(0.4, 0, 0)", 0.5, "(0, 0, 0)", small, b), extra="custom float mjc:body:gravcomp = 0.4"),
        body("c", "(0, 1, 1)", 0.8, "(0.1, 0, 0)", "(0.006, 0.006, 0.006)", c,
             body("d", "(0.3, 0, 0)", 0.3, "(0.1, 0, 0)", "(0.003, 0.003, 0.003)", d,
                  body("e", "(0.1, 0, 0)", 0.2, "(0, 0, 0.05)", "(0.001, 0.001, 0.001)", e))),
        body("ball", "(0, 2, 1)", 0.4, "(0.1, 0, 0)", small, ball),
        body("f", "(0, 3, 1)", 0.4, "(0, 0, 0)", small),
        body("g", "(0, 4, 1)", 0.4, "(0.1, 0, 0)", small),
    ]  # fmt: skip
    result = Usd.Stage.CreateInMemory()
    result.GetRootLayer().ImportFromString(f"""#usda 1.0
(
    metersPerUnit = 1
    kilogramsPerUnit = 1
    upAxis = "Z"
)
def PhysicsScene "Scene" (prepend apiSchemas = ["MjcSceneAPI"])
{{
    uniform token mjc:compiler:angle = "radian"
    uniform token mjc:option:integrator = "implicitfast"
    uniform double mjc:option:density = 1.2
    uniform double mjc:option:viscosity = 0.02
    uniform double mjc:option:impratio = 3
    uniform double3 mjc:option:wind = (1, 0.5, 0)
    uniform int[] mjc:option:actuatorgroupdisable = []
}}
def Xform "W"
{{
{"".join(bodies)}
{site("hook", "(0.1, 0.5, 1.2)")}{site("side", "(0.1, 0.2, 1.3)")}
{_DRUM}
{_EQUALITIES}
{_TENDONS}
{
        actuator(
            "m1",
            "/W/a/ja",
            "double[] mjc:gear = [2, 0, 0, 0, 0, 0]",
            "double mjc:ctrlRange:min = -1",
            "double mjc:ctrlRange:max = 1",
        )
    }
{
        actuator(
            "m2",
            "/W/c/jc",
            "double[] mjc:gainPrm = [4]",
            'token mjc:biasType = "affine"',
            "double[] mjc:biasPrm = [0.1, -4, -0.3]",
            "double mjc:forceRange:min = -1",
            "double mjc:forceRange:max = 1",
        )
    }
{
        actuator(
            "m3",
            "/W/a/b/jb",
            'token mjc:dynType = "filter"',
            "double[] mjc:dynPrm = [0.05]",
            "double[] mjc:gainPrm = [3]",
            "double mjc:actRange:min = -0.4",
            "double mjc:actRange:max = 0.4",
        )
    }
{actuator("m4", "/W/tf", "double[] mjc:gainPrm = [2]")}
{actuator("m5", "/W/a/sa", "double[] mjc:gear = [0, 0, 0.5, 0, 0.1, 0]", "rel mjc:refSite = </W/hook>")}
{actuator("m6", "/W/c/jc", 'token mjc:biasType = "affine"', "double[] mjc:gainPrm = [50]", "int mjc:group = 3")}
    def MjcKeyframe "start"
    {{
        double[] mjc:qpos = [0.6, 0.1, 0.3, 0.2, 0.1, 0.9921977, 0.1246747, 0, 0, 0.1, 3, 1.1, 1, 0, 0, 0,
            0, 4, 1, 1, 0, 0, 0]
        double[] mjc:qvel = [0.5, 0, 0.4, 0, 0, 0.2, -0.1, 0.3, 0.1, 0, 0, 0, 0.2, 0, 0.1, 0, 0, 0, 0, 0]
        double[] mjc:ctrl = [0.8, 0.5, 1, 0.7, 1.5, 1]
        double[] mjc:act = [0.3]
    }}
}}
""")
    return result


_DRUM = """
    def Sphere "drum" (prepend apiSchemas = ["MjcImageableAPI"])
    {
        double radius = 0.08
        double3 xformOp:translate = (0.1, 0.2, 1.1)
        uniform token[] xformOpOrder = ["xformOp:translate"]
    }"""

_EQUALITIES = """
    def PhysicsFixedJoint "weld" (prepend apiSchemas = ["MjcEqualityWeldAPI"])
    {
        rel physics:body0 = </W/ball>
        rel physics:body1 = </W/f>
        point3f physics:localPos0 = (0, 1, 0)
        point3f physics:localPos1 = (0.1, 0, 0)
        bool physics:excludeFromArticulation = 1
        uniform double[] mjc:solref = [0.05, 1]
        uniform float mjc:torqueScale = 0.5
    }
    def PhysicsSphericalJoint "connect" (prepend apiSchemas = ["MjcEqualityConnectAPI"])
    {
        rel physics:body0 = </W/g>
        point3f physics:localPos0 = (-0.1, 0, 0)
        point3f physics:localPos1 = (-0.1, 4, 1)
        bool physics:excludeFromArticulation = 1
        uniform double[] mjc:solref = [0.04, 1]
        uniform double[] mjc:solimp = [0.7, 0.9, 0.01, 0.5, 2]
    }"""

_TENDONS = """
    def MjcTendon "tf"
    {
        uniform token mjc:type = "fixed"
        rel mjc:path = [</W/a/ja>, </W/c/jc>]
        uniform double[] mjc:path:coef = [0.5, -0.3]
        uniform token mjc:limited = "true"
        uniform double mjc:range:min = -0.2
        uniform double mjc:range:max = 0.12
        uniform double mjc:stiffness = 3
        uniform double mjc:damping = 0.1
        uniform double[] mjc:springlength = [0, 0.05]
        uniform double mjc:frictionloss = 0.03
        uniform double mjc:armature = 0.01
        uniform double mjc:margin = 0.01
        uniform double[] mjc:solreflimit = [0.05, 1]
    }
    def MjcTendon "ts"
    {
        rel mjc:path = [</W/a/sa>, </W/drum>, </W/hook>]
        uniform int[] mjc:path:indices = [0, 1, 2, 2, 0]
        uniform int[] mjc:path:segments = [0, 0, 0, 1, 1]
        uniform double[] mjc:path:divisors = [1, 2]
        rel mjc:sideSites = </W/side>
        uniform int[] mjc:sideSites:indices = [-1, 0, -1, -1, -1]
        uniform double mjc:stiffness = 8
        uniform double mjc:damping = 0.2
    }"""


def coordinates(target: mujoco.MjModel, data: mujoco.MjData, names: dict[str, str] | None) -> np.ndarray:
    """Return the coordinates of all joints that have a name on both sides, then those of the free bodies."""
    rows = []
    for ours in JOINTS:
        found = target.joint(names[ours] if names else ours)
        rows += data.qpos[found.qposadr[0] : found.qposadr[0] + (4 if ours == "jball" else 1)].tolist()
    for name in ("f", "g"):
        found = target.body(f"/W/{name}" if names else name)
        rows += data.qpos[target.jnt_qposadr[found.jntadr[0]] :][:7].tolist()
    return np.array(rows)


@pytest.fixture(scope="module")
def native() -> tuple[mujoco.MjModel, np.ndarray]:
    """Native MuJoCo's model of the MJCF text, and its coordinates at the start and after STEPS."""
    target = mujoco.MjModel.from_xml_string(MJCF)
    data = mujoco.MjData(target)
    mujoco.mj_resetDataKeyframe(target, data, 0)
    rows = [coordinates(target, data, None)]
    mujoco.mj_step(target, data, STEPS)
    return target, np.array([*rows, coordinates(target, data, None)])


def test_a_stage_moves_as_the_same_mjcf(native):
    target, expected = native
    simulation = usd_sim.Simulation(stage(), keyframe="start")
    solver = simulation.solver
    assert simulation.model.report.errors == []
    assert simulation.dt == 0.002
    assert (solver.mj_model.ntendon, solver.mj_model.neq, solver.mj_model.na) == (target.ntendon, target.neq, target.na)
    np.testing.assert_allclose(coordinates(solver.mj_model, solver.mj_data, JOINTS), expected[0], atol=SAME)
    for _ in range(STEPS):
        simulation.step()
    moved = np.abs(expected[1] - expected[0])
    assert moved[:6].min() > 1e-3, "the comparison needs joints that move"
    np.testing.assert_allclose(coordinates(solver.mj_model, solver.mj_data, JOINTS), expected[1], atol=SAME)


def test_the_warp_backend_moves_alike():
    target = mujoco.MjModel.from_xml_string(MJCF)
    data = mujoco.MjData(target)
    mujoco.mj_resetDataKeyframe(target, data, 0)
    simulation = usd_sim.Simulation(stage(), keyframe="start", use_mujoco_cpu=False)
    mujoco.mj_step(target, data, FEW_STEPS)
    for _ in range(FEW_STEPS):
        simulation.step()
    assert simulation.state is not None  # brings positions to the host
    solver = simulation.solver
    actual = coordinates(solver.mj_model, solver.mj_data, JOINTS)
    np.testing.assert_allclose(actual, coordinates(target, data, None), atol=SINGLE_PRECISION)


def test_poses_of_a_keyframe_are_those_that_the_solver_finds():
    simulation = usd_sim.Simulation(stage(), keyframe="/W/start")
    initial = simulation.model.body_q.numpy()
    np.testing.assert_allclose(initial, simulation.state.body_q.numpy(), atol=1e-6)
    assert simulation.control.mujoco.ctrl.numpy()[0] == np.float32(0.8)


def test_an_unknown_keyframe_is_an_error_that_names_the_others():
    with pytest.raises(UsdSimError, match="no keyframe 'end'") as error:
        load(stage(), device="cpu", keyframe="end")
    assert "start" in str(error.value.remedy)


def test_coordinates_count_from_the_authored_pose():
    model = load(stage(), device="cpu")
    simulation = usd_sim.Simulation(model)
    row = model.joint_dof_path.index("/W/a/ja")
    assert model.joint_limit_upper.numpy()[row] == pytest.approx(0.6, abs=1e-6)
    assert model.mujoco.ref.numpy()[row] == np.float32(0.3)
    assert model.joint_rest_q.numpy()[row] == pytest.approx(-0.2, abs=1e-6)
    joint = simulation.solver.mj_model.joint("/W/a/ja")
    assert simulation.solver.mj_data.qpos[joint.qposadr[0]] == pytest.approx(0.3, abs=1e-6)
    assert simulation.state.joint_q.numpy()[row] == pytest.approx(0.0, abs=1e-6)


def test_control_of_actuators_acts():
    model = load(stage(), device="cpu")
    idle, driven = usd_sim.Simulation(model), usd_sim.Simulation(model)
    driven.control.mujoco.ctrl.assign(np.array([0, 0, 1, 0, 0, 0], np.float32))
    for _ in range(50):
        idle.step()
        driven.step()
    slide = model.joint_dof_path.index("/W/a/b/jb")
    assert driven.state.joint_q.numpy()[slide] - idle.state.joint_q.numpy()[slide] > 1e-3


def test_edits_of_native_fields_reach_mujoco():
    simulation = usd_sim.Simulation(stage())
    model, target = simulation.model, simulation.solver.mj_model
    model.mujoco.actuator_gainprm.assign(2.0 * model.mujoco.actuator_gainprm.numpy())
    model.mujoco.tendon_damping.assign(3.0 * model.mujoco.tendon_damping.numpy())
    model.mujoco.solreflimit.assign(np.tile([0.2, 0.5], (model.joint_dof_count, 1)).astype(np.float32))
    model.mujoco.equality_solref.assign(np.tile([0.3, 0.6], (model.joint_count, 1)).astype(np.float32))
    simulation.solver.notify_model_changed(ModelFlags.JOINT_DOF_FORCE_PROPERTIES | ModelFlags.CONSTRAINT_PROPERTIES)
    assert target.actuator_gainprm[target.actuator("/W/m2").id, 0] == pytest.approx(8.0)
    assert target.tendon_damping[target.tendon("/W/tf").id] == pytest.approx(0.3)
    np.testing.assert_allclose(target.jnt_solref[target.joint("/W/a/ja").id], [0.2, 0.5], rtol=1e-6)
    np.testing.assert_allclose(target.eq_solref, np.tile([0.3, 0.6], (3, 1)), rtol=1e-6)


def test_activations_survive_a_new_compile_of_the_model():
    simulation = usd_sim.Simulation(stage(), keyframe="start")
    for _ in range(20):
        simulation.step()
    before = simulation.solver.mj_data.act.copy()
    assert before[0] != pytest.approx(0.3)
    mode = simulation.model.joint_target_mode
    mode.assign(np.full(mode.shape, int(JointTargetMode.POSITION), np.int32))  # more drives: compiled anew
    simulation.solver.notify_model_changed(ModelFlags.JOINT_DOF_FORCE_PROPERTIES)
    np.testing.assert_array_equal(simulation.solver.mj_data.act, before)


def test_actuators_of_a_group_can_be_turned_off():
    one = usd_sim.Simulation(stage(), keyframe="start")
    other = usd_sim.Simulation(stage(), keyframe="start", disabled_actuator_groups=(3,))
    for simulation in (one, other):
        simulation.step()
    six = one.solver.mj_model.actuator("/W/m6").id
    assert one.solver.mj_data.actuator_force[six] == pytest.approx(50.0)
    assert other.solver.mj_data.actuator_force[six] == 0.0


def test_dialects_can_be_turned_off():
    model = load(stage(), device="cpu", dialects=("newton",), strict=False)
    assert model.mujoco.actuator_count == 0
    assert model.joint_stiffness.numpy().max(initial=0.0) == 0.0
    told = {entry.message for entry in model.report.ignored if entry.property.startswith("mjc:")}
    assert told == {"the dialect mjc is off"}
    with pytest.raises(UsdSimError, match="dialect 'mujoco' is unknown"):
        load(stage(), device="cpu", dialects=("mujoco",))


@pytest.mark.parametrize(("order", "expected"), [(None, 0.5), (("mjc", "newton"), 0.05)])
def test_the_first_dialect_that_speaks_counts(order: Any, expected: float):
    both = stage()
    prim = both.GetPrimAtPath("/W/a/ja")
    prim.ApplyAPI("NewtonJointAPI")
    prim.CreateAttribute("newton:damping", Sdf.ValueTypeNames.Float).Set(float(np.radians(0.5)))
    model = load(both, device="cpu", dialects=order, strict=False)
    row = model.joint_dof_path.index("/W/a/ja")
    assert model.joint_damping.numpy()[row] == pytest.approx(expected, rel=1e-5)


def test_merged_models_keep_what_actuators_and_tendons_refer_to():
    scene = ModelBuilder()
    compile_stage(stage(), scene)
    twice = ModelBuilder()
    twice.add_builder(scene)
    twice.add_builder(scene, xform=(10.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0))
    model = twice.finalize("cpu", skip_validation_joints=True)
    assert (model.mujoco.actuator_count, model.mujoco.tendon_count) == (12, 4)
    dofs = model.mujoco.actuator_dof.numpy()
    assert dofs[6] == dofs[0] + model.joint_dof_count // 2
    tendons = model.mujoco.wrap_tendon.numpy()
    assert sorted(set(tendons.tolist())) == [0, 1, 2, 3]
    shapes = model.mujoco.wrap_shape.numpy()
    assert shapes.max() >= model.shape_count // 2


SLIDES_AND_POSITIONS = [1, 9, 10, 11, 16, 17, 18], [1, 8, 9, 10, 14, 15, 16]
"""Numbers of the keyframe's qpos and qvel that are lengths and speeds."""


def in_centimetres(source: Usd.Stage) -> Usd.Stage:
    """Rewrite a stage in metres: each property by the dimension that its rule states."""
    UsdGeom.SetStageMetersPerUnit(source, 0.01)
    units = StageUnits(0.01, 1.0, "Z")
    for prim in source.Traverse():
        info = prim.GetPrimTypeInfo()
        owners = {info.GetTypeName(), *info.GetAppliedAPISchemas(), "PhysicsJoint"}
        angular = prim.GetTypeName() != "PhysicsPrismaticJoint"
        for attribute in prim.GetAuthoredAttributes():
            name = attribute.GetName()
            if name in ("xformOp:translate", "radius"):
                attribute.Set(attribute.Get() * 100.0)
            elif name in ("mjc:qpos", "mjc:qvel"):
                values = np.array(attribute.Get())
                values[SLIDES_AND_POSITIONS[name == "mjc:qvel"]] *= 100.0
                attribute.Set(values)
            for rule in RULES.find(name):
                fixed = prim.GetTypeName() == "MjcTendon" and prim.GetName() == "tf"
                dimension = rule.dimension.split("|")[-1 if angular else 0]
                # angles and what is per radian are read as MuJoCo has them
                if rule.on in owners and dimension not in ("", "deg", "rad") and not fixed:
                    value = attribute.Get()
                    scaled = units.from_si(np.array(value, float), dimension)
                    attribute.Set(type(value)(*scaled.tolist()) if scaled.ndim else float(scaled))
                    break
    return source


def test_units_of_the_stage_change_nothing(native):
    simulation = usd_sim.Simulation(in_centimetres(stage()), keyframe="start")
    for _ in range(STEPS):
        simulation.step()
    solver = simulation.solver
    np.testing.assert_allclose(coordinates(solver.mj_model, solver.mj_data, JOINTS), native[1][1], atol=10 * SAME)
