/* Trying GIDs. Both sides work through the same list, which follows from the two tables. */
#include "bench/engines/verbs/verbs.h"

#include <string.h>

#include "core/progress.h"

/* As many GIDs of a port are sent to the other side; more addresses than that on one port are not tried. */
#define GIDS_SENT 64

struct gid_list {
    struct {
        unsigned char raw[16];
        int32_t index, roce;
    } gids[GIDS_SENT];
    int32_t n, count, infiniband, asked; /* -1 no index */
};

int verbs_attempts(const struct verbs_gid_table *lead, const struct verbs_gid_table *follower, int nccl,
                   struct verbs_attempt attempts[VERBS_ATTEMPTS])
{
    const struct verbs_gid_setting leads = verbs_gid_asked(lead), follows = verbs_gid_asked(follower);
    struct verbs_attempt automatic = {verbs_gid_nccl_choice(lead, nccl, &leads),
                                      verbs_gid_nccl_choice(follower, nccl, &follows), VERBS_GID_NO_KIND};
    int n = 0;
    if (lead->infiniband && follower->infiniband) {
        attempts[n++] = automatic;
        return n;
    }
    if (automatic.lead < lead->count && automatic.follower < follower->count) {
        automatic.kind = verbs_gid_kind(&lead->gids[automatic.lead]);
        if (automatic.kind != VERBS_GID_NO_KIND &&
            automatic.kind == verbs_gid_kind(&follower->gids[automatic.follower]))
            attempts[n++] = automatic;
    }
    for (enum verbs_gid_kind k = 0; k < VERBS_GID_KIND_COUNT; k++) {
        struct verbs_attempt a = {.kind = k};
        if (verbs_gid_match(lead, follower, k, &a.lead, &a.follower) &&
            !(n && attempts[0].lead == a.lead && attempts[0].follower == a.follower))
            attempts[n++] = a;
    }
    return n;
}

static void pack_gids(const struct verbs_gid_table *t, struct gid_list *list)
{
    *list = (struct gid_list){.count = t->count, .infiniband = t->infiniband, .asked = verbs_gid_asked(t).index};
    for (int i = 0; i < t->count && list->n < GIDS_SENT; i++) {
        if (verbs_gid_kind(&t->gids[i]) == VERBS_GID_NO_KIND && !t->infiniband)
            continue;
        memcpy(list->gids[list->n].raw, t->gids[i].raw, sizeof t->gids[i].raw);
        list->gids[list->n].index = i;
        list->gids[list->n++].roce = t->gids[i].roce;
    }
}

/* The other side's table, as far as it was sent; the rest is empty. */
static struct verbs_gid_table unpack_gids(const struct gid_list *list, struct arena *a)
{
    struct verbs_gid_table t = {.infiniband = list->infiniband,
                                .asked = list->asked < 0 ? NULL : arena_printf(a, "%d", list->asked)};
    for (int i = 0; i < list->n && i < GIDS_SENT; i++)
        if (list->gids[i].index >= t.count && list->gids[i].index < list->count)
            t.count = list->gids[i].index + 1;
    t.gids = arena_alloc(a, (size_t)t.count * sizeof *t.gids);
    for (int i = 0; i < list->n && i < GIDS_SENT; i++) {
        int index = list->gids[i].index;
        if (index < 0 || index >= t.count)
            continue;
        memcpy(t.gids[index].raw, list->gids[i].raw, sizeof t.gids[index].raw);
        t.gids[index].roce = list->gids[i].roce;
    }
    return t;
}

/* The smallest proof: one verified sample of small writes. */
static int prove_pair(struct verbs_pair *p, int lead, struct err *e)
{
    const struct verbs_shot shot = {.test = VERBS_WRITE, .bytes = 8, .samples = 1, .sample_s = 0.0001};
    struct verbs_figures f;
    return verbs_measure(p, &shot, lead, &f, e);
}

int verbs_connect(struct verbs_pair *p, const struct verbs_pair_setup *setup, const struct verbs_channel *channel,
                  int lead, int nccl, struct verbs_attempt *used, struct err *e)
{
    struct gid_list mine, theirs;
    struct verbs_gid_table *own = &setup->port->gids;
    struct verbs_attempt attempts[VERBS_ATTEMPTS];
    char words[VERBS_FAILURE_TEXT];
    *p = (struct verbs_pair){0};
    pack_gids(own, &mine);
    int error = channel->swap(channel->user, &mine, &theirs, sizeof mine, progress_now_s() + VERBS_PATIENCE_S);
    if (error)
        return err_set(e, ERR_FAILED, "%s: %s", channel->me, verbs_say_errno(words, VERBS_EXCHANGE, error));

    struct arena *a = arena_new();
    struct verbs_gid_table peer = unpack_gids(&theirs, a), known = unpack_gids(&mine, a);
    int n = verbs_attempts(lead ? &known : &peer, lead ? &peer : &known, nccl, attempts), code = 0;
    if (!n)
        code = err_set(e, ERR_FAILED, "%s and %s have no kind of GID in common", lead ? channel->me : channel->peer,
                       lead ? channel->peer : channel->me);
    for (int i = 0; i < n; i++) {
        struct verbs_pair_setup s = *setup;
        s.gid = lead ? attempts[i].lead : attempts[i].follower;
        *used = attempts[i];
        struct err failure = {0};
        code = verbs_pair_connect(p, &s, channel, &failure);
        if (!code)
            code = prove_pair(p, lead, &failure);
        if (!code) {
            if (s.gid < own->count)
                own->gids[s.gid].proven = 1;
            break;
        }
        if (i == 0)
            err_set(e, ERR_FAILED, "%s", failure.text);
        verbs_pair_close(p);
    }
    arena_free(a);
    return code;
}
