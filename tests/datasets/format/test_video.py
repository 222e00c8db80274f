"""Pictures: as many as frames, each at its exact time, each the one it should be, after encoding too."""

from __future__ import annotations

import dataclasses
import io
from fractions import Fraction

import av
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graspline.datasets.format.frames import timeline_of
from graspline.datasets.format.recording import Recording
from graspline.datasets.format.settings import DatasetSettings
from graspline.datasets.format.video import Film, Mp4, film, in_video_colours, number_on, numbered, open_view
from graspline.engine.events import Blind, See
from graspline.episodes.camera_views import View
from graspline.scenes.cube_table import cube_table

from ..conftest import cube_settings

SCENE = cube_table()


def filmed(recording: Recording, settings: DatasetSettings) -> Film:
    (view,) = settings.views
    with open_view(SCENE, settings, view) as artist:
        return film(recording, settings, SCENE, view, artist)


def decoded(made: Film) -> list[tuple[Fraction, np.ndarray]]:
    with av.open(io.BytesIO(made.mp4), "r") as file:
        stream = file.streams.video[0]
        assert stream.time_base is not None
        return [
            (frame.pts * stream.time_base, frame.to_ndarray(format="rgb24"))
            for frame in file.decode(stream)
            if frame.pts is not None
        ]


@given(st.integers(0, 2**16 - 1), st.integers(0, 255))
def test_a_number_is_read_back(number: int, grey: int) -> None:
    assert number_on(numbered(np.full((32, 32, 3), grey, np.uint8), number)) == number


@pytest.mark.parametrize("fps", [30, 10])
def test_every_frame_is_there_at_its_exact_time(played: Recording, fps: int) -> None:
    made = filmed(played, cube_settings(fps=fps, numbered=True))
    frames = len(timeline_of(played.log.ticks, 60, fps))
    assert made.frames == frames
    found = decoded(made)
    assert [time_s for time_s, _ in found] == [Fraction(k, fps) for k in range(frames)]
    assert [number_on(rgb) for _, rgb in found] == list(range(frames))


def test_a_loader_that_jumps_finds_a_key_frame_at_every_other_frame(played: Recording) -> None:
    made = filmed(played, cube_settings())
    with av.open(io.BytesIO(made.mp4), "r") as file:
        keys = [packet.is_keyframe for packet in file.demux(video=0) if packet.pts is not None]
    assert keys == [k % 2 == 0 for k in range(made.frames)]


def test_the_same_recording_gives_the_same_bytes(played: Recording) -> None:
    assert filmed(played, cube_settings()).mp4 == filmed(played, cube_settings()).mp4


def test_frames_show_the_states_of_the_log(played: Recording) -> None:
    settings = cube_settings()
    (view,) = settings.views
    states = np.concatenate([played.log.start[None], played.log.states])
    with open_view(SCENE, settings, view) as artist:
        for k, (_, rgb) in enumerate(decoded(filmed(played, settings))):
            wanted = artist.renderer.render(states[6 * k], played.log.variation, "front").rgb
            assert np.abs(rgb.astype(int) - wanted).mean() < 6, "but for the encoder's losses"


def test_a_blackout_is_filmed(played: Recording) -> None:
    events = ((60, Blind(kind="black")), (120, See()))
    dark = dataclasses.replace(played, log=dataclasses.replace(played.log, events=events))
    bright = [rgb.mean() > 20 for _, rgb in decoded(filmed(dark, cube_settings()))]
    assert bright == [not 60 < 6 * k <= 120 for k in range(len(bright))]


def test_statistics_are_of_the_pictures_that_were_filmed(played: Recording) -> None:
    made = filmed(played, cube_settings())
    pixels = np.stack([rgb for _, rgb in decoded(made)]).reshape(-1, 3) / 255
    assert made.stats.count == made.frames
    np.testing.assert_allclose(made.stats.mean, pixels.mean(axis=0), atol=0.03)
    np.testing.assert_allclose(made.stats.std, pixels.std(axis=0), atol=0.03)


def test_colours_of_a_video_are_those_that_libav_takes_them_for() -> None:
    random = np.random.default_rng(4)
    # In squares of two by two pixels nothing is lost but by rounding.
    rgb = np.repeat(np.repeat(random.integers(0, 256, (24, 32, 3), dtype=np.uint8), 2, axis=0), 2, axis=1)
    frame = av.VideoFrame.from_ndarray(in_video_colours(rgb), format="yuv420p")
    theirs = av.VideoFrame.from_ndarray(rgb, format="rgb24").reformat(format="yuv420p").to_ndarray()
    # Brightness is the same to one step; where neighbours differ so much libav mixes their colours.
    assert np.abs(frame.to_ndarray()[:48].astype(int) - theirs[:48]).max() <= 1
    plain = np.full((48, 64, 3), (200, 30, 90), np.uint8)
    ours, whole = in_video_colours(plain), av.VideoFrame.from_ndarray(plain, format="rgb24")
    assert np.abs(ours.astype(int) - whole.reformat(format="yuv420p").to_ndarray()).max() <= 1


@pytest.mark.parametrize(("width", "height"), [(64, 48), (64, 46), (62, 34), (34, 62)])
def test_what_is_encoded_comes_back_close_to_what_was_drawn(width: int, height: int) -> None:
    ramp = np.linspace(0, 255, 64).astype(np.uint8)
    rgb = np.stack(np.broadcast_arrays(ramp[None, :width], ramp[:height, None], np.uint8(90)), axis=-1)
    encoder = Mp4(View("front", width, height), 30)
    for _ in range(4):
        encoder.add(rgb)
    with av.open(io.BytesIO(encoder.finish()), "r") as file:
        found = [frame.to_ndarray(format="rgb24").astype(int) for frame in file.decode(video=0)]
    assert len(found) == 4
    assert all(np.abs(each - rgb).mean() < 3 for each in found)
