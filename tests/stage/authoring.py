"""Small stages made from text, and what the reader makes of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from pxr import Sdf, Usd, UsdGeom

from usd_sim.geometry import transforms as tf
from usd_sim.model.binding import Binding
from usd_sim.model.builder import ModelBuilder
from usd_sim.model.model import Model
from usd_sim.stage.compile import compile_stage
from usd_sim.stage.read.scene import SceneSpec
from usd_sim.stage.report import Report

SINGLE = 1.0e-6
"""Rounding of single precision, in which USD stores most values and the model all, relative and absolute."""

CHAINED = 1.0e-5
"""The same after some multiplications of single-precision values."""


def stage_of(
    text: str,
    *,
    meters: float = 1.0,
    kilograms: float = 1.0,
    up: str = "Z",
    metadata: str = "",
) -> Usd.Stage:
    """Return a stage in memory.

    Args:
        text: Prims in .usda syntax; "; " stands for a new line, as do the braces of one-line prims.
        meters: metersPerUnit.
        kilograms: kilogramsPerUnit.
        up: Up axis.
        metadata: Further layer metadata.
    """
    header = (
        f'#usda 1.0\n(\n metersPerUnit = {meters}\n kilogramsPerUnit = {kilograms}\n upAxis = "{up}"\n {metadata}\n)\n'
    )
    text = text.replace("{ ", "{\n").replace("; ", "\n").replace(" }", "\n}")
    layer = Sdf.Layer.CreateAnonymous(".usda")
    assert layer.ImportFromString(header + text)
    return Usd.Stage.Open(layer)


@dataclass
class Read:
    """What came of a stage; fields of the model are arrays by row, ``read.body("/A")`` and the like give rows."""

    stage: Usd.Stage
    model: Model
    builder: ModelBuilder
    scene: SceneSpec
    report: Report

    def __getattr__(self, name: str) -> Any:
        value = self.model.array(name)
        return value.numpy() if hasattr(value, "numpy") else value

    def _row(self, frequency: str, path: str) -> int:
        rows = self.model.binding.rows(frequency, path)
        assert len(rows) == 1, f"{path} has rows {rows} of {frequency}"
        return rows[0]

    def body(self, path: str) -> int:
        """Return the row of a body."""
        return self._row("body", path)

    def shape(self, path: str) -> int:
        """Return the row of a collider."""
        return self.model.array("shape_path").index(path)

    def joint(self, path: str) -> int:
        """Return the row of a joint."""
        return self._row("joint", path)

    def dof(self, path: str, name: str | None = None) -> int:
        """Return the row of a degree of freedom."""
        rows = self.model.binding.rows("joint_dof", path)
        if name is not None:
            rows = [row for row in rows if self.model.array("joint_dof_name")[row] == name]
        assert len(rows) == 1, f"{path} has rows {rows}"
        return rows[0]

    def said(self, kind: str, prim: str, text: str = "", property: str | None = None) -> bool:
        """Whether the report has an entry on a prim whose message holds some text."""
        return any(
            entry.prim == prim and text in entry.message and (property is None or entry.property == property)
            for entry in getattr(self.report, kind)
        )


def read(source: str | Usd.Stage, *, time: float | None = None, strict: bool = True, **units: Any) -> Read:
    """Compile a stage, or the text of one, into a model."""
    stage = stage_of(source, **units) if isinstance(source, str) else source
    builder = ModelBuilder()
    scene, report = compile_stage(stage, builder, time=time)
    if strict:
        report.raise_errors()
    model = builder.finalize("cpu", skip_validation_joints=True)
    model.binding = Binding(model)
    return Read(stage, model, builder, scene, report)


def world_matrix(stage: Usd.Stage, path: str, time: float | None = None) -> np.ndarray:
    """Return USD's own local-to-world matrix (4, 4), row-vector convention."""
    when = Usd.TimeCode(stage.GetStartTimeCode() if time is None else time)
    return np.array(UsdGeom.XformCache(when).GetLocalToWorldTransform(stage.GetPrimAtPath(path)))


def shape_in_world(result: Read, path: str) -> np.ndarray:
    """Return the frame of a shape in world (7,)."""
    row = result.shape(path)
    body = result.shape_body[row]
    base = result.body_q[body] if body >= 0 else tf.identity_transform(1)[0]
    return tf.transform_multiply(base, result.shape_transform[row])


BOX = """
def Cube "{name}" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsCollisionAPI"{apis}])
{{
    double size = 1
    {text}
}}
"""


def box(name: str, text: str = "", apis: str = "") -> str:
    """Return a cube that is body and collider."""
    quoted = "".join(f', "{api}"' for api in apis.split())
    return BOX.format(name=name, text=text, apis=quoted)
