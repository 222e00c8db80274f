"""A watch over a policy that drives: from what the robot senses and the task's own eye sees, when it fails and why."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from graspline.evidence import Evidence, at_least, at_most
from graspline.execution.requests import Reply
from graspline.parameters import Parameters, Range
from graspline.robots.robot import Robot

Array = NDArray[np.float64]
# Where the task's eye sees the objects that are still to be worked on, by name.
Remaining = Mapping[str, Array]
See = Callable[[], Generator[Any, Any, Remaining]]

# Reasons why the expert takes over.
STOOD_STILL, NO_PROGRESS, BLOCKED, DROPPED = "stood_still", "no_progress", "blocked", "dropped"
PUSHED, OUT_OF_TIME, RANDOM_TIME = "pushed", "out_of_time", "random_time"
REASONS = (STOOD_STILL, NO_PROGRESS, BLOCKED, DROPPED, PUSHED, OUT_OF_TIME, RANDOM_TIME)


class TakeoverParameters(Parameters):
    """When the expert takes over from a policy."""

    still_s: float = Field(default=1.5, gt=0, le=60, description="take over if the arm has not moved for this long")
    still_rad: float = Field(default=0.02, gt=0, le=0.5, description="joint motion below this counts as not moving")
    progress_s: float = Field(
        default=5.0, gt=0, le=600, description="take over if the empty hand gets no nearer to an object for this long"
    )
    progress_m: float = Field(default=0.01, gt=0, le=0.2, description="how much nearer counts as progress")
    blocked_rad: float = Field(
        default=0.25, gt=0, le=3, description="take over if the tracking error of the arm's joints exceeds this"
    )
    blocked_s: float = Field(default=0.3, gt=0, le=10, description="how long the tracking error must last")
    touch_n: float = Field(default=0.3, gt=0, le=5, description="force on both pads that counts as holding an object")
    lost_n: float = Field(default=0.15, gt=0, le=5, description="pad force below which it counts as no longer held")
    hold_s: float = Field(default=0.3, gt=0, le=5, description="how long the pad forces must say so")
    pushed_m: float = Field(
        default=0.04, gt=0, le=1, description="take over if an object that was not held has moved this far"
    )
    look_s: float = Field(default=0.5, gt=0, le=10, description="time between two detections of the objects")
    limit_s: float = Field(default=30.0, gt=0, le=3600, description="take over after this long")
    after_s: Range | None = Field(
        default=None, ge=0, le=3600, description="take over after a random time in this range, whatever the policy does"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class TakeoverReason:
    """Why the expert takes over, with what was measured."""

    reason: str
    evidence: Evidence


class ProgressWatch:
    """Watches one episode, frame by frame."""

    def __init__(self, robot: Robot, settings: TakeoverParameters, see: See, random: np.random.Generator) -> None:
        self._robot, self._settings, self._see = robot, settings, see
        self._after_s = math.inf if settings.after_s is None else float(random.uniform(*settings.after_s))
        self._still = _Since()
        self._stood_at: Array | None = None
        self._free = _Since()
        self._forces, self._held = _Since(), False
        self._looked_s = -math.inf
        # Where each object lay when it was last not being carried.
        self._lay: dict[str, Array] = {}
        self._left: frozenset[str] = frozenset()
        self._nearest_m, self._nearer_s = math.inf, 0.0

    def __call__(self, reply: Reply) -> Generator[Any, Any, TakeoverReason | None]:
        """Look at this frame; why the expert should take over now, or None."""
        dropped = self._feel(reply)
        found = self._limits(reply) or self._stillness(reply) or self._blockage(reply)
        if found is None and (dropped or reply.time_s - self._looked_s >= self._settings.look_s - 1e-9):
            self._looked_s = reply.time_s
            found = self._placement(reply, (yield from self._see()), dropped)
        return found

    def _limits(self, reply: Reply) -> TakeoverReason | None:
        settings = self._settings
        if reply.time_s >= self._after_s - 1e-9:
            return TakeoverReason(
                reason=RANDOM_TIME, evidence=(at_least("policy_time", reply.time_s, self._after_s, "s"),)
            )
        if reply.time_s >= settings.limit_s - 1e-9:
            over = at_most("policy_time", reply.time_s, settings.limit_s, "s")
            return TakeoverReason(reason=OUT_OF_TIME, evidence=(over,))
        return None

    def _stillness(self, reply: Reply) -> TakeoverReason | None:
        settings, joints = self._settings, reply.readings.joints
        if self._stood_at is None or np.abs(joints - self._stood_at).max() > settings.still_rad:
            self._stood_at = joints
            self._still.begin(reply.time_s)
        stood_s = self._still.lasted_s(reply.time_s)
        if stood_s < settings.still_s - 1e-9:
            return None
        turned = float(np.abs(joints - self._stood_at).max())
        evidence = (
            at_least("joint_travel", turned, settings.still_rad, "rad"),
            at_most("time_without_motion", stood_s, settings.still_s, "s"),
        )
        return TakeoverReason(reason=STOOD_STILL, evidence=evidence)

    def _blockage(self, reply: Reply) -> TakeoverReason | None:
        settings, arm = self._settings, self._robot.arm
        error = float(np.linalg.norm(reply.readings.joints[arm] - reply.command.position[arm]))
        if error <= settings.blocked_rad:
            self._free.begin(reply.time_s)
        elif self._free.lasted_s(reply.time_s) >= settings.blocked_s - 1e-9:
            return TakeoverReason(
                reason=BLOCKED, evidence=(at_most("tracking_error", error, settings.blocked_rad, "rad"),)
            )
        return None

    def _feel(self, reply: Reply) -> bool:
        """Note whether something is held; whether it has just been lost."""
        weaker = min(reply.readings.pad_forces_n())
        contrary = weaker < self._settings.lost_n if self._held else weaker >= self._settings.touch_n
        if not contrary:
            self._forces.begin(reply.time_s)
            return False
        if self._forces.lasted_s(reply.time_s) < self._settings.hold_s - 1e-9:
            return False
        self._held = not self._held
        self._forces.begin(reply.time_s)
        return not self._held

    def _placement(self, reply: Reply, seen: Remaining, dropped: bool) -> TakeoverReason | None:
        """Hold what is seen against what was seen before."""
        left = frozenset(seen)
        achieved, self._left = bool(self._left - left), left
        if self._held or achieved or not self._lay:
            self._begin_anew(reply, seen)
            return None
        if dropped:
            force = at_least("weaker_pad_force", min(reply.readings.pad_forces_n()), self._settings.lost_n, "N")
            return TakeoverReason(reason=DROPPED, evidence=(force, at_most("objects_left", len(left), 0)))
        for name, at in seen.items():
            moved_m = float(np.linalg.norm(at - self._lay.setdefault(name, at)))
            if moved_m > self._settings.pushed_m:
                shift = at_most(f"{name}_shift", moved_m, self._settings.pushed_m, "m")
                return TakeoverReason(reason=PUSHED, evidence=(shift,))
        return self._progress(reply, seen)

    def _progress(self, reply: Reply, seen: Remaining) -> TakeoverReason | None:
        settings, apart_m = self._settings, self._apart_m(reply, seen)
        if self._nearest_m - apart_m >= settings.progress_m:
            self._nearest_m, self._nearer_s = apart_m, reply.time_s
        waited_s = reply.time_s - self._nearer_s
        if waited_s < settings.progress_s - 1e-9:
            return None
        evidence = (
            at_least("came_nearer", self._nearest_m - apart_m, settings.progress_m, "m"),
            at_most("time_without_progress", waited_s, settings.progress_s, "s"),
        )
        return TakeoverReason(reason=NO_PROGRESS, evidence=evidence)

    def _begin_anew(self, reply: Reply, seen: Remaining) -> None:
        self._lay = dict(seen)
        self._nearest_m, self._nearer_s = self._apart_m(reply, seen), reply.time_s

    @staticmethod
    def _apart_m(reply: Reply, seen: Remaining) -> float:
        """From the tool to the nearest object; where none is seen nothing comes nearer."""
        tool = reply.readings.tool_position_m
        return min((float(np.linalg.norm(at - tool)) for at in seen.values()), default=math.inf)


class _Since:
    """Since when something has been so."""

    def __init__(self) -> None:
        self._began_s = 0.0

    def begin(self, time_s: float) -> None:
        self._began_s = time_s

    def lasted_s(self, time_s: float) -> float:
        return time_s - self._began_s
