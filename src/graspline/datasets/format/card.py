"""The card beside a dataset: what it is, for people and for the Hub's viewer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from graspline.datasets.format.settings import DatasetSettings

_KEPT = {
    "success": "successes only",
    "all": "successes and failures, labelled by next.success",
    "takeover": "successes in which the expert took over from a policy",
}


def card_of(settings: DatasetSettings, merged: Sequence[DatasetSettings] = ()) -> str:
    """`merged` are the settings of the datasets it was merged from; where they differ, all that was so is said."""
    made = merged or (settings,)
    task, _ = settings.found_task()
    views = ", ".join(str(view) for view in settings.views) or "none"
    angles = "degrees" if settings.units == "degrees" else "-100 to 100 over the joint's range"
    versions = _each(f"graspline {each.graspline} on MuJoCo {each.mujoco}" for each in made)
    truth = _each(_eyes(each.parameters) for each in made)
    return f"""---
tags: [LeRobot]
task_categories: [robotics]
configs:
- config_name: default
  data_files: data/*/*.parquet
---

# {settings.task}

{task.summary}. The instruction of each episode is in `meta/episodes`.

Simulated demonstrations in LeRobot's format v3.0, made by {versions}.
Every label was checked against the simulator, and every episode can be replayed from its log:
`graspline replay .`

| | |
|---|---|
| robot | {settings.robot_type}, body joints in {angles}, gripper from 0 (closed) to 100 (open) |
| rate | {settings.fps} frames a second of simulated time |
| cameras | {views} |
| simulated on | {_each(_engine(each) for each in made)} |
| driven by | {_each(_driver(each) for each in made)} |
| kept | {_KEPT[settings.keep]} |
| perception of the demonstrator | {truth} |

`action` is the joint target at the end of a frame, `observation.state` the joints at its beginning. Columns that
begin with `graspline.` (state of the task, recovery, tool and object poses, evidence) are not for policies. Settings
are in `meta/graspline.json`; what is needed to play an episode again is in `graspline/logs`.
"""


def _driver(settings: DatasetSettings) -> str:
    """What drives: the task's expert, from the start or where it took over from a policy."""
    if not settings.from_policy:
        return "the task's expert"
    part = ", of which only the expert's part is here" if settings.record == "intervention" else ""
    return f"policy {settings.from_policy['policy']}, then the task's expert (`intervention`){part}"


def _engine(settings: DatasetSettings) -> str:
    """What stepped physics, and whether a CPU has had the last word."""
    if settings.engine == "cpu":
        return "a CPU"
    return "a GPU, and again on a CPU, whose states these are" if settings.certify else "a GPU, not certified by a CPU"


def _eyes(parameters: Mapping[str, Any]) -> str:
    """What the demonstrator saw things with."""
    if "sight" in parameters:
        return f"camera {parameters['sight'].get('camera')}"
    return str(parameters.get("perception", {}).get("source", "truth"))


def _each(words: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(words))
