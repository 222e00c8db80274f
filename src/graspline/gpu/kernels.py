"""The few kernels of our own that the GPU engine runs around MuJoCo Warp's steps."""

# Warp reads annotations of kernels as they are: no postponed ones here.
# pyright: reportInvalidTypeForm=false, reportArgumentType=false, reportIndexIssue=false, reportGeneralTypeIssues=false, reportAssignmentType=false, reportOperatorIssue=false, reportReturnType=false

import warp as wp

# Beyond this a number is none, as for MuJoCo.
_MOST = wp.constant(1.0e10)


@wp.kernel(enable_backward=False)
def put_words(
    words: wp.array(dtype=int), rows: int, starts: wp.array(dtype=wp.uint64), pitches: wp.array(dtype=wp.uint64)
):
    """Write rows into lanes; what is -1 is not written.

    Among the words are first the lanes, then their rows, one behind the other. Each column is somewhere else in memory.
    """
    row, column = wp.tid()
    word = words[rows + row * starts.shape[0] + column]
    if word != -1:
        there = wp.array(ptr=starts[column] + wp.uint64(words[row]) * pitches[column], shape=(1,), dtype=int)
        there[0] = word


@wp.kernel(enable_backward=False)
def take_words(
    words: wp.array(dtype=int), rows: int, starts: wp.array(dtype=wp.uint64), pitches: wp.array(dtype=wp.uint64)
):
    """Read such rows of lanes."""
    row, column = wp.tid()
    there = wp.array(ptr=starts[column] + wp.uint64(words[row]) * pitches[column], shape=(1,), dtype=int)
    words[rows + row * starts.shape[0] + column] = there[0]


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
