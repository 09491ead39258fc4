"""Properties of the PhysX family that are read so far: the simulation rate and self-collision."""

from __future__ import annotations

from usd_sim.stage.dialects.rules import Rule

__all__ = ["RULES"]

RULES: list[Rule] = [
    Rule("physxScene:timeStepsPerSecond", "PhysxSceneAPI", fallback=60),
    Rule("physxArticulation:enabledSelfCollisions", "PhysxArticulationAPI", fallback=True, structural=True),
]
