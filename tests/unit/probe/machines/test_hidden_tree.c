/* Trees that guests do not show: completed from a bundled machine, a description with the same addresses, and measured
 * bandwidths. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "probe/machines/machines.h"
#include "probe/topology/build.h"
#include "tests/lib/unit.h"

/* All devices of a machine on one root. `addresses`: as they are, else others. */
static struct topology *guest_of(const char *machine, int addresses)
{
    struct topology *t = machine_topology(machine, 1, NULL);
    struct topo_class *c = &t->classes[0];
    for (int i = 0; i < c->nobjects; i++) {
        struct topo_object *o = &c->objects[i];
        if (o->kind == TOPO_GPU || o->kind == TOPO_NIC) {
            o->parent = 0;
            o->numa = 0;
            o->pci = addresses ? o->pci : arena_printf(t->arena, "%04x:00:00.0", 0x100U + (unsigned)i);
        }
    }
    pci_tree_prune(c);
    return t;
}

/* GPU and NIC in the class's word. */
static const char *way(const struct topology *t, int gpu, const char *hca)
{
    struct path_matrix *m = path_matrix(&t->classes[0], t->arena);
    return path_class_name(path_between(m, path_end_of(m, hca), gpu)->class_);
}

static int notes_with(const struct topology *t, const char *text)
{
    int n = 0;
    for (int i = 0; i < t->classes[0].nnotes; i++)
        n += !strncmp(t->classes[0].notes[i], TREE_ASSUMED, strlen(TREE_ASSUMED)) &&
             strstr(t->classes[0].notes[i], text) != NULL;
    return n;
}

TEST_CASE(machine_by_number)
{
    struct topology *t = guest_of("azure-ndv5", 0), *like = machine_topology("azure-ndv5", 1, NULL);
    assert_string_equal(way(t, 3, "mlx5_ib3"), "PHB");
    assert_int_equal(machine_complete_tree(t, like, NULL), 0);
    for (int i = 0; i < 8; i++)
        assert_string_equal(way(t, i, arena_printf(t->arena, "mlx5_ib%d", i)), "PIX");
    assert_string_equal(way(t, 0, "mlx5_ib7"), "SYS");
    assert_int_equal(notes_with(t, "by their numbers"), 16);
    topo_free(like);
    topo_free(t);
}

TEST_CASE(description_by_address)
{
    struct topology *t = guest_of("dgx-a100", 1), *like = machine_topology("dgx-a100", 1, NULL);
    /* Numbers that mean nothing: the addresses decide. */
    struct topo_gpu first = like->classes[0].gpus[0];
    like->classes[0].gpus[0] = like->classes[0].gpus[7];
    like->classes[0].gpus[7] = first;
    assert_int_equal(machine_complete_tree(t, like, NULL), 0);
    assert_string_equal(way(t, 0, "mlx5_0"), "PIX");
    assert_int_equal(notes_with(t, "PCI addresses"), 2);
    assert_int_equal(notes_with(t, "by their numbers"), 0);
    /* Nothing of the description is needed any more. */
    const int bridge = topo_ancestor(&t->classes[0], t->classes[0].gpus[0].object, TOPO_HOST_BRIDGE);
    const char *name = arena_strdup(t->arena, t->classes[0].objects[bridge].name);
    topo_free(like);
    assert_string_equal(t->classes[0].objects[bridge].name, name);
    topo_free(t);
}

TEST_CASE(other_numbers_are_refused)
{
    struct topology *t = guest_of("azure-ndv5", 0), *like = machine_topology("dgx-1v", 1, NULL);
    struct err e = {0};
    assert_int_equal(machine_complete_tree(t, like, &e), ERR_USAGE);
    assert_string_equal(e.text, "the bundled description of dgx-1v has 4 NICs for jobs, class0 has 8");
    topo_free(like);
    topo_free(t);
}

/* What machine_from_bandwidths makes of a text; the error's text, or NULL. */
static const char *measured(struct topology *t, const char *text)
{
    char path[] = "/tmp/nccltune-test-XXXXXX";
    int fd = mkstemp(path);
    struct err e = {0};
    assert_true(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text) && !close(fd));
    struct topology *like = machine_from_bandwidths(t, path, &e);
    unlink(path);
    if (!like)
        return arena_strdup(t->arena, strchr(e.text, ':') + 1);
    assert_int_equal(machine_complete_tree(t, like, NULL), 0);
    topo_free(like);
    return NULL;
}

TEST_CASE(bandwidths_tell_neighbours)
{
    struct topology *t = guest_of("azure-ndv5", 0);
    assert_null(measured(t, "# GPU NIC GB/s\nGPU0 mlx5_ib1 47\nGPU0 mlx5_ib0 21\nGPU1 mlx5_ib0 47\nGPU1 mlx5_ib1 20\n"
                            "GPU2 mlx5_ib2 47\nGPU4 mlx5_ib4 30\nGPU5 mlx5_ib4 29\n"));
    assert_string_equal(way(t, 0, "mlx5_ib1"), "PIX");
    assert_string_equal(way(t, 1, "mlx5_ib0"), "PIX");
    assert_string_equal(way(t, 0, "mlx5_ib0"), "PHB");
    assert_string_equal(way(t, 2, "mlx5_ib2"), "PHB"); /* one pair alone compares nothing */
    assert_string_equal(way(t, 4, "mlx5_ib4"), "PHB"); /* as near to both */
    assert_int_equal(notes_with(t, "GPU0, mlx5_ib1 are behind one switch"), 1);
    assert_int_equal(notes_with(t, "GPU2 is behind none"), 1);
    topo_free(t);
}

TEST_CASE(bandwidths_that_are_none)
{
    static const struct {
        const char *text, *wanted;
    } rows[] = {
        {"GPU0 mlx5_ib0\n", "1: expected GPU NIC GB/s, such as \"GPU0 mlx5_0 24.1\""},
        {"\nGPU0 mlx5_ib0 -3\n", "2: expected GPU NIC GB/s, such as \"GPU0 mlx5_0 24.1\""},
        {"GPU0 mlx5_ib0 nan\n", "1: expected GPU NIC GB/s, such as \"GPU0 mlx5_0 24.1\""},
        {"GPU0 mlx5_ib0 3 4\n", "1: expected GPU NIC GB/s, such as \"GPU0 mlx5_0 24.1\""},
        {"GPU9 mlx5_ib0 3\n", "1: class0 has no GPU called GPU9"},
        {"GPU0 mlx5_9 3\n", "1: class0 has no NIC for jobs called mlx5_9"},
    };
    struct topology *t = guest_of("azure-ndv5", 0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_string_equal(measured(t, rows[i].text), rows[i].wanted);
    topo_free(t);
}

TEST_CASES(test_hidden_tree)
