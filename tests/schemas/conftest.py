"""A fresh Python for each test that depends on the order in which USD learns about schemas."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

SCHEMAS = Path(__file__).resolve().parents[2] / "schemas"


@pytest.fixture
def run_python() -> Callable[..., Any]:
    """Runs a script in a new interpreter and returns what it prints as JSON in its last line.

    The variables are added to an environment that names no USD plugin.
    """

    def run(script: str, **variables: str) -> Any:
        environment = {name: value for name, value in os.environ.items() if name != "PXR_PLUGINPATH_NAME"}
        inherited = environment.get("PYTHONPATH")
        environment |= {"PYTHONDONTWRITEBYTECODE": "1", **variables}
        if inherited and "PYTHONPATH" in variables:
            environment["PYTHONPATH"] += os.pathsep + inherited
        done = subprocess.run(
            [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        assert not done.stderr, done.stderr
        return json.loads(done.stdout.splitlines()[-1])

    return run


@pytest.fixture
def other_package(tmp_path: Path) -> Path:
    """A folder for PYTHONPATH with a stand-in for newton-usd-schemas: the same types in a plugin named "newton"."""
    package = tmp_path / "site" / "newton_usd_schemas"
    package.mkdir(parents=True)
    shutil.copy(SCHEMAS / "generatedSchema.usda", package)
    plugin = (SCHEMAS / "plugInfo.json").read_text("utf-8").replace('"usdSimNewton"', '"newton"')
    (package / "plugInfo.json").write_text(plugin, "utf-8")
    (package / "__init__.py").write_text(
        "import os\nfrom pxr import Plug\nPlug.Registry().RegisterPlugins(os.path.dirname(__file__))\n", "utf-8"
    )
    return package.parent
