"""Everything that can be wrong with a machine is found when it is built, and reported all at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import pytest

from graspline.errors import WiringError
from graspline.execution.requests import Look, Reply
from graspline.machine.check import problems_of
from graspline.machine.machine import Machine
from graspline.machine.outcome import Gives, Outcome, Producing, Stage
from graspline.machine.table import End, Retry
from graspline.robots.robot import Robot

from .scripts import carry, drive, look, reply, rest, weigh


def machine(**changes: Any) -> Machine:
    """A sound machine, unless changes spoil it."""
    parts: dict[str, Any] = {
        "name": "sound",
        "start": "look",
        "states": {"look": look, "weigh": weigh, "carry": carry},
        "table": {
            "look": {"seen": "weigh", "lost": Retry(to="look", budget="looks", otherwise=End("lost"))},
            "weigh": {"weighed": "carry"},
            "carry": {"carried": End("success"), "dropped": End("dropped")},
        },
        "budgets": {"looks": 2},
    }
    return Machine(**(parts | changes))


def with_row(state: str, **outcomes: Any) -> dict[str, Any]:
    return {**machine().table, state: outcomes}


def problems(**changes: Any) -> list[str]:
    with pytest.raises(WiringError) as caught:
        machine(**changes)
    head, *lines = str(caught.value).split("\n")
    assert head == "machine 'sound':"
    return [line.strip() for line in lines]


def test_a_sound_machine_has_no_problem() -> None:
    assert problems_of(machine()) == []


@pytest.mark.parametrize(
    "changes, expected",
    [
        ({"table": with_row("carry", carried=End("success"))}, "carry: outcome 'dropped' leads nowhere"),
        (
            {"table": {state: row for state, row in machine().table.items() if state != "weigh"}},
            "weigh: outcome 'weighed' leads nowhere",
        ),
        (
            {"table": with_row("weigh", weighed="carry", wieghed="carry")},
            "weigh has no outcome 'wieghed'; did you mean 'weighed'? known: weighed",
        ),
        (
            {"table": with_row("weigh", weighed="cary")},
            "weigh: 'weighed' leads to 'cary', which is no state; did you mean 'carry'? known: carry, look, weigh",
        ),
        (
            {"table": with_row("weigh", weighed=Retry(to="carry", budget="looks", otherwise="nowhere"))},
            "weigh: 'weighed' leads to 'nowhere', which is no state; known: carry, look, weigh",
        ),
        ({"start": "lok"}, "start state 'lok' does not exist; did you mean 'look'? known: carry, look, weigh"),
        (
            {"table": with_row("wiegh", weighed="carry")},
            "table names 'wiegh', which is no state; did you mean 'weigh'? known: carry, look, weigh",
        ),
        ({"budgets": {"loooks": 2}}, "look: 'lost' spends budget 'looks'; did you mean 'loooks'? known: loooks"),
        ({"budgets": {"looks": -1}}, "budget 'looks' is -1; it must be at least 0"),
        (
            {"limits_s": {"carrry": 1.0}},
            "limits_s names 'carrry', which is no state; did you mean 'carry'? known: carry, look, weigh",
        ),
        ({"limits_s": {"carry": 1.0}}, "carry: outcome 'timed_out' leads nowhere"),
        (
            {"table": with_row("carry", carried=End("success"), dropped=End("dropped"), timed_out=End("late"))},
            "carry has no outcome 'timed_out'; known: carried, dropped",
        ),
        ({"table": with_row("look", seen=End("found"), lost=End("lost")), "start": "look"}, "weigh is never entered"),
        (
            {
                "table": {
                    "look": {"seen": "weigh", "lost": "look"},
                    "weigh": {"weighed": "carry"},
                    "carry": {"carried": "look", "dropped": "look"},
                }
            },
            "look has no way to an end",
        ),
    ],
)
def test_every_kind_of_problem_is_found_and_told_with_what_exists(changes: dict[str, Any], expected: str) -> None:
    assert expected in problems(**changes)


@pytest.mark.parametrize("limit_s", [0.0, -1.0, float("nan")])
def test_a_time_limit_must_be_positive(limit_s: float) -> None:
    table = with_row("carry", carried=End("success"), dropped=End("dropped"), timed_out=End("late"))
    assert problems(limits_s={"carry": limit_s}, table=table) == [
        f"time limit of 'carry' is {limit_s} s; it must be positive"
    ]
    machine(limits_s={"carry": 0.1}, table=table)


def unannotated() -> Any:
    return Outcome("done")


del unannotated.__annotations__["return"]


def takes_something(thing) -> Outcome[Literal["done"]]:
    return Outcome("done")


def returns_a_word() -> str:
    return "done"


def returns_any_outcome() -> Outcome[str]:
    return Outcome("done")


def returns_a_bare_outcome() -> Outcome:
    return Outcome("done")


@pytest.mark.parametrize(
    "state, expected",
    [
        (unannotated, "state 'unannotated' does not say what it returns"),
        (takes_something, "state 'takes_something': input 'thing' has no type"),
        (returns_a_word, "state 'returns_a_word' returns <class 'str'>; expected Outcome or Gives of Literal names"),
        (returns_any_outcome, "state 'returns_any_outcome' returns"),
        (returns_a_bare_outcome, "state 'returns_a_bare_outcome' returns"),
    ],
)
def test_a_state_must_declare_what_it_takes_and_how_it_ends(state: Any, expected: str) -> None:
    found = problems(states={**machine().states, "carry": state})
    assert any(line.startswith(expected) for line in found)


def test_problems_of_names_and_rows_are_all_told_at_once() -> None:
    found = problems(
        start="lok",
        states={"look": look, "weigh": weigh, "carry": carry, "odd": returns_a_word},
        table={
            "look": {"seen": "wiegh", "lost": Retry(to="look", budget="glances", otherwise=End("lost"))},
            "weigh": {"weighed": "carry", "heavy": End("heavy")},
            "carry": {"carried": End("success")},
            "cary": {},
        },
        budgets={"looks": -3},
        limits_s={"carry": 0.0, "run": 1.0},
    )
    expected = [
        "state 'returns_a_word' returns",
        "start state 'lok' does not exist",
        "table names 'cary'",
        "limits_s names 'run'",
        "budget 'looks' is -3",
        "time limit of 'carry' is 0.0 s",
        "look: 'seen' leads to 'wiegh'",
        "look: 'lost' spends budget 'glances'",
        "weigh has no outcome 'heavy'",
        "carry: outcome 'dropped' leads nowhere",
        "carry: outcome 'timed_out' leads nowhere",
    ]
    for beginning in expected:
        assert sum(line.startswith(beginning) for line in found) == 1, beginning
    # What follows from these mistakes is told, too: states that nothing leads to any more.
    assert all(
        "never entered" in line or "no way to an end" in line or "takes" in line for line in found[len(expected) :]
    )


def test_problems_of_ways_and_inputs_are_all_told_at_once() -> None:
    found = problems(
        states={"look": look, "carry": carry, "rest": rest, "spin": rest},
        table={
            "look": {"seen": "carry", "lost": "carry"},
            "carry": {"carried": End("success"), "dropped": "rest"},
            "rest": {"rested": "rest"},
            "spin": {"rested": End("dizzy")},
        },
        budgets={},
    )
    assert found == [
        "spin is never entered",
        "rest has no way to an end",
        "carry takes 'place', which is not given on every way to it",
        "carry takes 'weight_kg', which nothing gives; known: count, place",
    ]


def counts(place: int) -> Outcome[Literal["counted"]]:
    return Outcome("counted")


@dataclass(frozen=True)
class OtherPlace:
    place: int


def looks_elsewhere() -> Gives[Literal["seen"], OtherPlace]:
    return Gives("seen", OtherPlace(place=3))


def test_an_input_must_have_the_type_it_is_given_with() -> None:
    found = problems(
        states={"look": look, "counts": counts},
        table={"look": {"seen": "counts", "lost": End("lost")}, "counts": {"counted": End("success")}},
        budgets={},
    )
    assert found == ["counts takes 'place' as <class 'int'>, but it is given as <class 'str'>"]


def test_a_name_must_be_given_with_one_type() -> None:
    found = problems(
        states={"look": look, "elsewhere": looks_elsewhere, "weigh": weigh},
        table={
            "look": {"seen": "weigh", "lost": "elsewhere"},
            "elsewhere": {"seen": "weigh"},
            "weigh": {"weighed": End("success")},
        },
        budgets={},
    )
    assert found == ["elsewhere gives 'place' as <class 'int'>, elsewhere it is <class 'str'>"]


def test_inputs_of_the_machine_are_typed_and_known_from_the_start() -> None:
    parts: dict[str, Any] = {
        "states": {"weigh": weigh},
        "table": {"weigh": {"weighed": End("success")}},
        "start": "weigh",
        "budgets": {},
    }
    assert problems(**parts) == ["weigh takes 'place', which nothing gives; known: weight_kg"]
    assert problems(**parts, inputs={"place": int}) == [
        "weigh takes 'place' as <class 'str'>, but it is given as <class 'int'>"
    ]
    machine(**parts, inputs={"place": str})


def test_a_way_back_does_not_give_what_the_first_way_did_not() -> None:
    """What is given later in a loop is not there the first time round."""
    found = problems(
        states={"carry": carry, "look": look, "weigh": weigh},
        start="carry",
        inputs={"place": str},
        table={
            "carry": {"carried": End("success"), "dropped": "look"},
            "look": {"seen": "weigh", "lost": End("lost")},
            "weigh": {"weighed": "carry"},
        },
        budgets={},
    )
    assert found == ["carry takes 'weight_kg', which is not given on every way to it"]


def takes_what_everybody_may(last: Reply, robot: Robot) -> Stage[Literal["done"]]:
    yield Look(None)
    return Outcome("done")


def test_robot_and_last_reply_need_nobody_to_give_them() -> None:
    sound = Machine(
        name="sound",
        start="only",
        states={"only": takes_what_everybody_may},
        table={"only": {"done": End("success")}},
    )
    assert problems_of(sound) == []


def finding(**more: Any) -> Machine:
    return Machine(
        name="find",
        start="look",
        states={"look": look},
        table={"look": {"seen": End("success"), "lost": End("lost")}},
        **more,
    )


def test_what_a_nested_machine_gives_is_known_after_its_success_only() -> None:
    inner = finding(gives={"place": str})
    machine(
        states={"find": inner, "weigh": weigh},
        start="find",
        table={"find": {"success": "weigh", "lost": End("lost")}, "weigh": {"weighed": End("success")}},
        budgets={},
    )
    assert problems(
        states={"find": inner, "weigh": weigh},
        start="find",
        table={"find": {"success": "weigh", "lost": "weigh"}, "weigh": {"weighed": End("success")}},
        budgets={},
    ) == ["weigh takes 'place', which is not given on every way to it"]


def test_a_machine_hands_back_only_inputs() -> None:
    with pytest.raises(WiringError, match="hands back 'place', which is no input"):
        finding(hands_back=("place",))


def test_outcomes_of_a_nested_machine_must_be_in_the_table() -> None:
    found = problems(states={"find": finding()}, start="find", table={"find": {"success": End("success")}}, budgets={})
    assert found == ["find: outcome 'lost' leads nowhere"]


@pytest.mark.parametrize("gives", [{"place": int}, {"weight_kg": float}])
def test_a_machine_gives_only_what_its_states_do(gives: dict[str, Any]) -> None:
    with pytest.raises(WiringError, match="the machine gives"):
        finding(gives=gives)


def maybe(last: Reply) -> Producing[Outcome[Literal["yes", "no"]]]:
    yield Look(None)
    return Outcome("yes" if last.value else "no")


def test_a_machine_must_have_what_it_gives_on_every_way_to_its_success() -> None:
    parts: dict[str, Any] = {
        "name": "find",
        "start": "maybe",
        "states": {"maybe": maybe, "look": look},
        "table": {
            "maybe": {"yes": "look", "no": End("success")},
            "look": {"seen": End("success"), "lost": End("lost")},
        },
        "gives": {"place": str},
    }
    with pytest.raises(WiringError, match="place"):
        Machine(**parts)


def test_a_machine_that_passed_the_check_finds_every_input_it_needs() -> None:
    assert drive(machine(), [reply(value="shelf"), reply(value=True)]).outcome == "success"
