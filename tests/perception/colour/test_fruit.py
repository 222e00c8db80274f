"""Oranges, plate and blocks in pictures: found where they are, with an error that is honest, and nothing else found."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace

import mujoco
import numpy as np
import pytest
from numpy.typing import NDArray

from graspline.parameters import build
from graspline.perception.colour.fruit import Ball, Seen, see_ball_near, see_table
from graspline.rendering.choose import Renderer, open_renderer
from graspline.rendering.picture import Picture
from graspline.scenes.distractors import distractor_name
from graspline.scenes.fruit_table import (
    FLOOR_M,
    PLATE,
    Lying,
    fruit_start,
    fruit_table,
    fruit_variation,
    orange_name,
)
from graspline.scenes.randomization import TexturedRandomization, randomized
from graspline.scenes.variation import Variation

Array = NDArray[np.float64]
Things = dict[str, Lying]

PLATE_RADIUS_M = 0.105
PLATE_XY = (0.16, 0.24)
ORANGES, BLOCKS = 5, 3
SCENE = fruit_table(ORANGES, PLATE_RADIUS_M, BLOCKS, False)
# The arm folded back over its base, out of the way of most of the table.
CLEAR_OF_TABLE = np.array([1.9, -1.6, 1.6, 1.0, 0.0, 0.0])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Shown:
    """A picture and what is on it: middles (3,) and, of oranges, the share of each that can be seen."""

    picture: Picture
    places: dict[str, Array]
    shares: dict[str, float]


class Studio:
    """Draws the scene, whatever is not asked for parked out of sight."""

    def __init__(self, renderer: Renderer) -> None:
        self._renderer = renderer

    def show(
        self,
        things: Things,
        plate: tuple[float, float] | None = None,
        arm: Array | None = None,
        lifted: dict[str, Array] | None = None,
        looks: Variation | None = None,
    ) -> Shown:
        qpos = fruit_start(SCENE, things, plate)
        if plate is None:
            qpos[SCENE.joint_address(PLATE)] = -20.0
        if arm is not None:
            qpos[: len(arm)] = arm
        for name, thing in things.items():
            at = SCENE.joint_address(name)
            if lifted and name in lifted:
                qpos[at : at + 3] = lifted[name]
            elif plate is not None and np.hypot(thing.x_m - plate[0], thing.y_m - plate[1]) < PLATE_RADIUS_M:
                qpos[at + 2] += FLOOR_M
        variation = fruit_variation(things, 1.0) + (looks or Variation())
        picture = self._renderer.render(qpos, variation, "front")
        geoms = self._renderer.geoms(qpos, variation, "front")
        places = {name: qpos[SCENE.joint_address(name) :][:3].copy() for name in things}
        shares = {
            name: float((geoms == SCENE.model.geom(name).id).sum()) / disc_px(picture, places[name], thing)
            for name, thing in things.items()
        }
        return Shown(picture=picture, places=places, shares=shares)


def disc_px(picture: Picture, place: Array, thing: Lying) -> float:
    """How many pixels a ball fills when nothing hides it, about."""
    depth = -picture.rotation[:, 2] @ (place - picture.position_m)
    focal = picture.height / (2 * np.tan(picture.fovy_rad / 2))
    return float(np.pi * (focal * thing.half_extents_m[0] / depth) ** 2)


@pytest.fixture(scope="module")
def studio() -> Iterator[Studio]:
    with open_renderer(SCENE, 640, 480) as renderer:
        yield Studio(renderer)


def orange(x_m: float, y_m: float, radius_m: float = 0.03) -> Lying:
    return Lying(x_m=x_m, y_m=y_m, half_extents_m=(radius_m, radius_m, radius_m), mass_kg=0.12)


def block(x_m: float, y_m: float, yaw_rad: float = 0.4) -> Lying:
    return Lying(x_m=x_m, y_m=y_m, half_extents_m=(0.0175, 0.016, 0.018), mass_kg=0.05, yaw_rad=yaw_rad)


@functools.cache
def scattered(seed: int) -> tuple[Things, Array]:
    """Oranges of any size on table and plate, blocks beside them, and a pose of the arm."""
    random = np.random.default_rng(seed)
    spots: list[tuple[float, float, float]] = []

    def spot(radius: float, on_plate: bool) -> tuple[float, float]:
        for attempt in itertools.count():
            reach, turn = random.uniform(0.14, 0.38), random.uniform(-1.7, 1.7)
            x, y = reach * np.cos(turn), reach * np.sin(turn)
            # A full plate takes no more.
            on_plate = on_plate and attempt < 50
            if on_plate:
                reach = random.uniform(0, PLATE_RADIUS_M - 0.035)
                x, y = PLATE_XY[0] + reach * np.cos(turn), PLATE_XY[1] + reach * np.sin(turn)
            beside = np.hypot(x - PLATE_XY[0], y - PLATE_XY[1]) > PLATE_RADIUS_M + 0.03
            if (on_plate or beside) and all(np.hypot(x - a, y - b) > radius + r for a, b, r in spots):
                spots.append((x, y, radius))
                return x, y
        raise AssertionError

    things = {}
    for index in range(int(random.integers(1, ORANGES + 1))):
        radius = random.uniform(0.025, 0.035)
        things[orange_name(index)] = orange(*spot(radius, random.random() < 0.3), radius)
    for index in range(int(random.integers(0, BLOCKS + 1))):
        things[distractor_name(index)] = block(*spot(0.03, False), random.uniform(-np.pi, np.pi))
    low, high = SCENE.model.jnt_range[:6].T
    arm = random.uniform(low, high) if random.random() < 0.6 else np.array(SCENE.robot.home)
    return things, arm


def pair(seen: Seen, shown: Shown) -> dict[str, Ball]:
    """The orange seen nearest to each orange there is, if within 2 cm."""
    paired = {}
    for name, place in shown.places.items():
        near = [ball for ball in seen.oranges if np.linalg.norm(ball.position_m - place) < 0.02]
        if name.startswith("orange") and near:
            paired[name] = min(near, key=lambda ball: float(np.linalg.norm(ball.position_m - place)))
    return paired


@pytest.fixture(scope="module")
def pictures(studio: Studio) -> list[tuple[Things, Shown, Seen]]:
    shown = [(things, studio.show(things, PLATE_XY, arm)) for things, arm in map(scattered, range(30))]
    return [(things, each, see_table(each.picture, PLATE_RADIUS_M)) for things, each in shown]


def test_oranges_are_where_they_are_seen_to_within_a_millimetre_or_two(
    pictures: list[tuple[Things, Shown, Seen]],
) -> None:
    errors, radii, worst = [], [], 0.0
    for things, shown, seen in pictures:
        for name, ball in pair(seen, shown).items():
            error = ball.position_m - shown.places[name]
            if ball.share_seen > 0.95:
                errors.append(error[:2])
                radii.append(ball.radius_m - things[name].half_extents_m[0])
            elif ball.share_seen >= 0.4:
                worst = max(worst, float(np.hypot(*error[:2])))
    assert len(errors) > 40
    assert np.std(errors, axis=0).max() < 0.0005
    assert np.abs(errors).max() < 0.002
    assert np.abs(radii).max() < 0.0007
    assert worst < 0.004


def test_the_stated_error_of_an_orange_is_neither_boast_nor_excuse(pictures: list[tuple[Things, Shown, Seen]]) -> None:
    scaled = np.array(
        [
            (ball.position_m - shown.places[name])[:2] / ball.position_sigma_m
            for _, shown, seen in pictures
            for name, ball in pair(seen, shown).items()
        ]
    )
    assert 0.3 < np.sqrt(np.mean(scaled**2)) < 1.5
    assert np.abs(scaled).max() < 5


def test_only_what_is_mostly_hidden_is_missed_and_nothing_is_made_up(
    pictures: list[tuple[Things, Shown, Seen]],
) -> None:
    for things, shown, seen in pictures:
        paired = pair(seen, shown)
        assert len(seen.oranges) == len(paired)
        missed = {name for name in things if name.startswith("orange")} - set(paired)
        assert all(shown.shares[name] < 0.45 for name in missed)


def test_the_plate_is_found_to_within_a_millimetre_or_two(pictures: list[tuple[Things, Shown, Seen]]) -> None:
    for _, _, seen in pictures:
        assert seen.plate is not None
        if seen.plate.share_seen >= 0.5:
            assert np.hypot(*(seen.plate.position_m[:2] - PLATE_XY)) < 0.002
            assert seen.plate.position_sigma_m < 0.001


def test_an_orange_hidden_in_part_by_the_arm_is_less_certain_and_still_right(studio: Studio) -> None:
    arm, hand = in_the_hand()
    eye = np.array([0.97, -0.58, 0.53])
    # Where the line of sight through the palm, above the fingertips, comes down to the table.
    palm = hand + np.array([0.0, 0.0, 0.06])
    behind = eye + (palm - eye) * (eye[2] - 0.03) / (eye[2] - palm[2])
    things = {orange_name(0): orange(behind[0], behind[1])}
    shown = [studio.show(things, None, pose) for pose in (arm, CLEAR_OF_TABLE)]
    (hidden,), (clear,) = (see_table(each.picture, None).oranges for each in shown)
    assert hidden.share_seen < 0.5 < 0.9 < clear.share_seen
    assert hidden.position_sigma_m > clear.position_sigma_m
    assert np.linalg.norm(hidden.position_m - shown[0].places[orange_name(0)]) < 5 * hidden.position_sigma_m


@pytest.mark.parametrize("behind_m", [0.045, 0.06, 0.075])
def test_an_orange_behind_another_is_told_from_it(studio: Studio, behind_m: float) -> None:
    away = np.array([-0.85, 0.53])
    x, y = np.array([0.25, 0.0]) + behind_m * away + 0.025 * np.array([0.53, 0.85])
    things = {orange_name(0): orange(0.25, 0.0, 0.028), orange_name(1): orange(x, y, 0.033)}
    shown = studio.show(things, None, CLEAR_OF_TABLE)
    seen = see_table(shown.picture, None)
    assert len(seen.oranges) == 2
    for name, ball in pair(seen, shown).items():
        assert np.linalg.norm(ball.position_m - shown.places[name]) < 0.003
        assert ball.radius_m == pytest.approx(things[name].half_extents_m[0], abs=0.0007)
    assert len(pair(seen, shown)) == 2


def test_an_empty_table_shows_nothing(studio: Studio) -> None:
    seen = see_table(studio.show({}).picture, PLATE_RADIUS_M)
    assert (seen.oranges, seen.plate, seen.blocks) == ((), None, ())


def test_without_a_plate_radius_no_plate_is_looked_for(studio: Studio) -> None:
    shown = studio.show({orange_name(0): orange(0.2, -0.2)}, PLATE_XY)
    seen = see_table(shown.picture, None)
    assert seen.plate is None
    assert len(seen.oranges) == 1


def test_blocks_are_not_oranges_and_are_found_as_boxes(studio: Studio) -> None:
    things = {
        distractor_name(0): block(0.30, -0.15, 0.3),
        distractor_name(1): block(0.22, 0.05, -0.5),
        distractor_name(2): block(0.15, 0.25, 0.1),
    }
    shown = studio.show(things, None, CLEAR_OF_TABLE)
    seen = see_table(shown.picture, None)
    assert seen.oranges == ()
    assert len(seen.blocks) == 3
    for name, thing in things.items():
        nearest = min(seen.blocks, key=lambda each, at=shown.places[name]: float(np.linalg.norm(each.position_m - at)))
        np.testing.assert_allclose(nearest.position_m, shown.places[name], atol=0.003)
        np.testing.assert_allclose(nearest.half_extents_m, thing.half_extents_m, atol=0.002)
        assert nearest.yaw_rad == pytest.approx(thing.yaw_rad, abs=0.1)


def test_two_blocks_of_one_colour_that_overlap_in_the_picture_are_two(studio: Studio) -> None:
    # Along the line of sight and a little to the side.
    things = {distractor_name(0): block(0.25, 0.0), distractor_name(2): block(0.21, 0.055)}
    shown = studio.show(things, None, CLEAR_OF_TABLE)
    seen = see_table(shown.picture, None)
    assert len(seen.blocks) == 2
    for name in things:
        assert min(np.linalg.norm(each.position_m - shown.places[name]) for each in seen.blocks) < 0.012


@pytest.mark.parametrize("brightness", [0.6, 0.8, 1.2])
def test_more_or_less_light_changes_nothing_that_matters(studio: Studio, brightness: float) -> None:
    things, arm = scattered(3)
    shown = studio.show(things, PLATE_XY, arm)
    rgb = np.clip(shown.picture.rgb * brightness, 0, 255).astype(np.uint8)
    lit, usual = (see_table(picture, PLATE_RADIUS_M) for picture in (replace(shown.picture, rgb=rgb), shown.picture))
    assert len(lit.oranges) == len(usual.oranges) > 0
    assert len(lit.blocks) == len(usual.blocks)
    for name, ball in pair(lit, shown).items():
        assert np.linalg.norm(ball.position_m - pair(usual, shown)[name].position_m) < 0.001
    assert lit.plate is not None
    assert np.hypot(*(lit.plate.position_m[:2] - PLATE_XY)) < 0.002


BRIGHT = {"lighting.brightness": 1.15, "lighting.ambient": 1.15, "colours.brightness": 1.05}
DARK = {"lighting.brightness": 0.5, "lighting.ambient": 0.5, "colours.brightness": 0.6}


@pytest.mark.parametrize("light", [BRIGHT, DARK], ids=["bright", "dark"])
@pytest.mark.parametrize("hue_rad", [-0.2, 0.2])
def test_oranges_and_plate_are_found_at_the_ends_of_what_randomisation_allows(
    studio: Studio, light: dict[str, float], hue_rad: float
) -> None:
    ends = {**light, "colours.hue_rad": hue_rad}
    assignments = [f"{aspect}.on=true" for aspect in ("lighting", "camera", "colours", "textures")]
    settings = build(
        TexturedRandomization, assignments=[*assignments, *(f"{key}=[{at}, {at}]" for key, at in ends.items())]
    )
    things = {orange_name(0): orange(0.3, 0.1), orange_name(1): orange(0.15, -0.2), distractor_name(0): block(0.2, 0.2)}
    for seed in range(4):
        looks = randomized(SCENE, Variation(), settings, np.random.default_rng(seed))
        shown = studio.show(things, PLATE_XY, looks=looks)
        seen = see_table(shown.picture, PLATE_RADIUS_M)
        assert len(seen.oranges) == len(pair(seen, shown)) == 2
        for name, ball in pair(seen, shown).items():
            assert np.linalg.norm(ball.position_m - shown.places[name]) < 0.004
        assert seen.plate is not None
        assert np.hypot(*(seen.plate.position_m[:2] - PLATE_XY)) < 0.002
        assert len(seen.blocks) == 1


def test_the_same_picture_gives_the_same_bits(pictures: list[tuple[Things, Shown, Seen]]) -> None:
    for _, shown, seen in pictures[:5]:
        again = see_table(replace(shown.picture, rgb=shown.picture.rgb.copy()), PLATE_RADIUS_M)
        assert repr(again) == repr(seen)
        assert [ball.position_m.tobytes() for ball in again.oranges] == [
            ball.position_m.tobytes() for ball in seen.oranges
        ]


def in_the_hand() -> tuple[Array, Array]:
    """A pose of the arm and the place of an orange between its jaws, 15 cm above the table or so."""
    arm = np.array(SCENE.robot.home)
    arm[0], arm[5] = -0.6, 0.9
    data = mujoco.MjData(SCENE.model)
    data.qpos[: len(arm)] = arm
    mujoco.mj_kinematics(SCENE.model, data)
    return arm, data.site("tool").xpos.copy()


def test_a_held_orange_is_not_taken_for_one_that_lies(studio: Studio) -> None:
    arm, hand = in_the_hand()
    things = {orange_name(0): orange(0, 0, 0.028), orange_name(1): orange(0.1, 0.3), orange_name(2): orange(0.3, -0.1)}
    shown = studio.show(things, None, arm, {orange_name(0): hand})
    seen = see_table(shown.picture, None, held_m=hand + np.array([0.006, -0.004, 0.005]))
    assert len(seen.oranges) == 2
    assert set(pair(seen, shown)) == {orange_name(1), orange_name(2)}


def test_a_held_orange_is_found_in_the_air_by_its_size(studio: Studio) -> None:
    arm, hand = in_the_hand()
    shown = studio.show({orange_name(0): orange(0, 0, 0.028)}, None, arm, {orange_name(0): hand})
    ball = see_ball_near(shown.picture, hand + np.array([0.008, -0.005, 0.01]), 0.028, 0.04)
    assert ball is not None
    error = ball.position_m - hand
    assert np.abs(error[:2]).max() < 5 * ball.position_sigma_m
    assert np.linalg.norm(error) < 0.012
    assert ball.radius_m == 0.028


def test_an_orange_that_is_not_where_it_is_expected_is_not_seen_there(studio: Studio) -> None:
    shown = studio.show({orange_name(0): orange(0.2, -0.2)}, None, CLEAR_OF_TABLE)
    for expected in ((0.2, 0.1, 0.1), (0.2, -0.2, 0.13), (3.0, -2.0, 2.0), (0.0, 5.0, 0.0)):
        assert see_ball_near(shown.picture, np.array(expected), 0.03, 0.03) is None
    assert see_ball_near(shown.picture, np.array([0.21, -0.19, 0.03]), 0.03, 0.03) is not None
