"""The checked-in files are what the source generates, and the source is complete."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

from usd_sim import schemas

ROOT = Path(__file__).resolve().parents[2]

FAMILY = {
    "NewtonSceneAPI": 3,
    "NewtonXpbdSceneAPI": 10,
    "NewtonKaminoSceneAPI": 10,
    "NewtonVbdSceneAPI": 5,
    "NewtonMPMSceneAPI": 18,
    "NewtonArticulationRootAPI": 2,
    "NewtonJointAPI": 6,
    "NewtonMassAPI": 3,
    "NewtonCollisionAPI": 2,
    "NewtonMeshCollisionAPI": 1,
    "NewtonSDFCollisionAPI": 8,
    "NewtonSiteAPI": 0,
    "NewtonPointsDeformableSimAPI": 1,
    "NewtonMaterialAPI": 6,
    "NewtonMPMMaterialAPI": 13,
    "NewtonCurvesDeformableMaterialAPI": 4,
    "NewtonMimicAPI": 4,
    "NewtonActuator": 1,
    "NewtonActuatorDelayAPI": 1,
    "NewtonActuatorControlBaseAPI": 0,
    "NewtonPDControlAPI": 3,
    "NewtonPIDControlAPI": 5,
    "NewtonNeuralControlAPI": 1,
    "NewtonActuatorClampingBaseAPI": 0,
    "NewtonMaxEffortClampingAPI": 1,
    "NewtonDCMotorClampingAPI": 3,
    "NewtonPositionBasedClampingAPI": 2,
}
"""Schemas by name, with the number of their own properties."""


def test_checked_in_files_are_what_the_source_generates():
    pytest.importorskip("jinja2", reason="USD's schema generator needs jinja2 (in the dev extra)")
    spec = importlib.util.spec_from_file_location("generate_schemas", ROOT / "tools" / "generate_schemas.py")
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    for name, text in script.generate().items():
        assert (ROOT / "schemas" / name).read_text("utf-8") == text, "run tools/generate_schemas.py"


@pytest.mark.parametrize("name", ["generatedSchema.usda", "plugInfo.json"])
def test_generated_files_name_no_place(name: str):
    text = (ROOT / "schemas" / name).read_text("utf-8")
    assert "@PLUG_INFO" not in text
    assert not re.search(r'"(/|[A-Z]:\\)\w', text)


def test_documentation_page_is_current():
    page = (ROOT / "docs" / "schemas.md").read_text("utf-8")
    assert page == schemas.markdown(), "run usd-sim schemas --markdown > docs/schemas.md"


def test_family_is_complete():
    assert {schema.name: len(schema.properties) for schema in schemas.definitions()} == FAMILY
