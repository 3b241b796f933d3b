/* How decisions are written. */
#include "cli/writing.h"

#include "envgen/write/write.h"

static const char *also_word(int i)
{
    const struct env_writer *w;
    for (size_t n = 0; (w = env_writer_at(n)); n++)
        if (w->format && !i--)
            return w->format;
    return NULL;
}

static int take_also(const struct option_value *v, void *out, struct err *e)
{
    return env_format(v->text) ? option_append(v, out, e) : option_not_a_word(v, e);
}

static int take_extrapolate(const struct option_value *v, void *out, struct err *e)
{
    *(int *)out = ENV_ALL_NODES;
    return v->text ? option_int(v, out, e) : 0;
}

const struct option_spec cli_writing_options[] = {
    {0, "also", "FORMAT", "write NCCL's settings in one more format; may be repeated:", take_also,
     offsetof(struct cli_writing, also), .word = also_word},
    {0, "predicted", NULL, "set what was only predicted, too (else it stands in comments)", option_flag,
     offsetof(struct cli_writing, predicted)},
    {0, "extrapolate", "[=N]",
     "tuner.csv reaches beyond the largest number of nodes that was measured, up to N (default: as many as the "
     "topology has); where the GPUs are known, with the model fitted to what was measured",
     take_extrapolate, offsetof(struct cli_writing, extrapolate), .low = 2, .high = 1000000},
    {'F', "format", .instead = "also"},
    {0},
};

void cli_writing_into(const struct cli_writing *w, struct env_generate *g)
{
    g->formats = w->also.items;
    g->nformats = w->also.count;
    g->predicted = w->predicted;
    g->extrapolate = w->extrapolate;
    g->site_conf = "/etc/nccl.conf";
}
