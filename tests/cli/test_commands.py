"""What the commands print and write when all is well."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from cli.running import box, names, run, run_process, write
from pxr import Usd

from usd_sim import stages
from usd_sim.cli.output import write_report

BAKE_KEYS = {
    "stage",
    "output",
    "results",
    "solver",
    "device",
    "frames",
    "fps",
    "dt",
    "substeps",
    "simulated_s",
    "bodies",
    "wall_s",
    "diverged",
    "warnings",
}

INFO_KEYS = {
    "bodies",
    "joints",
    "joint_types",
    "shapes",
    "articulations",
    "dofs",
    "coords",
    "mass",
    "gravity",
    "up_axis",
    "meters_per_unit",
    "kilograms_per_unit",
    "dt",
    "fps",
    "worlds",
    "body_paths",
    "body_mass",
    "body_inertia",
    "particles",
    "scenes",
}


def test_help_is_light():
    code = (
        "import sys; from usd_sim.cli.main import main; main(['--help']);"
        "heavy = {'warp', 'mujoco', 'pxr', 'PySide6', 'scipy'} & set(sys.modules); assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


def test_version():
    assert run("--version").out.startswith("usd-sim 0.")


def test_bake_json(tmp_path):
    report = tmp_path / "report.json"
    done = run_process(
        "bake", stages.path("cartpole"), "-o", tmp_path / "out.usda", "--frames", 6, "--json", "--report", report
    )
    assert done.code == 0
    assert done.err == ""
    data = json.loads(done.out)
    assert set(data) == BAKE_KEYS
    assert set(data["wall_s"]) == {"read", "compile", "simulate", "write"}
    assert data["frames"] == 6
    assert data["diverged"] is None
    assert json.loads(report.read_text()) == data
    assert names(tmp_path) == {"out.usda", "out.results.usdc", "report.json"}


def test_bake_by_default_writes_into_the_current_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = run("bake", stages.path("cartpole"), "--frames", 1)
    assert done.code == 0
    assert names(tmp_path) == {"cartpole.baked.usda", "cartpole.baked.results.usdc"}
    assert "cartpole.baked.usda" in done.out
    assert done.err == ""


def test_no_command_shows_the_help():
    done = run()
    assert done.code == 2
    assert "bake" in done.out + done.err
    assert "usd-sim: " not in done.err


@pytest.mark.parametrize("command", ["info", "check"])
def test_quiet_commands_leave_the_exit_code(command, tmp_path):
    done = run_process(command, write(tmp_path, box()), "--quiet")
    assert (done.code, done.out, done.err) == (0, "", "")
    odd = run("check", write(tmp_path, box(more="float physics:mass = -1"), name="odd.usda"), "--quiet")
    assert (odd.code, odd.out, odd.err) == (1, "", "")


def test_a_file_name_is_no_markup(tmp_path):
    assert "[bold]" in run("info", write(tmp_path, box(), name="a[bold].usda")).out


def test_a_name_is_told_once(tmp_path):
    done = run("bake", tmp_path / "a.usda", tmp_path / "b.usda", "-o", tmp_path / "out", "--quiet")
    assert [line.count(".usda") for line in done.complaints] == [1, 1]


def test_report_is_json_whatever_the_numbers(tmp_path):
    write_report(tmp_path / "report.json", {"stage": "a", "dt": float("nan")})
    assert json.loads((tmp_path / "report.json").read_text(), parse_constant=pytest.fail) == {"stage": "a", "dt": None}
    assert names(tmp_path) == {"report.json"}


def test_output_that_nobody_reads_is_no_error():
    command = [sys.executable, "-m", "usd_sim", "schemas"]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    running.stdout.close()
    assert running.stderr.read() == b""
    assert running.wait(timeout=60) == 0


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_output_that_cannot_be_written_is_one_line(unbuffered):
    if not os.path.exists("/dev/full"):
        pytest.skip("this system has no /dev/full")
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "usd_sim", "schemas"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
        )
    assert done.returncode == 1
    assert done.stderr.splitlines() == ["usd-sim: standard output: No space left on device"]


def test_quiet_prints_nothing(tmp_path):
    done = run_process("bake", stages.path("cartpole"), "-o", tmp_path / "out.usda", "--frames", 1, "--quiet")
    assert (done.code, done.out, done.err) == (0, "", "")


def test_several_stages_and_processes(tmp_path):
    sources = [stages.path(name) for name in ("cartpole", "four_bar", "double_pendulum")]
    done = run("bake", *sources, tmp_path / "missing.usda", "-o", tmp_path / "out", "--frames", 2, "--jobs", 2)
    assert done.code == 1
    assert "3 of 4 done" in done.out
    assert "missing.usda" in done.err
    assert {f"{path.stem}.baked.usda" for path in sources} <= names(tmp_path / "out")


def test_resume_skips_what_is_complete(tmp_path):
    source = write(tmp_path, box())
    first = run("bake", source, "-o", tmp_path / "out.usda", "--frames", 2, "--resume")
    again = run("bake", source, "-o", tmp_path / "out.usda", "--frames", 2, "--resume")
    assert (first.code, again.code) == (0, 0)
    assert "skipped" not in first.out
    assert "skipped" in again.out
    (tmp_path / "out.results.usdc").unlink()
    assert "skipped" not in run("bake", source, "-o", tmp_path / "out.usda", "--frames", 2, "--resume").out


def test_sweep(tmp_path):
    source = write(tmp_path, box(more="vector3f physics:velocity = (0, 0, 0)"))
    done = run(
        "bake", source, "-o", tmp_path / "out.usda", "--frames", 60,
        "--sweep", "/W/Box.physics:velocity=(1, 0, 0),(2, 0, 0)", "--json",
    )  # fmt: skip
    assert done.code == 0
    reports = json.loads(done.out)
    moved = []
    for report in reports:
        stage = Usd.Stage.Open(report["output"])
        moved.append(stage.GetPrimAtPath("/W/Box").GetAttribute("xformOp:translate").Get(60)[0])
    np.testing.assert_allclose(moved, [1.0, 2.0], rtol=1e-5)  # single precision of the state


def test_info_json():
    done = run("info", stages.path("units_centimetres"), "--json")
    data = json.loads(done.out)
    assert set(data) == INFO_KEYS
    other = json.loads(run("info", stages.path("units_metres"), "--json").out)
    assert data["mass"] == pytest.approx(other["mass"], rel=1e-6)
    assert data["meters_per_unit"] == 0.01
    assert len(data["body_inertia"][0]) == 9
    assert len(data["body_paths"]) == data["bodies"] == len(data["body_mass"])
    np.testing.assert_allclose(np.abs(data["gravity"]).max(), np.abs(other["gravity"]).max(), rtol=1e-6)


def test_info_of_a_stage_without_physics(tmp_path):
    path = tmp_path / "plain.usda"
    path.write_text('#usda 1.0\ndef Sphere "Ball" {}\n')
    data = json.loads(run("info", path, "--json").out)
    assert (data["bodies"], data["mass"], data["scenes"]) == (0, 0.0, [])
    assert run("info", path).code == 0


def test_check(tmp_path):
    clean, odd = write(tmp_path, box()), write(tmp_path, box(more="custom float physics:wings = 2"), name="odd.usda")
    assert run("check", clean, "--strict").code == 0
    assert run("check", odd).code == 0
    assert run("check", odd, "--strict").code == 1
    data = json.loads(run("check", odd, "--json").out)
    assert set(data) == {"errors", "ignored", "approximated", "used_count"}
    assert set(data["ignored"][0]) == {"prim", "property", "message", "remedy"}
    assert data["ignored"][0]["property"] == "physics:wings"


def test_check_names_what_the_solver_will_not_honour():
    data = json.loads(run("check", stages.path("falling_boxes"), "--solver", "mujoco", "--json").out)
    assert any(item["feature"] == "restitution" for item in data["unsupported"])
    assert "restitution" in run("check", stages.path("falling_boxes"), "--solver", "mujoco").out


def test_bench_times_recording():
    done = run("bench", "--only", "record", "--quick", "--json")
    assert done.code == 0
    row = json.loads(done.out)["rows"][0]
    assert row["ours"] > 0
    assert row["other"] > 0


def test_variants_and_masks_reach_the_stage(tmp_path):
    source = write(
        tmp_path,
        box(),
        '    def Xform "Robot" (prepend variantSets = "size") {\n'
        '        variantSet "size" = {\n            "small" {\n'
        + box("Part", 3.0)
        + "            }\n        }\n    }\n",
    )
    data = json.loads(run("info", source, "--variant", "/W/Robot:size=small", "--json").out)
    assert data["body_paths"] == ["/W/Box", "/W/Robot/Part"]
    assert json.loads(run("info", source, "--mask", "/W/Robot", "--json").out)["bodies"] == 0
    assert run("check", source, "--variant", "nonsense").code == 2
    done = run("bake", source, "-o", tmp_path / "out.usda", "--frames", 1, "--variant", "/W/Robot:size=small", "--json")
    assert json.loads(done.out)["bodies"] == 2
