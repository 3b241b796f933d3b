/* Frames, in and out. */
#include "core/wire/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char wire_release[] = NCCLTUNE_VERSION;

int connection_open(struct connection *c, int from, int to)
{
    *c = (struct connection){.from = from, .to = to, .in = malloc(FRAME_BYTES)};
    fcntl(from, F_SETFL, fcntl(from, F_GETFL) | O_NONBLOCK);
    fcntl(to, F_SETFL, fcntl(to, F_GETFL) | O_NONBLOCK);
    if (c->in)
        return 0;
    connection_close(c);
    return -1;
}

void connection_close(struct connection *c)
{
    if (!c->in && !c->from)
        return;
    if (c->to >= 0 && c->to != c->from)
        close(c->to);
    if (c->from >= 0)
        close(c->from);
    free(c->in);
    free(c->out);
    hmac_wipe(c, sizeof *c);
    c->from = c->to = -1;
}

/* ---- the seal ---- */

static void seal_of(const struct seal *s, const void *frame, size_t bytes, unsigned char mac[HMAC_BYTES])
{
    struct hmac h;
    hmac_init(&h, s->key, sizeof s->key);
    hmac_update(&h, &s->number, sizeof s->number);
    hmac_update(&h, frame, bytes);
    hmac_end(&h, mac);
}

/* ---- in ---- */

static void drop_given(struct connection *c)
{
    if (!c->given)
        return;
    memmove(c->in, c->in + c->given, c->used - c->given);
    c->used -= c->given;
    c->given = 0;
}

int connection_fill(struct connection *c)
{
    if (c->from < 0)
        return 0;
    drop_given(c);
    if (c->used == FRAME_BYTES)
        return -1;
    ssize_t n = read(c->from, c->in + c->used, FRAME_BYTES - c->used);
    if (n < 0)
        return errno == EAGAIN || errno == EINTR ? -1 : 0;
    c->used += (size_t)n;
    return n > 0;
}

int connection_next(struct connection *c, struct frame *f)
{
    size_t trailer = c->sealed ? HMAC_BYTES : 0;
    if (!c->in)
        return 0;
    drop_given(c);
    if (c->used < sizeof f->head)
        return 0;
    memcpy(&f->head, c->in, sizeof f->head);
    if (f->head.magic != FRAME_MAGIC || f->head.version != FRAME_VERSION || f->head.bytes > FRAME_BODY)
        return -1;
    size_t bytes = sizeof f->head + f->head.bytes;
    if (c->used < bytes + trailer)
        return 0;
    if (c->sealed) {
        unsigned char mac[HMAC_BYTES];
        seal_of(&c->in_seal, c->in, bytes, mac);
        if (!hmac_equal(mac, (const unsigned char *)c->in + bytes))
            return -1;
        c->in_seal.number++;
    }
    f->body = c->in + sizeof f->head;
    c->given = bytes + trailer;
    return 1;
}

int frame_body(const struct frame *f, void *to, size_t bytes)
{
    if (f->head.bytes != bytes)
        return -1;
    memcpy(to, f->body, bytes);
    return 0;
}

/* ---- out ---- */

/* As much as goes at once; -1 when nobody is there. */
static ssize_t write_some(int fd, const char *data, size_t bytes)
{
    ssize_t n;
    do {
        n = send(fd, data, bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && errno == ENOTSOCK)
            n = write(fd, data, bytes);
    } while (n < 0 && errno == EINTR);
    return n < 0 && errno == EAGAIN ? 0 : n;
}

int connection_flush(struct connection *c)
{
    ssize_t n = c->to < 0 ? -1 : c->queued ? write_some(c->to, c->out, c->queued) : 0;
    if (n < 0)
        return -1;
    c->queued -= (size_t)n;
    if (n && c->queued)
        memmove(c->out, c->out + n, c->queued);
    return 0;
}

static int queue(struct connection *c, const void *data, size_t bytes)
{
    if (c->queued + bytes > c->space) {
        size_t space = 2 * (c->queued + bytes);
        char *out = space > 2 * CONNECTION_QUEUE ? NULL : realloc(c->out, space);
        if (!out)
            return -1;
        c->out = out;
        c->space = space;
    }
    if (bytes)
        memcpy(c->out + c->queued, data, bytes);
    c->queued += bytes;
    return 0;
}

int connection_send(struct connection *c, int message, int rank, const void *body, size_t bytes)
{
    struct frame_head head = {FRAME_MAGIC, FRAME_VERSION, (uint16_t)message, rank, (uint32_t)bytes};
    if (c->to < 0 || bytes > FRAME_BODY || queue(c, &head, sizeof head) || queue(c, body, bytes))
        return -1;
    if (c->sealed) {
        unsigned char mac[HMAC_BYTES];
        size_t frame = sizeof head + bytes;
        seal_of(&c->out_seal, c->out + c->queued - frame, frame, mac);
        c->out_seal.number++;
        if (queue(c, mac, sizeof mac))
            return -1;
    }
    return connection_flush(c);
}

int connection_wait(struct connection *c, int timeout_ms)
{
    struct pollfd fds[2] = {{.fd = c->from, .events = POLLIN}, {.fd = c->queued ? c->to : -1, .events = POLLOUT}};
    poll(fds, 2, timeout_ms);
    if (fds[1].revents && connection_flush(c))
        return 0;
    return fds[0].revents ? connection_fill(c) : -1;
}
