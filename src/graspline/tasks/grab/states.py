"""What `grab` adds to the stages all tasks share: checking a pick as it was asked for, moving as asked, taking over."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from graspline.execution.notifications import Noticed
from graspline.execution.requests import Announce, Reply, Request, solved
from graspline.grasping.commanded_grasp_values import GrabPlan, GrabQuery, GrabRefusal, GrabVariables
from graspline.grasping.topdown import GraspPlan
from graspline.grasping.workspace import WorkspaceParameters
from graspline.machine.outcome import Gives, Outcome, Producing, Stage
from graspline.motion.guards import ObjectMoved
from graspline.perception.core.beliefs import Belief
from graspline.perception.core.held import HeldObject
from graspline.placement.query import Support
from graspline.planning.collision import CollisionWorld
from graspline.robots.robot import Robot
from graspline.tasks.grab.parameters import Grab
from graspline.tasks.grab.pick import as_evidence, plan_pick
from graspline.tasks.stages.free import towards
from graspline.tasks.stages.grasp import bump, reaching
from graspline.tasks.stages.parameters import ArmSettings
from graspline.tasks.stages.sight import Eye
from graspline.tasks.stages.take_over import let_go, stop

Array = NDArray[np.float64]

# Seen so far above where it stands, the thing is in the hand.
_RAISED_M = 0.02
# Among the inputs: whether it was.
_WAS_RAISED = "was_raised"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenGrab:
    """The plan of a grab, and what will be in the hand."""

    grab: GrabPlan
    plan: GraspPlan
    held: HeldObject


def check(
    last: Reply,
    robot: Robot,
    world: CollisionWorld,
    estimate: Belief,
    others: tuple[Belief, ...],
    variables: GrabVariables,
    support: Support,
    arm: ArmSettings,
    workspace: WorkspaceParameters,
) -> Producing[Gives[Literal["planned"], ChosenGrab] | Outcome[Literal["rejected"]]]:
    """Plan the whole pick as it was asked for; nothing has moved yet, and if any check fails nothing will."""
    query = GrabQuery(
        world=world,
        estimate=estimate,
        start=last.command,
        variables=variables,
        others=others,
        reach=arm.reach,
        workspace=workspace,
    )
    found = yield from solved(plan_pick, query, support, arm.put)
    if isinstance(found, GrabRefusal):
        yield Announce(Noticed(what="rejected", about=estimate.name, facts={"why": found}))
        return Outcome("rejected", as_evidence(found), about=estimate.name)
    chosen = ChosenGrab(grab=found.grab, plan=found.plan, held=found.held)
    return Gives("planned", chosen, about=estimate.name)


def move(
    robot: Robot,
    world: CollisionWorld,
    eye: Eye,
    estimate: Belief,
    others: tuple[Belief, ...],
    grab: GrabPlan,
    arm: ArmSettings,
) -> Stage[Literal["arrived", "blocked", "moved"]]:
    """Open to the object's gap where the arm stands, travel, come down, and stop at the object, or once it is gone."""
    watch = eye.watch_lying(estimate)
    ended = yield reaching("open", grab.opening, estimate, watch, arm.close)
    for stage in grab.stages:
        if ended.by != "completed":
            break
        free = towards(robot, world, stage.path, estimate, others, arm.reach.travel_speed)
        ended = yield reaching(stage.name, stage.path, estimate, watch, arm.close, bump(arm.close), free=free)
    if isinstance(ended.by, ObjectMoved):
        return Outcome("moved", ended.evidence, about=grab.name)
    if ended.by != "completed":
        return Outcome("blocked", ended.evidence, about=grab.name)
    return Outcome("arrived", about=grab.name)


def take_over(last: Reply, robot: Robot, eye: Eye, world: CollisionWorld, arm: ArmSettings) -> Stage[Literal["ready"]]:
    """Free the hand from whatever another driver was doing."""
    reply = yield from stop(last, robot)
    yield from let_go(reply, robot, world, arm.close, eye.survey)
    return Outcome("ready")


def remaining(parameters: Grab, inputs: dict[str, Any]) -> Generator[Request, Reply, Mapping[str, Array]]:
    """Where the thing is seen, until it stands at its spot again after it was raised."""
    target, support = cast(str, inputs["target"]), cast(Support, inputs["destination"])
    seen = {each.name: each for each in (yield from cast(Eye, inputs["eye"]).survey())}
    if target not in seen:
        return {}
    thing = seen[target]
    x, y, z = thing.position_m
    inputs[_WAS_RAISED] = inputs.get(_WAS_RAISED, False) or z - thing.half_height_m > _RAISED_M
    off_m = float(np.hypot(x - support.x_m, y - support.y_m))
    stands = z - thing.half_height_m <= parameters.goal.off_table_m + 6 * thing.position_sigma_m
    done = inputs[_WAS_RAISED] and stands and off_m <= parameters.goal.off_spot_m
    return {} if done else {target: thing.position_m}
