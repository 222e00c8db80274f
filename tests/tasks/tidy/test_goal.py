"""What counts as done by truth, and what does not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from graspline.evidence import failures, passes
from graspline.scenes.fittings import SHELF, TABLE
from graspline.scenes.household import ITEMS, item_of
from graspline.scenes.household_bodies import parked_m
from graspline.scenes.variation import Variation
from graspline.spatial.rotations import quaternion_from_matrix, rotation_x, rotation_y, rotation_z
from graspline.tasks.task import Draw, ObjectTruth, Snapshot
from graspline.tasks.tidy.goal import is_held, judge, on_table_at_first, stands_on
from graspline.tasks.tidy.person import TAKEN_AT_M
from graspline.tasks.tidy.task import check_claim

from .stagecraft import SETTINGS, TABLE_M, settings

Array = NDArray[np.float64]

UPRIGHT = np.array([1.0, 0.0, 0.0, 0.0])
LYING = quaternion_from_matrix(rotation_x(np.pi / 2))
DRAW = Draw(start=np.zeros(0), variation=Variation(), refused=0)
WITH_PERSON = np.array(TAKEN_AT_M) - np.array([0.0, 0.18, 0.0])


def on_table(name: str, x: float = 1.2, y: float = 0.0) -> Array:
    return np.array([x, y, TABLE_M + item_of(name).half_extents_m[2]])


def on_board(name: str, board: str, aside: float = 0.0, up_m: float | None = None) -> Array:
    """Its middle; `up_m` is half of how high it is as it lies."""
    x, y, z = SHELF.level(board).position_m
    return SHELF.in_world((x, y + aside, z + (item_of(name).half_extents_m[2] if up_m is None else up_m)))


def thing(
    name: str, start: Array, now: Array | None = None, quaternion: Array = UPRIGHT, speed: float = 0.0
) -> ObjectTruth:
    return ObjectTruth(
        position_m=start if now is None else now,
        start_position_m=start,
        quaternion=quaternion,
        speed_m_s=speed,
        half_extents_m=np.array(item_of(name).half_extents_m),
    )


def truth(**things: ObjectTruth) -> Snapshot:
    """These things, all others out of sight."""
    parked = {item.name: thing(item.name, np.array(parked_m(item.name))) for item in ITEMS}
    return Snapshot(
        objects=parked | things,
        places={},
        tool_m=np.array([0.3, 0.0, 1.0]),
        tool_quaternion=UPRIGHT,
        jaw_gap_m=0.1,
        pad_forces_n=(0.0, 0.0),
        joints_rad=np.zeros(11),
        time_s=20.0,
    )


def holding(at_m: Array, pads_n: tuple[float, float] = (20.0, 20.0), **things: ObjectTruth) -> Snapshot:
    """The same with the hand closed somewhere."""
    return replace(truth(**things), tool_m=at_m, pad_forces_n=pads_n)


def placed(name: str = "soup_can", board: str = "board_middle", **more: Any) -> ObjectTruth:
    given = {"now": on_board(name, board), **more}
    return thing(name, on_table(name), **given)


NEIGHBOUR = thing("mug", on_table("mug", 1.3, 0.2))
SHELVED = thing("tea_box", on_board("tea_box", "board_middle", 0.2))


def done(*assignments: str, **things: ObjectTruth) -> bool:
    return passes(judge(settings(*assignments), DRAW, truth(mug=NEIGHBOUR, tea_box=SHELVED, **things)))


class TestSingleGrasp:
    def test_upright_on_its_board_beside_what_stayed_is_done(self) -> None:
        assert done(soup_can=placed())
        assert done("object_to_grasp=soup_can", soup_can=placed())
        assert done(soup_can=placed(quaternion=quaternion_from_matrix(rotation_z(2.0))))

    @pytest.mark.parametrize(
        "can",
        [
            pytest.param(thing("soup_can", on_table("soup_can")), id="still on the table"),
            pytest.param(placed(board="board_low"), id="wrong board"),
            pytest.param(
                placed(quaternion=LYING, now=on_board("soup_can", "board_middle", up_m=0.0335)), id="on its side"
            ),
            pytest.param(placed(quaternion=quaternion_from_matrix(rotation_y(0.3))), id="leaning"),
            pytest.param(placed(quaternion=quaternion_from_matrix(rotation_x(np.pi))), id="upside down"),
            pytest.param(placed(now=np.array([-0.1, 1.2, 0.051])), id="on the floor"),
            pytest.param(placed(now=on_board("soup_can", "board_middle", 0.45)), id="beside the shelf"),
            pytest.param(placed(now=on_board("soup_can", "board_middle", up_m=0.08)), id="in the air"),
            pytest.param(placed(speed=0.1), id="still moving"),
            pytest.param(placed(now=np.full(3, np.nan)), id="nowhere"),
        ],
    )
    def test_anything_else_is_not(self, can: ObjectTruth) -> None:
        assert not done(soup_can=can)

    @pytest.mark.parametrize("name", ["mug", "tea_box"])
    def test_a_neighbour_on_table_or_shelf_must_stay(self, name: str) -> None:
        was = {"mug": NEIGHBOUR, "tea_box": SHELVED}[name]
        for moved_m, right in ((0.005, True), (0.02, False)):
            moved = replace(was, position_m=was.position_m + np.array([moved_m, 0.0, 0.0]))
            things = {"mug": NEIGHBOUR, "tea_box": SHELVED, "soup_can": placed()} | {name: moved}
            evidence = judge(SETTINGS, DRAW, truth(**things))
            assert passes(evidence) == right
            if not right:
                assert [each.name for each in failures(evidence)] == ["others_moved"]

    def test_another_thing_than_the_one_named_will_not_do(self) -> None:
        assert not done("object_to_grasp=apple", soup_can=placed(), apple=thing("apple", on_table("apple", 1.1, -0.2)))

    def test_a_ball_may_have_rolled_over(self) -> None:
        ball = placed("apple", "board_low", quaternion=LYING)
        assert done(apple=ball)

    @pytest.mark.parametrize("name", ["unknown_box_1", "unknown_can_2"])
    def test_unknown_things_go_where_unknown_things_go(self, name: str) -> None:
        assert done(**{name: placed(name, "board_middle")})
        assert not done(**{name: placed(name, "board_high")})
        assert not done(**{name: placed(name, quaternion=LYING)})

    def test_an_unknown_thing_is_as_high_as_it_was_made(self) -> None:
        low = replace(placed("unknown_box_1"), half_extents_m=np.array([0.03, 0.03, 0.03]))
        assert not done(unknown_box_1=low)
        assert done(unknown_box_1=replace(low, position_m=on_board("unknown_box_1", "board_middle", up_m=0.03)))

    def test_what_somebody_has_taken_is_delivered(self) -> None:
        assert done("then=handover", soup_can=placed(now=WITH_PERSON))

    def test_what_is_only_held_out_is_not(self) -> None:
        at = np.array(TAKEN_AT_M)
        offered = holding(at, mug=NEIGHBOUR, soup_can=placed(now=at))
        assert not passes(judge(settings("then=handover"), DRAW, offered))

    def test_an_empty_table_is_no_success(self) -> None:
        assert not passes(judge(SETTINGS, DRAW, truth()))

    def test_furniture_counts_where_it_really_stands(self) -> None:
        real = SHELF.moved((0.0, 0.0, 0.02), 0.0)
        moved = replace(DRAW, variation=Variation(edits=real.edits))
        assert not passes(judge(SETTINGS, moved, truth(soup_can=placed())))
        higher = placed(now=on_board("soup_can", "board_middle") + np.array([0.0, 0.0, 0.02]))
        assert passes(judge(SETTINGS, moved, truth(soup_can=higher)))


class TestWhatOthersHaveDone:
    MOVED = replace(NEIGHBOUR, position_m=NEIGHBOUR.position_m + np.array([0.05, 0.0, 0.0]))

    def test_what_somebody_else_has_pushed_or_put_elsewhere_is_not_the_robots_doing(self) -> None:
        snapshot = truth(soup_can=placed(), mug=self.MOVED)
        assert not passes(judge(SETTINGS, DRAW, snapshot))
        assert passes(judge(SETTINGS, DRAW, replace(snapshot, pushed=frozenset({"mug"}))))
        assert passes(judge(SETTINGS, DRAW, replace(snapshot, put_m={"mug": (self.MOVED.position_m,)})))

    def test_what_somebody_has_put_somewhere_must_stay_there(self) -> None:
        snapshot = replace(truth(soup_can=placed(), mug=self.MOVED), put_m={"mug": (NEIGHBOUR.position_m,)})
        assert not passes(judge(SETTINGS, DRAW, snapshot))

    def test_what_somebody_has_put_on_the_table_may_be_the_one_that_is_delivered(self) -> None:
        stranger = thing("soup_can", np.array(parked_m("soup_can")), now=on_board("soup_can", "board_middle"))
        snapshot = replace(truth(soup_can=stranger), put_m={"soup_can": (on_table("soup_can"),)})
        assert passes(judge(SETTINGS, DRAW, snapshot))

    def test_what_somebody_has_put_on_the_board_was_not_delivered(self) -> None:
        stranger = thing("soup_can", np.array(parked_m("soup_can")), now=on_board("soup_can", "board_middle"))
        snapshot = replace(truth(soup_can=stranger, mug=NEIGHBOUR), put_m={"soup_can": (stranger.position_m,)})
        assert not passes(judge(SETTINGS, DRAW, snapshot))

    def test_what_somebody_has_taken_away_need_not_be_cleared_but_what_a_person_keeps_counts(self) -> None:
        kept, away = np.array([0.6, -2.4, 0.8]), np.array(parked_m("mug"))
        given = thing("apple", on_table("apple"), now=kept)
        snapshot = truth(apple=given, mug=replace(NEIGHBOUR, position_m=away))
        put = {"apple": (kept,), "mug": (away,)}
        assert passes(judge(settings("program=clear_table"), DRAW, replace(snapshot, put_m=put)))
        assert on_table_at_first(replace(snapshot, put_m=put), DRAW) == ("apple",)


class TestClearTable:
    CLEAR = "program=clear_table"

    def test_everything_must_be_gone(self) -> None:
        given = thing("apple", on_table("apple"), now=WITH_PERSON)
        gone = replace(NEIGHBOUR, position_m=np.array([0.6, -2.4, 0.8]))
        assert passes(judge(settings(self.CLEAR), DRAW, truth(mug=gone, apple=given, tea_box=SHELVED)))
        assert not passes(judge(settings(self.CLEAR), DRAW, truth(mug=NEIGHBOUR, apple=given)))

    def test_what_fell_is_not_gone(self) -> None:
        fallen = replace(NEIGHBOUR, position_m=np.array([0.8, 0.5, 0.04]))
        assert not passes(judge(settings(self.CLEAR), DRAW, truth(mug=fallen)))

    def test_what_stood_on_the_shelf_must_stay(self) -> None:
        gone = replace(NEIGHBOUR, position_m=np.array([0.6, -2.4, 0.8]))
        pushed = replace(SHELVED, position_m=SHELVED.position_m + np.array([0.02, 0.0, 0.0]))
        assert not passes(judge(settings(self.CLEAR), DRAW, truth(mug=gone, tea_box=pushed)))

    def test_an_empty_table_is_clear(self) -> None:
        assert passes(judge(settings(self.CLEAR), DRAW, truth(tea_box=SHELVED)))


def test_looking_must_not_move_anything() -> None:
    for program in ("robot_setup", "find_grasp"):
        assert done(f"program={program}")
        assert not done(f"program={program}", soup_can=placed())


def test_only_what_stands_on_the_table_was_laid() -> None:
    found = on_table_at_first(truth(mug=NEIGHBOUR, tea_box=SHELVED, soup_can=placed()), DRAW)
    assert set(found) == {"mug", "soup_can"}
    moved = replace(DRAW, variation=Variation(edits=TABLE.moved((0.0, 5.0, 0.0), 0.0).edits))
    assert on_table_at_first(truth(mug=NEIGHBOUR), moved) == ()


class TestHeld:
    AT = np.array([0.7, 0.1, 0.8])

    def snapshot(self, off_m: float = 0.0, pads_n: tuple[float, float] = (20.0, 20.0), name: str = "mug") -> Snapshot:
        held = thing(name, on_table(name), now=self.AT + np.array([off_m, 0.0, 0.0]))
        return holding(self.AT, pads_n, **{name: held})

    def test_between_pads_that_press(self) -> None:
        assert is_held(self.snapshot(), "mug")
        assert is_held(self.snapshot(name="unknown_box_1"), "unknown_box_1")

    def test_not_elsewhere_nor_with_a_pad_that_feels_nothing(self) -> None:
        assert not is_held(self.snapshot(0.1), "mug")
        assert not is_held(self.snapshot(pads_n=(20.0, 0.0)), "mug")
        assert not is_held(self.snapshot(), "apple")


class TestClaims:
    def claim(self, name: str, about: str, snapshot: Snapshot) -> bool:
        return passes(check_claim(SETTINGS, name, about, snapshot))

    def test_held(self) -> None:
        at = np.array([0.7, 0.1, 0.8])
        held = holding(at, mug=thing("mug", on_table("mug"), now=at))
        assert self.claim("held", "mug", held)
        assert not self.claim("held", "apple", held)
        assert not self.claim("held", "unknown", held)
        box = holding(at, unknown_box_3=thing("unknown_box_3", on_table("unknown_box_3"), now=at))
        assert self.claim("held", "unknown", box)

    def test_placed(self) -> None:
        assert self.claim("placed", "soup_can", truth(soup_can=placed()))
        assert not self.claim("placed", "soup_can", truth(soup_can=placed(board="board_low")))
        assert not self.claim("placed", "soup_can", truth(mug=placed("mug")))

    def test_something_unknown_that_stood_there_before_is_not_what_was_placed(self) -> None:
        before = thing("unknown_box_1", on_board("unknown_box_1", "board_middle"))
        fallen = thing("unknown_box_2", on_table("unknown_box_2"), now=np.array([-0.1, 1.2, 0.05]))
        assert not self.claim("placed", "unknown", truth(unknown_box_1=before, unknown_box_2=fallen))
        there = replace(fallen, position_m=on_board("unknown_box_2", "board_middle", 0.2))
        assert self.claim("placed", "unknown", truth(unknown_box_1=before, unknown_box_2=there))

    def test_given(self) -> None:
        assert self.claim("given", "mug", truth(mug=thing("mug", on_table("mug"), now=WITH_PERSON)))
        assert not self.claim("given", "mug", truth(mug=thing("mug", on_table("mug"))))
        at = np.array(TAKEN_AT_M)
        offered = holding(at, mug=thing("mug", on_table("mug"), now=at))
        assert not self.claim("given", "mug", offered)


def test_a_shelf_that_stands_off_is_looked_at_where_it_is() -> None:
    real = SHELF.moved((0.0, 0.0, 0.03), 0.0)
    level = SHELF.level("board_middle")
    assert not stands_on(real, placed(), "soup_can", level)
    assert stands_on(SHELF, placed(), "soup_can", level)


def test_what_stands_beside_its_area_is_not_where_it_belongs() -> None:
    level, thing = SHELF.level("board_middle"), placed()
    x, y = SHELF.in_own_frame(thing.position_m)
    for aside, stands in ((0.0, True), (0.1, False)):
        part = replace(level, position_m=(x, y + aside, level.position_m[2]), half_extents_m=(0.05, 0.05))
        assert stands_on(SHELF, thing, "soup_can", part) == stands
