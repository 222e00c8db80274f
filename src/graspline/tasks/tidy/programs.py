"""The two programs: one grasp, with questions in between, and the whole table, without any."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from graspline.evidence import Evidence, at_least, at_most, passes
from graspline.execution.requests import Reply, asked, solved
from graspline.machine.machine import Machine
from graspline.machine.outcome import Gives, Outcome, Producing, Stage
from graspline.machine.table import End, Retry
from graspline.perception.beliefs import Belief
from graspline.perception.held import HeldObject
from graspline.perception.kept import is_alike, is_new, moved_m
from graspline.planning.collision import CollisionWorld
from graspline.robots.robot import Robot
from graspline.tasks.tidy.correcting import unknown_before
from graspline.tasks.tidy.executing import execute_grasp
from graspline.tasks.tidy.finding import find_grasp
from graspline.tasks.tidy.handing import handover
from graspline.tasks.tidy.house import House
from graspline.tasks.tidy.moving import held_now
from graspline.tasks.tidy.nearing import TakenAway
from graspline.tasks.tidy.parameters import Tidy
from graspline.tasks.tidy.placing import placement
from graspline.tasks.tidy.setup import robot_setup
from graspline.tasks.tidy.sight import Eye, TableSeen
from graspline.tasks.tidy.slips import slip_between

Array = NDArray[np.float64]

# What was hidden and is this near to where the hand was may have been touched, and moved since.
_NEAR_M = 0.02

INPUTS = {
    "world": CollisionWorld,
    "eye": Eye,
    "house": House,
    "settings": Tidy,
    "given_up": tuple[Belief, ...],
    "at_first": tuple[TableSeen, ...],
    "contact_possible": bool,
    "taken_away": tuple[TakenAway, ...],
    "delivered": int,
    "most": int,
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GivenUp:
    """Things that could not be taken, where they stood, and how many remain that are to be delivered."""

    given_up: tuple[Belief, ...]
    most: int
    taken_away: tuple[TakenAway, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """The most things there were in all, on the table and delivered."""

    most: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AtFirst:
    """The first look at the table, once there is one."""

    at_first: tuple[TableSeen, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Known:
    """The room as it was seen last."""

    house: House


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivered:
    delivered: int


def ask_program(settings: Tidy) -> Stage[Literal["single_grasp", "clear_table"]]:
    """One object, or all of them?"""
    options = {"single_grasp": "One object", "clear_table": "Clear the table"}
    answer = yield from asked("What shall I do?", options, settings.program)
    return Outcome("clear_table" if answer == "clear_table" else "single_grasp")


def ask_then(settings: Tidy, grasp_object_name: str) -> Stage[Literal["placement", "handover"]]:
    """Onto the shelf, or into a hand?"""
    options = {"placement": "Put it on the shelf", "handover": "Hand it to me"}
    answer = yield from asked(f"What shall I do with the {grasp_object_name}?", options, settings.then)
    return Outcome("handover" if answer == "handover" else "placement", about=grasp_object_name)


def note_table(table_seen: TableSeen, at_first: tuple[TableSeen, ...]) -> Gives[Literal["noted"], AtFirst]:
    """The table as it was before anything was touched, however often it is looked at later."""
    return Gives("noted", AtFirst(at_first=at_first or (table_seen,)))


def check_others(
    last: Reply,
    world: CollisionWorld,
    eye: Eye,
    house: House,
    settings: Tidy,
    held: HeldObject,
    at_first: tuple[TableSeen, ...],
    taken_away: tuple[TakenAway, ...],
    grasp_object_bb: Belief,
    swept: Array,
) -> Producing[Gives[Literal["kept"], Known] | Outcome[Literal["disturbed", "unseen"]]]:
    """Look back at the table: everything else stands where it stood, and nothing new lies there.

    What was gone before the hand was near, this robot did not move.
    """
    own = yield from solved(world.own_solids, last.readings.joints)
    now = yield from eye.table(last, house, (*own, held_now(held, last)))
    if not isinstance(now, TableSeen):
        return Outcome("unseen", now.told, about=held.name)
    was = without_gone(at_first[0], taken_away)
    evidence = yield from solved(kept_evidence, world, settings, was, now, grasp_object_bb, swept)
    if not passes(evidence):
        return Outcome("disturbed", evidence, about=held.name)
    return Gives("kept", Known(house=now.house), evidence, about=held.name)


def without_gone(was: TableSeen, taken_away: tuple[TakenAway, ...]) -> TableSeen:
    """An earlier look at the table without the things that something other than this robot has taken away since."""
    gone = [slip_between(each.table, was.house.table).solid(each.thing) for each in taken_away]
    return dataclasses.replace(was, things=unknown_before(gone, was.things))


def kept_evidence(
    world: CollisionWorld, settings: Tidy, was: TableSeen, now: TableSeen, taken: Belief, swept: Array
) -> Evidence:
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
    moved = max((moved_m(each, was.sight, now.sight) for each in others), default=0.0)
    new = sum(is_new(each, was.sight, now.sight) for each in now.things)
    slip = slip_between(was.house.table, now.house.table)
    revealed = unknown_before([slip.solid(each) for each in others], now.things)
    world.place(revealed, clearance_m=_NEAR_M)
    near = int(bool(revealed) and world.first_touching(world.between(swept)) is not None)
    return (
        at_most("others_moved", moved, settings.placing.beside_m, "m"),
        at_most("new_things", new, 0),
        at_most("hidden_things_near_hand", near, 0),
    )


def single_grasp(settings: Tidy) -> Machine:
    """Find one object, take it, and place it or hand it over, as a person says."""
    return Machine(
        name="single_grasp",
        start="find_grasp",
        states={
            "find_grasp": find_grasp(settings),
            "execute_grasp": execute_grasp(settings),
            "note_table": note_table,
            "check_others": check_others,
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
        inputs={**INPUTS, "object_to_grasp": str, "force_thresh": float},
        budgets={"rounds": settings.retries.grasps},
    )


def route(settings: Tidy, grasp_object_name: str) -> Outcome[Literal["shelf", "person"]]:
    """Where a thing goes when the table is cleared: into a hand, unless a rule says the shelf."""
    return Outcome("shelf" if grasp_object_name in settings.rules.shelf else "person", about=grasp_object_name)


def give_up(
    given_up: tuple[Belief, ...],
    grasp_object_bb: Belief,
    delivered: int,
    most: int,
    taken_away: tuple[TakenAway, ...],
) -> Gives[Literal["noted"], GivenUp]:
    """Another thing is tried first next time; one that others have taken away is not waited for."""
    left = most - len(taken_away)
    evidence = (at_least("delivered", delivered, left),)
    noted = GivenUp(given_up=(*given_up, grasp_object_bb), most=left)
    return Gives("noted", noted, evidence, about=grasp_object_bb.name)


def count_things(things: tuple[Belief, ...], delivered: int, most: int) -> Gives[Literal["counted"], Counted]:
    """How many things there have been in all."""
    return Gives("counted", Counted(most=max(most, delivered + len(things))))


def count_delivered(delivered: int, most: int, grasp_object_name: str) -> Gives[Literal["counted"], Delivered]:
    evidence = (at_least("delivered", delivered + 1, most),)
    return Gives("counted", Delivered(delivered=delivered + 1), evidence, about=grasp_object_name)


def feel_hand(last: Reply, robot: Robot, settings: Tidy, held: HeldObject) -> Outcome[Literal["empty", "holding"]]:
    """Whether a thing that was not delivered is still in the hand; if it is lost, the others are gone for."""
    weaker = at_least("weaker_pad_force", min(last.readings.pad_forces_n()), settings.grasp.lost_n, "N")
    jaw = at_least("jaw_angle", float(last.readings.joints[robot.jaw]), held.least_jaw_rad, "rad")
    return Outcome("holding" if weaker.passed and jaw.passed else "empty", (weaker, jaw), about=held.name)


def check_table(
    last: Reply, eye: Eye, house: House, delivered: int, most: int
) -> Stage[Literal["clear", "not_clear", "lost_some", "unseen"]]:
    """Whether nothing stands on the table any more, and all that ever stood there was delivered."""
    seen = yield from eye.table(last, house)
    if not isinstance(seen, TableSeen):
        return Outcome("unseen", seen.told)
    evidence = (at_most("things", len(seen.things), 0), at_least("delivered", delivered, most))
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
            "give_up": give_up,
            "route": route,
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
            "count_delivered": {"counted": dataclasses.replace(next_round, is_round=True)},
            "face_table": {"setup_succeeded": "find_grasp", "setup_failed": End("setup_failed")},
            "check_table": {
                "clear": End("success"),
                "not_clear": next_round,
                "lost_some": End("objects_lost"),
                "unseen": next_round,
            },
        },
        inputs={**INPUTS, "object_to_grasp": str, "force_thresh": float},
        budgets={"rounds": settings.retries.rounds},
    )


def machine_of(settings: Tidy) -> Machine:
    """The program that is asked for: a part alone, or all of it."""
    parts = {
        "robot_setup": robot_setup,
        "find_grasp": find_grasp,
        "execute_grasp": execute_grasp,
        "placement": placement,
        "handover": handover,
    }
    return parts.get(settings.program, tidy)(settings)


def tidy(settings: Tidy) -> Machine:
    """Set up, ask, and do as told."""
    one, all_of_them = single_grasp(settings), clear_table(settings)
    return Machine(
        name="tidy",
        start="robot_setup",
        states={
            "robot_setup": robot_setup(settings),
            "ask_program": ask_program,
            "single_grasp": one,
            "clear_table": all_of_them,
        },
        table={
            "robot_setup": {"setup_succeeded": "ask_program", "setup_failed": End("setup_failed")},
            "ask_program": {"single_grasp": "single_grasp", "clear_table": "clear_table"},
            "single_grasp": {name: End(name) for name in one.outcomes},
            "clear_table": {name: End(name) for name in all_of_them.outcomes},
        },
        inputs={**INPUTS, "object_to_grasp": str, "force_thresh": float},
    )
