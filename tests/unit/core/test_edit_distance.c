/* core/edit_distance.c: distances, and what was meant. */
#include "core/edit_distance.h"
#include "tests/lib/unit.h"

TEST_CASE(distances)
{
    static const struct {
        const char *a, *b;
        int want;
    } cases[] = {
        {"", "", 0},         {"ring", "ring", 0}, {"ring", "rings", 1},     {"ring", "rang", 1},
        {"ring", "rign", 1}, {"ring", "rg", 2},   {"kitten", "sitting", 3},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(edit_distance(cases[i].a, cases[i].b, 9), cases[i].want);
        assert_int_equal(edit_distance(cases[i].b, cases[i].a, 9), cases[i].want);
    }
    assert_true(edit_distance("ring", "a long way off", 2) > 2);
    char endless[EDIT_DISTANCE_LENGTH + 2];
    memset(endless, 'a', sizeof endless - 1);
    endless[sizeof endless - 1] = '\0';
    assert_int_equal(edit_distance(endless, endless, 3), 4);
}

static const char *at(int i)
{
    static const char *const words[] = {"dgx-a100", "dgx-h100", "azure-ndv4", "azure-ndv5", "l4", NULL};
    return words[i];
}

TEST_CASE(meant)
{
    static const struct {
        const char *word, *want;
    } cases[] = {
        {"dgx_h100", "dgx-h100"},
        {"DGXH100", "dgx-h100"},
        {"dxg-h100", "dgx-h100"},
        {"azure-nd-v5", "azure-ndv5"},
        {"azure", "azure-ndv4"},
        {"ndv5", "azure-ndv5"},
        {"l", NULL},
        {"x-", NULL},
        {"v5", NULL}, /* of azure-ndv5, but of much else, too */
        {"dgx-h100-80gb", "dgx-h100"},
        {"toaster", NULL},
        {"", NULL},
        {"--", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *got = edit_distance_nearest(cases[i].word, at, NULL);
        if (got != cases[i].want && (!got || !cases[i].want || strcmp(got, cases[i].want) != 0))
            fail_msg("%s: %s instead of %s", cases[i].word, got ? got : "nothing",
                     cases[i].want ? cases[i].want : "nothing");
    }
}

TEST_CASES(test_edit_distance)
