/* The words for kinds, formats, verdicts, confidence. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "advise/diagnose/diagnose_internal.h"

/* ---- who wrote a line -------------------------------------------------------------------------------------------- */

/* Who wrote a line, and which files are of ranks of one job, by their names. */

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

int diag_rank_of_line(const char *line, int of_any)
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

void diag_logger_of(const char *line, struct diag_logger *o)
{
    memset(o, 0, sizeof *o);
    if (read_ray(line, o))
        return;
    int rank = diag_rank_of_line(line, 1);
    if (rank >= 0)
        snprintf(o->name, sizeof o->name, "rank %d", rank);
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

/* ---- words ------------------------------------------------------------------------------------------------------- */

static const char *const format_names[DIAG_FORMATS] = {
    "verl console",       "step lines",       "records",
    "Megatron-LM timers", "DeepSpeed timers", "DeepSpeed micro-steps",
    "PyTorch trace",      "sums of kernels",  "progress bar",
    "NeMo-RL console",    "AReaL tables",     "exported tables",
    "torchtitan console",
};

const char *diag_kind_name(enum diag_kind k)
{
    static const char *const names[DIAG_KIND_COUNT] = {
        "compute", "communication", "data", "offload", "save", "idle", "waiting", "other", "metric",
    };
    return names[k];
}

const char *diag_confidence_name(enum diag_confidence c)
{
    static const char *const names[] = {"measured", "likely", "possible"};
    return names[c];
}

const char *diag_format_name(enum diag_format f)
{
    return format_names[f];
}

const char *diag_verdict_name(enum diag_verdict v)
{
    static const char *const names[] = {"unknown", "communication", "not communication"};
    return names[v];
}

int diag_is_one_of(const char *list, const char *word, size_t len)
{
    for (size_t n; *list; list += n + (list[n] == '|')) {
        n = strcspn(list, "|");
        if (n == len && !strncmp(list, word, n))
            return 1;
    }
    return 0;
}
