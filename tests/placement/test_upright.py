"""Putting something down: a way that is checked whole, ends where asked, and keeps clear of what stands around."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from grasping.things import asked, thing, world
from graspline.evidence import passes
from graspline.grasping.commanded_grasp import attempt
from graspline.grasping.commanded_grasp_values import GrabPlan
from graspline.kinematics.so101 import forward
from graspline.motion.path import at_rest, check_path
from graspline.perception.core.beliefs import Belief
from graspline.perception.core.held import HeldObject
from graspline.placement.carry import plan_carry
from graspline.placement.parameters import PlaceParameters
from graspline.placement.query import CarryPlan, CarryQuery, Support
from graspline.placement.resting import resting_evidence
from graspline.refusal import Refusal
from graspline.robots.so101 import FIXED_TIP_M, SO101
from graspline.spatial.poses import Pose

Array = NDArray[np.float64]


def carrying(*others: Belief) -> CarryQuery:
    """A red block raised by four centimetres in front of the arm."""
    plan = attempt(asked(thing("red_2x2"), approach_height_m=0.04))
    assert isinstance(plan, GrabPlan)
    start = plan.stages[0].joints_rad.copy()
    start[5] = plan.grasp.touch_rad
    held = HeldObject(
        name="red_2x2",
        shape="cylinder",
        half_extents_m=np.array([0.0227, 0.0227, 0.012]),
        X_HO=Pose(position_m=np.add(FIXED_TIP_M, (0.0, 0.0, 0.016)), rotation=np.eye(3)),
        jaw_rad=plan.grasp.touch_rad,
        open_rad=plan.grasp.open_rad,
        branch=plan.branch,
    )
    return CarryQuery(
        world=world(),
        held=held,
        start=at_rest(start),
        obstacles=others,
        settings=PlaceParameters().whole(),
        margin_rad=asked(thing()).reach.joint_margin_rad / 2,
    )


def top_of(thing: Belief) -> Support:
    x, y, z = (float(each) for each in thing.position_m)
    return Support(x_m=x, y_m=y, z_m=z + thing.half_height_m, name=thing.name)


def put(query: CarryQuery, support: Support | tuple[float, float]) -> CarryPlan | Refusal:
    return plan_carry(query, [support if isinstance(support, Support) else Support(x_m=support[0], y_m=support[1])])


def held_at(query: CarryQuery, joints: Array) -> Array:
    return forward(joints[None], np.array(query.held.centre_m))[0][0]


def planned(query: CarryQuery, support: Support | tuple[float, float]) -> CarryPlan:
    found = put(query, support)
    assert isinstance(found, CarryPlan), str(found)
    return found


@pytest.mark.parametrize("spot", [(0.24, 0.0), (0.20, 0.12), (0.12, -0.17)])
def test_it_stands_at_its_spot_when_the_jaws_open(spot: tuple[float, float]) -> None:
    query = carrying()
    way = planned(query, spot)
    assert held_at(query, way.lower.end) == pytest.approx([*spot, 0.012 + query.settings.gap_m], abs=1e-4)


def test_every_part_starts_where_the_last_one_ended_and_keeps_limits() -> None:
    query = carrying()
    way, at = planned(query, (0.2, 0.12)), query.start.position
    for path in (*(path for _, path in way.across), way.lower, way.open, way.withdraw):
        assert path.positions[0] == pytest.approx(at, abs=1e-6)
        assert check_path(path, SO101) is None
        at = path.end


def test_it_is_carried_level_and_the_hand_rises_in_the_end() -> None:
    query = carrying()
    way = planned(query, (0.12, -0.17))
    assert way.transport is not None
    heights = np.array([held_at(query, row)[2] for row in way.transport.positions])
    assert np.ptp(heights) < 1e-6
    assert held_at(query, way.withdraw.end)[2] > held_at(query, way.lower.end)[2] + 0.02


def test_on_another_thing_it_stands_as_high_as_that_is() -> None:
    below = thing("blue_2x4", 0.2, 0.12)
    query = carrying(below)
    way = planned(query, top_of(below))
    assert held_at(query, way.lower.end) == pytest.approx([0.2, 0.12, 0.024 + 0.012 + query.settings.gap_m], abs=1e-4)


def test_what_is_not_lifted_over_its_support_is_refused() -> None:
    below = replace(thing("white_can", 0.2, 0.12), half_extents_m=np.array([0.018, 0.018, 0.020]))
    below = replace(below, position_m=np.array([0.2, 0.12, 0.020]))
    found = put(carrying(below), top_of(below))
    assert isinstance(found, Refusal)
    assert (found.check, found.evidence[0].name) == ("collision", "held_to_white_can")


def test_a_spot_out_of_reach_is_refused() -> None:
    found = put(carrying(), (0.42, 0.0))
    assert isinstance(found, Refusal)
    assert (found.stage, found.check) == ("lower", "reach")


def test_a_spot_that_is_taken_is_refused() -> None:
    found = put(carrying(thing("blue_2x4", 0.2, 0.13)), (0.2, 0.12))
    assert isinstance(found, Refusal)
    assert found.check == "collision"


def test_something_tall_on_the_way_is_refused_and_something_low_is_passed_over() -> None:
    tall = replace(thing("white_can", 0.235, 0.08), half_extents_m=np.array([0.018, 0.018, 0.045]))
    tall = replace(tall, position_m=np.array([0.235, 0.08, 0.045]))
    assert isinstance(put(carrying(tall), (0.17, 0.17)), Refusal)
    planned(carrying(thing("yellow_1x4", 0.235, 0.08)), (0.17, 0.17))


@pytest.mark.parametrize(
    ("position", "up", "speed", "rests"),
    [
        ((0.2, 0.1, 0.012), 1.0, 0.0, True),
        ((0.2, 0.12, 0.012), 1.0, 0.0, False),
        ((0.2, 0.1, 0.02), 1.0, 0.0, False),
        ((0.2, 0.1, 0.012), 0.9, 0.0, False),
        ((0.2, 0.1, 0.012), -1.0, 0.0, True),
        ((0.2, 0.1, 0.012), 1.0, 0.1, False),
        ((np.nan, 0.1, 0.012), 1.0, 0.0, False),
    ],
)
def test_resting_is_at_the_spot_on_the_table_upright_and_still(
    position: tuple[float, float, float], up: float, speed: float, rests: bool
) -> None:
    limits = (0.015, 0.004, 0.1, 0.02)
    assert passes(resting_evidence(np.array(position), up, speed, Support(x_m=0.2, y_m=0.1), 0.012, limits)) is rests


def test_resting_on_another_thing_is_measured_from_its_top() -> None:
    support = Support(x_m=0.2, y_m=0.1, z_m=0.03, name="blue_2x4")
    limits = (0.015, 0.004, 0.1, 0.02)
    evidence = resting_evidence(np.array([0.2, 0.1, 0.042]), 1.0, 0.0, support, 0.012, limits)
    assert passes(evidence)
    assert [each.name for each in evidence] == ["off_spot", "off_support", "lean", "speed"]
    assert not passes(resting_evidence(np.array([0.2, 0.1, 0.012]), 1.0, 0.0, support, 0.012, limits))
