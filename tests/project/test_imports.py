"""Imports go one way, USD stays in its rooms, and ``import usd_sim`` is light."""

from __future__ import annotations

import ast
import subprocess
import sys

import pytest
from project.sources import ROOT, imports, module_name, package_files, parse

BASE = {"errors", "geometry.types", "model.types", "model.fields"}
"""Modules that everything may import, and that import each other alone."""

LAYERS = (
    {"base"},
    {"geometry", "schemas", "stages"},
    {"model"},
    {"kinematics", "collision", "actuators", "stage"},
    {"solvers", "inputs"},
    {"simulation"},
    {"record", "live"},
    {"bake"},
    {"facade"},
    {"bench", "viewer"},
    {"usdview"},
    {"cli"},
    {"__main__"},
)
"""Rooms from the bottom up: a room imports itself and the layers below it, never its own layer or one above."""

USD_ROOMS = {"stage", "record", "live", "bake", "bench", "cli", "usdview", "viewer", "schemas", "stages"}
"""Rooms that may import ``pxr``."""

HEAVY = ("warp", "mujoco", "mujoco_warp", "pxr", "PySide6", "scipy")
"""What ``import usd_sim`` must not load."""

_RANK = {room: rank for rank, layer in enumerate(LAYERS) for room in layer}


def room_of(module: str) -> str:
    """Room of a module of the project: its first name under ``usd_sim``, unless it is one of ``BASE``."""
    names = module.split(".")[1:]
    if not names:
        return "facade"
    return "base" if {names[0], ".".join(names[:2])} & BASE else names[0]


def room_of_import(module: str) -> str:
    """Room that an import reaches; a name that is no room is one that the package itself offers."""
    room = room_of(module)
    names = module.split(".")
    # `from usd_sim import load` reads as module usd_sim.load; `from usd_sim import __version__` is harmless anywhere.
    if names[-1] == "__version__":
        return "base"
    return room if room in _RANK else "facade"


def edges() -> list[tuple[str, str, str, str]]:
    """Rows (importing room, imported module, its room or '', place) over all files of the packages."""
    rows = []
    for path in package_files():
        module = module_name(path)
        for found in imports(parse(path), module, is_package=path.name == "__init__.py"):
            ours = found.module.split(".")[0] == "usd_sim"
            target = room_of_import(found.module) if ours else ""
            rows.append((room_of(module), found.module, target, f"{path.relative_to(ROOT)}:{found.line}"))
    return rows


def test_every_room_has_a_layer():
    unknown = {module_name(path) for path in package_files() if room_of(module_name(path)) not in _RANK}
    assert not unknown, f"give these a place in LAYERS: {sorted(unknown)}"


def test_imports_go_one_way():
    back = [
        f"{place}: {source} imports {module} ({target})"
        for source, module, target, place in edges()
        if target and target != source and _RANK[target] >= _RANK.get(source, 0)
    ]
    assert not back, "\n".join(back)


def test_usd_is_imported_in_its_rooms_only():
    strays = [
        f"{place}: {source} imports {module}"
        for source, module, _, place in edges()
        if module.split(".")[0] == "pxr" and source not in USD_ROOMS
    ]
    assert not strays, "\n".join(strays)


@pytest.mark.parametrize(
    ("module", "room"),
    [
        ("usd_sim", "facade"),
        ("usd_sim.errors.UsdSimError", "base"),
        ("usd_sim.load", "facade"),
        ("usd_sim.__version__", "base"),
        ("usd_sim.model.fields.Field", "base"),
        ("usd_sim.model.builder", "model"),
        ("usd_sim.solvers.mujoco.solver", "solvers"),
        ("usd_sim.schemas", "schemas"),
    ],
)
def test_an_import_is_led_to_its_room(module: str, room: str):
    assert room_of_import(module) == room


def test_imports_inside_functions_count_and_those_for_type_checkers_do_not():
    text = """
from typing import TYPE_CHECKING
import usd_sim.errors
from . import units
if TYPE_CHECKING:
    from pxr import Usd
def load():
    from ..solvers.mujoco import SolverMuJoCo
"""
    found = {module for module, _ in imports(ast.parse(text), "usd_sim.stage.read", is_package=False)}
    assert found == {
        "typing.TYPE_CHECKING",
        "usd_sim.errors",
        "usd_sim.stage.units",
        "usd_sim.solvers.mujoco.SolverMuJoCo",
    }


def test_import_is_light():
    code = f"import sys, usd_sim; print(*[name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
