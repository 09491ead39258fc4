"""Starting Warp without its banner, and finding a device by name.

Warp 1.19 says two things when it starts: a banner, which its log level turns off, and on machines without an NVIDIA
driver one line that its native library prints, which nothing turns off. That line alone is taken out here.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import warp as wp

from usd_sim.errors import ExitCode, UsdSimError

__all__ = ["find_device", "start"]

_NO_DRIVER = b"Could not find or load the NVIDIA CUDA driver"

_started = False


def start() -> None:
    """Start Warp, quietly unless ``warp.config.log_level`` asks for debug output. Later calls do nothing."""
    global _started
    if _started:
        return
    if wp.config.log_level > wp.LOG_DEBUG:
        wp.config.log_level = max(wp.config.log_level, wp.LOG_WARNING)
        with _without_driver_line():
            wp.init()
    else:
        wp.init()
    _started = True


def find_device(name: str | None = None) -> Any:
    """Return a Warp device.

    Args:
        name: "cpu", "cuda" or "cuda:N"; Warp's default device if not given.

    Raises:
        UsdSimError: This machine has no such device.
    """
    start()
    try:
        return wp.get_device(name)
    except (RuntimeError, ValueError) as error:
        known = ", ".join(str(device) for device in wp.get_devices())
        raise UsdSimError(
            f"there is no device {name!r} on this machine", remedy=f"choose one of: {known}", exit_code=ExitCode.USAGE
        ) from error


@contextmanager
def _without_driver_line() -> Iterator[None]:
    """Hold back what is printed to the standard error stream, then let through all but the line about the driver."""
    try:
        sys.stderr.flush()
        saved = os.dup(2)
    except (AttributeError, OSError, ValueError):  # no standard error stream
        yield
        return
    read_end, write_end = os.pipe()  # holds 64 KiB, of which starting Warp fills less than 1
    os.dup2(write_end, 2)
    os.close(write_end)
    try:
        yield
    finally:
        sys.stderr.flush()
        os.dup2(saved, 2)
        os.close(saved)
        with open(read_end, "rb") as held:
            for line in held:
                if _NO_DRIVER not in line:
                    os.write(2, line)
