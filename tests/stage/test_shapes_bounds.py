"""Shapes as MuJoCo gets them against the same surfaces transformed by USD: scale, mirrors and deep hierarchies."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from pxr import Usd, UsdGeom

from tests.stage.authoring import Read, read, world_matrix
from usd_sim.geometry.types import GeoType
from usd_sim.solvers.mujoco import SolverMuJoCo

SINGLE = 2.0e-6
"""Single precision of the model, for shapes of some metres [m]."""

TESSELLATION = 3.0e-3
"""How far a polygon of 48 corners lies inside its circle, relative to the radius: 1 - cos(pi / 48), with some room."""

COLLIDER = '(prepend apiSchemas = ["PhysicsCollisionAPI"])'

WEDGE = """point3f[] points = [(0, 0, 0), (2, 0, 0), (0, 1, 0), (0, 0, 0.5)]
int[] faceVertexCounts = [3, 3, 3, 3]; int[] faceVertexIndices = [0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3]"""

TRANSFORMS = {
    "plain": "(1, 1, 1)",
    "large": "(2, 2, 2)",
    "uneven": "(1, 2, 0.5)",
    "mirrored": "(1, 1, -1)",
    "mirrored and uneven": "(-1, 2, 0.5)",
    "turned inside out": "(-1, -1, -1)",
}


def circle(radius: float, height: float) -> np.ndarray:
    angle = np.linspace(0.0, 2.0 * np.pi, 720, endpoint=False)
    return np.stack([radius * np.cos(angle), radius * np.sin(angle), np.full_like(angle, height)], axis=1)


def ball(radius: float, centre: float = 0.0) -> np.ndarray:
    tilt = np.linspace(-0.5 * np.pi, 0.5 * np.pi, 361)
    return np.concatenate([circle(radius * np.cos(a), centre + radius * np.sin(a)) for a in tilt])


# what the documentation of each type of UsdGeom says its surface is
SHAPES = {
    "Sphere": ("double radius = 0.5", ball(0.5)),
    "Cube": ("double size = 1", np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])),
    "Capsule": ("double radius = 0.25; double height = 1", np.concatenate([ball(0.25, -0.5), ball(0.25, 0.5)])),
    "Cylinder": ("double radius = 0.5; double height = 1", np.concatenate([circle(0.5, -0.5), circle(0.5, 0.5)])),
    "Cone": ("double radius = 0.5; double height = 1", np.concatenate([circle(0.5, -0.5), [[0.0, 0.0, 0.5]]])),
    "Capsule_1": (
        "double radiusTop = 0.25; double radiusBottom = 0.5; double height = 1",
        np.concatenate([ball(0.5, -0.5)[: 181 * 720], ball(0.25, 0.5)[180 * 720 :]]),
    ),
    "Cylinder_1": (
        "double radiusTop = 0.25; double radiusBottom = 0.5; double height = 1",
        np.concatenate([circle(0.5, -0.5), circle(0.25, 0.5)]),
    ),
    "Mesh": (WEDGE, np.array([[0.0, 0.0, 0.0], [2.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 0.5]])),
}
AROUND = {"X": [2, 0, 1], "Y": [1, 2, 0], "Z": [0, 1, 2]}


def geom_bounds(result: Read, geom: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return the world bounds of a geom (3,) each, from MuJoCo's own numbers."""
    solver = SolverMuJoCo(result.model)
    model, data = solver.mj_model, solver.mj_data
    mujoco.mj_kinematics(model, data)
    centre, turn = data.geom_xpos[geom], data.geom_xmat[geom].reshape(3, 3)
    size, kind = model.geom_size[geom], model.geom_type[geom]
    if kind == mujoco.mjtGeom.mjGEOM_MESH:
        start, count = model.mesh_vertadr[model.geom_dataid[geom]], model.mesh_vertnum[model.geom_dataid[geom]]
        points = centre + model.mesh_vert[start : start + count] @ turn.T
        return points.min(axis=0), points.max(axis=0)
    up = np.abs(turn[:, 2])
    reach = {
        mujoco.mjtGeom.mjGEOM_SPHERE: np.full(3, size[0]),
        mujoco.mjtGeom.mjGEOM_ELLIPSOID: np.linalg.norm(turn * size, axis=1),
        mujoco.mjtGeom.mjGEOM_BOX: np.abs(turn) @ size,
        mujoco.mjtGeom.mjGEOM_CAPSULE: size[0] + up * size[1],
        mujoco.mjtGeom.mjGEOM_CYLINDER: size[1] * up + size[0] * np.sqrt(np.maximum(1.0 - up**2, 0.0)),
    }[mujoco.mjtGeom(kind)]
    return centre - reach, centre + reach


def assert_bounds(result: Read, path: str, surface: np.ndarray, *, tolerance: float) -> None:
    matrix = world_matrix(result.stage, path)
    world = surface @ matrix[:3, :3] + matrix[3, :3]
    lower, upper = geom_bounds(result, result.shape(path))
    room = tolerance * np.ptp(world, axis=0).max() + SINGLE
    np.testing.assert_allclose(lower, world.min(axis=0), rtol=0, atol=room)
    np.testing.assert_allclose(upper, world.max(axis=0), rtol=0, atol=room)


@pytest.mark.parametrize("scale", TRANSFORMS.values(), ids=TRANSFORMS)
@pytest.mark.parametrize(
    ("kind", "axis"),
    [(kind, axis) for kind in SHAPES for axis in ("Z" if kind in ("Sphere", "Cube", "Mesh") else "XYZ")],
)
def test_bounds_are_those_of_the_surface(kind: str, axis: str, scale: str):
    text, surface = SHAPES[kind]
    if kind not in ("Sphere", "Cube", "Mesh"):
        text += f'; uniform token axis = "{axis}"'
        surface = surface[:, AROUND[axis]]
    result = read(f"""def {kind} "P" {COLLIDER} {{ {text}
    double3 xformOp:translate = (1, -2, 3); float3 xformOp:rotateXYZ = (20, -35, 50); float3 xformOp:scale = {scale}
    uniform token[] xformOpOrder = ["xformOp:translate", "xformOp:rotateXYZ", "xformOp:scale"] }}""")
    exact = kind in ("Sphere", "Cube", "Mesh")
    assert_bounds(result, "/P", surface, tolerance=0.0 if exact and kind != "Sphere" else TESSELLATION)


@pytest.mark.parametrize("kind", SHAPES)
def test_scale_at_every_level(kind: str):
    text, surface = SHAPES[kind]
    inner = f"""def {kind} "P" {COLLIDER} {{ {text}; float xformOp:rotateZ = 90; float3 xformOp:scale = (1.5, 1, 1)
    uniform token[] xformOpOrder = ["xformOp:scale", "xformOp:rotateZ"] }}"""
    path = "/P"
    for level, scale in enumerate([(2, 1, 1), (-1, 1, 0.5), (1, 3, 1), (0.5, 0.5, 0.5)]):
        inner = f"""def Xform "L{level}" {{ double3 xformOp:translate = (0.5, {level}, -1); float xformOp:rotateX = 90
        float3 xformOp:scale = {scale}
        uniform token[] xformOpOrder = ["xformOp:translate", "xformOp:rotateX", "xformOp:scale"]
        {inner} }}"""
        path = f"/L{level}{path}"
    result = read(inner)
    assert not result.said("approximated", path, "shears")
    assert_bounds(result, path, surface, tolerance=TESSELLATION)


@pytest.mark.parametrize("mirror", [(1, 1, 1), (-1, 1, 1), (1, -1, 1), (1, 1, -1), (-1, -1, -1)])
@pytest.mark.parametrize("meters", [1.0, 0.01])
def test_mirrored_mesh_on_a_body(mirror: tuple[int, int, int], meters: float):
    result = read(
        f"""def Xform "Body" (prepend apiSchemas = ["PhysicsRigidBodyAPI"]) {{
    double3 xformOp:translate = (5, 1, 2); float3 xformOp:scale = {mirror}
    uniform token[] xformOpOrder = ["xformOp:translate", "xformOp:scale"]
    def Mesh "P" {COLLIDER} {{ {WEDGE} }} }}""",
        meters=meters,
    )
    box = UsdGeom.BBoxCache(Usd.TimeCode.Default(), ["default"]).ComputeWorldBound(
        result.stage.GetPrimAtPath("/Body/P")
    )
    # without authored extents USD has none for meshes, but can compute them
    points = UsdGeom.PointBased(result.stage.GetPrimAtPath("/Body/P")).GetPointsAttr().Get()
    matrix = world_matrix(result.stage, "/Body/P")
    world = meters * (np.array(points) @ matrix[:3, :3] + matrix[3, :3])
    lower, upper = geom_bounds(result)
    if not box.GetRange().IsEmpty():
        np.testing.assert_allclose(lower, meters * np.array(box.ComputeAlignedRange().GetMin()), atol=SINGLE)
        np.testing.assert_allclose(upper, meters * np.array(box.ComputeAlignedRange().GetMax()), atol=SINGLE)
    np.testing.assert_allclose(lower, world.min(axis=0), atol=SINGLE)
    np.testing.assert_allclose(upper, world.max(axis=0), atol=SINGLE)
    # the mass does not depend on the mirror: a sixth of the box of the three legs
    np.testing.assert_allclose(result.body_mass[0], 1000.0 * meters**3 * 2.0 * 1.0 * 0.5 / 6.0, rtol=1e-6)


def test_a_ray_hits_the_mirrored_side():
    result = read(f"""def Mesh "P" {COLLIDER} {{ {WEDGE}; float3 xformOp:scale = (-1, 1, 1)
    uniform token[] xformOpOrder = ["xformOp:scale"] }}""")
    solver = SolverMuJoCo(result.model)
    mujoco.mj_kinematics(solver.mj_model, solver.mj_data)

    def hit(x: float, y: float) -> int:
        geom = np.zeros(1, np.int32)
        start, down = np.array([x, y, 5.0]), np.array([0.0, 0.0, -1.0])
        mujoco.mj_ray(solver.mj_model, solver.mj_data, start, down, None, 1, -1, geom)
        return int(geom[0])

    assert hit(-1.0, 0.25) == 0  # x is mirrored, so the leg of 2 m lies along -X
    assert hit(1.0, 0.25) == -1


def test_masses_of_tapered_and_stretched_shapes():
    bodies = {
        # a frustum: h pi / 3 (a² + ab + b²)
        "A": (
            "Cylinder_1",
            "double radiusTop = 0.25; double radiusBottom = 0.5; double height = 1",
            "(1, 1, 1)",
            0.4581,
        ),
        # stretching scales the volume by the product of the factors
        "B": ("Cylinder", "double radius = 0.5; double height = 1", "(1, 2, 3)", np.pi / 4 * 6.0),
        "C": ("Cone", "double radius = 0.5; double height = 1", "(1, 2, 3)", np.pi / 12 * 6.0),
        "D": ("Capsule", "double radius = 0.5; double height = 1", "(1, 2, 3)", (np.pi / 4 + np.pi / 6) * 6.0),
    }
    result = read(
        "\n".join(
            f"""def {kind} "{name}" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsCollisionAPI"]) {{ {text}
    float3 xformOp:scale = {scale}; uniform token[] xformOpOrder = ["xformOp:scale"] }}"""
            for name, (kind, text, scale, _) in bodies.items()
        )
    )
    for name, (*_, volume) in bodies.items():
        row = result.body(f"/{name}")
        assert result.shape_type[result.shape(f"/{name}")] == GeoType.CONVEX_MESH
        # areas of inscribed polygons lack twice what their radii do, and round ends a little more
        np.testing.assert_allclose(result.body_mass[row], 1000.0 * volume, rtol=4.0 * TESSELLATION)
        assert result.said("approximated", f"/{name}", "convex mesh")


def test_uniform_scale_keeps_primitives():
    for kind, expected in (("Capsule", GeoType.CAPSULE), ("Cylinder", GeoType.CYLINDER), ("Cone", GeoType.CONE)):
        result = read(f"""def {kind} "P" {COLLIDER} {{ float3 xformOp:scale = (2, 2, 2)
        uniform token[] xformOpOrder = ["xformOp:scale"] }}""")
        assert result.shape_type[0] == expected
        assert not result.report.approximated


@pytest.mark.parametrize("kind", ["Cylinder", "Cone"])
def test_stretching_along_the_axis_keeps_primitives(kind: str):
    result = read(f"""def {kind} "P" {COLLIDER} {{ double radius = 1; double height = 2; uniform token axis = "X"
    float3 xformOp:scale = (3, 0.5, 0.5); uniform token[] xformOpOrder = ["xformOp:scale"] }}""")
    np.testing.assert_allclose(result.shape_scale[0], [0.5, 3.0, 0.0])
    assert not result.report.approximated
