"""The few kernels of our own that the GPU engine runs around MuJoCo Warp's steps."""

# Warp reads annotations of kernels as they are: no postponed ones here.
# pyright: reportInvalidTypeForm=false, reportArgumentType=false, reportIndexIssue=false, reportGeneralTypeIssues=false, reportAssignmentType=false

import warp as wp

# Beyond this a number is none, as for MuJoCo.
_MOST = wp.constant(1.0e10)


@wp.kernel(enable_backward=False)
def put_rows(lanes: wp.array(dtype=int), rows: wp.array2d(dtype=float), out: wp.array2d(dtype=float)):
    """Write rows into the lanes they are for."""
    row, column = wp.tid()
    out[lanes[row], column] = rows[row, column]


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
