/* The table, the document and the script of the picture. */
#include "advise/whatif/whatif.h"
#include "core/coll.h"
#include "core/json.h"
#include "probe/machines/machines.h"
#include "tests/lib/unit.h"

struct fixture {
    struct topology *topology;
    struct whatif *whatif;
};

static struct fixture begin(const char *name)
{
    struct err e = {0};
    struct fixture f = {.topology = machine_topology("dgx-a100", 4, &e)};
    struct model_setup base = {.nccl = {.topology = f.topology, .version = 22809}};
    f.whatif = whatif_new(name, COLL_ALLREDUCE, &base, &e);
    assert_int_equal(whatif_add_sockets(f.whatif, &e), 0);
    assert_int_equal(whatif_add_nodes(f.whatif, 2000000000, &e), 0);
    assert_int_equal(whatif_predict(f.whatif, &e), 0);
    return f;
}

static void end(struct fixture *f)
{
    whatif_free(f->whatif);
    topo_free(f->topology);
}

TEST_CASE(the_table)
{
    struct fixture f = begin("dgx-a100");
    char *text;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    whatif_print(f.whatif, out);
    fclose(out);
    assert_non_null(strstr(text,
                           "# PREDICTED, nothing was measured: busbw in GB/s of allreduce, 32 ranks on 4 nodes of "
                           "dgx-a100, NCCL 2.28.9\n"));
    assert_non_null(strstr(text, "\n  as it is "));
    assert_non_null(strstr(text, " 1.00  "));
    assert_non_null(strstr(text, "cannot be predicted"));
    assert_non_null(strstr(text, "nvalidated"));
    free(text);
    end(&f);
}

/* The table names the sizes that RCCL does not make, and the document says so of each. */
TEST_CASE(what_others_make)
{
    struct err e = {0};
    struct topology *t = machine_topology("mi300x", 1, &e);
    for (int coll = COLL_ALLREDUCE; coll >= COLL_ALLGATHER; coll = coll == COLL_ALLREDUCE ? COLL_ALLGATHER : -1) {
        struct model_setup base = {.nccl = {.topology = t, .version = 22005}};
        struct whatif *w = whatif_new("mi300x", coll, &base, &e);
        char *text;
        size_t bytes;
        FILE *out = open_memstream(&text, &bytes);
        assert_int_equal(whatif_predict(w, &e), 0);
        whatif_print(w, out);
        fclose(out);
        assert_non_null(strstr(text, "\n  At 64 KiB MSCCL's kernels make the call, not RCCL's own: "));
        assert_true(!strstr(text, "the best ring stands in") == (coll != COLL_ALLREDUCE));
        assert_null(strstr(text, "At 1 GiB"));
        cJSON *doc = whatif_json(w);
        const cJSON *first = cJSON_GetArrayItem(cJSON_GetObjectItem(doc, "variations"), 0),
                    *points = cJSON_GetObjectItem(first, "points");
        assert_string_equal(json_str(cJSON_GetObjectItem(cJSON_GetArrayItem(points, 0), "default"), "taken_by", ""),
                            "MSCCL");
        cJSON_Delete(doc);
        free(text);
        whatif_free(w);
    }
    topo_free(t);
}

/* A rank alone has no busbw, nor has anything a ratio to it. */
TEST_CASE(a_rank_alone)
{
    struct err e = {0};
    struct topology *t = machine_topology("dgx-a100", 1, &e);
    struct model_setup base = {.nccl = {.topology = t, .ranks_per_node = 1}};
    struct whatif *w = whatif_new("dgx-a100", COLL_ALLREDUCE, &base, &e);
    assert_int_equal(whatif_add_nodes(w, 2, &e), 0);
    assert_int_equal(whatif_predict(w, &e), 0);
    char *text;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    whatif_print(w, out);
    fclose(out);
    assert_non_null(strstr(text, " 1 rank on 1 node of "));
    const char *alone = strstr(text, "  as it is "), *two = alone ? strstr(alone, "\n  2 nodes ") : NULL;
    assert_non_null(two);
    assert_int_equal(strspn(alone + strlen("  as it is "), " -"), two - alone - (long)strlen("  as it is "));
    assert_non_null(strstr(two, "NIC mlx5_0"));
    assert_null(strstr(text, "inf "));
    assert_null(strstr(text, "nan"));
    free(text);
    whatif_free(w);
    topo_free(t);
}

TEST_CASE(the_document)
{
    struct fixture f = begin("dgx-a100");
    cJSON *doc = whatif_json(f.whatif);
    assert_string_equal(json_str(doc, "format", ""), "nccltune-whatif/1");
    assert_int_equal(json_bool(doc, "predicted", 0), 1);
    assert_string_equal(json_str(doc, "library", ""), "NCCL 2.28.9");
    const cJSON *cases = cJSON_GetObjectItem(doc, "variations"), *points;
    assert_int_equal(cJSON_GetArraySize(cases), 3);
    points = cJSON_GetObjectItem(cJSON_GetArrayItem(cases, 1), "points");
    assert_int_equal(cJSON_GetArraySize(points), f.whatif->nsizes);
    const cJSON *last = cJSON_GetObjectItem(cJSON_GetArrayItem(points, f.whatif->nsizes - 1), "default");
    assert_true(json_num(last, "low_us", 0) < json_num(last, "time_us", 0));
    assert_true(json_num(last, "high_us", 0) > json_num(last, "time_us", 0));
    assert_string_equal(json_str(last, "limit", ""), "TCP of the host");
    assert_true(json_num(last, "busbw_GBps", 0) > 0);
    assert_non_null(json_str(cJSON_GetArrayItem(cases, 2), "problem", NULL));
    cJSON_Delete(doc);
    end(&f);
}

TEST_CASES(test_whatif_print)
