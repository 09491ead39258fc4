"""The schemas on real stages, with nothing but the plugin folder named in the environment."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from usd_sim import schemas
from usd_sim.schemas.definitions import FOLDER

ROOT = Path(__file__).resolve().parents[2]

FLOAT_ERROR = 1e-6
"""Single precision keeps some seven digits."""

APPLY_ALL = """
import json
from pxr import Sdf, Usd, UsdGeom, UsdPhysics
carriers = {
    "PhysicsScene": "PhysicsScene", "PhysicsJoint": "PhysicsRevoluteJoint", "Gprim": "Cube", "Mesh": "Mesh",
    "Points": "Points", "Material": "Material", "Xformable": "Xform", "NewtonActuator": "NewtonActuator", "": "Xform",
}

def plain(value):
    if isinstance(value, Sdf.AssetPath):
        return value.path
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return [plain(item) for item in value]

registry = Usd.SchemaRegistry()
stage = Usd.Stage.CreateInMemory()
found = {}
for index, name in enumerate(NAMES):
    if name == "NewtonActuator":
        prim = stage.DefinePrim(f"/P{index}", name)
        definition = registry.FindConcretePrimDefinition(name)
    else:
        carrier = (list(registry.GetAPISchemaCanOnlyApplyToTypeNames(name)) or [""])[0]
        prim = stage.DefinePrim(f"/P{index}", carriers[carrier])
        assert prim.CanApplyAPI(name), name
        assert prim.ApplyAPI(name), name
        definition = registry.FindAppliedAPIPrimDefinition(name)
    assert not any(p.IsAuthored() for p in prim.GetProperties())
    found[name] = {"applied": list(prim.GetAppliedSchemas()), "values": {}}
    for property_name in definition.GetPropertyNames():
        if not property_name.startswith("newton:") and property_name != "physics:masses":
            continue
        attribute = prim.GetAttribute(property_name)
        if attribute:
            units = attribute.GetCustomDataByKey("units")
            described = [attribute.GetDocumentation(), units, str(attribute.GetTypeName())]
            found[name]["values"][property_name] = [plain(attribute.Get()), *described]
        else:
            relationship = prim.GetRelationship(property_name)
            assert relationship, property_name
            found[name]["values"][property_name] = [None, relationship.GetDocumentation(), None, "rel"]
print(json.dumps(found))
"""

COLLISION = """
import json
from pxr import Usd, UsdPhysics
stage = Usd.Stage.CreateInMemory()
prim = stage.DefinePrim("/Box", "Cube")
prim.AddAppliedSchema("NewtonCollisionAPI")
print(json.dumps([prim.HasAPI(UsdPhysics.CollisionAPI), prim.GetAttribute("physics:collisionEnabled").Get()]))
"""


@pytest.fixture(scope="module")
def names() -> str:
    return f"NAMES = {[schema.name for schema in schemas.definitions()]!r}\n"


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """The folders as they lie in an installed package."""
    package = tmp_path / "usd_sim"
    shutil.copytree(FOLDER, package / "schemas")
    shutil.copy(ROOT / "usd_sim" / "plugInfo.json", package)
    return package


def test_every_schema_applies_and_its_fallbacks_resolve(run_python: Callable[..., Any], names: str):
    found = run_python(names + APPLY_ALL, PXR_PLUGINPATH_NAME=str(schemas.path()))
    for schema in schemas.definitions():
        assert set(schema.built_in) <= set(found[schema.name]["applied"])
        values = found[schema.name]["values"]
        for entry in schema.properties:
            value, doc, units, type_name = values[entry.name]
            fallback = list(entry.fallback) if isinstance(entry.fallback, tuple) else entry.fallback
            if isinstance(fallback, float):
                fallback = pytest.approx(fallback, rel=FLOAT_ERROR)
            assert (value, doc, units, type_name) == (fallback, entry.doc, entry.units, entry.type_name), entry.name


def test_schemas_that_come_with_others_are_followed_through(run_python: Callable[..., Any], names: str):
    found = run_python(names + APPLY_ALL, PXR_PLUGINPATH_NAME=str(schemas.path()))
    chain = {"NewtonMeshCollisionAPI", "NewtonCollisionAPI", "PhysicsCollisionAPI", "PhysicsMeshCollisionAPI"}
    assert set(found["NewtonMeshCollisionAPI"]["applied"]) == chain
    assert set(found["NewtonSDFCollisionAPI"]["applied"]) == chain - {
        "NewtonMeshCollisionAPI",
        "PhysicsMeshCollisionAPI",
    } | {"NewtonSDFCollisionAPI"}
    assert found["NewtonXpbdSceneAPI"]["values"]["newton:timeStepsPerSecond"][0] == 1000


def test_without_the_folder_nothing_comes_with_it(run_python: Callable[..., Any]):
    assert run_python(COLLISION) == [False, None]


def test_checkout_works_as_plugin_path(run_python: Callable[..., Any]):
    assert run_python(COLLISION, PXR_PLUGINPATH_NAME=str(ROOT)) == [True, True]


def test_schemas_folder_works_as_plugin_path(run_python: Callable[..., Any]):
    assert run_python(COLLISION, PXR_PLUGINPATH_NAME=str(FOLDER)) == [True, True]


def test_installed_package_works_as_plugin_path(run_python: Callable[..., Any], installed: Path):
    assert run_python(COLLISION, PXR_PLUGINPATH_NAME=str(installed)) == [True, True]


def test_an_actuator_has_no_transform(run_python: Callable[..., Any]):
    script = """
import json
from pxr import Usd, UsdGeom
stage = Usd.Stage.CreateInMemory()
prim = stage.DefinePrim("/Motor", "NewtonActuator")
prim.CreateRelationship("newton:targets").SetTargets(["/Joint"])
kinds = [prim.IsA(UsdGeom.Xformable), prim.IsA(UsdGeom.Imageable)]
print(json.dumps([*kinds, bool(prim.CanApplyAPI("NewtonPDControlAPI"))]))
"""
    assert run_python(script, PXR_PLUGINPATH_NAME=str(schemas.path())) == [False, False, True]


def test_wrong_targets_are_refused(run_python: Callable[..., Any]):
    script = """
import json
from pxr import Usd
stage = Usd.Stage.CreateInMemory()
prim = stage.DefinePrim("/A", "Xform")
names = ("NewtonSceneAPI", "NewtonJointAPI", "NewtonCollisionAPI", "NewtonPDControlAPI", "NewtonMassAPI")
print(json.dumps([bool(prim.CanApplyAPI(name)) for name in names]))
"""
    found = run_python(script, PXR_PLUGINPATH_NAME=str(schemas.path()))
    assert found == [False, False, False, False, True]
