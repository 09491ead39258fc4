"""The PhysX schemas: what they say reaches the fields of the model, in SI, and what is not read says why."""

from __future__ import annotations

import numpy as np
import pytest
from pxr import Usd

from tests.stage.authoring import CHAINED, SINGLE, Read, box, read, stage_of
from tests.stage.test_joints_read import IDENTITY, joint, pose_text, scene, slide, turn
from usd_sim.model.builder import ModelBuilder
from usd_sim.stage.compile import compile_stage
from usd_sim.stage.dialects import RULES
from usd_sim.stage.dialects.physx import RULES as PHYSX
from usd_sim.stage.report import Report

DEGREE = np.radians(1.0)
CENTI = {"meters": 0.01, "kilograms": 0.001}
"""A stage in centimetres and grams: N are 1e-5 of a stage unit, N·m 1e-7."""


def revolute(text: str, apis: str, motion: np.ndarray = IDENTITY, **units: float) -> tuple[Read, int]:
    result = read(scene("PhysicsRevoluteJoint", "AB", motion, text, apis), **units)
    return result, result.dof("/J")


def report_of(stage: Usd.Stage, *dialects: str) -> Report:
    return compile_stage(stage, ModelBuilder(), dialects=dialects)[1]


# --- limits and joint axes ------------------------------------------------------------------------------------------


def test_limits_are_springs():
    text = "float physxLimit:angular:stiffness = 7; float physxLimit:angular:damping = 3"
    result, dof = revolute(text, "PhysxLimitAPI:angular", **CENTI)
    np.testing.assert_allclose(result.joint_limit_ke[dof], 7.0e-7 / DEGREE, rtol=CHAINED)
    np.testing.assert_allclose(result.joint_limit_kd[dof], 3.0e-7 / DEGREE, rtol=CHAINED)
    linear = text.replace("angular", "linear")
    result = read(scene("PhysicsPrismaticJoint", "AB", IDENTITY, linear, "PhysxLimitAPI:linear"), kilograms=0.001)
    np.testing.assert_allclose(result.joint_limit_ke[result.dof("/J")], 7.0e-3, rtol=SINGLE)


def test_limits_of_a_generic_joint_go_by_the_axis():
    locks = "; ".join(f"float limit:trans{axis}:physics:low = 1" for axis in "XYZ")
    apis = " ".join([*(f"PhysicsLimitAPI:trans{axis}" for axis in "XYZ"), "PhysxLimitAPI:rotY"])
    text = "; ".join(f"float limit:trans{axis}:physics:high = -1" for axis in "XYZ")
    text = f"{locks}; {text}; float physxLimit:rotY:stiffness = 7; float physxLimit:rotX:stiffness = 9"
    result = read(scene("PhysicsJoint", "AB", IDENTITY, text, apis))
    gains = [result.joint_limit_ke[result.dof("/J", f"rot{axis}")] for axis in "XYZ"]
    np.testing.assert_allclose(gains, [0.0, 7.0 / DEGREE, 0.0], rtol=SINGLE)
    assert result.said("ignored", "/J", "PhysxLimitAPI:rotX is not applied", "physxLimit:rotX:stiffness")


def test_limits_without_a_stiffness_stay_hard():
    result, dof = revolute("float physxLimit:angular:damping = 3", "PhysxLimitAPI:angular")
    assert result.joint_limit_ke[dof] == 0.0
    assert result.said("ignored", "/J", "without a stiffness", "physxLimit:angular:damping")


def test_limits_of_freedoms_that_the_joint_lacks_are_ignored():
    result, dof = revolute("float physxLimit:X:stiffness = 3", "PhysxLimitAPI:X")
    assert result.joint_limit_ke[dof] == 0.0
    assert result.said("ignored", "/J", "no freedom X", "physxLimit:X:stiffness")


AXIS = """float physxJointAxis:angular:armature = 2; float physxJointAxis:angular:maxJointVelocity = 90
    float physxJointAxis:angular:staticFrictionEffort = 5; float physxJointAxis:angular:dynamicFrictionEffort = 4
    float physxJointAxis:angular:viscousFrictionCoefficient = 3"""


def test_joint_axes():
    result, dof = revolute(AXIS, "PhysxJointAxisAPI:angular", **CENTI)
    np.testing.assert_allclose(result.joint_armature[dof], 2.0e-7, rtol=CHAINED)
    np.testing.assert_allclose(result.joint_velocity_limit[dof], np.pi / 2, rtol=CHAINED)
    np.testing.assert_allclose(result.joint_friction[dof], 4.0e-7, rtol=CHAINED)
    np.testing.assert_allclose(result.joint_damping[dof], 3.0e-7 / DEGREE, rtol=CHAINED)
    assert result.said("approximated", "/J", "rest and motion", "physxJointAxis:angular:staticFrictionEffort")


def test_static_friction_counts_where_it_is_alone():
    result, dof = revolute("float physxJointAxis:angular:staticFrictionEffort = 5", "PhysxJointAxisAPI:angular")
    assert result.joint_friction[dof] == 5.0
    assert not result.report.approximated


def test_older_joints():
    text = "float physxJoint:armature = 2; float physxJoint:maxJointVelocity = 90; float physxJoint:jointFriction = 3"
    result, dof = revolute(text, "PhysxJointAPI")
    assert result.joint_armature[dof] == 2.0
    np.testing.assert_allclose(result.joint_velocity_limit[dof], np.pi / 2, rtol=SINGLE)
    assert result.joint_friction[dof] == 3.0
    assert result.said("approximated", "/J", "effort", "physxJoint:jointFriction")
    ball = read(scene("PhysicsSphericalJoint", "AB", IDENTITY, text, "PhysxJointAPI"))
    start = ball.joint_qd_start[ball.joint("/J")]
    np.testing.assert_array_equal(ball.joint_armature[start : start + 3], 2.0)


@pytest.mark.parametrize(
    ("order", "expected"),
    [((), 1.0), (("physx", "newton"), 3.0), (("mjc", "physx"), 2.0), (("physx",), 3.0), (("newton",), 1.0)],
)
def test_dialects_have_an_order(order: tuple[str, ...], expected: float):
    text = "float newton:armature = 1; float mjc:armature = 2; float physxJointAxis:angular:armature = 3"
    stage = stage_of(scene("PhysicsRevoluteJoint", "AB", IDENTITY, text, "MjcJointAPI PhysxJointAxisAPI:angular"))
    builder = ModelBuilder()
    _, report = compile_stage(stage, builder, dialects=order or None)
    assert max(builder.joint_armature) == expected
    if order and "physx" not in order:
        off = [entry.property for entry in report.ignored if entry.message == "the dialect physx is off"]
        assert off == ["physxJointAxis:angular:armature"]


# --- mimics ---------------------------------------------------------------------------------------------------------

MIMIC = "rel physxMimicJoint:rotX:referenceJoint = </L>; float physxMimicJoint:rotX:gearing = 2"


def test_mimics_have_the_opposite_sign():
    # q + 2 q_leader + 30° = 0
    text = f"{MIMIC}; float physxMimicJoint:rotX:offset = 30"
    bodies = box("A") + box("B") + box("C")
    joints = joint("PhysicsRevoluteJoint", "/A", "/B", name="L")
    joints += joint("PhysicsRevoluteJoint", "/B", "/C", text, "PhysxMimicJointAPI:rotX", name="F")
    result = read(bodies + joints)
    follower = result.joint("/F")
    assert result.joint_mimic_joint[follower] == result.joint("/L")
    np.testing.assert_allclose(result.joint_mimic_coeffs[follower], [-np.pi / 6, -2.0], rtol=SINGLE)


def test_mimics_of_nobody_are_reported():
    stage = stage_of(box("A") + joint("PhysicsRevoluteJoint", "", "/A", MIMIC, "PhysxMimicJointAPI:rotX", name="L"))
    entries = report_of(stage, "physx").errors
    assert [(entry.prim, entry.property) for entry in entries] == [("/L", "physxMimicJoint:rotX:referenceJoint")]
    lone = read(scene("PhysicsRevoluteJoint", "AB", IDENTITY, "", "PhysxMimicJointAPI:rotX"))
    assert lone.said("ignored", "/J", "needs a leader")


def test_joints_follow_one_leader():
    text = f"{MIMIC}; rel physxMimicJoint:rotY:referenceJoint = </J>"
    apis = "PhysxMimicJointAPI:rotX PhysxMimicJointAPI:rotY"
    bodies = box("A") + box("B") + box("C")
    joints = joint("PhysicsRevoluteJoint", "/A", "/B", name="L")
    result = read(bodies + joints + joint("PhysicsRevoluteJoint", "/B", "/C", text, apis, name="F"))
    assert result.joint_mimic_coeffs[result.joint("/F"), 1] == -2.0
    assert result.said("ignored", "/F", "one leader", "physxMimicJoint:rotY:referenceJoint")


def test_newton_mimics_come_first():
    text = f"{MIMIC}; rel newton:mimicJoint = </L>; float newton:mimicCoef1 = 5"
    bodies = box("A") + box("B") + box("C")
    joints = joint("PhysicsRevoluteJoint", "/A", "/B", name="L")
    joints += joint("PhysicsRevoluteJoint", "/B", "/C", text, "PhysxMimicJointAPI:rotX NewtonMimicAPI", name="F")
    result = read(bodies + joints)
    assert result.joint_mimic_coeffs[result.joint("/F"), 1] == 5.0
    builder = ModelBuilder()
    compile_stage(stage_of(bodies + joints), builder, dialects=("physx", "newton"))
    assert [ratio for _, ratio in builder.joint_mimic_coeffs if ratio != 1.0] == [-2.0]


# --- states ---------------------------------------------------------------------------------------------------------

STATE = "float state:angular:physics:position = {}; float state:angular:physics:velocity = {}"


def test_states_that_agree_with_the_poses_count():
    # whole turns are what poses cannot say
    result, dof = revolute(STATE.format(360.0 + 30.0, 45.0), "PhysicsJointStateAPI:angular", turn(0, np.pi / 6))
    start = result.joint_q_start[result.joint("/J")]
    np.testing.assert_allclose(result.joint_q[start], np.radians(390.0), rtol=SINGLE)
    np.testing.assert_allclose(result.joint_qd[dof], np.pi / 4, rtol=SINGLE)
    assert not result.report.approximated


def test_poses_win_over_states():
    result, _ = revolute(STATE.format(60.0, 0.0), "PhysicsJointStateAPI:angular", turn(0, np.pi / 6))
    start = result.joint_q_start[result.joint("/J")]
    np.testing.assert_allclose(result.joint_q[start], np.pi / 6, rtol=CHAINED)
    assert result.said("approximated", "/J", "poses of the bodies", "state:angular:physics:position")


def test_velocities_of_bodies_win_over_states():
    spin = f"{pose_text(IDENTITY)}; vector3f physics:angularVelocity = (90, 0, 0)"
    text = STATE.format(0.0, 45.0)
    stage = box("A", spin) + joint("PhysicsRevoluteJoint", "", "/A", text, "PhysicsJointStateAPI:angular")
    result = read(stage)
    np.testing.assert_allclose(result.joint_qd[result.dof("/J")], np.pi / 2, rtol=SINGLE)
    assert result.said("approximated", "/J", "velocities of the bodies", "state:angular:physics:velocity")


def test_linear_states_are_lengths():
    text = "float state:linear:physics:velocity = 50; float state:linear:physics:position = 25"
    result = read(
        scene("PhysicsPrismaticJoint", "AB", slide(0, 25.0), text, "PhysicsJointStateAPI:linear"), meters=0.01
    )
    np.testing.assert_allclose(result.joint_qd[result.dof("/J")], 0.5, rtol=SINGLE)
    assert not result.report.approximated


def test_states_of_loops_are_ignored():
    text = f"{STATE.format(0, 45)}; bool physics:excludeFromArticulation = 1"
    result, _ = revolute(text, "PhysicsJointStateAPI:angular")
    assert result.said("ignored", "/J", "closes a loop", "state:angular:physics:velocity")


def test_states_belong_to_physx():
    stage = stage_of(scene("PhysicsRevoluteJoint", "AB", IDENTITY, STATE.format(0, 45), "PhysicsJointStateAPI:angular"))
    off = [entry.property for entry in report_of(stage, "newton").ignored]
    assert sorted(off) == ["state:angular:physics:position", "state:angular:physics:velocity"]


# --- bodies, colliders, materials -----------------------------------------------------------------------------------


def test_bodies_without_gravity():
    gravity = (
        'def PhysicsScene "S" { vector3f physics:gravityDirection = (0, 0, -1); float physics:gravityMagnitude = 3 }'
    )
    result = read(gravity + box("A", "bool physxRigidBody:disableGravity = 1", "PhysxRigidBodyAPI") + box("B"))
    np.testing.assert_array_equal(result.body_gravity[result.body("/A")], [0.0, 0.0, 3.0])
    np.testing.assert_array_equal(result.body_gravity[result.body("/B")], [0.0, 0.0, 0.0])


def test_bodies_without_gravity_in_the_second_scene():
    scenes = "".join(f'def PhysicsScene "S{i}" {{ float physics:gravityMagnitude = {3 + i} }}\n' for i in (0, 1))
    owner = "rel physics:simulationOwner = </S1>"
    bodies = box("A", f"bool physxRigidBody:disableGravity = 1; {owner}", "PhysxRigidBodyAPI") + box("B", owner)
    result = read(scenes + bodies + box("C"))
    total = result.gravity[0] + result.body_gravity[[result.body(f"/{name}") for name in "ABC"]]
    np.testing.assert_allclose(total[:, 2], [0.0, -4.0, -3.0])


@pytest.mark.parametrize(
    ("text", "margin", "gap"),
    [
        ("float physxCollision:contactOffset = 5; float physxCollision:restOffset = 2", 0.02, 0.03),
        ("float physxCollision:contactOffset = 5", 0.0, 0.05),
        ("float physxCollision:contactOffset = 5; float physxCollision:restOffset = -inf", 0.0, 0.05),
        ("float physxCollision:contactOffset = -inf; float physxCollision:restOffset = 2", 0.02, -np.inf),
        ("float physxCollision:contactOffset = 5; float newton:contactGap = 1", 0.0, 0.01),
    ],
)
def test_contact_offsets(text: str, margin: float, gap: float):
    result = read(box("A", text, "PhysxCollisionAPI NewtonCollisionAPI"), meters=0.01)
    np.testing.assert_allclose([result.shape_margin[0], result.shape_gap[0]], [margin, gap], rtol=SINGLE)


def test_contact_offsets_within_the_rest_offset():
    text = "float physxCollision:contactOffset = 1; float physxCollision:restOffset = 2"
    result = read(box("A", text, "PhysxCollisionAPI"))
    assert result.shape_gap[0] == 0.0
    assert result.said("approximated", "/A", "rest offset", "physxCollision:contactOffset")


def test_compliant_contacts():
    text = "float physxMaterial:compliantContactStiffness = 800; float physxMaterial:compliantContactDamping = 20"
    material = f'def Material "M" (prepend apiSchemas = ["PhysicsMaterialAPI", "PhysxMaterialAPI"]) {{ {text} }}\n'
    result = read(material + box("A", "rel material:binding:physics = </M>", "MaterialBindingAPI"), kilograms=0.001)
    np.testing.assert_allclose(result.shape_material_ke[0], 0.8, rtol=SINGLE)
    np.testing.assert_allclose(result.shape_material_kd[0], 0.02, rtol=SINGLE)
    rigid = read(material.replace("800", "0") + box("A", "rel material:binding:physics = </M>", "MaterialBindingAPI"))
    assert rigid.shape_material_ke[0] == read(box("A")).shape_material_ke[0]


def test_articulations_that_are_off_say_nothing_about_collisions():
    text = "bool physxArticulation:enabledSelfCollisions = 0; bool physxArticulation:articulationEnabled = {}"
    schemas = '"PhysicsArticulationRootAPI", "PhysxArticulationAPI"'

    def pairs(enabled: int) -> int:
        bodies = box("A") + box("B") + box("C")
        joints = joint("PhysicsRevoluteJoint", "/R/A", "/R/B") + joint("PhysicsRevoluteJoint", "/R/B", "/R/C", name="K")
        root = f'def Xform "R" (prepend apiSchemas = [{schemas}]) {{ {text.format(enabled)}\n{bodies}{joints} }}'
        result = read(root)
        apart = int(np.count_nonzero(result.shape_filter_mask)) + len(result.shape_collision_filter_pairs)
        assert result.model.articulation_count == 1
        return apart

    assert pairs(1) > pairs(0)


@pytest.mark.parametrize(("order", "apart"), [(("newton", "physx"), 0), (("physx", "newton"), 3)])
def test_the_first_dialect_decides_on_self_collision(order: tuple[str, ...], apart: int):
    text = "bool physxArticulation:enabledSelfCollisions = 0; bool newton:selfCollisionEnabled = 1"
    bodies = "".join(box(name) for name in "ABC")
    collide = "bool physics:collisionEnabled = 1"
    joints = joint("PhysicsRevoluteJoint", "/R/A", "/R/B", collide)
    joints += joint("PhysicsRevoluteJoint", "/R/B", "/R/C", collide, name="K")
    schemas = '"PhysicsArticulationRootAPI", "PhysxArticulationAPI", "NewtonArticulationRootAPI"'
    stage = stage_of(f'def Xform "R" (prepend apiSchemas = [{schemas}]) {{ {text}\n{bodies}{joints} }}')
    builder = ModelBuilder()
    compile_stage(stage, builder, dialects=order)
    masks = np.array(builder.shape_filter_mask)
    assert int((masks != 0).sum()) + len(builder.shape_collision_filter_pairs) == apart


# --- what is not read -----------------------------------------------------------------------------------------------


def test_rules_that_ignore_say_why():
    rules = [rule for rule in PHYSX if rule.ignored]
    assert rules
    for rule in rules:
        assert RULES.find(rule.property)[0].ignored == rule.ignored
    text = "float physxRigidBody:maxLinearVelocity = 3; float physxRigidBody:sleepThreshold = 0.1"
    result = read(box("A", text, "PhysxRigidBodyAPI"))
    assert result.said("ignored", "/A", "speeds of bodies", "physxRigidBody:maxLinearVelocity")
    assert result.said("ignored", "/A", "never sleep", "physxRigidBody:sleepThreshold")


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("physxVehicleWheel:radius", "vehicles"),
        ("physxDeformableBody:x", "deformable"),
        ("physxTendon:T:gearing", "tendons"),
        ("physxConvexHullCollision:minThickness", "hulls"),
        ("physxFlavour:x", "no schema of PhysX"),
    ],
)
def test_families_that_are_not_read_say_why(name: str, why: str):
    result = read(box("A", f"float {name} = 3"))
    assert result.said("ignored", "/A", why, name)
