/* Calibration: four factors on the constants, fitted to a site's measurements by damped Gauss-Newton steps on log time
 * (K. Levenberg, A method for the solution of certain non-linear problems in least squares, 1944). A weak pull towards
 * 1 keeps factors that the measurements say nothing about where they are. */
#include "bench/predict/fit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/stats.h"

enum { FACTORS = 4, MOST_SHAPES = 64, STEPS = 40 };

#define BOUND     5.0  /* of a factor, and its inverse */
#define PULL      1e-3 /* weight of the pull towards 1, of one observation */
#define WIGGLE    1e-3 /* of a log factor, for derivatives */
#define HARDEST   1e8  /* damping at which no step helps any more */
#define CONVERGED 1e-9 /* part of the sum that a step has to win */
#define LEAST     1.02 /* band: no site repeats itself better */

/* Observations of one number of nodes and ranks. */
struct shape {
    int nodes, ranks;
    struct model *model; /* NULL: cannot be predicted */
};

struct fit {
    const struct model_observation *o;
    int n;
    struct shape shapes[MOST_SHAPES];
    int nshapes;
    int *shape_of; /* by observation; -1 not usable */
    double *errors, *moved, *slopes;
    int without; /* a number of nodes that is left out; 0 none */
};

static struct model_factors factors_of(const double *x, double band)
{
    return (struct model_factors){exp(x[0]), exp(x[1]), exp(x[2]), exp(x[3]), band};
}

static int counts(const struct fit *f, int i)
{
    return f->shape_of[i] >= 0 && f->o[i].nodes != f->without;
}

/* ---- preparing ------------------------------------------------------------------------------------------------- */

static int shape_for(struct fit *f, const struct model_setup *s, const struct model_observation *o, struct arena *a)
{
    if (o->nodes < 1 || o->ranks < o->nodes || o->ranks % o->nodes || !(o->us > 0))
        return -1;
    for (int i = 0; i < f->nshapes; i++)
        if (f->shapes[i].nodes == o->nodes && f->shapes[i].ranks == o->ranks)
            return f->shapes[i].model ? i : -1;
    if (f->nshapes == MOST_SHAPES)
        return -1;
    struct model_setup own = *s;
    own.nccl.nodes = o->nodes;
    own.nccl.ranks_per_node = o->ranks / o->nodes;
    own.factors = NULL;
    f->shapes[f->nshapes] = (struct shape){o->nodes, o->ranks, model_new(&own, a, NULL)};
    f->nshapes++;
    return f->shapes[f->nshapes - 1].model ? f->nshapes - 1 : -1;
}

static int predict(const struct fit *f, int i, double *us)
{
    const struct model_observation *o = &f->o[i];
    struct model_call call = {o->coll, o->bytes, o->algo, o->proto, o->channels};
    struct model_time time;
    if (model_predict(f->shapes[f->shape_of[i]].model, &call, &time) || !(time.us > 0))
        return -1;
    *us = time.us;
    return 0;
}

static int prepare(struct fit *f, const struct model_setup *s, struct arena *a)
{
    int usable = 0;
    for (int i = 0; i < f->n; i++) {
        double us;
        f->shape_of[i] = shape_for(f, s, &f->o[i], a);
        if (f->shape_of[i] >= 0 && predict(f, i, &us))
            f->shape_of[i] = -1;
        usable += f->shape_of[i] >= 0;
    }
    return usable;
}

/* ---- fitting --------------------------------------------------------------------------------------------------- */

/* Logarithms of predicted over measured time into `errors`, for all usable observations; the sum of squares of those
 * that count, with the pull. */
static double evaluate(struct fit *f, const double *x, double *errors)
{
    struct model_factors factors = factors_of(x, 0);
    for (int i = 0; i < f->nshapes; i++)
        if (f->shapes[i].model)
            model_set_factors(f->shapes[i].model, &factors);
    double sum = 0;
    for (int i = 0; i < f->n; i++) {
        double us;
        if (f->shape_of[i] < 0 || predict(f, i, &us))
            continue;
        errors[i] = log(us / f->o[i].us);
        sum += counts(f, i) ? errors[i] * errors[i] : 0;
    }
    for (int k = 0; k < FACTORS; k++)
        sum += PULL * x[k] * x[k];
    return sum;
}

/* Solves a y = b for a symmetric positive a, in place, without pivots. */
static void solve(double a[FACTORS][FACTORS], double *b)
{
    for (int i = 0; i < FACTORS; i++)
        for (int k = i + 1; k < FACTORS; k++) {
            double times = a[k][i] / a[i][i];
            for (int j = i; j < FACTORS; j++)
                a[k][j] -= times * a[i][j];
            b[k] -= times * b[i];
        }
    for (int i = FACTORS - 1; i >= 0; i--) {
        for (int j = i + 1; j < FACTORS; j++)
            b[i] -= a[i][j] * b[j];
        b[i] /= a[i][i];
    }
}

static void find_slopes(struct fit *f, const double *x)
{
    for (int k = 0; k < FACTORS; k++) {
        double there[FACTORS];
        memcpy(there, x, sizeof there);
        there[k] += WIGGLE;
        evaluate(f, there, f->moved);
        for (int i = 0; i < f->n; i++)
            f->slopes[(size_t)i * FACTORS + (size_t)k] = (f->moved[i] - f->errors[i]) / WIGGLE;
    }
}

/* The step from x at that damping, within the bounds, into `to`. */
static void step(const struct fit *f, const double *x, double damping, double *to)
{
    double a[FACTORS][FACTORS] = {{0}}, b[FACTORS] = {0};
    for (int i = 0; i < f->n; i++) {
        const double *s = &f->slopes[(size_t)i * FACTORS];
        for (int k = 0; k < FACTORS && counts(f, i); k++) {
            b[k] -= s[k] * f->errors[i];
            for (int j = 0; j < FACTORS; j++)
                a[k][j] += s[k] * s[j];
        }
    }
    for (int k = 0; k < FACTORS; k++) {
        b[k] -= PULL * x[k];
        a[k][k] = a[k][k] * (1 + damping) + PULL;
    }
    solve(a, b);
    for (int k = 0; k < FACTORS; k++)
        to[k] = fmax(-log(BOUND), fmin(log(BOUND), x[k] + b[k]));
}

/* A step that makes the sum smaller, the damping raised until there is one; 0: none does. */
static int improve(struct fit *f, double *x, double *best, double *damping)
{
    while (*damping < HARDEST) {
        double to[FACTORS];
        step(f, x, *damping, to);
        double sum = evaluate(f, to, f->moved);
        if (sum < *best) {
            memcpy(x, to, sizeof to);
            *best = sum;
            *damping /= 10;
            return 1;
        }
        *damping *= 10;
    }
    return 0;
}

/* Leaves the factors in x and the errors there in f->errors. */
static void fit_factors(struct fit *f, double *x)
{
    memset(x, 0, FACTORS * sizeof *x);
    double best = evaluate(f, x, f->errors), damping = 1e-3, before = 0;
    for (int i = 0; i < STEPS && (!i || before - best > CONVERGED * before); i++) {
        before = best;
        find_slopes(f, x);
        if (!improve(f, x, &best, &damping))
            break;
        evaluate(f, x, f->errors);
    }
}

/* ---- telling --------------------------------------------------------------------------------------------------- */

/* The factor that `part` of n absolute log errors stay below; sorts them. 0: there are none. */
static double factor(double *errors, int n, double part)
{
    return n ? exp(stats_quantile(errors, n, part)) : 0;
}

/* Absolute errors of usable observations with `nodes` (0: any), behind the `n` that are there; how many there are then.
 */
static int collect(const struct fit *f, int nodes, double *into, int n)
{
    for (int i = 0; i < f->n; i++)
        if (f->shape_of[i] >= 0 && (!nodes || f->o[i].nodes == nodes))
            into[n++] = fabs(f->errors[i]);
    return n;
}

static int seen_before(const struct fit *f, int shape)
{
    for (int i = 0; i < shape; i++)
        if (f->shapes[i].model && f->shapes[i].nodes == f->shapes[shape].nodes)
            return 1;
    return 0;
}

/* Each number of nodes predicted from the others; 0: there is only one, and nothing is collected. */
static int leave_out(struct fit *f, double *errors)
{
    int n = 0, node_counts = 0;
    double x[FACTORS];
    for (int i = 0; i < f->nshapes; i++)
        node_counts += f->shapes[i].model && !seen_before(f, i);
    for (int i = 0; i < f->nshapes && node_counts > 1; i++) {
        if (!f->shapes[i].model || seen_before(f, i))
            continue;
        f->without = f->shapes[i].nodes;
        fit_factors(f, x);
        n = collect(f, f->without, errors, n);
    }
    f->without = 0;
    return n;
}

int model_calibrate(const struct model_setup *s, const struct model_observation *o, int n, struct model_fit *fit,
                    struct err *e)
{
    struct arena *a = arena_new();
    size_t room = (size_t)(n > 0 ? n : 1);
    struct fit f = {.o = o, .n = n, .shape_of = arena_alloc(a, room * sizeof *f.shape_of)};
    f.errors = arena_alloc(a, room * sizeof *f.errors);
    f.moved = arena_alloc(a, room * sizeof *f.moved);
    f.slopes = arena_alloc(a, room * FACTORS * sizeof *f.slopes);
    double *sorted = arena_alloc(a, room * sizeof *sorted), x[FACTORS] = {0};
    *fit = (struct model_fit){.used = prepare(&f, s, a)};
    int rc = 0;
    if (!fit->used) {
        rc = err_set(e, ERR_FAILED, "none of %d measurements can be predicted, so none can calibrate the model", n);
        goto out;
    }
    evaluate(&f, x, f.errors);
    fit->before = factor(sorted, collect(&f, 0, sorted, 0), 0.5);
    int left = leave_out(&f, sorted);
    fit->left_out = factor(sorted, left, 0.5);
    double band = factor(sorted, left, 0.9);
    fit_factors(&f, x);
    int all = collect(&f, 0, sorted, 0);
    fit->spread = factor(sorted, all, 0.5);
    fit->factors = factors_of(x, fmax(LEAST, fmax(band, factor(sorted, all, 0.9))));
    for (int k = 0; k < FACTORS; k++)
        fit->bounded += fabs(x[k]) >= log(BOUND) - 1e-9;
out:
    arena_free(a);
    return rc;
}
