/* NCCL's settings: nccl.conf in the syntax of /etc/nccl.conf, nccl.sh for a shell.
 *
 * NCCL's file reader trims nothing and keeps quotes and trailing comments in the value: NAME=value and nothing else on
 * a line, comments from column 0. Per-call choices are in tuner.csv, never in NCCL_ALGO or NCCL_PROTO. */
#include <string.h>

#include "envgen/text.h"
#include "envgen/write.h"

static void heading(const struct env_writing *w, FILE *out, const char *what)
{
    env_write_heading(w, out, what);
    env_print_comment(out, w->scratch,
                      "A setting stands here only where NCCL's automatic choice would be wrong on this topology, or "
                      "where NCCL itself was measured to be faster with it.");
}

static int is_nccl(const struct env_setting *s)
{
    return !strcmp(s->family, "nccl");
}

static void left_alone(const struct env_writing *w, FILE *out, const struct env_setting *s)
{
    fputc('\n', out);
    env_print_comment(out, w->scratch, arena_printf(w->scratch, "%s is not set: %s.", s->name, s->why));
}

int env_write_nccl_conf(const struct env_writing *w, FILE *out, struct err *e)
{
    heading(w, out, "NCCL parameters in the syntax of /etc/nccl.conf. Use: NCCL_CONF_FILE=FILE, or copy the lines.");
    for (int i = 0; i < w->decisions->nsettings; i++) {
        const struct env_setting *s = &w->decisions->settings[i];
        if (!is_nccl(s))
            continue;
        if (!s->value) {
            left_alone(w, out, s);
            continue;
        }
        int rc = env_check(s->name, s->value, e);
        if (rc)
            return rc;
        fputc('\n', out);
        env_write_reason(w, out, s);
        fprintf(out, "%s=%s\n", s->name, s->value);
    }
    return 0;
}

int env_write_nccl_sh(const struct env_writing *w, FILE *out, struct err *e)
{
    heading(w, out,
            "NCCL settings for a shell. Use: source this file. What is set already stays; NCCLTUNE=off leaves "
            "everything alone.");
    for (int i = 0; i < w->decisions->nsettings; i++) {
        const struct env_setting *s = &w->decisions->settings[i];
        if (!is_nccl(s))
            continue;
        if (!s->value) {
            left_alone(w, out, s);
            continue;
        }
        int rc = env_check(s->name, s->value, e);
        if (rc)
            return rc;
        fputc('\n', out);
        env_write_reason(w, out, s);
        fprintf(out, "if [ \"${NCCLTUNE:-}\" != off ] && [ -z \"${%s+set}\" ]; then\n    export %s='%s'\nfi\n", s->name,
                s->name, s->value);
    }
    return 0;
}
