"""Steps of one tick for an arm that is driven by hand, each with a free way to stop behind it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from graspline.evidence import at_least, at_most, failures
from graspline.execution.requests import Reply
from graspline.kinematics.differential import ToolKinematics, ToolMotion
from graspline.kinematics.reach import reach_of
from graspline.motion.joint_moves import brake
from graspline.motion.path import Command, Path
from graspline.planning.collision import CLEARANCE_M, Collision, CollisionWorld
from graspline.robots.robot import JointLimits
from graspline.scenes.scene import Scene
from graspline.serve.live.commands import Drive, ToolTarget
from graspline.spatial.rotations import matrix_from_quaternion, rotation_vector
from graspline.tasks.console import Refused

Array = NDArray[np.float64]

# The fastest that a tool is driven, how fast a jaw moves at full speed, and the share of the joints' own limits.
FASTEST_M_S, FASTEST_RAD_S = 0.25, 1.5
_JAW_RAD_S = 1.5
_SPEED, _ACCELERATION = 0.5, 0.5
# Shares of the speed asked for that are tried where all of it would lead too far.
_SHARES = (1.0, 0.5, 0.25, 0.1)
# At less than this share of the speed asked for the arm is at the edge of its reach: some tenths of a millimetre.
_LEAST_SHARE = 0.1
_AHEAD_S = 0.05
# Of poses this much further that way the first out of reach is named.
_FURTHER_M = (0.001, 0.002, 0.003, 0.005, 0.01)
# How fast a deviation from the line, or from a target, is made good.
_GAIN_1_S = 4.0
# A target is reached within this.
_THERE_M, _THERE_RAD = 2e-4, 2e-3
# Directions that agree to this are one line.
_SAME_LINE = 0.999
# An arm this far from its command for these ticks is held back by something; see `motion.guards.TrackingError`.
_BEHIND_RAD, _BEHIND_TICKS = 0.08, 4
# A jaw is commanded no further than this beyond where it is: enough to hold, little enough to open again at once.
_SQUEEZE_RAD = 0.3
# How much deeper the arm may go into what it touches already, on a way that leads clear of it.
_DEEPER_M = 0.0005


@dataclass(slots=True)
class _DrivenLine:
    """The straight line that the tool's point keeps to: where it began, and its direction; none while it stands."""

    anchor_m: Array
    direction: Array


class Stepper:
    """Plans the next tick of a driven arm. Checks limits, reach, and collisions with furniture and the robot itself.

    Objects are no obstacles: an arm that is driven by hand may push them. After every step the arm can brake within
    limits without meeting anything, so it may be let go at any time.
    """

    def __init__(self, scene: Scene) -> None:
        self._robot, self._tool = scene.robot, ToolKinematics(scene)
        self._reach = reach_of(scene.robot)
        # The second is for an arm that stands closer to something than it may be driven to.
        self._world, self._tight = CollisionWorld(scene), CollisionWorld(scene, 0.0)
        for world in (self._world, self._tight):
            world.place(())
        self._line: _DrivenLine | None = None
        # Velocity of the tool's point and its rotation that the operator wishes, if it is the tool that is driven.
        self._asked: tuple[Array, Array] | None = None
        self._behind = 0

    def begin(self) -> None:
        """A new stretch of driving, from rest or from whatever the arm is doing."""
        self._line, self._behind = None, 0

    def next(self, reply: Reply, wish: Drive) -> Path | Refused:
        """The next tick as the operator wishes, slower if need be; or why the arm has to stand still."""
        found = self._planned(reply, wish)
        if isinstance(found, Refused):
            self._line = None
        return found

    def _planned(self, reply: Reply, wish: Drive) -> Path | Refused:
        command = reply.command
        rates = self._rates(command, wish)
        if isinstance(rates, Refused):
            return rates
        rates[self._robot.jaw] = self._jaw_rate(reply, wish, rates[self._robot.jaw])
        refused = self._held_back(reply, rates)
        if refused is not None:
            return refused
        for share in _SHARES:
            path = self._step(command, share * rates)
            refused = self._refusal(command, path, rates)
            if refused is None:
                return path
        assert refused is not None
        return refused

    # What the operator wishes, as joint rates

    def _rates(self, command: Command, wish: Drive) -> Array | Refused:
        """(nu,): rates of all joints; the jaw's among them only if joints are driven."""
        rates, self._asked = np.zeros(len(command.position)), None
        if wish.joints_rad_s is not None:
            limits = _SPEED * self._robot.limits.velocity
            rates[:] = np.clip(wish.joints_rad_s, -limits, limits)
        elif wish.moves_tool or wish.target is not None:
            # Half a tick ahead, so that straight ways stay straight.
            at = self._tool.at(command.position + command.velocity * (self._robot.dt_s / 2))
            self._asked = linear, angular = self._tool_rates(at, wish)
            arm = rates[self._robot.arm]
            arm[:] = at.joint_rates(linear, angular)
            share = self._share(arm)
            arm *= share
            if share < _LEAST_SHARE and not self._leads_away(command, rates, linear, angular, share):
                return self._at_the_edge(command, linear, share)
        return rates

    def _share(self, arm_rates: Array) -> float:
        """Which share of these rates of the arm's joints keeps all of them within their limits."""
        limits = _SPEED * self._robot.limits.velocity[self._robot.arm]
        return 1.0 / max(1.0, float((np.abs(arm_rates) / limits).max()))

    def _leads_away(self, command: Command, rates: Array, linear: Array, angular: Array, share: float) -> bool:
        """Whether the point goes the way it is driven and gains speed there, as on its way back from the edge."""
        now, ahead = self._tool.at(command.position), self._tool.at(command.position + rates * _AHEAD_S)
        forward = float((ahead.position_m - now.position_m) @ linear) > 0
        return forward and self._share(ahead.joint_rates(linear, angular)) > share

    def _tool_rates(self, at: ToolMotion, wish: Drive) -> tuple[Array, Array]:
        """Velocity of the tool's point and its rotation, (3,) each in W."""
        if wish.target is not None:
            self._line = None
            return _towards(at, wish.target)
        linear = np.array(wish.linear_m_s)
        linear = _at_most(at.rotation @ linear if wish.frame == "tool" else linear, FASTEST_M_S)
        angular = wish.turn_rad_s * at.rotation[:, 0] + wish.tilt_rad_s * at.across
        return linear + self._back_to_line(at.position_m, linear), _at_most(angular, FASTEST_RAD_S)

    def _back_to_line(self, position_m: Array, linear: Array) -> Array:
        """What brings the point back to the line it is driven along, or to where it is to stay."""
        speed = float(np.linalg.norm(linear))
        direction = linear / speed if speed else np.zeros(3)
        line = self._line
        same = line is not None and (
            float(line.direction @ direction) > _SAME_LINE if speed else not line.direction.any()
        )
        if line is None or not same:
            self._line = line = _DrivenLine(position_m, direction)
        off = line.anchor_m - position_m
        return _GAIN_1_S * (off - direction * (direction @ off))

    def _jaw_rate(self, reply: Reply, wish: Drive, rate: float) -> float:
        """Of the jaw: what holds something closes no further, and at an end of its range it just stays there."""
        limits, jaw = self._robot.limits, self._robot.jaw
        now, measured = float(reply.command.position[jaw]), float(reply.readings.joints[jaw])
        rate = wish.jaw * _JAW_RAD_S if wish.jaw else rate
        if rate < 0 and now - measured < -_SQUEEZE_RAD:
            return 0.0
        left = float(limits.upper[jaw]) - now if rate > 0 else now - float(limits.lower[jaw])
        most = min(_SPEED * float(limits.velocity[jaw]), _stoppable(left, limits, jaw))
        return float(np.clip(rate, -most, most))

    # Steps

    def _step(self, command: Command, rates: Array) -> Path:
        """One tick towards these rates, as far as acceleration lets it; all joints alike, so the direction is kept."""
        dt_s, limits = self._robot.dt_s, self._robot.limits
        change = rates - command.velocity
        share = float((np.abs(change) / (_ACCELERATION * limits.acceleration * dt_s)).max())
        after = command.velocity + change / max(1.0, share)
        positions = np.stack([command.position, command.position + (command.velocity + after) * (dt_s / 2)])
        return Path(positions=positions, velocities=np.stack([command.velocity, after]), dt_s=dt_s)

    def _refusal(self, command: Command, path: Path, rates: Array) -> Refused | None:
        """Why this step may not be taken: on the way to rest behind it something is met, or a limit passed."""
        zero = np.zeros_like(command.position)
        stop = brake(self._robot, Command(position=path.end, velocity=path.velocities[-1], acceleration=zero))
        broken = self._beyond(stop.positions)
        if broken is not None:
            return broken if self._asked is None else self._no_further(stop, broken)
        if self._asked is not None and self._passes_through(stop, rates):
            return self._at_the_edge(command, self._asked[0], _LEAST_SHARE)
        way = np.concatenate([path.positions, stop.positions[1:]])
        met = self._world.first_collision(self._world.samples(way))
        return None if met is None else self._met(command, way, met)

    def _passes_through(self, stop: Path, rates: Array) -> bool:
        """Whether the arm would be stretched through, and bent the other way when it comes to rest.

        From there it could not be driven back as it came: its joints would have to turn the other way.
        """
        assert self._asked is not None
        after = self._tool.at(stop.end).joint_rates(*self._asked)
        return float(after @ rates[self._robot.arm]) < 0

    def _beyond(self, positions: Array) -> Refused | None:
        """The joint that a way leads out of its range."""
        robot, lower, upper = self._robot, self._robot.limits.lower, self._robot.limits.upper
        for index, name in enumerate(robot.joints):
            unit = "m" if name in robot.slides else "rad"
            low, high = float(positions[:, index].min()), float(positions[:, index].max())
            evidence = (at_least(name, low, lower[index], unit), at_most(name, high, upper[index], unit))
            broken = failures(evidence)
            if broken:
                limit = f"{1000 * broken[0].limit:.0f} mm" if unit == "m" else f"{np.degrees(broken[0].limit):.1f}°"
                return Refused(reason=f"{name} is at its limit of {limit}", evidence=broken)
        return None

    def _met(self, command: Command, way: Array, met: Collision) -> Refused | None:
        """What a way meets; an arm that is too close already may be driven clear of it."""
        here = self._world.first_collision(command.position[None])
        if here is not None:
            before_m = self._tight.deepest_m(command.position[None])
            deepest_m = self._tight.deepest_m(self._tight.samples(way))
            if deepest_m >= before_m - _DEEPER_M and deepest_m >= -_DEEPER_M:
                return None
        reason = f"{met.robot_part} may come no closer than {1000 * CLEARANCE_M:g} mm to {met.touched}"
        return Refused(reason=reason, evidence=met.evidence)

    # Words

    def _no_further(self, stop: Path, broken: Refused) -> Refused:
        """A joint's limit, where the tool was driven: how far further was too far."""
        begin, end = (self._tool.at(row).position_m for row in (stop.positions[0], stop.end))
        further_mm = max(0.1, 1000 * float(np.linalg.norm(end - begin)))
        reason = f"at the edge of reach: {further_mm:.1f} mm further is not possible, {broken.reason}"
        return Refused(reason=reason, evidence=broken.evidence)

    def _at_the_edge(self, command: Command, linear: Array, share: float) -> Refused:
        """Where joints would have to turn much faster than they may: by the arm's own kinematics, if it has any."""
        reach, speed = self._reach, float(np.linalg.norm(linear))
        if reach is not None and speed > 0:
            tool_m = reach.tool_m("fixed_tip", 0.0)
            now = reach.pose(command.position, tool_m)
            for further_m in _FURTHER_M:
                there = replace(now, position_m=now.position_m + linear * (further_m / speed))
                if not reach.solve([there], tool_m, command.position)[1].any():
                    reason = f"at the edge of reach: {1000 * further_m:g} mm further is not possible"
                    return Refused(reason=reason, evidence=reach.explain(there, tool_m))
        evidence = (at_most("joint_speed_over_limit", 1.0 / share, 1.0 / _LEAST_SHARE),)
        reason = f"at the edge of reach: joints would have to turn {1 / share:.0f} times as fast as they may"
        return Refused(reason=reason, evidence=evidence)

    def _held_back(self, reply: Reply, rates: Array) -> Refused | None:
        """Whether something is in the way of the arm; it may still be driven back."""
        arm = self._robot.arm
        behind = reply.readings.joints[arm] - reply.command.position[arm]
        error = float(np.linalg.norm(behind))
        self._behind = self._behind + 1 if error > _BEHIND_RAD else 0
        if self._behind < _BEHIND_TICKS or rates[arm] @ behind > 0 or not rates[arm].any():
            return None
        evidence = (at_most("tracking_error", error, _BEHIND_RAD, "rad"),)
        message = f"the arm is {np.degrees(error):.1f}° behind, the limit is {np.degrees(_BEHIND_RAD):.1f}°"
        return Refused(reason=f"something is in the way: {message}; drive it back", evidence=evidence)


def _towards(at: ToolMotion, target: ToolTarget) -> tuple[Array, Array]:
    off_m = np.array(target.position_m) - at.position_m
    linear = _at_most(_GAIN_1_S * off_m, FASTEST_M_S) if np.linalg.norm(off_m) > _THERE_M else np.zeros(3)
    if target.quaternion is None:
        return linear, np.zeros(3)
    left = rotation_vector(matrix_from_quaternion(np.array(target.quaternion)) @ at.rotation.T)
    angular = _at_most(_GAIN_1_S * left, FASTEST_RAD_S) if np.linalg.norm(left) > _THERE_RAD else np.zeros(3)
    return linear, angular


def _at_most(vector: Array, size: float) -> Array:
    return vector * (size / max(size, float(np.linalg.norm(vector))))


def _stoppable(left: float, limits: JointLimits, joint: int) -> float:
    """The fastest that a joint may move if it has so much left to stop in, by acceleration and by jerk."""
    left = max(0.0, left)
    by_acceleration = np.sqrt(_ACCELERATION * float(limits.acceleration[joint]) * left)
    by_jerk = (left * np.sqrt(float(limits.jerk[joint]))) ** (2 / 3)
    return 0.8 * float(min(by_acceleration, by_jerk))
