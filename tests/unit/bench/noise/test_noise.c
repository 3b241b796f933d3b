/* What disturbs a measurement: signs of the double of NVML and of a copied /proc and /sys. */
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/noise/noise.h"
#include "tests/lib/unit.h"
#include "tests/unit/probe/tree.h"

static int use_double(void **state)
{
    char self[4096], library[sizeof self + 32];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 64);
    self[n > 0 ? n : 0] = 0;
    char *tests = strstr(self, "/unit/");
    if (!tests)
        return -1;
    *tests = 0;
    snprintf(library, sizeof library, "%s/doubles/fake_nvml.so", self);
    return setenv("NCCLTUNE_NVML", library, 1);
}

static const struct finding *found(const struct findings *all, const char *id)
{
    for (int i = 0; i < all->n; i++)
        if (!strcmp(all->list[i].id, id))
            return &all->list[i];
    return NULL;
}

/* Each sign by itself: its finding, about GPU 3, and no other. */
TEST_CASE(tells_every_sign_of_a_gpu)
{
    struct tree nowhere;
    static const struct {
        const char *sign, *id, *subject, *words;
        enum finding_severity severity;
    } cases[] = {
        {"slowed", "gpu-slowed", "GPU 3", "the hardware throttles it", FINDING_WARNING},
        {"heat", "gpu-heat", "GPU 3", "by heat", FINDING_WARNING},
        {"clocks", "gpu-clocks", "GPU 3", "limited by a setting", FINDING_NOTE},
        {"hot", "gpu-hot", "GPU 3", "within 3 C of", FINDING_WARNING},
        {"throttles", "gpu-heat-time", "GPU 3", " % of the time", FINDING_WARNING},
        {"capped", "gpu-power-time", "GPU 3", "power limit", FINDING_WARNING},
        {"neighbour", "gpu-processes", "GPU 3", "run on it: 2", FINDING_WARNING},
        {"busy", "gpu-busy", "GPU 3", "63 %", FINDING_WARNING},
        {"uncorrected", "ecc-uncorrected", "GPU 3", "memory errors: 7", FINDING_ERROR},
        {"corrected", "ecc-corrected", "GPU 3", "memory errors: 7", FINDING_NOTE},
        {"replays", "pcie-replays", "GPU 3", "PCIe replays: 7", FINDING_WARNING},
        {"nvlink", "nvlink-errors", "GPU 3", "meanwhile: ", FINDING_WARNING},
        {"xid", "xid", "GPU 3, Xid 79", "times: 3", FINDING_ERROR},
    };
    tree_begin(&nowhere);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena *a = arena_new();
        struct findings all = {.arena = a};
        setenv("FAKE_NVML_SIGNS", cases[i].sign, 1);
        noise_end(noise_begin(a), &all);
        const struct finding *f = found(&all, cases[i].id);
        if (!f || all.n != 1 || strcmp(f->subject, cases[i].subject) != 0 || !strstr(f->text, cases[i].words) ||
            f->severity != cases[i].severity || !f->advice)
            fail_msg("%s: %d findings: %s", cases[i].sign, all.n, all.n ? all.list[0].text : "");
        arena_free(a);
    }
    tree_end(&nowhere);
}

/* A process by the name of NVIDIA's MPS server, which holds the GPU for others, beside one by another name. */
TEST_CASE(the_mps_server_is_nobodys_job)
{
    static const char *const names[] = {"nvidia-cuda-mps-server", "python3"};
    struct tree nowhere;
    tree_begin(&nowhere);
    for (int i = 0; i < 2; i++) {
        int up[2];
        struct arena *a = arena_new();
        struct findings all = {.arena = a};
        assert_int_equal(pipe(up), 0);
        pid_t child = fork();
        if (!child) {
            prctl(PR_SET_NAME, names[i]);
            _exit(write(up[1], "", 1) != 1 || pause());
        }
        char byte;
        assert_int_equal(read(up[0], &byte, 1), 1);
        setenv("FAKE_NVML_SIGNS", "none", 1);
        setenv("FAKE_NVML_PROCESS", arena_printf(a, "%d", (int)child), 1);
        noise_end(noise_begin(a), &all);
        assert_int_equal(found(&all, "gpu-processes") != NULL, i);
        unsetenv("FAKE_NVML_PROCESS");
        unsetenv("FAKE_NVML_SIGNS");
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        close(up[0]);
        close(up[1]);
        arena_free(a);
    }
    tree_end(&nowhere);
}

TEST_CASE(says_nothing_of_quiet_ones)
{
    struct arena *a = arena_new();
    struct findings all = {.arena = a};
    struct tree nowhere;
    tree_begin(&nowhere);
    unsetenv("FAKE_NVML_SIGNS");
    noise_end(noise_begin(a), &all);
    assert_int_equal(all.n, 0);
    setenv("FAKE_NVML", "broken", 1);
    noise_end(noise_begin(a), &all);
    setenv("FAKE_NVML", "sick", 1);
    noise_end(noise_begin(a), &all);
    assert_int_equal(all.n, 0);
    unsetenv("FAKE_NVML");
    tree_end(&nowhere);
    arena_free(a);
}

/* ---- the node ---------------------------------------------------------------------------------------------------- */

static void put_quiet_node(struct tree *root)
{
    tree_file(root, "/proc/loadavg", "0.10 0.20 0.30 1/100 4242\n");
    tree_file(root, "/proc/pressure/cpu", "some avg10=1.50 avg60=0.00 avg300=0.00 total=1\n");
    tree_file(root, "/proc/stat", "cpu  10 20 30 40 50 60 70 1000 0 0\n");
    tree_file(root, "/sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count", "4\n");
    tree_file(root, "/sys/devices/system/cpu/cpu1/thermal_throttle/core_throttle_count", "5\n");
    tree_file(root, "/sys/devices/system/cpu/cpu0/cpufreq/scaling_max_freq", "3500000\n");
    tree_file(root, "/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", "3500000\n");
    tree_file(root, "/sys/class/infiniband/mlx5_0/ports/1/counters/symbol_error", "12\n");
    tree_file(root, "/sys/class/infiniband/mlx5_0/ports/1/counters/link_downed", "3\n");
}

TEST_CASE(tells_the_signs_of_a_node)
{
    static const struct {
        const char *file, *before, *after, *id, *subject, *words;
    } cases[] = {
        {"/proc/loadavg", "999.0 0 0 1/1 1\n", "0.0 0 0 1/1 1\n", "load", NULL, "busy before"},
        {"/proc/pressure/cpu", "some avg10=35.00\n", "some avg10=0.00\n", "cpu-pressure", NULL, "in 35 %"},
        {"/proc/stat", "cpu 1 2 3 4 5 6 7 1000\n", "cpu 1 2 3 4 5 6 7 900000\n", "cpu-stolen", NULL, "hypervisor"},
        {"/sys/devices/system/cpu/cpu1/thermal_throttle/core_throttle_count", "5\n", "8\n", "cpu-throttled", NULL,
         "by heat 3 times"},
        {"/sys/devices/system/cpu/cpu0/cpufreq/scaling_max_freq", "2800000\n", "2800000\n", "cpu-limited", NULL,
         "not use 20 %"},
        {"/sys/class/infiniband/mlx5_0/ports/1/counters/symbol_error", "12\n", "21\n", "port-errors",
         "mlx5_0:1, symbol_error", "meanwhile: 9"},
    };
    unsetenv("FAKE_NVML_SIGNS");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena *a = arena_new();
        struct findings all = {.arena = a};
        struct tree root;
        tree_begin(&root);
        put_quiet_node(&root);
        tree_file(&root, cases[i].file, cases[i].before);
        struct noise_watch *w = noise_begin(a);
        tree_file(&root, cases[i].file, cases[i].after);
        noise_end(w, &all);
        const struct finding *f = found(&all, cases[i].id);
        if (!f || all.n != 1 || !strstr(f->text, cases[i].words) ||
            (cases[i].subject && strcmp(f->subject, cases[i].subject) != 0))
            fail_msg("%s: %d findings: %s", cases[i].id, all.n, all.n ? all.list[0].text : "");
        tree_end(&root);
        arena_free(a);
    }
}

/* What grows is told, what was there before is not; nobody asks: nothing is read. */
TEST_CASE(tells_only_what_grew)
{
    struct arena *a = arena_new();
    struct findings all = {.arena = a};
    struct tree root;
    tree_begin(&root);
    put_quiet_node(&root);
    noise_end(noise_begin(a), &all);
    assert_int_equal(all.n, 0);
    noise_end(noise_begin(a), NULL);
    tree_end(&root);
    arena_free(a);
}

/* ---- other nodes ------------------------------------------------------------------------------------------------- */

static const struct finding *about(const struct findings *all, const char *subject)
{
    for (int i = 0; i < all->n; i++)
        if (all->list[i].subject && !strcmp(all->list[i].subject, subject))
            return &all->list[i];
    return NULL;
}

/* Each by what it was before, as this node's own are. */
TEST_CASE(tells_what_another_node_has_said)
{
    struct arena *a = arena_new();
    struct findings all = {.arena = a};
    noise_of_node("node7",
                  "at 100\nload 3.5 \ngpu-heat 0 GPU 3\ngpu-heat-time 10 GPU 1\n"
                  "at 110\nload 0.1 \ngpu-heat 1 GPU 3\nxid 3 GPU 3, Xid 79\ngpu-heat-time 15 GPU 1\nnonsense\n"
                  "unheard-of 4 GPU 9\ngpu-heat x GPU 2\n\ngpu-heat nan GPU 2\n"
                  "gpu-hot -20 GPU 1\ngpu-busy 90 GPU 1\nnvlink-errors 12 GPU 1\ngpu-power-time 900 GPU 1\n" /* new */,
                  &all);
    const struct {
        const char *subject, *id, *words;
    } wanted[] = {{"node7", "load", "busy before: a load of 3.5 for"},
                  {"node7, GPU 3", "gpu-heat", "throttled by heat"},
                  {"node7, GPU 3, Xid 79", "xid", "times: 3"},
                  {"node7, GPU 1", "gpu-heat-time", "in 50 % of the time"}};
    assert_int_equal(all.n, 4);
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        const struct finding *f = about(&all, wanted[i].subject);
        if (!f || strcmp(f->id, wanted[i].id) != 0 || !strstr(f->text, wanted[i].words))
            fail_msg("%s: %s", wanted[i].subject, f ? f->text : "nothing");
    }
    arena_free(a);
}

TEST_CASE(a_node_that_says_too_little_is_left_out)
{
    static const char *const cases[] = {"", "at 1\nload 99 \n", "load 99 \n", "at 1\nat 2\n", "\n\n"};
    struct arena *a = arena_new();
    struct findings all = {.arena = a};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        noise_of_node("node7", cases[i], &all);
    assert_int_equal(all.n, 0);
    arena_free(a);
}

/* Each kind where it begins to be worth telling, and right below; a thousand seconds pass. */
TEST_CASE(tells_from_its_threshold_on)
{
    static const struct {
        const char *kind;
        double told[2], not_told[2]; /* before and after */
        const char *sentence;
    } kinds[] = {
        {"load", {0.5, 9}, {0.49, 9}, "the machine was busy before: a load of 0.5 for each processor"},
        {"cpu-pressure",
         {20, 0},
         {19.9, 99},
         "the machine was busy before: something waited for a processor in 20 % of the time"},
        {"cpu-stolen", {0, 10}, {0, 9.9}, "the hypervisor kept 1 % of the processors' time"},
        {"cpu-throttled", {4, 5}, {5, 5}, "the processors were throttled by heat 1 times"},
        {"cpu-limited", {5, 0}, {4.9, 9}, "the processors may not use 5 % of their clock"},
        {"gpu-slowed", {0, 1}, {0.9, 0.9}, "the hardware throttles it, for heat or power"},
        {"gpu-heat", {1, 0}, {0, 0}, "it is throttled by heat"},
        {"gpu-clocks", {1, 1}, {0, 0}, "its clocks are limited by a setting"},
        {"gpu-hot", {-9, -5}, {-5.1, -6}, "it comes within 5 C of its throttling temperature"},
        {"gpu-heat-time", {7, 8}, {7, 7.9}, "it was throttled by heat in 0.1 % of the time"},
        {"gpu-power-time", {0, 50}, {0, 49}, "it was held at its power limit in 5 % of the time"},
        {"gpu-processes", {1, 0}, {0, 0}, "processes of others that run on it: 1"},
        {"gpu-busy", {5, 0}, {4.9, 9}, "before, it was busy in 5 % of the time"},
        {"ecc-uncorrected", {7, 8}, {7, 7}, "new uncorrected memory errors: 1"},
        {"ecc-corrected", {7, 8}, {7, 7}, "new corrected memory errors: 1"},
        {"pcie-replays", {7, 8}, {7, 7}, "new PCIe replays: 1"},
        {"nvlink-errors", {7, 8}, {7, 7}, "NVLink errors meanwhile: 1"},
        {"port-errors", {7, 1242}, {7, 7}, "errors meanwhile: 1.24e+03"},
        {"xid", {0, 1}, {0, 0}, "came meanwhile, times: 1"},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct arena *a = arena_new();
        struct findings all = {.arena = a};
        for (int told = 0; told < 2; told++) {
            const double *v = told ? kinds[i].told : kinds[i].not_told;
            noise_of_node(
                "n7",
                arena_printf(a, "at 1000\n%s %g it\nat 2000\n%s %g it\n", kinds[i].kind, v[0], kinds[i].kind, v[1]),
                &all);
            if (all.n != told)
                fail_msg("%s: %d findings where %d should be", kinds[i].kind, all.n, told);
        }
        assert_string_equal(finding_sentence(&all.list[0], a), arena_printf(a, "n7, it: %s", kinds[i].sentence));
        arena_free(a);
    }
}

/* The node's own load is not that of something on it. */
TEST_CASE(of_the_same_name_is_not_the_same)
{
    struct arena *a = arena_new();
    struct findings all = {.arena = a};
    noise_of_node("n7", "at 1\nload 3 \nload 0.1 GPU 1\nat 2\nload 0.1 GPU 1\nload 0.1 \n", &all);
    assert_int_equal(all.n, 1);
    assert_string_equal(finding_sentence(&all.list[0], a),
                        "n7: the machine was busy before: a load of 3 for each processor");
    arena_free(a);
}

TEST_CASE(prints_a_block_for_people)
{
    struct arena *a = arena_new();
    struct findings all = {.arena = a};
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    noise_print(&all, out);
    fflush(out);
    assert_int_equal(bytes, 0);
    finding_add(&all, FINDING_WARNING, "gpu-heat", "GPU 3", "it is hot")->advice = "fans";
    finding_add(&all, FINDING_NOTE, "load", NULL, "busy");
    noise_print(&all, out);
    fclose(out);
    assert_string_equal(text, "\nNoise:\n  warning gpu-heat: GPU 3: it is hot\n    fans\n  note load: busy\n");
    free(text);
    arena_free(a);
}

TEST_CASES_WITHIN(test_noise, use_double, NULL)
