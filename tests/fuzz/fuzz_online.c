/* tuner/online: what somebody who has the key may send, frame by frame. The first byte chooses: a child of the root
 * that has not said who it is, one that has, the parent of another process. Eight bytes make a frame; what it says is
 * taken or the peer is given up, and nothing else happens. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tuner/online/tree.h"

static void say(const char *text)
{
    if (!*text || strlen(text) >= ONLINE_TEXT)
        abort();
}

static struct online_message hear(void *arg, const struct online_message *m)
{
    return online_agent_hear(arg, m);
}

static void lose(void *arg)
{
    online_agent_lose(arg);
}

static int propose(void *arg, uint64_t furthest, uint64_t *from, uint32_t *plan)
{
    const struct online_agent *a = arg;
    *from = (furthest > a->next ? furthest : a->next) + 1;
    return (*plan = a->plan + 1) < 9;
}

static void decided(void *arg, const struct online_message *said)
{
    struct online_agent *a = arg;
    a->next += said->word == ONLINE_COMMIT;
}

/* Mostly what could be meant. */
static void send_frame(struct connection *c, const uint8_t b[8])
{
    static const uint32_t sizes[] = {1, 2, 2, 2, 2, 3, 0, UINT32_MAX};
    struct online_entry e = {b[1] % 4, b[2], b[0] % 20, b[3] % 8, b[4], b[5] % 4, b[6] % 4, sizes[b[7] % 8]};
    struct online_hello hello = {.rank = b[3]};
    struct online_place place = {.ip = {b[2]}, .port = b[3] & 1};
    memset(hello.stack, b[1], b[2] % 2 ? sizeof hello.stack : 1);
    memset(hello.table, b[4], b[5] % sizeof hello.table);
    memset(hello.host, b[6], b[7] % 2 ? sizeof hello.host : 1);
    hello.at = place;
    char text[ONLINE_TEXT];
    memset(text, b[1], sizeof text);
    const void *bodies[] = {b, &hello, &place, &e, NULL, text};
    const size_t bytes[] = {7, sizeof hello, sizeof place, sizeof e, 0, sizeof text};
    int message = b[0] < 200 ? ONLINE_WORDS : b[0] % 6;
    connection_send(c, message, 0, bodies[message], bytes[message] - (b[0] == 255 && bytes[message]));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct online_tree t;
    struct online_agent agents[2] = {0};
    struct online_member members[2];
    struct pollfd fds[ONLINE_FDS] = {0};
    struct online_hello self = {.stack = "s", .host = "h", .table = "t"};
    struct connection other;
    int ends[2], choice = size ? data[0] % 3 : 0;
    if (!size || socketpair(AF_UNIX, SOCK_STREAM, 0, ends) || connection_open(&other, ends[1], ends[1]))
        return 0;
    self.rank = choice == 2;
    struct online_peer *p = choice == 2 ? &t.parent : &t.children[0];
    if (online_tree_open(&t, &self, say) || connection_open(&p->c, ends[0], ends[0]))
        abort();
    p->stage = choice ? ONLINE_LINKED : ONLINE_GREETING;
    t.now_ms = t.node.now_ms = p->heard_ms = 1000;
    for (int i = 0; i < 2; i++) {
        members[i] =
            (struct online_member){(uint64_t)i, i, 2, &agents[i], hear, lose, i ? NULL : propose, i ? NULL : decided};
        online_node_join(&t.node, &members[i]);
    }
    fds[choice == 2 ? ONLINE_LINKS : 0].revents = POLLIN;
    for (size_t i = 1; i + 8 <= size && p->stage != ONLINE_AWAY && !t.is_lost; i += 8) {
        send_frame(&other, data + i);
        online_tree_turn(&t, fds, t.now_ms + 30);
    }
    connection_close(&other);
    online_tree_turn(&t, fds, t.now_ms + 30);
    online_tree_close(&t);
    return 0;
}
