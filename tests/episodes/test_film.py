from __future__ import annotations

import dataclasses
from pathlib import Path

import av
import numpy as np
import pytest
from PIL import Image

from graspline.engine.events import Blind
from graspline.episodes.film import film, still_sheet
from graspline.episodes.run import Episode
from graspline.errors import InputError
from graspline.scenes.cube_table import cube_table

from .playing import run_seeds

TICKS = 25


@pytest.fixture(scope="module")
def beginning() -> Episode:
    """The first moments of an episode, as recorded."""
    episode = run_seeds([1], record_states=True)[1]
    return dataclasses.replace(episode, log=dataclasses.replace(episode.log, states=episode.log.states[:TICKS]))


def test_a_film_lasts_as_long_as_its_episode_and_shows_something(beginning: Episode, tmp_path: Path) -> None:
    path = tmp_path / "film.mp4"
    kind = film(beginning, cube_table(), path)
    fps = {"gl": 30, "rays": 5}[kind]
    with av.open(str(path)) as video:
        assert video.streams.video[0].average_rate == fps
        frames = [frame.to_ndarray(format="rgb24") for frame in video.decode(video=0)]
    assert len(frames) == len(range(0, TICKS, 60 // fps))
    assert all(frame.std() > 5 for frame in frames)


def test_a_contact_sheet_shows_moments_from_first_to_last(beginning: Episode, tmp_path: Path) -> None:
    path = tmp_path / "sheet.png"
    still_sheet(beginning, cube_table(), path, count=4, columns=2)
    sheet = np.asarray(Image.open(path).convert("RGB"))
    height, width = sheet.shape[0] // 2, sheet.shape[1] // 2
    assert (width, height) == pytest.approx((320, 240), abs=20)
    assert sheet.std() > 5


def test_a_blackout_stays_black_in_a_film(beginning: Episode, tmp_path: Path) -> None:
    dark = dataclasses.replace(beginning.log, events=((0, Blind(kind="black")),))
    path = tmp_path / "sheet.png"
    still_sheet(dataclasses.replace(beginning, log=dark), cube_table(), path, count=1, columns=1)
    middle = np.asarray(Image.open(path).convert("RGB"))[60:150, 20:200]
    assert middle.max() < 10


def test_an_episode_without_recorded_states_cannot_be_filmed(beginning: Episode, tmp_path: Path) -> None:
    blank = dataclasses.replace(beginning, log=dataclasses.replace(beginning.log, states=beginning.log.states[:0]))
    with pytest.raises(InputError, match="a video without frames"):
        film(blank, cube_table(), tmp_path / "film.mp4")
    assert list(tmp_path.iterdir()) == []
