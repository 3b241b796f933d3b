/* Arguments of options that several commands have. */
#include "cli/arguments.h"

#include <string.h>

#include "core/coll.h"
#include "core/vars/catalogue.h"
#include "envgen/write/write.h"

int cli_take_releases(const struct option_value *v, void *out, struct err *e)
{
    struct cli_releases *r = out;
    if (env_version_parse(v->text, &r->low, &r->high))
        return err_set(e, ERR_USAGE, "%s: '%s' is no release such as 2.28.9, 2.28 or 2.19-2.28", v->what, v->text);
    if (r->high / 100 <= ENV_NEWEST / 100)
        return 0;
    char newest[ENV_VERSION];
    log_warn(v->log, "%s: '%s' is later than %s, the newest release that is known: what follows is of that one",
             v->what, v->text, env_version_text(newest, ENV_CATALOGUED));
    r->high = ENV_CATALOGUED;
    if (r->low > r->high)
        r->low = r->high;
    return 0;
}

int cli_take_release(const struct option_value *v, void *out, struct err *e)
{
    struct cli_releases r = {0};
    int rc = cli_take_releases(v, &r, e);
    *(int *)out = r.high;
    return rc;
}

const char *cli_collective_word(int i)
{
    return i < COLL_MEASURED ? coll_name(i) : NULL;
}

int cli_take_collective(const struct option_value *v, void *out, struct err *e)
{
    int coll = coll_parse(v->text, strlen(v->text));
    *(int *)out = coll;
    return coll < 0 ? option_not_a_word(v, e) : 0;
}

static int add_collective(const struct option_value *v, void *out, struct err *e)
{
    int coll, rc = cli_take_collective(v, &coll, e);
    if (!rc)
        *(unsigned *)out |= 1u << coll;
    return rc;
}

int cli_take_collectives(const struct option_value *v, void *out, struct err *e)
{
    *(unsigned *)out = 0;
    return option_each(v, add_collective, out, e);
}

/* ---- how decisions are written ---- */

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
