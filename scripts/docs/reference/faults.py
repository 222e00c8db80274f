"""Every fault that can be injected: what it does, what it needs, and which tasks have that."""

from __future__ import annotations

from collections.abc import Mapping

from graspline import TASKS
from graspline.episodes.faults import FAULTS, FaultKind, missing_in_scene
from graspline.scenes.scene import Scene
from reference.markdown import code, sentence, table

# What a fault needs at the moment it is injected, in the words of the guide.
NEEDS = {
    "object": "an object to work on",
    "standing": "an object that stands on furniture",
    "grip": "an object in the hand",
    "place": "a plate",
    "strangers": "a plate",
    "belt": "a conveyor belt",
    "eyes": "a camera",
    "person": "a person to hand over to",
    "nothing": "",
}
HEAD = """# Faults

`--fault NAME@STATE` injects a fault when a state is entered, `--fault NAME@STATE+SECONDS` that long after. It happens
once in an episode. [The guide](../faults.md) shows how to use them; [Outcomes](outcomes.md) lists the states.
"""


def page() -> str:
    scenes = {name: task.scene(task.equipped(task.parameters())) for name, task in TASKS.items()}
    rows = [
        (code(name), sentence(kind.about), NEEDS[kind.needs], ", ".join(_tasks(kind, scenes)))
        for name, kind in FAULTS.items()
    ]
    return HEAD + "\n" + table(("fault", "what happens", "needs", "tasks"), rows)


def _tasks(kind: FaultKind, scenes: Mapping[str, Scene]) -> list[str]:
    found = [name for name, scene in scenes.items() if not missing_in_scene(kind, scene)]
    return ["all"] if len(found) == len(scenes) else [code(each) for each in found]
