"""Dialects: the families of properties that are understood, each a table of rules."""

from __future__ import annotations

from usd_sim.stage.dialects import mjc, newton, physics, physx
from usd_sim.stage.dialects.physx import why_not_read
from usd_sim.stage.dialects.rules import BUILT_IN_SCHEMAS, DIALECTS, Rule, RuleIndex, check_dialects, dialect_of, fits

__all__ = [
    "BUILT_IN_SCHEMAS",
    "DIALECTS",
    "RULES",
    "Rule",
    "RuleIndex",
    "check_dialects",
    "dialect_of",
    "fits",
    "why_not_read",
]

RULES = RuleIndex([*physics.RULES, *newton.RULES, *mjc.RULES, *physx.RULES])
