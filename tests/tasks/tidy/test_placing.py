"""A thing is put on its board: whether it fits, where, every way to lose it, and what a second look proves."""

from __future__ import annotations

import functools
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graspline.evidence import passes
from graspline.grasping.whole_body_reach import UP, straight_path
from graspline.kinematics import hsr
from graspline.motion.guards import HoldLost, TrackingError, Tugged
from graspline.perception.core.beliefs import Belief
from graspline.perception.core.held import HeldObject
from graspline.perception.rgbd.planes import NoPlane
from graspline.robots.hsr import HSR
from graspline.scenes.fittings import SHELF
from graspline.tasks.tidy.areas import Area
from graspline.tasks.tidy.place_plans import Aimed, height_needed_m, placed_solid, poses_at, released_rad
from graspline.tasks.tidy.placing import (
    approach_board,
    bring_in,
    check_place,
    face_shelf,
    look_up,
    placed_evidence,
    placement,
    plan_place,
    put_down,
    release,
    see_board,
    withdraw,
)
from graspline.tasks.tidy.postures import SHELF_AWAY_M, before, carrying
from graspline.tasks.tidy.sight import BoardSeen

from .stagecraft import (
    CELL,
    HOUSE,
    READY,
    SETTINGS,
    answer,
    cell,
    counted_n,
    drive,
    held_object,
    motions,
    played,
    seeing,
    settings,
    solid,
)

BOARD = "board_middle"
LEVEL = SHELF.level(BOARD)
AREA = Area(name=BOARD, level=LEVEL)
# To the left of the middle, at the front.
CORNER = Area(
    name="corner", level=replace(LEVEL, position_m=(-0.09, 0.25, LEVEL.position_m[2]), half_extents_m=(0.06, 0.1))
)
HOLDING = (20.0, 20.0)
# A way of the hand that does not come near the shelf.
FAR_AWAY = np.stack([READY, READY])
DOWN_RAD = float(np.radians(90))
FITS = float(np.radians(30))


def on_board(name: str, deep: float, aside: float, yaw_rad: float = 0.0, **more: Any) -> Belief:
    """Something on the middle board, so far behind and beside its middle."""
    x, y, z = LEVEL.position_m
    at = SHELF.in_world((x + deep, y + aside, z)).tolist()
    return solid(name, (at[0], at[1], at[2]), yaw_rad=yaw_rad, **more)


def seen(*things: Belief) -> BoardSeen:
    return BoardSeen(name=BOARD, house=HOUSE, things=things)


def carried(name: str = "soup_can", down_rad: float = 0.0) -> HeldObject:
    return held_object(solid(name), down_rad)


@functools.cache
def before_shelf() -> np.ndarray:
    """Joints of the robot when it has come to the shelf with a can."""
    return carrying(carried(), READY, before(SHELF, SHELF_AWAY_M), SHELF.in_world(LEVEL.position_m))[0]


@functools.cache
def aimed() -> Aimed:
    """A plan for the can onto a board with one thing at its back."""
    was = seen(on_board("mug", 0.08, 0.2))
    spots = was.free(LEVEL, 0.034, SETTINGS.placing.margin_m)
    stage = plan_place(answer(before_shelf()), CELL, HOUSE, carried(), was, spots)
    _, outcome = drive(stage)
    assert outcome.name == "planned"
    return outcome.data


class TestLookUp:
    def outcome(self, held: HeldObject) -> Any:
        return look_up(CELL, held)

    @pytest.mark.parametrize("name", ["soup_can", "cracker_box", "water_bottle", "mug", "unknown"])
    def test_taken_from_the_side_everything_fits(self, name: str) -> None:
        outcome = self.outcome(carried(name))
        assert outcome.name == "assigned"
        assert outcome.data.area.board == ("board_low" if name == "cracker_box" else BOARD)

    def test_tall_things_taken_from_the_top_do_not_and_the_clearance_is_told(self) -> None:
        outcome = self.outcome(carried("cracker_box", DOWN_RAD))
        assert (outcome.name, outcome.about) == ("too_high", "cracker_box")
        needed, wide = outcome.evidence
        assert wide.passed
        assert needed.value > needed.limit == pytest.approx(0.36)
        assert not needed.passed

    def test_the_steeper_the_hand_the_more_height_is_needed(self) -> None:
        needed = [height_needed_m(carried("sugar_box", np.radians(down)), SETTINGS.placing) for down in (0, 30, 50, 90)]
        assert needed == sorted(needed)
        assert needed[0] < LEVEL.clear_m < needed[-1]

    def test_a_thing_taller_than_the_bay_is_refused_however_it_is_held(self) -> None:
        tall = held_object(solid(half_m=(0.03, 0.04, 0.19)))
        assert self.outcome(tall).name == "too_high"

    def test_it_is_brought_in_above_the_board(self) -> None:
        more = settings("placing.above_m=0.1")
        assert height_needed_m(carried(), more.placing) == pytest.approx(
            height_needed_m(carried(), SETTINGS.placing) + 0.07
        )

    def test_what_is_wider_than_its_area_is_refused_before_the_robot_drives(self, tmp_path: Path) -> None:
        (tmp_path / "areas.yaml").write_text(
            "areas: {strip: {board: board_low, depth_m: [0.0, 0.1]}}\nmine: {unknown: strip}\n"
        )
        mine = cell(f"placing.areas_file={tmp_path}/areas.yaml", "placing.area=mine")
        for name, outcome in (("cracker_box", "too_wide"), ("soup_can", "assigned")):
            found = look_up(mine, carried(name))
            assert (found.name, found.evidence[1].passed) == (outcome, outcome == "assigned")
            assert found.evidence[1].limit == pytest.approx(0.1)

    def test_how_it_stood_in_the_hand_counts_and_not_what_the_grip_says(self) -> None:
        low, high = carried(), carried("cracker_box", DOWN_RAD)
        assert look_up(CELL, replace(low, stood=high.X_HB)).name == "too_high"


class TestFaceShelf:
    def asked(self, by: dict[str, type] | None = None) -> tuple[list[Any], Any]:
        start = carrying(carried(), READY, (0.25, 0.0, 0.0), np.array([1.3, 0.0, 0.72]))[0]
        stage = face_shelf(answer(start), CELL, HOUSE, carried(), AREA)
        return drive(stage, played(by=by, pads_n=HOLDING))

    def test_it_ends_before_the_shelf_with_the_thing_upright(self) -> None:
        asked, outcome = self.asked()
        assert outcome.name == "facing"
        end = motions(asked)["travel"].path.end
        assert np.cos(end[2] - SHELF.yaw_rad) == pytest.approx(1)
        _, rotation = hsr.forward(end)
        np.testing.assert_allclose((rotation @ carried().R_OH.T)[2], UP, atol=1e-9)

    @pytest.mark.parametrize(("by", "name"), [(HoldLost, "lost"), (TrackingError, "blocked")])
    def test_what_ends_it_has_a_name(self, by: type, name: str) -> None:
        assert self.asked({"travel": by})[1].name == name


class TestSeeBoard:
    def outcome(self, look: BoardSeen | NoPlane, name: str = "soup_can", area: Area = AREA) -> Any:
        stage = see_board(answer(before_shelf()), seeing(look), HOUSE, carried(name), area)
        return drive(stage)[1]

    def test_free_places_are_offered_farthest_first_and_apart_from_what_stands_there(self) -> None:
        mug = on_board("mug", 0.1, 0.0)
        outcome = self.outcome(seen(mug))
        assert outcome.name == "free"
        spots = np.array(outcome.data.spots)
        assert (np.diff(spots[:, 1]) <= 1e-9).all()
        assert np.linalg.norm(spots[:, :2] - mug.position_m[:2], axis=1).min() > 0.04 + 0.0335
        np.testing.assert_allclose(spots[:, 2], 0.78)

    def test_a_board_full_of_things_has_none(self) -> None:
        crowd = [on_board("unknown", deep, aside) for deep in (-0.1, 0.0, 0.1) for aside in np.arange(-0.36, 0.4, 0.12)]
        outcome = self.outcome(seen(*crowd))
        assert outcome.name == "full"
        assert [str(each) for each in outcome.evidence] == ["free_places 0 (limit >= 1)"]

    def test_places_are_inside_of_the_area_with_all_of_the_thing(self) -> None:
        spots = np.array(self.outcome(seen(), area=CORNER).data.spots)
        deep, aside = np.array([SHELF.in_own_frame(spot) for spot in spots]).T
        assert len(spots) >= 2
        assert (np.abs(deep + 0.09) <= 0.06 - 0.0335 + 1e-6).all()
        assert (np.abs(aside - 0.25) <= 0.1 - 0.0335 + 1e-6).all()

    def test_an_area_full_of_things_has_no_place_whatever_is_free_beside_it(self) -> None:
        crowd = [on_board("unknown", -0.09 + 0.006, aside) for aside in (0.19, 0.25, 0.31)]
        assert self.outcome(seen(*crowd), area=CORNER).name == "full"

    def test_after_the_farthest_places_come_some_as_near_as_there_are(self) -> None:
        spots = np.array(self.outcome(seen()).data.spots)
        deep = np.array([SHELF.in_own_frame(spot)[0] for spot in spots])
        assert (np.diff(deep) <= 1e-9).all()
        assert deep[0] - deep[-1] > 0.15

    def test_a_board_that_is_not_seen_is_told(self) -> None:
        outcome = self.outcome(NoPlane(agreed=12))
        assert (outcome.name, outcome.about) == ("unseen", BOARD)
        assert [str(each) for each in outcome.evidence] == ["pixels_on_a_level_plane 12 (limit >= 60)"]


class TestPosesAt:
    def test_the_hand_comes_from_the_front_and_the_thing_stands_as_it_stood(self) -> None:
        held, spot = carried("sugar_box", FITS), np.array([-0.1, 1.75, 0.8])
        poses = poses_at(HSR, SHELF.yaw_rad, held, spot)
        ahead = np.array([np.cos(SHELF.yaw_rad), np.sin(SHELF.yaw_rad), 0.0])
        assert poses
        for pose in poses:
            assert pose.rotation[:, 0] @ ahead > np.cos(np.radians(31)) * np.cos(FITS)
            placed = placed_solid(held, pose, spot)
            np.testing.assert_allclose(placed.rotation[2], UP, atol=1e-6)
            np.testing.assert_allclose(placed.position_m, spot + 0.0875 * UP, atol=1e-6)
            assert placed.bottom_m == pytest.approx(0.8, abs=1e-6)

    def test_a_hand_from_the_top_may_be_turned_any_way(self) -> None:
        poses = poses_at(HSR, SHELF.yaw_rad, carried("tennis_ball", DOWN_RAD), np.array([-0.1, 1.75, 0.8]))
        headings = {round(float(np.degrees(np.arctan2(each.rotation[1, 2], each.rotation[0, 2])))) for each in poses}
        assert len(headings) >= 11
        assert all(each.top for each in poses)


class TestPlanPlace:
    def test_the_thing_ends_over_its_place_at_the_back_of_the_board(self) -> None:
        found, held = aimed(), carried()
        tool, rotation = hsr.forward(found.reach.at)
        bottom = tool + rotation @ held.X_HB.position_m
        assert bottom[:2] == pytest.approx(found.spot_m[:2], abs=0.005)
        assert SETTINGS.placing.above_m < bottom[2] - found.spot_m[2] < SETTINGS.placing.above_m + 0.01
        np.testing.assert_allclose((rotation @ held.R_OH.T)[2], UP, atol=1e-9)
        back = SHELF.in_world((LEVEL.position_m[0] + LEVEL.half_extents_m[0], 0.0, 0.0))[1]
        assert back - found.spot_m[1] < 0.12

    @pytest.mark.parametrize("yaw_rad", [0.8, 2.3])
    def test_a_hand_in_a_corner_of_the_box_around_mug_and_handle_finds_its_way_out(self, yaw_rad: float) -> None:
        held, middle = held_object(solid("mug", yaw_rad=yaw_rad)), SHELF.in_world(LEVEL.position_m)
        start = carrying(held, READY, before(SHELF, SHELF_AWAY_M), middle)[0]
        stage = plan_place(answer(start), CELL, HOUSE, held, seen(), (middle,))
        assert drive(stage)[1].name == "planned"

    def test_a_shelf_that_is_blocked_leaves_none_and_says_why(self) -> None:
        wall = on_board("unknown", -0.2, 0.0, np.pi / 2, half_m=(0.01, 0.4, 0.18))
        stage = plan_place(
            answer(before_shelf()),
            CELL,
            HOUSE,
            carried(),
            seen(wall),
            (SHELF.in_world(LEVEL.position_m),),
        )
        asked, outcome = drive(stage)
        assert outcome.name == "none_left"
        assert outcome.evidence
        assert not motions(asked)


class TestHandling:
    @pytest.mark.parametrize(("by", "name"), [(HoldLost, "lost"), (TrackingError, "blocked")])
    def test_what_ends_the_ways_has_a_name(self, by: type, name: str) -> None:
        last = answer(before_shelf())
        stage = approach_board(last, CELL, carried(), aimed().reach)
        assert drive(stage, played(by={"approach": by}))[1].name == name
        stage = bring_in(answer(aimed().reach.before), CELL, carried(), aimed().inwards_m)
        assert drive(stage, played(by={"bring_in": by}))[1].name == name

    def test_the_straight_way_in_ends_over_the_place_and_out_again_before_the_shelf(self) -> None:
        found = aimed()
        asked, outcome = drive(bring_in(answer(found.reach.before), CELL, carried(), found.inwards_m))
        assert outcome.name == "over"
        np.testing.assert_allclose(asked[0].path.end, found.reach.at, atol=1e-9)
        asked, outcome = drive(withdraw(answer(found.reach.at), CELL, found.inwards_m))
        assert outcome.name == "out"
        np.testing.assert_allclose(asked[0].path.end, found.reach.before, atol=1e-9)
        stage = withdraw(answer(found.reach.at), CELL, found.inwards_m)
        assert drive(stage, played(by={"withdraw": TrackingError}))[1].name == "blocked"

    @pytest.mark.parametrize(("by", "name"), [(None, "down"), (Tugged, "down"), (HoldLost, "lost")])
    def test_it_goes_down_until_the_board_is_felt(self, by: type | None, name: str) -> None:
        stage = put_down(answer(aimed().reach.at), CELL, carried())
        asked, outcome = drive(stage, played(by={"put_down": by} if by else {}, mass_kg=1.1))
        assert outcome.name == name
        tools, _ = hsr.forward(motions(asked)["put_down"].path.positions)
        assert tools[0][2] - tools[-1][2] > SETTINGS.placing.above_m

    def test_what_stands_on_the_board_already_is_not_raised_before_it_is_let_go(self) -> None:
        stage = put_down(answer(aimed().reach.at), CELL, carried())
        asked, outcome = drive(stage, played(by={"put_down": TrackingError}, mass_kg=1.1))
        down = motions(asked)["put_down"].path
        stopped = hsr.forward(down.command_at(down.ticks // 2).position)[0][2]
        assert outcome.name == "down"
        assert "give_way" not in motions(asked)
        assert hsr.forward(asked[-1].path.end)[0][2] <= stopped

    def test_the_board_is_felt_by_what_it_bears(self) -> None:
        asked, _ = drive(put_down(answer(aimed().reach.at), CELL, carried()), played(mass_kg=1.1))
        touch = next(each for each in motions(asked)["put_down"].guards if isinstance(each, Tugged))
        joints = aimed().reach.at
        assert counted_n(touch, joints, (0.0, 0.0, 3.0)) == pytest.approx(3.0)
        assert touch.force_n <= 3.0
        assert counted_n(touch, joints, (0.0, 0.0, 0.0)) == pytest.approx(0.0, abs=1e-9)
        assert counted_n(touch, joints, (5.0, 0.0, 0.0)) == 0.0
        assert counted_n(touch, joints, (0.0, 0.0, -5.0)) == 0.0

    @pytest.mark.parametrize(("pads_n", "name"), [((0.0, 0.0), "released"), ((20.0, 0.0), "stuck")])
    def test_pads_must_feel_nothing_once_the_hand_is_open(self, pads_n: tuple[float, float], name: str) -> None:
        joints = aimed().reach.at.copy()
        joints[HSR.jaw] = HSR.jaw_law.angle_rad(0.067)
        asked, outcome = drive(release(answer(joints), CELL, carried()), played(pads_n=pads_n))
        assert outcome.name == name
        opened = motions(asked)["release"].path.end[HSR.jaw]
        assert opened == released_rad(HSR, carried())
        assert 0.067 + 0.015 < HSR.jaw_law.gap_m(opened) < 0.067 + 0.035

    def test_the_hand_opens_by_what_it_felt_however_far_the_jaw_has_slid_since(self) -> None:
        held = carried()
        for jaw_m in (0.060, 0.067, 0.075):
            joints = aimed().reach.at.copy()
            joints[HSR.jaw] = HSR.jaw_law.angle_rad(jaw_m)
            asked, _ = drive(release(answer(joints), CELL, held))
            assert motions(asked)["release"].path.end[HSR.jaw] == released_rad(HSR, held)

    def test_it_opens_no_wider_than_it_can(self) -> None:
        wide = replace(carried(), gap_m=float(HSR.jaw_law.gaps_m[-1]) - 0.001)
        assert released_rad(HSR, wide) <= HSR.limits.upper[HSR.jaw] + 1e-9


class TestCheckPlace:
    def outcome(self, *looks: BoardSeen | NoPlane, by: dict[str, type] | None = None) -> Any:
        found, was = aimed(), seen(on_board("mug", 0.08, 0.2))
        out = straight_path(HSR, found.reach.at, -found.inwards_m).end
        stage = check_place(
            answer(out),
            seeing(*looks),
            HOUSE,
            carried(),
            AREA,
            was,
            found.reach,
            found.spot_m,
            found.inwards_m,
        )
        return drive(stage, played(by=by))[1]

    def can(self) -> Belief:
        x, y, z = aimed().spot_m.tolist()
        return solid("soup_can", (x, y, z))

    def test_a_thing_where_it_was_put_beside_what_stood_there_is_placed(self) -> None:
        outcome = self.outcome(seen(self.can(), on_board("mug", 0.08, 0.2)))
        assert (outcome.name, outcome.about) == ("placed", "soup_can")

    def test_nothing_there_proves_nothing(self) -> None:
        assert self.outcome(seen(on_board("mug", 0.08, 0.2))).name == "not_placed"
        assert self.outcome(seen()).name == "not_placed"

    def test_what_cannot_be_looked_at_is_not_seen(self) -> None:
        outcome = self.outcome(NoPlane(agreed=12))
        assert outcome.name == "unseen"
        assert outcome.evidence
        assert self.outcome(seen(self.can()), by={"travel": TrackingError}).name == "unseen"


class TestPlacedEvidence:
    MUG = on_board("mug", 0.08, 0.2)
    JUICE = on_board("juice_can", 0.08, -0.2)
    CAN = on_board("soup_can", 0.08, 0.0)

    def outcome(self, *things: Belief) -> bool:
        spot = self.CAN.position_m - 0.051 * UP
        was = seen(self.MUG, self.JUICE)
        return passes(placed_evidence(CELL, AREA, spot, self.CAN, was, seen(*things), FAR_AWAY))

    @pytest.mark.parametrize(("aside_m", "near"), [(0.0, 1), (0.3, 0)])
    def test_what_was_hidden_where_the_hand_went_out_may_have_been_touched(self, aside_m: float, near: int) -> None:
        found, held = aimed(), carried()
        way_out = np.stack([found.reach.at, straight_path(HSR, found.reach.at, -found.inwards_m).end])
        placed = placed_solid(held, found.reach.pose, found.spot_m)
        tool = hsr.forward(way_out[0])[0]
        hidden = replace(solid("apple"), position_m=tool + np.array([aside_m, -0.15, 0.0]))
        told = placed_evidence(CELL, AREA, found.spot_m, placed, seen(), seen(placed, hidden), way_out)
        assert {each.name: each.value for each in told}["hidden_things_near_hand"] == near

    def shifted(self, thing: Belief, by_m: float) -> Belief:
        return replace(thing, position_m=thing.position_m + np.array([by_m, 0.0, 0.0]))

    def test_all_as_it_should_be(self) -> None:
        assert self.outcome(self.CAN, self.MUG, self.JUICE)
        assert self.outcome(self.JUICE, self.shifted(self.MUG, 0.005), self.shifted(self.CAN, -0.01))

    def test_off_its_place(self) -> None:
        assert not self.outcome(self.shifted(self.CAN, SETTINGS.placing.off_m + 0.01), self.MUG, self.JUICE)

    def test_outside_of_its_area(self) -> None:
        spot = self.CAN.position_m - 0.051 * UP
        x, y = SHELF.in_own_frame(spot)
        for aside, inside in ((0.0, True), (0.07, False)):
            level = replace(LEVEL, position_m=(x, y + aside, LEVEL.position_m[2]), half_extents_m=(0.06, 0.06))
            area, now = Area(name=BOARD, level=level), seen(self.CAN)
            evidence = placed_evidence(CELL, area, spot, self.CAN, seen(), now, FAR_AWAY)
            (found,) = [each for each in evidence if each.name == "inside_its_area"]
            assert found.passed == inside

    def test_on_its_side(self) -> None:
        lying = replace(
            self.CAN,
            shape="box",
            half_extents_m=np.array([0.051, 0.0335, 0.0335]),
            position_m=self.CAN.position_m - 0.0175 * UP,
        )
        assert not self.outcome(lying, self.MUG, self.JUICE)

    def test_something_higher_is_something_else(self) -> None:
        higher = replace(self.CAN, half_extents_m=np.array([0.0335, 0.0335, 0.07]))
        assert not self.outcome(replace(higher, position_m=self.CAN.position_m + 0.019 * UP), self.MUG, self.JUICE)

    def test_a_neighbour_that_was_pushed_or_is_gone(self) -> None:
        assert not self.outcome(self.CAN, self.shifted(self.MUG, 0.05), self.JUICE)
        assert not self.outcome(self.CAN, self.MUG)

    def test_a_neighbour_is_not_taken_for_the_thing(self) -> None:
        assert not self.outcome(self.MUG, self.JUICE)


def test_the_component_ends_by_the_names_it_is_known_by() -> None:
    machine = placement(SETTINGS)
    assert set(machine.outcomes) == {"end_placement", "failed_to_place"}
    assert machine.successes == ("end_placement",)
    assert set(machine.inputs) == {"cell", "house", "held"}
    assert placement(settings("retries.areas=7")).budgets["areas"] == 7
