/* NCCL's ways of reading values, row by row. */
#include "core/vars/parse.h"
#include "tests/lib/unit.h"

TEST_CASE(numbers)
{
    static const struct {
        const char *text;
        enum env_number how;
        int64_t value;
    } rows[] = {
        {"8", ENV_NUMBER, 8},
        {"-2", ENV_NUMBER, -2},
        {"0x20", ENV_NUMBER, 32},
        {" 7", ENV_NUMBER, 7},
        {"7 ", ENV_NUMBER, 7},
        {"0", ENV_NUMBER, 0},
        {"00", ENV_NUMBER, 0},
        {"07", ENV_NUMBER, 7},
        {"010", ENV_NUMBER_OCTAL, 8},
        {"-010", ENV_NUMBER_OCTAL, -8},
        {"08", ENV_NUMBER_OCTAL, 0},
        {"8M", ENV_NUMBER_TRAILING, 8},
        {"1,2", ENV_NUMBER_TRAILING, 1},
        {"true", ENV_NUMBER_WORD, 0},
        {"-", ENV_NUMBER_WORD, 0},
        {"", ENV_NUMBER_EMPTY, -77},
        {"9223372036854775807", ENV_NUMBER, INT64_MAX},
        {"9223372036854775808", ENV_NUMBER_RANGE, -77},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        int64_t value = -77;
        enum env_number how = env_parse_number(rows[i].text, &value);
        if (how != rows[i].how || value != rows[i].value)
            fail_msg("'%s': %d, %lld", rows[i].text, (int)how, (long long)value);
    }
}

TEST_CASE(device_lists)
{
    static const struct {
        const char *list, *name;
        int port, selected;
    } rows[] = {
        {"mlx5_1", "mlx5_1", 1, 1},
        {"mlx5_1", "mlx5_10", 1, 1},
        {"=mlx5_1", "mlx5_10", 1, 0},
        {"=mlx5_1", "mlx5_1", 2, 1},
        {"=mlx5_1:1", "mlx5_1", 2, 0},
        {"=mlx5_1:-1", "mlx5_1", 2, 1},
        {"=mlx5_1:", "mlx5_1", 2, 1},
        {"=mlx5_1:x", "mlx5_1", 1, 0},
        {"^mlx5_1", "mlx5_10", 1, 0},
        {"^=mlx5_1", "mlx5_10", 1, 1},
        {"^=mlx5_1", "mlx5_1", 1, 0},
        {"=^mlx5_1", "mlx5_1", 1, 0},
        {"", "anything", 1, 1},
        {",,", "anything", 1, 1},
        {"=a,,b", "b", 1, 1},
        {"mlx5_0,^mlx5_1", "mlx5_1", 1, 0},
        {"=mlx5_0:1:2:3", "mlx5_0", 1, 1},
        {"eth", "eth0", -1, 1},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct env_devices d;
        env_parse_devices(rows[i].list, &d);
        if (env_devices_select(&d, rows[i].name, rows[i].port) != rows[i].selected)
            fail_msg("'%s' and %s:%d", rows[i].list, rows[i].name, rows[i].port);
    }
    struct env_devices d;
    env_parse_devices("^=mlx5_0:1:2:3", &d);
    assert_true(d.exclude && d.exact && d.count == 1);
    assert_int_equal(d.list[0].port, 1);
    assert_int_equal(d.list[0].rail, 2);
    env_parse_devices("a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,b,c", &d);
    assert_int_equal(d.count, ENV_NAMES_MAX);
    assert_int_equal(d.dropped, 2);
}

#define BIT(x) (1u << (x))

TEST_CASE(algorithms)
{
    enum { NEW = 22809, OLD = 22304 };
    const unsigned all = BIT(ALGO_COUNT) - 1;
    static const struct {
        const char *text;
        int version;
        unsigned allreduce, broadcast; /* bits; ~0u: not touched */
        const char *unknown;
    } rows[] = {
        {"Ring", NEW, BIT(ALGO_RING), BIT(ALGO_RING), NULL},
        {"ring,TREE", NEW, BIT(ALGO_RING) | BIT(ALGO_TREE), BIT(ALGO_RING) | BIT(ALGO_TREE), NULL},
        {"^Ring", NEW, (BIT(ALGO_COUNT) - 1) & ~BIT(ALGO_RING), (BIT(ALGO_COUNT) - 1) & ~BIT(ALGO_RING), NULL},
        {"allreduce:tree", NEW, BIT(ALGO_TREE), ~0u, NULL},
        {"allreduce,reduce:^tree", NEW, (BIT(ALGO_COUNT) - 1) & ~BIT(ALGO_TREE), ~0u, NULL},
        {"Ring;allreduce:tree", NEW, BIT(ALGO_TREE), BIT(ALGO_RING), NULL},
        {"allreduce:tree;Ring", NEW, BIT(ALGO_RING), BIT(ALGO_RING), "Ring"},
        {"allreduce:tree;allreduce:ring", NEW, BIT(ALGO_RING), ~0u, NULL},
        {"Rings", NEW, 0, 0, "Rings"},
        {"Tree, Ring", NEW, BIT(ALGO_TREE), BIT(ALGO_TREE), " Ring"},
        {"alltoall:ring", NEW, ~0u, ~0u, "alltoall"},
        {"broadcast:ring", 22403, ~0u, BIT(ALGO_RING), NULL},
        {"broadcast:ring", 22402, 0, 0, "broadcast:ring"},
        {"allreduce:tree", OLD, 0, 0, "allreduce:tree"},
        {"^nvls", OLD, (BIT(ALGO_COUNT) - 1) & ~BIT(ALGO_NVLS), (BIT(ALGO_COUNT) - 1) & ~BIT(ALGO_NVLS), NULL},
        {"PAT", 22203, 0, 0, "PAT"},
        {"", NEW, ~0u, ~0u, NULL},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct env_choice c;
        env_parse_algo(rows[i].text, rows[i].version, &c);
        unsigned want_ar = rows[i].allreduce == ~0u ? all : rows[i].allreduce;
        unsigned want_bc = rows[i].broadcast == ~0u ? all : rows[i].broadcast;
        int unknown_ok = rows[i].unknown ? c.unknown && strlen(rows[i].unknown) == c.unknown_length &&
                                               !memcmp(rows[i].unknown, c.unknown, c.unknown_length)
                                         : !c.unknown;
        if (c.allowed[COLL_ALLREDUCE] != want_ar || c.allowed[COLL_BROADCAST] != want_bc || !unknown_ok ||
            c.touched[COLL_ALLREDUCE] != (rows[i].allreduce != ~0u))
            fail_msg("'%s' at %d: %#x %#x, unknown %s", rows[i].text, rows[i].version, c.allowed[COLL_ALLREDUCE],
                     c.allowed[COLL_BROADCAST], c.unknown ? c.unknown : "none");
    }
    assert_int_equal(env_algos_of(COLL_BROADCAST, NEW), BIT(ALGO_RING));
    assert_int_equal(env_algos_of(COLL_ALLREDUCE, NEW), all & ~BIT(ALGO_PAT));
    assert_true(env_algos_of(COLL_ALLGATHER, NEW) & BIT(ALGO_PAT));
    assert_false(env_algos_of(COLL_ALLGATHER, 22203) & BIT(ALGO_PAT));
}

TEST_CASE(protocols)
{
    struct env_choice c;
    env_parse_proto("^LL128", 22809, &c);
    assert_int_equal(c.allowed[COLL_REDUCE], BIT(PROTO_LL) | BIT(PROTO_SIMPLE));
    env_parse_proto("^LL", 22809, &c);
    assert_int_equal(c.allowed[COLL_REDUCE], BIT(PROTO_LL128) | BIT(PROTO_SIMPLE));
    env_parse_proto("reduce:simple", 22304, &c); /* one unknown word: nothing is left */
    assert_int_equal(c.allowed[COLL_REDUCE], 0);
}

TEST_CASE(words)
{
    struct env_choice c;
    env_parse_algo("alltoall:ring", 22809, &c);
    assert_int_equal(c.unknown_is_function, 1);
    env_parse_algo("Rings", 22809, &c);
    assert_int_equal(c.unknown_is_function, 0);
    static const struct {
        const char *text;
        int version;
        const char *level;
    } levels[] = {
        {"PHB", 22809, "PHB"}, {"phb", 22809, NULL}, {"P2C", 22809, "P2C"}, {"P2C", 22602, NULL}, {"C2C", 22602, "C2C"},
        {"0", 22809, "LOC"},   {"3", 22809, "PHB"},  {"9", 22809, "SYS"},   {"-1", 22809, NULL},  {"3x", 22809, NULL},
    };
    for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++) {
        const char *level = env_parse_level(levels[i].text, levels[i].version);
        assert_string_equal(level ? level : "none", levels[i].level ? levels[i].level : "none");
    }
    assert_string_equal(env_parse_merge_level("PORT"), "PORT");
    assert_string_equal(env_parse_merge_level("PIXEL"), "PIX"); /* by its beginning */
    assert_null(env_parse_merge_level("port"));
    assert_string_equal(env_parse_debug("Info"), "INFO");
    assert_null(env_parse_debug("DEBUG"));
    size_t n;
    assert_null(env_parse_subsys("^INIT,coll", &n));
    assert_non_null(env_parse_subsys("INIT,COLLS", &n));
    assert_int_equal(n, 5);
    assert_int_equal(env_parse_groups("a,b;c,d"), 0);
    assert_int_equal(env_parse_groups("a;;b"), 0);
    assert_int_equal(env_parse_groups("a,b;,"), -1);
    assert_int_equal(env_parse_cta_policy("2", 22703), 1);
    assert_int_equal(env_parse_cta_policy("0", 22703), 1);
    assert_int_equal(env_parse_cta_policy("3", 22902), 0);
    assert_int_equal(env_parse_cta_policy("00", 22902), 0);
    assert_int_equal(env_parse_cta_policy("ZERO|efficiency", 22902), 1);
    assert_int_equal(env_parse_cta_policy("ZERO", 22809), 0);
    assert_int_equal(env_parse_cta_policy("NONE", 22902), 0);
    assert_int_equal(env_parse_netdevs("Max:2"), 1);
    assert_int_equal(env_parse_netdevs("auto") && env_parse_netdevs("All"), 1);
    assert_int_equal(env_parse_netdevs("MAX:1"), 1);
    assert_int_equal(env_parse_netdevs("MAX:0"), 0);
    assert_int_equal(env_parse_netdevs("MIN:2"), 0);
}

TEST_CASE(conf_lines)
{
    static const struct {
        const char *line;
        int keep_cr;
        const char *name, *value; /* NULL: sets nothing */
    } rows[] = {
        {"A=1", 0, "A", "1"},         {"#A=1", 0, NULL, NULL},
        {" #A=1", 0, " #A", "1"},     {"A", 0, NULL, NULL},
        {"A=b=c", 0, "A", "b=c"},     {"A= 1 # x", 0, "A", " 1 # x"},
        {"A=\"1\"", 0, "A", "\"1\""}, {"export A=1", 0, "export A", "1"},
        {"A=1\r", 0, "A", "1"},       {"A=1\r", 1, "A", "1\r"},
        {"A=", 0, "A", ""},           {"=x", 0, "", "x"},
        {"", 0, NULL, NULL},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct env_line out;
        int set = env_parse_conf_line(rows[i].line, strlen(rows[i].line), rows[i].keep_cr, &out);
        assert_int_equal(set, rows[i].name != NULL);
        if (!rows[i].name)
            continue;
        assert_int_equal(out.name_length, strlen(rows[i].name));
        assert_memory_equal(out.name, rows[i].name, out.name_length);
        assert_int_equal(out.value_length, strlen(rows[i].value));
        assert_memory_equal(out.value, rows[i].value, out.value_length);
        assert_false(out.cut);
    }
    char line[2 * ENV_CONF_MAX + 8];
    for (int i = 0; i < 4; i++) { /* the name, the value, or both are longer than is kept */
        struct env_line out;
        int name = ENV_CONF_MAX + i % 2, value = ENV_CONF_MAX + i / 2;
        snprintf(line, sizeof line, "%0*d=%0*d", name, 0, value, 0);
        assert_int_equal(env_parse_conf_line(line, strlen(line), 0, &out), 1);
        assert_int_equal(out.cut, i > 0);
        assert_int_equal(out.name_length, ENV_CONF_MAX);
        assert_int_equal(out.value_length, ENV_CONF_MAX);
    }
}

TEST_CASES(test_parse)
