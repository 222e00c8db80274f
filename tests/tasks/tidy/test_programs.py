"""Both programs and the parts they are made of: wiring, names at the edges, and the questions in between."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from graspline.errors import WiringError
from graspline.execution.requests import Ask
from graspline.machine.machine import Machine
from graspline.tasks.tidy.parameters import PROGRAMS
from graspline.tasks.tidy.programs import (
    ask_program,
    ask_then,
    check_table,
    clear_table,
    machine_of,
    route,
    single_grasp,
    tidy,
)
from graspline.tasks.tidy.sight import SightFailed, TableSeen
from graspline.tasks.tidy.task import TIDY

from .stagecraft import HOUSE, READY, SETTINGS, answer, drive, sees, settings, solid

EDGES = {
    "find_grasp": {"end_find_grasp", "failed"},
    "execute_grasp": {"execute_grasp_success", "failed_to_grasp"},
    "robot_setup": {"setup_succeeded", "setup_failed"},
    "placement": {"end_placement", "failed_to_place"},
    "handover": {"succeeded", "aborted"},
}


def parts(machine: Machine) -> dict[str, Machine]:
    """Machines inside a machine, by their own names."""
    return {each.name: each for each in machine.states.values() if isinstance(each, Machine)}


@pytest.mark.parametrize("program", PROGRAMS)
def test_every_program_builds_and_may_end_well(program: str) -> None:
    machine = machine_of(settings(f"program={program}"))
    assert set(machine.successes) <= set(machine.outcomes)
    assert machine.name == (program if program in EDGES else "tidy")


@pytest.mark.parametrize("program", [single_grasp, clear_table])
def test_parts_are_the_same_inside_and_alone(program: Any) -> None:
    inside = parts(program(SETTINGS))
    assert set(inside) == set(EDGES)
    for name, machine in inside.items():
        alone = machine_of(settings(f"program={name}"))
        assert set(machine.outcomes) == EDGES[name]
        assert (machine.table, machine.states) == (alone.table, alone.states)
        assert (machine.inputs, machine.gives) == (alone.inputs, alone.gives)


@pytest.mark.parametrize("program", PROGRAMS)
def test_everything_a_program_takes_is_given_for_an_episode(program: str) -> None:
    more = {
        "execute_grasp": (
            "alone.grasp_poses=[1.1, 0, 0.77, 1, 0, 0, 0, 0.067]",
            "alone.grasp_object_bb=[1.1, 0, 0.771, 0, 0.0335, 0.0335, 0.051]",
        )
    }
    parameters = settings(f"program={program}", *more.get(program, ()))
    assert not TIDY.problems(parameters)
    random: Any = None
    draw: Any = None
    given = TIDY.given(parameters, draw, random)
    assert set(machine_of(parameters).inputs) <= set(given)


@pytest.mark.parametrize("missing", ["eye", "force_thresh", "object_to_grasp"])
def test_a_program_without_one_of_its_inputs_is_not_built(missing: str) -> None:
    machine = single_grasp(SETTINGS)
    inputs = {name: kind for name, kind in machine.inputs.items() if name != missing}
    with pytest.raises(WiringError, match=missing):
        replace(machine, inputs=inputs)


def test_a_grasp_that_is_not_handed_on_is_noticed() -> None:
    machine = single_grasp(SETTINGS)
    mute = replace(parts(machine)["find_grasp"], gives={})
    with pytest.raises(WiringError, match="grasp_poses"):
        replace(machine, states={**machine.states, "find_grasp": mute})


def test_every_way_out_of_a_program_is_a_way_out_of_the_task() -> None:
    assert set(tidy(SETTINGS).outcomes) == {
        "success",
        "setup_failed",
        "nothing_found",
        "failed_to_grasp",
        "failed_to_place",
        "aborted",
        "table_not_cleared",
        "objects_lost",
    }


def test_claims_are_about_states_and_outcomes_that_exist() -> None:
    machine = tidy(SETTINGS)
    for path, outcome in TIDY.claims:
        *outer, state = path.split(".")
        inner: Any = machine
        for name in outer:
            inner = inner.states[name]
        assert outcome in inner.table[state], (path, outcome)


class TestQuestions:
    @pytest.mark.parametrize("program", ["single_grasp", "clear_table"])
    def test_unattended_the_program_is_the_configured_one(self, program: str) -> None:
        asked, outcome = drive(ask_program(settings(f"program={program}")))
        assert isinstance(asked[0], Ask)
        assert asked[0].options == ("single_grasp", "clear_table")
        assert outcome.name == program

    def test_somebody_may_say_otherwise(self) -> None:
        _, outcome = drive(ask_program(SETTINGS), lambda ask: answer(READY, value="clear_table"))
        assert outcome.name == "clear_table"

    @pytest.mark.parametrize("then", ["placement", "handover"])
    def test_what_becomes_of_a_thing_is_asked_by_its_name(self, then: str) -> None:
        asked, outcome = drive(ask_then(settings(f"then={then}"), "mug"))
        assert "mug" in asked[0].question
        assert (outcome.name, outcome.about) == (then, "mug")

    def test_clearing_asks_nothing(self) -> None:
        assert "ask" not in " ".join(clear_table(SETTINGS).paths())


class TestRoute:
    def test_things_go_to_the_person_unless_a_rule_says_the_shelf(self) -> None:
        some = settings("rules.shelf=[mug, unknown]")
        assert {name: route(some, name).name for name in ("mug", "unknown", "apple")} == {
            "mug": "shelf",
            "unknown": "shelf",
            "apple": "person",
        }
        assert route(SETTINGS, "mug").name == "person"


@pytest.mark.parametrize(
    ("look", "name"),
    [
        (TableSeen(things=(), house=HOUSE), "clear"),
        (TableSeen(things=(solid("mug"),), house=HOUSE), "not_clear"),
        (SightFailed("ValueError: no points"), "unseen"),
        (None, "unseen"),
    ],
)
def test_a_table_is_clear_when_it_is_seen_to_be(look: Any, name: str) -> None:
    assert drive(check_table(answer(READY), sees(look), HOUSE, 2, 2))[1].name == name


def test_a_table_that_is_empty_is_not_cleared_if_less_was_delivered_than_stood_there() -> None:
    _, outcome = drive(check_table(answer(READY), sees(TableSeen(things=(), house=HOUSE)), HOUSE, 1, 2))
    assert outcome.name == "lost_some"
