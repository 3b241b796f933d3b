/* nccltune explain: say what a profile sets, and why. */
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "core/coll.h"
#include "core/file.h"
#include "core/units.h"
#include "envgen/catalogue.h"
#include "envgen/diff.h"
#include "envgen/explain.h"

#define COMMAND "explain"

static int help(void)
{
    puts("Usage: nccltune explain PROFILE [VARIABLE | --coll C --bytes N [--nodes N] [--ranks N]] [--json]\n"
         "       nccltune explain PROFILE|VERSION --diff PROFILE2|VERSION2 [--json]\n"
         "Say what a profile makes OpenMPI and NCCL do, and why: as a whole, for one variable, or for one call; or "
         "what\n"
         "another profile, or another release of NCCL, makes different.\n"
         "\n"
         "  -c, --coll C      allreduce, allgather, reducescatter, broadcast or reduce\n"
         "  -b, --bytes N     size of the call: 8, 64K, 1.5M, 4G; the larger of the per-rank send and receive buffers\n"
         "  -n, --nodes N     only what was measured on that many nodes\n"
         "  -r, --ranks N     only what was measured with that many ranks\n"
         "  -d, --diff P      what the profile P makes different, or, between two versions such as 2.28.9, NCCL's own\n"
         "                    defaults\n"
         "  -j, --json        print the answer as JSON\n"
         "\n"
         "Examples:\n"
         "  nccltune explain profile\n"
         "  nccltune explain profile btl_tcp_if_include\n"
         "  nccltune explain profile --coll allreduce --bytes 64M --nodes 2 --ranks 16\n"
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

static int answer(const char *dir, const struct env_question *q, int json, struct err *e)
{
    struct env_profile *p = env_profile_open(dir, e);
    if (!p)
        return e->code;
    int rc;
    if (json) {
        cJSON *doc = env_explain_json(p, q, e);
        rc = doc ? json_save(doc, "-", e) : e->code;
        cJSON_Delete(doc);
    } else {
        struct file_out out;
        rc = file_out_begin(&out, e);
        if (!rc) {
            rc = env_explain(p, q, out.stream, e);
            if (rc)
                file_out_abandon(&out);
            else
                rc = file_out_commit(&out, "-", e);
        }
    }
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
    cJSON *doc = env_diff_json(d);
    int rc = json_save(doc, "-", e);
    cJSON_Delete(doc);
    return rc;
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

int explain_main(int argc, char **argv)
{
    static const struct option options[] = {
        {"coll", required_argument, NULL, 'c'},  {"bytes", required_argument, NULL, 'b'},
        {"nodes", required_argument, NULL, 'n'}, {"ranks", required_argument, NULL, 'r'},
        {"diff", required_argument, NULL, 'd'},  {"json", no_argument, NULL, 'j'},
        {"help", no_argument, NULL, 'h'},        {NULL, 0, NULL, 0},
    };
    struct env_question q = {.coll = -1};
    struct err e = {0};
    const char *other = NULL;
    int json = 0, sized = 0, c, rc = 0;
    while (!rc && (c = getopt_long(argc, argv, "c:b:n:r:d:jh", options, NULL)) != -1) {
        if (c == 'c') {
            q.coll = coll_parse(optarg, strlen(optarg));
            if (q.coll < 0)
                return cli_usage(COMMAND,
                                 "--coll: '%s' is no collective, expected allreduce, allgather, reducescatter, "
                                 "broadcast or reduce",
                                 optarg);
        } else if (c == 'b') {
            rc = unit_parse_bytes(optarg, &q.bytes, "--bytes", &e);
            sized = 1;
        } else if (c == 'n') {
            rc = parse_number(optarg, "--nodes", &q.nodes, &e);
        } else if (c == 'r') {
            rc = parse_number(optarg, "--ranks", &q.ranks, &e);
        } else if (c == 'd') {
            other = optarg;
        } else if (c == 'j') {
            json = 1;
        } else {
            return c == 'h' ? help() : cli_usage(COMMAND, NULL);
        }
    }
    if (rc)
        return cli_fail(COMMAND, &e);
    if (optind == argc)
        return cli_usage(COMMAND, "the PROFILE directory is missing");
    if (optind + 1 < argc)
        q.variable = argv[optind + 1];
    if (optind + 2 < argc)
        return cli_usage(COMMAND, "'%s' is one word too many", argv[optind + 2]);
    if ((q.coll >= 0) != sized || (q.variable && sized))
        return cli_usage(COMMAND, "expected either a VARIABLE, or both --coll and --bytes, or neither");
    if ((q.nodes || q.ranks) && !sized)
        return cli_usage(COMMAND, "--nodes and --ranks go with --coll and --bytes");
    if (other && (sized || q.variable))
        return cli_usage(COMMAND, "--diff stands alone");
    rc = other ? compare(argv[optind], other, json, &e) : answer(argv[optind], &q, json, &e);
    return rc ? cli_fail(COMMAND, &e) : 0;
}
