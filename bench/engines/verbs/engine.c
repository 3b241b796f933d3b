/* The verbs engine: no candidates, but a document of its own on the fabric, from which settings follow by rules. */
#include "bench/engines/verbs/engine.h"

#include "bench/engines/verbs/options.h"
#include "bench/engines/verbs/verbs_internal.h"

static int is_check(const void *own)
{
    const struct verbs_options *options = own;
    return options && options->check;
}

static int check(const void *own, const char *path, struct err *e)
{
    return path || is_check(own) ? 0 : err_set(e, ERR_USAGE, "say where the measurements go: -o RESULTS");
}

static int document(const struct bench_document *d, struct err *e)
{
    return is_check(d->setup->own) ? verbs_document_check(d, e) : verbs_document(d, e);
}

const struct bench_engine bench_engine_verbs = {
    .name = "verbs",
    .description = "every pair of RDMA ports: which reach which, how fast, by which GID",
    .evidence = BENCH_ON_FABRIC,
    .family = BENCH_FAMILY_NCCL,
    .options_title = "Pairs of RDMA ports (--engine verbs)",
    .options = verbs_options,
    .options_bytes = sizeof(struct verbs_options),
    .check = check,
    .document = document,
    .survey_file = "fabric.json",
    .survey = verbs_survey,
};
