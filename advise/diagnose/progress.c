/* How far a job came and where it stands: progress bars, watchdogs of collectives. */
#include <stdlib.h>
#include <string.h>

#include "advise/diagnose/diagnose_internal.h"

/* ---- progress bars: " 12%|##   | 12/105 [08:00<1:02:00, 40.0s/it]" ---- */

/* "08:00" or "1:02:03" -> seconds, -1: not such a time. */
static double elapsed(const char *s, const char **end)
{
    double total = 0;
    char *p;
    for (int i = 0; i < 4; i++) {
        if (*s < '0' || *s > '9')
            return -1;
        total = total * 60 + (double)strtol(s, &p, 10);
        s = p;
        if (*s != ':')
            break;
        s++;
    }
    *end = s;
    return total;
}

/* What a bar counts stands before its percentage; a trainer's bar has none. */
static int is_training(const char *line, const char *bar)
{
    static const char *const names[] = {"rain", "poch", "tep", "ter"};
    const char *p = bar;
    while (p > line && ((p[-1] >= '0' && p[-1] <= '9') || p[-1] == ' ' || p[-1] == '%' || p[-1] == ':'))
        p--;
    if (p == line || p[-1] == ')' || p[-1] == ']')
        return 1;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *at = strstr(line, names[i]);
        if (at && at < bar)
            return 1;
    }
    return 0;
}

/* Seconds of a step by the bar's own rate, "40.0s/it" or "1.3it/s"; 0: it says none. */
static double rate_of(const char *p)
{
    double value;
    p = strchr(p, ',');
    const char *unit = p ? diag_number(p + 1, &value) : NULL;
    if (!unit || value <= 0)
        return 0;
    return !strncmp(unit, "s/it", 4) ? value : !strncmp(unit, "it/s", 4) ? 1 / value : 0;
}

static void advance(struct diagnosis *d, long done, double at_s, double rate_s)
{
    static const struct diag_word total = {.phase = diag_total_mark};
    struct diag_progress *b = &d->bar;
    double step_s = b->done < done ? (at_s - b->at_s) / (double)(done - b->done) : 0;
    /* A bar that is first seen midway says how long a step takes by its rate alone. */
    if (done > b->done && (b->total || rate_s > 0)) {
        diag_step_open(d, DIAG_BAR, -1);
        diag_step_add(d, DIAG_BAR, &total, 1e3 * (rate_s <= 0 || (b->total && step_s >= 10) ? step_s : rate_s));
        diag_step_close(d, DIAG_BAR);
    }
    b->done = done;
    b->at_s = at_s;
    diag_here(d, b->place);
}

int diag_read_bar(struct diagnosis *d, const char *line)
{
    const char *bar = strstr(line, "%|"), *p = bar ? strchr(bar + 2, '|') : NULL;
    char *end;
    if (!p)
        return 0;
    long done = strtol(p + 1, &end, 10), total = *end == '/' ? strtol(end + 1, &end, 10) : 0;
    const char *behind = strstr(end, " [");
    if (total <= 0 || done < 0 || done > total || behind != end || !is_training(line, bar))
        return 0;
    double at_s = elapsed(behind + 2, &behind);
    if (at_s < 0)
        return 0;
    struct diag_progress *b = &d->bar;
    b->last_s = at_s;
    if (total != b->total || done != b->done) {
        if (total != b->total)
            *b = (struct diag_progress){.last_s = at_s};
        advance(d, done, at_s, rate_of(behind));
        b->total = total;
    }
    return 1;
}

/* ---- PyTorch's watchdog ---- */

static long number_behind(const char *line, const char *key)
{
    const char *p = strstr(line, key);
    return p ? strtol(p + strlen(key), NULL, 10) : -1;
}

/* "[Rank 3] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=5, OpType=ALLREDUCE, NumelIn=1, ...) ran for
 * 600014 milliseconds" */
int diag_read_watchdog(struct diagnosis *d, const char *line)
{
    const char *at = strstr(line, "Watchdog caught collective operation timeout"),
               *op = at ? strstr(at, "OpType=") : NULL;
    struct diag_watchdog *w = &d->watchdog;
    if (!op)
        return 0;
    char name[sizeof w->op];
    long seq = number_behind(at, "SeqNum=");
    op += 7;
    snprintf(name, sizeof name, "%.*s", (int)strcspn(op, ",) "), op);
    long rank = number_behind(line, "[Rank ");
    rank = rank < 0 ? d->who.rank : rank;
    if (!w->ranks++) {
        memcpy(w->op, name, sizeof name);
        w->low = w->high = seq;
        w->elements = number_behind(at, "NumelIn=");
        w->waited_ms = number_behind(at, "ran for ");
        w->highest = -1;
        diag_here(d, w->place);
    }
    if (rank >= 0 && rank < DIAG_RANKS) {
        w->timed_out[rank / 8] |= (unsigned char)(1u << rank % 8);
        w->highest = rank > w->highest ? (int)rank : w->highest;
    }
    w->differ |= strcmp(w->op, name) != 0;
    w->low = seq >= 0 && (seq < w->low || w->low < 0) ? seq : w->low;
    w->high = seq > w->high ? seq : w->high;
    return 1;
}
