/* Skeleton of an engine that makes a document of its own: it counts the hosts that it was given.
 *
 * Such an engine has no candidates and measures no collectives; decisions read its document by rules of their own. The
 * real one is bench/engines/verbs/. tests/unit/bench/engines/test_skeletons.c compiles and runs this file. */
#include <stdio.h>

#include "bench/candidates/engine.h"
#include "core/file.h"

/* Return an error when the options make no sense together, before anything is looked at. */
static int check_options(const void *own, const char *path, struct err *e)
{
    (void)own;
    return path ? 0 : err_set(e, ERR_USAGE, "missing output file: -o FILE");
}

/* Measure within d->budget_s, unless *d->stop; write the document to d->path, whole or not at all; tell people what it
 * says on d->out, or print it on standard output with d->json. ERR_FAILED with an empty `e`: something bad was found.
 */
static int make_document(const struct bench_document *d, struct err *e)
{
    struct file_out out;
    file_out_begin(&out);
    fprintf(out.stream, "{\"hosts\": \"%s\"}\n", d->setup->hosts ? d->setup->hosts : "");
    int rc = file_out_commit(&out, d->path, e);
    if (!rc)
        fprintf(d->out, "written to %s\n", d->path);
    return rc;
}

/* What `tune` asks before it measures collectives: make the document where there is something to find out. The log gets
 * what a person should know. Nothing to find out is no error: `*made` stays 0. */
static int survey_hosts(const struct bench_document *d, int *made, struct err *e)
{
    *made = 0;
    if (!d->setup->hosts)
        return 0;
    int rc = make_document(d, e);
    *made = !rc;
    return rc;
}

/* `bench` has every node probe itself first; without that the topology is that of this machine. */
static int asks_nodes(const void *own)
{
    (void)own;
    return 0;
}

static const struct bench_document_ops document_ops = {check_options, make_document, survey_hosts, "skeleton.json",
                                                       asks_nodes};

const struct bench_engine bench_engine_skeleton_document = {
    .name = "skeleton-document",
    .description = "the hosts that it was given",
    .evidence = BENCH_ON_FABRIC,
    .family = BENCH_FAMILY_NCCL,
    .documents = &document_ops,
};
