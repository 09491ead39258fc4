"""Dialects: the families of properties that are understood, each a table of rules."""

from __future__ import annotations

from usd_sim.stage.dialects import foreign, newton, physics
from usd_sim.stage.dialects.rules import BUILT_IN_SCHEMAS, Rule, RuleIndex

__all__ = ["BUILT_IN_SCHEMAS", "RULES", "Rule", "RuleIndex"]

RULES = RuleIndex([*physics.RULES, *newton.RULES, *foreign.RULES])
