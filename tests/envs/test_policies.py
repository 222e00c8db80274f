"""Policies found by name."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from graspline.envs.policies import load_policy
from graspline.errors import InputError

PROGRAM = """
calls = []
LIMIT = 3

def act(observation):
    return observation["agent_pos"]

class Remembering:
    def __init__(self):
        self.seen = 0

    def __call__(self, observation):
        self.seen += 1
        return self.seen

def between(observation, goal):
    ...

class Needy:
    def __init__(self, path):
        ...

class Silent:
    ...
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty current directory, whose modules are forgotten afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "modules", dict(sys.modules))
    return tmp_path


def test_a_function_of_a_module_in_the_current_directory_serves_every_episode(folder: Path) -> None:
    (folder / "mine_one.py").write_text(PROGRAM)
    make = load_policy("mine_one:act")
    assert make() is make()
    assert make()({"agent_pos": 5}) == 5


def test_a_class_is_made_anew_for_every_episode(folder: Path) -> None:
    (folder / "mine_two.py").write_text(PROGRAM)
    make = load_policy("mine_two:Remembering")
    first, second = make(), make()
    assert [first({}), first({}), second({})] == [1, 2, 1]


def test_modules_of_packages_are_found(folder: Path) -> None:
    (folder / "house").mkdir()
    (folder / "house" / "room.py").write_text(PROGRAM)
    assert callable(load_policy("house.room:act")())


@pytest.mark.parametrize(
    "named, words",
    [
        ("mine:", "expected MODULE:NAME"),
        ("mine", "expected MODULE:NAME"),
        ("hold-stil", "did you mean 'hold-still'\\? expected MODULE:NAME"),
        (":act", "expected MODULE:NAME"),
        ("nowhere:act", "no such module in .* or among the installed packages"),
        ("mine.py:act", "no such module in .*; leave .py out"),
        ("mine:atc", "no such name; did you mean 'act'\\? known: Needy, Remembering, Silent, act, between"),
        ("mine:LIMIT", "LIMIT is of type int; expected a function or a class"),
        ("mine:between", r"expected a function of one observation; it takes \(observation, goal\)"),
        ("mine:Needy", r"expected a class that is made without arguments; it takes \(path\)"),
        ("mine:Silent", r"its objects cannot be called; expected a method __call__\(self, observation\)"),
        ("broken:act", r"cannot be imported: SyntaxError"),
        ("needy:act", r"cannot be imported: ModuleNotFoundError: No module named 'surely_not_there' \(.*needy.py:1\)"),
        ("leaving:act", r"cannot be imported: SystemExit: 3"),
    ],
)
def test_what_is_not_found_is_said_in_one_line(folder: Path, named: str, words: str) -> None:
    (folder / "mine.py").write_text(PROGRAM)
    (folder / "broken.py").write_text("def act(:\n")
    (folder / "needy.py").write_text("import surely_not_there\n")
    (folder / "leaving.py").write_text("raise SystemExit(3)\n")
    with pytest.raises(InputError, match=f"--policy {named}: .*{words}") as refused:
        load_policy(named)
    assert len(str(refused.value).splitlines()) == 1
