"""A policy as the driver of lanes: closed loop, judged by truth, reported like a run."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

from graspline.choices import DEFAULT_VIEWS
from graspline.envs.interface import Array, Interface, interface_of, joints_rad
from graspline.envs.policies import Answered, Asked, LocalPolicies, Policies, Policy, PolicyFailed
from graspline.episodes.episode import POLICY_ERROR
from graspline.episodes.failures import OUT_OF_TIME, failure_of
from graspline.episodes.hand_contacts import HandlingTracker
from graspline.episodes.observers import Instant
from graspline.episodes.policy_drivers import Ruling
from graspline.episodes.scenario import Scenario
from graspline.episodes.success_by_truth import Referee
from graspline.execution.drivers import FOLLOW, follow
from graspline.execution.notifications import Ended, EndsAs, Entered, Targeted
from graspline.execution.requests import Announce, Look, Looks, Reply, Solve
from graspline.rendering.picture import Picture, Pixels
from graspline.scenes.scene import Scene
from graspline.tasks.task import Snapshot

SUCCESS = "success"
# Of all episodes that policies ever play in this process.
_EPISODES = itertools.count()


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyPilot:
    """Plays episodes by asking a policy once a frame.

    All lanes whose frame ends on one tick are asked about together. An episode ends as `success` once the goal has been
    met by truth for long enough, as `out_of_time`, or as `policy_error` if there is no action.

    >>> from graspline import PolicyPilot, Scenario, find_task, run_scenarios
    >>> task = find_task("lift-cube")
    >>> parameters = task.parameters()
    >>> def hold_still(observation):
    ...     return observation["agent_pos"]
    >>> pilot = PolicyPilot.asking(lambda scenario: hold_still, task.scene(parameters), cameras="none", max_seconds=1)
    >>> [episode] = run_scenarios([Scenario(task=task, parameters=parameters, seed=7)], pilot=pilot)
    >>> episode.verdict
    'out_of_time'
    """

    interface: Interface
    policies: Policies
    max_seconds: float
    smooth: bool = False

    @staticmethod
    def asking(
        make_policy: Callable[[Scenario], Policy],
        scene: Scene,
        *,
        max_seconds: float,
        fps: int = 30,
        cameras: str | Mapping[str, object] = DEFAULT_VIEWS,
        units: str = "degrees",
    ) -> PolicyPilot:
        """A pilot that asks policies of this process, one for each episode.

        `fps`, `cameras` and `units` are those of `gymnasium.make` and of `graspline eval`.
        """
        interface = interface_of(scene, fps=fps, cameras=cameras, units=units)
        policies = LocalPolicies(interface, make_policy)
        return PolicyPilot(interface=interface, policies=policies, max_seconds=max_seconds)

    @property
    def states(self) -> tuple[str, ...]:
        """The only state: following the policy."""
        return (FOLLOW,)

    def drive(self, instant: Instant, first: Reply) -> Generator[Any, Any, Ruling]:
        """Drive a lane by the policy until the episode is decided."""
        trial = Trial(self, instant)
        yield Announce(Entered(FOLLOW))
        try:
            yield from follow(self.interface.robot, first, trial.choose, rate_hz=self.interface.fps)
        finally:
            self.policies.forget(trial.episode)
        ruling = trial.ruling()
        yield Announce(Ended(FOLLOW, ruling.verdict, EndsAs(ruling.verdict), ruling.evidence))
        return ruling


class Trial:
    """One episode of a policy."""

    def __init__(self, pilot: PolicyPilot, instant: Instant) -> None:
        self._pilot, self._instant = pilot, instant
        self._referee = Referee(instant.scenario, instant.sampled)
        self._tracker = HandlingTracker(instant.scenario, instant.sampled)
        scenario = instant.scenario
        self._sentence = scenario.task.instruct(scenario.parameters, instant.sampled, {}).sentence
        self.episode = next(_EPISODES)
        self._nearest = ""
        self._verdict, self._error = "", ""

    def ruling(self) -> Ruling:
        """The verdict with its evidence."""
        evidence = self._referee.evidence
        failed = self._verdict != SUCCESS
        failure = failure_of(self._verdict, self._tracker, evidence) if failed else None
        return Ruling(
            verdict=self._verdict, evidence=evidence, error=self._error, failure=failure, succeeded=not failed
        )

    def choose(self, reply: Reply) -> Generator[Any, Any, Array | None]:
        """The next target, or none if the episode is over."""
        snapshot = replace(self._instant, time_s=reply.time_s).snapshot()
        self._tracker.add(snapshot)
        # Faults strike at what the task works on. A policy does not say what that is; the hand does.
        nearest = _nearest_to_hand(snapshot)
        if nearest != self._nearest:
            self._nearest = nearest
            yield Announce(Targeted(nearest))
        if self._referee.succeeded(snapshot):
            self._verdict = SUCCESS
        elif reply.time_s >= self._pilot.max_seconds - 1e-9:
            self._verdict = OUT_OF_TIME
        if self._verdict:
            return None
        pictures = yield from self._pictures()
        instant = self._instant
        seen = self._pilot.interface.observation(joints_rad(instant.engine, instant.lane), pictures)
        observation = {**seen, "task": self._sentence}
        answered = yield Solve(self._pilot.policies, (Asked(self.episode, instant.scenario, observation),))
        answer = cast(Answered, answered.value)
        if isinstance(answer, PolicyFailed):
            self._verdict, self._error = POLICY_ERROR, answer.error
            return None
        return cast(Array, answer)

    def _pictures(self) -> Generator[Any, Any, dict[str, Pixels]]:
        """What each camera sees, by its name."""
        views, smooth = self._pilot.interface.views, self._pilot.smooth
        if not views:
            return {}
        looks = tuple(Look(each.camera, each.width, each.height, posed=False, smooth=smooth) for each in views)
        seen = yield Looks(looks)
        taken = cast(tuple[Picture, ...], seen.value)
        return {view.camera: picture.rgb for view, picture in zip(views, taken, strict=True)}


def _nearest_to_hand(snapshot: Snapshot) -> str:
    def apart_m(name: str) -> float:
        return float(((snapshot.objects[name].position_m - snapshot.tool_m) ** 2).sum())

    return min(snapshot.objects, key=apart_m)
