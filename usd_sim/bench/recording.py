"""Cost of recording against bare ``Sdf.Layer.SetTimeSample`` calls of the same samples."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import numpy as np
from pxr import Gf, Sdf, Usd, UsdGeom

from usd_sim.record import Recorder

__all__ = ["bare_calls", "make_motion", "make_stage", "recorder_calls"]


def make_stage(folder: Path, bodies: int) -> tuple[Usd.Stage, list[str]]:
    """Return a saved stage of Xforms with translate and orient ops under one parent, and their paths."""
    stage = Usd.Stage.CreateNew(str(folder / "source.usda"))
    UsdGeom.SetStageMetersPerUnit(stage, 0.01)
    stage.SetTimeCodesPerSecond(24.0)
    paths = [f"/World/body_{index}" for index in range(bodies)]
    UsdGeom.Xform.Define(stage, "/World").AddRotateXOp().Set(90.0)
    for path in paths:
        xform = UsdGeom.Xform.Define(stage, path)
        xform.AddTranslateOp().Set(Gf.Vec3d(1.0, 2.0, 3.0))
        xform.AddOrientOp().Set(Gf.Quatf(1.0))
    stage.Save()
    return stage, paths


def make_motion(bodies: int, samples: int) -> np.ndarray:
    """Return smooth random poses, ``(samples, bodies, 7)``, as float32 like a solver's."""
    rng = np.random.default_rng(0)
    poses = np.cumsum(rng.normal(size=(samples, bodies, 7)) * 0.05, axis=0) + rng.normal(size=(bodies, 7))
    poses[..., 3:] /= np.linalg.norm(poses[..., 3:], axis=-1, keepdims=True)
    return poses.astype(np.float32)


def bare_calls(paths: list[str], poses: np.ndarray) -> tuple[float, float]:
    """Return seconds of the SetTimeSample calls alone, values prepared before, and of the export after them."""
    translates = [[Gf.Vec3d(*pose[:3].tolist()) for pose in frame] for frame in poses]
    orients = [[Gf.Quatf(pose[6].item(), *pose[3:6].tolist()) for pose in frame] for frame in poses]
    layer = Sdf.Layer.CreateAnonymous(".usdc")
    translate_paths = [Sdf.Path(f"{path}.xformOp:translate") for path in paths]
    orient_paths = [Sdf.Path(f"{path}.xformOp:orient") for path in paths]
    with Sdf.ChangeBlock():
        for attributes, kind in ((translate_paths, "Double3"), (orient_paths, "Quatf")):
            value_type = getattr(Sdf.ValueTypeNames, kind)
            for path in attributes:
                Sdf.JustCreatePrimAttributeInLayer(layer, path, value_type, Sdf.VariabilityVarying, False)
    set_sample = layer.SetTimeSample
    start = time.perf_counter()
    for index, (positions, rotations) in enumerate(zip(translates, orients, strict=True)):
        time_code = float(index)
        with Sdf.ChangeBlock():
            for path, value in zip(translate_paths, positions, strict=True):
                set_sample(path, time_code, value)
            for path, value in zip(orient_paths, rotations, strict=True):
                set_sample(path, time_code, value)
    wrote = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        layer.Export(str(Path(folder) / "bare.usdc"))
    return wrote - start, time.perf_counter() - wrote


def recorder_calls(stage: Usd.Stage, paths: list[str], poses: np.ndarray) -> tuple[float, float]:
    """Return seconds of construction and all frames, with the conversion of poses, and of finishing."""
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        recorder = Recorder(stage, paths, output=Path(folder) / "out.usda", frames=len(poses) - 1, fps=24.0)
        for index, frame in enumerate(poses):
            recorder.frame(index, frame)
        recorder.flush()
        wrote = time.perf_counter()
        recorder.finish()
        return wrote - start, time.perf_counter() - wrote
