"""What became of every physics prim and property of a stage: used, approximated, ignored, or an error."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from usd_sim.errors import UsdSimError

__all__ = ["Entry", "Report"]


class Entry(NamedTuple):
    """One line of the report.

    Attributes:
        prim: Path of the prim.
        property: Name of the property; empty where the whole prim is meant.
        message: What happened and why.
        remedy: What the user can do; empty where nothing needs doing.
    """

    prim: str
    property: str
    message: str
    remedy: str = ""

    def __str__(self) -> str:
        name = f"{self.prim}.{self.property}" if self.property else self.prim
        return f"{name}: {self.message}" + (f" ({self.remedy})" if self.remedy else "")


@dataclass
class Report:
    """Everything that reading a stage has to say.

    Attributes:
        errors: What makes the stage impossible to simulate.
        approximated: What is simulated, but not exactly as authored.
        ignored: What has no effect.
        used_count: Number of properties that were used as authored.
    """

    errors: list[Entry] = field(default_factory=list)
    approximated: list[Entry] = field(default_factory=list)
    ignored: list[Entry] = field(default_factory=list)
    used_count: int = 0

    def error(self, prim: Any, message: str, *, property: str = "", remedy: str = "") -> None:
        """Note something that makes the stage impossible to simulate."""
        self.errors.append(Entry(str(prim), property, message, remedy))

    def approximate(self, prim: Any, message: str, *, property: str = "", remedy: str = "") -> None:
        """Note something that is simulated differently from what is authored."""
        self.approximated.append(Entry(str(prim), property, message, remedy))

    def ignore(self, prim: Any, message: str, *, property: str = "", remedy: str = "") -> None:
        """Note something that has no effect."""
        self.ignored.append(Entry(str(prim), property, message, remedy))

    def raise_errors(self) -> None:
        """Raise the first error, if there is one.

        Raises:
            UsdSimError: Names the first error and how many more there are.
        """
        if self.errors:
            first, more = self.errors[0], len(self.errors) - 1
            message = first.message + (f"; and {more} more, see usd-sim check" if more else "")
            prim = f"{first.prim}.{first.property}" if first.property else first.prim
            raise UsdSimError(message, prim=prim, remedy=first.remedy or None)

    def to_json(self) -> dict[str, Any]:
        """Return the report as plain data."""
        return {
            "errors": [entry._asdict() for entry in self.errors],
            "ignored": [entry._asdict() for entry in self.ignored],
            "approximated": [entry._asdict() for entry in self.approximated],
            "used_count": self.used_count,
        }

    def summary(self) -> str:
        """Return the counts in one line."""
        return (
            f"{self.used_count} used, {len(self.approximated)} approximated, "
            f"{len(self.ignored)} ignored, {len(self.errors)} errors"
        )
