/* What NCCL's RAS service says of a running job (ncclras), as text and as JSON: ranks that are missing, dead, behind or
 * in error. */
#include <stdlib.h>
#include <string.h>

#include "advise/diagnose/rules.h"
#include "core/json.h"

#define MOST_BYTES (8 << 20) /* of a JSON document */

static const char *const states[RAS_STATES] = {"missing", "dead", "behind", "in error"};

static void note_rank(struct diagnosis *d, enum diag_ras_state state, int rank, const char *host, int gpu,
                      const char *what)
{
    struct diag_ras *r = &d->ras;
    if (r->count[state]++)
        return;
    struct diag_origin *who = &r->first[state];
    *who = (struct diag_origin){.rank = rank, .gpu = gpu};
    snprintf(who->host, sizeof who->host, "%s", host);
    snprintf(r->what[state], sizeof *r->what, "%s", what);
    diag_here(d, r->place[state]);
}

/* ---- text -------------------------------------------------------------------------------------------------------- */

/* "... -- GPU 3 managed by process 7 on node n1" or "Process 7 on node n1 managing GPUs 0,1". */
static void read_place(const char *line, char host[48], int *gpu)
{
    const char *node = strstr(line, " on node "), *g = strstr(line, "GPU");
    *host = 0;
    *gpu = -1;
    if (node)
        snprintf(host, 48, "%.*s", (int)strcspn(node + 9, " \n"), node + 9);
    g = g ? g + 3 + (g[3] == 's') : NULL;
    if (g && *g == ' ' && g[1] >= '0' && g[1] <= '9')
        *gpu = (int)strtol(g + 1, NULL, 10) % 1024;
}

static int read_member(struct diagnosis *d, const char *line)
{
    struct diag_ras *r = &d->ras;
    char host[48], what[64] = "";
    int gpu, rank = -1;
    enum diag_ras_state state = r->section;
    if (!strncmp(line, "  Rank ", 7))
        rank = (int)(strtol(line + 7, NULL, 10) % DIAG_RANKS);
    else if (strncmp(line, "  Process ", 10) != 0)
        return 0;
    const char *up_to = strstr(line, " has launched up to operation "), *none = strstr(line, " has not launched any");
    const char *error = strstr(line, " reported ");
    read_place(line, host, &gpu);
    if (up_to || none) {
        /* The report spells out the fewer, which may be ahead as well as behind: the end tells. */
        long at = up_to ? strtol(up_to + 30, NULL, 10) : 0;
        r->most = at > r->most ? at : r->most;
        if (!r->has_lowest || at < r->lowest) {
            r->has_lowest = 1;
            r->lowest = at;
            r->count[RAS_BEHIND] = 0;
            note_rank(d, RAS_BEHIND, rank, host, gpu, r->collective);
        }
        return 1;
    } else if (error) {
        state = RAS_ERROR;
        snprintf(what, sizeof what, "%.*s", (int)strcspn(error + 10, "-") % 60, error + 10);
    }
    note_rank(d, state, rank, host, gpu, what);
    return 1;
}

int diag_read_ras(struct diagnosis *d, const char *line)
{
    static const struct {
        const char *mark;
        enum diag_ras_state section;
    } sections[] = {{"Missing communicator data from", RAS_MISSING},
                    {" considered dead", RAS_DEAD},
                    {"The missing process", RAS_MISSING},
                    {"Communicator ranks have different", RAS_BEHIND},
                    {"error", RAS_ERROR}};
    struct diag_ras *r = &d->ras;
    const char *p;
    if (!strcmp(line, "Job summary") || (strncmp(line, "Group     Comms", 15) == 0)) {
        r->lines++;
        r->open = 1;
        return 1;
    }
    if (!r->open)
        return 0;
    if (read_member(d, line))
        return 1;
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++)
        if (strstr(line, sections[i].mark) && *line == ' ') {
            r->section = sections[i].section;
            if ((p = strstr(line, "have different ")))
                snprintf(r->collective, sizeof r->collective, "%.*s", (int)strcspn(p + 15, " "), p + 15);
            return 1;
        }
    if ((p = strstr(line, " ranks have launched up to operation "))) {
        long at = strtol(p + 37, NULL, 10);
        r->most = at > r->most ? at : r->most;
        return 1;
    }
    return 0;
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

static void note_member(struct diagnosis *d, enum diag_ras_state state, const cJSON *x, const char *what)
{
    note_rank(d, state, (int)json_int(x, "rank", -1), json_str(x, "host", ""), (int)json_int(x, "cuda_dev", -1), what);
}

int diag_looks_like_ras(const char *chunk, size_t bytes)
{
    return memmem(chunk, bytes, "\"communicators_count\"", 21) != NULL;
}

static void read_counts(struct diagnosis *d, const cJSON *ranks)
{
    const int most_ops = 64; /* NCCL has about ten */
    const cJSON *first = cJSON_GetObjectItem(ranks->child, "collective_counts"), *op;
    int ops = 0;
    cJSON_ArrayForEach(op, first)
    {
        const cJSON *x;
        double most = 0;
        if (ops++ == most_ops)
            break;
        cJSON_ArrayForEach(x, ranks)
        {
            double n = json_num(cJSON_GetObjectItem(x, "collective_counts"), op->string, 0);
            most = n > most ? n : most;
        }
        cJSON_ArrayForEach(x, ranks)
        {
            double n = json_num(cJSON_GetObjectItem(x, "collective_counts"), op->string, 0);
            char what[64];
            snprintf(what, sizeof what, "%.20s operation %.0f, others %.0f", op->string, n, most);
            if (n < most)
                note_member(d, RAS_BEHIND, x, what);
        }
    }
}

static void read_communicator(struct diagnosis *d, const cJSON *c)
{
    const cJSON *x, *ranks = cJSON_GetObjectItem(c, "ranks"), *missing = cJSON_GetObjectItem(c, "missing_ranks");
    cJSON_ArrayForEach(x, missing)
    {
        int dead = json_bool(cJSON_GetObjectItem(x, "status"), "considered_dead", 0);
        note_member(d, dead ? RAS_DEAD : RAS_MISSING, x, "");
    }
    cJSON_ArrayForEach(x, ranks)
    {
        const cJSON *status = cJSON_GetObjectItem(x, "status");
        char what[64];
        snprintf(what, sizeof what, "asynchronous error %ld", (long)json_int(status, "async_error", 0));
        if (json_int(status, "async_error", 0) || json_bool(status, "abort_flag", 0))
            note_member(d, RAS_ERROR, x, what);
    }
    if (cJSON_IsArray(ranks) && ranks->child)
        read_counts(d, ranks);
}

int diag_read_ras_json(struct diagnosis *d, struct diag_input *in, struct err *e)
{
    char *text = malloc(MOST_BYTES);
    size_t n = 0;
    for (int c; text && n < MOST_BYTES && (c = diag_getc(in)) >= 0;)
        text[n++] = (char)c;
    in->line = 1;
    cJSON *doc = n == MOST_BYTES ? NULL : json_parse(text, n, in->path, 1, e);
    int rc = doc ? 0 : n == MOST_BYTES ? err_at(e, in->path, 0, 0, "RAS status of more than 8 MiB") : ERR_FAILED;
    const cJSON *c;
    cJSON_ArrayForEach(c, cJSON_GetObjectItem(doc, "communicators"))
    {
        d->taken++;
        read_communicator(d, c);
    }
    d->ras.lines += doc != NULL;
    d->taken += doc != NULL;
    cJSON_Delete(doc);
    free(text);
    return rc;
}

/* ---- judgement --------------------------------------------------------------------------------------------------- */

int diag_hangs_by_ras(const struct judge *j, struct diag_finding *f)
{
    /* A dead rank explains those that are missing and behind; one in error too. */
    static const enum diag_ras_state order[] = {RAS_DEAD, RAS_ERROR, RAS_MISSING, RAS_BEHIND};
    const struct diag_ras *r = &j->d->ras;
    char who[2 * DIAG_NAME];
    for (size_t i = 0; i < RAS_STATES; i++) {
        enum diag_ras_state s = order[i];
        int is_text = s == RAS_BEHIND && r->has_lowest;
        char ops[64] = "";
        if (!r->count[s] || (is_text && r->lowest >= r->most))
            continue;
        if (is_text)
            snprintf(ops, sizeof ops, " operation %ld, others %ld", r->lowest, r->most);
        diag_origin_text(&r->first[s], who);
        return diag_hit(f, s == RAS_BEHIND ? 0.6 : 1, r->place[s],
                        s == RAS_BEHIND
                            ? "a hang, if a second report repeats it: by NCCL's RAS %d rank%s or process%s %s, first: "
                              "%s%s%s%s: look there first"
                            : "a hang: by NCCL's RAS %d rank%s or process%s %s, first: %s%s%s%s: look there first",
                        r->count[s], r->count[s] == 1 ? "" : "s", r->count[s] == 1 ? " is" : "es are", states[s],
                        *who ? who : "unnamed", *r->what[s] ? ", " : "", r->what[s], ops);
    }
    return 0;
}
