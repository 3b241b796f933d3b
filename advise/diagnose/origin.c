/* Who prints a line: node, process, GPU and rank, from what launchers and NCCL put in front of it, and what ranks tell
 * of themselves. */
#include <stdlib.h>
#include <string.h>

#include "advise/diagnose/diagnose_internal.h"

/* A process and the rank that it has in its largest communicator. */
struct process {
    char host[48];
    long pid;
    int gpu, rank, ranks;
};
#define PROCESSES 4096 /* with room for 2,048; of more the rank is not known */

struct diag_origins {
    struct process processes[PROCESSES];
    int n;
    char hosts[8][48]; /* the first nodes that are seen */
    int nhosts;
};

struct diag_origins *diag_origins_new(struct arena *a)
{
    return ARENA_NEW(a, struct diag_origins);
}

int diag_host_count(const struct diagnosis *d)
{
    return d->origins->nhosts;
}

static struct process *find_process(struct diag_origins *o, const struct diag_origin *who, int add)
{
    unsigned h = (unsigned)who->pid * 31u + (unsigned)who->gpu;
    for (const char *p = who->host; *p; p++)
        h = h * 33u + (unsigned char)*p;
    for (unsigned i = h % PROCESSES;; i = (i + 1) % PROCESSES) {
        struct process *p = &o->processes[i];
        if (!*p->host) {
            if (!add || o->n >= PROCESSES / 2)
                return NULL;
            o->n++;
            *p = (struct process){.pid = who->pid, .gpu = who->gpu, .rank = -1};
            memcpy(p->host, who->host, sizeof p->host);
            return p;
        }
        if (p->pid == who->pid && p->gpu == who->gpu && !strcmp(p->host, who->host))
            return p;
    }
}

static void note_host(struct diag_origins *o, const char *host)
{
    for (int i = 0; i < o->nhosts; i++)
        if (!strcmp(o->hosts[i], host))
            return;
    if (o->nhosts < 8)
        snprintf(o->hosts[o->nhosts++], sizeof *o->hosts, "%s", host);
}

/* "host:pid:tid [gpu] ..." in front of NCCL's own text. Returns whether it is there. */
static int read_prefix(const char *line, const char *nccl, struct diag_origin *who)
{
    for (const char *p = line; p < nccl; p++) {
        char *end;
        size_t n = strcspn(p, ": ");
        if (p[n] == ':' && n && n < sizeof who->host && p[n + 1] >= '0' && p[n + 1] <= '9') {
            long pid = strtol(p + n + 1, &end, 10);
            if (*end == ':' && end[1] >= '0' && end[1] <= '9') {
                strtol(end + 1, &end, 10);
                if (!strncmp(end, " [", 2)) {
                    snprintf(who->host, sizeof who->host, "%.*s", (int)n, p);
                    who->pid = pid;
                    who->gpu = (int)strtol(end + 2, NULL, 10);
                    return 1;
                }
            }
        }
        p += n;
        if (!*p)
            return 0;
    }
    return 0;
}

/* "rank3", "rank_3" or "rank-3" in a file's name, -1. */
int diag_rank_of_name(const char *path)
{
    const char *base = strrchr(path, '/'), *p = strstr(base ? base : path, "rank");
    if (!p)
        return -1;
    p += 4;
    p += *p == '_' || *p == '-' || *p == '.';
    return *p >= '0' && *p <= '9' ? (int)strtol(p, NULL, 10) % 1000000 : -1;
}

void diag_find_origin(struct diagnosis *d, const char *raw)
{
    struct diag_origin *who = &d->who;
    *who = (struct diag_origin){.gpu = -1, .rank = diag_rank_of_line(raw, 0)};
    if (who->rank < 0)
        who->rank = d->file_rank;
    const char *nccl = strstr(raw, "CCL ");
    if (!nccl || !read_prefix(raw, nccl, who)) {
        const char *ray = *raw == '(' ? strstr(raw, ", ip=") : NULL;
        if (ray)
            snprintf(who->host, sizeof who->host, "%.*s", (int)(strcspn(ray + 5, ")") % sizeof who->host), ray + 5);
        return;
    }
    note_host(d->origins, who->host);
    int rank = strstr(nccl, "comm 0x") ? (int)diag_number_behind(nccl, " rank ") : -1;
    int ranks = rank < 0 ? -1 : (int)diag_number_behind(nccl, " nranks ");
    if (ranks < 0 && rank >= 0)
        ranks = (int)diag_number_behind(nccl, " nRanks ");
    struct process *p = find_process(d->origins, who, ranks > 0);
    if (p && ranks > p->ranks && rank < ranks) {
        p->rank = rank;
        p->ranks = ranks;
    }
    who->rank = p && p->rank >= 0 ? p->rank : who->rank;
}

char *diag_origin_text(const struct diag_origin *who, char text[DIAG_NAME * 2])
{
    int n = 0;
    *text = 0;
    if (who->rank >= 0)
        n += snprintf(text, DIAG_NAME * 2, "rank %d", who->rank);
    if (*who->host)
        n += snprintf(text + n, (size_t)(DIAG_NAME * 2 - n), "%snode %s", n ? ", " : "", who->host);
    if (who->gpu >= 0)
        snprintf(text + n, (size_t)(DIAG_NAME * 2 - n), "%sGPU %d", n ? ", " : "", who->gpu);
    return text;
}
