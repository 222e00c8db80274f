"""Rates over density and speed: what is counted, and what is drawn."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from graspline.episodes.episode import Episode
from graspline.episodes.rates import Point, draw_rates
from graspline.evidence import at_least


def episode(wheres: list[tuple[str, str]], *, told: int, **missed: int) -> Episode:
    evidence = [at_least("sorted", told, 0), at_least("picks_per_min", 20.0, 0)]
    evidence += [at_least(f"missed_{cause}", count, 0) for cause, count in missed.items()]
    truth = {"blocks": [{"colour": colour, "where": where} for colour, where in wheres]}
    return cast(Episode, SimpleNamespace(evidence=tuple(evidence), truth=truth))


def point(**more: Any) -> Point:
    return Point(speed_m_s=0.05, density_per_m=4.0, **more)


def test_only_blocks_in_the_right_bin_count() -> None:
    found = point()
    found.add(episode([("red", "bin_red"), ("red", "bin_blue"), ("blue", "missed")], told=1, late=1))
    assert (found.sent, found.right, found.wrong, found.false) == (3, 1, 1, 0)
    assert found.missed == {"late": 1}


def test_a_block_that_is_said_to_be_sorted_and_is_not_is_false() -> None:
    found = point()
    found.add(episode([("red", "missed")], told=1))
    assert found.false == 1


def test_the_chart_shows_every_speed_and_nothing_that_was_not_measured() -> None:
    first, second = point(), Point(speed_m_s=0.2, density_per_m=1.0)
    for each in (first, second):
        each.add(episode([("red", "bin_red")], told=1))
    drawn = draw_rates([first.as_dict(), second.as_dict()])
    assert "50 mm/s" in drawn
    assert "200 mm/s" in drawn
    assert drawn.count("<text x='88'") == 2
