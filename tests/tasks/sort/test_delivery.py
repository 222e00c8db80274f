"""What became of the blocks of an episode."""

from __future__ import annotations

from typing import Any

from graspline.evidence import at_least
from graspline.tasks.sort.delivery import delivered


def truth(*wheres: tuple[str, str]) -> dict[str, Any]:
    return {"sent": [{"colour": colour, "where": where} for colour, where in wheres]}


def test_a_block_is_right_only_in_the_bin_of_its_colour() -> None:
    found = delivered(truth(("red", "bin_red"), ("red", "bin_blue"), ("blue", "missed")), ())
    assert (found.sent, found.right, found.wrong) == (3, 1, 1)


def test_what_the_task_reports_is_taken_from_its_evidence() -> None:
    evidence = (at_least("sorted", 2, 0), at_least("missed_late", 1, 0), at_least("picks_per_min", 20.0, 0))
    found = delivered(truth(("red", "bin_red")), evidence)
    assert (found.claimed, found.missed, found.picks_per_min) == (2, {"late": 1}, 20.0)


def test_an_episode_that_ended_early_reports_nothing() -> None:
    found = delivered(truth(), ())
    assert (found.sent, found.claimed, found.missed, found.picks_per_min) == (0, 0, {}, None)
