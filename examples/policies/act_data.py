"""LeRobot datasets (v3) as tensors: every frame decoded once and kept, uint8, where the training wants it."""

from __future__ import annotations

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from act_files import ACTION, IMAGES, RENDERED, STATE, episodes_of, frames_of

# As lerobot-train has it by default, whatever the pictures.
IMAGENET = {"mean": (0.485, 0.456, 0.406), "std": (0.229, 0.224, 0.225)}


@dataclass(frozen=True, kw_only=True)
class Frames:
    """All frames of all datasets, one after the other; N frames, J joints."""

    # By camera, (M, height, width, 3) uint8: the images that are kept.
    pictures: dict[str, torch.Tensor]
    # (N,): which of them shows a frame, -1 for none.
    shown: torch.Tensor
    # (N, J) float32, in the units of the dataset.
    states: torch.Tensor
    actions: torch.Tensor
    # (N,): the last frame of the episode that each belongs to.
    last: torch.Tensor
    # Frames with images to learn from, and how often each is sampled compared with the others; frames held out.
    train: torch.Tensor
    odds: torch.Tensor
    held_out: torch.Tensor
    # {"observation.state": {"mean": [...], "std": [...]}, "action": ...}
    stats: dict[str, dict[str, list[float]]]
    # What a checkpoint says about its data.
    about: dict[str, object]


def load(
    sources: list[str],
    *,
    held_out: float,
    only: str,
    store: torch.device,
    threads: int,
    rng: np.random.Generator,
    every: int = 1,
) -> Frames:
    """Datasets given as DIR or DIR:WEIGHT; without weights each counts by its frames.

    Of each episode every `every`-th image is kept, beginning with a random one; all actions are kept.
    """
    named = [_weighted(each) for each in sources]
    infos = [json.loads((folder / "meta" / "info.json").read_text()) for folder, _ in named]
    sizes = [_cameras(folder, info) for (folder, _), info in zip(named, infos, strict=True)]
    _check_alike([folder for folder, _ in named], infos, sizes)
    parts, weights = [], []
    for (folder, weight), info in zip(named, infos, strict=True):
        parts.append(_part(folder, info, rng, held_out, only, every))
        weights.append(len(parts[-1].states) if weight is None else weight)
    count = sum(len(part.kept) for part in parts)
    pictures = {
        camera: torch.empty((count, *size, 3), dtype=torch.uint8, device=store) for camera, size in sizes[0].items()
    }
    last, shown, odds, held, first, begin = [], [], [], [], 0, 0
    for part, weight in zip(parts, weights, strict=True):
        _fill(part, {camera: array[begin : begin + len(part.kept)] for camera, array in pictures.items()}, threads)
        last.append(first + part.last)
        number = np.full(len(part.states), -1)
        number[part.kept] = begin + np.arange(len(part.kept))
        shown.append(number)
        taught = part.wanted & ~part.held & (number >= 0)
        odds.append(np.where(taught, weight / max(taught.sum(), 1), 0.0))
        held.append(part.held & (number >= 0))
        first, begin = first + len(part.states), begin + len(part.kept)
    every_odds = np.concatenate(odds)
    train = np.flatnonzero(every_odds)
    if not len(train):
        raise SystemExit("no frame is left to learn from")
    return Frames(
        pictures=pictures,
        shown=torch.from_numpy(np.concatenate(shown)),
        states=torch.from_numpy(np.concatenate([part.states for part in parts])),
        actions=torch.from_numpy(np.concatenate([part.actions for part in parts])),
        last=torch.from_numpy(np.concatenate(last)),
        train=torch.from_numpy(train),
        odds=torch.from_numpy(every_odds[train]),
        held_out=torch.from_numpy(np.flatnonzero(np.concatenate(held))),
        stats=_stats([folder for folder, _ in named]),
        about=_about(named[0][0], infos[0]),
    )


@dataclass(frozen=True, kw_only=True)
class _Part:
    """One dataset, images excepted; n frames."""

    folder: Path
    info: dict[str, Any]
    episodes: list[dict[str, Any]]
    # (n, J) float32.
    states: np.ndarray
    actions: np.ndarray
    # (n,): the last frame of each one's episode; whether it is held out; whether it is to be learned from.
    last: np.ndarray
    held: np.ndarray
    wanted: np.ndarray
    # Frames whose images are kept, in order.
    kept: np.ndarray


def _part(
    folder: Path, info: dict[str, Any], rng: np.random.Generator, held_out: float, only: str, every: int
) -> _Part:
    table, rows = frames_of(folder, only), episodes_of(folder)
    begins = np.array([each["dataset_from_index"] for each in rows])
    lengths = np.array([each["length"] for each in rows])
    aside = np.zeros(len(rows), bool)
    aside[rng.permutation(len(rows))[: _number_aside(len(rows), held_out)]] = True
    if _rendered(folder):
        kept = np.load(folder / RENDERED / "frames.npy")
    else:
        phase = rng.integers(0, every, len(rows))
        kept = np.flatnonzero((np.arange(len(table)) - np.repeat(begins + phase, lengths)) % every == 0)
    return _Part(
        folder=folder,
        info=info,
        episodes=rows,
        states=_column(table, STATE),
        actions=_column(table, ACTION),
        last=np.repeat(begins + lengths - 1, lengths),
        held=np.repeat(aside, lengths),
        wanted=table[only].to_numpy().astype(bool) if only in table.column_names else np.ones(len(table), bool),
        kept=kept,
    )


def _rendered(folder: Path) -> bool:
    return (folder / RENDERED / "frames.npy").is_file()


def _cameras(folder: Path, info: dict[str, Any]) -> dict[str, tuple[int, int]]:
    """(height, width) of each camera's images."""
    if _rendered(folder):
        arrays = sorted(each for each in (folder / RENDERED).glob("*.npy") if each.name != "frames.npy")
        return {each.stem: np.load(each, mmap_mode="r").shape[1:3] for each in arrays}
    features = info["features"]
    return {key.removeprefix(IMAGES): tuple(features[key]["shape"][:2]) for key in features if key.startswith(IMAGES)}


def _weighted(text: str) -> tuple[Path, float | None]:
    folder, colon, weight = text.rpartition(":")
    try:
        found = (Path(folder), float(weight)) if colon else (Path(text), None)
    except ValueError:
        found = Path(text), None
    if not (found[0] / "meta" / "info.json").is_file():
        raise SystemExit(f"{found[0]}: no dataset, meta/info.json is missing")
    return found


def _check_alike(folders: list[Path], infos: list[dict[str, Any]], sizes: list[dict[str, tuple[int, int]]]) -> None:
    def shape(info: dict[str, Any], cameras: dict[str, tuple[int, int]]) -> dict[str, Any]:
        joints = {key: str(info["features"][key]["names"]) for key in (STATE, ACTION)}
        return {"fps": info["fps"], "cameras": cameras, **joints}

    if not sizes[0]:
        raise SystemExit(f"{folders[0]} has no images")
    for folder, info, cameras in zip(folders[1:], infos[1:], sizes[1:], strict=True):
        if shape(info, cameras) != shape(infos[0], sizes[0]):
            here, there = shape(info, cameras), shape(infos[0], sizes[0])
            raise SystemExit(f"{folder} cannot be mixed with {folders[0]}:\n{here}\n{there}")


def _column(table, name: str) -> np.ndarray:
    flat = table[name].combine_chunks().flatten().to_numpy(zero_copy_only=False)
    return flat.reshape(len(table), -1).astype(np.float32)


def _number_aside(count: int, share: float) -> int:
    return 0 if share <= 0 or count < 2 else max(1, round(count * share))


def _fill(part: _Part, pictures: dict[str, torch.Tensor], threads: int) -> None:
    """The images of a dataset's kept frames, rendered already or decoded; decoders work outside of Python's lock."""
    if _rendered(part.folder):
        for camera, filled in pictures.items():
            found = np.load(part.folder / RENDERED / f"{camera}.npy", mmap_mode="r")

            def copy(begin: int, filled: torch.Tensor = filled, found: np.ndarray = found) -> None:
                filled[begin : begin + 4096] = torch.from_numpy(found[begin : begin + 4096].copy())

            with ThreadPoolExecutor(max(threads, 1)) as pool:
                list(pool.map(copy, range(0, len(found), 4096)))
        return
    info, jobs = part.info, dict[tuple[str, int, int], list[tuple[int, int, int]]]()
    for each in part.episodes:
        for camera in pictures:
            key = f"videos/{IMAGES}{camera}"
            start = round(each[f"{key}/from_timestamp"] * info["fps"])
            job = jobs.setdefault((camera, each[f"{key}/chunk_index"], each[f"{key}/file_index"]), [])
            job.append((start, each["dataset_from_index"], each["length"]))

    def one(job: tuple[tuple[str, int, int], list[tuple[int, int, int]]]) -> None:
        (camera, chunk, number), inside = job
        path = part.folder / info["video_path"].format(video_key=IMAGES + camera, chunk_index=chunk, file_index=number)
        decoded = decode(path)
        for start, at, length in inside:
            if len(decoded) < start + length:
                raise SystemExit(f"{path}: {len(decoded)} frames, and {start + length} are needed")
            begin, end = np.searchsorted(part.kept, (at, at + length))
            wanted = decoded[start + part.kept[begin:end] - at]
            pictures[camera][begin:end] = torch.from_numpy(wanted)

    with ThreadPoolExecutor(max(threads, 1)) as pool:
        for number, _ in enumerate(pool.map(one, jobs.items())):
            if number % 500 == 499:
                print(f"{part.folder}: {number + 1} of {len(jobs)} films decoded", file=sys.stderr, flush=True)


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

    # One thread each: the caller decodes many videos at once.
    film, frames = cv2.VideoCapture(str(path), cv2.CAP_FFMPEG, [cv2.CAP_PROP_N_THREADS, 1]), []
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


def _about(folder: Path, info: dict[str, Any]) -> dict[str, object]:
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
