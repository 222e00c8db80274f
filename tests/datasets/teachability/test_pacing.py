from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from graspline.datasets.teachability.demonstrations import Demonstrations
from graspline.datasets.teachability.pacing import pacing

from .planted import FPS, FRAMES, GRASP, demonstrations_of


def moving(count: int = 2) -> Demonstrations:
    """Pan moves at 10 degrees a second from the first frame to the last."""
    plain = demonstrations_of(np.zeros(count))
    actions = plain.actions.copy()
    actions[:, 0] = np.tile(np.arange(FRAMES), count) * 10 / FPS
    return dataclasses.replace(plain, actions=actions, measured=actions)


def stopped(demonstrations: Demonstrations, episode: int, begin: int, end: int) -> Demonstrations:
    """The same, where one episode stands still between two frames and then goes on as before."""
    actions = demonstrations.actions.copy()
    first, last = demonstrations.first[episode], demonstrations.first[episode + 1]
    actions[first + begin : first + end] = actions[first + begin]
    if first + end < last:
        actions[first + end : last] -= actions[first + end] - actions[first + begin] - [10 / FPS, 0, 0]
    return dataclasses.replace(demonstrations, actions=actions)


def test_what_never_stops_has_no_pause() -> None:
    told = pacing(moving(), 1.0)
    assert (told.pauses, told.idle, told.paused_in) == (0, 0.0, ())
    assert told.joints[0].median == pytest.approx(10.0)
    assert told.joints[0].jerk_p95 == pytest.approx(0.0, abs=1e-6)
    assert np.isnan(told.joints[1].median)
    assert np.isnan(told.tool_median)


def test_a_planted_pause_is_found_with_its_state_and_length() -> None:
    told = pacing(stopped(moving(), 1, 5, 16), 1.0)
    assert told.pauses == 1
    assert told.pauses_per_episode == 0.5
    assert told.paused_s_per_episode == pytest.approx(10 / FPS / 2)
    (only,) = told.paused_in
    assert (only.state, only.pauses, only.seconds) == ("reach", 1, pytest.approx(10 / FPS))
    assert (told.idle_first, told.idle_last) == (0.0, 0.0)
    assert told.idle_middle == pytest.approx(10 / (2 * FRAMES))


def test_a_pause_across_two_states_begins_in_one_and_lasts_in_both() -> None:
    told = pacing(stopped(moving(), 0, GRASP - 4, GRASP + 6), 1.0)
    by_state = {each.state: (each.pauses, each.seconds) for each in told.paused_in}
    assert by_state == {"reach": (1, pytest.approx(0.3)), "hold": (0, pytest.approx(0.6))}


def test_a_stop_of_two_frames_is_idle_but_no_pause() -> None:
    told = pacing(stopped(moving(), 0, 5, 8), 1.0)
    assert told.pauses == 0
    assert told.idle_middle > 0


def test_idle_frames_are_told_by_where_they_are() -> None:
    told = pacing(stopped(stopped(moving(1), 0, 30, FRAMES), 0, 0, 6), 1.0)
    assert told.idle_first == pytest.approx(6 / FRAMES)
    assert told.idle_last == pytest.approx((FRAMES - 31) / FRAMES)
    assert told.idle_middle == 0.0


def test_an_episode_ends_where_the_next_begins() -> None:
    """The jump from the end of one to the start of the next is no motion."""
    told = pacing(moving(3), 1.0)
    assert told.joints[0].p95 == pytest.approx(10.0)


def test_the_tool_has_a_speed_where_it_is_known() -> None:
    plain = moving()
    tool = np.zeros((len(plain.actions), 3))
    tool[:, 2] = np.tile(np.arange(FRAMES), 2) * 5.0
    assert pacing(dataclasses.replace(plain, tool_mm=tool), 1.0).tool_median == pytest.approx(50.0)
