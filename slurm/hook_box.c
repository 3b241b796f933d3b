/* A time-box: the work is done by a child that hands its report over in shared memory. A child that hangs in a dead
 * file system cannot even be killed; the parent does not wait for it. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/clock.h"
#include "slurm/hook.h"

/* Slurm reads a hook's output to its end, so a child that is left behind must hold none of it. */
static void let_go(void)
{
    int null = open("/dev/null", O_RDWR);
    for (int fd = 0; fd < 3; fd++)
        if (null < 0 || dup2(null, fd) < 0)
            close(fd);
    if (null > 2)
        close(null);
    setsid();
}

/* Waits until the write end of the pipe is closed, which is when the child is gone or has let go of it, and keeps what
 * comes out of it. 1, or 0 when that took too long. */
static int closed_in_time(int fd, long limit_ms, char *out, size_t size)
{
    long until = (long)clock_now_ms() + limit_ms;
    char dropped[512] = "";
    for (size_t used = 0;;) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        long left = until - (long)clock_now_ms();
        int ready = poll(&p, 1, left > 0 ? (int)left : 0), room = out && used + 1 < size;
        if (ready == 0 || (ready < 0 && errno != EINTR))
            return 0;
        ssize_t n = ready > 0 ? read(fd, room ? out + used : dropped, room ? size - 1 - used : sizeof dropped) : -1;
        if (n == 0)
            return 1;
        if (n > 0 && room) {
            used += (size_t)n;
            out[used] = 0;
        }
    }
}

/* The status of a child that has closed its pipe, or -1; one that has not ended is killed and not waited for long. */
static int collect(pid_t pid, int in_time)
{
    int status;
    if (!in_time)
        kill(pid, SIGKILL);
    for (int i = 0; i < 20; i++) {
        if (waitpid(pid, &status, WNOHANG) == pid)
            return in_time ? status : -1;
        poll(NULL, 0, 1);
    }
    return -1;
}

struct hook_report *hook_boxed(hook_function *hook, const struct hook_options *o, struct err *e)
{
    int ends[2];
    struct hook_report *r = mmap(NULL, sizeof *r, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (r == MAP_FAILED)
        return err_null(e, ERR_FAILED, "no memory");
    if (pipe2(ends, O_CLOEXEC)) {
        err_set(e, ERR_FAILED, "no pipe");
        return r;
    }
    pid_t pid = fork();
    if (pid == 0) {
        let_go();
        hook(o, r);
        _exit(0);
    }
    close(ends[1]);
    int in_time = pid > 0 && closed_in_time(ends[0], o->limit_ms, NULL, 0);
    close(ends[0]);
    int status = pid > 0 ? collect(pid, in_time) : -1;
    if (pid < 0)
        err_set(e, ERR_FAILED, "no child process");
    else if (!in_time)
        err_set(e, ERR_FAILED, "not done after %ld ms; is a file system hanging?", o->limit_ms);
    else if (!r->done)
        err_set(e, ERR_FAILED, "ended by signal %d", WIFSIGNALED(status) ? WTERMSIG(status) : 0);
    return r;
}

int hook_run(char *const *argv, long limit_ms, char *out, size_t size)
{
    const char *slurm_conf = getenv("SLURM_CONF");
    char path[] = "PATH=/usr/bin:/bin", times[] = "SLURM_TIME_FORMAT=%s", conf[HOOK_PATH + 16];
    char *env[] = {path, times, slurm_conf ? conf : NULL, NULL};
    int ends[2];
    snprintf(conf, sizeof conf, "SLURM_CONF=%.*s", HOOK_PATH - 1, slurm_conf ? slurm_conf : "");
    if (out)
        out[0] = 0;
    if (pipe2(ends, 0))
        return -1;
    fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    pid_t pid = fork(); /* the write end stays open in the program: it closes when the program ends */
    if (pid == 0) {
        let_go();
        if (out)
            dup2(ends[1], 1);
        execve(argv[0], argv, env);
        _exit(127);
    }
    close(ends[1]);
    int in_time = pid > 0 && closed_in_time(ends[0], limit_ms, out, size);
    close(ends[0]);
    int status = pid > 0 ? collect(pid, in_time) : -1;
    return status != -1 && WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -1;
}
