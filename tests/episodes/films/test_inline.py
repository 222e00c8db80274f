"""Films that play in a notebook."""

from __future__ import annotations

import base64
import io
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

from graspline.episodes.episode import Episode
from graspline.episodes.films import inline
from graspline.episodes.films.inline import InlineFilm
from graspline.episodes.run import run_scenarios
from graspline.episodes.scenario import Scenario
from graspline.errors import InputError
from graspline.tasks.catalogue import find_task


@pytest.fixture(scope="module")
def episode() -> Episode:
    task = find_task("lift-cube")
    (played,) = run_scenarios([Scenario(task=task, parameters=task.parameters(), seed=7)])
    return played


def test_a_film_is_embedded_and_can_be_saved(tmp_path: Path) -> None:
    film = InlineFilm(mp4=b"\0mp4\xff", title="lift-cube <7>", render=lambda path: path.write_bytes(b"small"))
    embedded = re.search(r"src='data:video/mp4;base64,([^']+)'", film._repr_html_())
    assert embedded is not None
    assert base64.b64decode(embedded[1]) == film.mp4
    assert "lift-cube &lt;7&gt;" in film._repr_html_()
    assert film.save(str(tmp_path / "x.mp4")).read_bytes() == film.mp4
    assert repr(film) == "<InlineFilm of lift-cube <7>: 0 kB>"
    for name in ("x.gif", "x.webp"):
        assert film.save(tmp_path / name).read_bytes() == b"small"
    with pytest.raises(InputError, match=r"x\.avi: expected a name that ends in \.mp4, \.gif or \.webp"):
        film.save(tmp_path / "x.avi")


def test_an_episode_without_states_is_replayed_to_the_same_states(
    episode: Episode, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Episode] = []

    def film(filmed: Episode, scene: Any, path: Path) -> None:
        seen.append(filmed)
        path.write_bytes(b"film")

    monkeypatch.setattr(inline, "film", film)
    assert not len(episode.log.states)
    assert episode.film().mp4 == b"film"
    (recorded,) = run_scenarios([episode.scenario], record_states=True)
    assert np.array_equal(seen[0].log.states, recorded.log.states)
    recorded.film()
    assert seen[1] is recorded


def test_a_log_that_does_not_replay_is_not_filmed(episode: Episode) -> None:
    with pytest.raises(InputError, match="record_states=True"):
        replace(episode, state_hash="another").film()


@pytest.mark.slow
def test_the_film_of_an_episode_plays(episode: Episode) -> None:
    film = episode.film()
    with av.open(io.BytesIO(film.mp4)) as file:
        stream = file.streams.video[0]
        assert stream.codec_context.name == "h264"
        assert stream.frames > 4 * episode.sim_time_s
    assert film.title == "lift-cube, seed 7: success"
