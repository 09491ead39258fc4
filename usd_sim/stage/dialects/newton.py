"""The Newton schemas: what they add to UsdPhysics."""

from __future__ import annotations

import math

from usd_sim.stage.dialects.rules import Rule

__all__ = ["RULES"]

_INF = math.inf

RULES: list[Rule] = [
    # scene
    Rule("newton:timeStepsPerSecond", "NewtonSceneAPI", fallback=1000),
    Rule("newton:gravityEnabled", "NewtonSceneAPI", "gravity", fallback=True),
    Rule("newton:maxSolverIterations", "NewtonSceneAPI", fallback=-1, sentinels=(-1,)),
    # articulation
    Rule("newton:selfCollisionEnabled", "NewtonArticulationRootAPI", fallback=True, structural=True),
    Rule("newton:jointsAddMobility", "NewtonArticulationRootAPI", fallback=False, structural=True),
    # joint
    Rule("newton:armature", "NewtonJointAPI", "joint_armature", "kg|kg·m²", 0.0),
    Rule("newton:damping", "NewtonJointAPI", "joint_damping", "N·s/m|N·m·s/deg", 0.0),
    Rule("newton:friction", "NewtonJointAPI", "joint_friction", "N|N·m", 0.0),
    Rule("newton:velocityLimit", "NewtonJointAPI", "joint_velocity_limit", "m/s|deg/s", _INF, may_be_infinite=True),
    Rule(
        "newton:limitStiffness",
        "NewtonJointAPI",
        "joint_limit_ke",
        "N/m|N·m/deg",
        -_INF,
        (-_INF,),
        may_be_infinite=True,
    ),
    Rule(
        "newton:limitDamping",
        "NewtonJointAPI",
        "joint_limit_kd",
        "N·s/m|N·m·s/deg",
        -_INF,
        (-_INF,),
        may_be_infinite=True,
    ),
    Rule("newton:mimicEnabled", "NewtonMimicAPI", fallback=True, structural=True),
    Rule("newton:mimicJoint", "NewtonMimicAPI", "joint_mimic_joint", structural=True),
    Rule("newton:mimicCoef0", "NewtonMimicAPI", "joint_mimic_coeffs", "m|deg", 0.0),
    Rule("newton:mimicCoef1", "NewtonMimicAPI", "joint_mimic_coeffs", "", 1.0),
    # mass
    Rule("newton:inertia", "NewtonMassAPI", "body_inertia", "kg·m²"),
    Rule("newton:massModel", "NewtonMassAPI", "shape_is_solid", fallback="solid"),
    Rule("newton:shellThickness", "NewtonMassAPI", "", "m", -_INF, (-_INF,), may_be_infinite=True),
    # collision
    Rule("newton:contactMargin", "NewtonCollisionAPI", "shape_margin", "m", 0.0),
    Rule("newton:contactGap", "NewtonCollisionAPI", "shape_gap", "m", -_INF, (-_INF,), may_be_infinite=True),
    Rule("newton:maxHullVertices", "NewtonMeshCollisionAPI", fallback=-1, sentinels=(-1,), structural=True),
    Rule("newton:sdfMaxResolution", "NewtonSDFCollisionAPI", "shape_sdf_max_resolution", fallback=64),
    Rule(
        "newton:sdfTargetVoxelSize",
        "NewtonSDFCollisionAPI",
        "shape_sdf_target_voxel_size",
        "m",
        -_INF,
        (-_INF,),
        may_be_infinite=True,
    ),
    Rule("newton:sdfNarrowBandInner", "NewtonSDFCollisionAPI", "shape_sdf_narrow_band", "m", -0.1),
    Rule("newton:sdfNarrowBandOuter", "NewtonSDFCollisionAPI", "shape_sdf_narrow_band", "m", 0.1),
    Rule("newton:sdfTextureFormat", "NewtonSDFCollisionAPI", "shape_sdf_texture_format", fallback="uint16"),
    Rule("newton:sdfPadding", "NewtonSDFCollisionAPI", "shape_sdf_padding", "m", -_INF, (-_INF,), may_be_infinite=True),
    Rule("newton:hydroelasticEnabled", "NewtonSDFCollisionAPI", "shape_hydroelastic", fallback=False),
    Rule("newton:hydroelasticStiffness", "NewtonSDFCollisionAPI", "shape_hydroelastic_stiffness", "N/m³", 1.0e10),
    # material
    Rule("newton:torsionalFriction", "NewtonMaterialAPI", "shape_material_mu_torsional", "m", 0.005),
    Rule("newton:rollingFriction", "NewtonMaterialAPI", "shape_material_mu_rolling", "m", 0.0001),
    Rule(
        "newton:contactStiffness",
        "NewtonMaterialAPI",
        "shape_material_ke",
        "N/m",
        -_INF,
        (-_INF,),
        may_be_infinite=True,
    ),
    Rule(
        "newton:contactDamping",
        "NewtonMaterialAPI",
        "shape_material_kd",
        "N·s/m",
        -_INF,
        (-_INF,),
        may_be_infinite=True,
    ),
    Rule(
        "newton:contactFrictionGain",
        "NewtonMaterialAPI",
        "shape_material_kf",
        "N·s/m",
        -_INF,
        (-_INF,),
        may_be_infinite=True,
    ),
    Rule(
        "newton:contactAdhesion", "NewtonMaterialAPI", "shape_material_ka", "m", -_INF, (-_INF,), may_be_infinite=True
    ),
]
