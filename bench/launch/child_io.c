/* A conversation with a child. */
#include "bench/launch/child_io.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/progress.h"

/* How often *stop is looked at: a ^C that comes between the look and poll() waits this long. */
#define STOP_PERIOD_MS 100

/* How many of the last words are worth a reader's time. */
#define LAST_LINES 3

int child_start(struct child *t, const char *const *argv, const char *const *env, struct err *e)
{
    memset(t, 0, sizeof *t);
    t->line = malloc(PROTOCOL_LINE);
    if (!t->line)
        return err_set(e, ERR_FAILED, "out of memory");
    int rc = proc_spawn(&t->proc, argv, env, e);
    if (rc) {
        free(t->line);
        t->line = NULL;
        return rc;
    }
    fcntl(t->proc.out, F_SETFL, O_NONBLOCK);
    fcntl(t->proc.err, F_SETFL, O_NONBLOCK);
    return 0;
}

/* Keeps the last bytes of standard error; 0 when it has ended. */
static int drain_complaints(struct child *t)
{
    char text[1024];
    for (;;) {
        ssize_t n = read(t->proc.err, text, sizeof text);
        if (n <= 0)
            return n < 0 && (errno == EAGAIN || errno == EINTR);
        size_t space = sizeof t->tail - 1 - t->tail_used, add = (size_t)n;
        if (add > space) {
            size_t gone = add - space;
            memmove(t->tail, t->tail + gone, t->tail_used - gone);
            t->tail_used -= gone;
        }
        memcpy(t->tail + t->tail_used, text, add);
        t->tail_used += add;
        t->tail[t->tail_used] = 0;
    }
}

/* A whole line that has already come. Others than objects are chatter of a launcher or of a login script. */
static char *take_line(struct child *t)
{
    for (;;) {
        memmove(t->line, t->line + t->given, t->used - t->given);
        t->used -= t->given;
        t->given = 0;
        char *eol = memchr(t->line, '\n', t->used);
        if (!eol)
            return NULL;
        *eol = 0;
        t->given = (size_t)(eol - t->line) + 1;
        if (*t->line == '{')
            return t->line;
    }
}

enum child_event child_next(struct child *t, double deadline_s, volatile sig_atomic_t *stop, char **line)
{
    struct pollfd fds[2] = {{.fd = t->proc.out, .events = POLLIN}, {.fd = t->proc.err, .events = POLLIN}};
    for (;;) {
        if ((*line = take_line(t)))
            return CHILD_LINE;
        if (stop && *stop)
            return CHILD_STOPPED;
        double left_ms = (deadline_s - progress_now_s()) * 1e3;
        if (left_ms <= 0)
            return CHILD_LATE;
        poll(fds, 2, left_ms < STOP_PERIOD_MS ? (int)left_ms + 1 : STOP_PERIOD_MS);
        if (fds[1].revents && !drain_complaints(t))
            fds[1].fd = -1;
        if (!fds[0].revents)
            continue;
        ssize_t n = read(t->proc.out, t->line + t->used, PROTOCOL_LINE - t->used);
        if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
            return CHILD_ENDED;
        if (n > 0)
            t->used += (size_t)n;
        if (t->used == PROTOCOL_LINE && !memchr(t->line, '\n', t->used))
            return CHILD_ENDED;
    }
}

int child_say(struct child *t, const char *line)
{
    return proc_write(t->proc.in, line, strlen(line));
}

/* Lines that are only there for the eye: blank ones and rules. */
static int is_decoration(const char *line)
{
    return !line[strspn(line, " \t\r-*=")];
}

void child_last_words(struct child *t, char detail[BENCH_DETAIL])
{
    char status[PROC_STATUS_TEXT] = "does not end";
    if (proc_ended(&t->proc, 1.0))
        proc_status_text(t->proc.status, status);
    drain_complaints(t);
    const char *lines[LAST_LINES] = {0};
    int n = 0;
    char *rest = NULL;
    for (char *l = strtok_r(t->tail, "\n", &rest); l; l = strtok_r(NULL, "\n", &rest))
        if (!is_decoration(l))
            lines[n++ % LAST_LINES] = l;
    int used = snprintf(detail, BENCH_DETAIL, "%s", status);
    const char *joint = ": ";
    for (int i = n > LAST_LINES ? n - LAST_LINES : 0; i < n && used < BENCH_DETAIL; i++, joint = " / ") {
        const char *l = lines[i % LAST_LINES];
        used += snprintf(detail + used, (size_t)(BENCH_DETAIL - used), "%s%s", joint, l + strspn(l, " \t"));
    }
    t->tail_used = 0;
}

void child_end(struct child *t, double grace_s)
{
    proc_stop(&t->proc, grace_s);
    free(t->line);
    t->line = NULL;
}
