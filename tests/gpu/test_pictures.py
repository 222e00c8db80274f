"""Pictures of many lanes from a Warp device; here its CPU, where the first one waits for a kernel to be compiled."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from graspline.gpu.pictures import WarpPictures
from graspline.gpu.renderer import WarpRenderer
from graspline.rendering.batches import PictureJob
from graspline.rendering.picture import Picture
from graspline.scenes.cube_table import CUBE, cube_start, cube_table
from graspline.scenes.variation import Edit, Variation

SIZE = 32, 24
GLASS = Variation(edits=(Edit(field="geom_rgba", element=CUBE, values=(1.0, 0.0, 0.0, 0.5)),))

pytestmark = pytest.mark.slow


class Other:
    """A source of black pictures that counts what it is asked for."""

    def __init__(self) -> None:
        self.opened, self.closed = 0, False
        self.jobs: list[PictureJob] = []

    def __call__(self) -> Other:
        self.opened += 1
        return self

    def pictures(self, jobs: Sequence[PictureJob]) -> list[Picture]:
        self.jobs += jobs
        black = np.zeros((SIZE[1], SIZE[0], 3), np.uint8)
        nowhere = {"position_m": np.zeros(3), "rotation": np.eye(3), "fovy_rad": 1.0}
        return [Picture(rgb=black, camera=job.camera, **nowhere) for job in jobs]

    def close(self) -> None:
        self.closed = True


def job(x_m: float, camera: str = "front", variation: Variation | None = None, *, posed: bool = False) -> PictureJob:
    start = cube_start(x_m=x_m, y_m=0.1, yaw_rad=0.2, edge_m=0.03)
    given = Variation() if variation is None else variation
    return PictureJob(qpos=start, variation=given, camera=camera, width=SIZE[0], height=SIZE[1], posed=posed)


def test_every_picture_is_what_the_renderer_renders_alone_whatever_the_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("graspline.gpu.pictures._WORLDS", 2)
    other, jobs = Other(), [job(0.2 + 0.02 * i, "wrist" if i % 3 == 1 else "front") for i in range(7)]
    source = WarpPictures(cube_table(), 7, "cpu", other)
    pictures = source.pictures(jobs)
    alone = WarpRenderer(cube_table(), *SIZE, 1, "cpu")
    for each, picture in zip(jobs, pictures, strict=True):
        assert picture.camera == each.camera
        np.testing.assert_array_equal(picture.rgb, alone.render_many(each.qpos[None], [each.variation], each.camera)[0])
    source.close()
    assert not other.opened


def test_what_it_would_render_wrong_comes_from_the_other_source_and_is_told_once() -> None:
    other, said = Other(), list[str]()
    source = WarpPictures(cube_table(), 3, "cpu", other, said.append)
    for _ in range(2):
        mixed = source.pictures([job(0.2), job(0.2, variation=GLASS), job(0.2, posed=True)])
        assert [bool(picture.rgb.any()) for picture in mixed] == [True, False, False]
    assert [each.variation is GLASS for each in other.jobs] == [True, False, True, False]
    assert said == ["some pictures are rendered on the CPU: a GPU cannot render translucent geoms"]
    source.close()
    assert (other.opened, other.closed) == (1, True)
