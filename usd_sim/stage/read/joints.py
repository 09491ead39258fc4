"""Joints: what they connect, where, and the settings of each of their freedoms."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from pxr import UsdPhysics

from usd_sim.geometry import transforms as tf
from usd_sim.model.types import JointType
from usd_sim.stage.read.bodies import BodySpecs
from usd_sim.stage.read.mujoco import dof_fields, equality_fields, spring_rest
from usd_sim.stage.read.scan import Scan, quats_xyzw

__all__ = ["DOF_FIELDS", "JointSpec", "read_joints"]

DOF_FIELDS = (
    "joint_limit_lower",
    "joint_limit_upper",
    "joint_limit_ke",
    "joint_limit_kd",
    "joint_target_q",
    "joint_target_qd",
    "joint_target_ke",
    "joint_target_kd",
    "joint_effort_limit",
    "joint_velocity_limit",
    "joint_armature",
    "joint_friction",
    "joint_damping",
    "joint_stiffness",
)
"""Fields of a degree of freedom that are single numbers, in the order of :attr:`DofSpec.values`."""

_AXES = {"X": (1.0, 0.0, 0.0), "Y": (0.0, 1.0, 0.0), "Z": (0.0, 0.0, 1.0)}
_NEVER = 3.4e38
"""Numbers from here on mean infinity in single precision."""

_BY_FREEDOM = ("drive", "physxLimit", "physxJointAxis", "state")
"""Families of properties that name the freedom they act on."""

_D6 = (("transX", "X"), ("transY", "Y"), ("transZ", "Z"), ("rotX", "X"), ("rotY", "Y"), ("rotZ", "Z"))


@dataclass
class DofSpec:
    """One degree of freedom, SI.

    Attributes:
        path: Joint prim.
        name: Name within the prim: angular, linear, transX … rotZ.
        angular: Turns rather than slides.
        axis: Axis in the joint frame (3,).
        values: Values of :data:`DOF_FIELDS`.
        anchor: Point in the joint frame that it turns about (3,) [m].
        rest: Coordinate at which its passive spring rests [m or rad].
        extra: Values of further fields, by name; those that are stated.
        state: Initial position and velocity that its prim states [m or rad, per s]; None where it does not.
    """

    path: str
    name: str
    angular: bool
    axis: np.ndarray
    values: list[float]
    anchor: np.ndarray = field(default_factory=lambda: np.zeros(3))
    rest: float = 0.0
    extra: dict[str, Any] = field(default_factory=dict)
    state: tuple[float | None, float | None] = (None, None)


@dataclass
class JointSpec:
    """One joint, SI.

    Attributes:
        path: Prim.
        kind: Type.
        parent: Row of the body on side 0; -1 is the world.
        child: Row of the body on side 1; -1 is the world.
        X_p: Joint frame in the parent (7,).
        X_c: Joint frame in the child (7,).
        dofs: Degrees of freedom, linear first.
        excluded: Never part of the tree.
        collision: The connected bodies collide.
        static_prim: Prim without a body that one side names; empty for none.
        leader: Joint that this one mimics, or "".
        leader_property: Property that names the leader.
        mimic: Offset and ratio of the mimic.
        shared: What holds alike for all freedoms of a ball; None where nothing is stated.
        extra: Values of fields of namespaces, by name; those that are stated.
        distance: Least and largest distance of a distance joint, negative for none [m].
    """

    path: str
    kind: JointType
    parent: int
    child: int
    X_p: np.ndarray
    X_c: np.ndarray
    dofs: list[DofSpec]
    excluded: bool
    collision: bool
    static_prim: str = ""
    leader: str = ""
    leader_property: str = "newton:mimicJoint"
    mimic: tuple[float, float] = (0.0, 1.0)
    shared: DofSpec | None = None
    extra: dict[str, Any] = field(default_factory=dict)
    distance: tuple[float, float] = (-1.0, -1.0)

    def reverse(self) -> None:
        """Exchange parent and child; axes turn round so that coordinates keep their meaning."""
        self.parent, self.child = self.child, self.parent
        self.X_p, self.X_c = self.X_c, self.X_p
        linear = [dof for dof in self.dofs if not dof.angular]
        angular = [dof for dof in reversed(self.dofs) if dof.angular]
        self.dofs = linear + angular
        for dof in self.dofs:
            dof.axis = -dof.axis


def read_joints(scan: Scan, bodies: BodySpecs) -> list[JointSpec]:
    """Read all enabled joints in the order of the traversal; what cannot act is reported."""
    objects = UsdPhysics.ObjectType
    kinds = (
        objects.FixedJoint,
        objects.RevoluteJoint,
        objects.PrismaticJoint,
        objects.SphericalJoint,
        objects.DistanceJoint,
        objects.D6Joint,
        objects.CustomJoint,
    )
    found = [(path, item) for path, item in scan.found(*kinds) if _acts(scan, path, item, bodies)]
    frames = [_frames(scan, found, bodies, side) for side in (0, 1)]
    joints = []
    for i, (path, item) in enumerate(found):
        kind, dofs = _freedoms(scan, path)
        rows = [bodies.row.get(str(body), -1) for body in (item.body0, item.body1)]
        targets = [str(rel) for rel, row in zip((item.rel0, item.rel1), rows, strict=True) if row < 0 and str(rel)]
        joints.append(
            JointSpec(
                path=path,
                kind=kind,
                parent=rows[0],
                child=rows[1],
                X_p=frames[0][i],
                X_c=frames[1][i],
                dofs=dofs,
                excluded=bool(item.excludeFromArticulation) or scan.has(path, "MjcEqualityAPI"),
                # MuJoCo keeps apart what its joints hold, not what its equalities tie
                collision=bool(item.collisionEnabled) or scan.has(path, "MjcEqualityAPI"),
                static_prim=targets[0] if targets else "",
            )
        )
        _read_mimic(scan, joints[-1])
        _report_without_freedom(scan, joints[-1])
        _report_breaking(scan, path)
        joints[-1].extra = equality_fields(scan, path)
        if kind == JointType.BALL:
            joints[-1].shared = _ball_freedom(scan, path, joints[-1])
        if kind == JointType.DISTANCE:
            bounds = [scan.value(path, f"physics:{end}Distance", -1.0) for end in ("min", "max")]
            joints[-1].distance = tuple(scan.units.to_si(float(bound), "m") for bound in bounds)
    return joints


def _acts(scan: Scan, path: str, item: Any, bodies: BodySpecs) -> bool:
    """Whether a joint connects something; if not, the report says why."""
    report = scan.report
    if not item.jointEnabled:
        report.ignore(path, "the joint is disabled", property="physics:jointEnabled")
        return False
    for side, target in (("physics:body0", item.rel0), ("physics:body1", item.rel1)):
        if str(target) and not scan.prim(target):
            report.error(path, f"targets {target}, which does not exist", property=side, remedy="name an existing prim")
            return False
    if scan.left_out & {str(item.body0), str(item.body1)}:
        report.ignore(path, "the joint is at a body that is left out")
        return False
    rows = [bodies.row.get(str(body), -1) for body in (item.body0, item.body1)]
    if max(rows) < 0:
        report.ignore(path, "the joint connects no rigid body", remedy="set physics:body0 or physics:body1")
        return False
    if rows[0] == rows[1]:
        report.error(path, "both sides are the same body", remedy="name two different bodies")
        return False
    return True


def _frames(scan: Scan, found: list[tuple[str, Any]], bodies: BodySpecs, side: int) -> np.ndarray:
    """Return the joint frames on one side (j, 7): in the body, or in the world where there is none."""
    paths = [path for path, _ in found]
    if not paths:
        return np.zeros((0, 7))
    targets = [str(getattr(item, f"rel{side}")) or "/" for _, item in found]
    matrices = scan.matrices(targets)
    local = np.array([scan.value(path, f"physics:localPos{side}", (0.0, 0.0, 0.0)) for path in paths], dtype=float)
    world = np.einsum("ni,nij->nj", local, matrices[:, :3, :3]) + matrices[:, 3, :3]
    turn = quats_xyzw(scan.value(path, f"physics:localRot{side}") for path in paths)
    rotation = tf.quat_multiply(tf.decompose_affine(matrices).rotation, turn)
    frames = np.concatenate([scan.units.to_si(world, "m"), rotation], axis=1)
    rows = np.array([bodies.row.get(str(getattr(item, f"body{side}")), -1) for _, item in found], dtype=int)
    on = np.flatnonzero(rows >= 0)
    frames[on] = tf.transform_multiply(tf.transform_inverse(bodies.pose[rows[on]]), frames[on])
    return frames


def _freedoms(scan: Scan, path: str) -> tuple[JointType, list[DofSpec]]:
    type_name = scan.types.get(path, "")
    if type_name in ("PhysicsRevoluteJoint", "PhysicsPrismaticJoint"):
        angular = type_name == "PhysicsRevoluteJoint"
        axis = _axis(scan, path)
        lower = scan.value(path, "physics:lowerLimit", -np.inf)
        upper = scan.value(path, "physics:upperLimit", np.inf)
        name = "angular" if angular else "linear"
        dof = _dof(scan, path, name, angular, axis, float(lower), float(upper))
        return (JointType.REVOLUTE if angular else JointType.PRISMATIC), [dof]
    if type_name == "PhysicsFixedJoint":
        return JointType.FIXED, []
    if type_name == "PhysicsSphericalJoint":
        return JointType.BALL, []
    if type_name == "PhysicsDistanceJoint":
        return JointType.DISTANCE, []
    return JointType.D6, _d6_freedoms(scan, path)


def _axis(scan: Scan, path: str) -> tuple[float, float, float]:
    name = str(scan.value(path, "physics:axis", "X"))
    if name not in _AXES:
        scan.report.error(path, f"is {name!r}", property="physics:axis", remedy="author X, Y or Z")
    return _AXES.get(name, _AXES["X"])


def _ball_freedom(scan: Scan, path: str, joint: JointSpec) -> DofSpec | None:
    """Return what holds for all freedoms of a ball, and note the largest rotation that MuJoCo's schema means."""
    angles = [float(scan.value(path, f"physics:coneAngle{i}Limit", -1.0)) for i in (0, 1)]
    mujoco = scan.has(path, "MjcJointAPI")
    if mujoco and min(angles) >= 0:
        joint.extra["mujoco:ball_limit"] = float(scan.units.to_si(angles[1], "deg"))
    for name, angle in zip(("physics:coneAngle0Limit", "physics:coneAngle1Limit"), angles, strict=True):
        if angle >= 0 and not mujoco:
            scan.report.ignore(path, "cone limits are not supported yet", property=name)
    if not (mujoco or scan.has(path, "NewtonJointAPI") or scan.has(path, "PhysxJointAPI")):
        return None
    return _dof(scan, path, "", True, _AXES["X"], -np.inf, np.inf)


def _d6_freedoms(scan: Scan, path: str) -> list[DofSpec]:
    dofs = []
    for name, axis in _D6:
        angular = name.startswith("rot")
        limited = f"PhysicsLimitAPI:{name}" in scan.schemas.get(path, ())
        lower = float(scan.value(path, f"limit:{name}:physics:low", -np.inf)) if limited else -np.inf
        upper = float(scan.value(path, f"limit:{name}:physics:high", np.inf)) if limited else np.inf
        if lower > upper or lower == upper == 0.0:
            continue  # locked
        dofs.append(_dof(scan, path, name, angular, _AXES[axis], lower, upper))
    return dofs


def _dof(
    scan: Scan, path: str, name: str, angular: bool, axis: tuple[float, float, float], lower: float, upper: float
) -> DofSpec:
    if lower > upper:
        scan.report.approximate(path, "the lower limit is above the upper; both are left out", remedy="exchange them")
        lower, upper = -np.inf, np.inf
    length = "deg" if angular else "m"
    extra = dof_fields(scan, path, angular)
    ref = extra.get("mujoco:ref", 0.0)  # MuJoCo's limits count from its reference
    limits = [scan.units.to_si(lower, length) - ref, scan.units.to_si(upper, length) - ref]
    values = [
        *limits,
        *_limit_gains(scan, path, name, angular),
        *_drive(scan, path, name, angular, extra),
        *_passive(scan, path, name, angular),
    ]
    return DofSpec(
        path,
        name,
        angular,
        np.array(axis),
        [float(value) for value in values],
        rest=spring_rest(scan, path, angular),
        extra=extra,
        state=_state(scan, path, name, angular),
    )


def _limit_gains(scan: Scan, path: str, name: str, angular: bool) -> list[float]:
    """Return stiffness and damping of a freedom's limits; 0 leaves the choice to the solver."""
    physx = f"physxLimit:{name}:damping"
    pairs = (("newton:limitStiffness", f"physxLimit:{name}:stiffness"), ("newton:limitDamping", physx))
    stiffness, damping = (max(0.0, scan.number(path, pair, angular=angular)) for pair in pairs)
    if stiffness == 0 and scan.first(path, pairs[1]) == physx:
        scan.report.ignore(path, "limits without a stiffness are hard", property=physx)
    return [stiffness, damping]


def _drive(scan: Scan, path: str, name: str, angular: bool, extra: dict[str, Any]) -> list[float]:
    """Return targets, gains and largest effort of a freedom's drive."""
    si, read, drive = scan.units.to_si, scan.value, f"drive:{name}:physics:"
    pick = 1 if angular else 0
    length, speed, effort = ("m", "deg")[pick], ("m/s", "deg/s")[pick], ("N", "N·m")[pick]
    spring, damper = ("N/m", "N·m/deg")[pick], ("N·s/m", "N·m·s/deg")[pick]
    kind = str(read(path, drive + "type", "force"))
    if kind == "acceleration":  # gains are those of force drives by inertia
        spring = damper = ("", "1/deg")[pick]
        extra["joint_drive_acceleration"] = True
    elif kind != "force":
        scan.report.approximate(path, f"is {kind!r}; the drive acts by force", property=drive + "type")
    stiffness = si(float(read(path, drive + "stiffness", 0.0)), spring)
    damping = si(float(read(path, drive + "damping", 0.0)), damper)
    return [
        si(float(read(path, drive + "targetPosition", 0.0)), length),
        si(float(read(path, drive + "targetVelocity", 0.0)), speed),
        stiffness,
        damping,
        si(float(read(path, drive + "maxForce", np.inf)), effort),
    ]


def _passive(scan: Scan, path: str, name: str, angular: bool) -> list[float]:
    """Return largest speed, armature, dry friction, damping and spring stiffness of a freedom."""
    physx = f"physxJointAxis:{name}:"
    moving, resting = physx + "dynamicFrictionEffort", physx + "staticFrictionEffort"
    friction = ("newton:friction", "mjc:frictionloss", moving, resting, "physxJoint:jointFriction")
    chosen = scan.first(path, friction)
    if chosen == moving and scan.value(path, resting, 0.0) not in (0.0, scan.value(path, moving)):
        scan.report.approximate(path, "one friction effort is used for rest and motion", property=resting)
    if chosen == friction[-1]:
        scan.report.approximate(path, "is taken as an effort, whatever load the joint bears", property=chosen)
    return [
        scan.number(
            path, ("newton:velocityLimit", physx + "maxJointVelocity", "physxJoint:maxJointVelocity"), np.inf,
            angular=angular,
        ),
        scan.number(
            path, ("newton:armature", "mjc:armature", physx + "armature", "physxJoint:armature"), angular=angular
        ),
        scan.number(path, friction, angular=angular),
        scan.number(
            path, ("newton:damping", "mjc:damping", physx + "viscousFrictionCoefficient"), angular=angular
        ),
        scan.number(path, ("mjc:stiffness",), angular=angular),
    ]  # fmt: skip


def _state(scan: Scan, path: str, name: str, angular: bool) -> tuple[float | None, float | None]:
    """Return the position and the velocity that a freedom's PhysicsJointStateAPI states, None where it does not."""
    names = [f"state:{name}:physics:{what}" for what in ("position", "velocity")]
    position, velocity = (
        scan.number(path, (stated,), angular=angular) if stated in scan.values.get(path, ()) else None
        for stated in names
    )
    return position, velocity


def _report_without_freedom(scan: Scan, joint: JointSpec) -> None:
    """Report what acts on freedoms that a joint does not have, and limits by axis where the joint has its own."""
    names = {dof.name for dof in joint.dofs}
    for name in scan.values.get(joint.path, ()):
        family, _, rest = name.partition(":")
        axis = rest.partition(":")[0]
        if (family in _BY_FREEDOM and axis not in names) or (family == "limit" and joint.kind != JointType.D6):
            scan.report.ignore(joint.path, f"the joint has no freedom {axis} to act on", property=name)


def _report_breaking(scan: Scan, path: str) -> None:
    """Report finite forces and torques at which a joint would break; converters write the largest float for none."""
    for name in ("physics:breakForce", "physics:breakTorque"):
        if float(scan.value(path, name, np.inf)) < _NEVER:
            scan.report.ignore(path, "breaking joints is not supported yet; the joint holds", property=name)


def _read_mimic(scan: Scan, joint: JointSpec) -> None:
    """Read whom a joint follows, from the first dialect that says so."""
    for dialect in scan.dialects:
        read = _read_physx_mimic if dialect == "physx" else _read_newton_mimic
        if read(scan, joint):
            return


def _read_newton_mimic(scan: Scan, joint: JointSpec) -> bool:
    """Read a mimic of Newton or MuJoCo and return whether there is one: q = coef0 + coef1 q_leader."""
    if not scan.has(joint.path, "NewtonMimicAPI"):
        return False
    if not scan.value(joint.path, "newton:mimicEnabled", True):
        return True
    targets = scan.targets(joint.path, "newton:mimicJoint") or scan.targets(joint.path, "mjc:target")
    if not _can_follow(scan, joint, targets, "newton:mimicJoint"):
        return True
    joint.leader = targets[0]
    angular = joint.dofs[0].angular
    joint.mimic = (
        scan.number(joint.path, ("newton:mimicCoef0", "mjc:coef0"), angular=angular),
        scan.number(joint.path, ("newton:mimicCoef1", "mjc:coef1"), 1.0),
    )
    return True


def _read_physx_mimic(scan: Scan, joint: JointSpec) -> bool:
    """Read a mimic of PhysX and return whether there is one: q + gearing q_leader + offset = 0."""
    schemas = sorted(name for name in scan.schemas.get(joint.path, ()) if name.startswith("PhysxMimicJointAPI:"))
    if not schemas:
        return False
    name, *others = (f"physxMimicJoint:{schema.partition(':')[2]}:" for schema in schemas)
    for other in others:
        if scan.targets(joint.path, other + "referenceJoint"):
            scan.report.ignore(joint.path, "a joint follows one leader", property=other + "referenceJoint")
    targets = scan.targets(joint.path, name + "referenceJoint")
    if _can_follow(scan, joint, targets, name + "referenceJoint"):
        joint.leader, joint.leader_property = targets[0], name + "referenceJoint"
        offset = scan.number(joint.path, (name + "offset",), angular=joint.dofs[0].angular)
        joint.mimic = -offset, -scan.number(joint.path, (name + "gearing",), 1.0)
    return True


def _can_follow(scan: Scan, joint: JointSpec, targets: list[str], name: str) -> bool:
    """Whether a joint can follow another; if not, the report says why."""
    if targets and len(joint.dofs) == 1:
        return True
    scan.report.ignore(joint.path, "a mimic needs a leader and one degree of freedom", property=name)
    return False
