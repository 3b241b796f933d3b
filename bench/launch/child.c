/* A child that answers in lines, and of what it prints on standard error the one or two lines that say why. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/launch/launch_internal.h"
#include "core/progress.h"

/* ---- complaints ---- */

#define RULE 40 /* dashes of OpenMPI's frames: 74 */

/* What says nothing about a failure, by how it begins. */
static const char *const chatter[] = {"Warning: Permanently added", "srun: warning: can't run",
                                      "srun: cluster configuration lacks support for cpu binding", "Connection to ",
                                      "Primary job  terminated normally"};

/* What counts in a frame, too, whatever stands outside: who died, and of what. */
static const char verdict[] = "mpirun noticed that process";

static int is_chatter(const char *line)
{
    for (size_t i = 0; i < sizeof chatter / sizeof *chatter; i++)
        if (!strncmp(line, chatter[i], strlen(chatter[i])))
            return 1;
    return !line[strspn(line, " \t\r-*=")];
}

static void keep_line(struct complaint *c)
{
    c->line[c->used] = 0;
    while (c->used && strchr(" \t\r", c->line[c->used - 1]))
        c->line[--c->used] = 0;
    const char *line = c->line + strspn(c->line, " \t");
    if (strspn(line, "-") >= RULE) {
        c->in_frame = !c->in_frame;
        c->begun = 0;
    } else if (c->in_frame && strncmp(line, verdict, sizeof verdict - 1) !=
                                  0) { /* what its first line says counts, unless that is chatter */
        if (!c->begun && !*c->framed && !is_chatter(line))
            memcpy(c->framed, line, strlen(line) + 1);
        c->begun |= *line;
    } else if (!is_chatter(line))
        memcpy(*c->first ? c->last : c->first, line, strlen(line) + 1);
    c->used = 0;
}

void complaint_add(struct complaint *c, const char *text, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        if (text[i] == '\n')
            keep_line(c);
        else if (c->used + 1 < sizeof c->line && text[i])
            c->line[c->used++] = text[i];
    }
}

int complaint_read(struct complaint *c, int fd)
{
    char text[1024];
    for (;;) {
        ssize_t n = read(fd, text, sizeof text);
        if (n <= 0)
            return n < 0 && (errno == EAGAIN || errno == EINTR);
        complaint_add(c, text, (size_t)n);
    }
}

char *complaint_text(const struct complaint *c, char *text, size_t bytes)
{
    struct complaint end = *c;
    keep_line(&end); /* a last line without its newline */
    if (!*end.first)
        snprintf(text, bytes, "%s", end.framed);
    else if (*end.last && strcmp(end.first, end.last) != 0)
        snprintf(text, bytes, "%s / %s", end.first, end.last);
    else
        snprintf(text, bytes, "%s", end.first);
    return text;
}

/* ---- the conversation ---- */

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
static char *next_line(struct child *t)
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
        if ((*line = next_line(t)))
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
