/* tuner/explore/candidates.c: what is tried, in its order, with what it is expected to cost at worst. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tuner/explore/decide_internal.h"

static struct explore_decider *d;
static struct topic topic;

static int make(void **state)
{
    (void)state;
    topic = (struct topic){.kind = 5, .hold = {.cell = -1}, .rule = {.cell = -1}, .own_cell = 3, .own_channels = 8};
    d = explore_decider_new(0.01);
    return !d;
}

static int drop(void **state)
{
    (void)state;
    explore_decider_free(d);
    return 0;
}

/* "CELL/CHANNELS/CHUNK*RISK" of all from `first` on. */
static const char *listed(int first)
{
    static char text[1024];
    size_t used = 0;
    *text = 0;
    for (int i = first; i < topic.ncandidates; i++) {
        const struct explore_candidate *c = &topic.candidates[i];
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%d", i > first ? " " : "", c->cell.cell);
        if (c->cell.channels)
            used += (size_t)snprintf(text + used, sizeof text - used, "/%u", c->cell.channels);
        if (c->cell.chunk)
            used += (size_t)snprintf(text + used, sizeof text - used, "/%u", c->cell.chunk);
        used += (size_t)snprintf(text + used, sizeof text - used, "*%g", c->risk);
    }
    topic.ncandidates = 0;
    return text;
}

/* By NCCL's predictions, without what the job runs with and what is hopeless. */
static void cells_by_their_predictions(void **state)
{
    (void)state;
    static const struct {
        struct explore_seen seen;
        int own;
        const char *list;
    } cases[] = {{{.offered = 0x3f, .predicted_us = {6, 5, 4, 3, 2, 1}}, -1, "-1*1 5*2 4*4 3*6 2*8 1*10 0*12"},
                 {{.offered = 0x3f, .predicted_us = {6, 5, 4, 3, 2, 1}}, 4, "-1*1 5*2 3*6 2*8 1*10 0*12"},
                 {{.offered = 0x29, .predicted_us = {1, 9, 9, 2, 9, 1}}, 3, "-1*1 0*2 5*2"},
                 {{.offered = 0x3f, .predicted_us = {8, 7.99F, 1, 1, 1, 1}}, -1, "-1*1 2*2 3*2 4*2 5*2 1*15.98"},
                 {{.offered = 0x07, .predicted_us = {0, 2, 4, 1, 1, 1}}, -1, "-1*1 0*2 1*2 2*4"}, /* no prediction */
                 {{.offered = 0x40}, -1, "-1*1"},
                 {{.offered = 0}, -1, "-1*1"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        topic.own_cell = cases[i].own;
        topic.is_listed = 0;
        explore_list(d, &topic, &cases[i].seen);
        assert_int_equal(topic.is_listed, 1);
        assert_string_equal(listed(0), cases[i].list);
    }
}

static void under_a_table_the_librarys_own_comes_first(void **state)
{
    (void)state;
    const struct explore_seen seen = {.offered = 0x7f, .predicted_us = {1, 2, 1, 4, 5, 6}};
    explore_hinted(d, 5, (struct explore_cell){.cell = 1}, 0.5);
    topic.rule.cell = 3;
    explore_list(d, &topic, &seen);
    assert_string_equal(listed(0), "-1*1 6*2 0*2 2*2 1*4 4*10 5*12"); /* and hints are for calls without one */
    topic.rule = (struct explore_cell){.cell = -1, .channels = 2};
    explore_list(d, &topic, &seen);
    assert_string_equal(listed(0), "-1*1 6*2 0*2 2*2 1*4 4*10 5*12");
    topic.rule.channels = 0;
    explore_list(d, &topic, &seen);
    assert_string_equal(listed(0), "-1*1 1*0.5 0*2 2*2 4*10 5*12");
}

/* The three fastest of this kind that were worth it and are to be had; what was slower is left out. */
static void hints_come_first(void **state)
{
    (void)state;
    const struct explore_seen seen = {.offered = 0x37, .predicted_us = {6, 6, 6, 3, 6, 6}};
    static const struct {
        int kind, cell, channels;
        double over;
    } hints[] = {{5, 1, 0, 0.96}, {5, 0, 0, 0.8},   {4, 2, 0, 0.1}, {5, 3, 0, 0.2}, {5, 3, 2, 0.3},
                 {5, 5, 4, 0.6},  {5, 2, 0, 0.971}, {5, 4, 0, 1.5}, {5, 5, 2, 0.6}, {5, 5, 0, 0.97}};
    for (size_t i = 0; i < sizeof hints / sizeof *hints; i++)
        explore_hinted(d, hints[i].kind, (struct explore_cell){(int8_t)hints[i].cell, (uint8_t)hints[i].channels, 0},
                       hints[i].over);
    assert_int_equal(d->nhints, 10);
    for (size_t i = 1; i < d->nhints; i++)
        assert_true(d->hints[i - 1].over <= d->hints[i].over);
    explore_list(d, &topic, &seen);
    assert_string_equal(listed(0), "-1*1 5/4*0.6 5/2*0.6 0*0.8 1*2 5*2"); /* 3 is not offered, 2 and 4 were slower */
}

/* Half, all that were seen, a quarter: of what calls run with now. */
static void channels_of_the_best(void **state)
{
    (void)state;
    static const struct {
        int own_cell, own_channels, widest;
        struct explore_cell hold;
        const char *list;
    } cases[] = {{3, 8, 8, {.cell = -1}, "3/4*2 3/2*2"},
                 {3, 8, 9, {.cell = -1}, "3/4*2 3/9*2 3/2*2"},
                 {3, 3, 2, {.cell = -1}, "3/1*2"},
                 {3, 1, 1, {.cell = -1}, ""},
                 {-1, 8, 16, {.cell = -1}, ""},
                 {3, 128, 128, {.cell = -1}, "3/64*2 3/32*2"},
                 {3, 129, 300, {.cell = -1}, "3/64*2 3/32*2"},
                 {3, 130, 300, {.cell = -1}, "3/32*2"},
                 {3, 8, 16, {.cell = 5}, "5/4*2 5/16*2 5/2*2"},
                 {3, 8, 16, {.cell = 5, .channels = 6, .chunk = 3}, "5/3/3*2 5/16/3*2 5/1/3*2"},
                 {3, 8, 16, {.cell = EXPLORE_LIBRARY}, ""}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        topic.own_cell = cases[i].own_cell;
        topic.own_channels = cases[i].own_channels;
        topic.widest = cases[i].widest;
        topic.hold = cases[i].hold;
        explore_list_channels(&topic);
        assert_string_equal(listed(0), cases[i].list);
    }
}

/* Half and a quarter of NCCL's chunk, and twice that of Tree with LL128, as far as there are words for them. */
static void chunks_of_the_best(void **state)
{
    (void)state;
    static const struct {
        struct explore_cell hold;
        uint32_t chunk_bytes;
        const char *list;
    } cases[] = {{{.cell = -1}, 0, ""},
                 {{.cell = -1}, 4095, ""},
                 {{.cell = -1}, 4096, ""},
                 {{.cell = -1}, 8192, "3/8/1*2"},
                 {{.cell = -1}, 16383, "3/8/1*2"},
                 {{.cell = -1}, 16384, "3/8/2*2 3/8/1*2"},
                 {{.cell = PROTO_LL128}, 16384, "1/8/2*2 1/8/4*2 1/8/1*2"},
                 {{.cell = PROTO_LL128}, 1U << 26, "1/8/14*2 1/8/13*2"},
                 {{.cell = 5}, UINT32_MAX, "5/8/14*2 5/8/13*2"},
                 {{.cell = 5, .channels = 64}, 1 << 19, "5/64/7*2 5/64/6*2"},
                 {{.cell = 5, .channels = 65}, 1 << 19, ""},
                 {{.cell = EXPLORE_LIBRARY}, 1 << 19, ""}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct explore_seen seen = {.chunk_bytes = cases[i].chunk_bytes};
        topic.hold = cases[i].hold;
        explore_list_chunks(&topic, &seen);
        assert_string_equal(listed(0), cases[i].list);
    }
    topic.hold.cell = -1;
    topic.own_channels = 0;
    explore_list_chunks(&topic, &(struct explore_seen){.chunk_bytes = 1 << 19});
    assert_string_equal(listed(0), "");
}

/* Each once, and no more than there is room for. */
static void no_more_than_there_is_room_for(void **state)
{
    (void)state;
    topic.own_cell = 3;
    for (topic.own_channels = 2; topic.own_channels < 100; topic.own_channels += 2) {
        explore_list_channels(&topic);
        explore_list_channels(&topic);
    }
    assert_int_equal(topic.ncandidates, EXPLORE_MOST);
    assert_string_equal(listed(12), "3/13*2 3/14*2 3/15*2 3/16*2");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(cells_by_their_predictions, make, drop),
        cmocka_unit_test_setup_teardown(under_a_table_the_librarys_own_comes_first, make, drop),
        cmocka_unit_test_setup_teardown(hints_come_first, make, drop),
        cmocka_unit_test_setup_teardown(channels_of_the_best, make, drop),
        cmocka_unit_test_setup_teardown(chunks_of_the_best, make, drop),
        cmocka_unit_test_setup_teardown(no_more_than_there_is_room_for, make, drop),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
