/* Findings: lists, text, JSON. */
#include "core/finding.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "core/json.h"

static const char *const severities[FINDING_SEVERITIES] = {"ok", "note", "warning", "error"};

struct finding *finding_vadd(struct findings *all, enum finding_severity severity, const char *id, const char *subject,
                             const char *fmt, va_list ap)
{
    char text[1024];
    vsnprintf(text, sizeof text, fmt, ap);
    struct finding *f = &ARENA_ADD(all->arena, all->list, all->n);
    *f = (struct finding){.id = id, .severity = severity, .subject = subject, .text = arena_strdup(all->arena, text)};
    return f;
}

struct finding *finding_add(struct findings *all, enum finding_severity severity, const char *id, const char *subject,
                            const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    struct finding *f = finding_vadd(all, severity, id, subject, fmt, ap);
    va_end(ap);
    return f;
}

int finding_count(const struct finding *list, int n, enum finding_severity severity)
{
    int count = 0;
    for (int i = 0; i < n; i++)
        count += list[i].severity == severity;
    return count;
}

const char *finding_severity_name(enum finding_severity severity)
{
    return severities[severity];
}

/* ---- text -------------------------------------------------------------------------------------------------------- */

char *finding_sentence(const struct finding *f, struct arena *a)
{
    return arena_printf(a, "%s%s%s%s%s%s%s", f->subject ? f->subject : "", f->value ? "=" : "",
                        f->value ? f->value : "", f->subject ? ": " : "", f->text, f->evidence ? ": " : "",
                        f->evidence ? f->evidence : "");
}

static int is_control(const char *s, size_t length)
{
    unsigned char c = (unsigned char)s[0];
    return length == 1 ? c < 0x20 || c == 0x7f : c == 0xc2 && (unsigned char)s[1] < 0xa0;
}

/* `before`, then `s` as a terminal shows it without acting on it; nothing when it is NULL. */
static void put_text(FILE *out, const char *before, const char *s)
{
    if (!s)
        return;
    fputs(before, out);
    const char *clean = s; /* what lies between here and `s` is written as it is */
    while (*s) {
        size_t length = json_utf8_length(s), step = length ? length : 1;
        if (!length || is_control(s, length)) {
            fwrite(clean, 1, (size_t)(s - clean), out);
            fputc('?', out);
            clean = s + step;
        }
        s += step;
    }
    fwrite(clean, 1, (size_t)(s - clean), out);
}

/* Columns of the terminal that `out` is; 0: it is none. */
static int terminal_columns(FILE *out)
{
    struct winsize w;
    int fd = out == stdout ? STDOUT_FILENO : fileno(out); /* the program may have put a filter in its place */
    if (fd < 0 || !isatty(fd))
        return 0;
    return !ioctl(fd, TIOCGWINSZ, &w) && w.ws_col > 20 ? w.ws_col : 80;
}

void finding_put_wrapped(FILE *out, const char *text, int column, int indent, int columns, const char *end)
{
    for (size_t bytes; text[strspn(text, " ")]; text += bytes) {
        int blanks = (int)strspn(text, " "), wide = 0;
        text += blanks;
        bytes = *text == '\n' ? 1 : strcspn(text, " \n");
        if (*text == '\n') {
            fputc('\n', out);
            column = 0;
            continue;
        }
        for (size_t i = 0; i < bytes; i++)
            wide += ((unsigned char)text[i] & 0xC0) != 0x80;
        if (column > indent && column + blanks + wide + (int)strlen(end) > columns) {
            column = wide <= columns - indent ? indent : wide < columns ? columns - wide : 0;
            fprintf(out, "%s\n%*s", end, column, "");
        } else {
            column += fprintf(out, "%*s", blanks, "");
        }
        column += wide;
        fwrite(text, 1, bytes, out);
    }
}

static void print_plain(const struct finding *f, int indent, int coloured, FILE *out)
{
    static const char *const colours[] = {"32", "36", "33", "31"};
    fprintf(out, "%*s", indent, "");
    put_text(out, "", f->file);
    if (f->file && f->line)
        fprintf(out, ":%ld:%ld", f->line, f->column);
    fprintf(out, coloured ? "%s\033[49;%sm%s\033[0m" : "%s%.0s%s", f->file ? ": " : "", colours[f->severity],
            severities[f->severity]);
    put_text(out, " ", f->id);
    put_text(out, ": ", f->subject);
    put_text(out, "=", f->value);
    put_text(out, f->file ? "\n    " : ": ", f->text);
    put_text(out, ": ", f->evidence);
    put_text(out, "\n    ", f->advice);
    fputc('\n', out);
}

void finding_print(const struct finding *f, int indent, FILE *out)
{
    int columns = terminal_columns(out);
    char *text = NULL;
    size_t bytes;
    FILE *page = columns ? open_memstream(&text, &bytes) : NULL;
    if (!page) {
        print_plain(f, indent, 0, out);
        return;
    }
    print_plain(f, indent, !getenv("NO_COLOR"), page);
    if (!fclose(page))
        finding_put_wrapped(out, text, 0, 4, columns, "");
    free(text);
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

static void put_finding(cJSON *o, const void *finding)
{
    const struct finding *f = finding;
    json_add_str(o, "id", f->id);
    json_add_str(o, "severity", severities[f->severity]);
    json_add_str(o, "subject", f->subject);
    json_add_str(o, "value", f->value);
    json_add_str(o, "text", f->text);
    json_add_str(o, "evidence", f->evidence);
    json_add_str(o, "advice", f->advice);
    json_add_str(o, "file", f->file);
    if (f->file && f->line) {
        cJSON_AddNumberToObject(o, "line", (double)f->line);
        cJSON_AddNumberToObject(o, "column", (double)f->column);
    }
    if (f->fixable)
        cJSON_AddTrueToObject(o, "fixable");
}

void finding_kind_json(cJSON *o, const struct finding_kind *k)
{
    json_add_str(o, "id", k->id);
    json_add_str(o, "severity", finding_severity_name(k->severity));
    json_add_str(o, "name", k->name);
    json_add_str(o, "title", k->title);
}

void findings_add_json(cJSON *o, const char *key, const struct finding *list, int n)
{
    json_add_each(o, key, list, n, sizeof *list, put_finding);
}

static const char *copy_of(struct arena *a, const cJSON *doc, const char *key)
{
    return arena_strdup(a, json_str(doc, key, NULL));
}

void finding_take(struct findings *all, const cJSON *doc)
{
    struct finding f = {.severity = FINDING_NOTE,
                        .id = copy_of(all->arena, doc, "id"),
                        .subject = copy_of(all->arena, doc, "subject"),
                        .text = copy_of(all->arena, doc, "text"),
                        .evidence = copy_of(all->arena, doc, "evidence"),
                        .advice = copy_of(all->arena, doc, "advice")};
    int i = 0;
    if (!f.text)
        return;
    for (enum finding_severity s = FINDING_OK; s < FINDING_SEVERITIES; s++)
        if (!strcmp(json_str(doc, "severity", ""), severities[s]))
            f.severity = s;
    while (i < all->n && (!arena_same_text(all->list[i].id, f.id) || !arena_same_text(all->list[i].subject, f.subject)))
        i++;
    if (i == all->n)
        all->list = arena_grow(all->arena, all->list, (size_t)all->n++, sizeof *all->list);
    all->list[i] = f;
}
