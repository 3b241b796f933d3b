/* Making communicators of the NCCL double: ranks say what they are, the tuner is loaded; and splitting one. */
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/doubles/nccl_comm.h"
#include "tests/doubles/nccl_fault.h"

static const char default_law[] =
    "cell allreduce ring simple latency=25 GBps=100\ncell allreduce tree simple latency=20 "
    "GBps=80\ncell allreduce ring ll latency=9 GBps=20\ncell allreduce tree ll latency=7 "
    "GBps=15\ncell allgather ring simple latency=20 GBps=100\ncell allgather ring ll "
    "latency=8 GBps=20\ncell reducescatter ring simple latency=20 GBps=100\ncell "
    "reducescatter ring ll latency=8 GBps=20\ncell broadcast ring simple latency=15 "
    "GBps=100\ncell reduce ring simple latency=15 GBps=100\ncell alltoall ring simple "
    "latency=30 GBps=50\ncell sendrecv ring simple latency=9 GBps=40\n";

/* What each rank says of itself at init. */
struct peer_info {
    char host[128];
    int device, version;
    double factor; /* of its GPU */
};

int comm_version(void)
{
    const char *s = getenv("NCCL_DOUBLE_VERSION"), *other = getenv("NCCL_DOUBLE_OTHER");
    char host[64] = "";
    gethostname(host, sizeof host - 1);
    size_t n = other ? strcspn(other, "=") : 0;
    if (n && other[n] && !strncmp(other, host, n) && !host[n])
        s = other + n + 1;
    return s ? (int)strtol(s, NULL, 10) : 23007;
}

/* Whether all ranks may work together, and on how many nodes they are. */
static int compare_peers(const struct peer_info *all, int nranks, int rank, int *nnodes)
{
    *nnodes = 0;
    for (int i = 0; i < nranks; i++) {
        int first = 1;
        for (int k = 0; k < i; k++) {
            first &= strcmp(all[k].host, all[i].host) != 0;
            if (!strcmp(all[k].host, all[i].host) && all[k].device == all[i].device) {
                WARN("Duplicate GPU detected : rank %d and rank %d both on CUDA device %d", k, i, all[i].device);
                return -1;
            }
        }
        *nnodes += first;
        if (all[i].version != all[rank].version) {
            WARN("Mismatched NCCL version detected : rank %d version %d rank %d version %d", i, all[i].version, rank,
                 all[rank].version);
            return -1;
        }
    }
    return 0;
}

/* How much slower this rank's GPU is than the law says. Until this process ends, another one's communicators find the
 * GPU taken. */
static double factor_of_gpu(const struct law *l, int device)
{
    static int fds[LAW_GPUS]; /* each and one, for 0 is none */
    const char *path = getenv("NCCL_DOUBLE_LAW");
    double factor = l->gpus[device % LAW_GPUS].factor;
    int *fd = &fds[device % LAW_GPUS];
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    char name[512];
    factor = factor > 0 ? factor : 1;
    if (!(l->together > 0) || !path)
        return factor;
    snprintf(name, sizeof name, "%s.comm%d", path, device);
    if (!*fd)
        *fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600) + 1;
    if (*fd && !fcntl(*fd - 1, F_GETLK, &lock) && lock.l_type != F_UNLCK)
        factor *= l->together;
    lock = (struct flock){.l_type = F_RDLCK, .l_whence = SEEK_SET};
    if (!*fd || fcntl(*fd - 1, F_SETLK, &lock))
        abort();
    return factor;
}

static int exchange_peers(struct ncclComm *c, int device, uint64_t hash)
{
    struct peer_info mine = {.device = device, .version = comm_version(), .factor = factor_of_gpu(&c->law, device)};
    struct peer_info *all = calloc((size_t)c->nranks, sizeof *all);
    struct join_blob *got = calloc((size_t)c->nranks, sizeof *got), *same = calloc((size_t)c->nranks, sizeof *same);
    const char *host = getenv("NCCL_HOSTID");
    int rc = -1;
    if (host)
        snprintf(mine.host, sizeof mine.host, "%s", host);
    else
        gethostname(mine.host, sizeof mine.host);
    if (!all || !got || !same || join_gather(&c->join, &mine, sizeof mine, got))
        goto out;
    for (int i = 0; !c->rank && i < c->nranks; i++) {
        memcpy(&all[i], got[i].data, sizeof *all);
        same[i] = (struct join_blob){all, (size_t)c->nranks * sizeof *all};
    }
    struct peer_info *copy = calloc((size_t)c->nranks, sizeof *copy);
    if (copy && !join_scatter(&c->join, same, copy, (size_t)c->nranks * sizeof *copy))
        rc = compare_peers(copy, c->nranks, c->rank, &c->nnodes);
    for (int i = 0; !rc && i < c->nranks; i++) /* all go as fast as the slowest */
        c->factor = fmax(c->factor, copy[i].factor);
    c->factor *= law_session(&c->law, hash);
    free(copy);
out:
    for (int i = 0; got && i < c->nranks; i++)
        free(got[i].data);
    free(got);
    free(same);
    free(all);
    return rc;
}

static uint64_t hash_of(const struct join_id *j)
{
    return (uint64_t)j->address.sin_port * 2654435761u;
}

static void hang(void)
{
    for (;;)
        pause();
}

/* As NCCL: the user's file, then the machine's, none of which replaces what is set. */
static void read_conf(void)
{
    const char *own = getenv("NCCL_CONF_FILE"), *home = getenv("HOME");
    char paths[2][512] = {"", "/etc/nccl.conf"}, line[1024];
    if (own && *own)
        snprintf(paths[0], sizeof paths[0], "%s", own);
    else
        snprintf(paths[0], sizeof paths[0], "%s/.nccl.conf", home ? home : "");
    for (int i = 0; i < 2; i++) {
        FILE *f = fopen(paths[i], "r");
        while (f && fgets(line, sizeof line, f)) {
            char *value = *line == '#' ? NULL : strchr(line, '=');
            if (!value)
                continue;
            *value++ = 0;
            value[strcspn(value, "\n")] = 0;
            setenv(line, value, 0);
        }
        if (f)
            fclose(f);
    }
}

/* A group that is split off is one call late. */
static int fault_at_init(int rank, int split)
{
    double factor = 1;
    const struct fault_call f = {.rank = rank, .coll = -1, .algo = -1, .proto = -1, .number = (uint64_t)split};
    enum fault_kind kind = fault_of(&f, &factor);
    if (kind == FAULT_ERROR_INIT)
        WARN("NET/IB : no device found for the HCAs in NCCL_IB_HCA");
    if (kind == FAULT_HANG_INIT)
        hang();
    return kind == FAULT_ERROR_INIT;
}

int comm_create(struct ncclComm **comm, const struct comm_place *at)
{
    char why[256];
    const char *law = getenv("NCCL_DOUBLE_LAW");
    int rank = at->rank, nranks = at->nranks;
    read_conf();
    if (fault_at_init(at->world_rank, at->split) || comm_find_driver())
        return SYSTEM_ERROR;
    struct ncclComm *c = calloc(1, sizeof *c);
    c->rank = rank;
    c->nranks = nranks;
    c->world_rank = at->world_rank;
    c->others = at->others;
    if (law ? law_load(&c->law, law, why) : law_parse(&c->law, default_law, "default law", why)) {
        WARN("%s", why);
        free(c);
        return SYSTEM_ERROR;
    }
    if (nranks > 1 && join_meet(&c->join, &at->id, rank, nranks)) {
        WARN("socketStartConnect: Connect failed : rank %d", rank);
        free(c);
        return SYSTEM_ERROR;
    }
    c->nnodes = 1;
    c->factor = 1;
    if (c->law.init_s > 0)
        usleep((useconds_t)(1e6 * c->law.init_s * nranks));
    if (nranks > 1 && (exchange_peers(c, comm_driver.current_device(), hash_of(&at->id)) || comm_meet(c))) {
        join_leave(&c->join);
        free(c);
        return INVALID_USAGE;
    }
    law_shape(&c->law, c->nnodes, nranks);
    const struct tuner_comm is = {at->id.address.sin_port, rank, nranks, c->nnodes};
    int rc = nranks > 1 ? tuner_load(&c->tuner, comm_version(), &is, comm_say) : 0;
    if (!c->tuner.version && c->law.untuned > 0)
        c->factor *= c->law.untuned;
    const char *blocking = getenv("NCCL_COMM_BLOCKING");
    c->nonblocking = blocking && !strcmp(blocking, "0");
    c->busy = c->nonblocking ? 4 : 0;
    c->profiler = nranks > 1 ? profiler_attach(at->id.address.sin_port, rank, nranks, c->nnodes, comm_say) : NULL;
    INFO("Init COMPLETE rank %d nranks %d nNodes %d hcas %s", rank, nranks, c->nnodes, c->law.in_use);
    *comm = c;
    return rc == SUCCESS && c->busy ? IN_PROGRESS : rc;
}

/* ---- splitting ---- */

struct wish {
    int color, key;
};

/* Who comes before rank `r` among those of its colour. */
static int rank_among(const struct wish *all, int n, int r)
{
    int before = 0;
    for (int i = 0; i < n; i++)
        before += all[i].color == all[r].color && (all[i].key < all[r].key || (all[i].key == all[r].key && i < r));
    return before;
}

static int count_color(const struct wish *all, int n, int r)
{
    int count = 0;
    for (int i = 0; i < n; i++)
        count += all[i].color == all[r].color;
    return count;
}

/* Colours other than that of rank `r`. */
static int count_others(const struct wish *all, int n, int r)
{
    int count = 0;
    for (int i = 0; i < n; i++)
        count += all[i].color >= 0 && all[i].color != all[r].color && !rank_among(all, n, i);
    return count;
}

/* Everybody's bytes to everybody. */
static int all_gather(struct ncclComm *c, const void *mine, size_t bytes, char *all)
{
    struct join_blob *got = calloc((size_t)c->nranks, sizeof *got), *same = calloc((size_t)c->nranks, sizeof *same);
    char *copy = calloc((size_t)c->nranks, bytes);
    int rc = !got || !same || !copy || join_gather(&c->join, mine, bytes, got) ? -1 : 0;
    for (int i = 0; !rc && !c->rank && i < c->nranks; i++) {
        memcpy(copy + (size_t)i * bytes, got[i].data, bytes);
        same[i] = (struct join_blob){copy, (size_t)c->nranks * bytes};
    }
    rc = rc || join_scatter(&c->join, same, all, (size_t)c->nranks * bytes) ? -1 : 0;
    for (int i = 0; got && i < c->nranks; i++)
        free(got[i].data);
    free(got);
    free(same);
    free(copy);
    return rc;
}

int comm_split(struct ncclComm *parent, int color, int key, struct ncclComm **comm)
{
    int n = parent->nranks, r = parent->rank, root = 0;
    struct wish mine = {color, key}, *all = calloc((size_t)n, sizeof *all);
    struct join_id id = {0}, *ids = calloc((size_t)n, sizeof *ids);
    int rc = !all || !ids || all_gather(parent, &mine, sizeof mine, (char *)all) ? REMOTE_ERROR : SUCCESS;
    if (!rc && color >= 0 && !rank_among(all, n, r) && join_listen(&id))
        rc = SYSTEM_ERROR;
    if (!rc && all_gather(parent, &id, sizeof id, (char *)ids))
        rc = REMOTE_ERROR;
    while (!rc && root < n && (all[root].color != color || rank_among(all, n, root)))
        root++;
    if (!rc && color >= 0)
        rc = comm_create(comm, &(struct comm_place){.id = ids[root],
                                                    .rank = rank_among(all, n, r),
                                                    .nranks = count_color(all, n, r),
                                                    .world_rank = parent->world_rank,
                                                    .others = count_others(all, n, r),
                                                    .split = 1});
    free(all);
    free(ids);
    return rc;
}
