/* Our lines in a file that is not ours: every other byte stays. */
#include "envgen/install/install.h"
#include "tests/lib/unit.h"

static struct arena *arena;

static int set_up(void **state)
{
    arena = arena_new();
    return 0;
}

static int tear_down(void **state)
{
    arena_free(arena);
    return 0;
}

static char *merge(const char *old, const char *lines)
{
    struct err e = {0};
    char *text = install_merge(old, lines, "/etc/nccl.conf", arena, &e);
    if (!text)
        fail_msg("%s", e.text);
    return text;
}

TEST_CASE(there_and_back)
{
    static const char *const files[] = {
        "",     "NCCL_DEBUG=WARN\n", "NCCL_DEBUG=WARN", "\n",
        "\n\n", "# comment",         "A=1\r\nB=2\r\n",  "# nccltune is great\n",
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        const char *with = merge(files[i], "NCCL_CROSS_NIC=1\n");
        assert_int_equal(strncmp(with, files[i], strlen(files[i])), 0);
        assert_non_null(strstr(with, "\nNCCL_CROSS_NIC=1\n"));
        const char *other = merge(with, "NCCL_CROSS_NIC=2\n");
        assert_null(strstr(other, "NCCL_CROSS_NIC=1"));
        assert_string_equal(merge(other, "NCCL_CROSS_NIC=1\n"), with);
        assert_string_equal(merge(other, NULL), files[i]);
        assert_string_equal(merge(files[i], NULL), files[i]);
    }
}

TEST_CASE(what_comes_behind_stays)
{
    const char *with = arena_printf(arena, "%sB=2\n", merge("A=1\n", "X=1\n"));
    assert_string_equal(merge(with, NULL), "A=1\nB=2\n");
    with = merge(with, "Y=1\n");
    assert_non_null(strstr(with, "A=1\n# nccltune begin"));
    assert_non_null(strstr(with, "Y=1\n# nccltune end\nB=2\n"));
}

TEST_CASE(half_a_pair)
{
    struct err e = {0};
    char *with = merge("A=1\n", "X=1\n"), *end = strstr(with, "# nccltune end");
    *end = 0;
    assert_null(install_merge(with, "Y=1\n", "/etc/nccl.conf", arena, &e));
    assert_non_null(strstr(e.text, "/etc/nccl.conf:2: "));
    assert_null(install_merge("A=1\nB=1\n# nccltune end\n", "Y=1\n", "/etc/nccl.conf", arena, &e));
    assert_non_null(strstr(e.text, "/etc/nccl.conf:3: "));
}

TEST_CASES_WITHIN(test_merge, set_up, tear_down)
