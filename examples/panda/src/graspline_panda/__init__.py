"""A robot for graspline: a seven-joint arm of Panda's published dimensions with a parallel hand."""

from __future__ import annotations

from pathlib import Path

from graspline import ROBOTS

PANDA = ROBOTS.find(str(Path(__file__).with_name("panda.yaml")))
