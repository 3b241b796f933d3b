/* nccltune-hook: what Slurm runs on every node.
 *
 *   nccltune-hook task-prolog    as the user, before every task: prints settings
 *   nccltune-hook prolog         as root, before every job: compares the node with its class
 *   nccltune-hook epilog         the same after a job; only logs
 *   nccltune-hook check          the same by hand; prints what is found, exit code 1 then
 *
 * Except for `check`, anything that goes wrong ends with 0 and one line in syslog. The one way to another exit code is
 * a finding that the site wants a node drained for. */
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <syslog.h>
#include <unistd.h>

#include "slurm/hook.h"

#define LIMIT_MS     250
#define LAST_MS      40   /* from the limit to the end, whatever still hangs then */
#define DRAIN_MS     3000 /* for scontrol */
#define OPTION_CONF  256
#define OPTION_SYSFS 257
#define OPTION_LIMIT 258

struct call {
    struct hook_options options;
    long limit_ms;
};

/* ---- the last line of defence: a syslog daemon may hang too ------------------------------------------------------ */

static void end_open(int signal)
{
    (void)signal;
    _exit(0);
}

static void end_within(long ms)
{
    struct sigaction sa = {.sa_handler = end_open};
    struct itimerval t = {.it_value = {.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000}};
    sigaction(SIGALRM, &sa, NULL);
    setitimer(ITIMER_REAL, &t, NULL);
}

/* ---- syslog ------------------------------------------------------------------------------------------------------ */

static const char *plain(const char *name, const char *otherwise)
{
    const char *value = getenv(name);
    return value && hook_is_name(value) ? value : otherwise;
}

static void log_line(const char *hook, const char *text)
{
    openlog("nccltune-hook", LOG_PID, LOG_DAEMON);
    syslog(LOG_WARNING, "%s, job %s on %s: %s", hook, plain("SLURM_JOB_ID", "?"), plain("SLURMD_NODENAME", "?"), text);
    closelog();
}

static struct hook_report *boxed(const char *hook, hook_function *run, const struct call *c)
{
    struct hook_why why = {""};
    end_within(c->limit_ms + LAST_MS);
    struct hook_report *r = hook_boxed(run, &c->options, c->limit_ms, &why);
    if (!r)
        log_line(hook, why.text);
    else if (r->log[0])
        log_line(hook, r->log);
    return r;
}

/* ---- the hooks --------------------------------------------------------------------------------------------------- */

static int task_prolog(const struct call *c)
{
    const struct hook_report *r = boxed("task prolog", hook_task, c);
    if (r && r->out[0]) {
        fputs(r->out, stdout);
        fflush(stdout);
    }
    return 0;
}

/* slurmctld writes a reason of its own for a prolog that fails, but leaves a node alone that is drained by then. */
static void drain(const struct hook_report *r)
{
    char node[HOOK_WORD + 16], reason[sizeof r->reason + 16], conf[HOOK_PATH + 16];
    const char *slurm_conf = getenv("SLURM_CONF");
    char path[] = "PATH=/usr/bin:/bin";
    char *env[] = {path, conf, NULL};
    char scontrol[HOOK_ROOT], update[] = "update", state[] = "State=DRAIN";
    char *argv[] = {scontrol, update, node, state, reason, NULL};
    snprintf(scontrol, sizeof scontrol, "%s", r->scontrol);
    snprintf(node, sizeof node, "NodeName=%s", plain("SLURMD_NODENAME", ""));
    snprintf(reason, sizeof reason, "Reason=%s", r->reason);
    snprintf(conf, sizeof conf, "SLURM_CONF=%.*s", HOOK_PATH - 1, slurm_conf ? slurm_conf : "");
    if (!slurm_conf)
        env[1] = NULL;
    if (hook_run(argv, env, DRAIN_MS))
        log_line("prolog", "scontrol could not set the reason");
}

static int prolog(const struct call *c)
{
    const struct hook_report *r = boxed("prolog", hook_node, c);
    if (!r || !r->reason[0])
        return 0;
    end_within(DRAIN_MS + 1000);
    drain(r);
    return 1;
}

static int epilog(const struct call *c)
{
    boxed("epilog", hook_node, c);
    return 0;
}

static int check(const struct call *c)
{
    struct hook_why why = {""};
    const struct hook_report *r = hook_boxed(hook_node, &c->options, c->limit_ms, &why);
    if (r && !r->log[0])
        return 0;
    puts(r ? r->log : why.text);
    return 1;
}

static const struct {
    const char *name;
    int (*main)(const struct call *c);
} hooks[] = {{"task-prolog", task_prolog}, {"prolog", prolog}, {"epilog", epilog}, {"check", check}};
#define HOOKS (sizeof hooks / sizeof *hooks)

static const char help_text[] = "Usage: nccltune-hook task-prolog | prolog | epilog | check [OPTION]...\n"
                                "What Slurm runs on every node; see nccltune-hook(8).\n"
                                "      --conf FILE    instead of " HOOK_CONF_PATH "\n"
                                "      --sysfs DIR    instead of /sys\n"
                                "      --limit MS     give up after so many milliseconds; 250\n";

static int usage(void)
{
    fputs(help_text, stderr);
    return 0; /* a wrong line in slurm.conf must not drain a cluster */
}

int main(int argc, char **argv)
{
    static const struct option options[] = {{"conf", required_argument, NULL, OPTION_CONF},
                                            {"sysfs", required_argument, NULL, OPTION_SYSFS},
                                            {"limit", required_argument, NULL, OPTION_LIMIT},
                                            {"help", no_argument, NULL, 'h'},
                                            {"version", no_argument, NULL, 'V'},
                                            {NULL, 0, NULL, 0}};
    struct call c = {.options = {.conf = HOOK_CONF_PATH, .sysfs = "/sys"}, .limit_ms = LIMIT_MS};
    long long ms;
    int option;
    while ((option = getopt_long(argc, argv, "hV", options, NULL)) != -1) {
        if (option == OPTION_CONF)
            c.options.conf = optarg;
        else if (option == OPTION_SYSFS)
            c.options.sysfs = optarg;
        else if (option == OPTION_LIMIT && !hook_number(optarg, 60000, &ms) && ms > 0)
            c.limit_ms = (long)ms;
        else if (option == 'h')
            return fputs(help_text, stdout) < 0;
        else if (option == 'V')
            return puts("nccltune-hook " NCCLTUNE_VERSION) < 0;
        else
            return usage();
    }
    for (size_t i = 0; i < HOOKS && optind + 1 == argc; i++)
        if (!strcmp(argv[optind], hooks[i].name))
            return hooks[i].main(&c);
    return usage();
}
