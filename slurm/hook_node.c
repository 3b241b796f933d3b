/* Prolog and epilog: what the job gets, and whether this node has what its class in the profile says. */
#include <dirent.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/trust.h"
#include "slurm/hook.h"

struct node {
    const char *sysfs;
    char text[sizeof((struct hook_report *)0)->log]; /* findings, "; " between */
    unsigned found;                                  /* bit per kind */
};

__attribute__((format(printf, 3, 4))) static void find(struct node *n, enum hook_finding kind, const char *fmt, ...)
{
    char text[sizeof n->text];
    size_t used = strlen(n->text);
    va_list args;
    n->found |= 1u << kind;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    snprintf(n->text + used, sizeof n->text - used, "%s%s", used ? "; " : "", text);
}

/* The first line of a file in sysfs; "" when it cannot be read. */
static void read_line(char *line, size_t size, const char *fmt, ...)
{
    char path[HOOK_PATH];
    va_list args;
    va_start(args, fmt);
    vsnprintf(path, sizeof path, fmt, args);
    va_end(args);
    struct stat st;
    int fd = trust_open(path, TRUST_READ, 0, O_RDONLY, &st, NULL);
    ssize_t n = fd < 0 ? -1 : read(fd, line, size - 1);
    line[n > 0 ? n : 0] = 0;
    line[strcspn(line, "\n")] = 0;
    trust_close(fd);
}

/* "4: ACTIVE" and "400 Gb/sec (4X NDR)", as the kernel's RDMA core prints them. */
static void check_port(struct node *n, const struct hook_port *p)
{
    char path[HOOK_PATH], state[64], rate[64];
    snprintf(path, sizeof path, "%s/class/infiniband/%s", n->sysfs, p->hca);
    if (access(path, F_OK)) {
        find(n, HOOK_HCA, "HCA %s is missing", p->hca);
        return;
    }
    read_line(state, sizeof state, "%s/ports/%d/state", path, p->port);
    if (!strstr(state, "ACTIVE")) {
        const char *word = strchr(state, ' ');
        find(n, HOOK_PORT, "port %s/%d is %s", p->hca, p->port, word ? word + 1 : "missing");
        return;
    }
    read_line(rate, sizeof rate, "%s/ports/%d/rate", path, p->port);
    double Gbps = strtod(rate, NULL);
    if (p->rate_Gbps && Gbps < p->rate_Gbps)
        find(n, HOOK_RATE, "port %s/%d runs at %g of %d Gb/s", p->hca, p->port, Gbps, p->rate_Gbps);
}

/* PCI class 03 (display) and 12 (processing accelerator). */
static int is_gpu(const char *sysfs, const char *device, unsigned vendor)
{
    char text[64];
    read_line(text, sizeof text, "%s/bus/pci/devices/%s/vendor", sysfs, device);
    if (strtoul(text, NULL, 16) != vendor)
        return 0;
    read_line(text, sizeof text, "%s/bus/pci/devices/%s/class", sysfs, device);
    unsigned long kind = strtoul(text, NULL, 16) >> 16;
    return kind == 0x03 || kind == 0x12;
}

static void check_gpus(struct node *n, const struct hook_class *c)
{
    char path[HOOK_PATH];
    int gpus = 0;
    const struct dirent *d;
    if (c->gpus < 0 || !c->gpu_vendor)
        return;
    snprintf(path, sizeof path, "%s/bus/pci/devices", n->sysfs);
    struct stat st;
    int fd = trust_open(path, TRUST_READ, 0, O_RDONLY | O_DIRECTORY, &st, NULL);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    while (dir && (d = readdir(dir)))
        gpus += d->d_name[0] != '.' && is_gpu(n->sysfs, d->d_name, c->gpu_vendor);
    if (dir)
        closedir(dir);
    if (gpus < c->gpus)
        find(n, HOOK_GPU, "%d of %d GPUs are there", gpus, c->gpus);
}

static void check_class(struct node *n, const struct hook_map *m, int class_index)
{
    for (int i = 0; i < m->nports; i++)
        if (m->ports[i].class_index == class_index)
            check_port(n, &m->ports[i]);
    check_gpus(n, &m->classes[class_index]);
    for (int i = 0; i < m->nmodules; i++) {
        char path[HOOK_PATH];
        if (m->modules[i].class_index != class_index)
            continue;
        snprintf(path, sizeof path, "%s/module/%s", n->sysfs, m->modules[i].name);
        if (access(path, F_OK))
            find(n, HOOK_DRIVER, "driver %s is not loaded", m->modules[i].name);
    }
}

/* ---- the answer -------------------------------------------------------------------------------------------------- */

static void print_answer(struct hook_report *r, const struct hook_answer *a)
{
    if (hook_answer_print(a, r->out, sizeof r->out))
        r->out[0] = 0;
}

/* What holds when this process does not come to its end. */
static void print_unfinished(struct hook_report *r, const struct hook_answer *a)
{
    struct hook_answer *unfinished = malloc(sizeof *a);
    if (!unfinished)
        return;
    *unfinished = *a;
    unfinished->state = HOOK_UNKNOWN;
    snprintf(unfinished->why, sizeof unfinished->why, "the job prolog was not done in time; is a file system hanging?");
    print_answer(r, unfinished);
    free(unfinished);
}

static void check_job(struct node *n, const struct hook_map *m, const struct hook_job *job, const struct hook_answer *a,
                      struct hook_report *r)
{
    int class_index = m ? hook_map_class(m, job->node) : -1;
    if (class_index >= 0)
        check_class(n, m, class_index);
    if (a->state == HOOK_UNKNOWN)
        find(n, HOOK_PROFILE, "%s", a->why);
    if (!n->found && a->common.dropped + a->local.dropped)
        snprintf(r->log, sizeof r->log, "%d lines of settings dropped, first %.900s",
                 a->common.dropped + a->local.dropped, a->common.dropped ? a->common.first.text : a->local.first.text);
    else
        snprintf(r->log, sizeof r->log, "%s", n->text);
}

/* The job's number is what the answer is called: without it there is none. */
void hook_prolog(const struct hook_options *o, struct hook_report *r)
{
    static struct hook_answer a; /* large */
    struct node n = {.sysfs = o->sysfs};
    struct hook_conf c = {.policy = HOOK_FAIL};
    struct err why = {0};
    struct hook_job job = {0};
    struct hook_map *m = NULL;
    hook_answer_clear(&a);
    int bad = hook_job_from_environment(&job, &why) || hook_conf_read(o->conf, &c, &why);
    snprintf(a.job, sizeof a.job, "%s", job.id);
    if (bad) {
        snprintf(a.why, sizeof a.why, "%.511s", why.text);
        a.nodes = job.nlists ? hook_job_nodes(&job, NULL) : 2; /* others may have a profile */
        c.drain = 0;                                           /* without a configuration that can be trusted */
    } else {
        a.nodes = hook_job_nodes(&job, NULL);
        a.policy = c.policy;
        print_unfinished(r, &a);
        hook_decide(&c, o->keep ? o->run : NULL, &job, &a, &m);
        a.policy = HOOK_FAIL; /* what another node makes of this one's answer is not known until hook_meet returns */
        print_unfinished(r, &a);
        a.policy = c.policy;
        if (c.policy == HOOK_NONE)
            hook_meet(&c, &job, &a, o->limit_ms * 4 / 10);
    }
    print_answer(r, &a);
    check_job(&n, m, &job, &a, r);
    if (c.has_key)
        snprintf(r->warning, sizeof r->warning, "%s: key= is ignored since jobs have no key; remove the line", o->conf);
    if (c.drain && (n.found & c.drains))
        snprintf(r->reason, sizeof r->reason, "nccltune: %.240s", n.text);
    snprintf(r->scontrol, sizeof r->scontrol, "%s", c.scontrol);
    hook_map_free(m);
    hook_job_free(&job);
    r->done = 1;
}

/* The node against the class that it had when the job began. */
void hook_epilog(const struct hook_options *o, struct hook_report *r)
{
    static struct hook_answer a;
    struct node n = {.sysfs = o->sysfs};
    struct hook_conf c, copy;
    struct err why = {0};
    struct hook_job job;
    struct hook_map *m = NULL;
    if (hook_conf_read(o->conf, &c, &why) || hook_job_from_environment(&job, &why)) {
        snprintf(r->log, sizeof r->log, "%s", why.text);
    } else {
        if (c.policy == HOOK_NONE)
            hook_meet_leave(&c, &job);
        if (hook_answer_read(o->run, job.id, &a, NULL) == 0 && a.state == HOOK_TUNED)
            m = hook_map_read(hook_copy(&c, -1, o->run, a.hash, &copy) ? &c : &copy, a.hash, NULL);
        a.state = HOOK_NOTHING;
        check_job(&n, m, &job, &a, r);
    }
    hook_map_free(m);
    r->done = 1;
}

/* By hand, and by the doctor: as for a job of this node alone that starts now. */
void hook_check_node(const struct hook_options *o, struct hook_report *r)
{
    const char *node = getenv("SLURMD_NODENAME");
    setenv("SLURM_JOB_ID", "0", 1);
    setenv("SLURM_JOB_NODELIST", node ? node : "", 1);
    char now[32];
    snprintf(now, sizeof now, "%lld", (long long)time(NULL));
    setenv("SLURM_JOB_START_TIME", now, 1);
    unsetenv("SLURM_HET_JOB_ID");
    hook_prolog(o, r);
}
