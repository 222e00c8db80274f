from __future__ import annotations

import dataclasses
import threading
from collections.abc import Iterator

import cv2
import numpy as np
import pytest

from graspline.episodes.camera_views import View
from graspline.errors import EnvironmentProblem, InputError
from graspline.rendering.choose import Renderer, RendererKind, open_renderer
from graspline.scenes.cube_table import cube_start, cube_table, cube_variation
from graspline.scenes.scene import Scene
from graspline.scenes.variation import Variation
from graspline.serve.live import pictures as pictures_module
from graspline.serve.live.pictures import Pictures, encoded
from graspline.serve.live.snapshot import SessionSnapshot

from .test_snapshot import SNAPSHOT

START = cube_start(x_m=0.22, y_m=0.0, yaw_rad=0.3, edge_m=0.03)
FRONT = View("front", 64, 48)
# For what would never happen, on a machine with eight times as much to do as it can.
PATIENCE_S = 300.0


class Newest:
    """A snapshot that changes when told."""

    def __init__(self) -> None:
        variation: Variation = cube_variation(edge_m=0.03, mass_kg=0.03, pad_friction=1.0)
        self.snapshot = dataclasses.replace(SNAPSHOT, number=1, qpos=START, variation=variation, blind={})

    def __call__(self) -> SessionSnapshot:
        return self.snapshot

    def change(self, **fields: object) -> None:
        self.snapshot = dataclasses.replace(self.snapshot, number=self.snapshot.number + 1, **fields)


@pytest.fixture
def newest() -> Newest:
    return Newest()


@pytest.fixture
def pictures(newest: Newest) -> Iterator[Pictures]:
    pictures = Pictures(cube_table(), newest, "rays")
    pictures.start()
    yield pictures
    pictures.close()


def decoded(jpeg: bytes) -> np.ndarray:
    picture = cv2.imdecode(np.frombuffer(jpeg, np.uint8), cv2.IMREAD_COLOR)
    assert picture is not None
    return picture[..., ::-1]


def test_a_picture_shows_the_scene_at_the_size_asked_for(pictures: Pictures) -> None:
    number, jpeg = pictures.get(FRONT, -1, PATIENCE_S)
    assert number == 1
    seen = decoded(jpeg)
    assert seen.shape == (48, 64, 3)
    assert seen.std() > 10


def test_everybody_who_asks_for_one_snapshot_gets_the_same_bytes(
    pictures: Pictures, monkeypatch: pytest.MonkeyPatch
) -> None:
    count = 0

    def counted(rgb: np.ndarray) -> bytes:
        nonlocal count
        count += 1
        return encoded(rgb)

    monkeypatch.setattr(pictures_module, "encoded", counted)
    found: list[tuple[int, bytes]] = []
    threads = [threading.Thread(target=lambda: found.append(pictures.get(FRONT, -1, PATIENCE_S))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert len(set(found)) == 1
    assert count == 1


def test_a_newer_picture_is_waited_for(pictures: Pictures, newest: Newest) -> None:
    number, first = pictures.get(FRONT, -1, PATIENCE_S)
    with pytest.raises(TimeoutError, match="camera 'front'"):
        pictures.get(FRONT, number, 0.05)
    newest.change(qpos=cube_start(x_m=0.15, y_m=0.15, yaw_rad=0.3, edge_m=0.03))
    later, second = pictures.get(FRONT, number, PATIENCE_S)
    assert later == 2
    assert second != first


def test_a_blind_camera_is_black_and_a_frozen_one_stays_as_it_was(pictures: Pictures, newest: Newest) -> None:
    _, first = pictures.get(FRONT, -1, PATIENCE_S)
    newest.change(qpos=cube_start(x_m=0.15, y_m=0.15, yaw_rad=0.3, edge_m=0.03), blind={"": START})
    _, frozen = pictures.get(FRONT, 1, PATIENCE_S)
    assert frozen == first
    newest.change(blind={"": START, "front": None})
    _, black = pictures.get(FRONT, 2, PATIENCE_S)
    assert decoded(black).max() < 5


def test_a_client_that_waited_for_a_minute_gets_its_picture(newest: Newest, monkeypatch: pytest.MonkeyPatch) -> None:
    now_s = [100.0]

    def slowly(*given: object, **named: object) -> Renderer:
        now_s[0] += 60.0
        return open_renderer(*given, **named)  # type: ignore[arg-type]

    def drawn(rgb: np.ndarray) -> bytes:
        now_s[0] += 60.0
        newest.change()
        return encoded(rgb)

    monkeypatch.setattr(pictures_module, "open_renderer", slowly)
    monkeypatch.setattr(pictures_module, "encoded", drawn)
    pictures = Pictures(cube_table(), newest, "rays", clock=lambda: now_s[0])
    pictures.start()
    number, jpeg = pictures.get(FRONT, -1, PATIENCE_S)
    assert number >= 1
    assert decoded(jpeg).shape == (48, 64, 3)
    pictures.close()


def test_a_view_that_cannot_be_is_refused_with_all_reasons(pictures: Pictures) -> None:
    with pytest.raises(InputError) as raised:
        pictures.get(View("frnt", 5000, 2), -1, 1)
    assert len(raised.value.problems) == 3
    assert "did you mean 'front'" in raised.value.problems[0]


def test_renderers_of_many_sizes_do_not_pile_up(pictures: Pictures) -> None:
    for width in range(32, 48, 2):
        _, jpeg = pictures.get(View("front", width, 32), -1, PATIENCE_S)
        assert decoded(jpeg).shape == (32, width, 3)


def test_who_asks_after_drawing_has_failed_is_told_why(newest: Newest, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise OSError("no graphics here")

    monkeypatch.setattr(pictures_module, "open_renderer", broken)
    pictures = Pictures(cube_table(), newest, "rays")
    pictures.start()
    with pytest.raises(EnvironmentProblem, match="OSError: no graphics here"):
        pictures.get(FRONT, -1, PATIENCE_S)
    pictures.close()


def test_sizes_that_are_known_beforehand_are_ready_when_it_starts(
    newest: Newest, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[tuple[int, int]] = []

    def counted(scene: Scene, width: int, height: int, kind: RendererKind, **options: bool) -> Renderer:
        opened.append((width, height))
        return open_renderer(scene, width, height, kind, **options)

    monkeypatch.setattr(pictures_module, "open_renderer", counted)
    pictures = Pictures(cube_table(), newest, "rays", sizes=((64, 48),))
    pictures.start()
    assert opened == [(64, 48)]
    pictures.get(FRONT, -1, PATIENCE_S)
    assert opened == [(64, 48)]
    pictures.close()


def test_who_waits_when_it_closes_is_told(newest: Newest) -> None:
    pictures = Pictures(cube_table(), newest, "rays")
    pictures.close()
    with pytest.raises(EnvironmentProblem, match="closed"):
        pictures.get(FRONT, -1, PATIENCE_S)
