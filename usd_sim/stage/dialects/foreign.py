"""Properties of the PhysX family that are read so far.

The simulation rate, self-collision, limits of mesh approximations, and how materials combine.
"""

from __future__ import annotations

from usd_sim.stage.dialects.rules import Rule

__all__ = ["RULES"]

RULES: list[Rule] = [
    Rule("physxScene:timeStepsPerSecond", "PhysxSceneAPI", fallback=60),
    Rule("physxArticulation:enabledSelfCollisions", "PhysxArticulationAPI", fallback=True, structural=True),
    Rule("physxConvexHullCollision:hullVertexLimit", "PhysxConvexHullCollisionAPI", fallback=64, structural=True),
    Rule(
        "physxConvexDecompositionCollision:hullVertexLimit",
        "PhysxConvexDecompositionCollisionAPI",
        fallback=64,
        structural=True,
    ),
    Rule(
        "physxConvexDecompositionCollision:maxConvexHulls",
        "PhysxConvexDecompositionCollisionAPI",
        fallback=32,
        structural=True,
    ),
    Rule("physxSDFMeshCollision:sdfResolution", "PhysxSDFMeshCollisionAPI", "shape_sdf_max_resolution", fallback=256),
    Rule("physxMaterial:frictionCombineMode", "PhysxMaterialAPI", "shape_material_friction_combine"),
    Rule("physxMaterial:restitutionCombineMode", "PhysxMaterialAPI", "shape_material_restitution_combine"),
]
