"""Sweeps: one stage baked once for each combination of some attribute values.

A variant is a small layer of its own that states the values over the source. It is kept beside the result, which refers
to it in place of the source, so that the result shows the scene that was simulated.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pxr import Sdf, Tf, Usd

from usd_sim.errors import ExitCode, UsdSimError
from usd_sim.record.layers import source_reference
from usd_sim.stage.open import open_stage

__all__ = ["Sweep", "author_variant", "parse_sweep", "variants"]

_COMPOSITION = ("subLayers", "subLayerOffsets")


@dataclass(frozen=True)
class Sweep:
    """Values that an attribute takes one after the other.

    Attributes:
        path: Path of the attribute, "/World/Ball.physics:mass".
        values: Values as text, as a .usda file would state them; strings without quotes.
    """

    path: str
    values: tuple[str, ...]


def parse_sweep(text: str) -> Sweep:
    """Read ``PRIM.attribute=a,b,c``. Commas inside parentheses or brackets belong to a value.

    Raises:
        UsdSimError: The text has another form.
    """
    path, equals, listed = text.partition("=")
    values = _split(listed)
    property_path = Sdf.Path(path.strip()) if Sdf.Path.IsValidPathString(path.strip()) else Sdf.Path()
    if not equals or not property_path.IsAbsolutePath() or not property_path.IsPrimPropertyPath():
        raise _usage(f"{text!r} is not a sweep", "write --sweep /Prim/Path.attribute=a,b,c")
    if not all(values):
        raise _usage(f"a value is missing in {text!r}", "write --sweep /Prim/Path.attribute=a,b,c")
    return Sweep(str(property_path), tuple(values))


def _split(text: str) -> list[str]:
    parts, depth = [""], 0
    for character in text:
        depth += (character in "([") - (character in ")]")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts]


def variants(sweeps: Sequence[Sweep]) -> list[dict[str, str]]:
    """Return the values of every variant by attribute path: all combinations, the last sweep varying fastest."""
    paths = [sweep.path for sweep in sweeps]
    repeated = next((path for path in paths if paths.count(path) > 1), None)
    if repeated:
        raise _usage(f"{repeated} is swept twice", "list all its values in one --sweep")
    return [dict(zip(paths, values, strict=True)) for values in itertools.product(*(s.values for s in sweeps))]


def author_variant(source: str | Path, values: Mapping[str, str], target: Path) -> dict[str, Any]:
    """Write a layer that states some values over a source stage.

    Args:
        source: The stage.
        values: Values as text by attribute path.
        target: File to write.

    Returns:
        The values by attribute path, as plain data.

    Raises:
        UsdSimError: The stage has no such attribute, it cannot be overridden, or takes no such value.
    """
    stage = open_stage(source)
    layer = Sdf.Layer.CreateAnonymous(".usda")
    root = stage.GetRootLayer()
    for key in root.pseudoRoot.ListInfoKeys():
        if key not in _COMPOSITION:
            layer.pseudoRoot.SetInfo(key, root.pseudoRoot.GetInfo(key))
    layer.subLayerPaths.append(source_reference(stage, target.parent))
    stated = {path: _override(stage, layer, path, text) for path, text in values.items()}
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        already_open = Sdf.Layer.Find(str(target))
        if not layer.Export(str(target)):
            raise OSError("USD could not write the layer")
        if already_open:
            already_open.Reload(force=True)
    except (OSError, Tf.ErrorException) as error:
        reason = getattr(error, "strerror", None) or "USD could not write the layer"
        raise UsdSimError(f"cannot write: {reason}", prim=str(target), remedy="choose another output") from error
    return stated


def _override(stage: Usd.Stage, layer: Sdf.Layer, path: str, text: str) -> Any:
    where = Sdf.Path(path)
    prim = stage.GetPrimAtPath(where.GetPrimPath())
    if not prim:
        raise UsdSimError("the stage has no such prim to sweep", prim=str(where.GetPrimPath()), remedy="check the path")
    if prim.IsInstanceProxy() or prim.IsInPrototype():
        raise UsdSimError(
            "lies inside an instance, where nothing can be overridden", prim=path, remedy="set instanceable = false"
        )
    attribute = prim.GetAttribute(where.name)
    if not attribute:
        raise UsdSimError(
            "the prim has no such attribute to sweep", prim=path, remedy="check its name, or apply its schema"
        )
    value = _parse(path, text, attribute.GetTypeName())
    owner = Sdf.CreatePrimInLayer(layer, where.GetPrimPath())
    spec = Sdf.AttributeSpec(owner, where.name, attribute.GetTypeName(), attribute.GetVariability())
    spec.default = value
    return value if isinstance(value, (bool, int, float, str)) else str(value)


def _parse(path: str, text: str, type_name: Sdf.ValueTypeName) -> Any:
    """Return a value of a USD type from its text, through USD's own parser."""
    quoted = str(type_name) in ("string", "token") and text[:1] not in ('"', "'")
    literal = json.dumps(text) if quoted else text
    layer = Sdf.Layer.CreateAnonymous(".usda")
    try:
        layer.ImportFromString(f'#usda 1.0\ndef "p"\n{{\n    custom {type_name} v = {literal}\n}}\n')
        spec = layer.GetAttributeAtPath("/p.v")
        value = spec.default if spec else None
    except Tf.ErrorException:
        value = None
    if value is None:
        raise _usage(f"{text!r} is not a value of type {type_name}", "write it as a .usda file would", prim=path)
    return value


def _usage(message: str, remedy: str, *, prim: str | None = None) -> UsdSimError:
    return UsdSimError(message, prim=prim, remedy=remedy, exit_code=ExitCode.USAGE)
