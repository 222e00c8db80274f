"""Blocks on a belt in pictures: found where they lie, with an error that is honest, and nothing else found."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from tests.perception.belt.belt_studio import BELT, CATALOGUE, RGB, SIZES_M, BeltStudio, Laid, Shot, laid_at_random

from graspline.perception.belt.blocks import BlockSeen, in_view_of, see_blocks
from graspline.perception.core.outlines import Lens
from graspline.perception.core.palette import UNKNOWN
from graspline.rendering.picture import Picture

CUBE, SMALL, LONG = SIZES_M
ACCEPTED = [paint.name for paint in CATALOGUE.paints]


@pytest.fixture(scope="module")
def studio() -> Iterator[BeltStudio]:
    studio = BeltStudio()
    yield studio
    studio.close()


def cube(x_m: float, y_m: float, colour: str = "red", yaw_rad: float = 0.3) -> Laid:
    return Laid(colour=colour, size_m=CUBE, x_m=x_m, y_m=y_m, yaw_rad=yaw_rad)


def off(seen: BlockSeen, laid: Laid) -> tuple[float, float]:
    """Metres and radians between a sighting and the truth."""
    period = np.pi / 2 if laid.size_m[0] == laid.size_m[1] else np.pi
    turn = (seen.yaw_rad - laid.yaw_rad + period / 2) % period - period / 2
    return float(np.hypot(seen.x_m - laid.x_m, seen.y_m - laid.y_m)), abs(float(turn))


def nearest(seen: tuple[BlockSeen, ...], laid: Laid) -> BlockSeen:
    return min(seen, key=lambda each: off(each, laid)[0])


def assert_all_seen(picture: Picture, laid: list[Laid]) -> None:
    """Every block in view with its colour, size and place; nothing besides."""
    seen, in_view = see_blocks(picture, CATALOGUE, BELT), in_view_of(picture, BELT)
    for block in laid:
        found = nearest(seen, block)
        if not in_view(block.x_m, block.y_m):
            continue
        assert found.whole
        assert found.colour == (block.colour if block.colour in ACCEPTED else UNKNOWN)
        assert found.size_m == block.size_m
        place, turn = off(found, block)
        assert place < min(0.001, 4 * found.sigma_m)
        assert turn < min(np.radians(2), 4 * found.yaw_sigma_rad)
    for each in seen:
        assert min(off(each, block)[0] for block in laid) < 0.03


@pytest.mark.parametrize("emissive", [False, True])
@pytest.mark.parametrize("height_m", [0.25, 0.46, 0.7])
def test_every_block_is_found_where_it_lies(studio: BeltStudio, emissive: bool, height_m: float) -> None:
    random = np.random.default_rng(round(100 * height_m))
    for _ in range(8):
        shot = Shot(
            height_m=height_m,
            emissive=emissive,
            y_m=random.uniform(-0.3, 0.3),
            turn_rad=random.uniform(1.2, 1.9),
            tilt_rad=(random.uniform(-0.1, 0.1), random.uniform(-0.1, 0.1)),
        )
        laid = laid_at_random(random, shot, 5, 0.006)
        assert_all_seen(studio.show(laid, shot), laid)


@pytest.mark.parametrize("emissive", [False, True])
def test_light_that_is_dim_bright_or_tinted_changes_nothing(studio: BeltStudio, emissive: bool) -> None:
    random = np.random.default_rng(5)
    for number in range(16):
        shot = Shot(
            emissive=emissive,
            brightness=random.uniform(0.4, 1.6),
            tint=(random.uniform(0.85, 1.15), random.uniform(0.85, 1.15), random.uniform(0.85, 1.15)),
            light_dir=(random.uniform(-0.6, 0.6), random.uniform(-0.6, 0.6), -1.0),
            shadows=number % 2 == 0,
        )
        laid = laid_at_random(random, shot, 5, 0.006)
        assert_all_seen(studio.show(laid, shot), laid)


def test_what_is_said_of_errors_is_true(studio: BeltStudio) -> None:
    random, misses, errors, sigmas = np.random.default_rng(11), 0, [], []
    for number in range(40):
        shot = Shot(emissive=number % 2 == 0, y_m=random.uniform(-0.3, 0.3), turn_rad=random.uniform(1.2, 1.9))
        laid = laid_at_random(random, shot, 5, 0.006)
        picture = studio.show(laid, shot)
        seen, in_view = see_blocks(picture, CATALOGUE, BELT), in_view_of(picture, BELT)
        for block in laid:
            if in_view(block.x_m, block.y_m):
                found = nearest(seen, block)
                place, turn = off(found, block)
                misses += place > 2 * found.sigma_m or turn > 2 * found.yaw_sigma_rad
                errors.append(place)
                sigmas.append(found.sigma_m)
    assert misses <= 0.05 * len(errors)
    assert np.median(errors) < 0.0001
    assert np.median(sigmas) < 0.0002


@pytest.mark.parametrize("other", ["red", "blue", "yellow"])
@pytest.mark.parametrize("turn_rad", [0.0, 0.5])
def test_blocks_that_touch_are_told_apart(studio: BeltStudio, other: str, turn_rad: float) -> None:
    along = 0.0405 if turn_rad == 0 else 0.0485
    laid = [cube(0.45, 0.02, "red", 0.0), cube(0.45 + along, 0.025, other, turn_rad)]
    for emissive in (False, True):
        assert_all_seen(studio.show(laid, Shot(emissive=emissive)), laid)


def test_three_in_a_row_are_three(studio: BeltStudio) -> None:
    laid = [cube(0.5, -0.06, "green", 0.2), cube(0.5, -0.014, "green", 0.1), cube(0.5, 0.032, "green", 0.0)]
    assert_all_seen(studio.show(laid), laid)


def test_a_block_cut_off_by_the_edge_is_there_but_not_to_be_trusted(studio: BeltStudio) -> None:
    laid = [cube(0.5, 0.26)]
    (seen,) = see_blocks(studio.show(laid), CATALOGUE, BELT)
    assert not seen.whole
    assert seen.colour == "red"
    assert off(seen, laid[0])[0] < 2 * seen.sigma_m


def test_a_whole_block_beside_one_that_is_cut_off_is_still_whole(studio: BeltStudio) -> None:
    laid = [cube(0.5, 0.245, "blue", 0.0), cube(0.507, 0.203, "blue", 0.0)]
    seen = see_blocks(studio.show(laid, Shot(emissive=True)), CATALOGUE, BELT)
    assert [each.whole for each in seen] == [True, False]
    assert off(seen[0], laid[1])[0] < 0.001


def test_what_is_hidden_is_not_seen_and_what_it_cuts_is_not_trusted(studio: BeltStudio) -> None:
    laid = [cube(0.45, 0.0), cube(0.55, 0.0, "blue"), cube(0.5, 0.12, "green")]
    picture = studio.show(laid)
    lens = Lens.of(picture)
    low, high = (lens.pixels(np.array([x, y, 0.04])) for x, y in ((0.38, -0.08), (0.555, 0.06)))
    hidden = (np.array([low, [low[0], high[1]], high, [high[0], low[1]]]),)
    seen = see_blocks(picture, CATALOGUE, BELT, hidden)
    assert sorted((each.colour, each.whole) for each in seen) == [("blue", False), ("green", True)]
    in_view = in_view_of(picture, BELT, hidden)
    assert [in_view(block.x_m, block.y_m) for block in laid] == [False, False, True]


def test_fingers_furniture_and_markings_are_no_blocks(studio: BeltStudio) -> None:
    picture = studio.show([], Shot(height_m=0.6, x_m=0.35, y_m=0.25, finger=(0.5, 0.2, 0.1)))
    assert see_blocks(picture, CATALOGUE, BELT) == ()


def test_a_block_partly_behind_a_finger_is_seen_as_sure_as_it_is(studio: BeltStudio) -> None:
    laid = [cube(0.5, 0.0)]
    (seen,) = see_blocks(studio.show(laid, Shot(finger=(0.517, 0.012, 0.06))), CATALOGUE, BELT)
    assert off(seen, laid[0])[0] < 2 * seen.sigma_m


def test_a_camera_that_does_not_look_down_sees_nothing(studio: BeltStudio) -> None:
    picture = studio.show([cube(0.5, 0.0)])
    sideways = replace(picture, rotation=picture.rotation @ np.array([[1.0, 0, 0], [0, 0, -1], [0, 1, 0]]))
    assert see_blocks(sideways, CATALOGUE, BELT) == ()


def test_a_black_picture_shows_nothing(studio: BeltStudio) -> None:
    picture = studio.show([cube(0.5, 0.0)])
    assert see_blocks(replace(picture, rgb=np.zeros_like(picture.rgb)), CATALOGUE, BELT) == ()


def test_the_same_picture_gives_the_same_bits(studio: BeltStudio) -> None:
    random = np.random.default_rng(2)
    picture = studio.show(laid_at_random(random, Shot(), 5, 0.0))
    assert see_blocks(picture, CATALOGUE, BELT) == see_blocks(picture, CATALOGUE, BELT)


def test_headings_are_in_their_range(studio: BeltStudio) -> None:
    for yaw in np.linspace(-3, 3, 9):
        laid = [cube(0.45, 0.0, "red", yaw), Laid(colour="blue", size_m=LONG, x_m=0.55, y_m=0.0, yaw_rad=yaw)]
        for each in see_blocks(studio.show(laid), CATALOGUE, BELT):
            half = np.pi / 4 if each.size_m == CUBE else np.pi / 2
            assert -half < each.yaw_rad <= half
    assert set(RGB) > set(ACCEPTED)
