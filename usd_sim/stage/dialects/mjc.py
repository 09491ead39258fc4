"""The MuJoCo schemas (``mjc:``): scene options, contacts, joints, equalities, actuators, tendons, sites, keyframes.

Values that MuJoCo alone understands go to fields of the ``mujoco`` namespace as they are, lengths and masses converted
from stage units. Gains are per radian, unlike those of UsdPhysics and Newton. ``mjc:ref`` and ``mjc:springref`` are in
degrees or radians as ``mjc:compiler:angle`` says.
"""

from __future__ import annotations

from typing import Any

from usd_sim.stage.dialects.rules import Rule

__all__ = ["DISABLE_FLAGS", "ENABLE_FLAGS", "RULES", "SCENE_OPTIONS"]

SCENE_OPTIONS: dict[str, tuple[str, str, Any]] = {
    "mjc:option:ccd_iterations": ("ccd_iterations", "", 35),
    "mjc:option:ccd_tolerance": ("ccd_tolerance", "", 1e-06),
    "mjc:option:cone": ("cone", "", "pyramidal"),
    "mjc:option:density": ("density", "kg/m³", 0.0),
    "mjc:option:impratio": ("impratio", "", 1.0),
    "mjc:option:integrator": ("integrator", "", "euler"),
    "mjc:option:jacobian": ("jacobian", "", "auto"),
    "mjc:option:ls_iterations": ("ls_iterations", "", 50),
    "mjc:option:ls_tolerance": ("ls_tolerance", "", 0.01),
    "mjc:option:magnetic": ("magnetic", "", (0.0, -0.5, 0.0)),
    "mjc:option:noslip_iterations": ("noslip_iterations", "", 0),
    "mjc:option:noslip_tolerance": ("noslip_tolerance", "", 1e-06),
    "mjc:option:o_friction": ("override_friction", "", (1.0, 1.0, 0.005, 0.0001, 0.0001)),
    "mjc:option:o_margin": ("override_margin", "m", 0.0),
    "mjc:option:o_solimp": ("override_solimp", "", (0.9, 0.95, 0.001, 0.5, 2.0)),
    "mjc:option:o_solref": ("override_solref", "", (0.02, 1.0)),
    "mjc:option:sdf_initpoints": ("sdf_initpoints", "", 40),
    "mjc:option:sdf_iterations": ("sdf_iterations", "", 10),
    "mjc:option:solver": ("solver", "", "newton"),
    "mjc:option:tolerance": ("tolerance", "", 1e-08),
    "mjc:option:viscosity": ("viscosity", "kg/(m·s)", 0.0),
    "mjc:option:wind": ("wind", "m/s", (0.0, 0.0, 0.0)),
    "mjc:option:actuatorgroupdisable": ("disabled_actuator_groups", "", ()),
    "mjc:flag:contact": ("disable_contacts", "", True),
    "mjc:flag:filterparent": ("filter_parent", "", True),
    "mjc:flag:island": ("enable_islands", "", True),
    "mjc:flag:multiccd": ("enable_multiccd", "", True),
}
"""Setting of SolverMuJoCo, dimension, and MuJoCo's default of each option of the scene."""

DISABLE_FLAGS = (
    "actuation", "clampctrl", "constraint", "damper", "equality", "eulerdamp", "frictionloss", "limit", "midphase",
    "nativeccd", "refsafe", "sensor", "spring", "warmstart",
)  # fmt: skip
"""Flags that are on unless ``mjc:flag:<name>`` is false; those that are off are the setting ``disable``."""

ENABLE_FLAGS = ("energy", "fwdinv", "invdiscrete", "override")
"""Flags that are off unless ``mjc:flag:<name>`` is true; those that are on are the setting ``enable``."""

_NO_EFFECT = "has no effect on the motion"

_SCENE = [
    *(Rule(name, "MjcSceneAPI", "", dimension, default) for name, (_, dimension, default) in SCENE_OPTIONS.items()),
    *(Rule(f"mjc:flag:{name}", "MjcSceneAPI", fallback=True) for name in DISABLE_FLAGS),
    *(Rule(f"mjc:flag:{name}", "MjcSceneAPI", fallback=False) for name in ENABLE_FLAGS),
    Rule("mjc:flag:gravity", "MjcSceneAPI", "gravity", fallback=True),
    Rule("mjc:flag:autoreset", "MjcSceneAPI", ignored="a simulation that diverges ends with an error"),
    Rule("mjc:option:timestep", "MjcSceneAPI", fallback=0.002),
    Rule("mjc:option:iterations", "MjcSceneAPI", fallback=100),
    Rule("mjc:compiler:angle", "MjcSceneAPI", "mujoco:ref", fallback="degree", structural=True),
    Rule("mjc:compiler:autoLimits", "MjcSceneAPI", fallback=True, structural=True),
    Rule("mjc:compiler:setTotalMass", "MjcSceneAPI", "body_mass", "kg", -1.0, (-1.0,), structural=True),
    Rule("mjc:compiler:boundMass", "MjcSceneAPI", "body_mass", "kg", 0.0, structural=True),
    Rule("mjc:compiler:boundInertia", "MjcSceneAPI", "body_inertia", "kg·m²", 0.0, structural=True),
    Rule("mjc:compiler:balanceInertia", "MjcSceneAPI", "body_inertia", fallback=False, structural=True),
    Rule("mjc:compiler:inertiaFromGeom", "MjcSceneAPI", "body_inertia", fallback="auto", structural=True),
    Rule("mjc:compiler:inertiaGroupRange:min", "MjcSceneAPI", "body_mass", fallback=0, structural=True),
    Rule("mjc:compiler:inertiaGroupRange:max", "MjcSceneAPI", "body_mass", fallback=5, structural=True),
    Rule("mjc:compiler:alignFree", "MjcSceneAPI", ignored="changes coordinates of free bodies, not their motion"),
    Rule("mjc:compiler:fuseStatic", "MjcSceneAPI", ignored="bodies are kept apart; the motion is the same"),
    Rule("mjc:compiler:fitAABB", "MjcSceneAPI", ignored="shapes are stated by their prims"),
    Rule("mjc:compiler:saveInertial", "MjcSceneAPI", ignored=_NO_EFFECT),
    Rule("mjc:compiler:useThread", "MjcSceneAPI", ignored=_NO_EFFECT),
]

_BODY = [
    Rule("mjc:body:gravcomp", "PhysicsRigidBodyAPI", "mujoco:gravcomp", fallback=0.0),
    Rule("mjc:group", "MjcSiteAPI", fallback=0, ignored=_NO_EFFECT),
    Rule("mjc:group", "MjcImageableAPI", fallback=0, ignored=_NO_EFFECT),
    Rule("mjc:group", "MjcJointAPI", fallback=0, ignored=_NO_EFFECT),
    Rule("mjc:group", "MjcTendon", fallback=0, ignored=_NO_EFFECT),
]

_COLLISION = [
    Rule("mjc:condim", "MjcCollisionAPI", "mujoco:condim", fallback=3),
    Rule("mjc:priority", "MjcCollisionAPI", "mujoco:priority", fallback=0),
    Rule("mjc:solmix", "MjcCollisionAPI", "mujoco:solmix", fallback=1.0),
    Rule("mjc:solref", "MjcCollisionAPI", "mujoco:solref", fallback=(0.02, 1.0)),
    Rule("mjc:solimp", "MjcCollisionAPI", "mujoco:solimp", fallback=(0.9, 0.95, 0.001, 0.5, 2.0)),
    Rule("mjc:margin", "MjcCollisionAPI", "shape_margin", "m", 0.0),
    Rule("mjc:gap", "MjcCollisionAPI", "shape_gap", "m", 0.0),
    Rule("mjc:group", "MjcCollisionAPI", "body_mass", fallback=0, structural=True),
    Rule("mjc:shellinertia", "MjcCollisionAPI", "shape_is_solid", fallback=False, structural=True),
    Rule("mjc:inertia", "MjcMeshCollisionAPI", "body_inertia", fallback="legacy", structural=True),
    Rule("mjc:maxhullvert", "MjcMeshCollisionAPI", fallback=-1, sentinels=(-1,), structural=True),
    Rule("mjc:torsionalfriction", "MjcMaterialAPI", "shape_material_mu_torsional", "m", 0.005),
    Rule("mjc:rollingfriction", "MjcMaterialAPI", "shape_material_mu_rolling", "m", 0.0001),
]

_JOINT = [
    Rule("mjc:ref", "MjcJointAPI", "mujoco:ref", "m|deg", 0.0),
    Rule("mjc:springref", "MjcJointAPI", "joint_rest_q", "m|deg", 0.0),
    Rule("mjc:stiffness", "MjcJointAPI", "joint_stiffness", "N/m|N·m/rad", 0.0),
    Rule("mjc:armature", "MjcJointAPI", "joint_armature", "kg|kg·m²", 0.0),
    Rule("mjc:damping", "MjcJointAPI", "joint_damping", "N·s/m|N·m·s/rad", 0.0),
    Rule("mjc:frictionloss", "MjcJointAPI", "joint_friction", "N|N·m", 0.0),
    Rule("mjc:springdamper", "MjcJointAPI", "mujoco:springdamper", fallback=(0.0, 0.0), structural=True),
    Rule("mjc:margin", "MjcJointAPI", "mujoco:limit_margin", "m|rad", 0.0),
    Rule("mjc:solreflimit", "MjcJointAPI", "mujoco:solreflimit", fallback=(0.02, 1.0)),
    Rule("mjc:solimplimit", "MjcJointAPI", "mujoco:solimplimit", fallback=(0.9, 0.95, 0.001, 0.5, 2.0)),
    Rule("mjc:solreffriction", "MjcJointAPI", "mujoco:solreffriction", fallback=(0.02, 1.0)),
    Rule("mjc:solimpfriction", "MjcJointAPI", "mujoco:solimpfriction", fallback=(0.9, 0.95, 0.001, 0.5, 2.0)),
    Rule("mjc:actuatorfrclimited", "MjcJointAPI", "mujoco:actuatorfrcrange", fallback="auto", structural=True),
    Rule("mjc:actuatorfrcrange:min", "MjcJointAPI", "mujoco:actuatorfrcrange", "N|N·m", 0.0),
    Rule("mjc:actuatorfrcrange:max", "MjcJointAPI", "mujoco:actuatorfrcrange", "N|N·m", 0.0),
    Rule("mjc:actuatorgravcomp", "MjcJointAPI", "mujoco:actuatorgravcomp", fallback=False, structural=True),
]

_EQUALITY = [
    *(
        rule
        for schema in ("MjcEqualityAPI", "MjcEqualityJointAPI")
        for rule in (
            Rule("mjc:solref", schema, "mujoco:equality_solref", fallback=(0.02, 1.0)),
            Rule("mjc:solimp", schema, "mujoco:equality_solimp", fallback=(0.9, 0.95, 0.001, 0.5, 2.0)),
        )
    ),
    Rule("mjc:target", "MjcEqualityAPI", ignored="the bodies of the joint that carries it are what is tied"),
    Rule("mjc:torqueScale", "MjcEqualityWeldAPI", "mujoco:equality_torquescale", fallback=1.0),
    Rule("mjc:target", "MjcEqualityJointAPI", "joint_mimic_joint", structural=True),
    Rule("mjc:coef0", "MjcEqualityJointAPI", "joint_mimic_coeffs", "m|rad", 0.0),
    Rule("mjc:coef1", "MjcEqualityJointAPI", "joint_mimic_coeffs", "", 1.0),
    *(Rule(f"mjc:coef{i}", "MjcEqualityJointAPI", "mujoco:mimic_polycoef", fallback=0.0) for i in (2, 3, 4)),
]

_ACTUATOR = [
    *(
        Rule(f"mjc:{name}", "MjcActuator", f"mujoco:actuator_{name.lower()}", fallback=default, structural=True)
        for name, default in (
            ("gainType", "fixed"),
            ("biasType", "none"),
            ("dynType", "none"),
            ("actDim", -1),
            ("actEarly", False),
            ("inheritRange", 0.0),
        )
    ),
    *(
        Rule(f"mjc:{name}", "MjcActuator", f"mujoco:actuator_{name.lower()}", fallback=(1.0, 0.0))
        for name in ("gainPrm", "biasPrm", "dynPrm", "gear")
    ),
    *(
        Rule(
            f"mjc:{name}{part}",
            "MjcActuator",
            f"mujoco:actuator_{name.lower()}range",
            fallback=default,
            structural=part == "Limited",
        )
        for name in ("ctrl", "force", "act")
        for part, default in (("Limited", "auto"), ("Range:min", 0.0), ("Range:max", 0.0))
    ),
    Rule("mjc:lengthRange:min", "MjcActuator", "mujoco:actuator_lengthrange", fallback=0.0, structural=True),
    Rule("mjc:lengthRange:max", "MjcActuator", "mujoco:actuator_lengthrange", fallback=0.0, structural=True),
    Rule("mjc:crankLength", "MjcActuator", "mujoco:actuator_cranklength", "m", 0.0, structural=True),
    Rule("mjc:group", "MjcActuator", "mujoco:actuator_group", fallback=0, structural=True),
    Rule("mjc:jointInParent", "MjcActuator", "mujoco:actuator_transmission", fallback=False, structural=True),
    Rule("mjc:target", "MjcActuator", "mujoco:actuator_dof", structural=True),
    Rule("mjc:refSite", "MjcActuator", "mujoco:actuator_refsite", structural=True),
    Rule("mjc:sliderSite", "MjcActuator", "mujoco:actuator_slidersite", structural=True),
]

_TENDON = [
    Rule("mjc:type", "MjcTendon", "mujoco:wrap_type", fallback="spatial", structural=True),
    Rule("mjc:path", "MjcTendon", "mujoco:wrap_shape", structural=True),
    *(
        Rule(f"mjc:path:{name}", "MjcTendon", "mujoco:wrap_coefficient", fallback=(), structural=True)
        for name in ("coef", "divisors", "indices", "segments")
    ),
    Rule("mjc:sideSites", "MjcTendon", "mujoco:wrap_sidesite", structural=True),
    Rule("mjc:sideSites:indices", "MjcTendon", "mujoco:wrap_sidesite", fallback=(), structural=True),
    Rule("mjc:stiffness", "MjcTendon", "mujoco:tendon_stiffness", "N/m", 0.0, structural=True),
    Rule("mjc:damping", "MjcTendon", "mujoco:tendon_damping", "N·s/m", 0.0),
    Rule("mjc:armature", "MjcTendon", "mujoco:tendon_armature", "kg", 0.0, structural=True),
    Rule("mjc:frictionloss", "MjcTendon", "mujoco:tendon_frictionloss", "N", 0.0),
    Rule("mjc:springlength", "MjcTendon", "mujoco:tendon_springlength", "m", (-1.0, -1.0), structural=True),
    Rule("mjc:limited", "MjcTendon", "mujoco:tendon_range", fallback="auto", structural=True),
    Rule("mjc:range:min", "MjcTendon", "mujoco:tendon_range", "m", 0.0),
    Rule("mjc:range:max", "MjcTendon", "mujoco:tendon_range", "m", 0.0),
    Rule("mjc:margin", "MjcTendon", "mujoco:tendon_margin", "m", 0.0),
    *(
        Rule(f"mjc:{name}", "MjcTendon", f"mujoco:tendon_{name}", fallback=(0.02, 1.0))
        for name in ("solreflimit", "solimplimit", "solreffriction", "solimpfriction")
    ),
    Rule("mjc:actuatorfrclimited", "MjcTendon", "mujoco:tendon_actuatorfrcrange", fallback="auto", structural=True),
    Rule("mjc:actuatorfrcrange:min", "MjcTendon", "mujoco:tendon_actuatorfrcrange", "N", 0.0, structural=True),
    Rule("mjc:actuatorfrcrange:max", "MjcTendon", "mujoco:tendon_actuatorfrcrange", "N", 0.0, structural=True),
    Rule("mjc:rgba", "MjcTendon", ignored=_NO_EFFECT),
    Rule("mjc:width", "MjcTendon", ignored=_NO_EFFECT),
]

_KEYFRAME = [
    *(
        Rule(f"mjc:{name}", "MjcKeyframe", f"mujoco:keyframe_{name}", fallback=(), structural=True)
        for name in ("qpos", "qvel", "act", "ctrl")
    ),
    Rule("mjc:mpos", "MjcKeyframe", ignored="kinematic bodies keep the pose of their prim"),
    Rule("mjc:mquat", "MjcKeyframe", ignored="kinematic bodies keep the pose of their prim"),
]

RULES: list[Rule] = [*_SCENE, *_BODY, *_COLLISION, *_JOINT, *_EQUALITY, *_ACTUATOR, *_TENDON, *_KEYFRAME]
