/* A bar on a terminal, plain lines elsewhere. */
#include "core/progress.h"

#include <math.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/units.h"

#define TERMINAL_PERIOD_S 0.1

double progress_now_s(void)
{
    return 1e-9 * (double)clock_now_ns();
}

void progress_start(struct progress *p, FILE *out)
{
    memset(p, 0, sizeof *p);
    p->out = out;
    p->started_s = progress_now_s();
    if (!out)
        return;
    p->terminal = isatty(fileno(out));
    struct winsize w;
    p->width = p->terminal && !ioctl(fileno(out), TIOCGWINSZ, &w) && w.ws_col > 20 ? w.ws_col : 80;
}

static void draw_bar(struct progress *p, double fraction, const char *left, const char *what)
{
    char bar[31];
    int full = (int)(fraction * 30 + 0.5);
    for (int i = 0; i < 30; i++)
        bar[i] = i < full ? '#' : '.';
    bar[30] = 0;
    char line[256];
    snprintf(line, sizeof line, "[%s] %3.0f%%  %s left  %s", bar, fraction * 100, left, what);
    fprintf(p->out, "\r\033[K%.*s", p->width - 1, line);
    p->visible = 1;
}

void progress_update(struct progress *p, double fraction, double left_s, const char *what)
{
    if (!p || !p->out)
        return;
    double now = progress_now_s();
    /* Elsewhere four lines, and more only of what takes longer than 20 minutes. */
    double period_s = p->terminal ? TERMINAL_PERIOD_S : fmin(fmax((now - p->started_s + left_s) / 4, 10), 300);
    if (p->drawn_s > 0 && now - p->drawn_s < period_s)
        return;
    p->drawn_s = now;
    fraction = fraction < 0 ? 0 : fraction > 1 ? 1 : fraction;
    char text[UNIT_TEXT];
    const char *left = left_s < 0 ? "? s" : unit_seconds(text, left_s);
    if (p->terminal)
        draw_bar(p, fraction, left, what);
    else
        fprintf(p->out, "%3.0f%% done, %s left: %s\n", fraction * 100, left, what);
    fflush(p->out);
}

void progress_clear(struct progress *p)
{
    if (!p || !p->out || !p->visible)
        return;
    fputs("\r\033[K", p->out);
    fflush(p->out);
    p->visible = 0;
}
