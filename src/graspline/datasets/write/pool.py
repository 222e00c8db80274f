"""Worker processes that execute jobs on this machine; a dead one is replaced."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Protocol, Self

from graspline.datasets.write.jobs import Order, do
from graspline.episodes.workers import Do, Filled, Prepare, WorkerPool

# Attempts that are played side by side by one worker, at the most.
_BLOCK = 8


class Pool(Protocol):
    """Executes jobs in any order, some at a time."""

    size: int

    def submit(self, ticket: int, job: Order) -> None:
        """Give a job to a free worker."""
        ...

    def results(self, *, hungry: bool = True) -> Sequence[Filled]:
        """Wait for at least one job to be done, or a part of one; unless hungry, attempts may wait."""
        ...

    @property
    def free(self) -> int:
        """How many jobs can be submitted now."""
        ...

    def block(self, missing: int, waiting: int) -> int:
        """How many attempts to begin now, together: `missing` episodes are missing, and `waiting` attempts are being
        played or wait to be rendered."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class LocalPool(WorkerPool):
    """`size` processes of this machine."""

    def __init__(self, size: int, do: Do = do, prepare: Prepare | None = None) -> None:
        super().__init__(size, do, prepare)

    def block(self, missing: int, waiting: int) -> int:
        """Attempts that one worker gets at a time."""
        return block_for_each(self, missing, waiting)

    def results(self, *, hungry: bool = True) -> Sequence[Filled]:
        """Wait for jobs that are done, and return what came of them."""
        assert self._jobs, "nothing to wait for"
        found: list[Filled] = []
        while not found:
            found = self._filled(())
        return found


def block_for_each(pool: Pool, missing: int, waiting: int) -> int:
    """Attempts for one worker: a block, or what is missing shared among all; none while enough wait to be rendered."""
    if not pool.free or waiting > _BLOCK * pool.size:
        return 0
    return min(_BLOCK, -(-missing // pool.free))
