"""The commands of a session, and what it answers. Plain values, so that any front door can make them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Literal

from graspline.episodes.log import EpisodeLog
from graspline.tasks.console import Plain, PostObject, Refused, Result


@dataclass(frozen=True, slots=True)
class Jog:
    """Go towards these joint angles (nu,) from now on; done as soon as it is accepted, and replaced by the next.

    It is refused where the arm would meet something on the way.
    """

    joints_rad: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolTarget:
    """A pose of the tool in the world to go towards; without a quaternion (w first) the tool keeps its rotation."""

    position_m: tuple[float, float, float]
    quaternion: tuple[float, float, float, float] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Drive:
    """Move at these rates from now on, until the next one; without another word for `DEAD_MAN_S` the arm brakes.

    The tool moves at rates or towards a target, or joints move at rates of their own; the jaw may move with all of
    them. Done with the first step that follows it. Where the arm can go no further it is refused, with the limit.
    """

    # Of the tool's point, along the axes of the world or of the tool (x approaches, z opens).
    linear_m_s: tuple[float, float, float] = (0.0, 0.0, 0.0)
    frame: Literal["world", "tool"] = "world"
    # About the tool's approach axis, and towards pointing lower.
    turn_rad_s: float = 0.0
    tilt_rad_s: float = 0.0
    # From -1, closing at full speed, to 1, opening.
    jaw: float = 0.0
    target: ToolTarget | None = None
    # Of every joint, (nu,).
    joints_rad_s: tuple[float, ...] | None = None

    @property
    def moves_tool(self) -> bool:
        """Whether it asks for rates of the tool."""
        return any((*self.linear_m_s, self.turn_rad_s, self.tilt_rad_s))

    @property
    def still(self) -> bool:
        """Whether it asks for no motion: the keys were released."""
        return not (self.moves_tool or self.jaw or self.target is not None or any(self.joints_rad_s or ()))


@dataclass(frozen=True, slots=True)
class KeepDriving:
    """The operator is still there: what was driven last goes on. For inputs that only speak when they change."""


@dataclass(frozen=True, slots=True)
class MoveTool:
    """Bring the tool centre point there (world frame), jaw as it is.

    Pitch π/2 points straight down and 0 straight ahead. Yaw is the heading, seen from above, in which the jaw opens;
    None leaves it free.
    """

    position_m: tuple[float, float, float]
    pitch_rad: float
    yaw_rad: float | None = None


@dataclass(frozen=True, slots=True)
class Home:
    """Go to the robot's home, where episodes begin; an SO-101's gripper leans by 27° there."""


@dataclass(frozen=True, slots=True)
class Down:
    """Go to where the gripper points straight down, clear of what lies on the table."""


@dataclass(frozen=True, slots=True)
class Zero:
    """Bring all joints to zero."""


@dataclass(frozen=True, slots=True)
class MoveJaw:
    """Bring the jaw to an end of its range, to a gap between the fingertips, or to an angle: exactly one of them."""

    full: Literal["open", "close"] | None = None
    gap_m: float | None = None
    rad: float | None = None


@dataclass(frozen=True, slots=True)
class OpenRange:
    """Open the jaw to this angle, the upper field of a range."""

    upper_rad: float


@dataclass(frozen=True, slots=True)
class CloseRange:
    """Close the jaw to this angle, the lower field of a range."""

    lower_rad: float


@dataclass(frozen=True, slots=True)
class RunTask:
    """Reset the scene to a seed's scenario (None: the seed in force) and let the task's machine play it."""

    seed: int | None = None


@dataclass(frozen=True, slots=True)
class ResetScene:
    """Put the scene back to how a seed's scenario begins (None: the seed in force)."""

    seed: int | None = None


@dataclass(frozen=True, slots=True)
class BeginTeleop:
    """Reset the scene to a seed's scenario and record from there on what the operator drives, as one episode.

    Without a seed it is the first, from the one in force on, of which nothing is recorded yet.
    """

    seed: int | None = None


@dataclass(frozen=True, slots=True)
class EndTeleop:
    """End the episode that is being driven: the arm comes to rest, the goal is judged, and it is kept or discarded."""

    keep: bool = True


@dataclass(frozen=True, slots=True)
class ReplayEpisode:
    """Play an episode's log again, bit for bit; `name` is what people call it."""

    log: EpisodeLog
    name: str = "episode"
    # The hash the log came with, if any: the answer then says whether the bits are the same.
    state_hash: str = ""


@dataclass(frozen=True, slots=True)
class StrikeFault:
    """Let a fault strike now, whatever is going on; names are those of `run --fault`."""

    name: str


@dataclass(frozen=True, slots=True)
class Record:
    """Hand the episodes of tasks over when they end, or no longer; `into` is what people call the place they go to."""

    on: bool
    into: str = "recording"


@dataclass(frozen=True, slots=True)
class Answer:
    """Answer the question a task has asked."""

    text: str


@dataclass(frozen=True, slots=True)
class Refresh:
    """Look at the objects again."""


@dataclass(frozen=True, slots=True)
class Select:
    """Choose the object that object-aware commands are about."""

    name: str


@dataclass(frozen=True, slots=True)
class WithdrawObject:
    """Forget an object that was posted; None forgets all, and the session sees by itself again."""

    name: str | None = None


@dataclass(frozen=True, slots=True)
class SetVariables:
    """Change variables of the grasp pipeline, by name."""

    values: Mapping[str, Plain]


@dataclass(frozen=True, slots=True)
class CheckReachable:
    """Say whether the selected object can be grasped, and if not, why."""


@dataclass(frozen=True, slots=True)
class Preview:
    """Plan the grasp of the selected object without moving: the joints of every stage."""


@dataclass(frozen=True, slots=True)
class MoveToGrab:
    """Go to the selected object in both stages, and stop there."""


@dataclass(frozen=True, slots=True)
class Pick:
    """Grasp and lift the selected object, and put it back, or at a point (x, y) of the table."""

    place_m: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class GraspOpen:
    """Open the jaw as far as the selected object needs."""


@dataclass(frozen=True, slots=True)
class GraspClose:
    """Close the jaw to the gap of the selected object."""


JawCommand = MoveJaw | OpenRange | CloseRange
# What the arm does by itself, whatever the task.
ArmCommand = Jog | Drive | KeepDriving | MoveTool | Home | Down | Zero | JawCommand
SceneCommand = RunTask | ResetScene | ReplayEpisode | BeginTeleop
# What works at once, in every mode.
AsideCommand = EndTeleop | StrikeFault | Record | Answer | Select | SetVariables | PostObject | WithdrawObject
# What only a task with a console offers; `Refresh` also works where the task's estimator is the truth.
ConsoleCommand = (
    Refresh
    | Select
    | SetVariables
    | PostObject
    | WithdrawObject
    | CheckReachable
    | Preview
    | MoveToGrab
    | Pick
    | GraspOpen
    | GraspClose
)
Command = ArmCommand | SceneCommand | AsideCommand | ConsoleCommand


class Ticket:
    """What the caller that gave a command waits on. Any thread may wait.

    It is settled as soon as the session knows how it ends, and delivered once a snapshot shows it: a client with a
    result finds the newest snapshot no older.
    """

    def __init__(self) -> None:
        self._future: Future[Result] = Future()
        self._notes: list[Callable[[Result], None]] = []
        self.settled: Result | None = None

    @property
    def done(self) -> bool:
        """Whether the command has been answered."""
        return self._future.done()

    def result(self, timeout_s: float | None = None) -> Result:
        """How it ended; raises `TimeoutError` if that takes longer."""
        return self._future.result(timeout_s)

    def then(self, callback: Callable[[Result], None]) -> None:
        """Call back, from the session's thread or at once, when it is delivered. The callback must be quick."""
        self._future.add_done_callback(lambda future: callback(future.result()))

    # The session's side

    def note(self, callback: Callable[[Result], None]) -> None:
        """Call back when it is settled."""
        self._notes.append(callback)

    def settle(self, result: Result) -> None:
        """Say how it ended; what was said first counts."""
        if self.settled is None:
            self.settled = result
            for callback in self._notes:
                callback(result)

    def deliver(self) -> bool:
        """Notify the waiting callers, if it is settled; whether it is."""
        if self.settled is not None and not self._future.done():
            self._future.set_result(self.settled)
        return self.settled is not None


def refused(ticket: Ticket, reason: str) -> Ticket:
    """Settle and deliver at once."""
    ticket.settle(Refused(reason=reason))
    ticket.deliver()
    return ticket
