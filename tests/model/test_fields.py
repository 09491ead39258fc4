"""The field table: what every row must keep to, whoever adds it."""

from __future__ import annotations

import dataclasses
import re

import numpy as np
import pytest
import warp as wp

from usd_sim.model.builder import ModelBuilder
from usd_sim.model.fields import DTYPES, FIELDS, Field, FieldTable, Frequency, Owner, field_table
from usd_sim.model.model import warp_type
from usd_sim.model.types import ModelFlags
from usd_sim.stage.dialects import RULES

DIMENSIONLESS = {
    "joint_axis",
    "shape_color",
    "shape_material_mu",
    "shape_material_mu_static",
    "shape_material_restitution",
}
"""Floating-point fields that have no unit."""

UNIT = re.compile(r"(1|m|kg|s|N|rad|[·/()²³|])*")
"""Products and quotients of SI units; ``lin|ang`` where freedoms differ."""


def test_names_are_unique_and_say_their_frequency():
    names = [field.name for field in FIELDS]
    assert len(names) == len(set(names)) == len(FIELDS)
    families = {
        Frequency.BODY: "body_",
        Frequency.SHAPE: "shape_",
        Frequency.SHAPE_PAIR: "shape_",
        Frequency.JOINT: "joint_",
        Frequency.JOINT_DOF: "joint_",
        Frequency.JOINT_COORD: "joint_",
        Frequency.ARTICULATION: "articulation_",
    }
    assert [f.name for f in FIELDS if ":" not in f.name and not f.name.startswith(families.get(f.frequency, ""))] == []


@pytest.mark.parametrize("field", list(field_table()), ids=lambda field: field.name)
def test_row_is_complete(field: Field):
    assert field.doc[0].isupper() or field.doc[0].isdigit()
    assert field.doc.endswith(".")
    assert "\n" not in field.doc
    assert UNIT.fullmatch(field.unit), field.unit
    assert field.dtype in DTYPES
    if DTYPES[field.dtype].numpy is np.float32 and ":" not in field.name:  # rows of solvers' fields may mix quantities
        assert bool(field.unit) != (field.name in DIMENSIONLESS), "a number needs a unit or none, on purpose"
    if field.refers_to is not None:
        assert field.refers_to in field_table().frequencies
        assert np.issubdtype(DTYPES[field.dtype].numpy, np.integer)
        assert np.all(np.asarray(field.default) == -1), "rows that nobody set must refer to nothing"
    if field.world_frame not in (None, "always"):
        assert FIELDS[field.world_frame].frequency == field.frequency
        assert FIELDS[field.world_frame].refers_to == Frequency.BODY
    if field.owner != Owner.MODEL:
        assert DTYPES[field.dtype].numpy is not None, "State and Control hold arrays only"


@pytest.mark.parametrize("field", list(field_table()), ids=lambda field: field.name)
def test_fallback_fits_the_type(field: Field):
    rows, dtype = field.allocate(3), DTYPES[field.dtype]
    assert len(rows) == 3
    if dtype.numpy is None:
        assert rows == [field.default] * 3
        return
    assert rows.dtype == dtype.numpy
    assert rows.shape == (3, *dtype.shape)
    np.testing.assert_array_equal(rows, np.broadcast_to(np.asarray(field.default, dtype.numpy), rows.shape))
    if field.dtype == "transform":
        assert np.linalg.norm(rows[0, 3:]) == 1.0
    assert len(wp.array(rows, dtype=warp_type(field), device="cpu")) == 3


def test_every_frequency_with_a_world_has_a_label_or_path():
    for frequency in (Frequency.BODY, Frequency.JOINT, Frequency.SHAPE, Frequency.ARTICULATION):
        for suffix in ("label", "path", "world"):
            assert f"{frequency}_{suffix}" in FIELDS


def test_derived_fields_are_computed_by_finalize():
    derived = [field.name for field in FIELDS if field.derived]
    builder = ModelBuilder()
    builder.add_shape_box(builder.add_body())
    builder.add_body()
    model = builder.finalize("cpu")
    assert derived
    for name in derived:
        assert model.array(name) is not None
        assert name not in builder.columns._data
        with pytest.raises(AttributeError):
            getattr(builder, name)
    # one more entry than joints ends the last
    assert model.joint_q_start.numpy().tolist() == [0, 7, 14]
    assert model.joint_qd_start.numpy().tolist() == [0, 6, 12]
    assert model.joint_ancestor.numpy().tolist() == [-1, -1]
    assert model.articulation_start.numpy().tolist() == [0, 1]
    assert model.articulation_end.numpy().tolist() == [1, 2]


def test_changes_that_solvers_must_hear_of_carry_a_flag():
    # gains, limits, frames, masses and contact settings may be edited live
    for name in ("joint_target_ke", "joint_limit_lower", "joint_X_p", "body_mass", "shape_material_mu", "gravity"):
        assert FIELDS[name].flag != ModelFlags.NONE


def test_fields_that_rules_name_exist():
    known = {*(field.name for field in field_table()), ""}
    assert [rule.property for rule in RULES.rules if rule.field not in known] == []


def test_table_refuses_conflicts_and_unknown_types():
    table = FieldTable([Field("a:x", "body", "float", "X.")])
    table.add(Field("a:x", "body", "float", "X."))  # the same row again is fine
    with pytest.raises(ValueError, match="declared differently"):
        table.add(Field("a:x", "body", "int", "X."))
    with pytest.raises(ValueError, match="unknown type"):
        table.add(Field("a:y", "body", "double", "Y."))
    assert len(table) == 1


def test_copy_grows_on_its_own():
    table = FIELDS.copy()
    table.add(Field("a:x", Frequency.BODY, "float", "X."))
    assert "a:x" in table
    assert "a:x" not in FIELDS
    assert [f.name for f in table][: len(FIELDS)] == [f.name for f in FIELDS], "order is that of declaration"


def test_fields_are_immutable():
    with pytest.raises(dataclasses.FrozenInstanceError):
        FIELDS["body_mass"].unit = "g"
