"""Where bodies and colliders are, and how large, for any stack of transforms."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pxr import Gf, Usd, UsdGeom

from tests.stage.authoring import CHAINED, SINGLE, box, read, shape_in_world, stage_of, world_matrix
from usd_sim.geometry import transforms as tf
from usd_sim.geometry.types import GeoType

SAMPLES = np.random.default_rng(7).uniform(-1.0, 1.0, (200, 3))
"""Points in and around unit shapes."""


def surface(result, path: str, matrix: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Return which sample points lie inside a collider by the model, and by USD's own transform."""
    matrix = world_matrix(result.stage, path) if matrix is None else matrix
    world = SAMPLES @ matrix[:3, :3] + matrix[3, :3]
    row = result.shape(path)
    local = tf.transform_point(tf.transform_inverse(shape_in_world(result, path)), world)
    kind, size = GeoType(result.shape_type[row]), result.shape_scale[row].astype(float)
    return inside(kind, size, local), SAMPLES


def inside(kind: GeoType, size: np.ndarray, p: np.ndarray) -> np.ndarray:
    """Return a signed measure that is below 1 inside a shape and 1 on its surface."""
    if kind == GeoType.SPHERE:
        return np.linalg.norm(p, axis=1) / size[0]
    if kind == GeoType.ELLIPSOID:
        return np.linalg.norm(p / size, axis=1)
    if kind == GeoType.BOX:
        return np.abs(p / size).max(axis=1)
    radial = np.hypot(p[:, 0], p[:, 1])
    if kind == GeoType.CYLINDER:
        return np.maximum(radial / size[0], np.abs(p[:, 2]) / size[1])
    if kind == GeoType.CONE:  # tip at +half height, where the measure grows without bound
        radius = size[0] * (1 - p[:, 2] / size[1]) / 2
        return np.where(np.abs(p[:, 2]) > size[1], 9.0, np.minimum(radial / np.maximum(radius, 1e-9), 9.0))
    raise AssertionError(kind)


def unit_measure(type_name: str, axis: str = "Z") -> np.ndarray:
    """Return the same measure for USD's unit shapes, in the prim's own space."""
    # columns: two across, then the axis
    order = {"X": [1, 2, 0], "Y": [2, 0, 1], "Z": [0, 1, 2]}[axis]
    p = SAMPLES[:, order]
    kinds = {"Sphere": GeoType.SPHERE, "Cube": GeoType.BOX, "Cylinder": GeoType.CYLINDER, "Cone": GeoType.CONE}
    return inside(kinds[type_name], np.array([1.0, 1.0, 1.0]), p)


def prim(type_name: str, ops: str, order: str, extra: str = "") -> str:
    sizes = {"Sphere": "double radius = 1", "Cube": "double size = 2"}
    default = f"double radius = 1; double height = 2; {extra}"
    return (
        f'\ndef {type_name} "P" (prepend apiSchemas = ["PhysicsCollisionAPI"]) {{ {sizes.get(type_name, default)}; '
        f"{ops}; uniform token[] xformOpOrder = [{order}] }}"
    )


ORDERS = {
    "translate": ("double3 xformOp:translate = (1, 2, 3)", '"xformOp:translate"'),
    "rotate then translate": (
        "double3 xformOp:translate = (1, 2, 3); float3 xformOp:rotateXYZ = (10, 20, 30)",
        '"xformOp:rotateXYZ", "xformOp:translate"',
    ),
    "zyx": ("float3 xformOp:rotateZYX = (10, -120, 30)", '"xformOp:rotateZYX"'),
    "orient": ("quatf xformOp:orient = (0.5, 0.5, -0.5, 0.5)", '"xformOp:orient"'),
    "scale last": (
        "double3 xformOp:translate = (1, 2, 3); float xformOp:rotateY = 40; float3 xformOp:scale = (2, 2, 2)",
        '"xformOp:translate", "xformOp:rotateY", "xformOp:scale"',
    ),
    "scale first": (
        "double3 xformOp:translate = (1, 2, 3); float3 xformOp:scale = (2, 2, 2); float xformOp:rotateY = 40",
        '"xformOp:scale", "xformOp:translate", "xformOp:rotateY"',
    ),
    "pivot": (
        "float3 xformOp:translate:pivot = (1, 0, 0); float xformOp:rotateZ = 90",
        '"xformOp:translate:pivot", "xformOp:rotateZ", "!invert!xformOp:translate:pivot"',
    ),
    "matrix": (
        "matrix4d xformOp:transform = ((0, 2, 0, 0), (-2, 0, 0, 0), (0, 0, 2, 0), (5, 6, 7, 1))",
        '"xformOp:transform"',
    ),
    "reset": ("double3 xformOp:translate = (1, 2, 3)", '"!resetXformStack!", "xformOp:translate"'),
}


@pytest.mark.parametrize("name", list(ORDERS))
@pytest.mark.parametrize("on_body", [False, True])
def test_any_order_of_ops(name: str, on_body: bool):
    ops, order = ORDERS[name]
    text = prim("Cube", ops, order)
    if on_body:
        text = text.replace('["PhysicsCollisionAPI"]', '["PhysicsCollisionAPI", "PhysicsRigidBodyAPI"]')
    parent = f"""def Xform "Top" {{ double3 xformOp:translate = (10, 0, 0); float xformOp:rotateX = 30;
    uniform token[] xformOpOrder = ["xformOp:translate", "xformOp:rotateX"]; {text} }}"""
    result = read(parent)
    measured, _ = surface(result, "/Top/P")
    np.testing.assert_allclose(measured, unit_measure("Cube"), rtol=CHAINED, atol=CHAINED)
    assert len(result.body_q) == int(on_body)
    assert not result.report.approximated


SCALES = [(1, 2, 3), (-1, 1, 1), (1, -1, 1), (1, 1, -1), (-1, -2, -3), (2, -2, 2)]
ROUND = [  # a radius cannot be stretched: see below
    (name, axis, scale)
    for name in ("Cylinder", "Cone")
    for i, axis in enumerate("XYZ")
    for scale in [*SCALES, (3, 2, 2), (-2, 1, -1)]
    if len(set(np.abs(np.delete(scale, i)))) == 1
]


@pytest.mark.parametrize(
    ("type_name", "axis", "scale"), [(name, "Z", scale) for name in ("Sphere", "Cube") for scale in SCALES] + ROUND
)
def test_scaled_and_mirrored_primitives(type_name: str, axis: str, scale: tuple[int, ...]):
    text = prim(
        type_name,
        f"float3 xformOp:rotateXYZ = (20, 30, 40); float3 xformOp:scale = {scale}",
        '"xformOp:rotateXYZ", "xformOp:scale"',
        f'uniform token axis = "{axis}"',
    )
    result = read(text)
    measured, _ = surface(result, "/P")
    np.testing.assert_allclose(measured, unit_measure(type_name, axis), rtol=CHAINED, atol=CHAINED)
    assert np.all(result.shape_scale >= 0)
    stretched = type_name == "Sphere" and len(set(np.abs(scale))) > 1
    if type_name == "Sphere":
        assert result.shape_type[0] == (GeoType.ELLIPSOID if stretched else GeoType.SPHERE)


@pytest.mark.parametrize("axis", ["X", "Y", "Z"])
@pytest.mark.parametrize("scale", [(1, 1, 1), (-1, 1, 1), (1, -1, 1), (1, 1, -1), (-1, -1, -1)])
def test_planes_face_along_their_axis_also_when_mirrored(axis: str, scale: tuple[int, ...]):
    text = f"""def Plane "P" (prepend apiSchemas = ["PhysicsCollisionAPI"]) {{ uniform token axis = "{axis}"
    float3 xformOp:rotateXYZ = (20, 30, 40); float3 xformOp:scale = {scale}; double3 xformOp:translate = (1, 2, 3);
    uniform token[] xformOpOrder = ["xformOp:translate", "xformOp:rotateXYZ", "xformOp:scale"] }}"""
    result = read(text)
    normal = np.eye(3)["XYZ".index(axis)] @ world_matrix(result.stage, "/P")[:3, :3]
    found = tf.quat_rotate(result.shape_transform[0][3:], [0.0, 0.0, 1.0])
    np.testing.assert_allclose(found, normal, atol=CHAINED)
    np.testing.assert_allclose(result.shape_transform[0][:3], [1, 2, 3], atol=CHAINED)


@pytest.mark.parametrize("type_name", ["Capsule", "Cylinder", "Cone"])
def test_an_uneven_radius_makes_a_convex_mesh(type_name: str):
    result = read(prim(type_name, "float3 xformOp:scale = (1, 2, 1)", '"xformOp:scale"'))
    assert result.said("approximated", "/P", "not uniform about the axis")
    assert result.shape_type[0] == GeoType.CONVEX_MESH
    np.testing.assert_array_equal(result.shape_scale[0], [1.0, 2.0, 1.0])


def test_shear_is_reported_on_bodies_and_colliders():
    result = read(f"""def Xform "Top" {{ float3 xformOp:scale = (1, 3, 1)
    uniform token[] xformOpOrder = ["xformOp:scale"]
    {box("A", 'float xformOp:rotateZ = 30; uniform token[] xformOpOrder = ["xformOp:rotateZ"]')}
    {prim("Cube", "float xformOp:rotateZ = 30", '"xformOp:rotateZ"')} }}""")
    assert result.said("approximated", "/Top/A", "shears")
    assert result.said("approximated", "/Top/P", "shears")


MIRRORED_MESH = """
def Mesh "P" (prepend apiSchemas = ["PhysicsCollisionAPI", "PhysicsMeshCollisionAPI"]) {{
    uniform token physics:approximation = "{how}"
    point3f[] points = [(0, 0, 0), (1, 0, 0), (0, 2, 0), (0, 0, 3)]
    int[] faceVertexCounts = [3, 3, 3, 3]
    int[] faceVertexIndices = [0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3]
    float3 xformOp:rotateXYZ = (20, 30, 40); float3 xformOp:scale = {scale}; double3 xformOp:translate = (1, 2, 3)
    uniform token[] xformOpOrder = ["xformOp:translate", "xformOp:rotateXYZ", "xformOp:scale"]
}}
"""


@pytest.mark.parametrize("scale", [(1, 1, 1), (-1, 1, 1), (1, -2, 1), (1, 1, -3), (-1, -2, -3)])
@pytest.mark.parametrize("how", ["none", "convexHull", "boundingCube", "boundingSphere"])
def test_mirrored_meshes_keep_their_points(scale: tuple[int, ...], how: str):
    result = read(MIRRORED_MESH.format(scale=scale, how=how))
    row, matrix = result.shape("/P"), world_matrix(result.stage, "/P")
    corners = np.array([[0.0, 0, 0], [1, 0, 0], [0, 2, 0], [0, 0, 3]])
    world = corners @ matrix[:3, :3] + matrix[3, :3]
    pose, size = shape_in_world(result, "/P"), result.shape_scale[row].astype(float)
    if how in ("none", "convexHull"):
        points = tf.transform_point(pose, result.shape_source[row].vertices * size)
        order, expected = np.lexsort(points.T.round(4)), np.lexsort(world.T.round(4))
        np.testing.assert_allclose(points[order], world[expected], rtol=CHAINED, atol=CHAINED)
        assert result.shape_type[row] == (GeoType.MESH if how == "none" else GeoType.CONVEX_MESH)
        return
    local = tf.transform_point(tf.transform_inverse(pose), world)
    if how == "boundingCube":
        np.testing.assert_allclose(np.abs(local).max(axis=0), size, rtol=CHAINED)
        np.testing.assert_allclose(np.abs(local).min(axis=0), size, rtol=CHAINED, err_msg="touches both sides")
    else:
        assert np.linalg.norm(local, axis=1).max() == pytest.approx(size[0], rel=CHAINED)


def test_left_handed_and_mirrored_meshes_have_a_positive_volume():
    for orientation in ("rightHanded", "leftHanded"):
        for scale in ((1, 1, 1), (-1, 1, 1)):
            text = MIRRORED_MESH.format(scale=scale, how="none")
            if orientation == "leftHanded":
                text = text.replace("[0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3]", "[0, 1, 2, 0, 3, 1, 0, 2, 3, 1, 3, 2]")
                text = text.replace(
                    "int[] faceVertexCounts", 'uniform token orientation = "leftHanded"\nint[] faceVertexCounts'
                )
            text = f'def Xform "B" (prepend apiSchemas = ["PhysicsRigidBodyAPI"]) {{ {text} }}'
            assert read(text).body_mass[0] == pytest.approx(1000.0, rel=CHAINED), (orientation, scale)


def test_nested_bodies_and_deep_scaled_hierarchies():
    ops = """double3 xformOp:translate = (1, 0.5, 0.25); float xformOp:rotateZ = 25; float3 xformOp:scale = (2, 2, 2);
    uniform token[] xformOpOrder = ["xformOp:translate", "xformOp:rotateZ", "xformOp:scale"]"""
    text = ""
    for depth in reversed(range(5)):
        apis = '(prepend apiSchemas = ["PhysicsRigidBodyAPI"])' if depth in (1, 3) else ""
        ball = prim("Sphere", "", "") if depth in (1, 2, 4) else ""
        text = f'def Xform "L{depth}" {apis} {{ {ops}; {text}; {ball} }}'
    result = read(text)
    paths = ["/L0/L1", "/L0/L1/L2/L3"]
    assert result.body_path == paths
    for path in paths:
        matrix = world_matrix(result.stage, path)
        np.testing.assert_allclose(result.body_q[result.body(path)][:3], matrix[3, :3], rtol=CHAINED)
    for path, body in (
        ("/L0/L1/P", paths[0]),
        ("/L0/L1/L2/P", paths[0]),
        ("/L0/L1/L2/L3/L4/P", paths[1]),
    ):
        assert result.shape_body[result.shape(path)] == result.body(body)
        measured, _ = surface(result, path)
        np.testing.assert_allclose(measured, unit_measure("Sphere"), rtol=CHAINED)


def test_reset_stack_under_a_body_stays_where_it_is():
    result = read(f"""def Xform "B" (prepend apiSchemas = ["PhysicsRigidBodyAPI"]) {{
    double3 xformOp:translate = (5, 0, 0); uniform token[] xformOpOrder = ["xformOp:translate"]
    {prim("Sphere", *ORDERS["reset"])} }}""")
    np.testing.assert_allclose(shape_in_world(result, "/B/P")[:3], [1, 2, 3], atol=SINGLE)


def test_bodies_animated_only_by_samples_are_read_at_the_start():
    text = box(
        "A",
        """double3 xformOp:translate.timeSamples = { 10: (1, 2, 3), 20: (9, 9, 9) }
        vector3f physics:velocity.timeSamples = { 10: (4, 5, 6), 20: (0, 0, 0) }
        uniform token[] xformOpOrder = ["xformOp:translate"]""",
    )
    stage = stage_of(text, metadata="startTimeCode = 10\nendTimeCode = 20")
    assert read(stage).body_q[0][:3].tolist() == [1, 2, 3]
    np.testing.assert_allclose(read(stage).body_qd[0][:3], [4, 5, 6])
    assert read(stage, time=20.0).body_q[0][:3].tolist() == [9, 9, 9]
    np.testing.assert_allclose(read(stage, time=15.0).body_q[0][:3], [5, 5.5, 6])


def test_samples_win_over_the_default_value():
    text = box(
        "A",
        """double3 xformOp:translate = (7, 7, 7); double3 xformOp:translate.timeSamples = { 0: (1, 2, 3) }
        uniform token[] xformOpOrder = ["xformOp:translate"]""",
    )
    assert read(text).body_q[0][:3].tolist() == [1, 2, 3]


def instanced(nested: bool) -> Usd.Stage:
    """Return a stage with three instances of a robot of two bodies, one level deep or two."""
    stage = Usd.Stage.CreateInMemory()
    UsdGeom.SetStageMetersPerUnit(stage, 1.0)
    UsdGeom.SetStageUpAxis(stage, "Z")
    above = 'double3 xformOp:translate = (0, 0, 2); uniform token[] xformOpOrder = ["xformOp:translate"]'
    source = stage_of(f"""
    class Xform "Robot" {{ {box("A")} {box("B", above)}
        def PhysicsRevoluteJoint "J" {{ rel physics:body0 = </Robot/A>; rel physics:body1 = </Robot/B>
            point3f physics:localPos1 = (0, 0, -2) }} }}
    class Xform "Pair" {{ def Xform "Inner" (instanceable = true; prepend references = </Robot>) {{ }} }}
    """)
    stage.GetRootLayer().TransferContent(source.GetRootLayer())
    for i in range(3):
        copy = stage.DefinePrim(f"/World/Copy{i}", "Xform")
        copy.GetReferences().AddInternalReference("/Pair" if nested else "/Robot")
        copy.SetInstanceable(True)
        UsdGeom.XformCommonAPI(copy).SetTranslate(Gf.Vec3d(3.0 * i, 0, 0))
    return stage


@pytest.mark.parametrize("nested", [False, True])
def test_instances_are_read_like_anything_else(nested: bool):
    result, middle = read(instanced(nested)), "/Inner" if nested else ""
    assert len(result.body_path) == len(result.shape_path) == 6
    assert len([path for path in result.joint_path if path]) == 3
    for i in range(3):
        a, b = (result.body(f"/World/Copy{i}{middle}/{name}") for name in "AB")
        np.testing.assert_allclose(result.body_q[a][:3], [3 * i, 0, 0], atol=SINGLE)
        np.testing.assert_allclose(result.body_q[b][:3], [3 * i, 0, 2], atol=SINGLE)
        joint = result.joint(f"/World/Copy{i}{middle}/J")
        assert (result.joint_parent[joint], result.joint_child[joint]) == (a, b)
        assert result.shape_body[result.shape(f"/World/Copy{i}{middle}/B")] == b


def test_instanced_meshes_are_kept_once_and_many_under_one_body_are_read():
    # more than 30 mesh colliders under one body have crashed parsers
    parts = "".join(
        f"""def Mesh "M{i}" (prepend apiSchemas = ["PhysicsCollisionAPI", "PhysicsMeshCollisionAPI"]) {{
        point3f[] points = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]
        int[] faceVertexCounts = [3, 3, 3, 3]; int[] faceVertexIndices = [0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3]
        double3 xformOp:translate = ({i}, 0, 0); uniform token[] xformOpOrder = ["xformOp:translate"] }}
        """
        for i in range(64)
    )
    stage = stage_of(f"""class Xform "Robot" {{
    def Xform "B" (prepend apiSchemas = ["PhysicsRigidBodyAPI"]) {{ {parts} }} }}
    def Xform "C0" (instanceable = true; prepend references = </Robot>) {{ }}
    def Xform "C1" (instanceable = true; prepend references = </Robot>) {{ }}""")
    result = read(stage)
    assert len(result.shape_path) == 128
    assert len({id(mesh) for mesh in result.shape_source}) == 1
    np.testing.assert_allclose(result.body_mass, 64 * 1000 / 6, rtol=CHAINED)


unit = st.floats(-1.0, 1.0).map(lambda x: round(x, 3))
factor = st.sampled_from([0.5, 1.0, 2.0, -1.0, -0.5, 3.0])


@settings(max_examples=60)
@given(
    translate=st.tuples(unit, unit, unit),
    rotate=st.tuples(unit, unit, unit),
    scales=st.lists(st.tuples(factor, factor, factor), min_size=1, max_size=3),
    order=st.permutations(["t", "r"]),
)
def test_random_stacks_without_shear(translate, rotate, scales, order):
    # scales innermost, so that no rotation comes after an uneven scale
    stage = stage_of(
        'def Cube "P" (prepend apiSchemas = ["PhysicsCollisionAPI", "PhysicsRigidBodyAPI"]) { double size = 2 }'
    )
    xformable = UsdGeom.Xformable(stage.GetPrimAtPath("/P"))
    for op in order:
        if op == "t":
            xformable.AddTranslateOp().Set(Gf.Vec3d(*translate))
        else:
            xformable.AddRotateXYZOp().Set(Gf.Vec3f(*(180.0 * np.array(rotate)).tolist()))
    for i, scale in enumerate(scales):
        xformable.AddScaleOp(opSuffix=f"s{i}").Set(Gf.Vec3f(*scale))
    result = read(stage)
    measured, _ = surface(result, "/P")
    np.testing.assert_allclose(measured, unit_measure("Cube"), rtol=CHAINED, atol=CHAINED)
    assert not result.report.approximated


@pytest.mark.parametrize(
    ("ops", "order"),
    [
        ("double3 xformOp:translate = (nan, 0, 0)", '"xformOp:translate"'),
        ("float3 xformOp:scale = (0, 1, 1)", '"xformOp:scale"'),
        ("float3 xformOp:scale = (0, 0, 0)", '"xformOp:scale"'),
    ],
)
@pytest.mark.parametrize("on_body", [False, True])
def test_impossible_transforms_are_errors(ops: str, order: str, on_body: bool):
    text = prim("Cube", ops, order)
    if on_body:
        text = text.replace('["PhysicsCollisionAPI"]', '["PhysicsCollisionAPI", "PhysicsRigidBodyAPI"]')
    assert {entry.prim for entry in _report(text).errors} == {"/P"}


@pytest.mark.parametrize(
    "text",
    [
        'def Sphere "P" (prepend apiSchemas = ["PhysicsCollisionAPI"]) { double radius = 0 }',
        'def Sphere "P" (prepend apiSchemas = ["PhysicsCollisionAPI"]) { double radius = -1 }',
        'def Cube "P" (prepend apiSchemas = ["PhysicsCollisionAPI"]) { double size = 0 }',
        'def Capsule "P" (prepend apiSchemas = ["PhysicsCollisionAPI"]) { double radius = -0.5 }',
        'def Cylinder "P" (prepend apiSchemas = ["PhysicsCollisionAPI"]) { double height = -0.5 }',
        'def Cone "P" (prepend apiSchemas = ["PhysicsCollisionAPI"]) { double height = nan }',
    ],
)
def test_impossible_sizes_are_errors(text: str):
    assert [entry.prim for entry in _report(text).errors] == ["/P"]


def _report(text: str):
    from usd_sim.model.builder import ModelBuilder
    from usd_sim.stage.compile import compile_stage

    return compile_stage(stage_of(text), ModelBuilder())[1]


def test_disabled_bodies_are_static_and_their_colliders_stay():
    result = read(box("A", "bool physics:rigidBodyEnabled = 0"))
    assert len(result.body_path) == 0
    assert result.shape_body.tolist() == [-1]
    assert result.said("ignored", "/A", "disabled")


def test_velocities_are_in_the_space_of_the_parent():
    result = read(f"""def Xform "Top" {{ float xformOp:rotateZ = 90; float3 xformOp:scale = (2, 2, 2)
    uniform token[] xformOpOrder = ["xformOp:rotateZ", "xformOp:scale"]
    {
        box(
            "A",
            '''vector3f physics:velocity = (1, 0, 0); vector3f physics:angularVelocity = (90, 0, 0)
        float xformOp:rotateX = 37; uniform token[] xformOpOrder = ["xformOp:rotateX"]''',
        )
    } }}""")
    np.testing.assert_allclose(result.body_qd[0], [0, 2, 0, 0, np.pi / 2, 0], atol=CHAINED)


def test_colliders_that_are_no_geometry_are_reported():
    result = read('def Xform "X" (prepend apiSchemas = ["PhysicsCollisionAPI"]) { }')
    assert result.said("ignored", "/X", "only geometry")
    assert len(result.shape_path) == 0


@pytest.mark.parametrize("type_name", ["Capsule_1", "Cylinder_1"])
@pytest.mark.parametrize(("top", "bottom"), [(0.5, 0.5), (0.25, 0.5)])
def test_geometry_with_two_radii(type_name: str, top: float, bottom: float):
    text = f"double radiusTop = {top}; double radiusBottom = {bottom}; double height = 3"
    result = read(f'def {type_name} "P" (prepend apiSchemas = ["PhysicsCollisionAPI"]) {{ {text} }}')
    if top == bottom:
        np.testing.assert_allclose(result.shape_scale[0], [0.5, 1.5, 0.0])
    else:
        lower, upper = result.shape_source[0].bounds
        ends = (0.5, 0.25) if type_name == "Capsule_1" else (0.0, 0.0)
        np.testing.assert_allclose(lower, [-0.5, -0.5, -1.5 - ends[0]])
        np.testing.assert_allclose(upper, [0.5, 0.5, 1.5 + ends[1]])
    assert result.said("approximated", "/P", "radii of top and bottom differ") == (top != bottom)
