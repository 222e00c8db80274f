"""Who fills orders: processes of this machine, replaced when they die."""

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
from typing import Any, NoReturn, Protocol, Self

from graspline.datasets.work import ENVIRONMENT, Order, do, sit
from graspline.episodes.processes import deaf_to_interrupts, environment
from graspline.errors import EnvironmentProblem, GrasplineError
from graspline.rendering.drawers import Seat

# Attempts that are played side by side by one worker, at the most.
_BLOCK = 8
# An order that has cost so many workers their lives is the cause, not the victim.
MOST_DEATHS = 3
# By how much workers yield to the process that draws for them.
_GIVING_WAY = 5


# What a worker does with an order; has to be a function that another process finds by its name.
Do = Callable[[Order], Any]


@dataclass(frozen=True, slots=True)
class Filled:
    """An order and what came of it."""

    ticket: int
    result: Any


class Pool(Protocol):
    """Fills orders in any order, some at a time."""

    size: int

    def submit(self, ticket: int, order: Order) -> None: ...

    def results(self, *, hungry: bool = True) -> Sequence[Filled]:
        """Wait for at least one order to be filled, or a part of one; unless hungry, attempts may wait."""
        ...

    @property
    def free(self) -> int: ...

    def block(self, missing: int, waiting: int) -> int:
        """How many attempts to begin now, together: so many episodes are missing, and so many attempts are being
        played or wait to be drawn."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, trace: TracebackType | None
    ) -> None: ...


@dataclass(frozen=True, slots=True)
class Failure:
    """An exception in a worker, as text: what the caller should be told and whose fault it is."""

    message: str
    trace: str
    kind: type[Exception] | None


class Worker:
    """A process of ours, which may have a seat at one that draws."""

    def __init__(self, do: Do = do, seat: Seat | None = None) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process: BaseProcess = context.Process(target=_work, args=(theirs, do, seat), daemon=True)
        self.ticket: int | None = None
        try:
            with environment(ENVIRONMENT), deaf_to_interrupts():
                self.process.start()
        except BaseException:
            self.end()
            raise
        finally:
            theirs.close()
            if seat is not None:
                # Else nobody would notice that the worker has died.
                seat.connection.close()

    def end(self) -> None:
        """At once: a worker owns nothing that outlives it."""
        self.pipe.close()
        if self.process.pid is not None:
            self.process.kill()


class LocalPool:
    """`size` spawned processes, one order each at a time. A killed one's order is filled again by another."""

    def __init__(self, size: int, do: Do = do) -> None:
        self.size, self._do = size, do
        self._workers: list[Worker] = []
        self._orders: dict[int, Order] = {}
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
        return Worker(self._do)

    def _end(self) -> None:
        for worker in self._workers:
            worker.end()
        for worker in self._workers:
            worker.process.join()
        self._workers = []

    @property
    def free(self) -> int:
        return self.size - len(self._orders)

    def submit(self, ticket: int, order: Order) -> None:
        self._orders[ticket] = order
        self._waiting.append(ticket)
        self._hand_out()

    def block(self, missing: int, waiting: int) -> int:
        return block_for_each(self, missing, waiting)

    def results(self, *, hungry: bool = True) -> Sequence[Filled]:
        assert self._orders, "nothing to wait for"
        found: list[Filled] = []
        while not found:
            found = self._filled(())
        return found

    def _filled(self, others: Sequence[Connection]) -> list[Filled]:
        """Wait until a worker says something, or somebody else does."""
        self._hand_out()
        pipes = {worker.pipe: worker for worker in self._workers if worker.ticket is not None}
        found: list[Filled] = []
        for ready in wait([*pipes, *others]):
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
                    worker.pipe.send(self._orders[worker.ticket])
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
        del self._orders[ticket]
        if isinstance(result, Failure):
            raise_failure(result)
        return [Filled(ticket, result)]

    def _replace(self, worker: Worker) -> None:
        """Start another worker in place of one that died, and put its order back at the front."""
        assert worker.ticket is not None
        worker.end()
        worker.process.join()
        self._deaths[worker.ticket] += 1
        if self._deaths[worker.ticket] >= MOST_DEATHS:
            raise EnvironmentProblem(
                f"{MOST_DEATHS} workers died on the same order (exit code {worker.process.exitcode}); "
                "is there enough memory? what was committed stays"
            )
        self._waiting.appendleft(worker.ticket)
        self._workers[self._workers.index(worker)] = self._new_worker()


def block_for_each(pool: Pool, missing: int, waiting: int) -> int:
    """Attempts for one worker: a block, or what is missing shared among all; none while enough wait to be drawn."""
    if not pool.free or waiting > _BLOCK * pool.size:
        return 0
    return min(_BLOCK, -(-missing // pool.free))


def filled(order: Order, do: Do = do) -> Any:
    """Fill an order; what goes wrong comes back as a value."""
    try:
        return do(order)
    except Exception as error:
        return failure_of(error)


def failure_of(error: Exception) -> Failure:
    """The exception that is being handled, as it can be sent."""
    trace = traceback.format_exc()
    if isinstance(error, GrasplineError):
        return Failure(str(error), trace, type(error))
    if isinstance(error, OSError | MemoryError):
        return Failure(f"in a worker: {str(error) or 'out of memory'}", trace, EnvironmentProblem)
    return Failure(f"{type(error).__name__}: {error}", trace, None)


def raise_failure(failure: Failure) -> NoReturn:
    """Raise what a worker could not."""
    if failure.kind is not None:
        raise failure.kind(failure.message)
    raise RuntimeError(f"in a worker:\n{failure.trace}")


def _work(pipe: Connection, do: Do, seat: Seat | None) -> None:
    """A worker's life: orders until the pipe closes."""
    threading.Thread(target=end_with_parent, daemon=True).start()
    if seat is not None:
        sit(seat)
        # A GPU waits for who draws, and all workers for the GPU: they give way.
        os.nice(_GIVING_WAY)
    while True:
        try:
            pipe.send(filled(pipe.recv(), do))
        except (EOFError, OSError):
            return


def end_with_parent() -> None:
    """A killed parent cannot end its workers; without this one would first finish its order."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(0)
