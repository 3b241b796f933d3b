/* The shapes in which settings occur: every small document of tests/fixtures/lint/cases, and what lint finds in it. */
#include "core/arena.h"
#include "core/file.h"
#include "lint/lint.h"
#include "tests/lib/unit.h"

/* Bits of what a document was tried by. */
struct counts {
    int documents, findings, wrong;
};

static void add(char *out, size_t size, const char *word)
{
    snprintf(out + strlen(out), size - strlen(out), "%s%s", *out ? " " : "", word);
}

/* "CODE@LINE CODE@LINE settings=N unread=N error", what was expected of the last three only. */
static char *found_in(struct arena *a, const char *name, const char *text, size_t bytes, const char *expected)
{
    struct lint_options o = {.rccl = -1};
    struct lint *l = lint_new(&o);
    struct lint_document d;
    struct finding f;
    char *out = arena_alloc(a, 1024);
    lint_read_text(l, name, text, bytes, NULL, NULL);
    lint_check(l);
    lint_document(l, 0, &d);
    if (d.error)
        add(out, 1024, "error");
    for (size_t n = 0; lint_finding(l, n, &f); n++)
        add(out, 1024, arena_printf(a, "%s@%ld", f.id, f.line));
    if (strstr(expected, "settings="))
        add(out, 1024, arena_printf(a, "settings=%zu", d.settings));
    if (d.unread || strstr(expected, "unread="))
        add(out, 1024, arena_printf(a, "unread=%zu", d.unread));
    lint_free(l);
    return out;
}

static int by_word(const void *x, const void *y)
{
    return strcmp(*(char *const *)x, *(char *const *)y);
}

/* The words of a line in order. */
static char *sorted(struct arena *a, const char *line)
{
    char *copy = arena_strdup(a, line), *words[64], *out = arena_alloc(a, strlen(line) + 2), *save;
    size_t n = 0;
    for (char *w = strtok_r(copy, " ", &save); w && n < 64; w = strtok_r(NULL, " ", &save))
        words[n++] = w;
    qsort(words, n, sizeof *words, by_word);
    for (size_t i = 0; i < n; i++)
        add(out, strlen(line) + 2, words[i]);
    return out;
}

static void try_document(struct arena *a, const char *head, const char *text, size_t bytes, struct counts *c)
{
    const char *bar = strstr(head, " | ");
    char *name = arena_strndup(a, head, (size_t)(bar - head)), *expected = sorted(a, bar + 3);
    char *found = sorted(a, found_in(a, name, text, bytes, expected));
    c->documents++;
    for (const char *p = expected; (p = strchr(p, '@')); p++)
        c->findings++;
    if (!strcmp(found, expected))
        return;
    print_error("%s: expected '%s', found '%s'\n%.*s", name, expected, found, (int)bytes, text);
    c->wrong++;
}

static void try_file(const char *path, struct counts *c)
{
    struct arena *a = arena_new();
    char *text;
    size_t bytes;
    assert_int_equal(file_read_text(path, FILE_LIMIT, a, &text, &bytes, NULL), 0);
    for (const char *p = strstr(text, "\n### "); p;) {
        const char *line = strchr(p + 1, '\n') + 1, *next = strstr(line - 1, "\n### ");
        const char *end = next ? next + 1 : text + bytes;
        try_document(a, arena_strndup(a, p + 5, (size_t)(line - p - 6)), line, (size_t)(end - line), c);
        p = next;
    }
    arena_free(a);
}

TEST_CASE(every_document)
{
    static const char *const files[] = {"scripts", "launch", "containers", "programs"};
    struct counts c = {0};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char path[128];
        snprintf(path, sizeof path, "tests/fixtures/lint/cases/%s.txt", files[i]);
        try_file(path, &c);
    }
    print_message("%d documents, %d findings expected, %d documents wrong\n", c.documents, c.findings, c.wrong);
    assert_true(c.documents >= 150);
    assert_int_equal(c.wrong, 0);
}

TEST_CASES(test_cases)
