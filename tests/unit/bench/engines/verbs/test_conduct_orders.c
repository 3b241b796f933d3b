/* bench/engines/verbs/conduct.c over ports that only answer: fabrics of many nodes, what an earlier run has found, and
 * processes that send nonsense or end. Defines what the conductor uses of bench/launch/agents.h, so that the real ones
 * are not linked. */
#include <arpa/inet.h>

#include "bench/engines/verbs/conduct.h"
#include "core/json.h"
#include "core/progress.h"
#include "tests/lib/unit.h"

#define MOST 256

static FILE *out; /* what is noted */
static struct agent items[MOST];
static struct agents agents = {.items = items};
static struct verbs_conductor c;
static struct verbs_order orders[MOST]; /* that have not been answered */
static char waiting[MOST];
static int hellos, too_long, answered; /* the last turn that was */
static void (*law)(int rank, const struct verbs_order *o, struct verbs_answer *a);
static void (*before)(agents_hear *hear, void *user); /* what comes before the answers */
static enum agents_event then;                        /* what comes of waiting for who does not answer */
static struct err e;

static int broken; /* no port can be opened */

static struct verbs_who who_of(int rank)
{
    int rails = c.rails ? c.rails : 1;
    struct verbs_who w = {.rate_Gbps = 100};
    snprintf(w.node, sizeof w.node, "n%d", rank / rails);
    if (c.rails)
        snprintf(w.port, sizeof w.port, "m%d", rank % rails);
    if (broken)
        snprintf(w.failure, sizeof w.failure, "%s/%s is broken", w.node, w.port);
    return w;
}

/* ---- the agents ---- */

int agents_start(struct agents *s, int i, const struct agents_order *o, int first_rank)
{
    assert_ptr_equal(s, &agents);
    assert_int_equal(i, first_rank / o->copies);
    fprintf(out, "start");
    for (int k = 0; o->argv[k]; k++)
        fprintf(out, " %s", o->argv[k]);
    fprintf(out, " x%d from %d%s\n", o->copies, first_rank, o->frames ? "" : " bytes");
    hellos += too_long ? 0 : c.rails ? c.rails : 1;
    return -too_long;
}

/* Both sides of a try are told the same, each from its own end. */
static void look_at_order(int rank, const struct verbs_order *o)
{
    static const char *const names[] = {"rest", "try", "gpu", "gpus", "port", "proven", "listen", "try nets", "deafen"};
    int rails = c.rails ? c.rails : 1;
    assert_true(o->mine.node == rank / rails && o->mine.rail == rank % rails);
    if (o->what != VERBS_TRY && o->what != VERBS_TRY_GPU) {
        fprintf(out, "%d: %s %d\n", rank, names[o->what], o->number);
        return;
    }
    struct verbs_who peer = who_of(o->other);
    assert_int_equal(o->peer.node * rails + o->peer.rail, o->other);
    assert_string_equal(o->theirs, arena_printf(c.arena, "%s %s", peer.node, peer.port));
    assert_string_equal(o->failure, peer.failure);
    fprintf(out, "%d: %s %s %d%s", rank, names[o->what], o->lead ? "leads" : "with", o->other,
            o->brief ? " brief" : "");
    if (o->what == VERBS_TRY_GPU)
        fprintf(out, " %d%s", o->number, o->owns ? " its own" : "");
    fputc('\n', out);
}

void agents_send(struct agents *s, int i, int message, int rank, const void *body, size_t bytes)
{
    int rails = c.rails ? c.rails : 1;
    assert_ptr_equal(s, &agents);
    if (message == VERBS_ORDER) {
        assert_true(bytes == sizeof *orders && i == rank / rails);
        memcpy(&orders[rank], body, bytes);
        assert_true(orders[rank].turn == c.turn && c.turn > answered);
        assert_true(orders[rank].brief == 0 || orders[rank].brief == 1);
        look_at_order(rank, &orders[rank]);
        waiting[rank] = 1;
    } else if (message == VERBS_NET_LIST) {
        assert_int_equal(bytes, sizeof(struct verbs_net_list));
        fprintf(out, "%d.%d: nets of %s\n", i, rank, ((const struct verbs_net_list *)body)->nets[0].name);
    } else {
        assert_int_equal(message, VERBS_SWAP);
        fprintf(out, "%d.%d: %d bytes\n", i, rank, (int)bytes);
    }
}

static int hear_from(agents_hear *hear, void *user, int agent, int message, int rank, const void *body, size_t bytes)
{
    const struct frame f = {{.message = (uint16_t)message, .rank = rank, .bytes = (uint32_t)bytes}, body};
    return hear(user, agent, &f);
}

static void answer(int rank, struct verbs_answer *a)
{
    *a = (struct verbs_answer){.GBps = 10, .both_GBps = 19, .latency_us = 2, .messages_per_s = 5};
    if (orders[rank].what == VERBS_TRY_NETS) {
        a->count = c.nodes - 1;
        a->reached[0] = rank;
    }
    if (orders[rank].back)
        a->back_GBps = 10;
    if (law)
        law(rank, &orders[rank], a);
}

static struct verbs_net_list nets_of(int node)
{
    struct verbs_net_list l = {.n = 1};
    struct sockaddr_in *in = (struct sockaddr_in *)&l.nets[0].address;
    snprintf(l.nets[0].name, sizeof l.nets[0].name, "eth%d", node);
    *in = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(0x0a000001u + (unsigned)node)};
    return l;
}

enum agents_event agents_wait(struct agents *s, double *deadline_s, volatile sig_atomic_t *stop, agents_hear *hear,
                              void *user, int *lost)
{
    int rails = c.rails ? c.rails : 1;
    assert_true(s == &agents && deadline_s == &c.deadline_s && user == &c);
    answered = c.turn;
    if (stop && *stop)
        return AGENTS_STOPPED;
    if (before)
        before(hear, user);
    for (int r = 0; r < hellos; r++) {
        struct verbs_who w = who_of(r);
        if (hear_from(hear, user, r / rails, VERBS_WHO, r, &w, sizeof w) && r + 1 == hellos) {
            hellos = 0;
            return AGENTS_ENOUGH;
        }
    }
    for (int r = MOST - 1; r >= 0; r--) {
        struct verbs_answer a;
        if (!waiting[r])
            continue;
        waiting[r] = 0;
        struct verbs_net_list nets = nets_of(r / rails);
        if (orders[r].what == VERBS_LISTEN)
            assert_int_equal(hear_from(hear, user, r / rails, VERBS_NET_LIST, r, &nets, sizeof nets), 0);
        answer(r, &a);
        if (hear_from(hear, user, r / rails, VERBS_ANSWER, r, &a, sizeof a)) {
            for (int k = 0; k < r; k++)
                assert_false(waiting[k]);
            return AGENTS_ENOUGH;
        }
    }
    *lost = 1;
    return then;
}

void agents_kill(struct agents *s, double patience_s, agents_last_words *last, void *user)
{
    assert_true(s == &agents && patience_s == 2 && !last && !user);
    fprintf(out, "kill\n");
}

/* What other engines want of the same file; nobody calls it here. */
int agents_open(struct agents *s, const struct bench_setup *setup, double patience_s, volatile sig_atomic_t *stop,
                struct err *why)
{
    return s && setup && patience_s > 0 && stop ? err_set(why, ERR_FAILED, "no agents here") : ERR_FAILED;
}

void agents_close(struct agents *s)
{
    (void)s;
}

int agents_begin_beside(struct agents *s, const char *const *argv, struct err *why)
{
    return s && argv ? err_set(why, ERR_FAILED, "no agents here") : ERR_FAILED;
}

struct agents_answer *agents_end_beside(struct agents *s, double deadline_s, struct arena *a, struct err *why)
{
    (void)a;
    err_set(why, ERR_FAILED, "%p, %g s", (void *)s, deadline_s);
    return NULL;
}

/* ---- the conductor ---- */

static void say(void *user, cJSON *o)
{
    char *line = cJSON_PrintUnformatted(o);
    assert_ptr_equal(user, &agents);
    fprintf(out, "  %s\n", line);
    free(line);
    cJSON_Delete(o);
}

static void show(void *user, int round, int of)
{
    assert_ptr_equal(user, &agents);
    fprintf(out, "round %d of %d\n", round, of);
}

static int open_fabric(const char *title, int nodes, int rails)
{
    fprintf(out, "== %s\n", title);
    for (int n = 0; n < nodes; n++)
        snprintf(items[n].host, sizeof items[n].host, "n%d", n);
    agents.count = nodes;
    answered = 0;
    e = (struct err){0};
    c = (struct verbs_conductor){.agents = &agents,
                                 .ports = "PORTS",
                                 .nccl = 22809,
                                 .rails = rails,
                                 .deadline_s = 1,
                                 .say = say,
                                 .show = show,
                                 .user = &agents};
    return verbs_conduct_begin(&c, &e);
}

/* Nothing special any more. */
static void finish(void)
{
    verbs_conduct_end(&c);
    verbs_conduct_end(&c); /* once is enough */
    law = NULL;
    before = NULL;
    broken = too_long = hellos = 0;
    then = AGENTS_LATE;
    memset(waiting, 0, sizeof waiting);
}

static void conduct(const char *title, int nodes, int rails, const char *schedule)
{
    if (open_fabric(title, nodes, rails))
        fail_msg("%s: %s", title, e.text);
    verbs_conduct_run(&c, schedule);
    fprintf(out, "%d outcomes, over %d%s%s\n", c.noutcomes, c.over, c.why.code ? ": " : "", c.why.text);
    finish();
}

static int rounds_seen, last_turn;

static void count_rounds(int rank, const struct verbs_order *o, struct verbs_answer *a)
{
    (void)rank, (void)a;
    rounds_seen += o->what == VERBS_TRY && o->turn != last_turn;
    last_turn = o->turn;
}

/* Every two ports of a rail once each way, in the rounds in which each two of n nodes meet once: one measurement more
 * in a try, and as many tries as one way would take. */
TEST_CASE(both_ways_in_the_time_of_a_try)
{
    static const char *const schedules[] = {"rails", "brief-rails", "reach"};
    for (int nodes = 2; nodes <= 9; nodes++)
        for (int rails = 1; rails <= 3; rails++)
            for (int s = 0; s < 3; s++) {
                out = fopen("/dev/null", "w");
                rounds_seen = 0;
                law = count_rounds;
                assert_int_equal(open_fabric("both ways", nodes, rails), 0);
                verbs_conduct_run(&c, schedules[s]);
                int met[32][32] = {{0}}, rounds = nodes % 2 ? nodes : nodes - 1;
                for (int i = 0; i < c.noutcomes; i++) {
                    const struct verbs_try *t = &c.outcomes[i].pair;
                    met[t->from.node * rails + t->from.rail][t->to.node * rails + t->to.rail]++;
                }
                for (int x = 0; x < nodes * rails; x++)
                    for (int y = 0; y < nodes * rails; y++) {
                        int other = x / rails != y / rails, same = x % rails == y % rails;
                        if (s == 2 || same)
                            assert_int_equal(met[x][y], other);
                        assert_int_equal(met[x][y], met[y][x]);
                    }
                assert_true(rounds_seen <= rounds * (s == 0 ? 1 + (rails > 1) : s == 1 ? 1 : rails));
                finish();
                fclose(out);
            }
}

/* Up to 64 nodes all the others are tried, beyond those 1, 2, 4 ... further. */
TEST_CASE(interfaces_of_many_nodes)
{
    static const struct {
        int nodes, lists;
    } rows[] = {{2, 2}, {64, 64 * 63}, {65, 65 * 7}, {129, 129 * 8}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char *text = NULL;
        size_t bytes = 0;
        int lists = 0;
        out = open_memstream(&text, &bytes);
        conduct("nodes", rows[i].nodes, 0, "rails");
        fclose(out);
        for (const char *p = text; (p = strstr(p, ": nets of ")); p++)
            lists++;
        assert_int_equal(lists, rows[i].lists);
        free(text);
    }
}

/* ---- what an earlier run has found ---- */

TEST_CASE(what_is_known_is_not_tried)
{
    static struct verbs_fabric_try tries[] = {
        {.outcome = {{{0, 2}, {0, 1}}, VERBS_GOOD, 10, NULL}, .gid_index = {3, 1}},
        {.outcome = {{{0, 0}, {0, 1}}, VERBS_FAILED, 0, NULL}, .gid_index = {2, 2}},
        {.outcome = {{{0, 1}, {0, 0}}, VERBS_GOOD, 10, NULL}, .gid_index = {0, 0}}};
    static const struct verbs_fabric known = {.tries = tries, .ntries = 3};
    char *text = NULL;
    size_t bytes = 0;
    out = open_memstream(&text, &bytes);
    assert_int_equal(open_fabric("earlier", 1, 3), 0);
    verbs_conduct_recall(&c, &known);
    assert_int_equal(c.recalled, 3);
    assert_int_equal(c.turn, 3);
    assert_true(c.records[0].good == 1 && c.records[0].failed == 1 && c.records[2].good == 1);
    fflush(out);
    assert_string_equal(text, "== earlier\nstart {bin}/nccltune verbs-port PORTS 22809 {rank} {local} x3 from 0\n"
                              "1: proven 0\n2: proven 2\n");
    verbs_conduct_run(&c, "brief-matrix");
    fclose(out);
    assert_int_equal(c.noutcomes, 6);
    for (int i = 0; i < c.noutcomes; i++)
        for (int k = 0; k < i; k++)
            assert_memory_not_equal(&c.outcomes[i].pair, &c.outcomes[k].pair, sizeof c.outcomes[k].pair);
    free(text);
    out = fopen("/dev/null", "w");
    finish();
    fclose(out);
}

/* A run may end between any two parts: the way back is never what is missing. */
static char told[4096];

static void note_try(void *user, cJSON *o)
{
    const cJSON *t = cJSON_GetObjectItem(o, "try");
    char *text = t ? cJSON_PrintUnformatted(t) : NULL;
    if (text)
        snprintf(told + strlen(told), sizeof told - strlen(told), "%s\n", text);
    free(text);
    cJSON_Delete(o);
}

static int leader; /* of the last try */

static void note_leader(int rank, const struct verbs_order *o, struct verbs_answer *a)
{
    (void)a;
    leader = o->what == VERBS_TRY && o->lead ? rank : leader;
}

TEST_CASE(the_way_back_is_told_first)
{
    out = fopen("/dev/null", "w");
    assert_int_equal(open_fabric("back", 2, 1), 0);
    c.say = note_try;
    law = note_leader;
    told[0] = 0;
    verbs_conduct_run(&c, "rails");
    assert_int_equal(c.noutcomes, 2);
    assert_true(c.outcomes[0].pair.from.node == !leader && c.outcomes[1].pair.from.node == leader);
    assert_non_null(strchr(told, '\n'));
    assert_int_not_equal(*(strchr(told, '\n') + 1), 0);
    finish();
    fclose(out);
}

/* ---- what comes from processes ---- */

static void chatter(agents_hear *hear, void *user)
{
    const struct verbs_swap late = {1, c.turn - 1}, now = {1, c.turn}, nobody = {2, c.turn}, below = {-1, c.turn},
                            first = {0, c.turn};
    struct verbs_answer a = {.GBps = 77};
    static const char good[] = "{\"port\":{}}", list[] = "[1]", none[] = "no";
    if (!waiting[0])
        return;
    hear_from(hear, user, 0, VERBS_SWAP, 0, &late, sizeof late);
    hear_from(hear, user, 0, VERBS_SWAP, 0, &nobody, sizeof nobody);
    hear_from(hear, user, 0, VERBS_SWAP, 0, &below, sizeof below);
    hear_from(hear, user, 0, VERBS_SWAP, 0, &now, sizeof now - 1);
    fprintf(out, "now\n");
    assert_int_equal(hear_from(hear, user, 0, VERBS_SWAP, 0, &now, sizeof now), 0);
    assert_int_equal(hear_from(hear, user, 0, VERBS_SWAP, 1, &first, sizeof first), 0);
    assert_int_equal(hear_from(hear, user, 0, VERBS_LINE, 0, good, sizeof good - 1), 0);
    hear_from(hear, user, 0, VERBS_LINE, 0, list, sizeof list - 1);
    hear_from(hear, user, 0, VERBS_LINE, 0, none, sizeof none - 1);
    hear_from(hear, user, 0, VERBS_LINE, 0, none, 0);
    /* Not of this node, nor of these ranks; not of the right size. */
    assert_int_equal(hear_from(hear, user, 1, VERBS_ANSWER, 0, &a, sizeof a), 0);
    assert_int_equal(hear_from(hear, user, 0, VERBS_ANSWER, 2, &a, sizeof a), 0);
    assert_int_equal(hear_from(hear, user, 0, VERBS_ANSWER, -1, &a, sizeof a), 0);
    assert_int_equal(hear_from(hear, user, 0, AGENT_OUTPUT, 0, &a, sizeof a), 0);
    assert_int_equal(hear_from(hear, user, 0, AGENT_ENDED, 0, &a, 3), 0);
    assert_int_equal(c.missing, waiting[1] ? 2 : 1);
}

TEST_CASE(words_between_ports)
{
    char *text = NULL;
    size_t bytes = 0;
    out = open_memstream(&text, &bytes);
    before = chatter;
    conduct("chatter", 1, 2, "brief-matrix");
    fclose(out);
    assert_non_null(strstr(text, "brief\nnow\n0.1: 8 bytes\n0.0: 8 bytes\n  {\"port\":{}}\n  {\"try\":"));
    assert_null(strstr(text, "77"));
    assert_non_null(strstr(text, "2 outcomes, over 0\nkill\n"));
    free(text);
}

static struct agent_ended ended;

static void one_ends(agents_hear *hear, void *user)
{
    if (waiting[1]) {
        assert_int_equal(hear_from(hear, user, 0, AGENT_ENDED, 1, &ended, sizeof ended), 1);
        memset(waiting, 0, sizeof waiting);
        then = AGENTS_ENOUGH;
    }
}

static void late_answers(agents_hear *hear, void *user)
{
    (void)hear;
    (void)user;
    if (orders[0].what == VERBS_TRY)
        waiting[0] = 0;
}

TEST_CASE(what_ends_it)
{
    static const struct {
        int status;
        const char *last, *why;
    } rows[] = {{0x0100, "oops", "over 1: n0: the process that owns a port exited with code 1: oops\n"},
                {9, "", "over 1: n0: the process that owns a port was killed by signal 9 (Killed)\n"},
                {-1, "", "over 1: n0: the process that owns a port did not start\n"}};
    char *text = NULL;
    size_t bytes = 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        out = open_memstream(&text, &bytes);
        ended.status = rows[i].status;
        memset(ended.last, 'x', sizeof ended.last);
        strcpy(ended.last, rows[i].last);
        before = one_ends;
        conduct("ended", 1, 3, "brief-matrix");
        fclose(out);
        assert_non_null(strstr(text, rows[i].why));
        assert_non_null(strstr(text, "round 1 of 6\n"));
        assert_null(strstr(text, "round 2 of"));
        assert_null(strstr(text, ": port"));
        free(text);
    }
    static const enum agents_event events[] = {AGENTS_LATE, AGENTS_LOST};
    for (int i = 0; i < 2; i++) {
        out = open_memstream(&text, &bytes);
        before = late_answers;
        then = events[i];
        conduct("silent", 2, 1, "rails");
        fclose(out);
        assert_non_null(strstr(text, i ? "0 outcomes, over 1: the node n1 is gone\n" : "0 outcomes, over 1\n"));
        assert_null(strstr(text, "gpus"));
        free(text);
    }
}

TEST_CASE(what_cannot_begin)
{
    static volatile sig_atomic_t stop = 1;
    out = fopen("/dev/null", "w");
    broken = 1;
    assert_int_equal(open_fabric("broken", 2, 2), ERR_LACKS);
    assert_string_equal(e.text, "n0/m0 is broken");
    finish();
    too_long = 1;
    assert_int_equal(open_fabric("long", 2, 2), ERR_USAGE);
    assert_string_equal(e.text, "too many ports: PORTS");
    finish();
    c = (struct verbs_conductor){.agents = &agents, .ports = "", .rails = 1, .stop = &stop};
    assert_int_equal(verbs_conduct_begin(&c, &e), ERR_FAILED);
    assert_string_equal(e.text, "interrupted before any port has answered");
    finish();
    assert_int_equal(open_fabric("no ports", 1, 0), 0);
    finish();
    fclose(out);
}

TEST_CASES(main)
