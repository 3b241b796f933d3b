/* bench/engines/verbs/port.c: a failure says the step, the library's words and numbers, and the usual cause. */
#include <errno.h>

#include "bench/engines/verbs/verbs.h"
#include "tests/lib/unit.h"

TEST_CASE(errno_in_words)
{
    char text[VERBS_FAILURE_TEXT];
    assert_string_equal(verbs_say_errno(text, VERBS_CREATE, ENOSYS),
                        "creating queue pairs failed: Function not implemented (errno 38)");
    verbs_say_errno(text, VERBS_REGISTER, ENOMEM);
    assert_non_null(strstr(text, "registering memory failed: Cannot allocate memory (errno 12): "));
    assert_non_null(strstr(text, "ulimit -l"));
    verbs_say_errno(text, VERBS_RTR, EINVAL);
    assert_non_null(strstr(text, "different kinds"));
    for (int s = 0; s < VERBS_STEP_COUNT; s++)
        assert_true(strlen(verbs_step_name((enum verbs_step)s)) > 5);
}

TEST_CASE(completions_in_words)
{
    char text[VERBS_FAILURE_TEXT];
    verbs_say_completion(text, IBV_WC_RETRY_EXC_ERR, 0x81);
    assert_non_null(strstr(text, "(completion status 12, vendor error 0x81): the other end does not acknowledge"));
    verbs_say_completion(text, IBV_WC_BAD_RESP_ERR, 0);
    assert_non_null(strstr(text, "(completion status 7, vendor error 0x0)"));
}

TEST_CASES(test_port_failures)
