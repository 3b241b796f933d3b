/* probe/source/pci_functions.c on a hand-made tree. */
#include "probe/source/source.h"
#include "tests/lib/unit.h"
#include "tests/unit/probe/matrix.h"
#include "tests/unit/probe/tree.h"

#define PORT "/sys/devices/pci0000:15/0000:15:01.0"
#define CARD PORT "/0000:16:00.0"

static struct topology *read_tree(void)
{
    struct topology *t = topo_new();
    struct topo_class *c = build_class(t, NULL);
    build_object(t, c,
                 (struct topo_object){
                     .kind = TOPO_NIC, .parent = -1, .pci = "0000:16:00.0", .vendor = 0x15b3, .pci_class = 0x020700});
    build_object(t, c, (struct topo_object){.kind = TOPO_GPU, .parent = -1, .pci = "0000:99:00.0"});
    source_pci(t, c);
    return t;
}

static void make_card(struct tree *t)
{
    tree_link(t, "/sys/bus/pci/devices/0000:16:00.0", "../../../devices/pci0000:15/0000:15:01.0/0000:16:00.0");
    tree_file(t, CARD "/max_link_speed", "32.0 GT/s PCIe\n");
    tree_file(t, CARD "/max_link_width", "16\n");
    tree_file(t, PORT "/max_link_speed", "16.0 GT/s PCIe\n");
    tree_file(t, PORT "/max_link_width", "8\n");
    tree_link(t, CARD "/driver", "../../../../bus/pci/drivers/mlx5_core");
}

/* A card that can do more than its slot. */
TEST_CASE(links)
{
    struct tree tree;
    tree_begin(&tree);
    make_card(&tree);
    tree_file(&tree, CARD "/sriov_numvfs", "4\n");
    tree_link(&tree, CARD "/physfn", "../0000:16:00.1");
    struct topology *t = read_tree();
    const struct topo_object *o = &t->classes[0].objects[0];
    assert_true(o->link_max_GTps > 15 && o->link_max_GTps < 17);
    assert_int_equal(o->link_max_width, 8);
    assert_string_equal(o->driver, "mlx5_core");
    assert_int_equal(o->vfs, 4);
    assert_string_equal(o->pf, "0000:16:00.1");
    assert_int_equal(o->acs, TOPO_NOT_KNOWN);
    assert_int_equal(o->nvlink_management, TOPO_NOT_KNOWN);
    assert_null(t->classes[0].objects[1].driver);
    assert_null(t->classes[0].iommu);
    topo_free(t);
    tree_end(&tree);
}

/* Configuration space of the port above: an AER capability first, then ACS with or without request redirection. */
static enum topo_known acs_with(unsigned char control)
{
    unsigned char config[4096] = {0};
    struct tree tree;
    config[0x100] = 0x01;
    config[0x102] = 0x01;
    config[0x103] = 0x15; /* next at 0x150 */
    config[0x150] = 0x0d;
    config[0x152] = 0x01;
    config[0x156] = control;
    tree_begin(&tree);
    make_card(&tree);
    tree_bytes(&tree, PORT "/config", config, sizeof config);
    struct topology *t = read_tree();
    enum topo_known acs = t->classes[0].objects[0].acs;
    topo_free(t);
    tree_end(&tree);
    return acs;
}

TEST_CASE(acs)
{
    assert_int_equal(acs_with(0x1d), TOPO_YES);
    assert_int_equal(acs_with(0x11), TOPO_NO);
}

/* The card's own configuration space: PCI Express at 0x60 behind power management, ATS at 0x150 behind AER. */
TEST_CASE(abilities)
{
    for (int on = 0; on < 2; on++) {
        unsigned char config[4096] = {[0x34] = 0x40,  [0x40] = 0x01,  [0x41] = 0x60,  [0x60] = 0x10,
                                      [0x100] = 0x01, [0x102] = 0x01, [0x103] = 0x15, [0x150] = 0x0f};
        struct tree tree;
        config[0x68] = on ? 0x1f : 0x0f;
        config[0x157] = on ? 0x80 : 0x00;
        tree_begin(&tree);
        make_card(&tree);
        tree_bytes(&tree, CARD "/config", config, sizeof config);
        struct topology *t = read_tree();
        const struct topo_object *o = &t->classes[0].objects[0];
        assert_int_equal(o->relaxed_ordering, on ? TOPO_YES : TOPO_NO);
        assert_int_equal(o->ats, on ? TOPO_YES : TOPO_NO);
        topo_free(t);
        tree_bytes(&tree, CARD "/config", config, 64); /* what a normal user can read */
        t = read_tree();
        assert_int_equal(t->classes[0].objects[0].relaxed_ordering, TOPO_NOT_KNOWN);
        topo_free(t);
        tree_end(&tree);
    }
}

/* A list of capabilities that never ends, and one that points out of the space. */
TEST_CASE(hostile_config)
{
    static const unsigned next[] = {0x100, 0xfff};
    for (int i = 0; i < 2; i++) {
        unsigned char config[4096] = {0};
        struct tree tree;
        config[0x100] = 0x01;
        config[0x102] = (unsigned char)((next[i] & 0xf) << 4);
        config[0x103] = (unsigned char)(next[i] >> 4);
        tree_begin(&tree);
        make_card(&tree);
        config[0x34] = config[0x41] = 0x40; /* nor does this one */
        tree_bytes(&tree, PORT "/config", config, sizeof config);
        tree_bytes(&tree, CARD "/config", config, sizeof config);
        struct topology *t = read_tree();
        assert_int_equal(t->classes[0].objects[0].acs, TOPO_NO);
        assert_int_equal(t->classes[0].objects[0].relaxed_ordering, TOPO_NOT_KNOWN);
        topo_free(t);
        tree_end(&tree);
    }
}

TEST_CASE(product_data)
{
    struct tree tree;
    tree_begin(&tree);
    make_card(&tree);
    tree_bytes(&tree, CARD "/vpd", "\x82\x20\0Nvidia ConnectX-7\0V5\x06SW_MNG", 30);
    struct topology *t = read_tree();
    assert_int_equal(t->classes[0].objects[0].nvlink_management, TOPO_YES);
    topo_free(t);
    tree_file(&tree, CARD "/vpd", "an HCA");
    t = read_tree();
    assert_int_equal(t->classes[0].objects[0].nvlink_management, TOPO_NO);
    topo_free(t);
    tree_end(&tree);
}

TEST_CASE(iommu)
{
    static const struct {
        const char *type, *expected;
    } cases[] = {{"identity\n", "passthrough"}, {"DMA\n", "translated"}, {"DMA-FQ\n", "translated"}};
    for (int i = 0; i < 3; i++) {
        struct tree tree;
        tree_begin(&tree);
        make_card(&tree);
        tree_file(&tree, "/sys/class/iommu/dmar0/x", "");
        tree_file(&tree, CARD "/iommu_group/type", cases[i].type);
        struct topology *t = read_tree();
        assert_string_equal(t->classes[0].iommu, cases[i].expected);
        topo_free(t);
        tree_end(&tree);
    }
}

TEST_CASES(test_pci_functions)
