"""Tasks as Gymnasium environments."""

from __future__ import annotations

import functools
import subprocess
import sys
import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv

import graspline.registration
from graspline.engine.events import CorruptControl
from graspline.envs.environment import TaskEnv
from graspline.episodes.units import units_of
from graspline.errors import InputError
from graspline.registration import environment_name
from graspline.rendering.choose import open_renderer
from graspline.robots.so101 import SO101
from graspline.scenes.cube_table import CUBE, cube_table

from .playing import SEED, blind_env, interface, recorded, recorded_actions, scenario

TINY = "front:32x24,wrist:16x16"
LIMITS = SO101.limits


def test_every_environment_is_registered() -> None:
    for task in graspline.TASKS:
        env = gymnasium.make(environment_name(task), cameras="none")
        assert env.get_wrapper_attr("task") == task
        env.close()


def test_an_environment_says_what_is_to_be_done_in_its_scene() -> None:
    env = TaskEnv("oranges", cameras="none", parameters={"targets.choose": "nearest:1"})
    assert env.task_description == ""
    env.reset(seed=SEED)
    assert env.task_description == "Put the nearest orange on the plate."
    env.close()


def test_an_environment_is_made_by_name_alone_in_a_fresh_process() -> None:
    program = (
        "import gymnasium\n"
        "env = gymnasium.make('graspline:graspline/LiftCube-v0', cameras='none')\n"
        "print(env.reset(seed=1)[0]['agent_pos'].shape)\n"
    )
    assert printed(program) == "(6,)\n"


@pytest.mark.parametrize("first, second", [("graspline", "gymnasium"), ("gymnasium", "graspline")])
def test_environments_are_registered_once_both_packages_are_imported(first: str, second: str) -> None:
    program = (
        f"import {first}\nimport {second}\n"
        "import sys\n"
        "print(gymnasium.spec('graspline/LiftCube-v0').kwargs, gymnasium.__spec__.name, 'mujoco' in sys.modules)\n"
        "print(gymnasium.make('graspline/LiftCube-v0', cameras='none').unwrapped.task)\n"
    )
    assert printed(program) == "{'task': 'lift-cube'} gymnasium False\nlift-cube\n"


def test_importing_the_package_imports_neither_gymnasium_nor_numpy() -> None:
    program = "import sys, graspline\nprint([each for each in ('gymnasium', 'numpy', 'mujoco') if each in sys.modules])"
    assert printed(program) == "[]\n"


def printed(program: str) -> str:
    result = subprocess.run([sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_the_checker_of_gymnasium_has_nothing_to_say() -> None:
    env = gymnasium.make("graspline/LiftCube-v0", cameras=TINY, renderer="rays").unwrapped
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # Actions are joint targets in the units of datasets, which are not between -1 and 1.
        warnings.filterwarnings("ignore", ".*symmetric and normalized space.*")
        check_env(env)


def test_observations_are_those_of_the_space_and_joints_are_in_dataset_units() -> None:
    env = TaskEnv("lift-cube", cameras={"front": (32, 24), "wrist": "16x16"}, renderer="rays")
    observation, info = env.reset(seed=SEED)
    assert observation in env.observation_space
    assert {name: picture.shape for name, picture in observation["pixels"].items()} == {
        "front": (24, 32, 3),
        "wrist": (16, 16, 3),
    }
    np.testing.assert_array_equal(
        observation["agent_pos"], units_of(SO101, "degrees").outward(SO101.home).astype(np.float32)
    )
    assert info == {"is_success": False, "seed": SEED, "diverged": False, "task": "Lift the cube and hold it still."}


def test_pictures_are_those_that_a_dataset_draws_from_its_log() -> None:
    env, draw = TaskEnv("lift-cube", cameras="wrist:64x48"), scenario().sample()
    observation, _ = env.reset(seed=SEED)
    with open_renderer(cube_table(), 64, 48, smooth=False) as renderer:
        drawn = renderer.render(draw.start, draw.variation, "wrist").rgb
    np.testing.assert_array_equal(observation["pixels"]["wrist"], drawn)
    env.close()


def test_without_cameras_there_are_no_pictures() -> None:
    env = blind_env()
    assert set(env.reset(seed=1)[0]) == set(env.observation_space.keys()) == {"agent_pos"}  # type: ignore[attr-defined]


@pytest.mark.parametrize("units", ["degrees", "normalized"])
def test_the_action_space_is_the_range_of_the_joints(units: str) -> None:
    space = blind_env(units=units).action_space
    assert isinstance(space, gymnasium.spaces.Box)
    lowest = np.degrees(LIMITS.lower[:5]) if units == "degrees" else np.full(5, -100.0)
    assert space.low == pytest.approx([*lowest, 0.0], abs=1e-4)
    highest = np.degrees(LIMITS.upper[:5]) if units == "degrees" else np.full(5, 100.0)
    assert space.high == pytest.approx([*highest, 100.0], abs=1e-4)


def test_a_seed_gives_the_scene_of_the_scenario_with_that_seed() -> None:
    env = blind_env()
    env.reset(seed=SEED)
    draw = scenario().sample()
    np.testing.assert_array_equal(env._engine.qpos[0], draw.start)
    assert env._episode is not None
    assert env._episode.sampled.variation == draw.variation


def test_without_a_seed_scenes_differ_and_follow_from_the_seed_before() -> None:
    env = blind_env()

    def seeds() -> list[int]:
        return [env.reset(seed=SEED)[1]["seed"], env.reset()[1]["seed"], env.reset()[1]["seed"]]

    first = seeds()
    assert len(set(first)) == 3
    assert seeds() == first


def test_the_reference_reaches_a_target_at_the_end_of_the_frame() -> None:
    env = blind_env(fps=10)
    env.reset(seed=SEED)
    target = SO101.home + 0.1
    observation, *_ = env.step(units_of(SO101, "degrees").outward(target).astype(np.float32))
    assert env._episode is not None
    np.testing.assert_allclose(env._episode.frames.command_rad, target, atol=1e-6)
    # The joints trail by little.
    reached = units_of(SO101, "degrees").inward(observation["agent_pos"].astype(float))
    np.testing.assert_allclose(reached, target, atol=0.03)


def test_any_action_of_the_space_is_taken() -> None:
    env = blind_env(max_seconds=2)
    env.reset(seed=SEED)
    env.action_space.seed(3)
    for step in range(60):
        observation, _, terminated, truncated, _ = env.step(env.action_space.sample())
        assert observation in env.observation_space
        assert (terminated, truncated) == (False, step == 59)


def test_targets_out_of_range_are_taken_as_the_end_of_the_range() -> None:
    env = blind_env(fps=1)
    env.reset(seed=SEED)
    # Opening the jaws and turning the wrist meets nothing.
    target = SO101.home.copy()
    target[5] = 99.0
    env.step(units_of(SO101, "degrees").outward(target).astype(np.float32))
    assert env._episode is not None
    assert env._episode.frames.command_rad[5] == LIMITS.upper[5]


@pytest.mark.parametrize("fps", [60, 30, 20])
def test_recorded_actions_lift_the_cube_again_and_earn_one_reward(fps: int) -> None:
    env, episode = blind_env(fps=fps), recorded()
    env.reset(seed=episode.scenario.seed)
    rewards, terminated, info = [], False, {}
    for action in recorded_actions(episode.log, interface(fps)):
        assert not terminated
        _, reward, terminated, truncated, info = env.step(action)
        rewards.append(reward)
        assert not truncated
        if terminated:
            break
    assert terminated
    assert info["is_success"]
    assert rewards == [0.0] * (len(rewards) - 1) + [1.0]
    # The machine goes on to hold it for a second and to look at it.
    assert len(rewards) / fps < episode.sim_time_s


def test_an_episode_is_truncated_when_its_time_is_up() -> None:
    env = blind_env(fps=20, max_seconds=0.5)
    env.reset(seed=1)
    assert env._max_episode_steps == 10
    over = [env.step(env.action_space.sample())[3] for _ in range(10)]
    assert over == [False] * 9 + [True]


def test_gymnasiums_own_limit_shortens_it_further() -> None:
    env = gymnasium.make("graspline/LiftCube-v0", cameras="none", max_episode_steps=3)
    env.reset(seed=1)
    assert [env.step(env.action_space.sample())[3] for _ in range(3)] == [False, False, True]


def test_two_environments_give_the_same_observations() -> None:
    def play() -> list[bytes]:
        env = blind_env()
        env.reset(seed=SEED)
        env.action_space.seed(5)
        return [env.step(env.action_space.sample())[0]["agent_pos"].tobytes() for _ in range(20)]

    assert play() == play()


def test_a_world_that_diverges_ends_the_episode_as_it_was_seen_last() -> None:
    env = blind_env()
    env.reset(seed=1)
    before, *_ = env.step(env.action_space.sample())
    assert env._episode is not None
    env._episode.frames.apply(CorruptControl(joint="elbow_flex"))
    after, reward, terminated, truncated, info = env.step(env.action_space.sample())
    np.testing.assert_array_equal(after["agent_pos"], before["agent_pos"])
    assert (reward, terminated, truncated) == (0.0, True, False)
    assert info["diverged"]
    env.reset(seed=1)
    assert not env.step(env.action_space.sample())[4]["diverged"]


@pytest.mark.parametrize(
    "action", [np.zeros(5), np.full(6, np.nan), None, "up", [[0.0] * 6], np.ones(6) * 1j, ["1"] * 6]
)
def test_what_is_no_action_is_refused_in_words(action: object) -> None:
    env = blind_env()
    env.reset(seed=1)
    with pytest.raises(InputError, match=r"the action.*expected 6 finite numbers.*gripper.pos"):
        env.step(action)  # type: ignore[arg-type]


def test_a_step_before_the_first_reset_is_refused() -> None:
    with pytest.raises(gymnasium.error.ResetNeeded):
        blind_env().step(np.zeros(6))


def test_parameters_reach_the_scene() -> None:
    env = blind_env(parameters={"cube.edge_m": (0.03, 0.03), "cube": {"mass_kg": [0.02, 0.02]}})
    env.reset(seed=4)
    np.testing.assert_allclose(env._engine.half_extents_m(0, CUBE), 0.015)


def test_rendering_gives_the_front_picture_and_the_rate_of_the_frames() -> None:
    env = TaskEnv("lift-cube", cameras="none", render_mode="rgb_array", renderer="rays", fps=10)
    env.reset(seed=1)
    picture = env.render()
    assert picture is not None
    assert (picture.shape, picture.dtype) == ((480, 640, 3), np.uint8)
    assert env.metadata["render_fps"] == 10
    env.close()


def test_lanes_of_a_vector_are_what_they_are_alone() -> None:
    envs = SyncVectorEnv([blind_env] * 2)
    alone = blind_env()
    seen, _ = envs.reset(seed=[3, 4])
    actions = np.stack([units_of(SO101, "degrees").outward(SO101.home + turn) for turn in (0.05, -0.05)])
    seen, *_ = envs.step(actions.astype(np.float32))
    for lane, seed in enumerate((3, 4)):
        alone.reset(seed=seed)
        observation, *_ = alone.step(actions[lane].astype(np.float32))
        np.testing.assert_array_equal(seen["agent_pos"][lane], observation["agent_pos"])
    envs.close()


@pytest.mark.slow
def test_processes_of_a_vector_draw_for_themselves() -> None:
    make = functools.partial(gymnasium.make, "graspline.envs:graspline/LiftCube-v0", max_seconds=0.1)
    envs = AsyncVectorEnv(
        [functools.partial(make, cameras="front:32x24")] * 2,
        context="forkserver",
        autoreset_mode=AutoresetMode.SAME_STEP,
    )
    try:
        seen, _ = envs.reset(seed=[3, 4])
        assert seen["pixels"]["front"].shape == (2, 24, 32, 3)
        assert seen["pixels"]["front"].any()
        for step in range(6):
            *_, truncated, info = envs.step(envs.action_space.sample())
            # A new episode begins on the step that ends one.
            assert truncated.all() == (step in (2, 5))
            assert ("final_info" in info) == truncated.all()
            assert not info["is_success"].any()
        assert envs.call("task_description") == ("Lift the cube and hold it still.",) * 2
        assert envs.call("_max_episode_steps") == (3, 3)
    finally:
        envs.close()
