"""Bounds come from the measured file, and the file from the kinematics."""

from __future__ import annotations

from importlib import resources

import numpy as np
import pytest
import yaml

from graspline.errors import InputError
from graspline.kinematics.envelopes import envelope_in, grasp_envelope
from graspline.kinematics.so101 import STRAIGHT_DOWN_RAD, solve
from graspline.kinematics.workspace import survey_of, sweep
from graspline.robots.so101 import FIXED_TIP_M, SO101


def test_the_packaged_bounds_are_those_the_kinematics_gives() -> None:
    packaged = yaml.safe_load((resources.files("graspline.kinematics") / "bounds" / "so101.yaml").read_text())
    raw = sweep(survey_of(SO101)).bounds()
    assert packaged["grasp"]["raw"]["radius_m"] == pytest.approx(raw.radius_m, abs=1e-6)
    assert packaged["grasp"]["raw"]["height_m"] == pytest.approx(raw.height_m, abs=1e-6)


def test_nothing_outside_the_envelope_is_reached() -> None:
    bounds, random = grasp_envelope("so101"), np.random.default_rng(0)
    radius, height = random.uniform(0, 0.45, 40_000), random.uniform(-0.3, 0.3, 40_000)
    outside = (radius > bounds.radius_m[1]) | (height < bounds.height_m[0]) | (height > bounds.height_m[1])
    points = np.stack([bounds.axis_m[0] + radius, np.zeros_like(radius), height], axis=-1)[outside]
    yaw = random.uniform(-np.pi, np.pi, len(points))
    assert not solve(points, STRAIGHT_DOWN_RAD, yaw, np.array(FIXED_TIP_M)).reached.any()


def test_a_file_that_is_no_such_file_is_refused() -> None:
    with pytest.raises(InputError, match="workspace_bounds"):
        envelope_in("grasp: {raw: 3}")


def test_a_robot_without_bounds_is_named() -> None:
    with pytest.raises(InputError, match="so101"):
        grasp_envelope("so102")
