/* Stacks of processes, as py-spy dump and faulthandler write them, the innermost frame first: where each main thread
 * stands, and which process stands elsewhere than the others. */
#include <stdlib.h>
#include <string.h>

#include "advise/diagnose/rules.h"

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

int diag_hangs_by_stack(const struct judge *j, struct diag_hit *h)
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
