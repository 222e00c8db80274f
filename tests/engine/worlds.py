"""Lanes of the cube table for the tests of this folder."""

from __future__ import annotations

from collections.abc import Sequence

import mujoco
import numpy as np

from graspline.engine.cpu import CpuEngine
from graspline.robots.so101 import SO101
from graspline.scenes.cube_table import CUBE, cube_start, cube_table, cube_variation
from graspline.scenes.scene import Array
from graspline.scenes.variation import Variation

GRAVITY_M_S2 = 9.81
PLAIN = Variation()
# Beside the robot, where the arm is not in the way.
START = cube_start(x_m=0.15, y_m=0.22, yaw_rad=0.4, edge_m=0.03)
# Edge, mass and pad friction of cubes that differ in everything.
CUBES = ((0.020, 0.010, 0.9), (0.040, 0.080, 1.2), (0.031, 0.045, 1.05))


def varied(which: int) -> tuple[Array, Variation]:
    """Start and variation of one of the `CUBES`."""
    edge_m, mass_kg, pad_friction = CUBES[which]
    start = cube_start(x_m=0.12 + 0.01 * which, y_m=0.2 + 0.02 * which, yaw_rad=0.3 * which, edge_m=edge_m)
    return start, cube_variation(edge_m=edge_m, mass_kg=mass_kg, pad_friction=pad_friction)


def engine_with(worlds: Sequence[tuple[Array, Variation]], *, threads: int = 1) -> CpuEngine:
    engine = CpuEngine(cube_table(), len(worlds), threads)
    for lane, (start, variation) in enumerate(worlds):
        engine.reset(lane, start, variation)
    return engine


def swing(tick: int, lane: int) -> Array:
    """Controls that move the arm differently in every lane, gently enough to stay above the table."""
    wave = 0.2 * np.sin(0.11 * tick * (1 + 0.1 * lane) + np.arange(6))
    return SO101.home + wave * min(1.0, tick / 30)


def play(engine: CpuEngine, ticks: range, lanes: Sequence[int] | None = None) -> bool:
    """Step some lanes (all, unless told) through some ticks of `swing`; whether any diverged."""
    chosen = np.array(range(engine.count) if lanes is None else lanes, np.intp)
    diverged = False
    for tick in ticks:
        diverged |= engine.step(np.stack([swing(tick, int(lane)) for lane in chosen]), chosen)
    return diverged


def rest(engine: CpuEngine, ticks: int) -> None:
    """Let every lane stand at home."""
    for _ in range(ticks):
        engine.step(np.tile(SO101.home, (engine.count, 1)), np.arange(engine.count))


def cube_m(engine: CpuEngine, lane: int = 0) -> Array:
    return engine.truth[lane, engine.layout.truth["cube.position"]].copy()


def bits(engine: CpuEngine, lane: int) -> bytes:
    return engine.state(lane).tobytes()


def weighed_kg(engine: CpuEngine, lane: int) -> float:
    """What the table carries in this lane, by the normal forces of the cube's contacts."""
    model, data = engine._batch.get_model(lane), engine._batch.get_data(lane)
    mujoco.mj_forward(model, data)
    cube, total, force = model.geom(CUBE).id, 0.0, np.zeros(6)
    for index in range(data.ncon):
        if cube in data.contact.geom[index]:
            mujoco.mj_contactForce(model, data, index, force)
            total += force[0]
    return total / GRAVITY_M_S2
