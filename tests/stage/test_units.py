"""The unit boundary: one scene authored in many units gives one model."""

from __future__ import annotations

import numpy as np
import pytest

from tests.stage.authoring import box, read, stage_of
from usd_sim.errors import UsdSimError
from usd_sim.model.fields import DTYPES, FIELDS
from usd_sim.stage.dialects import RULES
from usd_sim.stage.units import DIMENSIONS, StageUnits

SAME = 1.0e-6
"""The scenes differ by roundings of single precision only."""

UNITS = [(0.01, 1.0), (1.0, 0.001), (0.01, 0.001), (0.0254, 0.45359237), (100.0, 1000.0)]


def scene(meters: float = 1.0, kilograms: float = 1.0) -> str:
    """Return one and the same scene, in the stage's units: every dimension that a rule knows is in it."""

    def length(*values: float) -> str:
        return _numbers(1.0 / meters, values)

    def mass(*values: float) -> str:
        return _numbers(1.0 / kilograms, values)

    def inertia(*values: float) -> str:
        return _numbers(1.0 / (kilograms * meters**2), values)

    def force(*values: float) -> str:
        return _numbers(1.0 / (kilograms * meters), values)

    def density(*values: float) -> str:
        return _numbers(meters**3 / kilograms, values)

    return f"""
def PhysicsScene "Scene" {{
    vector3f physics:gravityDirection = (0, 0.6, -0.8)
    float physics:gravityMagnitude = {length(3.7)}
}}
def Material "Rubber" (prepend apiSchemas = ["PhysicsMaterialAPI", "NewtonMaterialAPI"]) {{
    float physics:density = {density(700)}
    float physics:dynamicFriction = 0.6
    float physics:restitution = 0.3
    float newton:torsionalFriction = {length(0.01)}
    float newton:rollingFriction = {length(0.002)}
    float newton:contactStiffness = {mass(2000)}
    float newton:contactDamping = {mass(30)}
    float newton:contactFrictionGain = {mass(40)}
    float newton:contactAdhesion = {length(0.003)}
}}
def Xform "A" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "NewtonMassAPI"]) {{
    vector3f physics:velocity = ({length(1, 2, 3)})
    vector3f physics:angularVelocity = (10, 20, 30)
    float physics:mass = {mass(4)}
    point3f physics:centerOfMass = ({length(0.1, 0.2, 0.3)})
    double[] newton:inertia = [{inertia(0.5, 0.6, 0.7, 0.01, 0.02, 0.03)}]
    double3 xformOp:translate = ({length(0, 0, 1)})
    uniform token[] xformOpOrder = ["xformOp:translate"]
    def Capsule "Geometry" (prepend apiSchemas = ["NewtonCollisionAPI", "MaterialBindingAPI"]) {{
        double radius = {length(0.1)}
        double height = {length(0.4)}
        float newton:contactMargin = {length(0.004)}
        float newton:contactGap = {length(0.005)}
        rel material:binding:physics = </Rubber>
    }}
}}
def Xform "B" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"]) {{
    float physics:mass = {mass(2)}
    float3 physics:diagonalInertia = ({inertia(0.3, 0.4, 0.5)})
    double3 xformOp:translate = ({length(0.5, 0, 1)})
    uniform token[] xformOpOrder = ["xformOp:translate"]
    def Cube "Geometry" (prepend apiSchemas = ["PhysicsCollisionAPI", "NewtonMassAPI"]) {{
        double size = {length(0.2)}
        uniform token newton:massModel = "shell"
        uniform float newton:shellThickness = {length(0.01)}
    }}
}}
def Xform "C" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"]) {{
    float physics:density = {density(500)}
    double3 xformOp:translate = ({length(0.5, 0.75, 1)})
    uniform token[] xformOpOrder = ["xformOp:translate"]
    def Mesh "Geometry" (prepend apiSchemas = ["PhysicsCollisionAPI", "PhysicsMeshCollisionAPI"]) {{
        uniform token physics:approximation = "convexHull"
        point3f[] points = [({length(0, 0, 0)}), ({length(1, 0, 0)}), ({length(0, 1, 0)}), ({length(0, 0, 1)})]
        int[] faceVertexCounts = [3, 3, 3, 3]
        int[] faceVertexIndices = [0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3]
    }}
}}
def PhysicsRevoluteJoint "Hinge" (prepend apiSchemas = ["PhysicsDriveAPI:angular", "NewtonJointAPI"]) {{
    rel physics:body1 = </A>
    uniform token physics:axis = "Y"
    point3f physics:localPos0 = ({length(0, 0, 1)})
    float physics:lowerLimit = -50
    float physics:upperLimit = 70
    float drive:angular:physics:stiffness = {inertia(8)}
    float drive:angular:physics:damping = {inertia(0.5)}
    float drive:angular:physics:targetPosition = 25
    float drive:angular:physics:targetVelocity = 15
    float drive:angular:physics:maxForce = {inertia(90)}
    float newton:armature = {inertia(0.02)}
    float newton:damping = {inertia(0.03)}
    float newton:friction = {inertia(0.04)}
    float newton:velocityLimit = 360
    float newton:limitStiffness = {inertia(11)}
    float newton:limitDamping = {inertia(0.6)}
}}
def PhysicsPrismaticJoint "Slider" (prepend apiSchemas = ["PhysicsDriveAPI:linear", "NewtonJointAPI"]) {{
    rel physics:body0 = </A>
    rel physics:body1 = </B>
    point3f physics:localPos1 = ({length(-0.5, 0, 0)})
    float physics:lowerLimit = {length(-0.25)}
    float physics:upperLimit = {length(0.5)}
    float drive:linear:physics:stiffness = {mass(80)}
    float drive:linear:physics:damping = {mass(5)}
    float drive:linear:physics:targetPosition = {length(0.1)}
    float drive:linear:physics:targetVelocity = {length(0.2)}
    float drive:linear:physics:maxForce = {force(90)}
    float newton:armature = {mass(0.2)}
    float newton:damping = {mass(0.3)}
    float newton:friction = {force(0.4)}
    float newton:velocityLimit = {length(3)}
    float newton:limitStiffness = {mass(110)}
    float newton:limitDamping = {mass(6)}
}}
def PhysicsJoint "D6" (
    prepend apiSchemas = ["PhysicsLimitAPI:transX", "PhysicsLimitAPI:rotZ", "PhysicsLimitAPI:transY",
        "PhysicsLimitAPI:transZ", "PhysicsLimitAPI:rotX", "PhysicsDriveAPI:rotZ", "PhysicsDriveAPI:transX"]
) {{
    rel physics:body0 = </B>
    rel physics:body1 = </C>
    point3f physics:localPos1 = ({length(0, -0.75, 0)})
    float limit:transX:physics:low = {length(-0.1)}
    float limit:transX:physics:high = {length(0.3)}
    float limit:rotZ:physics:low = -20
    float limit:rotZ:physics:high = 40
    float limit:transY:physics:low = 1
    float limit:transY:physics:high = -1
    float limit:transZ:physics:low = 1
    float limit:transZ:physics:high = -1
    float limit:rotX:physics:low = 1
    float limit:rotX:physics:high = -1
    float drive:rotZ:physics:stiffness = {inertia(3)}
    float drive:transX:physics:stiffness = {mass(4)}
}}
def PhysicsRevoluteJoint "Follower" (prepend apiSchemas = ["NewtonMimicAPI"]) {{
    rel physics:body0 = </A>
    rel physics:body1 = </B>
    bool physics:excludeFromArticulation = 1
    rel newton:mimicJoint = </Hinge>
    float newton:mimicCoef0 = 30
    float newton:mimicCoef1 = -2
}}
def PhysicsDistanceJoint "Rope" {{
    rel physics:body0 = </A>
    rel physics:body1 = </C>
    float physics:minDistance = {length(0.25)}
    float physics:maxDistance = {length(1.5)}
}}
def Plane "Ground" (prepend apiSchemas = ["PhysicsCollisionAPI"]) {{
    double3 xformOp:translate = ({length(0, 0, -1)})
    uniform token[] xformOpOrder = ["xformOp:translate"]
}}
"""


def _numbers(factor: float, values: tuple[float, ...]) -> str:
    return ", ".join(repr(factor * value) for value in values)


@pytest.mark.parametrize(("meters", "kilograms"), UNITS)
def test_one_scene_in_any_units_gives_one_model(meters: float, kilograms: float):
    expected = read(scene())
    found = read(scene(meters, kilograms), meters=meters, kilograms=kilograms)
    for field in FIELDS:
        if DTYPES[field.dtype].numpy is None or field.name == "shape_scale":
            continue  # meshes keep their points and carry the unit in their scale: compared below
        a, b = getattr(found, field.name), getattr(expected, field.name)
        np.testing.assert_allclose(a, b, rtol=SAME, atol=SAME, err_msg=field.name)
    for path in expected.shape_path:
        row, points = expected.shape(path), [np.ones((1, 3)), np.ones((1, 3))]
        if expected.shape_source[row] is not None:
            points = [result.shape_source[row].vertices for result in (expected, found)]
        sizes = [result.shape_scale[row] * point for result, point in zip((expected, found), points, strict=True)]
        np.testing.assert_allclose(sizes[1], sizes[0], rtol=SAME, atol=SAME, err_msg=path)


def test_values_are_what_is_authored():
    found = read(scene(0.01, 0.001), meters=0.01, kilograms=0.001)
    hinge, slider, degree = found.dof("/Hinge"), found.dof("/Slider"), np.degrees(1.0)
    expected = {
        "joint_limit_lower": (np.radians(-50), -0.25),
        "joint_limit_upper": (np.radians(70), 0.5),
        "joint_target_ke": (8 * degree, 80),
        "joint_target_kd": (0.5 * degree, 5),
        "joint_target_q": (np.radians(25), 0.1),
        "joint_target_qd": (np.radians(15), 0.2),
        "joint_effort_limit": (90, 90),
        "joint_armature": (0.02, 0.2),
        "joint_damping": (0.03 * degree, 0.3),
        "joint_friction": (0.04, 0.4),
        "joint_velocity_limit": (np.radians(360), 3),
        "joint_limit_ke": (11 * degree, 110),
        "joint_limit_kd": (0.6 * degree, 6),
    }
    for name, values in expected.items():
        np.testing.assert_allclose(getattr(found, name)[[hinge, slider]], values, rtol=SAME, err_msg=name)
    np.testing.assert_allclose(found.scene.gravity, np.array([0.0, 0.6, -0.8]) * 3.7, rtol=SAME)
    a, b, c = (found.body(path) for path in ("/A", "/B", "/C"))
    np.testing.assert_allclose(found.body_qd[a], [1, 2, 3, *np.radians([10, 20, 30])], rtol=SAME)
    np.testing.assert_allclose(found.body_mass[[a, b]], [4, 2], rtol=SAME)
    np.testing.assert_allclose(found.body_com[a], [0.1, 0.2, 0.3], rtol=SAME)
    np.testing.assert_allclose(
        found.body_inertia[a], [[0.5, 0.01, 0.02], [0.01, 0.6, 0.03], [0.02, 0.03, 0.7]], rtol=SAME
    )
    np.testing.assert_allclose(found.body_inertia[b], np.diag([0.3, 0.4, 0.5]), rtol=SAME, atol=SAME)
    np.testing.assert_allclose(found.body_mass[c], 500.0 / 6.0, rtol=SAME)
    shape = found.shape("/A/Geometry")
    for name, value in {
        "margin": 0.004, "gap": 0.005, "material_mu": 0.6, "material_restitution": 0.3, "material_mu_torsional": 0.01,
        "material_mu_rolling": 0.002, "material_ke": 2000, "material_kd": 30, "material_kf": 40, "material_ka": 0.003,
    }.items():  # fmt: skip
        np.testing.assert_allclose(getattr(found, f"shape_{name}")[shape], value, rtol=SAME, err_msg=name)
    np.testing.assert_allclose(found.shape_scale[shape][:2], [0.1, 0.2], rtol=SAME)
    np.testing.assert_allclose(found.joint_mimic_coeffs[found.joint("/Follower")], [np.radians(30), -2.0], rtol=SAME)
    assert found.joint_mimic_joint[found.joint("/Follower")] == found.joint("/Hinge")


def test_distance_joint_keeps_its_bounds():
    found = read(scene(0.01, 1.0), meters=0.01)
    first = found.joint_qd_start[found.joint("/Rope")]
    np.testing.assert_allclose(found.joint_limit_lower[first], 0.25, rtol=SAME)
    np.testing.assert_allclose(found.joint_limit_upper[first], 1.5, rtol=SAME)


@pytest.mark.parametrize("up", ["Y", "Z"])
@pytest.mark.parametrize("meters", [1.0, 0.01])
@pytest.mark.parametrize(
    ("authored", "expected"),
    [
        ("", 9.81),
        ("float physics:gravityMagnitude = -inf", 9.81),
        ("float physics:gravityMagnitude = -1", 9.81),
        ("vector3f physics:gravityDirection = (0, 0, 0)", 9.81),
        ("float physics:gravityMagnitude = 0", 0.0),
        ("bool newton:gravityEnabled = 0", 0.0),
    ],
)
def test_gravity_sentinels(up: str, meters: float, authored: str, expected: float):
    text = f'def PhysicsScene "S" (prepend apiSchemas = ["NewtonSceneAPI"]) {{ {authored} }}'
    down = -np.array([0.0, 1.0, 0.0] if up == "Y" else [0.0, 0.0, 1.0])
    np.testing.assert_allclose(read(text, meters=meters, up=up).scene.gravity, expected * down, rtol=SAME, atol=SAME)


@pytest.mark.parametrize("up", ["Y", "Z"])
def test_a_stage_without_scene_has_earths_gravity(up: str):
    found = read(box("A"), up=up, meters=0.01)
    down = [0.0, -9.81, 0.0] if up == "Y" else [0.0, 0.0, -9.81]
    np.testing.assert_allclose(found.gravity[0], down, rtol=SAME)


def test_direction_needs_no_unit_length():
    found = read(
        'def PhysicsScene "S" { vector3f physics:gravityDirection = (3, 0, 4); float physics:gravityMagnitude = 5 }'
    )
    np.testing.assert_allclose(found.scene.gravity, [3, 0, 4], rtol=SAME)


def test_gravity_of_time_samples_is_read_at_the_start():
    found = read(
        'def PhysicsScene "S" { float physics:gravityMagnitude.timeSamples = { 5: 2, 10: 4 } }',
        metadata="startTimeCode = 5",
    )
    np.testing.assert_allclose(found.scene.gravity, [0, 0, -2], rtol=SAME)


@pytest.mark.parametrize(
    ("apis", "text", "rate"),
    [
        ("", "", 500.0),
        ("NewtonSceneAPI", "", 1000.0),
        ("NewtonSceneAPI", "uniform int newton:timeStepsPerSecond = 240", 240.0),
        ("NewtonXpbdSceneAPI", "uniform int newton:timeStepsPerSecond = 240", 240.0),
    ],
)
def test_rate(apis: str, text: str, rate: float):
    schemas = f'(prepend apiSchemas = ["{apis}"])' if apis else ""
    assert read(f'def PhysicsScene "S" {schemas} {{ {text} }}').scene.steps_per_second == rate


@pytest.mark.parametrize(("meters", "kilograms"), [(0.0, 1.0), (-1.0, 1.0), (1.0, 0.0), (1.0, -2.0)])
def test_units_that_are_not_positive_are_refused(meters: float, kilograms: float):
    with pytest.raises(UsdSimError, match="PerUnit"):
        read(box("A"), meters=meters, kilograms=kilograms)


@pytest.mark.parametrize("dimension", list(DIMENSIONS))
def test_conversion_goes_both_ways(dimension: str):
    units = StageUnits(0.01, 0.001, "Y")
    assert units.from_si(units.to_si(3.0, dimension), dimension) == pytest.approx(3.0, rel=1e-15)


def test_rules_use_dimensions_that_exist():
    used = {part for rule in RULES.rules for part in rule.dimension.split("|")}
    assert used <= set(DIMENSIONS)


def test_fallbacks_of_usd_itself_are_used_where_a_stage_states_no_units():
    stage = stage_of(box("A"))
    stage.GetRootLayer().pseudoRoot.ClearInfo("metersPerUnit")
    stage.GetRootLayer().pseudoRoot.ClearInfo("upAxis")
    found = read(stage)
    np.testing.assert_allclose(found.shape_scale[0], [0.005] * 3, rtol=SAME)
    np.testing.assert_allclose(found.gravity[0], [0, -9.81, 0], rtol=SAME)
