/* What the files of the plugin share. Private to tuner/plugin/ and tuner/capture/. */
#ifndef TUNER_PLUGIN_PLUGIN_H
#define TUNER_PLUGIN_PLUGIN_H

#include "tuner/plugin/abi.h"
#include "tuner/table/index.h"

#define PLUGIN_EXPORT __attribute__((visibility("default")))

/* A communicator to the plugin: all that look alike share one, which lives as long as the process. */
struct plugin_context {
    struct tuner_index *index; /* NULL: inert */
    struct tuner_shape shape;
    int api; /* version of the interface that opened it */
    struct plugin_context *next;
};

/* What getChunkSize is asked. NCCL passes one channel's slice and channels 1, or the whole and their number (CollNet,
 * NVLS over nodes). */
struct plugin_slice {
    int coll;
    uint64_t bytes;
    int algo, proto, channels;
    uint64_t chunk_bytes; /* NCCL's own */
};

/* ---- plugin.c -------------------------------------------------------------------------------------------------- */

/* The answers of the table alone; 0: leave it to NCCL. `c` may be NULL. */
struct tuner_choice plugin_table_choose(const struct plugin_context *c, const struct tuner_call *call);
uint32_t plugin_table_chunk(const struct plugin_context *c, const struct plugin_slice *slice);

/* ---- load.c --------------------------------------------------------------------------------------------- */

/* The context for a communicator of this shape. The first call of the process finds, reads and checks the table;
 * `caller` is an address in the library that called. Returns NCCLTUNE_SUCCESS, or NCCLTUNE_INVALID_USAGE when
 * NCCLTUNE_HASH asks for a table that is not there: then *context is NULL. `log` may be NULL. */
int plugin_open(const struct tuner_shape *shape, int api, nccl_logger log, const void *caller,
                struct plugin_context **context);

/* Once per context given out; once too often is fine. Contexts stay valid. */
void plugin_close(void);

/* ---- source.c ------------------------------------------------------------------------------------------- */

#define PLUGIN_PATH_MAX 4096

/* The table that this process is to use. */
struct plugin_source {
    char path[PLUGIN_PATH_MAX]; /* "" when there is none */
    char *text;                 /* its content, from malloc; NULL after an error */
    size_t bytes;
    char error[PLUGIN_PATH_MAX + 256]; /* why a table that was named or found cannot be used; "" when all is well */
};

/* Looks through NCCLTUNE_PROFILE, NCCL_TUNER_CONFIG_FILE, the plugin's own directory and /etc/nccltune, and reads the
 * first table there is. A variable that is set decides alone. */
void plugin_source_read(struct plugin_source *s);

/* ---- elf.c ---------------------------------------------------------------------------------------------- */

/* Path of the loaded object that holds `address`, as the dynamic loader knows it; "" when unknown. */
void plugin_elf_path(const void *address, char *path, size_t size);

/* Number that ncclGetVersion gives (22809 for 2.28.9): of the object that holds `caller`, else of the only loaded
 * object that defines it. 0 when there is none or more than one. */
int plugin_elf_nccl_version(const void *caller);

/* Keeps the loaded object that holds `address` until the end of the process, whoever unloads it. */
void plugin_elf_stay(const void *address);

/* ---- legacy.c ------------------------------------------------------------------------------------------- */

#define PLUGIN_LEGACY_ALGOS  7
#define PLUGIN_LEGACY_PROTOS 3

/* A cost table for versions 1 and 2, which pass none: -1 for what NCCL 2.19 to 2.21 could not run and would take
 * unchecked. `nodes` 0: not known. */
void plugin_legacy_costs(float cost[PLUGIN_LEGACY_ALGOS * PLUGIN_LEGACY_PROTOS], int coll, int collnet, int nvls,
                         int nodes);

/* ---- control.c ------------------------------------------------------------------------------------------ */

extern _Atomic int plugin_armed;

/* What plugin_choose and plugin_chunk answer while the plugin is armed. `c` may be NULL. */
struct tuner_choice plugin_control_choose(const struct plugin_context *c, const struct tuner_call *call);
uint32_t plugin_control_chunk(const struct plugin_context *c, const struct plugin_slice *slice);

#endif
