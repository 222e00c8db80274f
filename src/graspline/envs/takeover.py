"""A policy drives until it fails, then the task's machine takes over from whatever arm and objects are doing."""

from __future__ import annotations

import functools
import logging
import math
import sys
import zlib
from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graspline.envs.evaluation import PolicyPilot, Trial
from graspline.envs.failure_watch import ProgressWatch, TakeoverParameters, TakeoverReason
from graspline.envs.interface import Interface
from graspline.envs.pictures import source_for
from graspline.envs.policies import PolicySource
from graspline.envs.policy_process import TIMEOUT_S, PolicyProcess, ServedPolicies
from graspline.episodes.camera_views import parse_views, ticks_per_frame
from graspline.episodes.observers import Instant
from graspline.episodes.policy_drivers import PilotOrder, Ruling
from graspline.episodes.scenario import Scenario
from graspline.episodes.units import units_of
from graspline.errors import WiringError
from graspline.execution.drivers import FOLLOW, follow
from graspline.execution.notifications import Ended, EndsAs, Entered
from graspline.execution.requests import Announce, Reply
from graspline.machine.machine import Machine, Result
from graspline.motion.path import Command
from graspline.parameters import load
from graspline.rendering.batches import OpenSource, PictureSource
from graspline.scenes.scene import Scene

Array = NDArray[np.float64]

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class TakeoverPilot:
    """Plays episodes by asking a policy, as its pilot does, until a watch notices that the expert has to take over.

    An episode that the policy ends itself ends as in an evaluation; any other as the task's machine says.
    """

    policy: PolicyPilot
    takeover: TakeoverParameters
    # The task's own, with the parameters that all scenarios have.
    machine: Machine
    # What renders the policy's images; one by one without it.
    open_source: OpenSource | None = None
    # What the machine's eye looks at is always antialiased; the policy's pictures are as its own pilot says.
    smooth: bool = True

    @property
    def states(self) -> tuple[str, ...]:
        """Following the policy, and the states of the expert's machine."""
        return (FOLLOW, *self.machine.paths())

    def drive(self, instant: Instant, first: Reply) -> Generator[Any, Any, Ruling | Result]:
        """Drive a lane by the policy, and by the expert after a takeover."""
        flight = _Flight(self, instant)
        yield Announce(Entered(FOLLOW))
        try:
            last = yield from follow(
                self.policy.interface.robot, first, flight.choose, rate_hz=self.policy.interface.fps
            )
        finally:
            self.policy.policies.forget(flight.trial.episode)
        noticed = flight.noticed
        if noticed is None:
            ruling = flight.trial.ruling()
            yield Announce(Ended(FOLLOW, ruling.verdict, EndsAs(ruling.verdict), ruling.evidence))
            return ruling
        machine = self.machine
        assert machine.takes_over is not None
        yield Announce(Ended(FOLLOW, noticed.reason, machine.takes_over, noticed.evidence))
        last = replace(last, command=flight.moving(last.command))
        return (yield from machine.run(self.policy.interface.robot, last, flight.inputs, takes_over=True))


class _Flight:
    """One episode: the policy's trial, the watch over it, and what the machine would be given."""

    def __init__(self, pilot: TakeoverPilot, instant: Instant) -> None:
        scenario, self._pilot = instant.scenario, pilot
        task, parameters = scenario.task, scenario.parameters
        self.trial = Trial(pilot.policy, instant)
        self.inputs = dict(task.inputs(parameters, instant.sampled, scenario.stream("perception")))
        self.noticed: TakeoverReason | None = None
        remaining = task.takeover
        if remaining is None:
            raise WiringError(f"the machine of {task.name} cannot take over from a policy")
        robot = pilot.policy.interface.robot
        see = functools.partial(remaining, parameters, self.inputs)
        self._watch = ProgressWatch(robot, pilot.takeover, see, _stream(scenario))
        self._before: Array | None = None
        self._now: Array | None = None

    def choose(self, reply: Reply) -> Generator[Any, Any, Array | None]:
        """The policy's next target; none once the expert has to take over or the episode is over."""
        self._before, self._now = self._now, reply.command.position
        self.noticed = yield from self._watch(reply)
        return None if self.noticed is not None else (yield from self.trial.choose(reply))

    def moving(self, command: Command) -> Command:
        """The command in force with the velocity that the policy's last frame had, from which the expert brakes.

        A frame's reference ends as if at rest, so that any other may follow.
        """
        if self._before is None:
            return command
        velocity = (command.position - self._before) * self._pilot.policy.interface.fps
        return replace(command, velocity=velocity)


def pilot_of(
    order: PilotOrder, *, python: str = sys.executable, device: str = "", timeout_s: float = TIMEOUT_S
) -> TakeoverPilot:
    """A pilot with a policy in a process of its own; `timeout_s` is for one answer."""
    scene, plain = order.task.scene(order.parameters), order.from_policy
    robot = scene.robot
    interface = Interface(
        robot=robot,
        views=parse_views(plain["cameras"], scene.cameras) if "cameras" in plain else order.views,
        units=units_of(robot, order.units),
        ticks_per_frame=ticks_per_frame(order.fps, robot.control_hz),
    )
    source = PolicySource(named=plain["policy"], python=python, settings=plain.get("set", {}), device=device)
    policies = ServedPolicies(PolicyProcess(source, timeout_s), interface, lambda: False)
    return TakeoverPilot(
        policy=PolicyPilot(interface=interface, policies=policies, max_seconds=math.inf, smooth=order.smooth),
        takeover=load(TakeoverParameters, plain["takeover"]),
        machine=order.task.machine(order.parameters),
        open_source=_kept(source_for(plain["renderer"], scene, interface, smooth=order.smooth, say=_LOG.warning))
        if "renderer" in plain
        else None,
    )


def _kept(open_source: OpenSource | None) -> OpenSource | None:
    """Opens the source once for all batches of attempts, because opening it on a GPU takes longer than many images."""
    if open_source is None:
        return None
    opened: list[PictureSource | None] = []

    def open_once(scene: Scene, lanes: int) -> PictureSource | None:
        if not opened:
            opened.append(open_source(scene, lanes))
        return None if opened[0] is None else _StaysOpen(opened[0])

    return open_once


class _StaysOpen:
    """A picture source whose `close` does nothing, because the next batch uses it again."""

    def __init__(self, source: PictureSource) -> None:
        self.pictures = source.pictures

    def close(self) -> None:
        """It is released when its process ends."""


def _stream(scenario: Scenario) -> np.random.Generator:
    """Randomness of the takeover alone, from the scenario's seed."""
    return np.random.default_rng(np.random.SeedSequence(scenario.seed, spawn_key=(zlib.crc32(b"takeover"),)))
