"""`graspline.load`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import graspline
from graspline.errors import InputError

from .conftest import EPISODES


def test_a_dataset_is_a_sequence_of_episodes(made: Path) -> None:
    dataset = graspline.load(made)
    assert len(dataset) == EPISODES
    assert [each.index for each in dataset] == list(range(EPISODES))
    assert dataset[-1].index == EPISODES - 1
    assert len(dataset[1:]) == EPISODES - 1
    assert (dataset.task, dataset.cameras) == ("lift-cube", ("front",))
    assert dataset.sentences == ("Lift the cube and hold it still.",)
    with pytest.raises(IndexError):
        dataset[EPISODES]


def test_an_episode_has_its_columns_as_arrays(made: Path) -> None:
    dataset = graspline.load(str(made))
    episode = dataset[0]
    joints = dataset.names("action")
    assert episode.frames["action"].shape == (len(episode), len(joints))
    assert episode.frames["action"].dtype == np.float32
    assert episode.frames["timestamp"].shape == (len(episode),)
    assert episode.frames["graspline.state"][0] in ("look", "approach")
    assert (episode.success, episode.outcome, episode.retries) == (True, "success", 0)
    assert episode.sentence == "Lift the cube and hold it still."
    assert dataset.names("timestamp") == ("timestamp",)


def test_pictures_are_decoded_one_by_one_or_all_in_order(made: Path) -> None:
    episode = graspline.load(made)[1]
    first = episode.picture("front")
    assert first.shape == (48, 64, 3)
    assert first.dtype == np.uint8
    pictures = list(episode.pictures("front"))
    assert len(pictures) == len(episode)
    assert np.array_equal(pictures[0], first)
    assert np.array_equal(pictures[-1], episode.picture("front", -1))
    assert not np.array_equal(pictures[0], pictures[-1])


def test_what_is_not_there_is_named_with_what_is(made: Path) -> None:
    dataset = graspline.load(made)
    with pytest.raises(InputError, match="no camera 'wrist'; known: front"):
        dataset[0].picture("wrist")
    with pytest.raises(InputError, match="frame 9999: the episode has frames 0 to"):
        dataset[0].picture("front", 9999)
    with pytest.raises(InputError, match="did you mean 'action'"):
        dataset.names("actoin")


def test_a_wrong_column_is_a_key_error_that_names_the_columns(made: Path) -> None:
    frames = graspline.load(made)[0].frames
    with pytest.raises(KeyError) as raised:
        frames["actoin"]
    assert isinstance(raised.value, InputError)
    assert str(raised.value).startswith("no column 'actoin'; did you mean 'action'? known: action, ")
    assert frames.get("actoin") is None
    assert "actoin" not in frames
    with pytest.raises(InputError, match="no such folder"):
        graspline.load(made / "nothing")


def test_datasets_and_episodes_show_themselves(made: Path) -> None:
    dataset = graspline.load(made)
    assert repr(dataset) == f"<dataset {made}: lift-cube, {EPISODES} episodes, {dataset.fps} fps>"
    assert repr(dataset[0]).startswith("<episode 0, seed 0: success, ")
    assert dataset._repr_html_().count("Lift the cube") == EPISODES
    assert "observation.state" in dataset[0]._repr_html_()
