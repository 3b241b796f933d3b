/* nccltune lint: what NCCL makes of the settings in scripts, configuration files or a process. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/arguments.h"
#include "cli/cli.h"
#include "core/arena.h"
#include "core/file.h"
#include "core/json.h"
#include "envgen/predict/predict.h"
#include "envgen/profile/profile.h"
#include "lint/lint.h"
#include "probe/import/import.h"
#include "probe/topology/topology.h"
#include "tuner/table/table.h"

#define COMMAND "nccltune lint"

static const struct cli_page page = {
    COMMAND,
    "nccltune lint [OPTION]... FILE... | DIRECTORY... | - | --env | --pid N\n"
    "Find wrong NCCL settings in scripts, configuration files, manifests and programs: names that NCCL does not read,\n"
    "values that it reads as something else, settings without effect, contradictory, or lost before they reach the "
    "ranks.\n",
    "Examples\n"
    "  nccltune lint job.sbatch\n"
    "  nccltune lint --nccl 2.28.9 --topology topology.json /etc/nccl.conf\n"
    "  nccltune lint --fix=all job.sh -o job.fixed.sh\n"
    "  nccltune lint .\n"
    "\n"
    "Exit status: 0 no error found, 1 an error found (with --strict: or a warning) or a file not read, 2 wrong "
    "usage.\n",
    -1};

struct request {
    struct lint_options lint;
    struct cli_releases releases;
    const char *topology, *profile, *kind, *out;
    int pid, env, fix, in_place, strict, list_rules, json;
    char **files;
    int nfiles;
};

static const char *kind_word(int i)
{
    return lint_kind((size_t)i);
}

enum { FIX_SAFE = 1, FIX_ALL };

static int take_fix(const struct option_value *v, void *out, struct err *e)
{
    *(int *)out = v->text ? FIX_ALL : FIX_SAFE;
    return v->text && strcmp(v->text, "all") != 0
               ? err_set(e, ERR_USAGE, "%s: expected all, got '%s'", v->what, v->text)
               : 0;
}

#define AT(member) offsetof(struct request, member)
static const struct option_spec options[] = {
    {0, "nccl", "VERSION", "judge by this release (2.28.9), these (2.28) or a range (2.19-2.28) (default: all in use)",
     cli_take_releases, AT(releases)},
    {0, "rccl", NULL, "judge by AMD's RCCL; VERSION is the NCCL release that it is built on", option_flag,
     AT(lint.rccl)},
    {0, "topology", "FILE", "check device names against topology.json, or any file of nccltune probe --from",
     option_text, AT(topology)},
    {0, "profile", "DIR", "the same with a profile's topology and tuner table, and its NCCL releases without --nccl",
     option_text, AT(profile)},
    {0, "kind", "KIND", "read every FILE as one of:", option_word, AT(kind), .word = kind_word},
    {0, "env", NULL, "check this process's environment", option_flag, AT(env)},
    {0, "pid", "N", "check the environment of process N", option_int, AT(pid), .low = 1, .high = INT32_MAX},
    {0, "strict", NULL, "warnings count as errors", option_flag, AT(strict)},
    {'j', "json", NULL, "print findings as JSON", option_flag, AT(json)},
    {0, "fix", "[=all]",
     "write a corrected copy to standard output, findings to standard error; only corrections that change no run, or "
     "all",
     take_fix, AT(fix)},
    {'o', "output", "FILE", "with --fix: write the copy to FILE", option_text, AT(out)},
    {0, "in-place", NULL, "with --fix: correct the files themselves", option_flag, AT(in_place)},
    {0, "list-rules", NULL, "print every rule; with --json as JSON", option_flag, AT(list_rules)},
    {0},
};

static int check_args(const struct request *a, struct err *e)
{
    int stdin_is_one = 0;
    for (int i = 0; i < a->nfiles; i++)
        stdin_is_one |= !strcmp(a->files[i], "-");
    const struct cli_wrong wrong[] = {
        {a->topology && a->profile, "--topology and --profile are mutually exclusive"},
        {!a->nfiles && !a->env && !a->pid, "expected a FILE or a directory, '-', --env or --pid"},
        {a->fix && !a->nfiles, "--fix needs a FILE"},
        {!a->fix && a->in_place, "--in-place belongs to --fix"},
        {!a->fix && a->out, "--output belongs to --fix"},
        {a->in_place && a->out, "--in-place and --output are mutually exclusive"},
        {a->fix && !a->in_place && (a->nfiles != 1 || a->env || a->pid),
         "--fix writes one copy: give one FILE, or --in-place"},
        {a->in_place && stdin_is_one, "standard input cannot be corrected in place"},
        {0},
    };
    return cli_check(wrong, e);
}

static int list_rules(int json)
{
    int n;
    const struct finding_kind *kinds = lint_kinds(&n);
    cJSON *all = json ? cJSON_CreateArray() : NULL;
    for (int i = 0; i < n && json; i++)
        finding_kind_json(json_append(all), &kinds[i]);
    if (json)
        json_print(all, stdout);
    for (int i = 0; i < n && !json; i++)
        printf("%s  %-7s  %-26s %s\n", kinds[i].id, finding_severity_name(kinds[i].severity), kinds[i].name,
               kinds[i].title);
    return 0;
}

static int is_directory(const char *path)
{
    struct stat st;
    return !stat(path, &st) && S_ISDIR(st.st_mode);
}

/* What cannot be read is in the report, and the others are read all the same; a wrong --kind ends it. */
static int read_all(struct lint *l, const struct request *a, struct err *e)
{
    size_t looked = 0;
    struct err noted = {0};
    for (int i = 0; i < a->nfiles; i++) {
        int code = is_directory(a->files[i]) ? lint_read_tree(l, a->files[i], &looked, e)
                                             : lint_read_file(l, a->files[i], a->kind, &noted);
        if (e->code || code == ERR_USAGE)
            return e->code ? e->code : err_set(e, code, "%s", noted.text);
    }
    int code = a->env ? lint_read_process(l, 0, e) : 0;
    return !code && a->pid ? lint_read_process(l, a->pid, e) : code;
}

static int write_one(const struct request *a, const struct lint_fixed *d, struct err *e)
{
    const char *target = a->in_place ? d->path : a->out;
    if (*d->open)
        fprintf(stderr, COMMAND ": %s: left for you to correct:%s\n", d->path, d->open);
    int code = 0, copy = !target || !strcmp(target, "-");
    if (copy && (fwrite(d->text, 1, d->bytes, stdout) != d->bytes || fflush(stdout)))
        code = err_errno(e, "standard output");
    else if (!copy && (d->fixed > 0 || !a->in_place))
        code = file_write(target, d->text, d->bytes, e);
    if (!code && (d->fixed > 0 || d->left > 0 || !a->in_place))
        fprintf(stderr, COMMAND ": %s: %d corrected%s\n", copy ? d->path : target, d->fixed,
                d->left > 0 ? ", more with --fix=all, which changes runs" : "");
    return code;
}

/* Every file is a document of its own, in the order that they were read. */
static int write_fixed(const struct lint *l, const struct request *a, struct err *e)
{
    struct lint_document d;
    int code = 0;
    for (size_t i = 0; lint_document(l, i, &d); i++) {
        struct lint_fixed fixed;
        struct err why = {0};
        if (!strcmp(d.kind, "environment") || d.is_sourced || (d.error && d.settings == 0))
            continue;
        int rc = lint_fix(l, i, a->fix == FIX_ALL, &fixed, &why);
        if (!rc)
            rc = write_one(a, &fixed, &why);
        if (rc && !code)
            code = err_set(e, rc, "%s", why.text);
        free(fixed.text);
    }
    return code;
}

/* What is known about the machine: a topology alone, or a profile with its topology, its releases and its table. */
static int read_machine(struct request *a, struct topology **t, struct tuner_table *table, struct arena *arena,
                        struct err *e)
{
    if (a->topology)
        *t = probe_files(&a->topology, 1, NULL, e);
    struct env_profile *p = a->profile ? env_profile_open(a->profile, e) : NULL;
    if (p) {
        *t = topo_load(arena_printf(arena, "%s/topology.json", p->dir), e);
        if (!a->lint.nccl_low) {
            a->lint.nccl_low = p->decisions->nccl_low;
            a->lint.nccl_high = p->decisions->nccl_high;
        }
        cli_read_table(p->dir, table, arena, e);
        a->lint.table = table;
    }
    env_profile_free(p);
    return e->code;
}

static int report_findings(struct lint *l, const struct request *a, struct err *e)
{
    struct lint_document d;
    int unread = 0;
    int code = a->fix ? write_fixed(l, a, e) : 0;
    lint_print(l, a->json, a->fix && !a->in_place && !a->out ? stderr : stdout);
    for (size_t i = 0; lint_document(l, i, &d); i++)
        unread += d.error != NULL;
    if (!code && (unread || lint_count(l, FINDING_ERROR) > 0 || (a->strict && lint_count(l, FINDING_WARNING) > 0)))
        code = ERR_FAILED;
    return code;
}

static int run_lint(void *request, char **words, struct arena *arena, struct err *e)
{
    struct request *a = request;
    struct topology *topology = NULL;
    struct tuner_table table = {0};
    const char *root = arena_printf(arena, "/proc/%d/root", a->pid);
    for (a->files = words; words[a->nfiles];)
        a->nfiles++;
    if (a->list_rules)
        return list_rules(a->json);
    if (check_args(a, e))
        return e->code;
    a->lint.root = !a->pid ? "" : access(root, X_OK) ? NULL : root;
    a->lint.elsewhere = !a->env && !a->pid;
    a->lint.nccl_low = a->releases.low;
    a->lint.nccl_high = a->releases.high;
    int code = read_machine(a, &topology, &table, arena, e);
    a->lint.topology = topology;
    struct lint *l = code ? NULL : lint_new(&a->lint);
    if (!code)
        code = read_all(l, a, e);
    if (!code) {
        lint_check(l);
        code = report_findings(l, a, e);
    }
    lint_free(l);
    tuner_table_free(&table);
    topo_free(topology);
    return code;
}

int lint_main(int argc, char **argv)
{
    struct request r = {.lint = {.rccl = -1, .predictor = &predict_predictor}};
    struct option_group groups[] = {{NULL, options, &r}, {0}};
    return cli_run(&page, groups, argc, argv, run_lint, &r);
}
