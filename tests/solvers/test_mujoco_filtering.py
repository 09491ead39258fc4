"""Collision rules compiled to masks and excludes, against the rules themselves."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from usd_sim.errors import UsdSimWarning
from usd_sim.model.builder import ModelBuilder
from usd_sim.solvers.mujoco import SolverMuJoCo
from usd_sim.solvers.mujoco.filtering import CollisionRules, compile_filter, cover


def allowed(rules: CollisionRules) -> np.ndarray:
    """Return which pairs of shapes collide, from the rules' definition, pair by pair."""
    count = len(rules.body)
    listed = {tuple(sorted(pair)) for pair in rules.pairs.tolist()}
    out = np.zeros((count, count), bool)
    for a in range(count):
        for b in range(count):
            ga, gb = rules.group[a], rules.group[b]
            group = ga != 0 and gb != 0 and (ga == gb if ga > 0 and gb > 0 else ga != gb)
            masked = rules.filter_class[a] & rules.filter_mask[b] or rules.filter_class[b] & rules.filter_mask[a]
            worlds = rules.world[a] == rules.world[b] or rules.world[a] < 0 or rules.world[b] < 0
            out[a, b] = (
                rules.collides[a] and rules.collides[b] and group and not masked and worlds
                and not (rules.immovable[a] and rules.immovable[b])
                and rules.body[a] != rules.body[b] and (min(a, b), max(a, b)) not in listed
            )  # fmt: skip
    return out


def passes(rules: CollisionRules) -> tuple[np.ndarray, int]:
    """Return which pairs of shapes MuJoCo would let collide, and the excess that the compilation reports."""
    result = compile_filter(rules)
    t, a = result.contype.astype(np.int64), result.conaffinity.astype(np.int64)
    out = ((t[:, None] & a[None, :]) | (t[None, :] & a[:, None])) != 0
    out &= rules.body[:, None] != rules.body[None, :]
    for x, y in result.excludes:
        cross = (rules.body[:, None] == x) & (rules.body[None, :] == y)
        out &= ~(cross | cross.T)
    return out, result.excess


def random_rules(rng: np.random.Generator, count: int, *, groups: int, worlds: int, pairs: int) -> CollisionRules:
    body = rng.integers(-1, count // 2, count)
    fixed = np.append(rng.random(count) < 0.2, True)
    return CollisionRules(
        collides=rng.random(count) < 0.9,
        body=body,
        group=rng.integers(-groups, groups + 1, count),
        filter_class=np.left_shift(1, rng.integers(0, 3, count)),
        filter_mask=rng.integers(0, 8, count) * (rng.random(count) < 0.5),
        world=rng.integers(-1, worlds, count),
        immovable=fixed[body],
        pairs=rng.integers(0, count, (pairs, 2)),
    )


@pytest.mark.parametrize("seed", range(60))
def test_masks_are_exact_or_say_so(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rules = random_rules(
        rng, 24, groups=int(rng.integers(1, 4)), worlds=int(rng.integers(1, 4)), pairs=int(rng.integers(0, 30))
    )
    found, excess = passes(rules)
    wanted = allowed(rules)
    assert not np.any(wanted & ~found)
    if excess == 0:
        np.testing.assert_array_equal(found, wanted)


def test_few_rules_are_exact() -> None:
    exact = 0
    for seed in range(40):
        rules = random_rules(np.random.default_rng(seed), 24, groups=1, worlds=2, pairs=6)
        found, excess = passes(rules)
        exact += excess == 0 and bool(np.array_equal(found, allowed(rules)))
    assert exact == 40


def test_more_than_32_groups_that_share_one_rule_fit() -> None:
    # 60 groups that meet only what meets all: one biclique and a bit for each would not fit, so some excess is reported
    allowed_pairs = np.eye(60, dtype=bool)
    contype, conaffinity, excess = cover(allowed_pairs)
    meets = (contype[:, None] & conaffinity[None, :]) != 0
    assert np.all(meets[allowed_pairs])
    assert excess > 0


def test_bicliques_beat_one_bit_per_class() -> None:
    # 60 negative groups: each meets all but itself, which a dozen products of sets express
    contype, conaffinity, excess = cover(~np.eye(60, dtype=bool))
    found = (contype[:, None] & conaffinity[None, :]) != 0
    np.testing.assert_array_equal(found | found.T, ~np.eye(60, dtype=bool))
    assert excess == 0


def test_many_pairs_of_bodies_become_excludes() -> None:
    count = 400
    body = np.repeat(np.arange(count // 2), 2)
    a, b = np.arange(count - 2), np.arange(2, count)
    pairs = np.concatenate(
        [np.stack([a, b], 1), np.stack([a[::2], b[::2] + 1], 1), np.stack([a[1::2], b[1::2] - 1], 1)]
    )
    zero = np.zeros(count, np.int64)
    rules = CollisionRules(np.ones(count, bool), body, zero + 1, zero, zero, zero - 1, zero > 0, pairs)
    result = compile_filter(rules)
    assert len(result.excludes) == count // 2 - 1
    assert result.excess == 0


def overlapping(count: int) -> ModelBuilder:
    builder = ModelBuilder(gravity=0.0)
    for i in range(count):
        body = builder.add_body(xform=(0.01 * i, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0))
        builder.add_shape_sphere(body, radius=0.5)
        builder.add_shape_sphere(body, radius=0.25)
    return builder


@pytest.mark.parametrize("seed", range(5))
def test_mujoco_finds_the_contacts_that_the_rules_allow(seed: int) -> None:
    rng = np.random.default_rng(seed)
    builder = overlapping(6)
    builder.shape_collision_group[:] = rng.integers(-2, 3, 12)
    for pair in rng.integers(0, 12, (4, 2)).tolist():
        if pair[0] != pair[1]:
            builder.add_shape_collision_filter_pair(*pair)
    model = builder.finalize("cpu")
    solver = SolverMuJoCo(model)
    mujoco.mj_forward(solver.mj_model, solver.mj_data)
    shape_of = {
        int(geom): int(shape) for geom, shape in zip(solver.properties.geom, solver.properties.geom_shape, strict=True)
    }
    found = {tuple(sorted((shape_of[int(a)], shape_of[int(b)]))) for a, b in solver.mj_data.contact.geom}
    wanted = allowed(CollisionRules.from_model(model, solver.layout.is_static))
    assert found == {(int(a), int(b)) for a, b in np.argwhere(np.triu(wanted))}


def test_shapes_of_different_worlds_pass_through() -> None:
    template = ModelBuilder()
    template.add_shape_sphere(template.add_body(), radius=0.5)
    builder = ModelBuilder(gravity=0.0)
    builder.add_ground_plane(height=-0.25)
    builder.replicate(template, 3)
    solver = SolverMuJoCo(builder.finalize("cpu"))
    mujoco.mj_forward(solver.mj_model, solver.mj_data)
    # each of the spheres at one place meets the ground, and none another
    assert solver.contact_count == 3


def test_rules_beyond_the_masks_warn() -> None:
    builder = overlapping(80)
    builder.shape_collision_group[:] = np.repeat(np.arange(40) + 1, 4)
    with pytest.warns(UsdSimWarning, match="do not fit 32 bits"):
        SolverMuJoCo(builder.finalize("cpu"))
