"""Pilots: what plays episodes in place of the task's machine, such as a policy, and how a worker makes one."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from graspline.episodes.camera_views import View
from graspline.episodes.failures import Failure
from graspline.episodes.observers import Instant
from graspline.episodes.units import Convention
from graspline.evidence import Evidence
from graspline.execution.requests import Reply
from graspline.machine.machine import Result
from graspline.parameters import Parameters
from graspline.rendering.batches import OpenSource
from graspline.tasks.task import Task


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruling:
    """How an episode ended that no machine played."""

    verdict: str
    evidence: Evidence
    # What went wrong with the pilot that played it, for people to read.
    error: str = ""
    # How it failed, unless it succeeded.
    failure: Failure | None = None
    # Where the verdict is one by which no machine of the task says that it succeeded.
    succeeded: bool = False


class Pilot(Protocol):
    """Plays episodes in place of the task's machine, from their first tick on.

    It ends with a ruling of its own, or, where the machine took over from it, with the machine's result.
    """

    @property
    def states(self) -> tuple[str, ...]:
        """States its driver announces, in which faults may strike."""
        ...

    @property
    def smooth(self) -> bool:
        """Whether the pictures it looks at are antialiased."""
        ...

    def drive(self, instant: Instant, first: Reply) -> Generator[Any, Any, Ruling | Result]:
        """Drive a lane until the episode is decided."""
        ...


class WorkerPilot(Pilot, Protocol):
    """A pilot that a worker keeps for many batches of attempts."""

    @property
    def open_source(self) -> OpenSource | None:
        """Renders the images it looks at, for all lanes at once; with None each is rendered when it is looked at."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PilotOrder:
    """The task, how the policy sees and moves the robot, and which policy it is."""

    task: Task[Any]
    parameters: Parameters
    fps: int
    views: tuple[View, ...]
    units: Convention
    smooth: bool
    # As a dataset's settings hold it: `policy`, its `sha256`, when the expert takes over (`takeover`), and, where they
    # are not the dataset's, which `cameras` it sees through and which `renderer` renders them.
    from_policy: Mapping[str, Any]


# Has to be something that another process finds by its name.
MakePilot = Callable[[PilotOrder], WorkerPilot]
