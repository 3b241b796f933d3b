/* Lists of hosts as users and Slurm write them. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/file.h"
#include "probe/source/probe.h"
#include "probe/topology/build.h"

#define LONGEST_NAME 256

struct list {
    const char *what;
    struct arena *a;
    const char **hosts;
    int n;
    struct err *e;
};

/* A name goes onto the command line of ssh: it must not look like an option or hold anything special. */
static int is_name(const char *s)
{
    if (!isalnum((unsigned char)*s) || strlen(s) >= LONGEST_NAME)
        return 0;
    for (; *s; s++)
        if (!isalnum((unsigned char)*s) && !strchr("._-:@", *s))
            return 0;
    return 1;
}

static int add(struct list *l, const char *name)
{
    if (!is_name(name))
        return err_set(l->e, ERR_USAGE, "%s: '%s' is not the name of a host", l->what, name);
    if (l->n >= HOSTLIST_MOST)
        return err_set(l->e, ERR_USAGE, "%s: more than %d hosts", l->what, HOSTLIST_MOST);
    l->hosts = arena_grow(l->a, l->hosts, (size_t)l->n, sizeof *l->hosts);
    l->hosts[l->n++] = name;
    return 0;
}

static int expand(struct list *l, const char *name);

/* "07" or "01-16" between `before` and `after`; leading zeros stay. */
static int expand_range(struct list *l, const char *before, const char *range, const char *after)
{
    char *end = NULL;
    int digits = (int)strspn(range, "0123456789");
    long first = strtol(range, &end, 10), last = first;
    if (digits && digits < 10 && *end == '-') {
        const char *second = end + 1;
        last = strspn(second, "0123456789") && strlen(second) < 10 ? strtol(second, &end, 10) : -1;
    }
    if (!digits || digits >= 10 || *end || last < first || last - first >= HOSTLIST_MOST)
        return err_set(l->e, ERR_USAGE, "%s: expected numbers such as \"1-16\" between the brackets, found '%s'",
                       l->what, range);
    for (long i = first; i <= last; i++)
        if (expand(l, arena_printf(l->a, "%s%0*ld%s", before, digits, i, after)))
            return ERR_USAGE;
    return 0;
}

/* One name, maybe with brackets. */
static int expand(struct list *l, const char *name)
{
    const char *open = strchr(name, '['), *close = open ? strchr(open, ']') : NULL;
    if (!open)
        return add(l, name);
    if (!close)
        return err_set(l->e, ERR_USAGE, "%s: '%s' has no closing bracket", l->what, name);
    if (strlen(name) >= (size_t)4 * LONGEST_NAME)
        return err_set(l->e, ERR_USAGE, "%s: a name longer than %d characters", l->what, 4 * LONGEST_NAME);
    const char *before = arena_strndup(l->a, name, (size_t)(open - name));
    for (const char *part = open + 1; part <= close;) {
        size_t n = strcspn(part, ",]");
        if (expand_range(l, before, arena_strndup(l->a, part, n), close + 1))
            return ERR_USAGE;
        part += n + 1;
    }
    return 0;
}

int hostlist_parse(const char *text, const char *what, struct arena *a, const char ***hosts, int *n, struct err *e)
{
    struct list l = {.what = what, .a = a, .e = e};
    while (*text) {
        size_t used = 0;
        for (int inside = 0; text[used] && (inside || !strchr(", \t\n", text[used])); used++)
            inside = text[used] == '[' || (inside && text[used] != ']');
        if (used && expand(&l, arena_strndup(a, text, used)))
            return ERR_USAGE;
        text += used + (text[used] != 0);
    }
    if (!l.n)
        return err_set(e, ERR_USAGE, "%s: expected the names of hosts", what);
    *hosts = l.hosts;
    *n = l.n;
    return 0;
}

int hostlist_read(const char *path, struct arena *a, const char ***hosts, int *n, struct err *e)
{
    struct list l = {.what = path, .a = a, .e = e};
    char *text, *rest = NULL;
    size_t bytes;
    if (file_read_text(path, FILE_LIMIT, a, &text, &bytes, e))
        return ERR_FAILED;
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        line[strcspn(line, "#\r")] = 0;
        line += strspn(line, " \t");
        size_t used = strcspn(line, " \t");
        if (used && expand(&l, arena_strndup(a, line, used)))
            return ERR_USAGE;
    }
    if (!l.n)
        return err_set(e, ERR_USAGE, "%s: expected a host in every line", path);
    *hosts = l.hosts;
    *n = l.n;
    return 0;
}
