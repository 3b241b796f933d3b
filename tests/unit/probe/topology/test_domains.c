/* probe/topology/domains.c: who is joined by links, by switches, by a clique, and who by nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/json.h"
#include "probe/topology/build.h"
#include "probe/topology/domains.h"
#include "tests/unit/probe/matrix.h"

static struct topology *machine(int ngpus)
{
    struct topology *t = topo_new();
    struct topo_class *c = build_class(t, NULL);
    for (int i = 0; i < ngpus; i++) {
        struct topo_object o = {
            .kind = TOPO_GPU, .parent = build_numa(t, c, 0), .pci = arena_printf(t->arena, "0000:%02x:00.0", i + 1)};
        build_gpu(t, c, (struct topo_gpu){.object = build_object(t, c, o), .index = i, .gdr = -1});
    }
    build_order_gpus(t, c);
    return t;
}

static void join(struct topology *t, enum topo_link_kind link_kind, int gpu, int peer_gpu, int peer_object)
{
    build_link(t, &t->classes[0], (struct topo_link){link_kind, gpu, peer_gpu, peer_object, 1, 25});
}

static int domains_of(const struct topology *t, struct nvlink_domain **d)
{
    return nvlink_domains(&t->classes[0], path_matrix(&t->classes[0], t->arena), t->arena, d);
}

static void links(void **state)
{
    (void)state;
    struct topology *t = machine(8);
    struct nvlink_domain *d;
    assert_int_equal(domains_of(t, &d), 0);
    /* 5 over 0 to 3, told from different ends; 1 and 4 over a switch, which 2 has no link to; 6 and 7 by XGMI. */
    int nvswitch = build_object(t, &t->classes[0], (struct topo_object){.kind = TOPO_NVSWITCH, .parent = -1});
    join(t, TOPO_NVLINK, 5, 0, -1);
    join(t, TOPO_NVLINK, 0, 3, -1);
    join(t, TOPO_NVLINK, 1, -1, nvswitch);
    join(t, TOPO_NVLINK, 4, -1, nvswitch);
    join(t, TOPO_XGMI, 7, 6, -1);
    assert_int_equal(domains_of(t, &d), 3);
    static const int first[] = {0, 3, 5}, second[] = {1, 4}, third[] = {6, 7};
    assert_int_equal(d[0].ngpus, 3);
    assert_memory_equal(d[0].gpus, first, sizeof first);
    assert_int_equal(d[1].ngpus, 2);
    assert_memory_equal(d[1].gpus, second, sizeof second);
    assert_int_equal(d[1].link_kind, TOPO_NVLINK);
    assert_null(d[1].clique);
    assert_int_equal(d[2].ngpus, 2);
    assert_memory_equal(d[2].gpus, third, sizeof third);
    assert_int_equal(d[2].link_kind, TOPO_XGMI);
    topo_free(t);
}

static void cliques(void **state)
{
    (void)state;
    struct topology *t = machine(4);
    struct topo_class *c = &t->classes[0];
    struct nvlink_domain *d;
    c->gpus[0].clique = "ab.1";
    c->gpus[1].clique = "ab.2";
    c->gpus[2].clique = "ab.1";
    assert_int_equal(domains_of(t, &d), 2);
    assert_int_equal(d[0].ngpus, 2);
    assert_int_equal(d[0].gpus[1], 2);
    assert_string_equal(d[0].clique, "ab.1");
    /* One GPU here, its peers in other nodes. */
    assert_int_equal(d[1].ngpus, 1);
    assert_string_equal(d[1].clique, "ab.2");

    cJSON *doc = topo_to_json(t);
    const cJSON *list =
        cJSON_GetObjectItem(cJSON_GetArrayItem(cJSON_GetObjectItem(doc, "classes"), 0), "nvlink_domains");
    assert_int_equal(cJSON_GetArraySize(list), 2);
    assert_string_equal(json_str(cJSON_GetArrayItem(list, 0), "clique", ""), "ab.1");
    assert_int_equal(cJSON_GetArrayItem(cJSON_GetObjectItem(cJSON_GetArrayItem(list, 1), "gpus"), 0)->valueint, 1);
    cJSON_Delete(doc);
    topo_free(t);
}

/* 18 trays of a rack, two of the next, and a host of none. */
static void racks(void **state)
{
    (void)state;
    struct topology *t = machine(4);
    struct nvlink_rack *r;
    for (int i = 0; i < 21; i++) {
        build_host(t, arena_printf(t->arena, "tray%02d", i), 0);
        t->hosts[t->nhosts - 1].clique = i < 18 ? "r1.0" : i < 20 ? "r2.0" : NULL;
    }
    assert_int_equal(nvlink_racks(t, t->arena, &r), 2);
    assert_int_equal(r[0].nhosts, 18);
    assert_int_equal(r[0].ngpus, 72);
    assert_string_equal(r[0].hosts[0], "tray00");
    assert_string_equal(r[0].hosts[r[0].nhosts - 1], "tray17");
    assert_int_equal(r[1].nhosts, 2);
    topo_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(links), cmocka_unit_test(cliques), cmocka_unit_test(racks)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
