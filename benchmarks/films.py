"""What a film costs beside the episode and the bare rendering and encoding of its frames.

    python benchmarks/films.py [TASK ...]

CPU time of all processes and threads, user and system, and their ratios, all from one run: other work on the machine
slows each part alike. `bare` is this: frames of the same size, of the same scene with the same light and shadows,
rendered one after the other and encoded, without antialiasing, annotations, words and threads. For a task whose film
shows a camera's picture beside the scene, that picture is rendered bare as well, as large as the film renders it.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from graspline import Scenario, find_task, run_scenarios
from graspline.episodes.episode import Episode
from graspline.episodes.films.film import FPS, film
from graspline.episodes.films.frames import film_view
from graspline.episodes.films.framing import frame_episode
from graspline.episodes.films.layout import FILM_PX, SCENE_PX, SIDE_PX
from graspline.rendering.choose import open_renderer
from graspline.rendering.film_look import dressed
from graspline.rendering.video import VideoWriter
from graspline.scenes.scene import Scene

# Seed and the largest ratio of the whole command to episode and bare film together.
LIMITS = {"lift-cube": 4.0, "tidy": 3.0}


def children_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def play(name: str) -> tuple[Episode, Scene, float]:
    task = find_task(name)
    parameters = task.parameters()
    scene = task.scene(parameters)
    began = time.process_time()
    (episode,) = run_scenarios([Scenario(task=task, parameters=parameters, seed=0)], record_states=True)
    return episode, scene, time.process_time() - began


def bare_s(episode: Episode, scene: Scene, path: Path) -> tuple[int, float]:
    """How many frames there are, and the time they take."""
    view = film_view(episode.scenario.task, episode.scenario.parameters, scene)
    viewpoint = frame_episode(episode.log, scene, SCENE_PX[0] / SCENE_PX[1])
    film_scene, states = dressed(scene, viewpoint), episode.log.states[:: scene.robot.control_hz // FPS]
    side_scene, side_px = (scene, (640, 480)) if view.annotated else (film_scene, SIDE_PX)
    frame = np.zeros((FILM_PX[1], FILM_PX[0], 3), np.uint8)
    began = time.process_time()
    with (
        open_renderer(film_scene, *SCENE_PX, smooth=False) as front,
        open_renderer(side_scene, *side_px, smooth=False) as side,
        VideoWriter(path, *FILM_PX, FPS) as video,
    ):
        for state in states:
            frame[:, : SCENE_PX[0]] = front.render(state, episode.log.variation, viewpoint, shadows=True).rgb
            beside = side.render(state, episode.log.variation, view.side_camera).rgb
            frame[: SIDE_PX[1], SCENE_PX[0] :] = beside[: SIDE_PX[1], : SIDE_PX[0]]
            video.write(frame)
    return len(states), time.process_time() - began


def main() -> None:
    print("| task | frames | episode | bare film | film | whole command | ratio | at most |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|")
    for name in sys.argv[1:] or LIMITS:
        with tempfile.TemporaryDirectory() as folder:
            episode, scene, episode_s = play(name)
            frames, bare = bare_s(episode, scene, Path(folder) / "bare.mp4")
            began = time.process_time()
            film(episode, scene, Path(folder) / "film.mp4")
            film_s = time.process_time() - began
            before = children_s()
            command = [sys.executable, "-m", "graspline", "run", name, "--video", f"{folder}/whole.mp4"]
            subprocess.run(
                command, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
            whole_s = children_s() - before
        ratio, limit = whole_s / (episode_s + bare), LIMITS.get(name)
        print(
            f"| `{name}` | {frames} | {episode_s:.1f} s | {bare:.1f} s | {film_s:.1f} s | {whole_s:.1f} s "
            f"| {ratio:.2f} | {limit or ''} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
