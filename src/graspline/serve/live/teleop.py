"""An episode that a person drives: watched by truth, and judged at its end by the task's own goal."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, replace
from typing import Any

from graspline.episodes.failures import OUT_OF_TIME, failure_of
from graspline.episodes.hand_contacts import HandlingTracker
from graspline.episodes.observers import Instant
from graspline.episodes.policy_drivers import Ruling
from graspline.episodes.success_by_truth import STEADY_S, Referee
from graspline.execution.drivers import TELEOP
from graspline.execution.notifications import Ended, EndsAs, Entered
from graspline.execution.requests import Announce, Motion, Reply
from graspline.motion.joint_moves import hold
from graspline.robots.robot import Robot
from graspline.tasks.task import Snapshot

SUCCESS, NOT_DONE = "success", "not_done"
# An episode that was forgotten ends by itself.
LONGEST_S = 600.0
# The goal is looked at this often, as often as in a dataset's frames.
_FRAMES_HZ = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordingPlace:
    """What a session has to know of the place that its episodes are recorded into, before one begins."""

    # Why nothing can be recorded there; empty if it can.
    problem: str = ""
    # Whether it holds an episode of a seed.
    has: Callable[[int], bool] = lambda seed: False


class TeleopPilot:
    """Plays one episode by letting a person drive.

    It succeeds if at its end, with the arm at rest, the goal has been met by truth for long enough, and the task's
    milestone, if it has one, was reached on the way. No driver sees any of this; people are shown whether it is met.
    """

    states = (TELEOP,)
    smooth = True

    def __init__(self, robot: Robot, drive: Callable[[Reply], Generator[Any, Any, Reply]]) -> None:
        self._robot, self._drive = robot, drive
        self._every = robot.control_hz // _FRAMES_HZ
        self._instant: Instant | None = None
        self._ticks = 0
        # Whether the goal is met, and the object nearest to the hand.
        self.goal_met, self.nearest = False, ""

    def drive(self, instant: Instant, first: Reply) -> Generator[Any, Any, Ruling]:
        """Drive a lane by the person's commands until the episode ends."""
        self._instant = instant
        self._referee = Referee(instant.scenario, instant.sampled)
        self._tracker = HandlingTracker(instant.scenario, instant.sampled)
        yield Announce(Entered(TELEOP))
        last = yield from self._drive(first)
        last = yield Motion("hold", hold(self._robot, last.command, STEADY_S + self._robot.dt_s))
        ruling = self._ruling(last.time_s)
        yield Announce(Ended(TELEOP, ruling.verdict, EndsAs(ruling.verdict), ruling.evidence))
        return ruling

    def watch(self, time_s: float) -> None:
        """Another tick of the episode has been played."""
        self._ticks += 1
        if self._instant is not None and self._ticks % self._every == 0:
            self._look(time_s)

    def _look(self, time_s: float) -> bool:
        """Whether the goal has been met for long enough."""
        assert self._instant is not None
        snapshot = replace(self._instant, time_s=time_s).snapshot()
        self._tracker.add(snapshot)
        self.nearest = _nearest_to_hand(snapshot)
        self.goal_met = self._referee.succeeded(snapshot)
        return self.goal_met

    def _ruling(self, time_s: float) -> Ruling:
        succeeded = self._look(time_s)
        evidence = self._referee.evidence
        if succeeded:
            return Ruling(verdict=SUCCESS, evidence=evidence, succeeded=True)
        return Ruling(verdict=NOT_DONE, evidence=evidence, failure=failure_of(OUT_OF_TIME, self._tracker, evidence))


def _nearest_to_hand(snapshot: Snapshot) -> str:
    def apart_m(name: str) -> float:
        return float(((snapshot.objects[name].position_m - snapshot.tool_m) ** 2).sum())

    return min(snapshot.objects, key=apart_m)
