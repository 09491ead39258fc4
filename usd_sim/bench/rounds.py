"""Rounds of measurements: each side in a fresh process, alternating, and what comes of the medians."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from usd_sim.bench import peer as peer_script
from usd_sim.bench.scenes import Robots, write_boxes, write_references
from usd_sim.errors import UsdSimError

__all__ = ["BOXES", "ROBOTS", "Row", "measure", "names", "run_ours"]

BOXES = 8000
ROBOTS = 200
"""Sizes of the two large stages."""


@dataclass(frozen=True)
class Row:
    """One comparison.

    Attributes:
        name: What is measured.
        unit: Unit of the figures.
        ours: Median of usd-sim.
        other: Median of the other side; None where it was not measured.
        against: What the other side is.
        ratio: How many times faster usd-sim is, or for a floor how many times the floor it takes.
        wanted: The ratio to reach: at least for a peer, at most for a floor.
    """

    name: str
    unit: str
    ours: float
    other: float | None = None
    against: str = ""
    ratio: float | None = None
    wanted: float | None = None

    @property
    def reached(self) -> bool | None:
        """Whether the ratio is as wanted; None where there is none."""
        if self.ratio is None or self.wanted is None:
            return None
        return self.ratio <= self.wanted if self.against in ("mj_step", "SetTimeSample") else self.ratio >= self.wanted


class _Sides:
    """Runs measurements in processes of their own."""

    def __init__(self, peer: str | None):
        self.peer = peer

    def ours(self, *arguments: str) -> dict[str, Any]:
        """Return what usd-sim measures."""
        return run_ours(*arguments)

    def theirs(self, *arguments: str) -> dict[str, Any]:
        """Return what the peer measures."""
        return self._peer(*arguments)

    def _peer(self, *arguments: str, **environment: str) -> dict[str, Any]:
        # a safe path keeps the modules beside the script from hiding the peer's own
        return _json([str(self.peer), str(peer_script.__file__), *arguments], PYTHONSAFEPATH="1", **environment)

    def our_cold_bake(self, stage: str) -> float:
        """Return the wall time of a whole ``usd-sim bake`` of one second, without compiled kernels [s]."""
        with tempfile.TemporaryDirectory() as folder:
            out = str(Path(folder) / "out.usda")
            command = [sys.executable, "-m", "usd_sim", "bake", stage, "-o", out, "--duration", "1", "--quiet"]
            start = time.perf_counter()
            _run(command, WARP_CACHE_PATH=folder)
            return time.perf_counter() - start

    def their_cold_step(self, stage: str) -> float:
        """Return the time of the peer from an empty process to its first step, without compiled kernels [s]."""
        with tempfile.TemporaryDirectory() as folder:
            return float(self._peer("cold", stage, WARP_CACHE_PATH=folder)["seconds"])


def run_ours(kind: str, *arguments: str) -> dict[str, Any]:
    """Return one measurement of usd-sim, made in a fresh process; see :mod:`usd_sim.bench.ours` for the kinds."""
    return _json([sys.executable, "-m", "usd_sim.bench.ours", kind, *arguments])


def _run(command: list[str], **environment: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment}, check=False)
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["it printed nothing"])[-1]
        raise UsdSimError(
            f"a measurement failed: {last}", prim=" ".join(command[:3]), remedy="run that command by hand"
        )
    return done.stdout


def _json(command: list[str], **environment: str) -> dict[str, Any]:
    return dict(json.loads(_run(command, **environment).strip().splitlines()[-1]))


def names() -> list[str]:
    """Return the names of the comparisons that :func:`measure` takes."""
    return ["boxes", "robots", "humanoid", "step", "cold", "record"]


def measure(
    robots: Robots, *, peer: str | None, rounds: int, only: str | None, tell: Callable[[str], None]
) -> Iterator[Row]:
    """Measure and yield one row per comparison.

    Args:
        robots: The ant and the humanoid.
        peer: Interpreter that has the peer; None leaves it out.
        rounds: Measurements per side, of which the median counts.
        only: Name of the only comparison to make.
        tell: Called with what is being measured.
    """
    sides = _Sides(peer)
    if peer is not None and only not in ("cold", "record"):
        tell("the peer compiles its kernels, which no figure but that of the cold start counts")
        sides.theirs("step", str(robots.ant.path))
    with tempfile.TemporaryDirectory() as folder:
        loads: dict[str, tuple[str, Callable[[], Path], float]] = {
            "boxes": (f"{BOXES} boxes, file to model", lambda: write_boxes(Path(folder) / "boxes.usda", BOXES), 15.0),
            "robots": (
                f"{ROBOTS} x {robots.ant.label}, file to model",
                lambda: write_references(Path(folder) / "robots.usda", robots.ant.path, ROBOTS),
                10.0,
            ),
            "humanoid": (f"{robots.humanoid.label}, file to model", lambda: robots.humanoid.path, 2.0),
        }
        for key, (title, stage, wanted) in loads.items():
            if only in (None, key):
                tell(title)
                yield _compare_load(sides, title, str(stage()), rounds, wanted)
    for robot in (robots.ant, robots.humanoid):
        if only in (None, "step"):
            tell(f"stepping {robot.label}")
            yield from _compare_steps(sides, robot.label, str(robot.path), rounds)
    if only in (None, "cold"):
        tell("cold start")
        yield _compare_cold(sides, robots.ant.label, str(robots.ant.path), rounds)
    if only in (None, "record"):
        tell("recording")
        found = [sides.ours("record") for _ in range(rounds)]
        ours, raw = (statistics.median(item[side] for item in found) for side in ("ours", "raw"))
        yield Row("writing 1000 bodies x 240 frames", "s", ours, raw, "SetTimeSample", ours / raw, 1.4)


def _alternate(
    rounds: int, ours: Callable[[], float], theirs: Callable[[], float] | None
) -> tuple[float, float | None]:
    """Return the medians of both sides, measured in turn."""
    mine, other = [], []
    for _ in range(rounds):
        mine.append(ours())
        if theirs is not None:
            other.append(theirs())
    return statistics.median(mine), statistics.median(other) if other else None


def _against_peer(name: str, unit: str, ours: float, other: float | None, wanted: float) -> Row:
    if other is None:
        return Row(name, unit, ours)
    return Row(name, unit, ours, other, "peer", other / ours, wanted)


def _compare_load(sides: _Sides, title: str, stage: str, rounds: int, wanted: float) -> Row:
    theirs = (lambda: float(sides.theirs("load", stage)["seconds"])) if sides.peer else None
    ours, other = _alternate(rounds, lambda: float(sides.ours("load", stage)["seconds"]), theirs)
    return _against_peer(title, "s", ours, other, wanted)


def _compare_steps(sides: _Sides, label: str, stage: str, rounds: int) -> Iterator[Row]:
    found: list[dict[str, Any]] = []

    def ours() -> float:
        found.append(sides.ours("step", stage))
        return float(found[-1]["ours"])

    theirs = (lambda: float(sides.theirs("step", stage)["ms"])) if sides.peer else None
    mine, other = _alternate(rounds, ours, theirs)
    raw = statistics.median(item["raw"] for item in found)
    ratio = statistics.median(item["ours"] / item["raw"] for item in found)
    yield Row(f"{label}, one step", "ms", mine, raw, "mj_step", ratio, 1.5)
    if other is not None:
        yield _against_peer(f"{label}, one step", "ms", mine, other, 10.0)
    yield Row(f"{label}, one step, state read every frame", "ms", statistics.median(i["with state"] for i in found))


def _compare_cold(sides: _Sides, label: str, stage: str, rounds: int) -> Row:
    theirs = (lambda: sides.their_cold_step(stage)) if sides.peer else None
    ours, other = _alternate(rounds, lambda: sides.our_cold_bake(stage), theirs)
    return _against_peer(f"{label}, a bake of 1 s (peer: to its first step), no kernels", "s", ours, other, 4.0)
