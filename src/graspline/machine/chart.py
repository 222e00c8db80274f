"""What a diagram shows of a machine, before it has a shape: the way to success, where else outcomes lead, and the ends.

Made from the table alone. An outcome that only says that a state's time is up is left out unless asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from graspline.execution.notifications import EndsAs, Then
from graspline.machine.machine import Machine
from graspline.machine.outcome import TIMED_OUT
from graspline.machine.table import End, Retry, Transition

# How often an outcome of a state led where, all three named as events name them.
Taken = Mapping[tuple[str, str, Then], int]
# A plain transition, those that spend a budget because something went wrong or for the next round, and both ends.
Kind = Literal["plain", "retry", "round", "failure", "success"]
FAILURE = "failure"


@dataclass(frozen=True, slots=True)
class Lane:
    """Where a line leads, and what it spends: exits of one lane end in one arrow."""

    kind: Kind
    # A state, the name of a success, or FAILURE.
    target: str
    budget: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Word:
    """An outcome as it is written beside a line; `used` is false if it was counted and never happened."""

    text: str
    used: bool
    # The whole sentence, for tooltips.
    meaning: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Exit:
    """Outcomes of one state that lead along one lane."""

    lane: Lane
    words: tuple[Word, ...]

    @property
    def used(self) -> bool:
        """Whether any of its outcomes occurred."""
        return any(word.used for word in self.words)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    """One row of the list of failures: why the machine ends there, and under which names."""

    cause: str
    budget: str
    # The state that is played before the end; empty for none.
    after: str
    words: tuple[Word, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """A machine as its diagram shows it."""

    name: str
    # States on the way to success, in order, and all others.
    spine: tuple[str, ...]
    aside: tuple[str, ...]
    nested: frozenset[str]
    entered: frozenset[str]
    exits: Mapping[str, tuple[Exit, ...]]
    successes: tuple[str, ...]
    stops: tuple[Stop, ...]
    budgets: Mapping[str, int]
    start: str
    takes_over: str
    footnote: str


def chart_of(machine: Machine, taken: Taken | None = None, *, timeouts: bool = False) -> Chart:
    """What the diagram of a machine shows; with counts, what never happened is marked."""
    spine = _spine(machine)
    late = {state for state, outcome, _ in taken or () if outcome == TIMED_OUT}
    hidden = {
        state for state in machine.states if not timeouts and state not in late and _just_times_out(machine, state)
    }
    reader = _Reader(machine, taken, frozenset(hidden))
    return Chart(
        name=machine.name,
        spine=spine,
        aside=tuple(state for state in machine.states if state not in spine),
        nested=frozenset(state for state, found in machine.states.items() if isinstance(found, Machine)),
        entered=frozenset(state for state in machine.states if reader.entered(state)),
        exits={state: reader.exits(state) for state in machine.states},
        successes=tuple(name for name in machine.outcomes if name in machine.successes),
        stops=reader.stops(),
        budgets=machine.budgets,
        start=machine.start,
        takes_over=machine.takes_over or "",
        footnote=" ".join(part for part in (_second_start(machine, spine), _footnote(machine, hidden)) if part),
    )


def _spine(machine: Machine) -> tuple[str, ...]:
    """From the start along the first outcome that goes on, until it comes round or ends; then the shortest way on.

    A task that works in rounds leaves the last of them by another outcome than it goes on with.
    """
    onward = {state: _onward(machine, state) for state in machine.states}
    distance: dict[str, int] = {}
    for length in range(len(machine.states)):
        nearer = set(distance)
        for state, targets in onward.items():
            if state not in nearer and any(_is_success(machine, each) or each in nearer for each in targets):
                distance[state] = length
    spine: list[str] = []
    state: str | None = machine.start
    while state is not None and state not in spine:
        spine.append(state)
        goes_on = [each for each in onward[state] if _is_success(machine, each) or each in distance]
        state = goes_on[0] if goes_on and isinstance(goes_on[0], str) else None
        if goes_on and isinstance(goes_on[0], End):
            return tuple(spine)
    best = min((each for each in spine if each in distance), key=lambda each: distance[each], default=None)
    while best is not None:
        nearer = [each for each in onward[best] if isinstance(each, str) and each in distance]
        best = min(nearer, key=lambda each: distance[each], default=None)
        if best is None or best in spine:
            break
        spine.append(best)
        if any(_is_success(machine, each) for each in onward[best]):
            break
    return tuple(spine)


def _onward(machine: Machine, state: str) -> list[str | End]:
    """Where a state leads while nothing goes wrong."""
    found: list[str | End] = []
    for transition in machine.table[state].values():
        if isinstance(transition, Retry):
            if transition.is_round:
                found.append(transition.to)
        elif isinstance(transition, str) or _is_success(machine, transition):
            found.append(transition)
    return found


def _is_success(machine: Machine, target: Transition) -> bool:
    return isinstance(target, End) and target.outcome in machine.successes


def _just_times_out(machine: Machine, state: str) -> bool:
    """Whether the end of a state's time is the end of the machine, under the same name."""
    to = machine.table[state].get(TIMED_OUT)
    return state in machine.limits_s and isinstance(to, End) and to.outcome == TIMED_OUT


def _second_start(machine: Machine, spine: tuple[str, ...]) -> str:
    """Where a run that takes over starts, if that is on the way to success; others are marked where they are."""
    if machine.takes_over is None or machine.takes_over not in spine:
        return ""
    return f"A run that takes over starts at {machine.takes_over}."


def _footnote(machine: Machine, hidden: set[str]) -> str:
    if not hidden:
        return ""
    limits_s = sorted({machine.limits_s[state] for state in hidden})
    limit = f"{limits_s[0]:g} s" if len(limits_s) == 1 else f"its limit ({limits_s[0]:g} to {limits_s[-1]:g} s)"
    others = [state for state in machine.states if state not in hidden]
    if len(others) > len(hidden):
        return f"These states also end as {TIMED_OUT} after {limit}: {', '.join(sorted(hidden))}."
    but = f" but {', '.join(others)}" if others else ""
    return f"Every state{but} also ends as {TIMED_OUT} after {limit}."


@dataclass(frozen=True, slots=True)
class _Reader:
    """The table's rows as words and lanes."""

    machine: Machine
    taken: Taken | None
    # States of which `timed_out` is not shown.
    hidden: frozenset[str]

    def entered(self, state: str) -> bool:
        return self.taken is None or any(count for (left, _, _), count in self.taken.items() if left == state)

    def rows(self, state: str) -> Iterator[tuple[str, Transition]]:
        for outcome, transition in self.machine.table[state].items():
            if outcome != TIMED_OUT or state not in self.hidden:
                yield outcome, transition

    def exits(self, state: str) -> tuple[Exit, ...]:
        found: dict[Lane, list[Word]] = {}
        for outcome, transition in self.rows(state):
            if isinstance(transition, Retry):
                lane = Lane("round" if transition.is_round else "retry", transition.to, transition.budget)
                budget = f" ({transition.budget} ≤ {self.machine.budgets[transition.budget]})"
                words = outcome + (budget if transition.is_round else "")
                found.setdefault(lane, []).append(self._word(state, outcome, words, transition.to, transition))
                if isinstance(transition.otherwise, str):
                    words = f"{outcome}, no {transition.budget} left"
                    word = self._word(state, outcome, words, transition.otherwise, transition)
                    found.setdefault(Lane("plain", transition.otherwise), []).append(word)
            elif isinstance(transition, End):
                lane = self._lane_to_end(transition)
                words = outcome if self._is_plain_end(outcome, transition) else f"{outcome}: {transition.outcome}"
                found.setdefault(lane, []).append(self._word(state, outcome, words, transition, transition))
            else:
                word = self._word(state, outcome, outcome, transition, transition)
                found.setdefault(Lane("plain", transition), []).append(word)
        return tuple(Exit(lane=lane, words=tuple(words)) for lane, words in found.items())

    def stops(self) -> tuple[Stop, ...]:
        """Failures by what ends the machine: nothing left of a budget, or the outcome itself."""
        found: dict[tuple[str, str], dict[str, list[tuple[str, str, End]]]] = {}
        for state in self.machine.states:
            for outcome, transition in self.rows(state):
                budget = transition.budget if isinstance(transition, Retry) else ""
                end = transition.otherwise if isinstance(transition, Retry) else transition
                if isinstance(end, End) and end.outcome not in self.machine.successes:
                    ways = found.setdefault((end.after or "", budget), {})
                    ways.setdefault(end.outcome, []).append((state, outcome, end))
        order = [*self.machine.budgets, ""]
        return tuple(
            Stop(
                cause=f"no {budget} left" if budget else "at once",
                budget=budget,
                after=after,
                words=tuple(self._end_word(name, ways) for name, ways in ends.items()),
            )
            for (after, budget), ends in sorted(
                found.items(), key=lambda each: (not each[0][0], order.index(each[0][1]))
            )
        )

    def _lane_to_end(self, end: End) -> Lane:
        if end.outcome in self.machine.successes:
            return Lane("success", end.outcome)
        return Lane("failure", FAILURE)

    def _is_plain_end(self, outcome: str, end: End) -> bool:
        """Whether the name of the end need not be said: it is the outcome's, or the only one there is."""
        ends = set(self.machine.outcomes) - set(self.machine.successes) - ({TIMED_OUT} if self.hidden else set())
        return end.outcome in self.machine.successes or end.outcome == outcome or len(ends) == 1

    def _word(self, state: str, outcome: str, words: str, target: str | End, transition: Transition) -> Word:
        count = self._count(state, outcome, target)
        shown = words + (f" ×{count}" if count else "")
        return Word(
            text=shown, used=self.taken is None or bool(count), meaning=f"{state}: {_meaning(outcome, transition)}"
        )

    def _end_word(self, name: str, ways: list[tuple[str, str, End]]) -> Word:
        count = sum(self._count(state, outcome, end) for state, outcome, end in ways)
        meaning = "; ".join(f"{outcome} in {state}" for state, outcome, _ in ways)
        return Word(
            text=name + (f" ×{count}" if count else ""), used=self.taken is None or bool(count), meaning=meaning
        )

    def _count(self, state: str, outcome: str, target: str | End) -> int:
        then = EndsAs(target.outcome) if isinstance(target, End) else target
        return (self.taken or {}).get((state, outcome, then), 0)


def _meaning(outcome: str, transition: Transition) -> str:
    """One sentence for a row of the table."""
    if isinstance(transition, Retry):
        back = f"goes back to {transition.to} while {transition.budget} last"
        return f"{outcome} {back}, then {_leads(transition.otherwise)}"
    return f"{outcome} {_leads(transition)}"


def _leads(target: str | End) -> str:
    if isinstance(target, End):
        return f"ends as {target.outcome}" + (f" after {target.after}" if target.after else "")
    return f"leads to {target}"
