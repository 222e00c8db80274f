from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from graspline.engine.cpu import CpuEngine
from graspline.episodes.log import log_of, replay_log, state_hash
from graspline.execution.track import Track
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
    track = Track(start=np.zeros(13), variation=run_seeds([3])[3].log.variation)
    assert log_of(track).ticks == 0
