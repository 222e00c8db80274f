from __future__ import annotations

import numpy as np

from graspline.engine.events import Push
from graspline.execution.lane_recording import LaneRecording

from .playing import PLAIN, START, path_of


def test_a_track_that_has_not_begun_is_empty() -> None:
    track = LaneRecording(start=START, variation=PLAIN)
    assert track.ticks == 0
    assert len(track.reference()[0]) == len(track.reference()[1]) == 0
    assert track.states.shape == (0, len(START))
    assert track.events == []


def test_a_track_grows_by_what_was_played_of_each_path() -> None:
    track = LaneRecording(start=START, variation=PLAIN)
    first, second = np.arange(30.0).reshape(5, 6), 100 + np.arange(24.0).reshape(4, 6)
    track.append(path_of(first, -first), 2)
    track.append(path_of(second, -second), 0)
    track.append(path_of(second, -second), 3)
    positions, velocities = track.reference()
    assert track.ticks == 5
    np.testing.assert_array_equal(positions, np.concatenate([first[:2], second[:4]]))
    np.testing.assert_array_equal(velocities, -positions)


def test_states_are_copies() -> None:
    track, qpos = LaneRecording(start=START, variation=PLAIN), START.copy()
    track.append_state(qpos)
    qpos[:] = 0
    track.append_state(qpos)
    np.testing.assert_array_equal(track.states, np.stack([START, np.zeros_like(START)]))


def test_events_keep_their_tick() -> None:
    track = LaneRecording(start=START, variation=PLAIN)
    push = Push(body="cube", force_n=(0.0, 0.0, 1.0))
    track.events.append((3, push))
    assert track.events == [(3, push)]
