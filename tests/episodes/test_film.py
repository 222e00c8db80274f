from __future__ import annotations

import dataclasses
import multiprocessing
from pathlib import Path

import av
import numpy as np
import pytest
from PIL import Image

import graspline.episodes.film
from graspline.engine.events import Blind
from graspline.episodes.film import FilmStopped, film, still_sheet
from graspline.episodes.film_frames import film_view, shot_of
from graspline.episodes.run import Episode
from graspline.errors import InputError
from graspline.scenes.cube_table import cube_table
from graspline.scenes.scene import Scene

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
    fps = {"gl": 20, "rays": 5}[kind]
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


def test_workers_render_the_frames_that_this_process_would(beginning: Episode, monkeypatch: pytest.MonkeyPatch) -> None:
    scene, told = cube_table(), []
    view = film_view(beginning.scenario.task, beginning.scenario.parameters, scene, 64, 48)
    shots = [shot_of(beginning.log, tick, f"{tick}", view, scene) for tick in range(0, TICKS, 3)]
    monkeypatch.setattr(graspline.episodes.film, "_LEAST_FOR_WORKERS", 2)
    here = graspline.episodes.film._rendered(scene, view, shots, 1, lambda: False)
    there = graspline.episodes.film._rendered(scene, view, shots, 2, lambda: False)
    for one, other in zip(here, there, strict=True):
        told.append(np.array_equal(one.rgb, other.rgb))
    assert told == [True] * len(shots)


def test_a_film_that_is_stopped_ends_its_workers_and_leaves_no_file(
    beginning: Episode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(graspline.episodes.film, "_LEAST_FOR_WORKERS", 2)
    with pytest.raises(FilmStopped):
        film(beginning, cube_table(), tmp_path / "film.mp4", workers=2, stop=lambda: True)
    assert list(tmp_path.iterdir()) == []
    assert not [each for each in multiprocessing.active_children() if each.daemon]


def test_a_film_says_how_far_it_is(beginning: Episode, tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    film(beginning, cube_table(), tmp_path / "film.mp4", progress=lambda done, total: told.append((done, total)))
    assert told == [(done, len(told) - 1) for done in range(len(told))]


def test_a_scene_without_a_wrist_camera_has_no_picture_in_the_corner(
    beginning: Episode, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Scene, "cameras", ("front",))
    view = film_view(beginning.scenario.task, beginning.scenario.parameters, cube_table())
    assert (view.scene_camera, view.inset_camera, view.seen_camera) == ("front", "", "")
