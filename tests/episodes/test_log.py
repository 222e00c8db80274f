from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np
import pytest

from graspline.engine.cpu import CpuEngine
from graspline.episodes.log import EpisodeLog, log_of, replay_log, replay_logs, state_hash
from graspline.execution.lane_recording import LaneRecording
from graspline.scenes.cube_table import cube_table

from .playing import run_seeds


@pytest.mark.parametrize(
    "fault",
    [
        (),
        ("drop@lift+0.3",),
        ("shove@descend",),
        ("remove@hold+0.2",),
        ("jam@lift+0.1",),
        ("noise@lift",),
        ("nan-control@lift+0.2",),
    ],
)
def test_a_log_played_again_gives_the_same_bits(fault: tuple[str, ...]) -> None:
    episode = run_seeds([3, 4], *fault, lanes=2)[3]
    assert (len(episode.log.events) > 0) == bool(fault)
    assert replay_log(CpuEngine(cube_table(), 1, 1), episode.log) == episode.state_hash
    # In a lane among others, that has been used, as well.
    engine = CpuEngine(cube_table(), 3, 2)
    replay_log(engine, run_seeds([8])[8].log)
    assert replay_log(engine, episode.log) == episode.state_hash


def test_logs_played_side_by_side_give_the_same_bits_as_alone() -> None:
    faults = ((), ("drop@lift+0.3",), ("nan-control@lift+0.2",), (), ("shove@descend",))
    episodes = [run_seeds([seed], *fault, record_states=True)[seed] for seed, fault in enumerate(faults)]
    engine = CpuEngine(cube_table(), 2, 2)
    seen = []
    for replayed in replay_logs(engine, (episode.log for episode in episodes)):
        episode = episodes[replayed.number]
        assert replayed.state_hash == episode.state_hash
        np.testing.assert_array_equal(replayed.states, [episode.log.start, *episode.log.states])
        # Its lane is as it ended, until the next is asked for.
        assert state_hash(episode.log, engine.state(replayed.lane)) == episode.state_hash
        seen.append(replayed.number)
    assert sorted(seen) == list(range(len(faults)))


def test_logs_are_read_only_when_a_lane_is_free() -> None:
    log, asked = run_seeds([3])[3].log, []

    def logs() -> Iterator[EpisodeLog]:
        for number in range(3):
            asked.append(number)
            yield log

    first = next(replay_logs(CpuEngine(cube_table(), 1, 1), logs()))
    assert (first.number, asked) == (0, [0])


def test_a_log_without_its_events_leads_elsewhere() -> None:
    episode = run_seeds([3], "drop@lift+0.3")[3]
    calm = dataclasses.replace(episode.log, events=())
    assert replay_log(CpuEngine(cube_table(), 1, 1), calm) != episode.state_hash


def test_states_in_a_log_are_those_a_replay_passes_through() -> None:
    log = run_seeds([3], record_states=True)[3].log
    assert log.states.shape == (log.ticks, len(log.start))
    engine = CpuEngine(cube_table(), 1, 1)
    half = dataclasses.replace(log, positions=log.positions[:101], velocities=log.velocities[:101])
    replay_log(engine, half)
    np.testing.assert_array_equal(engine.qpos[0], log.states[99])


def test_a_hash_changes_with_anything_that_was_commanded_or_reached() -> None:
    log = run_seeds([3])[3].log
    final = np.arange(5.0)
    hashes = {state_hash(log, final), state_hash(log, final + 1e-12)}
    for part in ("start", "positions", "velocities"):
        changed = getattr(log, part).copy()
        changed.flat[-1] += 1e-9
        hashes.add(state_hash(dataclasses.replace(log, **{part: changed}), final))
    assert len(hashes) == 5
    assert state_hash(log, final) == state_hash(log, final.copy())


def test_the_log_of_an_empty_track_has_no_ticks() -> None:
    track = LaneRecording(start=np.zeros(13), variation=run_seeds([3])[3].log.variation)
    assert log_of(track).ticks == 0
