/* The profile's own evidence and what several jobs agree on, decided again with the same margin. */
#include "envgen/explain/learned.h"

#include <stdio.h>
#include <unistd.h>

#include "envgen/explain/diff.h"
#include "envgen/generate/generate.h"
#include "envgen/generate/learned.h"

#define JOURNALS 64

static const char *part(const char *dir, const char *name, struct arena *a)
{
    const char *path = arena_printf(a, "%s/%s", dir, name);
    return access(path, R_OK) ? NULL : path;
}

/* The profile's journals, by the names that generate gives them. */
static int list_journals(const char *profile, const char *journals[JOURNALS], struct arena *a)
{
    int n = 0;
    const char *path = part(profile, "results.jsonl", a);
    for (; path && n < JOURNALS - 1; path = part(profile, arena_printf(a, "results-%d.jsonl", n + 1), a))
        journals[n++] = path;
    return n;
}

static int say_changes(struct env_relearned *l, const struct env_learned *found, const struct env_profile *before,
                       const struct env_profile *after, FILE *out, struct arena *a)
{
    struct env_diff d = env_diff_profiles(before, after, a);
    l->changes = d.count;
    fprintf(out,
            "%d job%s: %d call%s that they agree on, %d that one job alone has found or that they do not agree on\n",
            found->jobs, found->jobs == 1 ? "" : "s", found->agreed, found->agreed == 1 ? "" : "s", found->alone);
    if (d.count)
        env_diff_print(&d, out);
    else
        fprintf(out, "nothing of it changes %s\n", l->profile);
    return fflush(out);
}

int env_relearn(struct env_relearned *l, FILE *out, struct log *log, struct arena *a, struct err *e)
{
    const char *journals[JOURNALS];
    struct env_learned found;
    struct env_generated made = {0};
    struct env_profile *before = env_profile_open(l->profile, e);
    if (!before)
        return e->code;
    int n = list_journals(l->profile, journals, a);
    journals[n] = arena_printf(a, "%s/learned.jsonl", l->made);
    struct env_generate g = {.topology = part(l->profile, "topology.json", a),
                             .results = journals,
                             .nresults = n + 1,
                             .fabric = part(l->profile, "fabric.json", a),
                             .workload = part(l->profile, "workload.json", a),
                             .margin = before->decisions->margin,
                             .confidence = before->decisions->confidence,
                             .nccl_low = before->decisions->nccl_low,
                             .nccl_high = before->decisions->nccl_high,
                             .predicted = before->decisions->predicted,
                             .extrapolate = before->decisions->extrapolate_nodes,
                             .out = arena_printf(a, "%s/profile", l->made)};
    int rc = env_learned_merge(l->dir, journals[n], &found, log, e);
    if (!rc)
        rc = env_generate(&g, &made, log, e);
    if (!rc && say_changes(l, &found, before, &made.profile, out, a))
        rc = err_errno(e, "the changes cannot be written");
    env_generated_free(&made);
    env_profile_free(before);
    return rc;
}
