"""Helpers of the recorder's tests: stages, motions, and what a recording must say about them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from pxr import Sdf, Usd, UsdGeom

from usd_sim.geometry.transforms import decompose_affine, quat_normalize, quat_to_matrix
from usd_sim.record import Recorder, RecordResult

POSITION_TOLERANCE = 1.0e-6
"""Relative to coordinates of about 1: a dozen float32 roundings of the orientations above a body."""

AXES_TOLERANCE = 2.0e-6
"""On local axes of about unit length: orientations are quatf, good to 6e-8 per component."""


def save_stage(folder: Path, author: Callable[[Usd.Stage], None], name: str = "source.usda") -> Usd.Stage:
    """Return a stage with a file, Z up in metres unless ``author`` says otherwise."""
    folder.mkdir(parents=True, exist_ok=True)
    stage = Usd.Stage.CreateNew(str(folder / name))
    UsdGeom.SetStageMetersPerUnit(stage, 1.0)
    UsdGeom.SetStageUpAxis(stage, UsdGeom.Tokens.z)
    author(stage)
    stage.Save()
    return stage


def random_motion(bodies: int, samples: int, seed: int = 0) -> np.ndarray:
    """Return smooth world poses, ``(samples, bodies, 7)``."""
    rng = np.random.default_rng(seed)
    poses = rng.normal(size=(bodies, 7)) + np.cumsum(0.3 * rng.normal(size=(samples, bodies, 7)), axis=0)
    poses[..., 3:] = quat_normalize(poses[..., 3:])
    return poses


def record(stage: Usd.Stage, paths: Sequence[str], output: Path, poses: np.ndarray, **options: object) -> RecordResult:
    """Record poses ``(samples, bodies, 7)`` at the stage's own rate."""
    options.setdefault("fps", stage.GetTimeCodesPerSecond())
    with Recorder(stage, paths, output=output, frames=len(poses) - 1, **options) as recorder:
        for index, frame in enumerate(poses):
            recorder.frame(index, frame)
        return recorder.finish()


def world_matrices(stage: Usd.Stage, paths: Sequence[str], time_code: float) -> np.ndarray:
    """Return local-to-world matrices, ``(bodies, 4, 4)``."""
    cache = UsdGeom.XformCache(Usd.TimeCode(time_code))
    return np.array([cache.GetLocalToWorldTransform(stage.GetPrimAtPath(path)) for path in paths])


def expected_matrices(rest: np.ndarray, poses: np.ndarray, meters_per_unit: float = 1.0) -> np.ndarray:
    """Return the matrices of rigid bodies that looked like ``rest`` and moved to ``poses (bodies, 7)``."""
    out = rest.copy()
    # row vectors: undo the rotation at rest, then apply the new one
    undone = rest[:, :3, :3] @ quat_to_matrix(decompose_affine(rest).rotation)
    out[:, :3, :3] = undone @ np.swapaxes(quat_to_matrix(poses[:, 3:]), -1, -2)
    out[:, 3, :3] = poses[:, :3] / meters_per_unit
    return out


def assert_moves(
    source: Usd.Stage, result: Path, paths: Sequence[str], poses: np.ndarray, time_codes: Sequence[float] | None = None
) -> Usd.Stage:
    """Check the world transforms of an opened recording against poses; return its stage."""
    rest = world_matrices(source, paths, time_codes[0] if time_codes else 0.0)
    opened = Usd.Stage.Open(str(result))
    units = UsdGeom.GetStageMetersPerUnit(opened)
    for index, frame in enumerate(poses):
        time_code = time_codes[index] if time_codes else float(index)
        actual = world_matrices(opened, paths, time_code)
        expected = expected_matrices(rest, frame, units)
        size = np.linalg.norm(expected[:, :3, :3], axis=-1).max()
        position_size = max(1.0, np.abs(expected[:, 3, :3]).max())
        np.testing.assert_allclose(
            actual[:, 3, :3], expected[:, 3, :3], rtol=0, atol=POSITION_TOLERANCE * position_size
        )
        np.testing.assert_allclose(actual[:, :3, :3], expected[:, :3, :3], rtol=0, atol=AXES_TOLERANCE * size)
    return opened


def specs_below(layer: Sdf.Layer) -> list[Sdf.PrimSpec]:
    """Return all prim specs of a layer."""
    found: list[Sdf.PrimSpec] = []
    layer.Traverse("/", lambda path: found.append(layer.GetPrimAtPath(path)) if path.IsPrimPath() else None)
    return found
