"""What parts that ran alone hand on."""

from __future__ import annotations

import numpy as np
import pytest

from graspline.grasping.hand_poses import hand_poses
from graspline.robots.hsr import HSR
from graspline.scenes.household import item_of
from graspline.tasks.tidy.single_components import given_alone, handed_on, held_object
from graspline.tasks.tidy.task import TIDY

from .stagecraft import TABLE_M, settings, solid


def test_find_grasp_tells_the_name_the_box_and_all_poses_as_execute_grasp_takes_them() -> None:
    can = solid("soup_can", (1.15, 0.0, TABLE_M), yaw_rad=0.3)
    poses = hand_poses(can, item_of("soup_can").grasps)
    memory = {"target": can, "grasp_poses": poses}
    told = handed_on(settings("program=find_grasp"), memory)
    assert told["grasp_object_name"] == "soup_can"
    assert len(told["grasp_poses"]) == len(poses) > 10
    numbers = [number for pose in told["grasp_poses"] for number in pose]
    again = settings(
        "program=execute_grasp",
        f"alone.object={told['grasp_object_name']}",
        f"alone.grasp_object_bb={told['grasp_object_bb']}",
        f"alone.grasp_poses={numbers}",
    )
    assert not TIDY.problems(again)
    given = given_alone(again, HSR)
    np.testing.assert_allclose(given["target"].position_m, can.position_m)
    assert given["target"].yaw_rad == pytest.approx(0.3)
    for found, meant in zip(given["grasp_poses"], poses, strict=True):
        np.testing.assert_allclose(found.position_m, meant.position_m)
        np.testing.assert_allclose(found.rotation, meant.rotation, atol=1e-9)
        assert found.width_m == pytest.approx(meant.width_m)


def test_execute_grasp_tells_how_the_thing_is_held_as_placement_takes_it() -> None:
    held = held_object(settings("alone.object=mug"), HSR)
    told = handed_on(settings("program=execute_grasp"), {"held": held})
    assert told["top_grasp"] is False
    again = settings(
        "program=placement",
        "alone.object=mug",
        f"alone.placement_surface_to_wrist={told['placement_surface_to_wrist']}",
    )
    found = held_object(again, HSR).X_HB
    np.testing.assert_allclose(found.position_m, held.X_HB.position_m, atol=1e-9)
    np.testing.assert_allclose(found.rotation, held.X_HB.rotation, atol=1e-9)


@pytest.mark.parametrize("program", ["single_grasp", "clear_table", "robot_setup", "placement", "handover"])
def test_programs_that_end_with_something_done_hand_on_nothing(program: str) -> None:
    assert handed_on(settings(f"program={program}"), {}) == {}
