"""Blocks on a belt keep their numbers, and their places are known as well as is said."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.perception.belt.belt_studio import BELT, CATALOGUE, SIZES_M, BeltStudio, Laid, Shot

from graspline.errors import InputError
from graspline.perception.belt.blocks import BlockSeen, in_view_of, see_blocks
from graspline.perception.belt.tracks import Tracks, follow, no_tracks, without

DIRECTION = (0.0, -1.0)
SIGMA_M, YAW_SIGMA_RAD = 0.0003, 0.004
CUBE, SMALL, LONG = SIZES_M
Speed = Callable[[float], float]


def block(x_m: float, y_m: float, colour: str = "red", yaw_rad: float = 0.2, size_m: tuple = CUBE) -> BlockSeen:
    return BlockSeen(
        colour=colour,
        size_m=size_m,
        x_m=x_m,
        y_m=y_m,
        yaw_rad=yaw_rad,
        sigma_m=SIGMA_M,
        yaw_sigma_rad=YAW_SIGMA_RAD,
        whole=True,
        misfit_px=0.1,
    )


def in_view(x_m: float, y_m: float) -> bool:
    return abs(y_m) < 0.25


@dataclass(slots=True, kw_only=True)
class Belt:
    """A belt that carries blocks and is looked at; `blocks` are where they were at the start."""

    blocks: list[BlockSeen]
    speed: Speed
    random: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))
    tracks: Tracks = field(default_factory=lambda: no_tracks(DIRECTION))
    time_s: float = 0.0
    travel_m: float = 0.0

    def wait(self, seconds: float) -> None:
        for _ in range(100):
            self.travel_m += self.speed(self.time_s) * seconds / 100
            self.time_s += seconds / 100

    def look(self, pictures: int = 1, every_s: float = 0.1, seen: Callable = in_view) -> Belt:
        for _ in range(pictures):
            self.wait(every_s)
            noisy = [self._seen(each) for each in self.blocks if seen(each.x_m, each.y_m - self.travel_m)]
            self.tracks = follow(self.tracks, noisy, self.time_s, seen)
        return self

    def _seen(self, each: BlockSeen) -> BlockSeen:
        dx, dy, turn = self.random.normal(0, 1, 3)
        return replace(
            each,
            x_m=each.x_m + SIGMA_M * dx,
            y_m=each.y_m - self.travel_m + SIGMA_M * dy,
            yaw_rad=each.yaw_rad + YAW_SIGMA_RAD * turn,
        )

    def number_of(self, each: BlockSeen) -> int:
        """Of the track that is where this block is."""
        y = each.y_m - self.travel_m
        near = [track for track in self.tracks.alive if np.hypot(track.x_m - each.x_m, track.y_m - y) < 0.005]
        assert len(near) == 1
        return near[0].number


def line(count: int, spacing_m: float, random: np.random.Generator) -> list[BlockSeen]:
    return [
        block(
            random.uniform(0.41, 0.59),
            -0.2 + spacing_m * k,
            str(random.choice(["red", "green", "blue", "unknown"])),
            random.uniform(-0.7, 0.7),
            SIZES_M[random.integers(3)],
        )
        for k in range(count)
    ]


@settings(max_examples=30)
@given(st.floats(-0.3, 0.3), st.floats(0.06, 0.2), st.integers(0, 2**32 - 1))
def test_on_a_steady_belt_every_block_keeps_its_number(speed: float, spacing: float, seed: int) -> None:
    random = np.random.default_rng(seed)
    belt = Belt(blocks=line(12, spacing, random), speed=lambda _: speed, random=random)
    numbers: dict[int, int] = {}
    for _ in range(30):
        belt.look(every_s=random.uniform(0.08, 0.2))
        for index, each in enumerate(belt.blocks):
            if in_view(each.x_m, each.y_m - belt.travel_m):
                assert belt.number_of(each) == numbers.setdefault(index, belt.number_of(each))
    assert len(set(numbers.values())) == len(numbers)
    assert abs(belt.tracks.speed_m_s - speed) < 5 * belt.tracks.speed_sigma_m_s


def test_where_a_block_will_be_is_known_as_well_as_is_said() -> None:
    off = []
    for seed in range(40):
        random = np.random.default_rng(seed)
        belt = Belt(blocks=line(5, 0.09, random), speed=lambda _: 0.1, random=random).look(12)
        for track in belt.tracks.alive:
            x, y = track.at(belt.time_s + 1.0)
            truth = min(belt.blocks, key=lambda each, x=x: abs(each.x_m - x))
            error = np.hypot(x - truth.x_m, y - (truth.y_m - belt.travel_m - 0.1))
            off.append(error / track.sigma_at(belt.time_s + 1.0))
    assert np.mean(np.array(off) < 2) >= 0.95
    assert np.median(off) > 0.2


def test_after_a_gap_blocks_are_where_the_belt_has_carried_them() -> None:
    random = np.random.default_rng(1)
    belt = Belt(blocks=line(12, 0.08, random), speed=lambda _: 0.15, random=random).look(8)
    before = {id(each): belt.number_of(each) for each in belt.blocks if in_view(0, each.y_m - belt.travel_m)}
    belt.wait(2.0)
    belt.look(2)
    still = [each for each in belt.blocks if id(each) in before and in_view(0, each.y_m - belt.travel_m)]
    assert still
    assert all(belt.number_of(each) == before[id(each)] for each in still)


@pytest.mark.parametrize("after", [0.2, 0.0, -0.1, -0.2])
def test_a_step_a_jam_and_a_reversal_are_followed(after: float) -> None:
    random = np.random.default_rng(2)
    belt = Belt(blocks=line(20, 0.08, random), speed=lambda t: 0.1 if t < 1.53 else after, random=random).look(15)
    before = {id(each): belt.number_of(each) for each in belt.blocks if in_view(0, each.y_m - belt.travel_m)}
    belt.look(3)
    assert belt.tracks.speed_m_s == pytest.approx(after, abs=0.006)
    belt.look(5)
    assert abs(belt.tracks.speed_m_s - after) < 4 * belt.tracks.speed_sigma_m_s
    still = [each for each in belt.blocks if id(each) in before and in_view(0, each.y_m - belt.travel_m)]
    assert still
    assert all(belt.number_of(each) == before[id(each)] for each in still)


def test_a_belt_that_jammed_while_nobody_looked_is_found_out() -> None:
    random = np.random.default_rng(3)
    belt = Belt(blocks=line(8, 0.09, random), speed=lambda t: 0.2 if t < 1.6 else 0.0, random=random).look(15)
    before = {id(each): belt.number_of(each) for each in belt.blocks if in_view(0, each.y_m - belt.travel_m)}
    belt.wait(2.5)
    belt.look(3)
    assert belt.tracks.speed_m_s == pytest.approx(0.0, abs=0.004)
    still = [each for each in belt.blocks if id(each) in before and in_view(0, each.y_m - belt.travel_m)]
    assert still
    assert all(belt.number_of(each) == before[id(each)] for each in still)


def test_neighbours_that_look_alike_are_not_mixed_up() -> None:
    blocks = [block(0.5, -0.15 + 0.08 * k) for k in range(12)]
    belt = Belt(blocks=blocks, speed=lambda t: 0.1 if t < 1.03 else -0.1).look(10)
    before = {id(each): belt.number_of(each) for each in blocks if in_view(0, each.y_m - belt.travel_m)}
    belt.look(5)
    for each in blocks:
        if id(each) in before and in_view(0, each.y_m - belt.travel_m):
            assert belt.number_of(each) == before[id(each)]


def test_a_block_that_disappears_is_dropped_after_three_pictures() -> None:
    belt = Belt(blocks=[block(0.5, 0.0), block(0.45, 0.15, "blue")], speed=lambda _: 0.05).look(5)
    gone = belt.number_of(belt.blocks[0])
    del belt.blocks[0]
    belt.look(2)
    (missed,) = (track for track in belt.tracks.alive if track.number == gone)
    assert missed.missing == 2
    belt.look()
    assert gone not in [track.number for track in belt.tracks.alive]


def test_a_block_out_of_view_is_not_missed() -> None:
    belt = Belt(blocks=[block(0.5, 0.0), block(0.45, 0.15, "blue")], speed=lambda _: 0.05).look(5)
    belt.look(10, seen=lambda x, y: y > 0.05)
    assert [track.missing for track in belt.tracks.alive] == [0, 0]
    assert belt.number_of(belt.blocks[0]) == 1


def test_something_vague_where_a_block_should_be_may_be_that_block() -> None:
    belt = Belt(blocks=[block(0.5, 0.0)], speed=lambda _: 0.0).look(5)
    vague = replace(block(0.52, 0.01), whole=False, sigma_m=0.02)
    tracks = belt.tracks
    for number in range(5):
        tracks = follow(tracks, [vague], belt.time_s + 0.1 * (number + 1), in_view)
    assert [(track.number, track.missing) for track in tracks.alive] == [(1, 0)]


def test_a_shoved_block_keeps_its_number_and_says_nothing_of_the_belt() -> None:
    belt = Belt(blocks=[block(0.5, 0.0), block(0.42, 0.15, "blue")], speed=lambda _: 0.05).look(8)
    number = belt.number_of(belt.blocks[0])
    belt.blocks[0] = replace(belt.blocks[0], x_m=0.46, y_m=0.05, yaw_rad=-0.3)
    belt.look(2)
    assert belt.number_of(belt.blocks[0]) == number
    assert belt.tracks.speed_m_s == pytest.approx(0.05, abs=0.002)


def test_a_shoved_block_that_may_be_one_of_two_is_a_new_one() -> None:
    belt = Belt(blocks=[block(0.5, 0.0), block(0.5, 0.06)], speed=lambda _: 0.0).look(8)
    belt.blocks = [replace(belt.blocks[0], x_m=0.55, y_m=0.03, yaw_rad=-0.3)]
    belt.look()
    assert belt.number_of(belt.blocks[0]) == 3
    belt.look(2)
    assert [track.number for track in belt.tracks.alive] == [3]


def test_a_block_that_was_nudged_does_not_change_the_speed() -> None:
    random = np.random.default_rng(4)
    belt = Belt(blocks=line(5, 0.08, random), speed=lambda _: 0.05, random=random).look(10)
    belt.blocks[2] = replace(belt.blocks[2], y_m=belt.blocks[2].y_m + 0.003)
    for _ in range(3):
        belt.look()
        assert belt.tracks.speed_m_s == pytest.approx(0.05, abs=0.002)
    assert len(belt.tracks.alive) == 5


def test_a_size_mistaken_once_is_outvoted() -> None:
    belt = Belt(blocks=[block(0.5, 0.0)], speed=lambda _: 0.05).look(4)
    belt.blocks[0] = replace(belt.blocks[0], size_m=SMALL)
    belt.look()
    belt.blocks[0] = replace(belt.blocks[0], size_m=CUBE)
    (track,) = belt.look().tracks.alive
    assert (track.number, track.size_m, track.sightings) == (1, CUBE, 6)


def test_a_block_of_another_colour_is_another_block() -> None:
    belt = Belt(blocks=[block(0.5, 0.0)], speed=lambda _: 0.0).look(4)
    belt.blocks[0] = replace(belt.blocks[0], colour="blue")
    assert sorted(track.number for track in belt.look().tracks.alive) == [1, 2]


def test_a_block_that_was_taken_is_gone_and_its_number_with_it() -> None:
    belt = Belt(blocks=[block(0.5, 0.0), block(0.45, 0.15, "blue")], speed=lambda _: 0.1).look(8)
    speed = belt.tracks.speed_m_s
    belt.tracks = without(belt.tracks, belt.number_of(belt.blocks.pop(0)))
    assert belt.tracks.speed_m_s == speed
    belt.blocks.append(block(0.55, 0.2, "green"))
    assert [track.number for track in belt.look(3).tracks.alive] == [2, 3]


def test_a_block_partly_seen_starts_no_track() -> None:
    partly = replace(block(0.5, 0.2), whole=False, sigma_m=0.02)
    assert follow(no_tracks(DIRECTION), [partly], 0.0, in_view).alive == ()


def test_a_running_belt_is_followed_in_pictures_from_a_moving_camera() -> None:
    studio, tracks, speed, laid = BeltStudio(), no_tracks(DIRECTION), 0.12, list[Laid]()
    colours = ["red", "violet", "green", "red", "blue", "yellow"]
    for number in range(15):
        time_s = 0.1 * number
        laid = [
            Laid(
                colour=colour,
                size_m=SIZES_M[k % 3],
                x_m=0.42 + 0.03 * k,
                y_m=-0.1 + 0.09 * k - speed * time_s,
                yaw_rad=0.4 * k,
            )
            for k, colour in enumerate(colours)
        ]
        picture = studio.show(laid, Shot(height_m=0.4 + 0.1 * time_s, y_m=0.1 * time_s, emissive=True))
        tracks = follow(tracks, see_blocks(picture, CATALOGUE, BELT), time_s, in_view_of(picture, BELT))
    studio.close()
    assert tracks.speed_m_s == pytest.approx(speed, rel=0.003)
    assert tracks.next_number == len(colours) + 1
    for track in tracks.alive:
        x, y = track.at(2.0)
        off = [np.hypot(x - each.x_m, y - (each.y_m - speed * 0.6)) for each in laid]
        assert min(off) < 0.001


def test_pictures_must_be_in_order() -> None:
    tracks = follow(no_tracks(DIRECTION), [], 1.0, in_view)
    with pytest.raises(InputError, match="in order"):
        follow(tracks, [], 1.0, in_view)
    with pytest.raises(InputError, match="direction"):
        no_tracks((0.0, 0.0))
