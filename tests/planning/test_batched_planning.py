"""Planners side by side: each finds what it finds alone, and what they ask at the same time is answered once."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from graspline.planning.batched_planning import Planning, Rounds, alone, side_by_side, together

CALLS: list[tuple[str, int]] = []


@pytest.fixture(autouse=True)
def calls() -> list[tuple[str, int]]:
    """The kind of every call for answers and how many questions it answered."""
    CALLS.clear()
    return CALLS


@dataclass(frozen=True)
class Double:
    number: int

    @classmethod
    def answered(cls, asked: Sequence[Double]) -> list[int]:
        CALLS.append(("double", len(asked)))
        return [2 * each.number for each in asked]


@dataclass(frozen=True)
class Inverse:
    number: int

    @classmethod
    def answered(cls, asked: Sequence[Inverse]) -> list[float]:
        CALLS.append(("inverse", len(asked)))
        return [1 / each.number for each in asked]


@together
def doubled(number: int, times: int = 1) -> Planning[int]:
    """Doubled so many times."""
    for _ in range(times):
        number = yield Double(number)
    return number


@together
def inverse_of_double(number: int) -> Planning[float]:
    twice = yield from doubled.steps(number)
    return (yield Inverse(twice))


def test_a_planner_called_alone_is_a_plain_function() -> None:
    assert doubled(3, times=4) == 48
    assert doubled.__doc__ == "Doubled so many times."


def test_what_planners_ask_at_the_same_time_is_answered_in_one_call(calls: list[tuple[str, int]]) -> None:
    assert doubled.many([(1, 1), (2, 3), (3, 2)]) == [2, 16, 12]
    assert calls == [("double", 3), ("double", 2), ("double", 1)]


def test_a_planner_made_of_planners_shares_their_calls(calls: list[tuple[str, int]]) -> None:
    assert inverse_of_double.many([(1,), (2,), (4,)]) == [1 / 2, 1 / 4, 1 / 8]
    assert calls == [("double", 3), ("inverse", 3)]


def test_questions_of_different_kinds_do_not_wait_for_each_other(calls: list[tuple[str, int]]) -> None:
    assert side_by_side([doubled.steps(1, 2), inverse_of_double.steps(1)]) == [4, 1 / 2]
    assert calls == [("double", 2), ("double", 1), ("inverse", 1)]


def test_who_asks_nothing_is_done_at_once(calls: list[tuple[str, int]]) -> None:
    assert doubled.many([(5, 0), (6, 0)]) == [5, 6]
    assert doubled.many([]) == []
    assert alone(doubled.steps(7, 0)) == 7
    assert calls == []


def test_what_one_of_them_raises_is_raised() -> None:
    with pytest.raises(ZeroDivisionError):
        inverse_of_double.many([(1,), (0,)])


def test_a_planner_goes_to_other_processes_by_name() -> None:
    assert pickle.loads(pickle.dumps(doubled)) is doubled


def test_planners_may_join_between_two_rounds_and_are_not_waited_for(calls: list[tuple[str, int]]) -> None:
    rounds = Rounds[str, float]()
    rounds.begin("first", doubled.steps(1, 2))
    rounds.go_on()
    rounds.begin("second", doubled.steps(5, 2))
    rounds.go_on()
    assert rounds.found == {}
    assert rounds.under_way == 2
    rounds.go_on()
    assert rounds.found == {"first": 4}
    assert rounds.under_way == 1
    rounds.go_on()
    assert rounds.found == {"first": 4, "second": 20}
    assert not rounds.under_way
    assert calls == [("double", 1), ("double", 2), ("double", 1)]


def test_whose_question_cannot_be_answered_ends_alone_and_one_may_be_dropped() -> None:
    rounds = Rounds[str, float]()
    rounds.begin("sound", inverse_of_double.steps(1))
    rounds.begin("broken", inverse_of_double.steps(0))
    rounds.begin("unwanted", doubled.steps(1, 9))
    rounds.go_on()
    rounds.drop("unwanted")
    while rounds.under_way:
        rounds.go_on()
    assert rounds.found == {"sound": 0.5}
    assert {name: type(error) for name, error in rounds.raised.items()} == {"broken": ZeroDivisionError}
