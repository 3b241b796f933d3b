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
    "DIR has the files of NCCLTUNE_CAPTURE=DIR, JOB.rank.N.json, of any number of jobs.\n",
    "Examples\n"
    "  nccltune drift /shared/capture\n"
    "  nccltune drift --json /shared/capture/2026-11-* | jq '.waited_for[0]'\n"
    "\n"
    "Exit status: 0 nothing was found, 1 something was, or a directory cannot be read or has no capture,\n"
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

static int find_drift(void *request, char **dirs, struct arena *a, struct err *e)
{
    const struct request *r = request;
    struct file_out out;
    size_t ndirs = 0;
    while (dirs[ndirs])
        ndirs++;
    if (!ndirs)
        return err_set(e, ERR_USAGE, "expected a directory with captures");
    struct drift_fleet *f = drift_read((const char *const *)dirs, ndirs, a, e);
    int rc = f ? 0 : ERR_FAILED;
    if (f) {
        file_out_begin(&out);
        if (r->json)
            json_print(drift_json(f), out.stream);
        else
            drift_print(f, out.stream);
        rc = file_out_commit(&out, r->output, e);
    }
    int found = !rc && (f->ncauses || f->ncalls);
    drift_free(f);
    return found ? ERR_FAILED : rc;
}

int drift_main(int argc, char **argv)
{
    struct request r = {0};
    struct option_group groups[] = {{NULL, options, &r}, {0}};
    return cli_run(&page, groups, argc, argv, find_drift, &r);
}
