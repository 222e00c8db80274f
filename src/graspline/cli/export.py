"""`graspline export`: a dataset in another format."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from graspline.cli.edit import replacing
from graspline.cli.interrupts import interruptible
from graspline.cli.options import Folder
from graspline.cli.outputs import check_name, make_folder, tell_saved
from graspline.cli.progress import steps
from graspline.datasets.files import folder_bytes
from graspline.errors import InputError, one_of

_FORMATS = ("hdf5", "rosbag2")


def export(
    root: Folder,
    to: Annotated[
        str, typer.Option(metavar="FORMAT", help="hdf5, as robomimic reads it, or rosbag2, for ROS 2 and Foxglove.")
    ],
    out: Annotated[
        Path,
        typer.Option(metavar="PATH", help="hdf5: the file to write, such as out/oranges.hdf5; rosbag2: a new folder."),
    ],
    jpeg: Annotated[
        bool, typer.Option("--jpeg", help="hdf5: pictures as JPEG files, much smaller and not quite the same.")
    ] = False,
) -> None:
    """Write a dataset in another format.

    hdf5 needs `pip install 'graspline[hdf5]'`. Every episode is a group data/demo_0 and so on, with observations (a
    picture of each camera, joint_pos, gripper, ee_pose, object), actions, rewards, dones, targets, and the state of the
    task in every frame; what is known of the episode is in its attributes. Frames come at the dataset's rate: one of 60
    Hz is made with `graspline generate --fps 60`.

    rosbag2 needs `pip install 'graspline[ros]'`, and no ROS. Every episode is a bag episode_000000 and so on, an MCAP
    file that `ros2 bag play` and Foxglove open, with joint states, the commanded reference, JPEG pictures with camera
    info, tf of links, tool, cameras and objects, and what happened as JSON. Time is simulated and begins with 0.

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
        raise InputError("--jpeg: is for hdf5; pictures in bags are JPEG files in any case")
    else:
        _export_rosbag2(root, out)


def _export_hdf5(root: Path, out: Path, jpeg: bool) -> None:
    # h5py is not there for everybody; the module says so.
    from graspline.datasets.hdf5 import export_hdf5

    check_name("--out", out, ".hdf5")
    make_folder("--out", out.parent)
    with replacing(out), steps("exporting") as progress:
        count = export_hdf5(root, out, jpeg=jpeg, progress=progress)
    print(f"{count} episodes, {out.stat().st_size / 1e6:.1f} MB", file=sys.stderr)
    tell_saved(out)


def _export_rosbag2(root: Path, out: Path) -> None:
    # Nor is rosbags.
    from graspline.datasets.rosbag2 import bag_name, export_rosbag2

    make_folder("--out", out.parent)

    def left() -> str:
        return f"{out} was already finished" if (out / bag_name(0)).exists() else f"{out} was not made"

    with interruptible(left), steps("exporting") as progress:
        count = export_rosbag2(root, out, progress=progress)
    print(f"{count} bags, {folder_bytes(out) / 1e6:.1f} MB", file=sys.stderr)
    tell_saved(out)
