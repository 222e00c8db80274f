"""Oranges on and beside a plate, as faults find them."""

from __future__ import annotations

import functools

import numpy as np

from graspline.engine.cpu import CpuEngine
from graspline.faults.context import FaultContext, Timed
from graspline.robots.so101 import SO101
from graspline.scenes.fruit_table import FLOOR_M, Lying, fruit_start, fruit_table, fruit_variation
from graspline.scenes.scene import Scene

PLATE_M = (0.0, 0.27)
RADIUS_M = 0.11
BALL_M = 0.03
ROUND_M = (BALL_M, BALL_M, BALL_M)


@functools.cache
def scene_with(oranges: int) -> Scene:
    return fruit_table(oranges, RADIUS_M, 0, False)


def on_plate(angle: float, distance_m: float = 0.055) -> Lying:
    x, y = PLATE_M
    return Lying(
        x_m=x + distance_m * np.cos(angle),
        y_m=y + distance_m * np.sin(angle),
        half_extents_m=ROUND_M,
        mass_kg=0.12,
    )


def world(*placed: Lying, beside: int = 0, seed: int = 0) -> FaultContext:
    """Oranges that lie on the plate, and some that lie beside it on the table."""
    scene = scene_with(len(placed) + beside)
    things = {f"orange_{index + 1}": thing for index, thing in enumerate(placed)}
    for index in range(beside):
        name = f"orange_{len(placed) + index + 1}"
        things[name] = Lying(x_m=0.25, y_m=-0.1 - 0.1 * index, half_extents_m=ROUND_M, mass_kg=0.12)
    start = fruit_start(scene, things, PLATE_M)
    for index in range(len(placed)):
        start[scene.joint_address(f"orange_{index + 1}") + 2] += FLOOR_M
    engine, variation = CpuEngine(scene, 1, 1), fruit_variation(things, 1.0)
    engine.reset(0, start, variation)
    context = FaultContext(
        engine=engine, lane=0, variation=variation, random=np.random.default_rng(seed), target="orange_1"
    )
    rest(context, 20)
    return context


def rest(context: FaultContext, ticks: int) -> None:
    for _ in range(ticks):
        context.engine.step(SO101.home[None], np.zeros(1, np.intp))


def happen(context: FaultContext, events: list[Timed]) -> None:
    """Let timed events strike, each before its tick, and then everything come to rest."""
    last = round(max((after_s for after_s, _ in events), default=0.0) * SO101.control_hz)
    for tick in range(last + 1):
        for after_s, deed in events:
            if round(after_s * SO101.control_hz) == tick:
                context.engine.apply(0, deed(context) if callable(deed) else deed)
        rest(context, 1)
    rest(context, 90)
