"""Options that several commands share, and how their text becomes values."""

from __future__ import annotations

import math
from typing import Annotated, Any

import typer

from usd_sim.errors import ExitCode, UsdSimError

__all__ = [
    "Debug",
    "Device",
    "Dialects",
    "Json",
    "Keyframe",
    "Mask",
    "Quiet",
    "Scene",
    "Solver",
    "Start",
    "Variants",
    "check_number",
    "parse_settings",
    "split_names",
]

Solver = Annotated[str | None, typer.Option("--solver", help="Solver; by default the one that the stage asks for.")]
Device = Annotated[str, typer.Option("--device", help="Device: cpu, cuda or cuda:N.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON on standard output and nothing else there.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="Print nothing but errors.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]
Start = Annotated[float | None, typer.Option("--start", help="Time code to start at; the stage's by default.")]
Scene = Annotated[str | None, typer.Option("--scene", help="Prim of the only physics scene to simulate.")]
Keyframe = Annotated[str | None, typer.Option("--keyframe", help="Keyframe prim, or its name, to start from.")]
Dialects = Annotated[
    str | None,
    typer.Option("--dialects", help="Families of properties to read, in order of precedence: newton,mjc,physx."),
]

Variants = Annotated[
    list[str] | None, typer.Option("--variant", help="PRIM:SET=VARIANT: select a variant; may be given again.")
]
Mask = Annotated[list[str] | None, typer.Option("--mask", help="Prim to load, with all below; may be given again.")]

_WORDS = {"true": True, "false": False, "none": None}


def check_number(
    option: str,
    value: float | None,
    *,
    least: float | None = None,
    most: float | None = None,
) -> None:
    """Refuse a number that an option cannot take.

    Args:
        option: Name of the option.
        value: The number; None was not given.
        least: It must not be less than this.
        most: It must not be more than this.

    Raises:
        UsdSimError: With the exit code of wrong usage.
    """
    if value is None:
        return
    finite = isinstance(value, int) or math.isfinite(value)
    if finite and not (least is not None and value < least) and not (most is not None and value > most):
        return
    bounds = [f"of at least {least:g}"] if least is not None else []
    bounds += [f"of at most {most:g}"] if most is not None else []
    remedy = f"give a number {' and '.join(bounds) or 'that is finite'}"
    shown = value if isinstance(value, int) else f"{value:g}"
    raise UsdSimError(f"{option} cannot be {shown}", remedy=remedy, exit_code=ExitCode.USAGE)


def parse_settings(entries: list[str]) -> dict[str, Any]:
    """Return ``name=value`` texts as settings; values are true, false, none, a number, or text.

    Raises:
        UsdSimError: An entry has another form.
    """
    settings = {}
    for entry in entries:
        name, equals, text = entry.partition("=")
        if not equals or not name.strip():
            raise UsdSimError(
                f"--set {entry!r} is not name=value", remedy="write --set name=value", exit_code=ExitCode.USAGE
            )
        settings[name.strip().replace("-", "_")] = _value(text.strip())
    return settings


def split_names(text: str | None) -> list[str] | None:
    """Return names separated by commas as a list; None stays None."""
    return None if text is None else [name.strip() for name in text.split(",") if name.strip()]


def _value(text: str) -> Any:
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
