/* NCCL's tuner interface, versions 1 to 7, declared by us: what NCCL 2.19 to 2.31 looks for in a tuner library.
 *
 *   NCCL          newest version it loads
 *   2.19, 2.20    1 (and nothing else)
 *   2.21          2 (and nothing else)
 *   2.22, 2.23    3
 *   2.24 to 2.27  4
 *   2.28, 2.29    5
 *   2.30          6
 *   2.31          7 (6 before its release)
 *
 * Enumerations travel as int. tests/plugin-abi compares the values with an installed <nccl.h>. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Symbols that NCCL looks up in this library. */
#define PLUGIN_EXPORT __attribute__((visibility("default")))

/* ncclResult_t, as far as it is used. */
enum {
    NCCLTUNE_SUCCESS = 0,
    NCCLTUNE_INVALID_USAGE = 5,
};

/* ncclDebugLogLevel and the subsystem bits. */
enum {
    NCCLTUNE_LOG_WARN = 2,
    NCCLTUNE_LOG_INFO = 3,
};
#define NCCLTUNE_SUBSYS_INIT   1UL
#define NCCLTUNE_SUBSYS_TUNING 64UL
#define NCCLTUNE_SUBSYS_ALL    (~0UL)

typedef void (*nccl_logger)(int level, unsigned long subsystems, const char *file, int line, const char *fmt, ...);

/* Version 5 on. */
struct nccl_nvl_domains {
    int domains, min_ranks, max_ranks;
};

/* The model's constants (version 5 on) differ between NCCL and RCCL; the plugin never looks inside. Those of version 7
 * have a row more in each of the arrays behind the latencies, for a fifth generation of GPUs. */
struct nccl_constants;
enum {
    NCCL_LATENCIES = 84,
    NCCL_BANDWIDTHS = 5,
    NCCL_BANDWIDTH_ROW = 3,
    NCCL_ROWS_V5 = 4,
    NCCL_ROWS_V7 = 5,
    NCCL_CONSTANTS_V7 = NCCL_LATENCIES + NCCL_BANDWIDTHS * NCCL_BANDWIDTH_ROW * NCCL_ROWS_V7
};

/* The cost table is float[algos][protos], contiguous, in spite of its type; -1 is a combination that is not available.
 * `channels` comes in as 0, which means NCCL's choice. */
typedef int nccl_get_coll_info_v3(void *context, int coll, size_t bytes, int pipe_ops, float **cost, int algos,
                                  int protos, int *channels);
typedef int nccl_get_coll_info_v4(void *context, int coll, size_t bytes, int pipe_ops, float **cost, int algos,
                                  int protos, int reg_buff, int *channels);
typedef int nccl_init_v2(size_t ranks, size_t nodes, nccl_logger log, void **context);
typedef int nccl_init_v5(void **context, uint64_t comm_id, size_t ranks, size_t nodes, nccl_logger log,
                         struct nccl_nvl_domains *domains, struct nccl_constants *constants);

struct nccl_tuner_v1 {
    const char *name;
    int (*init)(size_t ranks, size_t nodes, nccl_logger log);
    int (*get_coll_info)(int coll, size_t bytes, int collnet, int nvls, int pipe_ops, int *algo, int *proto,
                         int *channels);
    int (*destroy)(void);
};

struct nccl_tuner_v2 {
    const char *name;
    nccl_init_v2 *init;
    int (*get_coll_info)(void *context, int coll, size_t bytes, int collnet, int nvls, int pipe_ops, int *algo,
                         int *proto, int *channels);
    int (*destroy)(void *context);
};

struct nccl_tuner_v3 {
    const char *name;
    nccl_init_v2 *init;
    nccl_get_coll_info_v3 *get_coll_info;
    int (*destroy)(void *context);
};

struct nccl_tuner_v4 {
    const char *name;
    nccl_init_v2 *init;
    nccl_get_coll_info_v4 *get_coll_info;
    int (*destroy)(void *context);
};

struct nccl_tuner_v5 {
    const char *name;
    nccl_init_v5 *init;
    nccl_get_coll_info_v4 *get_coll_info;
    int (*finalize)(void *context);
};

struct nccl_tuner_v6 { /* and 7 */
    const char *name;
    nccl_init_v5 *init;
    nccl_get_coll_info_v4 *get_coll_info;
    int (*finalize)(void *context);
    int (*get_chunk_size)(void *context, int coll, size_t bytes, int algo, int proto, int channels,
                          size_t *chunk_bytes);
};

_Static_assert(sizeof(int) == 4 && sizeof(size_t) == 8, "NCCL runs only on 64-bit Linux");
_Static_assert(sizeof(struct nccl_nvl_domains) == 12, "three ints");
_Static_assert(sizeof(struct nccl_tuner_v1) == 4 * sizeof(void *), "name and three functions");
_Static_assert(sizeof(struct nccl_tuner_v5) == 4 * sizeof(void *), "name and three functions");
_Static_assert(sizeof(struct nccl_tuner_v6) == 5 * sizeof(void *), "name and four functions");
