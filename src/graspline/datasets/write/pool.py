"""Who fills orders: processes of this machine, replaced when they die."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Protocol, Self

from graspline.datasets.write.jobs import Order, do
from graspline.episodes.workers import Do, Filled, Prepare, WorkerPool

# Attempts that are played side by side by one worker, at the most.
_BLOCK = 8


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
        """How many attempts to begin now, together: `missing` episodes are missing, and `waiting` attempts are being
        played or wait to be drawn."""
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
        return block_for_each(self, missing, waiting)

    def results(self, *, hungry: bool = True) -> Sequence[Filled]:
        assert self._jobs, "nothing to wait for"
        found: list[Filled] = []
        while not found:
            found = self._filled(())
        return found


def block_for_each(pool: Pool, missing: int, waiting: int) -> int:
    """Attempts for one worker: a block, or what is missing shared among all; none while enough wait to be drawn."""
    if not pool.free or waiting > _BLOCK * pool.size:
        return 0
    return min(_BLOCK, -(-missing // pool.free))
