/* nccl.conf, as NCCL, docker's --env-file, systemd's EnvironmentFile and kubectl's --from-env-file read it: it gives
 * exactly the settings, whatever stands in names, reasons and values. */
#include "core/vars/text.h"
#include "envgen/write/write.h"
#include "tests/lib/unit.h"
#include "tests/unit/envgen/scratch.h"

#define MOST 8

struct pair {
    const char *name, *value;
};
struct pairs {
    struct pair items[MOST * 2];
    int count;
};

static char *print(struct arena *a, const struct env_writer *writer, struct env_setting *list, int n, struct err *e)
{
    struct env_decisions d = {
        .arena = a, .tool = "0.1.0", .topology = "", .settings = list, .nsettings = n, .nccl_source = ""};
    struct env_writing w = {.decisions = &d, .dir = "/profile", .scratch = a};
    char *text;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    int rc = writer->write(&w, out, e);
    fclose(out);
    char *copy = rc ? NULL : arena_strdup(a, text);
    free(text);
    return copy;
}

static void add(struct pairs *p, struct arena *a, const char *name, size_t n, const char *value, size_t m)
{
    assert_true(p->count < MOST * 2);
    p->items[p->count++] = (struct pair){arena_strndup(a, name, n), arena_strndup(a, value, m)};
}

/* ---- readers ------------------------------------------------------------------------------------------------------
 */

/* A line is a comment, blank, or NAME=value. */
static void read_plain(struct pairs *p, struct arena *a, char *text)
{
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        size_t n = strlen(line);
        assert_true(line[n - 1] != '\\');
        if (*line == '#')
            continue;
        char *equals = strchr(line, '=');
        if (!equals)
            fail_msg("no setting: %s", line);
        else
            add(p, a, line, (size_t)(equals - line), equals + 1, strlen(equals + 1));
    }
}

/* ---- tests --------------------------------------------------------------------------------------------------------
 */

static void check(struct arena *a, struct env_setting *list, int n)
{
    const struct env_writer *writer = env_writer_of("nccl.conf");
    struct pairs found = {0};
    struct err e = {0};
    int good = 1, expected = 0;
    assert_non_null(writer);
    for (int i = 0; i < n; i++)
        good &= !list[i].value || !env_check(list[i].name, list[i].value, NULL);
    char *text = print(a, writer, list, n, &e);
    if (!good) {
        assert_null(text);
        assert_true(*e.text);
        return;
    }
    assert_non_null(text);
    read_plain(&found, a, text);
    for (int i = 0; i < n; i++) {
        if (!list[i].value || !env_in_conf(list[i].name)) /* the others are nccl.sh's */
            continue;
        assert_true(expected < found.count);
        assert_string_equal(found.items[expected].name, list[i].name);
        assert_string_equal(found.items[expected].value, list[i].value);
        expected++;
    }
    assert_int_equal(found.count, expected);
}

TEST_CASE(exactly_the_settings)
{
    struct env_setting list[] = {
        {"nccl", "NCCL_IB_HCA", "=mlx5_0:1,mlx5_3:1", "measured on GPUs", "1.2x: faster # not a comment", 0},
        {"nccl", "NCCL_CROSS_NIC", NULL, "measured on GPUs", "nothing \"beats\" it\nNCCL_DEBUG=INFO", 0},
        {"nccl", "NCCL_NET_GDR_LEVEL", "SYS", "measured on GPUs", "ends with \\", 0},
        {"nccl", "NCCL_NET", "a;b:c^d+e-f", "topology",
         "\xe2\x80\xa8"
         "NCCL_DEBUG: x",
         0},
    };
    for (int n = 0; n <= 4; n++) {
        struct arena *a = arena_new();
        check(a, list, n);
        arena_free(a);
    }
}

/* Texts that mean something to a reader, in any order. */
static const char *hostile(struct arena *a, unsigned *seed)
{
    static const char *const parts[] = {"\n",
                                        "\r",
                                        "\\",
                                        "\"",
                                        "'",
                                        "$(id)",
                                        "`id`",
                                        "{{ x }}",
                                        "}",
                                        "{",
                                        "]]",
                                        "--",
                                        "#",
                                        ": ",
                                        "%h",
                                        "=",
                                        "^",
                                        ",",
                                        "eth0",
                                        "mlx5_0",
                                        "NCCL_DEBUG=INFO",
                                        "\xe2\x80\xa8",
                                        "\xc2\x85",
                                        "---",
                                        "\t",
                                        " ",
                                        "os.execute('x')",
                                        "[exec id]",
                                        "\x1b",
                                        "*",
                                        "&a",
                                        "\\\n"};
    const char *text = "";
    int n = (int)(rand_r(seed) % 4u) + 1;
    for (int i = 0; i < n; i++)
        text = arena_printf(a, "%s%s", text, parts[(size_t)rand_r(seed) % (sizeof parts / sizeof *parts)]);
    return text;
}

TEST_CASE(hostile_settings_are_refused_or_read_back)
{
    static const char *const names[] = {"NCCL_IB_HCA", "NCCL_SOCKET_IFNAME", "FI_PROVIDER"};
    unsigned seed = 20;
    int written = 0;
    for (int i = 0; i < 3000; i++) {
        struct arena *a = arena_new();
        struct env_setting list[MOST];
        int n = (int)(rand_r(&seed) % 3u) + 1, good = 1;
        for (int k = 0; k < n; k++) {
            int tame = rand_r(&seed) % 4u > 0;
            list[k] = (struct env_setting){"nccl",
                                           rand_r(&seed) % 9u ? names[k] : hostile(a, &seed),
                                           rand_r(&seed) % 4u == 0 ? NULL
                                           : tame                  ? arena_printf(a, "=eth%d,mlx5_%d:1", k, i)
                                                                   : hostile(a, &seed),
                                           "topology",
                                           hostile(a, &seed),
                                           0,
                                           NULL};
            good &= !list[k].value || !env_check(list[k].name, list[k].value, NULL);
        }
        written += good;
        check(a, list, n);
        arena_free(a);
    }
    assert_true(written > 500);
}

TEST_CASES(test_formats)
