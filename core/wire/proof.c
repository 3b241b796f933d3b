/* The secret, and the proof that the other side has it. */
#include "core/wire/wire.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/clock.h"

enum { EXPECT_OPENING, EXPECT_ANSWER, EXPECT_LAST, PROVEN };

/* ---- the secret ---- */

/* The kernel gives up to 256 bytes whole; getrandom() itself is newer than the plugin's containers. */
static int fill_randomly(void *to, size_t bytes)
{
    return syscall(SYS_getrandom, to, bytes, 0) == (long)bytes ? 0 : -1;
}

int secret_make(struct secret *s)
{
    return fill_randomly(s->bytes, sizeof s->bytes);
}

void secret_hex(const struct secret *s, char hex[SECRET_HEX])
{
    hex_put(s->bytes, SECRET_BYTES, hex);
}

int secret_parse(struct secret *s, const char *hex)
{
    static const char digits[] = "0123456789abcdef";
    for (int i = 0; i < 2 * SECRET_BYTES; i++) {
        const char *digit = hex[i] ? strchr(digits, hex[i]) : NULL;
        if (!digit)
            return -1;
        s->bytes[i / 2] = (unsigned char)(i % 2 ? s->bytes[i / 2] << 4 | (digit - digits) : digit - digits);
    }
    return hex[2 * SECRET_BYTES] ? -1 : 0;
}

int secret_take_from_environment(struct secret *s)
{
    char *text = getenv(SECRET_VARIABLE);
    int rc = text ? secret_parse(s, text) : -1;
    if (text) {
        hmac_wipe(text, strlen(text));
        unsetenv(SECRET_VARIABLE);
    }
    return rc;
}

/* ---- the proof ---- */

/* Everything that both sides know by now, under one word a purpose. */
static void mac_of(const struct proof *p, const char *purpose, unsigned char mac[HMAC_BYTES])
{
    struct hmac h;
    hmac_init(&h, p->secret.bytes, sizeof p->secret.bytes);
    hmac_update(&h, purpose, strlen(purpose) + 1);
    hmac_update(&h, &p->opening, sizeof p->opening);
    hmac_update(&h, p->answer.nonce, sizeof p->answer.nonce);
    hmac_end(&h, mac);
}

int proof_begin(struct proof *p, const struct secret *s, int agent)
{
    *p = (struct proof){.secret = *s, .agent = agent, .step = agent ? EXPECT_ANSWER : EXPECT_OPENING};
    p->opening.magic = FRAME_MAGIC;
    p->opening.version = FRAME_VERSION;
    return agent ? fill_randomly(p->opening.nonce, NONCE_BYTES) : fill_randomly(p->answer.nonce, NONCE_BYTES);
}

static int send_bytes(int fd, const void *data, size_t bytes)
{
    return send(fd, data, bytes, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)bytes ? 0 : -1;
}

/* 1 all `bytes` are in p->in; 0 not yet; -1 nobody is there. Nothing behind the message is read. */
static int receive_bytes(struct proof *p, int fd, size_t bytes)
{
    ssize_t n = recv(fd, p->in + p->got, bytes - p->got, MSG_DONTWAIT);
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
        return -1;
    p->got += n > 0 ? (size_t)n : 0;
    if (p->got < bytes)
        return 0;
    p->got = 0;
    return 1;
}

static int hear_opening(struct proof *p, int fd)
{
    int rc = receive_bytes(p, fd, sizeof p->opening);
    if (rc < 1)
        return rc;
    memcpy(&p->opening, p->in, sizeof p->opening);
    if (p->opening.magic != FRAME_MAGIC || p->opening.version != FRAME_VERSION)
        return -1;
    mac_of(p, "conductor", p->answer.mac);
    p->step = EXPECT_LAST;
    return send_bytes(fd, &p->answer, sizeof p->answer) ? -1 : 1;
}

static int hear_answer(struct proof *p, int fd)
{
    unsigned char mac[HMAC_BYTES];
    struct proof_last last;
    int rc = receive_bytes(p, fd, sizeof p->answer);
    if (rc < 1)
        return rc;
    memcpy(&p->answer, p->in, sizeof p->answer);
    mac_of(p, "conductor", mac);
    if (!hmac_equal(mac, p->answer.mac))
        return -1;
    mac_of(p, "agent", last.mac);
    p->step = PROVEN;
    return send_bytes(fd, &last, sizeof last) ? -1 : 1;
}

static int hear_last(struct proof *p, int fd)
{
    unsigned char mac[HMAC_BYTES];
    int rc = receive_bytes(p, fd, sizeof(struct proof_last));
    if (rc < 1)
        return rc;
    mac_of(p, "agent", mac);
    p->step = PROVEN;
    return hmac_equal(mac, p->in) ? 1 : -1;
}

int proof_go_on(struct proof *p, int fd)
{
    static int (*const hear[])(struct proof *, int) = {hear_opening, hear_answer, hear_last};
    int rc = 1;
    if (p->agent && !p->opened) {
        p->opened = 1;
        rc = send_bytes(fd, &p->opening, sizeof p->opening) ? -1 : 1;
    }
    while (rc > 0 && p->step != PROVEN)
        rc = hear[p->step](p, fd);
    return rc;
}

int proof_wait(struct proof *p, int fd, int patience_ms)
{
    uint64_t began = clock_now_ms();
    for (;;) {
        int rc = proof_go_on(p, fd);
        long left = patience_ms - (long)(clock_now_ms() - began);
        if (rc || left <= 0)
            return rc > 0 ? 0 : -1;
        poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, (int)left);
    }
}

void proof_seal(struct proof *p, struct connection *c)
{
    mac_of(p, "frames of the agent", p->agent ? c->out_seal.key : c->in_seal.key);
    mac_of(p, "frames of the conductor", p->agent ? c->in_seal.key : c->out_seal.key);
    c->sealed = 1;
    hmac_wipe(p, sizeof *p);
}
