"""Making a dataset: which worker does which episode is decided here, for one worker and for many machines.

Attempts are judged and episodes numbered in the order of their seeds, so the dataset does not depend on which worker
was faster. Each worker renders one episode at a time, as many as there are workers may be rendered and wait for one
before them, and none further ahead is begun: a kill costs no more than these, and no frame waits in memory for a slow
disk.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from graspline.datasets.format.frames import timeline_of
from graspline.datasets.format.recording import Recording
from graspline.datasets.format.rows import Rejected, Row
from graspline.datasets.format.settings import DatasetSettings
from graspline.datasets.write.episode_files import Ahead, EpisodePosition
from graspline.datasets.write.jobs import Attempts, Drawing, Drawn
from graspline.datasets.write.pool import Pool
from graspline.datasets.write.writer import OnCheck, not_shown, open_writer
from graspline.errors import InputError
from graspline.execution.notifications import Answered
from graspline.stopwatch import seconds

# Recordings for each worker that may wait to be rendered before more are taken from the players.
_MOST_KEPT = 64
# Episodes for each worker that are being rendered, or are rendered and wait for one before them; else a long one
# stopped all.
_MOST_RENDERING = 2
# After this many attempts without a single episode something is wrong with the settings, not with luck.
_MOST_FRUITLESS = 1000


@dataclass(slots=True)
class GenerationProgress:
    """How far a dataset is."""

    wanted: int
    committed: int = 0
    attempts: int = 0
    # Attempts of this run that did not become episodes, by verdict.
    rejected: dict[str, int] = field(default_factory=dict)
    failures_kept: int = 0
    # Episodes whose images are being rendered, or that are rendered and wait for one before them.
    rendering: int = 0
    contradicted: int = 0
    # What it was when this run began.
    began_with: int = 0
    disk_bytes: int = 0
    # The first question of a task that got its default because no person was asked.
    unasked: Answered | None = None
    # Seconds of work by its name: of workers, and of the committing process.
    took_s: dict[str, float] = field(default_factory=dict)


class Keeper(Protocol):
    """Takes episodes one after the other; a dataset's writer does."""

    committed: int
    disk_bytes: int

    @property
    def next_seed(self) -> int:
        """The seed of the next attempt."""
        ...

    def commit(self, rendered: Drawn, rejected: Sequence[Rejected] = ()) -> Row:
        """Write an episode completely and count it."""
        ...

    def place(
        self, sentence: str, before: Sequence[Ahead] = (), rejected: Sequence[Rejected] = ()
    ) -> EpisodePosition | None:
        """Where an episode goes that comes after these, for the worker that lays out its files."""
        ...


def generate(
    root: Path,
    settings: DatasetSettings,
    wanted: int,
    pool: Pool,
    *,
    on_commit: Callable[[GenerationProgress, Row], object] = lambda tally, row: None,
    on_progress: Callable[[GenerationProgress], object] = lambda tally: None,
    on_check: OnCheck = not_shown,
) -> GenerationProgress:
    """Bring the dataset to `wanted` episodes, from wherever it stands. Any exception leaves what is committed whole.

    Episodes that are there are checked first; `on_check` is called with how many of them are, and how many there are.
    `on_progress` is called when attempts are played or images are rendered, `on_commit` after each episode.
    """
    with open_writer(root, settings, on_check) as writer:
        return fill(writer, settings, wanted, pool, on_commit=on_commit, on_progress=on_progress)


def fill(
    keeper: Keeper,
    settings: DatasetSettings,
    wanted: int,
    pool: Pool,
    *,
    on_commit: Callable[[GenerationProgress, Row], object] = lambda tally, row: None,
    on_progress: Callable[[GenerationProgress], object] = lambda tally: None,
) -> GenerationProgress:
    """Make episodes until the keeper has as many as are wanted."""
    done = keeper.committed
    tally = GenerationProgress(wanted=wanted, committed=done, began_with=done, disk_bytes=keeper.disk_bytes)
    if done < wanted:
        with pool:
            _Making(keeper, settings, wanted, pool, tally, on_commit, on_progress).run()
    return tally


class _Making:
    def __init__(
        self,
        keeper: Keeper,
        settings: DatasetSettings,
        wanted: int,
        pool: Pool,
        tally: GenerationProgress,
        on_commit: Callable[[GenerationProgress, Row], object],
        on_progress: Callable[[GenerationProgress], object],
    ) -> None:
        self._keeper, self._settings, self._wanted, self._pool = keeper, settings, wanted, pool
        self._tally, self._on_commit, self._on_progress = tally, on_commit, on_progress
        task, parameters = settings.found_task()
        self._control_hz = task.scene(parameters).robot.control_hz
        self._tickets = itertools.count()
        # Seeds from one on are not being played yet, from the other on not taken; what came back waits for its turn.
        self._next_seed = self._next_taken = keeper.next_seed
        self._judged: dict[int, Recording | Rejected] = {}
        # Kept, in order, with the attempts that were rejected before each; waiting to be rendered.
        self._kept: deque[tuple[Recording, list[Rejected]]] = deque()
        self._rejected: list[Rejected] = []
        # Being rendered or rendered, oldest first.
        self._rendering: deque[int] = deque()
        self._rejected_before: dict[int, list[Rejected]] = {}
        self._rendered: dict[int, Drawn | Rejected] = {}
        self._ahead: dict[int, Ahead] = {}
        # Those whose episodes are failures that are kept.
        self._failed: set[int] = set()

    def run(self) -> None:
        while self._keeper.committed < self._wanted:
            self._hand_out()
            self._tally.rendering = len(self._rendering)
            self._on_progress(self._tally)
            for filled in self._pool.results(hungry=len(self._kept) < _MOST_KEPT * self._pool.size):
                if filled.ticket in self._rejected_before:
                    self._rendered[filled.ticket] = filled.result
                else:
                    self._judged.update((each.seed, each) for each in filled.result)
            self._sort()
            # First: a worker that has just become free should not wait for the disk.
            self._hand_out()
            self._commit()

    def _hand_out(self) -> None:
        """Render what is kept, the oldest first; with hands left, play further attempts if more are needed."""
        while (
            self._pool.free and self._kept and len(self._rendering) < min(_MOST_RENDERING * self._pool.size, self._left)
        ):
            recording, rejected = self._kept.popleft()
            ticket = next(self._tickets)
            sentence = recording.instruction.sentence
            place = self._keeper.place(sentence, [self._ahead[each] for each in self._rendering], rejected)
            self._rendering.append(ticket)
            self._rejected_before[ticket] = rejected
            timeline = timeline_of(recording.log.ticks, self._control_hz, self._settings.fps, recording.first_tick)
            self._ahead[ticket] = Ahead(len(timeline), sentence)
            if not recording.succeeded:
                self._failed.add(ticket)
            self._pool.submit(ticket, Drawing(settings=self._settings, recording=recording, place=place))
        while (count := self._attempts_needed()) > 0:
            seeds = tuple(range(self._next_seed, self._next_seed + count))
            self._next_seed += count
            self._pool.submit(next(self._tickets), Attempts(settings=self._settings, seeds=seeds))

    @property
    def _left(self) -> int:
        """Episodes that are not committed yet."""
        return self._wanted - self._keeper.committed

    def _attempts_needed(self) -> int:
        """How many to play next, together."""
        waiting = len(self._kept) + self._next_seed - self._next_taken
        missing = self._left - len(self._rendering) - waiting
        return self._pool.block(missing, waiting) if missing > 0 else 0

    def _sort(self) -> None:
        """Take judged attempts in the order of their seeds."""
        while self._next_taken in self._judged:
            each = self._judged.pop(self._next_taken)
            self._next_taken += 1
            self._tally.attempts += 1
            self._tally.contradicted += each.contradicted
            if isinstance(each, Recording):
                self._tally.failures_kept += not each.succeeded
                self._tally.unasked = self._tally.unasked or each.unasked
                self._kept.append((each, self._rejected))
                self._rejected = []
            else:
                self._rejected.append(each)
                self._count(each)
        self._check_fruitful(self._rejected)

    def _check_fruitful(self, rejected: list[Rejected]) -> None:
        """Give up if too many attempts since the last episode came to nothing."""
        if len(rejected) >= _MOST_FRUITLESS:
            worst = max(self._tally.rejected, key=lambda name: self._tally.rejected[name])
            raise InputError(
                f"{_MOST_FRUITLESS} attempts in a row gave no episode, most of them {worst!r}; committed episodes "
                "are kept"
            )

    def _count(self, rejected: Rejected) -> None:
        self._tally.rejected[rejected.verdict] = self._tally.rejected.get(rejected.verdict, 0) + 1

    def _commit(self) -> None:
        while self._rendering and self._rendering[0] in self._rendered:
            ticket = self._rendering.popleft()
            rendered, before = self._rendered.pop(ticket), self._rejected_before.pop(ticket)
            del self._ahead[ticket]
            if isinstance(rendered, Rejected):
                self._tally.failures_kept -= ticket in self._failed
                self._not_certified(rendered, before)
                continue
            began = seconds()
            row = self._keeper.commit(rendered, before)
            for name, took_s in {**rendered.took_s, "commit": seconds() - began}.items():
                self._tally.took_s[name] = self._tally.took_s.get(name, 0.0) + took_s
            self._tally.committed, self._tally.disk_bytes = self._keeper.committed, self._keeper.disk_bytes
            self._on_commit(self._tally, row)

    def _not_certified(self, rejected: Rejected, before: list[Rejected]) -> None:
        """What the CPU does not agree with joins those rejected before the next that is kept."""
        self._count(rejected)
        following = [self._rejected_before[ticket] for ticket in self._rendering]
        following += [rejected for _, rejected in self._kept]
        attempts = [*before, rejected]
        self._check_fruitful(attempts)
        (following or [self._rejected])[0][:0] = attempts
