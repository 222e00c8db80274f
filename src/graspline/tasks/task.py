"""What a task is to the rooms below: parameters, a scene, a sampler, a machine and a goal."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from graspline.engine.actors import Account, Actor
from graspline.evidence import Evidence, Measurement, at_least, at_most
from graspline.execution.requests import Reply, Request
from graspline.faults.hints import FaultHints
from graspline.machine.machine import Machine
from graspline.parameters import Parameters
from graspline.rendering.picture import Picture, Pixels
from graspline.scenes.randomization import Randomization
from graspline.scenes.scene import Scene
from graspline.scenes.variation import Variation
from graspline.tasks.card import task_card, task_line
from graspline.tasks.console import Console

Array = NDArray[np.float64]
P = TypeVar("P", bound=Parameters)

# An object in the hand is this close to the middle of the pads, and each of them presses at least this hard.
_OFF_PADS_M = 0.025
_PRESS_N = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Draw:
    """One random scene, as the `sample` of a task returns it.

    >>> from graspline import Scenario, find_task
    >>> task = find_task("lift-cube")
    >>> sampled = Scenario(task=task, parameters=task.parameters(), seed=7).sample()
    >>> round(sampled.variation.described["edge_m"], 4)
    0.0308
    """

    # Every position of the model at the start, its `qpos`.
    start: Array
    # The numbers of the model in which this scene differs from others.
    variation: Variation
    # How many scenes the sampler rejected before this one.
    refused: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """One random place in reach, and whether the planner certifies it; if not, why."""

    x_m: float
    y_m: float
    refusal: str

    @property
    def certified(self) -> bool:
        """Whether the planner can grasp the object there."""
        return not self.refusal


@dataclass(frozen=True, slots=True, kw_only=True)
class GoalSample:
    """One instant of object and hand, by estimate or by truth: what a goal judges."""

    object_m: Array
    speed_m_s: float
    # The midpoint between the pads.
    tool_m: Array
    time_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectTruth:
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
    """One instant by ground truth, which a goal and the check of a claim are given. No state ever sees one.

    >>> from graspline import Evidence, Snapshot, at_least
    >>> def raised(truth: Snapshot) -> Evidence:
    ...     cube = truth.objects["cube"]
    ...     return (at_least("raised", cube.position_m[2] - cube.start_position_m[2], 0.05, "m"),)
    """

    objects: Mapping[str, ObjectTruth]
    places: Mapping[str, ObjectTruth]
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


def in_hand(truth: Snapshot, name: str) -> Evidence:
    """Between the pads, both of which press."""
    apart = float(np.linalg.norm(truth.objects[name].position_m - truth.tool_m))
    return (
        at_most("off_pads", apart, _OFF_PADS_M, "m"),
        at_least("weaker_pad_force", min(truth.pad_forces_n), _PRESS_N, "N"),
    )


class Annotator(Protocol):
    """Marks in a camera's images, in the order of their times, what a task sees."""

    @property
    def camera(self) -> str:
        """The camera whose images it annotates."""
        ...

    @property
    def depth(self) -> bool:
        """Whether it wants pictures with depth."""
        ...

    def __call__(self, picture: Picture, time_s: float, joints: Array) -> Pixels:
        """A copy of a picture with what is seen in it; `joints` (nu,) are the robot's own, as it was taken."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """What a state says about one object by ending with an outcome: that something is so, or that it is not.

    >>> from graspline import Claim
    >>> Claim(name="held", asserted=False)
    Claim(name='held', asserted=False)
    """

    # Such as "held" or "placed".
    name: str
    asserted: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Instruction:
    """What a person would tell the robot to do in one scene: the sentence that a dataset keeps and a policy is given.

    >>> from graspline import Instruction
    >>> Instruction(sentence="Lift the cube.", objects=("cube",)).sentence
    'Lift the cube.'
    """

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
class Claims(Generic[P]):
    """What outcomes of states say about objects, and how ground truth decides whether it is so; for `graspline audit`.

    >>> from graspline import Claim, Claims, stages
    >>> claims = Claims(
    ...     outcomes={("lift", "lifted"): Claim(name="held", asserted=True)},
    ...     check=lambda parameters, claim, about, truth: stages.in_hand(truth, about),
    ... )
    >>> claims.outcomes["lift", "lifted"].name
    'held'
    """

    # By the state's path and its outcome.
    outcomes: Mapping[tuple[str, str], Claim] = field(default_factory=dict)
    # It is given the claim's name and what the outcome is about: an object's name, or the value that the state named.
    check: Callable[[P, str, Any, Snapshot], Evidence] = lambda parameters, claim, about, truth: ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyRules(Generic[P]):
    """How a policy that does the task is judged.

    >>> from graspline import PolicyRules
    >>> PolicyRules(time_limit_s=lambda parameters: 20.0).milestone is None
    True
    """

    # How long it may take unless set otherwise, in simulated time: about three times what the machine takes.
    time_limit_s: Callable[[P], float] = lambda parameters: 60.0
    # What it must have done before its goal counts; None where the end alone says that it was done.
    milestone: Milestone[P] | None = None
    # Why a policy could not be judged with these parameters, one line for each problem.
    problems: Callable[[P], list[str]] = lambda parameters: []


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejections(Generic[P]):
    """Orders that a task turns down before anything moves."""

    # The verdicts of such episodes.
    verdicts: frozenset[str] = frozenset()
    # What to set otherwise, from the measurement that decided; empty where nothing is known.
    advise: Callable[[P, Measurement], str] = lambda parameters, why: ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivered:
    """What became of the objects that one episode sent: in ground truth, and as the task reports it."""

    sent: int
    right: int
    wrong: int
    # As many as the task says are where they belong.
    claimed: int
    # How many it let pass, by cause.
    missed: Mapping[str, int] = field(default_factory=dict)
    # None for an episode too short to tell.
    picks_per_min: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Feed:
    """A task's objects arrive at a speed and density that `graspline rates` chooses."""

    # Settings, as `--set` reads them, in which they arrive at a speed in m/s with this many per metre.
    settings: Callable[[float, float], tuple[str, ...]]
    # From `Episode.truth` and `Episode.evidence`.
    count: Callable[[Mapping[str, Any], Evidence], Delivered]


@dataclass(frozen=True, slots=True, kw_only=True)
class Task(Generic[P]):
    """One task: eight things that every task has, and what it can do besides.

    Everything below `goal` is optional. Only `goal` and the check of `claims` are given the truth.

    >>> from graspline import Box, Draw, Evidence, Snapshot, Task, stages, table_with
    >>> table = table_with(Box(name="cube", rgb=(0.8, 0.2, 0.2)))
    >>> there = stages.Support(x_m=0.2, y_m=0.1, z_m=0.0)
    >>> def goal(parameters: stages.CubeParameters, sampled: Draw, truth: Snapshot) -> Evidence:
    ...     return stages.rests_by_truth(truth, "cube", there, table.robot, parameters.goal)
    >>> Task(
    ...     name="put-there",
    ...     sentence="Put the cube on the mark.",
    ...     parameters=stages.CubeParameters,
    ...     scene=lambda parameters: table,
    ...     sample=stages.cube_sampler(lambda parameters: table, "cube", there),
    ...     machine=lambda parameters: stages.pick_and_place("put-there", parameters),
    ...     inputs=lambda parameters, sampled, random: stages.pick_and_place_inputs(
    ...         parameters, table, "cube", there, random
    ...     ),
    ...     goal=goal,
    ...     uses_truth=lambda parameters: True,
    ... )
    <Task put-there: Put the cube on the mark.>
    """

    name: str
    # What a person would tell the robot to do.
    sentence: str
    parameters: type[P]
    # A function with a cache: the same parameters give the same scene.
    scene: Callable[[P], Scene]
    sample: Callable[[P, np.random.Generator], Draw]
    machine: Callable[[P], Machine]
    # What the machine is given, by name; the randomness is that of perception.
    inputs: Callable[[P, Draw, np.random.Generator], Mapping[str, Any]]
    # Judge the end of an episode by truth, with the same limits as the machine verifies with estimates.
    goal: Callable[[P, Draw, Snapshot], Evidence]

    # For lists of tasks: what it does, by default its sentence; and the name of its robot.
    summary: str = ""
    robot: str = ""
    # Where the sentence differs from scene to scene: from parameters and scene; and, of an episode that was played, the
    # last outcome of each state by its path, which is where a person's answers are found.
    instruction: Callable[[P, Draw, Mapping[str, str]], Instruction] | None = None
    # The object every episode is about; or the machine's input that names it, where that differs.
    target: str = ""
    target_input: str = ""
    # Whether its estimator is the simulator's truth, with noise.
    uses_truth: Callable[[P], bool] = lambda parameters: False
    # What cannot work about parameters that are each valid by themselves, one line for each problem.
    problems: Callable[[P], list[str]] = lambda parameters: []
    # What varies from episode to episode besides what `sample` chooses.
    randomization: Callable[[P], Randomization] = lambda parameters: Randomization()
    # Settings, as `--set` reads them, of an order with as little to do as a trial needs.
    brief: tuple[str, ...] = ()
    # Whether its motions through free space say so, so that the arm may be pushed off their paths.
    disturbable: bool = False
    # What a machine that ended with success hands on, by name, from its memory: plain values for the JSON of a run.
    outputs: Callable[[P, Mapping[str, object]], Mapping[str, Any]] = lambda parameters, memory: {}

    claims: Claims[P] = field(default_factory=lambda: Claims())
    # What faults strike in its scene, and how hard.
    fault_hints: FaultHints[P] = field(default_factory=lambda: FaultHints())
    policy: PolicyRules[P] = field(default_factory=lambda: PolicyRules())
    rejections: Rejections[P] = field(default_factory=lambda: Rejections())
    # What acts in an episode's world by itself; its randomness is its own.
    actor: Callable[[P, Draw, np.random.Generator], Actor | None] = lambda parameters, sampled, random: None
    # Shows what the task makes of one camera's pictures, for films; made anew for each.
    annotator: Callable[[P], Annotator] | None = None
    # Try one random place that the arm reaches, for `graspline region`.
    region: Callable[[P, np.random.Generator], Probe] | None = None
    # Where its eye, one of the machine's inputs, sees the objects that are still to be worked on, (3,) by name: for the
    # watch over a policy that the machine may take over from. What looks decide for the whole episode it notes among
    # the inputs. None for a task whose machine cannot take over.
    takeover: Callable[[P, dict[str, Any]], Generator[Request, Reply, Mapping[str, Array]]] | None = None
    # How many objects arrive and what becomes of them, for `graspline rates`.
    feed: Feed | None = None
    # What a person can do with its objects in a live session, one by one; None for a task that can only be run.
    console: Callable[[P, np.random.Generator], Console] | None = None
    # Whether a scene is a good one to begin a live session with; None where every scene is.
    shows_well: Callable[[P, Draw], bool] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "summary", self.summary or self.sentence)

    def instruct(self, parameters: P, sampled: Draw, outcomes: Mapping[str, str]) -> Instruction:
        """The instruction for this scene; `outcomes` are those of an episode that was played."""
        if self.instruction is not None:
            return self.instruction(parameters, sampled, outcomes)
        return Instruction(sentence=self.sentence, objects=(self.target,) if self.target else ())

    def __repr__(self) -> str:
        return task_line(self)

    def _repr_html_(self) -> str:
        return str(task_card(self))
