/* advise/diagnose/kineto.c, the timeline: unsorted, overlapping, and far apart. */
#include "tests/lib/unit.h"
#include "tests/unit/advise/diagnose/feed.h"

TEST_CASE(overlap)
{
    struct diag_timeline *t = diag_timeline_new();
    diag_timeline_add(t, 5000, 3000, 2);
    diag_timeline_add(t, 0, 4000, 1);
    diag_timeline_add(t, 3000, 1000, 2);
    diag_timeline_add(t, 3000, 1000, 2); /* the same again counts once */
    assert_near(diag_timeline_us(t, 3, 1), 3000, 1);
    assert_near(diag_timeline_us(t, 3, 3), 1000, 1);
    assert_near(diag_timeline_us(t, 2, 2), 4000, 1);
    assert_near(diag_timeline_us(t, 3, 0), 1000, 1);
    free(t);
}

/* Microseconds since 1970, a minute long, last interval first: points move apart and to the left. */
TEST_CASE(long_spans)
{
    struct diag_timeline *t = diag_timeline_new();
    const double epoch = 1.7e15;
    for (int i = 59999; i >= 0; i--) {
        diag_timeline_add(t, epoch + 1000.0 * i, 500, 1);
        diag_timeline_add(t, epoch + 1000.0 * i + 250, 500, 2);
    }
    assert_near(diag_timeline_us(t, 1, 1), 30e6, 30e6 * 1e-3);
    assert_near(diag_timeline_us(t, 3, 3), 15e6, 15e6 * 1e-3);
    assert_near(diag_timeline_us(t, 3, 0), 15e6, 15e6 * 1e-3);
    free(t);
}

TEST_CASE(impossible_intervals_are_ignored)
{
    struct diag_timeline *t = diag_timeline_new();
    diag_timeline_add(t, 0, -5, 1);
    diag_timeline_add(t, NAN, 5, 1);
    diag_timeline_add(t, INFINITY, 5, 1);
    diag_timeline_add(t, 1e300, 5, 1);
    diag_timeline_add(t, 0, INFINITY, 1);
    assert_near(diag_timeline_us(t, 1, 1), 0, 0);
    diag_timeline_add(t, -1e16, 1000, 1);
    diag_timeline_add(t, 1e16, 1000, 1);
    diag_timeline_add(t, 0, 1000, 1);
    assert_true(diag_timeline_us(t, 1, 1) < 1e12);
    free(t);
}

TEST_CASES(test_overlap)
