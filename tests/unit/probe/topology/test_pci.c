/* probe/topology/pci.c: addresses, classes, link speeds. */
#include "probe/topology/topology.h"
#include "tests/lib/unit.h"

TEST_CASE(addresses)
{
    static const struct {
        const char *written, *address;
    } cases[] = {
        {"0000:17:00.0", "0000:17:00.0"},
        {"17:00.0", "0000:17:00.0"},
        {"00000000:C1:00.0", "0000:c1:00.0"},
        {"10000:01:1f.7", "10000:01:1f.7"},
        {"ffff:ff:01.0", "ffff:ff:01.0"},
        {"0:3:0", "0000:03:00.0"},
        {"fffffff:ffff:ff", NULL},
        {"0000:17:20.0", NULL},
        {"0000:17:00.8", NULL},
        {"0000:17:00.", NULL},
        {"0000:17:00.0x", NULL},
        {"0000:100:00.0", NULL},
        {"123456789:00:00.0", NULL},
        {"17", NULL},
        {"", NULL},
        {NULL, NULL},
        {"::", NULL},
        {"; rm -rf /", NULL},
    };
    struct arena *a = arena_new();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *got = pci_address(a, cases[i].written);
        if (cases[i].address)
            assert_string_equal(got ? got : "(none)", cases[i].address);
        else
            assert_null(got);
    }
    arena_free(a);
}

TEST_CASE(classes)
{
    assert_true(pci_is_gpu(0x030200, 0x10de, 0x2330));
    assert_true(pci_is_gpu(0x030000, 0x1002, 0x73bf));
    assert_true(pci_is_gpu(0x038000, 0x1002, 0x740c));
    assert_true(pci_is_gpu(0x120000, 0x1002, 0x74a1));
    assert_true(pci_is_gpu(0x038000, 0, 0));
    assert_false(pci_is_gpu(0x030000, 0x1a03, 0x2000)); /* ASPEED, a BMC's console */
    assert_false(pci_is_gpu(0x030000, 0x1d0f, 0x1111)); /* a cloud's console */
    assert_false(pci_is_gpu(0x030000, 0x1002, 0x515e)); /* ES1000 */
    assert_false(pci_is_gpu(0x010802, 0x10de, 0));
    assert_true(pci_is_nic(0x020000));
    assert_true(pci_is_nic(0x020700));
    assert_true(pci_is_nic(0x0c0600));
    assert_false(pci_is_nic(0x0c0300));
    assert_true(pci_is_switch(0x060400));
    assert_false(pci_is_switch(0x060000));
    assert_true(pci_is_nvswitch(0x068000, 0x10de));
    assert_false(pci_is_nvswitch(0x068000, 0x8086));
}

TEST_CASE(speeds)
{
    assert_float_equal(pci_GTps("16 GT/s"), 16, 0);
    assert_float_equal(pci_GTps("2.5 GT/s PCIe"), 2.5, 0);
    assert_float_equal(pci_GTps("32.0 GT/s PCIe"), 32, 0);
    assert_float_equal(pci_GTps(""), 0, 0);
    assert_float_equal(pci_GTps(NULL), 0, 0);
    assert_float_equal(pci_GTps("16"), 0, 0);
    assert_float_equal(pci_GTps("inf GT/s"), 0, 0);
    assert_float_equal(pci_GTps("-8 GT/s"), 0, 0);
    assert_float_equal(pci_GTps("Unknown speed"), 0, 0);
    /* What lstopo prints for the same links. */
    assert_float_equal(pci_GBps(2.5, 4), 1.0, 0.001);
    assert_float_equal(pci_GBps(8, 16), 15.754, 0.001);
    assert_float_equal(pci_GBps(16, 16), 31.508, 0.001);
    assert_float_equal(pci_GBps(32, 16), 63.015, 0.001);
    assert_float_equal(pci_GBps(64, 16), 128, 0.001);
    assert_float_equal(pci_GBps(0, 16), 0, 0);
    assert_float_equal(pci_GBps(16, 0), 0, 0);
}

TEST_CASES(test_pci)
