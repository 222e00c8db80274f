"""What passes between a policy and its robot."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graspline.envs.interface import interface_of
from graspline.errors import InputError
from graspline.robots.so101 import LOWER, UPPER
from graspline.scenes.cube_table import cube_table

from .playing import interface


@given(st.sampled_from(["degrees", "normalized"]), st.lists(st.floats(0, 1), min_size=6, max_size=6))
def test_joints_that_are_seen_are_where_the_same_action_leads(units: str, shares: list[float]) -> None:
    joints = LOWER + np.array(shares) * (UPPER - LOWER)
    each = interface(units=units)
    seen = each.observation(joints, {})["agent_pos"]
    assert seen.dtype == np.float32
    np.testing.assert_allclose(each.target_rad(seen), joints, atol=1e-6)


def test_lists_and_single_precision_are_actions_too() -> None:
    np.testing.assert_array_equal(interface().target_rad([0] * 6), interface().target_rad(np.zeros(6, np.float32)))


class _Stubborn:
    def __init__(self, refusal: BaseException) -> None:
        self._refusal = refusal

    def __array__(self, *arguments: object, **options: object) -> np.ndarray:
        raise self._refusal


@pytest.mark.parametrize(
    "action, words",
    [
        (np.zeros(7), r"the shape \(7,\)"),
        (np.zeros((1, 6)), r"the shape \(1, 6\)"),
        (np.full(6, np.inf), "inf"),
        (None, "shape|no array"),
        ({"action": 1}, "of type dict, is no array"),
        (_Stubborn(RuntimeError("call detach() first")), "of type _Stubborn, is no array: call detach"),
        (_Stubborn(SystemExit(0)), "of type _Stubborn, is no array: 0"),
    ],
)
def test_what_is_no_action_is_refused_with_what_was_expected(action: object, words: str) -> None:
    with pytest.raises(InputError, match=words) as refused:
        interface().target_rad(action)
    assert "expected 6 finite numbers, a target for each of shoulder_pan.pos" in str(refused.value)


def test_pictures_are_named_by_their_camera() -> None:
    picture = np.zeros((24, 32, 3), np.uint8)
    observation = interface(cameras="front:32x24").observation(np.zeros(6), {"front": picture})
    assert list(observation) == ["pixels", "agent_pos"]
    assert observation["pixels"]["front"] is picture


def test_all_that_is_wrong_is_told_at_once_in_the_callers_words() -> None:
    with pytest.raises(InputError) as refused:
        interface_of(cube_table(), fps=25, cameras="frnt:640x480", units="radians", named=lambda name: f"--{name}")
    rate, camera, units = list(refused.value.problems)
    assert rate.startswith("--fps: 25 does not divide the control rate of 60 Hz; use 60, 30, 20, 15")
    assert camera.startswith("--cameras: no camera 'frnt'; did you mean 'front'?")
    assert units.startswith("--units: 'radians' is unknown; known: degrees, normalized")
