"""Storage of the builder: appending, growing and merging columns."""

from __future__ import annotations

import numpy as np
import pytest

from usd_sim.model.columns import Columns
from usd_sim.model.fields import FIELDS, Field, FieldTable, Frequency


def table() -> FieldTable:
    """Two frequencies that refer to each other, with fallbacks that are not zero."""
    return FieldTable(
        [
            Field("a_next", "a", "int", "Next row.", -1, refers_to="a"),
            Field("a_b", "a", "int2", "Two rows of b.", (-1, -1), refers_to="b"),
            Field("a_value", "a", "float", "Value.", 7.0),
            Field("a_name", "a", "str", "Name."),
            Field("b_value", "b", "vec3", "Value.", (1.0, 2.0, 3.0)),
        ]
    )


def test_append_returns_the_first_row_and_fills_fallbacks():
    columns = Columns(table())
    assert columns.append("a", 2, {"a_value": [1.0, 2.0]}) == 0
    assert columns.append("a", 1, {"a_name": "x"}) == 2
    assert columns.count("a") == 3
    assert columns.view("a_value").tolist() == [1.0, 2.0, 7.0]
    assert columns.view("a_name") == ["", "", "x"]
    assert columns.view("a_next").tolist() == [-1, -1, -1]
    assert columns.count("b") == 0


@pytest.mark.parametrize("sizes", [(1,) * 200, (63, 1, 1), (64, 1), (1000,), (0, 5, 0)])
def test_growth_keeps_rows_and_fallbacks(sizes: tuple[int, ...]):
    columns, expected = Columns(table()), []
    for step, n in enumerate(sizes):
        # every second append sets the value, so that fallbacks lie between
        given = np.arange(n) + 100.0 * step
        columns.append("a", n, {"a_value": given} if step % 2 == 0 else {})
        expected += list(given) if step % 2 == 0 else [7.0] * n
    assert columns.view("a_value").tolist() == expected


def test_one_row_is_taken_for_all():
    columns = Columns(table())
    columns.append("b", 3, {"b_value": (4.0, 5.0, 6.0)})
    columns.append("a", 3, {"a_name": "same", "a_b": (0, 1)})
    assert columns.view("b_value").tolist() == [[4.0, 5.0, 6.0]] * 3
    assert columns.view("a_name") == ["same"] * 3
    assert columns.view("a_b").tolist() == [[0, 1]] * 3


def test_view_writes_through_and_creates_the_column():
    columns = Columns(table())
    columns.append("a", 2, {})
    assert not columns.is_set("a_value")
    columns.view("a_value")[1] = 3.0
    assert columns.is_set("a_value")
    assert columns.view("a_value").tolist() == [7.0, 3.0]


@pytest.mark.parametrize(
    ("frequency", "values", "error"),
    [
        ("a", {"b_value": (0, 0, 0)}, KeyError),
        ("a", {"nothing": 1.0}, KeyError),
        ("a", {"a_value": [1.0, 2.0, 3.0]}, ValueError),
        ("a", {"a_name": ["x"]}, ValueError),
        ("a", {"a_name": ["x", "y", "z"]}, ValueError),
        ("b", {"b_value": (1.0, 2.0)}, ValueError),
    ],
)
def test_wrong_appends_raise_and_leave_the_rows_as_they_were(frequency: str, values: dict, error: type):
    columns = Columns(table())
    columns.append("a", 2, {"a_value": 1.0, "a_name": ["p", "q"]})
    columns.append("b", 1, {"b_value": (1.0, 1.0, 1.0)})
    with pytest.raises(error):
        columns.append(frequency, 2, values)
    assert (columns.count("a"), columns.count("b")) == (2, 1)
    assert columns.view("a_name") == ["p", "q"]
    columns.append("a", 1, {"a_name": "r"})
    assert columns.view("a_name") == ["p", "q", "r"]
    assert columns.view("a_value").tolist() == [1.0, 1.0, 7.0]


def test_names_may_come_as_an_array():
    columns = Columns(table())
    columns.append("a", 2, {"a_name": np.array(["x", "y"])})
    assert columns.view("a_name") == ["x", "y"]


@pytest.mark.parametrize("copies", [1, 3])
def test_merge_shifts_references_per_copy_and_keeps_minus_one(copies: int):
    target, source = Columns(table()), Columns(table())
    target.append("a", 2, {"a_value": [1.0, 2.0]})
    target.append("b", 1, {})
    source.append("a", 2, {"a_next": [1, -1], "a_b": [[0, -1], [1, 0]], "a_name": ["x", "y"]})
    source.append("b", 2, {"b_value": [[0.0, 0.0, 0.0], [9.0, 9.0, 9.0]]})
    starts = target.merge(source, copies)
    assert (starts["a"], starts["b"]) == (2, 1)
    assert (target.count("a"), target.count("b")) == (2 + 2 * copies, 1 + 2 * copies)
    first_a, first_b = 2 + 2 * np.arange(copies), 1 + 2 * np.arange(copies)
    assert target.view("a_next").tolist() == [-1, -1, *np.stack([first_a + 1, first_a * 0 - 1], 1).ravel()]
    rows = [[[b, -1], [b + 1, b]] for b in first_b]
    assert target.view("a_b").tolist() == [[-1, -1], [-1, -1], *[pair for two in rows for pair in two]]
    assert target.view("a_value").tolist() == [1.0, 2.0] + [7.0] * 2 * copies
    assert target.view("a_name") == ["", ""] + ["x", "y"] * copies
    assert target.view("b_value")[1:].tolist() == [[0.0] * 3, [9.0] * 3] * copies
    assert source.view("a_next").tolist() == [1, -1], "the source stays as it was"


def test_merge_takes_over_fields_and_refuses_conflicts():
    target, source = Columns(table()), Columns(table())
    source.table.add(Field("own:x", "a", "int", "X.", 5))
    source.append("a", 1, {"own:x": 6})
    target.append("a", 1, {})
    target.merge(source)
    assert target.view("own:x").tolist() == [5, 6]
    target.table.add(Field("own:y", "a", "int", "Y."))
    source.table.add(Field("own:y", "a", "float", "Y."))
    with pytest.raises(ValueError, match="declared differently"):
        target.merge(source)


def test_merging_nothing_changes_nothing():
    columns = Columns(FIELDS.copy())
    columns.append(Frequency.BODY, 1, {"body_mass": 2.0})
    columns.merge(Columns(FIELDS.copy()), 3)
    assert columns.counts[Frequency.BODY] == 1
    assert columns.view("body_mass").tolist() == [2.0]
