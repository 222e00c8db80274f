"""Every robot by name."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from graspline.robots.robot import Robot
from graspline.robots.so101 import SO101
from graspline.robots.ur5e import UR5E

ROBOTS: Mapping[str, Robot] = MappingProxyType({robot.name: robot for robot in (SO101, UR5E)})
