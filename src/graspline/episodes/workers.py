"""Worker processes that execute jobs, and are replaced when they die."""

from __future__ import annotations

import multiprocessing
import os
import threading
import traceback
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from types import TracebackType
from typing import Any, NoReturn, Self

from graspline.episodes.processes import deaf_to_interrupts, environment
from graspline.errors import EnvironmentProblem, GrasplineError

# What a worker's environment holds before it starts: one thread each, for the workers fill the cores.
ENVIRONMENT = {
    "LP_NUM_THREADS": "0",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MUJOCO_GL": "disable",
}
# A job that has ended this many workers is the cause, not the victim.
MOST_DEATHS = 3

# What a worker does with a job; has to be a function that another process finds by its name.
Do = Callable[[Any], Any]
# What a worker does before its first job.
Prepare = Callable[[], object]


@dataclass(frozen=True, slots=True)
class Filled:
    """A job's ticket and what came of it."""

    ticket: int
    result: Any


@dataclass(frozen=True, slots=True)
class WorkerFailure:
    """An exception in a worker, as text: the message for the caller and whose fault it is."""

    message: str
    trace: str
    kind: type[Exception] | None


class Worker:
    """A process of ours."""

    def __init__(self, do: Do, prepare: Prepare | None = None) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process: BaseProcess = context.Process(target=_work, args=(theirs, do, prepare), daemon=True)
        self.ticket: int | None = None
        try:
            with environment(ENVIRONMENT), deaf_to_interrupts():
                self.process.start()
        except BaseException:
            self.end()
            raise
        finally:
            theirs.close()

    def end(self) -> None:
        """At once: a worker owns nothing that outlives it."""
        self.pipe.close()
        if self.process.pid is not None:
            self.process.kill()


class WorkerPool:
    """`size` spawned processes, one job each at a time. A killed one's job is executed again by another."""

    def __init__(self, size: int, do: Do, prepare: Prepare | None = None) -> None:
        self.size, self._do, self._prepare = size, do, prepare
        self._workers: list[Worker] = []
        self._jobs: dict[int, Any] = {}
        self._waiting: deque[int] = deque()
        self._deaths: Counter[int] = Counter()

    def __enter__(self) -> Self:
        try:
            for _ in range(self.size):
                self._workers.append(self._new_worker())
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    def _new_worker(self) -> Worker:
        return Worker(self._do, self._prepare)

    def _end(self) -> None:
        for worker in self._workers:
            worker.end()
        for worker in self._workers:
            worker.process.join()
        self._workers = []

    @property
    def free(self) -> int:
        """How many jobs can be submitted now."""
        return self.size - len(self._jobs)

    def submit(self, ticket: int, job: Any) -> None:
        """Put a job into the queue."""
        self._jobs[ticket] = job
        self._waiting.append(ticket)
        self._hand_out()

    def results_within(self, timeout_s: float) -> Sequence[Filled]:
        """What came of jobs that were executed; none if there is none yet after this time."""
        assert self._jobs, "nothing to wait for"
        return self._filled((), timeout_s)

    def _filled(self, others: Sequence[Connection], timeout_s: float | None = None) -> list[Filled]:
        """Wait until a worker or one of the others has sent something, or the time is up."""
        self._hand_out()
        pipes = {worker.pipe: worker for worker in self._workers if worker.ticket is not None}
        found: list[Filled] = []
        for ready in wait([*pipes, *others], timeout_s):
            assert isinstance(ready, Connection)
            if ready in pipes:
                found += self._collect(pipes[ready])
        return found

    def _hand_out(self) -> None:
        for worker in list(self._workers):
            if not self._waiting:
                return
            if worker.ticket is None:
                worker.ticket = self._waiting.popleft()
                try:
                    worker.pipe.send(self._jobs[worker.ticket])
                except OSError:
                    self._replace(worker)

    def _collect(self, worker: Worker) -> list[Filled]:
        assert worker.ticket is not None
        try:
            result = worker.pipe.recv()
        except (EOFError, OSError):
            # The end of the pipe, or of a message that was being sent.
            self._replace(worker)
            return []
        ticket, worker.ticket = worker.ticket, None
        del self._jobs[ticket]
        if isinstance(result, WorkerFailure):
            raise_failure(result)
        return [Filled(ticket, result)]

    def _replace(self, worker: Worker) -> None:
        """Start another worker in place of one that died, and put its job back at the front."""
        assert worker.ticket is not None
        worker.end()
        worker.process.join()
        self._deaths[worker.ticket] += 1
        if self._deaths[worker.ticket] >= MOST_DEATHS:
            raise EnvironmentProblem(
                f"{MOST_DEATHS} workers died on the same job (exit code {worker.process.exitcode}); "
                "is there enough memory? Files written before are kept"
            )
        self._waiting.appendleft(worker.ticket)
        self._workers[self._workers.index(worker)] = self._new_worker()


def filled(job: Any, do: Do) -> Any:
    """Execute a job; what goes wrong comes back as a value."""
    try:
        return do(job)
    except Exception as error:
        return failure_of(error)


def failure_of(error: Exception) -> WorkerFailure:
    """The exception that is being handled, as it can be sent."""
    trace = traceback.format_exc()
    if isinstance(error, GrasplineError):
        return WorkerFailure(str(error), trace, type(error))
    if isinstance(error, OSError | MemoryError):
        return WorkerFailure(f"in a worker: {str(error) or 'out of memory'}", trace, EnvironmentProblem)
    return WorkerFailure(f"{type(error).__name__}: {error}", trace, None)


def raise_failure(failure: WorkerFailure) -> NoReturn:
    """Raise what a worker could not."""
    if failure.kind is not None:
        raise failure.kind(failure.message)
    raise RuntimeError(f"in a worker:\n{failure.trace}")


def _work(pipe: Connection, do: Do, prepare: Prepare | None) -> None:
    """A worker's life: jobs until the pipe closes."""
    threading.Thread(target=end_with_parent, daemon=True).start()
    if prepare is not None:
        prepare()
    while True:
        try:
            pipe.send(filled(pipe.recv(), do))
        except (EOFError, OSError):
            return


def end_with_parent() -> None:
    """A killed parent cannot end its workers; without this one would first finish its job."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(0)
