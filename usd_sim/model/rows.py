"""What all parts of ModelBuilder share: columns, bulk appends, and fields as attributes."""

from __future__ import annotations

from typing import Any

from usd_sim.model.columns import Columns
from usd_sim.model.fields import Field, field_table

__all__ = ["RowBuilder"]


class RowBuilder:
    """Rows of every frequency, with the fields of the table as attributes."""

    def __init__(self) -> None:
        self.columns = Columns(field_table())
        self.current_world = -1

    def __getattr__(self, name: str) -> Any:
        columns = self.__dict__.get("columns")
        if columns is not None:
            if name in columns.table and not columns.table[name].derived:
                return columns.view(name)
            if name.endswith("_count"):
                frequency = name.removesuffix("_count")
                if frequency in columns.table.frequencies:
                    return columns.count(frequency)
        raise AttributeError(f"ModelBuilder has no attribute {name!r}")

    # --- rows -------------------------------------------------------------------------------------------------------

    def append(self, frequency: str, n: int, **values: Any) -> int:
        """Append ``n`` rows of a frequency and return the index of the first.

        Args:
            frequency: Which rows, a :class:`Frequency` or a custom name.
            n: How many.
            **values: Field name to ``n`` rows, or one row for all. ``<frequency>_world`` defaults to the current world.

        Raises:
            KeyError: A name is not a field of this frequency.
            ValueError: A value has the wrong shape.
        """
        world = f"{frequency}_world"
        if world in self.columns.table and world not in values and self.current_world >= 0:
            values[world] = self.current_world
        return self.columns.append(frequency, n, values)

    def add_custom_attribute(self, field: Field) -> None:
        """Declare a field of the user's own; it is treated like a built-in one everywhere."""
        self.columns.table.add(field)
