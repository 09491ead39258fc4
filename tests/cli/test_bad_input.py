"""Mistakes in the input: one line with the prim and the remedy, the right exit code, nothing half-written."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest
from cli.running import box, names, run, run_process, write

HINGE = """    def PhysicsRevoluteJoint "{name}" {{
        rel physics:body0 = <{a}>
        rel physics:body1 = <{b}>
    }}
"""


def fails(tmp_path, source, *words: str, code: int = 1):
    """Check that a bake of a stage fails with one line that holds some words, and leaves nothing behind."""
    before = names(tmp_path)
    done = run("bake", source, "-o", tmp_path / "out.usda", "--duration", "0.1")
    assert done.code == code
    assert len(done.complaints) == 1, done.err
    for word in words:
        assert word in done.err
    assert "Traceback" not in done.err
    assert names(tmp_path) == before


def test_missing_file(tmp_path):
    fails(tmp_path, tmp_path / "missing.usda", "missing.usda", "no such file")


def test_text_renamed_usda(tmp_path):
    path = tmp_path / "letter.usda"
    path.write_text("Dear simulator,\nplease simulate this.\n")
    fails(tmp_path, path, "letter.usda", "cannot be read as USD")


def test_binary_renamed_usdc(tmp_path):
    path = tmp_path / "noise.usdc"
    path.write_bytes(bytes(range(256)) * 16)
    fails(tmp_path, path, "noise.usdc", "cannot be read as USD")


def test_folder_and_foreign_suffix(tmp_path):
    fails(tmp_path, tmp_path, "is a folder")
    path = tmp_path / "robot.obj"
    path.write_text("v 0 0 0\n")
    fails(tmp_path, path, "is not a USD file by its name")


def test_empty_stage(tmp_path):
    path = tmp_path / "empty.usda"
    path.write_text("#usda 1.0\n")
    fails(tmp_path, path, "has no rigid bodies", "PhysicsRigidBodyAPI")
    path.write_text("")
    fails(tmp_path, path, "empty.usda")


def test_stage_without_physics(tmp_path):
    fails(tmp_path, write(tmp_path, '    def Sphere "Ball" {}\n'), "has no rigid bodies")


def test_joint_to_nowhere(tmp_path):
    source = write(tmp_path, box(), HINGE.format(name="Hinge", a="/W/Gone", b="/W/Box"))
    fails(tmp_path, source, "/W/Hinge", "/W/Gone", "does not exist")


def test_joint_of_a_body_with_itself(tmp_path):
    source = write(tmp_path, box(), HINGE.format(name="Hinge", a="/W/Box", b="/W/Box"))
    fails(tmp_path, source, "/W/Hinge", "same body")


def test_body_without_mass_and_collider(tmp_path):
    source = write(tmp_path, '    def Xform "Ghost" (prepend apiSchemas = ["PhysicsRigidBodyAPI"]) {}\n')
    fails(tmp_path, source, "/W/Ghost", "no mass", "physics:mass")


def test_mesh_collider_without_points(tmp_path):
    source = write(
        tmp_path,
        '    def Mesh "Hull" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsCollisionAPI"]) {}\n',
    )
    fails(tmp_path, source, "/W/Hull", "no points")


@pytest.mark.parametrize("line", ["float physics:mass = nan", "vector3f physics:velocity = (0, nan, 0)"])
def test_not_a_number(tmp_path, line):
    source = write(tmp_path, box(more=line))
    fails(tmp_path, source, "/W/Box." + line.split()[1], "not a number")


def test_transform_that_is_not_a_number(tmp_path):
    source = write(tmp_path, box(x=float("nan")))
    fails(tmp_path, source, "/W/Box", "not a finite number")


def test_negative_mass(tmp_path):
    fails(tmp_path, write(tmp_path, box(more="float physics:mass = -1")), "/W/Box.physics:mass", "negative")


def test_cycle_of_joints_is_closed_as_a_loop(tmp_path):
    ring = [box(name, x) for name, x in (("A", 0.0), ("B", 3.0), ("C", 6.0))]
    hinges = [
        HINGE.format(name=f"H{a}{b}", a=f"/W/{a}", b=f"/W/{b}").replace("PhysicsRevoluteJoint", "PhysicsSphericalJoint")
        for a, b in ("AB", "BC", "CA")
    ]
    source = write(tmp_path, *ring, *hinges)
    done = run("bake", source, "-o", tmp_path / "out.usda", "--duration", "0.1")
    assert done.code == 0
    assert "closes a loop" in run("check", source).out


def test_output_folder_that_cannot_be(tmp_path):
    source = write(tmp_path, box())
    (tmp_path / "file").write_text("")
    done = run("bake", source, "-o", tmp_path / "file" / "out.usda", "--duration", "0.1")
    assert done.code == 1
    assert len(done.complaints) == 1
    assert names(tmp_path) == {"stage.usda", "file"}


def test_existing_output_is_refused(tmp_path):
    source = write(tmp_path, box())
    (tmp_path / "out.usda").write_text("mine")
    fails(tmp_path, source, "out.usda", "--overwrite")
    assert (tmp_path / "out.usda").read_text() == "mine"
    assert run("bake", source, "-o", tmp_path / "out.usda", "--duration", "0.1", "--overwrite").code == 0


def test_the_source_cannot_be_the_output(tmp_path):
    source = write(tmp_path, box())
    text = source.read_bytes()
    done = run("bake", source, "-o", source, "--overwrite", "--duration", "0.1")
    assert done.code == 1
    assert source.read_bytes() == text


def test_full_disk(tmp_path):
    source = write(tmp_path, *(box(f"B{i}", 3.0 * i) for i in range(40)))
    small = tmp_path / "small"
    small.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", small], capture_output=True)
    if mounted.returncode:
        pytest.skip("may not mount a small file system")
    try:
        done = run("bake", source, "-o", small / "out.usda", "--duration", "20")
        assert done.code == 1
        assert len(done.complaints) == 1
        assert "space" in done.err or "full" in done.err
        assert names(small) == set()
    finally:
        subprocess.run(["umount", small], check=True)


@pytest.mark.parametrize(
    "numbers",
    [(signal.SIGINT,), (signal.SIGTERM,), (signal.SIGINT, signal.SIGINT, signal.SIGTERM)],
    ids=["interrupt", "terminate", "impatient"],
)
def test_interrupted_in_the_middle(tmp_path, numbers):
    source = write(tmp_path, *(box(f"B{i}", 3.0 * i) for i in range(20)))
    out = tmp_path / "out"
    command = [sys.executable, "-m", "usd_sim", "bake", source, "-o", out / "out.usda", "--duration", "100000"]
    running = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while not (out.exists() and list(out.iterdir())) and time.monotonic() < deadline and running.poll() is None:
        os.sched_yield()
    for number in numbers:
        running.send_signal(number)
    _, err = running.communicate(timeout=60)
    assert running.returncode == 130
    told = [line for line in err.splitlines() if "frame " not in line]
    assert told == ["usd-sim: interrupted; nothing half-written was left"]
    assert not out.exists()


def test_several_processes_interrupted_in_the_middle(tmp_path):
    sources = [write(tmp_path, box(), name=f"{name}.usda") for name in "abc"]
    out = tmp_path / "out"
    command = [
        sys.executable,
        "-m",
        "usd_sim",
        "bake",
        *sources,
        "-o",
        f"{out}/",
        "--duration",
        "100000",
        "--jobs",
        "2",
    ]
    running = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 120
    while not (out.exists() and len(list(out.iterdir())) == 2) and time.monotonic() < deadline:
        assert running.poll() is None
        os.sched_yield()
    running.send_signal(signal.SIGINT)
    _, err = running.communicate(timeout=60)
    assert running.returncode == 130
    assert [line for line in err.splitlines() if "frame " not in line] == [
        "usd-sim: interrupted; nothing half-written was left"
    ]
    assert not out.exists() or names(out) == set()


def test_a_process_that_dies_fails_its_stage_alone(tmp_path):
    sources = [write(tmp_path, box(), name=f"{name}.usda") for name in "ab"]
    long = ["--duration", "100000", "--jobs", "2"]
    command = [sys.executable, "-m", "usd_sim", "bake", *sources, "-o", f"{tmp_path}/out/", *long]
    running = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    workers: dict[str, int] = {}
    while len(workers) < 2:
        assert running.poll() is None
        folders = list((tmp_path / "out").glob(".*.partial-*"))
        workers = {folder.name.split(".")[1]: int(folder.name.rpartition("-")[2]) for folder in folders}
    for pid in workers.values():
        os.kill(pid, signal.SIGKILL)
    _, err = running.communicate(timeout=60)
    assert running.returncode == 1
    told = [line for line in err.splitlines() if "frame " not in line]
    assert len(told) == 2
    assert all(
        "was killed by SIGKILL" in line and f"{name}.usda" in line for name, line in zip("ab", told, strict=True)
    )


def test_divergence_has_its_own_exit_code(tmp_path):
    source = write(
        tmp_path,
        box(more="vector3f physics:angularVelocity = (1e20, 1e15, 0)\n vector3f physics:velocity = (1e30, 0, 0)"),
    )
    done = run("bake", source, "-o", tmp_path / "out.usda", "--duration", "1")
    assert done.code == 3
    assert "/W/Box" in done.err
    assert "diverged" in done.err
    kept = run("bake", source, "-o", tmp_path / "kept.usda", "--duration", "1", "--on-divergence", "keep")
    assert kept.code == 0


@pytest.mark.parametrize(
    "arguments",
    [
        ("bake",),
        ("bake", "x.usda", "--nonsense"),
        ("fly", "x.usda"),
        ("bake", "x.usda", "--duration", "-1"),
        ("bake", "x.usda", "--duration", "nan"),
        ("bake", "x.usda", "--fps", "0"),
        ("bake", "x.usda", "--dt", "0"),
        ("bake", "x.usda", "--dt", "1e-300"),
        ("bake", "x.usda", "--duration", "1e300"),
        ("bake", "x.usda", "--fps", "1e-300"),
        ("bake", "x.usda", "--frames", "9" * 400),
        ("bake", "x.usda", "--report", "nowhere/report.json"),
        ("bake", "x.usda", "-o", "out.obj"),
        ("bake", "x.usda", "./x.usda"),
        ("bake", "x.usda", "--sweep", "/W/Box.physics:mass=1,,2"),
        ("bake", "x.usda", "--frames", "many"),
        ("bake", "x.usda", "--duration", "1", "--frames", "2"),
        ("bake", "x.usda", "--format", "obj"),
        ("bake", "x.usda", "--on-divergence", "pray"),
        ("bake", "x.usda", "--jobs", "0"),
        ("bake", "x.usda", "--clips", "10", "--flatten"),
        ("bake", "x.usda", "--sweep", "mass=1,2"),
        ("bake", "x.usda", "--set", "iterations"),
        ("bake", "x.usda", "--ray", "auto"),
        ("bench", "--only", "nothing"),
        ("schemas", "--path", "--json"),
    ],
)
def test_wrong_usage(arguments, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = run(*arguments)
    assert done.code == 2
    assert len(done.complaints) == 1
    assert names(tmp_path) == set()


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (("--solver", "warp-drive"), "mujoco"),
        (("--set", "wings=2"), "no setting 'wings'"),
        (("--device", "cuda:17"), "cpu"),
    ],
)
def test_wrong_names_of_solvers_settings_and_devices(tmp_path, arguments, word):
    done = run("bake", write(tmp_path, box()), "-o", tmp_path / "out.usda", *arguments)
    assert done.code == 2
    assert len(done.complaints) == 1
    assert word in done.err
    assert names(tmp_path) == {"stage.usda"}


def test_debug_shows_where(tmp_path):
    done = run_process("info", tmp_path / "missing.usda", "--debug")
    assert done.code == 1
    assert "Traceback" in done.err


def test_missing_reference_is_told_and_the_rest_simulates(tmp_path):
    source = write(tmp_path, box(), '    def "Robot" (references = @./gone.usda@) {}\n')
    done = run_process("bake", source, "-o", tmp_path / "out.usda", "--duration", "0.1")
    assert done.code == 0
    assert done.err == ""
    assert "gone.usda" in run("check", source).out


@pytest.mark.parametrize(
    ("key", "words"),
    [("timeCodesPerSecond = 1e-300", "steps"), ("timeCodesPerSecond = 60\n    endTimeCode = 1e300", "frames")],
)
def test_times_that_would_never_end(tmp_path, key, words):
    source = write(tmp_path, box(), head=f'#usda 1.0\n(\n    metersPerUnit = 1\n    upAxis = "Z"\n    {key}\n)\n')
    done = run("bake", source, "-o", tmp_path / "out.usda", "--frames", 1) if words == "steps" else run("bake", source)
    assert done.code == 1
    assert len(done.complaints) == 1
    assert words in done.err
