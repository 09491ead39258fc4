"""Samples of many attributes, from arrays into layers.

A channel is one quantity of many prims that share a value type, such as the double3 translations of all bodies.
Values go from numpy through one Vt array, whose elements are set attribute by attribute: neighbouring samples of
one attribute are set in a row, which is faster than going through all attributes frame by frame.
"""

from __future__ import annotations

import gc
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pxr import Sdf, Vt

__all__ = ["Channel", "declare", "group_channels", "set_samples"]

_ARRAYS: dict[str, tuple[Any, Any]] = {
    "double3": (Vt.Vec3dArray, np.float64),
    "float3": (Vt.Vec3fArray, np.float32),
    "vector3f": (Vt.Vec3fArray, np.float32),
    "quatd": (Vt.QuatdArray, np.float64),
    "quatf": (Vt.QuatfArray, np.float32),
    "double": (Vt.DoubleArray, np.float64),
    "float": (Vt.FloatArray, np.float32),
}
"""Value types that a channel can have: Vt array and numpy type. Vt keeps quaternions in the order x, y, z, w."""


@dataclass(frozen=True, eq=False)
class Channel:
    """One quantity of many prims.

    Attributes:
        quantity: Key of the values, such as ``"translate"``.
        type_name: Value type of the attributes.
        rows: Columns of the quantity's array that feed the attributes, one each.
        attributes: Paths of the attributes.
        custom: Whether the attributes belong to no schema.
    """

    quantity: str
    type_name: str
    rows: NDArray[np.int64]
    attributes: list[Sdf.Path]
    custom: bool = False


def group_channels(
    quantity: str, attributes: Sequence[Sdf.Path], type_names: Sequence[str], *, custom: bool = False
) -> list[Channel]:
    """Return one channel per value type.

    Args:
        quantity: Key of the values.
        attributes: Paths, one per column of the quantity's array.
        type_names: Value type of each.
        custom: Whether the attributes belong to no schema.
    """
    types = np.asarray(type_names, object)
    return [
        Channel(quantity, name, rows, [attributes[row] for row in rows.tolist()], custom)
        for name in dict.fromkeys(type_names)
        for rows in [np.flatnonzero(types == name)]
    ]


def declare(layer: Sdf.Layer, channels: Sequence[Channel]) -> None:
    """Create the attributes of channels in a layer, without values; prims that are missing become overs."""
    with Sdf.ChangeBlock():
        for channel in channels:
            value_type = Sdf.ValueTypeNames.Find(channel.type_name)
            for path in channel.attributes:
                Sdf.JustCreatePrimAttributeInLayer(layer, path, value_type, Sdf.VariabilityVarying, channel.custom)


def set_samples(
    layer: Sdf.Layer, channels: Sequence[Channel], time_codes: Sequence[float], values: dict[str, NDArray[Any]]
) -> None:
    """Set time samples of declared channels.

    Args:
        layer: The layer; cheapest when no stage is open on it.
        channels: What to write.
        time_codes: Times, ``(frame_count,)``.
        values: Array per quantity, ``(frame_count, column_count, ...)``.
    """
    count = len(time_codes)
    set_sample = layer.SetTimeSample
    with Sdf.ChangeBlock(), _no_garbage_collection():
        for channel in channels:
            array_type, dtype = _ARRAYS[channel.type_name]
            columns = values[channel.quantity][:, channel.rows].swapaxes(0, 1)
            flat = np.ascontiguousarray(columns, dtype).reshape(-1, *columns.shape[2:])
            samples = list(array_type.FromNumpy(flat))
            for start, path in zip(range(0, len(samples), count), channel.attributes, strict=True):
                # a deque of length 0 runs the calls without a Python loop
                deque(map(set_sample, repeat(path), time_codes, samples[start : start + count]), maxlen=0)


@contextmanager
def _no_garbage_collection() -> Iterator[None]:
    """Hold back Python's cycle collector, a sixth of the time: samples are many objects, but without cycles."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
