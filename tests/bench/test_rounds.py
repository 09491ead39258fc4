"""Rounds: which side runs when, what comes of the medians, and the table."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cli.running import run

from usd_sim import stages
from usd_sim.bench import rounds
from usd_sim.bench.rounds import Row, measure, names
from usd_sim.bench.scenes import Robot, Robots
from usd_sim.errors import UsdSimError

WALKER = Robot("ant", stages.path("walker"), True)
ROBOTS = Robots(WALKER, WALKER)
PEER = "a-peer"


class _Sides:
    """Takes the place of the processes: known times, growing by round, and a log of who ran."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch):
        self.log: list[str] = []
        self.environments: list[dict[str, str]] = []
        monkeypatch.setattr(rounds, "_json", self.json)
        monkeypatch.setattr(rounds, "_run", self.run)

    def json(self, command: list[str], **environment: str) -> dict[str, Any]:
        theirs = command[0] == PEER
        kind = command[2] if theirs else command[3]
        self.log.append(("peer " if theirs else "ours ") + kind)
        self.environments.append(environment)
        factor = 10.0 if theirs else 1.0
        seconds = factor * (1.0 + self.log.count(self.log[-1]))
        return {"seconds": seconds, "ms": 50.0, "ours": 2.0, "raw": 1.0, "with state": 3.0, "bodies": 1}

    def run(self, command: list[str], **environment: str) -> str:
        self.log.append("ours bake")
        self.environments.append(environment)
        assert "--duration" in command
        return ""


@pytest.fixture
def sides(monkeypatch: pytest.MonkeyPatch) -> Iterator[_Sides]:
    monkeypatch.setattr(rounds, "BOXES", 2)
    monkeypatch.setattr(rounds, "ROBOTS", 2)
    return _Sides(monkeypatch)


def rows(*, peer: str | None, only: str | None = None, count: int = 3) -> list[Row]:
    return list(measure(ROBOTS, peer=peer, rounds=count, only=only, tell=lambda _: None))


def test_sides_alternate_and_medians_count(sides: _Sides):
    (row,) = rows(peer=PEER, only="boxes")
    assert sides.log == ["peer step", *["ours load", "peer load"] * 3]
    assert (row.ours, row.other) == (3.0, 30.0)  # of 2, 3 and 4 s, and ten times that
    assert (row.ratio, row.wanted, row.against) == (10.0, 15.0, "peer")
    assert row.reached is False


def test_what_a_comparison_wants(sides: _Sides):
    wanted = {(row.name, row.against): row.wanted for row in rows(peer=PEER) if row.wanted}
    assert sorted(wanted.values()) == [1.4, 1.5, 2.0, 4.0, 10.0, 10.0, 15.0]  # both robots share a name here
    assert wanted["walker.usda, one step", "mj_step"] == 1.5
    assert wanted["walker.usda, one step", "peer"] == 10.0


def test_without_a_peer_only_floors_are_compared(sides: _Sides):
    found = rows(peer=None)
    assert not any(entry.startswith("peer") for entry in sides.log)
    assert {row.against for row in found} == {"", "mj_step", "SetTimeSample"}
    assert all(row.reached is None for row in found if not row.against)


def test_cold_starts_have_an_empty_kernel_cache_each(sides: _Sides):
    (row,) = rows(peer=PEER, only="cold", count=2)
    caches = [environment["WARP_CACHE_PATH"] for environment in sides.environments]
    assert sides.log == ["ours bake", "peer cold"] * 2
    assert len(set(caches)) == 4
    assert row.other == 25.0  # the median of 20 and 30


@pytest.mark.parametrize("name", names())
def test_one_comparison_alone(sides: _Sides, name: str):
    alone = rows(peer=PEER, only=name)
    assert alone
    assert [row.name for row in alone] == [row.name for row in rows(peer=PEER) if row.name in {r.name for r in alone}]


@pytest.mark.parametrize(
    ("against", "ratio", "reached"),
    [
        ("peer", 3.0, True),
        ("peer", 1.0, False),
        ("mj_step", 1.0, True),
        ("mj_step", 3.0, False),
        ("SetTimeSample", 1.0, True),
        ("SetTimeSample", 3.0, False),
    ],
)
def test_a_peer_is_to_be_beaten_and_a_floor_to_be_kept_to(against: str, ratio: float, reached: bool):
    assert Row("", "s", 1.0, 1.0, against, ratio, 2.0).reached is reached


def test_a_peer_that_fails_is_told_in_one_line(tmp_path: Path):
    peer = tmp_path / "python"
    peer.write_text("#!/bin/sh\necho chatter >&2\necho 'No module named newton' >&2\nexit 1\n")
    peer.chmod(0o755)
    with pytest.raises(UsdSimError, match="a measurement failed: No module named newton"):
        rows(peer=str(peer), only="humanoid")


def test_slow_figures_fail_nothing(sides: _Sides, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("shutil.which", lambda name: name)
    done = run("bench", "--peer", PEER, "--only", "boxes", "--quick")
    assert done.code == 0
    assert "2 boxes, file to model" in done.out
    assert "10.00x" in done.out
    assert " no " in done.out


def test_json_holds_what_the_table_shows(sides: _Sides, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("shutil.which", lambda name: name)
    data = json.loads(run("bench", "--peer", PEER, "--only", "record", "--json").out)
    assert data["rounds"] == 5
    (row,) = data["rows"]
    assert (row["ours"], row["other"], row["ratio"], row["reached"]) == (2.0, 1.0, 2.0, False)


def test_shipped_stages_are_timed_without_options(monkeypatch: pytest.MonkeyPatch):
    asked = []

    def run_ours(kind: str, stage: str) -> dict[str, float]:
        asked.append((kind, Path(stage).stem))
        return {"load_ms": 1.0, "compile_ms": 2.0, "step_ms": 0.004, "factor": 5.0}

    monkeypatch.setattr(rounds, "run_ours", run_ours)
    done = run("bench", "--quick")
    assert asked == [("shipped", name) for name in stages.names()]
    assert all(name in done.out for name in stages.names())
    assert "4.0 µs" in done.out


def test_fresh_processes_report_what_they_measured():
    assert rounds.run_ours("load", str(WALKER.path))["seconds"] > 0
    with pytest.raises(UsdSimError, match="a measurement failed"):
        rounds.run_ours("nothing")


def test_an_interpreter_that_does_not_exist():
    done = run("bench", "--peer", f"{sys.executable}-that-is-not")
    assert done.code == 2
    assert len(done.complaints) == 1
