/* tuner.csv: the table that the tuner plugin applies per call. Rows come from measurements of NCCL itself and from
 * nothing else; without any, the file holds its metadata and no rule. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/coll.h"
#include "core/units.h"
#include "envgen/write.h"
#include "tuner/table.h"

/* What a call of the nccl engine may set. -1: any, or keep. */
struct row {
    int algorithm, protocol;
    long channels, chunk_bytes;
};

static int read_setting(const struct bench_setting *s, struct row *row, struct err *e)
{
    size_t n = strlen(s->value);
    if (!strcmp(s->name, "algorithm"))
        row->algorithm = algo_parse(s->value, n);
    else if (!strcmp(s->name, "protocol"))
        row->protocol = proto_parse(s->value, n);
    else if (!strcmp(s->name, "channels"))
        return unit_parse_int(s->value, 1, TUNER_MAX_CHANNELS, &row->channels, "channels", e) ? ERR_FAILED : 0;
    else if (!strcmp(s->name, "chunk_bytes"))
        return unit_parse_int(s->value, 1, INT32_MAX, &row->chunk_bytes, "chunk_bytes", e) ? ERR_FAILED : 0;
    else
        return err_set(e, ERR_FAILED,
                       "an NCCL result sets '%s' per call: expected algorithm, protocol, channels or chunk_bytes",
                       s->name);
    if ((!strcmp(s->name, "algorithm") && row->algorithm < 0) || (!strcmp(s->name, "protocol") && row->protocol < 0))
        return err_set(e, ERR_FAILED, "an NCCL result names the unknown %s '%s'", s->name, s->value);
    return 0;
}

static void print_word(FILE *out, const char *word)
{
    fprintf(out, ",%s", word ? word : "-1");
}

static int print_range(FILE *out, const struct env_shape *shape, int coll, const struct env_range *r, struct err *e)
{
    struct row row = {-1, -1, -1, -1};
    for (int i = 0; i < r->call.nsettings; i++) {
        int rc = read_setting(&r->call.settings[i], &row, e);
        if (rc)
            return rc;
    }
    if (row.chunk_bytes > 0 && row.channels < 0)
        return err_set(e, ERR_FAILED, "an NCCL result sets chunk_bytes without channels, which a tuner cannot do");
    fprintf(out, "%s,%" PRIu64, coll_name(coll), r->min_bytes);
    if (r->max_bytes == ENV_OPEN)
        fputs(",-1", out);
    else
        fprintf(out, ",%" PRIu64, r->max_bytes);
    print_word(out, algo_name(row.algorithm));
    print_word(out, proto_name(row.protocol));
    fprintf(out, ",%ld,%d,%d,-1,-1,%ld,-1\n", row.channels, shape->nodes, shape->ranks, row.chunk_bytes);
    return 0;
}

/* The table holds for the minor version that it was measured on: "NCCL 2.27.5" gives 2.27. */
static int print_version(FILE *out, const char *library, struct err *e)
{
    static const char name[] = "NCCL ";
    char *end = NULL, *last = NULL;
    int named = !strncmp(library, name, sizeof name - 1);
    unsigned long major = named ? strtoul(library + sizeof name - 1, &end, 10) : 0;
    unsigned long minor = end && *end == '.' ? strtoul(end + 1, &last, 10) : 0;
    if (!last || last == end + 1 || !major || major > 99 || minor > 999)
        return err_set(e, ERR_FAILED, "the library of an NCCL result is '%s': expected \"NCCL\" and its version",
                       library);
    fprintf(out, "# nccl: %lu.%lu\n", major, minor);
    return 0;
}

int env_write_tuner_csv(const struct env_writing *w, FILE *out, struct err *e)
{
    const struct env_decisions *d = w->decisions;
    fprintf(out, "# nccltune-tuner/1\n# tool: nccltune %s\n", d->tool);
    if (*d->topology)
        fprintf(out, "# topology: sha256:%s\n", d->topology);
    int measured = 0;
    for (int i = 0; i < d->nshapes; i++)
        if (!strcmp(d->shapes[i].engine, "nccl") && !measured++ && print_version(out, d->shapes[i].library, e))
            return ERR_FAILED;
    if (!measured)
        fputs("# NCCL itself was not measured: no rules, NCCL decides as it does without a tuner.\n", out);
    fputs("# collective,min_bytes,max_bytes,algorithm,protocol,channels,nNodes,nRanks,numPipeOps,regBuff,chunk_bytes,"
          "nvlDomains\n",
          out);
    for (int i = 0; i < d->nshapes; i++)
        for (int c = 0; c < d->shapes[i].ncolls && !strcmp(d->shapes[i].engine, "nccl"); c++)
            for (int r = 0; r < d->shapes[i].colls[c].nranges; r++) {
                const struct env_range *range = &d->shapes[i].colls[c].ranges[r];
                int rc =
                    range->call.nsettings ? print_range(out, &d->shapes[i], d->shapes[i].colls[c].coll, range, e) : 0;
                if (rc)
                    return rc;
            }
    return 0;
}
