"""What `benchmarks/bench.py` measures of datasets: rendering over raw rendering and encoding, and how workers add up.

Rendering is measured in processes of their own, one thread each, as workers are.
"""

from __future__ import annotations

import copy
import io
import multiprocessing
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import mujoco
import numpy as np
from numpy.typing import NDArray

from graspline.datasets.format.recording import Recording
from graspline.datasets.format.settings import DatasetSettings, settings_of
from graspline.datasets.format.video import ENCODER
from graspline.datasets.write.generate import generate
from graspline.datasets.write.jobs import Attempts, Drawing, attempt, render
from graspline.datasets.write.pool import LocalPool
from graspline.episodes.camera_views import View
from graspline.episodes.processes import environment
from graspline.episodes.workers import ENVIRONMENT
from graspline.rendering.choose import gl_problem
from graspline.rendering.stage import VISIBLE_GROUPS
from graspline.scenes.scene import Scene
from graspline.scenes.variation import apply_to_model
from graspline.tasks.catalogue import find_task
from measured.episodes import Figure, Part, Say

_VIEWS = (View("front", 640, 480), View("wrist", 640, 480))
# A twelve-second episode with two cameras at 30 frames a second.
_FRAMES = 720
_ROUNDS = 3


def dataset_parts(*, full: bool) -> list[Part]:
    """What there is to measure of datasets, quickly or in full; nothing with pictures where OpenGL is missing."""
    # A worker plays many attempts at once, and commits them together: fewer episodes would measure that alone.
    counts = [("lift-cube", 128, 12), ("oranges", 32, 16)] if full else [("lift-cube", 64, 7)]
    found = [_without_pictures(*each) for each in counts]
    if gl_problem() is None:
        found.append(_with_pictures("oranges", _ROUNDS, 120) if full else _with_pictures("lift-cube", 1, 15))
        found += [_side_by_side()] if full else []
    return found


def _settings(task_name: str, views: tuple[View, ...] = (), seed: int = 0) -> DatasetSettings:
    task = find_task(task_name)
    return settings_of(task, task.parameters(), views=views, seed=seed)


def _without_pictures(name: str, count: int, about_s: float) -> Part:
    """Episodes from seed to committed files on one core."""

    def measure(say: Say) -> list[Figure]:
        with tempfile.TemporaryDirectory() as folder:
            spent = _generated_s(Path(folder) / "set", _settings(name), count, workers=1)
        return [
            Figure(
                name=f"{name.replace('-', '_')}_episodes_per_hour_per_core",
                value=3600 * count / spent,
                unit="1/h",
                meaning="accepted episodes, committed, without pictures",
            )
        ]

    return Part(what=f"{count} episodes of {name} into a dataset, one worker", about_s=about_s, measure=measure)


def _generated_s(root: Path, settings: DatasetSettings, count: int, *, workers: int) -> float:
    """Wall seconds to commit these episodes, from when the first is there: workers start up once, not per episode."""
    times: list[float] = []
    generate(root, settings, count + 1, LocalPool(workers), on_commit=lambda tally, row: times.append(time.monotonic()))
    return times[-1] - times[0]


def _with_pictures(name: str, rounds: int, about_s: float) -> Part:
    """One worker's CPU for an episode's pictures over what MuJoCo and x264 alone need for the same frames."""
    return Part(
        what=f"two cameras of 640×480 in {rounds} episode{'s' if rounds > 1 else ''} of {name}, beside bare rendering "
        "and encoding",
        about_s=about_s,
        measure=lambda say: _rendering(name, rounds),
    )


def _rendering(name: str, count: int) -> list[Figure]:
    with environment(ENVIRONMENT):
        pool = ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn"))
        with pool:
            played, rounds = pool.submit(_rendering_cost, _settings(name, _VIEWS), count).result()
    whole, render, encode, frames = np.array(rounds).T
    per = _FRAMES / frames
    seconds = float(np.median(whole * per))
    return [
        Figure(
            name="render_over_raw",
            value=float(np.median(whole / (render + encode))),
            unit="×",
            meaning="pictures, video, statistics and rows over raw rendering and x264 alone",
        ),
        Figure(name="render_720_frames_s", value=seconds, unit="s", meaning="CPU for 720 frames of 640×480"),
        Figure(name="render_ms", value=float(np.median(render / frames)) * 1e3, unit="ms", meaning="raw, one frame"),
        Figure(name="encode_ms", value=float(np.median(encode / frames)) * 1e3, unit="ms", meaning="x264, one frame"),
        Figure(
            name="twelve_second_episodes_per_hour_per_core",
            value=3600 / seconds,
            unit="1/h",
            meaning="by rendering alone, two cameras",
        ),
        Figure(
            name="rejected_over_accepted",
            value=float(played / (played + np.median(whole))),
            unit="×",
            meaning="what an attempt costs that is not kept, over one that is",
        ),
    ]


def _rendering_cost(settings: DatasetSettings, count: int) -> tuple[float, list[tuple[float, float, float, int]]]:
    """CPU seconds: of playing one attempt; and per round of rendering it, of raw rendering, of encoding; the frames."""
    began = time.process_time()
    seeds = tuple(range(8))
    recordings = [each for each in attempt(Attempts(settings=settings, seeds=seeds)) if isinstance(each, Recording)]
    played = (time.process_time() - began) / len(seeds)
    task, parameters = settings.found_task()
    scene = task.scene(parameters)
    render(Drawing(settings=settings, recording=recordings[0]))  # renderers opened
    rounds = []
    for recording in recordings[:count]:
        began = time.process_time()
        rendered = render(Drawing(settings=settings, recording=recording))
        whole = time.process_time() - began
        raw, encode = 0.0, 0.0
        for view in settings.views:
            raw_render, pictures = _raw_rendering(recording, settings, scene, view)
            raw, encode = raw + raw_render, encode + _raw_encoding(pictures, settings.fps, view)
        rounds.append((whole, raw, encode, sum(each.frames for each in rendered.films.values())))
    return played, rounds


def _raw_rendering(
    recording: Recording, settings: DatasetSettings, scene: Scene, view: View
) -> tuple[float, list[NDArray[np.uint8]]]:
    """The same frames by MuJoCo's own calls and nothing else."""
    from mujoco.egl import GLContext

    model, data = copy.copy(scene.model), mujoco.MjData(scene.model)
    apply_to_model(model, recording.log.variation)
    model.vis.global_.offwidth, model.vis.global_.offheight = view.width, view.height
    model.vis.quality.offsamples = 4 if settings.smooth else 0
    visible, option = mujoco.MjvScene(model, model.ngeom), mujoco.MjvOption()
    option.geomgroup[:] = VISIBLE_GROUPS
    visible.flags[mujoco.mjtRndFlag.mjRND_SHADOW] = visible.flags[mujoco.mjtRndFlag.mjRND_REFLECTION] = 0
    camera = mujoco.MjvCamera()
    camera.type, camera.fixedcamid = mujoco.mjtCamera.mjCAMERA_FIXED.value, model.camera(view.camera).id
    window = mujoco.MjrRect(0, 0, view.width, view.height)
    states = recording.log.states[:: scene.robot.control_hz // settings.fps]
    pictures = []
    context = GLContext(view.width, view.height)
    with context.as_current():
        graphics = mujoco.MjrContext(model, mujoco.mjtFontScale.mjFONTSCALE_100.value)
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN.value, graphics)
        began = time.process_time()
        for qpos in states:
            data.qpos[:] = qpos
            mujoco.mj_kinematics(model, data)
            mujoco.mj_camlight(model, data)
            mujoco.mjv_updateScene(model, data, option, None, camera, mujoco.mjtCatBit.mjCAT_ALL, visible)
            picture = np.empty((view.height, view.width, 3), np.uint8)
            mujoco.mjr_render(window, visible, graphics)
            mujoco.mjr_readPixels(picture, None, window, graphics)
            pictures.append(picture)
        spent = time.process_time() - began
        graphics.free()
    context.free()
    return spent, pictures


def _raw_encoding(pictures: list[NDArray[np.uint8]], fps: int, view: View) -> float:
    began = time.process_time()
    with av.open(io.BytesIO(), "w", format="mp4") as file:
        stream: Any = file.add_stream("libx264", rate=fps, options=ENCODER)
        stream.width, stream.height, stream.pix_fmt = view.width, view.height, "yuv420p"
        stream.codec_context.thread_count = 1
        for number, picture in enumerate(pictures):
            frame = av.VideoFrame.from_ndarray(picture, format="rgb24")
            frame.pts, frame.time_base = number, Fraction(1, fps)
            file.mux(stream.encode(frame))
        file.mux(stream.encode())
    return time.process_time() - began


def _side_by_side(count: int = 24) -> Part:
    """Two workers beside one: both are measured in wall time, on two cores."""

    def measure(say: Say) -> list[Figure]:
        spent = {}
        for workers in (1, 2):
            say(f"{workers} worker{'s' if workers > 1 else ''}")
            with tempfile.TemporaryDirectory() as folder:
                settings = _settings("lift-cube", _VIEWS)
                spent[workers] = _generated_s(Path(folder) / "set", settings, count, workers=workers)
        return [
            Figure(
                name="two_workers_over_one",
                value=spent[1] / spent[2],
                unit="×",
                meaning="episodes with pictures per second, wall time on this machine",
            )
        ]

    what = f"{count} episodes of lift-cube with two cameras of 640×480, by one worker and by two"
    return Part(what=what, about_s=150, measure=measure)
