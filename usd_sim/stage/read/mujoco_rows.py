"""Rows of MuJoCo's own kinds: sites, tendons, actuators and keyframes, appended once bodies, shapes and joints are."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from usd_sim.model.builder import ModelBuilder
from usd_sim.model.fields import Frequency
from usd_sim.model.types import ShapeFlags
from usd_sim.stage.read.bodies import BodySpecs
from usd_sim.stage.read.mujoco import limits, padded
from usd_sim.stage.read.scan import Scan
from usd_sim.stage.read.shapes import read_guides

__all__ = ["append_mujoco"]

ACTUATOR, TENDON, WRAP, KEYFRAME = (f"mujoco:{name}" for name in ("actuator", "tendon", "tendon_wrap", "keyframe"))

_JOINT, _JOINT_IN_PARENT, _SLIDER_CRANK, _TENDON, _SITE, _BODY = range(6)
"""Transmissions of actuators, as in MuJoCo."""

_WRAP_JOINT, _WRAP_PULLEY, _WRAP_SITE, _WRAP_GEOM = 1, 2, 3, 4
"""Elements of tendons, as in MuJoCo."""

_NATIVE = {"MjcTendon", "MjcActuator", "MjcKeyframe"}
_GAINS = ("fixed", "affine", "muscle", "user")
_BIASES = ("none", "affine", "muscle", "user")
_DYNAMICS = ("none", "integrator", "filter", "filterexact", "muscle", "user")


@dataclass
class _Rows:
    """Rows of the builder by prim path."""

    body: dict[str, int]
    shape: dict[str, int]
    joint: dict[str, int]
    dof: dict[str, int]
    tendon: dict[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, builder: ModelBuilder, first: dict[str, int]) -> _Rows:
        """Index what a builder holds from some rows on."""

        def index(name: str, frequency: str) -> dict[str, int]:
            start, paths = first[frequency], list(builder.columns.view(name))
            return {path: start + i for i, path in reversed(list(enumerate(paths[start:]))) if path}

        return cls(
            index("body_path", Frequency.BODY),
            index("shape_path", Frequency.SHAPE),
            index("joint_path", Frequency.JOINT),
            index("joint_dof_path", Frequency.JOINT_DOF),
        )


def append_mujoco(builder: ModelBuilder, scan: Scan, bodies: BodySpecs, first: dict[str, int]) -> None:
    """Append the sites, tendons, actuators and keyframes of a stage.

    Args:
        builder: Holds the bodies, shapes and joints already.
        scan: What was found on the stage.
        bodies: Bodies.
        first: First row of this stage per frequency.
    """
    by_type: dict[str, list[str]] = {}
    native = [path for path, kind in scan.types.items() if kind in _NATIVE] if "mjc" in scan.dialects else []
    for path in sorted(native, key=lambda path: scan.order.get(path, 0)):
        by_type.setdefault(scan.types[path], []).append(path)
    tendons = [(path, _wraps(scan, path)) for path in by_type.get("MjcTendon", ())]
    _append_guides(builder, scan, bodies, {wrap.target for _, wraps in tendons for wrap in wraps or ()})
    if not by_type:
        return
    rows = _Rows.of(builder, first)
    _append_tendons(builder, scan, rows, [(path, wraps) for path, wraps in tendons if wraps])
    _append_actuators(builder, scan, rows, by_type.get("MjcActuator", []))
    _append_keyframes(builder, scan, by_type.get("MjcKeyframe", []))


# --- sites ----------------------------------------------------------------------------------------------------------


def _append_guides(builder: ModelBuilder, scan: Scan, bodies: BodySpecs, wrapped: set[str]) -> None:
    """Append sites, and geometry that is no collider but that tendons bend around, as shapes."""
    paths = [path for path, schemas in scan.schemas.items() if "NewtonSiteAPI" in schemas and not _collides(scan, path)]
    others = [path for path in sorted(wrapped) if scan.has(path, "MjcImageableAPI") and not _collides(scan, path)]
    paths = sorted(paths, key=lambda path: scan.order.get(path, 0)) + others
    if not paths:
        return
    guides = read_guides(scan, bodies, paths)
    known = [i for i, path in enumerate(paths) if guides.kind[i] >= 0 or path not in others]
    row = {path: i for i, path in enumerate(builder.columns.view("body_path"))}
    flags = [int(ShapeFlags.VISIBLE if paths[i] in others else ShapeFlags.SITE) for i in known]
    builder.append(
        Frequency.SHAPE,
        len(known),
        shape_label=[paths[i] for i in known],
        shape_path=[paths[i] for i in known],
        shape_body=np.array([row.get(guides.body[i], -1) for i in known], dtype=int),
        shape_type=np.maximum(guides.kind[known], 0),
        shape_transform=guides.pose[known],
        shape_scale=guides.scale[known],
        shape_flags=flags,
        shape_density=0.0,
        shape_collision_group=0,
    )


def _collides(scan: Scan, path: str) -> bool:
    return scan.has(path, "PhysicsCollisionAPI")


# --- tendons --------------------------------------------------------------------------------------------------------


@dataclass
class _Wrap:
    """One element of a tendon's path."""

    kind: int
    target: str = ""
    side: str = ""
    coefficient: float = 1.0


def _wraps(scan: Scan, path: str) -> list[_Wrap] | None:
    """Return the path of a tendon, or None where it cannot be followed."""
    targets, sides = scan.targets(path, "mjc:path"), scan.targets(path, "mjc:sideSites")
    indices = [int(i) for i in scan.value(path, "mjc:path:indices", ())] or list(range(len(targets)))
    side_indices = [int(i) for i in scan.value(path, "mjc:sideSites:indices", ())]
    if not targets or min(indices) < 0 or max(indices) >= len(targets):
        scan.report.error(path, "leads nowhere", property="mjc:path", remedy="name sites, geometry or joints")
        return None
    if str(scan.value(path, "mjc:type", "spatial")) == "fixed":
        coefficients = [float(c) for c in scan.value(path, "mjc:path:coef", ())]
        coefficients += [1.0] * (len(indices) - len(coefficients))
        return [_Wrap(_WRAP_JOINT, targets[i], coefficient=c) for i, c in zip(indices, coefficients, strict=False)]
    segments = [int(i) for i in scan.value(path, "mjc:path:segments", ())] or [0] * len(indices)
    divisors = [float(d) for d in scan.value(path, "mjc:path:divisors", ())]
    wraps: list[_Wrap] = []
    segment = -1
    for place, (index, here) in enumerate(zip(indices, segments, strict=False)):
        divisor = divisors[here] if 0 <= here < len(divisors) else 1.0
        if here != segment and (segment >= 0 or divisor != 1.0):
            wraps.append(_Wrap(_WRAP_PULLEY, coefficient=divisor))
        segment = here
        side = side_indices[place] if place < len(side_indices) else -1
        is_site = scan.has(targets[index], "NewtonSiteAPI")
        wraps.append(
            _Wrap(_WRAP_SITE if is_site else _WRAP_GEOM, targets[index], sides[side] if 0 <= side < len(sides) else "")
        )
    return wraps


def _append_tendons(builder: ModelBuilder, scan: Scan, rows: _Rows, tendons: list[tuple[str, list[_Wrap]]]) -> None:
    kept = []
    for path, wraps in tendons:
        lost = [w.target for w in wraps if w.target and w.target not in (rows.dof if w.kind == 1 else rows.shape)]
        if lost:
            scan.report.error(path, f"leads to {lost[0]}, which is not simulated", property="mjc:path")
        else:
            kept.append((path, wraps))
    if not kept:
        return
    columns: dict[str, list[Any]] = {}
    for path, wraps in kept:
        for name, value in _tendon(scan, path, spatial=wraps[0].kind != _WRAP_JOINT).items():
            columns.setdefault(f"mujoco:tendon_{name}", []).append(value)
    start = builder.append(TENDON, len(kept), **columns)
    rows.tendon = {path: start + i for i, (path, _) in enumerate(kept)}
    flat = [(start + i, wrap) for i, (_, wraps) in enumerate(kept) for wrap in wraps]
    builder.append(
        WRAP,
        len(flat),
        **{
            "mujoco:wrap_tendon": [tendon for tendon, _ in flat],
            "mujoco:wrap_type": [wrap.kind for _, wrap in flat],
            "mujoco:wrap_dof": [rows.dof[w.target] if w.kind == _WRAP_JOINT else -1 for _, w in flat],
            "mujoco:wrap_shape": [rows.shape[w.target] if w.kind >= _WRAP_SITE else -1 for _, w in flat],
            "mujoco:wrap_sidesite": [rows.shape.get(wrap.side, -1) for _, wrap in flat],
            "mujoco:wrap_coefficient": [wrap.coefficient for _, wrap in flat],
        },
    )


def _tendon(scan: Scan, path: str, *, spatial: bool) -> dict[str, Any]:
    """Return the fields of one tendon; what a fixed tendon calls length is not one and stays as it is."""
    to_si = scan.units.to_si if spatial else _as_is

    def number(name: str, dimension: str) -> float:
        return float(to_si(float(scan.value(path, f"mjc:{name}", 0.0)), dimension))

    def bounds(flag: str, name: str, dimension: str) -> tuple[float, float]:
        return limits(scan, path, flag, name, dimension if spatial else "") or (-np.inf, np.inf)

    values: dict[str, Any] = {
        "label": path,
        "path": path,
        "stiffness": number("stiffness", "N/m"),
        "damping": number("damping", "N·s/m"),
        "armature": number("armature", "kg"),
        "frictionloss": number("frictionloss", "N"),
        "margin": number("margin", "m"),
        "range": bounds("mjc:limited", "mjc:range", "m"),
        "actuatorfrcrange": bounds("mjc:actuatorfrclimited", "mjc:actuatorfrcrange", "N"),
    }
    rest = [float(length) for length in scan.value(path, "mjc:springlength", (-1.0, -1.0))]
    rest = (rest * 2)[:2] if rest else [-1.0, -1.0]
    values["springlength"] = [-1.0 if length < 0 else to_si(length, "m") for length in rest]
    for end in ("limit", "friction"):
        values[f"solref{end}"] = padded(scan, path, f"mjc:solref{end}", 2) or (0.02, 1.0)
        values[f"solimp{end}"] = padded(scan, path, f"mjc:solimp{end}", 5) or (0.9, 0.95, 0.001, 0.5, 2.0)
    return values


def _as_is(value: Any, dimension: str) -> Any:
    return value


# --- actuators ------------------------------------------------------------------------------------------------------


def _append_actuators(builder: ModelBuilder, scan: Scan, rows: _Rows, paths: list[str]) -> None:
    columns: dict[str, list[Any]] = {}
    count = 0
    for path in paths:
        target = _transmission(scan, path, rows)
        if target is None:
            continue
        count += 1
        for name, value in {**target, **_actuator(scan, path)}.items():
            columns.setdefault(f"mujoco:actuator_{name}", []).append(value)
    if count:
        builder.append(ACTUATOR, count, **columns)


def _transmission(scan: Scan, path: str, rows: _Rows) -> dict[str, int] | None:
    """Return what an actuator acts on, or None where that is not simulated."""
    targets = scan.targets(path, "mjc:target")
    target = targets[0] if targets else ""
    found = {"transmission": _JOINT, "dof": -1, "joint": -1, "tendon": -1, "site": -1, "body": -1}
    found["slidersite"], found["refsite"] = (
        rows.shape.get((scan.targets(path, f"mjc:{name}Site") or [""])[0], -1) for name in ("slider", "ref")
    )
    if target in rows.dof or target in rows.joint:
        found["transmission"] = _JOINT_IN_PARENT if scan.value(path, "mjc:jointInParent", False) else _JOINT
        key, index = ("joint", rows.joint) if target not in rows.dof or _is_ball(scan, target) else ("dof", rows.dof)
        found[key] = index[target]
    elif target in rows.tendon:
        found["transmission"], found["tendon"] = _TENDON, rows.tendon[target]
    elif target in rows.shape and scan.has(target, "NewtonSiteAPI"):
        found["transmission"] = _SLIDER_CRANK if found["slidersite"] >= 0 else _SITE
        found["site"] = rows.shape[target]
    elif target in rows.body:
        found["transmission"], found["body"] = _BODY, rows.body[target]
    else:
        what = f"acts on {target}, which is not simulated" if target else "acts on nothing"
        scan.report.ignore(path, what, property="mjc:target", remedy="name a joint, tendon, site or body")
        return None
    return found


def _is_ball(scan: Scan, path: str) -> bool:
    return scan.types.get(path) == "PhysicsSphericalJoint"


def _actuator(scan: Scan, path: str) -> dict[str, Any]:
    one = [1.0] + [0.0] * 9
    value = scan.value
    return {
        "label": path,
        "path": path,
        "gear": padded(scan, path, "mjc:gear", 6) or one[:6],
        "gaintype": _choice(scan, path, "mjc:gainType", _GAINS),
        "gainprm": padded(scan, path, "mjc:gainPrm", 10) or one,
        "biastype": _choice(scan, path, "mjc:biasType", _BIASES),
        "biasprm": padded(scan, path, "mjc:biasPrm", 10) or [0.0] * 10,
        "dyntype": _choice(scan, path, "mjc:dynType", _DYNAMICS),
        "dynprm": padded(scan, path, "mjc:dynPrm", 10) or one,
        "actdim": int(value(path, "mjc:actDim", -1)),
        "actearly": bool(value(path, "mjc:actEarly", False)),
        "lengthrange": [float(value(path, f"mjc:lengthRange:{end}", 0.0)) for end in ("min", "max")],
        "inheritrange": float(value(path, "mjc:inheritRange", 0.0)),
        "cranklength": scan.number(path, ("mjc:crankLength",)),
        "group": int(value(path, "mjc:group", 0)),
        **{
            f"{name}range": limits(scan, path, f"mjc:{name}Limited", f"mjc:{name}Range") or (-np.inf, np.inf)
            for name in ("ctrl", "force", "act")
        },
    }


def _choice(scan: Scan, path: str, name: str, choices: tuple[str, ...]) -> int:
    value = str(scan.value(path, name, choices[0]))
    if value in choices:
        return choices.index(value)
    scan.report.error(path, f"is {value!r}", property=name, remedy=f"choose one of: {', '.join(choices)}")
    return 0


# --- keyframes ------------------------------------------------------------------------------------------------------


def _append_keyframes(builder: ModelBuilder, scan: Scan, paths: list[str]) -> None:
    if not paths:
        return
    arrays: dict[str, list[Any]] = {}
    for name in ("qpos", "qvel", "act", "ctrl"):
        values = [scan.value(path, f"mjc:{name}") for path in paths]
        arrays[f"mujoco:keyframe_{name}"] = [None if v is None else np.array(v, dtype=float) for v in values]
    labels = {"mujoco:keyframe_label": paths, "mujoco:keyframe_path": paths}
    builder.append(KEYFRAME, len(paths), **labels, **arrays)
