"""The GPU's renderer is opened once for all batches that a worker plays."""

from __future__ import annotations

from typing import Any, cast

from graspline.envs.takeover import _kept
from graspline.scenes.scene import Scene


class Source:
    closed = False

    def pictures(self, jobs: Any) -> list[Any]:
        return ["image"] * len(jobs)

    def close(self) -> None:
        self.closed = True


def test_a_source_is_opened_once_and_outlives_the_batches_that_use_it() -> None:
    opened: list[Source] = []

    def open_source(scene: Scene, lanes: int) -> Source:
        opened.append(Source())
        return opened[-1]

    kept = _kept(open_source)
    assert kept is not None
    for lanes in (8, 1):
        source = kept(cast(Scene, None), lanes)
        assert source is not None
        assert source.pictures([cast(Any, None)] * lanes) == ["image"] * lanes
        source.close()
    assert len(opened) == 1
    assert not opened[0].closed


def test_without_a_source_for_all_lanes_there_is_none_to_keep() -> None:
    assert _kept(None) is None
