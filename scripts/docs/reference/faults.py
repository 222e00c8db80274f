"""Every fault that can be injected: what it does, what it needs, and which tasks have that."""

from __future__ import annotations

from collections.abc import Mapping

from graspline import TASKS
from graspline.faults.catalogue import fault_kinds
from graspline.faults.kind import FaultKind
from graspline.scenes.scene import Scene
from reference.markdown import code, sentence, table

HEAD = """# Faults

`--fault NAME@STATE` injects a fault when a state is entered, `--fault NAME@STATE+SECONDS` that long after. It happens
once in an episode. [The guide](../faults.md) shows how to use them and how to write one; [Outcomes](outcomes.md) lists
the states.
"""


def page() -> str:
    scenes = {name: task.scene(task.fault_hints.equipped(task.parameters())) for name, task in TASKS.items()}
    rows = [
        (code(name), sentence(kind.description), _needs(kind), ", ".join(_tasks(kind, scenes)))
        for name, kind in fault_kinds().items()
    ]
    return HEAD + "\n" + table(("fault", "what happens", "needs", "tasks"), rows)


def _needs(kind: FaultKind) -> str:
    return ", ".join(need.words for need in kind.needs)


def _tasks(kind: FaultKind, scenes: Mapping[str, Scene]) -> list[str]:
    found = [name for name, scene in scenes.items() if not kind.missing_in(scene)]
    return ["all"] if len(found) == len(scenes) else [code(each) for each in found]
