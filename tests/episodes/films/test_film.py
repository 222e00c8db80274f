from __future__ import annotations

import dataclasses
import threading
from pathlib import Path

import av
import numpy as np
import pytest
from PIL import Image

from graspline.engine.events import Blind
from graspline.episodes.episode import Episode
from graspline.episodes.films.film import FilmStopped, _rendered, film, still_sheet
from graspline.episodes.films.frames import FilmView, film_view
from graspline.episodes.films.layout import FILM_PX, SCENE_PX, SIDE_PX
from graspline.errors import InputError
from graspline.rendering.choose import gl_problem
from graspline.scenes.cube_table import cube_table
from graspline.scenes.scene import Scene

from ..playing import run_seeds

TICKS = 25


@pytest.fixture(scope="module")
def beginning() -> Episode:
    """The first moments of an episode, as recorded."""
    episode = run_seeds([1], record_states=True)[1]
    return dataclasses.replace(episode, log=dataclasses.replace(episode.log, states=episode.log.states[:TICKS]))


def frames_of(path: Path) -> list[np.ndarray]:
    with av.open(str(path)) as video:
        return [frame.to_ndarray(format="rgb24") for frame in video.decode(video=0)]


def test_a_film_lasts_as_long_as_its_episode_and_shows_something(beginning: Episode, tmp_path: Path) -> None:
    path = tmp_path / "film.mp4"
    kind = film(beginning, cube_table(), path)
    fps = {"gl": 30, "rays": 5}[kind]
    with av.open(str(path)) as video:
        assert video.streams.video[0].average_rate == fps
    frames = frames_of(path)
    assert len(frames) == len(range(0, TICKS, 60 // fps))
    assert all(frame.shape == (FILM_PX[1], FILM_PX[0], 3) for frame in frames)
    assert all(frame[:, : SCENE_PX[0]].std() > 5 for frame in frames)


@pytest.mark.parametrize("suffix", ["gif", "webp"])
def test_a_small_film_for_a_page_shows_the_scene_alone_and_repeats(
    beginning: Episode, tmp_path: Path, suffix: str
) -> None:
    path = tmp_path / f"film.{suffix}"
    kind = film(beginning, cube_table(), path)
    with Image.open(path) as image:
        assert image.size == (480, 360)
        assert image.n_frames == {"gl": 7, "rays": 3}[kind]  # type: ignore[attr-defined]
        assert image.info["loop"] == 0
        assert np.asarray(image.convert("RGB")).std() > 5
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


def test_a_small_film_of_a_long_episode_plays_faster(beginning: Episode, tmp_path: Path) -> None:
    states = np.repeat(beginning.log.states[:1], 60 * 33, axis=0)
    long = dataclasses.replace(beginning, log=dataclasses.replace(beginning.log, states=states))
    told: list[int] = []
    film(long, cube_table(), tmp_path / "film.webp", progress=lambda done, total: told.append(total))
    fps = 15 if gl_problem() is None else 5
    assert told[0] == 33 * fps / 3


def test_a_name_that_is_no_film_s_is_refused(beginning: Episode, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"film\.avi: expected a name that ends in \.mp4, \.gif or \.webp"):
        film(beginning, cube_table(), tmp_path / "film.avi")


def test_a_contact_sheet_shows_moments_from_first_to_last(beginning: Episode, tmp_path: Path) -> None:
    path = tmp_path / "sheet.png"
    still_sheet(beginning, cube_table(), path, count=4, columns=2)
    sheet = np.asarray(Image.open(path).convert("RGB"))
    height, width = sheet.shape[0] // 2, sheet.shape[1] // 2
    assert (width, height) == pytest.approx((400, 300), abs=20)
    assert sheet.std() > 5


def test_a_blackout_of_the_robot_s_camera_stays_black_and_the_film_goes_on(beginning: Episode, tmp_path: Path) -> None:
    dark = dataclasses.replace(beginning.log, events=((0, Blind(kind="black")),))
    film(dataclasses.replace(beginning, log=dark), cube_table(), tmp_path / "film.mp4")
    frame = frames_of(tmp_path / "film.mp4")[-1]
    assert frame[8 : SIDE_PX[1] - 8, SCENE_PX[0] + 8 :].max() < 20
    assert frame[:, : SCENE_PX[0]].mean() > 60


def test_an_episode_without_recorded_states_cannot_be_filmed(beginning: Episode, tmp_path: Path) -> None:
    blank = dataclasses.replace(beginning, log=dataclasses.replace(beginning.log, states=beginning.log.states[:0]))
    with pytest.raises(InputError, match="the video would have no frames"):
        film(blank, cube_table(), tmp_path / "film.mp4")
    assert list(tmp_path.iterdir()) == []


def test_threads_render_the_frames_that_one_would(beginning: Episode) -> None:
    scene, ticks = cube_table(), list(range(0, TICKS, 3))
    view = film_view(beginning.scenario.task, beginning.scenario.parameters, scene)
    one, three = (
        list(_rendered(beginning, scene, view, ticks, (64, 48), workers, lambda: False)) for workers in (1, 3)
    )
    for here, there in zip(one, three, strict=True):
        assert np.array_equal(here.rgb, there.rgb)
        assert here.side is not None
        assert there.side is not None
        assert np.array_equal(here.side.rgb, there.side.rgb)


def test_a_film_that_is_stopped_ends_its_threads_and_leaves_no_file(beginning: Episode, tmp_path: Path) -> None:
    with pytest.raises(FilmStopped):
        film(beginning, cube_table(), tmp_path / "film.mp4", workers=2, stop=lambda: True)
    assert list(tmp_path.iterdir()) == []
    assert not [each for each in threading.enumerate() if each.name.startswith("film")]


def test_a_film_says_how_far_it_is(beginning: Episode, tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    film(beginning, cube_table(), tmp_path / "film.mp4", progress=lambda done, total: told.append((done, total)))
    assert told == [(done, len(told) - 1) for done in range(len(told))]


def test_a_scene_without_any_camera_is_filmed_without_one_beside(
    beginning: Episode, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(Scene, "cameras", ())
    view = film_view(beginning.scenario.task, beginning.scenario.parameters, cube_table())
    assert view == FilmView(side_camera="")
    film(beginning, cube_table(), tmp_path / "film.mp4")
    assert all(frame[:, : SCENE_PX[0]].std() > 5 for frame in frames_of(tmp_path / "film.mp4"))
