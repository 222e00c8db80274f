from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest

from graspline.errors import EnvironmentProblem, InputError
from graspline.rendering.video import VideoWriter, caption, contact_sheet


def grey(level: int, height: int = 48, width: int = 64) -> np.ndarray:
    return np.full((height, width, 3), level, np.uint8)


@pytest.mark.parametrize("fps", [30, 60, Fraction(30000, 1001)])
def test_a_video_decodes_to_its_frames_at_their_times(tmp_path: Path, fps: int | Fraction):
    path = tmp_path / "run" / "front.mp4"
    with VideoWriter(path, 64, 48, fps) as video:
        for index in range(25):
            video.write(grey(10 * index))
    with av.open(path, "r") as file:
        stream = file.streams.video[0]
        frames = list(file.decode(stream))
        assert (stream.width, stream.height, stream.codec_context.pix_fmt) == (64, 48, "yuv420p")
    times = [(frame.pts or 0) * (frame.time_base or Fraction(0)) for frame in frames]
    assert times == [index / Fraction(fps) for index in range(25)]
    levels = [frame.to_ndarray(format="rgb24").mean() for frame in frames]
    np.testing.assert_allclose(levels, 10 * np.arange(25), atol=4)
    assert list(path.parent.iterdir()) == [path]


def test_an_aborted_writer_leaves_no_file(tmp_path: Path):
    def interrupted() -> None:
        with VideoWriter(tmp_path / "front.mp4", 64, 48, 30) as video:
            video.write(grey(0))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert list(tmp_path.iterdir()) == []


def test_an_unfinished_video_keeps_the_old_file_under_the_final_name(tmp_path: Path):
    path = tmp_path / "front.mp4"
    path.write_bytes(b"old")
    video = VideoWriter(path, 64, 48, 30)
    video.write(grey(0))
    assert path.read_bytes() == b"old"
    video.close()
    assert path.read_bytes() != b"old"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no disk that is always full")
def test_a_full_disk_is_told_with_the_files_name_and_leaves_nothing(tmp_path: Path):
    (tmp_path / "front.mp4.part").symlink_to("/dev/full")

    def write() -> None:
        with VideoWriter(tmp_path / "front.mp4", 64, 48, 30) as video:
            for level in range(200):
                video.write(grey(level))

    with pytest.raises(EnvironmentProblem, match=r"front.mp4: cannot be written: No space left"):
        write()
    assert list(tmp_path.iterdir()) == []


def test_a_film_that_cannot_be_opened_is_told_with_its_name():
    def write() -> None:
        with VideoWriter(Path("/proc/x.mp4"), 64, 48, 30) as video:
            video.write(grey(0))

    with pytest.raises(EnvironmentProblem, match=r"/proc/x.mp4: cannot be written"):
        write()


def test_a_video_without_frames_is_refused_and_leaves_no_file(tmp_path: Path):
    with pytest.raises(InputError, match="no frames"), VideoWriter(tmp_path / "front.mp4", 64, 48, 30):
        pass
    assert list(tmp_path.iterdir()) == []


def test_odd_sizes_are_refused_by_name(tmp_path: Path):
    with pytest.raises(InputError) as caught:
        VideoWriter(tmp_path / "front.mp4", 65, 47, 30)
    assert len(caught.value.problems) == 2
    assert "width must be even" in caught.value.problems[0]
    assert list(tmp_path.iterdir()) == []


def test_a_frame_of_another_size_is_refused(tmp_path: Path):
    video = VideoWriter(tmp_path / "front.mp4", 64, 48, 30)
    with pytest.raises(InputError, match="frames of shape"):
        video.write(grey(0, height=24))
    video.abort()


def test_a_caption_covers_the_top_and_leaves_the_rest_and_the_original_alone():
    frame = grey(200, 240, 320)
    marked = caption(frame, ["approach", "gap 31 mm ≥ 30 mm"])
    assert marked.shape == frame.shape
    assert marked[:40].max() == 255
    assert marked[0, 0].mean() < 120
    assert np.array_equal(marked[120:], frame[120:])
    assert np.all(frame == 200)


def test_a_long_caption_stays_within_the_frame():
    marked = caption(grey(0, 240, 320), ["grasp " * 20])
    assert marked[:, -3:].max() == 0
    # The second row of text.
    assert marked[20:30].max() == 255


def test_a_contact_sheet_puts_frames_in_reading_order():
    sheet = contact_sheet([grey(10), grey(20), grey(30)], columns=2)
    assert sheet.shape == (2 * 48 + 4, 2 * 64 + 4, 3)
    assert [sheet[0, 0, 0], sheet[0, -1, 0], sheet[-1, 0, 0], sheet[-1, -1, 0]] == [10, 20, 30, 255]


def test_frames_of_different_sizes_make_no_sheet():
    with pytest.raises(InputError, match="frames of one shape"):
        contact_sheet([grey(0), grey(0, height=24)], columns=2)
