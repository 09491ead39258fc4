"""Bodies in scene-graph instances move, and only the instances around them are opened."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from pxr import Gf, Sdf, Usd, UsdGeom
from record.instancing import (
    MOTION_TOLERANCE,
    add_instancer,
    box,
    collider,
    instance_matrices,
    new_stage,
    pendulum,
    prim_matrices,
    spread,
)

from usd_sim import bake, load

FRAMES = 48
"""Two seconds at 24 frames per second."""


def _refer(stage: Usd.Stage, path: str, target: str, place: tuple[float, float, float], *, instance: bool) -> Usd.Prim:
    xform = UsdGeom.Xform.Define(stage, path)
    xform.AddTranslateOp().Set(Gf.Vec3d(*place))
    xform.GetPrim().GetReferences().AddInternalReference(target)
    xform.GetPrim().SetInstanceable(instance)
    return xform.GetPrim()


def _scene(path: Path, *, instance: bool) -> Usd.Stage:
    """Two carts that each hold two pendulums, by nested references, and a shelf that stands still."""
    stage = new_stage(path)
    for name, define in (("pendulum", pendulum), ("shelf", collider)):
        stage.CreateClassPrim(f"/_{name}")
        define(stage, f"/_{name}/it")
        stage.GetPrimAtPath(f"/_{name}/it").SetSpecifier(Sdf.SpecifierDef)
    stage.CreateClassPrim("/_cart")
    for i in range(2):
        _refer(stage, f"/_cart/pendulum{i}", "/_pendulum", (0.0, 1.5 * i, 0.0), instance=instance)
        _refer(stage, f"/World/cart{i}", "/_cart", (3.0 * i, 0.0, 2.0), instance=instance)
        _refer(stage, f"/World/shelf{i}", "/_shelf", (3.0 * i, 9.0, 1.0), instance=instance)
    stage.Save()
    return stage


def _links() -> list[str]:
    return [
        f"/World/cart{cart}/pendulum{i}/it/{link}" for cart in range(2) for i in range(2) for link in ("upper", "lower")
    ]


def test_nested_instances_move_as_what_they_are(tmp_path: Path) -> None:
    results = []
    for name, instance in (("a", True), ("b", False)):
        stage = _scene(tmp_path / name / "source.usda", instance=instance)
        model = load(stage)
        assert sorted(model.body_path) == sorted(_links())
        assert model.body_instance.numpy().tolist() == [-1] * 8
        output = bake(stage, tmp_path / name / "out.usda", frames=FRAMES).output
        results.append(Usd.Stage.Open(output))
    for time in range(0, FRAMES + 1, 8):
        moved = [prim_matrices(stage, _links(), float(time)) for stage in results]
        np.testing.assert_allclose(moved[0], moved[1], rtol=0, atol=MOTION_TOLERANCE)
    assert (moved[0][:, 3, 2] < prim_matrices(results[0], _links(), 0.0)[:, 3, 2] - 0.5).all()


def test_only_what_moves_is_opened(tmp_path: Path) -> None:
    stage = _scene(tmp_path / "source.usda", instance=True)
    result = Usd.Stage.Open(bake(stage, tmp_path / "out.usda", frames=2).output)
    for path, is_instance in (
        ("/World/cart0", False),
        ("/World/cart1/pendulum0", False),
        ("/World/shelf0", True),
        ("/World/shelf1", True),
    ):
        assert result.GetPrimAtPath(path).IsInstance() == is_instance, path


def test_overrides_from_outside_of_an_instance_reach_its_bodies(tmp_path: Path) -> None:
    """USD lets only the arcs of an instance itself speak of what is in it, such as the classes that it inherits."""
    stage = _scene(tmp_path / "source.usda", instance=True)
    stage.CreateClassPrim("/_heavy")
    light = stage.OverridePrim("/_heavy/it/upper")
    light.CreateAttribute("physics:mass", Sdf.ValueTypeNames.Float).Set(42.0)
    light.AddAppliedSchema("PhysicsMassAPI")
    stage.GetPrimAtPath("/_cart/pendulum0").GetInherits().AddInherit("/_heavy")
    model = load(stage)
    mass = dict(zip(model.body_path, model.body_mass.numpy().tolist(), strict=True))
    assert [mass[f"/World/cart{i}/pendulum0/it/upper"] for i in range(2)] == [42.0, 42.0]
    assert mass["/World/cart0/pendulum1/it/upper"] != 42.0


def _shared_rain(stage: Usd.Stage, define: Callable[[Usd.Stage, str], None]) -> None:
    stage.CreateClassPrim("/_rain")
    add_instancer(stage, "/_rain/Inst", [define], spread(3))
    for path in ("/_rain/Inst", "/_rain/Inst/Protos", "/_rain/Inst/Protos/p0"):
        stage.GetPrimAtPath(path).SetSpecifier(Sdf.SpecifierDef)
    for i in range(2):
        _refer(stage, f"/World/rain{i}", "/_rain", (0.0, 4.0 * i, 0.5 * i), instance=True)
    stage.Save()


def test_point_instancers_in_scene_graph_instances(tmp_path: Path) -> None:
    stage = new_stage(tmp_path / "source.usda", ground=False)
    _shared_rain(stage, box)
    model = load(stage)
    assert [model.binding.rows("body", f"/World/rain{i}/Inst") for i in range(2)] == [[0, 1, 2], [3, 4, 5]]
    result = Usd.Stage.Open(bake(stage, tmp_path / "out.usda", frames=24).output)
    for i in range(2):
        start, end = (instance_matrices(result, f"/World/rain{i}/Inst", time)[:, 3, :3] for time in (0.0, 24.0))
        np.testing.assert_allclose(start, model.body_q.numpy()[3 * i : 3 * i + 3, :3], atol=MOTION_TOLERANCE)
        # one second of free fall, within the integrator's own error
        np.testing.assert_allclose(end - start, np.tile([0.0, 0.0, -9.81 / 2], (3, 1)), rtol=0.01, atol=1e-4)


def test_instances_of_several_bodies_in_scene_graph_instances(tmp_path: Path) -> None:
    stage = new_stage(tmp_path / "source.usda", ground=False)
    _shared_rain(stage, pendulum)
    result = Usd.Stage.Open(bake(stage, tmp_path / "out.usda", frames=24).output)
    paths = [f"/World/rain{i}/Inst_instances/i{j}/p0/upper" for i in range(2) for j in range(3)]
    start, end = (prim_matrices(result, paths, time)[:, 3, 2] for time in (0.0, 24.0))
    assert (start - end > 4.0).all()
