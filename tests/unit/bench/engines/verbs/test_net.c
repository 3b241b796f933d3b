/* bench/engines/verbs/net.c: an interface that answers, one that does not, and one that is only seemingly another node.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <string.h>
#include <unistd.h>

#include "bench/engines/verbs/net.h"

/* The loopback, which verbs_net_listen leaves out, as if it were a network: 127.0.0.N is node N. */
static struct verbs_net at(const char *address, in_port_t port)
{
    struct verbs_net net = {.name = "lo"};
    struct sockaddr_in *in = (struct sockaddr_in *)&net.address;
    in->sin_family = AF_INET;
    in->sin_port = htons(port);
    assert_int_equal(inet_pton(AF_INET, address, &in->sin_addr), 1);
    return net;
}

static int listen_at(struct verbs_net *net)
{
    socklen_t length = sizeof net->address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&net->address, sizeof(struct sockaddr_in)), 0);
    assert_int_equal(listen(fd, 8), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&net->address, &length), 0);
    return fd;
}

static void who_answers(void **state)
{
    (void)state;
    struct verbs_net_list mine = {.nets = {at("127.0.0.1", 0)}, .n = 1}, others[4] = {{.n = 1}, {.n = 1}, {.n = 1}};
    int reached[VERBS_NETS] = {0};
    others[0].nets[0] = at("127.0.0.2", 0); /* answers */
    int fd = listen_at(&others[0].nets[0]);
    others[1].nets[0] = at("127.0.0.3", 9); /* refuses */
    others[2].nets[0] = at("127.0.0.1", 0); /* the same address as here: a bridge of every node */
    int own = listen_at(&others[2].nets[0]);
    verbs_net_try(&mine, others, 4, 2, reached); /* the last has no such interface */
    assert_int_equal(reached[0], 1);
    close(fd);
    close(own);
}

static void listening(void **state)
{
    (void)state;
    struct verbs_net_list mine;
    int fds[VERBS_NETS];
    char text[VERBS_NET_TEXT];
    verbs_net_listen(&mine, fds);
    assert_in_range(mine.n, 0, VERBS_NETS);
    for (int i = 0; i < mine.n; i++) {
        assert_string_not_equal(mine.nets[i].name, "lo");
        assert_true(strlen(verbs_net_address(text, &mine.nets[i])) > 0);
        close(fds[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(who_answers), cmocka_unit_test(listening)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
