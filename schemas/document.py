"""The schemas as a Markdown page and as JSON-ready data; also the wording of values that the command line shares."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from usd_sim.schemas.definitions import PropertyDefinition, SchemaDefinition, definitions

__all__ = ["as_data", "fallback_text", "limits_text", "markdown", "type_text"]

INTRODUCTION = """\
# Schemas

The Newton schemas extend UsdPhysics with settings for solvers and with what robots need beyond it. usd-sim knows all of
them; `usd-sim check STAGE` tells which properties of a stage are used and which are not. This page is made from
`schemas/schema.usda` by `usd-sim schemas --markdown`.

`usd-sim` knows the schemas by itself. For other programs built on OpenUSD, name their folder in the environment:

    export PXR_PLUGINPATH_NAME=$(usd-sim schemas --path)

In a Python process, call `usd_sim.schemas.register()` before the first stage is opened. Where the package
newton-usd-schemas is installed, its schemas of the same names are taken instead.

**Units** are those of the stage: `distance` and `mass` follow metersPerUnit and kilogramsPerUnit, and `force` and
`torque` follow from these with the second. Angles are in degrees unless `radian` is written. Where a property serves
angular and linear joints alike, both units are given. **Limits** are the values that make sense; those marked "usually"
are the common range. The values `-inf` and `inf` stand apart from them and mean what the last column says.
"""


def type_text(definition: PropertyDefinition) -> str:
    """Type as written in USD text, with ``uniform`` where it holds."""
    return f"uniform {definition.type_name}" if definition.uniform else definition.type_name


def fallback_text(definition: PropertyDefinition) -> str:
    """Fallback as written in USD text, without quotes; empty where there is none."""
    return _value_text(definition.fallback)


def limits_text(definition: PropertyDefinition) -> str:
    """Hard and soft limits in words: ``0 to 1``, ``at least 0``, ``usually at least 0``; empty where there are none."""
    hard, soft = _range_text(definition.hard_limits), _range_text(definition.soft_limits)
    return ", ".join(([hard] if hard else []) + ([f"usually {soft}"] if soft else []))


def markdown(schemas: Sequence[SchemaDefinition] | None = None) -> str:
    """The documentation page of some schemas, or of all with an introduction and an index."""
    if schemas is not None:
        return "\n".join(_section(schema) for schema in schemas)
    index = _table(("Schema", "Purpose"), [(f"[{s.name}](#{s.name.lower()})", s.doc) for s in definitions()])
    return "\n".join([INTRODUCTION, index, *(_section(schema) for schema in definitions())])


def as_data(schemas: Sequence[SchemaDefinition]) -> list[dict[str, Any]]:
    """The schemas as lists, dicts and scalars for JSON: open limits are null, infinite values "inf" and "-inf"."""
    data = [asdict(schema) for schema in schemas]
    for schema in data:
        for entry in schema["properties"]:
            for key in ("hard_limits", "soft_limits"):
                entry[key] = [None if math.isinf(bound) else bound for bound in entry[key]]
            if isinstance(entry["fallback"], float) and math.isinf(entry["fallback"]):
                entry["fallback"] = str(entry["fallback"])
    return data


def _section(schema: SchemaDefinition) -> str:
    lines = [f"## {schema.name}", "", schema.doc, ""]
    facts = [f"Type name: `{schema.type_name}`." if schema.kind != "concreteTyped" else "A prim type of its own."]
    if schema.applies_to:
        facts.append(f"Applies to: {_codes(schema.applies_to)}.")
    if schema.built_in:
        facts.append(f"Comes with: {_codes(schema.built_in)}.")
    lines += [" ".join(facts), ""]
    if schema.properties:
        header = ("Property", "Type", "Fallback", "Limits", "Units", "Meaning")
        lines.append(_table(header, [_row(definition) for definition in schema.properties]))
    return "\n".join(lines)


def _row(definition: PropertyDefinition) -> tuple[str, ...]:
    fallback = fallback_text(definition)
    choice = f" One of {_codes(definition.allowed_tokens)}." if definition.allowed_tokens else ""
    return (
        f"`{definition.name}`",
        type_text(definition),
        f"`{fallback}`" if fallback else "",
        limits_text(definition),
        definition.units or "",
        definition.doc + choice,
    )


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "".join("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n" for cells in lines)


def _codes(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _value_text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return f"[{', '.join(_value_text(item) for item in value)}]"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _range_text(bounds: tuple[float, float]) -> str:
    low, high = bounds
    if math.isinf(low) and math.isinf(high):
        return ""
    if math.isinf(high):
        return f"at least {_value_text(low)}"
    if math.isinf(low):
        return f"at most {_value_text(high)}"
    return f"{_value_text(low)} to {_value_text(high)}"
