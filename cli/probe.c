/* nccltune probe: say what is in this machine, in a cluster or in recorded ones, and how it is connected. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "core/file.h"
#include "core/hostlist.h"
#include "core/progress.h"
#include "core/units.h"
#include "probe/cluster/cluster.h"
#include "probe/findings/findings.h"
#include "probe/format/format.h"
#include "probe/import/import.h"
#include "probe/machines/hardware.h"
#include "probe/machines/machines.h"
#include "probe/source/probe.h"
#include "probe/topology/classes.h"

#define COMMAND    "probe"
#define MOST_FILES 4096

struct probe_options {
    const char *files[MOST_FILES];
    int nfiles;
    int merge;
    const char *sysroot, *hosts, *hostfile, *gather, *fabric;
    const char *machine, *gpu;
    int nodes; /* of that machine; 0: not given */
    int list_machines, list_gpus;
    const char *agent, *command;
    double deadline_s;
    const char *format, *output;
    int timings, strict;
};

static int help(void)
{
    fputs("Usage: nccltune probe [OPTION]...\n"
          "Say what is in this machine, in a cluster or in recorded ones, and how it is connected.\n"
          "\n"
          "What to look at (default: this machine):\n"
          "  -f, --from FILE     a recorded machine: a topology file of NCCL or RCCL (NCCL_TOPO_DUMP_FILE,\n"
          "                      NCCL_TOPO_FILE), an hwloc XML file (lstopo FILE.xml), a topology.json, or what\n"
          "                      nvidia-smi topo -m printed; \"-\" is standard input; several are several hosts\n"
          "      --merge         the files describe one node; what the first says stands, the others fill in\n"
          "      --sysroot DIR   a machine whose /sys and /proc were copied below DIR\n"
          "  -H, --hosts LIST    nodes of a cluster: node1,node2 or node[01-16]; each probes itself\n"
          "      --hostfile FILE the same, one in a line\n"
          "      --gather DIR    inside mpirun or srun: all nodes of the job, through DIR on a shared file system\n"
          "      --machine NAME  a machine that need not be had, from its description (--list-machines)\n"
          "      --nodes N       that many of it (1)\n"
          "      --gpu NAME      what the GPUs of --from or --sysroot are (--list-gpus): completes files that tell\n"
          "                      neither model nor NVLink\n"
          "      --fabric FILE   also tell which switch every HCA hangs on, from what ibnetdiscover printed\n"
          "\n"
          "How to reach nodes:\n"
          "      --ssh COMMAND   called as COMMAND HOST PROGRAM... (ssh -o BatchMode=yes -o ConnectTimeout=10);\n"
          "                      for example 'srun -N1 -n1 --overlap -w'\n"
          "      --remote COMMAND  what to run there (this program with probe --json)\n"
          "      --deadline TIME   for each node (30s); a node that does not answer in time is listed as missing\n"
          "\n"
          "What to write:\n"
          "  -F, --format FORMAT\n",
          stdout);
    for (const struct probe_format *const *f = probe_formats; *f; f++)
        printf("                        %-9s %s\n", (*f)->name, (*f)->description);
    fputs("                      default: json when FILE of -o ends in .json, else text\n"
          "      --json          the same as --format json\n"
          "  -o, --output FILE   write there instead of standard output, atomically\n"
          "      --list-machines, --list-gpus\n"
          "                      what can be given to --machine and --gpu, and the source of each; with --json too\n"
          "      --strict        exit with 1 when a finding is an error (man nccltune-findings)\n"
          "      --timings       also print how long each source took, on standard error\n"
          "  -h, --help          this text\n"
          "\n"
          "Examples:\n"
          "  nccltune probe                          devices, matrix, roles of the ports, findings\n"
          "  nccltune probe -o topology.json         the same for the other commands\n"
          "  nccltune probe -H node[1-4] -o topology.json\n"
          "  nccltune probe --from ndv5.xml --gpu h100-sxm --format svg -o ndv5.svg\n"
          "  nccltune probe --machine dgx-h100 --nodes 32 -o cluster.json\n"
          "\n"
          "What could not be read is listed under \"Notes\", and shown as \"?\" in the matrix.\n"
          "Exit status: 0 done, 1 a file cannot be read or written or, with --strict, an error was found, 2 wrong\n"
          "usage, 3 the machine lacks what was asked for.\n",
          stdout);
    return 0;
}

static int ends_with(const char *s, const char *end)
{
    size_t n = strlen(s), m = strlen(end);
    return n >= m && !strcmp(s + n - m, end);
}

static void print_timings(const struct probe_timings *took, double total_ms)
{
    for (int i = 0; i < took->n; i++)
        fprintf(stderr, "%-8s %9.3f ms\n", took->list[i].source, took->list[i].ms);
    fprintf(stderr, "%-8s %9.3f ms\n", "all", total_ms);
}

static int write_list(const struct probe_options *o, struct err *e)
{
    struct file_out out;
    int json = !strcmp(o->format, "json"), rc = file_out_begin(&out, e);
    if (rc)
        return rc;
    if (json)
        rc = o->list_gpus ? hw_gpu_list_json(out.stream, e) : machine_list_json(out.stream, e);
    else if (o->list_gpus)
        hw_gpu_list(out.stream);
    else
        machine_list(out.stream);
    return file_out_end(&out, o->output, rc, e);
}

static int write_topology(const struct topology *t, const struct probe_format *format, const char *path, struct err *e)
{
    struct file_out out;
    int rc = file_out_begin(&out, e);
    if (rc)
        return rc;
    return file_out_end(&out, path, format->write(t, out.stream, e), e);
}

/* Options that exclude or need one another. */
static int check_together(const struct probe_options *o)
{
    const int lists = o->list_machines + o->list_gpus;
    const int looked_at = (o->nfiles > 0) + (o->sysroot != NULL) + (o->hosts != NULL) + (o->hostfile != NULL) +
                          (o->gather != NULL) + (o->machine != NULL);
    if (looked_at + lists > 1)
        return cli_usage(COMMAND, "%s%s exclude one another", lists ? "--list-machines, --list-gpus, " : "",
                         "--from, --sysroot, --hosts, --hostfile, --gather and --machine");
    if (lists && o->format && strcmp(o->format, "json") != 0 && strcmp(o->format, "text") != 0)
        return cli_usage(COMMAND, "lists are text or JSON, not %s", o->format);
    if (o->merge && !o->nfiles)
        return cli_usage(COMMAND, "--merge needs --from");
    if (o->nodes && !o->machine)
        return cli_usage(COMMAND, "--nodes needs --machine");
    if (o->gpu && !o->nfiles && !o->sysroot)
        return cli_usage(COMMAND, "--gpu completes what --from or --sysroot leaves out");
    return 0;
}

/* Words, then flags, then what is read. */
enum {
    OPTION_SYSROOT = 256,
    OPTION_HOSTFILE,
    OPTION_GATHER,
    OPTION_FABRIC,
    OPTION_MACHINE,
    OPTION_GPU,
    OPTION_SSH,
    OPTION_REMOTE,
    OPTION_MERGE,
    OPTION_LIST_MACHINES,
    OPTION_LIST_GPUS,
    OPTION_STRICT,
    OPTION_TIMINGS,
    OPTION_JSON,
    OPTION_NODES,
    OPTION_DEADLINE,
};

static const struct option long_options[] = {
    {"from", required_argument, NULL, 'f'},
    {"merge", no_argument, NULL, OPTION_MERGE},
    {"sysroot", required_argument, NULL, OPTION_SYSROOT},
    {"hosts", required_argument, NULL, 'H'},
    {"hostfile", required_argument, NULL, OPTION_HOSTFILE},
    {"gather", required_argument, NULL, OPTION_GATHER},
    {"fabric", required_argument, NULL, OPTION_FABRIC},
    {"machine", required_argument, NULL, OPTION_MACHINE},
    {"nodes", required_argument, NULL, OPTION_NODES},
    {"gpu", required_argument, NULL, OPTION_GPU},
    {"list-machines", no_argument, NULL, OPTION_LIST_MACHINES},
    {"list-gpus", no_argument, NULL, OPTION_LIST_GPUS},
    {"ssh", required_argument, NULL, OPTION_SSH},
    {"remote", required_argument, NULL, OPTION_REMOTE},
    {"deadline", required_argument, NULL, OPTION_DEADLINE},
    {"format", required_argument, NULL, 'F'},
    {"json", no_argument, NULL, OPTION_JSON},
    {"output", required_argument, NULL, 'o'},
    {"strict", no_argument, NULL, OPTION_STRICT},
    {"timings", no_argument, NULL, OPTION_TIMINGS},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

static int take_file(const char *file, struct probe_options *o, struct err *e)
{
    if (o->nfiles == MOST_FILES)
        return err_set(e, ERR_USAGE, "--from: at most %d files", MOST_FILES);
    o->files[o->nfiles++] = file;
    return 0;
}

static int take_nodes(const char *text, struct probe_options *o, struct err *e)
{
    long nodes = 0;
    int rc = unit_parse_int(text, 1, MACHINE_MOST, &nodes, "--nodes", e);
    o->nodes = (int)nodes;
    return rc;
}

static int take(int option, const char *arg, struct probe_options *o, struct err *e)
{
    const char **const words[] = {&o->sysroot, &o->hostfile, &o->gather, &o->fabric,
                                  &o->machine, &o->gpu,      &o->agent,  &o->command};
    int *const flags[] = {&o->merge, &o->list_machines, &o->list_gpus, &o->strict, &o->timings};
    if (option >= OPTION_SYSROOT && option <= OPTION_REMOTE)
        *words[option - OPTION_SYSROOT] = arg;
    else if (option >= OPTION_MERGE && option <= OPTION_TIMINGS)
        *flags[option - OPTION_MERGE] = 1;
    else if (option == 'H')
        o->hosts = arg;
    else if (option == 'o')
        o->output = arg;
    else if (option == 'F' || option == OPTION_JSON)
        o->format = arg ? arg : "json";
    else if (option == 'f')
        return take_file(arg, o, e);
    else if (option == OPTION_NODES)
        return take_nodes(arg, o, e);
    else
        return unit_parse_seconds(arg, &o->deadline_s, "--deadline", e);
    return 0;
}

/* 0; -1: help was printed; else the exit code of a wrong command line. */
static int parse(int argc, char **argv, struct probe_options *o)
{
    struct err e = {0};
    int option;
    optind = 1;
    while ((option = getopt_long(argc, argv, "f:H:F:o:h", long_options, NULL)) != -1) {
        if (option == 'h') {
            help();
            return -1;
        }
        if (option == '?')
            return cli_usage(COMMAND, NULL);
        if (take(option, optarg, o, &e))
            return cli_usage(COMMAND, "%s", e.text);
    }
    if (optind < argc)
        return cli_usage(COMMAND, "'%s' is not an option; recorded machines are given with --from", argv[optind]);
    return check_together(o);
}

static struct topology *gather(const struct probe_options *o, struct log *log, struct err *e)
{
    struct arena *a = arena_new();
    struct cluster_ask ask = {.agent = o->agent, .command = o->command, .deadline_s = o->deadline_s};
    const char **hosts;
    struct topology *t = NULL;
    if (!(o->hosts ? hostlist_parse(o->hosts, "--hosts", a, &hosts, &ask.nhosts, e)
                   : hostlist_read(o->hostfile, a, &hosts, &ask.nhosts, e))) {
        ask.hosts = hosts;
        t = cluster_gather(&ask, log, cli_catch_interrupt(), e);
    }
    arena_free(a);
    return t;
}

/* What is looked at. With --gather every process of the job but one gets a topology without hosts. */
static struct topology *look(const struct probe_options *o, struct log *log, struct probe_timings *took, struct err *e)
{
    if (o->machine)
        return machine_topology(o->machine, o->nodes ? o->nodes : 1, e);
    if (o->hosts || o->hostfile)
        return gather(o, log, e);
    if (o->nfiles) {
        struct topology *t = probe_files(o->files, o->nfiles, log, e);
        if (t && o->merge)
            merge_nodes(t);
        else if (t)
            classes_merge(t);
        return t;
    }
    if (o->sysroot)
        return probe_sysroot(o->sysroot, log, took, e);
    struct topology *t = o->gather && !ranks_first_on_node() ? topo_new() : probe_machine_timed(log, took, e);
    return t && o->gather ? ranks_gather(t, o->gather, o->deadline_s, log, e) : t;
}

int probe_main(int argc, char **argv)
{
    struct probe_options o = {.deadline_s = 30};
    int rc = parse(argc, argv, &o);
    if (rc)
        return rc < 0 ? 0 : rc;
    if (!o.format)
        o.format = o.output && ends_with(o.output, ".json") ? "json" : "text";
    const struct probe_format *format = probe_format_find(o.format);
    if (!format)
        return cli_usage(COMMAND, "'%s' is not a format", o.format);

    struct err e = {0};
    if (o.list_machines || o.list_gpus)
        return write_list(&o, &e) ? cli_fail(COMMAND, &e) : 0;
    struct log log = cli_log("nccltune probe", !o.output);
    struct probe_timings took = {.n = 0};
    double before_s = progress_now_s();
    struct topology *t = look(&o, &log, &took, &e);
    if (!t)
        return cli_fail(COMMAND, &e);
    if (o.timings)
        print_timings(&took, (progress_now_s() - before_s) * 1e3);
    if (o.gpu)
        rc = machine_complete_gpus(t, o.gpu, &e);
    if (!rc && o.fabric)
        rc = ibnetdiscover_read(t, o.fabric, &log, &e);
    if (!rc)
        findings_attach(t);
    if (!rc && (t->nhosts || !o.gather))
        rc = write_topology(t, format, o.output, &e);
    int found = !rc && o.strict && finding_count(t->findings, t->nfindings, FINDING_ERROR);
    topo_free(t);
    return rc ? cli_fail(COMMAND, &e) : found ? ERR_FAILED : 0;
}
