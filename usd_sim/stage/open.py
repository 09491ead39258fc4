"""Opening stages, with mistakes told in one line."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from pxr import Sdf, Tf, Usd

import usd_sim.schemas
from usd_sim.errors import ExitCode, UsdSimError

__all__ = ["USD_SUFFIXES", "open_stage"]

USD_SUFFIXES = (".usda", ".usdc", ".usd", ".usdz")


def open_stage(path: str | Path, *, variants: Sequence[str] = (), mask: Sequence[str] = ()) -> Usd.Stage:
    """Open a stage for reading, with the schemas registered.

    Args:
        path: A .usda, .usdc, .usd or .usdz file.
        variants: Selections to make in the session layer, each as ``/Prim:set=variant``.
        mask: Paths of the only prims to load, with what is above and below them; all if empty.

    Raises:
        UsdSimError: The file is missing, is not a stage, or cannot be read, or there is no such variant or prim.
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
        stage = _open(layer, mask) if layer else None
    except Tf.ErrorException as error:
        raise UsdSimError(f"cannot be read as USD: {_first_line(error)}", prim=str(path)) from error
    if stage is None:
        raise UsdSimError("cannot be read as USD", prim=str(path), remedy="open it in a text editor or run usdchecker")
    for selection in variants:
        _select(stage, selection)
    for prim in mask:
        if not stage.GetPrimAtPath(prim):
            raise UsdSimError("the stage has no such prim to load", prim=prim, remedy="check the mask")
    return stage


def _open(layer: Sdf.Layer, mask: Sequence[str]) -> Usd.Stage:
    if not mask:
        return Usd.Stage.Open(layer)
    for prim in mask:
        if not (Sdf.Path.IsValidPathString(prim) and Sdf.Path(prim).IsAbsoluteRootOrPrimPath()):
            raise UsdSimError(
                f"{prim!r} is not the path of a prim", remedy="write /Prim/Path", exit_code=ExitCode.USAGE
            )
    return Usd.Stage.OpenMasked(layer, Usd.StagePopulationMask([Sdf.Path(prim) for prim in mask]))


def _select(stage: Usd.Stage, selection: str) -> None:
    """Make a variant selection, ``/Prim:set=variant``, in the session layer."""
    where, _, variant = selection.partition("=")
    path, _, name = where.rpartition(":")
    if not (variant and name and Sdf.Path.IsValidPathString(path) and Sdf.Path(path).IsPrimPath()):
        raise UsdSimError(
            f"{selection!r} is not a variant selection", remedy="write /Prim:set=variant", exit_code=ExitCode.USAGE
        )
    prim = stage.GetPrimAtPath(path)
    if not prim:
        raise UsdSimError("the stage has no such prim to select a variant of", prim=path, remedy="check the path")
    sets = prim.GetVariantSets()
    if name not in sets.GetNames():
        known = ", ".join(sets.GetNames()) or "none"
        raise UsdSimError(f"the prim has no variant set {name!r}", prim=path, remedy=f"it has: {known}")
    variants = sets.GetVariantSet(name)
    if variant not in variants.GetVariantNames():
        known = ", ".join(variants.GetVariantNames())
        raise UsdSimError(f"the variant set {name!r} has no {variant!r}", prim=path, remedy=f"it has: {known}")
    with Usd.EditContext(stage, stage.GetSessionLayer()):
        variants.SetVariantSelection(variant)


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
