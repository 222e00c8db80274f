"""Distributions of others, put beside graspline without an installer."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path


def installed(root: Path, site: Path) -> dict[str, str]:
    """The environment of a process in which the distribution of a folder is installed; its metadata go to `site`."""
    pyproject = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    entries = {group: dict(each) for group, each in pyproject["entry-points"].items()}
    write_metadata(site, pyproject["name"], pyproject["version"], entries)
    return environment(root / "src", site)


def with_module(folder: Path, distribution: str, source: str, group: str = "graspline.tasks", **entries: str) -> Path:
    """A folder in which a distribution of one module is installed."""
    site = folder / distribution
    write_metadata(site, distribution, "1.0", {group: entries})
    (site / f"{distribution.replace('-', '_')}.py").write_text(source)
    return site


def write_metadata(site: Path, distribution: str, version: str, entries: dict[str, dict[str, str]]) -> None:
    info = site / f"{distribution.replace('-', '_')}-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: {version}\n")
    groups = ("\n".join([f"[{group}]", *(f"{a} = {b}" for a, b in each.items())]) for group, each in entries.items())
    (info / "entry_points.txt").write_text("\n".join(groups) + "\n")


def environment(*folders: Path) -> dict[str, str]:
    """What makes Python look into these folders first."""
    before = os.environ.get("PYTHONPATH")
    return {"PYTHONPATH": os.pathsep.join([*map(str, folders), *([before] if before else [])])}
