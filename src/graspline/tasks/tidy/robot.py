"""The robot that tidies: the room is built for it, and its base takes part in every reach."""

from __future__ import annotations

from graspline.kinematics.arms import whole_body_of
from graspline.kinematics.whole_body import WholeBody
from graspline.robots.hsr import HSR as ROBOT

BODY: WholeBody = whole_body_of(ROBOT)
# The camera on the head.
EYE = ROBOT.cameras[0]
