/* probe/topology/order.c: GPUs by their index, the rest by PCI address; ports by name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "probe/topology/build.h"

static void add_gpu(struct topology *t, const char *pci, int index)
{
    struct topo_class *c = &t->classes[0];
    int object = build_object(t, c, (struct topo_object){.kind = TOPO_GPU, .parent = -1, .numa = -1, .pci = pci});
    build_gpu(t, c, (struct topo_gpu){.object = object, .index = index, .gdr = -1});
}

static void assert_gpu(const struct topology *t, int at, const char *pci, int index, const char *name)
{
    const struct topo_gpu *g = &t->classes[0].gpus[at];
    assert_string_equal(t->classes[0].objects[g->object].pci, pci);
    assert_int_equal(g->index, index);
    assert_string_equal(t->classes[0].objects[g->object].name, name);
}

static void gpus(void **state)
{
    (void)state;
    struct topology *t = topo_new();
    struct topo_class *c = build_class(t, NULL);
    add_gpu(t, "10000:01:00.0", -1);
    add_gpu(t, "0000:c0:00.0", 0);
    add_gpu(t, "0000:a0:00.0", 3);
    add_gpu(t, "0000:b0:00.0", -1);
    add_gpu(t, "0000:90:00.0", 3); /* the same index twice: the second gets a free one */
    build_link(t, c, (struct topo_link){.gpu = 0, .peer_gpu = 1, .peer_object = -1, .count = 1});
    build_link(t, c, (struct topo_link){.gpu = 3, .peer_gpu = -1, .peer_object = -1, .count = 1});
    build_order_gpus(t, c);
    assert_gpu(t, 0, "0000:c0:00.0", 0, "GPU0");
    assert_gpu(t, 1, "0000:a0:00.0", 1, "GPU1");
    assert_gpu(t, 2, "0000:b0:00.0", 2, "GPU2");
    assert_gpu(t, 3, "0000:90:00.0", 3, "GPU3");
    assert_gpu(t, 4, "10000:01:00.0", 4, "GPU4");
    assert_int_equal(c->links[0].gpu, 4);
    assert_int_equal(c->links[0].peer_gpu, 0);
    assert_int_equal(c->links[1].gpu, 2);
    assert_int_equal(c->links[1].peer_gpu, -1);
    topo_free(t);
}

static void ports(void **state)
{
    (void)state;
    struct topology *t = topo_new();
    struct topo_class *c = build_class(t, NULL);
    static const struct {
        const char *hca;
        int port;
    } in[] = {{"mlx5_10", 1}, {"mlx5_2", 2}, {"mlx5_2", 1}, {"bnxt_re0", 1}},
      out[] = {{"bnxt_re0", 1}, {"mlx5_2", 1}, {"mlx5_2", 2}, {"mlx5_10", 1}};
    build_order_ports(c);
    for (int i = 0; i < 4; i++)
        build_port(t, c, (struct topo_port){.object = -1, .hca = in[i].hca, .port = in[i].port});
    build_order_ports(c);
    for (int i = 0; i < 4; i++) {
        assert_string_equal(c->ports[i].hca, out[i].hca);
        assert_int_equal(c->ports[i].port, out[i].port);
    }
    topo_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(gpus), cmocka_unit_test(ports)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
