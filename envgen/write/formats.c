/* NCCL's settings in the formats of other programs: the lines of one setting differ, the rest is the same.
 *
 * Values have passed env_check: nothing that any of these formats could take for its own is among their characters, so
 * quotes are enough where a format wants them. */
#include <string.h>

#include "core/vars/text.h"
#include "envgen/write/write_internal.h"

/* ---- one setting ------------------------------------------------------------------------------------------------- */

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

/* ---- the files --------------------------------------------------------------------------------------------------- */

static int sets_anything(const struct env_writing *w)
{
    for (int i = 0; i < w->decisions->nsettings; i++) {
        const struct env_setting *s = &w->decisions->settings[i];
        if (!strcmp(s->family, "nccl") && s->value && !s->node_class)
            return 1;
    }
    return 0;
}

static void heading(const struct env_writing *w, FILE *out, const char *what)
{
    env_write_heading(w, out, what);
    env_print_comment(out, w->scratch, w->mark ? w->mark : "#",
                      arena_printf(w->scratch, "For %s.", env_write_releases(w)));
}

static int write_systemd(const struct env_writing *w, FILE *out, struct err *e)
{
    heading(w, out,
            "NCCL settings for systemd. Use: EnvironmentFile=FILE in a unit such as slurmd's, or copy to "
            "/etc/environment.d/.");
    return env_write_each(w, out, print_plain, e);
}

static int write_docker(const struct env_writing *w, FILE *out, struct err *e)
{
    heading(w, out, "NCCL settings for a container. Use: docker run --env-file FILE, or podman's.");
    return env_write_each(w, out, print_plain, e);
}

static int write_lmod(const struct env_writing *w, FILE *out, struct err *e)
{
    struct env_writing lua = *w;
    lua.mark = "--";
    heading(&lua, out, "NCCL settings as a module of Lmod. Unloading brings back what was set before.");
    fputs("help([[NCCL settings that nccltune decided for this cluster.]])\n"
          "whatis(\"Description: NCCL settings of this cluster\")\n",
          out);
    return env_write_each(&lua, out, print_lua, e);
}

static int write_tcl_module(const struct env_writing *w, FILE *out, struct err *e)
{
    fputs("#%Module1.0\n", out);
    heading(w, out, "NCCL settings as a modulefile of Environment Modules.");
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
    heading(w, out,
            "NCCL settings as a ConfigMap. Use: envFrom: [{configMapRef: {name: nccltune-nccl}}] in a container.");
    fputs("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: nccltune-nccl\n", out);
    return write_map(w, out, "data", e);
}

static int write_ansible(const struct env_writing *w, FILE *out, struct err *e)
{
    heading(w, out,
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

const struct env_writer env_writers_formats[] = {
    {"nccl.systemd.env", write_systemd, "systemd"},  {"nccl.lua", write_lmod, "lmod"},
    {"nccl.tcl", write_tcl_module, "tcl-module"},    {"nccl.configmap.yaml", write_k8s, "k8s"},
    {"nccl.docker.env", write_docker, "docker"},     {"nccl.json", write_json, "json"},
    {"nccl.ansible.yaml", write_ansible, "ansible"}, {NULL},
};
