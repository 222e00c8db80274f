"""An executor on the cube table, and small drivers, for the tests of this folder."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graspline.engine.cpu import CpuEngine
from graspline.execution.executor import Executor
from graspline.execution.lane_recording import LaneRecording
from graspline.execution.notifications import Finished, Happening
from graspline.execution.requests import Driver, Motion, Reply
from graspline.motion.guards import Guard
from graspline.motion.joint_moves import hold, joint_move
from graspline.motion.path import Path
from graspline.robots.so101 import SO101
from graspline.scenes.cube_table import cube_start, cube_table
from graspline.scenes.variation import Variation

Array = NDArray[np.float64]
Script = Generator[Any, Reply, Any]
Done = dict[int, tuple[Finished, LaneRecording]]

PLAIN = Variation()
START = cube_start(x_m=0.15, y_m=0.22, yaw_rad=0.3, edge_m=0.03)
# The hand swings to the right and up, clear of everything, and takes most of a second for it.
AWAY = SO101.home + np.array([-0.9, -0.3, -0.2, 0.1, 0.5, 0.6])


def executor_of(lanes: int, **options: Any) -> Executor:
    return Executor(CpuEngine(cube_table(), lanes, 1), **options)


def start(executor: Executor, *drivers: Callable[[Reply], Driver]) -> Executor:
    """Put a driver into each lane, from the first on."""
    for lane, driver in enumerate(drivers):
        executor.start(lane, driver, START, PLAIN)
    return executor


def finish(executor: Executor, most: int = 2000) -> Done:
    """Tick until every lane is done."""
    done: Done = {}
    for _ in range(most):
        if not executor.busy:
            return done
        done.update(executor.tick())
    raise AssertionError(f"still busy after {most} ticks")


def returned(done: Done, lane: int = 0) -> Any:
    """What a lane's driver returned."""
    finished, _ = done[lane]
    assert finished.how == "returned", finished.error
    return finished.value


def play(*drivers: Callable[[Reply], Driver], **options: Any) -> Done:
    return finish(start(executor_of(len(drivers), **options), *drivers))


def going(target: Array = AWAY, *, guards: tuple[Guard, ...] = (), speed: float = 1.0) -> Callable[[Reply], Script]:
    """A driver that moves once and returns the reply."""

    def drive(first: Reply) -> Script:
        return (yield Motion("go", joint_move(SO101, first.command, target, speed=speed), guards=guards))

    return drive


def holding(duration_s: float, **more: Any) -> Callable[[Reply], Script]:
    """A driver that stands still and returns the reply."""

    def drive(first: Reply) -> Script:
        return (yield Motion("hold", hold(SO101, first.command, duration_s), **more))

    return drive


def path_of(positions: Array, velocities: Array | None = None) -> Path:
    return Path(
        positions=positions,
        velocities=np.zeros_like(positions) if velocities is None else velocities,
        dt_s=SO101.dt_s,
    )


def assert_within_limits(positions: Array, velocities: Array) -> None:
    """Range, velocity and acceleration of a reference keep limits, as it says and by its differences."""
    limits, dt = SO101.limits, SO101.dt_s
    slack = 1 + 1e-6
    assert (positions >= limits.lower).all()
    assert (positions <= limits.upper).all()
    assert (np.abs(velocities) <= limits.velocity * slack).all()
    assert (np.abs(np.diff(velocities, axis=0)) / dt <= limits.acceleration * slack).all()
    steps = np.diff(positions, axis=0) / dt
    assert (np.abs(steps) <= limits.velocity * slack).all()
    assert (np.abs(np.diff(steps, axis=0)) / dt <= limits.acceleration * slack).all()


class Diary:
    """An observer that keeps everything it is told."""

    def __init__(self) -> None:
        self.entries: list[tuple[int, float, Happening]] = []

    def __call__(self, lane: int, time_s: float, notification: Happening) -> None:
        self.entries.append((lane, time_s, notification))

    def of(self, kind: type) -> list[tuple[int, float, Any]]:
        return [entry for entry in self.entries if isinstance(entry[2], kind)]
