/* nccltune generate: turn measurements into a profile. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "core/file.h"
#include "envgen/decisions.h"
#include "envgen/explain.h"
#include "envgen/generate.h"

#define COMMAND "generate"

static int help(void)
{
    puts("Usage: nccltune generate --topology FILE [--results FILE]... [OPTION]... -o PROFILE\n"
         "Decide from measurements what is worth setting, and write it with its evidence into the directory PROFILE.\n"
         "\n"
         "  -t, --topology FILE   topology.json, from 'nccltune probe'\n"
         "  -r, --results FILE    results.jsonl, from 'nccltune bench'; several are taken together. Without any, only\n"
         "                        what the topology alone justifies is written\n"
         "  -m, --margin PERCENT  write a setting only where its gain is this much beyond doubt (default 3%)\n"
         "  -f, --force           replace a complete profile\n"
         "  -o, --output PROFILE  the directory to write\n"
         "  -j, --json            print the decisions as JSON\n"
         "  -q, --quiet           print warnings only\n"
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
    }
    env_profile_free(p);
    return rc;
}

int generate_main(int argc, char **argv)
{
    static const struct option options[] = {
        {"topology", required_argument, NULL, 't'},
        {"results", required_argument, NULL, 'r'},
        {"margin", required_argument, NULL, 'm'},
        {"force", no_argument, NULL, 'f'},
        {"output", required_argument, NULL, 'o'},
        {"json", no_argument, NULL, 'j'},
        {"quiet", no_argument, NULL, 'q'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    struct env_generate g = {.margin = ENV_MARGIN};
    const char **results = calloc((size_t)argc, sizeof *results);
    struct err e = {0};
    struct log log = cli_log(COMMAND, 0);
    int json = 0, quiet = 0, c, rc = -1;
    if (!results)
        return ERR_FAILED;
    while (rc < 0 && (c = getopt_long(argc, argv, "t:r:m:fo:jqh", options, NULL)) != -1) {
        if (c == 't')
            g.topology = optarg;
        else if (c == 'r')
            results[g.nresults++] = optarg;
        else if (c == 'm')
            rc = env_parse_margin(optarg, &g.margin, &e) ? cli_usage(COMMAND, "%s", e.text) : -1;
        else if (c == 'f')
            g.force = 1;
        else if (c == 'o')
            g.out = optarg;
        else if (c == 'j')
            json = 1;
        else if (c == 'q')
            quiet = 1;
        else
            rc = c == 'h' ? help() : cli_usage(COMMAND, NULL);
    }
    if (rc < 0 && optind < argc)
        rc = cli_usage(COMMAND, "'%s' is one word too many: results are named with --results", argv[optind]);
    if (rc < 0 && (!g.topology || !g.out))
        rc = cli_usage(COMMAND, "%s is missing", g.topology ? "-o PROFILE" : "--topology FILE");
    if (rc < 0) {
        g.results = results;
        rc = env_generate(&g, &log, &e);
        if (!rc)
            rc = report(g.out, json, quiet, &e);
        if (rc)
            cli_fail(COMMAND, &e);
    }
    free(results);
    return rc;
}
