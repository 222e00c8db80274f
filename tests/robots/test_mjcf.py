"""Arms that graspline has never seen, from their models: what is measured, what they do, and what is refused."""

from __future__ import annotations

import re
from pathlib import Path

import mujoco
import numpy as np
import pytest
from pydantic import ValidationError

from graspline.errors import InputError
from graspline.robots.catalogue import ROBOTS, kept_name
from graspline.robots.description import read_description
from graspline.robots.mjcf import robot_from_file, robot_from_mjcf
from graspline.robots.robot import Robot
from graspline.tasks.lift_cube import LIFT_CUBE

from .unknown_arms import SCARA, SCARA_DESCRIPTION, TONGS, TONGS_DESCRIPTION, written


@pytest.fixture
def scara(tmp_path: Path) -> Path:
    return written(tmp_path, "scara", SCARA, SCARA_DESCRIPTION)


@pytest.fixture
def tongs(tmp_path: Path) -> Path:
    return written(tmp_path, "tongs", TONGS, TONGS_DESCRIPTION)


def problems_of(file: Path, model: str, description: str) -> tuple[str, ...]:
    """What is wrong with such an arm, in the folder of `file`."""
    with pytest.raises(InputError) as refused:
        robot_from_file(written(file.parent, file.stem, model, description))
    return refused.value.problems


def test_a_description_is_short() -> None:
    assert max(text.count("\n") for text in (SCARA_DESCRIPTION, TONGS_DESCRIPTION)) <= 60


def test_limits_and_servos_are_those_of_the_model(scara: Path) -> None:
    robot = robot_from_file(scara)
    assert robot.joints == ("shoulder", "elbow", "lift", "roll", "left_slide")
    assert robot.slides == ("lift", "left_slide")
    np.testing.assert_allclose(robot.limits.upper[:2], np.radians(150))
    np.testing.assert_allclose(robot.servo.kp[:4], [3000, 2000, 20000, 100])
    np.testing.assert_allclose(robot.servo.force[:4], [80, 60, 300, 10])


def test_two_sliding_fingers_are_a_centred_hand_whose_gap_grows_by_both(scara: Path) -> None:
    robot = robot_from_file(scara)
    law = robot.jaw_law
    assert robot.hand.centred
    np.testing.assert_allclose(law.gaps_m, 2 * law.angles_rad, atol=1e-6)
    np.testing.assert_allclose(law.followers["right_slide"], law.angles_rad, atol=1e-6)
    np.testing.assert_allclose(law.middles_m[:, 1:], 0, atol=1e-9)


def test_a_finger_on_a_pivot_opens_as_its_joint_falls_and_its_tip_swings(tongs: Path) -> None:
    robot = robot_from_file(tongs)
    law, hand = robot.jaw_law, robot.hand
    assert not hand.centred
    # The model counts the other way; positions of ours grow as the hand opens.
    assert robot.home[-1] == pytest.approx(0.3)
    assert (np.diff(law.gaps_m) >= 0).all()
    # The pivot is 20 mm from the thumb's face, the finger half 12 mm thick and 90 mm long.
    angle = 0.5
    along, across = hand.moving_face_m(angle)
    np.testing.assert_allclose(across[0], 0.02 - 0.006 * np.cos(angle) + 0.09 * np.sin(angle), atol=1e-4)
    np.testing.assert_allclose(along[0], -0.09 + 0.006 * np.sin(angle) + 0.09 * np.cos(angle), atol=1e-4)
    assert law.gap_m(angle) == pytest.approx(across[0], abs=1e-4)


def test_the_robots_own_world_is_left_behind(scara: Path) -> None:
    robot = robot_from_file(scara)
    model = robot.model()
    names = [model.geom(index).name for index in range(model.ngeom)]
    assert "scara/floor" not in names
    assert robot.cameras == ()
    assert (model.nu, model.nkey) == (5, 0)
    assert [model.actuator(index).name for index in range(model.nu)] == list(robot.joints)


def test_a_file_found_again_is_the_same_robot_until_it_changes(scara: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    robot = ROBOTS.find(str(scara))
    monkeypatch.chdir(scara.parent)
    assert ROBOTS.find("scara.yaml") is robot
    assert kept_name("scara.yaml") == str(scara.resolve())
    scara.write_text(SCARA_DESCRIPTION.replace("home: [0.6", "home: [0.5"), encoding="utf-8")
    assert ROBOTS.find("scara.yaml").home[0] == 0.5


def test_two_driven_fingers_move_as_one(scara: Path) -> None:
    model = re.sub(r"<equality>.*</equality>", "", SCARA)
    file = written(
        scara.parent,
        "scara",
        model,
        SCARA_DESCRIPTION.replace("jaw: left_slide", "jaw: left_slide\n  follower: right_slide"),
    )
    law = robot_from_file(file).jaw_law
    np.testing.assert_allclose(law.gaps_m, 2 * law.angles_rad, atol=1e-6)


def test_a_spec_does_as_well_as_a_file(scara: Path) -> None:
    from_spec = robot_from_mjcf(mujoco.MjSpec.from_string(SCARA), read_description(scara))
    np.testing.assert_array_equal(from_spec.jaw_law.gaps_m, robot_from_file(scara).jaw_law.gaps_m)


def test_meshes_are_found_beside_the_model(scara: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = scara.parent / "meshes"
    folder.mkdir()
    corners = "v 0 0 0\nv .1 0 0\nv 0 .1 0\nv 0 0 .1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"
    (folder / "shell.obj").write_text(corners, encoding="utf-8")
    model = SCARA.replace('autolimits="true"/>', 'autolimits="true" meshdir="meshes"/>')
    model = model.replace("<worldbody>", '<asset><mesh name="shell" file="shell.obj"/></asset><worldbody>', 1)
    model = model.replace('<body name="inner"', '<geom class="shell" type="mesh" mesh="shell"/><body name="inner"')
    file = written(scara.parent, "scara", model, SCARA_DESCRIPTION)
    monkeypatch.chdir("/")
    assert robot_from_file(file).model().nmesh == 1


@pytest.mark.parametrize(("name", "seeds"), [("scara", (1, 2, 3)), ("tongs", (1, 2, 3))])
def test_an_unknown_arm_lifts_the_cube(request: pytest.FixtureRequest, name: str, seeds: tuple[int, ...]) -> None:
    from graspline.episodes.run import run_scenarios
    from graspline.episodes.scenario import Scenario

    parameters = LIFT_CUBE.parameters(robot=str(request.getfixturevalue(name)))
    scenarios = [Scenario(task=LIFT_CUBE, parameters=parameters, seed=seed) for seed in seeds]
    episodes = list(run_scenarios(scenarios))
    assert [episode.succeeded for episode in episodes] == [True] * len(seeds)
    assert not any(episode.false_success for episode in episodes)


URDF = """
<robot name="crane">
{links}
{joints}
</robot>
"""


def urdf() -> str:
    """The tongs as a URDF, with boxes for links."""
    link = (
        '<link name="{name}"><inertial><mass value="0.2"/><inertia ixx="2e-4" iyy="2e-4" izz="2e-4" ixy="0" ixz="0" '
        'iyz="0"/></inertial><collision><origin xyz="{at}"/><geometry><box size="{size}"/></geometry></collision>'
        "</link>"
    )
    joint = (
        '<joint name="{name}" type="revolute"><parent link="{parent}"/><child link="{child}"/><origin xyz="{at}"/>'
        '<axis xyz="{axis}"/><limit lower="{low}" upper="{high}" effort="{effort}" velocity="2"/></joint>'
    )
    links = [
        ("foot", "0 0 0.03", "0.1 0.1 0.06"),
        ("turret", "0 0 0.03", "0.06 0.06 0.06"),
        ("upper", "0 0 0.1", "0.04 0.04 0.14"),
        ("fore", "0 0 0.1", "0.04 0.04 0.12"),
        ("wrist", "0 0 0.02", "0.03 0.03 0.03"),
        ("hand", "-0.006 0 0.06", "0.012 0.018 0.12"),
        ("finger", "0 0 0.045", "0.012 0.018 0.09"),
    ]
    joints = [
        ("turn", "foot", "turret", "0 0 0.08", "0 0 1", -2.6, 2.6, 6),
        ("lift", "turret", "upper", "0 0 0.06", "0 1 0", -1.9, 1.9, 8),
        ("bend", "upper", "fore", "0 0 0.2", "0 1 0", -0.2, 2.8, 6),
        ("tilt", "fore", "wrist", "0 0 0.18", "0 1 0", -1.9, 1.9, 3),
        ("roll", "wrist", "hand", "0 0 0.05", "0 0 1", -3.1, 3.1, 2),
        ("squeeze", "hand", "finger", "0.02 0 0.03", "0 1 0", -0.35, 0.9, 2),
    ]
    return URDF.format(
        links="".join(link.format(name=name, at=at, size=size) for name, at, size in links),
        joints="".join(
            joint.format(name=name, parent=parent, child=child, at=at, axis=axis, low=low, high=high, effort=effort)
            for name, parent, child, at, axis, low, high, effort in joints
        ),
    )


def test_a_urdf_is_read_as_well(tmp_path: Path) -> None:
    (tmp_path / "crane.urdf").write_text(urdf(), encoding="utf-8")
    text = TONGS_DESCRIPTION.replace("tongs.xml", "crane.urdf").replace("[thumb]", "[hand]").replace("-0.3]", "0.3]")
    file = tmp_path / "crane.yaml"
    file.write_text(text, encoding="utf-8")
    robot: Robot = robot_from_file(file)
    assert robot.joints[-1] == "squeeze"
    assert robot.jaw_law.gaps_m[-1] > 0.05


def test_everything_that_is_missing_is_said_at_once(tongs: Path) -> None:
    text = TONGS_DESCRIPTION.replace("thumb", "thump").replace("squeeze", "sqeeze").replace("turn, lift", "turn, lfit")
    text = re.sub("home: .*", "home: [0, 1]", text).replace("body: hand", "site: hand")
    found = problems_of(tongs, TONGS, text)
    for said in (
        "joints.arm: the model has no joint 'lfit'; did you mean 'lift'?",
        "joints.jaw: the model has no joint 'sqeeze'; did you mean 'squeeze'?",
        "pads.fixed: the model has no geom or body 'thump'; did you mean 'thumb'?",
        "tool.site: the model has no site 'hand'; the model has none; add <site",
        "home: 2 numbers for 6 joints",
    ):
        assert sum(said in problem for problem in found) == 1, said
    assert len(found) == 5


@pytest.mark.parametrize(
    ("model", "description", "said"),
    [
        (
            (),
            (("turn, lift, bend, tilt, roll]", "turn, lift, bend]"),),
            "joints.arm: 3 joints; an arm needs at least 4",
        ),
        (
            (),
            ((r"\nservos:(.|\n)*", "\n"),),
            "servos: the model has only actuators that are no position servos on turn",
        ),
        ((("<actuator>(.|\n)*</actuator>", ""),), ((r"\nservos:(.|\n)*", "\n"),), "servos: the model has no actuators"),
        ((('<body name="foot">', '<body name="foot"><freejoint/>'),), (), "body 'foot' has a free joint"),
        (((' range="-3.1 3.1"', ""),), (), "joints.arm: 'roll' has no limits; add them"),
        ((), ((r"\[thumb\], moving: \[finger\]", "[finger], moving: [thumb]"),), "exchange pads.fixed and pads.moving"),
        ((), (("home: .*", "home: [0, 1.5, 1.5, 0, 0, 0]"),), "below the table there"),
        ((), (("home: .*", "home: [9, 0, 0, 0, 0, 0]"),), "home: turn at 9 is outside of its range, -2.6 to 2.6"),
        (
            (),
            (("turn, lift, bend", "lift, turn, bend"),),
            "given as lift, turn, bend, tilt, roll, but from the base on",
        ),
        ((), (("  body: hand\n", ""),), "tool: expected either a site or a body with position_m"),
        ((), ((r"opening: \[1, 0, 0\]", "opening: [1, 0, 1]"),), "are not at right angles"),
        ((), (("kp: .*", "kp: [1, 2]"),), "servos.kp: 2 numbers for 6 joints"),
        ((("<mujoco", "mujoco"),), (), "neither MJCF nor URDF (.xml or .urdf)"),
        ((), ((r"\[0, 0, 0.12\]", "[0, 0, 12]"),), "expected a tool between them; tool.position_m is in metres"),
    ],
)
def test_what_is_missing_is_said_with_what_to_do(
    tongs: Path, model: tuple[tuple[str, str], ...], description: tuple[tuple[str, str], ...], said: str
) -> None:
    texts = [TONGS, TONGS_DESCRIPTION]
    for index, changes in enumerate((model, description)):
        for pattern, by in changes:
            texts[index], count = re.subn(pattern, by, texts[index])
            assert count, pattern
    found = problems_of(tongs, *texts)
    assert any(said in problem for problem in found), found


def test_what_is_wrong_in_a_description_is_said_of_its_file(tongs: Path) -> None:
    (problem,) = problems_of(tongs, TONGS, TONGS_DESCRIPTION.replace("body: hand", "body: hands"))
    assert problem.startswith(f"{tongs}: tool.body: the model has no body 'hands'; did you mean 'hand'?")


def test_limits_are_asked_for_in_the_words_of_either_format(tongs: Path) -> None:
    (problem,) = problems_of(tongs, TONGS.replace(' range="-3.1 3.1"', ""), TONGS_DESCRIPTION)
    assert 'range="-3.14 3.14" in MJCF, in degrees unless its compiler says radian' in problem
    assert 'in URDF type="revolute" with <limit lower="-3.14" upper="3.14"/>' in problem


def test_a_hand_that_cannot_point_down_is_refused_with_what_to_check(scara: Path) -> None:
    description = SCARA_DESCRIPTION.replace("along: [1, 0, 0]", "along: [-1, 0, 0]")
    file = written(scara.parent, "scara", SCARA, description)
    with pytest.raises(ValidationError, match=r"no posture of the arm shoulder, elbow, lift, roll .*tool\.along"):
        LIFT_CUBE.parameters(robot=str(file))


def test_a_jaw_that_moves_no_pad_is_refused(tongs: Path) -> None:
    text = TONGS_DESCRIPTION.replace("[thumb], moving: [finger]", "[thumb], moving: [palm]")
    (problem,) = problems_of(tongs, TONGS, text)
    assert "'squeeze' does not move the pads apart" in problem
    assert "changes by 0.0 mm" in problem


def test_a_model_instead_of_a_description_is_told_what_to_do() -> None:
    with pytest.raises(InputError, match=r"graspline new robot arm\.xml"):
        ROBOTS.find("arm.xml")


def test_servos_are_read_through_a_tendon_and_with_their_filter(scara: Path) -> None:
    tendon = '<tendon><fixed name="both"><joint joint="left_slide" coef="0.5"/><joint joint="right_slide" coef="0.5"/>'
    model = SCARA.replace("<equality>", f"{tendon}</fixed></tendon><equality>")
    model = model.replace(
        '<position joint="left_slide" kp="100" forcerange="-60 60"/>',
        '<general tendon="both" gainprm="0.02" biastype="affine" biasprm="0 -100 -10" forcerange="-20 20"/>',
    )
    model = model.replace('kp="100" kv="3"', 'kp="100" kv="3" timeconst="0.03"')
    robot = robot_from_file(written(scara.parent, "scara", model, SCARA_DESCRIPTION))
    # A usual grip of 12 N on each of two fingers takes 24 N; the model's jaw is limited to 20 N.
    assert robot.servo.force[-1] == pytest.approx(20)
    assert robot.servo.smoothing_s == pytest.approx(0.03)
    assert robot.model().ntendon == 0
