// The contact forces of one lane, by Newton's method: what the threads of one warp do together, or one thread of a CPU.
//
// This is the body of a function of Warp's, which gives it `lane`, `thread` and `problem`, the arrays of all lanes.
// Before it stand DOFS, the model's degrees of freedom; PITCH, how far it is from a row of a matrix to the next; ROWS,
// how many constraints of a lane fit the memory that its threads share, with NUMBERS and MARKS for each; SEARCHES, how
// many steps a line search may take; and MuJoCo's numbers for kinds and states of constraints. Its manual has the
// method (chapter "Computation").

#if defined(__CUDA_ARCH__)
#define SHARED __shared__ __align__(16)
constexpr int THREADS = 32;
constexpr unsigned EVERYONE = 0xffffffffu;
auto wait = []() { __syncwarp(); };
auto sum_from = [](float value, int least) {
    for (int distance = 16; distance >= least; distance /= 2) value += __shfl_xor_sync(EVERYONE, value, distance);
    return value;
};
#else
#define SHARED alignas(16)
constexpr int THREADS = 1;
auto wait = []() {};
auto sum_from = [](float value, int) { return value; };
#endif
auto sum = [&](float value) { return sum_from(value, 1); };

constexpr float TINY = 1.0e-15f;
// How far sums of single precision can be trusted, and how much of the slope may be left where a line search ends.
constexpr float NOISE = 8.0f * 1.1920929e-07f, SLOPE_LEFT = 0.1f;

// Rows of matrices are read four numbers at a time.
constexpr int WIDTH = (DOFS + 3) / 4 * 4;
// Where a degree of freedom needs only some of the threads, each group of them takes a part of the rows.
constexpr int GROUP = THREADS == 1 ? 1 : DOFS <= 8 ? 8 : DOFS <= 16 ? 16 : 32;
constexpr int GROUPS = THREADS / GROUP;
const int group = thread / GROUP;
// A group's threads share the degrees of freedom; a CPU's thread has them all.
const int own = thread % GROUP;

struct alignas(16) Four {
    float x, y, z, w;
};
auto four = [](const float* at) { return *reinterpret_cast<const Four*>(at); };

const int equalities = problem.equalities.data[lane];
const int frictions = problem.frictions.data[lane];
const int rows = wp::min(problem.most_rows, problem.rows.data[lane]);

auto line_of = [&](auto& array) { return array.data + (size_t)lane * (array.strides[0] / sizeof(*array.data)); };
auto setting = [&](auto& array) { return array.data[lane % array.shape[0]]; };
const float tolerance = setting(problem.tolerance), line_tolerance = setting(problem.line_tolerance);
const float friction_ratio = setting(problem.friction_ratio);

// Few lanes have more rows than fit; those use memory of the device.
SHARED float here_numbers[ROWS * (PITCH + NUMBERS)];
SHARED int here_marks[ROWS * MARKS];
const bool fits = rows <= ROWS;
const int room = fits ? ROWS : problem.most_rows;
float* numbers = fits ? here_numbers : line_of(problem.numbers);
int* marks = fits ? here_marks : line_of(problem.marks);
float* const jacobian = numbers;
float* const stiffness = numbers + room * PITCH;
float* const residual = stiffness + room;
float* const row_search = residual + room;
float* const force = row_search + room;
float* const weight = force + room;
float* const towards = weight + room;
float* const scale = towards + room;
float* const most_friction = scale + room;
// What a line search has to know of a contact is in its first three rows of these.
float* const line_a = most_friction + room;
float* const line_b = line_a + room;
float* const line_c = line_b + room;
float* const line_d = line_c + room;
int* const zone = marks;
int* const span = zone + room;
int* const head = span + room;

SHARED float inertia[DOFS * PITCH], hessian[DOFS * PITCH];
SHARED float qacc[WIDTH], inertia_qacc[WIDTH], smooth[WIDTH], total_force[WIDTH], gradient[WIDTH], search[WIDTH];
SHARED float inertia_search[WIDTH];

// What lanes begin with: the accelerations of the step before.
for (int at = thread; at < DOFS * PITCH; at += THREADS) inertia[at] = 0.0f;
for (int dof = thread; dof < WIDTH; dof += THREADS) {
    qacc[dof] = dof < DOFS ? line_of(problem.warmstart)[dof] : 0.0f;
    smooth[dof] = dof < DOFS ? line_of(problem.smooth)[dof] : 0.0f;
    search[dof] = 0.0f;
}
{
    const float* given = line_of(problem.jacobian);
    const int pitch = problem.jacobian.strides[1] / sizeof(float);
    for (int at = thread; at < rows * WIDTH; at += THREADS) {
        const int row = at / WIDTH, dof = at % WIDTH;
        jacobian[row * PITCH + dof] = dof < DOFS ? given[row * pitch + dof] : 0.0f;
    }
}
wait();
{
    const float* given = line_of(problem.inertia);
    for (int entry = thread; entry < problem.inertia_column.shape[0]; entry += THREADS) {
        const int i = problem.inertia_row.data[entry], j = problem.inertia_column.data[entry];
        inertia[i * PITCH + j] = inertia[j * PITCH + i] = given[entry];
    }
}
// A row times a vector, both as long as WIDTH.
auto dot = [&](const float* a, const float* b) {
    float found = 0.0f;
    for (int at = 0; at < WIDTH; at += 4) {
        const Four left = four(a + at), right = four(b + at);
        found += left.x * right.x + left.y * right.y + left.z * right.z + left.w * right.w;
    }
    return found;
};
// A contact's rows follow each other, and the first stands for all of them.
int heads = 0;
for (int first = 0; first < rows; first += THREADS) {
    const int row = first + thread;
    int length = 0;
    if (row < rows) {
        length = 1;
        stiffness[row] = line_of(problem.stiffness)[row];
        most_friction[row] = line_of(problem.most_friction)[row];
        residual[row] = dot(jacobian + row * PITCH, qacc) - line_of(problem.reference)[row];
        scale[row] = 0.0f;
        if (line_of(problem.kind)[row] == ELLIPTIC) {
            const int contact = line_of(problem.id)[row];
            const float* friction = reinterpret_cast<const float*>(problem.contact_friction.data + contact);
            const size_t pitch = problem.contact_rows.strides[0] / sizeof(int);
            const int axis = row - problem.contact_rows.data[contact * pitch];
            scale[row] = axis == 0 ? friction[0] * friction_ratio : friction[axis - 1];
            length = axis == 0 ? wp::min(problem.contact_dim.data[contact], rows - row) : 0;
        }
        span[row] = length;
    }
#if defined(__CUDA_ARCH__)
    const unsigned those = __ballot_sync(EVERYONE, length > 0);
    if (length > 0) head[heads + __popc(those & ((1u << thread) - 1u))] = row;
    heads += __popc(those);
#else
    if (length > 0) head[heads++] = row;
#endif
}
wait();
float trace = 0.0f;
for (int dof = thread; dof < DOFS; dof += THREADS) {
    inertia_qacc[dof] = dot(inertia + dof * PITCH, qacc);
    trace += inertia[dof * PITCH + dof];
}
const float unit = 1.0f / wp::max(sum(trace), TINY);

// The force of a row or of all rows of a contact, and how strongly each curves the cost.
auto push = [&](int row) {
    auto note = [&](int at, float strength, int where, float curve) {
        force[at] = strength;
        zone[at] = where;
        weight[at] = curve;
    };
    const int length = span[row];
    const float at = residual[row], d = stiffness[row];
    if (length > 1) {
        const float mu = scale[row], normal = at * mu;
        float squared = 0.0f;
        for (int each = row + 1; each < row + length; ++each) {
            const float sliding = residual[each] * scale[each];
            squared += sliding * sliding;
        }
        const float tangent = wp::sqrt(squared);
        if (normal >= mu * tangent && (tangent > 0.0f || normal >= 0.0f)) {
            for (int each = row; each < row + length; ++each) note(each, 0.0f, SATISFIED, 0.0f);
        } else if (mu * normal + tangent <= 0.0f) {
            for (int each = row; each < row + length; ++each)
                note(each, -stiffness[each] * residual[each], QUADRATIC, stiffness[each]);
        } else {
            const float strength = d / wp::max(mu * mu * (1.0f + mu * mu), TINY), over = normal - mu * tangent;
            const float length_of_tangent = wp::max(tangent, TINY), bend = mu * normal / length_of_tangent;
            note(row, -strength * over * mu, CONE, strength);
            for (int each = row + 1; each < row + length; ++each) {
                towards[each] = residual[each] * scale[each] * scale[each] / length_of_tangent;
                const float curve = strength * (mu * mu - bend) * scale[each] * scale[each];
                note(each, strength * over * mu * towards[each], CONE, curve);
            }
            // Of the tangents' direction.
            towards[row] = strength * (bend - mu * mu);
        }
    } else if (row < equalities) {
        note(row, -d * at, QUADRATIC, d);
    } else if (row < equalities + frictions && at * d <= -most_friction[row]) {
        note(row, most_friction[row], LINEAR_NEGATIVE, 0.0f);
    } else if (row < equalities + frictions && at * d >= most_friction[row]) {
        note(row, -most_friction[row], LINEAR_POSITIVE, 0.0f);
    } else if (row >= equalities + frictions && at >= 0.0f) {
        note(row, 0.0f, SATISFIED, 0.0f);
    } else {
        note(row, -d * at, QUADRATIC, d);
    }
};

// What a line search has to know of a contact: the cost as if it stuck, how its normal and tangent change, and where
// it is in the cone.
auto prepare = [&](int row) {
    const int length = span[row];
    const float mu = scale[row];
    float cost = 0.0f, slope = 0.0f, curve = 0.0f, uu = 0.0f, uv = 0.0f, vv = 0.0f, cross = 0.0f;
    for (int axis = 0; axis < length; ++axis) {
        const float d = stiffness[row + axis];
        float u = residual[row + axis], v = row_search[row + axis];
        cost += 0.5f * d * u * u;
        slope += d * u * v;
        curve += 0.5f * d * v * v;
        if (axis > 0) {
            u *= scale[row + axis];
            v *= scale[row + axis];
            for (int other = row + 1; other < row + axis; ++other) {
                const float area = scale[other] * (u * row_search[other] - residual[other] * v);
                cross += area * area;
            }
            uu += u * u;
            uv += u * v;
            vv += v * v;
        }
    }
    const float along = wp::sqrt(vv);
    line_a[row] = cost;
    line_a[row + 1] = slope;
    line_a[row + 2] = curve;
    line_b[row] = residual[row] * mu;
    line_b[row + 1] = row_search[row] * mu;
    line_b[row + 2] = vv > 0.0f ? cross / vv : uu;
    line_c[row] = vv > 0.0f ? uv / along : 0.0f;
    line_c[row + 1] = along;
    line_c[row + 2] = stiffness[row] / wp::max(mu * mu * (1.0f + mu * mu), TINY);
    line_d[row] = wp::sqrt(uu);
};

// So far along the search: what a row or a contact costs more than at its start, and that cost's slope and curve. Small
// changes are computed as such, not as differences of large numbers.
auto evaluate = [&](int row, float far, float& cost, float& slope, float& curve) {
    cost = slope = curve = 0.0f;
    if (span[row] > 1) {
        const float mu = scale[row], u = line_b[row], v = line_b[row + 1], across = line_b[row + 2];
        const float u_along = line_c[row], v_along = line_c[row + 1], strength = line_c[row + 2], tangent = line_d[row];
        const float normal_now = u + far * v, along_now = u_along + far * v_along;
        const float squared = wp::max(along_now * along_now + across, 0.0f), tangent_now = wp::sqrt(squared);
        const float stuck = far * (far * line_a[row + 2] + line_a[row + 1]);
        const float over = u - mu * tangent, short_of = mu * u + tangent;
        const int was = zone[row];
        if (normal_now >= mu * tangent_now && (tangent_now > 0.0f || normal_now >= 0.0f)) {
            cost = was == QUADRATIC ? -line_a[row] : was == CONE ? -0.5f * strength * over * over : 0.0f;
        } else if (mu * normal_now + tangent_now <= 0.0f) {
            if (was == SATISFIED) cost = 0.5f * strength * (1.0f + mu * mu) * (normal_now * normal_now + squared);
            else cost = stuck + (was == CONE ? 0.5f * strength * short_of * short_of : 0.0f);
            slope = 2.0f * far * line_a[row + 2] + line_a[row + 1];
            curve = 2.0f * line_a[row + 2];
        } else {
            const float inverse = 1.0f / wp::max(tangent_now, TINY);
            const float over_now = normal_now - mu * tangent_now, turning = v - mu * along_now * v_along * inverse;
            const float bending = across * inverse * inverse * v_along * v_along * inverse;
            if (was == CONE) {
                const float longer = far * v_along * (u_along + along_now) / wp::max(tangent_now + tangent, TINY);
                const float change = far * v - mu * longer;
                cost = 0.5f * strength * change * (2.0f * over + change);
            } else if (was == QUADRATIC) {
                const float short_now = mu * normal_now + tangent_now;
                cost = stuck - 0.5f * strength * short_now * short_now;
            } else {
                cost = 0.5f * strength * over_now * over_now;
            }
            slope = strength * over_now * turning;
            curve = strength * (turning * turning - mu * over_now * bending);
        }
        return;
    }
    const float u = residual[row], v = row_search[row], d = stiffness[row], now = u + far * v;
    const float stuck = far * v * d * (u + 0.5f * far * v);
    if (row >= equalities && row < equalities + frictions) {
        const float most = most_friction[row], bound = most / wp::max(d, TINY);
        auto whole = [&](float x) {
            return wp::abs(x) < bound ? 0.5f * d * x * x : most * (wp::abs(x) - 0.5f * bound);
        };
        cost = wp::abs(u) < bound && wp::abs(now) < bound ? stuck : whole(now) - whole(u);
        slope = wp::abs(now) < bound ? d * v * now : now < 0.0f ? -most * v : most * v;
        curve = wp::abs(now) < bound ? d * v * v : 0.0f;
    } else if (row < equalities || now < 0.0f) {
        cost = stuck + (row >= equalities && u >= 0.0f ? 0.5f * d * u * u : 0.0f);
        slope = d * v * now;
        curve = d * v * v;
    } else {
        cost = u < 0.0f ? -0.5f * d * u * u : 0.0f;
    }
};

float alpha = 1.0f, improvement = 0.0f;
int taken = 0;
for (int iteration = 0; iteration <= problem.iterations; ++iteration) {
    for (int number = thread; number < heads; number += THREADS) push(head[number]);
    wait();
    float steepness = 0.0f;
    for (int first = 0; first < DOFS; first += GROUP) {
        const int dof = wp::min(first + own, DOFS - 1);
        float pull = 0.0f;
        for (int row = group; row < rows; row += GROUPS) pull += jacobian[row * PITCH + dof] * force[row];
        pull = sum_from(pull, GROUP);
        const float slope = inertia_qacc[dof] - smooth[dof] - pull;
        if (group == 0 && dof == first + own) {
            total_force[dof] = pull;
            gradient[dof] = slope;
            steepness += slope * slope;
        }
    }
    steepness = sum(steepness);
    if (iteration > 0) {
        const float gained = unit * improvement;
        if (alpha == 0.0f || (gained > 0.0f && gained < tolerance) || unit * wp::sqrt(steepness) < tolerance) break;
        if (iteration == problem.iterations) break;
    }

    // How the cost curves: inertia, and each row's part. In the middle of a cone a contact's rows bend each other's.
    for (int first = 0; first < DOFS; first += GROUP) {
        const int dof = wp::min(first + own, DOFS - 1);
        float column[WIDTH];
        for (int at = 0; at < WIDTH; ++at) column[at] = group == 0 ? inertia[dof * PITCH + at] : 0.0f;
        for (int number = group; number < heads; number += GROUPS) {
            const int row = head[number], length = span[row], where = zone[row];
            if (where != QUADRATIC && where != CONE) continue;
            float normal = 0.0f, others = 0.0f;
            if (where == CONE) {
                float along = 0.0f;
                for (int each = row + 1; each < row + length; ++each)
                    along += towards[each] * jacobian[each * PITCH + dof];
                normal = weight[row] * scale[row] * scale[row] * (jacobian[row * PITCH + dof] - along);
                others = towards[row] * along - normal;
            }
            for (int each = row; each < row + length; ++each) {
                const float* line = jacobian + each * PITCH;
                float factor = weight[each] * line[dof];
                if (where == CONE) factor = each == row ? normal : factor + towards[each] * others;
                for (int at = 0; at < WIDTH; at += 4) {
                    const Four part = four(line + at);
                    column[at] += factor * part.x;
                    column[at + 1] += factor * part.y;
                    column[at + 2] += factor * part.z;
                    column[at + 3] += factor * part.w;
                }
            }
        }
        for (int at = 0; at < DOFS; ++at) {
            const float found = sum_from(column[at], GROUP);
            if (group == 0 && dof == first + own) hessian[dof * PITCH + at] = found;
        }
    }
    wait();

    // The direction in which a parabola would have its minimum, by Cholesky's factors of the matrix.
#if defined(__CUDA_ARCH__)
    // Each thread keeps a row of the factor.
    float factor[DOFS], inverse = 0.0f, step = thread < DOFS ? gradient[thread] : 0.0f;
    auto of = [](float value, int owner) { return __shfl_sync(EVERYONE, value, owner); };
#pragma unroll
    for (int at = 0; at < DOFS; ++at) factor[at] = thread < DOFS ? hessian[thread * PITCH + at] : 0.0f;
#pragma unroll
    for (int k = 0; k < DOFS; ++k) {
        const float root = rsqrtf(wp::max(of(factor[k], k), TINY));
        if (thread == k) inverse = root;
        factor[k] *= root;
#pragma unroll
        for (int at = k + 1; at < DOFS; ++at) factor[at] -= factor[k] * of(factor[k], at);
    }
#pragma unroll
    for (int k = 0; k < DOFS; ++k) {
        const float found = of(step * inverse, k);
        step = thread == k ? found : thread > k ? step - factor[k] * found : step;
        if (thread < DOFS) hessian[thread * PITCH + k] = factor[k];
    }
    wait();
#pragma unroll
    for (int k = 0; k < DOFS; ++k) factor[k] = thread < k ? hessian[k * PITCH + thread] : 0.0f;
#pragma unroll
    for (int k = DOFS - 1; k >= 0; --k) {
        const float found = of(step * inverse, k);
        step = thread == k ? found : step - factor[k] * found;
    }
    if (thread < DOFS) search[thread] = -step;
#else
    for (int k = 0; k < DOFS; ++k) {
        float* line = hessian + k * PITCH;
        for (int j = 0; j <= k; ++j) {
            float left = line[j];
            for (int at = 0; at < j; ++at) left -= line[at] * hessian[j * PITCH + at];
            line[j] = j < k ? left / hessian[j * PITCH + j] : wp::sqrt(wp::max(left, TINY));
        }
        float left = -gradient[k];
        for (int at = 0; at < k; ++at) left -= line[at] * search[at];
        search[k] = left / line[k];
    }
    for (int k = DOFS - 1; k >= 0; --k) {
        float left = search[k];
        for (int at = k + 1; at < DOFS; ++at) left -= hessian[at * PITCH + k] * search[at];
        search[k] = left / hessian[k * PITCH + k];
    }
#endif
    wait();
    float length_squared = 0.0f, decrement = 0.0f;
    for (int dof = thread; dof < DOFS; dof += THREADS) {
        length_squared += search[dof] * search[dof];
        decrement -= search[dof] * gradient[dof];
    }
    length_squared = sum(length_squared);
    decrement = sum(decrement);
    if (iteration > 0 && unit * 0.5f * decrement < tolerance) break;

    // How far to go: where the slope along it is next to none.
    float linear = 0.0f, square = 0.0f;
    for (int dof = thread; dof < DOFS; dof += THREADS) {
        inertia_search[dof] = dot(inertia + dof * PITCH, search);
        linear += search[dof] * (inertia_qacc[dof] - smooth[dof]);
        square += search[dof] * inertia_search[dof];
    }
    for (int row = thread; row < rows; row += THREADS) row_search[row] = dot(jacobian + row * PITCH, search);
    wait();
    for (int number = thread; number < heads; number += THREADS)
        if (span[head[number]] > 1) prepare(head[number]);
    linear = sum(linear);
    square = sum(square);
    float flat = wp::max(tolerance * line_tolerance * wp::sqrt(length_squared) / unit, 1.0e-6f);
    float low = 0.0f, high = -1.0f, far = 0.0f, gain = 0.0f;
    alpha = 0.0f;
    for (int attempt = 0; attempt <= SEARCHES; ++attempt) {
        // Of what size numbers the slope is a sum is known, too.
        float cost = 0.0f, slope = 0.0f, curve = 0.0f, size = 0.0f;
        for (int number = thread; number < heads; number += THREADS) {
            float more, steeper, rounder;
            evaluate(head[number], far, more, steeper, rounder);
            cost += more;
            slope += steeper;
            curve += rounder;
            size += wp::abs(steeper);
        }
        cost = sum(cost) + far * (linear + 0.5f * far * square);
        slope = sum(slope) + linear + far * square;
        curve = sum(curve) + square;
        size = sum(size) + wp::abs(linear);
        if (attempt == 0) {
            flat = wp::max(flat, SLOPE_LEFT * wp::abs(slope));
        } else if (cost < gain) {
            alpha = far;
            gain = cost;
        }
        if (wp::abs(slope) < wp::max(flat, NOISE * size)) break;
        (slope < 0.0f ? low : high) = far;
        float further = far - slope / wp::max(curve, TINY);
        if (further <= low || (high >= 0.0f && further >= high)) {
            if (high < 0.0f) break;
            further = 0.5f * (low + high);
        }
        if (further == far) break;
        far = further;
    }
    improvement = -gain;
    for (int dof = thread; dof < DOFS; dof += THREADS) {
        qacc[dof] += alpha * search[dof];
        inertia_qacc[dof] += alpha * inertia_search[dof];
    }
    for (int row = thread; row < rows; row += THREADS) residual[row] += alpha * row_search[row];
    taken = iteration + 1;
    wait();
}

// What comes of it.
for (int dof = thread; dof < DOFS; dof += THREADS) {
    line_of(problem.qacc)[dof] = qacc[dof];
    line_of(problem.qfrc_constraint)[dof] = total_force[dof];
    line_of(problem.inertia_qacc)[dof] = inertia_qacc[dof];
}
for (int row = thread; row < rows; row += THREADS) {
    line_of(problem.force)[row] = force[row];
    line_of(problem.state)[row] = zone[row];
}
if (thread == 0) problem.iterations_taken.data[lane] = taken;
#undef SHARED
