"""Known things in pictures: found where they stand, with an error that is honest, and nothing else found."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pytest
from numpy.typing import NDArray

from graspline.parameters import build
from graspline.perception.colour.coloured_objects import FittedObject, see_things
from graspline.perception.colour.expected_objects import is_hidden, see_near
from graspline.rendering.choose import Renderer, open_renderer
from graspline.rendering.picture import Picture
from graspline.scenes.block_table import KINDS, block_table, blocks_start, blocks_variation, kind_of
from graspline.scenes.randomization import TexturedRandomization, randomized
from graspline.scenes.scene import Lying
from graspline.spatial.poses import Pose
from graspline.spatial.rotations import matrix_from_vector, quaternion_from_matrix

Array = NDArray[np.float64]

SCENE = block_table()
# The arm folded back over its base, out of the way of most of the table.
ARM_AWAY = np.array([1.9, -1.6, 1.6, 1.0, 0.0, 0.0])
BOXES = [each.name for each in KINDS if each.shape == "box"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Studio:
    renderer: Renderer

    def show(
        self,
        things: dict[str, Lying],
        *,
        raised_m: float = 0.0,
        rotation: Array | None = None,
        height_m: float | None = None,
        arm: Array = ARM_AWAY,
        looks: TexturedRandomization | None = None,
    ) -> Picture:
        """A picture of these things standing, raised or, all of them, turned."""
        qpos = blocks_start(things)
        qpos[: len(arm)] = arm
        for name in things:
            at = SCENE.joint_address(name)
            qpos[at + 2] = (qpos[at + 2] if height_m is None else height_m) + raised_m
            if rotation is not None:
                qpos[at + 3 : at + 7] = quaternion_from_matrix(rotation)
        variation = blocks_variation(things, 1.0, {})
        if looks is not None:
            variation = randomized(SCENE, variation, looks, np.random.default_rng(3))
        return self.renderer.render(qpos, variation, "front")


@pytest.fixture(scope="module")
def studio() -> Iterator[Studio]:
    with open_renderer(SCENE, 640, 480) as renderer:
        yield Studio(renderer=renderer)


def standing(name: str, x_m: float, y_m: float, yaw_rad: float = 0.3, scale: float = 1.0) -> Lying:
    x, y, z = (scale * each for each in kind_of(name).half_extents_m)
    return Lying(x_m=x_m, y_m=y_m, half_extents_m=(x, y, z), mass_kg=0.03, yaw_rad=yaw_rad)


def scattered(seed: int) -> dict[str, Lying]:
    """All of the pool, in a grid with some disorder, so that none is hidden altogether."""
    random = np.random.default_rng(seed)
    spots = [(x, y) for x in (0.14, 0.24, 0.34) for y in (-0.22, -0.08, 0.06, 0.2)]
    chosen = random.permutation(len(spots))[: len(KINDS)]
    return {
        kind.name: standing(
            kind.name,
            spots[spot][0] + random.uniform(-0.02, 0.02),
            spots[spot][1] + random.uniform(-0.03, 0.03),
            random.uniform(-np.pi, np.pi),
            random.uniform(0.9, 1.1),
        )
        for kind, spot in zip(KINDS, chosen, strict=True)
    }


def off(thing: FittedObject, placed: Lying) -> tuple[float, float, float]:
    """How far off it is seen: in sigmas of place and of heading, and as a share of its size."""
    x, y, _ = thing.position_m
    place = float(np.hypot(x - placed.x_m, y - placed.y_m)) / thing.position_sigma_m
    # A square block looks the same after a quarter turn.
    period = np.pi / 2 if thing.name == "red_2x2" else np.pi
    turn = (thing.yaw_rad - placed.yaw_rad + period / 2) % period - period / 2
    heading = abs(turn) / thing.yaw_sigma_rad if thing.name in BOXES else 0.0
    return place, heading, abs(float(thing.half_extents_m[0]) / placed.half_extents_m[0] - 1)


@pytest.mark.parametrize("seed", range(6))
def test_everything_is_found_where_it_stands(studio: Studio, seed: int) -> None:
    placed = scattered(seed)
    found = {each.name: each for each in see_things(studio.show(placed), KINDS)}
    assert len(found) >= len(placed) - 1
    for name, thing in found.items():
        place, heading, size = off(thing, placed[name])
        assert place < 4, name
        assert heading < 4, name
        assert size < 0.02, name
        assert thing.position_sigma_m < 0.003


def test_what_is_not_there_is_not_found(studio: Studio) -> None:
    things = {"red_2x2": standing("red_2x2", 0.25, 0.05)}
    assert [each.name for each in see_things(studio.show(things), KINDS)] == ["red_2x2"]
    home = studio.show(things, arm=SCENE.robot.home)
    assert [each.name for each in see_things(home, KINDS)] == ["red_2x2"]


def test_a_black_picture_shows_nothing(studio: Studio) -> None:
    picture = studio.show(scattered(1))
    assert see_things(replace(picture, rgb=np.zeros_like(picture.rgb)), KINDS) == []


def test_other_light_colours_and_cameras_change_nothing(studio: Studio) -> None:
    aspects = ("lighting", "camera", "colours", "textures")
    looks = build(TexturedRandomization, assignments=[f"{each}.on=true" for each in aspects])
    placed = scattered(2)
    found = see_things(studio.show(placed, looks=looks), KINDS)
    assert len(found) >= len(placed) - 1
    assert max(off(each, placed[each.name])[0] for each in found) < 4


def test_what_stands_behind_another_is_less_certain(studio: Studio) -> None:
    block, can = standing("blue_2x4", 0.20, 0.04), standing("white_can", 0.247, 0.01)
    alone = see_things(studio.show({"blue_2x4": block}), KINDS)[0]
    behind = see_things(studio.show({"blue_2x4": block, "white_can": can}), KINDS)[0]
    assert behind.share_seen < 0.8 < alone.share_seen
    assert behind.position_sigma_m > alone.position_sigma_m
    assert off(behind, block)[0] < 4


@pytest.mark.parametrize("name", [each.name for each in KINDS if each.shape != "ball"])
def test_what_lies_on_its_side_is_not_said_to_stand(studio: Studio, name: str) -> None:
    kind = kind_of(name)
    over = matrix_from_vector(np.array([0.0, 0.0, 0.5])) @ matrix_from_vector(np.array([0.0, np.pi / 2, 0.0]))
    picture = studio.show({name: standing(name, 0.25, 0.0)}, rotation=over, height_m=kind.half_extents_m[0])
    assert see_things(picture, (kind,)) == []


def test_what_is_in_the_air_looks_larger(studio: Studio) -> None:
    can = {"purple_can": standing("purple_can", 0.2, 0.0)}
    low, high = (see_things(studio.show(can, raised_m=up), KINDS)[0] for up in (0.0, 0.03))
    assert high.half_extents_m[0] / low.half_extents_m[0] > 1.02


def half_m(name: str) -> Array:
    return np.array(kind_of(name).half_extents_m)


def pose(name: str, x_m: float, y_m: float, up_m: float, yaw_rad: float) -> Pose:
    return Pose(
        position_m=np.array([x_m, y_m, half_m(name)[2] + up_m]),
        rotation=matrix_from_vector(np.array([0.0, 0.0, yaw_rad])),
    )


@pytest.mark.parametrize("name", [each.name for each in KINDS])
@pytest.mark.parametrize("slipped_m", [0.0, 0.015, 0.05])
def test_a_raised_thing_is_followed_down(studio: Studio, name: str, slipped_m: float) -> None:
    picture = studio.show({name: standing(name, 0.2, 0.05, 0.4)}, raised_m=0.06 - slipped_m)
    seen = see_near(picture, kind_of(name), half_m(name), pose(name, 0.2, 0.05, 0.06, 0.4))
    assert seen is not None
    ahead = -picture.rotation[:, 2]
    really = pose(name, 0.2, 0.05, 0.06 - slipped_m, 0.4).position_m
    aside = (seen - really) - ahead * float(ahead @ (seen - really))
    # What is nearer to the camera than expected seems a little farther aside.
    assert np.linalg.norm(aside) < 0.001 + 0.05 * slipped_m


def test_a_thing_is_not_followed_where_there_is_none(studio: Studio) -> None:
    assert see_near(studio.show({}), kind_of("red_2x2"), half_m("red_2x2"), pose("red_2x2", 0.2, 0.0, 0.0, 0.0)) is None


def test_where_the_table_shines_through_there_is_nothing(studio: Studio) -> None:
    away, red = standing("red_2x2", 0.25, -0.1), kind_of("red_2x2")
    picture = studio.show({"red_2x2": away})
    assert not is_hidden(picture, red, half_m("red_2x2"), pose("red_2x2", 0.2, 0.1, 0.0, 0.3))
    assert is_hidden(picture, red, half_m("red_2x2"), pose("red_2x2", away.x_m, away.y_m, 0.0, away.yaw_rad))
