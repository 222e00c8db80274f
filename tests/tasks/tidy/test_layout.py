"""Random rooms: items upright, apart, in reach and at rest."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graspline.engine.cpu import CpuEngine
from graspline.errors import InputError
from graspline.parameters import Range
from graspline.robots.hsr import hsr
from graspline.scenes.fittings import SHELF, TABLE, Fitting
from graspline.scenes.footprints import gap_m, outlines_of, room_m
from graspline.scenes.household import ITEMS, KNOWN, Item, item_of, unknown_item
from graspline.scenes.household_bodies import is_parked
from graspline.scenes.room import Standing, room
from graspline.spatial.rotations import yaw_of
from graspline.tasks.task import Draw
from graspline.tasks.tidy.layout import sample
from graspline.tasks.tidy.parameters import TableParameters

SCENE = room(hsr())
SEEDS = range(50)


def drawn(parameters: TableParameters, seed: int = 0) -> Draw:
    return sample(parameters, SCENE, np.random.default_rng(seed))


def made(draw: Draw, name: str) -> Item:
    """An item as it is in this draw."""
    item = item_of(name)
    if item.known:
        return item
    size = draw.variation.values(SCENE.model, "geom_size", name)
    return unknown_item(name, item.shape, SCENE.extents_of(name, size), item.rgb)


def standing_in(draw: Draw) -> dict[str, Standing]:
    found = {}
    for item in ITEMS:
        at = SCENE.joint_address(item.name)
        x, y, z = draw.start[at : at + 3].tolist()
        if not is_parked((x, y, z)):
            yaw = float(yaw_of(draw.start[at + 3 : at + 7]))
            found[item.name] = Standing(item=made(draw, item.name), position_m=(x, y, z), yaw_rad=yaw)
    return found


def level_of(draw: Draw, each: Standing) -> tuple[Fitting, str]:
    """What it stands on."""
    bottom = each.position_m[2] - each.item.half_extents_m[2]
    heights = {
        (fitting.name, level.name): fitting.position_m[2] + level.position_m[2]
        for fitting in (TABLE.in_variation(draw.variation), SHELF.in_variation(draw.variation))
        for level in fitting.levels
        if (fitting.name == "table") == (each.position_m[1] < 1.0)
    }
    (name, level), height = min(heights.items(), key=lambda entry: abs(entry[1] - bottom))
    assert bottom == pytest.approx(height, abs=1e-9)
    return (TABLE if name == "table" else SHELF).in_variation(draw.variation), level


def within(fitting: Fitting, level: str, each: Standing) -> tuple[float, float, float]:
    """Place and heading of an item, around the level's middle and along its axes."""
    surface = fitting.level(level)
    offset = np.array(each.position_m) - fitting.in_world(surface.position_m)
    cosine, sine = np.cos(fitting.yaw_rad), np.sin(fitting.yaw_rad)
    x, y = cosine * offset[0] + sine * offset[1], cosine * offset[1] - sine * offset[0]
    return float(x), float(y), each.yaw_rad - fitting.yaw_rad


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000))
def test_items_stand_apart_within_reach_and_away_from_edges(seed: int) -> None:
    parameters = TableParameters()
    draw = drawn(parameters, seed)
    standing = standing_in(draw)
    outlines: dict[str, list] = {}
    for each in standing.values():
        fitting, level = level_of(draw, each)
        place = within(fitting, level, each)
        mine = outlines_of(each.item, *place)
        edge = parameters.edge_m if level == "table" else 0.02
        assert room_m(mine, fitting.level(level).half_extents_m) >= edge - 1e-9
        if level == "table":
            assert place[0] + 0.3 <= parameters.reach_m + 1e-9
        assert all(gap_m(mine, other) >= parameters.gap_m - 1e-9 for other in outlines.get(level, []))
        outlines.setdefault(level, []).append(mine)
    on_table = len(outlines.get("table", []))
    assert 1 <= on_table <= 5
    assert on_table == draw.variation.described["table.count"]
    assert len(standing) - on_table == draw.variation.described["shelf.count"] <= 3


def test_nothing_moves_once_an_episode_has_begun() -> None:
    engine = CpuEngine(SCENE, len(SEEDS), 1)
    for lane, seed in enumerate(SEEDS):
        draw = drawn(TableParameters(), seed)
        engine.reset(lane, draw.start, draw.variation)
    columns = np.concatenate([SCENE.joint_address(name) + np.arange(7) for name in SCENE.object_names])
    before = engine.qpos[:, columns].copy()
    controls = np.tile(SCENE.robot.home, (len(SEEDS), 1))
    for _ in range(SCENE.robot.control_hz // 2):
        assert not engine.step(controls, np.arange(len(SEEDS)))
    moved = np.abs(engine.qpos[:, columns] - before).reshape(len(SEEDS), -1, 7)
    assert moved[..., :3].max() < 1e-4
    assert moved[..., 3:].max() < 1e-3


def test_the_same_seed_draws_the_same_room_and_another_another() -> None:
    one, two, other = (drawn(TableParameters(), seed) for seed in (3, 3, 4))
    assert one.start.tobytes() == two.start.tobytes()
    assert one.variation == two.variation
    assert one.start.tobytes() != other.start.tobytes()


def test_wanted_objects_stand_on_the_table_and_never_on_the_shelf() -> None:
    parameters = TableParameters(objects=("mug", "apple"), count=Range(1, 5))
    for seed in SEEDS:
        draw = drawn(parameters, seed)
        standing = standing_in(draw)
        for name in parameters.objects:
            assert level_of(draw, standing[name])[1] == "table"
        assert draw.variation.described["table.count"] >= 2


@pytest.mark.parametrize(("share", "least", "most"), [(0.0, 0, 0), (1.0, 5, 5), (0.4, 1, 4)])
def test_a_share_of_items_is_unknown(share: float, least: int, most: int) -> None:
    parameters = TableParameters(count=Range(5, 5), shelved=Range(0, 0), unknown_share=share)
    counts = [sum(not each.item.known for each in standing_in(drawn(parameters, seed)).values()) for seed in SEEDS]
    assert least <= np.mean(counts) <= most


def test_unknown_items_differ_in_size_and_fit_the_hand() -> None:
    parameters = TableParameters(count=Range(5, 5), unknown_share=1.0)
    sizes = {
        each.item.half_extents_m
        for seed in SEEDS
        for each in standing_in(drawn(parameters, seed)).values()
        if not each.item.known
    }
    assert len(sizes) == 5 * len(SEEDS)
    assert all(0.04 < 2 * narrow <= 0.09 and 2 * high <= 0.2 for narrow, _, high in sizes)


def test_furniture_is_a_little_off_and_the_draw_says_how_far() -> None:
    parameters = TableParameters()
    for fitting in (TABLE, SHELF):
        offsets = []
        for seed in SEEDS:
            draw = drawn(parameters, seed)
            real = fitting.in_variation(draw.variation)
            offset = np.array(real.position_m) - fitting.position_m
            told = draw.variation.described
            assert offset == pytest.approx([told[f"{fitting.name}.{axis}_m"] for axis in "xyz"])
            assert real.yaw_rad - fitting.yaw_rad == pytest.approx(told[f"{fitting.name}.turn_rad"])
            offsets.append(np.abs([*offset, real.yaw_rad - fitting.yaw_rad]))
        limits = (parameters.shift_m, parameters.shift_m, parameters.sink_m, parameters.turn_rad)
        most = np.max(offsets, axis=0)
        assert (most <= np.array(limits) + 1e-9).all()
        assert (most > 0.5 * np.array(limits)).all()


def test_a_table_may_be_empty() -> None:
    draw = drawn(TableParameters(count=Range(0, 0), shelved=Range(0, 0)))
    assert standing_in(draw) == {}


def test_what_cannot_be_laid_is_refused_with_what_would_help() -> None:
    with pytest.raises(InputError, match=r"table\.gap_m"):
        drawn(TableParameters(count=Range(5, 5), gap_m=0.2, reach_m=0.2))
    with pytest.raises(InputError, match=r"'mugg' is unknown.*mug"):
        drawn(TableParameters(objects=("mugg",)))
    assert len(KNOWN) >= 8
