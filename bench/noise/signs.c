/* Lists of signs. */
#include "bench/noise/signs.h"

#include <stdlib.h>
#include <string.h>

#include "bench/noise/host_signs.h"
#include "core/clock.h"

static void take(void *user, const char *kind, const char *subject, double value)
{
    struct signs *s = user;
    s->list = arena_grow(s->arena, s->list, (size_t)s->n, sizeof *s->list);
    s->list[s->n++] = (struct sign){kind, subject ? arena_strdup(s->arena, subject) : NULL, value};
}

void signs_read(struct signs *s, struct gpu_watch *gpus)
{
    s->at_s = (double)clock_now_ns() * 1e-9;
    host_signs_read(s->arena, take, s);
    if (gpus)
        gpu_watch_read(gpus, take, s);
}

void signs_print(const struct signs *s, FILE *out)
{
    fprintf(out, "at %.3f\n", s->at_s);
    for (int i = 0; i < s->n; i++)
        fprintf(out, "%s %.17g %s\n", s->list[i].kind, s->list[i].value, s->list[i].subject ? s->list[i].subject : "");
}

/* "KIND VALUE[ SUBJECT]", without its newline. 0, or -1: it is something else. */
static int parse_line(struct arena *a, const char *line, size_t length, struct sign *out)
{
    char *copy = arena_strndup(a, line, length), *value = strchr(copy, ' '), *end = NULL;
    if (!value)
        return -1;
    *value++ = 0;
    double number = strtod(value, &end);
    if (end == value || (*end && *end != ' '))
        return -1;
    end += *end == ' ';
    *out = (struct sign){copy, *end ? end : NULL, number};
    return 0;
}

int signs_parse(const char *text, struct arena *a, struct signs lists[2])
{
    struct sign x;
    int n = 0;
    for (size_t length; *text; text += length + (text[length] == '\n')) {
        length = strcspn(text, "\n");
        if (parse_line(a, text, length, &x))
            continue;
        if (!strcmp(x.kind, "at") && n == 2)
            break;
        if (!strcmp(x.kind, "at"))
            lists[n++] = (struct signs){.arena = a, .at_s = x.value};
        else if (n)
            take(&lists[n - 1], x.kind, x.subject, x.value);
    }
    return n;
}
