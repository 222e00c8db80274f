"""The table of commands: complete, true to each command's own help, and quick to list."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from graspline.choices import ASPECTS, DEMO_TASK, FIRST_TASK
from graspline.cli.commands import COMMANDS, command_of
from graspline.scenes.randomization import TableRandomization
from graspline.tasks.catalogue import TASKS

# Typer brings pydantic, which takes a twentieth of a second.
HEAVY = ("numpy", "mujoco", "ompl", "pyarrow", "av", "cv2", "gymnasium")


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_says_what_the_command_says_of_itself(name: str) -> None:
    help_text = command_of(name).help or ""
    assert help_text.split("\n")[0] == COMMANDS[name].summary


def heavy_after(*commands: tuple[str, ...]) -> dict[str, list[str]]:
    """What a new process has imported once it has run each of these, one after the other."""
    program = (
        "import json, sys\nfrom graspline.cli.main import entry\nfound = {}\n"
        f"for words in {commands!r}:\n"
        "    sys.argv = ['graspline', *words]\n"
        "    try:\n        entry()\n    except SystemExit as left:\n        assert left.code == 0, (words, left.code)\n"
        f"    found[' '.join(words)] = [name for name in {HEAVY!r} if name in sys.modules]\n"
        "print(json.dumps(found), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stderr)


def test_help_version_and_the_list_of_tasks_import_nothing_heavy() -> None:
    words = (
        ("--help",),
        ("--version",),
        ("tasks",),
        ("new", "--help"),
        *((*name.split(), "--help") for name in COMMANDS),
    )
    found = heavy_after(*words)
    assert len(found) == len(words)
    assert not any(found.values()), found


def test_a_command_imports_what_it_works_with_when_it_runs() -> None:
    found = heavy_after(("config", "--help"), ("config", "lift-cube"))
    assert found["config --help"] == []
    assert {"numpy", "mujoco"} <= set(found["config lift-cube"])


def test_options_offer_what_there_is() -> None:
    assert tuple(TableRandomization.model_fields) == ASPECTS
    assert {DEMO_TASK, FIRST_TASK} <= set(TASKS)


@pytest.mark.parametrize(("word", "hint"), [("rum", "did you mean 'run'? known: audit, "), ("[/red]", "known: ")])
def test_an_unknown_command_gets_the_nearest_one_and_all_that_exist(word: str, hint: str) -> None:
    found = subprocess.run([sys.executable, "-m", "graspline", word], capture_output=True, text=True, check=False)
    assert found.returncode == 2
    assert found.stderr.startswith(f"graspline: no such command {word!r}; {hint}")
