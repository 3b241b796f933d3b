/* hook.map: what the Slurm hooks need of a profile, in a form that a hundred lines of C can read without trust. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "envgen/install/install.h"
#include "slurm/hook.h"

#define FORMAT    "nccltune-hook/1"
#define TABLE_MAX ((uint64_t)2 << 20) /* the hooks hash the table before every task */

/* Kernel modules by what the devices are called. */
static const struct {
    const char *prefix, *module;
} hca_modules[] = {{"mlx5_", "mlx5_ib"}, {"mlx4_", "mlx4_ib"}, {"bnxt_re", "bnxt_re"},
                   {"hfi1_", "hfi1"},    {"irdma", "irdma"},   {"ionic", "ionic_rdma"}};
static const struct {
    unsigned vendor;
    const char *module;
} gpu_modules[] = {{0x10de, "nvidia"}, {0x1002, "amdgpu"}};

/* ---- compatible classes ------------------------------------------------------------------------------------------ */

int install_compatible(const struct topo_class *a, const struct topo_class *b)
{
    struct arena *scratch = arena_new();
    int compatible = !topo_apart(a, b, scratch);
    arena_free(scratch);
    return compatible;
}

/* The index of the first class that class `i` goes with. */
static int group_of(const struct topology *t, int i)
{
    int k = 0;
    while (k < i && !install_compatible(&t->classes[k], &t->classes[i]))
        k++;
    return k;
}

/* ---- statements -------------------------------------------------------------------------------------------------- */

static int put_files(const struct env_manifest *m, FILE *out, struct err *e)
{
    for (int i = 0; i < m->nfiles; i++) {
        const struct env_manifest_file *f = &m->files[i];
        if (strcmp(f->name, "tuner.csv") != 0 && strcmp(f->name, "nccl.conf") != 0 &&
            strncmp(f->name, "nccl.d/", 7) != 0)
            continue;
        if (f->bytes > TABLE_MAX)
            return err_set(e, ERR_FAILED, "%s has %llu bytes; the hooks take no more than %llu", f->name,
                           (unsigned long long)f->bytes, (unsigned long long)TABLE_MAX);
        fprintf(out, "file %s %llu %s\n", f->name, (unsigned long long)f->bytes, f->sha256);
    }
    return 0;
}

static void put_modules(const struct topo_class *c, unsigned vendor, FILE *out)
{
    for (size_t i = 0; i < sizeof gpu_modules / sizeof *gpu_modules; i++)
        if (c->ngpus && gpu_modules[i].vendor == vendor)
            fprintf(out, "module %s %s\n", c->name, gpu_modules[i].module);
    for (size_t i = 0; i < sizeof hca_modules / sizeof *hca_modules; i++)
        for (int p = 0; p < c->nports; p++)
            if (!strncmp(c->ports[p].hca, hca_modules[i].prefix, strlen(hca_modules[i].prefix))) {
                fprintf(out, "module %s %s\n", c->name, hca_modules[i].module);
                break;
            }
}

static int put_class(const struct topology *t, int i, FILE *out, struct err *e)
{
    const struct topo_class *c = &t->classes[i];
    const struct topo_object *gpu = c->ngpus ? &c->objects[c->gpus[0].object] : NULL;
    unsigned vendor = gpu ? gpu->vendor : 0;
    if (!hook_is_name(c->name))
        return err_set(e, ERR_FAILED, "topology.json: '%s' cannot be the name of a class for the hooks", c->name);
    fprintf(out, "class %s group%d %d %u\n", c->name, group_of(t, i), vendor ? c->ngpus : c->ngpus ? -1 : 0, vendor);
    for (int p = 0; p < c->nports; p++) {
        const struct topo_port *port = &c->ports[p];
        if (port->state != TOPO_STATE_ACTIVE)
            continue;
        if (!port->hca || !hook_is_name(port->hca) || port->port < 0 || port->port > 255)
            return err_set(e, ERR_FAILED, "topology.json: class %s has a port that the hooks cannot name", c->name);
        fprintf(out, "port %s %s %d %d\n", c->name, port->hca, port->port, (int)port->rate_Gbps);
    }
    put_modules(c, vendor, out);
    return 0;
}

static int put_all(const struct topology *t, const struct env_manifest *m, FILE *out, struct err *e)
{
    fprintf(out, FORMAT "\nprofile %s\n", m->hash);
    int rc = put_files(m, out, e);
    if (!rc && (t->nclasses < 1 || t->nclasses > HOOK_CLASSES))
        rc = err_set(e, ERR_FAILED, "topology.json has %d classes of nodes; the hooks take 1 to %d", t->nclasses,
                     HOOK_CLASSES);
    for (int i = 0; i < t->nclasses && !rc; i++)
        rc = put_class(t, i, out, e);
    for (int i = 0; i < t->nhosts && !rc; i++) {
        if (!hook_is_name(t->hosts[i].name))
            return err_set(e, ERR_FAILED, "topology.json: '%s' cannot be the name of a host for the hooks",
                           t->hosts[i].name);
        fprintf(out, "host %s %s\n", t->hosts[i].name, t->classes[t->hosts[i].class_index].name);
    }
    fputs("end\n", out);
    return rc;
}

char *install_map_text(const struct topology *t, const struct env_manifest *m, struct arena *a, int *one_compatible,
                       struct err *e)
{
    char *text = NULL, *copy = NULL;
    size_t bytes = 0;
    struct err why = {0};
    FILE *out = open_memstream(&text, &bytes);
    if (!out) {
        err_errno(e, "no memory for hook.map");
        return NULL;
    }
    int rc = put_all(t, m, out, e);
    *one_compatible = 1;
    for (int i = 1; i < t->nclasses; i++)
        *one_compatible = *one_compatible && group_of(t, i) == 0;
    if (fclose(out) && !rc)
        rc = err_errno(e, "no memory for hook.map");
    if (!rc && hook_map_check(text, m->hash, &why)) /* whatever their limits are */
        rc = err_set(e, ERR_FAILED, "the hooks would refuse the profile: %s", why.text);
    if (!rc)
        copy = arena_strdup(a, text);
    free(text);
    return copy;
}
