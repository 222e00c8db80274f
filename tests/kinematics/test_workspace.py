"""What an arm reaches: the envelope holds, and published figures of the SO-101 come out of its geometry."""

from __future__ import annotations

from typing import cast

import numpy as np
import pytest

from graspline.kinematics import so101
from graspline.kinematics.arm import Arm, ArmLimits, Solutions
from graspline.kinematics.workspace import (
    MARGIN,
    STEP_M,
    Section,
    Workspace,
    WorkspaceSurvey,
    measure,
    plan_view,
    survey_of,
    sweep,
)
from graspline.robots.so101 import FIXED_TIP_M, ROLL_OFFSET_RAD, SO101

SURVEY = survey_of(SO101)


@pytest.fixture(scope="module")
def workspace() -> Workspace:
    return measure(SURVEY, 50_000)


def test_constants_that_users_publish_come_out_of_our_geometry() -> None:
    published = {
        so101.PAN_X_M: 0.0388,
        so101.LIFT_RADIUS_M: 0.0304,
        so101.LIFT_HEIGHT_M: 0.1166,
        so101.UPPER_LINK_M: 0.1160,
        so101.LOWER_LINK_M: 0.1350,
        FIXED_TIP_M[2]: -0.0079,
        -(so101.GRIPPER_M + FIXED_TIP_M[0]): -0.15923,
        # Theirs is counted from the arm's plane, ours from across it.
        np.pi / 2 - ROLL_OFFSET_RAD: np.pi / 2 - 0.0487,
    }
    for ours, theirs in published.items():
        assert ours == pytest.approx(theirs, abs=6e-5)


def test_published_bounds_straight_down_hold_seen_from_the_base(workspace: Workspace) -> None:
    raw = workspace.section.bounds()
    assert raw.radius_m[1] + so101.PAN_X_M == pytest.approx(0.325, abs=STEP_M)
    assert raw.height_m == pytest.approx((-0.225, 0.090), abs=STEP_M + 1e-9)
    # Theirs begins at 0.040 m: straight above the pan axis, which stands there.
    assert raw.radius_m[0] == 0.0


def test_nothing_reaches_as_far_as_published_for_any_direction(workspace: Workspace) -> None:
    links = so101.LIFT_RADIUS_M + so101.UPPER_LINK_M + so101.LOWER_LINK_M + so101.GRIPPER_M + FIXED_TIP_M[0]
    longest = np.hypot(links, FIXED_TIP_M[2])
    assert workspace.general.radius_m[1] <= longest
    assert workspace.general.radius_m[1] == pytest.approx(longest, abs=0.003)
    assert longest + so101.PAN_X_M < 0.48 < 0.546


def test_nothing_outside_the_envelope_is_reached(workspace: Workspace) -> None:
    random, raw = np.random.default_rng(1), workspace.section.bounds()
    radius, height = random.uniform(0.0, 0.45, 20_000), random.uniform(-0.3, 0.3, 20_000)
    azimuth, yaw = random.uniform(-1.9, 1.9, 20_000), random.uniform(-np.pi, np.pi, 20_000)
    outside = (
        (radius > raw.radius_m[1] + STEP_M) | (height < raw.height_m[0] - STEP_M) | (height > raw.height_m[1] + STEP_M)
    )
    points = np.stack([so101.PAN_X_M + radius * np.cos(azimuth), radius * np.sin(azimuth), height], axis=-1)
    reached = SURVEY.reaches_down(points, yaw)
    assert outside.sum() > 5000
    assert not reached[outside].any()
    assert reached[~outside].mean() > 0.5


def test_coverage_is_of_poses_within_the_margins(workspace: Workspace) -> None:
    coverage = workspace.coverage
    assert 0.7 < coverage.share < coverage.share_either_way < 1.0


def test_margins_are_a_share_of_each_range(workspace: Workspace) -> None:
    raw = workspace.section.bounds()
    for outer, inner in ((raw.radius_m, raw.inner().radius_m), (raw.height_m, raw.inner().height_m)):
        room = MARGIN * (outer[1] - outer[0])
        assert inner == pytest.approx((outer[0] + room, outer[1] - room))


def test_columns_follow_the_curved_edge(workspace: Workspace) -> None:
    columns = {round(radius, 3): (low, high) for radius, low, high in workspace.section.columns()}
    assert columns[0.15][1] > columns[0.28][1]
    assert columns[0.15][0] < columns[0.28][0]
    assert 0.3 not in columns


def test_the_same_figures_every_time() -> None:
    assert measure(SURVEY, 2000).document() == measure(SURVEY, 2000).document()


class Mast:
    """The arm of a tool on a pole: reaches everything within a ring, with headings up to half a turn."""

    axis_m = (1.0, 0.0)

    def solve(self, position_m: np.ndarray, pitch_rad: float, yaw_rad: np.ndarray, tool_m: np.ndarray) -> Solutions:
        radius = np.hypot(position_m[:, 0] - 1.0, position_m[:, 1])
        inside = (radius >= 0.0999) & (radius <= 0.2001) & (np.abs(position_m[:, 2]) <= 0.0501)
        limits = ArmLimits(misses=(), joints=("mast",), lower_rad=np.array([-1.0]), upper_rad=np.array([1.0]))
        rows = len(position_m)
        return Solutions(
            joints_rad=np.zeros((rows, 1, 1)),
            excess=np.zeros((rows, 1, 1)),
            reached=(inside & (yaw_rad < np.pi - 1e-9))[:, None],
            limits=limits,
        )


def a_mast() -> WorkspaceSurvey:
    return WorkspaceSurvey(
        name="mast", arm=cast(Arm, Mast()), tool_m=np.zeros(3), radius_m=(0.0, 0.3), height_m=(-0.1, 0.1)
    )


def test_a_sweep_finds_what_an_arm_reaches_about_its_own_axis() -> None:
    section = sweep(a_mast())
    assert isinstance(section, Section)
    bounds = section.bounds()
    assert bounds.radius_m == pytest.approx((0.1, 0.2))
    assert bounds.height_m == pytest.approx((-0.05, 0.05))
    assert section.share.max() == 0.5


def test_a_plan_view_is_centred_on_the_axis() -> None:
    axis, share = plan_view(a_mast(), 0.0)
    at = int(np.argmin(np.abs(axis - 0.15)))
    middle = len(axis) // 2
    assert share[middle, middle] == 0
    assert share[at, middle] == share[middle, at] == 0.5
