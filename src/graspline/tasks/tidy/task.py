"""The task `tidy`: its machine, its goal, and what its outcomes claim."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from graspline.engine.actors import Account, LaneView, Manner
from graspline.engine.events import Event
from graspline.errors import InputError, nearest
from graspline.evidence import Evidence, at_least
from graspline.grasping.hand_poses import hand_poses
from graspline.grasping.whole_body_reach import order
from graspline.perception.core.beliefs import UNKNOWN, Belief
from graspline.planning.batched_planning import Planning, together
from graspline.planning.collision import CollisionWorld
from graspline.scenes.fittings import SHELF, TABLE
from graspline.scenes.household import ITEMS, KNOWN, item_of
from graspline.scenes.room import room
from graspline.scenes.scene import Scene
from graspline.scenes.variation import Edit, Variation
from graspline.spatial.rotations import matrix_from_quaternion, matrix_from_vector, quaternion_from_matrix
from graspline.tasks.task import Claim, Claims, Draw, ObjectTruth, PolicyRules, Probe, Snapshot, Task
from graspline.tasks.tidy.annotation import RoomAnnotator
from graspline.tasks.tidy.areas import areas_of
from graspline.tasks.tidy.base_motion import TidyCell
from graspline.tasks.tidy.believed_room import House, around
from graspline.tasks.tidy.fault_hints import FAULT_HINTS
from graspline.tasks.tidy.goal import is_held, judge, level_of, stands_on
from graspline.tasks.tidy.grasp_plans import first_grasp
from graspline.tasks.tidy.handover import DEFAULT_THRESH_N, LEAST_THRESH_N
from graspline.tasks.tidy.instruction import instruction
from graspline.tasks.tidy.layout import sample
from graspline.tasks.tidy.odometry_errors import Wheels, misplaced
from graspline.tasks.tidy.parameters import PROGRAMS, Tidy
from graspline.tasks.tidy.person import Person, is_with_person
from graspline.tasks.tidy.postures import TABLE_AWAY_M, looking
from graspline.tasks.tidy.programs import machine_of
from graspline.tasks.tidy.record import TableRecord
from graspline.tasks.tidy.robot import EYE, ROBOT
from graspline.tasks.tidy.sight import HeadEye
from graspline.tasks.tidy.single_components import given_alone, handed_on, problems_alone, start_holding

# As many as a table can have.
_THINGS = 8
# What has been carried is at least so far from where it was.
_CARRIED_M = 0.1
_PROBE = item_of("soup_can")


def scene_of(parameters: Tidy) -> Scene:
    """The room."""
    return room(ROBOT)


@functools.cache
def collision_world() -> CollisionWorld:
    """The collision checker for the room."""
    return CollisionWorld.among_solids(ROBOT)


def cell_of(parameters: Tidy) -> TidyCell:
    """The robot, collision checker, estimator and parameters that states use."""
    return TidyCell(robot=ROBOT, world=collision_world(), eye=HeadEye(), settings=parameters)


def given(parameters: Tidy, sampled: Draw, random: np.random.Generator) -> Mapping[str, Any]:
    """The machine's inputs for one episode."""
    return {"cell": cell_of(parameters), "record": TableRecord(), **given_alone(parameters, ROBOT)}


@dataclass(slots=True)
class Living:
    """The actors of the scene: a person that takes things, and wheels that slip."""

    person: Person | None
    wheels: Wheels
    period_s: float = 1 / 60

    def act(self, world: LaneView) -> Sequence[Event]:
        """Events of the next moment, of wheels and person."""
        return (*self.wheels.act(world), *(self.person.act(world) if self.person is not None else ()))

    def accounts(self, world: LaneView) -> tuple[Account, ...]:
        """No accounts."""
        return ()

    @property
    def attended(self) -> bool:
        """Whether a person is there."""
        return self.person is not None

    def behave(self, manner: Manner) -> None:
        """Have the person pull in this manner."""
        if self.person is not None:
            self.person.manner = manner


def living(parameters: Tidy, sampled: Draw, random: np.random.Generator) -> Living:
    """The actors of the room: the person, and wheels that slip."""
    slip = parameters.base.slip
    x, y, turn = (float(share) for share in random.uniform(-slip, slip, 3))
    return Living(person=_person(parameters, random), wheels=Wheels(shares=(x, y, turn)))


def _person(parameters: Tidy, random: np.random.Generator) -> Person | None:
    if not parameters.person.present:
        return None
    waits, pulls = parameters.person.after_s, parameters.person.pull_n
    return Person(
        names=tuple(item.name for item in ITEMS),
        masses_kg={item.name: item.mass_kg for item in ITEMS},
        waits_s=tuple(float(random.uniform(*waits)) for _ in range(_THINGS)),
        pulls_n=tuple(float(random.uniform(*pulls)) for _ in range(_THINGS)),
    )


def check_claim(parameters: Tidy, claim: str, about: str, truth: Snapshot) -> Evidence:
    """Something is in the hand, stands where it belongs, or has been taken."""
    names = [about] if about in truth.objects else [name for name in truth.objects if name.startswith("unknown")]
    match claim:
        case "held":
            return (at_least("held", sum(is_held(truth, name) for name in names), 1),)
        case "given":
            taken = [name for name in names if is_with_person(truth.objects[name].position_m)]
            return (at_least("given", sum(not is_held(truth, name) for name in taken), 1),)
        case _:
            # Where the shelf is configured to be; it may really stand millimetres off.
            there = [name for name in names if stands_on(SHELF, truth.objects[name], name, level_of(parameters, name))]
            return (at_least("placed", sum(_carried(truth.objects[name]) for name in there), 1),)


def _carried(thing: ObjectTruth) -> bool:
    """Whether it has been taken anywhere: of unknown things, some may have stood on the shelf from the start."""
    return float(np.linalg.norm(thing.position_m - thing.start_position_m)) > _CARRIED_M


def problems(parameters: Tidy) -> list[str]:
    """Unknown names, areas that are not on the shelf, and pulls that no person makes."""
    known = [item.name for item in KNOWN]
    wrong = [
        f"{key}: unknown object {name!r}; {nearest(name, known)}"
        for key, names in (
            ("object_to_grasp", (parameters.object_to_grasp,) if parameters.object_to_grasp else ()),
            ("table.objects", parameters.table.objects),
            ("alone.object", (parameters.alone.object,)),
            ("rules.shelf", tuple(name for name in parameters.rules.shelf if name != UNKNOWN)),
        )
        for name in names
        if name not in known
    ]
    try:
        areas_of(parameters.placing.areas_file, parameters.placing.area)
    except InputError as error:
        wrong += error.problems
    thresh = parameters.handover.force_thresh
    if 0 <= thresh < LEAST_THRESH_N:
        wrong.append(
            f"handover.force_thresh: at {thresh:g} N objects would be released without a pull; expected at least "
            f"{LEAST_THRESH_N:g} N, or a negative number for the default of {DEFAULT_THRESH_N:g} N"
        )
    return wrong + problems_alone(parameters)


def time_limit_s(parameters: Tidy) -> float:
    """A minute and a half for each object that may have to be taken away."""
    return 90.0 * (max(1.0, parameters.table.count[1]) if parameters.program == "clear_table" else 1.0)


def policy_problems(parameters: Tidy) -> list[str]:
    """Programs that move nothing: by truth, an arm that stands still has done them."""
    if parameters.program not in ("robot_setup", "find_grasp"):
        return []
    able = ", ".join(each for each in PROGRAMS if each not in ("robot_setup", "find_grasp"))
    return [f"program: {parameters.program} changes nothing that a policy could be judged by; use {able}"]


# By state as events name it, in either program.
_CLAIMS = {
    (f"{program}.{state}", outcome): Claim(name=name, asserted=asserted)
    for program in ("single_grasp", "clear_table")
    for state, outcome, name, asserted in (
        ("execute_grasp.close", "closed", "held", True),
        ("execute_grasp.close", "missed", "held", False),
        ("execute_grasp.lift", "lifted", "held", True),
        ("execute_grasp.lift", "lost", "held", False),
        ("execute_grasp.leave", "away", "held", True),
        ("placement.face_shelf", "facing", "held", True),
        ("placement.check_place", "placed", "placed", True),
        ("handover.offer", "pulled", "held", True),
        ("handover.let_go", "given", "given", True),
    )
}


@together
def sample_room(parameters: Tidy, random: np.random.Generator) -> Planning[Draw]:
    """A room, with the robot and its camera not quite where they are believed to be."""
    scene = scene_of(parameters)
    sampled = misplaced(parameters.base, scene, (yield from sample.steps(parameters.table, scene, random)), random)
    sampled = replace(sampled, variation=sampled.variation + _askew(parameters, scene, random))
    if parameters.program in ("placement", "handover"):
        return start_holding(parameters, scene, sampled)
    return sampled


def _askew(parameters: Tidy, scene: Scene, random: np.random.Generator) -> Variation:
    """The head's camera off its place and turned, as far as configured, in directions that are unknown to the robot."""
    way, axis = (each / np.linalg.norm(each) for each in random.normal(size=(2, 3)))
    sight, camera = parameters.sight, scene.model.camera(EYE)
    if not sight.shift_m and not sight.turn_rad:
        return Variation()
    rotation = matrix_from_quaternion(camera.quat) @ matrix_from_vector(sight.turn_rad * axis)
    position, quaternion = camera.pos + sight.shift_m * way, quaternion_from_matrix(rotation)
    return Variation(
        edits=(
            Edit(field="cam_pos", element=EYE, values=tuple(position.tolist())),
            Edit(field="cam_quat", element=EYE, values=tuple(quaternion.tolist())),
        )
    )


def probe(parameters: Tidy, random: np.random.Generator) -> Probe:
    """One soup can anywhere on the table, and whether a grasp is planned for it."""
    x, y = (float(random.uniform(-half, half)) for half in TABLE.levels[0].half_extents_m)
    at = TABLE.in_world((x, y, TABLE.levels[0].position_m[2] + _PROBE.half_extents_m[2]))
    solid = Belief.exact(
        _PROBE.name, at, np.array([1.0, 0.0, 0.0, 0.0]), np.array(_PROBE.half_extents_m), shape="cylinder"
    )
    house = House(table=TABLE, shelf=SHELF, things=(solid,))
    start = looking(ROBOT, TABLE, TABLE_AWAY_M, TABLE.levels[0].position_m[2])
    todo = order(ROBOT, hand_poses(solid, _PROBE.grasps), start)
    found, refused = first_grasp(cell_of(parameters), around(house), solid, start, todo)
    return Probe(x_m=float(at[0]), y_m=float(at[1]), refusal="" if found is not None else refused[0].check)


TIDY = Task(
    name="tidy",
    robot="hsr",
    sentence="Clear the table.",
    summary="mobile manipulator finds objects on a table, picks them up, and puts them on a shelf or hands them over",
    instruction=instruction,
    parameters=Tidy,
    scene=scene_of,
    sample=sample_room,
    region=probe,
    machine=machine_of,
    inputs=given,
    goal=judge,
    policy=PolicyRules(time_limit_s=time_limit_s, problems=policy_problems),
    claims=Claims(outcomes=_CLAIMS, check=check_claim),
    problems=problems,
    randomization=lambda parameters: parameters.randomize,
    actor=living,
    annotator=RoomAnnotator,
    brief=("table.count=[2,2]", "table.shelved=[1,1]"),
    fault_hints=FAULT_HINTS,
    outputs=handed_on,
)
