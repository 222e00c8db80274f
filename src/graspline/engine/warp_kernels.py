"""The few kernels of our own that the GPU engine runs around MuJoCo Warp's steps."""

# Warp reads annotations of kernels as they are: no postponed ones here.
# pyright: reportInvalidTypeForm=false, reportArgumentType=false, reportIndexIssue=false, reportGeneralTypeIssues=false, reportAssignmentType=false, reportOperatorIssue=false, reportReturnType=false

import warp as wp

# Beyond this a number is none, as for MuJoCo.
_MOST = wp.constant(1.0e10)


@wp.kernel(enable_backward=False)
def put_rows(
    lanes: wp.array(dtype=int),
    first_lane: int,
    numbers: wp.array(dtype=float),
    first_number: int,
    out: wp.array2d(dtype=float),
):
    """Write rows, one behind the other among numbers, into the lanes they are for."""
    row, column = wp.tid()
    out[lanes[first_lane + row], column] = numbers[first_number + row * out.shape[1] + column]


@wp.kernel(enable_backward=False)
def put_back(moving: wp.array(dtype=int), kept: wp.array2d(dtype=float), now: wp.array2d(dtype=float)):
    """Lanes that nobody moves stay as they were."""
    lane, column = wp.tid()
    if moving[lane] == 0:
        now[lane, column] = kept[lane, column]


@wp.kernel(enable_backward=False)
def find_sick(qpos: wp.array2d(dtype=float), qvel: wp.array2d(dtype=float), sick: wp.array(dtype=int)):
    """Lanes in which a number is none any more."""
    lane = wp.tid()
    sick[lane] = 0
    for index in range(qpos.shape[1]):
        if not (wp.abs(qpos[lane, index]) < _MOST):
            sick[lane] = 1
    for index in range(qvel.shape[1]):
        if not (wp.abs(qvel[lane, index]) < _MOST):
            sick[lane] = 1


@wp.kernel(enable_backward=False)
def place_fixed(
    geoms: wp.array(dtype=int),
    bodies: wp.array(dtype=int),
    geom_pos: wp.array(dtype=wp.vec3),
    geom_quat: wp.array(dtype=wp.quat),
    body_pos: wp.array2d(dtype=wp.vec3),
    body_quat: wp.array2d(dtype=wp.quat),
    geom_xpos: wp.array2d(dtype=wp.vec3),
    geom_xmat: wp.array2d(dtype=wp.mat33),
):
    """Put geoms of bodies that are fixed to the world where their lane has them."""
    lane, index = wp.tid()
    geom, body = geoms[index], bodies[index]
    turned = _turn(body_quat[lane, body], geom_quat[index])
    geom_xpos[lane, geom] = body_pos[lane, body] + _matrix(body_quat[lane, body]) * geom_pos[index]
    geom_xmat[lane, geom] = _matrix(turned)


@wp.func
def _turn(first: wp.quat, second: wp.quat) -> wp.quat:
    """The product of rotations whose real part comes first."""
    w1, x1, y1, z1 = first[0], first[1], first[2], first[3]
    w2, x2, y2, z2 = second[0], second[1], second[2], second[3]
    return wp.quat(
        w1 * w2 - x1 * x2 - y1 * y2 - z1 * z2,
        w1 * x2 + x1 * w2 + y1 * z2 - z1 * y2,
        w1 * y2 - x1 * z2 + y1 * w2 + z1 * x2,
        w1 * z2 + x1 * y2 - y1 * x2 + z1 * w2,
    )


@wp.func
def _matrix(turned: wp.quat) -> wp.mat33:
    return wp.quat_to_matrix(wp.quat(turned[1], turned[2], turned[3], turned[0]))
