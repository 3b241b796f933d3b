/* A rank of a job over the doubles of NCCL and the GPU driver: AllReduces of 1 MiB, twenty at a time, until rank 0 has
 * seen them faster than UNTIL_US fifteen times in a row, or SECONDS have gone. Which rank it is says the launcher; the
 * ranks meet in DIR, which all of them see. Exit code 1: it has never been that fast.
 *
 *   online_job DIR UNTIL_US SECONDS */
#include <time.h>

#include "core/launcher.h"
#include "tests/tools/nccl_calls.h"

#define BYTES   (1 << 20)
#define CALLS   20
#define SETTLED 15

static const char *dir;

/* In one step. */
static void leave(const char *name, const void *data, size_t bytes)
{
    char made[512], path[512];
    snprintf(made, sizeof made, "%s/.%s", dir, name);
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *f = fopen(made, "w");
    MUST(!f || fwrite(data, bytes, 1, f) != 1 || fclose(f) || rename(made, path));
}

static int find(const char *name, void *data, size_t bytes)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *f = fopen(path, "r");
    int found = f && fread(data, bytes, 1, f) == 1;
    if (f)
        fclose(f);
    return found;
}

static time_t now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec;
}

static void meet(const struct launcher_rank *r, void **comm)
{
    id_t128 id;
    if (!r->rank) {
        MUST(ncclGetUniqueId(&id));
        leave("id", &id, sizeof id);
    }
    for (time_t began = now_s(); !find("id", &id, sizeof id); usleep(10000))
        MUST(now_s() - began > 60);
    MUST(ncclCommInitRank(comm, r->ranks, id, r->rank));
}

/* Nobody begins a batch before all have ended the one before, so that all see what rank 0 has left by the next. */
static int is_last(int rank, unsigned batch, int is_enough)
{
    unsigned last = batch + 1;
    if (rank)
        return find("last", &last, sizeof last) && batch >= last;
    if (is_enough && !find("last", &last, sizeof last))
        leave("last", &last, sizeof last);
    return is_enough && batch >= last;
}

int main(int argc, char **argv)
{
    struct launcher_rank r;
    struct timer timer;
    void *stream, *comm;
    unsigned long long in, out;
    unsigned batch = 0, settled = 0;
    double us = 0;
    if (argc != 4 || !launcher_find(NULL, NULL, &r))
        return 2;
    dir = argv[1];
    time_t began = now_s();
    use_device(r.local < 0 ? 0 : r.local, &stream);
    MUST(cuMemAlloc_v2(&in, BYTES));
    MUST(cuMemAlloc_v2(&out, BYTES));
    meet(&r, &comm);
    int over = 0;
    for (int ended = 0; !ended; batch++) {
        timer_start(&timer, stream);
        for (int i = 0; i < CALLS; i++)
            MUST(ncclAllReduce(in, out, BYTES / 4, 7, 0, comm, stream));
        us = timer_end(&timer, stream) / CALLS;
        settled = us < strtod(argv[2], NULL) ? settled + 1 : settled < SETTLED ? 0 : settled;
        over |= now_s() - began > strtol(argv[3], NULL, 10);
        ended = is_last(r.rank, batch, over || settled >= SETTLED);
    }
    if (!r.rank)
        printf("%u calls, the last %.0f us each\n", batch * CALLS, us);
    MUST(ncclCommDestroy(comm));
    return !r.rank && settled < SETTLED;
}
