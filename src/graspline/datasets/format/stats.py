"""Statistics a trainer normalises with: of one episode, and of all of them without reading their frames again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graspline.datasets.format.files import json_bytes

Array = NDArray[np.float64]

QUANTILES = {"q01": 0.01, "q10": 0.10, "q50": 0.50, "q90": 0.90, "q99": 0.99}
NAMES = ("min", "max", "mean", "std", "count", *QUANTILES)
_LEVELS = np.arange(256) / 255
# One pixel in this number is counted of a picture, across and down.
_PIXEL_STRIDE = 8


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Stats:
    """Of one feature, entry by entry: plain columns (D,), pictures (3,) by channel in 0 to 1."""

    min: Array
    max: Array
    mean: Array
    std: Array
    count: int
    quantiles: Mapping[str, Array]
    picture: bool = False

    def as_lists(self) -> dict[str, Any]:
        """As files hold it: a picture's numbers with the shape (3, 1, 1)."""
        shape = (-1, 1, 1) if self.picture else (-1,)
        numbers = {"min": self.min, "max": self.max, "mean": self.mean, "std": self.std, **self.quantiles}
        lists = {name: np.reshape(value, shape).tolist() for name, value in numbers.items()}
        return {**lists, "count": [self.count]}

    @classmethod
    def from_lists(cls, lists: Mapping[str, Any]) -> Stats:
        """Statistics from the lists that the file holds."""
        arrays = {name: np.asarray(value, np.float64) for name, value in lists.items() if name != "count"}
        picture = arrays["min"].ndim == 3
        flat = {name: value.reshape(-1) for name, value in arrays.items()}
        return cls(
            min=flat["min"],
            max=flat["max"],
            mean=flat["mean"],
            std=flat["std"],
            count=int(lists["count"][0]),
            quantiles={name: flat[name] for name in QUANTILES},
            picture=picture,
        )


def stats_of(rows: NDArray[Any]) -> Stats:
    """Of a column (n,) or (n, D) of numbers or flags."""
    values = rows.reshape(len(rows), -1).astype(np.float64)
    return Stats(
        min=values.min(axis=0),
        max=values.max(axis=0),
        mean=values.mean(axis=0),
        std=values.std(axis=0),
        count=len(values),
        quantiles=dict(zip(QUANTILES, np.quantile(values, list(QUANTILES.values()), axis=0), strict=True)),
    )


def counted_pixels(width: int, height: int) -> int:
    """How many pixels of a picture `PictureStats` counts."""
    return -(-width // _PIXEL_STRIDE) * -(-height // _PIXEL_STRIDE)


class PictureStats:
    """Counts the levels of each channel, frame by frame; the quantiles are exact for the pixels that are counted."""

    def __init__(self) -> None:
        self._levels = np.zeros((3, 256), np.int64)
        self._frames = 0

    def add(self, rgb: NDArray[np.uint8]) -> None:
        """Count one image."""
        pixels = rgb[::_PIXEL_STRIDE, ::_PIXEL_STRIDE]
        for channel in range(3):
            self._levels[channel] += np.bincount(pixels[..., channel].ravel(), minlength=256)
        self._frames += 1

    def stats(self) -> Stats:
        """The statistics of everything that was added."""
        total = self._levels.sum(axis=1)
        mean = self._levels @ _LEVELS / total
        square = self._levels @ (_LEVELS * _LEVELS) / total
        below = np.cumsum(self._levels, axis=1)
        seen = self._levels > 0
        return Stats(
            min=_LEVELS[np.argmax(seen, axis=1)],
            max=_LEVELS[255 - np.argmax(seen[:, ::-1], axis=1)],
            mean=mean,
            std=np.sqrt(np.maximum(square - mean * mean, 0.0)),
            count=self._frames,
            quantiles={
                name: _LEVELS[[int(np.searchsorted(below[c], share * total[c])) for c in range(3)]]
                for name, share in QUANTILES.items()
            },
            picture=True,
        )


def merged(one: Stats, other: Stats) -> Stats:
    """Of two parts together: mean and deviation exactly, quantiles as the widest that could be."""
    total = one.count + other.count
    shares = one.count / total, other.count / total
    mean = shares[0] * one.mean + shares[1] * other.mean
    variance = sum(
        share * (part.std * part.std + (part.mean - mean) ** 2)
        for share, part in zip(shares, (one, other), strict=True)
    )
    return Stats(
        min=np.minimum(one.min, other.min),
        max=np.maximum(one.max, other.max),
        mean=mean,
        std=np.sqrt(variance),
        count=total,
        quantiles={
            name: (np.minimum if share <= 0.5 else np.maximum)(one.quantiles[name], other.quantiles[name])
            for name, share in QUANTILES.items()
        },
        picture=one.picture,
    )


def all_merged(parts: Iterable[Mapping[str, Stats]]) -> dict[str, Stats]:
    """Of several episodes, by feature, one after the other: the same bits as if each had been added in its turn."""
    total: dict[str, Stats] = {}
    for part in parts:
        total = {name: merged(total[name], found) if total else found for name, found in part.items()}
    return total


def stats_bytes(stats: Mapping[str, Stats]) -> bytes:
    """The file that holds them, `meta/stats.json`."""
    return json_bytes({name: each.as_lists() for name, each in stats.items()})
