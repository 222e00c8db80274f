"""The machine of `grab`, what it is given, and how its end is judged."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from graspline.errors import InputError, one_of
from graspline.evidence import Evidence, Measurement, at_least
from graspline.grasping.grab import GrabVariables
from graspline.grasping.straight import ReachParameters
from graspline.grasping.workspace import WorkspaceParameters
from graspline.machine.machine import Machine
from graspline.machine.table import End, Retry, Transition
from graspline.placement.set_down import SetDownParameters, resting_evidence
from graspline.planning.collision import CollisionWorld
from graspline.robots.so101 import SO101
from graspline.scenes.block_table import KINDS, block_table, kind_of
from graspline.spatial.rotations import matrix_from_quaternion
from graspline.tasks.claims import in_hand
from graspline.tasks.grab.layout import collision_world, is_back, ordered, probe, sample
from graspline.tasks.grab.parameters import Grab, GrabGoal
from graspline.tasks.grab.sight import make_eye
from graspline.tasks.grab.states import Spot, at_home, check, confirm, goal_limits, leave, look, move, put_down
from graspline.tasks.grab.taking_over import remaining, take_over
from graspline.tasks.stages.carry import HoldParameters, hold_still, lift
from graspline.tasks.stages.grasp import CloseParameters, back_off, close, seat
from graspline.tasks.stages.sight import Eye
from graspline.tasks.task import Claim, Draw, Instruction, Milestone, Snapshot, Task

# A thing in the hand that is this much higher than it lay has been picked up.
_PICKED_UP_M = 0.02

HELD_CLAIMS = {
    ("close", "closed"): Claim(name="held", asserted=True),
    ("lift", "lifted"): Claim(name="held", asserted=True),
    ("hold", "held"): Claim(name="held", asserted=True),
    ("close", "missed"): Claim(name="held", asserted=False),
    ("lift", "dropped"): Claim(name="held", asserted=False),
    ("hold", "dropped"): Claim(name="held", asserted=False),
    ("put_down", "dropped"): Claim(name="held", asserted=False),
}


def build_machine(parameters: Grab) -> Machine:
    """States and table; what is rejected before anything moved has another name than what cannot be gone on with."""

    def again(otherwise: str, to: str = "back_off") -> Retry:
        return Retry(to=to, budget="grasps", otherwise=End(otherwise))

    lost = {"dropped": again("dropped"), "slipped": again("slipped")}
    table: dict[str, dict[str, Transition]] = {
        "look": {"seen": "check", "lost": End("target_not_found")},
        "check": {"planned": "move", "rejected": End("rejected")},
        "move": {"arrived": "seat", "blocked": again("blocked", "leave"), "moved": again("target_moved", "leave")},
        "seat": {"seated": "close"},
        "close": {"closed": "lift", "missed": again("missed")},
        "lift": {"lifted": "hold", **lost, "blocked": again("blocked")},
        "hold": {"held": "put_down", **lost},
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
    }
    return Machine(
        name="grab",
        start="look",
        states={
            "look": look,
            "check": check,
            "move": move,
            "seat": seat,
            "close": close,
            "lift": lift,
            "hold": hold_still,
            "put_down": put_down,
            "return_home": leave,
            "confirm": confirm,
            "back_off": back_off,
            "leave": leave,
            "look_again": look,
            "check_again": check,
            "take_over": take_over,
        },
        table={state: {**row, "timed_out": End("timed_out")} for state, row in table.items()},
        inputs={
            "eye": Eye,
            "world": CollisionWorld,
            "target": str,
            "spot": Spot,
            "variables": GrabVariables,
            "reach": ReachParameters,
            "workspace": WorkspaceParameters,
            "close": CloseParameters,
            "keep": HoldParameters,
            "put": SetDownParameters,
            "goal": GrabGoal,
        },
        budgets={"grasps": parameters.retries.grasps},
        limits_s=dict.fromkeys(table, parameters.state_limit_s),
        takes_over="take_over",
    )


def given(parameters: Grab, draw: Draw, random: np.random.Generator) -> Mapping[str, Any]:
    """The machine's inputs for one episode: the order that was drawn."""
    target, spot, variables = ordered(parameters, draw)
    return inputs(parameters, make_eye(parameters.perception, random), target, Spot(place_m=spot), variables)


def inputs(parameters: Grab, eye: Eye, target: str, spot: Spot, variables: GrabVariables) -> Mapping[str, Any]:
    """The machine's inputs for any order."""
    return {
        "eye": eye,
        "world": collision_world(),
        "target": target,
        "spot": spot,
        "variables": variables,
        "reach": parameters.reach.whole(),
        "workspace": parameters.workspace,
        "close": parameters.close,
        "keep": parameters.hold.whole(),
        "put": parameters.put,
        "goal": parameters.goal,
    }


def judge(parameters: Grab, draw: Draw, truth: Snapshot) -> Evidence:
    """The goal by truth: the thing rests upright at its spot, and the arm is home."""
    target, spot, _ = ordered(parameters, draw)
    thing = truth.objects[target]
    rotation = matrix_from_quaternion(thing.quaternion)
    ball = kind_of(target).shape == "ball"
    axis = 2 if ball else int(np.argmax(np.abs(rotation[2])))
    up = 1.0 if ball else float(rotation[2, axis])
    limits = goal_limits(parameters.goal)
    resting = resting_evidence(thing.position_m, up, thing.speed_m_s, spot, float(thing.half_extents_m[axis]), limits)
    return (*resting, at_home(SO101, truth.joints_rad, parameters.goal))


def picked_up(parameters: Grab, draw: Draw, truth: Snapshot) -> Evidence:
    """Whether the thing is off the table, in the hand: one that is put back where it lay was there from the start."""
    target, _, _ = ordered(parameters, draw)
    thing = truth.objects[target]
    raised_m = float(thing.position_m[2] - thing.start_position_m[2])
    return (at_least("raised", raised_m, _PICKED_UP_M, "m"), *in_hand(truth, target))


def check_claim(parameters: Grab, claim: str, about: str, truth: Snapshot) -> Evidence:
    """Whether it really is in the hand: between the pads, both of which press."""
    return in_hand(truth, about)


def problems(parameters: Grab) -> list[str]:
    """A target that there is not."""
    try:
        if parameters.order.target:
            one_of(parameters.order.target, [each.name for each in KINDS], "order.target")
    except InputError as error:
        return [str(error)]
    return []


def instruction(parameters: Grab, draw: Draw, outcomes: Mapping[str, str]) -> Instruction:
    """Which thing, how it is taken if not as usual, and where it goes."""
    target, spot, variables = ordered(parameters, draw)
    at = block_table().joint_address(target)
    across = " across its long side" if variables.cross_axis and _is_long(target) else ""
    where = "put it back where it was" if is_back(draw.start[at:], spot) else "put it on the mark"
    return Instruction(sentence=f"Pick up the {kind_of(target).spoken}{across} and {where}.", objects=(target,))


def _is_long(name: str) -> bool:
    x, y, _ = kind_of(name).size_m
    return kind_of(name).shape == "box" and x != y


def advise(parameters: Grab, why: Measurement) -> str:
    """The clearance that an uncertain pose takes: by far the commonest reason where poses are noisy."""
    if not why.name.endswith(".fixed_jaw_room") or why.limit <= 0:
        return ""
    given = "" if parameters.order.variables == "given" else "--set order.variables=given "
    least_m = np.ceil(1e4 * why.limit) / 1e4
    return f"raise grasp.tcp_clearance_m to at least {least_m:g} ({given}--set grasp.tcp_clearance_m={least_m:g})"


GRAB = Task(
    name="grab",
    summary="SO-101 picks the block, can or fruit you choose straight from above and puts it down again",
    instruction=instruction,
    parameters=Grab,
    scene=lambda parameters: block_table(),
    sample=sample,
    probe=probe,
    machine=build_machine,
    given=given,
    judge=judge,
    time_limit_s=lambda parameters: 40.0,
    milestone=Milestone(name="picked_up", check=picked_up),
    claims=HELD_CLAIMS,
    check_claim=check_claim,
    uses_truth=lambda parameters: parameters.perception.source == "truth",
    declines=frozenset({"rejected"}),
    problems=problems,
    advise=advise,
    disturbable=True,
    remaining=remaining,
    randomization=lambda parameters: parameters.randomize,
)
