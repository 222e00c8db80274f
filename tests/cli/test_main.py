"""The door itself: help, exit codes, and streams that are not a terminal."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest

import graspline.cli.inspect
import graspline.cli.run
import graspline.gpu.choose
from graspline.errors import EnvironmentProblem
from graspline.version import VERSION

from .doors import COMMAND, COMMANDS, call, refused, spawn, unread


def examples(command: str) -> list[str]:
    """The lines that the help of a command prints as examples."""
    return [line.strip() for line in call(command, "--help").out.splitlines() if line.startswith("    graspline ")]


@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_of_every_command_shows_an_example(command: str) -> None:
    answer = call(command, "--help")
    assert answer.code == 0
    assert answer.err == ""
    assert f"graspline {command}" in answer.out
    assert examples(command)
    assert call(command, "-h").out == answer.out


@pytest.mark.parametrize("command", ["tasks", "config", "diagram", "region", "run"])
def test_examples_in_the_help_work_as_printed(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nothing_moves: None
) -> None:
    monkeypatch.chdir(tmp_path)
    survey = graspline.cli.inspect.survey
    monkeypatch.setattr(graspline.cli.inspect, "survey", lambda task, given, draws, seed: survey(task, given, 10, seed))
    # Those who have a GPU are told what to do with it, too.
    monkeypatch.setattr(graspline.gpu.choose, "what_a_gpu_lacks", lambda: "")
    for example in examples(command):
        program, *words = shlex.split(example.partition(">")[0])
        assert program == "graspline"
        assert call(*words).code == 0, example


def test_help_names_every_command_and_every_exit_code() -> None:
    answer = call("--help")
    assert answer.code == 0
    for command in COMMANDS:
        assert f"\n  {command} " in answer.out
    words = " ".join(answer.out.split())
    for code in (
        "0 success",
        "1 a check",
        "2 bad",
        "3 missing",
        "4 inconsistent",
        "5 internal error",
        "130 interrupted",
    ):
        assert code in words
    assert "..." not in answer.out.partition("Commands:")[2], "the list cuts a sentence off"


def test_no_arguments_show_the_help() -> None:
    answer = call()
    assert answer.code == 0
    assert answer.out == call("--help").out


def test_the_version_is_printed() -> None:
    answer = spawn("--version")
    assert (answer.code, answer.out, answer.err) == (0, f"graspline {VERSION}\n", "")


def test_the_package_is_a_command_too() -> None:
    program = [COMMAND[0], "-m", "graspline", "tasks"]
    done = subprocess.run(program, capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert done.stdout == call("tasks").out


@pytest.mark.parametrize(
    "words, message",
    [
        (["--jsn"], "no such option '--jsn'; `graspline --help` lists the options"),
        (["--versoin"], "no such option '--versoin'; did you mean '--version'? `graspline --help` lists the options"),
        (
            ["run", "lift-cube", "--episode", "3"],
            "no such option '--episode'; did you mean '--episodes'? `graspline run --help` lists the options",
        ),
        (["run", "lift-cube", "--json=yes"], "--json takes no value"),
        (["run", "lift-cube", "--seed"], "--seed needs a value: seed of the first episode; the others count up"),
        (["run", "lift-cube", "oranges"], "unexpected argument 'oranges'"),
        (["tasks", "lift-cube"], "unexpected argument 'lift-cube'"),
    ],
)
def test_misspelt_usage_reads_like_all_other_errors(words: list[str], message: str) -> None:
    first, *usage = refused(*words)
    assert first == message
    assert all(line.startswith("usage: graspline ") for line in usage)


def test_misspelt_usage_exits_with_2_in_a_process_too() -> None:
    answer = spawn("run", "lift-cube", "--bogus")
    assert answer.code == 2
    assert answer.out == ""
    assert answer.err.startswith("graspline: no such option '--bogus'")
    assert "Traceback" not in answer.err


def test_without_a_terminal_there_are_no_escapes() -> None:
    assert "\x1b" not in spawn("run", "--help", NO_COLOR="1").out
    answer = spawn("run", "lift-cube", FORCE_COLOR="")
    assert "\x1b" not in answer.out + answer.err


def test_a_narrow_terminal_keeps_names_and_examples_whole() -> None:
    answer = spawn("run", "--help", COLUMNS="40")
    assert answer.code == 0
    assert "--require-success" in answer.out
    assert "graspline run lift-cube --seed 7 --video out/seven.mp4\n" in answer.out


@pytest.mark.parametrize(
    "raised, code, message",
    [
        (EnvironmentProblem("no disk"), 3, "graspline: no disk\n"),
        (PermissionError(13, "Permission denied", "/x/y"), 3, "graspline: /x/y: Permission denied\n"),
        (OSError(28, "No space left on device"), 3, "graspline: this machine: No space left on device\n"),
        (KeyboardInterrupt(), 130, "graspline: interrupted\n"),
        (BrokenPipeError(32, "Broken pipe"), 3, "graspline: this machine: Broken pipe\n"),
    ],
)
def test_a_problem_of_the_machine_is_one_line_and_its_code(
    raised: BaseException, code: int, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **options: Any) -> Any:
        raise raised

    monkeypatch.setattr(graspline.cli.run, "run_scenarios", fail)
    answer = call("run", "lift-cube")
    assert (answer.code, answer.out, answer.err) == (code, "", message)


def test_a_bug_of_ours_shows_its_traceback_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **options: Any) -> Any:
        raise ZeroDivisionError("the culprit")

    monkeypatch.setattr(graspline.cli.run, "run_scenarios", fail)
    answer = call("run", "lift-cube")
    assert answer.code == 5
    assert "ZeroDivisionError: the culprit" in answer.err
    assert "internal error" in answer.err.splitlines()[-1]


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("words", [["config", "lift-cube"], ["--help"], ["run", "lift-cube", "--json"]])
def test_a_reader_that_goes_away_is_no_error(words: list[str], unbuffered: str) -> None:
    process = subprocess.Popen(
        [*COMMAND, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait() == 0
    process.stderr.close()


FAILING = ("run", "lift-cube", "--set", "state_limit_s=0.1", "--seed", "3", "--episodes", "2", "--lanes", "1")


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("form", [(), ("--json",)])
def test_a_reader_that_goes_away_changes_no_verdict(form: tuple[str, ...], unbuffered: str) -> None:
    assert unread(*FAILING, *form, "--require-success", "0.5", PYTHONUNBUFFERED=unbuffered) == 1


def test_a_film_is_made_though_nobody_reads(tmp_path: Path) -> None:
    assert unread(*FAILING, "--json", "--video", tmp_path / "film.mp4") == 0
    assert {path.name for path in tmp_path.iterdir()} == {"film-3.mp4", "film-4.mp4"}


def test_nobody_waits_for_lines_that_nobody_reads() -> None:
    assert unread("run", "lift-cube", "--episodes", "10000", "--lanes", "1", "--json") == 0


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("words", ["config lift-cube", "--version"])
def test_a_full_disk_is_a_problem_of_the_machine(words: str, unbuffered: str) -> None:
    done = _shell(f"{words} > /dev/full", PYTHONUNBUFFERED=unbuffered)
    assert done.returncode == 3
    assert done.stderr == "graspline: this machine: No space left on device\n"


@pytest.mark.parametrize(
    "words, code",
    [("run lift-cub 2>&-", 2), ("run lift-cube 2>&-", 0), ("run lift-cube >&-", 0), ("run lift-cub 2>/dev/full", 2)],
)
def test_a_stream_that_is_closed_or_full_changes_no_verdict(words: str, code: int) -> None:
    done = _shell(words)
    assert done.returncode == code, done
    assert "Traceback" not in done.stdout + done.stderr


def test_a_poor_encoding_gets_escapes() -> None:
    answer = spawn("config", "lift-cube", PYTHONIOENCODING="ascii")
    assert answer.code == 0
    assert answer.out.isascii()
    assert "\\u03c3" in answer.out


def test_words_that_are_not_utf8_are_shown_escaped() -> None:
    done = subprocess.run([*COMMAND, "run", b"lift-\xff"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("graspline: unknown task 'lift-\\udcff'")


def _shell(words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        f"exec {shlex.join(COMMAND)} {words}",
        shell=True,
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        check=False,
    )
