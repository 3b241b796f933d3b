/* What a change costs a job of 10,000 ranks: every process is a node of the tree, with its own state machine and its
 * own proven connection; each frame is sealed, put through a socket and opened again. Words of a moment travel
 * together, as a leader's wait for those of their neighbours makes them. Peer: 64 ranks. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "core/wire/connection.h"
#include "tests/lib/online_rank.h"
#include "tuner/online/tree.h"

#define A_NODE 8

struct process {
    struct online_node node;
    struct online_rank rank;
    struct connection up, down; /* this end and the parent's */
    int parent, link, children, first_child[ONLINE_LINKS];
    struct online_entry bundle[256];
    size_t bundled;
};

struct frame_under_way {
    int process, is_up;
    size_t bytes;
    char *data;
};

static struct process *all;
static int count, ends[2];
static struct {
    struct frame_under_way *list;
    size_t n, room;
} wave;
static size_t frames, bytes, root_frames, root_bytes;
static double root_s;

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void carry(int process, int is_up, const struct online_entry *e, size_t n)
{
    static char data[FRAME_BYTES];
    struct connection *c = is_up ? &all[process].up : &all[process].down;
    if (connection_send(c, ONLINE_WORDS, 0, e, n * sizeof *e))
        abort();
    ssize_t got = recv(ends[1], data, sizeof data, 0);
    if (got <= 0)
        abort();
    if (wave.n == wave.room) {
        wave.room = wave.room ? 2 * wave.room : 1024;
        wave.list = realloc(wave.list, wave.room * sizeof *wave.list);
        if (!wave.list)
            abort();
    }
    struct frame_under_way *f = &wave.list[wave.n++];
    *f = (struct frame_under_way){process, is_up, (size_t)got, malloc((size_t)got)};
    if (!f->data)
        abort();
    memcpy(f->data, data, (size_t)got);
    frames++;
    bytes += (size_t)got;
}

static void send_word(void *arg, int link, const struct online_entry *e)
{
    struct process *p = arg;
    if (link != ONLINE_UP) {
        carry(p->first_child[link], 0, e, 1);
        return;
    }
    if (online_merge(p->bundle, &p->bundled, sizeof p->bundle / sizeof *p->bundle, e))
        return;
    carry((int)(p - all), 1, p->bundle, p->bundled);
    p->bundled = 0;
    online_merge(p->bundle, &p->bundled, 1, e);
}

static void arrive(const struct frame_under_way *f)
{
    struct process *p = &all[f->process];
    struct connection *c = f->is_up ? &p->down : &p->up;
    int to = f->is_up ? p->parent : f->process;
    struct frame got;
    struct online_entry e;
    double began = now_s();
    connection_next(c, &got); /* drops what was there before */
    memcpy(c->in + c->used, f->data, f->bytes);
    c->used += f->bytes;
    if (connection_next(c, &got) != 1)
        abort();
    for (size_t i = 0; i < got.head.bytes / sizeof e; i++) {
        memcpy(&e, (const char *)got.body + i * sizeof e, sizeof e);
        if (online_node_hear(&all[to].node, f->is_up ? p->link : ONLINE_UP, &e))
            abort();
    }
    if (to)
        return;
    root_frames++;
    root_bytes += f->bytes;
    root_s += now_s() - began;
}

/* All that is under way arrives, and what comes of it is sent; how many hops until it is quiet. */
static int settle(void)
{
    int hops = 0;
    for (;;) {
        for (int i = 1; i < count; i++)
            if (all[i].bundled) {
                carry(i, 1, all[i].bundle, all[i].bundled);
                all[i].bundled = 0;
            }
        if (!wave.n)
            return hops;
        struct frame_under_way *list = wave.list;
        size_t n = wave.n;
        wave.list = NULL;
        wave.n = wave.room = 0;
        for (size_t i = 0; i < n; i++) {
            arrive(&list[i]);
            free(list[i].data);
        }
        free(list);
        hops++;
    }
}

/* The root's rule, with nodes in their order: a leader's parent is leader (n - 1) / 32. */
static void hang(int i)
{
    struct process *p = &all[i];
    int node = i / A_NODE;
    p->parent = i % A_NODE ? node * A_NODE : (node - 1) / ONLINE_ARITY * A_NODE;
    p->link = all[p->parent].children++;
    all[p->parent].first_child[p->link] = i;
    memset(p->up.out_seal.key, i & 255, HMAC_BYTES);
    if (connection_open(&p->up, ends[0], ends[0]) || connection_open(&p->down, ends[0], ends[0]))
        abort();
    p->up.sealed = p->down.sealed = 1;
}

static void print(const char *what, int hops)
{
    printf(
        "  %-9s %6zu frames %8zu bytes in all; coordinator takes %4zu frames %7zu bytes, %5.2f ms of a core; %d hops\n",
        what, frames, bytes, root_frames, root_bytes, root_s * 1e3, hops);
    frames = bytes = root_frames = root_bytes = 0;
    root_s = 0;
}

static void job(int ranks)
{
    count = ranks;
    all = calloc((size_t)count, sizeof *all);
    if (!all)
        abort();
    for (int i = 0; i < count; i++) {
        online_rank_make(&all[i].rank, 7, i, count);
        if (online_node_open(&all[i].node, i == 0, send_word, &all[i]))
            abort();
        if (i)
            hang(i);
    }
    printf("%d ranks on %d nodes, %d connections at the coordinator\n", count, (count + A_NODE - 1) / A_NODE,
           all[0].children);
    for (int i = 0; i < count; i++)
        if (online_node_join(&all[i].node, &all[i].rank.member))
            abort();
    print("all join", settle());
    all[0].rank.from = 1000;
    all[0].rank.plan = 3;
    double began = now_s();
    online_node_tick(&all[0].node, ONLINE_PROPOSE_MS);
    int hops = settle();
    double took = now_s() - began;
    for (int i = 0; i < count; i++)
        if (all[i].rank.agent.plan != 3)
            abort();
    print("a commit", hops);
    printf("  %.0f ms of one core for all processes together\n", took * 1e3);
    for (int i = 0; i < count; i++) {
        online_node_close(&all[i].node);
        free(all[i].up.in), free(all[i].down.in), free(all[i].up.out), free(all[i].down.out);
    }
    free(all);
}

int main(void)
{
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
        return 1;
    setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &(int){1 << 20}, sizeof(int));
    job(64);
    job(1024);
    job(10000);
    return 0;
}
