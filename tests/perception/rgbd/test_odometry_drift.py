"""A second look from close by: how far wheels have slipped, what that makes of plans, and what was hidden before."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graspline.evidence import passes
from graspline.grasping.whole_body_reach import Reach, straight_path, todo_after
from graspline.kinematics import hsr
from graspline.perception.core.beliefs import Belief
from graspline.perception.rgbd.change_detection import Sight
from graspline.perception.rgbd.clouds import view_of
from graspline.perception.rgbd.odometry_drift import (
    Slip,
    is_hidden,
    shown_since,
    slip_between,
    slip_of,
    slip_since,
    unknown_before,
)
from graspline.robots.hsr import HSR
from graspline.scenes.fittings import TABLE
from graspline.spatial.rotations import rotation_z
from graspline.tasks.tidy.believed_room import solids_of
from graspline.tasks.tidy.sight import TableSeen
from perception.rgbd.depth_pictures import CAMERA_M, R_OC, box_depth, picture_of, table_depth
from tasks.tidy.stagecraft import HOUSE, READY, TABLE_M, Array, pose_of, solid

CAN = solid("soup_can", (1.15, 0.05, TABLE_M))
JUICE = solid("juice_can", (1.12, 0.25, TABLE_M), yaw_rad=0.4)
APPLE = solid("apple", (1.3, -0.1, TABLE_M))
# Between the camera of painted pictures and CAN, and as wide as to hide it.
SCREEN = solid(at=(0.95, 0.04, TABLE_M), half_m=(0.01, 0.07, 0.12))
OFF = st.floats(-0.05, 0.05)
SLIPS = st.builds(
    lambda x, y, turn: Slip(about_m=CAN.position_m[:2], shift_m=np.array([x, y]), turn_rad=turn), OFF, OFF, OFF
)
ASKEW = Slip(about_m=CAN.position_m[:2], shift_m=np.array([0.03, -0.02]), turn_rad=0.04)


def off(thing: Belief, x: float, y: float) -> Belief:
    return replace(thing, position_m=thing.position_m + np.array([x, y, 0.0]))


def seen(*things: Belief, turn_rad: float = 0.0) -> Sight:
    return TableSeen(things=things, house=replace(HOUSE, table=TABLE.moved((0.0, 0.0, 0.0), turn_rad))).sight


def hiding(now: Sight, *screens: Belief) -> Sight:
    """The same look with a picture of a table on which nothing stands but what hides."""
    depth = table_depth(middle_m=(1.3, 0.0))
    for each in screens:
        depth = np.minimum(depth, box_depth(each.position_m, each.half_extents_m))
    return replace(now, view=view_of(picture_of(depth), CAMERA_M, R_OC))


def nearest(thing: Belief, now: Sight) -> Belief:
    return min((each for each in now.things if each.name == thing.name), key=lambda each: gap_m(thing, each))


def gap_m(one: Belief, other: Belief) -> float:
    return float(np.linalg.norm(one.position_m - other.position_m))


class TestSlip:
    @given(SLIPS)
    def test_the_thing_it_was_seen_by_is_where_it_was_seen(self, slip: Slip) -> None:
        moved = slip.solid(CAN)
        np.testing.assert_allclose(moved.position_m[:2], CAN.position_m[:2] + slip.shift_m, atol=1e-12)
        assert moved.position_m[2] == CAN.position_m[2]
        assert (moved.name, moved.shape, moved.position_sigma_m) == (CAN.name, CAN.shape, CAN.position_sigma_m)

    @given(SLIPS)
    def test_things_stay_where_they_are_on_the_table(self, slip: Slip) -> None:
        table, moved = slip.fitting(TABLE), slip.solid(JUICE)
        on_old = (JUICE.position_m - TABLE.in_world((0.0, 0.0, 0.0))) @ rotation_z(TABLE.yaw_rad)
        on_new = (moved.position_m - table.in_world((0.0, 0.0, 0.0))) @ rotation_z(table.yaw_rad)
        np.testing.assert_allclose(on_new, on_old, atol=1e-9)
        assert moved.yaw_rad - table.yaw_rad == pytest.approx(JUICE.yaw_rad - TABLE.yaw_rad, abs=1e-9)

    def test_slabs_of_the_table_go_where_solids_do(self) -> None:
        for slab, moved in zip(solids_of(TABLE), solids_of(ASKEW.fitting(TABLE)), strict=True):
            np.testing.assert_allclose(moved.position_m, ASKEW.solid(slab).position_m, atol=1e-9)
            np.testing.assert_allclose(moved.rotation, ASKEW.solid(slab).rotation, atol=1e-9)

    @given(SLIPS)
    def test_the_hand_is_where_it_was_from_the_thing(self, slip: Slip) -> None:
        old, R_old = hsr.forward(READY)
        new, R_new = hsr.forward(slip.joints(READY))
        np.testing.assert_allclose(new, slip.point(old), atol=1e-9)
        np.testing.assert_allclose(R_new, rotation_z(slip.turn_rad) @ R_old, atol=1e-9)
        np.testing.assert_array_equal(slip.joints(READY)[3:], READY[3:])

    def test_a_plan_for_a_thing_is_the_same_plan_for_where_it_is(self) -> None:
        pose, way = pose_of(CAN), straight_path(HSR, READY, np.array([0.1, 0.0, 0.0]))
        reach = Reach(pose=pose, at=way.end, before=READY, way=way).after(ASKEW)
        moved = ASKEW.solid(CAN)
        np.testing.assert_allclose(
            moved.rotation.T @ (reach.pose.position_m - moved.position_m),
            CAN.rotation.T @ (pose.position_m - CAN.position_m),
            atol=1e-9,
        )
        np.testing.assert_allclose(moved.rotation.T @ reach.pose.rotation, CAN.rotation.T @ pose.rotation, atol=1e-9)
        assert (reach.pose.width_m, reach.pose.label) == (pose.width_m, pose.label)
        np.testing.assert_array_equal(reach.at, ASKEW.joints(way.end))
        np.testing.assert_array_equal(reach.before, ASKEW.joints(READY))

    def test_postures_of_other_poses_go_along_and_none_stay_none(self) -> None:
        pose, some = pose_of(CAN), np.stack([READY[:8], READY[:8] + 0.01])
        none: Array = np.zeros((0, 8))
        (one, rows), (_, empty) = todo_after(ASKEW, ((pose, some), (pose, none)))
        np.testing.assert_allclose(one.position_m, ASKEW.point(pose.position_m))
        np.testing.assert_array_equal(rows, [ASKEW.joints(row) for row in some])
        assert empty.shape == (0, 8)

    def test_nothing_that_it_is_given_is_changed(self) -> None:
        joints, position = READY.copy(), CAN.position_m.copy()
        ASKEW.joints(joints)
        ASKEW.solid(CAN)
        np.testing.assert_array_equal(joints, READY)
        np.testing.assert_array_equal(CAN.position_m, position)

    def test_it_tells_how_far(self) -> None:
        assert [each.value for each in ASKEW.as_evidence] == pytest.approx([np.hypot(0.03, 0.02), 0.04])
        assert passes(ASKEW.as_evidence)


class TestSlipSince:
    def test_one_thing_tells_how_far_it_is_off_and_no_turn(self) -> None:
        slip = slip_since((CAN, JUICE), CAN, seen(off(CAN, 0.02, -0.03)))
        assert slip is not None
        np.testing.assert_allclose(slip.shift_m, (0.02, -0.03), atol=1e-12)
        np.testing.assert_allclose(slip.about_m, CAN.position_m[:2])
        assert slip.turn_rad == 0.0

    def test_where_the_tables_sides_seem_to_be_tells_nothing(self) -> None:
        slip = slip_since((CAN,), CAN, seen(off(CAN, 0.01, 0.0), turn_rad=0.08))
        assert slip is not None
        assert slip.turn_rad == 0.0
        np.testing.assert_allclose(slip.shift_m, (0.01, 0.0), atol=1e-12)

    def test_of_several_that_agree_the_nearest_to_the_target_tells(self) -> None:
        now = seen(off(JUICE, 0.025, -0.03), off(CAN, 0.02, -0.03), off(APPLE, 0.015, -0.03))
        for target in (CAN, JUICE):
            slip = slip_since((APPLE, JUICE, CAN), target, now)
            assert slip is not None
            np.testing.assert_allclose(slip.about_m, target.position_m[:2])
            np.testing.assert_allclose(slip.solid(target).position_m, nearest(target, now).position_m, atol=1e-12)

    def test_a_target_that_is_not_seen_is_where_what_stands_nearest_to_it_says(self) -> None:
        slip = slip_since((CAN, JUICE, APPLE), CAN, seen(off(APPLE, 0.03, 0.0), off(JUICE, 0.02, 0.01)))
        assert slip is not None
        np.testing.assert_allclose(slip.about_m, JUICE.position_m[:2])
        np.testing.assert_allclose(slip.shift_m, (0.02, 0.01), atol=1e-12)

    def test_one_that_disagrees_is_outvoted_even_if_it_is_the_target(self) -> None:
        now = seen(off(CAN, -0.03, 0.0), off(JUICE, 0.03, 0.02), off(APPLE, 0.03, 0.02))
        slip = slip_since((CAN, JUICE, APPLE), CAN, now)
        assert slip is not None
        np.testing.assert_allclose(slip.shift_m, (0.03, 0.02), atol=1e-12)

    def test_of_two_that_disagree_the_one_that_is_less_off_is_believed(self) -> None:
        for near, far in ((CAN, JUICE), (JUICE, CAN)):
            slip = slip_since((CAN, JUICE), CAN, seen(off(near, 0.01, 0.0), off(far, -0.05, 0.0)))
            assert slip is not None
            np.testing.assert_allclose(slip.shift_m, (0.01, 0.0), atol=1e-12)

    def test_of_two_alike_each_is_the_one_that_the_others_say(self) -> None:
        twin, shift = off(CAN, 0.0, -0.09), (0.0, 0.06)
        slip = slip_since((CAN, twin, JUICE), CAN, seen(off(twin, *shift), off(CAN, *shift), off(JUICE, *shift)))
        assert slip is not None
        np.testing.assert_allclose(slip.shift_m, shift, atol=1e-12)
        assert slip.turn_rad == pytest.approx(0.0, abs=1e-12)

    def test_what_is_seen_poorly_tells_nothing(self) -> None:
        def at(sigma_m: float) -> Belief:
            return replace(off(CAN, 0.02, 0.0), position_sigma_m=sigma_m)

        assert slip_since((CAN,), CAN, seen(at(0.0051))) is None
        assert slip_since((CAN,), CAN, seen(at(0.005))) is not None
        slip = slip_since((CAN, JUICE), CAN, seen(at(0.006), off(JUICE, 0.0, 0.03)))
        assert slip is not None
        np.testing.assert_allclose(slip.shift_m, (0.0, 0.03), atol=1e-12)

    def test_what_is_hidden_tells_nothing_though_a_part_of_it_is_seen(self) -> None:
        now = seen(off(CAN, 0.0, -0.03), off(JUICE, 0.02, 0.0))
        assert is_hidden(CAN, hiding(now, SCREEN))
        assert not is_hidden(JUICE, hiding(now, SCREEN))
        slip = slip_since((CAN, JUICE), CAN, hiding(now, SCREEN))
        assert slip is not None
        np.testing.assert_allclose(slip.shift_m, (0.02, 0.0), atol=1e-12)
        assert slip_since((CAN,), CAN, hiding(now, SCREEN)) is None

    def test_what_nothing_hides_tells_whether_there_is_a_picture_or_not(self) -> None:
        now = seen(off(CAN, 0.0, -0.03))
        for look in (now, hiding(now)):
            assert not is_hidden(CAN, look)
            slip = slip_since((CAN,), CAN, look)
            assert slip is not None
            np.testing.assert_allclose(slip.shift_m, (0.0, -0.03), atol=1e-12)

    @given(SLIPS)
    def test_things_far_apart_tell_the_turn_too(self, slip: Slip) -> None:
        things = (CAN, JUICE, APPLE)
        # What a turn does to the farthest must not make it seem to disagree.
        slip = replace(slip, turn_rad=slip.turn_rad / 2)
        found = slip_since(things, CAN, seen(*(slip.solid(each) for each in things)))
        assert found is not None
        assert found.turn_rad == pytest.approx(slip.turn_rad, abs=1e-9)
        for each in things:
            np.testing.assert_allclose(found.solid(each).position_m, slip.solid(each).position_m, atol=1e-9)

    def test_things_near_each_other_tell_no_turn(self) -> None:
        beside = solid("juice_can", (1.15, 0.15, TABLE_M))
        slip = slip_since((CAN, beside), CAN, seen(CAN, off(beside, 0.005, 0.0)))
        assert slip is not None
        assert slip.turn_rad == 0.0
        far = solid("juice_can", (1.15, 0.25, TABLE_M))
        slip = slip_since((CAN, far), CAN, seen(CAN, off(far, 0.005, 0.0)))
        assert slip is not None
        assert slip.turn_rad == pytest.approx(-np.arctan(0.005 / 0.2), abs=1e-6)

    def test_things_that_seem_to_have_turned_far_were_seen_badly(self) -> None:
        far = solid("juice_can", (1.15, 0.25, TABLE_M))
        slip = slip_since((CAN, far), CAN, seen(off(CAN, 0.01, 0.0), off(far, 0.03, 0.0)))
        assert slip is not None
        assert slip.turn_rad == 0.0
        np.testing.assert_allclose(slip.shift_m, (0.01, 0.0), atol=1e-12)

    def test_height_is_not_what_wheels_change(self) -> None:
        higher = replace(CAN, position_m=CAN.position_m + np.array([0.0, 0.0, 0.01]))
        slip = slip_since((CAN,), CAN, seen(higher))
        assert slip is not None
        assert slip.solid(CAN).position_m[2] == CAN.position_m[2]

    @pytest.mark.parametrize(
        "others",
        [
            (),
            (solid("juice_can", (1.15, 0.05, TABLE_M)),),
            (replace(CAN, shape="box"),),
            (replace(CAN, half_extents_m=CAN.half_extents_m + 0.013),),
            (off(CAN, 0.0, 0.101),),
        ],
        ids=["nothing", "name", "shape", "size", "place"],
    )
    def test_another_thing_tells_nothing(self, others: tuple[Belief, ...]) -> None:
        assert slip_since((CAN,), CAN, seen(*others)) is None

    def test_wheels_slip_no_farther_than_a_decimetre(self) -> None:
        slip = slip_since((CAN,), CAN, seen(off(CAN, 0.0, 0.099)))
        assert slip is not None
        assert passes(slip.as_evidence)

    def test_where_nothing_was_seen_before_nothing_is_told(self) -> None:
        assert slip_since((), CAN, seen(CAN)) is None


class TestSlipBetween:
    @given(SLIPS)
    def test_furniture_and_what_stands_on_it_go_to_where_it_was_seen(self, slip: Slip) -> None:
        table = slip.fitting(TABLE)
        found = slip_between(TABLE, table)
        np.testing.assert_allclose(found.fitting(TABLE).position_m, table.position_m, atol=1e-9)
        assert found.fitting(TABLE).yaw_rad == pytest.approx(table.yaw_rad)
        np.testing.assert_allclose(found.solid(JUICE).position_m, slip.solid(JUICE).position_m, atol=1e-9)
        np.testing.assert_allclose(found.solid(JUICE).rotation, slip.solid(JUICE).rotation, atol=1e-9)

    def test_furniture_that_was_seen_where_it_was_has_not_moved(self) -> None:
        slip = slip_between(TABLE, TABLE)
        assert [each.value for each in slip.as_evidence] == [0.0, 0.0]

    def test_a_turn_across_half_a_turn_moves_things_by_the_small_one(self) -> None:
        was, now = (replace(TABLE, yaw_rad=yaw_rad) for yaw_rad in (np.pi - 0.01, -np.pi + 0.02))
        meant = Slip(about_m=np.array(TABLE.position_m[:2]), shift_m=np.zeros(2), turn_rad=0.03)
        found = slip_between(was, now).solid(CAN)
        np.testing.assert_allclose(found.position_m, meant.solid(CAN).position_m, atol=1e-9)
        np.testing.assert_allclose(found.rotation, meant.solid(CAN).rotation, atol=1e-9)


class TestSlipOf:
    NONE = Slip(about_m=np.zeros(2), shift_m=np.zeros(2), turn_rad=0.0)

    def test_a_thing_that_is_seen_itself_is_where_it_is_seen(self) -> None:
        near, far = off(CAN, 0.03, 0.0), off(CAN, 0.0, 0.05)
        found = slip_of(self.NONE, CAN, seen(*(far, JUICE, near)))
        np.testing.assert_allclose(found.solid(CAN).position_m, near.position_m, atol=1e-12)

    def test_one_that_is_not_seen_has_slipped_as_all_have(self) -> None:
        slip = Slip(about_m=np.zeros(2), shift_m=np.array([0.01, 0.02]), turn_rad=0.01)
        assert slip_of(slip, CAN, seen(*(JUICE,))) is slip

    def test_one_of_another_size_is_another(self) -> None:
        measured = replace(off(CAN, 0.02, 0.0), half_extents_m=CAN.half_extents_m - 0.013)
        assert slip_of(self.NONE, CAN, seen(*(measured,))) is self.NONE

    def test_one_that_is_hidden_is_not_where_a_part_of_it_or_another_like_it_is_seen(self) -> None:
        now, post = seen(off(CAN, 0.0, -0.09), JUICE), replace(SCREEN, half_extents_m=np.array([0.01, 0.04, 0.12]))
        assert not is_hidden(now.things[0], hiding(now, post))
        assert slip_of(self.NONE, CAN, hiding(now, post)) is self.NONE
        np.testing.assert_allclose(slip_of(self.NONE, CAN, hiding(now)).shift_m, (0.0, -0.09), atol=1e-12)


class TestUnknownBefore:
    def test_what_stands_in_none_of_those_before_is_told(self) -> None:
        assert unknown_before((CAN, JUICE), (off(CAN, 0.01, 0.0), APPLE, JUICE)) == (APPLE,)
        assert unknown_before((), (CAN, APPLE)) == (CAN, APPLE)
        assert unknown_before((CAN, JUICE), ()) == ()

    def test_a_thing_that_now_looks_otherwise_is_not_another(self) -> None:
        part = replace(off(CAN, 0.015, 0.0), name="unknown", shape="box", half_extents_m=np.array([0.02, 0.03, 0.05]))
        assert unknown_before((CAN,), (part,)) == ()

    def test_one_that_stands_right_beside_another_is_another(self) -> None:
        beside = off(CAN, 2 * 0.0335 + 0.002, 0.0)
        assert unknown_before((CAN,), (CAN, beside)) == (beside,)


class TestShownSince:
    def test_without_a_picture_it_is_what_was_unknown_before(self) -> None:
        assert shown_since((CAN, JUICE), seen(off(CAN, 0.01, 0.0), APPLE, JUICE)) == (APPLE,)

    def test_what_shows_beside_something_hidden_is_a_part_of_that(self) -> None:
        part = solid("unknown", (1.15, 0.13, TABLE_M), half_m=(0.01, 0.01, 0.03))
        now = seen(part, APPLE)
        assert shown_since((CAN,), now) == (part, APPLE)
        assert shown_since((CAN,), hiding(now)) == (part, APPLE)
        assert shown_since((CAN,), hiding(now, SCREEN)) == (APPLE,)
