"""Baking: stages in, stages with time samples out.

The package is also the function: ``usd_sim.bake("in.usda", "out.usda")`` is ``usd_sim.bake.bake(...)``.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from usd_sim.bake.job import BakeResult, BakeSettings, Progress, bake

__all__ = ["BakeResult", "BakeSettings", "Progress", "bake"]


class _CallablePackage(ModuleType):
    def __call__(self, *args: Any, **settings: Any) -> BakeResult:
        return bake(*args, **settings)


sys.modules[__name__].__class__ = _CallablePackage
