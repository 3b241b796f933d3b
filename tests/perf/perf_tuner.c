/* getCollInfo of the built plugin, next to an empty function called through the same kind of pointer and to a linear
 * first-match scan over the same rules; how long init takes and how much memory it makes the process's own, from
 * tuner.csv, from tuner.bin and, where NVIDIA_TUNER_SO names one, by NVIDIA's example (plugins/tuner/example of NCCL);
 * and the plugin over another tuner next to that tuner alone. Run from the repository root. */
#include <dlfcn.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/coll.h"
#include "core/hash.h"
#include "core/stats.h"
#include "tuner/plugin/abi.h"
#include "tuner/table/index.h"

#define RULE_BYTES ((uint64_t)128 << 10) /* largest width of a rule's range */
#define SIZES      65536                 /* random sizes, drawn before anything is timed */
#define BATCH      64                    /* calls between two readings of the clock */
#define BATCHES    20000
#define SLOW_CALLS 200 /* calls of a scan that takes microseconds are timed one by one */

static uint64_t sizes[SIZES];
static float cost[ALGO_COUNT][PROTO_COUNT];

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static uint64_t rnd(void)
{
    static uint64_t state = 88172645463325252;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state * 0x2545f4914f6cdd1d >> 8;
}

/* ---- the peers ------------------------------------------------------------------------------------------------- */

static int empty_call(void *context, int coll, size_t bytes, int pipe_ops, float **table, int algos, int protos,
                      int reg_buff, int *channels)
{
    (void)context, (void)coll, (void)bytes, (void)pipe_ops, (void)table, (void)algos, (void)protos, (void)reg_buff;
    (void)channels;
    return 0;
}

struct scanned_rule {
    size_t min, max;
    int coll, algo, proto, channels, nodes, ranks, pipe_ops, reg_buff;
};

static struct scanned_rule *scanned;
static size_t scanned_count;
static uint64_t end_bytes;      /* behind the last range */
static int reg_buff_asked = -1; /* what the rules ask for; calls are of plain buffers */

static int scan_call(void *context, int coll, size_t bytes, int pipe_ops, float **table, int algos, int protos,
                     int reg_buff, int *channels)
{
    const int *shape = context;
    float *cells = (float *)table;
    for (size_t i = 0; i < scanned_count; i++) {
        const struct scanned_rule *r = &scanned[i];
        if (r->coll != coll || bytes < r->min || bytes > r->max || (r->nodes != -1 && r->nodes != shape[0]) ||
            (r->ranks != -1 && r->ranks != shape[1]) || (r->pipe_ops != -1 && r->pipe_ops != pipe_ops) ||
            (r->reg_buff != -1 && r->reg_buff != reg_buff) || r->algo >= algos || r->proto >= protos)
            continue;
        float *cell = &cells[r->algo * protos + r->proto];
        if (*cell < 0)
            continue;
        *cell = 0;
        if (r->channels > 0)
            *channels = r->channels;
        return 0;
    }
    return 0;
}

/* ---- timing ---------------------------------------------------------------------------------------------------- */

struct quantiles {
    double p50, p99;
};

struct timed {
    nccl_get_coll_info_v4 *call;
    void *context;
    uint64_t fixed; /* one size instead of the random ones */
    struct quantiles ns;
};

/* ns per call of each function: the median and the 99th percentile over batches of `batch` calls, each with the next
 * random size. The functions take turns, batch by batch, so that a machine that changes its speed does so for all of
 * them; the clock's own cost is spread over the batch. */
static void time_calls(struct timed *t, size_t count, int batches, int batch)
{
    static double ns[2][BATCHES];
    size_t at = 0;
    int channels = 0;
    for (int i = -batches / 10; i < batches; i++) /* negative: warming up */
        for (size_t k = 0; k < count; k++) {
            nccl_get_coll_info_v4 *volatile *call = (nccl_get_coll_info_v4 *volatile *)&t[k].call;
            double start = now_ns();
            for (int j = 0; j < batch; j++) {
                size_t bytes = t[k].fixed ? t[k].fixed : sizes[at++ % SIZES];
                (*call)(t[k].context, COLL_ALLREDUCE, bytes, 1, (float **)cost, ALGO_COUNT, PROTO_COUNT, 0, &channels);
            }
            if (i >= 0)
                ns[k][i] = (now_ns() - start) / batch;
        }
    for (size_t k = 0; k < count; k++) {
        stats_sort(ns[k], batches);
        t[k].ns = (struct quantiles){ns[k][batches / 2], ns[k][batches - 1 - batches / 100]};
    }
}

/* ---- one table ------------------------------------------------------------------------------------------------- */

/* Adjacent ranges of random width that all hold for this communicator, with 2 algorithms, 2 protocols and 32 channel
 * counts. */
static void write_table(const char *path, size_t rules)
{
    FILE *f = fopen(path, "w");
    if (!f) {
        perror(path);
        exit(1);
    }
    fputs("# nccltune-tuner/1\n", f);
    scanned = calloc(rules, sizeof *scanned);
    scanned_count = rules;
    for (size_t i = 0; i < rules; i++) {
        uint64_t start = end_bytes;
        end_bytes += 1 + rnd() % RULE_BYTES;
        struct scanned_rule r = {.min = start,
                                 .max = end_bytes - 1,
                                 .coll = COLL_ALLREDUCE,
                                 .algo = (int)(rnd() % 2),
                                 .proto = rnd() % 2 ? PROTO_SIMPLE : PROTO_LL,
                                 .channels = 1 + (int)(rnd() % 32),
                                 .nodes = 4,
                                 .ranks = 32,
                                 .pipe_ops = -1,
                                 .reg_buff = reg_buff_asked};
        scanned[i] = r;
        fprintf(f, "allreduce,%zu,%zu,%s,%s,%d,%d,%d,-1,%d\n", r.min, r.max, algo_name(r.algo), proto_name(r.proto),
                r.channels, r.nodes, r.ranks, r.reg_buff);
    }
    fclose(f);
}

/* In a child of its own, because the plugin reads its table once per process. */
static void measure(const char *plugin, int count)
{
    size_t rules = (size_t)count;
    char path[] = "/tmp/nccltune-perf-XXXXXX";
    int fd = mkstemp(path);
    if (fd < 0) {
        perror(path);
        exit(1);
    }
    close(fd);
    write_table(path, rules);
    setenv("NCCL_TUNER_CONFIG_FILE", path, 1);
    for (size_t i = 0; i < SIZES; i++)
        sizes[i] = rnd() % end_bytes;
    for (int i = 0; i < ALGO_COUNT * PROTO_COUNT; i++)
        cost[i / PROTO_COUNT][i % PROTO_COUNT] = 1;

    void *lib = dlopen(plugin, RTLD_NOW | RTLD_LOCAL);
    const struct nccl_tuner_v5 *tuner = lib ? dlsym(lib, "ncclTunerPlugin_v5") : NULL;
    if (!tuner) {
        fprintf(stderr, "%s: %s\n", plugin, dlerror());
        exit(1);
    }
    void *first = NULL, *second = NULL, *other = NULL;
    double t0 = now_ns();
    int rc = tuner->init(&first, 1, 32, 4, NULL, NULL, NULL);
    double t1 = now_ns();
    rc |= tuner->init(&second, 2, 32, 4, NULL, NULL, NULL);
    double t2 = now_ns();
    rc |= tuner->init(&other, 3, 8, 1, NULL, NULL, NULL);
    double t3 = now_ns();
    if (rc) {
        fprintf(stderr, "init failed\n");
        exit(1);
    }

    int shape[2] = {4, 32};
    struct timed fast[] = {{.call = empty_call}, {.call = tuner->get_coll_info, .context = first}};
    struct timed scans[] = {{.call = scan_call, .context = shape},
                            {.call = scan_call, .context = shape, .fixed = end_bytes - 1}};
    int slow = rules > 100;
    time_calls(fast, 2, BATCHES, BATCH);
    time_calls(scans, 2, slow ? SLOW_CALLS : BATCHES, slow ? 1 : BATCH);
    struct quantiles e = fast[0].ns, p = fast[1].ns, s = scans[0].ns, w = scans[1].ns;
    printf("%7zu | %6.1f %6.1f | %6.1f %6.1f %+7.1f | %9.1f %9.1f | %9.1f | %9.3f %8.3f %8.3f\n", rules, e.p50, e.p99,
           p.p50, p.p99, p.p50 - e.p50, s.p50, s.p99, w.p50, (t1 - t0) / 1e6, (t2 - t1) / 1e3, (t3 - t2) / 1e6);
    fflush(stdout);
    tuner->finalize(first);
    tuner->finalize(second);
    tuner->finalize(other);
    unlink(path);
    free(scanned);
}

/* ---- what a process pays for its table ----------------------------------------------------------------------------
 */

/* KiB that are this process's own: pages of a file that is only read are not. */
static long private_kib(void)
{
    static const char key[] = "Anonymous:";
    char line[256];
    long kib = 0;
    FILE *f = fopen("/proc/self/smaps_rollup", "r");
    while (f && fgets(line, sizeof line, f))
        if (!strncmp(line, key, sizeof key - 1))
            kib = strtol(line + sizeof key - 1, NULL, 10);
    if (f)
        fclose(f);
    return kib;
}

static double cpu_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

enum { FROM_TEXT, PREPARED, NVIDIAS, FORMS };
static int wide; /* rules */

/* tuner.bin beside the table, and its hash pinned, as a hook does for a job. */
static void prepare(const char *csv, const char *bin)
{
    static char text[16 << 20];
    char hash[SHA256_HEX];
    struct tuner_table t;
    struct sha256 sha;
    size_t bytes = 0;
    FILE *f = fopen(csv, "r");
    size_t n = f ? fread(text, 1, sizeof text, f) : 0;
    sha256_init(&sha);
    sha256_update(&sha, text, n);
    sha256_hex(&sha, hash);
    setenv("NCCLTUNE_HASH", hash, 1);
    if (!f || tuner_table_parse(&t, text, n, NULL, NULL))
        exit(1);
    fclose(f);
    void *data = tuner_binary_make(&t, hash, &bytes);
    f = fopen(bin, "w");
    if (!data || !f || fwrite(data, 1, bytes, f) != bytes || fclose(f) || chmod(bin, 0644))
        exit(1);
    free(data);
    tuner_table_free(&t);
}

/* Forks the process that pays, so that what made the files is not counted. */
static void measure_form(const char *plugin, int form)
{
    static const char *const names[FORMS] = {"tuner.csv", "tuner.bin", "NVIDIA's"};
    char dir[] = "/tmp/nccltune-perf-XXXXXX", csv[64], bin[64];
    if (!mkdtemp(dir))
        exit(1);
    snprintf(csv, sizeof csv, "%s/tuner.csv", dir);
    snprintf(bin, sizeof bin, "%s/tuner.bin", dir);
    write_table(csv, (size_t)wide);
    setenv("NCCL_TUNER_CONFIG_FILE", csv, 1);
    if (form == PREPARED)
        prepare(csv, bin);
    fflush(NULL);
    pid_t child = fork();
    if (!child) {
        void *lib = dlopen(form == NVIDIAS ? getenv("NVIDIA_TUNER_SO") : plugin, RTLD_NOW | RTLD_LOCAL);
        const struct nccl_tuner_v5 *tuner = lib ? dlsym(lib, "ncclTunerPlugin_v5") : NULL;
        void *contexts[3];
        if (!tuner) {
            fprintf(stderr, "%s\n", dlerror());
            exit(1);
        }
        for (int i = 0; i < SIZES; i++)
            sizes[i] = rnd() % end_bytes;
        for (int i = 0; i < ALGO_COUNT * PROTO_COUNT; i++)
            cost[i / PROTO_COUNT][i % PROTO_COUNT] = 1;
        struct nccl_nvl_domains domains = {4, 8, 8};
        double constants[256] = {0};
        long before = private_kib();
        double cpu = cpu_ms(), t0 = now_ns();
        int rc = tuner->init(&contexts[0], 1, 32, 4, NULL, &domains, (struct nccl_constants *)constants);
        double t1 = now_ns();
        cpu = cpu_ms() - cpu;
        rc |= tuner->init(&contexts[1], 2, 32, 4, NULL, &domains, (struct nccl_constants *)constants);
        double t2 = now_ns();
        rc |= tuner->init(&contexts[2], 3, 8, 1, NULL, &domains, (struct nccl_constants *)constants);
        double t3 = now_ns();
        long own = private_kib() - before;
        struct timed t[] = {{.call = empty_call}, {.call = tuner->get_coll_info, .context = contexts[0]}};
        time_calls(t, 2, form == NVIDIAS ? SLOW_CALLS : BATCHES, form == NVIDIAS ? 1 : BATCH);
        printf("%7d | %-9s | %8.3f %8.3f | %8.2f %8.2f | %9.2f | %9.1f %9.1f\n", wide, names[form], (t1 - t0) / 1e6,
               cpu, (t2 - t1) / 1e3, (t3 - t2) / 1e3, (double)own / 1024, t[1].ns.p50, t[1].ns.p99);
        exit(rc);
    }
    int status = 0;
    waitpid(child, &status, 0);
    unlink(csv);
    unlink(bin);
    rmdir(dir);
    exit(status != 0);
}

static void *opened(const struct nccl_tuner_v5 *tuner)
{
    static struct nccl_nvl_domains domains = {4, 8, 8};
    static double constants[256];
    void *context = NULL;
    if (tuner->init(&context, 1, 32, 4, NULL, &domains, (struct nccl_constants *)constants)) {
        fprintf(stderr, "init failed\n");
        exit(1);
    }
    return context;
}

/* The vendor-like double alone, and asked through the plugin: where a rule decides and where none does. */
static void measure_chain(const char *plugin, int rule_decides)
{
    char vendor[PATH_MAX], path[] = "/tmp/nccltune-perf-XXXXXX";
    int fd = mkstemp(path);
    const char *rule = rule_decides ? "allreduce,0,-1,ring,simple,4,-1,-1\n" : "reduce,0,-1,ring,simple,4,-1,-1\n";
    if (fd < 0 || write(fd, rule, strlen(rule)) < 0 || !realpath("build/tests/doubles/vendor_tuner.so", vendor)) {
        perror("build/tests/doubles/vendor_tuner.so");
        exit(1);
    }
    close(fd);
    setenv("NCCL_TUNER_CONFIG_FILE", path, 1);
    setenv("NCCLTUNE_NEXT_TUNER", vendor, 1);
    setenv("VENDOR_TUNER_QUIET", "1", 1);
    for (int i = 0; i < SIZES; i++)
        sizes[i] = rnd() % ((uint64_t)8 << 20);
    for (int i = 0; i < ALGO_COUNT * PROTO_COUNT; i++)
        cost[i / PROTO_COUNT][i % PROTO_COUNT] = 1;
    void *ours = dlopen(plugin, RTLD_NOW | RTLD_LOCAL), *theirs = dlopen(vendor, RTLD_NOW | RTLD_LOCAL);
    const struct nccl_tuner_v5 *over = ours ? dlsym(ours, "ncclTunerPlugin_v5") : NULL;
    const struct nccl_tuner_v5 *alone = theirs ? dlsym(theirs, "ncclTunerPlugin_v5") : NULL;
    if (!over || !alone) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    struct timed t[] = {{.call = alone->get_coll_info, .context = opened(alone)},
                        {.call = over->get_coll_info, .context = opened(over)}};
    time_calls(t, 2, BATCHES, BATCH);
    printf("%-15s | %6.1f %6.1f | %6.1f %6.1f %+7.1f\n", rule_decides ? "a rule decides" : "no rule matches",
           t[0].ns.p50, t[0].ns.p99, t[1].ns.p50, t[1].ns.p99, t[1].ns.p50 - t[0].ns.p50);
    fflush(stdout);
    unlink(path);
}

static int in_child(void (*measured)(const char *, int), const char *plugin, int argument)
{
    pid_t child = fork();
    if (child == 0) {
        measured(plugin, argument);
        exit(0);
    }
    int status = 0;
    return child < 0 || waitpid(child, &status, 0) < 0 || status;
}

int main(void)
{
    static const int counts[] = {1, 100, 1000, 10000, 100000};
    const char *plugin = getenv("NCCLTUNE_PLUGIN_SO");
    plugin = plugin ? plugin : "build/libnccl-tuner-nccltune.so";
    printf(
        "getCollInfo (v5) in ns per call: median and 99th percentile of %d batches of %d calls, each call with one of "
        "%d\nrandom sizes drawn beforehand. All rules fit the communicator and the collective; their ranges adjoin.\n"
        "empty: a function that does nothing, through the same kind of pointer. scan: linear first match over the "
        "same\n"
        "rules (single calls from 1000 rules on, clock included); last: its worst size, which the last rule holds.\n"
        "init: first communicator (reads and indexes the table), second of the same shape, first of another shape.\n\n",
        BATCHES, BATCH, SIZES);
    printf("  rules |    empty      |        plugin         |         scan        | scan last |          init\n");
    printf("        |    p50    p99 |    p50    p99   +p50  |       p50       p99 |       p50 |  1st ms   2nd us other "
           "ms\n");
    fflush(stdout);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        if (in_child(measure, plugin, counts[i]))
            return 1;
    printf("with regBuff 0, as tune writes them:\n");
    fflush(stdout);
    reg_buff_asked = 0;
    for (size_t i = 0; i < 3; i++)
        if (in_child(measure, plugin, counts[i]))
            return 1;
    reg_buff_asked = -1;
    printf(
        "\nA process and its table: init of the first communicator, and of a second of the same and of another shape; "
        "memory of its\nown; getCollInfo.\n\n");
    printf("  rules | form      |  1st ms   CPU ms |  2nd us other us |  own MiB  |    p50 ns    p99 ns\n");
    fflush(stdout);
    for (int form = 0; form < FORMS; form++)
        for (size_t i = 2; i < sizeof counts / sizeof *counts && (form != NVIDIAS || getenv("NVIDIA_TUNER_SO")); i++) {
            wide = counts[i];
            if (in_child(measure_form, plugin, form))
                return 1;
        }
    printf(
        "\nThe same over another tuner (NCCLTUNE_NEXT_TUNER: the vendor-like double), next to that tuner alone.\n\n");
    printf("                |    vendor     |        plugin\n");
    printf("                |    p50    p99 |    p50    p99   +p50\n");
    fflush(stdout);
    return in_child(measure_chain, plugin, 0) || in_child(measure_chain, plugin, 1);
}
