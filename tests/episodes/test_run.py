from __future__ import annotations

import dataclasses
import itertools
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

import numpy as np
import pytest
from numpy.typing import NDArray

from graspline.engine.cpu import CpuEngine
from graspline.engine.events import Place, Push
from graspline.engine.protocol import Engine
from graspline.episodes.episode import Episode
from graspline.episodes.observers import Instant
from graspline.episodes.run import run_scenarios
from graspline.episodes.scenario import Scenario
from graspline.errors import InputError
from graspline.evidence import passes
from graspline.execution.notifications import Entered, Finished, Happening, Looked
from graspline.execution.requests import Reply, pictured
from graspline.faults.kind import FaultKind
from graspline.machine.machine import Machine
from graspline.machine.outcome import Outcome, Stage
from graspline.machine.table import End
from graspline.perception.core.beliefs import Perception
from graspline.rendering.picture import Picture
from graspline.robots.so101 import SO101
from graspline.scenes.cube_table import CUBE
from graspline.scenes.scene import Array, Scene
from graspline.tasks.lift_cube import LIFT_CUBE, LiftCube

from .playing import ONE_TRY, PARAMETERS, assert_within_limits, run, run_seeds, scenario, told

SEEDS = range(12)
STATES = ["look", "plan", "approach", "descend", "seat", "close", "lift", "hold", "verify"]


@pytest.fixture(scope="module")
def episodes() -> dict[int, Episode]:
    """A dozen episodes without a fault, one after the other on one thread."""
    return run_seeds(SEEDS, lanes=1, threads=1)


# What an episode says


def test_cubes_are_lifted_and_the_simulator_agrees(episodes: dict[int, Episode]) -> None:
    for episode in episodes.values():
        assert episode.verdict == "success"
        assert episode.succeeded
        assert passes(episode.evidence)
        assert [each.name for each in episode.evidence] == ["raised", "off_pads", "speed", "speed_now"]
        assert passes(episode.goal_by_truth)
        assert not episode.false_success
        assert episode.error == ""


def test_truth_tells_of_a_cube_in_the_hand_above_where_it_lay(episodes: dict[int, Episode]) -> None:
    for episode in episodes.values():
        cube, tool = episode.truth["objects"][CUBE], episode.truth["tool"]
        assert cube["position_m"][2] - cube["start_position_m"][2] >= 0.05
        assert np.linalg.norm(np.subtract(cube["position_m"], tool["position_m"])) <= 0.02
        assert cube["speed_m_s"] <= 0.02
        edge_m = episode.sampled.variation.described["edge_m"]
        assert cube["size_m"] == pytest.approx([edge_m] * 3)
        assert tool["jaw_gap_m"] == pytest.approx(edge_m, abs=0.012)
        assert np.linalg.norm(tool["quaternion"]) == pytest.approx(1.0)
        assert np.linalg.norm(cube["quaternion"]) == pytest.approx(1.0, abs=1e-6)


def test_transitions_tell_the_story_of_the_episode(episodes: dict[int, Episode]) -> None:
    smooth = [each for each in episodes.values() if each.retries == 0]
    assert smooth
    for episode in smooth:
        assert [each.state for each in episode.transitions] == STATES
        assert [state for _, state in episode.entries] == STATES
        times = [each.t_s for each in episode.transitions]
        assert times == sorted(times)
        assert times[-1] == pytest.approx(episode.sim_time_s)
        assert episode.sim_time_s == pytest.approx(episode.log.ticks * SO101.dt_s)


def test_an_episode_as_plain_values_has_the_documented_keys_and_is_json(episodes: dict[int, Episode]) -> None:
    for seed, episode in episodes.items():
        plain = json.loads(json.dumps(episode.as_dict(), allow_nan=False))
        assert list(plain) == [
            "task",
            "seed",
            "instruction",
            "verdict",
            "succeeded",
            "retries",
            "sim_time_s",
            "state_hash",
            "engine",
            "transitions",
            "evidence",
            "truth",
        ]
        assert (plain["task"], plain["seed"]) == ("lift-cube", seed)
        assert list(plain["truth"]) == ["objects", "places", "tool"]
        assert set(plain["transitions"][0]) == {"t_s", "state", "outcome", "about", "evidence"}


def test_the_whole_reference_keeps_limits(episodes: dict[int, Episode]) -> None:
    for episode in episodes.values():
        assert_within_limits(episode.log.positions, episode.log.velocities)
        assert not episode.log.velocities[-1].any()


# The same bits, whatever the lanes


@pytest.mark.slow
@pytest.mark.parametrize("lanes, threads", [(1, 2), (7, 1), (7, 2), (16, 2)])
def test_lanes_and_threads_do_not_change_an_episode(episodes: dict[int, Episode], lanes: int, threads: int) -> None:
    assert told(run_seeds(SEEDS, lanes=lanes, threads=threads)) == told(episodes)


@pytest.mark.slow
@pytest.mark.parametrize(
    "parameters, fault",
    [
        (PARAMETERS, "drop@lift+0.3"),
        (ONE_TRY, "drop@lift+0.3"),
        (ONE_TRY, "drop@hold+0.2"),
        (PARAMETERS, "shove@descend"),
        (LiftCube(perception=Perception(position_sigma_m=0.002, yaw_sigma_rad=0.05)), "drop@hold"),
    ],
    ids=["retried", "dropped", "dropped while held", "shoved", "blurred"],
)
def test_lanes_do_not_change_an_episode_that_goes_wrong(parameters: LiftCube, fault: str) -> None:
    alone = told(run_seeds(SEEDS, fault, parameters=parameters, lanes=1))
    assert told(run_seeds(SEEDS, fault, parameters=parameters, lanes=7)) == alone
    assert told(run_seeds(reversed(SEEDS), fault, parameters=parameters, lanes=12)) == alone


class Elsewhere(CpuEngine):
    """An engine whose ticks leave time for so many more questions of planners, over and over."""

    patience = itertools.cycle((0, 0, 3, 1))

    def __init__(self, scene: Scene, lanes: int, threads: int) -> None:
        super().__init__(scene, lanes, threads)
        self.meanwhile: Callable[[Callable[[], bool]], object] = lambda on_its_way: None
        self.stood = 0

    def step(self, controls: Array, lanes: NDArray[np.intp]) -> bool:
        diverged = super().step(controls, lanes)
        self.stood += self.count - len(lanes)
        questions = iter([True] * next(self.patience))
        self.meanwhile(lambda: next(questions, False))
        return diverged


@pytest.mark.parametrize("faults", [(), ("drop@lift+0.3",), ("delay@approach", "shove@descend"), ("nan-control@lift",)])
def test_lanes_that_stand_still_while_they_plan_do_not_change_an_episode(faults: tuple[str, ...]) -> None:
    engines: list[Elsewhere] = []

    def make(scene: Scene, lanes: int, threads: int) -> Elsewhere:
        engines.append(Elsewhere(scene, lanes, threads))
        return engines[-1]

    played = run_seeds(SEEDS, *faults, lanes=5, make_engine=make)
    assert told(played) == told(run_seeds(SEEDS, *faults, lanes=5))
    assert engines[0].stood > 5 * len(SEEDS)


@pytest.mark.parametrize("tick", [1, 2, 5, 40, 140])
def test_a_run_is_stopped_while_lanes_stand_still(tick: int) -> None:
    played = run_seeds(range(5), lanes=4, stop=stopping_at(tick), make_engine=Elsewhere)
    assert len(played) == 4
    assert_interrupted(played)


def test_an_episode_does_not_depend_on_what_its_lane_played_before(episodes: dict[int, Episode]) -> None:
    before = [scenario(100, "drop@lift+0.3"), scenario(101, "nan-control@lift"), scenario(102, "remove@approach")]
    played = run([*before, scenario(3), scenario(4)], lanes=1)
    assert played[101].verdict == "physics_diverged"
    assert [played[seed].as_dict() for seed in (3, 4)] == [episodes[seed].as_dict() for seed in (3, 4)]


def test_starts_that_are_spread_do_not_change_an_episode(episodes: dict[int, Episode]) -> None:
    began: list[tuple[int, int]] = []

    def note(instant: Instant, notification: Happening) -> None:
        if isinstance(notification, Entered) and notification.state == "look":
            began.append((instant.lane, ticks))

    def count(_: object) -> None:
        nonlocal ticks
        ticks += 1

    ticks = 0
    scenarios = [scenario(seed) for seed in SEEDS]
    played = run_scenarios(scenarios, lanes=4, spread_ticks=120, onlookers=[note], after_tick=count)
    assert told({each.scenario.seed: each for each in played}) == told(episodes)
    # On a beat each; afterwards a lane begins its next as soon as it is free.
    assert began[:4] == [(0, 0), (1, 30), (2, 60), (3, 90)]
    assert len(began) == len(SEEDS)


def test_a_lane_that_is_free_before_all_have_started_plays_on(episodes: dict[int, Episode]) -> None:
    played = run_scenarios([scenario(seed) for seed in (1, 2, 3)], lanes=2, spread_ticks=10**6)
    assert told({each.scenario.seed: each for each in played}) == told({seed: episodes[seed] for seed in (1, 2, 3)})


def test_a_run_that_is_stopped_starts_no_more_lanes() -> None:
    played = list(run_scenarios([scenario(seed) for seed in SEEDS], lanes=4, spread_ticks=120, stop=stopping_at(45)))
    assert [each.scenario.seed for each in played] == [0, 1]
    assert {each.verdict for each in played} == {"interrupted"}


def test_seeds_differ(episodes: dict[int, Episode]) -> None:
    assert len({episode.state_hash for episode in episodes.values()}) == len(SEEDS)


def test_watching_an_episode_does_not_change_it(episodes: dict[int, Episode]) -> None:
    ticks, heard = [], []

    def observer(lane: int, time_s: float, notification: Happening) -> None:
        heard.append((lane, notification))

    def after_tick(engine: Engine) -> None:
        ticks.append(engine.count)

    watched = run([scenario(5)], observers=[observer], after_tick=after_tick, record_states=True)[5]
    assert watched.as_dict() == episodes[5].as_dict()
    assert len(ticks) == watched.log.ticks == len(watched.log.states)
    assert [each.state for _, each in heard if isinstance(each, Entered)] == STATES
    assert isinstance(heard[-1][1], Finished)
    assert any(isinstance(each, Looked) for _, each in heard)
    assert episodes[5].log.states.shape[0] == 0


@pytest.mark.slow
def test_the_command_in_two_processes_prints_what_a_run_here_gives(
    episodes: dict[int, Episode], tmp_path: Path
) -> None:
    command = shutil.which("graspline", path=str(Path(sys.executable).parent))
    assert command is not None
    lines = {}
    for lanes in ("1", "4"):
        words = [command, "run", "lift-cube", "--episodes", "4", "--seed", "2", "--lanes", lanes, "--json"]
        done = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path, timeout=900)
        assert done.returncode == 0, done.stderr
        printed = [json.loads(line) for line in done.stdout.splitlines()]
        lines[lanes] = {each["seed"]: each for each in printed}
    expected = json.loads(json.dumps({str(seed): episodes[seed].as_dict() for seed in range(2, 6)}))
    for printed in lines.values():
        assert {str(seed): each for seed, each in printed.items()} == expected
    assert list(tmp_path.iterdir()) == []


# Runs


def test_no_scenarios_give_no_episodes() -> None:
    assert list(run_scenarios([])) == []


def test_more_lanes_than_scenarios_are_not_opened() -> None:
    counts: set[int] = set()
    list(run_scenarios([scenario(1), scenario(2)], lanes=50, after_tick=lambda engine: counts.add(engine.count)))
    assert counts == {2}


def test_every_scenario_is_played_once(episodes: dict[int, Episode]) -> None:
    seeds = [episode.scenario.seed for episode in run_scenarios([scenario(seed) for seed in SEEDS], lanes=5)]
    assert sorted(seeds) == list(SEEDS)


def test_a_fault_nobody_knows_is_refused_before_anything_moves() -> None:
    ticks = []
    with pytest.raises(InputError, match="unknown fault 'dorp'; did you mean 'drop'"):
        list(run_scenarios([scenario(0), scenario(1, "dorp@lift")], after_tick=ticks.append))
    assert ticks == []


def test_scenarios_of_one_run_may_have_parameters_of_their_own() -> None:
    # One may try again, the other may not.
    again, once = scenario(1, "drop@lift+0.3"), scenario(2, "drop@lift+0.3", parameters=ONE_TRY)
    for order in ((again, once), (once, again)):
        played = run(order)
        assert played[1].verdict == "success"
        assert played[2].verdict in ("dropped", "slipped")


def approach_badly(last: Reply) -> Stage[Literal["done"]]:
    raise RuntimeError("a bug in a state")
    yield


def task_of(state: Callable[..., Any]) -> Any:
    """A task like `lift-cube` of one state."""

    def machine(parameters: LiftCube) -> Machine:
        return Machine(name="one", start="only", states={"only": state}, table={"only": {"done": End("success")}})

    return dataclasses.replace(LIFT_CUBE, machine=machine)


def test_a_bug_in_a_state_ends_its_episode_as_crashed_with_the_traceback() -> None:
    task = task_of(approach_badly)
    broken = [Scenario(task=task, parameters=PARAMETERS, seed=seed) for seed in range(3)]
    for episode in run_scenarios(broken, lanes=2):
        assert episode.verdict == "crashed"
        assert not episode.succeeded
        assert "RuntimeError: a bug in a state" in episode.error
        assert "RuntimeError: a bug in a state" in json.loads(json.dumps(episode.as_dict()))["error"]


def claims(last: Reply) -> Outcome[Literal["done"]]:
    return Outcome("done")


def test_a_success_that_the_simulator_contradicts_is_a_false_success() -> None:
    (episode,) = run_scenarios([Scenario(task=task_of(claims), parameters=PARAMETERS, seed=0)])
    assert episode.verdict == "success"
    assert episode.succeeded
    assert episode.false_success
    assert not passes(episode.goal_by_truth)


pictures: list[Picture] = []


def photographs(last: Reply) -> Stage[Literal["done"]]:
    pictures.append((yield from pictured("front", 32, 24)))
    pictures.append((yield from pictured("wrist", 32, 24)))
    return Outcome("done")


def test_a_state_may_look_through_the_cameras_of_its_lane() -> None:
    pictures.clear()
    list(
        run_scenarios(
            [Scenario(task=task_of(photographs), parameters=PARAMETERS, seed=seed) for seed in (0, 1)], lanes=2
        )
    )
    assert [each.camera for each in pictures] == ["front", "wrist"] * 2
    assert all((each.width, each.height) == (32, 24) for each in pictures)
    # The cubes lie in different places.
    assert not np.array_equal(pictures[0].rgb, pictures[2].rgb)
    assert pictures[0].rgb.std() > 5


@pytest.mark.parametrize(
    "blow",
    [
        Push(body=CUBE, force_n=(1e12, 0.0, 0.0)),
        Push(body="gripper", force_n=(0.0, 0.0, -1e12)),
        Place(body=CUBE, position_m=(float("nan"), 0.0, 0.1)),
    ],
)
def test_an_episode_whose_physics_blows_up_is_judged_and_told_all_the_same(
    blow: Push | Place, episodes: dict[int, Episode], monkeypatch: pytest.MonkeyPatch
) -> None:
    kind = FaultKind(name="blow", description="Physics blows up.", strike=lambda context: [(0.0, blow)])
    lab = ModuleType("lab_with_a_blow")
    vars(lab)["BLOW"] = kind
    monkeypatch.setitem(sys.modules, lab.__name__, lab)
    played = run([scenario(0), scenario(1, "lab_with_a_blow:BLOW@lift"), scenario(2)], lanes=3)
    assert played[1].verdict == "physics_diverged"
    assert not passes(played[1].goal_by_truth)
    plain = json.loads(json.dumps(played[1].as_dict(), allow_nan=False))
    assert plain["truth"]["objects"][CUBE]["size_m"] == episodes[1].truth["objects"][CUBE]["size_m"]
    for seed in (0, 2):
        assert played[seed].as_dict() == episodes[seed].as_dict()


# Stop


def stopping_at(tick: int) -> Callable[[], bool]:
    """Turns true once it has been asked this often; it is asked before every tick."""
    asked = 0

    def stop() -> bool:
        nonlocal asked
        asked += 1
        return asked > tick

    return stop


def assert_interrupted(played: dict[int, Episode]) -> None:
    for episode in played.values():
        assert episode.verdict == "interrupted"
        assert not episode.succeeded
        assert not episode.false_success
        assert episode.evidence == ()
        assert_within_limits(episode.log.positions, episode.log.velocities)
        assert not episode.log.velocities[-15:].any()
        json.dumps(episode.as_dict(), allow_nan=False)


@pytest.mark.parametrize("tick", [0, 1, *np.random.default_rng(11).integers(2, 270, 5).tolist()])
def test_a_run_that_is_stopped_at_any_moment_ends_every_lane_interrupted_and_at_rest(tick: int) -> None:
    played = run_seeds(range(5), lanes=4, stop=stopping_at(tick))
    # The fifth was still waiting for a lane, and is not begun.
    assert len(played) == 4
    assert_interrupted(played)
    assert all(episode.log.ticks < tick + 60 for episode in played.values())


@pytest.mark.parametrize("state", ["approach", "descend", "close", "lift", "hold", "verify"])
def test_a_run_can_be_stopped_in_every_state_of_the_task(state: str, episodes: dict[int, Episode]) -> None:
    whole = episodes[4]
    entered = next(time_s for time_s, name in whole.entries if name == state)
    left = next(each.t_s for each in whole.transitions if each.state == state)
    tick = round((entered + left) / 2 * SO101.control_hz)
    played = run_seeds([4], stop=stopping_at(tick))
    assert_interrupted(played)
    assert played[4].entries[-1][1] == state
    np.testing.assert_array_equal(played[4].log.positions[:tick], whole.log.positions[:tick])


def test_a_run_stopped_at_the_peak_of_an_approach_brakes_within_limits(episodes: dict[int, Episode]) -> None:
    speed = np.abs(episodes[4].log.velocities).max(axis=1)
    tick = int(speed.argmax())
    played = run_seeds([4], stop=stopping_at(tick))
    assert_interrupted(played)
    assert speed[tick] > 1.0


def test_episodes_that_were_done_before_the_stop_keep_their_verdict(episodes: dict[int, Episode]) -> None:
    first = min(episode.log.ticks for episode in episodes.values())
    last = max(episode.log.ticks for episode in episodes.values())
    played = run_seeds(SEEDS, lanes=12, stop=stopping_at((first + last) // 2))
    assert {episode.verdict for episode in played.values()} == {"success", "interrupted"}
    for seed, episode in played.items():
        if episode.verdict == "success":
            assert episode.as_dict() == episodes[seed].as_dict()
