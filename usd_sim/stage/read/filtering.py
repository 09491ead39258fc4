"""Which colliders pass through each other: collision groups, filtered pairs, joined bodies and self-collision."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from pxr import UsdPhysics

from usd_sim.stage.read.bodies import BodySpecs
from usd_sim.stage.read.joints import JointSpec
from usd_sim.stage.read.scan import Scan
from usd_sim.stage.read.shapes import ShapeSpecs

__all__ = ["FilterSpecs", "read_filters"]

MAX_CLASSES = 32
"""Number of sets of collision groups that the bits of ``shape_filter_mask`` can tell apart."""


@dataclass
class FilterSpecs:
    """What does not collide.

    Attributes:
        filter_class: One bit per shape, see ``shape_filter_class`` (n,).
        filter_mask: See ``shape_filter_mask`` (n,).
        pairs: Pairs of shapes (p, 2), each once, lower row first.
    """

    filter_class: np.ndarray
    filter_mask: np.ndarray
    pairs: np.ndarray


def read_filters(
    scan: Scan, bodies: BodySpecs, shapes: ShapeSpecs, joints: list[JointSpec], closed_sets: Iterable[list[int]]
) -> FilterSpecs:
    """Collect everything that keeps shapes apart.

    Args:
        scan: What was found on the stage.
        bodies: Bodies.
        shapes: Colliders.
        joints: All joints.
        closed_sets: Bodies that do not collide among themselves: articulations without self-collision.
    """
    filter_class, filter_mask, spelled_out = _groups(scan, shapes)
    on_body = _BodyShapes(shapes, len(bodies.paths))
    joined = [
        (joint.parent, joint.child) for joint in joints if not joint.collision and min(joint.parent, joint.child) >= 0
    ]
    pairs = [on_body.pairs(np.array(joined, dtype=int).reshape(-1, 2))]
    for members in closed_sets:
        rows = np.concatenate([on_body[member] for member in members])
        first, second = np.triu_indices(len(rows), 1)
        apart = shapes.body[rows[first]] != shapes.body[rows[second]]
        pairs.append(np.stack([rows[first[apart]], rows[second[apart]]], axis=1))
    pairs += _joined_to_static(shapes, joints, on_body)
    pairs += [*spelled_out, *_filtered(scan, bodies, shapes, on_body)]
    return FilterSpecs(filter_class, filter_mask, _unique(pairs))


class _BodyShapes:
    """The shapes of each body."""

    def __init__(self, shapes: ShapeSpecs, count: int):
        self._order = np.argsort(shapes.body, kind="stable")
        self._bounds = np.searchsorted(shapes.body[self._order], np.arange(count + 1))

    def __getitem__(self, body: int) -> np.ndarray:
        return self._order[self._bounds[body] : self._bounds[body + 1]]

    def pairs(self, bodies: np.ndarray) -> np.ndarray:
        """Return all pairs of shapes of pairs of bodies (p, 2)."""
        first, second = bodies[:, 0], bodies[:, 1]
        sizes = np.diff(self._bounds)
        count = sizes[first] * sizes[second]
        which = np.repeat(np.arange(len(bodies)), count)
        within = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
        width = sizes[second][which]
        a = self._order[self._bounds[first][which] + within // np.maximum(width, 1)]
        b = self._order[self._bounds[second][which] + within % np.maximum(width, 1)]
        return np.stack([a, b], axis=1)


def _product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.stack([np.repeat(a, len(b)), np.tile(b, len(a))], axis=1)


def _unique(pairs: list[np.ndarray]) -> np.ndarray:
    stacked = np.concatenate([np.zeros((0, 2), dtype=int), *pairs])
    stacked = np.sort(stacked[stacked[:, 0] != stacked[:, 1]], axis=1)
    return np.unique(stacked, axis=0) if len(stacked) else stacked


def _joined_to_static(shapes: ShapeSpecs, joints: list[JointSpec], on_body: _BodyShapes) -> list[np.ndarray]:
    rows = _by_path(shapes)
    pairs = []
    for joint in joints:
        if joint.static_prim in rows and not joint.collision:
            pairs.append(_product(np.array(rows[joint.static_prim]), on_body[max(joint.parent, joint.child)]))
    return pairs


def _by_path(shapes: ShapeSpecs) -> dict[str, list[int]]:
    rows: dict[str, list[int]] = {}
    for i, path in enumerate(shapes.paths):
        rows.setdefault(path, []).append(i)
    return rows


# --- filtered pairs -------------------------------------------------------------------------------------------------


def _filtered(scan: Scan, bodies: BodySpecs, shapes: ShapeSpecs, on_body: _BodyShapes) -> list[np.ndarray]:
    sources = [path for path in scan.schemas if scan.has(path, "PhysicsFilteredPairsAPI")]
    if not sources:
        return []
    rows = _by_path(shapes)
    articulated = {
        path: [bodies.row[str(body)] for body in item.articulatedBodies if str(body) in bodies.row]
        for path, item in scan.found(UsdPhysics.ObjectType.Articulation)
    }

    def rows_of(path: str) -> np.ndarray:
        return np.concatenate([rows_at(path), *map(rows_at, scan.stand_ins(path))])

    def rows_at(path: str) -> np.ndarray:
        if path in bodies.row:
            return on_body[bodies.row[path]]
        if path in rows:
            return np.array(rows[path])
        below = [i for other, here in rows.items() if other.startswith(f"{path}/") for i in here]
        members = [on_body[body] for body in articulated.get(path, ())]
        return np.unique(np.concatenate([np.array(below, dtype=int), *members]))

    pairs = []
    for path in sources:
        for target in scan.targets(path, "physics:filteredPairs"):
            if not scan.prim(target):
                scan.report.ignore(path, f"names {target}, which does not exist", property="physics:filteredPairs")
            pairs.append(_product(rows_of(path), rows_of(target)))
    return pairs


# --- groups ---------------------------------------------------------------------------------------------------------


def _groups(scan: Scan, shapes: ShapeSpecs) -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
    """Return class bits, masks, and pairs: shapes in the same set of groups share a class.

    The sets with the most shapes get a bit each; what the others do not collide with is spelled out in pairs.
    """
    filter_class, filter_mask = np.zeros((2, len(shapes.paths)), dtype=np.uint32)
    members: dict[tuple[str, ...], list[int]] = {}
    for i, groups in enumerate(shapes.groups):
        if groups:
            members.setdefault(groups, []).append(i)
    if not members:
        return filter_class, filter_mask, []
    known = {path for path, type_name in scan.types.items() if type_name == "PhysicsCollisionGroup"}
    apart = _groups_apart(scan, sorted(known.union(*members)))
    sets, pairs = sorted(members, key=lambda groups: (-len(members[groups]), groups)), []
    for i, mine in enumerate(sets):
        others = [j for j, other in enumerate(sets) if any((a, b) in apart for a in mine for b in other)]
        if i < MAX_CLASSES:
            filter_class[members[mine]] = 1 << i
            filter_mask[members[mine]] = sum(1 << j for j in others if j < MAX_CLASSES)
        else:
            pairs += [_product(np.array(members[mine]), np.array(members[sets[j]])) for j in others]
    return filter_class, filter_mask, pairs


def _groups_apart(scan: Scan, groups: list[str]) -> set[tuple[str, str]]:
    """Return the pairs of collision groups that do not collide, in both orders."""
    merged: dict[str, str] = {}
    for group in groups:
        merged[group] = str(scan.value(group, "physics:mergeGroup", "") or group)
    apart: set[tuple[str, str]] = set()
    for group in groups:
        named = {merged.get(target, target) for target in scan.targets(group, "physics:filteredGroups")}
        inverted = bool(scan.value(group, "physics:invertFilteredGroups", False))
        for other in groups:
            if (merged[other] in named) != inverted:
                apart.update({(group, other), (other, group)})
    # members of a merged group share what any of them says
    classes = {(merged[a], merged[b]) for a, b in apart}
    return {(a, b) for a in groups for b in groups if (merged[a], merged[b]) in classes}
