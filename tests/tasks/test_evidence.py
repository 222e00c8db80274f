"""No verdict without evidence: every outcome that ends a task, or ends it once a budget is spent, is measured."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import pytest

from graspline.episodes.episode import Episode
from graspline.episodes.run import run_scenarios
from graspline.episodes.scenario import Scenario
from graspline.machine.machine import Machine
from graspline.machine.table import End, targets_of
from graspline.parameters import build
from graspline.tasks.catalogue import TASKS

# How many arguments a call has that brings evidence.
_WITH_EVIDENCE = {"Outcome": 2, "Gives": 3}
# Its states are tested with their own evidence.
NAMES = sorted(set(TASKS) - {"tidy"})


def ends(machine: Machine) -> Iterator[tuple[str, str]]:
    """State and outcome of everything that may be the last of an episode."""
    for state, row in machine.table.items():
        for outcome, transition in row.items():
            if any(isinstance(target, End) for target in targets_of(transition)):
                yield state, outcome


def functions(found: Callable[..., Any]) -> Iterator[ast.FunctionDef]:
    """A state, and the functions of its module that it calls."""
    module = inspect.getmodule(found)
    assert isinstance(module, ModuleType)
    known = {each.name: each for each in ast.parse(inspect.getsource(module)).body if isinstance(each, ast.FunctionDef)}
    waiting, seen = [found.__name__], set[str]()
    while waiting:
        name = waiting.pop()
        if name in seen or name not in known:
            continue
        seen.add(name)
        yield known[name]
        waiting += [each.id for each in ast.walk(known[name]) if isinstance(each, ast.Name)]


def unproven(found: Callable[..., Any]) -> set[str]:
    """Outcomes that a state returns somewhere without evidence."""
    names = set[str]()
    for function in functions(found):
        for call in ast.walk(function):
            if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in _WITH_EVIDENCE):
                continue
            brought = len(call.args) >= _WITH_EVIDENCE[call.func.id] or any(
                each.arg == "evidence" for each in call.keywords
            )
            if not brought and call.args:
                constants = (each for each in ast.walk(call.args[0]) if isinstance(each, ast.Constant))
                names |= {each.value for each in constants if isinstance(each.value, str)}
    return names


@pytest.mark.parametrize("name", NAMES)
def test_every_outcome_that_can_end_an_episode_brings_evidence(name: str) -> None:
    task = TASKS[name]
    machine = task.machine(task.parameters())
    bare = {}
    for state, outcome in ends(machine):
        found = machine.states[state]
        assert not isinstance(found, Machine)
        if outcome != "timed_out" and outcome in unproven(found):
            bare.setdefault(state, set()).add(outcome)
    assert bare == {}


@pytest.mark.slow
@pytest.mark.parametrize(
    "name, fault, settings, verdict",
    [
        ("lift-cube", "remove@lift", (), "target_not_found"),
        ("lift-cube", "blackout@look", (), "target_not_found"),
        ("lift-cube", "remove@verify", ("retries.grasps=0",), "not_verified"),
        ("lift-cube", "jam@lift", ("state_limit_s=2", "retries.grasps=0"), None),
        ("grab", "remove@move", (), None),
        ("grab", "remove@confirm", ("retries.grasps=0",), None),
        ("oranges", "remove@approach", ("oranges.count=1",), "target_not_found"),
        ("oranges", "plate-away@idle", ("oranges.count=1",), "reset_required"),
    ],
)
def test_what_ends_a_disturbed_episode_is_measured(
    name: str, fault: str, settings: tuple[str, ...], verdict: str | None
) -> None:
    task = TASKS[name]
    parameters = build(task.parameters, None, settings)
    scenarios = [Scenario(task=task, parameters=parameters, seed=seed, faults=(fault,)) for seed in (1, 2)]
    for episode in run_scenarios(scenarios, lanes=2):
        assert verdict in (None, episode.verdict)
        assert_measured(episode)


def assert_measured(episode: Episode) -> None:
    assert episode.evidence, (episode.verdict, episode.transitions[-3:])
    if not episode.succeeded:
        assert not all(each.passed for each in episode.evidence)
    last = [each for each in episode.as_dict()["transitions"] if each["evidence"]][-1]
    assert {"t_s", "state", "outcome", "about", "evidence"} == set(last)
