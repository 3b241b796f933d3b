/* nccltune results: measurements of this program and of others, read, put together, and written for other programs. */
#include <unistd.h>

#include "bench/import/import.h"
#include "bench/results/points.h"
#include "bench/results/results.h"
#include "cli/arguments.h"
#include "cli/cli.h"
#include "core/file.h"
#include "core/json.h"

#define COMMAND "nccltune results"

static const struct cli_page page = {
    COMMAND,
    "nccltune results [--format F] [--nodes N --ranks N] [-o FILE] FILE|PROFILE...\n"
    "Read measurements and print them, as one table or for other programs (bench measures; this imports and\n"
    "exports). FILEs are nccltune's journals, and output of nccl-tests and rccl-tests (text, -J JSON, CSV), with\n"
    "NCCL's log and launchers' prefixes between the lines. Settings come from the command lines of runs and from\n"
    "NCCL's log: those that all runs share are the site's own, the others are candidates.\n",
    "Examples\n"
    "  nccltune results default.log ring.log tree.log\n"
    "  nccltune results *.log --format journal -o results.jsonl\n"
    "  nccltune generate -t topology.json --results results.jsonl -o profile\n"
    "  nccltune results profile --format csv\n"
    "\n"
    "Other programs print means: a run counts as one sample, so run candidates and baseline several times.\n"
    "\n"
    "Exit status: 0 done, 1 a file cannot be read or has no measurement, 2 wrong usage.\n",
    -1};

static void print_points(const struct bench_results *r, FILE *out)
{
    bench_points_print(bench_points_of(r, r->arena), NULL, NULL, out);
}

static void print_points_json(const struct bench_results *r, FILE *out)
{
    json_print(bench_points_json(bench_points_of(r, r->arena)), out);
}

static const struct {
    const char *word;
    void (*print)(const struct bench_results *r, FILE *out);
} formats[] = {
    {"table", print_points},
    {"journal", bench_export_journal},
    {"csv", bench_export_csv},
    {"json", print_points_json},
    {0},
};

static const char *format_word(int i)
{
    return formats[i].word;
}

struct request {
    struct import_given given;
    const char *out;
    int format, json, quiet; /* format: of those above */
};

#define AT(member) offsetof(struct request, member)
static const struct option_spec options[] = {
    {'F', "format", "F", "how to print:", option_which, AT(format), .word = format_word},
    {'o', "output", "FILE", "output file (default: standard output)", option_text, AT(out)},
    {'n', "nodes", "N", "number of nodes, for files that do not name them, or not all", option_int, AT(given.nodes),
     .low = 1, .high = 1 << 20},
    {0, "ranks", "N", "number of ranks, likewise", option_int, AT(given.ranks), .low = 1, .high = 1 << 20},
    {'c', "collective", "C", "the collective, for files without it:", cli_take_collective, AT(given.coll),
     .word = cli_collective_word},
    {0, "nccl", "VERSION", "NCCL's release, for files without it, such as 2.28.9", cli_take_release, AT(given.nccl)},
    {'j', "json", NULL, "the same as --format json", option_flag, AT(json)},
    {'q', "quiet", NULL, "print no warnings", option_flag, AT(quiet)},
    {0},
};

/* Of a profile its journal is meant. */
static int print_results(void *request, char **words, struct arena *a, struct err *e)
{
    const struct request *r = request;
    struct log log = cli_log(COMMAND, r->quiet);
    struct file_out out;
    const char **paths = NULL;
    int n = 0;
    for (; words[n]; n++) {
        const char *journal = arena_printf(a, "%s/results.jsonl", words[n]);
        paths = arena_grow(a, paths, (size_t)n, sizeof *paths);
        paths[n] = access(journal, F_OK) ? words[n] : journal;
    }
    if (!n)
        return err_set(e, ERR_USAGE, "say which files");
    if (r->json && r->format && formats[r->format].print != print_points_json)
        return err_set(e, ERR_USAGE, "--json and --format are mutually exclusive");
    struct bench_results *all = import_load(paths, n, &r->given, &log, e);
    if (!all)
        return e->code;
    file_out_begin(&out);
    (r->json ? print_points_json : formats[r->format].print)(all, out.stream);
    bench_results_free(all);
    return file_out_commit(&out, r->out, e);
}

int results_main(int argc, char **argv)
{
    struct request r = {.given = {.coll = -1}, .out = "-"};
    struct option_group groups[] = {{NULL, options, &r, NULL}, {0}};
    return cli_run(&page, groups, argc, argv, print_results, &r);
}
