"""A robot for graspline: a seven-joint arm of Panda's published dimensions with a parallel hand."""

from __future__ import annotations

from pathlib import Path

from graspline.robots.mjcf import robot_from_file

PANDA = robot_from_file(Path(__file__).with_name("panda.yaml"))
