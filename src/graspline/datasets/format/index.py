"""The index, `meta/info.json`: what it says of a dataset, and whether it can be relied on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from graspline.datasets.format.files import json_bytes, json_in
from graspline.datasets.format.frames import features_of
from graspline.datasets.format.rows import CHUNK
from graspline.datasets.format.settings import DatasetSettings
from graspline.datasets.format.video import ENCODER_INFO
from graspline.errors import DatasetProblem
from graspline.scenes.scene import Scene

INFO = "meta/info.json"
# Whole numbers above 0. A dataset of no episodes has no index: the first commit writes it, and none takes out the last.
_COUNTS = ("total_episodes", "total_frames", "fps", "data_files_size_in_mb", "video_files_size_in_mb")


def info_of(settings: DatasetSettings, scene: Scene, episodes: int, frames: int, sentences: int) -> dict[str, Any]:
    """The index of these numbers of episodes, frames and sentences."""
    return {
        "codebase_version": "v3.0",
        "robot_type": settings.robot_type,
        **_counts(episodes, frames, sentences),
        "chunks_size": CHUNK,
        "data_files_size_in_mb": 100,
        "video_files_size_in_mb": 200,
        "fps": settings.fps,
        "data_path": "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet",
        "video_path": "videos/{video_key}/chunk-{chunk_index:03d}/file-{file_index:03d}.mp4"
        if settings.views
        else None,
        "features": features_of(settings, scene, ENCODER_INFO),
    }


def _counts(episodes: int, frames: int, sentences: int) -> dict[str, Any]:
    """What each commit changes."""
    return {
        "total_episodes": episodes,
        "total_frames": frames,
        "splits": {"train": f"0:{episodes}"},
        "total_tasks": sentences,
    }


class IndexFile:
    """The file that holds the index of a growing dataset; its features, most of it, are written out once."""

    def __init__(self, settings: DatasetSettings, scene: Scene) -> None:
        self._plain = info_of(settings, scene, 1, 1, 1)
        features = json_bytes({"features": self._plain.pop("features")})
        self._end = b"," + features[1:]

    def of(self, episodes: int, frames: int, sentences: int) -> bytes:
        """`json_bytes` of the whole."""
        begin = json_bytes({**self._plain, **_counts(episodes, frames, sentences)})
        return begin.removesuffix(b"\n}\n") + self._end


def index_in(root: Path, settings: DatasetSettings, scene: Scene) -> dict[str, Any]:
    """The index of a dataset with these settings; a problem names everything that readers could not rely on."""
    info = json_in(root, INFO)
    problems = list(_problems(info, settings, features_of(settings, scene, ENCODER_INFO)))
    if problems:
        raise DatasetProblem("\n".join(f"{root / INFO}: {each}" for each in problems))
    return info


def _problems(info: Mapping[str, Any], settings: DatasetSettings, expected: Mapping[str, Any]) -> Iterator[str]:
    for name in _COUNTS:
        if name not in info:
            yield f"{name} is missing"
        elif type(info[name]) is not int or info[name] < 1:
            yield f"{name} is {info[name]!r}, expected a whole number above 0"
        elif name == "fps" and info[name] != settings.fps:
            yield f"fps is {info[name]}, and the dataset was made with {settings.fps}"
    if "splits" not in info:
        yield "splits is missing"
    elif not isinstance(info["splits"], dict):
        yield f"splits is {info['splits']!r}, expected ranges of episodes by name"
    features = info.get("features")
    if not isinstance(features, dict):
        yield f"features is {features!r}, expected an object"
        return
    for name, wanted in expected.items():
        found = features.get(name)
        if not isinstance(found, dict):
            yield f"feature {name} is missing"
            continue
        for part in ("dtype", "names"):
            if found.get(part) != wanted[part]:
                yield f"feature {name}: {part} is {found.get(part)!r}, expected {wanted[part]!r}"
    # A user may have added columns, but pictures only a camera takes.
    for name in features.keys() - expected.keys():
        dtype = features[name].get("dtype") if isinstance(features[name], dict) else None
        if not isinstance(dtype, str) or dtype == "video":
            yield f"feature {name}: dtype is {dtype!r}, and the dataset has no such column"
