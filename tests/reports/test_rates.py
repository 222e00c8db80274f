"""Rates over density and speed: what is counted, and what is drawn."""

from __future__ import annotations

from typing import Any

from graspline.reports.rates import RatePoint, rates_chart
from graspline.tasks.task import Delivered


def point(**more: Any) -> RatePoint:
    return RatePoint(speed_m_s=0.05, density_per_m=4.0, **more)


def delivered(sent: int, right: int, wrong: int = 0, *, claimed: int, **missed: int) -> Delivered:
    return Delivered(sent=sent, right=right, wrong=wrong, claimed=claimed, missed=missed, picks_per_min=20.0)


def test_episodes_are_added_up() -> None:
    found = point()
    found.add(delivered(3, 1, 1, claimed=1, late=1))
    found.add(delivered(2, 1, claimed=1, late=1))
    assert (found.episodes, found.sent, found.right, found.wrong, found.false) == (2, 5, 2, 1, 0)
    assert found.missed == {"late": 2}
    assert found.picks_per_min == [20.0, 20.0]


def test_what_is_said_to_be_sorted_and_is_not_is_false() -> None:
    found = point()
    found.add(delivered(1, 0, claimed=1))
    # What another episode did not claim does not make up for it.
    found.add(delivered(1, 1, claimed=0))
    assert found.false == 1


def test_the_chart_shows_every_speed_and_nothing_that_was_not_measured() -> None:
    first, second = point(), RatePoint(speed_m_s=0.2, density_per_m=1.0)
    for each in (first, second):
        each.add(delivered(1, 1, claimed=1))
    drawn = rates_chart([first.as_dict(), second.as_dict()])
    assert "50 mm/s" in drawn
    assert "200 mm/s" in drawn
    assert drawn.count("<text x='88'") == 2
