"""Taking an object and putting it down: planned whole, straight down, and lifted over what it is put on."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from graspline.grasping.candidates import JawParameters
from graspline.grasping.cartesian_lines import ReachParameters
from graspline.kinematics.so101 import STRAIGHT_DOWN_RAD
from graspline.motion.path import at_rest
from graspline.perception.core.beliefs import Belief
from graspline.placement.parameters import PlaceParameters
from graspline.placement.query import Support
from graspline.placement.transfer import Transfer, TransferQuery, plan_transfer
from graspline.planning.collision import CollisionWorld
from graspline.refusal import Refusal
from graspline.robots.so101 import SO101
from graspline.scenes.table import Box, table_with
from graspline.tasks.scatter import lying_at

WORLD = CollisionWorld(table_with(Box(name="red", rgb=(1, 0, 0)), Box(name="blue", rgb=(0, 0, 1))))
BLUE = lying_at("blue", 0.2, -0.1, np.full(3, 0.018), "box")


def asked(red: Belief, support: Support, *others: Belief) -> TransferQuery:
    return TransferQuery(
        world=WORLD,
        estimate=red,
        start=at_rest(SO101.home),
        support=support,
        others=others,
        jaw=JawParameters(),
        reach=ReachParameters(lift_m=0.03),
        put=PlaceParameters(),
    )


def red(x_m: float = 0.2, y_m: float = 0.1, z_m: float = 0.015) -> Belief:
    there = lying_at("red", x_m, y_m, np.full(3, 0.015), "box")
    return replace(there, position_m=np.array([x_m, y_m, z_m]))


def planned(query: TransferQuery) -> Transfer:
    found = plan_transfer(query)
    assert isinstance(found, Transfer), str(found)
    return found


def test_it_is_lifted_as_high_as_asked_on_the_table_and_over_what_it_is_put_on_else() -> None:
    assert planned(asked(red(), Support(x_m=0.2, y_m=0.0))).plan.lift_m == 0.03
    top = Support(x_m=0.2, y_m=-0.1, z_m=0.036, name="blue")
    assert planned(asked(red(), top, BLUE)).plan.lift_m > 0.036 + PlaceParameters().clearance_m


def test_what_lies_on_another_already_is_lifted_less() -> None:
    top = Support(x_m=0.2, y_m=-0.1, z_m=0.036, name="blue")
    found = planned(asked(red(0.2, -0.093, 0.051), top, BLUE))
    assert found.plan.lift_m == pytest.approx(0.01)


def test_the_hand_points_straight_down() -> None:
    found = planned(asked(red(), Support(x_m=0.2, y_m=0.0)))
    assert found.plan.pitch_rad == found.plan.top_pitch_rad == STRAIGHT_DOWN_RAD


def test_a_place_out_of_reach_refuses_the_whole() -> None:
    found = plan_transfer(asked(red(), Support(x_m=0.42, y_m=0.0)))
    assert isinstance(found, Refusal)
    assert (found.stage, found.check) == ("lower", "reach")


def test_grasps_that_were_tried_come_last() -> None:
    query = asked(red(), Support(x_m=0.2, y_m=0.0))
    first = planned(query).plan.grasp.label
    assert planned(replace(query, tried=(first,))).plan.grasp.label != first
