"""The two programs: one grasp, with questions in between, and the whole table, without any."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from graspline.evidence import Evidence, at_least, at_most, passes
from graspline.execution.requests import Reply, asked, solved
from graspline.machine.machine import Machine, by_name
from graspline.machine.outcome import Gives, Outcome, Producing, Stage
from graspline.machine.table import End, Retry
from graspline.perception.core.beliefs import Belief
from graspline.perception.core.held import HeldObject
from graspline.perception.rgbd.change_detection import is_alike, is_new, moved_m
from graspline.perception.rgbd.odometry_drift import slip_between, unknown_before
from graspline.tasks.tidy.base_motion import TidyCell, near_hand, still_held, tool_at
from graspline.tasks.tidy.believed_room import House, KnownRoom
from graspline.tasks.tidy.execute_grasp import execute_grasp
from graspline.tasks.tidy.finding import find_grasp
from graspline.tasks.tidy.handover import handover
from graspline.tasks.tidy.parameters import Tidy
from graspline.tasks.tidy.placing import placement
from graspline.tasks.tidy.record import NotedRecord, TableRecord, TakenAway
from graspline.tasks.tidy.setup import robot_setup
from graspline.tasks.tidy.sight import TableSeen

Array = NDArray[np.float64]

INPUTS = {"cell": TidyCell, "house": House, "record": TableRecord}


def ask_program(cell: TidyCell) -> Stage[Literal["single_grasp", "clear_table"]]:
    """One object, or all of them?"""
    options = {"single_grasp": "One object", "clear_table": "Clear the table"}
    answer = yield from asked("What shall I do?", options, cell.settings.program)
    return Outcome("clear_table" if answer == "clear_table" else "single_grasp")


def ask_then(cell: TidyCell, held: HeldObject) -> Stage[Literal["placement", "handover"]]:
    """Onto the shelf, or into a hand?"""
    options = {"placement": "Put it on the shelf", "handover": "Hand it to me"}
    answer = yield from asked(f"What shall I do with the {held.name}?", options, cell.settings.then)
    return Outcome("handover" if answer == "handover" else "placement", about=held.name)


def note_table(table_seen: TableSeen, record: TableRecord) -> Gives[Literal["noted"], NotedRecord]:
    """The table as it was before anything was touched, however often it is looked at later."""
    return Gives("noted", NotedRecord(record=replace(record, at_first=record.at_first or table_seen)))


def check_others(
    last: Reply, cell: TidyCell, house: House, held: HeldObject, record: TableRecord, target: Belief, swept: Array
) -> Producing[Gives[Literal["kept"], KnownRoom] | Outcome[Literal["disturbed", "unseen"]]]:
    """Look back at the table: everything else stands where it stood, and nothing new lies there.

    What was gone before the hand was near, this robot did not move.
    """
    own = yield from solved(cell.world.own_solids, last.readings.joints)
    now = yield from cell.eye.table(last, house, (*own, held.at(tool_at(last) @ held.X_HO)))
    if not isinstance(now, TableSeen):
        return Outcome("unseen", now.as_evidence, about=held.name)
    assert record.at_first is not None, "the table is noted before anything is taken"
    was = without_gone(record.at_first, record.taken_away)
    evidence = yield from solved(kept_evidence, cell, was, now, target, swept)
    if not passes(evidence):
        return Outcome("disturbed", evidence, about=held.name)
    return Gives("kept", KnownRoom(house=now.house), evidence, about=held.name)


def without_gone(was: TableSeen, taken_away: tuple[TakenAway, ...]) -> TableSeen:
    """An earlier look at the table without the things that something other than this robot has taken away since."""
    gone = [slip_between(each.table, was.house.table).solid(each.thing) for each in taken_away]
    return replace(was, things=unknown_before(gone, was.things))


def kept_evidence(cell: TidyCell, was: TableSeen, now: TableSeen, taken: Belief, swept: Array) -> Evidence:
    """How far other things on the table have moved, and how many there are that were not there.

    Of what was hidden it is unknown where it stood; it may have been touched if the hand came near.
    """
    others = [each for each in was.things if each is not taken]
    if len(others) == len(was.things):
        # It was found later, or from aside, and at first it may have been taken for something else.
        others = list(unknown_before([taken], others))
    if len(others) == len(was.things):
        # It was moved before it was taken.
        alike = [each for each in was.things if is_alike(each, taken)]
        nearest = min(alike, key=lambda each: float(np.linalg.norm(each.position_m - taken.position_m)), default=None)
        others = [each for each in others if each is not nearest]
    before, after = was.sight, now.sight
    moved = max((moved_m(each, before, after) for each in others), default=0.0)
    new = sum(is_new(each, before, after) for each in now.things)
    slip = slip_between(was.house.table, now.house.table)
    revealed = unknown_before([slip.solid(each) for each in others], now.things)
    return (
        at_most("others_moved", moved, cell.settings.placing.beside_m, "m"),
        at_most("new_things", new, 0),
        near_hand(cell, revealed, swept),
    )


def single_grasp(settings: Tidy) -> Machine:
    """Find one object, take it, and place it or hand it over, as a person says."""
    return Machine(
        name="single_grasp",
        start="find_grasp",
        states={
            "find_grasp": find_grasp(settings),
            "execute_grasp": execute_grasp(settings),
            **by_name(note_table, check_others),
            "again": robot_setup(settings),
            "ask_then": ask_then,
            "placement": placement(settings),
            "handover": handover(settings),
        },
        table={
            "find_grasp": {"end_find_grasp": "note_table", "failed": End("nothing_found")},
            "note_table": {"noted": "execute_grasp"},
            "execute_grasp": {
                "execute_grasp_success": "check_others",
                "failed_to_grasp": Retry(to="again", budget="rounds", otherwise=End("failed_to_grasp")),
            },
            "check_others": {"kept": "ask_then", "disturbed": End("disturbed_others"), "unseen": End("table_unseen")},
            "again": {"setup_succeeded": "find_grasp", "setup_failed": End("setup_failed")},
            "ask_then": {"placement": "placement", "handover": "handover"},
            "placement": {"end_placement": End("success"), "failed_to_place": End("failed_to_place")},
            "handover": {"succeeded": End("success"), "aborted": End("aborted")},
        },
        inputs=INPUTS,
        budgets={"rounds": settings.retries.grasps},
    )


def route(cell: TidyCell, held: HeldObject) -> Outcome[Literal["shelf", "person"]]:
    """Where a thing goes when the table is cleared: into a hand, unless a rule says the shelf."""
    return Outcome("shelf" if held.name in cell.settings.rules.shelf else "person", about=held.name)


def give_up(record: TableRecord, target: Belief) -> Gives[Literal["noted"], NotedRecord]:
    """Another thing is tried first next time; one that others have taken away is not waited for."""
    left, given_up = record.most - len(record.taken_away), (*record.given_up, target)
    noted = NotedRecord(record=replace(record, given_up=given_up, most=left, taken_away=()))
    return Gives("noted", noted, (at_least("delivered", record.delivered, left),), about=target.name)


def count_things(house: House, record: TableRecord) -> Gives[Literal["counted"], NotedRecord]:
    """How many things there have been in all."""
    most = max(record.most, record.delivered + len(house.things))
    return Gives("counted", NotedRecord(record=replace(record, most=most)))


def count_delivered(record: TableRecord, held: HeldObject) -> Gives[Literal["counted"], NotedRecord]:
    """Count the object as delivered."""
    delivered = record.delivered + 1
    noted = NotedRecord(record=replace(record, delivered=delivered))
    return Gives("counted", noted, (at_least("delivered", delivered, record.most),), about=held.name)


def feel_hand(last: Reply, cell: TidyCell, held: HeldObject) -> Outcome[Literal["empty", "holding"]]:
    """Whether a thing that was not delivered is still in the hand; if it is lost, the others are gone for."""
    evidence = still_held(last, cell, held)
    return Outcome("holding" if passes(evidence) else "empty", evidence, about=held.name)


def check_table(
    last: Reply, cell: TidyCell, house: House, record: TableRecord
) -> Stage[Literal["clear", "not_clear", "lost_some", "unseen"]]:
    """Whether nothing stands on the table any more, and all that ever stood there was delivered."""
    seen = yield from cell.eye.table(last, house)
    if not isinstance(seen, TableSeen):
        return Outcome("unseen", seen.as_evidence)
    evidence = (at_most("things", len(seen.things), 0), at_least("delivered", record.delivered, record.most))
    if seen.things:
        return Outcome("not_clear", evidence)
    return Outcome("clear" if passes(evidence) else "lost_some", evidence)


def clear_table(settings: Tidy) -> Machine:
    """Give away one object after the other until the table is empty; if one is lost, go on with the rest."""
    next_round = Retry(to="face_table", budget="rounds", otherwise=End("table_not_cleared"))
    return Machine(
        name="clear_table",
        start="find_grasp",
        states={
            "find_grasp": find_grasp(settings),
            "count_things": count_things,
            "execute_grasp": execute_grasp(settings),
            **by_name(give_up, route),
            "placement": placement(settings),
            "handover": handover(settings),
            "feel_after_placement": feel_hand,
            "feel_after_handover": feel_hand,
            "count_delivered": count_delivered,
            "face_table": robot_setup(settings),
            "check_table": check_table,
        },
        table={
            "find_grasp": {"end_find_grasp": "count_things", "failed": "check_table"},
            "count_things": {"counted": "execute_grasp"},
            "execute_grasp": {"execute_grasp_success": "route", "failed_to_grasp": "give_up"},
            "give_up": {"noted": next_round},
            "route": {"shelf": "placement", "person": "handover"},
            "placement": {"end_placement": "count_delivered", "failed_to_place": "feel_after_placement"},
            "handover": {"succeeded": "count_delivered", "aborted": "feel_after_handover"},
            # What is still held cannot be put anywhere else, and with it in the hand nothing else can be taken.
            "feel_after_placement": {"empty": next_round, "holding": End("failed_to_place")},
            "feel_after_handover": {"empty": next_round, "holding": End("aborted")},
            "count_delivered": {"counted": replace(next_round, is_round=True)},
            "face_table": {"setup_succeeded": "find_grasp", "setup_failed": End("setup_failed")},
            "check_table": {
                "clear": End("success"),
                "not_clear": next_round,
                "lost_some": End("objects_lost"),
                "unseen": next_round,
            },
        },
        inputs=INPUTS,
        budgets={"rounds": settings.retries.rounds},
    )


def machine_of(settings: Tidy) -> Machine:
    """The program that is asked for: a part alone, or all of it."""
    parts = {each.__name__: each for each in (robot_setup, find_grasp, execute_grasp, placement, handover)}
    return parts.get(settings.program, tidy)(settings)


def tidy(settings: Tidy) -> Machine:
    """Set up, ask, and carry out the answer."""
    programs = {"single_grasp": single_grasp(settings), "clear_table": clear_table(settings)}
    return Machine(
        name="tidy",
        start="robot_setup",
        states={"robot_setup": robot_setup(settings), "ask_program": ask_program, **programs},
        table={
            "robot_setup": {"setup_succeeded": "ask_program", "setup_failed": End("setup_failed")},
            "ask_program": {name: name for name in programs},
            **{name: {each: End(each) for each in program.outcomes} for name, program in programs.items()},
        },
        inputs=INPUTS,
    )
