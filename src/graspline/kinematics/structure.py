"""What the joints of an arm can do: which equations of a target its hand can meet, and which joints are left over.

A hand has a position, a pitch in the vertical plane through the first axis, no lean out of that plane, and a heading of
its jaws. A wrist that turns the hand about its own approach takes the heading. Of the other joints three take the
position, a fourth the pitch and a fifth the lean; an arm whose hand stays in its own vertical plane needs no fifth.
Joints beyond these are locked, each branch at a value of its own, so that a branch is a smooth function of the target.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graspline.errors import WiringError
from graspline.kinematics.chain import Chain, chain_of
from graspline.robots.robot import Robot

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

# Fewest joints with which a hand can be sent to a position at a pitch, or with a heading.
FEWEST_JOINTS = 4
# Axes are taken as parallel to this.
_PARALLEL = 1e-6
# A home does not show where ahead is if its hand points up by more than this sine, or is within this share of the reach
# from the first axis; random postures do, if they are on one side by more than this share.
_UPWARDS, _OVER_AXIS, _MOST = 0.5, 0.05, 0.1
# Random postures that an arm is judged by, and the seed of all randomness in a numerical arm.
_SAMPLES, _SEED = 400, 0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Structure:
    """An arm of n joints whose first is an upright hinge."""

    chain: Chain
    # Where the tool is in the gripper frame when nothing else is said, (3,).
    tool_m: Array
    axis_m: tuple[float, float]
    # Whether the first joint turns to the left, 1, or to the right, -1.
    turn: float
    lower: Array  # (n,)
    upper: Array
    home: Array
    # Between which positions the turns of a joint can be counted from, so that those within its limits come out.
    turned_from: Array
    turned_to: Array
    # Whether the approach stays in a vertical plane that turns with the first joint; its heading at joint position 0.
    planar: bool
    ahead_rad: float
    # The joint that turns the hand about its approach, and which way; where there is none, the last hinge and 0.
    wrist: int
    roll: float
    # Hinges that fold the arm in the vertical plane it stands in at home, from the base outwards.
    folding: tuple[int, ...]
    # Which equations are solved besides the position, and which joints are left at set values.
    pitched: bool
    upright: bool
    locked: Indices
    # Joints that are solved for, with a heading and without.
    free: Indices
    free_of_heading: Indices
    # Metres that weigh as much as a radian.
    lever_m: float
    # The hand's reach from the first axis over all postures, and its lowest and highest place, both of the tool.
    reach_m: float
    heights_m: tuple[float, float]

    @property
    def steered(self) -> bool:
        """Whether the wrist takes the heading."""
        return self.roll != 0

    def wrapped(self, joints: Array, near: Array) -> Array:
        """(n, L): each hinge on the turn that is nearest to `near`, (n, 1) or (n, L), as far as its limits let it."""
        middle = np.minimum(np.maximum(near, self.turned_from[:, None]), self.turned_to[:, None])
        turns = np.rint((joints - middle) / (2 * np.pi))
        turns[self.chain.slides] = 0.0
        return joints - 2 * np.pi * turns


def structure_of(robot: Robot) -> Structure:
    """Read from the robot's model. Raises WiringError where its arm cannot be solved for targets of a tool."""
    joints = robot.joints[robot.arm]
    if len(joints) < FEWEST_JOINTS:
        raise WiringError(
            f"{robot.name}: an arm of {len(joints)} joints ({', '.join(joints)}) cannot be sent to a position at a "
            f"pitch; expected {FEWEST_JOINTS} or more"
        )
    tool_m = np.array(robot.hand.tool_m if robot.hand else (0.0, 0.0, 0.0))
    chain = chain_of(robot, tool_m)
    lower, upper = robot.limits.lower[robot.arm], robot.limits.upper[robot.arm]
    home = np.asarray(robot.home, float)[robot.arm]
    finite = np.isfinite(lower) & np.isfinite(upper)
    middle = np.where(finite, (lower + upper) / 2, home)
    spare_turn = np.where(finite, np.maximum((upper - lower) / 2 - np.pi, 0.0), np.inf)
    turn, axis_m = _first(robot, chain)
    random = np.random.default_rng(_SEED)
    samples = within(lower, upper, home, random.random((len(joints), _SAMPLES)))
    samples[0] = 0.0
    posture = chain.at(samples)
    tool = posture.point(tool_m[:, None])
    out = np.hypot(tool[0] - axis_m[0], tool[1] - axis_m[1])
    reach_m = float(out.max())
    wrist, roll = _wrist(chain, posture.axes, posture.rotation)
    level = tool[:2] - np.array(axis_m)[:, None]
    start = chain.at(np.concatenate([[0.0], home[1:]])[:, None])
    start_level = start.point(tool_m[:, None])[:2, 0] - np.array(axis_m)
    planar, ahead_rad = _ahead(posture.rotation[:, 0], level, (start.rotation[:, 0, 0], start_level))
    others = len(joints) - (roll != 0)
    pitched = others > 3
    upright = not planar and others > 4
    if len(joints) > 5 and roll == 0:
        raise WiringError(
            f"{robot.name}: its last hinge {joints[wrist]!r} does not turn the hand about its approach, the x axis of "
            "the site 'tool'; expected a wrist that does"
        )
    lever_m = reach_m / 3
    spare = others - 3 - pitched - upright
    locked = _locked(chain, samples, posture.axes, posture.anchors, tool, wrist if roll else -1, spare, lever_m)
    free = np.setdiff1d(np.arange(len(joints)), locked)
    return Structure(
        chain=chain,
        tool_m=tool_m,
        axis_m=axis_m,
        turn=turn,
        lower=lower,
        upper=upper,
        home=home,
        turned_from=middle - spare_turn,
        turned_to=middle + spare_turn,
        planar=planar,
        ahead_rad=ahead_rad,
        wrist=wrist,
        roll=roll,
        folding=_folding(chain, home),
        pitched=pitched,
        upright=upright,
        locked=locked,
        free=free,
        free_of_heading=free[free != wrist] if roll else free,
        lever_m=lever_m,
        reach_m=reach_m,
        heights_m=(float(tool[2].min()), float(tool[2].max())),
    )


def _first(robot: Robot, chain: Chain) -> tuple[float, tuple[float, float]]:
    """Which way the first joint turns, and where it stands."""
    name = chain.joints[0]
    if chain.slides[0]:
        raise WiringError(f"{robot.name}: the arm's first joint {name!r} slides; expected a hinge with an upright axis")
    axis, anchor = chain.steps[0, :, 2], chain.steps[0, :, 3]
    if np.hypot(axis[0], axis[1]) > _PARALLEL:
        raise WiringError(
            f"{robot.name}: the axis of the arm's first joint {name!r} is {np.round(axis, 4).tolist()} in the world; "
            "expected an upright one, [0, 0, 1] or [0, 0, -1]"
        )
    return float(np.sign(axis[2])), (float(anchor[0]), float(anchor[1]))


def within(lower: Array, upper: Array, home: Array, shares: Array) -> Array:
    """Joint positions (n, L) at shares of the ranges; within a turn about home where there is no limit."""
    low = np.where(np.isfinite(lower), lower, home - np.pi)
    high = np.where(np.isfinite(upper), upper, home + np.pi)
    return low[:, None] + (high - low)[:, None] * shares


def _wrist(chain: Chain, axes: Array, rotation: Array) -> tuple[int, float]:
    """The last hinge, and which way it turns the hand about its approach; 0 if it does not."""
    wrist = int(np.flatnonzero(~chain.slides)[-1])
    along = np.add.reduce(axes[:, wrist] * rotation[:, 0], axis=0)
    if wrist == len(chain.joints) - 1 and np.abs(np.abs(along) - 1).max() < _PARALLEL:
        return wrist, float(np.sign(along[0]))
    return wrist, 0.0


def _folding(chain: Chain, home: Array) -> tuple[int, ...]:
    """The hinges with level axes at home that are parallel to the first of them; without any, those after the pan."""
    axes = chain.at(home[:, None]).axes[..., 0]
    level = np.flatnonzero(~chain.slides & (np.abs(axes[2]) < _PARALLEL))
    if not len(level):
        return tuple(range(1, min(4, len(home))))
    return tuple(int(each) for each in level if abs(axes[:, each] @ axes[:, level[0]]) > 1 - _PARALLEL)


def _ahead(approach: Array, level: Array, start: tuple[Array, Array]) -> tuple[bool, float]:
    """Whether approaches (3, L) of an arm whose first joint is at 0 lie in one vertical plane, and its heading.

    Of the plane's two directions, ahead is where the tool is at `start`, home with the first joint at 0: its approach,
    (3,), and where it is beside the first axis, (2,). A hand that points up there, or is over the axis, does not show
    it: then it is where most tools (2, L) are whose hands point down.
    """
    _, sizes, ways = np.linalg.svd(approach[:2].T, full_matrices=False)
    planar = bool(sizes[1] < _PARALLEL * np.sqrt(approach.shape[1]))
    ahead = ways[0]
    if sizes[0] < _PARALLEL * np.sqrt(approach.shape[1]):
        # A hand that always points straight down or up is in every plane.
        ahead = np.array([1.0, 0.0])
    at_home, out = float(ahead @ start[1]), ahead @ level
    if start[0][2] > _UPWARDS or abs(at_home) < _OVER_AXIS * float(np.abs(out).max()):
        down = out[approach[2] < 0]
        if abs(down.sum()) > _MOST * np.abs(down).sum():
            at_home = float(down.sum())
    if at_home < 0:
        ahead = -ahead
    return planar, float(np.arctan2(ahead[1], ahead[0]))


def _locked(
    chain: Chain, samples: Array, axes: Array, anchors: Array, tool: Array, wrist: int, spare: int, lever_m: float
) -> Indices:
    """The joints without which the others move the hand best, over all the samples; never the first, nor the wrist."""
    if not spare:
        return np.array([], dtype=np.intp)
    turning = np.where(chain.slides[None, :, None], 0.0, axes)
    linear = np.where(chain.slides[None, :, None], axes, np.cross(axes, tool[:, None] - anchors, axis=0))
    jacobian = np.concatenate([linear, lever_m * turning]).transpose(2, 0, 1)
    candidates = [joint for joint in range(1, samples.shape[0]) if joint != wrist]

    def goodness(locked: tuple[int, ...]) -> float:
        sizes = np.linalg.svd(np.delete(jacobian, locked, axis=2), compute_uv=False)
        return float(np.log(np.maximum(sizes[:, -1], 1e-12)).mean())

    best = max(itertools.combinations(candidates, spare), key=goodness)
    return np.array(best, dtype=np.intp)
