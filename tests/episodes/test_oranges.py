"""`oranges` from end to end in physics: plates fill, and whatever goes wrong is noticed, named and survived."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest

from graspline.episodes.episode import Episode
from graspline.episodes.scenario import Scenario
from graspline.evidence import passes
from graspline.parameters import build
from graspline.robots.so101 import HOME
from graspline.tasks.oranges.parameters import Oranges
from graspline.tasks.oranges.task import ORANGES, equipped

from .playing import assert_within_limits, run, told


def parameters(*assignments: str) -> Oranges:
    return build(Oranges, assignments=list(assignments))


def play(seeds: Iterable[int], *faults: str, settings: Oranges | None = None, **options: Any) -> dict[int, Episode]:
    chosen = settings or parameters()
    scenarios = [Scenario(task=ORANGES, parameters=chosen, seed=seed, faults=faults) for seed in seeds]
    return run(scenarios, **options)


ONE = parameters("oranges.count=1")


def play_one(seed: int, *faults: str, settings: Oranges = ONE) -> Episode:
    return play([seed], *faults, settings=settings)[seed]


def states_of(episode: Episode) -> list[str]:
    return [each.state for each in episode.transitions]


@pytest.fixture(scope="module")
def six() -> dict[int, Episode]:
    return play(range(6), lanes=4)


def test_three_oranges_are_put_on_the_plate_and_truth_agrees(six: dict[int, Episode]) -> None:
    for episode in six.values():
        assert episode.verdict == "success", episode.scenario.seed
        assert passes(episode.goal_by_truth)
        assert not episode.false_success
        plate = np.array(episode.truth["places"]["plate"]["position_m"])
        for name in ("orange_1", "orange_2", "orange_3"):
            place = np.array(episode.truth["objects"][name]["position_m"])
            assert np.hypot(*(place - plate)[:2]) < 0.105 - 0.018


def test_the_arm_ends_at_home_and_kept_its_limits_all_the_way(six: dict[int, Episode]) -> None:
    for episode in six.values():
        positions, velocities = episode.log.positions, episode.log.velocities
        np.testing.assert_allclose(positions[-1, :5], HOME[:5], atol=1e-6)
        assert_within_limits(positions, velocities)


def test_each_orange_is_placed_once_and_home_is_the_last_stop(six: dict[int, Episode]) -> None:
    for episode in six.values():
        states = states_of(episode)
        assert states[-2:] == ["return_home", "confirm"]
        if not episode.retries:
            assert states.count("withdraw") == 3


def test_the_same_seeds_give_the_same_bits_with_one_lane_and_with_four(six: dict[int, Episode]) -> None:
    alone = play([0, 4], lanes=1, threads=1)
    assert told(alone) == told({seed: six[seed] for seed in alone})


def test_one_orange_that_is_asked_for_is_fetched_and_the_others_are_left() -> None:
    settings = parameters("oranges.count=2", "targets.choose=2")
    episode = play_one(1, settings=settings)
    assert episode.verdict == "success"
    other = episode.truth["objects"]["orange_1"]
    assert np.linalg.norm(np.subtract(other["position_m"], other["start_position_m"])) < 0.01


@pytest.mark.slow
def test_by_camera_three_oranges_are_put_on_the_plate() -> None:
    episode = play_one(2, settings=parameters("perception.source=camera"))
    assert episode.verdict == "success"
    assert passes(episode.goal_by_truth)


def test_by_camera_one_orange_is_put_on_the_plate() -> None:
    episode = play_one(0, settings=parameters("oranges.count=1", "perception.source=camera"))
    assert episode.verdict == "success"
    assert passes(episode.goal_by_truth)


def test_a_full_plate_is_found_to_be_full_and_the_orange_is_set_down() -> None:
    episode = play_one(0, "plate-full@idle", settings=equipped(ONE))
    assert episode.verdict == "plate_full"
    assert states_of(episode)[-1] == "return_home"
    orange = episode.truth["objects"]["orange_1"]
    assert orange["position_m"][2] == pytest.approx(orange["size_m"][2] / 2, abs=2e-3)
    assert not passes(episode.goal_by_truth)


@pytest.mark.parametrize("state", ["approach", "descend"])
def test_an_orange_that_was_taken_away_is_not_found(state: str) -> None:
    episode = play_one(0, f"remove@{state}")
    assert episode.verdict == "target_not_found"
    assert states_of(episode)[-1] == "return_home"
    np.testing.assert_allclose(episode.log.positions[-1, :5], HOME[:5], atol=1e-6)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_an_orange_dropped_on_the_way_is_noticed_at_once_and_fetched_again(seed: int) -> None:
    episode = play_one(seed, "drop@transport+0.2")
    (strike,) = episode.strikes
    assert not strike.missed
    lost = next(each for each in episode.transitions if each.state == "transport")
    assert lost.outcome in ("dropped", "slipped")
    assert lost.t_s - strike.t_s <= 0.15
    assert episode.verdict == "success"
    assert episode.retries >= 1
    assert passes(episode.goal_by_truth)


def test_a_plate_that_is_moved_while_an_orange_is_carried_is_followed() -> None:
    episode = play_one(3, "move-plate@transport")
    assert episode.verdict == "success"
    assert passes(episode.goal_by_truth)


def test_without_a_plate_the_oranges_are_put_where_it_would_be() -> None:
    settings = parameters("plate.present=false", "oranges.count=2")
    episode = play_one(0, settings=settings)
    assert episode.verdict == "success"
    assert episode.truth["places"] == {}
    middle = np.array([settings.plate.virtual_x_m, settings.plate.virtual_y_m])
    for thing in episode.truth["objects"].values():
        assert np.hypot(*(np.array(thing["position_m"])[:2] - middle)) < settings.plate.outer_radius_m


def test_blocks_among_the_oranges_are_left_where_they_are() -> None:
    episode = play_one(0, settings=parameters("oranges.count=2", "oranges.distractors=2"))
    assert episode.verdict == "success"
    for name in ("block_1", "block_2"):
        block = episode.truth["objects"][name]
        assert np.linalg.norm(np.subtract(block["position_m"], block["start_position_m"])) < 0.005


def test_off_round_oranges_are_placed_too() -> None:
    episode = play_one(1, settings=parameters("oranges.count=1", "oranges.off_round=0.04"))
    assert episode.verdict == "success"
    assert passes(episode.goal_by_truth)


def test_noisy_sightings_do_not_make_a_false_success() -> None:
    episodes = play(range(3), settings=parameters("oranges.count=1", "perception.position_sigma_m=0.002"), lanes=3)
    assert not any(each.false_success for each in episodes.values())
    assert sum(each.succeeded for each in episodes.values()) >= 2
