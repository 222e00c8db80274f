"""`graspline new task`: what it writes works, and what it refuses it says."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from graspline.tasks.catalogue import TASKS

from .distributions import installed
from .doors import call, refused, spawn
from .foreign import missing, play_and_remove


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_distribution_is_written_and_the_next_commands_are_printed(here: Path) -> None:
    answer = call("new", "task", "stack-two")
    assert (answer.code, answer.err) == (0, "saved: stack-two\n")
    assert [line.strip() for line in answer.out.splitlines()] == [
        "next:",
        "pip install -e stack-two",
        "graspline check stack-two",
        "graspline run stack-two",
    ]
    written = {path.relative_to(here / "stack-two").as_posix() for path in here.rglob("*") if path.is_file()}
    package = "src/graspline_stack_two"
    assert written == {
        "README.md",
        "pyproject.toml",
        f"{package}/__init__.py",
        f"{package}/task.py",
        "tests/test_stack_two.py",
    }
    project = tomllib.loads((here / "stack-two" / "pyproject.toml").read_text())
    assert project["build-system"]["build-backend"] == "hatchling.build"
    assert project["project"]["entry-points"]["graspline.tasks"] == {"stack-two": "graspline_stack_two.task:TASK"}
    assert not [path for path in here.rglob("*") if path.is_file() and "$" in path.read_text()]


def test_what_is_written_is_tidy(here: Path) -> None:
    pytest.importorskip("ruff")
    call("new", "task", "stack-two", "--out", here / "deep" / "folder")
    rules = ["--isolated", "--line-length", "120"]
    for words in (["check", "--select", "E,F,I,UP,B,RUF"], ["format", "--check"]):
        done = subprocess.run(
            [sys.executable, "-m", "ruff", *words, *rules, "."],
            cwd=here / "deep" / "folder",
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    "name", ["Stack", "stack_two", "two--words", "-x-", "2-cubes", "a b", "../up", "stäck", "", "a\nb"]
)
def test_a_name_is_lower_case_words_joined_by_hyphens(name: str, here: Path) -> None:
    (problem,) = refused("new", "task", "--", name)
    assert problem.endswith("expected lower-case words joined by hyphens, such as stack-two")
    assert list(here.iterdir()) == []


def test_a_long_name_is_refused(here: Path) -> None:
    (problem,) = refused("new", "task", "a" * 300)
    assert problem.endswith("300 characters are too many (allowed up to 60)")
    assert len(problem) < 150


@pytest.mark.parametrize("name", TASKS)
def test_the_name_of_an_installed_task_is_refused(name: str, here: Path) -> None:
    (problem,) = refused("new", "task", name)
    assert problem == f"NAME {name}: an installed task has this name, of graspline; choose another"
    assert list(here.iterdir()) == []


@pytest.mark.parametrize("kind", ["folder", "file", "broken link"])
def test_what_exists_is_never_overwritten(kind: str, here: Path) -> None:
    there = here / "stack-two"
    if kind == "folder":
        there.mkdir()
    elif kind == "file":
        there.write_text("mine")
    else:
        there.symlink_to("nowhere")
    expected = "stack-two exists already; nothing was written, choose another --out"
    assert refused("new", "task", "stack-two") == [f"NAME stack-two: {expected}"]
    assert refused("new", "task", "other", "--out", "stack-two") == [f"--out stack-two: {expected}"]
    assert list(here.iterdir()) == [there]
    assert kind != "file" or there.read_text() == "mine"


def test_a_folder_that_cannot_be_made_is_a_problem_of_this_machine(here: Path) -> None:
    (here / "file").write_text("")
    answer = call("new", "task", "stack-two", "--out", "file/stack-two")
    assert answer.code == 3
    assert answer.err == "graspline: --out: cannot make the folder file: a file is in the way\n"


def test_the_group_shows_its_commands_and_names_what_it_does_not_know() -> None:
    shown = call("new")
    assert shown.code == 0
    assert shown.out == call("new", "--help").out
    assert "\n  task   Write a package" in shown.out
    expected = "no such command 'new tasks'; did you mean 'new task'? known: new robot, new task"
    assert refused("new", "tasks") == [expected]
    assert refused("new", "task")[0].startswith("NAME is missing")
    assert "stack-two" in call("new", "task", "--help").out.partition("Arguments:")[2]


@pytest.mark.slow
def test_a_new_task_is_played_by_workers_and_missed_once_it_is_removed(tmp_path: Path) -> None:
    assert spawn("new", "task", "stack-two", cwd=tmp_path).code == 0
    found = installed(tmp_path / "stack-two", tmp_path / "site")
    says = "pip install graspline-stack-two"
    play_and_remove("stack-two", found, tmp_path, says)
    still = ("eval", "stack-two", "--policy", "hold-still", "--cameras", "none", "--max-seconds", "1", "--out", "eval")
    evaluated = spawn(*still, "--episodes", "1", cwd=tmp_path, **found)
    assert evaluated.code == 0, evaluated
    missing(says, *still, "--episodes", "2", cwd=tmp_path)
