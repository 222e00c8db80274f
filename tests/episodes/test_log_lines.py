"""What `run --log` tells: when, what, and not too often."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from graspline.engine.cpu import CpuEngine
from graspline.engine.events import Push
from graspline.episodes.log_lines import Level, Narrator
from graspline.episodes.run import run_scenarios
from graspline.episodes.scenario import Scenario
from graspline.evidence import at_least, at_most
from graspline.execution.notifications import Applied, Ended, Entered, Finished, Noticed, Struck, Targeted
from graspline.parameters import build
from graspline.robots.so101 import SO101
from graspline.scenes.cube_table import cube_start, cube_table
from graspline.scenes.variation import Variation
from graspline.tasks.lift_cube import LIFT_CUBE, LiftCube
from graspline.tasks.oranges.parameters import Oranges
from graspline.tasks.oranges.task import ORANGES

SLIPPED = (at_most("slip", 0.02, 0.01, "m"), at_least("jaw_angle", 0.5, 0.3, "rad"))
HELD = (at_least("jaw_angle", 0.5, 0.3, "rad"),)


def narrator(level: Level = "info") -> tuple[Narrator, list[str]]:
    lines: list[str] = []
    return Narrator(level, lines.append, ("descend", "lift")), lines


@pytest.fixture(scope="module")
def engine() -> CpuEngine:
    found = CpuEngine(cube_table(), 2, 1)
    for lane in range(2):
        found.reset(lane, cube_start(x_m=0.25, y_m=0.0, yaw_rad=0.0, edge_m=0.03), Variation())
    found.step(np.stack([SO101.home] * 2), np.arange(2))
    return found


def tick(telling: Narrator, engine: CpuEngine, times: int) -> None:
    for _ in range(times):
        telling.after_tick(engine)


@pytest.mark.parametrize("state", ["descend", "lift"])
def test_a_hand_that_goes_up_or_down_tells_its_height_every_half_second(engine: CpuEngine, state: str) -> None:
    telling, lines = narrator()
    telling(0, 2.0, Entered(state))
    tick(telling, engine, 120)
    heights = [line for line in lines if "height" in line]
    times = [float(line.split()[2]) for line in heights]
    assert len(times) == 4
    np.testing.assert_allclose(np.diff(times), 0.5, atol=0.02)
    height = float(engine.readings[0, engine.layout.readings["tool_position"]][2])
    assert heights[0].endswith(f"{state}: height {1000 * height:.0f} mm")


def test_other_states_tell_no_heights(engine: CpuEngine) -> None:
    telling, lines = narrator()
    telling(0, 0.0, Entered("transport"))
    tick(telling, engine, 120)
    assert lines == ["lane 0    0.00 s  transport …"]


def test_each_lane_tells_its_own_heights(engine: CpuEngine) -> None:
    telling, lines = narrator()
    telling(0, 0.0, Entered("lift"))
    telling(1, 5.0, Entered("lift"))
    tick(telling, engine, 60)
    assert sum(line.startswith("lane 0") and "height" in line for line in lines) == 2
    assert sum(line.startswith("lane 1") and "height" in line for line in lines) == 2


def test_a_lane_that_is_finished_tells_nothing_more(engine: CpuEngine) -> None:
    telling, lines = narrator()
    telling(0, 0.0, Entered("lift"))
    telling(0, 0.1, Finished("returned"))
    lines.clear()
    tick(telling, engine, 120)
    assert lines == []


def test_states_and_how_they_end_are_told_with_their_time() -> None:
    telling, lines = narrator()
    telling(3, 1.25, Entered("grasp"))
    telling(3, 2.5, Ended("grasp", "closed", "settle", HELD, "orange_2"))
    assert lines == ["lane 3    1.25 s  grasp …", "lane 3    2.50 s  grasp: closed orange_2 → settle"]


def test_a_transport_is_told_with_start_and_target() -> None:
    telling, lines = narrator()
    facts = {"start_m": (0.25, -0.1, 0.12345), "target_m": (0.2, 0.15), "strategy": "direct"}
    telling(0, 4.0, Noticed(what="transport", about="orange_1", facts=facts))
    assert lines == [
        "lane 0    4.00 s  transport orange_1: start (250, -100, 123) mm, target (200, 150) mm, strategy direct"
    ]


def test_placement_checks_are_told_at_debug_only() -> None:
    check = Noticed(what="placement check", about="orange_1", facts={"x_ok": True}, evidence=SLIPPED, detail=True)
    telling, lines = narrator("info")
    telling(0, 4.0, check)
    assert lines == []
    telling, lines = narrator("debug")
    telling(0, 4.0, check)
    assert "placement check orange_1: x_ok True; ✗ slip" in lines[0]
    assert "✓ jaw_angle" in lines[0]


def test_a_refusal_names_what_was_missed_and_is_told_at_most_once_a_second() -> None:
    telling, lines = narrator()
    times = np.arange(0.0, 3.0, 0.1)
    for time_s in times:
        telling(0, float(time_s), Ended("transport", "slipped", "put_back", SLIPPED, "orange_1"))
    told = [float(line.split()[2]) for line in lines]
    assert told == pytest.approx([0.0, 1.0, 2.0], abs=0.11)
    assert "transport: slipped orange_1 (slip 20 mm" in lines[0]
    assert "jaw_angle" not in lines[0]


def test_refusals_of_other_states_oranges_or_lanes_are_told() -> None:
    telling, lines = narrator()
    telling(0, 0.0, Ended("transport", "slipped", "put_back", SLIPPED, "orange_1"))
    telling(0, 0.1, Ended("transport", "slipped", "put_back", SLIPPED, "orange_2"))
    telling(0, 0.2, Ended("lift", "slipped", "put_back", SLIPPED, "orange_1"))
    telling(1, 0.3, Ended("transport", "slipped", "put_back", SLIPPED, "orange_1"))
    assert len(lines) == 4


def test_the_next_episode_of_a_lane_tells_its_refusals_from_the_start() -> None:
    telling, lines = narrator()
    telling(0, 0.5, Ended("transport", "slipped", "put_back", SLIPPED, "orange_1"))
    telling(0, 0.6, Finished("returned"))
    telling(0, 0.2, Ended("transport", "slipped", "put_back", SLIPPED, "orange_1"))
    assert len(lines) == 2


def test_what_the_world_does_is_told_in_words_at_debug_and_not_at_info() -> None:
    told_at: dict[Level, list[str]] = {"info": [], "debug": ["lane 0    1.00 s  scene: cube pushed with 1 N"]}
    for level, told in told_at.items():
        telling, lines = narrator(level)
        telling(0, 1.0, Applied(Push(body="cube", force_n=(1.0, 0.0, 0.0))))
        telling(0, 1.0, Targeted("cube"))
        assert lines == told


def test_a_fault_is_told_with_what_it_struck_or_why_it_did_not() -> None:
    telling, lines = narrator()
    telling(0, 1.0, Struck(fault="drop", target="orange_1", effect="friction of pads 0.01 for 0.3 s"))
    telling(0, 2.0, Struck(fault="jam", effect="damping of elbow_flex is 2000"))
    telling(0, 3.0, Struck(fault="drop", missed="nothing in the hand"))
    assert [line.partition(" s  ")[2] for line in lines] == [
        "fault drop on orange_1: friction of pads 0.01 for 0.3 s",
        "fault jam: damping of elbow_flex is 2000",
        "fault drop not injected: nothing in the hand",
    ]


def test_signals_without_data_are_left_out() -> None:
    telling, lines = narrator("debug")
    nan = float("nan")
    telling(0, 1.0, Ended("lift", "dropped", "idle", (*SLIPPED, at_most("distance_variance", nan, 4e-6, "m²"))))
    telling(0, 2.0, Noticed(what="check", about="cube", facts={"speed_m_s": nan, "ok": True}, evidence=()))
    telling(0, 3.0, Noticed(what="check", about="cube", facts={}, evidence=(at_most("speed", nan, 1.0),)))
    assert not any("absent" in line or "nan" in line for line in lines)
    assert "slip" in lines[0]


@pytest.mark.slow
def test_a_fault_that_strikes_in_an_episode_is_told_once() -> None:
    telling, lines = narrator()
    faulty = Scenario(task=LIFT_CUBE, parameters=LiftCube(), seed=1, faults=("drop@lift+0.3",))
    list(run_scenarios([faulty], observers=[telling]))
    (told,) = [line for line in lines if "fault" in line]
    assert "fault drop on cube: friction of the pads is 0.01 for 0.3 s" in told
    assert "cube pushed with 2 N for 0.3 s" in told


@pytest.fixture(scope="module")
def told() -> Callable[[Level], list[str]]:
    scenario = Scenario(task=ORANGES, parameters=build(Oranges, assignments=["oranges.count=1"]), seed=0)

    def play(level: Level) -> list[str]:
        telling, lines = narrator(level)
        list(run_scenarios([scenario], observers=[telling], after_tick=telling.after_tick))
        return lines

    return play


def test_a_whole_episode_is_told_in_order(told: Callable[[Level], list[str]]) -> None:
    info, debug = told("info"), told("debug")
    times = [float(line.split()[2]) for line in info]
    assert times == sorted(times)
    assert _in_order(info, ["idle …", "descend: height", "lift …", "transport orange_1: start (", "confirm: confirmed"])
    assert not any("placement check" in line for line in info)
    assert any("placement check" in line for line in debug)
    assert [line for line in debug if "placement check" not in line] == info


def _in_order(lines: list[str], words: list[str]) -> bool:
    left: Iterator[str] = iter(lines)
    return all(any(re.search(re.escape(word), line) for line in left) for word in words)
