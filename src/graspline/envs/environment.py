"""One task as a Gymnasium environment: one lane of its scene, moved by calls of `step`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from graspline.choices import DEFAULT_VIEWS
from graspline.engine.actors import Actor
from graspline.engine.cpu import CpuEngine
from graspline.envs.environment_arguments import RENDER_MODES, terms_of
from graspline.envs.frames import Frames
from graspline.envs.interface import Array, Interface, Observation, joints_rad
from graspline.episodes.camera import Camera
from graspline.episodes.scenario import Scenario
from graspline.episodes.snapshots import snapshot_of
from graspline.episodes.success_by_truth import Referee, SparseReferee
from graspline.evidence import passes
from graspline.execution.requests import Look
from graspline.execution.sensor_faults import Eyesight
from graspline.rendering.picture import Pixels
from graspline.tasks.task import Draw

# What `render` shows, whatever the cameras.
_RENDERED = Look("front", 640, 480)
# Joints give way under load and may be seen this far out of their range.
_GIVE_RAD = 0.5


@dataclass(slots=True, kw_only=True)
class _CurrentEpisode:
    """The episode under way."""

    seed: int
    sampled: Draw
    frames: Frames
    # Whether, at the end of a frame, the goal has been met for long enough.
    judge: Callable[[], bool]
    steps: int = 0
    succeeded: bool = False
    diverged: bool = False


class TaskEnv(gymnasium.Env[Observation, NDArray[Any]]):
    """A task for a policy.

    An action is where each joint should be at the end of the frame; the reference goes there linearly. A target out of
    range is taken as the end of the range, one too far for a frame is approached at the joint's speed limit.
    `reset(seed=s)` gives the scene that `graspline run --seed s` plays. An episode is terminated when the task's own
    goal has been met, by the simulator's truth, for `STEADY_S`, which earns the only reward; see docs/evaluation.md.
    """

    metadata = {"render_modes": list(RENDER_MODES), "render_fps": 30}  # noqa: RUF012  (so Gymnasium declares it)

    def __init__(
        self,
        task: str,
        *,
        fps: int = 30,
        cameras: str | Mapping[str, object] = DEFAULT_VIEWS,
        units: str = "degrees",
        parameters: Mapping[str, object] | None = None,
        max_seconds: float | None = None,
        renderer: str = "auto",
        smooth: bool = False,
        render_mode: str | None = None,
    ) -> None:
        """All that is wrong with the arguments is reported at once.

        `cameras` is a text such as front:640x480,wrist:320x240, a mapping from names to (width, height), or none for
        speed; `smooth` pictures are antialiased, as those of a dataset made with --smooth. `parameters` are the task's,
        by dotted keys or nested: {"oranges.count": 2} is {"oranges": {"count": 2}}. `max_seconds` is simulated time,
        the task's own limit if it is left out.
        """
        terms = terms_of(
            task,
            fps=fps,
            cameras=cameras,
            units=units,
            parameters=parameters or {},
            max_seconds=max_seconds,
            renderer=renderer,
            render_mode=render_mode,
        )
        self._task, self._parameters, self._interface = terms.task, terms.parameters, terms.interface
        # What `lerobot-eval` looks for; the description is of the scene, and so empty before the first `reset`.
        self.task, self.task_description = terms.task.name, ""
        self._max_episode_steps = max(1, round(terms.max_seconds * fps))
        self.metadata = {**TaskEnv.metadata, "render_fps": fps}
        self.render_mode = render_mode
        self.observation_space = _observation_space(terms.interface)
        self.action_space = _action_space(terms.interface)
        self._engine = CpuEngine(terms.task.scene(terms.parameters), 1, 1)
        # Opens a graphics context with the first picture, and so in the process that wants pictures.
        self._camera = Camera(self._engine, Eyesight(self._engine), terms.renderer, smooth=smooth)
        self._episode: _CurrentEpisode | None = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin an episode; returns its first observation and information."""
        super().reset(seed=seed)
        if seed is None:
            seed = int(self.np_random.integers(2**31))
        scenario = Scenario(task=self._task, parameters=self._parameters, seed=seed)
        sampled = scenario.sample()
        self.task_description = self._task.instruct(self._parameters, sampled, {}).sentence
        actor = self._task.actor(self._parameters, sampled, scenario.random().world)
        self._camera.begin(0, sampled.variation)
        frames = Frames(self._engine, sampled, actor, lambda event: self._camera.apply(0, event))
        self._episode = _CurrentEpisode(
            seed=seed, sampled=sampled, frames=frames, judge=_judge(scenario, sampled, frames, actor)
        )
        self._episode.succeeded = self._episode.judge()
        return self._observation(), self._info(self._episode)

    def step(self, action: NDArray[Any]) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Apply an action for one frame, as Gymnasium defines it."""
        episode = self._playing()
        target_rad = self._interface.target_rad(action)
        before, had_succeeded = self._engine.save(0), episode.succeeded
        episode.diverged = episode.frames.play(target_rad, self._interface.ticks_per_frame)
        episode.steps += 1
        if episode.diverged:
            # A NaN state cannot be rendered: the world is shown as it was a frame ago.
            self._engine.restore(0, before)
            episode.succeeded = False
        else:
            episode.succeeded = episode.judge()
        return (
            self._observation(),
            1.0 if episode.succeeded and not had_succeeded else 0.0,
            episode.succeeded or episode.diverged,
            episode.steps >= self._max_episode_steps,
            self._info(episode),
        )

    def render(self) -> Pixels | None:
        """The front camera's picture, 640 by 480."""
        self._playing()
        return None if self.render_mode is None else self._camera(0, _RENDERED).rgb

    def close(self) -> None:
        """Release everything it holds; it cannot be used afterwards."""
        self._camera.close()

    def _playing(self) -> _CurrentEpisode:
        if self._episode is None:
            raise gymnasium.error.ResetNeeded("call reset() before step() or render()")
        return self._episode

    def _observation(self) -> Observation:
        views = self._interface.views
        pictures = {each.camera: self._camera(0, Look(each.camera, each.width, each.height)).rgb for each in views}
        return self._interface.observation(joints_rad(self._engine, 0), pictures)

    def _info(self, episode: _CurrentEpisode) -> dict[str, Any]:
        return {
            "is_success": episode.succeeded,
            "seed": episode.seed,
            "diverged": episode.diverged,
            "task": self.task_description,
        }


def _judge(scenario: Scenario, sampled: Draw, frames: Frames, actor: Actor | None) -> Callable[[], bool]:
    """What rules at the end of every frame whether the goal has been met for long enough."""
    engine = frames.engine
    if actor is not None or engine.scene.robot.slip_joints or scenario.task.policy.milestone is not None:
        every = Referee(scenario, sampled)
        return lambda: every.succeeded(snapshot_of(engine, 0, sampled, frames.time_s, actor, frames.events))

    def met(rows: tuple[Array, Array], time_s: float) -> bool:
        snapshot = snapshot_of(engine, 0, sampled, time_s, rows=rows)
        return passes(scenario.task.goal(scenario.parameters, sampled, snapshot))

    sparse = SparseReferee(met)
    return lambda: sparse.succeeded((engine.truth[0].copy(), engine.readings[0].copy()), frames.time_s)


def _observation_space(interface: Interface) -> spaces.Dict:
    limits, units = interface.robot.limits, interface.units
    low, high = units.outward(limits.lower - _GIVE_RAD), units.outward(limits.upper + _GIVE_RAD)
    agent_pos = spaces.Box(low.astype(np.float32), high.astype(np.float32), dtype=np.float32)
    if not interface.views:
        return spaces.Dict({"agent_pos": agent_pos})
    pixels: dict[str, spaces.Space[Any]] = {
        view.camera: spaces.Box(0, 255, (view.height, view.width, 3), np.uint8) for view in interface.views
    }
    return spaces.Dict({"pixels": spaces.Dict(pixels), "agent_pos": agent_pos})


def _action_space(interface: Interface) -> spaces.Box:
    limits, units = interface.robot.limits, interface.units
    low, high = units.outward(limits.lower), units.outward(limits.upper)
    return spaces.Box(low.astype(np.float32), high.astype(np.float32), dtype=np.float32)
