/* bench/fabric/fabric.c: a document comes back as it was written; hostile ones are refused with a place. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/lib/near.h"
#include "tests/unit/bench/made_up_fabric.h"

static void comes_back(void **state)
{
    (void)state;
    char path[] = "/tmp/nccltune-fabric-XXXXXX";
    int fd = mkstemp(path);
    struct err e = {0};
    assert_true(fd >= 0);
    close(fd);
    struct verbs_fabric *f = make(&(struct world){.nodes = 2, .rails = 2, .bad = port_1_0_bad});
    f->tries[0].gid_index[0] = 4;
    f->tries[0].gid_index[1] = 3;
    add_interface(f, "eth0", 1);
    f->points = &(struct verbs_fabric_point){.pair = {{0, 1}, {1, 1}}, .qps = 2, .bytes = 1 << 23, .both_GBps = 40};
    f->npoints = 1;
    f->gpus = &(struct verbs_fabric_gpu){
        .node = 1, .rail = 1, .gpu = 3, .pci = "0000:17:00.0", .via = "dma-buf", .send_GBps = 20};
    f->ngpus = 1;
    assert_int_equal(verbs_fabric_save(f, path, &e), 0);
    struct verbs_fabric *g = verbs_fabric_load(path, &e);
    assert_non_null(g);
    assert_int_equal(g->ntries, f->ntries);
    for (int i = 0; i < f->ntries; i++) {
        assert_memory_equal(&g->tries[i].outcome.pair, &f->tries[i].outcome.pair, sizeof(struct verbs_try));
        assert_int_equal(g->tries[i].outcome.verdict, f->tries[i].outcome.verdict);
        assert_near(g->tries[i].outcome.GBps, f->tries[i].outcome.GBps, 1e-9);
    }
    assert_int_equal(g->complete, f->complete);
    assert_int_equal(g->tries[0].gid_index[0], 4);
    assert_int_equal(g->tries[0].gid_index[1], 3);
    assert_int_equal(g->tries[1].gid_index[0], 0);
    assert_int_equal(g->ngpus, 1);
    assert_int_equal(g->gpus[0].gpu, 3);
    assert_string_equal(g->gpus[0].pci, "0000:17:00.0");
    assert_string_equal(g->gpus[0].via, "dma-buf");
    assert_null(g->gpus[0].why);
    assert_near(g->gpus[0].send_GBps, 20, 1e-9);
    assert_int_equal(g->npoints, 1);
    assert_int_equal(g->points[0].bytes, 1 << 23);
    assert_int_equal(g->points[0].pair.to.rail, 1);
    assert_near(g->points[0].both_GBps, 40, 1e-9);
    assert_int_equal(g->ninterfaces, 2);
    assert_string_equal(g->interfaces[1].name, "eth0");
    assert_int_equal(g->interfaces[1].reached, 1);
    assert_string_equal(g->names[1], "n1");
    for (int i = 0; i < 4; i++) {
        assert_string_equal(g->ports[i].name, f->ports[i].name);
        assert_int_equal(g->ports[i].mtu_bytes, 4096);
        assert_int_equal(g->ports[i].gids.count, 4);
        assert_memory_equal(g->ports[i].gids.gids, f->ports[i].gids.gids, 4 * sizeof(struct verbs_gid));
    }
    verbs_fabric_free(f);
    verbs_fabric_free(g);
    unlink(path);
}

static void better_alone(void **state)
{
    (void)state;
    struct verbs_fabric *f = make(&(struct world){.nodes = 2, .rails = 2});
    struct verbs_fabric_try again = f->tries[3];
    int n = f->ntries;
    again.outcome.GBps = 99;
    cJSON *o = verbs_fabric_try_json(&again);
    assert_int_equal(verbs_fabric_add_try(f, o, NULL), 0);
    cJSON_Delete(o);
    verbs_fabric_repeated(f);
    assert_int_equal(f->ntries, n);
    assert_near(f->tries[3].outcome.GBps, 99, 0);
    verbs_fabric_free(f);
}

static void hostile(void **state)
{
    (void)state;
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"{\"format\": \"nccltune-fabric/2\"}", "nccltune-fabric"},
        {"{\"format\": \"nccltune-fabric/1\"}", "\"nodes\" must be 1 to"},
        {"{\"format\": \"nccltune-fabric/1\", \"nodes\": 1e9, \"rails\": 8}", "\"nodes\" must be 1 to"},
        {"{\"format\": \"nccltune-fabric/1\", \"nodes\": 1, \"rails\": 1, \"ports\": [{\"node_index\": 1, \"rail\": "
         "0}]}",
         "out of range"},
        {"{\"format\": \"nccltune-fabric/1\", \"nodes\": 1, \"rails\": 1, \"ports\": [{\"node_index\": 0, \"rail\": 0, "
         "\"gids\": [{\"index\": 99999, \"gid\": \"10.0.0.1\"}]}]}",
         "\"index\" is missing or not below"},
        {"{\"format\": \"nccltune-fabric/1\", \"nodes\": 1, \"rails\": 1, \"ports\": [{\"node_index\": 0, \"rail\": 0, "
         "\"gids\": [{\"index\": 1, \"gid\": \"somewhere\"}]}]}",
         "\"somewhere\" is no address"},
        {"{\"format\": \"nccltune-fabric/1\", \"nodes\": 1, \"rails\": 2, \"tries\": [{\"from\": [0, 0], \"to\": [0, "
         "2], "
         "\"status\": \"ok\"}]}",
         "\"from\" or \"to\" is missing or out of range"},
        {"{\"format\": \"nccltune-fabric/1\", \"nodes\": 1, \"rails\": 2, \"tries\": [{\"from\": [0, 0], \"to\": [0, "
         "1]}]}",
         "neither \"ok\" nor \"failed\""},
        {"{\"format\": \"nccltune-fabric/1\", \"nodes\": 2, \"rails\": 1, \"tries\": [{\"from\": [0, 0], \"to\": [1, "
         "0], \"status\": \"ok\", \"write_GBps\": -6.2}]}",
         "\"write_GBps\" must be between 0 and"},
        {"{\"format\": \"nccltune-fabric/1\", \"nodes\": 2, \"rails\": 1, \"sweep\": [{\"from\": [0, 0], \"to\": [1, "
         "0], \"qps\": 1, \"bytes\": 8, \"latency_us\": 1e300}]}",
         "\"latency_us\" must be between 0 and"},
        {"{\"format\": \"nccltune-fabric/1\", \"nodes\": 1, \"rails\": 1, \"gpu_memory\": [{\"node_index\": 0, "
         "\"rail\": 0, \"gpu\": 0, \"send_GBps\": -1}]}",
         "\"send_GBps\" must be between 0 and"},
        {"{\"format\": \"nccltune-fabric/1\", \"nodes\": 2, \"rails\": 0, \"names\": [\"n0\"]}",
         "\"names\" must have 2"},
        {"{\"format\": \"nccltune-fabric/1\", \"nodes\": 2, \"rails\": 0, \"interfaces\": [{\"node_index\": 0, "
         "\"name\": \"eth0\", \"reached\": 2, \"tried\": 1}]}",
         "\"reached\" or \"tried\""},
    };
    char path[] = "/tmp/nccltune-fabric-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct err e = {0};
        assert_int_equal(ftruncate(fd, 0), 0);
        assert_int_equal(pwrite(fd, cases[i].text, strlen(cases[i].text), 0), (ssize_t)strlen(cases[i].text));
        assert_null(verbs_fabric_load(path, &e));
        assert_non_null(strstr(e.text, cases[i].says));
        assert_non_null(strstr(e.text, path));
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
