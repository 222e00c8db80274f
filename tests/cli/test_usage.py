"""Missing arguments, and how usage lines are written."""

from __future__ import annotations

import pytest

from graspline.errors import either

from .doors import COMMANDS, call, refused


@pytest.mark.parametrize("command", ["run", "generate", "audit", "config"])
def test_a_missing_task_lists_the_tasks(command: str) -> None:
    first, usage = refused(command)
    assert first == "TASK is missing: choose grab, lift-cube, oranges, sort or tidy"
    assert "usage: " + usage[usage.index("graspline") :] == f"usage: graspline {command} [OPTIONS] TASK"


def test_a_missing_robot_lists_the_robots() -> None:
    assert refused("workspace")[0] == "ROBOT is missing: choose so101 or ur5e"


def test_a_missing_option_says_what_it_is_for() -> None:
    assert refused("generate", "lift-cube")[0].startswith("--out is missing: folder of the dataset")


@pytest.mark.parametrize("command", COMMANDS)
def test_no_help_has_braces_or_python_types_around_its_arguments(command: str) -> None:
    usage, *others = call(command, "--help").out.splitlines()
    assert "{" not in usage
    assert not any(line.strip().startswith(("TASK <", "DIR <")) for line in others)


def test_choices_are_joined_by_or() -> None:
    assert [either(words) for words in (["a"], ["a", "b"], ["a", "b", "c"])] == ["a", "a or b", "a, b or c"]


def test_no_name_is_split_at_its_hyphen() -> None:
    shown = call("run", "--help").out
    assert not any(line.endswith("-") for line in shown.splitlines())
    assert "move-plate" in shown
