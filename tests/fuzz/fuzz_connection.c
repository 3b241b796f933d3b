/* core/wire/connection.c and proof.c: any bytes from the other end. The first byte chooses: frames without seal,
 * frames with one, a proof to a conductor, a proof to an agent. Nothing is read beyond what came, no proof is taken,
 * and what comes out of an unsealed connection is framed as it was. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/wire/wire.h"

static void read_frames(const uint8_t *data, size_t size, int sealed)
{
    int ends[2];
    struct connection c;
    struct frame f;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) || connection_open(&c, ends[0], ends[0]))
        abort();
    c.sealed = sealed;
    size_t given = 0, taken = 0;
    int got = 0;
    while (given < size && got >= 0) {
        size_t n = size - given < 4096 ? size - given : 4096;
        ssize_t sent = send(ends[1], data + given, n, MSG_DONTWAIT | MSG_NOSIGNAL);
        given += sent > 0 ? (size_t)sent : 0;
        connection_fill(&c);
        while ((got = connection_next(&c, &f)) > 0) {
            if (sealed || f.head.bytes > FRAME_BODY || memcmp(data + taken, &f.head, sizeof f.head) != 0 ||
                memcmp(data + taken + sizeof f.head, f.body, f.head.bytes) != 0)
                abort();
            taken += sizeof f.head + f.head.bytes;
        }
    }
    close(ends[1]);
    connection_close(&c);
}

static void prove(const uint8_t *data, size_t size, int agent)
{
    static const struct secret secret = {"not known to whoever asks"};
    int ends[2];
    struct proof p;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) || proof_begin(&p, &secret, agent))
        abort();
    int rc = proof_go_on(&p, ends[0]);
    for (size_t given = 0; given < size && !rc; given += 7) {
        if (send(ends[1], data + given, size - given < 7 ? size - given : 7, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
            break;
        rc = proof_go_on(&p, ends[0]);
    }
    if (rc > 0)
        abort();
    close(ends[0]);
    close(ends[1]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!size)
        return 0;
    if (data[0] & 2)
        prove(data + 1, size - 1, data[0] & 1);
    else
        read_frames(data + 1, size - 1, data[0] & 1);
    return 0;
}
