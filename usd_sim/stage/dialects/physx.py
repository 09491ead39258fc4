"""The PhysX schemas (``physx*:``), as Isaac Sim and Omniverse write them, and the joint states that come with them.

The schemas themselves need not be registered: applied names are enough. Only what is authored counts, except where a
rule's fallback is used by the reader that the rule feeds.
"""

from __future__ import annotations

import math

from usd_sim.stage.dialects.rules import Rule

__all__ = ["RULES", "why_not_read"]

_INF = math.inf

_ITERATIONS = "solvers take their iterations from the scene"
_SLEEP = "bodies never sleep"
_SPEED = "speeds of bodies are not limited"
_TUNING = "tunes PhysX's own solver"
_FASTER = "changes how fast PhysX works, not what it computes"
_PATCH = "has no counterpart in the contact models here"
_NO_BOUNCE = "limits do not bounce"

_SCENE = [
    Rule("physxScene:timeStepsPerSecond", "PhysxSceneAPI", fallback=60),
    *(
        Rule(f"physxScene:{name}", "PhysxSceneAPI", ignored=why)
        for why, names in {
            _TUNING: (
                "solverType", "bounceThreshold", "frictionOffsetThreshold", "frictionCorrelationDistance",
                "frictionType", "enableStabilization", "minPositionIterationCount", "maxPositionIterationCount",
                "minVelocityIterationCount", "maxVelocityIterationCount", "enableExternalForcesEveryIteration",
                "enableResidualReporting", "solveArticulationContactLast", "maxBiasCoefficient",
            ),
            _FASTER: (
                "broadphaseType", "enableGPUDynamics", "collisionSystem", "updateType", "reportKinematicKinematicPairs",
                "reportKinematicStaticPairs", "gpuCollisionStackSize", "gpuFoundLostAggregatePairsCapacity",
                "gpuFoundLostPairsCapacity", "gpuHeapCapacity", "gpuMaxNumPartitions", "gpuMaxRigidContactCount",
                "gpuMaxRigidPatchCount", "gpuTempBufferCapacity", "gpuTotalAggregatePairsCapacity",
                "gpuMaxDeformableSurfaceContacts", "gpuMaxSoftBodyContacts", "gpuMaxParticleContacts",
                "gpuMaxHairContacts", "enableSceneQuerySupport",
            ),
            "fast bodies are not swept": ("enableCCD",),
            "results do not differ between runs on the same machine anyway": ("enableEnhancedDeterminism",),
            "collision groups list the groups that they filter": ("invertCollisionGroupFilter",),
        }.items()
        for name in names
    ),
]  # fmt: skip

_BODY = [
    Rule("physxRigidBody:disableGravity", "PhysxRigidBodyAPI", "body_gravity", fallback=False),
    Rule("physxRigidBody:linearDamping", "PhysxRigidBodyAPI", "body_linear_damping", fallback=0.0),
    Rule("physxRigidBody:angularDamping", "PhysxRigidBodyAPI", "body_angular_damping", fallback=0.05),
    *(
        Rule(f"physxRigidBody:{name}", "PhysxRigidBodyAPI", ignored=why)
        for why, names in {
            _SPEED: ("maxLinearVelocity", "maxAngularVelocity"),
            _SLEEP: ("sleepThreshold", "stabilizationThreshold"),
            _ITERATIONS: ("solverPositionIterationCount", "solverVelocityIterationCount"),
            _TUNING: ("maxDepenetrationVelocity", "maxContactImpulse", "cfmScale", "contactSlopCoefficient"),
            "fast bodies are not swept": ("enableCCD", "enableSpeculativeCCD"),
            "gyroscopic forces are part of the equations of motion": ("enableGyroscopicForces",),
            "forces of a step are used up by it": ("retainAccelerations",),
            "freedoms of bodies cannot be locked yet; hold the body by a joint": ("lockedPosAxis", "lockedRotAxis"),
            _FASTER: ("solveContact",),
        }.items()
        for name in names
    ),
]

_COLLISION = [
    Rule("physxCollision:contactOffset", "PhysxCollisionAPI", "shape_gap", "m", -_INF, (-_INF,), may_be_infinite=True),
    Rule("physxCollision:restOffset", "PhysxCollisionAPI", "shape_margin", "m", -_INF, (-_INF,), may_be_infinite=True),
    Rule("physxCollision:torsionalPatchRadius", "PhysxCollisionAPI", ignored=_PATCH),
    Rule("physxCollision:minTorsionalPatchRadius", "PhysxCollisionAPI", ignored=_PATCH),
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
    *(
        Rule(f"physxSDFMeshCollision:{name}", "PhysxSDFMeshCollisionAPI", ignored="solvers choose it for themselves")
        for name in (
            "sdfBitsPerSubgridPixel", "sdfEnableRemeshing", "sdfMargin", "sdfNarrowBandThickness",
            "sdfSubgridResolution", "sdfTriangleCountReductionFactor",
        )
    ),
]  # fmt: skip

_MATERIAL = [
    Rule("physxMaterial:frictionCombineMode", "PhysxMaterialAPI", "shape_material_friction_combine"),
    Rule("physxMaterial:restitutionCombineMode", "PhysxMaterialAPI", "shape_material_restitution_combine"),
    Rule(
        "physxMaterial:compliantContactStiffness", "PhysxMaterialAPI", "shape_material_ke", "N/m", 0.0, (0.0,)
    ),
    Rule(
        "physxMaterial:compliantContactDamping", "PhysxMaterialAPI", "shape_material_kd", "N·s/m", 0.0, (0.0,)
    ),
    Rule("physxMaterial:compliantContactAccelerationSpring", "PhysxMaterialAPI", ignored="contact gains are of forces"),
    Rule("physxMaterial:dampingCombineMode", "PhysxMaterialAPI", ignored="solvers combine gains in their own way"),
    Rule("physxMaterial:improvePatchFriction", "PhysxMaterialAPI", ignored=_TUNING),
    Rule("physxMaterial:disableFriction", "PhysxMaterialAPI", ignored="friction follows the coefficients"),
    Rule("physxMaterial:disableStrongFriction", "PhysxMaterialAPI", ignored=_TUNING),
]  # fmt: skip

_ARTICULATION = [
    Rule("physxArticulation:articulationEnabled", "PhysxArticulationAPI", fallback=True, structural=True),
    Rule("physxArticulation:enabledSelfCollisions", "PhysxArticulationAPI", fallback=True, structural=True),
    Rule("physxArticulation:solverPositionIterationCount", "PhysxArticulationAPI", ignored=_ITERATIONS),
    Rule("physxArticulation:solverVelocityIterationCount", "PhysxArticulationAPI", ignored=_ITERATIONS),
    Rule("physxArticulation:sleepThreshold", "PhysxArticulationAPI", ignored=_SLEEP),
    Rule("physxArticulation:stabilizationThreshold", "PhysxArticulationAPI", ignored=_SLEEP),
]

_JOINT = [
    Rule("physxLimit:<i>:stiffness", "PhysxLimitAPI", "joint_limit_ke", "N/m|N·m/deg", 0.0, (0.0,)),
    Rule("physxLimit:<i>:damping", "PhysxLimitAPI", "joint_limit_kd", "N·s/m|N·m·s/deg", 0.0, (0.0,)),
    Rule("physxLimit:<i>:restitution", "PhysxLimitAPI", ignored=_NO_BOUNCE),
    Rule("physxLimit:<i>:bounceThreshold", "PhysxLimitAPI", ignored=_NO_BOUNCE),
    Rule("physxJointAxis:<i>:armature", "PhysxJointAxisAPI", "joint_armature", "kg|kg·m²", 0.0),
    Rule(
        "physxJointAxis:<i>:maxJointVelocity",
        "PhysxJointAxisAPI",
        "joint_velocity_limit",
        "m/s|deg/s",
        _INF,
        may_be_infinite=True,
    ),
    Rule("physxJointAxis:<i>:dynamicFrictionEffort", "PhysxJointAxisAPI", "joint_friction", "N|N·m", 0.0),
    Rule("physxJointAxis:<i>:staticFrictionEffort", "PhysxJointAxisAPI", "joint_friction", "N|N·m", 0.0),
    Rule("physxJointAxis:<i>:viscousFrictionCoefficient", "PhysxJointAxisAPI", "joint_damping", "N·s/m|N·m·s/deg", 0.0),
    Rule("physxJoint:armature", "PhysxJointAPI", "joint_armature", "kg|kg·m²", 0.0),
    Rule(
        "physxJoint:maxJointVelocity",
        "PhysxJointAPI",
        "joint_velocity_limit",
        "m/s|deg/s",
        _INF,
        may_be_infinite=True,
    ),
    Rule("physxJoint:jointFriction", "PhysxJointAPI", "joint_friction", "N|N·m", 0.0),
    Rule("physxJoint:enableProjection", "PhysxJointAPI", ignored=_TUNING),
    Rule("physxMimicJoint:<i>:referenceJoint", "PhysxMimicJointAPI", "joint_mimic_joint", structural=True),
    Rule("physxMimicJoint:<i>:gearing", "PhysxMimicJointAPI", "joint_mimic_coeffs", "", 1.0),
    Rule("physxMimicJoint:<i>:offset", "PhysxMimicJointAPI", "joint_mimic_coeffs", "m|deg", 0.0),
    Rule("physxMimicJoint:<i>:referenceJointAxis", "PhysxMimicJointAPI", ignored="leaders have one freedom"),
    Rule("physxMimicJoint:<i>:naturalFrequency", "PhysxMimicJointAPI", ignored="mimics do not give"),
    Rule("physxMimicJoint:<i>:dampingRatio", "PhysxMimicJointAPI", ignored="mimics do not give"),
    Rule("state:<i>:physics:position", "PhysicsJointStateAPI", "joint_q", "m|deg", 0.0),
    Rule("state:<i>:physics:appliedForce", "PhysicsJointStateAPI", ignored="is what PhysX measured"),
    Rule("state:<i>:physics:velocity", "PhysicsJointStateAPI", "joint_qd", "m/s|deg/s", 0.0),
]

RULES: list[Rule] = [*_SCENE, *_BODY, *_COLLISION, *_MATERIAL, *_ARTICULATION, *_JOINT]

_FAMILIES = {
    "physxAutoAttachment": "deformable bodies are not simulated",
    "physxCamera": "cameras do not take part in physics",
    "physxCharacterController": "character controllers are not simulated",
    "physxCharacterState": "character controllers are not simulated",
    "physxContactReport": "asks for reports that PhysX makes",
    "physxConvexDecompositionCollision": "the decomposition here has no such setting",
    "physxConvexHullCollision": "hulls here have no such setting",
    "physxCookedData": "is data that PhysX prepared for itself",
    "physxDeformable": "deformable bodies are not simulated",
    "physxDiffuseParticles": "particles are not simulated",
    "physxForce": "forces that a prim exerts are not applied; give them to body_f",
    "physxGearJoint": "gear joints are not simulated",
    "physxHairMaterial": "hair is not simulated",
    "physxParticle": "particles are not simulated",
    "physxPBDMaterial": "particles are not simulated",
    "physxRackAndPinionJoint": "rack and pinion joints are not simulated",
    "physxSphereFillCollision": "approximations by spheres are not made",
    "physxSurfaceVelocity": "surfaces that convey are not simulated",
    "physxTendon": "tendons of PhysX are not simulated",
    "physxTriangleMeshCollision": "meshes are used as they are",
    "physxTriangleMeshSimplificationCollision": "the simplification here has no such setting",
    "physxTrigger": "triggers are not simulated",
    "physxVehicle": "vehicles are not simulated",
}
"""What the properties of a family start with, and why none of them is read but those that have a rule."""


def why_not_read(name: str) -> str:
    """Return why a property of the PhysX family that no rule speaks of is not read."""
    family = name.partition(":")[0]
    found = (why for start, why in _FAMILIES.items() if family.startswith(start))
    return next(found, "no schema of PhysX that is understood has this property")
