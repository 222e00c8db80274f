"""What varies does so within its range, by its name, and nothing else does."""

from __future__ import annotations

import copy
from typing import Any

import mujoco
import numpy as np
import pytest
from pydantic import ValidationError

from graspline.parameters import Range, build, dump, load
from graspline.robots.so101 import PAD_GEOMS, SO101
from graspline.scenes.cube_table import cube_table, cube_variation
from graspline.scenes.fruit_table import ORANGE_RGB, fruit_table
from graspline.scenes.randomization import Distractors, TexturedRandomization, randomized
from graspline.scenes.scene import Scene
from graspline.scenes.variation import Variation, apply_to_model
from graspline.spatial.rotations import matrix_from_quaternion, rotation_vector

SEEN = ("lighting", "camera", "colours", "textures")
FELT = ("friction", "masses", "gains")
DRAWN = cube_variation(edge_m=0.03, mass_kg=0.05, pad_friction=0.9)
FRUIT = fruit_table(2, 0.105, 1, False)


def turned_on(*aspects: str, **more: object) -> TexturedRandomization:
    assignments = [f"{aspect}.on=true" for aspect in aspects] + [f"{key}={value}" for key, value in more.items()]
    return build(TexturedRandomization, assignments=assignments)


def draw(
    settings: TexturedRandomization, seed: int = 0, scene: Scene | None = None, drawn: Variation = DRAWN
) -> Variation:
    return randomized(scene or cube_table(), drawn, settings, np.random.default_rng(seed))


def of(variation: Variation, field: str) -> dict[str, tuple[float, ...]]:
    return {edit.element: edit.values for edit in variation.edits if edit.field == field}


def test_off_changes_nothing() -> None:
    assert draw(TexturedRandomization()) == DRAWN
    assert not TexturedRandomization().any_on


@pytest.mark.parametrize("aspect", SEEN)
def test_appearance_is_only_seen(aspect: str) -> None:
    for seed in range(5):
        varied = draw(turned_on(aspect), seed, FRUIT, Variation())
        assert all(edit.only_seen for edit in varied.edits)
        assert varied.described
        assert varied.latency_ticks == 0


@pytest.mark.parametrize("aspect", FELT)
def test_dynamics_are_felt_and_not_seen(aspect: str) -> None:
    varied = draw(turned_on(aspect), drawn=Variation())
    assert varied.edits
    assert not any(edit.only_seen for edit in varied.edits)


@pytest.mark.parametrize("aspect", [*SEEN, *FELT, "latency"])
def test_every_value_drawn_is_a_plain_number_under_the_name_of_its_aspect(aspect: str) -> None:
    varied = draw(turned_on(aspect), 3, FRUIT, Variation())
    assert all(name.startswith(f"{aspect}.") for name in varied.described)
    assert all(type(value) is float for value in varied.described.values())
    # Plain numbers all the way: this is what a log keeps.
    assert all(type(value) is float for edit in varied.edits for value in edit.values)


def test_the_same_seed_draws_the_same_and_another_seed_something_else() -> None:
    everything = turned_on(*TexturedRandomization().aspects)
    assert draw(everything, 4) == draw(everything, 4)
    first, second = draw(everything, 4).described, draw(everything, 5).described
    same = {name for name in first if first[name] == second.get(name)}
    assert same <= {"edge_m", "mass_kg", "pad_friction", "textures.table.pattern", "latency.delay_s"}


@pytest.mark.parametrize("aspect", [*SEEN, *FELT, "latency"])
def test_one_aspect_does_not_change_another(aspect: str) -> None:
    alone, among = draw(turned_on(aspect), 6).described, draw(turned_on(*TexturedRandomization().aspects), 6).described
    assert alone.items() <= among.items()


def test_settings_survive_being_saved() -> None:
    settings = turned_on("camera", "gains", **{"camera.turn_rad": 0.02})
    assert load(TexturedRandomization, dump(settings)) == settings


def test_every_number_lies_in_its_range() -> None:
    settings = turned_on(*TexturedRandomization().aspects)
    ends: dict[str, Range] = {
        "turn_rad": settings.lighting.turn_rad,
        "ambient": settings.lighting.ambient,
        "hue_rad": settings.colours.hue_rad,
        "scale": settings.textures.scale,
        "kp_factor": settings.gains.kp_factor,
        "kv_factor": settings.gains.kv_factor,
    }
    for seed in range(10):
        for name, value in draw(settings, seed, FRUIT, Variation()).described.items():
            low, high = ends.get(name.rsplit(".", 1)[-1], Range(-np.inf, np.inf))
            assert low <= value <= high, name


def test_lights_turn_by_the_angle_drawn_and_keep_their_aim() -> None:
    model = FRUIT.model
    varied = draw(turned_on("lighting"), 1, FRUIT, Variation())
    for light in ("key", "fill"):
        direction, position = (np.array(of(varied, f"light_{what}")[light]) for what in ("dir", "pos"))
        cosine = float(direction @ model.light(light).dir)
        assert np.arccos(cosine) == pytest.approx(varied.described[f"lighting.{light}.turn_rad"], abs=1e-6)
        aim = position - direction * (position[2] / direction[2])
        np.testing.assert_allclose(aim, (0.2, 0, 0), atol=1e-9)
        assert direction[2] < 0


def test_cameras_move_turn_and_widen_as_described() -> None:
    model = copy.copy(FRUIT.model)
    varied = draw(turned_on("camera"), 2, FRUIT, Variation())
    apply_to_model(model, varied)
    for name in FRUIT.cameras:
        camera, own = model.camera(name), FRUIT.model.camera(name)
        told = {key: varied.described[f"camera.{name}.{key}"] for key in ("x_m", "y_m", "z_m", "fovy_rad")}
        np.testing.assert_allclose(camera.pos - own.pos, [told["x_m"], told["y_m"], told["z_m"]], atol=1e-12)
        assert np.radians(camera.fovy[0]) == pytest.approx(told["fovy_rad"])
        turn = rotation_vector(matrix_from_quaternion(own.quat).T @ matrix_from_quaternion(camera.quat))
        expected = [varied.described[f"camera.{name}.turn_{axis}_rad"] for axis in "xyz"]
        np.testing.assert_allclose(turn, expected, atol=1e-9)


def test_a_camera_on_the_robot_moves_less_than_one_that_stands() -> None:
    settings = turned_on("camera", **{"camera.standing_m": 0.1, "camera.mounted_m": 0.0})
    told = draw(settings, 0, FRUIT, Variation()).described
    assert told["camera.wrist.x_m"] == 0.0
    assert told["camera.front.x_m"] != 0.0


def test_an_orange_stays_orange() -> None:
    """Red, then green, then blue, and saturated, at the ends of what is allowed."""
    for hue in (-0.2, 0.2):
        settings = turned_on("colours", **{"colours.hue_rad": [hue, hue], "colours.brightness": [1.0, 1.0]})
        red, green, blue, _ = of(draw(settings, 0, FRUIT, Variation()), "geom_rgba")["orange_1"]
        assert red == pytest.approx(ORANGE_RGB[0])
        assert 0.3 < green / red < 0.72
        assert blue / red < 0.1


def test_all_geoms_of_a_plate_have_one_colour_and_one_pattern() -> None:
    rim = [geom for geom in FRUIT.surfaces["plate"] if "rim" in geom]
    assert len(rim) == 20
    for seed in range(8):
        varied = draw(turned_on("colours", "textures"), seed, FRUIT, Variation())
        for field in ("geom_rgba", "geom_matid"):
            edits = of(varied, field)
            assert len({edits.get(geom) for geom in FRUIT.surfaces["plate"]}) == 1


def test_patterns_are_drawn_all_of_them_and_plain_too() -> None:
    drawn = {draw(turned_on("textures"), seed).described["textures.table.pattern"] for seed in range(40)}
    assert drawn == {0.0, 1.0, 2.0, 3.0, 4.0}


def test_friction_multiplies_what_the_task_has_drawn() -> None:
    varied = draw(turned_on("friction"), 1)
    factor = varied.described["friction.pads.factor"]
    for pad in PAD_GEOMS:
        assert varied.values(cube_table().model, "geom_friction", pad)[0] == pytest.approx(0.9 * factor)
    assert {"table", "cube", *PAD_GEOMS} == set(of(varied, "geom_friction"))


def test_a_heavier_object_is_harder_to_turn_by_the_same_factor() -> None:
    varied = draw(turned_on("masses"), 1)
    factor, model = varied.described["masses.cube.factor"], cube_table().model
    assert varied.values(model, "body_mass", "cube")[0] == pytest.approx(0.05 * factor)
    before = DRAWN.values(model, "body_inertia", "cube")
    np.testing.assert_allclose(varied.values(model, "body_inertia", "cube"), np.multiply(before, factor))


def test_gains_vary_joint_by_joint() -> None:
    model = copy.copy(cube_table().model)
    varied = draw(turned_on("gains"), 1)
    apply_to_model(model, varied)
    for index, joint in enumerate(SO101.joints):
        kp = SO101.servo.kp[index] * varied.described[f"gains.{joint}.kp_factor"]
        kv = SO101.servo.kv[index] * varied.described[f"gains.{joint}.kv_factor"]
        assert model.actuator(joint).gainprm[0] == pytest.approx(kp)
        np.testing.assert_allclose(model.actuator(joint).biasprm[:3], (0, -kp, -kv))


def test_a_delay_is_rounded_to_ticks_and_told_in_seconds() -> None:
    varied = draw(turned_on("latency", **{"latency.delay_s": [0.045, 0.045]}))
    assert varied.latency_ticks == 3
    assert varied.described["latency.delay_s"] == pytest.approx(0.05)


def test_distractors_are_counted_only_where_they_vary() -> None:
    random: Any = None
    assert (Distractors().pool, Distractors().count(random), Distractors().described(0).described) == (0, 0, {})
    varied = Distractors(on=True, fewest=1, most=3)
    generator = np.random.default_rng(0)
    assert {varied.count(generator) for _ in range(60)} == {1, 2, 3}
    assert (varied.pool, varied.described(2).described) == (3, {"distractors.count": 2.0})


def test_fewer_than_the_fewest_is_refused() -> None:
    with pytest.raises(ValidationError, match="fewest is 3, above most, which is 2"):
        Distractors(fewest=3, most=2)


def test_a_randomised_model_still_compiles_its_constants() -> None:
    """Everything at once on a model of its own, as a renderer does it; the shared model stays as it is."""
    before = copy.copy(FRUIT.model)
    model = copy.copy(FRUIT.model)
    apply_to_model(model, draw(turned_on(*TexturedRandomization().aspects), 7, FRUIT, Variation()))
    mujoco.mj_forward(model, mujoco.MjData(model))
    for field in ("geom_rgba", "geom_friction", "cam_pos", "light_dir", "tex_data", "actuator_gainprm"):
        assert not np.array_equal(getattr(model, field), getattr(before, field))
        assert np.array_equal(getattr(FRUIT.model, field), getattr(before, field))


def test_edits_name_what_the_scene_has() -> None:
    for scene in (cube_table(), cube_table(2), FRUIT):
        for edit in draw(turned_on(*TexturedRandomization().aspects), 0, scene, Variation()).edits:
            assert Variation().values(scene.model, edit.field, edit.element), edit
