"""The kernel in which a block of threads solves the constraints of one lane, by Newton's method."""

# Warp reads annotations of kernels as they are: no postponed ones here. What loops change must not begin as a literal.
# ruff: noqa: RUF046, UP018
# pyright: reportInvalidTypeForm=false, reportArgumentType=false, reportIndexIssue=false, reportGeneralTypeIssues=false, reportAssignmentType=false, reportOperatorIssue=false, reportReturnType=false, reportPrivateImportUsage=false, reportAttributeAccessIssue=false, reportCallIssue=false

import functools
from typing import Any

import warp as wp
from mujoco_warp._src import solver, types

_ELLIPTIC = wp.constant(int(types.ConstraintType.CONTACT_ELLIPTIC))
_SATISFIED = wp.constant(int(types.ConstraintState.SATISFIED))
_QUADRATIC = wp.constant(int(types.ConstraintState.QUADRATIC))
_LINEAR_NEGATIVE = wp.constant(int(types.ConstraintState.LINEARNEG))
_LINEAR_POSITIVE = wp.constant(int(types.ConstraintState.LINEARPOS))
_CONE = wp.constant(int(types.ConstraintState.CONE))
# A row that belongs to no contact with friction.
_PLAIN = wp.constant(-1)
_TINY = wp.constant(1.0e-15)
# How far sums of single precision can be trusted.
_NOISE = wp.constant(8.0 * 1.1920929e-07)
# Of the slope at its start this much may be left where a line search ends.
_SLOPE_LEFT = 0.1


@wp.func_native(snippet="WP_TILE_SYNC();")
def _wait_for_all(): ...


@wp.func
def _note(
    row: int,
    push: float,
    zone: int,
    curve: float,
    force: wp.array(dtype=float),
    state: wp.array(dtype=int),
    weight: wp.array(dtype=float),
):
    force[row] = push
    state[row] = zone
    weight[row] = curve


@wp.func
def _three(line: wp.array(dtype=float), first: int, last: int) -> wp.vec3:
    """Three numbers of a row, if it has so many."""
    return wp.vec3(line[first], line[wp.min(first + 1, last)], line[wp.min(first + 2, last)])


@wp.func
def _push(
    row: int,
    span: int,
    equalities: int,
    frictions: int,
    scale: wp.array(dtype=float),
    stiffness: wp.array(dtype=float),
    most_friction: wp.array(dtype=float),
    residual: wp.array(dtype=float),
    force: wp.array(dtype=float),
    state: wp.array(dtype=int),
    weight: wp.array(dtype=float),
    cone_weight: wp.array(dtype=float),
    towards: wp.array(dtype=float),
):
    """The force of a row, or of all rows of a contact, and how strongly each curves the cost."""
    here, d = residual[row], stiffness[row]
    if span > 1:
        mu = scale[row]
        normal = here * mu
        squared = float(0.0)
        for each in range(row + 1, row + span):
            u = residual[each] * scale[each]
            squared += u * u
        tangent = wp.sqrt(squared)
        cone_weight[row] = 0.0
        cone_weight[row + 1] = 0.0
        if normal >= mu * tangent and (tangent > 0.0 or normal >= 0.0):
            for each in range(row, row + span):
                _note(each, 0.0, _SATISFIED, 0.0, force, state, weight)
        elif mu * normal + tangent <= 0.0:
            for each in range(row, row + span):
                _note(each, -stiffness[each] * residual[each], _QUADRATIC, stiffness[each], force, state, weight)
        else:
            strength = d / wp.max(mu * mu * (1.0 + mu * mu), _TINY)
            over = normal - mu * tangent
            along = wp.max(tangent, _TINY)
            bend = mu * normal / along
            _note(row, -strength * over * mu, _CONE, 0.0, force, state, weight)
            for each in range(row + 1, row + span):
                turn = residual[each] * scale[each] * scale[each] / along
                towards[each] = turn
                curve = strength * (mu * mu - bend) * scale[each] * scale[each]
                _note(each, strength * over * mu * turn, _CONE, curve, force, state, weight)
            # Of the two vectors that `cone` has for this contact.
            cone_weight[row] = strength
            cone_weight[row + 1] = strength * (bend - mu * mu)
    elif row < equalities:
        _note(row, -d * here, _QUADRATIC, d, force, state, weight)
    elif row < equalities + frictions and here * d <= -most_friction[row]:
        _note(row, most_friction[row], _LINEAR_NEGATIVE, 0.0, force, state, weight)
    elif row < equalities + frictions and here * d >= most_friction[row]:
        _note(row, -most_friction[row], _LINEAR_POSITIVE, 0.0, force, state, weight)
    elif row >= equalities + frictions and here >= 0.0:
        _note(row, 0.0, _SATISFIED, 0.0, force, state, weight)
    else:
        _note(row, -d * here, _QUADRATIC, d, force, state, weight)


@wp.func
def _prepare(
    row: int,
    span: int,
    scale: wp.array(dtype=float),
    stiffness: wp.array(dtype=float),
    residual: wp.array(dtype=float),
    row_search: wp.array(dtype=float),
    quad: wp.array(dtype=wp.vec3),
):
    """What a line search needs to know of a contact, in the terms of MuJoCo Warp's evaluation of elliptic cones."""
    mu = scale[row]
    whole = wp.vec3(0.0)
    u_tangent = types.vec5(0.0)
    v_tangent = types.vec5(0.0)
    uu = float(0.0)
    uv = float(0.0)
    vv = float(0.0)
    cross = float(0.0)
    for axis in range(span):
        d = stiffness[row + axis]
        u = float(residual[row + axis])
        v = float(row_search[row + axis])
        whole += wp.vec3(0.5 * d * u * u, d * u * v, 0.5 * d * v * v)
        if axis > 0:
            u *= scale[row + axis]
            v *= scale[row + axis]
            for other in range(axis - 1):
                area = u * v_tangent[other] - u_tangent[other] * v
                cross += area * area
            u_tangent[axis - 1] = u
            v_tangent[axis - 1] = v
            uu += u * u
            uv += u * v
            vv += v * v
    along = float(0.0)
    parallel = float(0.0)
    across_squared = float(uu)
    if vv > 0.0:
        along = wp.sqrt(vv)
        parallel = uv / along
        across_squared = cross / vv
    strength = stiffness[row] / wp.max(mu * mu * (1.0 + mu * mu), _TINY)
    quad[row] = whole
    quad[row + 1] = wp.vec3(residual[row] * mu, row_search[row] * mu, across_squared)
    quad[row + 2] = wp.vec3(parallel, along, strength)


@wp.func
def _along(
    row: int,
    span: int,
    far: float,
    equalities: int,
    frictions: int,
    scale: wp.array(dtype=float),
    stiffness: wp.array(dtype=float),
    most_friction: wp.array(dtype=float),
    residual: wp.array(dtype=float),
    row_search: wp.array(dtype=float),
    quad: wp.array(dtype=wp.vec3),
) -> wp.vec3:
    """So far along the search: the cost of a row or of a contact less that of not moving, its slope and its curve."""
    if span > 1:
        mu, whole, normal, tangent = scale[row], quad[row], quad[row + 1], quad[row + 2]
        cost, length, over, zone = solver._eval_elliptic_reference(mu, whole, normal, tangent)
        return solver._eval_elliptic_shifted(mu, whole, normal, tangent, far, cost, length, over, zone)
    return solver._compute_efc_eval_pt_elliptic(
        row,
        far,
        equalities,
        frictions,
        1.0,
        _PLAIN,
        stiffness,
        most_friction,
        residual[row],
        row_search[row],
        wp.vec3(0.0),
        types.vec5(0.0),
        row,
        wp.vec3(0.0),
        wp.vec3(0.0),
    )


@functools.cache
def kernel_for(dofs: int, line_searches: int) -> Any:
    """The kernel for models of so many degrees of freedom."""
    # The matrix is put together in blocks of three by three.
    sides = (dofs + 2) // 3

    # Only quotients and roots are less exact by it.
    @wp.kernel(module="unique", enable_backward=False, grid_stride=False, module_options={"fast_math": True})
    def solve(
        iterations: int,
        opt_tolerance: wp.array(dtype=float),
        opt_line_tolerance: wp.array(dtype=float),
        opt_friction_ratio: wp.array(dtype=float),
        inertia_nonzero: wp.array(dtype=int),
        inertia_address: wp.array(dtype=int),
        inertia_column: wp.array(dtype=int),
        inertia_row: wp.array(dtype=int),
        product_address: wp.array(dtype=int),
        product_column: wp.array(dtype=int),
        product_entry: wp.array(dtype=int),
        equalities_in: wp.array(dtype=int),
        frictions_in: wp.array(dtype=int),
        rows_in: wp.array(dtype=int),
        most_rows: int,
        inertia_in: wp.array2d(dtype=float),
        warmstart_in: wp.array2d(dtype=float),
        smooth_in: wp.array2d(dtype=float),
        contact_friction: wp.array(dtype=types.vec5),
        contact_dim: wp.array(dtype=int),
        contact_rows: wp.array2d(dtype=int),
        kind_in: wp.array2d(dtype=int),
        id_in: wp.array2d(dtype=int),
        jacobian_in: wp.array3d(dtype=float),
        stiffness_in: wp.array2d(dtype=float),
        reference_in: wp.array2d(dtype=float),
        most_friction_in: wp.array2d(dtype=float),
        # What comes of it.
        qacc_out: wp.array2d(dtype=float),
        qfrc_out: wp.array2d(dtype=float),
        inertia_qacc_out: wp.array2d(dtype=float),
        force_out: wp.array2d(dtype=float),
        state_out: wp.array2d(dtype=int),
        iterations_out: wp.array(dtype=int),
        # Scratch.
        full_out: wp.array3d(dtype=float),
        hessian_out: wp.array3d(dtype=float),
        gradient_out: wp.array2d(dtype=float),
        search_out: wp.array2d(dtype=float),
        inertia_search_out: wp.array2d(dtype=float),
        residual_out: wp.array2d(dtype=float),
        row_search_out: wp.array2d(dtype=float),
        quad_out: wp.array2d(dtype=wp.vec3),
        weight_out: wp.array2d(dtype=float),
        cone_weight_out: wp.array2d(dtype=float),
        cone_out: wp.array3d(dtype=float),
        towards_out: wp.array2d(dtype=float),
        scale_out: wp.array2d(dtype=float),
        span_out: wp.array2d(dtype=int),
        head_out: wp.array2d(dtype=int),
        heads_out: wp.array(dtype=int),
    ):
        lane, thread = wp.tid()
        threads = wp.block_dim()
        equalities, frictions = equalities_in[lane], frictions_in[lane]
        rows = wp.min(most_rows, rows_in[lane])
        inertia, jacobian = inertia_in[lane], jacobian_in[lane]
        stiffness, most_friction, smooth = stiffness_in[lane], most_friction_in[lane], smooth_in[lane]
        qacc, inertia_qacc, force, state = qacc_out[lane], inertia_qacc_out[lane], force_out[lane], state_out[lane]
        full, hessian, gradient, search = full_out[lane], hessian_out[lane], gradient_out[lane], search_out[lane]
        inertia_search, residual, row_search = inertia_search_out[lane], residual_out[lane], row_search_out[lane]
        quad, weight, cone_weight, cone = quad_out[lane], weight_out[lane], cone_weight_out[lane], cone_out[lane]
        towards, scale, span, head = towards_out[lane], scale_out[lane], span_out[lane], head_out[lane]
        tolerance = opt_tolerance[lane % opt_tolerance.shape[0]]
        line_tolerance = opt_line_tolerance[lane % opt_line_tolerance.shape[0]]
        friction_ratio = opt_friction_ratio[lane % opt_friction_ratio.shape[0]]

        # Begin with the accelerations of the step before.
        trace = float(0.0)
        for dof in range(wp.static(dofs)):
            trace += inertia[inertia_address[dof] + inertia_nonzero[dof] - 1]
        unit = 1.0 / wp.max(trace, _TINY)
        for dof in range(thread, wp.static(dofs), threads):
            qacc[dof] = warmstart_in[lane, dof]
            for other in range(wp.static(dofs)):
                full[dof, other] = 0.0
        if thread == 0:
            heads_out[lane] = 0
        _wait_for_all()
        for entry in range(thread, inertia_column.shape[0], threads):
            full[inertia_column[entry], inertia_row[entry]] = inertia[entry]
        for dof in range(thread, wp.static(dofs), threads):
            total = float(0.0)
            for entry in range(product_address[dof], product_address[dof + 1]):
                total += inertia[product_entry[entry]] * qacc[product_column[entry]]
            inertia_qacc[dof] = total
        for row in range(thread, rows, threads):
            total = -reference_in[lane, row]
            for dof in range(wp.static(dofs)):
                total += jacobian[row, dof] * qacc[dof]
            residual[row] = total
            cone_weight[row] = 0.0
            # A contact's rows follow each other, and the first stands for all of them.
            length = int(1)
            if kind_in[lane, row] == _ELLIPTIC:
                contact = id_in[lane, row]
                axis = row - contact_rows[contact, 0]
                if axis == 0:
                    scale[row] = contact_friction[contact][0] * friction_ratio
                    length = wp.min(contact_dim[contact], rows - row)
                else:
                    scale[row] = contact_friction[contact][axis - 1]
                    length = 0
            span[row] = length
            if length > 0:
                head[wp.atomic_add(heads_out, lane, 1)] = row
        _wait_for_all()
        heads = heads_out[lane]
        last = wp.static(dofs - 1)
        blocks = wp.static(sides * (sides + 1) // 2)
        parts = wp.max(threads // blocks, 1)

        alpha = float(1.0)
        improvement = float(0.0)
        done = int(0)
        for iteration in range(iterations + 1):
            # Forces, and how the cost curves.
            for number in range(thread, heads, threads):
                _push(
                    head[number],
                    span[head[number]],
                    equalities,
                    frictions,
                    scale,
                    stiffness,
                    most_friction,
                    residual,
                    force,
                    state,
                    weight,
                    cone_weight,
                    towards,
                )
            _wait_for_all()
            steepness = float(0.0)
            for dof in range(thread, wp.static(dofs), threads):
                total = float(0.0)
                for row in range(rows):
                    total += jacobian[row, dof] * force[row]
                qfrc_out[lane, dof] = total
                slope = inertia_qacc[dof] - smooth[dof] - total
                gradient[dof] = slope
                steepness += slope * slope
            steepness = wp.tile_reduce(wp.add, wp.tile(steepness))[0]
            if iteration > 0:
                gained = unit * improvement
                if (
                    alpha == 0.0
                    or (gained > 0.0 and gained < tolerance)
                    or unit * wp.sqrt(steepness) < tolerance
                    or iteration == iterations
                ):
                    done = 1
            if done == 1:
                break

            # The direction in which a parabola would have its minimum.
            for dof in range(thread, wp.static(dofs), threads):
                for other in range(wp.static(dofs)):
                    hessian[dof, other] = full[dof, other]
                for number in range(heads):
                    row = head[number]
                    if cone_weight[row] != 0.0:
                        total = float(0.0)
                        for each in range(row + 1, row + span[row]):
                            total += towards[each] * jacobian[each, dof]
                        cone[row, dof] = scale[row] * (jacobian[row, dof] - total)
                        cone[row + 1, dof] = total
            _wait_for_all()
            # Nine elements at a time, so that rows are visited less often; where there are threads left, each visits
            # only some of them.
            for work in range(thread, blocks * parts, threads):
                i = int(0)
                j = work % blocks
                while j >= wp.static(sides) - i:
                    j -= wp.static(sides) - i
                    i += 1
                j = wp.static(3) * (i + j)
                i = wp.static(3) * i
                totals = wp.mat33(0.0)
                for row in range(work // blocks, rows, parts):
                    if weight[row] != 0.0:
                        line = jacobian[row]
                        totals += weight[row] * wp.outer(_three(line, i, last), _three(line, j, last))
                    if cone_weight[row] != 0.0:
                        line = cone[row]
                        totals += cone_weight[row] * wp.outer(_three(line, i, last), _three(line, j, last))
                for down in range(3):
                    for right in range(3):
                        if i + down <= last and j + right <= last:
                            wp.atomic_add(hessian, i + down, j + right, totals[down, right])
            _wait_for_all()
            factor = wp.tile_load(hessian, shape=(wp.static(dofs), wp.static(dofs)))
            wp.tile_cholesky_inplace(factor, fill_mode="upper")
            uphill = wp.tile_load(gradient, shape=wp.static(dofs))
            step = wp.tile_cholesky_solve(factor, uphill, fill_mode="upper")
            sums = wp.tile_reduce(wp.add, wp.tile_map(solver.solve_search_sums, uphill, step))[0]
            wp.tile_store(search, wp.tile_map(wp.mul, step, -1.0))
            if iteration > 0 and unit * 0.5 * sums[1] < tolerance:
                done = 1
            if done == 1:
                break
            _wait_for_all()

            # How far to go: where the slope along it is next to none.
            for dof in range(thread, wp.static(dofs), threads):
                total = float(0.0)
                for entry in range(product_address[dof], product_address[dof + 1]):
                    total += inertia[product_entry[entry]] * search[product_column[entry]]
                inertia_search[dof] = total
            for row in range(thread, rows, threads):
                total = float(0.0)
                for dof in range(wp.static(dofs)):
                    total += jacobian[row, dof] * search[dof]
                row_search[row] = total
            _wait_for_all()
            for number in range(thread, heads, threads):
                if span[head[number]] > 1:
                    _prepare(head[number], span[head[number]], scale, stiffness, residual, row_search, quad)
            linear = float(0.0)
            square = float(0.0)
            for dof in range(thread, wp.static(dofs), threads):
                linear += search[dof] * (inertia_qacc[dof] - smooth[dof])
                square += search[dof] * inertia_search[dof]
            flat = wp.max(tolerance * line_tolerance * wp.sqrt(sums[0]) / unit, 1.0e-6)
            alpha = float(0.0)
            low = float(0.0)
            high = float(-1.0)
            far = float(0.0)
            gain = float(0.0)
            for attempt in range(wp.static(line_searches + 1)):
                # Cost, slope and curve so far along, and of what size numbers the slope is a sum.
                here = wp.vec4(far * (linear + 0.5 * far * square), linear + far * square, square, wp.abs(linear))
                for number in range(thread, heads, threads):
                    part = _along(
                        head[number],
                        span[head[number]],
                        far,
                        equalities,
                        frictions,
                        scale,
                        stiffness,
                        most_friction,
                        residual,
                        row_search,
                        quad,
                    )
                    here += wp.vec4(part[0], part[1], part[2], wp.abs(part[1]))
                at = wp.tile_reduce(wp.add, wp.tile(here, preserve_type=True))[0]
                if attempt == 0:
                    flat = wp.max(flat, wp.static(_SLOPE_LEFT) * wp.abs(at[1]))
                elif at[0] < gain:
                    alpha = far
                    gain = at[0]
                if wp.abs(at[1]) < wp.max(flat, _NOISE * at[3]):
                    break
                if at[1] < 0.0:
                    low = far
                else:
                    high = far
                further = far - at[1] / wp.max(at[2], _TINY)
                if further <= low or (high >= 0.0 and further >= high):
                    if high < 0.0:
                        break
                    further = 0.5 * (low + high)
                if further == far:
                    break
                far = further
            improvement = -gain
            for dof in range(thread, wp.static(dofs), threads):
                qacc[dof] = qacc[dof] + alpha * search[dof]
                inertia_qacc[dof] = inertia_qacc[dof] + alpha * inertia_search[dof]
            for row in range(thread, rows, threads):
                residual[row] = residual[row] + alpha * row_search[row]
            if thread == 0:
                iterations_out[lane] = iteration + 1
            _wait_for_all()

    return solve
