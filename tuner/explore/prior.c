/* Journals of earlier jobs as hints. */
#include "tuner/explore/prior.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tuner/libc/thread.h"
#include "tuner/observe/line.h"
#include "tuner/observe/record.h"

#define PATH_SIZE 4608

static struct {
    _Atomic int is_asked, is_read;
    char dir[PATH_SIZE - OBSERVE_NAME - 1];
    struct explore_hint hints[EXPLORE_HINTS];
    size_t count;
} prior;

/* ---- a journal --------------------------------------------------------------------------------------------------- */

static struct explore_cell cell_of(const struct observe_line *l)
{
    struct explore_cell c = explore_nothing;
    char algo[24], proto[24], number[12];
    size_t nalgo = observe_word(l, "algorithm", algo, sizeof algo),
           nproto = observe_word(l, "protocol", proto, sizeof proto);
    int a = nalgo ? algo_parse(algo, nalgo) : -1, p = nproto ? proto_parse(proto, nproto) : -1;
    if (a < 0 || p < 0 || a * PROTO_COUNT + p >= EXPLORE_CELLS)
        return c;
    unsigned long channels = observe_word(l, "channels", number, sizeof number) ? strtoul(number, NULL, 10) : 0;
    unsigned long bytes = observe_word(l, "chunk_bytes", number, sizeof number) ? strtoul(number, NULL, 10) : 0;
    while (c.chunk + 1 < EXPLORE_CHUNKS && EXPLORE_CHUNK(c.chunk) < bytes)
        c.chunk++;
    c.chunk = bytes ? c.chunk : 0;
    c.channels = (uint8_t)channels;
    if (channels <= 64 && (!bytes || (channels && c.chunk && EXPLORE_CHUNK(c.chunk) == bytes)))
        c.cell = (int8_t)(a * PROTO_COUNT + p);
    return c;
}

static int read_hint(const struct observe_line *l, struct explore_hint *h)
{
    char coll[24];
    float us[EXPLORE_PAIRS];
    size_t n = observe_word(l, "collective", coll, sizeof coll),
           count = observe_decimals(l, "times_us", us, EXPLORE_PAIRS);
    h->kind = n ? explore_kind(coll_parse(coll, n), observe_number(l, "bytes", 0)) : -1;
    h->nodes = observe_small(l, "nodes", 1 << 24);
    h->ranks = observe_small(l, "ranks", 1 << 24);
    h->cell = cell_of(l);
    h->over = explore_median(us, (unsigned)count);
    return h->kind >= 0 && h->ranks > 1 && h->over > 0 ? 0 : -1;
}

static int is_alike(const struct explore_hint *x, const struct explore_hint *y)
{
    return x->kind == y->kind && x->nodes == y->nodes && x->ranks == y->ranks;
}

static int has(const struct explore_hint *to, size_t count, const struct explore_hint *h)
{
    for (size_t i = 0; i < count; i++)
        if (is_alike(&to[i], h) && !memcmp(&to[i].cell, &h->cell, sizeof h->cell))
            return 1;
    return 0;
}

/* What was tried stands before the default of its kind; what has none is dropped. */
size_t explore_hints_read(struct explore_hint *to, size_t count, const char *text, size_t bytes)
{
    struct observe_line l = {text, text};
    size_t first = count, done = count;
    for (struct explore_hint h; observe_next(&l, text + bytes);) {
        if (read_hint(&l, &h))
            continue;
        if (h.cell.cell >= 0) {
            if (done < EXPLORE_HINTS && !has(to, done, &h))
                to[done++] = h;
            continue;
        }
        size_t kept = first;
        for (size_t i = first; i < done; i++) {
            if (is_alike(&to[i], &h)) {
                to[kept] = to[i];
                to[kept++].over /= h.over;
            }
        }
        first = done = kept;
    }
    return first;
}

/* ---- this process ------------------------------------------------------------------------------------------------ */

static void *read_all(void *unused)
{
    static char names[EXPLORE_JOURNALS][OBSERVE_NAME], path[PATH_SIZE];
    size_t count = observe_latest(prior.dir, "*.learned.*.jsonl", "", names, EXPLORE_JOURNALS);
    (void)unused;
    for (size_t i = 0, bytes; i < count; i++) {
        snprintf(path, sizeof path, "%s/%s", prior.dir, names[i]);
        char *text = observe_read(path, &bytes);
        if (text)
            prior.count = explore_hints_read(prior.hints, prior.count, text, bytes);
        free(text);
    }
    atomic_store(&prior.is_read, 1);
    return NULL;
}

void explore_recall(const char *dir)
{
    if (atomic_exchange(&prior.is_asked, 1))
        return;
    snprintf(prior.dir, sizeof prior.dir, "%s", dir);
    if (plugin_thread_start(read_all, NULL))
        atomic_store(&prior.is_read, 1); /* of nothing */
}

int explore_remind(struct explore_decider *d, int nodes, int ranks)
{
    if (!atomic_load(&prior.is_read))
        return 0;
    for (size_t i = 0; i < prior.count; i++)
        if (prior.hints[i].nodes == nodes && prior.hints[i].ranks == ranks)
            explore_hinted(d, prior.hints[i].kind, prior.hints[i].cell, prior.hints[i].over);
    return 1;
}
