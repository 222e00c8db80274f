"""Render the images of a dataset that was generated without them, on a GPU, for `train_act.py`.

    graspline generate lift-cube --episodes 5000 --cameras none --out out/cubes
    python examples/policies/render_frames.py out/cubes --cameras front:160x120,wrist:160x120 --every 3
    python examples/policies/train_act.py out/cubes --out out/act --minutes 10

Simulation and images are made apart, each where it is fastest, and no video is encoded or decoded. The images are those
that `graspline generate --engine gpu` renders, before they are compressed; they go to DIR/pictures, one array for each
camera. With `--every N` an episode has every Nth image only, beginning with a random one. The dataset itself is not
changed. `--renderer gl` or `rays` does the same on the CPU, slowly.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow.dataset
from act_files import RENDERED, episodes_of
from numpy.typing import NDArray

from graspline.datasets.format.store import Dataset, origin_in
from graspline.episodes.camera_views import View, parse_views
from graspline.episodes.units import units_of
from graspline.rendering.choose import open_renderer
from graspline.scenes.scene import Scene
from graspline.scenes.variation import Variation

# Images that are rendered together.
BATCH = 2048


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dataset", type=Path, metavar="DIR")
    parser.add_argument("--cameras", default="front:160x120,wrist:160x120", metavar="NAME:WxH,…")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="render only every Nth frame of an episode")
    parser.add_argument("--renderer", choices=["gpu", "gl", "rays"], default="gpu")
    parser.add_argument("--seed", type=int, default=0, help="which frames are rendered, with --every")
    given = parser.parse_args()
    began = time.perf_counter()
    info = json.loads((given.dataset / "meta" / "info.json").read_text())
    # Its episodes are not checked: `graspline doctor` does that.
    dataset = Dataset(given.dataset, info, origin_in(given.dataset).settings, tuple(episodes_of(given.dataset)))
    scene, out = dataset.scene, given.dataset / RENDERED
    out.mkdir(exist_ok=True)
    # It is what says that images are there, so it comes last.
    (out / "frames.npy").unlink(missing_ok=True)
    frames, qpos = chosen(dataset, scene, given.every, given.seed)
    variations = list(looks(dataset, frames))
    print(
        json.dumps({"episodes": len(dataset.rows), "images": len(frames), "read_s": round(time.perf_counter() - began)})
    )
    for view in parse_views(given.cameras, scene.cameras):
        began = time.perf_counter()
        images = np.lib.format.open_memmap(
            out / f"{view.camera}.npy", "w+", np.uint8, (len(frames), view.height, view.width, 3)
        )
        for first, found in rendered(scene, view, given.renderer, qpos, variations):
            images[first : first + len(found)] = found
        images.flush()
        print(json.dumps({"camera": view.camera, "rendered_s": round(time.perf_counter() - began, 1)}), flush=True)
    np.save(out / "frames.npy", frames)
    print(f"saved: {out}")


def chosen(dataset: Dataset, scene: Scene, every: int, seed: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Which frames of the dataset are rendered, (n,), and the coordinates they show, (n, nq)."""
    rows = dataset.rows
    begins = np.array([row["dataset_from_index"] for row in rows])
    lengths = np.array([row["length"] for row in rows])
    begins = begins + np.random.default_rng(seed).integers(0, every, len(rows))
    frames = np.flatnonzero((np.arange(lengths.sum()) - np.repeat(begins, lengths)) % every == 0)
    names = ("index", "observation.state", "graspline.object_poses")
    table = pyarrow.dataset.dataset(dataset.root / "data", format="parquet").to_table(columns=list(names))
    index, state, poses = (table[name].combine_chunks() for name in names)
    wanted = np.argsort(index.to_numpy())[frames]
    state, poses = (each.flatten().to_numpy().reshape(len(table), -1)[wanted] for each in (state, poses))
    qpos = np.zeros((len(frames), scene.model.nq))
    joints = [scene.joint_address(name) for name in scene.robot.joints]
    qpos[:, joints] = units_of(scene.robot, dataset.settings.units).inward(state.astype(np.float64))
    for number, name in enumerate((*scene.object_names, *scene.place_names)):
        at = scene.joint_address(name)
        qpos[:, at : at + 7] = poses[:, 7 * number : 7 * number + 7]
    return frames, qpos


def looks(dataset: Dataset, frames: NDArray[np.int64]) -> Iterator[Variation]:
    """What each frame's scene looks like."""
    for row in dataset.rows:
        log = dataset.log(row).log
        first, end = np.searchsorted(frames, (row["dataset_from_index"], row["dataset_to_index"]))
        if any(type(event).__name__ in ("Change", "Blind") for _, event in log.events):
            raise SystemExit(
                f"episode {row['episode_index']}: its lights or cameras change; use `graspline generate --cameras`"
            )
        yield from [log.variation] * int(end - first)


def rendered(
    scene: Scene, view: View, kind: str, qpos: NDArray[np.float64], variations: Sequence[Variation]
) -> Iterator[tuple[int, NDArray[np.uint8]]]:
    """Images in order: where each batch begins, and the batch (n, height, width, 3)."""
    if kind != "gpu":
        with open_renderer(scene, view.width, view.height, "gl" if kind == "gl" else "rays", smooth=False) as renderer:
            for row, (coordinates, variation) in enumerate(zip(qpos, variations, strict=True)):
                yield row, renderer.render(coordinates, variation, view.camera).rgb[None]
        return
    from graspline.gpu.looks import AppearanceRows
    from graspline.gpu.renderer import WarpRenderer

    renderer = WarpRenderer(scene, view.width, view.height, min(BATCH, len(qpos)))
    rows, which = AppearanceRows(scene).rows(variations)
    # While the GPU renders one batch, the one before it is copied.
    begun: tuple[int, Callable[[], NDArray[np.uint8]]] | None = None
    for first in range(0, len(qpos), renderer.worlds):
        part = slice(first, first + renderer.worlds)
        pending = renderer.begin_looks(qpos[part], rows[which[part]], view.camera)
        if begun is not None:
            yield begun[0], begun[1]()
        begun = first, pending
    if begun is not None:
        yield begun[0], begun[1]()


if __name__ == "__main__":
    main()
