"""Model, State and Control: who owns which array."""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp

from tests.model.systems import mixed_system
from usd_sim.model.builder import ModelBuilder
from usd_sim.model.fields import DTYPES, FIELDS, Field, Frequency, Owner


def test_model_has_every_field_with_its_rows():
    model = mixed_system().finalize("cpu")
    for field in FIELDS:
        value = model.array(field.name)
        assert value is getattr(model, field.name)
        count = model.counts[field.frequency]
        if field.name == "gravity":
            count = 1
        elif field.name in ("joint_q_start", "joint_qd_start"):
            count += 1
        assert len(value) == count, field.name
        if DTYPES[field.dtype].numpy is None:
            assert isinstance(value, list)
        else:
            assert isinstance(value, wp.array)
            assert value.numpy().shape == (count, *DTYPES[field.dtype].shape)
            assert value.numpy().dtype == DTYPES[field.dtype].numpy


@pytest.mark.parametrize(("make", "owner"), [("state", Owner.STATE), ("control", Owner.CONTROL)])
def test_copies_start_equal_and_are_independent(make: str, owner: Owner):
    model = mixed_system().finalize("cpu")
    first, second = getattr(model, make)(), getattr(model, make)()
    fields = FIELDS.owned_by(owner)
    assert len(fields) >= 3
    for field in fields:
        initial = model.array(field.name).numpy().copy()
        np.testing.assert_array_equal(getattr(first, field.name).numpy(), initial)
        getattr(first, field.name).fill_(3.0) if field.dtype == "float" else getattr(first, field.name).zero_()
        np.testing.assert_array_equal(model.array(field.name).numpy(), initial, err_msg=field.name)
        np.testing.assert_array_equal(getattr(second, field.name).numpy(), initial, err_msg=field.name)
    for field in FIELDS:
        if field.owner != owner:
            assert not hasattr(first, field.name), field.name


def test_assign_clear_forces_and_clear():
    model = mixed_system().finalize("cpu")
    first, second = model.state(), model.state()
    first.body_q.fill_(2.0)
    first.body_f.fill_(1.0)
    second.assign(first)
    first.body_q.zero_()
    assert np.all(second.body_q.numpy() == 2.0)
    second.clear_forces()
    assert not second.body_f.numpy().any()
    assert np.all(second.body_q.numpy() == 2.0)
    control = model.control()
    assert control.joint_target_q.numpy()[0] == 0.25
    control.joint_f.fill_(1.0)
    control.clear()
    assert not control.joint_f.numpy().any()
    assert not control.joint_target_q.numpy().any()
    assert model.joint_target_q.numpy()[0] == 0.25


def test_namespaces_go_to_the_owner():
    builder = mixed_system()
    builder.add_custom_attribute(Field("own:heat", Frequency.BODY, "float", "Heat.", 5.0, owner=Owner.STATE))
    builder.add_custom_attribute(Field("own:valve", Frequency.JOINT, "float", "Valve.", 6.0, owner=Owner.CONTROL))
    builder.add_custom_attribute(Field("other:kind", Frequency.BODY, "str", "Kind.", "none"))
    model = builder.finalize("cpu")
    state, control = model.state(), model.control()
    assert state.own.heat.numpy().tolist() == [5.0] * 4
    assert control.own.valve.numpy().tolist() == [6.0] * 5
    assert model.other.kind == ["none"] * 4
    assert not hasattr(state.own, "valve")
    state.own.heat.zero_()
    assert model.own.heat.numpy().tolist() == [5.0] * 4
    assert model.array("own:heat") is model.own.heat


def test_gradients_are_allocated_for_numbers_only():
    builder = ModelBuilder()
    builder.add_shape_box(builder.add_body())
    model = builder.finalize("cpu", requires_grad=True)
    assert model.body_mass.requires_grad
    assert not model.shape_body.requires_grad
    assert model.state().body_q.requires_grad
    assert not model.state(requires_grad=False).body_q.requires_grad
