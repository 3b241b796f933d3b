/* Signs of a node: what is read from a copied /proc and /sys, and the way through text. */
#include <time.h>
#include <unistd.h>

#include "bench/noise/signs.h"
#include "tests/lib/unit.h"
#include "tests/unit/probe/tree.h"

#define CPU(n) "/sys/devices/system/cpu/cpu" n
#define PORT   "/sys/class/infiniband/mlx5_0/ports/1/counters/"

/* All that a node without GPUs tells now, in `a`. */
static const char *told(struct arena *a)
{
    struct signs s = {.arena = a};
    const char *text = "";
    signs_read(&s, NULL);
    for (int i = 0; i < s.n; i++)
        text = arena_printf(a, "%s%s %g %s\n", text, s.list[i].kind, s.list[i].value,
                            s.list[i].subject ? s.list[i].subject : "");
    return text;
}

/* Each by itself, with all that is told. */
TEST_CASE(what_a_node_tells)
{
    static const struct {
        struct {
            const char *path, *text;
        } files[6];
        const char *told;
    } cases[] = {
        {{{0}}, ""},
        {{{"/proc/pressure/cpu", "some avg10=35.50 avg60=0.00\n"}}, "cpu-pressure 35.5 \n"},
        {{{"/proc/pressure/cpu", "some total=1\n"}}, ""},
        {{{"/proc/stat", "cpu  1 2 3 4\n"}}, ""},
        {{{CPU("0") "/thermal_throttle/core_throttle_count", "0\n"}}, "cpu-throttled 0 \n"},
        {{{CPU("0") "/thermal_throttle/core_throttle_count", "4\n"},
          {CPU("1") "/thermal_throttle/core_throttle_count", "5\n"},
          {CPU("2") "/online", "1\n"}},
         "cpu-throttled 9 \n"},
        {{{CPU("0") "/cpufreq/scaling_max_freq", "3500\n"}, /* not limited, which may change meanwhile */
          {CPU("0") "/cpufreq/cpuinfo_max_freq", "3500\n"},
          {CPU("1") "/cpufreq/scaling_max_freq", "2800\n"},
          {CPU("1") "/cpufreq/cpuinfo_max_freq", "3500\n"},
          {CPU("2") "/cpufreq/scaling_max_freq", "3150\n"},
          {CPU("2") "/cpufreq/cpuinfo_max_freq", "3500\n"}},
         "cpu-limited 20 \n"},
        {{{CPU("0") "/cpufreq/scaling_max_freq", "2800\n"}, /* half of it known is nothing known */
          {CPU("1") "/cpufreq/cpuinfo_max_freq", "3500\n"}},
         ""},
        {{{CPU("0") "/cpufreq/scaling_max_freq", "3500\n"}, /* not limited, which may change meanwhile */
          {CPU("0") "/cpufreq/cpuinfo_max_freq", "3500\n"},
          {CPU("1") "/cpufreq/cpuinfo_max_freq", "3500\n"}},
         "cpu-limited 0 \n"},
        {{{PORT "symbol_error", "12\n"}, {PORT "link_downed", "3\n"}, {PORT "port_xmit_discards", "5\n"}},
         "port-errors 12 mlx5_0:1, symbol_error\nport-errors 3 mlx5_0:1, link_downed\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tree root;
        tree_begin(&root);
        for (int f = 0; f < 6 && cases[i].files[f].path; f++)
            tree_file(&root, cases[i].files[f].path, cases[i].files[f].text);
        assert_string_equal(told(root.a), cases[i].told);
        tree_end(&root);
    }
}

/* Load and stolen time are those of one processor, and that is in seconds. */
TEST_CASE(what_counts_for_each_processor)
{
    struct tree root;
    long cpus = sysconf(_SC_NPROCESSORS_ONLN), ticks = sysconf(_SC_CLK_TCK);
    tree_begin(&root);
    tree_file(&root, "/proc/loadavg", arena_printf(root.a, "%.2f 7.00 7.00 1/1 1\n", 0.75 * (double)cpus));
    tree_file(&root, "/proc/stat", arena_printf(root.a, "cpu  1 2 3 4 5 6 7 %ld 9 10\n", 12 * cpus * ticks));
    assert_string_equal(told(root.a), "load 0.75 \ncpu-stolen 12 \n");
    tree_end(&root);
}

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

TEST_CASE(a_list_says_when)
{
    struct tree root;
    struct arena *a = arena_new();
    struct signs s = {.arena = a};
    tree_begin(&root);
    tree_file(&root, "/proc/pressure/cpu", "some avg10=2\n");
    double before_s = now_s();
    signs_read(&s, NULL);
    assert_true(s.at_s >= before_s && s.at_s <= now_s());
    assert_int_equal(s.n, 1);
    assert_string_equal(s.list[0].kind, "cpu-pressure");
    tree_end(&root);
    arena_free(a);
}

/* Of more than two lists the first two; whatever is no sign, or stands in front of all lists, is left out. */
TEST_CASE(lists_out_of_text)
{
    static const struct {
        const char *text, *again;
        int n;
    } cases[] = {
        {"", "", 0},
        {"load 1 \n\n", "", 0},
        {"at 12.5\nload 3.5 \ngpu-heat 0.1 GPU 3, hot\nat 13\nload 3.5 \nat 14\nload 1 \n",
         "at 12.500\nload 3.5 \ngpu-heat 0.10000000000000001 GPU 3, hot\nat 13.000\nload 3.5 \n", 2},
        {"at x\nload 1 \nat 1\nload \nload x\nload x GPU 2\nload 5x GPU 2\n\nload\nload 5\nload 6 GPU",
         "at 1.000\nload 5 \nload 6 GPU\n", 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena *a = arena_new();
        struct signs lists[3] = {0};
        char *text = NULL;
        size_t bytes = 0;
        FILE *out = open_memstream(&text, &bytes);
        assert_int_equal(signs_parse(cases[i].text, a, lists), cases[i].n);
        for (int k = 0; k < cases[i].n; k++)
            signs_print(&lists[k], out);
        fclose(out);
        assert_string_equal(text, cases[i].again);
        assert_null(lists[2].arena);
        free(text);
        arena_free(a);
    }
}

TEST_CASES(test_signs)
