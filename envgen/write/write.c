/* The tables of all writers as one. */
#include "envgen/write/write.h"

#include <string.h>

#include "core/delivered.h"
#include "core/json.h"
#include "core/vars/text.h"
#include "envgen/write/write_internal.h"

/* ---- NCCL's settings: nccl.conf and nccl.d/CLASS.conf in the syntax of /etc/nccl.conf, nccl.sh for a shell ------- */

static void write_settings_heading(const struct env_writing *w, FILE *out, const char *what)
{
    env_write_nccl_heading(w, out, what);
    env_print_comment(out, w->scratch, "#",
                      arena_printf(w->scratch,
                                   "A setting stands here only where NCCL's automatic choice would be wrong on this "
                                   "topology, where NCCL itself was measured%s to be faster with it, or where the "
                                   "machine's maker publishes what NCCL cannot know.",
                                   w->decisions->predicted ? " or predicted" : ""));
}

static void print_conf(FILE *out, const struct env_setting *s)
{
    if (!env_print_conf_line(out, s->name, s->value))
        fputs("# In this file it would come too late: nccl.sh sets it.\n", out);
}

/* NCCLTUNE decides whether what is set already stays. */
static void print_export(FILE *out, const struct env_setting *s)
{
    fprintf(out,
            "if [ \"${NCCLTUNE:-}\" = force ] || { [ \"${NCCLTUNE:-}\" != off ] && [ -z \"${%s+set}\" ]; }; then\n"
            "    export %s='%s'\n"
            "    export " DELIVERED_SOURCED "=\"${" DELIVERED_SOURCED ":-}|%s=%s\"\nfi\n",
            s->name, s->name, s->value, s->name, s->value);
}

static int write_conf(const struct env_writing *w, FILE *out, struct err *e)
{
    const char *file = w->decisions->rccl ? "/etc/rccl.conf" : "/etc/nccl.conf";
    if (w->node_class)
        write_settings_heading(
            w, out,
            arena_printf(w->scratch, "What nodes of class %s need besides nccl.conf, in its syntax.", w->node_class));
    else
        write_settings_heading(
            w, out,
            arena_printf(w->scratch,
                         "NCCL parameters in the syntax of %s. Use: NCCL_CONF_FILE=FILE, or copy the lines.", file));
    return env_write_each(w, out, print_conf, e);
}

static int write_sh(const struct env_writing *w, FILE *out, struct err *e)
{
    write_settings_heading(
        w, out,
        "NCCL settings for a shell. Use: source this file. What is set already stays, unless NCCLTUNE=force; "
        "NCCLTUNE=off leaves everything alone.");
    return env_write_each(w, out, print_export, e);
}

/* ---- NCCL's settings in the formats of other programs: one setting ----------------------------------------------- */

static void print_plain(FILE *out, const struct env_setting *s)
{
    fprintf(out, "%s=%s\n", s->name, s->value);
}

/* pushenv brings back what the user had when the module is unloaded. */
static void print_lua(FILE *out, const struct env_setting *s)
{
    fprintf(out, "pushenv(\"%s\", \"%s\")\n", s->name, s->value);
}

static void print_tcl(FILE *out, const struct env_setting *s)
{
    fprintf(out, "setenv %s {%s}\n", s->name, s->value);
}

static void print_yaml(FILE *out, const struct env_setting *s)
{
    fprintf(out, "  %s: \"%s\"\n", s->name, s->value);
}

/* ---- the same: the files ----------------------------------------------------------------------------------------- */

static int sets_anything(const struct env_writing *w)
{
    for (int i = 0; i < w->decisions->nsettings; i++) {
        const struct env_setting *s = &w->decisions->settings[i];
        if (!strcmp(s->family, "nccl") && s->value && !s->node_class)
            return 1;
    }
    return 0;
}

static int write_systemd(const struct env_writing *w, FILE *out, struct err *e)
{
    env_write_nccl_heading(
        w, out,
        "NCCL settings for systemd. Use: EnvironmentFile=FILE in a unit such as slurmd's, or copy to "
        "/etc/environment.d/.");
    return env_write_each(w, out, print_plain, e);
}

static int write_docker(const struct env_writing *w, FILE *out, struct err *e)
{
    env_write_nccl_heading(w, out, "NCCL settings for a container. Use: docker run --env-file FILE, or podman's.");
    return env_write_each(w, out, print_plain, e);
}

static int write_lmod(const struct env_writing *w, FILE *out, struct err *e)
{
    struct env_writing lua = *w;
    lua.mark = "--";
    env_write_nccl_heading(&lua, out, "NCCL settings as a module of Lmod. Unloading brings back what was set before.");
    fputs("help([[NCCL settings that nccltune decided for this cluster.]])\n"
          "whatis(\"Description: NCCL settings of this cluster\")\n",
          out);
    return env_write_each(&lua, out, print_lua, e);
}

static int write_tcl_module(const struct env_writing *w, FILE *out, struct err *e)
{
    fputs("#%Module1.0\n", out);
    env_write_nccl_heading(w, out, "NCCL settings as a modulefile of Environment Modules.");
    fputs("module-whatis {NCCL settings of this cluster}\n", out);
    return env_write_each(w, out, print_tcl, e);
}

static int write_map(const struct env_writing *w, FILE *out, const char *key, struct err *e)
{
    fprintf(out, "%s:%s\n", key, sets_anything(w) ? "" : " {}");
    return env_write_each(w, out, print_yaml, e);
}

static int write_k8s(const struct env_writing *w, FILE *out, struct err *e)
{
    env_write_nccl_heading(
        w, out, "NCCL settings as a ConfigMap. Use: envFrom: [{configMapRef: {name: nccltune-nccl}}] in a container.");
    fputs("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: nccltune-nccl\n", out);
    return write_map(w, out, "data", e);
}

static int write_ansible(const struct env_writing *w, FILE *out, struct err *e)
{
    env_write_nccl_heading(
        w, out,
        "NCCL settings as variables of Ansible. Use: vars_files: [FILE] and environment: \"{{ nccltune_nccl }}\".");
    return write_map(w, out, "nccltune_nccl", e);
}

/* Without reasons: JSON has no comments, and readers of such a file take every member for a variable. */
static int write_json(const struct env_writing *w, FILE *out, struct err *e)
{
    const char *comma = "";
    fputc('{', out);
    for (int i = 0; i < w->decisions->nsettings; i++) {
        const struct env_setting *s = &w->decisions->settings[i];
        if (strcmp(s->family, "nccl") != 0 || !s->value || s->node_class)
            continue;
        int rc = env_check(s->name, s->value, e);
        if (rc)
            return rc;
        fprintf(out, "%s\n  \"%s\": \"%s\"", comma, s->name, s->value);
        comma = ",";
    }
    fputs("\n}\n", out);
    return 0;
}

static const struct env_writer also_writers[] = {
    {"nccl.systemd.env", write_systemd, "systemd"},  {"nccl.lua", write_lmod, "lmod"},
    {"nccl.tcl", write_tcl_module, "tcl-module"},    {"nccl.configmap.yaml", write_k8s, "k8s"},
    {"nccl.docker.env", write_docker, "docker"},     {"nccl.json", write_json, "json"},
    {"nccl.ansible.yaml", write_ansible, "ansible"}, {NULL},
};

/* ---- decisions.json: the evidence of all choices ----------------------------------------------------------------- */

static int write_decisions(const struct env_writing *w, FILE *out, struct err *e)
{
    return json_print(env_decisions_json(w->decisions), out, e);
}

static const struct env_writer always_writers[] = {
    {"decisions.json", write_decisions},
    {"nccl.conf", write_conf},
    {"nccl.sh", write_sh},
    {NULL},
};

static const struct env_writer *const families[] = {always_writers, env_writers_openmpi, env_writers_tuner,
                                                    also_writers};

const struct env_writer *env_writer_at(size_t n)
{
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        for (const struct env_writer *w = families[i]; w->file; w++)
            if (!n--)
                return w;
    return NULL;
}

const struct env_writer *env_writer_of(const char *file)
{
    const struct env_writer *w;
    for (size_t n = 0; (w = env_writer_at(n)) && strcmp(w->file, file) != 0; n++)
        ;
    return w;
}

const struct env_writer *env_format(const char *name)
{
    const struct env_writer *w;
    for (size_t n = 0; (w = env_writer_at(n)) && (!w->format || strcmp(w->format, name) != 0); n++)
        ;
    return w;
}
