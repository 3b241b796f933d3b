/* A cluster inside a job: every rank leaves its node's topology as a file in a shared directory, rank 0 picks them up.
 */
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cjson/cJSON.h>

#include "core/file.h"
#include "core/launcher.h"
#include "core/progress.h"
#include "probe/cluster/cluster.h"
#include "probe/topology/build.h"
#include "probe/topology/classes.h"

#define POLL_S    0.05
#define WRITTEN_S 5.0 /* from reading the clock to the file, on a slow node */

struct job {
    int rank, size, local;
    char name[64];
};

static int find_job(struct job *j)
{
    struct launcher_rank r;
    if (!launcher_find(NULL, NULL, &r))
        return 0;
    *j = (struct job){.rank = r.rank, .size = r.ranks, .local = r.local > 0 ? r.local : 0};
    snprintf(j->name, sizeof j->name, "%s", r.job ? r.job : "job");
    for (char *p = j->name; *p; p++)
        if (*p == '/' || *p == '.')
            *p = '_';
    return 1;
}

int ranks_first_on_node(void)
{
    struct job j = {0};
    return !find_job(&j) || j.local == 0;
}

static const char *file_of(struct arena *a, const char *dir, const struct job *j, int rank)
{
    return arena_printf(a, "%s/%s.%d-of-%d.json", dir, j->name, rank, j->size);
}

/* Waits for the file of `rank` and adds its node; the files appear whole, by renaming. */
static void take(struct topology *t, const char *dir, const struct job *j, int rank, double until_s, struct log *log)
{
    struct arena *a = arena_new();
    struct err e = {0};
    const char *path = file_of(a, dir, j, rank), *name = arena_printf(a, "rank %d", rank);
    while (access(path, R_OK) && progress_now_s() < until_s)
        nanosleep(&(struct timespec){.tv_nsec = (long)(POLL_S * 1e9)}, NULL);
    int classes = t->nclasses, hosts = t->nhosts;
    struct topology *one = access(path, R_OK) ? NULL : topo_load(path, &e);
    cJSON *doc = one ? topo_to_json(one) : NULL;
    if (!one || topo_add_json(t, doc, path, &e)) {
        const char *why = *e.text ? e.text : "no answer in time";
        t->nclasses = classes;
        t->nhosts = hosts;
        build_missing(t, name, why);
        log_warn(log, "%s: %s", name, why);
    }
    struct stat st;
    if (t->nhosts > hosts && !stat(path, &st)) /* it was written right after, by one clock for all: the file server's */
        cluster_judge_clock(t, &t->hosts[t->nhosts - 1], (double)st.st_mtime - WRITTEN_S, (double)st.st_mtime + 1);
    cJSON_Delete(doc);
    topo_free(one);
    unlink(path);
    arena_free(a);
}

struct topology *ranks_gather(struct topology *own, const char *dir, double deadline_s, struct log *log, struct err *e)
{
    struct arena *a = arena_new();
    struct topology *t = topo_new();
    struct job j = {0};
    int rc = 0;
    if (!find_job(&j))
        rc = err_set(e, ERR_USAGE, "--gather: there is no launcher here; start this with mpirun or srun");
    /* Further processes of a node have nothing to add. */
    if (!rc)
        rc = file_mkdirs(dir, e) || topo_save(j.local ? t : own, file_of(a, dir, &j, j.rank), e);
    if (!rc && j.rank == 0) {
        double until_s = progress_now_s() + deadline_s;
        for (int rank = 0; rank < j.size; rank++)
            take(t, dir, &j, rank, until_s, log);
        classes_merge(t);
        t->source = arena_printf(t->arena, "%d nodes of a job of %d processes", t->nhosts, j.size);
    }
    arena_free(a);
    topo_free(own);
    if (rc) {
        topo_free(t);
        return NULL;
    }
    return t;
}
