/* nccltune lint: what NCCL makes of the settings in scripts, configuration files or a process. */
#include <ctype.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "core/arena.h"
#include "core/file.h"
#include "core/vars/catalogue.h"
#include "envgen/lint/lint.h"
#include "envgen/profile/profile.h"
#include "probe/topology/topology.h"
#include "tuner/table/table.h"

extern char **environ;

#define COMMAND "lint"

struct args {
    struct lint_options lint;
    const char *topology, *profile, *kind, *pid, *out;
    enum lint_format format;
    int env, fix, in_place, strict, list_rules;
    char **files;
    int nfiles;
};

static int help(void)
{
    puts("Usage: nccltune lint [OPTION]... FILE... | - | --env | --pid N\n"
         "Say what NCCL makes of the settings in shell, batch and env files, nccl.conf, Dockerfiles, Kubernetes YAML "
         "and\n"
         "JSON: names that it does not read, values that it reads as something else, settings without effect or at "
         "odds.\n"
         "\n"
         "  --nccl VERSION      judge by this release (2.28.9), these (2.28) or a range (2.19-2.28); else all in use\n"
         "  --rccl              judge by AMD's RCCL; VERSION is the NCCL release that it is built on\n"
         "  --topology FILE     hold device names against a topology of `nccltune probe`\n"
         "  --profile DIR       the same with the topology, the NCCL releases (unless --nccl is given) and the tuner "
         "table\n"
         "                      of a profile\n"
         "  --kind KIND         read every FILE as shell, env, conf, docker, yaml or json\n"
         "  --env               look at this process's environment\n"
         "  --pid N             look at the environment of process N\n"
         "  --fix               write a corrected copy to standard output, findings to standard error\n"
         "  --output FILE       with --fix: write the copy to FILE\n"
         "  --in-place          with --fix: correct the files themselves\n"
         "  --strict            warnings count as errors\n"
         "  --json, --sarif     print findings for programs\n"
         "  --list-rules        print every rule\n"
         "\n"
         "Exit status: 0 no error found, 1 an error found (with --strict: or a warning), 2 wrong usage.\n"
         "\n"
         "  nccltune lint job.sbatch\n"
         "  nccltune lint --nccl 2.28.9 --topology topology.json /etc/nccl.conf\n"
         "  nccltune lint --fix job.sh -o job.fixed.sh");
    return 0;
}

enum {
    OPT_NCCL = 256,
    OPT_RCCL,
    OPT_TOPOLOGY,
    OPT_PROFILE,
    OPT_KIND,
    OPT_ENV,
    OPT_PID,
    OPT_FIX,
    OPT_IN_PLACE,
    OPT_STRICT,
    OPT_JSON,
    OPT_SARIF,
    OPT_LIST_RULES
};

static const struct option long_options[] = {
    {"nccl", required_argument, NULL, OPT_NCCL},
    {"rccl", no_argument, NULL, OPT_RCCL},
    {"topology", required_argument, NULL, OPT_TOPOLOGY},
    {"profile", required_argument, NULL, OPT_PROFILE},
    {"kind", required_argument, NULL, OPT_KIND},
    {"env", no_argument, NULL, OPT_ENV},
    {"pid", required_argument, NULL, OPT_PID},
    {"fix", no_argument, NULL, OPT_FIX},
    {"output", required_argument, NULL, 'o'},
    {"in-place", no_argument, NULL, OPT_IN_PLACE},
    {"strict", no_argument, NULL, OPT_STRICT},
    {"json", no_argument, NULL, OPT_JSON},
    {"sarif", no_argument, NULL, OPT_SARIF},
    {"list-rules", no_argument, NULL, OPT_LIST_RULES},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

/* -1: go on; else the exit code. */
static int parse_args(int argc, char **argv, struct args *a)
{
    int c;
    optind = 1;
    while ((c = getopt_long(argc, argv, "ho:", long_options, NULL)) != -1) {
        switch (c) {
        case OPT_NCCL:
            if (env_version_parse(optarg, &a->lint.nccl_low, &a->lint.nccl_high))
                return cli_usage(COMMAND, "--nccl '%s': expected a version such as 2.28.9, 2.28 or 2.19-2.28", optarg);
            break;
        case OPT_RCCL:
            a->lint.rccl = 1;
            break;
        case OPT_TOPOLOGY:
            a->topology = optarg;
            break;
        case OPT_PROFILE:
            a->profile = optarg;
            break;
        case OPT_KIND:
            a->kind = optarg;
            break;
        case OPT_ENV:
            a->env = 1;
            break;
        case OPT_PID:
            a->pid = optarg;
            break;
        case OPT_FIX:
            a->fix = 1;
            break;
        case 'o':
            a->out = optarg;
            break;
        case OPT_IN_PLACE:
            a->in_place = 1;
            break;
        case OPT_STRICT:
            a->strict = 1;
            break;
        case OPT_JSON:
            a->format = LINT_JSON;
            break;
        case OPT_SARIF:
            a->format = LINT_SARIF;
            break;
        case OPT_LIST_RULES:
            a->list_rules = 1;
            break;
        case 'h':
            return help();
        default:
            return cli_usage(COMMAND, NULL);
        }
    }
    a->files = argv + optind;
    a->nfiles = argc - optind;
    return -1;
}

static int check_args(const struct args *a)
{
    if (a->topology && a->profile)
        return cli_usage(COMMAND, "--topology and --profile exclude each other");
    if (a->pid && strspn(a->pid, "0123456789") != strlen(a->pid))
        return cli_usage(COMMAND, "--pid '%s': expected a process number", a->pid);
    if (a->nfiles == 0 && !a->env && !a->pid)
        return cli_usage(COMMAND, "expected a FILE, '-', --env or --pid");
    if (a->fix && a->nfiles == 0)
        return cli_usage(COMMAND, "--fix needs a FILE");
    if (!a->fix && (a->in_place || a->out))
        return cli_usage(COMMAND, "%s belongs to --fix", a->in_place ? "--in-place" : "--output");
    if (a->in_place && a->out)
        return cli_usage(COMMAND, "--in-place and --output exclude each other");
    if (a->fix && !a->in_place && (a->nfiles != 1 || a->env || a->pid))
        return cli_usage(COMMAND, "--fix writes one copy: give one FILE, or --in-place");
    for (int i = 0; i < a->nfiles && a->in_place; i++)
        if (!strcmp(a->files[i], "-"))
            return cli_usage(COMMAND, "standard input cannot be corrected in place");
    return -1;
}

static int list_rules(void)
{
    struct arena *a = arena_new();
    int n;
    const struct finding_kind *kinds = lint_kinds(a, &n);
    for (int i = 0; i < n; i++)
        printf("%s  %-7s  %-26s %s\n", kinds[i].id, finding_severity_name(kinds[i].severity), kinds[i].name,
               kinds[i].title);
    arena_free(a);
    return 0;
}

static int read_own_environment(struct lint *l, struct err *e)
{
    struct arena *a = arena_new();
    size_t bytes = 0, at = 0;
    for (char **v = environ; *v; v++)
        bytes += strlen(*v) + 1;
    char *block = arena_alloc(a, bytes + 1);
    for (char **v = environ; *v; v++) {
        memcpy(block + at, *v, strlen(*v) + 1);
        at += strlen(*v) + 1;
    }
    int code = lint_read_environ(l, "environment", block, bytes, e);
    arena_free(a);
    return code;
}

static int read_process(struct lint *l, const char *pid, struct err *e)
{
    struct arena *a = arena_new();
    char *path = arena_printf(a, "/proc/%s/environ", pid), *block;
    size_t bytes;
    int code = file_read(path, FILE_LIMIT, a, &block, &bytes, e);
    if (!code)
        code = lint_read_environ(l, arena_printf(a, "process %s", pid), block, bytes, e);
    arena_free(a);
    return code;
}

static int read_all(struct lint *l, const struct args *a, struct err *e)
{
    int code = 0;
    for (int i = 0; i < a->nfiles && !code; i++)
        code = lint_read_file(l, a->files[i], a->kind, e);
    if (!code && a->env)
        code = read_own_environment(l, e);
    if (!code && a->pid)
        code = read_process(l, a->pid, e);
    return code;
}

/* Every file is a document of its own, in the order of the command line. */
static int write_fixed(const struct lint *l, const struct args *a, struct err *e)
{
    const char *path;
    size_t bytes;
    int fixed, code = 0;
    for (int i = 0; i < a->nfiles && !code; i++) {
        char *text = lint_fix(l, (size_t)i, &path, &bytes, &fixed);
        if (!text)
            return err_set(e, ERR_FAILED, "no memory for a corrected copy");
        const char *target = a->in_place ? a->files[i] : a->out;
        if (target && strcmp(target, "-") != 0) {
            if (fixed > 0 || !a->in_place)
                code = file_write(target, text, bytes, e);
            fprintf(stderr, "%s: %d corrected\n", target, fixed);
        } else if (fwrite(text, 1, bytes, stdout) != bytes || fflush(stdout)) {
            code = err_errno(e, "standard output");
        }
        free(text);
    }
    return code;
}

/* The table that the profile `dir` brings; one without rules where it has none. */
static int read_table(const char *dir, struct tuner_table *t, struct arena *arena, struct err *e)
{
    const char *path = arena_printf(arena, "%s/tuner.csv", dir);
    char *text;
    size_t bytes;
    if (access(path, F_OK))
        return 0;
    if (file_read(path, TUNER_BYTES_LIMIT, arena, &text, &bytes, e))
        return e->code;
    return tuner_table_parse(t, text, bytes, NULL, NULL) ? err_set(e, ERR_FAILED, "%s: is no tuner table", path) : 0;
}

/* What is known about the machine: a topology alone, or a profile with its topology, its releases and its table. */
static int read_machine(struct args *a, struct topology **t, struct tuner_table *table, struct err *e)
{
    struct arena *arena = arena_new();
    if (a->topology)
        *t = topo_load(a->topology, e);
    struct env_profile *p = a->profile ? env_profile_open(a->profile, e) : NULL;
    if (p) {
        *t = topo_load(arena_printf(arena, "%s/topology.json", p->dir), e);
        if (!a->lint.nccl_low) {
            a->lint.nccl_low = p->decisions->nccl_low;
            a->lint.nccl_high = p->decisions->nccl_high;
        }
        read_table(p->dir, table, arena, e);
        a->lint.table = table;
    }
    env_profile_free(p);
    arena_free(arena);
    return e->code;
}

int lint_main(int argc, char **argv)
{
    struct args a = {.lint = {.rccl = -1}};
    struct err e = {0};
    struct topology *topology = NULL;
    struct tuner_table table = {0};
    struct lint *l = NULL;
    int code = parse_args(argc, argv, &a);
    if (code >= 0)
        return code;
    if (a.list_rules)
        return list_rules();
    if ((code = check_args(&a)) >= 0)
        return code;
    code = read_machine(&a, &topology, &table, &e);
    if (code)
        goto out;
    a.lint.topology = topology;
    l = lint_new(&a.lint);
    code = read_all(l, &a, &e);
    if (code)
        goto out;
    lint_check(l);
    code = lint_print(l, a.format, a.fix && !a.in_place && !a.out ? stderr : stdout, &e);
    if (!code && a.fix)
        code = write_fixed(l, &a, &e);
    if (!code && (lint_count(l, FINDING_ERROR) > 0 || (a.strict && lint_count(l, FINDING_WARNING) > 0)))
        code = ERR_FAILED;
out:
    if (e.code)
        code = cli_fail(COMMAND, &e);
    lint_free(l);
    tuner_table_free(&table);
    topo_free(topology);
    return code;
}
