"""The command ``usd-sim schemas``: what can be authored for usd-sim on a stage."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

from usd_sim.errors import ExitCode, UsdSimError

if TYPE_CHECKING:
    from rich.table import Table

    from usd_sim.schemas import SchemaDefinition

__all__ = ["schemas"]

WIDTH = 160
"""Columns of the listing where the output is not a terminal."""


def schemas(
    name: Annotated[
        str, typer.Argument(help="Show only schemas with this text in their name.", show_default=False)
    ] = "",
    markdown: Annotated[bool, typer.Option("--markdown", help="Print the documentation page.")] = False,
    path: Annotated[bool, typer.Option("--path", help="Print the folder to name in PXR_PLUGINPATH_NAME.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the list as JSON.")] = False,
) -> None:
    """List every schema and attribute understood, with type, fallback, limits, units and meaning."""
    if markdown + path + as_json > 1:
        raise typer.BadParameter("choose one of --markdown, --path and --json")
    from usd_sim import schemas as family
    from usd_sim.schemas import document

    if path:
        print(family.path())
        return
    chosen = [schema for schema in family.definitions() if name.lower() in schema.name.lower()]
    if not chosen:
        raise UsdSimError(
            f"no schema has '{name}' in its name", remedy="usd-sim schemas lists all", exit_code=ExitCode.USAGE
        )
    if markdown:
        print(document.markdown(chosen if name else None), end="")
    elif as_json:
        print(json.dumps(document.as_data(chosen), indent=2))
    else:
        _print_listing(chosen)


def _print_listing(chosen: list[SchemaDefinition]) -> None:
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = WIDTH
    for schema in chosen:
        console.print(Text(schema.name, style="bold"))
        console.print(Text(schema.doc))
        if schema.applies_to:
            console.print(Text(f"Applies to: {', '.join(schema.applies_to)}", style="dim"))
        if schema.built_in:
            console.print(Text(f"Comes with: {', '.join(schema.built_in)}", style="dim"))
        if schema.properties:
            console.print(_table(schema))
        console.print()


def _table(schema: SchemaDefinition) -> Table:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from usd_sim.schemas import document

    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    for heading, ratio in (("Property", 5), ("Type", 2), ("Fallback", 2), ("Limits", 2), ("Units", 3), ("Meaning", 6)):
        table.add_column(heading, ratio=ratio, overflow="fold")
    for entry in schema.properties:
        choice = f" One of {', '.join(entry.allowed_tokens)}." if entry.allowed_tokens else ""
        cells = (
            entry.name,
            document.type_text(entry),
            document.fallback_text(entry),
            document.limits_text(entry),
            entry.units or "",
            entry.doc + choice,
        )
        table.add_row(*(Text(cell) for cell in cells))
    return table
