"""From joints to trees: which joint holds which body, which joints close loops, and where each tree starts.

Bodies and joints make a graph. Each of its connected parts becomes one articulation: a root (held by a joint to the
world, or free) and tree joints in breadth-first order, parents before children. Joints left over close loops.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

import numpy as np

from usd_sim.geometry import transforms as tf
from usd_sim.model.types import JointType
from usd_sim.stage.coordinates import POSE_TOLERANCE, pose_distance
from usd_sim.stage.read.bodies import BodySpecs
from usd_sim.stage.read.joints import DofSpec, JointSpec
from usd_sim.stage.read.scan import Scan

__all__ = ["Forest", "Tree", "build_forest", "merge_stacked"]

_STACKABLE = (JointType.REVOLUTE, JointType.PRISMATIC)
_NEVER_TREE = (JointType.DISTANCE,)


@dataclass
class Tree:
    """One articulation.

    Attributes:
        root: Row of its root body.
        joints: Tree joints, parents before children; empty for a body on its own.
        free: The root is held by no joint.
    """

    root: int
    joints: list[JointSpec] = field(default_factory=list)
    free: bool = True


@dataclass
class Forest:
    """All trees of a stage.

    Attributes:
        trees: Trees with at least one authored joint.
        singles: Rows of the bodies that no tree joint touches.
        loops: Joints outside of the trees.
    """

    trees: list[Tree]
    singles: np.ndarray
    loops: list[JointSpec]


def build_forest(scan: Scan, bodies: BodySpecs, joints: list[JointSpec], roots: list[int]) -> Forest:
    """Choose the tree joints.

    Args:
        scan: What was found on the stage.
        bodies: Bodies.
        joints: Joints, stacked ones merged already.
        roots: Rows of bodies that carry an articulation root, in order of preference.
    """
    for joint in joints:
        if joint.child < 0:
            _turn_round(scan, joint)
    usable = [joint for joint in joints if not joint.excluded and joint.kind not in _NEVER_TREE]
    around: dict[int, list[JointSpec]] = {}
    for joint in usable:
        around.setdefault(joint.parent, []).append(joint)
        around.setdefault(joint.child, []).append(joint)
    grower = _Grower(scan, bodies, around)
    for joint in around.get(-1, []):
        grower.grow_from_world(joint)
    touched = [row for row in around if row >= 0]
    children = {joint.child for joint in usable}
    kinematic = [row for row in touched if bodies.kinematic[row]]
    natural = [row for row in touched if row not in children]
    for row in [*kinematic, *roots, *sorted(natural), *sorted(touched)]:
        if row in around:
            grower.grow_free(row)
    loops = [joint for joint in joints if id(joint) not in grower.taken]
    for joint in loops:
        if not joint.excluded and joint.kind not in _NEVER_TREE:
            scan.report.approximate(
                joint.path,
                "the joint closes a loop and acts as a constraint",
                remedy="author physics:excludeFromArticulation = true",
            )
    single = np.ones(len(bodies.paths), dtype=bool)
    single[list(grower.visited)] = False
    return Forest(grower.trees, np.flatnonzero(single), loops)


def _turn_round(scan: Scan, joint: JointSpec) -> None:
    """Exchange the sides of a joint; sliding and turning freedoms together cannot keep their order."""
    joint.reverse()
    if len({dof.angular for dof in joint.dofs}) > 1:
        scan.report.approximate(
            joint.path,
            "the joint is turned round; its sliding freedoms lie along the axes of the other body",
            remedy="exchange physics:body0 and physics:body1",
        )


class _Grower:
    """Grows one tree after another over the bodies not visited yet."""

    def __init__(self, scan: Scan, bodies: BodySpecs, around: dict[int, list[JointSpec]]):
        self.scan, self.bodies, self.around = scan, bodies, around
        self.visited: set[int] = set()
        self.taken: set[int] = set()
        self.trees: list[Tree] = []

    def grow_from_world(self, joint: JointSpec) -> None:
        """Grow a tree whose root is held by a joint to the world."""
        if joint.child not in self.visited:
            self._grow(Tree(joint.child, [joint], free=False))

    def grow_free(self, root: int) -> None:
        """Grow a tree from a free root."""
        if root not in self.visited:
            self._grow(Tree(root))

    def _grow(self, tree: Tree) -> None:
        self.trees.append(tree)
        self.taken.update(id(joint) for joint in tree.joints)
        self.visited.add(tree.root)
        pending = deque([tree.root])
        while pending:
            here = pending.popleft()
            for joint in self.around.get(here, ()):
                other = joint.parent if joint.child == here else joint.child
                if other < 0 or other in self.visited or self.bodies.kinematic[other]:
                    continue
                if joint.child == here:
                    _turn_round(self.scan, joint)
                self.visited.add(other)
                self.taken.add(id(joint))
                tree.joints.append(joint)
                pending.append(other)


# --- stacked joints -------------------------------------------------------------------------------------------------


def merge_stacked(scan: Scan, joints: list[JointSpec], adds_mobility: set[str]) -> list[JointSpec]:
    """Merge joints that share both bodies and add freedom to each other into one D6 joint each.

    Args:
        scan: What was found on the stage.
        joints: Joints in authored order.
        adds_mobility: Paths of the joints whose articulation says newton:jointsAddMobility.
    """
    groups: dict[tuple[int, int], list[JointSpec]] = {}
    for joint in joints:
        if joint.path in adds_mobility and joint.kind in _STACKABLE and not joint.excluded:
            groups.setdefault((joint.parent, joint.child), []).append(joint)
    merged = {id(stack[0]): _merge(scan, stack) for stack in groups.values() if len(stack) > 1}
    dropped = {id(joint) for stack in groups.values() for joint in stack[1:]}
    return [merged.get(id(joint), joint) for joint in joints if id(joint) not in dropped]


def _merge(scan: Scan, stack: list[JointSpec]) -> JointSpec:
    """Return the D6 joint of a stack; the joints act one after another, in order.

    All axes and anchors are expressed in one joint frame, which sits at the first anchor and is parallel to the child.
    """
    kinds = [joint.dofs[0].angular for joint in stack]
    if kinds != sorted(kinds):
        scan.report.approximate(stack[0].path, "sliding joints stacked on turning ones act before them")
    if kinds.count(True) > 3 or kinds.count(False) > 3:
        scan.report.error(stack[0].path, "more than three joints of a kind between the same bodies")
    first = next((joint for joint in stack if joint.dofs[0].angular), stack[0])
    X_c = np.concatenate([first.X_c[:3], [0.0, 0.0, 0.0, 1.0]])
    child_in_parent = tf.transform_multiply(first.X_p, tf.transform_inverse(first.X_c))
    for joint in stack:
        other = tf.transform_multiply(joint.X_p, tf.transform_inverse(joint.X_c))
        if max(pose_distance(child_in_parent, other)) > POSE_TOLERANCE:
            scan.report.approximate(
                joint.path, f"its zero pose is taken to be that of {first.path}, it is stacked with"
            )
    dofs: list[DofSpec] = []
    for joint in sorted(stack, key=lambda item: item.dofs[0].angular):
        dof = joint.dofs[0]
        dof.axis = tf.quat_rotate(joint.X_c[3:], dof.axis)
        dof.anchor = joint.X_c[:3] - X_c[:3] if dof.angular else np.zeros(3)
        dofs.append(dof)
    return JointSpec(
        path=first.path if first is stack[0] else stack[0].path,
        kind=JointType.D6,
        parent=first.parent,
        child=first.child,
        X_p=tf.transform_multiply(child_in_parent, X_c),
        X_c=X_c,
        dofs=dofs,
        excluded=False,
        collision=any(joint.collision for joint in stack),
        static_prim=first.static_prim,
    )
