"""The writer of results: time samples onto a stage's own prims, in layers of their own.

A bake of ``robot.usda`` into ``out.usda`` leaves two files: ``out.results.usdc`` with the samples and ``out.usda``,
which sublayers the results over the source by a relative path. The source is only read. Both open with any USD.
"""

from __future__ import annotations

from usd_sim.record.instances import BodyOrigins
from usd_sim.record.recorder import Recorder, RecordResult

__all__ = ["BodyOrigins", "RecordResult", "Recorder"]
