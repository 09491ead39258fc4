"""USD-first physics simulation: a stage goes in, the same stage with time samples comes out.

Nothing heavy is imported until it is used.
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"

_PUBLIC = {
    "Axis": "usd_sim.model.types",
    "BakeResult": "usd_sim.bake.job",
    "BakeSettings": "usd_sim.bake.job",
    "Control": "usd_sim.model.state",
    "DivergenceError": "usd_sim.errors",
    "GeoType": "usd_sim.geometry.types",
    "JointTargetMode": "usd_sim.model.types",
    "JointType": "usd_sim.model.types",
    "Mesh": "usd_sim.geometry.mesh",
    "Model": "usd_sim.model.model",
    "ModelBuilder": "usd_sim.stage.builder",
    "ModelFlags": "usd_sim.model.types",
    "ShapeFlags": "usd_sim.model.types",
    "Simulation": "usd_sim.simulation",
    "State": "usd_sim.model.state",
    "UsdSimError": "usd_sim.errors",
    "UsdSimWarning": "usd_sim.errors",
    "bake": "usd_sim.bake",
    "load": "usd_sim.stage.load",
}

__all__ = sorted([*_PUBLIC, "__version__"])


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        module = importlib.import_module(_PUBLIC[name])
        value = module if module.__name__ == f"{__name__}.{name}" else getattr(module, name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'usd_sim' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
