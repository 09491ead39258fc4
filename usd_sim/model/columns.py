"""Storage of the builder: growing columns per frequency, one per field that anybody set.

A column comes to life when a value is given for it; rows that nobody set hold the field's fallback. Merging and
replicating are loops over the field table.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from usd_sim.model.fields import DTYPES, Field, FieldTable

__all__ = ["Columns"]

_BLOCK = 64


class Columns:
    """Rows of every frequency.

    Args:
        table: Fields that may have columns.
    """

    def __init__(self, table: FieldTable):
        self.table = table
        self.counts: dict[str, int] = {}
        self._data: dict[str, np.ndarray | list[Any]] = {}

    def count(self, frequency: str) -> int:
        """Return the number of rows of a frequency."""
        return self.counts.get(str(frequency), 0)

    def is_set(self, name: str) -> bool:
        """Whether any row of the field was given a value."""
        return name in self._data

    def view(self, name: str) -> np.ndarray | list[Any]:
        """Return the rows of a field for reading and writing in place; creates the column."""
        field = self.table[name]
        count = self.count(field.frequency)
        column = self._materialise(field, count)
        return column if isinstance(column, list) else column[:count]

    def append(self, frequency: str, n: int, values: Mapping[str, Any]) -> int:
        """Append ``n`` rows and return the index of the first.

        Args:
            frequency: Which rows to append.
            n: How many.
            values: Field name to an array of ``n`` rows, or to one row for all of them.

        Raises:
            KeyError: A name is not a field of this frequency.
            ValueError: A value has the wrong shape.
        """
        key = str(frequency)
        for name in values:
            if name not in self.table or str(self.table[name].frequency) != key:
                raise KeyError(f"{name!r} is not a field of frequency {key!r}")
        rows = {name: _rows(self.table[name], n, value) for name, value in values.items()}
        start = self.counts.get(key, 0)
        self.counts[key] = start + n
        for field in self.table.of(key):
            if field.name in rows:
                self._write(field, start, n, rows[field.name])
            elif field.name in self._data:
                self._grow(field, start, start + n)
        return start

    def merge(self, other: Columns, copies: int = 1) -> dict[str, int]:
        """Append ``copies`` copies of all rows of ``other`` and return the first new row per frequency.

        Integers that refer to rows are shifted by what stood here before, and per copy; -1 stays -1.
        """
        for field in other.table:
            self.table.add(field)
        starts = {key: self.counts.get(key, 0) for key in {*self.counts, *other.counts}}
        for key, n in other.counts.items():
            total = n * copies
            self.counts[key] = starts[key] + total
            if total == 0:
                continue
            for field in self.table.of(key):
                if field.name in other._data:
                    rows = self._copies(field, other, copies, starts)
                    self._write(field, starts[key], total, rows)
                elif field.name in self._data:
                    self._grow(field, starts[key], starts[key] + total)
        return starts

    def _copies(self, field: Field, other: Columns, copies: int, starts: dict[str, int]) -> np.ndarray | list[Any]:
        rows = other.view(field.name)
        if isinstance(rows, list):
            return rows * copies
        tiled = np.tile(rows, (copies,) + (1,) * (rows.ndim - 1))
        if field.refers_to is not None:
            target = str(field.refers_to)
            offsets = starts.get(target, 0) + np.arange(copies, dtype=tiled.dtype) * other.count(target)
            offsets = np.repeat(offsets, len(rows)).reshape((-1,) + (1,) * (rows.ndim - 1))
            tiled = np.where(tiled >= 0, tiled + offsets, tiled)
        return tiled

    def _write(self, field: Field, start: int, n: int, rows: np.ndarray | list[Any]) -> None:
        self._grow(field, start, start + n)[start : start + n] = rows

    def _materialise(self, field: Field, count: int) -> np.ndarray | list[Any]:
        if field.name not in self._data:
            self._data[field.name] = field.allocate(count if DTYPES[field.dtype].numpy is None else max(count, _BLOCK))
        return self._data[field.name]

    def _grow(self, field: Field, start: int, end: int) -> np.ndarray | list[Any]:
        column = self._materialise(field, start)
        if isinstance(column, list):
            column.extend([field.default] * (end - start))
            return column
        if len(column) < end:
            larger = field.allocate(max(end, 2 * len(column)))
            larger[:start] = column[:start]
            self._data[field.name] = column = larger
        return column


def _rows(field: Field, n: int, values: Any) -> np.ndarray | list[Any]:
    """Return ``n`` rows from ``n`` rows or from one row for all of them.

    Raises:
        ValueError: The value has the wrong shape.
    """
    dtype = DTYPES[field.dtype]
    if dtype.numpy is None:
        if not isinstance(values, (list, tuple, np.ndarray)):
            return [values] * n
        if len(values) != n:
            raise ValueError(f"{field.name}: expected {n} values, got {len(values)}")
        return list(values)
    shape = (n, *dtype.shape)
    try:
        return np.broadcast_to(np.asarray(values), shape)
    except ValueError as error:
        raise ValueError(f"{field.name}: expected shape {shape}, got {np.shape(values)}") from error
