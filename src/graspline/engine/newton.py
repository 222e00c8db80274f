"""Contact forces of many lanes on a GPU: Newton's method in one kernel, in which no lane waits for another.

MuJoCo Warp's own solver does one iteration of all lanes after the other, ten kernels each, as long as any lane needs
more: one arm in ten thousand that just closes its jaws costs all the others as much again. Here a block of threads
solves one lane from its first iteration to its last. The problem is strictly convex, so both find the same forces.
Models that need more than this kernel knows are left to MuJoCo Warp.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import warp as wp
from mujoco_warp._src import solver, types

from graspline.engine.newton_kernels import kernel_for

# Threads that work on one lane; on a CPU it is always one.
_THREADS = 32
# Beyond this the matrix does not fit a tile.
_MOST_DOFS = 32


class Newton:
    """Solves the constraints of one model's lanes; `None` from `newton_for` where it cannot."""

    def __init__(self, model: Any, data: Any) -> None:
        lanes, rows, dofs = data.nworld, data.njmax, model.nv
        self._kernel = kernel_for(dofs, int(model.opt.ls_iterations))
        self._scratch = {
            "full": wp.zeros((lanes, dofs, dofs), dtype=float),
            "hessian": wp.zeros((lanes, dofs, dofs), dtype=float),
            "gradient": wp.zeros((lanes, dofs), dtype=float),
            "search": wp.zeros((lanes, dofs), dtype=float),
            "inertia_search": wp.zeros((lanes, dofs), dtype=float),
            "residual": wp.zeros((lanes, rows), dtype=float),
            "row_search": wp.zeros((lanes, rows), dtype=float),
            "quad": wp.zeros((lanes, rows), dtype=wp.vec3),
            "weight": wp.zeros((lanes, rows), dtype=float),
            "cone_weight": wp.zeros((lanes, rows), dtype=float),
            "cone": wp.zeros((lanes, rows, dofs), dtype=float),
            "towards": wp.zeros((lanes, rows), dtype=float),
            "scale": wp.zeros((lanes, rows), dtype=float),
            "span": wp.zeros((lanes, rows), dtype=int),
            "head": wp.zeros((lanes, rows), dtype=int),
            "heads": wp.zeros(lanes, dtype=int),
        }

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
        inputs = [
            model.opt.iterations,
            model.opt.tolerance,
            model.opt.ls_tolerance,
            model.opt.impratio_invsqrt,
            model.M_rownnz,
            model.M_rowadr,
            model.M_colind,
            model.M_hinit_i,
            model.M_mulm_rowadr,
            model.M_mulm_col,
            model.M_mulm_madr,
            data.ne,
            data.nf,
            data.nefc,
            data.njmax,
            data.M,
            data.qacc_warmstart,
            data.qfrc_smooth,
            data.contact.friction,
            data.contact.dim,
            data.contact.efc_address,
            data.efc.type,
            data.efc.id,
            data.efc.J,
            data.efc.D,
            data.efc.aref,
            data.efc.frictionloss,
        ]
        outputs = [
            data.qacc,
            data.qfrc_constraint,
            data.efc.Ma,
            data.efc.force,
            data.efc.state,
            data.solver_niter,
            *self._scratch.values(),
        ]
        wp.launch_tiled(self._kernel, dim=data.nworld, inputs=inputs, outputs=outputs, block_dim=_THREADS)


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
