"""`lift-cube`: an arm takes a cube from above, raises it 60 mm and holds it still."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Generator, Mapping
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from graspline.errors import InputError
from graspline.evidence import Evidence, at_least, at_most, passes
from graspline.execution.requests import Reply, Request
from graspline.grasping.candidates import JawParameters
from graspline.grasping.cartesian_lines import BoxReach
from graspline.grasping.topdown import GraspPlan, plan_grasp
from graspline.machine.machine import Machine
from graspline.machine.outcome import Outcome, Stage
from graspline.motion.path import at_rest
from graspline.parameters import Parameters, Range
from graspline.perception.core.beliefs import Belief, Perception
from graspline.perception.core.speeds import fitted_speed, speed_now
from graspline.planning.batched_planning import Planning, together
from graspline.planning.collision import CLEARANCE_M, CollisionWorld
from graspline.refusal import Refusal
from graspline.robots.robot import Robot
from graspline.scenes.cube_table import CUBE, cube_start, cube_table, cube_variation
from graspline.scenes.distractors import DISTRACTOR_KG, distractor_name
from graspline.scenes.randomization import TableRandomization
from graspline.scenes.scene import Lying, Scene
from graspline.spatial.rotations import rotate
from graspline.tasks.on_robot import OnRobot
from graspline.tasks.sampling import RefusalCounter
from graspline.tasks.scatter import as_lying, lies_free, lying_at, place_in_ring, reached_ring_m, sample_block
from graspline.tasks.stages.parameters import ArmSettings, CloseParameters, RetryParameters, StillHold
from graspline.tasks.stages.ready import HELD_CLAIMS, PICK
from graspline.tasks.stages.sight import UNSEEN, Eye, eye_of
from graspline.tasks.stages.verify import watched
from graspline.tasks.task import Claim, Claims, Draw, GoalSample, PolicyRules, Probe, Snapshot, Task, in_hand

Array = NDArray[np.float64]

# Places that may be refused before the parameters are called impossible.
MAX_SAMPLES = 1000
# As many tries as a place counts for around which there is no room for blocks.
_BLOCKS_TRIES = 20
# What decides each check.
_DECIDED_BY = {
    "jaw_width": "cube.edge_m and jaw.moving_clearance_m",
    "reach": "cube.radius_m, cube.azimuth_rad, reach.max_tilt_rad, jaw.standoff_m and reach.lift_m",
    "jaw_alignment": "reach.max_face_error_rad and reach.max_contact_offset_m",
    "limits": "the speeds in reach.*",
    "collision": "jaw.fixed_clearance_m, jaw.ground_clearance_m and jaw.standoff_m",
    "no_room_for_blocks": "randomize.distractors.most and cube.azimuth_rad",
}
# How far a scene may settle between being certified and being played.
SETTLING_M = 5e-5
SETTLING_RAD = 1e-3
# How far blocks stay from the cube, and from where the arm passes: the task does not look out for them.
_BLOCK_APART_M = 0.03
_BLOCK_ROOM_M = 0.01
# What outcomes say about the cube being in the hand.
CLAIMS = {
    **HELD_CLAIMS,
    ("hold", "held"): Claim(name="held", asserted=True),
    ("verify", "verified"): Claim(name="held", asserted=True),
    ("hold", "dropped"): Claim(name="held", asserted=False),
}


class CubeRanges(Parameters):
    """The cube and where it may lie."""

    edge_m: Range = Field(default=Range(0.020, 0.040), ge=0.015, le=0.050, description="edge of the cube")
    mass_kg: Range = Field(default=Range(0.010, 0.080), ge=0.005, le=0.2, description="mass of the cube")
    pad_friction: Range = Field(default=Range(0.9, 1.2), ge=0.3, le=2.0, description="sliding friction of the jaw pads")
    radius_m: Range = Field(
        default=Range(0.0, 0.45),
        ge=0,
        le=1.2,
        description="distance from the pan axis; poses the arm cannot grasp are resampled",
    )
    azimuth_rad: Range = Field(default=Range(-1.92, 1.92), ge=-3.2, le=3.2, description="direction from the pan axis")


# Demonstrations of this task are for policies to imitate. A hand that straddles the cube with millimetres to spare
# succeeds although it is imitated with an error, and a hand that never waits cannot be imitated by waiting forever.
class CubeJaw(JawParameters):
    """How the cube is grasped: as any box, with room on both sides."""

    fixed_clearance_m: float = Field(
        default=0.008,
        ge=0,
        le=0.01,
        description="gap between fixed jaw and cube, in addition to the pose error; less where the jaws open less wide",
    )


class CubeReach(BoxReach):
    """How the arm gets to the cube and raises it."""

    travel_speed: float = Field(
        default=0.52, ge=0.05, le=1, description="fraction of the joints' speed limit used on the way to the cube"
    )
    seat_speed_m_s: float = Field(
        default=0.08, ge=0.005, le=0.2, description="peak speed at which the fixed jaw is brought up to the cube"
    )


class CubeClose(CloseParameters):
    """How the jaws close, and when the cube counts as held."""

    settle_s: float = Field(default=0.0, ge=0, le=2, description="time for the hold to settle before lifting")


class GoalParameters(Parameters):
    """When the task is done."""

    raised_m: float = Field(default=0.05, gt=0, le=0.2, description="how far the cube must be above its start height")
    off_pads_m: float = Field(
        default=0.02, gt=0, le=0.05, description="how far its centre may be from the middle of the pads"
    )
    speed_m_s: float = Field(default=0.02, gt=0, le=1, description="how fast it may still move")
    sightings: int = Field(
        default=4,
        ge=2,
        le=60,
        description="number of detections in the final check, 0.05 s apart; one more follows a tick later",
    )


class LiftCube(OnRobot):
    """Everything that decides a `lift-cube` episode besides its seed."""

    scaled = ("cube.radius_m",)

    cube: CubeRanges = CubeRanges()
    perception: Perception = Perception()
    jaw: CubeJaw = CubeJaw()
    reach: CubeReach = CubeReach()
    close: CubeClose = CubeClose()
    hold: StillHold = StillHold()
    goal: GoalParameters = GoalParameters()
    retries: RetryParameters = RetryParameters()
    state_limit_s: float = Field(default=10.0, gt=0, le=60, description="time limit of every state")
    randomize: TableRandomization = TableRandomization()


def raised_in_hand(
    window: tuple[GoalSample, ...], lay_at_m: float, goal: GoalParameters, error_m: float = 0.0
) -> Evidence:
    """The goal, written once: over a short window the cube is up, between the pads, and still.

    `error_m` is the error of one witness: limits on height and place are tightened by the error of their mean. A speed
    cannot be judged more finely than it can be seen, so its limit is widened by the error of the fitted speed.
    """
    objects = np.array([each.object_m for each in window])
    tools = np.array([each.tool_m for each in window])
    mean_error_m = 2 * error_m / np.sqrt(len(window))
    apart = (objects - tools).mean(axis=0)
    speed, speed_error = _speed(window, objects, error_m)
    return (
        at_least("raised", objects[:, 2].mean() - lay_at_m, goal.raised_m + mean_error_m, "m"),
        at_most("off_pads", float(np.linalg.norm(apart)), goal.off_pads_m - mean_error_m, "m"),
        at_most("speed", speed, goal.speed_m_s + 3 * speed_error, "m/s"),
    )


def _speed(window: tuple[GoalSample, ...], objects: Array, error_m: float) -> tuple[float, float]:
    """Speed over the window and its standard error: fitted through sightings, or as the only witness has it."""
    return (window[0].speed_m_s, 0.0) if len(window) == 1 else fitted_speed(_times(window), objects, error_m)


def _times(window: tuple[GoalSample, ...]) -> Array:
    return np.array([each.time_s for each in window])


def verify(
    last: Reply, robot: Robot, eye: Eye, target: str, estimate: Belief, goal: GoalParameters
) -> Stage[Literal["verified", "refuted"]]:
    """Look again, several times, and hold what is seen against the goal."""
    found = yield from watched(last, robot, eye, (target,), goal.sightings, "verify")
    if found is None:
        return Outcome("refuted", UNSEEN, about=target)
    replies, seen = found[0], found[1][target]
    tools_m = [pads_middle_m(robot, each) for each in replies]
    window = tuple(
        GoalSample(object_m=each.position_m, speed_m_s=np.nan, tool_m=tool_m, time_s=reply.time_s)
        for reply, each, tool_m in zip(replies, seen, tools_m, strict=True)
    )
    error_m = seen[-1].position_sigma_m
    evidence = raised_in_hand(window, float(estimate.position_m[2]), goal, error_m)
    objects = np.array([each.object_m for each in window])
    evidence = (*evidence, speed_now(_times(window), objects, goal.speed_m_s, error_m))
    return Outcome("verified" if passes(evidence) else "refuted", evidence, about=target)


def pads_middle_m(robot: Robot, reply: Reply) -> Array:
    """The midpoint between the pads, from the robot's own joints."""
    middle_m = robot.jaw_law.middle_m(reply.readings.joints[robot.jaw])
    return reply.readings.tool_position_m + rotate(reply.readings.tool_rotation, middle_m)


def remaining(parameters: LiftCube, inputs: dict[str, Any]) -> Generator[Request, Reply, Mapping[str, Array]]:
    """Where the cube is seen, by the machine's eye."""
    seen = yield from cast(Eye, inputs["eye"]).see(CUBE)
    return {} if seen is None else {CUBE: seen.position_m}


def build_machine(parameters: LiftCube) -> Machine:
    """The ready table for picking something up, with this task's own goal."""
    return PICK.machine(
        "lift-cube",
        states={"verify": verify},
        inputs={"goal": GoalParameters},
        budgets={"grasps": parameters.retries.grasps, "looks": parameters.retries.looks},
        limit_s=parameters.state_limit_s,
    )


def given(parameters: LiftCube, sampled: Draw, random: np.random.Generator) -> Mapping[str, Any]:
    """The machine's inputs for one episode."""
    return {
        "eye": eye_of(parameters.perception, random),
        "world": collision_world(parameters.the_robot),
        "target": CUBE,
        "tried": (),
        "arm": ArmSettings(
            jaw=parameters.jaw,
            reach=parameters.reach.whole(),
            close=parameters.close,
            hold=parameters.hold.whole(),
        ),
        "goal": parameters.goal,
    }


@functools.cache
def collision_world(robot: Robot, clearance_m: float = CLEARANCE_M, distractors: int = 0) -> CollisionWorld:
    """The collision checker for the cube's table."""
    return CollisionWorld(cube_table(distractors, robot), clearance_m)


@together
def certify(
    parameters: LiftCube, x_m: float, y_m: float, yaw_rad: float, edge_m: float
) -> Planning[GraspPlan | Refusal]:
    """Plan the grasp of a cube that lies there, exactly as the state will.

    With a hair more room than the state asks for: the cube settles by micrometres before it is looked at.
    """
    estimate = dataclasses.replace(
        lying_at(CUBE, x_m, y_m, np.full(3, edge_m / 2), "box", yaw_rad),
        position_sigma_m=parameters.perception.position_sigma_m,
        yaw_sigma_rad=parameters.perception.yaw_sigma_rad,
    )
    robot = parameters.the_robot
    world = collision_world(robot, CLEARANCE_M + SETTLING_M)
    reach = parameters.reach.whole(joint_margin_rad=parameters.reach.joint_margin_rad + SETTLING_RAD)
    return plan_grasp.steps(robot, world, estimate, at_rest(robot.home), parameters.jaw, reach)


@functools.cache
def reachable_radii_m(robot: Robot) -> tuple[float, float]:
    """Nearest and farthest distance from the first axis at which the arm can bring its fingertips to a cube's height.

    The ring that the certified region is compared with.
    """
    tool_m = np.array([robot.hand.tool_m[0], 0.0, 0.0])
    ring_m = reached_ring_m(robot, np.radians(np.arange(0.0, 121.0, 1.0)), None, tool_m, 0.015, 0.001)
    if ring_m is None:
        raise InputError(
            f"robot: {robot.name} cannot bring its fingertips down to a cube on the table; check tool.along, "
            "tool.position_m and base_height_m of its description"
        )
    return ring_m


def sample_place(parameters: LiftCube, random: np.random.Generator) -> tuple[float, float, float, float]:
    """A cube anywhere in the reachable ring but not in the robot's base: x, y, yaw and edge."""
    robot, cube = parameters.the_robot, parameters.cube
    nearest, farthest = reachable_radii_m(robot)
    low, high = max(cube.radius_m.low, nearest), min(cube.radius_m.high, farthest)
    if low > high:
        raise InputError(
            f"cube.radius_m: [{cube.radius_m.low}, {cube.radius_m.high}] is outside the "
            f"arm's reach, {nearest:.3f} to {farthest:.3f} m"
        )
    for _ in range(MAX_SAMPLES):
        x, y = place_in_ring(Range(low, high), cube.azimuth_rad, random, robot)
        edge, yaw = random.uniform(*cube.edge_m), random.uniform(-np.pi, np.pi)
        if not _in_base(robot, x, y, edge):
            return x, y, yaw, edge
    raise InputError("cube.radius_m and cube.azimuth_rad allow only positions inside the robot's base")


def _in_base(robot: Robot, x: float, y: float, edge: float) -> bool:
    spread = edge / np.sqrt(2) + 0.005
    low_x, high_x, half_y = robot.footprint_m
    return low_x - spread < x < high_x + spread and abs(y) < half_y + spread


@together
def sample(parameters: LiftCube, random: np.random.Generator) -> Planning[Draw]:
    """A random scene that the planner certifies, within a bounded number of samples."""
    tally = RefusalCounter("scene", MAX_SAMPLES, _DECIDED_BY)
    distractors = parameters.randomize.distractors
    count = distractors.count(random)
    while True:
        x, y, yaw, edge = sample_place(parameters, random)
        found = yield from certify.steps(parameters, x, y, yaw, edge)
        if isinstance(found, Refusal):
            tally.refuse(found.check)
            continue
        cube = lying_at(CUBE, x, y, np.full(3, edge / 2), "box", yaw)
        blocks = _sample_blocks(parameters, cube, found, count, random)
        if blocks is None:
            tally.refuse("no_room_for_blocks", _BLOCKS_TRIES)
            continue
        variation = cube_variation(
            edge_m=edge,
            mass_kg=random.uniform(*parameters.cube.mass_kg),
            pad_friction=random.uniform(*parameters.cube.pad_friction),
            blocks=blocks,
            robot=parameters.the_robot,
        )
        start = cube_start(x_m=x, y_m=y, yaw_rad=yaw, edge_m=edge, scene=_scene(parameters), blocks=blocks)
        return Draw(start=start, variation=variation + distractors.described(count), refused=tally.refused)


def _sample_blocks(
    parameters: LiftCube, cube: Belief, plan: GraspPlan, count: int, random: np.random.Generator
) -> dict[str, Lying] | None:
    """Blocks beside the cube, none of them where the certified plan passes; None if there is no room for them."""
    if not count:
        return {}
    world = collision_world(parameters.the_robot, CLEARANCE_M, parameters.randomize.distractors.pool)
    parts = (plan.approach, plan.descend, plan.seat, plan.lift)
    samples = np.concatenate([world.samples(path.positions) for path in parts])
    blocks: list[Belief] = []

    def welcome(block: Belief) -> bool:
        if not lies_free(block, [cube, *blocks], _BLOCK_APART_M, parameters.the_robot):
            return False
        world.place((dataclasses.replace(block, half_extents_m=block.half_extents_m + _BLOCK_ROOM_M),))
        return world.first_collision(samples) is None

    for index in range(count):
        block = sample_block(distractor_name(index), parameters.cube.azimuth_rad, random, welcome, parameters.the_robot)
        if block is None:
            return None
        blocks.append(block)
    return {block.name: as_lying(block, DISTRACTOR_KG) for block in blocks}


def probe(parameters: LiftCube, random: np.random.Generator) -> Probe:
    """One random place in the reachable ring, planned for exactly as the sampler does."""
    x, y, yaw, edge = sample_place(parameters, random)
    found = certify(parameters, x, y, yaw, edge)
    return Probe(x_m=x, y_m=y, refusal=found.check if isinstance(found, Refusal) else "")


def judge(parameters: LiftCube, sampled: Draw, truth: Snapshot) -> Evidence:
    """The goal by ground truth: the cube is held above the table."""
    cube = truth.objects[CUBE]
    seen = GoalSample(object_m=cube.position_m, speed_m_s=cube.speed_m_s, tool_m=truth.tool_m, time_s=truth.time_s)
    return raised_in_hand((seen,), float(cube.start_position_m[2]), parameters.goal)


def check_claim(parameters: LiftCube, claim: str, about: str, truth: Snapshot) -> Evidence:
    """Whether the cube really is in the hand: between the pads, both of which press."""
    return in_hand(truth, about or CUBE)


def _scene(parameters: LiftCube) -> Scene:
    return cube_table(parameters.randomize.distractors.pool, parameters.the_robot)


LIFT_CUBE = Task(
    name="lift-cube",
    robot="so101",
    sentence="Lift the cube and hold it still.",
    summary="SO-101 picks up a cube of 20 to 40 mm from above, lifts it 60 mm and holds it still",
    parameters=LiftCube,
    scene=_scene,
    sample=sample,
    region=probe,
    machine=build_machine,
    inputs=given,
    goal=judge,
    policy=PolicyRules(time_limit_s=lambda parameters: 20.0),
    claims=Claims(outcomes=CLAIMS, check=check_claim),
    uses_truth=lambda parameters: parameters.perception.source == "truth",
    target=CUBE,
    disturbable=True,
    takeover=remaining,
    randomization=lambda parameters: parameters.randomize,
)
