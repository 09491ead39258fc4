"""Joints by kinematics: coordinates move the bodies as UsdPhysics says, whichever way the joint is authored."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from tests.model.systems import assert_same_pose, forward_kinematics
from tests.stage.authoring import CHAINED, SINGLE, Read, box, read, stage_of, world_matrix
from usd_sim.errors import UsdSimError
from usd_sim.geometry import transforms as tf
from usd_sim.model.types import JointType

FRAMES = (
    np.array([0.3, -0.2, 0.5, *tf.quat_normalize([0.1, 0.7, -0.3, 0.6])]),
    np.array([-0.1, 0.4, 0.2, *tf.quat_normalize([-0.5, 0.2, 0.4, 0.7])]),
)
"""Joint frames in body 0 and in body 1."""

IDENTITY = tf.identity_transform(1)[0]


def frame_text(side: int, frame: np.ndarray = IDENTITY) -> str:
    x, y, z, i, j, k, w = frame.tolist()
    return f"point3f physics:localPos{side} = ({x}, {y}, {z}); quatf physics:localRot{side} = ({w}, {i}, {j}, {k})"


def pose_text(pose: np.ndarray) -> str:
    x, y, z, i, j, k, w = np.asarray(pose, dtype=float).tolist()
    return (
        f"double3 xformOp:translate = ({x}, {y}, {z}); quatd xformOp:orient = ({w}, {i}, {j}, {k}); "
        'uniform token[] xformOpOrder = ["xformOp:translate", "xformOp:orient"]'
    )


def turn(axis: int, angle: float) -> np.ndarray:
    return np.concatenate([np.zeros(3), tf.quat_from_axis_angle(np.eye(3)[axis], angle)])


def slide(axis: int, distance: float) -> np.ndarray:
    return np.concatenate([distance * np.eye(3)[axis], [0.0, 0.0, 0.0, 1.0]])


def product(*poses: np.ndarray) -> np.ndarray:
    result = IDENTITY
    for pose in poses:
        result = tf.transform_multiply(result, pose)
    return result


def joint(kind: str, body0: str, body1: str, text: str = "", apis: str = "", name: str = "J") -> str:
    sides = "; ".join(f"rel physics:body{i} = <{path}>" for i, path in enumerate((body0, body1)) if path)
    schemas = ", ".join(f'"{api}"' for api in apis.split())
    head = f"(prepend apiSchemas = [{schemas}])" if apis else ""
    return f'\ndef {kind} "{name}" {head} {{ {sides}; {text} }}\n'


PLACE_A = np.array([1.0, 2.0, 3.0, *tf.quat_normalize([0.2, -0.1, 0.5, 0.8])])


def scene(kind: str, order: str, motion: np.ndarray, text: str = "", apis: str = "", held: bool = True) -> str:
    """Return bodies A and B with a joint; they stand where the joint's motion puts them.

    Args:
        kind: Type of the joint prim.
        order: Bodies 0 and 1, "-" for the world.
        motion: Pose of frame 1 in frame 0.
        text: Further properties of the joint.
        apis: API schemas of the joint.
        held: A fixed joint holds A in the world.
    """
    first, second = order
    poses = {"A": PLACE_A, "-": IDENTITY}
    if first in poses:  # the other body follows
        poses["B"] = product(poses[first], FRAMES[0], motion, tf.transform_inverse(FRAMES[1]))
    else:
        poses["B"] = product(poses[second], FRAMES[1], tf.transform_inverse(motion), tf.transform_inverse(FRAMES[0]))
    bodies = "".join(box(name, pose_text(poses[name])) for name in "AB" if name in order)
    paths = ["" if name == "-" else f"/{name}" for name in order]
    local = f"{frame_text(0, FRAMES[0])}; {frame_text(1, FRAMES[1])}; {text}"
    hold = joint("PhysicsFixedJoint", "", "/A", frame_text(0, PLACE_A), name="Hold") if held and "A" in order else ""
    return bodies + hold + joint(kind, *paths, local, apis)


def relative(result: Read, poses: np.ndarray, order: str) -> np.ndarray:
    """Return the pose of frame 1 in frame 0 for bodies at some poses."""
    frames = [
        product(IDENTITY if name == "-" else poses[result.body(f"/{name}")], frame)
        for name, frame in zip(order, FRAMES, strict=True)
    ]
    return product(tf.transform_inverse(frames[0]), frames[1])


def moved(result: Read, values: np.ndarray, path: str = "/J") -> np.ndarray:
    """Return the poses of all bodies with other coordinates of one joint."""
    q = result.joint_q.astype(float).copy()
    start = result.joint_q_start[result.joint(path)]
    q[start : start + len(values)] = values
    return forward_kinematics(result.model, q)


LIMITLESS = "PhysicsLimitAPI:{0}"
D6_LOCKS = {
    "rotX rotY rotZ": "transX transY transZ",
    "transX transY transZ": "rotX rotY rotZ",
    "rotZ": "transX transY transZ rotX rotY",
    "transX rotY": "transY transZ rotX rotZ",
    "transX transY transZ rotX rotY rotZ": "",
}


def d6(free: str) -> tuple[str, str]:
    """Return the properties and schemas that leave some freedoms."""
    names = D6_LOCKS[free].split()
    text = "; ".join(f"float limit:{n}:physics:low = 1; float limit:{n}:physics:high = -1" for n in names)
    return text, " ".join(LIMITLESS.format(n) for n in names)


def step(name: str, value: float) -> np.ndarray:
    axis = "XYZ".index(name[-1])
    return turn(axis, value) if name.startswith("rot") else slide(axis, value)


ORDERS = ["AB", "BA", "-B", "B-"]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("axis", ["X", "Y", "Z"])
@pytest.mark.parametrize("kind", ["PhysicsRevoluteJoint", "PhysicsPrismaticJoint"])
def test_one_freedom(kind: str, axis: str, order: str):
    motion = turn if "Revolute" in kind else slide
    unit = np.degrees(1.0) if "Revolute" in kind else 1.0
    row = "XYZ".index(axis)
    limits = f"float physics:lowerLimit = {-0.5 * unit}; float physics:upperLimit = {0.9 * unit}"
    text = f'uniform token physics:axis = "{axis}"; {limits}'
    result = read(scene(kind, order, motion(row, 0.4), text))
    dof = result.dof("/J")
    assert result.joint_q[result.joint_q_start[result.joint("/J")]] == pytest.approx(0.4, abs=CHAINED)
    np.testing.assert_allclose(
        [result.joint_limit_lower[dof], result.joint_limit_upper[dof]], [-0.5, 0.9], rtol=CHAINED
    )
    assert_same_pose(forward_kinematics(result.model), result.body_q, tolerance=CHAINED)
    for value in (-1.2, 0.0, 0.7):
        poses = moved(result, np.array([value]))
        assert_same_pose(relative(result, poses, order), motion(row, value), tolerance=CHAINED)
    assert not result.report.approximated


@pytest.mark.parametrize("order", ORDERS)
def test_ball_and_fixed(order: str):
    rotation = product(turn(0, 0.5), turn(1, -0.8))
    result = read(scene("PhysicsSphericalJoint", order, rotation))
    assert_same_pose(forward_kinematics(result.model), result.body_q, tolerance=CHAINED)
    poses = moved(result, turn(2, 1.1)[3:])
    found = relative(result, poses, order)
    np.testing.assert_allclose(found[:3], 0.0, atol=CHAINED)
    fixed = read(scene("PhysicsFixedJoint", order, IDENTITY))
    assert_same_pose(forward_kinematics(fixed.model), fixed.body_q, tolerance=CHAINED)
    assert not fixed.report.approximated + result.report.approximated


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("free", list(D6_LOCKS))
def test_d6(free: str, order: str):
    names = free.split()
    values = np.array([0.3, -0.2, 0.4, 0.25, -0.5, 0.6])[: len(names)]
    text, apis = d6(free)
    mixed = len({name[:3] for name in names}) > 1
    reversed_order = order in ("BA", "B-")
    result = read(scene("PhysicsJoint", order, product(*map(step, names, values)), text, apis))
    row = result.joint("/J")
    kinds = ["trans" in name for name in names]
    assert result.joint_dof_dim[row].tolist() == [sum(kinds), len(kinds) - sum(kinds)]
    if mixed and reversed_order:  # turning before sliding is nothing that a joint of the model can do
        assert result.said("approximated", "/J", "turned round")
        return
    assert_same_pose(forward_kinematics(result.model), result.body_q, tolerance=CHAINED)
    stored = [result.joint_dof_name[result.joint_qd_start[row] + i] for i in range(len(names))]
    assert sorted(stored) == sorted(names)
    other = dict(zip(names, 0.7 * values[::-1], strict=True))
    poses = moved(result, np.array([other[name] for name in stored]))
    expected = product(*(step(name, other[name]) for name in names))
    assert_same_pose(relative(result, poses, order), expected, tolerance=CHAINED)
    assert not result.report.approximated


def test_d6_limits_and_locks():
    apis = (
        "PhysicsLimitAPI:transX PhysicsLimitAPI:transY PhysicsLimitAPI:transZ PhysicsLimitAPI:rotX PhysicsLimitAPI:rotY"
    )
    text = """float limit:transX:physics:low = -0.5; float limit:transX:physics:high = 0.25
    float limit:transY:physics:low = 1; float limit:transY:physics:high = -1
    float limit:transZ:physics:low = 0; float limit:transZ:physics:high = 0
    float limit:rotX:physics:low = -30
    float limit:rotZ:physics:low = -5; float limit:rotZ:physics:high = 5"""
    result = read(scene("PhysicsJoint", "AB", IDENTITY, text, apis))
    names = [name for name in result.joint_dof_name if name]
    assert names == ["transX", "rotX", "rotY", "rotZ"]
    lower = {name: result.joint_limit_lower[result.dof("/J", name)] for name in names}
    upper = {name: result.joint_limit_upper[result.dof("/J", name)] for name in names}
    assert (lower["transX"], upper["transX"]) == (-0.5, 0.25)
    assert (lower["rotX"], upper["rotX"]) == (pytest.approx(np.radians(-30)), np.inf)
    assert (lower["rotY"], upper["rotY"]) == (-np.inf, np.inf)
    assert (lower["rotZ"], upper["rotZ"]) == (-np.inf, np.inf), "PhysicsLimitAPI:rotZ is not applied"
    assert result.said("ignored", "/J", "PhysicsLimitAPI:rotZ is not applied", property="limit:rotZ:physics:low")


@pytest.mark.parametrize("order", ["AB", "BA"])
def test_limits_and_targets_keep_their_sign(order: str):
    text = """uniform token physics:axis = "Y"; float physics:lowerLimit = -10; float physics:upperLimit = 80
    float drive:angular:physics:targetPosition = 45; float drive:angular:physics:targetVelocity = 5
    float drive:angular:physics:stiffness = 2"""
    result = read(scene("PhysicsRevoluteJoint", order, turn(1, 0.2), text, "PhysicsDriveAPI:angular"))
    dof = result.dof("/J")
    np.testing.assert_allclose(
        [
            result.joint_limit_lower[dof],
            result.joint_limit_upper[dof],
            result.joint_target_q[dof],
            result.joint_target_qd[dof],
        ],
        np.radians([-10, 80, 45, 5]),
        rtol=CHAINED,
    )
    poses = moved(result, np.array([np.radians(45)]))
    assert_same_pose(relative(result, poses, order), turn(1, np.radians(45)), tolerance=CHAINED)


@pytest.mark.parametrize(("low", "high", "expected"), [(150, 300, 200), (-300, -150, -160), (-170, 170, -160)])
def test_angles_come_to_lie_within_the_limits(low: float, high: float, expected: float):
    text = f'uniform token physics:axis = "Y"; float physics:lowerLimit = {low}; float physics:upperLimit = {high}'
    result = read(scene("PhysicsRevoluteJoint", "AB", turn(1, np.radians(200)), text))
    assert np.degrees(result.joint_q[0]) == pytest.approx(expected, abs=1e-3)  # degrees in single precision


def test_poses_that_no_coordinates_reach_are_reported():
    result = read(scene("PhysicsRevoluteJoint", "AB", slide(0, 0.5), 'uniform token physics:axis = "Y"'))
    assert result.said("approximated", "/J", "not where the joint allows")


# --- what joints connect --------------------------------------------------------------------------------------------


def test_a_side_may_be_a_plain_xform_or_a_static_collider():
    base = f'def Xform "Place" {{ {pose_text(PLACE_A)} }}\ndef Cube "Wall" (prepend apiSchemas = ["PhysicsCollisionAPI"]) {{ {pose_text(PLACE_A)} }}\n'  # noqa: E501
    for target in ("/Place", "/Wall"):
        body = product(PLACE_A, FRAMES[0], turn(0, 0.5), tf.transform_inverse(FRAMES[1]))
        local = f"{frame_text(0, FRAMES[0])}; {frame_text(1, FRAMES[1])}"
        result = read(base + box("B", pose_text(body)) + joint("PhysicsRevoluteJoint", target, "/B", local))
        row = result.joint("/J")
        assert (result.joint_parent[row], result.joint_child[row]) == (-1, 0)
        assert_same_pose(result.joint_X_p[row], product(PLACE_A, FRAMES[0]), tolerance=CHAINED)
        assert result.joint_q[0] == pytest.approx(0.5, abs=CHAINED)
        pair = {result.shape("/Wall"), result.shape("/B")}
        pairs = [set(pair) for pair in result.shape_collision_filter_pairs.tolist()]
        assert (pair in pairs) == (target == "/Wall")


def test_a_side_may_be_a_prim_below_a_body():
    inner = f'def Xform "Anchor" {{ {pose_text(slide(0, 0.5))} }}'
    result = read(
        f'def Xform "A" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"]) {{ float physics:mass = 1; float3 physics:diagonalInertia = (1, 1, 1); {inner} }}'  # noqa: E501
        + box("B", pose_text(slide(0, 0.75)))
        + joint("PhysicsRevoluteJoint", "/A/Anchor", "/B", frame_text(0, slide(0, 0.25)))
    )
    row = result.joint("/J")
    assert result.joint_parent[row] == result.body("/A")
    np.testing.assert_allclose(result.joint_X_p[row][:3], [0.75, 0, 0], atol=SINGLE)


def test_frames_under_scaled_parents():
    frames = f"{frame_text(0, slide(1, 0.5))}; {frame_text(1, slide(1, -1.5))}"
    uneven = 'float3 xformOp:scale = (1, 3, 1); uniform token[] xformOpOrder = ["xformOp:scale"]'
    shifted = 'double3 xformOp:translate = (0, 3, 0); uniform token[] xformOpOrder = ["xformOp:translate"]'
    result = read(f"""def Xform "Top" {{ {uneven.replace("(1, 3, 1)", "(2, 2, 2)")}
    {box("A", uneven)} {box("B", shifted)} {joint("PhysicsRevoluteJoint", "/Top/A", "/Top/B", frames)} }}""")
    row = result.joint("/Top/J")
    # in metres: the body's scale counts, and its own frame has none
    np.testing.assert_allclose(result.joint_X_p[row][:3], [0, 3, 0], atol=CHAINED)
    np.testing.assert_allclose(result.joint_X_c[row][:3], [0, -3, 0], atol=CHAINED)
    assert not result.report.approximated


@pytest.mark.parametrize("side", [0, 1])
def test_a_missing_target_is_an_error(side: int):
    targets = ["/A", "/Nowhere"] if side else ["/Nowhere", "/A"]
    text = box("A") + joint("PhysicsRevoluteJoint", *targets)
    result = read(text, strict=False)
    assert result.said("errors", "/J", "/Nowhere, which does not exist", property=f"physics:body{side}")
    with pytest.raises(UsdSimError, match="/Nowhere"):
        read(text)


def test_the_same_body_twice_is_an_error():
    assert read(box("A") + joint("PhysicsFixedJoint", "/A", "/A"), strict=False).said("errors", "/J", "same body")


def test_joints_without_bodies_and_disabled_joints_are_ignored():
    text = box("A") + joint("PhysicsFixedJoint", "", "", name="None")
    result = read(text + joint("PhysicsFixedJoint", "", "/A", "bool physics:jointEnabled = 0", name="Off"))
    assert result.said("ignored", "/None", "connects no rigid body")
    assert result.said("ignored", "/Off", "disabled")
    assert result.joint_type.tolist() == [JointType.FREE]


def test_a_joint_to_a_disabled_body_holds_to_the_world():
    result = read(
        box("A", f"bool physics:rigidBodyEnabled = 0; {pose_text(slide(2, 2.0))}")
        + box("B", pose_text(slide(2, 3.0)))
        + joint("PhysicsRevoluteJoint", "/A", "/B", frame_text(0, slide(2, 1.0)))
    )
    row = result.joint("/J")
    assert (result.joint_parent[row], result.joint_child[row]) == (-1, 0)
    np.testing.assert_allclose(result.joint_X_p[row][:3], [0, 0, 3], atol=SINGLE)


@pytest.mark.parametrize("targets", [("/A", ""), ("", "/A")])
def test_excluded_joints_to_the_world_close_loops_with_a_child(targets: tuple[str, str]):
    result = read(box("A") + joint("PhysicsFixedJoint", *targets, "bool physics:excludeFromArticulation = 1"))
    row = result.joint("/J")
    assert result.joint_articulation[row] == -1
    assert (result.joint_parent[row], result.joint_child[row]) == (-1, 0)
    assert result.joint_type.tolist().count(JointType.FREE) == 1


# --- trees ----------------------------------------------------------------------------------------------------------


def chain(names: str, *, root: str = "", world: bool = False) -> str:
    text = box(names[0], "", "PhysicsArticulationRootAPI" if root == names[0] else "")
    text += "".join(
        box(name, pose_text(slide(0, i + 1.0)), "PhysicsArticulationRootAPI" if root == name else "")
        for i, name in enumerate(names[1:])
    )
    for i, (a, b) in enumerate(pairwise(names)):
        text += joint("PhysicsRevoluteJoint", f"/{a}", f"/{b}", frame_text(0, slide(0, 1.0)), name=f"J{i}")
    return text + (joint("PhysicsFixedJoint", "", f"/{names[0]}", name="Base") if world else "")


def is_tree(result: Read) -> None:
    """Check that the articulations reach every body once, parents before children."""
    seen = set()
    for j in np.flatnonzero(result.joint_articulation >= 0):
        parent, child = int(result.joint_parent[j]), int(result.joint_child[j])
        assert parent == -1 or parent in seen
        assert child not in seen
        seen.add(child)
    assert seen == set(range(len(result.body_path)))
    assert np.all(np.diff(result.joint_articulation[result.joint_articulation >= 0]) >= 0)


def test_floating_chains_get_a_free_root():
    result = read(chain("ABC"))
    is_tree(result)
    free = result.joint_type.tolist().index(JointType.FREE)
    assert result.joint_child[free] == result.body("/A")
    assert result.joint_articulation.tolist() == [0, 0, 0]


def test_the_articulation_root_is_the_root():
    result = read(chain("ABC", root="B"))
    is_tree(result)
    free = result.joint_type.tolist().index(JointType.FREE)
    assert result.joint_child[free] == result.body("/B")
    assert_same_pose(forward_kinematics(result.model), result.body_q, tolerance=CHAINED)


def test_joints_to_the_world_hold_the_root():
    result = read(chain("ABC", world=True))
    is_tree(result)
    assert JointType.FREE not in result.joint_type.tolist()
    assert result.joint_parent[result.joint("/Base")] == -1


@pytest.mark.parametrize("excluded", [False, True])
def test_cycles_are_closed_by_one_loop_joint(excluded: bool):
    text = "bool physics:excludeFromArticulation = 1" if excluded else ""
    local = f"{frame_text(0, slide(0, -2.0))}; {text}"
    result = read(chain("ABC") + joint("PhysicsRevoluteJoint", "/C", "/A", local, name="Loop"))
    is_tree(result)
    loops = np.flatnonzero(result.joint_articulation < 0)
    assert len(loops) == 1
    if excluded:
        assert result.joint_path[loops[0]] == "/Loop"
        assert not result.report.approximated
    else:
        assert result.said("approximated", result.joint_path[loops[0]], "closes a loop")


def test_kinematic_bodies_are_roots():
    result = read(
        box("A") + box("K", f"bool physics:kinematicEnabled = 1; {pose_text(slide(0, 1.0))}")
        + joint("PhysicsRevoluteJoint", "/A", "/K", frame_text(0, slide(0, 1.0)))
    )  # fmt: skip
    is_tree(result)
    joint_row = result.joint("/J")
    assert (result.joint_parent[joint_row], result.joint_child[joint_row]) == (result.body("/K"), result.body("/A"))
    assert result.body_flags.tolist() == [0, 1]


def test_distance_joints_hold_nothing_in_the_tree():
    result = read(box("A") + box("B") + joint("PhysicsDistanceJoint", "/A", "/B", "float physics:maxDistance = 2"))
    assert sorted(result.joint_type.tolist()) == sorted([JointType.FREE, JointType.FREE, JointType.DISTANCE])
    row = result.joint("/J")
    assert result.joint_articulation[row] == -1
    first = result.joint_qd_start[row]
    assert result.joint_limit_lower[first] < 0
    assert result.joint_limit_upper[first] == 2.0


# --- drives and mimics ----------------------------------------------------------------------------------------------


def test_drives_of_freedoms_that_the_joint_lacks_are_ignored():
    text = "float drive:linear:physics:stiffness = 5; float drive:angular:physics:stiffness = 7"
    apis = "PhysicsDriveAPI:linear PhysicsDriveAPI:angular"
    result = read(scene("PhysicsRevoluteJoint", "AB", IDENTITY, text, apis))
    assert result.joint_target_ke[result.dof("/J")] == pytest.approx(np.degrees(7.0))
    assert result.said("ignored", "/J", property="drive:linear:physics:stiffness")


@pytest.mark.parametrize(("kind", "factor"), [("acceleration", 1.0), ("force", 1.0e-7)])
def test_gains_of_acceleration_drives_have_no_mass(kind: str, factor: float):
    text = f'uniform token drive:angular:physics:type = "{kind}"; float drive:angular:physics:stiffness = 7'
    text += "; float drive:angular:physics:damping = 3; float drive:angular:physics:maxForce = 5"
    drives = scene("PhysicsRevoluteJoint", "AB", IDENTITY, text, "PhysicsDriveAPI:angular")
    result = read(drives, meters=0.01, kilograms=0.001)
    dof = result.dof("/J")
    np.testing.assert_allclose(result.joint_target_ke[dof], np.degrees(7.0) * factor, rtol=CHAINED)
    np.testing.assert_allclose(result.joint_target_kd[dof], np.degrees(3.0) * factor, rtol=CHAINED)
    np.testing.assert_allclose(result.joint_effort_limit[dof], 5.0e-7, rtol=CHAINED)
    assert result.joint_drive_acceleration[dof] == (kind == "acceleration")
    assert not result.said("approximated", "/J", "drive")


def test_drives_of_another_type_act_by_force():
    text = 'uniform token drive:angular:physics:type = "jerk"; float drive:angular:physics:stiffness = 7'
    result = read(scene("PhysicsRevoluteJoint", "AB", IDENTITY, text, "PhysicsDriveAPI:angular"))
    assert result.said("approximated", "/J", "by force", property="drive:angular:physics:type")
    assert not result.joint_drive_acceleration.any()


def test_settings_of_ball_joints_reach_their_freedoms():
    text = "float newton:armature = 0.5; float newton:friction = 0.25; float newton:damping = 2"
    result = read(scene("PhysicsSphericalJoint", "AB", IDENTITY, text, "NewtonJointAPI"))
    first = result.joint_qd_start[result.joint("/J")]
    np.testing.assert_allclose(result.joint_armature[first : first + 3], 0.5)
    np.testing.assert_allclose(result.joint_friction[first : first + 3], 0.25)
    np.testing.assert_allclose(result.joint_damping[first : first + 3], np.degrees(2.0), rtol=SINGLE)


@pytest.mark.parametrize(("value", "reported"), [("30", True), ("0", True), ("inf", False), ("3.4028235e38", False)])
@pytest.mark.parametrize("name", ["physics:breakForce", "physics:breakTorque"])
def test_joints_that_would_break_are_reported(name: str, value: str, reported: bool):
    result = read(scene("PhysicsFixedJoint", "AB", IDENTITY, f"float {name} = {value}"))
    assert result.said("ignored", "/J", "breaking joints", property=name) == reported
    assert len(result.report.ignored) == reported


def test_limits_that_are_upside_down_are_reported():
    text = "float physics:lowerLimit = 20; float physics:upperLimit = -20"
    result = read(scene("PhysicsRevoluteJoint", "AB", IDENTITY, text))
    assert result.said("approximated", "/J", "lower limit is above the upper")


def mimics(leader: str, text: str = "") -> str:
    follower = (
        f"rel newton:mimicJoint = <{leader}>; float newton:mimicCoef1 = 3; {frame_text(0, slide(0, 1.0))}; {text}"
    )
    return (
        box("A") + box("B", pose_text(slide(0, 1.0))) + box("C", pose_text(slide(0, 2.0)))
        + joint("PhysicsRevoluteJoint", "/A", "/B", frame_text(0, slide(0, 1.0)), name="Lead")
        + joint("PhysicsRevoluteJoint", "/B", "/C", follower, "NewtonMimicAPI", name="J")
    )  # fmt: skip


def test_mimic():
    result = read(mimics("/Lead"))
    row = result.joint("/J")
    assert result.joint_mimic_joint[row] == result.joint("/Lead")
    assert result.joint_mimic_coeffs[row].tolist() == [0.0, 3.0]
    off = read(mimics("/Lead", "bool newton:mimicEnabled = 0"))
    assert set(off.joint_mimic_joint.tolist()) == {-1}


@pytest.mark.parametrize("leader", ["/Nowhere", "/A", "/J"])
def test_a_mimic_without_a_leader_is_an_error(leader: str):
    result = read(mimics(leader), strict=False)
    assert result.said("errors", "/J", property="newton:mimicJoint")
    assert set(result.joint_mimic_joint.tolist()) == {-1}


def test_mimics_in_a_circle_are_an_error():
    lead = 'PhysicsRevoluteJoint "Lead"  {'
    text = mimics("/Lead")
    assert lead in text
    api = '(prepend apiSchemas = ["NewtonMimicAPI"])'
    text = text.replace(lead, f'PhysicsRevoluteJoint "Lead" {api} {{ rel newton:mimicJoint = </J>; ')
    result = read(text, strict=False)
    assert any("mimic" in entry.message for entry in result.report.errors)


# --- stacked joints -------------------------------------------------------------------------------------------------


STACK = [("PhysicsPrismaticJoint", "X"), ("PhysicsRevoluteJoint", "Z"), ("PhysicsRevoluteJoint", "Y")]
ANCHORS = [np.zeros(3), np.array([0.1, 0.2, 0.3]), np.array([-0.2, 0.1, 0.4])]


def stacked(order: list[int], *, adds: bool, at: np.ndarray, reverse: bool = False) -> str:
    """Return two bodies with joints between them, anchored at points of B, whose zero poses agree."""
    head = 'def Xform "Robot" (prepend apiSchemas = ["NewtonArticulationRootAPI"])'
    text = f"{head} {{ bool newton:jointsAddMobility = {int(adds)}\n"
    text += box("A", pose_text(PLACE_A)) + box("B", pose_text(at))
    for i in order:
        kind, axis = STACK[i]
        sides = [slide(0, 0.0), slide(0, 0.0)]
        sides[0][:3] = ANCHORS[i] + [0.5, 0.0, 0.0]  # B rests half a metre along A
        sides[1][:3] = ANCHORS[i]
        bodies, frames = ("/Robot/A", "/Robot/B"), sides
        if reverse:
            bodies, frames = bodies[::-1], sides[::-1]
        local = f'uniform token physics:axis = "{axis}"; {frame_text(0, frames[0])}; {frame_text(1, frames[1])}'
        text += joint(kind, *bodies, local, name=f"J{i}")
    return text + "}"


def sequence(order: list[int], q: dict[int, float]) -> np.ndarray:
    """Return the pose of B in A when the joints act one after another on the body, as MuJoCo's do."""
    pose = slide(0, 0.5)
    for i in order:
        kind, axis = STACK[i]
        move = step(("rot" if "Revolute" in kind else "trans") + axis, q[i])
        move[:3] += ANCHORS[i] - tf.quat_rotate(move[3:], ANCHORS[i])
        pose = product(pose, move)
    return pose


@pytest.mark.parametrize("order", [[0, 1, 2], [0, 2, 1], [1, 2], [2, 1], [0, 1]])
def test_stacked_joints_act_one_after_another(order: list[int]):
    authored = dict(zip(order, (0.2, -0.4, 0.6), strict=False))
    at = product(PLACE_A, sequence(order, authored))
    result = read(stacked(order, adds=True, at=at))
    assert sorted(result.joint_type.tolist()) == sorted([JointType.FREE, JointType.D6])
    row = result.joint_type.tolist().index(JointType.D6)
    first = result.joint_qd_start[row]
    assert [result.joint_dof_path[first + k] for k in range(len(order))] == [f"/Robot/J{i}" for i in order]
    start = result.joint_q_start[row]
    np.testing.assert_allclose(result.joint_q[start : start + len(order)], list(authored.values()), atol=CHAINED)
    other = dict(zip(order, (-0.7, 1.1, 0.3), strict=False))
    q = result.joint_q.astype(float)
    q[start : start + len(order)] = list(other.values())
    poses = forward_kinematics(result.model, q)
    expected = product(PLACE_A, sequence(order, other))
    assert_same_pose(poses[result.body("/Robot/B")], expected, tolerance=CHAINED)
    assert not result.report.approximated


def test_stacked_joints_authored_the_other_way_round_add_freedom_too():
    result = read(stacked([1, 2], adds=True, at=product(PLACE_A, slide(0, 0.5)), reverse=True))
    assert JointType.D6 in result.joint_type.tolist()
    row = result.joint_type.tolist().index(JointType.D6)
    q = result.joint_q.astype(float)
    start = result.joint_q_start[row]
    values = {"/Robot/J1": 0.5, "/Robot/J2": -0.8}
    first = result.joint_qd_start[row]
    q[start : start + 2] = [values[result.joint_dof_path[first + k]] for k in range(2)]
    poses = forward_kinematics(result.model, q)
    a, b = poses[result.body("/Robot/A")], poses[result.body("/Robot/B")]
    # side 0 is B: A moves in B, first about J1, then about J2, each about its anchor in A
    pose = slide(0, -0.5)
    for i, value in ((1, 0.5), (2, -0.8)):
        anchor = ANCHORS[i] + [0.5, 0.0, 0.0]
        move = step("rot" + STACK[i][1], value)
        move[:3] += anchor - tf.quat_rotate(move[3:], anchor)
        pose = product(pose, move)
    assert_same_pose(product(tf.transform_inverse(b), a), pose, tolerance=CHAINED)


def test_stacked_joints_that_add_no_mobility_are_loops():
    result = read(stacked([1, 2], adds=False, at=product(PLACE_A, slide(0, 0.5))))
    assert JointType.D6 not in result.joint_type.tolist()
    assert len(result.report.approximated) >= 1


def test_sliding_after_turning_is_reported():
    result = read(stacked([1, 0], adds=True, at=product(PLACE_A, slide(0, 0.5))))
    assert result.said("approximated", "/Robot/J1", "sliding joints stacked on turning ones")


def test_stacked_joints_whose_zero_poses_differ_are_reported():
    text = stacked([1, 2], adds=True, at=product(PLACE_A, slide(0, 0.5)))
    spoiled = text.replace("point3f physics:localPos0 = (0.3, 0.1, 0.4)", "point3f physics:localPos0 = (0.3, 0.4, 0.4)")
    assert spoiled != text
    assert any("zero pose" in entry.message for entry in read(spoiled).report.approximated)


def test_instances_of_joints_are_found_by_their_path():
    stage = stage_of(chain("ABC"))
    result = read(stage)
    for i in range(2):
        row = result.joint(f"/J{i}")
        assert result.joint_path[row] == f"/J{i}"
        np.testing.assert_allclose(
            result.body_q[result.joint_child[row]][:3], world_matrix(stage, f"/{'ABC'[i + 1]}")[3, :3], atol=SINGLE
        )


@pytest.mark.parametrize(("text", "expected"), [("", np.inf), ("float drive:angular:physics:maxForce = 5", 5.0)])
@pytest.mark.parametrize("apis", ["PhysicsDriveAPI:angular", ""])
def test_effort_is_unlimited_where_nothing_is_stated(text: str, expected: float, apis: str):
    result = read(scene("PhysicsRevoluteJoint", "AB", IDENTITY, text, apis))
    assert result.joint_effort_limit[result.dof("/J")] == (expected if apis else np.inf)


def test_excluded_joints_add_no_mobility():
    # the parser lists excluded joints among those of the articulation
    text = stacked([1, 2], adds=True, at=product(PLACE_A, slide(0, 0.5)))
    text = text.replace('"J2"  {', '"J2" { bool physics:excludeFromArticulation = 1; ')
    result = read(text)
    assert JointType.D6 not in result.joint_type.tolist()
    assert result.joint_articulation[result.joint("/Robot/J2")] == -1
