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
    unsigned char *points;
    double spacing_us;
    int64_t base;      /* points[0] stands at base × spacing */
    int64_t low, high; /* [low, high) was touched, as multiples of the spacing */
    int empty;
};

struct diag_timeline *diag_timeline_new(void)
{
    struct diag_timeline *t = calloc(1, sizeof *t);
    if (!t || !(t->points = calloc((size_t)POINTS, 1)))
        abort();
    t->spacing_us = SPACING;
    t->empty = 1;
    return t;
}

void diag_timeline_free(struct diag_timeline *t)
{
    if (t)
        free(t->points);
    free(t);
}

static int64_t ceil_half(int64_t x)
{
    return -(-x >> 1);
}

/* Keeps the points at even multiples of the spacing, which becomes twice as wide. */
static void halve(struct diag_timeline *t)
{
    int64_t base = ceil_half(t->base), low = ceil_half(t->low), high = ceil_half(t->high), old = t->high - t->base;
    memset(t->points, 0, (size_t)(low - base));
    for (int64_t i = low; i < high; i++)
        t->points[i - base] = t->points[2 * i - t->base];
    memset(t->points + (high - base), 0, (size_t)(old - (high - base)));
    t->base = base;
    t->low = low;
    t->high = high;
    t->spacing_us *= 2;
}

/* Moves what was touched so that [low, high) has its place in the middle of the points. */
static void move(struct diag_timeline *t, int64_t low, int64_t high)
{
    int64_t base = low - (POINTS - (high - low)) / 2, used = t->high - t->low;
    memmove(t->points + (t->low - base), t->points + (t->low - t->base), (size_t)used);
    memset(t->points, 0, (size_t)(t->low - base));
    memset(t->points + (t->high - base), 0, (size_t)(POINTS - (t->high - base)));
    t->base = base;
}

void diag_timeline_add(struct diag_timeline *t, double start_us, double duration_us, unsigned bit)
{
    if (!(duration_us > 0) || !(fabs(start_us) < 1e17) || !(duration_us < 1e12))
        return;
    for (;;) {
        int64_t from = (int64_t)ceil(start_us / t->spacing_us);
        int64_t to = (int64_t)ceil((start_us + duration_us) / t->spacing_us);
        if (from == to)
            return;
        if (t->empty) {
            t->base = t->low = t->high = from;
            t->empty = 0;
        }
        int64_t low = from < t->low ? from : t->low, high = to > t->high ? to : t->high;
        /* A quarter of the points stays free, so that moving is rare. */
        if (high - low > POINTS / 4 * 3) {
            halve(t);
            continue;
        }
        if (low < t->base || high > t->base + POINTS)
            move(t, low, high);
        t->low = low;
        t->high = high;
        for (int64_t i = from - t->base; i < to - t->base; i++)
            t->points[i] |= (unsigned char)bit;
        return;
    }
}

double diag_timeline_us(const struct diag_timeline *t, unsigned mask, unsigned bits)
{
    int64_t n = 0;
    for (int64_t i = t->low - t->base; i < t->high - t->base; i++)
        n += (t->points[i] & mask) == bits;
    return (double)n * t->spacing_us;
}

/* ---- traces ------------------------------------------------------------------------------------------------------ */

enum { COMM = 1, COMPUTE = 2, COPY = 4 };
#define TEXT   256 /* of strings that matter; the rest is cut */
#define GROUPS 64  /* process groups of a rank */

/* ---- tokens ------------------------------------------------------------------------------------------------------ */

enum token { END, BROKEN, OBJECT, ARRAY, CLOSE_OBJECT, CLOSE_ARRAY, COLON, COMMA, STRING, ATOM };

struct scanner {
    struct diag_input *in;
    char text[TEXT]; /* of the last string or atom */
    int pushed;      /* a character to be read again, -1: none */
};

static int next_char(struct scanner *s)
{
    int c = s->pushed >= 0 ? s->pushed : diag_getc(s->in);
    if (c == '\n' && s->pushed < 0)
        s->in->line++;
    s->pushed = -1;
    return c;
}

static enum token read_string(struct scanner *s)
{
    size_t n = 0;
    for (int c; (c = next_char(s)) != '"';) {
        if (c < 0)
            return END;
        /* The only escapes in names that matter are quotes and slashes: the escaped character stands for itself. */
        if (c == '\\' && (c = next_char(s)) < 0)
            return END;
        if (n < TEXT - 1)
            s->text[n++] = (char)c;
    }
    s->text[n] = 0;
    return STRING;
}

static enum token read_atom(struct scanner *s, int c)
{
    size_t n = 0;
    for (; isalnum(c) || c == '-' || c == '+' || c == '.'; c = next_char(s))
        if (n < TEXT - 1)
            s->text[n++] = (char)c;
    s->text[n] = 0;
    s->pushed = c;
    return n ? ATOM : BROKEN;
}

static enum token next(struct scanner *s)
{
    static const char marks[] = "{[}]:,";
    static const enum token tokens[] = {OBJECT, ARRAY, CLOSE_OBJECT, CLOSE_ARRAY, COLON, COMMA};
    int c;
    do
        c = next_char(s);
    while (c == ' ' || c == '\t' || c == '\r' || c == '\n');
    const char *mark = c > 0 ? strchr(marks, c) : NULL;
    if (c < 0)
        return END;
    if (mark)
        return tokens[mark - marks];
    return c == '"' ? read_string(s) : read_atom(s, c);
}

/* Passes over the value that begins with `t`. Nesting is counted, not recursed into. */
static enum token skip_value(struct scanner *s, enum token t)
{
    long depth = 0;
    for (;; t = next(s)) {
        if (t == END || t == BROKEN)
            return t;
        depth += (t == OBJECT || t == ARRAY) - (t == CLOSE_OBJECT || t == CLOSE_ARRAY);
        if (depth <= 0)
            return t;
    }
}

/* ---- events ------------------------------------------------------------------------------------------------------ */

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
    struct diag_timeline *timeline;
    char device[32]; /* "pid" of the GPU that counts */
    long kernels, steps;
    /* The flight recorder's entries, by process group, and the rank that the dump names. */
    long entries;
    struct diag_dump dumps[GROUPS];
    int ndumps, rank;
    struct diag_traced shapes[SHAPES]; /* NCCL's kernels by call */
    int nshapes;
};

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

/* ["0", "default_pg"]: the first is the group's name. Returns a closing bracket, END or BROKEN. */
static enum token read_group(struct scanner *s, struct event *ev)
{
    enum token t = next(s);
    if (t == STRING)
        snprintf(ev->group, sizeof ev->group, "%.23s", s->text);
    while (t == STRING || t == ATOM || t == COMMA)
        t = next(s);
    return t == CLOSE_ARRAY || t == END ? t : BROKEN;
}

/* The members of an object of the array, and of the "args" within it, its '{' already read. */
static enum token read_members(struct scanner *s, struct event *ev, int depth)
{
    for (enum token t = next(s); t != CLOSE_OBJECT; t = next(s)) {
        char key[24];
        if (t == COMMA)
            continue;
        if (t != STRING)
            return t == END ? END : BROKEN;
        snprintf(key, sizeof key, "%.23s", s->text);
        if ((t = next(s)) != COLON)
            return t == END ? END : BROKEN;
        t = next(s);
        if (t == STRING || t == ATOM)
            take_field(ev, key, t, s->text);
        if (t == OBJECT && !depth && !strcmp(key, "args")) {
            if ((t = read_members(s, ev, 1)) <= BROKEN)
                return t;
            continue;
        }
        if (t == ARRAY && !strcmp(key, "process_group") && (t = read_group(s, ev)) <= BROKEN)
            return t;
        if ((t == OBJECT || t == ARRAY || t == COLON || t == COMMA) && (t = skip_value(s, t)) <= BROKEN)
            return t;
    }
    return CLOSE_OBJECT;
}

static enum token read_event(struct scanner *s, struct event *ev)
{
    memset(ev, 0, sizeof *ev);
    ev->duration_us = ev->sequence = -1;
    return read_members(s, ev, 0);
}

/* Kernels of NCCL and RCCL: ncclDevKernel_..., ncclKernel_..., ncclSymkDevKernel_..., rcclGenericKernel. */
static int is_nccl(const char *name)
{
    return !strncmp(name, "nccl", 4) || strstr(name, "ncclDevKernel") || strstr(name, "ncclKernel") ||
           !strncmp(name, "rccl", 4) || !strncmp(name, "msccl", 5);
}

static void take_entry(struct trace *t, const struct event *ev)
{
    const long seq = (long)ev->sequence;
    int i = 0;
    t->entries++;
    while (i < t->ndumps && strcmp(t->dumps[i].group, ev->group) != 0)
        i++;
    if (i == GROUPS)
        return;
    struct diag_dump *x = &t->dumps[i];
    if (i == t->ndumps) {
        t->ndumps++;
        *x = (struct diag_dump){.open_seq = -1, .last_seq = -1};
        memcpy(x->group, ev->group, sizeof x->group);
    }
    x->last_seq = seq > x->last_seq ? seq : x->last_seq;
    if (strcmp(ev->state, "completed") != 0 && (x->open_seq < 0 || seq < x->open_seq)) {
        x->open_seq = seq;
        snprintf(x->open_name, sizeof x->open_name, "%.47s", ev->name);
    }
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
    if (*ev->state && ev->sequence >= 0 && ev->sequence < 1e15)
        take_entry(t, ev);
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

/* The array of events, its '[' already read. */
static enum token read_events(struct scanner *s, struct trace *t)
{
    struct event ev;
    for (;;) {
        enum token k = next(s);
        if (k == CLOSE_ARRAY || k == END)
            return k;
        if (k == COMMA)
            continue;
        if (k != OBJECT)
            return BROKEN;
        k = read_event(s, &ev);
        if (k != CLOSE_OBJECT)
            return k;
        take_event(t, &ev);
    }
}

/* The outermost value: an object with "traceEvents", or the array itself. */
static enum token read_document(struct scanner *s, struct trace *t)
{
    enum token k = next(s);
    if (k == ARRAY)
        return read_events(s, t);
    if (k != OBJECT)
        return k == END ? END : BROKEN;
    for (k = next(s); k != CLOSE_OBJECT; k = next(s)) {
        if (k == COMMA)
            continue;
        if (k != STRING)
            return k == END ? END : BROKEN;
        int events = !strcmp(s->text, "traceEvents") || !strcmp(s->text, "entries"), rank = !strcmp(s->text, "rank");
        double number;
        if ((k = next(s)) != COLON)
            return k == END ? END : BROKEN;
        k = next(s);
        if (rank && k == ATOM && diag_number(s->text, &number) && number >= 0 && number < DIAG_RANKS)
            t->rank = (int)number;
        k = events && k == ARRAY ? read_events(s, t) : k == STRING || k == ATOM ? k : skip_value(s, k);
        if (k == END || k == BROKEN)
            return k;
    }
    return k;
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

/* One dump of PyTorch's flight recorder: one rank, by what the dump, the file's name or its last digits say. */
static void add_dumps(struct trace *t, const char *path)
{
    const char *base = strrchr(path, '/'), *p;
    int rank = t->rank >= 0 ? t->rank : diag_rank_of_name(path);
    base = base ? base + 1 : path;
    p = base + strcspn(base, "0123456789");
    if (rank < 0 && *p && p[strspn(p, "0123456789")] == '.')
        rank = (int)strtol(p, NULL, 10) % DIAG_RANKS;
    for (int i = 0; i < t->ndumps; i++) {
        t->dumps[i].rank = rank;
        t->dumps[i].file = t->d->result.nfiles - 1;
        diag_recorder_add(t->d, &t->dumps[i]);
    }
}

int diag_read_trace(struct diagnosis *d, struct diag_input *in, struct err *e)
{
    struct scanner s = {.in = in, .pushed = -1};
    struct trace t = {.d = d, .timeline = diag_timeline_new(), .rank = -1};
    in->line = 1;
    enum token end = read_document(&s, &t);
    int rc = 0;
    if (end == BROKEN)
        rc = err_at(e, in->path, in->line, 0, "not valid JSON; expected a PyTorch profiler trace");
    else if (t.entries)
        add_dumps(&t, in->path);
    else if (!t.kernels)
        rc = err_at(e, in->path, end == END ? in->line : 0, 0,
                    "%s; expected GPU kernels in \"traceEvents\" (profile with ProfilerActivity.CUDA)",
                    end == END ? "the trace is cut off before any"
                               : "no GPU kernel in the trace (of nccl-tests' -J: nccltune results)");
    else
        add_step(&t);
    d->cut_traces += end == END;
    d->taken += t.kernels + t.entries;
    diag_timeline_free(t.timeline);
    return rc;
}
