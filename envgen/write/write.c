/* The tables of all writers as one. */

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

static void print_conf(const struct env_writing *w, FILE *out, const struct env_setting *s)
{
    (void)w;
    if (!env_print_conf_line(out, s->name, s->value))
        fputs("# In this file it would come too late: nccl.sh sets it.\n", out);
}

/* NCCLTUNE decides whether what is set already stays. */
static void print_export(const struct env_writing *w, FILE *out, const struct env_setting *s)
{
    (void)w;
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
    return env_write_each(w, out, BENCH_FAMILY_NCCL, ENV_SET | ENV_NOT_SET, print_conf, e);
}

static int write_sh(const struct env_writing *w, FILE *out, struct err *e)
{
    write_settings_heading(
        w, out,
        "NCCL settings for a shell. Use: source this file. What is set already stays, unless NCCLTUNE=force; "
        "NCCLTUNE=off leaves everything alone.");
    return env_write_each(w, out, BENCH_FAMILY_NCCL, ENV_SET | ENV_NOT_SET, print_export, e);
}

/* ---- decisions.json: the evidence of all choices ----------------------------------------------------------------- */

static int write_decisions(const struct env_writing *w, FILE *out, struct err *e)
{
    (void)e;
    json_print(env_decisions_json(w->decisions), out);
    return 0;
}

static const struct env_writer always_writers[] = {
    {"decisions.json", write_decisions},
    {"nccl.conf", write_conf},
    {"nccl.sh", write_sh},
    {NULL},
};

static const struct env_writer *const families[] = {always_writers, env_writers_openmpi, env_writers_tuner};

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
