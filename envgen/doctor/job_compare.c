/* The ranks of a job step held against one another: each prints lines of JSON, one process reads them all. */
#include <stdlib.h>
#include <string.h>

#include "core/file.h"
#include "core/json.h"
#include "core/vars/text.h"
#include "envgen/doctor/doctor_internal.h"

/* srun cuts lines at 1,024 bytes, and launchers mix what is longer: no line is, whatever has to be escaped in it. */
#define MOST_VALUE 120
#define MOST_TEXT  360

#define NOT_SET     "is not set"
#define ELSE        "is something else"
#define MOST_FACTS  1000 /* NCCL has 300 variables */
#define MOST_RANKS  65536
#define MOST_GROUPS 32 /* values of one thing that are told apart */
#define MOST_SPANS  20 /* of ranks that are listed */

/* ---- a rank's lines ---------------------------------------------------------------------------------------------- */

/* Adds to `o` whose line it is. */
static cJSON *of_rank(const struct doctor *d, cJSON *o)
{
    json_add_str(o, "format", DOCTOR_JOB_FORMAT);
    cJSON_AddNumberToObject(o, "rank", d->rank);
    cJSON_AddNumberToObject(o, "ranks", d->ranks);
    json_add_str(o, "node", d->node);
    return o;
}

static int print_line(cJSON *o, FILE *out, struct err *e)
{
    char *text = cJSON_PrintUnformatted(o);
    cJSON_Delete(o);
    int failed = !text || fprintf(out, "%s\n", text) < 0 || fflush(out);
    free(text);
    return failed ? err_errno(e, "a line cannot be written") : 0;
}

/* A value that fits a line; of a longer one its beginning and its hash, which tells it from another. */
static const char *short_value(struct arena *a, const char *value)
{
    struct sha256 sha;
    char hex[SHA256_HEX];
    size_t n = strlen(value);
    if (n <= MOST_VALUE)
        return value;
    sha256_init(&sha);
    sha256_update(&sha, value, n);
    sha256_hex(&sha, hex);
    return arena_printf(a, "%.40s... (%zu bytes, sha256 %.16s)", value, n, hex);
}

int doctor_job_print_json(const struct doctor *d, FILE *out, struct err *e)
{
    cJSON *o = of_rank(d, cJSON_CreateObject());
    cJSON_AddNumberToObject(o, "errors", finding_count(d->found.list, d->found.n, FINDING_ERROR));
    int rc = print_line(o, out, e);
    for (int i = 0; i < d->nagree && !rc; i++) {
        o = of_rank(d, cJSON_CreateObject());
        json_add_str(cJSON_AddObjectToObject(o, "agree"), d->agree[i].name, short_value(d->arena, d->agree[i].value));
        rc = print_line(o, out, e);
    }
    for (int i = 0; i < d->found.n && !rc; i++) {
        struct finding f = d->found.list[i];
        f.text = arena_strndup(d->arena, f.text, MOST_TEXT);
        rc = print_line(of_rank(d, finding_json(&f)), out, e);
    }
    return rc;
}

/* ---- what the ranks say ------------------------------------------------------------------------------------------ */

/* The ranks that say the same. */
struct group {
    const char *text;
    int *ranks;
    int n;
};

/* All that is said about one thing. */
struct fact {
    const char *what;
    struct group *groups;
    int ngroups;
};

struct step {
    struct arena *arena;
    struct fact *facts, *faults; /* what must be alike; what a rank found wrong with itself */
    int nfacts, nfaults;
    char reported[MOST_RANKS]; /* whether a rank did */
    int nreported;
    int size; /* ranks of the step */
};

static void join(struct arena *a, struct group *g, int rank)
{
    g->ranks = arena_grow(a, g->ranks, (size_t)g->n, sizeof *g->ranks);
    g->ranks[g->n++] = rank;
}

static struct fact *fact_of(struct arena *a, struct fact **facts, int *n, const char *what)
{
    for (int i = 0; i < *n; i++)
        if (!strcmp((*facts)[i].what, what))
            return &(*facts)[i];
    *facts = arena_grow(a, *facts, (size_t)*n, sizeof **facts);
    (*facts)[*n] = (struct fact){.what = arena_strdup(a, what)};
    return &(*facts)[(*n)++];
}

/* The group that says `text`, a new one if need be; the last that there may be is that of everything else. */
static struct group *group_of(struct arena *a, struct fact *f, const char *text)
{
    for (int i = 0; i < f->ngroups; i++)
        if (!strcmp(f->groups[i].text, text) || i == MOST_GROUPS - 1)
            return &f->groups[i];
    f->groups = arena_grow(a, f->groups, (size_t)f->ngroups, sizeof *f->groups);
    struct group *g = &f->groups[f->ngroups++];
    *g = (struct group){.text = f->ngroups < MOST_GROUPS ? arena_strdup(a, text) : ELSE};
    return g;
}

static void say(struct arena *a, struct fact *f, const char *text, int rank)
{
    join(a, group_of(a, f, text), rank);
}

static int take_line(struct step *s, const cJSON *doc, const char *path, long line, struct err *e)
{
    const cJSON *agree = cJSON_GetObjectItemCaseSensitive(doc, "agree"), *item;
    int64_t rank = json_int(doc, "rank", -1), size = json_int(doc, "ranks", 0);
    rank = rank < 0 ? 0 : rank; /* without a launcher there is one */
    if (rank >= MOST_RANKS || size > MOST_RANKS)
        return err_at(e, path, line, 0, "rank %lld of %lld: expected at most %d ranks", (long long)rank,
                      (long long)size, MOST_RANKS);
    if (cJSON_GetArraySize(agree) + s->nfacts > MOST_FACTS)
        return err_at(e, path, line, 0, "the ranks name more than %d things", MOST_FACTS);
    s->size = size > s->size ? (int)size : s->size;
    s->nreported += !s->reported[rank];
    s->reported[rank] = 1;
    cJSON_ArrayForEach(item, agree)
    {
        if (cJSON_IsString(item))
            say(s->arena, fact_of(s->arena, &s->facts, &s->nfacts, item->string),
                arena_printf(s->arena, "is '%s'", item->valuestring), (int)rank);
    }
    if (!strcmp(json_str(doc, "severity", ""), finding_severity_name(FINDING_ERROR)) && s->nfaults < MOST_FACTS)
        say(s->arena, fact_of(s->arena, &s->faults, &s->nfaults, json_str(doc, "subject", "?")),
            json_str(doc, "text", ""), (int)rank);
    return 0;
}

/* srun -l puts "3: " in front of a line; what is no line of ours is what else a step prints. */
static int read_lines(struct step *s, const char *text, const char *path, struct err *e)
{
    long number = 0;
    for (const char *at = text; *at;) {
        size_t length = strcspn(at, "\n");
        const char *open = memchr(at, '{', length);
        number++;
        if (open && memmem(at, length, DOCTOR_JOB_FORMAT, strlen(DOCTOR_JOB_FORMAT))) {
            cJSON *doc = json_parse(open, length - (size_t)(open - at), path, number, e);
            int rc = doc ? json_check_format(doc, DOCTOR_JOB_FORMAT, path, e) : ERR_FAILED;
            if (!rc)
                rc = take_line(s, doc, path, number, e);
            cJSON_Delete(doc);
            if (rc)
                return rc;
        }
        at += length + (at[length] == '\n');
    }
    if (s->nreported)
        return 0;
    return err_set(e, ERR_FAILED, "%s: holds no line of 'nccltune doctor --job --json'", path);
}

/* ---- what comes of it -------------------------------------------------------------------------------------------- */

static int by_number(const void *x, const void *y)
{
    int a = *(const int *)x, b = *(const int *)y;
    return (a > b) - (a < b);
}

static int by_first_rank(const void *x, const void *y)
{
    const struct group *a = x, *b = y;
    return by_number(&a->ranks[0], &b->ranks[0]);
}

/* Lines come in any order, the report does not. */
static void sort_groups(struct fact *f)
{
    for (int i = 0; i < f->ngroups; i++)
        qsort(f->groups[i].ranks, (size_t)f->groups[i].n, sizeof *f->groups[i].ranks, by_number);
    qsort(f->groups, (size_t)f->ngroups, sizeof *f->groups, by_first_rank);
}

/* Of ascending ranks: "rank 3", "ranks 0-3, 7", "ranks 0, 2, 4 and 509 more" */
static const char *ranks_text(struct arena *a, const struct group *g)
{
    const char *text = g->ranks[0] == g->ranks[g->n - 1] ? "rank " : "ranks ";
    for (int i = 0, k, spans = 0; i < g->n; i = k + 1) {
        if (spans++ == MOST_SPANS)
            return arena_printf(a, "%s and %d more", text, g->n - i);
        for (k = i; k + 1 < g->n && g->ranks[k + 1] <= g->ranks[k] + 1;)
            k++;
        text = arena_printf(a, "%s%s%d", text, i ? ", " : "", g->ranks[i]);
        if (g->ranks[k] > g->ranks[i])
            text = arena_printf(a, "%s-%d", text, g->ranks[k]);
    }
    return text;
}

static struct group missing_ranks(const struct step *s)
{
    struct group missing = {0};
    for (int r = 0; r < s->size; r++)
        if (!s->reported[r])
            join(s->arena, &missing, r);
    return missing;
}

/* Those that said nothing about something that another has set. */
static void add_silent(struct step *s, struct fact *f)
{
    char spoke[MOST_RANKS] = {0};
    for (int i = 0; i < f->ngroups; i++)
        for (int k = 0; k < f->groups[i].n; k++)
            spoke[f->groups[i].ranks[k]] = 1;
    for (int r = 0; r < MOST_RANKS; r++)
        if (s->reported[r] && !spoke[r])
            say(s->arena, f, NOT_SET, r);
}

static void judge_fact(struct doctor *d, struct step *s, struct fact *f)
{
    const char *text = f->what;
    add_silent(s, f);
    if (f->ngroups < 2)
        return;
    sort_groups(f);
    for (int i = 0; i < f->ngroups; i++)
        text = arena_printf(d->arena, "%s %s on %s%s", text, f->groups[i].text, ranks_text(d->arena, &f->groups[i]),
                            i + 1 < f->ngroups ? "," : "");
    finding_add(&d->found, FINDING_ERROR, NULL, "ranks", "%s", env_comment(d->arena, text));
}

static void judge(struct doctor *d, struct step *s)
{
    struct group missing = missing_ranks(s);
    if (missing.n)
        finding_add(&d->found, FINDING_ERROR, NULL, "ranks", "%s of %d did not report", ranks_text(d->arena, &missing),
                    s->size);
    for (int i = 0; i < s->nfacts; i++)
        judge_fact(d, s, &s->facts[i]);
    if (!d->found.n)
        finding_add(&d->found, FINDING_OK, NULL, "ranks", "what all ranks must have alike is alike on all %d",
                    s->nreported);
    for (int i = 0; i < s->nfaults; i++) {
        sort_groups(&s->faults[i]);
        for (int k = 0; k < s->faults[i].ngroups; k++)
            finding_add(&d->found, FINDING_ERROR, NULL, env_comment(d->arena, s->faults[i].what), "%s: %s",
                        ranks_text(d->arena, &s->faults[i].groups[k]),
                        env_comment(d->arena, s->faults[i].groups[k].text));
    }
}

struct doctor *doctor_job_compare(const char *path, struct err *e)
{
    struct arena *a = arena_new();
    struct doctor *d = ARENA_NEW(a, struct doctor);
    struct step *s = ARENA_NEW(a, struct step);
    char *text;
    size_t bytes;
    d->arena = d->found.arena = s->arena = a;
    if (file_read_text(path, FILE_LIMIT, a, &text, &bytes, e) || read_lines(s, text, path, e)) {
        arena_free(a);
        return NULL;
    }
    judge(d, s);
    return d;
}
