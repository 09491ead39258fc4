"""Cost of PointInstancers, as ratios. Prints figures and never fails.

Compiling is compared with opening the same file and reading the instancer's arrays, and with the same boxes authored
as prims; recording with the bare samples. Text is parsed when it is opened, so that is what most of its base is; a
binary file is mapped, and next to that everything is slow.

Run it as a script: ``python tests/benchmarks/instancer_benchmark.py [--instances N] [--recorded N] [--repeat N]``.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from pxr import Usd, UsdGeom, UsdPhysics, Vt

import usd_sim
from usd_sim import schemas
from usd_sim.record import BodyOrigins, Recorder

FRAMES = 24
"""Frames of the recording."""


def write_instancer(path: Path, count: int, *, scales: bool = False) -> Path:
    """Write boxes at random places in one PointInstancer, each of its own size with ``scales``."""
    stage = Usd.Stage.CreateNew(str(path))
    UsdGeom.SetStageMetersPerUnit(stage, 1.0)
    UsdGeom.SetStageUpAxis(stage, "Z")
    UsdPhysics.Scene.Define(stage, "/World/scene")
    instancer = UsdGeom.PointInstancer.Define(stage, "/World/boxes")
    box = UsdGeom.Cube.Define(stage, "/World/boxes/prototypes/box")
    UsdPhysics.RigidBodyAPI.Apply(box.GetPrim())
    UsdPhysics.CollisionAPI.Apply(box.GetPrim())
    instancer.CreatePrototypesRel().AddTarget(box.GetPath())
    rng = np.random.default_rng(0)
    turns = rng.normal(size=(count, 4))
    turns /= np.linalg.norm(turns, axis=1, keepdims=True)
    instancer.CreateProtoIndicesAttr(Vt.IntArray.FromNumpy(np.zeros(count, np.int32)))
    positions = rng.uniform(-1e3, 1e3, (count, 3)).astype(np.float32)
    instancer.CreatePositionsAttr(Vt.Vec3fArray.FromNumpy(positions))
    instancer.CreateOrientationsAttr(Vt.QuathArray.FromNumpy(turns.astype(np.float16)))
    if scales:
        sizes = rng.uniform(0.5, 2.0, (count, 1)).repeat(3, axis=1).astype(np.float32)
        instancer.CreateScalesAttr(Vt.Vec3fArray.FromNumpy(sizes))
    stage.Save()
    return path


def write_prims(path: Path, count: int) -> Path:
    """Write boxes at random places as prims."""
    stage = Usd.Stage.CreateNew(str(path))
    UsdGeom.SetStageMetersPerUnit(stage, 1.0)
    UsdPhysics.Scene.Define(stage, "/World/scene")
    places = np.random.default_rng(0).uniform(-1e3, 1e3, (count, 3)).tolist()
    for row, place in enumerate(places):
        box = UsdGeom.Cube.Define(stage, f"/World/box_{row}")
        box.AddTranslateOp().Set(tuple(place))
        UsdPhysics.RigidBodyAPI.Apply(box.GetPrim())
        UsdPhysics.CollisionAPI.Apply(box.GetPrim())
    stage.Save()
    return path


def median(call: Callable[[], Any], repeat: int) -> float:
    """Return the median of some timings [s]."""
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def open_and_read(path: Path) -> None:
    """Open a stage and copy the arrays of its instancer."""
    stage = Usd.Stage.Open(str(path))
    instancer = UsdGeom.PointInstancer(stage.GetPrimAtPath("/World/boxes"))
    for attribute in (
        instancer.GetProtoIndicesAttr(),
        instancer.GetPositionsAttr(),
        instancer.GetOrientationsAttr(),
        instancer.GetScalesAttr(),
    ):
        values = attribute.Get()
        if values is not None:
            np.array(values)


def compiling(folder: Path, count: int, repeat: int) -> None:
    """Print how long loading takes against opening and reading."""
    for suffix in ("usda", "usdc"):
        for scales in (False, True):
            path = write_instancer(folder / f"instancer_{scales:d}.{suffix}", count, scales=scales)
            base = median(lambda path=path: open_and_read(path), repeat)
            load = median(lambda path=path: usd_sim.load(path, device="cpu"), repeat)
            name = f"{count} instances, {'each of its own size' if scales else 'all alike'}, {suffix}"
            print(f"{name:52s} open {base:8.4f} s  load {load:7.3f} s  {load / base:8.1f}x")
    fewer = max(1, count // 10)
    prims = write_prims(folder / "prims.usda", fewer)
    instances = write_instancer(folder / "fewer.usda", fewer)
    as_prims, as_instances = (median(lambda p=p: usd_sim.load(p, device="cpu"), repeat) for p in (prims, instances))
    print(f"{f'{fewer} prims':52s} load {as_prims:8.4f} s; as instances {as_prims / as_instances:.1f} times faster")


def recording(folder: Path, count: int, repeat: int) -> None:
    """Print how long recording takes against the bare samples of the same arrays."""
    model = usd_sim.load(write_instancer(folder / "recorded.usdc", count), device="cpu")
    origins = BodyOrigins(model.body_instancer, model.body_instance.numpy(), model.body_com.numpy())
    poses = model.body_q.numpy()

    def record() -> None:
        with Recorder(
            model.stage,
            model.body_path,
            output=folder / "out.usda",
            frames=FRAMES,
            fps=24.0,
            origins=origins,
            overwrite=True,
        ) as recorder:
            for frame in range(FRAMES + 1):
                recorder.frame(frame, poses)
            recorder.finish()

    def bare() -> None:
        stage = Usd.Stage.CreateNew(str(folder / "bare.usdc")) if not (folder / "bare.usdc").exists() else None
        stage = stage or Usd.Stage.Open(str(folder / "bare.usdc"))
        instancer = UsdGeom.PointInstancer.Define(stage, "/World/boxes")
        for frame in range(FRAMES + 1):
            positions, turns = poses[:, :3].copy(), poses[:, 3:].copy()
            instancer.CreatePositionsAttr().Set(Vt.Vec3fArray.FromNumpy(positions), frame)
            instancer.CreateOrientationsfAttr().Set(Vt.QuatfArray.FromNumpy(turns), frame)
            instancer.CreateOrientationsAttr().Set(Vt.QuathArray.FromNumpy(turns.astype(np.float16)), frame)
        stage.Save()

    base, mine = median(bare, repeat), median(record, repeat)
    name = f"{count} instances, {FRAMES + 1} samples"
    print(f"{name:52s} bare {base:8.4f} s  Recorder {mine:5.3f} s  {mine / base:6.1f}x")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--instances", type=int, default=100_000)
    parser.add_argument("--recorded", type=int, default=3_000)
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    schemas.register()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        usd_sim.load(write_instancer(folder / "warm.usda", 1), device="cpu")
        compiling(folder, options.instances, options.repeat)
        recording(folder, options.recorded, options.repeat)


if __name__ == "__main__":
    main()
