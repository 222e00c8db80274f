"""Ways of the HSR in a furnished room: how long planning takes, how many configurations it checks, what it cannot do.

    python benchmarks/whole_body_planning.py
    python benchmarks/whole_body_planning.py --queries 400 --seed 3

Each query has five things on the table and others on the shelf's boards, in random places. *To the table* ends before a
thing; *from the table* begins where it has just been lifted and ends in front of the shelf; *into the shelf* ends above
a board; *anywhere* goes from any pose over the table or inside the shelf, from any side, to any other, every second
time with something in the hand. Goals are the nearest free solutions of the whole-body kinematics; where there is none,
another query is drawn. Times are of planning and of timing the way, with corners checked. One JSON object tells all.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graspline.kinematics.hsr import ranked, solve
from graspline.motion.path import Path
from graspline.perception.core.beliefs import Belief, Shape
from graspline.perception.core.held import HeldObject
from graspline.planning.collision import CollisionWorld
from graspline.planning.rrt import NoWay, plan_way, timed
from graspline.robots.hsr import HSR
from graspline.robots.hsr_chain import WHOLE_BODY_JOINTS
from graspline.scenes.fittings import SHELF, TABLE
from graspline.spatial.poses import Pose
from graspline.spatial.rotations import multiply, rotation_x, rotation_y, rotation_z
from graspline.tasks.tidy.believed_room import House
from graspline.tasks.tidy.postures import before

Array = NDArray[np.float64]

SHAPES: tuple[Shape, ...] = ("box", "cylinder", "ball")
FURNITURE = House(table=TABLE, shelf=SHELF).solids
GOALS = 8
TOP_M = TABLE.levels[0].position_m[2]
# How a thing that stands upright is turned in a level hand.
R_LEVEL_HELD = rotation_x(-np.pi / 2)
X_HELD = Pose(position_m=np.zeros(3), rotation=R_LEVEL_HELD)


@dataclass
class Tally:
    """What the queries of one kind came to."""

    plan_ms: list[float] = field(default_factory=list)
    time_ms: list[float] = field(default_factory=list)
    checks: list[int] = field(default_factory=list)
    took_s: list[float] = field(default_factory=list)
    straight: int = 0
    failures: list[str] = field(default_factory=list)

    def figures(self) -> dict[str, Any]:
        percentiles = {"p50": 50, "p95": 95, "max": 100}
        measured = {
            "planning ms": self.plan_ms,
            "timing ms": self.time_ms,
            "checks": self.checks,
            "took s": self.took_s,
        }
        spread = {
            name: {key: round(float(np.percentile(values, share)), 1) for key, share in percentiles.items()}
            for name, values in measured.items()
            if values
        }
        return {"queries": len(self.plan_ms), "straight": self.straight, **spread, "failures": self.failures}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--queries", type=int, default=100, help="of each kind")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    random, world = np.random.default_rng(options.seed), CollisionWorld.among_solids(HSR)
    tallies: dict[str, Tally] = defaultdict(Tally)
    while len(tallies["into the shelf"].plan_ms) < options.queries:
        plan(world, random, tallies)
    while len(tallies["anywhere"].plan_ms) < options.queries:
        anywhere(world, random, tallies["anywhere"])
    figures = {name: tally.figures() for name, tally in tallies.items()}
    print(json.dumps({"µs a check": check_us(world, random), **figures}, indent=2, ensure_ascii=False))


def plan(world: CollisionWorld, random: np.random.Generator, tallies: dict[str, Tally]) -> None:
    """To a thing, to the shelf with it, and onto a board."""
    things, stock = on_table(random), on_boards(random)
    target = things[0]
    start = HSR.home.copy()
    start[:3] += random.uniform(-0.25, 0.25, 3)
    rotation = level(random.uniform(-0.6, 0.6))
    row = ask(
        world,
        tallies["to the table"],
        (*things, *stock),
        None,
        start,
        target.position_m - 0.11 * rotation[:, 0],
        rotation,
    )
    if row is None:
        return
    held = HeldObject(
        name="held",
        shape=target.shape,
        half_extents_m=target.half_extents_m,
        X_HO=X_HELD,
    )
    grasped = candidates(target.position_m + np.array([0, 0, 0.03]), rotation, row)
    world.place((*FURNITURE, *things[1:], *stock), held)
    lifted = [each for each in grasped if world.free(each)]
    if not lifted:
        return
    x, y, turn = before(SHELF, 0.8)
    carried = np.array([x, y, 0.9]) + rotation_z(turn) @ np.array([0.45, 0.08, 0.0])
    around = (*things[1:], *stock)
    row = ask(world, tallies["from the table"], around, held, lifted[0], carried, level(turn))
    if row is None:
        return
    board = SHELF.levels[random.integers(len(SHELF.levels))]
    offset = random.uniform((-0.05, -0.3, 0.05), (0.05, 0.3, 0.05))
    offset[2] += target.half_extents_m[2]
    above = SHELF.in_world(np.array(board.position_m) + offset)
    ask(world, tallies["into the shelf"], around, held, row, above, level(turn))


def anywhere(world: CollisionWorld, random: np.random.Generator, tally: Tally) -> None:
    things = (*on_table(random), *on_boards(random))
    half = np.array([0.03, 0.03, 0.09])
    held = HeldObject(name="held", shape="box", half_extents_m=half, X_HO=X_HELD) if random.random() < 0.5 else None
    world.place((*FURNITURE, *things), held)
    found = [each for each in candidates(*any_pose(random), HSR.home) if world.free(each)]
    if found:
        ask(world, tally, things, held, found[random.integers(min(3, len(found)))], *any_pose(random))


def any_pose(random: np.random.Generator) -> tuple[Array, Array]:
    """Of the tool: over the table from any side or from above, or inside the shelf."""
    if random.random() < 0.5:
        x, y = TABLE.levels[0].half_extents_m
        tool = TABLE.in_world(random.uniform((-x, -y, TOP_M + 0.08), (x, y, TOP_M + 0.3)))
        heading = random.uniform(-np.pi, np.pi)
        return tool, down(heading) if random.random() < 0.4 else level(heading)
    board = SHELF.levels[random.integers(len(SHELF.levels))]
    offset = random.uniform((-0.05, -0.3, 0.1), (0.1, 0.3, 0.25))
    return SHELF.in_world(np.array(board.position_m) + offset), level(SHELF.yaw_rad + random.uniform(-0.5, 0.5))


def ask(
    world: CollisionWorld,
    tally: Tally,
    things: tuple[Belief, ...],
    held: HeldObject | None,
    start: Array,
    tool_m: Array,
    rotation: Array,
) -> Array | None:
    """One query; where it ends, or nothing where it has no free goal or fails."""
    world.place((*FURNITURE, *things), held)
    goals = [each for each in candidates(tool_m, rotation, start) if world.free(each)][:GOALS]
    if not goals or not world.free(start):
        return None
    begun = time.perf_counter()
    way = plan_way(world, start, np.stack(goals), moving=WHOLE_BODY_JOINTS, seed=len(tally.plan_ms))
    planned = time.perf_counter()
    tally.plan_ms.append(1e3 * (planned - begun))
    tally.checks.append(way.checks)
    if isinstance(way, NoWay):
        tally.failures.append(str(way))
        return None
    tally.straight += way.by == "line"
    path = timed(world, way)
    tally.time_ms.append(1e3 * (time.perf_counter() - planned))
    if not isinstance(path, Path):
        tally.failures.append(str(path))
        return None
    tally.took_s.append(path.duration_s)
    return path.end


def check_us(world: CollisionWorld, random: np.random.Generator) -> dict[str, float]:
    """What one check takes, alone and among many."""
    world.place((*FURNITURE, *on_table(random), *on_boards(random)))
    rows = np.repeat(HSR.home[None], 2000, axis=0)
    rows[:, : len(WHOLE_BODY_JOINTS)] += random.uniform(-0.5, 0.5, (2000, len(WHOLE_BODY_JOINTS)))
    free = np.stack([row for row in np.clip(rows, HSR.limits.lower, HSR.limits.upper) if world.free(row)])
    begun = time.perf_counter()
    for row in free:
        world.free(row)
    alone = time.perf_counter()
    world.first_touching(free)
    together = time.perf_counter()
    return {"alone": 1e6 * (alone - begun) / len(free), "among many": 1e6 * (together - alone) / len(free)}


def candidates(tool_m: Array, rotation: Array, start: Array) -> Array:
    """(K, nu): joints that bring the tool there, nearest to the start first."""
    postures = ranked(solve(tool_m[None], rotation), 0, start)
    rows = np.repeat(start[None], len(postures), axis=0)
    rows[:, : postures.shape[1]] = postures
    return rows


def level(heading_rad: float) -> Array:
    """A hand that points along a heading and opens sideways."""
    return multiply(rotation_z(heading_rad), rotation_x(np.pi / 2))


def down(heading_rad: float) -> Array:
    return multiply(rotation_z(heading_rad), rotation_y(np.pi / 2))


def on_table(random: np.random.Generator) -> tuple[Belief, ...]:
    """Five things, 12 cm from each other at least."""
    found = list[Belief]()
    while len(found) < 5:
        x, y, _ = TABLE.in_world(random.uniform((-0.22, -0.32, 0), (0.15, 0.32, 0)))
        if all(np.hypot(*(each.position_m[:2] - (x, y))) > 0.12 for each in found):
            found.append(thing(random, x, y, TOP_M))
    return tuple(found)


def on_boards(random: np.random.Generator) -> tuple[Belief, ...]:
    """Two things in the back of each board."""
    places = [
        SHELF.in_world(
            np.array(board.position_m) + random.uniform((0.08, across - 0.08, 0.0), (0.08, across + 0.08, 0.0))
        )
        for board in SHELF.levels
        for across in (-0.2, 0.2)
    ]
    return tuple(thing(random, *place) for place in places)


def thing(random: np.random.Generator, x: float, y: float, bottom_m: float) -> Belief:
    shape = SHAPES[random.integers(len(SHAPES))]
    wide, deep, high = random.uniform((0.02, 0.02, 0.03), (0.04, 0.04, 0.11))
    half = {"box": (wide, deep, high), "cylinder": (wide, wide, high), "ball": (wide, wide, wide)}[shape]
    yaw = random.uniform(-np.pi, np.pi)
    return Belief(
        name="thing",
        shape=shape,
        position_m=np.array([x, y, bottom_m + half[2]]),
        quaternion=np.array([np.cos(yaw / 2), 0.0, 0.0, np.sin(yaw / 2)]),
        half_extents_m=np.array(half),
        position_sigma_m=0.0,
        yaw_sigma_rad=0.0,
    )


if __name__ == "__main__":
    main()
