/* probe/topology/topology_json.c: what is written is read back; what is wrong is named by its place. */
#include "core/json.h"
#include "tests/lib/unit.h"
#include "tests/unit/probe/matrix.h"

static char *text_of(const struct topology *t)
{
    cJSON *doc = topo_to_json(t);
    char *text = cJSON_Print(doc);
    cJSON_Delete(doc);
    assert_non_null(text);
    return text;
}

static struct topology *from_text(const char *text, struct err *e)
{
    cJSON *doc = json_parse(text, strlen(text), "t.json", 1, e);
    assert_non_null(doc);
    struct topology *t = topo_new();
    if (topo_add_json(t, doc, "t.json", e)) {
        topo_free(t);
        t = NULL;
    }
    cJSON_Delete(doc);
    return t;
}

TEST_CASE(values)
{
    struct err e;
    struct topology *t = topo_load(FIXTURE "small.json", &e);
    assert_non_null(t);
    const struct topo_class *c = &t->classes[0];
    assert_string_equal(t->tool, "0.1.0");
    assert_int_equal(t->nhosts, 2);
    assert_int_equal(c->nobjects, 7);
    assert_int_equal(c->objects[0].parent, -1);
    assert_int_equal(c->objects[3].parent, 2);
    assert_int_equal(c->objects[3].device, 0x2330);
    assert_int_equal(c->objects[3].pci_class, 0x030200);
    assert_int_equal(c->objects[6].numa, -1);
    assert_int_equal(c->gpus[0].mem_bytes, 85899345920);
    assert_int_equal(c->gpus[1].gdr, -1);
    assert_int_equal(c->gpus[1].sm, 0);
    assert_int_equal(c->ports[0].layer, TOPO_LINK_INFINIBAND);
    assert_int_equal(c->netdevs[0].object, -1);
    assert_string_equal(c->netdevs[0].addresses[1], "fe80::1/64");
    assert_int_equal(c->netdevs[0].naddresses, 2);
    assert_int_equal(c->links[1].peer_gpu, -1);
    assert_int_equal(c->links[1].peer_object, 6);
    assert_int_equal(c->nnotes, 1);
    assert_string_equal(matrix_words(c, t->arena), "GPU0 X NV18 PIX\nGPU1 NV18 X ?\nmlx5_0 PIX ? X\n");
    topo_free(t);
}

TEST_CASE(there_and_back)
{
    static const char *const files[] = {
        FIXTURE "small.json",         FIXTURE "nccl_nvswitch.xml", FIXTURE "nccl_mesh.xml",
        FIXTURE "nccl_rccl_xgmi.xml", FIXTURE "nccl_cloud.xml",    FIXTURE "nccl_quirks.xml",
        FIXTURE "nccl_groups.xml",    FIXTURE "nccl_c2c.xml",      FIXTURE "hwloc2_dgx1v.xml",
        FIXTURE "hwloc3_hidden.xml",  FIXTURE "hwloc1_power8.xml", FIXTURE "nccl_broadcom.xml"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct topology *t = load_one(files[i]);
        char path[] = "/tmp/nccltune-topology-XXXXXX", first[SHA256_HEX], second[SHA256_HEX];
        struct err e;
        int fd = mkstemp(path);
        assert_true(fd >= 0);
        close(fd);
        assert_int_equal(topo_save(t, path, &e), 0);
        struct topology *again = topo_load(path, &e);
        unlink(path);
        assert_non_null(again);
        char *before = text_of(t), *after = text_of(again);
        assert_string_equal(before, after);
        topo_hash(t, first);
        topo_hash(again, second);
        assert_string_equal(first, second);
        cJSON_free(before);
        cJSON_free(after);
        topo_free(again);
        topo_free(t);
    }
}

TEST_CASE(hash)
{
    char first[SHA256_HEX], other[SHA256_HEX];
    struct topology *t = load_one(FIXTURE "small.json");
    struct topo_class *c = &t->classes[0];
    topo_hash(t, first);
    /* What differs between identical machines, and what moves by itself. */
    c->name = "another";
    c->gpus[0].uuid = "GPU-1";
    c->ports[0].guid = NULL;
    c->netdevs[0].naddresses = 0;
    c->nnotes = 0;
    c->objects[3].link_GTps = 2.5;
    c->objects[3].link_GBps = 4;
    t->hosts[0].name = "elsewhere";
    topo_hash(t, other);
    assert_string_equal(first, other);
    c->netdevs[0].master = "docker0";
    topo_hash(t, other);
    assert_string_not_equal(first, other);
    /* A container's interface: whether it is there or not is the same machine. */
    char without[SHA256_HEX];
    c->netdevs[0].name = "veth9f2c";
    topo_hash(t, without);
    assert_string_equal(other, without);
    c->netdevs[0].master = NULL;
    c->objects[3].link_width = 8;
    topo_hash(t, without);
    assert_string_not_equal(other, without);
    topo_free(t);
}

TEST_CASE(hostile)
{
#define CLASS(inside) "{\"classes\": [{" inside "}]}"
#define OBJECTS       "\"objects\": [{\"kind\": \"numa\", \"numa\": 0}, {\"kind\": \"gpu\", \"parent\": 0}]"
    static const struct {
        const char *text, *error;
    } cases[] = {
        {"{}", "t.json: classes: expected an array"},
        {"{\"classes\": 3}", "classes: expected an array of at most 65536"},
        {"{\"classes\": [3]}", "t.json: classes[0]: expected an object"},
        {CLASS("\"objects\": 3"), "classes[0].objects: expected an array"},
        {CLASS("\"objects\": [3]"), "classes[0].objects[0]: expected an object"},
        {CLASS("\"objects\": [{\"kind\": \"moon\"}]"), "classes[0].objects[0].kind: expected one of \"numa\""},
        {CLASS("\"objects\": [{}]"), "classes[0].objects[0].kind: expected one of"},
        {CLASS("\"objects\": [{\"kind\": \"gpu\", \"parent\": 0}]"), "objects[0].parent: expected no value here"},
        {CLASS("\"objects\": [{\"kind\": \"numa\"}, {\"kind\": \"gpu\", \"parent\": 1}]"),
         "objects[1].parent: expected a whole number from 0 to 0"},
        {CLASS("\"objects\": [{\"kind\": \"numa\"}, {\"kind\": \"gpu\", \"parent\": -1}]"),
         "objects[1].parent: expected"},
        {CLASS("\"objects\": [{\"kind\": \"numa\"}, {\"kind\": \"gpu\", \"parent\": 0.5}]"),
         "objects[1].parent: expected"},
        {CLASS("\"objects\": [{\"kind\": \"numa\", \"numa\": 1e300}]"), "objects[0].numa: expected a whole number"},
        {CLASS("\"objects\": [{\"kind\": \"numa\", \"pci\": 3}]"), "objects[0].pci: expected text"},
        {CLASS("\"objects\": [{\"kind\": \"numa\", \"vendor\": \"0x12345\"}]"), "vendor: expected \"0x\" and up to 4"},
        {CLASS("\"objects\": [{\"kind\": \"numa\", \"pci_class\": \"12\"}]"), "pci_class: expected \"0x\" and up to 6"},
        {CLASS("\"objects\": [{\"kind\": \"numa\", \"link_GBps\": -1}]"), "link_GBps: expected a number from 0"},
        {CLASS(OBJECTS ", \"gpus\": [{\"object\": 2}]"), "gpus[0].object: expected a whole number from 0 to 1"},
        {CLASS(OBJECTS ", \"gpus\": [{\"object\": 0}]"),
         "gpus[0].object: expected the index of an object of the right"},
        {CLASS(OBJECTS ", \"gpus\": [{}]"), "classes[0].gpus[0].object: expected a whole number from 0 to 1"},
        {CLASS(OBJECTS ", \"gpus\": [{\"object\": 1, \"mem_bytes\": 1e20}]"), "mem_bytes: expected a whole number"},
        {CLASS(OBJECTS ", \"ports\": [{\"object\": 1, \"hca\": \"x\"}]"), "ports[0].object: expected the index"},
        {CLASS(OBJECTS ", \"ports\": [{}]"), "classes[0].ports[0].hca: expected text"},
        {CLASS(OBJECTS ", \"netdevs\": [{\"name\": \"a\", \"addresses\": [3]}]"),
         "addresses: expected an array of texts"},
        {CLASS(OBJECTS ", \"netdevs\": [{}]"), "classes[0].netdevs[0].name: expected text"},
        {CLASS(OBJECTS ", \"links\": [{\"fabric\": \"nvlink\", \"gpu\": 0}]"), "links[0].gpu: expected no value here"},
        {CLASS(OBJECTS
               ", \"gpus\": [{\"object\": 1}], \"links\": [{\"fabric\": \"nvlink\", \"gpu\": 0, \"peer_gpu\": 1}]"),
         "links[0].peer_gpu: expected a whole number from 0 to 0"},
        {CLASS(OBJECTS ", \"gpus\": [{\"object\": 1}], \"links\": [{\"gpu\": 0}]"), "links[0].fabric: expected one of"},
        {CLASS("\"notes\": \"x\""), "notes: expected an array of texts"},
        {"{\"classes\": [], \"hosts\": [{\"name\": \"a\", \"class\": 0}]}", "hosts[0].class: expected no value here"},
        {"{\"classes\": [{}], \"hosts\": [{\"class\": 0}]}", "hosts[0].name: expected text"},
        {"{\"classes\": [{}], \"hosts\": [3]}", "hosts[0]: expected an object"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct err e = {0};
        assert_null(from_text(cases[i].text, &e));
        assert_int_equal(e.code, ERR_FAILED);
        if (!strstr(e.text, cases[i].error))
            fail_msg("%s\n'%s' instead of '%s'", cases[i].text, e.text, cases[i].error);
    }
}

TEST_CASE(too_deep)
{
    struct arena *a = arena_new();
    const char *objects = "{\"kind\": \"numa\"}";
    for (int i = 0; i < 200; i++)
        objects = arena_printf(a, "%s, {\"kind\": \"switch\", \"parent\": %d}", objects, i);
    struct err e = {0};
    assert_null(from_text(arena_printf(a, "{\"classes\": [{\"objects\": [%s]}]}", objects), &e));
    assert_non_null(strstr(e.text, "classes[0].objects[65]: expected a tree of at most 64 levels"));
    arena_free(a);
}

TEST_CASES(test_topology_json)
