/* nccltune-hook: what Slurm runs on every node.
 *
 *   nccltune-hook prolog         as root, before every job: decides what it gets, compares the node with its class
 *   nccltune-hook task-prolog    as the user, before every task: prints what was decided
 *   nccltune-hook epilog         as root, after a job: takes the decision away, compares once more, only logs
 *   nccltune-hook check          by hand: what a job of this node alone would get; exit code 1 when something is wrong
 *   nccltune-hook env            in the prologue of another scheduler: prints what a job gets, for a shell
 *
 * Except for `check` and `env`, anything that goes wrong ends with 0 and one line in syslog. The one way to another
 * exit code is a finding that the site wants a node drained for. */
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include "slurm/hook.h"

#define LIMIT_MS    10000 /* wall clock, for what runs once a job */
#define TASK_CPU_MS 250   /* of its own time: a node where hundreds of tasks start is slow, not broken */
#define LAST_MS     500   /* from the limit to the end, whatever still hangs then */
#define SYSLOG_MS   200
#define DRAIN_MS    3000 /* for scontrol */

/* ---- syslog: a daemon that hangs must not hold a job, and a signal handler must be able to say something ------------
 */

static const char *hook_name;

static const char *plain(const char *name, const char *otherwise)
{
    const char *value = getenv(name);
    return value && hook_is_name(value) ? value : otherwise;
}

static void log_line(const char *text)
{
    static const struct sockaddr_un to = {.sun_family = AF_UNIX, .sun_path = "/dev/log"};
    const struct timeval patience = {.tv_usec = SYSLOG_MS * 1000};
    char line[1400];
    int n = snprintf(line, sizeof line, "<%d>nccltune-hook[%ld]: %s, job %s on %s: %s", LOG_DAEMON | LOG_WARNING,
                     (long)getpid(), hook_name, plain("SLURM_JOB_ID", "?"), plain("SLURMD_NODENAME", "?"), text);
    int s = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    size_t size = n < 0 ? 0 : (size_t)n < sizeof line ? (size_t)n : sizeof line - 1;
    if (s < 0)
        return;
    setsockopt(s, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    if (!connect(s, (const struct sockaddr *)&to, sizeof to))
        send(s, line, size, MSG_NOSIGNAL); /* or there is nobody to tell */
    close(s);
}

/* ---- the last line of defence ------------------------------------------------------------------------------------ */

/* A task prolog prints all at its end, so nothing has been said yet: in a job of several nodes that must be no. */
static void end_open(int signal)
{
    static const char refusal[] =
        "export NCCL_NET=" HOOK_NO_NET "\nprint nccltune: the task prolog did not end; NCCL will "
        "not start here (NCCLTUNE=off: without nccltune)\n";
    const char *nodes = getenv("SLURM_JOB_NUM_NODES"), *mode = getenv("NCCLTUNE");
    int alone = nodes && !strcmp(nodes, "1"), off = mode && !strcmp(mode, "off");
    if (signal == SIGPROF && !alone && !off && write(1, refusal, sizeof refusal - 1) < 0)
        _exit(1);
    log_line(signal == SIGPROF ? "ended after 250 ms of its own time" : "ended: it would not");
    _exit(0);
}

static void end_within(int timer, int signal, long ms)
{
    struct sigaction sa = {.sa_handler = end_open};
    struct itimerval t = {.it_value = {.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000}};
    sigaction(signal, &sa, NULL);
    setitimer(timer, &t, NULL);
}

static struct hook_report *boxed(hook_function *run, const struct hook_options *o, struct err *why)
{
    end_within(ITIMER_REAL, SIGALRM, o->limit_ms + LAST_MS);
    struct hook_report *r = hook_boxed(run, o, why);
    if (why->text[0])
        log_line(why->text);
    else if (r && r->log[0])
        log_line(r->log);
    if (r && r->warning[0])
        log_line(r->warning);
    return r;
}

/* ---- the hooks --------------------------------------------------------------------------------------------------- */

static int task_prolog(const struct hook_options *o)
{
    static struct hook_report r;
    end_within(ITIMER_PROF, SIGPROF, TASK_CPU_MS);
    hook_task(o, &r);
    if (r.log[0])
        log_line(r.log);
    if (r.out[0]) {
        fputs(r.out, stdout);
        fflush(stdout);
    }
    return 0;
}

/* slurmctld writes a reason of its own for a prolog that fails, but leaves a node alone that is drained by then. */
static void drain(const struct hook_report *r)
{
    char node[HOOK_WORD + 16], reason[sizeof r->reason + 16];
    char scontrol[HOOK_ROOT], update[] = "update", state[] = "State=DRAIN";
    char *argv[] = {scontrol, update, node, state, reason, NULL};
    snprintf(scontrol, sizeof scontrol, "%s", r->scontrol);
    snprintf(node, sizeof node, "NodeName=%s", plain("SLURMD_NODENAME", ""));
    snprintf(reason, sizeof reason, "Reason=%s", r->reason);
    if (hook_run(argv, DRAIN_MS, NULL, 0))
        log_line("scontrol could not set the reason");
}

/* Return what the prolog's process decided; one that could do nothing leaves no text: then that is the answer. */
static const char *find_answer(const struct hook_report *r, const char *why, const char *job)
{
    static struct hook_answer a;
    static char text[HOOK_OUTPUT];
    if (r && r->out[0])
        return r->out;
    snprintf(a.job, sizeof a.job, "%s", job);
    snprintf(a.why, sizeof a.why, "%s", why[0] ? why : "more settings than a job can have");
    a.nodes = 2;
    hook_answer_print(&a, text, sizeof text);
    return text;
}

/* Tasks of a part of a heterogeneous job may go by the part's number. */
static void leave_answer(const struct hook_options *o, const struct hook_report *r, const char *why)
{
    char id[HOOK_WORD], part[HOOK_WORD];
    struct err e = {0};
    if (hook_job_id(id))
        return;
    snprintf(part, sizeof part, "%s", plain("SLURM_JOB_ID", id));
    const char *answer = find_answer(r, why, id);
    if (hook_answer_write(o->run, id, answer, &e) ||
        (strcmp(id, part) != 0 && hook_answer_write(o->run, part, answer, &e)))
        log_line(e.text);
}

static int prolog(const struct hook_options *o)
{
    struct err why = {0};
    struct hook_options own = *o;
    own.keep = 1;
    const struct hook_report *r = boxed(hook_prolog, &own, &why);
    leave_answer(o, r, why.text);
    if (!r || why.text[0] || !r->reason[0])
        return 0;
    end_within(ITIMER_REAL, SIGALRM, DRAIN_MS + 1000);
    drain(r);
    return 1;
}

static int epilog(const struct hook_options *o)
{
    struct err why = {0};
    char id[HOOK_WORD], path[HOOK_PATH];
    boxed(hook_epilog, o, &why);
    if (hook_job_id(id))
        return 0;
    const char *const names[] = {id, plain("SLURM_JOB_ID", id)};
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/%s", o->run, names[i]);
        unlink(path);
    }
    return 0;
}

/* "profile 0123, class a" or "nothing: why", and what is wrong with the node. */
static int check(const struct hook_options *o)
{
    static struct hook_answer a;
    struct err why = {0};
    struct hook_report *r = hook_boxed(hook_check_node, o, &why);
    int found = 1;
    if (!why.text[0] && !hook_answer_parse(&a, r->out, "the answer", &why)) {
        if (a.state == HOOK_TUNED)
            printf("profile %.12s, this node is of class %s\n", a.hash, a.class_name);
        else
            printf("%s: %s\n", a.state == HOOK_NOTHING ? "nothing" : "not known", a.why);
        found = a.state == HOOK_UNKNOWN || r->log[0];
    }
    if (found)
        puts(why.text[0] ? why.text : r->log);
    if (r && r->warning[0])
        printf("warning: %s\n", r->warning);
    return found;
}

/* ---- other schedulers -------------------------------------------------------------------------------------------- */

/* The job as Slurm's variables have it. */
static struct {
    const char *id, *hosts, *node, *start;
} given;

static int describe_job(void)
{
    static const char *const others[] = {"SLURM_HET_JOB_ID", "SLURM_JOB_PARTITION", "SLURM_NODELIST",
                                         "SLURM_JOB_START_TIME"};
    static char host[HOOK_WORD], id[HOOK_WORD], now[32];
    if (!given.id || !given.hosts)
        return -1;
    snprintf(id, sizeof id, "%.*s", (int)strspn(given.id, "0123456789"), given.id); /* PBS: 1234.server */
    if (!given.node && !gethostname(host, sizeof host - 1)) {
        host[strcspn(host, ".")] = 0;
        given.node = host;
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        unsetenv(others[i]);
    snprintf(now, sizeof now, "%lld", (long long)time(NULL)); /* there is no squeue that could be asked */
    setenv("SLURM_JOB_START_TIME", given.start ? given.start : now, 1);
    return setenv("SLURM_JOB_ID", id, 1) || setenv("SLURM_JOB_NODELIST", given.hosts, 1) ||
           setenv("SLURMD_NODENAME", given.node ? given.node : "", 1) || setenv("SLURM_STEP_ID", "0", 1) ||
           setenv("SLURM_LOCALID", "0", 1);
}

/* Print the lines of a task prolog for a shell: "export NAME='VALUE'"; what is meant for people goes to stderr. */
static void print_exports(char *lines)
{
    static const char set[] = "export ", say[] = "print ";
    for (char *line; (line = hook_line(&lines));) {
        char *value = strchr(line, '=');
        if (!strncmp(line, say, sizeof say - 1))
            fprintf(stderr, "%s\n", line + sizeof say - 1);
        else if (strncmp(line, set, sizeof set - 1) != 0 || !value)
            puts(line);
        else {
            printf("%.*s='", (int)(value - line), line);
            for (const char *p = value + 1; *p; p++)
                fputs(*p == '\'' ? "'\\''" : (char[]){*p, 0}, stdout);
            puts("'");
        }
    }
}

/* The prolog's decision and the task prolog's output in one. */
static int print_environment(const struct hook_options *o)
{
    static struct hook_report lines;
    static struct hook_answer a;
    static char answer[HOOK_OUTPUT], copy[HOOK_OUTPUT];
    struct hook_options own = *o;
    struct hook_conf c;
    char id[HOOK_WORD];
    struct err why = {0};
    if (describe_job() || hook_job_id(id)) {
        fputs("nccltune-hook env: expected --job NUMBER and --hosts LIST\n", stderr);
        return 1;
    }
    /* No epilog would remove what the nodes of a job leave for one another. */
    if (!hook_conf_read(o->conf, &c, NULL) && c.policy == HOOK_NONE) {
        fputs("nccltune-hook env: policy=nothing needs Slurm; write policy=log,fail\n", stderr);
        return 1;
    }
    const struct hook_report *r = hook_boxed(hook_prolog, &own, &why);
    snprintf(answer, sizeof answer, "%s", find_answer(r, why.text, id));
    memcpy(copy, answer, sizeof copy);
    int is_unknown = hook_answer_parse(&a, copy, "the answer", NULL) || a.state == HOOK_UNKNOWN;
    own.answer = answer;
    hook_task(&own, &lines);
    print_exports(lines.out);
    const char *said = why.text[0] ? why.text : lines.log[0] ? lines.log : r ? r->log : "";
    if (said[0])
        fprintf(stderr, "nccltune-hook env: %s\n", said);
    return why.text[0] || lines.log[0] || is_unknown;
}

static const struct {
    const char *name;
    int (*main)(const struct hook_options *o);
} hooks[] = {
    {"task-prolog", task_prolog}, {"prolog", prolog}, {"epilog", epilog}, {"check", check}, {"env", print_environment}};
#define HOOKS (sizeof hooks / sizeof *hooks)

static const char help_text[] =
    "Usage: nccltune-hook task-prolog | prolog | epilog | check [OPTION]...\n"
    "       nccltune-hook env --job ID --hosts LIST [--node NAME] [--start SECONDS]\n"
    "Slurm hooks that give every job its profile; see nccltune-hook(8).\n"
    "      --conf FILE    instead of " HOOK_CONF_PATH "\n"
    "      --sysfs DIR    instead of /sys\n"
    "      --run DIR      instead of " HOOK_RUN "\n"
    "      --limit MS     prolog, epilog: time limit in milliseconds; 10000\n"
    "      --job ID       env: the job's number, which decides about trials\n"
    "      --hosts LIST   env: all nodes of the job, n[1-4] or n1,n2\n"
    "      --node NAME    env: this node, as the list has it; the host's name\n"
    "      --start S      env: the job's start, seconds since 1970, the same on all nodes\n";

static int usage(void)
{
    fputs(help_text, stderr);
    return 0; /* a wrong line in slurm.conf must not drain a cluster */
}

int main(int argc, char **argv)
{
    struct hook_options o = {.conf = HOOK_CONF_PATH, .sysfs = "/sys", .run = HOOK_RUN, .limit_ms = LIMIT_MS};
    /* The first are texts. */
    static const struct option options[] = {{"conf", required_argument, NULL, 0},
                                            {"sysfs", required_argument, NULL, 1},
                                            {"run", required_argument, NULL, 2},
                                            {"job", required_argument, NULL, 3},
                                            {"hosts", required_argument, NULL, 4},
                                            {"node", required_argument, NULL, 5},
                                            {"start", required_argument, NULL, 6},
                                            {"limit", required_argument, NULL, 'l'},
                                            {"help", no_argument, NULL, 'h'},
                                            {"version", no_argument, NULL, 'V'},
                                            {NULL, 0, NULL, 0}};
    const char **const texts[] = {&o.conf, &o.sysfs, &o.run, &given.id, &given.hosts, &given.node, &given.start};
    long long ms;
    int option;
    while ((option = getopt_long(argc, argv, "hV", options, NULL)) != -1) {
        if (option < (int)(sizeof texts / sizeof *texts))
            *texts[option] = optarg;
        else if (option == 'l' && !hook_number(optarg, 60000, &ms) && ms > 0)
            o.limit_ms = (long)ms;
        else if (option == 'h')
            return fputs(help_text, stdout) < 0;
        else if (option == 'V')
            return puts("nccltune-hook " NCCLTUNE_VERSION) < 0;
        else
            return usage();
    }
    for (size_t i = 0; i < HOOKS && optind + 1 == argc; i++)
        if (!strcmp(argv[optind], hooks[i].name)) {
            hook_name = hooks[i].name;
            return hooks[i].main(&o);
        }
    return usage();
}
