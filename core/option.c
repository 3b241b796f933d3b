/* Tables of options into getopt_long's, and what it finds into the targets. */
#include "core/option.h"

#include <getopt.h>
#include <string.h>

#include "core/edit_distance.h"

#define FIRST 256 /* the value that getopt_long returns for the first row; letters are below */

/* All rows of all groups. */
struct rows {
    struct option_group **groups; /* by row */
    const struct option_spec **specs;
    int count;
    struct option *options;
    char *letters;
};

static int has_argument(const struct option_spec *o)
{
    return !o->argument ? no_argument : o->argument[0] == '[' ? optional_argument : required_argument;
}

static int count_rows(const struct option_group *groups)
{
    int n = 0;
    for (const struct option_group *g = groups; g->options; g++)
        for (const struct option_spec *o = g->options; o->name; o++)
            n++;
    return n;
}

/* An old spelling takes what the new one takes. */
static const struct option_spec *find(const struct rows *r, const char *name, struct option_group **group)
{
    for (int i = 0; i < r->count; i++)
        if (!strcmp(r->specs[i]->name, name) && !r->specs[i]->instead) {
            *group = r->groups[i];
            return r->specs[i];
        }
    return NULL;
}

static void fill(struct rows *r, struct option_group *groups, struct arena *a)
{
    size_t n = (size_t)count_rows(groups);
    r->groups = arena_alloc(a, (n + 1) * sizeof(struct option_group *));
    r->specs = arena_alloc(a, (n + 1) * sizeof(struct option_spec *));
    r->options = arena_alloc(a, (n + 1) * sizeof *r->options);
    char *letter = r->letters = arena_alloc(a, 3 * n + 2);
    *letter++ = ':';
    for (struct option_group *g = groups; g->options; g++)
        for (const struct option_spec *o = g->options; o->name; o++) {
            r->groups[r->count] = g;
            r->specs[r->count++] = o;
        }
    struct option *option = r->options;
    for (int i = 0; i < r->count; i++) {
        const struct option_spec *o = r->specs[i];
        struct option_group *unused;
        const int has = has_argument(o->instead ? find(r, o->instead, &unused) : o);
        if (*o->name)
            *option++ = (struct option){o->name, has, NULL, FIRST + i};
        if (o->letter) {
            *letter++ = o->letter;
            for (int colons = has; colons; colons--)
                *letter++ = ':';
        }
    }
}

static int row_of(const struct rows *r, int c)
{
    for (int i = 0; i < r->count && c < FIRST; i++)
        if (r->specs[i]->letter == c)
            return i;
    return c - FIRST;
}

/* ---- what is wrong -------------------------------------------------------------------------------------------------
 */

static int unknown(const struct rows *r, const char *word, struct arena *a, struct err *e)
{
    const char **names = arena_alloc(a, ((size_t)r->count + 1) * sizeof *names), *second = NULL, *first = NULL;
    size_t length = strcspn(word + 2, "=");
    const char *name = arena_strndup(a, word + 2, length);
    int n = 0;
    for (int i = 0; i < r->count; i++) {
        if (r->specs[i]->instead)
            continue;
        names[n++] = r->specs[i]->name;
        if (!strncmp(r->specs[i]->name, name, length)) {
            second = first;
            first = r->specs[i]->name;
        }
    }
    if (first && second)
        return err_set(e, ERR_USAGE, "'--%s' may be --%s or --%s", name, second, first);
    const char *near = edit_distance_nearest_of(name, names);
    return near ? err_set(e, ERR_USAGE, "unknown option '--%s'; did you mean --%s?", name, near)
                : err_set(e, ERR_USAGE, "unknown option '--%s'", name);
}

/* getopt_long says in optopt which option it was: 0 when it knows none, the option's value or letter otherwise. */
static int explain(const struct rows *r, int c, const char *word, struct arena *a, struct err *e)
{
    if (c == '?' && !optopt)
        return unknown(r, word, a, e);
    if (c == '?' && optopt < FIRST)
        return err_set(e, ERR_USAGE, "unknown option '-%c'", optopt);
    const struct option_spec *o = r->specs[row_of(r, optopt)];
    return c == '?' ? err_set(e, ERR_USAGE, "--%s takes no argument", o->name)
                    : err_set(e, ERR_USAGE, "--%s: %s is missing", o->name, o->argument ? o->argument : "its argument");
}

/* ---- taking --------------------------------------------------------------------------------------------------------
 */

static int take(const struct rows *r, int c, struct arena *a, struct log *log, struct err *e)
{
    const int row = row_of(r, c);
    const struct option_spec *o = r->specs[row];
    struct option_group *g = r->groups[row];
    if (o->instead) {
        const char *now = o->instead;
        if (c < FIRST)
            log_warn(log, "-%c is now called --%s; the old letter works until the next release", c, now);
        else
            log_warn(log, "--%s is now called --%s; the old name works until the next release", o->name, now);
        o = find(r, now, &g);
    }
    const struct option_value v = {o, optarg, arena_printf(a, "--%s", o->name), a, log};
    g->given = v.what;
    return o->take(&v, (char *)g->target + o->member, e);
}

int option_parse(struct option_group *groups, int argc, char **argv, struct arena *a, struct log *log, struct err *e)
{
    struct rows r = {0};
    int c, rc = 0;
    fill(&r, groups, a);
    opterr = 0;
    optind = 0; /* begins anew */
    while (!rc && (c = getopt_long(argc, argv, r.letters, r.options, NULL)) != -1)
        rc = c == '?' || c == ':' ? explain(&r, c, argv[optind - 1], a, e) : take(&r, c, a, log, e);
    return rc ? -1 : optind;
}
