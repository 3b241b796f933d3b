/* Steps as they come in, of every rank, thinned out evenly once there are many. */
#include <limits.h>
#include <math.h>
#include <string.h>

#include "advise/diagnose/diagnose_internal.h"

#define MOST_UNNAMED 64 /* ranks that say nobody's name */

/* ---- putting a step together ------------------------------------------------------------------------------------- */

/* The last origin of that name in this file; restarts begin new ones. NULL: none. */
static struct diag_logger *find_origin(const struct diag_series *s, const char *name, int file)
{
    for (int i = s->norigins - 1; i >= 0; i--)
        if (s->origins[i].file == file && !strcmp(s->origins[i].name, name))
            return &s->origins[i];
    return NULL;
}

static struct diag_logger *add_origin(const struct diagnosis *d, struct diag_series *s, const char *name, int file)
{
    if (s->norigins == DIAG_LOGGERS)
        return &s->origins[DIAG_LOGGERS - 1];
    if (!s->origins)
        s->origins = arena_alloc(d->arena, DIAG_LOGGERS * sizeof *s->origins);
    struct diag_logger *o = &s->origins[s->norigins++];
    *o = d->writer;
    snprintf(o->name, sizeof o->name, "%s", name);
    o->file = file;
    o->first = s->logged;
    o->low = o->high = LONG_MIN;
    return o;
}

/* Lines that say nobody's name may be several ranks': a number that comes again is another rank's, which is called #2,
 * #3, ...; one that lies well behind is a restart. Where it comes again too often it numbers nothing. */
static struct diag_logger *origin_of_step(struct diagnosis *d, struct diag_series *s, int file, long *number)
{
    char name[DIAG_NAME];
    snprintf(name, sizeof name, "%s", d->writer.name);
    *number = s->is_unnumbered && !*name ? -1 : *number;
    for (int k = 2;; k++) {
        struct diag_logger *o = find_origin(s, name, file);
        if (!o || *number < 0 || *number > o->high || (*d->writer.name && *number == o->high))
            return o ? o : add_origin(d, s, name, file);
        if (*d->writer.name || *number < o->high - 1)
            return add_origin(d, s, name, file);
        if (k > MOST_UNNAMED) {
            s->is_unnumbered = 1;
            *number = -1;
            return o;
        }
        snprintf(name, sizeof name, "#%d", k);
    }
}

void diag_step_open(struct diagnosis *d, enum diag_format f, long number)
{
    struct diag_series *s = &d->series[f];
    diag_step_close(d, f);
    memset(&s->open, 0, sizeof s->open);
    /* Sums and traces have no numbers: those of several files are steps of one run, unless the names tell ranks. */
    char folded[DIAG_FOLDED];
    int file = d->result.nfiles - 1;
    int is_whole = (f == DIAG_TRACE || f == DIAG_TABLE) && !diag_fold_file(d->result.files[file].name, folded);
    struct diag_logger *o = origin_of_step(d, s, is_whole ? 0 : file, &number);
    if (number < 0)
        number = o->count ? o->high + 1 : 1;
    number = number < LONG_MAX / 2 ? number : LONG_MAX / 2; /* any text may stand behind "step" */
    o->low = o->count ? o->low : number;
    o->count += !o->count || number != o->high;
    o->high = number;
    o->last = s->logged++;
    s->open.origin = (int)(o - s->origins);
    s->open.number = number;
    s->open.line = d->in->line;
    s->open.file = d->result.nfiles - 1;
    s->open.total_ms = -1;
    s->is_open = 1;
    d->progress_s = d->clock_s;
}

int diag_label(const struct diagnosis *d, struct diag_series *s, const struct diag_word *w)
{
    static const struct diag_word other = {"", "other", DIAG_OTHER, DIAG_NEITHER, NULL, 1};
    int i = diag_find_label(s, w->phase, strlen(w->phase));
    if (i >= 0 || s->nlabels == DIAG_PHASES)
        return i >= 0 ? i : DIAG_PHASES - 1;
    w = s->nlabels == DIAG_PHASES - 1 ? &other : w;
    s->labels[s->nlabels] =
        (struct diag_word){"", arena_strdup(d->arena, w->phase), w->kind, w->side, w->parent, w->guessed};
    return s->nlabels++;
}

void diag_step_add(struct diagnosis *d, enum diag_format f, const struct diag_word *w, double ms)
{
    struct diag_series *s = &d->series[f];
    if (!s->is_open || !w->phase)
        return;
    if (w->phase == DIAG_TOTAL) {
        s->open.total_ms = ms;
        s->open.has_total = 1;
        return;
    }
    int k = diag_label(d, s, w);
    s->open.ms[k] += ms;
    s->open.has |= 1ull << k;
}

void diag_step_after(struct diagnosis *d, enum diag_format f, const struct diag_word *w, double ms)
{
    struct diag_series *s = &d->series[f];
    struct diag_step *last = s->nsteps ? &s->steps[s->nsteps - 1] : NULL;
    if (!last || s->is_open || last->file != d->result.nfiles - 1)
        return;
    int k = diag_label(d, s, w);
    last->ms[k] += ms;
    last->has |= 1ull << k;
    last->total_ms += ms;
}

int diag_find_label(const struct diag_series *s, const char *name, size_t len)
{
    for (int i = 0; i < s->nlabels; i++)
        if (strlen(s->labels[i].phase) == len && !strncmp(s->labels[i].phase, name, len))
            return i;
    return -1;
}

double diag_sum(const struct diag_series *s, const struct diag_step *step, enum diag_kind without)
{
    double sum = 0;
    for (int i = 0; i < s->nlabels; i++)
        sum += s->labels[i].kind != DIAG_METRIC && s->labels[i].kind != without ? step->ms[i] : 0;
    return sum;
}

/* A timer that runs within another one is taken out of it, by what both said. What does not fit the first parent runs
 * within the next: TRL takes log-probabilities while it prepares a batch and within the loss, under one name. A parent
 * behind '?' holds it in some releases only: where the phases sum to more than the step. */
static void carve_out_children(const struct diag_series *s, struct diag_step *step)
{
    const struct diag_step said = *step;
    int exceeds = step->total_ms > 0 && diag_sum(s, step, DIAG_METRIC) > 1.02 * step->total_ms;
    for (int i = 0; i < s->nlabels; i++) {
        double left = said.ms[i];
        for (const char *p = s->labels[i].parent; p && *p && left > 0; p += strspn(p, "|")) {
            int sometimes = *p == '?';
            p += sometimes;
            size_t n = strcspn(p, "|");
            int k = !sometimes || exceeds ? diag_find_label(s, p, n) : -1;
            double taken = k >= 0 ? fmin(left, step->ms[k]) : 0;
            if (taken > 0)
                step->ms[k] -= taken;
            left -= taken;
            p += n;
        }
    }
}

/* Numbers are thinned, so that a step is kept of all ranks or of none. */
static void keep_step(const struct diagnosis *d, struct diag_series *s, const struct diag_step *step)
{
    if (!s->steps) {
        s->steps = arena_alloc(d->arena, DIAG_STEPS * sizeof *s->steps);
        s->stride = 1;
    }
    while (s->nsteps == DIAG_STEPS && s->stride < LONG_MAX / 2) {
        s->stride *= 2;
        int n = 0;
        for (int i = 0; i < s->nsteps; i++)
            if (s->steps[i].number % s->stride == 0)
                s->steps[n++] = s->steps[i];
        s->nsteps = n;
    }
    if (step->number % s->stride == 0 && s->nsteps < DIAG_STEPS)
        s->steps[s->nsteps++] = *step;
}

void diag_step_close(struct diagnosis *d, enum diag_format f)
{
    struct diag_series *s = &d->series[f];
    if (!s->is_open)
        return;
    s->is_open = 0;
    carve_out_children(s, &s->open);
    double sum = diag_sum(s, &s->open, DIAG_METRIC);
    if (s->open.total_ms < 0)
        s->open.total_ms = sum;
    if (s->open.total_ms <= 0)
        return;
    keep_step(d, s, &s->open);
}
