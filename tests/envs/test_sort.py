"""`sort` as an environment: seven joints at 120 Hz, and a world in which a feeder acts."""

from __future__ import annotations

import warnings
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import graspline.envs  # noqa: F401  (registers)
from graspline.engine.actors import Account
from graspline.envs.environment import TaskEnv
from graspline.envs.interface import interface_of
from graspline.envs.recorded_actions import RecordedActions, reproduce, thinned
from graspline.episodes.run import run_scenarios
from graspline.episodes.scenario import Scenario
from graspline.episodes.snapshots import snapshot_of
from graspline.episodes.units import units_of
from graspline.parameters import load
from graspline.robots.ur5e import HOME, UR5E
from graspline.tasks.sort.parameters import Sort
from graspline.tasks.sort.task import SORT

HOME_ACTION = units_of(UR5E, "degrees").outward(HOME).astype(np.float32)


def fed(**arguments: Any) -> TaskEnv:
    """A quick belt without pictures."""
    belt = {"belt.blocks": 10, "belt.density_per_m": 6, "belt.speed_m_s": 0.4}
    return TaskEnv("sort", cameras="none", parameters=belt, **arguments)


def accounts(env: TaskEnv) -> tuple[Account, ...]:
    episode = env._episode
    assert episode is not None
    time_s = episode.frames.time_s
    return snapshot_of(env._engine, 0, episode.sampled, time_s, episode.frames.actor).accounts


def stand_still(env: TaskEnv, seconds: float) -> None:
    for _ in range(round(seconds * env._interface.fps)):
        env.step(HOME_ACTION)


def test_joints_are_seven_and_in_dataset_units() -> None:
    env = fed()
    observation, info = env.reset(seed=1)
    assert observation in env.observation_space
    np.testing.assert_array_equal(observation["agent_pos"], HOME_ACTION)
    assert isinstance(env.action_space, gymnasium.spaces.Box)
    assert env.action_space.low == pytest.approx([-360, -360, -180, -360, -360, -360, 0], abs=1e-3)
    assert env.action_space.high == pytest.approx([360, 360, 180, 360, 360, 360, 100], abs=1e-3)
    assert not info["is_success"]


def test_the_checker_of_gymnasium_has_nothing_to_say() -> None:
    env = gymnasium.make("graspline/Sort-v0", cameras="front:32x24,wrist:16x16", renderer="rays").unwrapped
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", ".*symmetric and normalized space.*")
        check_env(env)


def test_the_feeder_goes_on_sending_while_a_policy_acts_and_does_the_same_again_after_a_reset() -> None:
    env = fed(fps=10)
    env.reset(seed=1)
    first = len(accounts(env))
    assert first < 10
    stand_still(env, 4.0)
    sent = accounts(env)
    assert len(sent) == 10
    assert {each.where for each in sent} == {"on_belt", "missed"}
    before = env._engine.qpos[0].copy()
    env.reset(seed=1)
    assert len(accounts(env)) == first
    stand_still(env, 4.0)
    assert repr(accounts(env)) == repr(sent)
    np.testing.assert_array_equal(env._engine.qpos[0], before)


@pytest.mark.slow
def test_recorded_actions_sort_the_blocks_again_at_every_rate() -> None:
    parameters = load(Sort, {"belt": {"blocks": 2, "density_per_m": 6.0}})
    scenario = Scenario(task=SORT, parameters=parameters, seed=0)
    (episode,) = run_scenarios([scenario])
    assert episode.succeeded
    for fps in (120, 60, 30):
        interface = interface_of(SORT.scene(parameters), fps=fps, cameras="none", units="degrees")
        reference = interface.units.outward(episode.log.positions[1:]).astype(np.float32)
        actions = thinned(reference, interface.ticks_per_frame)
        (again,) = reproduce([RecordedActions(scenario=scenario, actions=actions)], interface)
        assert again.succeeded, fps
        env = TaskEnv("sort", cameras="none", fps=fps, parameters={"belt.blocks": 2, "belt.density_per_m": 6})
        env.reset(seed=0)
        over = next(step for step in (env.step(each) for each in actions) if step[2])
        assert over[4]["is_success"]
