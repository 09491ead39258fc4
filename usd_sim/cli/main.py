"""The command ``usd-sim``: registers the commands, and turns every way to fail into one line and an exit code."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Iterator, Sequence
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
    with _interruptible():
        try:
            result = app(args=given, prog_name="usd-sim", standalone_mode=False)
            sys.stdout.flush()
            if result == ExitCode.INTERRUPTED:  # the option parser has caught the Ctrl-C
                raise KeyboardInterrupt
            return int(result or ExitCode.DONE)
        except (BrokenPipeError, SystemExit):  # the option parser makes the first into the second
            _drop_output()
            return int(ExitCode.DONE)
        except (Exception, KeyboardInterrupt, _Terminated) as error:
            return _report(error, debug)


@contextlib.contextmanager
def _interruptible() -> Iterator[None]:
    """Let the first SIGINT or SIGTERM unwind the command; later ones do not disturb the tidying up."""
    numbers = (signal.SIGINT, signal.SIGTERM)
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    earlier = {number: signal.getsignal(number) for number in numbers}
    heeded = [number for number in numbers if earlier[number] is not signal.SIG_IGN]

    unwinding = False

    def interrupt(number: int, frame: Any) -> None:
        nonlocal unwinding
        if not unwinding:
            unwinding = True
            raise KeyboardInterrupt if number == signal.SIGINT else _Terminated

    for number in heeded:
        signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number in heeded:
            signal.signal(number, earlier[number])


def _drop_output() -> None:
    """Let what still waits to be printed go nowhere, so that the end of the process does not fail over it."""
    with contextlib.suppress(OSError, ValueError):  # standard output may be none of the system's
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _report(error: BaseException, debug: bool) -> int:
    """Say in one line what went wrong and return the exit code."""
    if debug and not isinstance(error, typer.Exit):
        traceback.print_exception(error)
    if isinstance(error, typer.Exit):
        return int(error.exit_code)
    if isinstance(error, (KeyboardInterrupt, typer.Abort, _Terminated)):
        output.complain("interrupted; nothing half-written was left")
        return int(ExitCode.INTERRUPTED)
    if isinstance(error, UsdSimError):
        output.complain(str(error))
        return int(error.exit_code)
    if hasattr(error, "format_message"):  # wrong usage, told by the option parser
        message = " ".join(str(error.format_message()).split())
        if message:  # there is none where the help was shown for want of a command
            output.complain(f"{message} (usd-sim --help lists the options)")
        return int(ExitCode.USAGE)
    if isinstance(error, OSError) and error.strerror:
        if error.filename is None:
            _drop_output()
        output.complain(f"{error.filename or 'standard output'}: {error.strerror}")
        return int(ExitCode.FAILED)
    name, text = type(error).__name__, " ".join(str(error).split())
    output.complain(f"unexpected {name}: {text} (--debug shows where; please report it)")
    return int(ExitCode.FAILED)


def _show_warning(message: Any, category: Any, *where: Any, **more: Any) -> None:
    output.complain(f"warning: {' '.join(str(message).split())}")
