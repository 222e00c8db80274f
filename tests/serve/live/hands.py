"""A person at the keys, scripted: looks at snapshots and drives, ten times a second, for the tests of this folder."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from graspline.serve.live.commands import Drive
from graspline.serve.live.snapshot import SessionSnapshot
from graspline.spatial.rotations import matrix_from_quaternion
from graspline.tasks.console import ObjectListed, Result

from .benches import Bench

# Ticks from one command to the next: a person at the keys sends ten a second.
EVERY = 6


class Hand:
    """Drives the arm of a bench."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench

    def drive(self, ticks: int, **wish: Any) -> Result:
        """Drive for a number of ticks; how the last command was answered."""
        order = self.bench.give(Drive(**wish))
        for tick in range(ticks):
            if tick and tick % EVERY == 0:
                order = self.bench.give(Drive(**wish))
            self.bench.tick()
        assert order.ticket.settled is not None
        return order.ticket.settled

    def drive_until(self, reached: Callable[[SessionSnapshot], bool], most: int = 900, **wish: Any) -> None:
        """Drive until something is seen, then let go; values of `wish` may be functions of what is seen."""
        for tick in range(most):
            seen = self.bench.snapshot
            if reached(seen):
                self.let_go()
                return
            if tick % EVERY == 0:
                now: dict[str, Any] = {name: value(seen) if callable(value) else value for name, value in wish.items()}
                self.bench.give(Drive(**now))
            self.bench.tick()
        raise AssertionError(f"not within {most} ticks: {self.bench.snapshot.as_dict()}")

    def let_go(self) -> None:
        self.bench.give(Drive())
        self.bench.until(lambda seen: seen.mode == "idle")

    def go_to(self, point_m: np.ndarray, within_m: float = 0.002) -> None:
        """Bring the middle between the jaws to a point."""

        def wish(seen: SessionSnapshot) -> tuple[float, ...]:
            way = 3 * (point_m - seen.tool_mid_m)
            return tuple((way * min(1.0, 0.15 / max(float(np.linalg.norm(way)), 1e-9))).tolist())

        self.drive_until(lambda seen: bool(np.linalg.norm(point_m - seen.tool_mid_m) < within_m), linear_m_s=wish)

    def align(self, yaw_rad: float) -> None:
        """Turn the wrist until the jaw closes on two sides of a cube."""

        def off(seen: SessionSnapshot) -> float:
            opens = matrix_from_quaternion(seen.tcp.quaternion)[:, 2]
            return float((yaw_rad - np.arctan2(opens[1], opens[0]) + np.pi / 4) % (np.pi / 2) - np.pi / 4)

        self.drive_until(
            lambda seen: abs(off(seen)) < 0.03, turn_rad_s=lambda seen: float(np.clip(-3 * off(seen), -0.8, 0.8))
        )

    def point_down(self) -> None:
        """Tilt the tool until it points down, as nearly as the arm can."""

        def done(seen: SessionSnapshot) -> bool:
            approach = matrix_from_quaternion(seen.tcp.quaternion)[:, 0]
            return approach[2] < -0.9995 or "at the edge of reach" in seen.message

        self.drive_until(done, tilt_rad_s=0.4)

    def grasp(self, cube: ObjectListed) -> None:
        """Open, go above it, turn, go down and close."""
        middle_m = np.array(cube.position_m)
        above_m = middle_m + np.array([0.0, 0.0, 0.06])
        self.drive_until(lambda seen: seen.jaw_gap_m > cube.size_m[0] + 0.03, jaw=1.0)
        self.go_to(above_m)
        self.point_down()
        self.align(cube.yaw_rad)
        self.go_to(above_m)
        self.go_to(middle_m, 0.003)
        self.drive_until(lambda seen: min(seen.pad_forces_n) > 2.0, jaw=-0.5)

    def lift(self, height_m: float) -> None:
        self.drive_until(lambda seen: bool(seen.tool_mid_m[2] > height_m), linear_m_s=(0.0, 0.0, 0.08))
