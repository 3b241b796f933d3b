/* Logs whose truth is known: tests/fixtures/steps/truth.txt names each with its verdict, the share of communication
 * that it was made with, and what the diagnosis must and must not say. Counted: at least 90 % are right; a
 * verdict that contradicts the truth fails at once. */
#include <stdlib.h>

#include "tests/lib/unit.h"
#include "tests/unit/advise/diagnose/feed.h"

#define RIGHT 0.9
#define SLACK 0.01 /* the logs' times have noise of 2 % */

enum column { FILES, VERDICT, SHARE, WIDTH, SAYS, NEVER, COLUMNS };

static void split_row(char *line, char *columns[COLUMNS])
{
    for (int i = 0; i < COLUMNS; i++) {
        char *bar = strchr(line, '|');
        columns[i] = line + strspn(line, " ");
        if (bar)
            *bar = 0;
        size_t n = strcspn(columns[i], "\n");
        while (n && columns[i][n - 1] == ' ')
            n--;
        columns[i][n] = 0;
        line = bar ? bar + 1 : line + strlen(line);
    }
}

/* How many of the texts between semicolons are in `said`; `*missing` is the first that is not. */
static int count_said(const char *said, char *texts, const char **missing)
{
    int n = 0;
    for (char *save, *t = strtok_r(texts, ";", &save); t; t = strtok_r(NULL, ";", &save)) {
        if (strstr(said, t))
            n++;
        else if (!*missing)
            *missing = t;
    }
    return n;
}

static const char *word_of(enum diag_verdict v)
{
    return v == DIAG_IS_COMMUNICATION ? "is" : v == DIAG_NOT_COMMUNICATION ? "not" : "open";
}

/* 1: right. A verdict that contradicts the truth counts in `*false_verdicts`. */
static int judge_row(char *columns[COLUMNS], int *false_verdicts)
{
    struct diagnosis *d = diagnose_new();
    char *text = NULL;
    size_t size;
    int unread = 0;
    for (char *p = columns[FILES]; *p; p += strspn(p, " ")) {
        char path[160];
        struct err e = {0};
        snprintf(path, sizeof path, "tests/fixtures/steps/%.*s", (int)strcspn(p, " "), p);
        unread += diagnose_file(d, path, &e) != 0;
        p += strcspn(p, " ");
    }
    const struct diag_result *r = diagnose_finish(d);
    FILE *out = open_memstream(&text, &size);
    diagnose_text(r, out);
    fclose(out);
    const struct diag_source *s = r->primary >= 0 ? &r->sources[r->primary] : NULL;
    double share = strtod(columns[SHARE], NULL), width = strtod(columns[WIDTH], NULL);
    const char *verdict = word_of(r->verdict), *missing = NULL, *ignored = NULL;
    char why[160] = "";
    count_said(text, columns[SAYS], &missing);
    if (strcmp(verdict, columns[VERDICT]) != 0)
        snprintf(why, sizeof why, "verdict is %s", verdict);
    else if (unread)
        snprintf(why, sizeof why, "a file is not read");
    else if (missing)
        snprintf(why, sizeof why, "does not say '%s'", missing);
    else if (count_said(text, columns[NEVER], &ignored))
        snprintf(why, sizeof why, "says what it must not");
    else if (s && (share < s->communication_low - SLACK || share > s->communication_high + SLACK))
        snprintf(why, sizeof why, "%.2f is not within %.2f to %.2f", share, s->communication_low,
                 s->communication_high);
    else if (s && width > 0 && s->communication_high - s->communication_low > width + SLACK)
        snprintf(why, sizeof why, "%.2f to %.2f is too wide", s->communication_low, s->communication_high);
    /* What the log cannot tell must not be told; a true verdict that is left open is no lie. */
    int lies = r->verdict != DIAG_UNKNOWN && strcmp(verdict, columns[VERDICT]) != 0;
    *false_verdicts += lies;
    if (*why)
        printf("# %s: %s%s\n", columns[FILES], lies ? "FALSE: " : "", why);
    free(text);
    diagnose_free(d);
    return !*why;
}

TEST_CASE(logs_of_known_truth)
{
    FILE *f = fopen("tests/fixtures/steps/truth.txt", "r");
    char line[1024], *columns[COLUMNS];
    int n = 0, right = 0, false_verdicts = 0;
    assert_non_null(f);
    while (fgets(line, sizeof line, f))
        if (*line != '#') {
            split_row(line, columns);
            right += judge_row(columns, &false_verdicts);
            n++;
        }
    fclose(f);
    printf("# %d of %d logs are right, %d verdicts are false\n", right, n, false_verdicts);
    assert_true(n >= 60);
    assert_int_equal(false_verdicts, 0);
    assert_true(right >= RIGHT * n);
}

TEST_CASES(test_truth)
