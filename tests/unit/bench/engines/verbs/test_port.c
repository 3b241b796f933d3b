/* bench/engines/verbs/port.c: ports are opened, and those that cannot be say why. */
#include "tests/unit/bench/engines/verbs/noted_verbs.h"

static int begin(void **state)
{
    begin_verbs();
    return 0;
}

TEST_CASE(ports_are_opened)
{
    attr.link_layer = IBV_LINK_LAYER_ETHERNET;
    struct verbs_port *p = verbs_port_open(arena, "n7", "mlx5_10", 7, &e);
    assert_non_null(p);
    assert_noted("open mlx5_10\nfree list\nquery port 7\n");
    assert_string_equal(p->name, "mlx5_10:7");
    assert_string_equal(p->gids.node, "n7");
    assert_string_equal(p->gids.port, "mlx5_10:7");
    assert_true(p->port == 7 && p->gids.count == 3 && !p->gids.infiniband && p->attr.lid == 5);
    assert_true(p->gids.gids[0].raw[15] == 'a' && p->gids.gids[0].roce == 0);
    assert_true(p->gids.gids[1].raw[15] == 0 && p->gids.gids[1].roce == 0);
    assert_true(p->gids.gids[2].raw[15] == 'c' && p->gids.gids[2].roce == 2);
    verbs_port_close(p);
    assert_noted("close device\n");
    verbs_port_close(NULL);
    attr.link_layer = IBV_LINK_LAYER_INFINIBAND;
    assert_true(verbs_port_open(arena, "n7", "mlx5_0", 7, &e)->gids.infiniband);
    assert_noted("open mlx5_0\nfree list\nquery port 7\n");
    static const int others[] = {1, 255};
    for (int i = 0; i < 2; i++) {
        asked_port = others[i];
        assert_int_equal(verbs_port_open(arena, "n7", "mlx5_0", asked_port, &e)->port, asked_port);
    }
}

TEST_CASE(ports_that_cannot_be_opened)
{
    static const struct {
        const char *hca;
        int port;
        enum call failing;
        const char *why, *noted;
    } rows[] = {
        {"mlx5_1", 7, NOTHING, "mlx5_1: no such RDMA device here (2 found)", "free list\n"},
        {"mlx5_0", 7, OPEN,
         "mlx5_0: opening the port failed: Permission denied (errno 13): no permission for "
         "/dev/infiniband/uverbs*",
         "open mlx5_0\nfree list\n"},
        {"mlx5_0", 0, NOTHING, "mlx5_0 has no port 0: Invalid argument", "open mlx5_0\nfree list\nclose device\n"},
        {"mlx5_0", 256, NOTHING, "mlx5_0 has no port 256: Invalid argument", "open mlx5_0\nfree list\nclose device\n"},
        {"mlx5_0", 7, QUERY, "mlx5_0 has no port 7: Permission denied",
         "open mlx5_0\nfree list\nquery port 7\nclose device\n"},
        {"mlx5_0", 7, NOTHING, "mlx5_0:7: reading GID 3: Operation not permitted",
         "open mlx5_0\nfree list\nquery port 7\nclose device\n"},
    };
    code = EACCES;
    attr.gid_tbl_len = 4;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        failing = rows[i].failing;
        assert_null(verbs_port_open(arena, "n7", rows[i].hca, rows[i].port, &e));
        assert_string_equal(e.text, rows[i].why);
        assert_int_equal(e.code, ERR_LACKS);
        assert_noted(rows[i].noted);
    }
}

TEST_CASE(lists_of_devices)
{
    static const struct {
        const char *list;
        int here;
    } rows[] = {{"mlx5_0:1", 1},         {"mlx5_10:1", 1}, {"mlx5_1:1", 0},           {"mlx5_100:1", 0},
                {"mlx5_0", 1},           {"", 1},          {"mlx5_0:1,mlx5_10:2", 1}, {"mlx5_0:1,mlx5_2:1", 0},
                {"mlx5_2:1,mlx5_0:1", 0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_int_equal(verbs_port_all_here(rows[i].list), rows[i].here);
}

TEST_CASES_EACH(main, begin, end)
