"""`graspline export`: a dataset in another format."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from graspline.cli.edit import Folder, replacing
from graspline.cli.outputs import check_name, make_folder
from graspline.cli.progress import steps
from graspline.errors import one_of

_FORMATS = ("hdf5",)


def export(
    root: Folder,
    to: Annotated[str, typer.Option(metavar="FORMAT", help="hdf5, as robomimic reads it.")],
    out: Annotated[Path, typer.Option(metavar="FILE", help="The file to write, such as out/oranges.hdf5.")],
    jpeg: Annotated[
        bool, typer.Option("--jpeg", help="Pictures as JPEG files, much smaller and not quite the same.")
    ] = False,
) -> None:
    """Write a dataset in another format.

    hdf5 needs `pip install 'graspline[hdf5]'`. Every episode is a group data/demo_0 and so on, with observations (a
    picture of each camera, joint_pos, gripper, ee_pose, object), actions, rewards, dones, targets, and the state of the
    task in every frame; what is known of the episode is in its attributes. Frames come at the dataset's rate: one of 60
    Hz is made with `graspline generate --fps 60`.

    \b
    Examples:
      graspline export out/oranges --to hdf5 --out out/oranges.hdf5
      graspline export out/oranges --to hdf5 --out out/oranges.hdf5 --jpeg
    """
    one_of(to, _FORMATS, "--to")
    # h5py is not there for everybody; the module says so.
    from graspline.datasets.hdf5 import export_hdf5

    check_name("--out", out, ".hdf5")
    make_folder("--out", out.parent)
    with replacing(out), steps("exporting") as progress:
        count = export_hdf5(root, out, jpeg=jpeg, progress=progress)
    print(f"{out}: {count} episodes, {out.stat().st_size / 1e6:.1f} MB", file=sys.stderr)
