"""When and by whom the schemas become known. Each case is a Python process of its own, as USD reads schemas once."""

from __future__ import annotations

import importlib.metadata
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from usd_sim import schemas
from usd_sim.schemas.definitions import FOLDER

Run = Callable[..., Any]

STATE = """
import json, warnings
from pxr import Plug, Tf, Usd
stage = Usd.Stage.CreateInMemory()
scene = stage.DefinePrim("/Scene", "PhysicsScene")
scene.AddAppliedSchema("NewtonXpbdSceneAPI")
rate = scene.GetAttribute("newton:timeStepsPerSecond").Get()
declared = Tf.Type.FindByName("UsdSchemaBase").FindDerivedByName("NewtonSceneAPI")
plugin = None if declared.isUnknown else Plug.Registry().GetPluginForType(declared).name
print(json.dumps({"rate": rate, "plugin": plugin, **globals().get("told", {})}))
"""
"""What a process can do with the schemas in the end, and whose they are; with what the script has put into ``told``."""

RECORD = """
import warnings
from usd_sim import schemas
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    results = [schemas.register(), schemas.register()]
told = {"results": results, "warnings": [f"{w.category.__name__}: {w.message}" for w in caught]}
"""
"""Registers twice and keeps the results and warnings."""

USE_USD = 'from pxr import Usd\nused = Usd.Stage.CreateInMemory()\nused.DefinePrim("/A", "Cube").GetPropertyNames()\n'
"""Makes USD read its schemas."""

OURS, THEIRS = "usdSimNewton", "newton"


def real_package() -> str | None:
    """Folder of the real newton-usd-schemas, if it is installed."""
    try:
        return str(importlib.metadata.distribution("newton-usd-schemas").locate_file(""))
    except importlib.metadata.PackageNotFoundError:
        return None


def replace(plugin: Path, old: str, new: str) -> None:
    """Replaces a piece of the names of a plugin's schemas."""
    for name in ("plugInfo.json", "generatedSchema.usda"):
        text = (plugin / name).read_text("utf-8")
        assert old in text
        (plugin / name).write_text(text.replace(old, new), "utf-8")


@pytest.fixture(params=["stand-in", "real"])
def package(request: pytest.FixtureRequest, other_package: Path) -> str:
    """A folder for PYTHONPATH in which a package newton_usd_schemas lies."""
    if request.param == "stand-in":
        return str(other_package)
    found = real_package()
    if found is None:
        pytest.skip("newton-usd-schemas is not installed")
    return found


@pytest.fixture
def alone() -> None:
    if real_package() is not None:
        pytest.skip("newton-usd-schemas is installed, so its schemas are taken")


@pytest.mark.usefixtures("alone")
class TestAlone:
    def test_unregistered_schemas_do_not_work(self, run_python: Run):
        """Guards the other tests: without registration there is nothing to see."""
        assert run_python(STATE) == {"rate": None, "plugin": None}

    def test_register_works_and_may_be_repeated(self, run_python: Run):
        assert run_python(RECORD + STATE) == {"rate": 1000, "plugin": OURS, "results": [True, True], "warnings": []}

    def test_register_again_once_usd_has_read_its_schemas(self, run_python: Run):
        script = "from usd_sim import schemas\nschemas.register()\n" + USE_USD + RECORD + STATE
        assert run_python(script) == {"rate": 1000, "plugin": OURS, "results": [True, True], "warnings": []}

    def test_register_leaves_room_for_schemas_of_others(self, run_python: Run, tmp_path: Path):
        """It does not make USD read its schemas, so that more can be registered after it."""
        folder = tmp_path / "more"
        shutil.copytree(FOLDER, folder)
        replace(folder, "Newton", "Other")
        script = RECORD + "from pxr import Plug\n" + f"Plug.Registry().RegisterPlugins({str(folder)!r})\n" + STATE
        script = script.replace('"NewtonXpbdSceneAPI"', '"OtherXpbdSceneAPI"')
        assert run_python(script)["rate"] == 1000

    def test_too_late_is_told_once(self, run_python: Run):
        found = run_python(USE_USD + RECORD + STATE)
        assert found["results"] == [False, False]
        assert found["rate"] is None
        (warning,) = found["warnings"]
        assert warning.startswith("UsdSimWarning: the Newton schemas were registered too late")
        assert "usd_sim.schemas.register()" in warning

    def test_an_empty_stage_before_is_harmless(self, run_python: Run):
        script = "from pxr import Usd\nempty = Usd.Stage.CreateInMemory()\n" + RECORD + STATE
        assert run_python(script)["rate"] == 1000

    def test_environment_before_register(self, run_python: Run):
        found = run_python(RECORD + STATE, PXR_PLUGINPATH_NAME=str(schemas.path()))
        assert found == {"rate": 1000, "plugin": OURS, "results": [True, True], "warnings": []}

    def test_broken_plugin_of_others_is_told(self, run_python: Run, tmp_path: Path):
        (tmp_path / "plugInfo.json").write_text('{ "Plugins": [ }', "utf-8")
        found = run_python(RECORD + STATE, PXR_PLUGINPATH_NAME=str(tmp_path))
        (warning,) = found["warnings"]
        assert warning.startswith("UsdSimWarning: a USD plugin could not be registered: Plugin info file")
        assert (found["rate"], found["results"]) == (1000, [True, True])


class TestWithOtherPackage:
    def test_theirs_are_taken(self, run_python: Run, package: str):
        found = run_python(RECORD + STATE, PYTHONPATH=package)
        assert found == {"rate": 1000, "plugin": THEIRS, "results": [True, True], "warnings": []}

    @pytest.mark.parametrize("theirs_first", [True, False])
    @pytest.mark.parametrize("environment", [True, False])
    def test_either_order_of_import(self, run_python: Run, package: str, theirs_first: bool, environment: bool):
        theirs = "import newton_usd_schemas\n"
        script = theirs + RECORD if theirs_first else RECORD + theirs
        variables = {"PXR_PLUGINPATH_NAME": str(schemas.path())} if environment else {}
        found = run_python(script + STATE, PYTHONPATH=package, **variables)
        assert found["plugin"] in ({OURS, THEIRS} if environment else {THEIRS})
        assert (found["rate"], found["results"], found["warnings"]) == (1000, [True, True], [])

    def test_registered_without_the_package(self, run_python: Run, other_package: Path):
        """Another program's plugin with the same types, not importable from Python."""
        folder = str(other_package / "newton_usd_schemas")
        script = f"from pxr import Plug\nPlug.Registry().RegisterPlugins({folder!r})\n"
        found = run_python(script + RECORD + STATE)
        if real_package() is None:
            assert found["plugin"] == THEIRS
        assert (found["rate"], found["results"], found["warnings"]) == (1000, [True, True], [])

    def test_broken_package_is_passed_over(self, run_python: Run, tmp_path: Path):
        (tmp_path / "newton_usd_schemas.py").write_text("raise ImportError('broken')\n", "utf-8")
        found = run_python(RECORD + STATE, PYTHONPATH=str(tmp_path))
        assert found == {"rate": 1000, "plugin": OURS, "results": [True, True], "warnings": []}

    def test_schemas_that_theirs_lacks_are_told(self, run_python: Run, other_package: Path):
        replace(other_package / "newton_usd_schemas", "MPMSceneAPI", "XyzSceneAPI")
        found = run_python(RECORD + STATE, PYTHONPATH=str(other_package))
        (warning,) = found["warnings"]
        assert "'newton' lacks schemas that usd-sim reads: NewtonMPMSceneAPI (update it)" in warning
        assert found["results"] == [True, True]


def test_the_same_family_as_the_real_package(run_python: Run):
    """Names, types, fallbacks, limits, choices and built-in schemas equal those of newton-usd-schemas 0.6."""
    if real_package() is None:
        pytest.skip("newton-usd-schemas is not installed")
    script = """
import json, sys
from pxr import Usd
from usd_sim import schemas
registry = Usd.SchemaRegistry()
found = {}
for schema in schemas.definitions():
    concrete = schema.kind == "concreteTyped"
    find = registry.FindConcretePrimDefinition if concrete else registry.FindAppliedAPIPrimDefinition
    definition = find(schema.name)
    targets = registry.GetAPISchemaCanOnlyApplyToTypeNames(schema.name)
    found[schema.name] = [sorted(definition.GetAppliedAPISchemas()), list(targets)]
    for name in definition.GetPropertyNames():
        if name.startswith("newton:"):
            keys = ("typeName", "variability", "default", "limits", "allowedTokens")
            found[schema.name + "." + name] = [str(definition.GetPropertyMetadata(name, key)) for key in keys]
print(json.dumps(found))
"""
    ours = run_python(script, PXR_PLUGINPATH_NAME=str(schemas.path()))
    theirs = run_python("import newton_usd_schemas\n" + script)
    assert ours == theirs
