/* Prolog and epilog: whether this node has what its class in the profile says. Reads sysfs, runs nothing. */
#include <dirent.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "slurm/hook.h"

struct node {
    const char *sysfs;
    char text[sizeof((struct hook_report *)0)->reason]; /* findings, "; " between */
    unsigned found;                                     /* bit per kind */
};

__attribute__((format(printf, 3, 4))) static void find(struct node *n, enum hook_finding kind, const char *fmt, ...)
{
    size_t used = strlen(n->text);
    va_list args;
    n->found |= 1u << kind;
    if (used && used + 3 < sizeof n->text) {
        memcpy(n->text + used, "; ", 3);
        used += 2;
    }
    va_start(args, fmt);
    vsnprintf(n->text + used, sizeof n->text - used, fmt, args);
    va_end(args);
}

/* The first line of a file in sysfs; "" when it cannot be read. */
static void read_line(char *line, size_t size, const char *fmt, ...)
{
    char path[HOOK_PATH];
    va_list args;
    va_start(args, fmt);
    vsnprintf(path, sizeof path, fmt, args);
    va_end(args);
    FILE *f = fopen(path, "re");
    line[0] = 0;
    if (!f)
        return;
    if (fgets(line, (int)size, f))
        line[strcspn(line, "\n")] = 0;
    fclose(f);
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
    DIR *dir = opendir(path);
    while (dir && (d = readdir(dir)))
        gpus += d->d_name[0] != '.' && is_gpu(n->sysfs, d->d_name, c->gpu_vendor);
    if (dir)
        closedir(dir);
    if (gpus < c->gpus)
        find(n, HOOK_GPU, "%d of %d GPUs are there", gpus, c->gpus);
}

static void check_module(struct node *n, const char *name)
{
    char path[HOOK_PATH];
    snprintf(path, sizeof path, "%s/module/%s", n->sysfs, name);
    if (access(path, F_OK))
        find(n, HOOK_DRIVER, "driver %s is not loaded", name);
}

static void check_class(struct node *n, const struct hook_map *m, int class_index)
{
    for (int i = 0; i < m->nports; i++)
        if (m->ports[i].class_index == class_index)
            check_port(n, &m->ports[i]);
    check_gpus(n, &m->classes[class_index]);
    for (int i = 0; i < m->nmodules; i++)
        if (m->modules[i].class_index == class_index)
            check_module(n, m->modules[i].name);
}

/* A Slurm that does not tell the job's nodes to the prolog leaves this one. */
static int job_of_prolog(struct hook_job *job, struct hook_why *w)
{
    struct hook_why ignored = {""};
    if (!hook_job_from_environment(job, &ignored))
        return 0;
    if (!job->node || !hook_is_name(job->node))
        return hook_refuse(w, "SLURMD_NODENAME is not set");
    job->lists[0] = job->node;
    job->nlists = 1;
    return 0;
}

static void check_node(struct node *n, const struct hook_conf *c, struct hook_why *w)
{
    struct hook_job job;
    char hash[SHA256_HEX];
    if (job_of_prolog(&job, w) || hook_choose(c, &job, hash, w) || !hash[0])
        return;
    struct hook_map *m = hook_map_read(c, hash, w);
    int class_index = m ? hook_map_class(m, job.node) : -1;
    if (m && class_index < 0)
        hook_refuse(w, "node %s is not in profile %.12s", job.node, hash);
    else if (m)
        check_class(n, m, class_index);
    hook_map_free(m);
}

void hook_node(const struct hook_options *o, struct hook_report *r)
{
    struct node n = {.sysfs = o->sysfs};
    struct hook_conf c;
    struct hook_why why = {""};
    /* Without a configuration that can be trusted, nothing drains. */
    if (hook_conf_read(o->conf, &c, &why)) {
        snprintf(r->log, sizeof r->log, "%s", why.text);
        r->done = 1;
        return;
    }
    check_node(&n, &c, &why);
    if (why.text[0])
        find(&n, HOOK_PROFILE, "%s", why.text);
    snprintf(r->log, sizeof r->log, "%s", n.text);
    if (c.drain && (n.found & c.drains))
        snprintf(r->reason, sizeof r->reason, "nccltune: %.240s", n.text);
    snprintf(r->scontrol, sizeof r->scontrol, "%s", c.scontrol);
    r->done = 1;
}
