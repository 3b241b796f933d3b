/* Does the job stand still, since when, and in what? */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "advise/diagnose/rules.h"
#include "core/units.h"

/* ---- collectives ------------------------------------------------------------------------------------------------- */

/* Where ranks stand, by PyTorch's watchdog or by its flight recorder's dumps: held against one another, by process
 * group. */

#define DUMP_GROUPS 64 /* process groups of a dump */

int diag_note_entry(struct diagnosis *d, const char *group, const char *op, const char *state, double sequence)
{
    struct diag_stands *w = &d->dumps;
    const long seq = sequence >= 0 && sequence < 1e15 ? (long)sequence : -1;
    const int is_over = !strcmp(state, "completed");
    int i = d->first_stand;
    if (!*state || seq < 0)
        return 0;
    while (i < w->n && strncmp(w->of[i].group, group, sizeof w->of->group - 1) != 0)
        i++;
    if (i == d->first_stand + DUMP_GROUPS || i == DIAG_RANKS)
        return 1;
    if (i == w->n) {
        ARENA_ADD(d->arena, w->of, w->n) =
            (struct diag_stand){.global = -1, .member = -1, .is_over = 1, .seq = -1, .elements = -1, .waited_ms = -1};
        snprintf(w->of[i].group, sizeof w->of->group, "%s", group);
        diag_place(w->of[i].place, d->in->path, 1);
    }
    struct diag_stand *t = &w->of[i];
    if (is_over ? t->is_over && seq > t->seq : t->is_over || seq < t->seq) {
        t->is_over = is_over;
        t->seq = seq;
        snprintf(t->op, sizeof t->op, "%s", op);
    }
    return 1;
}

void diag_end_dump(struct diagnosis *d, int rank)
{
    static const char digits[] = "0123456789";
    const char *slash = strrchr(d->in->path, '/'), *p = slash ? slash + 1 : d->in->path;
    rank = rank >= 0 ? rank : diag_rank_of_name(p);
    p += strcspn(p, digits);
    if (rank < 0 && *p && p[strspn(p, digits)] == '.')
        rank = (int)strtol(p, NULL, 10) % DIAG_RANKS;
    for (int i = d->first_stand; i < d->dumps.n; i++)
        d->dumps.of[i].global = rank;
}

/* A process group whose ranks wait. */
struct waiting {
    const struct diag_stand *low, *high, *named; /* the first at each end; named: the first whose collective is known */
    int ranks, open, nlow;                       /* open: whose last collective is not complete; nlow: at the lowest */
    int nothers;                                 /* in other collectives than `named` at its number */
    int absent, elsewhere, size; /* that do not stand here; of these, in another group; size 0: unknown */
    char list[96];               /* of the absent ones, without those elsewhere where there are others */
};

static int is_default(const struct diag_stand *t)
{
    return !*t->group || !strcmp(t->group, "0") || !strncmp(t->name, "default", 7);
}

/* Groups that are not named are told apart by nothing. */
static int is_group(const struct diag_stand *t, const struct diag_stand *of)
{
    return !strcmp(t->group, of->group);
}

static int is_first_of_group(const struct diag_stands *w, int i)
{
    for (int k = 0; k < i; k++)
        if (is_group(&w->of[k], &w->of[i]))
            return 0;
    return 1;
}

static int rank_of(const struct diag_stand *t)
{
    return t->global >= 0 && (is_default(t) || t->member < 0) ? t->global : t->member;
}

/* The global rank of a member, by two that are known and the distance between them; -1. */
static int global_of(const struct diag_stands *w, const struct diag_stand *of, int member)
{
    const struct diag_stand *a = NULL, *b = NULL;
    for (int i = 0; i < w->n; i++)
        if (is_group(&w->of[i], of) && w->of[i].global >= 0 && w->of[i].member >= 0) {
            a = a ? a : &w->of[i];
            b = w->of[i].member != a->member ? &w->of[i] : b;
        }
    int members = b ? b->member - a->member : 0, ranks = b ? b->global - a->global : 0;
    return members && ranks % members == 0 ? a->global + (member - a->member) * (ranks / members) : -1;
}

static const char *name_member(const struct judge *j, const struct diag_stand *of, int member, int global)
{
    if (is_default(of) || global < 0)
        return arena_printf(j->d->arena, is_default(of) ? "rank %d" : "rank %d of the group", member);
    return arena_printf(j->d->arena, "rank %d (rank %d of the group)", global, member);
}

/* The rank, or the place in a file that names none. */
static const char *name_rank(const struct judge *j, const struct diag_stand *t)
{
    if (t->member < 0)
        return t->global < 0 ? t->place : arena_printf(j->d->arena, "rank %d", t->global);
    return name_member(j, t, rank_of(t), t->global);
}

static const char *name_stand(const struct judge *j, const struct diag_stand *t)
{
    return arena_printf(j->d->arena, "%s %s %s number %ld", name_rank(j, t), t->is_over ? "has ended" : "stands in",
                        *t->op ? t->op : "a collective", t->seq);
}

static int has_stand(const struct diag_stands *w, int global)
{
    for (int i = 0; i < w->n; i++)
        if (global >= 0 && w->of[i].global == global)
            return 1;
    return 0;
}

/* List who is not there below the highest rank of the group; those that wait in another one only without others. */
static void list_absent(const struct judge *j, const struct diag_stands *w, const unsigned char *seen, int from,
                        struct waiting *g)
{
    const int is_global = is_default(g->low) || w == &j->d->dumps;
    char first[2][sizeof g->list] = {"", ""};
    int n[2] = {0, 0};
    for (int r = from; r < g->size && r < DIAG_RANKS; r++) {
        if (seen[r / 8] & 1u << r % 8)
            continue;
        int global = is_global ? r : global_of(w, g->low, r), waits = has_stand(w, global);
        size_t used = strlen(first[waits]);
        if (++n[waits] <= 8)
            snprintf(first[waits] + used, sizeof g->list - used, "%s%s", used ? ", " : "",
                     is_global ? arena_printf(j->d->arena, "%s%d", used ? "" : "rank ", r)
                               : name_member(j, g->low, r, global));
    }
    g->absent = n[0] + n[1];
    g->elsewhere = n[1];
    snprintf(g->list, sizeof g->list, "%s", first[!n[0]]);
}

/* Look at the group of a stand. Of a rank that timed out the first counts, further ones are of a restart; one with a
 * dump is absent nowhere. */
static struct waiting judge_group(const struct judge *j, const struct diag_stands *w, const struct diag_stand *of)
{
    const int is_dump = w == &j->d->dumps;
    unsigned char seen[DIAG_RANKS / 8] = {0};
    struct waiting g = {0};
    const struct diag_stand *other = NULL;
    int lowest = DIAG_RANKS, is_part = 0;
    for (int i = 0; i < w->n; i++) {
        const struct diag_stand *t = &w->of[i];
        const int r = rank_of(t), is_known = r >= 0 && r < DIAG_RANKS;
        if (*of->name && !strcmp(t->name, of->name) && r >= g.size)
            g.size = r + 1; /* groups of a name are alike */
        if (!is_group(t, of) ? !is_dump : is_known && !is_dump && seen[r / 8] & 1u << r % 8)
            continue;
        if (is_known) {
            seen[r / 8] |= (unsigned char)(1u << r % 8);
            g.size = r >= g.size ? r + 1 : g.size;
            lowest = r < lowest ? r : lowest;
        }
        if (!is_group(t, of))
            continue;
        is_part |= !*t->group && t->global >= 0 && t->member >= 0 && t->global != t->member;
        g.ranks++;
        g.open += !t->is_over;
        if (!g.low || t->seq < g.low->seq) {
            g.low = t;
            g.nlow = 0;
        }
        g.high = !g.high || t->seq > g.high->seq ? t : g.high;
        g.nlow += t->seq == g.low->seq;
        g.named = !g.named && *t->op ? t : g.named;
        if (*t->op && t->seq == g.named->seq && strcmp(t->op, g.named->op) != 0) {
            other = other ? other : t;
            g.nothers++;
        }
    }
    if (other && g.low->seq == g.high->seq) {
        const int are_most = 2 * g.nothers > g.ranks;
        g.low = are_most ? g.named : other;
        g.high = are_most ? other : g.named;
        g.nlow = are_most ? g.ranks - g.nothers : g.nothers;
    }
    list_absent(j, w, seen, is_part ? lowest : 0, &g);
    return g;
}

static int is_split(const struct waiting *g)
{
    return g->nothers || g->low->seq != g->high->seq;
}

/* Ranks that differ, then a rank that is in no collective at all, then the number of ranks; 0: none waits. */
static long worth(const struct waiting *g)
{
    int few = g->absent && g->absent < g->ranks;
    return !g->open ? 0 : g->ranks + DIAG_RANKS * (is_split(g) ? 3L : few && g->elsewhere < g->absent ? 2L : 0);
}

static const char *name_group(const struct judge *j, const struct diag_stand *t)
{
    return *t->name ? t->name : arena_printf(j->d->arena, "process group %s", t->group);
}

/* Who of a group is behind, or calls something else. */
static const char *say_guilty(const struct judge *j, const struct waiting *g, int is_dump)
{
    const long calls = g->high->seq - g->low->seq;
    if (!is_dump && 2 * g->nlow >= g->ranks)
        return "they do not make the same calls, or one is behind";
    if (!calls)
        return arena_printf(j->d->arena, "look at %s first", name_rank(j, g->low));
    return arena_printf(j->d->arena, "%s%s %ld call%s behind the others: look there first", name_rank(j, g->low),
                        g->nlow > 1 ? " and others are" : " is", calls, calls > 1 ? "s" : "");
}

/* The other groups whose ranks wait, the first three by name. */
static void say_others(const struct judge *j, const struct diag_stands *w, const struct diag_stand *worst,
                       char to[DIAG_SENTENCE])
{
    int n = 0;
    for (int i = 0; i < w->n; i++) {
        const struct diag_stand *t = NULL;
        int ranks = 0;
        if (is_group(&w->of[i], worst) || !is_first_of_group(w, i))
            continue;
        for (int k = i; k < w->n; k++)
            if (is_group(&w->of[k], &w->of[i]) && !w->of[k].is_over) {
                t = &w->of[k];
                ranks++;
            }
        if (!ranks || ++n > 3)
            continue;
        diag_say(to, "%s%s in %s", n > 1 ? ", " : "; also waiting: ",
                 ranks > 1 ? arena_printf(j->d->arena, "%d ranks", ranks) : name_rank(j, t),
                 *t->group ? name_group(j, t) : "a group that is not named");
    }
    if (n > 3)
        diag_say(to, " and %d more groups", n - 3);
}

/* Timeouts whose group's line was lost join the one group that stands at their number. */
static void join_groups(struct diag_stands *w)
{
    for (int i = 0; i < w->n; i++) {
        const struct diag_stand *of = NULL;
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

static int find_by_stands(const struct judge *j, struct diag_stands *w, struct diag_finding *f)
{
    const int is_dump = w == &j->d->dumps;
    const char *by = is_dump ? "by the flight recorder " : "";
    char waited[UNIT_TEXT], where[96] = "", what[DIAG_SENTENCE] = "", end[DIAG_SENTENCE] = "";
    struct waiting g = {0};
    join_groups(w);
    for (int i = 0; i < w->n; i++)
        if (is_first_of_group(w, i)) {
            struct waiting other = judge_group(j, w, &w->of[i]);
            g = worth(&other) > worth(&g) ? other : g;
        }
    if (!worth(&g))
        return 0;
    if (!is_default(g.low))
        snprintf(where, sizeof where, " of %s", name_group(j, g.low));
    const char *more = g.absent - g.elsewhere > 8 ? " and more" : "";
    if (is_dump && g.absent)
        diag_say(end, "; there is no dump of %s%s", g.list, more);
    else if (g.absent && g.absent < g.ranks) /* where fewer timed out than did not, the log holds some ranks only */
        diag_say(end, "; %s%s did not time out%s", g.list, more,
                 g.absent > g.elsewhere ? ": look there first" : " here, but in another group");
    say_others(j, w, g.low, end);
    if (is_split(&g))
        return diag_hit(f, 1, g.low->place, "a hang: %s%d ranks%s %s in different collectives: %s, %s: %s%s", by,
                        g.ranks, where, is_dump ? "are" : "timed out", name_stand(j, g.low), name_stand(j, g.high),
                        say_guilty(j, &g, is_dump), end);
    /* Within one node the data path is peer access alone. */
    const struct diag_nccl *n = &j->d->nccl;
    if (n->p2p && !n->ib && !n->socket && g.ranks > 1 && g.ranks == n->ranks)
        diag_say(end,
                 "; all ranks arrived, so peer access between the GPUs may be stuck: try NCCL_P2P_DISABLE=1; if that "
                 "helps, switch ACS and IOMMU off");
    diag_say(what, "%s", g.named ? g.named->op : "a collective");
    if (g.low->seq >= 0)
        diag_say(what, " number %ld", g.low->seq);
    if (g.named && g.named->elements >= 0)
        diag_say(what, " of %ld elements", g.named->elements);
    if (g.named && g.named->waited_ms >= 0)
        diag_say(what, " after %s", unit_seconds(waited, (double)g.named->waited_ms / 1e3));
    const int all = !is_dump && *where ? g.ranks + g.absent : g.ranks;
    return diag_hit(f, 1, g.low->place, "a hang: %s%d%s rank%s%s %s in %s%s", by, g.open,
                    all > g.open ? arena_printf(j->d->arena, " of %d", all) : "", all == 1 ? "" : "s", where,
                    !is_dump  ? "timed out"
                    : all > 1 ? "wait"
                              : "waits",
                    what, end);
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

/* Who is not in the collective that others wait in, or where most are; the smallest group. */
static int find_by_stack(const struct judge *j, struct diag_finding *f)
{
    const struct diag_stacks *s = &j->d->stacks;
    const struct diag_stack_group *most = NULL, *odd = NULL;
    char who[64] = "";
    for (int i = 0; i < s->ngroups; i++) {
        const struct diag_stack_group *g = &s->groups[i];
        const int waits = !strcmp(g->at, COLLECTIVE), others_wait = most && !strcmp(most->at, COLLECTIVE);
        if (!most || waits > others_wait || (!others_wait && g->count > most->count))
            most = g;
    }
    for (int i = 0; i < s->ngroups; i++)
        if (&s->groups[i] != most && (!odd || s->groups[i].count < odd->count))
            odd = &s->groups[i];
    if (!most)
        return 0;
    if (!odd)
        return diag_hit(f, 0.9, most->place, "every stack (%d) is at the same: %s", s->n, most->at);
    if (odd->rank >= 0)
        snprintf(who, sizeof who, " (rank %d)", odd->rank);
    else if (odd->pid > 0)
        snprintf(who, sizeof who, " (process %ld)", odd->pid);
    return diag_hit(f, 0.9, odd->place, "of %d stacks %d are at %s, but %d at %s%s: look there first", s->n,
                    most->count, most->at, odd->count, odd->at, who);
}

/* ---- hangs ------------------------------------------------------------------------------------------------------- */

#define STANDS_S    60.0 /* no change for so long */
#define RUN_TIMES   3.0  /* an end without change is this much longer than any before */
#define STEP_TIMES  10.0 /* no progress for so many steps */
#define POWER_SPINS 0.5  /* of the limit: a GPU at 100 % below this waits within a kernel */

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

static int by_gpus(const struct judge *j, struct diag_finding *f)
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
        f, at || stuck ? 1 : 0.8, place, "%s: all GPUs have stood at %d %% for %s, to the end of the file%s%s",
        at || stuck ? "a hang" : "a hang, or the job has ended", at, unit_seconds(since, stand_s),
        at ? ", as when kernels of a collective wait for a rank" : "", stuck ? "; no step in the console since" : "");
}

static int by_console(const struct judge *j, struct diag_finding *f)
{
    const struct diag_progress *b = &j->d->bar;
    double bar_s = bar_stands(j), log_s = too_long(j, j->d->stands_s);
    char since[UNIT_TEXT];
    if (bar_s > 5 * STANDS_S)
        return diag_hit(f, 0.9, b->place, "a hang: the bar stands at %ld of %ld for %s, to the end of the file",
                        b->done, b->total, unit_seconds(since, bar_s));
    if (b->total && !b->done && !j->s)
        return diag_hit(f, 0.5, b->place, "a hang, or the first step still runs: none of %ld was finished", b->total);
    if (log_s > 5 * STANDS_S)
        return diag_hit(f, 0.3, j->d->stands_place,
                        "a hang, or the work after the last step: none was finished in the last %s of the file",
                        unit_seconds(since, log_s));
    return 0;
}

int diag_hangs(const struct judge *j, struct diag_finding *f)
{
    return diag_hangs_by_ras(j, f) || find_by_stands(j, &j->d->timeouts, f) || find_by_stands(j, &j->d->dumps, f) ||
           find_by_stack(j, f) || by_gpus(j, f) || by_console(j, f);
}
