"""`grab` as an environment: an order in words, and a thing that must have been picked up."""

from __future__ import annotations

import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import graspline.envs  # noqa: F401  (registers)
from graspline.envs.environment import TaskEnv
from graspline.envs.interface import interface_of
from graspline.envs.recorded_actions import RecordedActions, reproduce
from graspline.episodes.run import run_scenarios
from graspline.episodes.scenario import Scenario
from graspline.parameters import load
from graspline.tasks.grab.parameters import Grab
from graspline.tasks.grab.task import GRAB

from .playing import recorded_actions

BACK = {"order.place": "back", "things.count": (1, 1)}


def test_the_checker_of_gymnasium_has_nothing_to_say() -> None:
    env = gymnasium.make("graspline/Grab-v0", cameras="front:32x24,wrist:16x16", renderer="rays").unwrapped
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", ".*symmetric and normalized space.*")
        check_env(env)


def test_the_order_is_told_in_words_and_the_scene_is_that_of_run() -> None:
    env = TaskEnv("grab", cameras="none")
    scenario = Scenario(task=GRAB, parameters=Grab(), seed=5)
    draw = scenario.sample()
    _, info = env.reset(seed=5)
    assert info["task"] == env.task_description == GRAB.instruct(Grab(), draw, {}).sentence
    np.testing.assert_array_equal(env._engine.qpos[0], draw.start)


def test_a_thing_that_lies_where_it_is_to_be_put_back_has_not_been_picked_up() -> None:
    env = TaskEnv("grab", cameras="none", parameters=BACK)
    observation, _ = env.reset(seed=5)
    home = observation["agent_pos"]
    assert not any(env.step(home)[4]["is_success"] for _ in range(20))


@pytest.mark.slow
def test_recorded_actions_pick_it_up_and_put_it_back_again() -> None:
    parameters = load(Grab, {"order": {"place": "back"}, "things": {"count": [1, 1]}})
    scenario = Scenario(task=GRAB, parameters=parameters, seed=5)
    (episode,) = run_scenarios([scenario])
    assert episode.succeeded
    seen = interface_of(GRAB.scene(parameters), fps=30, cameras="none", units="degrees")
    actions = recorded_actions(episode.log, seen)
    (again,) = reproduce([RecordedActions(scenario=scenario, actions=actions)], seen)
    assert again.succeeded
    assert "picked_up" in [each.name for each in again.evidence]
    env = TaskEnv("grab", cameras="none", parameters=BACK)
    env.reset(seed=5)
    # The goal may be met in its last frames only, and is held for longer.
    over = next(step for step in map(env.step, [*actions, *[actions[-1]] * 30]) if step[2])
    assert over[4]["is_success"]
