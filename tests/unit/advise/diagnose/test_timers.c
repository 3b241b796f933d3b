/* advise/diagnose/timers.c: names of timers, spelt in any way. */
#include "tests/lib/unit.h"
#include "tests/unit/advise/diagnose/feed.h"

static struct diag_word word(const char *name, char buffer[DIAG_NAME])
{
    return diag_word_of(NULL, name, strlen(name), buffer);
}

TEST_CASE(known_words)
{
    char b[DIAG_NAME];
    assert_string_equal(word("Rollout", b).phase, "rollout");
    assert_int_equal(word("Rollout", b).side, DIAG_ROLLOUT);
    assert_string_equal(word(" old-log-prob ", b).phase, "log-probabilities");
    assert_string_equal(word("Grad Sync", b).phase, "gradient sync");
    assert_int_equal(word("梯度同步", b).kind, DIAG_COMMUNICATION);
    assert_int_equal(word("数据加载", b).kind, DIAG_DATA);
    assert_ptr_equal(word("total", b).phase, DIAG_TOTAL);
    assert_string_equal(word("reshard", b).parent, "rollout");
}

TEST_CASE(unknown_words_are_guessed)
{
    char b[DIAG_NAME];
    assert_int_equal(word("my_all_reduce_2", b).kind, DIAG_COMMUNICATION);
    assert_int_equal(word("cpu_offload_time", b).kind, DIAG_OFFLOAD);
    assert_int_equal(word("kitchen", b).kind, DIAG_OTHER);
    assert_string_equal(word("Kitchen Sink", b).phase, "kitchen_sink");
    assert_null(word("  ", b).phase);
}

TEST_CASE(long_names_are_cut_between_characters)
{
    char b[DIAG_NAME];
    struct diag_word w = word("奶茶奶茶奶茶奶茶奶茶奶茶奶茶奶茶奶茶", b);
    assert_int_equal(strlen(w.phase), 45);
}

TEST_CASE(own_words_come_first)
{
    static const struct diag_word own[] = {{"sync", "mine", DIAG_DATA, DIAG_TRAIN, NULL}, {NULL}};
    char b[DIAG_NAME];
    assert_string_equal(diag_word_of(own, "sync", 4, b).phase, "mine");
    assert_string_equal(diag_word_of(own, "rollout", 7, b).phase, "rollout");
}

TEST_CASES(test_timers)
