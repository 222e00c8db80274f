"""Worker processes that render: the same pixels as here, in order, whatever happens to one of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from graspline.episodes import render_pool
from graspline.episodes.render_pool import RenderPool
from graspline.rendering.batches import PictureJob
from graspline.rendering.choose import open_renderer
from graspline.scenes.cube_table import CUBE, cube_start, cube_table
from graspline.scenes.variation import Edit, Variation

pytestmark = pytest.mark.slow


@pytest.fixture
def pool() -> Iterator[RenderPool]:
    found = RenderPool(cube_table(), 2)
    yield found
    found.close()


def jobs(count: int) -> list[PictureJob]:
    """Cubes of different colours, two cameras, two sizes."""
    colours = [Edit(field="geom_rgba", element=CUBE, values=(i / count, 0.5, 0.2, 1.0)) for i in range(count)]
    return [
        PictureJob(
            qpos=cube_start(x_m=0.2 + 0.005 * i, y_m=0.1, yaw_rad=0.1 * i, edge_m=0.03),
            variation=Variation(edits=(colours[i],)),
            camera=("front", "wrist")[i % 2],
            width=(48, 32)[i % 3 == 0],
            height=36,
        )
        for i in range(count)
    ]


def check(pool: RenderPool, count: int) -> None:
    asked = jobs(count)
    for job, picture in zip(asked, pool.pictures(asked), strict=True):
        with open_renderer(cube_table(), job.width, job.height, smooth=False) as renderer:
            here = renderer.render(job.qpos, job.variation, job.camera)
        np.testing.assert_array_equal(picture.rgb, here.rgb)
        np.testing.assert_array_equal(picture.position_m, here.position_m)
        np.testing.assert_array_equal(picture.rotation, here.rotation)
        assert (picture.camera, picture.fovy_rad) == (here.camera, here.fovy_rad)


def test_pictures_are_those_of_this_process(pool: RenderPool) -> None:
    check(pool, 7)
    check(pool, 1)
    assert pool.pictures([]) == []


def test_more_pictures_than_the_memory_holds_come_in_batches(pool: RenderPool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(render_pool, "_MOST_BYTES", 48 * 36 * 3 * 2)
    check(pool, 5)


def test_a_worker_that_is_killed_is_replaced(pool: RenderPool) -> None:
    check(pool, 3)
    pool._pool._workers[0].process.kill()
    check(pool, 4)


def test_no_shared_memory_is_left_behind() -> None:
    found = RenderPool(cube_table(), 1)
    found.pictures(jobs(2))
    shared = set(re.findall(r"/dev/shm/psm_\w+", Path("/proc/self/maps").read_text()))
    assert len(shared) == 2
    found.close()
    assert not any(Path(each).exists() for each in shared)
