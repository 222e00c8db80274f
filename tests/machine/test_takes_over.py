"""A second start: the state that takes over from another driver."""

from __future__ import annotations

from typing import Any, Literal

import pytest

from graspline.errors import WiringError
from graspline.execution.notifications import Entered
from graspline.execution.requests import Announce
from graspline.machine.diagram import mermaid, svg
from graspline.machine.machine import Machine, Result
from graspline.machine.outcome import Outcome
from graspline.machine.table import End
from graspline.robots.so101 import SO101

from .scripts import reply


def begin() -> Outcome[Literal["begun"]]:
    return Outcome("begun")


def free(weight: float) -> Outcome[Literal["freed"]]:
    return Outcome("freed")


def machine(**changes: Any) -> Machine:
    whole: dict[str, Any] = {
        "name": "two starts",
        "start": "begin",
        "states": {"begin": begin, "free": free},
        "table": {"begin": {"begun": End("success")}, "free": {"freed": "begin"}},
        "inputs": {"weight": float},
        "takes_over": "free",
    }
    return Machine(**{**whole, **changes})


def entered(*, takes_over: bool) -> tuple[list[str], Result]:
    run = machine().run(SO101, reply(), {"weight": 1.0}, takes_over=takes_over)
    states: list[str] = []
    while True:
        try:
            request = next(run)
        except StopIteration as done:
            return states, done.value
        if isinstance(request, Announce) and isinstance(request.notification, Entered):
            states.append(request.notification.state)


def test_a_run_begins_with_the_state_that_takes_over_only_where_it_is_asked_to() -> None:
    assert entered(takes_over=False)[0] == ["begin"]
    states, result = entered(takes_over=True)
    assert (states, result.outcome) == (["free", "begin"], "success")


def test_a_state_that_only_takes_over_is_entered_and_gets_the_inputs_alone() -> None:
    with pytest.raises(WiringError, match="free is never entered"):
        machine(takes_over=None)
    with pytest.raises(WiringError, match="free takes 'weight', which nothing gives"):
        machine(inputs={})


def test_a_state_that_takes_over_must_exist() -> None:
    with pytest.raises(WiringError, match="'fre', which takes over, does not exist; did you mean 'free'"):
        machine(takes_over="fre", states={"begin": begin, "free": free})


def test_a_machine_without_such_a_state_cannot_take_over() -> None:
    alone = machine(states={"begin": begin}, table={"begin": {"begun": End("success")}}, takes_over=None)
    with pytest.raises(WiringError, match="has no state that takes over"):
        next(alone.run(SO101, reply(), {"weight": 1.0}, takes_over=True))


def test_a_state_of_another_driver_is_no_retry() -> None:
    assert not machine().is_retry("follow", "stood_still", "free")


def test_diagrams_show_both_starts() -> None:
    assert "    [*] --> free: from another driver\n" in mermaid(machine())
    assert "start when taking over" in svg(machine())
    assert "A run that takes over starts at begin." in svg(
        machine(takes_over="begin", states={"begin": begin}, table={"begin": {"begun": End("success")}})
    )
