"""Points as colliders: one sphere per point."""

from __future__ import annotations

import numpy as np
import pytest

from tests.stage.authoring import SINGLE, read, world_matrix
from usd_sim.errors import UsdSimError
from usd_sim.geometry.types import GeoType
from usd_sim.solvers.mujoco import SolverMuJoCo

XYZ = np.array([[0.0, 0.0, 0.0], [1.0, 0.5, 0.0], [-1.0, 0.0, 2.0]])
POINTS = "point3f[] points = [(0, 0, 0), (1, 0.5, 0), (-1, 0, 2)]"
COLLIDER = '(prepend apiSchemas = ["PhysicsCollisionAPI"])'
BODY = '(prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsCollisionAPI", "PhysicsMassAPI"])'


@pytest.mark.parametrize("scale", [(1, 1, 1), (2, 2, 2), (-2, 2, 2), (1, 2, 3)])
@pytest.mark.parametrize("api", [COLLIDER, BODY])
def test_spheres_lie_at_the_points(scale: tuple[int, int, int], api: str):
    result = read(
        f"""def Points "P" {api} {{ {POINTS}; float[] widths = [0.2, 0.4, 0.6]
    double3 xformOp:translate = (3, 4, 5); float xformOp:rotateY = 30; float3 xformOp:scale = {scale}
    uniform token[] xformOpOrder = ["xformOp:translate", "xformOp:rotateY", "xformOp:scale"] }}""",
        meters=0.5,
    )
    assert result.shape_path == ["/P"] * 3
    assert result.shape_label == ["/P[0]", "/P[1]", "/P[2]"]
    matrix = world_matrix(result.stage, "/P")
    solver = SolverMuJoCo(result.model)
    import mujoco

    mujoco.mj_kinematics(solver.mj_model, solver.mj_data)
    expected = 0.5 * (XYZ @ matrix[:3, :3] + matrix[3, :3])
    np.testing.assert_allclose(solver.mj_data.geom_xpos, expected, atol=1e-5)  # after some single-precision products
    radii = 0.5 * np.array([0.1, 0.2, 0.3])[:, None] * np.abs(scale)
    if len(set(np.abs(scale))) == 1:
        assert set(result.shape_type) == {int(GeoType.SPHERE)}
        np.testing.assert_allclose(result.shape_scale[:, 0], radii[:, 0], rtol=SINGLE)
    else:
        assert set(result.shape_type) == {int(GeoType.ELLIPSOID)}
        np.testing.assert_allclose(result.shape_scale, radii, rtol=SINGLE)


def test_mass_is_that_of_all_spheres():
    text = "point3f[] points = [(-1, 0, 0), (3, 0, 0)]; float[] widths = [1]"
    result = read(f'def Points "P" {BODY} {{ {text} }}')
    ball = 1000.0 * np.pi / 6.0
    np.testing.assert_allclose(result.body_mass[0], 2.0 * ball, rtol=SINGLE)
    np.testing.assert_allclose(result.body_com[0], [1.0, 0.0, 0.0], atol=SINGLE)
    own = 0.4 * ball * 0.25  # two fifths of m r²
    expected = np.diag([2 * own, 2 * (own + ball * 4.0), 2 * (own + ball * 4.0)])
    np.testing.assert_allclose(result.body_inertia[0], expected, rtol=1e-5, atol=1e-3)


def test_authored_mass_is_shared_by_all_spheres():
    body = f"""def Xform "B" (prepend apiSchemas = ["PhysicsRigidBodyAPI"]) {{
    def Points "P" (prepend apiSchemas = ["PhysicsCollisionAPI", "PhysicsMassAPI"]) {{
    {POINTS}; float[] widths = [1]; float physics:mass = 6 }} }}"""
    result = read(body)
    np.testing.assert_allclose(result.body_mass[0], 6.0, rtol=SINGLE)
    np.testing.assert_allclose(result.body_com[0], XYZ.mean(axis=0), atol=SINGLE)


def test_widths_as_a_primvar_count_first():
    result = read(f'def Points "P" {COLLIDER} {{ {POINTS}; float[] widths = [2]; float[] primvars:widths = [0.5] }}')
    np.testing.assert_allclose(result.shape_scale[:, 0], 0.25)


def test_points_without_size_are_left_out():
    result = read(f'def Points "P" {COLLIDER} {{ {POINTS} }}')
    assert result.said("ignored", "/P", "no widths")
    assert len(result.shape_path) == 0
    result = read(f'def Points "P" {COLLIDER} {{ float[] widths = [1] }}')
    assert result.said("ignored", "/P", "no points")


@pytest.mark.parametrize("widths", ["[1, 2]", "[1, 2, -3]", "[1, 2, inf]"])
def test_wrong_widths_are_errors(widths: str):
    with pytest.raises(UsdSimError, match="width") as raised:
        read(f'def Points "P" {COLLIDER} {{ {POINTS}; float[] widths = {widths} }}')
    assert "/P" in str(raised.value)


def test_filtered_pairs_hold_for_every_sphere():
    api = '(prepend apiSchemas = ["PhysicsCollisionAPI", "PhysicsFilteredPairsAPI"])'
    result = read(f"""def Points "P" {api} {{ {POINTS}; float[] widths = [1]; rel physics:filteredPairs = </Q> }}
    def Sphere "Q" {BODY} {{ }}""")
    pairs = {tuple(sorted(pair)) for pair in result.shape_collision_filter_pairs.tolist()}
    other = result.shape("/Q")
    assert {tuple(sorted((i, other))) for i, path in enumerate(result.shape_path) if path == "/P"} <= pairs


def test_instances_of_points():
    result = read(f"""def PointInstancer "I" {{ rel prototypes = </I/P>; int[] protoIndices = [0, 0]
    point3f[] positions = [(0, 0, 1), (0, 0, 9)]
    def Points "P" {BODY} {{ {POINTS}; float[] widths = [1] }} }}""")
    assert len(result.body_path) == 2
    assert np.bincount(result.shape_body).tolist() == [3, 3]
    np.testing.assert_allclose(result.shape_transform[:, :3], np.tile(XYZ, (2, 1)), atol=SINGLE)
    assert len(set(result.shape_label)) == 6


def test_many_points_are_read_at_once():
    count = 20_000
    rng = np.random.default_rng(3)
    xyz = rng.uniform(-1, 1, (count, 3)).astype(np.float32)
    from pxr import Usd, UsdGeom, UsdPhysics, Vt

    stage = Usd.Stage.CreateInMemory()
    UsdGeom.SetStageMetersPerUnit(stage, 1.0)
    prim = UsdGeom.Points.Define(stage, "/P")
    prim.CreatePointsAttr(Vt.Vec3fArray.FromNumpy(xyz))
    prim.CreateWidthsAttr(Vt.FloatArray.FromNumpy(np.full(count, 0.1, np.float32)))
    UsdPhysics.CollisionAPI.Apply(prim.GetPrim())
    result = read(stage)
    np.testing.assert_array_equal(result.shape_transform[:, :3], xyz)
