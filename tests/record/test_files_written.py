"""What a recording leaves on disk: layers, metadata, formats, clips, and nothing where it fails."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from pxr import Gf, Sdf, Usd, UsdGeom
from record.recording import assert_moves, random_motion, record, save_stage

from usd_sim.errors import UsdSimError
from usd_sim.record import Recorder

ROOT = Path(__file__).resolve().parents[2]


def _two_bodies(stage: Usd.Stage) -> None:
    stage.SetDefaultPrim(UsdGeom.Xform.Define(stage, "/World").GetPrim())
    for name in ("a", "b"):
        UsdGeom.Xform.Define(stage, f"/World/{name}").AddTranslateOp().Set(Gf.Vec3d(1, 2, 3))
    UsdGeom.Xform.Define(stage, "/Other").AddTranslateOp().Set(Gf.Vec3d(1, 2, 3))


PATHS = ["/World/a", "/World/b", "/Other"]


@pytest.fixture
def stage(tmp_path: Path) -> Usd.Stage:
    return save_stage(tmp_path / "scene", _two_bodies)


def _names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_results_lie_over_an_untouched_source(stage: Usd.Stage, tmp_path: Path):
    source = Path(stage.GetRootLayer().realPath)
    before = source.read_bytes(), source.stat().st_mtime_ns
    poses = random_motion(3, 5)
    result = record(stage, PATHS, tmp_path / "made" / "deep" / "out.usda", poses)
    assert (source.read_bytes(), source.stat().st_mtime_ns) == before
    assert not stage.GetRootLayer().dirty
    assert _names(tmp_path / "made" / "deep") == ["out.results.usdc", "out.usda"]
    assert result.root == tmp_path / "made" / "deep" / "out.usda"
    assert result.results == [tmp_path / "made" / "deep" / "out.results.usdc"]
    root = Sdf.Layer.FindOrOpen(str(result.root))
    assert list(root.subLayerPaths) == ["./out.results.usdc", "../../scene/source.usda"]
    assert not root.rootPrims
    assert_moves(stage, result.root, PATHS, poses)


def test_the_folder_can_be_moved_as_a_whole(stage: Usd.Stage, tmp_path: Path):
    poses = random_motion(3, 3)
    record(stage, PATHS, tmp_path / "scene" / "out.usda", poses)
    (tmp_path / "scene").rename(tmp_path / "moved")
    assert_moves(stage, tmp_path / "moved" / "out.usda", PATHS, poses)


def test_a_folder_behind_a_link_opens_from_both_sides(stage: Usd.Stage, tmp_path: Path):
    (tmp_path / "far" / "away").mkdir(parents=True)
    (tmp_path / "near").symlink_to(tmp_path / "far" / "away")
    poses = random_motion(3, 3)
    record(stage, PATHS, tmp_path / "near" / "out.usda", poses)
    for folder in ("near", "far/away"):
        assert_moves(stage, tmp_path / folder / "out.usda", PATHS, poses)


def test_root_repeats_what_usd_reads_from_the_root_alone(tmp_path: Path):
    def author(stage: Usd.Stage) -> None:
        _two_bodies(stage)
        layer = stage.GetRootLayer()
        UsdGeom.SetStageMetersPerUnit(stage, 0.01)
        UsdGeom.SetStageUpAxis(stage, UsdGeom.Tokens.y)
        stage.SetMetadata("kilogramsPerUnit", 0.001)
        layer.timeCodesPerSecond, layer.framesPerSecond = 48, 12
        layer.startTimeCode, layer.endTimeCode = 10, 500
        layer.expressionVariables = {"VARIANT": "high"}

    stage = save_stage(tmp_path, author)
    opened = Usd.Stage.Open(str(record(stage, PATHS, tmp_path / "out.usda", random_motion(3, 3), fps=24).root))
    for key in ("metersPerUnit", "kilogramsPerUnit", "upAxis", "defaultPrim", "framesPerSecond", "expressionVariables"):
        assert opened.GetMetadata(key) == stage.GetMetadata(key), key
    assert opened.GetTimeCodesPerSecond() == 48
    assert (opened.GetStartTimeCode(), opened.GetEndTimeCode()) == (10, 500)
    assert opened.GetPrimAtPath("/World/a").GetAttribute("xformOp:translate").GetTimeSamples() == [10, 12, 14]


@pytest.mark.parametrize(
    ("rates", "fps", "start", "expected"),
    [
        ({}, 24, None, [0, 1, 2]),
        ({}, 60, None, [0, 0.4, 0.8]),
        ({"timeCodesPerSecond": 60}, 30, None, [0, 2, 4]),
        ({"framesPerSecond": 30}, 60, None, [0, 0.5, 1]),
        ({"timeCodesPerSecond": 1000}, 3, 7.0, [7, 7 + 1000 / 3, 7 + 2000 / 3]),
        ({"startTimeCode": 101}, 24, None, [101, 102, 103]),
    ],
)
def test_times_of_samples(rates: dict, fps: float, start: float | None, expected: list[float], tmp_path: Path):
    def author(stage: Usd.Stage) -> None:
        _two_bodies(stage)
        for name, value in rates.items():
            setattr(stage.GetRootLayer(), name, value)
        # a source sample tells whether the source is rescaled under the root
        UsdGeom.Xform.Define(stage, "/Clock").AddTranslateOp().Set(Gf.Vec3d(1, 0, 0), 77)

    stage = save_stage(tmp_path, author)
    result = record(stage, PATHS, tmp_path / "out.usda", random_motion(3, 3), fps=fps, start_time_code=start)
    opened = Usd.Stage.Open(str(result.root))
    assert opened.GetPrimAtPath("/Other").GetAttribute("xformOp:translate").GetTimeSamples() == expected
    assert opened.GetPrimAtPath("/Clock").GetAttribute("xformOp:translate").GetTimeSamples() == [77]
    assert (opened.GetStartTimeCode(), opened.GetEndTimeCode()) == (expected[0], expected[-1])
    assert opened.GetTimeCodesPerSecond() == stage.GetTimeCodesPerSecond()


def test_usda_results(stage: Usd.Stage, tmp_path: Path):
    poses = random_motion(3, 3)
    result = record(stage, PATHS, tmp_path / "out.usda", poses, format="usda")
    assert result.results[0].read_text().startswith("#usda")
    assert_moves(stage, result.root, PATHS, poses)


@pytest.mark.parametrize("suffix", ["usda", "usdc"])
@pytest.mark.parametrize("in_memory", [False, True])
def test_flattened_recording_needs_no_other_file(suffix: str, in_memory: bool, stage: Usd.Stage, tmp_path: Path):
    if in_memory:
        copy = Usd.Stage.CreateInMemory()
        copy.GetRootLayer().TransferContent(stage.GetRootLayer())
        stage = copy
    poses = random_motion(3, 4)
    result = record(stage, PATHS, tmp_path / "flat" / f"out.{suffix}", poses, flatten=True)
    assert _names(tmp_path / "flat") == [f"out.{suffix}"]
    assert result.results == []
    opened = assert_moves(stage, result.root, PATHS, poses)
    assert set(opened.GetUsedLayers()) == {opened.GetRootLayer(), opened.GetSessionLayer()}
    assert opened.GetDefaultPrim().GetPath() == "/World"
    assert (opened.GetStartTimeCode(), opened.GetEndTimeCode()) == (0, 3)


def test_flattened_recording_refers_to_textures_relatively(tmp_path: Path):
    (tmp_path / "scene" / "wood.png").parent.mkdir()
    (tmp_path / "scene" / "wood.png").touch()

    def author(stage: Usd.Stage) -> None:
        _two_bodies(stage)
        prim = stage.GetPrimAtPath("/World/a")
        prim.CreateAttribute("texture", Sdf.ValueTypeNames.Asset).Set(Sdf.AssetPath("./wood.png"))

    stage = save_stage(tmp_path / "scene", author)
    result = record(stage, PATHS, tmp_path / "flat" / "out.usda", random_motion(3, 2), flatten=True)
    opened = Usd.Stage.Open(str(result.root))
    asset = opened.GetPrimAtPath("/World/a").GetAttribute("texture").Get()
    assert asset.path == "../scene/wood.png"
    assert asset.resolvedPath == str(tmp_path / "scene" / "wood.png")


@pytest.mark.parametrize("clips", [1, 3, 4, 100])
@pytest.mark.parametrize("samples", [1, 9, 10])
def test_clips_read_like_one_layer(clips: int, samples: int, stage: Usd.Stage, tmp_path: Path):
    poses = random_motion(3, samples)
    whole = record(stage, PATHS, tmp_path / "whole.usda", poses)
    split = record(stage, PATHS, tmp_path / "clips" / "out.usda", poses, clips=clips)
    frames = samples - 1
    files = max(1, -(-frames // clips))
    assert len(split.results) == files + 2
    assert all(path.exists() for path in split.results)
    assert split.samples == samples
    opened, reference = Usd.Stage.Open(str(split.root)), Usd.Stage.Open(str(whole.root))
    for path in PATHS:
        for name in ("xformOp:translate", "xformOp:orient"):
            clipped = opened.GetPrimAtPath(path).GetAttribute(name)
            single = reference.GetPrimAtPath(path).GetAttribute(name)
            assert clipped.GetTimeSamples() == single.GetTimeSamples()
            for time in np.arange(-1.0, samples + 1, 0.25):
                assert clipped.Get(time) == single.Get(time), (path, name, time)


def test_velocities_are_in_the_parent_s_space(tmp_path: Path):
    def author(stage: Usd.Stage) -> None:
        UsdGeom.SetStageMetersPerUnit(stage, 0.01)
        for name, scale in (
            ("plain", Gf.Vec3f(2, 2, 2)),
            ("mirrored", Gf.Vec3f(1, -1, 1)),
            ("uneven", Gf.Vec3f(1, 2, 3)),
        ):
            parent = UsdGeom.Xform.Define(stage, f"/{name}")
            parent.AddRotateXYZOp().Set(Gf.Vec3f(30, 40, 50))
            parent.AddScaleOp().Set(scale)
            UsdGeom.Xform.Define(stage, f"/{name}/body")

    paths = ["/plain/body", "/mirrored/body", "/uneven/body"]
    stage = save_stage(tmp_path, author)
    rng = np.random.default_rng(3)
    linear, angular, com = rng.normal(size=(3, 3, 3))
    step = 1.0e-5
    poses = np.zeros((2, 3, 7))
    poses[..., 6] = 1.0
    # the motion of the origin while the body turns about its centre of mass
    origin = linear - np.cross(angular, com)
    poses[1, :, :3] = step * origin
    poses[1, :, 3:6] = 0.5 * step * angular
    output = tmp_path / "out.usda"
    with Recorder(stage, paths, output=output, frames=1, fps=24, velocities=True, body_com=com) as recorder:
        for index, frame in enumerate(poses):
            recorder.frame(index, frame, np.concatenate([linear, angular], axis=1))
        recorder.finish()
    opened = Usd.Stage.Open(str(output))
    # differences of quatf over a small turn leave few digits
    for row, path in enumerate(paths):
        prim = opened.GetPrimAtPath(path)
        positions = [np.array(prim.GetAttribute("xformOp:translate").Get(time)) for time in (0, 1)]
        rate = (positions[1] - positions[0]) / step
        velocity = np.array(prim.GetAttribute("physics:velocity").Get(0))
        np.testing.assert_allclose(velocity, rate, rtol=1e-5, atol=1e-4)  # vector3f, values of about 100
        cache = UsdGeom.XformCache()
        parent = np.array(cache.GetLocalToWorldTransform(prim.GetParent()))[:3, :3]
        axes = parent / np.linalg.norm(parent, axis=1, keepdims=True)
        local = np.degrees(np.linalg.det(axes) * angular[row] @ axes.T)
        spin = np.array(prim.GetAttribute("physics:angularVelocity").Get(1))
        np.testing.assert_allclose(spin, local, rtol=1e-5, atol=1e-4)  # vector3f, values of about 100


def test_velocities_without_centres_stay_at_the_centre_of_mass(stage: Usd.Stage, tmp_path: Path):
    velocity = np.arange(18.0).reshape(3, 6)
    with Recorder(stage, PATHS, output=tmp_path / "out.usda", frames=0, fps=24, velocities=True) as recorder:
        recorder.frame(0, random_motion(3, 1)[0], velocity)
        recorder.finish()
    opened = Usd.Stage.Open(str(tmp_path / "out.usda"))
    assert opened.GetPrimAtPath("/World/b").GetAttribute("physics:velocity").Get(0) == Gf.Vec3f(6, 7, 8)


def test_joint_state_is_in_degrees_and_stage_lengths(tmp_path: Path):
    def author(stage: Usd.Stage) -> None:
        _two_bodies(stage)
        UsdGeom.SetStageMetersPerUnit(stage, 0.1)
        stage.DefinePrim("/World/joint", "PhysicsJoint")
        existing = stage.GetPrimAtPath("/World/joint").CreateAttribute(
            "state:linear:physics:position", Sdf.ValueTypeNames.Double
        )
        existing.Set(0.0)

    stage = save_stage(tmp_path, author)
    dofs = [("/World/joint", "rotX", True), ("/World/joint", "linear", False)]
    with Recorder(stage, PATHS, output=tmp_path / "out.usda", frames=0, fps=24, joint_dofs=dofs) as recorder:
        recorder.frame(0, random_motion(3, 1)[0], joint_q=[np.pi, 0.25], joint_qd=[-np.pi / 2, 0.5])
        recorder.finish()
    opened = Usd.Stage.Open(str(tmp_path / "out.usda"))
    joint = opened.GetPrimAtPath("/World/joint")
    values = {
        name: joint.GetAttribute(f"state:{name}").Get(0)
        for name in (
            "rotX:physics:position",
            "rotX:physics:velocity",
            "linear:physics:position",
            "linear:physics:velocity",
        )
    }
    assert list(values.values()) == pytest.approx([180.0, -90.0, 2.5, 5.0], rel=1e-6)  # floats
    assert str(joint.GetAttribute("state:linear:physics:position").GetTypeName()) == "double"


def test_existing_files_are_kept_unless_told(stage: Usd.Stage, tmp_path: Path):
    output = tmp_path / "bake" / "out.usda"
    first = random_motion(3, 3)
    record(stage, PATHS, output, first, clips=1)
    before = {path: path.read_bytes() for path in output.parent.iterdir()}
    with pytest.raises(UsdSimError, match="exists") as caught:
        record(stage, PATHS, output, first)
    assert "--overwrite" in caught.value.remedy
    assert {path: path.read_bytes() for path in output.parent.iterdir()} == before
    second = random_motion(3, 3, seed=9)
    record(stage, PATHS, output, second, overwrite=True)
    assert _names(output.parent) == ["out.results.usdc", "out.usda"]
    assert_moves(stage, output, PATHS, second)


def test_open_stages_see_the_new_recording(stage: Usd.Stage, tmp_path: Path):
    output = tmp_path / "out.usda"
    record(stage, PATHS, output, random_motion(3, 3))
    opened = Usd.Stage.Open(str(output))
    second = random_motion(3, 3, seed=9)
    record(stage, PATHS, output, second, overwrite=True)
    position = opened.GetPrimAtPath("/Other").GetAttribute("xformOp:translate").Get(2)
    np.testing.assert_allclose(np.array(position), second[2, 2, :3], rtol=1e-12)  # doubles throughout


def test_a_layer_of_the_source_is_never_replaced(stage: Usd.Stage, tmp_path: Path):
    source = Path(stage.GetRootLayer().realPath)
    with pytest.raises(UsdSimError, match="its own source"):
        record(stage, PATHS, source, random_motion(3, 2), overwrite=True)
    baked = record(stage, PATHS, tmp_path / "out.usda", random_motion(3, 2)).root
    again = Usd.Stage.Open(str(baked))
    with pytest.raises(UsdSimError, match="its own source"):
        record(again, PATHS, baked, random_motion(3, 2), overwrite=True)


def test_a_recording_can_be_recorded_again(stage: Usd.Stage, tmp_path: Path):
    first = record(stage, PATHS, tmp_path / "one.usda", random_motion(3, 4))
    again = Usd.Stage.Open(str(first.root))
    poses = random_motion(3, 4, seed=5)
    second = record(again, PATHS, tmp_path / "two.usda", poses)
    assert_moves(stage, second.root, PATHS, poses)


def test_stages_in_memory_need_a_file_or_flatten(tmp_path: Path):
    stage = Usd.Stage.CreateInMemory()
    UsdGeom.Xform.Define(stage, "/Other")
    with pytest.raises(UsdSimError, match="only in memory") as caught:
        Recorder(stage, ["/Other"], output=tmp_path / "out.usda", frames=1, fps=24)
    assert "--flatten" in caught.value.remedy


def test_unsaved_and_session_edits_are_told(stage: Usd.Stage, tmp_path: Path):
    stage.GetPrimAtPath("/Other").GetAttribute("xformOp:translate").Set(Gf.Vec3d(0, 0, 0))
    with Usd.EditContext(stage, stage.GetSessionLayer()):
        stage.DefinePrim("/extra")
    notes = record(stage, PATHS, tmp_path / "out.usda", random_motion(3, 2)).notes
    assert [note for note in notes if "session" in note]
    assert [note for note in notes if "unsaved" in note and "source.usda" in note]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"fps": 0}, "frame rate"),
        ({"fps": float("nan")}, "frame rate"),
        ({"frames": -1}, "negative"),
        ({"clips": 0}, "clip"),
        ({"clips": 2, "flatten": True}, "several files"),
        ({"format": "usdz"}, "unknown format"),
        ({"output": "out.json"}, "not named as a USD layer"),
        ({"output": "."}, "not named as a USD layer"),
    ],
)
def test_wrong_options_are_refused(options: dict, message: str, stage: Usd.Stage, tmp_path: Path):
    options = {"output": "out.usda", "frames": 1, "fps": 24} | options
    with pytest.raises(UsdSimError, match=message):
        Recorder(stage, PATHS, **options | {"output": tmp_path / options["output"]})
    assert _names(tmp_path) == ["scene"]


def test_unfinished_and_failed_recordings_leave_nothing(stage: Usd.Stage, tmp_path: Path):
    poses = random_motion(3, 4)
    output = tmp_path / "new" / "folder" / "out.usda"
    with Recorder(stage, PATHS, output=output, frames=3, fps=24, clips=1) as recorder:
        recorder.frame(0, poses[0])
        recorder.frame(1, poses[1])
        with pytest.raises(ValueError, match="2 samples of 4"):
            recorder.finish()
    assert _names(tmp_path) == ["scene"]
    with Recorder(stage, PATHS, output=output, frames=3, fps=24) as recorder:
        bad = poses[0].copy()
        bad[1, 2] = np.nan
        with pytest.raises(UsdSimError, match="not finite") as caught:
            recorder.frame(0, bad)
        assert caught.value.prim == "/World/b"
        with pytest.raises(ValueError, match="sample 1 given where 0"):
            recorder.frame(1, poses[1])
        with pytest.raises(ValueError, match="shape"):
            recorder.frame(0, poses[0, :2])
        with pytest.raises(ValueError, match="nothing to record"):
            recorder.finish_partial()
    assert _names(tmp_path) == ["scene"]


@pytest.mark.parametrize("options", [{}, {"clips": 2}, {"flatten": True}], ids=["plain", "clips", "flatten"])
@pytest.mark.parametrize("given", [1, 2, 3, 4])
def test_partial_recordings_keep_what_was_given(given: int, options: dict, stage: Usd.Stage, tmp_path: Path):
    poses = random_motion(3, given)
    with Recorder(stage, PATHS, output=tmp_path / "out.usda", frames=100, fps=24, **options) as recorder:
        for index, frame in enumerate(poses):
            recorder.frame(index, frame)
        result = recorder.finish_partial()
    assert result.samples == given
    opened = assert_moves(stage, result.root, PATHS, poses)
    assert opened.GetEndTimeCode() == given - 1
    assert opened.GetPrimAtPath("/Other").GetAttribute("xformOp:orient").GetTimeSamples() == list(range(given))


def test_a_stage_without_bodies_records_nothing_but_opens(stage: Usd.Stage, tmp_path: Path):
    for options in ({}, {"clips": 2}):
        result = record(stage, [], tmp_path / f"{len(options)}.usda", np.zeros((4, 0, 7)), **options)
        assert Usd.Stage.Open(str(result.root)).GetPrimAtPath("/World/a")


def test_long_recordings_are_written_in_several_batches(stage: Usd.Stage, tmp_path: Path):
    poses = random_motion(3, 150)
    result = record(stage, PATHS, tmp_path / "out.usda", poses)
    assert_moves(stage, result.root, PATHS, poses)


def test_frames_are_copied_from_the_caller_s_buffer(stage: Usd.Stage, tmp_path: Path):
    poses = random_motion(3, 3)
    buffer = np.empty((3, 7))
    with Recorder(stage, PATHS, output=tmp_path / "out.usda", frames=2, fps=24) as recorder:
        for index, frame in enumerate(poses):
            buffer[:] = frame
            recorder.frame(index, buffer)
        recorder.finish()
    assert_moves(stage, tmp_path / "out.usda", PATHS, poses)


def test_output_below_a_file_is_one_clear_error(stage: Usd.Stage, tmp_path: Path):
    (tmp_path / "file").touch()
    with pytest.raises(UsdSimError, match="cannot write") as caught:
        Recorder(stage, PATHS, output=tmp_path / "file" / "out.usda", frames=1, fps=24)
    assert "\n" not in str(caught.value)


def test_read_only_folder_is_one_clear_error(stage: Usd.Stage, tmp_path: Path):
    if os.geteuid() == 0:
        pytest.skip("root may write everywhere")
    folder = tmp_path / "locked"
    folder.mkdir(mode=0o500)
    with pytest.raises(UsdSimError, match="cannot write: Permission denied"):
        Recorder(stage, PATHS, output=folder / "out.usda", frames=1, fps=24)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A folder with room for 256 KiB."""
    folder = tmp_path / "small"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(command, capture_output=True, check=False).returncode != 0:
        pytest.skip("mounting a small disk needs root")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.parametrize(
    "options",
    [{}, {"format": "usda"}, {"clips": 500}, {"flatten": True}],
    ids=["usdc", "usda", "clips", "flatten"],
)
def test_full_disk_is_one_clear_error_and_leaves_nothing(options: dict, stage: Usd.Stage, small_disk: Path):
    poses = random_motion(3, 4000)
    with pytest.raises(UsdSimError, match="No space left") as caught:
        record(stage, PATHS, small_disk / "out.usda", poses, **options)
    assert "\n" not in str(caught.value)
    assert "space" in caught.value.remedy
    assert _names(small_disk) == []


def test_full_disk_keeps_the_earlier_recording(stage: Usd.Stage, small_disk: Path):
    first = random_motion(3, 3)
    record(stage, PATHS, small_disk / "out.usda", first)
    with pytest.raises(UsdSimError, match="No space left"):
        record(stage, PATHS, small_disk / "out.usda", random_motion(3, 4000), overwrite=True)
    assert _names(small_disk) == ["out.results.usdc", "out.usda"]
    assert_moves(stage, small_disk / "out.usda", PATHS, first)


@pytest.mark.parametrize("clips", [None, 10])
def test_a_killed_run_leaves_no_file_under_a_final_name(clips: int | None, stage: Usd.Stage, tmp_path: Path):
    output = tmp_path / "bake" / "out.usda"
    script = textwrap.dedent("""
        import sys, numpy as np
        from pxr import Usd
        from usd_sim.record import Recorder
        source, output, clips = sys.argv[1:]
        stage = Usd.Stage.Open(source)
        recorder = Recorder(stage, ["/Other"], output=output, frames=10**9, fps=24, clips=int(clips) or None)
        index = 0
        while True:
            recorder.frame(index, np.array([[index, 0, 0, 0, 0, 0, 1.0]]))
            index += 1
            if index == 200:
                print("started", flush=True)
    """)
    arguments = [stage.GetRootLayer().realPath, str(output), str(clips or 0)]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(
        [sys.executable, "-c", script, *arguments], stdout=subprocess.PIPE, text=True, env=environment
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "started\n"
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    assert [name for name in _names(output.parent) if not name.startswith(".")] == []
    # and the next run is not in its way
    poses = random_motion(3, 2)
    assert_moves(stage, record(stage, PATHS, output, poses).root, PATHS, poses)


def test_stock_usd_opens_the_recording_without_this_package(stage: Usd.Stage, tmp_path: Path):
    poses = random_motion(3, 3)
    result = record(stage, PATHS, tmp_path / "out.usda", poses, velocities=False)
    script = (
        "import sys; from pxr import Usd, UsdGeom\n"
        "stage = Usd.Stage.Open(sys.argv[1]); cache = UsdGeom.XformCache(Usd.TimeCode(2))\n"
        "print(*cache.GetLocalToWorldTransform(stage.GetPrimAtPath('/World/b')).ExtractTranslation())\n"
        "assert not any(name.startswith('usd_sim') for name in sys.modules)"
    )
    command = [sys.executable, "-I", "-c", script, str(result.root)]
    printed = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
    np.testing.assert_allclose([float(word) for word in printed.stdout.split()], poses[2, 1, :3], rtol=1e-9)
    assert printed.stderr == ""
