/* NCCL's settings in other programs' formats: each is read back by a reader of its own and gives exactly the settings,
 * whatever stands in names, reasons and values. The readers that a site has are asked in tests/e2e/formats.sh. */
#include <yaml.h>

#include "core/json.h"
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

/* EnvironmentFile= and --env-file: a line is a comment, blank, or NAME=value. */
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

/* Lines BEFORE name MIDDLE value AFTER; nothing else but comments and the lines of `heading`. */
static void read_lines(struct pairs *p, struct arena *a, char *text, const char *comment, const char *const shape[3],
                       const char *const *heading)
{
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        int known = !strncmp(line, comment, strlen(comment));
        for (int i = 0; heading[i] && !known; i++)
            known = !strncmp(line, heading[i], strlen(heading[i]));
        assert_true(line[strlen(line) - 1] != '\\');
        if (known)
            continue;
        assert_memory_equal(line, shape[0], strlen(shape[0]));
        char *name = line + strlen(shape[0]), *middle = strstr(name, shape[1]);
        assert_non_null(middle);
        char *value = middle + strlen(shape[1]), *after = value + strlen(value) - strlen(shape[2]);
        assert_true(after >= value);
        assert_string_equal(after, shape[2]);
        add(p, a, name, (size_t)(middle - name), value, (size_t)(after - value));
    }
}

static void read_lua(struct pairs *p, struct arena *a, char *text)
{
    static const char *const shape[] = {"pushenv(\"", "\", \"", "\")"}, *const heading[] = {"help([[", "whatis(", NULL};
    read_lines(p, a, text, "--", shape, heading);
}

static void read_tcl(struct pairs *p, struct arena *a, char *text)
{
    static const char *const shape[] = {"setenv ", " {", "}"}, *const heading[] = {"module-whatis {", NULL};
    assert_memory_equal(text, "#%Module1.0\n", 12);
    read_lines(p, a, text, "#", shape, heading);
}

static void read_json(struct pairs *p, struct arena *a, char *text)
{
    struct err e = {0};
    cJSON *doc = json_parse(text, strlen(text), "nccl.json", 1, &e);
    const cJSON *item;
    assert_non_null(doc);
    cJSON_ArrayForEach(item, doc)
    {
        assert_true(cJSON_IsString(item));
        add(p, a, item->string, strlen(item->string), item->valuestring, strlen(item->valuestring));
    }
    cJSON_Delete(doc);
}

static const char *scalar(yaml_document_t *doc, int node)
{
    yaml_node_t *n = yaml_document_get_node(doc, node);
    return n && n->type == YAML_SCALAR_NODE ? (const char *)n->data.scalar.value : "";
}

/* The map under `key` of the one document. */
static void read_yaml(struct pairs *p, struct arena *a, const char *text, const char *key)
{
    yaml_parser_t parser;
    yaml_document_t doc;
    yaml_node_t *found = NULL;
    yaml_parser_initialize(&parser);
    yaml_parser_set_input_string(&parser, (const unsigned char *)text, strlen(text));
    if (!yaml_parser_load(&parser, &doc))
        fail_msg("no YAML: %s in:\n%s", parser.problem, text);
    yaml_node_t *root = yaml_document_get_root_node(&doc);
    assert_int_equal(root->type, YAML_MAPPING_NODE);
    for (yaml_node_pair_t *i = root->data.mapping.pairs.start; i < root->data.mapping.pairs.top; i++)
        if (!strcmp(scalar(&doc, i->key), key))
            found = yaml_document_get_node(&doc, i->value);
    if (!found || found->type != YAML_MAPPING_NODE)
        fail_msg("no map '%s' in:\n%s", key, text);
    else
        for (yaml_node_pair_t *i = found->data.mapping.pairs.start; i < found->data.mapping.pairs.top; i++) {
            const char *name = scalar(&doc, i->key), *value = scalar(&doc, i->value);
            add(p, a, name, strlen(name), value, strlen(value));
        }
    yaml_document_delete(&doc);
    yaml_parser_delete(&parser);
}

static void read_k8s(struct pairs *p, struct arena *a, char *text)
{
    read_yaml(p, a, text, "data");
}

static void read_ansible(struct pairs *p, struct arena *a, char *text)
{
    read_yaml(p, a, text, "nccltune_nccl");
}

static const struct format {
    const char *name;
    void (*read)(struct pairs *p, struct arena *a, char *text);
} formats[] = {
    {"systemd", read_plain}, {"docker", read_plain}, {"lmod", read_lua},        {"tcl-module", read_tcl},
    {"json", read_json},     {"k8s", read_k8s},      {"ansible", read_ansible},
};
#define FORMATS (sizeof formats / sizeof *formats)

/* ---- tests --------------------------------------------------------------------------------------------------------
 */

static void check(struct arena *a, const struct format *f, struct env_setting *list, int n)
{
    const struct env_writer *writer = env_format(f->name);
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
    f->read(&found, a, text);
    for (int i = 0; i < n; i++) {
        if (!list[i].value)
            continue;
        assert_true(expected < found.count);
        assert_string_equal(found.items[expected].name, list[i].name);
        assert_string_equal(found.items[expected].value, list[i].value);
        expected++;
    }
    assert_int_equal(found.count, expected);
}

TEST_CASE(every_format_sets_exactly_the_settings)
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
    for (size_t f = 0; f < FORMATS; f++)
        for (int n = 0; n <= 4; n++) {
            struct arena *a = arena_new();
            check(a, &formats[f], list, n);
            arena_free(a);
        }
}

/* Texts that mean something to one of the readers, in any order. */
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
        for (size_t f = 0; f < FORMATS; f++)
            check(a, &formats[f], list, n);
        arena_free(a);
    }
    assert_true(written > 500);
}

TEST_CASE(unknown_formats)
{
    assert_null(env_format("toml"));
    assert_null(env_format(""));
    assert_string_equal(env_format("nvidia-csv")->file, "tuner.nvidia.csv");
}

TEST_CASES(test_formats)
