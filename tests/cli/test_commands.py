"""The table of commands: complete, true to each command's own help, and quick to list."""

from __future__ import annotations

import subprocess
import sys

import pytest

from graspline.cli.commands import COMMANDS, command_of

HEAVY = ("numpy", "mujoco", "pydantic", "pyarrow", "av", "cv2", "gymnasium")


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_says_what_the_command_says_of_itself(name: str) -> None:
    help_text = command_of(name).help or ""
    assert help_text.split("\n")[0] == COMMANDS[name].summary


@pytest.mark.parametrize("word", ["--help", "--version"])
def test_help_and_version_import_nothing_heavy(word: str) -> None:
    program = (
        "import sys\nsys.argv = ['graspline', sys.argv[1]]\nfrom graspline.cli.main import entry\n"
        f"try:\n    entry()\nfinally:\n    print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)"
    )
    found = subprocess.run([sys.executable, "-c", program, word], capture_output=True, text=True, check=False)
    assert found.returncode == 0
    assert found.stderr.strip() == "[]"


@pytest.mark.parametrize(("word", "hint"), [("rum", "did you mean 'run'? known: audit, bench"), ("[/red]", "known: ")])
def test_an_unknown_command_gets_the_nearest_one_and_all_that_exist(word: str, hint: str) -> None:
    found = subprocess.run([sys.executable, "-m", "graspline", word], capture_output=True, text=True, check=False)
    assert found.returncode == 2
    assert found.stderr.startswith(f"graspline: no such command {word!r}; {hint}")
