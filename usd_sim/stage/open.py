"""Opening stages, with mistakes told in one line."""

from __future__ import annotations

import re
from pathlib import Path

from pxr import Sdf, Tf, Usd

import usd_sim.schemas
from usd_sim.errors import UsdSimError

__all__ = ["USD_SUFFIXES", "open_stage"]

USD_SUFFIXES = (".usda", ".usdc", ".usd", ".usdz")


def open_stage(path: str | Path) -> Usd.Stage:
    """Open a stage for reading, with the schemas registered.

    Args:
        path: A .usda, .usdc, .usd or .usdz file.

    Raises:
        UsdSimError: The file is missing, is not a stage, or cannot be read.
    """
    usd_sim.schemas.register()
    file = Path(path)
    if not file.exists():
        raise UsdSimError("no such file", prim=str(path), remedy="check the path")
    if file.is_dir():
        raise UsdSimError("is a folder, not a stage", prim=str(path), remedy="name a .usda, .usdc, .usd or .usdz file")
    if file.suffix.lower() not in USD_SUFFIXES:
        raise UsdSimError(
            "is not a USD file by its name", prim=str(path), remedy=f"use one of {', '.join(USD_SUFFIXES)}"
        )
    try:
        layer = Sdf.Layer.FindOrOpen(str(file))
        stage = Usd.Stage.Open(layer) if layer else None
    except Tf.ErrorException as error:
        raise UsdSimError(f"cannot be read as USD: {_first_line(error)}", prim=str(path)) from error
    if stage is None:
        raise UsdSimError("cannot be read as USD", prim=str(path), remedy="open it in a text editor or run usdchecker")
    return stage


_PARSE_ERROR = re.compile(r":(\d+):(\d+): parse error matching .*?(?: at '(.*?)')?(?: in <.*>)?$")


def _first_line(error: Exception) -> str:
    """Return the commentary of the first USD error, without where in USD's own code it was raised."""
    details = error.args[0] if error.args else None
    text = getattr(details, "commentary", None) or str(error)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    first = next((line.split("': ", 1)[-1] for line in lines if line.startswith("Error in '")), "")
    first = first or (lines[0] if lines else "unknown error")
    found = _PARSE_ERROR.search(first)
    if found:
        line, column, near = found.groups()
        return f"line {line}, column {column} is not valid" + (f", near {near!r}" if near else "")
    return first
