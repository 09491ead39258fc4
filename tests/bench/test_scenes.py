"""The stages that are timed."""

from __future__ import annotations

from pathlib import Path

import pytest
from pxr import Usd

import usd_sim
from usd_sim import stages
from usd_sim.bench import scenes
from usd_sim.errors import ExitCode, UsdSimError


def test_boxes_are_loose_bodies_over_a_plane(tmp_path: Path):
    count = scenes._BOXES_A_ROW**2 + 1  # the last one begins a second layer
    model = usd_sim.load(scenes.write_boxes(tmp_path / "boxes.usda", count))
    assert model.body_count == count
    assert model.shape_count == count + 1
    places = model.body_q.numpy()[:, :3]
    assert len({tuple(place) for place in places.tolist()}) == count
    assert places[:, 2].min() > scenes._BOX_SIZE / 2  # above the plane
    assert not model.report.errors


def test_references_are_that_many_robots(tmp_path: Path):
    one = usd_sim.load(stages.path("walker"))
    many = usd_sim.load(scenes.write_references(tmp_path / "many.usda", stages.path("walker"), 3))
    assert many.body_count == 3 * one.body_count > 0
    assert many.joint_count == 3 * one.joint_count


def test_robots_are_found_in_a_folder(tmp_path: Path):
    for name in ("ant", "humanoid"):
        (tmp_path / f"{name}.usda").write_text("#usda 1.0\n")
    robots = scenes.find_robots(assets=tmp_path)
    assert robots.ant.path == tmp_path / "ant.usda"
    assert robots.humanoid.path == tmp_path / "humanoid.usda"
    assert robots.notes == []


def test_a_robot_that_is_named_comes_first(tmp_path: Path):
    (tmp_path / "ant.usda").write_text("#usda 1.0\n")
    (tmp_path / "mine.usda").write_text("#usda 1.0\n")
    assert scenes.find_robots(assets=tmp_path, ant=tmp_path / "mine.usda").ant.label == "mine.usda"


def test_shipped_stages_stand_in_and_say_so(tmp_path: Path):
    robots = scenes.find_robots(assets=tmp_path)
    assert [robot.stands_in for robot in (robots.ant, robots.humanoid)] == [True, True]
    for robot, note in zip((robots.ant, robots.humanoid), robots.notes, strict=True):
        assert f"{robot.role}.usda is not at hand" in note
        assert Usd.Stage.Open(str(robot.path))


@pytest.mark.parametrize("option", ["ant", "humanoid", "assets"])
def test_what_is_named_must_exist(tmp_path: Path, option: str):
    with pytest.raises(UsdSimError, match="no such") as caught:
        scenes.find_robots(**{option: tmp_path / "nothing"})
    assert caught.value.exit_code == ExitCode.USAGE
