"""Everything that can be wrong with a machine, found when it is built and reported all at once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from graspline.errors import WiringError, nearest
from graspline.machine.outcome import TIMED_OUT
from graspline.machine.signature import Signature
from graspline.machine.table import ALWAYS, End, Retry, states_of, targets_of

if TYPE_CHECKING:
    from graspline.machine.machine import Machine


def problems_of(machine: Machine) -> list[str]:
    """One line per problem; empty if the table is total and every input is given on every way to its state."""
    signatures: dict[str, Signature] = {}
    problems: list[str] = []
    for state in machine.states:
        try:
            signatures[state] = machine.signature(state)
        except WiringError as error:
            problems.append(str(error))
    problems += _names(machine)
    problems += _rows(machine, signatures)
    problems += _ways(machine)
    problems += _inputs(machine, signatures)
    return problems


def _names(machine: Machine) -> Iterator[str]:
    if machine.start not in machine.states:
        yield f"start state {machine.start!r} does not exist; {nearest(machine.start, machine.states)}"
    if machine.takes_over is not None and machine.takes_over not in machine.states:
        hint = nearest(machine.takes_over, machine.states)
        yield f"state {machine.takes_over!r}, which takes over, does not exist; {hint}"
    if machine.work_begins is not None and machine.work_begins not in machine.states:
        hint = nearest(machine.work_begins, machine.states)
        yield f"state {machine.work_begins!r}, with which work begins, does not exist; {hint}"
    for what, names in (("table", machine.table), ("limits_s", machine.limits_s), ("vertical", machine.vertical)):
        for state in names:
            if state not in machine.states:
                yield f"{what} names {state!r}, which is no state; {nearest(state, machine.states)}"
    for name in machine.hands_back:
        if name not in machine.inputs:
            yield f"hands back {name!r}, which is no input; {nearest(name, machine.inputs)}"
    for budget, count in machine.budgets.items():
        if count < 0:
            yield f"budget {budget!r} is {count}; it must be at least 0"
    for state, limit_s in machine.limits_s.items():
        if not limit_s > 0:
            yield f"time limit of {state!r} is {limit_s} s; it must be positive"


def _rows(machine: Machine, signatures: dict[str, Signature]) -> Iterator[str]:
    for state, signature in signatures.items():
        row = machine.table.get(state, {})
        expected = set(signature.outcomes) | ({TIMED_OUT} if state in machine.limits_s else set())
        for outcome in sorted(expected - set(row)):
            yield f"{state}: outcome {outcome!r} leads nowhere"
        for outcome in sorted(set(row) - expected):
            yield f"{state} has no outcome {outcome!r}; {nearest(outcome, expected)}"
        for outcome, transition in row.items():
            for target in targets_of(transition):
                named = states_of(target)
                if named is not None and named not in machine.states:
                    hint = nearest(named, machine.states)
                    yield f"{state}: {outcome!r} leads to {named!r}, which is no state; {hint}"
            if isinstance(transition, Retry) and transition.budget not in machine.budgets:
                hint = nearest(transition.budget, machine.budgets)
                yield f"{state}: {outcome!r} spends budget {transition.budget!r}; {hint}"


def _edges(machine: Machine) -> Iterator[tuple[str, str, str | End]]:
    """State, outcome and target of every transition between things that exist."""
    for state, row in machine.table.items():
        for outcome, transition in row.items():
            for target in targets_of(transition):
                if state in machine.states and (isinstance(target, End) or target in machine.states):
                    yield state, outcome, target
                    if isinstance(target, End) and target.after is not None and target.after in machine.states:
                        yield state, outcome, target.after


def _starts(machine: Machine) -> tuple[str, ...]:
    """States that a run may start from."""
    return (machine.start,) if machine.takes_over is None else (machine.start, machine.takes_over)


def _ways(machine: Machine) -> Iterator[str]:
    leads: dict[str, set[str]] = {state: set() for state in machine.states}
    ending = set()
    for state, _, target in _edges(machine):
        if isinstance(target, End):
            ending.add(state)
        else:
            leads[state].add(target)
    reached = set(_starts(machine))
    queue = list(reached)
    while queue:
        for target in leads.get(queue.pop(), set()) - reached:
            reached.add(target)
            queue.append(target)
    for state in sorted(set(machine.states) - reached):
        yield f"{state} is never entered"
    grown = True
    while grown:
        more = {state for state in machine.states if leads[state] & ending} - ending
        ending |= more
        grown = bool(more)
    for state in sorted(set(machine.states) - ending):
        yield f"{state} has no way to an end"


def _inputs(machine: Machine, signatures: dict[str, Signature]) -> Iterator[str]:
    """Definite assignment: every input of a state is given on every way that leads to it, with the type it asks for."""
    everything: dict[str, Any] = dict(machine.inputs)
    for state, signature in signatures.items():
        for given in signature.outcomes.values():
            for name, kind in given.items():
                if name in everything and everything[name] != kind:
                    yield f"{state} gives {name!r} as {kind}, elsewhere it is {everything[name]}"
                everything.setdefault(name, kind)
    known = _known(machine, signatures, set(everything))
    for state, signature in signatures.items():
        for name, kind in signature.inputs.items():
            if name in ALWAYS:
                continue
            if name not in everything:
                yield f"{state} takes {name!r}, which nothing gives; {nearest(name, everything)}"
            elif name not in known[state]:
                yield f"{state} takes {name!r}, which is not given on every way to it"
            elif everything[name] != kind:
                yield f"{state} takes {name!r} as {kind}, but it is given as {everything[name]}"
    for name, kind in machine.gives.items():
        if everything.get(name) != kind:
            yield f"the machine gives {name!r} as {kind}, but its states give it as {everything.get(name)}"
            continue
        for state, outcome, target in _edges(machine):
            done = isinstance(target, End) and target.outcome in machine.successes
            if done and name not in known[state] | _given(signatures, state, outcome):
                yield f"the machine gives {name!r}, but {state}: {outcome!r} ends with success without it"


def _known(machine: Machine, signatures: dict[str, Signature], everything: set[str]) -> dict[str, set[str]]:
    """What is surely known on entering each state: what all ways to it have in common."""
    known = {state: set(everything) for state in machine.states}
    for state in _starts(machine):
        known[state] = set(machine.inputs)
    changed = True
    while changed:
        changed = False
        for state, outcome, target in _edges(machine):
            after = known[state] | _given(signatures, state, outcome)
            if not isinstance(target, End) and not known[target] <= after:
                known[target] &= after
                changed = True
    return known


def _given(signatures: dict[str, Signature], state: str, outcome: str) -> set[str]:
    return set(signatures[state].outcomes.get(outcome, {})) if state in signatures else set()
