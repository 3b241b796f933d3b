/* bench/fabric/failure_text.c: a failure says the step, the library's words and numbers, and the usual cause. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "bench/fabric/failure_text.h"

static void errno_in_words(void **state)
{
    (void)state;
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

static void completions_in_words(void **state)
{
    (void)state;
    char text[VERBS_FAILURE_TEXT];
    verbs_say_completion(text, IBV_WC_RETRY_EXC_ERR, 0x81);
    assert_non_null(strstr(text, "(completion status 12, vendor error 0x81): the other end does not acknowledge"));
    verbs_say_completion(text, IBV_WC_BAD_RESP_ERR, 0);
    assert_non_null(strstr(text, "(completion status 7, vendor error 0x0)"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(errno_in_words), cmocka_unit_test(completions_in_words)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
