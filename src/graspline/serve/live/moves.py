"""Moves a person asks for, planned and checked as a whole before anything moves."""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

from graspline.evidence import Evidence, at_least
from graspline.kinematics.reach import TcpConvention, ToolPose, reach_of
from graspline.motion.joint_moves import join, joint_move
from graspline.motion.path import Command, Path, at_rest, check_path
from graspline.perception.core.beliefs import Belief
from graspline.planning.collision import Collision, CollisionWorld
from graspline.planning.in_plane import straight_in_plane
from graspline.planning.routes import route, straight
from graspline.robots.robot import Robot
from graspline.scenes.scene import Scene
from graspline.tasks.console import Refused

Array = NDArray[np.float64]

# Share of the joints' speed limits, and the fingertips' peak speed on a straight way up.
_SPEED = 0.5
_RISE_M_S = 0.12
# Where the straight way between two postures is not free, the hand first rises by one of these.
_RISES_M = (0.05, 0.1)
# Share of the speed limits at which the arm follows a person's sliders; and how much deeper it may go into what it
# touches already, on a way that leads clear of it.
JOG_SPEED = 0.3
_DEEPER_M = 0.0005


class Mover:
    """Plans moves of one arm through a scene as it is believed to be. Pure: the same question has the same answer."""

    def __init__(self, scene: Scene) -> None:
        self._robot = scene.robot
        self._reach = reach_of(scene.robot)
        # The second is for a hand that stands closer to something than one would plan to go.
        self._worlds = CollisionWorld(scene, stand_ins=True), CollisionWorld(scene, 0.0, stand_ins=True)
        self._owners = {geom: name for name, geoms in scene.surfaces.items() for geom in geoms}

    def to_joints(self, believed: tuple[Belief, ...], start: Command, target: Array) -> Path | Refused:
        """To rest at these joint angles (nu,), straight or after rising."""
        return self._best(believed, start, [target])

    def jog_refusal(self, believed: tuple[Belief, ...], start: Command, target: Array) -> Refused | None:
        """Why the arm may not be jogged straight there; one that touches something may only be jogged clear of it."""
        path = joint_move(self._robot, start, target, speed=JOG_SPEED)
        world = self._world(believed, start)
        if not isinstance(world, Collision):
            met = world.first_collision(world.samples(path.positions))
            return None if met is None else Refused(reason=f"not free: {met}", evidence=met.evidence)
        tight = self._worlds[1]
        before_m, deepest_m = tight.deepest_m(start.position[None]), tight.deepest_m(tight.samples(path.positions))
        if deepest_m >= before_m - _DEEPER_M:
            return None
        evidence = (at_least(f"{world.robot_part}_to_{world.touched}", deepest_m, before_m, "m"),)
        return Refused(reason=f"the arm already touches {world.touched} and would push into it", evidence=evidence)

    def to_tool(
        self, believed: tuple[Belief, ...], start: Command, wanted: ToolPose, tcp: TcpConvention
    ) -> Path | Refused:
        """To rest with the tool centre point at this pose, jaw as it is."""
        robot, reach = self._robot, self._reach
        if reach is None:
            return Refused(reason=f"{robot.name} has no inverse kinematics for a pose; jog its joints instead")
        gap_m = float(robot.jaw_law.gap_m(start.position[robot.jaw]))
        tool_m = reach.tool_m(tcp, gap_m)
        joints, reached = reach.solve([wanted], tool_m, start.position)
        if not reached.any():
            evidence = reach.explain(wanted, tool_m)
            return Refused(reason=f"out of reach: {_shown(evidence)}", evidence=evidence)
        targets = np.repeat(start.position[None], int(reached.sum()), axis=0)
        targets[:, robot.arm] = joints[reached]
        # The nearest posture first.
        order = np.argsort(np.abs(targets - start.position).max(axis=1), kind="stable")
        return self._best(believed, start, [targets[index] for index in order])

    def _best(self, believed: tuple[Belief, ...], start: Command, targets: list[Array]) -> Path | Refused:
        """The first target that a free path leads to; a refusal is that of the first target, gone to straight."""
        world = self._world(believed, start)
        if isinstance(world, Collision):
            return Refused(
                reason=f"the arm touches something at its current pose ({world}); jog it clear first",
                evidence=world.evidence,
            )

        def blocked(path: Path) -> Refused | None:
            broken = check_path(path, self._robot)
            if broken is not None:
                return Refused(reason=f"beyond limits: {broken}", evidence=broken.evidence)
            met = world.first_collision(world.samples(path.positions))
            return None if met is None else Refused(reason=f"not free: {met}", evidence=met.evidence)

        refused: Refused | None = None
        ways = (straight, *(functools.partial(self._risen, rise_m) for rise_m in _RISES_M))
        for target in targets:
            found = route(self._robot, start, target, blocked, ways=ways, speed=_SPEED)
            if isinstance(found, Path):
                return found
            refused = refused or found
        assert refused is not None
        return refused

    def _risen(self, rise_m: float, robot: Robot, start: Command, target: Array, speed: float | Array) -> Path | None:
        """By way of a place above where the hand is, turned as it is; None where the arm does not get up there."""
        if self._reach is None:
            return None
        up = straight_in_plane(robot, start, 0.0, rise_m, speed_m_s=_RISE_M_S)
        return None if up is None else join(up, joint_move(robot, at_rest(up.end), target, speed=speed))

    def _world(self, believed: tuple[Belief, ...], start: Command) -> CollisionWorld | Collision:
        """Everything the hand does not touch already, for what it holds goes along; or what it cannot get away from."""
        world, tight = self._worlds
        here = start.position[None]
        left = believed
        while True:
            world.place(left)
            met = world.first_collision(here)
            owner = "" if met is None else self._owners.get(met.touched, met.touched)
            fewer = tuple(each for each in left if each.name != owner)
            if len(fewer) == len(left):
                break
            left = fewer
        if met is None:
            return world
        tight.place(left)
        met = tight.first_collision(here)
        return tight if met is None else met


def _shown(evidence: Evidence) -> str:
    return "; ".join(str(each) for each in evidence)
