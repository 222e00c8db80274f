"""Planners that run side by side: what they ask at the same time is answered in one call.

A planner is written for one arm, top to bottom, as a generator that yields its questions. Alone or among hundreds, it
is the same code and gives the same bits; only how many questions share a call differs.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Generator, Sequence
from typing import Any, Generic, ParamSpec, Protocol, TypeVar

P = ParamSpec("P")
T = TypeVar("T")
K = TypeVar("K")


class PlannerQuery(Protocol):
    """What a planner may ask; all questions of one kind are answered together."""

    @classmethod
    def answered(cls, asked: Sequence[Any]) -> Sequence[Any]:
        """One answer for each, to the last bit the one it gets alone."""
        ...


Planning = Generator[PlannerQuery, Any, T]
"""What a planner or sampler returns that is written as a generator, see `together`: `Planning[Draw]`."""


class Together(Generic[P, T]):
    """A planner to call for one arm, or by `many` for several at once; `steps` are for planners made of planners."""

    def __init__(self, steps: Callable[P, Planning[T]]) -> None:
        self.steps = steps
        functools.update_wrapper(self, steps)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> T:
        """Answer one query alone."""
        return alone(self.steps(*args, **kwargs))

    def many(self, arguments: Sequence[tuple[Any, ...]]) -> list[T]:
        """What each of these tuples of arguments gives."""
        steps: Callable[..., Planning[T]] = self.steps
        return side_by_side([steps(*each) for each in arguments])

    def __reduce__(self) -> str:
        """Goes to other processes by name, as a function does."""
        return self.steps.__qualname__


def together(steps: Callable[P, Planning[T]]) -> Together[P, T]:
    """Make a planner or sampler of a generator function that runs other planners by `yield from planner.steps(…)`.

    It is called like a plain function. When several episodes need it at the same time, it runs for all of them side by
    side with the same results, which is faster.

    >>> from graspline import stages
    >>> @stages.together
    ... def both(first: int, second: int) -> stages.Planning[int]:
    ...     yield from ()
    ...     return first + second
    >>> both(1, 2), both.many([(1, 2), (3, 4)])
    (3, [3, 7])
    """
    return Together(steps)


def alone(planning: Planning[T]) -> T:
    """What one planner finds."""
    answer: Any = None
    while True:
        try:
            question = planning.send(answer)
        except StopIteration as done:
            return done.value
        (answer,) = type(question).answered([question])


def side_by_side(plannings: Sequence[Planning[T]]) -> list[T]:
    """What each of these finds; as long as several are not done, what they ask is answered together."""
    if len(plannings) == 1:
        return [alone(plannings[0])]
    rounds = Rounds[int, T]()
    for index, planning in enumerate(plannings):
        rounds.begin(index, planning)
    while rounds.under_way:
        rounds.go_on()
        for error in rounds.raised.values():
            raise error
    return [rounds.found[index] for index in range(len(plannings))]


class Rounds(Generic[K, T]):
    """Planners under way side by side, for callers with other work between two of their questions."""

    def __init__(self) -> None:
        self._plannings: dict[K, Planning[T]] = {}
        self._answers: dict[K, Any] = {}
        # What those that are done have found, or why they could not.
        self.found: dict[K, T] = {}
        self.raised: dict[K, Exception] = {}

    def begin(self, name: K, planning: Planning[T]) -> None:
        """Let one more planner ask from the next round on."""
        self._plannings[name], self._answers[name] = planning, None

    def drop(self, name: K) -> None:
        """Forget a planner, whether it is done or not."""
        for each in (self._plannings, self._answers, self.found, self.raised):
            each.pop(name, None)

    @property
    def under_way(self) -> int:
        """How many are being computed."""
        return len(self._plannings)

    def go_on(self) -> None:
        """One question of each, all of one kind answered in one call. One that raises ends alone."""
        asked: dict[type[PlannerQuery], list[tuple[K, PlannerQuery]]] = {}
        for name, answer in self._answers.items():
            try:
                question = self._plannings[name].send(answer)
            except StopIteration as done:
                self.found[name] = done.value
                del self._plannings[name]
            except Exception as error:
                self._end(name, error)
            else:
                asked.setdefault(type(question), []).append((name, question))
        self._answers = {}
        spoilt: list[tuple[K, PlannerQuery]] = []
        for kind, questions in asked.items():
            try:
                given = kind.answered([question for _, question in questions])
            except Exception:
                spoilt += questions
            else:
                self._answers.update(zip((name for name, _ in questions), given, strict=True))
        self._answer_each(spoilt)

    def _answer_each(self, questions: Sequence[tuple[K, PlannerQuery]]) -> None:
        """Questions of which one spoilt the answers of all: each by itself."""
        for name, question in questions:
            try:
                (self._answers[name],) = type(question).answered([question])
            except Exception as error:
                self._end(name, error)

    def _end(self, name: K, error: Exception) -> None:
        self.raised[name] = error
        del self._plannings[name]
