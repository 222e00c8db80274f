"""Both programs and the parts they are made of: wiring, names at the edges, and the questions in between."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from graspline.errors import WiringError
from graspline.evidence import passes
from graspline.execution.requests import Ask
from graspline.grasping.whole_body_reach import straight_path
from graspline.kinematics import hsr
from graspline.machine.machine import Machine
from graspline.machine.table import End, Retry
from graspline.perception.core.beliefs import Belief
from graspline.perception.rgbd.odometry_drift import Slip
from graspline.perception.rgbd.planes import NoPlane
from graspline.robots.hsr import HSR
from graspline.tasks.tidy.parameters import PROGRAMS
from graspline.tasks.tidy.programs import (
    ask_program,
    ask_then,
    check_others,
    check_table,
    clear_table,
    count_things,
    feel_hand,
    give_up,
    kept_evidence,
    machine_of,
    note_table,
    route,
    single_grasp,
    tidy,
)
from graspline.tasks.tidy.record import TableRecord, TakenAway
from graspline.tasks.tidy.sight import SightFailed, TableSeen
from graspline.tasks.tidy.task import TIDY

from .stagecraft import (
    CELL,
    HOUSE,
    READY,
    SETTINGS,
    TABLE_M,
    answer,
    cell,
    drive,
    held_object,
    house,
    motions,
    seeing,
    sees,
    settings,
    solid,
)

CAN, JUICE = solid("soup_can", (1.15, 0.0, TABLE_M)), solid("juice_can", (1.2, 0.25, TABLE_M))
APPLE = solid("apple", (1.45, -0.25, TABLE_M))
CAN_GONE = TakenAway(thing=CAN, table=HOUSE.table)

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
    given = TIDY.inputs(parameters, draw, random)
    assert set(machine_of(parameters).inputs) <= set(given)


@pytest.mark.parametrize("missing", ["cell", "house", "record"])
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
        "disturbed_others",
        "table_unseen",
    }


def test_claims_are_about_states_and_outcomes_that_exist() -> None:
    machine = tidy(SETTINGS)
    for path, outcome in TIDY.claims.outcomes:
        *outer, state = path.split(".")
        inner: Any = machine
        for name in outer:
            inner = inner.states[name]
        assert outcome in inner.table[state], (path, outcome)


class TestQuestions:
    @pytest.mark.parametrize("program", ["single_grasp", "clear_table"])
    def test_unattended_the_program_is_the_configured_one(self, program: str) -> None:
        asked, outcome = drive(ask_program(cell(f"program={program}")))
        assert isinstance(asked[0], Ask)
        assert asked[0].options == ("single_grasp", "clear_table")
        assert outcome.name == program

    def test_somebody_may_say_otherwise(self) -> None:
        _, outcome = drive(ask_program(CELL), lambda ask: answer(READY, value="clear_table"))
        assert outcome.name == "clear_table"

    @pytest.mark.parametrize("then", ["placement", "handover"])
    def test_what_becomes_of_a_thing_is_asked_by_its_name(self, then: str) -> None:
        asked, outcome = drive(ask_then(cell(f"then={then}"), held_object(solid("mug"))))
        assert "mug" in asked[0].question
        assert (outcome.name, outcome.about) == (then, "mug")

    def test_clearing_asks_nothing(self) -> None:
        assert "ask" not in " ".join(clear_table(SETTINGS).paths())


class TestRoute:
    def test_things_go_to_the_person_unless_a_rule_says_the_shelf(self) -> None:
        some = cell("rules.shelf=[mug, unknown]")
        assert {name: route(some, held_object(solid(name))).name for name in ("mug", "unknown", "apple")} == {
            "mug": "shelf",
            "unknown": "shelf",
            "apple": "person",
        }
        assert route(CELL, held_object(solid("mug"))).name == "person"


@pytest.mark.parametrize(
    ("look", "name"),
    [
        (TableSeen(things=(), house=HOUSE), "clear"),
        (TableSeen(things=(solid("mug"),), house=HOUSE), "not_clear"),
        (SightFailed("ValueError: no points"), "unseen"),
        (NoPlane(agreed=3), "unseen"),
    ],
)
def test_a_table_is_clear_when_it_is_seen_to_be(look: Any, name: str) -> None:
    assert drive(check_table(answer(READY), seeing(look), HOUSE, TableRecord(delivered=2, most=2)))[1].name == name


def test_a_table_that_is_empty_is_not_cleared_if_less_was_delivered_than_stood_there() -> None:
    it = seeing(TableSeen(things=(), house=HOUSE))
    _, outcome = drive(check_table(answer(READY), it, HOUSE, TableRecord(delivered=1, most=2)))
    assert outcome.name == "lost_some"


@pytest.mark.parametrize(
    ("pads_n", "jaw_m", "name"),
    [((20.0, 20.0), 0.067, "holding"), ((0.0, 20.0), 0.067, "empty"), ((5.0, 5.0), 0.0, "empty")],
)
def test_a_hand_that_feels_nothing_or_has_closed_has_lost_its_thing(
    pads_n: tuple[float, float], jaw_m: float, name: str
) -> None:
    felt = answer(READY, pads_n=pads_n, jaw_rad=float(HSR.jaw_law.angle_rad(jaw_m)))
    outcome = feel_hand(felt, CELL, held_object(CAN))
    assert (outcome.name, outcome.about) == (name, "soup_can")
    assert passes(outcome.evidence) == (name == "holding")


@pytest.mark.parametrize(("gone", "left"), [((), 3), ((CAN_GONE,), 2)])
def test_one_that_was_taken_away_is_not_waited_for_when_a_table_is_cleared(
    gone: tuple[TakenAway, ...], left: int
) -> None:
    noted = give_up(TableRecord(delivered=1, most=3, taken_away=gone), CAN).data.record
    assert (noted.most, noted.taken_away, noted.given_up) == (left, (), (CAN,))
    # Seen again later, it counts again.
    assert count_things(house(CAN, JUICE, APPLE), replace(noted, delivered=0)).data.record.most == 3


def test_clearing_goes_on_with_the_rest_when_a_thing_is_lost_and_stops_with_one_it_cannot_put_down() -> None:
    table = clear_table(SETTINGS).table
    on = Retry(to="face_table", budget="rounds", otherwise=End("table_not_cleared"))
    assert table["handover"]["aborted"] == "feel_after_handover"
    assert table["feel_after_handover"] == {"empty": on, "holding": End("aborted")}
    assert table["placement"]["failed_to_place"] == "feel_after_placement"
    assert table["feel_after_placement"] == {"empty": on, "holding": End("failed_to_place")}
    # It was counted, and is missing at the end.
    assert table["check_table"]["lost_some"] == End("objects_lost")
    assert "objects_lost" not in tidy(SETTINGS).successes


# As if the thing had been where the hand is when the robot looks at the table.
SWEPT = np.stack([straight_path(HSR, READY, np.array([0.0, 0.0, -0.05])).end, READY])


def table(*things: Belief) -> TableSeen:
    return TableSeen(things=things, house=HOUSE)


def shifted(thing: Belief, aside_m: float) -> Belief:
    return replace(thing, position_m=thing.position_m + np.array([0.0, aside_m, 0.0]))


class TestCheckOthers:
    """The can was taken from between the others."""

    WAS = table(CAN, JUICE, APPLE)

    def asked(self, eye: Any, taken_away: tuple[TakenAway, ...] = ()) -> tuple[list[Any], Any]:
        record = TableRecord(at_first=self.WAS, taken_away=taken_away)
        stage = check_others(answer(READY), replace(CELL, eye=eye), HOUSE, held_object(CAN), record, CAN, SWEPT)
        return drive(stage)

    def outcome(self, look: Any) -> Any:
        return self.asked(sees(look))[1]

    def test_others_that_stand_where_they_stood_were_kept(self) -> None:
        outcome = self.outcome(table(shifted(JUICE, 0.003), APPLE))
        assert (outcome.name, outcome.about) == ("kept", "soup_can")
        assert all(each.passed for each in outcome.evidence)

    @pytest.mark.parametrize(
        ("left", "measured"),
        [
            ((shifted(JUICE, 0.05), APPLE), "others_moved"),
            ((JUICE,), "others_moved"),
            ((JUICE, APPLE, solid("mug", (1.3, 0.0, TABLE_M))), "new_things"),
        ],
        ids=["pushed", "gone", "new"],
    )
    def test_one_that_was_pushed_is_gone_or_is_new_was_disturbed(self, left: tuple[Belief, ...], measured: str) -> None:
        outcome = self.outcome(table(*left))
        assert outcome.name == "disturbed"
        assert [each.name for each in outcome.evidence if not each.passed] == [measured]

    @pytest.mark.parametrize(("gone", "name"), [(APPLE, "kept"), (JUICE, "disturbed")])
    def test_one_that_was_taken_away_before_the_hand_was_near_is_not_disturbed_by_this_robot(
        self, gone: Belief, name: str
    ) -> None:
        slip = Slip(about_m=np.array([0.3, 0.1]), shift_m=np.array([0.03, -0.02]), turn_rad=0.02)
        taken = TakenAway(thing=slip.solid(gone), table=slip.fitting(HOUSE.table))
        assert self.asked(sees(table(JUICE)), (taken,))[1].name == name

    @pytest.mark.parametrize("look", [NoPlane(agreed=3), SightFailed("ValueError: no points")])
    def test_a_table_that_is_not_seen_proves_nothing(self, look: Any) -> None:
        outcome = self.outcome(look)
        assert outcome.name == "unseen"
        assert not passes(outcome.evidence)
        assert outcome.evidence

    def test_wheels_that_slipped_have_moved_nothing(self) -> None:
        slip = Slip(about_m=np.array([0.3, 0.1]), shift_m=np.array([0.03, -0.02]), turn_rad=0.02)
        there = replace(HOUSE, table=slip.fitting(HOUSE.table))
        assert self.outcome(TableSeen(things=(slip.solid(JUICE), slip.solid(APPLE)), house=there)).name == "kept"

    def test_the_hand_and_what_it_holds_are_no_things(self) -> None:
        eye = sees(table(JUICE, APPLE))
        asked, _ = self.asked(eye)
        (own,) = eye.known
        assert {"palm_body", "left_pad", "wrist_barrel", "soup_can"} <= {each.name for each in own}
        tool, _ = hsr.forward(READY)
        assert np.linalg.norm(own[-1].position_m - tool) < 0.1
        assert not motions(asked)

    def test_a_thing_alone_has_no_others(self) -> None:
        evidence = kept_evidence(CELL, table(CAN), table(), CAN, SWEPT)
        assert all(each.passed for each in evidence)

    @pytest.mark.parametrize("taken", [CAN, shifted(CAN, 0.02)], ids=["same", "from_aside"])
    def test_of_two_alike_it_is_the_one_that_was_taken_that_may_be_gone(self, taken: Belief) -> None:
        other = shifted(CAN, -0.3)
        for left, kept in ((other, True), (CAN, False)):
            was, now = table(other, CAN), table(left)
            evidence = kept_evidence(CELL, was, now, taken, SWEPT)
            assert all(each.passed for each in evidence) is kept

    def test_one_that_was_not_seen_from_the_front_leaves_all_others_to_be_checked(self) -> None:
        hidden = solid("mug", (1.3, 0.0, TABLE_M))
        for left, kept in (((CAN, JUICE), True), ((CAN,), False)):
            evidence = kept_evidence(CELL, table(CAN, JUICE), table(*left), hidden, SWEPT)
            assert all(each.passed for each in evidence) is kept


class TestHiddenThings:
    """What shows once the can is gone was behind it; nobody knows where it stood."""

    def near(self, *revealed: Belief) -> float:
        was, now = table(CAN, JUICE), table(JUICE, *revealed)
        evidence = kept_evidence(CELL, was, now, CAN, SWEPT)
        return next(each for each in evidence if each.name == "hidden_things_near_hand").value

    def beside_hand(self, aside_m: float) -> Belief:
        """A small ball beside the outermost of both fingers, so far."""
        pads = [each for each in CELL.world.own_solids(READY) if "left" in each.name or "right" in each.name]
        tool, rotation = hsr.forward(READY)
        out = max(
            float(
                (each.position_m - tool) @ rotation[:, 2] + np.abs(rotation[:, 2] @ each.rotation) @ each.half_extents_m
            )
            for each in pads
        )
        ball = solid(shape="ball", half_m=(0.02, 0.02, 0.02))
        return replace(ball, position_m=tool + (out + aside_m + 0.02) * rotation[:, 2], position_sigma_m=0.0)

    def test_one_that_the_hand_came_near_to_may_have_been_touched(self) -> None:
        assert self.near(self.beside_hand(0.0)) == 1

    def test_one_that_it_did_not_come_near_to_was_not(self) -> None:
        assert self.near(self.beside_hand(0.08)) == 0
        assert self.near(APPLE) == 0

    def test_what_was_seen_before_is_not_hidden_however_near(self) -> None:
        near = self.beside_hand(0.0)
        evidence = kept_evidence(CELL, table(CAN, near), table(near), CAN, SWEPT)
        assert all(each.passed for each in evidence)


def test_others_that_were_disturbed_end_the_program_before_anything_is_delivered() -> None:
    table = single_grasp(SETTINGS).table
    assert table["execute_grasp"]["execute_grasp_success"] == "check_others"
    assert table["check_others"] == {
        "kept": "ask_then",
        "disturbed": End("disturbed_others"),
        "unseen": End("table_unseen"),
    }
    assert not {"disturbed_others", "table_unseen"} & set(single_grasp(SETTINGS).successes)


def test_the_table_is_held_against_how_it_was_before_anything_was_touched() -> None:
    first, later = table(CAN, JUICE), table(JUICE)
    noted = note_table(first, TableRecord()).data.record
    assert noted.at_first is first
    assert note_table(later, noted).data.record.at_first is first
