/* probe/import/smi_topo.c: a tree with the distances of a printed matrix. */
#include "probe/import/readers.h"
#include "tests/lib/unit.h"
#include "tests/unit/probe/matrix.h"

TEST_CASE(a100)
{
    assert_words(FIXTURE "smi_topo_a100.txt", "GPU0 X NV4 NV4 NV4 PXB SYS SYS\n"
                                              "GPU1 NV4 X NV4 NV4 PXB SYS SYS\n"
                                              "GPU2 NV4 NV4 X NV4 SYS PIX NODE\n"
                                              "GPU3 NV4 NV4 NV4 X SYS PHB NODE\n"
                                              "mlx5_0 PXB PXB SYS SYS X SYS SYS\n"
                                              "mlx5_1 SYS SYS PIX PHB SYS X NODE\n"
                                              "mlx5_10 SYS SYS NODE NODE SYS NODE X\n");
    struct topology *t = load_one(FIXTURE "smi_topo_a100.txt");
    const struct topo_class *c = &t->classes[0];
    assert_int_equal(c->objects[c->gpus[1].object].numa, 0);
    assert_int_equal(c->objects[c->gpus[2].object].numa, 1);
    assert_int_equal(c->nlinks, 12);
    assert_int_equal(c->ports[0].state, TOPO_STATE_UNKNOWN);
    assert_note(c, "has distances only");
    topo_free(t);
}

/* Parses the text; its matrix, or the error. */
static const char *read_text(struct arena *a, const char *text)
{
    struct err e = {0};
    struct topology *t = topo_new();
    const char *result = NULL;
    if (import_text(t, arena_strdup(a, text), "host", "f", &e))
        result = arena_strdup(a, e.text);
    else
        result = matrix_words(&t->classes[0], a);
    topo_free(t);
    return result;
}

/* More NVLinks than a GPU has ports for in a mesh: NVSwitches. A heading in colour, and words of old drivers. */
TEST_CASE(variants)
{
    struct arena *a = arena_new();
    assert_string_equal(read_text(a, "\033[4mGPU0\tGPU1\tGPU2\tCPU Affinity\033[0m\nGPU0\t X \tNV12\tNV12\t0-7\n"
                                     "GPU1\tNV12\t X \tNV12\t0-7\nGPU2\tNV12\tNV12\t X \t8-15\n"),
                        "GPU0 X NV12 NV12\nGPU1 NV12 X NV12\nGPU2 NV12 NV12 X\n");
    assert_string_equal(read_text(a, "   GPU0 GPU1 mlx5_0\nGPU0 X SOC PSB\nGPU1 SOC X SOC\nmlx5_0 PSB SOC X\n"),
                        "GPU0 X SYS PIX\nGPU1 SYS X SYS\nmlx5_0 PIX SYS X\n");
    arena_free(a);
}

/* What mails and tables make of it: cells that are glued, columns and rows in another order, the node before the CPUs.
 */
TEST_CASE(copies)
{
    struct err none = {0};
    struct topology *broken = topo_new(); /* a table whose heading has lost its bars */
    char heading[] = "| | GPU0 GPU1 | CPU Affinity |\n|---|---|---|\n| GPU0 | X | 0-3 |\n";
    assert_int_not_equal(import_text(broken, heading, "host", "f", &none), 0);
    topo_free(broken);
    static const char *const copies[] = {
        "GPU0 GPU1 NIC0 CPU Affinity NUMA Affinity GPU NUMA ID\nGPU0 X NODENODE 0-1110N/A\nGPU1 NODE X NODE "
        "112-2230N/A\n"
        "NIC0 NODENODE X\n",
        "| | NIC0 | GPU0 | GPU1 | NUMA Affinity | CPU Affinity |\n|---|---|---|---|---|---|\n"
        "| GPU0 | NODE | X | NODE | 0 | 0-111 |\n| NIC0 | X | NODE | NODE | | |\n| GPU1 | NODE | NODE | X | 0 | "
        "112-223 |\n",
        "| | CPU Affinity | NUMA Affinity | GPU0 | GPU1 | NIC0 |\n|---|---|---|---|---|---|\n"
        "| GPU0 | 0-111 | 0 | X | NODE | NODE |\n| GPU1 | 112-223 | 0 | NODE | X | NODE |\n"
        "| NIC0 | | | NODE | NODE | X |\n",
        "| | GPU0 | GPU1 | NUMA Affinity | GPU NUMA ID | CPU Affinity | NIC0 |\n|:--|---|---|---|---|---|---|\n"
        "| GPU0 | X | NODE | 0 | N/A | 0-111 | NODE |\n| **GPU1** | NODE | X | 0 | N/A | 112-223 | NODE |\n"
        "| NIC0 | NODE | NODE | | | | X |\n",
    };
    for (size_t i = 0; i < sizeof copies / sizeof *copies; i++) {
        struct err e = {0};
        struct topology *t = topo_new();
        if (import_text(t, arena_strdup(t->arena, copies[i]), "host", "f", &e))
            fail_msg("%s", e.text);
        const struct topo_class *c = &t->classes[0];
        assert_string_equal(matrix_words(c, t->arena), "GPU0 X NODE NODE\nGPU1 NODE X NODE\nNIC0 NODE NODE X\n");
        assert_int_equal(c->objects[c->gpus[1].object].numa, 0);
        assert_string_equal(c->objects[topo_ancestor(c, c->gpus[0].object, TOPO_NUMA)].cpus, "112-223");
        topo_free(t);
    }
}

/* Ranges that are glued together hold CPUs that nobody has. */
TEST_CASE(glued_ranges)
{
    static const char *const lists[] = {"0-2231", "0-31,64-9532-63", "0-31,16-47"};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        struct err e = {0};
        struct topology *t = topo_new();
        const char *text = arena_printf(t->arena, "GPU0 CPU Affinity NUMA Affinity\nGPU0 X %s 0\n", lists[i]);
        if (import_text(t, arena_strdup(t->arena, text), "host", "f", &e))
            fail_msg("%s", e.text);
        const struct topo_class *c = &t->classes[0];
        assert_null(c->objects[topo_ancestor(c, c->gpus[0].object, TOPO_NUMA)].cpus);
        topo_free(t);
    }
}

TEST_CASE(wrong)
{
    static const struct {
        const char *text, *error;
    } cases[] = {
        {"GPU0 GPU1\nGPU0 X\n",
         "f:2: GPU0: expected 2 words, found 1; if lines were wrapped or joined on the way, save it "
         "with nvidia-smi topo -m >FILE"},
        {"GPU0 GPU1\nGPU0 X PXX\n", "f:2: GPU0, GPU1: expected X, NV#, PIX, PXB, PHB, NODE or SYS, found 'PXX'"},
        {"GPU0 GPU1\nGPU0 X NV0\n", "f:2: GPU0, GPU1: expected X, NV#, PIX, PXB, PHB, NODE or SYS, found 'NV0'"},
        {"GPU0 GPU1\nGPU0 X SYS\n", "f: expected a row for GPU1 of the heading"},
    };
    struct arena *a = arena_new();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_memory_equal(read_text(a, cases[i].text), cases[i].error, strlen(cases[i].error));
    const char *wide = "GPU0";
    for (int i = 1; i < 600; i++)
        wide = arena_printf(a, "%s NIC%d", wide, i);
    wide = arena_printf(a, "%s\nGPU0 X\n", wide);
    assert_string_equal(read_text(a, wide), "f:1: more than 512 devices");
    arena_free(a);
}

TEST_CASES(test_smi_topo)
