"""Arms that graspline has never seen: models as users bring them, and descriptions of them."""

from __future__ import annotations

from pathlib import Path

SCARA = """
<mujoco model="scara">
  <compiler angle="degree" autolimits="true"/>
  <option timestep="0.004"/>
  <default>
    <default class="shell"><geom contype="0" conaffinity="0" group="2" mass="0" rgba="0.9 0.6 0.2 1"/></default>
    <default class="hull"><geom group="3"/></default>
  </default>
  <worldbody>
    <light pos="0 0 3"/>
    <geom name="floor" type="plane" size="2 2 0.1"/>
    <camera name="overview" pos="1 1 1"/>
    <body name="column" pos="0 0 0.4">
      <geom class="hull" type="cylinder" fromto="0 0 -0.4 0 0 0" size="0.05"/>
      <geom class="shell" type="cylinder" fromto="0 0 -0.4 0 0 0" size="0.051"/>
      <body name="inner" pos="0 0 0.03">
        <joint name="shoulder" axis="0 0 1" range="-150 150" damping="1"/>
        <geom class="hull" type="capsule" fromto="0 0 0 0.22 0 0" size="0.035" mass="2"/>
        <body name="outer" pos="0.22 0 0.07">
          <joint name="elbow" axis="0 0 1" range="-150 150" damping="1"/>
          <geom class="hull" type="capsule" fromto="0 0 0 0.2 0 0" size="0.03" mass="1"/>
          <body name="quill" pos="0.2 0 0">
            <joint name="lift" type="slide" axis="0 0 1" range="-0.35 0" damping="10"/>
            <geom class="hull" type="cylinder" fromto="0 0 -0.05 0 0 0.15" size="0.015" mass="0.4"/>
            <body name="flange" pos="0 0 -0.07">
              <joint name="roll" axis="0 0 -1" range="-190 190" damping="0.2"/>
              <geom name="palm" class="hull" type="box" size="0.05 0.02 0.02" mass="0.3"/>
              <site name="grip" pos="0 0 -0.091" euler="0 90 0"/>
              <body name="left" pos="0 0 -0.06">
                <joint name="left_slide" type="slide" axis="1 0 0" range="0 0.035" damping="5"/>
                <geom name="left_pad" class="hull" type="box" pos="0.006 0 0" size="0.006 0.01 0.035" mass="0.04"/>
              </body>
              <body name="right" pos="0 0 -0.06">
                <joint name="right_slide" type="slide" axis="-1 0 0" range="0 0.035" damping="5"/>
                <geom name="right_pad" class="hull" type="box" pos="-0.006 0 0" size="0.006 0.01 0.035" mass="0.04"/>
              </body>
            </body>
          </body>
        </body>
      </body>
    </body>
  </worldbody>
  <equality><joint joint1="right_slide" joint2="left_slide" polycoef="0 1 0 0 0"/></equality>
  <actuator>
    <position joint="shoulder" kp="3000" kv="200" forcerange="-80 80"/>
    <position joint="elbow" kp="2000" kv="100" forcerange="-60 60"/>
    <position joint="lift" kp="20000" kv="600" forcerange="-300 300"/>
    <position joint="roll" kp="100" kv="3" forcerange="-10 10"/>
    <position joint="left_slide" kp="100" forcerange="-60 60"/>
  </actuator>
  <keyframe><key name="home" qpos="0.6 -1.2 0 0 0.03 0.03"/></keyframe>
</mujoco>
"""

SCARA_DESCRIPTION = """
name: scara
model: scara.xml
tool:
  site: grip
  along: [1, 0, 0]
  opening: [0, 0, 1]
pads:
  fixed: [right_pad]
  moving: [left_pad]
joints:
  arm: [shoulder, elbow, lift, roll]
  jaw: left_slide
home: [0.6, -1.2, 0.0, 0.0, 0.03]
"""

# Five joints and motors only; one finger stands still, the other swings on a pivot and closes as its joint grows.
TONGS = """
<mujoco model="tongs">
  <compiler angle="radian" autolimits="true"/>
  <worldbody>
    <body name="foot">
      <geom type="cylinder" fromto="0 0 0 0 0 0.06" size="0.06"/>
      <body name="turret" pos="0 0 0.08">
        <joint name="turn" axis="0 0 1" range="-2.6 2.6" damping="0.5"/>
        <geom type="cylinder" fromto="0 0 0 0 0 0.06" size="0.04" mass="0.5"/>
        <body name="upper" pos="0 0 0.06">
          <joint name="lift" axis="0 1 0" range="-1.9 1.9" damping="0.5"/>
          <geom type="capsule" fromto="0 0 0.03 0 0 0.18" size="0.025" mass="0.4"/>
          <body name="fore" pos="0 0 0.2">
            <joint name="bend" axis="0 1 0" range="-0.2 2.8" damping="0.5"/>
            <geom type="capsule" fromto="0 0 0.04 0 0 0.16" size="0.022" mass="0.3"/>
            <body name="wrist" pos="0 0 0.18">
              <joint name="tilt" axis="0 1 0" range="-1.9 1.9" damping="0.2"/>
              <geom type="box" pos="0 0 0.02" size="0.02 0.02 0.02" mass="0.1"/>
              <body name="hand" pos="0 0 0.05">
                <joint name="roll" axis="0 0 1" range="-3.1 3.1" damping="0.1"/>
                <geom name="palm" type="box" pos="0 0 0.015" size="0.03 0.02 0.015" mass="0.1"/>
                <geom name="thumb" type="box" pos="-0.006 0 0.075" size="0.006 0.009 0.045" mass="0.03"/>
                <body name="finger" pos="0.02 0 0.03">
                  <joint name="squeeze" axis="0 -1 0" range="-0.9 0.35" damping="0.05"/>
                  <geom name="tip" type="box" pos="0.0 0 0.045" size="0.006 0.009 0.045" mass="0.03"/>
                </body>
              </body>
            </body>
          </body>
        </body>
      </body>
    </body>
  </worldbody>
  <actuator>
    <motor joint="turn" ctrlrange="-6 6"/><motor joint="lift" ctrlrange="-8 8"/><motor joint="bend" ctrlrange="-6 6"/>
    <motor joint="tilt" ctrlrange="-3 3"/><motor joint="roll" ctrlrange="-2 2"/>
    <motor joint="squeeze" ctrlrange="-2 2"/>
  </actuator>
</mujoco>
"""

TONGS_DESCRIPTION = """
name: tongs
model: tongs.xml
tool:
  body: hand
  position_m: [0, 0, 0.12]
  along: [0, 0, 1]
  opening: [1, 0, 0]
pads: {fixed: [thumb], moving: [finger]}
joints:
  arm: [turn, lift, bend, tilt, roll]
  jaw: squeeze
home: [0.0, -0.4, 1.6, 1.6, 0.0, -0.3]
servos:
  kp: [400, 400, 300, 150, 40, 20]
  kv: [20, 20, 12, 6, 1.5, 0.5]
  force: [6, 8, 6, 3, 2, 1.2]
"""


def written(folder: Path, name: str, model: str, description: str) -> Path:
    """The description file of an arm, beside its model."""
    (folder / f"{name}.xml").write_text(model, encoding="utf-8")
    file = folder / f"{name}.yaml"
    file.write_text(description, encoding="utf-8")
    return file
