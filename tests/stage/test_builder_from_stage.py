"""ModelBuilder.add_usd: stages as parts of models made by code."""

from __future__ import annotations

import numpy as np
import pytest

import usd_sim
from usd_sim import stages


def test_a_stage_alone_is_what_load_makes_of_it():
    builder = usd_sim.ModelBuilder()
    found = builder.add_usd(stages.path("walker"))
    model, loaded = builder.finalize(device="cpu"), usd_sim.load(stages.path("walker"), device="cpu")
    for name in ("body_q", "body_mass", "joint_q", "joint_X_p", "shape_scale", "gravity"):
        np.testing.assert_array_equal(model.array(name).numpy(), loaded.array(name).numpy())
    assert found["path_body_map"][model.body_path[3]] == 3
    assert model.binding.rows("body", model.body_path[3]) == [3]
    assert found["scene"].steps_per_second == loaded.scene.steps_per_second


def test_stages_and_code_in_one_model():
    builder = usd_sim.ModelBuilder(gravity=-1.0)
    builder.add_ground_plane()
    first = builder.add_usd(stages.path("double_pendulum"))
    second = builder.add_usd(stages.path("double_pendulum"), xform=(5, 0, 0, 0, 0, 0, 1))
    model = builder.finalize(device="cpu")
    path = model.body_path[0]
    a, b = first["path_body_map"][path], second["path_body_map"][path]
    assert b - a == 2
    np.testing.assert_allclose(model.body_q.numpy()[b, :3] - model.body_q.numpy()[a, :3], (5, 0, 0), atol=1e-6)
    assert model.binding.rows("body", path) == [a, b]
    assert model.gravity.numpy()[0][2] == pytest.approx(-1.0)  # the builder was not empty
    simulation = usd_sim.Simulation(model, dt=1e-3)
    simulation.advance(0.3)
    moved = simulation.state.body_q.numpy()
    np.testing.assert_allclose(moved[b, :3] - moved[a, :3], (5, 0, 0), atol=1e-5)


def test_replicating_a_stage():
    template = usd_sim.ModelBuilder()
    template.add_usd(stages.path("cartpole"))
    builder = usd_sim.ModelBuilder()
    builder.replicate(template, 3, spacing=(0, 4, 0))
    model = builder.finalize(device="cpu")
    assert model.world_count == 3
    assert len(model.binding.rows("body", model.body_path[0])) == 3
