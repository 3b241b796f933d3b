/* What the process holds: the table, read and judged once, and a context for every shape of communicator.
 *
 * All of it is behind one mutex, taken by init and finalize alone. A table is judged equally on every rank that sees
 * the same file, variables and NCCL; what cannot be equal is what NCCLTUNE_HASH is for. */
#include "tuner/plugin/load.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/hash.h"
#include "tuner/libc/elf.h"
#include "tuner/plugin/source.h"

#define WHY_MAX         (PATH_MAX + 320)
#define TEXT_MAX        (WHY_MAX + 160)
#define HASH_DIGITS_MIN 16
#define WARNED_LINES    20
#define NEWEST_TESTED   230 /* 2.30; as ncclGetVersion has it, without the patch */

static struct {
    pthread_mutex_t mutex;
    int judged;
    int refused;                 /* NCCLTUNE_HASH is not met, or NCCLTUNE_REFUSE: every init fails, with ... */
    char refusal[TEXT_MAX];      /* ... this sentence */
    int active;                  /* the table is to be used */
    struct plugin_source source; /* its path stays for the log */
    char hash[SHA256_HEX];
    int nccl;                        /* as ncclGetVersion has it; 0: unknown */
    struct tuner_table table;        /* of a prepared one without its rules */
    struct plugin_prepared prepared; /* with data: the table is used in this form */
    struct tuner_binary binary;
    struct plugin_context *contexts; /* one per shape */
    struct plugin_next next;         /* the tuner that is asked first */
    int next_failed;                 /* it is left out from then on; communicators that have it keep it */
    struct plugin_context *chained;  /* a communicator each, with a context of that tuner's */
    long open;                       /* contexts given out */
} process = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static struct plugin_context inert;

/* ---- saying it ------------------------------------------------------------------------------------------------- */

__attribute__((format(printf, 3, 4))) static void say(nccl_logger log, int level, const char *fmt, ...)
{
    static char text[TEXT_MAX]; /* under the mutex */
    if (!log)
        return;
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    log(level, level == NCCLTUNE_LOG_WARN ? NCCLTUNE_SUBSYS_ALL : NCCLTUNE_SUBSYS_INIT | NCCLTUNE_SUBSYS_TUNING,
        __FILE__, __LINE__, "nccltune: %s", text);
}

struct complaints {
    nccl_logger log;
    const char *path;
    long lines;
    char whole[256]; /* the complaint about the file as a whole, if any */
};

static void complain(void *arg, long line, long column, const char *text)
{
    struct complaints *c = arg;
    if (!line)
        snprintf(c->whole, sizeof c->whole, "%s", text);
    else if (++c->lines <= WARNED_LINES)
        say(c->log, NCCLTUNE_LOG_WARN, "%s:%ld:%ld: %s; line skipped", c->path, line, column, text);
}

/* ---- judging the table, once ----------------------------------------------------------------------------------- */

static int same_word(const char *a, const char *b)
{
    for (; *a && (*a | 0x20) == *b; a++)
        b++;
    return !*a && !*b;
}

/* 1 when `wanted` is the beginning of the hash, in at least 16 digits of either case, with or without "sha256:". */
static int hash_fits(const char *wanted, const char *hash)
{
    static const char kind[] = "sha256:";
    if (!strncmp(wanted, kind, sizeof kind - 1))
        wanted += sizeof kind - 1;
    size_t n = 0;
    for (; wanted[n]; n++) {
        char c = wanted[n] >= 'A' && wanted[n] <= 'F' ? (char)(wanted[n] | 0x20) : wanted[n];
        if (c != hash[n])
            return 0;
    }
    return n >= HASH_DIGITS_MIN;
}

/* The table cannot be used. With NCCLTUNE_HASH that fails the job, at once and with one sentence, because a rank that
 * went on without the table would hang the ones that have it. */
static void unusable(nccl_logger log, const char *wanted, const char *why)
{
    process.refused = wanted != NULL;
    if (wanted)
        snprintf(process.refusal, sizeof process.refusal, "NCCLTUNE_HASH pins table %.80s, but %s", wanted, why);
    else
        say(log, NCCLTUNE_LOG_WARN, "%s; NCCL's own choices stay", why);
}

static int is_set(const char *name, const char *value)
{
    const char *v = getenv(name);
    return v && same_word(v, value);
}

/* Parses what was read and warns of broken lines. */
static int parse_wanted_table(nccl_logger log, const char *wanted)
{
    struct complaints c = {.log = log, .path = process.source.path};
    int rc = tuner_table_parse(&process.table, process.source.text, process.source.bytes, complain, &c);
    if (c.lines > WARNED_LINES)
        say(log, NCCLTUNE_LOG_WARN, "%s: %ld more lines skipped", c.path, c.lines - WARNED_LINES);
    if (rc) {
        char why[WHY_MAX];
        snprintf(why, sizeof why, "%s cannot be used: %s", c.path, c.whole);
        unusable(log, wanted, why);
    }
    return rc;
}

/* A table that names the running release was measured on it, through this plugin. One that names none is for those that
 * the plugin itself was tested with: what a later one asks or does with an answer nobody knows. */
static int version_fits(nccl_logger log, const void *caller)
{
    process.nccl = plugin_elf_nccl_version(caller);
    int major = process.nccl / 10000, minor = process.nccl / 100 % 100;
    int fits = tuner_table_fits(&process.table, major, minor);
    int tested = process.table.nccl_given || process.nccl / 100 <= NEWEST_TESTED;
    if (!process.nccl || (fits && tested) || is_set("NCCLTUNE_ANY_VERSION", "1"))
        return 1;
    if (fits) {
        say(log, NCCLTUNE_LOG_WARN,
            "NCCL %d.%d is newer than the tested releases, up to %d.%d, and %s does not name it; NCCL's own choices "
            "stay (NCCLTUNE_ANY_VERSION=1 uses the table)",
            major, minor, NEWEST_TESTED / 100, NEWEST_TESTED % 100, process.source.path);
        return 0;
    }
    say(log, NCCLTUNE_LOG_WARN,
        "%s was not measured on NCCL %d.%d; NCCL's own choices stay (NCCLTUNE_ANY_VERSION=1 uses the table)",
        process.source.path, major, minor);
    return 0;
}

/* The table that NCCLTUNE_HASH pins, in its prepared form: then tuner.csv is not read. */
static int take_prepared(const char *wanted)
{
    struct plugin_prepared *p = &process.prepared;
    if (!wanted || !plugin_prepared_read(p))
        return 0;
    if (!tuner_binary_open(&process.binary, p->data, p->bytes, &process.table) &&
        hash_fits(wanted, process.binary.csv_sha256)) {
        memcpy(process.hash, process.binary.csv_sha256, sizeof process.hash);
        memcpy(process.source.path, p->path, sizeof p->path);
        return 1;
    }
    memset(&process.table, 0, sizeof process.table);
    plugin_prepared_free(p);
    return 0;
}

static void judge_environment(nccl_logger log, const void *caller)
{
    struct plugin_source *s = &process.source;
    const char *wanted = getenv("NCCLTUNE_HASH"), *refusal = getenv("NCCLTUNE_REFUSE");
    wanted = wanted && *wanted ? wanted : NULL;
    if (is_set("NCCLTUNE", "off")) {
        say(log, NCCLTUNE_LOG_INFO, "off (NCCLTUNE=off)");
        return;
    }
    if (refusal && *refusal) { /* from a Slurm hook that could not tell what the job gets */
        process.refused = 1;
        snprintf(process.refusal, sizeof process.refusal, "%s", refusal);
        return;
    }
    if (take_prepared(wanted)) {
        process.active = version_fits(log, caller);
        return;
    }
    plugin_source_read(s);
    if (s->error[0]) {
        unusable(log, wanted, s->error);
    } else if (!s->path[0]) {
        if (wanted)
            unusable(log, wanted, "there is no table");
        else
            say(log, NCCLTUNE_LOG_INFO, "no table found; NCCL's own choices stay");
    } else {
        sha256_of(s->text, s->bytes, process.hash);
        if (wanted && !hash_fits(wanted, process.hash)) {
            char why[WHY_MAX];
            snprintf(why, sizeof why, "%s is %s", s->path, process.hash);
            unusable(log, wanted, why);
        } else if (!parse_wanted_table(log, wanted)) {
            process.active = version_fits(log, caller);
        }
    }
    free(s->text);
}

/* ---- contexts -------------------------------------------------------------------------------------------------- */

int plugin_is_relegated(const struct plugin_context *c, const struct tuner_call *call, const float *given)
{
    int reduces = call->coll == COLL_ALLREDUCE || call->coll == COLL_REDUCESCATTER || call->coll == COLL_REDUCE;
    float ring = FLT_MAX, other = FLT_MAX;
    if (!reduces || !given || !call->cost)
        return 0;
    for (int a = 0; a < call->algos; a++)
        for (int p = 0; p < call->protos; p++) {
            float us = given[(size_t)a * (size_t)call->protos + (size_t)p];
            float *least = a == ALGO_RING ? &ring : &other;
            if (tuner_is_available(us) && us < *least)
                *least = us;
        }
    float operations = call->pipe_ops > 1 ? (float)call->pipe_ops : 1;
    return ring < FLT_MAX && other < FLT_MAX && ring > PLUGIN_DEAR_TIMES * other && ring > c->dear_us * operations;
}

static int count_of(size_t n)
{
    return n < INT_MAX ? (int)n : INT_MAX;
}

/* Versions 1 and 2 run what the plugin names, even what NCCL_ALGO and NCCL_PROTO exclude; from version 3 on NCCL itself
 * withholds it. Where a user has set one of them, that stands. */
static int user_decides(int api)
{
    const char *algo = getenv("NCCL_ALGO"), *proto = getenv("NCCL_PROTO");
    return api <= 2 && ((algo && *algo) || (proto && *proto));
}

static struct plugin_context *context_of(const struct tuner_shape *shape, int api, nccl_logger log)
{
    struct plugin_context *c = process.contexts;
    while (c && !(c->api == api && c->shape.nodes == shape->nodes && c->shape.ranks == shape->ranks &&
                  c->shape.domains == shape->domains))
        c = c->next;
    if (c)
        return c;
    c = calloc(1, sizeof *c);
    if (!c) {
        say(log, NCCLTUNE_LOG_WARN, "no memory; NCCL's own choices stay");
        return &inert;
    }
    c->shape = *shape;
    c->api = api;
    c->dear_us = shape->ranks > PLUGIN_RELEGATED_RANKS ? PLUGIN_DEAR_RANK_US * (float)shape->ranks : FLT_MAX;
    c->dear_bits = shape->ranks > PLUGIN_RELEGATED_RANKS ? tuner_cost_bits(c->dear_us) : UINT32_MAX;
    c->next = process.contexts;
    process.contexts = c;
    if (!process.active)
        return c;
    if (user_decides(api)) {
        say(log, NCCLTUNE_LOG_INFO, "NCCL_ALGO or NCCL_PROTO is set; with this NCCL they decide alone");
        return c;
    }
    c->index =
        process.prepared.data ? tuner_binary_index(&process.binary, shape) : tuner_index_new(&process.table, shape);
    c->alone = c->index;
    if (!c->index)
        say(log, NCCLTUNE_LOG_WARN, "no memory for the rules; NCCL's own choices stay");
    else if (tuner_index_is_scanned(c->index))
        say(log, NCCLTUNE_LOG_INFO, "the table's rules overlap too much to be indexed; they are scanned in order");
    return c;
}

static const char *plural(size_t n)
{
    return n == 1 ? "" : "s";
}

static void say_applied(const struct plugin_context *c, nccl_logger log)
{
    char nccl[32] = "unknown version", skipped[48] = "", domains[32] = "";
    if (!log || !c->index)
        return;
    if (process.nccl)
        snprintf(nccl, sizeof nccl, "%d.%d", process.nccl / 10000, process.nccl / 100 % 100);
    if (process.table.broken)
        snprintf(skipped, sizeof skipped, " (%zu line%s skipped)", process.table.broken, plural(process.table.broken));
    if (c->shape.domains != TUNER_UNKNOWN)
        snprintf(domains, sizeof domains, ", %d NVLink domain%s", c->shape.domains, plural((size_t)c->shape.domains));
    const struct tuner_shape *shape = &c->shape;
    say(log, NCCLTUNE_LOG_INFO, "%s: %zu rule%s%s, sha256 %.12s, NCCL %s; %zu for %d node%s, %d rank%s%s",
        process.source.path, process.table.count, plural(process.table.count), skipped, process.hash, nccl,
        c->index->rules, shape->nodes, plural((size_t)shape->nodes), shape->ranks, plural((size_t)shape->ranks),
        domains);
}

/* ---- the tuner that is asked first ------------------------------------------------------------------------------- */

/* What the variable names; else what the table was measured over; without a table all is as without the plugin. */
static void load_next(const struct plugin_opening *o)
{
    char why[512];
    const char *named = getenv("NCCLTUNE_NEXT_TUNER");
    if (!named || !*named)
        named = !process.active || process.table.next_auto ? "auto" : "none";
    if (plugin_next_load(&process.next, named, o->api, why, sizeof why))
        say(o->log, NCCLTUNE_LOG_WARN, "NCCLTUNE_NEXT_TUNER=%.300s %s; no other tuner is asked", named, why);
    else if (process.next.tuner)
        say(o->log, NCCLTUNE_LOG_INFO, "asks tuner %.100s (%s, interface version %d) before its table",
            process.next.name, process.next.path, process.next.version);
}

/* Version 1 has no contexts: the first communicator's stands for all of them, and what a next tuner of version 1 counts
 * it is told. */
static struct plugin_context *chained_for_version_1(void)
{
    struct plugin_context *c = process.chained;
    while (c && c->api != 1)
        c = c->next;
    return c;
}

struct chained {
    struct plugin_context context;
    struct plugin_chain chain;
};

/* A context of this communicator's own over `shared`, which it is on when the next tuner cannot be asked. */
static struct plugin_context *chained_over(struct plugin_context *shared, const struct plugin_opening *o)
{
    char why[64];
    struct plugin_context *first = o->api == 1 ? chained_for_version_1() : NULL;
    if (first && process.next.version > 1)
        return first;
    struct chained *c = calloc(1, sizeof *c);
    if (!c)
        return shared;
    c->chain.next = &process.next;
    if (plugin_chain_init(&c->chain, o, why, sizeof why)) {
        say(o->log, NCCLTUNE_LOG_WARN,
            "tuner %.100s (%s) is left out: %s; if it fails on some ranks only, the others still use it and calls "
            "hang: NCCLTUNE_NEXT_TUNER=none leaves it out everywhere",
            process.next.name, process.next.path, why);
        process.next_failed = 1;
        free(c);
        return shared;
    }
    if (first) {
        free(c);
        return first;
    }
    c->context = *shared;
    c->context.alone = NULL;
    c->context.chain = &c->chain;
    c->context.next = process.chained;
    process.chained = &c->context;
    return &c->context;
}

static void close_chained(void *context)
{
    struct plugin_context **link = &process.chained;
    if (!context) {
        const struct plugin_context *first = chained_for_version_1();
        if (first && first->chain->next->version == 1)
            plugin_chain_destroy(first->chain);
        return;
    }
    while (*link && *link != context)
        link = &(*link)->next;
    struct plugin_context *c = *link;
    if (!c)
        return;
    *link = c->next;
    plugin_chain_destroy(c->chain);
    free(c); /* the first member of its struct chained */
}

const struct plugin_next *plugin_next_active(void)
{
    return process.next.tuner && !process.next_failed ? &process.next : NULL;
}

/* ---- public ---------------------------------------------------------------------------------------------------- */

int plugin_open(const struct plugin_opening *o, struct plugin_context **context)
{
    int domains = o->domains && o->domains->domains >= 0 ? o->domains->domains : TUNER_UNKNOWN;
    struct tuner_shape shape = {count_of(o->nodes), count_of(o->ranks), domains};
    int rc = NCCLTUNE_SUCCESS;
    *context = NULL;
    pthread_mutex_lock(&process.mutex);
    if (!process.judged) {
        judge_environment(o->log, o->caller);
        if (!process.refused)
            load_next(o);
    }
    process.judged = 1;
    if (process.refused) {
        say(o->log, NCCLTUNE_LOG_WARN, "%s", process.refusal);
        rc = NCCLTUNE_INVALID_USAGE;
    } else {
        *context = context_of(&shape, o->api, o->log);
        process.open++;
        say_applied(*context, o->log);
        if (plugin_next_active())
            *context = chained_over(*context, o);
    }
    pthread_mutex_unlock(&process.mutex);
    return rc;
}

void plugin_close(void *context)
{
    pthread_mutex_lock(&process.mutex);
    process.open -= process.open > 0;
    close_chained(context);
    pthread_mutex_unlock(&process.mutex);
}

/* NCCL unloads the plugin after its last communicator; the memory goes with it. While communicators are open this is
 * the end of the program, and other threads may still be in the middle of a call. */
__attribute__((destructor)) static void unload(void)
{
    if (process.open)
        return;
    for (struct plugin_context *c = process.contexts, *next; c; c = next) {
        next = c->next;
        tuner_index_free(c->index);
        free(c);
    }
    for (struct plugin_context *c = process.chained, *next; c; c = next) {
        next = c->next;
        free(c);
    }
    tuner_table_free(&process.table);
    tuner_binary_close(&process.binary);
    plugin_prepared_free(&process.prepared);
}
