/* nccltune generate: turn measurements into a profile. */
#include <stdio.h>
#include <string.h>

#include "advise/whatif/step.h"
#include "bench/import/import.h"
#include "cli/arguments.h"
#include "cli/cli.h"
#include "core/json.h"
#include "core/vars/text.h"
#include "envgen/explain/explain.h"
#include "envgen/generate/generate.h"
#include "envgen/install/install.h"
#include "envgen/profile/decisions.h"

#define COMMAND "nccltune generate"

static const struct cli_page page = {
    COMMAND,
    "nccltune generate --topology FILE [--results FILE...] [OPTION]... -o PROFILE\n"
    "Decide from measurements what is worth setting, and write it with its evidence into the directory PROFILE.\n",
    "Examples\n"
    "  nccltune generate -t topology.json --results results.jsonl -o profile\n"
    "  nccltune generate -t topology.json --nccl 2.28.9 --results *.log -o profile\n"
    "  nccltune explain profile\n"
    "\n"
    "Exit status: 0 done, 1 bad input or the profile cannot be written, 2 wrong usage.\n",
    -1};

struct request {
    struct env_generate generate;
    struct option_list results;
    struct cli_releases releases;
    int json, quiet;
    const char *typed; /* the command as it was typed */
};

#define AT(member) offsetof(struct request, member)
static const struct option_spec options[] = {
    {'t', "topology", "FILE", "topology.json, from nccltune probe", option_text, AT(generate.topology)},
    {0, "results", "FILE",
     "results.jsonl of nccltune bench, or logs of nccl-tests (see nccltune results): one or several. Without any, the "
     "profile has only what the topology justifies",
     option_append, AT(results)},
    {0, "fabric", "FILE",
     "fabric.json, from nccltune bench --engine verbs: which RDMA ports and network interfaces lead where", option_text,
     AT(generate.fabric)},
    {'w', "workload", "FILE", "choose the launch by this job's calls (see nccltune-workload(1))", option_text,
     AT(generate.workload)},
    {'m', "margin", "PERCENT", "write a setting only if the interval of its gain clears this (default: 3%)",
     option_percent, AT(generate.margin), .high = 1000},
    {0, "confidence", "PERCENT", "confidence of intervals (default: 95%)", option_percent, AT(generate.confidence),
     .low = 50, .high = 99.999},
    {0, "nccl", "RANGE",
     "write for these releases: 2.28.9, 2.28 or 2.19-2.28 (default: those measured, or found on the nodes)",
     cli_take_releases, AT(releases)},
    {'o', "output", "PROFILE", "the directory to write", option_text, AT(generate.out)},
    {'f', "force", NULL, "replace a complete profile; accept results of another topology, with a warning", option_flag,
     AT(generate.force)},
    {0, "predicted", NULL,
     "also set predictions, of kinds that held-out measurements have proven; by default they are comments", option_flag,
     AT(generate.predicted)},
    {'j', "json", NULL, "print the decisions as JSON", option_flag, AT(json)},
    {'q', "quiet", NULL, "print warnings only", option_flag, AT(quiet)},
    {0},
};

/* What logs of other programs lack: a word of NCCL's release, runs of anything but the baseline. */
struct lacks {
    int release, candidates;
};

static struct lacks find_lacks(const struct option_list *files, struct arena *a)
{
    const struct import_given given = {.coll = -1};
    const char **logs = arena_alloc(a, (size_t)(files->count + 1) * sizeof *logs);
    struct err ignored;
    int n = 0;
    for (int i = 0; i < files->count; i++)
        if (!import_is_journal(files->items[i]))
            logs[n++] = files->items[i];
    struct bench_results *all = n ? import_load(logs, n, &given, NULL, &ignored) : NULL;
    struct lacks lacks = {all && all->count && !strchr(all->items[0].library, ' '), n && n == files->count};
    for (int i = 0; all && i < all->count; i++)
        if (strcmp(all->items[i].launch.label, BENCH_DEFAULT) != 0 ||
            strcmp(all->items[i].call.label, BENCH_DEFAULT) != 0)
            lacks.candidates = 0;
    bench_results_free(all);
    return lacks;
}

/* Ask for all that is missing at once, with the command that has it. */
static int ask_for_missing(const struct request *r, int release)
{
    const struct env_generate *g = &r->generate;
    fprintf(stderr, COMMAND ": missing: %s%s%s%s%s. Complete%s:\n", g->topology ? "" : "--topology FILE",
            !g->topology && release ? "; " : "",
            release ? "--nccl VERSION, the measured release, which no log names" : "",
            (!g->topology || release) && !g->out ? "; " : "", g->out ? "" : "-o PROFILE",
            release ? ", where that is 2.28.9" : "");
    if (!g->topology)
        fputs("  nccltune probe -o topology.json    # on a node that ran the tests; elsewhere with --machine NAME\n",
              stderr);
    fprintf(stderr, "  %s%s%s%s\nTry '" COMMAND " --help'.\n", r->typed, g->topology ? "" : " -t topology.json",
            release ? " --nccl 2.28.9" : "", g->out ? "" : " -o profile");
    return ERR_USAGE;
}

static int generate_profile(void *request, char **words, struct arena *a, struct err *e)
{
    struct request *r = request;
    struct log log = cli_log(COMMAND, 0);
    struct env_generate *g = &r->generate;
    struct env_generated made;
    for (; *words; words++) { /* what a shell has made of --results *.log */
        ARENA_ADD(a, r->results.items, r->results.count) = *words;
    }
    for (int i = 0; i < r->results.count; i++)
        if (!strcmp(r->results.items[i], "-"))
            return err_set(e, ERR_USAGE, "--results takes files, not standard input: they are read more than once");
    const struct lacks lacks = find_lacks(&r->results, a);
    const int release = lacks.release && !r->releases.low;
    if (!g->topology || !g->out || release)
        return ask_for_missing(r, release);
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
        if (lacks.candidates)
            puts("\nNothing to compare: only the baseline was measured. Run the test 5 times with settings in front,\n"
                 "such as NCCL_ALGO=Ring NCCL_PROTO=LL, and 5 times without, in turn. Give all logs to --results.");
        printf("\nProfile: %s (%d files, hash %.16s)\n", p->dir, p->manifest.nfiles + 1, p->manifest.hash);
        if (g->workload)
            rc = env_step_cover_job(p, g->workload, stdout, e);
    }
    env_generated_free(&made);
    return rc;
}

int generate_main(int argc, char **argv)
{
    struct arena *a = arena_new();
    struct request r = {.generate = {.margin = ENV_MARGIN, .site_conf = INSTALL_NCCL_CONF}, .typed = COMMAND};
    struct option_group groups[] = {{NULL, options, &r}, {0}};
    for (int i = 1; i < argc; i++)
        r.typed = arena_printf(a, "%s %s", r.typed, env_shell_word(a, argv[i]));
    int rc = cli_run(&page, groups, argc, argv, generate_profile, &r);
    arena_free(a);
    return rc;
}
