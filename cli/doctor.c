/* nccltune doctor: what is installed on this node, and whether it would work. */
#include <getopt.h>
#include <stdio.h>
#include <unistd.h>

#include "cli/cli.h"
#include "core/json.h"
#include "core/locate.h"
#include "envgen/doctor/doctor.h"

#define COMMAND "doctor"

static const char help_text[] = "Usage: nccltune doctor [OPTION]...\n"
                                "       nccltune doctor --job [--json]        in a job step, on every rank\n"
                                "       nccltune doctor --compare FILE|-      what the ranks printed with --json\n"
                                "Check what is installed on this node: plugin, profile, table, NCCL's file, Slurm "
                                "hooks, and whether this machine is\n"
                                "one that the profile was made for; or what a job gets of it.\n"
                                "\n"
                                "      --store DIR        as for nccltune install-profile; " INSTALL_STORE "\n"
                                "      --nccl-conf FILE   " INSTALL_NCCL_CONF "\n"
                                "      --plugin FILE      " LOCATE_PLUGIN "; that of this installation\n"
                                "      --hook FILE        nccltune-hook; that of this installation\n"
                                "      --slurm-conf FILE  the hooks' configuration; /etc/nccltune/slurm.conf\n"
                                "      --node NAME        this node's name in Slurm; its host name\n"
                                "      --job              this process's environment instead: which profile is "
                                "pinned, plugin, table, what\n"
                                "                         you override, what lint says\n"
                                "      --compare FILE     whether the ranks of a step have alike what they must\n"
                                "      --json             the findings as JSON; with --job one a line\n"
                                "  -h, --help             this text\n"
                                "\n"
                                "  srun nccltune doctor --job --json | nccltune doctor --compare -\n"
                                "\n"
                                "Exit status: 0 nothing is wrong; 1 something is; 2 wrong usage.\n";

enum { OPT_STORE = 256, OPT_CONF, OPT_PLUGIN, OPT_HOOK, OPT_SLURM, OPT_NODE, OPT_JSON, OPT_JOB, OPT_COMPARE };

static const struct option long_options[] = {
    {"store", required_argument, NULL, OPT_STORE},
    {"nccl-conf", required_argument, NULL, OPT_CONF},
    {"plugin", required_argument, NULL, OPT_PLUGIN},
    {"hook", required_argument, NULL, OPT_HOOK},
    {"slurm-conf", required_argument, NULL, OPT_SLURM},
    {"node", required_argument, NULL, OPT_NODE},
    {"json", no_argument, NULL, OPT_JSON},
    {"job", no_argument, NULL, OPT_JOB},
    {"compare", required_argument, NULL, OPT_COMPARE},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

static int print_json(const struct doctor *d, struct err *e)
{
    cJSON *doc = cJSON_CreateObject();
    cJSON_AddItemToObject(doc, "findings", findings_json(d->found.list, d->found.n));
    cJSON_AddNumberToObject(doc, "errors", finding_count(d->found.list, d->found.n, FINDING_ERROR));
    int rc = json_save(doc, NULL, e);
    cJSON_Delete(doc);
    return rc;
}

static int print(const struct doctor *d, int job, int json, struct err *e)
{
    if (json)
        return job ? doctor_job_print_json(d, stdout, e) : print_json(d, e);
    for (int i = 0; i < d->found.n; i++)
        finding_print(&d->found.list[i], 0, stdout);
    return fflush(stdout) || ferror(stdout) ? err_errno(e, "standard output cannot be written") : 0;
}

static struct doctor *run_job(const struct doctor_options *o)
{
    const struct doctor_job_options job = {.environment = (const char *const *)environ,
                                           .system_conf = o->site.nccl_conf,
                                           .system_table = INSTALL_STORE "/tuner.csv",
                                           .log = o->log};
    return doctor_job(&job);
}

int doctor_main(int argc, char **argv)
{
    struct log log = cli_log(COMMAND, 1);
    struct doctor_options o = {.site = {.store = INSTALL_STORE, .nccl_conf = INSTALL_NCCL_CONF}, .log = &log};
    const char **const texts[] = {&o.site.store, &o.site.nccl_conf, &o.site.plugin, &o.hook, &o.slurm, &o.node};
    struct err e = {0};
    const char *lines = NULL;
    int option, json = 0, job = 0;
    optind = 1;
    while ((option = getopt_long(argc, argv, "h", long_options, NULL)) != -1) {
        if (option >= OPT_STORE && option <= OPT_NODE)
            *texts[option - OPT_STORE] = optarg;
        else if (option == OPT_JSON)
            json = 1;
        else if (option == OPT_JOB)
            job = 1;
        else if (option == OPT_COMPARE)
            lines = optarg;
        else
            return option == 'h' ? fputs(help_text, stdout) < 0 : cli_usage(COMMAND, NULL);
    }
    if (optind < argc)
        return cli_usage(COMMAND, "'%s' is one word too many", argv[optind]);
    if (job && lines)
        return cli_usage(COMMAND, "--job and --compare exclude each other");
    struct doctor *d = lines ? doctor_job_compare(lines, &e) : job ? run_job(&o) : doctor_run(&o);
    if (!d)
        return cli_fail(COMMAND, &e);
    int rc = print(d, job, json, &e), wrong = finding_count(d->found.list, d->found.n, FINDING_ERROR);
    doctor_free(d);
    if (rc)
        return cli_fail(COMMAND, &e);
    return wrong ? ERR_FAILED : 0;
}
