"""`tidy` as an environment: base, head, lift, arm and gripper as position targets, and a person who takes things."""

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
from graspline.robots.hsr import HSR
from graspline.tasks.tidy.parameters import Tidy
from graspline.tasks.tidy.task import TIDY

from .playing import recorded_actions


def test_the_checker_of_gymnasium_has_nothing_to_say() -> None:
    env = gymnasium.make("graspline/Tidy-v0", cameras="head:32x24,hand:16x16", renderer="rays").unwrapped
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", ".*symmetric and normalized space.*")
        check_env(env)


def test_the_base_goes_where_it_is_told_in_its_odometry() -> None:
    env = TaskEnv("tidy", cameras="none", fps=20)
    observation, _ = env.reset(seed=3)
    action = observation["agent_pos"].copy()
    assert HSR.joints[:3] == ("base_x", "base_y", "base_turn")
    action[:3] += (120.0, -60.0, 10.0)
    for _ in range(40):
        observation, *_ = env.step(action)
    np.testing.assert_allclose(observation["agent_pos"][:2], action[:2], atol=1.0)
    assert observation["agent_pos"][2] == pytest.approx(action[2], abs=0.1)


def test_default_cameras_are_those_of_the_robot() -> None:
    env = TaskEnv("tidy")
    assert isinstance(env.observation_space, gymnasium.spaces.Dict)
    pixels = env.observation_space["pixels"]
    assert isinstance(pixels, gymnasium.spaces.Dict)
    assert set(pixels) == {"front", "head", "hand"}
    env.close()


@pytest.mark.slow
def test_recorded_actions_hand_a_can_over_to_the_person_again() -> None:
    parameters = load(Tidy, {"program": "handover"})
    scenario = Scenario(task=TIDY, parameters=parameters, seed=1)
    (episode,) = run_scenarios([scenario])
    assert episode.succeeded
    seen = interface_of(TIDY.scene(parameters), fps=30, cameras="none", units="degrees")
    actions = recorded_actions(episode.log, seen)
    (again,) = reproduce([RecordedActions(scenario=scenario, actions=actions)], seen)
    assert again.succeeded
    env = TaskEnv("tidy", cameras="none", parameters={"program": "handover"})
    env.reset(seed=1)
    # The goal may be met in its last frames only, and is held for longer.
    over = next(step for step in map(env.step, [*actions, *[actions[-1]] * 30]) if step[2])
    assert over[4]["is_success"]
