/* The whole prober on machines of tests/fixtures/probe/situations.txt: each is written down as a copied /sys and
 * probed; its roles, its list of HCAs and its findings are compared. */
#include "core/file.h"
#include "probe/cluster/cluster.h"
#include "probe/findings/findings.h"
#include "probe/source/probe.h"
#include "tests/lib/unit.h"
#include "tests/unit/probe/matrix.h"
#include "tests/unit/probe/tree.h"

#define PCI "/sys/bus/pci/devices/"

/* A situation that is written down: where it was written to, and what has been placed there. */
struct situation {
    struct tree tree;
    const char *name;
    int numas;
    int below[16], alone[2]; /* functions below the switch of a GPU, on a NUMA node */
    int nguids;
    const char *fabrics; /* what ibnetdiscover prints; NULL: nobody ran it */
};

/* The value of "KEY=VALUE" in a line; `otherwise` if it is not there. */
static const char *value_of(struct situation *s, const char *line, const char *key, const char *otherwise)
{
    const char *at = strstr(line, arena_printf(s->tree.a, " %s=", key));
    if (!at)
        return otherwise;
    at += strlen(key) + 2;
    return arena_strndup(s->tree.a, at, strcspn(at, " "));
}

static void write_number(struct situation *s, const char *folder, const char *file, const char *text)
{
    tree_file(&s->tree, arena_printf(s->tree.a, "%s/%s", folder, file), arena_printf(s->tree.a, "%s\n", text));
}

/* A function of the PCI bus; a bridge has buses below it. */
static void write_function(struct situation *s, const char *path, const char *class_, const char *vendor,
                           const char *device, int numa, int first_bus, int last_bus)
{
    unsigned char config[64] = {
        [0x0e] = first_bus ? 1 : 0, [0x19] = (unsigned char)first_bus, [0x1a] = (unsigned char)last_bus};
    const char *address = strrchr(path, '/') + 1;
    const char *folder = arena_printf(s->tree.a, "/sys/devices%s", path);
    if (!access(arena_printf(s->tree.a, "%s%s", s->tree.root, folder), F_OK) &&
        !access(arena_printf(s->tree.a, "%s%s/class", s->tree.root, folder), F_OK))
        return;
    write_number(s, folder, "class", class_);
    write_number(s, folder, "vendor", vendor);
    write_number(s, folder, "device", device);
    write_number(s, folder, "numa_node", arena_printf(s->tree.a, "%d", numa));
    write_number(s, folder, "local_cpus", numa < 0 ? (s->numas > 1 ? "3" : "1") : numa ? "2" : "1");
    tree_bytes(&s->tree, arena_printf(s->tree.a, "%s/config", folder), config, sizeof config);
    tree_link(&s->tree, arena_printf(s->tree.a, PCI "%s", address),
              arena_printf(s->tree.a, "../../../devices%s", path));
}

/* The place of a function on card `slot` below the switch of GPU `gpu`; -1 and -2: a root port of NUMA node 0 or 1. */
static const char *write_card(struct situation *s, int gpu, int slot, const char *function, int numa)
{
    struct arena *a = s->tree.a;
    if (gpu < 0) {
        const char *port = arena_printf(a, "/pci000%d:10/000%d:10:%02x.0", -gpu, -gpu, slot + 1);
        write_function(s, port, "0x060400", "0x8086", "0x347a", numa, 0x11 + slot, 0x11 + slot);
        return arena_printf(a, "%s/000%d:%02x:00.%s", port, -gpu, 0x11 + slot, function);
    }
    int bus = 0x10 + 0x10 * (gpu % 8), domain = gpu < 8 ? 0 : 3;
    const char *port = arena_printf(a, "/pci%04x:%02x/%04x:%02x:01.0", domain, bus, domain, bus);
    const char *up = arena_printf(a, "%s/%04x:%02x:00.0", port, domain, bus + 1);
    const char *down = arena_printf(a, "%s/%04x:%02x:%02x.0", up, domain, bus + 2, slot);
    write_function(s, port, "0x060400", "0x8086", "0x347a", numa, bus + 1, bus + 15);
    write_function(s, up, "0x060400", "0x1000", "0xc030", numa, bus + 2, bus + 15);
    write_function(s, down, "0x060400", "0x1000", "0xc030", numa, bus + 3 + slot, bus + 3 + slot);
    return arena_printf(a, "%s/%04x:%02x:00.%s", down, domain, bus + 3 + slot, function);
}

/* "gpus 0-7 [device=2330] [numa=-1]": each below a switch of its own. */
static void write_gpus(struct situation *s, const char *line)
{
    char *end;
    int first = (int)strtol(line + strlen("gpus "), &end, 10);
    assert_int_equal(*end, '-');
    int last = (int)strtol(end + 1, NULL, 10);
    const char *numa = value_of(s, line, "numa", NULL);
    for (int i = first; i <= last; i++) {
        int node = numa ? (int)strtol(numa, NULL, 10) : s->numas > 1 ? i / ((last + 2) / 2) : 0;
        write_function(s, write_card(s, i, s->below[i]++, "0", node), "0x030200", value_of(s, line, "vendor", "0x10de"),
                       value_of(s, line, "device", "0x2330"), node, 0, 0);
    }
}

/* "switches 4": NVSwitches on NUMA node 0. */
static void write_switches(struct situation *s, const char *line)
{
    for (int i = 0; i < strtol(line + 9, NULL, 10); i++)
        write_function(s, write_card(s, -1, s->alone[0]++, "0", 0), "0x068000", "0x10de", "0x22a3", 0, 0, 0);
}

static void write_netdev(struct situation *s, const char *name, const char *device, const char *line)
{
    const char *folder = arena_printf(s->tree.a, "/sys/class/net/%s", name);
    const char *master = value_of(s, line, "master", NULL), *port_name = value_of(s, line, "phys", NULL);
    write_number(s, folder, "ifindex", "3");
    write_number(s, folder, "operstate", value_of(s, line, "oper", "up"));
    write_number(s, folder, "mtu", "4200");
    write_number(s, folder, "speed", value_of(s, line, "speed", "400000"));
    if (device)
        tree_link(&s->tree, arena_printf(s->tree.a, "%s/device", folder), device);
    if (master)
        tree_link(&s->tree, arena_printf(s->tree.a, "%s/master", folder), arena_printf(s->tree.a, "../%s", master));
    if (port_name)
        write_number(s, folder, "phys_port_name", port_name);
}

/* "bond NAME [oper=down]" */
static void write_bond(struct situation *s, const char *line)
{
    const char *name = arena_strndup(s->tree.a, line + 5, strcspn(line + 5, " "));
    write_netdev(s, name, NULL, line);
    tree_file(&s->tree, arena_printf(s->tree.a, "/sys/class/net/%s/bonding/mode", name), "802.3ad 4\n");
}

static void write_rdma_port(struct situation *s, const char *folder, const char *line, const char *netdev)
{
    int ethernet = !strcmp(value_of(s, line, "layer", "IB"), "Eth");
    write_number(s, folder, "state", strcmp(value_of(s, line, "state", "up"), "up") ? "1: DOWN" : "4: ACTIVE");
    write_number(s, folder, "rate", arena_printf(s->tree.a, "%s Gb/sec (4X NDR)", value_of(s, line, "rate", "400")));
    write_number(s, folder, "link_layer", ethernet ? "Ethernet" : "InfiniBand");
    write_number(s, folder, "sm_lid", value_of(s, line, "sm", "0x1"));
    write_number(s, folder, "lid", "0x5");
    const char *prefix = value_of(s, line, "prefix", "fe80:0000:0000:0000"), *gids = value_of(s, line, "gids", "v4");
    if (!strcmp(gids, "unread"))
        return;
    int none = !strcmp(gids, "none");
    write_number(s, folder, "gids/0",
                 none ? "0000:0000:0000:0000:0000:0000:0000:0000"
                      : arena_printf(s->tree.a, "%s:526b:4bff:feca:1f2e", prefix));
    write_number(s, folder, "gids/1", "0000:0000:0000:0000:0000:0000:0000:0000");
    if (ethernet && !none) {
        write_number(s, folder, "gids/1", "0000:0000:0000:0000:0000:ffff:0a00:0001");
        write_number(s, folder, "gid_attrs/types/1", "RoCE v2");
    }
    if (netdev && !none)
        write_number(s, folder, "gid_attrs/ndevs/0", netdev);
}

/* "nic HCA on GPU|node0|node1 [KEY=VALUE ...]": a function, its RDMA device and its interface; a further function of
 * the card that came last with fn=1, a virtual one with vf=PCI function of the card it is on. */
static void write_nic(struct situation *s, const char *line)
{
    struct arena *a = s->tree.a;
    char hca[64], where[16];
    int ethernet = !strcmp(value_of(s, line, "layer", "IB"), "Eth");
    assert_int_equal(sscanf(line, "nic %63s on %15s", hca, where), 2);
    int gpu = (int)(strncmp(where, "node", 4) != 0 ? strtol(where, NULL, 10) : -1 - strtol(where + 4, NULL, 10));
    const char *function = value_of(s, line, "fn", "0"), *numa = value_of(s, line, "numa", NULL);
    int *used = gpu < 0 ? &s->alone[-1 - gpu] : &s->below[gpu], slot = strcmp(function, "0") ? *used - 1 : (*used)++;
    int node = numa ? (int)strtol(numa, NULL, 10) : gpu < 0 ? -1 - gpu : s->numas > 1 ? gpu / 4 : 0;
    const char *path = write_card(s, gpu, slot, function, node), *address = strrchr(path, '/') + 1;
    const char *folder = arena_printf(a, "/sys/devices%s", path), *vf = value_of(s, line, "vf", NULL);
    write_function(s, path, ethernet ? "0x020000" : "0x020700", value_of(s, line, "vendor", "0x15b3"),
                   value_of(s, line, "device", "0x1021"), node, 0, 0);
    write_number(s, folder, "subsystem_vendor", "0x15b3");
    write_number(s, folder, "subsystem_device", value_of(s, line, "sub", "0x0001"));
    if (vf)
        tree_link(&s->tree, arena_printf(a, "%s/physfn", folder),
                  arena_printf(a, "../%.*s%s", (int)strlen(address) - 1, address, vf));
    const char *netdev = value_of(s, line, "net", ethernet ? arena_printf(a, "eth-%s", hca) : NULL);
    const char *drivers = value_of(s, line, "driver", NULL);
    if (drivers)
        tree_link(&s->tree, arena_printf(a, "%s/driver", folder), arena_printf(a, "../drivers/%s", drivers));
    if (netdev && access(arena_printf(a, "%s/sys/class/net/%s", s->tree.root, netdev), F_OK)) {
        write_netdev(s, netdev, arena_printf(a, "../../../devices%s", path), line);
        tree_link(&s->tree, arena_printf(a, "%s/net/%s", folder, netdev),
                  arena_printf(a, "../../../../class/net/%s", netdev));
    }
    if (!strcmp(hca, "-"))
        return;
    const char *device = arena_printf(a, "/sys/class/infiniband/%s", hca);
    tree_link(&s->tree, arena_printf(a, "%s/device", device), arena_printf(a, "../../../devices%s", path));
    static const char *const types[] = {"?", "1: CA", "2: switch", "3: router", "4: RNIC", "5: usNIC", "6: usNIC UDP"};
    write_number(s, device, "node_type", types[strtol(value_of(s, line, "type", "1"), NULL, 10)]);
    write_number(s, device, "board_id", value_of(s, line, "board", "MT_0000000838"));
    write_number(s, device, "fw_ver", "28.43.2566");
    const char *fabric = value_of(s, line, "fabric", NULL);
    write_number(s, device, "node_guid", arena_printf(a, "0000:0000:0000:%04x", ++s->nguids));
    if (fabric) /* two switches with a cable between them */
        s->fabrics =
            arena_printf(a,
                         "%sSwitch 40 \"S-%s0\" # \"leaf-%s\"\n[1] \"H-%016x\"[1]\n[2] \"S-%s1\"[2]\n"
                         "Switch 40 \"S-%s1\" # \"spine-%s\"\n",
                         s->fabrics ? s->fabrics : "", fabric, fabric, (unsigned)s->nguids, fabric, fabric, fabric);
    for (int port = 1; port <= strtol(value_of(s, line, "ports", "1"), NULL, 10); port++)
        write_rdma_port(s, arena_printf(a, "%s/ports/%d", device, port),
                        port == 1 ? line : arena_printf(a, "%s gids=none", strstr(line, "on ")), netdev);
}

static void write_processors(struct situation *s)
{
    tree_file(&s->tree, "/proc/cpuinfo", "processor : 0\n\nprocessor : 1\n\n");
    tree_file(&s->tree, "/proc/mounts", "");
    write_number(s, "/sys/devices/system/node", "online", s->numas > 1 ? "0-1" : "0");
    write_number(s, "/sys/devices/system/cpu", "online", s->numas > 1 ? "0-1" : "0");
    for (int i = 0; i < s->numas; i++) {
        const char *cpu = arena_printf(s->tree.a, "/sys/devices/system/cpu/cpu%d", i);
        const char *mask = arena_printf(s->tree.a, "%d", 1 << i);
        write_number(s, cpu, "online", "1");
        write_number(s, cpu, "topology/core_id", "0");
        write_number(s, cpu, "topology/physical_package_id", arena_printf(s->tree.a, "%d", i));
        write_number(s, cpu, "topology/thread_siblings", mask);
        write_number(s, cpu, "topology/core_siblings", mask);
        write_number(s, arena_printf(s->tree.a, "/sys/devices/system/node/node%d", i), "cpumap", mask);
    }
}

/* ---- what is expected -------------------------------------------------------------------------------------------- */

static int expect_list(const struct situation *s, const struct topo_class *c, const char *expected)
{
    struct arena *a = s->tree.a;
    const char *list = roles_hca_list(c, roles_of(c, a), a);
    if (!strcmp(expected, list ? list : "none"))
        return 1;
    print_error("%s: list %s instead of %s\n", s->name, list ? list : "none", expected);
    return 0;
}

/* "HCA ROLE part of the reason" */
static int expect_role(const struct situation *s, const struct topo_class *c, const char *line)
{
    char hca[64], role[64];
    int read = 0;
    assert_int_equal(sscanf(line, "%63s %63s %n", hca, role, &read), 2);
    const struct port_verdict *v = roles_of(c, s->tree.a);
    int at = topo_find_port(c, hca, 1);
    if (at >= 0 && !strcmp(role_name(v[at].role), role) && strstr(v[at].reason, line + read))
        return 1;
    print_error("%s: %s is %s (%s) instead of %s\n", s->name, hca, at < 0 ? "not there" : role_name(v[at].role),
                at < 0 ? "" : v[at].reason, line + strlen(hca) + 1);
    return 0;
}

/* "HCA part of what a rule sees": --why shows it. */
static int expect_evidence(const struct situation *s, const struct topo_class *c, const char *line)
{
    char hca[64];
    int read = 0;
    struct role_evidence *rows;
    assert_int_equal(sscanf(line, "%63s %n", hca, &read), 1);
    int at = topo_find_port(c, hca, 1), n = at < 0 ? 0 : roles_evidence(c, at, s->tree.a, &rows);
    for (int i = 0; i < n; i++)
        if (rows[i].seen && strstr(rows[i].seen, line + read))
            return 1;
    print_error("%s: no rule sees '%s'\n", s->name, line);
    return 0;
}

/* "ID part of its text, evidence or advice"; `wanted` 0: it must not be there. */
static int expect_finding(const struct situation *s, const struct topology *t, const char *line, int wanted)
{
    size_t id = strcspn(line, " ");
    const char *part = line[id] ? line + id + 1 : "";
    for (int i = 0; i < t->nfindings; i++) {
        const struct finding *f = &t->findings[i];
        if (strlen(f->id) == id && !strncmp(f->id, line, id) &&
            (strstr(f->text, part) || (f->evidence && strstr(f->evidence, part)) ||
             (f->advice && strstr(f->advice, part)))) {
            if (!wanted)
                print_error("%s: found %s: %s (%s)\n", s->name, f->id, f->text, f->evidence);
            return wanted;
        }
    }
    if (wanted)
        print_error("%s: did not find %s\n", s->name, line);
    return !wanted;
}

static int is_expectation(const char *line)
{
    static const char *const words[] = {"list ", "role ", "why ", "finding ", "without "};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!strncmp(line, words[i], strlen(words[i])))
            return 1;
    return 0;
}

static void write_line(struct situation *s, const char *line)
{
    if (!strncmp(line, "gpus ", 5))
        write_gpus(s, line);
    else if (!strncmp(line, "switches ", 9))
        write_switches(s, line);
    else if (!strncmp(line, "nic ", 4))
        write_nic(s, line);
    else if (!strncmp(line, "bond ", 5))
        write_bond(s, line);
    else if (!strncmp(line, "numas ", 6))
        s->numas = (int)strtol(line + 6, NULL, 10);
    else if (!strncmp(line, "file ", 5))
        write_number(s, "", arena_strndup(s->tree.a, line + 6, strcspn(line + 6, " ")), strchr(line + 6, ' ') + 1);
    else if (*line && *line != '#')
        fail_msg("%s: '%s' is nothing that a situation has", s->name, line);
}

static int expect_line(const struct situation *s, const struct topology *t, const char *line)
{
    const struct topo_class *c = &t->classes[0];
    const char *rest = strchr(line, ' ') + 1;
    return *line == 'l'               ? expect_list(s, c, rest)
           : !strncmp(line, "ro", 2)  ? expect_role(s, c, rest)
           : !strncmp(line, "why", 3) ? expect_evidence(s, c, rest)
                                      : expect_finding(s, t, rest, *line == 'f');
}

/* One situation of the file; returns whether all is as expected. */
static int try_situation(char *text)
{
    struct situation s = {.numas = 2};
    struct err e = {0};
    char *save, *lines[128];
    int n = 0, right = 1;
    tree_begin(&s.tree);
    sysfs_set_root(NULL);
    s.name = strtok_r(text, "\n", &save);
    for (char *line; (line = strtok_r(NULL, "\n", &save)) && n < 128;)
        lines[n++] = line;
    for (int i = 0; i < n; i++)
        if (!is_expectation(lines[i]))
            write_line(&s, lines[i]);
    write_processors(&s);
    struct topology *t = probe_sysroot(s.tree.root, NULL, &e);
    assert_non_null(t);
    if (s.fabrics) {
        tree_file(&s.tree, "/ibnetdiscover", s.fabrics);
        assert_int_equal(ibnetdiscover_read(t, arena_printf(s.tree.a, "%s/ibnetdiscover", s.tree.root), NULL, &e), 0);
    }
    findings_attach(t);
    for (int i = 0; i < n; i++)
        if (is_expectation(lines[i]))
            right &= expect_line(&s, t, lines[i]);
    topo_free(t);
    tree_end(&s.tree);
    return right;
}

TEST_CASE(every_situation)
{
    struct arena *a = arena_new();
    char *text;
    size_t bytes;
    int all = 0, right = 0;
    assert_int_equal(file_read_text("tests/fixtures/probe/situations.txt", FILE_LIMIT, a, &text, &bytes, NULL), 0);
    for (char *p = strstr(text, "\n### "), *next; p; p = next) {
        next = strstr(p + 1, "\n### ");
        if (next)
            *next = 0;
        all++;
        right += try_situation(p + 5);
        if (next)
            *next = '\n';
    }
    arena_free(a);
    print_message("%d of %d situations right\n", right, all);
    assert_int_equal(right, all);
}

TEST_CASES(test_situations)
