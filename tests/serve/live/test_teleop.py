"""Episodes that a person drives: recorded, judged by the task's own goal, replayed to the same bits, or discarded."""

from __future__ import annotations

import numpy as np
import pytest

from graspline.engine.cpu import CpuEngine
from graspline.episodes.episode import Episode
from graspline.episodes.log import replay_log
from graspline.evidence import passes
from graspline.execution.drivers import TELEOP
from graspline.serve.live.commands import (
    BeginTeleop,
    Drive,
    EndTeleop,
    Home,
    MoveJaw,
    Pick,
    ReplayEpisode,
    ResetScene,
    RunTask,
    StrikeFault,
)
from graspline.serve.live.server_context import console_for
from graspline.serve.live.teleop import LONGEST_S, RecordingPlace
from graspline.tasks.catalogue import find_task
from graspline.tasks.lift_cube import LIFT_CUBE

from .benches import PARAMETERS, Bench
from .hands import Hand

SEED = 5


@pytest.fixture
def kept() -> list[Episode]:
    return []


@pytest.fixture
def bench(kept: list[Episode]) -> Bench:
    return Bench(seed=SEED, hand_over=kept.append).tick(5)


def lifted(bench: Bench) -> None:
    """Grasp the cube and lift it as high as the task asks for."""
    hand = Hand(bench)
    cube = bench.snapshot.objects[0]
    hand.grasp(cube)
    hand.lift(0.075)


def test_a_cube_that_was_lifted_by_hand_is_a_success_and_replays_to_the_same_bits(
    bench: Bench, kept: list[Episode]
) -> None:
    begun = bench.done(BeginTeleop(SEED))
    assert begun.data == {"seed": SEED}
    assert bench.tick(5).snapshot.teleop == "recording"
    lifted(bench)
    assert bench.until(lambda seen: seen.goal_met, 120).teleop == "recording"
    ended = bench.done(EndTeleop())
    assert ended.text == "driven by hand: success"
    assert ended.data["kept"]
    (episode,) = kept
    assert episode.succeeded
    assert episode.verdict == bench.snapshot.verdict == "success"
    assert passes(episode.goal_by_truth)
    assert episode.targets == ("cube",)
    assert [state for _, state in episode.entries] == [TELEOP]
    assert replay_log(CpuEngine(LIFT_CUBE.scene(PARAMETERS), 1, 1), episode.log) == episode.state_hash
    # And in the session itself, where the arm holds on meanwhile.
    replayed = bench.done(ReplayEpisode(episode.log, "by hand", episode.state_hash))
    assert "the same bits" in replayed.text


def test_a_cube_that_was_let_go_is_none_and_says_how_it_failed(bench: Bench, kept: list[Episode]) -> None:
    bench.done(BeginTeleop(SEED))
    bench.tick(5)
    lifted(bench)
    Hand(bench).drive_until(lambda seen: seen.jaw_gap_m > 0.06, jaw=1.0)
    ended = bench.done(EndTeleop())
    assert ended.text == "driven by hand: not done (dropped)"
    (episode,) = kept
    assert not episode.succeeded
    assert not episode.false_success
    assert not passes(episode.goal_by_truth)
    assert replay_log(CpuEngine(LIFT_CUBE.scene(PARAMETERS), 1, 1), episode.log) == episode.state_hash


def test_a_goal_that_is_met_for_an_instant_only_does_not_count(bench: Bench, kept: list[Episode]) -> None:
    """The arm is at rest and nothing has moved: ending at once is no success."""
    bench.done(BeginTeleop())
    ended = bench.done(EndTeleop())
    assert ended.text == "driven by hand: not done (never reached)"
    assert kept[0].sim_time_s >= 0.3


def test_every_way_of_moving_by_hand_and_a_fault_is_part_of_the_episode(bench: Bench, kept: list[Episode]) -> None:
    bench.done(BeginTeleop())
    Hand(bench).drive(30, linear_m_s=(0.0, 0.1, 0.0))
    bench.done(StrikeFault("shove"))
    bench.done(MoveJaw(full="open"))
    bench.done(Home())
    bench.done(EndTeleop())
    (episode,) = kept
    assert episode.strikes
    assert len(episode.log.events) > 0
    assert replay_log(CpuEngine(LIFT_CUBE.scene(PARAMETERS), 1, 1), episode.log) == episode.state_hash


def test_an_episode_that_is_discarded_is_not_handed_over_and_its_seed_stays_free(
    bench: Bench, kept: list[Episode]
) -> None:
    assert bench.done(BeginTeleop()).data["seed"] == SEED
    assert not bench.done(EndTeleop(keep=False)).data["kept"]
    assert not kept
    assert bench.snapshot.episodes == 0
    assert bench.done(BeginTeleop()).data["seed"] == SEED


def test_stop_discards_what_is_driven_and_the_arm_can_be_driven_on(bench: Bench, kept: list[Episode]) -> None:
    bench.done(BeginTeleop())
    Hand(bench).drive(20, linear_m_s=(0.0, 0.1, 0.0))
    bench.conductor.stop([])
    seen = bench.until(lambda seen: seen.mode == "idle")
    assert seen.teleop == ""
    assert seen.message == "stopped; the episode that was driven is discarded"
    assert not kept
    Hand(bench).drive(20, linear_m_s=(0.0, 0.1, 0.0))


def test_seeds_that_have_an_episode_are_passed_over_or_refused(kept: list[Episode]) -> None:
    place = RecordingPlace(has=lambda seed: seed in (5, 6))
    bench = Bench(seed=5, hand_over=kept.append, place=place).tick(5)
    assert bench.refused(BeginTeleop(6)).reason == "seed 6 already has an episode; use another, such as 7"
    assert bench.done(BeginTeleop()).data["seed"] == 7
    bench.done(EndTeleop())
    assert bench.done(BeginTeleop()).data["seed"] == 8


def test_what_cannot_be_is_refused_in_words(bench: Bench) -> None:
    assert bench.refused(EndTeleop()).reason == "no episode is being driven"
    bench.done(BeginTeleop())
    for command in (RunTask(1), ResetScene(1), BeginTeleop(1)):
        assert bench.refused(command).reason == "an episode is being driven; finish or discard it first"
    first = bench.give(EndTeleop())
    assert bench.refused(EndTeleop()).reason == "the episode is already ending"
    assert bench.refused(Drive(jaw=1.0)).reason == "the episode is ending; try again in a moment"
    bench.until(lambda seen: first.ticket.settled is not None)
    assert Bench().refused(BeginTeleop()).reason == "this session does not record episodes"
    closed = Bench(hand_over=print, place=RecordingPlace(problem="start with --record"))
    assert closed.refused(BeginTeleop()).reason == "start with --record"


def test_what_the_arm_does_by_itself_is_not_driven_by_hand(kept: list[Episode]) -> None:
    task = find_task("grab")
    parameters = task.parameters()
    bench = Bench(task, parameters, 2, console=console_for(task, parameters, 2), hand_over=kept.append)
    bench.done(BeginTeleop())
    assert "driven by hand" in bench.refused(Pick()).reason


def test_an_episode_that_was_forgotten_ends_by_itself_and_is_kept(
    bench: Bench, kept: list[Episode], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert LONGEST_S == 600
    monkeypatch.setattr("graspline.serve.live.lane_controller.LONGEST_S", 0.5)
    bench.done(BeginTeleop())
    assert bench.until(lambda seen: seen.teleop == "", 120).message == "driven by hand: not done (never reached)"
    assert len(kept) == 1


@pytest.mark.slow
@pytest.mark.parametrize("name", ["grab", "oranges", "sort", "tidy"])
def test_episodes_of_every_task_replay_to_the_same_bits(name: str, kept: list[Episode]) -> None:
    task = find_task(name)
    parameters = task.parameters()
    bench = Bench(task, parameters, 2, console=console_for(task, parameters, 2), hand_over=kept.append)
    bench.done(BeginTeleop())
    Hand(bench).drive(60, linear_m_s=(0.05, 0.05, 0.0), jaw=0.3)
    Hand(bench).drive(30, turn_rad_s=0.5)
    bench.done(EndTeleop())
    (episode,) = kept
    assert not episode.succeeded
    assert np.abs(np.ptp(episode.log.positions, axis=0)).max() > 0.05
    assert replay_log(CpuEngine(task.scene(parameters), 1, 1), episode.log) == episode.state_hash
