/* The table of writers, and the comments that they share. */
#include "envgen/write/write.h"

#include <string.h>

#include "core/vars/catalogue.h"
#include "core/vars/text.h"

const struct env_writer env_writers[] = {
    {"decisions.json", env_write_decisions, NULL, NULL},
    {"nccl.conf", env_write_nccl_conf, NULL, NULL},
    {"nccl.sh", env_write_nccl_sh, NULL, NULL},
    {"openmpi-mca-params.conf", env_write_openmpi_conf, NULL, NULL},
    {"openmpi.rules", env_write_openmpi_rules, NULL, NULL},
    {"openmpi.sh", env_write_openmpi_sh, NULL, NULL},
    {"tuner.csv", env_write_tuner_csv, NULL, NULL},
    {"nccl.systemd.env", env_write_systemd, "systemd", "EnvironmentFile= of a unit, or environment.d"},
    {"nccl.lua", env_write_lmod, "lmod", "a module of Lmod"},
    {"nccl.tcl", env_write_tcl_module, "tcl-module", "a modulefile of Environment Modules"},
    {"nccl.configmap.yaml", env_write_k8s, "k8s", "a ConfigMap for envFrom:"},
    {"nccl.docker.env", env_write_docker, "docker", "docker run --env-file"},
    {"nccl.json", env_write_json, "json", "an object of names and values"},
    {"nccl.ansible.yaml", env_write_ansible, "ansible", "variables for environment:"},
    {"tuner.nvidia.csv", env_write_nvidia_csv, "nvidia-csv", "the table for NVIDIA's example tuner"},
    {NULL, NULL, NULL, NULL},
};

const struct env_writer *env_format(const char *name)
{
    for (const struct env_writer *w = env_writers; w->file; w++)
        if (w->format && !strcmp(w->format, name))
            return w;
    return NULL;
}

static const char *mark(const struct env_writing *w)
{
    return w->mark ? w->mark : "#";
}

void env_write_heading(const struct env_writing *w, FILE *out, const char *what)
{
    env_print_comment(out, w->scratch, mark(w), what);
    fprintf(out, "%s Written by nccltune %s. Evidence: decisions.json, or 'nccltune explain' on this directory.\n",
            mark(w), w->decisions->tool);
}

void env_write_reason(const struct env_writing *w, FILE *out, const struct env_setting *s)
{
    const char *text = s->value ? arena_printf(w->scratch, "%s (%s): %s.", s->name, s->source, s->why)
                                : arena_printf(w->scratch, "%s is not set: %s.", s->name, s->why);
    env_print_comment(out, w->scratch, mark(w), text);
}

static int is_here(const struct env_writing *w, const struct env_setting *s)
{
    return !strcmp(s->family, "nccl") &&
           (w->node_class ? s->node_class && !strcmp(s->node_class, w->node_class) : !s->node_class);
}

int env_write_each(const struct env_writing *w, FILE *out, void (*print)(FILE *out, const struct env_setting *s),
                   struct err *e)
{
    for (int i = 0; i < w->decisions->nsettings; i++) {
        const struct env_setting *s = &w->decisions->settings[i];
        int rc = is_here(w, s) && s->value ? env_check(s->name, s->value, e) : 0;
        if (rc)
            return rc;
        if (!is_here(w, s))
            continue;
        fputc('\n', out);
        env_write_reason(w, out, s);
        if (s->value)
            print(out, s);
    }
    return 0;
}

const char *env_write_releases(const struct env_writing *w)
{
    const struct env_decisions *d = w->decisions;
    char low[ENV_VERSION], high[ENV_VERSION];
    if (!d->nccl_low)
        return "any release";
    env_version_text(low, d->nccl_low);
    env_version_text(high, d->nccl_high);
    if (d->nccl_low == d->nccl_high)
        return arena_printf(w->scratch, "%s %s (%s)", d->rccl ? "RCCL" : "NCCL", low, d->nccl_source);
    return arena_printf(w->scratch, "%s %s to %s (%s)", d->rccl ? "RCCL" : "NCCL", low, high, d->nccl_source);
}
