"""`run --view`: whatever becomes of the window, the command ends cleanly and tells what it played."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import graspline.cli.view

from .doors import call, running, spawn

# Takes the place of a window: what it does after it has said that it is ready.
KEEPS_UP = "for line in iter(lambda: os.read(0, 4096), b''): os.write(1, b'shown\\n')"
DIES = "os.read(0, 4096); os.abort()"
HANGS = "time.sleep(600)"


def window(monkeypatch: pytest.MonkeyPatch, then: str, first: str = "os.write(1, b'ready\\n')") -> None:
    program = f"import os, time\n{first}\n{then}"
    monkeypatch.setattr(graspline.cli.view, "WINDOW", (sys.executable, "-c", program))
    monkeypatch.setattr(graspline.cli.view, "SHOW_S", 0.3)
    monkeypatch.setenv("DISPLAY", ":4321")


def hashes(*words: str) -> list[tuple[str, str]]:
    answer = call("run", "lift-cube", "--json", *words)
    return [(line["verdict"], line["state_hash"]) for line in answer.lines]


def test_watching_changes_no_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    window(monkeypatch, KEEPS_UP)
    # As fast as it can: only the window's side of it is of interest.
    monkeypatch.setattr(graspline.cli.view.time, "sleep", lambda seconds: None)
    assert hashes("--view") == hashes()


@pytest.mark.parametrize("then", [DIES, HANGS])
def test_a_window_that_is_gone_or_shows_nothing_any_more_ends_the_run_like_an_interrupt(
    monkeypatch: pytest.MonkeyPatch, then: str
) -> None:
    window(monkeypatch, then)
    answer = call("run", "lift-cube", "--view", "--json")
    assert answer.code == 130
    assert [line["verdict"] for line in answer.lines] == ["interrupted"]


def test_a_window_that_never_opens_is_a_problem_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graspline.cli.view, "OPEN_S", 0.2)
    for first, words in (("", "none within 0.2 s"), ("os.write(1, b'no driver\\n')", "no driver")):
        window(monkeypatch, HANGS, first)
        answer = call("run", "lift-cube", "--view")
        assert (answer.code, answer.out) == (3, "")
        assert answer.err == f"graspline: --view could not open a window: {words}\n"


@pytest.fixture
def display(tmp_path: Path) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """A virtual display, which may be taken away."""
    if shutil.which("Xvfb") is None:
        pytest.skip("there is no Xvfb here")
    reading, writing = os.pipe()
    words = ["Xvfb", "-displayfd", str(writing), "-screen", "0", "320x240x24"]
    server = subprocess.Popen(words, pass_fds=(writing,), stderr=subprocess.DEVNULL)
    os.close(writing)
    with os.fdopen(reading) as said:
        number = said.readline().strip()
    yield f":{number}", server
    server.kill()
    server.wait()


@pytest.mark.slow
def test_a_run_in_a_real_window_ends_with_its_result(display: tuple[str, subprocess.Popen[bytes]]) -> None:
    answer = spawn("run", "lift-cube", "--view", "--json", DISPLAY=display[0])
    assert answer.code == 0, answer.err
    assert [line["verdict"] for line in answer.lines] == ["success"]


@pytest.mark.slow
@pytest.mark.parametrize("lost", ["display", "patience"])
def test_a_run_whose_display_goes_away_or_that_is_told_to_stop_ends(
    display: tuple[str, subprocess.Popen[bytes]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lost: str
) -> None:
    monkeypatch.setenv("DISPLAY", display[0])
    with running(tmp_path, "run", "oranges", "--view", "--log", "info", "--json") as command:
        command.wait_until(lambda so_far: "\n" in so_far.err)
        if lost == "display":
            display[1].kill()
        else:
            command.interrupt(signal.SIGTERM)
        # An episode in a window lasts as long as its film; `finish` waits for far longer than it takes to end early.
        answer = command.finish()
    assert answer.code == 130
    assert [line["verdict"] for line in answer.lines] == ["interrupted"]
