/* NCCL's settings: nccl.conf and nccl.d/CLASS.conf in the syntax of /etc/nccl.conf, nccl.sh for a shell.
 *
 * NCCL's file reader trims nothing and keeps quotes and trailing comments in the value: NAME=value and nothing else on
 * a line, comments from column 0. Per-call choices are in tuner.csv, never in NCCL_ALGO or NCCL_PROTO. */

#include "core/delivered.h"
#include "core/vars/text.h"
#include "envgen/write/write_internal.h"

static void heading(const struct env_writing *w, FILE *out, const char *what)
{
    env_write_heading(w, out, what);
    env_print_comment(out, w->scratch, "#", arena_printf(w->scratch, "For %s.", env_write_releases(w)));
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
        heading(
            w, out,
            arena_printf(w->scratch, "What nodes of class %s need besides nccl.conf, in its syntax.", w->node_class));
    else
        heading(w, out,
                arena_printf(w->scratch,
                             "NCCL parameters in the syntax of %s. Use: NCCL_CONF_FILE=FILE, or copy the lines.",
                             file));
    return env_write_each(w, out, print_conf, e);
}

static int write_sh(const struct env_writing *w, FILE *out, struct err *e)
{
    heading(w, out,
            "NCCL settings for a shell. Use: source this file. What is set already stays, unless NCCLTUNE=force; "
            "NCCLTUNE=off leaves everything alone.");
    return env_write_each(w, out, print_export, e);
}

const struct env_writer env_writers_nccl[] = {
    {"nccl.conf", write_conf},
    {"nccl.sh", write_sh},
    {NULL},
};
