"""The wheel holds everything that the checkout offers."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from project.sources import MAPPED, ROOT, module_name, package_files

PROBE = """
import json, pathlib
import usd_sim, usd_sim.schemas, usd_sim.stages
from pxr import Usd

usd_sim.schemas.register()
definition = Usd.SchemaRegistry().FindAppliedAPIPrimDefinition("NewtonSceneAPI")
print(json.dumps({
    "usd_sim": usd_sim.__file__,
    "schemas": usd_sim.schemas.__file__,
    "stages": sorted(path.name for path in pathlib.Path(usd_sim.stages.__file__).parent.glob("*.usda")),
    "properties": list(definition.GetPropertyNames()) if definition else [],
}))
"""

PLUGIN_PROBE = """
from pxr import Usd
print(*Usd.SchemaRegistry().FindAppliedAPIPrimDefinition("NewtonSceneAPI").GetPropertyNames())
"""


def _run(code: str, folder: Path, **environment: str) -> str:
    kept = {key: value for key, value in os.environ.items() if key not in ("PXR_PLUGINPATH_NAME", "PYTHONPATH")}
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        env=kept | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def _pip(*arguments: str | Path) -> None:
    command = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder into which the project's wheel is installed, without its dependencies."""
    source, wheels, target = (tmp_path_factory.mktemp(name) for name in ("source", "wheels", "target"))
    for name in ("usd_sim", *MAPPED):
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    _pip("wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", wheels, source)
    _pip("install", "--no-deps", "--no-index", "--target", target, *wheels.glob("*.whl"))
    return target


@pytest.mark.slow
def test_wheel_holds_every_module(installed: Path):
    modules = [module_name(path).split(".") for path in package_files()]
    missing = [
        ".".join(names)
        for names in modules
        if not installed.joinpath(*names, "__init__.py").exists()
        and not installed.joinpath(*names).with_suffix(".py").exists()
    ]
    assert missing == []


@pytest.mark.slow
def test_wheel_works_away_from_the_checkout(installed: Path, tmp_path: Path):
    seen = json.loads(_run(PROBE, tmp_path, PYTHONPATH=str(installed)))
    assert Path(seen["usd_sim"]).is_relative_to(installed)
    assert Path(seen["schemas"]).is_relative_to(installed)
    assert seen["stages"] == sorted(path.name for path in (ROOT / "stages").glob("*.usda"))
    assert "newton:timeStepsPerSecond" in seen["properties"]


@pytest.mark.slow
def test_plugin_folder_of_the_wheel_needs_no_python(installed: Path, tmp_path: Path):
    folder = _run("import usd_sim.schemas; print(usd_sim.schemas.path())", tmp_path, PYTHONPATH=str(installed)).strip()
    assert Path(folder).is_relative_to(installed)
    assert "newton:timeStepsPerSecond" in _run(PLUGIN_PROBE, tmp_path, PXR_PLUGINPATH_NAME=folder)


def test_plugin_folder_of_the_checkout_needs_no_python(tmp_path: Path):
    assert "newton:timeStepsPerSecond" in _run(PLUGIN_PROBE, tmp_path, PXR_PLUGINPATH_NAME=str(ROOT))
