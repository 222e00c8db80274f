"""Blocks as they are believed to be, for the tests of this folder."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graspline.kinematics.ur5e import forward
from graspline.motion.path import Command, at_rest
from graspline.perception.belt.tracks import BlockTrack, Tracks, no_tracks
from graspline.robots.ur5e import UR5E
from graspline.tasks.sort.cell import Departure
from graspline.tasks.sort.parameters import Sort
from graspline.tasks.sort.task import cell_of

SETTINGS = Sort()
CELL = cell_of(SETTINGS)
ROBOT = CELL.robot
HOME = at_rest(ROBOT.home)
# The same arm as if it had no closed form; and without a camera.
BY_NUMBERS = replace(UR5E, name="ur5e_by_numbers", closed_form="")
BLIND = replace(UR5E, name="blind", cameras=())
CUBE_M = (0.04, 0.04, 0.04)
BRICK_M = (0.056, 0.036, 0.034)


def seen(
    *,
    number: int = 1,
    x: float = 0.5,
    y: float = 0.0,
    yaw: float = 0.3,
    size: tuple[float, float, float] = CUBE_M,
    colour: str = "red",
    speed: float = 0.05,
) -> BlockTrack:
    """A block that has just been seen, at time 0, on a belt of this speed."""
    return BlockTrack(
        number=number,
        colour=colour,
        sizes=((size, 3),),
        x_m=x,
        y_m=y,
        time_s=0.0,
        velocity_m_s=(0.0, -speed),
        speed_sigma_m_s=0.0005,
        yaw_rad=yaw,
        sigma_m=0.0005,
        yaw_sigma_rad=0.005,
        last_seen_s=0.0,
        sightings=3,
    )


def tracks_of(*alive: BlockTrack, speed: float = 0.05) -> Tracks:
    empty = no_tracks((0.0, -1.0), speed, 0.0005)
    return Tracks(direction=empty.direction, belt=empty.belt, alive=alive, time_s=0.0, next_number=len(alive) + 1)


def begin(start: Command = HOME, **more: Any) -> Departure:
    return Departure(start=start, **{"now_s": 0.0, **more})


def tool_of(joints: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Points and rotations of the tool for joints (..., at least 6)."""
    return forward(joints[..., :6])
