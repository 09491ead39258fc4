"""Every schema and property of the family as plain records, for documents, the command line and editors.

They are read from ``generatedSchema.usda`` and ``plugInfo.json`` as data, so that asking for them neither registers
anything nor loads USD's schema registry.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from pxr import Sdf

__all__ = ["FOLDER", "PropertyDefinition", "SchemaDefinition", "definitions", "properties"]

FOLDER = Path(__file__).resolve().parent
"""Where schema.usda and what is made from it lie."""


_FLOAT_DIGITS = 6
"""Decimal digits that single precision keeps."""


@dataclass(frozen=True)
class PropertyDefinition:
    """An attribute or a relationship of a schema.

    Attributes:
        name: Full name with namespaces, ``newton:armature``.
        type_name: Name of the value type as written in USD text (``float``, ``token[]``), or ``rel``.
        uniform: Whether the value cannot change over time.
        fallback: Value where nothing is authored: bool, int, float, str, a tuple of them, or None where there is none.
        doc: What it means, in one or two sentences.
        units: Units in terms of ``distance`` and ``mass`` (those of the stage), ``second``, ``degree``, ``radian``,
            ``force`` and ``torque``; ``angular: …; linear: …`` where they depend on the joint. None where a unit makes
            no sense.
        hard_limits: Smallest and largest value that makes sense, -inf and inf where there is none. The values -inf and
            inf may have a meaning of their own beyond them, which ``doc`` tells.
        soft_limits: The same for the usual range; ``doc`` tells what values beyond it mean.
        allowed_tokens: The values to choose from; empty where any value of the type will do.
    """

    name: str
    type_name: str
    uniform: bool
    fallback: Any
    doc: str
    units: str | None
    hard_limits: tuple[float, float]
    soft_limits: tuple[float, float]
    allowed_tokens: tuple[str, ...]


@dataclass(frozen=True)
class SchemaDefinition:
    """A schema of the family.

    Attributes:
        name: Name as it stands in a stage, ``NewtonJointAPI``.
        type_name: Name of the C++ and ``Tf.Type``, ``NewtonPhysicsJointAPI``.
        kind: ``singleApplyAPI``, or ``concreteTyped`` for a prim type.
        doc: What it is for, in one sentence.
        built_in: API schemas that come with it.
        applies_to: Prim types that it may be applied to; empty where any will do.
        properties: Its own properties, by name; those of built-in schemas are not repeated.
    """

    name: str
    type_name: str
    kind: str
    doc: str
    built_in: tuple[str, ...]
    applies_to: tuple[str, ...]
    properties: tuple[PropertyDefinition, ...]


@lru_cache(maxsize=1)
def definitions() -> tuple[SchemaDefinition, ...]:
    """All schemas, in the order of the source."""
    plugin = json.loads((FOLDER / "plugInfo.json").read_text("utf-8"))["Plugins"][0]
    types = {info["schemaIdentifier"]: (name, info) for name, info in plugin["Info"]["Types"].items()}
    layer = Sdf.Layer.FindOrOpen(str(FOLDER / "generatedSchema.usda"))
    return tuple(_schema(prim, *types[prim.name]) for prim in layer.rootPrims)


def properties() -> Iterator[tuple[SchemaDefinition, PropertyDefinition]]:
    """All properties of all schemas, each with the schema that it belongs to."""
    for schema in definitions():
        for property_ in schema.properties:
            yield schema, property_


def _schema(prim: Sdf.PrimSpec, type_name: str, info: Mapping[str, Any]) -> SchemaDefinition:
    applied = prim.GetInfo("apiSchemas")
    return SchemaDefinition(
        name=prim.name,
        type_name=type_name,
        kind=info["schemaKind"],
        doc=prim.documentation,
        built_in=tuple(applied.explicitItems),
        applies_to=tuple(info.get("apiSchemaCanOnlyApplyTo", ())),
        properties=tuple(_property(spec) for spec in prim.properties),
    )


def _property(spec: Sdf.PropertySpec) -> PropertyDefinition:
    attribute = isinstance(spec, Sdf.AttributeSpec)
    limits = (spec.GetInfo("limits") or {}) if attribute else {}
    return PropertyDefinition(
        name=spec.name,
        type_name=str(spec.typeName) if attribute else "rel",
        uniform=attribute and spec.variability == Sdf.VariabilityUniform,
        fallback=_plain(spec.default) if attribute else None,
        doc=spec.documentation,
        units=spec.customData.get("units"),
        hard_limits=_range(limits.get("hard", {})),
        soft_limits=_range(limits.get("soft", {})),
        allowed_tokens=tuple((spec.GetInfo("allowedTokens") or ()) if attribute else ()),
    )


def _range(bounds: Mapping[str, float]) -> tuple[float, float]:
    return _plain(bounds.get("minimum", -math.inf)), _plain(bounds.get("maximum", math.inf))


def _plain(value: Any) -> Any:
    """A USD value as Python's own types. Single precision numbers become the decimals that they were written as."""
    if isinstance(value, float):
        return float(f"{value:.{_FLOAT_DIGITS}g}")
    if value is None or isinstance(value, bool | int | str):
        return value
    return tuple(_plain(item) for item in value)
