/* The doctor inside a job step: what this rank's NCCL will find.
 *
 * What counts is what NCCL sees: the environment first, then the user's file (NCCL_CONF_FILE, else ~/.nccl.conf), then
 * the system's, where the first to name a variable wins. */
#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "core/file.h"
#include "core/launcher.h"
#include "core/vars/catalogue.h"
#include "core/vars/parse.h"
#include "envgen/doctor/doctor_internal.h"
#include "envgen/profile/profile.h"
#include "lint/lint.h"
#include "probe/source/probe.h"
#include "slurm/hook.h"
#include "tuner/table/table.h"

#define CONF_LIMIT  ((size_t)1 << 20)
#define HASH_DIGITS 16 /* the fewest that the plugin takes for a hash */

struct pair {
    const char *name, *value;
};

struct job {
    struct doctor *d;
    const struct doctor_job_options *options;
    struct pair *settings; /* as NCCL sees them */
    int nsettings, ranks;
    int chained;                /* the table asks for another tuner first */
    const char *table;          /* path; NULL: the plugin has none */
    struct env_profile *pinned; /* NULL: none, or a broken one */
    const char *node_class;     /* of the profile; NULL unknown */
};

/* ---- what NCCL sees ---------------------------------------------------------------------------------------------- */

static const char *find(const struct pair *list, int n, const char *name)
{
    for (int i = 0; i < n; i++)
        if (!strcmp(list[i].name, name))
            return list[i].value;
    return NULL;
}

static const char *get(const struct job *j, const char *name)
{
    return find(j->settings, j->nsettings, name);
}

/* A variable that is set to something. */
static const char *given(const struct job *j, const char *name)
{
    const char *value = get(j, name);
    return value && *value ? value : NULL;
}

static void add_pair(struct arena *a, struct pair **list, int *n, const char *name, const char *value)
{
    if (find(*list, *n, name))
        return;
    *list = arena_grow(a, *list, (size_t)*n, sizeof **list);
    (*list)[(*n)++] = (struct pair){name, value};
}

/* NAME=value lines by NCCL's rules; a file that is not there sets nothing. */
static void add_conf(struct arena *a, const char *path, struct pair **list, int *n)
{
    struct err ignored;
    char *text;
    size_t bytes;
    if (access(path, R_OK) || file_read(path, CONF_LIMIT, a, &text, &bytes, &ignored))
        return;
    for (const char *at = text; *at;) {
        size_t length = strcspn(at, "\n");
        struct env_line line;
        if (env_parse_conf_line(at, length, 0, &line))
            add_pair(a, list, n, arena_strndup(a, line.name, line.name_length),
                     arena_strndup(a, line.value, line.value_length));
        at += length + (at[length] == '\n');
    }
}

static void read_environment(struct job *j)
{
    struct arena *a = j->d->arena;
    for (const char *const *v = j->options->environment; *v; v++) {
        const char *equals = strchr(*v, '=');
        if (equals)
            add_pair(a, &j->settings, &j->nsettings, arena_strndup(a, *v, (size_t)(equals - *v)), equals + 1);
    }
    const char *own = given(j, "NCCL_CONF_FILE"), *home = given(j, "HOME");
    if (own || home)
        add_conf(a, own ? own : arena_printf(a, "%s/.nccl.conf", home), &j->settings, &j->nsettings);
    add_conf(a, j->options->system_conf, &j->settings, &j->nsettings);
}

/* ---- who this is ------------------------------------------------------------------------------------------------- */

static const char *given_to(const void *job, const char *name)
{
    return given(job, name);
}

static void find_rank(struct job *j)
{
    struct launcher_rank r = {.rank = -1};
    char host[HOST_NAME_MAX + 1] = "";
    gethostname(host, sizeof host - 1);
    const char *name = given(j, "SLURMD_NODENAME"), *node = name ? name : host;
    launcher_find(given_to, j, &r);
    j->ranks = r.ranks;
    if (r.rank >= 0)
        finding_add(&j->d->found, FINDING_OK, NULL, "rank", "%d of %d, on %s", r.rank, r.ranks, node);
    else
        finding_add(&j->d->found, FINDING_NOTE, NULL, "rank", "unknown, as no launcher has set its variables; on %s",
                    node);
}

/* ---- the profile ------------------------------------------------------------------------------------------------- */

/* Whether NCCLTUNE_SET ("NAME=value|NAME=value") says that a hook put this value there. */
static int by_hook(const struct job *j, const char *name)
{
    const char *value = get(j, name), *set = get(j, "NCCLTUNE_SET");
    size_t n = strlen(name);
    for (const char *at = set; at && *at && value;) {
        size_t length = strcspn(at, "|");
        if (length > n && !strncmp(at, name, n) && at[n] == '=' && length - n - 1 == strlen(value) &&
            !strncmp(at + n + 1, value, length - n - 1))
            return 1;
        at += length + (at[length] == '|');
    }
    return 0;
}

static void check_pinned(struct job *j)
{
    const char *dir = given(j, "NCCLTUNE_PROFILE"), *who = by_hook(j, "NCCLTUNE_PROFILE") ? "a hook" : "hand";
    struct err e = {0};
    if (!dir) {
        finding_add(&j->d->found, FINDING_NOTE, NULL, "profile", "none is pinned for this job%s",
                    get(j, "NCCLTUNE_SET") ? ", but a hook has set variables" : "");
        return;
    }
    if (dir[0] != '/') {
        finding_add(&j->d->found, FINDING_ERROR, NULL, "profile",
                    "NCCLTUNE_PROFILE=%s is not an absolute path: the plugin refuses it", dir);
        return;
    }
    j->pinned = env_profile_open(dir, &e);
    if (j->pinned)
        finding_add(&j->d->found, FINDING_OK, NULL, "profile", "%.12s in %s, set by %s", j->pinned->manifest.hash, dir,
                    who);
    else
        finding_add(&j->d->found, FINDING_ERROR, NULL, "profile", "%s", e.text);
}

/* ---- plugin and table -------------------------------------------------------------------------------------------- */

/* What NCCL_TUNER_PLUGIN names; NULL: nothing. */
static const char *plugin_name(const struct job *j)
{
    const char *name = given(j, "NCCL_TUNER_PLUGIN");
    return name && strcmp(name, "none") != 0 ? name : NULL;
}

static void check_plugin(struct job *j)
{
    const char *name = plugin_name(j);
    if (!name) {
        int off = given(j, "NCCL_TUNER_PLUGIN") != NULL;
        finding_add(&j->d->found, FINDING_NOTE, NULL, "plugin", "NCCL_TUNER_PLUGIN is %s: no table is applied%s",
                    off ? "none" : "not set", off ? "" : ", unless NCCL finds a libnccl-tuner.so");
        return;
    }
    void *plugin = doctor_open_plugin(j->d, "libnccl-tuner", name);
    if (plugin)
        doctor_judge_plugin(j->d, plugin, name);
    else
        finding_add(&j->d->found, FINDING_ERROR, NULL, "plugin", "NCCL_TUNER_PLUGIN=%s cannot be loaded: %s", name,
                    dlerror());
}

/* Where the plugin looks, as tuner/plugin/source.c does, less its own directory. */
static const char *table_path(const struct job *j)
{
    const char *profile = given(j, "NCCLTUNE_PROFILE"), *file = given(j, "NCCL_TUNER_CONFIG_FILE");
    if (profile)
        return arena_printf(j->d->arena, "%s/tuner.csv", profile);
    if (file)
        return file;
    return access(j->options->system_table, R_OK) ? NULL : j->options->system_table;
}

static void check_hash(struct job *j)
{
    const char *wanted = given(j, "NCCLTUNE_HASH");
    char hex[SHA256_HEX] = "";
    struct err e = {0};
    if (!wanted) {
        if (j->table)
            finding_add(&j->d->found, FINDING_NOTE, NULL, "hash",
                        "NCCLTUNE_HASH is not set: ranks that see another table would hang");
        return;
    }
    if (!plugin_name(j)) {
        finding_add(&j->d->found, FINDING_NOTE, NULL, "hash", "NCCLTUNE_HASH is set, but no plugin reads it");
        return;
    }
    if (!strncmp(wanted, "sha256:", 7))
        wanted += 7;
    if (!j->table || file_sha256(j->table, hex, &e))
        finding_add(&j->d->found, FINDING_ERROR, NULL, "hash",
                    "NCCL will refuse to start: NCCLTUNE_HASH pins table %.12s, and %s", wanted,
                    j->table ? e.text : "there is none");
    else if (strlen(wanted) < HASH_DIGITS || strncasecmp(wanted, hex, strlen(wanted)) != 0)
        finding_add(&j->d->found, FINDING_ERROR, NULL, "hash",
                    "NCCL will refuse to start: NCCLTUNE_HASH pins table %.12s, %s is %.12s", wanted, j->table, hex);
    else
        finding_add(&j->d->found, FINDING_OK, NULL, "hash", "the table is the one that NCCLTUNE_HASH pins, %.12s", hex);
}

static void check_table(struct job *j)
{
    j->table = table_path(j);
    if (j->table)
        j->chained = doctor_check_table(j->d, j->table);
    check_hash(j);
}

/* ---- this node --------------------------------------------------------------------------------------------------- */

/* Count the rules of the table that hold on so many nodes; -1: it cannot be read. */
static int count_rules(const struct job *j, int nodes, int *of)
{
    struct tuner_table t = {0};
    struct err ignored;
    char *text;
    size_t bytes;
    int fit = 0;
    if (!j->table || file_read(j->table, TUNER_BYTES_LIMIT, j->d->arena, &text, &bytes, &ignored) ||
        tuner_table_parse(&t, text, bytes, NULL, NULL))
        return -1;
    *of = (int)t.count;
    for (size_t i = 0; i < t.count; i++)
        fit += tuner_rule_fits_shape(&t.rules[i], &(struct tuner_shape){nodes, j->ranks, TUNER_UNKNOWN});
    tuner_table_free(&t);
    return fit;
}

/* On how many nodes the profile was measured, beside how many this job has. */
static void check_evidence(struct job *j, const struct topology *t)
{
    struct launcher_rank r = {.rank = -1};
    int measured = 0, of = 0;
    for (int i = 0; i < t->nhosts; i++)
        measured += !t->hosts[i].served;
    launcher_find(given_to, j, &r);
    int nodes = r.nodes || r.per_node <= 0 ? r.nodes : r.ranks / r.per_node, rules = count_rules(j, nodes, &of);
    if (!measured || !nodes)
        return;
    const char *table =
        rules < 0 ? "" : arena_printf(j->d->arena, "; %d of the table's %d rules are for that", rules, of);
    if (nodes <= measured)
        finding_add(&j->d->found, FINDING_OK, NULL, "evidence",
                    "the profile was measured on %d node%s, this job has %d%s", measured, measured == 1 ? "" : "s",
                    nodes, table);
    else
        finding_add(&j->d->found, FINDING_NOTE, NULL, "evidence",
                    "the profile was measured on no more than %d node%s, and this job has %d%s; its other settings "
                    "were not measured at that size",
                    measured, measured == 1 ? "" : "s", nodes, table);
}

static void check_machine(struct job *j)
{
    struct err e = {0};
    if (!j->pinned)
        return;
    struct topology *t = topo_load(arena_printf(j->d->arena, "%s/topology.json", j->pinned->dir), &e);
    struct topology *probed = t && !j->options->machine ? probe_machine(j->options->log, &e) : NULL;
    const struct topology *here = j->options->machine ? j->options->machine : probed;
    if (t && here && here->nclasses == 1)
        j->node_class = arena_strdup(j->d->arena, doctor_compare(j->d, t, here));
    else
        finding_add(&j->d->found, FINDING_ERROR, NULL, "machine", "cannot be compared: %s", e.text);
    if (t)
        check_evidence(j, t);
    topo_free(probed);
    topo_free(t);
}

/* ---- what the user overrides ------------------------------------------------------------------------------------- */

static void check_overrides(struct job *j)
{
    struct arena *a = j->d->arena;
    struct pair *wanted = NULL;
    int n = 0, overridden = 0;
    if (!j->pinned)
        return;
    if (j->node_class)
        add_conf(a, arena_printf(a, "%s/nccl.d/%s.conf", j->pinned->dir, j->node_class), &wanted, &n);
    add_conf(a, arena_printf(a, "%s/nccl.conf", j->pinned->dir), &wanted, &n);
    for (int i = 0; i < n; i++) {
        const char *now = get(j, wanted[i].name);
        if (now && !strcmp(now, wanted[i].value))
            continue;
        overridden++;
        finding_add(&j->d->found, FINDING_NOTE, NULL, "setting", "%s is %s%s; the profile has %s%s", wanted[i].name,
                    now ? "" : "not set", now ? now : "", wanted[i].value, now ? ": yours wins" : "");
    }
    if (!overridden)
        finding_add(&j->d->found, FINDING_OK, NULL, "setting", "no setting of the profile is overridden");
}

/* What lint looks at, as a process environment. */
static void lint_settings_of(const struct job *j, struct lint *l)
{
    struct err ignored;
    char *block;
    size_t bytes;
    FILE *out = open_memstream(&block, &bytes);
    for (int i = 0; i < j->nsettings && out; i++)
        if (env_of_interest(j->settings[i].name, strlen(j->settings[i].name)))
            fprintf(out, "%s=%s%c", j->settings[i].name, j->settings[i].value, 0);
    if (!out || fclose(out))
        return;
    lint_read_environ(l, "environment", block, bytes, &ignored);
    free(block);
}

/* Errors and warnings alone; lint has more for those who ask it. */
static void check_environment(struct job *j)
{
    struct lint_options o = {.rccl = -1};
    struct finding f;
    struct tuner_table table = {0};
    struct err ignored;
    char *text;
    size_t bytes;
    if (j->pinned && j->table && !file_read(j->table, TUNER_BYTES_LIMIT, j->d->arena, &text, &bytes, &ignored) &&
        !tuner_table_parse(&table, text, bytes, NULL, NULL))
        o.table = &table;
    struct lint *l = lint_new(&o);
    lint_settings_of(j, l);
    lint_check(l);
    for (size_t n = 0; lint_finding(l, n, &f); n++)
        if (f.severity > FINDING_NOTE)
            finding_add(&j->d->found, f.severity, arena_strdup(j->d->arena, f.id), "lint", "%s=%s: %s %s", f.subject,
                        f.value ? f.value : "?", f.text, f.advice);
    lint_free(l);
    tuner_table_free(&table);
}

struct doctor *doctor_job(const struct doctor_job_options *o)
{
    struct arena *a = arena_new();
    struct doctor *d = ARENA_NEW(a, struct doctor);
    struct job j = {.d = d, .options = o};
    d->arena = d->found.arena = a;
    read_environment(&j);
    find_rank(&j);
    const char *mode = given(&j, "NCCLTUNE");
    if (mode && !strcmp(mode, "off")) {
        finding_add(&d->found, FINDING_NOTE, NULL, "profile", "NCCLTUNE=off: nothing of nccltune is used");
    } else {
        doctor_check_answer(d, o->run ? o->run : HOOK_RUN, given_to, &j);
        check_pinned(&j);
        check_plugin(&j);
        doctor_check_capture(d, given(&j, "NCCL_PROFILER_PLUGIN"), given(&j, "NCCLTUNE_CAPTURE"));
        doctor_check_observe(d, given(&j, "NCCLTUNE_OBSERVE"), given(&j, "NCCLTUNE_CAPTURE"));
        check_table(&j);
        doctor_check_others(d, given_to, &j, doctor_measured_over(j.pinned), j.chained);
        check_machine(&j);
        check_overrides(&j);
    }
    check_environment(&j);
    env_profile_free(j.pinned);
    return d;
}

void doctor_check_conf(struct doctor *d, const char *path)
{
    static const char *const nothing[] = {NULL};
    const struct doctor_job_options o = {.environment = nothing, .system_conf = path, .system_table = ""};
    struct job j = {.d = d, .options = &o};
    int n = d->found.n;
    read_environment(&j);
    if (plugin_name(&j))
        check_plugin(&j);
    if (given(&j, "NCCLTUNE_PROFILE")) {
        check_pinned(&j);
        check_table(&j);
    }
    env_profile_free(j.pinned);
    for (int i = n; i < d->found.n; i++)
        if (d->found.list[i].severity == FINDING_ERROR) {
            d->found.list[i].subject = "nccl.conf";
            d->found.list[n++] = d->found.list[i];
        }
    d->found.n = n;
}
