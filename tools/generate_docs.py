#!/usr/bin/env python3
"""Makes docs/fields.md from the field table of usd_sim/model/fields.py and of the modules it names.

Run it after each edit of the table:

    .venv/bin/python tools/generate_docs.py            # write the page
    .venv/bin/python tools/generate_docs.py --check    # write nothing; exit code 1 when it is stale
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

from usd_sim.model.fields import DTYPES, Field, Frequency, Owner, field_table
from usd_sim.model.types import ModelFlags

PAGE = Path(__file__).resolve().parents[1] / "docs" / "fields.md"

HEAD = """# Fields

<!-- Made from usd_sim/model/fields.py by tools/generate_docs.py: edit that, not this. -->

Every array of `Model`, `State` and `Control`. Values are SI and radians, quaternions x, y, z, w, spatial vectors linear
first. Where linear and angular degrees of freedom differ, both units are given, as in `m|rad`.

- **Held by**: all fields are attributes of the model; those of the state and the control are copied by `model.state()`
  and `model.control()`, and the model keeps their initial values.
- **Fallback**: value of rows that nobody set; *derived* fields are computed by `finalize`.
- **Flag**: what a change is announced as to `Solver.notify_model_changed`.
"""

ROWS_OF = {
    Frequency.ONCE: "the model",
    Frequency.WORLD: "each world",
    Frequency.BODY: "each body",
    Frequency.SHAPE: "each shape",
    Frequency.SHAPE_PAIR: "each pair of shapes that do not collide",
    Frequency.JOINT: "each joint",
    Frequency.JOINT_DOF: "each joint degree of freedom",
    Frequency.JOINT_COORD: "each joint coordinate",
    Frequency.ARTICULATION: "each articulation",
}


def page() -> str:
    """Return the whole page."""
    fields, parts = field_table(), [HEAD]
    for frequency in fields.frequencies:
        rows_of = next((text for key, text in ROWS_OF.items() if key == frequency), f"each {frequency}")
        parts.append(f"## One row for {rows_of} (`{frequency}_count`)\n\n{table(fields.of(frequency))}")
    return "\n".join(parts)


def table(fields: list[Field]) -> str:
    """Return the Markdown table of some fields."""
    rows = [
        "| Field | Type | Unit | Fallback | Held by | Flag | Meaning |",
        "|---|---|---|---|---|---|---|",
        *(row(field) for field in fields),
    ]
    return "\n".join(rows) + "\n"


def row(field: Field) -> str:
    """Return the line of one field."""
    owner = "model" if field.owner == Owner.MODEL else str(field.owner)
    flag = "" if field.flag == ModelFlags.NONE else f"`{field.flag.name}`"
    meaning = field.doc + (f" Refers to `{field.refers_to}`." if field.refers_to else "")
    cells = [f"`{field.name}`", field.dtype, field.unit, fallback(field), owner, flag, meaning]
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def fallback(field: Field) -> str:
    """Return the fallback as it would be typed."""
    if field.derived:
        return "*derived*"
    if DTYPES[field.dtype].numpy is None:
        return repr(field.default)
    if field.dtype == "bool":
        return str(bool(field.default))
    values = np.broadcast_to(np.asarray(field.default), DTYPES[field.dtype].shape).ravel()
    texts = [f"{value:g}" for value in values.tolist()]
    return texts[0] if len(set(texts)) == 1 else f"({', '.join(texts)})"


def main(arguments: list[str] | None = None) -> int:
    """Write the page, or check it; return the exit code."""
    parser = argparse.ArgumentParser(description="Make docs/fields.md from the field table.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 when the page is stale")
    text = page()
    if parser.parse_args(arguments).check:
        stale = not PAGE.is_file() or PAGE.read_text(encoding="utf-8") != text
        if stale:
            print("docs/fields.md is stale: run tools/generate_docs.py", file=sys.stderr)
        return int(stale)
    PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
