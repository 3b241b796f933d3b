/* bench/fabric/fabric.c: a document comes back as it was written; hostile ones are refused with a place. */
#include <unistd.h>

#include "core/file.h"
#include "core/json.h"
#include "tests/lib/unit.h"
#include "tests/lib/whole.h"
#include "tests/unit/bench/made_up_fabric.h"

/* As a document, less the version that has written it. */
static char *saved(const struct verbs_fabric *f, const char *path)
{
    struct err e = {0};
    char *text, *tool;
    size_t bytes;
    assert_int_equal(verbs_fabric_save(f, path, &e), 0);
    assert_int_equal(file_read_text(path, FILE_LIMIT, f->arena, &text, &bytes, &e), 0);
    assert_non_null(tool = strstr(text, "\t\"tool\""));
    memmove(tool, strchr(tool, '\n') + 1, strlen(strchr(tool, '\n')));
    return text;
}

TEST_CASE(comes_back)
{
    char path[] = "/tmp/nccltune-fabric-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    struct verbs_fabric *f = full();
    f->ntries = 10; /* with one that failed */
    for (int complete = 0; complete < 2; complete++) {
        f->complete = complete;
        const char *text = saved(f, path);
        if (complete)
            assert_whole(text, "tests/fixtures/bench/fabric-full.json");
        struct verbs_fabric *g = verbs_fabric_load(path, NULL);
        assert_non_null(g);
        assert_int_equal(g->complete, complete);
        assert_string_equal(saved(g, path), text);
        verbs_fabric_free(g);
    }
    verbs_fabric_free(f);
    unlink(path);
}

static void add_again(struct verbs_fabric *f, const struct verbs_fabric_try *again)
{
    cJSON *line = cJSON_CreateObject();
    cJSON_AddItemToObject(line, "again", verbs_fabric_json(VERBS_PART_TRY, again));
    assert_int_equal(verbs_fabric_add(f, line, NULL), 0);
    cJSON_Delete(line);
}

TEST_CASE(better_alone)
{
    struct verbs_fabric *f = make(&(struct world){.nodes = 2, .rails = 2});
    int n = f->ntries;
    for (int i = 0; i < n; i++) { /* each of them in turn */
        struct verbs_fabric_try again = f->tries[i];
        again.outcome.GBps = 99 + i;
        add_again(f, &again);
        assert_int_equal(f->ntries, n);
        assert_near(f->tries[i].outcome.GBps, 99 + i, 0);
    }
    f->tries[0] = f->tries[--f->ntries]; /* the first is not known: nothing is replaced */
    add_again(f, &(struct verbs_fabric_try){.outcome.pair = {{0, 0}, {0, 0}}});
    assert_int_equal(f->ntries, n);
    verbs_fabric_free(f);
}

/* Two nodes with two ports, and this. */
TEST_CASE(hostile)
{
    static const struct {
        const char *text, *says; /* NULL: it is as it should be */
    } cases[] =
        {
            {"\"ports\": [{\"node_index\": 1, \"rail\": 1}]", NULL},
            {"\"ports\": [{\"node_index\": 2, \"rail\": 0}]",
             "ports[0].node_index: expected a whole number from 0 to 1"},
            {"\"ports\": [{\"node_index\": -1, \"rail\": 0}]",
             "ports[0].node_index: expected a whole number from 0 to 1"},
            {"\"ports\": [{\"node_index\": 0, \"rail\": 2}]", "ports[0].rail: expected a whole number from 0 to 1"},
            {"\"ports\": [{\"node_index\": 0, \"rail\": -1}]", "ports[0].rail: expected a whole number from 0 to 1"},
            {"\"ports\": [{\"node_index\": 0}]", "ports[0].rail: expected a whole number from 0 to 1"},
            {"\"ports\": [{\"node_index\": 0, \"rail\": 0, \"rate_Gbps\": -1}]",
             "ports[0].rate_Gbps: expected a number from 0 to"},
            {"\"ports\": [{\"node_index\": 0, \"rail\": 0, \"gids\": [{\"index\": 4095, \"gid\": \"10.0.0.1\"}]}]",
             NULL},
            {"\"ports\": [{\"node_index\": 0, \"rail\": 0, \"gids\": [{\"index\": 4096, \"gid\": \"10.0.0.1\"}]}]",
             "ports[0].gids.index: expected a whole number from 0 to 4095"},
            {"\"ports\": [{\"node_index\": 0, \"rail\": 0, \"gids\": [{\"gid\": \"10.0.0.1\"}]}]",
             "ports[0].gids.index: expected a whole number from 0 to 4095"},
            {"\"ports\": [{\"node_index\": 0, \"rail\": 0, \"gids\": [{\"index\": 1, \"gid\": \"somewhere\"}]}]",
             "ports[0].gids: expected addresses in "},
            {"\"tries\": [{\"from\": [0, 0], \"to\": [1, 1], \"status\": \"ok\"}]", NULL},
            {"\"tries\": [{\"from\": [0, 0], \"to\": [0, 2], \"status\": \"ok\"}]",
             "tries[0].to: expected a whole number from 0 to 1"},
            {"\"tries\": [{\"from\": [2, 0], \"to\": [0, 1], \"status\": \"ok\"}]",
             "tries[0].from: expected a whole number from 0 to 1"},
            {"\"tries\": [{\"from\": [0, -1], \"to\": [0, 1], \"status\": \"ok\"}]",
             "tries[0].from: expected a whole number from 0 to 1"},
            {"\"tries\": [{\"from\": [-1, 0], \"to\": [0, 1], \"status\": \"ok\"}]",
             "tries[0].from: expected a whole number from 0 to 1"},
            {"\"tries\": [{\"from\": [0], \"to\": [0, 1], \"status\": \"ok\"}]",
             "tries[0].from: expected a whole number from 0 to 1"},
            {"\"tries\": [{\"from\": [0, 0], \"to\": [0, 1]}]", "tries[0].status: expected "},
            {"\"tries\": [{\"from\": [0, 0], \"to\": [1, 0], \"status\": \"ok\", \"write_GBps\": -6.2}]",
             "tries[0].write_GBps: expected a number from 0 to"},
            {"\"tries\": [{\"from\": [0, 0], \"to\": [1, 0], \"status\": \"ok\", \"both_GBps\": -6.2}]",
             "tries[0].both_GBps: expected a number from 0 to"},
            {"\"tries\": [{\"from\": [0, 0], \"to\": [1, 0], \"status\": \"ok\", \"messages_per_s\": -1}]",
             "tries[0].messages_per_s: expected a number from 0 to"},
            {"\"gpu_memory\": [{\"node_index\": 1, \"rail\": 1, \"gpu\": 1024}]", NULL},
            {"\"gpu_memory\": [{\"node_index\": 0, \"rail\": 0, \"gpu\": 0, \"send_GBps\": -1}]",
             "gpu_memory[0].send_GBps: expected a number from 0 to"},
            {"\"gpu_memory\": [{\"node_index\": 0, \"rail\": 0, \"gpu\": 0, \"receive_GBps\": -1}]",
             "gpu_memory[0].receive_GBps: expected a number from 0 to"},
            {"\"gpu_memory\": [{\"node_index\": 0, \"rail\": 0, \"gpu\": 1025}]",
             "gpu_memory[0].gpu: expected a whole number from 0 to 1024"},
            {"\"gpu_memory\": [{\"node_index\": 0, \"rail\": 0}]",
             "gpu_memory[0].gpu: expected a whole number from 0 to 1024"},
            {"\"gpu_memory\": [{\"node_index\": 2, \"rail\": 0, \"gpu\": 0}]",
             "gpu_memory[0].node_index: expected a whole number from 0 to 1"},
            {"\"gpu_memory\": [{\"node_index\": 0, \"rail\": 2, \"gpu\": 0}]",
             "gpu_memory[0].rail: expected a whole number from 0 to 1"},
            {"\"gpu_memory\": [{\"rail\": 0, \"gpu\": 0}]",
             "gpu_memory[0].node_index: expected a whole number from 0 to 1"},
            {"\"gpu_memory\": [{\"node_index\": 0, \"gpu\": 0}]",
             "gpu_memory[0].rail: expected a whole number from 0 to 1"},
            {"\"names\": [\"n0\", 7]", NULL},
            {"\"names\": [\"n0\"]", "\"names\" must have 2"},
            {"\"interfaces\": [{\"node_index\": 1, \"name\": \"eth0\", \"reached\": 1, \"tried\": 1}]", NULL},
            {"\"interfaces\": [{\"node_index\": 0, \"name\": \"eth0\", \"reached\": 0, \"tried\": 0}]", NULL},
            {"\"interfaces\": [{\"node_index\": 0, \"name\": \"eth0\", \"reached\": 2, \"tried\": 1}]",
             "interfaces[0].reached: expected no more than"},
            {"\"interfaces\": [{\"node_index\": 0, \"name\": \"eth0\", \"tried\": 1}]",
             "interfaces[0].reached: expected a whole number"},
            {"\"interfaces\": [{\"node_index\": 2, \"name\": \"eth0\", \"reached\": 1, \"tried\": 1}]",
             "interfaces[0].node_index: expected a whole number from 0 to 1"},
            {"\"interfaces\": [{\"name\": \"eth0\", \"reached\": 1, \"tried\": 1}]",
             "interfaces[0].node_index: expected a whole number from 0 to 1"},
            {"\"interfaces\": [{\"node_index\": 0, \"reached\": 1, \"tried\": 1}]",
             "interfaces[0].name: expected text"},
        },
      heads[] = {{"\"format\": \"nccltune-fabric/2\"", "nccltune-fabric"},
                 {"\"format\": \"nccltune-fabric/1\"", "\"nodes\" must be 1 to"},
                 {"\"format\": \"nccltune-fabric/1\", \"nodes\": 1e9, \"rails\": 8", "\"nodes\" must be 1 to"},
                 {"\"format\": \"nccltune-fabric/1\", \"nodes\": 1, \"rails\": 0", NULL},
                 {"\"format\": \"nccltune-fabric/1\", \"nodes\": 0, \"rails\": 0", "\"nodes\" must be 1 to"},
                 {"\"format\": \"nccltune-fabric/1\", \"nodes\": 1", "\"rails\" 0 to"},
                 {"\"format\": \"nccltune-fabric/1\", \"nodes\": 4096, \"rails\": 64", NULL},
                 {"\"format\": \"nccltune-fabric/1\", \"nodes\": 4097, \"rails\": 64", "\"nodes\" must be 1 to"},
                 {"\"format\": \"nccltune-fabric/1\", \"nodes\": 1, \"rails\": 65", "\"rails\" 0 to"}};
    char path[] = "/tmp/nccltune-fabric-XXXXXX";
    int fd = mkstemp(path);
    const size_t n = sizeof cases / sizeof *cases, all = n + sizeof heads / sizeof *heads;
    assert_true(fd >= 0);
    for (size_t i = 0; i < all; i++) {
        struct err e = {0};
        const char *says = i < n ? cases[i].says : heads[i - n].says;
        assert_int_equal(ftruncate(fd, 0), 0);
        lseek(fd, 0, SEEK_SET);
        dprintf(fd, "{%s%s}", i < n ? "\"format\": \"nccltune-fabric/1\", \"nodes\": 2, \"rails\": 2, " : "",
                i < n ? cases[i].text : heads[i - n].text);
        struct verbs_fabric *f = verbs_fabric_load(path, &e);
        if (!f != !!says || (says && (!strstr(e.text, says) || !strstr(e.text, path))))
            fail_msg("%s: %s", i < n ? cases[i].text : heads[i - n].text, e.text);
        verbs_fabric_free(f);
    }
    close(fd);
    unlink(path);
}

TEST_CASES(test_fabric)
