"""What `grab` adds to the stages all tasks share: checking a pick as it was asked for, and moving as told."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from graspline.execution.happenings import Noticed
from graspline.execution.requests import Announce, Reply, solved
from graspline.grasping.grab_values import GrabPlan, GrabQuery, GrabRefusal, GrabVariables
from graspline.grasping.topdown import GraspPlan
from graspline.grasping.workspace import WorkspaceParameters
from graspline.machine.outcome import Gives, Outcome, Producing, Stage
from graspline.motion.guards import ObjectMoved
from graspline.perception.beliefs import Belief
from graspline.perception.held import HeldObject
from graspline.placement.query import Support
from graspline.planning.collision import CollisionWorld
from graspline.robots.robot import Robot
from graspline.tasks.grab.pick import plan_pick, told
from graspline.tasks.stages.free import towards
from graspline.tasks.stages.grasp import bump, reaching
from graspline.tasks.stages.parameters import ArmSettings
from graspline.tasks.stages.sight import Eye


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
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
) -> Producing[Gives[Literal["planned"], Chosen] | Outcome[Literal["rejected"]]]:
    """Plan the whole pick as it was asked for; nothing has moved yet, and if any check fails nothing will."""
    query = GrabQuery(
        robot=robot,
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
        return Outcome("rejected", told(found), about=estimate.name)
    chosen = Chosen(grab=found.grab, plan=found.plan, held=found.held)
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
