"""Ways to take a solid: by what is known of it, or by its shape."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graspline.grasping.hand_poses import TOP_RAD, HandPose, grasps_of_shape, hand_poses
from graspline.perception.core.beliefs import Belief, Shape
from graspline.scenes.household import item_of
from graspline.spatial.rotations import quaternion_from_matrix, rotation_z

HALF_M: dict[Shape, tuple[float, float, float]] = {
    "box": (0.03, 0.04, 0.06),
    "cylinder": (0.035, 0.035, 0.06),
    "ball": (0.035, 0.035, 0.035),
}


def solid(shape: Shape = "box", yaw_rad: float = 0.0, half_m: tuple[float, float, float] | None = None) -> Belief:
    return Belief(
        name="unknown",
        shape=shape,
        position_m=np.array([1.2, -0.1, 0.8]),
        quaternion=quaternion_from_matrix(rotation_z(yaw_rad)),
        half_extents_m=np.array(half_m or HALF_M[shape]),
        position_sigma_m=0.0,
        yaw_sigma_rad=0.0,
    )


def same(one: HandPose, other: HandPose) -> bool:
    return bool(np.allclose(one.position_m, other.position_m) and np.allclose(one.rotation, other.rotation))


@settings(max_examples=15)
@given(st.sampled_from(["box", "cylinder", "ball"]), st.floats(-3.1, 3.1))
def test_hands_open_level_and_as_wide_as_the_solid_is_there(shape: Shape, yaw_rad: float) -> None:
    thing = solid(shape, yaw_rad)
    poses = hand_poses(thing, ())
    assert poses
    for pose in poses:
        np.testing.assert_allclose(pose.rotation.T @ pose.rotation, np.eye(3), atol=1e-9)
        assert np.linalg.det(pose.rotation) == pytest.approx(1)
        assert pose.rotation[2, 2] == pytest.approx(0, abs=1e-9)
        # Never from below.
        assert pose.pitch_rad > -1e-9
        opening = np.abs(thing.rotation.T @ pose.rotation[:, 2])
        across = float(opening @ thing.half_extents_m) if shape == "box" else float(thing.half_extents_m[0])
        assert pose.width_m == pytest.approx(2 * across)
        inside = np.abs(thing.rotation.T @ (pose.position_m - thing.position_m))
        assert (inside <= thing.half_extents_m + 1e-9).all()


def test_fingers_may_be_either_way_round() -> None:
    poses = hand_poses(solid(), ())
    assert poses
    for pose in poses:
        turned = pose.rotation * np.array([1.0, -1.0, -1.0])
        twin = HandPose(position_m=pose.position_m, rotation=turned, width_m=pose.width_m, label="")
        assert any(same(twin, other) for other in poses)


def test_known_grasps_turn_with_the_solid_and_stand_in_for_those_of_its_shape() -> None:
    mug = item_of("mug")
    thing = solid("cylinder", yaw_rad=1.0, half_m=mug.half_extents_m)
    poses = hand_poses(thing, mug.grasps)
    assert any(not pose.top for pose in poses)
    # The palm stays opposite the handle, which points along the mug's x.
    for pose in poses:
        if not pose.top:
            assert pose.rotation[:, 0] @ thing.rotation[:, 0] > 0
    assert len(hand_poses(thing, ())) > len(poses)
    headings = [each for each in hand_poses(thing, ()) if each.rotation[:, 0] @ thing.rotation[:, 0] < -0.5]
    assert headings


def test_hands_from_the_top_are_those_that_look_steeply_down() -> None:
    for shape in HALF_M:
        kinds = [grasp.kind for grasp in grasps_of_shape(solid(shape))]
        tops = [pose.top for pose in hand_poses(solid(shape), ())]
        assert set(tops) == {True, False}
        assert "top" in kinds
    steep = [pose.pitch_rad for pose in hand_poses(solid(), ()) if pose.top]
    assert min(steep) >= TOP_RAD


def test_a_box_is_taken_across_the_sides_that_the_hand_fits_around() -> None:
    slab = solid(half_m=(0.03, 0.08, 0.06))
    assert {round(pose.width_m, 3) for pose in hand_poses(slab, ())} == {0.06}
    assert hand_poses(solid(half_m=(0.08, 0.08, 0.06)), ()) == ()


def test_a_pose_says_where_it_comes_from() -> None:
    labels = {pose.label for pose in hand_poses(solid(), ())}
    assert {"heading 0° down 0°", "heading 0° down 0° flipped", "heading 180° down 30°"} <= labels
