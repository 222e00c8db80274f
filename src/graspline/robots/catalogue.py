"""Every robot by name."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from graspline.robots.robot import Robot
from graspline.robots.so101 import SO101

ROBOTS: Mapping[str, Robot] = MappingProxyType({robot.name: robot for robot in (SO101,)})
