"""Convex decomposition and simplification, and the folder that keeps their results."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from usd_sim.errors import UsdSimError
from usd_sim.geometry import approximate
from usd_sim.geometry.cache import cache_folder, cached_arrays, content_key
from usd_sim.geometry.mesh import Mesh
from usd_sim.geometry.primitives import primitive_mesh
from usd_sim.geometry.types import GeoType

DECOMPOSED = 2.0e-3
"""CoACD remeshes what it gets, at a resolution that leaves this much of the volume [relative]."""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("USD_SIM_CACHE", str(tmp_path))
    return tmp_path


def ell() -> Mesh:
    """Return a prism over an L of three unit squares."""
    outline = [(1, 1), (1, 2), (0, 2), (0, 0), (2, 0), (2, 1)]
    points = [(x, y, z) for z in (0, 1) for x, y in outline]
    faces = [[0, 5, 4, 3, 2, 1], [6, 7, 8, 9, 10, 11], *([i, (i + 1) % 6, 6 + (i + 1) % 6, 6 + i] for i in range(6))]
    return Mesh.from_polygons(points, [len(face) for face in faces], [i for face in faces for i in face])


def test_an_ell_takes_two_convex_parts():
    pytest.importorskip("coacd")
    assert ell().is_watertight
    assert ell().signed_volume == pytest.approx(3.0)
    parts = approximate.convex_parts(ell())
    assert sorted(part.signed_volume for part in parts) == pytest.approx([1.0, 2.0], rel=DECOMPOSED)
    assert len(approximate.convex_parts(ell(), max_parts=1)) == 1
    assert max(part.vertex_count for part in approximate.convex_parts(ell(), max_hull_vertices=6)) <= 6


def test_flat_meshes_are_not_decomposed():
    pytest.importorskip("coacd")
    flat = Mesh([(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0)], [0, 1, 2, 0, 2, 3])
    with pytest.raises(UsdSimError, match="plane"):
        approximate.convex_parts(flat, prim="/P")


def test_simplification_halves_the_triangles():
    pytest.importorskip("fast_simplification")
    ball = primitive_mesh(GeoType.SPHERE, (1.0, 0.0, 0.0))
    fewer = approximate.simplified(ball)
    assert fewer.triangle_count == pytest.approx(0.5 * ball.triangle_count, abs=2)
    assert fewer.signed_volume == pytest.approx(ball.signed_volume, rel=0.02)  # quadrics keep close to the surface
    box = primitive_mesh(GeoType.BOX, (1.0, 1.0, 1.0))
    assert approximate.simplified(box) is box


@pytest.mark.parametrize(("module", "package"), [("coacd", "coacd"), ("fast_simplification", "fast-simplification")])
def test_missing_packages_are_named(module: str, package: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, module, None)
    call = approximate.convex_parts if module == "coacd" else approximate.simplified
    with pytest.raises(UsdSimError, match=package) as raised:
        call(primitive_mesh(GeoType.SPHERE, (1.0, 0.0, 0.0)), prim="/P")
    assert "usd-sim[meshes]" in str(raised.value)


# --- cache ----------------------------------------------------------------------------------------------------------


class Counted:
    """Computes two arrays and counts how often."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self) -> list[np.ndarray]:
        self.calls += 1
        return [np.arange(6.0).reshape(2, 3), np.array([1, 2], np.int32)]


def assert_made(arrays: list[np.ndarray]) -> None:
    np.testing.assert_array_equal(arrays[0], [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]])
    np.testing.assert_array_equal(arrays[1], [1, 2])
    assert arrays[1].dtype == np.int32


def test_results_are_computed_once(folder: Path):
    compute = Counted()
    for _ in range(3):
        assert_made(cached_arrays("kind", "key", compute))
    assert compute.calls == 1
    assert [path.name for path in folder.rglob("*") if path.is_file()] == ["key.npz"]


def test_decompositions_are_kept_by_content(folder: Path, monkeypatch: pytest.MonkeyPatch):
    coacd = pytest.importorskip("coacd")
    first = approximate.convex_parts(ell())
    monkeypatch.setattr(coacd, "run_coacd", lambda *args, **options: pytest.fail("computed twice"))
    again = approximate.convex_parts(ell())
    assert [part.content_hash for part in again] == [part.content_hash for part in first]
    moved = ell()
    with pytest.raises(pytest.fail.Exception):
        approximate.convex_parts(Mesh(moved.vertices * 2.0, moved.indices))


@pytest.mark.parametrize("harm", ["cut", "garbage", "flipped", "empty", "other"])
def test_altered_files_are_made_anew(harm: str, folder: Path):
    compute = Counted()
    cached_arrays("kind", "key", compute)
    path = folder / "kind" / "key.npz"
    data = bytearray(path.read_bytes())
    if harm == "cut":
        data = data[: len(data) // 2]
    elif harm == "garbage":
        data = bytearray(b"\x00\xff" * 500)
    elif harm == "flipped":
        data[150] ^= 0xFF  # within the first array, which a checksum covers
    elif harm == "empty":
        data = bytearray()
    path.write_bytes(data)
    if harm == "other":
        with path.open("wb") as file:
            np.savez(file, np.zeros(3))
    assert_made(cached_arrays("kind", "key", compute))
    assert compute.calls == 2
    assert_made(cached_arrays("kind", "key", compute))
    assert compute.calls == 2


def test_a_folder_that_cannot_be_written_does_no_harm(folder: Path, monkeypatch: pytest.MonkeyPatch):
    (folder / "file").write_text("")
    monkeypatch.setenv("USD_SIM_CACHE", str(folder / "file"))
    compute = Counted()
    assert_made(cached_arrays("kind", "key", compute))
    assert_made(cached_arrays("kind", "key", compute))
    assert compute.calls == 2


def test_what_fails_is_not_kept(folder: Path):
    def fail() -> list[np.ndarray]:
        raise UsdSimError("no")

    with pytest.raises(UsdSimError):
        cached_arrays("kind", "key", fail)
    assert not [path for path in folder.rglob("*") if path.is_file()]


def test_where_results_are_kept(folder: Path, monkeypatch: pytest.MonkeyPatch):
    assert cache_folder() == folder
    monkeypatch.delenv("USD_SIM_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "xdg"))
    assert cache_folder() == folder / "xdg" / "usd-sim"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(folder))
    assert cache_folder() == folder / ".cache" / "usd-sim"


def test_keys_differ_with_every_parameter():
    keys = {content_key("a"), content_key("b"), content_key("a", n=1), content_key("a", n=2), content_key("a", m=1)}
    assert len(keys) == 5
    assert content_key("a", n=1, m=2) == content_key("a", m=2, n=1)
