/* Who prints a line: node, process, GPU and rank, from what launchers and NCCL put in front of it, and what ranks tell
 * of themselves. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "advise/diagnose/diagnose_internal.h"

/* ---- who logs a step ---- */

/* Actors of Ray of which a job has one. */
static const char drivers[] = "TaskRunner|main_task|PPOTrainer|DriverRunner|FullyAsyncTrainer|FullyAsyncTaskRunner";

/* "(NAME pid=7, ip=10.0.0.1) " of Ray. */
static int read_ray(const char *line, struct diag_logger *o)
{
    const char *close = *line == '(' ? strchr(line, ')') : NULL, *pid = close ? strstr(line, " pid=") : NULL;
    if (!pid || pid > close || close - line > 120)
        return 0;
    const char *ip = strstr(pid, "ip=");
    int is_far = ip && ip < close;
    snprintf(o->host, sizeof o->host, "%.*s", is_far ? (int)strcspn(ip + 3, ",) ") : 0, is_far ? ip + 3 : "");
    snprintf(o->name, sizeof o->name, "%.*s%s%.40s", (int)strcspn(pid + 1, ",) "), pid + 1, is_far ? " on " : "",
             o->host);
    o->is_driver = diag_is_one_of(drivers, line + 1, strcspn(line + 1, "( "));
    return 1;
}

/* The rank of "[rank3]:", "[1,3]<stdout>:", "3: " in a line; `of_any`: also of those that may count within a node or
 * group, "[default3]:" and "[Rank 3]". -1: none. */
static int rank_of_line(const char *line, int of_any)
{
    static const char *const marks[] = {"[rank", "[1,", "[default", "[Rank "};
    char *end;
    for (int i = 0; i < (of_any ? 4 : 2); i++) {
        const char *at = strstr(line, marks[i]), *number = at ? at + strlen(marks[i]) : NULL;
        if (!at || at - line > 120 || ((i == 1 || i == 2) && at != line))
            continue;
        long rank = strtol(number, &end, 10);
        if (end > number && *end == ']' && rank >= 0 && (i != 1 || !strncmp(end, "]<std", 5)))
            return (int)(rank % 1000000);
    }
    size_t n = strspn(line, " 0123456789");
    return n && n < 8 && line[n - 1] != ' ' && line[n] == ':' && line[n + 1] == ' ' ? (int)strtol(line, NULL, 10) : -1;
}

/* A name with its numbers left out, and whether it speaks of ranks or nodes. */
int diag_fold_file(const char *name, char folded[DIAG_FOLDED])
{
    static const char *const parts[] = {"rank", "node", "host", "worker", "proc", "gpu", "task", "-tag-"};
    const char *slash = strrchr(name, '/');
    /* torchrun's log directory has one directory a rank: attempt_0/3/stdout.log. */
    while (slash && slash > name && isdigit((unsigned char)slash[-1]))
        for (slash--; slash > name && *slash != '/'; slash--)
            ;
    const char *base = slash ? slash + 1 : name, *tag = strstr(base, "-tag-");
    size_t n = 0;
    int is_rank = isdigit((unsigned char)*base) && strchr(base, '/');
    for (const char *p = base; *p && n < DIAG_FOLDED - 1 && !(tag && p >= tag); p++)
        if (!isdigit((unsigned char)*p))
            folded[n++] = *p;
    folded[n] = 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        is_rank |= strstr(base, parts[i]) != NULL;
    return is_rank;
}

/* ---- who prints a message ---- */

/* A process and the rank that it has in its largest communicator. */
struct process {
    struct diag_origin who;
    int ranks;
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
        if (p->who.pid == who->pid && p->who.gpu == who->gpu && !strcmp(p->who.host, who->host))
            return p;
        if (!*p->who.host && (!add || o->n >= PROCESSES / 2))
            return NULL;
        if (!*p->who.host) {
            o->n++;
            p->who = *who;
            p->who.rank = -1;
            return p;
        }
    }
}

static void note_host(struct diag_origins *o, const char *host)
{
    int i = 0;
    while (i < o->nhosts && strcmp(o->hosts[i], host) != 0)
        i++;
    if (i == o->nhosts && i < 8)
        snprintf(o->hosts[o->nhosts++], sizeof *o->hosts, "%s", host);
}

/* "host:pid:tid [gpu] ..." in front of NCCL's own text. Returns whether it is there. */
static int read_prefix(const char *line, const char *nccl, struct diag_origin *who)
{
    static const char digits[] = "0123456789";
    for (const char *p = line; p < nccl && *p; p += strcspn(p, ": "), p += *p != 0) {
        const size_t host = strcspn(p, ": "), pid = p[host] == ':' ? strspn(p + host + 1, digits) : 0;
        const char *tid = p + host + 1 + pid;
        const size_t n = pid && *tid == ':' ? strspn(tid + 1, digits) : 0;
        if (host && host < sizeof who->host && n && !strncmp(tid + 1 + n, " [", 2)) {
            snprintf(who->host, sizeof who->host, "%.*s", (int)host, p);
            who->pid = strtol(p + host + 1, NULL, 10);
            who->gpu = (int)strtol(tid + n + 3, NULL, 10);
            return 1;
        }
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
    const int member = rank_of_line(raw, 1);
    memset(&d->writer, 0, sizeof d->writer);
    if (!read_ray(raw, &d->writer) && member >= 0)
        snprintf(d->writer.name, sizeof d->writer.name, "rank %d", member);
    *who = (struct diag_origin){.gpu = -1, .rank = rank_of_line(raw, 0)};
    if (who->rank < 0)
        who->rank = d->file_rank;
    const char *nccl = strstr(raw, "CCL ");
    if (!nccl || !read_prefix(raw, nccl, who)) {
        memcpy(who->host, d->writer.host, sizeof who->host);
        return;
    }
    note_host(d->origins, who->host);
    int rank = strstr(nccl, "comm 0x") ? (int)diag_number_behind(nccl, " rank ") : -1;
    int ranks = rank < 0 ? -1 : (int)diag_number_behind(nccl, " nranks ");
    if (ranks < 0 && rank >= 0)
        ranks = (int)diag_number_behind(nccl, " nRanks ");
    struct process *p = find_process(d->origins, who, ranks > 0);
    if (p && ranks > p->ranks && rank < ranks) {
        p->who.rank = rank;
        p->ranks = ranks;
    }
    who->rank = p && p->who.rank >= 0 ? p->who.rank : who->rank;
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

/* ---- words ---- */

const char *const diag_format_names[DIAG_FORMATS] = {
    "verl console",       "step lines",       "records",
    "Megatron-LM timers", "DeepSpeed timers", "DeepSpeed micro-steps",
    "PyTorch trace",      "sums of kernels",  "progress bar",
    "NeMo-RL console",    "AReaL tables",     "exported tables",
    "torchtitan console",
};
const char *const diag_kind_names[DIAG_KIND_COUNT] = {
    "compute", "communication", "data", "offload", "save", "idle", "waiting", "other", "metric",
};
const char *const diag_confidence_names[] = {"measured", "likely", "possible"};
const char *const diag_verdict_names[] = {"unknown", "communication", "not communication"};

int diag_is_one_of(const char *list, const char *word, size_t len)
{
    for (size_t n; *list; list += n + (list[n] == '|')) {
        n = strcspn(list, "|");
        if (n == len && !strncmp(list, word, n))
            return 1;
    }
    return 0;
}
