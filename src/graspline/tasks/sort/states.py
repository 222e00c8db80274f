"""The states of `sort`. Pictures are taken wherever the hand is, and every way is planned before it is gone."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from graspline.evidence import Evidence, at_least, at_most, passes
from graspline.execution.requests import Motion, Reply, Request, solved
from graspline.machine.outcome import Gives, Outcome, Producing
from graspline.motion.guards import BothPadsTouch, Guard, HoldLost, TrackingError
from graspline.motion.hops import Clearance, Hop, NoHop, Ride
from graspline.motion.joint_moves import brake, jaw_move, with_jaw
from graspline.motion.joint_moves import hold as still
from graspline.motion.lines import minimum_jerk
from graspline.motion.path import Command, Path, check_path
from graspline.perception.tracks import Tracks, without
from graspline.planning.collision import CollisionWorld
from graspline.rendering.picture import Picture
from graspline.robots.robot import Robot
from graspline.tasks.sort.choice import (
    DOWNSTREAM_M,
    HAND,
    LEAVING_ANYTHING,
    UPSTREAM_M,
    Choice,
    leaving_bin,
    plan_carry,
    plan_home,
    plan_next,
    ride_of,
)
from graspline.tasks.sort.line import Catch, Going, Line, Pending
from graspline.tasks.sort.parameters import Sort
from graspline.tasks.sort.sight import BeltEye

Array = NDArray[np.float64]

# Something is in the arm's way when its joints are this far from their reference together.
_BLOCKED = TrackingError(error_rad=0.12, for_s=0.05)
# A block within this distance of where it is expected needs no correction, and none is made later than this before.
_SAME_M, _LAST_S = 0.0004, 0.12
# What a correction can make good; a block that is farther off has escaped.
_CORRECTED_M = 0.03
# Blocks passed by this much are given up; those that were seen only once may have been nothing.
_PASSED_M, _SEEN = 0.03, 2
# Without a block this long, belts being as fast as they are, there is nothing to come.
_QUIET_M = 2.2
_LEAST_QUIET_S, _MOST_QUIET_S = 8.0, 60.0
# A block in a bin is this near to where it was let go, give or take how far the belt has carried it.
_IN_BIN_M = 0.05
# It counts once the hand is this far away.
_LEFT_M = 0.09
# Bins are looked at from above, whichever camera follows the belt.
ABOVE = BeltEye(camera="overhead")
# Fingers are clear of a block this far from it on either side, by their reference; they trail it a little.
_FREE_M = 0.006
# They begin to close this long before the hand has come down.
_EARLY_S = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    line: Line


@dataclass(frozen=True, slots=True, kw_only=True)
class Spotted:
    line: Line
    going: Going


@dataclass(frozen=True, slots=True, kw_only=True)
class Caught:
    line: Line
    caught: Catch


def watch(
    last: Reply, robot: Robot, eye: BeltEye, world: CollisionWorld, settings: Sort, line: Line
) -> Producing[Gives[Literal["spotted"], Spotted] | Gives[Literal["finished", "in_doubt"], Watched]]:
    """Look at the belt until there is a block to go for, or nothing more to come."""
    reply = last
    if reply.command.velocity.any():
        reply = yield Motion("brake", brake(robot, reply.command))
    while True:
        line, reply = yield from _look(eye, line, reply)
        line = _settled(line, settings, reply.time_s)
        if line.pending:
            return Gives("in_doubt", Watched(line=line))
        if _is_over(line, settings, reply.time_s):
            return Gives("finished", Watched(line=line))
        choice = yield from solved(
            plan_next, robot, world, settings, reply.command, reply.time_s, line.tracks, ()
        )
        line = _noted(line, choice)
        if choice.catch is not None:
            hop, phases = choice.catch.hop, _to_grip(robot, settings, choice.catch)
            path = with_jaw(
                robot, reply.command, hop.positions, hop.velocities, phases, speed_rad_s=_jaw_speed(robot)
            )
            going = Going(path=path, begins_s=reply.time_s, catch=choice.catch)
            return Gives("spotted", Spotted(line=line, going=going))
        reply = yield Motion("watch", still(robot, reply.command, 1 / settings.sight.rate_hz))


def choose(
    last: Reply, robot: Robot, world: CollisionWorld, settings: Sort, line: Line, caught: Catch
) -> Producing[Gives[Literal["planned", "none"], Spotted] | Outcome[Literal["stuck"]]]:
    """The next block, straight from where the hand is; or home, if there is none to go for."""
    return (yield from _onward(last, robot, world, settings, line, leaving_bin(caught.grasp), caught))


def retreat(
    last: Reply, robot: Robot, world: CollisionWorld, settings: Sort, line: Line
) -> Producing[Gives[Literal["planned", "none"], Spotted] | Outcome[Literal["stuck"]]]:
    """Up and away from what went wrong, to another block or home."""
    return (yield from _onward(last, robot, world, settings, line, LEAVING_ANYTHING, None))


def _onward(
    last: Reply,
    robot: Robot,
    world: CollisionWorld,
    settings: Sort,
    line: Line,
    leaving: tuple[Clearance, ...],
    caught: Catch | None,
) -> Producing[Gives[Literal["planned", "none"], Spotted] | Outcome[Literal["stuck"]]]:
    reply = last
    if reply.command.velocity[robot.arm].any():
        reply = yield Motion("brake", brake(robot, reply.command))
    line = _settled(line, settings, reply.time_s)
    choice = yield from solved(
        plan_next, robot, world, settings, reply.command, reply.time_s, line.tracks, leaving
    )
    line = _noted(line, choice)
    over_m = max(each.height_m for each in leaving)
    wide_rad = float(reply.command.position[robot.jaw]) if not caught else caught.grasp.open_rad
    if choice.catch is not None:
        path = _leaving_with_jaw(
            robot, reply.command, choice.catch.hop, wide_rad, over_m, _to_grip(robot, settings, choice.catch)
        )
        going = Going(path=path, begins_s=reply.time_s, catch=choice.catch)
        return Gives("planned", Spotted(line=line, going=going))
    home = yield from solved(plan_home, robot, settings, reply.command, reply.time_s, leaving)
    if isinstance(home, NoHop):
        return Outcome("stuck")
    path = _leaving_with_jaw(
        robot, reply.command, home, wide_rad, over_m, ((0, float(robot.home[robot.jaw])),)
    )
    return Gives("none", Spotted(line=line, going=Going(path=path, begins_s=reply.time_s, catch=None)))


def travel(
    last: Reply, robot: Robot, eye: BeltEye, settings: Sort, line: Line, going: Going
) -> Producing[
    Gives[Literal["met"], Caught] | Gives[Literal["came_home"], Watched] | Gives[Literal["escaped", "blocked"], Watched]
]:
    """Go where the way leads, looking at the belt and following the block meanwhile."""
    reply, step = last, max(1, round(robot.control_hz / settings.sight.rate_hz))
    while going.path.ticks > 0:
        piece, rest = _cut(going.path, step)
        reply = yield Motion("travel", piece, guards=(_BLOCKED,))
        if reply.by != "completed":
            return Gives("blocked", Watched(line=line), reply.evidence)
        going = replace(going, path=rest)
        left_s = rest.duration_s
        if left_s > _LAST_S:
            line, reply = yield from _look(eye, line, reply)
        if going.catch is not None and left_s > _LAST_S:
            corrected = _corrected(robot, going, line.tracks, reply)
            if corrected is None:
                return Gives("escaped", Watched(line=line), about=going.catch.track.colour)
            going = corrected
    if going.catch is None:
        return Gives("came_home", Watched(line=line))
    return Gives("met", Caught(line=line, caught=going.catch), about=going.catch.track.colour)


def grip(
    last: Reply, robot: Robot, settings: Sort, line: Line, caught: Catch
) -> Producing[Gives[Literal["gripped", "missed"], Watched]]:
    """Close while riding along with the block, and hold what is felt against its width."""
    grip, grasp, ride = settings.grip, caught.grasp, ride_of(caught.track, caught.grasp)
    jaw_rad = _gripped_rad(robot, settings, caught)
    closing = jaw_move(robot, _resting(last.command), jaw_rad, speed_rad_s=_jaw_speed(robot))
    path = _riding(robot, last, ride, grasp.rotation, closing.duration_s + grip.touch_s + 0.05, jaw_rad)
    line = replace(line, tracks=without(line.tracks, caught.track.number))
    if path is None:
        return Gives("missed", Watched(line=line), about=caught.track.colour)
    ended = yield Motion("close", path, guards=(BothPadsTouch(force_n=grip.touch_n, for_s=grip.touch_s),))
    gap_m = float(robot.jaw_law.gap_m(ended.readings.joints[robot.jaw]))
    evidence = (
        at_least("weaker_pad_force", min(ended.readings.pad_forces_n()), grip.touch_n, "N"),
        at_most("gap_error", abs(gap_m - grasp.width_m), grip.width_m, "m"),
    )
    if not passes(evidence):
        return Gives("missed", Watched(line=line), evidence, about=caught.track.colour)
    tally = replace(line.tally, gripped_s=(*line.tally.gripped_s, ended.time_s))
    return Gives("gripped", Watched(line=replace(line, tally=tally)), evidence, about=caught.track.colour)


def carry(
    last: Reply, robot: Robot, eye: BeltEye, settings: Sort, line: Line, caught: Catch
) -> Producing[Gives[Literal["carried", "lost", "blocked"], Watched]]:
    """Lift the block off the belt and bring it over its bin, feeling all the way that it is still there."""
    grip, grasp, colour = settings.grip, caught.grasp, caught.track.colour
    bin_name = settings.rules.bin_for(colour)
    assert bin_name is not None
    hop = yield from solved(plan_carry, robot, settings, last.command, last.time_s, grasp, bin_name)
    if isinstance(hop, NoHop):
        return Gives("blocked", Watched(line=line), about=colour)
    jaw_rad = _gripped_rad(robot, settings, caught)
    path = _with_jaw(robot, last.command, hop.positions, hop.velocities, jaw_rad)
    least_rad = float(robot.jaw_law.angle_rad(max(grasp.width_m - grip.width_m, 0.0)))
    guards: tuple[Guard, ...] = (HoldLost(least_jaw_rad=least_rad, force_n=grip.lost_n, for_s=0.03), _BLOCKED)
    reply, step = last, max(1, round(robot.control_hz / settings.sight.rate_hz))
    while path.ticks > 0:
        piece, path = _cut(path, step)
        reply = yield Motion("carry", piece, guards=guards)
        if reply.by != "completed":
            outcome = "lost" if isinstance(reply.by, HoldLost) else "blocked"
            return Gives(outcome, Watched(line=line), reply.evidence, about=colour)
        if path.ticks:
            line, reply = yield from _look(eye, line, reply, holding=True)
    return Gives("carried", Watched(line=line), about=colour)


def drop(
    last: Reply, robot: Robot, settings: Sort, line: Line, caught: Catch
) -> Producing[Gives[Literal["released", "stuck"], Watched]]:
    """Open, and feel that nothing is held any more."""
    grip, colour = settings.grip, caught.track.colour
    bin_name = settings.rules.bin_for(colour)
    assert bin_name is not None
    opening = jaw_move(robot, last.command, caught.grasp.open_rad, speed_rad_s=_jaw_speed(robot))
    # Fingers that are clear of the block may rise; they go on opening meanwhile.
    free = opening.positions[:, robot.jaw] >= float(robot.jaw_law.angle_rad(caught.grasp.width_m + 2 * _FREE_M))
    ended = yield Motion("open", _cut(opening, max(1, int(np.argmax(free))))[0])
    at = ended.readings.tool_position_m.copy()
    pending = Pending(colour=colour, bin=bin_name, point_m=at, time_s=ended.time_s)
    line = replace(line, pending=(*line.pending, pending))
    evidence = (at_most("stronger_pad_force", max(ended.readings.pad_forces_n()), grip.lost_n, "N"),)
    return Gives("released" if passes(evidence) else "stuck", Watched(line=line), evidence, about=colour)


def check(
    last: Reply, robot: Robot, eye: BeltEye, settings: Sort, line: Line, going: Going
) -> Producing[Gives[Literal["sorted", "unseen", "blocked"], Spotted]]:
    """On the way, look back whether the block lies in its bin."""
    reply, step = last, max(1, round(robot.control_hz / settings.sight.rate_hz))
    while going.path.duration_s > _LAST_S + step * robot.dt_s:
        piece, rest = _cut(going.path, step)
        reply = yield Motion("travel", piece, guards=(_BLOCKED,))
        going = replace(going, path=rest)
        if reply.by != "completed":
            return Gives("blocked", Spotted(line=line, going=going), reply.evidence)
        line, reply = yield from _look(eye, line, reply)
        found = yield from _confirmed(line, settings, reply)
        if found is not None:
            line, evidence, about = found
            return Gives("sorted", Spotted(line=line, going=going), evidence, about=about)
    return Gives("unseen", Spotted(line=line, going=going))


def recheck(
    last: Reply, robot: Robot, settings: Sort, line: Line
) -> Producing[Gives[Literal["sorted", "unseen"], Watched]]:
    """With the arm out of the way, look once more for blocks that were not seen in their bins."""
    found = yield from _confirmed(line, settings, last)
    if found is not None:
        line, evidence, about = found
        return Gives("sorted", Watched(line=line), evidence, about=about)
    tally = replace(line.tally, missed=(*line.tally.missed, *("not_confirmed" for _ in line.pending)))
    return Gives("unseen", Watched(line=replace(line, tally=tally, pending=())))


def _confirmed(
    line: Line, settings: Sort, reply: Reply
) -> Generator[Request, Reply, tuple[Line, Evidence, str] | None]:
    """What is known once blocks are seen in their bins, and which they are; None if none is."""
    tool = reply.readings.tool_position_m
    left = [each for each in line.pending if float(np.linalg.norm(tool - each.point_m)) >= _LEFT_M]
    if not left:
        return None
    picture = yield from ABOVE.picture()
    evidence: Evidence = ()
    about: list[str] = []
    for pending in left:
        apart = _off_m(picture, pending, settings, reply.time_s)
        if apart is None:
            continue
        tally = replace(line.tally, sorted=(*line.tally.sorted, pending.colour))
        line = replace(line, tally=tally, pending=tuple(each for each in line.pending if each is not pending))
        evidence += (at_most("from_where_it_was_let_go", apart, _IN_BIN_M, "m"),)
        about.append(f"{pending.colour} {tally.number_of(pending.colour)}")
    return (line, evidence, ", ".join(about)) if about else None


def _off_m(picture: Picture, pending: Pending, settings: Sort, time_s: float) -> float | None:
    """How far from where it should be by now a block of this colour lies in the bin; None if none lies near."""
    drift = settings.belt.output_speed_m_s * (time_s - pending.time_s)
    off = [
        float(np.hypot(seen.x_m - pending.point_m[0] + drift, seen.y_m - pending.point_m[1]))
        for seen in ABOVE.in_bin(picture, pending.bin)
        if seen.colour == pending.colour and seen.whole
    ]
    return min((each for each in off if each <= _IN_BIN_M), default=None)


def account(line: Line, settings: Sort) -> Outcome[Literal["done", "short"]]:
    """Hold what was sorted against what was sent."""
    evidence = line.tally.evidence(settings.belt.blocks, settings.success_share)
    return Outcome("done" if passes(evidence) else "short", evidence)


def _look(
    eye: BeltEye, line: Line, reply: Reply, *, holding: bool = False
) -> Generator[Request, Reply, tuple[Line, Reply]]:
    """What is believed after a look; the reply stays that of the last motion."""
    picture = yield from eye.picture()
    return line.seeing(eye.follow(line.tracks, picture, reply.time_s, holding=holding), reply.time_s), reply


def _noted(line: Line, choice: Choice) -> Line:
    for number, reason in choice.refused:
        line = line.refusing(number, reason)
    return line


def _settled(line: Line, settings: Sort, time_s: float) -> Line:
    """Blocks that have passed are given up, each with the reason for which it was not taken."""
    for track in line.tracks.alive:
        y, away = track.at(time_s)[1], -track.velocity_m_s[1]
        passed = y < DOWNSTREAM_M - _PASSED_M if away >= 0 else y > UPSTREAM_M + 0.5
        if not passed:
            continue
        tally = line.tally
        if track.sightings >= _SEEN:
            if settings.rules.bin_for(track.colour) is None:
                tally = replace(tally, ignored=tally.ignored + 1)
            else:
                tally = replace(tally, missed=(*tally.missed, line.why(track.number)))
        line = replace(line, tracks=without(line.tracks, track.number), tally=tally)
    return line


def _is_over(line: Line, settings: Sort, time_s: float) -> bool:
    if line.tally.settled >= settings.belt.blocks:
        return True
    quiet_s = min(max(_QUIET_M / max(abs(line.tracks.speed_m_s), 1e-3), _LEAST_QUIET_S), _MOST_QUIET_S)
    return time_s - line.active_s > quiet_s


def _to_grip(robot: Robot, settings: Sort, catch: Catch) -> tuple[tuple[int, float], ...]:
    """Open for a block on the way to it, and begin to close a moment before the hand is there."""
    ticks = len(catch.hop.positions) - 1
    early = max(0, ticks - round(_EARLY_S * robot.control_hz))
    return (0, catch.grasp.open_rad), (early, _gripped_rad(robot, settings, catch))


def _gripped_rad(robot: Robot, settings: Sort, catch: Catch) -> float:
    """What the jaw is told to hold a block with: less than its width."""
    return float(robot.jaw_law.angle_rad(catch.grasp.width_m)) - settings.grip.squeeze_rad


def _with_jaw(
    robot: Robot, start: Command, positions: Array, velocities: Array, jaw_rad: float
) -> Path:
    """A way of the arm with the jaw going to an angle."""
    return with_jaw(robot, start, positions, velocities, ((0, jaw_rad),), speed_rad_s=_jaw_speed(robot))


def _leaving_with_jaw(
    robot: Robot, start: Command, hop: Hop, wide_rad: float, over_m: float, phases: Sequence[tuple[int, float]]
) -> Path:
    """A way up from a block: the jaw opens wide until the hand has risen so far, then goes where the phases say."""
    heights = HAND.forward(hop.positions)[0][:, 2]
    above = heights > heights[0] + over_m
    risen = int(np.argmax(above)) if above.any() else len(heights) - 1
    later = [(max(tick, risen), angle) for tick, angle in phases]
    wide = max(wide_rad, float(start.position[robot.jaw]))
    return with_jaw(
        robot, start, hop.positions, hop.velocities, ((0, wide), *later), speed_rad_s=_jaw_speed(robot)
    )


def _jaw_speed(robot: Robot) -> float:
    return 0.95 * float(robot.limits.velocity[robot.jaw])


def _cut(path: Path, ticks: int) -> tuple[Path, Path]:
    """The first so many ticks of a path, and the rest."""
    at = min(ticks, path.ticks)
    first = Path(positions=path.positions[: at + 1], velocities=path.velocities[: at + 1], dt_s=path.dt_s)
    return first, Path(positions=path.positions[at:], velocities=path.velocities[at:], dt_s=path.dt_s)


def _resting(command: Command) -> Command:
    zero = np.zeros_like(command.velocity)
    return Command(position=command.position, velocity=zero, acceleration=zero)


def _corrected(robot: Robot, going: Going, tracks: Tracks, reply: Reply) -> Going | None:
    """The same way, bent to where its block is now believed to be; None if there is none such."""
    catch = going.catch
    assert catch is not None
    track = next((each for each in tracks.alive if each.number == catch.track.number), None)
    if track is None:
        return None
    ends_s = reply.time_s + going.path.duration_s
    was, now = (np.array(each.at(ends_s)) for each in (catch.track, track))
    apart = float(np.hypot(*(now - was)))
    slower = abs(track.velocity_m_s[1] - catch.track.velocity_m_s[1])
    if apart <= _SAME_M and slower <= 0.01 * max(abs(track.velocity_m_s[1]), 0.01):
        return going
    if apart > _CORRECTED_M:
        return None
    bent = _bent(robot, going.path, ride_of(track, catch.grasp), catch, ends_s)
    return None if bent is None else replace(going, path=bent, catch=replace(catch, track=track))


def _bent(robot: Robot, path: Path, ride: Ride, catch: Catch, ends_s: float) -> Path | None:
    """A path that ends on another ride: the difference is let in smoothly."""
    dt_s, end = robot.dt_s, path.positions[-1, robot.arm]
    rows = HAND.follow(ride.at(ends_s + dt_s * np.arange(-1, 2)), catch.grasp.rotation, end)
    if rows is None:
        return None
    share = np.arange(path.ticks + 1) / path.ticks
    weight = minimum_jerk(share)
    rate = 30 * share**2 * (1 - share) ** 2 / path.duration_s
    drift = (rows[2] - rows[0]) / (2 * dt_s) - path.velocities[-1, robot.arm]
    offset = rows[1] - end + (share - 1)[:, None] * path.duration_s * drift
    positions, velocities = path.positions.copy(), path.velocities.copy()
    positions[:, robot.arm] += weight[:, None] * offset
    velocities[:, robot.arm] += rate[:, None] * offset + weight[:, None] * drift
    bent = Path(positions=positions, velocities=velocities, dt_s=dt_s)
    return bent if check_path(bent, robot) is None else None


def _riding(
    robot: Robot, last: Reply, ride: Ride, rotation: Array, duration_s: float, jaw_rad: float
) -> Path | None:
    """Along with a ride for a time, the jaw going to an angle meanwhile."""
    ticks = max(2, int(np.ceil(duration_s * robot.control_hz)))
    times = last.time_s + robot.dt_s * np.arange(-1, ticks + 2)
    rows = HAND.follow(ride.at(times), rotation, last.command.position[robot.arm])
    if rows is None:
        return None
    positions, velocities = rows[1:-1].copy(), (rows[2:] - rows[:-2]) / (2 * robot.dt_s)
    # The hand is on the ride but for what its block was found to be off since.
    off, drift = last.command.position[robot.arm] - positions[0], last.command.velocity[robot.arm] - velocities[0]
    fade = 1 - minimum_jerk(np.minimum(np.arange(ticks + 1) / (0.1 * robot.control_hz), 1.0))
    positions += fade[:, None] * off
    velocities += fade[:, None] * drift
    positions[0], velocities[0] = last.command.position[robot.arm], last.command.velocity[robot.arm]
    return _with_jaw(robot, last.command, positions, velocities, jaw_rad)
