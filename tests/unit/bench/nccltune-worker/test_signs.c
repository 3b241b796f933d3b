/* "nccltune-worker signs", as an agent runs it: what it prints is what noise_of_node reads. */
#include <unistd.h>

#include "bench/noise/signs.h"
#include "tests/lib/unit.h"

/* ".../nccltune-worker' signs REST" for .../tests/unit/bench/nccltune-worker/test_signs. */
static const char *command(const char *rest)
{
    static char text[8192];
    char self[4096];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    self[n > 0 ? n : 0] = 0;
    char *tests = strstr(self, "/tests/unit/");
    assert_non_null(tests);
    *tests = 0;
    snprintf(text, sizeof text, "'%s/nccltune-worker' signs %s", self, rest);
    return text;
}

TEST_CASE(says_before_and_after)
{
    struct arena *a = arena_new();
    struct signs lists[2];
    char text[65536];
    FILE *p = popen(command("</dev/null"), "r");
    assert_non_null(p);
    text[fread(text, 1, sizeof text - 1, p)] = 0;
    assert_int_equal(pclose(p), 0);
    assert_int_equal(signs_parse(text, a, lists), 2);
    assert_true(lists[0].at_s > 0 && lists[1].at_s >= lists[0].at_s);
    assert_int_equal(lists[0].n, lists[1].n);
    assert_int_not_equal(system(command("</dev/null >/dev/full")), 0);
    arena_free(a);
}

TEST_CASES(test_signs)
