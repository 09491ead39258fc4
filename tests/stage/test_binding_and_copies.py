"""From rows to prims and back, also for copies of what was read; and what may stand where in a stage."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pxr import Sdf, Usd

from tests.stage.authoring import SINGLE, box, read, stage_of
from usd_sim.errors import UsdSimError
from usd_sim.model.binding import Binding
from usd_sim.model.builder import ModelBuilder
from usd_sim.model.fields import Frequency
from usd_sim.stage.compile import compile_stage
from usd_sim.stage.load import load

SCENE = (
    """def Material "M" (prepend apiSchemas = ["PhysicsMaterialAPI"]) { float physics:dynamicFriction = 0.25 }
def Material "Paint" { }
"""
    + box("A", "rel material:binding:physics = </M>", "MaterialBindingAPI")
    + box("B", "rel material:binding = </Paint>", "MaterialBindingAPI")
    + """def Cube "Wall" (prepend apiSchemas = ["PhysicsCollisionAPI", "MaterialBindingAPI"]) { double size = 1
    rel material:binding:physics = </M> }
def PhysicsRevoluteJoint "J" { rel physics:body0 = </A>; rel physics:body1 = </B> }
"""
)


def test_rows_lead_to_prims_and_back():
    result = read(SCENE)
    binding = result.model.binding
    for frequency in (Frequency.BODY, Frequency.SHAPE, Frequency.JOINT, Frequency.JOINT_DOF, Frequency.ARTICULATION):
        paths = binding.paths(frequency)
        assert len(paths) == result.model.counts[frequency]
        for row, path in enumerate(paths):
            assert binding.path(frequency, row) == path
            if path:
                assert row in binding.rows(frequency, path)
                assert result.stage.GetPrimAtPath(path)
    assert binding.rows("body", "/Nowhere") == []


def test_materials_lead_to_the_shapes_that_use_them():
    result = read(SCENE)
    shapes = {result.shape_path[row] for row in result.model.binding.rows("shape", "/M")}
    assert shapes == {"/A", "/Wall"}
    np.testing.assert_allclose(result.shape_material_mu[[result.shape("/A"), result.shape("/Wall")]], 0.25)
    assert result.shape_material_mu[result.shape("/B")] == 1.0


def test_copies_lead_to_the_same_prims():
    template, builder = ModelBuilder(), ModelBuilder()
    compile_stage(stage_of(SCENE), template)
    builder.replicate(template, 3, spacing=(5.0, 0.0, 0.0))
    model = builder.finalize("cpu", skip_validation_joints=True)
    binding = Binding(model)
    rows = binding.rows("body", "/A")
    assert len(rows) == 3
    assert model.body_world.numpy()[rows].tolist() == [0, 1, 2]
    np.testing.assert_allclose(np.diff(model.body_q.numpy()[rows][:, 0]), 5.0, rtol=SINGLE)
    assert len(binding.rows("shape", "/M")) == 6
    assert len(binding.rows("joint", "/J")) == 3


def test_two_stages_in_one_builder():
    builder = ModelBuilder()
    compile_stage(stage_of(SCENE), builder)
    compile_stage(stage_of(SCENE), builder)
    alone = read(SCENE)
    model = builder.finalize("cpu", skip_validation_joints=True)
    assert model.body_count == 2 * len(alone.body_path)
    assert model.joint_parent.numpy().max() == 2
    second = model.shape_collision_filter_pairs.numpy()[1]
    assert {model.shape_path[row] for row in second} == {"/A", "/B"}
    assert second.min() >= len(alone.shape_path)


@pytest.mark.parametrize("text", ["", 'def Xform "Empty" { }', 'def PhysicsScene "S" { }', 'def Cube "Visual" { }'])
def test_stages_without_physics_make_an_empty_model(text: str):
    result = read(text)
    assert len(result.body_path) == len(result.shape_path) == len(result.joint_path) == 0


def test_inactive_prims_abstract_prims_and_undefined_prims_are_not_there():
    text = box("A") + box("B").replace("prepend apiSchemas", "active = false\nprepend apiSchemas")
    text += box("C").replace('def Cube "C"', 'class Cube "C"') + box("D").replace('def Cube "D"', 'over Cube "D"')
    assert read(text).body_path == ["/A"]


def test_payloads_and_variants_are_composed():
    text = f"""def Xform "V" (variants = {{ string kind = "box" }}
    prepend variantSets = "kind") {{ variantSet "kind" = {{ "box" {{ {box("A")} }}
    "none" {{ }} }} }}"""
    assert read(text).body_path == ["/V/A"]


def test_reading_changes_nothing():
    stage = stage_of(SCENE)
    before = stage.GetRootLayer().ExportToString()
    read(stage)
    assert stage.GetRootLayer().ExportToString() == before
    assert not stage.GetSessionLayer().ExportToString().count("def ")


def test_edits_of_the_stage_are_seen_by_the_next_read():
    stage = stage_of(box("A", "float physics:mass = 3", "PhysicsMassAPI"))
    assert read(stage).body_mass.tolist() == [3.0]
    stage.GetPrimAtPath("/A").GetAttribute("physics:mass").Set(5.0)
    assert read(stage).body_mass.tolist() == [5.0]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("missing.usda", None, "no such file"),
        ("text.usda", "hello", "cannot be read"),
        ("scene.txt", "#usda 1.0", "is not a USD file"),
        ("binary.usdc", "hello", "cannot be read"),
        ("broken.usda", '#usda 1.0\ndef Xform "A" {\n', "cannot be read"),
    ],
)
def test_files_that_are_no_stages(tmp_path, name: str, content: str | None, message: str):
    path = tmp_path / name
    if content is not None:
        path.write_text(content)
    with pytest.raises(UsdSimError, match=message) as caught:
        load(path)
    assert "\n" not in str(caught.value)
    with pytest.raises(UsdSimError, match="folder"):
        load(tmp_path)


def test_schemas_and_materials_of_referenced_copies_are_read_alike():
    # prims made of the same specs are read once: overrides and retargeted relationships must still count
    stage = stage_of(f"""class Xform "Robot" {{ {box("A", "float physics:mass = 2", "PhysicsMassAPI")} }}
    def Xform "C0" (prepend references = </Robot>) {{ }}
    def Xform "C1" (prepend references = </Robot>) {{ over "A" {{ float physics:mass = 7 }} }}
    def Xform "C2" (prepend references = </Robot>) {{ }}""")
    result = read(stage)
    assert [result.body_mass[result.body(f"/C{i}/A")] for i in range(3)] == [2.0, 7.0, 2.0]


def test_samples_of_references_with_an_offset_are_read_at_their_own_time():
    source = Sdf.Layer.CreateAnonymous(".usda")
    source.ImportFromString("""#usda 1.0
(
 defaultPrim = "A"
)
def Cube "A" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsCollisionAPI"]) {
    vector3f physics:velocity.timeSamples = { 0: (0, 0, 0), 10: (10, 0, 0) }
}
""")
    stage = stage_of("")
    for i in range(2):
        prim = stage.DefinePrim(f"/C{i}")
        prim.GetReferences().AddReference(source.identifier, layerOffset=Sdf.LayerOffset(-5.0 * i))
    result = read(stage)
    np.testing.assert_allclose([result.body_qd[result.body(f"/C{i}")][0] for i in range(2)], [0.0, 5.0])


NAMES = st.sampled_from("ABCD")
JOINTS = (
    "PhysicsFixedJoint",
    "PhysicsRevoluteJoint",
    "PhysicsPrismaticJoint",
    "PhysicsSphericalJoint",
    "PhysicsJoint",
    "PhysicsDistanceJoint",
)


@settings(max_examples=60)
@given(
    flags=st.lists(st.tuples(st.booleans(), st.booleans(), st.booleans()), min_size=1, max_size=4),
    joints=st.lists(
        st.tuples(
            st.sampled_from(JOINTS), st.sampled_from(["", *"ABCD"]), st.sampled_from(["", *"ABCD"]), st.booleans()
        ),
        max_size=6,
    ),
    root=st.sampled_from(["", *"ABCD"]),
)
def test_any_graph_makes_a_valid_model_or_a_clear_error(flags, joints, root: str):
    text = ""
    for name, (kinematic, enabled, nested) in zip("ABCD", flags, strict=False):
        extra = f"bool physics:kinematicEnabled = {int(kinematic)}; bool physics:rigidBodyEnabled = {int(enabled)}"
        text += box(name, extra, "PhysicsArticulationRootAPI" if root == name else "")
        text += box(f"{name}{name}") if nested else ""
    for i, (kind, a, b, excluded) in enumerate(joints):
        sides = "".join(f"; rel physics:body{j} = </{x}>" for j, x in enumerate((a, b)) if x)
        text += f'\ndef {kind} "J{i}" {{ bool physics:excludeFromArticulation = {int(excluded)}{sides} }}\n'
    try:
        result = read(text)
    except UsdSimError:
        # what cannot be read has errors on prims, of one line each
        errors = compile_stage(stage_of(text), ModelBuilder())[1].errors
        assert errors
        assert all(error.prim.startswith("/") and "\n" not in str(error) for error in errors)
        return
    tree = result.joint_articulation >= 0
    held = result.joint_child[tree]
    assert sorted(held.tolist()) == list(range(len(result.body_path))), "every body hangs on one tree joint"
    kinematic = (result.body_flags[held] & 1) != 0
    assert not np.any(kinematic & (result.joint_parent[tree] >= 0)), "kinematic bodies are roots"
    assert np.all(result.joint_child >= 0)
    acting = [row for row, path in enumerate(result.joint_path) if path]
    said = {entry.prim for entry in [*result.report.ignored, *result.report.errors]}
    authored = {f"/J{i}" for i in range(len(joints))}
    assert {result.joint_path[row] for row in acting} | said >= authored, "no joint vanishes"


def test_calls_into_usd_do_not_grow_with_copies_of_an_asset(monkeypatch):
    """Prims made of the same specs are read once, however many there are."""

    def reads(count: int) -> int:
        stage = stage_of(f'class Xform "Robot" {{ {box("A", "float physics:mass = 2", "PhysicsMassAPI")} }}')
        for i in range(count):
            stage.DefinePrim(f"/C{i}").GetReferences().AddInternalReference("/Robot")
        calls = 0
        original = Usd.Attribute.Get

        def counted(self, *arguments):
            nonlocal calls
            calls += 1
            return original(self, *arguments)

        with monkeypatch.context() as patch:
            patch.setattr(Usd.Attribute, "Get", counted)
            assert len(read(stage).body_path) == count
        return calls

    assert reads(20) == reads(2)
