/* Tables of options as help, as part of a manual page, and for completion. */
#include <string.h>

#include "core/option.h"

#define INDENT 28 /* where help begins */
#define WIDTH  100

/* Words of `text` from `column` on, in lines of WIDTH that begin at INDENT; returns the column. */
static int wrap(const char *text, int column, FILE *out)
{
    while (*text) {
        int n = (int)strcspn(text, " ");
        if (column > INDENT && column + 1 + n > WIDTH) {
            fprintf(out, "\n%*s", INDENT, "");
            column = INDENT;
        }
        column += fprintf(out, "%s%.*s", column > INDENT ? " " : "", n, text);
        text += n;
        text += strspn(text, " ");
    }
    return column;
}

/* Whether its words are to follow its help. */
static int lists_words(const struct option_spec *o)
{
    size_t n = strlen(o->help);
    return n && o->help[n - 1] == ':' && o->word;
}

/* " =N" of an option whose argument may be left out has no blank. */
static const char *blank_before(const struct option_spec *o)
{
    return o->argument && o->argument[0] != '[' ? " " : "";
}

static void print_option(const struct option_spec *o, FILE *out)
{
    const char *word, *next;
    int column = o->letter ? fprintf(out, "  -%c, ", o->letter) : fprintf(out, "      ");
    column += fprintf(out, "--%s%s%s", o->name, blank_before(o), o->argument ? o->argument : "");
    if (column > INDENT - 2) {
        putc('\n', out);
        column = 0;
    }
    fprintf(out, "%*s", INDENT - column, "");
    column = wrap(o->help, INDENT, out);
    for (int i = 0; lists_words(o) && (word = o->word(i)); i = i + 1) {
        char text[128];
        next = o->word(i + 1);
        snprintf(text, sizeof text, "%s%s", word, next ? "," : "");
        column = wrap(text, column, out);
    }
    putc('\n', out);
}

void option_print_help(const struct option_group *groups, FILE *out)
{
    for (const struct option_group *g = groups; g->options; g++) {
        if (!g->options->name)
            continue;
        if (g->title)
            fprintf(out, "%s%s\n", g == groups ? "" : "\n", g->title);
        for (const struct option_spec *o = g->options; o->name; o++)
            if (o->help)
                print_option(o, out);
    }
}

/* ---- manual --------------------------------------------------------------------------------------------------------
 */

static int roff(const char *text, int length, FILE *out)
{
    int written = 0;
    for (; *text && length; text++, length--)
        written += *text == '-' ? fprintf(out, "\\-") : *text == '\\' ? fprintf(out, "\\e") : fprintf(out, "%c", *text);
    return written;
}

/* Words from `column` on, in lines of WIDTH; one that began with a dot or an apostrophe would be a request. */
static int roff_wrap(const char *text, int column, FILE *out)
{
    while (*text) {
        const int n = (int)strcspn(text, " ");
        if (column && column + 1 + n > WIDTH) {
            putc('\n', out);
            column = 0;
        }
        column += fprintf(out, "%s", column ? " " : *text == '.' || *text == '\'' ? "\\&" : "");
        column += roff(text, n, out);
        text += n;
        text += strspn(text, " ");
    }
    return column;
}

static void print_tagged(const struct option_spec *o, FILE *out)
{
    const char *word;
    int column;
    fputs(".TP\n", out);
    if (o->letter)
        fprintf(out, "\\fB\\-%c\\fR, ", o->letter);
    fputs("\\fB\\-\\-", out);
    roff(o->name, -1, out);
    fprintf(out, "\\fR%s", blank_before(o));
    if (o->argument) {
        fputs("\\fI", out);
        roff(o->argument, -1, out);
        fputs("\\fR", out);
    }
    putc('\n', out);
    column = roff_wrap(o->help, 0, out);
    for (int i = 0; lists_words(o) && (word = o->word(i)); i++)
        column = roff_wrap(word, column + fprintf(out, "%s", i ? "," : ""), out);
    fputs(".\n", out);
}

void option_print_manual(const struct option_group *groups, FILE *out)
{
    for (const struct option_group *g = groups; g->options; g++) {
        if (g->title) {
            fputs(".SS ", out);
            roff(g->title, -1, out);
            putc('\n', out);
        }
        for (const struct option_spec *o = g->options; o->name; o++)
            if (o->help)
                print_tagged(o, out);
    }
}

void option_print_words(const struct option_group *groups, FILE *out)
{
    const char *word;
    for (const struct option_group *g = groups; g->options; g++)
        for (const struct option_spec *o = g->options; o->name; o++) {
            if (!o->help)
                continue;
            fprintf(out, "--%s", o->name);
            for (int i = 0; o->word && (word = o->word(i)); i++)
                fprintf(out, " %s", word);
            putc('\n', out);
        }
}
