/* The way from a port's process to another's, and to the conductor. */
#include <cjson/cJSON.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/engines/verbs/serve_internal.h"
#include "core/progress.h"

/* The other's word of this turn, if one has come. A late one of an earlier turn is nobody's. */
static int take_word(struct verbs_server *s, int turn, void *theirs, size_t bytes)
{
    struct verbs_swap head;
    struct frame f;
    int got;
    while ((got = connection_next(&s->head, &f)) > 0) {
        if (f.head.message != VERBS_SWAP || f.head.bytes != sizeof head + bytes)
            continue;
        memcpy(&head, f.body, sizeof head);
        if (head.turn != turn)
            continue;
        memcpy(theirs, (const char *)f.body + sizeof head, bytes);
        return 1;
    }
    return got;
}

static int swap(void *user, const void *mine, void *theirs, size_t bytes, double deadline_s)
{
    const struct verbs_link *l = user;
    struct verbs_server *s = l->server;
    struct verbs_swap head = {l->order->other, l->order->turn};
    char body[8192];
    int got;
    if (sizeof head + bytes > sizeof body)
        return EMSGSIZE;
    memcpy(body, &head, sizeof head);
    memcpy(body + sizeof head, mine, bytes);
    if (connection_send(&s->head, VERBS_SWAP, s->rank, body, sizeof head + bytes))
        return EPIPE;
    while (!(got = take_word(s, l->order->turn, theirs, bytes))) {
        double left_ms = (deadline_s - progress_now_s()) * 1e3;
        if (left_ms <= 0)
            return ETIMEDOUT;
        if (!connection_wait(&s->head, (int)left_ms + 1))
            return EPIPE;
    }
    return got > 0 ? 0 : EPROTO;
}

int verbs_link_open(struct verbs_link *l, struct verbs_server *s, const struct verbs_order *o,
                    struct verbs_pair_setup setup, struct verbs_attempt *used, struct err *e)
{
    *l = (struct verbs_link){.server = s, .order = o};
    snprintf(l->mine, sizeof l->mine, "%s %s", s->who.node, s->who.port);
    l->channel = (struct verbs_channel){swap, l, l->mine, o->theirs};
    if (s->who.failure[0] || o->failure[0])
        return err_set(e, ERR_FAILED, "%s", s->who.failure[0] ? s->who.failure : o->failure);
    if (!s->port)
        return err_set(e, ERR_FAILED, "%s has no port", s->who.node);
    setup.port = s->port;
    return verbs_connect(&l->pair, &setup, &l->channel, o->lead, s->nccl, used, e);
}

void verbs_serve_line(struct verbs_server *s, const char *key, cJSON *inner)
{
    cJSON *o = cJSON_CreateObject();
    cJSON_AddItemToObject(o, key, inner);
    char *line = cJSON_PrintUnformatted(o);
    if (line)
        connection_send(&s->head, VERBS_LINE, s->rank, line, strlen(line) + 1);
    free(line);
    cJSON_Delete(o);
}
