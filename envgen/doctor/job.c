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

#include "core/tokens.h"
#include "core/vars/catalogue.h"
#include "core/vars/parse.h"
#include "envgen/doctor/doctor_internal.h"
#include "lint/lint.h"
#include "slurm/hook.h"

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
    const char *table;          /* path; NULL: the plugin has none */
    struct tuner_table rules;   /* of it, … */
    int can_read;               /* … if it can be read */
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
        doctor_add(j->d, FINDING_OK, "rank", "%d of %d, on %s", r.rank, r.ranks, node);
    else
        doctor_add(j->d, FINDING_NOTE, "rank", "unknown, as no launcher has set its variables; on %s", node);
}

/* ---- what the prolog decided on this node ----------------------------------------------------------------------- */

/* Whether the hooks' store has a profile for anybody. */
static int is_scheduled(struct arena *a)
{
    struct hook_conf c;
    char last[SHA256_HEX], before[SHA256_HEX], *text;
    size_t bytes;
    if (hook_conf_read(HOOK_CONF_PATH, &c, NULL) ||
        file_read(arena_printf(a, "%s/schedule", c.store), FILE_LIMIT, a, &text, &bytes, NULL))
        return 0;
    install_schedule_last(text, last, before);
    return last[0] != 0;
}

static void no_answer(struct doctor *d, const char *run)
{
    if (access(run, F_OK) && !is_scheduled(d->arena))
        doctor_add(d, FINDING_NOTE, "prolog", "no job prolog of nccltune runs on this node");
    else
        doctor_add(d, FINDING_ERROR, "prolog",
                   "no job prolog of nccltune has decided on this node: expected Prolog= in slurm.conf, with "
                   "PrologFlags=Alloc");
}

/* Why a rank of a job that has a profile is without its table. */
static const char *why_without(const struct job *j)
{
    const char *set = given(j, HOOK_SET);
    if (given(j, "NCCL_TUNER_PLUGIN") || given(j, "NCCL_TUNER_CONFIG_FILE") || given(j, "NCCLTUNE_PROFILE"))
        return "you set a table of your own";
    if (!set)
        return "no task prolog of nccltune ran for it (TaskProlog= in slurm.conf), or its environment was replaced";
    return strstr(set, ":-") ? "the job's first node had none" : "its environment was changed";
}

/* A rank that should have the profile and has not is an error. */
static void check_answer(struct job *j)
{
    static struct hook_answer a;
    struct err why = {0};
    struct doctor *d = j->d;
    const char *run = j->options->run ? j->options->run : HOOK_RUN, *het = given(j, "SLURM_HET_JOB_ID"),
               *job = het ? het : given(j, "SLURM_JOB_ID"), *refusal = given(j, "NCCLTUNE_REFUSE"),
               *hash = given(j, "NCCLTUNE_HASH");
    if (!job || strspn(job, "0123456789") != strlen(job))
        return;
    int rc = hook_answer_read(run, job, &a, &why);
    if (refusal)
        doctor_add(d, FINDING_ERROR, "refused", "NCCL will not start: %s", refusal);
    if (rc > 0)
        no_answer(d, run);
    else if (rc < 0)
        doctor_add(d, FINDING_ERROR, "prolog", "%s", why.text);
    else if (a.state == HOOK_UNKNOWN)
        doctor_add(d, FINDING_ERROR, "prolog", "this node cannot decide what the job gets: %s", a.why);
    else if (a.state == HOOK_NOTHING)
        doctor_add(d, FINDING_NOTE, "prolog", "the job gets nothing: %s", a.why);
    else if (!a.table[0] || (hash && !strcmp(hash, a.table)))
        doctor_add(d, FINDING_OK, "prolog", "the job has profile %.12s, this node is of class %s", a.hash,
                   a.class_name);
    else
        doctor_add(d, FINDING_ERROR, "prolog", "the job has profile %.12s, and this rank is without: %s", a.hash,
                   why_without(j));
}

/* ---- the profile ------------------------------------------------------------------------------------------------- */

/* Whether NCCLTUNE_SET ("NAME=value|NAME=value") says that a hook put this value there. */
static int by_hook(const struct job *j, const char *name)
{
    const char *value = get(j, name), *set = get(j, "NCCLTUNE_SET");
    const char *pair = arena_printf(j->d->arena, "%s=%s", name, value ? value : "");
    return value && set && word_in(set, WORD_IS, pair, strlen(pair));
}

static void check_pinned(struct job *j)
{
    const char *dir = given(j, "NCCLTUNE_PROFILE"), *who = by_hook(j, "NCCLTUNE_PROFILE") ? "a hook" : "hand";
    struct err e = {0};
    if (!dir) {
        doctor_add(j->d, FINDING_NOTE, "profile", "none is pinned for this job%s",
                   get(j, "NCCLTUNE_SET") ? ", but a hook has set variables" : "");
        return;
    }
    if (dir[0] != '/') {
        doctor_add(j->d, FINDING_ERROR, "profile", "NCCLTUNE_PROFILE=%s is not an absolute path: the plugin refuses it",
                   dir);
        return;
    }
    j->pinned = env_profile_open(dir, &e);
    if (j->pinned)
        doctor_add(j->d, FINDING_OK, "profile", "%.12s in %s, set by %s", j->pinned->manifest.hash, dir, who);
    else
        doctor_add(j->d, FINDING_ERROR, "profile", "%s", e.text);
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
        doctor_add(j->d, FINDING_NOTE, "plugin", "NCCL_TUNER_PLUGIN is %s: no table is applied%s",
                   off ? "none" : "not set", off ? "" : ", unless NCCL finds a libnccl-tuner.so");
        return;
    }
    void *plugin = doctor_open_plugin(j->d, "libnccl-tuner", name);
    if (plugin)
        doctor_judge_plugin(j->d, plugin, name);
    else
        doctor_add(j->d, FINDING_ERROR, "plugin", "NCCL_TUNER_PLUGIN=%s cannot be loaded: %s", name, dlerror());
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
            doctor_add(j->d, FINDING_NOTE, "hash", "NCCLTUNE_HASH is not set: ranks that see another table would hang");
        return;
    }
    if (!plugin_name(j)) {
        doctor_add(j->d, FINDING_NOTE, "hash", "NCCLTUNE_HASH is set, but no plugin reads it");
        return;
    }
    if (!strncmp(wanted, "sha256:", 7))
        wanted += 7;
    if (!j->table || file_sha256(j->table, hex, &e))
        doctor_add(j->d, FINDING_ERROR, "hash", "NCCL will refuse to start: NCCLTUNE_HASH pins table %.12s, and %s",
                   wanted, j->table ? e.text : "there is none");
    else if (strlen(wanted) < HASH_DIGITS || strncasecmp(wanted, hex, strlen(wanted)) != 0)
        doctor_add(j->d, FINDING_ERROR, "hash",
                   "NCCL will refuse to start: NCCLTUNE_HASH pins table %.12s, %s is %.12s", wanted, j->table, hex);
    else
        doctor_add(j->d, FINDING_OK, "hash", "the table is the one that NCCLTUNE_HASH pins, %.12s", hex);
}

static void check_table(struct job *j)
{
    j->table = table_path(j);
    if (j->table)
        j->can_read = !doctor_check_table(j->d, j->table, &j->rules);
    check_hash(j);
}

/* ---- this node --------------------------------------------------------------------------------------------------- */

/* On how many nodes the profile was measured, beside how many this job has. */
static void check_evidence(struct job *j, const struct topology *t)
{
    struct launcher_rank r = {.rank = -1};
    int measured = 0, fit = 0;
    for (int i = 0; i < t->nhosts; i++)
        measured += !t->hosts[i].served;
    launcher_find(given_to, j, &r);
    int nodes = r.nodes || r.per_node <= 0 ? r.nodes : r.ranks / r.per_node;
    for (size_t i = 0; i < j->rules.count; i++)
        fit += tuner_rule_fits_shape(&j->rules.rules[i], &(struct tuner_shape){nodes, j->ranks, TUNER_UNKNOWN});
    if (!measured || !nodes)
        return;
    const char *table =
        j->can_read ? arena_printf(j->d->arena, "; %d of the table's %zu rules are for that", fit, j->rules.count) : "";
    if (nodes <= measured)
        doctor_add(j->d, FINDING_OK, "evidence", "the profile was measured on %d node%s, this job has %d%s", measured,
                   measured == 1 ? "" : "s", nodes, table);
    else
        doctor_add(j->d, FINDING_NOTE, "evidence",
                   "the profile was measured on no more than %d node%s, and this job has %d%s; its other settings "
                   "were not measured at that size",
                   measured, measured == 1 ? "" : "s", nodes, table);
}

static void check_machine(struct job *j)
{
    struct topology *t =
        j->pinned ? doctor_check_machine(j->d, j->pinned, j->options->machine, j->options->log, &j->node_class) : NULL;
    if (t)
        check_evidence(j, t);
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
        doctor_add(j->d, FINDING_NOTE, "setting", "%s is %s%s; the profile has %s%s", wanted[i].name,
                   now ? "" : "not set", now ? now : "", wanted[i].value, now ? ": yours wins" : "");
    }
    if (!overridden)
        doctor_add(j->d, FINDING_OK, "setting", "no setting of the profile is overridden");
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
    struct lint_options o = {.rccl = -1, .table = j->pinned && j->rules.count ? &j->rules : NULL};
    struct finding f;
    struct lint *l = lint_new(&o);
    lint_settings_of(j, l);
    lint_check(l);
    for (size_t n = 0; lint_finding(l, n, &f); n++)
        if (f.severity > FINDING_NOTE)
            finding_add(&j->d->found, f.severity, arena_strdup(j->d->arena, f.id), "lint", "%s=%s: %s %s", f.subject,
                        f.value ? f.value : "?", f.text, f.advice);
    lint_free(l);
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
        doctor_add(d, FINDING_NOTE, "profile", "NCCLTUNE=off: nothing of nccltune is used");
    } else {
        check_answer(&j);
        check_pinned(&j);
        check_plugin(&j);
        doctor_check_capture(d, given(&j, "NCCL_PROFILER_PLUGIN"), given(&j, "NCCLTUNE_CAPTURE"));
        doctor_check_observe(d, given(&j, "NCCLTUNE_OBSERVE"), given(&j, "NCCLTUNE_CAPTURE"));
        check_table(&j);
        doctor_check_others(d, given_to, &j, doctor_measured_over(j.pinned), j.rules.next_auto);
        check_machine(&j);
        check_overrides(&j);
    }
    check_environment(&j);
    env_profile_free(j.pinned);
    tuner_table_free(&j.rules);
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
    tuner_table_free(&j.rules);
    for (int i = n; i < d->found.n; i++)
        if (d->found.list[i].severity == FINDING_ERROR) {
            d->found.list[i].subject = "nccl.conf";
            d->found.list[n++] = d->found.list[i];
        }
    d->found.n = n;
}
