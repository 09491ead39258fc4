"""Dialects: the families of properties that are understood, each a table of rules."""

from __future__ import annotations

from usd_sim.stage.dialects import foreign, mjc, newton, physics
from usd_sim.stage.dialects.rules import BUILT_IN_SCHEMAS, DIALECTS, Rule, RuleIndex, check_dialects, dialect_of, fits

__all__ = ["BUILT_IN_SCHEMAS", "DIALECTS", "RULES", "Rule", "RuleIndex", "check_dialects", "dialect_of", "fits"]

RULES = RuleIndex([*physics.RULES, *newton.RULES, *mjc.RULES, *foreign.RULES])
