"""What `generate --engine gpu` sustains, where the time of its workers goes, and what its renderer reaches alone.

    python benchmarks/gpu_dataset.py lift-cube --episodes 4000 --lanes 2048
    python benchmarks/gpu_dataset.py lift-cube --episodes 4000 --lanes 2048 --no-encoding
    python benchmarks/gpu_dataset.py lift-cube --device cpu --lanes 2 --workers 1 --episodes 3 --cameras front:64x48 \\
        --pictures 16 --worlds 8 --no-encoding --set hold.still_s=0.2 --set reach.travel_speed=1

Two cameras of 320×240 at 30 frames a second unless told otherwise. Starting processes and compiling kernels counts
until the first episode is committed, and is told apart. Without encoding, everything is done as for a dataset, up to
the pictures, which workers receive and count; nothing is encoded and nothing is written.

The renderer alone is measured before, in this process, as `gpu_pictures.py` does it: with scenes in which everything is
varied, in batches of `worlds`. Its episodes a second are those whose frames it could render if it did nothing else.
"""

from __future__ import annotations

import argparse
import functools
import json
import shutil
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from gpu_pictures import rate, starts

from graspline import find_task
from graspline.datasets.format.rows import Rejected, Row
from graspline.datasets.format.settings import DatasetSettings, settings_of
from graspline.datasets.format.video import Pixels
from graspline.datasets.write.episode_files import Ahead
from graspline.datasets.write.generate import GenerationProgress, fill, generate
from graspline.datasets.write.jobs import Drawn, do
from graspline.episodes.camera_views import View, parse_views
from graspline.episodes.processes import cores
from graspline.gpu.choose import GPU
from graspline.gpu.dataset_pool import GpuPool
from graspline.gpu.looks import AppearanceRows
from graspline.gpu.renderer import WarpRenderer
from graspline.parameters import build


class Unencoded:
    """An encoder that looks at every byte of a picture, as one would that encodes, and keeps none."""

    def __init__(self, view: View, fps: int) -> None:
        self._sum = 0

    def add(self, rgb: Pixels) -> None:
        self._sum ^= int(np.bitwise_xor.reduce(rgb.reshape(-1)))

    def finish(self) -> bytes:
        return self._sum.to_bytes(8, "big")


class Counter:
    """Takes episodes and writes none of them."""

    def __init__(self, seed: int) -> None:
        self.committed, self.disk_bytes, self.next_seed = 0, 0, seed

    def commit(self, rendered: Drawn, rejected: Sequence[Rejected] = ()) -> Row:
        self.committed += 1
        return {"length": len(rendered.values["timestamp"])}

    def place(self, sentence: str, before: Sequence[Ahead] = (), rejected: Sequence[Rejected] = ()) -> None:
        """Nowhere."""


class Commits:
    """When each episode was there, and how many frames it has."""

    def __init__(self) -> None:
        self.times, self.frames = list[float](), list[int]()

    def note(self, tally: GenerationProgress, row: Row) -> None:
        self.times.append(time.perf_counter())
        self.frames.append(row["length"])

    @property
    def wall_s(self) -> float:
        """From the first one on."""
        return self.times[-1] - self.times[0]

    @property
    def frames_each(self) -> float:
        return sum(self.frames) / len(self.frames)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task")
    parser.add_argument("--episodes", type=int, default=4000)
    parser.add_argument("--lanes", type=int, default=2048)
    parser.add_argument("--workers", type=int, default=cores())
    parser.add_argument("--cameras", default="front:320x240,wrist:320x240")
    parser.add_argument("--seed", type=int, default=9900000)
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a parameter of the task")
    parser.add_argument("--out", type=Path, default=Path("out/gpu_dataset"))
    parser.add_argument("--device", default=GPU, help="a device that Warp knows")
    parser.add_argument("--no-encoding", action="store_true", help="pictures are rendered, received and dropped")
    parser.add_argument("--pictures", type=int, default=10240, help="of each camera, by the renderer alone")
    parser.add_argument("--worlds", type=int, default=512, help="in a batch of the renderer alone")
    asked = parser.parse_args()
    task = find_task(asked.task)
    parameters = build(task.parameters, None, asked.set)
    settings = settings_of(
        task,
        parameters,
        seed=asked.seed,
        views=parse_views(asked.cameras, task.scene(parameters).cameras),
        renderer="warp",
        engine="gpu",
    )
    alone = renderer_alone(settings, asked)
    began, commits = time.perf_counter(), Commits()
    tally = made(settings, asked, commits)
    wall_s, rate_here = commits.wall_s, (tally.committed - 1) / commits.wall_s
    rate_alone = 1 / (commits.frames_each * sum(1 / each for each in alone.values()))
    all_s = asked.workers * wall_s
    figures = {
        "task": asked.task,
        "encoding": not asked.no_encoding,
        "workers": asked.workers,
        "lanes": asked.lanes,
        "episodes": tally.committed,
        "attempts": tally.attempts,
        "rejected": tally.rejected,
        "started_s": round(commits.times[0] - began, 1),
        "wall_s": round(wall_s, 1),
        "episodes_an_hour": round(3600 * rate_here),
        "episodes_a_second": round(rate_here, 2),
        "pictures_a_second": round(rate_here * commits.frames_each * len(settings.views)),
        "megabytes_a_second": round(tally.disk_bytes / 1e6 / wall_s, 1),
        "share_of_workers_time": {
            name: round(seconds / all_s, 3) for name, seconds in tally.took_s.items() if name != "commit"
        },
        "share_of_committing": round(tally.took_s["commit"] / wall_s, 3),
        "alone_pictures_a_second": {name: round(each) for name, each in alone.items()},
        "alone_episodes_a_second": round(rate_alone, 2),
        "over_alone": round(rate_here / rate_alone, 3),
    }
    print(json.dumps(figures), flush=True)


def renderer_alone(settings: DatasetSettings, asked: argparse.Namespace) -> dict[str, float]:
    """Pictures a second of each camera."""
    scene, qpos, variations = starts(asked.task, asked.pictures)
    looks, found = AppearanceRows(scene), dict[str, float]()
    for view in settings.views:
        renderer = WarpRenderer(scene, view.width, view.height, asked.worlds, asked.device)
        # Kernels are compiled, and a graph is captured.
        renderer.render_many(qpos[: asked.worlds], variations[: asked.worlds], view.camera)
        found[view.camera] = rate(renderer, looks, qpos, variations, view.camera)
    return found


def made(settings: DatasetSettings, asked: argparse.Namespace, commits: Commits) -> GenerationProgress:
    """All episodes, as `generate` makes them."""
    if asked.no_encoding:
        pool = GpuPool(
            settings, asked.workers, asked.lanes, asked.device, do=functools.partial(do, open_encoder=Unencoded)
        )
        return fill(Counter(asked.seed), settings, asked.episodes, pool, on_commit=commits.note)
    shutil.rmtree(asked.out, ignore_errors=True)
    pool = GpuPool(settings, asked.workers, asked.lanes, asked.device)
    return generate(asked.out, settings, asked.episodes, pool, on_commit=commits.note)


if __name__ == "__main__":
    main()
