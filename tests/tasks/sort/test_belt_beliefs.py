"""What the states of `sort` hand on: the tally, and blocks that are confirmed or given up."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from graspline.evidence import Evidence, passes
from graspline.tasks.sort.belt_beliefs import BeltBeliefs, BlockTally, Pending, given_up
from graspline.tasks.sort.hand_poses import DOWNSTREAM_M
from graspline.tasks.sort.parameters import BeltParameters, Sort
from graspline.tasks.sort.states import account, quiet_s

from .lines import CELL, seen, tracks_of


def told(evidence: Evidence) -> dict[str, float]:
    return {each.name: each.value for each in evidence}


def test_a_full_tally_passes_and_accounts_for_every_block() -> None:
    tally = BlockTally(sorted=("red", "blue", "red"), gripped_s=(1.0, 2.5, 4.0))
    evidence = tally.evidence(3, 0.95)
    assert passes(evidence)
    assert told(evidence) == pytest.approx(
        {
            "sorted_share": 1.0,
            "blocks": 3,
            "wanted": 3,
            "sorted": 3,
            "sorted_wrong": 0,
            "ignored": 0,
            "picks_per_min": 40.0,
        }
    )
    assert (tally.number_of("red"), tally.number_of("green"), tally.settled) == (2, 0, 3)


def test_causes_are_counted_and_what_nobody_saw_is_missed_too() -> None:
    tally = BlockTally(sorted=("red",) * 6, missed=("late", "crowded", "late"), ignored=1)
    found = told(tally.evidence(12, 0.5))
    assert found["missed_late"] == 2
    assert found["missed_crowded"] == 1
    assert found["missed_unseen"] == 2
    assert found["sorted_share"] == pytest.approx(6 / 11)
    assert tally.settled == 10
    # Sorted, missed and ignored are all there were.
    missed = sum(value for name, value in found.items() if name.startswith("missed_"))
    assert found["sorted"] + missed + found["ignored"] == found["blocks"]


def test_too_small_a_share_fails_and_only_that() -> None:
    evidence = BlockTally(sorted=("red",) * 9, missed=("late",)).evidence(10, 0.95)
    assert not passes(evidence)
    assert [each.name for each in evidence if not each.passed] == ["sorted_share"]
    assert passes(BlockTally(sorted=("red",) * 9, missed=("late",)).evidence(10, 0.9))


def test_where_every_block_is_ignored_nothing_was_sorted_and_the_evidence_says_so() -> None:
    line = BeltBeliefs(tracks=tracks_of(), tally=BlockTally(ignored=4))
    found = account(replace(CELL, settings=Sort(belt=BeltParameters(blocks=4))), line)
    assert found.name == "idle"
    assert [each.name for each in found.evidence if not each.passed] == ["sorted_share", "wanted"]
    assert not passes(BlockTally().evidence(4, 0.95))


def test_a_wait_for_nothing_lasts_until_the_next_block_could_have_come_at_any_speed() -> None:
    for speed in (0.01, 0.02, 0.05, 0.4):
        for density in (0.2, 2.5, 14.0):
            settings = Sort(belt=BeltParameters(speed_m_s=speed, density_per_m=density))
            assert quiet_s(settings, speed) * speed >= max(settings.belt.longest_gap_m, 2.2)
    assert quiet_s(Sort(), 0.0) == 60.0


@pytest.mark.parametrize("gripped", [(), (3.0,), (3.0, 3.0)])
def test_a_rate_takes_two_grips(gripped: tuple[float, ...]) -> None:
    assert BlockTally(gripped_s=gripped).picks_per_min == 0.0


def let_go(colour: str = "red") -> Pending:
    return Pending(colour=colour, bin=f"bin_{colour}", point_m=np.array([0.26, -0.24, 0.04]), time_s=1.0)


def test_a_confirmed_block_is_sorted_and_no_longer_pending() -> None:
    one, two = let_go(), let_go()
    line = BeltBeliefs(tracks=tracks_of(), pending=(one, two)).confirming(two)
    assert line.pending == (one,)
    assert line.placed == (two,)
    assert line.tally.sorted == ("red",)


def test_only_some_of_what_lies_in_bins_is_remembered() -> None:
    line = BeltBeliefs(tracks=tracks_of())
    for _ in range(40):
        line = line.confirming(let_go())
    assert len(line.tally.sorted) == 40
    assert len(line.placed) < 20


def test_the_last_reason_to_refuse_a_block_is_the_one_that_counts() -> None:
    line = BeltBeliefs(tracks=tracks_of()).refusing(((1, "crowded"), (2, "late"))).refusing(((1, "unreachable"),))
    assert dict(line.refused) == {1: "unreachable", 2: "late"}


def test_a_look_that_shows_a_block_keeps_the_line_awake() -> None:
    line = BeltBeliefs(tracks=tracks_of())
    assert line.seeing(tracks_of(seen()), 0.0).active_s == 0.0
    assert line.seeing(tracks_of(replace(seen(), last_seen_s=4.0)), 4.0).active_s == 4.0
    assert line.seeing(tracks_of(seen()), 9.0).active_s == 0.0


def test_blocks_that_have_passed_are_given_up_with_the_reason_they_were_not_taken() -> None:
    gone = DOWNSTREAM_M - 0.1
    passed = (seen(number=1, y=gone), seen(number=2, y=gone), seen(number=3, y=gone, colour="unknown"))
    line = replace(BeltBeliefs(tracks=tracks_of(*passed, seen(number=4))), refused=((1, "crowded"), (4, "not_yet")))
    after = given_up(line, Sort(), 0.0)
    assert [each.number for each in after.tracks.alive] == [4]
    assert after.tally.missed == ("crowded", "late")
    assert after.tally.ignored == 1


def test_what_was_seen_only_once_may_have_been_nothing() -> None:
    glimpse = replace(seen(y=DOWNSTREAM_M - 0.1), sightings=1)
    after = given_up(BeltBeliefs(tracks=tracks_of(glimpse)), Sort(), 0.0)
    assert after.tracks.alive == ()
    assert after.tally == BlockTally()


def test_on_a_belt_that_runs_back_blocks_may_come_again() -> None:
    back = seen(y=DOWNSTREAM_M - 0.1, speed=-0.05)
    assert given_up(BeltBeliefs(tracks=tracks_of(back)), Sort(), 0.0).tracks.alive == (back,)
    gone = seen(y=1.2, speed=-0.05)
    after = given_up(BeltBeliefs(tracks=tracks_of(gone)), Sort(), 0.0)
    assert (after.tracks.alive, after.tally) == ((), BlockTally())
