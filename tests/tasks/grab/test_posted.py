from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from graspline.episodes.run import run_scenarios
from graspline.episodes.scenario import Scenario
from graspline.errors import InputError
from graspline.parameters import build, dump, load
from graspline.tasks.grab.parameters import Grab
from graspline.tasks.grab.posted import believed_as_posted, laid_as_posted
from graspline.tasks.grab.task import GRAB, problems

CRATE = {"name": "crate", "position_m": [0.22, 0.05, 0.012], "size_m": [0.03, 0.03, 0.024], "yaw_rad": 0.4}
CAN = {"name": "can", "position_m": [0.2, -0.1, 0.025], "size_m": [0.036, 0.036, 0.05], "shape": "cylinder"}


def grab(*objects: dict[str, object], **more: object) -> Grab:
    return Grab.model_validate({"posted": {"objects": list(objects), **more}})


def told(*objects: dict[str, object], **more: object) -> str:
    (found,) = problems(grab(*objects, **more))
    return found


def test_what_a_detector_has_seen_lies_on_the_table() -> None:
    parameters = grab(CRATE, CAN)
    assert problems(parameters) == []
    assert [each.name for each in parameters.kinds] == ["crate", "can"]
    draw = GRAB.sample(parameters, np.random.default_rng(0))
    at = GRAB.scene(parameters).joint_address("crate")
    np.testing.assert_allclose(draw.start[at : at + 3], CRATE["position_m"])
    assert 2 * np.arctan2(draw.start[at + 6], draw.start[at + 3]) == pytest.approx(0.4)


def test_a_pose_that_leans_a_little_is_laid_flat() -> None:
    leaning = {**CAN, "quaternion": [float(np.cos(0.05)), float(np.sin(0.05)), 0, 0], "position_m": [0.2, -0.1, 0.03]}
    (seen,) = believed_as_posted(grab(leaning))
    assert seen.uprightness == pytest.approx(1.0)
    assert seen.position_m[2] == pytest.approx(0.025)


def test_the_error_that_a_detector_admits_is_in_the_table_and_not_in_the_belief() -> None:
    parameters = grab({**CRATE, "position_sigma_m": 0.002})
    (believed,), (laid,) = believed_as_posted(parameters), laid_as_posted(parameters, np.random.default_rng(1))
    np.testing.assert_allclose(believed.position_m, CRATE["position_m"])
    assert believed.position_sigma_m == 0.002
    assert 0 < np.linalg.norm(laid.position_m - believed.position_m) < 0.01


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"size_m": [0.03, 0.03, 30.0]}, "size_m: [0.03, 0.03, 30]; each side is 0.003 to 0.5 m"),
        ({"frame": "camera"}, "frame: 'camera' is unknown; known: base, world"),
        ({"position_m": [0.22, 0.05, 0.112]}, "its foot is 0.100 m above the table; expected 0"),
        ({"quaternion": [0.9, 0.4359, 0, 0], "yaw_rad": None}, "it leans by 0.67 rad; expected a face on the table"),
        ({"shape": "mesh"}, "no mesh is called 'crate'; there are none: set things.meshes"),
        ({"position_m": [0.0, 0.0, 0.012]}, "crate and the robot's base overlap"),
    ],
)
def test_a_pose_that_cannot_be_is_refused_in_one_message(changed: dict[str, object], expected: str) -> None:
    assert expected in told({**CRATE, **changed})


@pytest.mark.parametrize(
    ("objects", "expected"),
    [
        ([{**CRATE, "name": "../crate"}], "'../crate' is refused: expected 1 to 64 letters, digits, _, . or -"),
        ([{**CRATE, "name": f"crate_{index}"} for index in range(9)], "is refused: 9 items; expected at most 7"),
    ],
)
def test_names_and_numbers_of_objects_are_refused_in_our_words(
    tmp_path: Path, objects: list[dict[str, object]], expected: str
) -> None:
    path = tmp_path / "seen.json"
    path.write_text(json.dumps(objects), encoding="utf-8")
    with pytest.raises(InputError) as refused:
        build(Grab, None, [f"posted.file={path}"])
    assert expected in str(refused.value)


def test_without_meshes_a_posted_mesh_is_the_only_problem() -> None:
    assert "0 objects are posted already" not in told({**CRATE, "shape": "mesh"})


def test_old_and_future_poses_are_refused_by_the_age_limit() -> None:
    old, new = {**CRATE, "time_s": 2.0}, {**CAN, "time_s": 10.0}
    assert problems(grab(old, new)) == []
    assert "crate: time_s: 8.0 s old, the limit is 5 s" in told(old, new, max_age_s=5.0)
    assert "can: time_s: 10.000 s is in the future, it is 9.000 s now" in told(old, new, now_s=9.0)


def test_two_objects_in_one_place_are_refused() -> None:
    assert "crate and can overlap by" in told(CRATE, {**CAN, "position_m": [0.225, 0.05, 0.025]}).replace(
        "can and crate", "crate and can"
    )
    assert "posted twice" in told(CRATE, CRATE)


def test_a_file_is_read_once_and_what_it_says_is_saved(tmp_path: Path) -> None:
    path = tmp_path / "seen.json"
    path.write_text(json.dumps({"objects": [CRATE, CAN]}))
    read = build(Grab, None, [f"posted.file={path}"])
    assert read == grab(CRATE, CAN)
    path.unlink()
    assert load(Grab, dump(read)) == read


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (None, "cannot be read: No such file"),
        ("{}", "no list of objects in it; expected a list of objects such as {name: crate"),
        ('[{"name": "a"}]', "required, but not given"),
        ('[{"name": "a", "position_m": [0.2, 0, NaN], "size_m": [1, 1, 1]}]', "'NaN' is not a number"),
        ("[", "not valid YAML"),
    ],
)
def test_a_file_that_says_nothing_is_refused(content: str | None, expected: str, tmp_path: Path) -> None:
    path = tmp_path / "seen.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(InputError) as raised:
        build(Grab, None, [f"posted.file={path}"])
    assert expected in raised.value.problems[0]


def test_a_posted_object_is_picked_and_put_back() -> None:
    parameters = Grab.model_validate(
        {
            "posted": {"objects": [{**CRATE, "position_sigma_m": 0.0003}, CAN]},
            "order": {"target": "crate", "variables": "given", "place": "back"},
        }
    )
    (episode,) = run_scenarios([Scenario(task=GRAB, parameters=parameters, seed=3)])
    assert episode.verdict == "success"
    assert episode.succeeded
