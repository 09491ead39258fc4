"""How the quantities of a prototype grow with its size, found by trial.

Three copies of a prototype of sizes 1, 2 and 3 went through the readers. Where every number of theirs grows by a whole
power of the size (lengths by 1, masses by 3 or 0, inertias by 5, 2 or 0 …), one copy and those powers say what an
instance of any size is. Where one does not, as the mass of a body of which only some colliders state theirs, each size
must be read on its own.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from usd_sim.model.columns import Columns
from usd_sim.model.fields import DTYPES, Field
from usd_sim.stage.read.stretches import PROBES

__all__ = ["Powers", "find_powers"]

Powers = dict[str, np.ndarray]
"""Field to the power of each number of each row, for fields that grow."""

_HIGHEST = 6

_ROUNDING = 2.0e-6
"""Relative to the largest number of its kind in a row, what single precision leaves after some operations."""

_BLOCKS = {"transform": (3, 7), "spatial_vector": (3, 6)}
"""Where the parts of unlike units end in rows of some types."""


def find_powers(
    columns: Columns, groups: dict[str, np.ndarray], probes: list[tuple[int, int, int]]
) -> tuple[Powers, set[int]]:
    """Return by which power of the size all numbers grow.

    Args:
        columns: Rows of the copies.
        groups: Group of each row of every frequency.
        probes: Groups of the copies of sizes 1, 2 and 3.

    Returns:
        The powers, for the rows of size 1, and the first group of the probes that follow no such law.
    """
    powers: Powers = {}
    failed: set[int] = set()
    for frequency, group in groups.items():
        for probe in probes:
            rows = [np.flatnonzero(group == number) for number in probe]
            if len({len(some) for some in rows}) > 1:
                failed.add(probe[0])
                continue
            if len(rows[0]) == 0:
                continue
            for field in columns.table.of(frequency):
                if columns.is_set(field.name) and not _add(columns, field, rows, powers):
                    failed.add(probe[0])
    return powers, failed


def _add(columns: Columns, field: Field, rows: list[np.ndarray], powers: Powers) -> bool:
    """Note the powers of a field in the first of three sets of rows; return whether there are any."""
    column: Any = columns.view(field.name)
    dtype = DTYPES[field.dtype].numpy
    if field.dtype == "str" or field.refers_to is not None:
        return True  # names and structure do not depend on sizes
    if dtype is None:
        return all(column[a] is column[b] is column[c] for a, b, c in zip(*(r.tolist() for r in rows), strict=True))
    values = [np.asarray(column)[some].reshape(len(rows[0]), -1) for some in rows]
    if not np.issubdtype(dtype, np.floating):
        return all(np.array_equal(values[0], other) for other in values[1:])
    found = np.zeros(values[0].shape)
    start = 0
    for end in _BLOCKS.get(field.dtype, (values[0].shape[1],)):
        parts = [value[:, start:end].astype(float) for value in values]
        if field.dtype == "transform" and start:  # a quaternion and its negative are the same rotation
            parts = [np.where(np.sum(part * parts[0], axis=1, keepdims=True) < 0, -part, part) for part in parts]
        block = _powers(parts)
        if block is None:
            return False
        found[:, start:end], start = block, end
    if found.any():
        shape = np.asarray(column).shape
        powers.setdefault(field.name, np.zeros(shape))[rows[0]] = found.reshape(len(rows[0]), *shape[1:])
    return True


def _powers(values: list[np.ndarray]) -> np.ndarray | None:
    """Return the power of each number (r, c), or None where one follows none.

    Small numbers beside large ones grow like these if they can.
    """
    first, *others = values
    endless = ~np.isfinite(first)
    if any(not np.array_equal(first[endless], other[endless]) for other in others):
        return None
    first, others = np.where(endless, 0.0, first), [np.where(endless, 0.0, other) for other in others]
    fits = np.ones((_HIGHEST, *first.shape), dtype=bool)
    for other, size in zip(others, PROBES[1:], strict=True):
        bound = _ROUNDING * np.abs(other).max(axis=1, initial=0.0)[:, None]
        for power in range(_HIGHEST):
            fits[power] &= np.abs(other - first * size**power) <= bound
    if not fits.any(axis=0).all():
        return None
    found = fits.argmax(axis=0)
    largest = np.take_along_axis(found, np.abs(first).argmax(axis=1)[:, None], axis=1)
    likewise = np.take_along_axis(fits, np.broadcast_to(largest, first.shape)[None], axis=0)[0]
    return np.where(likewise, largest, found).astype(float)
