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


class Question(Protocol):
    """What a planner may ask; all questions of one kind are answered together."""

    @classmethod
    def answered(cls, asked: Sequence[Any]) -> Sequence[Any]:
        """One answer for each, to the last bit the one it gets alone."""
        ...


Planning = Generator[Question, Any, T]


class Together(Generic[P, T]):
    """A planner to call for one arm, or by `many` for several at once; `steps` are for planners made of planners."""

    def __init__(self, steps: Callable[P, Planning[T]]) -> None:
        self.steps = steps
        functools.update_wrapper(self, steps)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> T:
        return alone(self.steps(*args, **kwargs))

    def many(self, arguments: Sequence[tuple[Any, ...]]) -> list[T]:
        """What each of these tuples of arguments gives."""
        steps: Callable[..., Planning[T]] = self.steps
        return side_by_side([steps(*each) for each in arguments])

    def __reduce__(self) -> str:
        """Goes to other processes by name, as a function does."""
        return self.steps.__qualname__


def together(steps: Callable[P, Planning[T]]) -> Together[P, T]:
    """Make a planner of a function that yields questions."""
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
    found: list[Any] = [None] * len(plannings)
    answers: dict[int, Any] = dict.fromkeys(range(len(plannings)))
    while answers:
        asked: dict[type[Question], list[tuple[int, Question]]] = {}
        for index, answer in answers.items():
            try:
                question = plannings[index].send(answer)
            except StopIteration as done:
                found[index] = done.value
            else:
                asked.setdefault(type(question), []).append((index, question))
        answers = {}
        for kind, questions in asked.items():
            given = kind.answered([question for _, question in questions])
            answers.update(zip((index for index, _ in questions), given, strict=True))
    return found
