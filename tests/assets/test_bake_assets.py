"""Every stage by other authors that holds rigid bodies bakes: finite, complete, the source left as it was."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

import usd_sim

ROOT = Path(__file__).resolve().parents[3] / "shared" / "assets"
SECONDS, FPS = 2.0, 30

WITHOUT_BODIES = {
    "bunny.usd",
    "crazyflie.usd",
    "deformables_mixed.usda",
    "mpm_sand.usda",
    "tetmesh_simple.usda",
    "tetmesh_with_material.usda",
    "unisex_shirt.usd",
}

STILL = {
    "acrobot.usda": "balances upright",
    "pendulum.usda": "balances upright",
    "cart-pole.usda": "balances upright",
    "cartpole.usda": "balances upright",
    "physics.usda": "is fixed to the world or balances",
    "2dof_planar.usda": "swings in a horizontal plane",
    "two-link planar reacher.usda": "moves in a horizontal plane, with nothing that drives it",
    "revolute_articulation.usda": "is held by its drive",
    "test_joint_fixed_unary.usda": "is fixed to the world",
    "actuator_test.usda": "has no gravity",
}
"""Stages on which nothing moves, and why."""

INSPECT = """
import json, sys
from pxr import Usd, UsdGeom
assert not any(name.startswith("usd_sim") for name in sys.modules)
answers = {}
for name, (path, bodies) in json.load(sys.stdin).items():
    stage = Usd.Stage.Open(path)
    prims = [stage.GetPrimAtPath(body) for body in bodies]
    samples = [prim.GetAttribute("xformOp:translate").GetNumTimeSamples() for prim in prims]
    poses = []
    for time in (stage.GetStartTimeCode(), stage.GetEndTimeCode()):
        cache = UsdGeom.XformCache(time)
        poses.append([[x for row in cache.GetLocalToWorldTransform(prim) for x in row] for prim in prims])
    moved = max(abs(a - b) for p, q in zip(*poses) for a, b in zip(p, q))
    finite = all(x == x and abs(x) < 1e12 for pose in poses for p in pose for x in p)
    answers[name] = {"samples": samples, "moved": moved, "finite": finite}
json.dump(answers, sys.stdout)
"""


def stages() -> list[Path]:
    """Return the interface layers of all assets with rigid bodies."""
    found = [path for folder in ("usd", "mjcf", "urdf") for path in (ROOT / folder).rglob("*.usd*")]
    return sorted(path for path in found if "Payload" not in path.parts and path.name not in WITHOUT_BODIES)


def digest() -> dict[str, str]:
    """Return a checksum of every file of the assets."""
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in ROOT.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def bakes(tmp_path_factory):
    """Bake everything once and let stock USD inspect the results in a process of its own."""
    if not ROOT.is_dir():
        pytest.skip("the assets folder is not beside the checkout")
    folder = tmp_path_factory.mktemp("bakes")
    before, results, request = digest(), {}, {}
    for path in stages():
        name = str(path.relative_to(ROOT))
        output = folder / f"{len(results)}.usda"
        results[name] = usd_sim.bake(path, output, duration=SECONDS, fps=FPS)
        request[name] = (str(output), list(usd_sim.load(path, device="cpu").body_path))
    assert digest() == before, "a source file changed"
    done = subprocess.run(
        [sys.executable, "-I", "-c", INSPECT], input=json.dumps(request), capture_output=True, text=True, check=True
    )
    return results, json.loads(done.stdout)


@pytest.mark.slow
@pytest.mark.parametrize("name", [str(path.relative_to(ROOT)) for path in stages()] if ROOT.is_dir() else [])
def test_bakes(bakes, name):
    result, seen = bakes[0][name], bakes[1][name]
    frames = round(SECONDS * FPS)
    assert result.diverged is None
    assert result.frames == frames
    assert seen["samples"] == [frames + 1] * result.bodies
    assert seen["finite"]
    if Path(name).name not in STILL:
        assert seen["moved"] > 1e-3
