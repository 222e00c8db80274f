"""Pictures a second that MuJoCo Warp draws, of the first two cameras of a task's scene, everything in it varied.

    python benchmarks/gpu_pictures.py lift-cube --worlds 256
    python benchmarks/gpu_pictures.py tidy --device cpu --worlds 2 --pictures 8

The time is that of `render_looks` alone: states in, pictures out on the host, in memory that is used again and again.
The first picture, for which kernels may have to be compiled, is not counted but told. Memory is what a GPU has less
than before the renderer was opened.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence

import numpy as np
import warp

from graspline import Scenario, find_task
from graspline.gpu.choose import GPU
from graspline.gpu.looks import AppearanceRows
from graspline.gpu.renderer import WarpRenderer
from graspline.parameters import build
from graspline.scenes.scene import Scene
from graspline.scenes.variation import Variation

_DIFFERENT = 32


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task")
    parser.add_argument("--worlds", type=int, default=256)
    parser.add_argument("--pictures", type=int, default=0, help="of each camera; 0: twenty for each world")
    parser.add_argument("--width", type=int, default=320)
    parser.add_argument("--height", type=int, default=240)
    parser.add_argument("--device", default=GPU, help="a device that Warp knows")
    asked = parser.parse_args()
    count = asked.pictures or 20 * asked.worlds
    scene, qpos, variations = starts(asked.task, count)
    warp.config.log_level = warp.LOG_ERROR
    warp.init()
    device = warp.get_device(asked.device)
    free = device.free_memory if device.is_cuda else 0
    began = time.perf_counter()
    renderer = WarpRenderer(scene, asked.width, asked.height, asked.worlds, asked.device)
    renderer.render_many(qpos[:1], variations[:1], scene.cameras[0])
    opened_s, looks = time.perf_counter() - began, AppearanceRows(scene)
    rates = {camera: round(rate(renderer, looks, qpos, variations, camera), 1) for camera in scene.cameras[:2]}
    print(
        json.dumps(
            {
                "task": asked.task,
                "device": device.name,
                "worlds": asked.worlds,
                "width": asked.width,
                "height": asked.height,
                "pictures": len(rates) * count,
                "pictures_a_second": rates,
                "first_picture_s": round(opened_s, 2),
                "mb_on_gpu": round((free - device.free_memory) / 1e6) if device.is_cuda else 0,
            }
        ),
        flush=True,
    )


def starts(task: str, count: int) -> tuple[Scene, np.ndarray, list[Variation]]:
    """So many states, a few different ones over and over."""
    found = find_task(task)
    aspects = found.randomization(found.parameters()).aspects
    parameters = build(found.parameters, None, [f"randomize.{aspect}.on=true" for aspect in aspects])
    draws = [Scenario(task=found, parameters=parameters, seed=seed).sample() for seed in range(_DIFFERENT)]
    chosen = [draws[number % _DIFFERENT] for number in range(count)]
    return found.scene(parameters), np.stack([draw.start for draw in chosen]), [draw.variation for draw in chosen]


def rate(
    renderer: WarpRenderer, looks: AppearanceRows, qpos: np.ndarray, variations: Sequence[Variation], camera: str
) -> float:
    """Pictures a second."""
    rows, which = looks.rows(variations)
    began = time.perf_counter()
    for first in range(0, len(qpos), renderer.worlds):
        chunk = slice(first, first + renderer.worlds)
        renderer.render_looks(qpos[chunk], rows[which[chunk]], camera)
    return len(qpos) / (time.perf_counter() - began)


if __name__ == "__main__":
    main()
