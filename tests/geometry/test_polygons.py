"""Polygons that are not convex: triangles that cover them once."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from usd_sim.geometry.mesh import Mesh, triangulate
from usd_sim.geometry.polygons import clip_ears

ROUNDING = 1.0e-9
"""Areas of figures of about 1 m in double precision [m²]."""

ELL = np.array([(2, 1), (1, 1), (1, 2), (0, 2), (0, 0), (2, 0)], float)


def area(outline: np.ndarray) -> float:
    """Return the signed area within an outline (k, 2), by the shoelace formula."""
    following = np.roll(outline, -1, axis=0)
    return 0.5 * float((outline[:, 0] * following[:, 1] - outline[:, 1] * following[:, 0]).sum())


def mesh_of(outline: np.ndarray, *, turn: np.ndarray | None = None, **settings: bool) -> Mesh:
    points = np.column_stack([outline, np.zeros(len(outline))]) @ (np.eye(3) if turn is None else turn)
    return Mesh.from_polygons(points, [len(points)], np.arange(len(points)), **settings)


@pytest.mark.parametrize("start", range(6))
@pytest.mark.parametrize("left_handed", [False, True])
def test_an_ell_from_any_corner(start: int, left_handed: bool):
    outline = np.roll(ELL, start, axis=0)
    mesh = mesh_of(outline[::-1] if left_handed else outline, left_handed=left_handed)
    assert mesh.triangle_count == 4
    assert mesh.area == pytest.approx(3.0, abs=ROUNDING)
    corners = mesh.vertices[mesh.indices]
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    assert (normal[:, 2] >= 0.0).all()


@given(
    radii=st.lists(st.floats(0.1, 1.0), min_size=4, max_size=24),
    spin=st.floats(0.0, 6.0),
    start=st.integers(0, 23),
    flip=st.booleans(),
)
def test_star_shaped_polygons_are_covered_once(radii: list[float], spin: float, start: int, flip: bool):
    angle = np.linspace(0.0, 2.0 * np.pi, len(radii), endpoint=False)
    outline = np.roll(np.stack([np.cos(angle), np.sin(angle)], axis=1) * np.array(radii)[:, None], start, axis=0)
    outline = outline[::-1] if flip else outline
    c, s = np.cos(spin), np.sin(spin)
    turn = np.array([[1.0, 0.0, 0.0], [0.0, c, s], [0.0, -s, c]]) @ np.array(
        [[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]]
    )
    mesh = mesh_of(outline, turn=turn)
    assert mesh.triangle_count == len(radii) - 2
    assert mesh.area == pytest.approx(abs(area(outline)), abs=ROUNDING)


def test_a_bridge_to_a_hole():
    outer = [(0, 0), (4, 0), (4, 4), (0, 4)]
    inner = [(1, 1), (1, 3), (3, 3), (3, 1)]
    outline = np.array([*outer, outer[0], inner[0], *inner[1:], inner[0]], float)
    assert mesh_of(outline).area == pytest.approx(16.0 - 4.0, abs=ROUNDING)


def test_convex_faces_stay_fans():
    square = [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0)]
    np.testing.assert_array_equal(triangulate([4], [0, 1, 2, 3], points=square), [[0, 1, 2], [0, 2, 3]])


def test_polygons_that_cross_themselves_end():
    assert len(clip_ears(np.array([(0, 0, 0), (1, 1, 0), (1, 0, 0), (0, 1, 0), (0.5, 2, 0)], float))) == 3
    assert len(clip_ears(np.zeros((6, 3)))) == 4


def test_only_the_face_that_needs_it_changes():
    points = [*((x, y, 0.0) for x, y in ELL), (5, 0, 0), (6, 0, 0), (6, 1, 0), (5, 1, 0)]
    triangles = triangulate([6, 4, 3], [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1, 2], points=points)
    np.testing.assert_array_equal(triangles[4:], [[6, 7, 8], [6, 8, 9], [0, 1, 2]])
    assert Mesh(points, triangles[:4]).area == pytest.approx(3.0, abs=ROUNDING)
