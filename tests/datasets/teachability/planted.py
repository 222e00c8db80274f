"""Demonstrations with a known answer: a hand that points straight down takes cubes that lie on a line."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from graspline.datasets.teachability.demonstrations import Demonstrations, Grasps
from graspline.datasets.teachability.hand import HandRoll
from graspline.datasets.teachability.scenes import SceneStart, StartObject

Array = NDArray[np.float64]

FPS, FRAMES, GRASP = 10, 41, 20
# Rolls to the right turn the heading to the left, for the axis points down.
DOWN = np.array([0.0, 0.0, -1.0])
PAN, ROLL, JAW = 0, 1, 2


def cube(
    x_mm: float, yaw_rad: float = 0.0, *, y_mm: float = 0.0, half_mm: float = 15.0, **other: object
) -> StartObject:
    values: dict[str, object] = {
        "name": "cube",
        "kind": "box",
        "position_mm": np.array([x_mm, y_mm, half_mm]),
        "yaw_rad": yaw_rad,
        "period_rad": np.pi / 2,
        "half_mm": np.full(3, half_mm),
    }
    return StartObject(**{**values, **other})  # pyright: ignore[reportArgumentType]


def scene_of(*objects: StartObject, instruction: str = "Lift it.") -> SceneStart:
    return SceneStart(instruction=instruction, objects=objects)


def demonstrations_of(rolls_deg: Array, pans_deg: Array | None = None) -> Demonstrations:
    """Each goes evenly from 0 to its roll and pan in two seconds, grasps there, closes and stays for two seconds."""
    count = len(rolls_deg)
    share = np.clip(np.arange(FRAMES) / GRASP, 0.0, 1.0)
    actions = np.zeros((count, FRAMES, 3))
    actions[..., ROLL] = share * rolls_deg[:, None]
    actions[..., PAN] = share * (np.zeros(count) if pans_deg is None else pans_deg)[:, None]
    states = np.where(np.arange(FRAMES) < GRASP, 0, 1)
    flat = actions.reshape(-1, 3)
    return Demonstrations(
        joints=("pan", "roll", "jaw"),
        units=("deg", "deg", "deg"),
        jaw=JAW,
        fps=FPS,
        first=np.arange(count + 1) * FRAMES,
        actions=flat,
        measured=flat,
        states=np.tile(states, count),
        state_names=("reach", "hold"),
        tool_mm=np.zeros((0, 3)),
    )


def grasps_of(yaws_rad: Array, headings_rad: Array, *, apart_mm: float = 1.0, period_rad: float = np.pi / 2) -> Grasps:
    """Cubes on a line, taken with the jaw closing along these headings."""
    count = len(yaws_rad)
    objects = [cube(apart_mm * number, float(yaw), period_rad=period_rad) for number, yaw in enumerate(yaws_rad)]
    zeros = np.zeros(count)
    return Grasps(
        hand=HandRoll(roll=ROLL, lower_deg=-160.0, upper_deg=160.0, axis=DOWN, closing=np.array([1.0, 0.0, 0.0])),
        episodes=np.arange(count),
        frames=np.arange(count) * FRAMES + GRASP,
        scenes=[scene_of(each) for each in objects],
        objects=objects,
        axes=np.tile(DOWN, (count, 1)),
        closings=np.stack([np.cos(headings_rad), np.sin(headings_rad), zeros], axis=1),
        grips_rad=np.full(count, period_rad),
    )


def planted(choices: Array, yaws_rad: Array, *, apart_mm: float = 1.0) -> tuple[Demonstrations, Grasps]:
    """Each hand takes its cube across the faces that are so many quarter turns from the first."""
    headings = yaws_rad + choices * np.pi / 2
    return demonstrations_of(-np.degrees(headings)), grasps_of(yaws_rad, headings, apart_mm=apart_mm)
