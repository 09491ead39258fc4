"""The command ``usd-sim bake``: stages in, stages with time samples out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from usd_sim.cli import output
from usd_sim.cli.options import (
    Debug,
    Device,
    Dialects,
    Json,
    Keyframe,
    Mask,
    Quiet,
    Scene,
    Solver,
    Start,
    Variants,
    check_number,
    parse_settings,
    split_names,
)
from usd_sim.errors import ExitCode, UsdSimError

if TYPE_CHECKING:
    from usd_sim.bake.batch import Outcome
    from usd_sim.bake.job import BakeResult

__all__ = ["bake"]

_WARNINGS_SHOWN = 3

_MOST_FRAMES = 1.0e9
"""Largest number of frames or seconds: a longer run would not end."""

_FPS = (1.0e-3, 1.0e6)
"""Frame rates outside which a frame has too many steps, or a step is too short [1/s]."""

_LEAST_DT = 1.0e-7
"""Time step below which nothing changes in the single precision of the state [s]."""


def bake(
    stages: Annotated[list[str], typer.Argument(metavar="STAGE…", help="Stages to bake.", show_default=False)],
    out: Annotated[
        str | None,
        typer.Option("--output", "-o", help="Root layer to write, or a folder. [default: NAME.baked.usda]"),
    ] = None,
    duration: Annotated[float | None, typer.Option(help="Simulated time [s]; the stage's range by default.")] = None,
    frames: Annotated[int | None, typer.Option(help="Number of frames, in place of --duration.")] = None,
    fps: Annotated[float | None, typer.Option(help="Samples per second; the stage's time codes by default.")] = None,
    dt: Annotated[float | None, typer.Option(help="Longest time step [s]; the scene's by default.")] = None,
    start: Start = None,
    scene: Scene = None,
    keyframe: Keyframe = None,
    dialects: Dialects = None,
    variants: Variants = None,
    mask: Mask = None,
    solver: Solver = None,
    device: Device = "cpu",
    settings: Annotated[list[str], typer.Option("--set", help="Setting of the solver, name=value.")] = [],  # noqa: B006
    format: Annotated[str, typer.Option(help="Format of the results layer: usdc or usda.")] = "usdc",
    flatten: Annotated[bool, typer.Option("--flatten", help="Write one file that needs no other.")] = False,
    clips: Annotated[int | None, typer.Option(help="Write value clips of that many frames.")] = None,
    velocities: Annotated[bool, typer.Option("--velocities", help="Also write velocities.")] = False,
    joints: Annotated[bool, typer.Option("--joints", help="Also write joint state.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace earlier output.")] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Skip stages whose output is complete and newer.")] = False,
    jobs: Annotated[int, typer.Option(help="Number of processes.")] = 1,
    ray: Annotated[str | None, typer.Option(help="Address of a Ray cluster.", hidden=True)] = None,
    sweep: Annotated[
        list[str], typer.Option("--sweep", help="PRIM.attribute=a,b,c: bake once per combination of values.")
    ] = [],  # noqa: B006
    report: Annotated[Path | None, typer.Option(help="Also write the report to this JSON file.")] = None,
    on_divergence: Annotated[
        str, typer.Option(help="stop: fail and keep the good frames; keep: keep them and succeed.")
    ] = "stop",
    as_json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Simulate stages and write the motion onto their own prims, in a layer over each source."""
    _check(duration, frames, fps, dt, clips, jobs, format, on_divergence, flatten, ray)
    options = parse_settings(settings)
    if report is not None:
        output.check_report(report)
    from usd_sim.bake.batch import plan, run_batch
    from usd_sim.bake.job import BakeSettings
    from usd_sim.bake.sweep import parse_sweep
    from usd_sim.stage.diagnostics import collect

    wanted = BakeSettings(
        duration=duration,
        frames=frames,
        fps=fps,
        dt=dt,
        start=start,
        scene=scene,
        keyframe=keyframe,
        dialects=split_names(dialects),
        variants=variants or (),
        mask=mask or (),
        solver=solver,
        device=device,
        format=format,
        flatten=flatten,
        clips=clips,
        velocities=velocities,
        joints=joints,
        overwrite=overwrite,
        on_divergence=on_divergence,
        options=options,
    )
    planned = plan(stages, out, wanted, sweeps=[parse_sweep(text) for text in sweep], resume=resume)
    outcomes: dict[int, Outcome] = {}
    with collect(), output.reporter(len(planned), silent=quiet or as_json) as progress:
        for index, outcome in run_batch(planned, processes=jobs, progress=progress):
            outcomes[index] = outcome
    _finish([outcomes[index] for index in sorted(outcomes)], report, as_json, quiet, debug)


def _check(
    duration: float | None,
    frames: int | None,
    fps: float | None,
    dt: float | None,
    clips: int | None,
    jobs: int,
    format: str,
    on_divergence: str,
    flatten: bool,
    ray: str | None,
) -> None:
    check_number("--duration", duration, least=0, most=_MOST_FRAMES)
    check_number("--frames", frames, least=0, most=_MOST_FRAMES)
    check_number("--fps", fps, least=_FPS[0], most=_FPS[1])
    check_number("--dt", dt, least=_LEAST_DT)
    check_number("--clips", clips, least=1)
    check_number("--jobs", jobs, least=1)
    for option, value, choices in (
        ("--format", format, ("usdc", "usda")),
        ("--on-divergence", on_divergence, ("stop", "keep")),
    ):
        if value not in choices:
            raise _usage(f"{option} cannot be {value!r}", f"choose one of: {', '.join(choices)}")
    if duration is not None and frames is not None:
        raise _usage("--duration and --frames say the same thing", "give one of them")
    if clips is not None and flatten:
        raise _usage("--clips writes several files and --flatten one", "give one of them")
    if ray is not None:
        raise _usage("--ray is not supported yet", "use --jobs")


def _usage(message: str, remedy: str) -> UsdSimError:
    return UsdSimError(message, remedy=remedy, exit_code=ExitCode.USAGE)


def _finish(outcomes: list[Outcome], report: Path | None, as_json: bool, quiet: bool, debug: bool) -> None:
    """Print and write the reports, and end with the exit code of the worst outcome."""
    data: Any = [outcome.to_json() for outcome in outcomes]
    data = data[0] if len(data) == 1 else data
    if report is not None:
        output.write_report(report, data)
    for outcome in outcomes:
        if outcome.result is not None and not quiet and not as_json:
            _print_summary(outcome.result, outcome.sweep)
        if outcome.skipped and not quiet and not as_json:
            print(f"{outcome.job.output} is complete and newer than its stage; skipped")
        if outcome.failure is not None:
            if debug:
                output.complain(outcome.failure.trace)
            advice = " (--debug shows where; please report it)" if outcome.failure.unexpected else ""
            message, source = outcome.failure.message, outcome.job.source
            where = f"{source}: " if len(outcomes) > 1 and not message.startswith(f"{source}: ") else ""
            output.complain(f"{where}{message}{advice}")
    if as_json:
        output.print_json(data)
    worst = max((outcome.failure.exit_code for outcome in outcomes if outcome.failure), default=0)
    if len(outcomes) > 1 and not quiet and not as_json:
        failed = sum(outcome.failure is not None for outcome in outcomes)
        print(f"{len(outcomes) - failed} of {len(outcomes)} done")
    if worst:
        raise typer.Exit(worst)


def _print_summary(result: BakeResult, sweep: dict[str, Any]) -> None:
    wall = result.wall_s
    factor = result.simulated_s / wall["simulate"] if wall["simulate"] > 0 else 0.0
    phases = ", ".join(f"{name} {seconds:.2f} s" for name, seconds in wall.items())
    values = "".join(f" with {path} = {value}" for path, value in sweep.items())
    print(f"{result.output}{values}")
    print(
        f"  {result.bodies} bodies, {result.frames} frames of {1 / result.fps:.4g} s in {result.substeps} steps each, "
        f"{result.simulated_s:.4g} s by {result.solver} on {result.device}"
    )
    print(f"  {phases}; {factor:.1f} times real time")
    for line in result.warnings[:_WARNINGS_SHOWN]:
        print(f"  note: {line}")
    if len(result.warnings) > _WARNINGS_SHOWN:
        print(f"  and {len(result.warnings) - _WARNINGS_SHOWN} more notes: usd-sim check {result.stage}")
