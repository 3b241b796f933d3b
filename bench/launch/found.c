/* Who is who, and where they meet. */
#include "bench/launch/found.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bench/launch/address.h"
#include "bench/launch/siblings.h"
#include "core/file.h"
#include "core/launcher.h"
#include "core/locate.h"
#include "core/progress.h"
#include "core/units.h"

#define MEETING     "nccltune-head/1"
#define MEETING_MAX 8192
#define CONNECT_MS  2000
#define RETRY_NS    100000000

/* ---- who --------------------------------------------------------------------------------------------------------- */

static int find_others(struct launcher_rank *r)
{
    const char *tasks = getenv("SLURM_STEP_NUM_TASKS");
    struct err unused;
    long n = 0;
    if (!launcher_find(NULL, NULL, r) || r->ranks < 2)
        return 0;
    /* A batch script has the variables of its job's tasks, and is none of them. */
    return strcmp(r->launcher, "srun") != 0 ||
           (tasks && !unit_parse_int(tasks, 1, r->ranks, &n, "", &unused) && n == r->ranks);
}

static int count_nodes(const struct launcher_rank *r, struct err *e)
{
    if (r->nodes)
        return r->nodes;
    if (!r->per_node)
        return r->ranks; /* one a node: a pod, pdsh */
    if (r->ranks % r->per_node == 0)
        return r->ranks / r->per_node;
    err_set(e, ERR_USAGE, "%s started %d ranks, %d of them on this node: expected as many on every node", r->launcher,
            r->ranks, r->per_node);
    return 0;
}

/* What tells this run from others on a node: letters, digits, '.', '_', '-'. MASTER_ADDR does not: Kubeflow's operator
 * tells the master itself "localhost". */
static const char *name_job(const struct launcher_rank *r, struct arena *a)
{
    const char *port = getenv("MASTER_PORT"), *step = getenv("SLURM_STEP_ID");
    char *name = arena_printf(a, "%s-%.60s-%.60s", r->launcher, r->job ? r->job : "", port ? port : step ? step : "");
    for (char *c = name; *c; c++)
        if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-", *c))
            *c = '_';
    return name;
}

/* ---- where ------------------------------------------------------------------------------------------------------- */

/* The port of the head without a file. torchrun keeps MASTER_PORT for itself. */
static int master_port(void)
{
    const char *text = getenv("MASTER_PORT"), *store = getenv("TORCHELASTIC_USE_AGENT_STORE");
    long port;
    if (!text || unit_parse_int(text, 1, 65534, &port, "", NULL))
        return 0;
    return (int)port + (store && !strcmp(store, "True"));
}

/* Both sides make the same of the key; another run under the same key has another job's name in it. */
static int by_key(struct found *f)
{
    const char *key = getenv(FOUND_KEY);
    struct sha256 h;
    if (!key || !*key || !getenv("MASTER_ADDR") || !master_port())
        return 0;
    sha256_init(&h);
    sha256_update(&h, key, strlen(key) + 1);
    sha256_update(&h, f->job, strlen(f->job));
    sha256_hex(&h, f->secret);
    return 1;
}

static int make_secret(struct found *f, struct err *e)
{
    unsigned char bytes[32];
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        return err_errno(e, "the kernel has no random numbers for the secret of this run");
    hex_put(bytes, sizeof bytes, f->secret);
    return 0;
}

static int write_meeting(struct found *f, struct arena *a, struct err *e)
{
    char places[ADDRESS_PLACES];
    address_places(f->port, places);
    const char *text = arena_printf(a, MEETING "\n%s\n%s\n", f->secret, places);
    const char *beside = arena_printf(a, "%s.%d", f->meeting, (int)getpid());
    unlink(beside);
    int fd = open(beside, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600), rc = fd < 0 ? -1 : 0;
    if (!rc)
        rc = file_put(fd, text, strlen(text), 0600);
    if (fd >= 0)
        close(fd);
    if (!rc && !rename(beside, f->meeting))
        return 0;
    rc = err_errno(e, "%s: cannot be written for the other ranks", f->meeting);
    unlink(beside);
    return rc;
}

/* 0 with the secret and where to go. Only a file of our own that nobody else can read is believed. */
static int read_meeting(struct found *f, char places[ADDRESS_PLACES])
{
    char text[MEETING_MAX], *rest = NULL;
    struct stat s;
    int fd = open(f->meeting, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    ssize_t n = -1;
    if (fd >= 0 && !fstat(fd, &s) && S_ISREG(s.st_mode) && s.st_uid == geteuid() && !(s.st_mode & 077))
        n = read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    if (n <= 0)
        return -1;
    text[n] = 0;
    const char *first = strtok_r(text, "\n", &rest), *secret = strtok_r(NULL, "\n", &rest);
    const char *where = strtok_r(NULL, "\n", &rest);
    if (!first || strcmp(first, MEETING) != 0 || !secret || strlen(secret) != sizeof f->secret - 1 || !where)
        return -1;
    memcpy(f->secret, secret, sizeof f->secret);
    snprintf(places, ADDRESS_PLACES, "%s", where);
    return 0;
}

/* ---- the head ---------------------------------------------------------------------------------------------------- */

static int open_door(struct found *f, const char *dir, struct arena *a, struct err *e)
{
    int keyed = by_key(f);
    f->port = keyed ? (uint16_t)master_port() : 0;
    f->listener = wire_listen(&f->port);
    if (f->listener < 0)
        return err_errno(e, "port %u cannot be opened for the agents of the other nodes", f->port);
    if (keyed)
        return 0;
    int rc = make_secret(f, e);
    if (!rc)
        rc = file_mkdirs(dir, e);
    return rc ? rc : write_meeting(f, a, e);
}

void found_end(struct found *f, int code)
{
    if (f->meeting)
        unlink(f->meeting);
    if (f->job && f->listener >= 0)
        close(f->listener);
    if (f->job)
        siblings_tell(f->siblings, code);
    *f = (struct found){.listener = -1, .siblings = -1};
}

/* ---- the other nodes --------------------------------------------------------------------------------------------- */

static int take_any(void *user, int fd)
{
    (void)user;
    return fd >= 0;
}

/* Waits until there is a head that can be reached. */
static int find_head(struct found *f, double patience_s, char places[ADDRESS_PLACES], struct err *e)
{
    double until_s = progress_now_s() + patience_s;
    int keyed = by_key(f), known = 0;
    char why[256] = "";
    if (keyed)
        snprintf(places, ADDRESS_PLACES, "%s:%d", getenv("MASTER_ADDR"), master_port());
    do {
        known = keyed || !read_meeting(f, places);
        int fd = known ? address_connect(places, CONNECT_MS, take_any, NULL, why, sizeof why) : -1;
        if (fd >= 0)
            return close(fd);
        nanosleep(&(struct timespec){.tv_nsec = RETRY_NS}, NULL);
    } while (progress_now_s() < until_s);
    if (known)
        return err_set(e, ERR_FAILED, "rank 0 cannot be reached from here: %s", why);
    return err_set(e, ERR_FAILED,
                   "rank 0 has left no %s within %.0f s: its directory must be shared by all nodes, else set " FOUND_KEY
                   ", MASTER_ADDR and MASTER_PORT",
                   f->meeting, patience_s);
}

/* The agent as a child with our streams; its exit code. */
static int run_agent(const struct found *f, const char *worker, const char *places)
{
    pid_t parent = getpid(), child = fork();
    int status = 0;
    if (!child) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent || setenv("NCCLTUNE_SECRET", f->secret, 1))
            _exit(ERR_FAILED);
        execl(worker, worker, "agent", "--connect", places, (char *)NULL);
        _exit(ERR_LACKS);
    }
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    return child > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : ERR_FAILED;
}

static enum found_role serve(struct found *f, double patience_s, struct arena *a, int *code, struct err *e)
{
    char places[ADDRESS_PLACES];
    const char *worker = locate_program("nccltune-worker", a, e);
    int rc = worker ? find_head(f, patience_s, places, e) : ERR_LACKS;
    *code = rc ? rc : run_agent(f, worker, places);
    siblings_tell(f->siblings, *code);
    return rc ? FOUND_FAILED : *code == FOUND_BECOME_RANK ? FOUND_RANK : FOUND_SERVED;
}

static enum found_role wait_for_sibling(const struct found *f, double patience_s, int *code, struct err *e)
{
    *code = siblings_wait(f->job, patience_s);
    if (*code == SIBLINGS_NONE) {
        err_set(e, ERR_FAILED, "the first rank of this node has not come up within %.0f s", patience_s);
        return FOUND_FAILED;
    }
    if (*code == SIBLINGS_LOST)
        *code = ERR_FAILED;
    return *code == FOUND_BECOME_RANK ? FOUND_RANK : FOUND_SERVED;
}

enum found_role found_begin(struct found *f, const char *dir, double patience_s, struct arena *a, int *code,
                            struct err *e)
{
    struct launcher_rank r;
    *f = (struct found){.listener = -1, .siblings = -1};
    if (!find_others(&r))
        return FOUND_ALONE;
    f->launcher = r.launcher;
    f->ranks = r.ranks;
    f->local = r.local > 0 ? r.local : 0;
    f->nodes = count_nodes(&r, e);
    if (!f->nodes)
        return FOUND_FAILED;
    f->job = name_job(&r, a);
    if (f->local)
        return wait_for_sibling(f, patience_s, code, e);
    f->siblings = siblings_open(f->job, e);
    if (f->siblings < 0)
        return FOUND_FAILED;
    f->meeting = arena_printf(a, "%s/.head-%s", dir ? dir : ".", f->job);
    if (r.rank)
        return serve(f, patience_s, a, code, e);
    if (!open_door(f, dir ? dir : ".", a, e))
        return FOUND_HEAD;
    found_end(f, ERR_FAILED);
    return FOUND_FAILED;
}
