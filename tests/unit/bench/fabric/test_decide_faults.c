/* bench/fabric/decide.c: every kind of fault in words. */
#include "bench/fabric/fabric.h"
#include "tests/lib/unit.h"
#include "tests/unit/bench/made_up_fabric.h"

TEST_CASE(every_kind)
{
    static const struct {
        struct verbs_fault fault;
        const char *text;
    } rows[] = {
        {{.kind = VERBS_FAULT_ALL, .verdict = VERBS_FAILED, .bad = 3, .tried = 4},
         "everything: 3 of 4 tries failed; the first: for no known reason"},
        {{.kind = VERBS_FAULT_NODE, .a = {1, 1}, .verdict = VERBS_FAILED, .bad = 1, .tried = 2, .why = "dark"},
         "node n1, all its ports: 1 of 2 tries failed; the first: dark"},
        {{.kind = VERBS_FAULT_SENDS,
          .a = {1, 0},
          .verdict = VERBS_SLOW,
          .bad = 1,
          .tried = 2,
          .GBps = 1.2345,
          .others_GBps = 24},
         "n1 mlx5_0:1, what it sends: 1 of 2 tries slow, median 1.23 GB/s, others 24 GB/s"},
        {{.kind = VERBS_FAULT_RECEIVES,
          .a = {1, 1},
          .verdict = VERBS_SLOW,
          .bad = 2,
          .tried = 2,
          .GBps = 1,
          .others_GBps = 2},
         "n1 mlx5_1:1, what it receives: 2 of 2 tries slow, median 1 GB/s, others 2 GB/s"},
        {{.kind = VERBS_FAULT_PORT, .a = {2, 1}, .verdict = VERBS_FAILED, .bad = 2, .tried = 2, .why = "x"},
         "? ?, or its cable: 2 of 2 tries failed; the first: x"},
        {{.kind = VERBS_FAULT_CROSS, .verdict = VERBS_FAILED, .bad = 2, .tried = 2, .why = "x"},
         "between different rails: 2 of 2 tries failed; the first: x"},
        {{.kind = VERBS_FAULT_RAIL, .a = {0, 1}, .verdict = VERBS_FAILED, .bad = 2, .tried = 2, .why = "x"},
         "rail 1 (mlx5_1:1), between nodes: 2 of 2 tries failed; the first: x"},
        {{.kind = VERBS_FAULT_RAIL, .a = {0, 0}, .verdict = VERBS_FAILED, .bad = 2, .tried = 2, .why = "x"},
         "rail 0 (?), between nodes: 2 of 2 tries failed; the first: x"},
        {{.kind = VERBS_FAULT_PAIR,
          .a = {1, 0},
          .b = {2, 0},
          .verdict = VERBS_FAILED,
          .bad = 1,
          .tried = 1,
          .why = "x"},
         "between n1 mlx5_0:1 and n2 mlx5_0:1: 1 of 1 tries failed; the first: x"},
    };
    struct verbs_fabric *f = make(&(struct world){.nodes = 3, .rails = 2});
    f->ports[0].name = f->ports[5].name = f->ports[5].node = NULL;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_string_equal(verbs_fault_text(f, &rows[i].fault), rows[i].text);
    verbs_fabric_free(f);
}

TEST_CASES(test_decide_faults)
