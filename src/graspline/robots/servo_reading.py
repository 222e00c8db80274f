"""Position servos of a model: their gains as the model has them, as a description gives them, or why there are none."""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np
from numpy.typing import NDArray

from graspline.errors import InputError
from graspline.robots.description import RobotDescription
from graspline.robots.model_reading import Reading

Array = NDArray[np.float64]

# Postures over which loads and inertias are looked at, and the seed they come from.
_POSTURES, _SEED = 64, 0
# A servo's proposal holds this many times the heaviest load, and sags by this under it.
_SPARE, _SAG = 4.0, 0.01
# Without a limit in the model, a servo pulls no harder than when it is off by this, rad or m.
_MOST_OFF = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Loads:
    """What each of n joints carries: its torque against gravity at most, and its inertia at home, least and most."""

    gravity: Array
    inertia: Array
    least_inertia: Array
    most_inertia: Array


@dataclass(frozen=True, slots=True, kw_only=True)
class ServoGains:
    """Of n joints in the order of commands; NaN where nothing says."""

    kp: Array
    kv: Array
    force: Array
    # Time constant of the filters that the model's own servos have; 0 without.
    filter_s: float


def loads_of(model: mujoco.MjModel, joints: tuple[str, ...], home: Array) -> Loads:
    """Over random postures within the joint ranges."""
    data = mujoco.MjData(model)
    ids = [model.joint(name).id for name in joints]
    at, dofs = model.jnt_qposadr[ids], model.jnt_dofadr[ids]
    low, high = model.jnt_range[ids].T
    random = np.random.default_rng(_SEED)
    postures = np.concatenate([home[None], random.uniform(low, high, (_POSTURES, len(joints)))])
    gravity, inertia = np.zeros((2, len(postures), len(joints)))
    column, units = np.zeros(model.nv), np.eye(model.nv)
    for index, posture in enumerate(postures):
        data.qpos[at] = posture
        mujoco.mj_forward(model, data)
        gravity[index] = np.abs(data.qfrc_bias[dofs])
        for joint, dof in enumerate(dofs):
            mujoco.mj_mulM(model, data, column, units[dof])
            inertia[index, joint] = column[dof]
    return Loads(
        gravity=gravity.max(axis=0),
        inertia=inertia[0],
        least_inertia=inertia.min(axis=0),
        most_inertia=inertia.max(axis=0),
    )


def gains_in(model: mujoco.MjModel, joints: tuple[str, ...]) -> ServoGains:
    """What the model's actuators say: position servos on the joints, or on tendons over them."""
    kp, kv, force = (np.full(len(joints), np.nan) for _ in range(3))
    filters = [0.0]
    for index, name in enumerate(joints):
        joint = model.joint(name).id
        limits = [np.inf]
        if model.jnt_actfrclimited[joint]:
            limits.append(float(np.abs(model.jnt_actfrcrange[joint]).max()))
        for actuator in range(model.nu):
            lever = lever_of(model, actuator, joint)
            if not lever:
                continue
            gain, bias = model.actuator_gainprm[actuator], model.actuator_biasprm[actuator]
            servo = (
                model.actuator_gaintype[actuator] == mujoco.mjtGain.mjGAIN_FIXED
                and model.actuator_biastype[actuator] == mujoco.mjtBias.mjBIAS_AFFINE
                and bias[1] < 0
            )
            if servo:
                kp[index], kv[index] = -bias[1] * lever**2, -bias[2] * lever**2
                if int(model.actuator_dyntype[actuator]) in (
                    mujoco.mjtDyn.mjDYN_FILTER,
                    mujoco.mjtDyn.mjDYN_FILTEREXACT,
                ):
                    filters.append(float(model.actuator_dynprm[actuator, 0]))
            if model.actuator_forcelimited[actuator]:
                limits.append(float(np.abs(model.actuator_forcerange[actuator]).max()) * abs(lever))
            elif not servo and model.actuator_ctrllimited[actuator]:
                limits.append(float(np.abs(model.actuator_ctrlrange[actuator]).max() * abs(gain[0] * lever)))
        if np.isfinite(min(limits)):
            force[index] = min(limits)
    return ServoGains(kp=kp, kv=kv, force=force, filter_s=max(filters))


def lever_of(model: mujoco.MjModel, actuator: int, joint: int) -> float:
    """How far an actuator moves as the joint does, and all joints of its tendon with it; 0 if it drives others."""
    gear, target = float(model.actuator_gear[actuator, 0]), int(model.actuator_trnid[actuator, 0])
    kind = int(model.actuator_trntype[actuator])
    if kind in (mujoco.mjtTrn.mjTRN_JOINT, mujoco.mjtTrn.mjTRN_JOINTINPARENT):
        return gear if target == joint else 0.0
    if kind != mujoco.mjtTrn.mjTRN_TENDON:
        return 0.0
    first, count = int(model.tendon_adr[target]), int(model.tendon_num[target])
    wraps = range(first, first + count)
    if any(model.wrap_type[wrap] != mujoco.mjtWrap.mjWRAP_JOINT for wrap in wraps):
        return 0.0
    if joint not in [int(model.wrap_objid[wrap]) for wrap in wraps]:
        return 0.0
    return gear * float(np.abs(model.wrap_prm[first : first + count]).sum())


def gains_of(reading: Reading, description: RobotDescription, loads: Loads, name: str) -> ServoGains:
    """Gains of every joint. Raises InputError that says what to give where neither the model nor anything else says.

    The jaw's stiffness is left open: it follows from the force of a grip.
    """
    joints, given = reading.joints, description.servos
    found = gains_in(reading.model, joints)
    problems = []
    for key in ("kp", "kv", "force"):
        numbers = getattr(given, key)
        if numbers is None:
            continue
        if len(numbers) != len(joints):
            problems.append(f"servos.{key}: {len(numbers)} numbers for {len(joints)} joints: {', '.join(joints)}")
        elif min(numbers) < 0 or (key != "kv" and min(numbers) == 0):
            problems.append(f"servos.{key}: {list(numbers)} has a number that is not positive")
        else:
            getattr(found, key)[:] = numbers
    without = [each for each, kp in zip(joints[:-1], found.kp[:-1], strict=True) if np.isnan(kp)]
    if without and not problems:
        problems.append(_no_servos(reading, without, loads, found.force))
    if problems:
        raise InputError([f"{name}: {problem}" for problem in problems])
    # Near critical damping, where neither says.
    kv = np.where(np.isnan(found.kv) | (found.kv <= 0), 2 * np.sqrt(found.kp * loads.inertia), found.kv)
    force = np.where(np.isnan(found.force), _MOST_OFF * found.kp, found.force)
    return ServoGains(kp=found.kp, kv=kv, force=force, filter_s=found.filter_s)


def proposed(loads: Loads, force: Array) -> tuple[list[float], list[float], list[float]]:
    """Stiffness, damping and force of servos that would hold the robot up, for its joints."""
    strength = np.where(np.isnan(force), np.maximum(_SPARE * loads.gravity, 1.0), force)
    kp = np.maximum(strength / _SPARE / _SAG, 10.0)
    kv = 2 * np.sqrt(kp * loads.most_inertia)
    return rounded(kp), rounded(kv), rounded(strength)


def rounded(values: Array) -> list[float]:
    """To two digits."""
    return [float(f"{value:.2g}") for value in values]


def _no_servos(reading: Reading, without: list[str], loads: Loads, force: Array) -> str:
    model = reading.model
    others = sum(bool(lever_of(model, each, model.joint(name).id)) for name in without for each in range(model.nu))
    kind = "only actuators that are no position servos" if others else "no actuators"
    kp, kv, strength = proposed(loads, force)
    return (
        f"servos: the model has {kind} on {', '.join(without)}; add <position joint=… kp=… kv=… forcerange=…/> to it, "
        f"or give servos.kp, servos.kv and servos.force for {', '.join(reading.joints)}; what would hold its weight: "
        f"kp {kp}, kv {kv}, force {strength}"
    )
