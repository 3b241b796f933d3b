/* A double of NCCL's side of the tuner interface: it looks for symbols newest first as each release does, passes the
 * cost table flat, and selects from it as that release does. Also what every test of the plugin needs around it: a
 * child process per test, because the plugin reads its table once per process, and a logger that remembers. */
#pragma once

#include <dlfcn.h>
#include <float.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/coll.h"
#include "tests/lib/unit.h"
#include "tuner/plugin/abi.h"

#define CHECK(condition)                                                            \
    do {                                                                            \
        if (!(condition)) {                                                         \
            fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #condition); \
            exit(1);                                                                \
        }                                                                           \
    } while (0)

static inline int same_bytes(const void *a, const void *b, size_t n)
{
    return memcmp(a, b, n) == 0;
}

/* ---- one child per test ---------------------------------------------------------------------------------------- */

static inline void in_child(void (*test)(int), int argument)
{
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        alarm(180);
        test(argument);
        exit(0);
    }
    int status = -1;
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

/* ---- log ------------------------------------------------------------------------------------------------------- */

static struct {
    int warnings, infos, others;
    char text[1 << 16];
} logged;

static inline void remember(int level, unsigned long subsystems, const char *file, int line, const char *fmt, ...)
{
    (void)subsystems, (void)file, (void)line;
    size_t used = strlen(logged.text);
    va_list args;
    va_start(args, fmt);
    vsnprintf(logged.text + used, sizeof logged.text - used, fmt, args);
    va_end(args);
    strncat(logged.text, "\n", sizeof logged.text - strlen(logged.text) - 1);
    if (level == NCCLTUNE_LOG_WARN)
        logged.warnings++;
    else if (level == NCCLTUNE_LOG_INFO)
        logged.infos++;
    else
        logged.others++;
}

/* ---- tables ---------------------------------------------------------------------------------------------------- */

static char table_dir[64], table_path[96];

static inline const char *write_table(const char *text, size_t bytes)
{
    if (!table_dir[0]) {
        snprintf(table_dir, sizeof table_dir, "/tmp/nccltune-test-XXXXXX");
        CHECK(mkdtemp(table_dir));
        snprintf(table_path, sizeof table_path, "%s/tuner.csv", table_dir);
    }
    FILE *f = fopen(table_path, "w");
    CHECK(f && fwrite(text, 1, bytes, f) == bytes && fclose(f) == 0);
    return table_path;
}

static inline void remove_table(void)
{
    if (table_dir[0]) {
        unlink(table_path);
        rmdir(table_dir);
    }
}

static inline void clear_environment(void)
{
    static const char *const variables[] = {
        "NCCLTUNE",        "NCCL_TUNER_CONFIG_FILE", "NCCLTUNE_PROFILE",    "NCCLTUNE_HASH",
        "NCCLTUNE_REFUSE", "NCCLTUNE_ANY_VERSION",   "NCCLTUNE_NEXT_TUNER", "NCCL_ALGO",
        "NCCL_PROTO"};
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        unsetenv(variables[i]);
}

/* The table that NCCL_TUNER_CONFIG_FILE names; gone when the child ends. */
static inline void use_table(const char *text)
{
    clear_environment();
    setenv("NCCL_TUNER_CONFIG_FILE", write_table(text, strlen(text)), 1);
    atexit(remove_table);
}

/* ---- NCCL ------------------------------------------------------------------------------------------------------ */

enum { NCCL_2_19 = 19, NCCL_2_21 = 21, NCCL_2_22 = 22, NCCL_2_24 = 24, NCCL_2_28 = 28, NCCL_2_30 = 30, NCCL_2_31 = 31 };

/* One release for every version of the interface, and the one that selects differently. */
static const int releases[] = {NCCL_2_19, NCCL_2_21, NCCL_2_22, NCCL_2_24, NCCL_2_28, NCCL_2_30, NCCL_2_31};
#define RELEASES (sizeof releases / sizeof *releases)

struct loader {
    int minor; /* NCCL 2.minor */
    int api;   /* the version that was found */
    const void *tuner;
    void *context;
    int silent; /* pass no logger */
};

static inline void *plugin_library(void)
{
    const char *path = getenv("NCCLTUNE_PLUGIN_SO");
    void *lib = dlopen(path ? path : "build/libnccl-tuner-nccltune.so", RTLD_NOW | RTLD_LOCAL);
    if (!lib)
        fprintf(stderr, "%s\n", dlerror());
    CHECK(lib);
    return lib;
}

/* Newest first, from the newest that the release knows; 2.19 and 2.21 know one each. */
static inline struct loader load(int minor)
{
    int newest = minor >= 31   ? 7
                 : minor >= 30 ? 6
                 : minor >= 28 ? 5
                 : minor >= 24 ? 4
                 : minor >= 22 ? 3
                 : minor >= 21 ? 2
                               : 1;
    int oldest = minor >= 21 ? 2 : 1;
    struct loader l = {.minor = minor};
    void *lib = plugin_library();
    for (l.api = newest; l.api >= oldest && !l.tuner; l.api--) {
        char symbol[32];
        snprintf(symbol, sizeof symbol, "ncclTunerPlugin_v%d", l.api);
        l.tuner = dlsym(lib, symbol);
    }
    l.api++;
    CHECK(l.tuner && l.api == newest);
    return l;
}

static inline int init(struct loader *l, size_t ranks, size_t nodes, struct nccl_nvl_domains *domains,
                       struct nccl_constants *constants)
{
    const struct nccl_tuner_v1 *v1 = l->tuner;
    const struct nccl_tuner_v2 *v2 = l->tuner; /* init is the same in versions 2 to 4 and in 5 to 7 */
    const struct nccl_tuner_v5 *v5 = l->tuner;
    nccl_logger log = l->silent ? NULL : remember;
    l->context = NULL;
    if (l->api == 1)
        return v1->init(ranks, nodes, log);
    if (l->api <= 4)
        return v2->init(ranks, nodes, log, &l->context);
    return v5->init(&l->context, 7, ranks, nodes, log, domains, constants);
}

static inline int destroy(struct loader *l)
{
    const struct nccl_tuner_v1 *v1 = l->tuner;
    const struct nccl_tuner_v2 *v2 = l->tuner; /* the fourth member in versions 2 to 6 */
    return l->api == 1 ? v1->destroy() : v2->destroy(l->context);
}

struct question {
    int coll;
    size_t bytes;
    int pipe_ops, reg_buff;
    int collnet, nvls; /* what versions 1 and 2 are told */
    float cost[ALGO_COUNT][PROTO_COUNT];
    /* what NCCL ends up with; channels 0 is its own number */
    int algo, proto, channels;
};

/* Everything is available, and nothing is cheaper than Ring/LL but what the plugin writes. */
static inline struct question question(int coll, size_t bytes)
{
    struct question q = {.coll = coll, .bytes = bytes, .pipe_ops = 1};
    for (int a = 0; a < ALGO_COUNT; a++)
        for (int p = 0; p < PROTO_COUNT; p++)
            q.cost[a][p] = 2;
    q.cost[ALGO_RING][PROTO_LL] = 1;
    return q;
}

/* Up to 2.30: the smallest that is not negative, the first of equals. 2.31: the last of equals, and a negative cost is
 * smaller than any other among the combinations that were available before the plugin was asked. */
static inline void select_cell(const struct loader *l, struct question *q, const float before[ALGO_COUNT][PROTO_COUNT])
{
    float best = FLT_MAX;
    q->algo = q->proto = -1;
    for (int a = 0; a < ALGO_COUNT; a++)
        for (int p = 0; p < PROTO_COUNT; p++) {
            float cost = q->cost[a][p];
            int candidate = l->minor >= 31 ? before[a][p] >= 0 : cost >= 0;
            if (candidate && (cost < best || (l->minor >= 31 && cost <= best))) {
                best = cost;
                q->algo = a;
                q->proto = p;
            }
        }
}

/* Returns what the plugin returned. */
static inline int ask(const struct loader *l, struct question *q)
{
    const struct nccl_tuner_v1 *v1 = l->tuner;
    const struct nccl_tuner_v2 *v2 = l->tuner;
    const struct nccl_tuner_v3 *v3 = l->tuner;
    const struct nccl_tuner_v4 *v4 = l->tuner; /* as in 5 and 6 */
    float before[ALGO_COUNT][PROTO_COUNT];
    int rc;
    memcpy(before, q->cost, sizeof before);
    q->algo = q->proto = -1;
    q->channels = 0;
    if (l->api == 1)
        rc = v1->get_coll_info(q->coll, q->bytes, q->collnet, q->nvls, q->pipe_ops, &q->algo, &q->proto, &q->channels);
    else if (l->api == 2)
        rc = v2->get_coll_info(l->context, q->coll, q->bytes, q->collnet, q->nvls, q->pipe_ops, &q->algo, &q->proto,
                               &q->channels);
    else if (l->api == 3)
        rc = v3->get_coll_info(l->context, q->coll, q->bytes, q->pipe_ops, (float **)q->cost, ALGO_COUNT, PROTO_COUNT,
                               &q->channels);
    else
        rc = v4->get_coll_info(l->context, q->coll, q->bytes, q->pipe_ops, (float **)q->cost, ALGO_COUNT, PROTO_COUNT,
                               q->reg_buff, &q->channels);
    if (l->api >= 3 || q->algo < 0 || q->proto < 0)
        select_cell(l, q, before);
    return rc;
}
