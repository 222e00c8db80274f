"""Marks that make a belt's motion visible."""

from __future__ import annotations

import copy

import numpy as np
import pytest

from graspline.engine.events import Change
from graspline.episodes.log import EpisodeLog
from graspline.rendering.belt_marks import BAR_M, PITCH_M, bars, is_marked
from graspline.rendering.choose import RendererKind, gl_problem, open_renderer
from graspline.scenes.belt_line import BELT, speed_of
from graspline.scenes.variation import apply_to_model
from graspline.tasks.sort.layout import sample, scene_of
from graspline.tasks.sort.parameters import Sort

SETTINGS = Sort()
SCENE = scene_of(SETTINGS)
DRAW = sample(SETTINGS, np.random.default_rng(3))


def log(*events: tuple[int, Change], ticks: int = 240) -> EpisodeLog:
    states = np.tile(DRAW.start, (ticks, 1))
    still = np.zeros((ticks + 1, 1))
    return EpisodeLog(
        start=DRAW.start, variation=DRAW.variation, positions=still, velocities=still, events=events, states=states
    )


def test_a_belt_has_gone_as_far_as_its_speeds_say() -> None:
    hz = SCENE.robot.control_hz
    stands = Change(edits=(speed_of(BELT, 0.0),))
    backwards = Change(edits=(speed_of(BELT, -0.1),))
    gone = log((hz, stands), (2 * hz, backwards)).travelled_m
    assert gone(hz - 1, SCENE)[BELT] == pytest.approx((0.0, -0.05, 0.0))
    assert gone(2 * hz - 1, SCENE)[BELT] == pytest.approx((0.0, -0.05, 0.0))
    assert gone(3 * hz - 1, SCENE)[BELT] == pytest.approx((0.0, 0.05, 0.0))
    assert gone(3 * hz - 1, SCENE)["bin_red"] == pytest.approx((-0.15, 0.0, 0.0))


@pytest.mark.parametrize("gone_m", [0.0, -0.013, 0.4, -7.3])
def test_marks_stay_on_their_belt_and_move_with_it(gone_m: float) -> None:
    model = copy.copy(SCENE.model)
    apply_to_model(model, DRAW.variation)
    half = model.geom(BELT).size
    found = bars(model, {BELT: (0.0, gone_m, 0.0)})
    assert len(found) >= int(2 * half[1] / PITCH_M)
    for bar in found:
        assert (np.abs(bar.middle_m[:2]) + bar.half_m[:2] <= half[:2] + 1e-9).all()
        if bar.half_m[1] == pytest.approx(BAR_M / 2):
            assert (bar.middle_m[1] - gone_m + 1e-9) % PITCH_M == pytest.approx(0, abs=1e-6)
            assert is_marked(model, bar.geom, bar.middle_m[None], np.array([0.0, gone_m, 0.0])).all()


@pytest.mark.parametrize("kind", ["rays", "gl"])
def test_only_pictures_that_ask_for_marks_have_them_and_they_move_with_the_belt(kind: RendererKind) -> None:
    if kind == "gl" and gl_problem():
        pytest.skip("no OpenGL")
    with open_renderer(SCENE, 160, 120, kind, smooth=False) as renderer:

        def picture(gone_m: float | None) -> np.ndarray:
            told = None if gone_m is None else {BELT: (0.0, gone_m, 0.0)}
            return renderer.render(DRAW.start, DRAW.variation, "front", travelled_m=told).rgb.astype(int)

        plain, marked, later = picture(None), picture(0.0), picture(-PITCH_M / 2)
        assert (np.abs(marked - plain) > 5).any(axis=2).sum() > 50
        assert (np.abs(later - marked) > 5).any(axis=2).sum() > 50
        assert np.array_equal(picture(-PITCH_M), marked)
        assert np.array_equal(picture(None), plain)
