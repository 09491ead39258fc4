"""What commands print: JSON on standard output, complaints and progress on standard error."""

from __future__ import annotations

import json
import math
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from usd_sim.errors import ExitCode, UsdSimError

if TYPE_CHECKING:
    from usd_sim.bake.job import Progress

__all__ = ["Reporter", "check_report", "complain", "print_json", "reporter", "write_report"]

_REFRESH = 0.1
"""Time between updates of the bar [s]."""

_LINE_EVERY = 5.0
"""Time between lines of progress where standard error is not a terminal [s]."""


def complain(line: str) -> None:
    """Print one line on standard error."""
    print(f"usd-sim: {line}", file=sys.stderr, flush=True)


def print_json(data: Any) -> None:
    """Print data as JSON; numbers that are not finite become null."""
    print(json.dumps(_finite(data), indent=2, ensure_ascii=False))


def check_report(path: Path) -> None:
    """See that a report can be written, before the work that it is to tell of.

    Raises:
        UsdSimError: The folder is missing, or the path is one.
    """
    if path.is_dir() or not path.absolute().parent.is_dir():
        reason = "is a folder" if path.is_dir() else "its folder does not exist"
        raise UsdSimError(reason, prim=str(path), remedy="choose another --report", exit_code=ExitCode.USAGE)


def write_report(path: Path, data: Any) -> None:
    """Write data as JSON, numbers that are not finite as null, so that the file is there whole or not at all.

    Raises:
        UsdSimError: The file cannot be written.
    """
    staged = path.with_name(f".{path.name}.partial-{os.getpid()}")
    try:
        staged.write_text(json.dumps(_finite(data), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        staged.replace(path)
    except OSError as error:
        staged.unlink(missing_ok=True)
        reason = f"cannot write: {error.strerror}"
        raise UsdSimError(reason, prim=str(path), remedy="choose another --report") from error


def _finite(data: Any) -> Any:
    if isinstance(data, float):
        return data if math.isfinite(data) else None
    if isinstance(data, dict):
        return {key: _finite(value) for key, value in data.items()}
    if isinstance(data, (list, tuple)):
        return [_finite(value) for value in data]
    return data


class Reporter(Protocol):
    """Takes the progress of numbered bakes."""

    def __call__(self, index: int, step: Progress) -> None:
        """Take one report of progress."""


@contextmanager
def reporter(count: int, *, silent: bool) -> Iterator[Reporter]:
    """Show progress on standard error: a bar on a terminal, sparse lines elsewhere, nothing when silent.

    Args:
        count: Number of bakes.
        silent: Show nothing.
    """
    if silent:
        yield lambda index, step: None
    elif sys.stderr.isatty():
        with _Bar(count) as bar:
            yield bar
    else:
        yield _Lines(count)


class _Lines:
    """Progress as lines of text."""

    def __init__(self, count: int):
        self._many, self._next, self._said = count > 1, time.monotonic() + _LINE_EVERY, ""

    def __call__(self, index: int, step: Progress) -> None:
        now = time.monotonic()
        if step.phase == "simulate" and now >= self._next:
            self._next = now + _LINE_EVERY
            print(f"{self._name(step)}frame {step.frame}/{step.frames}, {step.simulated:.2f} s", file=sys.stderr)
        elif step.phase == "compile" and step.message != self._said and "quadratic" in step.message:
            self._said = step.message
            print(f"{self._name(step)}{step.message}", file=sys.stderr)

    def _name(self, step: Progress) -> str:
        return f"{step.stage}: " if self._many else ""


class _Bar:
    """Progress as one bar on a terminal."""

    def __init__(self, count: int):
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        self._count = count
        self._bar = Progress(
            TextColumn("{task.fields[what]}"),
            BarColumn(),
            TextColumn("{task.fields[detail]}"),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            refresh_per_second=1.0 / _REFRESH,
            transient=True,
        )
        self._task = self._bar.add_task("bake", total=None, what="reading", detail="")
        self._done: dict[int, float] = {}
        self._started: dict[int, float] = {}
        self._next = 0.0

    def __enter__(self) -> _Bar:
        self._bar.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._bar.__exit__(*error)

    def __call__(self, index: int, step: Progress) -> None:
        now = time.monotonic()
        if step.phase == "simulate" and now < self._next and step.frame < step.frames:
            return
        self._next = now + _REFRESH
        if step.phase != "simulate":
            self._bar.update(self._task, what=step.message or step.phase)
            return
        started = self._started.setdefault(index, now)
        self._done[index] = step.frame / max(1, step.frames)
        factor = f", {step.simulated / (now - started):.1f}x real time" if now > started else ""
        which = f"{len(self._done)}/{self._count} " if self._count > 1 else ""
        self._bar.update(
            self._task,
            total=float(self._count),
            completed=sum(self._done.values()),
            what=f"{which}simulating",
            detail=f"frame {step.frame}/{step.frames}, {step.simulated:.2f} s{factor}",
        )
