/* nccltune doctor: what is installed on this node, and whether it would work. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "core/json.h"
#include "core/locate.h"
#include "envgen/doctor/doctor.h"

#define COMMAND "nccltune doctor"

static const struct cli_page page = {COMMAND,
                                     "nccltune doctor [OPTION]...\n"
                                     "       nccltune doctor --job        in a job step, on every rank\n"
                                     "Check what is installed on this node (plugin, profile, table, NCCL's file, Slurm "
                                     "hooks) and whether the profile was\n"
                                     "made for this machine; or check what a job gets.\n",
                                     "Examples\n"
                                     "  nccltune doctor\n"
                                     "  srun -l nccltune doctor --job\n"
                                     "\n"
                                     "Exit status: 0 nothing is wrong; 1 something is; 2 wrong usage.\n",
                                     0};

struct request {
    struct doctor_options doctor;
    int job, json;
};

#define AT(member) offsetof(struct request, member)
static const struct option_spec options[] = {
    {0, "store", "DIR", "the store of nccltune install-profile; default: " INSTALL_STORE, option_text,
     AT(doctor.site.store)},
    {0, "nccl-conf", "FILE", INSTALL_NCCL_CONF, option_text, AT(doctor.site.nccl_conf)},
    {0, "plugin", "FILE", LOCATE_PLUGIN "; default: that of this installation", option_text, AT(doctor.site.plugin)},
    {0, "hook", "FILE", "nccltune-hook; default: that of this installation", option_text, AT(doctor.hook)},
    {0, "slurm-conf", "FILE", "the hooks' configuration; default: /etc/nccltune/slurm.conf", option_text,
     AT(doctor.slurm)},
    {0, "node", "NAME", "this node's name in Slurm; default: its host name", option_text, AT(doctor.node)},
    {0, "job", NULL,
     "check this process's environment instead: pinned profile, plugin, table, overridden settings, lint's findings",
     option_flag, AT(job)},
    {'j', "json", NULL, "print the findings as JSON", option_flag, AT(json)},
    {0},
};

static struct doctor *run_job(const struct doctor_options *o)
{
    const struct doctor_job_options job = {.environment = (const char *const *)environ,
                                           .system_conf = o->site.nccl_conf,
                                           .system_table = INSTALL_STORE "/tuner.csv",
                                           .log = o->log};
    return doctor_job(&job);
}

/* Whether an error about the same stands above it. */
static int is_told(const struct findings *all, int i)
{
    for (int k = 0; k < i; k++)
        if (all->list[k].severity == FINDING_ERROR && !strcmp(all->list[k].subject, all->list[i].subject))
            return 1;
    return 0;
}

/* The verdict, below the findings. */
static void print_verdict(const struct findings *all, int job)
{
    int profile = 0, wrong = 0;
    const char *open = NULL; /* what is first to look at before the profile does all that it can */
    for (int i = 0; i < all->n; i++) {
        profile |= all->list[i].severity == FINDING_OK && !strcmp(all->list[i].subject, "profile");
        if (all->list[i].severity == FINDING_WARNING && !open)
            open = all->list[i].subject;
        wrong += all->list[i].severity == FINDING_ERROR && !is_told(all, i);
    }
    if (wrong)
        printf("\n%d thing%s to mend before %s:", wrong, wrong == 1 ? "" : "s",
               job ? "this rank gets what was measured" : "jobs get what was measured");
    for (int i = 0, n = 0; i < all->n; i++)
        if (all->list[i].severity == FINDING_ERROR && !is_told(all, i))
            printf("%s %s", n++ ? "," : "", all->list[i].subject);
    if (!wrong && profile && open)
        printf("\nNo error in the profile; see the warning of %s above.\n", open);
    else
        puts(wrong     ? ""
             : profile ? "\nReady: nothing is wrong with the profile."
             : job     ? "\nNothing is wrong; this rank has no profile."
                   : "\nNothing is wrong; no profile is installed yet: nccltune tune -o PROFILE measures one, nccltune "
                     "install-profile PROFILE deploys it.");
}

static int run_doctor(void *request, char **words, struct arena *a, struct err *e)
{
    const struct request *r = request;
    const char *const given[][2] = {
        {"--store", strcmp(r->doctor.site.store, INSTALL_STORE) ? r->doctor.site.store : NULL},
        {"--slurm-conf", r->doctor.slurm},
        {"--hook", r->doctor.hook},
    };
    for (size_t i = 0; i < sizeof given / sizeof *given; i++)
        if (given[i][1] && access(given[i][1], F_OK))
            return err_set(e, ERR_USAGE, "%s: %s: %s", given[i][0], given[i][1], strerror(errno));
    struct doctor *d = r->job ? run_job(&r->doctor) : doctor_run(&r->doctor);
    int wrong = finding_count(d->found.list, d->found.n, FINDING_ERROR), rc = 0;
    (void)words, (void)a;
    if (r->json) {
        cJSON *doc = cJSON_CreateObject();
        findings_add_json(doc, "findings", d->found.list, d->found.n);
        cJSON_AddNumberToObject(doc, "errors", wrong);
        rc = json_save(doc, NULL, e);
    }
    for (int i = 0; i < d->found.n && !r->json; i++)
        finding_print(&d->found.list[i], 0, stdout);
    if (!r->json)
        print_verdict(&d->found, r->job);
    doctor_free(d);
    return rc ? rc : wrong ? ERR_FAILED : 0;
}

int doctor_main(int argc, char **argv)
{
    struct log log = cli_log(COMMAND, 1);
    struct request r = {.doctor = {.site = {.store = INSTALL_STORE, .nccl_conf = INSTALL_NCCL_CONF}, .log = &log}};
    struct option_group groups[] = {{NULL, options, &r}, {0}};
    return cli_run(&page, groups, argc, argv, run_doctor, &r);
}
