"""Randomised episodes: the same bits however they are run, every value in the log, and pictures that say whence."""

from __future__ import annotations

import json

import numpy as np
import pytest

from graspline.choices import ASPECTS
from graspline.engine.cpu import CpuEngine
from graspline.episodes.episode import Episode
from graspline.episodes.log import replay_log
from graspline.episodes.scenario import Scenario
from graspline.parameters import build
from graspline.rendering.rays import RayRenderer
from graspline.scenes.variation import Variation
from graspline.tasks.lift_cube import LIFT_CUBE, LiftCube
from graspline.tasks.oranges.parameters import Oranges
from graspline.tasks.oranges.task import ORANGES

from .playing import run, run_seeds, told

EVERYTHING = [f"randomize.{aspect}.on=true" for aspect in ASPECTS]
VARIED = build(LiftCube, assignments=EVERYTHING)
SEEDS = range(60000, 60006)


@pytest.fixture(scope="module")
def episodes() -> dict[int, Episode]:
    return run_seeds(SEEDS, parameters=VARIED, lanes=1, threads=1)


def test_cubes_are_still_lifted(episodes: dict[int, Episode]) -> None:
    for episode in episodes.values():
        assert episode.verdict == "success"
        assert not episode.false_success


def test_lanes_and_threads_change_nothing(episodes: dict[int, Episode]) -> None:
    assert told(run_seeds(SEEDS, parameters=VARIED, lanes=4, threads=2)) == told(episodes)


def test_a_randomised_log_plays_back_to_the_same_bits(episodes: dict[int, Episode]) -> None:
    late = [episode for episode in episodes.values() if episode.log.variation.latency_ticks]
    assert late
    engine = CpuEngine(LIFT_CUBE.scene(VARIED), 1, 1)
    for episode in episodes.values():
        assert episode.log.variation == episode.sampled.variation
        assert replay_log(engine, episode.log) == episode.state_hash


def test_every_aspect_is_recorded_and_json_tells_it(episodes: dict[int, Episode]) -> None:
    for episode in episodes.values():
        recorded = json.loads(json.dumps(episode.as_dict(), allow_nan=False))["variation"]
        assert {name.split(".")[0] for name in recorded} >= set(ASPECTS)
    assert "variation" not in run_seeds([0])[0].as_dict()


def test_what_is_seen_does_not_change_what_happens() -> None:
    looks = build(LiftCube, assignments=[f"randomize.{each}.on=true" for each in ("lighting", "colours", "textures")])
    plain, seen = run_seeds([60000])[60000], run_seeds([60000], parameters=looks)[60000]
    assert plain.state_hash == seen.state_hash
    assert len(seen.sampled.variation.edits) > len(plain.sampled.variation.edits)


def test_gains_and_delay_change_what_happens() -> None:
    plain = run_seeds([60000])[60000]
    for aspect in ("gains", "friction", "masses"):
        settings = build(LiftCube, assignments=[f"randomize.{aspect}.on=true"])
        assert run_seeds([60000], parameters=settings)[60000].state_hash != plain.state_hash


def test_a_picture_says_where_it_was_really_taken_from() -> None:
    settings = build(Oranges, assignments=["randomize.camera.on=true"])
    draw = Scenario(task=ORANGES, parameters=settings, seed=60000).sample()
    renderer = RayRenderer(ORANGES.scene(settings), 32, 24)
    nominal = renderer.render(draw.start, Variation(), "front")
    taken = renderer.render(draw.start, draw.variation, "front")
    offset = [draw.variation.described[f"camera.front.{axis}_m"] for axis in "xyz"]
    np.testing.assert_allclose(taken.position_m - nominal.position_m, offset, atol=1e-12)
    assert taken.fovy_rad == pytest.approx(draw.variation.described["camera.front.fovy_rad"])


@pytest.mark.slow
def test_plates_are_still_filled_by_camera() -> None:
    settings = build(Oranges, assignments=[*EVERYTHING, "oranges.count=1", "perception.source=camera"])
    (episode,) = run([Scenario(task=ORANGES, parameters=settings, seed=60300)]).values()
    assert episode.verdict == "success"
    assert not episode.false_success
