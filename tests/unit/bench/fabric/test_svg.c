/* bench/fabric/cells.c, bench/fabric/svg.c: what the maps show of made-up fabrics. */
#include <expat.h>

#include "bench/engines/verbs/run.h"
#include "bench/fabric/fabric.h"
#include "tests/lib/unit.h"
#include "tests/lib/whole.h"
#include "tests/unit/bench/made_up_fabric.h"

TEST_CASE(cells)
{
    struct verbs_fabric *f = make(&(struct world){.nodes = 4, .rails = 2, .bad = port_1_0_bad, .slow_GBps = 3});
    struct verbs_decision d = verbs_decide(f, VERBS_NCCL_NEWEST);
    const struct verbs_cell *c = verbs_cells(f, &d);
    for (int i = 0; i < 8; i++)
        assert_int_equal(c[i].tried, 14);
    assert_true(c[1].outlier); /* sends slowly, receives well */
    assert_near(c[1].GBps, 3, 1e-9);
    assert_true(c[2].outlier);
    assert_int_equal(c[2].failed, 14);
    assert_near(c[2].GBps, 0, 0);
    assert_false(c[5].outlier); /* met both of them */
    assert_near(c[5].GBps, 24, 1e-9);
    assert_int_equal(verbs_find_try(f, 3, 3), -1);
    assert_true(verbs_find_try(f, 3, 2) >= 0);
    verbs_fabric_free(f);
}

/* A node at fault excuses whoever met it on any of its rails. */
TEST_CASE(a_node_at_fault)
{
    static struct verbs_fault fault = {.kind = VERBS_FAULT_NODE, .a = {1, 0}};
    struct verbs_fabric *f = make(&(struct world){.nodes = 4, .rails = 3, .bad = port_1_0_bad, .slow_GBps = 3});
    struct verbs_decision d = verbs_decide(f, VERBS_NCCL_NEWEST);
    const struct verbs_try *pair;
    d.faults = &fault;
    d.nfaults = 1;
    for (int i = 0; i < f->ntries; i++) {
        pair = &d.outcomes[i].pair;
        ((struct verbs_outcome *)d.outcomes)[i].verdict =
            pair->from.node == 1 || pair->to.node == 1 ? VERBS_FAILED : VERBS_GOOD;
    }
    const struct verbs_cell *c = verbs_cells(f, &d);
    for (int port = 0; port < 12; port++)
        assert_int_equal(c[port].outlier, port / 3 == 1);
    verbs_fabric_free(f);
}

/* Four nodes, each pair once: port 0 only ever sent to port 1, which is slow, and must not look slow itself. Whichever
 * of the nodes is called the first, on slow links as on fast ones. */
TEST_CASE(good_end_of_bad_pairs)
{
    static const struct {
        int from, to;
        double GBps;
    } tries[] = {{0, 1, 3}, {1, 2, 3}, {1, 3, 3}, {2, 0, 24}, {3, 0, 24}, {2, 3, 24}};
    for (int k = 0; k < 8; k++) {
        struct verbs_fabric *f = verbs_fabric_new(4, 1);
        double scale = k < 4 ? 1 : 0.01;
        for (size_t i = 0; i < sizeof tries / sizeof *tries; i++) {
            f->tries = arena_grow(f->arena, f->tries, (size_t)f->ntries, sizeof *f->tries);
            f->tries[f->ntries++] = (struct verbs_fabric_try){
                .outcome = {.pair = {{(tries[i].from + k) % 4, 0}, {(tries[i].to + k) % 4, 0}},
                            .GBps = tries[i].GBps * scale}};
        }
        struct verbs_decision d = verbs_decide(f, VERBS_NCCL_NEWEST);
        const struct verbs_cell *c = verbs_cells(f, &d);
        for (int i = 0; i < 4; i++) {
            int slow = i == (1 + k) % 4;
            assert_int_equal(c[i].outlier, slow);
            assert_near(c[i].GBps, (slow ? 3 : 24) * scale, 1e-9);
        }
        verbs_fabric_free(f);
    }
}

static int count(const char *text, const char *what)
{
    int n = 0;
    for (const char *p = text; (p = strstr(p, what)); p++)
        n++;
    return n;
}

static char *draw(struct verbs_fabric *f)
{
    struct verbs_decision d = verbs_decide(f, VERBS_NCCL_NEWEST);
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    verbs_svg(f, &d, out);
    fclose(out);
    XML_Parser parser = XML_ParserCreate(NULL);
    assert_int_equal(XML_Parse(parser, text, (int)bytes, 1), XML_STATUS_OK);
    XML_ParserFree(parser);
    return text;
}

TEST_CASE(pictures)
{
    struct verbs_fabric *f = make(&(struct world){.nodes = 3, .rails = 2, .bad = port_1_0_bad, .slow_GBps = 3});
    f->names[2] = "<n&\"2\x01>";
    char *text = draw(f);
    assert_non_null(strstr(text, ">Faults<"));
    assert_non_null(strstr(text, ">n1 mlx5_0:1, or its cable: 10 of 10 tries failed"));
    assert_non_null(strstr(text, "&lt;n&amp;&quot;2&gt;"));
    /* A title for each of 6 ports and 30 pairs; frames for 2 ports, 10 failed and 4 slow pairs, and in the legend. */
    assert_int_equal(count(text, "<title>"), 36);
    assert_int_equal(count(text, "stroke=\"#d7191c\""), 17);
    free(text);
    verbs_fabric_free(f);
}

/* Shades are parts of the most, on slow links as on fast ones. */
TEST_CASE(shades)
{
    for (int slow = 0; slow < 2; slow++) {
        struct verbs_fabric *f = make(&(struct world){.nodes = 2, .rails = 1});
        f->tries[0].outcome.GBps = slow ? 0.6 : 60;
        f->tries[1].outcome.GBps = slow ? 0.4 : 40;
        char *text = draw(f);
        assert_int_equal(count(text, "fill=\"rgb(8,104,172)\""), 2);  /* in the legend, too */
        assert_int_equal(count(text, "fill=\"rgb(85,176,200)\""), 3); /* of two thirds: the pair and both ports */
        free(text);
        verbs_fabric_free(f);
    }
}

/* Where there are many nodes the names above their columns have no room, and pairs are not drawn. */
TEST_CASE(many_nodes)
{
    static const struct {
        int nodes, rails, titles, names;
        const char *size;
    } rows[] = {{33, 2, 66, 33, "width=\"1654\" height=\"362\""},
                {100, 1, 100, 100, "width=\"1668\" height=\"328\""},
                {120, 1, 120, 15, "width=\"1588\" height=\"325\""},
                {8, 8, 64 + 64 * 63, 8 + 64, "width=\"1644\" height=\"2032\""},
                {5, 0, 0, 0, "width=\"1000\" height=\"144\""}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct verbs_fabric *f = make(&(struct world){.nodes = rows[i].nodes, .rails = rows[i].rails});
        char *text = draw(f);
        if (!strstr(text, rows[i].size))
            fail_msg("%.200s", text);
        assert_non_null(strstr(text, ">Nothing is at fault<"));
        assert_int_equal(count(text, "<title>"), rows[i].titles);
        assert_int_equal(count(text, "rotate(-50)"), rows[i].names);
        free(text);
        verbs_fabric_free(f);
    }
}

TEST_CASE(as_a_whole)
{
    for (int color = 0; color < 2; color++) {
        struct verbs_fabric *f = full();
        struct verbs_decision d = verbs_decide(f, VERBS_NCCL_NEWEST);
        char *text = NULL;
        size_t bytes;
        FILE *out = open_memstream(&text, &bytes);
        verbs_print(f, &d, color, out);
        fclose(out);
        assert_whole(text, color ? "tests/fixtures/bench/fabric-colours.txt" : "tests/fixtures/bench/fabric.txt");
        free(text);
        if (color) {
            text = draw(f);
            assert_whole(text, "tests/fixtures/bench/fabric.svg");
            free(text);
        }
        verbs_fabric_free(f);
    }
}

TEST_CASES(test_svg)
