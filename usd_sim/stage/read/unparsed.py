"""Colliders that UsdPhysics' own parser calls invalid although USD allows them: points that share one width."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from pxr import Sdf, Usd, UsdPhysics

__all__ = ["complete_points"]

_OBJECTS = UsdPhysics.ObjectType


@dataclass
class _PointsShape:
    """What the parser says of a collider, as far as readers ask for it."""

    primPath: Any
    rigidBody: Sdf.Path
    collisionEnabled: bool
    collisionGroups: list[Any]
    simulationOwners: list[Any]
    filteredCollisions: list[Any]
    materials: list[Any] = field(default_factory=list)
    isValid: bool = True


def complete_points(stage: Usd.Stage, objects: dict[Any, tuple[list[Any], list[Any]]]) -> None:
    """Put descriptors of the same form in the place of invalid ones of points; whoever reads them checks the values.

    Args:
        stage: The stage.
        objects: What the parser found, kind to (paths, descriptors); written.
    """
    paths, items = objects.get(_OBJECTS.SpherePointsShape, ([], []))
    if all(item.isValid for item in items):
        return
    groups = [
        (group, UsdPhysics.CollisionGroup.Get(stage, group).GetCollidersCollectionAPI().ComputeMembershipQuery())
        for group in objects.get(_OBJECTS.CollisionGroup, ([], []))[0]
    ]
    completed = list(items)
    for i, (path, item) in enumerate(zip(paths, items, strict=True)):
        if not item.isValid:
            of = [group for group, members in groups if members.IsPathIncluded(path)]
            completed[i] = _points_shape(stage.GetPrimAtPath(path), of)
    objects[_OBJECTS.SpherePointsShape] = (list(paths), completed)


def _points_shape(prim: Usd.Prim, groups: list[Any]) -> _PointsShape:
    api = UsdPhysics.CollisionAPI(prim)
    carrier = prim
    while carrier and not carrier.HasAPI(UsdPhysics.RigidBodyAPI):
        carrier = carrier.GetParent()
    filtered = UsdPhysics.FilteredPairsAPI(prim).GetFilteredPairsRel()
    return _PointsShape(
        primPath=prim.GetPath(),
        rigidBody=carrier.GetPath() if carrier else Sdf.Path(),
        collisionEnabled=bool(api.GetCollisionEnabledAttr().Get()),
        collisionGroups=groups,
        simulationOwners=api.GetSimulationOwnerRel().GetTargets(),
        filteredCollisions=filtered.GetTargets() if filtered else [],
    )
