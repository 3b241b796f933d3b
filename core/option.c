/* Tables of options: what getopt_long makes of a command line goes into the targets; help, manual page and completion
 * come from the same rows. */
#include "core/option.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "core/edit_distance.h"
#include "core/finding.h"
#include "core/units.h"

#define FIRST 256 /* the value that getopt_long returns for the first row; letters are below */

/* All rows of all groups. */
struct rows {
    struct option_group **groups; /* by row */
    const struct option_spec **specs;
    int count;
    struct option *options;
    char *letters;
};

static void fill_rows(struct rows *r, struct option_group *groups, struct arena *a)
{
    size_t n = 0;
    for (const struct option_group *g = groups; g->options; g++)
        for (const struct option_spec *o = g->options; o->name; o++)
            n++;
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
        const int has = !o->argument ? no_argument : o->argument[0] == '[' ? optional_argument : required_argument;
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

/* ---- what is wrong ---- */

static int name_unknown(const struct rows *r, const char *word, struct arena *a, struct err *e)
{
    const char **names = arena_alloc(a, ((size_t)r->count + 1) * sizeof *names), *second = NULL, *first = NULL;
    size_t length = strcspn(word + 2, "=");
    const char *name = arena_strndup(a, word + 2, length);
    int n = 0;
    for (int i = 0; i < r->count; i++) {
        names[n++] = r->specs[i]->name;
        if (!strncmp(r->specs[i]->name, name, length)) {
            second = first;
            first = r->specs[i]->name;
        }
    }
    if (first && second)
        return err_set(e, ERR_USAGE, "'--%s' may be --%s or --%s", name, second, first);
    const char *near = edit_distance_nearest(name, NULL, names);
    return near ? err_set(e, ERR_USAGE, "unknown option '--%s'; did you mean --%s?", name, near)
                : err_set(e, ERR_USAGE, "unknown option '--%s'", name);
}

/* getopt_long says in optopt which option it was: 0 when it knows none, the option's value or letter otherwise. */
static int explain_error(const struct rows *r, int c, const char *word, struct arena *a, struct err *e)
{
    if (c == '?' && !optopt)
        return name_unknown(r, word, a, e);
    if (c == '?' && optopt < FIRST)
        return err_set(e, ERR_USAGE, "unknown option '-%c'", optopt);
    const struct option_spec *o = r->specs[row_of(r, optopt)];
    return c == '?' ? err_set(e, ERR_USAGE, "--%s takes no argument", o->name)
                    : err_set(e, ERR_USAGE, "--%s: %s is missing", o->name, o->argument ? o->argument : "its argument");
}

/* ---- taking ---- */

/* Those whose last value would hide the ones before; lists add up, and types of a command's own decide by themselves.
 */
static int has_one_value(const struct option_spec *o)
{
    static option_take *const types[] = {option_text, option_word,  option_which,   option_int,    option_number,
                                         option_Gbps, option_bytes, option_percent, option_seconds};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (o->take == types[i])
            return 1;
    return 0;
}

static int take_option(const struct rows *r, int c, struct arena *a, struct log *log, struct err *e)
{
    const int row = row_of(r, c);
    const struct option_spec *o = r->specs[row];
    struct option_group *g = r->groups[row];
    const struct option_value v = {o, optarg, arena_printf(a, "--%s", o->name), a, log};
    g->given = v.what;
    for (int i = 0; i < g->typed.count && has_one_value(o); i++)
        if (!strncmp(g->typed.items[i], v.what, strlen(v.what)) && g->typed.items[i][strlen(v.what)] == '=' &&
            strcmp(g->typed.items[i] + strlen(v.what) + 1, optarg) != 0)
            log_warn(log, "%s is given twice: %s counts, not %s", v.what, optarg,
                     g->typed.items[i] + strlen(v.what) + 1);
    ARENA_ADD(a, g->typed.items, g->typed.count) = optarg ? arena_printf(a, "%s=%s", v.what, optarg) : v.what;
    return o->take(&v, (char *)g->target + o->member, e);
}

int option_parse(struct option_group *groups, int argc, char **argv, struct arena *a, struct log *log, struct err *e)
{
    struct rows r = {0};
    int c, rc = 0;
    fill_rows(&r, groups, a);
    opterr = 0;
    optind = 0; /* begins anew */
    while (!rc && (c = getopt_long(argc, argv, r.letters, r.options, NULL)) != -1)
        rc = c == '?' || c == ':' ? explain_error(&r, c, argv[optind - 1], a, e) : take_option(&r, c, a, log, e);
    return rc ? -1 : optind;
}

/* ---- types of arguments ---- */

#define FEW_WORDS 8 /* as many are listed even where one of them was likely meant */

int option_flag(const struct option_value *v, void *out, struct err *e)
{
    (void)v;
    (void)e;
    *(int *)out = 1;
    return 0;
}

int option_text(const struct option_value *v, void *out, struct err *e)
{
    *(const char **)out = v->text;
    return *v->text ? 0 : err_set(e, ERR_USAGE, "%s: %s is empty", v->what, v->option->argument);
}

int option_not_a_word(const struct option_value *v, struct err *e)
{
    const char *near = edit_distance_nearest(v->text, v->option->word, NULL), *list = "", *word;
    int n = 0;
    for (; (word = v->option->word(n)); n++)
        list = arena_printf(v->arena, "%s%s%s", list, n ? ", " : "", word);
    if (near && n > FEW_WORDS)
        return err_set(e, ERR_USAGE, "%s: '%s' is not known; did you mean %s?", v->what, v->text, near);
    return err_set(e, ERR_USAGE, "%s: '%s' is none of %s%s%s%s", v->what, v->text, list, near ? "; did you mean " : "",
                   near ? near : "", near ? "?" : "");
}

int option_which(const struct option_value *v, void *out, struct err *e)
{
    const char *word;
    for (int i = 0; (word = v->option->word(i)); i++)
        if (!strcmp(word, v->text)) {
            *(int *)out = i;
            return 0;
        }
    return option_not_a_word(v, e);
}

int option_word(const struct option_value *v, void *out, struct err *e)
{
    int i = 0, rc = option_which(v, &i, e);
    if (!rc)
        *(const char **)out = v->option->word(i);
    return rc;
}

int option_append(const struct option_value *v, void *out, struct err *e)
{
    struct option_list *list = out;
    return option_text(v, &ARENA_ADD(v->arena, list->items, list->count), e);
}

int option_int(const struct option_value *v, void *out, struct err *e)
{
    long n = 0;
    int rc = unit_parse_int(v->text, (long)v->option->low, (long)v->option->high, &n, v->what, e);
    *(int *)out = (int)n;
    return rc;
}

/* A number within the bounds, with one of the units behind it: "|%" is none or percent. */
static int take_number(const struct option_value *v, const char *units, const char *kind, const char *such_as,
                       double *n, struct err *e)
{
    char *end;
    *n = strtod(v->text, &end);
    const char *unit = end + strspn(end, " ");
    int ok = 0;
    for (size_t len; units && !ok; units = units[len] ? units + len + 1 : NULL) {
        len = strcspn(units, "|");
        ok = !strncmp(units, unit, len) && !unit[len];
    }
    return ok && end != v->text && *n >= v->option->low && *n <= v->option->high
               ? 0
               : err_set(e, ERR_USAGE, "%s: '%s' is not %s from %g to %g%s", v->what, v->text, kind, v->option->low,
                         v->option->high, such_as);
}

int option_number(const struct option_value *v, void *out, struct err *e)
{
    return take_number(v, "", "a number", "", out, e);
}

int option_Gbps(const struct option_value *v, void *out, struct err *e)
{
    return take_number(v, "|G|Gb|Gb/s|Gbps|Gbit|Gbit/s", "a rate", " Gb/s, such as 400 or 400G", out, e);
}

int option_percent(const struct option_value *v, void *out, struct err *e)
{
    int rc = take_number(v, "|%", "a percentage", ", such as 3%", out, e);
    *(double *)out /= 100;
    return rc;
}

int option_bytes(const struct option_value *v, void *out, struct err *e)
{
    uint64_t *bytes = out;
    char low[UNIT_TEXT], high[UNIT_TEXT];
    int rc = unit_parse_bytes(v->text, bytes, v->what, e);
    if (rc || !v->option->high || ((double)*bytes >= v->option->low && (double)*bytes <= v->option->high))
        return rc;
    return err_set(e, ERR_USAGE, "%s: '%s' is not within %s and %s", v->what, v->text,
                   unit_bytes(low, (uint64_t)v->option->low), unit_bytes(high, (uint64_t)v->option->high));
}

int option_seconds(const struct option_value *v, void *out, struct err *e)
{
    int rc = unit_parse_seconds(v->text, out, v->what, e);
    return rc || *(double *)out > 0 ? rc : err_set(e, ERR_USAGE, "%s: '%s' is not a time above 0", v->what, v->text);
}

int option_each(const struct option_value *v, option_take *one, void *out, struct err *e)
{
    for (const char *p = v->text;; p++) {
        size_t n = strcspn(p, ",");
        struct option_value part = *v;
        part.text = arena_strndup(v->arena, p, n);
        int rc = one(&part, out, e);
        p += n;
        if (rc || !*p)
            return rc;
    }
}

/* ---- help ---- */

#define INDENT 28 /* where help begins */
#define WIDTH  80

/* Return the help, with the words to choose from behind a colon. */
static const char *help_of(const struct option_spec *o, struct arena *a)
{
    const char *text = o->help, *word;
    const int lists_words = *text && text[strlen(text) - 1] == ':';
    for (int i = 0; lists_words && o->word && (word = o->word(i)); i++)
        text = arena_printf(a, "%s%s %s", text, i ? "," : "", word);
    return text;
}

/* " =N" of an option whose argument may be left out has no blank. */
static const char *blank_before(const struct option_spec *o)
{
    return o->argument && o->argument[0] != '[' ? " " : "";
}

static void print_option(const struct option_spec *o, struct arena *a, FILE *out)
{
    int column = o->letter ? fprintf(out, "  -%c, ", o->letter) : fprintf(out, "      ");
    column += fprintf(out, "--%s%s%s", o->name, blank_before(o), o->argument ? o->argument : "");
    if (column > INDENT - 2) {
        putc('\n', out);
        column = 0;
    }
    fprintf(out, "%*s", INDENT - column, "");
    finding_put_wrapped(out, help_of(o, a), INDENT, INDENT, WIDTH, "");
    putc('\n', out);
}

void option_print_help(const struct option_group *groups, FILE *out)
{
    struct arena *a = arena_new();
    for (const struct option_group *g = groups; g->options; g++) {
        if (!g->options->name)
            continue;
        if (g->title)
            fprintf(out, "%s%s\n", g == groups ? "" : "\n", g->title);
        for (const struct option_spec *o = g->options; o->name; o++)
            if (o->help)
                print_option(o, a, out);
    }
    arena_free(a);
}

/* ---- manual ---- */

static void print_roff(const char *text, FILE *out)
{
    for (; *text; text++)
        fputs(*text == '-' ? "\\-" : *text == '\\' ? "\\e" : (const char[]){*text, 0}, out);
}

static void print_tagged(const struct option_spec *o, struct arena *a, FILE *out)
{
    fputs(".TP\n", out);
    if (o->letter)
        fprintf(out, "\\fB\\-%c\\fR, ", o->letter);
    fputs("\\fB\\-\\-", out);
    print_roff(o->name, out);
    fprintf(out, "\\fR%s", blank_before(o));
    if (o->argument) {
        fputs("\\fI", out);
        print_roff(o->argument, out);
        fputs("\\fR", out);
    }
    fputs(*o->help == '.' || *o->help == '\'' ? "\n\\&" : "\n", out); /* else it would be a request */
    print_roff(help_of(o, a), out);
    fputs(".\n", out);
}

void option_print_manual(const struct option_group *groups, FILE *out)
{
    struct arena *a = arena_new();
    for (const struct option_group *g = groups; g->options; g++) {
        if (g->title) {
            fputs(".SS ", out);
            print_roff(g->title, out);
            putc('\n', out);
        }
        for (const struct option_spec *o = g->options; o->name; o++)
            if (o->help)
                print_tagged(o, a, out);
    }
    arena_free(a);
}

void option_print_words(const struct option_group *groups, FILE *out)
{
    const char *word;
    for (const struct option_group *g = groups; g->options; g++)
        for (const struct option_spec *o = g->options; o->name; o++) {
            if (!o->help)
                continue;
            int forms = o->word && o->letter ? 2 : 1;
            for (int is_short = 0; is_short < forms; is_short++) {
                fprintf(out, is_short ? "-%.1s" : "--%s", is_short ? &o->letter : o->name);
                for (int i = 0; o->word && (word = o->word(i)); i++)
                    fprintf(out, " %s", word);
                putc('\n', out);
            }
        }
}
