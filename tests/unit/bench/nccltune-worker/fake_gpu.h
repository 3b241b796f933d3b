/* A GPU driver, NCCL, the plugin and libraries of multiplications for tests of the worker: they write down how they
 * were called, in what order, and fail at the call that is asked for. */
#ifndef TESTS_UNIT_BENCH_NCCLTUNE_WORKER_FAKE_GPU_H
#define TESTS_UNIT_BENCH_NCCLTUNE_WORKER_FAKE_GPU_H

#include <dlfcn.h>

#include "bench/nccltune-worker/measure.h"
#include "tests/lib/unit.h"

/* ---- writing down ---- */

#define FAILURE    42
#define MOST_NOTED 4096

struct thing {
    char name[24];
    int number; /* of ranks, where it is a communicator */
};

static FILE *out;
static struct thing things[MOST_NOTED];
static struct {
    char *at;
    size_t bytes;
} memories[64];
static int nthings, nmemories, ncalls, fail_at, failed;

static int silent;

/* A line for each; where something is to fail, all in one line from there on. */
static void put_down(const char *fmt, va_list args, int fails)
{
    if (silent || (fail_at && ncalls < fail_at))
        return;
    fputs(!fail_at || fails ? "    " : "", out);
    vfprintf(out, fmt, args);
    fputs(!fail_at ? "\n" : fails ? " fails: " : "; ", out);
}

/* Lines that are the same as the one before become one. */
static inline char *folded(const char *text)
{
    char *all = calloc(1, strlen(text) + 1), *to = all;
    while (*text) {
        size_t n = strcspn(text, "\n") + 1;
        int same = 1;
        for (; !strncmp(text, text + (size_t)same * n, n); same++)
            ;
        int most = (int)n - 1 - (n > 2 && text[n - 2] == ' ');
        to += sprintf(to, same > 1 ? "%.*s x%d\n" : "%.*s\n", most, text, same);
        text += (size_t)same * n;
    }
    return all;
}

/* One that may fail. */
static int did(const char *fmt, ...)
{
    va_list args;
    int fails = ++ncalls == fail_at;
    va_start(args, fmt);
    put_down(fmt, args, fails);
    va_end(args);
    failed |= fails;
    return fails ? FAILURE : 0;
}

/* One that does not, or whose failure nobody could do anything about. */
static int noted(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    put_down(fmt, args, 0);
    va_end(args);
    return 0;
}

static void *new_thing(const char *name, int number)
{
    struct thing *t = &things[nthings++];
    assert_true(nthings < MOST_NOTED);
    snprintf(t->name, sizeof t->name, "%s%d", name, nthings);
    t->number = number;
    return t;
}

static const char *named(const void *thing)
{
    return thing ? ((const struct thing *)thing)->name : "nothing";
}

/* "memory2+4096" */
static const char *place(const void *p)
{
    static char text[8][32];
    static int turn;
    char *to = text[turn++ % 8];
    snprintf(to, 32, "elsewhere");
    for (int i = 0; i < nmemories; i++)
        if ((const char *)p >= memories[i].at && (const char *)p < memories[i].at + memories[i].bytes)
            snprintf(to, 32, "memory%d+%zu", i + 1, (size_t)((const char *)p - memories[i].at));
    return to;
}

/* ---- the driver ---- */

static int cache_bytes, not_ready, polls, is_hip;
static size_t most_bytes;
static float load_ms, batch_ms;
static double host_us;

static int take_memory(void **memory, size_t bytes, const char *how)
{
    int rc = did("%s %zu", how, bytes);
    if (rc || bytes > most_bytes)
        return rc ? rc : 2;
    memories[nmemories].at = *memory = calloc(1, bytes);
    memories[nmemories++].bytes = bytes;
    return 0;
}

static int alloc(void **memory, size_t bytes)
{
    return take_memory(memory, bytes, "alloc");
}

static int release(void *memory)
{
    return noted("release %s", place(memory));
}

static int error_text(int code, const char **text)
{
    *text = code == FAILURE ? "the driver's error" : NULL;
    return 0;
}

static int attribute(int *value, int number, int device)
{
    *value = cache_bytes;
    return number == (is_hip ? 19 : 38) && device == 3 ? 0 : 1;
}

static int put_in(void *to, const void *from, size_t bytes, void *stream)
{
    memcpy(to, from, bytes);
    return did("put_in %s %zu on %s", place(to), bytes, named(stream));
}

static int put_out(void *to, const void *from, size_t bytes, void *stream)
{
    memcpy(to, from, bytes);
    return did("put_out %s %zu on %s", place(from), bytes, named(stream));
}

static int put_across(void *to, const void *from, size_t bytes, void *stream)
{
    memcpy(to, from, bytes);
    return did("put_across %s from %s %zu on %s", place(to), place(from), bytes, named(stream));
}

static int put_fill(void *to, unsigned char value, size_t bytes, void *stream)
{
    if (bytes <= (size_t)2 << 20) /* what loads compute on is zero and never looked at */
        memset(to, value, bytes);
    return did("put_fill %s %u %zu on %s", place(to), value, bytes, named(stream));
}

static int finish(void *stream)
{
    return did("finish %s", named(stream));
}

static int stream(void **made, unsigned flags)
{
    *made = new_thing("stream", 0);
    return did("stream %u", flags);
}

static int event(void **made, unsigned flags)
{
    *made = new_thing("event", 0);
    return did("event %u", flags);
}

static int record(void *which, void *on)
{
    return did("record %s on %s", named(which), named(on));
}

static int query(void *which)
{
    if (polls < not_ready) {
        polls++;
        return GPU_NOT_READY;
    }
    polls = 0;
    return did("query %s", named(which));
}

static int elapsed_ms(float *ms, void *from, void *to)
{
    *ms = strcmp(named(from), "event2") != 0 ? load_ms : batch_ms;
    return did("elapsed %s %s", named(from), named(to));
}

static int capture_begin(void *on, int mode)
{
    return did("capture_begin %s %d", named(on), mode);
}

static int capture_end(void *on, void **captured)
{
    *captured = new_thing("captured", 0);
    return did("capture_end %s", named(on));
}

static int graph_make(void **graph, void *captured, unsigned long long flags)
{
    *graph = new_thing("graph", 0);
    return did("graph_make %s %llu", named(captured), flags);
}

static int graph_launch(void *graph, void *on)
{
    return did("graph_launch %s on %s", named(graph), named(on));
}

static int graph_free(void *graph)
{
    return noted("graph_free %s", named(graph));
}

static int graph_drop(void *captured)
{
    return noted("graph_drop %s", named(captured));
}

static int module_load(void **module, const void *image)
{
    *module = new_thing("module", 0);
    return did("module_load %.12s", (const char *)image);
}

static int module_function(void **function, void *module, const char *name)
{
    *function = new_thing("function", 0);
    return did("module_function %s %s", named(module), name);
}

static int launch(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                  unsigned shared, void *on, void **parameters, void **extra)
{
    assert_null(extra);
    return did("launch %s %ux%ux%u %ux%ux%u %u on %s with %s %u", named(function), gx, gy, gz, bx, by, bz, shared,
               named(on), place(*(void **)parameters[0]), *(unsigned *)parameters[1]);
}

static double host_clock(void)
{
    return host_us += 100;
}

static const struct gpu fake_gpu = {.alloc = alloc,
                                    .release = release,
                                    .error_text = error_text,
                                    .attribute = attribute,
                                    .put_in = put_in,
                                    .put_out = put_out,
                                    .put_across = put_across,
                                    .put_fill = put_fill,
                                    .finish = finish,
                                    .stream = stream,
                                    .event = event,
                                    .record = record,
                                    .query = query,
                                    .elapsed_ms = elapsed_ms,
                                    .capture_begin = capture_begin,
                                    .capture_end = capture_end,
                                    .graph_make = graph_make,
                                    .graph_launch = graph_launch,
                                    .graph_free = graph_free,
                                    .graph_drop = graph_drop,
                                    .module_load = module_load,
                                    .module_function = module_function,
                                    .launch = launch,
                                    .host_us = host_clock};

/* ---- NCCL ---- */

static int in_progress, looks_left, async_code, offers_nothing, split_ranks;
static const char *pending; /* what was sent inside a group and not received yet */

/* In progress until it has been asked about so often. */
static int ncall(int rc)
{
    looks_left = in_progress;
    return rc ? rc : in_progress ? NCCL_IN_PROGRESS : 0;
}

static int comm_async_error(void *comm, int *error)
{
    *error = looks_left-- > 1 ? NCCL_IN_PROGRESS : async_code;
    return noted("async_error %s", named(comm));
}

static const char *error_string(int code)
{
    return code == FAILURE ? "NCCL's error" : NULL;
}

static const char *last_error(void *comm)
{
    return comm ? "its last words" : "";
}

/* What one rank alone gets of any collective is what it sends. */
static void pass(const void *send, void *recv, size_t count, int type, const void *comm)
{
    if (((const struct thing *)comm)->number == 1 && recv != send)
        memmove(recv, send, count * data_type_bytes(type));
}

static int all_reduce(const void *send, void *recv, size_t count, int type, int op, void *comm, void *on)
{
    pass(send, recv, count, type, comm);
    return ncall(did("all_reduce %s %s %zu type %d op %d %s on %s", place(send), place(recv), count, type, op,
                     named(comm), named(on)));
}

static int reduce(const void *send, void *recv, size_t count, int type, int op, int root, void *comm, void *on)
{
    pass(send, recv, count, type, comm);
    return ncall(did("reduce %s %s %zu type %d op %d to %d %s on %s", place(send), place(recv), count, type, op, root,
                     named(comm), named(on)));
}

static int broadcast(const void *send, void *recv, size_t count, int type, int root, void *comm, void *on)
{
    pass(send, recv, count, type, comm);
    return ncall(did("broadcast %s %s %zu type %d from %d %s on %s", place(send), place(recv), count, type, root,
                     named(comm), named(on)));
}

static int all_gather(const void *send, void *recv, size_t count, int type, void *comm, void *on)
{
    pass(send, recv, count, type, comm);
    return ncall(
        did("all_gather %s %s %zu type %d %s on %s", place(send), place(recv), count, type, named(comm), named(on)));
}

static int reduce_scatter(const void *send, void *recv, size_t count, int type, int op, void *comm, void *on)
{
    pass(send, recv, count, type, comm);
    return ncall(did("reduce_scatter %s %s %zu type %d op %d %s on %s", place(send), place(recv), count, type, op,
                     named(comm), named(on)));
}

static int send_to(const void *buffer, size_t count, int type, int peer, void *comm, void *on)
{
    pending = buffer;
    return ncall(did("send %s %zu type %d to %d %s on %s", place(buffer), count, type, peer, named(comm), named(on)));
}

static int receive(void *buffer, size_t count, int type, int peer, void *comm, void *on)
{
    pass(pending, buffer, count, type, comm);
    return ncall(did("recv %s %zu type %d from %d %s on %s", place(buffer), count, type, peer, named(comm), named(on)));
}

static int group_start(void)
{
    return did("group_start");
}

static int group_end(void)
{
    return ncall(did("group_end"));
}

static int comm_split(void *comm, int color, int key, void **made, const void *config)
{
    assert_null(config);
    int rc = did("comm_split %s %d %d", named(comm), color, key);
    if (!rc)
        *made = color < 0 ? NULL : new_thing("comm", split_ranks);
    return ncall(rc);
}

static int comm_count(const void *comm, int *ranks)
{
    *ranks = ((const struct thing *)comm)->number;
    return did("comm_count %s", named(comm));
}

static int comm_user_rank(const void *comm, int *rank)
{
    *rank = 1;
    return did("comm_user_rank %s", named(comm));
}

static int comm_destroy(void *comm)
{
    return noted("comm_destroy %s", named(comm));
}

static int mem_alloc(void **memory, size_t bytes)
{
    return take_memory(memory, bytes, "mem_alloc");
}

static int mem_free(void *memory)
{
    return noted("mem_free %s", place(memory));
}

static int comm_register(void *comm, void *memory, size_t bytes, void **handle)
{
    *handle = new_thing("handle", 0);
    return ncall(did("comm_register %s %s %zu", named(comm), place(memory), bytes));
}

static int comm_deregister(void *comm, void *handle)
{
    return noted("comm_deregister %s %s", named(comm), named(handle));
}

static const struct nccl fake_nccl = {.comm_async_error = comm_async_error,
                                      .error_string = error_string,
                                      .last_error = last_error,
                                      .all_reduce = all_reduce,
                                      .reduce = reduce,
                                      .broadcast = broadcast,
                                      .all_gather = all_gather,
                                      .reduce_scatter = reduce_scatter,
                                      .send = send_to,
                                      .recv = receive,
                                      .group_start = group_start,
                                      .group_end = group_end,
                                      .comm_split = comm_split,
                                      .comm_count = comm_count,
                                      .comm_user_rank = comm_user_rank,
                                      .comm_destroy = comm_destroy,
                                      .mem_alloc = mem_alloc,
                                      .mem_free = mem_free,
                                      .comm_register = comm_register,
                                      .comm_deregister = comm_deregister};

/* ---- the plugin, and BLAS ---- */

static int force(const struct nccltune_force *f)
{
    noted("force %d %d %d %d %u", f->coll, f->algo, f->proto, f->channels, f->chunk_bytes);
    return 0;
}

static struct nccltune_record seen;

static int last(struct nccltune_record *r)
{
    *r = seen;
    return offers_nothing;
}

static int fake_blas_create(void **handle)
{
    *handle = new_thing("blas", 0);
    return did("blas_create");
}

static int fake_blas_math(void *handle, int mode)
{
    noted("blas_math %s %d", named(handle), mode);
    return 0;
}

static int fake_blas_stream(void *handle, void *on)
{
    return did("blas_stream %s %s", named(handle), named(on));
}

static int fake_blas_sgemm(void *handle, int transpose_a, int transpose_b, int m, int n, int k, const float *alpha,
                           const float *a, int lda, const float *b, int ldb, const float *beta, float *c, int ldc)
{
    return did("sgemm %s %d %d %d %d %d %g %s %d %s %d %g %s %d", named(handle), transpose_a, transpose_b, m, n, k,
               *alpha, place(a), lda, place(b), ldb, *beta, place(c), ldc);
}

/* hiprtc's */
static int rtc_create(void **program, const char *source, const char *name, int headers, const char **with,
                      const char **as)
{
    assert_true(!with && !as && strstr(source, name));
    *program = new_thing("program", 0);
    return did("rtc_create %s %d", name, headers);
}

static int rtc_compile(void *program, int options, const char **list)
{
    assert_null(list);
    return did("rtc_compile %s %d", named(program), options);
}

static int rtc_size(void *program, size_t *bytes)
{
    *bytes = 32;
    return did("rtc_size %s", named(program));
}

static int rtc_code(void *program, char *code)
{
    strcpy(code, "code");
    return did("rtc_code %s", named(program));
}

static const char *libraries; /* those that there are */
static char a_library;

static void *open_library(const char *name, int flags)
{
    assert_int_equal(flags, RTLD_NOW | RTLD_LOCAL);
    return strstr(libraries, name) ? &a_library : NULL;
}

typedef void function(void);
static const struct {
    const char *name;
    function *at;
} symbols[] = {{"cublasCreate_v2", (function *)fake_blas_create},
               {"hipblasCreate", (function *)fake_blas_create},
               {"cublasSgemm_v2", (function *)fake_blas_sgemm},
               {"hipblasSgemm", (function *)fake_blas_sgemm},
               {"cublasSetMathMode", (function *)fake_blas_math},
               {"cublasSetStream_v2", (function *)fake_blas_stream},
               {"hipblasSetStream", (function *)fake_blas_stream},
               {"hiprtcCreateProgram", (function *)rtc_create},
               {"hiprtcCompileProgram", (function *)rtc_compile},
               {"hiprtcGetCodeSize", (function *)rtc_size},
               {"hiprtcGetCode", (function *)rtc_code}};
static const char *missing; /* a symbol that they lack; NULL none */

static void *find_symbol(void *library, const char *name)
{
    void *found = NULL;
    assert_ptr_equal(library, &a_library);
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++)
        if (!strcmp(symbols[i].name, name) && (!missing || strcmp(missing, name) != 0))
            memcpy(&found, &symbols[i].at, sizeof found);
    return found;
}

#endif
