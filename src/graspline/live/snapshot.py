"""What a session shows of itself: one immutable value per tick, safe to keep and to read from any thread."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from graspline.evidence import Evidence
from graspline.scenes.variation import Variation
from graspline.spatial.poses import Pose
from graspline.tasks.console import ObjectListed, Plain, plain

Array = NDArray[np.float64]

Mode = Literal["idle", "jogging", "moving", "task", "stopping", "replaying"]

# Number of ended states that are shown.
HISTORY = 200


def pose_as_dict(pose: Pose) -> dict[str, Any]:
    """Position and quaternion, w first, as plain values."""
    return {"position_m": plain(pose.position_m), "quaternion": plain(pose.quaternion)}


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryEntry:
    """A state that ended: when, which, how, where that led, and what it measured."""

    t_s: float
    state: str
    outcome: str
    then: str
    evidence: Evidence = ()

    def as_dict(self) -> dict[str, Any]:
        """Without the evidence, which would make every snapshot long."""
        return {"t_s": plain(self.t_s), "state": self.state, "outcome": self.outcome, "then": self.then}


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """One instant of a session."""

    # Grows by one with each snapshot.
    number: int
    task: str
    seed: int
    robot: str
    # Simulated, since the scene was reset.
    time_s: float
    # How far the simulation is behind the wall clock.
    behind_s: float
    mode: Mode
    # The motion or command in progress; empty when idle.
    doing: str
    # The machine's state while a task runs; empty else.
    state: str
    # Measured and commanded, (nu,) each.
    joints_rad: Array
    command_rad: Array
    # The tool centre point by the convention in force, and the frame of the link that carries the fixed jaw.
    tcp: Pose
    gripper: Pose
    # Midway between the pads.
    tool_mid_m: Array
    jaw_gap_m: float
    jaw_rad: float
    # On the fixed and on the moving pad.
    pad_forces_n: tuple[float, float]
    # For drawing only: the state, the numbers in which this scene differs, and what cameras show instead where they are
    # blind ("" stands for all of them): a state they are frozen at, or None for a black picture.
    qpos: Array
    variation: Variation
    blind: Mapping[str, Array | None] = field(default_factory=dict)
    # Objects the task has turned to, in that order.
    targets: tuple[str, ...] = ()
    # Of the state that ended last, or of the last refusal.
    evidence: Evidence = ()
    history: tuple[HistoryEntry, ...] = ()
    # What is left of each budget of the machine and of those nested in it that play, which are named after their path.
    retries: Mapping[str, int] = field(default_factory=dict)
    # How the last task ended; empty until one has.
    verdict: str = ""
    # Whether only a reset of the scene helps: the task said so, a driver crashed, or physics diverged.
    reset_required: bool = False
    # The last thing a person should read.
    message: str = ""
    # A question the task waits for an answer to; empty if there is none.
    question: str = ""
    options: tuple[str, ...] = ()
    # Options in a person's words, where the task has any.
    option_words: Mapping[str, str] = field(default_factory=dict)
    # What it is answered by if no person answers within this (simulated) time.
    default: str = ""
    answer_within_s: float = 0.0
    selected: str = ""
    objects: tuple[ObjectListed, ...] = ()
    variables: Mapping[str, Plain] = field(default_factory=dict)
    # Who holds the lease; empty if no client does.
    operator: str = ""
    # What is being recorded into; empty if nothing is.
    recording: str = ""
    # Whether an episode is being recorded that a person drives, or is about to end; and whether its goal is met.
    teleop: Literal["", "recording", "ending"] = ""
    goal_met: bool = False
    # Where the tool's frame is, in words.
    tool_at: str = ""
    # Episodes that were played to their end since the session began.
    episodes: int = 0

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON; NaN is null. What is for drawing only is left out."""
        return {
            "number": self.number,
            "task": self.task,
            "seed": self.seed,
            "robot": self.robot,
            "time_s": plain(self.time_s),
            "behind_s": plain(self.behind_s),
            "mode": self.mode,
            "doing": self.doing,
            "state": self.state,
            "joints_rad": plain(self.joints_rad),
            "command_rad": plain(self.command_rad),
            "tcp": pose_as_dict(self.tcp),
            "gripper": pose_as_dict(self.gripper),
            "tool_mid_m": plain(self.tool_mid_m),
            "jaw_gap_m": plain(self.jaw_gap_m),
            "jaw_rad": plain(self.jaw_rad),
            "pad_forces_n": plain(self.pad_forces_n),
            "targets": list(self.targets),
            "evidence": [plain(each.as_dict()) for each in self.evidence],
            "history": [each.as_dict() for each in self.history],
            "retries": dict(self.retries),
            "verdict": self.verdict,
            "reset_required": self.reset_required,
            "message": self.message,
            "question": self.question,
            "options": list(self.options),
            "default": self.default,
            "answer_within_s": plain(self.answer_within_s),
            "selected": self.selected,
            "objects": [each.as_dict() for each in self.objects],
            "variables": plain(self.variables),
            "operator": self.operator,
            "recording": self.recording,
            "teleop": self.teleop,
            "goal_met": self.goal_met,
            "episodes": self.episodes,
        }
