"""Progress without a terminal: plain lines on standard error, now and then."""

from __future__ import annotations

import dataclasses
import signal
from types import SimpleNamespace
from typing import Any

import pytest

import graspline.cli.progress
from graspline.cli.progress import Progress, steps
from graspline.cli.run_progress import RunProgress, success_text


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time that progress sees, in its only element."""
    now = [100.0]
    monkeypatch.setattr(graspline.cli.progress.time, "monotonic", lambda: now[0])
    return now


def test_a_line_comes_every_ten_seconds(clock: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    with Progress("episodes", 8) as progress:
        for _ in range(4):
            clock[0] += 6.0
            progress.advance("success 100.0 %")
    assert capsys.readouterr().err.splitlines() == [
        "episodes: 2/8, success 100.0 %, 0:36 left",
        "episodes: 4/8, success 100.0 %, 0:24 left",
    ]


def test_steps_are_counted_once_their_number_is_known(clock: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    with steps("packing") as begin:
        done = begin(2)
        clock[0] += 4000.0
        done()
    assert capsys.readouterr().err == "packing: 1/2, 1:06:40 left\n"


def test_an_interrupt_is_obeyed_between_two_steps() -> None:
    with steps("packing") as begin:
        done = begin(3)
        done()
        signal.raise_signal(signal.SIGTERM)
        with pytest.raises(KeyboardInterrupt):
            done()


def test_a_caller_that_speaks_itself_is_not_interrupted(clock: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    with Progress("episodes", 2, lines=False) as progress:
        clock[0] += 60.0
        progress.advance()
    assert capsys.readouterr().err == ""


def test_what_was_there_before_does_not_count_as_fast(clock: list[float]) -> None:
    progress = Progress("episodes", 110)
    progress.done, progress.began_with = 101, 100
    clock[0] += 4.0
    assert progress.per_s == pytest.approx(0.25)
    assert progress.left_s == pytest.approx(36.0)


def test_a_share_comes_with_its_interval() -> None:
    assert success_text(1, 1) == "success 100.0 % (20.7–100.0)"


def test_a_part_speaks_even_where_the_whole_does_not_if_it_is_told_to(
    clock: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    with (
        Progress("episodes", 9, lines=False) as progress,
        progress.part("checking", visible=False, lines=True) as checked,
    ):
        checked(0, 4)
        # The pace counts from the first one that is done.
        clock[0] += 5.0
        checked(1, 4)
        clock[0] += 20.0
        checked(2, 4)
    assert capsys.readouterr().err == "checking: 2/4, 0:40 left\n"


@dataclasses.dataclass(frozen=True)
class Lanes:
    """As much of an engine as progress looks at."""

    count: int
    dt_s: float = 0.5

    @property
    def scene(self) -> Any:
        return SimpleNamespace(robot=SimpleNamespace(dt_s=self.dt_s))


def ended(sim_time_s: float, *, succeeded: bool = True) -> Any:
    return SimpleNamespace(succeeded=succeeded, declined=False, sim_time_s=sim_time_s)


def play(progress: RunProgress, clock: list[float], lanes: int, ticks: int, wall_s: float) -> None:
    for _ in range(ticks):
        clock[0] += wall_s / ticks
        progress.tick(Lanes(lanes))  # pyright: ignore[reportArgumentType]


def test_an_estimate_counts_what_all_lanes_have_played(clock: list[float]) -> None:
    progress = RunProgress("episodes", 100)
    # 32 lanes play 30 s each, which takes 40 s; then the first wave ends.
    play(progress, clock, lanes=32, ticks=60, wall_s=40.0)
    progress.add(ended(30.0))
    assert progress.left_s is None, "one episode says nothing about the others"
    for _ in range(31):
        progress.add(ended(30.0))
    assert progress.left_s == pytest.approx(40.0 * 68 / 32)
    play(progress, clock, lanes=32, ticks=30, wall_s=20.0)
    assert progress.left_s == pytest.approx(60.0 * 52 / 48)


def test_few_episodes_in_many_lanes_have_an_estimate_before_the_last_one_ends(clock: list[float]) -> None:
    progress = RunProgress("episodes", 20)
    play(progress, clock, lanes=32, ticks=60, wall_s=60.0)
    for _ in range(5):
        progress.add(ended(30.0))
    left_s = progress.left_s
    assert left_s is not None
    assert left_s < 6.0


def test_there_is_no_estimate_in_the_first_seconds_and_none_at_the_end(clock: list[float]) -> None:
    progress = Progress("poses", 4)
    clock[0] += 1.0
    progress.done = 2
    assert progress.left_s is None
    clock[0] += 3.0
    assert progress.left_s == pytest.approx(4.0)
    progress.done = 4
    assert progress.left_s is None


def test_one_episode_shows_how_long_it_has_run_and_no_rate(
    clock: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    with RunProgress("episodes", 1) as progress:
        play(progress, clock, lanes=1, ticks=24, wall_s=12.0)
        clock[0] += 30.0
        progress.add(ended(12.0))
    assert capsys.readouterr().err == "episodes: 0/1, 10 s simulated\nepisodes: 1/1\n"


def test_episodes_with_faults_show_no_success_rate(clock: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    with RunProgress("episodes with a fault", 2, rate=False) as progress:
        clock[0] += 12.0
        progress.add(ended(3.0, succeeded=False))
    assert capsys.readouterr().err == "episodes with a fault: 1/2, 0:12 left\n"
