/* Does the job stand still, since when, and in what? */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "advise/diagnose/rules.h"
#include "core/units.h"

/* ---- flight recorder --------------------------------------------------------------------------------------------- */

/* PyTorch's flight recorder: dumps of several ranks held against one another, by process group. */

#define MOST_DUMPS 8192 /* ranks times groups */

void diag_recorder_add(struct diagnosis *d, const struct diag_dump *dump)
{
    struct diag_recorder *f = &d->recorder;
    if (f->n == MOST_DUMPS)
        return;
    ARENA_ADD(d->arena, f->dumps, f->n) = *dump;
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

static int find_by_recorder(const struct judge *j, struct diag_hit *h)
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

/* ---- stacks ------------------------------------------------------------------------------------------------------ */

/* Stacks of processes, as py-spy dump and faulthandler write them, the innermost frame first: where each main thread
 * stands, and which process stands elsewhere than the others. */

#define COLLECTIVE "a collective of torch.distributed"

static const struct {
    const char *frame, *what; /* NULL: a launcher, which always waits */
} frames[] = {
    {"torch/distributed/elastic", NULL},
    {"torch/distributed/run.py", NULL},
    {"multiprocessing/popen_fork.py", NULL},
    {"distributed_c10d.py", COLLECTIVE},
    {"all_reduce", COLLECTIVE},
    {"all_gather", COLLECTIVE},
    {"barrier", COLLECTIVE},
    {"vllm/", "the inference engine"},
    {"sglang/", "the inference engine"},
    {"_try_get_data", "a data loader that waits for its worker"},
    {"dataloader.py", "a data loader that waits for its worker"},
    {"ray/_private/worker.py", "Ray, waiting for a task"},
    {"serialization.py", "a checkpoint that is written or read"},
    {"subprocess.py", "another process that it waits for"},
    {"ssl.py", "a server that it waits for"},
    {"socket.py", "a server that it waits for"},
    {"torch/cuda/__init__.py", "the GPU, waiting for a kernel"},
    {"synchronize", "the GPU, waiting for a kernel"},
};

/* The stack that was being read: it counts where a known frame says, else at its innermost frame. */
void diag_end_stack(struct diagnosis *d)
{
    struct diag_stacks *s = &d->stacks;
    const char *key = s->what ? s->what : s->top;
    if (!s->is_open || (!s->what && !*s->top))
        return;
    s->is_open = 0;
    s->n++;
    int i = 0;
    while (i < s->ngroups && strcmp(s->groups[i].at, key) != 0)
        i++;
    if (i == DIAG_STACK_GROUPS)
        return;
    struct diag_stack_group *g = &s->groups[i];
    if (i == s->ngroups) {
        s->ngroups++;
        *g = (struct diag_stack_group){.pid = s->pid, .rank = d->file_rank};
        snprintf(g->at, sizeof g->at, "%s", key);
        snprintf(g->top, sizeof g->top, "%s", s->top);
        memcpy(g->place, s->place, sizeof g->place);
    }
    g->count++;
}

/* A thread's heading: the main one counts, others wait by their nature. */
static void begin_stack(struct diagnosis *d, const char *line)
{
    struct diag_stacks *s = &d->stacks;
    diag_end_stack(d);
    s->is_open = strstr(line, "MainThread") || !strchr(line, '"');
    s->what = NULL;
    *s->top = 0;
}

int diag_read_stack(struct diagnosis *d, const char *line)
{
    struct diag_stacks *s = &d->stacks;
    if ((!strncmp(line, "Thread ", 7) && (strstr(line, "(active") || strstr(line, "(idle"))) ||
        strstr(line, "(most recent call first)")) {
        begin_stack(d, line);
        return 1;
    }
    if (!strncmp(line, "Process ", 8) && strchr(line, ':')) {
        diag_end_stack(d);
        s->pid = strtol(line + 8, NULL, 10);
        return 0;
    }
    if (!s->is_open || *line != ' ')
        return 0;
    const char *frame = line + strspn(line, " ");
    if (!*s->top) {
        snprintf(s->top, sizeof s->top, "%s", frame);
        diag_here(d, s->place);
    }
    for (size_t i = 0; !s->what && i < sizeof frames / sizeof *frames; i++)
        if (strstr(frame, frames[i].frame)) {
            s->what = frames[i].what;
            s->is_open = s->what != NULL;
            diag_here(d, s->place);
            break;
        }
    return strstr(line, ".py") != NULL;
}

/* Who is not in the collective that others wait in; without one, the smallest group. */
static const struct diag_stack_group *find_odd(const struct diag_stacks *s, const struct diag_stack_group *most)
{
    const struct diag_stack_group *odd = NULL;
    for (int i = 0; i < s->ngroups; i++) {
        const struct diag_stack_group *g = &s->groups[i];
        if (g != most && (!odd || g->count < odd->count))
            odd = g;
    }
    return odd;
}

static const struct diag_stack_group *find_most(const struct diag_stacks *s)
{
    const struct diag_stack_group *most = NULL;
    for (int i = 0; i < s->ngroups; i++) {
        const struct diag_stack_group *g = &s->groups[i];
        if (!strcmp(g->at, COLLECTIVE))
            return g;
        most = !most || g->count > most->count ? g : most;
    }
    return most;
}

static int find_by_stack(const struct judge *j, struct diag_hit *h)
{
    const struct diag_stacks *s = &j->d->stacks;
    const struct diag_stack_group *most = find_most(s), *odd = most ? find_odd(s, most) : NULL;
    char who[64] = "";
    if (!most)
        return 0;
    if (!odd)
        return diag_hit(h, 0.9, most->place, "every stack (%d) is at the same: %s", s->n, most->at);
    if (odd->rank >= 0)
        snprintf(who, sizeof who, " (rank %d)", odd->rank);
    else if (odd->pid > 0)
        snprintf(who, sizeof who, " (process %ld)", odd->pid);
    return diag_hit(h, 0.9, odd->place, "of %d stacks %d are at %s, but %d at %s%s: look there first", s->n,
                    most->count, most->at, odd->count, odd->at, who);
}

/* ---- hangs ------------------------------------------------------------------------------------------------------- */

#define STANDS_S    60.0 /* no change for so long */
#define RUN_TIMES   3.0  /* an end without change is this much longer than any before */
#define STEP_TIMES  10.0 /* no progress for so many steps */
#define POWER_SPINS 0.5  /* of the limit: a GPU at 100 % below this waits within a kernel */

const char diag_hang_advice[] =
    "by frequency: one rank died or runs another collective (its log, out of memory), one node cannot be reached "
    "(wrong HCA, GID or interface, a dark port), a data loader or reward worker waits, peer access between two GPUs is "
    "broken (PCIe ACS): compare the stacks of all ranks, and the first rank's log that ends";

/* Seconds that all GPUs have stood at 0 or at 100 % to the end of the file; 0: they have not. */
static double gpus_stand(const struct diag_result *r, int *at, const char **place)
{
    double least = r->ngpus ? INFINITY : 0;
    for (int i = 0; i < r->ngpus; i++) {
        const struct diag_gpu *g = &r->gpus[i];
        if (g->tail_percent < 0 || g->tail_percent != r->gpus[0].tail_percent || g->samples < 2)
            return 0;
        least = fmin(least, g->tail_s > RUN_TIMES * g->longest_run_s ? g->tail_s : 0);
    }
    *at = r->ngpus ? r->gpus[0].tail_percent : 0;
    *place = r->ngpus ? r->gpus[0].tail_place : "";
    return least;
}

/* GPUs at 100 % work or spin; how much power they draw tells. */
static int spin(const struct diag_result *r)
{
    double part = 0;
    for (int i = 0; i < r->ngpus; i++) {
        const struct diag_gpu *g = &r->gpus[i];
        if (g->limit_W <= 0 || g->power_W <= 0)
            return 0;
        part = fmax(part, g->power_W / g->limit_W);
    }
    return part > 0 && part < POWER_SPINS;
}

/* Of seconds without a step, those that are too many for a step. */
static double too_long(const struct judge *j, double stands_s)
{
    return stands_s > STEP_TIMES * (j->s ? j->s->step_ms / 1e3 : 0) ? stands_s : 0;
}

/* The bar's own clock goes on without a step being finished. */
static double bar_stands(const struct judge *j)
{
    const struct diag_progress *b = &j->d->bar;
    return b->total && b->done < b->total ? too_long(j, b->last_s - b->at_s) : 0;
}

/* A process group whose ranks timed out. */
struct waiting {
    const struct diag_timeout *low, *high,
        *named;                  /* the first at each end; named: the first whose collective is known */
    int ranks, nlow, differ;     /* nlow: at the lowest; differ: other collectives at one number */
    int absent, elsewhere, size; /* that did not time out; of these, in another group; size 0: unknown */
    char list[96];               /* of the absent ones, without those elsewhere where there are others */
};

static int is_default(const struct diag_timeout *t)
{
    return !*t->group || !strcmp(t->group, "0") || !strncmp(t->name, "default", 7);
}

/* Groups that are not named are told apart by nothing. */
static int is_group(const struct diag_timeout *t, const struct diag_timeout *of)
{
    return !strcmp(t->group, of->group);
}

static int rank_of(const struct diag_timeout *t)
{
    return is_default(t) && t->global >= 0 ? t->global : t->member;
}

/* The global rank of a member, by two that are known and the distance between them; -1. */
static int global_of(const struct diag_watchdog *w, const struct diag_timeout *of, int member)
{
    const struct diag_timeout *a = NULL, *b = NULL;
    for (int i = 0; i < w->n; i++)
        if (is_group(&w->of[i], of) && w->of[i].global >= 0 && w->of[i].member >= 0) {
            a = a ? a : &w->of[i];
            b = w->of[i].member != a->member ? &w->of[i] : b;
        }
    int members = b ? b->member - a->member : 0, ranks = b ? b->global - a->global : 0;
    return members && ranks % members == 0 ? a->global + (member - a->member) * (ranks / members) : -1;
}

static const char *name_member(const struct judge *j, const struct diag_timeout *of, int member, int global)
{
    if (is_default(of) || global < 0)
        return arena_printf(j->d->arena, is_default(of) ? "rank %d" : "rank %d of the group", member);
    return arena_printf(j->d->arena, "rank %d (rank %d of the group)", global, member);
}

static const char *name_timeout(const struct judge *j, const struct diag_timeout *t)
{
    return name_member(j, t, rank_of(t), t->global);
}

static int has_timed_out(const struct diag_watchdog *w, int global)
{
    for (int i = 0; i < w->n; i++)
        if (global >= 0 && w->of[i].global == global)
            return 1;
    return 0;
}

/* List who did not time out below the highest rank of the group; those that wait in another one only without others. */
static void list_absent(const struct judge *j, const unsigned char *seen, int from, struct waiting *g)
{
    const struct diag_watchdog *w = &j->d->watchdog;
    char first[2][sizeof g->list] = {"", ""};
    int n[2] = {0, 0};
    for (int r = from; r < g->size && r < DIAG_RANKS; r++) {
        if (seen[r / 8] & 1u << r % 8)
            continue;
        int global = is_default(g->low) ? r : global_of(w, g->low, r), waits = has_timed_out(w, global);
        size_t used = strlen(first[waits]);
        if (++n[waits] <= 8)
            snprintf(first[waits] + used, sizeof g->list - used, "%s%s", used ? ", " : "",
                     is_default(g->low) ? arena_printf(j->d->arena, "%s%d", used ? "" : "rank ", r)
                                        : name_member(j, g->low, r, global));
    }
    g->absent = n[0] + n[1];
    g->elsewhere = n[1];
    snprintf(g->list, sizeof g->list, "%s", first[!n[0]]);
}

/* Look at the group of a timeout; of a rank the first counts, further ones are of a restart. */
static struct waiting judge_group(const struct judge *j, const struct diag_timeout *of)
{
    const struct diag_watchdog *w = &j->d->watchdog;
    unsigned char seen[DIAG_RANKS / 8] = {0};
    struct waiting g = {0};
    int lowest = DIAG_RANKS, is_part = 0;
    for (int i = 0; i < w->n; i++) {
        const struct diag_timeout *t = &w->of[i];
        int r = rank_of(t);
        if (*of->name && !strcmp(t->name, of->name) && r >= g.size)
            g.size = r + 1; /* groups of a name are alike */
        if (!is_group(t, of) || (r >= 0 && r < DIAG_RANKS && seen[r / 8] & 1u << r % 8))
            continue;
        if (r >= 0 && r < DIAG_RANKS) {
            seen[r / 8] |= (unsigned char)(1u << r % 8);
            g.size = r >= g.size ? r + 1 : g.size;
            lowest = r < lowest ? r : lowest;
        }
        is_part |= !*t->group && t->global >= 0 && t->member >= 0 && t->global != t->member;
        g.ranks++;
        if (!g.low || t->seq < g.low->seq) {
            g.low = t;
            g.nlow = 0;
        }
        g.high = !g.high || t->seq > g.high->seq ? t : g.high;
        g.nlow += t->seq == g.low->seq;
        g.named = !g.named && *t->op ? t : g.named;
        g.differ |= g.named && *t->op && t->seq == g.named->seq && strcmp(t->op, g.named->op) != 0;
    }
    list_absent(j, seen, is_part ? lowest : 0, &g);
    return g;
}

/* Ranks that differ, then a rank that is in no collective at all, then the number of ranks. */
static long worth(const struct waiting *g)
{
    int few = g->absent && g->absent < g->ranks;
    return g->ranks + DIAG_RANKS * (g->differ || g->low->seq != g->high->seq ? 3L
                                    : few && g->elsewhere < g->absent        ? 2L
                                                                             : 0);
}

static const char *name_group(const struct judge *j, const struct diag_timeout *t)
{
    return *t->name ? t->name : arena_printf(j->d->arena, "process group %s", t->group);
}

static int say_difference(const struct judge *j, const struct waiting *g, const char *where, const char *named,
                          struct diag_hit *h)
{
    const char *op[2] = {*g->low->op ? g->low->op : "a collective", *g->high->op ? g->high->op : "a collective"};
    if (g->low->seq == g->high->seq || rank_of(g->low) < 0 || rank_of(g->high) < 0)
        return diag_hit(h, 1, g->low->place,
                        "a hang: %d ranks%s timed out in different collectives (sequence numbers %ld to %ld): they do "
                        "not make the same calls, or one is behind%s",
                        g->ranks, where, g->low->seq, g->high->seq, named);
    char end[160] = "they do not make the same calls, or one is behind";
    if (2 * g->nlow < g->ranks)
        snprintf(end, sizeof end, "%s%s %ld call%s behind the others: look there first", name_timeout(j, g->low),
                 g->nlow > 1 ? " and others are" : " is", g->high->seq - g->low->seq,
                 g->high->seq - g->low->seq > 1 ? "s" : "");
    return diag_hit(
        h, 1, g->low->place,
        "a hang: %d ranks%s timed out in different collectives: %s stands in %s number %ld, %s in %s number "
        "%ld: %s%s",
        g->ranks, where, name_timeout(j, g->low), op[0], g->low->seq, name_timeout(j, g->high), op[1], g->high->seq,
        end, named);
}

/* The other groups whose ranks wait, the first three by name. */
static void say_others(const struct judge *j, const struct diag_timeout *worst, char to[DIAG_SENTENCE])
{
    const struct diag_watchdog *w = &j->d->watchdog;
    int n = 0;
    for (int i = 0; i < w->n; i++) {
        int k = 0, ranks = 0;
        while (k < i && !is_group(&w->of[k], &w->of[i]))
            k++;
        if (k < i || is_group(&w->of[i], worst) || ++n > 3)
            continue;
        for (; k < w->n; k++)
            ranks += is_group(&w->of[k], &w->of[i]);
        diag_say(to, "%s%s in %s", n > 1 ? ", " : "; also waiting: ",
                 ranks > 1
                     ? arena_printf(j->d->arena, "%d ranks", ranks)
                     : arena_printf(j->d->arena, "rank %d", w->of[i].global >= 0 ? w->of[i].global : w->of[i].member),
                 *w->of[i].group ? name_group(j, &w->of[i]) : "a group that is not named");
    }
    if (n > 3)
        diag_say(to, " and %d more groups", n - 3);
}

/* Timeouts whose group's line was lost join the one group that stands at their number. */
static void join_groups(struct diag_watchdog *w)
{
    for (int i = 0; i < w->n; i++) {
        const struct diag_timeout *of = NULL;
        int groups = 0;
        for (int k = 0; !*w->of[i].group && k < w->n; k++)
            if (*w->of[k].group && w->of[k].seq == w->of[i].seq && (!of || !is_group(of, &w->of[k]))) {
                of = &w->of[k];
                groups++;
            }
        if (groups == 1) {
            memcpy(w->of[i].group, of->group, sizeof of->group);
            memcpy(w->of[i].name, of->name, sizeof of->name);
        }
    }
}

static int by_watchdog(const struct judge *j, struct diag_hit *h)
{
    struct diag_watchdog *w = &j->d->watchdog;
    char waited[UNIT_TEXT], number[48] = "", elements[48] = "", since[64] = "", where[96] = "",
                            named[DIAG_SENTENCE] = "";
    if (!w->n)
        return 0;
    join_groups(w);
    struct waiting g = judge_group(j, &w->of[0]);
    for (int i = 1; i < w->n; i++) {
        int k = 0;
        while (k < i && !is_group(&w->of[k], &w->of[i]))
            k++;
        struct waiting other = k == i ? judge_group(j, &w->of[i]) : g;
        g = worth(&other) > worth(&g) ? other : g;
    }
    if (!is_default(g.low))
        snprintf(where, sizeof where, " of %s", name_group(j, g.low));
    /* Where fewer timed out than did not, the log holds some ranks only. */
    if (g.absent && g.absent < g.ranks)
        diag_say(named, "; %s%s did not time out%s", g.list, g.absent - g.elsewhere > 8 ? " and more" : "",
                 g.absent > g.elsewhere ? ": look there first" : " here, but in another group");
    say_others(j, g.low, named);
    if (g.differ || g.low->seq != g.high->seq)
        return say_difference(j, &g, where, named, h);
    /* Within one node the data path is peer access alone. */
    const struct diag_nccl *n = &j->d->nccl;
    if (n->p2p && !n->ib && !n->socket && g.ranks > 1 && g.ranks == n->ranks)
        diag_say(named,
                 "; all ranks arrived, so peer access between the GPUs may be stuck: try NCCL_P2P_DISABLE=1; if that "
                 "helps, switch ACS and IOMMU off");
    if (g.low->seq >= 0)
        snprintf(number, sizeof number, " number %ld", g.low->seq);
    if (g.named && g.named->elements >= 0)
        snprintf(elements, sizeof elements, " of %ld elements", g.named->elements);
    if (g.named && g.named->waited_ms >= 0)
        snprintf(since, sizeof since, " after %s", unit_seconds(waited, (double)g.named->waited_ms / 1e3));
    return diag_hit(h, 1, g.low->place, "a hang: %d%s rank%s%s timed out in %s%s%s%s%s", g.ranks,
                    *where && g.absent ? arena_printf(j->d->arena, " of %d", g.size) : "", g.ranks == 1 ? "" : "s",
                    where, g.named ? g.named->op : "a collective", number, elements, since, named);
}

static int by_gpus(const struct judge *j, struct diag_hit *h)
{
    int at = 0;
    const char *place = "";
    double stand_s = gpus_stand(j->r, &at, &place);
    const struct diag_progress *b = &j->d->bar;
    int stuck = b->total > 0 && b->done < b->total && (!b->done || bar_stands(j) > STANDS_S);
    char since[UNIT_TEXT];
    if (stand_s <= STANDS_S || (at && !spin(j->r) && !stuck))
        return 0;
    return diag_hit(
        h, at || stuck ? 1 : 0.8, place, "%s: all GPUs have stood at %d %% for %s, to the end of the file%s%s",
        at || stuck ? "a hang" : "a hang, or the job has ended", at, unit_seconds(since, stand_s),
        at ? ", as when kernels of a collective wait for a rank" : "", stuck ? "; no step in the console since" : "");
}

static int by_console(const struct judge *j, struct diag_hit *h)
{
    const struct diag_progress *b = &j->d->bar;
    double bar_s = bar_stands(j), log_s = too_long(j, j->d->stands_s);
    char since[UNIT_TEXT];
    if (bar_s > 5 * STANDS_S)
        return diag_hit(h, 0.9, b->place, "a hang: the bar stands at %ld of %ld for %s, to the end of the file",
                        b->done, b->total, unit_seconds(since, bar_s));
    if (b->total && !b->done && !j->s)
        return diag_hit(h, 0.5, b->place, "a hang, or the first step still runs: none of %ld was finished", b->total);
    if (log_s > 5 * STANDS_S)
        return diag_hit(h, 0.3, j->d->stands_place,
                        "a hang, or the work after the last step: none was finished in the last %s of the file",
                        unit_seconds(since, log_s));
    return 0;
}

int diag_hangs(const struct judge *j, struct diag_hit *h)
{
    return diag_hangs_by_ras(j, h) || by_watchdog(j, h) || find_by_recorder(j, h) || find_by_stack(j, h) ||
           by_gpus(j, h) || by_console(j, h);
}
