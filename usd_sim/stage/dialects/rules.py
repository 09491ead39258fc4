"""Rules: which property of a stage feeds which field, in which dimension.

The reader, the report, the documents and live edits all go by these tables. ``<i>`` in a property name stands for the
instance of a multiple-apply schema: ``drive:<i>:physics:stiffness``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from usd_sim.errors import ExitCode, UsdSimError

__all__ = ["BUILT_IN_SCHEMAS", "DIALECTS", "Rule", "RuleIndex", "check_dialects", "dialect_of", "fits"]

DIALECTS = ("newton", "mjc", "physx")
"""Families of properties besides UsdPhysics, which is always read and comes last; the first that speaks counts."""


_OF_PHYSX = ("state:", "PhysicsJointStateAPI")
"""What belongs to PhysX by other names."""


@dataclass(frozen=True)
class Rule:
    """One property that is understood.

    Attributes:
        property: Name, with ``<i>`` for an instance name.
        on: Schema that the property belongs to: an API schema, or a type of prim.
        field: Field of the model that it feeds; empty where it shapes structure or feeds several.
        dimension: Physical dimension; ``linear|angular`` where the kind of freedom decides.
        fallback: Value where the schema is applied and the property is not authored.
        sentinels: Values that mean "no opinion".
        structural: A change of it needs a new model.
        may_be_infinite: Infinity is a value that makes sense.
        ignored: Why it is understood but changes nothing; empty where it does.
    """

    property: str
    on: str
    field: str = ""
    dimension: str = ""
    fallback: Any = None
    sentinels: tuple[Any, ...] = ()
    structural: bool = False
    may_be_infinite: bool = False
    ignored: str = ""


def fits(fallback: Any, value: Any, *, exact: bool = True) -> bool:
    """Return whether a value is of the kind that a fallback is: a switch, a number, a word, or numbers in a row.

    Args:
        fallback: What to compare with; None is like anything.
        value: The value.
        exact: Rows must be as long as the fallback.
    """
    if fallback is None:
        return True
    if isinstance(fallback, bool):
        return isinstance(value, (bool, int))
    if isinstance(fallback, (int, float)):
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        return number and (isinstance(fallback, float) or abs(value) < 2**31)
    if isinstance(fallback, str):
        return isinstance(value, str)
    if isinstance(value, str) or not hasattr(value, "__len__"):
        return False
    return (len(value) == len(fallback) or not exact) and all(isinstance(number, (int, float)) for number in value)


# what a schema brings along; holds also where the schema itself is not registered
BUILT_IN_SCHEMAS: dict[str, tuple[str, ...]] = {
    "MjcCollisionAPI": ("NewtonCollisionAPI",),
    "MjcEqualityConnectAPI": ("MjcEqualityAPI",),
    "MjcEqualityJointAPI": ("NewtonMimicAPI",),
    "MjcEqualityWeldAPI": ("MjcEqualityAPI",),
    "MjcJointAPI": ("NewtonJointAPI",),
    "MjcMaterialAPI": ("NewtonMaterialAPI",),
    "MjcMeshCollisionAPI": ("NewtonMeshCollisionAPI",),
    "MjcSceneAPI": ("NewtonSceneAPI",),
    "MjcSiteAPI": ("NewtonSiteAPI",),
    "NewtonArticulationRootAPI": ("PhysicsArticulationRootAPI",),
    "NewtonCollisionAPI": ("PhysicsCollisionAPI",),
    "NewtonCurvesDeformableMaterialAPI": ("PhysicsMaterialAPI",),
    "NewtonKaminoSceneAPI": ("NewtonSceneAPI",),
    "NewtonMPMMaterialAPI": ("PhysicsMaterialAPI",),
    "NewtonMPMSceneAPI": ("NewtonSceneAPI",),
    "NewtonMassAPI": ("PhysicsMassAPI",),
    "NewtonMaterialAPI": ("PhysicsMaterialAPI",),
    "NewtonMeshCollisionAPI": ("NewtonCollisionAPI", "PhysicsMeshCollisionAPI"),
    "NewtonSDFCollisionAPI": ("NewtonCollisionAPI",),
    "NewtonVbdSceneAPI": ("NewtonSceneAPI",),
    "NewtonXpbdSceneAPI": ("NewtonSceneAPI",),
}


class RuleIndex:
    """Rules of all dialects, looked up by the name of an authored property.

    Args:
        rules: The rules; the first of a name on a schema wins.
    """

    def __init__(self, rules: Iterable[Rule]):
        self.rules = list(rules)
        self._by_name: dict[str, list[Rule]] = {}
        for rule in self.rules:
            self._by_name.setdefault(rule.property, []).append(rule)
        self._templates = [rule.property.split("<i>") for rule in self.rules if "<i>" in rule.property]

    def find(self, name: str) -> list[Rule]:
        """Return the rules of an authored property, one per schema that has it."""
        rules = self._by_name.get(name)
        if rules is None:
            instance = self.instance_of(name)
            rules = self._by_name.get(instance[0], []) if instance else []
        return rules

    def instance_of(self, name: str) -> tuple[str, str] | None:
        """Return (property with ``<i>``, instance name), or None if the name is not of a multiple-apply schema."""
        for prefix, suffix in self._templates:
            if name.startswith(prefix) and name.endswith(suffix) and len(name) > len(prefix) + len(suffix):
                return f"{prefix}<i>{suffix}", name[len(prefix) : len(name) - len(suffix)]
        return None


def dialect_of(name: str) -> str:
    """Return the dialect that a property or schema belongs to; empty for UsdPhysics and everything else."""
    if name.startswith(_OF_PHYSX):
        return "physx"
    lower = name[:8].lower()
    return next((dialect for dialect in DIALECTS if lower.startswith(dialect)), "")


def check_dialects(names: Iterable[str] | None) -> tuple[str, ...]:
    """Return the dialects to read, first things first.

    Args:
        names: Some of :data:`DIALECTS` in order of precedence; None for all in their own order.

    Raises:
        UsdSimError: A name is unknown or stands twice.
    """
    if names is None:
        return DIALECTS
    chosen = tuple(name.strip().lower() for name in names)
    for name in chosen:
        if name not in DIALECTS or chosen.count(name) > 1:
            problem = "stands twice" if name in DIALECTS else "is unknown"
            raise UsdSimError(
                f"dialect {name!r} {problem}", remedy=f"choose from: {', '.join(DIALECTS)}", exit_code=ExitCode.USAGE
            )
    return chosen
