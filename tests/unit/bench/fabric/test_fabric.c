/* bench/fabric/fabric.c: a document comes back as it was written; hostile ones are refused with a place. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/file.h"
#include "tests/lib/near.h"
#include "tests/lib/whole.h"
#include "tests/unit/bench/made_up_fabric.h"

/* As a document, less the version that has written it. */
static char *saved(const struct verbs_fabric *f, const char *path)
{
    struct err e = {0};
    char *text, *tool;
    size_t bytes;
    assert_int_equal(verbs_fabric_save(f, path, &e), 0);
    assert_int_equal(file_read_text(path, FILE_LIMIT, f->arena, &text, &bytes, &e), 0);
    assert_non_null(tool = strstr(text, "\t\"tool\""));
    memmove(tool, strchr(tool, '\n') + 1, strlen(strchr(tool, '\n')));
    return text;
}

static void comes_back(void **state)
{
    (void)state;
    char path[] = "/tmp/nccltune-fabric-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    struct verbs_fabric *f = full();
    f->ntries = 10; /* with one that failed */
    f->npoints = 3;
    for (int complete = 0; complete < 2; complete++) {
        f->complete = complete;
        const char *text = saved(f, path);
        if (complete)
            assert_whole(text, "tests/fixtures/bench/fabric-full.json");
        struct verbs_fabric *g = verbs_fabric_load(path, NULL);
        assert_non_null(g);
        assert_int_equal(g->complete, complete);
        assert_string_equal(saved(g, path), text);
        verbs_fabric_free(g);
    }
    verbs_fabric_free(f);
    unlink(path);
}

static void better_alone(void **state)
{
    (void)state;
    struct verbs_fabric *f = make(&(struct world){.nodes = 2, .rails = 2});
    int n = f->ntries;
    for (int i = 0; i < n; i++) { /* each of them in turn */
        struct verbs_fabric_try again = f->tries[i];
        again.outcome.GBps = 99 + i;
        cJSON *o = verbs_fabric_try_json(&again);
        assert_int_equal(verbs_fabric_add_try(f, o, NULL), 0);
        cJSON_Delete(o);
        verbs_fabric_repeated(f);
        assert_int_equal(f->ntries, n);
        assert_near(f->tries[i].outcome.GBps, 99 + i, 0);
    }
    f->tries[0] = f->tries[--f->ntries]; /* the first is not known: nothing is replaced */
    f->tries[n - 2].outcome.pair = (struct verbs_try){{0, 0}, {0, 0}};
    verbs_fabric_repeated(f);
    assert_int_equal(f->ntries, n - 1);
    verbs_fabric_free(f);
}

/* Two nodes with two ports, and this. */
static void hostile(void **state)
{
    (void)state;
    static const struct {
        const char *text, *says; /* NULL: it is as it should be */
    } cases[] =
        {
            {"\"ports\": [{\"node_index\": 1, \"rail\": 1}]", NULL},
            {"\"ports\": [{\"node_index\": 2, \"rail\": 0}]", "\"rail\" is missing or out of range"},
            {"\"ports\": [{\"node_index\": -1, \"rail\": 0}]", "\"rail\" is missing or out of range"},
            {"\"ports\": [{\"node_index\": 0, \"rail\": 2}]", "\"rail\" is missing or out of range"},
            {"\"ports\": [{\"node_index\": 0, \"rail\": -1}]", "\"rail\" is missing or out of range"},
            {"\"ports\": [{\"node_index\": 0}]", "\"rail\" is missing or out of range"},
            {"\"ports\": [{\"node_index\": 0, \"rail\": 0, \"rate_Gbps\": -1}]", "\"rate_Gbps\" must be between 0 and"},
            {"\"ports\": [{\"node_index\": 0, \"rail\": 0, \"gids\": [{\"index\": 4095, \"gid\": \"10.0.0.1\"}]}]",
             NULL},
            {"\"ports\": [{\"node_index\": 0, \"rail\": 0, \"gids\": [{\"index\": 4096, \"gid\": \"10.0.0.1\"}]}]",
             "\"index\" is missing or not below 4096"},
            {"\"ports\": [{\"node_index\": 0, \"rail\": 0, \"gids\": [{\"gid\": \"10.0.0.1\"}]}]",
             "\"index\" is missing or not below"},
            {"\"ports\": [{\"node_index\": 0, \"rail\": 0, \"gids\": [{\"index\": 1, \"gid\": \"somewhere\"}]}]",
             "\"somewhere\" is no address"},
            {"\"tries\": [{\"from\": [0, 0], \"to\": [1, 1], \"status\": \"ok\"}]", NULL},
            {"\"tries\": [{\"from\": [0, 0], \"to\": [0, 2], \"status\": \"ok\"}]",
             "\"from\" or \"to\" is missing or out"},
            {"\"tries\": [{\"from\": [2, 0], \"to\": [0, 1], \"status\": \"ok\"}]",
             "\"from\" or \"to\" is missing or out"},
            {"\"tries\": [{\"from\": [0, -1], \"to\": [0, 1], \"status\": \"ok\"}]",
             "\"from\" or \"to\" is missing or out"},
            {"\"tries\": [{\"from\": [-1, 0], \"to\": [0, 1], \"status\": \"ok\"}]",
             "\"from\" or \"to\" is missing or out"},
            {"\"tries\": [{\"from\": [0], \"to\": [0, 1], \"status\": \"ok\"}]",
             "\"from\" or \"to\" is missing or out"},
            {"\"tries\": [{\"from\": [0, 0], \"to\": [0, 1]}]", "neither \"ok\" nor \"failed\""},
            {"\"tries\": [{\"from\": [0, 0], \"to\": [1, 0], \"status\": \"ok\", \"write_GBps\": -6.2}]",
             "\"write_GBps\" must be between 0 and"},
            {"\"tries\": [{\"from\": [0, 0], \"to\": [1, 0], \"status\": \"ok\", \"both_GBps\": -6.2}]",
             "\"both_GBps\" must be"},
            {"\"tries\": [{\"from\": [0, 0], \"to\": [1, 0], \"status\": \"ok\", \"messages_per_s\": -1}]",
             "\"messages_per_s\" must be"},
            {"\"sweep\": [{\"from\": [0, 0], \"to\": [1, 0], \"qps\": 1024, \"bytes\": 1}]", NULL},
            {"\"sweep\": [{\"from\": [0, 0], \"to\": [1, 0], \"qps\": 1, \"bytes\": 8, \"latency_us\": 1e300}]",
             "\"latency_us\" must be between 0 and"},
            {"\"sweep\": [{\"from\": [0, 0], \"to\": [1, 0], \"qps\": 1, \"bytes\": 8, \"write_GBps\": -1}]",
             "\"write_GBps\" must"},
            {"\"sweep\": [{\"from\": [0, 0], \"to\": [1, 0], \"qps\": 1025, \"bytes\": 8}]",
             "\"qps\" or \"bytes\" is missing or"},
            {"\"sweep\": [{\"from\": [0, 0], \"to\": [1, 0], \"bytes\": 8}]", "\"qps\" or \"bytes\" is missing or"},
            {"\"sweep\": [{\"from\": [0, 0], \"to\": [1, 0], \"qps\": 1}]", "\"qps\" or \"bytes\" is missing or"},
            {"\"sweep\": [{\"from\": [0, 0], \"to\": [1, 2], \"qps\": 1, \"bytes\": 8}]",
             "\"qps\" or \"bytes\" is missing or"},
            {"\"gpu_memory\": [{\"node_index\": 1, \"rail\": 1, \"gpu\": 1024}]", NULL},
            {"\"gpu_memory\": [{\"node_index\": 0, \"rail\": 0, \"gpu\": 0, \"send_GBps\": -1}]",
             "\"send_GBps\" must be"},
            {"\"gpu_memory\": [{\"node_index\": 0, \"rail\": 0, \"gpu\": 0, \"receive_GBps\": -1}]",
             "\"receive_GBps\" must"},
            {"\"gpu_memory\": [{\"node_index\": 0, \"rail\": 0, \"gpu\": 1025}]", "\"gpu\" is missing or out of range"},
            {"\"gpu_memory\": [{\"node_index\": 0, \"rail\": 0}]", "\"gpu\" is missing or out of range"},
            {"\"gpu_memory\": [{\"node_index\": 2, \"rail\": 0, \"gpu\": 0}]", "\"gpu\" is missing or out of range"},
            {"\"gpu_memory\": [{\"node_index\": 0, \"rail\": 2, \"gpu\": 0}]", "\"gpu\" is missing or out of range"},
            {"\"gpu_memory\": [{\"rail\": 0, \"gpu\": 0}]", "\"gpu\" is missing or out of range"},
            {"\"gpu_memory\": [{\"node_index\": 0, \"gpu\": 0}]", "\"gpu\" is missing or out of range"},
            {"\"names\": [\"n0\", 7]", NULL},
            {"\"names\": [\"n0\"]", "\"names\" must have 2"},
            {"\"interfaces\": [{\"node_index\": 1, \"name\": \"eth0\", \"reached\": 1, \"tried\": 1}]", NULL},
            {"\"interfaces\": [{\"node_index\": 0, \"name\": \"eth0\", \"reached\": 0, \"tried\": 0}]", NULL},
            {"\"interfaces\": [{\"node_index\": 0, \"name\": \"eth0\", \"reached\": 2, \"tried\": 1}]",
             "\"reached\" or \"tried\""},
            {"\"interfaces\": [{\"node_index\": 0, \"name\": \"eth0\", \"tried\": 1}]", "\"reached\" or \"tried\""},
            {"\"interfaces\": [{\"node_index\": 2, \"name\": \"eth0\", \"reached\": 1, \"tried\": 1}]",
             "\"reached\" or \"tried\""},
            {"\"interfaces\": [{\"name\": \"eth0\", \"reached\": 1, \"tried\": 1}]", "\"reached\" or \"tried\""},
            {"\"interfaces\": [{\"node_index\": 0, \"reached\": 1, \"tried\": 1}]", "\"reached\" or \"tried\""},
        },
      heads[] = {{"\"format\": \"nccltune-fabric/2\"", "nccltune-fabric"},
                 {"\"format\": \"nccltune-fabric/1\"", "\"nodes\" must be 1 to"},
                 {"\"format\": \"nccltune-fabric/1\", \"nodes\": 1e9, \"rails\": 8", "\"nodes\" must be 1 to"},
                 {"\"format\": \"nccltune-fabric/1\", \"nodes\": 1, \"rails\": 0", NULL},
                 {"\"format\": \"nccltune-fabric/1\", \"nodes\": 0, \"rails\": 0", "\"nodes\" must be 1 to"},
                 {"\"format\": \"nccltune-fabric/1\", \"nodes\": 1", "\"rails\" 0 to"},
                 {"\"format\": \"nccltune-fabric/1\", \"nodes\": 4096, \"rails\": 64", NULL},
                 {"\"format\": \"nccltune-fabric/1\", \"nodes\": 4097, \"rails\": 64", "\"nodes\" must be 1 to"},
                 {"\"format\": \"nccltune-fabric/1\", \"nodes\": 1, \"rails\": 65", "\"rails\" 0 to"}};
    char path[] = "/tmp/nccltune-fabric-XXXXXX";
    int fd = mkstemp(path);
    const size_t n = sizeof cases / sizeof *cases, all = n + sizeof heads / sizeof *heads;
    assert_true(fd >= 0);
    for (size_t i = 0; i < all; i++) {
        struct err e = {0};
        const char *says = i < n ? cases[i].says : heads[i - n].says;
        assert_int_equal(ftruncate(fd, 0), 0);
        lseek(fd, 0, SEEK_SET);
        dprintf(fd, "{%s%s}", i < n ? "\"format\": \"nccltune-fabric/1\", \"nodes\": 2, \"rails\": 2, " : "",
                i < n ? cases[i].text : heads[i - n].text);
        struct verbs_fabric *f = verbs_fabric_load(path, &e);
        if (!f != !!says || (says && (!strstr(e.text, says) || !strstr(e.text, path))))
            fail_msg("%s: %s", i < n ? cases[i].text : heads[i - n].text, e.text);
        verbs_fabric_free(f);
    }
    close(fd);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(comes_back), cmocka_unit_test(better_alone),
                                       cmocka_unit_test(hostile)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
