"""What `generate --engine gpu` sustains to disk, and where the time of its workers goes.

    python benchmarks/gpu_dataset.py lift-cube --episodes 4000 --lanes 2048

Two cameras of 320×240 at 30 frames a second unless told otherwise. Starting processes and compiling kernels counts
until the first episode is committed, and is told apart.
"""

from __future__ import annotations

import argparse
import json
import shutil
import time
from pathlib import Path

from graspline import find_task
from graspline.datasets.generate import Tally, generate
from graspline.datasets.gpu_pool import GpuPool
from graspline.datasets.rows import Row
from graspline.datasets.settings import settings_of
from graspline.engine.choose import GPU
from graspline.episodes.run import cores
from graspline.episodes.views import parse_views


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task")
    parser.add_argument("--episodes", type=int, default=4000)
    parser.add_argument("--lanes", type=int, default=2048)
    parser.add_argument("--workers", type=int, default=cores())
    parser.add_argument("--cameras", default="front:320x240,wrist:320x240")
    parser.add_argument("--seed", type=int, default=9900000)
    parser.add_argument("--out", type=Path, default=Path("out/gpu_dataset"))
    parser.add_argument("--device", default=GPU, help="a device that Warp knows")
    asked = parser.parse_args()
    task = find_task(asked.task)
    parameters = task.parameters()
    settings = settings_of(
        task,
        parameters,
        seed=asked.seed,
        views=parse_views(asked.cameras, task.scene(parameters).cameras),
        renderer="warp",
        engine="gpu",
    )
    shutil.rmtree(asked.out, ignore_errors=True)
    began, commits = time.perf_counter(), list[float]()

    def note(tally: Tally, row: Row) -> None:
        commits.append(time.perf_counter())

    pool = GpuPool(settings, asked.workers, asked.lanes, asked.device)
    tally = generate(asked.out, settings, asked.episodes, pool, on_commit=note)
    wall_s = commits[-1] - commits[0]
    all_s = asked.workers * wall_s
    workers = {name: round(seconds / all_s, 3) for name, seconds in tally.took_s.items() if name != "commit"}
    figures = {
        "task": asked.task,
        "episodes": tally.committed,
        "attempts": tally.attempts,
        "rejected": tally.rejected,
        "started_s": round(commits[0] - began, 1),
        "wall_s": round(wall_s, 1),
        "episodes_an_hour": round(3600 * (tally.committed - 1) / wall_s),
        "megabytes_a_second": round(tally.disk_bytes / 1e6 / wall_s, 1),
        "share_of_workers_time": workers,
        "share_of_committing": round(tally.took_s["commit"] / wall_s, 3),
    }
    print(json.dumps(figures), flush=True)


if __name__ == "__main__":
    main()
