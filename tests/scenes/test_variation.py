"""Variations: edits of named elements, the same on any model, and undone by the numbers they replaced."""

from __future__ import annotations

import copy

import mujoco
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graspline.robots.hsr import HSR
from graspline.robots.so101 import PAD_FRICTION, PAD_GEOMS
from graspline.scenes.cube_table import CUBE, cube_table, cube_variation
from graspline.scenes.textures import texels_of
from graspline.scenes.variation import (
    Edit,
    Variation,
    apply_to_model,
    box_of,
    box_shape_of,
    friction_of,
    held_at,
    row_of,
    write_edits,
)

HALVES = st.floats(0.005, 0.05)


def changed_fields(before: mujoco.MjModel, after: mujoco.MjModel) -> set[str]:
    names = [name for name in dir(before) if isinstance(getattr(before, name), np.ndarray)]
    return {name for name in names if not np.array_equal(getattr(before, name), getattr(after, name))}


def test_a_box_changes_size_bounds_mass_and_inertia() -> None:
    model = copy.copy(cube_table().model)
    half, mass = (0.01, 0.02, 0.03), 0.12
    apply_to_model(model, Variation(edits=box_of(CUBE, half, mass)))
    geom, body = model.geom(CUBE), model.body(CUBE)
    np.testing.assert_array_equal(geom.size, half)
    assert geom.rbound[0] == pytest.approx(np.linalg.norm(half))
    np.testing.assert_array_equal(model.geom_aabb[geom.id], (0, 0, 0, *half))
    np.testing.assert_array_equal(model.bvh_aabb[model.body_bvhadr[body.id]], (0, 0, 0, *half))
    assert body.mass[0] == mass
    squares = np.array([0.04**2 + 0.06**2, 0.02**2 + 0.06**2, 0.02**2 + 0.04**2])
    np.testing.assert_allclose(body.inertia, mass / 12 * squares)
    assert model.body_subtreemass[body.id] == pytest.approx(mass)


def test_bounding_volumes_follow_the_size_even_without_derived_constants() -> None:
    """Planners write shapes and nothing else; a stale volume would lose contacts silently."""
    model = copy.copy(cube_table().model)
    write_edits(model, box_shape_of(CUBE, (0.01, 0.02, 0.03)))
    body, geom = model.body(CUBE).id, model.geom(CUBE).id
    for bounds in (model.bvh_aabb[model.body_bvhadr[body]], model.geom_aabb[geom]):
        np.testing.assert_array_equal(bounds, (0, 0, 0, 0.01, 0.02, 0.03))
    assert model.geom_rbound[geom] == pytest.approx(np.linalg.norm((0.01, 0.02, 0.03)))


@settings(deadline=None)
@given(HALVES, HALVES, HALVES, st.floats(0.005, 0.2))
def test_a_varied_box_is_the_box_mujoco_would_have_compiled(x: float, y: float, z: float, mass: float) -> None:
    spec = mujoco.MjSpec()
    body = spec.worldbody.add_body(name="box")
    body.add_freejoint()
    body.add_geom(name="box", type=mujoco.mjtGeom.mjGEOM_BOX, size=(x, y, z), mass=mass)
    compiled = spec.compile()
    spec.geom("box").size, spec.geom("box").mass = (0.02, 0.02, 0.02), 0.03
    varied = spec.compile()
    apply_to_model(varied, Variation(edits=box_of("box", (x, y, z), mass)))
    at = compiled.body("box").id
    # Compiled, a box's principal axes are sorted; ours stay in the order of the edges, the frame unturned.
    np.testing.assert_allclose(np.sort(varied.body_inertia[at]), np.sort(compiled.body_inertia[at]), rtol=1e-9)
    for field in ("geom_size", "geom_rbound", "body_mass", "body_subtreemass"):
        np.testing.assert_allclose(getattr(varied, field), getattr(compiled, field), rtol=1e-9)
    np.testing.assert_allclose(varied.geom_aabb[:, 3:], compiled.geom_aabb[:, 3:], rtol=1e-9)


def test_a_variation_touches_nothing_but_what_it_names_and_what_follows_from_it() -> None:
    scene = cube_table()
    model = copy.copy(scene.model)
    apply_to_model(model, cube_variation(edge_m=0.037, mass_kg=0.05, pad_friction=1.1))
    assert changed_fields(scene.model, model) <= {
        "geom_size",
        "geom_rbound",
        "geom_aabb",
        "bvh_aabb",
        "geom_friction",
        "body_mass",
        "body_inertia",
        "body_subtreemass",
        "body_invweight0",
        "dof_invweight0",
        "dof_M0",
        "actuator_acc0",
        "dof_length",
        "cam_poscom0",
        "light_poscom0",
    }


def test_a_variation_back_to_the_scenes_own_numbers_restores_every_bit() -> None:
    scene = cube_table()
    model, own = copy.copy(scene.model), copy.copy(scene.model)
    there = cube_variation(edge_m=0.037, mass_kg=0.05, pad_friction=1.1)
    back = cube_variation(edge_m=0.03, mass_kg=0.03, pad_friction=PAD_FRICTION[0])
    apply_to_model(own, back)
    apply_to_model(model, there)
    apply_to_model(model, back)
    assert changed_fields(own, model) == set()
    # What the compiler made of the cube is what the edits make of it, to rounding.
    for field in changed_fields(scene.model, model):
        np.testing.assert_allclose(getattr(model, field), getattr(scene.model, field), rtol=1e-9, atol=1e-12)


def test_the_shared_model_is_never_edited() -> None:
    scene = cube_table()
    before = copy.copy(scene.model)
    apply_to_model(copy.copy(scene.model), cube_variation(edge_m=0.02, mass_kg=0.01, pad_friction=0.9))
    assert changed_fields(before, scene.model) == set()


def test_a_varied_cube_rests_on_the_table_at_half_its_edge() -> None:
    scene = cube_table()
    for edge in (0.015, 0.02, 0.03, 0.04, 0.05):
        model = copy.copy(scene.model)
        apply_to_model(model, cube_variation(edge_m=edge, mass_kg=0.04, pad_friction=1.0))
        data = mujoco.MjData(model)
        data.joint(CUBE).qpos[:] = (0.3, 0.2, edge / 2 + 0.003, 1, 0, 0, 0)
        for _ in range(480):
            mujoco.mj_step(model, data)
        assert data.body(CUBE).xpos[2] == pytest.approx(edge / 2, abs=1e-4)
        assert np.abs(data.joint(CUBE).qvel).max() < 1e-4


def test_friction_is_set_on_every_pad() -> None:
    model = copy.copy(cube_table().model)
    write_edits(model, friction_of(PAD_GEOMS, (0.5, 0.02, 0.001)))
    for name in PAD_GEOMS:
        np.testing.assert_array_equal(model.geom(name).friction, (0.5, 0.02, 0.001))
    np.testing.assert_array_equal(model.geom("table").friction, cube_table().model.geom("table").friction)


def test_edits_name_elements_of_every_kind() -> None:
    model = cube_table().model
    for field, element, row in (
        ("geom_size", CUBE, model.geom(CUBE).id),
        ("body_mass", CUBE, model.body(CUBE).id),
        ("dof_damping", "elbow_flex", int(model.joint("elbow_flex").dofadr[0])),
        ("actuator_gainprm", "gripper", model.actuator("gripper").id),
        ("cam_fovy", "front", model.camera("front").id),
        ("light_dir", "key", model.light("key").id),
    ):
        assert row_of(model, Edit(field=field, element=element, values=(0.0,))) == row


def test_an_edit_of_an_equality_holds_its_joint_elsewhere() -> None:
    model = HSR.model()
    edit = held_at("slip_turn", 0.2)
    assert row_of(model, edit) == model.equality("slip_turn").id
    assert not edit.only_seen
    apply_to_model(model, Variation(edits=(edit,)))
    data = mujoco.MjData(model)
    mujoco.mj_step(model, data, nstep=round(0.6 / model.opt.timestep))
    assert data.joint("slip_turn").qpos[0] == pytest.approx(0.2, abs=1e-3)


def test_variations_add_up_and_the_last_word_counts() -> None:
    first = Variation(edits=box_shape_of(CUBE, (0.01, 0.01, 0.01)), described={"edge_m": 0.02, "mass_kg": 0.1})
    second = Variation(edits=box_shape_of(CUBE, (0.02, 0.02, 0.02)), described={"edge_m": 0.04})
    both = first + second
    assert both.described == {"edge_m": 0.04, "mass_kg": 0.1}
    model = copy.copy(cube_table().model)
    apply_to_model(model, both)
    assert model.geom(CUBE).size[0] == 0.02


def test_delays_of_controls_add_up() -> None:
    assert (Variation(latency_ticks=1) + Variation(latency_ticks=2)).latency_ticks == 3
    rough = Variation(depth_sigma_factor=2.0, depth_hole_share=0.1) + Variation(depth_sigma_factor=1.5)
    assert (rough.depth_sigma_factor, rough.depth_hole_share) == (3.0, 0.1)


def test_a_variation_knows_the_numbers_it_gives_a_model() -> None:
    model = cube_table().model
    twice = Variation(edits=friction_of(("table",), (0.5, 0.1, 0.1)) + friction_of(("table",), (0.6, 0.1, 0.1)))
    assert twice.values(model, "geom_friction", "table") == (0.6, 0.1, 0.1)
    assert Variation().values(model, "geom_friction", "table") == tuple(model.geom("table").friction)
    assert twice.scaled(model, "geom_friction", "table", 2.0).values == (1.2, 0.2, 0.2)


def test_the_light_at_the_camera_and_a_flat_texture_are_edited_too() -> None:
    model = copy.copy(cube_table().model)
    edits = (
        Edit(field="headlight_ambient", element="headlight", values=(0.1, 0.2, 0.3)),
        Edit(field="tex_rgb", element="backdrop", values=(10, 20, 30)),
    )
    write_edits(model, edits)
    np.testing.assert_allclose(model.vis.headlight.ambient, (0.1, 0.2, 0.3), atol=1e-7)
    backdrop = texels_of(model, model.texture("backdrop").id)
    assert (backdrop == (10, 20, 30)).all()
    assert changed_fields(cube_table().model, model) == {"tex_data"}
    assert Variation().values(model, "tex_rgb", "backdrop") == (10, 20, 30)


@pytest.mark.parametrize("field", ["geom_rgba", "geom_matid", "cam_pos", "light_dir", "headlight_ambient", "tex_rgb"])
def test_what_only_cameras_notice_is_known_as_such(field: str) -> None:
    assert Edit(field=field, element="", values=()).only_seen


@pytest.mark.parametrize("field", ["geom_size", "geom_friction", "body_mass", "actuator_gainprm", "dof_damping"])
def test_what_bodies_notice_is_known_as_such(field: str) -> None:
    assert not Edit(field=field, element="", values=()).only_seen


def test_a_cube_says_in_plain_numbers_what_it_is() -> None:
    variation = cube_variation(edge_m=0.025, mass_kg=0.02, pad_friction=1.0)
    assert variation.described == {"edge_m": 0.025, "mass_kg": 0.02, "pad_friction": 1.0}
