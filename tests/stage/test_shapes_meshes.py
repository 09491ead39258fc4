"""Mesh colliders: faces of every sort, approximations, and parts of several materials."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import mujoco
import numpy as np
import pytest

from tests.stage.authoring import SINGLE, Read, read, world_matrix
from usd_sim.errors import UsdSimWarning
from usd_sim.geometry.types import GeoType
from usd_sim.solvers.mujoco import SolverMuJoCo

DECOMPOSED = 2.0e-3
"""CoACD remeshes what it gets, at a resolution that leaves this much of the volume [relative]."""

CUBE = """point3f[] points = [(-1, -1, -1), (1, -1, -1), (1, 1, -1), (-1, 1, -1),
(-1, -1, 1), (1, -1, 1), (1, 1, 1), (-1, 1, 1)]
int[] faceVertexCounts = [4, 4, 4, 4, 4, 4]
int[] faceVertexIndices = [0, 3, 2, 1, 4, 5, 6, 7, 0, 1, 5, 4, 1, 2, 6, 5, 2, 3, 7, 6, 3, 0, 4, 7]"""

ELL = """point3f[] points = [(1, 1, 0), (1, 2, 0), (0, 2, 0), (0, 0, 0), (2, 0, 0), (2, 1, 0),
(1, 1, 1), (1, 2, 1), (0, 2, 1), (0, 0, 1), (2, 0, 1), (2, 1, 1)]
int[] faceVertexCounts = [6, 6, 4, 4, 4, 4, 4, 4]
int[] faceVertexIndices = [0, 5, 4, 3, 2, 1, 6, 7, 8, 9, 10, 11, 0, 1, 7, 6, 1, 2, 8, 7,
2, 3, 9, 8, 3, 4, 10, 9, 4, 5, 11, 10, 5, 0, 6, 11]"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("USD_SIM_CACHE", str(tmp_path))
    return tmp_path


def mesh(text: str, *, approximation: str = "", apis: str = "", body: bool = True, inside: str = "") -> str:
    names = [
        "PhysicsCollisionAPI",
        "PhysicsMeshCollisionAPI",
        *(["PhysicsRigidBodyAPI"] if body else []),
        *apis.split(),
    ]
    quoted = ", ".join(f'"{name}"' for name in names)
    how = f'uniform token physics:approximation = "{approximation}"' if approximation else ""
    return f'def Mesh "P" (prepend apiSchemas = [{quoted}]) {{ {text}; {how}\n{inside} }}'


def ray(solver: SolverMuJoCo, start: tuple[float, float, float], direction: tuple[float, float, float]) -> float:
    """Return how far a ray goes, -1 where it hits nothing."""
    mujoco.mj_kinematics(solver.mj_model, solver.mj_data)
    hit = np.zeros(1, np.int32)
    return mujoco.mj_ray(
        solver.mj_model, solver.mj_data, np.array(start, float), np.array(direction, float), None, 1, -1, hit
    )


# --- faces ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "change",
    {
        "as it is": ("", ""),
        "left-handed": ("", 'uniform token orientation = "leftHanded"'),
        "unused points": ("(-1, 1, 1)]", "(-1, 1, 1), (50, 50, 50)]"),
        "degenerate faces": ("[4, 4, 4, 4, 4, 4]", "[4, 4, 4, 4, 4, 4, 3, 2, 1]"),
    }.values(),
)
def test_volume_and_bounds_of_a_cube(change: tuple[str, str]):
    old, new = change
    text = CUBE.replace(old, new) if old else f"{CUBE}; {new}" if new else CUBE
    if "3, 2, 1]" in new:
        text = text.replace("3, 0, 4, 7]", "3, 0, 4, 7, 1, 1, 2, 0, 1, 5]")
    result = read(mesh(text))
    np.testing.assert_allclose(result.body_mass[0], 8000.0, rtol=SINGLE)
    solver = SolverMuJoCo(result.model)
    np.testing.assert_allclose(np.ptp(solver.mj_model.mesh_vert, axis=0), 2.0, rtol=SINGLE)


def test_corners_of_their_own_for_every_face():
    points, faces = [], []
    for axis in range(3):
        for side in (-1.0, 1.0):
            corners = np.array([[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]])[:: int(side)]
            faces += range(len(points), len(points) + 4)
            points += np.insert(corners, 0, side, axis=1)[
                :, np.argsort([axis, (axis + 1) % 3, (axis + 2) % 3])
            ].tolist()
    text = f"""point3f[] points = [{", ".join(str(tuple(p)) for p in points)}]
    int[] faceVertexCounts = [4, 4, 4, 4, 4, 4]; int[] faceVertexIndices = {faces}"""
    np.testing.assert_allclose(read(mesh(text)).body_mass[0], 8000.0, rtol=SINGLE)


def test_holes_are_left_out():
    # the face that is a hole reaches far out: without it, its points are not used
    text = CUBE.replace("(-1, 1, 1)]", "(-1, 1, 1), (9, 9, 9), (9, 8, 9), (8, 9, 9)]")
    text = text.replace("4, 4]", "4, 4, 3]").replace("3, 0, 4, 7]", "3, 0, 4, 7, 8, 9, 10]")
    result = read(mesh(f"{text}; int[] holeIndices = [6]"))
    np.testing.assert_allclose(result.body_mass[0], 8000.0, rtol=SINGLE)
    assert read(mesh(text)).shape_source[0].bounds[1][0] == 9.0


def test_a_mesh_of_holes_is_an_error():
    result = read(mesh(f"{CUBE}; int[] holeIndices = [0, 1, 2, 3, 4, 5]"), strict=False)
    assert result.said("errors", "/P", "no faces")


def test_flat_meshes_collide_as_slabs():
    text = """point3f[] points = [(-2, -2, 0), (2, -2, 0), (2, 2, 0), (-2, 2, 0)]
    int[] faceVertexCounts = [4]; int[] faceVertexIndices = [0, 1, 2, 3]"""
    result = read(mesh(text, body=False))
    with pytest.warns(UsdSimWarning, match="flat meshes"):
        solver = SolverMuJoCo(result.model)
    assert ray(solver, (0.5, 0.5, 3.0), (0.0, 0.0, -1.0)) == pytest.approx(3.0, abs=1e-6)  # the side it faces stays
    assert ray(solver, (0.5, 0.5, -3.0), (0.0, 0.0, 1.0)) == pytest.approx(2.96, abs=1e-6)  # 1% of 4 m below


def test_visibility_and_purpose_make_no_difference():
    hidden = 'token visibility = "invisible"; uniform token purpose = "guide"'
    inner = mesh(f"{CUBE}; {hidden}", body=False)
    result = read(f'def Xform "X" {{ token visibility = "invisible"\n{inner} }}')
    assert SolverMuJoCo(result.model).mj_model.ngeom == 1
    assert not result.report.ignored
    assert not result.report.approximated


# --- approximations -------------------------------------------------------------------------------------------------


def test_convex_decomposition_keeps_the_notch():
    pytest.importorskip("coacd")
    result = read(mesh(ELL, approximation="convexDecomposition"))
    assert result.shape_path == ["/P", "/P"]
    assert result.shape_label == ["/P[0]", "/P[1]"]
    assert set(result.shape_type) == {int(GeoType.CONVEX_MESH)}
    np.testing.assert_allclose(result.body_mass[0], 3000.0, rtol=SINGLE)  # that of the mesh itself
    np.testing.assert_allclose(result.body_com[0], [5 / 6, 5 / 6, 0.5], rtol=1e-5)
    solver = SolverMuJoCo(result.model)
    assert ray(solver, (1.2, 1.2, 5.0), (0.0, 0.0, -1.0)) == -1
    assert ray(solver, (0.5, 1.5, 5.0), (0.0, 0.0, -1.0)) == pytest.approx(4.0, abs=0.01)  # CoACD's resolution
    assert not result.report.approximated
    one = SolverMuJoCo(read(mesh(ELL, approximation="convexHull")).model)
    assert ray(one, (1.2, 1.2, 5.0), (0.0, 0.0, -1.0)) == pytest.approx(4.0, abs=1e-6)


def test_decomposed_parts_follow_scale_and_mirror():
    pytest.importorskip("coacd")
    text = f"""{ELL}; float3 xformOp:scale = (-1, 2, 0.5); double3 xformOp:translate = (5, 0, 1)
    uniform token[] xformOpOrder = ["xformOp:translate", "xformOp:scale"]"""
    result = read(mesh(text, approximation="convexDecomposition", body=False))
    matrix = world_matrix(result.stage, "/P")
    solver = SolverMuJoCo(result.model)
    for x, y, inside in ((1.2, 1.2, False), (0.5, 1.5, True), (1.5, 0.5, True)):
        start = np.array([x, y, 8.0]) @ matrix[:3, :3] + matrix[3, :3]
        assert (ray(solver, tuple(start), (0.0, 0.0, -1.0)) >= 0) == inside


def test_without_coacd_there_is_one_hull(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "coacd", None)
    result = read(mesh(ELL, approximation="convexDecomposition"))
    assert result.shape_path == ["/P"]
    assert result.shape_type[0] == GeoType.CONVEX_MESH
    assert result.said("approximated", "/P", "one convex hull is used", "physics:approximation")
    assert "pip install usd-sim[meshes]" in result.report.approximated[0].remedy


def test_simplification(monkeypatch: pytest.MonkeyPatch):
    pytest.importorskip("fast_simplification")
    n = 20
    grid = [(x / n, y / n, np.sin(x) * 0.02) for x in range(n) for y in range(n)]
    quads = [
        i
        for x in range(n - 1)
        for y in range(n - 1)
        for i in (x * n + y, x * n + n + y, x * n + n + y + 1, x * n + y + 1)
    ]
    text = f"""point3f[] points = {[tuple(map(float, p)) for p in grid]}
    int[] faceVertexCounts = {[4] * (len(quads) // 4)}; int[] faceVertexIndices = {quads}"""
    result = read(mesh(text, approximation="meshSimplification", body=False))
    assert result.shape_source[0].triangle_count == pytest.approx(len(quads) // 4, abs=2)
    assert result.shape_label == ["/P"]
    assert not result.report.approximated
    monkeypatch.setitem(sys.modules, "fast_simplification", None)
    result = read(mesh(text, approximation="meshSimplification", body=False))
    assert result.shape_source[0].triangle_count == len(quads) // 2
    assert result.said("approximated", "/P", "the whole mesh is used")


@pytest.mark.parametrize(
    ("apis", "text", "expected"),
    [
        ("NewtonMeshCollisionAPI", "uniform int newton:maxHullVertices = 6", 6),
        ("PhysxConvexHullCollisionAPI", "int physxConvexHullCollision:hullVertexLimit = 10", 10),
        ("PhysxConvexHullCollisionAPI", "", 64),
        ("", "int physxConvexHullCollision:hullVertexLimit = 10", None),
        (
            "NewtonMeshCollisionAPI PhysxConvexHullCollisionAPI",
            "uniform int newton:maxHullVertices = 6; int physxConvexHullCollision:hullVertexLimit = 10",
            6,
        ),
    ],
)
def test_limits_of_hulls(apis: str, text: str, expected: int | None):
    result = read(mesh(f"{CUBE}; {text}", approximation="convexHull", apis=apis))
    assert result.shape_source[0].max_hull_vertices == expected


def test_limits_of_decompositions():
    pytest.importorskip("coacd")
    text = f"""{ELL}; int physxConvexDecompositionCollision:maxConvexHulls = 1
    int physxConvexDecompositionCollision:hullVertexLimit = 8"""
    result = read(mesh(text, approximation="convexDecomposition", apis="PhysxConvexDecompositionCollisionAPI"))
    assert len(result.shape_path) == 1
    assert result.shape_source[0].vertex_count <= 8
    assert not result.report.ignored


@pytest.mark.parametrize("approximation", ["boundingCube", "boundingSphere"])
def test_bounding_shapes_lie_along_the_axes_of_the_prim(approximation: str):
    text = (
        CUBE.replace("(-1, 1, 1)]", "(-1, 1, 1), (50, 50, 50)]")
        + """; double3 xformOp:translate = (1, 2, 3)
    float xformOp:rotateZ = 30; float3 xformOp:scale = (-1, 2, 3)
    uniform token[] xformOpOrder = ["xformOp:translate", "xformOp:rotateZ", "xformOp:scale"]"""
    )
    result = read(mesh(text, approximation=approximation, body=False))
    np.testing.assert_allclose(result.shape_transform[0][:3], [1, 2, 3], atol=SINGLE)
    if approximation == "boundingSphere":
        np.testing.assert_allclose(result.shape_scale[0][0], np.linalg.norm([1, 2, 3]), rtol=SINGLE)
    else:
        np.testing.assert_allclose(result.shape_scale[0], [1, 2, 3], rtol=SINGLE)
        turn = np.zeros(9)
        mujoco.mju_quat2Mat(turn, SolverMuJoCo(result.model).mj_model.geom_quat[0])
        matrix = world_matrix(result.stage, "/P")[:3, :3]
        np.testing.assert_allclose(np.abs(turn.reshape(3, 3) @ np.diag([1, 2, 3])), np.abs(matrix.T), atol=2 * SINGLE)


def test_sdf_settings_are_kept():
    text = f"""{CUBE}; uniform int newton:sdfMaxResolution = 128; uniform float newton:sdfTargetVoxelSize = 2
    uniform float newton:sdfNarrowBandInner = -3; uniform token newton:sdfTextureFormat = "float32"
    bool newton:hydroelasticEnabled = 1; float newton:hydroelasticStiffness = 5"""
    result = read(mesh(text, approximation="sdf", apis="NewtonSDFCollisionAPI"), meters=0.01)
    assert result.shape_use_sdf[0]
    assert result.shape_hydroelastic[0]
    assert result.shape_sdf_max_resolution[0] == 128
    assert result.shape_sdf_target_voxel_size[0] == pytest.approx(0.02)
    np.testing.assert_allclose(result.shape_sdf_narrow_band[0], [-0.03, 0.1])
    assert result.shape_sdf_texture_format[0] == "float32"
    assert result.shape_hydroelastic_stiffness[0] == pytest.approx(5e4)  # N/m³ of centimetres
    assert result.shape_type[0] == GeoType.MESH
    assert not result.report.ignored
    assert SolverMuJoCo(result.model).mj_model.ngeom == 1
    plain = read(mesh(CUBE))
    assert not plain.shape_use_sdf[0]


@pytest.mark.parametrize(("text", "expected"), [("", 256), ("int physxSDFMeshCollision:sdfResolution = 32", 32)])
def test_sdf_resolution_of_physx(text: str, expected: int):
    result = read(mesh(f"{CUBE}; {text}", approximation="sdf", apis="PhysxSDFMeshCollisionAPI"))
    assert result.shape_use_sdf[0]
    assert result.shape_sdf_max_resolution[0] == expected


# --- subsets --------------------------------------------------------------------------------------------------------

MATERIALS = (
    "".join(
        f"""def Material "{name}" (prepend apiSchemas = ["PhysicsMaterialAPI"]) {{
    float physics:dynamicFriction = {friction}; float physics:density = {density} }}
"""
        for name, friction, density in (("Ice", 0.1, 0.0), ("Rubber", 0.9, 0.0), ("Lead", 0.5, 11000.0))
    )
    + 'def Material "Paint" {}\n'
)


def subset(name: str, faces: list[int], material: str, purpose: str = ":physics") -> str:
    return f"""def GeomSubset "{name}" (prepend apiSchemas = ["MaterialBindingAPI"]) {{
    uniform token elementType = "face"; uniform token familyName = "materialBind"; int[] indices = {faces}
    rel material:binding{purpose} = </{material}> }}
"""


def bound(inside: str, own: str = "", **settings: str) -> Read:
    text = f"{CUBE}; rel material:binding:physics = </{own}>" if own else CUBE
    return read(MATERIALS + mesh(text, apis="MaterialBindingAPI", inside=inside, **settings))


def test_subsets_of_other_materials_are_shapes_of_their_own():
    result = bound(subset("Top", [1], "Ice") + subset("Side", [2, 3], "Rubber"), own="Lead")
    assert result.shape_path == ["/P"] * 3
    assert result.shape_material_path == ["/Lead", "/Ice", "/Rubber"]
    np.testing.assert_allclose(result.shape_material_mu, [0.5, 0.1, 0.9])
    assert [part.triangle_count for part in result.shape_source] == [6, 2, 4]
    # the mass is that of the whole, by the density of its own material
    np.testing.assert_allclose(result.body_mass[0], 8.0 * 11000.0, rtol=SINGLE)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UsdSimWarning)  # the top is flat
        solver = SolverMuJoCo(result.model)
    np.testing.assert_allclose(solver.mj_model.geom_friction[:, 0], [0.5, 0.1, 0.9])
    bounds = solver.mj_model.geom_aabb
    assert len(bounds) == 3


def test_faces_without_a_physics_material_keep_the_meshs_own():
    result = bound(subset("Top", [1], "Ice") + subset("Look", [0, 2], "Paint", purpose=""))
    assert result.shape_material_path == ["", "/Ice"]
    np.testing.assert_allclose(result.shape_material_mu, [1.0, 0.1])
    assert [part.triangle_count for part in result.shape_source] == [10, 2]


def test_one_material_for_all_faces_splits_nothing():
    assert bound(subset("A", [0, 1, 2], "Ice") + subset("B", [3, 4, 5], "Ice")).shape_material_path == ["/Ice"]
    assert bound(subset("A", [0, 1], "Ice"), own="Ice").shape_material_path == ["/Ice"]
    assert bound(subset("A", [0, 1], "Paint"), own="Ice").shape_material_path == ["/Ice"]


def test_bounding_shapes_are_not_split():
    result = bound(subset("Top", [1], "Ice"), own="Rubber", approximation="boundingCube")
    assert result.shape_material_path == ["/Rubber"]
    assert result.said("approximated", "/P", "subsets have no materials of their own")


def test_instances_of_split_colliders():
    pytest.importorskip("coacd")
    own = f"{CUBE}; rel material:binding:physics = </Lead>"
    split = mesh(own, apis="MaterialBindingAPI", inside=subset("Top", [1], "Ice")).replace('"P"', '"B"')
    ell = mesh(ELL, approximation="convexDecomposition").replace('"P"', '"A"')
    result = read(f"""{MATERIALS}
def PointInstancer "I" {{ rel prototypes = [</I/A>, </I/B>]; int[] protoIndices = [0, 0, 1]
    point3f[] positions = [(0, 0, 1), (0, 0, 9), (5, 5, 5)]; float3[] scales = [(1, 1, 1), (2, 1, -1), (1, 1, 1)]
    {ell}
    {split} }}
def Xform "S" (
    instanceable = true
    prepend references = </Class>
) {{ }}
class Xform "Class" {{ {split} }}
""")
    assert [len(np.flatnonzero(result.shape_body == body)) for body in range(4)] == [2, 2, 2, 2]
    np.testing.assert_allclose(sorted(result.body_mass), [3000.0, 6000.0, 88000.0, 88000.0], rtol=SINGLE)
    assert sorted(result.shape_material_path) == ["", "", "", "", "/Ice", "/Ice", "/Lead", "/Lead"]
    assert len(set(result.shape_label)) == 8
    assert result.shape_label[result.shape_path.index("/S/B")] == "/S/B[0]"
