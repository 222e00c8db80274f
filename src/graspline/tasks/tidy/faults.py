"""Faults of a robot on wheels in a room: its odometry, its depth camera, what it holds, and the person it meets."""

from __future__ import annotations

import functools

import numpy as np

from graspline.engine.actors import Manner, Meeting
from graspline.engine.events import Change, Push, Roughen
from graspline.faults.context import FaultContext, Timed
from graspline.faults.kind import FaultKind, Need
from graspline.faults.needs import CAMERA, HELD, PERSON
from graspline.faults.objects import released
from graspline.scenes.variation import held_at
from graspline.spatial.rotations import rotate, rotation_z
from graspline.tasks.tidy.fault_surfaces import FURNITURE

# How far wheels slip, and how far the base turns then.
_SLIP_M = (0.010, 0.025)
_SLIP_RAD = 0.02
# How much noisier depth is than usual, and what share of it is missing.
_ROUGH = (3.0, 6.0)
_HOLES = (0.3, 0.5)
# Forces of people: too weak to be meant, towards the robot, and of something that hits what is held.
_SOFT_N, _SOFT_S = (1.0, 2.5), 4.0
_PUSH_N, _PUSH_S = (4.0, 10.0), 1.5
_BUMP_N, _BUMP_S = (10.0, 20.0), 0.02

WHEELS = Need(
    words="a robot on wheels",
    in_scene=lambda scene: "" if scene.robot.slip_joints else "the robot has no wheels",
)


def _slip(context: FaultContext) -> list[Timed]:
    slips = context.scene.robot.slip_joints
    x, y, turn = (float(context.engine.number(context.lane, "eq_data", name)[0]) for name in slips)
    way_m, heading = context.random.uniform(*_SLIP_M), context.random.uniform(-np.pi, np.pi)
    turned = context.random.uniform(-_SLIP_RAD, _SLIP_RAD)
    # The frame that slips lies far from the base; it turns about the base.
    arm = context.base_m() - np.array([x, y, 0.0])
    swing = arm - rotate(rotation_z(turned), arm)
    targets = (
        x + float(swing[0]) + way_m * float(np.cos(heading)),
        y + float(swing[1]) + way_m * float(np.sin(heading)),
        turn + turned,
    )
    return [(0.0, Change(edits=tuple(held_at(name, each) for name, each in zip(slips, targets, strict=True))))]


def _bump(context: FaultContext) -> list[Timed]:
    way = context.random.normal(size=3)
    x, y, z = (context.random.uniform(*_BUMP_N) * way / np.linalg.norm(way)).tolist()
    return [(0.0, Push(body=context.target, force_n=(x, y, z))), (_BUMP_S, released(context.target))]


def _behave(context: FaultContext, manner: Manner) -> list[Timed]:
    """There is no event for it: all that people then do is one."""
    assert isinstance(context.actor, Meeting)
    context.actor.behave(manner)
    return []


_fault = functools.partial(FaultKind, at_once=True, recoverable=True)
BASE_SLIP = _fault(
    name="base-slip",
    description="The wheels slip: the robot is 1 to 2.5 cm from where it believes it is, and turned by up to a degree.",
    strike=_slip,
    needs=(WHEELS,),
)
DEPTH_NOISE = _fault(
    name="depth-noise",
    description="Depth is measured with 3 to 6 times the usual noise from now on.",
    strike=lambda context: [(0.0, Roughen(sigma_factor=context.random.uniform(*_ROUGH)))],
    needs=(FURNITURE, CAMERA),
)
DEPTH_HOLES = _fault(
    name="depth-holes",
    description="From now on 30 to 50 % of all pixels have no depth.",
    strike=lambda context: [(0.0, Roughen(hole_share=context.random.uniform(*_HOLES)))],
    needs=(FURNITURE, CAMERA),
)
BUMP = _fault(
    name="bump",
    description="A person bumps into the held object with 10 to 20 N for 20 ms from any side.",
    strike=_bump,
    needs=(FURNITURE, HELD),
)
NO_PERSON = _fault(
    name="no-person",
    description="The person that takes objects has left.",
    strike=lambda context: _behave(context, Manner(away=True)),
    needs=(PERSON,),
    recoverable=False,
)
SOFT_PULL = _fault(
    name="soft-pull",
    description="The next object held out is pulled with 1 to 2.5 N for 4 s before it is pulled as usual.",
    strike=lambda context: _behave(context, Manner(first_n=context.random.uniform(*_SOFT_N), first_s=_SOFT_S)),
    needs=(PERSON,),
)
PUSH_BACK = _fault(
    name="push-back",
    description="The next object held out is pushed towards the robot with 4 to 10 N for 1.5 s before it is pulled.",
    strike=lambda context: _behave(context, Manner(first_n=-context.random.uniform(*_PUSH_N), first_s=_PUSH_S)),
    needs=(PERSON,),
)
