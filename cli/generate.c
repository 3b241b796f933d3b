/* nccltune generate: turn measurements into a profile. */
#include <stdio.h>

#include "advise/whatif/step_profile.h"
#include "cli/arguments.h"
#include "cli/cli.h"
#include "core/json.h"
#include "envgen/explain/explain.h"
#include "envgen/generate/generate.h"
#include "envgen/install/install.h"
#include "envgen/profile/decisions.h"

#define COMMAND "nccltune generate"

static const struct cli_page page = {
    COMMAND,
    "nccltune generate --topology FILE [--results FILE]... [OPTION]... -o PROFILE\n"
    "Decide from measurements what is worth setting, and write it with its evidence into the directory PROFILE.\n",
    "Examples\n"
    "  nccltune generate -t topology.json --results results.jsonl -o profile\n"
    "  nccltune generate -t topology.json --results monday.jsonl --results friday.jsonl --margin 5% -o profile\n"
    "  nccltune explain profile\n"
    "\n"
    "Exit status: 0 done, 1 bad input or the profile cannot be written, 2 wrong usage.\n",
    0};

struct request {
    struct env_generate generate;
    struct option_list results;
    struct cli_releases releases;
    int json, quiet;
};

static const struct option_spec options[] = {
    {'t', "topology", "FILE", "topology.json, from nccltune probe", option_text,
     offsetof(struct request, generate.topology)},
    {0, "results", "FILE",
     "results.jsonl of nccltune bench, or a log of nccl-tests (see nccltune results); repeat for several. Without any, "
     "the profile has only what the topology justifies",
     option_append, offsetof(struct request, results)},
    {0, "fabric", "FILE",
     "fabric.json, from nccltune bench --engine verbs: which RDMA ports and network interfaces lead where", option_text,
     offsetof(struct request, generate.fabric)},
    {'w', "workload", "FILE", "choose the launch by this job's calls (see nccltune-workload(1))", option_text,
     offsetof(struct request, generate.workload)},
    {'m', "margin", "PERCENT", "write a setting only if the interval of its gain clears this (default: 3%)",
     option_percent, offsetof(struct request, generate.margin), .high = 1000},
    {0, "confidence", "PERCENT", "confidence of intervals (default: 95%)", option_percent,
     offsetof(struct request, generate.confidence), .low = 50, .high = 99.999},
    {0, "nccl", "RANGE",
     "write for these releases: 2.28.9, 2.28 or 2.19-2.28 (default: those measured, or found on the nodes)",
     cli_take_releases, offsetof(struct request, releases)},
    {'o', "output", "PROFILE", "the directory to write", option_text, offsetof(struct request, generate.out)},
    {'f', "force", NULL, "replace a complete profile; accept results of another topology, with a warning", option_flag,
     offsetof(struct request, generate.force)},
    {0, "predicted", NULL,
     "also set predictions, of kinds that held-out measurements have proven; by default they are comments", option_flag,
     offsetof(struct request, generate.predicted)},
    {'j', "json", NULL, "print the decisions as JSON", option_flag, offsetof(struct request, json)},
    {'q', "quiet", NULL, "print warnings only", option_flag, offsetof(struct request, quiet)},
    {0},
};

static int generate_profile(void *request, char **words, struct arena *a, struct err *e)
{
    struct request *r = request;
    struct log log = cli_log(COMMAND, 0);
    struct env_generate *g = &r->generate;
    struct env_generated made;
    (void)words, (void)a;
    if (!g->topology || !g->out)
        return err_set(e, ERR_USAGE, "%s",
                       g->topology
                           ? "-o PROFILE is missing"
                           : "--topology FILE is missing: nccltune probe -o FILE writes it, of a known machine with "
                             "--machine NAME");
    g->results = r->results.items;
    g->nresults = r->results.count;
    g->nccl_low = r->releases.low;
    g->nccl_high = r->releases.high;
    int rc = env_generate(g, &made, &log, e);
    const struct env_profile *p = &made.profile;
    if (!rc && r->json) {
        rc = json_save(env_decisions_json(p->decisions), "-", e);
    } else if (!rc && !r->quiet) {
        env_print_decisions(p->decisions, stdout);
        printf("\nProfile: %s (%d files, hash %.16s)\n", p->dir, p->manifest.nfiles + 1, p->manifest.hash);
        if (g->workload)
            rc = env_step_cover_job(p, g->workload, stdout, e);
    }
    env_generated_free(&made);
    return rc;
}

int generate_main(int argc, char **argv)
{
    struct request r = {.generate = {.margin = ENV_MARGIN, .site_conf = INSTALL_NCCL_CONF}};
    struct option_group groups[] = {{NULL, options, &r}, {0}};
    return cli_run(&page, groups, argc, argv, generate_profile, &r);
}
