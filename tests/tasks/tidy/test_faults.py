"""What faults do in a room: whom they strike, what they put where, and what `tidy` makes of it."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
import pytest

from graspline.campaigns.baseline import Calm, senseless
from graspline.campaigns.campaign import Plan, run_campaign
from graspline.engine.actors import Account, LaneView, Manner
from graspline.engine.cpu import CpuEngine
from graspline.engine.events import Change, Event, Place, Push, Roughen
from graspline.episodes.snapshots import snapshot_of
from graspline.faults.catalogue import fault_kinds, find_fault
from graspline.faults.context import FaultContext, Timed
from graspline.faults.objects import REMOVE, SHOVE
from graspline.parameters import build
from graspline.perception.core.beliefs import Belief
from graspline.robots.hsr import HSR
from graspline.robots.ur5e import UR5E
from graspline.scenes.belt_line import belt_line
from graspline.scenes.cube_table import cube_table
from graspline.scenes.fittings import SHELF, TABLE, Fitting
from graspline.scenes.fruit_table import fruit_table
from graspline.scenes.household import item_of
from graspline.scenes.household_bodies import is_parked
from graspline.scenes.person import PERSON
from graspline.scenes.room import Standing, room, room_start, room_variation
from graspline.scenes.scene import Array, Scene
from graspline.tasks.task import Draw
from graspline.tasks.tidy.believed_room import House
from graspline.tasks.tidy.fault_hints import FAULT_HINTS
from graspline.tasks.tidy.fault_surfaces import stands_on
from graspline.tasks.tidy.faults import BASE_SLIP, BUMP, DEPTH_HOLES, DEPTH_NOISE, NO_PERSON, PUSH_BACK, SOFT_PULL
from graspline.tasks.tidy.object_faults import BOARD_FULL, OCCLUDE, SHIFT
from graspline.tasks.tidy.sight import BoardSeen
from graspline.tasks.tidy.task import TIDY

# Farther from the table's edges than its middle, so that there is room on all sides.
CAN_M, MUG_M = (0.0, 0.1), (0.15, -0.2)


def standing(name: str, fitting: Fitting, level: str, x_m: float, y_m: float) -> Standing:
    """Upright there, seen from the middle of a level."""
    x, y, z = fitting.level(level).position_m
    at = fitting.in_world((x + x_m, y + y_m, z + item_of(name).half_extents_m[2])).tolist()
    return Standing(item=item_of(name), position_m=(at[0], at[1], at[2]), yaw_rad=fitting.yaw_rad)


class Host:
    """An actor who only remembers how to behave."""

    period_s = 1.0

    def __init__(self, attended: bool = True) -> None:
        self.attended, self.manner = attended, Manner()

    def act(self, world: LaneView) -> Sequence[Event]:
        return ()

    def accounts(self, world: LaneView) -> tuple[Account, ...]:
        return ()

    def behave(self, manner: Manner) -> None:
        self.manner = manner


def a_room(*more: Standing, seed: int = 0, attended: bool = True) -> FaultContext:
    """A soup can and a mug on the table, and whatever else stands somewhere."""
    things = (
        standing("soup_can", TABLE, "table", *CAN_M),
        standing("mug", TABLE, "table", *MUG_M),
        *more,
    )
    scene, variation = room(HSR), room_variation(things, (TABLE, SHELF), {})
    engine = CpuEngine(scene, 1, 1)
    engine.reset(0, room_start(scene, things), variation)
    return FaultContext(
        engine=engine,
        lane=0,
        variation=variation,
        random=np.random.default_rng(seed),
        target="soup_can",
        hints=dataclasses.replace(FAULT_HINTS, bay_of=lambda parameters, name: "board_middle"),
        actor=Host(attended),
    )


def play(context: FaultContext, seconds: float, controls: Array = HSR.home) -> None:
    for _ in range(round(seconds * HSR.control_hz)):
        context.engine.step(controls[None], np.zeros(1, np.intp))


def happen(context: FaultContext, events: list[Timed]) -> list[Event]:
    """Let events strike one after the other, at once."""
    done = [deed(context) if callable(deed) else deed for _, deed in events]
    for event in done:
        context.engine.apply(0, event)
    return done


# Where they are offered


@pytest.mark.parametrize("scene", [cube_table(), belt_line(UR5E, 2), fruit_table(1, 0.11, 0, False)])
def test_other_scenes_are_not_offered_faults_of_a_room(scene: Scene) -> None:
    reasons = {name: kind.missing_in(scene) for name, kind in fault_kinds().items()}
    assert {reasons[name] for name in ("shift", "occlude", "board-full", "depth-noise", "bump")} == {
        "the scene has no furniture"
    }
    assert {reasons[name] for name in ("no-person", "soft-pull", "push-back")} == {"the scene has no person"}
    assert reasons["base-slip"] == "the robot has no wheels"


def test_a_room_is_offered_all_but_belts_and_plates() -> None:
    missing = [name for name, kind in fault_kinds().items() if kind.missing_in(room(HSR))]
    assert missing == ["belt-jam", "belt-reverse", "belt-step", "move-plate", "plate-away", "plate-full"]


def test_people_make_no_sense_where_none_come_and_what_is_held_cannot_be_moved_on_the_table() -> None:
    calm = Calm(verdict="success", outcomes=(), lasted_s={"lift": 1.0}, gripping=frozenset({"lift"}), looked=True)
    assert senseless("soft-pull", "lift", room(HSR), [calm]) == "no person ever comes"
    assert senseless("shift", "lift", room(HSR), [calm]) == "what it strikes is in the hand"
    assert senseless("bump", "lift", room(HSR), [calm]) == ""


# Whom they strike


def test_what_is_nearest_to_the_robot_is_struck_unless_something_was_spoken_of() -> None:
    context = a_room()
    context.aim()
    assert context.target == "soup_can"
    context.spoken_of = "mug"
    context.aim()
    assert context.target == "mug"


def test_what_has_no_name_is_something_that_nobody_knows() -> None:
    context = a_room(standing("unknown_box_1", TABLE, "table", 0.2, 0.2))
    context.spoken_of = "unknown"
    context.aim()
    assert context.target == "unknown_box_1"


def test_things_on_the_shelf_are_there_and_what_waits_or_was_given_away_is_not() -> None:
    context = a_room(standing("apple", SHELF, "board_low", 0.0, 0.0))
    context.engine.apply(0, Place(body="mug", position_m=(0.6, -2.4, 0.8)))
    assert [context.is_here(name) for name in ("soup_can", "apple", "mug", "tea_box")] == [True, True, False, False]


def test_what_a_person_has_is_left_alone() -> None:
    context = a_room()
    context.spoken_of = "mug"
    for body, y_m in (("mug", -1.03), (PERSON, -1.12)):
        context.engine.apply(0, Place(body=body, position_m=(0.08, y_m, 0.95)))
    context.aim()
    assert context.target == "soup_can"


# What they do


def test_what_is_taken_away_waits_without_weight() -> None:
    context = a_room()
    happen(context, REMOVE.strike(context))
    play(context, 0.5)
    assert is_parked(context.position_m("soup_can").tolist())
    assert not context.is_here("soup_can")


def test_what_may_be_hit_by_something_that_falls_is_marked_in_the_log() -> None:
    context = a_room(standing("apple", TABLE, "table", 0.1, 0.2), standing("tea_box", SHELF, "board_low", 0.0, 0.0))
    marked = [each for each in happen(context, SHOVE.strike(context)) if isinstance(each, Push)]
    assert {each.body for each in marked} == {"soup_can", "apple", "mug"}
    draw = Draw(start=context.engine.qpos[0], variation=context.variation, refused=0)
    truth = snapshot_of(context.engine, 0, draw, 0.0, events=[(0, each) for each in marked])
    assert truth.pushed == {"soup_can", "apple", "mug"}


@pytest.mark.parametrize("seed", range(4))
def test_what_is_shifted_stands_centimetres_away_and_clear_of_others(seed: int) -> None:
    context = a_room(standing("apple", TABLE, "table", 0.1, 0.2), seed=seed)
    before = context.position_m("soup_can")
    assert find_fault("shift").missing_now(context) == ""
    happen(context, SHIFT.strike(context))
    put = context.position_m("soup_can")
    play(context, 0.5)
    assert 0.049 < np.linalg.norm((put - before)[:2]) < 0.121
    assert np.linalg.norm(context.position_m("soup_can") - put) < 0.001
    assert stands_on(context, TABLE, TABLE.levels[0], "soup_can")


def test_what_stands_in_a_corner_or_elsewhere_is_not_shifted() -> None:
    context = a_room(standing("apple", SHELF, "board_low", 0.0, 0.0))
    context.target = "apple"
    assert find_fault("shift").missing_now(context) == "apple is not on the table"


@pytest.mark.parametrize("target", ["soup_can", "mug"])
def test_what_hides_something_stands_before_it_broad_and_high(target: str) -> None:
    context = a_room()
    context.target = target
    assert find_fault("occlude").missing_now(context) == ""
    happen(context, OCCLUDE.strike(context))
    (cover,) = (name for name in ("cracker_box", "sugar_box") if context.is_here(name))
    put = context.position_m(cover)
    play(context, 0.5)
    assert np.linalg.norm(context.position_m(cover) - put) < 0.001
    robot, hidden = context.base_m(), context.position_m(target)
    way = (hidden - robot)[:2] / np.linalg.norm((hidden - robot)[:2])
    assert abs((put - robot)[:2] @ [-way[1], way[0]]) < 0.01
    assert 0.05 < (hidden - put)[:2] @ way < 0.15
    assert context.half_extents_m(cover)[2] > context.half_extents_m(target)[2]


def test_what_hides_a_mug_stands_clear_of_its_handle() -> None:
    mug = dataclasses.replace(standing("mug", TABLE, "table", 0.0, 0.0), yaw_rad=np.pi)
    context = a_room(mug)
    context.target = "mug"
    happen(context, OCCLUDE.strike(context))
    (cover,) = (name for name in ("cracker_box", "sugar_box") if context.is_here(name))
    put = {name: context.position_m(name) for name in (cover, "mug")}
    play(context, 0.5)
    assert all(np.linalg.norm(context.position_m(name) - at) < 0.001 for name, at in put.items())


def test_nothing_fits_before_what_stands_at_the_edge() -> None:
    context = a_room(standing("apple", TABLE, "table", -0.25, -0.1))
    context.target = "apple"
    assert find_fault("occlude").missing_now(context) == "nothing fits in front of apple"


@pytest.mark.parametrize("target", ["soup_can", "mug"])
def test_a_full_board_has_no_place_and_all_of_it_stands(target: str) -> None:
    context = a_room(standing("apple", SHELF, "board_middle", 0.05, 0.2))
    context.target = target
    put = {each.body for each in happen(context, BOARD_FULL.strike(context)) if isinstance(each, Place)}
    before = {name: context.position_m(name) for name in put}
    play(context, 0.5)
    assert all(np.linalg.norm(context.position_m(name) - at) < 0.002 for name, at in before.items())
    things = tuple(believed(context, name) for name in (*put, "apple"))
    seen = BoardSeen(name="board_middle", house=House(table=TABLE, shelf=SHELF), things=things)
    assert not seen.free(SHELF.level("board_middle"), item_of(target).half_extents_m[0], 0.02)


def believed(context: FaultContext, name: str) -> Belief:
    return Belief(
        name=name,
        shape=item_of(name).shape,
        position_m=context.position_m(name),
        quaternion=context.quaternion(name),
        half_extents_m=context.half_extents_m(name),
        position_sigma_m=0.0,
        yaw_sigma_rad=0.0,
    )


@pytest.mark.parametrize("seed", range(3))
def test_wheels_slip_by_centimetres_and_the_robot_does_not_feel_it(seed: int) -> None:
    context = a_room(seed=seed)
    away = HSR.home.copy()
    away[:3] = 0.3, 0.4, 0.5
    play(context, 3.0, away)
    base, read = context.base_m(), context.engine.readings[0, context.engine.layout.readings["joint_position"]].copy()
    happen(context, BASE_SLIP.strike(context))
    play(context, 0.6, away)
    assert 0.009 < np.linalg.norm(context.base_m() - base) < 0.026
    assert abs(context.engine.readings[0, context.engine.layout.readings["joint_position"]] - read).max() < 0.001


@pytest.mark.parametrize("name", ["jam", "stuck-jaw"])
def test_a_jammed_joint_no_longer_moves_however_strong_its_servo_is(name: str) -> None:
    context = a_room(seed=1)
    play(context, 0.1)
    (change,) = happen(context, find_fault(name).strike(context))
    assert isinstance(change, Change)
    joint = change.edits[0].element
    at = HSR.joints.index(joint)
    moved = HSR.home.copy()
    moved[at] += 0.3 if joint != "hand" else -0.3
    before = context.engine.qpos[0, context.engine.scene.joint_address(joint)]
    play(context, 1.0, moved)
    assert abs(context.engine.qpos[0, context.engine.scene.joint_address(joint)] - before) < 0.02
    assert not context.engine.diverged.any()


def test_depth_becomes_noisy_or_full_of_holes() -> None:
    ((_, noisy),), ((_, holed),) = DEPTH_NOISE.strike(a_room()), DEPTH_HOLES.strike(a_room())
    assert isinstance(noisy, Roughen)
    assert isinstance(holed, Roughen)
    assert (noisy.hole_share, holed.sigma_factor) == (0.0, 1.0)
    assert 3 <= noisy.sigma_factor <= 6
    assert 0.3 <= holed.hole_share <= 0.5


def test_a_bump_is_hard_and_short() -> None:
    context = a_room()
    (_, bump), (after_s, end) = BUMP.strike(context)
    assert isinstance(bump, Push)
    assert 10 <= np.linalg.norm(bump.force_n) <= 20
    assert (after_s, end) == (0.02, Push(body="soup_can", force_n=(0.0, 0.0, 0.0)))


def test_people_go_away_or_pull_too_softly_or_push_before_they_pull() -> None:
    context = a_room()
    assert isinstance(context.actor, Host)
    assert NO_PERSON.strike(context) == []
    assert context.actor.manner.away
    SOFT_PULL.strike(context)
    assert 0 < context.actor.manner.first_n < 3.5
    assert context.actor.manner.first_s > 1
    PUSH_BACK.strike(context)
    assert -10 <= context.actor.manner.first_n < 0


@pytest.mark.parametrize("name", ["no-person", "soft-pull", "push-back"])
def test_nobody_behaves_otherwise_where_nobody_is(name: str) -> None:
    assert find_fault(name).missing_now(a_room(attended=False)) == "no person is there"
    assert find_fault(name).missing_now(a_room()) == ""


# What the task makes of them

SHORT = build(TIDY.parameters, None, TIDY.brief)


@pytest.mark.slow
def test_a_drop_on_the_way_and_a_full_board_are_failures_with_a_name() -> None:
    faults, states = ("drop", "board-full"), ("single_grasp.placement.face_shelf",)
    campaign = run_campaign(
        Plan(task=TIDY, parameters=SHORT, faults=faults, states=states, seed=3, episodes=1), lanes=2
    )
    assert campaign.clean
    assert campaign.struck == 2
    assert {name for cell in campaign.cells.values() for name in cell.failures} == {"failed_to_place"}


@pytest.mark.slow
def test_who_pulls_too_softly_or_pushes_gets_it_when_pulling_and_who_is_gone_does_not() -> None:
    given = build(TIDY.parameters, None, [*TIDY.brief, "then=handover"])
    faults, states = ("bump", "soft-pull", "push-back", "no-person"), ("single_grasp.handover.offer",)
    campaign = run_campaign(
        Plan(task=TIDY, parameters=given, faults=faults, states=states, seed=3, episodes=1), lanes=4
    )
    assert campaign.clean
    assert [campaign.of_fault(name).count("recovered") for name in faults] == [1, 1, 1, 0]
    assert campaign.of_fault("no-person").failures == {"aborted": 1}
