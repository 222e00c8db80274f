"""What the questions of tasks are answered with: answers a scenario brings, a person's, or the default."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence

from graspline.episodes.scenario import GivenAnswer
from graspline.errors import InputError, nearest
from graspline.execution.notifications import Answered
from graspline.execution.requests import Ask, Preempted

# Asks a person; None while there is no answer.
AskPerson = Callable[[int, Ask], Answered | None]


def first_default(answers: Iterable[tuple[float, Answered]]) -> Answered | None:
    """The first of an episode's questions, with their times, that nothing but the default answered."""
    return next((each for _, each in answers if each.by == "default"), None)


class Questions:
    """Answers the questions of several lanes.

    What a scenario brings comes first, in order and no earlier than it was given then; where `ask` asks a person, that
    is next; unattended runs get the default.
    """

    def __init__(self, ask: AskPerson | None) -> None:
        self._ask = ask
        self._given: dict[int, deque[GivenAnswer]] = {}
        # An answer that is no option of its question; what asked for it is preempted.
        self.problem: InputError | None = None

    @property
    def attended(self) -> bool:
        """Whether a person can be asked."""
        return self._ask is not None

    def begin(self, lane: int, given: Sequence[GivenAnswer]) -> None:
        """An episode begins in a lane, with these answers given in advance."""
        self._given[lane] = deque(given)

    def answer(self, lane: int, ask: Ask, time_s: float) -> Answered | None:
        """The answer, or None while there is none yet."""
        given = self._given.get(lane)
        if given:
            if time_s < given[0].t_s - 1e-9:
                return None
            text = given.popleft().text
            if text not in ask.options:
                self.problem = InputError(f"{ask.question!r} has no answer {text!r}; {nearest(text, ask.options)}")
                raise Preempted
            return Answered(question=ask.question, answer=text, by="scenario")
        if self._ask is not None:
            return self._ask(lane, ask)
        return Answered(question=ask.question, answer=ask.default, by="default")
