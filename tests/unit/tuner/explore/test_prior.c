/* tuner/explore/prior: journals of earlier jobs as hints, and files that are none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tuner/explore/explore.h"
#include "tuner/explore/prior.h"

#define POINT(bytes, ranks)                                                                                       \
    "{\"engine\": \"nccl\", \"collective\": \"allgather\", \"bytes\": " bytes ", \"nodes\": 2, \"ranks\": " ranks \
    ", \"call\": {\"label\": \"x\", \"settings\": {"
#define TRIED(bytes, ranks, settings, times) POINT(bytes, ranks) settings "}}, \"times_us\": [" times "]}\n"
#define RING                                 "\"algorithm\": \"ring\", \"protocol\": \"ll\""
#define TREE                                 "\"algorithm\": \"tree\", \"protocol\": \"simple\""
#define CUT                                  ", \"channels\": \"8\", \"chunk_bytes\": "

static struct explore_hint hints[EXPLORE_HINTS];

static size_t read_all(const char *text, size_t before)
{
    return explore_hints_read(hints, before, text, strlen(text));
}

static void hints_are_times_over_the_default(void **state)
{
    (void)state;
    assert_int_equal(read_all("{\"format\": \"nccltune-results/1\"}\n" TRIED("4096", "8", RING, "30.000, 20.500, 1000")
                                  TRIED("4096", "8", TREE CUT "\"131072\"", "60") TRIED("4096", "8", "", "60, 61, 62"),
                              0),
                     2);
    assert_true(hints[0].kind == explore_kind(COLL_ALLGATHER, 4096) && hints[0].nodes == 2 && hints[0].ranks == 8);
    assert_int_equal(hints[0].cell.cell, ALGO_RING * PROTO_COUNT + PROTO_LL);
    assert_true(hints[0].over > 0.49 && hints[0].over < 0.4919 && hints[1].over > 0.98 && hints[1].over < 0.985);
    assert_true(hints[1].cell.channels == 8 && EXPLORE_CHUNK(hints[1].cell.chunk) == 131072);
    /* of an earlier job only what the later one does not know */
    assert_int_equal(read_all(TRIED("4096", "8", RING, "90") TRIED("4096", "8", "", "9") TRIED("4096", "16", RING, "90")
                                  TRIED("4096", "16", "", "100"),
                              2),
                     3);
    assert_true(hints[2].ranks == 16 && hints[2].over > 0.89 && hints[2].over < 0.91);
    /* the first cell is one like others */
    assert_int_equal(
        read_all(TRIED("8", "8", "\"algorithm\": \"tree\", \"protocol\": \"ll\"", "9") TRIED("8", "8", "", "10"), 0),
        1);
    assert_true(hints[0].cell.cell == 0 && hints[0].over > 0.89 && hints[0].over < 0.91);
}

static void what_is_no_hint_is_left_out(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",
        "{}\n",
        TRIED("4096", "8", RING, "30"),                                              /* without a default */
        TRIED("4096", "8", RING, "30") TRIED("8192", "8", "", "60"),                 /* of another kind */
        TRIED("4096", "8", RING, "") TRIED("4096", "8", "", "60"),                   /* no time */
        TRIED("4096", "8", RING, "0, 0, 0") TRIED("4096", "8", "", "60"),            /* no time, either */
        TRIED("4096", "8", RING, "12, x") TRIED("4096", "8", "", "60"),              /* no number */
        TRIED("4096", "1", RING, "30") TRIED("4096", "1", "", "60"),                 /* nobody to talk to */
        TRIED("0", "8", RING, "30") TRIED("0", "8", "", "60"),                       /* nothing */
        TRIED("4096", "8", TREE CUT "\"131073\"", "60") TRIED("4096", "8", "", "6"), /* no size of ours */
        TRIED("4096", "8", TREE CUT "\"1024\"", "60") TRIED("4096", "8", "", "6"),
        TRIED("4096", "8", TREE ", \"chunk_bytes\": \"131072\"", "60") TRIED("4096", "8", "", "6"), /* of any slice */
        TRIED("4096", "8", TREE ", \"channels\": \"65\"", "60") TRIED("4096", "8", "", "6"),
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(read_all(bad[i], 0), 0);
}

/* Cut anywhere, and with any byte changed: never more than there is room for, and only cells that there are. */
static void files_may_be_anything(void **state)
{
    (void)state;
    static const char good[] = TRIED("4096", "8", RING CUT "\"131072\"", "30, 31.5") TRIED("4096", "8", "", "60");
    char text[sizeof good];
    for (size_t i = 0; i < sizeof good - 1; i++) {
        for (size_t k = 0; k < 2; k++) {
            memcpy(text, good, sizeof good);
            text[i] = "\n9"[k];
            size_t n = explore_hints_read(hints, 0, text, k ? sizeof good - 1 : i);
            assert_true(n <= 1 && (!n || (explore_is_cell(hints[0].cell) && hints[0].over > 0)));
        }
    }
    char *many = malloc((size_t)3000 * 300);
    size_t used = 0;
    assert_non_null(many);
    for (int i = 0; i < 3000; i++)
        used += (size_t)sprintf(many + used, POINT("4096", "8") RING ", \"channels\": \"%d\"}}, \"times_us\": [1]}\n",
                                1 + i % 64);
    used += (size_t)sprintf(many + used, "%s", TRIED("4096", "8", "", "2"));
    assert_int_equal(explore_hints_read(hints, 0, many, used), 64); /* each once */
    free(many);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hints_are_times_over_the_default),
        cmocka_unit_test(what_is_no_hint_is_left_out),
        cmocka_unit_test(files_may_be_anything),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
