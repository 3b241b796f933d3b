/* The picture, drawn by Graphviz. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/proc.h"
#include "core/progress.h"
#include "probe/format/format.h"

#define DEADLINE_S 120.0
#define MOST_BYTES ((size_t)64 << 20)

/* Copies what the program prints until its end. */
static int copy_output(struct proc *p, FILE *out, struct err *e)
{
    char text[65536];
    size_t all = 0;
    double until_s = progress_now_s() + DEADLINE_S;
    for (;;) {
        struct pollfd fd = {p->out, POLLIN, 0};
        double left_s = until_s - progress_now_s();
        int ready = left_s > 0 ? poll(&fd, 1, (int)(left_s * 1e3) + 1) : 0;
        if (ready < 0 && errno == EINTR)
            continue;
        if (ready <= 0)
            return err_set(e, ERR_FAILED, "Graphviz's dot did not end within %g s", DEADLINE_S);
        ssize_t n = read(p->out, text, sizeof text);
        if (n == 0)
            return 0;
        if (n < 0 && errno != EINTR)
            return err_errno(e, "Graphviz's dot");
        all += n > 0 ? (size_t)n : 0;
        if (all > MOST_BYTES || (n > 0 && fwrite(text, 1, (size_t)n, out) != (size_t)n))
            return err_set(e, ERR_FAILED, "the picture cannot be written");
    }
}

static int draw(const char *dot, size_t bytes, FILE *out, struct err *e)
{
    static const char *const argv[] = {"dot", "-Tsvg", "-q", NULL};
    char status[PROC_STATUS_TEXT];
    struct proc p;
    int rc = proc_spawn(&p, argv, NULL, e);
    if (rc == ERR_LACKS)
        return err_set(e, ERR_LACKS, "Graphviz's dot is not installed; --format dot writes what it would draw");
    if (rc)
        return rc;
    /* dot reads all of it before it prints anything. */
    rc = proc_write(p.in, dot, bytes) ? err_errno(e, "Graphviz's dot") : 0;
    close(p.in);
    p.in = -1;
    if (!rc)
        rc = copy_output(&p, out, e);
    if (!rc && (!proc_ended(&p, 5) || p.status))
        rc = err_set(e, ERR_FAILED, "Graphviz's dot %s", proc_status_text(p.status, status));
    proc_stop(&p, 0.5);
    return rc;
}

static int write_svg(const struct topology *t, FILE *out, struct err *e)
{
    char *dot = NULL;
    size_t bytes = 0;
    FILE *text = open_memstream(&dot, &bytes);
    if (!text)
        return err_set(e, ERR_FAILED, "out of memory");
    int rc = format_dot.write(t, text, e);
    if (fclose(text) && !rc)
        rc = err_set(e, ERR_FAILED, "out of memory");
    if (!rc)
        rc = draw(dot, bytes, out, e);
    free(dot);
    return rc;
}

const struct probe_format format_svg = {"svg", "a picture (needs Graphviz)", write_svg};
