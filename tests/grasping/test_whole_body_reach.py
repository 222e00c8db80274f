"""Whole-body plans around a table, on the real chain and a real collision world."""

from __future__ import annotations

import functools
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from graspline.grasping.hand_poses import HandPose, hand_poses
from graspline.grasping.whole_body_reach import (
    UP,
    Reach,
    ReachQuery,
    Step,
    Surroundings,
    first_reach,
    go,
    in_the_way,
    order,
    plan_reach,
    straight_path,
    tool_of,
)
from graspline.kinematics import hsr
from graspline.motion.path import Path, check_path
from graspline.perception.core.beliefs import Belief, Shape
from graspline.perception.core.held import HeldObject
from graspline.planning.collision import ROOM_CLEARANCE_M, CollisionWorld
from graspline.refusal import Refusal
from graspline.robots.hsr import HSR
from graspline.spatial.poses import Pose

Array = NDArray[np.float64]
WIDE_RAD = float(HSR.jaw_law.angle_rad(0.11))
BACK_M, LIFT_M = 0.12, 0.08


@functools.cache
def world() -> CollisionWorld:
    return CollisionWorld.among_solids(HSR)


def thing(name: str, at: tuple[float, float, float], half: tuple[float, float, float], shape: Shape = "box") -> Belief:
    return Belief(
        name=name,
        shape=shape,
        position_m=np.array(at),
        quaternion=np.array([1.0, 0.0, 0.0, 0.0]),
        half_extents_m=np.array(half),
        position_sigma_m=0.0,
        yaw_sigma_rad=0.0,
    )


TOP = thing("top", (1.3, 0.0, 0.70), (0.3, 0.4, 0.02))
CAN = thing("can", (1.15, 0.0, 0.77), (0.033, 0.033, 0.05), "cylinder")
POSES = hand_poses(CAN, ())


def query(*more: Belief, start: Array = HSR.home) -> ReachQuery:
    among = Surroundings(solids=(TOP, CAN, *more))
    left = Surroundings(solids=(TOP, *more))
    return ReachQuery(
        start=start,
        jaw_rad=WIDE_RAD,
        inwards=Step(way_m=np.zeros(3), around=among, touching=(("hand", CAN),)),
        onwards=(Step(way_m=LIFT_M * UP, around=left),),
        seed=1,
    )


def query_for(pose: HandPose, *more: Belief) -> ReachQuery:
    asked = query(*more)
    return replace(asked, inwards=replace(asked.inwards, way_m=BACK_M * pose.rotation[:, 0]))


def plan(pose: HandPose, postures: Array, *more: Belief) -> Reach | Refusal:
    return plan_reach(HSR, world(), query_for(pose, *more), pose, postures)


def first(*more: Belief) -> Reach | Refusal:
    pose, postures = order(HSR, POSES, HSR.home)[0]
    return plan(pose, postures, *more)


class TestOrder:
    def test_all_that_come_from_the_top_are_last_and_postures_reach_their_pose(self) -> None:
        found = order(HSR, POSES, HSR.home)
        assert len(found) == len(POSES)
        reached = [pose.top for pose, postures in found if len(postures)]
        assert reached == sorted(reached)
        for pose, postures in found[:3]:
            tool, rotation = hsr.forward(postures)
            np.testing.assert_allclose(tool, np.broadcast_to(tool_of(HSR, pose).position_m, tool.shape), atol=1e-9)
            np.testing.assert_allclose(rotation, np.broadcast_to(pose.rotation, rotation.shape), atol=1e-9)

    def test_a_hand_that_leans_counts_as_farther(self) -> None:
        assert order(HSR, POSES, HSR.home)[0][0].pitch_rad == pytest.approx(0, abs=1e-9)

    def test_what_no_posture_reaches_comes_after_everything_else(self) -> None:
        high = replace(POSES[0], position_m=POSES[0].position_m + 2 * UP)
        found = order(HSR, (high, *POSES), HSR.home)
        assert found[-1][0] is high
        assert len(found[-1][1]) == 0

    def test_nothing_to_sort_is_nothing(self) -> None:
        assert order(HSR, (), HSR.home) == ()


def test_the_tool_stands_back_by_what_open_fingertips_draw_back() -> None:
    pose = POSES[0]
    middle = HSR.jaw_law.middle_m(float(HSR.jaw_law.angle_rad(pose.width_m)))
    np.testing.assert_allclose(tool_of(HSR, pose).position_m + pose.rotation @ middle, pose.position_m, atol=1e-12)


class TestPlanReach:
    def test_the_way_ends_before_the_pose_from_where_the_hand_goes_straight(self) -> None:
        found = first()
        assert isinstance(found, Reach)
        tool, rotation = hsr.forward(found.at)
        np.testing.assert_allclose(tool, tool_of(HSR, found.pose).position_m, atol=1e-9)
        before, same = hsr.forward(found.before)
        np.testing.assert_allclose(tool - before, BACK_M * rotation[:, 0], atol=1e-9)
        np.testing.assert_allclose(same, rotation, atol=1e-12)
        np.testing.assert_allclose(found.way.positions[0], HSR.home, atol=1e-9)
        np.testing.assert_allclose(found.way.end, found.before, atol=1e-9)
        assert found.at[HSR.jaw] == found.before[HSR.jaw] == WIDE_RAD

    def test_the_way_touches_nothing_and_keeps_limits(self) -> None:
        found = first()
        assert isinstance(found, Reach)
        assert not check_path(found.way, HSR)
        world().place((TOP, CAN))
        assert world().first_collision(world().samples(found.way.positions), clearance_m=0.001) is None

    def test_the_same_query_has_the_same_bits(self) -> None:
        ways = [first() for _ in range(2)]
        one, two = (each.way.positions for each in ways if isinstance(each, Reach))
        assert one.tobytes() == two.tobytes()

    def test_what_stands_in_the_straight_way_is_named(self) -> None:
        pose, postures = order(HSR, POSES, HSR.home)[0]
        x, y, _ = (CAN.position_m - 0.09 * pose.rotation[:, 0]).tolist()
        found = plan(pose, postures[:1], thing("post", (x, y, 0.8), (0.01, 0.01, 0.08)))
        assert isinstance(found, Refusal)
        assert "would meet post" in found.check
        assert str(found) == f"{pose.label}: {found.check}"

    def test_a_roof_over_the_thing_is_in_the_way_of_the_lift(self) -> None:
        pose, postures = order(HSR, POSES, HSR.home)[0]
        assert isinstance(plan(pose, postures[:1]), Reach)
        found = plan(pose, postures[:1], thing("roof", (1.15, 0.0, 0.88), (0.1, 0.1, 0.01)))
        assert isinstance(found, Refusal)
        assert "would meet roof" in found.check

    def test_where_the_way_in_begins_the_head_looks_at_what_it_is_told_to(self) -> None:
        pose, postures = order(HSR, POSES, HSR.home)[0]
        asked = query_for(pose)
        plain = plan_reach(HSR, world(), asked, pose, postures[:1])
        found = plan_reach(HSR, world(), replace(asked, gaze_m=CAN.position_m), pose, postures[:1])
        assert isinstance(plain, Reach)
        assert isinstance(found, Reach)
        camera, rotation = hsr.head_camera(found.before)
        apart = CAN.position_m - camera
        assert -rotation[:, 2] @ apart / np.linalg.norm(apart) > np.cos(np.radians(3.0))
        np.testing.assert_array_equal(np.delete(found.before, [8, 9]), np.delete(plain.before, [8, 9]))
        np.testing.assert_array_equal(found.way.end, found.before)
        np.testing.assert_array_equal(plain.before[8:10], HSR.home[8:10])

    def test_a_pose_out_of_reach_says_which_joint_is_too_short(self) -> None:
        high = replace(POSES[0], position_m=POSES[0].position_m + 2 * UP)
        ((pose, postures),) = order(HSR, (high,), HSR.home)
        found = plan(pose, postures)
        assert isinstance(found, Refusal)
        assert found.check == "no posture reaches it"
        assert [each.name for each in found.evidence] == ["arm_lift"]
        assert not found.evidence[0].passed


class TestFirstReach:
    def test_it_is_the_first_with_a_plan_and_those_before_it_say_why_not(self) -> None:
        pose, postures = order(HSR, POSES, HSR.home)[0]
        none = np.zeros((0, postures.shape[1]))
        tries = [("none", query_for(pose), pose, none), ("one", query_for(pose), pose, postures)]
        found, refused = first_reach(HSR, world(), lambda: [*tries, ("two", *tries[1][1:])])
        assert found is not None
        assert found[0] == "one"
        assert [each.check for each in refused] == ["no posture reaches it"]

    def test_with_no_plan_each_try_is_refused_once(self) -> None:
        pose, postures = order(HSR, POSES, HSR.home)[0]
        roof = query_for(pose, thing("roof", (1.15, 0.0, 0.88), (0.1, 0.1, 0.01)))
        found, refused = first_reach(HSR, world(), lambda: [(0, roof, pose, postures[:1])])
        assert found is None
        assert ["would meet roof" in each.check for each in refused] == [True]


class TestInTheWay:
    def found(self, *more: Belief) -> str:
        """What is said of a plan that was made before any of these was known."""
        reach = first()
        assert isinstance(reach, Reach)
        return in_the_way(world(), query_for(reach.pose, *more), reach)

    def test_a_plan_is_free_of_what_it_was_made_among(self) -> None:
        assert self.found() == ""

    def test_what_stands_in_its_straight_ways_is_named(self) -> None:
        reach = first()
        assert isinstance(reach, Reach)
        x, y, _ = (CAN.position_m - 0.09 * reach.pose.rotation[:, 0]).tolist()
        assert self.found(thing("post", (x, y, 0.8), (0.01, 0.01, 0.08))).endswith("would meet post")
        assert self.found(thing("roof", (1.15, 0.0, 0.88), (0.1, 0.1, 0.01))).endswith("would meet roof")

    def test_what_stands_elsewhere_is_not(self) -> None:
        assert self.found(thing("post", (1.4, 0.3, 0.8), (0.01, 0.01, 0.08))) == ""

    def test_what_stands_between_the_start_and_where_the_straight_way_in_begins_is_named(self) -> None:
        reach = first()
        assert isinstance(reach, Reach)
        aside = reach.before.copy()
        aside[:2] += 0.2 * np.array([-reach.pose.rotation[1, 0], reach.pose.rotation[0, 0]])
        (x, y, z), _ = hsr.forward((aside + reach.before) / 2)
        post = thing("post", (float(x), float(y), float(z)), (0.005, 0.005, 0.05))
        for start, said in ((aside, True), (reach.before, False)):
            asked = replace(query_for(reach.pose, post), start=start)
            assert in_the_way(world(), asked, reach).endswith("would meet post") == said


class TestRoom:
    """How near straight ways come to a post; the base, a drum of 0.215 m, comes along."""

    def reason(self, where: str, gap_m: float, *, leaving: str = "", clearance_m: float = ROOM_CLEARANCE_M) -> str:
        """With a post so far ahead of the drum, behind it, or beside half of its way."""
        pose, postures = order(HSR, POSES, HSR.home)[0]
        at = HSR.home.copy()
        at[:8] = postures[0]
        ahead = pose.rotation[:, 0]
        aside = {"ahead": ahead, "behind": -ahead, "beside": np.cross(UP, ahead)}[where]
        x, y, _ = (
            at[:3] * [1, 1, 0] + (0.215 + gap_m + 0.02) * aside + (0.05 * ahead if where == "beside" else 0)
        ).tolist()
        post = thing("post", (x, y, 0.09), (0.02, 0.02, 0.05), "cylinder")
        other = thing("other", (9.0, y, 0.09), (0.02, 0.02, 0.05), "cylinder")
        left = tuple(each for each in (post, other) if each.name == leaving)
        onwards = (Step(way_m=0.1 * ahead, around=Surroundings(solids=(post, other)), leaving=left),)
        nothing = Step(way_m=np.zeros(3), around=Surroundings(solids=()))
        asked = replace(query(), inwards=nothing, onwards=onwards, clearance_m=clearance_m)
        return in_the_way(world(), asked, Reach(pose=pose, at=at, before=at, way=straight_path(HSR, at, 0.01 * UP)))

    def test_straight_ways_keep_as_much_clear_as_is_asked_for(self) -> None:
        assert self.reason("beside", 0.010) == ""
        assert self.reason("beside", 0.010, clearance_m=0.015) == "base_bumper would meet post"
        assert self.reason("beside", 0.020, clearance_m=0.015) == ""

    def test_who_is_leaving_may_stay_as_near_as_he_was(self) -> None:
        assert self.reason("behind", 0.003) == "base_bumper would meet post"
        assert self.reason("behind", 0.003, leaving="post") == ""
        assert self.reason("behind", 0.003, leaving="other") == "base_bumper would meet post"

    def test_who_is_leaving_may_not_come_closer(self) -> None:
        assert self.reason("ahead", 0.003, leaving="post") == "base_bumper would meet post"
        assert self.reason("ahead", 0.05, leaving="post") == "base_bumper would meet post"


class TestGo:
    def test_without_a_goal_there_is_no_way(self) -> None:
        nowhere = go(HSR, world(), Surroundings(solids=()), HSR.home, np.zeros((0, 11)), 0)
        assert nowhere == "no posture reaches any goal"

    def test_a_goal_inside_something_is_told_by_its_name(self) -> None:
        goal = HSR.home.copy()
        goal[0] = 1.3
        why = go(HSR, world(), Surroundings(solids=(TOP,)), HSR.home, goal[None], 0)
        assert isinstance(why, str)
        assert "top" in why

    def test_a_goal_behind_something_is_reached_around_it(self) -> None:
        goal = HSR.home.copy()
        goal[0] = 2.2
        path = go(HSR, world(), Surroundings(solids=(TOP,)), HSR.home, goal[None], 3)
        assert isinstance(path, Path)
        assert np.abs(path.positions[:, 1]).max() > 0.4
        world().place((TOP,))
        assert world().first_collision(world().samples(path.positions), clearance_m=0.001) is None

    def test_it_keeps_2_cm_clear_where_it_can(self) -> None:
        goal = HSR.home.copy()
        goal[0] = 2.2
        path = go(HSR, world(), Surroundings(solids=(TOP,)), HSR.home, goal[None], 3)
        assert isinstance(path, Path)
        world().place((TOP,), clearance_m=0.02)
        assert world().first_collision(world().samples(path.positions), clearance_m=0.009) is None

    @pytest.mark.parametrize(("gap_m", "found"), [(0.03, True), (0.012, True), (0.003, False)])
    def test_where_there_is_less_room_it_makes_do_with_less(self, gap_m: float, found: bool) -> None:
        goal = HSR.home.copy()
        goal[1] = -0.6
        # The bumper is a drum of 0.215 m.
        wall = thing("wall", (0.0, -0.6 - 0.215 - gap_m - 0.05, 0.1), (0.5, 0.05, 0.1))
        way = go(HSR, world(), Surroundings(solids=(wall,)), HSR.home, goal[None], 0)
        assert isinstance(way, Path) == found
        if isinstance(way, Path):
            np.testing.assert_allclose(way.end, goal, atol=1e-9)
        else:
            assert "wall" in way

    def test_a_slower_way_takes_longer(self) -> None:
        goal = HSR.home.copy()
        goal[1] = -0.5
        fast, slow = (go(HSR, world(), Surroundings(solids=()), HSR.home, goal[None], 0, speed) for speed in (1.0, 0.5))
        assert isinstance(fast, Path)
        assert isinstance(slow, Path)
        assert slow.duration_s > 1.2 * fast.duration_s


class TestStraightPath:
    def test_the_hand_goes_by_the_way_and_keeps_its_rotation(self) -> None:
        way = np.array([0.05, -0.10, 0.08])
        path = straight_path(HSR, HSR.home, way)
        tools, rotations = hsr.forward(path.positions)
        np.testing.assert_allclose(tools[-1] - tools[0], way, atol=1e-9)
        np.testing.assert_allclose(rotations, np.broadcast_to(rotations[0], rotations.shape), atol=1e-9)
        along = (tools - tools[0]) @ way / np.linalg.norm(way)
        np.testing.assert_allclose(tools - tools[0], along[:, None] * way / np.linalg.norm(way), atol=1e-6)
        assert not check_path(path, HSR)

    def test_what_the_lift_cannot_do_is_left_out(self) -> None:
        path = straight_path(HSR, HSR.home, np.array([0.1, 0.0, 1.0]))
        assert path.end[3] == HSR.limits.upper[3]
        assert path.end[0] == pytest.approx(0.1)


def test_what_is_held_is_where_it_was_when_the_hand_closed() -> None:
    tool, rotation = hsr.forward(HSR.home)
    held = HeldObject.of(CAN, Pose(position_m=tool, rotation=rotation))
    np.testing.assert_allclose(tool + rotation @ held.X_HO.position_m, CAN.position_m, atol=1e-12)
    np.testing.assert_allclose(rotation @ held.X_HO.rotation, CAN.rotation, atol=1e-12)
    assert held.shape == "cylinder"
