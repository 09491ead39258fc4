"""From a file or a stage to a Model with its Binding and Report."""

from __future__ import annotations

import gc
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pxr import Usd

from usd_sim.errors import UsdSimError
from usd_sim.model.builder import ModelBuilder
from usd_sim.model.model import Model
from usd_sim.model.types import Axis
from usd_sim.stage.compile import compile_stage
from usd_sim.stage.open import open_stage

__all__ = ["load"]


def load(
    source: str | Path | Usd.Stage,
    *,
    device: Any = None,
    time: float | None = None,
    scene: str | None = None,
    keyframe: str | None = None,
    dialects: Sequence[str] | None = None,
    variants: Sequence[str] = (),
    mask: Sequence[str] = (),
    strict: bool = True,
) -> Model:
    """Read a stage into a Model.

    Args:
        source: Path of a stage, or an open stage.
        device: Warp device that the arrays are put on.
        time: Time code that the simulation starts at, and that values and poses are read at; the stage's start if not
            given.
        scene: Prim path of the only physics scene to simulate; all of them if not given.
        keyframe: Path or name of the MjcKeyframe prim to start from; the poses of the stage if not given.
        dialects: Families of properties to read besides UsdPhysics, in order of precedence; "newton", "mjc" and "physx"
            if not given.
        variants: Variant selections to make on a stage given by its path, each as ``/Prim:set=variant``.
        mask: Paths of the only prims to load of a stage given by its path; all if empty.
        strict: Raise the first error of the report rather than leave it there.

    Returns:
        The model; ``model.binding`` leads from rows to prims, ``model.report`` says what became of every property,
        ``model.scene`` what the stage says about the simulation, ``model.stage`` is the stage.

    Raises:
        UsdSimError: The file cannot be read, or (with ``strict``) the stage cannot be simulated.
    """
    if time is not None and not math.isfinite(time):
        raise UsdSimError(f"the start is {time}", remedy="give a time code")
    stage = source if isinstance(source, Usd.Stage) else open_stage(source, variants=variants, mask=mask)
    collecting = gc.isenabled()
    gc.disable()  # hundreds of thousands of small objects, none of them in cycles
    try:
        builder = ModelBuilder(up_axis=Axis.Z)
        spec, report = compile_stage(stage, builder, time=time, scene=scene, keyframe=keyframe, dialects=dialects)
        if strict:
            report.raise_errors()
        model = builder.finalize(device, skip_validation_joints=True)
    finally:
        if collecting:
            gc.enable()
    model.report, model.scene, model.stage = report, spec, stage
    return model
