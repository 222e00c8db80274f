"""Certification: what a GPU played counts if it also happens on the CPU."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from episodes.playing import ONE_TRY, PARAMETERS, run_seeds
from graspline.engine.cpu import CpuEngine
from graspline.episodes.episode import Episode
from graspline.episodes.log import replay_logs
from graspline.evidence import passes
from graspline.gpu.certify import certified, ended_in
from graspline.scenes.cube_table import cube_table
from graspline.tasks.lift_cube import LIFT_CUBE

# What the CPU must not leave as it was.
GPU_TRUTH: dict[str, Any] = {"objects": {}, "by": "a GPU"}
BREAKDOWNS = ["physics_diverged", "crashed", "hung", "interrupted"]


@functools.cache
def on_the_cpu() -> tuple[Episode, ...]:
    """Successes of seeds 3 to 7, with their states."""
    played = run_seeds(range(3, 8), lanes=5, record_states=True)
    return tuple(played[seed] for seed in range(3, 8))


@functools.cache
def a_failure() -> Episode:
    """Somebody takes the cube away before it is reached."""
    return run_seeds([3], "remove@approach", parameters=ONE_TRY)[3]


def from_a_gpu(episode: Episode, **changes: Any) -> Episode:
    """As a GPU would have played it, if that computed what the CPU does: only its numbers are not to be had again."""
    told: dict[str, Any] = {"engine": "gpu", "state_hash": "of a GPU", "truth": GPU_TRUTH, **changes}
    return dataclasses.replace(episode, **told)


def motionless(episode: Episode) -> Episode:
    """The same claim, but the arm stays where it begins."""
    log = episode.log
    still = dataclasses.replace(
        log, positions=np.tile(log.positions[0], (len(log.positions), 1)), velocities=np.zeros_like(log.velocities)
    )
    return dataclasses.replace(episode, log=still)


def certify(*episodes: Episode, lanes: int = 2, **options: Any) -> dict[int, Episode]:
    """By seed; that none comes twice is checked here."""
    found = list(certified(episodes, CpuEngine(cube_table(), lanes, 1), **options))
    by_seed = {each.scenario.seed: each for each in found}
    assert len(by_seed) == len(found)
    return by_seed


def test_what_the_cpu_agrees_with_gets_its_hash_truth_and_states() -> None:
    (played, *_) = on_the_cpu()
    log = dataclasses.replace(played.log, states=np.ones_like(played.log.states))
    (found,) = certify(from_a_gpu(played, log=log)).values()
    assert found.certified is True
    assert found.state_hash == played.state_hash
    assert found.truth == played.truth
    assert found.goal_by_truth == played.goal_by_truth
    np.testing.assert_array_equal(found.log.states, played.log.states)
    # It is still the GPU's episode.
    assert (found.engine, found.verdict, found.transitions) == ("gpu", "success", played.transitions)
    assert found.as_dict()["certified"] is True


def test_a_log_without_states_is_given_none() -> None:
    (played, *_) = on_the_cpu()
    bare = dataclasses.replace(played.log, states=played.log.states[:0])
    (found,) = certify(from_a_gpu(played, log=bare)).values()
    assert found.certified is True
    assert found.log.states.shape == bare.states.shape
    assert found.log.positions is played.log.positions


def test_a_success_that_does_not_happen_on_the_cpu_is_not_certified_and_keeps_its_own_truth() -> None:
    claimed = from_a_gpu(motionless(on_the_cpu()[0]))
    (found,) = certify(claimed).values()
    assert found.certified is False
    assert found == dataclasses.replace(claimed, certified=False)
    assert found.as_dict()["certified"] is False


def test_a_claim_that_the_gpu_itself_contradicts_is_certified_only_by_what_happens() -> None:
    (played, *_) = on_the_cpu()
    refuted = tuple(dataclasses.replace(each, value=1.0, limit=0.0, relation="<=") for each in played.goal_by_truth)
    lie = from_a_gpu(played, goal_by_truth=refuted)
    assert lie.false_success
    (found,) = certify(lie).values()
    assert (found.certified, found.false_success) == (True, False)


def test_a_failure_that_fails_on_the_cpu_too_is_certified() -> None:
    failed = a_failure()
    assert not failed.succeeded
    (found,) = certify(from_a_gpu(failed)).values()
    assert found.certified is True
    assert (found.verdict, found.state_hash, found.truth) == (failed.verdict, failed.state_hash, failed.truth)


def test_a_failure_that_is_none_on_the_cpu_is_not_certified() -> None:
    (played, *_) = on_the_cpu()
    (found,) = certify(from_a_gpu(played, verdict="dropped", succeeded=False)).values()
    assert (found.certified, found.state_hash) == (False, "of a GPU")


@pytest.mark.parametrize("verdict", BREAKDOWNS)
def test_what_broke_down_comes_back_as_it_is(verdict: str) -> None:
    broken = from_a_gpu(on_the_cpu()[0], verdict=verdict, succeeded=False)
    (found,) = certify(broken).values()
    assert found is broken
    assert found.certified is None
    assert "certified" not in found.as_dict()


def test_what_has_no_log_comes_back_as_it_is() -> None:
    (played, *_) = on_the_cpu()
    rows = dict.fromkeys(("positions", "velocities"), played.log.positions[:0])
    bare = from_a_gpu(played, log=dataclasses.replace(played.log, **rows))
    (found,) = certify(bare).values()
    assert found is bare


@pytest.mark.parametrize("lanes", [1, 2, 7])
def test_of_many_episodes_none_is_lost_and_each_gets_its_own_truth(lanes: int) -> None:
    first, second, third, fourth, fifth = on_the_cpu()
    broken = from_a_gpu(second, verdict="crashed", succeeded=False)
    given = (from_a_gpu(first), broken, from_a_gpu(motionless(third)), from_a_gpu(fourth), from_a_gpu(fifth))
    found = certify(*given, lanes=lanes)
    assert {seed: each.certified for seed, each in found.items()} == {3: True, 4: None, 5: False, 6: True, 7: True}
    for played in (first, fourth, fifth):
        again = found[played.scenario.seed]
        assert (again.state_hash, again.truth) == (played.state_hash, played.truth)
        assert again.scenario is played.scenario


def test_breakdowns_alone_come_back_without_a_single_replay() -> None:
    broken = [from_a_gpu(each, verdict="hung", succeeded=False) for each in on_the_cpu()]
    assert list(certify(*broken).values()) == broken


def test_nothing_to_certify_is_nothing_to_do() -> None:
    assert certify() == {}


def test_told_to_stop_it_finishes_what_it_plays_and_lets_the_rest_through() -> None:
    asked = [0]

    def after_two() -> bool:
        asked[0] += 1
        return asked[0] > 2

    given = [from_a_gpu(each) for each in on_the_cpu()]
    found = certify(*given, stop=after_two)
    assert [found[each].certified for each in range(3, 8)] == [True, True, None, None, None]
    assert [found[each] for each in (5, 6, 7)] == given[2:]


def test_stopped_from_the_start_nothing_is_played() -> None:
    given = [from_a_gpu(each) for each in on_the_cpu()]
    assert list(certify(*given, stop=lambda: True).values()) == given


def test_episodes_are_taken_as_they_come_and_not_all_at_once() -> None:
    taken = [0]

    def coming() -> Iterator[Episode]:
        for each in on_the_cpu():
            taken[0] += 1
            yield from_a_gpu(each)

    found = certified(coming(), CpuEngine(cube_table(), 1, 1))
    next(found)
    assert taken[0] == 1
    assert len(list(found)) == 4


def test_a_log_is_judged_where_its_lane_stands() -> None:
    success, failed = on_the_cpu()[0], a_failure()
    engine = CpuEngine(cube_table(), 2, 1)
    ends = {}
    for replayed in replay_logs(engine, [success.log, failed.log]):
        episode, parameters = ((success, PARAMETERS), (failed, ONE_TRY))[replayed.number]
        ends[replayed.number] = ended_in(engine, LIFT_CUBE, parameters, episode.log, replayed)
        assert ends[replayed.number].truth == episode.truth
    assert [passes(ends[number].goal) for number in (0, 1)] == [True, False]
