/* Devices, memory, streams, events and graphs of the driver doubles. */
#include "tests/doubles/nccl_gpu.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tests/doubles/nccl_law.h"

#define PIECE         ((size_t)2 << 20) /* memory is given in */
#define DEFAULT_BYTES ((size_t)8 << 30)
#define DEFAULT_CACHE (50 << 20) /* an H100's */
#define DEVICES       64
#define NON_BLOCKING  1

/* A memset or a copy that has been asked for and not been done. `from` NULL: a memset. */
struct pending {
    struct pending *next;
    char *to;
    const char *from; /* device memory, or `staged` */
    size_t bytes;
    unsigned char value;
    char staged[];
};

struct gpu_stream {
    double clock_us;
    int stuck, non_blocking;
    struct pending *first, *last;
    struct gpu_graph *captured; /* NULL: what comes is done */
    struct gpu_stream *next;
};
struct node {
    double_graph_work *run;
    void *work;
};
struct gpu_graph {
    struct node *nodes;
    int count, users; /* the graph itself and what was made of it */
};
struct gpu_graph_exec {
    struct gpu_graph *graph;
};
struct gpu_event {
    double clock_us;
    struct gpu_stream *stream;
    int stuck, asked; /* recorded behind work that never finishes; whether somebody has looked */
};
struct block {
    struct block *next;
    void *start;
    size_t bytes;
};

static struct gpu_stream null_stream, *streams = &null_stream;
static struct block *blocks;
static size_t in_use;
static uint64_t writes;
static double host_us;
static uint64_t waits;
static int current, owned[DEVICES]; /* descriptor of its lock file + 1 */

static const struct law *law(void)
{
    static struct law l;
    static int read;
    char why[256];
    const char *path = getenv("NCCL_DOUBLE_LAW");
    if (!read++ && path && law_load(&l, path, why)) {
        fprintf(stderr, "driver double: %s\n", why);
        abort();
    }
    return &l;
}

static size_t number_from(const char *name, size_t otherwise)
{
    const char *s = getenv(name);
    return s ? strtoull(s, NULL, 10) : otherwise;
}

static double or_one(double factor)
{
    return factor > 0 ? factor : 1;
}

/* ---- devices ---- */

int gpu_count(void)
{
    return (int)number_from("DRIVER_DOUBLE_GPUS", 2);
}

void gpu_make_current(int device)
{
    current = device;
}

int gpu_cache_bytes(void)
{
    const struct law *l = law();
    double bytes = l->reports_bytes > 0 ? l->reports_bytes : l->cache_bytes;
    return bytes > 0 ? (int)bytes : DEFAULT_CACHE;
}

const char *gpu_text(int code)
{
    return code == GPU_OUT_OF_MEMORY ? "out of memory"
           : code == GPU_BAD_DEVICE  ? "invalid device ordinal"
           : code == GPU_NO_DEVICE   ? "no CUDA-capable device is detected"
           : code == GPU_UNAVAILABLE ? "CUDA-capable device(s) is/are busy or unavailable"
           : code == GPU_CAPTURING   ? "operation not permitted when stream is capturing"
                                     : "driver error";
}

/* At the process's good end: the devices that it had are free at once. */
static void leave_devices(void)
{
    for (int i = 0; i < DEVICES; i++)
        if (owned[i] && ftruncate(owned[i] - 1, 0))
            continue;
}

/* The lock file of a device holds a word while somebody has the device, and keeps it when he is killed. Who finds it so
 * has come first after that, and the file's time counts from then. */
static int take_exclusively(int device, double seconds)
{
    char path[512], found = 0, word = 'h';
    struct stat st;
    snprintf(path, sizeof path, "%s.gpu%d", getenv("NCCL_DOUBLE_LAW"), device);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) || fstat(fd, &st))
        goto busy;
    if (pread(fd, &found, 1, 0) == 1 && found == 'h') { /* killed */
        word = 'k';
        if (pwrite(fd, &word, 1, 0) != 1)
            abort();
        goto busy;
    }
    double age = difftime(time(NULL), st.st_mtime);
    if (found == 'k' && age < seconds)
        goto busy;
    if (pwrite(fd, &word, 1, 0) != 1)
        abort();
    owned[device] = fd + 1;
    atexit(leave_devices);
    return GPU_OK;
busy:
    if (fd >= 0)
        close(fd);
    return GPU_UNAVAILABLE;
}

int gpu_take(int device)
{
    if (!law()->exclusive_s || owned[device])
        return GPU_OK;
    return take_exclusively(device, law()->exclusive_s);
}

/* ---- what is pending ---- */

static struct gpu_stream *stream_of(void *stream)
{
    return stream ? stream : &null_stream;
}

static void land(struct gpu_stream *s)
{
    while (s->first) {
        struct pending *p = s->first;
        s->first = p->next;
        if (p->from)
            memmove(p->to, p->from, p->bytes);
        else
            memset(p->to, p->value, p->bytes);
        free(p);
    }
    s->last = NULL;
}

/* What must be over before `s` goes on: a blocking stream waits for the NULL stream, and that one for all blocking
 * ones.
 */
static void catch_up(struct gpu_stream *s)
{
    for (struct gpu_stream *other = streams; other; other = other->next)
        if (other != s && !s->non_blocking && !other->non_blocking && (s == &null_stream || other == &null_stream)) {
            land(other);
            if (s->clock_us < other->clock_us)
                s->clock_us = other->clock_us;
        }
}

static int put(struct gpu_stream *s, void *to, const void *from, int stage, unsigned char value, size_t bytes)
{
    if (s->captured || (s == &null_stream && streams->captured))
        return GPU_CAPTURING;
    struct pending *p = calloc(1, sizeof *p + (stage ? bytes : 0));
    if (!p)
        return GPU_OUT_OF_MEMORY;
    *p = (struct pending){.to = to, .from = stage ? p->staged : from, .bytes = bytes, .value = value};
    if (stage)
        memcpy(p->staged, from, bytes);
    catch_up(s);
    writes++;
    *(s->last ? &s->last->next : &s->first) = p;
    s->last = p;
    return GPU_OK;
}

int gpu_set(void *to, unsigned char value, size_t bytes, struct gpu_stream *stream)
{
    return put(stream_of(stream), to, NULL, 0, value, bytes);
}

int gpu_copy_in(void *to, const void *from, size_t bytes, struct gpu_stream *stream)
{
    return put(stream_of(stream), to, from, 1, 0, bytes);
}

int gpu_copy_across(void *to, const void *from, size_t bytes, struct gpu_stream *stream)
{
    return put(stream_of(stream), to, from, 0, 0, bytes);
}

int gpu_wait(struct gpu_stream *stream)
{
    struct gpu_stream *s = stream_of(stream);
    if (s->captured)
        return GPU_CAPTURING;
    while (s->stuck) /* as the real one: for ever */
        pause();
    catch_up(s);
    land(s);
    waits++;
    host_us = host_us > s->clock_us ? host_us : s->clock_us;
    return GPU_OK;
}

int gpu_wait_for_all(void)
{
    int rc = GPU_OK;
    for (struct gpu_stream *s = streams; s && !rc; s = s->next)
        rc = gpu_wait(s);
    return rc;
}

int gpu_copy_out(void *to, const void *from, size_t bytes, struct gpu_stream *stream)
{
    int rc = gpu_wait(stream);
    if (!rc)
        memcpy(to, from, bytes);
    return rc;
}

/* ---- memory ---- */

void gpu_memory(size_t *left, size_t *all)
{
    *all = law()->memory_bytes > 0 ? (size_t)law()->memory_bytes : number_from("DRIVER_DOUBLE_BYTES", DEFAULT_BYTES);
    size_t used = in_use + (size_t)law()->memory_used;
    *left = used < *all ? *all - used : 0;
}

int gpu_alloc(void **memory, size_t bytes)
{
    struct block *b = malloc(sizeof *b);
    size_t left, all, pieces = (bytes + PIECE - 1) / PIECE * PIECE;
    gpu_memory(&left, &all);
    void *start = pieces <= left && !streams->captured ? malloc(bytes) : NULL;
    if (!b || !start) {
        free(b);
        free(start);
        return streams->captured ? GPU_CAPTURING : GPU_OUT_OF_MEMORY;
    }
    *b = (struct block){blocks, start, bytes};
    blocks = b;
    in_use += pieces;
    *memory = start;
    return GPU_OK;
}

int gpu_free(void *memory)
{
    gpu_wait_for_all();
    for (struct block **b = &blocks; *b; b = &(*b)->next)
        if ((*b)->start == memory) {
            struct block *gone = *b;
            *b = gone->next;
            in_use -= (gone->bytes + PIECE - 1) / PIECE * PIECE;
            free(gone->start);
            free(gone);
            return GPU_OK;
        }
    return GPU_BAD_VALUE;
}

double_owner double_owns;

int double_owns(const void *memory)
{
    for (const struct block *b = blocks; b; b = b->next)
        if ((const char *)memory >= (const char *)b->start && (const char *)memory < (const char *)b->start + b->bytes)
            return 1;
    return 0;
}

int gpu_export(void *handle, const void *start, size_t bytes)
{
    if (!bytes || !double_owns(start))
        return GPU_BAD_VALUE;
    if (!number_from("DRIVER_DOUBLE_DMABUF", 1))
        return GPU_NOT_SUPPORTED;
    *(int *)handle = memfd_create("dma-buf of the driver double", MFD_CLOEXEC);
    return GPU_OK;
}

/* ---- for the NCCL double and the worker ---- */

double_host_spend double_spend;
double_host_time double_host_us;
double_host_set double_set_host;
double_stream_arrive double_arrive;
double_stream_finish double_finish;
double_stream_captured double_captured;
double_stream_stick double_stick;
double_writes double_count_writes, double_count_waits;
double_device double_current_device;
double_stream_record double_record;

void double_spend(double us)
{
    host_us += us;
}

double double_host_us(void)
{
    return host_us;
}

void double_set_host(double us)
{
    host_us = us;
}

double double_arrive(void *stream)
{
    struct gpu_stream *s = stream_of(stream);
    catch_up(s);
    land(s);
    return s->clock_us > host_us ? s->clock_us : host_us;
}

void double_finish(void *stream, double us)
{
    stream_of(stream)->clock_us = us;
}

int double_captured(void *stream)
{
    return stream_of(stream)->captured != NULL;
}

void double_stick(void *stream)
{
    stream_of(stream)->stuck = 1;
}

uint64_t double_count_writes(void)
{
    return writes;
}

uint64_t double_count_waits(void)
{
    return waits;
}

int double_current_device(void)
{
    return current;
}

/* ---- streams and events ---- */

int gpu_stream(struct gpu_stream **stream, unsigned flags)
{
    struct gpu_stream *s = calloc(1, sizeof *s);
    if (!s)
        return GPU_OUT_OF_MEMORY;
    *s = (struct gpu_stream){.clock_us = host_us, .non_blocking = flags == NON_BLOCKING, .next = streams};
    *stream = streams = s;
    return GPU_OK;
}

int gpu_event(struct gpu_event **event)
{
    *event = calloc(1, sizeof **event);
    return *event ? GPU_OK : GPU_OUT_OF_MEMORY;
}

int gpu_record(struct gpu_event *event, struct gpu_stream *stream)
{
    struct gpu_stream *s = stream_of(stream);
    if (s->captured)
        return GPU_CAPTURING;
    double now = s->clock_us > host_us ? s->clock_us : host_us; /* an idle GPU reaches it at once */
    *event = (struct gpu_event){now, s, s->stuck, 0};
    s->clock_us = now;
    return GPU_OK;
}

/* The first look is always too early; the second finds that the time has passed. */
int gpu_query(struct gpu_event *event)
{
    if (event->stuck || !event->asked++)
        return GPU_BUSY_NOT_READY;
    if (event->stream)
        land(event->stream);
    waits++;
    if (host_us <= event->clock_us)
        host_us = event->clock_us + law()->gpus[current % LAW_GPUS].wake_us;
    return GPU_OK;
}

int gpu_elapsed(float *ms, const struct gpu_event *from, const struct gpu_event *to)
{
    if (!from->stream || from->stream != to->stream)
        return GPU_BAD_VALUE;
    if (to->stuck || to->clock_us > host_us)
        return GPU_BUSY_NOT_READY;
    *ms = (float)((to->clock_us - from->clock_us) / 1e3 * or_one(law()->timer));
    return GPU_OK;
}

/* ---- graphs ---- */

int gpu_capture_begin(struct gpu_stream *stream, int mode)
{
    struct gpu_stream *s = stream_of(stream);
    if (mode < 0 || mode > 2 || s->captured || s == &null_stream)
        return GPU_BAD_VALUE;
    s->captured = calloc(1, sizeof *s->captured);
    if (!s->captured)
        return GPU_OUT_OF_MEMORY;
    s->captured->users = 1;
    return GPU_OK;
}

int gpu_capture_end(struct gpu_stream *stream, struct gpu_graph **graph)
{
    struct gpu_stream *s = stream_of(stream);
    *graph = s->captured;
    s->captured = NULL;
    return *graph ? GPU_OK : GPU_BAD_VALUE;
}

int double_record(void *on, double_graph_work *run, const void *work, size_t bytes)
{
    struct gpu_graph *g = stream_of(on)->captured;
    struct node *more = g ? realloc(g->nodes, (size_t)(g->count + 1) * sizeof *more) : NULL;
    void *copy = more ? malloc(bytes) : NULL;
    if (more)
        g->nodes = more;
    if (!copy)
        return 0;
    memcpy(copy, work, bytes);
    g->nodes[g->count++] = (struct node){run, copy};
    return 1;
}

static void leave(struct gpu_graph *g)
{
    if (--g->users)
        return;
    for (int i = 0; i < g->count; i++)
        free(g->nodes[i].work);
    free(g->nodes);
    free(g);
}

int gpu_graph_make(struct gpu_graph_exec **exec, struct gpu_graph *graph, unsigned long long flags)
{
    *exec = flags ? NULL : malloc(sizeof **exec);
    if (!*exec)
        return GPU_BAD_VALUE;
    (*exec)->graph = graph;
    graph->users++;
    return GPU_OK;
}

int gpu_graph_launch(struct gpu_graph_exec *exec, struct gpu_stream *stream)
{
    host_us += law()->launch_us;
    for (int i = 0; i < exec->graph->count; i++)
        exec->graph->nodes[i].run(stream, exec->graph->nodes[i].work);
    return GPU_OK;
}

int gpu_graph_free(struct gpu_graph_exec *exec)
{
    leave(exec->graph);
    free(exec);
    return GPU_OK;
}

int gpu_graph_drop(struct gpu_graph *graph)
{
    leave(graph);
    return GPU_OK;
}
