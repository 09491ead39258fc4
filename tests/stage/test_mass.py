"""Mass properties against USD's own ComputeMassProperties, and the precedence of everything that states them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from pxr import Gf, Usd, UsdGeom, UsdPhysics, UsdShade

from tests.stage.authoring import CHAINED, Read, box, read, shape_in_world, stage_of
from usd_sim.geometry import transforms as tf
from usd_sim.geometry.shape_mass import all_mass_properties

ORACLE = 2.0e-4
"""USD adds up in single precision and finds principal axes iteratively; relative to the largest moment."""

TYPES = ("Sphere", "Cube", "Capsule", "Cylinder", "Cone")


def quat(q: np.ndarray) -> Gf.Quatf:
    return Gf.Quatf(float(q[3]), *(float(x) for x in q[:3]))


def information(result: Read, body: str) -> Any:
    """Return the callback that tells USD the volume, inertia and place of each collider."""

    def tell(prim: Usd.Prim) -> UsdPhysics.RigidBodyAPI.MassInformation:
        row = result.shape(str(prim.GetPath()))
        part = all_mass_properties(
            result.shape_type[[row]],
            result.shape_scale[[row]].astype(float),
            np.array([True]),
            np.array([1.0]),
            [result.shape_source[row]],
        )
        base = result.body_q[result.body(body)].astype(float)
        pose = tf.transform_multiply(tf.transform_inverse(base), shape_in_world(result, str(prim.GetPath())))
        info = UsdPhysics.RigidBodyAPI.MassInformation()
        info.volume = float(part.volume[0])
        info.inertia = Gf.Matrix3f(*part.inertia[0].ravel().tolist())
        info.centerOfMass = Gf.Vec3f(*part.com[0].tolist())
        info.localPos, info.localRot = Gf.Vec3f(*pose[:3].tolist()), quat(pose[3:])
        return info

    return tell


def oracle(result: Read, body: str) -> tuple[float, np.ndarray, np.ndarray]:
    """Return mass, centre of mass and inertia tensor by USD."""
    api = UsdPhysics.RigidBodyAPI(result.stage.GetPrimAtPath(body))
    mass, diagonal, com, axes = api.ComputeMassProperties(information(result, body))
    rotation = tf.quat_to_matrix(np.array([*axes.GetImaginary(), axes.GetReal()]))
    return mass, np.array(com), rotation @ np.diag(np.array(diagonal)) @ rotation.T


def assert_as_usd(result: Read, body: str = "/B") -> None:
    mass, com, inertia = oracle(result, body)
    row = result.body(body)
    size = np.abs(inertia).max()
    np.testing.assert_allclose(result.body_mass[row], mass, rtol=ORACLE)
    np.testing.assert_allclose(result.body_com[row], com, atol=ORACLE)
    np.testing.assert_allclose(result.body_inertia[row], inertia, atol=ORACLE * size)


def random_rotation(rng: np.random.Generator) -> np.ndarray:
    return tf.quat_normalize(rng.normal(size=4))


def place(prim: Usd.Prim, rng: np.random.Generator, scale: tuple[float, ...] | None = None) -> None:
    xform = UsdGeom.Xformable(prim)
    xform.AddTranslateOp().Set(Gf.Vec3d(*rng.uniform(-1, 1, 3).tolist()))
    xform.AddOrientOp().Set(quat(random_rotation(rng)))
    if scale is not None:
        xform.AddScaleOp().Set(Gf.Vec3f(*scale))


def author_mass(prim: Usd.Prim, rng: np.random.Generator, allowed: set[str]) -> None:
    """Apply MassAPI with a random choice of what is allowed."""
    api = UsdPhysics.MassAPI.Apply(prim)
    if "mass" in allowed and rng.random() < 0.5:
        api.CreateMassAttr(float(rng.uniform(0.5, 5)))
    if "density" in allowed and rng.random() < 0.5:
        api.CreateDensityAttr(float(rng.uniform(100, 2000)))
    if "com" in allowed and rng.random() < 0.5:
        api.CreateCenterOfMassAttr(Gf.Vec3f(*rng.uniform(-0.3, 0.3, 3).tolist()))
    if "inertia" in allowed and rng.random() < 0.5:
        api.CreateDiagonalInertiaAttr(Gf.Vec3f(*rng.uniform(1.0, 1.5, 3).tolist()))
        # USD keeps computed axes where none are authored; here they are then those of the prim, see below
        api.CreatePrincipalAxesAttr(quat(random_rotation(rng)))


def random_stage(seed: int, *, body: set[str], collider: set[str], scaled: bool = False) -> Usd.Stage:
    """Return a stage with one body and some colliders."""
    rng = np.random.default_rng(seed)
    stage = stage_of("")
    root = UsdGeom.Xform.Define(stage, "/B").GetPrim()
    UsdPhysics.RigidBodyAPI.Apply(root)
    factor = float(rng.uniform(0.5, 2)) if scaled else 1.0
    place(root, rng, (factor,) * 3)
    author_mass(root, rng, body)
    material = UsdShade.Material.Define(stage, "/M")
    UsdPhysics.MaterialAPI.Apply(material.GetPrim()).CreateDensityAttr(float(rng.uniform(100, 2000)))
    for i in range(int(rng.integers(1, 4))):
        type_name = str(rng.choice(TYPES))
        prim = stage.DefinePrim(f"/B/C{i}", type_name)
        api = UsdPhysics.CollisionAPI.Apply(prim)
        if i > 0 and rng.random() < 0.2:
            api.CreateCollisionEnabledAttr(False)
        uneven = tuple(rng.uniform(0.5, 2, 3).tolist()) if type_name in ("Sphere", "Cube") else (1.5, 1.5, 1.5)
        place(prim, rng, uneven if scaled else None)
        if collider and rng.random() < 0.7:
            author_mass(prim, rng, collider)
        if rng.random() < 0.3:
            UsdShade.MaterialBindingAPI.Apply(prim).Bind(material, materialPurpose="physics")
    return stage


CASES = {
    "volumes": ({}, {}),
    "densities": ({"density"}, {"density"}),
    "masses": ({"mass"}, {"mass", "density"}),
    "centres": ({"mass", "com"}, {"mass"}),
    "collider centres": ({"mass"}, {"mass", "com"}),
    "inertias": ({"mass", "inertia"}, {"mass"}),
    "collider inertias": ({}, {"mass", "inertia"}),
    "all on bodies": ({"mass", "density", "com", "inertia"}, {}),
    "all": ({"mass", "density", "com", "inertia"}, {"mass", "density", "com", "inertia"}),
}


@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("case", list(CASES))
def test_random_bodies_as_usd_has_them(case: str, scaled: bool):
    body, collider = (set(names) for names in CASES[case])
    for seed in range(12):
        result = read(random_stage(seed, body=body, collider=collider, scaled=scaled))
        try:
            assert_as_usd(result)
        except AssertionError as error:
            raise AssertionError(f"seed {seed}\n{result.stage.GetRootLayer().ExportToString()}") from error


# --- precedence -----------------------------------------------------------------------------------------------------


def body(
    text: str = "",
    apis: str = "",
    inner: str = 'def Cube "C" (prepend apiSchemas = ["PhysicsCollisionAPI"]) { double size = 1 }',
) -> str:
    quoted = "".join(f', "{api}"' for api in apis.split())
    return f'def Xform "B" (prepend apiSchemas = ["PhysicsRigidBodyAPI"{quoted}]) {{ {text}; {inner}; }}'


CUBE = 1000.0 / 6.0
"""Moment of inertia of a solid cube of 1 m at the default density [kg·m²]."""


def tensor(result: Read) -> np.ndarray:
    assert len(result.body_inertia) == 1
    return result.body_inertia[0]


def test_without_axes_the_moments_are_those_of_the_prim():
    result = read(body("float3 physics:diagonalInertia = (3, 4, 5)", "PhysicsMassAPI"))
    np.testing.assert_allclose(tensor(result), np.diag([3.0, 4.0, 5.0]), rtol=CHAINED, atol=CHAINED)
    assert result.body_mass[0] == pytest.approx(1000.0, rel=CHAINED)


def test_axes_of_no_length_are_no_axes():
    text = "float3 physics:diagonalInertia = (3, 4, 5); quatf physics:principalAxes = (0, 0, 0, 0)"
    np.testing.assert_allclose(tensor(read(body(text, "PhysicsMassAPI"))), np.diag([3.0, 4.0, 5.0]), atol=CHAINED)


def test_newton_inertia_comes_first():
    text = "float3 physics:diagonalInertia = (3, 4, 5); double[] newton:inertia = [6, 7, 8, 0.1, 0.2, 0.3]"
    expected = [[6, 0.1, 0.2], [0.1, 7, 0.3], [0.2, 0.3, 8]]
    np.testing.assert_allclose(tensor(read(body(text, "NewtonMassAPI"))), expected, rtol=CHAINED)


@pytest.mark.parametrize("numbers", ["", "1, 2, 3", "1, 2, 3, 0, 0, 0, 0"])
def test_newton_inertia_has_six_numbers_or_none(numbers: str):
    result = read(body(f"double[] newton:inertia = [{numbers}]", "NewtonMassAPI"), strict=False)
    np.testing.assert_allclose(tensor(result), CUBE * np.eye(3), rtol=CHAINED, atol=CHAINED)
    assert result.said("errors", "/B", property="newton:inertia") == bool(numbers)


def test_inertia_of_a_schema_that_is_not_applied_is_ignored():
    result = read(body("double[] newton:inertia = [1, 1, 1, 0, 0, 0]; float physics:mass = 5"))
    assert result.body_mass[0] == pytest.approx(1000.0)
    assert result.said("ignored", "/B", "NewtonMassAPI is not applied", property="newton:inertia")
    assert result.said("ignored", "/B", "PhysicsMassAPI is not applied", property="physics:mass")


@pytest.mark.parametrize(
    ("collider", "of_body", "of_material", "expected"),
    [(300, 200, 100, 300), (0, 200, 100, 200), (0, 0, 100, 100), (0, 0, 0, 1000), (300, 0, 100, 300), (0, 200, 0, 200)],
)
def test_densities(collider: float, of_body: float, of_material: float, expected: float):
    inner = f"""
    def Cube "C" (prepend apiSchemas = ["PhysicsCollisionAPI", "PhysicsMassAPI", "MaterialBindingAPI"]) {{
        double size = 1; float physics:density = {collider}; rel material:binding:physics = </M> }}"""
    material = (
        f'def Material "M" (prepend apiSchemas = ["PhysicsMaterialAPI"]) {{ float physics:density = {of_material} }}'
    )
    result = read(f"{material}\n{body(f'float physics:density = {of_body}', 'PhysicsMassAPI', inner)}")
    assert result.body_mass[0] == pytest.approx(expected, rel=CHAINED)
    assert result.shape_density[0] == pytest.approx(expected, rel=CHAINED)


def test_material_bound_above_or_without_purpose_counts():
    material = 'def Material "M" (prepend apiSchemas = ["PhysicsMaterialAPI"]) { float physics:density = 10 }\n'
    for binding in ("material:binding:physics", "material:binding"):
        text = material + body(f"rel {binding} = </M>", "MaterialBindingAPI")
        assert read(text).body_mass[0] == pytest.approx(10.0, rel=CHAINED), binding


def test_mass_of_a_body_that_is_its_own_collider_is_the_bodys():
    result = read(box("B", "float physics:mass = 3; point3f physics:centerOfMass = (0.1, 0, 0)", "PhysicsMassAPI"))
    assert result.body_mass[0] == pytest.approx(3.0)
    np.testing.assert_allclose(result.body_com[0], [0.1, 0, 0], rtol=CHAINED)
    # moved by parallel axes, once
    np.testing.assert_allclose(tensor(result), np.diag([0.5, 0.5 + 0.03, 0.5 + 0.03]), rtol=CHAINED, atol=CHAINED)


@pytest.mark.parametrize(("thickness", "mass"), [("0.01", 60.0), ("", 6000.0)])
def test_shells(thickness: str, mass: float):
    wall = f"; uniform float newton:shellThickness = {thickness}" if thickness else ""
    inner = f"""def Cube "C" (prepend apiSchemas = ["PhysicsCollisionAPI", "NewtonMassAPI"]) {{
        double size = 1; uniform token newton:massModel = "shell"{wall} }}"""
    result = read(body(inner=inner))
    assert result.body_mass[0] == pytest.approx(mass, rel=CHAINED)
    # two faces across the axis and four along it: 5/18 m a²
    np.testing.assert_allclose(tensor(result), mass * 5 / 18 * np.eye(3), rtol=CHAINED, atol=CHAINED)


MESH = """def Mesh "C" (prepend apiSchemas = ["PhysicsCollisionAPI", "PhysicsMeshCollisionAPI"]) {{
    uniform token physics:approximation = "{how}"
    point3f[] points = [(0, 0, 0), (1, 0, 0), (0, 2, 0), (0, 0, 3)]
    int[] faceVertexCounts = {counts}
    int[] faceVertexIndices = {indices}
    double3 xformOp:translate = (5, 0, 0); float3 xformOp:scale = {scale}
    uniform token[] xformOpOrder = ["xformOp:translate", "xformOp:scale"] }}"""
CLOSED = ("[3, 3, 3, 3]", "[0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3]")
OPEN = ("[3, 3, 3]", "[0, 2, 1, 0, 1, 3, 0, 3, 2]")


@pytest.mark.parametrize("how", ["none", "convexHull"])
@pytest.mark.parametrize("surface", [CLOSED, OPEN], ids=["closed", "open"])
@pytest.mark.parametrize("scale", [(1, 1, 1), (2, 1, 1), (-1, 1, 1), (-1, -2, -1)])
def test_meshes_have_their_volume(how: str, surface: tuple[str, str], scale: tuple[int, ...]):
    inner = MESH.format(how=how, counts=surface[0], indices=surface[1], scale=scale)
    result = read(body(inner=inner))
    assert result.body_mass[0] == pytest.approx(1000.0 * abs(np.prod(scale)), rel=CHAINED)
    centre = np.array([5.0, 0, 0]) + 0.25 * np.array([1, 2, 3]) * scale
    np.testing.assert_allclose(result.body_com[0], centre, rtol=CHAINED)


def test_disabled_colliders_weigh_nothing_unless_nothing_else_does():
    head = '(prepend apiSchemas = ["PhysicsCollisionAPI"])'
    off = f'def Cube "{{}}" {head} {{{{ double size = 1; bool physics:collisionEnabled = 0 }}}}\n'
    on = 'def Sphere "S" (prepend apiSchemas = ["PhysicsCollisionAPI"]) { double radius = 1 }\n'
    result = read(body(inner=off.format("C") + on))
    assert result.body_mass[0] == pytest.approx(4000.0 / 3.0 * np.pi, rel=CHAINED)
    result = read(body(inner=off.format("C") + off.format("D")))
    assert result.body_mass[0] == pytest.approx(2000.0)
    assert result.said("approximated", "/B", "disabled")
    assert not read(body("float physics:mass = 3", "PhysicsMassAPI", off.format("C"))).report.approximated


def test_planes_weigh_nothing():
    inner = """def Cube "C" (prepend apiSchemas = ["PhysicsCollisionAPI"]) { double size = 1 }
    def Plane "P" (prepend apiSchemas = ["PhysicsCollisionAPI"]) { double width = 5 }"""
    assert read(body(inner=inner)).body_mass[0] == pytest.approx(1000.0)


def two(first: str, second: str) -> str:
    return "\n".join(
        f"""def Cube "{name}" (prepend apiSchemas = ["PhysicsCollisionAPI", "PhysicsMassAPI"{apis}]) {{
        double size = 1; {text} }}"""
        for name, text, apis in (("C", first, ', "MjcCollisionAPI"'), ("D", second, ', "MjcCollisionAPI"'))
    )


def test_massless_colliders_of_mujoco():
    result = read(body(inner=two("float physics:mass = 0", "float physics:mass = 2")))
    assert result.body_mass[0] == pytest.approx(2.0)
    result = read(body(inner=two("float physics:mass = 0", "")))
    assert result.body_mass[0] == pytest.approx(1000.0)


def test_massless_colliders_never_leave_a_body_without_mass():
    result = read(body(inner=two("float physics:mass = 0", "float physics:mass = 0")))
    assert result.body_mass[0] == pytest.approx(2000.0)
    assert result.said("approximated", "/B", "state a mass of 0")


def test_a_mass_of_zero_is_no_opinion_elsewhere():
    inner = two("float physics:mass = 0", "float physics:mass = 2").replace(', "MjcCollisionAPI"', "")
    assert read(body(inner=inner)).body_mass[0] == pytest.approx(1002.0)


def test_total_mass_of_mujoco_scales_everything():
    scene = (
        'def PhysicsScene "S" (prepend apiSchemas = ["MjcSceneAPI"]) { uniform double mjc:compiler:setTotalMass = 6 }\n'
    )
    result = read(
        scene
        + box("A", "float physics:mass = 1", "PhysicsMassAPI")
        + box("B", "float physics:mass = 2", "PhysicsMassAPI")
    )
    np.testing.assert_allclose(result.body_mass, [2, 4], rtol=CHAINED)
    np.testing.assert_allclose(result.body_inertia[0], 2 / 6 * np.eye(3), rtol=CHAINED, atol=CHAINED)


def test_a_mass_alone_gets_a_stand_in_and_says_so():
    result = read(body("float physics:mass = 2", "PhysicsMassAPI", inner=""))
    assert result.body_mass[0] == 2.0
    assert np.all(np.diagonal(tensor(result)) > 0)
    assert result.said("approximated", "/B", "no inertia and no colliders")


def test_mass_and_inertia_need_no_collider():
    text = "float physics:mass = 2; float3 physics:diagonalInertia = (1, 1, 1)"
    result = read(body(text, "PhysicsMassAPI", inner=""))
    assert not result.report.approximated
    np.testing.assert_allclose(tensor(result), np.eye(3))


def test_nothing_to_take_mass_from_is_an_error():
    assert read(body(inner=""), strict=False).said("errors", "/B", "no mass and no collider")
    kinematic = read(body("bool physics:kinematicEnabled = 1", inner=""))
    assert not kinematic.report.errors


@pytest.mark.parametrize("name", ["mass", "density"])
@pytest.mark.parametrize("value", ["-1", "nan", "inf"])
@pytest.mark.parametrize("on", ["body", "collider"])
def test_impossible_numbers_are_errors(name: str, value: str, on: str):
    text = f"float physics:{name} = {value}"
    if on == "body":
        result, path = read_report(body(text, "PhysicsMassAPI")), "/B"
    else:
        head = '(prepend apiSchemas = ["PhysicsCollisionAPI", "PhysicsMassAPI"])'
        inner = f'def Cube "C" {head} {{ double size = 1; {text} }}'
        result, path = read_report(body(inner=inner)), "/B/C"
    assert [(entry.prim, entry.property) for entry in result.errors] == [(path, f"physics:{name}")]


@pytest.mark.parametrize(
    "text",
    [
        "double[] newton:inertia = [nan, 1, 1, 0, 0, 0]",
        "double[] newton:inertia = [inf, 1, 1, 0, 0, 0]",
        "float3 physics:diagonalInertia = (1, nan, 1)",
        "float3 physics:diagonalInertia = (1, inf, 1)",
        "float3 physics:diagonalInertia = (1, -1, 1)",
        "point3f physics:centerOfMass = (nan, 0, 0)",
        "quatf physics:principalAxes = (nan, 0, 0, 0); float3 physics:diagonalInertia = (1, 1, 1)",
    ],
)
def test_impossible_tensors_are_errors_or_repaired(text: str):
    report = read_report(body(text, "NewtonMassAPI"))
    said = report.errors or report.approximated
    assert said
    assert said[0].prim == "/B"


def read_report(text: str) -> Any:
    """Return the report alone, of stages that make no model."""
    from usd_sim.model.builder import ModelBuilder
    from usd_sim.stage.compile import compile_stage

    return compile_stage(stage_of(text), ModelBuilder())[1]


def test_moments_that_no_body_has_are_widened_and_reported():
    result = read(body("float3 physics:diagonalInertia = (1, 1, 9)", "PhysicsMassAPI"))
    moments = np.linalg.eigvalsh(tensor(result).astype(float))
    assert moments[2] <= moments[0] + moments[1] + CHAINED
    assert moments[2] == pytest.approx(9.0, rel=CHAINED)
    assert result.said("approximated", "/B", "no rigid body has this inertia")


def test_nested_bodies_share_no_colliders():
    inner = f'def Cube "C" (prepend apiSchemas = ["PhysicsCollisionAPI"]) {{ double size = 1 }} {box("D", "float physics:mass = 5", "PhysicsMassAPI")}'  # noqa: E501
    result = read(body(inner=inner))
    assert result.body_mass[result.body("/B")] == pytest.approx(1000.0)
    assert result.body_mass[result.body("/B/D")] == pytest.approx(5.0)


def test_centre_of_mass_is_in_the_bodys_own_scaled_space():
    ops = 'float3 xformOp:scale = (2, 2, 2); uniform token[] xformOpOrder = ["xformOp:scale"]'
    result = read(body(f"point3f physics:centerOfMass = (0.1, 0.2, 0.3); {ops}", "PhysicsMassAPI"))
    np.testing.assert_allclose(result.body_com[0], [0.2, 0.4, 0.6], rtol=CHAINED)
    assert result.body_mass[0] == pytest.approx(8000.0, rel=CHAINED)


def test_density_of_shapes_gives_the_bodys_mass():
    # what the shapes say adds up to what the body says, also where masses are stated
    inner = two("float physics:mass = 2", "float physics:density = 30").replace(', "MjcCollisionAPI"', "")
    result = read(body(inner=inner))
    assert result.shape_density.sum() == pytest.approx(result.body_mass[0], rel=CHAINED)  # of 1 m³ each
