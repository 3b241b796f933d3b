/* Communicators of this process, and what the carrier asks of them. */
#include "tuner/explore/explore.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tuner/explore/decide_internal.h"
#include "tuner/explore/prior.h"
#include "tuner/observe/line.h"
#include "tuner/online/carrier.h"

#define COMMS    256
#define GIVES_UP 16 /* rounds in a row that came to nothing: some rank cannot */

struct explored {
    struct explore_member member; /* first */
    struct online_member carried;
    int sides, open, is_joined; /* that there were; that there are, 0: free */
    struct explore_shape shape;
    pthread_mutex_t mutex; /* of what follows */
    struct explore_decider *decider;
    uint64_t margin, proposed_at;
    int aborts, is_reminded;
};

static struct {
    pthread_mutex_t mutex;
    struct explored *comms[COMMS];
    size_t count;
} process = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static const char *variable(const char *name)
{
    const char *value = getenv(name);
    return value ? value : "";
}

int explore_is_wanted(void)
{
    return !strcmp(variable("NCCLTUNE_ONLINE"), "tune") && strcmp(variable("NCCLTUNE"), "off") != 0;
}

static double regret(void)
{
    double percent = observe_parse(variable("NCCLTUNE_ONLINE_REGRET"), 100);
    return percent < 0 || percent > 100 ? EXPLORE_REGRET : percent / 100;
}

/* ---- what the carrier asks --------------------------------------------------------------------------------------- */

static struct online_message hear(void *arg, const struct online_message *word)
{
    return explore_hear(arg, word);
}

static void lose(void *arg)
{
    explore_lose(arg);
}

static void look(void *arg, int kind, struct explore_seen *seen)
{
    explore_see(arg, kind, seen);
}

static int propose(void *arg, uint64_t furthest, uint64_t *from, uint32_t *plan)
{
    struct explored *x = arg;
    uint64_t next = x->member.next;
    pthread_mutex_lock(&x->mutex);
    if (!x->decider)
        x->decider = explore_decider_new(regret());
    if (x->decider && !x->is_reminded)
        x->is_reminded = explore_remind(x->decider, x->shape.nodes, x->shape.ranks);
    if (x->decider)
        explore_drain(&x->member, x->decider);
    int is_open = x->is_reminded && x->aborts < GIVES_UP && explore_is_open(&x->member);
    *plan = is_open ? explore_next(x->decider, look, &x->member) : 0;
    *from = (next > furthest ? next : furthest) + x->margin;
    x->proposed_at = next;
    pthread_mutex_unlock(&x->mutex);
    return *plan != 0;
}

static void decided(void *arg, const struct online_message *said)
{
    struct explored *x = arg;
    int committed = said->word == ONLINE_COMMIT;
    pthread_mutex_lock(&x->mutex);
    x->margin = online_margin(x->margin, !committed, x->member.next - x->proposed_at);
    x->aborts = committed ? 0 : x->aborts + 1;
    explore_decided(x->decider, said->plan, committed);
    pthread_mutex_unlock(&x->mutex);
}

/* ---- communicators ----------------------------------------------------------------------------------------------- */

enum { TUNER = 1, PROFILER = 2, LEFT = 4 };

static struct explored *find(uint64_t comm, int without)
{
    for (size_t i = 0; i < process.count; i++) {
        struct explored *x = process.comms[i];
        if (x->open && !(x->sides & (without | LEFT)) && x->shape.comm == comm)
            return x;
    }
    return NULL;
}

/* Another rank of the communicator in this process: which is which cannot be told. */
static int has_twin(uint64_t comm, int side)
{
    for (size_t i = 0; i < process.count; i++)
        if (process.comms[i]->open && process.comms[i]->sides & side && process.comms[i]->shape.comm == comm)
            return 1;
    return 0;
}

static struct explored *make(uint64_t comm)
{
    struct explored *x = NULL;
    for (size_t i = 0; i < process.count && !x; i++)
        x = process.comms[i]->open || process.comms[i]->decider ? NULL : process.comms[i];
    if (!x && process.count < COMMS && (x = calloc(1, sizeof *x)))
        process.comms[process.count++] = x;
    for (size_t i = 0; i < process.count && !x; i++) /* what was learned there has been written */
        x = process.comms[i]->open ? NULL : process.comms[i];
    if (!x)
        return NULL;
    explore_decider_free(x->decider);
    memset(x, 0, sizeof *x);
    explore_member_init(&x->member);
    pthread_mutex_init(&x->mutex, NULL);
    x->shape.comm = comm;
    x->margin = online_margin(0, 0, 0);
    return x;
}

/* Both sides are there. The carrier may call back from here on. */
static void join(struct explored *x, char *why, size_t size)
{
    x->carried.comm = x->shape.comm;
    x->carried.ranks = x->shape.ranks;
    x->carried.arg = x;
    x->carried.hear = hear;
    x->carried.lose = lose;
    if (!x->carried.rank) {
        explore_recall(variable("NCCLTUNE_CAPTURE"));
        x->carried.propose = propose;
        x->carried.decided = decided;
    }
    x->is_joined = !online_join(&x->carried, why, size);
}

static struct explored *side(uint64_t comm, int which, char *why, size_t size)
{
    why[0] = 0;
    if (!explore_is_wanted() || !comm)
        return NULL;
    if (has_twin(comm, which)) {
        snprintf(why, size, "several ranks of a communicator are in one process; NCCLTUNE_ONLINE=tune leaves it alone");
        return NULL;
    }
    struct explored *x = find(comm, which);
    x = x ? x : make(comm);
    if (x) {
        x->sides |= which;
        x->open++;
    }
    return x;
}

struct explore_member *explore_open(const struct explore_shape *shape, char *why, size_t size)
{
    pthread_mutex_lock(&process.mutex);
    struct explored *x = shape->ranks > 1 ? side(shape->comm, TUNER, why, size) : NULL;
    if (x) {
        x->shape = *shape;
        if (x->sides == (TUNER | PROFILER))
            join(x, why, size);
    }
    pthread_mutex_unlock(&process.mutex);
    return x ? &x->member : NULL;
}

struct explore_member *explore_introduce(uint64_t comm, int rank, int ranks, char *why, size_t size)
{
    pthread_mutex_lock(&process.mutex);
    struct explored *x = ranks > 1 && rank >= 0 ? side(comm, PROFILER, why, size) : NULL;
    if (x) {
        x->carried.rank = rank;
        x->shape.ranks = ranks;
        if (x->sides == (TUNER | PROFILER))
            join(x, why, size);
    }
    pthread_mutex_unlock(&process.mutex);
    return x ? &x->member : NULL;
}

/* The first side that goes leaves; what was learned stays until its place is needed. */
void explore_close(struct explore_member *m)
{
    struct explored *x = (struct explored *)m;
    if (!m)
        return;
    pthread_mutex_lock(&process.mutex);
    int leaves = x->is_joined;
    x->is_joined = 0;
    pthread_mutex_unlock(&process.mutex);
    if (leaves)
        online_leave(&x->carried);
    pthread_mutex_lock(&process.mutex);
    x->sides |= LEFT;
    x->open--;
    pthread_mutex_unlock(&process.mutex);
}

/* ---- what was learned -------------------------------------------------------------------------------------------- */

static void put_times(struct observe_text *t, const char *key, const float *us, unsigned n)
{
    observe_put(t, ", \"%s\": [", key);
    for (unsigned i = 0; i < n; i++)
        observe_put(t, "%s%llu.%03u", i ? ", " : "", (unsigned long long)us[i],
                    (unsigned)((us[i] - (float)(unsigned long long)us[i]) * 1000));
    observe_put(t, "]");
}

static void put_call(struct observe_text *t, struct explore_cell c)
{
    const char *algo = algo_name(c.cell / PROTO_COUNT), *proto = proto_name(c.cell % PROTO_COUNT);
    if (c.cell < 0 || c.cell == EXPLORE_LIBRARY) {
        observe_put(t, "\"call\": {\"label\": \"default\", \"settings\": {}}");
        return;
    }
    observe_put(t, "\"call\": {\"label\": \"%s/%s", algo, proto);
    if (c.channels)
        observe_put(t, "/%uch", c.channels);
    if (c.chunk)
        observe_put(t, "/%uK", EXPLORE_CHUNK(c.chunk) >> 10);
    observe_put(t, "\", \"settings\": {\"algorithm\": \"%s\", \"protocol\": \"%s\"", algo, proto);
    if (c.channels)
        observe_put(t, ", \"channels\": \"%u\"", c.channels);
    if (c.chunk)
        observe_put(t, ", \"chunk_bytes\": \"%u\"", EXPLORE_CHUNK(c.chunk));
    observe_put(t, "}}");
}

static void put_point(struct observe_text *t, const struct explored *x, const struct topic *topic)
{
    const struct explore_shape *s = &x->shape;
    observe_put(t, "{\"engine\": \"nccl\", \"collective\": \"%s\", \"bytes\": %llu, \"nodes\": %d, \"ranks\": %d, ",
                coll_name(explore_coll(topic->kind)), (unsigned long long)topic->bytes, s->nodes, s->ranks);
    observe_put(t, "\"library\": \"NCCL %d.%d.%d\", \"launch\": {\"label\": \"default\", \"settings\": {}}, ",
                s->nccl / 10000, s->nccl / 100 % 100, s->nccl % 100);
}

static void put_end(struct observe_text *t, const struct explored *x, const char *job)
{
    observe_put(t, ", \"round\": 1, \"status\": \"ok\", \"detail\": \"measured inside job %s on %d node%s\"}\n", job,
                x->shape.nodes, x->shape.nodes == 1 ? "" : "s");
}

/* What has a rule ran by that, which stands there by its name; the default is one of what was tried, and nothing is
 * beside it. A rule of channels alone has no name. */
static size_t put_topic(struct observe_text *t, const struct explored *x, const struct topic *topic, const char *job)
{
    size_t lines = 0;
    for (int i = 0; i < topic->ncandidates && topic->ndefaults; i++) {
        const struct explore_candidate *c = &topic->candidates[i];
        unsigned n = c->pairs < EXPLORE_PAIRS ? c->pairs : EXPLORE_PAIRS;
        if (c->cell.cell < 0 || !n || c->unlike)
            continue;
        put_point(t, x, topic);
        put_call(t, c->cell);
        put_times(t, "times_us", c->us, n);
        if (c->beside_default && !explore_is_ruled(topic->rule))
            put_times(t, "beside_us", c->beside_us, n);
        put_end(t, x, job);
        lines++;
    }
    if (!lines || (topic->rule.cell < 0 && topic->rule.channels))
        return lines;
    put_point(t, x, topic);
    put_call(t, topic->rule);
    put_times(t, "times_us", topic->defaults, topic->ndefaults < HOLDS ? topic->ndefaults : HOLDS);
    put_end(t, x, job);
    return lines + 1;
}

size_t explore_put_learned(struct observe_text *t, const char *job)
{
    size_t lines = 0;
    observe_put(t, "{\"format\": \"nccltune-results/1\", \"tool\": \"%s\"}\n", NCCLTUNE_VERSION);
    pthread_mutex_lock(&process.mutex);
    for (size_t i = 0; i < process.count; i++) {
        struct explored *x = process.comms[i];
        pthread_mutex_lock(&x->mutex);
        const struct topic *topic;
        for (int k = 0; x->decider && (topic = explore_topic(x->decider, k)); k++)
            lines += put_topic(t, x, topic, job);
        pthread_mutex_unlock(&x->mutex);
    }
    pthread_mutex_unlock(&process.mutex);
    return lines;
}
