from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from graspline.episodes.episode import Episode
from graspline.episodes.films.framing import frame_episode
from graspline.rendering.framing import Viewpoint
from graspline.scenes.cube_table import cube_table
from graspline.scenes.scene import Scene

from ..playing import run_seeds

ASPECT = 4 / 3


@pytest.fixture(scope="module")
def episode() -> Episode:
    return run_seeds([1], record_states=True)[1]


def in_picture(view: Viewpoint, point_m: np.ndarray) -> np.ndarray:
    """(2,): from -1 to 1 across and up."""
    x, y, z = view.rotation.T @ (point_m - view.position_m)
    high = np.tan(view.fovy_rad / 2)
    return np.array([x / (-z * high * ASPECT), y / (-z * high)])


def width_px(view: Viewpoint, size_m: float) -> float:
    return size_m / view.distance_m / (2 * np.tan(view.fovy_rad / 2)) * 480


def test_the_cube_is_in_the_picture_at_every_instant_and_large_enough_to_see(episode: Episode) -> None:
    scene = cube_table()
    view = frame_episode(episode.log, scene, ASPECT)
    at = scene.joint_address("cube")
    for state in episode.log.states[::10]:
        assert (np.abs(in_picture(view, state[at : at + 3])) < 0.95).all()
    front = scene.model.camera("front")
    before_px = 0.03 / np.linalg.norm(front.pos) / (2 * np.tan(np.radians(front.fovy[0]) / 2)) * 480
    assert width_px(view, 0.03) > 1.3 * before_px


def test_an_object_that_is_far_from_the_hand_does_not_make_the_picture_wider(episode: Episode) -> None:
    scene = cube_table()
    at = scene.joint_address("cube")
    states = episode.log.states.copy()
    states[:, at : at + 3] = (30.0, 0.0, -20.0)
    gone = dataclasses.replace(episode.log, states=states)
    assert frame_episode(gone, scene, ASPECT).distance_m <= frame_episode(episode.log, scene, ASPECT).distance_m


def test_a_scene_without_a_front_camera_is_framed_too(episode: Episode, monkeypatch: pytest.MonkeyPatch) -> None:
    with_front = frame_episode(episode.log, cube_table(), ASPECT)
    monkeypatch.setattr(Scene, "cameras", ("wrist",))
    without = frame_episode(episode.log, cube_table(), ASPECT)
    assert without.distance_m == pytest.approx(with_front.distance_m, rel=0.5)
