/* Findings for people: a line like a compiler's, then what to do, then a count. */
#include "envgen/lint/lint_internal.h"

const char *const lint_severities[LINT_SEVERITIES] = {"note", "warning", "error"};

/* A value as it stands in the file may hold anything; a terminal gets printable characters. */
static void print_safe(const char *s, FILE *out)
{
    for (; *s; s++)
        fputc((unsigned char)*s < 0x20 || *s == 0x7f ? '?' : *s, out);
}

static void print_finding(const struct lint_finding_view *f, FILE *out)
{
    if (f->file)
        print_safe(f->file, out);
    if (f->line)
        fprintf(out, ":%ld:%ld", f->line, f->column);
    fprintf(out, "%s%s %s: ", f->file ? ": " : "", lint_severities[f->severity], f->code);
    print_safe(f->variable, out);
    if (f->value) {
        fputc('=', out);
        print_safe(f->value, out);
    }
    fputs("\n    ", out);
    print_safe(f->says, out);
    fputs("\n    ", out);
    print_safe(f->advice, out);
    fputc('\n', out);
}

int lint_print_text(const struct lint *l, FILE *out, struct err *e)
{
    struct lint_finding_view f;
    for (size_t n = 0; lint_finding(l, n, &f); n++)
        print_finding(&f, out);
    size_t errors = lint_count(l, LINT_ERROR), warnings = lint_count(l, LINT_WARNING), notes = lint_count(l, LINT_NOTE);
    fprintf(out, "%zu setting%s: %zu error%s, %zu warning%s, %zu note%s\n", lint_settings(l),
            lint_settings(l) == 1 ? "" : "s", errors, errors == 1 ? "" : "s", warnings, warnings == 1 ? "" : "s", notes,
            notes == 1 ? "" : "s");
    return ferror(out) ? err_set(e, ERR_FAILED, "the findings could not be written") : 0;
}
