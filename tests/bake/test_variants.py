"""Variant selections and masks: simulated, and shown by the result."""

from __future__ import annotations

from pathlib import Path

import pytest
from pxr import Usd

import usd_sim
from usd_sim.errors import UsdSimError

STAGE = """#usda 1.0
(
    metersPerUnit = 1
    upAxis = "Z"
    timeCodesPerSecond = 60
)
def PhysicsScene "Scene" {
}
def Xform "Robot" (
    variants = {
        string payload = "light"
    }
    prepend variantSets = "payload"
)
{
    variantSet "payload" = {
        "light" {
            def Sphere "Load" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsCollisionAPI"]) {
                double radius = 0.1
            }
        }
        "heavy" {
            def Sphere "Load" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsCollisionAPI"]) {
                double radius = 0.5
            }
        }
    }
}
def Cube "Other" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsCollisionAPI"]) {
}
"""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "stage.usda"
    path.write_text(STAGE)
    return path


def test_the_selected_variant_is_simulated_and_shown(source, tmp_path):
    result = usd_sim.bake(source, tmp_path / "out.usda", frames=10, variants=["/Robot:payload=heavy"])
    assert not [line for line in result.warnings if "session" in line]
    shown = Usd.Stage.Open(result.output)
    load = shown.GetPrimAtPath("/Robot/Load")
    assert load.GetAttribute("radius").Get() == 0.5
    assert load.GetAttribute("xformOp:translate").GetNumTimeSamples() == 11
    assert source.read_text() == STAGE


def test_a_mask_leaves_the_rest_out(source, tmp_path):
    model = usd_sim.load(source, device="cpu", mask=["/Robot"])
    assert model.body_path == ["/Robot/Load"]
    result = usd_sim.bake(source, tmp_path / "out.usda", frames=2, mask=["/Other", "/Scene"])
    assert result.bodies == 1
    assert Usd.Stage.Open(result.output).GetPrimAtPath("/Robot/Load")


@pytest.mark.parametrize(
    ("selection", "message"),
    [
        ("heavy", "is not a variant selection"),
        ("/Nobody:payload=heavy", "no such prim"),
        ("/Robot:colour=red", "no variant set 'colour'"),
        ("/Robot:payload=none", "has no 'none'"),
    ],
)
def test_selections_that_cannot_be_made(source, selection, message):
    with pytest.raises(UsdSimError, match=message):
        usd_sim.load(source, device="cpu", variants=[selection])


@pytest.mark.parametrize(("mask", "message"), [("/Nobody", "no such prim"), ("not a path", "is not the path")])
def test_masks_that_cannot_be(source, mask, message):
    with pytest.raises(UsdSimError, match=message):
        usd_sim.load(source, device="cpu", mask=[mask])
