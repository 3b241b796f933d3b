/* bench/engines/verbs/pair.c: the agreement after every step names the side that failed. Connections need a device: see
 * test_verbs_pair.c. */
#include <errno.h>

#include "bench/engines/verbs/verbs.h"
#include "tests/lib/unit.h"

/* A peer whose report is fixed beforehand. */
static int canned_swap(void *user, const void *mine, void *theirs, size_t bytes, double deadline_s)
{
    (void)mine;
    (void)deadline_s;
    memcpy(theirs, user, bytes);
    return 0;
}

static int failing_swap(void *user, const void *mine, void *theirs, size_t bytes, double deadline_s)
{
    (void)user;
    (void)mine;
    (void)theirs;
    (void)bytes;
    (void)deadline_s;
    return EPIPE;
}

TEST_CASE(agreement_names_the_side)
{
    struct verbs_report good = {.number = 7}, bad = {.failure = "broken"}, short_ = {.failure = "x"}, theirs;
    struct verbs_channel c = {canned_swap, &good, "node0 rxe0:1", "node1 rxe0:1"};
    struct err e = {0};
    assert_int_equal(verbs_pair_agree(&c, &good, &theirs, 0, &e), 0);
    assert_int_equal(theirs.number, 7);
    assert_int_equal(verbs_pair_agree(&c, &bad, &theirs, 0, &e), ERR_FAILED);
    assert_string_equal(e.text, "node0 rxe0:1: broken");
    c.user = &bad;
    assert_int_equal(verbs_pair_agree(&c, &good, &theirs, 0, &e), ERR_FAILED);
    assert_string_equal(e.text, "node1 rxe0:1: broken");
    assert_int_equal(verbs_pair_agree(&c, &short_, &theirs, 0, &e), ERR_FAILED);
    assert_string_equal(e.text, "node0 rxe0:1: x; node1 rxe0:1: broken");
    c.user = &short_;
    assert_int_equal(verbs_pair_agree(&c, &good, &theirs, 0, &e), ERR_FAILED);
    assert_string_equal(e.text, "node1 rxe0:1: x");
    c.me = "node2 rxe0:1"; /* both sides say it in the same order */
    assert_int_equal(verbs_pair_agree(&c, &bad, &theirs, 0, &e), ERR_FAILED);
    assert_string_equal(e.text, "node1 rxe0:1: x; node2 rxe0:1: broken");
    c.user = &good;
    assert_int_equal(verbs_pair_agree(&c, &short_, &theirs, 0, &e), ERR_FAILED);
    assert_string_equal(e.text, "node2 rxe0:1: x");
    c.me = "node0 rxe0:1";
    /* A peer without manners: no end to its sentence. */
    struct verbs_report endless;
    memset(&endless, 'x', sizeof endless);
    c.user = &endless;
    assert_int_equal(verbs_pair_agree(&c, &good, &theirs, 0, &e), ERR_FAILED);
    assert_int_equal(strlen(e.text), strlen("node1 rxe0:1: ") + VERBS_FAILURE_TEXT - 1);
    c.swap = failing_swap;
    assert_int_equal(verbs_pair_agree(&c, &good, &theirs, 0, &e), ERR_FAILED);
    assert_string_equal(e.text, "node0 rxe0:1: exchanging data with the other side failed: Broken pipe (errno 32): the "
                                "other side ended");
    assert_int_equal(verbs_pair_agree(&c, &bad, &theirs, 0, &e), ERR_FAILED);
    assert_non_null(strstr(e.text, "the other side ended; before that broken"));
    assert_int_equal(verbs_pair_agree(&c, &short_, &theirs, 0, &e), ERR_FAILED);
    assert_non_null(strstr(e.text, "the other side ended; before that x"));
}

TEST_CASES(test_agree)
