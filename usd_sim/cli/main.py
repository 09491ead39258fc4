"""The command ``usd-sim``: registers the commands, and turns every way to fail into one line and an exit code."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import traceback
import warnings
from collections.abc import Sequence
from typing import Annotated, Any

import typer

import usd_sim
from usd_sim.cli import output
from usd_sim.cli.bake import bake
from usd_sim.cli.bench import bench
from usd_sim.cli.check import check
from usd_sim.cli.info import info
from usd_sim.cli.schemas import schemas
from usd_sim.errors import ExitCode, UsdSimError

__all__ = ["app", "main"]

app = typer.Typer(
    name="usd-sim",
    help="Simulates the physics of USD stages and writes the motion onto their own prims.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (bake, info, check, schemas, bench):
    app.command()(command)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"usd-sim {usd_sim.__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


class _Terminated(BaseException):
    """The process was asked to end; unwinds like Ctrl-C so that nothing half-written stays."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    Args:
        arguments: Command and options; those of the process if not given.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in given
    warnings.showwarning = _show_warning
    with contextlib.suppress(ValueError):  # not in the main thread
        signal.signal(signal.SIGTERM, _on_terminate)
    try:
        result = app(args=given, prog_name="usd-sim", standalone_mode=False)
        sys.stdout.flush()
        if result == ExitCode.INTERRUPTED:  # the option parser has caught the Ctrl-C
            raise KeyboardInterrupt
        return int(result or ExitCode.DONE)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return int(ExitCode.DONE)
    except (Exception, KeyboardInterrupt, _Terminated) as error:
        return _report(error, debug)


def _on_terminate(number: int, frame: Any) -> None:
    raise _Terminated


def _report(error: BaseException, debug: bool) -> int:
    """Say in one line what went wrong and return the exit code."""
    if debug and not isinstance(error, typer.Exit):
        traceback.print_exception(error)
    if isinstance(error, typer.Exit):
        return int(error.exit_code)
    if isinstance(error, (KeyboardInterrupt, typer.Abort, _Terminated)):
        output.complain("interrupted; nothing was written")
        return int(ExitCode.INTERRUPTED)
    if isinstance(error, UsdSimError):
        output.complain(str(error))
        return int(error.exit_code)
    if hasattr(error, "format_message"):  # wrong usage, told by the option parser
        output.complain(f"{' '.join(str(error.format_message()).split())} (usd-sim --help lists the options)")
        return int(ExitCode.USAGE)
    name, text = type(error).__name__, " ".join(str(error).split())
    output.complain(f"unexpected {name}: {text} (--debug shows where; please report it)")
    return int(ExitCode.FAILED)


def _show_warning(message: Any, category: Any, *where: Any, **more: Any) -> None:
    output.complain(f"warning: {' '.join(str(message).split())}")
