"""The command ``usd-sim schemas``."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from usd_sim import schemas
from usd_sim.cli.schemas import schemas as command
from usd_sim.errors import ExitCode, UsdSimError

application = typer.Typer()
application.command()(command)


def call(*arguments: str) -> Any:
    return CliRunner().invoke(application, arguments)


def test_listing_has_every_schema_and_property():
    result = call()
    assert result.exit_code == ExitCode.DONE
    lines = {line.strip().split(" ")[0] for line in result.output.splitlines()}
    expected = {schema.name for schema in schemas.definitions()} | {entry.name for _, entry in schemas.properties()}
    assert expected <= lines


def test_listing_of_one_schema():
    output = call("meshcollision").output
    assert "Comes with: NewtonCollisionAPI, PhysicsMeshCollisionAPI" in output
    assert "Applies to: Mesh" in output
    assert "newton:maxHullVertices" in output
    assert "NewtonJointAPI" not in output


def test_markdown_is_the_documentation_page():
    assert call("--markdown").output == schemas.markdown()


def test_markdown_of_one_schema():
    output = call("NewtonJointAPI", "--markdown").output
    assert output.startswith("## NewtonJointAPI\n")
    assert output.count("## ") == 1
    assert "| `newton:velocityLimit` | float | `inf` | at least 0 | angular: degree / second;" in output


def test_path():
    assert call("--path").output == f"{schemas.path()}\n"


def test_json_is_strict_and_complete():
    data = json.loads(call("--json").output, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    assert [schema["name"] for schema in data] == [schema.name for schema in schemas.definitions()]
    (gap,) = (p for s in data for p in s["properties"] if p["name"] == "newton:contactGap")
    assert gap["fallback"] == "-inf"
    assert gap["hard_limits"] == [0.0, None]
    assert gap["units"] == "distance"


def test_unknown_name():
    with pytest.raises(UsdSimError, match="no schema has 'nothing' in its name") as caught:
        command(name="nothing", markdown=False, path=False, as_json=False)
    assert caught.value.exit_code == ExitCode.USAGE


def test_two_outputs_at_once_are_refused():
    result = call("--json", "--path")
    assert result.exit_code == ExitCode.USAGE
    assert "choose one of" in result.output


def test_importing_the_command_is_cheap():
    script = "import sys, usd_sim.cli.schemas; print([m for m in ('pxr', 'rich.table', 'warp') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
