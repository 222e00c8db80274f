"""The numbers behind a dataset's report, from its rows and logs: no data file and no video is read."""

from __future__ import annotations

import itertools
import json
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from graspline.datasets.format.log_reader import UNREADABLE, played_by, recording_from
from graspline.datasets.format.recording import Recording
from graspline.datasets.format.rows import Rejected, Row, rejected_in, rejected_of
from graspline.datasets.format.store import Dataset, deleted_in
from graspline.errors import DatasetProblem, InputError
from graspline.evidence import failures
from graspline.execution.notifications import Then
from graspline.machine.machine import Machine


@dataclass(frozen=True, slots=True, kw_only=True)
class TableObject:
    """Something that lay on the table at the start: its middle in W, and its radius if it is round."""

    name: str
    x_m: float
    y_m: float
    radius_m: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Setback:
    """A state that went wrong and was tried again."""

    episode: int
    seed: int
    state: str
    outcome: str
    cause: str
    # Whether the episode succeeded after it.
    made_good: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedAttempt:
    """An attempt that failed."""

    why: Rejected
    # The number of its episode; None if it was not kept.
    episode: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedEpisode:
    """One episode, as far as a report tells it."""

    row: Row
    # (time, state) of every entry.
    entries: tuple[tuple[float, str], ...]
    # Every (state, outcome, then), as often as it happened.
    taken: Counter[tuple[str, str, Then]]
    setbacks: tuple[Setback, ...]
    # Why it failed, if it did.
    failure: Rejected | None
    targets: tuple[TableObject, ...]
    places: tuple[TableObject, ...]
    # Colour and whereabouts at the end of everything that the world sent.
    sent: tuple[tuple[str, str], ...] = ()
    randomized: Mapping[str, float]
    # Whether a fault found what it needed.
    struck: bool

    @property
    def index(self) -> int:
        """The number of the episode."""
        return self.row["episode_index"]

    def spent_s(self) -> dict[str, float]:
        """Time in each state that was entered."""
        spent: dict[str, float] = {}
        for (begin_s, state), (end_s, _) in itertools.pairwise((*self.entries, (self.row["end_s"], ""))):
            spent[state] = spent.get(state, 0.0) + end_s - begin_s
        return spent

    def state_at(self, time_s: float) -> str:
        """The state that is played then; before the first entry the first state."""
        begun = [state for begin_s, state in self.entries if begin_s <= time_s + 1e-9]
        return begun[-1] if begun else self.entries[0][1] if self.entries else ""


@dataclass(frozen=True)
class DatasetSummary:
    """All episodes of a dataset, and the attempts before them that were not kept."""

    episodes: tuple[ReportedEpisode, ...]
    rejected: tuple[Rejected, ...]
    # Episodes that were taken out again; nothing here counts them or the attempts before them.
    deleted: int

    @property
    def attempts(self) -> int:
        """How many episodes were played."""
        return len(self.episodes) + len(self.rejected)

    @cached_property
    def successes(self) -> int:
        """How many episodes succeeded."""
        return sum(each.row["success"] for each in self.episodes)

    @cached_property
    def recovered(self) -> int:
        """How many succeeded after a failure."""
        return sum(each.row["recovered"] for each in self.episodes)

    @property
    def first_try(self) -> int:
        """How many succeeded without a failure."""
        return self.successes - self.recovered

    @property
    def contradicted(self) -> int:
        """Attempts that claimed a success which the simulator contradicts."""
        return sum(each.why.contradicted for each in self.failures)

    @cached_property
    def failures(self) -> tuple[FailedAttempt, ...]:
        """Why episodes failed, kept ones first."""
        kept = [
            FailedAttempt(why=each.failure, episode=each.index) for each in self.episodes if each.failure is not None
        ]
        return (*kept, *(FailedAttempt(why=each, episode=None) for each in self.rejected))

    @cached_property
    def setbacks(self) -> tuple[Setback, ...]:
        """Every failure of a state in the kept episodes."""
        return tuple(setback for each in self.episodes for setback in each.setbacks)

    def taken(self) -> Counter[tuple[str, str, Then]]:
        """How often each outcome led where, over all episodes."""
        return sum((each.taken for each in self.episodes), Counter())

    def spent_s(self) -> dict[str, list[float]]:
        """For each state its time in each episode that entered it."""
        spent: dict[str, list[float]] = {}
        for each in self.episodes:
            for state, time_s in each.spent_s().items():
                spent.setdefault(state, []).append(time_s)
        return spent

    def randomized(self) -> dict[str, list[float]]:
        """For each value that differs between episodes what it was in those that have it."""
        found: dict[str, list[float]] = {}
        for each in self.episodes:
            for name, value in each.randomized.items():
                found.setdefault(name, []).append(value)
        return {name: values for name, values in found.items() if min(values) < max(values)}


def summarise(dataset: Dataset, done: Callable[[], object] = lambda: None) -> DatasetSummary:
    """Read every log of a dataset, calling `done` after each; an episode that contradicts itself is an error."""
    episodes: list[ReportedEpisode] = []
    rejected: list[Rejected] = []
    for row in dataset.rows:
        log = dataset.log(row)
        try:
            episodes.append(_checked(_episode(row, recording_from(row, log), played_by(row).machine)))
            rejected += rejected_in(row)
        except (InputError, *UNREADABLE) as error:
            what = f"{type(error).__name__}: {error}"
            raise DatasetProblem(
                f"{dataset.root}: row and log of episode {row['episode_index']} do not tell what happened: {what}"
            ) from None
        done()
    return DatasetSummary(
        episodes=tuple(episodes),
        rejected=tuple(rejected),
        deleted=len(deleted_in(dataset.root)),
    )


def _episode(row: Row, recording: Recording, machine: Machine) -> ReportedEpisode:
    truth = recording.truth
    setbacks = tuple(
        Setback(
            episode=row["episode_index"],
            seed=row["seed"],
            state=each.state,
            outcome=each.outcome,
            cause="; ".join(str(one) for one in failures(each.evidence)[:1]),
            made_good=row["success"],
        )
        for each in recording.transitions
        if machine.is_retry(each.state, each.outcome, each.then)
    )
    return ReportedEpisode(
        row=row,
        entries=recording.entries,
        taken=Counter((each.state, each.outcome, each.then) for each in recording.transitions),
        setbacks=setbacks,
        failure=None if row["success"] else rejected_of(recording),
        targets=_spots(truth["objects"], row["target_objects"]),
        places=_spots(truth["places"], truth["places"]),
        sent=tuple((str(each["colour"]), str(each["where"])) for each in truth.get("sent", ())),
        randomized={name: float(value) for name, value in json.loads(row["randomized"]).items()},
        struck=any(not missed for _, _, _, missed in json.loads(row["strikes"])),
    )


def _checked(episode: ReportedEpisode) -> ReportedEpisode:
    """The same episode, if its numbers can be plotted."""
    row, spots = episode.row, (*episode.targets, *episode.places)
    numbers = [
        row["end_s"],
        *(t_s for t_s, _ in episode.entries),
        *(at for spot in spots for at in (spot.x_m, spot.y_m)),
    ]
    if not all(math.isfinite(each) for each in numbers):
        raise ValueError("a time or a place is not a number")
    if not episode.entries or row["retries"] < 0:
        raise ValueError(f"{len(episode.entries)} states were entered, {row['retries']} retries made")
    return episode


def _spots(things: Mapping[str, Any], names: Sequence[str] | Mapping[str, Any]) -> tuple[TableObject, ...]:
    spots = []
    for name in names:
        x_m, y_m, _ = things[name]["start_position_m"]
        spots.append(TableObject(name=name, x_m=x_m, y_m=y_m, radius_m=things[name].get("radius_m", 0.0)))
    return tuple(spots)
