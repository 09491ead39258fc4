"""Baking many stages, or many variants of one: which output each gets, what can be skipped, and how each one ended."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pxr import Tf, UsdUtils

from usd_sim.bake.job import BakeResult, BakeSettings, Progress, bake
from usd_sim.bake.sweep import Sweep, author_variant, variants
from usd_sim.errors import ExitCode, UsdSimError
from usd_sim.stage.diagnostics import explain
from usd_sim.stage.open import USD_SUFFIXES

__all__ = ["Failure", "Job", "Outcome", "attempt", "plan", "run_batch"]


@dataclass(frozen=True)
class Job:
    """One bake of a batch.

    Attributes:
        source: Stage.
        output: Root layer to write.
        settings: What to bake.
        sweep: Values as text, by attribute path, that are stated over the stage.
        resume: Whether to leave an output alone that is complete and newer than the stage.
    """

    source: str
    output: str
    settings: BakeSettings
    sweep: dict[str, str] = field(default_factory=dict)
    resume: bool = False


@dataclass(frozen=True)
class Failure:
    """Why a bake failed.

    Attributes:
        message: One line.
        exit_code: What the command line ends with.
        unexpected: Whether this is a fault of the program rather than of its input.
        trace: The traceback.
    """

    message: str
    exit_code: int
    unexpected: bool
    trace: str

    @classmethod
    def of(cls, error: Exception) -> Failure:
        """Describe an exception."""
        trace = "".join(traceback.format_exception(error))
        if isinstance(error, UsdSimError):
            return cls(str(error), int(error.exit_code), False, trace)
        return cls(explain(error), int(ExitCode.FAILED), True, trace)


@dataclass(frozen=True)
class Outcome:
    """How a bake of a batch ended.

    Attributes:
        job: The bake.
        result: What was written; also where the simulation diverged.
        failure: Why it failed, if it did.
        skipped: Whether an earlier output was left alone.
        sweep: The variant's values by attribute path.
    """

    job: Job
    result: BakeResult | None = None
    failure: Failure | None = None
    skipped: bool = False
    sweep: dict[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return the report as plain data: that of the bake, or what is known of one that failed or was skipped."""
        if self.result is not None:
            data = {**self.result.to_json(), "stage": self.job.source}
        else:
            data = {"stage": self.job.source, "output": self.job.output}
        if self.failure is not None:
            data["error"] = self.failure.message
        if self.skipped:
            data["skipped"] = True
        return data | ({"sweep": self.sweep} if self.sweep else {})


# --- planning -------------------------------------------------------------------------------------------------------


def plan(
    stages: Sequence[str],
    output: str | None,
    settings: BakeSettings,
    *,
    sweeps: Sequence[Sweep] = (),
    resume: bool = False,
) -> list[Job]:
    """Return one job per stage and variant.

    Args:
        stages: Paths of the stages.
        output: Root layer to write, or a folder: always so for several stages, and where it is one or ends in a slash.
            By default ``NAME.baked.usda`` in the current folder.
        settings: What to bake.
        sweeps: Attributes to vary; output ``N`` of a stage is named ``NAME.N.baked.usda``.
        resume: See :class:`Job`.

    Raises:
        UsdSimError: The output's name does not fit.
    """
    combinations = variants(sweeps) if sweeps else [{}]
    names = _output_names(stages, output)
    jobs = []
    for stage, name in zip(stages, names, strict=True):
        for number, values in enumerate(combinations):
            path = _numbered(name, number, len(combinations)) if sweeps else name
            jobs.append(Job(stage, str(path), settings, values, resume))
    return jobs


def _output_names(stages: Sequence[str], output: str | None) -> list[Path]:
    if output is not None and len(stages) == 1 and not _is_folder(output):
        if Path(output).suffix not in USD_SUFFIXES[:3]:
            raise UsdSimError(
                "the output is not named as a USD layer",
                prim=output,
                remedy="end its name in .usda, or in / for a folder",
                exit_code=ExitCode.USAGE,
            )
        return [Path(output)]
    if output is not None and Path(output).exists() and not Path(output).is_dir():
        raise UsdSimError("is a file; several stages need a folder", prim=output, exit_code=ExitCode.USAGE)
    folder = Path(output) if output is not None else Path()
    return [folder / f"{name}.baked.usda" for name in _distinct_names(stages)]


def _is_folder(output: str) -> bool:
    return output.endswith(("/", os.sep)) or Path(output).is_dir()


def _distinct_names(stages: Sequence[str]) -> list[str]:
    """Return the stems of files; where some are equal, with as many of their folders' names as tell all apart."""
    parts = [(*path.parent.parts, path.stem) for path in (Path(os.path.abspath(stage)) for stage in stages)]
    if len(set(parts)) < len(parts):
        twice = next(stage for stage, found in zip(stages, parts, strict=True) if parts.count(found) > 1)
        raise UsdSimError(
            "is named twice, or with another suffix: both have the same output",
            prim=twice,
            remedy="bake them one by one",
            exit_code=ExitCode.USAGE,
        )
    kept = 1
    while len({found[-kept:] for found in parts}) < len(parts):
        kept += 1
    return ["_".join(name.strip("/") for name in found[-kept:]) for found in parts]


def _numbered(path: Path, number: int, count: int) -> Path:
    stem = path.stem.removesuffix(".baked")
    digits = f"{number:0{len(str(count - 1))}d}"
    ending = ".baked" if path.stem != stem else ""
    return path.with_name(f"{stem}.{digits}{ending}{path.suffix}")


# --- resuming -------------------------------------------------------------------------------------------------------


def is_complete(output: Path, source: Path) -> bool:
    """Whether an output and all that it refers to exist, and it is newer than every layer of its source."""
    if not output.is_file() or not source.is_file():
        return False
    try:
        layers, _, missing = UsdUtils.ComputeAllDependencies(str(output))
        source_layers, _, _ = UsdUtils.ComputeAllDependencies(str(source))
    except Tf.ErrorException:
        return False
    stem = output.with_name(f"{output.stem}.")
    if not layers or any(str(path).startswith(str(stem)) for path in missing):
        return False
    changed = [os.path.getmtime(layer.realPath) for layer in source_layers if os.path.isfile(layer.realPath)]
    return bool(changed) and os.path.getmtime(output) > max(changed)


# --- running --------------------------------------------------------------------------------------------------------


def attempt(job: Job, progress: Callable[[Progress], None] | None = None) -> Outcome:
    """Run one job. Errors become part of the outcome; only interruptions get out."""
    sweep: dict[str, Any] = {}
    try:
        if job.resume and is_complete(Path(os.path.abspath(job.output)), Path(os.path.abspath(job.source))):
            return Outcome(job, skipped=True)
        settings = replace(job.settings, overwrite=True) if job.resume else job.settings
        if not settings.overwrite and os.path.isfile(job.output):
            raise UsdSimError("the file exists", prim=job.output, remedy="--overwrite replaces it")
        if not job.sweep:
            return Outcome(job, bake(job.source, job.output, settings=settings, progress=progress))
        return _bake_variant(job, settings, progress, sweep)
    except Exception as error:
        return Outcome(job, getattr(error, "result", None), Failure.of(error), sweep=sweep)


def _bake_variant(
    job: Job, settings: BakeSettings, progress: Callable[[Progress], None] | None, stated: dict[str, Any]
) -> Outcome:
    """Bake from a layer that states the variant's values; it stays beside the output, which refers to it."""
    output = Path(os.path.abspath(job.output))
    layer = output.with_name(f"{output.stem}.sweep.usda")
    if layer.exists() and not settings.overwrite:
        raise UsdSimError("the file exists", prim=str(layer), remedy="--overwrite replaces it")
    earlier = layer.read_bytes() if layer.exists() else None
    made_folder = not output.parent.exists()
    kept = False
    try:
        stated.update(author_variant(job.source, job.sweep, layer))
        result = bake(layer, job.output, settings=settings, progress=progress)
        kept = not settings.flatten
        return Outcome(job, result, sweep=stated)
    except UsdSimError as error:
        kept = hasattr(error, "result") and not settings.flatten
        raise
    finally:
        if not kept:
            _restore(layer, earlier)
            if made_folder and output.parent.is_dir() and not any(output.parent.iterdir()):
                output.parent.rmdir()


def _restore(layer: Path, earlier: bytes | None) -> None:
    if earlier is not None:
        layer.write_bytes(earlier)
    else:
        layer.unlink(missing_ok=True)


def run_batch(
    jobs: Sequence[Job], *, processes: int = 1, progress: Callable[[int, Progress], None] | None = None
) -> Iterator[tuple[int, Outcome]]:
    """Run jobs and yield (index, outcome) as each ends. A failed one does not stop the others.

    Args:
        jobs: What to bake.
        processes: Number of processes to bake in; 1 bakes in this one.
        progress: Called with the index of a job as it goes on.
    """
    tell = progress or (lambda index, step: None)
    if processes > 1 and len(jobs) > 1:
        from usd_sim.bake.workers import run_in_processes

        yield from run_in_processes(jobs, min(processes, len(jobs)), tell)
        return
    for index, job in enumerate(jobs):
        yield index, attempt(job, lambda step, index=index: tell(index, step))  # type: ignore[misc]
