"""The machine of `grab`, what it is given, and how its end is judged."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from graspline.errors import InputError, one_of
from graspline.evidence import Evidence, Measurement, at_least
from graspline.grasping.commanded_grasp_values import GrabVariables
from graspline.grasping.workspace import WorkspaceParameters
from graspline.machine.machine import Machine
from graspline.machine.table import End, Transition
from graspline.placement.query import Support
from graspline.scenes.block_table import Kind, kind_of
from graspline.tasks.console import Console
from graspline.tasks.grab.layout import (
    all_can_be_grabbed,
    collision_world,
    is_back,
    object_problems,
    ordered,
    probe,
    sample,
    table_of,
)
from graspline.tasks.grab.parameters import Grab
from graspline.tasks.grab.posted import believed_as_posted, posted_problems
from graspline.tasks.grab.sight import DetectedFirst, make_eye
from graspline.tasks.grab.states import check, move, remaining, take_over
from graspline.tasks.stages.parameters import ArmSettings
from graspline.tasks.stages.place import Destination, look_around, put_down
from graspline.tasks.stages.ready import HELD_CLAIMS, PICK_AND_PLACE, ReadyTable, again
from graspline.tasks.stages.sight import Eye
from graspline.tasks.stages.verify import rests_by_truth
from graspline.tasks.task import (
    Claim,
    Claims,
    Draw,
    Instruction,
    Milestone,
    PolicyRules,
    Rejections,
    Snapshot,
    Task,
    in_hand,
)

# A thing in the hand that is this much higher than it lay has been picked up.
_PICKED_UP_M = 0.02

CLAIMS = {
    **HELD_CLAIMS,
    ("hold", "held"): Claim(name="held", asserted=True),
    ("hold", "dropped"): Claim(name="held", asserted=False),
    ("put_down", "dropped"): Claim(name="held", asserted=False),
}


_LOST: Mapping[str, Transition] = {"dropped": again("dropped"), "slipped": again("slipped")}
# What is rejected before anything moved has another name than what cannot be gone on with.
TABLE = ReadyTable(
    states={
        **PICK_AND_PLACE.states,
        "check": check,
        "move": move,
        "put_down": put_down,
        "look_again": look_around,
        "check_again": check,
        "take_over": take_over,
    },
    table={
        "look": {"seen": "check", "lost": End("target_not_found")},
        "check": {"planned": "move", "rejected": End("rejected")},
        "move": {"arrived": "seat", "blocked": again("blocked", "leave"), "moved": again("target_moved", "leave")},
        "seat": {"seated": "close"},
        "close": {"closed": "lift", "missed": again("missed")},
        "lift": {"lifted": "hold", **_LOST, "blocked": again("blocked")},
        "hold": {"held": "put_down", **_LOST},
        "put_down": {
            "put": "return_home",
            "dropped": again("dropped", "leave"),
            "slipped": again("slipped", "leave"),
            "blocked": again("blocked", "leave"),
            "no_way": again("no_way"),
        },
        "return_home": {"home": "confirm", "stranded": End("stranded")},
        "confirm": {"confirmed": End("success"), "refuted": again("not_verified", "leave")},
        "back_off": {"ready": "leave"},
        "leave": {"home": "look_again", "stranded": End("stranded")},
        "look_again": {"seen": "check_again", "lost": End("target_not_found")},
        "check_again": {"planned": "move", "rejected": End("unreachable")},
        "take_over": {"ready": "leave"},
    },
    inputs={**PICK_AND_PLACE.inputs, "variables": GrabVariables, "workspace": WorkspaceParameters},
    work_begins="move",
    vertical=("lift",),
)


def build_machine(parameters: Grab) -> Machine:
    """The machine of `grab`."""
    return TABLE.machine("grab", budgets={"grasps": parameters.retries.grasps}, limit_s=parameters.state_limit_s)


def given(parameters: Grab, sampled: Draw, random: np.random.Generator) -> Mapping[str, Any]:
    """The machine's inputs for one episode: the sampled order."""
    target, (x, y), variables = ordered(parameters, sampled)
    eye = make_eye(parameters.perception, random, parameters.kinds)
    if parameters.posted.objects:
        eye = DetectedFirst(eye=eye, detected=believed_as_posted(parameters))
    return inputs(parameters, eye, target, Support(x_m=x, y_m=y), variables)


def inputs(
    parameters: Grab, eye: Eye, target: str, destination: Destination, variables: GrabVariables
) -> Mapping[str, Any]:
    """The machine's inputs for any order."""
    return {
        "eye": eye,
        "world": collision_world(parameters),
        "target": target,
        "destination": destination,
        "tried": (),
        "variables": variables,
        "arm": ArmSettings(
            reach=parameters.reach.whole(),
            close=parameters.close,
            hold=parameters.hold.whole(),
            put=parameters.put,
        ),
        "workspace": parameters.workspace,
        "goal": parameters.goal,
    }


def judge(parameters: Grab, sampled: Draw, truth: Snapshot) -> Evidence:
    """The goal by truth: the thing rests upright at its spot, and the arm is home."""
    target, (x, y), _ = ordered(parameters, sampled)
    support, robot = Support(x_m=x, y_m=y), parameters.the_robot
    kind = kind_of(target, parameters.kinds)
    return rests_by_truth(truth, target, support, robot, parameters.goal, kind.shape, kind.solid)


def picked_up(parameters: Grab, sampled: Draw, truth: Snapshot) -> Evidence:
    """Whether the thing is off the table, in the hand: one that is put back where it lay was there from the start."""
    target, _, _ = ordered(parameters, sampled)
    thing = truth.objects[target]
    raised_m = float(thing.position_m[2] - thing.start_position_m[2])
    return (at_least("raised", raised_m, _PICKED_UP_M, "m"), *in_hand(truth, target))


def check_claim(parameters: Grab, claim: str, about: str, truth: Snapshot) -> Evidence:
    """Whether it really is in the hand: between the pads, both of which press."""
    return in_hand(truth, about)


def problems(parameters: Grab) -> list[str]:
    """Objects that cannot be, a target that there is not, and bounds of another robot."""
    found = parameters.workspace.problems(parameters.the_robot)
    if not found:
        found = object_problems(parameters) or posted_problems(parameters)
    try:
        if parameters.order.target:
            one_of(parameters.order.target, [each.name for each in parameters.kinds], "order.target")
    except InputError as error:
        return [str(error), *found]
    return found


def instruction(parameters: Grab, sampled: Draw, outcomes: Mapping[str, str]) -> Instruction:
    """Which thing, how it is taken if not as usual, and where it goes."""
    target, spot, variables = ordered(parameters, sampled)
    kind = kind_of(target, parameters.kinds)
    at = table_of(parameters).joint_address(target)
    across = " across its long side" if variables.cross_axis and _is_long(kind) else ""
    where = "put it back where it was" if is_back(sampled.start[at:], spot) else "put it on the mark"
    return Instruction(sentence=f"Pick up the {kind.spoken}{across} and {where}.", objects=(target,))


def _is_long(kind: Kind) -> bool:
    x, y, _ = kind.size_m
    return kind.shape == "box" and x != y


def advise(parameters: Grab, why: Measurement) -> str:
    """The clearance that an uncertain pose takes: by far the commonest reason where poses are noisy."""
    if not why.name.endswith(".fixed_jaw_room") or why.limit <= 0:
        return ""
    given = "" if parameters.order.variables == "given" else "--set order.variables=given "
    least_m = np.ceil(1e4 * why.limit) / 1e4
    return f"raise grasp.tcp_clearance_m to at least {least_m:g} ({given}--set grasp.tcp_clearance_m={least_m:g})"


def console(parameters: Grab, random: np.random.Generator) -> Console:
    """What a live session offers: choose an object, check, preview and pick it."""
    # The console plays this task's machine; only this function needs the reverse.
    from graspline.tasks.grab.console import GrabConsole

    return GrabConsole(parameters, random)


GRAB = Task(
    name="grab",
    robot="so101",
    sentence="Pick up an object and put it down where you are asked to.",
    summary="SO-101 picks up the block, can or fruit you choose, from straight above, and puts it down again",
    instruction=instruction,
    parameters=Grab,
    scene=table_of,
    sample=sample,
    region=probe,
    machine=build_machine,
    inputs=given,
    goal=judge,
    policy=PolicyRules(time_limit_s=lambda parameters: 40.0, milestone=Milestone(name="picked_up", check=picked_up)),
    claims=Claims(outcomes=CLAIMS, check=check_claim),
    uses_truth=lambda parameters: parameters.perception.source == "truth",
    rejections=Rejections(verdicts=frozenset({"rejected"}), advise=advise),
    problems=problems,
    disturbable=True,
    takeover=remaining,
    randomization=lambda parameters: parameters.randomize,
    target_input="target",
    console=console,
    shows_well=all_can_be_grabbed,
)
