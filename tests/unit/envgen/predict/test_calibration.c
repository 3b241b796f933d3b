/* Calibrations: narrower bands, and what they say nothing of. */
#include <unistd.h>

#include "core/coll.h"
#include "core/file.h"
#include "envgen/predict/predict.h"
#include "probe/machines/machines.h"
#include "tests/lib/unit.h"

static const uint64_t sizes[] = {8 << 10, 1 << 20, 32 << 20, 256 << 20};
#define SIZES (sizeof sizes / sizeof *sizes)

struct fixture {
    struct arena *arena;
    struct topology *topology;
    struct model_setup setup;
    char dir[32];
};

static struct fixture begin(void)
{
    struct err e = {0};
    struct fixture f = {.arena = arena_new(), .dir = "/tmp/calibration-XXXXXX"};
    f.topology = machine_topology("azure-ndv4", 2, &e);
    assert_non_null(f.topology);
    assert_non_null(mkdtemp(f.dir));
    f.setup.nccl = (struct nccl_setup){.topology = f.topology, .nodes = 2, .version = 22809};
    return f;
}

static void end(struct fixture *f)
{
    topo_free(f->topology);
    arena_free(f->arena);
    char command[80];
    snprintf(command, sizeof command, "rm -rf %s", f->dir);
    assert_int_equal(system(command), 0);
}

static struct model_time predict(const struct fixture *f, const struct model_factors *factors, uint64_t bytes)
{
    struct model_setup s = f->setup;
    s.factors = factors;
    struct model *m = model_new(&s, f->arena, NULL);
    struct model_time t;
    assert_int_equal(model_predict(m, &(struct model_call){COLL_ALLREDUCE, bytes, -1, -1, 0}, &t), 0);
    return t;
}

/* A journal of a machine whose parts take so much longer than the built-in ones, among lines that say nothing. */
static const char *journal(const struct fixture *f, const struct model_factors *truth)
{
    static const char line[] =
        "{\"engine\":\"%s\",\"collective\":\"allreduce\",\"bytes\":%llu,\"nodes\":2,\"ranks\":16,"
        "\"library\":\"%s\",\"launch\":{\"label\":\"%s\"},\"call\":{\"label\":\"default\"},"
        "\"round\":1,\"status\":\"ok\",\"times_us\":[%.3f,%.3f,%.3f]}\n";
    const char *text = "{\"format\":\"nccltune-results/1\"}\n";
    for (size_t i = 0; i < SIZES; i++) {
        double us = predict(f, truth, sizes[i]).us;
        text = arena_printf(f->arena, "%s", text);
        char *one = arena_alloc(f->arena, 4 * sizeof line + 400);
        int n = sprintf(one, line, "nccl", (unsigned long long)sizes[i], "NCCL 2.28.9", "default", us, us, us);
        n += sprintf(one + n, line, "mpi", (unsigned long long)sizes[i], "Open MPI 4.1.4", "default", 9., 9., 9.);
        sprintf(one + n, line, "nccl", (unsigned long long)sizes[i], "NCCL 2.28.9", "other", 7., 7., 7.);
        text = arena_printf(f->arena, "%s%s", text, one);
    }
    return text;
}

static void put(const char *path, const char *text)
{
    char *dir = strdup(path);
    assert_non_null(dir);
    *strrchr(dir, '/') = '\0';
    assert_int_equal(file_mkdirs(dir, NULL), 0);
    assert_int_equal(file_write(path, text, strlen(text), NULL), 0);
    free(dir);
}

TEST_CASE(what_was_measured_counts)
{
    struct fixture f = begin();
    struct model_setup s = f.setup;
    struct err e = {0};
    struct model_fit fit;
    const struct model_factors truth = {.time = {1.3, 1.8, 1.1, 1.6, 1.15}};
    const char *path = arena_printf(f.arena, "%s/own.jsonl", f.dir);
    put(path, journal(&f, &truth));
    assert_int_equal(calibration_load(path, &s, &fit, NULL, &e), 0);
    assert_ptr_equal(s.factors, &fit.factors);
    assert_int_equal(fit.used, SIZES);
    assert_true(fit.before > 1.12 && fit.spread < 1.06);
    /* Sizes between those that were measured: nearer, and with a narrower band that holds. */
    for (uint64_t bytes = 16 << 10; bytes <= 128 << 20; bytes *= 16) {
        double us = predict(&f, &truth, bytes).us;
        struct model_time before = predict(&f, NULL, bytes), now = predict(&f, &fit.factors, bytes);
        assert_true(fabs(now.us / us - 1) < fabs(before.us / us - 1));
        assert_true(now.high_us / now.low_us < before.high_us / before.low_us * 0.95);
        assert_true(now.low_us < us && us < now.high_us);
    }
    end(&f);
}

/* RDMA that was measured tells nothing of TCP: what the network takes is doubted there as ever. */
TEST_CASE(not_of_sockets)
{
    struct fixture f = begin();
    struct model_setup s = f.setup;
    struct err e = {0};
    struct model_fit fit;
    const struct model_factors truth = {.time = {1, 1, 1, 2, 1.5}};
    const char *path = arena_printf(f.arena, "%s/own.jsonl", f.dir);
    put(path, journal(&f, &truth));
    assert_int_equal(calibration_load(path, &s, &fit, NULL, &e), 0);
    assert_true(predict(&f, &fit.factors, 32 << 20).us > predict(&f, NULL, 32 << 20).us * 1.2);
    f.setup.nccl.sockets = 1;
    struct model_time before = predict(&f, NULL, 256 << 20), now = predict(&f, &fit.factors, 256 << 20);
    assert_true(now.us < before.us * 1.05);
    assert_true(now.high_us / now.us > before.high_us / before.us * 0.9);
    end(&f);
}

TEST_CASE(bad_files)
{
    struct fixture f = begin();
    struct model_setup s = f.setup;
    struct err e = {0};
    struct model_fit fit;
    const char *path = arena_printf(f.arena, "%s/own.jsonl", f.dir);
    assert_true(calibration_load(path, &s, &fit, NULL, &e));
    assert_non_null(strstr(e.text, path));
    put(path, "{\"format\":\"nccltune-results/1\"}\n");
    assert_true(calibration_load(path, &s, &fit, NULL, &e));
    put(path, "not a journal\n");
    assert_true(calibration_load(path, &s, &fit, NULL, &e));
    assert_non_null(strstr(e.text, path));
    end(&f);
}

TEST_CASES(test_calibration)
