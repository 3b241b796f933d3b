/* Judging rules, and a profile without those that do not hold. */
#include "envgen/verify/verify.h"

#include <string.h>

#include "bench/results/sessions.h"
#include "core/file.h"

static const char *const verdicts[] = {"holds", "does not hold", "not measured"};

const char *verify_verdict_name(enum verify_verdict v)
{
    return verdicts[v];
}

/* ---- launches ---- */

static void add_setting(struct bench_knobs *k, struct arena *a, const char *name, const char *value)
{
    struct bench_setting *list = arena_alloc(a, (size_t)(k->nsettings + 1) * sizeof *list);
    if (k->nsettings)
        memcpy(list, k->settings, (size_t)k->nsettings * sizeof *list);
    list[k->nsettings++] = (struct bench_setting){name, value};
    k->settings = list;
}

static int add_file(struct bench_knobs *k, const char *path, struct arena *a, struct err *e)
{
    char *text, *rest = NULL;
    size_t bytes;
    int rc = file_read_text(path, FILE_LIMIT, a, &text, &bytes, e);
    for (char *line = rc ? NULL : strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        char *equals = *line == '#' ? NULL : strchr(line, '=');
        if (!equals)
            continue;
        *equals = 0;
        add_setting(k, a, line, equals + 1);
    }
    return rc;
}

static const char *table_hash(const struct env_profile *p)
{
    for (int i = 0; i < p->manifest.nfiles; i++)
        if (!strcmp(p->manifest.files[i].name, "tuner.csv"))
            return p->manifest.files[i].sha256;
    return NULL;
}

int verify_jobs(const struct env_profile *p, const char *plugin, struct arena *a, struct bench_knobs jobs[2],
                struct err *e)
{
    struct bench_knobs environment = {.label = VERIFY_ENVIRONMENT};
    const char *hash = table_hash(p);
    int n = 0;
    if (!hash) {
        err_set(e, ERR_FAILED, "%s: has no tuner.csv", p->dir);
        return -1;
    }
    if (add_file(&environment, arena_printf(a, "%s/nccl.conf", p->dir), a, e))
        return -1;
    if (environment.nsettings)
        jobs[n++] = environment;
    jobs[n] = environment;
    jobs[n].label = VERIFY_PROFILE;
    add_setting(&jobs[n], a, "NCCL_TUNER_PLUGIN", plugin);
    add_setting(&jobs[n], a, "NCCLTUNE_PROFILE", p->dir);
    /* A table that does not load is to be an error here, not a comparison of the default with itself. */
    add_setting(&jobs[n], a, "NCCLTUNE_HASH", hash);
    return n + 1;
}

/* ---- rules ---- */

const struct bench_candidate *verify_candidate(const struct bench_point *p, const char *launch)
{
    for (int i = 0; i < p->ncandidates; i++)
        if (!strcmp(p->candidates[i].launch.label, launch) && p->candidates[i].time_us.n)
            return &p->candidates[i];
    return NULL;
}

static const struct tuner_rule *rule_at(const struct tuner_table *t, const struct bench_point *p)
{
    struct tuner_shape shape = {p->nodes, p->ranks, TUNER_UNKNOWN};
    return tuner_table_match(t, t->rules, &shape, p->coll, p->bytes, TUNER_UNKNOWN, p->buffers != NULL);
}

static void judge(struct verify *v, struct verify_rule *rule, const struct bench_points *points)
{
    size_t bytes = (size_t)(points->count + 1) * sizeof(struct bench_candidate *);
    const struct bench_candidate **before = arena_alloc(v->arena, bytes), **after = arena_alloc(v->arena, bytes);
    int n = 0, bad = 0;
    for (int i = 0; i < points->count; i++) {
        const struct bench_point *p = &points->items[i];
        if (rule_at(&v->table, p) != rule->rule)
            continue;
        const struct bench_candidate *with = verify_candidate(p, VERIFY_PROFILE),
                                     *without = verify_candidate(p, VERIFY_ENVIRONMENT);
        if (!without)
            without = verify_candidate(p, BENCH_DEFAULT);
        bad |= with && with->status > BENCH_DROPPED;
        if (with && without) {
            before[n] = without;
            after[n++] = with;
        }
    }
    rule->gain = bench_sessions_gain(before, after, NULL, n, points->confidence);
    rule->verdict = bad                              ? VERIFY_FAILS
                    : !n                             ? VERIFY_UNKNOWN
                    : rule->gain.low > 1 + v->margin ? VERIFY_HOLDS
                                                     : VERIFY_FAILS;
    v->failing += rule->verdict == VERIFY_FAILS;
}

struct verify *verify_rules(const struct env_profile *p, const struct bench_points *points, double margin,
                            struct err *e)
{
    struct arena *a = arena_new();
    struct verify *v = ARENA_NEW(a, struct verify);
    const char *path = arena_printf(a, "%s/tuner.csv", p->dir);
    char *text;
    size_t bytes;
    v->arena = a;
    v->margin = margin;
    if (file_read_text(path, TUNER_BYTES_LIMIT, a, &text, &bytes, e)) {
        verify_free(v);
        return NULL;
    }
    v->text = text;
    if (tuner_table_parse(&v->table, text, bytes, NULL, NULL)) {
        err_set(e, ERR_FAILED, "%s: no line of it can be used", path);
        verify_free(v);
        return NULL;
    }
    v->rules = arena_alloc(a, (v->table.count + 1) * sizeof *v->rules);
    for (size_t i = 0; i < v->table.count; i++) {
        struct verify_rule *rule = &v->rules[v->nrules++];
        rule->rule = &v->table.rules[i];
        judge(v, rule, points);
    }
    return v;
}

void verify_free(struct verify *v)
{
    if (!v)
        return;
    tuner_table_free(&v->table);
    arena_free(v->arena);
}

/* ---- the profile without failing rules ---- */

static const struct verify_rule *rule_of_line(const struct verify *v, long line)
{
    for (int i = 0; i < v->nrules; i++)
        if (v->rules[i].rule->line == line)
            return &v->rules[i];
    return NULL;
}

/* tuner.csv with the failing rules as comments. */
static void put_table(const struct verify *v, FILE *out)
{
    long number = 1;
    for (const char *line = v->text; *line; number++) {
        int len = (int)strcspn(line, "\n");
        const struct verify_rule *rule = rule_of_line(v, number);
        if (rule && rule->verdict == VERIFY_FAILS)
            fprintf(out, "# dropped by nccltune verify, gain %.2f (%.2f to %.2f): ", rule->gain.median, rule->gain.low,
                    rule->gain.high);
        fprintf(out, "%.*s\n", len, line);
        line += len + (line[len] == '\n');
    }
}

int verify_write(const struct env_profile *p, const struct verify *v, const char *dir, struct err *e)
{
    struct file_out out;
    int rc = file_out_begin(&out, e);
    if (rc)
        return rc;
    put_table(v, out.stream);
    fflush(out.stream);
    rc = env_profile_copy(p, dir, "tuner.csv", out.data, out.bytes, e);
    file_out_abandon(&out);
    return rc;
}
