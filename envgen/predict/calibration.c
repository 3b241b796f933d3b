/* Calibration: a factor on each part of the time, as a site's measurements and what is known of machines at large have
 * it together.
 *
 * The errors of log time are the sum over parts of share × (log factor), and of a spread of each call's own. Factors
 * have a prior (model/constants.c). Both are given the tails of Student's t, so that neither a wild measurement nor
 * a site that is unlike all others is averaged away: iteratively reweighted least squares over damped Gauss-Newton
 * steps (K. Lange, R. Little, J. Taylor, Robust Statistical Modeling Using the t Distribution, 1989). The spread is
 * estimated with them, starting from the built-in one. The covariance is that of the last step. */
#include <math.h>
#include <string.h>

#include "core/stats.h"
#include "core/vars/catalogue.h"
#include "envgen/predict/predict.h"

enum { FACTORS = MODEL_PARTS, STEPS = 60 };

#define BOUND     5.0  /* of a factor, and its inverse */
#define PLAIN     8    /* steps of plain least squares, which start near the answer */
#define TAILS     4.0  /* degrees of freedom of the distributions */
#define BEFORE    6.0  /* calls that the built-in spread counts as */
#define LEAST     0.05 /* × the built-in spread: no site repeats itself better */
#define CONVERGED 1e-7 /* change of a log factor */

/* Observations of one number of nodes and ranks. */
struct shape {
    int nodes, ranks, others;
    struct model *model; /* NULL: cannot be predicted */
};

struct fit {
    const struct model_observation *o;
    int n;
    struct shape *shapes;
    int nshapes;
    int *shape_of; /* by observation; -1 not usable */
    struct model_time *times;
    double *errors;           /* log (measured / predicted) */
    struct model_prior prior; /* the most doubtful of the shapes' */
};

/* Where the fit stands: log factors, × the built-in spread, and the curvature there. */
struct state {
    double tails; /* degrees of freedom; infinite: those of a normal distribution */
    double x[FACTORS], rest;
    double precision[FACTORS][FACTORS];
};

/* ---- preparing ------------------------------------------------------------------------------------------------- */

static int shape_for(struct fit *f, const struct model_setup *s, const struct model_observation *o, struct arena *a)
{
    if (o->nodes < 1 || o->ranks < o->nodes || o->ranks % o->nodes || !(o->us > 0))
        return -1;
    for (int i = 0; i < f->nshapes; i++)
        if (f->shapes[i].nodes == o->nodes && f->shapes[i].ranks == o->ranks && f->shapes[i].others == o->others)
            return f->shapes[i].model ? i : -1;
    struct model_setup own = *s;
    own.nccl.nodes = o->nodes;
    own.nccl.ranks_per_node = o->ranks / o->nodes;
    own.others = o->others;
    own.factors = &(struct model_factors){.time = {1, 1, 1, 1, 1}};
    ARENA_ADD(a, f->shapes, f->nshapes) = (struct shape){o->nodes, o->ranks, o->others, model_new(&own, a, NULL)};
    return f->shapes[f->nshapes - 1].model ? f->nshapes - 1 : -1;
}

static int predict_observation(struct fit *f, int i)
{
    const struct model_observation *o = &f->o[i];
    struct model_call call = {o->coll, o->bytes, o->algo, o->proto, o->channels};
    if (model_predict(f->shapes[f->shape_of[i]].model, &call, &f->times[i]))
        return -1;
    f->errors[i] = log(o->us / f->times[i].us);
    return 0;
}

static void take_prior(struct fit *f)
{
    for (int i = 0; i < f->nshapes; i++) {
        const struct model_prior *p = f->shapes[i].model ? &f->shapes[i].model->prior : &f->prior;
        for (int k = 0; k < FACTORS; k++)
            f->prior.part[k] = fmax(f->prior.part[k], p->part[k]);
        f->prior.wait = p->wait;
        f->prior.carry = p->carry;
    }
}

static int prepare(struct fit *f, const struct model_setup *s, struct arena *a)
{
    int usable = 0;
    for (int i = 0; i < f->n; i++) {
        f->shape_of[i] = shape_for(f, s, &f->o[i], a);
        if (f->shape_of[i] >= 0 && predict_observation(f, i))
            f->shape_of[i] = -1;
        usable += f->shape_of[i] >= 0;
    }
    take_prior(f);
    return usable;
}

/* ---- fitting --------------------------------------------------------------------------------------------------- */

/* Predicts all usable observations with these factors. */
static void evaluate(struct fit *f, const double *x)
{
    struct model_factors factors = {.rest = 0};
    for (int k = 0; k < FACTORS; k++)
        factors.time[k] = exp(x[k]);
    for (int i = 0; i < f->nshapes; i++)
        if (f->shapes[i].model)
            model_set_factors(f->shapes[i].model, &factors);
    for (int i = 0; i < f->n; i++)
        if (f->shape_of[i] >= 0)
            predict_observation(f, i);
}

/* The weight of something that is `off` standard deviations from where it is expected. */
static double weight(const struct state *s, double off)
{
    return isinf(s->tails) ? 1 : fmin(1, (s->tails + 1) / (s->tails + off * off));
}

/* Normal equations at the state, of the prior and of what is observed; `b` is the gradient. */
static void curve(const struct fit *f, struct state *s, double *b)
{
    memset(s->precision, 0, sizeof s->precision);
    for (int k = 0; k < FACTORS; k++) {
        double sd = f->prior.part[k], w = weight(s, s->x[k] / sd) / (sd * sd);
        s->precision[k][k] = w;
        b[k] = -w * s->x[k];
    }
    for (int i = 0; i < f->n; i++) {
        if (f->shape_of[i] < 0)
            continue;
        const double *share = f->times[i].share;
        double sd = model_rest(&f->prior, share) * s->rest, w = weight(s, f->errors[i] / sd) / (sd * sd);
        for (int k = 0; k < FACTORS; k++) {
            b[k] += w * share[k] * f->errors[i];
            for (int j = 0; j < FACTORS; j++)
                s->precision[k][j] += w * share[k] * share[j];
        }
    }
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

/* × the built-in spread, which counts as BEFORE calls of its own. */
static double rest_of(const struct fit *f, const struct state *s)
{
    double sum = BEFORE, n = BEFORE;
    for (int i = 0; i < f->n; i++) {
        if (f->shape_of[i] < 0)
            continue;
        double off = f->errors[i] / model_rest(&f->prior, f->times[i].share);
        sum += weight(s, off / s->rest) * off * off;
        n++;
    }
    return fmax(LEAST, sqrt(sum / n));
}

/* Half steps where the whole one would change a factor by more than this. */
#define LONGEST 0.5

/* Goes from the state by b, within bounds; how far the farthest factor came. */
static double take_step(struct state *s, const double *b)
{
    double longest = 0, moved = 0;
    for (int k = 0; k < FACTORS; k++)
        longest = fmax(longest, fabs(b[k]));
    for (int k = 0; k < FACTORS; k++) {
        double from = s->x[k], to = from + b[k] * fmin(1, LONGEST / longest);
        s->x[k] = fmax(-log(BOUND), fmin(log(BOUND), to));
        moved = fmax(moved, fabs(s->x[k] - from));
    }
    return moved;
}

static void fit_factors(struct fit *f, struct state *s)
{
    double moved = 1;
    *s = (struct state){.rest = 1, .tails = INFINITY};
    for (int i = 0;; i++) {
        double a[FACTORS][FACTORS], b[FACTORS];
        evaluate(f, s->x);
        s->tails = i < PLAIN ? INFINITY : TAILS;
        s->rest = i < PLAIN ? 1 : rest_of(f, s);
        curve(f, s, b);
        if (i == STEPS || (i > PLAIN && moved < CONVERGED))
            return;
        memcpy(a, s->precision, sizeof a);
        solve(a, b);
        moved = take_step(s, b);
    }
}

/* The lower triangular root of the covariance, which is the inverse of the precision. */
static void put_root(const struct state *s, double root[FACTORS][FACTORS])
{
    double covariance[FACTORS][FACTORS];
    for (int k = 0; k < FACTORS; k++) {
        double a[FACTORS][FACTORS], b[FACTORS] = {0};
        memcpy(a, s->precision, sizeof a);
        b[k] = 1;
        solve(a, b);
        memcpy(covariance[k], b, sizeof b);
    }
    memset(root, 0, sizeof(double[FACTORS][FACTORS]));
    for (int i = 0; i < FACTORS; i++)
        for (int k = 0; k <= i; k++) {
            double sum = covariance[i][k];
            for (int j = 0; j < k; j++)
                sum -= root[i][j] * root[k][j];
            root[i][k] = i == k ? sqrt(sum) : sum / root[k][k];
        }
}

/* ---- telling --------------------------------------------------------------------------------------------------- */

/* The factor that half of the absolute log errors of usable observations stay below; `room` is for all of them. */
static double median_factor(const struct fit *f, double *room)
{
    int n = 0;
    for (int i = 0; i < f->n; i++)
        if (f->shape_of[i] >= 0)
            room[n++] = fabs(f->errors[i]);
    return exp(stats_median(room, n));
}

int model_calibrate(const struct model_setup *setup, const struct model_observation *o, int n, struct model_fit *fit,
                    struct err *e)
{
    struct arena *a = arena_new();
    struct fit f = {.o = o, .n = n, .shape_of = arena_alloc(a, (size_t)n * sizeof *f.shape_of)};
    f.errors = arena_alloc(a, (size_t)n * sizeof *f.errors);
    f.times = arena_alloc(a, (size_t)n * sizeof *f.times);
    double *sorted = arena_alloc(a, (size_t)n * sizeof *sorted);
    struct state s = {0};
    *fit = (struct model_fit){.used = prepare(&f, setup, a)};
    int rc = 0;
    if (!fit->used) {
        rc = err_set(e, ERR_FAILED, "none of %d measurements can be predicted, so the model cannot be calibrated", n);
        goto out;
    }
    evaluate(&f, s.x);
    fit->before = median_factor(&f, sorted);
    fit_factors(&f, &s);
    fit->spread = median_factor(&f, sorted);
    fit->factors.rest = s.rest;
    fit->factors.sockets = setup->nccl.sockets;
    put_root(&s, fit->factors.root);
    for (int k = 0; k < FACTORS; k++) {
        fit->factors.time[k] = exp(s.x[k]);
        fit->bounded += fabs(s.x[k]) >= log(BOUND);
    }
out:
    arena_free(a);
    return rc;
}

/* ---- from a journal to the factors ---- */

/* A candidate that the model can be held against: as jobs run it, alone on its nodes. */
static int tells(const struct bench_point *p, const struct bench_candidate *c)
{
    return !p->buffers && c->status == BENCH_OK && c->time_us.n && !c->time_us.predicted &&
           !strcmp(c->launch.label, BENCH_DEFAULT) && !nccl_requested_of(&c->call).chunk_bytes;
}

struct model_observation *calibration_observe(const struct bench_points *p, struct arena *a, int *n, int *version)
{
    struct model_observation *list = NULL;
    *n = *version = 0;
    for (int i = 0; i < p->count; i++) {
        const struct bench_point *point = &p->items[i];
        int low, high;
        if (!point->library || env_library_release(point->library, &low, &high))
            continue;
        for (int k = 0; k < point->ncandidates; k++) {
            const struct bench_candidate *c = &point->candidates[k];
            struct nccl_requested call = nccl_requested_of(&c->call);
            if (!tells(point, c))
                continue;
            ARENA_ADD(a, list, *n) =
                (struct model_observation){point->coll, point->nodes,  point->ranks,      point->bytes, call.algo,
                                           call.proto,  call.channels, c->time_us.median, point->others};
            *version = high;
        }
    }
    return list;
}

int calibration_load(const char *path, struct model_setup *s, struct model_fit *fit, struct log *log, struct err *e)
{
    struct model_setup measured = {.nccl = {.topology = s->nccl.topology, .class_index = s->nccl.class_index},
                                   .launcher = MODEL_LAUNCH_PROCESS}; /* as bench's workers are */
    struct err why = {0};
    struct bench_results *r = bench_results_load(path, NULL, &why);
    int n, rc = why.code;
    if (r) {
        const struct model_observation *o =
            calibration_observe(bench_points_of(r, r->arena), r->arena, &n, &measured.nccl.version);
        rc = model_calibrate(&measured, o, n, fit, &why);
    }
    bench_results_free(r);
    if (rc)
        return err_set(e, ERR_FAILED, "%s: %s", path, why.text);
    s->factors = &fit->factors;
    log_info(log, "calibrated by %d results of %s, which predictions missed by %.2fx before and miss by %.2fx now",
             fit->used, path, fit->before, fit->spread);
    return 0;
}
