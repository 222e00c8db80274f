"""What is in a hand: it moves with the hand, and knows how far it reaches."""

from __future__ import annotations

import numpy as np
import pytest

from graspline.perception.core.beliefs import Belief
from graspline.perception.core.held import HeldObject
from graspline.spatial.poses import Pose
from graspline.spatial.rotations import rotation_z

HAND = Pose(position_m=np.array([0.3, 0.1, 0.2]), rotation=rotation_z(0.4))
BOX = Belief.exact("box", np.array([0.32, 0.1, 0.15]), np.array([1.0, 0.0, 0.0, 0.0]), np.array([0.03, 0.04, 0.05]))


def test_it_is_where_it_was_while_the_hand_stays_and_moves_with_it() -> None:
    held = HeldObject.of(BOX, HAND)
    here = held.at(HAND @ held.X_HO)
    assert here.name == "box"
    np.testing.assert_allclose(here.position_m, BOX.position_m, atol=1e-12)
    up = Pose(position_m=np.add(HAND.position_m, (0.0, 0.0, 0.1)), rotation=HAND.rotation)
    np.testing.assert_allclose(held.at(up @ held.X_HO).position_m, np.add(BOX.position_m, (0.0, 0.0, 0.1)), atol=1e-12)


def test_a_box_reaches_to_its_corners_around_its_axis_and_a_cylinder_to_its_radius() -> None:
    held = HeldObject.of(BOX, HAND)
    assert (held.spread_m, held.half_height_m, held.round) == (pytest.approx(0.05), 0.05, False)
    half = np.array([0.03, 0.03, 0.05])
    can = Belief.exact("can", BOX.position_m, BOX.quaternion, half, shape="cylinder")
    assert HeldObject.of(can, HAND).spread_m == 0.03


def test_where_its_bottom_is_has_to_be_known_to_set_it_upright() -> None:
    with pytest.raises(AssertionError, match="bottom"):
        _ = HeldObject.of(BOX, HAND).R_OH
