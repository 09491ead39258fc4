import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from usd_sim.errors import UsdSimError
from usd_sim.geometry import inertia as mp
from usd_sim.geometry.primitives import primitive_mesh
from usd_sim.geometry.transforms import identity_transform, quat_normalize, quat_to_matrix
from usd_sim.geometry.types import GeoType

ROUNDING = 1e-12
"""A few dozen float64 roundings, relative."""

TESSELLATION = 2e-4
"""Relative error of 512 segments: at most 2 π² / 3 / 512² per factor of length, of which there are five."""

SIZES = {
    GeoType.SPHERE: (0.7, 0.0, 0.0),
    GeoType.CAPSULE: (0.3, 0.8, 0.0),
    GeoType.ELLIPSOID: (0.4, 0.9, 0.6),
    GeoType.CYLINDER: (0.5, 0.2, 0.0),
    GeoType.BOX: (0.3, 0.5, 0.9),
    GeoType.CONE: (0.6, 0.7, 0.0),
}


def one(geo_type, scale, solid=True, thickness=0.0):
    return mp.MassProperties(*(v[0] for v in mp.shape_mass_properties([geo_type], [scale], [solid], [thickness])))


@pytest.mark.parametrize("geo_type", list(SIZES), ids=lambda t: t.name)
@pytest.mark.parametrize("solid", [True, False], ids=["solid", "shell"])
def test_fine_meshes_converge_to_the_closed_forms(geo_type, solid):
    closed = one(geo_type, SIZES[geo_type], solid, 1.0)
    mesh = primitive_mesh(geo_type, SIZES[geo_type], segments=512)
    exact = mesh.solid_mass_properties if solid else mesh.shell_mass_properties
    size = np.trace(closed.inertia)
    assert closed.volume == pytest.approx(exact.volume, rel=TESSELLATION)
    np.testing.assert_allclose(closed.com, exact.com, atol=TESSELLATION)
    np.testing.assert_allclose(closed.inertia, exact.inertia, atol=TESSELLATION * size)


@pytest.mark.parametrize(
    "geo_type", [GeoType.SPHERE, GeoType.CAPSULE, GeoType.CYLINDER, GeoType.BOX], ids=lambda t: t.name
)
def test_a_thin_wall_between_two_solids_is_the_shell(geo_type):
    """Of these kinds, adding to the sizes moves the surface outward evenly."""
    wall = 1e-6
    grow = {GeoType.SPHERE: (1, 0, 0), GeoType.CAPSULE: (1, 0, 0)}.get(geo_type, (1, 1, 1))
    outer = one(geo_type, np.add(SIZES[geo_type], 0.5 * wall * np.array(grow)))
    inner = one(geo_type, np.subtract(SIZES[geo_type], 0.5 * wall * np.array(grow)))
    shell = one(geo_type, SIZES[geo_type], False, wall)
    # differences of numbers near 1 over a wall of 1e-6
    assert shell.volume == pytest.approx(outer.volume - inner.volume, rel=1e-8)
    np.testing.assert_allclose(shell.inertia, outer.inertia - inner.inertia, rtol=1e-7, atol=1e-20)


@pytest.mark.parametrize("solid", [True, False], ids=["solid", "shell"])
def test_mujoco_computes_the_same(solid):
    mujoco = pytest.importorskip("mujoco")
    # MuJoCo approximates the area of an ellipsoid and knows no cone
    left_out = {GeoType.CONE} if solid else {GeoType.CONE, GeoType.ELLIPSOID}
    kinds = [kind for kind in SIZES if kind not in left_out]
    shell = "" if solid else 'shellinertia="true"'
    bodies = "".join(
        f'<body><geom type="{kind.name.lower()}" density="1" {shell} size="{" ".join(map(str, SIZES[kind]))}"/></body>'
        for kind in kinds
    )
    model = mujoco.MjModel.from_xml_string(f"<mujoco><worldbody>{bodies}</worldbody></mujoco>")
    n = len(kinds)
    got = mp.shape_mass_properties(kinds, [SIZES[kind] for kind in kinds], [solid] * n, [1.0] * n)
    np.testing.assert_allclose(got.volume, model.body_mass[1:], rtol=ROUNDING)
    moments = np.sort(np.diagonal(got.inertia, axis1=1, axis2=2), axis=-1)
    np.testing.assert_allclose(moments, np.sort(model.body_inertia[1:], axis=-1), rtol=ROUNDING)


def test_textbook_numbers():
    ball = one(GeoType.SPHERE, (2, 0, 0))
    assert ball.volume == pytest.approx(32 * np.pi / 3)
    np.testing.assert_allclose(ball.inertia, 0.4 * ball.volume * 4 * np.eye(3), rtol=ROUNDING)
    hollow = one(GeoType.SPHERE, (2, 0, 0), False, 0.1)
    np.testing.assert_allclose(hollow.inertia, 2 / 3 * 1.6 * np.pi * 4 * np.eye(3), rtol=ROUNDING)
    box = one(GeoType.BOX, (0.5, 1, 1.5))
    np.testing.assert_allclose(box.inertia, 6 / 12 * np.diag([4 + 9, 1 + 9, 1 + 4]), rtol=ROUNDING)
    rod = one(GeoType.CYLINDER, (1, 3, 0))
    np.testing.assert_allclose(rod.inertia, rod.volume * np.diag([3.25, 3.25, 0.5]), rtol=ROUNDING)
    cone = one(GeoType.CONE, (1, 2, 0))
    assert cone.volume == pytest.approx(np.pi * 4 / 3)
    np.testing.assert_allclose(cone.com, [0, 0, -1])
    np.testing.assert_allclose(
        cone.inertia, cone.volume * np.diag([3 / 80 * (4 + 16), 3 / 80 * (4 + 16), 0.3]), rtol=ROUNDING
    )


def test_degenerate_relations_between_types():
    np.testing.assert_allclose(
        one(GeoType.CAPSULE, (0.5, 0, 0)).inertia, one(GeoType.SPHERE, (0.5, 0, 0)).inertia, rtol=ROUNDING
    )
    for solid in (True, False):
        sphere = one(GeoType.SPHERE, (0.5, 0, 0), solid, 1.0)
        ellipsoid = one(GeoType.ELLIPSOID, (0.5, 0.5, 0.5), solid, 1.0)
        np.testing.assert_allclose(ellipsoid.inertia, sphere.inertia, rtol=ROUNDING)


def test_shell_of_a_spheroid_has_the_area_that_elementary_functions_give():
    a, c = 1.0, 10.0  # prolate: c > a
    e = np.sqrt(1 - a * a / c / c)
    area = 2 * np.pi * a * a * (1 + c / a / e * np.arcsin(e))
    for radii in ([a, a, c], [a, c, a], [c, a, a]):
        assert one(GeoType.ELLIPSOID, radii, False, 1.0).volume == pytest.approx(area, rel=1e-9)  # quadrature, 1:10


def test_mixed_arrays_agree_with_single_shapes():
    kinds = [*SIZES, GeoType.PLANE, GeoType.MESH, GeoType.NONE, GeoType.HFIELD, *SIZES]
    scale = np.array([SIZES.get(kind, (1.0, 1.0, 1.0)) for kind in kinds])
    solid = np.arange(len(kinds)) % 2 == 0
    thickness = np.where(solid, -np.inf, 0.01)  # not read for solids
    got = mp.shape_mass_properties(kinds, scale, solid, thickness)
    for i, kind in enumerate(kinds):
        single = one(kind, scale[i], solid[i], thickness[i])
        assert got.volume[i] == single.volume
        np.testing.assert_array_equal(got.inertia[i], single.inertia)
        assert (single.volume > 0.0) == (kind in SIZES)


def test_empty_and_zero_sizes():
    assert [len(v) for v in mp.shape_mass_properties([], np.zeros((0, 3)), [], [])] == [0, 0, 0]
    for kind in SIZES:
        for solid in (True, False):
            got = one(kind, (0, 0, 0), solid, 0.1)
            assert got.volume == 0.0
            assert np.isfinite(got.com).all()
            np.testing.assert_array_equal(got.inertia, 0.0)


@pytest.mark.parametrize("thickness", [-np.inf, -1.0, np.nan, np.inf])
def test_shell_without_a_thickness_is_refused(thickness):
    with pytest.raises(UsdSimError, match="thickness"):
        one(GeoType.BOX, (1, 1, 1), False, thickness)


# --- sums and frames


def test_two_halves_of_a_box_make_the_box():
    halves = mp.shape_mass_properties([GeoType.BOX] * 2, [[0.5, 1, 1.5]] * 2, [True] * 2, [0.0] * 2)
    places = identity_transform(2)
    places[:, 0] = [-0.5, 0.5]
    com, inertia = mp.transform_mass_properties(halves.com, halves.inertia, places)
    mass, centre, total = mp.combine_mass_properties(halves.volume, com, inertia, [0, 0], 1)
    whole = one(GeoType.BOX, (1, 1, 1.5))
    assert mass[0] == pytest.approx(whole.volume)
    np.testing.assert_allclose(centre[0], 0.0, atol=ROUNDING)
    np.testing.assert_allclose(total[0], whole.inertia, rtol=ROUNDING, atol=ROUNDING)


def test_combining_equals_the_sum_over_points():
    """Parts made of point masses: the combined inertia is the plain sum over all points."""
    rng = np.random.default_rng(3)
    points, weights = rng.normal(size=(6, 4, 3)) + 10.0, rng.uniform(0.1, 2.0, (6, 4))

    def about_com(p, w):
        com = w @ p / w.sum()
        d = p - com
        return w.sum(), com, sum(m * (x @ x * np.eye(3) - np.outer(x, x)) for m, x in zip(w, d, strict=True))

    parts = [about_com(p, w) for p, w in zip(points, weights, strict=True)]
    group = np.array([0, 2, 0, -1, 2, 2])
    mass, com, inertia = mp.combine_mass_properties(*(np.array(v) for v in zip(*parts, strict=True)), group, 4)
    for g in (0, 2):
        expected = about_com(points[group == g].reshape(-1, 3), weights[group == g].ravel())
        for got, want in zip((mass[g], com[g], inertia[g]), expected, strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-10)  # squares of an offset of 10 cancel
    for empty in (1, 3):
        assert mass[empty] == 0.0
        np.testing.assert_array_equal(com[empty], 0.0)
        np.testing.assert_array_equal(inertia[empty], 0.0)


def test_combine_nothing():
    mass, com, inertia = mp.combine_mass_properties([], np.zeros((0, 3)), np.zeros((0, 3, 3)), [], 2)
    assert (mass.shape, com.shape, inertia.shape) == ((2,), (2, 3), (2, 3, 3))


def test_transformed_mass_properties_are_those_of_the_transformed_mesh():
    from usd_sim.geometry.mesh import Mesh
    from usd_sim.geometry.transforms import transform_point

    mesh = primitive_mesh(GeoType.CONE, (0.5, 0.8, 0), segments=7)
    x = np.array([1.0, -2.0, 3.0, *quat_normalize([0.3, -0.4, 0.5, 0.6])])
    local = mesh.solid_mass_properties
    com, inertia = mp.transform_mass_properties(local.com[None], local.inertia[None], x[None])
    moved = Mesh(transform_point(x, mesh.vertices), mesh.indices).solid_mass_properties
    np.testing.assert_allclose(com[0], moved.com, atol=ROUNDING)
    np.testing.assert_allclose(inertia[0], moved.inertia, atol=ROUNDING)


def test_which_inertia_is_physical():
    tensors = {
        "box": (np.diag([13.0, 10.0, 5.0]), True),
        "flat disc": (np.diag([1.0, 1.0, 2.0]), True),
        "through float32": (np.diag([1.0, 1.0, 2.0 + 2e-7]), True),
        "turned": (quat_to_matrix(q := quat_normalize([1, 2, 3, 4])) @ np.diag([2, 3, 4]) @ quat_to_matrix(q).T, True),
        "triangle": (np.diag([1.0, 1.0, 2.1]), False),
        "negative": (np.diag([-1.0, 2.0, 2.0]), False),
        "zero": (np.zeros((3, 3)), False),
        "asymmetric": (np.diag([2.0, 2.0, 2.0]) + np.eye(3, k=1), False),
        "nan": (np.full((3, 3), np.nan), False),
        "inf": (np.diag([np.inf, 1.0, 1.0]), False),
    }
    got = mp.inertia_is_physical(np.array([tensor for tensor, _ in tensors.values()]))
    assert dict(zip(tensors, got.tolist(), strict=True)) == {name: want for name, (_, want) in tensors.items()}


@settings(max_examples=60, deadline=None)
@given(
    arrays(np.float64, (4, 4), elements=st.floats(-1, 1, allow_subnormal=False)),
    arrays(np.float64, (4, 3), elements=st.floats(0.1, 10)),
)
def test_principal_axes_rebuild_the_tensor(q, moments):
    rotation = quat_to_matrix(quat_normalize(q))
    inertia = rotation @ (moments[:, :, None] * np.eye(3)) @ rotation.transpose(0, 2, 1)
    got, quat = mp.principal_axes(inertia)
    axes = quat_to_matrix(quat)
    np.testing.assert_allclose(np.sort(got), np.sort(moments), atol=1e-11)
    np.testing.assert_allclose(axes @ (got[:, :, None] * np.eye(3)) @ axes.transpose(0, 2, 1), inertia, atol=1e-11)
    np.testing.assert_allclose(np.linalg.det(axes), 1.0, atol=ROUNDING)


def test_principal_axes_of_diagonal_tensors_keep_their_order():
    diagonals = np.array([[3.0, 1, 2], [1, 2, 3], [2, 2, 1], [5, 5, 5], [0, 0, 0]])
    moments, quat = mp.principal_axes(diagonals[:, :, None] * np.eye(3))
    np.testing.assert_array_equal(moments, diagonals)
    np.testing.assert_array_equal(quat, np.tile([0, 0, 0, 1], (5, 1)))
