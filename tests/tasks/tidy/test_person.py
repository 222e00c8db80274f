"""Somebody who takes what is held out: when, how hard, and what is left alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from graspline.engine.actors import Manner
from graspline.engine.events import Change, Event, Place, Push
from graspline.scenes.household_bodies import parked_m
from graspline.scenes.person import PERSON, PERSON_PARKED_M
from graspline.tasks.tidy.person import TAKEN_AT_M, Person, is_with_person

Array = NDArray[np.float64]

OFFERED = np.array(TAKEN_AT_M)
WAIT_S, PULL_N, DT_S = 1.0, 12.0, 1 / 60
Where = Callable[[float], Array]


@dataclass
class Moment:
    """As much of a world as a person sees."""

    time_s: float
    at: dict[str, Array]

    def position_m(self, name: str) -> Array:
        return self.at[name].copy()


def person(names: Sequence[str] = ("mug", "apple")) -> Person:
    return Person(
        names=tuple(names),
        masses_kg=dict.fromkeys(names, 0.3),
        waits_s=(WAIT_S, WAIT_S),
        pulls_n=(PULL_N, 2 * PULL_N),
    )


def acted(somebody: Person, for_s: float, begin_s: float = 0.0, **where: Where) -> list[tuple[float, Event]]:
    """Everything that is done while things are at places that change with time; the others wait out of sight."""
    done, put = [], {}
    for tick in range(round(for_s / DT_S)):
        time_s = begin_s + tick * DT_S
        at = {name: where[name](time_s) if name in where else np.array(parked_m(name)) for name in somebody.names}
        moment: Any = Moment(time_s=time_s, at=at | put)
        done += [(time_s, event) for event in somebody.act(moment)]
        put |= {each.body: np.array(each.position_m) for _, each in done if isinstance(each, Place)}
    return done


def pushes(done: list[tuple[float, Event]]) -> list[tuple[float, Push]]:
    return [(time_s, each) for time_s, each in done if isinstance(each, Push)]


def held(time_s: float) -> Array:
    """Held out, and never let go."""
    return OFFERED


def let_go(time_s: float) -> Array:
    """Held out, and drawn away by the person once the robot has let go at 1.5 s."""
    return OFFERED + np.array([0.0, -min(max(time_s - 1.5, 0.0) * 0.2, 0.18), 0.0])


def test_nothing_is_pulled_before_the_wait_is_over() -> None:
    first, _ = pushes(acted(person(), 2.0, mug=held))[0]
    assert first == pytest.approx(WAIT_S, abs=2 * DT_S)


def test_a_pull_grows_to_what_it_is_to_be_and_stays() -> None:
    done = pushes(acted(person(), 3.0, mug=held))
    strong = [float(np.linalg.norm(each.force_n)) for _, each in done]
    assert {each.body for _, each in done} == {"mug"}
    assert strong == sorted(strong)
    assert strong[0] < 0.2 * PULL_N
    assert strong[-1] == pytest.approx(PULL_N)
    # Away from the robot, level.
    x, y, z = done[-1][1].force_n
    assert (x, z) == (0.0, 0.0)
    assert y < 0


def test_the_hand_comes_before_it_pulls_and_stays_with_the_thing() -> None:
    hands = [each for _, each in acted(person(), 2.0, mug=held) if isinstance(each, Place) and each.body == PERSON]
    apart = [float(np.linalg.norm(np.array(each.position_m) - OFFERED)) for each in hands]
    assert apart[0] > 0.3
    assert apart[-1] < 0.12
    assert apart == sorted(apart, reverse=True)


def test_what_comes_free_is_carried_and_then_kept_out_of_the_way() -> None:
    somebody = person()
    done = acted(somebody, 4.0, mug=let_go)
    assert somebody.kept == ["mug"]
    (kept,) = [each for _, each in done if isinstance(each, Place) and each.body == "mug"]
    assert is_with_person(np.array(kept.position_m))
    # It floats where it is kept, and nobody pulls at it any more.
    assert any(isinstance(each, Change) for _, each in done)
    assert pushes(done)[-1][1].force_n == (0.0, 0.0, 0.0)
    carrying = [each for time_s, each in pushes(done) if 1.9 < time_s < 3.0]
    assert all(each.force_n[2] == pytest.approx(0.3 * 9.81, abs=0.5) for each in carrying)
    assert max(float(np.linalg.norm(each.force_n)) for each in carrying) <= 40.0 + 1e-9


def test_the_next_thing_is_taken_as_hard_as_it_is_to_be() -> None:
    somebody = person()
    kept = acted(somebody, 4.0, mug=let_go)
    place = next(each for _, each in kept if isinstance(each, Place) and each.body == "mug")
    done = pushes(acted(somebody, 3.0, begin_s=4.0, mug=lambda _: np.array(place.position_m), apple=held))
    assert {each.body for _, each in done} == {"apple"}
    assert float(np.linalg.norm(done[-1][1].force_n)) == pytest.approx(2 * PULL_N)


@pytest.mark.parametrize(
    "where",
    [
        pytest.param(lambda t: np.array([1.2, 0.1, 0.78]), id="on the table"),
        pytest.param(lambda t: np.array([-0.1, 1.7, 0.85]), id="on the shelf"),
        pytest.param(lambda t: OFFERED + np.array([0.0, 0.3 - 0.1 * t, 0.0]), id="on its way"),
        pytest.param(lambda t: np.array([0.08, -0.85, 0.05]), id="on the floor"),
    ],
)
def test_what_is_not_held_out_is_left_alone(where: Where) -> None:
    assert not pushes(acted(person(), 3.0, mug=where))


def test_what_is_taken_back_in_time_is_not_pulled() -> None:
    done = acted(person(), 3.0, mug=lambda t: OFFERED + np.array([0.0, max(t - 0.5, 0.0), 0.0]))
    assert not [each for _, each in pushes(done) if any(each.force_n)]


def outward_n(done: list[tuple[float, Event]], begin_s: float, end_s: float) -> list[float]:
    """Forces out of the robot's hand between two times, N."""
    return [-each.force_n[1] for time_s, each in pushes(done) if begin_s < time_s < end_s]


@pytest.mark.parametrize("first_n", [2.0, -8.0])
def test_somebody_may_pull_softly_or_push_before_pulling_in_earnest(first_n: float) -> None:
    somebody = person()
    somebody.manner = Manner(first_n=first_n, first_s=2.0)
    done = acted(somebody, 5.0, mug=held)
    assert set(outward_n(done, WAIT_S + 0.5, WAIT_S + 1.9)) == {first_n}
    assert outward_n(done, WAIT_S + 2.5, 5.0)[-1] == pytest.approx(PULL_N)


def test_only_the_next_thing_is_taken_so() -> None:
    somebody = person()
    somebody.manner = Manner(first_n=2.0, first_s=0.3)
    acted(somebody, 4.5, mug=let_go)
    assert somebody.kept == ["mug"]
    assert somebody.manner == Manner()


def test_somebody_who_goes_away_takes_nothing_and_comes_for_nothing_more() -> None:
    somebody = person()
    acted(somebody, 0.5, mug=held)
    somebody.manner = Manner(away=True)
    let, gone = (each for _, each in acted(somebody, 5.0, begin_s=0.5, mug=held))
    assert (let, gone) == (Push(body="mug", force_n=(0, 0, 0)), Place(body=PERSON, position_m=PERSON_PARKED_M))


def test_what_vanishes_while_it_is_pulled_is_let_go_and_not_kept() -> None:
    somebody = person()
    done = acted(somebody, 5.0, mug=lambda t: OFFERED if t < 1.5 else np.array(parked_m("mug")))
    assert somebody.kept == []
    assert pushes(done)[-1][1].force_n == (0.0, 0.0, 0.0)
    assert not [each for _, each in done if isinstance(each, Place) and each.body == "mug"]


class TestWithPerson:
    def test_where_it_is_drawn_to_and_where_it_is_kept(self) -> None:
        assert is_with_person(OFFERED - np.array([0.0, 0.18, 0.0]))
        assert is_with_person(np.array([0.85, -2.4, 0.8]))

    @pytest.mark.parametrize(
        "at", [(1.2, 0.1, 0.78), (-0.1, 1.7, 0.85), (0.08, -1.0, 0.05), (0.6, -2.4, 0.05), parked_m("mug")]
    )
    def test_table_shelf_floor_and_store_are_nobodys(self, at: tuple[float, float, float]) -> None:
        assert not is_with_person(np.array(at))
