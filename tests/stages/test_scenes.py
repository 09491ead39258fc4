"""The shipped scenes: found by name, well formed, joined up exactly, dressed, and saying what they show."""

from __future__ import annotations

import math
import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest
from pxr import Gf, Sdf, Usd, UsdGeom, UsdLux, UsdPhysics, UsdShade, UsdValidation

from usd_sim import stages
from usd_sim.errors import UsdSimError

EXPECTED = {
    "cartpole",
    "conveyor",
    "dominoes",
    "double_pendulum",
    "falling_boxes",
    "four_bar",
    "friction_ramp",
    "hanging_chain",
    "units_centimetres",
    "units_metres",
    "walker",
}
# Joint positions are single precision: 6e-8 of the scenes' 2 m, with room for the product of two rotations.
ANCHOR_TOLERANCE = 1e-6  # [m]
FULL_DESCRIPTION = 60  # characters; less is not an explanation of what one should see

every_stage = pytest.mark.parametrize("name", stages.names())


def open_stage(name: str) -> Usd.Stage:
    """The scene read anew from its file, independent of layers that other tests hold."""
    return Usd.Stage.Open(Sdf.Layer.OpenAsAnonymous(str(stages.path(name))))


def parse_physics(stage: Usd.Stage) -> dict:
    load = getattr(UsdPhysics, "UsdPhysicsLoadStageFromPrimRange", None) or UsdPhysics.LoadUsdPhysicsFromRange
    return load(stage, ["/"])


def joints_of(stage: Usd.Stage) -> list[UsdPhysics.Joint]:
    return [UsdPhysics.Joint(prim) for prim in stage.Traverse() if prim.IsA(UsdPhysics.Joint)]


def target_of(relationship: Usd.Relationship) -> Usd.Prim | None:
    """The one prim that a joint's body relationship names, or None for the world."""
    targets = relationship.GetTargets()
    assert len(targets) <= 1
    return relationship.GetStage().GetPrimAtPath(targets[0]) if targets else None


def joint_frames(joint: UsdPhysics.Joint) -> list[Gf.Matrix4d]:
    """World transforms of the joint's frame as seen from body0 and from body1."""
    frames = []
    for side in (0, 1):
        body = target_of(getattr(joint, f"GetBody{side}Rel")())
        position = Gf.Vec3d(getattr(joint, f"GetLocalPos{side}Attr")().Get())
        rotation = Gf.Rotation(Gf.Quatd(getattr(joint, f"GetLocalRot{side}Attr")().Get()))
        world = UsdGeom.Xformable(body).ComputeLocalToWorldTransform(0) if body else Gf.Matrix4d(1)
        frames.append(Gf.Matrix4d(rotation, position) * world)
    return frames


def physics_material(prim: Usd.Prim) -> Usd.Prim:
    return UsdShade.MaterialBindingAPI(prim).ComputeBoundMaterial("physics")[0].GetPrim()


# Finding scenes -----------------------------------------------------------------------------------------------------


def test_the_promised_scenes_are_there():
    assert set(stages.names()) >= EXPECTED
    assert stages.names() == sorted(stages.names())


def test_path_takes_a_name_with_or_without_suffix():
    file = stages.path("four_bar")
    assert file.is_file()
    assert file.is_absolute()
    assert stages.path("four_bar.usda") == file


@pytest.mark.parametrize("name", ["no_such_scene", "", "../stages/four_bar"])
def test_an_unknown_name_is_answered_with_the_available_ones(name):
    with pytest.raises(UsdSimError) as caught:
        stages.path(name)
    assert all(available in caught.value.remedy for available in stages.names())
    assert "\n" not in str(caught.value)


def test_descriptions_are_one_line_each_and_tell_scenes_apart():
    descriptions = stages.descriptions()
    assert list(descriptions) == stages.names()
    assert len(set(descriptions.values())) == len(descriptions)
    for name, line in descriptions.items():
        assert "\n" not in line
        assert line.endswith(".")
        assert line == open_stage(name).GetRootLayer().documentation.splitlines()[0] == stages.description(name)


def test_listing_and_finding_scenes_does_not_load_usd():
    code = "import sys; from usd_sim import stages; stages.path(stages.names()[0]); sys.exit('pxr' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# Every scene is well formed -----------------------------------------------------------------------------------------


@every_stage
def test_opens_and_parses_without_a_word(name, capfd):
    parsed = parse_physics(open_stage(name))
    assert capfd.readouterr().err == ""
    assert UsdPhysics.ObjectType.RigidBody in parsed
    for kind, (paths, descriptions) in parsed.items():
        for path, description in zip(paths, descriptions, strict=True):
            assert description.isValid, f"{kind} {path}"


@every_stage
def test_passes_the_validators_of_usd(name):
    validators = UsdValidation.ValidationRegistry().GetOrLoadAllValidators()
    errors = UsdValidation.ValidationContext(validators).Validate(open_stage(name))
    assert [error.GetErrorAsString() for error in errors] == []


@every_stage
def test_states_units_time_and_meaning(name):
    stage = open_stage(name)
    layer = stage.GetRootLayer()
    assert stage.GetDefaultPrim().GetPath() == "/World"
    assert all(stage.HasAuthoredMetadata(key) for key in ("metersPerUnit", "kilogramsPerUnit", "upAxis"))
    if name != "units_centimetres":
        assert UsdGeom.GetStageMetersPerUnit(stage) == UsdPhysics.GetStageKilogramsPerUnit(stage) == 1
        assert UsdGeom.GetStageUpAxis(stage) == UsdGeom.Tokens.z
    assert stage.GetTimeCodesPerSecond() == stage.GetFramesPerSecond() == 60
    assert stage.GetStartTimeCode() == 0
    assert 60 <= stage.GetEndTimeCode() <= 1200
    assert len(layer.documentation.partition("\n\n")[2]) > FULL_DESCRIPTION


@every_stage
def test_authors_only_physics_properties_as_the_schemas_know_them(name):
    if not Usd.SchemaRegistry().FindAppliedAPIPrimDefinition("NewtonSceneAPI"):
        pytest.skip("the Newton schemas are not registered")
    prefixes = ("physics:", "drive:", "limit:", "newton:")
    stage = open_stage(name)
    for prim in stage.TraverseAll():
        definition = prim.GetPrimDefinition()
        authored = [a for a in prim.GetAuthoredAttributes() if a.GetName().startswith(prefixes)]
        assert {a.GetName() for a in authored} <= set(definition.GetPropertyNames()), prim.GetPath()
        for attribute in authored:
            schema = definition.GetAttributeDefinition(attribute.GetName())
            for spec in attribute.GetPropertyStack():
                assert spec.typeName == schema.GetTypeName(), attribute.GetPath()
                assert spec.variability == schema.GetVariability(), attribute.GetPath()


@every_stage
def test_has_one_scene_that_states_its_rate(name):
    stage = open_stage(name)
    scenes = [prim for prim in stage.Traverse() if prim.IsA(UsdPhysics.Scene)]
    assert len(scenes) == 1
    rate = scenes[0].GetAttribute("newton:timeStepsPerSecond").Get()
    assert rate % 60 == 0  # steps divide a frame exactly


# Joints -------------------------------------------------------------------------------------------------------------


@every_stage
def test_joint_anchors_coincide_and_axes_agree(name):
    stage = open_stage(name)
    metres = UsdGeom.GetStageMetersPerUnit(stage)
    axes = {"X": Gf.Vec3d(1, 0, 0), "Y": Gf.Vec3d(0, 1, 0), "Z": Gf.Vec3d(0, 0, 1)}
    for joint in joints_of(stage):
        first, second = joint_frames(joint)
        gap = (first.ExtractTranslation() - second.ExtractTranslation()).GetLength() * metres
        assert gap < ANCHOR_TOLERANCE, f"{joint.GetPath()}: {gap} m apart"
        axis = axes[joint.GetPrim().GetAttribute("physics:axis").Get() or "X"]
        if joint.GetPrim().IsA(UsdPhysics.RevoluteJoint) or joint.GetPrim().IsA(UsdPhysics.PrismaticJoint):
            turn = (first.TransformDir(axis) - second.TransformDir(axis)).GetLength()
            assert turn < ANCHOR_TOLERANCE, joint.GetPath()


@every_stage
def test_joints_connect_rigid_bodies_and_each_has_one_parent(name):
    stage = open_stage(name)
    children = []
    for joint in joints_of(stage):
        bodies = [target_of(joint.GetBody0Rel()), target_of(joint.GetBody1Rel())]
        assert bodies[1] is not None
        assert all(body.HasAPI(UsdPhysics.RigidBodyAPI) for body in bodies if body is not None), joint.GetPath()
        if not joint.GetExcludeFromArticulationAttr().Get():
            children.append(bodies[1].GetPath())
    assert len(children) == len(set(children))


# Looks --------------------------------------------------------------------------------------------------------------


@every_stage
def test_everything_visible_has_a_colour_of_its_own_material(name):
    stage = open_stage(name)
    used = set()
    for prim in stage.Traverse():
        if prim.IsA(UsdGeom.Gprim):
            material = UsdShade.MaterialBindingAPI(prim).ComputeBoundMaterial()[0]
            assert material, f"{prim.GetPath()} has no material"
            used.add(material.GetPath())
    materials = [UsdShade.Material(prim) for prim in stage.GetPrimAtPath("/World/Looks").GetChildren()]
    assert used == {material.GetPath() for material in materials}
    colours = []
    for material in materials:
        shader = material.ComputeSurfaceSource()[0]
        assert shader.GetIdAttr().Get() == "UsdPreviewSurface"
        colour = tuple(shader.GetInput("diffuseColor").Get())
        assert all(0 <= channel <= 1 for channel in colour)
        colours.append(colour)
    assert len(set(colours)) == len(colours) >= 4


@every_stage
def test_material_bindings_lead_to_materials_and_all_physics_materials_are_used(name):
    stage = open_stage(name)
    bound = set()
    for prim in stage.TraverseAll():
        for relationship in prim.GetRelationships():
            if relationship.GetName().startswith("material:binding"):
                assert prim.HasAPI(UsdShade.MaterialBindingAPI), prim.GetPath()
                (target,) = relationship.GetTargets()
                assert stage.GetPrimAtPath(target).IsA(UsdShade.Material), relationship.GetPath()
                if relationship.GetName() == "material:binding:physics":
                    bound.add(target)
    materials = [prim for prim in stage.Traverse() if prim.HasAPI(UsdPhysics.MaterialAPI)]
    assert bound == {prim.GetPath() for prim in materials}
    contents = [tuple((a.GetName(), a.Get()) for a in prim.GetAuthoredAttributes()) for prim in materials]
    assert len(set(contents)) == len(contents)


@every_stage
def test_camera_frames_the_action_under_sun_and_sky(name):
    stage = open_stage(name)
    kinds = {prim.GetTypeName() for prim in stage.Traverse()}
    assert {"DistantLight", "DomeLight"} <= kinds
    sky = next(UsdLux.DomeLight(prim) for prim in stage.Traverse() if prim.IsA(UsdLux.DomeLight))
    assert not sky.GetTextureFileAttr().HasAuthoredValue()
    frustum = UsdGeom.Camera.Get(stage, "/World/Camera").GetCamera(0).frustum
    view = frustum.ComputeViewMatrix() * frustum.ComputeProjectionMatrix()
    bodies = [prim for prim in stage.Traverse() if prim.HasAPI(UsdPhysics.RigidBodyAPI)]
    seen = [
        view.Transform(UsdGeom.Xformable(prim).ComputeLocalToWorldTransform(0).ExtractTranslation()) for prim in bodies
    ]
    inside = [all(abs(coordinate) < 1 for coordinate in point) for point in seen]
    assert sum(inside) >= 0.7 * len(bodies)  # what falls may start above the picture


# What single scenes promise -----------------------------------------------------------------------------------------


def test_falling_boxes_holds_twenty_bodies_of_inherited_material():
    stage = open_stage("falling_boxes")
    bodies = [prim for prim in stage.Traverse() if prim.HasAPI(UsdPhysics.RigidBodyAPI)]
    assert len(bodies) == 20
    assert {physics_material(prim).GetName() for prim in bodies} == {"Foam", "Wood"}
    assert not any(prim.GetRelationship("material:binding:physics").HasAuthoredTargets() for prim in bodies)


def test_four_bar_is_a_crank_rocker_closed_by_one_excluded_joint():
    stage = open_stage("four_bar")
    joints = {joint.GetPrim().GetName(): joint for joint in joints_of(stage)}
    excluded = [name for name, joint in joints.items() if joint.GetExcludeFromArticulationAttr().Get()]
    assert excluded == ["CouplerToRocker"]
    order = ["Motor", "CrankToCoupler", "CouplerToRocker", "FrameToRocker"]
    # The links lie in parallel planes; their lengths are measured in the plane of motion (x, z).
    pivots = [np.array(joint_frames(joints[name])[0].ExtractTranslation())[[0, 2]] for name in order]
    crank, coupler, rocker = (float(np.linalg.norm(b - a)) for a, b in pairwise(pivots))
    frame = float(np.linalg.norm(pivots[-1] - pivots[0]))
    assert (crank, coupler, rocker, frame) == pytest.approx((0.15, 0.5, 0.4, 0.5), abs=ANCHOR_TOLERANCE)
    lengths = sorted((crank, coupler, rocker, frame))
    assert lengths[0] == crank
    assert lengths[0] + lengths[3] < lengths[1] + lengths[2]  # Grashof's condition
    assert joints["Motor"].GetPrim().GetAttribute("drive:angular:physics:targetVelocity").Get() == 180


def test_friction_ramp_holds_one_box_and_lets_two_go():
    stage = open_stage("friction_ramp")
    slope = math.tan(math.radians(20))
    friction = {}
    for name in ("Grippy", "Medium", "Slippery"):
        box, lane = (stage.GetPrimAtPath(f"/World/{p}") for p in (f"Boxes/{name}Box", f"Ramp/{name}Lane"))
        assert physics_material(box) == physics_material(lane)  # the same under every combine rule
        assert not lane.HasAPI(UsdPhysics.RigidBodyAPI)
        # The box stands on the lane: in the lane's unit cube its centre is half a box above the face.
        lane_from_box = UsdGeom.Xformable(box).ComputeLocalToWorldTransform(0) * (
            UsdGeom.Xformable(lane).ComputeLocalToWorldTransform(0).GetInverse()
        )
        thickness = lane.GetAttribute("xformOp:scale").Get()[2]
        height = (lane_from_box.ExtractTranslation()[2] - 0.5) * thickness
        assert height == pytest.approx(box.GetAttribute("xformOp:scale").Get()[2] / 2, abs=ANCHOR_TOLERANCE)
        friction[name] = UsdPhysics.MaterialAPI(physics_material(box)).GetDynamicFrictionAttr().Get()
    assert friction["Grippy"] > slope > friction["Medium"] > friction["Slippery"]


def test_each_domino_reaches_the_next():
    stage = open_stage("dominoes")
    dominoes = stage.GetPrimAtPath("/World/Dominoes").GetChildren()
    assert len(dominoes) == 25
    thickness, _, height = dominoes[1].GetAttribute("xformOp:scale").Get()
    at = [np.array(prim.GetAttribute("xformOp:translate").Get()) for prim in dominoes]
    gaps = [float(np.linalg.norm((b - a)[:2])) for a, b in pairwise(at[1:])]
    assert thickness < min(gaps) <= max(gaps) < 0.7 * height
    lean = math.radians(dominoes[0].GetAttribute("xformOp:rotateXYZ").Get()[1])
    assert math.tan(lean) > thickness / height  # past its balance, so that it falls by itself


def test_conveyor_rollers_are_kinematic_and_turn_about_their_own_axis():
    stage = open_stage("conveyor")
    rollers = stage.GetPrimAtPath("/World/Conveyor").GetChildren()
    assert len(rollers) >= 10
    for roller in rollers:
        body = UsdPhysics.RigidBodyAPI(roller)
        assert body.GetKinematicEnabledAttr().Get()
        assert UsdGeom.Cylinder.Get(stage, roller.GetPath().AppendChild("Shell")).GetAxisAttr().Get() == "Y"
        x, y, z = body.GetAngularVelocityAttr().Get()
        assert y > 0 == x == z
    at = [roller.GetAttribute("xformOp:translate").Get() for roller in rollers]
    pitch = at[1][0] - at[0][0]
    first, second, _ = stage.GetPrimAtPath("/World/Parcels").GetChildren()
    assert all(prim.GetAttribute("xformOp:scale").Get()[0] > 2 * pitch for prim in (first, second))


def test_walker_hips_are_generic_joints_with_two_driven_freedoms():
    stage = open_stage("walker")
    hips = [joint.GetPrim() for joint in joints_of(stage) if joint.GetPrim().GetTypeName() == "PhysicsJoint"]
    assert [prim.GetName() for prim in hips] == ["LeftHip", "RightHip"]
    for hip in hips:
        axes = ("transX", "transY", "transZ", "rotX", "rotY", "rotZ")
        limits = {axis: UsdPhysics.LimitAPI(hip, axis) for axis in axes}
        locked = {axis for axis, limit in limits.items() if limit.GetLowAttr().Get() > limit.GetHighAttr().Get()}
        assert locked == {"transX", "transY", "transZ", "rotZ"}
        assert all(UsdPhysics.DriveAPI(hip, axis).GetStiffnessAttr().Get() > 0 for axis in ("rotX", "rotY"))
