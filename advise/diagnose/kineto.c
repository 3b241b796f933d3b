/* A PyTorch profiler trace (Kineto, Chrome trace JSON): NCCL's kernels against compute, and what hides behind what. The
 * file is read token by token in constant memory, whatever its size. Of {"traceEvents": [...]} (or a bare array) each
 * complete event ("ph": "X") counts whose category is a GPU's: kernel, gpu_memcpy, gpu_memset. "ts" and "dur" are
 * microseconds. A trace holds one process; should it have several GPUs, the first one counts. PyTorch's flight recorder
 * ("entries": [{"collective_seq_id": 7, "state": "started", ...}]) is read by the same scanner. */
#include <ctype.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "advise/diagnose/diagnose_internal.h"
#include "core/coll.h"

/* ---- overlap ----------------------------------------------------------------------------------------------------- */

/* When did which kinds of work run, and when several at once? Traces are not sorted and have millions of intervals, so
 * the time is sampled: a byte for each of 16 Mi evenly spaced points holds the kinds that cover it. A span that does
 * not fit halves the number of points per time. The points stand at multiples of their spacing, so halving keeps every
 * second one and stays an unbiased sample. */

#define POINTS ((int64_t)16 << 20)
/* Microseconds to begin with, 3 s in all: the square root of 5 less 2, so that work that repeats every few microseconds
 * does not always meet the points at the same place. */
#define SPACING 0.2360679774997897

struct diag_timeline {
    double spacing_us;
    int64_t middle, low, high;    /* as multiples of the spacing: the start of the first work; what was touched */
    unsigned char points[POINTS]; /* around the middle */
};

struct diag_timeline *diag_timeline_new(void)
{
    struct diag_timeline *t = calloc(1, sizeof *t);
    if (!t)
        abort();
    t->spacing_us = SPACING;
    return t;
}

static int64_t ceil_half(int64_t x)
{
    return -(-x >> 1);
}

/* The multiple at which the first of the points stands. */
static int64_t first_of(const struct diag_timeline *t)
{
    return t->middle - POINTS / 2;
}

/* Keeps the points at even multiples of the spacing, which becomes twice as wide; both ways from the middle. */
static void halve(struct diag_timeline *t)
{
    const int64_t old = first_of(t);
    t->spacing_us *= 2;
    t->middle = ceil_half(t->middle);
    t->low = ceil_half(t->low);
    t->high = ceil_half(t->high);
    const int64_t first = first_of(t);
    for (int64_t i = t->middle; i < t->high; i++)
        t->points[i - first] = t->points[2 * i - old];
    for (int64_t i = t->middle - 1; i >= t->low; i--)
        t->points[i - first] = t->points[2 * i - old];
    memset(t->points, 0, (size_t)(t->low - first));
    memset(t->points + (t->high - first), 0, (size_t)(POINTS - (t->high - first)));
}

void diag_timeline_add(struct diag_timeline *t, double start_us, double duration_us, unsigned bit)
{
    if (!(duration_us > 0) || !(fabs(start_us) < 1e17) || !(duration_us < 1e12))
        return;
    for (;; halve(t)) {
        const int64_t from = (int64_t)ceil(start_us / t->spacing_us),
                      to = (int64_t)ceil((start_us + duration_us) / t->spacing_us);
        if (from == to)
            return;
        if (t->low == t->high)
            t->middle = t->low = t->high = from;
        const int64_t first = first_of(t);
        if (from < first || to > first + POINTS)
            continue;
        t->low = from < t->low ? from : t->low;
        t->high = to > t->high ? to : t->high;
        for (int64_t i = from; i < to; i++)
            t->points[i - first] |= (unsigned char)bit;
        return;
    }
}

double diag_timeline_us(const struct diag_timeline *t, unsigned mask, unsigned bits)
{
    const int64_t first = first_of(t);
    int64_t n = 0;
    for (int64_t i = t->low; i < t->high; i++)
        n += (t->points[i - first] & mask) == bits;
    return (double)n * t->spacing_us;
}

/* ---- traces ------------------------------------------------------------------------------------------------------ */

enum { COMM = 1, COMPUTE = 2, COPY = 4 };
#define TEXT 256 /* of strings that matter; the rest is cut */

/* ---- tokens ------------------------------------------------------------------------------------------------------ */

#define SHAPES 32
#define LARGE  (1u << 20) /* bytes, from which a call moves data rather than waits */

struct event {
    char name[TEXT], category[32], pid[32], ph[8];
    double start_us, duration_us;
    char state[16], group[24]; /* of the flight recorder */
    double sequence;
    char coll[40], dtype[16], world[16]; /* of a kernel of NCCL: "_allgather_base", "BFloat16", its process group */
    double in, out, ranks;               /* elements of its messages */
};

struct trace {
    struct diagnosis *d;
    struct diag_input *in;
    char text[TEXT];    /* of the last string or atom */
    struct event event; /* that is being read */
    struct diag_timeline *timeline;
    char device[32]; /* "pid" of the GPU that counts */
    long kernels, steps;
    long entries;                      /* of the flight recorder */
    int rank;                          /* that its dump names, -1 */
    struct diag_traced shapes[SHAPES]; /* NCCL's kernels by call */
    int nshapes;
};

enum token { END, BROKEN, OBJECT, ARRAY, CLOSE_OBJECT, CLOSE_ARRAY, COLON, COMMA, STRING, ATOM };

static int next_char(struct trace *t)
{
    int c = diag_getc(t->in);
    t->in->line += c == '\n';
    return c;
}

static enum token read_string(struct trace *t)
{
    size_t n = 0;
    for (int c; (c = next_char(t)) != '"';) {
        /* The only escapes in names that matter are quotes and slashes: the escaped character stands for itself. */
        if (c < 0 || (c == '\\' && (c = next_char(t)) < 0))
            return END;
        if (n < TEXT - 1)
            t->text[n++] = (char)c;
    }
    t->text[n] = 0;
    return STRING;
}

/* A number or word that begins with `c`; the character behind it is put back. */
static enum token read_atom(struct trace *t, int c)
{
    size_t n = 0;
    for (; c >= 0 && (isalnum(c) || c == '-' || c == '+' || c == '.'); c = next_char(t))
        if (n < TEXT - 1)
            t->text[n++] = (char)c;
    t->text[n] = 0;
    if (c >= 0) {
        t->in->pos--;
        t->in->line -= c == '\n';
    }
    return n ? ATOM : BROKEN;
}

static enum token next(struct trace *t)
{
    static const char marks[] = "{[}]:,";
    static const enum token tokens[] = {OBJECT, ARRAY, CLOSE_OBJECT, CLOSE_ARRAY, COLON, COMMA};
    int c;
    do
        c = next_char(t);
    while (c == ' ' || c == '\t' || c == '\r' || c == '\n');
    const char *mark = c > 0 ? strchr(marks, c) : NULL;
    if (c < 0)
        return END;
    if (mark)
        return tokens[mark - marks];
    return c == '"' ? read_string(t) : read_atom(t, c);
}

/* Passes over the value that begins with `k`. Nesting is counted, not recursed into. */
static enum token skip_value(struct trace *t, enum token k)
{
    long depth = 0;
    for (;; k = next(t)) {
        if (k == END || k == BROKEN)
            return k;
        depth += (k == OBJECT || k == ARRAY) - (k == CLOSE_OBJECT || k == CLOSE_ARRAY);
        if (depth <= 0)
            return k;
    }
}

/* ---- events ------------------------------------------------------------------------------------------------------ */

/* The value of a key, `t`. */
static void take_field(struct event *ev, const char *key, enum token t, const char *text)
{
#define AT(member) offsetof(struct event, member)
    static const struct {
        const char *key;
        size_t at, bytes; /* 0: a number */
    } fields[] = {
        {"name", AT(name), sizeof ev->name},
        {"profiling_name", AT(name), sizeof ev->name},
        {"cat", AT(category), sizeof ev->category},
        {"ph", AT(ph), sizeof ev->ph},
        {"state", AT(state), sizeof ev->state},
        {"pid", AT(pid), sizeof ev->pid},
        {"Collective name", AT(coll), sizeof ev->coll},
        {"dtype", AT(dtype), sizeof ev->dtype},
        {"Process Group Descripti", AT(world), sizeof ev->world},
        {"ts", AT(start_us), 0},
        {"dur", AT(duration_us), 0},
        {"collective_seq_id", AT(sequence), 0},
        {"In msg nelems", AT(in), 0},
        {"Out msg nelems", AT(out), 0},
        {"Group size", AT(ranks), 0},
    };
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        char *to = (char *)ev + fields[i].at;
        if (!strcmp(key, fields[i].key) && fields[i].bytes)
            snprintf(to, fields[i].bytes, "%.*s", (int)fields[i].bytes - 1, text);
        else if (!strcmp(key, fields[i].key) && t == ATOM)
            diag_number(text, (double *)(void *)to);
    }
}

/* Kernels of NCCL and RCCL: ncclDevKernel_..., ncclKernel_..., ncclSymkDevKernel_..., rcclGenericKernel. */
static int is_nccl(const char *name)
{
    return !strncmp(name, "nccl", 4) || strstr(name, "ncclDevKernel") || strstr(name, "ncclKernel") ||
           !strncmp(name, "rccl", 4) || !strncmp(name, "msccl", 5);
}

/* A kernel of NCCL among all ranks whose size the trace tells. */
static void take_call(struct trace *t, const struct event *ev)
{
    static const struct {
        const char *name;
        int bytes;
    } types[] = {{"BFloat16", 2}, {"Half", 2}, {"Float", 4}, {"Double", 8}, {"Byte", 1}, {"Int", 4}, {"Long", 8}};
    const char *name = ev->coll + (*ev->coll == '_'); /* "_reduce_scatter_base" */
    const double elements = fmax(ev->in, ev->out);
    struct diag_traced c = {.coll = -1, .ranks = (int)fmin(ev->ranks, 1e6)};
    for (size_t i = 0; i < sizeof types / sizeof *types && elements < 1e13; i++)
        if (!strcmp(ev->dtype, types[i].name))
            c.bytes = (uint64_t)elements * (unsigned)types[i].bytes;
    for (size_t n = strlen(name); n && c.coll < 0; n--)
        c.coll = coll_parse(name, n);
    if (strcmp(ev->world, "default_pg") != 0 || c.coll < 0 || c.bytes < LARGE || c.ranks < 2)
        return;
    int i = 0;
    while (i < t->nshapes && (t->shapes[i].coll != c.coll || t->shapes[i].bytes != c.bytes))
        i++;
    if (i == SHAPES)
        return;
    if (i == t->nshapes)
        t->shapes[t->nshapes++] = c;
    struct diag_traced *x = &t->shapes[i];
    x->shortest_us = x->count++ ? fmin(x->shortest_us, ev->duration_us) : ev->duration_us;
    x->total_us += ev->duration_us;
    if (x->total_us > t->d->traced.total_us)
        t->d->traced = *x;
}

static void take_event(struct trace *t, const struct event *ev)
{
    t->entries += diag_note_entry(t->d, ev->group, ev->name, ev->state, ev->sequence);
    int kernel = !strcmp(ev->category, "kernel"), copy = !strncmp(ev->category, "gpu_mem", 7);
    if (strcmp(ev->ph, "X") != 0 || ev->duration_us < 0)
        return;
    if (!strncmp(ev->name, "ProfilerStep#", 13) && !strcmp(ev->category, "user_annotation"))
        t->steps++;
    if (!kernel && !copy)
        return;
    if (!*t->device)
        memcpy(t->device, ev->pid, sizeof t->device);
    if (strcmp(t->device, ev->pid) != 0) {
        t->d->other_devices = 1;
        return;
    }
    t->kernels++;
    if (is_nccl(ev->name))
        take_call(t, ev);
    diag_timeline_add(t->timeline, ev->start_us, ev->duration_us, copy ? COPY : is_nccl(ev->name) ? COMM : COMPUTE);
}

/* Objects and arrays that matter, by where they stand. */
enum role { NOTHING, DOCUMENT, EVENTS, EVENT, ARGUMENTS, GROUP };

static enum role role_within(enum role in, enum token token, const char *key)
{
    static const struct {
        enum role in;
        enum token token;
        const char *key;
        enum role is;
    } roles[] = {
        {DOCUMENT, ARRAY, "traceEvents", EVENTS}, {DOCUMENT, ARRAY, "entries", EVENTS},   {EVENTS, OBJECT, "", EVENT},
        {EVENT, OBJECT, "args", ARGUMENTS},       {EVENT, ARRAY, "process_group", GROUP},
    };
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++)
        if (roles[i].in == in && roles[i].token == token && !strcmp(roles[i].key, key))
            return roles[i].is;
    return NOTHING;
}

/* A string or number; of a group, ["0", "default_pg"], the first is its name. */
static void take_scalar(struct trace *t, enum role in, const char *key, enum token token)
{
    double number;
    const char *text = t->text;
    if (in == EVENT || in == ARGUMENTS)
        take_field(&t->event, key, token, text);
    else if (in == GROUP && token == STRING && !*t->event.group)
        snprintf(t->event.group, sizeof t->event.group, "%.23s", text);
    else if (in == DOCUMENT && !strcmp(key, "rank") && diag_number(text, &number) && number >= 0 && number < DIAG_RANKS)
        t->rank = (int)number;
}

/* The members of an object or array, its bracket already read. Returns `close`, END or BROKEN. */
static enum token read_members(struct trace *t, enum role in, enum token close)
{
    char key[24] = "";
    for (enum token k = next(t); k != close; k = next(t)) {
        enum role inner = NOTHING;
        if (k == COMMA)
            continue;
        if (close == CLOSE_OBJECT) {
            if (k != STRING)
                return k == END ? END : BROKEN;
            snprintf(key, sizeof key, "%.23s", t->text);
            if ((k = next(t)) != COLON)
                return k == END ? END : BROKEN;
            k = next(t);
        }
        if (k == OBJECT || k == ARRAY)
            inner = role_within(in, k, key);
        if (inner == EVENT)
            t->event = (struct event){.duration_us = -1, .sequence = -1};
        if (k == STRING || k == ATOM)
            take_scalar(t, in, key, k);
        else if (k == OBJECT || k == ARRAY)
            k = inner ? read_members(t, inner, k == OBJECT ? CLOSE_OBJECT : CLOSE_ARRAY) : skip_value(t, k);
        else
            return k == END ? END : BROKEN;
        if (k == END || k == BROKEN)
            return k;
        if (inner == EVENT)
            take_event(t, &t->event);
    }
    return close;
}

/* ---- the trace as one step --------------------------------------------------------------------------------------- */

static void add_step(struct trace *t)
{
    static const struct {
        struct diag_word word;
        unsigned mask, bits;
    } phases[] = {
        {{"", "NCCL not hidden", DIAG_COMMUNICATION, DIAG_NEITHER, NULL}, COMM | COMPUTE, COMM},
        {{"", "compute", DIAG_COMPUTE, DIAG_NEITHER, NULL}, COMPUTE, COMPUTE},
        {{"", "copies not hidden", DIAG_OFFLOAD, DIAG_NEITHER, NULL}, COMM | COMPUTE | COPY, COPY},
        {{"", "idle", DIAG_IDLE, DIAG_NEITHER, NULL}, COMM | COMPUTE | COPY, 0},
    };
    struct diagnosis *d = t->d;
    double parts = t->steps > 1 ? (double)t->steps : 1;
    diag_step_open(d, DIAG_TRACE, -1);
    d->series[DIAG_TRACE].open.line = 0;
    for (size_t i = 0; i < sizeof phases / sizeof *phases; i++)
        diag_step_add(d, DIAG_TRACE, &phases[i].word,
                      diag_timeline_us(t->timeline, phases[i].mask, phases[i].bits) / 1e3 / parts);
    d->series[DIAG_TRACE].open.hidden_ms = diag_timeline_us(t->timeline, COMM | COMPUTE, COMM | COMPUTE) / 1e3 / parts;
    diag_step_close(d, DIAG_TRACE);
    d->series[DIAG_TRACE].origins[d->series[DIAG_TRACE].open.origin].count += t->steps > 1 ? t->steps - 1 : 0;
}

int diag_looks_like_trace(const char *chunk, size_t bytes)
{
    size_t i = 0;
    while (i < bytes && isspace((unsigned char)chunk[i]))
        i++;
    if (i == bytes || (chunk[i] != '{' && chunk[i] != '['))
        return 0;
    if (memmem(chunk, bytes, "\"collective_seq_id\"", 19) || memmem(chunk, bytes, "\"nccl_version\"", 14))
        return 1;
    return memmem(chunk, bytes, "\"traceEvents\"", 13) || memmem(chunk, bytes, "\"schemaVersion\"", 15) ||
           (memmem(chunk, bytes, "\"ph\"", 4) && memmem(chunk, bytes, "\"ts\"", 4));
}

int diag_read_trace(struct diagnosis *d, struct diag_input *in, struct err *e)
{
    struct trace t = {.d = d, .in = in, .timeline = diag_timeline_new(), .rank = -1};
    in->line = 1;
    enum token end = next(&t);
    if (end == OBJECT || end == ARRAY)
        end = end == OBJECT ? read_members(&t, DOCUMENT, CLOSE_OBJECT) : read_members(&t, EVENTS, CLOSE_ARRAY);
    else if (end != END)
        end = BROKEN;
    int rc = 0;
    if (end == BROKEN)
        rc = err_at(e, in->path, in->line, 0, "not valid JSON; expected a PyTorch profiler trace");
    else if (t.entries)
        diag_end_dump(d, t.rank);
    else if (!t.kernels)
        rc = err_at(e, in->path, end == END ? in->line : 0, 0,
                    "%s; expected GPU kernels in \"traceEvents\" (profile with ProfilerActivity.CUDA)",
                    end == END ? "the trace is cut off before any"
                               : "no GPU kernel in the trace (of nccl-tests' -J: nccltune results)");
    else
        add_step(&t);
    d->cut_traces += end == END;
    d->taken += t.kernels + t.entries;
    free(t.timeline);
    return rc;
}
