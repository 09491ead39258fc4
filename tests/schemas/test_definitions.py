"""What the records say about each schema and property."""

from __future__ import annotations

import math
import re

import pytest

from usd_sim import schemas
from usd_sim.schemas import document

PROPERTIES = [pytest.param(schema, entry, id=f"{schema.name}.{entry.name}") for schema, entry in schemas.properties()]
NUMERIC = {"int", "float", "double", "float[]", "double[]"}

QUANTITY = r"(dimensionless|hertz|cell|mass|distance|second|degree|radian|force|torque|1)(\^[23])?"
PRODUCT = rf"{QUANTITY}( \* {QUANTITY})*"
UNIT = rf"{PRODUCT}( / ({QUANTITY}|\({PRODUCT}\)))?"
UNITS = re.compile(rf"{UNIT}|angular: {UNIT}; linear: {UNIT}")


def find(schema_name: str, name: str) -> schemas.PropertyDefinition:
    return next(p for s, p in schemas.properties() if s.name == schema_name and p.name == name)


@pytest.mark.parametrize("schema", schemas.definitions(), ids=lambda schema: schema.name)
def test_schema_is_documented(schema: schemas.SchemaDefinition):
    assert schema.doc.endswith(".")
    assert schema.type_name == schema.name.replace("Newton", "NewtonPhysics", 1)
    assert schema.kind == ("concreteTyped" if schema.name == "NewtonActuator" else "singleApplyAPI")


@pytest.mark.parametrize(("schema", "entry"), PROPERTIES)
def test_property_is_documented(schema: schemas.SchemaDefinition, entry: schemas.PropertyDefinition):
    assert re.fullmatch(r"[A-Z].{8,}\.", entry.doc)
    if entry.type_name in NUMERIC:
        assert entry.units is not None
        assert UNITS.fullmatch(entry.units), entry.units
    else:
        assert entry.units is None
        assert entry.hard_limits == entry.soft_limits == (-math.inf, math.inf)


@pytest.mark.parametrize(("schema", "entry"), PROPERTIES)
def test_fallback_lies_within_the_limits_and_choices(
    schema: schemas.SchemaDefinition, entry: schemas.PropertyDefinition
):
    if isinstance(entry.fallback, int | float) and math.isfinite(entry.fallback):
        for low, high in (entry.hard_limits, entry.soft_limits):
            assert low <= entry.fallback <= high
    if isinstance(entry.fallback, float) and math.isinf(entry.fallback):
        assert re.search(rf"(?<!-){entry.fallback}\b", entry.doc), "what an infinite fallback means is told"
    if entry.allowed_tokens:
        values = entry.fallback if isinstance(entry.fallback, tuple) else (entry.fallback,)
        assert set(values) <= set(entry.allowed_tokens)


def test_values_are_the_decimals_of_the_source():
    assert find("NewtonXpbdSceneAPI", "newton:xpbd:softBodyRelaxation").fallback == 0.9
    assert find("NewtonMPMMaterialAPI", "newton:mpm:poissonsRatio").hard_limits == (-1.0, 0.5)
    assert find("NewtonKaminoSceneAPI", "newton:kamino:padmm:primalTolerance").hard_limits == (1e-10, math.inf)
    assert find("NewtonSDFCollisionAPI", "newton:sdfNarrowBandInner").soft_limits == (-math.inf, 0.0)
    assert find("NewtonSceneAPI", "newton:timeStepsPerSecond").fallback == 1000
    assert find("NewtonSceneAPI", "newton:gravityEnabled").fallback is True
    assert find("NewtonMPMSceneAPI", "newton:mpm:rheologySolvers").fallback == ("auto",)
    assert find("NewtonMassAPI", "newton:inertia").fallback == ()
    assert find("NewtonPointsDeformableSimAPI", "physics:masses").fallback is None
    assert find("NewtonMimicAPI", "newton:mimicJoint").type_name == "rel"


def test_radians_stand_only_where_the_family_has_them():
    """Joints are in degrees, actuators in radians: the two speed limits of one name differ."""
    assert find("NewtonJointAPI", "newton:velocityLimit").units == "angular: degree / second; linear: distance / second"
    assert (
        find("NewtonDCMotorClampingAPI", "newton:velocityLimit").units
        == "angular: radian / second; linear: distance / second"
    )
    per_radian = {schema.name for schema, entry in schemas.properties() if "radian" in (entry.units or "")}
    assert per_radian == {
        "NewtonVbdSceneAPI",
        "NewtonPDControlAPI",
        "NewtonPIDControlAPI",
        "NewtonDCMotorClampingAPI",
        "NewtonPositionBasedClampingAPI",
    }


def test_limits_in_words():
    assert document.limits_text(find("NewtonXpbdSceneAPI", "newton:xpbd:softBodyRelaxation")) == "0 to 1"
    assert document.limits_text(find("NewtonSceneAPI", "newton:timeStepsPerSecond")) == "at least 1"
    assert document.limits_text(find("NewtonSDFCollisionAPI", "newton:sdfNarrowBandInner")) == "usually at most 0"
    assert document.limits_text(find("NewtonSceneAPI", "newton:gravityEnabled")) == ""
