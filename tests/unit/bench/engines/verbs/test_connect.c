/* bench/engines/verbs/connect.c: which GIDs are tried, in which order. Connections themselves are tested in tests/vm.
 */
#include <errno.h>

#include "bench/engines/verbs/run.h"
#include "bench/engines/verbs/verbs.h"
#include "core/progress.h"
#include "tests/lib/unit.h"
#include "tests/unit/bench/made_up_fabric.h"

TEST_CASE(attempts)
{
    struct verbs_gid x_gids[5] = {{{0}}}, y_gids[5] = {{{0}}};
    struct verbs_gid_table x = {"n0", "p", 0, x_gids, 5}, y = {"n1", "p", 0, y_gids, 5};
    struct verbs_attempt a[VERBS_ATTEMPTS];
    assert_int_equal(verbs_attempts(&x, &y, VERBS_NCCL_NEWEST, a), 0);
    set_gid(&x, 0, "fe80::1", 2, 0);
    set_gid(&y, 0, "fe80::2", 2, 0);
    assert_int_equal(verbs_attempts(&x, &y, VERBS_NCCL_NEWEST, a), 1); /* NCCL's own choice, and of a kind: once */
    assert_int_equal(a[0].kind, VERBS_GID_V2_LINK_LOCAL);
    set_gid(&x, 2, "10.0.0.1", 2, 0);
    set_gid(&y, 4, "10.0.0.2", 2, 0);
    set_gid(&x, 3, "fd00::1", 2, 0);
    set_gid(&y, 1, "fd00::2", 2, 0);
    assert_int_equal(verbs_attempts(&x, &y, VERBS_NCCL_NEWEST, a), 3);
    assert_int_equal(a[0].lead, 2);
    assert_int_equal(a[0].follower, 4);
    assert_int_equal(a[1].kind, VERBS_GID_V2_IPV6);
    assert_int_equal(a[2].kind, VERBS_GID_V2_LINK_LOCAL);
    /* Before 2.21.5 NCCL takes index 0, which is tried first. */
    assert_int_equal(verbs_attempts(&x, &y, 22005, a), 3);
    assert_int_equal(a[0].kind, VERBS_GID_V2_LINK_LOCAL);
    assert_int_equal(a[1].kind, VERBS_GID_V2_IPV4);
    /* What the environment asks for comes first, and what works without it is known afterwards. */
    x.asked = "3";
    y.asked = "1";
    assert_int_equal(verbs_attempts(&x, &y, VERBS_NCCL_NEWEST, a), 3);
    assert_true(a[0].lead == 3 && a[0].follower == 1 && a[1].kind == VERBS_GID_V2_IPV4);
    x.asked = "17"; /* of no GID */
    assert_int_equal(verbs_attempts(&x, &y, VERBS_NCCL_NEWEST, a), 3);
    assert_int_equal(a[0].kind, VERBS_GID_V2_IPV4);
    x.infiniband = y.infiniband = 1;
    assert_int_equal(verbs_attempts(&x, &y, VERBS_NCCL_NEWEST, a), 1);
    assert_int_equal(a[0].lead, 0);
}

/* ---- connecting by them ------------------------------------------------------------------------------------------ */

/* In the place of pair.c and measure.c: which GIDs work, and what is asked. */
static const char *notes;
static char noted[2048];
static int works,
    proves; /* the GID's index on this side that can be connected by, and that data get through; -1 none */

static void note(const char *fmt, int n)
{
    size_t used = strlen(noted);
    snprintf(noted + used, sizeof noted - used, fmt, n);
    notes = noted;
}

int verbs_pair_connect(struct verbs_pair *p, const struct verbs_pair_setup *setup, const struct verbs_channel *channel,
                       struct err *e)
{
    assert_true(p && channel && setup->qps == 2 && setup->max_bytes == 8);
    note("gid %d;", setup->gid);
    p->nqps = setup->gid;
    return works >= 0 && setup->gid != works && setup->gid != proves ? err_set(e, ERR_FAILED, "not %d", setup->gid) : 0;
}

void verbs_pair_close(struct verbs_pair *p)
{
    note("close %d;", p->nqps);
}

int verbs_measure(struct verbs_pair *p, const struct verbs_shot *shot, int lead, struct verbs_figures *f, struct err *e)
{
    (void)f;
    assert_true(shot->test == VERBS_WRITE && shot->bytes == 8 && shot->samples == 1 && shot->patience_s == 7);
    note(lead ? "write %d;" : "read %d;", p->nqps);
    return p->nqps == proves || proves < 0 ? 0 : err_set(e, ERR_FAILED, "nothing comes by %d", p->nqps);
}

int verbs_pair_agree(const struct verbs_channel *c, const struct verbs_report *mine, struct verbs_report *theirs,
                     double deadline_s, struct err *e)
{
    return c && mine && theirs && deadline_s > 0 && e;
}

int verbs_pair_post(struct verbs_pair *p, int qp, uint64_t bytes, int signaled, uint64_t id,
                    char words[VERBS_FAILURE_TEXT])
{
    return p && words ? qp + signaled + (int)bytes + (int)id : 0;
}

int verbs_pair_poll(struct verbs_pair *p, uint64_t *id, char words[VERBS_FAILURE_TEXT])
{
    return p && id && words;
}

/* What a side has sent, and what the other side sends. */
static char sent[4096], comes[4096];
static int swap_error;

static int swap(void *user, const void *mine, void *theirs, size_t bytes, double deadline_s)
{
    double left_s = deadline_s - progress_now_s();
    (void)user;
    assert_true(bytes <= sizeof sent && left_s > 6 && left_s < 7.1);
    memcpy(sent, mine, bytes);
    memcpy(theirs, comes, bytes);
    return swap_error;
}

static struct verbs_attempt used;
static struct err e;

static int connect_port(struct verbs_port *port, int lead)
{
    static const struct verbs_channel channel = {swap, NULL, "n0 a", "n1 b"};
    const struct verbs_pair_setup setup = {.port = port, .gid = 99, .qps = 2, .max_bytes = 8, .patience_s = 7};
    struct verbs_pair p = {.nqps = 55};
    noted[0] = 0;
    notes = noted;
    e = (struct err){0};
    return verbs_connect(&p, &setup, &channel, lead, VERBS_NCCL_NEWEST, &used, &e);
}

/* IPv4 at 2 here and at 4 there, IPv6 at 3 and 1, link-local at 0 and 0. */
static struct verbs_gid here[70], there[70];
static struct verbs_port ports[2] = {{.gids = {"n0", "a", 0, here, 5}}, {.gids = {"n1", "b", 0, there, 5}}};

static int make_gids(void **state)
{
    memset(here, 0, sizeof here);
    memset(there, 0, sizeof there);
    ports[0].gids.count = ports[1].gids.count = 5;
    ports[0].gids.infiniband = ports[1].gids.infiniband = 0;
    set_gid(&ports[0].gids, 0, "fe80::1", 2, 0);
    set_gid(&ports[0].gids, 2, "10.0.0.1", 2, 0);
    set_gid(&ports[0].gids, 3, "fd00::1", 2, 0);
    set_gid(&ports[1].gids, 0, "fe80::2", 2, 0);
    set_gid(&ports[1].gids, 1, "fd00::2", 2, 0);
    set_gid(&ports[1].gids, 4, "10.0.0.2", 2, 0);
    works = proves = -1;
    swap_error = 0;
    return 0;
}

/* What the other side would say. */
static void hear_other(int side)
{
    memset(comes, 0, sizeof comes);
    connect_port(&ports[side], 0);
    memcpy(comes, sent, sizeof comes);
    here[0].proven = there[0].proven = 0;
}

TEST_CASE(the_first_that_works)
{
    static const struct {
        int works, proves, code;
        const char *notes, *why;
        int lead, follower, proven;
    } rows[] = {{2, 2, 0, "gid 2;write 2;", "", 2, 4, 2},
                {3, 3, 0, "gid 2;close 2;gid 3;write 3;", "not 2", 3, 1, 3},
                {2, 3, 0, "gid 2;write 2;close 2;gid 3;write 3;", "nothing comes by 2", 3, 1, 3},
                {0, 0, 0, "gid 2;close 2;gid 3;close 3;gid 0;write 0;", "not 2", 0, 0, 0},
                {9, 9, ERR_FAILED, "gid 2;close 2;gid 3;close 3;gid 0;close 0;", "not 2", 0, 0, -1}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        make_gids(NULL);
        hear_other(1);
        make_gids(NULL);
        works = rows[i].works;
        proves = rows[i].proves;
        assert_int_equal(connect_port(&ports[0], 1), rows[i].code);
        assert_string_equal(notes, rows[i].notes);
        assert_string_equal(e.text, rows[i].why);
        assert_true(used.lead == rows[i].lead && used.follower == rows[i].follower);
        for (int g = 0; g < 5; g++)
            assert_int_equal(here[g].proven, g == rows[i].proven);
    }
    make_gids(NULL); /* the other side goes by its own numbers */
    hear_other(0);
    make_gids(NULL);
    assert_int_equal(connect_port(&ports[1], 0), 0);
    assert_string_equal(notes, "gid 4;read 4;");
    assert_true(used.lead == 2 && used.follower == 4 && there[4].proven);
}

TEST_CASE(what_cannot_be_connected)
{
    char words[VERBS_FAILURE_TEXT], expected[VERBS_FAILURE_TEXT + 16];
    memset(comes, 0, sizeof comes); /* it has none at all */
    assert_int_equal(connect_port(&ports[0], 1), ERR_FAILED);
    assert_string_equal(e.text, "n0 a and n1 b have no kind of GID in common");
    assert_int_equal(connect_port(&ports[0], 0), ERR_FAILED);
    assert_string_equal(e.text, "n1 b and n0 a have no kind of GID in common");
    assert_string_equal(notes, "");
    swap_error = EPIPE;
    snprintf(expected, sizeof expected, "n0 a: %s", verbs_say_errno(words, VERBS_EXCHANGE, EPIPE));
    assert_int_equal(connect_port(&ports[0], 1), ERR_FAILED);
    assert_string_equal(e.text, expected);
}

TEST_CASE(infiniband_has_one_way)
{
    ports[0].gids.infiniband = ports[1].gids.infiniband = 1;
    hear_other(1);
    assert_int_equal(connect_port(&ports[0], 1), 0);
    assert_string_equal(notes, "gid 0;write 0;");
    assert_true(here[0].proven && !here[2].proven);
}

/* So many as are sent; empty ones and what is behind are not. */
TEST_CASE(of_very_many)
{
    ports[0].gids.count = ports[1].gids.count = 70;
    for (int side = 0; side < 2; side++) {
        memset(side ? there : here, 0, sizeof here);
        for (int i = 0; i < 64; i++)
            set_gid(&ports[side].gids, i, side ? "fd00::2" : "fd00::1", 2, 0);
        set_gid(&ports[side].gids, 66, side ? "10.0.0.2" : "10.0.0.1", 2, 0);
    }
    hear_other(1);
    assert_int_equal(connect_port(&ports[0], 1), 0);
    assert_int_equal(used.kind, VERBS_GID_V2_IPV6); /* the one by IPv4 is the 65th */
    for (int side = 0; side < 2; side++)
        (side ? there : here)[5] = (struct verbs_gid){{0}};
    hear_other(1);
    assert_int_equal(connect_port(&ports[0], 1), 0);
    assert_true(used.kind == VERBS_GID_V2_IPV4 && used.lead == 66 && used.follower == 66 && here[66].proven);
}

TEST_CASES_EACH(main, make_gids, NULL)
