"""UsdPhysics: the base dialect."""

from __future__ import annotations

import math

from usd_sim.stage.dialects.rules import Rule

__all__ = ["RULES"]

_INF = math.inf

_SCENE = [
    Rule("physics:gravityDirection", "PhysicsScene", "gravity"),
    Rule("physics:gravityMagnitude", "PhysicsScene", "gravity", "m/s²", may_be_infinite=True),
]

_BODY = [
    Rule("physics:rigidBodyEnabled", "PhysicsRigidBodyAPI", fallback=True, structural=True),
    Rule("physics:kinematicEnabled", "PhysicsRigidBodyAPI", "body_flags", fallback=False, structural=True),
    Rule("physics:velocity", "PhysicsRigidBodyAPI", "body_qd", "m/s", (0.0, 0.0, 0.0)),
    Rule("physics:angularVelocity", "PhysicsRigidBodyAPI", "body_qd", "deg/s", (0.0, 0.0, 0.0)),
    Rule("physics:simulationOwner", "PhysicsRigidBodyAPI", structural=True),
]

_MASS = [
    Rule("physics:mass", "PhysicsMassAPI", "body_mass", "kg", 0.0, (0.0,)),
    Rule("physics:density", "PhysicsMassAPI", "shape_density", "kg/m³", 0.0, (0.0,)),
    Rule(
        "physics:centerOfMass", "PhysicsMassAPI", "body_com", "m", (-_INF,) * 3, ((-_INF,) * 3,), may_be_infinite=True
    ),
    Rule("physics:diagonalInertia", "PhysicsMassAPI", "body_inertia", "kg·m²", (0.0,) * 3, ((0.0,) * 3,)),
    Rule("physics:principalAxes", "PhysicsMassAPI", "body_inertia", "", None, ((0.0,) * 4,)),
]

_COLLISION = [
    Rule("physics:collisionEnabled", "PhysicsCollisionAPI", "shape_flags", fallback=True),
    Rule("physics:simulationOwner", "PhysicsCollisionAPI", structural=True),
    Rule("physics:approximation", "PhysicsMeshCollisionAPI", fallback="none", structural=True),
]

_MATERIAL = [
    Rule("physics:dynamicFriction", "PhysicsMaterialAPI", "shape_material_mu", fallback=0.0),
    Rule("physics:staticFriction", "PhysicsMaterialAPI", "shape_material_mu", fallback=0.0),
    Rule("physics:restitution", "PhysicsMaterialAPI", "shape_material_restitution", fallback=0.0),
    Rule("physics:density", "PhysicsMaterialAPI", "shape_density", "kg/m³", 0.0, (0.0,)),
]

_JOINT = [
    Rule("physics:body0", "PhysicsJoint", structural=True),
    Rule("physics:body1", "PhysicsJoint", structural=True),
    Rule("physics:localPos0", "PhysicsJoint", "joint_X_p", "m", (0.0, 0.0, 0.0)),
    Rule("physics:localRot0", "PhysicsJoint", "joint_X_p"),
    Rule("physics:localPos1", "PhysicsJoint", "joint_X_c", "m", (0.0, 0.0, 0.0)),
    Rule("physics:localRot1", "PhysicsJoint", "joint_X_c"),
    Rule("physics:jointEnabled", "PhysicsJoint", "joint_enabled", fallback=True, structural=True),
    Rule("physics:collisionEnabled", "PhysicsJoint", fallback=False, structural=True),
    Rule("physics:excludeFromArticulation", "PhysicsJoint", fallback=False, structural=True),
    Rule("physics:breakForce", "PhysicsJoint", "", "N", _INF, may_be_infinite=True),
    Rule("physics:breakTorque", "PhysicsJoint", "", "N·m", _INF, may_be_infinite=True),
    Rule("physics:axis", "PhysicsRevoluteJoint", "joint_axis", fallback="X", structural=True),
    Rule("physics:axis", "PhysicsPrismaticJoint", "joint_axis", fallback="X", structural=True),
    Rule("physics:axis", "PhysicsSphericalJoint", fallback="X", structural=True),
    Rule("physics:coneAngle0Limit", "PhysicsSphericalJoint", "", "deg", -1.0, (-1.0,)),
    Rule("physics:coneAngle1Limit", "PhysicsSphericalJoint", "", "deg", -1.0, (-1.0,)),
    Rule("physics:lowerLimit", "PhysicsRevoluteJoint", "joint_limit_lower", "deg", -_INF, may_be_infinite=True),
    Rule("physics:upperLimit", "PhysicsRevoluteJoint", "joint_limit_upper", "deg", _INF, may_be_infinite=True),
    Rule("physics:lowerLimit", "PhysicsPrismaticJoint", "joint_limit_lower", "m", -_INF, may_be_infinite=True),
    Rule("physics:upperLimit", "PhysicsPrismaticJoint", "joint_limit_upper", "m", _INF, may_be_infinite=True),
    Rule("physics:minDistance", "PhysicsDistanceJoint", "joint_limit_lower", "m", -1.0),
    Rule("physics:maxDistance", "PhysicsDistanceJoint", "joint_limit_upper", "m", -1.0),
    Rule("limit:<i>:physics:low", "PhysicsLimitAPI", "joint_limit_lower", "m|deg", -_INF, may_be_infinite=True),
    Rule("limit:<i>:physics:high", "PhysicsLimitAPI", "joint_limit_upper", "m|deg", _INF, may_be_infinite=True),
    Rule("drive:<i>:physics:type", "PhysicsDriveAPI", fallback="force", structural=True),
    Rule("drive:<i>:physics:maxForce", "PhysicsDriveAPI", "joint_effort_limit", "N|N·m", _INF, may_be_infinite=True),
    Rule("drive:<i>:physics:targetPosition", "PhysicsDriveAPI", "joint_target_q", "m|deg", 0.0),
    Rule("drive:<i>:physics:targetVelocity", "PhysicsDriveAPI", "joint_target_qd", "m/s|deg/s", 0.0),
    Rule("drive:<i>:physics:damping", "PhysicsDriveAPI", "joint_target_kd", "N·s/m|N·m·s/deg", 0.0),
    Rule("drive:<i>:physics:stiffness", "PhysicsDriveAPI", "joint_target_ke", "N/m|N·m/deg", 0.0),
]

_FILTERING = [
    Rule("physics:filteredPairs", "PhysicsFilteredPairsAPI", structural=True),
    Rule("physics:filteredGroups", "PhysicsCollisionGroup", structural=True),
    Rule("physics:mergeGroup", "PhysicsCollisionGroup", structural=True),
    Rule("physics:invertFilteredGroups", "PhysicsCollisionGroup", fallback=False, structural=True),
    Rule("collection:colliders:includes", "PhysicsCollisionGroup", structural=True),
    Rule("collection:colliders:excludes", "PhysicsCollisionGroup", structural=True),
    Rule("collection:colliders:expansionRule", "PhysicsCollisionGroup", structural=True),
    Rule("collection:colliders:includeRoot", "PhysicsCollisionGroup", structural=True),
]

RULES: list[Rule] = [*_SCENE, *_BODY, *_MASS, *_COLLISION, *_MATERIAL, *_JOINT, *_FILTERING]
