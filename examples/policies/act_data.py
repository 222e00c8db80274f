"""LeRobot datasets (v3) as tensors: every frame decoded once and kept, uint8, where the training wants it."""

from __future__ import annotations

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import torch

IMAGES, STATE, ACTION = "observation.images.", "observation.state", "action"
# As lerobot-train has it by default, whatever the pictures.
IMAGENET = {"mean": (0.485, 0.456, 0.406), "std": (0.229, 0.224, 0.225)}


@dataclass(frozen=True, kw_only=True)
class Frames:
    """All frames of all datasets, one after the other; N frames, J joints."""

    # By camera, (N, height, width, 3) uint8.
    pictures: dict[str, torch.Tensor]
    # (N, J) float32, in the units of the dataset.
    states: torch.Tensor
    actions: torch.Tensor
    # (N,): the last frame of the episode that each belongs to.
    last: torch.Tensor
    # Frames to learn from, and how often each is sampled compared with the others; frames held out.
    train: torch.Tensor
    odds: torch.Tensor
    held_out: torch.Tensor
    # {"observation.state": {"mean": [...], "std": [...]}, "action": ...}
    stats: dict[str, dict[str, list[float]]]
    # What a checkpoint says about its data.
    about: dict[str, object]


def load(
    sources: list[str], *, held_out: float, only: str, store: torch.device, threads: int, rng: np.random.Generator
) -> Frames:
    """Datasets given as DIR or DIR:WEIGHT; without weights each counts by its frames."""
    named = [_weighted(each) for each in sources]
    infos = [json.loads((folder / "meta" / "info.json").read_text()) for folder, _ in named]
    _check_alike([folder for folder, _ in named], infos)
    cameras = [key.removeprefix(IMAGES) for key in infos[0]["features"] if key.startswith(IMAGES)]
    total = sum(info["total_frames"] for info in infos)
    pictures = {}
    for camera in cameras:
        height, width, _ = infos[0]["features"][IMAGES + camera]["shape"]
        pictures[camera] = torch.empty((total, height, width, 3), dtype=torch.uint8, device=store)
    states, actions, last, odds, held = [], [], [], [], []
    first = 0
    for (folder, weight), info in zip(named, infos, strict=True):
        table, episodes = _table(folder), _episodes(folder)
        states.append(_column(table, STATE))
        actions.append(_column(table, ACTION))
        ends = np.array([each["dataset_to_index"] for each in episodes])
        lengths = np.array([each["length"] for each in episodes])
        last.append(first + np.repeat(ends - 1, lengths))
        aside = set(rng.permutation(len(episodes))[: _number_aside(len(episodes), held_out)].tolist())
        held.append(np.repeat([number in aside for number in range(len(episodes))], lengths))
        wanted = ~held[-1] & (table[only].to_numpy().astype(bool) if only in table.column_names else True)
        share = np.full(len(table), len(table) / total if weight is None else weight) / max(wanted.sum(), 1)
        odds.append(np.where(wanted, share, 0.0))
        _decode(folder, info, episodes, pictures, first, threads)
        first += len(table)
    every_odds = np.concatenate(odds)
    train = np.flatnonzero(every_odds)
    if not len(train):
        raise SystemExit("no frame is left to learn from")
    return Frames(
        pictures=pictures,
        states=torch.from_numpy(np.concatenate(states)),
        actions=torch.from_numpy(np.concatenate(actions)),
        last=torch.from_numpy(np.concatenate(last)),
        train=torch.from_numpy(train),
        odds=torch.from_numpy(every_odds[train]),
        held_out=torch.from_numpy(np.flatnonzero(np.concatenate(held))),
        stats=_stats([folder for folder, _ in named]),
        about=_about(named[0][0], infos[0]),
    )


def _weighted(text: str) -> tuple[Path, float | None]:
    folder, colon, weight = text.rpartition(":")
    try:
        found = (Path(folder), float(weight)) if colon else (Path(text), None)
    except ValueError:
        found = Path(text), None
    if not (found[0] / "meta" / "info.json").is_file():
        raise SystemExit(f"{found[0]}: no dataset, meta/info.json is missing")
    return found


def _check_alike(folders: list[Path], infos: list[dict]) -> None:
    def shape(info: dict) -> dict:
        kept = {key: each for key, each in info["features"].items() if key.startswith(IMAGES) or key in (STATE, ACTION)}
        return {"fps": info["fps"]} | {key: (tuple(each["shape"]), str(each["names"])) for key, each in kept.items()}

    for folder, info in zip(folders[1:], infos[1:], strict=True):
        if shape(info) != shape(infos[0]):
            raise SystemExit(f"{folder} cannot be mixed with {folders[0]}:\n{shape(info)}\n{shape(infos[0])}")


def _table(folder: Path):
    import pyarrow as pa

    return pa.concat_tables(
        [pq.read_table(each) for each in sorted((folder / "data").glob("*/*.parquet"))], promote_options="default"
    )


def _episodes(folder: Path) -> list[dict]:
    rows: list[dict] = []
    for each in sorted((folder / "meta" / "episodes").glob("*/*.parquet")):
        table = pq.read_table(each)
        plain = [name for name in table.column_names if name.startswith(("videos/", "dataset_")) or name == "length"]
        rows += table.select(plain).to_pylist()
    return rows


def _column(table, name: str) -> np.ndarray:
    flat = table[name].combine_chunks().flatten().to_numpy(zero_copy_only=False)
    return flat.reshape(len(table), -1).astype(np.float32)


def _number_aside(count: int, share: float) -> int:
    return 0 if share <= 0 or count < 2 else max(1, round(count * share))


def _decode(
    folder: Path, info: dict, episodes: list[dict], pictures: dict[str, torch.Tensor], first: int, threads: int
) -> None:
    """Fill in all frames of one dataset; decoders work outside of Python's lock, so threads are enough."""
    jobs: dict[tuple[str, int, int], list[tuple[int, int, int]]] = {}
    for each in episodes:
        for camera in pictures:
            key = f"videos/{IMAGES}{camera}"
            start = round(each[f"{key}/from_timestamp"] * info["fps"])
            part = (start, first + each["dataset_from_index"], each["length"])
            jobs.setdefault((camera, each[f"{key}/chunk_index"], each[f"{key}/file_index"]), []).append(part)

    def one(job: tuple[tuple[str, int, int], list[tuple[int, int, int]]]) -> None:
        (camera, chunk, number), parts = job
        path = folder / info["video_path"].format(video_key=IMAGES + camera, chunk_index=chunk, file_index=number)
        decoded = decode(path)
        for start, at, length in parts:
            if len(decoded) < start + length:
                raise SystemExit(f"{path}: {len(decoded)} frames, and {start + length} are needed")
            pictures[camera][at : at + length] = torch.from_numpy(decoded[start : start + length])

    with ThreadPoolExecutor(max(threads, 1)) as pool:
        for number, _ in enumerate(pool.map(one, jobs.items())):
            if number % 500 == 499:
                print(f"{folder}: {number + 1} of {len(jobs)} films decoded", file=sys.stderr, flush=True)


def decode(path: Path) -> np.ndarray:
    """All frames of a film, (n, height, width, 3) uint8, by PyAV, or by OpenCV where that is missing."""
    try:
        import av
    except ImportError:
        return _decode_by_opencv(path)
    with av.open(str(path)) as film:
        return np.stack([frame.to_ndarray(format="rgb24") for frame in film.decode(video=0)])


def _decode_by_opencv(path: Path) -> np.ndarray:
    import cv2

    film, frames = cv2.VideoCapture(str(path)), []
    while True:
        there, frame = film.read()
        if not there:
            break
        frames.append(cv2.cvtColor(frame, cv2.COLOR_BGR2RGB))
    film.release()
    if not frames:
        raise SystemExit(f"{path}: OpenCV decodes no frame")
    return np.stack(frames)


def _stats(folders: list[Path]) -> dict[str, dict[str, list[float]]]:
    """Means and deviations over all datasets, from those that each of them keeps in meta/stats.json."""
    kept = [json.loads((folder / "meta" / "stats.json").read_text()) for folder in folders]
    stats = {}
    for key in (STATE, ACTION):
        counts = np.array([each[key]["count"][0] for each in kept], np.float64)[:, None]
        means, stds = (np.array([each[key][name] for each in kept]) for name in ("mean", "std"))
        mean = (counts * means).sum(0) / counts.sum()
        variance = (counts * (stds**2 + (means - mean) ** 2)).sum(0) / counts.sum()
        # A joint that never moves must not be divided by nothing.
        stats[key] = {"mean": mean.tolist(), "std": np.maximum(np.sqrt(variance), 1e-4).tolist()}
    return stats


def _about(folder: Path, info: dict) -> dict[str, object]:
    about = {
        "repo_id": f"local/{folder.resolve().name}",
        "root": str(folder.resolve()),
        "fps": info["fps"],
        "joints": info["features"][ACTION]["names"],
    }
    settings = folder / "meta" / "graspline.json"
    if settings.is_file():
        made = json.loads(settings.read_text())["settings"]
        about |= {"units": made["units"], "smooth": made["smooth"]}
    return about
