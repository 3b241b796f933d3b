/* The table, the document and the script of the picture. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "bench/predict/whatif.h"
#include "core/coll.h"
#include "core/file.h"
#include "core/json.h"
#include "core/locate.h"
#include "probe/machines/machines.h"
#include "tests/lib/skip.h"

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

static void the_table(void **state)
{
    (void)state;
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
static void what_others_make(void **state)
{
    (void)state;
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
static void a_rank_alone(void **state)
{
    (void)state;
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

static void the_document(void **state)
{
    (void)state;
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

/* A machine's name comes from anywhere: it stays a string for gnuplot. */
static void names_are_quoted(void **state)
{
    (void)state;
    struct fixture f = begin("x'; system('false') #\n`y`");
    char *text;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    whatif_write_plot(f.whatif, "it's.svg", out);
    fclose(out);
    assert_non_null(strstr(text, "of x''; system(''false'') #`y`' font"));
    assert_non_null(strstr(text, "set output 'it''s.svg'\n"));
    assert_non_null(strstr(text, "noenhanced"));
    assert_non_null(strstr(text, "'sockets'"));
    free(text);
    end(&f);
}

/* Sizes from 32 KiB on, the band around the default, and axes that hold them. */
static void the_data_of_the_picture(void **state)
{
    (void)state;
    struct fixture f = begin("dgx-a100");
    char *text;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    whatif_write_plot(f.whatif, "x.svg", out);
    fclose(out);
    const char *data = strstr(text, ", tuned\n"), *axis = strstr(text, "set yrange [");
    double size, busbw, low, high, tuned, from, to;
    assert_true(data && axis);
    /* NOLINTNEXTLINE(cert-err34-c): our own text */
    assert_int_equal(sscanf(data + strlen(", tuned\n"), "%lf %lf %lf %lf %lf", &size, &busbw, &low, &high, &tuned), 5);
    assert_int_equal(sscanf(axis, "set yrange [%lf:%lf]", &from, &to), 2); /* NOLINT(cert-err34-c) */
    assert_true(size == 32768 && low < busbw && busbw < high && tuned >= busbw);
    assert_true(from < low && to > 100 * high);
    assert_non_null(strstr(text, "title 'tuned'"));
    free(text);
    f.whatif->coll = COLL_ALLTOALL;
    out = open_memstream(&text, &bytes);
    whatif_write_plot(f.whatif, "x.svg", out);
    fclose(out);
    assert_null(strstr(text, "title 'tuned'"));
    free(text);
    end(&f);
}

static void the_picture(void **state)
{
    (void)state;
    struct arena *a = arena_new();
    if (!locate_in_path("gnuplot", a)) {
        arena_free(a);
        skip_because("needs gnuplot");
    }
    struct fixture f = begin("a 'quoted' name");
    struct err e = {0};
    struct file_out script;
    char dir[] = "/tmp/test_whatif_XXXXXX", *picture;
    size_t bytes;
    assert_non_null(mkdtemp(dir));
    const char *svg = arena_printf(a, "%s/it's.svg", dir), *gp = arena_printf(a, "%s.gp", svg);
    assert_int_equal(file_out_begin(&script, &e), 0);
    whatif_write_plot(f.whatif, svg, script.stream);
    assert_int_equal(file_out_commit(&script, gp, &e), 0);
    if (whatif_plot(gp, &e))
        fail_msg("%s", e.text);
    assert_int_equal(file_read_text(svg, FILE_LIMIT, a, &picture, &bytes, &e), 0);
    assert_non_null(strstr(picture, "</svg>"));
    assert_non_null(strstr(picture, "sockets"));
    assert_int_equal(file_write(gp, "set nonsense\n", 13, &e), 0);
    assert_int_equal(whatif_plot(gp, &e), ERR_FAILED);
    assert_non_null(strstr(e.text, "exited with code 1"));
    unlink(svg);
    unlink(gp);
    rmdir(dir);
    arena_free(a);
    end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_table),    cmocka_unit_test(what_others_make), cmocka_unit_test(a_rank_alone),
        cmocka_unit_test(the_document), cmocka_unit_test(names_are_quoted), cmocka_unit_test(the_data_of_the_picture),
        cmocka_unit_test(the_picture),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
