"""A pool of processes that bake. One that dies fails the job that it was at, and no other."""

from __future__ import annotations

import multiprocessing
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection, wait
from typing import Any

from usd_sim.bake.batch import Failure, Job, Outcome, attempt
from usd_sim.bake.job import Progress
from usd_sim.errors import ExitCode

__all__ = ["run_in_processes"]

_SECONDS_BETWEEN_REPORTS = 0.1
_SECONDS_TO_CLEAN_UP = 20.0
"""How long a process that was told to stop may take before it is killed [s]."""


class _Worker:
    """A process that takes jobs over a pipe, one after the other."""

    def __init__(self, context: Any):
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(theirs,), daemon=True)
        self.process.start()
        theirs.close()
        self.index: int | None = None

    def give(self, index: int, job: Job) -> None:
        """Hand over a job."""
        self.index = index
        self.pipe.send((index, job))

    def death(self, job: Job) -> Outcome:
        """Return the outcome of a job that the process did not survive."""
        self.process.join()
        code = self.process.exitcode or 0
        how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
        message = f"{job.source}: the process that baked it {how} (out of memory? try fewer --jobs)"
        return Outcome(job, failure=Failure(message, int(ExitCode.FAILED), False, ""))


def run_in_processes(
    jobs: Sequence[Job], processes: int, progress: Callable[[int, Progress], None]
) -> Iterator[tuple[int, Outcome]]:
    """Run jobs in several processes and yield (index, outcome) as each ends."""
    context = multiprocessing.get_context("spawn")  # a fork of a process with USD's threads in it would hang
    waiting = list(enumerate(jobs))[::-1]
    workers: list[_Worker] = []
    try:
        for _ in range(processes):
            workers.append(_Worker(context))
            workers[-1].give(*waiting.pop())
        while workers:
            ready = wait([worker.pipe for worker in workers])
            for worker in [worker for worker in workers if worker.pipe in ready]:
                outcome = _receive(worker, jobs, progress)
                if outcome is None:
                    continue
                yield worker.index or 0, outcome
                if not worker.process.is_alive():
                    workers.remove(worker)
                    if waiting:
                        workers.append(_Worker(context))
                        workers[-1].give(*waiting.pop())
                elif waiting:
                    worker.give(*waiting.pop())
                else:
                    worker.pipe.close()
                    worker.process.join()
                    workers.remove(worker)
    finally:
        _stop(workers)


def _receive(worker: _Worker, jobs: Sequence[Job], progress: Callable[[int, Progress], None]) -> Outcome | None:
    """Take one message: pass on a report of progress and return None, or return the outcome."""
    index = worker.index or 0
    try:
        message = worker.pipe.recv()
    except (EOFError, OSError):
        return worker.death(jobs[index])
    if isinstance(message, Outcome):
        return message
    progress(index, message)
    return None


def _stop(workers: Sequence[_Worker]) -> None:
    for worker in workers:
        worker.process.terminate()
    for worker in workers:
        worker.process.join(_SECONDS_TO_CLEAN_UP)
        if worker.process.is_alive():
            worker.process.kill()
        worker.pipe.close()


# --- inside the process ---------------------------------------------------------------------------------------------


def _serve(pipe: Connection) -> None:
    """Bake what comes over the pipe until it closes."""
    from usd_sim.model import warp_runtime
    from usd_sim.stage.diagnostics import collect

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it to all; the parent decides
    signal.signal(signal.SIGTERM, _leave)
    warp_runtime.start()
    with collect():
        try:
            while True:
                _, job = pipe.recv()
                pipe.send(attempt(job, _Reporter(pipe)))
        except (EOFError, OSError):
            return  # no more jobs, or nobody left who waits for them


def _leave(signum: int, frame: Any) -> None:
    raise SystemExit(128 + signum)


class _Reporter:
    """Sends progress on, but not more often than anyone can see."""

    def __init__(self, pipe: Connection):
        self.pipe, self.phase, self.next = pipe, "", 0.0

    def __call__(self, step: Progress) -> None:
        now = time.monotonic()
        if step.phase == self.phase and now < self.next:
            return
        self.phase, self.next = step.phase, now + _SECONDS_BETWEEN_REPORTS
        self.pipe.send(step)
