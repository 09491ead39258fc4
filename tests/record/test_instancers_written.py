"""Motion of instances is written as the instancer's own arrays; what stock USD makes of them is the motion of prims."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pxr import Gf, Sdf, Usd, UsdGeom, UsdPhysics
from record.instancing import (
    MOTION_TOLERANCE,
    SINGLE,
    Places,
    add_instancer,
    add_prims,
    box,
    instance_matrices,
    new_stage,
    pendulum,
    prim_matrices,
    spread,
)
from record.recording import expected_matrices, specs_below

from usd_sim import Simulation, bake, load
from usd_sim.geometry import transforms as tf
from usd_sim.record import BodyOrigins, Recorder

FRAMES = 48
"""Two seconds at 24 frames per second."""

HALF = 1.0e-3
"""Half precision of components of about 1."""


def _baked(stage: Usd.Stage, output: Path, **options: Any) -> Usd.Stage:
    stage.Save()
    options.setdefault("frames", FRAMES)
    return Usd.Stage.Open(str(bake(stage.GetRootLayer().realPath, output, **options).output))


def _same_motion(a: Callable[[float], np.ndarray], b: Callable[[float], np.ndarray], unit: float = 1.0) -> None:
    """Check places in metres, and axes, at every sixth frame."""
    for time in range(0, FRAMES + 1, 6):
        first, second = a(float(time)), b(float(time))
        np.testing.assert_allclose(first[:, 3, :3] * unit, second[:, 3, :3] * unit, rtol=0, atol=MOTION_TOLERANCE)
        np.testing.assert_allclose(first[:, :3, :3], second[:, :3, :3], rtol=0, atol=10 * MOTION_TOLERANCE)


def _dressed(stage: Usd.Stage) -> None:
    """Turn, mirror and move the world prim."""
    world = UsdGeom.Xform(stage.GetPrimAtPath("/World"))
    world.AddTranslateOp().Set((0.5, 0.25, 0.0))
    world.AddRotateZOp().Set(40.0)
    world.AddScaleOp().Set((-1.0, 1.0, 1.0))


@pytest.mark.parametrize("dress", [None, _dressed], ids=["plain", "turned and mirrored"])
def test_same_motion_as_prims(tmp_path: Path, dress: Callable[[Usd.Stage], None] | None) -> None:
    places = spread(5)
    places.scales = np.array([[1.0] * 3, [1.5] * 3, [0.75] * 3, [1.0] * 3, [-1.0, 1.0, 1.0]])

    def prototype(stage: Usd.Stage, path: str) -> None:
        box(stage, path, offset=(0.1, 0.05, 0.0))

    results = []
    for name, add in (("a", add_instancer), ("b", add_prims)):
        stage = new_stage(tmp_path / name / "source.usda")
        if dress is not None:
            dress(stage)
        made = add(stage, "/World/Inst", [prototype], places)
        results.append((_baked(stage, tmp_path / name / "out.usda"), made))
    (a, _), (b, paths) = results
    _same_motion(lambda t: instance_matrices(a, "/World/Inst", t), lambda t: prim_matrices(b, paths, t))
    fallen = instance_matrices(a, "/World/Inst", 0.0)[:, 3, 2] - instance_matrices(a, "/World/Inst", 24.0)[:, 3, 2]
    assert (fallen > 0.2).all()


def test_uneven_and_shearing_scales_move_rigidly(tmp_path: Path) -> None:
    stage = new_stage(tmp_path / "source.usda")
    places = spread(3)
    places.scales = np.array([[1.0, 0.5, 2.0], [2.0, 1.0, 0.5], [-1.0, 2.0, 1.0]])
    add_instancer(stage, "/World/Inst", [lambda s, p: box(s, p, offset=(0.1, 0.05, 0.0))], places)
    result = _baked(stage, tmp_path / "out.usda")
    simulation = Simulation(stage)
    rest = instance_matrices(stage, "/World/Inst", 0.0)
    for frame in range(1, FRAMES + 1):
        simulation.advance(1.0 / 24.0)
        moved = expected_matrices(rest, simulation.state.body_q.numpy())
        np.testing.assert_allclose(instance_matrices(result, "/World/Inst", float(frame)), moved, atol=10 * SINGLE)


def test_centimetres_and_y_up(tmp_path: Path) -> None:
    results = []
    for name, unit, up, add in (("a", 100.0, "Y", add_instancer), ("b", 1.0, "Z", add_prims)):
        stage = new_stage(tmp_path / name / "source.usda", meters=1.0 / unit, up=up, ground=False)
        places = spread(4)
        places.positions *= unit
        if up == "Y":
            UsdGeom.Xform(stage.GetPrimAtPath("/World")).AddRotateXOp().Set(-90.0)
        made = add(stage, "/World/Inst", [lambda s, p, unit=unit: box(s, p, size=0.5 * unit)], places)
        results.append((_baked(stage, tmp_path / name / "out.usda"), made))
    (a, _), (b, paths) = results
    turn = np.array(Gf.Matrix4d(Gf.Rotation(Gf.Vec3d.XAxis(), 90.0), Gf.Vec3d()))
    for time in (0.0, 24.0, 48.0):
        expected = prim_matrices(b, paths, time)
        np.testing.assert_allclose(
            0.01 * (instance_matrices(a, "/World/Inst", time) @ turn)[:, 3, :3],
            expected[:, 3, :3],
            atol=MOTION_TOLERANCE,
        )
    # one second of free fall: g t² / 2
    fall = instance_matrices(a, "/World/Inst", 24.0)[0, 3, 1] - instance_matrices(a, "/World/Inst", 0.0)[0, 3, 1]
    assert fall == pytest.approx(-981.0 / 2, rel=0.01)  # the integrator's own error at 500 steps per second


def test_arrays_not_prims(tmp_path: Path) -> None:
    count, frames = 3000, 24
    grid = np.stack(np.meshgrid(np.arange(60), np.arange(50)), axis=-1).reshape(-1, 2)
    positions = np.concatenate([grid, np.full((count, 1), 50.0)], axis=1)
    stage = new_stage(tmp_path / "source.usda", ground=False)
    add_instancer(stage, "/World/Inst", [box], Places(positions))
    result = _baked(stage, tmp_path / "out.usda", frames=frames)
    layer = Sdf.Layer.FindOrOpen(str(tmp_path / "out.results.usdc"))
    assert len(specs_below(layer)) == 2  # /World and the instancer
    names = sorted(layer.GetPrimAtPath("/World/Inst").properties.keys())
    assert names == ["orientations", "orientationsf", "positions"]
    assert layer.GetNumTimeSamplesForPath("/World/Inst.positions") == frames + 1
    end = instance_matrices(result, "/World/Inst", float(frames))
    np.testing.assert_allclose(end[:, 3, :2], positions[:, :2], atol=MOTION_TOLERANCE)
    np.testing.assert_allclose(end[:, 3, 2], 50.0 - 9.81 / 2, rtol=2e-3)  # the integrator's own error


def test_what_is_not_simulated_keeps_its_values(tmp_path: Path) -> None:
    stage = new_stage(tmp_path / "source.usda")
    places = spread(4)
    prototypes = [box, lambda s, p: UsdGeom.Sphere.Define(s, p)]
    instancer = add_instancer(stage, "/World/Inst", prototypes, places, which=[0, 1, 0, 0])
    instancer.CreateIdsAttr([10, 20, 30, 40])
    instancer.DeactivateId(30)
    moved = places.positions.copy()
    moved[1, 0] += 4.0
    for time, values in ((0.0, places.positions), (48.0, moved)):
        instancer.GetPositionsAttr().Set([Gf.Vec3f(*row) for row in values], time)
    result = _baked(stage, tmp_path / "out.usda")
    for time in (0.0, 12.0, 48.0):
        now = np.array(UsdGeom.PointInstancer(result.GetPrimAtPath("/World/Inst")).GetPositionsAttr().Get(time))
        np.testing.assert_allclose(now[1], places.positions[1] + [4.0 * time / 48.0, 0, 0], atol=SINGLE * 10)
        np.testing.assert_allclose(now[2], places.positions[2], atol=SINGLE)
    assert abs(now[0, 2] - places.positions[0, 2]) > 0.5
    assert abs(now[3, 2] - places.positions[3, 2]) > 0.5


def test_orientations_are_there_for_readers_of_either_precision(tmp_path: Path) -> None:
    stage = new_stage(tmp_path / "source.usda", ground=False)
    places = spread(2)
    places.angular = np.array([[0.0, 0.0, 90.0], [90.0, 0.0, 0.0]])
    places.velocities = np.zeros((2, 3))
    add_instancer(stage, "/World/Inst", [box], places)
    result = _baked(stage, tmp_path / "out.usda", frames=24)
    prim = result.GetPrimAtPath("/World/Inst")
    for time in (0.0, 24.0):
        fine = np.array(prim.GetAttribute("orientationsf").Get(time))
        coarse = np.array(prim.GetAttribute("orientations").Get(time))
        np.testing.assert_allclose(coarse, fine, atol=HALF)
    turned = tf.quat_multiply(tf.quat_from_axis_angle((0, 0, 1), np.pi / 2), places.orientations[0])
    assert abs(fine[0] @ turned) == pytest.approx(1.0, abs=1e-4)  # a box is not quite free of precession


def test_velocities_follow_where_the_source_has_some(tmp_path: Path) -> None:
    stage = new_stage(tmp_path / "source.usda", meters=0.01, ground=False)
    places = Places(np.array([[0.0, 0, 500.0]]), velocities=np.array([[100.0, 0, 0]]), angular=np.array([[0, 0, 90.0]]))
    instancer = add_instancer(stage, "/World/Inst", [lambda s, p: box(s, p, size=50.0)], places)
    instancer.CreateAccelerationsAttr([(0, 0, -981)])
    result = _baked(stage, tmp_path / "out.usda", frames=24)
    prim = result.GetPrimAtPath("/World/Inst")
    np.testing.assert_allclose(prim.GetAttribute("velocities").Get(24.0)[0], (100, 0, -981), rtol=1e-3, atol=1e-2)
    np.testing.assert_allclose(prim.GetAttribute("angularVelocities").Get(24.0)[0], (0, 0, 90), atol=1e-2)
    assert prim.GetAttribute("accelerations").Get() is None
    # USD goes on from a sample by the velocity that stands there
    ahead = UsdGeom.PointInstancer(prim).ComputeInstanceTransformsAtTime(12.5, 12.5)[0].ExtractTranslation()
    drawn = 100.0 * 12.5 / 24.0
    assert ahead[0] == pytest.approx(drawn, rel=1e-4)


def test_an_instance_turns_about_its_own_origin(tmp_path: Path) -> None:
    """A body off the origin of its instance: the velocity written is that of the position."""
    stage = new_stage(tmp_path / "source.usda", ground=False)
    add_instancer(stage, "/World/Inst", [lambda s, p: box(s, p, offset=(1.0, 0.0, 0.0))], Places(np.zeros((1, 3))))
    stage.Save()
    model = load(stage)
    origins = BodyOrigins(model.body_instancer, model.body_instance.numpy(), model.body_com.numpy())
    output = tmp_path / "out.usda"
    turn = tf.quat_from_axis_angle((0.0, 0.0, 1.0), 0.5)
    with Recorder(
        stage, model.body_path, output=output, frames=1, fps=24.0, velocities=True, origins=origins
    ) as recorder:
        pose = model.body_q.numpy().astype(float)
        recorder.frame(0, pose, np.zeros((1, 6)))
        moved = tf.transform_multiply(np.array([0.0, 0.0, 0.0, *turn]), pose)
        centre = moved[0, :3]
        spin = np.array([0.0, 0.0, 2.0])
        recorder.frame(1, moved, np.array([[*np.cross(spin, centre), *spin]]))
        recorder.finish()
    opened = Usd.Stage.Open(str(output))
    prim = opened.GetPrimAtPath("/World/Inst")
    np.testing.assert_allclose(prim.GetAttribute("positions").Get(1.0)[0], (0, 0, 0), atol=SINGLE)
    np.testing.assert_allclose(prim.GetAttribute("velocities").Get(1.0)[0], (0, 0, 0), atol=SINGLE)
    assert abs(np.array(prim.GetAttribute("orientationsf").Get(1.0))[0] @ turn) == pytest.approx(1.0, abs=SINGLE)


def test_instances_of_several_bodies_become_prims(tmp_path: Path) -> None:
    places = spread(3)
    places.scales = np.array([[1.0] * 3, [1.5] * 3, [1.0] * 3])
    results = []
    for name, add in (("a", add_instancer), ("b", add_prims)):
        stage = new_stage(tmp_path / name / "source.usda")
        _dressed(stage)
        instancer = add(stage, "/World/Inst", [pendulum, box], places, which=[0, 0, 1])
        if name == "a":
            instancer.CreateIdsAttr([5, 6, 7])
            instancer.AddTranslateOp().Set((0.0, 0.0, 0.2))
        else:
            UsdGeom.Xform(stage.GetPrimAtPath("/World/Inst")).AddTranslateOp().Set((0.0, 0.0, 0.2))
        results.append(_baked(stage, tmp_path / name / "out.usda"))
    a, b = results
    links = [f"i{i}/p0/{link}" for i in range(2) for link in ("upper", "lower")]
    _same_motion(
        lambda t: prim_matrices(a, [f"/World/Inst_instances/{link}" for link in links], t),
        lambda t: prim_matrices(b, [f"/World/Inst/{link}" for link in links], t),
    )
    _same_motion(
        lambda t: instance_matrices(a, "/World/Inst", t)[2:], lambda t: prim_matrices(b, ["/World/Inst/i2/p1"], t)
    )
    left = UsdGeom.PointInstancer(a.GetPrimAtPath("/World/Inst")).ComputeMaskAtTime(0.0)
    assert list(left) == [False, False, True]
    again = load(a)  # the results simulate on: nothing twice, nothing lost
    assert again.body_count == 5


def test_ids_that_do_not_fit_count_for_nothing(tmp_path: Path) -> None:
    stage = new_stage(tmp_path / "source.usda")
    add_instancer(stage, "/World/Inst", [pendulum], spread(2)).CreateIdsAttr([8, 8, 8])
    result = _baked(stage, tmp_path / "out.usda", frames=1)
    assert load(result).body_label == [
        f"/World/Inst_instances/i{i}/p0/{n}" for i in range(2) for n in ("upper", "lower")
    ]


def test_nested_instancers_are_taken_apart(tmp_path: Path) -> None:
    outer = Places(np.array([[0.0, 0.0, 3.0], [6.0, 0.0, 3.0]]), orientations=np.array([[0, 0, 0.6, 0.8]] * 2))
    outer.scales = np.array([[1.0] * 3, [1.5] * 3])
    inner = spread(3)

    def group(add: Callable[..., Any]) -> Callable[[Usd.Stage, str], None]:
        def define(stage: Usd.Stage, path: str) -> None:
            UsdGeom.Xform.Define(stage, path)
            add(stage, f"{path}/Inner", [box], inner)

        return define

    nested = new_stage(tmp_path / "a" / "source.usda")
    add_instancer(nested, "/World/Outer", [group(add_instancer)], outer)
    flat = new_stage(tmp_path / "b" / "source.usda")
    add_prims(flat, "/World/Outer", [group(add_prims)], outer)
    a, b = _baked(nested, tmp_path / "a" / "out.usda"), _baked(flat, tmp_path / "b" / "out.usda")
    for i in range(2):
        _same_motion(
            lambda t, i=i: instance_matrices(a, f"/World/Outer_instances/i{i}/p0/Inner", t),
            lambda t, i=i: prim_matrices(b, [f"/World/Outer/i{i}/p0/Inner/i{j}/p0" for j in range(3)], t),
        )


def test_an_instancer_below_a_moving_body(tmp_path: Path) -> None:
    """The arrays are relative to the body, wherever that has gone."""
    results = []
    for name, add in (("a", add_instancer), ("b", add_prims)):
        stage = new_stage(tmp_path / name / "source.usda", ground=False)
        carrier = UsdGeom.Xform.Define(stage, "/World/Carrier")
        UsdPhysics.RigidBodyAPI.Apply(carrier.GetPrim()).CreateAngularVelocityAttr(Gf.Vec3f(30, 60, 90))
        mass = UsdPhysics.MassAPI.Apply(carrier.GetPrim())
        mass.CreateMassAttr(2.0)
        mass.CreateDiagonalInertiaAttr(Gf.Vec3f(1, 2, 3))
        places = spread(3)
        places.positions += (3.0, 0.0, 0.0)
        made = add(stage, "/World/Carrier/Inst", [box], places)
        results.append((_baked(stage, tmp_path / name / "out.usda"), made))
    (a, _), (b, paths) = results
    _same_motion(lambda t: instance_matrices(a, "/World/Carrier/Inst", t), lambda t: prim_matrices(b, paths, t))


@pytest.mark.parametrize("options", [{"clips": 10}, {"flatten": True}, {"format": "usda"}])
def test_every_kind_of_output_holds_the_arrays(tmp_path: Path, options: dict[str, Any]) -> None:
    stage = new_stage(tmp_path / "source.usda")
    add_instancer(stage, "/World/Inst", [box, pendulum], spread(3), which=[0, 1, 0])
    plain = _baked(stage, tmp_path / "plain.usda", frames=24)
    other = _baked(stage, tmp_path / "other.usda", frames=24, **options)
    lower = ["/World/Inst_instances/i1/p0/lower".replace("p0", "p1")]
    for time in (0.0, 10.0, 17.0, 24.0):
        np.testing.assert_allclose(
            instance_matrices(other, "/World/Inst", time), instance_matrices(plain, "/World/Inst", time), atol=SINGLE
        )
        np.testing.assert_allclose(prim_matrices(other, lower, time), prim_matrices(plain, lower, time), atol=SINGLE)


def test_loose_content_of_a_prototype_is_told(tmp_path: Path) -> None:
    def dressed(stage: Usd.Stage, path: str) -> None:
        UsdGeom.Xform.Define(stage, path)
        box(stage, f"{path}/body")
        UsdGeom.Sphere.Define(stage, f"{path}/ornament")

    stage = new_stage(tmp_path / "source.usda")
    add_instancer(stage, "/World/Inst", [dressed], spread(1))
    stage.Save()
    notes = bake(stage, tmp_path / "out.usda", frames=1).warnings
    assert any(note.startswith("/World/Inst/Protos/p0: what it holds besides") for note in notes)
