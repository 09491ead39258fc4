"""The command ``usd-sim info``: what is on a stage, in numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from usd_sim.cli import output
from usd_sim.cli.options import Debug, Dialects, Json, Mask, Quiet, Scene, Start, Variants, split_names

if TYPE_CHECKING:
    from usd_sim.model.model import Model

__all__ = ["describe", "info"]


def info(
    stage: Annotated[str, typer.Argument(help="Stage to read.", show_default=False)],
    start: Start = None,
    scene: Scene = None,
    dialects: Dialects = None,
    variants: Variants = None,
    mask: Mask = None,
    as_json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Count what is on a stage: bodies, joints, shapes, masses, units, time settings. All values are SI."""
    from usd_sim.stage.diagnostics import collect
    from usd_sim.stage.load import load

    with collect():
        data = describe(
            load(
                stage,
                device="cpu",
                time=start,
                scene=scene,
                dialects=split_names(dialects),
                variants=variants or (),
                mask=mask or (),
                strict=False,
            )
        )
    if as_json:
        output.print_json(data)
    elif not quiet:
        _print_table(stage, data)


def describe(model: Model) -> dict[str, Any]:
    """Return what ``info --json`` prints of a model that was read from a stage.

    ``joints`` counts the joints that are authored on the stage; the free joints of loose bodies are not among them.
    """
    from pxr import UsdPhysics

    from usd_sim.model.types import JointType
    from usd_sim.solvers.base import name_of
    from usd_sim.stage.units import StageUnits

    units = StageUnits.of(model.stage)
    authored = [kind for kind, path in zip(model.joint_type.numpy(), model.joint_path, strict=True) if path]
    kinds: dict[str, int] = {}
    for kind in authored:
        name = JointType(int(kind)).name.lower()
        kinds[name] = kinds.get(name, 0) + 1
    mass = model.body_mass.numpy()
    return {
        "bodies": model.body_count,
        "joints": len(authored),
        "joint_types": kinds,
        "shapes": model.shape_count,
        "articulations": model.articulation_count,
        "dofs": model.joint_dof_count,
        "coords": model.joint_coord_count,
        "mass": float(mass.astype(float).sum()),
        "gravity": [float(value) + 0.0 for value in model.gravity.numpy()[0]],  # no -0
        "up_axis": units.up_axis,
        "meters_per_unit": units.meters_per_unit,
        "kilograms_per_unit": units.kilograms_per_unit,
        "dt": 1.0 / model.scene.steps_per_second,
        "fps": model.stage.GetTimeCodesPerSecond(),
        "worlds": model.world_count,
        "body_paths": [name_of(model, "body", row) for row in range(model.body_count)],
        "body_mass": [float(value) for value in mass],
        "body_inertia": [[float(x) for x in rows.ravel()] for rows in model.body_inertia.numpy()],
        "particles": getattr(model, "particle_count", 0),
        "scenes": [str(prim.GetPath()) for prim in model.stage.Traverse() if prim.IsA(UsdPhysics.Scene)],
    }


def _print_table(stage: str, data: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(title=Text(stage), show_header=False, title_justify="left")
    kinds = ", ".join(f"{count} {name}" for name, count in sorted(data["joint_types"].items()))
    gravity = ", ".join(f"{value:g}" for value in data["gravity"])
    rows = {
        "bodies": data["bodies"],
        "joints": f"{data['joints']} ({kinds})" if kinds else data["joints"],
        "shapes": data["shapes"],
        "articulations": data["articulations"],
        "degrees of freedom": f"{data['dofs']} ({data['coords']} coordinates)",
        "mass": f"{data['mass']:.6g} kg",
        "gravity": f"({gravity}) m/s²",
        "stage units": f"{data['meters_per_unit']:g} m, {data['kilograms_per_unit']:g} kg, {data['up_axis']} up",
        "time step": f"{data['dt']:g} s",
        "frame rate": f"{data['fps']:g} time codes per second",
        "scenes": ", ".join(data["scenes"]) or "none",
    }
    for name, value in rows.items():
        table.add_row(name, Text(str(value)))
    Console().print(table)
