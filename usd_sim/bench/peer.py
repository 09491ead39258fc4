"""One measurement of the peer, run by an interpreter that has the package newton: ``peer.py KIND STAGE`` prints JSON.

It uses nothing of usd-sim. ``load`` times file to finalized model, libraries and Warp being ready; ``step`` the eager
loop that its users write; ``cold`` everything from an empty process to the end of the first step. All run on the CPU.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any

_STARTED = time.perf_counter()
_STEPS, _DT = 200, 0.002


def _build(stage: str) -> Any:
    import newton  # type: ignore[import-not-found]

    builder = newton.ModelBuilder()
    newton.solvers.SolverMuJoCo.register_custom_attributes(builder)
    builder.add_usd(stage)
    return builder.finalize(device="cpu")


def _loop(model: Any) -> Callable[[], None]:
    import newton

    solver = newton.solvers.SolverMuJoCo(model, use_mujoco_cpu=True)
    states = [model.state(), model.state()]
    control = model.control()

    def step() -> None:
        states[0].clear_forces()
        solver.step(states[0], states[1], control, None, _DT)
        states.reverse()

    return step


def main() -> None:
    """Measure what the arguments say and print it as JSON."""
    kind, stage = sys.argv[1:]
    import newton  # noqa: F401
    import warp

    if kind == "load":
        warp.init()
        start = time.perf_counter()
        model = _build(stage)
        found = {"seconds": time.perf_counter() - start, "bodies": model.body_count}
    else:
        step = _loop(_build(stage))
        step()
        found = {"seconds": time.perf_counter() - _STARTED}
        if kind == "step":
            for _ in range(10):
                step()
            start = time.perf_counter()
            for _ in range(_STEPS):
                step()
            found["ms"] = (time.perf_counter() - start) / _STEPS * 1e3
    print(json.dumps(found))


if __name__ == "__main__":
    main()
