/* Frames, out and in. */
#include "bench/launch/worker_protocol.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SEND_MS 10000

int nccl_inbox_open(struct nccl_inbox *in)
{
    *in = (struct nccl_inbox){.data = malloc(NCCL_FRAME)};
    return in->data ? 0 : -1;
}

void nccl_inbox_close(struct nccl_inbox *in)
{
    free(in->data);
    *in = (struct nccl_inbox){0};
}

static void drop_given(struct nccl_inbox *in)
{
    memmove(in->data, in->data + in->given, in->used - in->given);
    in->used -= in->given;
    in->given = 0;
}

int nccl_inbox_fill(struct nccl_inbox *in, int fd)
{
    drop_given(in);
    ssize_t n = read(fd, in->data + in->used, NCCL_FRAME - in->used);
    if (n < 0)
        return errno == EAGAIN || errno == EINTR ? -1 : 0;
    in->used += (size_t)n;
    return n > 0;
}

int nccl_inbox_next(struct nccl_inbox *in, struct nccl_frame *f)
{
    drop_given(in);
    if (in->used < sizeof f->head)
        return 0;
    memcpy(&f->head, in->data, sizeof f->head);
    if (f->head.magic != WORKER_PROTOCOL_MAGIC || f->head.version != WORKER_PROTOCOL_VERSION ||
        f->head.bytes > NCCL_FRAME - sizeof f->head)
        return -1;
    if (in->used < sizeof f->head + f->head.bytes)
        return 0;
    f->body = in->data + sizeof f->head;
    in->given = sizeof f->head + f->head.bytes;
    return 1;
}

int nccl_body(const struct nccl_frame *f, void *to, size_t bytes)
{
    if (f->head.bytes != bytes)
        return -1;
    memcpy(to, f->body, bytes);
    return 0;
}

int nccl_send(int fd, enum nccl_message message, int rank, const void *body, size_t bytes)
{
    struct nccl_head head = {WORKER_PROTOCOL_MAGIC, WORKER_PROTOCOL_VERSION, (uint16_t)message, rank, (uint32_t)bytes};
    char frame[NCCL_FRAME];
    size_t total = sizeof head + bytes;
    if (total > sizeof frame)
        return -1;
    memcpy(frame, &head, sizeof head);
    if (bytes)
        memcpy(frame + sizeof head, body, bytes);
    for (size_t done = 0; done < total;) {
        ssize_t n = write(fd, frame + done, total - done);
        if (n > 0)
            done += (size_t)n;
        else if (errno == EAGAIN && poll(&(struct pollfd){.fd = fd, .events = POLLOUT}, 1, SEND_MS) > 0)
            continue;
        else if (errno != EINTR)
            return -1;
    }
    return 0;
}
