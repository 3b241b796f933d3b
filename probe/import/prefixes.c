/* Lines of many hosts with the host's name before each, in any order, as pdsh, clush and srun -l print them: they
 * become one host behind another, each below a prompt that names it. And the headings of dshbak. */
#include <stdlib.h>
#include <string.h>

#include "probe/import/text.h"

#define LEAST_LINES 3   /* with a name before them: fewer are prose */
#define SHARE       0.6 /* of all lines that are not blank */

/* A line that has a name before it. */
struct prefixed {
    const char *name;
    char *rest;
    int line;
};

/* Splits "node1: GPU0\t X"; 0: there is no name before it. */
static int split(const struct text *x, char *line, struct prefixed *to)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    size_t n = strspn(line, letters);
    if (!n || line[n] != ':' || (line[n + 1] != ' ' && line[n + 1]))
        return 0;
    to->name = arena_strndup(x->a, line, n);
    to->rest = line + n + 1 + (line[n + 1] == ' ');
    return 1;
}

static int by_name(const void *x, const void *y)
{
    const struct prefixed *a = x, *b = y;
    int order = strverscmp(a->name, b->name);
    return order ? order : a->line - b->line;
}

/* Lines behind list[i] with the same name, itself included. */
static int same_name(const struct prefixed *list, int n, int i)
{
    int k = i;
    while (k < n && !strcmp(list[k].name, list[i].name))
        k++;
    return k - i;
}

/* "----------------", "node1", "----------------": the name of the second line; NULL. */
static const char *dshbak_name(const struct text *x, int line)
{
    const char *above = x->lines[line], *below = line + 2 < x->n ? x->lines[line + 2] : "";
    int ruled = strlen(above) >= 8 && !above[strspn(above, "-")] && strlen(below) >= 8 && !below[strspn(below, "-")];
    const char *name = ruled ? x->lines[line + 1] : "";
    return *name && !strpbrk(name, " \t[],") ? name : NULL;
}

static char *prompt(const struct text *x, const char *name)
{
    return arena_printf(x->a, "root@%s:~#", name);
}

void text_sort_hosts(struct text *x)
{
    struct prefixed *list = arena_alloc(x->a, ((size_t)x->n + 1) * sizeof *list);
    int n = 0, all = 0, many = 0, to = 0;
    for (int i = 0; i < x->n; i++) {
        const char *name = dshbak_name(x, i);
        if (name)
            x->lines[i] = prompt(x, name);
        all += !text_is_blank(x->lines[i]);
        list[n].line = i;
        n += split(x, x->lines[i], &list[n]);
    }
    if (n)
        qsort(list, (size_t)n, sizeof *list, by_name);
    for (int i = 0, same; i < n; i += same)
        if ((same = same_name(list, n, i)) >= LEAST_LINES)
            many += same;
    if (!many || many < SHARE * all)
        return;
    char **lines = arena_alloc(x->a, (size_t)n * 2 * sizeof *lines);
    for (int i = 0, same; i < n; i += same) {
        same = same_name(list, n, i);
        lines[to++] = prompt(x, list[i].name);
        for (int k = i; k < i + same; k++)
            lines[to++] = list[k].rest;
    }
    x->lines = lines;
    x->n = to;
}
