/* The agent: one a node. It starts processes for the conductor, carries what they say, and kills them; they never
 * outlive it, and it never outlives its connection. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "bench/nccltune-worker/process.h"
#include "bench/nccltune-worker/worker.h"
#include "core/err.h"
#include "core/launcher.h"
#include "core/wire/wire.h"

#define REACH_S      30   /* for the conductor to be reached */
#define CONNECT_MS   3000 /* one address of it */
#define PROOF_MS     5000
#define RETRY_US     200000
#define MOST_WAITING ((size_t)1 << 20) /* to the conductor, before processes are not read any more */

struct agent {
    struct connection head;
    struct process_names names;
    struct process processes[1 + AGENT_MOST_PROCESSES]; /* the first is the one beside */
    int count;                                          /* with it */
    int frames;                                         /* what the others speak */
    int leaving, status;
};

/* ---- saying ---- */

static void send_head(struct agent *a, int message, int rank, const void *body, size_t bytes)
{
    if (connection_send(&a->head, message, rank, body, bytes))
        a->leaving = 1;
}

static void send_ended(struct agent *a, int message, int rank, int status, const char *last)
{
    struct agent_ended ended = {.status = status};
    snprintf(ended.last, sizeof ended.last, "%s", last);
    send_head(a, message, rank, &ended, sizeof ended);
}

/* ---- starting and killing ---- */

static void kill_some(struct agent *a, int from, int to, char last[AGENT_TEXT])
{
    *last = 0;
    for (int i = from; i < to; i++)
        process_kill(&a->processes[i]);
    for (int i = from; i < to; i++) {
        struct process *p = &a->processes[i];
        if (!p->pid)
            continue;
        process_reap(p);
        if (!*last || strstr(p->last, PROCESS_WARNING))
            snprintf(last, AGENT_TEXT, "%.*s", AGENT_TEXT - 1, p->last);
    }
}

static void kill_all(struct agent *a, char last[AGENT_TEXT])
{
    kill_some(a, 1, a->count, last);
    a->count = 1;
}

static int speaks_frames(const struct agent *a, const struct process *p)
{
    return a->frames && p != a->processes;
}

/* The strings behind the struct; how many. */
static uint32_t take_strings(const struct frame *f, char *strings[AGENT_MOST_STRINGS])
{
    char *at = (char *)f->body + sizeof(struct agent_start), *end = (char *)f->body + f->head.bytes;
    uint32_t n = 0;
    while (n < AGENT_MOST_STRINGS && at < end && memchr(at, 0, (size_t)(end - at))) {
        strings[n++] = at;
        at += strlen(at) + 1;
    }
    return n;
}

static void start_processes(struct agent *a, const struct frame *f)
{
    struct agent_start s;
    char *strings[AGENT_MOST_STRINGS], last[AGENT_TEXT];
    if (f->head.bytes < sizeof s)
        return;
    memcpy(&s, f->body, sizeof s);
    uint32_t n = take_strings(f, strings);
    int beside = s.first_rank == AGENT_BESIDE, most = beside ? 1 : AGENT_MOST_PROCESSES;
    if (beside)
        kill_some(a, 0, 1, last);
    else
        kill_all(a, last);
    if (!s.words || s.words > n || s.settings > n - s.words || s.count < 1 || s.count > most) {
        snprintf(last, sizeof last, "%s: invalid request to start %d processes", a->names.host, s.count);
        send_ended(a, AGENT_ENDED, s.first_rank, -1, last);
        return;
    }
    a->frames = beside ? a->frames : s.frames;
    for (int i = 0; i < s.count; i++) {
        struct process *p = &a->processes[beside ? 0 : a->count];
        struct process_names names = a->names;
        names.rank = s.first_rank + i;
        names.local = i;
        if (process_start(p, strings, (int)s.words, strings + s.words, (int)s.settings, &names)) {
            snprintf(last, sizeof last, "%s: %.200s cannot be started: %s", a->names.host, strings[0], strerror(errno));
            send_ended(a, AGENT_ENDED, names.rank, -1, last);
            return;
        }
        a->count += !beside;
    }
}

/* ---- the conductor's orders ---- */

static void pass_down(struct agent *a, const struct frame *f)
{
    int beside = f->head.rank == AGENT_BESIDE;
    if (beside && !a->processes[0].pid)
        send_ended(a, AGENT_ENDED, AGENT_BESIDE, -1, a->processes[0].last);
    for (int i = !beside; i < (beside ? 1 : a->count); i++) {
        struct process *p = &a->processes[i];
        int mine = p->pid && (f->head.rank == AGENT_ALL || f->head.rank == p->rank);
        if (mine && f->head.message < AGENT_MESSAGES)
            process_end_input(p);
        else if (mine && connection_send(&p->io, f->head.message, f->head.rank, f->body, f->head.bytes) &&
                 speaks_frames(a, p))
            process_kill(p);
    }
}

static void obey_order(struct agent *a, const struct frame *f)
{
    char last[AGENT_TEXT];
    int32_t status;
    switch (f->head.message) {
    case AGENT_START:
        start_processes(a, f);
        break;
    case AGENT_KILL:
        kill_all(a, last);
        send_ended(a, AGENT_KILLED, AGENT_ALL, -1, last);
        break;
    case AGENT_EXIT:
        a->leaving = 1;
        a->status = frame_body(f, &status, sizeof status) ? ERR_FAILED : status;
        break;
    default:
        pass_down(a, f);
    }
}

/* ---- what processes say ---- */

static int pass_frames(struct agent *a, struct process *p)
{
    struct frame f;
    int got, alive = connection_fill(&p->io);
    while ((got = connection_next(&p->io, &f)) > 0)
        send_head(a, f.head.message, p->rank, f.body, f.head.bytes);
    if (got < 0) {
        snprintf(p->last, sizeof p->last, "something else than nccltune-worker of version %s answered: %.*s",
                 wire_release, p->io.used < 200 ? (int)p->io.used : 200, p->io.in);
        process_kill(p);
    }
    return alive && got >= 0;
}

static int pass_bytes(struct agent *a, struct process *p)
{
    char bytes[16384];
    ssize_t n = read(p->io.from, bytes, sizeof bytes);
    if (n > 0)
        send_head(a, AGENT_OUTPUT, p->rank, bytes, (size_t)n);
    return n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR));
}

static int pass_errors(struct agent *a, struct process *p)
{
    char text[4096];
    ssize_t n = read(p->err, text, sizeof text - 1);
    if (n <= 0)
        return n < 0 && (errno == EAGAIN || errno == EINTR);
    if (!speaks_frames(a, p))
        send_head(a, AGENT_ERRORS, p->rank, text, (size_t)n);
    text[n] = 0;
    process_keep_words(p, text);
    return 1;
}

static void hear_process(struct agent *a, struct process *p, const struct pollfd fds[3])
{
    if (p->pid && fds[2].revents && !pass_errors(a, p))
        process_close_errors(p);
    if (p->pid && fds[1].revents && connection_flush(&p->io))
        p->io.queued = 0; /* it does not read any more: its end says why */
    if (p->pid && fds[0].revents && !(speaks_frames(a, p) ? pass_frames(a, p) : pass_bytes(a, p))) {
        while (p->err >= 0 && pass_errors(a, p) && poll(&(struct pollfd){.fd = p->err, .events = POLLIN}, 1, 0) > 0)
            ;
        int rank = p->rank, status = process_reap(p);
        send_ended(a, AGENT_ENDED, rank, status, p->last);
    }
}

/* ---- serving ---- */

static void serve_once(struct agent *a)
{
    struct pollfd fds[2 + 3 * (1 + AGENT_MOST_PROCESSES)] = {
        {.fd = a->head.from, .events = POLLIN}, {.fd = a->head.queued ? a->head.to : -1, .events = POLLOUT}};
    int n = a->count, full = a->head.queued > MOST_WAITING;
    for (int i = 0; i < n; i++) {
        const struct process *p = &a->processes[i];
        struct pollfd *mine = fds + 2 + 3 * i;
        mine[0] = (struct pollfd){.fd = p->pid && !full ? p->io.from : -1, .events = POLLIN};
        mine[1] = (struct pollfd){.fd = p->pid && p->io.queued ? p->io.to : -1, .events = POLLOUT};
        mine[2] = (struct pollfd){.fd = p->pid && !full ? p->err : -1, .events = POLLIN};
    }
    poll(fds, 2 + 3 * (nfds_t)n, -1);
    for (int i = 0; i < n; i++)
        hear_process(a, &a->processes[i], fds + 2 + 3 * i);
    if (fds[1].revents && connection_flush(&a->head))
        a->leaving = 1;
    if (!fds[0].revents)
        return;
    struct frame f;
    int got = 0, alive = connection_fill(&a->head);
    while (!a->leaving && (got = connection_next(&a->head, &f)) > 0)
        obey_order(a, &f);
    a->leaving |= !alive || (!a->leaving && got < 0);
}

/* ---- reaching the conductor ---- */

static int prove_conductor(void *user, int fd)
{
    struct proof *p = user;
    struct secret secret = p->secret;
    int rc = proof_begin(p, &secret, 1);
    explicit_bzero(&secret, sizeof secret);
    return !rc && !proof_wait(p, fd, PROOF_MS);
}

/* Over the network. A conductor that is being flooded is tried again. */
static int connect_to(struct agent *a, const char *places)
{
    struct proof p = {0};
    char why[256] = "";
    int fd = -1;
    if (secret_take_from_environment(&p.secret)) {
        fputs("nccltune-worker: " SECRET_VARIABLE " is not set, or not a secret of nccltune\n", stderr);
        return -1;
    }
    for (long tries = 0; fd < 0 && tries < REACH_S * 1000000L / RETRY_US; tries++) {
        if (tries)
            usleep(RETRY_US);
        fd = address_connect(places, CONNECT_MS, prove_conductor, &p, why, sizeof why);
    }
    if (fd < 0)
        fprintf(stderr, "nccltune-worker: %s: nccltune cannot be reached at %s: %s\n", a->names.host, places, why);
    if (fd < 0 || connection_open(&a->head, fd, fd))
        return -1;
    proof_seal(&p, &a->head);
    return 0;
}

int agent_serve(const struct worker_options *o)
{
    struct agent a = {.count = 1};
    struct agent_node node = {.rank = -1};
    struct launcher_rank launched;
    char last[AGENT_TEXT];
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    process_names_here(&a.names, o->name);
    if (o->connect ? connect_to(&a, o->connect) : connection_open(&a.head, dup(STDIN_FILENO), dup(STDOUT_FILENO)))
        return ERR_FAILED;
    snprintf(node.host, sizeof node.host, "%s", a.names.host);
    snprintf(node.release, sizeof node.release, "%s", wire_release);
    if (launcher_find(NULL, NULL, &launched))
        node.rank = launched.rank;
    send_head(&a, AGENT_NODE, AGENT_ALL, &node, sizeof node);
    while (!a.leaving)
        serve_once(&a);
    kill_some(&a, 0, a.count, last);
    connection_close(&a.head);
    return a.status;
}
