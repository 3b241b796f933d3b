/* nccltune generate: turn measurements into a profile. */
#include <getopt.h>
#include <stdio.h>

#include "cli/cli.h"
#include "cli/writing.h"
#include "core/file.h"
#include "core/vars/catalogue.h"
#include "envgen/explain/explain.h"
#include "envgen/generate/generate.h"
#include "envgen/profile/decisions.h"

#define COMMAND "generate"

static int help(void)
{
    puts("Usage: nccltune generate --topology FILE [--results FILE]... [OPTION]... -o PROFILE\n"
         "Decide from measurements what is worth setting, and write it with its evidence into the directory PROFILE.\n"
         "\n"
         "  -t, --topology FILE       topology.json, from 'nccltune probe'\n"
         "  -r, --results FILE        results.jsonl, from 'nccltune bench'; several are taken together. Without any,\n"
         "                            only what the topology alone justifies is written\n"
         "      --fabric FILE         fabric.json, from 'nccltune bench --engine verbs': which RDMA ports and network\n"
         "                            interfaces lead where\n"
         "  -w, --workload FILE       the launch is chosen by what this job calls (see nccltune-workload(1))\n"
         "  -m, --margin PERCENT      write a setting only where its gain is this much beyond doubt (default 3%)\n"
         "      --nccl RANGE          write for these releases: 2.28.9, 2.28 or 2.19-2.28 (default: those that were\n"
         "                            measured or found on the nodes)\n" CLI_WRITING_HELP
         "  -f, --force               replace a complete profile; take results of another topology, with a warning\n"
         "  -o, --output PROFILE      the directory to write\n"
         "  -j, --json                print the decisions as JSON\n"
         "  -q, --quiet               print warnings only\n"
         "\n"
         "Examples:\n"
         "  nccltune generate -t topology.json -r results.jsonl -o profile\n"
         "  nccltune generate -t topology.json -r monday.jsonl -r friday.jsonl --margin 5% -o profile\n"
         "  nccltune explain profile\n"
         "\n"
         "Exit status: 0 done, 1 bad input or the profile cannot be written, 2 wrong usage.");
    return 0;
}

/* What was written, read back. */
static int report(const char *dir, int json, int quiet, struct err *e)
{
    struct env_profile *p = env_profile_open(dir, e);
    if (!p)
        return e->code;
    int rc = 0;
    if (json) {
        cJSON *doc = env_decisions_json(p->decisions);
        rc = json_save(doc, "-", e);
        cJSON_Delete(doc);
    } else if (!quiet) {
        env_print_decisions(p->decisions, stdout);
        printf("\nProfile: %s (%d files, hash %.16s)\n", p->dir, p->manifest.nfiles + 1, p->manifest.hash);
        if (fflush(stdout))
            rc = err_errno(e, "standard output cannot be written");
    }
    env_profile_free(p);
    return rc;
}

enum { OPT_NCCL = 256, OPT_FABRIC };

static const struct option long_options[] = {
    {"topology", required_argument, NULL, 't'},
    {"results", required_argument, NULL, 'r'},
    {"fabric", required_argument, NULL, OPT_FABRIC},
    {"workload", required_argument, NULL, 'w'},
    {"margin", required_argument, NULL, 'm'},
    {"nccl", required_argument, NULL, OPT_NCCL},
    {"format", required_argument, NULL, 'F'},
    {"predicted", no_argument, NULL, CLI_OPT_PREDICTED},
    {"extrapolate", optional_argument, NULL, CLI_OPT_EXTRAPOLATE},
    {"force", no_argument, NULL, 'f'},
    {"output", required_argument, NULL, 'o'},
    {"json", no_argument, NULL, 'j'},
    {"quiet", no_argument, NULL, 'q'},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

struct args {
    struct arena *arena;
    struct env_generate generate;
    const char **results; /* room for argc */
    int json, quiet;
};

/* One option; the error says what was expected. */
static int take(struct args *a, int c, struct err *e)
{
    struct env_generate *g = &a->generate;
    switch (c) {
    case 't':
        g->topology = optarg;
        return 0;
    case 'r':
        a->results[g->nresults++] = optarg;
        return 0;
    case 'w':
        g->workload = optarg;
        return 0;
    case 'm':
        return env_parse_margin(optarg, &g->margin, e);
    case OPT_FABRIC:
        g->fabric = optarg;
        return 0;
    case OPT_NCCL:
        return env_version_parse(optarg, &g->nccl_low, &g->nccl_high)
                   ? err_set(e, ERR_USAGE, "--nccl: '%s' is no version such as 2.28.9, 2.28 or 2.19-2.28", optarg)
                   : 0;
    case 'F':
        return cli_writing_take(CLI_OPT_FORMAT, optarg, g, a->arena, e);
    case CLI_OPT_PREDICTED:
    case CLI_OPT_EXTRAPOLATE:
        return cli_writing_take(c, optarg, g, a->arena, e);
    case 'f':
        g->force = 1;
        return 0;
    case 'o':
        g->out = optarg;
        return 0;
    case 'j':
        a->json = 1;
        return 0;
    default:
        a->quiet = 1;
        return 0;
    }
}

static int run(struct args *a)
{
    struct err e = {0};
    struct log log = cli_log(COMMAND, 0);
    a->generate.results = a->results;
    int rc = env_generate(&a->generate, &log, &e);
    if (!rc)
        rc = report(a->generate.out, a->json, a->quiet, &e);
    return rc ? cli_fail(COMMAND, &e) : 0;
}

int generate_main(int argc, char **argv)
{
    struct arena *arena = arena_new();
    struct args a = {.arena = arena, .generate = {.margin = ENV_MARGIN}};
    struct err e = {0};
    int c, rc = -1;
    a.results = arena_alloc(arena, (size_t)argc * sizeof *a.results);
    while (rc < 0 && (c = getopt_long(argc, argv, "t:r:w:m:F:fo:jqh", long_options, NULL)) != -1) {
        if (c == 'h')
            rc = help();
        else if (c == '?')
            rc = cli_usage(COMMAND, NULL);
        else if (take(&a, c, &e))
            rc = cli_usage(COMMAND, "%s", e.text);
    }
    if (rc < 0 && optind < argc)
        rc = cli_usage(COMMAND, "'%s' is one word too many: results are named with --results", argv[optind]);
    if (rc < 0 && (!a.generate.topology || !a.generate.out))
        rc = cli_usage(COMMAND, "%s is missing", a.generate.topology ? "-o PROFILE" : "--topology FILE");
    if (rc < 0)
        rc = run(&a);
    arena_free(arena);
    return rc;
}
