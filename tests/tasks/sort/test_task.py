"""The whole of `sort`, from pictures to bins."""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from graspline.engine.actors import Account
from graspline.episodes.episode import Episode
from graspline.episodes.run import run_scenarios
from graspline.episodes.scenario import Scenario
from graspline.evidence import passes
from graspline.parameters import build
from graspline.tasks.sort.belt_beliefs import SeenInBin, SeenInBins
from graspline.tasks.sort.parameters import Sort
from graspline.tasks.sort.task import SORT, check_claim, judge, probe
from graspline.tasks.task import ObjectTruth, Snapshot

SHORT = ("belt.blocks=3", "belt.density_per_m=9")


def settings(*more: str) -> Sort:
    return build(Sort, None, [*SHORT, *more])


def run(*more: str, seeds: tuple[int, ...] = (11,), lanes: int = 1, **how: Any) -> list[Episode]:
    parameters = settings(*more)
    scenarios = [Scenario(task=SORT, parameters=parameters, seed=seed) for seed in seeds]
    return sorted(run_scenarios(scenarios, lanes=lanes, **how), key=lambda each: each.scenario.seed)


@functools.cache
def plain_episode() -> Episode:
    (episode,) = run()
    return episode


def where(episode: Episode) -> list[tuple[str, str]]:
    return [(each["colour"], each["where"]) for each in episode.truth["sent"]]


def snapshot(*wheres: tuple[str, str]) -> Snapshot:
    accounts = tuple(
        Account(name=f"block_{k}", colour=colour, size_m=(0.04, 0.04, 0.04), sent_s=0.0, left_s=1.0, where=place)
        for k, (colour, place) in enumerate(wheres)
    )
    still = ObjectTruth(
        position_m=np.zeros(3),
        start_position_m=np.zeros(3),
        quaternion=np.array([1.0, 0, 0, 0]),
        speed_m_s=0.0,
        half_extents_m=np.full(3, 0.02),
    )
    return Snapshot(
        # In a row along x, 10 cm apart.
        objects={each.name: replace(still, position_m=np.array([k / 10, 0.2, 0])) for k, each in enumerate(accounts)},
        places={},
        tool_m=np.zeros(3),
        tool_quaternion=np.array([1.0, 0, 0, 0]),
        jaw_gap_m=0.0,
        pad_forces_n=(0.0, 0.0),
        joints_rad=np.zeros(7),
        time_s=0.0,
        accounts=accounts,
    )


@pytest.mark.slow
def test_blocks_end_in_the_bin_of_their_colour_and_the_task_knows() -> None:
    episode = plain_episode()
    assert episode.verdict == "success"
    assert all(place == f"bin_{colour}" for colour, place in where(episode))
    told = {each.name: each.value for each in episode.evidence}
    assert (told["blocks"], told["sorted"], told["sorted_wrong"]) == (3, 3, 0)
    assert passes(episode.goal_by_truth)


@pytest.mark.slow
def test_an_episode_has_the_same_bits_in_any_lane() -> None:
    alone = [plain_episode(), *run(seeds=(12,))]
    several = run(seeds=(11, 12), lanes=2)
    assert [each.state_hash for each in several] == [each.state_hash for each in alone]


@pytest.mark.slow
@pytest.mark.parametrize(
    "more",
    [
        ("sight.camera=overhead",),
        ("motion.scaling=cubic",),
        ("order.rule=furthest", "blocks.material=emissive"),
        ("belt.speed_m_s=0.2", "belt.density_per_m=1.5"),
    ],
)
def test_other_ways_to_see_move_and_choose_sort_too(more: tuple[str, ...]) -> None:
    (episode,) = run(*more)
    assert episode.verdict == "success"
    assert all(place == f"bin_{colour}" for colour, place in where(episode))


@pytest.mark.slow
def test_unknown_colours_ride_on_or_are_rejected() -> None:
    (ignored,) = run("blocks.unknown_share=1")
    assert {place for _, place in where(ignored)} <= {"missed", "on_belt"}
    assert {each.name: each.value for each in ignored.evidence}["ignored"] == 3
    (rejected,) = run("blocks.unknown_share=1", "rules.unknown=reject")
    assert {place for _, place in where(rejected)} == {"bin_reject"}
    assert rejected.verdict == "success"


@pytest.mark.slow
def test_a_rule_may_send_two_colours_to_one_bin() -> None:
    (episode,) = run("rules.red=bin_blue", "rules.green=bin_blue")
    assert {place for _, place in where(episode)} == {"bin_blue"}
    assert passes(episode.goal_by_truth)


class TestJudge:
    def test_a_wrong_bin_is_no_success_however_many_are_right(self) -> None:
        truth = snapshot(*[("red", "bin_red")] * 39, ("green", "bin_red"))
        assert not passes(judge(Sort(), None, truth))  # pyright: ignore[reportArgumentType]

    def test_what_was_not_sent_is_not_sorted(self) -> None:
        truth = snapshot(*[("red", "bin_red")] * 20)
        assert not passes(judge(Sort(), None, truth))  # pyright: ignore[reportArgumentType]

    def test_enough_in_the_right_bin_will_do(self) -> None:
        truth = snapshot(*[("red", "bin_red")] * 38, ("green", "missed"), ("blue", "missed"))
        assert passes(judge(Sort(), None, truth))  # pyright: ignore[reportArgumentType]


def seen(*blocks: tuple[str, int, float, float]) -> SeenInBins:
    return SeenInBins(
        blocks=tuple(SeenInBin(colour=colour, number=number, x_m=x, y_m=y) for colour, number, x, y in blocks)
    )


class TestClaims:
    def test_a_block_that_is_not_there_contradicts_the_claim(self) -> None:
        truth = snapshot(("red", "bin_red"), ("red", "on_belt"))
        assert passes(check_claim(Sort(), "sorted", seen(("red", 1, 0.0, 0.2)), truth))
        assert not passes(check_claim(Sort(), "sorted", seen(("red", 2, 0.0, 0.2)), truth))

    def test_another_block_of_the_colour_elsewhere_in_the_bin_does_not_make_it_true(self) -> None:
        truth = snapshot(("red", "bin_red"), ("red", "bin_red"))
        assert not passes(check_claim(Sort(), "sorted", seen(("red", 1, 0.035, 0.265)), truth))

    def test_a_block_that_has_been_sent_again_is_not_in_the_bin_any_more(self) -> None:
        truth = snapshot(("red", "bin_red"), ("red", "on_belt"))
        first, second = truth.accounts
        again = replace(truth, accounts=(first, replace(second, name=first.name)))
        assert not passes(check_claim(Sort(), "sorted", seen(("red", 1, 0.0, 0.2)), again))

    def test_several_blocks_seen_at_once_are_all_held_against_truth(self) -> None:
        truth = snapshot(("red", "bin_red"), ("blue", "bin_blue"))
        assert passes(check_claim(Sort(), "sorted", seen(("red", 1, 0.0, 0.2), ("blue", 1, 0.1, 0.2)), truth))
        assert not passes(check_claim(Sort(), "sorted", seen(("red", 1, 0.0, 0.2), ("blue", 2, 0.1, 0.2)), truth))


def test_most_of_the_belt_beside_the_arm_is_in_reach() -> None:
    random = np.random.default_rng(0)
    found = [probe(Sort(), random) for _ in range(60)]
    near = [each for each in found if abs(each.y_m) < 0.35]
    assert near
    assert all(each.certified for each in near)


def test_the_robot_keeps_the_limits_that_were_asked_for() -> None:
    fast = replace(SORT).scene(settings("motion.acceleration_rad_s2=40", "motion.velocity_rad_s=3.14"))
    assert fast.robot.limits.acceleration[0] == 40
    assert fast.robot.limits.velocity[0] == 3.14
