/* What arguments of options may be. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/edit_distance.h"
#include "core/option.h"
#include "core/units.h"

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
    const char *near = edit_distance_nearest(v->text, v->option->word), *list = "", *word;
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
    list->items = arena_grow(v->arena, (void *)list->items, (size_t)list->count, sizeof *list->items);
    return option_text(v, &list->items[list->count++], e);
}

int option_int(const struct option_value *v, void *out, struct err *e)
{
    long n = 0;
    int rc = unit_parse_int(v->text, (long)v->option->low, (long)v->option->high, &n, v->what, e);
    *(int *)out = (int)n;
    return rc;
}

int option_number(const struct option_value *v, void *out, struct err *e)
{
    char *end;
    double n = strtod(v->text, &end);
    if (end == v->text || *end || !(n >= v->option->low && n <= v->option->high))
        return err_set(e, ERR_USAGE, "%s: '%s' is not a number from %g to %g", v->what, v->text, v->option->low,
                       v->option->high);
    *(double *)out = n;
    return 0;
}

int option_percent(const struct option_value *v, void *out, struct err *e)
{
    char *end;
    double percent = strtod(v->text, &end);
    const char *rest = end + strspn(end, " ");
    if (end == v->text || !(percent >= v->option->low && percent <= v->option->high) ||
        (*rest && strcmp(rest, "%") != 0))
        return err_set(e, ERR_USAGE, "%s: '%s' is no percentage from %g to %g, such as 3%%", v->what, v->text,
                       v->option->low, v->option->high);
    *(double *)out = percent / 100;
    return 0;
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
    return rc || *(double *)out > 0 ? rc : err_set(e, ERR_USAGE, "%s: '%s' is no time above 0", v->what, v->text);
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
