"""What a pilot that lets a policy play is made from, for workers that do not know how policies are asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from graspline.episodes.run import Pilot
from graspline.episodes.units import Convention
from graspline.episodes.views import View
from graspline.parameters import Parameters
from graspline.tasks.task import Task


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PilotOrder:
    """The task, how the policy sees and moves the robot, and which policy it is."""

    task: Task[Any]
    parameters: Parameters
    fps: int
    views: tuple[View, ...]
    units: Convention
    smooth: bool
    # As a dataset's settings hold it: `policy`, its `sha256`, and when the expert takes over.
    from_policy: Mapping[str, Any]


# Has to be something that another process finds by its name.
MakePilot = Callable[[PilotOrder], Pilot]
