/* Child processes. */
#include "core/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/progress.h"

#define POLL_NS 10000000

/* ---- starting ---- */

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* In the child: streams, group, signals, then the program. Why it failed goes into `report`. */
static void become_command(const char *const *argv, const char *const *env, const int streams[3], pid_t parent,
                           int report)
{
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent)
        _exit(127);
    struct sigaction normal = {.sa_handler = SIG_DFL};
    sigaction(SIGPIPE, &normal, NULL);
    sigaction(SIGINT, &normal, NULL);
    sigaction(SIGTERM, &normal, NULL);
    sigset_t none;
    sigemptyset(&none);
    pthread_sigmask(SIG_SETMASK, &none, NULL);
    int ok = 1;
    for (int i = 0; i < 3; i++)
        ok = ok && dup2(streams[i], i) == i;
    for (; ok && env && *env; env++)
        ok = !putenv((char *)*env);
    if (ok)
        execvp(argv[0], (char *const *)argv);
    int why = errno;
    ssize_t sent = write(report, &why, sizeof why);
    _exit(sent == sizeof why ? 127 : 126);
}

/* A pipe whose ends are above the standard streams, so that dup2 in the child cannot run over one. */
static int make_pipe(int ends[2])
{
    if (pipe2(ends, O_CLOEXEC)) {
        ends[0] = ends[1] = -1;
        return -1;
    }
    for (int i = 0; i < 2; i++) {
        int high = ends[i] > 2 ? ends[i] : fcntl(ends[i], F_DUPFD_CLOEXEC, 3);
        if (high < 0)
            return -1;
        if (high != ends[i])
            close(ends[i]);
        ends[i] = high;
    }
    return 0;
}

int proc_spawn(struct proc *p, const char *const *argv, const char *const *env, struct err *e)
{
    int in[2] = {-1, -1}, out[2] = {-1, -1}, err[2] = {-1, -1}, report[2] = {-1, -1}, rc = 0, why = 0;
    *p = (struct proc){.in = -1, .out = -1, .err = -1};
    if (make_pipe(in) || make_pipe(out) || make_pipe(err) || make_pipe(report)) {
        rc = err_errno(e, "%s: no pipe can be made for it", argv[0]);
        goto out;
    }
    pid_t parent = getpid();
    p->pid = fork();
    if (p->pid < 0) {
        p->pid = 0;
        rc = err_errno(e, "%s: no process can be made for it", argv[0]);
        goto out;
    }
    if (!p->pid)
        become_command(argv, env, (int[]){in[0], out[1], err[1]}, parent, report[1]);
    setpgid(p->pid, p->pid);
    p->group = p->pid;
    close_fd(&report[1]);
    ssize_t n;
    do
        n = read(report[0], &why, sizeof why);
    while (n < 0 && errno == EINTR);
    if (n == (ssize_t)sizeof why) {
        errno = why;
        rc = err_errno(e, "%s: cannot be started", argv[0]);
        if (why == ENOENT || why == EACCES)
            rc = e ? (e->code = ERR_LACKS) : ERR_LACKS;
        proc_stop(p, 0);
        goto out;
    }
    p->in = in[1];
    p->out = out[0];
    p->err = err[0];
    in[1] = out[0] = err[0] = -1;
out:
    for (int i = 0; i < 2; i++) {
        close_fd(&in[i]);
        close_fd(&out[i]);
        close_fd(&err[i]);
        close_fd(&report[i]);
    }
    return rc;
}

/* ---- ending ---- */

int proc_watch(const struct proc *p)
{
    return (int)syscall(SYS_pidfd_open, p->pid, 0);
}

/* Until it ends, or so long. */
static void wait_for(const struct proc *p, double left_s)
{
    int fd = proc_watch(p);
    if (fd < 0) {
        nanosleep(&(struct timespec){.tv_nsec = POLL_NS}, NULL);
        return;
    }
    poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, (int)ceil(left_s * 1e3));
    close(fd);
}

int proc_ended(struct proc *p, double timeout_s)
{
    double until = progress_now_s() + timeout_s;
    while (p->pid > 0) {
        pid_t got = waitpid(p->pid, &p->status, WNOHANG);
        if (got == p->pid || (got < 0 && errno == ECHILD)) {
            p->pid = 0;
            break;
        }
        double left_s = until - progress_now_s();
        if (left_s <= 0)
            return 0;
        wait_for(p, left_s);
    }
    return 1;
}

void proc_stop(struct proc *p, double grace_s)
{
    if (p->group <= 0)
        return;
    if (p->pid > 0) {
        kill(-p->group, SIGTERM);
        if (!proc_ended(p, grace_s)) {
            kill(-p->group, SIGKILL);
            proc_ended(p, 10);
        }
    }
    /* Members that outlived their leader: while one is left, the group's number is not given away. */
    kill(-p->group, SIGKILL);
    p->group = 0;
    close_fd(&p->in);
    close_fd(&p->out);
    close_fd(&p->err);
}

char *proc_status_text(int status, char text[PROC_STATUS_TEXT])
{
    if (WIFSIGNALED(status))
        snprintf(text, PROC_STATUS_TEXT, "was killed by signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
    else
        snprintf(text, PROC_STATUS_TEXT, "exited with code %d", WEXITSTATUS(status));
    return text;
}

/* ---- what it prints ---- */

char *proc_output(const char *const *argv, const char *const *env, size_t most, double timeout_s, struct arena *a,
                  int *status, struct err *e)
{
    struct proc p;
    size_t used = 0;
    ssize_t n = 1;
    if (proc_spawn(&p, argv, env, e))
        return NULL;
    char *text = arena_alloc(a, most + 2);
    struct pollfd ready = {.fd = p.out, .events = POLLIN};
    while (n > 0 && used <= most) {
        n = poll(&ready, 1, (int)(1e3 * timeout_s)) > 0 ? read(p.out, text + used, most + 1 - used) : -1;
        used += n > 0 ? (size_t)n : 0;
    }
    int ended = n == 0 && proc_ended(&p, timeout_s);
    *status = p.status;
    proc_stop(&p, 0.1);
    if (ended)
        return text;
    return err_null(e, ERR_FAILED, used > most ? "%s prints more than expected" : "%s does not end", argv[0]);
}

/* ---- writing ---- */

int proc_write(int fd, const char *data, size_t bytes)
{
    sigset_t pipe_only, before, pending;
    sigemptyset(&pipe_only);
    sigaddset(&pipe_only, SIGPIPE);
    sigpending(&pending);
    int was_pending = sigismember(&pending, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_only, &before);
    int rc = 0;
    while (bytes && !rc) {
        ssize_t n = write(fd, data, bytes);
        if (n < 0 && errno != EINTR)
            rc = -1;
        if (n > 0) {
            data += n;
            bytes -= (size_t)n;
        }
    }
    int why = errno;
    if (rc && why == EPIPE && !was_pending)
        sigtimedwait(&pipe_only, NULL, &(struct timespec){0});
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = why;
    return rc;
}

/* ---- command lines ---- */

/* Copies the word at *line, unquoted, to `out`; -1 when a quote stays open. */
static int take_word(const char **line, char *out)
{
    const char *p = *line;
    char quote = 0;
    for (; *p && (quote || !strchr(" \t\n", *p)); p++) {
        if (*p == '\\' && p[1] && quote != '\'')
            *out++ = *++p;
        else if (!quote && (*p == '\'' || *p == '"'))
            quote = *p;
        else if (quote && *p == quote)
            quote = 0;
        else
            *out++ = *p;
    }
    *out = 0;
    *line = p;
    return quote ? -1 : 0;
}

const char **proc_split(const char *line, struct arena *a, int *nwords, struct err *e)
{
    const char **words = NULL, *p = line;
    *nwords = 0;
    for (;;) {
        p += strspn(p, " \t\n");
        words = arena_grow(a, words, (size_t)*nwords, sizeof *words);
        if (!*p)
            break;
        char *word = arena_alloc(a, strlen(p) + 1);
        if (take_word(&p, word))
            return err_null(e, ERR_USAGE, "a quote is not closed in: %s", line);
        words[(*nwords)++] = word;
    }
    words[*nwords] = NULL;
    return words;
}
