/* Judging by lint what goes into the files for NCCL. */
#include "envgen/generate/validate.h"

#include <string.h>

#include "core/file.h"
#include "core/vars/catalogue.h"
#include "core/vars/parse.h"
#include "core/vars/text.h"
#include "lint/lint.h"

/* ---- releases ---------------------------------------------------------------------------------------------------- */

struct found {
    int low, high, nodes, measured, predicted;
};

static void take_library(struct found *f, const char *library, int node)
{
    int low, high;
    if (env_library_release(library, &low, &high))
        return;
    if (!f->low || low < f->low)
        f->low = low;
    if (high > f->high)
        f->high = high;
    f->nodes |= node;
}

static int is_rccl(const struct env_decisions *d, const struct topology *t)
{
    for (int c = 0; c < t->nclasses; c++)
        for (int g = 0; g < t->classes[c].ngpus; g++)
            return t->classes[c].gpus[g].arch != NULL;
    for (int i = 0; i < d->nshapes; i++)
        if (strstr(d->shapes[i].library, "RCCL"))
            return 1;
    return 0;
}

void env_releases(struct env_decisions *d, const struct topology *t, int low, int high)
{
    struct found f = {0};
    d->rccl = is_rccl(d, t);
    for (int i = 0; i < d->nshapes; i++) {
        take_library(&f, d->shapes[i].library, 0);
        *(bench_evidence_of(d->shapes[i].engine) == BENCH_PREDICTED ? &f.predicted : &f.measured) = 1;
    }
    for (int c = 0; c < t->nclasses; c++)
        for (int i = 0; i < t->classes[c].nlibraries; i++)
            take_library(&f, t->classes[c].libraries[i], 1);
    d->nccl_low = low ? low : f.low ? f.low : ENV_OLDEST_IN_USE;
    d->nccl_high = low ? high : f.low ? f.high : ENV_NEWEST;
    d->nccl_source = low                          ? "as asked for"
                     : !f.low                     ? "every release in use"
                     : f.nodes                    ? "measured or found on the nodes"
                     : f.predicted && !f.measured ? "whose choices were predicted"
                                                  : "measured";
}

/* ---- settings ---------------------------------------------------------------------------------------------------- */

/* Findings below a warning that take a setting out all the same, by their codes in `man nccltune-lint`. */
static const struct {
    const char *code;
    int idle; /* it changes nothing, so what was measured with it holds without it */
} grounds[] = {
    {"NT101", 0}, /* removed */
    {"NT103", 0}, /* never read */
    {"NT106", 0}, /* too new for a part of the range */
    {"NT305", 1}, /* the default */
};

struct verdict {
    int out, idle;
    const char *says;
};

static int is_nccl(const struct env_setting *s)
{
    return !strcmp(s->family, BENCH_FAMILY_NCCL);
}

static int applies(const struct env_setting *s, const char *node_class)
{
    return is_nccl(s) && s->value && (!s->node_class || (node_class && !strcmp(s->node_class, node_class)));
}

static struct verdict judge_finding(const struct finding *f)
{
    for (size_t i = 0; i < sizeof grounds / sizeof *grounds; i++)
        if (!strcmp(f->id, grounds[i].code))
            return (struct verdict){1, grounds[i].idle, f->text};
    return (struct verdict){f->severity > FINDING_NOTE, 0, f->text};
}

/* What was decided for itself, and not together with others in one launch. */
static int stands_alone(const struct env_setting *s)
{
    return !strcmp(s->source, "topology") || !strcmp(s->source, ENV_SOURCE_FABRIC);
}

static void take_out(struct env_decisions *d, struct env_setting *s, const char *says)
{
    size_t n = strlen(says);
    s->why = arena_printf(d->arena, "%s would be a choice, but: %.*s", s->value,
                          (int)(n && says[n - 1] == '.' ? n - 1 : n), says);
    s->value = NULL;
}

/* One of a launch's settings is gone, so nothing is known about the others alone. */
static void take_out_companions(struct env_decisions *d, const struct env_setting *gone)
{
    for (int i = 0; i < d->nsettings; i++) {
        struct env_setting *s = &d->settings[i];
        if (is_nccl(s) && s->value && !stands_alone(s) && !strcmp(s->source, gone->source))
            take_out(d, s, arena_printf(d->arena, "it was measured together with %s, which is not set", gone->name));
    }
}

/* No RDMA port connects to any other: lint, which goes by the topology, would call them unused. */
static int rdma_is_dead(const struct env_decisions *d)
{
    for (int i = 0; i < d->nsettings; i++)
        if (!strcmp(d->settings[i].name, "NCCL_IB_DISABLE") && d->settings[i].value &&
            !strcmp(d->settings[i].source, ENV_SOURCE_FABRIC))
            return 1;
    return 0;
}

static struct lint *lint_of(const struct env_decisions *d, const struct topology *t)
{
    struct lint_options o = {.nccl_low = d->nccl_low,
                             .nccl_high = d->nccl_high,
                             .rccl = d->rccl,
                             .measured = 1,
                             .topology = t->nclasses && !rdma_is_dead(d) ? t : NULL};
    return lint_new(&o);
}

/* Judges the settings that a node of one class has (NULL: those of all). */
static void validate_nodes(struct env_decisions *d, const struct topology *t, const char *node_class)
{
    struct lint *l = lint_of(d, t);
    struct finding f;
    for (int i = 0; i < d->nsettings; i++)
        if (applies(&d->settings[i], node_class))
            lint_add(l, d->settings[i].name, d->settings[i].value);
    lint_check(l);
    for (size_t n = 0; lint_finding(l, n, &f); n++) {
        struct verdict v = judge_finding(&f);
        for (int i = 0; i < d->nsettings && v.out; i++) {
            struct env_setting *s = &d->settings[i];
            if (!applies(s, node_class) || strcmp(s->name, f.subject) != 0)
                continue;
            take_out(d, s, v.says);
            if (!v.idle && !stands_alone(s))
                take_out_companions(d, s);
        }
    }
    lint_free(l);
}

static struct topology only(const struct topology *t, int c)
{
    struct topology one = *t;
    one.classes = &t->classes[c];
    one.nclasses = 1;
    return one;
}

void env_validate(struct env_decisions *d, const struct topology *t)
{
    validate_nodes(d, t, NULL);
    for (int c = 0; c < t->nclasses; c++) {
        struct topology one = only(t, c);
        validate_nodes(d, &one, t->classes[c].name);
    }
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

static int check_findings(const struct env_decisions *d, const struct topology *t, const char *file, const char *text,
                          size_t bytes, struct err *e)
{
    struct lint *l = lint_of(d, t);
    struct finding f;
    int rc = lint_read_text(l, file, text, bytes, NULL, e);
    if (!rc)
        lint_check(l);
    for (size_t n = 0; !rc && lint_finding(l, n, &f); n++)
        if (f.severity > FINDING_NOTE)
            rc = err_at(e, file, f.line, f.column, "self-check: lint says about %s: %s", f.subject, f.text);
    lint_free(l);
    return rc;
}

static const struct env_setting *next_of(const struct env_decisions *d, const char *node_class, int *i)
{
    for (; *i < d->nsettings; (*i)++) {
        const struct env_setting *s = &d->settings[*i];
        int mine = node_class ? s->node_class && !strcmp(s->node_class, node_class) : !s->node_class;
        if (is_nccl(s) && s->value && mine && env_in_conf(s->name))
            return &d->settings[(*i)++];
    }
    return NULL;
}

/* The file as NCCL reads it, against what it is meant to say, in the same order. */
static int check_values(const struct env_decisions *d, const char *node_class, const char *file, const char *text,
                        size_t bytes, struct err *e)
{
    long number = 0;
    int i = 0;
    for (size_t at = 0, n; at < bytes; at += n + 1) {
        const char *newline = memchr(text + at, '\n', bytes - at);
        struct env_line line;
        n = newline ? (size_t)(newline - text) - at : bytes - at;
        number++;
        if (!env_parse_conf_line(text + at, n, 1, &line))
            continue;
        const struct env_setting *s = next_of(d, node_class, &i);
        if (!s || line.cut || strlen(s->name) != line.name_length || strlen(s->value) != line.value_length ||
            memcmp(s->name, line.name, line.name_length) != 0 || memcmp(s->value, line.value, line.value_length) != 0)
            return err_at(e, file, number, 0, "self-check: NCCL would not read this line as %s", s ? s->name : "meant");
    }
    const struct env_setting *missing = next_of(d, node_class, &i);
    return missing ? err_at(e, file, 0, 0, "self-check: %s is missing", missing->name) : 0;
}

int env_validate_file(const struct env_decisions *d, const struct topology *t, const char *node_class, const char *file,
                      const char *text, size_t bytes, struct err *e)
{
    struct topology one = *t;
    for (int c = 0; c < t->nclasses && node_class; c++)
        if (!strcmp(t->classes[c].name, node_class))
            one = only(t, c);
    int rc = check_findings(d, &one, file, text, bytes, e);
    return rc || !file_ends_with(file, ".conf") ? rc : check_values(d, node_class, file, text, bytes, e);
}
