"""The eye of `grab`: by pictures alone, with a memory for what is hidden and for what size things have."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from graspline.engine.layout import Readings
from graspline.execution.requests import Look, Reply
from graspline.perception.core.beliefs import Belief
from graspline.rendering.choose import Renderer, open_renderer
from graspline.scenes.block_table import block_table, blocks_start, blocks_variation, kind_of
from graspline.scenes.scene import Lying
from graspline.tasks.grab.parameters import GrabPerception
from graspline.tasks.grab.sight import CameraEye, make_eye
from graspline.tasks.stages.sight import TruthEye

from ..replies import play, readings, reply

Array = NDArray[np.float64]

SCENE = block_table()
ARM_AWAY = np.array([1.9, -1.6, 1.6, 1.0, 0.0, 0.0])
FRONT = Look("front", 640, 480)


class Stage:
    """Draws what an eye asks to see."""

    def __init__(self, renderer: Renderer) -> None:
        self._renderer = renderer

    def shows(
        self,
        *names: str,
        x_m: float = 0.22,
        raised_m: float = 0.0,
        scale: float = 1.0,
        sensed: Readings | None = None,
        arm: Array = ARM_AWAY,
    ) -> Reply:
        """The answer to a look at these things in a row, the first of them raised so far."""
        things = {name: _standing(name, x_m, 0.1 * index, scale) for index, name in enumerate(names)}
        qpos = blocks_start(things)
        qpos[: len(arm)] = arm
        if names:
            qpos[SCENE.joint_address(names[0]) + 2] += raised_m
        picture = self._renderer.render(qpos, blocks_variation(things, 1.0, {}), "front")
        return reply(value=picture, sensed=sensed, time_s=1.0)


def _standing(name: str, x_m: float, y_m: float, scale: float) -> Lying:
    x, y, z = (scale * each for each in kind_of(name).half_extents_m)
    return Lying(x_m=x_m, y_m=y_m, half_extents_m=(x, y, z), mass_kg=0.03, yaw_rad=0.2)


@pytest.fixture(scope="module")
def stage() -> Iterator[Stage]:
    with open_renderer(SCENE, 640, 480) as renderer:
        yield Stage(renderer)


def eye() -> CameraEye:
    return CameraEye(perception=GrabPerception(source="camera"))


def seen(request: Any, answer: Reply) -> Any:
    asked, result = play(request, answer)
    assert asked == [FRONT]
    return result


def names(survey: tuple[Belief, ...]) -> list[str]:
    return [each.name for each in survey]


def black(answer: Reply) -> Reply:
    picture: Any = answer.value
    picture.rgb[:] = 0
    return answer


def test_the_scenario_names_the_estimator() -> None:
    random = np.random.default_rng(1)
    assert isinstance(make_eye(GrabPerception(), random), TruthEye)
    assert isinstance(make_eye(GrabPerception(source="camera"), random), CameraEye)


def test_a_thing_is_seen_with_its_size_heading_and_error(stage: Stage) -> None:
    found = seen(eye().see("green_2x3"), stage.shows("green_2x3", scale=1.06))
    np.testing.assert_allclose(found.position_m, (0.22, 0.0, 0.012 * 1.06), atol=0.0005)
    np.testing.assert_allclose(found.half_extents_m, 1.06 * np.array(kind_of("green_2x3").half_extents_m), rtol=0.01)
    assert 2 * np.arctan2(found.quaternion[3], found.quaternion[0]) == pytest.approx(0.2, abs=0.02)
    assert (found.shape, found.time_s) == ("box", 1.0)
    assert 0 < found.position_sigma_m < 0.0005
    assert 0 < found.yaw_sigma_rad < 0.02


def test_what_is_not_there_is_not_seen(stage: Stage) -> None:
    assert seen(eye().see("red_2x2"), stage.shows("green_2x3")) is None


def test_a_survey_believes_what_is_hidden_and_forgets_what_is_gone(stage: Stage) -> None:
    looking = eye()
    assert names(seen(looking.survey(), stage.shows("red_2x2", "purple_can"))) == ["red_2x2", "purple_can"]
    assert names(seen(looking.survey(), black(stage.shows("red_2x2", "purple_can")))) == ["red_2x2", "purple_can"]
    assert names(seen(looking.survey(), stage.shows("red_2x2"))) == ["red_2x2"]


def test_what_is_believed_is_not_seen(stage: Stage) -> None:
    looking = eye()
    seen(looking.survey(), stage.shows("red_2x2"))
    assert seen(looking.see("red_2x2"), black(stage.shows("red_2x2"))) is None


def test_a_thing_still_in_the_hand_is_not_taken_for_one_on_the_table(stage: Stage) -> None:
    looking = eye()
    assert seen(looking.see("orange_1"), stage.shows("orange_1")) is not None
    assert seen(looking.see("orange_1"), stage.shows("orange_1", raised_m=0.02)) is None
    assert seen(looking.see("orange_1"), stage.shows("orange_1", x_m=0.26)) is not None


def test_gripped_but_hidden_it_is_believed_with_a_larger_error(stage: Stage) -> None:
    looking = eye()
    before = seen(looking.see("red_2x2"), stage.shows("red_2x2"))
    gripped = seen(looking.see_gripped("red_2x2"), black(stage.shows("red_2x2")))
    np.testing.assert_array_equal(gripped.position_m, before.position_m)
    assert gripped.position_sigma_m > before.position_sigma_m


@pytest.mark.parametrize("x_m", [0.28, None])
def test_gripped_but_seen_elsewhere_or_nowhere_it_is_missed(stage: Stage, x_m: float | None) -> None:
    looking = eye()
    seen(looking.see("red_2x2"), stage.shows("red_2x2"))
    shown = stage.shows() if x_m is None else stage.shows("red_2x2", x_m=x_m)
    assert seen(looking.see_gripped("red_2x2"), shown) is None


def test_a_gripped_thing_is_watched_where_the_hand_has_it(stage: Stage) -> None:
    looking, hand = eye(), readings(tool_m=(0.22, 0.0, 0.02))
    seen(looking.see_gripped("red_2x2"), stage.shows("red_2x2", sensed=hand))
    watch = looking.watch("red_2x2")
    assert (watch.target, watch.look) == ("red_2x2", FRONT)
    assert watch.track is not None
    up = np.array([0.22, 0.0, 0.06])
    lifted: Any = stage.shows("red_2x2", raised_m=0.04).value
    followed = watch.track(lifted, up, np.eye(3))
    assert followed is not None
    np.testing.assert_allclose(followed, (0.22, 0.0, 0.052), atol=0.001)
    left: Any = stage.shows("red_2x2").value
    found = watch.track(left, up, np.eye(3))
    assert found is not None
    assert found[2] < 0.03
