/* Lines of a text, and what its readers add. */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe/import/readers.h"

#define MOST_LINES 1000000

/* ---- lines ------------------------------------------------------------------------------------------------------- */

/* Tools underline headings whatever they print to. */
static void strip_escapes(char *s)
{
    char *to = s;
    while (*s) {
        if (s[0] == '\033' && s[1] == '[') {
            for (s += 2; *s && !isalpha((unsigned char)*s);)
                s++;
            s += *s != 0;
        } else {
            *to++ = *s++;
        }
    }
    *to = 0;
}

/* Without marks of quotation ("> GPU0") and what ends a line. */
static char *trim_line(char *line)
{
    size_t n = strlen(line);
    while (n && (line[n - 1] == '\r' || line[n - 1] == ' ' || line[n - 1] == '\t'))
        line[--n] = 0;
    while (line[0] == '>' && (line[1] == ' ' || line[1] == '>' || !line[1]))
        line += line[1] == ' ' ? 2 : 1;
    return line;
}

int text_cut(struct text *x, char *text)
{
    int room = 1;
    for (const char *p = text; (p = strchr(p, '\n')); p++)
        room++;
    if (room > MOST_LINES)
        return err_at(x->e, x->file, MOST_LINES, 0, "more than %d lines", MOST_LINES);
    x->lines = arena_alloc(x->a, (size_t)room * sizeof *x->lines);
    strip_escapes(text);
    for (char *rest = text; rest && x->n < room;)
        x->lines[x->n++] = trim_line(strsep(&rest, "\n"));
    return 0;
}

const char *text_line(const struct text *x, int ahead)
{
    return x->at + ahead < x->n ? x->lines[x->at + ahead] : "";
}

int text_is_blank(const char *line)
{
    return !line[strspn(line, " \t")];
}

const char *text_next_line(const struct text *x)
{
    const int most = 4; /* blank lines between what belongs together */
    for (int i = x->at + 1; i < x->n && i <= x->at + 1 + most; i++)
        if (!text_is_blank(x->lines[i]))
            return x->lines[i];
    return "";
}

int text_words(const struct text *x, const char *line, const char **words, int most)
{
    int n = 0;
    for (const char *p = line; n < most;) {
        p += strspn(p, " \t");
        size_t length = strcspn(p, " \t");
        if (!length)
            break;
        words[n++] = arena_strndup(x->a, p, length);
        p += length;
    }
    return n;
}

const char *text_value(const struct text *x, const char *line, const char *key)
{
    size_t n = strlen(key);
    line += strspn(line, " \t");
    if (strncmp(line, key, n) != 0)
        return NULL;
    line += n;
    line += strspn(line, " \t");
    size_t length = strlen(line);
    while (length && isspace((unsigned char)line[length - 1]))
        length--;
    return arena_strndup(x->a, line, length);
}

int text_wrong(const struct text *x, const char *fmt, ...)
{
    char sentence[300];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(sentence, sizeof sentence, fmt, ap);
    va_end(ap);
    return err_at(x->e, x->file, x->at + 1, 0, "%s", sentence);
}

/* ---- what readers add -------------------------------------------------------------------------------------------- */

struct topo_port *text_port(struct topology *t, struct topo_class *c, const char *hca, int port)
{
    int at = topo_find_port(c, hca, port);
    if (at < 0) {
        const char *name = arena_strdup(t->arena, hca);
        at = build_port(t, c, (struct topo_port){.object = build_nic(t, c, NULL, name), .hca = name, .port = port});
    }
    return &c->ports[at];
}

struct topo_gpu *text_gpu(struct topology *t, struct topo_class *c, int index)
{
    for (int i = 0; i < c->ngpus; i++)
        if (c->gpus[i].index == index)
            return &c->gpus[i];
    if (c->ngpus >= TOPO_MOST_GPUS)
        return NULL;
    struct topo_object o = {.kind = TOPO_GPU, .parent = -1, .numa = -1, .name = arena_printf(t->arena, "GPU%d", index)};
    int object = build_object(t, c, o);
    int at = build_gpu(t, c, (struct topo_gpu){.object = object, .index = index, .gdr = -1});
    return &c->gpus[at];
}

/* ---- texts of many hosts ----------------------------------------------------------------------------------------- */

/* Lines with the host's name before each, in any order, as pdsh, clush and srun -l print them; headings of dshbak. */

#define LEAST_LINES 3   /* with a name before them: fewer are prose */
#define SHARE       0.6 /* of all lines that are not blank */

/* A line that has a name before it. */
struct prefixed {
    const char *name;
    char *rest;
    int line;
};

/* Splits "node1: GPU0\t X"; 0: there is no name before it. */
static int split_prefix(const struct text *x, char *line, struct prefixed *to)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    size_t n = strspn(line, letters);
    if (!n || line[n] != ':' || (line[n + 1] != ' ' && line[n + 1]))
        return 0;
    to->name = arena_strndup(x->a, line, n);
    to->rest = line + n + 1 + (line[n + 1] == ' ');
    return 1;
}

static int compare_prefixed(const void *x, const void *y)
{
    const struct prefixed *a = x, *b = y;
    int order = strverscmp(a->name, b->name);
    return order ? order : a->line - b->line;
}

/* Lines behind list[i] with the same name, itself included. */
static int count_same_name(const struct prefixed *list, int n, int i)
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

static char *make_prompt(const struct text *x, const char *name)
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
            x->lines[i] = make_prompt(x, name);
        all += !text_is_blank(x->lines[i]);
        list[n].line = i;
        n += split_prefix(x, x->lines[i], &list[n]);
    }
    if (n)
        qsort(list, (size_t)n, sizeof *list, compare_prefixed);
    for (int i = 0, same; i < n; i += same)
        if ((same = count_same_name(list, n, i)) >= LEAST_LINES)
            many += same;
    if (!many || many < SHARE * all)
        return;
    char **lines = arena_alloc(x->a, (size_t)n * 2 * sizeof *lines);
    for (int i = 0, same; i < n; i += same) {
        same = count_same_name(list, n, i);
        lines[to++] = make_prompt(x, list[i].name);
        for (int k = i; k < i + same; k++)
            lines[to++] = list[k].rest;
    }
    x->lines = lines;
    x->n = to;
}
