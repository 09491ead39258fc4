"""One measurement of usd-sim in a process of its own: ``python -m usd_sim.bench.ours KIND …`` prints JSON."""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

__all__ = ["main"]

FRAME = 1.0 / 60.0
DT = 0.002
"""Frame and longest step that stepping is timed at [s]."""

_WARM_UP, _BLOCKS, _FRAMES_A_BLOCK = 30, 21, 20


def load_time(stage: str) -> dict[str, float]:
    """Return the time from a file to a finalized Model, the first one, libraries and Warp being ready [s]."""
    from usd_sim.model import warp_runtime
    from usd_sim.stage.load import load

    warp_runtime.start()
    start = time.perf_counter()
    model = load(stage, device="cpu")
    return {"seconds": time.perf_counter() - start, "bodies": model.body_count}


def step_time(stage: str) -> dict[str, float]:
    """Return times per step [ms]: of a frame, of one with its state read, and of raw ``mj_step`` of the same model.

    ``same motion`` says whether ours and the raw steps ended each block in the same state.
    """
    import mujoco

    from usd_sim.simulation import Simulation, substeps_for

    blind, read = Simulation(stage, dt=DT), Simulation(stage, dt=DT)
    steps = substeps_for(FRAME, DT)
    solver: Any = blind.solver
    blind.advance(FRAME)  # sets the time step of the shared model
    model, data = solver.mj_model, mujoco.MjData(solver.mj_model)

    def pulled() -> None:
        read.advance(FRAME)
        read.state.body_q.numpy()

    sides = {
        "ours": lambda: blind.advance(FRAME),
        "with state": pulled,
        "raw": lambda: mujoco.mj_step(model, data, steps),
    }
    times: dict[str, list[float]] = {name: [] for name in sides}
    same = True
    for block in range(-2, _BLOCKS):
        mujoco.mj_copyData(data, model, solver.mj_data)  # both sides take the same steps
        for name, call in sides.items():
            start = time.perf_counter()
            for _ in range(_WARM_UP if block < 0 else _FRAMES_A_BLOCK):
                call()
            if block >= 0:
                times[name].append((time.perf_counter() - start) / (_FRAMES_A_BLOCK * steps) * 1e3)
        same = same and bool((data.qpos == solver.mj_data.qpos).all())
    return {**{name: statistics.median(values) for name, values in times.items()}, "same motion": same}


def record_time(bodies: int = 1000, frames: int = 240) -> dict[str, float]:
    """Return seconds of recording and of the bare calls that set the same samples."""
    from usd_sim.bench.recording import bare_calls, make_motion, make_stage, recorder_calls

    poses = make_motion(bodies, frames)
    with tempfile.TemporaryDirectory() as folder:
        stage, paths = make_stage(Path(folder), bodies)
        bare, _ = bare_calls(paths, poses)
        ours, _ = recorder_calls(stage, paths, poses)
    return {"ours": ours, "raw": bare}


def shipped_times(stage: str) -> dict[str, float]:
    """Return times of loading, of making the solver and of a step [ms], and the real-time factor, libraries ready."""
    import usd_sim.solvers.mujoco.solver  # noqa: F401  its libraries are no part of the compile
    from usd_sim.model import warp_runtime
    from usd_sim.simulation import Simulation, substeps_for
    from usd_sim.stage.load import load

    warp_runtime.start()
    start = time.perf_counter()
    model = load(stage, device="cpu")
    loaded = time.perf_counter()
    simulation = Simulation(model)
    built = time.perf_counter()
    frames = 60
    for _ in range(frames):
        simulation.advance(FRAME)
    seconds = time.perf_counter() - built
    return {
        "load_ms": (loaded - start) * 1e3,
        "compile_ms": (built - loaded) * 1e3,
        "step_ms": seconds / (frames * substeps_for(FRAME, simulation.dt)) * 1e3,
        "factor": frames * FRAME / seconds,
    }


def main() -> None:
    """Measure what the arguments say and print it as JSON."""
    warnings.simplefilter("ignore")
    kinds = {"load": load_time, "step": step_time, "record": record_time, "shipped": shipped_times}
    print(json.dumps(kinds[sys.argv[1]](*sys.argv[2:])))  # type: ignore[operator]


if __name__ == "__main__":
    main()
