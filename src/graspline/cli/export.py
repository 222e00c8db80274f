"""`graspline export`: a dataset in another format."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from graspline.cli.edit import replacing
from graspline.cli.interrupts import interruptible
from graspline.cli.options import Folder
from graspline.cli.outputs import check_name, make_folder, report_saved
from graspline.cli.progress import steps
from graspline.datasets.format.files import folder_bytes
from graspline.errors import InputError, one_of
from graspline.wording import counted

_FORMATS = ("hdf5", "rosbag2")


def export(
    root: Folder,
    to: Annotated[
        str, typer.Option(metavar="FORMAT", help="hdf5 (as robomimic reads it) or rosbag2 (for ROS 2 and Foxglove).")
    ],
    out: Annotated[
        Path,
        typer.Option(metavar="PATH", help="hdf5: a file, such as out/picks.hdf5; rosbag2: a new folder."),
    ],
    jpeg: Annotated[bool, typer.Option("--jpeg", help="hdf5: store images as JPEG, much smaller but lossy.")] = False,
) -> None:
    """Export a dataset to HDF5 or rosbag2.

    hdf5 needs `pip install 'graspline[hdf5]'`. Each episode is a group (data/demo_0, data/demo_1, …) with observations
    (images, joint_pos, gripper, ee_pose, object), actions, rewards, dones, targets and the task's state in every frame;
    everything else about the episode is in its attributes. The frame rate is the dataset's; for 60 Hz, generate it with
    `graspline generate --fps 60`.

    rosbag2 needs `pip install 'graspline[ros]'`, but no ROS. Each episode is a bag (episode_000000, …): an MCAP file
    for `ros2 bag play` and Foxglove with joint states, commanded positions, JPEG images with camera info, tf of links,
    tool, cameras and objects, and events as JSON. Time is simulated and starts at 0.

    \b
    Examples:
      graspline export out/oranges --to hdf5 --out out/oranges.hdf5
      graspline export out/oranges --to hdf5 --out out/oranges.hdf5 --jpeg
      graspline export out/oranges --to rosbag2 --out out/bags
    """
    one_of(to, _FORMATS, "--to")
    if to == "hdf5":
        _export_hdf5(root, out, jpeg)
    elif jpeg:
        raise InputError("--jpeg: only for hdf5; images in bags are always JPEG")
    else:
        _export_rosbag2(root, out)


def _export_hdf5(root: Path, out: Path, jpeg: bool) -> None:
    # An optional dependency; the module says so where it is missing.
    from graspline.datasets.export.hdf5 import export_hdf5

    check_name("--out", out, ".hdf5")
    make_folder("--out", out.parent)
    with replacing(out), steps("exporting") as progress:
        count = export_hdf5(root, out, jpeg=jpeg, progress=progress)
    print(f"{counted(count, 'episode')}, {out.stat().st_size / 1e6:.1f} MB", file=sys.stderr)
    report_saved(out)


def _export_rosbag2(root: Path, out: Path) -> None:
    # As is rosbags.
    from graspline.datasets.export.rosbag2 import bag_name, export_rosbag2

    make_folder("--out", out.parent)

    def left() -> str:
        return f"{out} was already finished" if (out / bag_name(0)).exists() else f"{out} was not written"

    with interruptible(left), steps("exporting") as progress:
        count = export_rosbag2(root, out, progress=progress)
    print(f"{counted(count, 'bag')}, {folder_bytes(out) / 1e6:.1f} MB", file=sys.stderr)
    report_saved(out)
