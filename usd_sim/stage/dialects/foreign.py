"""Properties of the MuJoCo and PhysX families that are read so far.

The simulation rate, the total mass and self-collision.
"""

from __future__ import annotations

from usd_sim.stage.dialects.rules import Rule

__all__ = ["RULES"]

RULES: list[Rule] = [
    Rule("mjc:option:timestep", "MjcSceneAPI", fallback=0.002),
    Rule("mjc:compiler:setTotalMass", "MjcSceneAPI", "body_mass", "kg", -1.0, (-1.0,), structural=True),
    Rule("physxScene:timeStepsPerSecond", "PhysxSceneAPI", fallback=60),
    Rule("physxArticulation:enabledSelfCollisions", "PhysxArticulationAPI", fallback=True, structural=True),
]
