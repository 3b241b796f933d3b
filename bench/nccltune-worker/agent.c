/* The agent: one a node, started by the engine directly or by mpirun or srun. It starts workers, passes frames on,
 * keeps the last words of each, and kills them; they never outlive it. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/launch/worker_protocol.h"
#include "bench/nccltune-worker/connect.h"
#include "bench/nccltune-worker/worker.h"
#include "core/err.h"

#define MAX_WORKERS 64
#define MAX_STRINGS 256
#define REAP_TRIES  200 /* of 10 ms: a killed process that is still there is stuck in the kernel */

extern char **environ;

struct child {
    pid_t pid; /* 0 none */
    int rank, in, out, err;
    struct nccl_inbox inbox;
    char last[NCCL_TEXT]; /* the end of its standard error */
};

struct agent {
    const struct worker_options *options;
    int from, to; /* the engine */
    char self[4096], host[64];
    struct child children[MAX_WORKERS];
    int nchildren;
};

/* ---- last words ---- */

/* Keeps the end of what the worker writes. NCCL's warnings are what a reader wants, so they push everything else out.
 */
static int keep_words(struct child *c)
{
    char text[2048];
    ssize_t n = read(c->err, text, sizeof text - 1);
    if (n <= 0)
        return n < 0 && (errno == EAGAIN || errno == EINTR);
    text[n] = 0;
    int had_warning = strstr(c->last, "NCCL WARN") != NULL;
    for (char *save = NULL, *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        const char *warning = strstr(line, "NCCL WARN");
        if (had_warning && !warning)
            continue;
        had_warning |= warning != NULL;
        snprintf(c->last, sizeof c->last, "%s", warning ? warning : line);
    }
    return 1;
}

static void close_child(struct child *c)
{
    close(c->in);
    close(c->out);
    close(c->err);
    nccl_inbox_close(&c->inbox);
    c->pid = 0;
}

/* A worker has closed its output: waits for its end and reports it. */
static void report_end(struct agent *a, struct child *c)
{
    struct nccl_ended ended = {.status = -1};
    int status = 0;
    for (int i = 0; i < REAP_TRIES && waitpid(c->pid, &status, WNOHANG) == 0; i++) {
        if (i == 20)
            kill(-c->pid, SIGKILL);
        usleep(10000);
    }
    keep_words(c);
    ended.status = status;
    snprintf(ended.last, sizeof ended.last, "%s", c->last);
    nccl_send(a->to, NCCL_ENDED, c->rank, &ended, sizeof ended);
    kill(-c->pid, SIGKILL); /* what it may have started */
    close_child(c);
}

/* ---- starting and killing ---- */

static int make_pipe(int ends[2])
{
    return pipe2(ends, O_CLOEXEC);
}

/* Starts argv with `env`, connected by three pipes, in a process group of its own. */
static int start(struct child *c, char **argv, char **env)
{
    int in[2] = {-1, -1}, out[2] = {-1, -1}, err[2] = {-1, -1}, rc = -1;
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t none, defaults;
    sigemptyset(&none);
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGPIPE);
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &defaults);
    if (!make_pipe(in) && !make_pipe(out) && !make_pipe(err)) {
        posix_spawn_file_actions_adddup2(&files, in[0], STDIN_FILENO);
        posix_spawn_file_actions_adddup2(&files, out[1], STDOUT_FILENO);
        posix_spawn_file_actions_adddup2(&files, err[1], STDERR_FILENO);
        errno = posix_spawnp(&c->pid, argv[0], &files, &attributes, argv, env);
        rc = errno ? -1 : 0;
    }
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
    close(in[0]);
    close(out[1]);
    close(err[1]);
    c->in = in[1];
    c->out = out[0];
    c->err = err[0];
    if (rc || nccl_inbox_open(&c->inbox)) {
        close_child(c);
        return -1;
    }
    fcntl(c->out, F_SETFL, O_NONBLOCK);
    fcntl(c->err, F_SETFL, O_NONBLOCK);
    return 0;
}

static void kill_all(struct agent *a, struct nccl_ended *ended)
{
    for (int i = 0; i < a->nchildren; i++)
        if (a->children[i].pid)
            kill(-a->children[i].pid, SIGKILL);
    for (int i = 0; i < a->nchildren; i++) {
        struct child *c = &a->children[i];
        if (!c->pid)
            continue;
        for (int k = 0; k < REAP_TRIES && waitpid(c->pid, &ended->status, WNOHANG) == 0; k++)
            usleep(10000);
        keep_words(c);
        if (!*ended->last || strstr(c->last, "NCCL WARN"))
            snprintf(ended->last, sizeof ended->last, "%s", c->last);
        close_child(c);
    }
    a->nchildren = 0;
}

/* NAME takes the variable out, NAME=value puts it in place of what it was: of two values the first would count. */
static void change_environment(char **env, char *change)
{
    size_t len = strcspn(change, "=");
    int kept = 0;
    for (int i = 0; env[i]; i++)
        if (strncmp(env[i], change, len) != 0 || env[i][len] != '=')
            env[kept++] = env[i];
    if (change[len])
        env[kept++] = change;
    env[kept] = NULL;
}

/* This process's environment with `changes` in their order, then NCCL_HOSTID for `local` when GPUs are shared. */
static char **make_environment(const struct agent *a, char **changes, int nchanges, int share, int local)
{
    static char id[128];
    int n = 0;
    while (environ[n])
        n++;
    char **env = calloc((size_t)n + (size_t)nchanges + 2, sizeof *env);
    if (!env)
        return NULL;
    memcpy(env, environ, (size_t)n * sizeof *env);
    for (int k = 0; k < nchanges; k++)
        change_environment(env, changes[k]);
    if (share) {
        snprintf(id, sizeof id, "NCCL_HOSTID=%s-%d", a->host, local);
        change_environment(env, id);
    }
    return env;
}

static int start_worker(struct agent *a, const struct nccl_spawn *s, char **strings, int local)
{
    static char role[] = "rank", option[] = "--nccl-lib";
    char *argv[MAX_STRINGS + 8], rank[16], number[16];
    int n = 0;
    for (uint32_t i = 0; i < s->words; i++)
        argv[n++] = strings[i];
    snprintf(rank, sizeof rank, "%d", s->first_rank + local);
    snprintf(number, sizeof number, "%d", local);
    argv[n++] = a->self;
    argv[n++] = role;
    argv[n++] = rank;
    argv[n++] = number;
    if (a->options->nccl) {
        argv[n++] = option;
        argv[n++] = (char *)a->options->nccl;
    }
    argv[n] = NULL;
    struct child *c = &a->children[a->nchildren];
    memset(c, 0, sizeof *c);
    c->rank = s->first_rank + local;
    char **env = make_environment(a, strings + s->words, (int)s->settings, s->share_gpus, local);
    int rc = env ? start(c, argv, env) : -1;
    free(env);
    a->nchildren += !rc;
    return rc;
}

static void spawn_workers(struct agent *a, const struct nccl_frame *f)
{
    struct nccl_spawn s;
    struct nccl_ended ended = {.status = -1};
    char *strings[MAX_STRINGS], *at = (char *)f->body + sizeof s, *end = (char *)f->body + f->head.bytes;
    if (f->head.bytes < sizeof s)
        return;
    memcpy(&s, f->body, sizeof s);
    uint32_t n = 0;
    while (n < MAX_STRINGS && at < end && memchr(at, 0, (size_t)(end - at))) {
        strings[n++] = at;
        at += strlen(at) + 1;
    }
    kill_all(a, &ended);
    if (s.words > n || s.settings > n - s.words || s.count < 1 || s.count > MAX_WORKERS) {
        snprintf(ended.last, sizeof ended.last, "%s: a request to start %d workers makes no sense", a->host, s.count);
        nccl_send(a->to, NCCL_ENDED, s.first_rank, &ended, sizeof ended);
        return;
    }
    for (int i = 0; i < s.count; i++)
        if (start_worker(a, &s, strings, i)) {
            snprintf(ended.last, sizeof ended.last, "%s: %.200s cannot be started: %s", a->host,
                     s.words ? strings[0] : a->self, strerror(errno));
            nccl_send(a->to, NCCL_ENDED, s.first_rank + i, &ended, sizeof ended);
            return;
        }
}

/* ---- serving ---- */

/* From the engine. */
static void obey(struct agent *a, const struct nccl_frame *f)
{
    struct nccl_ended ended = {.status = -1};
    if (f->head.message == NCCL_SPAWN) {
        spawn_workers(a, f);
    } else if (f->head.message == NCCL_KILL) {
        kill_all(a, &ended);
        nccl_send(a->to, NCCL_KILLED, NCCL_ALL, &ended, sizeof ended);
    } else {
        for (int i = 0; i < a->nchildren; i++)
            if (a->children[i].pid && (f->head.rank == NCCL_ALL || f->head.rank == a->children[i].rank))
                nccl_send(a->children[i].in, f->head.message, f->head.rank, f->body, f->head.bytes);
    }
}

/* From a worker. */
static void pass_on(struct agent *a, struct child *c)
{
    struct nccl_frame f;
    int got, alive = nccl_inbox_fill(&c->inbox, c->out);
    while ((got = nccl_inbox_next(&c->inbox, &f)) > 0)
        nccl_send(a->to, f.head.message, c->rank, f.body, f.head.bytes);
    if (got < 0) {
        int shown = c->inbox.used < 200 ? (int)c->inbox.used : 200;
        snprintf(c->last, sizeof c->last,
                 "something else than nccltune-worker of version " NCCLTUNE_VERSION " answered: %.*s", shown,
                 c->inbox.data);
        kill(-c->pid, SIGKILL);
    }
    if (got < 0 || !alive)
        report_end(a, c);
}

/* One round of waiting; 0 when the engine is gone. */
static int serve_once(struct agent *a, struct nccl_inbox *in)
{
    struct pollfd fds[1 + 2 * MAX_WORKERS] = {{.fd = a->from, .events = POLLIN}};
    int n = a->nchildren;
    for (int i = 0; i < n; i++) {
        int there = a->children[i].pid != 0;
        fds[1 + 2 * i] = (struct pollfd){.fd = there ? a->children[i].out : -1, .events = POLLIN};
        fds[2 + 2 * i] = (struct pollfd){.fd = there ? a->children[i].err : -1, .events = POLLIN};
    }
    poll(fds, 1 + 2 * (nfds_t)n, -1);
    for (int i = 0; i < n; i++) {
        struct child *c = &a->children[i];
        if (c->pid && fds[2 + 2 * i].revents && !keep_words(c)) {
            close(c->err);
            c->err = -1;
        }
        if (c->pid && fds[1 + 2 * i].revents)
            pass_on(a, c);
    }
    if (!fds[0].revents)
        return 1;
    struct nccl_frame f;
    int got, alive = nccl_inbox_fill(in, a->from);
    while ((got = nccl_inbox_next(in, &f)) > 0)
        obey(a, &f);
    return alive && !got;
}

int agent_serve(const struct worker_options *o)
{
    struct agent a = {.options = o, .from = STDIN_FILENO};
    struct nccl_inbox in;
    struct nccl_node node = {0};
    struct nccl_ended ended = {0};
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    gethostname(a.host, sizeof a.host - 1);
    ssize_t n = readlink("/proc/self/exe", a.self, sizeof a.self - 1);
    a.to = o->connect ? agent_connect(o->connect) : fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    if (o->connect)
        a.from = a.to;
    if (n < 0 || a.to < 0 || nccl_inbox_open(&in)) {
        fprintf(stderr, "nccltune-worker: the engine at %s cannot be reached: %s\n", o->connect ? o->connect : "-",
                strerror(errno));
        return ERR_FAILED;
    }
    const char *token = getenv("NCCLTUNE_TOKEN");
    snprintf(node.host, sizeof node.host, "%s", a.host);
    snprintf(node.token, sizeof node.token, "%s", token ? token : "");
    unsetenv("NCCLTUNE_TOKEN");
    if (!nccl_send(a.to, NCCL_NODE, NCCL_ALL, &node, sizeof node))
        while (serve_once(&a, &in))
            ;
    kill_all(&a, &ended);
    nccl_inbox_close(&in);
    return 0;
}
