"""What a task is to the rooms below: parameters, a scene, a sampler, a machine and a goal."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from graspline.engine.actors import Account, Actor
from graspline.evidence import Evidence, Measurement
from graspline.execution.requests import Reply, Request
from graspline.machine.machine import Machine
from graspline.parameters import Parameters
from graspline.rendering.picture import Picture, Pixels
from graspline.scenes.randomization import Randomization
from graspline.scenes.scene import Scene
from graspline.scenes.variation import Variation
from graspline.tasks.card import task_card, task_line

Array = NDArray[np.float64]
P = TypeVar("P", bound=Parameters)


@dataclass(frozen=True, slots=True, kw_only=True)
class Draw:
    """One random scene: a start state, what differs in it, and how many draws were refused before it."""

    start: Array
    variation: Variation
    refused: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """One random place in reach, and whether the planner certifies it; if not, why."""

    x_m: float
    y_m: float
    refusal: str

    @property
    def certified(self) -> bool:
        return not self.refusal


@dataclass(frozen=True, slots=True, kw_only=True)
class Witness:
    """One instant of object and hand, by estimate or by truth: what a goal judges."""

    object_m: Array
    speed_m_s: float
    # The midpoint between the pads.
    tool_m: Array
    time_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Thing:
    """One object or place as the simulator knows it; what is not a number after a divergence stays nan."""

    position_m: Array
    start_position_m: Array
    quaternion: Array
    speed_m_s: float
    # A round place has its radius twice.
    half_extents_m: Array
    # Of a place: whether it has a radius.
    round: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """One instant by truth: what the goal, the audit and the JSON of a run are made from. No state ever sees one."""

    objects: Mapping[str, Thing]
    places: Mapping[str, Thing]
    # The midpoint between the pads, and the hand's orientation.
    tool_m: Array
    tool_quaternion: Array
    jaw_gap_m: float
    # Force on the fixed and the moving pad.
    pad_forces_n: tuple[float, float]
    # Every joint of the robot.
    joints_rad: Array
    time_s: float
    # What the world has sent since the start, where it sends anything.
    accounts: tuple[Account, ...] = ()
    # What others than the robot have done since the start: where they have put things, in order, and what they pushed.
    put_m: Mapping[str, tuple[Array, ...]] = field(default_factory=dict)
    pushed: frozenset[str] = frozenset()


class Annotator(Protocol):
    """Draws into a camera's pictures, in the order of their times, what a task sees in them."""

    @property
    def camera(self) -> str: ...

    @property
    def depth(self) -> bool:
        """Whether it wants pictures with depth."""
        ...

    def __call__(self, picture: Picture, time_s: float, joints: Array) -> Pixels:
        """A copy of a picture with what is seen in it; `joints` (nu,) are the robot's own, as it was taken."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """What a state says about one object by ending with an outcome: that something is so, or that it is not."""

    # Such as "held" or "placed".
    name: str
    asserted: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Instruction:
    """What a person would tell the robot to do in one scene, for the policies that are trained on it."""

    sentence: str
    # The objects that it asks for, as far as the scene decides which these are.
    objects: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Milestone(Generic[P]):
    """What must have been so at some instant of an episode, besides the goal at its end."""

    # How evidence names it, such as "lifted".
    name: str
    check: Callable[[P, Draw, Snapshot], Evidence]


@dataclass(frozen=True, slots=True, kw_only=True)
class Task(Generic[P]):
    """One task. `given` makes the machine's inputs; nothing in it may know the truth."""

    name: str
    summary: str
    # From parameters and scene; and, of an episode that was played, the last outcome of each state by its path, which
    # is where a person's answers are found.
    instruction: Callable[[P, Draw, Mapping[str, str]], Instruction]
    parameters: type[P]
    scene: Callable[[P], Scene]
    sample: Callable[[P, np.random.Generator], Draw]
    machine: Callable[[P], Machine]
    given: Callable[[P, Draw, np.random.Generator], Mapping[str, Any]]
    # Judge the end of an episode by truth, with the same goal the machine verifies with estimates.
    judge: Callable[[P, Draw, Snapshot], Evidence]
    # What outcomes claim, by (state, outcome), and each claim about one object judged by truth at that instant.
    claims: Mapping[tuple[str, str], Claim]
    check_claim: Callable[[P, str, str, Snapshot], Evidence]
    uses_truth: Callable[[P], bool]
    # How long a policy may take unless told otherwise, in simulated time: about three times what the machine takes.
    time_limit_s: Callable[[P], float] = lambda parameters: 60.0
    # What a policy must have done before its goal counts; None where the end alone says that it was done.
    milestone: Milestone[P] | None = None
    # Why a policy could not be judged with these parameters, one line for each problem.
    policy_problems: Callable[[P], list[str]] = lambda parameters: []
    # Verdicts of episodes whose order was turned down before anything moved.
    declines: frozenset[str] = frozenset()
    # The object every episode is about; empty where that differs.
    target: str = ""
    # What cannot work about parameters that are each valid by themselves, one line for each problem.
    problems: Callable[[P], list[str]] = lambda parameters: []
    # What varies from episode to episode besides what `sample` draws.
    randomization: Callable[[P], Randomization] = lambda parameters: Randomization()
    # Shows what the task makes of one camera's pictures, for films; made anew for each.
    annotator: Callable[[P], Annotator] | None = None
    # What acts in an episode's world by itself; its randomness is its own.
    actor: Callable[[P, Draw, np.random.Generator], Actor | None] = lambda parameters, draw, random: None
    # The bay an object belongs in, by their names; empty where things belong in no bay.
    bay_of: Callable[[P, str], str] = lambda parameters, name: ""
    # What a machine that ended with success hands on, by name, from its memory: plain values for the JSON of a run.
    outputs: Callable[[P, Mapping[str, object]], Mapping[str, Any]] = lambda parameters, memory: {}
    # The same parameters with everything in the scene that faults may need.
    equipped: Callable[[P], P] = lambda parameters: parameters
    # What to set otherwise where an order was turned down for this measurement; empty where nothing is known.
    advise: Callable[[P, Measurement], str] = lambda parameters, why: ""
    # Settings, as `--set` reads them, of an order with as little to do as a trial needs.
    brief: tuple[str, ...] = ()
    # Where its eye, one of the machine's inputs, sees the objects that are still to be worked on, (3,) by name: for the
    # watch over a policy that the machine may take over from. What looks decide for the whole episode it notes among
    # the inputs. None for a task whose machine cannot take over.
    remaining: Callable[[P, dict[str, Any]], Generator[Request, Reply, Mapping[str, Array]]] | None = None
    # Try one random place that the arm reaches, for maps of the certified region; None for a task without one.
    probe: Callable[[P, np.random.Generator], Probe] | None = None
    # Settings, as `--set` reads them, of a belt at a speed in m/s with some objects per metre, for `rates`; None for
    # a task without a belt.
    belt_at: Callable[[float, float], tuple[str, ...]] | None = None
    # Whether its motions through free space say so, so that the arm may be pushed off their paths.
    disturbable: bool = False

    def __repr__(self) -> str:
        return task_line(self)

    def _repr_html_(self) -> str:
        return str(task_card(self))
