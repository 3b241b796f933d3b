/* The table of writers, and the comments that they share. */
#include "envgen/write.h"

#include "envgen/text.h"

const struct env_writer env_writers[] = {
    {"decisions.json", env_write_decisions},
    {"nccl.conf", env_write_nccl_conf},
    {"nccl.sh", env_write_nccl_sh},
    {"openmpi-mca-params.conf", env_write_openmpi_conf},
    {"openmpi.rules", env_write_openmpi_rules},
    {"openmpi.sh", env_write_openmpi_sh},
    {"tuner.csv", env_write_tuner_csv},
    {NULL, NULL},
};

void env_write_heading(const struct env_writing *w, FILE *out, const char *what)
{
    env_print_comment(out, w->scratch, what);
    fprintf(out, "# Written by nccltune %s. Evidence: decisions.json, or 'nccltune explain' on this directory.\n",
            w->decisions->tool);
}

void env_write_reason(const struct env_writing *w, FILE *out, const struct env_setting *s)
{
    env_print_comment(out, w->scratch, arena_printf(w->scratch, "%s (%s): %s.", s->name, s->source, s->why));
}
