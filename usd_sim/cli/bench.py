"""The command ``usd-sim bench``: how fast this machine is, and how fast against others."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from usd_sim.cli import output
from usd_sim.cli.options import Debug, Json
from usd_sim.errors import ExitCode, UsdSimError

if TYPE_CHECKING:
    from usd_sim.bench.rounds import Row

__all__ = ["bench"]

_ROUNDS = 5


def bench(
    peer: Annotated[
        str | None, typer.Option(help="Python that has the package newton, to measure it side by side.")
    ] = None,
    compare: Annotated[
        bool, typer.Option("--compare", help="Compare with MuJoCo and USD also without a peer.")
    ] = False,
    ant: Annotated[Path | None, typer.Option(help="Stage of the ant.")] = None,
    humanoid: Annotated[Path | None, typer.Option(help="Stage of the humanoid.")] = None,
    assets: Annotated[Path | None, typer.Option(help="Folder with ant.usda and humanoid.usda.")] = None,
    only: Annotated[str | None, typer.Option(help="Make one comparison alone.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="One round rather than five.")] = False,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Time the shipped stages; with --peer, compare with another simulator, with MuJoCo and with USD."""
    rounds = 1 if quick else _ROUNDS
    if peer is not None or compare or only is not None:
        rows, notes = _compare(peer, ant, humanoid, assets, only, rounds)
        data: Any = {"rounds": rounds, "rows": [_row_data(row) for row in rows], "notes": notes}
        if not as_json:
            _print_rows(rows, notes, rounds)
    else:
        data = {"stages": _time_shipped(rounds)}
        if not as_json:
            _print_shipped(data["stages"])
    if as_json:
        output.print_json(data)


def _compare(
    peer: str | None, ant: Path | None, humanoid: Path | None, assets: Path | None, only: str | None, rounds: int
) -> tuple[list[Row], list[str]]:
    from usd_sim.bench.rounds import measure, names
    from usd_sim.bench.scenes import find_robots

    if only is not None and only not in names():
        raise UsdSimError(
            f"there is no comparison {only!r}", remedy=f"choose one of: {', '.join(names())}", exit_code=ExitCode.USAGE
        )
    if peer is not None and shutil.which(peer) is None:
        raise UsdSimError("cannot be run", prim=peer, remedy="name a Python interpreter", exit_code=ExitCode.USAGE)
    robots = find_robots(ant=ant, humanoid=humanoid, assets=assets)

    def tell(what: str) -> None:
        print(f"measuring: {what}", file=sys.stderr, flush=True)

    return list(measure(robots, peer=peer, rounds=rounds, only=only, tell=tell)), robots.notes


def _row_data(row: Row) -> dict[str, Any]:
    return {**row.__dict__, "reached": row.reached}


def _print_rows(rows: list[Row], notes: list[str], rounds: int) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(title=f"medians of {rounds}", title_justify="left")
    for heading in ("what", "usd-sim", "other", "against", "ratio", "wanted", ""):
        table.add_column(heading, justify="left" if heading in ("what", "against", "") else "right")
    for row in rows:
        floor = row.against in ("mj_step", "SetTimeSample")
        table.add_row(
            row.name,
            f"{row.ours:.4g} {row.unit}",
            f"{row.other:.4g} {row.unit}" if row.other is not None else "",
            row.against,
            f"{row.ratio:.2f}x" if row.ratio is not None else "",
            f"{'<=' if floor else '>='} {row.wanted:g}x" if row.wanted is not None else "",
            {True: "yes", False: "no", None: ""}[row.reached],
        )
    console = Console(width=None if sys.stdout.isatty() else 140)
    console.print(table)
    for note in notes:
        print(note)


def _time_shipped(rounds: int) -> dict[str, dict[str, float]]:
    import statistics

    from usd_sim import stages
    from usd_sim.bench.rounds import run_ours

    found = {}
    for name in stages.names():
        runs = [run_ours("shipped", str(stages.path(name))) for _ in range(rounds)]
        found[name] = {key: statistics.median(run[key] for run in runs) for key in runs[0]}
    return found


def _print_shipped(found: dict[str, dict[str, float]]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(title="shipped stages on the CPU", title_justify="left")
    for heading in ("stage", "load", "compile", "step", "times real time"):
        table.add_column(heading, justify="left" if heading == "stage" else "right")
    for name, times in found.items():
        table.add_row(
            name,
            f"{times['load_ms']:.1f} ms",
            f"{times['compile_ms']:.1f} ms",
            f"{times['step_ms'] * 1e3:.1f} µs",
            f"{times['factor']:.0f}",
        )
    Console(width=None if sys.stdout.isatty() else 100).print(table)
