"""How a task shows itself: one line in a terminal, a card in a notebook."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from graspline.notebook import Html, card, folded, table
from graspline.parameters.describing import entries_of
from graspline.wording import counted

if TYPE_CHECKING:
    from graspline.tasks.task import Task


def task_line(task: Task[Any]) -> str:
    """One line about a task."""
    return f"<Task {task.name}: {task.summary}>"


def task_card(task: Task[Any]) -> Html:
    """What it is, how it can end, and its parameters with their defaults."""
    parameters = task.parameters()
    machine = task.machine(parameters)
    failures = [name for name in machine.outcomes if name not in machine.successes]
    entries = [(each.key, each.value, each.meaning) for each in entries_of(parameters)]
    return card(
        task.name,
        Html(""),
        [
            task.summary,
            f"✓ {', '.join(machine.successes)}",
            f"✗ {', '.join(failures)}",
        ],
        [folded(counted(len(entries), "parameter"), table(("parameter", "default", "meaning"), entries))],
    )
