"""Which physics material a collider uses, and the parts of a mesh that use another."""

from __future__ import annotations

from typing import Any

import numpy as np
from pxr import Usd, UsdGeom, UsdShade

from usd_sim.stage.read.scan import Scan

__all__ = ["bound_materials", "subset_materials"]


def bound_materials(scan: Scan, found: list[tuple[str, Any]]) -> list[str]:
    """Return the material of each collider (n,), "" for none.

    The binding for the purpose ``physics`` counts, else that for all purposes; only materials with PhysicsMaterialAPI
    change anything. UsdPhysics' own parser leaves out collections and materials bound further up, and takes those of
    subsets for the mesh's.

    Args:
        scan: What was found on the stage.
        found: Path and descriptor of each collider.
    """
    materials = [str(item.materials[0]) if item.materials else "" for _, item in found]
    if not any("PhysicsMaterialAPI" in schemas for schemas in scan.schemas.values()):
        return materials
    unsure = [
        i
        for i, (path, item) in enumerate(found)
        if scan.binds_collections
        or len(item.materials) != 1
        or not scan.has(materials[i], "PhysicsMaterialAPI")
        or (scan.types.get(path) == "Mesh" and scan.prim(path).GetAllChildrenNames())
    ]
    bound = _bound(scan, [scan.prim(found[i][0]) for i in unsure])
    for i, material in zip(unsure, bound, strict=True):
        materials[i] = material
    return materials


def _bound(scan: Scan, prims: list[Usd.Prim]) -> list[str]:
    if not prims:
        return []
    bound, _ = UsdShade.MaterialBindingAPI.ComputeBoundMaterials(prims, "physics")
    return [str(material.GetPath()) if material else "" for material in bound]


def subset_materials(scan: Scan, path: str, own: str, face_count: int) -> list[tuple[str, np.ndarray]]:
    """Return physics materials of a mesh and the faces (k,) that use each; empty where the whole mesh uses its own.

    Faces of no subset, and subsets that bind no physics material, keep the mesh's own.

    Args:
        scan: What was found on the stage.
        path: Prim of the mesh.
        own: Material of the mesh.
        face_count: Number of its faces.
    """
    prim = scan.prim(path)
    if not prim.GetAllChildrenNames():
        return []
    subsets = UsdShade.MaterialBindingAPI(prim).GetMaterialBindSubsets()
    materials = _bound(scan, [subset.GetPrim() for subset in subsets])
    names = [own]
    which = np.zeros(face_count, dtype=int)
    for subset, material in zip(subsets, materials, strict=True):
        if material == own or not scan.has(material, "PhysicsMaterialAPI"):
            continue
        if subset.GetElementTypeAttr().Get(scan.time) != UsdGeom.Tokens.face:
            scan.report.ignore(str(subset.GetPath()), "only subsets of faces can have a physics material")
            continue
        faces = np.asarray(subset.GetIndicesAttr().Get(scan.time) or (), dtype=int)
        if material not in names:
            names.append(material)
        which[faces[(faces >= 0) & (faces < face_count)]] = names.index(material)
    groups = [(name, np.flatnonzero(which == i)) for i, name in enumerate(names)]
    groups = [group for group in groups if len(group[1])]
    return [] if [name for name, _ in groups] in ([], [own]) else groups
