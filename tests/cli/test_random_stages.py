"""Random small stages end in a result or in one clear error, never in a traceback."""

from __future__ import annotations

import math

import pytest
from cli.running import run
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pxr import Usd

import usd_sim
from usd_sim.errors import UsdSimError

ODD = [0.0, -1.0, 1.0, 2.5, -0.5, 1e-9, 1e6, 1e30, -1e30, math.inf, -math.inf, math.nan, 180.0]
PLAIN = st.floats(0.125, 3, width=16)
numbers = st.integers(0, 24).flatmap(
    lambda i: st.sampled_from(ODD) if i == 0 else st.floats(-3, 3) if i == 1 else PLAIN
)
"""Mostly numbers that make sense, so that stages also get as far as a simulation."""

triples = st.tuples(numbers, numbers, numbers)
quaternions = st.tuples(numbers, numbers, numbers, numbers)
NAMES = ["A", "B", "C", "D"]
targets = st.sampled_from(["/W/A", "/W/B", "/W/C", "/W/A/Inner", "/W", "/Gone", ""])


def text(value: object) -> str:
    """Return a value as a .usda file writes it."""
    if isinstance(value, tuple):
        return f"({', '.join(map(text, value))})"
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, float) else f'"{value}"'


def lines(draw, table: dict[str, st.SearchStrategy]) -> str:
    """Author a random part of some attributes."""
    if not table:
        return ""
    chosen = draw(st.lists(st.sampled_from(sorted(table)), max_size=4, unique=True))
    return "".join(f"    {name} = {text(draw(table[name]))}\n" for name in chosen)


SHAPES = {
    "Sphere": {"double radius": numbers},
    "Cube": {"double size": numbers},
    "Capsule": {"double radius": numbers, "double height": numbers, "uniform token axis": st.sampled_from("XYZ")},
    "Cylinder": {"double radius": numbers, "double height": numbers},
    "Cone": {"double radius": numbers, "double height": numbers},
    "Plane": {"uniform token axis": st.sampled_from("XYZ")},
    "Mesh": {},
    "Xform": {},
}

BODY = {
    "bool physics:rigidBodyEnabled": st.booleans(),
    "bool physics:kinematicEnabled": st.booleans(),
    "bool physics:collisionEnabled": st.booleans(),
    "vector3f physics:velocity": triples,
    "vector3f physics:angularVelocity": triples,
    "float physics:mass": numbers,
    "float physics:density": numbers,
    "point3f physics:centerOfMass": triples,
    "float3 physics:diagonalInertia": triples,
    "quatf physics:principalAxes": quaternions,
    "float newton:contactMargin": numbers,
    "float newton:contactGap": numbers,
    "uniform token physics:approximation": st.sampled_from(
        ["none", "convexHull", "boundingCube", "boundingSphere", "?"]
    ),
}

JOINT = {
    "uniform token physics:axis": st.sampled_from("XYZ"),
    "float physics:lowerLimit": numbers,
    "float physics:upperLimit": numbers,
    "point3f physics:localPos0": triples,
    "point3f physics:localPos1": triples,
    "quatf physics:localRot0": quaternions,
    "bool physics:jointEnabled": st.booleans(),
    "bool physics:excludeFromArticulation": st.booleans(),
    "bool physics:collisionEnabled": st.booleans(),
    "float drive:angular:physics:stiffness": numbers,
    "float drive:angular:physics:damping": numbers,
    "float drive:angular:physics:maxForce": numbers,
    "float drive:angular:physics:targetPosition": numbers,
    "float newton:armature": numbers,
    "float newton:damping": numbers,
    "float newton:friction": numbers,
    "float limit:rotX:physics:low": numbers,
    "float limit:rotX:physics:high": numbers,
}

JOINT_TYPES = ["Fixed", "Revolute", "Prismatic", "Spherical", "Distance", ""]
MESHES = [
    "    point3f[] points = [(0,0,0), (1,0,0), (0,1,0), (0,0,1)]\n"
    "    int[] faceVertexCounts = [3, 3, 3, 3]\n    int[] faceVertexIndices = [0,2,1, 0,1,3, 1,2,3, 0,3,2]\n",
    "    point3f[] points = [(0,0,0), (1,0,0), (0,1,0)]\n"
    "    int[] faceVertexCounts = [3]\n    int[] faceVertexIndices = [0,1,2]\n",
    "    point3f[] points = [(0,0,0)]\n    int[] faceVertexCounts = [4]\n    int[] faceVertexIndices = [0,1,2,7]\n",
    "",
]


@st.composite
def bodies(draw, name: str, inner: str = "") -> str:
    """Return a prim that may be a body, a collider, both or neither."""
    kind = draw(st.sampled_from(sorted(SHAPES)))
    schemas = draw(st.lists(st.sampled_from(BODY_SCHEMAS), max_size=4, unique=True))
    schemas = schemas if draw(st.integers(0, 3)) == 0 else ["PhysicsRigidBodyAPI", "PhysicsCollisionAPI", *schemas[:2]]
    mesh = draw(st.sampled_from(MESHES)) if kind == "Mesh" else ""
    place = f"    double3 xformOp:translate = {text(draw(triples))}\n    float3 xformOp:scale = {text(draw(triples))}\n"
    ops = '    uniform token[] xformOpOrder = ["xformOp:translate", "xformOp:scale"]\n' if draw(st.booleans()) else ""
    applied = ", ".join(f'"{schema}"' for schema in dict.fromkeys(schemas or ["UnknownAPI"]))
    return (
        f'def {kind} "{name}" (prepend apiSchemas = [{applied}]) {{\n'
        f"{lines(draw, SHAPES[kind])}{mesh}{lines(draw, BODY)}{place}{ops}{inner}}}\n"
    )


BODY_SCHEMAS = [
    "PhysicsRigidBodyAPI",
    "PhysicsCollisionAPI",
    "PhysicsMassAPI",
    "PhysicsMeshCollisionAPI",
    "PhysicsArticulationRootAPI",
    "NewtonCollisionAPI",
    "NewtonMassAPI",
    "UnknownAPI",
]


@st.composite
def joints(draw, name: str) -> str:
    """Return a joint between anything."""
    kind = f"Physics{draw(st.sampled_from(JOINT_TYPES))}Joint"
    schemas = ["PhysicsDriveAPI:angular", "PhysicsLimitAPI:rotX", "NewtonJointAPI"]
    applied = ", ".join(f'"{schema}"' for schema in draw(st.lists(st.sampled_from(schemas), min_size=1, unique=True)))
    ends = "".join(f"    rel physics:body{side} = <{target}>\n" for side in (0, 1) if (target := draw(targets)))
    return f'def {kind} "{name}" (prepend apiSchemas = [{applied}]) {{\n{ends}{lines(draw, JOINT)}}}\n'


@st.composite
def stages(draw) -> str:
    """Return a small stage as text."""
    length, mass = (
        draw(st.sampled_from(["1"] * 8 + ["0.01"] * 4 + ["0"])),
        draw(st.sampled_from(["1"] * 8 + ["0.001"] * 4 + ["0"])),
    )
    up = draw(st.sampled_from("YZ"))
    head = f'#usda 1.0\n(\n metersPerUnit = {length}\n kilogramsPerUnit = {mass}\n upAxis = "{up}"\n)\n'
    inner = draw(bodies("Inner")) if draw(st.booleans()) else ""
    prims = [draw(bodies(name, inner if name == "A" else "")) for name in NAMES[: draw(st.integers(1, 4))]]
    prims += [draw(joints(f"J{i}")) for i in range(draw(st.integers(0, 3)))]
    scene = f'def PhysicsScene "Scene" {{\n    float physics:gravityMagnitude = {text(draw(numbers))}\n}}\n'
    return f'{head}def Xform "W" {{\n{"".join(prims)}{scene}}}\n'


@pytest.mark.slow
@settings(max_examples=300, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(source=stages())
def test_a_result_or_one_clear_error(tmp_path_factory, source):
    folder = tmp_path_factory.mktemp("random")
    path = folder / "stage.usda"
    path.write_text(source)
    done = run("bake", path, "-o", folder / "out.usda", "--frames", "3", "--fps", "60")
    assert "cannot be read" not in done.err, f"the test wrote no valid stage: {done.err}\n{source}"
    assert "Traceback" not in done.err
    assert "unexpected" not in done.err, f"{done.err}\n{source}"
    assert "please report" not in done.err, f"{done.err}\n{source}"
    assert done.code in (0, 1, 3), done.err
    if done.code == 0:
        assert Usd.Stage.Open(str(folder / "out.usda"))
    else:
        assert len(done.complaints) == 1
        assert (folder / "out.usda").exists() == (done.code == 3)
    try:
        usd_sim.load(path, device="cpu", strict=False)
    except UsdSimError:
        assert done.code == 1
