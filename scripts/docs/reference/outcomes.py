"""How an episode of each task can end, and where each state leads, from the tables of the machines."""

from __future__ import annotations

from graspline import TASKS
from graspline.machine.machine import Machine
from graspline.machine.table import End, Retry, Transition, targets_of
from reference.markdown import code, table

HEAD = """# Outcomes

The verdict of an episode is the outcome its task ended with. These verdicts can come from any task:

| verdict | meaning |
|---|---|
| `timed_out` | a state used up its time limit |
| `physics_diverged` | the simulation produced a NaN |
| `interrupted` | the command was stopped by Ctrl-C or SIGTERM |

A reported success that ground truth contradicts is never counted as a success. A policy's episodes end
as [the evaluation guide](../evaluation.md) lists.
"""


def page() -> str:
    return "\n".join([HEAD, *(_task(name, task.machine(task.parameters())) for name, task in TASKS.items())])


def _task(name: str, machine: Machine) -> str:
    ends = {outcome: _reached_from(machine, outcome) for outcome in machine.outcomes}
    verdicts = table(
        ("outcome", "success", "reached from"),
        (
            (code(outcome), "yes" if outcome in machine.successes else "", _states(states))
            for outcome, states in ends.items()
        ),
    )
    rows = [
        (code(state), code(outcome), _leads_to(transition))
        for state, row in machine.table.items()
        for outcome, transition in row.items()
    ]
    states = table(("state", "outcome", "leads to"), rows)
    return (
        f"## `{name}` {{ #{name} }}\n\n[Task](../tasks/{name}.md) · [Parameters](parameters-{name}.md)\n\n{verdicts}\n"
        f'??? note "Every state of `{name}`"\n\n' + "\n".join(f"    {line}" for line in states.splitlines()) + "\n"
    )


def _reached_from(machine: Machine, outcome: str) -> list[str]:
    return [
        state
        for state, row in machine.table.items()
        if any(
            isinstance(target, End) and target.outcome == outcome
            for transition in row.values()
            for target in targets_of(transition)
        )
    ]


def _states(names: list[str]) -> str:
    return "most states" if len(names) > 6 else ", ".join(code(each) for each in names)


def _leads_to(transition: Transition) -> str:
    if isinstance(transition, Retry):
        return (
            f"{code(transition.to)}, within the budget {code(transition.budget)}; then {_target(transition.otherwise)}"
        )
    return _target(transition)


def _target(target: str | End) -> str:
    if isinstance(target, End):
        return f"ends as {code(target.outcome)}" + (f", after {code(target.after)}" if target.after else "")
    return code(target)
