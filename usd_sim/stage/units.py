"""The one boundary between stage units and SI, both ways.

A dimension is a product of powers of mass, length and angle; time is in seconds everywhere. Inside the simulator all
values are SI and radians; on a stage they are in its own units and degrees.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from pxr import Usd, UsdGeom, UsdPhysics

from usd_sim.errors import UsdSimError

__all__ = ["DIMENSIONS", "StageUnits"]

# (mass, length, angle) exponents
DIMENSIONS: dict[str, tuple[int, int, int]] = {
    "": (0, 0, 0),
    "m": (0, 1, 0),
    "m/s": (0, 1, 0),
    "m/s²": (0, 1, 0),
    "kg": (1, 0, 0),
    "kg/m³": (1, -3, 0),
    "kg·m²": (1, 2, 0),
    "deg": (0, 0, 1),
    "deg/s": (0, 0, 1),
    "1/deg": (0, 0, -1),
    "N": (1, 1, 0),
    "N·m": (1, 2, 0),
    "N/m": (1, 0, 0),
    "N/m³": (1, -2, 0),
    "N·s/m": (1, 0, 0),
    "N·m/deg": (1, 2, -1),
    "N·m·s/deg": (1, 2, -1),
    "rad": (0, 0, 0),
    "N·m/rad": (1, 2, 0),
    "N·m·s/rad": (1, 2, 0),
    "kg/(m·s)": (1, -1, 0),
}


@dataclass(frozen=True)
class StageUnits:
    """Units of a stage.

    Attributes:
        meters_per_unit: Length of one stage unit [m].
        kilograms_per_unit: Mass of one stage unit [kg].
        up_axis: "Y" or "Z".
    """

    meters_per_unit: float = 1.0
    kilograms_per_unit: float = 1.0
    up_axis: str = "Z"

    @classmethod
    def of(cls, stage: Usd.Stage) -> StageUnits:
        """Read the units of a stage.

        Raises:
            UsdSimError: A unit is not a positive number.
        """
        length = UsdGeom.GetStageMetersPerUnit(stage)
        mass = UsdPhysics.GetStageKilogramsPerUnit(stage)
        for name, value in (("metersPerUnit", length), ("kilogramsPerUnit", mass)):
            if not (math.isfinite(value) and value > 0):
                raise UsdSimError(
                    f"{name} is {value}", prim=stage.GetRootLayer().identifier, remedy="author a positive number"
                )
        return cls(length, mass, str(UsdGeom.GetStageUpAxis(stage)))

    def factor(self, dimension: str) -> float:
        """Return what a stage value is multiplied by to be SI.

        Raises:
            KeyError: The dimension is not one of :data:`DIMENSIONS`.
        """
        mass, length, angle = DIMENSIONS[dimension]
        return self.kilograms_per_unit**mass * self.meters_per_unit**length * math.radians(1.0) ** angle

    def to_si(self, value: Any, dimension: str) -> Any:
        """Convert a number or an array from stage units to SI."""
        factor = self.factor(dimension)
        return value if factor == 1.0 else value * factor

    def from_si(self, value: Any, dimension: str) -> Any:
        """Convert a number or an array from SI to stage units."""
        factor = self.factor(dimension)
        return value if factor == 1.0 else value / factor

    @property
    def up(self) -> np.ndarray:
        """Unit vector of the up axis (3,)."""
        return np.array([0.0, 1.0, 0.0]) if self.up_axis == "Y" else np.array([0.0, 0.0, 1.0])
