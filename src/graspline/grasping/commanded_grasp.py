"""Taking one chosen thing straight from above, exactly as a person has set it up, or saying why not.

The other grasps choose their own faces, tilts and clearances; here all of that is given. Every check runs on both
stages, cheapest first, before anything moves.
"""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import get_args

import numpy as np

from graspline.evidence import Measurement
from graspline.grasping.candidates import Grasp
from graspline.grasping.cartesian_lines import Lines, ToolLine
from graspline.grasping.commanded_grasp_checks import UP, GraspChecks, grips_for, jaws_for
from graspline.grasping.commanded_grasp_values import Check, GrabPlan, GrabQuery, GrabRefusal, Jaws, Staged, StageName
from graspline.grasping.grips import Grip
from graspline.kinematics.arm import STRAIGHT_DOWN_RAD
from graspline.motion.joint_moves import jaw_move, join
from graspline.motion.path import Path, at_rest
from graspline.planning.routes import by_home, route, straight
from graspline.refusal import Refusal

# By how much the object is thinner for collisions on the way down to it.
_SLIM_M = 0.0012
# Pairs of sides of a mesh that are tried.
_TRIED = 24


def attempt(query: GrabQuery) -> GrabPlan | GrabRefusal:
    """A plan that passes every check on both stages, or the first check that fails; of a mesh, for the pair of sides
    that came furthest."""
    grips = grips_for(query.robot, query.estimate, query.variables, query.workspace.ground_z_m)
    if isinstance(grips, Measurement):
        return GrabRefusal(label=query.estimate.name, stage="grasp", check="shape", evidence=(grips,))
    refused: list[GrabRefusal] = []
    for grip in grips[:_TRIED]:
        found = _attempt(query, grip)
        if isinstance(found, GrabPlan):
            return found
        refused.append(found)
    return max(refused, key=lambda each: get_args(Check).index(each.check))


def _attempt(query: GrabQuery, grip: Grip) -> GrabPlan | GrabRefusal:
    name, estimate, variables = query.estimate.name, query.estimate, query.variables
    jaws = jaws_for(query.robot, estimate, variables, grip)
    case = GraspChecks(query, grip)
    for check in (case.ground, case.workspace):
        refused = check()
        if refused is not None:
            return refused
    if isinstance(jaws, GrabRefusal):
        return jaws
    refused = case.touch(jaws)
    if refused is not None:
        return refused
    solved = case.solved(case.centre[None], case.headings)
    chosen = case.chosen(solved)
    if isinstance(chosen, GrabRefusal):
        return chosen
    heading, branch = chosen
    for refused in (case.overlap(), case.room(jaws)):
        if refused is not None:
            return refused
    grasp = Grasp(
        label=name,
        yaw_rad=heading,
        tool_m=case.tool_m,
        width_m=jaws.width_m,
        open_rad=jaws.open_rad,
        standoff_m=variables.approach_height_m,
        seat_m=variables.tcp_clearance_m + 2 * estimate.position_sigma_m + 0.001,
        touch_rad=case.touch_rad(jaws),
        round=estimate.shape == "ball",
    )
    return _paths(query, case, grasp, jaws, branch)


def _paths(query: GrabQuery, case: GraspChecks, grasp: Grasp, jaws: Jaws, branch: int) -> GrabPlan | GrabRefusal:
    """Opening, approach and descent, each checked against limits and collisions as a whole."""
    robot, around = query.robot, (query.estimate, *query.others)
    # How near the fingers come to the object itself is a choice, which `room` has judged; what is left of it here are
    # real collisions.
    slim = replace(query.estimate, half_extents_m=query.estimate.half_extents_m - _SLIM_M)
    opening = jaw_move(robot, query.start, grasp.open_rad, speed_rad_s=1.5)
    refused = case.blocked(case.names[0], opening, around)
    if refused is not None:
        return refused
    downs = _descents(query, case, grasp, branch)
    if isinstance(downs, GrabRefusal):
        return downs
    for name, down in downs:
        refused = case.blocked(name, down, (slim, *query.others))
        if refused is not None:
            return refused
    start, ready, speed = at_rest(opening.end), downs[0][1].positions[0], query.reach.travel_speed

    def blocked(path: Path) -> GrabRefusal | None:
        return case.blocked(case.names[0], path, around)

    travel = route(robot, start, ready, blocked, ways=(straight, by_home), speed=speed)
    if isinstance(travel, GrabRefusal):
        return travel
    # What leads from over the object to the first stage belongs to it.
    first = travel
    if len(downs) > len(case.names) or len(case.names) == 1:
        first, downs = join(travel, downs[0][1]), downs[1:]
    stages = [Staged(name=case.names[0], path=first)]
    stages += [Staged(name=name, path=down) for name, down in downs]
    tip = case.tips_m(case.centre[None], np.array([grasp.yaw_rad]))[0]
    tcp = tip if query.variables.tcp == "fixed_tip" else case.centre[:2]
    return GrabPlan(
        name=query.estimate.name,
        yaw_rad=grasp.yaw_rad,
        branch=branch,
        jaws=jaws,
        tcp_m=(float(tcp[0]), float(tcp[1]), float(case.centre[2])),
        opening=opening,
        stages=tuple(stages),
        grasp=grasp,
        centre_m=(float(case.centre[0]), float(case.centre[1]), float(case.centre[2])),
    )


def _descents(
    query: GrabQuery, case: GraspChecks, grasp: Grasp, branch: int
) -> list[tuple[StageName, Path]] | GrabRefusal:
    """Straight down: from over the object to the first stage, where that is lower, and from there to the grasp."""
    points = [case.centre + above * UP for above in case.levels_m()]
    names = (case.names[:1] + case.names)[-len(points) + 1 :]
    straight, speed = (STRAIGHT_DOWN_RAD, STRAIGHT_DOWN_RAD), query.reach.descend_speed_m_s
    ways = [
        ToolLine(name, top, bottom, straight, speed)
        for name, (top, bottom) in zip(names, itertools.pairwise(points), strict=True)
    ]
    found = Lines(query.robot, query.reach, grasp, branch).plan(*ways)
    if isinstance(found, Refusal):
        return GrabRefusal(label=query.estimate.name, stage=case.names[0], check="ik", evidence=found.evidence)
    for upper, lower in itertools.pairwise(found):
        lower.positions[0] = upper.end
    return list(zip(names, found, strict=True))
