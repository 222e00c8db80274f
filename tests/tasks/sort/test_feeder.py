"""The feeder: blocks sent by what the belt has travelled, taken away when they have left, and accounted for."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from graspline.engine.actors import Account, LaneView
from graspline.engine.cpu import CpuEngine
from graspline.engine.events import Change, Event, Place
from graspline.evidence import at_least
from graspline.robots.robot import with_arm_limits
from graspline.robots.ur5e import UR5E
from graspline.scenes.belt_line import (
    BELT,
    BELT_X_M,
    OUTPUT_END_M,
    OUTPUTS,
    PooledBlock,
    belt_line,
    block_name,
    line_start,
    line_variation,
    parked_m,
    speed_of,
)
from graspline.scenes.variation import weight_of
from graspline.tasks.sort.feeder import GONE_M, SENT_M, Feeder, Made, delivered, gap_m, place_across
from graspline.tasks.sort.parameters import BeltParameters

SCENE = belt_line(with_arm_limits(UR5E, 3.0, 15.0, 600.0), 6)
SIZE_M = (0.04, 0.04, 0.04)


class Line:
    """A line on which nothing moves by itself: blocks are where they are put."""

    def __init__(self, belt: BeltParameters, *, lying: int = 0, seed: int = 1) -> None:
        blocks = {name: PooledBlock(size_m=SIZE_M, rgb=(1.0, 0.0, 0.0)) for name in SCENE.object_names}
        self.engine = CpuEngine(SCENE, 1, 1)
        variation = line_variation(blocks, belt_m_s=belt.speed_m_s, output_m_s=0.05, material="lit", described={})
        self.engine.reset(0, line_start(SCENE, blocks), variation)
        pool = {
            name: Made(number=number, colour="red", size_m=SIZE_M) for number, name in enumerate(SCENE.object_names)
        }
        first = tuple(block_name(number) for number in range(lying))
        for number, name in enumerate(first):
            self.put(name, BELT_X_M, 0.3 + 0.2 * number)
        self.feeder = Feeder(
            belt=belt, scene=SCENE, pool=pool, first=first, random=np.random.default_rng(seed), next_m=0.0
        )
        self.time_s = 0.0

    def world(self) -> LaneView:
        return LaneView(engine=self.engine, lane=0, time_s=self.time_s)

    def put(self, name: str, x: float, y: float, z: float = 0.02) -> None:
        self.engine.apply(0, Place(body=name, position_m=(x, y, z)))

    def run_at(self, speed_m_s: float) -> None:
        self.engine.apply(0, Change(edits=(speed_of(BELT, speed_m_s),)))

    def act(self, after_s: float = 0.0) -> Sequence[Event]:
        self.time_s += after_s
        events = self.feeder.act(self.world())
        for event in events:
            self.engine.apply(0, event)
        return events

    def sent(self, after_s: float = 0.0) -> list[Place]:
        """Blocks that are put on the belt."""
        return [each for each in self.act(after_s) if isinstance(each, Place) and each.position_m[0] > -2]

    def accounts(self) -> tuple[Account, ...]:
        return self.feeder.accounts(self.world())


# Gaps


def test_even_gaps_have_their_mean_and_differ_by_no_more_than_the_jitter() -> None:
    belt = BeltParameters(density_per_m=4.0, jitter=0.2)
    gaps = np.array([gap_m(belt, np.random.default_rng(seed)) for seed in range(400)])
    assert gaps.min() >= 0.25 * 0.8
    assert gaps.max() <= 0.25 * 1.2
    assert gaps.mean() == pytest.approx(0.25, rel=0.02)
    assert np.ptp(gaps) > 0.08


def test_random_gaps_have_their_mean_and_are_never_less_than_the_least() -> None:
    belt = BeltParameters(density_per_m=4.0, spacing="random", least_gap_m=0.08)
    random = np.random.default_rng(0)
    gaps = np.array([gap_m(belt, random) for _ in range(3000)])
    assert gaps.min() >= 0.08
    assert gaps.mean() == pytest.approx(0.25, rel=0.05)
    # As often less than 0.7 of the mean part as an exponential is.
    assert np.mean(gaps < 0.08 + 0.17 * np.log(2)) == pytest.approx(0.5, abs=0.03)


def test_a_belt_denser_than_the_least_gap_has_just_that() -> None:
    belt = BeltParameters(density_per_m=14.0, spacing="random", least_gap_m=0.08)
    assert gap_m(belt, np.random.default_rng(0)) == 0.08


def test_blocks_lie_across_the_belt_in_any_heading() -> None:
    random = np.random.default_rng(0)
    x, yaw = np.array([place_across(BeltParameters(lateral_m=0.05), random) for _ in range(500)]).T
    assert np.abs(x - BELT_X_M).max() <= 0.05
    assert np.ptp(x) > 0.09
    assert yaw.min() < -3.0
    assert yaw.max() > 3.0


# Sending


@pytest.mark.parametrize("spacing", ["even", "random"])
@pytest.mark.parametrize("speed", [0.05, 0.3])
def test_blocks_lie_on_the_belt_at_the_gaps_that_were_drawn(spacing: str, speed: float) -> None:
    belt = BeltParameters.model_validate({"density_per_m": 4.0, "spacing": spacing, "speed_m_s": speed})
    line = Line(belt, seed=5)
    # Where each would be had the belt never moved: the feeder acts now and then, gaps do not show it.
    origins = []
    while len(origins) < 6:
        for place in line.sent(0.05):
            assert place.velocity_m_s == (0.0, -speed, 0.0)
            assert place.position_m[2] == SIZE_M[2] / 2
            assert SENT_M - speed * 0.05 - 1e-9 <= place.position_m[1] <= SENT_M
            origins.append(place.position_m[1] + speed * line.time_s)
    random = np.random.default_rng(5)
    drawn = []
    for _ in range(6):
        place_across(belt, random)
        drawn.append(gap_m(belt, random))
    assert np.diff(origins) == pytest.approx(drawn[:5])
    assert line.feeder.period_s == 0.05


def test_a_block_is_given_its_weight_before_it_appears() -> None:
    line = Line(BeltParameters())
    weight, place = line.act()
    assert weight == Change(edits=(weight_of("block_1", weightless=False),))
    assert isinstance(place, Place)
    assert place.body == "block_1"


def test_no_more_blocks_are_sent_than_were_ordered() -> None:
    line = Line(BeltParameters(blocks=3, density_per_m=10.0, speed_m_s=0.4), lying=1)
    assert sum(len(line.sent(0.25)) for _ in range(20)) == 2
    assert len(line.accounts()) == 3


def test_while_all_bodies_are_under_way_the_next_block_waits() -> None:
    line = Line(BeltParameters(density_per_m=10.0, jitter=0.0, speed_m_s=0.1))
    assert sum(len(line.sent(0.5)) for _ in range(20)) == 6
    assert line.sent(1.0) == []
    line.put("block_3", BELT_X_M, GONE_M - 0.001)
    assert [each.body for each in line.sent(0.05)] == ["block_3"]


def test_bodies_are_sent_again_and_each_sending_has_its_account() -> None:
    line = Line(BeltParameters(blocks=20, density_per_m=1.0, jitter=0.0, speed_m_s=0.2))
    names = []
    for turn in range(10):
        for place in line.sent(5.01 if turn else 0.0):
            names.append(place.body)
            line.put(place.body, BELT_X_M, GONE_M - 0.01)
    assert names[:8] == ["block_1", "block_2", "block_3", "block_4", "block_5", "block_6", "block_1", "block_2"]
    accounts = line.accounts()
    assert [each.name for each in accounts] == names
    assert [each.sent_s for each in accounts] == pytest.approx([5.01 * turn for turn in range(10)])
    assert all(each.left_s == pytest.approx(each.sent_s + 5.01) for each in accounts[:-1])


def test_a_belt_that_stands_still_sends_nothing() -> None:
    line = Line(BeltParameters(density_per_m=4.0))
    assert len(line.sent()) == 1
    line.run_at(0.0)
    assert not any(line.sent(10.0) for _ in range(5))
    line.run_at(0.1)
    assert len(line.sent(3.0)) == 1


def test_a_belt_that_runs_back_must_come_forward_again_before_it_sends() -> None:
    line = Line(BeltParameters(density_per_m=4.0, jitter=0.0, speed_m_s=0.1))
    assert len(line.sent()) == 1
    line.run_at(-0.1)
    assert line.sent(2.0) == []
    line.run_at(0.1)
    # 0.2 m back, 0.25 m to the next.
    assert line.sent(4.4) == []
    assert len(line.sent(0.2)) == 1


# Accounts


@pytest.mark.parametrize(
    ("at_m", "where"),
    [
        ((BELT_X_M, 0.1, 0.02), "on_belt"),
        ((BELT_X_M, SENT_M, 0.02), "on_belt"),
        ((0.4, 0.0, 0.1), "held"),
        ((0.26, OUTPUTS["bin_green"], 0.15), "held"),
        ((0.26, OUTPUTS["bin_green"], 0.02), "bin_green"),
        ((0.0, OUTPUTS["bin_red"] + 0.08, 0.02), "bin_red"),
    ],
)
def test_a_block_under_way_is_accounted_for_where_it_is(at_m: tuple[float, float, float], where: str) -> None:
    line = Line(BeltParameters(blocks=1), lying=1)
    line.put("block_1", *at_m)
    assert line.act(1.0) == []
    (account,) = line.accounts()
    assert account.where == where
    assert np.isnan(account.left_s)
    assert (account.name, account.colour, account.size_m, account.sent_s) == ("block_1", "red", SIZE_M, 0.0)


@pytest.mark.parametrize(
    ("at_m", "where"),
    [
        ((BELT_X_M, GONE_M - 0.001, 0.02), "missed"),
        ((BELT_X_M, 1.31, 0.02), "missed"),
        ((0.8, 0.0, -0.05), "fallen"),
        ((3.0, 0.0, 0.0), "removed"),
        ((0.5, -2.5, 0.02), "removed"),
        *[((OUTPUT_END_M + 0.03, y, 0.02), name) for name, y in OUTPUTS.items()],
    ],
)
def test_a_block_that_has_left_is_taken_away_and_accounted_for(at_m: tuple[float, float, float], where: str) -> None:
    line = Line(BeltParameters(blocks=1), lying=1)
    line.put("block_1", *at_m)
    # Whoever asks before the feeder acts is told as much.
    assert [each.where for each in line.accounts()] == [where]
    weight, place = line.act(1.0)
    assert weight == Change(edits=(weight_of("block_1", weightless=True),))
    assert place == Place(body="block_1", position_m=parked_m(0))
    (account,) = line.accounts()
    assert (account.where, account.left_s) == (where, 1.0)
    # That is final.
    line.put("block_1", BELT_X_M, 0.0)
    assert line.act(1.0) == []
    assert line.accounts() == (account,)


def test_the_same_books_come_from_events_alone() -> None:
    belt = BeltParameters(blocks=12, density_per_m=3.0, speed_m_s=0.2)
    line, log = Line(belt, lying=2), Line(belt, lying=2)
    for turn in range(24):
        for number in range(6):
            x, _, z = line.world().position_m(block_name(number))
            if x > -2 and turn % 3 == number % 3:
                line.put(block_name(number), *((0.2, OUTPUTS["bin_red"]) if turn % 2 else (x, GONE_M - 0.01)), z)
        before = line.world()
        where = {name: before.position_m(name) for name in SCENE.object_names}
        for event in line.act(0.5):
            log.feeder.note(event, line.time_s, where.__getitem__)
    assert len(line.accounts()) > 8
    assert [repr(each) for each in log.feeder.accounts(line.world())] == [repr(each) for each in line.accounts()]


def test_accounts_stand_in_the_order_of_sending() -> None:
    line = Line(BeltParameters(density_per_m=5.0, speed_m_s=0.2), lying=2)
    for _ in range(3):
        line.act(1.0)
    times = [each.sent_s for each in line.accounts()]
    assert len(times) > 3
    assert all(one <= two for one, two in pairwise(times))


# What became of the blocks of an episode


def truth(*wheres: tuple[str, str]) -> dict[str, Any]:
    return {"sent": [{"colour": colour, "where": where} for colour, where in wheres]}


def test_a_block_is_right_only_in_the_bin_of_its_colour() -> None:
    found = delivered(truth(("red", "bin_red"), ("red", "bin_blue"), ("blue", "missed")), ())
    assert (found.sent, found.right, found.wrong) == (3, 1, 1)


def test_what_the_task_reports_is_taken_from_its_evidence() -> None:
    evidence = (at_least("sorted", 2, 0), at_least("missed_late", 1, 0), at_least("picks_per_min", 20.0, 0))
    found = delivered(truth(("red", "bin_red")), evidence)
    assert (found.claimed, found.missed, found.picks_per_min) == (2, {"late": 1}, 20.0)


def test_an_episode_that_ended_early_reports_nothing() -> None:
    found = delivered(truth(), ())
    assert (found.sent, found.claimed, found.missed, found.picks_per_min) == (0, 0, {}, None)
