/* Runs and rows of whatever format, as measurements. */
#include <math.h>
#include <string.h>

#include "bench/import/import_internal.h"
#include "core/call/result.h"
#include "core/coll.h"
#include "core/vars/catalogue.h"

#define MOST_BYTES ((uint64_t)1 << 50)
#define MOST_RANKS (1 << 20)

#define UNKNOWN_RELEASE "NCCL"

/* ---- runs ---- */

struct import_run *import_run(struct import *m)
{
    return &m->runs[m->nruns - 1];
}

struct import_run *import_begin_run(struct import *m)
{
    *import_run(m) = (struct import_run){.library = UNKNOWN_RELEASE, .coll = -1, .time = {-1, -1}};
    import_version(m, m->given->nccl);
    return import_run(m);
}

struct import_run *import_next_run(struct import *m)
{
    if (m->nruns && !import_run(m)->rows)
        return import_run(m);
    ARENA_ADD(m->arena, m->runs, m->nruns) = (struct import_run){0};
    return import_begin_run(m);
}

void import_program(struct import *m, const char *text)
{
    const int named = import_named(text);
    if (named < 0)
        return;
    import_run(m)->coll = named < COLL_MEASURED ? named : -1;
    import_run(m)->clues.programs = 1u << named;
    m->programs |= 1u << named;
}

void import_host(struct import *m, const char *host)
{
    struct import_run *r = import_run(m);
    r->ranks++;
    for (int i = r->nhosts - 1; i >= 0; i--)
        if (!strcmp(r->hosts[i], host))
            return;
    ARENA_ADD(m->arena, r->hosts, r->nhosts) = arena_strdup(m->arena, host);
}

/* NCCL's codes since 2.9. */
void import_version(struct import *m, long code)
{
    char release[ENV_VERSION];
    if (code >= 20000 && code < 100000)
        import_run(m)->library = arena_printf(m->arena, "NCCL %s", env_version_text(release, (int)code));
}

/* What says nothing about times. */
static int is_aside(const char *name, size_t n)
{
    static const char *const begins[] = {"NCCL_DEBUG", "NCCL_TESTS_", "NCCL_COMM_ID", "NCCL_HOSTID"};
    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++)
        if (n >= strlen(begins[i]) && !strncmp(name, begins[i], strlen(begins[i])))
            return 1;
    return 0;
}

void import_set(struct import *m, const char *name, size_t length, const char *value, size_t bytes)
{
    struct import_run *r = import_run(m);
    if (is_aside(name, length))
        return;
    for (int i = 0; i < r->nsettings; i++)
        if (strlen(r->settings[i].name) == length && !strncmp(r->settings[i].name, name, length)) {
            r->settings[i].value = arena_strndup(m->arena, value, bytes);
            return;
        }
    ARENA_ADD(m->arena, r->settings, r->nsettings) =
        (struct bench_setting){arena_strndup(m->arena, name, length), arena_strndup(m->arena, value, bytes)};
}

/* ---- rows ---- */

/* Whether the line is one that has not yet been left out: in place follows out of place. */
static int leave_line_out(struct import *m)
{
    if (m->line && m->line == m->left_line)
        return 0;
    m->left_line = m->line;
    m->left_out++;
    return 1;
}

static void leave_row_out(struct import *m, const char *why)
{
    if (leave_line_out(m) && ++m->warnings <= IMPORT_WARNINGS)
        log_warn(m->log, "%s:%ld: %s; row left out", m->path, m->line, why);
}

/* What is wrong with all of a run is told once. */
static void leave_run_out(struct import *m, struct import_run *r, const char *why)
{
    if (leave_line_out(m) && !r->is_left_out++)
        log_warn(m->log, "%s:%ld: %s; its rows are left out", m->path, m->line, why);
}

/* The number given, or else the one that the file has; once where they differ. */
static int choose_number(struct import *m, int has, int given, const char *what)
{
    if (has > 0 && given && has != given && !import_run(m)->rows)
        log_warn(m->log, "%s:%ld: the file names %s: %d; --%s %d is used", m->path, m->line, what, has, what, given);
    return given ? given : has;
}

void import_row(struct import *m, const struct import_row *row)
{
    struct import_run *r = import_run(m);
    int nodes = choose_number(m, r->nhosts ? r->nhosts : r->nodes, m->given->nodes, "nodes");
    int ranks = choose_number(m, r->ranks, m->given->ranks, "ranks");
    r->coll = r->coll < 0 ? m->given->coll : r->coll;
    r->rows++;
    if (r->coll == COLL_ALLTOALLV)
        return leave_row_out(m, "every benchmark has an uneven AllToAll of its own");
    if (!row->bytes || row->bytes > MOST_BYTES || !(row->time_us > 0) || !isfinite(row->time_us))
        return leave_row_out(m, "a size and a time above 0 are expected");
    struct bench_results *all = m->results;
    if (all->count > BENCH_MOST) /* which read_text refuses */
        return;
    double *times = arena_alloc(m->arena, sizeof *times);
    *times = row->time_us;
    const struct bench_result item = {
        .engine = "nccl",
        .library = r->library,
        .coll = r->coll,
        .bytes = row->bytes,
        .nodes = nodes,
        .ranks = ranks,
        .buffers = r->graph ? BENCH_GRAPH : BENCH_USUAL,
        .data = row->type ? arena_printf(m->arena, "%s%s", row->type, row->in_place ? ", in place" : "") : NULL,
        .round = m->nruns,
        .status = row->wrong ? BENCH_WRONG : BENCH_OK,
        .times_us = row->ntimes ? row->times_us : times,
        .ntimes = row->ntimes ? row->ntimes : 1,
        .detail = row->ntimes ? "from a file" : "from a file: a mean over calls",
        .line = m->line,
    };
    bench_results_push(all, &item);
}

/* ---- what only the rows of a run tell ---- */

/* The collective, where a program is named nowhere near; NULL: it is known now, else why it is not. */
static const char *tell_collective(struct import *m, struct import_run *r, int ranks)
{
    struct import_clues clues = r->clues;
    clues.programs = clues.programs ? clues.programs : m->programs;
    const unsigned colls = import_clue_colls(&clues, m->path, ranks),
                   without_name = import_clue_colls(&clues, "", ranks);
    if (!colls)
        return "unknown collective (see nccltune results --collective)";
    r->coll = import_likeliest(colls);
    if (colls & (colls - 1)) {
        const char *why = arena_printf(m->arena, "the collective is %s (nccltune results --collective %s)",
                                       import_coll_names(colls, m->arena), coll_name(r->coll));
        r->coll = -1;
        return why;
    }
    if (colls != without_name)
        log_info(m->log, "%s:%ld: the file's name tells %s from %s", m->path, m->line, coll_name(r->coll),
                 import_coll_names(without_name & ~colls, m->arena));
    return NULL;
}

/* Fills in what an item's run tells; returns why it cannot be taken. */
static const char *tell_item(struct import *m, struct import_run *r, struct bench_result *item)
{
    const int ranks = item->ranks ? 0 : import_clue_ranks(&r->clues);
    item->ranks = item->ranks ? item->ranks : ranks;
    if (ranks && !item->nodes)
        return arena_printf(m->arena,
                            "unknown number of nodes, for %d ranks by busbw over algbw (see nccltune results "
                            "--nodes)",
                            ranks);
    if (item->nodes < 1 || item->ranks < item->nodes || item->ranks > MOST_RANKS)
        return "unknown number of nodes and ranks (see nccltune results --nodes --ranks)";
    const char *why = item->coll < 0 && r->coll < 0 ? tell_collective(m, r, item->ranks) : NULL;
    item->coll = item->coll < 0 ? r->coll : item->coll;
    return why;
}

void import_tell_runs(struct import *m)
{
    struct bench_results *all = m->results;
    int kept = m->first;
    for (int i = m->first; i < all->count; i++) {
        struct bench_result *item = &all->items[i];
        struct import_run *r = &m->runs[item->round - 1];
        m->line = item->line;
        const char *why = tell_item(m, r, item);
        if (why)
            leave_run_out(m, r, why);
        else
            all->items[kept++] = *item;
    }
    all->count = kept;
}

/* ---- candidates: when all runs are known ---- */

static const char *find_value(const struct import_run *r, const char *name)
{
    for (int i = 0; i < r->nsettings; i++)
        if (!strcmp(r->settings[i].name, name))
            return r->settings[i].value;
    return NULL;
}

/* NCCL_ALGO with one word, alone or with NCCL_PROTO: a call. Returns whether it is one. */
static int make_call(const struct import *m, const struct import_run *r, struct bench_knobs *call)
{
    const char *algo = find_value(r, "NCCL_ALGO"), *proto = find_value(r, "NCCL_PROTO");
    int a = algo ? algo_parse(algo, strlen(algo)) : -1, p = proto ? proto_parse(proto, strlen(proto)) : -1;
    *call = (struct bench_knobs){.label = BENCH_DEFAULT};
    if (a < 0 || (proto && p < 0))
        return 0;
    struct bench_setting *s = arena_alloc(m->arena, 2 * sizeof *s);
    s[0] = (struct bench_setting){NCCL_SET_ALGO, algo_name(a)};
    s[1] = (struct bench_setting){NCCL_SET_PROTO, proto ? proto_name(p) : NULL};
    *call =
        (struct bench_knobs){arena_printf(m->arena, proto ? "%s/%s" : "%s", s[0].value, s[1].value), s, 1 + !!proto};
    return 1;
}

/* Whether all runs that measured anything have it with this value. */
static int is_common(const struct import *m, const struct bench_setting *s)
{
    for (int i = 0; i < m->nruns; i++) {
        const char *value = find_value(&m->runs[i], s->name);
        if (m->runs[i].rows && (!value || strcmp(value, s->value) != 0))
            return 0;
    }
    return 1;
}

static void make_knobs(const struct import *m, const struct import_run *r, struct bench_knobs *launch,
                       struct bench_knobs *call)
{
    int has_call = make_call(m, r, call);
    struct bench_setting *own = arena_alloc(m->arena, (size_t)r->nsettings * sizeof *own);
    *launch = (struct bench_knobs){.label = "", .settings = own};
    for (int i = 0; i < r->nsettings; i++) {
        const struct bench_setting *s = &r->settings[i];
        if (is_common(m, s) || (has_call && (!strcmp(s->name, "NCCL_ALGO") || !strcmp(s->name, "NCCL_PROTO"))))
            continue;
        own[launch->nsettings++] = *s;
        launch->label =
            arena_printf(m->arena, "%s%s%s=%s", launch->label, *launch->label ? " " : "", s->name, s->value);
    }
    if (!launch->nsettings)
        launch->label = BENCH_DEFAULT;
}

/* The one release that runs name, which holds for those that name none; NULL: none, or several. */
static const char *find_only_release(const struct import *m)
{
    const char *only = NULL;
    for (int i = 0; i < m->nruns; i++) {
        const char *library = m->runs[i].rows && strchr(m->runs[i].library, ' ') ? m->runs[i].library : NULL;
        if (library && only && strcmp(library, only) != 0)
            return NULL;
        only = library ? library : only;
    }
    return only;
}

/* A run's number among those of the same candidate: how often that was measured. */
static int count_repetition(const struct import *m, const struct bench_knobs *launches, const struct bench_knobs *calls,
                            int run)
{
    int n = 0;
    for (int i = 0; i <= run; i++)
        n += m->runs[i].rows && m->runs[i].coll == m->runs[run].coll &&
             !strcmp(launches[i].label, launches[run].label) && !strcmp(calls[i].label, calls[run].label);
    return n;
}

/* What all runs had is a condition of their times. */
static void note_common_settings(struct import *m)
{
    const struct import_run *first = NULL;
    struct bench_knobs call;
    int runs = 0;
    for (int i = 0; i < m->nruns; i++) {
        first = !first && m->runs[i].rows ? &m->runs[i] : first;
        runs += m->runs[i].rows > 0;
    }
    for (int i = 0; first && i < first->nsettings; i++) {
        const struct bench_setting *s = &first->settings[i];
        const int is_call = !strcmp(s->name, "NCCL_ALGO") || !strcmp(s->name, "NCCL_PROTO");
        if (is_common(m, s) && !(is_call && make_call(m, first, &call)))
            finding_add(&m->results->noise, FINDING_NOTE, BENCH_COMMON, s->name,
                        runs > 1 ? "all %d runs had it, and what they show holds with it"
                                 : "the run had it, and what it shows holds with it",
                        runs)
                ->value = s->value;
    }
}

void import_name_candidates(struct import *m)
{
    struct bench_knobs *launches = arena_alloc(m->arena, (size_t)m->nruns * sizeof *launches);
    struct bench_knobs *calls = arena_alloc(m->arena, (size_t)m->nruns * sizeof *calls);
    const char *only = find_only_release(m);
    int *rounds = arena_alloc(m->arena, (size_t)m->nruns * sizeof *rounds);
    for (int i = 0; i < m->nruns; i++) {
        make_knobs(m, &m->runs[i], &launches[i], &calls[i]);
        rounds[i] = count_repetition(m, launches, calls, i);
    }
    m->results->noise.arena = m->results->arena;
    note_common_settings(m);
    for (int i = 0; i < m->results->count; i++) {
        struct bench_result *r = &m->results->items[i];
        if (r->launch.label)
            continue; /* of a journal */
        int run = r->round - 1;
        if (only && !strcmp(r->library, UNKNOWN_RELEASE))
            r->library = only;
        r->launch = launches[run];
        r->call = calls[run];
        r->round = rounds[run];
    }
}
