"""What the host writes into lanes on a device: gathered, the last of each number, and sent all at once.

Many small transfers and kernels would take longer than a tick.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import warp
from numpy.typing import NDArray

from graspline.gpu.kernels import put_words, take_words

Array = NDArray[np.float64]
Singles = NDArray[np.float32]
Words = NDArray[np.int32]

# The bit pattern of a number that is left as it is: a NaN that no arithmetic makes.
NOTHING = -1


class Parcel:
    """Words on their way to a device. They may be packed again when the device has done what it was asked."""

    def __init__(self, device: str) -> None:
        self._device = device
        self._make_room(1)

    def _make_room(self, size: int) -> None:
        pinned = warp.get_device(self._device).is_cuda
        self._here = warp.zeros(size, dtype=int, device="cpu", pinned=pinned)
        self._there = warp.zeros(size, dtype=int, device=self._device)
        self._view: Words = np.asarray(self._here.numpy(), np.int32)

    def pack(self, *parts: Words, room: int = 0) -> Any:
        """These words on the device, one part behind the other, and room for some more behind them."""
        size = sum(part.size for part in parts)
        if size + room > self._view.size:
            self._make_room(2 * (size + room))
        np.concatenate([part.ravel() for part in parts], out=self._view[:size])
        warp.copy(self._there, self._here, count=size)
        return self._there


class LaneRows:
    """Arrays of a device, each with a row of plain numbers for every lane, as if they were one, (N, width)."""

    def __init__(self, arrays: Mapping[str, Any], device: str) -> None:
        self._arrays, self._device = dict(arrays), device
        widths = [array.shape[1] for array in arrays.values()]
        ends = np.cumsum(widths)
        # The columns of each array.
        self.spans = {
            name: slice(int(end) - width, int(end)) for name, width, end in zip(arrays, widths, ends, strict=True)
        }
        self.count, self.width = next(iter(arrays.values())).shape[0], int(ends[-1])
        # Where each column begins in memory, and how far it is from one lane to the next, in bytes.
        starts = [array.ptr + 4 * np.arange(width) for array, width in zip(arrays.values(), widths, strict=True)]
        self._starts = warp.array(np.concatenate(starts).astype(np.uint64), dtype=warp.uint64, device=device)
        pitches = np.repeat(4 * np.array(widths), widths).astype(np.uint64)
        self._pitches = warp.array(pitches, dtype=warp.uint64, device=device)
        self._waiting = np.full((self.count, self.width), NOTHING, np.int32)
        self._touched = np.zeros(self.count, bool)
        self._sent, self._kept = Parcel(device), Parcel(device)
        # How many lanes are to be put back, and their words.
        self._to_put_back: tuple[int, Any] = 0, None

    def put(self, lanes: NDArray[np.intp], rows: NDArray[np.floating]) -> None:
        """Have whole rows, (n, width), written into lanes."""
        self._waiting[lanes] = rows.astype(np.float32).view(np.int32)
        self._touched[lanes] = True

    def put_numbers(self, lane: int, name: str, first: int, numbers: tuple[float, ...]) -> None:
        """Have some numbers of one array written into a lane, the first of them in this column."""
        at = self.spans[name].start + first
        self._waiting[lane, at : at + len(numbers)] = np.array(numbers, np.float32).view(np.int32)
        self._touched[lane] = True

    def row(self, lane: int) -> Array:
        """A lane's row as it will be when everything has been sent, a copy."""
        there = np.concatenate([array[lane : lane + 1].numpy()[0] for array in self._arrays.values()])
        waiting = self._waiting[lane]
        return np.where(waiting == NOTHING, there, waiting.view(np.float32)).astype(float)

    def send(self) -> bool:
        """Write what has been gathered; whether there was anything."""
        lanes = np.flatnonzero(self._touched)
        if not len(lanes):
            return False
        words = self._sent.pack(lanes.astype(np.int32), self._waiting[lanes])
        self._launch(put_words, len(lanes), words)
        self._waiting[lanes] = NOTHING
        self._touched[lanes] = False
        return True

    def keep(self, lanes: NDArray[np.intp]) -> None:
        """Remember lanes as they are."""
        words = self._kept.pack(lanes.astype(np.int32), room=len(lanes) * self.width)
        self._launch(take_words, len(lanes), words)
        self._to_put_back = len(lanes), words

    def put_back(self) -> None:
        """Make lanes what they were when they were to be kept."""
        self._launch(put_words, *self._to_put_back)

    def _launch(self, kernel: Any, lanes: int, words: Any) -> None:
        inputs = [words, lanes, self._starts, self._pitches]
        warp.launch(kernel, dim=(lanes, self.width), inputs=inputs, device=self._device)
