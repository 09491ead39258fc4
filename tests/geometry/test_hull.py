import numpy as np
import pytest

from usd_sim.errors import UsdSimError
from usd_sim.geometry.hull import convex_hull
from usd_sim.geometry.primitives import primitive_mesh
from usd_sim.geometry.transforms import quat_normalize, quat_rotate
from usd_sim.geometry.types import GeoType

ROUNDING = 1e-12
"""Float64 roundings of a few dozen sums of metre size."""

CUBE = np.array([[x, y, z] for x in (0.0, 1.0) for y in (0.0, 1.0) for z in (0.0, 1.0)])


def assert_convex_around(mesh, points, tolerance):
    """Every point lies on the inner side of every triangle that has an area."""
    a, b, c = mesh.vertices[mesh.indices].transpose(1, 0, 2)
    normal = np.cross(b - a, c - a)
    length = np.linalg.norm(normal, axis=-1)
    keep = length > 1e-8  # the normal of a sliver is noise
    normal = normal[keep] / length[keep, None]
    assert ((points[:, None] - a[keep]) * normal).sum(axis=-1).max() <= tolerance


def test_cube_with_points_inside_and_on_its_faces():
    grid = np.stack(np.meshgrid(*[np.linspace(0, 1, 5)] * 3), axis=-1).reshape(-1, 3)
    hull = convex_hull(grid)
    assert (hull.vertex_count, hull.triangle_count) == (8, 12)
    assert hull.is_watertight
    assert hull.signed_volume == pytest.approx(1.0)


def test_random_points_face_outward():
    points = np.random.default_rng(0).normal(size=(300, 3)) * [1, 2, 3] + [10, 0, 0]
    hull = convex_hull(points)
    assert hull.is_watertight
    assert hull.signed_volume > 0.0
    assert_convex_around(hull, points, 1e-10)
    assert {tuple(v) for v in hull.vertices} <= {tuple(p) for p in points}


def test_turned_float32_cylinder_is_watertight():
    points = primitive_mesh(GeoType.CYLINDER, (0.1, 0.3, 0), segments=48).vertices
    turned = quat_rotate(quat_normalize([0.1, 0.7, -0.3, 0.5]), points).astype(np.float32)
    hull = convex_hull(turned)
    assert hull.is_watertight
    polygon = 0.5 * 48 * np.sin(2 * np.pi / 48) * 0.1**2
    assert hull.signed_volume == pytest.approx(polygon * 0.6, rel=1e-5)  # float32 points


def test_fewer_vertices_lie_inside_and_keep_most_of_the_volume():
    points = primitive_mesh(GeoType.ELLIPSOID, (1, 2, 3), segments=32).vertices
    full = convex_hull(points)
    volumes = []
    for count in (8, 16, 32, 64):
        few = convex_hull(points, max_vertices=count)
        assert few.vertex_count == count
        assert few.is_watertight
        assert_convex_around(full, few.vertices, 1e-9)
        assert {tuple(v) for v in few.vertices} <= {tuple(p) for p in points}
        volumes.append(few.signed_volume / full.signed_volume)
    assert volumes == sorted(volumes)
    assert volumes[0] > 0.318  # what the octahedron on the six poles encloses: 1 / π
    assert volumes[-1] > 0.9


@pytest.mark.parametrize(("radii", "kept"), [((1, 1, 1), 0.88), ((1, 5, 200), 0.8)])
def test_very_many_vertices_are_thinned_out_first(radii, kept):
    points = primitive_mesh(GeoType.ELLIPSOID, radii, segments=128).vertices
    few = convex_hull(points, max_vertices=64)
    assert few.vertex_count == 64
    assert few.is_watertight
    assert {tuple(v) for v in few.vertices} <= {tuple(p) for p in points}
    # 64 well-spread points enclose some 0.9 of a sphere; on a slender body most go to its long sides
    assert few.signed_volume / convex_hull(points).signed_volume > kept


def test_fewer_vertices_depend_on_the_points_alone():
    points = np.random.default_rng(1).normal(size=(200, 3))
    first, again = convex_hull(points, max_vertices=20), convex_hull(points, max_vertices=20)
    assert first.content_hash == again.content_hash


def test_a_limit_that_is_not_reached_changes_nothing():
    assert convex_hull(CUBE, max_vertices=8).content_hash == convex_hull(CUBE).content_hash


def test_four_corners_of_a_cube_span_a_volume():
    few = convex_hull(CUBE, max_vertices=4)
    assert few.vertex_count == 4
    assert few.signed_volume == pytest.approx(1 / 6)  # no four corners of a cube that span it enclose less


@pytest.mark.parametrize(
    ("points", "message"),
    [
        ([], "four points"),
        (CUBE[:3], "four points"),
        (np.ones((10, 3)), "at one place"),
        (np.arange(10.0)[:, None] * [1, 2, 3], "on a line"),
        (CUBE * [1, 1, 0], "in a plane"),
        (CUBE * [1, 1, 1e-9] + 5.0, "in a plane"),
        (CUBE * [1, 1, np.nan], "not finite"),
    ],
)
def test_sets_without_a_hull(points, message):
    with pytest.raises(UsdSimError, match=message) as caught:
        convex_hull(points, prim="/World/mesh")
    assert caught.value.prim == "/World/mesh"
    assert caught.value.remedy


def test_flat_set_that_is_tilted_and_rounded_is_still_flat():
    points = np.random.default_rng(2).normal(size=(50, 3)) * [1, 1, 0]
    tilted = quat_rotate(quat_normalize([0.1, 0.7, -0.3, 0.5]), points).astype(np.float32)
    with pytest.raises(UsdSimError, match="in a plane"):
        convex_hull(tilted)


def test_thin_but_not_flat_is_accepted():
    assert convex_hull(CUBE * [1, 1, 1e-4]).signed_volume == pytest.approx(1e-4)


def test_limit_below_four_is_refused():
    with pytest.raises(UsdSimError, match="no volume"):
        convex_hull(CUBE, max_vertices=3)
