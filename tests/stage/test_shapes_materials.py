"""Which physics material counts for a collider, and what its combine modes and static friction become."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from pxr import UsdShade

from tests.stage.authoring import SINGLE, Read, read
from usd_sim.errors import UsdSimWarning
from usd_sim.model.types import CombineMode
from usd_sim.solvers.mujoco import SolverMuJoCo

MATERIALS = (
    "".join(
        f"""def Material "{name}" (prepend apiSchemas = ["PhysicsMaterialAPI"]) {{
    float physics:dynamicFriction = {mu} }}
"""
        for name, mu in (("Ice", 0.125), ("Rubber", 0.75))
    )
    + 'def Material "Paint" {}\n'
)

CUBE = 'def Cube "C" (prepend apiSchemas = ["PhysicsCollisionAPI", "MaterialBindingAPI"]) {{ {} }}'


def friction(text: str) -> float:
    """Return the friction of the one collider, having checked USD's own idea of its material."""
    result = read(MATERIALS + text)
    prim = result.stage.GetPrimAtPath(result.shape_path[0])
    bound = UsdShade.MaterialBindingAPI(prim).ComputeBoundMaterial("physics")[0]
    physical = bool(bound) and bound.GetPrim().HasAPI("PhysicsMaterialAPI")
    expected = bound.GetPrim().GetAttribute("physics:dynamicFriction").Get() if physical else 1.0
    assert result.shape_material_mu[0] == expected
    return float(expected)


def bind(material: str, purpose: str = "physics", strength: str = "") -> str:
    name = f"material:binding:{purpose}" if purpose else "material:binding"
    how = f' ( bindMaterialAs = "{strength}" )' if strength else ""
    return f"rel {name} = </{material}>{how}"


def parent(inside: str, text: str, apis: str = '"MaterialBindingAPI"') -> str:
    return f'def Xform "X" (prepend apiSchemas = [{apis}]) {{ {text}\n{inside} }}'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (CUBE.format(bind("Ice")), 0.125),
        (CUBE.format(bind("Ice", "")), 0.125),
        (CUBE.format(bind("Paint", "")), 1.0),
        (CUBE.format(f"{bind('Rubber', '')}; {bind('Ice')}"), 0.125),
        (CUBE.format(f"{bind('Paint', '')}; {bind('Ice')}"), 0.125),
        (CUBE.format(""), 1.0),
        (parent(CUBE.format(""), bind("Ice")), 0.125),
        (parent(CUBE.format(bind("Paint", "")), bind("Ice")), 0.125),
        (parent(CUBE.format(bind("Rubber")), bind("Ice")), 0.75),
        (parent(CUBE.format(bind("Rubber")), bind("Ice", strength="strongerThanDescendants")), 0.125),
        (parent(CUBE.format(bind("Rubber")), bind("Ice", strength="weakerThanDescendants")), 0.75),
    ],
)
def test_bindings(text: str, expected: float):
    assert friction(text) == expected


@pytest.mark.parametrize("own", ["", bind("Rubber"), bind("Rubber", "")])
def test_collections(own: str):
    text = """rel material:binding:collection:physics:some = [</X.collection:some>, </Ice>]
    uniform token collection:some:expansionRule = "expandPrims"; rel collection:some:includes = </X/C>"""
    stage = parent(CUBE.format(own), text, '"MaterialBindingAPI", "CollectionAPI:some"')
    assert friction(stage) == (0.75 if own == bind("Rubber") else 0.125)


def test_a_collection_on_the_prim_itself_counts_before_a_direct_binding():
    text = f"""{bind("Rubber")}; rel material:binding:collection:physics:some = [</C.collection:some>, </Ice>]
    rel collection:some:includes = </C>"""
    cube = CUBE.format(text).replace('"MaterialBindingAPI"', '"MaterialBindingAPI", "CollectionAPI:some"')
    assert friction(cube) == 0.125


# --- combine modes and static friction ------------------------------------------------------------------------------


def two(a: str, b: str) -> Read:
    """Read two cubes with materials of some values."""
    text = "".join(
        f"""def Material "M{i}" (prepend apiSchemas = ["PhysicsMaterialAPI", "PhysxMaterialAPI"]) {{ {values} }}
    def Cube "C{i}" (prepend apiSchemas = ["PhysicsCollisionAPI", "MaterialBindingAPI"]) {{
    rel material:binding:physics = </M{i}> }}
"""
        for i, values in enumerate((a, b))
    )
    return read(text)


def lost(result: Read) -> list[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UsdSimWarning)
        return [entry.feature for entry in SolverMuJoCo(result.model).unsupported]


def mode(name: str, friction: float) -> str:
    return f'float physics:dynamicFriction = {friction}; token physxMaterial:frictionCombineMode = "{name}"'


def test_combine_modes_are_kept():
    result = two(mode("multiply", 0.5), 'token physxMaterial:restitutionCombineMode = "min"')
    assert result.shape_material_friction_combine.tolist() == [CombineMode.MULTIPLY, -1]
    assert result.shape_material_restitution_combine.tolist() == [-1, CombineMode.MIN]
    assert not result.report.ignored


def test_an_unknown_mode_is_ignored():
    result = two(mode("loudest", 0.5), "")
    assert result.said("ignored", "/M0", "not a combine mode", "physxMaterial:frictionCombineMode")
    assert result.shape_material_friction_combine.tolist() == [-1, -1]


@pytest.mark.parametrize(
    ("a", "b", "reported"),
    [
        (mode("average", 0.5), mode("average", 0.25), True),
        (mode("min", 0.5), mode("max", 0.25), True),
        (mode("max", 0.5), mode("max", 0.25), False),
        (mode("average", 0.5), mode("min", 0.5), False),  # all frictions are equal
        (mode("multiply", 0.5), mode("multiply", 0.5), True),
        (mode("multiply", 1.0), mode("multiply", 1.0), False),
        ("float physics:dynamicFriction = 0.5", "float physics:dynamicFriction = 0.25", False),
    ],
)
def test_mujoco_says_where_it_combines_in_its_own_way(a: str, b: str, reported: bool):
    assert ("friction combine mode" in lost(two(a, b))) == reported


def test_static_friction_has_a_field_of_its_own():
    result = two("float physics:dynamicFriction = 0.25; float physics:staticFriction = 0.5", "")
    np.testing.assert_allclose(result.shape_material_mu_static, [0.5, -1.0], rtol=SINGLE)
    np.testing.assert_allclose(result.shape_material_mu, [0.25, 0.0], rtol=SINGLE)
    assert result.said("approximated", "/M0", "one friction coefficient", "physics:staticFriction")
    np.testing.assert_allclose(SolverMuJoCo(result.model).mj_model.geom_friction[0, 0], 0.25)
