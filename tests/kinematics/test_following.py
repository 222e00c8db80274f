"""A UR5e's hand along lines: every row reached, one posture, or nothing."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from graspline.kinematics.following import Ur5eHand
from graspline.kinematics.ur5e import forward, straight_down
from graspline.robots.ur5e import HOME

HAND = Ur5eHand()
NEAR = HOME[:6]


@settings(max_examples=40, deadline=None)
@given(st.floats(0.35, 0.65), st.floats(-0.3, 0.3), st.floats(-0.4, 0.4), st.floats(-1.0, 1.0))
def test_every_row_of_a_line_is_reached_and_near_the_one_before(x: float, y: float, along: float, turn: float) -> None:
    points = np.linspace((x, y, 0.03), (x, y + along, 0.2), 60)
    rotation = straight_down(-np.pi / 2 + turn)[0]
    rows = HAND.follow(points, rotation, NEAR)
    assert rows is not None
    reached, turned = HAND.forward(rows)
    np.testing.assert_allclose(reached, points, atol=1e-9)
    np.testing.assert_allclose(turned, np.broadcast_to(rotation, turned.shape), atol=1e-9)
    assert np.abs(np.diff(rows, axis=0)).max() < 0.1


def test_a_line_of_one_point_where_the_hand_is_leaves_joints_as_they_are() -> None:
    point, rotation = HAND.forward(NEAR)
    rows = HAND.follow(point[None], rotation, NEAR)
    assert rows is not None
    np.testing.assert_allclose(rows[0], NEAR, atol=1e-9)


def test_a_wrist_that_is_wound_up_is_not_followed_there() -> None:
    point, rotation = HAND.forward(NEAR)
    wound = NEAR + 2 * np.pi * np.array([0, 0, 0, 0, 0, 1])
    rows = HAND.follow(point[None], rotation, wound)
    assert rows is not None
    np.testing.assert_allclose(rows[0], NEAR, atol=1e-9)


def test_turning_on_and_on_never_winds_wrist_3_up() -> None:
    (point, _), near = HAND.forward(NEAR), NEAR
    for turn in np.arange(0, 40, 0.9):
        rows = HAND.follow(point[None], straight_down(-np.pi / 2 + (turn + np.pi / 2) % np.pi - np.pi / 2)[0], near)
        assert rows is not None
        near = rows[0]
        assert abs(near[5] - NEAR[5]) < 3.3


def test_a_line_that_leads_out_of_reach_is_none_at_all() -> None:
    rotation = straight_down(-np.pi / 2)[0]
    near, far = (np.linspace((0.5, 0.0, 0.1), (x, 0.0, 0.1), 80) for x in (0.7, 1.3))
    assert HAND.follow(near, rotation, NEAR) is not None
    assert HAND.follow(far, rotation, NEAR) is None
    assert HAND.follow(far[-1:], rotation, NEAR) is None


def test_a_longer_tool_is_farther_out() -> None:
    longer = Ur5eHand(tool_m=HAND.tool_m + 0.05)
    (point, rotation), (farther, _) = HAND.forward(NEAR), longer.forward(NEAR)
    np.testing.assert_allclose(farther - point, 0.05 * rotation[:, 0], atol=1e-12)
    np.testing.assert_array_equal(farther, forward(NEAR, HAND.tool_m + 0.05)[0])
    rows = longer.follow(farther[None], rotation, NEAR)
    assert rows is not None
    np.testing.assert_allclose(rows[0], NEAR, atol=1e-9)
