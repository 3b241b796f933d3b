/* probe/source/probe.c and the sources that need no special hardware, on whatever machine this is. */
#include <dirent.h>
#include <sys/utsname.h>

#include "probe/source/probe.h"
#include "tests/lib/unit.h"
#include "tests/unit/probe/matrix.h"

static const struct topo_netdev *netdev(const struct topo_class *c, const char *name)
{
    for (int i = 0; i < c->nnetdevs; i++)
        if (!strcmp(c->netdevs[i].name, name))
            return &c->netdevs[i];
    return NULL;
}

TEST_CASE(this_machine)
{
    struct err e = {0};
    struct utsname system;
    setenv("NCCLTUNE_NVML", "/nowhere/nvml.so", 1);
    struct topology *t = probe_machine(NULL, &e);
    assert_non_null(t);
    assert_int_equal(t->nclasses, 1);
    assert_int_equal(t->nhosts, 1);
    assert_string_equal(t->source, "this machine");
    assert_int_equal(uname(&system), 0);
    assert_string_equal(t->classes[0].arch, system.machine);
    assert_string_equal(t->hosts[0].name, system.nodename);
    assert_note(&t->classes[0], "NVML: /nowhere/nvml.so");
    int numa = 0;
    for (int i = 0; i < t->classes[0].nobjects; i++)
        numa += t->classes[0].objects[i].kind == TOPO_NUMA;
    assert_true(numa >= 1);
    topo_free(t);
}

TEST_CASE(interfaces)
{
    struct err e = {0};
    struct topology *t = probe_machine(NULL, &e);
    assert_non_null(t);
    const struct topo_class *c = &t->classes[0];
    const struct topo_netdev *lo = netdev(c, "lo");
    assert_non_null(lo);
    assert_int_equal(lo->kind, TOPO_NET_LOOPBACK);
    assert_int_equal(lo->object, -1);
    /* Every interface that /sys shows as up and running is there and active, and knows its MTU. */
    DIR *folder = opendir("/sys/class/net");
    assert_non_null(folder);
    for (const struct dirent *d; (d = readdir(folder));) {
        char path[512], word[32] = "";
        snprintf(path, sizeof path, "/sys/class/net/%s/operstate", d->d_name);
        FILE *f = *d->d_name == '.' ? NULL : fopen(path, "r");
        if (!f)
            continue;
        int read = fscanf(f, "%31s", word);
        fclose(f);
        const struct topo_netdev *found = netdev(c, d->d_name);
        if (read != 1 || strcmp(word, "up") != 0)
            continue;
        assert_non_null(found);
        assert_int_equal(found->state, TOPO_STATE_ACTIVE);
        assert_true(found->mtu_bytes > 0);
    }
    closedir(folder);
    topo_free(t);
}

TEST_CASE(twice_the_same)
{
    struct err e = {0};
    char first[SHA256_HEX], second[SHA256_HEX];
    struct topology *a = probe_machine(NULL, &e), *b = probe_machine(NULL, &e);
    assert_non_null(a);
    assert_non_null(b);
    topo_hash(a, first);
    topo_hash(b, second);
    assert_string_equal(first, second);
    topo_free(a);
    topo_free(b);
}

TEST_CASES(test_probe)
