import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from usd_sim.errors import UsdSimError
from usd_sim.geometry.inertia import shape_mass_properties
from usd_sim.geometry.mesh import Mesh, triangulate
from usd_sim.geometry.primitives import primitive_mesh
from usd_sim.geometry.transforms import quat_normalize, quat_to_matrix
from usd_sim.geometry.types import GeoType

ROUNDING = 1e-11
"""Float64 roundings summed over a mesh of a few dozen triangles of metre size."""

BOX_POINTS = np.array([[x, y, z] for x in (-1.0, 1.0) for y in (-1.0, 1.0) for z in (-1.0, 1.0)])
BOX_FACES = [[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]]


def box_mesh(half=(0.5, 1.0, 1.5), **kwargs):
    return Mesh.from_polygons(BOX_POINTS * half, [4] * 6, np.ravel(BOX_FACES), **kwargs)


@settings(max_examples=30, deadline=None)
@given(
    arrays(np.float64, 3, elements=st.floats(0.05, 5.0)),
    arrays(np.float64, 4, elements=st.floats(-1, 1, allow_subnormal=False)),
    arrays(np.float64, 3, elements=st.floats(-100, 100)),
    st.booleans(),
)
def test_boxes_from_vertices_match_the_closed_form(half, q, place, solid):
    rotation = quat_to_matrix(quat_normalize(q))
    box = box_mesh(half)
    moved = Mesh(box.vertices @ rotation.T + place, box.indices)
    want = shape_mass_properties([GeoType.BOX], [half], [solid], [1.0])
    got = moved.solid_mass_properties if solid else moved.shell_mass_properties
    # a place 100 m away leaves corners 100 roundings less exact, and the smallest box is 0.1 m wide
    assert got.volume == pytest.approx(want.volume[0], rel=1e-10)
    np.testing.assert_allclose(got.com, place, atol=1e-10)
    expected = rotation @ want.inertia[0] @ rotation.T
    np.testing.assert_allclose(got.inertia, expected, atol=1e-10 * np.trace(expected))


def test_right_angled_tetrahedron():
    mesh = Mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])
    got = mesh.solid_mass_properties
    assert got.volume == pytest.approx(1 / 6)
    np.testing.assert_allclose(got.com, 0.25)
    # ∫x² = 1/60 and ∫xy = 1/120 about the corner
    second = (np.ones((3, 3)) + np.eye(3)) / 120 - np.full((3, 3), 1 / 16) / 6
    np.testing.assert_allclose(got.inertia, np.trace(second) * np.eye(3) - second, atol=ROUNDING)
    assert mesh.area == pytest.approx(1.5 + np.sqrt(3) / 2)


def test_shell_of_one_triangle_is_exact():
    mesh = Mesh([[0, 0, 0], [3, 0, 0], [0, 6, 0]], [[0, 1, 2]])
    got = mesh.shell_mass_properties
    assert got.volume == pytest.approx(9.0)
    np.testing.assert_allclose(got.com, [1, 2, 0])
    # moments of area of a right triangle about its centroid: b h³ / 36
    np.testing.assert_allclose(np.diag(got.inertia), [3 * 216 / 36, 6 * 27 / 36, 3 * 216 / 36 + 6 * 27 / 36])


def test_inside_out_mesh_weighs_the_same():
    box = box_mesh()
    out = Mesh(box.vertices, box.indices[:, ::-1])
    assert out.signed_volume == pytest.approx(-6.0)
    assert out.is_watertight
    for got, want in zip(out.solid_mass_properties, box.solid_mass_properties, strict=True):
        np.testing.assert_allclose(got, want, atol=ROUNDING)


def test_flat_and_empty_meshes_have_no_solid_mass():
    flat = Mesh([[2, 0, 0], [4, 0, 0], [2, 2, 0]], [[0, 1, 2]])
    assert flat.solid_mass_properties.volume == 0.0
    np.testing.assert_array_equal(flat.solid_mass_properties.inertia, 0.0)
    np.testing.assert_array_equal(flat.solid_mass_properties.com, [3, 1, 0])
    # a box and an inside-out box of the same volume
    a, b = box_mesh((1, 1, 4)), box_mesh((2, 2, 1))
    nothing = Mesh(np.concatenate([a.vertices, b.vertices]), np.concatenate([a.indices, 8 + b.indices[:, ::-1]]))
    assert nothing.signed_volume == 0.0
    np.testing.assert_array_equal(nothing.solid_mass_properties.inertia, 0.0)
    empty = Mesh([], [])
    assert (empty.vertex_count, empty.triangle_count, empty.is_watertight) == (0, 0, False)
    for got in (empty.solid_mass_properties, empty.shell_mass_properties):
        assert got.volume == 0.0
        np.testing.assert_array_equal(got.inertia, 0.0)


# --- scaled copies


@pytest.mark.parametrize("solid", [True, False], ids=["solid", "shell"])
def test_mass_of_scaled_copies_is_that_of_scaled_meshes(solid):
    mesh = primitive_mesh(GeoType.CONE, (0.5, 0.8, 0), segments=9)
    mesh = Mesh(mesh.vertices + np.array([0.3, -0.2, 0.7]), mesh.indices)
    scale = np.array([[1, 1, 1], [2, 3, 4], [-1, 1, 1], [0.5, -2, -3], [-1, -1, -1], [2, 3, 4]], float)
    got = mesh.mass_properties(scale=scale, is_solid=np.full(6, solid), thickness=np.full(6, 0.01))
    for i, factors in enumerate(scale):
        other = mesh.scaled(factors)
        want = other.solid_mass_properties if solid else other.shell_mass_properties
        wall = 1.0 if solid else 0.01
        assert got.volume[i] == pytest.approx(want.volume * wall)
        np.testing.assert_allclose(got.com[i], want.com, atol=ROUNDING)
        np.testing.assert_allclose(got.inertia[i], want.inertia * wall, atol=ROUNDING)


def test_solids_and_shells_in_one_call():
    mesh = box_mesh()
    got = mesh.mass_properties(scale=np.ones((3, 3)), is_solid=[True, False, True], thickness=[np.nan, 0.1, -np.inf])
    np.testing.assert_allclose(got.volume, [6.0, 2.2, 6.0])
    with pytest.raises(UsdSimError, match="thickness"):
        mesh.mass_properties(is_solid=False, thickness=-np.inf)


def test_zero_scale_is_finite():
    got = box_mesh().mass_properties(scale=[[0, 1, 1], [0, 0, 0]], is_solid=[True, True])
    np.testing.assert_array_equal(got.volume, 0.0)
    np.testing.assert_array_equal(got.inertia, 0.0)


@pytest.mark.parametrize("scale", [(-1, 1, 1), (1, -2, 1), (-1, -1, -1), (-1, -1, 1), (2, 3, 4)])
def test_mirrored_meshes_keep_facing_outward(scale):
    scaled = box_mesh().scaled(scale)
    assert scaled.signed_volume == pytest.approx(6.0 * abs(np.prod(scale)))
    assert scaled.is_watertight


# --- topology


def test_box_is_watertight_and_an_open_box_is_not():
    assert box_mesh().is_watertight
    lid_off = box_mesh(hole_indices=[2])
    assert lid_off.triangle_count == 10
    assert (lid_off.is_closed, lid_off.is_consistently_oriented, lid_off.is_watertight) == (False, True, False)


def test_turned_triangle_is_noticed():
    box = box_mesh()
    indices = box.indices.copy()
    indices[3] = indices[3, ::-1]
    turned = Mesh(box.vertices, indices)
    assert (turned.is_closed, turned.is_consistently_oriented, turned.is_watertight) == (True, False, False)


def test_split_seams_and_slivers_do_not_open_a_mesh():
    box = box_mesh()
    soup = Mesh(box.vertices[box.indices].reshape(-1, 3), np.arange(36))
    assert soup.is_watertight
    sliver = Mesh(box.vertices, np.concatenate([box.indices, [[0, 0, 1]]]))
    assert sliver.is_watertight


def test_two_boxes_that_touch_on_an_edge_are_closed():
    box = box_mesh((1, 1, 1))
    both = Mesh(
        np.concatenate([box.vertices, box.vertices + np.array([2, 2, 0])]),
        np.concatenate([box.indices, box.indices + 8]),
    )
    assert both.is_watertight
    assert both.signed_volume == pytest.approx(16.0)


def test_bounds():
    low, high = Mesh(BOX_POINTS * (1, 2, 3) + (1, 0, 0), []).bounds
    np.testing.assert_array_equal(low, [0, -2, -3])
    np.testing.assert_array_equal(high, [2, 2, 3])


# --- identity


def test_content_hash_follows_the_content():
    box = box_mesh()
    assert box.content_hash == box_mesh().content_hash
    assert box.content_hash == Mesh(box.vertices.tolist(), box.indices.ravel().astype(np.uint8)).content_hash
    assert Mesh([[0.0, 0, 0]], []).content_hash == Mesh([[-0.0, 0, 0]], []).content_hash
    assert box.content_hash != box.scaled((1, 1, 1.0000001)).content_hash
    assert box.content_hash != Mesh(box.vertices, box.indices[:, ::-1]).content_hash
    # the same on every machine: a fixed mesh has a fixed digest
    assert Mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [0, 1, 2]).content_hash == "fac9708ffab0e4a84e5f151bfc17a9c9"


def test_a_mesh_does_not_change():
    points = BOX_POINTS.copy()
    mesh = Mesh(points, [0, 1, 2])
    points[0] = 5.0
    np.testing.assert_array_equal(mesh.vertices[0], BOX_POINTS[0])
    with pytest.raises(ValueError, match="read-only"):
        mesh.vertices[0] = 1.0
    with pytest.raises(ValueError, match="read-only"):
        mesh.indices[0] = 1


# --- polygons


def test_fans():
    got = triangulate([3, 5, 4], [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11])
    want = [[0, 1, 2], [3, 4, 5], [3, 5, 6], [3, 6, 7], [8, 9, 10], [8, 10, 11]]
    np.testing.assert_array_equal(got, want)
    assert got.dtype == np.int32
    turned = triangulate([3, 5, 4], np.arange(12), left_handed=True)
    np.testing.assert_array_equal(turned, np.array(want)[:, [0, 2, 1]])


def test_small_faces_and_holes_are_dropped():
    got = triangulate([2, 3, 0, 1, 4], [9, 9, 0, 1, 2, 9, 3, 4, 5, 6], hole_indices=[1])
    np.testing.assert_array_equal(got, [[3, 4, 5], [3, 5, 6]])
    assert triangulate([], []).shape == (0, 3)
    assert triangulate([2], [0, 1]).shape == (0, 3)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(0, 7), max_size=20), st.booleans())
def test_fans_agree_with_a_plain_loop(counts, left_handed):
    indices = np.random.default_rng(0).permutation(sum(counts))
    want, at = [], 0
    for count in counts:
        face = indices[at : at + count]
        for k in range(1, count - 1):
            want.append([face[0], face[k + 1], face[k]] if left_handed else [face[0], face[k], face[k + 1]])
        at += count
    got = triangulate(counts, indices, left_handed=left_handed)
    np.testing.assert_array_equal(got, np.reshape(want, (-1, 3)))


def test_left_handed_meshes_face_outward():
    turned = [face[::-1] for face in BOX_FACES]
    mesh = Mesh.from_polygons(BOX_POINTS, [4] * 6, np.ravel(turned), left_handed=True)
    assert mesh.signed_volume == pytest.approx(8.0)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: triangulate([3, 4], [0, 1, 2]), "ask for 7 indices, faceVertexIndices has 3"),
        (lambda: triangulate([3, -3], []), "faceVertexCounts"),
        (lambda: triangulate([3], [0, 1, -1]), "holds -1"),
        (lambda: triangulate([3], [0, 1, 3], vertex_count=3), "holds 3, out of range of 3 points"),
        (lambda: triangulate([3], [0, 1, 2], hole_indices=[1]), "holeIndices holds 1"),
        (lambda: Mesh.from_polygons(BOX_POINTS, [3], [0, 1, 8]), "holds 8"),
        (lambda: Mesh(BOX_POINTS, [0, 1, 8]), "holds 8"),
        (lambda: Mesh(BOX_POINTS, [0, 1]), "2 triangle indices"),
        (lambda: Mesh([[0, 0]], []), "shape"),
        (lambda: Mesh([[0, 0, 0], [0, np.nan, 0]], []), "point 1 is not finite"),
        (lambda: Mesh([], [0, 0, 0]), "out of range of 0 points"),
    ],
)
def test_mistakes_are_told(make, message):
    with pytest.raises(UsdSimError, match=message) as caught:
        make()
    assert caught.value.remedy


def test_the_prim_is_named():
    with pytest.raises(UsdSimError, match=r"^/World/mesh: "):
        Mesh.from_polygons(BOX_POINTS, [3], [0, 1], prim="/World/mesh")
