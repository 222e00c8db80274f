"""Questions of a task at a real terminal: a pseudo-terminal, and a command behind it."""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import json
import os
import pty
import select
import subprocess
import termios
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from graspline.cli.questions import Keyboard, TerminalQuestions, chosen
from graspline.cli.served_questions import ServedQuestions
from graspline.execution.requests import Ask, Preempted
from graspline.serve.live.commands import Answer, Ticket
from graspline.tasks.console import Done

from .doors import COMMAND, PATIENCE_S, call, refused

ASK = Ask(question="What shall I do?", options=("single_grasp", "clear_table"), default="single_grasp")
TIDY = ("run", "tidy", "--seed", "3", "--set", "table.count=[1, 1]", "--set", "table.shelved=[0, 0]")


class Terminal:
    """Our side of a pseudo-terminal."""

    def __init__(self) -> None:
        self.ours, self.theirs = pty.openpty()
        self.shown = ""

    def type(self, text: str) -> None:
        os.write(self.ours, text.encode())

    def wait_for(self, words: str) -> None:
        """Read what is shown until these words are there."""
        deadline = time.monotonic() + PATIENCE_S
        while words not in self.shown:
            assert time.monotonic() < deadline, self.shown
            if select.select([self.ours], [], [], 0.1)[0]:
                self.shown += os.read(self.ours, 4096).decode(errors="replace")


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    found = Terminal()
    yield found
    for each in (found.ours, found.theirs):
        with contextlib.suppress(OSError):
            os.close(each)


def asking(terminal: Terminal, *, timeout_s: float = 30.0, stopped: bool = False) -> TerminalQuestions:
    return TerminalQuestions(
        Keyboard(terminal.theirs), stop=lambda: stopped, quiet=contextlib.nullcontext, timeout_s=timeout_s
    )


# A keyboard


@pytest.mark.parametrize(
    "typed, meant",
    [("", "single_grasp"), ("1", "single_grasp"), ("2", "clear_table"), ("clear_table", "clear_table"),
     ("0", None), ("3", None), ("clear", None), ("-1", None), ("²", None)],
)  # fmt: skip
def test_an_option_is_typed_by_name_or_number_and_enter_is_the_default(typed: str, meant: str | None) -> None:
    assert chosen(typed, ASK.options, ASK.default) == meant


def test_a_question_lists_its_options_and_takes_what_is_typed(
    terminal: Terminal, capsys: pytest.CaptureFixture[str]
) -> None:
    terminal.type("tidy\n2\n")
    answered = asking(terminal)(0, ASK)
    assert (answered.answer, answered.by) == ("clear_table", "person")
    shown = capsys.readouterr().err.splitlines()
    assert shown[:3] == ["What shall I do?", "  1  single_grasp (default)", "  2  clear_table"]
    assert "Enter for single_grasp (chosen after 30 s)" in shown[3]
    assert "'tidy' is not an option; expected 1 to 2, a name, or Enter" in shown[4]


def test_enter_is_an_answer_and_nothing_at_all_times_out_to_the_default(terminal: Terminal) -> None:
    terminal.type("\n")
    entered = asking(terminal)(0, ASK)
    assert (entered.answer, entered.by) == ("single_grasp", "person")
    late = asking(terminal, timeout_s=0.2)(0, ASK)
    assert (late.answer, late.by) == ("single_grasp", "timeout")


def test_ctrl_d_takes_the_default_at_once(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    # Time stands still: a question that waits for its timeout is stopped after some glances.
    monkeypatch.setattr("graspline.cli.questions.time.monotonic", lambda: 0.0)
    glances = itertools.count()
    questions = TerminalQuestions(
        Keyboard(terminal.theirs), stop=lambda: next(glances) > 50, quiet=contextlib.nullcontext
    )
    terminal.type("\x04")
    assert questions(0, ASK).by == "timeout"


def test_whoever_wants_to_stop_is_heard_while_a_question_stands_there(terminal: Terminal) -> None:
    with pytest.raises(Preempted):
        asking(terminal, stopped=True)(0, ASK)


# A command behind a terminal


def _take_terminal() -> None:
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


@contextlib.contextmanager
def behind(terminal: Terminal, out: Path, *words: str) -> Iterator[subprocess.Popen[bytes]]:
    """A command whose standard input and error are the terminal, and its output a file."""
    with out.open("wb") as file:
        process = subprocess.Popen(
            [*COMMAND, *words],
            stdin=terminal.theirs,
            stdout=file,
            stderr=terminal.theirs,
            start_new_session=True,
            preexec_fn=_take_terminal,
        )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()


@pytest.mark.slow
def test_a_person_answers_an_episode_and_the_same_answers_give_the_same_bits(
    terminal: Terminal, tmp_path: Path
) -> None:
    out = tmp_path / "episode.json"
    with behind(terminal, out, *TIDY, "--json") as process:
        terminal.wait_for("What shall I do?")
        terminal.type("\r")
        terminal.wait_for("What shall I do with the")
        terminal.type("2\r")
        # Whoever reads a terminal must go on reading it.
        terminal.wait_for("success after")
        assert process.wait(PATIENCE_S) == 0
    line = json.loads(out.read_text())
    assert [(each["answer"], each["by"]) for each in line["answers"]] == [
        ("single_grasp", "person"),
        ("handover", "person"),
    ]
    given = [word for each in line["answers"] for word in ("--answer", each["answer"])]
    (again,) = call(*TIDY, "--json", *given).lines
    assert again["state_hash"] == line["state_hash"]
    assert [each["by"] for each in again["answers"]] == ["scenario", "scenario"]


@pytest.mark.slow
def test_ctrl_c_at_a_question_interrupts_the_episode_and_tells_what_there_is(
    terminal: Terminal, tmp_path: Path
) -> None:
    out = tmp_path / "episode.json"
    with behind(terminal, out, *TIDY, "--json") as process:
        terminal.wait_for("What shall I do?")
        terminal.type("\x03")
        terminal.wait_for("interrupted after")
        assert process.wait(PATIENCE_S) == 130
    line = json.loads(out.read_text())
    assert line["verdict"] == "interrupted"
    assert "answers" not in line


# Without a terminal


@pytest.mark.slow
def test_without_a_terminal_the_default_is_taken_and_said_once() -> None:
    answer = call(*TIDY, "--episodes", "2", "--json")
    assert answer.code == 0
    assert [each["answers"][0]["by"] for each in answer.lines] == ["default", "default"]
    assert answer.err.count("What shall I do? Answered with the default, single_grasp.") == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        ("run", "tidy"),
        ("audit", "tidy", "--faults-share", "0"),
        ("campaign", "tidy", "--faults", "depth-noise", "--states", "single_grasp.find_grasp.look"),
        ("generate", "tidy", "--cameras", "none", "--workers", "1"),
    ],
    ids=lambda words: words[0],
)
def test_every_command_says_once_and_in_the_same_words_that_a_question_got_its_default(
    words: tuple[str, ...], tmp_path: Path
) -> None:
    out = () if words[0] == "run" else ("--out", tmp_path / "out")
    answer = call(*words, *TIDY[2:], "--episodes", "1", *out)
    assert answer.code == 0, answer.err
    said = (
        "What shall I do? Answered with the default, single_grasp. `graspline run` asks at a terminal if it runs one "
        "episode; --answer answers in advance"
    )
    told = " ".join(answer.err.split())
    assert told.count("Answered with the default") == told.count(said) == 1
    assert "Answered with the default" not in answer.out


@pytest.mark.slow
def test_an_answer_that_is_no_option_is_bad_input() -> None:
    (problem,) = refused(*TIDY, "--answer", "clear_tabel")
    assert "'What shall I do?' has no answer 'clear_tabel'; did you mean 'clear_table'?" in problem


def test_an_answer_that_no_question_wanted_is_reported() -> None:
    answer = call("run", "lift-cube", "--answer", "clear_table")
    assert answer.code == 0
    assert answer.err == "--answer has no effect: no question was asked\n"


# A server


@dataclass(frozen=True)
class Shown:
    """What a terminal needs of a snapshot."""

    question: str = ""
    options: tuple[str, ...] = ()
    default: str = ""
    message: str = ""


class Session:
    """A session that only shows and takes answers."""

    def __init__(self) -> None:
        self.snapshot = Shown()
        self.given: list[object] = []

    def submit(self, command: object) -> Ticket:
        self.given.append(command)
        ticket = Ticket()
        ticket.settle(Done(text="answered"))
        return ticket


def test_a_server_shows_each_question_once_and_takes_an_answer_that_is_typed(
    terminal: Terminal, capsys: pytest.CaptureFixture[str]
) -> None:
    session, questions = Session(), ServedQuestions(Keyboard(terminal.theirs))
    questions.glance(session)  # pyright: ignore[reportArgumentType]
    session.snapshot = Shown(ASK.question, ASK.options, ASK.default)
    for _ in range(3):
        questions.glance(session)  # pyright: ignore[reportArgumentType]
    shown = capsys.readouterr().err
    assert shown.count(ASK.question) == 1
    assert "answer here (number, name, or Enter), on the page or by POST /answer; single_grasp after 30 s" in shown
    terminal.type("7\n2\n")
    deadline = time.monotonic() + PATIENCE_S
    while not session.given:
        assert time.monotonic() < deadline
        questions.glance(session)  # pyright: ignore[reportArgumentType]
    assert session.given == [Answer("clear_table")]
    session.snapshot = Shown(message="answered clear_table")
    questions.glance(session)  # pyright: ignore[reportArgumentType]
    shown = capsys.readouterr().err
    assert "'7' is not an option" in shown
    assert shown.endswith("answered clear_table\n")


def test_a_server_without_a_terminal_says_where_to_answer(capsys: pytest.CaptureFixture[str]) -> None:
    session, questions = Session(), ServedQuestions(None)
    session.snapshot = Shown(ASK.question, ASK.options, ASK.default)
    questions.glance(session)  # pyright: ignore[reportArgumentType]
    assert "answer on the page or by POST /answer; single_grasp after 30 s" in capsys.readouterr().err
