/* Two lines out of many. */
#include "bench/launch/complaint.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define RULE 40 /* dashes of OpenMPI's frames: 74 */

/* What says nothing about a failure, by how it begins. */
static const char *const chatter[] = {"Warning: Permanently added", "srun: warning: can't run", "Connection to ",
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

static void take_line(struct complaint *c)
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
            take_line(c);
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
    take_line(&end); /* a last line without its newline */
    if (!*end.first)
        snprintf(text, bytes, "%s", end.framed);
    else if (*end.last && strcmp(end.first, end.last) != 0)
        snprintf(text, bytes, "%s / %s", end.first, end.last);
    else
        snprintf(text, bytes, "%s", end.first);
    return text;
}
