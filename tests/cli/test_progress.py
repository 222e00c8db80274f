"""Progress without a terminal: plain lines on standard error, now and then."""

from __future__ import annotations

import signal

import pytest

import graspline.cli.progress
from graspline.cli.progress import Progress, steps, success_text


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
    clock[0] += 2.0
    assert progress.per_s == pytest.approx(0.5)
    assert progress.left_s == pytest.approx(18.0)


def test_a_share_comes_with_its_interval() -> None:
    assert success_text(1, 1) == "success 100.0 % (20.7–100.0)"


def test_a_part_speaks_even_where_the_whole_does_not_if_it_is_told_to(
    clock: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    with (
        Progress("episodes", 9, lines=False) as progress,
        progress.part("checking", visible=False, lines=True) as checked,
    ):
        clock[0] += 20.0
        checked(0, 4)
        checked(2, 4)
    assert capsys.readouterr().err == "checking: 2/4, 0:20 left\n"
