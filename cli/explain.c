/* nccltune explain: say what a profile sets, and why. */
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "core/coll.h"
#include "core/file.h"
#include "core/units.h"
#include "core/vars/catalogue.h"
#include "envgen/explain/diff.h"
#include "envgen/explain/explain.h"
#include "envgen/step/profile.h"

#define COMMAND "explain"

struct args {
    struct env_question question;
    const char *profile, *other, *workload;
    int sized, json;
};

static int help(void)
{
    puts("Usage: nccltune explain PROFILE [VARIABLE | --coll C --bytes N [--nodes N] [--ranks N]] [--json]\n"
         "       nccltune explain PROFILE --workload FILE [--json]\n"
         "       nccltune explain PROFILE|VERSION --diff PROFILE2|VERSION2 [--json]\n"
         "Say what a profile makes OpenMPI and NCCL do, and why: as a whole, for one variable, or for one call; what "
         "it is\n"
         "worth to a training step; or what another profile, or another release of NCCL, makes different.\n"
         "\n"
         "  -c, --coll C      allreduce, allgather, reducescatter, broadcast, reduce or alltoall\n"
         "  -b, --bytes N     size of the call: 8, 64K, 1.5M, 4G; the larger of the per-rank send and receive buffers\n"
         "  -n, --nodes N     only what was measured on that many nodes\n"
         "  -r, --ranks N     only what was measured with that many ranks\n"
         "  -w, --workload F  the time that a step's collectives take, now and with the profile, by phase; F is of "
         "nccltune\n"
         "                    workload\n"
         "      --nccl V      the release whose own choices and defaults are told; those of the profile\n"
         "  -d, --diff P      what the profile P makes different, or, between two versions such as 2.28.9, NCCL's own\n"
         "                    defaults\n"
         "  -j, --json        print the answer as JSON\n"
         "\n"
         "Examples:\n"
         "  nccltune explain profile\n"
         "  nccltune explain profile btl_tcp_if_include\n"
         "  nccltune explain profile --coll allreduce --bytes 64M --nodes 2 --ranks 16\n"
         "  nccltune explain profile --workload workload.json\n"
         "  nccltune explain profile --diff profile-of-last-year\n"
         "  nccltune explain 2.21.5 --diff 2.28.9\n"
         "\n"
         "Exit status: 0 done, 1 the profile is incomplete, was changed or cannot be read, 2 wrong usage.");
    return 0;
}

static int parse_number(const char *s, const char *what, int *value, struct err *e)
{
    long v;
    int rc = unit_parse_int(s, 1, INT32_MAX - 1, &v, what, e);
    if (!rc)
        *value = (int)v;
    return rc;
}

static int save(cJSON *doc, struct err *e)
{
    int rc = doc ? json_save(doc, "-", e) : e->code;
    cJSON_Delete(doc);
    return rc;
}

static int answer(const struct args *args, const struct env_profile *p, struct err *e)
{
    struct file_out out;
    if (args->json)
        return save(env_explain_json(p, &args->question, e), e);
    int rc = file_out_begin(&out, e);
    if (rc)
        return rc;
    return file_out_end(&out, "-", env_explain(p, &args->question, out.stream, e), e);
}

static int print_step(const struct step_estimate *s, struct err *e)
{
    struct file_out out;
    int rc = file_out_begin(&out, e);
    if (rc)
        return rc;
    env_step_print(s, out.stream);
    return file_out_commit(&out, "-", e);
}

static int answer_step(const struct args *args, const struct env_profile *p, struct err *e)
{
    struct arena *a = arena_new();
    struct workload *w = workload_load(args->workload, e);
    struct step_estimate s;
    int rc = w ? env_step_of_profile(p, w, args->question.nccl, a, &s, e) : e->code;
    if (!rc)
        rc = args->json ? save(env_step_json(&s), e) : print_step(&s, e);
    workload_free(w);
    arena_free(a);
    return rc;
}

static int explain(const struct args *args, struct err *e)
{
    struct env_profile *p = env_profile_open(args->profile, e);
    int rc = e->code;
    if (p)
        rc = args->workload ? answer_step(args, p, e) : answer(args, p, e);
    env_profile_free(p);
    return rc;
}

/* ---- differences ----------------------------------------------------------------------------------------------------
 */

static int print_diff(const struct env_diff *d, int json, struct err *e)
{
    if (!json) {
        env_diff_print(d, stdout);
        return 0;
    }
    return save(env_diff_json(d), e);
}

/* A version is one release or all patches of a minor one, of which the newest counts. */
static int is_release(const char *word, int *release)
{
    int low;
    return !env_version_parse(word, &low, release);
}

static int compare(const char *from, const char *to, int json, struct err *e)
{
    struct arena *a = arena_new();
    struct env_profile *x = NULL, *y = NULL;
    struct env_diff d;
    int before, after, rc = 0, first = is_release(from, &before), second = is_release(to, &after);
    if (first != second) {
        rc = err_set(e, ERR_USAGE, "--diff compares two profiles, or two versions: '%s' and '%s' are one of each", from,
                     to);
    } else if (first) {
        d = env_diff_releases(before, after, a);
        rc = print_diff(&d, json, e);
    } else {
        x = env_profile_open(from, e);
        y = x ? env_profile_open(to, e) : NULL;
        rc = y ? 0 : e->code;
    }
    if (y) {
        d = env_diff_profiles(x, y, a);
        rc = print_diff(&d, json, e);
    }
    env_profile_free(x);
    env_profile_free(y);
    arena_free(a);
    return rc;
}

/* ---- the command line -----------------------------------------------------------------------------------------------
 */

enum { OPT_NCCL = 256 };

static const struct option options[] = {
    {"coll", required_argument, NULL, 'c'},  {"bytes", required_argument, NULL, 'b'},
    {"nodes", required_argument, NULL, 'n'}, {"ranks", required_argument, NULL, 'r'},
    {"diff", required_argument, NULL, 'd'},  {"workload", required_argument, NULL, 'w'},
    {"json", no_argument, NULL, 'j'},        {"nccl", required_argument, NULL, OPT_NCCL},
    {"help", no_argument, NULL, 'h'},        {NULL, 0, NULL, 0},
};

static int parse_coll(const char *word, struct args *a, struct err *e)
{
    a->question.coll = coll_parse(word, strlen(word));
    if (a->question.coll >= 0)
        return 0;
    return err_set(e, ERR_USAGE,
                   "--coll: '%s' is no collective, expected allreduce, allgather, reducescatter, broadcast, reduce or "
                   "alltoall",
                   word);
}

static int parse_option(int c, struct args *a, struct err *e)
{
    int low;
    switch (c) {
    case 'c':
        return parse_coll(optarg, a, e);
    case 'b':
        a->sized = 1;
        return unit_parse_bytes(optarg, &a->question.bytes, "--bytes", e);
    case 'n':
        return parse_number(optarg, "--nodes", &a->question.nodes, e);
    case 'r':
        return parse_number(optarg, "--ranks", &a->question.ranks, e);
    case 'd':
        a->other = optarg;
        return 0;
    case 'w':
        a->workload = optarg;
        return 0;
    case OPT_NCCL:
        return env_version_parse(optarg, &low, &a->question.nccl)
                   ? err_set(e, ERR_USAGE, "--nccl '%s': expected a version such as 2.28.9 or 2.28", optarg)
                   : 0;
    default:
        a->json = 1;
        return 0;
    }
}

/* What goes together; 0 or the exit code. */
static int check_args(const struct args *a)
{
    const struct env_question *q = &a->question;
    if ((q->coll >= 0) != a->sized || (q->variable && a->sized))
        return cli_usage(COMMAND, "expected either a VARIABLE, or both --coll and --bytes, or neither");
    if ((q->nodes || q->ranks) && !a->sized)
        return cli_usage(COMMAND, "--nodes and --ranks go with --coll and --bytes");
    if (a->other && (a->sized || q->variable || a->workload || q->nccl))
        return cli_usage(COMMAND, "--diff stands alone");
    if (a->workload && (a->sized || q->variable))
        return cli_usage(COMMAND, "--workload stands alone");
    return 0;
}

int explain_main(int argc, char **argv)
{
    struct args a = {.question = {.coll = -1}};
    struct err e = {0};
    int c, rc = 0;
    while (!rc && (c = getopt_long(argc, argv, "c:b:n:r:d:w:jh", options, NULL)) != -1) {
        if (c == 'h')
            return help();
        if (c == '?')
            return cli_usage(COMMAND, NULL);
        rc = parse_option(c, &a, &e);
    }
    if (rc)
        return e.code == ERR_USAGE ? cli_usage(COMMAND, "%s", e.text) : cli_fail(COMMAND, &e);
    if (optind == argc)
        return cli_usage(COMMAND, "the PROFILE directory is missing");
    a.profile = argv[optind];
    if (optind + 1 < argc)
        a.question.variable = argv[optind + 1];
    if (optind + 2 < argc)
        return cli_usage(COMMAND, "'%s' is one word too many", argv[optind + 2]);
    rc = check_args(&a);
    if (rc)
        return rc;
    rc = a.other ? compare(a.profile, a.other, a.json, &e) : explain(&a, &e);
    return rc ? cli_fail(COMMAND, &e) : 0;
}
