/* From NCCL's variables to the model's setup. */
#include "bench/predict/launch.h"

#include <stdio.h>
#include <string.h>

#include "core/units.h"

/* "=mlx5_0:1,mlx5_3:1", exact names as nccl_plan writes them. Prefixes and exclusions are not for here. */
static int take_hcas(const char *value, struct nccl_setup *s, struct arena *a)
{
    const char **list = NULL;
    int n = 0;
    if (*value != '=')
        return -1;
    for (const char *p = value + 1;; p++) {
        size_t length = strcspn(p, ",");
        if (!length)
            return -1;
        list = arena_grow(a, (void *)list, (size_t)n, sizeof *list);
        list[n++] = arena_strndup(a, p, length);
        p += length;
        if (!*p)
            break;
    }
    s->hcas = list;
    s->nhcas = n;
    return 0;
}

static int number(const char *value, long high, int *out)
{
    struct err unused;
    long n = 0;
    int rc = unit_parse_int(value, 0, high, &n, "", &unused);
    *out = (int)n;
    return rc ? -1 : 0;
}

static int take_min(const char *value, struct nccl_setup *s, struct arena *a)
{
    (void)a;
    return number(value, 64, &s->min_channels);
}

static int take_max(const char *value, struct nccl_setup *s, struct arena *a)
{
    (void)a;
    return number(value, 64, &s->max_channels);
}

static int take_nvls(const char *value, struct nccl_setup *s, struct arena *a)
{
    int on;
    (void)a;
    int rc = number(value, 2, &on);
    s->no_nvls = !on;
    return rc;
}

static int take_pxn(const char *value, struct nccl_setup *s, struct arena *a)
{
    (void)a;
    return number(value, 1, &s->no_pxn);
}

static int take_ib(const char *value, struct nccl_setup *s, struct arena *a)
{
    (void)a;
    return number(value, 1, &s->sockets);
}

static int take_cross(const char *value, struct nccl_setup *s, struct arena *a)
{
    int cross;
    (void)a;
    int rc = number(value, 2, &cross);
    s->cross_nic = cross ? cross : 3; /* see nccl_setup */
    return rc;
}

static const struct {
    const char *name;
    int (*take)(const char *value, struct nccl_setup *s, struct arena *a);
} variables[] = {
    {"NCCL_IB_HCA", take_hcas},      {"NCCL_MIN_CTAS", take_min},    {"NCCL_MAX_CTAS", take_max},
    {"NCCL_NVLS_ENABLE", take_nvls}, {"NCCL_PXN_DISABLE", take_pxn}, {"NCCL_IB_DISABLE", take_ib},
    {"NCCL_CROSS_NIC", take_cross},
};
#define VARIABLES (sizeof variables / sizeof *variables)

int model_launch_apply(const struct bench_knobs *launch, struct nccl_setup *s, struct arena *a)
{
    for (int i = 0; i < launch->nsettings; i++) {
        size_t v = 0;
        while (v < VARIABLES && strcmp(variables[v].name, launch->settings[i].name) != 0)
            v++;
        if (v == VARIABLES || variables[v].take(launch->settings[i].value, s, a))
            return -1;
    }
    return 0;
}

int model_hosts_of(const struct topology *t, int class_index)
{
    int n = 0;
    for (int i = 0; i < t->nhosts; i++)
        n += t->hosts[i].class_index == class_index;
    return n ? n : 1;
}

int model_class_of(const struct topology *t)
{
    int best = -1;
    for (int i = 0; i < t->nclasses; i++)
        if (t->classes[i].ngpus && (best < 0 || model_hosts_of(t, i) > model_hosts_of(t, best)))
            best = i;
    return best;
}

char *model_library(const struct nccl_model *m, char text[MODEL_LIBRARY])
{
    const struct topo_class *c = &m->setup.topology->classes[m->setup.class_index];
    int any = m->version % 100 == 99,
        n = snprintf(text, MODEL_LIBRARY, "NCCL %d.%d", m->version / 10000, m->version / 100 % 100);
    if (!any)
        n += snprintf(text + n, MODEL_LIBRARY - (size_t)n, ".%d", m->version % 100);
    if (c->gpus[0].arch)
        snprintf(text + n, MODEL_LIBRARY - (size_t)n, " (RCCL)");
    return text;
}
