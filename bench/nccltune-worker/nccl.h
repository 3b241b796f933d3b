/* NCCL or RCCL, found and loaded at run time; only what has been in every release since 2.19 is used. */
#pragma once

#include <stddef.h>

#include "bench/launch/worker_protocol.h"
#include "core/err.h"

struct nccl_id {
    char bytes[128];
};

enum { NCCL_SUM = 0 };
enum { NCCL_IN_PROGRESS = 7 }; /* of a communicator that does not block, as NCCL_COMM_BLOCKING=0 makes them */
enum { NCCL_INT8 = 0, NCCL_INT32 = 2, NCCL_FLOAT32 = 7, NCCL_BFLOAT16 = 9 };

/* Functions return ncclResult_t, 0 for success. */
struct nccl {
    int rccl;
    char path[256];
    int (*get_version)(int *version);
    int (*get_unique_id)(struct nccl_id *id);
    int (*comm_init_rank)(void **comm, int nranks, struct nccl_id id, int rank);
    int (*comm_destroy)(void *comm);
    int (*comm_count)(const void *comm, int *ranks);
    int (*comm_user_rank)(const void *comm, int *rank);
    int (*comm_async_error)(void *comm, int *error);
    const char *(*error_string)(int code);
    const char *(*last_error)(void *comm);
    int (*all_reduce)(const void *send, void *recv, size_t count, int type, int op, void *comm, void *stream);
    int (*reduce)(const void *send, void *recv, size_t count, int type, int op, int root, void *comm, void *stream);
    int (*broadcast)(const void *send, void *recv, size_t count, int type, int root, void *comm, void *stream);
    int (*all_gather)(const void *send, void *recv, size_t count, int type, void *comm, void *stream);
    int (*reduce_scatter)(const void *send, void *recv, size_t count, int type, int op, void *comm, void *stream);
    int (*send)(const void *buffer, size_t count, int type, int peer, void *comm, void *stream);
    int (*recv)(void *buffer, size_t count, int type, int peer, void *comm, void *stream);
    int (*group_start)(void);
    int (*group_end)(void);
    /* NULL where they are not offered. */
    int (*comm_split)(void *comm, int color, int key, void **comm_of_color, const void *config);
    int (*mem_alloc)(void **memory, size_t bytes);
    int (*mem_free)(void *memory);
    int (*comm_register)(void *comm, void *memory, size_t bytes, void **handle);
    int (*comm_deregister)(void *comm, void *handle);
};

/* `wanted` is a path or a library's name; NULL searches: the active virtual or conda environment, the loader's path,
 * and where CUDA, ROCm and Python's site-packages keep it. */
int nccl_load(struct nccl *n, const char *wanted, struct err *e);

/* Wait for the end of a call that answered `code`. */
int nccl_settled(const struct nccl *n, void *comm, int code);

/* "unhandled system error: NET/IB : no device found", until the next call. */
const char *nccl_error(const struct nccl *n, void *comm, int code);

/* Name the plugins that are at work in this process beside NCCL and nccltune, once a communicator is there: "tuner
 * NAME, network NAME"; "" none. */
void active_plugins(char *text, size_t size);

/* ---- the communicator of the ranks that call together: that of everybody, or one split off it ---- */

struct group {
    struct nccl_groups of;
    void *comm; /* NULL: this rank is in no group */
    int number; /* of the group, from 0; -1: none */
    int rank, nranks;
};

/* Makes `g` this rank's group of `wanted`, if it is not; all ranks of `whole` have to. What `g` was before is given
 * back, which must have nothing left to do. */
int group_enter(struct group *g, const struct nccl *n, const struct group *whole, const struct nccl_groups *wanted,
                struct err *e);

/* Gives back what is not `whole`. */
void group_leave(struct group *g, const struct nccl *n, const struct group *whole);
