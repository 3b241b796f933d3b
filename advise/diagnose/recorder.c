/* PyTorch's flight recorder: dumps of several ranks held against one another, by process group. */
#include <stdlib.h>
#include <string.h>

#include "advise/diagnose/rules.h"

#define MOST_DUMPS 8192 /* ranks times groups */

void diag_recorder_add(struct diagnosis *d, const struct diag_dump *dump)
{
    struct diag_recorder *f = &d->recorder;
    if (f->n == MOST_DUMPS)
        return;
    struct diag_dump *all = f->n % 64 ? f->dumps : realloc(f->dumps, (size_t)(f->n + 64) * sizeof *all);
    if (!all)
        abort();
    f->dumps = all;
    all[f->n++] = *dump;
}

/* Of a process group: how far its ranks came. */
struct progress {
    const char *group;
    int ranks, open;            /* dumps; those with a collective that is not complete */
    long low, high;             /* the last collective that a rank called */
    const struct diag_dump *at; /* an open one of the furthest, or of the lowest */
    const struct diag_dump *behind;
    const struct diag_dump *other; /* calls something else under the number of `at` */
    int nbehind, nothers;
};

static long last_of(const struct diag_dump *x)
{
    return x->open_seq >= 0 ? x->open_seq : x->last_seq;
}

static struct progress progress_of(const struct diag_recorder *f, const char *group)
{
    struct progress p = {.group = group, .low = -1, .high = -1};
    for (int i = 0; i < f->n; i++) {
        const struct diag_dump *x = &f->dumps[i];
        if (strcmp(x->group, group) != 0)
            continue;
        long last = last_of(x);
        p.ranks++;
        p.open += x->open_seq >= 0;
        p.low = p.low < 0 || last < p.low ? last : p.low;
        p.high = last > p.high ? last : p.high;
        if (x->open_seq >= 0 && (!p.at || x->open_seq > p.at->open_seq))
            p.at = x;
    }
    int same = 0;
    for (int i = 0; i < f->n; i++) {
        const struct diag_dump *x = &f->dumps[i];
        if (strcmp(x->group, group) != 0)
            continue;
        if (last_of(x) < p.high) {
            p.nbehind++;
            p.behind = p.behind && last_of(p.behind) <= last_of(x) ? p.behind : x;
        } else if (p.at && x->open_seq == p.at->open_seq && strcmp(x->open_name, p.at->open_name) != 0) {
            p.nothers++;
            p.other = x;
        } else {
            same++;
        }
    }
    /* The fewer are the others. */
    if (p.other && p.nothers > same) {
        const struct diag_dump *x = p.at;
        p.at = p.other;
        p.other = x;
        p.nothers = same;
    }
    return p;
}

/* The group that says most: ranks that differ before ranks that wait alike. */
static struct progress find_worst(const struct diag_recorder *f)
{
    struct progress worst = {0};
    for (int i = 0; i < f->n; i++) {
        int seen = 0;
        for (int k = 0; k < i && !seen; k++)
            seen = !strcmp(f->dumps[k].group, f->dumps[i].group);
        if (seen)
            continue;
        struct progress p = progress_of(f, f->dumps[i].group);
        int value = p.open ? 1 + 2 * (p.nbehind || p.nothers) : 0;
        int most = worst.open ? 1 + 2 * (worst.nbehind || worst.nothers) : 0;
        if (value > most || (value == most && p.ranks > worst.ranks))
            worst = p;
    }
    return worst;
}

/* "rank 3", or the file of a dump that names no rank. */
static const char *name_rank(const struct judge *j, const struct diag_dump *x)
{
    return x->rank >= 0 ? arena_printf(j->d->arena, "rank %d", x->rank) : j->r->files[x->file].name;
}

/* Ranks below the highest without a dump. */
static const char *missing_dumps(const struct judge *j, const char *group)
{
    const struct diag_recorder *f = &j->d->recorder;
    const char *list = "";
    int highest = -1, n = 0;
    for (int i = 0; i < f->n; i++)
        highest = !strcmp(f->dumps[i].group, group) && f->dumps[i].rank > highest ? f->dumps[i].rank : highest;
    for (int r = 0; r < highest && r < DIAG_RANKS && n <= 8; r++) {
        int there = 0;
        for (int i = 0; i < f->n && !there; i++)
            there = f->dumps[i].rank == r;
        if (!there && ++n <= 8)
            list = arena_printf(j->d->arena, "%s%s%d", list, *list ? ", " : "", r);
    }
    return n ? arena_printf(j->d->arena, "; there is no dump of rank%s %s%s", n > 1 ? "s" : "", list,
                            n > 8 ? "..." : "")
             : "";
}

int diag_hangs_by_recorder(const struct judge *j, struct diag_hit *h)
{
    struct progress p = find_worst(&j->d->recorder);
    char *place = arena_alloc(j->d->arena, DIAG_PLACE);
    if (!p.open || !p.at)
        return 0;
    const char *missing = missing_dumps(j, p.group);
    const struct diag_dump *guilty = p.behind ? p.behind : p.other ? p.other : p.at;
    diag_place(place, j->r->files[guilty->file].name, 1);
    if (p.behind && p.behind->open_seq >= 0)
        return diag_hit(h, 1, place,
                        "a hang: by the flight recorder %d of %d ranks stand in %s number %ld, and others have come to "
                        "number %ld: look at %s first%s",
                        p.nbehind, p.ranks, p.behind->open_name, p.behind->open_seq, p.high, name_rank(j, p.behind),
                        missing);
    if (p.behind)
        return diag_hit(
            h, 1, place,
            "a hang: by the flight recorder %s never came to %s number %ld, in which others wait: its last is "
            "number %ld (%d of %d ranks are behind)%s",
            name_rank(j, p.behind), p.at->open_name, p.at->open_seq, last_of(p.behind), p.nbehind, p.ranks, missing);
    if (p.other)
        return diag_hit(h, 1, place,
                        "a hang: by the flight recorder %s calls %s where others call %s (number %ld, %d of %d ranks "
                        "differ)%s",
                        name_rank(j, p.other), p.other->open_name, p.at->open_name, p.at->open_seq, p.nothers, p.ranks,
                        missing);
    return diag_hit(h, 1, place, "a hang: by the flight recorder the last collective is %s number %ld, not complete%s",
                    p.at->open_name, p.at->open_seq, missing);
}
