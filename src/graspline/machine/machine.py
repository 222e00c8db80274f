"""A machine: states and a total transition table, checked when it is built, run as one generator.

A machine can itself be a state of another one. Budgets belong to one run of a machine and only fall.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Generator, Iterable, Mapping
from dataclasses import dataclass, field
from types import FunctionType
from typing import TYPE_CHECKING, Any, Protocol

from graspline.errors import WiringError
from graspline.evidence import Evidence, at_most
from graspline.execution.drivers import FOLLOW, TELEOP
from graspline.execution.notifications import Ended, EndsAs, Entered, Then
from graspline.execution.requests import Announce, Motion, Reply, Within
from graspline.machine.check import problems_of
from graspline.machine.outcome import TIMED_OUT, Gives, Outcome
from graspline.machine.signature import Signature, signature_of
from graspline.machine.table import End, Retry, Transition, targets_of
from graspline.motion.joint_moves import brake
from graspline.robots.robot import Robot

if TYPE_CHECKING:
    from graspline.machine.diagram import Diagram


def by_name(*states: FunctionType) -> dict[str, Callable[..., Any]]:
    """States of a machine that are called as their functions are."""
    return {each.__name__: each for each in states}


@dataclass(frozen=True, slots=True)
class Result:
    """How a run of a machine ended: its outcome, the last evidence, and what every budget has left."""

    outcome: str
    evidence: Evidence
    left: Mapping[str, int]
    memory: Mapping[str, object]


class HasEnded(Protocol):
    """A state that has ended: an event, or what a log says of it."""

    @property
    def state(self) -> str:
        """The state that has ended."""
        ...

    @property
    def outcome(self) -> str:
        """Its outcome."""
        ...

    @property
    def then(self) -> Then:
        """Where the outcome leads."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """States by name, and for every outcome of every state where it leads.

    `inputs` are given from outside by name and type; `limits_s` gives states a time limit, whose outcome `timed_out`
    the table must then name; `gives` are the inputs of later states that a nested machine hands to the outer one when
    it succeeds, `hands_back` the inputs of its own that it hands back whatever its outcome.
    `takes_over` is the state that a run starts from where another driver has left arm and objects anywhere.
    `vertical` are states in which the hand moves straight down or up, of which logs tell its height.
    `work_begins` is the state that sets out for an object; before it is first entered, states only look and plan.

    A table that is not complete raises an error that lists every problem.

    >>> from typing import Literal
    >>> from graspline import End, Machine, Outcome
    >>> def check(width_m: float) -> Outcome[Literal["narrow", "wide"]]:
    ...     return Outcome("narrow" if width_m < 0.05 else "wide")
    >>> machine = Machine(
    ...     name="measure",
    ...     start="check",
    ...     states={"check": check},
    ...     table={"check": {"narrow": End("success"), "wide": End("too_wide")}},
    ...     inputs={"width_m": float},
    ... )
    >>> machine.outcomes
    ('success', 'too_wide')
    """

    name: str
    states: Mapping[str, Callable[..., Any] | Machine]
    table: Mapping[str, Mapping[str, Transition]]
    start: str
    inputs: Mapping[str, Any] = field(default_factory=dict)
    budgets: Mapping[str, int] = field(default_factory=dict)
    limits_s: Mapping[str, float] = field(default_factory=dict)
    gives: Mapping[str, Any] = field(default_factory=dict)
    hands_back: tuple[str, ...] = ()
    # Outcomes that mean the task is done; everything else is a failure with a name.
    successes: tuple[str, ...] = ("success",)
    takes_over: str | None = None
    work_begins: str | None = None
    vertical: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        problems = problems_of(self)
        if problems:
            raise WiringError(f"machine {self.name!r}:\n" + "\n".join(f"  {problem}" for problem in problems))

    @property
    def outcomes(self) -> tuple[str, ...]:
        """Every outcome the machine can end with, in the order of the table."""
        ends: dict[str, None] = {}
        for row in self.table.values():
            for transition in row.values():
                for target in targets_of(transition):
                    if isinstance(target, End):
                        ends[target.outcome] = None
        return tuple(ends)

    def __repr__(self) -> str:
        budgets = ", ".join(f"{name} ≤ {count}" for name, count in self.budgets.items())
        return f"<Machine {self.name}: {len(self.states)} states from {self.start}" + (
            f"; {budgets}>" if budgets else ">"
        )

    def diagram(self, *, compact: bool = False, timeouts: bool = False) -> Diagram:
        """Its diagram, which a notebook shows and which can be saved; compact ones are about 400 px wide."""
        # Diagrams are made of machines; only this method needs the reverse.
        from graspline.machine.diagram import Diagram

        return Diagram(machine=self, compact=compact, timeouts=timeouts)

    def _repr_html_(self) -> str:
        return self.diagram()._repr_html_()

    def paths(self) -> tuple[str, ...]:
        """Every state as events name it, those of nested machines after a dot."""
        found: list[str] = []
        for name, state in self.states.items():
            found.append(name)
            if isinstance(state, Machine):
                found += [f"{name}.{inner}" for inner in state.paths()]
        return tuple(found)

    def nested(self, path: str) -> Machine:
        """The machine that a path of states leads to; the empty path leads here."""
        found = self
        for name in path.split(".") if path else ():
            inner = found.states[name]
            if not isinstance(inner, Machine):
                raise KeyError(f"{name} of {found.name} is no machine")
            found = inner
        return found

    def is_retry(self, path: str, outcome: str, then: Then) -> bool:
        """Whether this outcome of a state, named as events name it, was a failure that `then` makes good."""
        if path in (FOLLOW, TELEOP):
            # What a policy did before this machine took over, or a person in its place.
            return False
        nested, _, name = path.rpartition(".")
        transition = self.nested(nested).table[name][outcome]
        return isinstance(transition, Retry) and not transition.is_round and then == transition.to

    def retries_in(self, ended: Iterable[HasEnded]) -> int:
        """How often something was tried again among states that have ended, those of nested machines included."""
        return sum(self.is_retry(each.state, each.outcome, each.then) for each in ended)

    def work_began_s(self, entries: Iterable[tuple[float, str]]) -> float:
        """When work began, from (time, state) of every entry; 0 if no state was entered that work begins with."""
        return next((t_s for t_s, path in entries if self._begins_work(path)), 0.0)

    def _begins_work(self, path: str) -> bool:
        nested, _, name = path.rpartition(".")
        return self.nested(nested).work_begins == name

    def signature(self, state: str) -> Signature:
        """What a state takes and gives; for a nested machine its own inputs and outcomes."""
        found = self.states[state]
        if isinstance(found, Machine):
            back = {name: found.inputs[name] for name in found.hands_back}
            given = {**found.gives, **back}
            outcomes = {name: given if name in found.successes else back for name in found.outcomes}
            return Signature(inputs=dict(found.inputs), outcomes=outcomes, asks=True)
        return signature_of(found)

    def run(
        self,
        robot: Robot,
        first: Reply,
        given: Mapping[str, object],
        prefix: str = "",
        *,
        takes_over: bool = False,
    ) -> Generator[Any, Any, Result]:
        """Play the machine from its start state, or from the one that takes over from another driver.

        `first` is the reply that was current when it began.
        """
        missing = set(self.inputs) - set(given)
        if missing:
            raise WiringError(f"machine {self.name!r} was not given {sorted(missing)}")
        memory: dict[str, object] = {name: given[name] for name in self.inputs}
        left = dict(self.budgets)
        if takes_over and self.takes_over is None:
            raise WiringError(f"machine {self.name!r} has no state that takes over")
        state, last = (self.takes_over if takes_over and self.takes_over else self.start), first
        while True:
            path = prefix + state
            yield Announce(Entered(path))
            outcome, evidence, about, last = yield from self._play(state, robot, last, memory, path)
            target = self._follow(self.table[state][outcome], left)
            then = EndsAs(target.outcome) if isinstance(target, End) else target
            yield Announce(Ended(path, outcome, then, evidence, about))
            if isinstance(target, End):
                if target.after is not None:
                    evidence += yield from self._parting(target, robot, last, memory, prefix)
                return Result(outcome=target.outcome, evidence=evidence, left=left, memory=memory)
            state = target

    def _parting(
        self, end: End, robot: Robot, last: Reply, memory: dict[str, object], prefix: str
    ) -> Generator[Any, Any, Evidence]:
        """The one state that is played before an end, whose outcome changes nothing any more."""
        assert end.after is not None
        path = prefix + end.after
        yield Announce(Entered(path))
        outcome, evidence, about, _ = yield from self._play(end.after, robot, last, memory, path)
        yield Announce(Ended(path, outcome, EndsAs(end.outcome), evidence, about))
        return evidence

    def _play(
        self, state: str, robot: Robot, last: Reply, memory: dict[str, object], path: str
    ) -> Generator[Any, Any, tuple[str, Evidence, object, Reply]]:
        signature = self.signature(state)
        always = {"last": last, "robot": robot}
        inputs = {name: always[name] if name in always else memory[name] for name in signature.inputs}
        limit_s = self.limits_s.get(state, float("inf"))
        found = self.states[state]
        if isinstance(found, Machine):
            result, last = yield from _drive(found.run(robot, last, memory, prefix=path + "."), last, limit_s, robot)
        elif signature.asks:
            result, last = yield from _drive(found(**inputs), last, limit_s, robot)
        else:
            result = found(**inputs)
        if isinstance(result, Result):
            nested = self.states[state]
            assert isinstance(nested, Machine)
            if result.outcome in nested.successes:
                memory.update({name: result.memory[name] for name in nested.gives})
            memory.update({name: result.memory[name] for name in nested.hands_back})
            return result.outcome, result.evidence, "", last
        if isinstance(result, Gives):
            memory.update({each.name: getattr(result.data, each.name) for each in dataclasses.fields(result.data)})
        return result.name, result.evidence, result.about, last

    @staticmethod
    def _follow(transition: Transition, left: dict[str, int]) -> str | End:
        if not isinstance(transition, Retry):
            return transition
        if left[transition.budget] <= 0:
            return transition.otherwise
        left[transition.budget] -= 1
        return transition.to


def _drive(
    stage: Generator[Any, Any, Any], last: Reply, limit_s: float, robot: Robot
) -> Generator[Any, Any, tuple[Any, Reply]]:
    """Pass requests up and replies down, and end the stage when its time is up, braking if it was at speed."""
    answer: Reply | None = None
    began_s, until_s = last.time_s, last.time_s + limit_s
    while True:
        try:
            request = stage.send(answer)
        except StopIteration as stop:
            return stop.value, last
        if isinstance(request, Announce):
            yield request
            answer = None
            continue
        if until_s == float("inf"):
            reply = yield request
        elif last.time_s >= until_s - 1e-9:
            # Its time was up when the last request ended: nothing new begins.
            reply = dataclasses.replace(last, by=TIMED_OUT)
        else:
            if not isinstance(request, Within):
                request = Within(request=request, until_s=until_s)
            elif request.until_s > until_s:
                request = Within(request=request.request, until_s=until_s)
            reply = yield request
        answer = last = reply
        if reply.time_s >= until_s - 1e-9 and reply.by == "timed_out":
            stage.close()
            if reply.command.moving:
                last = yield Motion("brake", brake(robot, reply.command))
            # It would have needed another tick at least.
            spent = at_most("state_time", reply.time_s + robot.dt_s - began_s, limit_s, "s")
            return Outcome(TIMED_OUT, (*reply.evidence, spent)), last
