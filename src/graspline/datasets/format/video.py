"""Pictures of a recording: rendered from its log by the renderer that answers looks, and encoded for exact access."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol, Self

import av
import cv2
import numpy as np
from numpy.typing import NDArray

from graspline.datasets.format.frames import shown_states, states_of, timeline_of
from graspline.datasets.format.recording import Recording
from graspline.datasets.format.settings import DatasetSettings
from graspline.datasets.format.stats import PictureStats, Stats
from graspline.episodes.camera_views import View
from graspline.errors import WiringError
from graspline.rendering.choose import Renderer, open_renderer
from graspline.scenes.scene import Scene
from graspline.scenes.variation import Variation
from graspline.stopwatch import seconds

Array = NDArray[np.float64]
Pixels = NDArray[np.uint8]

# A key frame every other frame, so that a loader that jumps decodes two at the most.
# No macroblock trees: with them x264 gives other bits now and then (3 of 190 times at 64x48), in files a sixth smaller.
# Motion to whole pixels only: next to a key frame finer steps save little, and take 40 % of x264's time. By crf 24
# instead of 23 with them, pictures are as close (0.0 to 0.3 dB closer), in files 4 to 8 % larger.
ENCODER = {"preset": "veryfast", "crf": "24", "g": "2", "bf": "0", "x264-params": "mbtree=0:subme=0"}
# What `info.json` says of it.
ENCODER_INFO: dict[str, Any] = {
    "video.codec": "h264",
    "video.pix_fmt": "yuv420p",
    "video.g": 2,
    "video.crf": 24,
    "video.preset": "veryfast",
    "video.video_backend": "pyav",
}
_BITS, _BIT_PX = 16, 8
# Colours of 0 to 255 as a video has them, from 16 to 240.
_FULL_TO_VIDEO = np.rint(128 + (np.arange(256) - 128) * 224 / 255).astype(np.uint8)


@dataclass(frozen=True, slots=True, kw_only=True)
class Film:
    """One camera's video of one episode, and the statistics of its pictures."""

    mp4: bytes
    frames: int
    stats: Stats
    # How long its pictures were waited for.
    rendering_s: float = 0.0


class Artist(Protocol):
    """Renders states of a scene."""

    def pictures(
        self, qpos: Array, variations: Sequence[Variation], camera: str, width: int, height: int
    ) -> Iterator[Pixels]:
        """(H, W, 3) of each state, in order; gone when the next one is asked for."""
        ...


class OneByOne:
    """An artist that renders with a renderer of one size, which it closes."""

    def __init__(self, renderer: Renderer) -> None:
        self.renderer = renderer

    def pictures(
        self, qpos: Array, variations: Sequence[Variation], camera: str, width: int, height: int
    ) -> Iterator[Pixels]:
        """The images of these states, rendered one after the other."""
        assert (width, height) == (self.renderer.width, self.renderer.height)
        for state, variation in zip(qpos, variations, strict=True):
            yield self.renderer.render(state, variation, camera).rgb

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.renderer.close()


class Encoder(Protocol):
    """Makes a file of pictures."""

    def add(self, rgb: Pixels) -> None:
        """Encode one frame."""
        ...

    def finish(self) -> bytes:
        """The file; nothing can be added any more."""
        ...


class Mp4:
    """The encoder of every dataset: H.264, one picture after the other."""

    def __init__(self, view: View, fps: int) -> None:
        self._buffer, self._fps, self._frames = io.BytesIO(), fps, 0
        self._file = av.open(self._buffer, "w", format="mp4")
        self._stream = self._file.add_stream("libx264", rate=fps, options=ENCODER)
        self._stream.width, self._stream.height, self._stream.pix_fmt = view.width, view.height, "yuv420p"
        # Workers run side by side; more threads than cores only get in each other's way.
        self._stream.codec_context.thread_count = 1

    def add(self, rgb: Pixels) -> None:
        """Encode one frame."""
        # A copy: PyAV takes planes that are not copied to be of heights that four divides.
        frame = av.VideoFrame.from_ndarray(in_video_colours(rgb), format="yuv420p")
        frame.pts, frame.time_base = self._frames, Fraction(1, self._fps)
        self._file.mux(self._stream.encode(frame))
        self._frames += 1

    def finish(self) -> bytes:
        """The whole file as bytes."""
        self._file.mux(self._stream.encode())
        self._file.close()
        return self._buffer.getvalue()


def in_video_colours(rgb: Pixels) -> Pixels:
    """(3 H / 2, W): brightness, and below it the two colours of each two by two pixels, as BT.601 has them.

    libav's own conversion takes two and a half times as long, and comes out a quarter dB further from the picture,
    because it looks for colours beside those four pixels too.
    """
    height, width, _ = rgb.shape
    planes: Pixels = np.asarray(cv2.cvtColor(rgb, cv2.COLOR_RGB2YUV_I420), np.uint8)
    quarter = cv2.resize(rgb, (width // 2, height // 2), interpolation=cv2.INTER_AREA)
    colours = cv2.LUT(cv2.cvtColor(quarter, cv2.COLOR_RGB2YCrCb), _FULL_TO_VIDEO)
    blue, red = planes[height:].reshape(2, height // 2, width // 2)
    blue[:], red[:] = colours[..., 2], colours[..., 1]
    return planes


# An encoder for pictures of this view, at a frame rate.
OpenEncoder = Callable[[View, int], Encoder]


def film(
    recording: Recording,
    settings: DatasetSettings,
    scene: Scene,
    view: View,
    artist: Artist,
    open_encoder: OpenEncoder = Mp4,
) -> Film:
    """Render and encode every frame. Frames never wait: each is encoded before the next is rendered."""
    counted, encoder = PictureStats(), open_encoder(view, settings.fps)
    frames, rendering_s, asked = 0, 0.0, seconds()
    for rgb in _pictures(recording, settings, scene, view, artist):
        rendering_s += seconds() - asked
        counted.add(rgb)
        encoder.add(rgb)
        frames += 1
        asked = seconds()
    return Film(mp4=encoder.finish(), frames=frames, stats=counted.stats(), rendering_s=rendering_s)


def open_view(scene: Scene, settings: DatasetSettings, view: View) -> OneByOne:
    """An artist of this process, for settings that do not ask for one on a GPU."""
    if settings.renderer == "warp":
        raise WiringError("pictures of a GPU come from another process")
    return OneByOne(open_renderer(scene, view.width, view.height, settings.renderer, smooth=settings.smooth))


def _pictures(
    recording: Recording, settings: DatasetSettings, scene: Scene, view: View, artist: Artist
) -> Iterator[Pixels]:
    log, states = recording.log, states_of(recording)
    timeline = timeline_of(log.ticks, scene.robot.control_hz, settings.fps, recording.first_tick)
    shown = list(shown_states(log.events, timeline, view.camera))
    seen = [state for state in shown if state is not None]
    looks = [log.seen_at(state - 1) for state in seen]
    rendered = artist.pictures(states[seen], looks, view.camera, view.width, view.height)
    for number, state in enumerate(shown):
        rgb = np.zeros((view.height, view.width, 3), np.uint8) if state is None else next(rendered)
        yield numbered(rgb, number) if settings.numbered else rgb


def numbered(rgb: Pixels, number: int) -> Pixels:
    """A copy with a frame's number in its top left corner, as black and white squares, the lowest bit first."""
    marked = rgb.copy()
    for bit in range(_BITS):
        row, column = divmod(bit, 4)
        square = (slice(row * _BIT_PX, (row + 1) * _BIT_PX), slice(column * _BIT_PX, (column + 1) * _BIT_PX))
        marked[square] = 255 if number >> bit & 1 else 0
    return marked


def number_on(rgb: Pixels) -> int:
    """The number that `numbered` wrote, also after a lossy encoding."""
    number = 0
    for bit in range(_BITS):
        row, column = divmod(bit, 4)
        square = rgb[row * _BIT_PX + 2 : (row + 1) * _BIT_PX - 2, column * _BIT_PX + 2 : (column + 1) * _BIT_PX - 2]
        number |= int(square.mean() > 127) << bit
    return number
