"""Making a dataset: who does which episode is decided here, for one worker and for many machines alike.

Attempts are judged and episodes numbered in the order of their seeds, so the dataset does not depend on who was
faster. Only as many episodes are drawn at once as there are workers, and each is committed before one further ahead is
begun: a kill costs what was being drawn, and no frame waits in memory for a slow disk.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from graspline.datasets.pool import Pool
from graspline.datasets.recording import Recording
from graspline.datasets.rows import Rejected, Row
from graspline.datasets.settings import DatasetSettings
from graspline.datasets.work import Attempts, Drawing, Drawn
from graspline.datasets.writer import Writer, open_writer
from graspline.errors import EnvironmentProblem

# Attempts that are played side by side by one worker, at the most.
_BLOCK = 8
# After so many attempts without a single episode something is wrong with the settings, not with luck.
_MOST_FRUITLESS = 1000


@dataclass(slots=True)
class Tally:
    """How far a dataset is."""

    wanted: int
    committed: int = 0
    attempts: int = 0
    # Attempts of this run that did not become episodes, by verdict.
    rejected: dict[str, int] = field(default_factory=dict)
    failures_kept: int = 0
    contradicted: int = 0
    # What it was when this run began.
    began_with: int = 0
    disk_bytes: int = 0


def generate(
    root: Path,
    settings: DatasetSettings,
    wanted: int,
    pool: Pool,
    *,
    on_commit: Callable[[Tally, Row], object] = lambda tally, row: None,
) -> Tally:
    """Bring the dataset to `wanted` episodes, from wherever it stands. Any exception leaves what is committed whole."""
    task, _ = settings.found_task()
    with open_writer(root, settings, task.sentence) as writer:
        done = writer.committed
        tally = Tally(wanted=wanted, committed=done, began_with=done, disk_bytes=writer.disk_bytes)
        if writer.committed < wanted:
            with pool:
                _Making(writer, settings, wanted, pool, tally, on_commit).run()
        return tally


class _Making:
    def __init__(
        self,
        writer: Writer,
        settings: DatasetSettings,
        wanted: int,
        pool: Pool,
        tally: Tally,
        on_commit: Callable[[Tally, Row], object],
    ) -> None:
        self._writer, self._settings, self._wanted, self._pool = writer, settings, wanted, pool
        self._tally, self._on_commit = tally, on_commit
        self._tickets = itertools.count()
        # Seeds from here on are not being played yet; what came back waits for its turn by the order of blocks.
        self._next_seed = writer.next_seed
        self._blocks: deque[int] = deque()
        self._playing = 0
        self._judged: dict[int, list[Recording | Rejected]] = {}
        # Kept, in order, with the attempts that were rejected before each; waiting to be drawn.
        self._kept: deque[tuple[Recording, list[Rejected]]] = deque()
        self._rejected: list[Rejected] = []
        # Being drawn or drawn, oldest first.
        self._drawing: deque[int] = deque()
        self._rejected_before: dict[int, list[Rejected]] = {}
        self._drawn: dict[int, Drawn] = {}

    def run(self) -> None:
        while self._writer.committed < self._wanted:
            self._hand_out()
            for filled in self._pool.results():
                if isinstance(filled.result, Drawn):
                    self._drawn[filled.ticket] = filled.result
                else:
                    self._judged[filled.ticket] = filled.result
            self._sort()
            self._commit()

    def _hand_out(self) -> None:
        """Draw what is kept, the oldest first; with hands left, play further attempts if more are needed."""
        while self._pool.free:
            ahead = len(self._drawing)
            if self._kept and ahead < self._pool.size and self._writer.committed + ahead < self._wanted:
                recording, rejected = self._kept.popleft()
                ticket = next(self._tickets)
                self._drawing.append(ticket)
                self._rejected_before[ticket] = rejected
                self._pool.submit(ticket, Drawing(settings=self._settings, recording=recording))
            elif (count := self._attempts_needed()) > 0:
                ticket = next(self._tickets)
                seeds = tuple(range(self._next_seed, self._next_seed + count))
                self._next_seed += count
                self._playing += count
                self._blocks.append(ticket)
                self._pool.submit(ticket, Attempts(settings=self._settings, seeds=seeds))
            else:
                return

    def _attempts_needed(self) -> int:
        """How many to play next: a block, or what is missing shared among all; none while enough wait to be drawn."""
        waiting = len(self._kept) + self._playing
        missing = self._wanted - self._writer.committed - len(self._drawing) - waiting
        if missing <= 0 or waiting > _BLOCK * self._pool.size:
            return 0
        return min(_BLOCK, -(-missing // self._pool.free))

    def _sort(self) -> None:
        """Take judged attempts in the order of their seeds."""
        while self._blocks and self._blocks[0] in self._judged:
            for each in self._judged.pop(self._blocks.popleft()):
                self._playing -= 1
                self._tally.attempts += 1
                self._tally.contradicted += each.contradicted
                if isinstance(each, Recording):
                    self._tally.failures_kept += not each.succeeded
                    self._kept.append((each, self._rejected))
                    self._rejected = []
                    continue
                self._rejected.append(each)
                self._tally.rejected[each.verdict] = self._tally.rejected.get(each.verdict, 0) + 1
        if len(self._rejected) >= _MOST_FRUITLESS:
            worst = max(self._tally.rejected, key=lambda name: self._tally.rejected[name])
            raise EnvironmentProblem(
                f"{_MOST_FRUITLESS} attempts in a row gave no episode, most of them {worst!r}; what was committed stays"
            )

    def _commit(self) -> None:
        while self._drawing and self._drawing[0] in self._drawn:
            ticket = self._drawing.popleft()
            drawn = self._drawn.pop(ticket)
            row = self._writer.commit(drawn.recording, drawn.values, drawn.films, self._rejected_before.pop(ticket))
            self._tally.committed, self._tally.disk_bytes = self._writer.committed, self._writer.disk_bytes
            self._on_commit(self._tally, row)
