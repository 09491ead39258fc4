import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from usd_sim.geometry import transforms as tf

ROUNDING = 1e-12
"""A few dozen float64 roundings of numbers near 1."""

unit_numbers = st.floats(-1.0, 1.0, allow_subnormal=False)
quats = (
    arrays(np.float64, (5, 4), elements=unit_numbers)
    .filter(lambda q: bool(np.all(np.linalg.norm(q, axis=-1) > 1e-3)))
    .map(tf.quat_normalize)
)
vectors = arrays(np.float64, (5, 3), elements=st.floats(-10.0, 10.0))
scales = arrays(np.float64, (5, 3), elements=st.floats(0.01, 100.0))
quick = settings(max_examples=40, deadline=None)


def random_quats(n, seed=0):
    return tf.quat_normalize(np.random.default_rng(seed).normal(size=(n, 4)))


def assert_same_rotation(a, b, tolerance=ROUNDING):
    np.testing.assert_allclose(np.abs(np.sum(a * b, axis=-1)), 1.0, atol=tolerance)


def rodrigues(axis, angle):
    """Rotation matrix of one axis and angle, independent of quaternions."""
    x, y, z = axis / np.linalg.norm(axis)
    k = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + np.sin(angle) * k + (1 - np.cos(angle)) * k @ k


def test_quarter_turn_about_z_takes_x_to_y():
    q = tf.quat_from_axis_angle([0, 0, 2.0], np.pi / 2)
    np.testing.assert_allclose(q, [0, 0, np.sqrt(0.5), np.sqrt(0.5)], atol=ROUNDING)
    np.testing.assert_allclose(tf.quat_rotate(q, [1, 0, 0]), [0, 1, 0], atol=ROUNDING)


def test_axis_angle_agrees_with_rodrigues():
    rng = np.random.default_rng(1)
    axes, angles = rng.normal(size=(20, 3)), rng.uniform(-7, 7, 20)
    expected = np.array([rodrigues(a, t) for a, t in zip(axes, angles, strict=True)])
    np.testing.assert_allclose(tf.quat_to_matrix(tf.quat_from_axis_angle(axes, angles)), expected, atol=ROUNDING)


def test_degenerate_quaternions_are_the_identity():
    np.testing.assert_array_equal(tf.quat_from_axis_angle([0, 0, 0], 1.0), [0, 0, 0, 1])
    np.testing.assert_array_equal(tf.quat_normalize(np.zeros((2, 4))), [[0, 0, 0, 1]] * 2)
    np.testing.assert_allclose(tf.quat_normalize([0, 3e-200, 0, 4e-200]), [0, 0.6, 0, 0.8], rtol=ROUNDING)


@quick
@given(quats, quats, quats, vectors)
def test_quaternion_algebra(a, b, c, v):
    np.testing.assert_allclose(
        tf.quat_multiply(tf.quat_multiply(a, b), c), tf.quat_multiply(a, tf.quat_multiply(b, c)), atol=ROUNDING
    )
    np.testing.assert_allclose(tf.quat_multiply(a, tf.quat_conjugate(a)), np.tile([0, 0, 0, 1], (5, 1)), atol=ROUNDING)
    np.testing.assert_allclose(
        tf.quat_rotate(tf.quat_multiply(a, b), v), tf.quat_rotate(a, tf.quat_rotate(b, v)), atol=100 * ROUNDING
    )
    np.testing.assert_allclose(tf.quat_rotate_inv(a, tf.quat_rotate(a, v)), v, atol=100 * ROUNDING)
    np.testing.assert_allclose(
        np.einsum("nij,nj->ni", tf.quat_to_matrix(a), v), tf.quat_rotate(a, v), atol=100 * ROUNDING
    )


@quick
@given(quats)
def test_matrix_round_trip(q):
    back = tf.quat_from_matrix(tf.quat_to_matrix(q))
    assert_same_rotation(back, q)
    assert np.all(back[:, 3] >= 0.0)


def test_matrix_round_trip_at_half_turns():
    axes = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0], [1, -1, 1], [1e-9, 1, 0]])
    q = tf.quat_from_axis_angle(axes, np.pi)
    assert_same_rotation(tf.quat_from_matrix(tf.quat_to_matrix(q)), q)


@quick
@given(vectors, vectors)
def test_between_takes_a_to_b_by_the_shortest_way(a, b):
    keep = (np.linalg.norm(a, axis=-1) > 1e-3) & (np.linalg.norm(b, axis=-1) > 1e-3)
    a, b = a[keep], b[keep]
    q = tf.quat_between(a, b)
    ua, ub = (v / np.linalg.norm(v, axis=-1, keepdims=True) for v in (a, b))
    np.testing.assert_allclose(tf.quat_rotate(q, ua), ub, atol=1e-9)  # rounding over the smallest sum of directions
    angle = 2.0 * np.arccos(np.clip(np.abs(q[:, 3]), 0.0, 1.0))
    # cos loses half of the digits near 0 and half a turn
    np.testing.assert_allclose(angle, np.arccos(np.clip(np.sum(ua * ub, axis=-1), -1.0, 1.0)), atol=1e-5)


@pytest.mark.parametrize("epsilon", [0.0, 1e-12, 1e-8, 1e-6, 1e-4])
def test_between_nearly_opposite_directions(epsilon):
    a = np.concatenate([np.eye(3), random_quats(20)[:, :3]])
    b = -a + epsilon * np.roll(a, 1, axis=-1)
    q = tf.quat_between(a, b)
    np.testing.assert_allclose(np.linalg.norm(q, axis=-1), 1.0, atol=ROUNDING)
    aligned = tf.quat_rotate(q, a / np.linalg.norm(a, axis=-1, keepdims=True))
    np.testing.assert_allclose(aligned, b / np.linalg.norm(b, axis=-1, keepdims=True), atol=1e-9)


def test_between_zero_vector_is_the_identity():
    np.testing.assert_array_equal(tf.quat_between([[0, 0, 0], [1, 2, 3]], [[0, 0, 1], [0, 0, 0]]), [[0, 0, 0, 1]] * 2)


@quick
@given(quats, quats, vectors, vectors, vectors)
def test_transform_algebra(qa, qb, pa, pb, v):
    a, b = np.concatenate([pa, qa], axis=-1), np.concatenate([pb, qb], axis=-1)
    tolerance = 1000 * ROUNDING  # coordinates of tens of metres
    np.testing.assert_allclose(
        tf.transform_point(tf.transform_multiply(a, b), v),
        tf.transform_point(a, tf.transform_point(b, v)),
        atol=tolerance,
    )
    identity = tf.identity_transform(5)
    np.testing.assert_allclose(tf.transform_multiply(a, tf.transform_inverse(a)), identity, atol=tolerance)
    np.testing.assert_allclose(tf.transform_multiply(tf.transform_inverse(a), a), identity, atol=tolerance)
    np.testing.assert_array_equal(tf.transform_multiply(identity, a), a)


def test_leading_dimensions_broadcast():
    one, many = random_quats(1)[0], random_quats(12, seed=2).reshape(3, 4, 4)
    assert tf.quat_multiply(one, many).shape == (3, 4, 4)
    assert tf.quat_multiply(many, one).shape == (3, 4, 4)
    assert tf.quat_rotate(one, np.ones((6, 3))).shape == (6, 3)
    assert tf.quat_rotate(many, [1, 0, 0]).shape == (3, 4, 3)
    assert tf.quat_to_matrix(many).shape == (3, 4, 3, 3)
    assert tf.quat_from_matrix(tf.quat_to_matrix(many)).shape == (3, 4, 4)
    assert tf.quat_from_axis_angle([0, 0, 1], np.zeros((3, 4))).shape == (3, 4, 4)
    assert tf.quat_between([0, 0, 1], np.ones((7, 3))).shape == (7, 4)
    x = tf.identity_transform(2)
    assert tf.transform_multiply(x[0], x).shape == (2, 7)
    assert tf.transform_multiply(x, x[0]).shape == (2, 7)
    assert tf.transform_point(x[:, None], np.ones((5, 3))).shape == (2, 5, 3)
    np.testing.assert_allclose(tf.quat_rotate(many, [1, 2, 3])[2, 3], tf.quat_rotate(many[2, 3], [1, 2, 3]))


@quick
@given(vectors, quats, scales, arrays(np.bool_, (5,)))
def test_decompose_inverts_compose(translation, rotation, scale, mirrored):
    scale = scale * np.where(mirrored[:, None], [-1.0, 1.0, 1.0], 1.0)
    parts = tf.decompose_affine(tf.compose_affine(translation, rotation, scale))
    np.testing.assert_allclose(parts.translation, translation)
    np.testing.assert_allclose(parts.scale, scale, rtol=ROUNDING)
    assert_same_rotation(parts.rotation, rotation)
    np.testing.assert_allclose(parts.shear_error, 0.0, atol=ROUNDING)


@quick
@given(quats, scales, arrays(np.float64, (5, 3), elements=st.sampled_from([-1.0, 1.0])))
def test_any_mirror_composes_back_to_the_same_matrix(rotation, scale, signs):
    matrices = tf.compose_affine(np.zeros((5, 3)), rotation, scale * signs)
    parts = tf.decompose_affine(matrices)
    np.testing.assert_array_equal(parts.scale[:, 0] < 0.0, signs.prod(axis=-1) < 0.0)
    assert np.all(parts.scale[:, 1:] > 0.0)
    back = tf.compose_affine(parts.translation, parts.rotation, parts.scale)
    np.testing.assert_allclose(back, matrices, atol=100 * ROUNDING)


def test_rows_are_the_images_of_the_local_axes():
    q = tf.quat_from_axis_angle([[0, 0, 1.0]], np.pi / 2)
    m = tf.compose_affine([[1, 2, 3]], q, [[2, 3, 4]])[0]
    np.testing.assert_allclose(np.array([1, 0, 0, 1]) @ m, [1, 4, 3, 1], atol=ROUNDING)
    np.testing.assert_allclose(np.array([0, 1, 0, 1]) @ m, [-2, 2, 3, 1], atol=ROUNDING)


def test_shear_is_measured_and_gives_the_nearest_rotation():
    m = np.eye(4)[None].copy()
    m[0, 1, :3] = [1.0, 1.0, 0.0]  # the y axis leans by 45 degrees towards x
    parts = tf.decompose_affine(m)
    np.testing.assert_allclose(parts.shear_error, np.sqrt(0.5), rtol=ROUNDING)
    np.testing.assert_allclose(parts.scale, [[1.0, np.sqrt(2.0), 1.0]], rtol=ROUNDING)
    # the nearest frame splits the lean evenly: both axes are 22.5 degrees away
    assert_same_rotation(parts.rotation, tf.quat_from_axis_angle([0, 0, 1], -np.pi / 8)[None])


def test_mirror_and_shear_together():
    m = np.eye(4)[None].copy()
    m[0, 0, :3], m[0, 1, :3] = [-2.0, 0.0, 0.0], [1.0, 1.0, 0.0]
    parts = tf.decompose_affine(m)
    np.testing.assert_allclose(parts.scale, [[-2.0, np.sqrt(2.0), 1.0]], rtol=ROUNDING)
    assert_same_rotation(parts.rotation, tf.quat_from_axis_angle([0, 0, 1], -np.pi / 8)[None])


@pytest.mark.parametrize("zero", [(0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2)])
def test_zero_scales(zero):
    rotation = random_quats(6, seed=4)
    scale = np.tile([2.0, 3.0, 4.0], (6, 1))
    scale[:, list(zero)] = 0.0
    matrices = tf.compose_affine(np.ones((6, 3)), rotation, scale)
    parts = tf.decompose_affine(matrices)
    np.testing.assert_allclose(parts.scale, scale, rtol=ROUNDING)
    np.testing.assert_allclose(np.linalg.norm(parts.rotation, axis=-1), 1.0, atol=ROUNDING)
    back = tf.compose_affine(parts.translation, parts.rotation, parts.scale)
    np.testing.assert_allclose(back, matrices, atol=ROUNDING * 10)
    if len(zero) == 1:
        assert_same_rotation(parts.rotation, rotation)
    if len(zero) == 3:
        np.testing.assert_array_equal(parts.rotation, np.tile([0, 0, 0, 1], (6, 1)))


def test_coinciding_axes_give_the_nearest_proper_rotation():
    """With x = y = (1, 0, 0), the nearest frame has them 45 degrees to either side and keeps z."""
    m = np.eye(4)
    m[1, :3] = m[0, :3]
    m = m @ tf.compose_affine(np.zeros((20, 3)), random_quats(20, seed=7), np.ones((20, 3)))
    parts = tf.decompose_affine(m)
    np.testing.assert_allclose(parts.shear_error, 1.0, rtol=ROUNDING)
    lean = tf.quat_from_axis_angle([0, 0, 1], -np.pi / 4)
    assert_same_rotation(parts.rotation, tf.quat_multiply(random_quats(20, seed=7), lean))


def test_axes_in_one_plane_give_a_proper_rotation():
    rng = np.random.default_rng(8)
    m = np.tile(np.eye(4), (20, 1, 1))
    m[:, :3, :2] = rng.normal(size=(20, 3, 2))
    m[:, 2, 2] = 0.0
    m = m @ tf.compose_affine(np.zeros((20, 3)), random_quats(20, seed=9), np.ones((20, 3)))
    parts = tf.decompose_affine(m)
    rotation = tf.quat_to_matrix(parts.rotation)
    np.testing.assert_allclose(np.linalg.det(rotation), 1.0, atol=ROUNDING)
    # the nearest rotation R of the rows A is the one that makes A R symmetric
    rows = m[:, :3, :3] / np.abs(parts.scale)[..., None] * np.sign(parts.scale)[..., None]
    product = rows @ rotation
    np.testing.assert_allclose(product, product.transpose(0, 2, 1), atol=ROUNDING)


def test_non_finite_matrices_do_not_disturb_the_others():
    m = np.tile(np.eye(4), (3, 1, 1))
    m[0, 0, 0], m[1, 1, 1] = np.nan, np.inf
    parts = tf.decompose_affine(m)
    assert not np.isfinite(parts.scale[:2]).all(axis=-1).any()
    np.testing.assert_array_equal(parts.rotation[2], [0, 0, 0, 1])


def test_no_matrices():
    parts = tf.decompose_affine(np.zeros((0, 4, 4)))
    assert [len(part) for part in parts] == [0, 0, 0, 0]
    assert tf.compose_affine(*parts[:3]).shape == (0, 4, 4)


@quick
@given(vectors)
def test_rotation_vectors_lead_back(v):
    length = np.linalg.norm(v, axis=-1)
    turn = v * np.where(length > 0, (length % np.pi) / np.where(length > 0, length, 1.0), 0.0)[:, None]
    q = tf.quat_from_axis_angle(turn, np.linalg.norm(turn, axis=-1))
    np.testing.assert_allclose(tf.quat_to_rotation_vector(q), turn, atol=1e3 * ROUNDING)
    np.testing.assert_allclose(tf.quat_to_rotation_vector(-q), turn, atol=1e3 * ROUNDING)
