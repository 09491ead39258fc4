"""ModelBuilder as users know it: the rows of a model, made by code or taken from stages."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pxr import Usd

from usd_sim.model import builder as rows
from usd_sim.model.fields import Frequency
from usd_sim.stage.compile import compile_stage
from usd_sim.stage.open import open_stage

__all__ = ["ModelBuilder"]


class ModelBuilder(rows.ModelBuilder):
    """Collects bodies, joints, shapes and articulations, from code and from stages.

    See :class:`usd_sim.model.builder.ModelBuilder` for its calls.
    """

    def add_usd(
        self,
        source: str | Path | Usd.Stage,
        *,
        xform: Any = None,
        time: float | None = None,
        scene: str | None = None,
        dialects: Sequence[str] | None = None,
    ) -> dict[str, Any]:
        """Append everything that a stage holds. The first stage of an empty builder also sets its gravity.

        Args:
            source: Path of a stage, or an open stage.
            xform: Transform (7,) [m, xyzw] that the stage's world is placed by.
            time: Time code that values and poses are read at; the stage's start if not given.
            scene: Prim path of the only physics scene to read; all of them if not given.
            dialects: Families of properties to read besides UsdPhysics, in order of precedence.

        Returns:
            ``path_body_map``, ``path_joint_map`` and ``path_shape_map`` lead from prim paths to the first of their
            rows, ``report`` says what became of every property, ``scene`` what the stage says about the simulation.

        Raises:
            UsdSimError: The file cannot be read, or the stage cannot be simulated.
        """
        stage = source if isinstance(source, Usd.Stage) else open_stage(source)
        part = rows.ModelBuilder(up_axis=self.up_axis)
        spec, report = compile_stage(stage, part, time=time, scene=scene, dialects=dialects)
        report.raise_errors()
        if not self.columns.count(Frequency.BODY) and not self.columns.count(Frequency.SHAPE):
            self.gravity_vector = part.gravity_vector
        first = {name: self.columns.count(name) for name in ("body", "joint", "shape")}
        self.add_builder(part, xform=xform)
        return {
            **{f"path_{name}_map": _first_rows(part, name, start) for name, start in first.items()},
            "report": report,
            "scene": spec,
        }


def _first_rows(part: rows.ModelBuilder, frequency: str, start: int) -> dict[str, int]:
    found: dict[str, int] = {}
    for row, path in enumerate(part.columns.view(f"{frequency}_path")):
        if path:
            found.setdefault(path, start + row)
    return found
