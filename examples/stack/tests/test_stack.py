"""`stack`: cubes are stacked, drops are made good, and the machine never claims what is not so."""

from __future__ import annotations

import numpy as np
import pytest
from graspline_stack.task import BLUE, RED, STACK, Stack

from graspline import Episode, Scenario, run_scenarios


def episodes(seeds: range, *faults: str) -> list[Episode]:
    scenarios = [Scenario(task=STACK, parameters=Stack(), seed=seed, faults=faults) for seed in seeds]
    return sorted(run_scenarios(scenarios, lanes=8), key=lambda each: each.scenario.seed)


def test_the_red_cube_ends_on_the_blue_one() -> None:
    for episode in episodes(range(8)):
        assert episode.verdict == "success"
        assert episode.succeeded
        assert not episode.false_success


def test_the_same_seed_gives_the_same_bits() -> None:
    first, second = (episodes(range(20, 22)) for _ in range(2))
    assert [each.state_hash for each in first] == [each.state_hash for each in second]


@pytest.mark.parametrize("fault", ["drop@lift", "drop@carry+0.4", "drop@lower"])
def test_a_cube_that_is_dropped_is_stacked_after_all(fault: str) -> None:
    played = episodes(range(40, 44), fault)
    assert all(each.strikes for each in played)
    assert all(each.succeeded for each in played)


def test_cubes_are_drawn_apart_and_in_reach() -> None:
    for seed in range(5):
        sampled = Scenario(task=STACK, parameters=Stack(), seed=seed).sample()
        scene = STACK.scene(Stack())
        red, blue = (sampled.start[scene.joint_address(box.name) :][:2] for box in (RED, BLUE))
        assert np.hypot(*(red - blue)) > Stack().cubes.apart_m
