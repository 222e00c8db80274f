"""A thing is taken up: which grasp first, every way to miss or lose it, and what is known of it then."""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from graspline.evidence import passes
from graspline.grasping.hand_poses import HandPose, hand_poses
from graspline.grasping.whole_body_reach import UP, Reach, order, straight_path, tool_of
from graspline.kinematics import hsr
from graspline.machine.table import End, Retry
from graspline.motion.guards import BothPadsTouch, ForceAbove, HoldLost, TrackingError
from graspline.perception.core.beliefs import Belief
from graspline.perception.rgbd import odometry_drift
from graspline.perception.rgbd.clouds import view_of
from graspline.perception.rgbd.odometry_drift import Slip
from graspline.perception.rgbd.planes import NoPlane
from graspline.robots.hsr import HSR
from graspline.robots.hsr_chain import HEAD_JOINTS, JOINTS
from graspline.scenes.fittings import TABLE
from graspline.scenes.household import item_of
from graspline.tasks.tidy.approach import approach, go_round, look_again, look_round, reach_in
from graspline.tasks.tidy.believed_room import around
from graspline.tasks.tidy.execute_grasp import back_off, close, execute_grasp, leave, lift
from graspline.tasks.tidy.grasp_plans import first_grasp, plan_grasp, sort_poses
from graspline.tasks.tidy.record import TableRecord
from graspline.tasks.tidy.sight import SightFailed, TableSeen

from .stagecraft import (
    BLACK,
    CELL,
    HAND_KG,
    HOUSE,
    READY,
    SETTINGS,
    TABLE_M,
    answer,
    drive,
    house,
    motions,
    played,
    seeing,
    sees,
    settings,
    solid,
)

CAN = solid("soup_can", (1.15, 0.0, TABLE_M))
BOX = solid("cracker_box", (1.15, 0.0, TABLE_M))
NEIGHBOUR = solid("juice_can", (1.12, 0.25, TABLE_M))
HOLDING = (20.0, 20.0)
HEAD = [JOINTS.index(name) for name in HEAD_JOINTS]
SLIP = Slip(about_m=CAN.position_m[:2], shift_m=np.array([0.02, -0.01]), turn_rad=0.02)


def poses_of(thing: Belief) -> tuple[HandPose, ...]:
    return hand_poses(thing, item_of(thing.name).grasps)


@functools.cache
def reached() -> Reach:
    """A plan for the can, alone on the table but for one neighbour."""
    todo = order(HSR, poses_of(CAN), READY)
    found, _ = first_grasp(CELL, around(house(CAN, NEIGHBOUR)), CAN, READY, todo)
    assert found is not None
    return found[1]


def at_can() -> Any:
    """The moment at which the can is between the fingers."""
    return answer(reached().at)


def but_head(joints: np.ndarray) -> np.ndarray:
    """All joints but those of the head, which looks at the thing on the way in, wherever it looked before."""
    return np.delete(joints, HEAD)


def width_rad(more_m: float = 0.0) -> float:
    return float(HSR.jaw_law.angle_rad(0.067 + more_m))


class TestSortPoses:
    def todo(self, thing: Belief) -> list[HandPose]:
        stage = sort_poses(answer(READY), CELL, thing, poses_of(thing))
        return [pose for pose, postures in drive(stage)[1].data.todo if len(postures)]

    def test_those_from_the_top_are_last(self) -> None:
        tops = [pose.top for pose in self.todo(CAN)]
        assert any(tops)
        assert tops == sorted(tops)

    def test_a_tall_box_is_taken_so_that_it_fits_on_its_board_if_it_can_be(self) -> None:
        poses = self.todo(BOX)
        assert len(poses) > 10
        # From the board's floor to the top of the hand.
        high = [
            float(tool_of(HSR, pose).position_m[2] - BOX.bottom_m + 0.23 * max(-pose.rotation[2, 0], 0.0))
            for pose in poses
        ]
        assert high[0] < 0.3
        assert poses[-1].pitch_rad > poses[0].pitch_rad

    def test_what_nothing_reaches_is_said_before_anything_moves(self) -> None:
        far = solid("soup_can", (1.15, 0.0, 1.9))
        asked, outcome = drive(sort_poses(answer(READY), CELL, far, poses_of(far)))
        assert outcome.name == "unreachable"
        assert not motions(asked)


class TestPlanGrasp:
    def outcome(self, *things: Belief, every: int = 1) -> Any:
        """With every so manieth of the poses."""
        todo = order(HSR, poses_of(CAN), READY)[::every]
        stage = plan_grasp(answer(READY, mass_kg=0.7), CELL, house(*things), CAN, todo, ())
        return drive(stage)[1]

    def test_the_first_that_works_is_planned_and_all_others_are_kept(self) -> None:
        outcome = self.outcome(CAN, NEIGHBOUR)
        assert outcome.name == "planned"
        assert not outcome.data.reach.pose.top
        ordered = [pose.label for pose, _ in order(HSR, poses_of(CAN), READY)]
        ordered.remove(outcome.data.reach.pose.label)
        assert [pose.label for pose, _ in outcome.data.todo] == ordered
        assert outcome.data.hand_kg == pytest.approx(0.7)

    def test_a_fence_around_the_thing_leaves_grasps_from_above_it(self) -> None:
        fence = tuple(
            solid(
                at=(1.15 + 0.14 * dx, 0.14 * dy, TABLE_M), half_m=(0.01 + 0.13 * abs(dy), 0.01 + 0.13 * abs(dx), 0.08)
            )
            for dx, dy in ((1, 0), (-1, 0), (0, 1), (0, -1))
        )
        outcome = self.outcome(CAN, *fence, every=6)
        assert outcome.name == "planned"
        assert outcome.data.reach.pose.pitch_rad > 0.5
        assert any("would meet unknown" in each.check for each in outcome.data.refused)

    def test_under_a_lid_nothing_is_left_and_evidence_says_why(self) -> None:
        cage = solid(at=(1.15, 0.0, TABLE_M + 0.11), half_m=(0.25, 0.25, 0.15))
        outcome = self.outcome(CAN, cage, every=12)
        assert (outcome.name, outcome.about) == ("none_left", "soup_can")
        assert outcome.evidence
        assert not any(each.passed for each in outcome.evidence)
        assert any("unknown" in each.name for each in outcome.evidence)

    @pytest.mark.parametrize("low_m", [0.0, 0.001])
    def test_a_thing_above_a_leg_of_the_table_is_taken_though_it_seems_a_little_low(self, low_m: float) -> None:
        can = solid("soup_can", (1.04, -0.36, TABLE_M - low_m))
        todo = order(HSR, poses_of(can), READY)[::12]
        found, _ = first_grasp(CELL, around(house(can)), can, READY, todo)
        assert found is not None

    def test_where_the_way_in_begins_the_head_looks_at_the_thing(self) -> None:
        camera, rotation = hsr.head_camera(reached().before)
        apart = (CAN.position_m - camera) / np.linalg.norm(CAN.position_m - camera)
        assert -rotation[:, 2] @ apart > np.cos(np.radians(8.0))
        np.testing.assert_array_equal(reached().way.end, reached().before)

    def test_the_hand_opens_wider_than_the_thing(self) -> None:
        assert HSR.jaw_law.gap_m(reached().at[HSR.jaw]) == pytest.approx(0.067 + SETTINGS.grasp.wider_m, abs=1e-6)


class TestReachIn:
    def test_the_way_to_the_thing_is_watched(self) -> None:
        assert drive(approach(answer(READY), CELL, TableRecord(), reached()))[1].name == "there"
        _, outcome = drive(
            approach(answer(READY), CELL, TableRecord(), reached()), played(by={"approach": TrackingError})
        )
        assert outcome.name == "blocked"

    def test_the_hand_ends_around_the_thing(self) -> None:
        asked, outcome = drive(reach_in(answer(reached().before), CELL, TableRecord(), reached()))
        assert outcome.name == "around"
        assert [each.name for each in asked] == ["reach"]
        np.testing.assert_allclose(but_head(asked[0].path.end), but_head(reached().at), atol=1e-9)

    def test_it_first_goes_to_where_the_corrected_way_begins(self) -> None:
        corrected = reached().after(SLIP)
        asked, outcome = drive(reach_in(answer(reached().before), CELL, TableRecord(), corrected))
        assert outcome.name == "around"
        assert [each.name for each in asked] == ["correct", "reach"]
        np.testing.assert_array_equal(asked[0].path.positions[0], reached().before)
        np.testing.assert_allclose(asked[0].path.end, corrected.before, atol=1e-9)
        np.testing.assert_allclose(but_head(asked[1].path.end), but_head(corrected.at), atol=1e-9)

    @pytest.mark.parametrize("by", [TrackingError, ForceAbove])
    def test_what_is_met_on_the_way_there_stops_it_before_the_hand_goes_in(self, by: type) -> None:
        stage = reach_in(answer(reached().before), CELL, TableRecord(), reached().after(SLIP))
        asked, outcome = drive(stage, played(by={"correct": by}))
        assert outcome.name == "blocked"
        assert "reach" not in motions(asked)

    def test_a_finger_that_meets_something_stops_it(self) -> None:
        stage = reach_in(answer(reached().before), CELL, TableRecord(), reached())
        _, outcome = drive(stage, played(by={"reach": ForceAbove}))
        assert outcome.name == "blocked"

    def test_after_it_the_robot_may_have_touched_things(self) -> None:
        stage = reach_in(answer(reached().before), CELL, TableRecord(), reached())
        assert drive(stage)[1].data.record.contact_possible


# A picture that shows nothing.
DARK = view_of(BLACK, np.zeros(3), np.eye(3))


class TestLookAgain:
    TODO = order(HSR, poses_of(CAN), READY)[1:3]

    def asked(self, eye: Any, beside: Belief = NEIGHBOUR, *, contact_possible: bool = False) -> tuple[list[Any], Any]:
        """From before the can, with a plan that was made when neither had slipped."""
        last, it = answer(reached().before), replace(CELL, eye=eye)
        record = TableRecord(contact_possible=contact_possible)
        return drive(look_again(last, it, house(CAN, beside), record, CAN, self.TODO, reached()))

    def outcome(self, look: Any, *, contact_possible: bool = False) -> Any:
        return self.asked(sees(look), contact_possible=contact_possible)[1]

    def seen(self, *more: Belief) -> TableSeen:
        """The table and what stands on it where they are after wheels have slipped."""
        there = replace(HOUSE, table=SLIP.fitting(HOUSE.table))
        return TableSeen(things=tuple(SLIP.solid(each) for each in (CAN, NEIGHBOUR, *more)), house=there)

    def post(self) -> Belief:
        """Something thin in the straight way in."""
        x, y, _ = (CAN.position_m - 0.09 * reached().pose.rotation[:, 0]).tolist()
        return solid(at=(x, y, TABLE_M), half_m=(0.01, 0.01, 0.08))

    def test_everything_is_corrected_by_how_far_things_were_off(self) -> None:
        outcome = self.outcome(self.seen())
        assert (outcome.name, outcome.about) == ("seen", "soup_can")
        corrected = outcome.data
        for found, meant in zip(corrected.house.things, (CAN, NEIGHBOUR), strict=True):
            np.testing.assert_allclose(found.position_m, SLIP.solid(meant).position_m, atol=1e-9)
        assert corrected.target is corrected.house.things[0]
        np.testing.assert_allclose(corrected.house.table.position_m, SLIP.fitting(HOUSE.table).position_m, atol=1e-9)
        np.testing.assert_allclose(corrected.house.shelf.position_m, SLIP.fitting(HOUSE.shelf).position_m, atol=1e-9)
        np.testing.assert_allclose(corrected.reach.at, SLIP.joints(reached().at), atol=1e-9)
        np.testing.assert_allclose(corrected.reach.before, SLIP.joints(reached().before), atol=1e-9)
        for (pose, rows), (meant, _) in zip(corrected.todo, self.TODO, strict=True):
            np.testing.assert_allclose(pose.position_m, SLIP.point(meant.position_m), atol=1e-9)
            tools, _ = hsr.forward(rows)
            np.testing.assert_allclose(tools, np.broadcast_to(tool_of(HSR, pose).position_m, tools.shape), atol=1e-9)

    def test_evidence_says_how_far_wheels_have_slipped(self) -> None:
        told = {each.name: each.value for each in self.outcome(self.seen()).evidence}
        assert told == {"slipped": pytest.approx(np.hypot(0.02, 0.01)), "turned": pytest.approx(0.02)}

    @pytest.mark.parametrize(
        "look",
        [
            NoPlane(agreed=3),
            SightFailed("ValueError: no points"),
            TableSeen(things=(), house=HOUSE, view=DARK),
            TableSeen(things=(solid("apple", (1.3, -0.2, TABLE_M)),), house=HOUSE, view=DARK),
        ],
        ids=["no_table", "failed", "nothing", "another"],
    )
    def test_where_nothing_of_before_is_seen_again_nothing_is_corrected(self, look: Any) -> None:
        outcome = self.outcome(look)
        assert (outcome.name, outcome.about) == ("unseen", "soup_can")
        assert not passes(outcome.evidence)
        assert outcome.evidence

    @pytest.mark.parametrize("left", [(), (NEIGHBOUR,), (solid("apple", (1.45, -0.25, TABLE_M)), NEIGHBOUR)])
    def test_a_thing_whose_place_is_seen_empty_is_gone_and_nothing_is_grasped_there(
        self, left: tuple[Belief, ...]
    ) -> None:
        outcome = self.outcome(TableSeen(things=left, house=HOUSE))
        assert (outcome.name, outcome.about) == ("gone", "soup_can")
        assert [each.name for each in outcome.evidence] == ["place_seen_empty", "things_near_its_place"]
        assert passes(outcome.evidence)
        assert execute_grasp(SETTINGS).table["look_again"]["gone"] == End("failed_to_grasp")

    @pytest.mark.parametrize("contact_possible", [False, True])
    def test_a_thing_that_is_gone_was_taken_away_only_if_the_robot_cannot_have_touched_it(
        self, contact_possible: bool
    ) -> None:
        outcome = self.outcome(TableSeen(things=(NEIGHBOUR,), house=HOUSE), contact_possible=contact_possible)
        found = [each.thing for each in outcome.data.record.taken_away]
        assert (outcome.name, found) == ("gone", [] if contact_possible else [CAN])

    def test_what_is_near_to_its_place_and_was_not_there_may_be_the_thing(self) -> None:
        fallen = replace(solid(half_m=(0.034, 0.05, 0.034)), position_m=CAN.position_m + np.array([0.06, 0.03, -0.01]))
        assert self.outcome(TableSeen(things=(fallen, NEIGHBOUR), house=HOUSE)).name != "gone"

    def test_a_thing_that_is_not_seen_again_is_where_another_says(self, monkeypatch: pytest.MonkeyPatch) -> None:
        # Nothing hides it, and yet nothing is seen behind it.
        monkeypatch.setattr(odometry_drift, "hidden_share", lambda thing, view: 0.0)
        shift = np.array([0.02, -0.01, 0.0])
        beside = replace(NEIGHBOUR, position_m=NEIGHBOUR.position_m + shift)
        outcome = self.outcome(TableSeen(things=(beside,), house=HOUSE, view=DARK))
        assert (outcome.name, outcome.about) == ("seen", "soup_can")
        np.testing.assert_allclose(outcome.data.target.position_m, CAN.position_m + shift, atol=1e-9)
        assert outcome.data.reach.at[2] == reached().at[2]

    def test_what_was_hidden_is_known_from_then_on(self) -> None:
        apple = solid("apple", (1.45, -0.25, TABLE_M))
        outcome = self.outcome(self.seen(apple))
        assert outcome.name == "seen"
        assert [each.name for each in outcome.data.house.things] == ["soup_can", "juice_can", "apple"]

    def test_what_was_hidden_and_stands_in_the_way_needs_another_plan(self) -> None:
        outcome = self.outcome(self.seen(self.post()))
        assert outcome.name == "in_the_way"
        assert [each.name for each in outcome.data.house.things] == ["soup_can", "juice_can", "unknown"]
        assert len(outcome.data.todo) == len(self.TODO)

    def test_each_thing_is_where_it_is_seen_itself(self) -> None:
        apart = replace(SLIP.solid(NEIGHBOUR), position_m=SLIP.solid(NEIGHBOUR).position_m + np.array([0.0, 0.02, 0.0]))
        outcome = self.outcome(TableSeen(things=(SLIP.solid(CAN), apart), house=HOUSE))
        assert outcome.name == "seen"
        for found, meant in zip(outcome.data.house.things, (SLIP.solid(CAN), apart), strict=True):
            np.testing.assert_allclose(found.position_m, meant.position_m, atol=1e-9)

    @pytest.mark.parametrize(("nearer_m", "name"), [(0.01, "seen"), (0.09, "in_the_way")])
    def test_a_thing_that_is_seen_nearer_to_another_needs_another_plan_if_the_hand_would_meet_that(
        self, nearer_m: float, name: str
    ) -> None:
        # Where a finger goes in.
        opening = reached().pose.rotation[:, 2]
        beside = replace(NEIGHBOUR, position_m=CAN.position_m + 0.18 * opening)
        can = replace(CAN, position_m=CAN.position_m + nearer_m * opening)
        _, outcome = self.asked(sees(TableSeen(things=(can, beside), house=HOUSE)), beside)
        assert outcome.name == name
        np.testing.assert_allclose(outcome.data.target.position_m, can.position_m, atol=1e-9)

    def test_what_the_robot_sees_of_itself_is_no_thing(self) -> None:
        eye = sees(self.seen())
        self.asked(eye)
        (own,) = eye.known
        palm = next(each for each in own if each.name == "palm_body")
        tool, _ = hsr.forward(reached().before)
        assert np.linalg.norm(palm.position_m - tool) < 0.2

    def test_nothing_moves(self) -> None:
        for look in (NoPlane(agreed=3), self.seen(), self.seen(self.post())):
            assert not motions(self.asked(sees(look))[0])


class TestClose:
    def outcome(self, **feels: Any) -> Any:
        stage = close(at_can(), CELL, reached(), HAND_KG, CAN)
        return drive(stage, played(by={"close": BothPadsTouch}, **feels))[1]

    def test_both_pads_and_the_width_make_a_hold(self) -> None:
        outcome = self.outcome(pads_n=HOLDING, jaw_rad=width_rad())
        assert (outcome.name, outcome.about) == ("closed", "soup_can")
        assert passes(outcome.evidence)

    @pytest.mark.parametrize(
        ("pads_n", "more_m"), [((20.0, 0.0), 0.0), ((0.0, 0.0), -0.067), (HOLDING, -0.02), (HOLDING, 0.02)]
    )
    def test_anything_less_is_a_miss(self, pads_n: tuple[float, float], more_m: float) -> None:
        outcome = self.outcome(pads_n=pads_n, jaw_rad=width_rad(more_m))
        assert outcome.name == "missed"
        assert not passes(outcome.evidence)

    def test_the_plane_it_stood_on_is_known_in_the_hand(self) -> None:
        held = self.outcome(pads_n=HOLDING, jaw_rad=width_rad()).data.held
        joints = reached().at.copy()
        joints[HSR.jaw] = width_rad()
        tool, rotation = hsr.forward(joints)
        bottom = tool + rotation @ held.X_HB.position_m
        np.testing.assert_allclose(bottom, [1.15, 0.0, TABLE_M], atol=1e-6)
        np.testing.assert_allclose(rotation @ held.X_HB.rotation, np.eye(3), atol=1e-9)
        assert (held.name, held.top) == ("soup_can", reached().pose.top)

    def test_it_squeezes_past_the_touch_and_no_further_than_shut(self) -> None:
        stage = close(at_can(), CELL, reached(), HAND_KG, CAN)
        asked, _ = drive(stage, played(by={"close": BothPadsTouch}, pads_n=HOLDING, jaw_rad=width_rad()))
        told = motions(asked)["squeeze"].path.end[HSR.jaw]
        assert told == pytest.approx(width_rad() - SETTINGS.grasp.squeeze_rad)
        empty, _ = drive(close(at_can(), CELL, reached(), HAND_KG, CAN))
        assert motions(empty)["squeeze"].path.end[HSR.jaw] >= HSR.limits.lower[HSR.jaw]


def held() -> Any:
    stage = close(at_can(), CELL, reached(), HAND_KG, CAN)
    return drive(stage, played(by={"close": BothPadsTouch}, pads_n=HOLDING, jaw_rad=width_rad()))[1].data.held


class TestLift:
    def outcome(self, by: dict[str, type] | None = None, **feels: Any) -> Any:
        feels = {"pads_n": HOLDING, "jaw_rad": width_rad(), "mass_kg": HAND_KG + 0.35, **feels}
        return drive(lift(at_can(), CELL, held()), played(by=by, **feels))[1]

    def test_what_weighs_something_is_held(self) -> None:
        outcome = self.outcome()
        assert outcome.name == "lifted"
        assert outcome.data.held.mass_kg == pytest.approx(HAND_KG + 0.35)

    def test_what_weighs_nothing_or_is_not_felt_is_not(self) -> None:
        for outcome in (self.outcome(mass_kg=HAND_KG + 0.01), self.outcome(pads_n=(20.0, 0.1))):
            assert outcome.name == "lost"
            assert not passes(outcome.evidence)

    @pytest.mark.parametrize(
        ("by", "name"),
        [
            ({"lift": HoldLost}, "lost"),
            ({"lift": TrackingError}, "blocked"),
            ({"weigh": HoldLost}, "lost"),
        ],
    )
    def test_what_ends_it_has_a_name(self, by: dict[str, type], name: str) -> None:
        assert self.outcome(by).name == name

    def test_it_goes_straight_up(self) -> None:
        asked, _ = drive(lift(at_can(), CELL, held()), played(pads_n=HOLDING))
        tools, _ = hsr.forward(motions(asked)["lift"].path.positions)
        np.testing.assert_allclose(tools[-1] - tools[0], SETTINGS.grasp.lift_m * UP, atol=1e-9)


class TestLeave:
    def asked(self, by: dict[str, type] | None = None, pads_n: tuple[float, float] = HOLDING) -> tuple[list[Any], Any]:
        up = straight_path(HSR, reached().at, SETTINGS.grasp.lift_m * UP).end
        stage = leave(answer(up), CELL, house(CAN, NEIGHBOUR), CAN, reached(), held())
        return drive(stage, played(by=by, pads_n=pads_n, jaw_rad=width_rad()))

    def test_it_says_what_proves_that_the_thing_is_still_held(self) -> None:
        for pads_n, name in ((HOLDING, "away"), ((20.0, 0.1), "lost")):
            _, outcome = self.asked(pads_n=pads_n)
            assert outcome.name == name
            assert [each.name for each in outcome.evidence] == ["weaker_pad_force", "jaw_angle"]
            assert passes(outcome.evidence) == (name == "away")

    def test_it_ends_before_the_table_with_the_thing_upright(self) -> None:
        asked, outcome = self.asked()
        assert outcome.name == "away"
        held = outcome.data.held
        end = motions(asked)["travel"].path.end
        np.testing.assert_allclose(end[0], 0.25, atol=0.5)
        _, rotation = hsr.forward(end)
        np.testing.assert_allclose((rotation @ held.X_HB.rotation)[2], UP, atol=1e-9)
        assert any(isinstance(guard, HoldLost) for guard in motions(asked)["travel"].guards)

    def test_it_hands_on_what_is_left_the_room_and_how_the_thing_was_taken(self) -> None:
        _, outcome = self.asked()
        assert outcome.data.house.things == (NEIGHBOUR,)
        assert outcome.data.house.table is HOUSE.table
        *there, before, at, up = outcome.data.swept
        np.testing.assert_array_equal(there[0], reached().way.positions[0])
        assert len(there) > 5
        np.testing.assert_array_equal(before, reached().before)
        np.testing.assert_array_equal(at, reached().at)
        tools, _ = hsr.forward(np.stack([at, up]))
        np.testing.assert_allclose(tools[1] - tools[0], SETTINGS.grasp.lift_m * UP, atol=1e-9)

    @pytest.mark.parametrize(("by", "name"), [(HoldLost, "lost"), (TrackingError, "blocked")])
    def test_what_ends_it_has_a_name(self, by: type, name: str) -> None:
        assert self.asked({"travel": by})[1].name == name


def test_a_hand_that_missed_opens_and_leaves_the_way_it_came() -> None:
    shut = reached().at.copy()
    shut[HSR.jaw] = 0.0
    asked, outcome = drive(back_off(answer(shut), CELL, reached()))
    assert outcome.name == "ready"
    np.testing.assert_allclose(motions(asked)["open"].path.end, reached().at, atol=1e-9)
    end = motions(asked)["back_off"].path.end
    np.testing.assert_allclose(but_head(end), but_head(reached().before), atol=1e-9)


def test_plans_are_made_from_what_is_believed_and_nothing_else() -> None:
    todo = order(HSR, poses_of(CAN), READY)
    ways = [first_grasp(CELL, around(house(thing)), thing, READY, todo)[0] for thing in (CAN, replace(CAN))]
    one, two = (each[1].way.positions for each in ways if each is not None)
    assert one.tobytes() == two.tobytes()


def test_the_component_ends_by_the_names_it_is_known_by() -> None:
    machine = execute_grasp(SETTINGS)
    assert set(machine.outcomes) == {"execute_grasp_success", "failed_to_grasp"}
    assert machine.successes == ("execute_grasp_success",)
    assert set(machine.gives) == {"held", "house", "swept"}
    assert set(machine.inputs) == {"cell", "house", "record", "target", "grasp_poses"}
    assert machine.hands_back == ("record",)
    assert execute_grasp(settings("retries.grasps=7")).budgets["grasps"] == 7


def test_a_thing_not_seen_again_is_taken_where_it_was_seen_and_one_in_the_way_costs_a_try() -> None:
    table = execute_grasp(SETTINGS).table["look_again"]
    assert (table["seen"], table["unseen"]) == ("reach_in", "reach_in")
    assert table["in_the_way"] == Retry(to="plan_grasp", budget="grasps", otherwise=End("failed_to_grasp"))


class TestGoRound:
    """What is taken from another side of the table is looked at from there first."""

    def test_one_that_is_taken_from_far_away_is_far(self) -> None:
        start = READY.copy()
        start[0] -= 1.5
        todo = order(HSR, poses_of(CAN), start)
        _, outcome = drive(plan_grasp(answer(start), CELL, house(CAN), CAN, todo, ()))
        assert outcome.name == "far"

    def test_the_robot_stops_beside_that_side_and_looks_at_the_middle(self) -> None:
        reach = replace(reached(), at=reached().at.copy())
        reach.at[:2] = TABLE.in_world((0.9, 0.1, 0.0))[:2]
        asked, outcome = drive(go_round(answer(READY), CELL, house(CAN, NEIGHBOUR), TableRecord(), reach), played())
        assert outcome.name == "there"
        end = asked[-1].path.positions[-1]
        x, y = TABLE.in_own_frame(end[:2])
        assert x > TABLE.levels[0].half_extents_m[0] + 0.5
        assert abs(y) < 0.01
        camera, rotation = hsr.head_camera(end)
        middle = TABLE.in_world((0.0, 0.0, TABLE_M)) - camera
        assert -rotation[:, 2] @ middle / np.linalg.norm(middle) > 0.999

    def test_grasps_are_where_the_thing_is_seen_from_there(self) -> None:
        poses = hand_poses(CAN, item_of(CAN.name).grasps)
        look = TableSeen(things=(SLIP.solid(CAN), SLIP.solid(NEIGHBOUR)), house=HOUSE)
        _, outcome = drive(look_round(answer(READY), seeing(look), house(CAN, NEIGHBOUR), TableRecord(), CAN, poses))
        assert outcome.name == "seen"
        np.testing.assert_allclose(outcome.data.target.position_m, SLIP.solid(CAN).position_m, atol=1e-9)
        for found, meant in zip(outcome.data.grasp_poses, poses, strict=True):
            np.testing.assert_allclose(found.position_m, SLIP.point(meant.position_m), atol=1e-9)

    def test_if_nothing_is_seen_again_what_was_believed_stays(self) -> None:
        _, outcome = drive(look_round(answer(READY), seeing(NoPlane(agreed=3)), house(CAN), TableRecord(), CAN, ()))
        assert outcome.name == "unseen"

    def test_if_its_place_is_seen_empty_from_there_it_is_gone(self) -> None:
        look = TableSeen(things=(NEIGHBOUR,), house=HOUSE)
        _, outcome = drive(look_round(answer(READY), seeing(look), house(CAN, NEIGHBOUR), TableRecord(), CAN, ()))
        assert outcome.name == "gone"
        assert [each.thing for each in outcome.data.record.taken_away] == [CAN]
