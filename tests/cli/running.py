"""Running the command line, and stages with something wrong on them."""

from __future__ import annotations

import contextlib
import io
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from usd_sim.cli.main import main


@dataclass
class Run:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def complaints(self) -> list[str]:
        """Lines on standard error."""
        return self.err.splitlines()


def run(*arguments: object) -> Run:
    """Run a command in this process."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main([str(argument) for argument in arguments])
    return Run(code, out.getvalue(), err.getvalue())


def run_process(*arguments: object, **options: object) -> Run:
    """Run a command in a process of its own."""
    command = [sys.executable, "-m", "usd_sim", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)  # type: ignore[call-overload]
    return Run(done.returncode, done.stdout, done.stderr)


HEAD = """#usda 1.0
(
    defaultPrim = "W"
    metersPerUnit = 1
    upAxis = "Z"
    timeCodesPerSecond = 60
)
"""

BOX = """    def Cube "{name}" (
        prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsCollisionAPI", "PhysicsMassAPI"]
    ) {{
        double3 xformOp:translate = ({x}, 0, 2)
        uniform token[] xformOpOrder = ["xformOp:translate"]
        {more}
    }}
"""


def box(name: str = "Box", x: float = 0.0, more: str = "") -> str:
    """Return a free box as text."""
    return BOX.format(name=name, x=x, more=more)


def write(folder: Path, *prims: str, name: str = "stage.usda", head: str = HEAD) -> Path:
    """Write a stage of some prims under /W."""
    path = folder / name
    path.write_text(f'{head}def Xform "W" {{\n    def PhysicsScene "Scene" {{}}\n{"".join(prims)}}}\n')
    return path


def names(folder: Path) -> set[str]:
    """Return what lies in a folder, hidden files too."""
    return {path.name for path in folder.iterdir()}
