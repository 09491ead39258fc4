"""Baking: timing, formats, the report, the source left alone, and what happens on divergence."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
from pxr import Usd, UsdGeom

import usd_sim
from usd_sim import stages
from usd_sim.bake.job import BakeSettings
from usd_sim.errors import DivergenceError, UsdSimError


def world_positions(stage: Usd.Stage, path: str) -> np.ndarray:
    """Return the position of a prim at each sample of its translation."""
    prim = stage.GetPrimAtPath(path)
    times = prim.GetAttribute("xformOp:translate").GetTimeSamples()
    return np.array([UsdGeom.XformCache(t).GetLocalToWorldTransform(prim).ExtractTranslation() for t in times])


@pytest.mark.parametrize("name", stages.names())
def test_every_shipped_stage_bakes_and_moves(tmp_path, name):
    source = stages.path(name)
    before = hashlib.sha256(source.read_bytes()).hexdigest()
    result = usd_sim.bake(source, tmp_path / "out.usda", duration=0.5)
    assert hashlib.sha256(source.read_bytes()).hexdigest() == before
    assert result.diverged is None
    assert result.frames == 30
    stage = Usd.Stage.Open(result.output)
    tracks = [world_positions(stage, path) for path in usd_sim.load(source, device="cpu").body_path]
    assert all(len(track) == 31 and np.isfinite(track).all() for track in tracks)
    assert max(np.ptp(track, axis=0).max() for track in tracks) > 1e-3


def test_samples_lie_where_they_should(tmp_path):
    result = usd_sim.bake(stages.path("cartpole"), tmp_path / "out.usda", frames=4, fps=24.0)
    stage = Usd.Stage.Open(result.output)
    body = usd_sim.load(stages.path("cartpole"), device="cpu").body_path[0]
    codes = stage.GetPrimAtPath(body).GetAttribute("xformOp:translate").GetTimeSamples()
    np.testing.assert_allclose(codes, np.arange(5) * stage.GetTimeCodesPerSecond() / 24.0)
    assert result.simulated_s == pytest.approx(4 / 24)


def test_steps_divide_the_frame(tmp_path):
    result = usd_sim.bake(stages.path("cartpole"), tmp_path / "out.usda", frames=1, fps=60, dt=0.003)
    assert result.substeps == 6
    assert result.dt == pytest.approx(1 / 360)


def test_bake_equals_simulation(tmp_path):
    source = stages.path("falling_boxes")
    result = usd_sim.bake(source, tmp_path / "out.usda", frames=20)
    simulation = usd_sim.Simulation(source)
    for _ in range(20):
        simulation.advance(1 / 60)
    stage = Usd.Stage.Open(result.output)
    expected = simulation.state.body_q.numpy()[:, :3]
    seen = np.array([world_positions(stage, path)[-1] for path in simulation.model.body_path])
    np.testing.assert_allclose(seen, expected, atol=1e-6)  # single precision of the state


def test_velocities_and_joints(tmp_path):
    result = usd_sim.bake(stages.path("cartpole"), tmp_path / "out.usda", frames=2, velocities=True, joints=True)
    stage = Usd.Stage.Open(result.output)
    model = usd_sim.load(stages.path("cartpole"), device="cpu")
    assert stage.GetPrimAtPath(model.body_path[0]).GetAttribute("physics:velocity").GetNumTimeSamples() == 3
    joint = stage.GetPrimAtPath(model.joint_dof_path[0])
    assert joint.GetAttribute(f"state:{model.joint_dof_name[0]}:physics:position").GetNumTimeSamples() == 3


@pytest.mark.parametrize(("changes", "message"), [({"fps": 0.0}, "frame rate"), ({"duration": -1.0}, "duration")])
def test_wrong_timing_is_refused(tmp_path, changes, message):
    with pytest.raises(UsdSimError, match=message):
        usd_sim.bake(stages.path("cartpole"), tmp_path / "out.usda", **changes)
    assert not list(tmp_path.iterdir())


def test_settings_and_changes_combine(tmp_path):
    settings = BakeSettings(frames=3, options={"iterations": 5})
    result = usd_sim.bake(stages.path("cartpole"), tmp_path / "out.usda", settings=settings, fps=30.0)
    assert (result.frames, result.fps) == (3, 30.0)
    with pytest.raises(UsdSimError, match="no setting 'wings'"):
        usd_sim.bake(stages.path("cartpole"), tmp_path / "other.usda", settings=settings, wings=2)


def unstable(tmp_path):
    """Return a stage whose pendulum is thrown so hard that it diverges after its first frames."""
    stage = Usd.Stage.Open(str(stages.path("double_pendulum")))
    path = tmp_path / "unstable.usda"
    stage.GetRootLayer().Export(str(path))
    copy = Usd.Stage.Open(str(path))
    for prim in copy.Traverse():
        if prim.HasAPI("PhysicsRigidBodyAPI"):
            prim.GetAttribute("physics:angularVelocity").Set((0.0, 1e30, 0.0))
    copy.Save()
    return path


def test_divergence_keeps_the_good_frames(tmp_path):
    source, output = unstable(tmp_path), tmp_path / "out.usda"
    with pytest.raises(DivergenceError) as caught:
        usd_sim.bake(source, output, duration=5.0)
    report = caught.value.result
    assert report.diverged["prims"]
    assert output.exists()
    kept = usd_sim.bake(source, output, duration=5.0, on_divergence="keep", overwrite=True)
    assert kept.diverged is not None
    assert kept.frames == report.frames < 300
