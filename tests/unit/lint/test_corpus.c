/* What people really write: every setting of public scripts goes through lint, no known name is called unknown, and the
 * counts by rule and the throughput are printed. */
#include <time.h>

#include "core/arena.h"
#include "core/file.h"
#include "core/vars/catalogue.h"
#include "lint/lint.h"
#include "tests/lib/corpus.h"
#include "tests/lib/unit.h"

/* Column n of a line of tab-separated values, without the quotes that CSV writers put around some. */
static char *column(struct arena *a, const char *line, size_t length, int n)
{
    const char *end = line + length;
    for (; n > 0; n--) {
        const char *tab = memchr(line, '\t', (size_t)(end - line));
        if (!tab)
            return NULL;
        line = tab + 1;
    }
    size_t bytes = 0;
    while (line + bytes < end && line[bytes] != '\t' && line[bytes] != '\r')
        bytes++;
    if (bytes >= 2 && line[0] == '"' && line[bytes - 1] == '"')
        return arena_strndup(a, line + 1, bytes - 2);
    return arena_strndup(a, line, bytes);
}

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void print_counts(const struct lint *l)
{
    struct finding f;
    int n;
    const struct finding_kind *kinds = lint_kinds(&n);
    for (int i = 0; i < n; i++) {
        int count = 0;
        for (size_t k = 0; lint_finding(l, k, &f); k++)
            count += !strcmp(f.id, kinds[i].id);
        if (count)
            print_message("  %s %-24s %4d\n", kinds[i].id, kinds[i].name, count);
    }
}

TEST_CASE(settings_of_public_scripts)
{
    struct arena *a = arena_new();
    const char *path = corpus_file(a, "lint/settings.tsv");
    char *data;
    size_t bytes;
    if (!path || file_read_text(path, FILE_LIMIT, a, &data, &bytes, NULL)) {
        arena_free(a);
        skip_because(NEEDS_CORPUS);
    }
    struct lint_options o = {.rccl = -1};
    struct lint *l = lint_new(&o);
    double began = now_s();
    char *line = strchr(data, '\n');
    while (line && *++line) {
        size_t length = strcspn(line, "\n");
        char *name = column(a, line, length, 3), *value = column(a, line, length, 4);
        if (name && value)
            lint_add(l, name, value);
        line = strchr(line, '\n');
    }
    lint_check(l);
    double took = now_s() - began;
    struct finding f;
    for (size_t n = 0; lint_finding(l, n, &f); n++)
        if ((!strcmp(f.id, "NT102") || !strcmp(f.id, "NT103")) && env_var_find(f.subject))
            fail_msg("%s exists and was called unknown", f.subject);
    print_counts(l);
    print_message("  %zu settings in %.1f ms: %.0f settings/s\n", lint_settings(l), took * 1e3,
                  (double)lint_settings(l) / took);
    assert_true(lint_settings(l) > 1000);
    lint_free(l);
    arena_free(a);
}

/* Each live name with its own default: no name rule may speak but the one that names a successor. */
TEST_CASE(every_catalogued_name_is_known)
{
    struct lint_options o = {.rccl = 0};
    struct lint *l = lint_new(&o);
    const struct env_var *v;
    for (size_t n = 0; (v = env_var_at(n)); n++)
        if (!v->last && !(v->flags & ENV_DEAD) && v->scope != ENV_PLUGIN)
            lint_add(l, v->name, NULL);
    lint_check(l);
    struct finding f;
    for (size_t n = 0; lint_finding(l, n, &f); n++)
        if (!strncmp(f.id, "NT1", 3) && strcmp(f.id, "NT108") != 0)
            fail_msg("%s: %s %s", f.subject, f.id, f.text);
    lint_free(l);
}

/* What the catalogue itself calls the default can be no mistake. */
TEST_CASE(every_default_is_fine)
{
    struct lint_options o = {.nccl_low = ENV_CATALOGUED, .nccl_high = ENV_CATALOGUED, .rccl = 0};
    struct lint *l = lint_new(&o);
    const struct env_var *v;
    char usual[ENV_VALUE];
    for (size_t n = 0; (v = env_var_at(n)); n++)
        if (!v->last && !(v->flags & ENV_DEAD) && v->scope != ENV_PLUGIN &&
            strcmp(v->name, "NCCL_NSOCKS_PERTHREAD") != 0 && env_default_at(v, ENV_CATALOGUED, usual) &&
            strcmp(usual, "unset") != 0)
            lint_add(l, v->name, usual);
    lint_check(l);
    struct finding f;
    for (size_t n = 0; lint_finding(l, n, &f); n++)
        if (f.severity != FINDING_NOTE)
            fail_msg("%s=%s: %s %s", f.subject, f.value, f.id, f.text);
    assert_true(lint_settings(l) > 100);
    lint_free(l);
}

TEST_CASES(test_corpus)
