"""What the task believes: exact or noisy by truth, named and remembered by camera."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import graspline.tasks.oranges.sight as sight
from graspline.execution.requests import Look
from graspline.perception.colour.fruit import Ball, Disc, Seen, SeenBlock
from graspline.scenes.fruit_table import PLATE
from graspline.tasks.oranges.sight import VIRTUAL_PLATE, FruitCameraEye, Survey, lying, make_eye, plate_shape

from ..replies import reply
from .stagecraft import BALL_M, PLATE_XY, Act, at, eye_of, on_plate, parameters, seen_ball, seen_plate, survey_of

Array = NDArray[np.float64]

TWO = parameters("oranges.count=2")
NOISY = parameters("oranges.count=2", "perception.position_sigma_m=0.004")


# By truth


def by_truth(act: Act, settings: Any = TWO, seed: int = 1) -> Survey:
    return act.play(eye_of(settings, seed).survey())


def test_truth_sees_oranges_and_plate_exactly() -> None:
    act = Act({"orange_1": at(0.25, 0.3), "orange_2": on_plate()})
    survey = by_truth(act)
    assert act.requests == [Look(None)]
    assert set(survey.things) == {"orange_1", "orange_2"}
    np.testing.assert_array_equal(survey.things["orange_1"].position_m, at(0.25, 0.3))
    assert {each.shape for each in survey.things.values()} == {"ball"}
    assert survey.plate is not None
    assert (survey.plate.name, survey.plate.shape) == (PLATE, "plate")
    np.testing.assert_array_equal(survey.plate.position_m, [*PLATE_XY, 0.0])


def test_noise_is_as_large_as_asked_for_and_said_in_the_estimate() -> None:
    act, eye = Act({"orange_1": at(0.25, 0.3)}), eye_of(NOISY)
    errors = []
    for _ in range(300):
        seen = act.play(eye.survey()).things["orange_1"]
        assert seen.position_sigma_m == 0.004
        errors.append(seen.position_m - at(0.25, 0.3))
        act.requests.clear()
    assert np.std(errors) == pytest.approx(0.004, rel=0.1)


def test_a_noisy_plate_still_stands_level_on_the_table() -> None:
    plate = by_truth(Act({}), NOISY).plate
    assert plate is not None
    assert plate.position_m[2] == 0.0
    assert plate.position_m[0] != PLATE_XY[0]
    np.testing.assert_array_equal(plate.quaternion, [1, 0, 0, 0])


def test_the_same_seed_sees_the_same_noise() -> None:
    one, two, other = (by_truth(Act({"orange_1": at(0.25, 0.3)}), NOISY, seed) for seed in (4, 4, 5))
    np.testing.assert_array_equal(one.things["orange_1"].position_m, two.things["orange_1"].position_m)
    assert (one.things["orange_1"].position_m != other.things["orange_1"].position_m).any()


def test_what_has_left_the_table_is_not_seen() -> None:
    survey = by_truth(Act({"orange_1": np.array([1.5, 0.0, 0.03]), "orange_2": at(0.25, 0.0)}, plate=(2.0, 0.0)))
    assert set(survey.things) == {"orange_2"}
    assert survey.plate is None


def test_strangers_are_balls_and_blocks_are_boxes() -> None:
    survey = by_truth(Act({"stranger_1": at(0.3, 0.0), "block_1": at(0.2, 0.0)}))
    assert {name: each.shape for name, each in survey.things.items()} == {"stranger_1": "ball", "block_1": "box"}


def test_without_a_plate_in_the_scene_a_virtual_one_serves() -> None:
    settings = parameters("plate.present=false", "plate.virtual_x_m=0.2", "plate.virtual_y_m=0.1")
    survey = by_truth(Act({}, plate=None), settings)
    assert survey.plate is not None
    assert survey.plate.name == VIRTUAL_PLATE
    shape = plate_shape(survey.plate)
    assert (shape.x_m, shape.y_m, shape.floor_m, shape.rim_height_m) == (0.2, 0.1, 0.0, 0.0)
    # There is nothing to keep clear of.
    assert survey.others() == ()


def test_a_real_plate_is_something_to_keep_clear_of() -> None:
    survey = survey_of(seen_ball("orange_1", at(0.25, 0.0)), seen_ball("orange_2", at(0.3, 0.5)))
    assert [each.name for each in survey.others("orange_1")] == ["orange_2", PLATE]


def test_things_lie_on_the_table_or_on_the_plates_floor_whatever_noise_says() -> None:
    floating = at(0.3, -0.5, 0.05)
    assert lying(seen_ball("orange_1", floating), seen_plate()).position_m[2] == BALL_M
    sunk = on_plate(0.02) - np.array([0, 0, 0.01])
    assert lying(seen_ball("orange_1", sunk), seen_plate()).position_m[2] == pytest.approx(0.004 + BALL_M)
    assert lying(seen_ball("orange_1", sunk), None).position_m[2] == BALL_M


# By camera, with scripted pictures


class Pictures:
    """What is found in each picture, one after the other; the last one stays."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *shown: Seen) -> None:
        self.shown = list(shown)
        self.held: list[Array | None] = []
        monkeypatch.setattr(sight, "see_table", self._see)

    def _see(self, picture: object, radius_m: float | None, held_m: Array | None = None) -> Seen:
        self.held.append(held_m)
        return self.shown.pop(0) if len(self.shown) > 1 else self.shown[0]


def orange(place: Array, radius_m: float = BALL_M, sigma_m: float = 0.001) -> Ball:
    return Ball(position_m=np.asarray(place, float), radius_m=radius_m, position_sigma_m=sigma_m, share_seen=1.0)


DISC = Disc(position_m=np.array([*PLATE_XY, 0.0]), position_sigma_m=0.001, share_seen=1.0)


def shows(*balls: Ball, plate: Disc | None = DISC, blocks: Iterable[SeenBlock] = ()) -> Seen:
    return Seen(oranges=balls, plate=plate, blocks=tuple(blocks))


def camera_eye(count: int = 2) -> FruitCameraEye:
    eye = make_eye(parameters(f"oranges.count={count}", "perception.source=camera"), np.random.default_rng(0))
    assert isinstance(eye, FruitCameraEye)
    return eye


def survey(stage: Any, time_s: float = 0.0) -> Survey:
    """One picture, whatever is on it."""
    request = next(stage)
    assert request == Look("front", 640, 480)
    try:
        stage.send(reply(value="a picture", time_s=time_s))
    except StopIteration as stop:
        return stop.value
    raise AssertionError("one picture is enough")


LEFT, MIDDLE, RIGHT = at(0.25, 0.9), at(0.3, 0.0), at(0.22, -0.7)


def test_oranges_are_named_from_left_to_right_as_the_robot_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    Pictures(monkeypatch, shows(orange(RIGHT), orange(LEFT), orange(MIDDLE)))
    seen = survey(camera_eye(3).survey(), time_s=2.5)
    for name, place in (("orange_1", LEFT), ("orange_2", MIDDLE), ("orange_3", RIGHT)):
        np.testing.assert_array_equal(seen.things[name].position_m, place)
        assert (seen.things[name].shape, seen.things[name].time_s) == ("ball", 2.5)
    assert seen.plate is not None
    assert seen.plate.name == PLATE


def test_until_all_have_been_seen_none_has_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    Pictures(monkeypatch, shows(orange(LEFT)), shows(orange(LEFT + 0.003), orange(RIGHT)))
    eye = camera_eye(2)
    first = survey(eye.survey())
    assert first.things == {}
    assert not eye.knows_all()
    second = survey(eye.survey())
    assert eye.knows_all()
    assert set(second.things) == {"orange_1", "orange_2"}


def test_sightings_from_two_places_add_up_to_all_oranges(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each time another one is hidden."""
    Pictures(monkeypatch, shows(orange(LEFT)), shows(orange(RIGHT)), shows(orange(LEFT), orange(RIGHT)))
    eye = camera_eye(2)
    survey(eye.survey())
    second = survey(eye.survey())
    assert eye.knows_all()
    assert set(second.things) == {"orange_2"}
    assert set(second.hidden) == {"orange_1"}
    np.testing.assert_array_equal(second.hidden["orange_1"].position_m, LEFT)


def test_an_orange_that_is_hidden_is_remembered_where_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    Pictures(monkeypatch, shows(orange(LEFT), orange(RIGHT)), shows(orange(RIGHT)))
    eye = camera_eye(2)
    survey(eye.survey())
    later = survey(eye.survey())
    assert set(later.things) == {"orange_2"}
    assert set(later.hidden) == {"orange_1"}
    # To keep clear of, though it is not seen.
    assert [each.name for each in later.others("orange_2")] == ["orange_1", PLATE]


def test_oranges_that_rolled_a_little_keep_their_names(monkeypatch: pytest.MonkeyPatch) -> None:
    moved = np.array([0.02, 0.02, 0.0])
    Pictures(monkeypatch, shows(orange(LEFT), orange(RIGHT)), shows(orange(RIGHT + moved), orange(LEFT - moved)))
    eye = camera_eye(2)
    survey(eye.survey())
    later = survey(eye.survey())
    np.testing.assert_array_equal(later.things["orange_1"].position_m, LEFT - moved)
    np.testing.assert_array_equal(later.things["orange_2"].position_m, RIGHT + moved)


def test_oranges_that_changed_places_are_taken_for_the_nearest(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody could tell: what lies where the first one lay is the first one."""
    Pictures(monkeypatch, shows(orange(LEFT), orange(RIGHT)), shows(orange(RIGHT + 0.004), orange(LEFT + 0.004)))
    eye = camera_eye(2)
    survey(eye.survey())
    later = survey(eye.survey())
    np.testing.assert_array_equal(later.things["orange_1"].position_m, LEFT + 0.004)


def test_one_that_rolled_far_is_told_by_what_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """It lies nearer to where the other one was, but that one is still there."""
    far = RIGHT + np.array([0.08, 0.0, 0.0])
    Pictures(monkeypatch, shows(orange(LEFT), orange(RIGHT)), shows(orange(far), orange(RIGHT)))
    eye = camera_eye(2)
    survey(eye.survey())
    later = survey(eye.survey())
    np.testing.assert_array_equal(later.things["orange_2"].position_m, RIGHT)
    np.testing.assert_array_equal(later.things["orange_1"].position_m, far)
    assert not later.hidden


def test_more_fruit_than_there_should_be_are_strangers_that_take_room(monkeypatch: pytest.MonkeyPatch) -> None:
    Pictures(monkeypatch, shows(orange(LEFT), orange(RIGHT)), shows(orange(LEFT), orange(RIGHT), orange(on_plate())))
    eye = camera_eye(2)
    survey(eye.survey())
    later = survey(eye.survey())
    np.testing.assert_array_equal(later.things["stranger_1"].position_m, on_plate())
    assert later.things["stranger_1"].shape == "ball"


def test_the_size_of_an_orange_is_known_from_where_it_was_seen_best(monkeypatch: pytest.MonkeyPatch) -> None:
    Pictures(
        monkeypatch,
        shows(orange(LEFT, 0.030, 0.001), orange(RIGHT, 0.027, 0.004)),
        shows(orange(LEFT, 0.034, 0.004), orange(RIGHT, 0.030, 0.001)),
    )
    eye = camera_eye(2)
    survey(eye.survey())
    later = survey(eye.survey())
    assert later.things["orange_1"].radius_m == 0.030
    assert later.things["orange_2"].radius_m == 0.030


def test_the_hand_may_hide_the_plate_it_hangs_over(monkeypatch: pytest.MonkeyPatch) -> None:
    pictures = Pictures(monkeypatch, shows(orange(LEFT), orange(RIGHT)), shows(orange(RIGHT), plate=None))
    eye = camera_eye(2)
    before = survey(eye.survey())
    above = on_plate() + np.array([0, 0, 0.1])
    later = survey(eye.survey_holding("orange_1", above, before))
    assert pictures.held[-1] is above
    assert later.plate is not None
    np.testing.assert_array_equal(later.plate.position_m, [*PLATE_XY, 0.0])
    # What is in the hand is neither hidden nor matched with what lies about.
    assert later.hidden == {}
    np.testing.assert_array_equal(later.things["orange_2"].position_m, RIGHT)


def test_a_plate_that_is_not_seen_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    Pictures(monkeypatch, shows(orange(LEFT), orange(RIGHT), plate=None))
    assert survey(camera_eye(2).survey()).plate is None


def test_blocks_are_seen_and_turned_as_they_lie(monkeypatch: pytest.MonkeyPatch) -> None:
    block = SeenBlock(
        position_m=at(0.28, 0.3, 0.015),
        half_extents_m=np.array([0.012, 0.014, 0.015]),
        yaw_rad=0.5,
        position_sigma_m=0.002,
    )
    Pictures(monkeypatch, shows(orange(LEFT), orange(RIGHT), blocks=[block]))
    seen = survey(camera_eye(2).survey()).things["block_1"]
    assert seen.shape == "box"
    np.testing.assert_allclose(seen.rotation[:2, 0], [np.cos(0.5), np.sin(0.5)])


def test_an_eye_that_cannot_see_looks_from_one_place_after_the_other() -> None:
    eye = camera_eye()
    assert [eye.aside() for _ in range(4)] == [1, 2, 0, 1]
