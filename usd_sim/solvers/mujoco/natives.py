"""Tendons and actuators of the ``mujoco`` namespace: into an MjSpec at first, into MuJoCo's model on edits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from usd_sim.solvers.base import host
from usd_sim.solvers.mujoco.fields import ACTUATOR, TENDON, Transmission, Wrap

__all__ = ["add_actuators", "add_tendons", "count", "optional", "wrapped_shapes", "write_actuators", "write_tendons"]

_GAIN = (
    mujoco.mjtGain.mjGAIN_FIXED,
    mujoco.mjtGain.mjGAIN_AFFINE,
    mujoco.mjtGain.mjGAIN_MUSCLE,
    mujoco.mjtGain.mjGAIN_USER,
)
_BIAS = (
    mujoco.mjtBias.mjBIAS_NONE,
    mujoco.mjtBias.mjBIAS_AFFINE,
    mujoco.mjtBias.mjBIAS_MUSCLE,
    mujoco.mjtBias.mjBIAS_USER,
)
_DYNAMICS = (
    mujoco.mjtDyn.mjDYN_NONE,
    mujoco.mjtDyn.mjDYN_INTEGRATOR,
    mujoco.mjtDyn.mjDYN_FILTER,
    mujoco.mjtDyn.mjDYN_FILTEREXACT,
    mujoco.mjtDyn.mjDYN_MUSCLE,
    mujoco.mjtDyn.mjDYN_USER,
)
_TRANSMISSION = {
    Transmission.JOINT: mujoco.mjtTrn.mjTRN_JOINT,
    Transmission.JOINT_IN_PARENT: mujoco.mjtTrn.mjTRN_JOINTINPARENT,
    Transmission.SLIDER_CRANK: mujoco.mjtTrn.mjTRN_SLIDERCRANK,
    Transmission.TENDON: mujoco.mjtTrn.mjTRN_TENDON,
    Transmission.SITE: mujoco.mjtTrn.mjTRN_SITE,
    Transmission.BODY: mujoco.mjtTrn.mjTRN_BODY,
}
_TARGETS = {
    Transmission.SLIDER_CRANK: "site",
    Transmission.TENDON: "tendon",
    Transmission.SITE: "site",
    Transmission.BODY: "body",
}


def optional(model: Any, name: str) -> NDArray[Any] | None:
    """Return the rows of a field, or None where nobody set them: then MuJoCo's defaults hold."""
    return host(model, name) if model.is_set(name) else None


def count(model: Any, frequency: str) -> int:
    """Return the number of rows of a frequency of the ``mujoco`` namespace; 0 for models that do not know it."""
    return int(model.counts.get(frequency, 0))


def wrapped_shapes(model: Any) -> NDArray[np.int64]:
    """Return the shapes that tendons go through or bend around."""
    if not count(model, TENDON):
        return np.zeros(0, np.int64)
    rows = np.concatenate([host(model, "mujoco:wrap_shape"), host(model, "mujoco:wrap_sidesite")])
    return np.unique(rows[rows >= 0]).astype(np.int64)


def _range(row: NDArray[Any]) -> tuple[list[float], int]:
    """Return a range as MuJoCo takes it, and whether it limits."""
    limited = bool(np.isfinite(row).any())
    return (np.clip(row.astype(np.float64), -1e10, 1e10).tolist() if limited else [0.0, 0.0]), int(limited)


# --- tendons --------------------------------------------------------------------------------------------------------


def add_tendons(spec: Any, model: Any, names: Mapping[str, Mapping[int, str]]) -> list[Any]:
    """Add the tendons of a model to a spec and return their elements.

    Args:
        spec: The MjSpec.
        model: The model.
        names: Names of MuJoCo's elements by row, per kind: "dof" and "shape"; "tendon" is filled.
    """
    total = count(model, TENDON)
    if not total:
        return []
    columns = {name: host(model, f"mujoco:tendon_{name}") for name in _TENDON_COLUMNS}
    owner = host(model, "mujoco:wrap_tendon")
    kinds, dofs, shapes, sides, scale = (
        host(model, f"mujoco:wrap_{name}") for name in ("type", "dof", "shape", "sidesite", "coefficient")
    )
    elements = []
    for row in range(total):
        tendon = spec.add_tendon(name=names["tendon"][row])
        for name, attribute in _TENDON_COLUMNS.items():
            setattr(tendon, attribute, _as_spec(columns[name][row], getattr(tendon, attribute)))
        tendon.range, tendon.limited = _range(host(model, "mujoco:tendon_range")[row])
        tendon.actfrcrange, tendon.actfrclimited = _range(host(model, "mujoco:tendon_actuatorfrcrange")[row])
        for i in np.flatnonzero(owner == row).tolist():
            if kinds[i] == Wrap.JOINT:
                tendon.wrap_joint(names["dof"][int(dofs[i])], float(scale[i]))
            elif kinds[i] == Wrap.PULLEY:
                tendon.wrap_pulley(float(scale[i]))
            elif kinds[i] == Wrap.SITE:
                tendon.wrap_site(names["shape"][int(shapes[i])])
            else:
                side = int(sides[i])
                tendon.wrap_geom(names["shape"][int(shapes[i])], names["shape"][side] if side >= 0 else "")
        elements.append(tendon)
    return elements


_TENDON_COLUMNS = {
    "stiffness": "stiffness",
    "damping": "damping",
    "springlength": "springlength",
    "armature": "armature",
    "frictionloss": "frictionloss",
    "margin": "margin",
    "solreflimit": "solref_limit",
    "solimplimit": "solimp_limit",
    "solreffriction": "solref_friction",
    "solimpfriction": "solimp_friction",
}


def _as_spec(value: Any, like: Any) -> Any:
    """Return a value as a spec's attribute takes it: MuJoCo keeps linear coefficients first in polynomials."""
    if np.ndim(like) == 0:
        return float(value)
    row = np.zeros(np.shape(like))
    row[: np.size(value)] = value
    return row


def write_tendons(model: Any, target: mujoco.MjModel, ids: NDArray[np.int64]) -> None:
    """Write what MuJoCo only copies of tendons."""
    if len(ids) == 0:
        return
    target.tendon_damping[ids] = host(model, "mujoco:tendon_damping")
    target.tendon_frictionloss[ids] = host(model, "mujoco:tendon_frictionloss")
    target.tendon_margin[ids] = host(model, "mujoco:tendon_margin")
    for name, attribute in (("limit", "lim"), ("friction", "fri")):
        getattr(target, f"tendon_solref_{attribute}")[ids] = host(model, f"mujoco:tendon_solref{name}")
        getattr(target, f"tendon_solimp_{attribute}")[ids] = host(model, f"mujoco:tendon_solimp{name}")
    target.tendon_limited[ids], target.tendon_range[ids] = _ranges(host(model, "mujoco:tendon_range"))


def _ranges(rows: NDArray[Any]) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    limited = np.isfinite(rows).any(axis=1)
    return limited, np.where(limited[:, None], np.clip(rows.astype(np.float64), -1e10, 1e10), 0.0)


# --- actuators ------------------------------------------------------------------------------------------------------


def add_actuators(spec: Any, model: Any, names: Mapping[str, Mapping[int, str]]) -> list[Any]:
    """Add the actuators of a model to a spec and return their elements.

    Args:
        spec: The MjSpec, with joints, tendons and sites.
        model: The model.
        names: Names of MuJoCo's elements by row, per kind: "actuator", "dof", "joint", "tendon", "shape" and "body".
    """
    total = count(model, ACTUATOR)
    if not total:
        return []
    columns = {name: host(model, f"mujoco:actuator_{name}") for name in _ACTUATOR_COLUMNS}
    elements = []
    for row in range(total):
        here = {name: column[row] for name, column in columns.items()}
        kind = Transmission(int(here["transmission"]))
        what = _TARGETS.get(kind, "dof" if here["dof"] >= 0 else "joint")
        actuator = spec.add_actuator(
            name=names["actuator"][row],
            trntype=_TRANSMISSION[kind],
            target=names["shape" if what == "site" else what][int(here[what])],
            gear=here["gear"].astype(np.float64),
            gaintype=_GAIN[here["gaintype"]],
            gainprm=here["gainprm"].astype(np.float64),
            biastype=_BIAS[here["biastype"]],
            biasprm=here["biasprm"].astype(np.float64),
            dyntype=_DYNAMICS[here["dyntype"]],
            dynprm=here["dynprm"].astype(np.float64),
            actdim=int(here["actdim"]),
            actearly=bool(here["actearly"]),
            lengthrange=here["lengthrange"].astype(np.float64),
            cranklength=float(here["cranklength"]),
            group=int(here["group"]),
        )
        for site in ("refsite", "slidersite"):
            if here[site] >= 0:
                setattr(actuator, site, names["shape"][int(here[site])])
        control = _inherited(model, here, what) if here["inheritrange"] > 0 else here["ctrlrange"]
        actuator.ctrlrange, actuator.ctrllimited = _range(control)
        actuator.forcerange, actuator.forcelimited = _range(here["forcerange"])
        actuator.actrange, actuator.actlimited = _range(here["actrange"])
        elements.append(actuator)
    return elements


_ACTUATOR_COLUMNS = (
    "transmission", "dof", "joint", "tendon", "site", "refsite", "slidersite", "body", "gear", "gaintype", "gainprm",
    "biastype", "biasprm", "dyntype", "dynprm", "actdim", "actearly", "ctrlrange", "forcerange", "actrange",
    "lengthrange", "inheritrange", "cranklength", "group",
)  # fmt: skip


def _inherited(model: Any, here: Mapping[str, Any], what: str) -> NDArray[np.float64]:
    """Return the control range that a joint's or tendon's range gives, times ``inheritrange`` about its middle."""
    if what == "tendon":
        lower, upper = host(model, "mujoco:tendon_range")[here["tendon"]].astype(np.float64)
    else:
        ref = optional(model, "mujoco:ref")
        shift = 0.0 if ref is None else float(ref[here["dof"]])
        lower, upper = (float(host(model, f"joint_limit_{end}")[here["dof"]]) + shift for end in ("lower", "upper"))
    if not np.isfinite([lower, upper]).all():
        return np.asarray(here["ctrlrange"])
    middle, half = 0.5 * (lower + upper), 0.5 * (upper - lower) * float(here["inheritrange"])
    return np.array([middle - half, middle + half])


def write_actuators(model: Any, target: mujoco.MjModel, ids: NDArray[np.int64]) -> None:
    """Write what MuJoCo only copies of actuators."""
    if len(ids) == 0:
        return
    target.actuator_gear[ids] = host(model, "mujoco:actuator_gear")
    for name in ("gainprm", "biasprm", "dynprm"):
        getattr(target, f"actuator_{name}")[ids] = host(model, f"mujoco:actuator_{name}")
    own = host(model, "mujoco:actuator_inheritrange") <= 0
    for name, rows in (("ctrl", own), ("force", slice(None)), ("act", slice(None))):
        limited, bounds = _ranges(host(model, f"mujoco:actuator_{name}range")[rows])
        getattr(target, f"actuator_{name}limited")[ids[rows]] = limited
        getattr(target, f"actuator_{name}range")[ids[rows]] = bounds
