/* The generate stage: read, decide, write all files of a profile together. */
#include "envgen/generate/generate.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench/fabric/fabric.h"
#include "bench/import/import.h"
#include "core/call/workload.h"
#include "core/file.h"
#include "core/trust.h"
#include "core/vars/catalogue.h"
#include "core/vars/parse.h"
#include "envgen/decide/decide.h"
#include "envgen/generate/validate.h"
#include "envgen/predict/predict.h"
#include "envgen/profile/profile.h"
#include "envgen/profile/staged_write.h"
#include "envgen/write/write.h"
#include "lint/lint.h"

#define SITE_LIMIT ((size_t)1 << 20)

struct job {
    const struct env_generate *options;
    struct arena *arena; /* that of `made` */
    struct log *log;
    const char *site_conf; /* NCCL's file here, as text; NULL: none */
    char topology_hash[SHA256_HEX];
    struct env_rules rules;
    struct env_generated made;
    struct env_staged_write staged;
};

/* ---- reading ----------------------------------------------------------------------------------------------------- */

/* Return the model of the topology's GPUs where none is `gpu`; NULL: one is, or no model is known. */
static const char *other_gpu(const struct topology *t, const char *gpu)
{
    const char *other = NULL;
    for (int i = 0; i < t->nclasses; i++)
        for (int g = 0; g < t->classes[i].ngpus; g++) {
            const char *model = t->classes[i].objects[t->classes[i].gpus[g].object].model;
            if (model && import_is_gpu(gpu, model))
                return NULL;
            other = model ? model : other;
        }
    return other;
}

/* Journals name their topology; logs of other programs show ranks and nodes only. */
static int check_topology(const struct job *j, const char *path, const struct bench_results *r, struct err *e)
{
    struct err why = {0};
    int gpus = 0;
    for (int i = 0; i < j->made.topology->nclasses; i++)
        gpus = j->made.topology->classes[i].ngpus > gpus ? j->made.topology->classes[i].ngpus : gpus;
    if (*r->topology && strcmp(r->topology, j->topology_hash) != 0)
        err_set(&why, ERR_FAILED, "%s: was measured on another topology (%.12s...) than %s (%.12s...)", path,
                r->topology, j->options->topology, j->topology_hash);
    for (int i = 0; i < r->count && !*r->topology && gpus && !why.code; i++)
        if (r->items[i].nodes > 0 && r->items[i].ranks > gpus * r->items[i].nodes)
            err_set(&why, ERR_FAILED,
                    "%s: was measured on another machine, with %d ranks on %d node%s: nodes of %s have %d GPU%s", path,
                    r->items[i].ranks, r->items[i].nodes, r->items[i].nodes == 1 ? "" : "s", j->options->topology, gpus,
                    gpus == 1 ? "" : "s");
    const char *other = r->gpu ? other_gpu(j->made.topology, r->gpu) : NULL;
    if (r->gpu && r->other_gpu && !why.code)
        err_set(&why, ERR_FAILED, "some runs were measured on %s, others on %s: their times cannot be compared", r->gpu,
                r->other_gpu);
    if (other && !why.code)
        err_set(&why, ERR_FAILED, "%s: was measured on %s, and the GPUs of %s are %s", path, r->gpu,
                j->options->topology, other);
    if (!why.code)
        return 0;
    if (!j->options->force)
        return err_set(e, ERR_FAILED, "%s", why.text);
    log_warn(j->log, "%s; it is used anyway", why.text);
    return 0;
}

/* One more journal of the profile, from `paths`; or, for the first, what the caller has just measured. */
static int add_source(struct job *j, const char *const *paths, int npaths, const char *copied, struct err *e)
{
    const struct env_generate *o = j->options;
    const struct import_given given = {.coll = -1, .nccl = o->nccl_high}; /* where files do not say it */
    struct env_source *s = &j->made.sources[j->made.nsources];
    const int n = j->made.nsources + 1;
    *s = (struct env_source){n > 1 ? arena_printf(j->arena, "results-%d.jsonl", n) : "results.jsonl", copied, NULL};
    if (n == 1 && o->measured && *o->measured) {
        s->results = *o->measured;
        *o->measured = NULL;
    } else if (!(s->results = import_load(paths, npaths, &given, j->log, e))) {
        return ERR_FAILED;
    }
    j->made.nsources = n;
    for (int k = 0; !copied && k < s->results->count; k++)
        s->results->items[k].line = k + 2; /* below the journal's head */
    return check_topology(j, paths[0], s->results, e);
}

/* Each journal by itself. What other programs printed is read together: a setting that only some of their runs have
 * makes a candidate. */
static int read_results(struct job *j, struct err *e)
{
    const struct env_generate *o = j->options;
    const char **foreign = arena_alloc(j->arena, (size_t)(o->nresults + 1) * sizeof *foreign);
    int nforeign = 0, rc = 0;
    j->made.sources = arena_alloc(j->arena, (size_t)(o->nresults + 1) * sizeof *j->made.sources);
    for (int i = 0; i < o->nresults && !rc; i++) {
        if (o->measured || import_is_journal(o->results[i]))
            rc = add_source(j, &o->results[i], 1, o->results[i], e);
        else
            foreign[nforeign++] = o->results[i];
    }
    return rc || !nforeign ? rc : add_source(j, foreign, nforeign, NULL, e);
}

static int read_input(struct job *j, struct err *e)
{
    const struct env_generate *o = j->options;
    j->made.topology = topo_load(o->topology, e);
    if (!j->made.topology)
        return ERR_FAILED;
    topo_hash(j->made.topology, j->topology_hash);
    if (read_results(j, e))
        return ERR_FAILED;
    if (o->workload && !(j->made.workload = workload_load(o->workload, e)))
        return ERR_FAILED;
    if (o->fabric)
        j->made.fabric = verbs_fabric_load(o->fabric, e);
    return o->fabric && !j->made.fabric ? ERR_FAILED : 0;
}

/* All journals as one, for the points: that of the first file. */
static struct bench_results *merge_journals(struct job *j)
{
    struct bench_results *all = ARENA_NEW(j->arena, struct bench_results);
    for (int i = 0; i < j->made.nsources; i++) {
        struct bench_results *r = j->made.sources[i].results;
        for (int k = 0; k < r->count; k++)
            r->items[k].source = j->made.sources[i].name;
        for (int k = 0; i && k < r->count; k++)
            bench_results_push(all, &r->items[k]);
        all = i ? all : r;
    }
    return all;
}

/* What NCCL reads here before a profile comes: the environment, then the system's file. */
static const char *site_value(const void *arg, const char *name)
{
    const struct job *j = arg;
    struct env_line line;
    const char *own = getenv(name);
    for (const char *at = j->site_conf; !own && at && *at;) {
        size_t length = strcspn(at, "\n");
        if (env_parse_conf_line(at, length, 0, &line) && line.name_length == strlen(name) &&
            !strncmp(line.name, name, line.name_length))
            own = arena_strndup(j->arena, line.value, line.value_length);
        at += length + (at[length] == '\n');
    }
    return own;
}

static void read_site(struct job *j)
{
    char *text;
    size_t bytes;
    const char *path = j->options->site_conf;
    if (path && !access(path, R_OK) && !file_read(path, SITE_LIMIT, j->arena, &text, &bytes, NULL))
        j->site_conf = text;
}

/* A variable that all imported runs had is a condition of what they show: it stands with the settings, as one that is
 * not set, unless the profile sets it. */
static void take_common(const struct job *j, struct env_decisions *d, const struct finding *f)
{
    struct env_setting *own = env_find_setting(d, f->subject);
    const char *why = arena_printf(d->arena, "all measured runs had %s, and gains hold with it", f->value);
    if (own && own->value && strcmp(own->value, f->value) != 0)
        log_warn(j->log, "all measured runs had %s=%s, and the profile sets %s", f->subject, f->value, own->value);
    else if (own && !own->value)
        own->why = arena_printf(d->arena, "%s; %s", why, own->why);
    else if (!own)
        env_add_setting(d, (struct env_setting){.family = "nccl",
                                                .name = arena_strdup(d->arena, f->subject),
                                                .source = "imported runs",
                                                .why = why});
}

/* What the measurements say beside times: of jobs as they run without this profile, the last one counts; of variables
 * that all imported runs had, with a warning of what lint says against them on this machine. */
static void take_findings(const struct job *j, struct env_decisions *d)
{
    const struct lint_options o = {d->nccl_low, d->nccl_high, .rccl = d->rccl, .topology = j->made.topology,
                                   .predictor = &predict_predictor};
    struct lint *l = lint_new(&o);
    const char *all = "";
    struct finding x;
    for (int i = 0; i < j->made.nsources; i++) {
        const struct findings *noise = &j->made.sources[i].results->noise;
        for (int k = 0; k < noise->n; k++) {
            const struct finding *f = &noise->list[k];
            if (f->id && !strcmp(f->id, BENCH_TODAY))
                d->today = finding_sentence(f, d->arena);
            if (!f->id || strcmp(f->id, BENCH_COMMON) != 0 || !f->subject || !f->value)
                continue;
            take_common(j, d, f);
            all = arena_printf(j->arena, "%s%s=%s\n", all, f->subject, f->value);
        }
    }
    lint_read_text(l, "runs", all, strlen(all), "conf", &(struct err){0});
    lint_check(l);
    for (size_t n = 0; lint_finding(l, n, &x); n++)
        if (x.severity >= FINDING_WARNING)
            log_warn(j->log, "all measured runs had %s=%s: %s", x.subject, x.value, x.text);
    lint_free(l);
}

static int decide(struct job *j, struct err *e)
{
    struct bench_results *all = merge_journals(j);
    read_site(j);
    struct env_decisions *d = j->made.profile.decisions = env_decisions_new(j->options->margin);
    d->topology = arena_strdup(d->arena, j->topology_hash);
    d->workload = j->made.workload;
    all->confidence = j->options->confidence;
    d->record = predict_record_of(j->made.topology);
    d->predicted = j->options->predicted && d->record;
    j->made.points = bench_points_of(all, j->arena);
    int rc = env_decide(d, j->made.points, e);
    if (!rc && j->options->predicted && !d->record && env_shape_with(d, BENCH_PREDICTED))
        log_warn(j->log, "--predicted sets nothing here: predictions have not been proven on such machines");
    env_releases(d, j->made.topology, j->options->nccl_low, j->options->nccl_high);
    for (int i = 0, low, high; i < d->nshapes; i++)
        if (j->options->nccl_low && !env_library_release(d->shapes[i].library, &low, &high) &&
            (high < j->options->nccl_low || low > j->options->nccl_high)) {
            const int minor = low / 100 % 100,
                      applies = low / 100 >= j->options->nccl_low / 100 && low / 100 <= j->options->nccl_high / 100;
            log_warn(j->log, "measured with %s, which --nccl leaves out: other releases may choose otherwise%s",
                     d->shapes[i].library,
                     applies ? "" : arena_printf(j->arena, ", and only 2.%d applies the table's rules", minor));
            break;
        }
    if (!rc)
        rc = env_rules_of(d, &j->rules, e);
    if (!rc)
        rc = env_settings(d, &j->rules, j->made.topology, j->made.fabric, e);
    if (!rc)
        env_site_facts(d, j->made.topology, j->options->site_conf ? site_value : NULL, j);
    if (!rc)
        take_findings(j, d);
    if (!rc)
        env_validate(d, j->made.topology);
    return rc;
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

static int same_file(const char *x, const char *y)
{
    struct stat a, b;
    return !stat(x, &a) && !stat(y, &b) && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/* An input becomes part of the profile: as it is when it lies there already, else as a copy. */
static int take_in(struct job *j, const char *path, const char *name, struct err *e)
{
    if (same_file(path, arena_printf(j->arena, "%s/%s", j->made.profile.dir, name)))
        return env_staged_write_keep(&j->staged, name, e);
    return env_staged_write_copy(&j->staged, name, path, e);
}

static int write_journal(struct job *j, const struct env_source *source, struct err *e)
{
    struct file_out out;
    file_out_begin(&out);
    bench_export_journal(source->results, out.stream);
    file_out_flush(&out);
    int rc = env_staged_write_add(&j->staged, source->name, out.data, out.bytes, e);
    file_out_abandon(&out);
    return rc;
}

/* Prints one file, checks it when it is NCCL's, and adds it to the staged write. */
static int write_one(struct job *j, const struct env_writer *writer, const char *file, const char *node_class,
                     struct err *e)
{
    struct env_writing w = {.decisions = j->made.profile.decisions,
                            .rules = &j->rules,
                            .dir = j->made.profile.dir,
                            .scratch = j->arena,
                            .node_class = node_class};
    struct file_out out;
    file_out_begin(&out);
    int rc = writer->write(&w, out.stream, e);
    file_out_flush(&out);
    if (!rc && !strncmp(file, "nccl.", 5))
        rc = env_validate_file(j->made.profile.decisions, j->made.topology, node_class, file, out.data, out.bytes, e);
    if (!rc)
        rc = env_staged_write_add(&j->staged, file, out.data, out.bytes, e);
    file_out_abandon(&out);
    return rc;
}

static int has_settings(const struct env_decisions *d, const char *node_class)
{
    for (int i = 0; i < d->nsettings; i++)
        if (d->settings[i].value && d->settings[i].node_class && !strcmp(d->settings[i].node_class, node_class))
            return 1;
    return 0;
}

/* nccl.d/CLASS.conf for every class of nodes with settings of its own. */
static int write_classes(struct job *j, struct err *e)
{
    const struct env_writer *writer = env_writer_of("nccl.conf");
    int rc = 0;
    for (int c = 0; c < j->made.topology->nclasses && !rc; c++) {
        const char *name = j->made.topology->classes[c].name;
        const char *file = arena_printf(j->arena, ENV_CLASSES "%s.conf", name);
        for (int i = 0; i < c; i++)
            if (!strcmp(j->made.topology->classes[i].name, name))
                return err_set(e, ERR_FAILED, "%s: two classes of nodes are called '%s'", j->options->topology, name);
        if (!has_settings(j->made.profile.decisions, name))
            continue;
        if (strchr(name, '/') || !env_manifest_name_ok(file))
            return err_set(e, ERR_FAILED, "%s: the class of nodes '%s' has a name that is not a valid file name",
                           j->options->topology, name);
        rc = write_one(j, writer, file, name, e);
    }
    return rc;
}

/* What belonged to the profile that was replaced and not to this one. Journals stay: they are measurements. */
static void remove_stale(const struct job *j, const struct env_manifest *old)
{
    for (int i = 0; i < old->nfiles; i++) {
        const char *name = old->files[i].name;
        int kept = strstr(name, ".jsonl") != NULL;
        for (int k = 0; k < j->staged.count && !kept; k++)
            kept = !strcmp(j->staged.files[k].name, name);
        if (!kept)
            trust_unlink(arena_printf(j->arena, "%s/%s", j->made.profile.dir, name), NULL);
    }
}

static void make_manifest(struct job *j)
{
    struct env_manifest m = {.tool = NCCLTUNE_VERSION, .topology = arena_strdup(j->arena, j->topology_hash)};
    for (int i = 0; i < j->made.profile.decisions->nshapes; i++) {
        const char *library = j->made.profile.decisions->shapes[i].library;
        if (m.nlibraries && !strcmp(m.libraries[m.nlibraries - 1], library))
            continue;
        ARENA_ADD(j->arena, m.libraries, m.nlibraries) = library;
    }
    env_manifest_list(&m, &j->staged);
    j->made.profile.manifest = m;
}

static int write_all(struct job *j, struct err *e)
{
    struct env_manifest old = {0};
    if (env_profile_complete(j->made.profile.dir) && env_manifest_load(j->made.profile.dir, j->arena, &old, NULL))
        old.nfiles = 0;
    int rc = take_in(j, j->options->topology, "topology.json", e);
    for (int i = 0; i < j->made.nsources && !rc; i++)
        rc = j->made.sources[i].path ? take_in(j, j->made.sources[i].path, j->made.sources[i].name, e)
                                     : write_journal(j, &j->made.sources[i], e);
    if (!rc && j->made.workload)
        rc = take_in(j, j->options->workload, "workload.json", e);
    if (!rc && j->made.fabric)
        rc = take_in(j, j->options->fabric, "fabric.json", e);
    const struct env_writer *w;
    for (size_t n = 0; !rc && (w = env_writer_at(n)); n++)
        rc = write_one(j, w, w->file, NULL, e);
    if (!rc)
        rc = write_classes(j, e);
    make_manifest(j);
    if (!rc && j->options->check && !(rc = env_staged_write_commit(&j->staged, ENV_MANIFEST, e)))
        rc = j->options->check(j->options->user, &j->made.profile, e);
    if (!rc)
        rc = env_manifest_stage(&j->made.profile.manifest, &j->staged, e);
    if (!rc)
        rc = env_staged_write_commit(&j->staged, ENV_MANIFEST, e);
    if (!rc)
        remove_stale(j, &old);
    env_staged_write_abandon(&j->staged);
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
    j->made.profile.dir = arena_strdup(j->arena, real);
    free(real);
    env_staged_write_begin(&j->staged, j->made.profile.dir, j->arena);
    return 0;
}

void env_generated_free(struct env_generated *made)
{
    for (int i = 0; i < made->nsources; i++)
        bench_results_free(made->sources[i].results);
    env_decisions_free(made->profile.decisions);
    verbs_fabric_free(made->fabric);
    workload_free(made->workload);
    topo_free(made->topology);
    arena_free(made->arena);
    *made = (struct env_generated){0};
}

int env_generate(const struct env_generate *g, struct env_generated *made, struct log *log, struct err *e)
{
    if (made)
        *made = (struct env_generated){0};
    if (!g->force && env_profile_complete(g->out))
        return err_set(e, ERR_FAILED, "%s: complete profile, which never changes (--force replaces it)", g->out);
    struct job j = {.options = g, .arena = arena_new(), .log = log};
    j.made.arena = j.made.profile.arena = j.arena;
    int created = 0, rc = read_input(&j, e);
    if (!rc)
        rc = decide(&j, e);
    if (!rc)
        rc = make_directory(&j, &created, e);
    if (!rc)
        rc = write_all(&j, e);
    if (rc && created)
        trust_unlink(g->out, NULL);
    if (rc || !made)
        env_generated_free(&j.made);
    if (made)
        *made = j.made;
    return rc;
}
