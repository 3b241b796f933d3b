/* nccltune diagnose: where a training step goes, from the logs that people have. */
#include <getopt.h>
#include <stdio.h>

#include "cli/cli.h"
#include "core/file.h"
#include "core/json.h"
#include "envgen/diagnose/diagnose.h"

static const char *const usage =
    "Usage: nccltune diagnose [OPTION]... FILE...\n"
    "Say where the steps of a training job go, whether communication is the problem, and what to do next.\n"
    "FILE is a log, a trace or GPU samples; - is standard input. Formats are told by content and may be mixed:\n"
    "verl console output, \"[Step N] rollout: 185ms | sync: 190ms\" lines, JSON lines of trackers, Megatron-LM and\n"
    "DeepSpeed timers, PyTorch profiler traces and key_averages() tables, nvidia-smi --query-gpu CSV.\n\n"
    "      --json        the diagnosis as JSON, with communication_share from 0 to 1\n"
    "      --svg FILE    the phases as stacked bars\n"
    "  -o FILE           write the text or JSON there\n\n"
    "  nccltune diagnose train.log gpus.csv\n"
    "  zcat rank0.pt.trace.json.gz | nccltune diagnose -\n";

enum { OPT_JSON = 1000, OPT_SVG };

static int write_text(const struct diag_result *r, const char *path, void (*print)(const struct diag_result *, FILE *),
                      struct err *e)
{
    struct file_out out;
    int rc = file_out_begin(&out, e);
    if (rc)
        return rc;
    print(r, out.stream);
    return file_out_commit(&out, path, e);
}

int diagnose_main(int argc, char **argv)
{
    static const struct option options[] = {{"json", no_argument, NULL, OPT_JSON},
                                            {"svg", required_argument, NULL, OPT_SVG},
                                            {"output", required_argument, NULL, 'o'},
                                            {"help", no_argument, NULL, 'h'},
                                            {0}};
    const char *svg = NULL, *output = NULL;
    int c, json = 0;
    while ((c = getopt_long(argc, argv, "o:h", options, NULL)) != -1)
        switch (c) {
        case OPT_JSON:
            json = 1;
            break;
        case OPT_SVG:
            svg = optarg;
            break;
        case 'o':
            output = optarg;
            break;
        case 'h':
            fputs(usage, stdout);
            return 0;
        default:
            return cli_usage("diagnose", NULL);
        }
    if (optind == argc)
        return cli_usage("diagnose", "expected a log to read");
    struct err e = {0};
    struct diagnosis *d = diagnose_new();
    int rc = 0;
    for (int i = optind; !rc && i < argc; i++)
        rc = diagnose_file(d, argv[i], &e);
    const struct diag_result *r = rc ? NULL : diagnose_finish(d);
    if (r && json) {
        cJSON *doc = diagnose_json(r);
        rc = json_save(doc, output, &e);
        cJSON_Delete(doc);
    } else if (r) {
        rc = write_text(r, output, diagnose_text, &e);
    }
    if (!rc && svg)
        rc = write_text(r, svg, diagnose_svg, &e);
    diagnose_free(d);
    return rc ? cli_fail("diagnose", &e) : 0;
}
