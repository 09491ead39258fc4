"""Physics materials, as columns that shapes look up by path."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from usd_sim.model.fields import FIELDS
from usd_sim.model.types import CombineMode
from usd_sim.stage.read.scan import Scan

__all__ = ["MATERIAL_FIELDS", "MaterialSpecs", "material_density", "read_materials"]

MATERIAL_FIELDS = {
    "shape_material_restitution": ("physics:restitution", "", 0.0),
    "shape_material_kf": ("newton:contactFrictionGain", "N·s/m", -np.inf),
    "shape_material_ka": ("newton:contactAdhesion", "m", -np.inf),
}

_OF_SEVERAL = {
    "shape_material_ke": ("newton:contactStiffness", "physxMaterial:compliantContactStiffness"),
    "shape_material_kd": ("newton:contactDamping", "physxMaterial:compliantContactDamping"),
    "shape_material_mu_torsional": ("newton:torsionalFriction", "mjc:torsionalfriction"),
    "shape_material_mu_rolling": ("newton:rollingFriction", "mjc:rollingfriction"),
}
"""Fields that several dialects state."""


@dataclass
class MaterialSpecs:
    """Values of materials by shape, SI.

    Attributes:
        fields: Field name to the value for each shape (n,).
    """

    fields: dict[str, np.ndarray]


def read_materials(scan: Scan, materials: list[str]) -> MaterialSpecs:
    """Read the materials of shapes; shapes without one get the fields' fallbacks.

    Args:
        scan: What was found on the stage.
        materials: Path of the material of each shape, "" for none (n,).
    """
    unique = sorted({path for path in materials if scan.has(path, "PhysicsMaterialAPI")})
    index = {path: i for i, path in enumerate(unique)}
    which = np.array([index.get(path, len(unique)) for path in materials], dtype=int)  # the last row is "no material"
    fields = {}
    for name, (attribute, dimension, fallback) in MATERIAL_FIELDS.items():
        default = float(FIELDS[name].default)
        values = np.append(scan.column(unique, attribute, fallback, dimension), default)
        fields[name] = np.where(np.isneginf(values), default, values)[which]
    for name, attributes in _OF_SEVERAL.items():
        default = float(FIELDS[name].default)
        fields[name] = np.append(scan.numbers(unique, attributes, default), default)[which]
    friction = np.append(_friction(scan, unique), float(FIELDS["shape_material_mu"].default))
    static = np.append(scan.column(unique, "physics:staticFriction", -1.0), -1.0)
    if (static >= 0).any():
        fields["shape_material_mu_static"] = static[which]
    for name in ("friction", "restitution"):
        modes = np.append(_combine_modes(scan, unique, f"physxMaterial:{name}CombineMode"), -1)
        if (modes >= 0).any():
            fields[f"shape_material_{name}_combine"] = modes[which]
    return MaterialSpecs({"shape_material_mu": friction[which], **fields})


def material_density(scan: Scan, materials: list[str]) -> np.ndarray:
    """Return the density that materials state, 0 for none (n,) [kg/m³]."""
    physical = [path if scan.has(path, "PhysicsMaterialAPI") else "" for path in materials]
    return scan.column(physical, "physics:density", 0.0, "kg/m³")


def _combine_modes(scan: Scan, paths: list[str], name: str) -> np.ndarray:
    modes = np.full(len(paths), -1)
    for i, path in enumerate(paths):
        word = scan.value(path, name)
        if word is None:
            continue
        if str(word).upper() in CombineMode.__members__:
            modes[i] = CombineMode[str(word).upper()]
        else:
            known = ", ".join(mode.name.lower() for mode in CombineMode)
            scan.report.ignore(path, f"{word!r} is not a combine mode", property=name, remedy=f"author one of {known}")
    return modes


def _friction(scan: Scan, paths: list[str]) -> np.ndarray:
    """Return one coefficient per material: dynamic friction, or static where only that is authored."""
    static = scan.column(paths, "physics:staticFriction", 0.0)
    dynamic = scan.column(paths, "physics:dynamicFriction", 0.0)
    only_static = np.array([scan.value(path, "physics:dynamicFriction") is None for path in paths], dtype=bool)
    for i in np.flatnonzero((static != dynamic) & ~only_static):
        if scan.value(paths[i], "physics:staticFriction") is not None:
            scan.report.approximate(
                paths[i], "one friction coefficient is used for rest and motion", property="physics:staticFriction"
            )
    return np.where(only_static, static, dynamic)
