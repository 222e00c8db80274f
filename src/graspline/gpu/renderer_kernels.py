"""The kernels of our own that run before and after MuJoCo Warp renders."""

# Warp reads annotations of kernels as they are: no postponed ones here.
# pyright: reportInvalidTypeForm=false, reportArgumentType=false, reportIndexIssue=false, reportGeneralTypeIssues=false, reportAssignmentType=false

from typing import Any

import warp as wp


@wp.kernel(enable_backward=False)
def take(numbers: wp.array2d(dtype=wp.float32), first: int, field: wp.array2d(dtype=Any)):
    """Some columns of each world's row of numbers, as numbers of the field's kind."""
    world, column = wp.tid()
    field[world, column] = field.dtype(numbers[world, first + column])


@wp.kernel(enable_backward=False)
def unpack(packed: wp.array2d(dtype=wp.uint32), backdrop: wp.array2d(dtype=wp.uint8), rgb: wp.array3d(dtype=wp.uint8)):
    """Bytes of each pixel; where nothing was hit, which is where it is transparent, those of the world's backdrop."""
    world, pixel = wp.tid()
    value = packed[world, pixel]
    hit = (value >> wp.uint32(24)) != wp.uint32(0)
    for channel in range(3):
        if hit:
            rgb[world, pixel, channel] = wp.uint8((value >> wp.uint32(16 - 8 * channel)) & wp.uint32(255))
        else:
            rgb[world, pixel, channel] = backdrop[world, channel]
