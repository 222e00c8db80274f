"""The ready sampler of cubes: apart, on the table, and only where the ready machine can plan its work."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from graspline import Box, Draw, InputError, Scene, stages, table_with

RED, BLUE, GREEN = (Box(name=name, rgb=(0.5, 0.5, 0.5)) for name in ("red", "blue", "green"))
ON_BLUE = stages.OnObject(name="blue")
PARAMETERS = stages.CubeParameters()


def scene(parameters: stages.CubeParameters) -> Scene:
    return table_with(RED, BLUE, GREEN)


SAMPLE = stages.cube_sampler(scene, "red", ON_BLUE)


def sampled(seed: int) -> Draw:
    return SAMPLE(PARAMETERS, np.random.default_rng(seed))


def test_every_cube_of_the_scene_lies_on_the_table_apart_from_the_others() -> None:
    compiled = scene(PARAMETERS)
    for seed in range(5):
        draw = sampled(seed)
        edges = {name: draw.variation.described[f"{name}_edge_m"] for name in compiled.object_names}
        at = {name: draw.start[compiled.joint_address(name) :][:3] for name in compiled.object_names}
        assert all(at[name][2] == pytest.approx(edges[name] / 2) for name in at)
        for one, other in itertools.combinations(at, 2):
            apart_m = np.hypot(*(at[one] - at[other])[:2]) - (edges[one] + edges[other]) / np.sqrt(2)
            assert apart_m >= PARAMETERS.cubes.apart_m - 1e-12


def test_scenes_sampled_side_by_side_have_the_bits_of_those_sampled_alone() -> None:
    together = SAMPLE.many([(PARAMETERS, np.random.default_rng(seed)) for seed in range(4)])
    for seed, draw in enumerate(together):
        alone = sampled(seed)
        assert draw.start.tobytes() == alone.start.tobytes()
        assert (draw.variation, draw.refused) == (alone.variation, alone.refused)


def test_parameters_that_leave_no_room_are_reported_with_those_that_decide() -> None:
    crowded = stages.CubeParameters.model_validate({"cubes": {"radius_m": [0.2, 0.21], "azimuth_rad": [0, 0.1]}})
    with pytest.raises(InputError, match=r"rejected by no_room 1000; no_room depends on cubes\.apart_m"):
        SAMPLE(crowded, np.random.default_rng(0))
