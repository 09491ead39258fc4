"""Settings of signed distance fields and hydroelastic contact, kept for solvers that use them."""

from __future__ import annotations

from typing import Any

import numpy as np

from usd_sim.model.fields import FIELDS
from usd_sim.stage.read.scan import Scan

__all__ = ["sdf_fields"]

_NUMBERS = {
    "shape_sdf_max_resolution": ("newton:sdfMaxResolution", "physxSDFMeshCollision:sdfResolution"),
    "shape_sdf_target_voxel_size": ("newton:sdfTargetVoxelSize",),
    "shape_sdf_padding": ("newton:sdfPadding",),
    "shape_hydroelastic_stiffness": ("newton:hydroelasticStiffness",),
}
_PHYSX_RESOLUTION = 256
"""What PhysX takes where its schema is applied and states nothing."""

_BAND = ("newton:sdfNarrowBandInner", "newton:sdfNarrowBandOuter")
_FALLBACK_BAND = FIELDS["shape_sdf_narrow_band"].default


def sdf_fields(scan: Scan, paths: list[str]) -> dict[str, Any]:
    """Return the fields of colliders that ask for a signed distance field, each (n, ...); none where no one does.

    Args:
        scan: What was found on the stage.
        paths: Prim of each collider (n,).
    """
    newton = np.array([scan.has(path, "NewtonSDFCollisionAPI") for path in paths], dtype=bool)
    physx = np.array([scan.has(path, "PhysxSDFMeshCollisionAPI") for path in paths], dtype=bool)
    asked = np.array([scan.value(path, "physics:approximation") == "sdf" for path in paths], dtype=bool)
    if not (newton | physx | asked).any():
        return {}
    values: dict[str, Any] = {"shape_use_sdf": newton | physx | asked}
    for name, properties in _NUMBERS.items():
        values[name] = scan.numbers(paths, properties, float(FIELDS[name].default))
    silent = [not scan.first(path, _NUMBERS["shape_sdf_max_resolution"]) for path in paths]
    values["shape_sdf_max_resolution"][physx & ~newton & np.array(silent, dtype=bool)] = _PHYSX_RESOLUTION
    values["shape_sdf_narrow_band"] = np.stack(
        [scan.numbers(paths, (name,), fallback) for name, fallback in zip(_BAND, _FALLBACK_BAND, strict=True)], axis=1
    )
    formats = [scan.value(path, "newton:sdfTextureFormat") for path in paths]
    values["shape_sdf_texture_format"] = [value or FIELDS["shape_sdf_texture_format"].default for value in formats]
    values["shape_hydroelastic"] = np.array(
        [bool(scan.value(path, "newton:hydroelasticEnabled", False)) for path in paths], dtype=bool
    )
    return values
