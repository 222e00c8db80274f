"""Contact forces of many lanes on a GPU: Newton's method in one kernel, in which no lane waits for another.

MuJoCo Warp's own solver does one iteration of all lanes after the other, ten kernels each, as long as any lane needs
more: one arm in ten thousand that just closes its jaws costs all the others as much again. Here a warp of threads
solves one lane from its first iteration to its last, in memory of its own (`newton_lane.cu`). The problem is strictly
convex, so both find the same forces. Models that need more than this kernel knows are left to MuJoCo Warp.
"""

# Warp reads annotations of structs and kernels as they are: no postponed ones here.
# pyright: reportInvalidTypeForm=false, reportGeneralTypeIssues=false, reportAttributeAccessIssue=false, reportAssignmentType=false

import contextlib
import functools
from collections.abc import Iterator
from importlib import resources
from typing import Any

import warp as wp
from mujoco_warp._src import solver, types

# Threads that work on one lane; on a CPU it is always one.
_THREADS = 32
# Each has a row of the matrix.
_MOST_DOFS = 32
# Grasps have up to 70 constraints; for more there is slower memory.
_ROWS = 72
# What is kept of each beside its row of the Jacobian: a number of numbers, and a number of marks.
_NUMBERS, _MARKS = 12, 3


@wp.struct
class Problem:
    """The constraints of all lanes, where their forces go, and room to work."""

    iterations: int
    most_rows: int
    tolerance: wp.array(dtype=float)
    line_tolerance: wp.array(dtype=float)
    friction_ratio: wp.array(dtype=float)
    inertia_row: wp.array(dtype=int)
    inertia_column: wp.array(dtype=int)
    equalities: wp.array(dtype=int)
    frictions: wp.array(dtype=int)
    rows: wp.array(dtype=int)
    inertia: wp.array2d(dtype=float)
    warmstart: wp.array2d(dtype=float)
    smooth: wp.array2d(dtype=float)
    contact_friction: wp.array(dtype=types.vec5)
    contact_dim: wp.array(dtype=int)
    contact_rows: wp.array2d(dtype=int)
    kind: wp.array2d(dtype=int)
    id: wp.array2d(dtype=int)
    jacobian: wp.array3d(dtype=float)
    stiffness: wp.array2d(dtype=float)
    reference: wp.array2d(dtype=float)
    most_friction: wp.array2d(dtype=float)
    # What comes of it.
    qacc: wp.array2d(dtype=float)
    qfrc_constraint: wp.array2d(dtype=float)
    inertia_qacc: wp.array2d(dtype=float)
    force: wp.array2d(dtype=float)
    state: wp.array2d(dtype=int)
    iterations_taken: wp.array(dtype=int)
    # For lanes with more rows than fit.
    numbers: wp.array2d(dtype=float)
    marks: wp.array2d(dtype=int)


class Newton:
    """Solves the constraints of one model's lanes; `None` from `newton_for` where it cannot."""

    def __init__(self, model: Any, data: Any, rows: int = _ROWS) -> None:
        """The number of constraints of a lane that fit the memory its threads share."""
        self._kernel = _kernel_for(model.nv, int(model.opt.ls_iterations), rows)
        more = data.njmax if data.njmax > rows else 0
        problem = Problem()
        problem.iterations, problem.most_rows = int(model.opt.iterations), data.njmax
        problem.tolerance, problem.line_tolerance = model.opt.tolerance, model.opt.ls_tolerance
        problem.friction_ratio = model.opt.impratio_invsqrt
        problem.inertia_row, problem.inertia_column = model.M_hinit_i, model.M_colind
        problem.equalities, problem.frictions, problem.rows = data.ne, data.nf, data.nefc
        problem.inertia, problem.warmstart, problem.smooth = data.M, data.qacc_warmstart, data.qfrc_smooth
        problem.contact_friction, problem.contact_dim = data.contact.friction, data.contact.dim
        problem.contact_rows = data.contact.efc_address
        problem.kind, problem.id, problem.jacobian = data.efc.type, data.efc.id, data.efc.J
        problem.stiffness, problem.reference = data.efc.D, data.efc.aref
        problem.most_friction = data.efc.frictionloss
        problem.qacc, problem.qfrc_constraint = data.qacc, data.qfrc_constraint
        problem.inertia_qacc, problem.force, problem.state = data.efc.Ma, data.efc.force, data.efc.state
        problem.iterations_taken = data.solver_niter
        problem.numbers = wp.zeros((data.nworld, more * (_pitch(model.nv) + _NUMBERS)), dtype=float)
        problem.marks = wp.zeros((data.nworld, more * _MARKS), dtype=int)
        self._problem = problem

    @contextlib.contextmanager
    def in_place(self) -> Iterator[None]:
        """Steps that are launched or captured meanwhile solve their constraints here."""
        theirs = solver.solve
        solver.solve = self._solve
        try:
            yield
        finally:
            solver.solve = theirs

    def _solve(self, model: Any, data: Any) -> None:
        wp.launch_tiled(self._kernel, dim=data.nworld, inputs=[self._problem], block_dim=_THREADS)


def newton_for(model: Any, data: Any) -> Newton | None:
    """A solver for these lanes, if it knows all that they need."""
    option = model.opt
    known = (
        option.solver == types.SolverType.NEWTON
        and option.cone == types.ConeType.ELLIPTIC
        and option.integrator != types.IntegratorType.DISCRETE
        and not option.enableflags & types.EnableBit.SLEEP
        and not option.disableflags & types.DisableBit.WARMSTART
        and option.noslip_iterations == 0
        and option.iterations > 0
        and not model.is_sparse
        and 0 < model.nv <= _MOST_DOFS
        and data.njmax > 0
    )
    return Newton(model, data) if known else None


def _pitch(dofs: int) -> int:
    """How far it is from a row of a matrix to the next: four numbers can be read at once, and rows lie in different
    banks of memory."""
    return 4 * (((dofs + 3) // 4) | 1)


@functools.cache
def _kernel_for(dofs: int, line_searches: int, rows: int) -> Any:
    """The kernel for models of this number of degrees of freedom."""
    numbers = {
        "DOFS": dofs,
        "PITCH": _pitch(dofs),
        "ROWS": rows,
        "NUMBERS": _NUMBERS,
        "MARKS": _MARKS,
        "SEARCHES": line_searches,
        "ELLIPTIC": types.ConstraintType.CONTACT_ELLIPTIC,
        "SATISFIED": types.ConstraintState.SATISFIED,
        "QUADRATIC": types.ConstraintState.QUADRATIC,
        "LINEAR_NEGATIVE": types.ConstraintState.LINEARNEG,
        "LINEAR_POSITIVE": types.ConstraintState.LINEARPOS,
        "CONE": types.ConstraintState.CONE,
    }
    known = "".join(f"constexpr int {name} = {int(number)};\n" for name, number in numbers.items())
    body = resources.files("graspline.gpu").joinpath("newton_lane.cu").read_text()

    @wp.func_native(known + body)
    def solve_lane(lane: int, thread: int, problem: Problem): ...

    # Only quotients and roots are less exact by it.
    @wp.kernel(module="unique", enable_backward=False, grid_stride=False, module_options={"fast_math": True})
    def solve(problem: Problem):
        lane, thread = wp.tid()
        solve_lane(lane, thread, problem)

    return solve
