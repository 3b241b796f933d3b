/* probe/import/import.c: what a file is, its content tells; what is no machine is an error that says so. */
#include <fcntl.h>

#include "core/file.h"
#include "probe/topology/build.h"
#include "tests/lib/unit.h"
#include "tests/unit/probe/matrix.h"

static char folder[] = "/tmp/nccltune-import-XXXXXX";

static int make_folder(void **state)
{
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    return rmdir(folder);
}

/* Reads a file of that content; its error, or "" when it was taken. */
static const char *reading(struct arena *a, const char *content, size_t bytes)
{
    struct err e = {0};
    const char *path = arena_printf(a, "%s/x.xml", folder);
    assert_int_equal(file_write(path, content, bytes, &e), 0);
    struct topology *t = probe_files(&path, 1, NULL, &e);
    unlink(path);
    if (!t)
        assert_int_equal(e.code, ERR_FAILED);
    topo_free(t);
    return t ? "" : arena_strdup(a, e.text);
}

TEST_CASE(no_machine)
{
    static const struct {
        const char *content, *error;
    } cases[] = {
        {"", "x.xml: is empty"},
        {"hello", "x.xml:1: no known tool output: expected one of topology.json, NCCL topology, hwloc XML"},
        {"\n<graphs version=\"1\"/>",
         "x.xml:2: expected <system> (NCCL topology) or <topology> (hwloc XML) or <nvidia_smi_log> (nvidia-smi -q -x), "
         "found <graphs>"},
        {"<html/>", "no known tool output"},
        {"{", "x.xml:1:1: not valid JSON"},
        {"{\"a\": 1}", "expected \"format\": \"nccltune-topology/1\", found none"},
        {"{\"format\": \"nccltune-topology/2\"}", "format nccltune-topology/2 is "},
        {"<system version=\"1\"><cpu numaid=\"0\">\n", "x.xml:2:1: no element found"},
    };
    struct arena *a = arena_new();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *got = reading(a, cases[i].content, strlen(cases[i].content));
        if (!strstr(got, cases[i].error))
            fail_msg("'%s' instead of '%s'", got, cases[i].error);
    }
    assert_non_null(strstr(reading(a, "<sys\0tem/>", 10), "x.xml:1: contains a NUL byte"));
    static const char marked[] = "\xef\xbb\xbf<system version=\"1\"><cpu numaid=\"0\"/></system>";
    assert_string_equal(reading(a, marked, sizeof marked - 1), "");
    arena_free(a);
}

TEST_CASE(missing_and_large)
{
    struct arena *a = arena_new();
    struct err e;
    const char *path = arena_printf(a, "%s/none.xml", folder);
    assert_null(probe_files(&path, 1, NULL, &e));
    assert_non_null(strstr(e.text, "cannot be opened: No such file"));
    const char *directory = folder;
    assert_null(probe_files(&directory, 1, NULL, &e));
    assert_non_null(strstr(e.text, "is a directory"));
    /* One gigabyte, sparse. */
    path = arena_printf(a, "%s/large.xml", folder);
    int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, (off_t)1 << 30), 0);
    close(fd);
    assert_null(probe_files(&path, 1, NULL, &e));
    assert_non_null(strstr(e.text, "larger than the 64 MiB"));
    unlink(path);
    arena_free(a);
}

/* Every prefix of a good file is an error, or a machine: never a crash. */
TEST_CASE(truncated)
{
    static const char *const files[] = {FIXTURE "nccl_nvswitch.xml", FIXTURE "hwloc2_dgx1v.xml"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct arena *a = arena_new();
        struct err e;
        char *text;
        size_t bytes;
        assert_int_equal(file_read_text(files[i], FILE_LIMIT, a, &text, &bytes, &e), 0);
        while (bytes && text[bytes - 1] == '\n')
            bytes--;
        for (size_t n = 0; n < bytes; n += 1 + bytes / 97)
            assert_string_not_equal(reading(a, text, n), "");
        assert_string_equal(reading(a, text, bytes), "");
        arena_free(a);
    }
}

TEST_CASE(several)
{
    const char *paths[] = {FIXTURE "nccl_nvswitch.xml", FIXTURE "hwloc2_dgx1v.xml", FIXTURE "small.json"};
    struct err e;
    struct topology *t = probe_files(paths, 3, NULL, &e);
    assert_non_null(t);
    assert_int_equal(t->nhosts, 4);
    assert_string_equal(t->hosts[1].name, "hwloc2_dgx1v");
    assert_string_equal(t->hosts[3].name, "node2");
    assert_int_equal(t->hosts[3].class_index, 2);
    assert_int_equal(t->classes[t->hosts[3].class_index].ngpus, 2);
    assert_string_equal(t->source, "tests/fixtures/probe/nccl_nvswitch.xml, tests/fixtures/probe/hwloc2_dgx1v.xml, "
                                   "tests/fixtures/probe/small.json");
    topo_free(t);
}

/* Hosts of one class are folded into it while they are read: the same as when they are merged afterwards. */
TEST_CASE(folded)
{
    const char *paths[] = {FIXTURE "small.json", FIXTURE "nccl_mesh.xml", FIXTURE "small.json",
                           FIXTURE "nccl_mesh.xml"};
    struct err e;
    struct topology *at_once = probe_files(paths, 4, NULL, &e), *one_by_one = probe_hosts(paths, 4, NULL, &e);
    char x[SHA256_HEX], y[SHA256_HEX];
    assert_non_null(at_once);
    assert_non_null(one_by_one);
    classes_merge(at_once);
    topo_hash(at_once, x);
    topo_hash(one_by_one, y);
    assert_string_equal(x, y);
    assert_int_equal(one_by_one->nhosts, at_once->nhosts);
    for (int i = 0; i < at_once->nhosts; i++) {
        assert_string_equal(one_by_one->hosts[i].name, at_once->hosts[i].name);
        assert_int_equal(one_by_one->hosts[i].class_index, at_once->hosts[i].class_index);
    }
    topo_free(at_once);
    topo_free(one_by_one);
}

TEST_CASES_WITHIN(test_import, make_folder, remove_folder)
