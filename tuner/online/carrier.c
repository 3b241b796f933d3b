/* The carrier of a process: a thread that is nowhere else waited for than at the end of the program, and there for two
 * seconds at most. Joining and leaving take a mutex that it holds for a turn; calls of NCCL's that launch take none. */
#include "tuner/online/carrier.h"

#include <errno.h>
#include <netdb.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "core/clock.h"
#include "tuner/libc/thread.h"
#include "tuner/online/tree.h"

#define STOP_MS    1500 /* for outcomes that others wait for; the program waits ... */
#define PATIENT_MS 2000 /* ... so long for that */
#define RESOLVE_MS 1000 /* between two questions where a host is */
#define FIRST_MS   2000 /* the first call waits for a place in the tree */

static struct {
    pthread_mutex_t mutex;
    int is_judged;
    char why[ONLINE_TEXT]; /* not to be done, "" where nobody has asked for it */
    pid_t pid;             /* 0: there is no thread */
    int wake;
    _Atomic int is_stopping, is_over, is_refused, is_placed;
    struct online_settings settings;
    struct online_tree tree;
    char table[ONLINE_TABLE];
} carrier = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static void say(const char *text)
{
    dprintf(STDERR_FILENO, "nccltune: %s\n", text);
}

static void lock(void)
{
    pthread_mutex_lock(&carrier.mutex);
}

static void unlock(void)
{
    const struct online_tree *t = &carrier.tree;
    atomic_store(&carrier.is_refused, t->refusal[0] != 0);
    if (t->node.is_root || t->is_lost || t->parent.stage == ONLINE_LINKED)
        atomic_store(&carrier.is_placed, 1);
    pthread_mutex_unlock(&carrier.mutex);
}

static void wake(void)
{
    uint64_t one = 1;
    if (write(carrier.wake, &one, sizeof one) < 0)
        return; /* it is awake already */
}

/* ---- the thread -------------------------------------------------------------------------------------------------- */

/* Sleeps until there is something to do; `fds` has room for one more. */
static void sleep_for(struct pollfd *fds, nfds_t n, int timeout_ms)
{
    uint64_t count;
    fds[n] = (struct pollfd){.fd = carrier.wake, .events = POLLIN};
    poll(fds, n + 1, timeout_ms);
    if (fds[n].revents && read(carrier.wake, &count, sizeof count) < 0)
        return;
}

/* Asks until the name is known: a pod's may come late. */
static int resolve(struct online_place *to)
{
    const struct online_settings *s = &carrier.settings;
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *list = NULL;
    struct pollfd fd;
    int n = 0;
    for (uint64_t began = clock_now_ms(); getaddrinfo(s->host, NULL, &hints, &list);) {
        if (clock_now_ms() - began > ONLINE_GIVE_UP_MS || atomic_load(&carrier.is_stopping))
            return 0;
        sleep_for(&fd, 0, RESOLVE_MS);
    }
    for (const struct addrinfo *a = list; a && n < ONLINE_ADDRESSES; a = a->ai_next)
        if (a->ai_family == AF_INET || a->ai_family == AF_INET6)
            to[n++] = online_place_at(a->ai_addr, s->port);
    freeaddrinfo(list);
    return n;
}

/* Where the job's other processes are met; -1 with `why`. */
static int meet(char *why, size_t size)
{
    const struct online_settings *s = &carrier.settings;
    struct online_place roots[ONLINE_ADDRESSES];
    int is_root = s->rank == 0, n = is_root ? 0 : resolve(roots);
    if (s->ranks < 2)
        return 0;
    if (!is_root && !n)
        snprintf(why, size, "%s has no address; the job runs without tuning itself", s->host);
    else if (!online_settings_secret(s, &carrier.tree.secret, why, size) &&
             online_tree_listen(&carrier.tree, is_root ? s->port : 0))
        snprintf(why, size,
                 "port %u: %s; NCCLTUNE_ONLINE_ADDRESS=HOST:PORT names another; the job runs without tuning itself",
                 s->port, strerror(errno));
    online_tree_find(&carrier.tree, roots, n);
    return *why ? -1 : 0;
}

static int is_at_end(uint64_t *stop_ms)
{
    if (!atomic_load(&carrier.is_stopping))
        return 0;
    if (!*stop_ms)
        online_node_stop(&carrier.tree.node);
    *stop_ms = *stop_ms ? *stop_ms : clock_now_ms() + STOP_MS;
    return !online_tree_is_busy(&carrier.tree) || clock_now_ms() >= *stop_ms;
}

static void *run(void *unused)
{
    static struct pollfd fds[ONLINE_FDS + 1];
    struct online_tree *t = &carrier.tree;
    char why[ONLINE_TEXT] = "";
    uint64_t stop_ms = 0;
    int timeout_ms = 0, failed = meet(why, sizeof why);
    (void)unused;
    prctl(PR_SET_NAME, "nccltune");
    if (failed)
        say(why);
    lock();
    while (!failed && !t->is_lost && !is_at_end(&stop_ms)) {
        nfds_t n = online_tree_wants(t, fds, &timeout_ms);
        unlock();
        sleep_for(fds, n, timeout_ms);
        lock();
        online_tree_turn(t, fds, clock_now_ms());
    }
    if (!atomic_load(&carrier.is_stopping))
        online_node_lose(&t->node, ONLINE_UP);
    t->is_lost = 1;
    online_tree_close(t);
    unlock();
    atomic_store(&carrier.is_over, 1);
    return NULL;
}

/* ---- for the plugin ---------------------------------------------------------------------------------------------- */

/* Once a process, under the mutex. */
static void start(void)
{
    struct online_hello self = {.rank = 0};
    carrier.is_judged = 1;
    if (online_settings_read(&carrier.settings, carrier.why, sizeof carrier.why))
        return;
    wire_stack(self.stack);
    gethostname(self.host, sizeof self.host - 1);
    memcpy(self.table, carrier.table, sizeof self.table);
    self.rank = carrier.settings.rank;
    carrier.wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    int error = carrier.wake < 0 ? errno : online_tree_open(&carrier.tree, &self, say) ? ENOMEM : 0;
    error = error ? error : plugin_thread_start(run, NULL);
    if (error)
        snprintf(carrier.why, sizeof carrier.why, "no thread that could tune the job: %s", strerror(error));
    else
        carrier.pid = getpid();
}

/* Whether there is a thread; called and left with the mutex held. */
static int is_running(void)
{
    if (!carrier.is_judged)
        start();
    return carrier.pid && carrier.pid == getpid() && !carrier.tree.is_lost;
}

void online_table(const char *table)
{
    lock();
    snprintf(carrier.table, sizeof carrier.table, "%s", table);
    is_running();
    unlock();
}

/* A call that is launched by another table hangs the GPU, and there is no next one to fail: so the first one waits
 * until rank 0 has seen this process's table, or for so long. */
static void wait_for_place(void)
{
    for (uint64_t began = clock_now_ms(); !atomic_load(&carrier.is_placed) && clock_now_ms() - began < FIRST_MS;)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    atomic_store(&carrier.is_placed, 1);
}

const char *online_refusal(void)
{
    if (!atomic_load(&carrier.is_placed) && carrier.pid)
        wait_for_place();
    return atomic_load(&carrier.is_refused) ? carrier.tree.refusal : NULL;
}

int online_join(struct online_member *m, char *why, size_t size)
{
    lock();
    int failed = !is_running() || online_node_join(&carrier.tree.node, m);
    snprintf(why, size, "%s",
             !failed                ? ""
             : carrier.why[0]       ? carrier.why
             : carrier.tree.is_lost ? "the job's coordination has ended"
             : carrier.pid          ? "one communicator too many to be tuned"
                                    : "");
    unlock();
    if (!failed)
        wake();
    return failed ? -1 : 0;
}

void online_leave(struct online_member *m)
{
    lock();
    if (is_running())
        online_node_leave(&carrier.tree.node, m);
    unlock();
    if (carrier.pid)
        wake();
}

/* The end of the program: ranks of other processes may wait for an outcome that goes through here. */
__attribute__((destructor)) static void stop(void)
{
    if (!carrier.pid || carrier.pid != getpid())
        return;
    atomic_store(&carrier.is_stopping, 1);
    wake();
    for (uint64_t began = clock_now_ms(); !atomic_load(&carrier.is_over) && clock_now_ms() - began < PATIENT_MS;)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}
