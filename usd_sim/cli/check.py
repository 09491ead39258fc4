"""The command ``usd-sim check``: what becomes of everything that a stage says about physics."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from usd_sim.cli import output
from usd_sim.cli.options import Debug, Dialects, Json, Mask, Quiet, Scene, Solver, Start, Variants, split_names
from usd_sim.errors import ExitCode

if TYPE_CHECKING:
    from usd_sim.stage.report import Entry, Report

__all__ = ["check"]

_EXAMPLES = 3
"""Prims that are named of those that share a message."""


def check(
    stage: Annotated[str, typer.Argument(help="Stage to read.", show_default=False)],
    solver: Solver = None,
    strict: Annotated[bool, typer.Option("--strict", help="Fail also where something is ignored.")] = False,
    start: Start = None,
    scene: Scene = None,
    dialects: Dialects = None,
    variants: Variants = None,
    mask: Mask = None,
    as_json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Read a stage without simulating it, and tell what is used, approximated, ignored or wrong."""
    from usd_sim.stage.diagnostics import collect
    from usd_sim.stage.load import load

    with collect():
        model = load(
            stage,
            device="cpu",
            time=start,
            scene=scene,
            dialects=split_names(dialects),
            variants=variants or (),
            mask=mask or (),
            strict=False,
        )
    report = model.report
    lacking = _lacking(model, solver) if solver else []
    if as_json:
        data = report.to_json()
        output.print_json(data | ({"unsupported": lacking} if solver else {}))
    elif not quiet:
        _print_report(report, lacking, solver)
    if report.errors or (strict and report.ignored):
        raise typer.Exit(int(ExitCode.FAILED))


def _lacking(model: Any, solver: str) -> list[dict[str, Any]]:
    """Return what a solver will not honour of a model."""
    from usd_sim import solvers
    from usd_sim.solvers.base import unsupported

    found = unsupported(model, solvers.solver_class(solver).supports)
    return [
        {"feature": item.feature, "count": item.count, "message": item.message, "examples": list(item.examples)}
        for item in found
    ]


def _print_report(report: Report, lacking: list[dict[str, Any]], solver: str | None) -> None:
    for title, entries in (
        ("Errors", report.errors),
        ("Approximated", report.approximated),
        ("Ignored", report.ignored),
    ):
        if entries:
            print(f"{title}:")
            for line in _grouped(entries):
                print(f"  {line}")
    if lacking:
        print(f"Not honoured by {solver}:")
        for item in lacking:
            print(f"  {item['feature']}: {item['message']}: {_named(item['examples'], item['count'])}")
    print(report.summary())


def _grouped(entries: Iterable[Entry]) -> list[str]:
    """Return one line per property and message, with the first prims that it concerns."""
    groups: dict[tuple[str, str, str], list[str]] = {}
    for entry in entries:
        groups.setdefault((entry.property, entry.message, entry.remedy), []).append(entry.prim)
    return [
        f"{f'{name}: ' if name else ''}{message}{f' ({remedy})' if remedy else ''}: "
        f"{_named(prims[:_EXAMPLES], len(prims))}"
        for (name, message, remedy), prims in groups.items()
    ]


def _named(prims: list[str], count: int) -> str:
    more = f" and {count - len(prims)} more" if count > len(prims) else ""
    return ", ".join(prims) + more
