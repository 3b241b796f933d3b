/* Copies of this program that a launcher has started on every node or rank: which of them does what, and where they
 * meet. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bench/launch/launch_internal.h"
#include "core/file.h"
#include "core/hash.h"
#include "core/launcher.h"
#include "core/locate.h"
#include "core/progress.h"
#include "core/trust.h"
#include "core/units.h"

#define MEETING          "nccltune-head/1"
#define PATIENCE_S       60.0
#define MEETING_MAX      8192
#define CONNECT_MS       2000
#define HEAD_RETRY_NS    100000000
#define SIBLING_RETRY_NS 50000000
#define LATECOMER_MS     200
#define SOCKET_NAME      104  /* of the 108 bytes that an address has */
#define BACKLOG          4096 /* ranks of a node; the kernel's own limit is often this */

/* ---- on one node ---- */

/* What the names of a job's sockets begin with. Their ends are random, so that nobody else can take one before us; who
 * looks for ours reads all that begin so from the kernel's list, and asks the kernel whose each of them is. */
static void name_beginning(char text[SOCKET_NAME], const char *job)
{
    snprintf(text, SOCKET_NAME, "nccltune-%u-%.60s-", (unsigned)geteuid(), job);
}

static socklen_t address_of(struct sockaddr_un *to, const char *name)
{
    *to = (struct sockaddr_un){.sun_family = AF_UNIX};
    memcpy(to->sun_path + 1, name, strlen(name));
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name));
}

static int is_same_user(int fd)
{
    struct ucred other;
    socklen_t bytes = sizeof other;
    return !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &other, &bytes) && other.uid == geteuid();
}

/* A connection to a socket of that name, if this user's process listens there; -1. */
static int connect_to_own(const char *name)
{
    struct sockaddr_un to;
    socklen_t bytes = address_of(&to, name);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0 && !connect(fd, (struct sockaddr *)&to, bytes) && is_same_user(fd) && !fcntl(fd, F_SETFL, 0))
        return fd;
    trust_close(fd);
    return -1;
}

/* A connection to this user's socket for the job; -1: there is none. */
static int connect_to_head(const char *job)
{
    char beginning[SOCKET_NAME], *line = NULL;
    size_t room = 0;
    struct stat st;
    int list = trust_open("/proc/net/unix", TRUST_READ, 0, O_RDONLY, &st, NULL), fd = -1;
    FILE *f = list < 0 ? NULL : fdopen(list, "r");
    name_beginning(beginning, job);
    while (f && fd < 0 && getline(&line, &room, f) > 0) {
        char *name = strrchr(line, '@'); /* the last of "Num RefCount Protocol Flags Type St Inode Path" */
        if (!name || strncmp(name + 1, beginning, strlen(beginning)) != 0)
            continue;
        name[strcspn(name, "\n")] = 0;
        if (strlen(name + 1) < SOCKET_NAME)
            fd = connect_to_own(name + 1);
    }
    free(line);
    if (f)
        fclose(f);
    return fd;
}

int siblings_open(const char *job, struct err *e)
{
    char name[SOCKET_NAME];
    struct sockaddr_un to;
    unsigned char random[8];
    int other = connect_to_head(job);
    if (other >= 0) {
        close(other);
        err_set(e, ERR_FAILED, "another nccltune of the job '%s' runs on this node", job);
        return -1;
    }
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    name_beginning(name, job);
    if (fd >= 0 && getrandom(random, sizeof random, 0) == sizeof random) {
        for (size_t i = 0; i < sizeof random; i++)
            snprintf(name + strlen(name), 3, "%02x", random[i]);
        socklen_t bytes = address_of(&to, name);
        if (!bind(fd, (struct sockaddr *)&to, bytes) && !listen(fd, BACKLOG))
            return fd;
    }
    err_errno(e, "cannot reach the other processes of this node");
    trust_close(fd);
    return -1;
}

void siblings_tell(int fd, int word)
{
    unsigned char byte = (unsigned char)word;
    while (fd >= 0 && poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, LATECOMER_MS) > 0) {
        int one = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
        if (one < 0)
            break;
        send(one, &byte, 1, MSG_NOSIGNAL);
        close(one);
    }
    trust_close(fd);
}

int siblings_wait(const char *job, double patience_s)
{
    double until_s = progress_now_s() + patience_s;
    int fd;
    unsigned char byte;
    ssize_t n;
    while ((fd = connect_to_head(job)) < 0) {
        if (progress_now_s() > until_s)
            return SIBLINGS_NONE;
        nanosleep(&(struct timespec){.tv_nsec = SIBLING_RETRY_NS}, NULL);
    }
    do
        n = recv(fd, &byte, 1, 0);
    while (n < 0 && errno == EINTR);
    close(fd);
    return n == 1 ? byte : SIBLINGS_LOST;
}

/* ---- who ---- */

/* Return whether a launcher has started several copies. */
static int find_others(struct launcher_rank *r)
{
    const char *tasks = getenv("SLURM_STEP_NUM_TASKS");
    long n = 0;
    if (!launcher_find(NULL, NULL, r) || r->ranks < 2)
        return 0;
    /* A batch script has the variables of its job's tasks, and is none of them. */
    return strcmp(r->launcher, "srun") != 0 ||
           (tasks && !unit_parse_int(tasks, 1, r->ranks, &n, "", NULL) && n == r->ranks);
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

/* Name what keeps this run apart from others on a node: letters, digits, '.', '_', '-'. MASTER_ADDR cannot: Kubeflow's
 * operator tells the master itself "localhost". */
static const char *name_job(const struct launcher_rank *r, struct arena *a)
{
    const char *port = getenv("MASTER_PORT"), *step = getenv("SLURM_STEP_ID");
    char *name = arena_printf(a, "%s-%.60s-%.60s", r->launcher, r->job ? r->job : "", port ? port : step ? step : "");
    for (char *c = name; *c; c++)
        if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-", *c))
            *c = '_';
    return name;
}

/* ---- where ---- */

/* The port of the head without a file. torchrun keeps MASTER_PORT for itself. */
static int read_master_port(void)
{
    const char *text = getenv("MASTER_PORT"), *store = getenv("TORCHELASTIC_USE_AGENT_STORE");
    long port;
    if (!text || unit_parse_int(text, 1, 65534, &port, "", NULL))
        return 0;
    return (int)port + (store && !strcmp(store, "True"));
}

/* Return whether the copies meet without a file, by a key from which both sides make the same secret. Another run under
 * the same key has another job's name in it. */
static int make_secret_of_key(const struct copies *c, struct secret *secret)
{
    const char *key = getenv(AGENTS_KEY);
    struct sha256 h;
    if (!key || !*key || !getenv("MASTER_ADDR") || !read_master_port())
        return 0;
    sha256_init(&h);
    sha256_update(&h, key, strlen(key) + 1);
    sha256_update(&h, c->job, strlen(c->job));
    sha256_end(&h, secret->bytes);
    return 1;
}

static int write_meeting(const struct agents *s, const char *path, struct err *e)
{
    char hex[SECRET_HEX];
    secret_hex(&s->secret, hex);
    const char *text = arena_printf(s->arena, MEETING "\n%s\n%s\n", hex, agents_places(s, s->arena));
    struct trust_place p;
    if (trust_find(path, &p, e))
        return ERR_FAILED;
    int rc = trust_put(p.dir, p.name, text, strlen(text), 0600);
    if (rc)
        rc = err_errno(e, "%s: cannot be written for the other ranks", path);
    close(p.dir);
    return rc;
}

/* Read the secret and where to go: 0. Only a file of our own that nobody else can read is believed. */
static int read_meeting(const char *path, struct secret *secret, char places[ADDRESS_PLACES])
{
    char text[MEETING_MAX], *rest = NULL;
    struct stat s;
    int fd = trust_open(path, TRUST_READ, 0, O_RDONLY, &s, NULL);
    ssize_t n = -1;
    if (fd >= 0 && S_ISREG(s.st_mode) && s.st_uid == geteuid() && !(s.st_mode & 077))
        n = read(fd, text, sizeof text - 1);
    trust_close(fd);
    if (n <= 0)
        return -1;
    text[n] = 0;
    const char *first = strtok_r(text, "\n", &rest), *hex = strtok_r(NULL, "\n", &rest);
    const char *where = strtok_r(NULL, "\n", &rest);
    if (!first || strcmp(first, MEETING) != 0 || !hex || secret_parse(secret, hex) || !where)
        return -1;
    snprintf(places, ADDRESS_PLACES, "%s", where);
    return 0;
}

/* ---- the head ---- */

/* Open the port for the other nodes and tell them where it is. */
static int open_door(struct agents *s, const char *dir, struct err *e)
{
    const struct copies *c = s->copies;
    int rc = agents_begin(s, c->nodes, e);
    if (rc)
        return rc;
    int keyed = make_secret_of_key(c, &s->secret);
    s->port = keyed ? (uint16_t)read_master_port() : 0;
    rc = agents_listen(s, e);
    if (!rc && !keyed)
        rc = file_mkdirs(dir, e);
    return rc || keyed ? rc : write_meeting(s, c->meeting, e);
}

/* End what runs on this node and let its other copies end with `code`. */
static void leave_copies(struct agents *s, int code)
{
    agents_close(s);
    if (!s->copies)
        return;
    trust_unlink(s->copies->meeting, NULL);
    siblings_tell(s->copies->siblings, code);
    s->copies = NULL;
}

void agents_end(struct agents *s, struct bench_setup *setup, int code)
{
    int32_t status = code;
    if (s->arena)
        agents_send(s, -1, AGENT_EXIT, AGENT_ALL, &status, sizeof status);
    leave_copies(s, code);
    setup->lent = NULL;
}

int agents_become_ranks(struct agents *s, struct bench_setup *setup, struct err *e)
{
    setup->lent = NULL;
    if (!s->copies) {
        agents_close(s); /* they would be in the way of mpirun's in an allocation */
        return 0;
    }
    if (mpirun_attached_rank(NULL) < 0)
        return err_set(e, ERR_LACKS,
                       "host memory is measured by MPI ranks, and %s started none: use srun --mpi=pmix or mpirun, or "
                       "--engine nccl with GPUs",
                       s->copies->launcher);
    agents_end(s, setup, COPIES_BECOME_RANK);
    return 0;
}

/* ---- the other nodes ---- */

static int accept_any(void *user, int fd)
{
    (void)user;
    return fd >= 0;
}

/* Wait until there is a head that can be reached. */
static int find_head(const struct copies *c, double patience_s, struct secret *secret, char places[ADDRESS_PLACES],
                     struct err *e)
{
    double until_s = progress_now_s() + patience_s;
    int keyed = make_secret_of_key(c, secret), known = 0;
    char why[256] = "";
    if (keyed)
        snprintf(places, ADDRESS_PLACES, "%s:%d", getenv("MASTER_ADDR"), read_master_port());
    do {
        known = keyed || !read_meeting(c->meeting, secret, places);
        int fd = known ? address_connect(places, CONNECT_MS, accept_any, NULL, why, sizeof why) : -1;
        if (fd >= 0)
            return close(fd);
        nanosleep(&(struct timespec){.tv_nsec = HEAD_RETRY_NS}, NULL);
    } while (progress_now_s() < until_s);
    if (known)
        return err_set(e, ERR_FAILED, "rank 0 cannot be reached from here: %s", why);
    return err_set(
        e, ERR_FAILED,
        "rank 0 has left no %s within %.0f s: its directory must be shared by all nodes, else set " AGENTS_KEY
        ", MASTER_ADDR and MASTER_PORT",
        c->meeting, patience_s);
}

/* Run the agent as a child with our streams; its exit code. */
static int run_agent(const char *worker, const char *places, const struct secret *secret)
{
    char hex[SECRET_HEX];
    secret_hex(secret, hex);
    pid_t parent = getpid(), child = fork();
    int status = 0;
    if (!child) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent || setenv(SECRET_VARIABLE, hex, 1))
            _exit(ERR_FAILED);
        execl(worker, worker, "agent", "--connect", places, (char *)NULL);
        _exit(ERR_LACKS);
    }
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    return child > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : ERR_FAILED;
}

static enum agents_role serve_head(const struct copies *c, double patience_s, struct arena *a, int *code, struct err *e)
{
    char places[ADDRESS_PLACES];
    struct secret secret;
    const char *worker = locate_program("nccltune-worker", a, e);
    int rc = worker ? find_head(c, patience_s, &secret, places, e) : ERR_LACKS;
    *code = rc ? rc : run_agent(worker, places, &secret);
    siblings_tell(c->siblings, *code);
    return rc ? AGENTS_FAILED : *code == COPIES_BECOME_RANK ? AGENTS_RANK : AGENTS_SERVED;
}

static enum agents_role wait_for_sibling(const struct copies *c, double patience_s, int *code, struct err *e)
{
    *code = siblings_wait(c->job, patience_s);
    if (*code == SIBLINGS_NONE) {
        err_set(e, ERR_FAILED, "the first rank of this node has not come up within %.0f s", patience_s);
        return AGENTS_FAILED;
    }
    if (*code == SIBLINGS_LOST)
        *code = ERR_FAILED;
    return *code == COPIES_BECOME_RANK ? AGENTS_RANK : AGENTS_SERVED;
}

/* ---- all ---- */

enum agents_role copies_begin(struct agents *s, const char *dir, double patience_s, struct arena *a, int *code,
                              struct err *e)
{
    struct launcher_rank r;
    *s = (struct agents){.listener = -1};
    if (!find_others(&r))
        return AGENTS_CONDUCT;
    struct copies *c = ARENA_NEW(a, struct copies);
    *c = (struct copies){.launcher = r.launcher, .nodes = count_nodes(&r, e), .job = name_job(&r, a)};
    c->per_node = c->nodes ? r.ranks / c->nodes : 0;
    if (!c->nodes)
        return AGENTS_FAILED;
    if (r.local > 0)
        return wait_for_sibling(c, patience_s, code, e);
    c->siblings = siblings_open(c->job, e);
    if (c->siblings < 0)
        return AGENTS_FAILED;
    c->meeting = arena_printf(a, "%s/.head-%s", dir ? dir : ".", c->job);
    if (r.rank)
        return serve_head(c, patience_s, a, code, e);
    s->copies = c;
    if (c->nodes < 2 || !open_door(s, dir ? dir : ".", e))
        return AGENTS_CONDUCT;
    leave_copies(s, ERR_FAILED);
    return AGENTS_FAILED;
}

/* List the nodes whose copies have not come: by name where Slurm tells the names, else by a rank of theirs. Ranks are
 * numbered node by node, or each node gets one in turn. */
static void list_missing_copies(struct agents *s)
{
    const struct copies *c = s->copies;
    const char *why =
        arena_printf(s->keep, "no copy of %s's there has reached rank 0 within %.0f s", c->launcher, PATIENCE_S);
    struct places where;
    int named = !places_find(&(struct bench_setup){0}, s->keep, &where, NULL) && where.hosts && where.nodes == c->nodes;
    int step = c->per_node;
    for (int i = 0; i < s->count; i++)
        step = s->items[i].rank % c->per_node ? 1 : step;
    for (int node = 0; node < c->nodes && s->count + s->nabsent < c->nodes; node++) {
        int come = named && agents_find(s, where.hosts[node]) >= 0;
        for (int i = 0; i < s->nabsent && named; i++)
            come |= !strcmp(s->absent[i].host, where.hosts[node]);
        for (int i = 0; i < s->count && !named; i++)
            come |= s->items[i].rank == node * step;
        if (!come)
            agents_add_absent(s, named ? where.hosts[node] : arena_printf(s->keep, "the node of rank %d", node * step),
                              why);
    }
}

enum agents_role agents_meet(struct agents *s, struct bench_setup *setup, const char *dir, volatile sig_atomic_t *stop,
                             struct arena *a, int *code, struct err *e)
{
    enum agents_role role = AGENTS_CONDUCT;
    *s = (struct agents){.listener = -1};
    if (!setup->launcher && !setup->hosts && !setup->hostfile)
        role = copies_begin(s, dir, PATIENCE_S, a, code, e);
    if (role != AGENTS_CONDUCT || !s->arena)
        return role;
    static const struct places unnamed;
    int rc = agents_start_here(s, e);
    s->keep = a;
    s->some = &unnamed;
    rc = rc ? rc : agents_gather(s, progress_now_s() + PATIENCE_S, stop, e);
    s->some = NULL;
    if (!rc) {
        list_missing_copies(s);
        setup->lent = s;
        return AGENTS_CONDUCT;
    }
    leave_copies(s, rc);
    return AGENTS_FAILED;
}
