"""The Python API: which names the page shows; mkdocstrings fills in signatures and docstrings."""

from __future__ import annotations

import inspect

import graspline
from graspline import errors

# Names by section, as they are imported. The first section is `graspline.__all__`.
SECTIONS: dict[str, tuple[str, tuple[str, ...]]] = {
    "Environments and policies": (
        "Environments are made with `gymnasium.make`; see [Evaluation](../evaluation.md).",
        (
            "graspline.envs.environment.TaskEnv",
            "graspline.envs.interface.interface_of",
            "graspline.envs.policies.LocalPolicies",
            "graspline.envs.evaluation.PolicyPilot",
            "graspline.envs.watching.TakeoverParameters",
            "graspline.envs.takeover.TakeoverPilot",
        ),
    ),
    "Evidence": (
        "A measurement beside its limit; see [Verdicts and evidence](../verdicts.md).",
        ("graspline.evidence.Measurement", "graspline.evidence.passes", "graspline.evidence.failures"),
    ),
    "Tasks": (
        "What a task is made of; see [Writing a task](../writing-a-task.md).",
        (
            "graspline.tasks.task.Task",
            "graspline.tasks.task.Claim",
            "graspline.machine.machine.Machine",
            "graspline.machine.table.End",
            "graspline.machine.table.Retry",
            "graspline.machine.outcome.Outcome",
            "graspline.machine.outcome.Gives",
        ),
    ),
}


def names() -> dict[str, list[str]]:
    """The names of every section, in order."""
    own = [f"graspline.{name}" for name in graspline.__all__ if not name.startswith("__")]
    return {
        "graspline": own,
        **{title: list(each) for title, (_, each) in SECTIONS.items()},
        "Errors": [
            f"graspline.errors.{name}"
            for name, kind in inspect.getmembers(errors, inspect.isclass)
            if issubclass(kind, errors.GrasplineError)
        ],
    }


def page() -> str:
    texts = {
        "graspline": "`from graspline import …`. The version is `graspline.__version__`.",
        "Errors": "Each has the [exit code](exit-codes.md) that the command line returns for it.",
        **{title: text for title, (text, _) in SECTIONS.items()},
    }
    head = "# Python API\n\nWhat is listed here is meant to be used; other modules may change without notice.\n"
    parts = [
        f"## {title}\n\n{texts[title]}\n\n" + "\n".join(f"::: {name}\n" for name in listed)
        for title, listed in names().items()
    ]
    return "\n".join([head, *parts])
