"""Ctrl-C or a polite kill, at any moment: exit code 130, what was running is reported, and no traceback."""

from __future__ import annotations

import random
import signal
import sys
import time
from pathlib import Path

import pytest

from .doors import COMMAND, Answer, running

LONG = ("run", "lift-cube", "--episodes", "400", "--lanes", "4", "--json")
# Python names each module on standard error as it is loaded.
ANNOUNCED = [sys.executable, "-X", "importtime", *COMMAND[1:]]


def played(answer: Answer) -> bool:
    return "\n" in answer.out


def check_interrupted(answer: Answer) -> None:
    assert answer.code == 130, answer
    assert "Traceback" not in answer.err
    assert len(answer.lines) < 400


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_what_was_running_is_reported_as_interrupted(stop: signal.Signals, tmp_path: Path) -> None:
    with running(tmp_path, *LONG) as command:
        command.wait_until(played)
        command.interrupt(stop)
        answer = command.finish()
    check_interrupted(answer)
    cut = [line for line in answer.lines if line["verdict"] == "interrupted"]
    assert 0 < len(cut) <= 4, "one per lane that was not between two episodes"
    assert not any(line["succeeded"] for line in cut)
    assert [line["seed"] for line in answer.lines] == list(range(len(answer.lines))), "no seed is lost or played twice"
    finished = len(answer.lines) - len(cut)
    assert f"succeeded: {finished}/{finished}" in answer.err, "what was cut short counts neither way"
    assert f"interrupted: {len(cut)} (seed" in answer.err


@pytest.mark.parametrize("after_s", [0.0, 0.01, 0.1])
def test_a_second_interrupt_ends_it_cleanly_too(after_s: float, tmp_path: Path) -> None:
    with running(tmp_path, *LONG) as command:
        command.wait_until(played)
        command.interrupt()
        time.sleep(after_s)
        command.interrupt()
        answer = command.finish()
    check_interrupted(answer)


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_while_loading_is_one_line(stop: signal.Signals, tmp_path: Path) -> None:
    with running(tmp_path, *LONG, command=ANNOUNCED) as command:
        command.wait_until(lambda answer: "numpy" in answer.err)
        command.interrupt(stop)
        answer = command.finish()
    check_interrupted(answer)
    assert answer.out == ""
    assert answer.err.endswith("graspline: interrupted\n")


@pytest.mark.parametrize("seed", range(5))
def test_an_interrupt_at_a_random_moment_is_clean(seed: int, tmp_path: Path) -> None:
    with running(tmp_path, *LONG, command=ANNOUNCED) as command:
        command.wait_until(lambda answer: "numpy" in answer.err)
        time.sleep(random.Random(seed).uniform(0.0, 1.2))
        command.interrupt()
        answer = command.finish()
    check_interrupted(answer)
    assert all(line["verdict"] in ("success", "interrupted") for line in answer.lines)


def test_a_background_job_of_a_script_can_be_interrupted(tmp_path: Path) -> None:
    def as_shells_do() -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    with running(tmp_path, *LONG, preexec_fn=as_shells_do) as command:
        command.wait_until(played)
        command.interrupt()
        check_interrupted(command.finish())


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_a_survey_can_be_interrupted(stop: signal.Signals, tmp_path: Path) -> None:
    with running(tmp_path, "region", "lift-cube", "--samples", "1000000", command=ANNOUNCED) as command:
        command.wait_until(lambda answer: "numpy" in answer.err)
        time.sleep(0.5)
        command.interrupt(stop)
        answer = command.finish()
    assert answer.code == 130
    assert answer.err.endswith("graspline: interrupted\n")
    assert "Traceback" not in answer.err


def test_a_demo_interrupted_while_filming_leaves_no_half_film(tmp_path: Path) -> None:
    with running(tmp_path, "demo", "--out", "demo") as command:
        command.wait_until(lambda answer: "verdict: success" in answer.out)
        command.interrupt()
        answer = command.finish()
    assert answer.code == 130
    assert "Traceback" not in answer.err
    assert not list((tmp_path / "demo").glob("*.mp4*"))


def test_an_interrupted_run_films_nothing_more_and_says_which_films_are_missing(tmp_path: Path) -> None:
    words = ("run", "lift-cube", "--episodes", "9", "--lanes", "3", "--set", "state_limit_s=0.1", "--video", "film.mp4")
    with running(tmp_path, *words, "--json") as command:
        command.wait_until(played)
        command.interrupt()
        answer = command.finish()
    check_interrupted(answer)
    finished = {line["seed"] for line in answer.lines if line["verdict"] != "interrupted"}
    films = {int(path.stem.removeprefix("film-")) for path in tmp_path.glob("film-*.mp4")}
    dropped = {
        seed for seed in finished if f"film-{seed}.mp4: rendering was interrupted, no file was kept" in answer.err
    }
    assert films == finished - dropped
    assert not list(tmp_path.glob("*.part"))


def test_an_interrupt_while_a_film_is_drawn_does_not_wait_for_its_end(tmp_path: Path) -> None:
    with running(tmp_path, "run", "oranges", "--video", "film.mp4", "--json") as command:
        command.wait_until(lambda answer: bool(answer.lines))
        command.interrupt()
        answer = command.finish()
    assert answer.code == 130
    assert answer.lines[0]["succeeded"]
    assert "film.mp4: rendering was interrupted, no file was kept" in answer.err
    assert not list(tmp_path.glob("film*"))
