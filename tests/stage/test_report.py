"""The report: every authored property of physics comes out once, as used, approximated, ignored or an error."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from pxr import Usd

from tests.stage.authoring import Read, box, read, stage_of
from usd_sim.errors import UsdSimError
from usd_sim.model.builder import ModelBuilder
from usd_sim.stage.compile import compile_stage
from usd_sim.stage.dialects import RULES
from usd_sim.stage.open import open_stage
from usd_sim.stage.report import Report

ASSETS = Path(__file__).resolve().parents[3] / "shared" / "assets"
"""Real stages by other authors; they need not be there."""

PHYSICS = ("physics", "newton", "mjc", "drive", "limit", "state", "warpSim")
SIZES = {
    "Sphere": {"radius"},
    "Cube": {"size"},
    "Capsule": {"radius", "height", "axis"},
    "Capsule_1": {"radiusTop", "radiusBottom", "height", "axis"},
    "Cylinder": {"radius", "height", "axis"},
    "Cylinder_1": {"radiusTop", "radiusBottom", "height", "axis"},
    "Cone": {"radius", "height", "axis"},
    "Plane": {"width", "length", "axis"},
    "Mesh": {"orientation"},
}
"""What of geometry is physics where the prim is a collider, a site, or weighs something for MuJoCo."""


def authored(stage: Usd.Stage) -> set[tuple[str, str]]:
    """Return (prim, property) of all that is authored for physics, found without any of our code."""
    found = set()
    for prim in Usd.PrimRange(stage.GetPseudoRoot(), Usd.TraverseInstanceProxies()):
        stated = prim.GetMetadata("apiSchemas")  # those that are not registered too
        schemas = {*prim.GetAppliedSchemas(), *(stated.GetAppliedItems() if stated else ())}
        geometry = SIZES.get(prim.GetTypeName(), set())
        if not schemas & {"PhysicsCollisionAPI", "NewtonSiteAPI", "MjcSiteAPI", "MjcImageableAPI"}:
            geometry = set()
        for name in prim.GetAuthoredPropertyNames():
            attribute = prim.GetAttribute(name)
            if attribute and attribute.Get(stage.GetStartTimeCode()) is None:
                continue  # declared only
            family = name.split(":")[0]
            group = prim.GetTypeName() == "PhysicsCollisionGroup" and name.startswith("collection:colliders")
            if family in PHYSICS or family.startswith("physx") or name in geometry or group:
                found.add((str(prim.GetPath()), name))
    return found


def account(stage: Usd.Stage, report: Report) -> None:
    """Check that the entries and the count of used properties make up what is authored, each once."""
    entries = [*report.errors, *report.approximated, *report.ignored]
    named = [(entry.prim, entry.property) for entry in entries if entry.property]
    twice = {pair for pair in named if named.count(pair) > 1}
    assert not twice
    wanted = authored(stage)
    assert set(named) <= wanted
    assert report.used_count + len(named) == len(wanted)


def assets() -> list[Path]:
    patterns = ("usd/*.usd*", "usd/joints/*.usd*", "mjcf/*/*.usd*", "urdf/*/*.usd*")
    return sorted(path for pattern in patterns for path in ASSETS.glob(pattern))


@pytest.mark.skipif(not ASSETS.is_dir(), reason="no folder of real assets beside the checkout")
@pytest.mark.parametrize("path", assets(), ids=lambda path: f"{path.parent.name}-{path.name}")
def test_every_property_of_real_assets_is_accounted_for(path: Path):
    stage = open_stage(path)
    _, report = compile_stage(stage, ModelBuilder())
    assert not report.errors
    account(stage, report)


SCENES = {
    "plain": box("A", "float physics:mass = 3", "PhysicsMassAPI"),
    "schema not applied": box("A", "float physics:mass = 3; float newton:contactMargin = 1"),
    "unknown": box("A", "float physics:flavour = 3; float newton:taste = 1; float physxRigidBody:linearDamping = 0.1"),
    "unknown mujoco": box("A", "float mjc:nothingLikeThis = 3", "MjcCollisionAPI"),
    "disabled joint": box("A")
    + "def PhysicsFixedJoint J { }".replace(" J ", ' "J" ').replace(
        "{ ", "{ rel physics:body1 = </A>; bool physics:jointEnabled = 0;"
    ),
    "wrong target": box("A") + 'def PhysicsFixedJoint "J" { rel physics:body1 = </A>; rel physics:body0 = </No> }',
    "multiple": box("A")
    + box("B")
    + """def PhysicsRevoluteJoint "J" (prepend apiSchemas = ["PhysicsDriveAPI:angular", "PhysicsDriveAPI:linear"]) {
        rel physics:body0 = </A>; rel physics:body1 = </B>; float drive:angular:physics:stiffness = 1
        uniform token drive:angular:physics:type = "acceleration"; float drive:linear:physics:stiffness = 1
        float drive:rotX:physics:damping = 1; float limit:rotX:physics:low = 0; float physics:breakForce = 3 }""",
    "mesh": """def Mesh "M" (prepend apiSchemas = ["PhysicsCollisionAPI", "PhysicsMeshCollisionAPI"]) {
        uniform token physics:approximation = "convexDecomposition"
        point3f[] points = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]
        int[] faceVertexCounts = [3, 3, 3, 3]; int[] faceVertexIndices = [0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3] }""",
    "not a number": box("A", "float physics:mass = nan", "PhysicsMassAPI"),
    "negative": box("A", "float physics:mass = -2", "PhysicsMassAPI"),
    "material": """def Material "M" (prepend apiSchemas = ["PhysicsMaterialAPI"]) { float physics:staticFriction = 0.5
        float physics:dynamicFriction = 0.25 }"""
    + box("A", "rel material:binding:physics = </M>", "MaterialBindingAPI"),
    "mimic": box("A")
    + """def PhysicsRevoluteJoint "J" (prepend apiSchemas = ["NewtonMimicAPI"]) { rel physics:body1 = </A>
        rel newton:mimicJoint = </J>; float newton:mimicCoef1 = 2 }""",
    "groups": box("A")
    + """def PhysicsCollisionGroup "G" (prepend apiSchemas = ["CollectionAPI:colliders"]) {
        rel collection:colliders:includes = </A>; rel physics:filteredGroups = </G>
        bool physics:invertFilteredGroups = 1 }""",
    "cone limits": box("A")
    + """def PhysicsSphericalJoint "J" { rel physics:body1 = </A>; float physics:coneAngle0Limit = 30
        float physics:coneAngle1Limit = -1 }""",
    "time samples": box("A", "vector3f physics:velocity.timeSamples = { 0: (1, 2, 3) }"),
    "blocked": box("A", "vector3f physics:velocity = None"),
}


@pytest.mark.parametrize("name", list(SCENES))
def test_every_property_is_accounted_for(name: str):
    stage = stage_of(SCENES[name])
    _, report = compile_stage(stage, ModelBuilder())
    account(stage, report)


def test_what_is_said():
    result = read(SCENES["schema not applied"])
    assert result.said("ignored", "/A", "PhysicsMassAPI is not applied", property="physics:mass")
    assert result.said("ignored", "/A", "NewtonCollisionAPI is not applied", property="newton:contactMargin")
    entry = next(entry for entry in result.report.ignored if entry.property == "physics:mass")
    assert entry.remedy == "apply PhysicsMassAPI"
    unknown = read(SCENES["unknown"])
    for name in ("physics:flavour", "newton:taste", "physxRigidBody:linearDamping"):
        assert unknown.said("ignored", "/A", property=name)


def test_a_newton_schema_brings_the_physics_one_along():
    text = """def Cube "A" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "NewtonCollisionAPI", "NewtonMassAPI"]) {
    double size = 1; float physics:mass = 3; bool physics:collisionEnabled = 0; float newton:contactMargin = 0.5 }"""
    result: Read = read(text)
    assert result.body_mass.tolist() == [3.0]
    assert result.shape_margin.tolist() == [0.5]
    assert not result.report.ignored


def test_errors_are_raised_with_how_many_more():
    result = read(
        box("A", "float physics:mass = -2", "PhysicsMassAPI") + box("B", "float physics:mass = nan", "PhysicsMassAPI"),
        strict=False,
    )
    with pytest.raises(UsdSimError) as caught:
        result.report.raise_errors()
    assert "and 1 more" in caught.value.message
    assert "\n" not in str(caught.value)
    json = result.report.to_json()
    assert len(json["errors"]) == 2
    assert set(json["errors"][0]) == {"prim", "property", "message", "remedy"}
    assert "2 errors" in result.report.summary()


def test_references_that_do_not_resolve_are_reported():
    stage = stage_of('def Xform "A" (prepend references = @./nowhere.usda@) { }\n' + box("B"))
    result = read(stage)
    assert any("composition failed" in entry.message for entry in result.report.ignored)
    assert len(result.body_path) == 1


def test_static_colliders_of_instancer_prototypes_do_not_vanish_silently():
    text = """def PointInstancer "I" { point3f[] positions = [(0, 0, 0), (3, 0, 0)]; int[] protoIndices = [0, 0]
    rel prototypes = </I/P>
    def Cube "P" (prepend apiSchemas = ["PhysicsCollisionAPI"]) { double size = 1 } }"""
    result = read(text)
    assert len(result.shape_path) == 2 or any(entry.prim.startswith("/I") for entry in result.report.ignored)


def test_every_rule_can_be_found_by_its_name():
    for rule in RULES.rules:
        name = rule.property.replace("<i>", "rotX")
        assert rule in RULES.find(name)
    assert RULES.find("physics:nothing") == []
    assert RULES.instance_of("drive:rotX:physics:damping") == ("drive:<i>:physics:damping", "rotX")


def test_no_rule_is_stated_twice_on_a_schema():
    pairs = [(rule.property, rule.on) for rule in RULES.rules]
    assert len(pairs) == len(set(pairs))


UNREGISTERED = """
from pxr import Sdf, Usd
layer = Sdf.Layer.CreateAnonymous(".usda")
layer.ImportFromString('''#usda 1.0
def Cube "A" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI", "NewtonCollisionAPI"]) {
    double size = 1
    float physics:mass = 2
    float3 physics:diagonalInertia = (1, 1, 1)
}
def Cube "B" (prepend apiSchemas = ["PhysicsCollisionAPI", "NewtonCollisionAPI"]) {
    double size = 1
    float newton:contactMargin = 0.5
}
''')
stage = Usd.Stage.Open(layer)
stage.DefinePrim("/C", "Xform")  # wakes USD's schema registry: too late to register
from usd_sim.stage.load import load
model = load(stage, device="cpu")
assert model.shape_label == ["/B"], model.shape_label
assert model.shape_margin.numpy()[0] > 0
assert [(entry.prim, entry.property) for entry in model.report.ignored] == [("/A", "")], model.report.ignored
assert "register" in model.report.ignored[0].remedy
"""


def test_schemas_that_were_never_registered_are_named():
    done = subprocess.run([sys.executable, "-c", UNREGISTERED], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
