"""A task that breaks a promise is told which, and what to mend."""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any

import numpy as np
import pytest

from graspline.conformance import definition, playing
from graspline.conformance.definition import Subject
from graspline.conformance.kit import NAMES, check_task
from graspline.conformance.playing import Unwatched, player
from graspline.errors import InputError
from graspline.evidence import at_least
from graspline.tasks.catalogue import TASKS, find_task
from graspline.tasks.task import Claims, Task

LIFT = find_task("lift-cube")


def subject(**changed: Any) -> Subject:
    task: Task[Any] = dataclasses.replace(LIFT, **changed)
    return Subject(task=task, parameters=task.parameters(), seed=70)


def test_every_installed_task_is_well_defined() -> None:
    checks = (definition.check_names, definition.check_parameters, definition.check_table, definition.check_scene)
    for task in TASKS.values():
        found = [check(Subject(task=task, parameters=task.parameters(), seed=0)) for check in checks]
        assert [each.problems for each in found] == [()] * len(checks)


@pytest.mark.slow
def test_a_task_that_keeps_its_promises_conforms() -> None:
    found = check_task(LIFT, episodes=3, seed=11)
    found.require()
    assert tuple(each.name for each in found.checks) == NAMES
    assert found.as_dict()["conforms"]


def test_a_table_that_is_not_total_is_told_and_nothing_is_played() -> None:
    def machine(parameters: Any) -> Any:
        good = LIFT.machine(parameters)
        return dataclasses.replace(good, table={**good.table, good.start: {}})

    found = check_task(dataclasses.replace(LIFT, name="broken", machine=machine), episodes=1)
    assert any("leads nowhere" in each for each in found.problems)
    assert [each.name for each in found.checks if not each.done][-4:] == ["goal", "claims", "bits", "faults"]
    with pytest.raises(InputError, match="'broken' does not conform"):
        found.require()


class StoppedAtOnce(Unwatched):
    def stop(self) -> bool:
        return True


def test_checks_that_were_stopped_do_not_say_that_a_task_conforms() -> None:
    found = check_task(LIFT, episodes=1, watch=StoppedAtOnce())
    assert not found.conforms
    assert [(each.name, each.note, each.done) for each in found.checks] == [("names", "interrupted", False)]


def test_a_name_that_another_task_has_is_told() -> None:
    assert definition.check_names(subject(summary=" ")).problems == (
        "name 'lift-cube' is that of another installed task",
        "summary is empty; lists of tasks show it",
    )
    assert "lower-case" in definition.check_names(subject(name="Lift Cube")).problems[0]


def test_a_claim_about_a_state_or_an_outcome_that_there_is_not_is_told() -> None:
    claim = next(iter(LIFT.claims.outcomes.values()))
    told = definition.check_table(
        subject(claims=Claims(outcomes={("hover", "held"): claim, ("lift", "flown"): claim}))
    ).problems
    assert told == ("claims: 'hover' is no state", "claims: 'lift' has no outcome 'flown'")


def test_a_sampler_without_its_seed_is_told() -> None:
    count = itertools.count()

    def sample(parameters: Any, random: np.random.Generator) -> Any:
        return LIFT.sample(parameters, np.random.default_rng(next(count)))

    assert definition.check_sampler(subject(sample=sample)).problems == (
        "the same seed gives another scene the second time",
    )


def test_a_sampler_with_one_scene_is_told() -> None:
    def sample(parameters: Any, random: np.random.Generator) -> Any:
        return LIFT.sample(parameters, np.random.default_rng(0))

    assert definition.check_sampler(subject(sample=sample)).problems == ("16 seeds give the same scene",)


def test_an_input_that_is_not_given_is_told() -> None:
    def given(*arguments: Any) -> dict[str, Any]:
        return {name: each for name, each in LIFT.inputs(*arguments).items() if name != "eye"}

    assert definition.check_inputs(subject(inputs=given)).problems == ("the machine's input 'eye' is not given",)


def test_a_task_in_no_module_cannot_be_imported_by_workers() -> None:
    assert "worker processes cannot import it" in definition.check_processes(subject()).problems[0]


def test_a_goal_that_truth_contradicts_is_a_false_positive() -> None:
    wrong = subject(goal=lambda parameters, draw, truth: (at_least("height", 0.0, 1.0, "m"),))
    ended = player(Unwatched())("episodes", [wrong.scenario(70)], 1)
    (told,) = playing.check_goal(wrong, ended).problems
    assert told.startswith("false positive (episode) in seed 70: success")


def test_a_goal_that_is_fulfilled_from_the_start_is_told() -> None:
    wrong = subject(goal=lambda parameters, draw, truth: (at_least("height", 1.0, 0.0, "m"),))
    ended = player(Unwatched())("episodes", [wrong.scenario(70)], 1)
    assert "met before anything has moved (seeds 70)" in playing.check_goal(wrong, ended).problems[0]


def test_a_claim_that_truth_contradicts_is_told() -> None:
    weak = Claims(outcomes=LIFT.claims.outcomes, check=lambda *_: (at_least("force", 0.0, 1.0, "N"),))
    wrong = subject(claims=weak)
    ended = player(Unwatched())("episodes", [wrong.scenario(70)], 1)
    assert any("false positive (held)" in each for each in playing.check_claims(wrong, ended).problems)
