/* probe/topology/sysfs.c on a small tree of its own. */
#include <sys/stat.h>
#include <unistd.h>

#include "core/file.h"
#include "probe/topology/sysfs.h"
#include "tests/lib/unit.h"

static char root[] = "/tmp/nccltune-sysfs-XXXXXX";

static const char *const folders[] = {"pci0000:17", "pci0000:17/0000:17:00.0", "pci0000:17/0000:17:00.0/0000:18:00.1",
                                      "pci0000:17/0000:17:00.0/0000:18:00.1/virtio2", "virtual"};

static int make_tree(void **state)
{
    struct err e;
    if (!mkdtemp(root) || chdir(root))
        return -1;
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        if (mkdir(folders[i], 0700))
            return -1;
    return symlink("pci0000:17/0000:17:00.0/0000:18:00.1/virtio2", "device") || symlink("virtual", "master") ||
           file_write("speed", "100000\n", 7, &e) || file_write("down", "-1\n", 3, &e) ||
           file_write("words", "16.0 GT/s PCIe\nmore\n", 20, &e) || file_write("empty", "", 0, &e);
}

static int remove_tree(void **state)
{
    static const char *const files[] = {"device", "master", "speed", "down", "words", "empty"};
    int rc = 0;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        rc |= unlink(files[i]);
    for (size_t i = sizeof folders / sizeof *folders; i-- > 0;)
        rc |= rmdir(folders[i]);
    return rc | chdir("/") | rmdir(root);
}

TEST_CASE(files)
{
    struct arena *a = arena_new();
    assert_int_equal(sysfs_int(7, "%s/speed", root), 100000);
    assert_int_equal(sysfs_int(7, "%s/down", root), -1);
    assert_int_equal(sysfs_int(7, "%s/words", root), 7);
    assert_int_equal(sysfs_int(7, "%s/empty", root), 7);
    assert_int_equal(sysfs_int(7, "%s/none", root), 7);
    assert_string_equal(sysfs_line(a, "%s/words", root), "16.0 GT/s PCIe");
    assert_null(sysfs_line(a, "%s/empty", root));
    assert_null(sysfs_line(a, "%s/none", root));
    assert_null(sysfs_line(a, "%s", root));
    assert_true(sysfs_exists("%s/%s", root, "speed"));
    assert_false(sysfs_exists("%s/%s", root, "none"));
    arena_free(a);
}

TEST_CASE(links)
{
    struct arena *a = arena_new();
    assert_string_equal(sysfs_link(a, "%s/master", root), "virtual");
    assert_string_equal(sysfs_link(a, "%s/device", root), "virtio2");
    assert_null(sysfs_link(a, "%s/speed", root));
    assert_null(sysfs_link(a, "%s/none", root));
    /* The function behind a device that sits on it; none behind a virtual one. */
    assert_string_equal(sysfs_pci(a, "%s/device", root), "0000:18:00.1");
    assert_null(sysfs_pci(a, "%s/master", root));
    assert_null(sysfs_pci(a, "%s/none", root));
    arena_free(a);
}

TEST_CASES_WITHIN(test_sysfs, make_tree, remove_tree)
