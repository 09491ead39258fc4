"""What USD itself has to say: collected instead of printed, and its errors as one line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["Diagnostics", "collect", "explain"]


class Diagnostics:
    """USD's warnings and status messages since :func:`collect` began, each once, in order."""

    def __init__(self) -> None:
        from pxr import UsdUtils

        self._delegate = UsdUtils.CoalescingDiagnosticDelegate()
        self._lines: dict[str, None] = {}

    def lines(self) -> list[str]:
        """Return what has come so far, one line each."""
        for item in self._delegate.TakeUncoalescedDiagnostics():
            text = " ".join(item.commentary.split())
            if text:
                self._lines.setdefault(text)
        return list(self._lines)


@contextmanager
def collect() -> Iterator[Diagnostics]:
    """Keep USD from printing to the standard error stream, and hold what it would have printed."""
    found = Diagnostics()
    try:
        yield found
    finally:
        found.lines()
        del found._delegate


def explain(error: BaseException) -> str:
    """Return an exception as one line that names its type; of USD's errors, what the first one says."""
    details = error.args[0] if error.args else None
    text = getattr(details, "commentary", None) or str(error)
    name = "USD" if hasattr(details, "commentary") else type(error).__name__
    line = " ".join(text.split())
    return f"{name}: {line}" if line else name
