/* nccltune drift: what the captures of many jobs say of a cluster. */

#include "advise/drift/drift.h"
#include "cli/cli.h"
#include "core/file.h"
#include "core/json.h"

#define COMMAND "nccltune drift"

static const struct cli_page page = {
    COMMAND,
    "nccltune drift [OPTION]... DIR...\n"
    "Find stragglers and regressions across jobs, from their captures.\n"
    "DIR holds what NCCLTUNE_CAPTURE=DIR has left: JOB.rank.N.json, of any number of jobs.\n",
    "Examples\n"
    "  nccltune drift /shared/capture\n"
    "  nccltune drift --json /shared/capture/2026-11-* | jq '.waited_for[0]'\n"
    "\n"
    "Exit status: 0 nothing was found, 1 something was, or a directory cannot be read or holds no capture,\n"
    "2 wrong usage.\n",
    -1};

struct request {
    const char *output;
    int json;
};

static const struct option_spec options[] = {
    {'o', "output", "FILE", "write the text or JSON there", option_text, offsetof(struct request, output)},
    {'j', "json", NULL, "print JSON", option_flag, offsetof(struct request, json)},
    {0},
};

static int write_text(const struct drift_fleet *f, const char *path, struct err *e)
{
    struct file_out out;
    int rc = file_out_begin(&out, e);
    if (rc)
        return rc;
    drift_print(f, out.stream);
    return file_out_commit(&out, path, e);
}

static int find_drift(const struct request *r, const char *const *dirs, size_t ndirs, struct arena *a, struct err *e)
{
    struct drift_fleet *f = drift_read(dirs, ndirs, a, e);
    int rc = !f ? -1 : r->json ? json_save(drift_json(f), r->output, e) : write_text(f, r->output, e);
    int found = !rc && (f->ncauses || f->ncalls);
    drift_free(f);
    return rc ? cli_fail(COMMAND, e) : found ? ERR_FAILED : 0;
}

int drift_main(int argc, char **argv)
{
    struct request r = {0};
    struct option_group groups[] = {{NULL, options, &r}, {0}};
    struct arena *a = arena_new();
    struct err e = {0};
    int first, rc = cli_parse(&page, groups, argc, argv, a, &first);
    if (rc < 0 && first == argc)
        rc = cli_usage(COMMAND, "expected a directory with captures");
    if (rc < 0)
        rc = find_drift(&r, (const char *const *)argv + first, (size_t)(argc - first), a, &e);
    arena_free(a);
    return rc;
}
