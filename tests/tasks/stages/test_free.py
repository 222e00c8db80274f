"""Which part of a motion leads through free space."""

from __future__ import annotations

import numpy as np

from graspline.grasping.cartesian_lines import ReachParameters
from graspline.grasping.topdown import GraspPlan
from graspline.kinematics.so101 import forward
from graspline.motion.path import Command, Path, at_rest
from graspline.perception.core.beliefs import Belief
from graspline.planning.collision import CollisionWorld
from graspline.robots.so101 import SO101, TIP_M
from graspline.tasks.stages.free import HELD_CLEAR_M, above_end, above_start, over_object, towards

SPEED = ReachParameters().travel_speed


def heights_m(path: Path) -> np.ndarray:
    return forward(path.positions, np.array([TIP_M, 0.0, 0.0]))[0][:, 2]


def test_a_way_to_above_an_object_is_free_to_its_end_and_can_be_planned_again(
    world: CollisionWorld, grasp_plan: GraspPlan, estimate: Belief
) -> None:
    free = towards(SO101, world, grasp_plan.approach, estimate, (), SPEED)
    assert (free.since, free.until) == (0, None)
    assert free.again is not None
    path = free.again(at_rest(grasp_plan.approach.positions[20] + 0.02))
    assert path is not None
    np.testing.assert_array_equal(path.end, grasp_plan.approach.end)


def test_a_way_that_would_touch_something_is_not_planned_again(
    world: CollisionWorld, grasp_plan: GraspPlan, estimate: Belief
) -> None:
    free = towards(SO101, world, grasp_plan.approach, estimate, (), SPEED)
    assert free.again is not None
    in_table = grasp_plan.approach.end.copy()
    in_table[1] += 0.6
    start = Command(position=in_table, velocity=np.zeros(6), acceleration=np.zeros(6))
    assert free.again(start) is None


def test_on_the_way_down_the_fingertips_are_back_above_the_top(grasp_plan: GraspPlan, estimate: Belief) -> None:
    free, top_m = over_object(SO101, grasp_plan.descend, estimate), estimate.position_m[2] + estimate.half_extents_m[2]
    assert free.until is not None
    assert 5 < free.until < grasp_plan.descend.ticks
    assert heights_m(grasp_plan.descend)[free.until] > top_m
    assert free.again is None


def test_what_is_in_the_hand_is_free_high_enough_above_where_it_is_taken_and_put(grasp_plan: GraspPlan) -> None:
    up, down = grasp_plan.lift, grasp_plan.descend
    since, until = above_start(SO101, up).since, above_end(SO101, down).until
    assert heights_m(up)[since] - heights_m(up)[0] >= HELD_CLEAR_M
    assert heights_m(up)[since - 1] - heights_m(up)[0] < HELD_CLEAR_M
    assert until is not None
    assert heights_m(down)[until] - heights_m(down)[-1] >= HELD_CLEAR_M
