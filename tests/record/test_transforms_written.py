"""Poses reach the prims through every kind of transform stack, parent and instance."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pxr import Gf, Sdf, Usd, UsdGeom
from record.recording import assert_moves, random_motion, record, save_stage, specs_below, world_matrices

from usd_sim.errors import UsdSimError
from usd_sim.record import Recorder

ROTATION = Gf.Rotation(Gf.Vec3d(1, 2, 3), 70.0)


def _quat(kind: type) -> object:
    return kind(ROTATION.GetQuat())


def _translate_orient_scale(x: UsdGeom.Xform) -> None:
    x.AddTranslateOp().Set(Gf.Vec3d(1, 2, 3))
    x.AddOrientOp().Set(_quat(Gf.Quatf))
    x.AddScaleOp().Set(Gf.Vec3f(2, 3, 4))


def _float_translate_double_orient(x: UsdGeom.Xform) -> None:
    x.AddTranslateOp(UsdGeom.XformOp.PrecisionFloat).Set(Gf.Vec3f(1, 2, 3))
    x.AddOrientOp(UsdGeom.XformOp.PrecisionDouble).Set(_quat(Gf.Quatd))


def _half_everything(x: UsdGeom.Xform) -> None:
    half = UsdGeom.XformOp.PrecisionHalf
    x.AddTranslateOp(half).Set(Gf.Vec3h(1, 2, 3))
    x.AddOrientOp(half).Set(Gf.Quath(1))
    x.AddScaleOp(half).Set(Gf.Vec3h(1, 2, 4))


def _rotate_xyz_and_scale(x: UsdGeom.Xform) -> None:
    x.AddTranslateOp().Set(Gf.Vec3d(1, 2, 3))
    x.AddRotateXYZOp().Set(Gf.Vec3f(10, 20, 30))
    x.AddScaleOp(UsdGeom.XformOp.PrecisionDouble).Set(Gf.Vec3d(0.1, 0.2, 0.3))


def _scale_first(x: UsdGeom.Xform) -> None:
    x.AddScaleOp().Set(Gf.Vec3f(2, 2, 2))
    x.AddTranslateOp().Set(Gf.Vec3d(1, 2, 3))
    x.AddRotateZOp().Set(30.0)


def _pivot(x: UsdGeom.Xform) -> None:
    x.AddTranslateOp().Set(Gf.Vec3d(1, 2, 3))
    x.AddTranslateOp(opSuffix="pivot").Set(Gf.Vec3d(0.5, 0.25, 0))
    x.AddRotateZYXOp().Set(Gf.Vec3f(10, 20, 30))
    x.AddScaleOp().Set(Gf.Vec3f(1, 2, 3))
    x.AddTranslateOp(opSuffix="pivot", isInverseOp=True)


def _matrix(x: UsdGeom.Xform) -> None:
    matrix = Gf.Matrix4d(1).SetScale(Gf.Vec3d(3, 2, 1)) * Gf.Matrix4d(ROTATION, Gf.Vec3d(1, 2, 3))
    x.AddTransformOp().Set(matrix)


def _mirrored_matrix(x: UsdGeom.Xform) -> None:
    matrix = Gf.Matrix4d(1).SetScale(Gf.Vec3d(1, 1, -1)) * Gf.Matrix4d(ROTATION, Gf.Vec3d(1, 2, 3))
    x.AddTransformOp().Set(matrix)


def _negative_scale(x: UsdGeom.Xform) -> None:
    x.AddRotateXOp().Set(40.0)
    x.AddScaleOp().Set(Gf.Vec3f(1, -2, 3))


def _reset(x: UsdGeom.Xform) -> None:
    x.SetResetXformStack(True)
    x.AddRotateYOp().Set(40.0)


def _named_scale(x: UsdGeom.Xform) -> None:
    x.AddOrientOp().Set(_quat(Gf.Quatf))
    x.AddScaleOp(opSuffix="size").Set(Gf.Vec3f(1, 2, 3))


def _inverse_scale(x: UsdGeom.Xform) -> None:
    x.AddScaleOp(opSuffix="size").Set(Gf.Vec3f(2, 4, 8))
    x.AddTranslateOp().Set(Gf.Vec3d(1, 2, 3))
    x.AddScaleOp(opSuffix="size", isInverseOp=True)
    x.AddScaleOp().Set(Gf.Vec3f(2, 1, 1))


def _nothing(x: UsdGeom.Xform) -> None:
    """No ops at all."""


def _animated(x: UsdGeom.Xform) -> None:
    translate = x.AddTranslateOp()
    translate.Set(Gf.Vec3d(9, 9, 9))
    for time in range(100):
        translate.Set(Gf.Vec3d(time, 0, 0), time + 0.5)


STACKS = [
    _translate_orient_scale,
    _float_translate_double_orient,
    _half_everything,
    _rotate_xyz_and_scale,
    _scale_first,
    _pivot,
    _matrix,
    _mirrored_matrix,
    _negative_scale,
    _reset,
    _named_scale,
    _inverse_scale,
    _nothing,
    _animated,
]


@pytest.mark.parametrize("stack", STACKS, ids=lambda stack: stack.__name__.strip("_"))
@pytest.mark.parametrize("nested", [False, True], ids=["top", "below_turned_parent"])
def test_every_op_stack_takes_the_pose_and_keeps_its_size(stack, nested, tmp_path: Path):
    def author(stage: Usd.Stage) -> None:
        parent = UsdGeom.Xform.Define(stage, "/World")
        if nested:
            parent.AddTranslateOp().Set(Gf.Vec3d(5, -3, 1))
            parent.AddRotateXYZOp().Set(Gf.Vec3f(30, 40, 50))
            parent.AddScaleOp().Set(Gf.Vec3f(0.5))
        stack(UsdGeom.Xform.Define(stage, "/World/body"))

    stage = save_stage(tmp_path, author)
    poses = random_motion(1, 5)
    result = record(stage, ["/World/body"], tmp_path / "out.usda", poses)
    assert_moves(stage, result.root, ["/World/body"], poses)
    assert result.samples == 5
    assert result.notes == []


def test_plain_ops_keep_their_names_types_and_order(tmp_path: Path):
    stage = save_stage(tmp_path, lambda s: _translate_orient_scale(UsdGeom.Xform.Define(s, "/body")))
    result = record(stage, ["/body"], tmp_path / "out.usda", random_motion(1, 3))
    layer = Sdf.Layer.FindOrOpen(str(result.results[0]))
    body = layer.GetPrimAtPath("/body")
    assert {spec.name for spec in body.properties} == {"xformOp:translate", "xformOp:orient"}
    assert body.specifier == Sdf.SpecifierOver
    assert not any(spec.HasDefaultValue() for spec in body.attributes)


@pytest.mark.parametrize(
    ("stack", "translate", "orient"),
    [
        (_float_translate_double_orient, ("xformOp:translate", "float3"), ("xformOp:orient", "quatd")),
        (_half_everything, ("xformOp:translate:recorded", "double3"), ("xformOp:orient:recorded", "quatf")),
        (_nothing, ("xformOp:translate", "double3"), ("xformOp:orient", "quatf")),
    ],
)
def test_existing_op_types_are_not_contradicted(stack, translate, orient, tmp_path: Path):
    stage = save_stage(tmp_path, lambda s: stack(UsdGeom.Xform.Define(s, "/body")))
    result = record(stage, ["/body"], tmp_path / "out.usda", random_motion(1, 3))
    opened = Usd.Stage.Open(str(result.root))
    ops = UsdGeom.Xformable(opened.GetPrimAtPath("/body")).GetOrderedXformOps()
    assert [(op.GetOpName(), str(op.GetAttr().GetTypeName())) for op in ops[:2]] == [translate, orient]


def test_replaced_order_keeps_reset_and_authored_scale_op(tmp_path: Path):
    def author(stage: Usd.Stage) -> None:
        UsdGeom.Xform.Define(stage, "/World").AddTranslateOp().Set(Gf.Vec3d(100, 0, 0))
        body = UsdGeom.Xform.Define(stage, "/World/body")
        _rotate_xyz_and_scale(body)
        body.SetResetXformStack(True)

    stage = save_stage(tmp_path, author)
    result = record(stage, ["/World/body"], tmp_path / "out.usda", random_motion(1, 3))
    opened = Usd.Stage.Open(str(result.root))
    order = opened.GetPrimAtPath("/World/body").GetAttribute("xformOpOrder").Get()
    assert list(order) == ["!resetXformStack!", "xformOp:translate", "xformOp:orient", "xformOp:scale"]
    layer = Sdf.Layer.FindOrOpen(str(result.results[0]))
    assert layer.GetAttributeAtPath("/World/body.xformOp:scale") is None


def test_authored_shear_is_dropped_with_a_note(tmp_path: Path):
    shear = Gf.Matrix4d(1, 0, 0, 0, 0.5, 1, 0, 0, 0, 0, 1, 0, 1, 2, 3, 1)
    stage = save_stage(tmp_path, lambda s: UsdGeom.Xform.Define(s, "/body").AddTransformOp().Set(shear))
    poses = random_motion(1, 3)
    result = record(stage, ["/body"], tmp_path / "out.usda", poses)
    assert [note for note in result.notes if note.startswith("/body") and "shear" in note]
    actual = world_matrices(Usd.Stage.Open(str(result.root)), ["/body"], 2.0)[0]
    np.testing.assert_allclose(actual[3, :3], poses[2, 0, :3], atol=1e-9)  # double3 keeps positions


PARENTS = {
    "uniform": (Gf.Vec3f(2, 2, 2), True),
    "mirrored": (Gf.Vec3f(-2, 2, 2), True),
    "mirrored_all": (Gf.Vec3f(-1, -1, -1), True),
    "half_turn": (Gf.Vec3f(-1, -1, 1), True),
    "uneven": (Gf.Vec3f(1, 2, 3), False),
}


@pytest.mark.parametrize("name", PARENTS)
def test_scaled_and_mirrored_parents(name: str, tmp_path: Path):
    scale, exact = PARENTS[name]

    def author(stage: Usd.Stage) -> None:
        parent = UsdGeom.Xform.Define(stage, "/World")
        parent.AddTranslateOp().Set(Gf.Vec3d(1, -1, 2))
        parent.AddRotateZOp().Set(25.0)
        parent.AddScaleOp().Set(scale)
        for index, stack in enumerate((_translate_orient_scale, _negative_scale, _nothing)):
            stack(UsdGeom.Xform.Define(stage, f"/World/body_{index}"))

    # a body that is unevenly scaled along its own axes shears under an unevenly scaled parent from the start
    paths = [f"/World/body_{index}" for index in range(3)]
    stage = save_stage(tmp_path, author)
    poses = random_motion(3, 4)
    result = record(stage, paths, tmp_path / "out.usda", poses)
    if exact:
        assert_moves(stage, result.root, paths, poses)
        assert result.notes == []
        return
    assert {note.split(":")[0] for note in result.notes} == set(paths)
    opened = Usd.Stage.Open(str(result.root))
    for index in range(4):
        actual = world_matrices(opened, paths, index)[:, 3, :3]
        np.testing.assert_allclose(actual, poses[index, :, :3], rtol=0, atol=1e-9)  # double3 keeps positions


@pytest.mark.parametrize("scale", [1.0, 2.5], ids=["plain", "scaled"])
def test_nested_bodies_with_a_turned_prim_between(scale: float, tmp_path: Path):
    def author(stage: Usd.Stage) -> None:
        UsdGeom.Xform.Define(stage, "/World").AddRotateXOp().Set(90.0)
        _rotate_xyz_and_scale(UsdGeom.Xform.Define(stage, "/World/other"))
        a = UsdGeom.Xform.Define(stage, "/World/a")
        a.AddTranslateOp().Set(Gf.Vec3d(1, 0, 0))
        a.AddScaleOp().Set(Gf.Vec3f(scale))
        between = UsdGeom.Xform.Define(stage, "/World/a/between")
        between.AddTranslateOp().Set(Gf.Vec3d(0, 1, 0))
        between.AddRotateYOp().Set(30.0)
        _translate_orient_scale(UsdGeom.Xform.Define(stage, "/World/a/between/b"))
        UsdGeom.Xform.Define(stage, "/World/a/between/c").AddRotateXOp().Set(30.0)
        UsdGeom.Xform.Define(stage, "/World/a/between/c/d").AddTranslateOp().Set(Gf.Vec3d(1, 1, 1))

    stage = save_stage(tmp_path, author)
    # children listed before their parents
    paths = ["/World/a/between/c/d", "/World/a/between/b", "/World/a", "/World/a/between/c", "/World/other"]
    poses = random_motion(5, 6)
    result = record(stage, paths, tmp_path / "out.usda", poses)
    assert_moves(stage, result.root, paths, poses)
    assert result.notes == []


def test_child_stays_right_below_a_body_whose_shear_could_not_be_kept(tmp_path: Path):
    def author(stage: Usd.Stage) -> None:
        UsdGeom.Xform.Define(stage, "/World").AddScaleOp().Set(Gf.Vec3f(1, 1, 3))
        UsdGeom.Xform.Define(stage, "/World/a")
        UsdGeom.Xform.Define(stage, "/World/a/b").AddTranslateOp().Set(Gf.Vec3d(1, 0, 0))

    stage = save_stage(tmp_path, author)
    paths = ["/World/a", "/World/a/b"]
    poses = random_motion(2, 3)
    opened = Usd.Stage.Open(str(record(stage, paths, tmp_path / "out.usda", poses).root))
    for index in range(3):
        actual = world_matrices(opened, paths, index)[:, 3, :3]
        # the parent's orientation is quatf
        np.testing.assert_allclose(actual, poses[index, :, :3], rtol=0, atol=1e-5)


def test_animated_ancestors_are_followed(tmp_path: Path):
    def author(stage: Usd.Stage) -> None:
        spin = UsdGeom.Xform.Define(stage, "/Platform").AddRotateZOp()
        for time in range(11):
            spin.Set(9.0 * time * time, time)
        UsdGeom.Xform.Define(stage, "/Platform/still").AddTranslateOp().Set(Gf.Vec3d(0, 0, 1))
        _translate_orient_scale(UsdGeom.Xform.Define(stage, "/Platform/still/body"))
        wobble = UsdGeom.Xform.Define(stage, "/Platform/still/body/wobble").AddTranslateOp()
        wobble.Set(Gf.Vec3d(0, 0, 0), 0)
        wobble.Set(Gf.Vec3d(10, 0, 0), 10)
        UsdGeom.Xform.Define(stage, "/Platform/still/body/wobble/reset").SetResetXformStack(True)

    stage = save_stage(tmp_path, author)
    paths = ["/Platform/still/body", "/Platform/still/body/wobble/reset"]
    poses = random_motion(2, 8)
    result = record(stage, paths, tmp_path / "out.usda", poses)
    assert_moves(stage, result.root, paths, poses)


def test_animated_prim_between_nested_bodies(tmp_path: Path):
    def author(stage: Usd.Stage) -> None:
        UsdGeom.Xform.Define(stage, "/a").AddScaleOp().Set(Gf.Vec3f(2))
        slide = UsdGeom.Xform.Define(stage, "/a/slide").AddTranslateOp()
        for time in range(6):
            slide.Set(Gf.Vec3d(time, time * time, 0), time)
        UsdGeom.Xform.Define(stage, "/a/slide/b").AddRotateXOp().Set(10.0)

    stage = save_stage(tmp_path, author)
    poses = random_motion(2, 6)
    result = record(stage, ["/a", "/a/slide/b"], tmp_path / "out.usda", poses)
    assert_moves(stage, result.root, ["/a", "/a/slide/b"], poses)


@pytest.mark.parametrize("levels", [1, 2])
def test_bodies_inside_instances_move_and_only_their_instances_open(levels: int, tmp_path: Path):
    asset = save_stage(
        tmp_path, lambda s: _translate_orient_scale(UsdGeom.Xform.Define(s, "/Robot/arm/link")), name="robot.usda"
    )
    asset.SetDefaultPrim(asset.GetPrimAtPath("/Robot"))
    asset.Save()

    def author_cell(stage: Usd.Stage) -> None:
        robot = UsdGeom.Xform.Define(stage, "/Cell/robot")
        robot.AddRotateZOp().Set(30.0)
        robot.GetPrim().GetReferences().AddReference("./robot.usda")
        robot.GetPrim().SetInstanceable(True)
        stage.SetDefaultPrim(stage.GetPrimAtPath("/Cell"))

    save_stage(tmp_path, author_cell, name="cell.usda")

    def author(stage: Usd.Stage) -> None:
        for name in ("left", "right", "idle"):
            prim = UsdGeom.Xform.Define(stage, f"/World/{name}")
            prim.AddTranslateOp().Set(Gf.Vec3d(len(name), 0, 0))
            prim.GetPrim().GetReferences().AddReference("./robot.usda" if levels == 1 else "./cell.usda")
            prim.GetPrim().SetInstanceable(True)

    stage = save_stage(tmp_path, author)
    tail = "arm/link" if levels == 1 else "robot/arm/link"
    paths = [f"/World/left/{tail}", f"/World/right/{tail}"]
    poses = random_motion(2, 3)
    result = record(stage, paths, tmp_path / "out.usda", poses)
    opened = assert_moves(stage, result.root, paths, poses)
    assert opened.GetPrimAtPath("/World/idle").IsInstance()
    layer = Sdf.Layer.FindOrOpen(str(result.results[0]))
    opening = {str(spec.path) for spec in specs_below(layer) if spec.HasInfo("instanceable")}
    extra = {f"/World/{name}/robot" for name in ("left", "right")} if levels == 2 else set()
    assert opening == {"/World/left", "/World/right"} | extra
    assert all(spec.specifier == Sdf.SpecifierOver for spec in specs_below(layer))


def test_an_instance_that_is_itself_the_body_stays_an_instance(tmp_path: Path):
    save_stage(tmp_path, lambda s: UsdGeom.Xform.Define(s, "/Ball/geometry"), name="ball.usda")

    def author(stage: Usd.Stage) -> None:
        ball = UsdGeom.Xform.Define(stage, "/ball").GetPrim()
        ball.GetReferences().AddReference("./ball.usda", "/Ball")
        ball.SetInstanceable(True)

    stage = save_stage(tmp_path, author)
    poses = random_motion(1, 3)
    result = record(stage, ["/ball"], tmp_path / "out.usda", poses)
    assert assert_moves(stage, result.root, ["/ball"], poses).GetPrimAtPath("/ball").IsInstance()


@pytest.mark.parametrize(("meters", "up"), [(0.01, "Y"), (0.0254, "Z"), (1000.0, "Y")])
def test_units_and_up_axis_are_the_stage_s_own(meters: float, up: str, tmp_path: Path):
    def author(stage: Usd.Stage) -> None:
        UsdGeom.SetStageMetersPerUnit(stage, meters)
        UsdGeom.SetStageUpAxis(stage, up)
        UsdGeom.Xform.Define(stage, "/body")

    stage = save_stage(tmp_path, author)
    poses = random_motion(1, 3)
    result = record(stage, ["/body"], tmp_path / "out.usda", poses)
    opened = assert_moves(stage, result.root, ["/body"], poses)
    assert UsdGeom.GetStageUpAxis(opened) == up
    position = opened.GetPrimAtPath("/body").GetAttribute("xformOp:translate").Get(1)
    np.testing.assert_allclose(np.array(position) * meters, poses[1, 0, :3], rtol=1e-12)  # doubles throughout


def test_quaternions_keep_their_sign_from_sample_to_sample(tmp_path: Path):
    stage = save_stage(tmp_path, lambda s: UsdGeom.Xform.Define(s, "/body"))
    angles = np.linspace(0.0, 6 * np.pi, 200)
    poses = np.zeros((200, 1, 7))
    poses[:, 0, 5], poses[:, 0, 6] = np.sin(angles / 2), np.cos(angles / 2)
    # every solver may hand out either sign
    poses[:, :, 3:] *= np.where(np.random.default_rng(1).random(200) < 0.5, -1.0, 1.0)[:, None, None]
    result = record(stage, ["/body"], tmp_path / "out.usda", poses)
    opened = Usd.Stage.Open(str(result.root))
    orient = opened.GetPrimAtPath("/body").GetAttribute("xformOp:orient")
    values = np.array([[q.GetReal(), *q.GetImaginary()] for q in map(orient.Get, range(200))])
    assert np.all(np.sum(values[1:] * values[:-1], axis=1) > 0.9)
    assert values[0, 0] > 0.0


def test_random_sign_does_not_change_interpolated_poses(tmp_path: Path):
    stage = save_stage(tmp_path, lambda s: UsdGeom.Xform.Define(s, "/body"))
    poses = np.zeros((2, 1, 7))
    poses[0, 0, 6] = 1.0
    poses[1, 0, 5:] = -np.sin(0.2), -np.cos(0.2)
    result = record(stage, ["/body"], tmp_path / "out.usda", poses)
    opened = Usd.Stage.Open(str(result.root))
    middle = opened.GetPrimAtPath("/body").GetAttribute("xformOp:orient").Get(0.5)
    assert middle.GetReal() == pytest.approx(np.cos(0.1), abs=1e-6)  # quatf


@pytest.mark.parametrize("path", ["/missing", "not a path", "/"])
def test_unknown_prims_are_named(path: str, tmp_path: Path):
    stage = save_stage(tmp_path, lambda s: UsdGeom.Xform.Define(s, "/body"))
    with pytest.raises(UsdSimError, match="no such prim") as caught:
        Recorder(stage, [path], output=tmp_path / "out.usda", frames=1, fps=24)
    assert caught.value.prim == path
    assert sorted(file.name for file in tmp_path.iterdir()) == ["source.usda"]


def test_prims_without_transform_and_repeated_prims_are_refused(tmp_path: Path):
    stage = save_stage(tmp_path, lambda s: (UsdGeom.Xform.Define(s, "/body"), UsdGeom.Scope.Define(s, "/scope")))
    with pytest.raises(UsdSimError, match="no transform"):
        Recorder(stage, ["/scope"], output=tmp_path / "out.usda", frames=1, fps=24)
    with pytest.raises(UsdSimError, match="twice"):
        Recorder(stage, ["/body", "/body"], output=tmp_path / "out.usda", frames=1, fps=24)


def test_a_parent_scaled_to_nothing_is_told(tmp_path: Path):
    def author(stage: Usd.Stage) -> None:
        UsdGeom.Xform.Define(stage, "/World").AddScaleOp().Set(Gf.Vec3f(0, 1, 1))
        UsdGeom.Xform.Define(stage, "/World/body")

    stage = save_stage(tmp_path, author)
    result = record(stage, ["/World/body"], tmp_path / "out.usda", random_motion(1, 3))
    assert [note for note in result.notes if note.startswith("/World/body") and "nothing" in note]


def test_a_body_scaled_to_nothing_along_an_axis_still_moves(tmp_path: Path):
    def author(stage: Usd.Stage) -> None:
        UsdGeom.Xform.Define(stage, "/World").AddRotateXOp().Set(30.0)
        body = UsdGeom.Xform.Define(stage, "/World/body")
        body.AddRotateZOp().Set(20.0)
        body.AddScaleOp().Set(Gf.Vec3f(1, 2, 0))

    stage = save_stage(tmp_path, author)
    poses = random_motion(1, 3)
    result = record(stage, ["/World/body"], tmp_path / "out.usda", poses)
    assert_moves(stage, result.root, ["/World/body"], poses)


@settings(max_examples=30)
@given(data=st.data())
def test_random_hierarchies(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory):
    """Any tree of prims with even scales and mirrors, some of them bodies, some animated, some reset."""
    folder = tmp_path_factory.mktemp("tree")
    count = data.draw(st.integers(1, 7))
    parents = [data.draw(st.integers(-1, index - 1)) for index in range(count)]
    bodies = data.draw(st.lists(st.integers(0, count - 1), min_size=1, unique=True))
    seed = data.draw(st.integers(0, 1000))
    paths: list[str] = []

    def author(stage: Usd.Stage) -> None:
        rng = np.random.default_rng(seed)
        for index, parent in enumerate(parents):
            paths.append(f"{paths[parent] if parent >= 0 else ''}/prim_{index}")
            xform = UsdGeom.Xform.Define(stage, paths[-1])
            translate = xform.AddTranslateOp()
            translate.Set(Gf.Vec3d(*rng.normal(size=3).tolist()))
            if rng.random() < 0.3:
                translate.Set(Gf.Vec3d(*rng.normal(size=3).tolist()), 0)
                translate.Set(Gf.Vec3d(*rng.normal(size=3).tolist()), 3)
            xform.AddRotateXYZOp().Set(Gf.Vec3f(*rng.uniform(-180, 180, 3).tolist()))
            size = float(rng.uniform(0.5, 2.0))
            xform.AddScaleOp().Set(Gf.Vec3f(size * float(rng.choice([-1, 1])), size, size))
            xform.SetResetXformStack(bool(rng.random() < 0.1))

    stage = save_stage(folder, author)
    chosen = [paths[index] for index in bodies]
    poses = random_motion(len(chosen), 4, seed)
    result = record(stage, chosen, folder / "out.usda", poses)
    assert_moves(stage, result.root, chosen, poses)
    assert result.notes == []


def test_real_assets_take_any_pose(assets: Path, tmp_path: Path):
    files = [*sorted((assets / "usd").rglob("*.usd*")), *sorted((assets / "mjcf").glob("*/*.usd*"))]
    recorded = 0
    for number, file in enumerate(files):
        stage = Usd.Stage.Open(str(file))
        prims = stage.Traverse(Usd.TraverseInstanceProxies())
        paths = [str(prim.GetPath()) for prim in prims if "PhysicsRigidBodyAPI" in prim.GetAppliedSchemas()]
        if not paths:
            continue
        before = file.read_bytes()
        poses = random_motion(len(paths), 3, number)
        start = stage.GetStartTimeCode()
        result = record(stage, paths, tmp_path / f"{number}.usda", poses)
        if not [note for note in result.notes if "unevenly" in note]:
            times = [start + index for index in range(3)]
            assert_moves(stage, result.root, paths, poses, times)
        assert file.read_bytes() == before
        recorded += 1
    assert recorded > 10
