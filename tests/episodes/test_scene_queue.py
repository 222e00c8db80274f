"""Scenes drawn ahead are those drawn when they are asked for, and come in the order of their scenarios."""

from __future__ import annotations

import numpy as np
import pytest

import graspline.episodes.scene_queue
from graspline.episodes.scenario import Scenario
from graspline.episodes.scene_queue import Draws
from graspline.tasks.catalogue import find_task

COUNT = 7


def _scenarios(task: str = "lift-cube") -> list[Scenario]:
    found = find_task(task)
    return [Scenario(task=found, parameters=found.parameters(), seed=900 + index) for index in range(COUNT)]


@pytest.mark.parametrize("task", ["lift-cube", "grab"])
@pytest.mark.parametrize("ahead", [0, 3, 50])
@pytest.mark.parametrize("rounds", [0, 5])
def test_a_scene_is_the_same_however_far_ahead_it_is_drawn(task: str, ahead: int, rounds: int) -> None:
    scenarios = _scenarios(task)
    draws = Draws(scenarios, ahead=ahead)
    found = []
    while draws:
        for _ in range(rounds):
            draws.go_on()
        found += draws.take(2)
    assert [scenario for scenario, _ in found] == scenarios
    for scenario, draw in found:
        alone = scenario.sample()
        assert draw.start.tobytes() == alone.start.tobytes()
        assert draw.variation == alone.variation
        assert draw.refused == alone.refused


def test_no_more_are_drawn_ahead_than_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[int] = []
    monkeypatch.setattr(
        Scenario, "stream", lambda self, name: begun.append(self.seed) or np.random.default_rng(self.seed)
    )
    draws = Draws(_scenarios(), ahead=3)
    for _ in range(100):
        draws.go_on()
    assert begun == [900, 901, 902]
    draws.take(1)
    draws.go_on()
    assert begun == [900, 901, 902, 903]


def test_more_than_there_are_left_cannot_be_taken() -> None:
    draws = Draws(_scenarios(), ahead=2)
    assert len(draws.take(COUNT + 5)) == COUNT
    assert not draws
    assert draws.take(1) == []
    draws.go_on()


@pytest.mark.parametrize("ahead", [0, 2])
def test_somebody_who_asks_to_stop_does_not_wait_for_a_scene(ahead: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graspline.episodes.scene_queue, "_LONG_SEARCH", 1)
    asked = iter([False, True])
    draws = Draws(_scenarios("oranges"), ahead=ahead)
    assert draws.take(1, lambda: next(asked)) == []
