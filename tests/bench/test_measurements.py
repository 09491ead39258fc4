"""What is timed: on our side in this process, on the peer's against a stand-in for its package."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from pxr import Sdf

from usd_sim import stages
from usd_sim.bench import ours, peer, recording

WALKER = str(stages.path("walker"))

UNIT = 1.0e-6
"""Length of a float32 quaternion: its rounding, some times over."""

NEWTON = """
import json, os, pathlib

class Log:
    def __init__(self, name):
        self.name = name
    def __call__(self, *arguments, **options):
        with open(os.environ["LOG"], "a") as file:
            print(self.name, json.dumps([str(a) for a in arguments if isinstance(a, (str, float))]), options, file=file)

class State:
    clear_forces = Log("clear_forces")

class Model:
    body_count = 7
    state = staticmethod(State)
    control = Log("control")

class ModelBuilder:
    add_usd = Log("add_usd")
    def finalize(self, **options):
        Log("finalize")(**options)
        return Model()

class SolverMuJoCo:
    register_custom_attributes = Log("register")
    step = Log("step")
    def __init__(self, model, **options):
        Log("solver")(**options)

class solvers:
    SolverMuJoCo = SolverMuJoCo
"""


@pytest.fixture
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """File of the calls that the peer's script makes to stand-ins of newton and warp."""
    (tmp_path / "newton.py").write_text(NEWTON)
    (tmp_path / "warp.py").write_text("def init(): pass\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("LOG", str(tmp_path / "log"))
    return tmp_path / "log"


def run_peer(*arguments: str) -> dict[str, float]:
    command = [sys.executable, str(peer.__file__), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ | {"PYTHONSAFEPATH": "1"})
    return json.loads(done.stdout)


def test_loading():
    found = ours.load_time(WALKER)
    assert found["seconds"] > 0
    assert found["bodies"] > 0


def test_steps_of_ours_and_raw_ones_are_the_same(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(ours, "_BLOCKS", 2)
    monkeypatch.setattr(ours, "_FRAMES_A_BLOCK", 3)
    found = ours.step_time(WALKER)
    assert found.pop("same motion") is True
    assert set(found) == {"ours", "with state", "raw"}
    assert min(found.values()) > 0


def test_shipped_stages():
    found = ours.shipped_times(WALKER)
    assert set(found) == {"load_ms", "compile_ms", "step_ms", "factor"}
    assert min(found.values()) > 0


def test_recording_is_of_both_sides():
    found = ours.record_time(bodies=3, frames=4)
    assert set(found) == {"ours", "raw"}
    assert min(found.values()) > 0


def test_bare_calls_set_every_pose(monkeypatch: pytest.MonkeyPatch):
    set_samples = []
    monkeypatch.setattr(Sdf.Layer, "SetTimeSample", lambda _, *sample: set_samples.append(sample))
    poses = recording.make_motion(3, 5)
    recording.bare_calls(["/A", "/B", "/C"], poses)
    assert len(set_samples) == 2 * 3 * 5  # translate and orient of each body and sample
    found = {(str(path), time): value for path, time, value in set_samples}
    assert tuple(found["/B.xformOp:translate", 4.0]) == tuple(poses[4, 1, :3].tolist())
    assert found["/B.xformOp:orient", 4.0].real == poses[4, 1, 6]


def test_the_motion_is_of_poses_and_the_same_each_time():
    poses = recording.make_motion(2, 50)
    assert poses.shape == (50, 2, 7)
    assert np.allclose(np.linalg.norm(poses[..., 3:], axis=-1), 1.0, atol=UNIT)
    assert (poses == recording.make_motion(2, 50)).all()


def test_the_peer_loads_onto_the_cpu(calls: Path):
    found = run_peer("load", "some.usda")
    assert found["seconds"] > 0
    assert found["bodies"] == 7
    log = calls.read_text().splitlines()
    assert [line.split()[0] for line in log] == ["register", "add_usd", "finalize"]
    assert "some.usda" in log[1]
    assert "'device': 'cpu'" in log[2]


def test_the_peer_steps_as_its_users_write_it(calls: Path):
    found = run_peer("step", "some.usda")
    assert found["ms"] > 0
    log = calls.read_text().splitlines()
    steps = [line for line in log if line.startswith("step")]
    assert len(steps) == 1 + 10 + peer._STEPS  # to be ready, to warm up, to be timed
    assert all(str(ours.DT) in line for line in steps)
    assert len([line for line in log if line.startswith("clear_forces")]) == len(steps)
    assert any("'use_mujoco_cpu': True" in line for line in log)


def test_the_cold_start_ends_with_one_step(calls: Path):
    found = run_peer("cold", "some.usda")
    assert set(found) == {"seconds"}
    assert calls.read_text().count("step ") == 1


def test_a_measurement_prints_one_line_of_json():
    command = [sys.executable, "-m", "usd_sim.bench.ours", "load", WALKER]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["bodies"] == ours.load_time(WALKER)["bodies"]
