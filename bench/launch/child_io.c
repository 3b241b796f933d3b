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
        if (fds[1].revents && !complaint_read(&t->complaint, t->proc.err))
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

void child_last_words(struct child *t, char detail[BENCH_DETAIL])
{
    char status[PROC_STATUS_TEXT] = "does not end", words[BENCH_DETAIL - PROC_STATUS_TEXT - 2];
    if (proc_ended(&t->proc, 1.0))
        proc_status_text(t->proc.status, status);
    complaint_read(&t->complaint, t->proc.err);
    complaint_text(&t->complaint, words, sizeof words);
    snprintf(detail, BENCH_DETAIL, "%s%s%s", status, *words ? ": " : "", words);
    t->complaint = (struct complaint){.used = 0};
}

void child_end(struct child *t, double grace_s)
{
    proc_stop(&t->proc, grace_s);
    free(t->line);
    t->line = NULL;
}
