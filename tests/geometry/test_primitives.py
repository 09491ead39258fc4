import numpy as np
import pytest

from usd_sim.errors import UsdSimError
from usd_sim.geometry.mesh import Mesh
from usd_sim.geometry.primitives import primitive_mesh, shape_bounds
from usd_sim.geometry.types import GeoType

ROUNDING = 1e-12
"""A few float64 roundings of metre sizes."""

SIZES = {
    GeoType.SPHERE: (0.7, 0.0, 0.0),
    GeoType.CAPSULE: (0.3, 0.8, 0.0),
    GeoType.ELLIPSOID: (0.4, 0.9, 0.6),
    GeoType.CYLINDER: (0.5, 0.2, 0.0),
    GeoType.BOX: (0.3, 0.5, 0.9),
    GeoType.CONE: (0.6, 0.7, 0.0),
}


@pytest.mark.parametrize("geo_type", list(SIZES), ids=lambda t: t.name)
@pytest.mark.parametrize("segments", [3, 5, 32])
def test_meshes_are_closed_and_face_outward(geo_type, segments):
    mesh = primitive_mesh(geo_type, SIZES[geo_type], segments=segments)
    assert mesh.is_watertight
    assert mesh.signed_volume > 0.0
    assert len(np.unique(mesh.vertices, axis=0)) == mesh.vertex_count
    assert set(mesh.indices.ravel()) == set(range(mesh.vertex_count))


def test_cone_of_32_segments():
    mesh = primitive_mesh(GeoType.CONE, (0.6, 0.7, 0.0))
    assert mesh.vertex_count == 34  # rim, centre of the base, apex
    apex = mesh.vertices[np.argmax(mesh.vertices[:, 2])]
    np.testing.assert_array_equal(apex, [0, 0, 0.7])
    base = mesh.vertices[mesh.vertices[:, 2] < 0.0]
    np.testing.assert_array_equal(base[:, 2], -0.7)
    np.testing.assert_allclose(np.linalg.norm(base[:, :2], axis=-1).max(), 0.6, rtol=ROUNDING)


@pytest.mark.parametrize("geo_type", list(SIZES), ids=lambda t: t.name)
def test_bounds_are_those_of_the_mesh(geo_type):
    """With a multiple of four segments the meshes reach the surface on all six sides."""
    mesh = primitive_mesh(geo_type, SIZES[geo_type], segments=16)
    bounds = shape_bounds([geo_type], [SIZES[geo_type]])
    np.testing.assert_allclose(bounds.lower[0], mesh.bounds[0], atol=ROUNDING)
    np.testing.assert_allclose(bounds.upper[0], mesh.bounds[1], atol=ROUNDING)
    assert bounds.radius[0] == pytest.approx(np.linalg.norm(mesh.vertices, axis=-1).max(), rel=ROUNDING)


def test_points_of_round_shapes_lie_on_the_surface():
    sphere = primitive_mesh(GeoType.SPHERE, (0.7, 0, 0))
    np.testing.assert_allclose(np.linalg.norm(sphere.vertices, axis=-1), 0.7, rtol=ROUNDING)
    capsule = primitive_mesh(GeoType.CAPSULE, (0.3, 0.8, 0)).vertices
    off_axis = capsule - np.stack([0 * capsule[:, 0], 0 * capsule[:, 0], np.clip(capsule[:, 2], -0.8, 0.8)], axis=-1)
    np.testing.assert_allclose(np.linalg.norm(off_axis, axis=-1), 0.3, rtol=ROUNDING)


def test_planes():
    mesh = primitive_mesh(GeoType.PLANE, (2, 4, 0))
    low, high = mesh.bounds
    np.testing.assert_array_equal([low, high], [[-1, -2, 0], [1, 2, 0]])
    a, b, c = mesh.vertices[mesh.indices].transpose(1, 0, 2)
    assert np.all(np.cross(b - a, c - a)[:, 2] > 0.0)
    bounds = shape_bounds([GeoType.PLANE] * 3, [[2, 4, 0], [0, 0, 0], [0, 4, 0]])
    np.testing.assert_array_equal(bounds.upper, [[1, 2, 0], [np.inf, np.inf, 0], [np.inf, 2, 0]])
    np.testing.assert_array_equal(bounds.lower, -bounds.upper)
    np.testing.assert_allclose(bounds.radius, [np.sqrt(5), np.inf, np.inf])


@pytest.mark.parametrize(
    ("geo_type", "scale", "segments", "message"),
    [
        (GeoType.PLANE, (0, 1, 0), 32, "infinite plane"),
        (GeoType.MESH, (1, 1, 1), 32, "MESH is not a primitive"),
        (GeoType.NONE, (1, 1, 1), 32, "NONE is not a primitive"),
        (GeoType.CONE, (1, 1, 0), 2, "2 segments"),
    ],
)
def test_what_has_no_mesh(geo_type, scale, segments, message):
    with pytest.raises(UsdSimError, match=message) as caught:
        primitive_mesh(geo_type, scale, segments=segments)
    assert caught.value.remedy


def test_bounds_of_scaled_sources_and_mixed_types():
    mesh = Mesh([[0, 0, 0], [1, 0, 0], [0, 2, 0], [0, 0, 3]], [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])
    other = primitive_mesh(GeoType.BOX, (1, 1, 1))
    kinds = [GeoType.MESH, GeoType.SPHERE, GeoType.CONVEX_MESH, GeoType.MESH, GeoType.NONE]
    scale = [[1, 1, 1], [0.5, 0, 0], [-2, 1, 2], [1, 2, 3], [1, 1, 1]]
    bounds = shape_bounds(kinds, scale, sources=[mesh, None, mesh, other, None])
    np.testing.assert_array_equal(bounds.lower, [[0, 0, 0], [-0.5] * 3, [-2, 0, 0], [-1, -2, -3], [0, 0, 0]])
    np.testing.assert_array_equal(bounds.upper, [[1, 2, 3], [0.5] * 3, [0, 2, 6], [1, 2, 3], [0, 0, 0]])
    np.testing.assert_allclose(bounds.radius, [3, 0.5, 6, np.sqrt(14), 0])


def test_mesh_shape_without_a_source_is_told():
    for sources in (None, [None, None]):
        with pytest.raises(UsdSimError, match="shape 1 has no mesh"):
            shape_bounds([GeoType.SPHERE, GeoType.MESH], np.ones((2, 3)), sources=sources)


def test_no_shapes():
    assert [len(part) for part in shape_bounds([], np.zeros((0, 3)))] == [0, 0, 0]
