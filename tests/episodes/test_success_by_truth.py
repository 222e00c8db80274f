"""Success by truth: for how long, and when it starts anew."""

from __future__ import annotations

import dataclasses

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from graspline.episodes.scenario import Scenario
from graspline.episodes.success_by_truth import STEADY_S, Referee, SparseReferee
from graspline.evidence import at_least
from graspline.scenes.variation import Variation
from graspline.tasks.lift_cube import LIFT_CUBE, LiftCube
from graspline.tasks.task import Draw, Milestone, PolicyRules, Snapshot

DRAW = Draw(start=np.zeros(1), variation=Variation(), refused=0)
# A task whose goal is that the jaws are open.
OPEN = dataclasses.replace(LIFT_CUBE, goal=lambda parameters, draw, truth: (at_least("gap", truth.jaw_gap_m, 0.01),))


def at(time_s: float, gap_m: float) -> Snapshot:
    return Snapshot(
        objects={},
        places={},
        tool_m=np.zeros(3),
        tool_quaternion=np.array([1.0, 0, 0, 0]),
        jaw_gap_m=gap_m,
        pad_forces_n=(0.0, 0.0),
        joints_rad=np.zeros(6),
        time_s=time_s,
    )


def test_a_goal_counts_once_its_milestone_has_been_reached() -> None:
    wide = Milestone(name="wide", check=lambda parameters, draw, truth: (at_least("gap", truth.jaw_gap_m, 0.05),))
    task = dataclasses.replace(OPEN, policy=PolicyRules(milestone=wide))
    referee = Referee(Scenario(task=task, parameters=LiftCube(), seed=0), DRAW)
    assert not any(referee.succeeded(at(time_s, 0.02)) for time_s in (0.0, 0.2, 0.4))
    assert referee.evidence[-1] == at_least("wide", 0, 1)
    assert not referee.succeeded(at(0.5, 0.06))
    # Met from here on; it need not stay reached.
    assert [referee.succeeded(at(time_s, 0.02)) for time_s in (0.6, 0.7, 0.8)] == [False, False, True]
    assert referee.evidence[-1] == at_least("wide", 1, 1)


def rulings(gaps: dict[float, float]) -> list[bool]:
    referee = Referee(Scenario(task=OPEN, parameters=LiftCube(), seed=0), DRAW)
    return [referee.succeeded(at(time_s, gap_m)) for time_s, gap_m in gaps.items()]


@given(
    st.lists(st.tuples(st.sampled_from([1, 1, 1, 7, 40]), st.booleans()), max_size=60), st.sampled_from([10, 30, 60])
)
def test_a_referee_that_judges_few_frames_rules_as_one_that_judges_all(runs: list[tuple[int, bool]], fps: int) -> None:
    met = [each for length, each in runs for _ in range(length)]
    judged: list[float] = []

    def look(frame: float, time_s: float) -> bool:
        judged.append(time_s)
        return frame >= 0.01

    sparse = SparseReferee(look)
    gaps = {index / fps: 0.02 if each else 0.0 for index, each in enumerate(met)}
    assert [sparse.succeeded(gap_m, time_s) for time_s, gap_m in gaps.items()] == rulings(gaps)
    assert len(judged) == len(set(judged))


def test_frames_in_which_nothing_is_achieved_are_hardly_judged() -> None:
    judged: list[float] = []
    sparse = SparseReferee(lambda frame, time_s: bool(judged.append(time_s)))
    assert not any(sparse.succeeded(index, index / 30) for index in range(300))
    assert len(judged) <= 300 / (30 * STEADY_S)


def test_a_goal_that_is_met_for_long_enough_is_a_success() -> None:
    assert rulings({0.0: 0.02, STEADY_S / 2: 0.02, STEADY_S: 0.02}) == [False, False, True]


def test_a_goal_that_is_lost_on_the_way_must_be_met_anew() -> None:
    assert rulings({0.0: 0.02, 0.2: 0.0, 0.3: 0.02, 0.5: 0.02, 0.6: 0.02}) == [False, False, False, False, True]


def test_a_goal_that_is_never_met_is_no_success_and_its_measurements_are_kept() -> None:
    referee = Referee(Scenario(task=OPEN, parameters=LiftCube(), seed=0), DRAW)
    assert not any(referee.succeeded(at(time_s, 0.004)) for time_s in (0.0, 1.0, 2.0))
    (gap,) = referee.evidence
    assert gap.value == 0.004


def test_a_success_that_is_lost_later_is_none_any_more() -> None:
    assert rulings({0.0: 0.02, 1.0: 0.02, 2.0: 0.0}) == [False, True, False]
