/* One line a message, control characters disarmed. */
#include "core/log.h"

#include <stdarg.h>

#include "core/err.h"
#include "core/progress.h"

static void print_line(struct log *l, const char *kind, const char *fmt, va_list ap)
{
    char text[1024];
    vsnprintf(text, sizeof text, fmt, ap);
    progress_clear(l->progress);
    fprintf(l->out, "%s: %s%s\n", l->program, kind, err_mask_controls(text));
    fflush(l->out);
}

void log_info(struct log *l, const char *fmt, ...)
{
    if (!l || l->quiet)
        return;
    va_list ap;
    va_start(ap, fmt);
    print_line(l, "", fmt, ap);
    va_end(ap);
}

void log_warn(struct log *l, const char *fmt, ...)
{
    if (!l)
        return;
    va_list ap;
    va_start(ap, fmt);
    print_line(l, "warning: ", fmt, ap);
    va_end(ap);
}
