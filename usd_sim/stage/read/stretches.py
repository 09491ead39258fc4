"""What instances have in common: those that differ by place, rotation and size alone can share one copy.

A placement ``M = K R T`` deforms by K and moves by R T. Instances of equal K share a copy. Where many differ by size
alone, ``K = s K₀``, three copies of sizes 1, 2 and 3 stand for all of them: they show by which power of the size each
quantity grows (see :mod:`usd_sim.stage.sizes`).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from usd_sim.geometry import transforms as tf
from usd_sim.stage.read.instancers import Placement
from usd_sim.stage.read.scan import Scan

__all__ = ["PROBES", "Instances", "Split", "gather", "split"]

PROBES = (1.0, 2.0, 3.0)
"""Sizes of the copies that stand for many sizes."""

_MANY = 16
"""Different sizes from which three copies stand for all."""

_DIGITS = 6
"""Digits to which two stretches must agree to share a copy: single-precision orientations leave 1e-7."""


@dataclass
class Instances:
    """Instances that become rows of their own, in the order of their rows; n of them.

    Attributes:
        group: Group of copies that each repeats, from 1 on; 0 stands for the stage's own prims (n,).
        size: How many times larger each is than the copy (n,).
        pose: Where each is placed (n, 7) [m, xyzw].
        velocity: Velocity of its origin and angular velocity, in the world (n, 6) [m/s, rad/s].
        instancer: Path of its instancer.
        index: Place in the instancer's arrays (n,).
        label: Its name.
        roots: Prototype root of each group.
        probes: Groups of the three sizes of what stands for many.
    """

    group: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=int))
    size: np.ndarray = field(default_factory=lambda: np.zeros(0))
    pose: np.ndarray = field(default_factory=lambda: np.zeros((0, 7)))
    velocity: np.ndarray = field(default_factory=lambda: np.zeros((0, 6)))
    instancer: list[str] = field(default_factory=list)
    index: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=int))
    label: list[str] = field(default_factory=list)
    roots: list[str] = field(default_factory=lambda: [""])
    probes: list[tuple[int, int, int]] = field(default_factory=list)


@dataclass
class Split:
    """What some placements deform by, and where they move; n placements of k stretches.

    Attributes:
        stretch: The different K (k, 4, 4).
        which: Which of them each placement has (n,).
        size: How many times larger each is than that (n,).
        pose: Poses of R T (n, 7) [m, xyzw].
        probes: Stretches of the sizes 1, 2 and 3 of what stands for many.
    """

    stretch: np.ndarray
    which: np.ndarray
    size: np.ndarray
    pose: np.ndarray
    probes: list[tuple[int, int, int]]


def split(scan: Scan, matrices: np.ndarray, *, share_sizes: bool) -> Split:
    """Split placements (n, 4, 4) in stage units into what deforms and what moves.

    Args:
        scan: What was found on the stage.
        matrices: The placements.
        share_sizes: Let three copies stand for many sizes.
    """
    parts = tf.decompose_affine(matrices)
    bend = matrices[:, :3, :3] @ tf.quat_to_matrix(parts.rotation)
    pose = np.concatenate([scan.units.to_si(parts.translation, "m"), parts.rotation], axis=1)
    first, which = _distinct(bend)
    size = np.ones(len(bend))
    if not share_sizes or len(first) <= _MANY:
        return Split(_affine(bend[first]), which, size, pose, [])
    volume = np.cbrt(np.abs(np.linalg.det(bend[first])))
    volume = np.where(volume > 0, volume, 1.0)  # flat ones are reported by who reads them
    alike, family = _distinct(bend[first] / volume[:, None, None])
    stretches: list[np.ndarray] = []
    probes: list[tuple[int, int, int]] = []
    start, factor = np.zeros(len(first), dtype=int), np.ones(len(first))
    for number, example in enumerate(alike):
        members = np.flatnonzero(family == number)
        start[members] = len(stretches) + np.arange(len(members))
        if len(members) <= _MANY:
            stretches += list(bend[first[members]])
            continue
        middle = float(np.median(volume[members]))
        start[members], factor[members] = len(stretches), volume[members] / middle
        probes.append((len(stretches), len(stretches) + 1, len(stretches) + 2))
        stretches += [bend[first[example]] / volume[example] * middle * probe for probe in PROBES]
    return Split(_affine(np.array(stretches)), start[which], factor[which], pose, probes)


def _distinct(bend: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the first of each of the different matrices (n, 3, 3), and which each one is."""
    size = np.maximum(np.abs(bend).max(axis=(1, 2)), np.finfo(float).tiny)
    step = 10.0 ** (np.floor(np.log10(size)) - _DIGITS)
    keys = np.round(bend / step[:, None, None]).reshape(len(bend), 9) * step[:, None]
    if (keys == keys[:1]).all():
        return np.zeros(1, dtype=int), np.zeros(len(keys), dtype=int)
    _, first, which = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    return first, np.asarray(which).reshape(-1)


def _affine(bend: np.ndarray) -> np.ndarray:
    result = np.tile(np.eye(4), (len(bend), 1, 1))
    result[:, :3, :3] = bend
    return result


def gather(
    scan: Scan, parts: list[tuple[Placement, Split, int]], roots: list[str], probes: list[tuple[int, int, int]]
) -> Instances:
    """Return all instances, ordered by instancer and by their place in its arrays.

    Args:
        scan: What was found on the stage.
        parts: Placements, what they were split into, and the group of the first stretch of each.
        roots: Prototype root of each group.
        probes: Groups of what stands for many sizes.
    """
    if not parts:
        return Instances(roots=roots)
    names = {name: i for i, name in enumerate(dict.fromkeys(placement.instancer for placement, _, _ in parts))}
    number = np.concatenate([np.full(len(p.index), names[p.instancer]) for p, _, _ in parts])
    index = np.concatenate([placement.index for placement, _, _ in parts])
    order = np.lexsort((index, number))
    velocity = np.concatenate([placement.velocity for placement, _, _ in parts])[order]
    velocity[:, :3] = scan.units.to_si(velocity[:, :3], "m/s")
    labels = [label for placement, _, _ in parts for label in placement.label]
    if not (order[1:] > order[:-1]).all():
        labels = [labels[row] for row in order.tolist()]
    paths = list(names)
    return Instances(
        group=np.concatenate([start + item.which for _, item, start in parts])[order],
        size=np.concatenate([item.size for _, item, _ in parts])[order],
        pose=np.concatenate([item.pose for _, item, _ in parts])[order],
        velocity=velocity,
        instancer=[paths[row] for row in number[order].tolist()],
        index=index[order],
        label=labels,
        roots=roots,
        probes=probes,
    )
