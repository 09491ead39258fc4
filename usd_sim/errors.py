"""Errors that a user can act on, and the exit codes of the command line."""

from __future__ import annotations

from enum import IntEnum

__all__ = ["DivergenceError", "ExitCode", "UsdSimError", "UsdSimWarning"]


class ExitCode(IntEnum):
    """Exit codes of the ``usd-sim`` command."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    DIVERGED = 3
    INTERRUPTED = 130


class UsdSimWarning(UserWarning):
    """A part of the model that will not be honoured exactly."""


class UsdSimError(Exception):
    """A mistake in the input or the environment, told in one line.

    Args:
        message: What is wrong.
        prim: Path of the prim or file that it concerns, if any.
        remedy: What to do about it.
        exit_code: Exit code that the command line ends with.
    """

    def __init__(
        self,
        message: str,
        *,
        prim: str | None = None,
        remedy: str | None = None,
        exit_code: ExitCode = ExitCode.FAILED,
    ):
        self.message = message
        self.prim = prim
        self.remedy = remedy
        self.exit_code = exit_code
        super().__init__(message)

    def __str__(self) -> str:
        where = f"{self.prim}: " if self.prim else ""
        advice = f" ({self.remedy})" if self.remedy else ""
        return f"{where}{self.message}{advice}"


class DivergenceError(UsdSimError):
    """The state went non-finite or ran away.

    Args:
        time: Simulated time of the first bad frame [s].
        prims: Paths of the bodies that went bad.
    """

    def __init__(self, message: str, *, time: float, prims: list[str], remedy: str | None = None):
        super().__init__(message, prim=prims[0] if prims else None, remedy=remedy, exit_code=ExitCode.DIVERGED)
        self.time = time
        self.prims = prims
