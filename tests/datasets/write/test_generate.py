"""Who does what: the dataset is the same whoever was faster, and whenever it was stopped."""

from __future__ import annotations

import dataclasses
import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pytest

from graspline.datasets.format.recording import Recording
from graspline.datasets.format.rows import Rejected, rejected_in, rejected_of
from graspline.datasets.format.store import Dataset
from graspline.datasets.write.episode_files import LaidOut, lay_out
from graspline.datasets.write.generate import GenerationProgress, generate
from graspline.datasets.write.jobs import Attempts, Drawing, Drawn, do
from graspline.datasets.write.pool import Order, block_for_each
from graspline.episodes.workers import Filled
from graspline.errors import InputError

from ..conftest import EPISODES, InlinePool, cube_settings
from ..whole import tree

SETTINGS = cube_settings()


class AnyOrderPool:
    """Several jobs at a time, done in any order by `fill`; counts what it was asked to do."""

    def __init__(self, size: int, seed: int, fill: Callable[[Order], Any] = do) -> None:
        self.size, self._random, self._fill = size, random.Random(seed), fill
        self._open: list[tuple[int, Order]] = []
        self.entered = False
        self.attempted: list[int] = []
        self.renderings = 0

    def __enter__(self) -> Self:
        self.entered = True
        return self

    def __exit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.clear()

    @property
    def free(self) -> int:
        return self.size - len(self._open)

    def block(self, missing: int, waiting: int) -> int:
        return block_for_each(self, missing, waiting)

    def submit(self, ticket: int, job: Order) -> None:
        assert self.free > 0
        if isinstance(job, Attempts):
            self.attempted += job.seeds
        else:
            self.renderings += 1
        self._open.append((ticket, job))

    def results(self, *, hungry: bool = True) -> Sequence[Filled]:
        assert self._open, "nothing to wait for"
        self._random.shuffle(self._open)
        count = self._random.randint(1, len(self._open))
        done, self._open = self._open[:count], self._open[count:]
        return [Filled(ticket, self._fill(job)) for ticket, job in done]


def scripted(drawn: Drawn, is_kept: Callable[[int], bool]) -> Callable[[Order], Any]:
    """Orders filled without physics: the same episode again and again, under other seeds."""
    task, parameters = SETTINGS.found_task()
    scene = task.scene(parameters)

    def judged(seed: int) -> Recording | Rejected:
        if is_kept(seed):
            return dataclasses.replace(drawn.recording, seed=seed)
        return Rejected(seed=seed, verdict="dropped", state="lift", cause="none")

    def fill(job: Order) -> Any:
        if isinstance(job, Drawing):
            assert job.place is not None
            laid_out = lay_out(job.recording, drawn.values, drawn.films, SETTINGS, scene, job.place)
            return dataclasses.replace(drawn, recording=job.recording, laid_out=laid_out)
        return [judged(seed) for seed in job.seeds]

    return fill


class PartsPool(AnyOrderPool):
    """Plays as on a GPU: one job of all that is missing, whose attempts come back a few at a time, in any order of
    their seeds, beside what the others draw."""

    def __init__(self, size: int, seed: int, fill: Callable[[Order], Any] = do) -> None:
        super().__init__(size, seed, fill)
        self._out: list[tuple[int, Recording | Rejected]] = []
        self.blocks: list[int] = []

    def block(self, missing: int, waiting: int) -> int:
        return 0 if self._out else missing

    def submit(self, ticket: int, job: Order) -> None:
        if isinstance(job, Drawing):
            super().submit(ticket, job)
            return
        assert not self._out, "one job at a time"
        self.attempted += job.seeds
        self.blocks.append(len(job.seeds))
        self._out = [(ticket, each) for each in self._fill(job)]
        self._random.shuffle(self._out)

    def results(self, *, hungry: bool = True) -> Sequence[Filled]:
        assert self._open or self._out, "nothing to wait for"
        found = list(super().results()) if self._open and self._random.random() < 0.7 else []
        if self._out and (not found or (hungry and self._random.random() < 0.5)):
            count = self._random.randint(1, min(3, len(self._out)))
            parcel, self._out = self._out[:count], self._out[count:]
            found.append(Filled(parcel[0][0], [each for _, each in parcel]))
        return found


def certifying(drawn: Drawn, is_kept: Callable[[int], bool], is_certified: Callable[[int], bool]) -> Callable[..., Any]:
    """As `scripted`, but those who draw do not agree with all that was played."""
    fill = scripted(drawn, is_kept)

    def certify(job: Order) -> Any:
        if isinstance(job, Drawing) and not is_certified(job.recording.seed):
            cause = "on the CPU raised 0 m"
            return Rejected(seed=job.recording.seed, verdict="not_certified", state="verify", cause=cause)
        return fill(job)

    return certify


def told_before(root: Path) -> dict[int, list[tuple[int, str]]]:
    """Seed and verdict of each attempt that was rejected before an episode, by the episode's seed."""
    return {row["seed"]: [(each.seed, each.verdict) for each in rejected_in(row)] for row in Dataset.open(root).rows}


@pytest.mark.parametrize("size", [2, 4])
def test_the_dataset_does_not_depend_on_who_was_faster(size: int, made: Path, tmp_path: Path) -> None:
    generate(tmp_path, SETTINGS, EPISODES, AnyOrderPool(size, seed=size))
    assert tree(tmp_path) == tree(made)


def test_stopped_after_every_episode_it_ends_the_same(made: Path, tmp_path: Path) -> None:
    class Stop(Exception):
        pass

    def stop(tally: GenerationProgress, row: object) -> None:
        raise Stop

    for committed in range(1, EPISODES + 1):
        with pytest.raises(Stop):
            generate(tmp_path, SETTINGS, EPISODES, InlinePool(2), on_commit=stop)
        assert len(Dataset.open(tmp_path)) == committed
    assert tree(tmp_path) == tree(made)


def test_made_in_two_steps_it_is_the_same(made: Path, tmp_path: Path) -> None:
    first = generate(tmp_path, SETTINGS, 1, InlinePool())
    assert (first.began_with, first.committed, first.attempts) == (0, 1, 1)
    second = generate(tmp_path, SETTINGS, EPISODES, InlinePool())
    assert (second.began_with, second.committed, second.attempts) == (1, EPISODES, EPISODES - 1)
    assert tree(tmp_path) == tree(made)


@pytest.mark.parametrize("wanted", [1, EPISODES])
def test_with_nothing_to_do_nobody_is_called(wanted: int, dataset: Path) -> None:
    before, pool = tree(dataset), AnyOrderPool(1, 0)
    tally = generate(dataset, SETTINGS, wanted, pool)
    assert (tally.committed, tally.began_with) == (EPISODES, EPISODES)
    assert not pool.entered
    assert tree(dataset) == before


@pytest.mark.parametrize("seed", range(4))
def test_rejected_attempts_are_told_with_the_next_episode(seed: int, drawn: Drawn, tmp_path: Path) -> None:
    kept = {2, 3, 7, 8, 9, 20, 21}
    pool = AnyOrderPool(3, seed, scripted(drawn, kept.__contains__))
    tally = generate(tmp_path, SETTINGS, 6, pool)
    rows = Dataset.open(tmp_path).rows
    assert [row["seed"] for row in rows] == [2, 3, 7, 8, 9, 20]
    told = [[each.seed for each in rejected_in(row)] for row in rows]
    assert told == [[0, 1], [], [4, 5, 6], [], [], list(range(10, 20))]
    assert tally.rejected.keys() == {"dropped"}
    assert pool.attempted == list(range(len(pool.attempted))), "every seed once, in order"


def test_attempts_that_come_back_in_parts_give_the_same_dataset(made: Path, tmp_path: Path) -> None:
    pool = PartsPool(2, seed=2)
    tally = generate(tmp_path, SETTINGS, EPISODES, pool)
    assert tree(tmp_path) == tree(made)
    assert (pool.blocks, tally.attempts) == ([EPISODES], EPISODES)


@pytest.mark.parametrize("seed", range(4))
def test_parts_of_an_order_are_told_and_numbered_by_their_seeds(seed: int, drawn: Drawn, tmp_path: Path) -> None:
    kept = {2, 3, 7, 8, 9, 20, 21, 22}
    pool = PartsPool(2, seed, scripted(drawn, kept.__contains__))
    tally = generate(tmp_path, SETTINGS, 6, pool)
    assert {episode: [each for each, _ in before] for episode, before in told_before(tmp_path).items()} == {
        2: [0, 1], 3: [], 7: [4, 5, 6], 8: [], 9: [], 20: list(range(10, 20))
    }  # fmt: skip
    # Six and what they lacked, again and again.
    assert pool.blocks[:2] == [6, 4]
    assert pool.attempted == list(range(len(pool.attempted))), "every seed once, in order"
    assert tally.attempts <= len(pool.attempted)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("size", [1, 3])
@pytest.mark.parametrize("kind", [AnyOrderPool, PartsPool])
def test_what_is_not_certified_is_told_with_the_next_episode_and_made_up_for(
    kind: type[AnyOrderPool], size: int, seed: int, drawn: Drawn, tmp_path: Path
) -> None:
    refused, dropped = {0, 4, 5, 9, 10, 11}, {2, 6, 8}
    fill = certifying(drawn, lambda each: each not in dropped, lambda each: each not in refused)
    tally = generate(tmp_path, SETTINGS, 5, kind(size, seed, fill))
    no, lost = "not_certified", "dropped"
    assert told_before(tmp_path) == {
        1: [(0, no)],
        3: [(2, lost)],
        7: [(4, no), (5, no), (6, lost)],
        12: [(8, lost), (9, no), (10, no), (11, no)],
        13: [],
    }
    assert (tally.committed, tally.rejected[no]) == (5, 6)
    assert tally.rejected[lost] == 3
    # Nothing is told twice, and no episode is missing because another took its number.
    assert [row["episode_index"] for row in Dataset.open(tmp_path).rows] == list(range(5))


def test_the_last_that_is_wanted_may_be_the_one_that_is_not_certified(drawn: Drawn, tmp_path: Path) -> None:
    pool = PartsPool(2, 0, certifying(drawn, lambda seed: True, lambda seed: seed not in (2, 3)))
    tally = generate(tmp_path, SETTINGS, 3, pool)
    assert told_before(tmp_path) == {0: [], 1: [], 4: [(2, "not_certified"), (3, "not_certified")]}
    assert pool.blocks == [3, 1, 1]
    assert (tally.attempts, tally.rejected) == (5, {"not_certified": 2})


@pytest.mark.usefixtures("unchecked")
def test_gone_on_with_after_what_was_not_certified_nothing_is_forgotten(drawn: Drawn, tmp_path: Path) -> None:
    class Stop(Exception):
        pass

    def stop(tally: GenerationProgress, row: object) -> None:
        raise Stop

    def pool() -> PartsPool:
        return PartsPool(3, 1, certifying(drawn, lambda seed: True, lambda seed: seed % 3 == 2))

    for _ in range(2):
        with pytest.raises(Stop):
            generate(tmp_path, SETTINGS, 3, pool(), on_commit=stop)
    generate(tmp_path, SETTINGS, 3, pool())
    no = "not_certified"
    assert told_before(tmp_path) == {2: [(0, no), (1, no)], 5: [(3, no), (4, no)], 8: [(6, no), (7, no)]}


@pytest.mark.parametrize("size", [1, 2, 5])
def test_no_more_episodes_are_drawn_ahead_than_two_for_each_worker(size: int, drawn: Drawn, tmp_path: Path) -> None:
    class Watched(AnyOrderPool):
        def submit(self, ticket: int, job: Order) -> None:
            super().submit(ticket, job)
            assert self.renderings - committed[0] <= 2 * self.size
            assert len(self.attempted) - committed[0] <= 8 * (self.size + 1) + 2 * self.size

    committed = [0]

    def count(tally: GenerationProgress, row: object) -> None:
        committed[0] = tally.committed

    pool = Watched(size, 1, scripted(drawn, lambda seed: True))
    generate(tmp_path, SETTINGS, 30, pool, on_commit=count)
    assert (committed[0], pool.renderings) == (30, 30)
    assert len(pool.attempted) == 30, "not one more than needed when all succeed"


def test_files_are_laid_out_by_who_draws_unless_something_before_them_falls_out(
    drawn: Drawn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    again = list[int]()

    def noted(recording: Recording, *rest: Any) -> LaidOut:
        again.append(recording.seed)
        return lay_out(recording, *rest)

    monkeypatch.setattr("graspline.datasets.write.writer.lay_out", noted)
    generate(tmp_path / "all", SETTINGS, 12, AnyOrderPool(3, 1, scripted(drawn, lambda seed: seed % 4 != 1)))
    assert again == []
    generate(
        tmp_path / "some", SETTINGS, 12, AnyOrderPool(3, 1, certifying(drawn, lambda seed: True, lambda s: s != 5))
    )
    assert again, "those behind it had been foreseen one further"
    assert min(again) > 5
    assert [row["episode_index"] for row in Dataset.open(tmp_path / "some").rows] == list(range(12))


def test_who_is_done_goes_on_while_an_episode_before_is_still_being_drawn(drawn: Drawn, tmp_path: Path) -> None:
    class Slow(AnyOrderPool):
        """Fills the first drawing only when nothing else is left to fill."""

        def results(self, *, hungry: bool = True) -> Sequence[Filled]:
            self._open.sort(key=lambda each: isinstance(each[1], Drawing) and each[1].recording.seed == 0)
            (ticket, job), *self._open = self._open
            before.append(self.renderings)
            return [Filled(ticket, self._fill(job))]

    before = list[int]()
    generate(tmp_path, SETTINGS, 9, Slow(3, 0, scripted(drawn, lambda seed: True)))
    assert 2 * 3 in before
    assert len(Dataset.open(tmp_path)) == 9


def test_all_hands_play_when_little_is_wanted(drawn: Drawn, tmp_path: Path) -> None:
    class Noted(AnyOrderPool):
        def submit(self, ticket: int, job: Order) -> None:
            super().submit(ticket, job)
            if isinstance(job, Attempts):
                blocks.append(len(job.seeds))

    blocks: list[int] = []
    generate(tmp_path, SETTINGS, 8, Noted(4, 0, scripted(drawn, lambda seed: True)))
    assert blocks == [2, 2, 2, 2]


def test_attempts_that_never_succeed_come_to_an_end(drawn: Drawn, tmp_path: Path) -> None:
    pool = AnyOrderPool(2, 0, scripted(drawn, lambda seed: seed < 2))
    with pytest.raises(InputError, match="1000 attempts in a row gave no episode, most of them 'dropped'"):
        generate(tmp_path, SETTINGS, 3, pool)
    assert len(Dataset.open(tmp_path)) == 2
    assert len(pool.attempted) < 1050


def test_kept_failures_are_labelled_and_recoveries_marked(tmp_path: Path) -> None:
    settings = cube_settings(faults=("remove@hold+0.2",), keep="all", views=(), seed=3)
    tally = generate(tmp_path, settings, 2, InlinePool())
    assert (tally.failures_kept, tally.rejected) == (2, {})
    dataset = Dataset.open(tmp_path)
    for row in dataset.rows:
        assert not row["success"]
        assert row["verdict"] != "success"
        frames = dataset.frames(row)
        assert not any(frames.column("next.success").to_pylist())
        done = frames.column("next.done").to_pylist()
        assert done == [False] * (len(done) - 1) + [True]
        spans = dataset.log(row).facts["recoveries"]
        times = [frame / 10 for frame in range(row["length"])]
        wanted = [any(begin - 1e-9 <= t < end - 1e-9 for begin, end in spans) for t in times]
        assert frames.column("graspline.recovery").to_pylist() == wanted
        assert [each[1] for each in json.loads(row["strikes"])] == ["remove@hold+0.2"]


def test_failures_are_left_out_unless_they_are_asked_for(tmp_path: Path) -> None:
    settings = cube_settings(faults=("remove@hold+0.2",), views=(), seed=3)

    class Enough(Exception):
        pass

    class Impatient(InlinePool):
        def results(self, *, hungry: bool = True) -> Sequence[Filled]:
            (filled,) = super().results()
            assert all(isinstance(each, Rejected) for each in filled.result)
            raise Enough

    with pytest.raises(Enough):
        generate(tmp_path, settings, 2, Impatient())


def test_a_recovery_is_kept_as_a_success(tmp_path: Path) -> None:
    settings = cube_settings(faults=("drop@lift+0.3",), views=(), seed=3)
    generate(tmp_path, settings, 1, InlinePool())
    dataset = Dataset.open(tmp_path)
    (row,) = dataset.rows
    assert (row["success"], row["recovered"], row["retries"]) == (True, True, 1)
    marked = dataset.frames(row).column("graspline.recovery").to_pylist()
    ((begin_s, end_s),) = dataset.log(row).facts["recoveries"]
    assert marked == [begin_s - 1e-9 <= frame / 10 < end_s - 1e-9 for frame in range(row["length"])]
    assert 0 < sum(marked) < len(marked)


@pytest.mark.parametrize("keep", ["success", "all"])
def test_claims_that_the_simulator_contradicts_are_counted_whether_kept_or_not(
    keep: str, drawn: Drawn, tmp_path: Path
) -> None:
    def judged(seed: int) -> Recording | Rejected:
        good = seed % 2 == 1
        recording = dataclasses.replace(drawn.recording, seed=seed, succeeded=good, contradicted=not good)
        return recording if good or keep == "all" else rejected_of(recording)

    def fill(job: Order) -> Any:
        if isinstance(job, Drawing):
            return dataclasses.replace(drawn, recording=job.recording)
        return [judged(seed) for seed in job.seeds]

    tally = generate(tmp_path, cube_settings(keep=keep), 4, AnyOrderPool(1, 0, fill))
    assert tally.contradicted == tally.attempts // 2 > 0


@pytest.mark.parametrize("kind", [AnyOrderPool, PartsPool])
def test_what_is_never_certified_comes_to_an_end(kind: type[AnyOrderPool], drawn: Drawn, tmp_path: Path) -> None:
    fill = certifying(drawn, lambda seed: True, lambda seed: False)
    with pytest.raises(InputError, match="1000 attempts in a row"):
        generate(tmp_path, SETTINGS, 20, kind(2, 0, fill))


def test_a_failure_that_is_not_certified_is_counted_once(drawn: Drawn, tmp_path: Path) -> None:
    def fill(job: Order) -> Any:
        if isinstance(job, Attempts):
            failed = dataclasses.replace(drawn.recording, succeeded=False, verdict="dropped")
            return [dataclasses.replace(failed, seed=seed) for seed in job.seeds]
        seed = job.recording.seed
        if seed % 2:
            return Rejected(seed=seed, verdict="not_certified", state="", cause="")
        return dataclasses.replace(drawn, recording=job.recording)

    tally = generate(tmp_path, cube_settings(keep="all"), 4, AnyOrderPool(1, 0, fill))
    assert tally.attempts == sum(tally.rejected.values()) + tally.failures_kept
