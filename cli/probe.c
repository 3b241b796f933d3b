/* nccltune probe: say what is in this machine, or in a recorded one, and how it is connected. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "core/file.h"
#include "core/progress.h"
#include "probe/probe.h"

#define COMMAND    "probe"
#define MOST_FILES 4096

static int help(void)
{
    fputs("Usage: nccltune probe [OPTION]...\n"
          "Say what is in this machine, or in a recorded one, and how it is connected.\n"
          "\n"
          "  -f, --from FILE     a recorded machine instead of this one: a topology file of NCCL or RCCL\n"
          "                      (NCCL_TOPO_DUMP_FILE, NCCL_TOPO_FILE), an hwloc XML file (lstopo FILE.xml) or a\n"
          "                      topology.json; \"-\" is standard input; may be given several times, one host each\n"
          "  -F, --format FORMAT what to write:\n",
          stdout);
    for (const struct probe_format *const *f = probe_formats; *f; f++)
        printf("                        %-6s %s\n", (*f)->name, (*f)->description);
    fputs("                      default: json when FILE of -o ends in .json, else text\n"
          "      --json          the same as --format json\n"
          "  -o, --output FILE   write there instead of standard output, atomically\n"
          "      --timings       also print how long each source took, on standard error\n"
          "  -h, --help          this text\n"
          "\n"
          "Examples:\n"
          "  nccltune probe                          devices and the matrix of nvidia-smi topo -m\n"
          "  nccltune probe -o topology.json         the same for the other commands\n"
          "  NCCL_TOPO_DUMP_FILE=node.xml ./my_job   let NCCL record a machine, then\n"
          "  nccltune probe --from node.xml          look at it anywhere\n"
          "\n"
          "What could not be read is listed under \"Notes\", and shown as \"?\" in the matrix.\n"
          "Exit status: 0 done, 1 a file cannot be read or written, 2 wrong usage.\n",
          stdout);
    return 0;
}

static int ends_with(const char *s, const char *end)
{
    size_t n = strlen(s), m = strlen(end);
    return n >= m && !strcmp(s + n - m, end);
}

static void print_timings(const struct probe_timing *timings, int n, double total_ms)
{
    for (int i = 0; i < n; i++)
        fprintf(stderr, "%-8s %9.3f ms\n", timings[i].source, timings[i].ms);
    fprintf(stderr, "%-8s %9.3f ms\n", "all", total_ms);
}

static int write_topology(const struct topology *t, const struct probe_format *format, const char *path, struct err *e)
{
    struct file_out out;
    int rc = file_out_begin(&out, e);
    if (rc)
        return rc;
    rc = format->write(t, out.stream, e);
    if (rc) {
        file_out_abandon(&out);
        return rc;
    }
    return file_out_commit(&out, path, e);
}

int probe_main(int argc, char **argv)
{
    enum { OPTION_JSON = 256, OPTION_TIMINGS };
    static const struct option options[] = {
        {"from", required_argument, NULL, 'f'},
        {"format", required_argument, NULL, 'F'},
        {"json", no_argument, NULL, OPTION_JSON},
        {"output", required_argument, NULL, 'o'},
        {"help", no_argument, NULL, 'h'},
        {"timings", no_argument, NULL, OPTION_TIMINGS},
        {NULL, 0, NULL, 0},
    };
    const char *files[MOST_FILES], *format_name = NULL, *output = NULL;
    int nfiles = 0, timings = 0, option;
    optind = 1;
    while ((option = getopt_long(argc, argv, "f:F:o:h", options, NULL)) != -1) {
        switch (option) {
        case 'f':
            if (nfiles == MOST_FILES)
                return cli_usage(COMMAND, "--from: at most %d files", MOST_FILES);
            files[nfiles++] = optarg;
            break;
        case 'F':
            format_name = optarg;
            break;
        case OPTION_JSON:
            format_name = "json";
            break;
        case 'o':
            output = optarg;
            break;
        case OPTION_TIMINGS:
            timings = 1;
            break;
        case 'h':
            return help();
        default:
            return cli_usage(COMMAND, NULL);
        }
    }
    if (optind < argc)
        return cli_usage(COMMAND, "'%s' is not an option; recorded machines are given with --from", argv[optind]);
    if (!format_name)
        format_name = output && ends_with(output, ".json") ? "json" : "text";
    const struct probe_format *format = probe_format_find(format_name);
    if (!format)
        return cli_usage(COMMAND, "'%s' is not a format", format_name);

    struct err e = {0};
    struct log log = cli_log("nccltune probe", !output);
    struct probe_timing took[PROBE_SOURCES];
    double before_s = progress_now_s();
    struct topology *t = nfiles ? probe_files(files, nfiles, &log, &e) : probe_machine_timed(&log, took, &e);
    if (!t)
        return cli_fail(COMMAND, &e);
    if (timings)
        print_timings(took, nfiles ? 0 : PROBE_SOURCES, (progress_now_s() - before_s) * 1e3);
    int rc = write_topology(t, format, output, &e);
    topo_free(t);
    return rc ? cli_fail(COMMAND, &e) : 0;
}
