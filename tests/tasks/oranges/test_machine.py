"""The table of `oranges`: it builds, its budgets grow with what is asked for, and failures go home."""

from __future__ import annotations

import pytest

from graspline.machine.table import End, targets_of
from graspline.tasks.catalogue import TASKS
from graspline.tasks.oranges.recovery import return_home
from graspline.tasks.oranges.task import CLAIMS, ORANGES, build_machine, equipped

from .stagecraft import parameters

# Ends that cannot go home: it is home already, there is no way, or time is up.
AT_ONCE = {"success", "stranded", "timed_out"}


@pytest.mark.parametrize("setting", ["oranges.count=1", "plate.present=false", "perception.source=camera"])
def test_the_machine_builds_whatever_the_parameters(setting: str) -> None:
    machine = build_machine(parameters(setting))
    assert machine.start == "idle"
    assert machine.states["return_home"] is return_home


def test_every_failure_goes_home_before_it_ends() -> None:
    machine = build_machine(parameters())
    ends = [
        target
        for row in machine.table.values()
        for transition in row.values()
        for target in targets_of(transition)
        if isinstance(target, End)
    ]
    assert {end.outcome for end in ends if end.after is None} == AT_ONCE
    assert {end.after for end in ends if end.outcome not in AT_ONCE} == {"return_home"}


def test_success_is_only_claimed_by_a_look_from_home() -> None:
    machine = build_machine(parameters())
    successes = [
        (state, outcome)
        for state, row in machine.table.items()
        for outcome, transition in row.items()
        if End("success") in targets_of(transition)
    ]
    assert successes == [("confirm", "confirmed")]


def test_every_state_has_a_time_limit() -> None:
    machine = build_machine(parameters("state_limit_s=7.5"))
    assert machine.limits_s == dict.fromkeys(machine.states, 7.5)


@pytest.mark.parametrize(("choose", "asked"), [("all", 3), ("2", 1), ("1,3", 2), ("nearest:2", 3)])
def test_budgets_grow_with_the_oranges_asked_for(choose: str, asked: int) -> None:
    settings = parameters(f"targets.choose={choose}")
    budgets = build_machine(settings).budgets
    assert budgets == {
        "grasps": asked * settings.retries.grasps,
        "looks": asked * settings.retries.looks,
        "places": asked * settings.retries.places,
    }


def test_every_claim_is_made_by_an_outcome_that_exists() -> None:
    machine = build_machine(parameters())
    for state, outcome in CLAIMS:
        assert outcome in machine.table[state]


def test_the_task_is_in_the_catalogue() -> None:
    assert TASKS["oranges"] is ORANGES


def test_it_uses_truth_only_if_the_scenario_names_it() -> None:
    assert ORANGES.uses_truth(parameters())
    assert not ORANGES.uses_truth(parameters("perception.source=camera"))


def test_it_is_equipped_with_strangers_once() -> None:
    settings = equipped(parameters())
    assert settings.oranges.strangers > 0
    assert equipped(settings) is settings
