/* What nodes say of themselves becomes one topology. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/json.h"
#include "probe/cluster/cluster.h"
#include "probe/topology/build.h"

/* Adds a host from what its node printed. A class that is new is read a second time, into the cluster's memory. */
static int add_host(struct topology *t, struct class_index *index, const cJSON *doc, const struct topology *one,
                    const char *host, struct err *e)
{
    if (one->nhosts != 1 || one->nclasses != 1)
        return err_set(e, ERR_FAILED, "printed a topology of %d hosts, expected one", one->nhosts);
    int at = classes_find(index, &one->classes[0], t->nclasses);
    if (at < t->nclasses) {
        classes_add_host(t, at, &one->classes[0], &one->hosts[0], host);
        return 0;
    }
    int rc = topo_add_json(t, doc, host, e);
    if (!rc) {
        t->classes[at].name = arena_printf(t->arena, "class%d", at);
        t->hosts[t->nhosts - 1].name = arena_strdup(t->arena, host);
    }
    return rc;
}

static int take(struct topology *t, struct class_index *index, const char *host, const char *text, size_t bytes,
                struct err *e)
{
    const char *begin = bytes ? memchr(text, '{', bytes) : NULL;
    if (!begin)
        return err_set(e, ERR_FAILED, "printed no topology");
    cJSON *doc = json_parse(begin, bytes - (size_t)(begin - text), host, 1, e);
    struct topology *one = topo_new();
    int rc = !doc || json_check_format(doc, TOPO_FORMAT, host, e) || topo_add_json(one, doc, host, e) ||
             add_host(t, index, doc, one, host, e);
    topo_free(one);
    cJSON_Delete(doc);
    return rc;
}

/* What a node complained about matters when its answer is no good. */
void cluster_add(struct topology *t, struct class_index *index, const char *host, const char *text, size_t bytes,
                 const char *why, struct log *log)
{
    struct err e = {0};
    if (text && !take(t, index, host, text, bytes, &e))
        return;
    const char *reason = why ? why : *e.text ? e.text : "no answer";
    build_missing(t, host, reason);
    log_warn(log, "%s: %s", host, reason);
}

double cluster_clock_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

void cluster_judge_clock(struct topology *t, struct topo_host *h, double asked_s, double answered_s)
{
    const char *subject;
    double at_s;
    for (int i = 0; i < h->nsigns; i++) {
        if (!topo_sign(h->signs[i], TOPO_CLOCK, &at_s, &subject))
            continue;
        double early_s = asked_s - at_s, late_s = at_s - answered_s;
        double wrong_s = early_s > late_s ? early_s : late_s;
        int known = asked_s > 0 && wrong_s > 0;
        h->signs[i] = known ? arena_printf(t->arena, "clock-skew %.3f", wrong_s) : h->signs[--h->nsigns];
        return;
    }
}

static int by_host(const void *x, const void *y)
{
    const struct topo_host *a = x, *b = y;
    return strverscmp(a->name, b->name);
}

void cluster_order(struct topology *t)
{
    if (t->nhosts > 1)
        qsort(t->hosts, (size_t)t->nhosts, sizeof *t->hosts, by_host);
}
