"""Fields of the ``mujoco`` namespace: what MuJoCo knows and the core model does not.

Values are MuJoCo's own, in SI and radians and in its conventions: positions are absolute (a joint's ``ref`` counts),
``solref`` and ``solimp`` mean what MuJoCo's documentation says. They are read from ``mjc:`` properties of a stage, or
set by code through ``ModelBuilder.append`` and ``custom_attributes``. Nothing here needs MuJoCo.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np

from usd_sim.model.fields import Field, Frequency, Owner
from usd_sim.model.types import ModelFlags

__all__ = ["ACTUATOR", "FIELDS", "KEYFRAME", "TENDON", "TENDON_WRAP", "Transmission", "Wrap"]

ACTUATOR = "mujoco:actuator"
TENDON = "mujoco:tendon"
TENDON_WRAP = "mujoco:tendon_wrap"
KEYFRAME = "mujoco:keyframe"


class Transmission(IntEnum):
    """What an actuator acts on; values are MuJoCo's ``mjtTrn``."""

    JOINT = 0
    JOINT_IN_PARENT = 1
    SLIDER_CRANK = 2
    TENDON = 3
    SITE = 4
    BODY = 5


class Wrap(IntEnum):
    """One element of a tendon's path; values are MuJoCo's ``mjtWrap``."""

    JOINT = 1
    PULLEY = 2
    SITE = 3
    GEOM = 4


_F = Frequency
_SOLREF, _SOLIMP = (0.02, 1.0), (0.9, 0.95, 0.001, 0.5, 2.0)
_CHOOSE = (-np.inf, -np.inf)
_ONE = (1.0, *(0.0,) * 9)
_FORCE, _CONSTRAINT, _SHAPE = (
    ModelFlags.JOINT_DOF_FORCE_PROPERTIES,
    ModelFlags.CONSTRAINT_PROPERTIES,
    ModelFlags.SHAPE_PROPERTIES,
)

# fmt: off
_CORE = [
    # --- bodies and shapes
    Field("mujoco:gravcomp", _F.BODY, "float", "Fraction of its weight that MuJoCo holds up."),
    Field("mujoco:condim", _F.SHAPE, "int", "Dimensions of contacts: 1, 3, 4 or 6; 0 goes by the friction.", 0, flag=_SHAPE),
    Field("mujoco:priority", _F.SHAPE, "int", "The shape of higher priority decides on the contact.", 0, flag=_SHAPE),
    Field("mujoco:solmix", _F.SHAPE, "float", "Weight of the shape where contact parameters are averaged.", 1.0, flag=_SHAPE),
    Field("mujoco:solref", _F.SHAPE, "vec2", "Contact reference; -inf takes it from stiffness and damping.", _CHOOSE, flag=_SHAPE),
    Field("mujoco:solimp", _F.SHAPE, "vec5", "Contact impedance.", _SOLIMP, flag=_SHAPE),
    Field("mujoco:mesh_inertia", _F.SHAPE, "int", "How MuJoCo finds the frame of a mesh: 0 convex, 1 exact, 2 legacy, 3 shell; -1 takes its points alone.", -1),
    # --- joints
    Field("mujoco:equality_solref", _F.JOINT, "vec2", "Reference of a joint that is an equality: a loop or a mimic.", _SOLREF, flag=_CONSTRAINT),
    Field("mujoco:equality_solimp", _F.JOINT, "vec5", "Impedance of a joint that is an equality.", _SOLIMP, flag=_CONSTRAINT),
    Field("mujoco:equality_torquescale", _F.JOINT, "float", "Scale of torques in weld equalities.", 1.0, flag=_CONSTRAINT),
    Field("mujoco:mimic_polycoef", _F.JOINT, "vec3", "Coefficients of order 2, 3 and 4 of a mimic.", flag=_CONSTRAINT),
    Field("mujoco:ball_limit", _F.JOINT, "float", "Largest rotation of a ball joint.", np.inf, "rad", flag=_FORCE),
    # --- degrees of freedom
    Field("mujoco:ref", _F.JOINT_DOF, "float", "MuJoCo's coordinate where joint_q is 0.", 0.0, "m|rad"),
    Field("mujoco:limit_margin", _F.JOINT_DOF, "float", "Distance from a limit at which it starts to act.", 0.0, "m|rad", flag=_FORCE),
    Field("mujoco:solreflimit", _F.JOINT_DOF, "vec2", "Limit reference; -inf takes it from the limit's gains.", _CHOOSE, flag=_FORCE),
    Field("mujoco:solimplimit", _F.JOINT_DOF, "vec5", "Limit impedance.", _SOLIMP, flag=_FORCE),
    Field("mujoco:solreffriction", _F.JOINT_DOF, "vec2", "Dry friction reference.", _SOLREF, flag=_FORCE),
    Field("mujoco:solimpfriction", _F.JOINT_DOF, "vec5", "Dry friction impedance.", _SOLIMP, flag=_FORCE),
    Field("mujoco:springdamper", _F.JOINT_DOF, "vec2", "Time constant [s] and damping ratio of a spring that MuJoCo fits to the inertia; 0 for none."),
    Field("mujoco:actuatorfrcrange", _F.JOINT_DOF, "vec2", "Bounds of the sum of all actuators.", (-np.inf, np.inf), "N|N·m", flag=_FORCE),
    Field("mujoco:actuatorgravcomp", _F.JOINT_DOF, "bool", "Gravity compensation counts as actuator force.", False),
]

_ACTUATOR = [
    Field("mujoco:actuator_label", ACTUATOR, "str", "Name of each actuator."),
    Field("mujoco:actuator_path", ACTUATOR, "str", "Prim that each actuator came from."),
    Field("mujoco:actuator_world", ACTUATOR, "int", "World of each actuator.", -1, refers_to=_F.WORLD),
    Field("mujoco:actuator_transmission", ACTUATOR, "int", "Transmission: what the actuator acts on.", int(Transmission.JOINT)),
    Field("mujoco:actuator_dof", ACTUATOR, "int", "Hinge or slide that it acts on.", -1, refers_to=_F.JOINT_DOF),
    Field("mujoco:actuator_joint", ACTUATOR, "int", "Ball or free joint that it acts on.", -1, refers_to=_F.JOINT),
    Field("mujoco:actuator_tendon", ACTUATOR, "int", "Tendon that it acts on.", -1, refers_to=TENDON),
    Field("mujoco:actuator_site", ACTUATOR, "int", "Site that it acts on.", -1, refers_to=_F.SHAPE),
    Field("mujoco:actuator_refsite", ACTUATOR, "int", "Site that forces at a site are relative to.", -1, refers_to=_F.SHAPE),
    Field("mujoco:actuator_slidersite", ACTUATOR, "int", "Site that slides, in a slider-crank.", -1, refers_to=_F.SHAPE),
    Field("mujoco:actuator_body", ACTUATOR, "int", "Body that it makes stick to what it touches.", -1, refers_to=_F.BODY),
    Field("mujoco:actuator_gear", ACTUATOR, "vec6", "Scale of length and force.", (1.0, 0.0, 0.0, 0.0, 0.0, 0.0), flag=_FORCE),
    Field("mujoco:actuator_gaintype", ACTUATOR, "int", "0 fixed, 1 affine, 2 muscle, 3 user."),
    Field("mujoco:actuator_gainprm", ACTUATOR, "vec10", "Parameters of the gain.", _ONE, flag=_FORCE),
    Field("mujoco:actuator_biastype", ACTUATOR, "int", "0 none, 1 affine, 2 muscle, 3 user."),
    Field("mujoco:actuator_biasprm", ACTUATOR, "vec10", "Parameters of the bias.", flag=_FORCE),
    Field("mujoco:actuator_dyntype", ACTUATOR, "int", "0 none, 1 integrator, 2 filter, 3 exact filter, 4 muscle, 5 user."),
    Field("mujoco:actuator_dynprm", ACTUATOR, "vec10", "Parameters of the activation dynamics.", _ONE, flag=_FORCE),
    Field("mujoco:actuator_actdim", ACTUATOR, "int", "Number of activations; -1 goes by the dynamics.", -1),
    Field("mujoco:actuator_actearly", ACTUATOR, "bool", "The activation of the next step sets the force.", False),
    Field("mujoco:actuator_ctrlrange", ACTUATOR, "vec2", "Bounds of the control.", (-np.inf, np.inf), flag=_FORCE),
    Field("mujoco:actuator_forcerange", ACTUATOR, "vec2", "Bounds of the force.", (-np.inf, np.inf), flag=_FORCE),
    Field("mujoco:actuator_actrange", ACTUATOR, "vec2", "Bounds of the activation.", (-np.inf, np.inf), flag=_FORCE),
    Field("mujoco:actuator_lengthrange", ACTUATOR, "vec2", "Range of lengths; 0 lets MuJoCo find it for muscles."),
    Field("mujoco:actuator_inheritrange", ACTUATOR, "float", "Control range as a multiple of the joint's range; 0 for none."),
    Field("mujoco:actuator_cranklength", ACTUATOR, "float", "Length of the rod of a slider-crank.", 0.0, "m"),
    Field("mujoco:actuator_group", ACTUATOR, "int", "Group, by which actuators are turned off."),
    Field("mujoco:actuator_act", ACTUATOR, "float", "Initial activation."),
    Field("mujoco:ctrl", ACTUATOR, "float", "Control of each actuator.", 0.0, owner=Owner.CONTROL),
]

_TENDON = [
    Field("mujoco:tendon_label", TENDON, "str", "Name of each tendon."),
    Field("mujoco:tendon_path", TENDON, "str", "Prim that each tendon came from."),
    Field("mujoco:tendon_world", TENDON, "int", "World of each tendon.", -1, refers_to=_F.WORLD),
    Field("mujoco:tendon_stiffness", TENDON, "float", "Stiffness.", 0.0, "N/m"),
    Field("mujoco:tendon_damping", TENDON, "float", "Damping.", 0.0, "N·s/m", flag=_CONSTRAINT),
    Field("mujoco:tendon_springlength", TENDON, "vec2", "Range of lengths without spring force; -1 is the initial length.", (-1.0, -1.0), "m"),
    Field("mujoco:tendon_armature", TENDON, "float", "Added inertia.", 0.0, "kg"),
    Field("mujoco:tendon_frictionloss", TENDON, "float", "Dry friction.", 0.0, "N|N·m", flag=_CONSTRAINT),
    Field("mujoco:tendon_range", TENDON, "vec2", "Bounds of the length.", (-np.inf, np.inf), "m", flag=_CONSTRAINT),
    Field("mujoco:tendon_margin", TENDON, "float", "Distance from a bound at which it starts to act.", 0.0, "m", flag=_CONSTRAINT),
    Field("mujoco:tendon_solreflimit", TENDON, "vec2", "Bound reference.", _SOLREF, flag=_CONSTRAINT),
    Field("mujoco:tendon_solimplimit", TENDON, "vec5", "Bound impedance.", _SOLIMP, flag=_CONSTRAINT),
    Field("mujoco:tendon_solreffriction", TENDON, "vec2", "Dry friction reference.", _SOLREF, flag=_CONSTRAINT),
    Field("mujoco:tendon_solimpfriction", TENDON, "vec5", "Dry friction impedance.", _SOLIMP, flag=_CONSTRAINT),
    Field("mujoco:tendon_actuatorfrcrange", TENDON, "vec2", "Bounds of the sum of all actuators.", (-np.inf, np.inf), "N|N·m"),
    Field("mujoco:wrap_tendon", TENDON_WRAP, "int", "Tendon that an element of a path belongs to.", -1, refers_to=TENDON),
    Field("mujoco:wrap_type", TENDON_WRAP, "int", "Wrap: what the element is.", int(Wrap.SITE)),
    Field("mujoco:wrap_dof", TENDON_WRAP, "int", "Hinge or slide of a fixed tendon.", -1, refers_to=_F.JOINT_DOF),
    Field("mujoco:wrap_shape", TENDON_WRAP, "int", "Site that the path goes through, or geometry that it bends around.", -1, refers_to=_F.SHAPE),
    Field("mujoco:wrap_sidesite", TENDON_WRAP, "int", "Site on the side of the geometry that the path keeps to.", -1, refers_to=_F.SHAPE),
    Field("mujoco:wrap_coefficient", TENDON_WRAP, "float", "Coefficient of a joint, or divisor of a pulley.", 1.0),
]

_KEYFRAME = [
    Field("mujoco:keyframe_label", KEYFRAME, "str", "Name of each keyframe."),
    Field("mujoco:keyframe_path", KEYFRAME, "str", "Prim that each keyframe came from."),
    *(
        Field(f"mujoco:keyframe_{name}", KEYFRAME, "object", f"{text} in MuJoCo's order, or None.")
        for name, text in (("qpos", "Positions"), ("qvel", "Velocities"), ("act", "Activations"), ("ctrl", "Controls"))
    ),
]
# fmt: on

FIELDS: list[Field] = [*_CORE, *_ACTUATOR, *_TENDON, *_KEYFRAME]
