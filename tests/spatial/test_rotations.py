"""Rotations by their axioms, and the promise that a batched row gets the bits it gets alone."""

from __future__ import annotations

import inspect
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from graspline.spatial import rotations
from graspline.spatial.rotations import (
    from_rpy,
    matrix_from_quaternion,
    matrix_from_vector,
    multiply,
    quaternion_from_matrix,
    rotate,
    rotation_vector,
    rotation_x,
    rotation_y,
    rotation_z,
    transpose,
    wrap,
    yaw_of,
)

Array = NDArray[np.float64]

ANGLES = st.floats(-10.0, 10.0)
COMPONENTS = st.floats(-1.0, 1.0).map(lambda value: value if abs(value) > 1e-6 else 0.0)


def normalised(vector: Array) -> Array:
    return vector / np.linalg.norm(vector, axis=-1, keepdims=True)


DIRECTIONS = arrays(float, 3, elements=COMPONENTS).filter(np.any).map(normalised)
QUATERNIONS = arrays(float, 4, elements=COMPONENTS).filter(np.any).map(normalised)
MATRICES = QUATERNIONS.map(matrix_from_quaternion)
SMALL_OFFSETS = (0.0, 1e-9, 1e-8, 1e-7, 1e-6)
AXES = pytest.mark.parametrize("axis", np.vstack([np.eye(3), -np.eye(3)]), ids=str)


@given(MATRICES)
def test_a_matrix_from_a_quaternion_is_orthonormal_and_right_handed(matrix: Array) -> None:
    np.testing.assert_allclose(multiply(matrix, transpose(matrix)), np.eye(3), atol=1e-14)
    assert np.linalg.det(matrix) == pytest.approx(1.0, abs=1e-14)


@given(QUATERNIONS)
def test_a_quaternion_survives_the_matrix_up_to_its_sign(quaternion: Array) -> None:
    back = quaternion_from_matrix(matrix_from_quaternion(quaternion))
    assert back[0] >= 0
    assert min(np.abs(back - quaternion).max(), np.abs(back + quaternion).max()) < 1e-14


@given(MATRICES)
def test_a_matrix_survives_the_quaternion(matrix: Array) -> None:
    np.testing.assert_allclose(matrix_from_quaternion(quaternion_from_matrix(matrix)), matrix, atol=1e-14)


@given(MATRICES)
def test_a_matrix_survives_the_rotation_vector(matrix: Array) -> None:
    vector = rotation_vector(matrix)
    assert np.linalg.norm(vector) <= np.pi + 1e-15
    np.testing.assert_allclose(matrix_from_vector(vector), matrix, atol=1e-14)


@given(DIRECTIONS, st.floats(0.0, np.pi - 1e-3))
def test_a_rotation_vector_shorter_than_half_a_turn_survives_the_matrix(axis: Array, angle: float) -> None:
    np.testing.assert_allclose(rotation_vector(matrix_from_vector(angle * axis)), angle * axis, atol=1e-14)


@given(DIRECTIONS, st.floats(-30, -8).map(lambda exponent: 10.0**exponent))
def test_a_tiny_rotation_keeps_its_relative_accuracy(axis: Array, angle: float) -> None:
    error = rotation_vector(matrix_from_vector(angle * axis)) - angle * axis
    assert np.abs(error).max() < 1e-14 * angle


@AXES
@pytest.mark.parametrize("short_rad", SMALL_OFFSETS)
def test_half_a_turn_about_an_axis_has_an_exact_rotation_vector(axis: Array, short_rad: float) -> None:
    vector = (np.pi - short_rad) * axis
    found = rotation_vector(matrix_from_vector(vector))
    # At exactly half a turn both signs of the axis are right, and rounding picks one.
    assert min(np.abs(found - vector).max(), np.abs(found + vector).max() if short_rad == 0 else 1) < 2e-15


@given(DIRECTIONS, st.sampled_from(SMALL_OFFSETS[1:]))
def test_a_hair_short_of_half_a_turn_the_rotation_vector_keeps_its_sign(axis: Array, short_rad: float) -> None:
    vector = (np.pi - short_rad) * axis
    np.testing.assert_allclose(rotation_vector(matrix_from_vector(vector)), vector, atol=3e-15)


@AXES
@pytest.mark.parametrize("angle_rad", SMALL_OFFSETS)
def test_no_turn_at_all_has_an_exact_rotation_vector(axis: Array, angle_rad: float) -> None:
    np.testing.assert_allclose(rotation_vector(matrix_from_vector(angle_rad * axis)), angle_rad * axis, atol=1e-22)


@pytest.mark.parametrize("turn, axis", [(rotation_x, 0), (rotation_y, 1), (rotation_z, 2)])
@given(angle=ANGLES)
def test_a_turn_about_an_axis_agrees_with_its_rotation_vector(
    turn: Callable[[float], Array], axis: int, angle: float
) -> None:
    np.testing.assert_allclose(turn(angle), matrix_from_vector(angle * np.eye(3)[axis]), atol=1e-14)


@given(MATRICES, MATRICES, MATRICES, DIRECTIONS)
def test_products_associate_and_rotate_in_turn(a: Array, b: Array, c: Array, vector: Array) -> None:
    np.testing.assert_allclose(multiply(multiply(a, b), c), multiply(a, multiply(b, c)), atol=1e-14)
    np.testing.assert_allclose(rotate(multiply(a, b), vector), rotate(a, rotate(b, vector)), atol=1e-14)


@given(ANGLES, ANGLES, ANGLES)
def test_fixed_axis_angles_turn_about_x_then_y_then_z(roll: float, pitch: float, yaw: float) -> None:
    expected = rotation_z(yaw) @ rotation_y(pitch) @ rotation_x(roll)
    np.testing.assert_allclose(from_rpy(roll, pitch, yaw), expected, atol=1e-14)


@given(st.floats(-100.0, 100.0))
def test_a_wrapped_angle_is_the_same_turn_within_half_a_turn(angle: float) -> None:
    wrapped = float(wrap(angle))
    assert -np.pi <= wrapped < np.pi
    np.testing.assert_allclose(rotation_z(wrapped), rotation_z(angle), atol=1e-13)


@pytest.mark.parametrize("ulps", range(-4, 5))
@pytest.mark.parametrize("turns", range(-3, 4))
def test_a_wrapped_angle_stays_in_its_half_open_range_a_hair_from_its_ends(turns: int, ulps: int) -> None:
    angle = np.pi * turns
    assert -np.pi <= wrap(angle + ulps * np.spacing(angle)) < np.pi


@given(st.floats(-3.1, 3.1), st.floats(-1.5, 1.5), ANGLES)
def test_yaw_is_the_heading_of_the_x_axis(yaw: float, pitch: float, roll: float) -> None:
    quaternion = quaternion_from_matrix(from_rpy(roll, pitch, yaw))
    assert abs(wrap(yaw_of(quaternion) - yaw)) < 1e-12


# Every public function, with the shapes of one row of each argument.
ROWS: dict[str, tuple[tuple[int, ...], ...]] = {
    "rotation_x": ((),),
    "rotation_y": ((),),
    "rotation_z": ((),),
    "from_rpy": ((), (), ()),
    "multiply": ((3, 3), (3, 3)),
    "rotate": ((3, 3), (3,)),
    "transpose": ((3, 3),),
    "matrix_from_quaternion": ((4,),),
    "quaternion_from_matrix": ((3, 3),),
    "rotation_vector": ((3, 3),),
    "matrix_from_vector": ((3,),),
    "wrap": ((),),
    "yaw_of": ((4,),),
}


def drawn(shape: tuple[int, ...], rows: int, random: np.random.Generator) -> Array:
    """Rows that suit a shape: angles, vectors, unit quaternions or rotation matrices."""
    if shape == (3, 3):
        return matrix_from_quaternion(normalised(random.normal(size=(rows, 4))))
    values = random.normal(scale=3.0, size=(rows, *shape))
    return normalised(values) if shape == (4,) else values


def test_every_public_function_is_held_to_the_promise_about_rows() -> None:
    public = inspect.getmembers(rotations, inspect.isfunction)
    assert {name for name, _ in public if not name.startswith("_")} == set(ROWS)


# The same values as they lie in memory after packing, transposing, or slicing a larger array.
LAYOUTS: dict[str, Callable[[Array], Array]] = {
    "packed": np.ascontiguousarray,
    "lanes_last": np.asfortranarray,
    "every_second": lambda batch: np.repeat(batch, 2, axis=0)[::2],
}


@pytest.mark.parametrize("name", ROWS)
@given(rows=st.integers(1, 40), seed=st.integers(0, 2**32 - 1), layout=st.sampled_from(sorted(LAYOUTS)))
def test_a_row_gets_the_bits_it_gets_alone(name: str, rows: int, seed: int, layout: str) -> None:
    function = getattr(rotations, name)
    random = np.random.default_rng(seed)
    batches = [LAYOUTS[layout](drawn(shape, rows, random)) for shape in ROWS[name]]
    together = function(*batches)
    for i in range(rows):
        alone = function(*(np.array(batch[i]) for batch in batches))
        assert np.asarray(together[i]).tobytes() == np.asarray(alone).tobytes()


@pytest.mark.parametrize("name, shared", [("multiply", 0), ("multiply", 1), ("rotate", 0), ("rotate", 1)])
@given(rows=st.integers(1, 40), seed=st.integers(0, 2**32 - 1))
def test_a_row_gets_its_own_bits_when_the_other_argument_is_shared(
    name: str, shared: int, rows: int, seed: int
) -> None:
    function = getattr(rotations, name)
    random = np.random.default_rng(seed)
    one, many = ROWS[name][shared], ROWS[name][1 - shared]
    arguments = {shared: drawn(one, 1, random)[0], 1 - shared: drawn(many, rows, random)}
    together = function(arguments[0], arguments[1])
    for i in range(rows):
        alone = {**arguments, 1 - shared: arguments[1 - shared][i]}
        assert together[i].tobytes() == function(alone[0], alone[1]).tobytes()


@pytest.mark.parametrize("name", ROWS)
def test_leading_axes_are_kept(name: str) -> None:
    random = np.random.default_rng(0)
    batches = [drawn(shape, 6, random) for shape in ROWS[name]]
    flat = getattr(rotations, name)(*batches)
    folded = getattr(rotations, name)(*(batch.reshape(2, 3, *batch.shape[1:]) for batch in batches))
    assert folded.shape == (2, 3, *flat.shape[1:])
    assert folded.tobytes() == flat.tobytes()
