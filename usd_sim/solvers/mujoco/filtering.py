"""Which shapes may collide, compiled to MuJoCo's 32-bit masks and body excludes.

A pair of geoms passes MuJoCo's test where ``contype_a & conaffinity_b`` or ``contype_b & conaffinity_a`` has a bit.
Shapes with equal rules form a class; the classes' symmetric matrix of allowed pairs is then covered by at most 32 bits,
each of which allows all pairs between one set of classes and another (a biclique). Pairs listed one by one become body
excludes where they cover two bodies entirely, and classes of their own otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from usd_sim.model.types import BodyFlags, ShapeFlags
from usd_sim.solvers.base import host

__all__ = ["CollisionFilter", "CollisionRules", "allowed_classes", "compile_filter", "cover"]

BITS = 32
_MOST_SPLIT = 4096
"""Shapes that may become classes of their own; the matrix of classes is quadratic in them."""

_MOST_CELLS = 64_000_000
"""Entries of the table of shapes per body and class."""

Bool = NDArray[np.bool_]
Int = NDArray[np.int64]


@dataclass(frozen=True)
class CollisionRules:
    """What decides on the pairs of a model's shapes; all arrays ``(shape_count,)``.

    Attributes:
        collides: Whether the shape takes part in collision.
        body: Body that carries it; -1 is the world.
        group: Collision group: 0 meets none, positive its equal and negatives, negative all but its equal.
        filter_class: Bits of the classes that it belongs to.
        filter_mask: Bits of the classes that it does not meet.
        world: World; -1 meets all.
        immovable: Static or kinematic; two such shapes do not meet.
        pairs: Pairs of shapes that do not collide, ``(n, 2)``.
    """

    collides: Bool
    body: Int
    group: Int
    filter_class: Int
    filter_mask: Int
    world: Int
    immovable: Bool
    pairs: Int

    @classmethod
    def from_model(cls, model: Any, static_body: Bool) -> CollisionRules:
        """Gather the rules of a model.

        Args:
            model: The model.
            static_body: Bodies that cannot move, ``(body_count,)``.
        """
        flags = host(model, "shape_flags")
        body = host(model, "shape_body").astype(np.int64)
        fixed = np.append(static_body | ((host(model, "body_flags") & BodyFlags.KINEMATIC) != 0), True)
        return cls(
            collides=((flags & ShapeFlags.COLLIDE_SHAPES) != 0) & ((flags & ShapeFlags.SITE) == 0),
            body=body,
            group=host(model, "shape_collision_group").astype(np.int64),
            filter_class=host(model, "shape_filter_class").astype(np.int64),
            filter_mask=host(model, "shape_filter_mask").astype(np.int64),
            world=host(model, "shape_world").astype(np.int64),
            immovable=fixed[body],
            pairs=host(model, "shape_collision_filter_pairs").astype(np.int64).reshape(-1, 2),
        )


@dataclass(frozen=True)
class CollisionFilter:
    """The rules in MuJoCo's terms.

    Attributes:
        contype: Masks of the shapes, ``(shape_count,)`` int32.
        conaffinity: Masks of the shapes, ``(shape_count,)`` int32.
        excludes: Pairs of bodies that do not collide, ``(n, 2)``; -1 is the world.
        excess: Number of pairs of classes that collide although the model forbids it; 0 where the masks are exact.
    """

    contype: NDArray[np.int32]
    conaffinity: NDArray[np.int32]
    excludes: Int
    excess: int


def allowed_classes(group: Int, filter_class: Int, filter_mask: Int, world: Int, immovable: Bool) -> Bool:
    """Return the symmetric matrix of pairs that collide, ``(k, k)``, from one row of rules per class ``(k,)``."""
    a, b = group[:, None], group[None, :]
    groups = (a != 0) & (b != 0) & (((a > 0) & (a == b)) | ((a < 0) & (a != b)) | ((b < 0) & (a != b)))
    masked = (filter_class[:, None] & filter_mask[None, :]) != 0
    worlds = (world[:, None] == world[None, :]) | (world[:, None] < 0) | (world[None, :] < 0)
    return groups & ~masked & ~masked.T & worlds & ~(immovable[:, None] & immovable[None, :])


def compile_filter(rules: CollisionRules) -> CollisionFilter:
    """Compile rules to masks and excludes.

    Args:
        rules: What decides on pairs.
    """
    count = len(rules.body)
    active = np.flatnonzero(rules.collides)
    signature = np.stack(
        [rules.group, rules.filter_class, rules.filter_mask, rules.world, rules.immovable.astype(np.int64)], axis=1
    )[active]
    rows, inverse = np.unique(signature, axis=0, return_inverse=True)
    group, filter_class, filter_mask, world, immovable = rows.T
    allowed = allowed_classes(group, filter_class, filter_mask, world, immovable != 0)
    shape_class = np.full(count, -1, np.int64)
    shape_class[active] = inverse.reshape(-1)
    pairs = _pairs_that_matter(rules, shape_class, allowed)
    excludes, rest = _split_off_excludes(rules, shape_class, allowed, pairs)
    unsplit = 0
    if len(np.unique(rest)) > _MOST_SPLIT:
        unsplit, rest = len(rest), rest[:0]
    shape_class, allowed = _split_classes(shape_class, allowed, rest)
    contype, conaffinity, excess = cover(allowed)
    masks = np.zeros((2, count), np.uint32)
    masks[:, active] = np.stack([contype, conaffinity])[:, shape_class[active]]
    return CollisionFilter(masks[0].view(np.int32), masks[1].view(np.int32), excludes, excess + unsplit)


def _pairs_that_matter(rules: CollisionRules, shape_class: Int, allowed: Bool) -> Int:
    """Return the listed pairs, sorted and unique, that the classes alone would let collide."""
    pairs = np.sort(rules.pairs, axis=1)
    pairs = pairs[(pairs[:, 0] >= 0) & (pairs[:, 0] != pairs[:, 1])]
    a, b = pairs.T
    pairs = pairs[(shape_class[a] >= 0) & (shape_class[b] >= 0) & (rules.body[a] != rules.body[b])]
    pairs = pairs[allowed[shape_class[pairs[:, 0]], shape_class[pairs[:, 1]]]] if len(pairs) else pairs
    return np.unique(pairs, axis=0)


def _split_off_excludes(rules: CollisionRules, shape_class: Int, allowed: Bool, pairs: Int) -> tuple[Int, Int]:
    """Return pairs of bodies whose shapes are all filtered from each other, and the pairs of shapes that are left."""
    if len(pairs) == 0:
        return np.zeros((0, 2), np.int64), pairs
    bodies = np.sort(rules.body[pairs], axis=1)
    unique, inverse, filtered = np.unique(bodies, axis=0, return_inverse=True, return_counts=True)
    involved, local = np.unique(unique, return_inverse=True)
    local = local.reshape(unique.shape)
    if len(involved) * len(allowed) > _MOST_CELLS:
        return np.zeros((0, 2), np.int64), pairs
    # shapes per involved body and class give the number of pairs that would collide between two bodies
    table = np.zeros((len(involved), len(allowed)))
    slot = np.searchsorted(involved, rules.body)
    slot = np.minimum(slot, len(involved) - 1)
    known = (involved[slot] == rules.body) & (shape_class >= 0)
    np.add.at(table, (slot[known], shape_class[known]), 1.0)
    colliding = np.sum((table @ allowed)[local[:, 0]] * table[local[:, 1]], axis=1)
    whole = filtered == np.rint(colliding).astype(np.int64)
    return unique[whole], pairs[~whole[inverse.reshape(-1)]]


def _split_classes(shape_class: Int, allowed: Bool, pairs: Int) -> tuple[Int, Bool]:
    """Give every shape of the pairs a class of its own, and forbid the pairs among those classes."""
    if len(pairs) == 0:
        return shape_class, allowed
    shapes, local = np.unique(pairs, return_inverse=True)
    local = local.reshape(pairs.shape) + len(allowed)
    origin = np.concatenate([np.arange(len(allowed)), shape_class[shapes]])
    split = allowed[np.ix_(origin, origin)]
    split[local[:, 0], local[:, 1]] = False
    split[local[:, 1], local[:, 0]] = False
    shape_class = shape_class.copy()
    shape_class[shapes] = len(allowed) + np.arange(len(shapes))
    # classes that are now empty no longer ask for anything
    empty = np.setdiff1d(np.arange(len(allowed)), shape_class)
    split[empty] = False
    split[:, empty] = False
    return shape_class, split


def cover(allowed: Bool, bits: int = BITS) -> tuple[NDArray[np.uint32], NDArray[np.uint32], int]:
    """Find masks that allow the given pairs of classes.

    Exact with one bit per class where that fits; else a greedy cover of the matrix by bicliques. Where even that needs
    more bits, the last one allows all pairs among the classes that are left, so contacts are in excess but never
    missing.

    Args:
        allowed: Symmetric matrix ``(k, k)``; the diagonal says whether two shapes of one class collide.
        bits: Number of bits.

    Returns:
        ``contype`` and ``conaffinity`` per class ``(k,)``, and the number of pairs of classes allowed in excess.
    """
    contype = np.zeros(len(allowed), np.uint32)
    conaffinity = np.zeros(len(allowed), np.uint32)
    if not allowed.any():
        return contype, conaffinity, 0
    rows, inverse = np.unique(allowed, axis=0, return_inverse=True)
    inverse = inverse.reshape(-1)
    first = np.unique(inverse, return_index=True)[1]
    merged = rows[:, first]
    live = np.flatnonzero(merged.any(axis=1))
    left, right = _bit_per_class(merged, live) if len(live) <= bits else _bicliques(merged, bits)
    # one column per bit, packed into integers
    weights = np.left_shift(np.uint32(1), np.arange(left.shape[1], dtype=np.uint32))
    contype = (left * weights).sum(axis=1).astype(np.uint32)[inverse]
    conaffinity = (right * weights).sum(axis=1).astype(np.uint32)[inverse]
    passes = (left.astype(np.float32) @ right.T.astype(np.float32)) > 0
    passes |= passes.T
    return contype, conaffinity, int(np.count_nonzero(np.triu(passes & ~merged)))


def _bit_per_class(allowed: Bool, live: Int) -> tuple[Bool, Bool]:
    left = np.zeros((len(allowed), len(live)), bool)
    left[live, np.arange(len(live))] = True
    return left, allowed[:, live]


def _bicliques(allowed: Bool, bits: int) -> tuple[Bool, Bool]:
    """Cover a symmetric matrix with one biclique per bit, each chosen greedily; the last bit takes all that is left."""
    left: list[Bool] = []
    right: list[Bool] = []
    uncovered = allowed.copy()
    while uncovered.any():
        one, other = _best_biclique(allowed, uncovered)
        rest = uncovered & ~(one[:, None] & other[None, :]) & ~(other[:, None] & one[None, :])
        if len(left) == bits - 1 and rest.any():
            one = other = np.asarray(uncovered.any(axis=1))
        left.append(one)
        right.append(other)
        uncovered[np.ix_(one, other)] = False
        uncovered[np.ix_(other, one)] = False
    return np.stack(left, axis=1), np.stack(right, axis=1)


def _best_biclique(allowed: Bool, uncovered: Bool) -> tuple[Bool, Bool]:
    """Grow a biclique from the class with most uncovered pairs, class by class while that covers more."""
    one = np.zeros(len(allowed), bool)
    one[np.argmax(uncovered.sum(axis=1))] = True
    other = allowed[one][0].copy()
    columns = uncovered[one].sum(axis=0).astype(np.float32)
    weight = uncovered.astype(np.float32)
    covered = float(columns @ other)
    while True:
        # what would be covered with each further class on the one side
        shared = (allowed & other).astype(np.float32)
        gain = shared @ columns + (shared * weight).sum(axis=1)
        gain[one] = -1.0
        best = int(np.argmax(gain))
        if gain[best] <= covered:
            break
        covered = float(gain[best])
        one[best] = True
        other &= allowed[best]
        columns += weight[best]
    # classes that ask nothing of the other side join it at no cost
    one = ~np.any(other[None, :] & ~allowed, axis=1)
    return one, other
