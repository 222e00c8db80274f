"""The Python API: public names by purpose; mkdocstrings fills in signatures and docstrings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import graspline

HEAD = """# Python API

Names on this page are public: `from graspline import Scenario, find_task, run_scenarios`. What is not on it is private
and may change with any version; `CONTRIBUTING.md` says what a version number promises. The version is
`graspline.__version__`, and `dir(graspline)` lists the names.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """Names that serve one purpose, in the order in which they are read."""

    text: str
    names: tuple[str, ...]


SECTIONS = {
    "Run and judge": Section(
        text="Play episodes of a task, read a dataset, check a task; see [Start](../start/first-success.md).",
        names=("find_task", "TASKS", "ROBOTS", "FAULTS", "Scenario", "run_scenarios", "Episode", "load", "check_task"),
    ),
    "Evidence": Section(
        text="A measurement beside its limit; see [Verdicts and evidence](../verdicts.md).",
        names=("Measurement", "Evidence", "at_least", "at_most", "passes"),
    ),
    "Write a task": Section(
        text="What a task is made of; see [Writing a task](../writing-a-task.md).",
        names=("Task", "Parameters", "Range", "Draw", "Snapshot", "Instruction", "Claims", "Claim", "PolicyRules"),
    ),
    "Scenes": Section(
        text="A table with boxes in front of an SO-101.",
        names=("Scene", "Box", "table_with"),
    ),
    "Machines": Section(
        text="States, and where each of their outcomes leads. `graspline.stages` has machines that are ready.",
        names=("Machine", "Outcome", "End", "Retry"),
    ),
    "Faults": Section(
        text="What can be made to go wrong; see [Faults](../faults.md#write-a-fault).",
        names=("FaultKind", "FaultHints"),
    ),
    "Policies": Section(
        text="Policies that drive episodes; see [Evaluation](../evaluation.md).",
        names=("Policy", "PolicyPilot"),
    ),
    "Errors": Section(
        text="Each has the [exit code](exit-codes.md) that the command line returns for it.",
        names=("GrasplineError", "InputError", "EnvironmentProblem"),
    ),
}
MODULES = {
    "stages": Section(
        text="Ready stages, machines and samplers of an SO-101 that picks something up and puts it down. "
        "`from graspline import stages`.",
        names=(
            *("PickAndPlaceParameters", "CubeParameters", "Cubes", "RestGoal", "ArmSettings"),
            *("Destination", "Support", "OnObject", "WhereItLay"),
            *("cube_sampler", "pick_and_place", "pick_and_place_inputs", "rests_by_truth", "in_hand"),
            *("PICK_AND_PLACE_CLAIMS", "HELD_CLAIMS", "PICK", "PICK_AND_PLACE", "again"),
            *(
                "certify_pick_and_place",
                "Refusal",
                "RefusalCounter",
                "Belief",
                "lying_at",
                "place_in_ring",
                "lies_free",
            ),
            *("Lying", "as_lying", "table_start", "table_variation", "together", "Planning"),
        ),
    ),
    "faults": Section(
        text="What a fault of your own is made of: the world as it finds it, what it may need, and its events. "
        "`from graspline import faults`.",
        names=(
            *("FaultContext", "Timed", "Need", "OBJECT", "HELD", "CAMERA", "PERSON"),
            *("Push", "Place", "Change", "Edit", "Blind", "Misjudge", "Roughen", "See", "CorruptControl"),
        ),
    ),
}
ENVIRONMENTS = """## Environments

They are made with `gymnasium.make("graspline/LiftCube-v0", …)`; see [Evaluation](../evaluation.md#environments).

::: graspline.envs.environment.TaskEnv
"""


def page() -> str:
    shown = [*MODULES, *(name for each in SECTIONS.values() for name in each.names)]
    _check("graspline", shown, graspline.__all__)
    parts = [_section(title, each, "graspline") for title, each in SECTIONS.items()]
    for name, each in MODULES.items():
        _check(f"graspline.{name}", each.names, getattr(graspline, name).__all__)
        parts.append(_section(f"`graspline.{name}`", each, f"graspline.{name}"))
    return "\n".join([HEAD, *parts, ENVIRONMENTS])


def _section(title: str, section: Section, module: str) -> str:
    return f"## {title}\n\n{section.text}\n\n" + "\n".join(f"::: {module}.{name}\n" for name in section.names)


def _check(module: str, shown: Sequence[str], names: Sequence[str]) -> None:
    """Every public name is shown once."""
    public = [name for name in names if not name.startswith("__")]
    if sorted(shown) != sorted(public):
        raise ValueError(f"the page differs from {module}.__all__ by {sorted({*shown} ^ {*public})}")
