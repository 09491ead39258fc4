"""PointInstancers: where the copies of each prototype are, as arrays.

USD draws a prototype once per instance, at the transform ``prototype root's own xform, scale, orientation, position,
instancer``. Physics copies it in the same way. Invisible instances (``invisibleIds``) are simulated like invisible
prims are; inactive ones (``inactiveIds``) do not exist.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from pxr import Sdf, Usd, UsdGeom

from usd_sim.geometry import transforms as tf
from usd_sim.stage.read.scan import Scan

__all__ = ["Nested", "Placement", "active_instances", "find_placements", "instance_arrays", "relative_matrix"]


@dataclass
class Placement:
    """All instances of one prototype in one instancer; n of them.

    Attributes:
        instancer: The instancer prim.
        prototype: Root of the prototype.
        carrier: Rigid body that the instancer lies below; empty for none.
        index: Place of each instance in the instancer's arrays, counted on through the copies of an instancer that is
            itself instanced (n,).
        label: Name of each instance (n,).
        matrix: From the space of the prototype root's parent to the world, in stage units (n, 4, 4).
        velocity: World velocity of the instance's origin [stage length/s] and angular velocity [rad/s] (n, 6).
    """

    instancer: str
    prototype: str
    carrier: str
    index: np.ndarray
    label: list[str]
    matrix: np.ndarray
    velocity: np.ndarray


@dataclass
class Nested:
    """Instances of colliders that belong to a rigid body of the prototype that holds the instancer.

    Attributes:
        instancer: The instancer prim.
        host: Root of the prototype that holds the instancer.
        prototype: Root of the prototype of the instances.
        carrier: The rigid body.
        matrix: From the space of the prototype root's parent to that of the host's parent (n, 4, 4).
    """

    instancer: str
    host: str
    prototype: str
    carrier: str
    matrix: np.ndarray


@dataclass
class _Outer:
    """The copies of the space that an instancer lies in: the world, or the parent of a prototype's root."""

    prim: Usd.Prim
    host: str
    carrier: str
    matrix: np.ndarray
    label: list[str]
    velocity: np.ndarray
    index: np.ndarray
    chain: tuple[str, ...]


def find_placements(scan: Scan, bodies: set[str], physical: dict[str, bool]) -> tuple[list[Placement], list[Nested]]:
    """Return the instances of all prototypes that hold physics.

    Args:
        scan: What was found on the stage.
        bodies: Enabled rigid bodies, those in prototypes included.
        physical: Root of each prototype with colliders or bodies to whether it holds rigid bodies.
    """
    finder = _Finder(scan, bodies, physical)
    inner = {path for root in _prototypes(scan) for path in _instancers_below(scan, root)}
    world = scan.stage.GetPseudoRoot()
    start = _Outer(world, "", "", np.eye(4)[None], [""], np.zeros((1, 6)), np.zeros(1, dtype=int), ())
    for path in scan.instancers:
        if path not in inner:
            finder.expand(path, start)
    return finder.placements, finder.nested


def _prototypes(scan: Scan) -> list[str]:
    get = scan.stage.GetPrimAtPath
    relations = [UsdGeom.PointInstancer(get(path)).GetPrototypesRel() for path in scan.instancers]
    return list(dict.fromkeys(str(target) for rel in relations for target in rel.GetForwardedTargets()))


def _instancers_below(scan: Scan, root: str) -> list[str]:
    """Return the instancers at or below a prim, but not those in prototypes of another among them."""
    found: list[str] = []
    for path in scan.instancers:
        if (path == root or path.startswith(root + "/")) and not any(path.startswith(f + "/") for f in found):
            found.append(path)
    return found


class _Finder:
    def __init__(self, scan: Scan, bodies: set[str], physical: dict[str, bool]):
        self.scan, self.bodies, self.physical = scan, bodies, physical
        self.cache = UsdGeom.XformCache(scan.time)
        self.placements: list[Placement] = []
        self.nested: list[Nested] = []

    def expand(self, path: str, outer: _Outer) -> None:
        """Add the instances of an instancer and of those in its prototypes, once per copy of the space around it."""
        scan, prim = self.scan, self.scan.stage.GetPrimAtPath(path)
        if path in outer.chain:
            scan.report.error(path, "the instancer is a prototype of itself", remedy="remove it from its prototypes")
            return
        roots = [str(target) for target in UsdGeom.PointInstancer(prim).GetPrototypesRel().GetForwardedTargets()]
        if not any(root in self.physical or _instancers_below(scan, root) for root in roots):
            return
        arrays = instance_arrays(prim, scan.time)
        if arrays is None:
            scan.report.error(
                path, "its arrays are not of the same length", remedy="author one position, index, … per instance"
            )
            return
        matrices = tf.compose_affine(*arrays)
        which = np.asarray(UsdGeom.PointInstancer(prim).GetProtoIndicesAttr().Get(scan.time) or (), dtype=int)
        used = active_instances(prim, scan.time) & self._valid(path, which, len(roots), matrices)
        space = relative_matrix(self.cache, prim, outer.prim) @ outer.matrix
        local = self._velocities(prim, len(which))
        for number, root in enumerate(roots):
            rows = np.flatnonzero(used & (which == number))
            if len(rows) and (root in self.physical or _instancers_below(scan, root)):
                self._place(path, root, rows, matrices, local, space, outer)

    def _place(
        self,
        path: str,
        root: str,
        rows: np.ndarray,
        matrices: np.ndarray,
        local: np.ndarray,
        space: np.ndarray,
        outer: _Outer,
    ) -> None:
        """Add the instances ``rows`` of one prototype."""
        carrier = self._carrier(path, outer)
        inner = _instancers_below(self.scan, root)
        if outer.host and carrier and self.physical.get(root) is False:
            self._nest(path, root, rows, matrices, carrier, outer)
            for skipped in inner:
                self.scan.report.ignore(skipped, "instancers in colliders of an instanced body are not simulated")
            return
        matrix = (matrices[rows] @ space[:, None]).reshape(-1, 4, 4)
        name = path.removeprefix(outer.host.rpartition("/")[0])
        label = [f"{above}{name}[{i}]" for above in outer.label for i in rows.tolist()]
        index = (outer.index[:, None] * len(matrices) + rows).ravel()
        velocity = _world_velocities(local[rows], matrix.reshape(len(outer.matrix), -1, 4, 4), space, outer)
        placement = Placement(path, root, carrier or outer.carrier, index, label, matrix, velocity.reshape(-1, 6))
        if root in self.physical:
            self.placements.append(placement)
        for below in inner:
            parent, chain = self.scan.stage.GetPrimAtPath(root).GetParent(), (*outer.chain, path)
            self.expand(below, _Outer(parent, root, placement.carrier, matrix, label, placement.velocity, index, chain))

    def _nest(self, path: str, root: str, rows: np.ndarray, matrices: np.ndarray, carrier: str, outer: _Outer) -> None:
        offset = relative_matrix(self.cache, self.scan.stage.GetPrimAtPath(path), outer.prim)
        if not any(item.instancer == path and item.prototype == root for item in self.nested):
            self.nested.append(Nested(path, outer.host, root, carrier, matrices[rows] @ offset))

    def _carrier(self, path: str, outer: _Outer) -> str:
        """Return the nearest rigid body above an instancer, no higher than the space that it is instanced in."""
        for prefix in reversed(Sdf.Path(path).GetPrefixes()):
            if prefix == outer.prim.GetPath():
                break
            if str(prefix) in self.bodies:
                return str(prefix)
        return ""

    def _valid(self, path: str, which: np.ndarray, prototypes: int, matrices: np.ndarray) -> np.ndarray:
        """Return which instances can be used; the others are reported."""
        known = (which >= 0) & (which < prototypes)
        if not known.all():
            rows = np.flatnonzero(~known)
            self.scan.report.ignore(
                f"{path}", f"{len(rows)} instances name a prototype that does not exist, the first is [{rows[0]}]",
                property="protoIndices", remedy="author indices below the number of prototypes",
            )  # fmt: skip
        finite = np.isfinite(matrices).all(axis=(1, 2))
        for i in np.flatnonzero(~finite)[:1]:
            self.scan.report.error(path, f"the transform of instance {i} is not a finite number", remedy="repair it")
        return known & finite

    def _velocities(self, prim: Usd.Prim, count: int) -> np.ndarray:
        """Return velocity [stage length/s] and angular velocity [rad/s] in the space of the instancer (n, 6)."""
        instancer, result = UsdGeom.PointInstancer(prim), np.zeros((count, 6))
        for attribute, columns in (
            (instancer.GetVelocitiesAttr(), slice(0, 3)),
            (instancer.GetAngularVelocitiesAttr(), slice(3, 6)),
        ):
            values = attribute.Get(self.scan.time)
            if values is None or len(values) == 0:
                continue
            if len(values) != count:
                self.scan.report.ignore(
                    prim.GetPath(), f"has {len(values)} values for {count} instances", property=attribute.GetName(),
                    remedy="author one per instance",
                )  # fmt: skip
                continue
            result[:, columns] = np.asarray(values, dtype=float)
        result[:, 3:] = np.radians(result[:, 3:])
        return result


def _world_velocities(local: np.ndarray, matrix: np.ndarray, space: np.ndarray, outer: _Outer) -> np.ndarray:
    """Return world velocities of instances (copies, n, 6): their own, and what the motion of the copy adds."""
    if not local.any() and not outer.velocity.any():
        return np.zeros((*matrix.shape[:2], 6))
    turn = tf.decompose_affine(space).rotation
    mirror = np.where(np.linalg.det(space[:, :3, :3]) < 0, -1.0, 1.0)
    linear = np.einsum("ni,cij->cnj", local[:, :3], space[:, :3, :3])
    if (mirror < 0).any():
        turn = tf.decompose_affine(space * np.where(mirror < 0, -1.0, 1.0)[:, None, None]).rotation
    angular = tf.quat_rotate(turn[:, None], local[None, :, 3:])
    angular = angular + outer.velocity[:, None, 3:]
    arm = matrix[:, :, 3, :3] - outer.matrix[:, None, 3, :3]
    linear = linear + outer.velocity[:, None, :3] + np.cross(outer.velocity[:, None, 3:], arm)
    return np.concatenate([linear, angular], axis=2)


def instance_arrays(prim: Usd.Prim, time: Usd.TimeCode) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Return positions (n, 3), unit quaternions x, y, z, w (n, 4) and scales (n, 3) of all instances.

    Orientations of half precision are brought to unit length, so that they neither scale nor shear. None where the
    arrays do not fit each other.
    """
    instancer = UsdGeom.PointInstancer(prim)
    count = len(instancer.GetProtoIndicesAttr().Get(time) or ())
    positions = np.asarray(instancer.GetPositionsAttr().Get(time) or (), dtype=float).reshape(-1, 3)
    fine = instancer.GetOrientationsfAttr().Get(time)
    turns = np.asarray(fine or instancer.GetOrientationsAttr().Get(time) or (), dtype=float).reshape(-1, 4)
    scales = np.asarray(instancer.GetScalesAttr().Get(time) or (), dtype=float).reshape(-1, 3)
    if len(positions) != count or len(turns) not in (0, count) or len(scales) not in (0, count):
        return None
    rotation = tf.quat_normalize(turns) if len(turns) else np.tile([0.0, 0.0, 0.0, 1.0], (count, 1))
    return positions, rotation, scales if len(scales) else np.ones((count, 3))


def active_instances(prim: Usd.Prim, time: Usd.TimeCode) -> np.ndarray:
    """Return which instances exist (n,): all but those that ``inactiveIds`` names."""
    instancer = UsdGeom.PointInstancer(prim)
    which = instancer.GetProtoIndicesAttr().Get(time)
    count = 0 if which is None else len(which)
    listed = prim.GetMetadata("inactiveIds")
    inactive = listed.GetAppliedItems() if listed is not None else []
    if not inactive:
        return np.ones(count, dtype=bool)
    ids = instancer.GetIdsAttr().Get(time)
    known = np.arange(count) if ids is None or len(ids) != count else np.asarray(ids)
    return ~np.isin(known, np.asarray(inactive))


def relative_matrix(cache: UsdGeom.XformCache, prim: Usd.Prim, above: Usd.Prim) -> np.ndarray:
    """Return the matrix from a prim's space to that of a prim above it (4, 4); the pseudo-root is the world."""
    if prim == above or prim.IsPseudoRoot():
        return np.eye(4)
    if above.IsPseudoRoot():
        return np.array(cache.GetLocalToWorldTransform(prim))
    return np.array(cache.ComputeRelativeTransform(prim, above)[0])
