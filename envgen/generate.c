/* The generate stage: read, decide, write all files of a profile together. */
#include "envgen/generate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/file.h"
#include "envgen/decide.h"
#include "envgen/manifest.h"
#include "envgen/profile.h"
#include "envgen/rules.h"
#include "envgen/stage.h"
#include "envgen/write.h"

#define JOURNAL_LIMIT ((size_t)1 << 30)

struct job {
    const struct env_generate *options;
    struct arena *arena;
    struct log *log;
    struct topology *topology;
    char topology_hash[SHA256_HEX];
    struct env_source *sources; /* as many as options->nresults */
    struct bench_results merged;
    struct env_decisions *decisions;
    struct env_rules rules;
    const char *dir;
    struct env_stage stage;
};

/* ---- reading --------------------------------------------------------------------------------------------------------
 */

static int check_topology(const struct job *j, const char *path, const char *hash, struct err *e)
{
    if (!*hash || !strcmp(hash, j->topology_hash))
        return 0;
    return err_set(e, ERR_FAILED, "%s: was measured on another topology (%.12s...) than %s (%.12s...)", path, hash,
                   j->options->topology, j->topology_hash);
}

static int read_input(struct job *j, struct err *e)
{
    const struct env_generate *o = j->options;
    j->topology = topo_load(o->topology, e);
    if (!j->topology)
        return ERR_FAILED;
    topo_hash(j->topology, j->topology_hash);
    j->sources = arena_alloc(j->arena, (size_t)(o->nresults + 1) * sizeof *j->sources);
    for (int i = 0; i < o->nresults; i++) {
        j->sources[i].name = i ? arena_printf(j->arena, "results-%d.jsonl", i + 1) : "results.jsonl";
        struct bench_results *r = bench_results_load(o->results[i], j->log, e);
        if (!r)
            return ERR_FAILED;
        j->sources[i].results = r;
        int rc = check_topology(j, o->results[i], r->topology, e);
        if (rc)
            return rc;
    }
    return 0;
}

/* All journals as one, for the points. */
static void merge(struct job *j)
{
    int total = 0;
    for (int i = 0; i < j->options->nresults; i++)
        total += j->sources[i].results->count;
    j->merged = (struct bench_results){.arena = j->arena,
                                       .items = arena_alloc(j->arena, ((size_t)total + 1) * sizeof *j->merged.items)};
    for (int i = 0; i < j->options->nresults; i++) {
        const struct bench_results *r = j->sources[i].results;
        if (r->count)
            memcpy(j->merged.items + j->merged.count, r->items, (size_t)r->count * sizeof *r->items);
        j->merged.count += r->count;
    }
}

static int decide(struct job *j, struct err *e)
{
    merge(j);
    j->decisions = env_decisions_new(j->options->margin);
    j->decisions->topology = arena_strdup(j->decisions->arena, j->topology_hash);
    const struct bench_points *points = bench_points_of(&j->merged, j->arena);
    int rc = env_decide(j->decisions, points, j->sources, j->options->nresults, e);
    if (!rc)
        rc = env_rules_of(j->decisions, &j->rules, e);
    if (!rc)
        rc = env_settings(j->decisions, &j->rules, j->topology, e);
    return rc;
}

/* ---- writing --------------------------------------------------------------------------------------------------------
 */

static int same_file(const char *x, const char *y)
{
    struct stat a, b;
    return !stat(x, &a) && !stat(y, &b) && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/* An input becomes part of the profile: as it is when it lies there already, else as a copy. */
static int take_in(struct job *j, const char *path, const char *name, struct err *e)
{
    char *data;
    size_t bytes;
    if (same_file(path, arena_printf(j->arena, "%s/%s", j->dir, name)))
        return env_stage_keep(&j->stage, name, e);
    int rc = file_read(path, JOURNAL_LIMIT, j->arena, &data, &bytes, e);
    return rc ? rc : env_stage_add(&j->stage, name, data, bytes, e);
}

static int write_one(struct job *j, const struct env_writer *writer, struct err *e)
{
    struct env_writing w = {.decisions = j->decisions, .rules = &j->rules, .dir = j->dir, .scratch = j->arena};
    struct file_out out;
    int rc = file_out_begin(&out, e);
    if (rc)
        return rc;
    rc = writer->write(&w, out.stream, e);
    if (!rc && fflush(out.stream))
        rc = err_errno(e, "%s: out of memory", writer->file);
    if (!rc)
        rc = env_stage_add(&j->stage, writer->file, out.data, out.bytes, e);
    file_out_abandon(&out);
    return rc;
}

static const char *utc_now(struct arena *a)
{
    char text[32];
    time_t now = time(NULL);
    struct tm tm;
    gmtime_r(&now, &tm);
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &tm);
    return arena_strdup(a, text);
}

static int write_manifest(struct job *j, struct err *e)
{
    struct env_manifest m = {.tool = NCCLTUNE_VERSION, .created = utc_now(j->arena), .topology = j->topology_hash};
    m.files = arena_alloc(j->arena, (size_t)(j->stage.count + 1) * sizeof *m.files);
    for (int i = 0; i < j->stage.count; i++) {
        struct env_manifest_file *f = &m.files[m.nfiles++];
        f->name = j->stage.files[i].name;
        f->bytes = j->stage.files[i].bytes;
        memcpy(f->sha256, j->stage.files[i].sha256, SHA256_HEX);
    }
    for (int i = 0; i < j->decisions->nshapes; i++) {
        const char *library = j->decisions->shapes[i].library;
        if (m.nlibraries && !strcmp(m.libraries[m.nlibraries - 1], library))
            continue;
        m.libraries = arena_grow(j->arena, m.libraries, (size_t)m.nlibraries, sizeof *m.libraries);
        m.libraries[m.nlibraries++] = library;
    }
    env_manifest_hash(&m);
    cJSON *doc = env_manifest_json(&m);
    char *text = cJSON_Print(doc);
    cJSON_Delete(doc);
    if (!text)
        return err_set(e, ERR_FAILED, "out of memory");
    const char *line = arena_printf(j->arena, "%s\n", text);
    cJSON_free(text);
    return env_stage_add(&j->stage, ENV_MANIFEST, line, strlen(line), e);
}

static int write_all(struct job *j, struct err *e)
{
    int rc = take_in(j, j->options->topology, "topology.json", e);
    for (int i = 0; i < j->options->nresults && !rc; i++)
        rc = take_in(j, j->options->results[i], j->sources[i].name, e);
    for (const struct env_writer *w = env_writers; w->file && !rc; w++)
        rc = write_one(j, w, e);
    if (!rc)
        rc = write_manifest(j, e);
    if (!rc)
        rc = env_stage_commit(&j->stage, ENV_MANIFEST, e);
    env_stage_abandon(&j->stage);
    return rc;
}

static int make_directory(struct job *j, int *made, struct err *e)
{
    struct stat st;
    const char *out = j->options->out;
    *made = stat(out, &st) != 0;
    int rc = file_mkdirs(out, e);
    if (rc)
        return rc;
    char *real = realpath(out, NULL);
    if (!real)
        return err_errno(e, "%s: cannot be opened", out);
    j->dir = arena_strdup(j->arena, real);
    free(real);
    env_stage_begin(&j->stage, j->dir, j->arena);
    return 0;
}

int env_generate(const struct env_generate *g, struct log *log, struct err *e)
{
    if (!g->force && env_profile_complete(g->out))
        return err_set(e, ERR_FAILED,
                       "%s: holds a complete profile, which is not changed any more (--force replaces it)", g->out);
    struct job j = {.options = g, .arena = arena_new(), .log = log};
    int made = 0, rc = read_input(&j, e);
    if (!rc)
        rc = decide(&j, e);
    if (!rc)
        rc = make_directory(&j, &made, e);
    if (!rc)
        rc = write_all(&j, e);
    if (rc && made)
        rmdir(g->out);
    for (int i = 0; j.sources && i < g->nresults; i++)
        bench_results_free(j.sources[i].results);
    env_decisions_free(j.decisions);
    topo_free(j.topology);
    arena_free(j.arena);
    return rc;
}

int env_parse_margin(const char *s, double *margin, struct err *e)
{
    char *end;
    double percent = strtod(s, &end);
    const char *rest = end + strspn(end, " ");
    if (end == s || !(percent >= 0 && percent <= 1000) || (*rest && strcmp(rest, "%") != 0))
        return err_set(e, ERR_USAGE, "--margin: '%s' is no percentage, expected one such as 3%%", s);
    *margin = percent / 100;
    return 0;
}
