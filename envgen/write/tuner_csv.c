/* tuner.csv: the table that the tuner plugin applies per call. Rules come from measurements of NCCL itself; predictions
 * are comments unless they were asked for. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/coll.h"
#include "core/file.h"
#include "core/hash.h"
#include "core/units.h"
#include "core/vars/text.h"
#include "envgen/decide/decide.h"
#include "envgen/write/write_internal.h"
#include "tuner/table/index.h"

/* ---- what a rule rests on ---------------------------------------------------------------------------------------- */

static void print_reason(const struct env_writing *w, FILE *out, const struct env_table_rule *r)
{
    char from[UNIT_TEXT], to[UNIT_TEXT];
    env_print_comment(out, w->scratch, "#",
                      arena_printf(w->scratch, "%s from %s to %s, %s: %s", coll_name(r->coll),
                                   unit_bytes(from, r->min_bytes), unit_bytes(to, r->max_bytes),
                                   env_table_rule_basis(r, w->scratch), r->why));
}

/* ---- our own table ----------------------------------------------------------------------------------------------- */

static void print_word(FILE *out, const char *word)
{
    fprintf(out, ",%s", word ? word : "-1");
}

static void print_count(FILE *out, int low, int high)
{
    fprintf(out, ",%d", low);
    if (high > low)
        fprintf(out, "-%d", high);
}

static void print_bytes(FILE *out, const struct env_table_rule *r)
{
    fprintf(out, "%s,%" PRIu64, coll_name(r->coll), r->min_bytes);
    if (r->max_bytes == ENV_OPEN)
        fputs(",-1", out);
    else
        fprintf(out, ",%" PRIu64, r->max_bytes);
}

static void print_rule(FILE *out, const struct env_table_rule *r)
{
    print_bytes(out, r);
    print_word(out, algo_name(r->algorithm));
    print_word(out, proto_name(r->protocol));
    fprintf(out, ",%ld", r->channels);
    print_count(out, r->nodes_low, r->nodes_high);
    print_count(out, r->ranks_low, r->ranks_high);
    fprintf(out, ",-1,%d,%ld,-1\n", r->reg_buff, r->chunk_bytes);
}

/* The table holds for the minor version that it was measured on, or predicted for: "NCCL 2.27.5" gives 2.27. */
static int print_version(FILE *out, const char *library, struct err *e)
{
    static const char name[] = "NCCL ";
    char *end = NULL, *last = NULL;
    int named = !strncmp(library, name, sizeof name - 1);
    unsigned long major = named ? strtoul(library + sizeof name - 1, &end, 10) : 0;
    unsigned long minor = end && *end == '.' ? strtoul(end + 1, &last, 10) : 0;
    if (!last || last == end + 1 || !major || major > 99 || minor > 999)
        return err_set(e, ERR_FAILED,
                       "the release of NCCL that was measured is unknown ('%s'); name it, such as --nccl 2.28.9",
                       library);
    fprintf(out, "# nccl: %lu.%lu\n", major, minor);
    return 0;
}

/* A tuner is not told types, so rows hold for all of them. Reductions of fp8 are never measured, and NCCL relegates
 * some algorithms there; the plugin leaves such calls alone. */
static void print_types(const struct env_decisions *d, FILE *out)
{
    int bfloat16 = 0;
    for (int i = 0; i < d->nshapes; i++)
        bfloat16 |= d->shapes[i].buffers == BENCH_BFLOAT16 && bench_evidence_of(d->shapes[i].engine) == BENCH_ON_GPUS;
    fprintf(out, "# measured with: float32%s\n", bfloat16 ? ", bfloat16" : "");
}

static int print_metadata(const struct env_writing *w, FILE *out, struct err *e)
{
    const struct env_decisions *d = w->decisions;
    fprintf(out, "# nccltune-tuner/1\n# tool: nccltune %s\n", d->tool);
    if (*d->topology)
        fprintf(out, "# topology: sha256:%s\n", d->topology);
    const struct env_shape *measured = env_shape_with(d, BENCH_ON_GPUS),
                           *predicted = env_shape_with(d, BENCH_PREDICTED);
    if (measured && measured->active && *measured->active)
        fprintf(out, "# measured over: %s\n", measured->active);
    if (measured)
        print_types(d, out);
    fputs("# next-tuner: auto\n", out);
    if (measured)
        return print_version(out, measured->library, e);
    fputs(d->predicted ? "# NCCL itself was not measured: any rule here is a prediction.\n"
                       : "# NCCL itself was not measured: no rules, NCCL decides as it does without a tuner.\n",
          out);
    return d->predicted && predicted ? print_version(out, predicted->library, e) : 0;
}

static int write_own(const struct env_writing *w, FILE *out, struct err *e)
{
    struct env_table_rules rules;
    int rc = print_metadata(w, out, e);
    if (!rc)
        rc = env_table_rules_of(w->decisions, w->scratch, &rules, e);
    if (rc)
        return rc;
    fputs("# collective,min_bytes,max_bytes,algorithm,protocol,channels,nNodes,nRanks,numPipeOps,regBuff,chunk_bytes,"
          "nvlDomains\n",
          out);
    for (int i = 0; i < rules.count; i++) {
        print_reason(w, out, rules.items[i]);
        fputs(rules.items[i]->basis != ENV_PREDICTED || w->decisions->predicted ? "" : "# ", out);
        print_rule(out, rules.items[i]);
    }
    return 0;
}

/* ---- the same, prepared ---------------------------------------------------------------------------------------------
 *
 * Empty where the table has more kinds of communicators than can be prepared: then the plugin reads tuner.csv. */

static int print_prepared(FILE *out, const char *text, size_t bytes, struct err *e)
{
    struct tuner_table t;
    char hash[SHA256_HEX];
    size_t prepared_bytes = 0;
    sha256_of(text, bytes, hash);
    if (tuner_table_parse(&t, text, bytes, NULL, NULL)) {
        tuner_table_free(&t);
        return err_set(e, ERR_FAILED, "tuner.csv, just written, cannot be read back");
    }
    void *prepared = tuner_binary_make(&t, hash, &prepared_bytes);
    tuner_table_free(&t);
    if (prepared)
        fwrite(prepared, 1, prepared_bytes, out);
    free(prepared);
    return 0;
}

static int write_prepared(const struct env_writing *w, FILE *out, struct err *e)
{
    struct file_out csv;
    file_out_begin(&csv);
    int rc = write_own(w, csv.stream, e);
    file_out_flush(&csv);
    if (!rc)
        rc = print_prepared(out, csv.data, csv.bytes, e);
    file_out_abandon(&csv);
    return rc;
}

const struct env_writer env_writers_tuner[] = {
    {"tuner.csv", write_own},
    {"tuner.bin", write_prepared},
    {NULL},
};
