"""Where a numerical arm begins: tables of solved postures, one for each family of solutions.

Seen from the first axis a target is a radius, a height and a pitch: its azimuth only turns the first joint, and its
heading, nearly, only the wrist. So a coarse grid of these three, solved once, has a posture near every target. A family
grows over the grid from one posture, cell by cell, each from its neighbour; so all of it is one branch of solutions.
Families are found from random postures, with a fixed seed, and that of the robot's home comes first.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from graspline.errors import WiringError
from graspline.kinematics.grid import Grid, goals_at, grid_of, wrist_point
from graspline.kinematics.newton import Found, approached
from graspline.kinematics.structure import Indices, Structure, within

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]

# Cells from which families are looked for, random postures at each, and steps that each may take.
_ROOTS, _STARTS, _ROOT_STEPS = 20, 16, 25
_GROW_STEPS = 8
_SOLVED_M, _SOLVED_RAD = 1e-6, 1e-5
# A neighbour is of the same family if no joint is farther away; postures this near to each other are the same.
_NEAR, _SAME = 0.9, 0.05
# How far beyond a limit a family is known: what is refused there is refused by that limit.
_BEYOND = 0.4
# How far towards the next cell slopes are measured.
_SHARE = 0.01
# How many families are grown at most, and how many at once; and how many are kept at most that face the target, and
# that have their back to it.
_GROWN, _AT_ONCE, _FACING, _BACKWARDS = 14, 5, 3, 1
# A family is kept that reaches this share of the cells of the best more than those before it.
_WORTH = 0.01
# Values at which joints that are left over are locked, from home's, and how far from their limits.
_ASIDE, _INSIDE = (0.0, 0.9, -0.9), 0.15
# Headings of the jaws at each cell that families are compared by.
_HEADINGS = 12
_SEED = 1


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Seeds:
    """Families of postures over one grid, those that face the target first."""

    grid: Grid
    # The point of the gripper frame, on the wrist's axis, that the grid is about, (3,).
    point_m: Array
    # The joints at each cell and how they change to the next one along each axis, (families, cells, 4, n).
    table: Array
    # Where the turns of each family's joints are counted from, (families, n).
    middle: Array
    # Whether all cells around a target were solved of which this is the lowest, alike enough to be interpolated,
    # (families, cells); cells that were not solved have the posture of the nearest one that was.
    whole: Flags
    # How many families face the target; and, of an arm with a plane of its own, which way it looks, 1 or -1.
    facing: int
    way: Array  # (families,)
    # On which side of singular postures each is: the sign of the determinant with a heading and without, (2, families).
    side: Array

    def near(self, radius: Array, height: Array, pitch: Array, family: Indices) -> Array:
        """Joints (n, L) near targets, each of a family: interpolated, or as they change from the nearest cell."""
        lowest, weights = self.grid.around(radius, height, pitch)
        _, cells, _, n = self.table.shape
        first = family * cells
        edge = np.flatnonzero(~self.whole.ravel()[first + lowest])
        # Cells beyond the last one have no weight.
        around = np.minimum(lowest[:, None] + self.grid.corners, cells - 1) + first[:, None]
        values = self.table.reshape(-1, 4 * n).take(around, axis=0).reshape(-1, 32, n)
        joints = (weights @ values)[:, 0].T.copy()
        if len(edge):
            cell, away = self.grid.nearest_and_beside(radius[edge], height[edge], pitch[edge])
            value, *slopes = self.table[family[edge], cell].transpose(1, 2, 0)
            joints[:, edge] = value + slopes[0] * away[0] + slopes[1] * away[1] + slopes[2] * away[2]
        return joints


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Roots:
    """Solved postures: the cell, the joints, which way the arm looks, and the determinant's sign; one row each."""

    cell: Indices
    joints: Array  # (R, n)
    way: Array
    side: Array

    def of(self, rows: Indices | Flags) -> _Roots:
        return _Roots(cell=self.cell[rows], joints=self.joints[rows], way=self.way[rows], side=self.side[rows])

    def and_these(self, others: _Roots) -> _Roots:
        names = ("cell", "joints", "way", "side")
        return _Roots(**{name: np.concatenate([getattr(self, name), getattr(others, name)]) for name in names})


def seeds_of(structure: Structure) -> Seeds:
    """Find the families of an arm and put them in order: home's, then those that add most."""
    grid, random = grid_of(structure), np.random.default_rng(_SEED)
    home, roots = _home_root(structure, grid), _random_roots(structure, grid, random)
    grown = home
    joints, solved = _grown(structure, grid, home)
    while len(grown.cell) < _GROWN:
        fresh = _distinct(roots.of(~_known(joints, solved, roots)), min(_AT_ONCE, _GROWN - len(grown.cell)))
        if not len(fresh.cell):
            break
        more, solved_more = _grown(structure, grid, fresh)
        grown = grown.and_these(fresh)
        joints, solved = np.concatenate([joints, more]), np.concatenate([solved, solved_more])
    kept, facing = _chosen(structure, joints, solved, grown.way)
    if not facing:
        raise WiringError(
            f"no posture of the arm {', '.join(structure.chain.joints)} points its hand down at a target ahead of it; "
            "expected joint ranges that let it, a tool whose x points out of the hand (tool.along), and a home that is "
            "not behind the base"
        )
    return Seeds(
        grid=grid,
        point_m=wrist_point(structure),
        table=np.stack([_table(structure, grid, joints[each], solved[each], float(grown.way[each])) for each in kept]),
        middle=np.array([np.median(joints[each][:, solved[each]], axis=1) for each in kept]),
        whole=_whole(grid, joints[kept], solved[kept]),
        facing=facing,
        way=grown.way[kept],
        side=np.stack([grown.side[kept], _sides_without(structure, grid, grown.of(kept))]),
    )


def _solved(structure: Structure, grid: Grid, cells: Indices, joints: Array, way: Array) -> tuple[Found, Flags]:
    """Where postures (n, L) come to that are near solutions at these cells, and which of them are solutions."""
    found = approached(structure, joints, goals_at(structure, grid.targets(cells), way), _GROW_STEPS)
    return found, (found.off_m < _SOLVED_M) & (found.off_rad < _SOLVED_RAD)


def _home_root(structure: Structure, grid: Grid) -> _Roots:
    """The robot's home, brought to the nearest cell; no row where that fails."""
    start = _unlocked(structure, structure.home[:, None].copy(), np.zeros(1, dtype=np.intp))
    posture = structure.chain.at(start)
    point = posture.point(wrist_point(structure)[:, None])[:, 0] - np.array([*structure.axis_m, 0.0])
    approach = posture.rotation[:, 0, 0]
    azimuth = np.arctan2(point[1], point[0])
    start[0] -= structure.turn * azimuth
    ahead = approach[0] * np.cos(azimuth) + approach[1] * np.sin(azimuth)
    pitch = np.arctan2(-approach[2], ahead)
    cell = grid.nearest(np.hypot(point[:1], point[1:2]), point[2:3], np.array([pitch]))
    return _settled(structure, grid, cell, start)


def _random_roots(structure: Structure, grid: Grid, random: np.random.Generator) -> _Roots:
    """Solutions within limits from random postures, at cells near which others have their hands."""
    n = len(structure.home)
    samples = within(structure.lower, structure.upper, structure.home, random.random((n, 2000)))
    posture = structure.chain.at(samples)
    point = posture.point(wrist_point(structure)[:, None])
    radius = np.hypot(point[0] - structure.axis_m[0], point[1] - structure.axis_m[1])
    pitch = random.uniform(np.pi / 4, np.pi / 2, radius.shape)
    # Where hands are that point down: most others are out of the reach of such.
    lowest = np.argsort(posture.rotation[2, 0], kind="stable")[:200]
    cells = np.unique(grid.nearest(radius[lowest], point[2, lowest], pitch[lowest]))
    cells = np.repeat(random.permutation(cells)[:_ROOTS], _STARTS)
    starts = within(structure.lower, structure.upper, structure.home, random.random((n, len(cells))))
    starts = _unlocked(structure, starts, random.integers(0, len(_ASIDE), len(cells)))
    found = _settled(structure, grid, cells, starts)
    return found.of(np.argsort(found.cell, kind="stable"))


def _unlocked(structure: Structure, joints: Array, aside: Indices) -> Array:
    """Joints (n, L) with those that are left over at one of their values, by its index."""
    for joint in structure.locked:
        value = structure.home[joint] + np.array(_ASIDE)[aside]
        joints[joint] = np.clip(value, structure.lower[joint] + _INSIDE, structure.upper[joint] - _INSIDE)
    return joints


def _settled(structure: Structure, grid: Grid, cells: Indices, starts: Array) -> _Roots:
    """The starts that come to rest within limits at their cells."""
    goals = goals_at(structure, grid.targets(cells), np.ones(len(cells)))
    joints = approached(structure, starts, goals, _ROOT_STEPS).joints
    joints = structure.wrapped(joints, structure.home[:, None])
    way = np.ones(len(cells))
    if structure.planar:
        way = np.where(np.cos(structure.ahead_rad + structure.turn * joints[0]) >= 0, 1.0, -1.0)
    if structure.steered:
        # Jaws that open the other way need half a turn of the wrist.
        other = structure.chain.at(joints).rotation[1, 2] * way < 0
        joints[structure.wrist] += np.pi * other
    found, solved = _solved(structure, grid, cells, joints, way)
    solved &= _beyond(structure, found.joints) <= 0
    side = np.sign(found.determinant)
    return _Roots(cell=cells, joints=found.joints.T, way=way, side=side).of(solved)


def _beyond(structure: Structure, joints: Array) -> Array:
    """By how much joints (n, L) are beyond their limits, the worst of each; but for the wrist, which headings turn."""
    beyond = np.maximum(structure.lower[:, None] - joints, joints - structure.upper[:, None])
    if structure.steered:
        beyond = np.delete(beyond, structure.wrist, axis=0)
    return beyond.max(axis=0)


def _distinct(roots: _Roots, most: int) -> _Roots:
    """Solutions that differ, of the cell that has most of them."""
    best: list[int] = []
    for cell in np.unique(roots.cell):
        rows: list[int] = []
        for row in np.flatnonzero(roots.cell == cell):
            if all(_apart(roots.joints[row], roots.joints[other]) > _SAME for other in rows):
                rows.append(int(row))
        best = rows if len(rows) > len(best) else best
    return roots.of(np.array(best[:most], dtype=np.intp))


def _apart(one: Array, other: Array) -> Array:
    """How far postures are from each other, turns aside, along the first axis of each."""
    off = one - other
    return np.abs(off - 2 * np.pi * np.rint(off / (2 * np.pi))).max(axis=0)


def _known(joints: Array, solved: Flags, roots: _Roots) -> Flags:
    """Which roots belong to one of these families."""
    at = joints[:, :, roots.cell].transpose(1, 0, 2)
    return np.any((_apart(at, roots.joints.T[:, None]) < _SAME) & solved[:, roots.cell], axis=0)


def _grown(structure: Structure, grid: Grid, roots: _Roots) -> tuple[Array, Flags]:
    """Joints (families, n, cells) of every cell that a family of each root reaches, and which are reached."""
    families, cells = len(roots.cell), int(np.prod(grid.shape))
    joints = np.zeros((families, len(structure.home), cells))
    solved = np.zeros((families, cells), dtype=bool)
    family, cell = np.arange(families), roots.cell
    joints[family, :, cell], solved[family, cell] = roots.joints, True
    while len(cell):
        beside, of = grid.neighbours(cell)
        family = family[of]
        fresh = np.flatnonzero(~solved[family, beside])
        _, once = np.unique(family[fresh] * cells + beside[fresh], return_index=True)
        fresh = fresh[once]
        family, start, cell = family[fresh], joints[family[fresh], :, cell[of[fresh]]].T, beside[fresh]
        found, there = _solved(structure, grid, cell, start, roots.way[family])
        there &= (np.abs(found.joints - start).max(axis=0) < _NEAR) & (_beyond(structure, found.joints) < _BEYOND)
        # A family ends at singular postures: beyond them it would be another.
        there &= found.determinant * roots.side[family] > 0
        family, cell = family[there], cell[there]
        joints[family, :, cell], solved[family, cell] = found.joints.T[there], True
    return joints, solved


def _sides_without(structure: Structure, grid: Grid, roots: _Roots) -> Array:
    """(R,): the determinant's sign at roots where the heading is left free."""
    goals = goals_at(structure, grid.targets(roots.cell), roots.way)
    return np.sign(approached(structure, roots.joints.T, replace(goals, headed=False), 0).determinant)


def _table(structure: Structure, grid: Grid, joints: Array, solved: Flags, way: float) -> Array:
    """(cells, 4, n): a family's joints (n, cells) and how they change from cell to cell; see `Seeds.table`.

    Cells beside solved ones go on as those do, and the rest take what is beside them.
    """
    table, solved, cell, onwards = (
        np.zeros((joints.shape[1], 4, len(joints))),
        solved.copy(),
        np.flatnonzero(solved),
        1.0,
    )
    table[:, 0] = joints.T
    for axis in range(3):
        targets = grid.targets(cell)
        targets[axis] += _SHARE * grid.step[axis]
        goals = goals_at(structure, targets, np.full(len(cell), way))
        change = (approached(structure, joints[:, cell], goals, 1).joints - joints[:, cell]) / _SHARE
        # Next to a singular posture they hold on for less than a cell.
        table[cell, axis + 1] = np.where(np.abs(change).max(axis=0) < _NEAR, change, 0.0).T
    while len(cell):
        beside, of = grid.neighbours(cell)
        fresh = np.flatnonzero(~solved[beside])
        _, once = np.unique(beside[fresh], return_index=True)
        beside, cell = beside[fresh[once]], cell[of[fresh[once]]]
        away = (grid.targets(beside) - grid.targets(cell)) / grid.step[:, None]
        table[beside] = table[cell]
        table[beside, 1:] *= onwards
        table[beside, 0] += np.add.reduce(table[beside, 1:] * away.T[..., None], axis=1)
        solved[beside], cell, onwards = True, beside, 0.0
    return table


def _whole(grid: Grid, joints: Array, solved: Flags) -> Flags:
    """(families, cells): see `Seeds.whole`."""
    around = np.minimum(np.arange(joints.shape[2])[:, None] + grid.corners, joints.shape[2] - 1)
    spread = np.ptp(joints[:, :, around], axis=3).max(axis=1)
    return np.logical_and(np.all(solved[:, around], axis=2), spread < _NEAR)


def _chosen(structure: Structure, joints: Array, solved: Flags, way: Array) -> tuple[Indices, int]:
    """Families in their order, and how many of them face the target: the first, and what adds most to those before."""
    families, n, cells = joints.shape
    flat = joints.transpose(1, 0, 2).reshape(n, -1)
    reached = ((_beyond(structure, flat) <= 0).reshape(families, cells) & solved)[:, None]
    if structure.steered:
        # And the share of headings that the wrist has.
        wrist = structure.wrist
        turned = np.repeat(flat, _HEADINGS, axis=1)
        turned[wrist] += np.tile(np.arange(_HEADINGS) * (2 * np.pi / _HEADINGS), flat.shape[1])
        angle = (
            structure.wrapped(turned, structure.home[:, None])[wrist]
            .reshape(families, cells, _HEADINGS)
            .transpose(0, 2, 1)
        )
        reached = reached & (angle >= structure.lower[wrist]) & (angle <= structure.upper[wrist])
    if structure.planar:
        faces = way > 0
    else:
        first = [float(np.median(joints[each, 0, solved[each]])) for each in range(families)]
        faces = np.cos(np.array(first) - first[0]) > 0 if families else np.array([], dtype=bool)
    kept: list[int] = []
    covered = np.zeros(reached.shape[1:], dtype=bool)
    for group, most in ((faces, _FACING), (~faces, _BACKWARDS)):
        left = [int(each) for each in np.flatnonzero(group)]
        for _ in range(most):
            gains = [int((reached[each] & ~covered).sum()) for each in left]
            if not gains:
                break
            best = 0 if not kept and group is faces and left[0] == 0 else int(np.argmax(gains))
            if kept and gains[best] < _WORTH * covered.sum():
                break
            kept.append(left.pop(best))
            covered |= reached[kept[-1]]
    return np.array(kept, dtype=np.intp), int(faces[kept].sum())
