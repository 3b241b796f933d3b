/* A document of any length, of which readers take what they know: whole issues with prose around matrices, several
 * hosts behind one another. A host is told by the prompt of a shell before what it prints, or by a second text of a
 * kind of which one host has only one. */
#include "probe/import/text.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "probe/topology/build.h"

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
static char *bare(char *line)
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
        x->lines[x->n++] = bare(strsep(&rest, "\n"));
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
